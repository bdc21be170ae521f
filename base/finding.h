/* Findings: statements about a kernel (or about a spec that cannot be read),
 * and the source text they point into. */
#ifndef TP_FINDING_H
#define TP_FINDING_H

#include "base/str.h"
#include "base/vec.h"
#include "codes.h" /* TP_RULE_BLOCK_OUT_OF_BOUNDS …: made by tools/gen-codes.sh */

/* Between the text of a spec and that of the file with its body; no other text may hold it. */
#define TP_SOURCE_PART '\x1e'

/* One spec file. `text` is what positions refer to: the spec, and where "kernel_file" names a file, TP_SOURCE_PART and
 * the text of that. */
typedef struct tp_source {
    tp_str path; /* as the user named it; "<stdin>" */
    tp_str text;
    tp_str kernel_file; /* its path, as messages say it; empty: there is none */
} tp_source;

/* Length of the text of the spec itself. */
size_t tp_source_main(const tp_source *s);
/* Of the file that holds the offset. */
tp_str tp_source_path(const tp_source *s, uint32_t offset);

/* Half-open byte range of a source plus the JSON pointer of its value. */
typedef struct tp_loc {
    uint32_t start, end;
    tp_str pointer;
} tp_loc;

typedef struct tp_linecol {
    uint32_t line, column; /* from 1; columns count code points */
} tp_linecol;

tp_linecol tp_linecol_of(const tp_source *s, uint32_t offset);
/* The line that holds `offset`, without its newline. */
tp_str tp_line_of(const tp_source *s, uint32_t offset);

/* Words that are promises: see docs/DESIGN.md. */
typedef enum tp_verdict {
    TP_PROVEN,
    TP_VIOLATED,
    TP_UNKNOWN,
    TP_VACUOUS,
    TP_ASSUMED,
    TP_NOT_APPLICABLE,
    TP_ADVICE, /* something that works and could be better */
    TP_VERDICTS
} tp_verdict;
const char *tp_verdict_name(tp_verdict v);
/* Nothing is left to say or to do about it. */
bool tp_verdict_settled(tp_verdict v);

typedef enum tp_severity { TP_NOTE, TP_WARNING, TP_ERROR } tp_severity;
const char *tp_severity_name(tp_severity s);

/* What a proof rests on: a certificate that our checker accepted, an exact
 * procedure without one (tables, every case evaluated), or solvers. Later is weaker. */
typedef enum tp_grade {
    TP_GRADE_NONE,
    TP_GRADE_CERT,
    TP_GRADE_EXACT,
    TP_GRADE_Z3_CVC5,
    TP_GRADE_Z3,
    TP_GRADE_CVC5
} tp_grade;
const char *tp_grade_name(tp_grade g); /* NULL for none */

typedef struct tp_binding {
    tp_str name;
    int64_t value;
} tp_binding;

/* A concrete case that breaks a rule. */
typedef struct tp_witness {
    TP_VEC(tp_binding) sizes;
    TP_VEC(tp_binding) step;   /* grid axes; may be empty */
    TP_VEC(tp_binding) tables; /* entries of prefetched tables: `pages[0, 1]` */
    tp_str contents;           /* of the tables, as a JSON object; may be empty */
    tp_str dtypes;             /* "T=float32" or empty */
    const char *replay;        /* "arithmetic" or "executed" */
    tp_str detail;             /* what happens there, in numbers */
} tp_witness;

/* Replace bytes [start, end) of the source. */
typedef struct tp_edit {
    uint32_t start, end;
    tp_str text;
} tp_edit;
typedef TP_VEC(tp_edit) tp_edits;
/* The text after them; they are ascending and apart. */
tp_str tp_apply_edits(tp_arena *a, tp_str text, const tp_edits *edits);
typedef struct tp_fix {
    tp_str title;
    tp_edits edits;  /* ascending, apart */
    tp_str requires; /* what it adds to "where", giving up sizes for which the kernel was meant; empty: nothing */
} tp_fix;

typedef struct tp_finding {
    const char *rule, *slug; /* TP_RULE_BLOCK_OUT_OF_BOUNDS, "block-out-of-bounds" */
    tp_verdict verdict;
    tp_grade grade;
    tp_severity severity;
    tp_str subject; /* operand, axis or size; may be empty */
    tp_loc loc;
    tp_str message; /* the whole story in one line */
    tp_str claim;   /* what was to be shown, in words; may be empty */
    tp_str label;   /* text under the caret; may be empty */
    tp_str reason;  /* why unknown; may be empty */
    tp_str note, help;
    tp_str holds_when; /* weakest simple precondition, re-proven */
    tp_str rests_on;   /* "F2" ...; comma separated */
    tp_witness *witness;
    TP_VEC(tp_fix) proposals; /* of the rule, best first; nobody has tried them */
    const tp_fix *fix;        /* the first of them after which this finding is gone and no other is new; or NULL */
    bool follows;             /* the fix of another finding removes it */
    bool suppressed;
    tp_str suppress_reason;
    double ms;
} tp_finding;

typedef TP_VEC(tp_finding) tp_findings;

/* Two lists of what proofs rest on, as one: each id once, facts before rules
 * before contracts, in ascending order. */
tp_str tp_basis_join(tp_arena *a, tp_str x, tp_str y);
/* Does the list name this id? */
bool tp_basis_names(tp_str list, const char *id);

/* A code that no static rule has: codes.def. */
typedef enum tp_code_source { TP_CODE_SPEC, TP_CODE_EXECUTION, TP_CODE_RUN } tp_code_source;
typedef struct tp_code {
    const char *code, *slug;
    tp_code_source source;
    const char *title, *why;
} tp_code;
const tp_code *tp_codes(size_t *n);
/* By code or slug; NULL when unknown. */
const tp_code *tp_code_find(tp_str name);

/* What the reading of one spec carries around: memory, text, findings. */
typedef struct tp_ctx {
    tp_arena *arena;
    const tp_source *source;
    tp_findings findings;
    const tp_str *read_from; /* folders with files that the spec may name, besides its own */
    uint32_t nread_from;
} tp_ctx;

/* Record an error on the spec and leave through tp_try() with TP_E_INPUT.
 * `help` may be NULL. */
_Noreturn void tp_raise(tp_ctx *c, const char *code, tp_loc loc, const char *help, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#endif
