/* What others write to a device, for any number of devices that count alike (ring.c), whose counts end at zero (TP502).
 *
 * A copy from another device may arrive at any time until this device has waited for it: how far the other one is, is
 * not known. It has arrived once this device is behind the last statement that counts on the element of the semaphore
 * on which it counts: all that is ever added there was taken off. Where the statements on it are in one loop, and each
 * turn has an element of its own, that is so at the end of the turn, else behind the last of them. So whatever this
 * device reads or writes before that place has to lie apart from where the copy arrives; what it does behind it is
 * after the copy. Two copies that arrive have to lie apart. What a device starts itself is followed as on one device.
 *
 * A device is reached once it has entered the kernel. If all counts on the barrier come before all that reaches
 * others, behind the last wait on it every device has got all signals; so who signals this device has entered.
 */
#include "analyzer/flow/flight.h"

enum { NONE = -1, MOST_ROUNDS = 3 };

typedef struct arrivals {
    proof *x;
    tp_exprs *p;
    const tp_flow *f;
    int32_t *around; /* by event: the innermost loop */
    tp_expr *away;   /* by symbol: of the sender and its turns */
    uint32_t naway;
} arrivals;

static tp_expr all_of(arrivals *w, tp_expr a, tp_expr b)
{
    return tp_op2(w->p, TP_E_AND, a, b);
}

static tp_expr sent(const arrivals *w, tp_expr e)
{
    return tp_expr_subst(w->p, e, w->away, w->naway);
}

static tp_expr turn_of(const arrivals *w, int32_t loop)
{
    return w->f->events.at[loop].counter.start[0];
}

/* When event number i happens. */
static tp_expr happens(arrivals *w, uint32_t i)
{
    tp_expr all = w->f->events.at[i].path;
    for (int32_t l = w->around[i]; l != NONE; l = w->around[l]) {
        tp_expr turn = turn_of(w, l);
        all = all_of(w, all,
                     all_of(w, tp_op2(w->p, TP_E_GE, turn, tp_const(w->p, 0)),
                            tp_op2(w->p, TP_E_LT, turn, w->f->events.at[l].bits)));
    }
    return all;
}

/* e with x % D, where x is known to be less than a few D and no less than 0, as choices. */
static tp_expr unrolled(arrivals *w, tp_expr given, tp_expr e)
{
    tp_exprs *p = w->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    if (!e.id || !n.a.id || n.op == TP_E_READ)
        return e;
    tp_expr a = unrolled(w, given, n.a), devices = w->x->a->k->axes[0].steps;
    if (n.op == TP_E_MOD && tp_same(tp_expr_normal(p, n.b), tp_expr_normal(p, devices)))
        for (int64_t k = 1; k <= MOST_ROUNDS; k++) {
            tp_expr end = tp_op2(p, TP_E_MUL, tp_const(p, k), devices);
            if (!fleet_follows(w->x, &given, 1,
                               all_of(w, tp_op2(p, TP_E_GE, a, tp_const(p, 0)), tp_op2(p, TP_E_LT, a, end))))
                continue;
            tp_expr out = tp_op2(p, TP_E_SUB, a, tp_op2(p, TP_E_MUL, tp_const(p, k - 1), devices));
            for (int64_t i = k - 1; i > 0; i--)
                out = tp_ite(p, tp_op2(p, TP_E_LT, a, tp_op2(p, TP_E_MUL, tp_const(p, i), devices)),
                             tp_op2(p, TP_E_SUB, a, tp_op2(p, TP_E_MUL, tp_const(p, i - 1), devices)), out);
            return out;
        }
    if (!n.b.id)
        return tp_op1(p, n.op, a);
    tp_expr b = unrolled(w, given, n.b);
    return n.c.id ? tp_ite(p, a, b, unrolled(w, given, n.c)) : tp_op2(p, n.op, a, b);
}

static tp_place unrolled_place(arrivals *w, tp_expr given, const tp_place *at)
{
    tp_place out = *at;
    for (uint32_t d = 0; d < at->rank && at->known; d++)
        out.start[d] = unrolled(w, given, at->start[d]);
    return out;
}

static tp_place sent_place(arrivals *w, uint32_t start)
{
    tp_place at = unrolled_place(w, happens(w, start), &w->f->events.at[start].place);
    for (uint32_t d = 0; d < at.rank && at.known; d++) {
        at.start[d] = sent(w, at.start[d]);
        at.size[d] = sent(w, at.size[d]);
    }
    return at;
}

bool flight_goes_away(const tp_flow *f, uint32_t i)
{
    return f->events.at[i].kind == TP_FLOW_START && f->events.at[i].there;
}

static tp_expr device_of(arrivals *w, uint32_t start)
{
    return unrolled(w, happens(w, start), w->f->events.at[start + 1].device);
}

static bool counts_on(const arrivals *w, uint32_t i, uint32_t operand)
{
    const tp_flow_event *e = &w->f->events.at[i];
    return (e->kind == TP_FLOW_START || e->kind == TP_FLOW_WAIT || e->kind == TP_FLOW_SIGNAL ||
            e->kind == TP_FLOW_AWAIT) &&
           e->counter.operand == operand;
}

/* Has each turn of the only loop an element of its own? */
static bool is_by_turn(const arrivals *w, uint32_t arrival)
{
    const tp_flow_event *e = &w->f->events.at[arrival];
    int32_t loop = w->around[arrival];
    if (loop == NONE || w->around[loop] != NONE || e->counter.rank != 1)
        return false;
    tp_expr at = tp_expr_normal(w->p, e->counter.start[0]), turn = turn_of(w, loop);
    bool own = !tp_expr_mentions(w->p, tp_expr_normal(w->p, tp_op2(w->p, TP_E_SUB, at, turn)),
                                 (uint32_t)tp_expr_get(w->p, turn)->value);
    for (uint32_t i = 0; i < w->f->events.len && own; i++)
        own = !counts_on(w, i, e->counter.operand) ||
              (w->around[i] == loop && tp_same(tp_expr_normal(w->p, w->f->events.at[i].counter.start[0]), at));
    return own;
}

/* When event number i is not behind the place where the arrival is known; of the turn of the sender and of this one. */
static tp_expr not_behind(arrivals *w, uint32_t arrival, uint32_t i)
{
    uint32_t last = 0, operand = w->f->events.at[arrival].counter.operand;
    for (uint32_t k = 0; k < w->f->events.len; k++)
        last = counts_on(w, k, operand) ? k : last;
    if (is_by_turn(w, arrival)) {
        uint32_t loop = (uint32_t)w->around[arrival];
        tp_expr turn = turn_of(w, (int32_t)loop);
        if (i < loop || i > flight_loop_end(w->f, loop))
            return tp_const(w->p, i < loop);
        return tp_op2(w->p, i > last ? TP_E_LT : TP_E_LE, turn, sent(w, turn));
    }
    for (int32_t l = w->around[last]; l != NONE; l = w->around[l])
        last = flight_loop_end(w->f, (uint32_t)l);
    return tp_const(w->p, i <= last);
}

static bool lie_apart(arrivals *w, uint32_t start, uint32_t i, const tp_place *there, const tp_place *here)
{
    tp_expr behind = not_behind(w, start + 1, i), when = happens(w, i);
    if (there->operand != here->operand)
        return true;
    tp_expr given[] = {when, sent(w, happens(w, start)), behind,
                       tp_op2(w->p, TP_E_EQ, tp_sym(w->p, w->x->a->k->axes[0].sym), sent(w, device_of(w, start)))};
    tp_place at = unrolled_place(w, when, here);
    return fleet_follows(w->x, given, 4, tp_places_apart(w->p, &at, there)) ||
           fleet_fails(w->x, "that this lies apart from what another device may write is not shown",
                       &w->f->events.at[i]);
}

/* All that this device does with the place where the copy arrives is behind that. */
static bool arrives_alone(arrivals *w, uint32_t start)
{
    tp_place there = sent_place(w, start);
    bool good = true;
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        bool two = e->kind == TP_FLOW_COPY || e->kind == TP_FLOW_START;
        if (two)
            good = lie_apart(w, start, i, &there, &e->from);
        if (good && (two || e->kind == TP_FLOW_READ || e->kind == TP_FLOW_WRITE) && !flight_goes_away(w->f, i))
            good = lie_apart(w, start, i, &there, &e->place);
    }
    return good;
}

/* What two starts, or two turns of one, send to one device. */
static bool arrive_apart(arrivals *w, uint32_t first, uint32_t second)
{
    const tp_flow_event *e = &w->f->events.at[second];
    tp_expr later = tp_const(w->p, 1);
    if (w->f->events.at[first].place.operand != e->place.operand)
        return true;
    if (first == second) {
        int32_t loop = w->around[second];
        if (loop == NONE)
            return true;
        if (w->around[loop] != NONE)
            return fleet_fails(w->x, "copies to another device in a loop of a loop", e);
        later = tp_op2(w->p, TP_E_LT, sent(w, turn_of(w, loop)), turn_of(w, loop));
    }
    tp_place there = sent_place(w, first), at = unrolled_place(w, happens(w, second), &e->place);
    tp_expr given[] = {happens(w, second), sent(w, happens(w, first)), later,
                       tp_op2(w->p, TP_E_EQ, device_of(w, second), sent(w, device_of(w, first)))};
    return fleet_follows(w->x, given, 4, tp_places_apart(w->p, &at, &there)) ||
           fleet_fails(w->x, "that what arrives lies apart from what else arrives is not shown", e);
}

/* Does some signal of the barrier come from the device that event number i reaches? */
static bool has_entered(arrivals *w, uint32_t i)
{
    const tp_kernel *k = w->x->a->k;
    tp_expr when = happens(w, i), d = tp_sym(w->p, k->axes[0].sym);
    tp_expr *with = TP_NEWN(w->x->a->arena, tp_expr, k->axes[0].sym + 1);
    bool found = false;
    with[k->axes[0].sym] = unrolled(w, when, w->f->events.at[i].device);
    for (uint32_t b = 0; b < w->f->events.len && !found; b++) {
        const tp_flow_event *e = &w->f->events.at[b];
        if (e->kind != TP_FLOW_SIGNAL || !e->there || k->operands[e->counter.operand].memory != TP_MEM_BARRIER)
            continue;
        tp_expr back = unrolled(w, tp_const(w->p, 1), e->device);
        found = fleet_follows(w->x, &when, 1,
                              tp_op2(w->p, TP_E_EQ, tp_expr_subst(w->p, back, with, k->axes[0].sym + 1), d));
    }
    return found || fleet_fails(w->x, "that the device that this reaches has entered the kernel is not shown",
                                &w->f->events.at[i]);
}

static bool are_entered(arrivals *w)
{
    const tp_kernel *k = w->x->a->k;
    bool any = tp_has_barrier(k);
    uint32_t last = 0;
    int64_t yes;
    for (uint32_t i = 0; i < w->f->events.len; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        if ((e->kind != TP_FLOW_SIGNAL && e->kind != TP_FLOW_AWAIT) ||
            k->operands[e->counter.operand].memory != TP_MEM_BARRIER)
            continue;
        if (w->around[i] != NONE || !tp_expr_is_const(w->p, tp_expr_normal(w->p, e->path), &yes) || !yes)
            return fleet_fails(w->x, "a barrier under a condition or in a loop", e);
        last = i;
    }
    for (uint32_t i = 0; any && i < w->f->events.len; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        if (e->kind != TP_FLOW_SIGNAL || !e->there || k->operands[e->counter.operand].memory == TP_MEM_BARRIER)
            continue;
        if (i < last || w->f->events.at[last].kind != TP_FLOW_AWAIT)
            return fleet_fails(w->x, "another device is reached before the last wait for the barrier", e);
        if (!has_entered(w, i))
            return false;
    }
    return true;
}

/* Names of the sender and its turns. */
static void name_senders(arrivals *w, tp_var *sender)
{
    tp_analysis *a = w->x->a;
    tp_expr e = tp_sym_new(w->p, TP_S("sender"));
    w->naway = tp_sym_count(w->p);
    w->away = TP_NEWN(a->arena, tp_expr, w->naway);
    w->away[a->k->axes[0].sym] = e;
    for (uint32_t i = 0; i < w->f->vars.len; i++)
        w->away[w->f->vars.at[i].sym] = w->x->twin[i];
    *sender = (tp_var){.sym = (uint32_t)tp_expr_get(w->p, e)->value,
                       .lo = tp_const(w->p, 0),
                       .hi = mk(a, TP_E_SUB, a->k->axes[0].steps, num(a, 1)),
                       .multiple_of = 1,
                       .step = true};
}

bool flight_arrivals(proof *x)
{
    arrivals w = {.x = x, .p = x->a->p, .f = x->f, .around = TP_NEWN(x->a->arena, int32_t, x->f->events.len + 1)};
    tp_var sender;
    int32_t loop = NONE;
    bool good = x->a->k->naxes == 1 || fleet_fails(x, "what devices write to each other in several steps", NULL);
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        if (x->f->events.at[i].kind == TP_FLOW_END)
            loop = w.around[loop];
        w.around[i] = loop;
        if (x->f->events.at[i].kind == TP_FLOW_LOOP)
            loop = (int32_t)i;
    }
    name_senders(&w, &sender);
    x->extra = &sender;
    x->nextra = 1;
    good = good && are_entered(&w);
    for (uint32_t i = 0; i < x->f->events.len && good; i++) {
        if (!flight_goes_away(x->f, i))
            continue;
        good = arrives_alone(&w, i);
        for (uint32_t k = 0; k <= i && good; k++)
            good = !flight_goes_away(x->f, k) || arrive_apart(&w, k, i);
    }
    x->nextra = 0;
    return good;
}
