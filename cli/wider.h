/* Two kernels of one signature side by side, on inputs and shapes wider than
 * those of verify: are they told apart? */
#ifndef TP_WIDER_H
#define TP_WIDER_H

#include "kernels/trial/equiv.h"

typedef struct tp_wider_options {
    uint32_t runs;   /* to the end, of each kernel of the spec */
    uint64_t seed;   /* of shapes and inputs */
    size_t elements; /* of all arrays of a run together */
    int64_t work;    /* of all runs of a kernel of the spec, as tp_run_stats counts it; a run takes an eighth at most */
} tp_wider_options;

typedef struct tp_wider {
    uint32_t runs; /* that were compared */
    bool apart;    /* an output differs in a bit, or only `other` breaks a rule */
    bool bounded;  /* the work, or the budget of the arena, was spent before all runs were made */
    tp_str where;  /* "M = 7, K = 513, ascending inputs: o[0, 3]" */
} tp_wider;

/* `hints`: text whose numbers sizes take, with their neighbours and products:
 * that of the change. c is that of the first spec; the texts live in its
 * arena. Leaves with TP_E_MEMORY. */
void tp_compare_wider(tp_ctx *c, const tp_spec *kernel, const tp_spec *other, tp_str hints, const tp_wider_options *o,
                      tp_wider *out);

#endif
