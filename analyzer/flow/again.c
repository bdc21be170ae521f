/* Statements that are executed again: their variables start anew. */
#include "analyzer/flow/internal.h"

enum { CONJUNCTS = 64 };

/* A condition x >= 0 with x = coef * t + rest. */
typedef struct side {
    int64_t coef;
    tp_expr rest;
} side;

/* x as coef * t + rest, t in no other place; coef 0: it is not of that form. */
static side linear_in(flow *f, tp_expr x, uint32_t t)
{
    tp_exprs *p = f->a->p;
    tp_poly q, rest = {.ok = true};
    side s = {0};
    tp_poly_of(p, x, &q);
    for (uint32_t i = 0; q.ok && i < q.n; i++) {
        const tp_expr_node *atom = q.terms[i].degree == 1 ? tp_expr_get(p, q.terms[i].factors[0]) : NULL;
        if (atom && atom->op == TP_E_SYM && atom->value == (int64_t)t)
            s.coef = q.terms[i].coef;
        else
            tp_poly_add_term(&rest, &q.terms[i]);
    }
    s.rest = rest.ok ? tp_poly_expr(p, &rest) : (tp_expr){0};
    if (!q.ok || !rest.ok || tp_expr_mentions(p, s.rest, t))
        s.coef = 0;
    return s;
}

/* What a comparison says of t, as at most two sides; nothing where it is not linear. */
static uint32_t sides_of(flow *f, tp_expr part, uint32_t t, side *out)
{
    const tp_expr_node n = *tp_expr_get(f->a->p, part);
    if (n.op != TP_E_GE && n.op != TP_E_EQ)
        return 0;
    side s = linear_in(f, n.op == TP_E_GE ? tp_op2(f->a->p, TP_E_SUB, n.a, n.b) : n.a, t);
    if (!s.coef || s.coef == INT64_MIN)
        return 0;
    out[0] = s;
    if (n.op == TP_E_GE)
        return 1;
    out[0].rest = tp_op2(f->a->p, TP_E_SUB, s.rest, n.b);
    out[1] = (side){-s.coef, tp_op1(f->a->p, TP_E_NEG, out[0].rest)};
    return 2;
}

static const tp_var *variable(const flow *f, uint32_t t)
{
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        if (f->out->vars.at[i].sym == t)
            return &f->out->vars.at[i];
    return NULL;
}

/* Each lower with each upper side, t between them. */
static tp_expr between(flow *f, const side *sides, uint32_t n)
{
    tp_exprs *p = f->a->p;
    tp_expr all = flow_yes(f), zero = tp_const(p, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            if (sides[i].coef < 0 || sides[k].coef > 0)
                continue;
            tp_expr low = tp_op2(p, TP_E_MUL, tp_const(p, -sides[k].coef), sides[i].rest),
                    high = tp_op2(p, TP_E_MUL, tp_const(p, sides[i].coef), sides[k].rest);
            all = flow_and(f, all, flow_compare(f, TP_E_GE, tp_op2(p, TP_E_ADD, low, high), zero));
        }
    return all;
}

/* Without t (Fourier and Motzkin); the range of a loop's counter is that of another execution. */
static tp_expr without(flow *f, tp_expr when, uint32_t t)
{
    tp_expr parts[CONJUNCTS], result = flow_yes(f);
    side sides[2 * CONJUNCTS + 2];
    const tp_var *v = variable(f, t);
    uint32_t n = tp_conjuncts(f->a, when, parts, CONJUNCTS), m = 0;
    for (uint32_t i = 0; i < n; i++)
        if (tp_expr_mentions(f->a->p, parts[i], t))
            m += sides_of(f, parts[i], t, sides + m);
        else
            result = flow_and(f, result, parts[i]);
    if (v && !f->counters.at[v - f->out->vars.at]) {
        sides[m++] = (side){1, tp_op1(f->a->p, TP_E_NEG, v->lo)};
        sides[m++] = (side){-1, v->hi};
    }
    return flow_and(f, result, between(f, sides, m));
}

tp_expr flow_eliminate(flow *f, tp_expr when, const bool *marked)
{
    for (uint32_t t = 0; t < tp_sym_count(f->a->p); t++)
        if (marked[t] && tp_expr_mentions(f->a->p, when, t))
            when = without(f, when, t);
    return when;
}

/* coef * t + rest >= 0 holds for t = 0, 1, … as long as t <= rest / -coef. */
tp_expr flow_turns_of(flow *f, tp_expr goes, tp_expr counter)
{
    tp_exprs *p = f->a->p;
    side s[2];
    uint32_t t = (uint32_t)tp_expr_get(p, counter)->value;
    if (sides_of(f, goes, t, s) != 1 || s[0].coef >= 0 || flow_speaks_of_last(f, s[0].rest))
        return (tp_expr){0};
    for (uint32_t i = f->nkept; i < f->out->kept.len; i++)
        if (tp_same(f->out->kept.at[i].turn, counter) &&
            tp_expr_mentions(p, s[0].rest, (uint32_t)tp_expr_get(p, f->out->kept.at[i].head)->value))
            return (tp_expr){0};
    return tp_op2(p, TP_E_CDIV, tp_op2(p, TP_E_ADD, s[0].rest, tp_const(p, 1)), tp_const(p, -s[0].coef));
}

static bool mentions_one(const flow *f, tp_expr when, uint32_t sym, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (tp_expr_mentions(f->a->p, when, sym + i))
            return true;
    return false;
}

tp_leaks flow_retire(flow *f, const tp_leaks *leaks, uint32_t sym, uint32_t n)
{
    tp_leaks rest = {0};
    bool any = false;
    for (uint32_t i = 0; i < leaks->len && !any; i++)
        any = mentions_one(f, leaks->at[i].when, sym, n);
    if (!any)
        return *leaks;
    for (uint32_t i = 0; i < leaks->len; i++) {
        tp_leak l = leaks->at[i];
        if (mentions_one(f, l.when, sym, n))
            l.exact = false;
        for (uint32_t t = sym; t < sym + n; t++)
            if (tp_expr_mentions(f->a->p, l.when, t))
                l.when = without(f, l.when, t);
        flow_add(f, &rest, l);
    }
    return rest;
}
