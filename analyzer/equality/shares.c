/* Shares of two exponentials: the logistic function, tanh, and logarithms of
 * sums of two.
 *
 *   tanh(x) = 1 - 2 / (1 + exp(2 x))
 *   1 / (a exp(x) + b exp(y)) = exp(-x) / (a + b exp(y - x)), y - x with a sign of its own
 *   exp(x) / (1 + exp(x)) = 1 - 1 / (1 + exp(x))
 *   log(exp(x) + exp(y)) = (x + y) / 2 + log(exp(d) + exp(-d)), d = (x - y) / 2, even in d
 *   log(1 / u) = -log(u), for u above 0
 *
 * Divisors are above 0, so that these hold everywhere. */
#include "analyzer/equality/sum.h"

#include <stdlib.h>

static uint32_t negative(summary *s, uint32_t x)
{
    return sum_add(s, sum_constant(s, 0), x, -1);
}

static uint32_t exponent_of(summary *s, const product *p)
{
    return p->exponent ? p->exponent : sum_constant(s, 0);
}

/* Two products with different exponents, not by a mask: the one that the other is to be
 * divided by, and the difference of exponents, which leads above 0. */
static bool two_exponentials(summary *s, const sum *a, uint32_t *low, uint32_t *d)
{
    if (a->n != 2 || a->at[0].nguards || a->at[1].nguards || a->at[0].exponent == a->at[1].exponent ||
        !sum_is_defined(s, exponent_of(s, &a->at[0])) || !sum_is_defined(s, exponent_of(s, &a->at[1])))
        return false;
    *d = sum_add(s, exponent_of(s, &a->at[1]), exponent_of(s, &a->at[0]), -1);
    if (!sum_is_free(s, *d)) /* limits are taken of masks as they stand */
        return false;
    *low = sum_leads_below_0(s, *d);
    if (*low)
        *d = negative(s, *d);
    return true;
}

/* 1 / x; 0: x is no sum of two exponentials. */
uint32_t sum_share(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    uint32_t low, d;
    if (!two_exponentials(s, &a, &low, &d))
        return 0;
    product p = a.at[low], q = a.at[!low], by = product_of(1, 1);
    record_open(s, TP_LAW_SHARES);
    p.exponent = q.exponent = 0;
    if (p.nfactors == 0) { /* to 1 + … */
        by = product_of(p.den, p.num);
        product_reduce(s, &by);
        p = product_of(1, 1);
    }
    uint32_t scale = sum_intern(s, &by, 1),
             high = sum_multiply(s, sum_multiply(s, sum_intern(s, &q, 1), scale), sum_exponential(s, d));
    atom inverse = {.kind = ATOM_INVERSE, .arg = {sum_add(s, sum_intern(s, &p, 1), high, 1)}};
    uint32_t less = sum_exponential(s, negative(s, exponent_of(s, &a.at[low])));
    return sum_multiply(s, sum_multiply(s, scale, less), sum_of_atom(s, &inverse, 1));
}

static bool is_one(const product *p)
{
    return p->num == 1 && p->den == 1 && p->nguards + p->nfactors == 0;
}

/* Is it 1 + exp(d)? */
static bool is_one_and_exponential(summary *s, uint32_t x, uint32_t *d)
{
    const sum a = *sum_get(s, x);
    if (a.n != 2 || !is_one(&a.at[0]) || !is_one(&a.at[1]) || (a.at[0].exponent == 0) == (a.at[1].exponent == 0))
        return false;
    *d = a.at[0].exponent ? a.at[0].exponent : a.at[1].exponent;
    return true;
}

/* How often one product of d is in e; 0: not. */
static double times_in(summary *s, uint32_t d, uint32_t e)
{
    const sum x = *sum_get(s, d), y = *sum_get(s, e);
    for (uint32_t i = 0; i < y.n && x.n; i++)
        if (product_alike(&x.at[0], &y.at[i]))
            return ((double)y.at[i].num / (double)y.at[i].den) / ((double)x.at[0].num / (double)x.at[0].den);
    return 0;
}

/* With u = exp(d): u / (1 + u) = 1 - 1 / (1 + u), in both directions, so that
 * the exponent beside 1 / (1 + u) holds d not even once. */
bool reduce_share(summary *s, const product *p, uint32_t which, uint32_t *out)
{
    uint32_t d;
    if (p->factor[which].power < 1 || !p->exponent ||
        !is_one_and_exponential(s, atom_get(s, p->factor[which].atom)->arg[0], &d))
        return false;
    double times = times_in(s, d, p->exponent);
    if (times >= 0 && times < 1)
        return false;
    product less = *p, same = *p;
    less.exponent = same.exponent = 0;
    if (--less.factor[which].power == 0) {
        memmove(&less.factor[which], &less.factor[which + 1], (less.nfactors - which - 1) * sizeof *less.factor);
        memset(&less.factor[--less.nfactors], 0, sizeof *less.factor);
    }
    uint32_t e = p->exponent, first = times < 0 ? e : sum_add(s, e, d, -1),
             second = times < 0 ? sum_add(s, e, d, 1) : first;
    *out = sum_add(s, sum_multiply(s, sum_intern(s, &less, 1), sum_exponential(s, first)),
                   sum_multiply(s, sum_intern(s, &same, 1), sum_exponential(s, second)), -1);
    return true;
}

/* 1 - 1 / (1 + exp(d)), which is above 0? */
bool sum_is_rest_of_share(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    uint32_t d;
    for (uint32_t i = 0; i < a.n && a.n == 2; i++) {
        const product *p = &a.at[i];
        if (is_one(&a.at[!i]) && !a.at[!i].exponent && p->num == -1 && p->den == 1 && !p->nguards && !p->exponent &&
            p->nfactors == 1 && p->factor[0].power == 1 && atom_get(s, p->factor[0].atom)->kind == ATOM_INVERSE &&
            is_one_and_exponential(s, atom_get(s, p->factor[0].atom)->arg[0], &d))
            return true;
    }
    return false;
}

/* d without the absolute values of its one product: what is even in d does not see them. */
static uint32_t even_part(summary *s, uint32_t d)
{
    const sum a = *sum_get(s, d);
    if (a.n != 1)
        return d;
    uint32_t r = sum_constant(s, 1);
    product rest = a.at[0];
    rest.nfactors = 0;
    memset(rest.factor, 0, sizeof rest.factor);
    for (uint32_t i = 0; i < a.at[0].nfactors; i++) {
        const atom x = *atom_get(s, a.at[0].factor[i].atom);
        if (x.kind == ATOM_APPLY && x.prim == TP_P_ABS && a.at[0].factor[i].power == 1)
            r = sum_multiply(s, r, x.arg[0]);
        else
            product_factor(s, &rest, a.at[0].factor[i].atom, a.at[0].factor[i].power);
    }
    r = sum_multiply(s, r, sum_intern(s, &rest, 1));
    return sum_leads_below_0(s, r) ? negative(s, r) : r;
}

/* log(x) for a sum of two exponentials, or a share of one; 0: x is another. */
uint32_t sum_logarithm_of_two(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    product half = product_of(1, 2);
    uint32_t low, d, one = sum_constant(s, 1), by = sum_intern(s, &half, 1);
    if (two_exponentials(s, &a, &low, &d) && is_one(&a.at[0]) && is_one(&a.at[1])) {
        uint32_t all = sum_add(s, exponent_of(s, &a.at[0]), exponent_of(s, &a.at[1]), 1);
        d = sum_multiply(s, even_part(s, d), by);
        atom log = {.kind = ATOM_APPLY,
                    .prim = TP_P_LOG,
                    .e = tp_const(s->p, 0),
                    .arg = {sum_add(s, sum_exponential(s, d), sum_exponential(s, negative(s, d)), 1)}};
        return sum_add(s, sum_multiply(s, all, by), sum_of_atom(s, &log, 1), 1);
    }
    for (uint32_t i = 0; i < a.n && a.n <= 2; i++) { /* 1 / (1 + u), or 1 - 1 / (1 + u) */
        const product *p = &a.at[i];
        if (p->nfactors != 1 || p->nguards || p->exponent || p->den != 1 || llabs(p->num) != 1 ||
            p->factor[0].power != 1)
            continue;
        const atom inverse = *atom_get(s, p->factor[0].atom);
        if (inverse.kind != ATOM_INVERSE || !is_one_and_exponential(s, inverse.arg[0], &d))
            continue;
        if (a.n == 1 && p->num == 1)
            return negative(s, sum_logarithm_of_two(s, inverse.arg[0]));
        if (a.n == 2 && p->num == -1 && is_one(&a.at[!i]) && !a.at[!i].exponent)
            return negative(s, sum_logarithm_of_two(s, sum_add(s, one, sum_exponential(s, negative(s, d)), 1)));
    }
    return 0;
}
