/* What others write to a device, for any number of devices that count alike (ring.c), whose counts end at zero (TP502).
 *
 * A copy from another device may arrive at any time until this device has waited for it: how far the other one is, is
 * not known. It has arrived once this device is behind the last statement that counts on the element of the semaphore
 * on which it counts: all that is ever added there was taken off. Where the statements on it are in one loop, and each
 * turn has an element of its own, that is so at the end of the turn, else behind the last of them. So whatever this
 * device reads or writes before that place has to lie apart from where the copy arrives; what it does behind it is
 * after the copy. Two copies that arrive have to lie apart. What a device starts itself is followed as on one device.
 * Where that is not enough, what semaphores count at each place tells which copy starts after what, and which has
 * arrived (credits.c).
 *
 * A device is reached once it has entered the kernel. If all counts on the barrier come before all that reaches
 * others, behind the last wait on it every device has got all signals; so who signals this device has entered.
 */
#include "analyzer/flow/arrivals.h"

enum { MOST_ROUNDS = 3 };

static uint32_t mesh_rank(const arrivals *w)
{
    return tp_mesh_rank(w->x->a->k);
}

tp_coordinates arrivals_coordinates(const arrivals *w, const party *by)
{
    tp_coordinates out = {0};
    for (uint32_t i = 0; i < mesh_rank(w); i++)
        out.at[i] = of_party(w, by, tp_sym(w->p, w->x->a->k->axes[i].sym));
    return out;
}

tp_expr arrivals_same_device(const arrivals *w, tp_coordinates a, tp_coordinates b)
{
    tp_expr all = tp_const(w->p, 1);
    for (uint32_t i = 0; i < mesh_rank(w); i++)
        all = tp_op2(w->p, TP_E_AND, all, tp_op2(w->p, TP_E_EQ, a.at[i], b.at[i]));
    return all;
}

tp_expr arrivals_turn_of(const arrivals *w, int32_t loop)
{
    return w->f->events.at[loop].counter.start[0];
}

tp_expr arrivals_happens(arrivals *w, uint32_t i)
{
    tp_expr all = w->f->events.at[i].path;
    for (int32_t l = w->around[i]; l != NO_LOOP; l = w->around[l]) {
        tp_expr turn = arrivals_turn_of(w, l), count = w->f->events.at[l].bits;
        all = all_of(w, all, tp_op2(w->p, TP_E_GE, turn, tp_const(w->p, 0)));
        if (count.id) /* else an event there is not exact */
            all = all_of(w, all, tp_op2(w->p, TP_E_LT, turn, count));
    }
    return all;
}

/* The loops around an event, the outermost first; their number. */
static uint32_t loops_around(const arrivals *w, uint32_t i, int32_t *out)
{
    uint32_t n = 0;
    for (int32_t l = w->around[i]; l != NO_LOOP; l = w->around[l])
        out[n++] = l;
    for (uint32_t k = 0; k < n / 2; k++) {
        int32_t l = out[k];
        out[k] = out[n - 1 - k];
        out[n - 1 - k] = l;
    }
    return n;
}

/* less := less, or so far the same and a < b. */
static void compare_next(arrivals *w, tp_expr *less, tp_expr *same, tp_expr a, tp_expr b)
{
    *less = any_of(w, *less, all_of(w, *same, tp_op2(w->p, TP_E_LT, a, b)));
    *same = all_of(w, *same, tp_op2(w->p, TP_E_EQ, a, b));
}

tp_expr arrivals_precedes(arrivals *w, uint32_t i, const party *by, uint32_t k, const party *other)
{
    const tp_kernel *kernel = w->x->a->k;
    int32_t *mine = TP_NEWN(w->x->a->arena, int32_t, w->f->events.len + 1),
            *theirs = TP_NEWN(w->x->a->arena, int32_t, w->f->events.len + 1);
    uint32_t n = loops_around(w, i, mine), m = loops_around(w, k, theirs);
    tp_expr less = no_way(w), same = tp_const(w->p, 1);
    for (uint32_t x = mesh_rank(w); x < kernel->naxes; x++) {
        tp_expr at = tp_sym(w->p, kernel->axes[x].sym);
        compare_next(w, &less, &same, of_party(w, by, at), of_party(w, other, at));
    }
    for (uint32_t l = 0; l < n && l < m && mine[l] == theirs[l]; l++) {
        tp_expr turn = arrivals_turn_of(w, mine[l]);
        compare_next(w, &less, &same, of_party(w, by, turn), of_party(w, other, turn));
    }
    return i < k ? any_of(w, less, same) : less;
}

static bool is_extent(const arrivals *w, tp_expr e)
{
    bool is = false;
    for (uint32_t i = 0; i < mesh_rank(w); i++)
        is |= tp_same(tp_expr_normal(w->p, e), tp_expr_normal(w->p, w->x->a->k->axes[i].steps));
    return is;
}

/* a % D or a // D, where a is less than (rounds + 1) D and no less than rounds * D. */
static tp_expr in_round(const arrivals *w, tp_expr_op op, tp_expr a, tp_expr devices, int64_t rounds)
{
    tp_expr n = tp_const(w->p, rounds);
    return op == TP_E_MOD ? tp_op2(w->p, TP_E_SUB, a, tp_op2(w->p, TP_E_MUL, n, devices)) : n;
}

static tp_expr unrolled(arrivals *w, tp_expr given, tp_expr e);

/* a % D or a // D, D the extent of an axis of devices, as a choice by a's multiple of D; no id: a is not known to be
 * less than a few D and no less than 0. */
static tp_expr as_choice(arrivals *w, tp_expr given, tp_expr_op op, tp_expr a, tp_expr devices)
{
    tp_exprs *p = w->p;
    for (int64_t k = 1; k <= MOST_ROUNDS; k++) {
        tp_expr end = tp_op2(p, TP_E_MUL, tp_const(p, k), devices);
        if (!fleet_follows(w->x, &given, 1,
                           all_of(w, tp_op2(p, TP_E_GE, a, tp_const(p, 0)), tp_op2(p, TP_E_LT, a, end))))
            continue;
        tp_expr out = in_round(w, op, a, devices, k - 1);
        for (int64_t i = k - 1; i > 0; i--)
            out = tp_ite(p, tp_op2(p, TP_E_LT, a, tp_op2(p, TP_E_MUL, tp_const(p, i), devices)),
                         in_round(w, op, a, devices, i - 1), out);
        return out;
    }
    return (tp_expr){0};
}

static tp_expr unroll(arrivals *w, tp_expr given, tp_expr e)
{
    tp_exprs *p = w->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    tp_expr a = unrolled(w, given, n.a), choice = {0};
    if ((n.op == TP_E_MOD || n.op == TP_E_FLOORDIV) && is_extent(w, n.b))
        choice = as_choice(w, given, n.op, a, n.b);
    if (choice.id)
        return choice;
    tp_expr b = n.b.id ? unrolled(w, given, n.b) : n.b;
    return tp_expr_rebuild(p, &n, a, b, n.c.id ? unrolled(w, given, n.c) : n.c);
}

/* e with x % D and x // D as choices. */
static tp_expr unrolled(arrivals *w, tp_expr given, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(w->p, e);
    if (!e.id || !n->a.id || n->op == TP_E_READ)
        return e;
    for (size_t i = 0; i < w->unrolled.len; i++)
        if (tp_same(w->unrolled.at[i].given, given) && tp_same(w->unrolled.at[i].e, e))
            return w->unrolled.at[i].choices;
    tp_expr out = unroll(w, given, e);
    tp_push(w->x->a->arena, w->unrolled, ((unrolling){given, e, out}));
    return out;
}

tp_place arrivals_place(arrivals *w, tp_expr given, const tp_place *at)
{
    tp_place out = *at;
    for (uint32_t d = 0; d < at->rank && at->known; d++)
        out.start[d] = unrolled(w, given, at->start[d]);
    return out;
}

tp_place arrivals_place_of(const arrivals *w, const party *by, const tp_place *at)
{
    tp_place out = *at;
    for (uint32_t d = 0; d < at->rank && at->known; d++) {
        out.start[d] = of_party(w, by, at->start[d]);
        out.size[d] = of_party(w, by, at->size[d]);
    }
    return out;
}

static tp_place sent_place(arrivals *w, uint32_t start)
{
    tp_place at = arrivals_place(w, arrivals_happens(w, start), &w->f->events.at[start].place);
    return arrivals_place_of(w, &w->one, &at);
}

bool flight_goes_away(const tp_flow *f, uint32_t i)
{
    return f->events.at[i].kind == TP_FLOW_START && f->events.at[i].there;
}

tp_coordinates arrivals_device(arrivals *w, uint32_t start, const party *by)
{
    tp_coordinates out = {0};
    for (uint32_t i = 0; i < mesh_rank(w); i++)
        out.at[i] = of_party(w, by, unrolled(w, arrivals_happens(w, start), w->f->events.at[start + 1].device.at[i]));
    return out;
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
    if (loop == NO_LOOP || w->around[loop] != NO_LOOP || e->counter.rank != 1)
        return false;
    tp_expr at = tp_expr_normal(w->p, e->counter.start[0]), turn = arrivals_turn_of(w, loop);
    bool own = !tp_expr_mentions(w->p, tp_expr_normal(w->p, tp_op2(w->p, TP_E_SUB, at, turn)),
                                 (uint32_t)tp_expr_get(w->p, turn)->value);
    for (uint32_t i = 0; i < w->f->events.len && own; i++)
        own = !counts_on(w, i, e->counter.operand) ||
              (w->around[i] == loop && tp_same(tp_expr_normal(w->p, w->f->events.at[i].counter.start[0]), at));
    return own;
}

/* Of several steps nothing is known so. */
tp_expr arrivals_not_behind(arrivals *w, uint32_t arrival, uint32_t i, const party *sender)
{
    uint32_t last = 0, operand = w->f->events.at[arrival].counter.operand;
    if (w->x->a->k->naxes > mesh_rank(w))
        return tp_const(w->p, 1);
    for (uint32_t k = 0; k < w->f->events.len; k++)
        last = counts_on(w, k, operand) ? k : last;
    if (is_by_turn(w, arrival)) {
        uint32_t loop = (uint32_t)w->around[arrival];
        tp_expr turn = arrivals_turn_of(w, (int32_t)loop);
        if (i < loop || i > flight_loop_end(w->f, loop))
            return tp_const(w->p, i < loop);
        return tp_op2(w->p, i > last ? TP_E_LT : TP_E_LE, turn, of_party(w, sender, turn));
    }
    for (int32_t l = w->around[last]; l != NO_LOOP; l = w->around[l])
        last = flight_loop_end(w->f, (uint32_t)l);
    return tp_const(w->p, i <= last);
}

static bool lie_apart(arrivals *w, uint32_t start, uint32_t i, const tp_place *there, const tp_place *here)
{
    if (there->operand != here->operand)
        return true;
    tp_expr behind = arrivals_not_behind(w, start + 1, i, &w->one), when = arrivals_happens(w, i);
    tp_expr given[] = {when, of_party(w, &w->one, arrivals_happens(w, start)), behind,
                       arrivals_same_device(w, arrivals_coordinates(w, NULL), arrivals_device(w, start, &w->one))};
    tp_place at = arrivals_place(w, when, here);
    tp_expr apart = tp_places_apart(w->p, &at, there);
    tp_expr in_order =
        any_of(w, arrivals_starts_after(w, start, &w->one, i), arrivals_has_arrived(w, start, &w->one, i));
    return fleet_follows(w->x, given, 4, apart) ||
           (w->sums && fleet_follows(w->x, given, 4, any_of(w, apart, in_order))) ||
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
    tp_expr later = first == second ? arrivals_precedes(w, first, &w->one, second, NULL) : tp_const(w->p, 1);
    if (w->f->events.at[first].place.operand != e->place.operand)
        return true;
    tp_place there = sent_place(w, first), at = arrivals_place(w, arrivals_happens(w, second), &e->place);
    tp_expr given[] = {arrivals_happens(w, second), of_party(w, &w->one, arrivals_happens(w, first)), later,
                       arrivals_same_device(w, arrivals_device(w, second, NULL), arrivals_device(w, first, &w->one))};
    return fleet_follows(w->x, given, 4, tp_places_apart(w->p, &at, &there)) ||
           (w->sums && arrivals_in_turn(w, first, second) && arrivals_in_turn(w, second, first)) ||
           fleet_fails(w->x, "that what arrives lies apart from what else arrives is not shown", e);
}

/* Does some signal of the barrier come from the device that event number i reaches? */
static bool has_entered(arrivals *w, uint32_t i)
{
    const tp_kernel *k = w->x->a->k;
    tp_expr when = arrivals_happens(w, i);
    uint32_t n = tp_sym_count(w->p);
    tp_expr *with = TP_NEWN(w->x->a->arena, tp_expr, n);
    bool found = false;
    for (uint32_t x = 0; x < mesh_rank(w); x++)
        with[k->axes[x].sym] = unrolled(w, when, w->f->events.at[i].device.at[x]);
    for (uint32_t b = 0; b < w->f->events.len && !found; b++) {
        const tp_flow_event *e = &w->f->events.at[b];
        if (e->kind != TP_FLOW_SIGNAL || !e->there || k->operands[e->counter.operand].memory != TP_MEM_BARRIER)
            continue;
        tp_coordinates back = {0};
        for (uint32_t x = 0; x < mesh_rank(w); x++)
            back.at[x] = tp_expr_subst(w->p, unrolled(w, tp_const(w->p, 1), e->device.at[x]), with, n);
        found = fleet_follows(w->x, &when, 1, arrivals_same_device(w, back, arrivals_coordinates(w, NULL)));
    }
    return found || fleet_fails(w->x, "that the device that this reaches has entered the kernel is not shown",
                                &w->f->events.at[i]);
}

/* Once, in the first step. */
static bool is_at_begin(arrivals *w, uint32_t i)
{
    const tp_kernel *k = w->x->a->k;
    tp_expr first = tp_const(w->p, 1), path = w->f->events.at[i].path;
    for (uint32_t x = mesh_rank(w); x < k->naxes; x++)
        first = all_of(w, first, tp_op2(w->p, TP_E_EQ, tp_sym(w->p, k->axes[x].sym), tp_const(w->p, 0)));
    return w->around[i] == NO_LOOP && fleet_follows(w->x, &path, 1, first) && fleet_follows(w->x, &first, 1, path);
}

static bool are_entered(arrivals *w)
{
    const tp_kernel *k = w->x->a->k;
    bool any = tp_has_barrier(k);
    uint32_t last = 0;
    for (uint32_t i = 0; i < w->f->events.len; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        if ((e->kind != TP_FLOW_SIGNAL && e->kind != TP_FLOW_AWAIT) ||
            k->operands[e->counter.operand].memory != TP_MEM_BARRIER)
            continue;
        if (!is_at_begin(w, i))
            return fleet_fails(w->x, "a barrier under a condition, in a loop or in several steps", e);
        last = i;
    }
    for (uint32_t i = 0; any && i < w->f->events.len; i++) {
        const tp_flow_event *e = &w->f->events.at[i];
        if (e->kind != TP_FLOW_SIGNAL || !e->there || k->operands[e->counter.operand].memory == TP_MEM_BARRIER)
            continue;
        tp_expr early[] = {arrivals_happens(w, i), w->f->events.at[last].path};
        if (w->f->events.at[last].kind != TP_FLOW_AWAIT || (i < last && !fleet_follows(w->x, early, 2, no_way(w))))
            return fleet_fails(w->x, "another device is reached before the last wait for the barrier", e);
        if (!has_entered(w, i))
            return false;
    }
    return true;
}

/* Names for the device, the step and the turns of a sender. */
static party name_sender(arrivals *w, const char *what, const tp_expr *turns, tp_var *out, uint32_t *nout)
{
    tp_analysis *a = w->x->a;
    tp_expr axes[TP_MAX_AXES];
    for (uint32_t i = 0; i < a->k->naxes; i++) {
        axes[i] = tp_sym_new(w->p, tp_printf(a->arena, "%s%u", what, i));
        out[(*nout)++] = (tp_var){.sym = (uint32_t)tp_expr_get(w->p, axes[i])->value,
                                  .lo = tp_const(w->p, 0),
                                  .hi = mk(a, TP_E_SUB, a->k->axes[i].steps, num(a, 1)),
                                  .multiple_of = 1,
                                  .step = true};
    }
    party by = {.n = tp_sym_count(w->p)};
    by.with = TP_NEWN(a->arena, tp_expr, by.n);
    for (uint32_t i = 0; i < a->k->naxes; i++)
        by.with[a->k->axes[i].sym] = axes[i];
    for (uint32_t i = 0; i < w->f->vars.len; i++)
        by.with[w->f->vars.at[i].sym] = turns[i];
    return by;
}

void arrivals_begin(arrivals *w, proof *x, bool sums)
{
    int32_t loop = NO_LOOP;
    tp_var *vars = TP_NEWN(x->a->arena, tp_var, 2 * TP_MAX_AXES);
    *w = (arrivals){.x = x, .p = x->a->p, .f = x->f, .around = TP_NEWN(x->a->arena, int32_t, x->f->events.len + 1)};
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        if (x->f->events.at[i].kind == TP_FLOW_END)
            loop = w->around[loop];
        w->around[i] = loop;
        if (x->f->events.at[i].kind == TP_FLOW_LOOP)
            loop = (int32_t)i;
    }
    if (sums)
        arrivals_sum(w);
    x->nextra = 0;
    w->one = name_sender(w, "sender", x->twin, vars, &x->nextra);
    w->two = name_sender(w, "other", x->twin + x->f->vars.len, vars, &x->nextra);
    x->extra = vars;
    if (sums)
        arrivals_find_exact(w);
}

void arrivals_end(arrivals *w)
{
    w->x->nextra = 0;
}

static bool arrive_well(arrivals *w)
{
    bool good = are_entered(w);
    for (uint32_t i = 0; i < w->f->events.len && good; i++) {
        if (!flight_goes_away(w->f, i))
            continue;
        good = arrives_alone(w, i);
        for (uint32_t k = 0; k <= i && good; k++)
            good = !flight_goes_away(w->f, k) || arrive_apart(w, k, i);
    }
    return good;
}

/* Where what others write lies apart, that is told without what semaphores count by place. */
bool flight_arrivals(proof *x)
{
    bool good = false;
    for (int sums = 0; sums < 2 && !good; sums++) {
        arrivals w;
        proof attempt = *x;
        attempt.questions = 0;
        arrivals_begin(&w, &attempt, sums);
        good = arrive_well(&w);
        arrivals_end(&w);
        if (good || sums)
            *x = attempt;
    }
    return good;
}
