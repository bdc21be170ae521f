/* Certificates: obligations with their proofs, as text that anyone can check
 * again without a solver. docs/CERTIFICATES.md is the format: a header line,
 * then for each spec a section line, which says of which text, target and
 * rules the obligations are and lists them, and one line per obligation.
 */
#ifndef TP_CERTIFICATES_H
#define TP_CERTIFICATES_H

#include "smt/trust/derivation.h"
#include "spec/json.h"

enum { TP_CERTIFICATES_FORMAT = 2 };

/* One that has to be there. */
typedef struct tp_certificate_entry {
    tp_str spec, obligation, grade;
} tp_certificate_entry;

/* What the obligations of a section are of. */
typedef struct tp_certificate_section {
    tp_str name, sha256; /* of the spec; of its canonical text */
    tp_str target, tool;
    tp_str command; /* lint, or verify: with the obligations of equality */
    TP_VEC(tp_str) rules, dtypes;
    TP_VEC(tp_certificate_entry) obligations;
} tp_certificate_section;

/* What is being written. Lives in its arena. */
typedef struct tp_certificates tp_certificates;
tp_certificates *tp_certificates_new(tp_arena *a);
/* A proven obligation; proof NULL: it has none, and the line says so. */
void tp_certificates_add(tp_certificates *c, const tp_exprs *p, const char *spec, const tp_obligation *o,
                         const tp_proof *proof, tp_grade grade);
/* A derivation of equality, of that output. */
void tp_certificates_add_derivation(tp_certificates *c, tp_str spec, tp_str output, const tp_derivation *d);
/* The first line of a file. */
tp_str tp_certificates_header(tp_arena *a);
/* All that was added, a line each; the list of `about` becomes theirs, and is written before them. */
tp_str tp_certificates_section(tp_certificates *c, tp_certificate_section *about);
tp_str tp_certificates_rows(const tp_certificates *c);

/* One line of a file, not the first. */
typedef struct tp_certificate {
    const tp_certificate_section *section; /* NULL: an obligation */
    tp_exprs *exprs;
    tp_certificate_entry entry;
    tp_obligation obligation;
    const tp_proof *proof;           /* NULL: none */
    const tp_derivation *derivation; /* of equality, in place of an obligation; NULL: an obligation */
    tp_str statement;                /* the obligation in one way of writing: the same text, the same statement */
} tp_certificate;

/* Is this the first line of such a file? Raises TP001 when it is not, or is of
 * another format. c->source is the line. */
void tp_certificates_read_header(tp_ctx *c);
/* One line. Raises TP001 with the place. */
tp_certificate tp_certificate_read(tp_ctx *c);

#endif
