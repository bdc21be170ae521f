/* Cases by the sign of data. Two normal forms are equal when they are where
 * w > 0, where w == 0 and where w < 0, for any w: |w|, 0 < w and w == 0 are
 * known there. Cases that cannot be are told by sums of up to three signs:
 * x - 6 > 0 and -1 - x > 0 are not, as their sum is below 0.
 *
 * Only forms that have a value for all inputs are looked at, since what a case
 * leaves out would not be missed. */
#include "analyzer/equality/sum.h"

#include <stdlib.h>

/* ---- what there is to decide ---- */

static uint32_t sign_in(summary *s, uint32_t id, bool deep);

/* Some w of which atom a asks the sign, the innermost first; 0: none. `deep`:
 * within functions that are not linear in pieces, too. */
static uint32_t sign_in_atom(summary *s, const atom *a, bool deep)
{
    bool asks = a->kind == ATOM_APPLY && (a->prim == TP_P_ABS || atom_is_sign(s, a));
    if (!asks && !(deep && (a->kind == ATOM_APPLY || a->kind == ATOM_INVERSE)))
        return 0;
    for (int i = 0; i < 3; i++) {
        uint32_t found = a->arg[i] ? sign_in(s, a->arg[i], deep) : 0;
        if (found)
            return found;
    }
    uint32_t w = !asks ? 0 : a->prim == TP_P_ABS ? a->arg[0] : a->arg[1];
    return w && sum_is_free(s, w) ? w : 0;
}

static uint32_t sign_in(summary *s, uint32_t id, bool deep)
{
    const sum a = *sum_get(s, id);
    uint32_t found = 0;
    sum_spend(s);
    for (uint32_t i = 0; i < a.n && !found; i++) {
        for (uint32_t f = 0; f < a.at[i].nfactors && !found; f++) {
            const atom x = *atom_get(s, a.at[i].factor[f].atom);
            found = sign_in_atom(s, &x, deep);
        }
        if (!found && deep && a.at[i].exponent)
            found = sign_in(s, a.at[i].exponent, deep);
    }
    return found;
}

/* ---- putting a sign in ---- */

typedef struct known_sign {
    uint32_t w;
    int sign;      /* -1, 0, 1 */
    uint32_t lead; /* where w is 0: this atom is */
    uint32_t by;   /* this sum; 0: none is */
} known_sign;

static uint32_t with_sign(summary *s, uint32_t id, const known_sign *k);

static uint32_t atom_with_sign(summary *s, uint32_t id, const known_sign *k)
{
    const atom a = *atom_get(s, id);
    if (k->by && id == k->lead)
        return k->by;
    if (atom_is_sign(s, &a) && a.arg[1] == k->w)
        return sum_constant(s, k->sign == (a.prim == TP_P_LT));
    if (a.kind == ATOM_APPLY && a.prim == TP_P_ABS && a.arg[0] == k->w)
        return sum_add(s, sum_constant(s, 0), k->w, k->sign);
    if (a.kind == ATOM_APPLY) {
        uint32_t arg[3], n = 0;
        for (; n < 3 && a.arg[n]; n++)
            arg[n] = with_sign(s, a.arg[n], k);
        return sum_apply(s, a.prim, tp_expr_get(s->p, a.e)->value, arg, n, 0);
    }
    uint32_t x = a.kind == ATOM_INVERSE ? with_sign(s, a.arg[0], k) : 0;
    if (x && sum_get(s, x)->n)
        return sum_inverse(s, x);
    return sum_of_factor(s, id, 1);
}

static uint32_t with_sign(summary *s, uint32_t id, const known_sign *k)
{
    const sum a = *sum_get(s, id);
    uint32_t total = sum_constant(s, 0);
    sum_spend(s);
    for (uint32_t i = 0; i < a.n; i++) {
        product p = a.at[i];
        p.nfactors = p.exponent = 0;
        memset(p.factor, 0, sizeof p.factor);
        uint32_t r = sum_intern(s, &p, 1);
        for (uint32_t f = 0; f < a.at[i].nfactors; f++) {
            int times = a.at[i].factor[f].power;
            uint32_t x = atom_with_sign(s, a.at[i].factor[f].atom, k);
            if (times < 0)
                x = sum_inverse(s, x);
            for (int n = 0; n < abs(times); n++)
                r = sum_multiply(s, r, x);
        }
        if (a.at[i].exponent)
            r = sum_multiply(s, r, sum_exponential(s, with_sign(s, a.at[i].exponent, k)));
        total = sum_add(s, total, r, 1);
    }
    return total;
}

/* Where w is 0, one atom of it is the others. */
static void solve(summary *s, known_sign *k)
{
    const sum w = *sum_get(s, k->w);
    for (uint32_t i = w.n; i-- > 0 && !k->by;) {
        const product *p = &w.at[i];
        if (p->nfactors != 1 || p->factor[0].power != 1 || p->exponent || p->nguards)
            continue;
        product inverse = product_of(-p->den, p->num);
        product_reduce(s, &inverse);
        k->lead = p->factor[0].atom;
        k->by = sum_multiply(s, sum_add(s, k->w, sum_intern(s, p, 1), -1), sum_intern(s, &inverse, 1));
    }
}

/* ---- cases that cannot be ---- */

static bool is_refuted(summary *s, uint32_t total, bool strict)
{
    uint32_t minus = sum_add(s, sum_constant(s, 0), total, -1);
    return sum_is_positive(s, minus) || (strict && sum_is_at_least_0(s, minus));
}

/* The newest sign with one or two of the others. */
static bool contradictory(summary *s)
{
    uint32_t n = s->signs.len - 1;
    const known_above *all = s->signs.at, *new = &all[n];
    if (is_refuted(s, new->x, new->strict))
        return true;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t two = sum_add(s, new->x, all[i].x, 1);
        if (is_refuted(s, two, new->strict || all[i].strict))
            return true;
        for (uint32_t k = 0; k < i; k++)
            if (is_refuted(s, sum_add(s, two, all[k].x, 1), new->strict || all[i].strict || all[k].strict))
                return true;
    }
    return false;
}

static uint32_t times_sign(summary *s, uint32_t w, int sign)
{
    return sum_add(s, sum_constant(s, 0), w, sign);
}

/* Can it be, beside the signs that are known? Sign 0: is w neither below 0 nor above? */
static bool is_possible(summary *s, uint32_t w, int sign)
{
    uint32_t before = s->signs.len;
    bool yes = true;
    for (int side = -1; side <= 1 && yes; side += 2)
        if (sign == 0 || sign == side) {
            tp_push(s->arena, s->signs, ((known_above){times_sign(s, w, side), sign != 0}));
            yes = !contradictory(s);
        }
    s->signs.len = before;
    return yes;
}

/* Where w has that sign; `or_0`: or is 0. */
static bool equal_in_case(summary *s, const premises *p, uint32_t a, uint32_t b, known_sign k, bool or_0, int cases)
{
    uint32_t before = s->signs.len;
    for (int side = -1; side <= 1; side += 2)
        if (k.sign == 0 || k.sign == side)
            tp_push(s->arena, s->signs, ((known_above){times_sign(s, k.w, side), k.sign != 0 && !or_0}));
    if (k.sign == 0)
        solve(s, &k);
    bool yes = sums_equal(s, p, with_sign(s, a, &k), with_sign(s, b, &k), cases);
    s->signs.len = before;
    return yes;
}

/* Is the condition 0 < w or w == 0 in it, not only |w|? */
static bool asks_for_0(summary *s, uint32_t id, uint32_t w)
{
    const sum a = *sum_get(s, id);
    bool yes = false;
    for (uint32_t i = 0; i < a.n && !yes; i++) {
        for (uint32_t f = 0; f < a.at[i].nfactors && !yes; f++) {
            const atom x = *atom_get(s, a.at[i].factor[f].atom);
            yes = atom_is_sign(s, &x) && x.arg[1] == w;
            for (int k = 0; k < 3 && !yes && (x.kind == ATOM_APPLY || x.kind == ATOM_INVERSE); k++)
                yes = x.arg[k] && asks_for_0(s, x.arg[k], w);
        }
        yes |= a.at[i].exponent && asks_for_0(s, a.at[i].exponent, w);
    }
    return yes;
}

bool equal_by_signs(summary *s, const premises *p, uint32_t a, uint32_t b, int cases)
{
    uint32_t w = 0;
    for (int look = 0; look < 4 && !w; look++)
        w = sign_in(s, look % 2 ? b : a, look >= 2);
    if (!w || cases == 0 || !sum_is_defined(s, a) || !sum_is_defined(s, b))
        return false;
    record_open(s, TP_LAW_SIGNS);
    bool three = asks_for_0(s, a, w) || asks_for_0(s, b, w), possible[3];
    for (int sign = -1; sign <= 1; sign++)
        possible[sign + 1] = is_possible(s, w, sign);
    if (!three) /* 0 is one of both; where one of them cannot be, the other is all */
        possible[1] = false;
    if (!three && !possible[0] && !possible[2])
        possible[0] = true;
    for (int sign = -1; sign <= 1; sign++)
        if (possible[sign + 1] && !equal_in_case(s, p, a, b, (known_sign){.w = w, .sign = sign}, !three, cases - 1))
            return false;
    return true;
}
