/* What a spec costs at usual sizes (docs/COST.md), for reports. */
#ifndef TP_USUAL_H
#define TP_USUAL_H

#include "cost/cost.h"
#include "report/report.h"

/* Those that are given, which the kernel has, and others as near `wish` as the spec has them, where a usual size is not
 * one of a few heads or groups. NULL: the spec does not allow them. */
int64_t *tp_sizes_near(tp_arena *a, const tp_kernel *k, const tp_binding *given, uint32_t ngiven, int64_t wish);
/* Those that are given, which the kernel has, and usual ones for the others, halved until the spec allows them: values
 * of symbols, in `a`. NULL: it allows none. */
int64_t *tp_usual_sizes(tp_arena *a, const tp_kernel *k, const tp_binding *given, uint32_t ngiven);

typedef struct tp_usual_cost {
    tp_str sizes; /* "M = 4096, N = 4096"; empty: there is one shape */
    tp_cost_numbers numbers;
    tp_cost_model model; /* on the spec's target */
} tp_usual_cost;

/* Of the first combination of dtypes, at usual sizes; where tables decide, at those of the pictures, whose tables are
 * known. False: a count means nothing, since a rule is violated, or there is none. */
bool tp_usual_cost_of(tp_arena *a, const tp_spec_report *s, tp_usual_cost *c);

#endif
