/* A guess of what is in flight when a step or a turn begins: what it waits for and does not start itself, in its own
 * words. Of a loop in it the first turn tells, and behind a loop that waits nobody knows any more.
 */
#include "analyzer/flow/flight.h"

enum { ROOM = 64 };

typedef struct demand {
    proof *x;
    tp_expr *with; /* by symbol: what it is in the first turns, and in the next one of the turns that are asked for */
    uint32_t n;
    fleet started, waited;
} demand;

/* By their texts: the start is executed where the wait is, and of the same places. */
static bool is_started(demand *d, const flight *wait)
{
    tp_exprs *p = d->x->a->p;
    tp_expr parts[ROOM], start[ROOM];
    uint32_t n = tp_conjuncts(d->x->a, wait->guard, parts, ROOM);
    bool any = false;
    for (uint32_t i = 0; i < d->started.len && !any; i++) {
        uint32_t m = tp_conjuncts(d->x->a, d->started.at[i].guard, start, ROOM);
        any = tp_same(fleet_same_places(d->x, &d->started.at[i], wait), tp_const(p, 1));
        for (uint32_t k = 0; k < m && any; k++)
            any = tp_is_among(start[k], parts, n);
    }
    return any;
}

static void look(demand *d, uint32_t from, uint32_t to, tp_expr when)
{
    tp_exprs *p = d->x->a->p;
    for (uint32_t i = from; i < to; i++) {
        const tp_flow_event *e = &d->x->f->events.at[i];
        if (e->kind == TP_FLOW_LOOP &&
            flight_count(d->x, (flight_span){i + 1, flight_loop_end(d->x->f, i), 0}, TP_FLOW_WAIT)) {
            tp_expr *turn = &d->with[tp_expr_get(p, e->counter.start[0])->value];
            *turn = tp_const(p, 0);
            if (e->turns.id)
                when = tp_and(p, when, tp_op2(p, TP_E_GE, e->turns, tp_const(p, 1)));
            look(d, i + 1, flight_loop_end(d->x->f, i), when);
            *turn = (tp_expr){0};
            return;
        }
        if ((e->kind != TP_FLOW_START && e->kind != TP_FLOW_WAIT) || !e->bits.id || !e->place.known || !e->from.known ||
            !e->counter.known)
            continue;
        flight y = {.guard = tp_and(p, e->path, when), .event = *e};
        fleet_put(d->x, &y, d->with, d->n);
        y.event.path = y.guard;
        y.event.kind = TP_FLOW_START;
        if (e->kind == TP_FLOW_START)
            tp_push(d->x->a->arena, d->started, y);
        else if (!is_started(d, &y))
            tp_push(d->x->a->arena, d->waited, y);
    }
}

fleet fleet_demanded(proof *x, flight_span s, tp_expr turn, tp_expr count)
{
    tp_exprs *p = x->a->p;
    tp_expr when = count.id ? tp_op2(p, TP_E_LT, turn, count) : tp_const(p, 1);
    demand d = {.x = x, .n = tp_sym_count(p)};
    d.with = TP_NEWN(x->a->arena, tp_expr, d.n);
    d.with[tp_expr_get(p, turn)->value] = tp_op2(p, TP_E_ADD, turn, tp_const(p, 1));
    for (uint32_t i = s.axis; i < x->a->k->naxes; i++)
        d.with[x->a->k->axes[i].sym] = tp_const(p, 0);
    look(&d, s.from, s.to, when);
    fleet_drop_impossible(x, &d.waited);
    fleet_tidy(x, &d.waited);
    return d.waited;
}
