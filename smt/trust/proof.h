/* Proofs as data: what the exact engine writes (positivity.c, refute.c,
 * prove.c), what certificate.c checks and certificate_writer.c stores.
 *
 * A proof refutes the obligation's negation. Hypotheses are the premises and
 * the negated goal, numbered from 0; a conjunction becomes its conjuncts, in
 * order. Inner nodes split or substitute; a leaf derives lines, each of which
 * states that a polynomial is >= 0, until one is a negative constant.
 */
#ifndef TP_PROOF_H
#define TP_PROOF_H

#include "smt/trust/obligation.h"

typedef enum tp_line_rule {
    TP_LINE_FACT,       /* hypothesis `number`; an equation gives either sign: `side` 0 is +, 1 is - */
    TP_LINE_LOWER,      /* s - lower bound, s the variable with symbol `number` */
    TP_LINE_UPPER,      /* upper bound - s */
    TP_LINE_DEFINITION, /* what the operation at the top of `e` means, inequality `side`; refs[0] of quotients and
                           remainders: the divisor - 1 >= 0 */
    TP_LINE_SUM,        /* sum of products of lines with coefficients >= 0 */
    TP_LINE_CANCEL,     /* e, when refs[0] + c = f * e with c >= 0 constant, f = refs[1] + 1; e - 1 when c > 0 */
    TP_LINE_ENDS,       /* P = A - f*Y = B + f*X, of A, B, X, Y = refs: whatever the sign of f */
    TP_LINE_CASES,      /* P = A - f*(a - m) = B - f*(b - m), m = `e` being min(a, b), max(a, b) or a if c else b */
    TP_LINE_RULES
} tp_line_rule;

typedef struct tp_product {
    int64_t coef;
    uint32_t n, refs[TP_POLY_MAX_DEGREE + 1];
} tp_product;

/* Lines are numbered from 1; refs name earlier ones. */
typedef struct tp_line {
    tp_line_rule rule;
    uint32_t number, side;
    uint32_t refs[4];
    tp_expr e, factor; /* factor: f of ENDS and CASES */
    const tp_product *products;
    uint32_t nproducts;
} tp_line;

typedef enum tp_proof_kind {
    TP_PROOF_CHOICES,  /* one kid per choice of the variable `number` */
    TP_PROOF_MULTIPLE, /* the variable `number` is `factor` times the new symbol `sym`; one kid */
    TP_PROOF_DIVIDED,  /* a premise says that variable `number` is a multiple of the size `value`: it is `value` times
                          the new symbol `sym`; one kid */
    TP_PROOF_BOUND,    /* a premise says that variable `number` is at least (`side` 1: at most) `factor`; one kid */
    TP_PROOF_REFUTE,   /* number the hypotheses; one kid */
    TP_PROOF_SPLIT,    /* hypothesis `number` is a disjunction; two kids */
    TP_PROOF_LET,      /* hypothesis `number` says that symbol `sym` equals `value`; one kid */
    TP_PROOF_LINES,    /* the last line is a negative constant */
    TP_PROOF_ABSURD,   /* hypothesis `number` cannot hold */
    TP_PROOF_POINTS,   /* every case is evaluated */
    TP_PROOF_KINDS
} tp_proof_kind;

typedef struct tp_proof {
    tp_proof_kind kind;
    uint32_t number, sym, side;
    int64_t factor;
    tp_expr value;
    const struct tp_proof *const *kids;
    uint32_t nkids;
    const tp_line *lines;
    uint32_t nlines;
} tp_proof;

/* proof.c: an inner node; a copy with only the lines that are used. */
const tp_proof *tp_proof_node(tp_arena *a, tp_proof n, const tp_proof *const *kids, uint32_t nkids);
const tp_proof *tp_proof_copy(tp_arena *a, const tp_proof *p);

/* certificate.c: does the proof prove the obligation? Trusts nothing but the
 * meaning of expressions (spec/expr.h), and works in a pool of its own: what
 * outgrows that is refused. `why` (may be NULL): what is wrong;
 * `text` (may be NULL): receives the proof as it was understood. Temporary
 * memory comes from `work`. */
bool tp_check_proof(tp_arena *work, const tp_exprs *p, const tp_obligation *o, const tp_proof *proof, tp_str *why,
                    tp_buf *text);
/* Is it a statement that a proof could be of: variables declared once and in
 * order, each with values? */
bool tp_check_claim(tp_arena *work, const tp_exprs *p, const tp_obligation *o, tp_str *why);

#endif
