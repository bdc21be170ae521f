/* Loops that end when a test says so, after a number of turns that is not known. What such a loop leaves is what its
 * last turn makes of what that began with: symbols stand for the number of the last turn, and for what it began with in
 * integers that are no function of the turn (kept.c). Behind the loop this is known of them: either it was not entered,
 * or the test passed at the begin of that turn, and did not at its end. Of all numbers that agree with it one is the
 * last turn's; what is proven holds for each of them, and a case with another one may never be.
 *
 * Where the test compares what each turn takes on by the same number, the turns are counted.
 */
#include "analyzer/flow/internal.h"

static uint32_t symbol(const flow *f, tp_expr e)
{
    return (uint32_t)tp_expr_get(f->a->p, e)->value;
}

void flow_make_last(flow *f, const tp_statement *s)
{
    tp_expr e = flow_new_variable(f, "last", (tp_expr){0});
    f->out->vars.at[f->out->vars.len - 1].hi = tp_const(f->a->p, INT32_MAX);
    f->last[s->value] = e;
    tp_push(f->a->arena, f->out->lasts, symbol(f, e));
}

void flow_make_last_kept(flow *f, tp_kept *k)
{
    k->last_var = f->out->vars.len;
    k->last = flow_new_variable(f, "last", tp_const(f->a->p, 1));
    tp_push(f->a->arena, f->out->lasts, symbol(f, k->last));
    flow_set_range(f, k);
}

bool flow_speaks_of_last(const flow *f, tp_expr e)
{
    bool any = false;
    for (uint32_t i = 0; i < f->out->lasts.len && e.id && !any; i++)
        any = tp_expr_mentions(f->a->p, e, f->out->lasts.at[i]);
    return any;
}

tp_expr flow_without_last(flow *f, tp_expr guard)
{
    bool *marks = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    if (!flow_speaks_of_last(f, guard))
        return guard;
    for (uint32_t i = 0; i < f->out->lasts.len; i++)
        marks[f->out->lasts.at[i]] = true;
    return flow_forget(f, guard, marks);
}

static void retire(flow *f, uint32_t sym)
{
    bool *marks = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    marks[sym] = true;
    f->behind = flow_forget(f, f->behind, marks);
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        f->now.refs[o] = flow_retire(f, &f->now.refs[o], sym, 1);
    for (uint32_t v = 0; v < flow_nvalues(f); v++) {
        flow_value *x = &f->now.values[v];
        x->leaks = flow_retire(f, &x->leaks, sym, 1);
        if (x->meaning.id && tp_expr_mentions(f->a->p, x->meaning, sym))
            x->meaning = (tp_expr){0};
    }
}

void flow_retire_last(flow *f, const tp_statement *s)
{
    retire(f, symbol(f, f->last[s->value]));
    for (uint32_t i = f->nkept; i < f->out->kept.len; i++)
        if (f->out->kept.at[i].loop == s)
            retire(f, symbol(f, f->out->kept.at[i].last));
}

static tp_expr at_last(flow *f, const tp_statement *s, tp_expr counter, tp_expr e)
{
    tp_expr *with = flow_identity(f);
    with[symbol(f, counter)] = f->last[s->value];
    for (uint32_t i = f->nkept; i < f->out->kept.len; i++)
        if (f->out->kept.at[i].loop == s)
            with[symbol(f, f->out->kept.at[i].head)] = f->out->kept.at[i].last;
    return tp_expr_subst(f->a->p, e, with, tp_sym_count(f->a->p));
}

tp_expr flow_left_by_last(flow *f, const tp_statement *s, uint32_t v, tp_expr counter, tp_expr enters, tp_expr none)
{
    tp_expr left = f->now.values[v].meaning;
    if (!left.id || !none.id || flow_speaks_of_last(f, left))
        return (tp_expr){0};
    tp_expr e = tp_ite(f->a->p, enters, at_last(f, s, counter, left), none);
    return tp_expr_too_large(e) ? (tp_expr){0} : e;
}

tp_expr flow_last_known(flow *f, const tp_statement *s, tp_expr counter, tp_expr enters, flow_turn last)
{
    tp_expr all = flow_yes(f);
    if (!enters.id || flow_speaks_of_last(f, last.goes) || flow_speaks_of_last(f, last.again))
        return all;
    if (last.goes.id)
        all = flow_guard(f, at_last(f, s, counter, last.goes), false);
    if (last.again.id)
        all = flow_and(f, all, flow_guard(f, at_last(f, s, counter, last.again), true));
    return flow_or(f, flow_guard(f, enters, true), all);
}
