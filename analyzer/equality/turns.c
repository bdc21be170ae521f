/* Recurrences: what a loop over sizes makes of a variable that every turn
 * makes of what it was, lane by lane; and what steps of the grid make of a buffer. */
#include "analyzer/equality/grid.h"

/* ---- loops ---- */

static term turn_of(summary *s, const term_node *n, void *ctx);

typedef struct turn_of_one {
    evaluation *v;
    uint32_t loop;
    bool apart; /* it looks at other lanes, or at other turns */
} turn_of_one;

/* Is it the state of the loop before the turn, at the lanes that are looked at? */
static bool is_held(const turn_of_one *x, const term_node *n)
{
    const loop_variable *l = &x->v->loops.at[x->loop];
    bool same = n->kind == T_TURN && n->operand == x->loop && tp_same(n->at[l->rank], tp_sym(x->v->s->p, l->turn));
    for (uint32_t d = 0; d < l->rank && same; d++)
        same = tp_same(n->at[d], l->lane[d]);
    return same;
}

static bool is_held_term(void *ctx, term t)
{
    const turn_of_one *x = ctx;
    return is_held(x, term_get(x->v->s, t));
}

/* What the variable was before the turn, at the same lanes: held. Other variables stay. */
static term hold(summary *s, const term_node *n, void *ctx)
{
    turn_of_one *x = ctx;
    const loop_variable *l = &x->v->loops.at[x->loop];
    if (n->kind != T_TURN || n->operand != x->loop)
        return (term){0};
    x->apart |= !is_held(x, n);
    return term_held(s, n->at[l->rank]);
}

/* e as first + by * symbol. */
static bool is_linear_in(summary *s, tp_expr e, uint32_t sym, tp_expr *first, int64_t *by)
{
    tp_exprs *p = s->p;
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[sym] = tp_const(p, 0);
    *first = tp_expr_normal(p, tp_expr_subst(p, e, with, n));
    with[sym] = tp_const(p, 1);
    tp_expr slope = tp_expr_normal(p, tp_op2(p, TP_E_SUB, tp_expr_subst(p, e, with, n), *first));
    return tp_expr_is_const(p, slope, by) &&
           tp_same(tp_expr_normal(p, e),
                   tp_expr_normal(p, tp_op2(p, TP_E_ADD, *first, tp_op2(p, TP_E_MUL, slope, tp_sym(p, sym)))));
}

/* The turn that the condition allows, if it allows one only, told by some part of it; no id: it is not seen. */
static tp_expr allowed_turn(summary *s, tp_expr part, tp_expr condition, uint32_t turn)
{
    tp_exprs *p = s->p;
    const tp_expr_node n = *tp_expr_get(p, part);
    premises holds = {.n = 0};
    tp_expr first;
    int64_t by;
    if (n.op == TP_E_AND || n.op == TP_E_OR) {
        tp_expr found = allowed_turn(s, n.a, condition, turn);
        return found.id ? found : allowed_turn(s, n.b, condition, turn);
    }
    if ((n.op != TP_E_GE && n.op != TP_E_EQ) || !is_linear_in(s, n.a, turn, &first, &by) || by >= 0)
        return (tp_expr){0};
    tp_expr only = tp_expr_normal(p, tp_op2(p, TP_E_FLOORDIV, first, tp_const(p, -by)));
    holds = premises_with(s, &holds, condition);
    return summary_proves(s, &holds, tp_op2(p, TP_E_EQ, tp_sym(p, turn), only)) ? only : (tp_expr){0};
}

/* What was there before the loop, where a turn looks at what the turns before left. */
static term before_loop(summary *s, const term_node *n, void *ctx)
{
    turn_of_one *x = ctx;
    (void)s;
    if (n->kind != T_TURN || n->operand != x->loop)
        return (term){0};
    x->apart |= !is_held(x, n);
    return x->v->loops.at[x->loop].init;
}

/* The law of a lane that one turn alone sets, n(lane): after T turns it is what
 * that turn sets if it is one of them, and else what was there before, which is
 * what the turn finds, too. false: it is no such buffer. */
static bool is_set_once(turn_of_one *x, term body)
{
    summary *s = x->v->s;
    loop_variable *l = &x->v->loops.at[x->loop];
    kept_or_set c = match_choice(s, body, is_held_term, T_TURN, x->loop, x);
    if (!c.value.id)
        return false;
    uint32_t symbols = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, symbols), only = allowed_turn(s, c.holds, c.holds, l->turn);
    if (!only.id)
        return false;
    with[l->turn] = only;
    term value = with_turns(x->v, term_replace(s, c.value, before_loop, x));
    if (x->apart)
        return false;
    l = &x->v->loops.at[x->loop];
    l->only = only;
    l->written = tp_expr_subst(s->p, c.holds, with, symbols);
    l->body = term_subst(s, value, with, symbols);
    return true;
}

static term at_lanes(evaluation *v, const loop_variable *l, const stored *c, const tp_expr *lane)
{
    return l->buffer ? contents_element(v, c, l->operand, lane) : variable_element(v, c, lane);
}

/* Its body and its beginning, at lanes of its own. */
static void look_at(evaluation *v, uint32_t loop)
{
    summary *s = v->s;
    loop_variable *l = &v->loops.at[loop];
    turn_of_one x = {v, loop, false};
    int64_t one;
    if (l->busy)
        evaluation_stop(v, "variables of a loop that depend on each other");
    l->busy = true;
    const tp_expr *dims = l->buffer ? s->k->operands[l->operand].ref_shape : v->values.at[l->after->value].dims;
    for (uint32_t d = 0; d < l->rank; d++)
        l->lane[d] =
            tp_expr_is_const(s->p, dims[d], &one) && one == 1 ? tp_const(s->p, 0) : summary_index(s, "lane", dims[d]);
    const loop_variable is = *l;
    term body = at_lanes(v, &is, is.after, is.lane), init = with_turns(v, at_lanes(v, &is, is.before, is.lane));
    v->loops.at[loop].init = init;
    if (is.buffer && is_set_once(&x, body)) {
        v->loops.at[loop].busy = false;
        return;
    }
    bool recurs = term_mentions(s, body, T_TURN, loop);
    body = with_turns(v, term_replace(s, body, hold, &x));
    if (x.apart)
        evaluation_stop(v, "a loop whose turns look at other lanes of what they were");
    if (recurs && (term_applies(s, body, TP_P_CAST) || term_applies(s, init, TP_P_CAST))) { /* a decision sees it */
        int64_t by_this_loop = -1 - (int64_t)tp_noperands(s->k) - loop;
        term held = term_held(s, tp_sym(s->p, v->loops.at[loop].turn));
        body = term_exchange(s, body, held, term_apply(s, TP_P_CAST, held, (term){0}, (term){0}, by_this_loop));
    }
    l = &v->loops.at[loop];
    l->body = body;
    l->init = init;
    l->recurs = recurs;
    l->busy = false;
}

/* Below a minimum is below both. */
static tp_expr is_below(summary *s, tp_expr e, tp_expr end)
{
    const tp_expr_node n = *tp_expr_get(s->p, end);
    return n.op == TP_E_MIN ? tp_op2(s->p, TP_E_AND, is_below(s, e, n.a), is_below(s, e, n.b))
                            : tp_op2(s->p, TP_E_LT, e, end);
}

static term turn_of(summary *s, const term_node *n, void *ctx)
{
    evaluation *v = ctx;
    tp_exprs *p = s->p;
    if (n->kind != T_TURN)
        return (term){0};
    if (!v->loops.at[n->operand].body.id)
        look_at(v, n->operand);
    const loop_variable l = v->loops.at[n->operand];
    tp_expr turns = n->at[l.rank], one = tp_const(p, 1), turn = summary_index(s, "n", turns);
    uint32_t symbols = tp_sym_count(p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, symbols);
    for (uint32_t d = 0; d < l.rank; d++)
        if (tp_expr_get(p, l.lane[d])->op == TP_E_SYM)
            with[tp_expr_get(p, l.lane[d])->value] = n->at[d];
    term init = term_subst(s, l.init, with, symbols);
    if (l.only.id) {
        tp_expr only = tp_expr_subst(p, l.only, with, symbols),
                is_turn = tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, only, tp_const(p, 0)), is_below(s, only, turns));
        is_turn = tp_op2(p, TP_E_AND, is_turn, tp_expr_subst(p, l.written, with, symbols));
        return term_select(s, is_turn, term_subst(s, l.body, with, symbols), init);
    }
    with[l.turn] = l.recurs ? turn : tp_op2(p, TP_E_SUB, turns, one);
    term body = term_subst(s, l.body, with, symbols);
    return l.recurs ? term_scan_unfolded(s, (uint32_t)tp_expr_get(p, turn)->value, turns, body, init)
                    : term_select(s, tp_op2(p, TP_E_GE, turns, one), body, init);
}

term with_turns(evaluation *v, term t)
{
    return v->loops.len && term_mentions(v->s, t, T_TURN, UINT32_MAX) ? term_replace(v->s, t, turn_of, v) : t;
}

term element_after(evaluation *v, uint32_t operand, const tp_expr *at)
{
    term t = with_turns(v, contents_element(v, v->final[operand], operand, at));
    tp_str why = term_overflows(v->s, t, v->s->k->operands[operand].dtype);
    if (why.n)
        evaluation_stop(v, why.p);
    return t;
}

void forget_turns(evaluation *v)
{
    for (uint32_t i = 0; i < v->loops.len; i++) {
        v->loops.at[i].body = v->loops.at[i].init = (term){0};
        v->loops.at[i].only = (tp_expr){0};
        v->loops.at[i].busy = false;
    }
}

/* ---- recurrences in a recurrence, and one after the other ---- */

static term scan_under(summary *s, term t, uint32_t sym, tp_expr symbol, tp_expr by)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[sym] = by;
    return term_subst(s, term_exchange(s, t, term_held(s, tp_sym(s->p, sym)), term_held(s, symbol)), with, n);
}

/* In each of T turns R turns of what the turn finds: T R turns, if what is done
 * in turn r of turn t is a function of u = R t + r. No id: it is not seen to be one. */
static term scan_of_scans(summary *s, uint32_t sym, tp_expr extent, const term_node *inner, term init)
{
    static const premises nothing = {.n = 0};
    tp_exprs *p = s->p;
    tp_expr turns = index_under(s, &nothing, inner->e), all = tp_expr_normal(p, tp_op2(p, TP_E_MUL, extent, turns));
    if (tp_expr_mentions(p, turns, sym) || inner->arg[1].id != term_held(s, tp_sym(p, sym)).id ||
        !summary_proves(s, &nothing, tp_op2(p, TP_E_GE, turns, tp_const(p, 1))))
        return (term){0};
    tp_expr u = summary_index(s, "u", all), t = summary_index(s, "q", extent),
            r = tp_op2(p, TP_E_SUB, u, tp_op2(p, TP_E_MUL, turns, t));
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[sym] = t;
    term body = term_subst(s, scan_under(s, inner->arg[0], inner->sym, u, r), with, n);
    if (term_speaks_of(s, body, (uint32_t)tp_expr_get(p, t)->value))
        return (term){0};
    return term_scan(s, (uint32_t)tp_expr_get(p, u)->value, all, body, init);
}

/* Where a beginning is chosen: that of a recurrence without a turn, else the recurrence from it. */
static term without_choice(summary *s, const term_node *n)
{
    static const premises nothing = {.n = 0};
    for (int k = 0; k < 2; k++) { /* arg[k] is the recurrence */
        premises here = premises_with(s, &nothing, condition_normal(s, n->e, k == 1)),
                 else_here = premises_with(s, &nothing, condition_normal(s, n->e, k == 0));
        term all = term_decide(s, n->arg[k], &here);
        const term_node x = *term_get(s, all);
        if (x.kind == T_FOLD && x.prim == TP_P_SCAN && x.arg[1].id == term_decide(s, n->arg[!k], &else_here).id &&
            summary_proves(s, &else_here, tp_op2(s->p, TP_E_LE, x.e, tp_const(s->p, 0))))
            return all;
    }
    return (term){0};
}

/* m turns from where n turns end, all alike: n + m turns. */
static term scan_from_scan(summary *s, uint32_t sym, tp_expr extent, term body, const term_node *first)
{
    static const premises nothing = {.n = 0};
    tp_exprs *p = s->p;
    tp_expr zero = tp_const(p, 0), turn = tp_sym(p, sym), behind = tp_op2(p, TP_E_ADD, first->e, turn);
    if (scan_under(s, first->arg[0], first->sym, turn, behind).id != body.id ||
        !summary_proves(s, &nothing, tp_op2(p, TP_E_GE, first->e, zero)) ||
        !summary_proves(s, &nothing, tp_op2(p, TP_E_GE, extent, zero)))
        return (term){0};
    tp_expr all = tp_expr_normal(p, tp_op2(p, TP_E_ADD, first->e, extent)), u = summary_index(s, "u", all);
    return term_scan(s, (uint32_t)tp_expr_get(p, u)->value, all, scan_under(s, first->arg[0], first->sym, u, u),
                     first->arg[1]);
}

term scan_by_law(summary *s, uint32_t sym, tp_expr extent, term body, term init)
{
    const term_node inner = *term_get(s, body), first = *term_get(s, init);
    if (inner.kind == T_FOLD && inner.prim == TP_P_SCAN)
        return scan_of_scans(s, sym, extent, &inner, init);
    if (first.kind == T_FOLD && first.prim == TP_P_SCAN)
        return scan_from_scan(s, sym, extent, body, &first);
    if (first.kind == T_SELECT) {
        term all = without_choice(s, &first);
        return all.id ? term_scan(s, sym, extent, body, all) : all;
    }
    return (term){0};
}

/* ---- steps ---- */

typedef struct search {
    grid *g;
    uint32_t operand, first;
    bool apart;
    term init; /* what a choice has in its place in the first step; no id: there is none */
} search;

static term hold_before(summary *s, const term_node *n, void *ctx)
{
    search *x = ctx;
    if (n->kind != T_BEFORE || n->operand != x->operand)
        return (term){0};
    term t = term_element(s, T_BEFORE, n->operand, n->rank, n->at);
    x->apart |= !is_before(x->g, t, x->operand);
    term held = term_held(s, axis_of(x->g, x->first));
    bool narrowed = x->g->forms[x->operand].narrowed; /* by a function of this buffer alone */
    return narrowed ? term_apply(s, TP_P_CAST, held, (term){0}, (term){0}, -1 - (int64_t)x->operand) : held;
}

/* The other arm of a choice of what was there before, as the first step has it. */
static void find_init(search *x, term t)
{
    summary *s = x->g->v->s;
    const term_node n = *term_get(s, t);
    for (int i = 0; i < 2 && n.kind == T_SELECT && !x->init.id; i++) {
        term other = is_before(x->g, n.arg[i], x->operand) ? in_first_step(x->g, t, x->first) : (term){0};
        if (other.id && !has_before(x->g, other, x->operand))
            x->init = other;
    }
    for (int i = 0; i < 3 && n.arg[i].id && !x->init.id; i++)
        find_init(x, n.arg[i]);
}

bool match_recurrence(grid *g, form *f, uint32_t operand, term update, const premises *later)
{
    static const premises nothing = {.n = 0};
    summary *s = g->v->s;
    search x = {.g = g, .operand = operand, .first = f->first};
    if (f->first + 1 != s->k->naxes || f->keyed || s->k->axes[f->first].parallel ||
        !tp_is_float(s->k->operands[operand].dtype))
        return false;
    find_init(&x, update);
    if (!x.init.id)
        return false;
    term body = with_folds(g, term_replace(s, term_decide(s, update, later), hold_before, &x)),
         init = with_folds(g, x.init);
    if (x.apart)
        return false;
    term first = term_exchange(s, body, term_held(s, axis_of(g, f->first)), init),
         base = with_folds(g, in_first_step(g, update, f->first));
    if (!terms_equal(s, &nothing, in_first_step(g, base, f->first), in_first_step(g, first, f->first), false))
        return false;
    f->fold = TP_P_SCAN;
    f->part = body;
    f->start = init;
    return true;
}
