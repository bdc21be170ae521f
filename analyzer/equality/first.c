/* Places of extremes: argmax and argmin, over blocks and steps.
 *
 * In normal form such a fold is the least of the places at which the value is
 * extreme, over points in any order: its body is a pair of value and place. It
 * is what "the first" means as long as places ascend from point to point. */
#include "analyzer/equality/grid.h"

#include <math.h>

/* ---- steps ---- */

/* q = c + the place t < extent of the extreme of `value`; or c alone, extent 1. */
typedef struct place {
    bool ok;
    tp_prim prim; /* PRIMS: any */
    tp_expr offset, extent;
    term value; /* extreme of the values; none: c alone */
    term whole; /* q, with the offset inside */
} place;

static place place_of(summary *s, term q)
{
    const term_node n = *term_get(s, q);
    place r = {.ok = true, .prim = TP_PRIMS, .whole = q};
    if (n.kind == T_INTEGER) {
        r.offset = n.e;
        r.extent = tp_const(s->p, 1);
        return r;
    }
    if (n.kind == T_APPLY && n.prim == TP_P_ADD)
        for (int i = 0; i < 2; i++) {
            const term_node c = *term_get(s, n.arg[i]);
            if (c.kind != T_INTEGER)
                continue;
            r = place_of(s, n.arg[!i]);
            if (!r.ok || !r.value.id)
                return (place){.ok = false};
            const term_node f = *term_get(s, r.whole), t = *term_get(s, f.arg[1]);
            r.offset = tp_op2(s->p, TP_E_ADD, r.offset, c.e);
            r.whole = term_first(s, f.prim, f.sym, f.e, f.arg[0], term_integer(s, tp_op2(s->p, TP_E_ADD, t.e, c.e)));
            return r;
        }
    if (n.kind != T_FOLD || prim_of_first(n.prim) == TP_PRIMS)
        return (place){.ok = false};
    const term_node t = *term_get(s, n.arg[1]);
    if (t.kind != T_INTEGER)
        return (place){.ok = false};
    r.prim = n.prim;
    r.offset = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, t.e, tp_sym(s->p, n.sym)));
    if (tp_expr_mentions(s->p, r.offset, n.sym))
        return (place){.ok = false};
    r.extent = n.e;
    r.value = term_fold(s, prim_of_first(n.prim), n.sym, n.e, n.arg[0]);
    return r;
}

/* where(value is beyond `before`, q, old) in any of its spellings. */
typedef struct exchange {
    bool ok, greater;
    term value, before, q, old;
} exchange;

static exchange exchange_of(const summary *s, term t, bool swapped)
{
    const term_node n = *term_get(s, t);
    exchange x = {.ok = false};
    if (n.kind != T_APPLY || n.prim != TP_P_WHERE)
        return x;
    const term_node c = *term_get(s, n.arg[0]);
    if (c.kind != T_APPLY)
        return x;
    bool strict = c.prim == TP_P_GT || c.prim == TP_P_LT, weak = c.prim == TP_P_GE || c.prim == TP_P_LE;
    x.ok = strict || weak;
    x.q = n.arg[strict ? 1 : 2]; /* not (value <= before) */
    x.old = n.arg[strict ? 2 : 1];
    x.value = c.arg[swapped];
    x.before = c.arg[!swapped];
    x.greater = ((c.prim == TP_P_GT || c.prim == TP_P_LE) != swapped);
    return x;
}

/* max(before, value) is beyond `before` where the value is. */
static term beside(const summary *s, term t, term before, bool greater)
{
    const term_node n = *term_get(s, t);
    if (n.kind == T_APPLY && n.prim == (greater ? TP_P_MAXIMUM : TP_P_MINIMUM))
        for (int i = 0; i < 2; i++)
            if (n.arg[i].id == before.id)
                return n.arg[!i];
    return t;
}

/* Is it a number, for all inputs that are? Of a fold of nothing the summary stops. */
static bool is_number(summary *s, term t, tp_prim fold)
{
    const term_node n = *term_get(s, t);
    product guards = product_of(1, 1);
    if (n.kind == T_FOLD && n.prim != fold)
        return false;
    term inside = n.kind == T_FOLD ? value_inside(s, n.arg[0], fold, &guards) : t;
    if (term_get(s, inside)->infinite || term_get(s, inside)->endless)
        return false;
    s->strict = true;
    sum_of_term(s, t); /* or it stops: an infinity is no number there */
    s->strict = false;
    return true;
}

/* What the first step does where nothing was before: `before` is the unit, and the value a number. */
static term first_place(grid *g, term base, bool greater)
{
    summary *s = g->v->s;
    for (int swapped = 0; swapped < 2; swapped++) {
        exchange x = exchange_of(s, base, swapped);
        if (!x.ok || x.greater != greater || !term_is_least(s, x.before, greater ? TP_P_MAX : TP_P_MIN))
            continue;
        place q = place_of(s, x.q);
        if (q.ok && is_number(s, with_folds(g, beside(s, x.value, x.before, greater)), greater ? TP_P_MAX : TP_P_MIN))
            return q.whole;
    }
    place q = place_of(s, base);
    return q.ok ? q.whole : (term){0};
}

static bool same_decision(summary *s, const premises *p, term a, term b)
{
    bool kept = s->narrow_casts;
    s->narrow_casts = true;
    bool yes = terms_equal(s, p, a, b, false);
    s->narrow_casts = kept;
    return yes;
}

/* In every step of the run. */
static bool same_in_all(grid *g, const form *f, term a, term b, const premises *later)
{
    static const premises nothing = {.n = 0};
    return same_decision(g->v->s, later, a, b) &&
           same_decision(g->v->s, &nothing, in_first_step(g, a, f->first), in_first_step(g, b, f->first));
}

/* Is `before` what the steps before have for an extreme of `value`, at these lanes, in every step? */
static bool holds_extreme(grid *g, const form *f, term before, term value, bool greater, const premises *later)
{
    const term_node b = *term_get(g->v->s, before);
    if (b.kind != T_BEFORE)
        return false;
    const form *of = form_of(g, b.operand);
    if (of->overwritten || of->fold != (greater ? TP_P_MAX : TP_P_MIN) || of->keyed || of->narrowed || of->weight.id ||
        of->start.id || of->first != f->first || !of_one_phase(of, f))
        return false;
    return same_in_all(g, f, with_folds(g, value), form_at(g, of, &b, of->part), later);
}

/* The law: places ascend from step to step, so that a place which is exchanged
 * only by a greater value is the first of the greatest. */
match match_first(grid *g, form *f, term step, uint32_t operand, const premises *later, term *base)
{
    summary *s = g->v->s;
    uint32_t last = s->k->naxes - 1;
    if (f->keyed || f->first != last)
        return (match){.ok = false};
    for (int swapped = 0; swapped < 2; swapped++) {
        exchange x = exchange_of(s, step, swapped);
        if (!x.ok || has_before(g, x.q, operand) || !is_before(g, x.old, operand))
            continue;
        place q = place_of(s, x.q);
        term value = beside(s, x.value, x.before, x.greater), first = first_place(g, *base, x.greater);
        tp_expr before = at_step_of(s, q.offset, last, tp_op2(s->p, TP_E_SUB, axis_of(g, last), tp_const(s->p, 1)));
        if (!q.ok || !first.id || (q.prim != TP_PRIMS && q.prim != (x.greater ? TP_P_ARGMAX : TP_P_ARGMIN)) ||
            has_before(g, value, operand) || !holds_extreme(g, f, x.before, value, x.greater, later) ||
            (q.value.id && !same_in_all(g, f, with_folds(g, value), with_folds(g, q.value), later)) ||
            !summary_proves(s, later, tp_op2(s->p, TP_E_GE, tp_op2(s->p, TP_E_SUB, q.offset, before), q.extent)))
            continue;
        *base = first;
        f->fold = x.greater ? TP_P_ARGMAX : TP_P_ARGMIN;
        f->value = with_folds(g, q.value.id ? q.value : value);
        return (match){.ok = true, .part = q.whole};
    }
    return (match){.ok = false};
}
