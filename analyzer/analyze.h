/* The analyzer: rules turn a kernel into obligations, the prover decides them,
 * findings say what came out. Never sees the machine: what is proven here and
 * what traps there are two opinions, compared by the tests.
 */
#ifndef TP_ANALYZE_H
#define TP_ANALYZE_H

#include "analyzer/claim/analysis.h"

const tp_rule *const *tp_rules(size_t *n);
/* By code or slug; NULL when unknown. */
const tp_rule *tp_rule_find(tp_str name);

/* Of the rules on which a proof of equality rests, without which it would mean nothing, the first that
 * these findings leave open: its code; NULL: none. */
const char *tp_equality_without(const tp_findings *findings);

/* Check all dtype combinations of a spec. Leaves with TP_E_MEMORY. */
void tp_analyze(tp_arena *a, const tp_spec *s, const tp_analysis_options *o, tp_analysis_result *out);

/* Does the body wait for copies, and is it proven for all sizes that each wait names the sides of a copy that it ends?
 * Then a wait may be taken for the store that the copy is. */
bool tp_waits_name_copies(tp_arena *a, const tp_kernel *k, const tp_analysis_options *o);

#endif
