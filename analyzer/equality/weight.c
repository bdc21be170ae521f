/* Sums that every step scales: a weight whose change is the factor. */
#include "analyzer/equality/grid.h"

/* Elements of other buffers, as the step finds them. */
typedef struct befores {
    term at[8];
    uint32_t n;
    bool too_many;
} befores;

static term collect(summary *s, const term_node *n, void *ctx)
{
    befores *b = ctx;
    if (n->kind != T_BEFORE)
        return (term){0};
    term t = term_element(s, T_BEFORE, n->operand, n->rank, n->at);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->at[i].id == t.id)
            return t;
    if (b->n < sizeof b->at / sizeof *b->at)
        b->at[b->n++] = t;
    else
        b->too_many = true;
    return t;
}

/* t * by, where t divides by it if it can be seen. */
static term product_with(grid *g, term t, term by)
{
    summary *s = g->v->s;
    const term_node n = *term_get(s, t);
    if (n.kind == T_APPLY && n.prim == TP_P_DIV && n.arg[1].id == by.id)
        return n.arg[0];
    if (n.kind == T_SELECT)
        return term_select(s, n.e, product_with(g, n.arg[0], by), product_with(g, n.arg[1], by));
    for (int i = 0; n.kind == T_APPLY && n.prim == TP_P_MUL && i < 2; i++) {
        term without = product_with(g, n.arg[i], by);
        const term_node w = *term_get(s, without);
        if (!(w.kind == T_APPLY && w.prim == TP_P_MUL && (w.arg[0].id == by.id || w.arg[1].id == by.id)))
            return of_two(g, TP_P_MUL, without, n.arg[!i]);
    }
    if (n.kind == T_APPLY && (n.prim == TP_P_ADD || n.prim == TP_P_SUB))
        return of_two(g, n.prim, product_with(g, n.arg[0], by), product_with(g, n.arg[1], by));
    return is_0(s, t) ? t : of_two(g, TP_P_MUL, t, by);
}

/* Is what every step leaves in the buffer above 0, at all lanes? */
static bool is_positive(grid *g, uint32_t operand)
{
    summary *s = g->v->s;
    const tp_operand *o = &s->k->operands[operand];
    tp_expr lane[TP_MAX_RANK];
    for (uint32_t d = 0; d < o->ref_rank && !s->positive[operand]; d++)
        lane[d] = g->v->uniform[operand][d] ? tp_const(s->p, 0) : summary_index(s, "lane", o->ref_shape[d]);
    if (!s->positive[operand]) {
        s->strict = true;
        term any = term_element(s, T_AFTER, operand, o->ref_rank, lane);
        s->positive[operand] = sum_is_positive(s, sum_of_term(s, with_folds(g, any)));
        s->strict = false;
    }
    return s->positive[operand];
}

/* x == 0, for an x that is above 0: false. */
static term without_zero_test(grid *g, term t, term x)
{
    summary *s = g->v->s;
    return term_exchange(s, t, of_two(g, TP_P_EQ, x, term_real(s, 0)), term_integer(s, tp_const(s->p, 0)));
}

static bool is_impossible(summary *s, const premises *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (tp_same(condition_normal(s, p->at[i], true), p->at[k]))
                return true;
    return false;
}

/* What the step leaves there is `after`, at all of these places. */
static bool leaves(grid *g, const places *p, term before, term after)
{
    summary *s = g->v->s;
    const term_node b = *term_get(s, before);
    term spelled = element_after(g->v, b.operand, b.at);
    for (uint32_t i = 0; i < p->n; i++)
        if (!is_impossible(s, p->at[i]) && term_decide(s, spelled, p->at[i]).id != after.id)
            return false;
    return true;
}

/* A weight w of other buffers, so that the factor is w before / w after: the
 * product of exp(m), or 2^m, of the running maxima and of the running sums in it. In
 * *m the part is multiplied with it; in *base tests of sums for 0 are gone. */
static bool find_weight(grid *g, form *f, match *m, term *base, tp_prim exponential)
{
    summary *s = g->v->s;
    befores found = {.n = 0};
    term before = term_real(s, 1), after = before, spellings[8], lefts[8];
    term_replace(s, m->factor, collect, &found);
    if (!found.n || found.too_many)
        return false;
    for (uint32_t i = 0; i < found.n; i++) {
        const term_node b = *term_get(s, found.at[i]);
        form *by = form_of(g, b.operand);
        if (by->overwritten || by->first != f->first || by->keyed != f->keyed || !of_one_phase(by, f) ||
            (by->fold != TP_P_MAX && by->fold != TP_P_SUM))
            return false;
        term left = term_element(s, T_AFTER, b.operand, b.rank, b.at), spelled = element_after(g->v, b.operand, b.at),
             in_step = term_decide(s, spelled, m->scaled.at[0]);
        /* the weight is what it was where the sum is, and else the same everywhere */
        if (!leaves(g, &m->unscaled, found.at[i], found.at[i]) || !leaves(g, &m->scaled, found.at[i], in_step))
            return false;
        for (uint32_t k = 0; k < i; k++)
            in_step = term_exchange(s, in_step, spellings[k], lefts[k]);
        spellings[i] = in_step;
        lefts[i] = left;
        m->factor = term_exchange(s, m->factor, in_step, left); /* so that they are seen to be the same */
        m->part = term_exchange(s, m->part, in_step, left);
        if (by->fold == TP_P_MAX) {
            before = of_two(g, TP_P_MUL, before, power_of(g, exponential, found.at[i]));
            after = of_two(g, TP_P_MUL, after, power_of(g, exponential, left));
            m->part = is_0(s, m->part) ? m->part : of_two(g, TP_P_MUL, m->part, power_of(g, exponential, left));
            continue;
        }
        if (!is_positive(g, b.operand))
            return false;
        m->factor = without_zero_test(g, m->factor, left);
        m->part = product_with(g, without_zero_test(g, m->part, left), left);
        *base = without_zero_test(g, *base, in_first_step(g, spelled, f->first));
        before = of_two(g, TP_P_MUL, before, found.at[i]);
        after = of_two(g, TP_P_MUL, after, left);
    }
    f->weight = with_folds(g, after);
    return sum_of_term(s, of_two(g, TP_P_MUL, m->factor, after)) == sum_of_term(s, before);
}

/* ---- linear recurrences ---- */

/* f = exp(*d), for an f that is above 0, whatever the step. */
static bool logarithm_of(grid *g, term f, term *d)
{
    summary *s = g->v->s;
    const term_node n = *term_get(s, f);
    term a, b;
    int64_t v;
    if (n.kind == T_INTEGER && tp_expr_is_const(s->p, n.e, &v) && v == 1) {
        *d = term_real(s, 0);
        return true;
    }
    if (n.kind == T_APPLY && n.prim == TP_P_EXP) {
        *d = n.arg[0];
        return true;
    }
    if ((n.kind == T_APPLY && (n.prim == TP_P_MUL || n.prim == TP_P_DIV)) || n.kind == T_SELECT) {
        if (!logarithm_of(g, n.arg[0], &a) || !logarithm_of(g, n.arg[1], &b))
            return false;
        *d = n.kind == T_SELECT ? term_select(s, n.e, a, b) : of_two(g, n.prim == TP_P_MUL ? TP_P_ADD : TP_P_SUB, a, b);
        return true;
    }
    s->strict = true;
    uint32_t x = sum_of_term(s, f);
    bool positive = sum_is_positive(s, x) && sum_is_defined(s, x);
    s->strict = false;
    *d = term_apply(s, TP_P_LOG, f, (term){0}, (term){0}, 0);
    return positive;
}

/* exp(-sum of d(l) for l < steps), l a step of the last axis. */
static term decay_of(grid *g, term d, tp_expr steps)
{
    summary *s = g->v->s;
    uint32_t last = s->k->naxes - 1;
    tp_expr counter = summary_index(s, tp_cstr(s->arena, s->k->axes[last].name), steps);
    replacement with = no_symbols(g);
    replace_symbol(g, &with, axis_of(g, last), counter);
    term all = term_fold(s, TP_P_SUM, (uint32_t)tp_expr_get(s->p, counter)->value, steps, grid_substitute(g, d, &with));
    return power_of(g, TP_P_EXP, term_apply(s, TP_P_NEG, all, (term){0}, (term){0}, 0));
}

/* The law of linear recurrences: what is f(e) * (itself) + part(e) in every
 * step e but the first, with f(e) = exp(d(e)) above 0, changes by w(e - 1) / w(e)
 * for w(e) = exp(-sum of d(l) for l <= e), given that d is a
 * number at every step, the first one included, and the factor is met in all. */
static bool find_decay(grid *g, form *f, match *m)
{
    summary *s = g->v->s;
    term d;
    if (m->unscaled.n || f->first + 1 != s->k->naxes || f->keyed || term_mentions(s, m->factor, T_BEFORE, UINT32_MAX) ||
        term_mentions(s, m->factor, T_AFTER, UINT32_MAX) || !logarithm_of(g, m->factor, &d))
        return false;
    s->strict = true;
    uint32_t exponent = sum_of_term(s, d);
    bool finite = sum_is_defined(s, exponent) && sum_is_free(s, exponent);
    s->strict = false;
    if (!finite)
        return false;
    tp_expr step = axis_of(g, f->first);
    f->weight = decay_of(g, d, tp_op2(s->p, TP_E_ADD, step, tp_const(s->p, 1)));
    f->found = decay_of(g, d, step);
    m->part = is_0(s, m->part) ? m->part : of_two(g, TP_P_MUL, m->part, f->weight);
    return true;
}

bool find_any_weight(grid *g, form *f, match *m, term *base)
{
    match again = *m;
    term base_again = *base;
    if (find_weight(g, f, m, base, TP_P_EXP))
        return true;
    *m = again;
    *base = base_again;
    if (find_weight(g, f, m, base, TP_P_EXP2))
        return true;
    *m = again;
    *base = base_again;
    f->weight = (term){0};
    return find_decay(g, f, m);
}
