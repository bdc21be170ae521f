/* Maxima and minima over index sets, and what moves out of them.
 *
 *   max(c + x) = c + max(x)      max(c x) = c max(x), for a c of at least 0      max(-x) = -min(x)
 *   max(g(x)) = g(max(x)), for a g that does not fall: exp, a root, a logarithm, 0 < x, 0 <= x
 *   any(x) = max(x) and all(x) = min(x), for conditions; a sum of them is 0 where their maximum is
 *   a maximum of maxima is one
 *
 * of a c that does not depend on the counter. They hold where there is a point. Normal forms leave extremes as they
 * are written: these laws are tried where equality is not seen otherwise. */
#include "analyzer/equality/sum.h"
#include "base/checked.h"

#include <stdlib.h>

static uint32_t extreme(summary *s, atom f);

static uint32_t as_it_is(summary *s, atom f)
{
    return sum_of_factor(s, fold_intern(s, &f), 1);
}

static uint32_t of_body(summary *s, const atom *f, uint32_t body)
{
    atom r = *f;
    r.arg[0] = body;
    return extreme(s, r);
}

static uint32_t negative(summary *s, uint32_t x)
{
    return sum_add(s, sum_constant(s, 0), x, -1);
}

static bool depends(summary *s, const atom *f, uint32_t x)
{
    bool yes = false;
    for (uint32_t i = 0; i < f->counters && !yes; i++)
        yes = sum_mentions(s, x, f->counter[i]);
    return yes;
}

/* The products that do not depend on a counter, and the others. */
static void part(summary *s, const atom *f, uint32_t *outside, uint32_t *inside)
{
    const sum a = *sum_get(s, f->arg[0]);
    product *out = TP_NEWN(s->arena, product, a.n + 1), *in = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t nout = 0, nin = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        uint32_t x = sum_intern(s, &a.at[i], 1);
        if (a.at[i].nguards || depends(s, f, x) || !sum_is_free(s, x))
            in[nin++] = a.at[i];
        else
            out[nout++] = a.at[i];
    }
    *outside = sum_from(s, out, nout);
    *inside = sum_from(s, in, nin);
}

/* ---- factors ---- */

static bool has_factor(const sum *a, const factor *f)
{
    uint32_t which;
    bool all = true;
    for (uint32_t i = 0; i < a->n && all; i++)
        all = product_has(&a->at[i], f, &which);
    return all;
}

/* The largest fraction of which all coefficients are whole multiples; 1: it is too large to tell. */
static product content(summary *s, const sum *a)
{
    int64_t num = 0, den = 1, n;
    for (uint32_t i = 0; i < a->n; i++) { /* gcd(a/b, c/d) = gcd(a d, c b) / (b d) */
        int64_t x, y;
        if (!tp_mul(num, a->at[i].den, &x) || !tp_mul(llabs(a->at[i].num), den, &y) || !tp_mul(den, a->at[i].den, &n))
            return product_of(1, 1);
        num = tp_gcd(x, y);
        den = n;
        int64_t common = tp_gcd(num, den);
        num /= common;
        den /= common;
    }
    product r = product_of(num, den);
    product_reduce(s, &r);
    return r;
}

/* A factor of all products of the body that is at least 0, whatever the counters are. */
static product scale_of(summary *s, const atom *f)
{
    const sum a = *sum_get(s, f->arg[0]);
    product c = content(s, &a);
    for (uint32_t i = 0; i < a.at[0].nfactors; i++) {
        uint32_t x = sum_of_factor(s, a.at[0].factor[i].atom, a.at[0].factor[i].power);
        if (has_factor(&a, &a.at[0].factor[i]) && !depends(s, f, x) && sum_is_free(s, x) && sum_is_at_least_0(s, x))
            product_factor(s, &c, a.at[0].factor[i].atom, a.at[0].factor[i].power);
    }
    if (a.n == 1 && a.at[0].exponent) { /* exp(a + b) = exp(a) exp(b) */
        atom e = *f;
        uint32_t outside, inside;
        e.arg[0] = a.at[0].exponent;
        part(s, &e, &outside, &inside);
        c.exponent = sum_get(s, outside)->n ? outside : 0;
    }
    return c;
}

/* The body without that factor, which may be 0: it is no quotient. */
static uint32_t divided(summary *s, const atom *f, const product *c)
{
    const sum a = *sum_get(s, f->arg[0]);
    product *at = TP_NEWN(s->arena, product, a.n + 1), inverse = product_of(c->den, c->num);
    for (uint32_t i = 0; i < a.n; i++) {
        product rest = product_without_factors(&a.at[i], c);
        if (c->exponent)
            rest.exponent = sum_add(s, rest.exponent, c->exponent, -1);
        if (rest.exponent && sum_get(s, rest.exponent)->n == 0)
            rest.exponent = 0;
        product_multiply(s, &rest, &inverse);
        at[i] = rest;
    }
    return sum_from(s, at, a.n);
}

/* ---- functions that do not fall ---- */

/* A root, or a logarithm: of all of them, or the largest number alone may have one. */
static bool does_not_fall(summary *s, const atom *a)
{
    return (a->prim == TP_P_SQRT && sum_is_at_least_0(s, a->arg[0])) ||
           (a->prim == TP_P_LOG && sum_is_positive(s, a->arg[0]));
}

/* The w of 0 < w, or of 0 <= w as (0 < w) + (w == 0); 0: it is neither. */
static uint32_t step_of(summary *s, const sum *a, tp_prim *prim)
{
    uint32_t w = 0;
    bool less = false, equal = false;
    for (uint32_t i = 0; i < a->n; i++) {
        const product *p = &a->at[i];
        if (a->n > 2 || p->nguards || p->exponent || p->num != 1 || p->den != 1 || p->nfactors != 1 ||
            p->factor[0].power != 1)
            return 0;
        const atom c = *atom_get(s, p->factor[0].atom);
        if (!atom_is_sign(s, &c) || (w && c.arg[1] != w) || !sum_is_free(s, c.arg[1]))
            return 0;
        w = c.arg[1];
        less |= c.prim == TP_P_LT;
        equal |= c.prim == TP_P_EQ;
    }
    *prim = equal ? TP_P_LE : TP_P_LT;
    return less ? w : 0;
}

/* g(extreme of x) for a body g(x); 0: it is none. */
static uint32_t through(summary *s, const atom *f)
{
    const sum a = *sum_get(s, f->arg[0]);
    tp_prim prim;
    uint32_t w = step_of(s, &a, &prim);
    if (w)
        return sum_compare(s, prim, sum_constant(s, 0), of_body(s, f, w));
    const product *p = &a.at[0];
    if (a.n != 1 || p->nguards || p->num != 1 || p->den != 1)
        return 0;
    if (p->exponent)
        return p->nfactors ? 0 : sum_exponential(s, of_body(s, f, p->exponent));
    const atom x = *atom_get(s, p->factor[0].atom);
    if (p->nfactors != 1 || p->factor[0].power != 1 || x.kind != ATOM_APPLY || !does_not_fall(s, &x))
        return 0;
    uint32_t inner = of_body(s, f, x.arg[0]);
    return sum_apply(s, x.prim, tp_expr_get(s->p, x.e)->value, &inner, 1, 0);
}

/* ---- extremes of extremes ---- */

/* The points of both; 0: the body is no such extreme. */
static uint32_t joined(summary *s, const atom *f)
{
    const sum a = *sum_get(s, f->arg[0]);
    const product *p = &a.at[0];
    if (a.n != 1 || p->nguards || p->num != 1 || p->den != 1 || p->exponent || p->nfactors != 1 ||
        p->factor[0].power != 1)
        return 0;
    const atom *inner = atom_get(s, p->factor[0].atom);
    if (inner->kind != ATOM_FOLD || inner->prim != f->prim || f->counters + inner->counters > MAX_COUNTERS)
        return 0;
    atom r = fold_open(s, p->factor[0].atom);
    product guards = product_of(1, 1);
    for (uint32_t i = 0; i < f->nguards + r.nguards; i++)
        if (!product_guard(s, &guards, i < f->nguards ? f->guard[i] : r.guard[i - f->nguards]))
            return 0;
    memmove(&r.counter[f->counters], r.counter, r.counters * sizeof *r.counter);
    memmove(&r.extent[f->counters], r.extent, r.counters * sizeof *r.extent);
    memcpy(r.counter, f->counter, f->counters * sizeof *r.counter);
    memcpy(r.extent, f->extent, f->counters * sizeof *r.extent);
    r.counters += f->counters;
    r.nguards = guards.nguards;
    memcpy(r.guard, guards.guard, sizeof r.guard);
    fold_normalise(s, &r);
    return extreme(s, r);
}

/* ---- all of it ---- */

static bool is_1(const product *c)
{
    return c->num == 1 && c->den == 1 && c->nfactors == 0 && !c->exponent;
}

/* Of an opened fold with a point. */
static uint32_t extreme(summary *s, atom f)
{
    uint32_t outside, inside, r;
    part(s, &f, &outside, &inside);
    const sum a = *sum_get(s, inside);
    bool below = true;
    sum_spend(s);
    f.arg[0] = inside;
    if (a.n == 0)
        return outside;
    for (uint32_t i = 0; i < a.n; i++)
        below &= a.at[i].num < 0;
    if (below) {
        f.prim = f.prim == TP_P_MAX ? TP_P_MIN : TP_P_MAX;
        return sum_add(s, outside, of_body(s, &f, negative(s, inside)), -1);
    }
    product c = scale_of(s, &f);
    if (!is_1(&c))
        r = sum_multiply(s, sum_intern(s, &c, 1), of_body(s, &f, divided(s, &f, &c)));
    else if (!(r = through(s, &f)) && !(r = joined(s, &f)))
        r = as_it_is(s, f);
    return sum_add(s, outside, r, 1);
}

static uint32_t fold_moved(summary *s, atom f)
{
    bool any = f.prim == TP_P_MAX || f.prim == TP_P_ANY, all = f.prim == TP_P_MIN || f.prim == TP_P_ALL;
    if ((!any && !all) || !fold_never_empty(s, &f))
        return as_it_is(s, f);
    record_open(s, TP_LAW_EXTREMES);
    f.prim = any ? TP_P_MAX : TP_P_MIN;
    return extreme(s, f);
}

/* ---- counts ---- */

/* Is it 0 or 1: a product of conditions, or 0 <= w? */
static bool is_condition(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    tp_prim prim;
    bool yes = a.n == 1 && !a.at[0].exponent && a.at[0].num == 1 && a.at[0].den == 1 && a.at[0].nfactors;
    for (uint32_t i = 0; yes && i < a.at[0].nfactors; i++)
        yes = a.at[0].factor[i].power == 1 && atom_is_condition(atom_get(s, a.at[0].factor[i].atom));
    return yes || step_of(s, &a, &prim);
}

/* x as one sum over points: its terms are over the same ones, and their counters have the same names. */
static bool one_sum(summary *s, uint32_t x, atom *f)
{
    const sum a = *sum_get(s, x);
    for (uint32_t i = 0; i < a.n; i++) {
        const product *p = &a.at[i];
        if (p->nguards || p->exponent || p->num != 1 || p->den != 1 || p->nfactors != 1 || p->factor[0].power != 1)
            return false;
        const atom g = *atom_get(s, p->factor[0].atom);
        if (g.kind != ATOM_FOLD || g.prim != TP_P_SUM || (i && !fold_over_points(&g, f)))
            return false;
        uint32_t body = i ? sum_add(s, f->arg[0], g.arg[0], 1) : g.arg[0];
        *f = g;
        f->arg[0] = body;
    }
    if (a.n)
        *f = fold_open(s, atom_intern(s, f));
    return a.n > 0;
}

static uint32_t condition_moved(summary *s, tp_prim prim, const uint32_t *arg)
{
    atom f;
    if (prim != TP_P_EQ || arg[0] != sum_constant(s, 0) || !one_sum(s, arg[1], &f) || !is_condition(s, f.arg[0]) ||
        !fold_never_empty(s, &f))
        return 0;
    f.prim = TP_P_ANY;
    return sum_add(s, sum_constant(s, 1), fold_moved(s, f), -1);
}

/* ---- in a whole normal form ---- */

static tp_expr same(summary *s, tp_expr e, void *ctx)
{
    (void)s;
    (void)ctx;
    return e;
}

typedef struct moving {
    summary *s;
    uint32_t x;
} moving;

static void move_out(void *ctx)
{
    moving *w = ctx;
    w->x = sum_map(w->s, w->x, same, NULL);
}

uint32_t sum_with_extremes_out(summary *s, uint32_t x, bool strict)
{
    static const struct sum_moves MOVES = {fold_moved, condition_moved};
    moving w = {s, x};
    s->moves = &MOVES;
    bool done = sum_try(s, strict, move_out, &w);
    s->moves = NULL;
    return done ? w.x : x;
}
