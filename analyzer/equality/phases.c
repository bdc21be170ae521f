/* Loops that follow each other: a kernel for each of them, a phase (as_axes.c).
 *
 * The lemma. Let the body be P1; P2; …, each with one loop, and let each store to buffers of its own, P2 beginning with
 * copies of what P1 left in those that it changes. Then in each step of the grid a buffer of Pn holds what the last
 * turn of Pn left there, wherever a later phase looks, since no other one stores to it. What Pn leaves follows from the
 * kernel that is Pn alone, with its turns as axes behind those of the grid, as long as it does not look at what a step
 * of the grid before left in a buffer that is the copy of another one, or has one: between the two, other phases ran.
 */
#include "analyzer/equality/grid.h"

static term left_by_phase(grid *g, const term_node *n);

static evaluation *evaluate_phase(summary *s, const turned_loops *t, evaluation *before)
{
    tp_analysis *of_last = s->phases.at[0];
    s->a = of_last;
    if (t->k != of_last->k) {
        s->a = tp_analysis_begin(s->arena, t->k, of_last->o);
        s->a->stores_at_start = of_last->stores_at_start;
        tp_push(s->arena, s->phases, s->a);
    }
    s->k = t->k;
    s->turned = t;
    note_others(s, t);
    s->positive = TP_NEWN(s->arena, bool, tp_noperands(s->k));
    evaluation *v = evaluate(s, s->k->body, true);
    v->before = before;
    v->left_by_phase = left_by_phase;
    find_uniform(v);
    return v;
}

static evaluation *evaluate_phases(summary *s, const turned_loops *t)
{
    return evaluate_phase(s, t, t->before ? evaluate_phases(s, t->before) : NULL);
}

evaluation *evaluate_kernel(summary *s)
{
    s->last = s->turned;
    if (s->turned)
        return evaluate_phases(s, s->turned);
    evaluation *v = evaluate(s, s->k->body, true);
    find_uniform(v);
    return v;
}

evaluation *evaluation_of(evaluation *last, uint32_t operand)
{
    evaluation *v = last;
    while (v->before && v->turned->phase_of[operand] != v->turned->phase)
        v = v->before;
    return v->final[operand] ? v : last;
}

grid *phase_ends(evaluation *v)
{
    if (!v->in_the_end) {
        v->in_the_end = TP_NEW(v->s->arena, grid);
        *v->in_the_end = (grid){.v = v,
                                .forms = TP_NEWN(v->s->arena, form, tp_noperands(v->k)),
                                .last = true,
                                .run = v->turned ? v->turned->outer : v->k->naxes};
    }
    return v->in_the_end;
}

/* What the operand holds after the last turn, at lanes of its own. */
static void look_at_end(evaluation *v, uint32_t operand)
{
    static const premises nothing = {.n = 0};
    summary *s = v->s;
    const tp_operand *o = &s->k->operands[operand];
    grid *g = phase_ends(v);
    tp_expr *own = v->end_lane[operand];
    int64_t one;
    for (uint32_t d = 0; d < o->ref_rank; d++)
        own[d] = tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1 ? tp_const(s->p, 0)
                                                                           : summary_index(s, "lane", o->ref_shape[d]);
    replacement last = no_symbols(g);
    for (uint32_t a = g->run; a < s->k->naxes; a++) /* how many turns there are may depend on loops around */
        replace_symbol(
            g, &last, axis_of(g, a),
            tp_expr_subst(s->p, tp_op2(s->p, TP_E_SUB, s->k->axes[a].steps, tp_const(s->p, 1)), last.with, last.n));
    term t = term_decide(s, grid_substitute(g, element_after(v, operand, own), &last), &nothing);
    if (has_before(g, t, operand))
        t = decide_parts(s, t, &nothing, 0);
    if (has_before(g, t, operand)) {
        const form *f = form_of(g, operand);
        if (f->first != g->run || f->keyed)
            summary_stop(
                s, tp_printf(s->arena, "`%.*s` is not set before a loop that another one follows", TP_FMT(o->name)));
        if (!f->but_last)
            t = term_element(s, T_AFTER, operand, o->ref_rank, own);
    }
    v->ends[operand] = grid_substitute(g, with_folds(g, t), &last);
}

static term left_by_phase(grid *g, const term_node *n)
{
    evaluation *here = g->v;
    summary *s = here->s;
    uint32_t phase = here->turned ? here->turned->phase_of[n->operand] : UINT32_MAX;
    if (phase == UINT32_MAX || phase == here->turned->phase)
        return (term){0};
    evaluation *v = here->before;
    while (v && v->turned->phase != phase)
        v = v->before;
    if (!v)
        summary_stop(s, tp_printf(s->arena, "`%.*s` is read before the loop that sets it",
                                  TP_FMT(s->k->operands[n->operand].name)));
    if (!v->ends[n->operand].id) {
        look_from(v);
        look_at_end(v, n->operand);
        look_from(here);
    }
    replacement with = no_symbols(g);
    for (uint32_t d = 0; d < n->rank; d++)
        replace_symbol(g, &with, v->end_lane[n->operand][d], n->at[d]);
    return grid_substitute(g, v->ends[n->operand], &with);
}
