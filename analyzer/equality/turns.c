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

/* What the variable was before the turn, at the same lanes: held. Other variables stay. */
static term hold(summary *s, const term_node *n, void *ctx)
{
    turn_of_one *x = ctx;
    const loop_variable *l = &x->v->loops.at[x->loop];
    if (n->kind != T_TURN || n->operand != x->loop)
        return (term){0};
    for (uint32_t d = 0; d < l->rank; d++)
        x->apart |= !tp_same(n->at[d], l->lane[d]);
    x->apart |= !tp_same(n->at[l->rank], tp_sym(s->p, l->turn));
    return term_held(s, n->at[l->rank]);
}

/* Its body and its beginning, at lanes of its own. */
static void look_at(evaluation *v, uint32_t loop)
{
    summary *s = v->s;
    loop_variable *l = &v->loops.at[loop];
    turn_of_one x = {v, loop, false};
    if (l->busy)
        evaluation_stop(v, "variables of a loop that depend on each other");
    l->busy = true;
    tp_vid variable = l->after->value;
    for (uint32_t d = 0; d < l->rank; d++)
        l->lane[d] = summary_index(s, "lane", v->values.at[variable].dims[d]);
    term body = variable_element(v, l->after, v->loops.at[loop].lane);
    bool recurs = term_mentions(s, body, T_TURN, loop);
    body = with_turns(v, term_replace(s, body, hold, &x));
    term init = with_turns(v, variable_element(v, v->loops.at[loop].before, v->loops.at[loop].lane));
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
        with[tp_expr_get(p, l.lane[d])->value] = n->at[d];
    term init = term_subst(s, l.init, with, symbols);
    with[l.turn] = l.recurs ? turn : tp_op2(p, TP_E_SUB, turns, one);
    term body = term_subst(s, l.body, with, symbols);
    return l.recurs ? term_scan_unfolded(s, (uint32_t)tp_expr_get(p, turn)->value, turns, body, init)
                    : term_select(s, tp_op2(p, TP_E_GE, turns, one), body, init);
}

term with_turns(evaluation *v, term t)
{
    return v->loops.len && term_mentions(v->s, t, T_TURN, UINT32_MAX) ? term_replace(v->s, t, turn_of, v) : t;
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
