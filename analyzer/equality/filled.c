/* Buffers that one step of an axis fills, and that its later steps find so: the statistics of a first phase.
 *
 * The law. Let `phase` be the axis before the fastest one, `turn`, and let no step with phase > c change a scratch
 * buffer. In the steps with phase == c it follows the law of a run over `turn` alone (grid.c), given what the first of
 * them finds; in those with phase > c it holds what the last of them left. What it holds before is known where the very
 * first step sets it and no other one before phase c changes it. */
#include "analyzer/equality/grid.h"

enum { MOST_PHASES = 3 };

static tp_expr phase_of(const grid *g)
{
    return axis_of(g, g->v->s->k->naxes - 2);
}

static tp_expr turn_of(const grid *g)
{
    return axis_of(g, g->v->s->k->naxes - 1);
}

static premises where_phase(const grid *g, tp_expr_op is, int64_t than)
{
    summary *s = g->v->s;
    return (premises){.at = {condition_normal(s, tp_op2(s->p, is, phase_of(g), tp_const(s->p, than)), false)}, .n = 1};
}

static term put(grid *g, term t, tp_expr symbol, tp_expr by)
{
    replacement with = no_symbols(g);
    replace_symbol(g, &with, symbol, by);
    return t.id ? grid_substitute(g, t, &with) : t;
}

static term in_phase(grid *g, term t, int64_t phase)
{
    return put(g, t, phase_of(g), tp_const(g->v->s->p, phase));
}

static term where(grid *g, term t, const premises *p)
{
    return decide_parts(g->v->s, term_decide(g->v->s, t, p), p, 0);
}

premises fill_steps(grid *g, const form *f, const premises *p)
{
    return premises_with(g->v->s, p, where_phase(g, TP_E_EQ, f->phase).at[0]);
}

/* What the very first step sets and all other steps before that phase leave as it is; no id: nothing. */
static term set_at_first(grid *g, uint32_t operand, term update, int64_t phase)
{
    summary *s = g->v->s;
    tp_exprs *p = s->p;
    term set = in_first_step(g, update, s->k->naxes - 2);
    premises before = where_phase(g, TP_E_LT, phase);
    tp_expr zero = tp_const(p, 0),
            not_first = tp_op2(p, TP_E_OR, tp_op2(p, TP_E_NE, phase_of(g), zero), tp_op2(p, TP_E_NE, turn_of(g), zero));
    before = premises_with(s, &before, condition_normal(s, not_first, false));
    bool is_known = !term_mentions(s, set, T_BEFORE, UINT32_MAX) && !term_mentions(s, set, T_AFTER, UINT32_MAX) &&
                    !term_mentions(s, set, T_TURN, UINT32_MAX) && is_before(g, where(g, update, &before), operand);
    return phase > 0 && is_known ? set : (term){0};
}

term find_filled(grid *g, uint32_t operand, term update)
{
    summary *s = g->v->s;
    const tp_kernel *k = s->k;
    form *f = &g->forms[operand];
    if (k->naxes < 2 || operand < k->ninputs + k->noutputs)
        return update;
    const tp_axis *outer = &k->axes[k->naxes - 2], *inner = outer + 1;
    if (outer->parallel || inner->parallel || tp_expr_mentions(s->p, inner->steps, outer->sym) ||
        !term_speaks_of(s, update, outer->sym))
        return update;
    for (int64_t phase = 0; phase < MOST_PHASES; phase++) {
        premises later = where_phase(g, TP_E_GT, phase);
        if (!summary_proves_of_sizes(s, tp_op2(s->p, TP_E_GE, outer->steps, tp_const(s->p, phase + 2))))
            return update;
        if (!is_before(g, where(g, update, &later), operand))
            continue;
        f->filled = true;
        f->phase = phase;
        f->set = set_at_first(g, operand, update, phase);
        return where(g, in_phase(g, update, phase), &(premises){.n = 0});
    }
    return update;
}

term first_found(grid *g, uint32_t operand, term base)
{
    summary *s = g->v->s;
    const form *f = &g->forms[operand];
    const tp_operand *o = &s->k->operands[operand];
    return f->set.id ? term_exchange(s, base, term_element(s, T_BEFORE, operand, o->ref_rank, f->lane), f->set) : base;
}

bool of_one_phase(const form *a, const form *b)
{
    return a->filled == b->filled && (!a->filled || a->phase == b->phase);
}

term in_its_phase(grid *g, const form *f, term t)
{
    return f->filled ? in_phase(g, t, f->phase) : t;
}

term in_last_turn(grid *g, const form *f, term t)
{
    summary *s = g->v->s;
    tp_expr last = tp_op2(s->p, TP_E_SUB, s->k->axes[s->k->naxes - 1].steps, tp_const(s->p, 1));
    return put(g, in_phase(g, t, f->phase), turn_of(g), last);
}

/* Something of which nothing is known but the step and whether it is before or after it. */
static term unknown(grid *g, const term_node *n)
{
    summary *s = g->v->s;
    tp_expr at[TP_MAX_RANK];
    uint32_t rank = n->rank;
    if (rank + s->k->naxes + 1 > TP_MAX_RANK)
        summary_stop(s, TP_S("a buffer that a later phase fills has too many dimensions"));
    memcpy(at, n->at, rank * sizeof *at);
    for (uint32_t a = 0; a < s->k->naxes; a++)
        at[rank++] = axis_of(g, a);
    at[rank++] = tp_const(s->p, n->kind == T_AFTER);
    return term_element(s, T_BEFORE, n->operand, rank, at);
}

term over_phases(grid *g, const form *f, const term_node *n, term in_that_phase)
{
    summary *s = g->v->s;
    tp_exprs *p = s->p;
    term t = in_that_phase;
    if (f->phase > 0) {
        tp_expr first = tp_op2(p, TP_E_AND, tp_op2(p, TP_E_EQ, phase_of(g), tp_const(p, 0)),
                               tp_op2(p, TP_E_EQ, turn_of(g), tp_const(p, 0)));
        term earlier = unknown(g, n);
        if (f->set.id)
            earlier = n->kind == T_AFTER
                          ? form_at(g, f, n, f->set)
                          : term_select(s, condition_normal(s, first, false), earlier, form_at(g, f, n, f->set));
        t = term_select(s, where_phase(g, TP_E_LT, f->phase).at[0], earlier, t);
    }
    return term_select(s, where_phase(g, TP_E_GT, f->phase).at[0], form_at(g, f, n, f->left), t);
}
