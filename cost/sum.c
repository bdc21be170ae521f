/* Sums over steps and turns: by going through those variables that depend on each other, or in closed form. */
#include "base/budget.h"
#include "base/checked.h"
#include "cost/internal.h"

enum { MOST_VARIABLES = 64 };

/* ---- counting ---- */

typedef struct walk {
    tp_cost *c;
    const tp_sum *s;
    uint64_t *mentions;             /* by factor: the variables in it, as bits */
    uint64_t *bounds;               /* by variable: the earlier ones in its bounds */
    uint32_t at[MOST_VARIABLES], n; /* the variables of this part of the sum, in order */
    int64_t *left;                  /* turns */
    tp_str why;
} walk;

static bool evaluate(walk *w, tp_expr e, int64_t *out)
{
    tp_eval_error err = tp_expr_eval(w->c->p, e, w->c->env, out);
    if (err == TP_EVAL_OK)
        return true;
    w->why = tp_str_c(err == TP_EVAL_OVERFLOW ? "a number on the way is beyond 2^63"
                      : err == TP_EVAL_TABLE  ? "it depends on a table without contents"
                                              : tp_eval_error_text(err));
    return false;
}

static bool too_large(walk *w)
{
    w->why = TP_S("the number is beyond 2^63");
    return false;
}

static uint64_t variables_of(const tp_cost *c, const tp_sum *s, tp_expr e)
{
    uint64_t bits = 0;
    for (uint32_t v = 0; v < s->over.len; v++)
        bits |= (uint64_t)tp_expr_mentions(c->p, e, s->over.at[v].sym) << v;
    return bits;
}

/* Those that stand together with `seed` in factors and bounds. */
static uint64_t part_of(const walk *w, uint64_t seed)
{
    for (uint64_t before = 0; before != seed;) {
        before = seed;
        for (uint32_t f = 0; f < w->s->factors.len; f++)
            seed |= w->mentions[f] & seed ? w->mentions[f] : 0;
        for (uint32_t v = 0; v < w->s->over.len; v++)
            seed |= w->bounds[v] & seed || seed >> v & 1 ? w->bounds[v] | (uint64_t)1 << v : 0;
    }
    return seed;
}

/* The product of the factors that are decided with the variable at this depth. */
static bool product_at(walk *w, uint64_t bound, uint32_t last, int64_t *out)
{
    *out = 1;
    for (uint32_t f = 0; *out && f < w->s->factors.len; f++) {
        int64_t v;
        if (!(w->mentions[f] >> last & 1) || (w->mentions[f] & ~bound))
            continue;
        if (!evaluate(w, w->s->factors.at[f], &v))
            return false;
        if (!tp_mul(*out, v, out))
            return too_large(w);
    }
    return true;
}

static bool decides(const walk *w, uint64_t bound, uint32_t last)
{
    for (uint32_t f = 0; f < w->s->factors.len; f++)
        if (w->mentions[f] >> last & 1 && !(w->mentions[f] & ~bound))
            return true;
    return false;
}

/* Is there work left for so many turns? */
static bool spend(walk *w, int64_t turns)
{
    if (turns <= *w->left) {
        tp_spend(w->c->arena, 8 * turns);
        *w->left -= turns;
        return true;
    }
    w->why = TP_S("no closed form is known, and it is too much to count");
    return false;
}

static bool sum_from(walk *w, uint32_t depth, uint64_t bound, int64_t *out)
{
    *out = 1;
    if (depth == w->n)
        return true;
    uint32_t v = w->at[depth];
    const tp_range *r = &w->s->over.at[v];
    int64_t lo, hi, turns;
    if (!evaluate(w, r->lo, &lo) || !evaluate(w, r->hi, &hi))
        return false;
    if (!tp_turns(lo, hi, r->by, &turns))
        return too_large(w);
    bound |= (uint64_t)1 << v;
    if (depth + 1 == w->n && !decides(w, bound, v)) {
        *out = turns;
        return true;
    }
    *out = 0;
    if (!spend(w, turns))
        return false;
    for (int64_t t = 0; t < turns; t++) {
        int64_t f, rest;
        w->c->env[r->sym] = lo + t * r->by;
        if (!product_at(w, bound, v, &f))
            return false;
        if (!f)
            continue;
        if (!sum_from(w, depth + 1, bound, &rest))
            return false;
        if (!tp_mul(f, rest, &rest) || !tp_add(*out, rest, out))
            return too_large(w);
    }
    return true;
}

static bool sum_parts(walk *w, int64_t *out)
{
    const tp_sum *s = w->s;
    uint64_t seen = 0;
    *out = 1;
    for (uint32_t f = 0; f < s->factors.len; f++) {
        int64_t v;
        if (w->mentions[f])
            continue;
        if (!evaluate(w, s->factors.at[f], &v))
            return false;
        if (!v) {
            *out = 0;
            return true;
        }
        if (!tp_mul(*out, v, out))
            return too_large(w);
    }
    for (uint32_t v = 0; *out && v < s->over.len; v++) {
        int64_t part;
        if (seen >> v & 1)
            continue;
        uint64_t bits = part_of(w, (uint64_t)1 << v);
        seen |= bits;
        w->n = 0;
        for (uint32_t o = 0; o < s->over.len; o++)
            if (bits >> o & 1)
                w->at[w->n++] = o;
        if (!sum_from(w, 0, 0, &part))
            return false;
        if (!tp_mul(*out, part, out))
            return too_large(w);
    }
    return true;
}

bool tp_sum_value(tp_cost *c, const tp_sum *s, int64_t *left, int64_t *out, tp_str *why)
{
    walk w = {.c = c, .s = s, .left = left};
    if (s->over.len > MOST_VARIABLES) {
        *why = TP_S("too many loops stand in each other");
        return false;
    }
    uint64_t mentions[MOST_VARIABLES], bounds[MOST_VARIABLES];
    w.bounds = bounds;
    w.mentions = s->factors.len > MOST_VARIABLES ? TP_NEWN(c->arena, uint64_t, s->factors.len) : mentions;
    for (uint32_t f = 0; f < s->factors.len; f++)
        w.mentions[f] = variables_of(c, s, s->factors.at[f]);
    for (uint32_t v = 0; v < s->over.len; v++)
        bounds[v] = variables_of(c, s, s->over.at[v].lo) | variables_of(c, s, s->over.at[v].hi);
    bool ok = sum_parts(&w, out);
    *why = w.why;
    return ok;
}

/* ---- closed forms ---- */

static bool constant_difference(tp_cost *c, tp_expr a, tp_expr b, int64_t *d)
{
    return tp_expr_is_const(c->p, tp_expr_normal(c->p, tp_cost_op(c, TP_E_SUB, a, b)), d);
}

/* The smaller (sign 1) or larger (-1) of two, without min and max where the difference is a number. */
static tp_expr extreme(tp_cost *c, tp_expr a, tp_expr b, int64_t sign)
{
    int64_t d;
    if (constant_difference(c, a, b, &d))
        return (sign > 0) == (d <= 0) ? a : b;
    return tp_cost_op(c, sign > 0 ? TP_E_MIN : TP_E_MAX, a, b);
}

/* Integers v of a range that satisfy what was said of them so far. */
typedef struct interval {
    tp_expr lo, hi;
    bool at;      /* v == lo, and lo may be any number */
    tp_expr also; /* a condition on sizes; id 0: none */
} interval;

/* e as coef * v + rest; false: it is not that, or coef is 0. */
static bool linear_in(tp_cost *c, tp_expr e, uint32_t sym, int64_t *coef, tp_expr *rest)
{
    tp_poly *q = TP_NEW(c->arena, tp_poly), *free = TP_NEW(c->arena, tp_poly);
    tp_poly_of(c->p, e, q);
    *coef = 0;
    free->ok = true;
    for (uint32_t t = 0; q->ok && t < q->n; t++) {
        uint32_t with = 0;
        for (uint32_t f = 0; f < q->terms[t].degree; f++)
            with += tp_expr_mentions(c->p, q->terms[t].factors[f], sym);
        if (!with) {
            tp_poly_add_term(free, &q->terms[t]);
            continue;
        }
        const tp_expr_node *n = tp_expr_get(c->p, q->terms[t].factors[0]);
        if (with != 1 || q->terms[t].degree != 1 || n->op != TP_E_SYM)
            return false;
        *coef = q->terms[t].coef;
    }
    *rest = q->ok && free->ok ? tp_poly_expr(c->p, free) : (tp_expr){0};
    return q->ok && free->ok && *coef != 0 && *coef != INT64_MIN;
}

static tp_expr plus(tp_cost *c, tp_expr e, int64_t n)
{
    return tp_expr_normal(c->p, tp_cost_op(c, TP_E_ADD, e, tp_cost_num(c, n)));
}

/* Narrow the interval by coef * v + rest OP 0, coef > 0. */
static bool narrow(tp_cost *c, const tp_range *r, interval *x, tp_expr_op op, int64_t coef, tp_expr rest)
{
    tp_expr bound = tp_expr_normal(c->p, tp_op1(c->p, TP_E_NEG, rest)), by = tp_cost_num(c, coef),
            down = coef == 1 ? bound : tp_cost_op(c, TP_E_FLOORDIV, bound, by),
            up = coef == 1 ? bound : tp_cost_op(c, TP_E_CDIV, bound, by);
    if (op == TP_E_EQ) {
        if (x->at || coef != 1)
            return false;
        tp_expr inside = {0};
        int64_t d, h;
        bool whole = r->axis && tp_same(x->lo, r->lo) && tp_same(x->hi, r->hi),
             from = constant_difference(c, bound, x->lo, &d) && d >= 0,
             below_hi = constant_difference(c, x->hi, bound, &h) && h >= 1;
        if (!from && !(whole && below_hi && h == 1))
            inside = tp_cost_op(c, TP_E_LE, x->lo, bound);
        if (!below_hi && !(whole && from && d == 0)) {
            tp_expr below = tp_cost_op(c, TP_E_LT, bound, x->hi);
            inside = inside.id ? tp_cost_op(c, TP_E_AND, inside, below) : below;
        }
        *x = (interval){bound, plus(c, bound, 1), true,
                        !x->also.id  ? inside
                        : !inside.id ? x->also
                                     : tp_cost_op(c, TP_E_AND, x->also, inside)};
        return true;
    }
    if (x->at)
        return false;
    if (op == TP_E_LT || op == TP_E_LE)
        x->hi = extreme(c, x->hi, op == TP_E_LT ? up : plus(c, down, 1), 1);
    else
        x->lo = extreme(c, x->lo, op == TP_E_GE ? up : plus(c, down, 1), -1);
    return true;
}

static tp_expr_op mirror(tp_expr_op op)
{
    return op == TP_E_LT ? TP_E_GT : op == TP_E_LE ? TP_E_GE : op == TP_E_GT ? TP_E_LT : op == TP_E_GE ? TP_E_LE : op;
}

static bool compares(tp_expr_op op)
{
    return op == TP_E_EQ || op == TP_E_NE || op == TP_E_LT || op == TP_E_LE || op == TP_E_GT || op == TP_E_GE;
}

static tp_form none(tp_cost *c, tp_expr e)
{
    return (tp_form){.why = tp_printf(c->arena, "`%.*s` does not split by axes", TP_FMT(tp_expr_text(c->p, e)))};
}

static tp_expr size_of(tp_cost *c, const tp_range *r, const interval *x)
{
    int64_t d;
    tp_expr zero = tp_cost_num(c, 0), n = tp_cost_num(c, 1);
    if (!x->at) {
        n = tp_expr_normal(c->p, tp_cost_op(c, TP_E_SUB, x->hi, x->lo));
        /* an axis has a value: what is at most one less is not negative */
        tp_expr all = tp_cost_op(c, TP_E_SUB, r->hi, r->lo);
        if (!(r->axis && constant_difference(c, all, n, &d) && d <= 1) && !tp_expr_is_const(c->p, n, &d))
            n = tp_cost_op(c, TP_E_MAX, n, zero);
        else if (tp_expr_is_const(c->p, n, &d) && d < 0)
            n = zero;
    }
    return x->also.id ? tp_ite(c->p, x->also, n, zero) : n;
}

typedef TP_VEC(tp_expr) conditions;

static tp_form count_in(tp_cost *c, const tp_range *r, const conditions *given, uint32_t depth);

/* The number where condition f is replaced by others, ids of 0: none. */
static tp_form replace(tp_cost *c, const tp_range *r, const conditions *given, uint32_t f, tp_expr a, tp_expr b,
                       uint32_t depth)
{
    conditions x = {0};
    for (uint32_t i = 0; i < given->len; i++)
        if (i != f)
            tp_push(c->arena, x, given->at[i]);
    if (a.id)
        tp_push(c->arena, x, a);
    if (b.id)
        tp_push(c->arena, x, b);
    return count_in(c, r, &x, depth + 1);
}

static tp_form combine(tp_cost *c, tp_expr_op op, tp_form a, tp_form b)
{
    if (!a.e.id || !b.e.id)
        return a.e.id ? b : a;
    return (tp_form){.e = tp_expr_normal(c->p, tp_cost_op(c, op, a.e, b.e))};
}

static tp_expr negate(tp_cost *c, tp_expr e)
{
    return tp_op1(c->p, TP_E_NOT, e);
}

/* How many values of the range satisfy all conditions? */
static tp_form count_in(tp_cost *c, const tp_range *r, const conditions *given, uint32_t depth)
{
    enum { DEEP = 12 };
    tp_expr no = {0};
    interval x = {r->lo, r->hi, false, no};
    for (uint32_t i = 0; i < given->len; i++) {
        tp_expr e = given->at[i];
        const tp_expr_node *n = tp_expr_get(c->p, e);
        tp_expr a = n->a, b = n->b;
        tp_expr_op op = n->op;
        if (depth > DEEP)
            return none(c, e);
        if (op == TP_E_NOT) {
            const tp_expr_node *m = tp_expr_get(c->p, a);
            tp_expr ma = m->a, mb = m->b;
            if (compares(m->op))
                return replace(c, r, given, i, tp_cost_op(c, tp_expr_opposite(m->op), ma, mb), no, depth);
            if (m->op == TP_E_NOT)
                return replace(c, r, given, i, ma, no, depth);
            return combine(c, TP_E_SUB, replace(c, r, given, i, no, no, depth), replace(c, r, given, i, a, no, depth));
        }
        if (op == TP_E_AND)
            return replace(c, r, given, i, a, b, depth);
        if (op == TP_E_OR)
            return combine(c, TP_E_ADD, replace(c, r, given, i, a, no, depth),
                           replace(c, r, given, i, b, negate(c, a), depth));
        if (!tp_expr_mentions(c->p, e, r->sym) && tp_expr_is_bool(c->p, e)) {
            x.also = x.also.id ? tp_cost_op(c, TP_E_AND, x.also, e) : e;
            continue;
        }
        if (!compares(op))
            return none(c, e);
        if (op == TP_E_NE)
            return combine(c, TP_E_SUB, replace(c, r, given, i, no, no, depth),
                           replace(c, r, given, i, tp_cost_op(c, TP_E_EQ, a, b), no, depth));
        int64_t coef;
        tp_expr rest;
        if (!linear_in(c, tp_cost_op(c, TP_E_SUB, a, b), r->sym, &coef, &rest))
            return none(c, e);
        if (coef < 0) {
            coef = -coef;
            rest = tp_op1(c->p, TP_E_NEG, rest);
            op = mirror(op);
        }
        if (!narrow(c, r, &x, op, coef, rest))
            return none(c, e);
    }
    return (tp_form){.e = size_of(c, r, &x)};
}

static tp_expr times(tp_cost *c, tp_expr a, tp_expr b)
{
    int64_t one;
    return tp_expr_is_const(c->p, a, &one) && one == 1 ? b : tp_cost_op(c, TP_E_MUL, a, b);
}

static bool is_part_of(const tp_cost *c, const tp_sum *s, uint32_t v, tp_expr e)
{
    return tp_expr_mentions(c->p, e, s->over.at[v].sym);
}

/* Values of variable v; nothing else of the sum may depend on it together with another one. */
static tp_form form_of_variable(tp_cost *c, const tp_sum *s, uint32_t v)
{
    const tp_range *r = &s->over.at[v];
    conditions of = {0};
    for (uint32_t o = 0; o < s->over.len; o++)
        if (is_part_of(c, s, v, s->over.at[o].lo) || is_part_of(c, s, v, s->over.at[o].hi))
            return (tp_form){.why = tp_printf(c->arena, "a loop turns as often as `%.*s` says",
                                              TP_FMT(tp_expr_text(c->p, s->over.at[o].hi)))};
    for (uint32_t f = 0; f < s->factors.len; f++) {
        tp_expr e = s->factors.at[f];
        if (!is_part_of(c, s, v, e))
            continue;
        for (uint32_t o = 0; o < s->over.len; o++)
            if (o != v && is_part_of(c, s, o, e))
                return none(c, e);
        tp_push(c->arena, of, e);
    }
    if (r->by == 1)
        return count_in(c, r, &of, 0);
    if (of.len)
        return none(c, of.at[0]);
    tp_expr span = tp_cost_op(c, TP_E_SUB, r->by > 0 ? r->hi : r->lo, r->by > 0 ? r->lo : r->hi);
    return (tp_form){.e = tp_cost_op(c, TP_E_MAX, tp_cost_num(c, 0),
                                     tp_cost_op(c, TP_E_CDIV, span, tp_cost_num(c, r->by > 0 ? r->by : -r->by)))};
}

static bool splits(tp_cost *c, const tp_sum *s, uint32_t f)
{
    const tp_expr_node *n = tp_expr_get(c->p, s->factors.at[f]);
    return n->op == TP_E_AND;
}

tp_form tp_sum_form(tp_cost *c, const tp_sum *s)
{
    tp_sum x = {.over = s->over};
    for (uint32_t f = 0; f < s->factors.len; f++)
        tp_push(c->arena, x.factors, s->factors.at[f]);
    for (uint32_t f = 0; f < x.factors.len; f++)
        while (splits(c, &x, f)) { /* so that each variable has its own */
            const tp_expr_node *n = tp_expr_get(c->p, x.factors.at[f]);
            tp_expr a = n->a, b = n->b;
            x.factors.at[f] = a;
            tp_push(c->arena, x.factors, b);
        }
    tp_expr n = tp_cost_num(c, 1);
    for (uint32_t f = 0; f < x.factors.len; f++) {
        bool free = true;
        for (uint32_t v = 0; v < x.over.len; v++)
            free &= !is_part_of(c, &x, v, x.factors.at[f]);
        if (free)
            n = times(c, n, x.factors.at[f]);
    }
    for (uint32_t v = 0; v < x.over.len; v++) {
        tp_form of = form_of_variable(c, &x, v);
        if (!of.e.id)
            return of;
        n = times(c, n, of.e);
    }
    return tp_expr_too_large(n) ? (tp_form){.why = TP_S("it would be too long")} : (tp_form){.e = n};
}
