/* Shared by real.c and real_sum.c: arithmetic on sums of products, and their keys. */
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

int tp_real_by_text(const void *a, const void *b);
tp_bigpoly tp_real_polynomial(tp_reals *f, tp_expr e, const scope *s);
tp_str tp_real_guard_key(tp_reals *f, const guard *g, const scope *s);
tp_str tp_real_product_key(tp_reals *f, const product *p, const scope *s);
tp_str tp_real_atom_key(tp_reals *f, const atom *a, const scope *s);
bool tp_real_is_op(tp_str op, const char *name);
form *tp_real_form_of(tp_reals *f, const product *at, uint32_t n);
const form *tp_real_constant(tp_reals *f, int64_t num, int64_t den);
guard tp_real_negate(tp_reals *f, guard g);
void tp_real_drop_guard(product *p, uint32_t i);
bool tp_real_has_guard(const product *p, tp_str key);
const form *tp_real_collect(tp_reals *f, const product *at, uint32_t n);
const form *tp_real_plus(tp_reals *f, const form *a, const form *b, int64_t scale);
bool tp_real_add_guard(tp_reals *f, product *p, guard g);
void tp_real_add_factor(tp_reals *f, product *p, tp_real_factor x);
bool tp_real_times_product(tp_reals *f, product *p, const product *by);
const form *tp_real_times(tp_reals *f, const form *a, const form *b);
const form *tp_real_negative(tp_reals *f, const form *x);
void tp_real_reduce(tp_reals *f, product *p);

#endif
