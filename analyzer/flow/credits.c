/* When others may write to a device, by what semaphores count at each place of the body (tally.c), where all devices
 * count alike (ring.c) and every wait ends (TP502).
 *
 *   A copy starts after this. A sender took W units off a semaphore before the start, and each unit that it got there
 *   came from this device, of which S were signalled before the event i. If S < W, this device has signalled behind i
 *   when the copy starts: so i was before it. If i is the start of a copy of this device, that one is over, too, where
 *   each time that this device signals all such copies are waited for.
 *
 *   It has arrived before that. Let copies of one sender alone count on a semaphore, and let behind each wait there all
 *   copies start of which the sum up to them is more than what was taken so far. Then what was taken at a wait is all
 *   that can have come, so the copies up to that sum have arrived.
 *
 * All sums are of one device, for any step and turn; those of another device are the same, at its step and turn.
 */
#include "analyzer/flow/arrivals.h"

static bool gives(const tp_flow_event *e)
{
    return e->kind == TP_FLOW_START || e->kind == TP_FLOW_SIGNAL;
}

static bool takes(const tp_flow_event *e)
{
    return e->kind == TP_FLOW_WAIT || e->kind == TP_FLOW_AWAIT;
}

static bool is_on(const arrivals *w, uint32_t i, uint32_t operand)
{
    const tp_flow_event *e = &w->f->events.at[i];
    return (gives(e) || takes(e)) && e->counter.operand == operand;
}

/* It is there for the whole kernel, and something that counts is known to count something. */
static bool may_be_summed(arrivals *w, uint32_t operand)
{
    const tp_expr yes = tp_const(w->p, 1);
    bool any = false, good = true;
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        good = e->kind != TP_FLOW_LEAVE || !tp_in_scope(e->scope, operand);
        if (!is_on(w, i, operand))
            continue;
        any = true;
        good = good && e->bits.id && fleet_follows(w->x, &yes, 1, tp_op2(w->p, TP_E_GE, e->bits, yes));
    }
    return any && good;
}

void arrivals_sum(arrivals *w)
{
    uint32_t n = tp_noperands(w->x->a->k);
    w->sums = TP_NEWN(w->x->a->arena, flight_sums, n);
    w->summed = TP_NEWN(w->x->a->arena, bool, n);
    w->exact = TP_NEWN(w->x->a->arena, bool, n);
    w->grants = TP_NEWN(w->x->a->arena, int8_t, n * (w->f->events.len + 1));
    w->quiet = TP_NEWN(w->x->a->arena, int8_t, n * n);
    for (uint32_t i = 0; i < n; i++) {
        proof own = *w->x;
        own.questions = 0;
        w->summed[i] =
            tp_is_semaphore(&w->x->a->k->operands[i]) && may_be_summed(w, i) && flight_sum(&own, i, &w->sums[i]);
        w->x->grade = own.grade;
        w->x->basis = own.basis;
    }
}

/* ---- sums of parties ---- */

/* The sum, of one element of the semaphore, where the party is. */
static tp_expr sum_of(arrivals *w, const party *by, uint32_t operand, tp_expr sum, const tp_place *counter)
{
    uint32_t n = tp_sym_count(w->p);
    tp_expr *with = TP_NEWN(w->x->a->arena, tp_expr, n);
    if (by)
        memcpy(with, by->with, by->n * sizeof *with);
    for (uint32_t d = 0; d < counter->rank; d++)
        with[tp_expr_get(w->p, w->sums[operand].element[d])->value] = counter->start[d];
    return tp_expr_subst(w->p, sum, with, n);
}

/* With what event number i counts there. */
static tp_expr with_it(arrivals *w, const party *by, uint32_t i, tp_expr sum)
{
    const tp_flow_event *e = &w->f->events.at[i];
    bool units = w->sums[e->counter.operand].units;
    return tp_op2(w->p, TP_E_ADD, sum, units ? tp_const(w->p, 1) : of_party(w, by, e->bits));
}

/* What is added up to the copy, on the element where it counts, by a sender. */
static tp_expr added_up_to(arrivals *w, uint32_t start, const party *sender)
{
    const tp_flow_event *e = &w->f->events.at[start + 1];
    tp_place at = arrivals_place_of(w, sender, &e->counter);
    return with_it(w, sender, start + 1,
                   sum_of(w, sender, e->counter.operand, w->sums[e->counter.operand].added[start + 1], &at));
}

/* What this device has taken before event number i, of the element where that copy counts. */
static tp_expr taken_before(arrivals *w, uint32_t i, uint32_t start, const party *sender)
{
    const tp_flow_event *e = &w->f->events.at[start + 1];
    tp_place at = arrivals_place_of(w, sender, &e->counter);
    return sum_of(w, NULL, e->counter.operand, w->sums[e->counter.operand].taken[i], &at);
}

static tp_expr same_counter(arrivals *w, uint32_t wait, uint32_t start, const party *sender)
{
    tp_place at = arrivals_place_of(w, sender, &w->f->events.at[start + 1].counter);
    return fleet_equal_places(w->x, &w->f->events.at[wait].counter, &at);
}

/* It is sent to this device. */
static tp_expr comes_here(arrivals *w, uint32_t start, const party *sender)
{
    tp_expr here = arrivals_same_device(w, arrivals_device(w, start, sender), arrivals_coordinates(w, NULL));
    return all_of(w, of_party(w, sender, arrivals_happens(w, start)), here);
}

/* ---- it starts after this ---- */

/* Does each unit that the sender of the copy gets on that semaphore come from this device? */
static bool find_grant(arrivals *w, uint32_t start, uint32_t operand)
{
    bool any = false, good = w->summed[operand];
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        if (!is_on(w, i, operand) || !gives(e))
            continue;
        any = true;
        good = e->kind == TP_FLOW_SIGNAL && e->there;
        if (!good)
            break;
        tp_expr given[] = {arrivals_happens(w, i), comes_here(w, start, &w->one)};
        tp_expr to = arrivals_same_device(w, e->device, arrivals_coordinates(w, &w->one));
        good = fleet_follows(w->x, given, 2, to);
    }
    return any && good;
}

static bool grants(arrivals *w, uint32_t start, uint32_t operand)
{
    int8_t *known = &w->grants[start * tp_noperands(w->x->a->k) + operand];
    if (!*known)
        *known = find_grant(w, start, operand) ? 1 : -1;
    return *known > 0;
}

/* Is all that copies of this device count on semaphore `copies` taken off whenever it signals on `operand`? */
static bool find_quiet(arrivals *w, uint32_t copies, uint32_t operand)
{
    enum { ROOM = 2 * TP_MAX_AXES + TP_MAX_RANK };
    const tp_operand *o = &w->x->a->k->operands[copies];
    tp_var vars[ROOM];
    const tp_var *outer = w->x->extra;
    uint32_t n = w->x->nextra;
    bool good = w->summed[copies];
    memcpy(vars, outer, n * sizeof *vars);
    for (uint32_t d = 0; d < o->ref_rank && good; d++)
        vars[n + d] = fleet_element(w->x, copies, d, w->sums[copies].element[d]);
    w->x->extra = vars;
    w->x->nextra = n + o->ref_rank;
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        if (is_on(w, i, copies))
            good = !e->there || e->kind == TP_FLOW_START;
        if (good && is_on(w, i, operand) && gives(e))
            good = flight_follows(w->x, arrivals_happens(w, i),
                                  tp_op2(w->p, TP_E_EQ, w->sums[copies].added[i], w->sums[copies].taken[i]));
    }
    w->x->extra = outer;
    w->x->nextra = n;
    return good;
}

static bool is_quiet(arrivals *w, uint32_t copies, uint32_t operand)
{
    int8_t *known = &w->quiet[copies * tp_noperands(w->x->a->k) + operand];
    if (!*known)
        *known = find_quiet(w, copies, operand) ? 1 : -1;
    return *known > 0;
}

/* Is event number i in no loop that is not around event number k? */
static bool is_around(const arrivals *w, uint32_t i, uint32_t k)
{
    int32_t l = w->around[k];
    while (l != w->around[i] && l != NO_LOOP)
        l = w->around[l];
    return l == w->around[i];
}

tp_expr arrivals_starts_after(arrivals *w, uint32_t start, const party *sender, uint32_t i)
{
    const tp_flow_event *e = &w->f->events.at[i];
    tp_expr any = no_way(w);
    for (uint32_t k = 0; k < start && w->sums; k++) {
        const tp_flow_event *take = &w->f->events.at[k];
        uint32_t on = take->counter.operand;
        if (!takes(take) || !is_around(w, k, start) || !grants(w, start, on) ||
            (e->kind == TP_FLOW_START && !is_quiet(w, e->counter.operand, on)))
            continue;
        tp_place at = arrivals_place_of(w, sender, &take->counter);
        tp_expr granted = sum_of(w, NULL, on, w->sums[on].added[i], &at),
                taken = sum_of(w, sender, on, w->sums[on].taken[start], &at);
        any = any_of(w, any, tp_op2(w->p, TP_E_LT, granted, taken));
    }
    return any;
}

/* ---- it has arrived before that ---- */

/* All that counts there are copies of others. */
static bool counts_arrivals(arrivals *w, uint32_t operand)
{
    bool any = false, good = w->summed[operand];
    for (uint32_t i = 0; i < w->f->events.len && good; i++)
        if (is_on(w, i, operand) && gives(&w->f->events.at[i]))
            any |= good = i && w->f->events.at[i].kind == TP_FLOW_SIGNAL && flight_goes_away(w->f, i - 1);
    return any && good;
}

static bool arrives_on(const arrivals *w, uint32_t start, uint32_t operand)
{
    return flight_goes_away(w->f, start) && w->f->events.at[start + 1].counter.operand == operand;
}

static bool is_of_one_sender(arrivals *w, uint32_t operand)
{
    tp_expr same = arrivals_same_device(w, arrivals_coordinates(w, &w->one), arrivals_coordinates(w, &w->two));
    bool good = true;
    for (uint32_t i = 0; i < w->f->events.len && good; i++)
        for (uint32_t k = 0; k <= i && arrives_on(w, i, operand) && good; k++) {
            tp_expr given[] = {comes_here(w, i, &w->one), arrives_on(w, k, operand) ? comes_here(w, k, &w->two) : same};
            good = !arrives_on(w, k, operand) || fleet_follows(w->x, given, 2, same);
        }
    return good;
}

/* Behind the wait start all copies of which the sum up to them is more than what was taken. */
static bool is_exact_at(arrivals *w, uint32_t wait, uint32_t operand)
{
    bool good = true;
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        if (!arrives_on(w, i, operand))
            continue;
        tp_expr taken = with_it(w, NULL, wait, taken_before(w, wait, i, &w->one));
        tp_expr given = all_of(
            w, all_of(w, arrivals_happens(w, wait), comes_here(w, i, &w->one)),
            all_of(w, same_counter(w, wait, i, &w->one), tp_op2(w->p, TP_E_GT, added_up_to(w, i, &w->one), taken)));
        good = fleet_follows(w->x, &given, 1, arrivals_starts_after(w, i, &w->one, wait));
    }
    return good;
}

void arrivals_find_exact(arrivals *w)
{
    for (uint32_t o = 0; o < tp_noperands(w->x->a->k); o++) {
        bool good = counts_arrivals(w, o) && is_of_one_sender(w, o);
        for (uint32_t i = 0; i < w->f->events.len && good; i++)
            good = !is_on(w, i, o) || !takes(&w->f->events.at[i]) || is_exact_at(w, i, o);
        w->exact[o] = good;
    }
}

tp_expr arrivals_has_arrived(arrivals *w, uint32_t start, const party *sender, uint32_t i)
{
    if (!w->sums || !w->exact[w->f->events.at[start + 1].counter.operand])
        return no_way(w);
    return tp_op2(w->p, TP_E_GE, taken_before(w, i, start, sender), added_up_to(w, start, sender));
}

/* ---- one after the other ---- */

bool arrivals_in_turn(arrivals *w, uint32_t first, uint32_t second)
{
    uint32_t on = w->f->events.at[first + 1].counter.operand;
    tp_expr both = all_of(w, comes_here(w, first, &w->one), comes_here(w, second, &w->two));
    tp_expr one = arrivals_same_device(w, arrivals_coordinates(w, &w->one), arrivals_coordinates(w, &w->two));
    tp_place here = arrivals_place(w, arrivals_happens(w, first), &w->f->events.at[first].place),
             there = arrivals_place(w, arrivals_happens(w, second), &w->f->events.at[second].place);
    here = arrivals_place_of(w, &w->one, &here);
    there = arrivals_place_of(w, &w->two, &there);
    tp_expr apart = tp_places_apart(w->p, &here, &there);
    tp_expr others[] = {both, tp_op1(w->p, TP_E_NOT, one)};
    bool good = w->exact[on] && fleet_follows(w->x, others, 2, apart);
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        if (!is_on(w, i, on) || !takes(&w->f->events.at[i]))
            continue;
        tp_expr before = taken_before(w, i, first, &w->one), sum = added_up_to(w, first, &w->one);
        tp_expr given[] = {both,
                           one,
                           arrivals_precedes(w, first, &w->one, second, &w->two),
                           arrivals_happens(w, i),
                           same_counter(w, i, first, &w->one),
                           tp_op2(w->p, TP_E_LT, before, sum),
                           tp_op2(w->p, TP_E_GE, with_it(w, NULL, i, before), sum)};
        good = fleet_follows(w->x, given, sizeof given / sizeof *given,
                             any_of(w, apart, arrivals_starts_after(w, second, &w->two, i)));
    }
    return good;
}
