/* Elements of outputs after the whole grid: what the step that writes them last leaves. */
#include "analyzer/equality/grid.h"

static term with_folds_in(void *ctx, evaluation *of, term t)
{
    grid *g = ctx;
    if (!of || of == g->v)
        return with_folds(g, t);
    look_from(of);
    t = with_folds(phase_ends(of), t);
    look_from(g->v);
    return t;
}

/* Has it a value, or is it minus infinity? Maxima over no elements are looked at where they are met. */
static bool is_value_or_low(summary *s, term t)
{
    const term_node n = *term_get(s, t);
    if (n.plain)
        return true;
    if (n.kind == T_REAL)
        return n.real < 0; /* nor NaN */
    bool total = n.kind != T_APPLY || n.prim == TP_P_WHERE || n.prim == TP_P_CAST ||
                 tp_prim_info(n.prim)->domain.kind == TP_DOMAIN_REALS;
    for (int i = 0; i < 3 && n.arg[i].id && total; i++)
        total = is_value_or_low(s, n.arg[i]);
    if (total)
        return true;
    s->strict = true;
    bool defined = sum_is_defined(s, sum_of_term(s, t));
    s->strict = false;
    return defined;
}

/* Of what minus infinity hides, in every step. */
static void hidden_have_values(grid *g)
{
    summary *s = g->v->s;
    for (uint32_t i = 0; i < s->hidden.len; i++)
        if (!is_value_or_low(s, with_folds_in(g, s->hidden.at[i].of, s->hidden.at[i].term)))
            summary_stop(s, TP_S("infinity hides something that may be undefined"));
    s->hidden.len = 0;
}

/* And the lanes of the window that are elements of the array: the others are not copied out. */
static premises in_array(summary *s, const tp_operand *o, const tp_expr *lane, const premises *p)
{
    premises r = *p;
    for (uint32_t d = 0, to = 0; d < o->rank; d++)
        if (o->whole || o->dims[d].kind != TP_DIM_SQUEEZED) {
            tp_expr element = tp_op2(s->p, TP_E_ADD, tp_window_start(s->a, o, d), lane[to++]);
            r = premises_with(s, &r, tp_op2(s->p, TP_E_LT, element, o->shape[d]));
        }
    return r;
}

term output_element(evaluation *v, uint32_t operand, const tp_expr *at)
{
    summary *s = v->s;
    v = evaluation_of(v, operand);
    look_from(v);
    const tp_operand *o = &s->k->operands[operand];
    grid g = {.v = v, .forms = TP_NEWN(s->arena, form, tp_noperands(s->k))};
    static const premises nothing = {.n = 0};
    if (!v->final[operand])
        summary_stop(s, tp_printf(s->arena, "`%.*s` is never written", TP_FMT(o->name)));
    s->of_kernel = true;
    if (tp_begins_as_input(o)) {
        term whole = written_or_as_input(&g, operand, at);
        summary_fits(s, with_folds_in, &g);
        hidden_have_values(&g);
        s->of_kernel = false;
        return whole;
    }
    tp_expr own[TP_MAX_RANK];
    int64_t one;
    writer w = writer_of(s, o, at);
    for (uint32_t d = 0; d < o->ref_rank; d++)
        own[d] = tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1 ? tp_const(s->p, 0)
                                                                           : summary_index(s, "lane", o->ref_shape[d]);
    kept_or_set piece = {.holds = {0}};
    if (!tp_is_far(o)) /* a window, which goes out by steps of its own */
        writer_exists(s, o, &w);
    bool pieces = written_by_pieces(v, operand, own, &w, &piece);
    if (tp_is_far(o) && !pieces)
        writer_exists(s, o, &w);
    g.run = w.run;
    g.last = g.run < s->k->naxes;
    g.key = w.key;
    g.block = w.block;
    premises ends = w.key.id ? steps_of_key(&g, w.step[g.run]).ends : nothing;
    replacement last = no_symbols(&g);
    for (uint32_t a = 0; a < s->k->naxes; a++)
        if (a >= g.run || w.fixed[a])
            replace_symbol(&g, &last, axis_of(&g, a), w.step[a]);
    if (pieces)
        ends =
            premises_with(s, &nothing, condition_normal(s, tp_expr_subst(s->p, piece.holds, last.with, last.n), false));
    term t = term_decide(s, grid_substitute(&g, pieces ? piece.value : element_after(v, operand, own), &last), &ends);
    if (has_before(&g, t, operand)) {
        premises inside = in_array(s, o, own, &ends);
        t = decide_parts(s, t, &inside, 0);
    }
    if (has_before(&g, t, operand)) { /* it is its own accumulator */
        if (w.keeps)
            summary_stop(s,
                         tp_printf(s->arena, "a step adds to a block of `%.*s` that it does not set", TP_FMT(o->name)));
        const form *f = form_of(&g, operand);
        if (f->first != g.run || f->keyed != (g.key.id != 0))
            summary_stop(s, tp_printf(s->arena, "`%.*s` is not set in the first step on its block", TP_FMT(o->name)));
        if (!f->but_last)
            t = term_element(s, T_AFTER, operand, o->ref_rank, own);
    }
    t = with_folds(&g, t);
    summary_fits(s, with_folds_in, &g);
    hidden_have_values(&g);
    s->of_kernel = false;
    replacement here = no_symbols(&g);
    for (uint32_t d = 0; d < o->ref_rank; d++)
        replace_symbol(&g, &here, own[d], w.lane[d]);
    for (uint32_t a = 0; a < s->k->naxes; a++) /* how many steps there are may depend on axes before */
        replace_symbol(&g, &here, axis_of(&g, a), tp_expr_subst(s->p, w.step[a], here.with, here.n));
    t = grid_substitute(&g, t, &here);
    if (w.keeps)
        return written_or_kept(s, o, &w, at, t);
    if (w.key.id && term_speaks_of(s, t, (uint32_t)tp_expr_get(s->p, w.step[g.run])->value))
        summary_stop(s, tp_printf(s->arena, "the value of a block of `%.*s` depends on which step on it is the last",
                                  TP_FMT(o->name)));
    return t;
}
