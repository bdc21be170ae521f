/* Two bodies of one kernel, side by side: does one do what the other does, bit for bit, at all sizes?
 *
 * Their statements are paired in order. A value of one and its partner in the other are the same where they are
 * computed alike from values that are the same, since memory is the same before each pair of statements. Where they are
 * not, the value of the first body is replaced by an undefined one, in the lanes in which the two differ. When nothing
 * undefined then reaches an output, a branch, an index or a check (analyzer/flow), nothing that counts differs.
 *
 * What a wait names is not looked at: of it only the bytes of the destination count (docs/SPEC.md, rule 10).
 */
#ifndef TP_ALIKE_H
#define TP_ALIKE_H

#include "analyzer/claim/analysis.h"
#include "spec/program.h"

typedef struct tp_alike {
    bool shown; /* given that both bodies keep the rules on which equality rests */
    bool plain; /* no value differs in any lane */
    bool waits; /* waits name other places of as many bytes */
} tp_alike;

/* `body`, which is changed, and `other` are lowered for k. Not shown is no verdict. Leaves with TP_E_MEMORY. */
tp_alike tp_bodies_alike(tp_arena *a, const tp_kernel *k, tp_program *body, const tp_program *other,
                         const tp_analysis_options *o);

#endif
