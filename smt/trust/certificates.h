/* Certificates: obligations with their proofs, as text that anyone can check
 * again without a solver. JSON lines (docs/REPORTS.md): the first line names
 * the format, each other one holds one proven obligation.
 */
#ifndef TP_CERTIFICATES_H
#define TP_CERTIFICATES_H

#include "smt/trust/proof.h"
#include "spec/json.h"

/* What is being written. Lives in its arena. */
typedef struct tp_certificates tp_certificates;
tp_certificates *tp_certificates_new(tp_arena *a);
/* A proven obligation; proof NULL: it has none, and the line says so. */
void tp_certificates_add(tp_certificates *c, const tp_exprs *p, const char *spec, const tp_obligation *o,
                         const tp_proof *proof, tp_grade grade);
/* Append all that `more` holds. */
void tp_certificates_append(tp_certificates *c, const tp_certificates *more);
tp_str tp_certificates_text(const tp_certificates *c);

typedef struct tp_certificate {
    tp_exprs *exprs;
    tp_str spec, grade;
    tp_obligation obligation;
    const tp_proof *proof; /* NULL: none */
} tp_certificate;

/* Is this the first line of such a file? Raises TP001 when it is not, or is of
 * a newer kind. c->source is the line. */
void tp_certificates_read_header(tp_ctx *c);
/* One line. Raises TP001 with the place. */
tp_certificate tp_certificate_read(tp_ctx *c);

#endif
