/* Polynomials with integers of any size (GMP), for the checker of proofs and
 * independent of the prover's (spec/expr.h).
 *
 * Atoms are symbols, entries of tables, keyed by the polynomials of their
 * indices, and operations that are not + - *, keyed by those of their operands. Rewritings that are built in:
 * operations on constants are evaluated, min and max commute, align_up(a, b) is cdiv(a, b)*b, and (b*q + r) // b = q +
 * r // b, likewise for cdiv and %, where q has integer values and either side has a value just when b != 0. What has no
 * value is left free, as an atom: nothing follows from it.
 */
#ifndef TP_BIGPOLY_H
#define TP_BIGPOLY_H

#include <gmp.h>

#include "spec/expr.h"

typedef struct tp_bigterm {
    mpz_ptr coef;            /* shared between polynomials: never changed */
    uint32_t degree, *atoms; /* ascending */
} tp_bigterm;

typedef struct tp_bigpoly {
    tp_bigterm *at;
    uint32_t len, cap; /* terms in order, no zero coefficients */
} tp_bigpoly;

typedef struct tp_bigatom {
    tp_expr_op op;
    uint32_t sym;
    tp_bigpoly args[3];
} tp_bigatom;

/* Where polynomials live. Set arena, exprs and `budget`, the work that may be
 * spent; running out leaves through tp_try() with TP_E_INPUT. */
typedef struct tp_bigs {
    tp_arena *arena;
    tp_exprs *exprs;
    int64_t budget;
    TP_VEC(tp_bigatom) atoms;
    TP_VEC(mpz_ptr) numbers; /* blocks of them */
    uint32_t used;           /* of the last block */
} tp_bigs;

void tp_bigs_free(tp_bigs *b); /* the numbers; the rest is the arena's */
/* Count work; leaves when the budget is spent. */
void tp_bigs_spend(tp_bigs *b, int64_t work);

tp_bigpoly tp_big_constant(tp_bigs *b, int64_t v);
/* x + scale * y */
tp_bigpoly tp_big_plus(tp_bigs *b, const tp_bigpoly *x, const tp_bigpoly *y, int64_t scale);
tp_bigpoly tp_big_times(tp_bigs *b, const tp_bigpoly *x, const tp_bigpoly *y);
/* Of an expression, with[i] (id 0: itself) in the place of symbol i < n. */
tp_bigpoly tp_big_of(tp_bigs *b, tp_expr e, const tp_expr *with, uint32_t n);
bool tp_big_same(const tp_bigpoly *x, const tp_bigpoly *y);
/* Of a constant polynomial; NULL when it is none. */
mpz_srcptr tp_big_value(tp_bigs *b, const tp_bigpoly *x);
void tp_big_print(tp_buf *out, tp_bigs *b, const tp_bigpoly *x);

#endif
