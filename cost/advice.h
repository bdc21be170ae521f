/* What a kernel costs at usual sizes (docs/COST.md), for rules that advise. */
#ifndef TP_ADVICE_H
#define TP_ADVICE_H

#include "analyzer/claim/claim.h"
#include "cost/cost.h"

typedef struct tp_advice_cost {
    tp_str sizes;       /* "M = 4096, N = 4096"; empty: there is one shape */
    const int64_t *env; /* the values of symbols */
    tp_cost_numbers numbers;
    tp_cost_model model; /* on the spec's target */
} tp_advice_cost;

/* Usual sizes of the domain of proofs, halved until they are in it: values of symbols, in a->arena. NULL: none are. */
int64_t *tp_advice_sizes(tp_analysis *a);

/* Of the kernel as declared, in a->arena. False: a rule was violated, so that no count means anything; or what is
 * needed has no closed form and takes too long to count for a lint; or the target has no rates. */
bool tp_advice_cost_of(tp_analysis *a, tp_advice_cost *c);

#endif
