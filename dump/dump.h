/* Windows into the phases: what each of them hands to the next, as text. For
 * people who look for a defect, and for tests that compare; the text may change
 * from version to version.
 */
#ifndef TP_DUMP_H
#define TP_DUMP_H

#include "analyzer/analyze.h"
#include "base/str.h"

/* A phase: one file of dump/phases, one descriptor named after the file. */
typedef struct tp_dump {
    const char *name, *summary;
    /* Of one dtype combination, to b. Leaves with TP_E_MEMORY. */
    void (*print)(tp_ctx *c, const tp_kernel *k, tp_buf *b);
} tp_dump;

/* In the order of their names. */
const tp_dump *const *tp_dumps(size_t *n);
/* NULL: there is none of that name. */
const tp_dump *tp_dump_find(tp_str name);
/* The phase, for every dtype combination of the spec; budgets are those of the context's arena. */
tp_str tp_dump_text(tp_ctx *c, const tp_spec *s, const tp_dump *d);

/* body.c: statements of the kernel's body, one a line, with what is to be said of an instruction; note may be NULL. */
typedef const char *(*tp_dump_note)(const void *ctx, const tp_inst *i);
void tp_dump_region(const tp_kernel *k, const tp_region *r, tp_dump_note note, const void *ctx, tp_buf *b);

/* "float32[M, bk]" */
void tp_dump_type(tp_buf *b, tp_dtype dtype, tp_exprs *p, uint32_t rank, const tp_expr *dims);
/* "0 <= i <= cdiv(N, bn) - 1" */
void tp_dump_var(tp_buf *b, tp_exprs *p, const tp_var *v);

#endif
