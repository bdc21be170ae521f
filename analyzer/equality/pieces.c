/* Functions that are linear in pieces: maxima, minima, absolute values, signs
 * and comparisons of data. All of them are told by |w| and by the conditions
 * 0 < w and w == 0, for a w that has a scale and a sign of its own:
 *
 *   max(x, y) = (x + y + |x - y|) / 2    min(x, y) = (x + y - |x - y|) / 2
 *   x < y is 0 < y - x                   x <= y is (x < y) + (x == y)
 *   w < 0 is 1 - (0 < w) - (w == 0)      sign(w) = 2 (0 < w) + (w == 0) - 1
 *   |c w| = |c| |w|                      |x y| = |x| |y|
 *   (0 < w) w = (|w| + w) / 2            (w == 0) w = 0
 *   (0 < w) |w| = (0 < w) w              (0 < w) (w == 0) = 0
 *
 * They hold for all real numbers, ties included. What may have no value stays
 * where it is: products are only rewritten where what is left of them has one,
 * and nothing that may have none cancels in x - y. Masks and infinities are no
 * numbers to subtract: with one in an argument the operation stays opaque. */
#include "analyzer/equality/sum.h"

#include <stdlib.h>

/* ---- a scale and a sign of its own ---- */

static int degree_of(const product *p)
{
    int all = 0;
    for (uint32_t i = 0; i < p->nfactors; i++)
        all += abs(p->factor[i].power);
    return all;
}

/* By what is in them, not by when it was made; kernel and reference make the same things in different order. */
static int compare_shapes(const summary *s, const product *a, const product *b)
{
    if (degree_of(a) != degree_of(b))
        return degree_of(a) - degree_of(b);
    if (a->nfactors != b->nfactors)
        return a->nfactors < b->nfactors ? -1 : 1;
    for (uint32_t i = 0; i < a->nfactors; i++) {
        const atom *x = atom_get(s, a->factor[i].atom), *y = atom_get(s, b->factor[i].atom);
        if (x->kind != y->kind)
            return x->kind < y->kind ? -1 : 1;
        if (x->prim != y->prim)
            return x->prim < y->prim ? -1 : 1;
        if (x->operand != y->operand)
            return x->operand < y->operand ? -1 : 1;
    }
    return (a->exponent != 0) - (b->exponent != 0);
}

/* The product that leads a sum; of none: NULL. */
static const product *leader(const summary *s, const sum *a)
{
    const product *best = NULL;
    for (uint32_t i = 0; i < a->n; i++)
        if (!best || compare_shapes(s, &a->at[i], best) >= 0)
            best = &a->at[i];
    return best;
}

bool sum_leads_below_0(const summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    return a.n && leader(s, &a)->num < 0;
}

/* x = c w, the leader of w with coefficient 1; x is not 0. */
static uint32_t scale(summary *s, uint32_t x, product *c)
{
    const sum a = *sum_get(s, x);
    const product *first = leader(s, &a);
    *c = product_of(first->num, first->den);
    product inverse = product_of(first->den, first->num);
    product_reduce(s, &inverse);
    return sum_multiply(s, x, sum_intern(s, &inverse, 1));
}

static uint32_t fraction(summary *s, int64_t num, int64_t den)
{
    product p = product_of(num, den);
    product_reduce(s, &p);
    return sum_intern(s, &p, num != 0);
}

static uint32_t negative(summary *s, uint32_t x)
{
    return sum_add(s, sum_constant(s, 0), x, -1);
}

/* ---- absolute values ---- */

static uint32_t absolute_product(summary *s, const product *p)
{
    product r = *p;
    r.num = llabs(p->num);
    r.nfactors = 0;
    memset(r.factor, 0, sizeof r.factor);
    for (uint32_t i = 0; i < p->nfactors; i++) {
        uint32_t id = p->factor[i].atom;
        uint32_t x = sum_of_factor(s, id, 1);
        if (p->factor[i].power % 2 != 0 && !sum_is_at_least_0(s, x))
            id = atom_intern(s, &(atom){.kind = ATOM_APPLY, .prim = TP_P_ABS, .e = tp_const(s->p, 0), .arg = {x}});
        product_factor(s, &r, id, p->factor[i].power);
    }
    return sum_intern(s, &r, 1);
}

uint32_t sum_absolute(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    product c;
    if (sum_is_at_least_0(s, x))
        return x;
    if (sum_is_at_least_0(s, negative(s, x)))
        return negative(s, x);
    if (a.n == 1)
        return absolute_product(s, &a.at[0]);
    uint32_t w = scale(s, x, &c);
    atom of = {.kind = ATOM_APPLY, .prim = TP_P_ABS, .e = tp_const(s->p, 0), .arg = {w}};
    return sum_multiply(s, fraction(s, llabs(c.num), c.den), sum_of_atom(s, &of, 1));
}

/* ---- from operations ---- */

/* May a part of x meet one like it in y? */
static bool share(const sum *x, const sum *y)
{
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = 0; k < y->n; k++)
            if (product_alike(&x->at[i], &y->at[k]))
                return true;
    return false;
}

/* x - y, where that says all about which is larger. */
static bool difference(summary *s, uint32_t x, uint32_t y, uint32_t *w)
{
    const sum a = *sum_get(s, x), b = *sum_get(s, y);
    if (!sum_is_free(s, x) || !sum_is_free(s, y) || (share(&a, &b) && !(sum_is_defined(s, x) && sum_is_defined(s, y))))
        return false;
    record_open(s, TP_LAW_PIECES);
    *w = sum_add(s, x, y, -1);
    return true;
}

uint32_t sum_extreme(summary *s, tp_prim prim, uint32_t x, uint32_t y)
{
    uint32_t w;
    if (!difference(s, x, y, &w))
        return 0;
    uint32_t both = sum_add(s, sum_add(s, x, y, 1), sum_absolute(s, w), prim == TP_P_MAXIMUM ? 1 : -1);
    return sum_multiply(s, both, fraction(s, 1, 2));
}

static uint32_t condition(summary *s, tp_prim prim, uint32_t w)
{
    atom a = {.kind = ATOM_APPLY, .prim = prim, .e = tp_const(s->p, 0), .arg = {sum_constant(s, 0), w}};
    return sum_of_atom(s, &a, 1);
}

/* Without factors above 0, which change no sign; those that may have no value stay. */
static uint32_t sign_part(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    if (a.n != 1)
        return x;
    product r = product_of(a.at[0].num > 0 ? 1 : -1, 1);
    if (a.at[0].exponent && !sum_is_defined(s, a.at[0].exponent))
        r.exponent = a.at[0].exponent;
    for (uint32_t i = 0; i < a.at[0].nfactors; i++) {
        uint32_t one = sum_of_factor(s, a.at[0].factor[i].atom, 1);
        if (!sum_is_positive(s, one) || !sum_is_defined(s, one))
            product_factor(s, &r, a.at[0].factor[i].atom, a.at[0].factor[i].power);
    }
    return sum_intern(s, &r, 1);
}

/* The signs of x: above[0] is 0 < x, above[1] x == 0. */
static void signs(summary *s, uint32_t x, uint32_t above[2])
{
    uint32_t minus = negative(s, x), one = sum_constant(s, 1), none = sum_constant(s, 0);
    if (!s->strict || sum_is_defined(s, x)) {
        above[0] = sum_is_positive(s, x) ? one : none;
        above[1] = sum_get(s, x)->n ? none : one;
        if (!sum_get(s, x)->n || sum_is_positive(s, x) || sum_is_positive(s, minus))
            return;
    }
    product c;
    uint32_t w = scale(s, sign_part(s, x), &c), positive = condition(s, TP_P_LT, w);
    above[1] = condition(s, TP_P_EQ, w);
    above[0] = c.num > 0 ? positive : sum_add(s, sum_add(s, one, positive, -1), above[1], -1);
    if ((!s->strict || sum_is_defined(s, x)) && sum_is_at_least_0(s, x))
        above[0] = sum_add(s, one, above[1], -1);
    else if ((!s->strict || sum_is_defined(s, x)) && sum_is_at_least_0(s, minus))
        above[0] = none;
}

uint32_t sum_compare(summary *s, tp_prim prim, uint32_t x, uint32_t y)
{
    uint32_t w, above[2], one = sum_constant(s, 1);
    if (!tp_prim_compares(prim))
        return 0;
    bool greater = prim == TP_P_GT || prim == TP_P_GE;
    if (!difference(s, greater ? x : y, greater ? y : x, &w))
        return 0;
    signs(s, w, above);
    return prim == TP_P_LT || prim == TP_P_GT   ? above[0]
           : prim == TP_P_LE || prim == TP_P_GE ? sum_add(s, above[0], above[1], 1)
           : prim == TP_P_EQ                    ? above[1]
                                                : sum_add(s, one, above[1], -1);
}

uint32_t sum_sign_of(summary *s, uint32_t x)
{
    uint32_t above[2];
    if (!sum_is_free(s, x))
        return 0;
    signs(s, x, above);
    return sum_add(s, sum_add(s, sum_add(s, above[0], above[0], 1), above[1], 1), sum_constant(s, 1), -1);
}

/* ---- products of conditions ---- */

bool atom_is_sign(summary *s, const atom *a)
{
    return a->kind == ATOM_APPLY && (a->prim == TP_P_LT || a->prim == TP_P_EQ) && a->arg[0] == sum_constant(s, 0);
}

/* p / by, without its exponent and coefficient; false: it is no factor of p. */
static bool divide(const product *p, const product *by, product *out)
{
    *out = *p;
    if (by->nfactors == 0)
        return false;
    for (uint32_t i = 0; i < by->nfactors; i++) {
        uint32_t k = 0;
        while (k < out->nfactors && (out->factor[k].atom != by->factor[i].atom || by->factor[i].power < 1 ||
                                     out->factor[k].power < by->factor[i].power))
            k++;
        if (k == out->nfactors)
            return false;
        out->factor[k].power -= by->factor[i].power;
        if (out->factor[k].power == 0)
            *out = product_without(out, k);
    }
    return true;
}

/* The product that leads w, where a product with it can be told by the others. */
static bool has_reducing_leader(const summary *s, const sum *w, const product **lead)
{
    enum { MOST = 4 };
    product rest;
    *lead = leader(s, w);
    if (w->n > MOST || (*lead)->exponent)
        return false;
    for (uint32_t i = 0; i < w->n; i++)
        if (&w->at[i] != *lead && divide(&w->at[i], *lead, &rest))
            return false;
    return true;
}

/* p holds the condition `which`, on w. */
bool reduce_sign(summary *s, const product *p, uint32_t which, uint32_t *out)
{
    const atom c = *atom_get(s, p->factor[which].atom);
    bool above = c.prim == TP_P_LT;
    uint32_t w = c.arg[1];
    const sum of = *sum_get(s, w);
    product rest = product_without(p, which), m;
    const product *lead;
    if (!sum_is_free(s, w))
        return false;
    for (uint32_t i = 0; i < rest.nfactors; i++) {
        const atom a = *atom_get(s, rest.factor[i].atom);
        if (a.kind != ATOM_APPLY || (a.prim == TP_P_ABS ? a.arg[0] != w : !atom_is_sign(s, &a) || a.arg[1] != w))
            continue;
        m = product_without(p, i < which ? i : i + 1);
        if (rest.factor[i].power < 1 || !product_is_defined(s, &m))
            return false;
        if (a.prim != TP_P_ABS || !above) { /* above 0 and 0; |0| */
            *out = sum_constant(s, 0);
            return true;
        }
        *out = sum_intern(s, &m, 1);
        for (int k = 0; k < rest.factor[i].power; k++)
            *out = sum_multiply(s, *out, w);
        return true;
    }
    if (!has_reducing_leader(s, &of, &lead) || !divide(&rest, lead, &m) || !product_is_defined(s, &m) ||
        !sum_is_defined(s, w))
        return false;
    product holds = product_of(1, 1), first = *lead;
    product_factor(s, &holds, p->factor[which].atom, 1);
    uint32_t less = sum_add(s, w, sum_intern(s, &first, 1), -1), by = sum_intern(s, &m, 1), total;
    total = negative(s, sum_multiply(s, sum_multiply(s, by, less), sum_intern(s, &holds, 1)));
    if (above)
        total = sum_add(
            s, total, sum_multiply(s, by, sum_multiply(s, sum_add(s, sum_absolute(s, w), w, 1), fraction(s, 1, 2))), 1);
    *out = total;
    return true;
}
