/* Rows of files of certificates: certificate_writer.c, certificate_reader.c; those of derivations, derivation_file.c.
 */
#ifndef TP_ROWS_H
#define TP_ROWS_H

#include "base/jsonc.h"
#include "smt/trust/certificates.h"

typedef struct json_object json;

typedef struct tp_row_writer {
    tp_arena *arena;
    const tp_exprs *p;
    json *nodes;
    TP_VEC(uint32_t) number; /* by expression: its node, 0: none yet */
    uint32_t written;        /* nodes */
    TP_VEC(tp_str) names;    /* of the symbols that were written */
} tp_row_writer;

typedef struct tp_row_reader {
    tp_ctx *c;
    tp_exprs *p;
    TP_VEC(tp_expr) nodes;
} tp_row_reader;

/* Names that both sides use, by tp_line_rule and tp_proof_kind. */
extern const char *const tp_row_line_names[TP_LINE_RULES], *const tp_row_proof_names[TP_PROOF_KINDS];
const char *tp_row_op_name(tp_expr_op op);

json *tp_row_of_expr(tp_row_writer *w, tp_expr e);
/* The node of a symbol, also of one that no expression mentions. */
json *tp_row_of_symbol(tp_row_writer *w, uint32_t sym);
json *tp_row_of_variable(tp_row_writer *w, const tp_var *x);
json *tp_row_of_side(tp_row_writer *w, const tp_side *side);
/* A statement as text, the same for the same statement: what a file says of an obligation is compared by it. */
tp_str tp_row_statement(tp_arena *a, const tp_exprs *p, const tp_certificate_entry *entry, const tp_obligation *o);
/* Adds a line, and its entry to the section. */
void tp_certificates_row(tp_certificates *c, tp_certificate_entry entry, json *row);

/* Raise TP001 with the place. */
void tp_row_nodes(tp_row_reader *r, const tp_json *nodes);
tp_expr tp_row_expr(tp_row_reader *r, const tp_json *v);
const tp_expr *tp_row_exprs(tp_row_reader *r, const tp_json *list);
uint32_t tp_row_symbol(tp_row_reader *r, const tp_json *v);
const tp_var *tp_row_variables(tp_row_reader *r, const tp_json *vars);
tp_side tp_row_side(tp_row_reader *r, const tp_json *o);
const tp_json *tp_row_member(tp_row_reader *r, const tp_json *o, const char *key, tp_json_type type);
void tp_row_members(tp_row_reader *r, const tp_json *o, const char *const *names, uint32_t n);
const tp_json *tp_row_item(tp_row_reader *r, const tp_json *array, uint32_t i, tp_json_type type);
uint32_t tp_row_small(tp_row_reader *r, const tp_json *v);

/* derivation_file.c */
tp_certificate tp_row_derivation(tp_row_reader *r, const tp_json *doc);

#endif
