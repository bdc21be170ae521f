/* Implicit facts: what every claim about a kernel may take for granted, since
 * the arrays would exist on no device otherwise. Part of the domain that
 * reports print; a proof that uses one cites it.
 *
 *   F1  each array has fewer than 2^31 elements
 *   F2  each array dimension is at most 2^30, so that a start plus a block fits
 *       int32. A size with a declared "max" above that keeps it, and dimensions
 *       that mention such a size lose F2.
 *
 * Only what the sizes' own bounds do not say already is listed. */
#ifndef TP_SPEC_FACTS_H
#define TP_SPEC_FACTS_H

#include "spec/kernel.h"

enum { TP_FACT_F1 = 1, TP_FACT_F2 = 2, TP_FACTS_ALL = 3 };

typedef struct tp_implicit_fact {
    unsigned id; /* TP_FACT_F1 or TP_FACT_F2 */
    tp_expr says;
} tp_implicit_fact;
typedef TP_VEC(tp_implicit_fact) tp_implicit_facts;

/* Those of k's inputs and outputs, F2 first; each once. */
void tp_implicit_facts_of(tp_arena *a, const tp_kernel *k, tp_implicit_facts *out);
/* Is one with this id listed? */
bool tp_facts_among(const tp_implicit_facts *facts, unsigned id);
/* "F1, F2": of a set of ids; empty for none. */
const char *tp_fact_names(unsigned ids);
/* "each array dimension is at most 2^30": of one id. */
const char *tp_fact_text(unsigned id);

#endif
