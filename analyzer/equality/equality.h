/* Equality for all sizes: kernel and reference as summaries, compared.
 *
 * A summary says what one element of an array is, as a term over reads of the
 * inputs: body and reference are evaluated at symbolic indices (element.c);
 * what steps leave for the steps after them is recognised as a fold (grid.c).
 * Two terms are equal when their normal forms are (sum.c, equal.c): sums of
 * products with conditions, exponentials as a homomorphism, and folds over
 * index sets, of which the prover shows that they name the same points.
 *
 * The claim is over the reals, for all sizes and all finite inputs, and rests
 * on the rules of lint: nothing undefined is read, every element is written,
 * steps do not race. Casts between float types are the identity.
 */
#ifndef TP_EQUALITY_H
#define TP_EQUALITY_H

#include "analyzer/claim/analysis.h"
#include "spec/program.h"

typedef struct tp_equality {
    bool proven;
    tp_grade grade;       /* the weakest of the obligations */
    uint32_t obligations; /* arithmetic ones, decided by the prover */
    uint32_t certified;
    TP_VEC(tp_str) constants;   /* pairs of numbers that were taken as equal: "0.70710677 = 1/sqrt(2)" */
    bool casts;                 /* casts to narrower types were taken for the identity */
    unsigned given;             /* implicit facts that a proof used */
    bool masks;                 /* finite numbers were taken for minus infinity */
    uint32_t outputs, replayed; /* compared; those whose derivation was replayed */
    uint32_t steps, sides;      /* of these derivations */
    uint64_t laws, open;        /* that they used, by tp_law; laws without a schema that were used somewhere */
    tp_str unreplayed;          /* what stopped the others */
    tp_str rewriting;           /* proven: all that in words, tp_equality_trust() */
    tp_str reason;              /* not proven: what stopped it */
    tp_str detail;              /* the two normal forms that are not seen to be equal; may be empty */
    tp_loc loc;                 /* of the statement that stopped it; end 0: none */
} tp_equality;

/* What a proof takes for granted, in words that go on: "; casts are the identity; taken as equal: 0.33333334 = 1/3". */
tp_str tp_equality_terms(tp_arena *a, const tp_equality *q);
/* What a proof asks to be trusted beside its obligations: the kind of its rewriting, in words. */
tp_str tp_equality_trust(tp_arena *a, const tp_equality *q);

/* Is every output of k what `reference` says, for all sizes? Never "no": what
 * is not shown is open. It takes for granted that the rules with `for_equality` hold and, where o->waits_named, what
 * that says. Leaves with TP_E_MEMORY. */
void tp_prove_equality(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                       tp_equality *out);
/* For people: the normal forms of each output of both, as far as they are found, and why not all are. */
void tp_print_terms(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                    tp_buf *b);

#endif
