/* Masks by finite numbers, such as -1e30 in the place of minus infinity. In a
 * normal form a mask is a constant of which nothing is known, so that equality
 * holds whatever it is; at the end it goes to minus infinity: exp(mask + x)
 * goes to 0 where x does not depend on it. Only limits are taken that exist:
 * a product keeps its masks unless all its parts are without them then. */
#include "analyzer/equality/sum.h"

#include <stdlib.h>

static bool is_mask(const summary *s, uint32_t id)
{
    const atom *a = atom_get(s, id);
    return a->kind == ATOM_REAL && a->real >= SUMMARY_MASK;
}

/* sign * c * mask, c being above 0 */
static bool is_masking(const summary *s, const product *p, int sign)
{
    uint32_t masks = 0, numbers = 0;
    for (uint32_t f = 0; f < p->nfactors; f++) {
        const atom *a = atom_get(s, p->factor[f].atom);
        masks += is_mask(s, p->factor[f].atom) && p->factor[f].power == 1;
        numbers += a->kind == ATOM_REAL && a->real > 0 && !is_mask(s, p->factor[f].atom);
    }
    return sign * p->num > 0 && p->nguards == 0 && !p->exponent && masks == 1 && masks + numbers == p->nfactors;
}

static bool atom_is_free(summary *s, uint32_t id)
{
    const atom a = *atom_get(s, id);
    bool yes = !is_mask(s, id);
    for (int i = 0; i < 3 && yes; i++)
        yes = !a.arg[i] || sum_is_free(s, a.arg[i]);
    return yes;
}

bool sum_is_free(summary *s, uint32_t id)
{
    const sum a = *sum_get(s, id);
    sum_spend(s);
    for (uint32_t i = 0; i < a.n; i++) {
        for (uint32_t f = 0; f < a.at[i].nfactors; f++)
            if (!atom_is_free(s, a.at[i].factor[f].atom))
                return false;
        if (a.at[i].exponent && !sum_is_free(s, a.at[i].exponent))
            return false;
    }
    return true;
}

/* The condition under which the body of the fold is a mask and nothing else. No id: there is none. */
static tp_expr masked_where(summary *s, const atom *fold, int sign)
{
    const sum body = *sum_get(s, fold->arg[0]);
    for (uint32_t i = 0; i < body.n; i++) {
        product p = body.at[i];
        tp_expr guard = p.guard[0];
        if (p.nguards != 1)
            continue;
        p.nguards = 0;
        const sum masked = *sum_get(s, sum_where_guard(s, fold->arg[0], guard, true));
        if (is_masking(s, &p, sign) && masked.n == 1 && is_masking(s, &masked.at[0], sign))
            return guard;
    }
    return (tp_expr){0};
}

/* The maximum of masks where conditions fail is that of the points where all of
 * them hold, if there is one; likewise the minimum of masks above. */
static bool extreme_limit(summary *s, const atom *fold, uint32_t *out)
{
    atom f = *fold;
    if (fold->prim != TP_P_MAX && fold->prim != TP_P_MIN)
        return false;
    while (!sum_is_free(s, f.arg[0])) {
        tp_expr fails = masked_where(s, &f, fold->prim == TP_P_MIN ? 1 : -1);
        product guards = product_of(1, 1);
        guards.nguards = f.nguards;
        memcpy(guards.guard, f.guard, sizeof guards.guard);
        if (!fails.id || !product_guard(s, &guards, condition_normal(s, fails, true)))
            return false;
        f.arg[0] = sum_where_guard(s, f.arg[0], fails, false);
        f.nguards = guards.nguards;
        memcpy(f.guard, guards.guard, sizeof f.guard);
    }
    if (!fold_never_empty(s, &f))
        return false;
    *out = sum_of_factor(s, fold_intern(s, &f), 1);
    return true;
}

/* A maximum, a minimum or an absolute value tends to that of what its arguments tend to. */
static bool continuous_limit(summary *s, const atom *a, bool assumed, uint32_t *out)
{
    uint32_t arg[3], n = 0;
    if (a->prim != TP_P_MAXIMUM && a->prim != TP_P_MINIMUM && a->prim != TP_P_ABS)
        return false;
    for (; n < 3 && a->arg[n]; n++) {
        arg[n] = sum_limit(s, a->arg[n], assumed);
        if (!sum_is_free(s, arg[n]))
            return false;
    }
    *out = sum_apply(s, a->prim, 0, arg, n, 0);
    return true;
}

/* Limit of an atom, without masks; false: none is seen. */
static bool atom_limit(summary *s, uint32_t id, bool assumed, uint32_t *out)
{
    if (atom_is_free(s, id)) {
        *out = sum_of_factor(s, id, 1);
        return true;
    }
    atom a = *atom_get(s, id);
    if (a.kind == ATOM_FOLD)
        a = fold_open(s, id);
    if (a.kind == ATOM_FOLD && a.prim != TP_P_SUM)
        return extreme_limit(s, &a, out);
    if (a.kind == ATOM_APPLY)
        return continuous_limit(s, &a, assumed, out);
    if (a.kind != ATOM_FOLD && a.kind != ATOM_INVERSE)
        return false;
    uint32_t x = sum_limit(s, a.arg[0], assumed);
    if (!sum_is_free(s, x))
        return false;
    if (a.kind == ATOM_INVERSE) {
        if (sum_get(s, x)->n == 0 || !(assumed || sum_is_positive(s, x)))
            return false;
        *out = sum_inverse(s, x);
        return true;
    }
    *out = fold_again(s, &a, x);
    return true;
}

static uint32_t product_limit(summary *s, const product *p, bool assumed)
{
    uint32_t as_it_is = sum_intern(s, p, 1), r;
    product rest = *p;
    bool vanishes = false;
    rest.nfactors = 0;
    memset(rest.factor, 0, sizeof rest.factor);
    if (p->exponent) {
        const sum e = *sum_get(s, p->exponent);
        product *kept = TP_NEWN(s->arena, product, e.n + 1);
        uint32_t n = 0;
        for (uint32_t i = 0; i < e.n; i++)
            if (!is_masking(s, &e.at[i], -1))
                kept[n++] = e.at[i];
        vanishes = n < e.n;
        rest.exponent = n ? sum_from(s, kept, n) : 0;
        if (rest.exponent && !sum_is_free(s, rest.exponent))
            rest.exponent = sum_limit(s, rest.exponent, assumed);
        if (rest.exponent && sum_get(s, rest.exponent)->n == 0)
            rest.exponent = 0;
        if (rest.exponent && !sum_is_free(s, rest.exponent))
            return as_it_is;
    }
    r = sum_intern(s, &rest, 1);
    for (uint32_t f = 0; f < p->nfactors; f++) {
        uint32_t x;
        int power = p->factor[f].power;
        if (!atom_limit(s, p->factor[f].atom, assumed, &x))
            return as_it_is;
        if (power < 0 && !atom_is_free(s, p->factor[f].atom) &&
            (sum_get(s, x)->n == 0 || !(assumed || sum_is_positive(s, x))))
            return as_it_is;
        if (power < 0)
            x = sum_inverse(s, x);
        for (int k = 0; k < abs(power); k++)
            r = sum_multiply(s, r, x);
    }
    s->out->masks = true;
    return vanishes ? sum_constant(s, 0) : r;
}

uint32_t sum_limit(summary *s, uint32_t id, bool assumed)
{
    const sum a = *sum_get(s, id);
    uint32_t total = sum_constant(s, 0);
    if (sum_is_free(s, id))
        return id;
    for (uint32_t i = 0; i < a.n; i++)
        total = sum_add(s, total, product_limit(s, &a.at[i], assumed), 1);
    return total;
}
