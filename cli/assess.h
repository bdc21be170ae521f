/* `assess`: is a kernel worth its code? What its files share. */
#ifndef TP_CLI_ASSESS_H
#define TP_CLI_ASSESS_H

#include "cost/cost.h"
#include "report/report.h"

enum { TP_ASSESSMENT_VERSION = 1 };

typedef enum tp_advice { TP_KEEP, TP_EXPERIMENTAL, TP_DROP } tp_advice;

/* The same on this machine, executed: shown, and never a reason. */
typedef struct tp_measured {
    uint32_t runs; /* the least time of so many; 0: nobody asked */
    bool known;    /* else `why` */
    tp_str why;
    int64_t *env; /* sizes at which a run takes seconds */
    tp_str text;  /* these, and dtypes */
    bool tables;  /* contents of tables were found that keep the contracts */
    double seconds, reference_seconds;
    uint32_t threads;                         /* of the kernel; the reference has one */
    const char *instruction_set, *elementary; /* of matrix products; of exp and its kin */
} tp_measured;

/* m->runs times each, on inputs that are filled and tables that are found. The kernel must be one that no rule forbids.
 * Leaves with TP_E_MEMORY, TP_E_BUDGET; raises TP005 where "prepare" breaks what its tables declare. */
void tp_measure_here(tp_ctx *c, const tp_spec *spec, const tp_kernel *k, const tp_binding *given, uint32_t ngiven,
                     tp_measured *m);

/* The kernel beside its reference, of one combination of dtypes, at usual sizes. */
typedef struct tp_kernel_assessment {
    const tp_kernel *kernel;
    const int64_t *env;
    tp_str text; /* sizes and dtypes */
    bool known;  /* else `why` */
    tp_str why;
    double seconds; /* of the kernel in the model, its steps issued one by one; without that it would take */
    double issue;   /* ... so much less */
    int64_t steps;
    double moved, once; /* bytes that it moves; of its arrays */
    tp_bound bound;
    tp_cost_baseline baseline;
    double gain; /* baseline.seconds through seconds */
    tp_measured here;
} tp_kernel_assessment;

typedef struct tp_assessment {
    tp_arena *arena;
    const tp_spec_report *report; /* of `verify` */
    tp_counts counts;
    tp_str open;       /* tiers without a verdict; may be empty */
    double least_gain; /* from which on a kernel is kept */
    TP_VEC(tp_kernel_assessment) at;
    tp_advice advice;
    TP_VEC(tp_str) reasons; /* why it is not kept; of `keep` none */
} tp_assessment;

/* Fills in advice and reasons from the rest. */
void tp_assess(tp_assessment *x);
/* Both write one document, in the arena. */
tp_str tp_assessment_text(const tp_assessment *x);
tp_str tp_assessment_json(const tp_assessment *x);

#endif
