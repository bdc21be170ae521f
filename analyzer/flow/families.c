/* Families of copies: a loop that starts a copy in each turn and waits for none leaves one for each value of a variable
 * that stands for the turn. A loop of waits ends it when the two have the same turns.
 */
#include "analyzer/flow/flight.h"

static tp_expr twin_of(const proof *x, tp_expr turn)
{
    uint32_t sym = (uint32_t)tp_expr_get(x->a->p, turn)->value, i = 0;
    while (i < x->f->vars.len && x->f->vars.at[i].sym != sym)
        i++;
    return i < x->f->vars.len ? x->twin[i] : (tp_expr){0};
}

/* Events of this kind among those of a span; loops that move data count as all kinds. */
uint32_t flight_count(const proof *x, flight_span s, tp_flow_event_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = s.from; i < s.to; i++)
        n += x->f->events.at[i].kind == kind || x->f->events.at[i].kind == TP_FLOW_LOOP;
    return n;
}

static tp_expr within(tp_exprs *p, tp_expr v, tp_expr count)
{
    return tp_and(p, tp_op2(p, TP_E_GE, v, tp_const(p, 0)), tp_op2(p, TP_E_LT, v, count));
}

/* The copies that the turns before number `before` start. */
static void add_families(proof *x, flight_span s, tp_expr turn, tp_expr before, fleet *into)
{
    tp_expr twin = twin_of(x, turn);
    for (uint32_t i = s.from; i < s.to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        fleet one = {0};
        if (e->kind != TP_FLOW_START)
            continue;
        tp_push(x->a->arena, one, ((flight){.guard = e->path, .event = *e}));
        fleet_add_moved(x, into, &one, (uint32_t)tp_expr_get(x->a->p, turn)->value, twin,
                        within(x->a->p, twin, before));
        into->at[into->len - 1].twin = twin;
    }
}

/* A loop that starts copies and waits for none. */
bool flight_start_family(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all)
{
    fleet now = fleet_copy(x, all), after = fleet_copy(x, all);
    add_families(x, s, turn, turn, &now);
    if (now.len > MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", NULL);
    if (!flight_run(x, s.from, s.to, &now))
        return false;
    add_families(x, s, turn, count, &after);
    *all = after;
    return true;
}

/* Of a wait in each turn, with the turns of a family: it ends this one of `all`, where that is the one in flight. */
static bool is_ended_by(proof *x, const flight *y, const tp_flow_event *e, tp_expr turn, tp_expr count, flight *in_turn)
{
    tp_exprs *p = x->a->p;
    fleet one = {0}, moved = {0};
    uint32_t n = tp_sym_count(p), twin = (uint32_t)tp_expr_get(p, y->twin)->value;
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    with[(uint32_t)tp_expr_get(p, turn)->value] = y->twin;
    tp_expr same_turns = tp_and(p, tp_expr_subst(p, e->path, with, n), within(p, y->twin, count));
    for (uint32_t d = 0; d < y->event.counter.rank; d++)
        if (tp_expr_mentions(p, y->event.counter.start[d], twin))
            return false;
    tp_push(x->a->arena, one, *y);
    fleet_add_moved(x, &moved, &one, twin, turn, tp_const(p, 1));
    *in_turn = moved.at[0];
    tp_expr given[] = {e->path, in_turn->guard};
    tp_expr same = tp_and(p, fleet_equal_places(x, &in_turn->event.counter, &e->counter),
                          tp_op2(p, TP_E_EQ, in_turn->event.bits, e->bits));
    if (!fleet_follows(x, &y->guard, 1, same_turns) || !fleet_follows(x, given, 2, same))
        return false;
    if (!x->naming || fleet_follows(x, given, 2, fleet_names_sides(x, &in_turn->event, e)))
        return true;
    *x->naming = true;
    return false;
}

/* The wait of each turn ends one family: of those on its counter at most one has copies, and that has one for each. */
static bool end_family(proof *x, fleet *all, const tp_flow_event *e, tp_expr turn, tp_expr count, bool *ended)
{
    tp_exprs *p = x->a->p;
    tp_expr any = tp_const(p, 0);
    bool mine[MOST_IN_FLIGHT] = {false};
    for (uint32_t i = 0; i < all->len; i++) {
        const flight *y = &all->at[i];
        flight in_turn;
        tp_expr given[] = {e->path, y->guard};
        if (y->event.counter.operand != e->counter.operand ||
            fleet_follows(x, given, 2, tp_op1(p, TP_E_NOT, fleet_equal_places(x, &y->event.counter, &e->counter))))
            continue;
        mine[i] = y->twin.id && !ended[i] && is_ended_by(x, y, e, turn, count, &in_turn);
        if (!mine[i] && x->guessing)
            continue;
        if (!mine[i])
            return fleet_fails(x, "that these waits end the copies of a loop, turn by turn, is not shown", e);
        any = tp_or(p, any, in_turn.guard);
        for (uint32_t k = 0; k < i && !x->guessing; k++)
            if (mine[k] && (all->at[k].twin.id == y->twin.id ||
                            !fleet_follows(x, (tp_expr[]){all->at[k].guard, y->guard}, 2, tp_const(p, 0))))
                return fleet_fails(x, "that the copies of one loop only are in flight here is not shown", e);
    }
    for (uint32_t i = 0; i < all->len; i++)
        ended[i] |= mine[i];
    return x->guessing || fleet_follows(x, &e->path, 1, any) ||
           fleet_fails(x, "that a copy is in flight here is not shown", e);
}

/* A loop that waits in each turn and starts nothing. */
bool flight_end_families(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all)
{
    bool ended[MOST_IN_FLIGHT] = {false};
    uint32_t kept = 0;
    for (uint32_t i = s.from; i < s.to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        if (e->kind != TP_FLOW_WAIT && !flight_step(x, e, all) &&
            !x->guessing) /* all are in flight up to the last wait */
            return false;
        if (e->kind != TP_FLOW_WAIT)
            continue;
        if (!e->exact || !e->counter.known || !e->place.known || !e->from.known)
            return fleet_fails(x, "whether this waits, for what and where depends on data", e);
        if (!end_family(x, all, e, turn, count, ended))
            return false;
    }
    for (uint32_t i = 0; i < all->len; i++)
        if (!ended[i])
            all->at[kept++] = all->at[i];
    all->len = kept;
    return true;
}

/* Is this a loop that starts copies and waits for none, or one of waits for what such a loop started? */
bool flight_of_families(const proof *x, flight_span s, tp_expr turn, tp_expr count, const fleet *all)
{
    uint32_t starts = flight_count(x, s, TP_FLOW_START), waits = flight_count(x, s, TP_FLOW_WAIT);
    bool any = false;
    for (uint32_t i = 0; i < all->len; i++)
        any |= all->at[i].twin.id != 0;
    for (uint32_t i = s.from; i < s.to; i++) { /* each of them would be said over another number */
        fleet one = {0};
        tp_push(x->a->arena, one, ((flight){.guard = x->f->events.at[i].path, .event = x->f->events.at[i]}));
        if (fleet_speaks_of_turn(x, &one, turn))
            return false;
    }
    return x->families && count.id && s.axis == x->a->k->naxes && twin_of(x, turn).id &&
           ((starts && !waits) || (waits && !starts && any));
}
