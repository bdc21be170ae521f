/* Calling a kernel with arrays of the caller's: which dtype combination they
 * fit, which sizes follow from their shapes, whether all of it lies in the
 * declared domain; then running it. */
#ifndef TP_CALL_H
#define TP_CALL_H

#include "kernels/machine/machine.h"

typedef struct tp_call {
    /* given */
    tp_arena *arena;      /* of everything below */
    struct tp_pool *pool; /* memory of threads, NULL: from the system */
    const tp_spec *spec;
    /* The array for an input or a table. `wanted` decides what two-byte data without a dtype are. TP_E_USAGE: there
     * is none; TP_E_INPUT: it cannot be read; *why is a sentence. */
    tp_status (*fetch)(void *ctx, tp_str name, tp_dtype wanted, tp_tensor *out, tp_str *why);
    /* Memory for an output, in C order, that nothing else overlaps; it is written while the kernel runs. NULL, or a
     * NULL result: new memory. */
    void *(*place)(void *ctx, tp_str name, const tp_tensor *shape);
    void *ctx;
    bool counts;             /* as tp_run_request.counts, */
    tp_observer *observer;   /* ... .observer */
    const tp_binding *sizes; /* that the arrays need not determine */
    uint32_t nsizes;
    const tp_dtype_param *dtypes;
    uint32_t ndtypes;
    bool measures; /* shapes are asked for, nothing is run: contents of tables and inputs are not looked at */
    bool fills;    /* an input for which fetch() says TP_E_USAGE is filled as cases are, which needs all sizes */
    int family;    /* tp_input_family, */
    uint64_t seed;
    /* found by tp_call_bind() */
    const tp_kernel *kernel;
    int64_t *env;
    tp_tensor *arrays;        /* inputs, then outputs: zeroed, but for those that place() has placed */
    tp_tensor *tables;        /* as they were fetched */
    tp_str why, undetermined; /* of a failure; the size that must be given, if that is it */
    bool *known;              /* per size: given, or solved for */
} tp_call;

/* TP_OK; TP_E_USAGE: something is missing or named wrongly; TP_E_INPUT: what is
 * there does not fit; c->why says it. Leaves with TP_E_MEMORY. */
tp_status tp_call_bind(tp_call *c);
/* As tp_machine_run(), by so many threads; 0: as many as there are processors for this process. */
tp_status tp_call_run(tp_call *c, uint64_t seed, int64_t max_steps, uint32_t threads, tp_trap *trap,
                      tp_run_stats *stats);

#endif
