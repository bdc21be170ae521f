/* What devices do to each other: copies, signals and waits, the turns that they take, and what is noted of that. */
#include "base/checked.h"
#include "kernels/machine/devices.h"

static doing *self(const tp_machine *m)
{
    return &m->devices->all[m->worker];
}

static tp_str name_of(const tp_machine *m, uint32_t operand)
{
    return m->k->operands[operand].name;
}

/* A trap is of that device in that step, whichever machine finds it. */
static void place(tp_machine *m, uint32_t device, const tp_statement *at, int64_t step)
{
    m->at = at;
    m->step = step;
    uint32_t rank = tp_mesh_rank(m->k);
    for (uint32_t a = m->k->naxes; a-- > rank; step /= m->grid.steps[a])
        m->env[m->k->axes[a].sym] = step % m->grid.steps[a];
    int64_t number = device;
    for (uint32_t a = rank; a-- > 0; number /= m->grid.steps[a])
        m->env[m->k->axes[a].sym] = number % m->grid.steps[a];
}

static tp_str called(const tp_machine *m, uint32_t device)
{
    return tp_device_name(m->arena, m->k, m->env, device);
}

/* ---- turns ---- */

static bool can_go(const tp_devices *d, uint32_t number)
{
    const doing *x = &d->all[number];
    if (x->state == ENDED)
        return false;
    if (x->state == RUNS || d->failed)
        return true;
    if (x->state == WAITS)
        return *x->count >= x->need;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->all[i].phase < x->phase)
            return false;
    return true;
}

bool tp_exchange_hand_over(tp_devices *d)
{
    uint32_t first = (uint32_t)tp_rng_below(&d->rng, d->n);
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t next = (first + i) % d->n;
        if (!can_go(d, next))
            continue;
        d->turn = next;
        pthread_cond_broadcast(&d->moved);
        return true;
    }
    return false;
}

static tp_str where(tp_machine *m, const doing *x, uint32_t number)
{
    if (x->state == MEETS || !x->at)
        return tp_printf(m->arena, "device %.*s has ended", TP_FMT(called(m, number)));
    return tp_printf(m->arena, "device %.*s waits at line %u", TP_FMT(called(m, number)), x->at->syntax->number);
}

static void tell_stuck(tp_machine *m, uint32_t number)
{
    const doing *x = &m->devices->all[number];
    bool ended = x->state == MEETS || !x->at;
    tp_trap_side s = {.kind = ended ? TP_SIDE_ENDED : TP_SIDE_WAITS,
                      .device = number,
                      .step = ended ? -1 : x->step,
                      .statement = ended ? NULL : x->at,
                      .there = number,
                      .operand = ended ? TP_NO_OPERAND : x->at->semaphore->operand,
                      .acts = TP_NO_ACT};
    int64_t unit = !ended && m->k->operands[s.operand].memory == TP_MEM_DMA_SEMAPHORE ? 8 : 1;
    s.needs = ended ? 0 : x->need / unit;
    s.counts = ended ? 0 : *x->count / unit;
    tp_tell_side(m, s);
}

_Noreturn static void deadlock(tp_machine *m)
{
    enum { MOST = 4 };
    tp_devices *d = m->devices;
    uint32_t stuck = m->worker;
    tp_buf b = {.arena = m->arena};
    for (uint32_t i = 0; i < d->n && d->all[stuck].state != WAITS; i++)
        stuck = i;
    const doing *x = &d->all[stuck];
    tell_stuck(m, stuck);
    for (uint32_t i = 0; i < d->n; i++)
        if (i != stuck)
            tell_stuck(m, i);
    for (uint32_t i = 0, told = 0; i < d->n && told < MOST; i++)
        if (i != stuck && ++told)
            tp_buf_printf(&b, "; %.*s", TP_FMT(where(m, &d->all[i], i)));
    if (d->n > MOST + 1)
        tp_buf_c(&b, "; …");
    uint32_t semaphore = x->at ? x->at->semaphore->operand : 0;
    bool bits = m->k->operands[semaphore].memory == TP_MEM_DMA_SEMAPHORE;
    place(m, stuck, x->at, x->step);
    tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, name_of(m, semaphore),
                  "device %.*s waits for %lld%s on `%.*s`, which has %lld: it waits for ever%.*s",
                  TP_FMT(called(m, stuck)), (long long)(bits ? x->need / 8 : x->need), bits ? " bytes" : "",
                  TP_FMT(name_of(m, semaphore)), (long long)(bits ? *x->count / 8 : *x->count),
                  TP_FMT(tp_buf_view(&b)));
}

/* The device's state is set: go on when it may. */
static void wait_for_turn(tp_machine *m)
{
    tp_devices *d = m->devices;
    pthread_mutex_lock(&d->lock);
    bool nobody = !can_go(d, m->worker) && !tp_exchange_hand_over(d);
    while (!nobody && d->turn != m->worker)
        pthread_cond_wait(&d->moved, &d->lock);
    pthread_mutex_unlock(&d->lock);
    if (nobody)
        deadlock(m);
    if (d->failed)
        tp_leave(m->arena, TP_E_TRAP);
    self(m)->state = RUNS;
}

static void meet(tp_machine *m, uint32_t phase)
{
    self(m)->phase = phase;
    self(m)->state = MEETS;
    wait_for_turn(m);
}

/* ---- what is noted ---- */

static void note(tp_machine *m)
{
    tp_devices *d = m->devices;
    tp_spend(m->arena, 16);
    if (++d->notes <= MOST_NOTES && d->parcels.len < MOST_COPIES)
        return;
    m->trap->message = tp_printf(m->arena, "several devices make more than %d %s, whose order is not looked into",
                                 d->notes > MOST_NOTES ? MOST_NOTES : MOST_COPIES,
                                 d->notes > MOST_NOTES ? "copies, waits and accesses" : "copies");
    m->trap->step = m->step;
    tp_leave(m->arena, TP_E_LIMIT);
}

static bool is_part(const tp_slice *part, const tp_slice *s)
{
    return part && s ? tp_same_slice(part, s) : part == s;
}

void tp_exchange_touch(tp_machine *m, uint32_t operand, const tp_slice *s, bool writes)
{
    tp_devices *d = m->devices;
    doing *x = self(m);
    if (!x->entered || !d->watched[operand])
        return;
    size_t after = d->order.acts[m->worker].len;
    uint32_t least = x->touches.len > RECENT ? x->touches.len - RECENT : 0;
    for (uint32_t i = x->touches.len; i-- > least && x->touches.at[i].after == after;)
        if (x->touches.at[i].operand == operand && x->touches.at[i].writes == writes &&
            is_part(x->touches.at[i].part, s))
            return;
    note(m);
    tp_slice *part = s ? TP_NEW(m->arena, tp_slice) : NULL;
    if (part)
        *part = *s;
    tp_push(m->arena, x->touches, ((touch){after, operand, writes, part, m->at, m->step}));
}

static int64_t *count_of(tp_machine *m, const tp_machine *there, uint32_t operand, size_t element)
{
    const tp_devices *d = m->devices;
    return &d->count[(size_t)there->worker * d->counters + d->base[operand] + element];
}

static void tell_count(tp_machine *m, const tp_machine *there, uint32_t operand, size_t element)
{
    int64_t n = *count_of(m, there, operand, element);
    bool bits = m->k->operands[operand].memory == TP_MEM_DMA_SEMAPHORE;
    tp_tell(m, (tp_event){.kind = TP_EVENT_COUNT,
                          .operand = operand,
                          .there = there->worker,
                          .element = element,
                          .count = bits ? n / 8 : n});
}

/* Once all that was counted there is taken, what brought it is there. */
static void tell_arrived(tp_machine *m, uint32_t counter)
{
    tp_devices *d = m->devices;
    for (size_t c = 0; m->request->observer && c < d->parcels.len; c++) {
        parcel *p = &d->parcels.at[c];
        if (p->told || p->there != m->worker || d->order.copies.at[c].arrived != counter)
            continue;
        p->told = true;
        tp_tell(m, (tp_event){.kind = TP_EVENT_COPY_DONE,
                              .operand = p->start->access->operand,
                              .from = p->start->from->operand,
                              .there = p->there,
                              .copy = (int64_t)c + 1});
    }
}

static void add(tp_machine *m, tp_machine *there, uint32_t operand, size_t element, int64_t n, int64_t most)
{
    int64_t *count = count_of(m, there, operand, element);
    if (!tp_add(*count, n, count) || *count > most)
        tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, name_of(m, operand), "`%.*s` of device %.*s counts beyond %s",
                      TP_FMT(name_of(m, operand)), TP_FMT(called(m, there->worker)),
                      most == INT32_MAX ? "2^31 - 1" : "2^60");
    tell_count(m, there, operand, element);
}

_Noreturn static void not_entered(tp_machine *m, const tp_statement *at, int64_t step, uint32_t by, uint32_t operand,
                                  uint32_t there, size_t acts)
{
    place(m, by, at, step);
    tp_trap_side one = {.kind = TP_SIDE_DOES,
                        .device = by,
                        .step = step,
                        .statement = at,
                        .there = there,
                        .operand = TP_NO_OPERAND,
                        .writes = true,
                        .acts = acts},
                 other = {
                     .kind = TP_SIDE_OUTSIDE, .device = there, .step = -1, .operand = TP_NO_OPERAND, .acts = TP_NO_ACT};
    tp_tell_side(m, one);
    tp_tell_side(m, other);
    tp_trap_raise(
        m, TP_RULE_IN_FLIGHT, name_of(m, operand),
        "device %.*s may reach `%.*s` of device %.*s before that device enters the kernel: no wait for its barrier "
        "is in between",
        TP_FMT(called(m, by)), TP_FMT(name_of(m, operand)), TP_FMT(called(m, there)));
}

/* What reaches a device that has not entered the kernel finds nothing there. */
void tp_exchange_reach(tp_machine *m, const tp_machine *there, const tp_statement *s, uint32_t operand)
{
    if (m->devices->has_barrier && !m->devices->all[there->worker].entered &&
        m->k->operands[operand].memory != TP_MEM_BARRIER)
        not_entered(m, s, m->step, m->worker, operand, there->worker, TP_ACTS_SO_FAR);
}

tp_machine *tp_exchange_other(tp_machine *m, const int64_t *at)
{
    int64_t number = 0;
    for (uint32_t a = 0; a < tp_mesh_rank(m->k); a++) {
        tp_str axis = m->k->axes[a].name;
        if (at[a] < 0 || at[a] >= m->grid.steps[a])
            tp_trap_raise(m, TP_RULE_SLICE_OUT_OF_BOUNDS, axis, "there is no device %lld: `%.*s` is 0 to %lld",
                          (long long)at[a], TP_FMT(axis), (long long)m->grid.steps[a] - 1);
        number = number * m->grid.steps[a] + at[a];
    }
    return &m->devices->workers[number].machine;
}

void tp_exchange_start(tp_machine *m, tp_machine *there, const tp_statement *s, const tp_slice *source,
                       const tp_slice *destination, size_t counter, size_t arrival)
{
    tp_devices *d = m->devices;
    int64_t bits = tp_slice_bits(m, s->access->operand, destination);
    if (!bits)
        return;
    note(m);
    uint32_t sent = d->base[s->semaphore->operand] + (uint32_t)counter, arrived = sent;
    if (s->arrival) {
        arrived = d->base[s->arrival->operand] + (uint32_t)arrival;
        add(m, there, s->arrival->operand, arrival, bits, TP_SIZE_LIMIT);
    }
    add(m, m, s->semaphore->operand, counter, bits, TP_SIZE_LIMIT);
    tp_order_start(&d->order, m->arena,
                   (tp_shipment){.from = m->worker,
                                 .to = there->worker,
                                 .sent = s->arrival ? sent : TP_NO_COUNTER,
                                 .arrived = arrived,
                                 .n = bits});
    tp_push(m->arena, d->parcels, ((parcel){s, m->step, m->worker, there->worker, *source, *destination, false}));
    tp_tell(m, (tp_event){.kind = TP_EVENT_COPY,
                          .operand = s->access->operand,
                          .from = s->from->operand,
                          .bits = bits,
                          .copy = (int64_t)d->parcels.len,
                          .there = there->worker,
                          .semaphore = s->arrival ? s->arrival->operand : s->semaphore->operand,
                          .element = s->arrival ? arrival : counter,
                          .sent = s->arrival ? s->semaphore->operand : TP_NO_OPERAND,
                          .sent_element = counter,
                          .statement = s});
}

static void take(tp_machine *m, const tp_statement *s, size_t counter, int64_t n)
{
    doing *x = self(m);
    note(m);
    x->count = count_of(m, m, s->semaphore->operand, counter);
    x->need = n;
    x->at = s;
    x->step = m->step;
    x->state = WAITS;
    tp_tell(
        m, (tp_event){
               .kind = TP_EVENT_WAIT, .operand = s->semaphore->operand, .element = counter, .bits = n, .statement = s});
    wait_for_turn(m);
    uint32_t number = m->devices->base[s->semaphore->operand] + (uint32_t)counter;
    int64_t *left = count_of(m, m, s->semaphore->operand, counter);
    *left -= n;
    tp_order_wait(&m->devices->order, m->arena, m->worker, number, n);
    tell_count(m, m, s->semaphore->operand, counter);
    if (!*left)
        tell_arrived(m, number);
}

void tp_exchange_wait(tp_machine *m, const tp_statement *s, int64_t elements, size_t counter)
{
    int64_t bits;
    if (!tp_mul(elements, tp_dtype_info(m->k->operands[s->access->operand].dtype)->bits, &bits))
        bits = INT64_MAX; /* more than anybody brings */
    take(m, s, counter, bits);
}

void tp_exchange_count(tp_machine *m, tp_machine *there, const tp_statement *s, int64_t n, size_t counter)
{
    tp_devices *d = m->devices;
    uint32_t semaphore = s->semaphore->operand;
    if (s->kind == TP_AWAIT) {
        take(m, s, counter, n);
        return;
    }
    note(m);
    tp_exchange_reach(m, there, s, semaphore);
    tp_tell(m, (tp_event){.kind = TP_EVENT_SIGNAL,
                          .operand = semaphore,
                          .there = there->worker,
                          .element = counter,
                          .bits = n,
                          .statement = s});
    add(m, there, semaphore, counter, n, INT32_MAX);
    if (there != m && m->k->operands[semaphore].memory != TP_MEM_BARRIER)
        tp_push(m->arena, d->signals,
                ((signal_there){s, m->step, m->worker, there->worker, d->order.acts[m->worker].len}));
    tp_order_signal(&d->order, m->arena, m->worker, there->worker, d->base[semaphore] + (uint32_t)counter, n);
}

/* ---- in any order ---- */

static bool meets(const tp_slice *a, const tp_slice *b)
{
    return !a || !b || tp_slices_meet(a, b);
}

/* Would all be in order if what one device sends to another on one counter arrived in the order of the starts? The
 * device does its act or touch `after` of these only behind copy c, then. */
static bool goes_in_turn(tp_machine *m, size_t c, bool destination, uint32_t device, size_t after)
{
    tp_devices *d = m->devices;
    size_t *reached = TP_NEWN(m->arena, size_t, d->n);
    tp_omission without = {TP_NO_DEVICE, 0, true, !destination, c, true};
    tp_order_reach(&d->order, m->arena, without, reached);
    return destination && after > reached[device];
}

/* What is touched, and by whom after how many acts, beside the copy c. */
typedef struct meeting {
    uint32_t operand, device; /* of the elements */
    uint32_t by;              /* does it */
    const tp_statement *statement;
    int64_t step;
    const tp_slice *part; /* NULL: all */
    size_t acts;
    bool writes;
} meeting;

static void tell_meeting(tp_machine *m, const meeting *x, size_t c, bool destination)
{
    const parcel *p = &m->devices->parcels.at[c];
    tp_trap_side one = {.kind = TP_SIDE_DOES,
                        .device = x->by,
                        .step = x->step,
                        .statement = x->statement,
                        .there = x->device,
                        .writes = x->writes,
                        .acts = x->acts},
                 other = {.kind = TP_SIDE_FLIES,
                          .device = p->device,
                          .step = p->step,
                          .statement = p->start,
                          .copy = (int64_t)c + 1,
                          .there = x->device,
                          .writes = destination,
                          .acts = TP_NO_ACT};
    tp_slice_bytes(m, x->operand, x->part, &one);
    tp_slice_bytes(m, x->operand, destination ? &p->destination : &p->source, &other);
    tp_tell_side(m, one);
    tp_tell_side(m, other);
}

_Noreturn static void race(tp_machine *m, const meeting *x, const char *how, size_t c, bool destination, bool in_turn)
{
    const parcel *p = &m->devices->parcels.at[c];
    place(m, x->device, x->statement, x->step);
    tell_meeting(m, x, c, destination);
    tp_trap_raise(
        m, TP_RULE_IN_FLIGHT, name_of(m, x->operand),
        "`%.*s` of device %.*s is %s, and the copy to device %.*s that device %.*s started at line %u %s these "
        "elements: %s",
        TP_FMT(name_of(m, x->operand)), TP_FMT(called(m, x->device)), how, TP_FMT(called(m, p->there)),
        TP_FMT(called(m, p->device)), p->start->syntax->number, destination ? "writes" : "reads",
        in_turn ? "the wait between the two may be for a later copy; if copies on one semaphore arrived in "
                  "the order of their starts, it would be for this one"
                : "no wait is between the two");
}

/* Which of what `device` touched is neither before the start of copy c nor after it has ended: `reached` says what
 * the device does without that. */
static void check_touches(tp_machine *m, size_t c, uint32_t number, bool destination, const size_t *reached)
{
    tp_devices *d = m->devices;
    const parcel *p = &d->parcels.at[c];
    uint32_t operand = destination ? p->start->access->operand : p->start->from->operand;
    const tp_slice *part = destination ? &p->destination : &p->source;
    const doing *x = &d->all[number];
    int64_t before = INT64_MIN;
    tp_spend(m->arena, 1 + (int64_t)(x->touches.len / 2));
    for (uint32_t i = 0; i < x->touches.len; i++) {
        const touch *t = &x->touches.at[i];
        if (t->operand != operand || t->after > reached[number] || !(destination || t->writes) || !meets(t->part, part))
            continue;
        if (before == INT64_MIN)
            before = tp_order_before(&d->order, m->arena, p->device, d->order.copies.at[c].started, number);
        meeting x1 = {operand, number, number, t->statement, t->step, t->part, t->after, t->writes};
        if ((int64_t)t->after > before)
            race(m, &x1, t->writes ? "written" : "read", c, destination,
                 goes_in_turn(m, c, destination, number, t->after));
    }
}

/* Copy b starts, where `reached` is done without the end of copy a: do they touch the same elements of one device? */
static bool collide(const parcel *a, bool written, const parcel *b, uint32_t *operand, uint32_t *device)
{
    *operand = written ? a->start->access->operand : a->start->from->operand;
    *device = written ? a->there : a->device;
    const tp_slice *part = written ? &a->destination : &a->source;
    bool into = b->there == *device && b->start->access->operand == *operand && tp_slices_meet(part, &b->destination),
         out_of =
             written && b->device == *device && b->start->from->operand == *operand && tp_slices_meet(part, &b->source);
    return into || out_of;
}

static void check_copies(tp_machine *m, size_t c, bool written, const size_t *reached)
{
    tp_devices *d = m->devices;
    const parcel *a = &d->parcels.at[c];
    size_t *other = TP_NEWN(m->arena, size_t, d->n);
    for (size_t e = 0; e < d->parcels.len; e++) {
        const parcel *b = &d->parcels.at[e];
        uint32_t operand, device;
        tp_spend(m->arena, 1);
        if (e == c || !collide(a, written, b, &operand, &device) || reached[b->device] <= d->order.copies.at[e].started)
            continue; /* b begins after a has ended */
        bool into = b->there == device && b->start->access->operand == operand;
        tp_order_reach(&d->order, m->arena, (tp_omission){TP_NO_DEVICE, 0, true, !into, e, false}, other);
        if (other[a->device] <= d->order.copies.at[c].started)
            continue; /* a begins after b has ended */
        meeting x = {.operand = operand,
                     .device = device,
                     .by = b->device,
                     .statement = b->start,
                     .step = b->step,
                     .part = into ? &b->destination : &b->source,
                     .acts = d->order.copies.at[e].started,
                     .writes = into};
        race(m, &x, into ? "written by a copy" : "read by a copy", c, written,
             goes_in_turn(m, c, written, b->device, d->order.copies.at[e].started + 1));
    }
}

/* Signals and copies to a device that may not have entered. */
static void check_entries(tp_machine *m)
{
    tp_devices *d = m->devices;
    size_t *reached = TP_NEWN(m->arena, size_t, d->n);
    for (uint32_t late = 0; late < d->n && d->has_barrier; late++) {
        tp_order_reach(&d->order, m->arena, (tp_omission){late, 0, false, false, 0, false}, reached);
        for (size_t c = 0; c < d->parcels.len; c++) {
            const parcel *p = &d->parcels.at[c];
            if (p->there == late && p->device != late && d->order.copies.at[c].started < reached[p->device])
                not_entered(m, p->start, p->step, p->device, p->start->access->operand, late,
                            d->order.copies.at[c].started);
        }
        for (size_t i = 0; i < d->signals.len; i++) {
            const signal_there *s = &d->signals.at[i];
            if (s->there == late && s->act < reached[s->device])
                not_entered(m, s->at, s->step, s->device, s->at->semaphore->operand, late, s->act);
        }
    }
}

void tp_exchange_check(void *arg)
{
    tp_machine *m = arg;
    tp_devices *d = m->devices;
    size_t *ended = TP_NEWN(m->arena, size_t, d->n), *read = TP_NEWN(m->arena, size_t, d->n);
    check_entries(m);
    for (size_t c = 0; c < d->parcels.len; c++) {
        const parcel *p = &d->parcels.at[c];
        tp_order_reach(&d->order, m->arena, (tp_omission){TP_NO_DEVICE, 0, true, false, c, false}, ended);
        tp_order_reach(&d->order, m->arena, (tp_omission){TP_NO_DEVICE, 0, true, true, c, false}, read);
        check_touches(m, c, p->there, true, ended);
        check_touches(m, c, p->device, false, read);
        check_copies(m, c, true, ended);
        check_copies(m, c, false, read);
    }
}

typedef struct user {
    uint32_t semaphore;
    const tp_statement *first; /* that counts on it */
} user;

static bool uses(const tp_statement *s, void *ctx)
{
    user *u = ctx;
    bool here =
        (s->semaphore && s->semaphore->operand == u->semaphore) || (s->arrival && s->arrival->operand == u->semaphore);
    u->first = here ? s : NULL;
    return here;
}

static void check_counts(tp_machine *m, uint32_t from, uint32_t n, uint32_t number, const char *when)
{
    tp_devices *d = m->devices;
    for (uint32_t i = from; i < from + n; i++)
        for (size_t e = 0; tp_is_semaphore(&m->k->operands[i]) && e < m->refs[i].cells.n; e++) {
            int64_t left = *count_of(m, &d->workers[number].machine, i, e);
            bool bits = m->k->operands[i].memory == TP_MEM_DMA_SEMAPHORE;
            if (!left)
                continue;
            user u = {.semaphore = i};
            tp_region_any(m->body, uses, &u);
            place(m, number, u.first, m->step);
            tp_tell_side(m, (tp_trap_side){.kind = TP_SIDE_LEFT,
                                           .device = number,
                                           .step = m->step,
                                           .statement = u.first,
                                           .there = number,
                                           .operand = i,
                                           .acts = TP_NO_ACT,
                                           .counts = bits ? left / 8 : left});
            tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, name_of(m, i), "`%.*s` of device %.*s is left at %lld%s %s",
                          TP_FMT(name_of(m, i)), TP_FMT(called(m, number)), (long long)(bits ? left / 8 : left),
                          bits ? " bytes" : "", when);
        }
}

void tp_exchange_end_scope(tp_machine *m, tp_scope scope, const char *when)
{
    for (uint32_t i = scope.first; i < scope.first + scope.n; i++)
        tp_exchange_touch(m, i, NULL, true);
    check_counts(m, scope.first, scope.n, m->worker, when);
}

void tp_exchange_enter(tp_machine *m)
{
    if (!m->devices->has_barrier) /* the compiler has them wait for each other first */
        meet(m, 1);
    self(m)->entered = true;
}

void tp_exchange_leave(tp_machine *m)
{
    tp_devices *d = m->devices;
    int64_t step = m->step;
    m->at = NULL;
    meet(m, 2);
    if (d->checked)
        return;
    d->checked = true;
    tp_exchange_check(m);
    m->step = step;
    m->at = NULL;
    for (uint32_t i = 0; i < d->n; i++)
        check_counts(m, 0, tp_noperands(m->k), i, "when the kernel ends");
}
