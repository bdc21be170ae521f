/* Deeds of a run, and the same once more in units of time. */
#include "kernels/machine/schedule.h"

enum { SLOTS = 1 << 15, LATEST = TP_UNITS_THERE + 1 };

/* ---- what happens ---- */

/* The number of a counter; TP_NO_COUNTER: there is no room for another one. */
static uint32_t counter_of(tp_schedule *s, uint32_t device, uint32_t operand, size_t element)
{
    uint64_t h = (((uint64_t)device << 32 | operand) ^ element * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    uint32_t slot = (uint32_t)(h >> 40) % SLOTS;
    for (; s->hash[slot]; slot = (slot + 1) % SLOTS) {
        const tp_schedule_counter *c = &s->counters[s->hash[slot] - 1];
        if (c->device == device && c->operand == operand && c->element == element)
            return s->hash[slot] - 1;
    }
    if (s->ncounters == TP_SCHEDULE_DEEDS)
        return TP_NO_COUNTER;
    s->counters[s->ncounters] = (tp_schedule_counter){device, operand, element};
    s->hash[slot] = ++s->ncounters;
    return s->ncounters - 1;
}

static void note(tp_schedule *s, const tp_event *e, tp_deed d)
{
    d.device = e->device;
    d.there = e->kind == TP_EVENT_WAIT ? e->device : e->there;
    d.operand = e->operand;
    d.statement = e->statement;
    d.step = e->step;
    d.n = e->bits;
    d.counter = counter_of(s, d.there, e->kind == TP_EVENT_COPY ? e->semaphore : e->operand, e->element);
    if (d.sent != TP_NO_COUNTER)
        d.sent = counter_of(s, d.device, e->sent, e->sent_element);
    s->full |=
        s->ndeeds == TP_SCHEDULE_DEEDS || d.counter == TP_NO_COUNTER || d.device >= s->devices || d.there >= s->devices;
    if (s->full)
        return;
    s->deeds[s->ndeeds++] = d;
    uint32_t *last = &s->last[d.device];
    *(*last ? &s->deeds[*last - 1].next : &s->first[d.device]) = s->ndeeds;
    *last = s->ndeeds;
    s->acts[d.device]++;
}

static void see_side(tp_schedule *s, const tp_event *e)
{
    if (s->trapped) /* of a trap that was only a symptom of this one */
        s->nsides = 0;
    s->trapped = false;
    if (s->nsides == TP_SCHEDULE_SIDES)
        return;
    tp_trap_side *x = &s->sides[s->nsides++];
    *x = *e->side;
    if (x->acts == TP_ACTS_SO_FAR)
        x->acts = x->device < TP_SCHEDULE_DEVICES ? s->acts[x->device] : 0;
}

static void see_trap(tp_schedule *s, const tp_event *e)
{
    tp_trap_side self = {.kind = e->statement ? TP_SIDE_DOES : TP_SIDE_NOTHING,
                         .device = e->device,
                         .step = e->step,
                         .statement = e->statement,
                         .operand = TP_NO_OPERAND,
                         .acts = TP_ACTS_SO_FAR};
    if (s->trapped || !s->nsides)
        see_side(s, &(tp_event){.side = &self});
    s->trapped = true;
}

static void see(tp_observer *o, const tp_event *e)
{
    tp_schedule *s = (tp_schedule *)o;
    switch (e->kind) {
    case TP_EVENT_COPY:
        note(s, e,
             (tp_deed){.kind = TP_ACT_START,
                       .from = e->from,
                       .copy = e->copy,
                       .sent = e->sent == TP_NO_OPERAND ? TP_NO_COUNTER : 0});
        return;
    case TP_EVENT_SIGNAL: note(s, e, (tp_deed){.kind = TP_ACT_SIGNAL, .sent = TP_NO_COUNTER}); return;
    case TP_EVENT_WAIT: note(s, e, (tp_deed){.kind = TP_ACT_WAIT, .sent = TP_NO_COUNTER}); return;
    case TP_EVENT_SIDE: see_side(s, e); return;
    case TP_EVENT_TRAP: see_trap(s, e); return;
    case TP_EVENT_STEP:
    case TP_EVENT_STEP_DONE:
    case TP_EVENT_FETCH:
    case TP_EVENT_WRITE:
    case TP_EVENT_MOVED:
    case TP_EVENT_STAY:
    case TP_EVENT_STATEMENT:
    case TP_EVENT_STATEMENT_DONE:
    case TP_EVENT_COPY_DONE:
    case TP_EVENT_COUNT: return;
    }
}

/* ---- the play ---- */

/* Something will count. */
typedef struct coming {
    uint32_t deed; /* + 1 */
    uint32_t next; /* coming in the same unit, + 1 */
    uint32_t counter;
    int64_t n;
    bool arrives; /* the deed is a copy, and this its end */
} coming;

/* A counter while it is played: the copies that have arrived on it and are not waited for, in turn. */
typedef struct tally {
    int64_t n, all, taken; /* now; so far, added and taken */
    uint32_t head, tail;   /* deeds, + 1 */
} tally;

typedef struct play {
    tp_schedule *s;
    const tp_pace *p;
    coming room[2 * TP_SCHEDULE_DEEDS];
    uint32_t nroom, due[LATEST]; /* by unit modulo LATEST: the first of room, + 1 */
    uint32_t left;               /* still coming */
    tally of[TP_SCHEDULE_DEEDS];
    uint32_t queue[TP_SCHEDULE_DEEDS]; /* by deed: the next that arrived on its counter, + 1 */
    uint32_t at[TP_SCHEDULE_DEVICES];  /* by device: its next deed, + 1 */
    size_t acts[TP_SCHEDULE_DEVICES];
    int64_t unit;
    int64_t started; /* the unit in which the copy `until` did; TP_NO_UNIT: it has not */
} play;

tp_schedule *tp_schedule_new(tp_arena *a, const tp_kernel *k, uint32_t devices)
{
    tp_schedule *s = TP_NEW(a, tp_schedule);
    *s = (tp_schedule){.observer = {.see = see}, .k = k, .devices = devices};
    s->full = devices > TP_SCHEDULE_DEVICES;
    s->deeds = TP_NEWN(a, tp_deed, TP_SCHEDULE_DEEDS);
    s->first = TP_NEWN(a, uint32_t, TP_SCHEDULE_DEVICES);
    s->last = TP_NEWN(a, uint32_t, TP_SCHEDULE_DEVICES);
    s->acts = TP_NEWN(a, uint32_t, TP_SCHEDULE_DEVICES);
    s->counters = TP_NEWN(a, tp_schedule_counter, TP_SCHEDULE_DEEDS);
    s->hash = TP_NEWN(a, uint32_t, SLOTS);
    s->counts = TP_NEWN(a, tp_schedule_count, 2 * TP_SCHEDULE_DEEDS); /* a copy counts twice; a wait is another deed */
    s->work = TP_NEW(a, play);
    return s;
}

static void count(play *x, uint32_t counter, int64_t n)
{
    tally *t = &x->of[counter];
    t->n += n;
    *(n < 0 ? &t->taken : &t->all) += n < 0 ? -n : n;
    x->s->counts[x->s->ncounts++] = (tp_schedule_count){x->unit, counter, t->n};
}

static void send(play *x, uint32_t deed, uint32_t counter, int64_t n, int64_t unit, bool arrives)
{
    uint32_t *due = &x->due[unit % LATEST];
    x->room[x->nroom] = (coming){deed, *due, counter, n, arrives};
    *due = ++x->nroom;
    x->left++;
}

static void arrive(play *x, const coming *c)
{
    tp_deed *d = &x->s->deeds[c->deed - 1];
    tally *t = &x->of[c->counter];
    bool whole = d->kind == TP_ACT_START && c->n == d->n;
    count(x, c->counter, c->n);
    if (whole && !c->arrives)
        d->was_sent = x->unit;
    if (!whole || !c->arrives)
        return;
    d->arrived = x->unit;
    d->was_sent = d->was_sent < 0 ? x->unit : d->was_sent;
    d->upto = t->all;
    *(t->tail ? &x->queue[t->tail - 1] : &t->head) = c->deed;
    t->tail = c->deed;
}

static void deliver(play *x)
{
    uint32_t *due = &x->due[x->unit % LATEST];
    for (uint32_t i = *due; i; i = x->room[i - 1].next, x->left--)
        arrive(x, &x->room[i - 1]);
    *due = 0;
}

/* Which copies are there for all that its waits tell? */
static void settle(play *x, uint32_t counter)
{
    tally *t = &x->of[counter];
    while (t->head && x->s->deeds[t->head - 1].upto <= t->taken) {
        x->s->deeds[t->head - 1].waited = x->unit;
        t->head = x->queue[t->head - 1];
        t->tail = t->head ? t->tail : 0;
    }
}

static void start(play *x, uint32_t deed)
{
    const tp_deed *d = &x->s->deeds[deed - 1];
    bool open = x->p->open == d->copy;
    if (x->p->until == d->copy)
        x->started = x->unit;
    if (d->sent != TP_NO_COUNTER)
        send(x, deed, d->sent, d->n - (open && x->p->source), x->unit + TP_UNITS_SENT, false);
    send(x, deed, d->counter, d->n - open, x->unit + TP_UNITS_THERE, true);
}

/* What is held back until a copy starts goes on in the next unit, when the play may be over. */
static bool goes_free(const play *x)
{
    return x->p->until && x->started != TP_NO_UNIT && x->started < x->unit;
}

/* The device's next deed, if it may be done; false: not in this unit. */
static bool go(play *x, uint32_t device)
{
    uint32_t deed = x->at[device];
    tp_deed *d = deed ? &x->s->deeds[deed - 1] : NULL;
    if (!d)
        return false;
    d->reached = d->reached < 0 ? x->unit : d->reached;
    bool held = device == x->p->held && x->acts[device] == x->p->before && !goes_free(x);
    if (held || (d->kind == TP_ACT_WAIT && x->of[d->counter].n < d->n))
        return false;
    d->done = x->unit;
    x->at[device] = d->next;
    x->acts[device]++;
    if (d->kind == TP_ACT_WAIT) {
        count(x, d->counter, -d->n);
        settle(x, d->counter);
    } else if (d->kind == TP_ACT_SIGNAL) {
        send(x, deed, d->counter, d->n, x->unit + 1, false);
    } else {
        start(x, deed);
    }
    return true;
}

static bool is_over(const play *x)
{
    const tp_pace *p = x->p;
    return p->ends < x->s->devices && x->acts[p->ends] >= p->acts && (!p->until || goes_free(x));
}

tp_pace tp_pace_free(void)
{
    return (tp_pace){.held = TP_NO_DEVICE, .ends = TP_NO_DEVICE};
}

void tp_schedule_play(tp_schedule *s, const tp_pace *p)
{
    play *x = s->work;
    memset(x, 0, sizeof *x);
    x->s = s;
    x->p = p;
    x->started = TP_NO_UNIT;
    s->ncounts = 0;
    s->stopped = false;
    for (uint32_t i = 0; i < s->ndeeds; i++) {
        tp_deed *d = &s->deeds[i];
        d->reached = d->done = d->was_sent = d->arrived = d->waited = TP_NO_UNIT;
    }
    memcpy(x->at, s->first, sizeof x->at);
    for (bool goes = true; goes; x->unit += goes) {
        deliver(x);
        s->stopped = is_over(x);
        if (s->stopped)
            break;
        goes = x->left != 0;
        for (uint32_t d = 0; d < s->devices; d++)
            goes |= go(x, d);
    }
    bool stuck = false;
    for (uint32_t d = 0; d < s->devices; d++)
        stuck |= x->at[d] != 0;
    s->units = x->unit + (s->stopped || stuck);
}

/* A side that is in the way of the first: a copy in flight, or a device that has not entered. */
void tp_schedule_to_trap(tp_schedule *s)
{
    tp_pace p = tp_pace_free();
    const tp_trap_side *one = s->nsides ? &s->sides[0] : NULL, *other = s->nsides > 1 ? &s->sides[1] : NULL;
    if (one && !s->full && one->kind == TP_SIDE_DOES && one->acts != TP_NO_ACT) {
        p.ends = one->device;
        p.acts = one->acts;
    }
    if (other && !s->full && other->kind == TP_SIDE_FLIES) {
        p.held = one->device;
        p.before = one->acts;
        p.until = p.open = other->copy;
        p.source = !other->writes;
    }
    if (other && other->kind == TP_SIDE_OUTSIDE)
        p.held = other->device;
    tp_schedule_play(s, &p);
}
