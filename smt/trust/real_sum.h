/* Shared by real.c and real_sum.c: arithmetic on sums of products, and their keys. What comes out lives in f->arena.
 * Coefficients are n / d in 64 bits, reduced, d > 0. What has no room (a coefficient, a power, a product's conditions
 * or factors, a sum's terms) ends the replay by tp_reals_stop(). */
#ifndef TP_REAL_SUM_H
#define TP_REAL_SUM_H

#include "smt/trust/real.h"

typedef tp_real_form form;
typedef tp_real_product product;
typedef tp_real_atom atom;
typedef tp_real_guard guard;

/* Bound counters stand for the names of their depth. */
typedef struct scope {
    tp_expr *with;
    uint32_t n, depth;
} scope;

/* For qsort() of tp_str: by bytes. */
int tp_real_by_text(const void *a, const void *b);

/* Keys: equal texts are the same thing. With a scope, counters that it has are named by how deep they are bound;
 * without one (NULL) keys that are stored already are taken. */
tp_str tp_real_guard_key(tp_reals *f, const guard *g, const scope *s);
/* Without the coefficient. */
tp_str tp_real_product_key(tp_reals *f, const product *p, const scope *s);
tp_str tp_real_atom_key(tp_reals *f, const atom *a, const scope *s);
/* An index expression with its remainders written as quotients. */
tp_bigpoly tp_real_polynomial(tp_reals *f, tp_expr e, const scope *s);

/* The products as they are, with their keys made. */
form *tp_real_form_of(tp_reals *f, const product *at, uint32_t n);
/* Like products added, conditions and their opposites joined. */
const form *tp_real_collect(tp_reals *f, const product *at, uint32_t n);
/* num / den; den is not 0. */
const form *tp_real_constant(tp_reals *f, int64_t num, int64_t den);
/* a + scale * b */
const form *tp_real_plus(tp_reals *f, const form *a, const form *b, int64_t scale);
const form *tp_real_times(tp_reals *f, const form *a, const form *b);
/* -x */
const form *tp_real_negative(tp_reals *f, const form *x);

/* The opposite condition. */
guard tp_real_negate(tp_reals *f, guard g);
bool tp_real_has_guard(const product *p, tp_str key);
void tp_real_drop_guard(product *p, uint32_t i);
/* *p under one more condition; false: it is 0 then, as its opposite is there. */
bool tp_real_add_guard(tp_reals *f, product *p, guard g);
/* *p times a power of an atom; a comparison is 0 or 1, which its square is, too. */
void tp_real_add_factor(tp_reals *f, product *p, tp_real_factor x);
/* *p times *by; false: it is 0 then. */
bool tp_real_times_product(tp_reals *f, product *p, const product *by);
/* The coefficient of *p in lowest terms. */
void tp_real_reduce(tp_reals *f, product *p);

#endif
