/* Runs of counters with something left out. */
#include "kernels/machine/order.h"

#include <string.h>

void tp_order_begin(tp_order *o, tp_arena *a, uint32_t devices, uint32_t counters)
{
    *o = (tp_order){.devices = devices,
                    .counters = counters,
                    .acts = TP_NEWN(a, tp_acts, devices),
                    .count = TP_NEWN(a, int64_t, (size_t)devices * counters),
                    .ready = TP_NEWN(a, uint32_t, devices),
                    .stuck = TP_NEWN(a, bool, devices)};
}

void tp_order_signal(tp_order *o, tp_arena *a, uint32_t by, uint32_t device, uint32_t counter, int64_t n)
{
    tp_push(a, o->acts[by], ((tp_act){TP_ACT_SIGNAL, device, counter, n, 0}));
}

void tp_order_wait(tp_order *o, tp_arena *a, uint32_t by, uint32_t counter, int64_t n)
{
    tp_push(a, o->acts[by], ((tp_act){TP_ACT_WAIT, by, counter, n, 0}));
}

size_t tp_order_start(tp_order *o, tp_arena *a, tp_shipment s)
{
    s.started = o->acts[s.from].len;
    tp_push(a, o->acts[s.from], ((tp_act){TP_ACT_START, s.to, s.arrived, s.n, o->copies.len}));
    tp_push(a, o->copies, s);
    return o->copies.len - 1;
}

typedef struct running {
    tp_order *o;
    const tp_omission *without;
    size_t *reached;
    uint32_t nready;
} running;

static void add(running *r, uint32_t device, uint32_t counter, int64_t n)
{
    r->o->count[(size_t)device * r->o->counters + counter] += n;
    if (!r->o->stuck[device])
        return;
    r->o->stuck[device] = false;
    r->o->ready[r->nready++] = device;
}

static bool is_behind(const running *r, size_t copy)
{
    const tp_shipment *s = &r->o->copies.at[copy], *first = &r->o->copies.at[r->without->of];
    return r->without->behind && copy > r->without->of && s->from == first->from && s->to == first->to &&
           s->arrived == first->arrived;
}

/* What a copy that has not ended may have brought: all but the last. */
static void start(running *r, const tp_act *a)
{
    const tp_shipment *s = &r->o->copies.at[a->copy];
    bool left = r->without->copy && r->without->of == a->copy;
    if (s->sent != TP_NO_COUNTER)
        add(r, s->from, s->sent, s->n - (left && r->without->source));
    add(r, s->to, s->arrived, is_behind(r, a->copy) ? 0 : s->n - left);
}

static void go_on(running *r, uint32_t device)
{
    const tp_acts *acts = &r->o->acts[device];
    for (size_t *at = &r->reached[device]; *at < acts->len; ++*at) {
        const tp_act *a = &acts->at[*at];
        int64_t *count = &r->o->count[(size_t)a->device * r->o->counters + a->counter];
        if (device == r->without->device && *at == r->without->act)
            return;
        if (a->kind == TP_ACT_WAIT && *count < a->n) {
            r->o->stuck[device] = true;
            return;
        }
        if (a->kind == TP_ACT_WAIT)
            *count -= a->n;
        else if (a->kind == TP_ACT_SIGNAL)
            add(r, a->device, a->counter, a->n);
        else
            start(r, a);
    }
}

void tp_order_reach(tp_order *o, tp_arena *a, tp_omission without, size_t *reached)
{
    running r = {o, &without, reached, 0};
    memset(o->count, 0, sizeof *o->count * o->devices * o->counters);
    for (uint32_t d = 0; d < o->devices; d++) {
        tp_spend(a, 1 + (int64_t)(o->acts[d].len / 8));
        reached[d] = 0;
        o->stuck[d] = false;
        o->ready[r.nready++] = d;
    }
    while (r.nready)
        go_on(&r, o->ready[--r.nready]);
}

int64_t tp_order_before(tp_order *o, tp_arena *a, uint32_t by, size_t act, uint32_t device)
{
    size_t *reached = TP_NEWN(a, size_t, o->devices);
    int64_t lo = -1, hi = (int64_t)o->acts[device].len; /* never done at lo */
    while (lo < hi) {
        int64_t middle = lo + (hi - lo + 1) / 2;
        tp_order_reach(o, a, (tp_omission){.device = device, .act = (size_t)middle}, reached);
        if (reached[by] <= act)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo;
}
