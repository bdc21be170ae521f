/* Side conditions: looked up among those that a step names, never searched for. */
#include "smt/trust/replay.h"

void tp_side_give(tp_replay *c, tp_here *h, tp_str key)
{
    if (h->n == TP_MAX_GIVEN)
        tp_reals_stop(&c->f, "a step has too many conditions");
    h->given[h->n++] = key;
}

tp_expr tp_side_less(tp_replay *c, tp_expr a, tp_expr b)
{
    return tp_op2(c->f.own.to, TP_E_LT, a, b);
}

tp_expr tp_side_at_least(tp_replay *c, tp_expr a, int64_t b)
{
    return tp_op2(c->f.own.to, TP_E_GE, a, tp_const(c->f.own.to, b));
}

tp_real_guard tp_side_guard(tp_replay *c, tp_expr condition)
{
    tp_real_guard g;
    if (!tp_reals_guard(&c->f, condition, &g))
        tp_reals_stop(&c->f, "a side condition is more than a comparison");
    return g;
}

tp_expr tp_side_counter(tp_replay *c, const tp_real_atom *a, uint32_t i)
{
    return tp_sym(c->f.own.to, a->counter[i]);
}

void tp_side_range(tp_replay *c, const tp_real_atom *a, uint32_t i, tp_expr bounds[2])
{
    bounds[0] = tp_side_at_least(c, tp_side_counter(c, a, i), 0);
    bounds[1] = tp_side_less(c, tp_side_counter(c, a, i), a->extent[i]);
}

uint32_t tp_side_conditions(const tp_real_atom *a, const tp_real_guard **at)
{
    bool sum = tp_str_is(a->op, "sum");
    *at = sum ? a->arg[0]->at[0].guard : a->guard;
    return sum ? a->arg[0]->at[0].nguards : a->nguards;
}

tp_here tp_side_points(tp_replay *c, const tp_real_atom *a)
{
    tp_here h = {.points = a};
    const tp_real_guard *g;
    uint32_t n = tp_side_conditions(a, &g);
    for (uint32_t i = 0; i < a->counters; i++) {
        tp_expr bounds[2];
        tp_side_range(c, a, i, bounds);
        tp_side_give(c, &h, tp_side_guard(c, bounds[0]).key);
        tp_side_give(c, &h, tp_side_guard(c, bounds[1]).key);
    }
    for (uint32_t i = 0; i < n; i++)
        tp_side_give(c, &h, g[i].key);
    return h;
}

bool tp_side_same_index(tp_replay *c, tp_expr a, tp_expr b)
{
    return a.id == b.id || (a.id && b.id && tp_str_eq(tp_reals_key(&c->f, a), tp_reals_key(&c->f, b)));
}

/* Is it one of the free variables, with these bounds and no others? */
static bool is_free(tp_replay *c, const tp_var *x)
{
    tp_own *own = &c->f.own;
    for (uint32_t i = 0; i < c->d->nvars; i++) {
        const tp_var *v = &c->d->vars[i];
        bool same = v->sym == x->sym && v->multiple_of == x->multiple_of && v->nchoices == x->nchoices &&
                    tp_same(tp_own_copy(own, v->lo), tp_own_copy(own, x->lo)) &&
                    tp_same(tp_own_copy(own, v->hi), tp_own_copy(own, x->hi));
        for (uint32_t k = 0; k < x->nchoices && same; k++)
            same = v->choices[k] == x->choices[k];
        if (same)
            return true;
    }
    return false;
}

/* Is it a counter of these points? Its own bounds leave none of them out. */
static bool is_counter(tp_replay *c, const tp_var *x, const tp_here *h)
{
    enum { UNBOUNDED = 60 }; /* no extent is larger than 2^60 */
    tp_exprs *p = c->f.own.to;
    uint32_t sym;
    int64_t lo, hi;
    tp_expr from = tp_own_copy(&c->f.own, x->lo), to = tp_own_copy(&c->f.own, x->hi);
    if (!h->points || !tp_own_symbol(&c->f.own, x->sym, &sym) || x->nchoices || x->choices || x->multiple_of != 1 ||
        !tp_expr_is_const(p, from, &lo) || lo > 0)
        return false;
    for (uint32_t i = 0; i < h->points->counters; i++)
        if (h->points->counter[i] == sym)
            return (tp_expr_is_const(p, to, &hi) && hi >= ((int64_t)1 << UNBOUNDED) - 1) ||
                   tp_side_same_index(c, to, tp_op2(p, TP_E_SUB, h->points->extent[i], tp_const(p, 1)));
    return false;
}

static bool is_given(tp_replay *c, tp_expr premise, const tp_here *h)
{
    tp_real_guard g;
    int64_t v;
    for (uint32_t i = 0; i < c->premises.len; i++)
        if (tp_same(c->premises.at[i], premise))
            return true;
    if (tp_expr_too_large(premise))
        return false;
    if (tp_expr_is_const(c->f.own.to, premise, &v))
        return v != 0;
    if (!tp_reals_guard(&c->f, premise, &g))
        return false;
    for (uint32_t i = 0; i < h->n; i++)
        if (tp_str_eq(h->given[i], g.key))
            return true;
    return false;
}

/* Obligations read no tables: their proofs name what they read. */
static bool reads(const tp_derivation *d, const tp_side *side)
{
    bool any = tp_expr_reads(d->p, side->o.goal);
    for (uint32_t i = 0; i < side->o.npremises && !any; i++)
        any = tp_expr_reads(d->p, side->o.premises[i]);
    return any;
}

static bool says(tp_replay *c, const tp_side *side, tp_str goal, const tp_here *h)
{
    tp_real_guard g;
    tp_expr own = tp_own_copy(&c->f.own, side->o.goal);
    bool yes = own.id && !tp_expr_too_large(own) && !reads(c->d, side) && tp_reals_guard(&c->f, own, &g) &&
               tp_str_eq(g.key, goal);
    for (uint32_t i = 0; i < side->o.nvars && yes; i++)
        yes = is_free(c, &side->o.vars[i]) || is_counter(c, &side->o.vars[i], h);
    for (uint32_t i = 0; i < side->o.npremises && yes; i++)
        yes = is_given(c, tp_own_copy(&c->f.own, side->o.premises[i]), h);
    return yes;
}

static bool is_decided(tp_replay *c, const tp_real_guard *g)
{
    tp_bigpoly q = tp_big_of(&c->f.big, g->e, NULL, 0);
    mpz_srcptr v = tp_big_value(&c->f.big, &q);
    return v && (g->kind == 0 ? mpz_sgn(v) >= 0 : (mpz_sgn(v) == 0) == (g->kind == 1));
}

void tp_side_needs(tp_replay *c, const tp_law_step *s, tp_real_guard g, const tp_here *h)
{
    if (is_decided(c, &g))
        return;
    for (uint32_t i = 0; i < h->n; i++)
        if (tp_str_eq(h->given[i], g.key))
            return;
    for (uint32_t i = 0; i < s->nsides; i++)
        if (s->sides[i] < c->d->nsides && says(c, &c->d->sides[s->sides[i]], g.key, h))
            return;
    tp_reals_stop(&c->f, "a side condition is missing");
}

void tp_side_needs_that(tp_replay *c, const tp_law_step *s, tp_expr condition, const tp_here *h)
{
    tp_side_needs(c, s, tp_side_guard(c, condition), h);
}
