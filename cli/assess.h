/* `assess`: is a kernel worth its code? What its files share. */
#ifndef TP_CLI_ASSESS_H
#define TP_CLI_ASSESS_H

#include "cost/cost.h"
#include "report/report.h"

enum { TP_ASSESSMENT_VERSION = 1 };

typedef enum tp_advice { TP_KEEP, TP_EXPERIMENTAL, TP_DROP } tp_advice;
const char *tp_advice_name(tp_advice a);

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
