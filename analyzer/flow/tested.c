/* Copies in flight in loops that a test ends, after a number of turns that is not known (last.c). A turn but the first
 * finds what the one before it left, as the test passed then; so it is asked what a turn leaves where the test passes
 * again. What the loop leaves is what its last turn has in flight where the test does not, said over the symbols of
 * that turn. They stand for one execution: what is in flight when a step or a turn around begins may not speak of them.
 */
#include "analyzer/flow/flight.h"

enum { ROOM = 96 };

const tp_flow_turns *fleet_tested(const proof *x, tp_expr turn)
{
    for (uint32_t i = 0; i < x->f->turns.len; i++) {
        const tp_flow_turns *t = &x->f->turns.at[i];
        if (tp_same(t->counter, turn) && t->tested && !t->again)
            return t;
    }
    return NULL;
}

tp_expr fleet_known_behind(const proof *x, tp_expr turn)
{
    for (uint32_t i = 0; i < x->f->turns.len; i++)
        if (tp_same(x->f->turns.at[i].counter, turn))
            return x->f->turns.at[i].behind;
    const tp_kernel *k = x->a->k;
    bool step = k->naxes && tp_expr_get(x->a->p, turn)->value == (int64_t)k->axes[k->naxes - 1].sym;
    return step ? x->f->behind : (tp_expr){0};
}

fleet fleet_where(proof *x, const fleet *all, tp_expr condition)
{
    fleet some = {0};
    for (uint32_t i = 0; i < all->len; i++) {
        flight y = all->at[i];
        y.guard = tp_and(x->a->p, y.guard, condition);
        tp_push(x->a->arena, some, y);
    }
    return some;
}

void fleet_take_for_granted(proof *x, tp_expr condition, fleet *all)
{
    tp_expr parts[ROOM];
    for (uint32_t i = 0; i < all->len; i++) {
        tp_expr guard = tp_const(x->a->p, 1);
        uint32_t n = tp_conjuncts(x->a, all->at[i].guard, parts, ROOM);
        for (uint32_t k = 0; k < n; k++)
            if (!fleet_follows(x, &condition, 1, parts[k]))
                guard = tp_and(x->a->p, guard, parts[k]);
        all->at[i].guard = guard;
    }
}

void fleet_add_last(proof *x, const tp_flow_turns *loop, const fleet *before, const fleet *now, fleet *into)
{
    tp_exprs *p = x->a->p;
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    fleet last = fleet_where(x, now, tp_and(p, loop->goes, tp_op1(p, TP_E_NOT, loop->another))),
          none = fleet_where(x, before, tp_op1(p, TP_E_NOT, loop->enters));
    with[tp_expr_get(p, loop->counter)->value] = loop->last;
    for (uint32_t i = 0; i < x->f->kept.len; i++)
        if (x->f->kept.at[i].loop == loop->loop)
            with[tp_expr_get(p, x->f->kept.at[i].head)->value] = x->f->kept.at[i].last;
    for (uint32_t i = 0; i < last.len; i++) {
        fleet_put(x, &last.at[i], with, n);
        last.at[i].guard = tp_and(p, last.at[i].guard, loop->enters);
        tp_push(x->a->arena, *into, last.at[i]);
    }
    for (uint32_t i = 0; i < none.len; i++)
        tp_push(x->a->arena, *into, none.at[i]);
}

bool fleet_mentions_last(const proof *x, tp_expr e)
{
    bool any = false;
    for (uint32_t i = 0; i < x->f->lasts.len && e.id && !any; i++)
        any = tp_expr_mentions(x->a->p, e, x->f->lasts.at[i]);
    return any;
}

bool fleet_speaks_of_last(const proof *x, const fleet *all)
{
    bool any = false;
    for (uint32_t n = 0; n < all->len; n++)
        for (uint32_t i = 0; i < x->f->lasts.len && !any; i++)
            any = fleet_mentions(x, &all->at[n], x->f->lasts.at[i]);
    return any;
}
