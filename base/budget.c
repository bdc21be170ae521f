#define _POSIX_C_SOURCE 200809L
#include "base/budget.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"

enum { UNITS_PER_LOOK = TP_UNITS_PER_SECOND / 50 };
static const double PATIENCE = 1.5; /* the hard stop, in units of the timeout */

static uint64_t this_thread(void)
{
    pthread_t self = pthread_self();
    uint64_t id = 0;
    memcpy(&id, &self, sizeof self < sizeof id ? sizeof self : sizeof id);
    return id;
}

void tp_budget_begin(tp_budget *b, int64_t timeout, int64_t mib)
{
    *b = (tp_budget){.limit = timeout ? timeout * TP_UNITS_PER_SECOND : INT64_MAX,
                     .look = timeout ? UNITS_PER_LOOK : INT64_MAX,
                     .max_bytes = (size_t)mib << 20,
                     .max_seconds = (double)timeout * PATIENCE,
                     .clock = tp_thread_seconds(),
                     .thread = this_thread(),
                     .timeout = timeout,
                     .mib = mib};
    b->places[0].what = "reading it";
    b->nplaces = 1;
}

void tp_budget_renew(tp_budget *b)
{
    size_t bytes = b->bytes, most = b->most_bytes;
    bool unsteady = b->unsteady;
    tp_budget_begin(b, b->timeout, b->mib);
    b->unsteady = unsteady;
    b->bytes = bytes;
    b->most_bytes = most;
}

static atomic_bool interrupted;

void tp_budget_interrupt(void)
{
    interrupted = true;
}

bool tp_budget_interrupted(void)
{
    return interrupted;
}

bool tp_budget_over(const tp_budget *b)
{
    return b && (interrupted || b->end != TP_BUDGET_OPEN || b->spent > b->limit);
}

static void end_if_late(tp_budget *b)
{
    if (b->max_seconds <= 0 || b->seconds <= b->max_seconds || b->end != TP_BUDGET_OPEN)
        return;
    b->end = TP_BUDGET_TIME;
    b->unsteady = true;
}

void tp_budget_look(tp_budget *b)
{
    double now = tp_thread_seconds();
    uint64_t thread = this_thread();
    if (thread == b->thread)
        b->seconds += now - b->clock;
    b->thread = thread;
    b->clock = now;
    b->look = b->max_seconds > 0 ? b->spent + UNITS_PER_LOOK : INT64_MAX;
    end_if_late(b);
}

void tp_budget_child(tp_budget *b, double seconds)
{
    if (!b)
        return;
    b->seconds += seconds;
    end_if_late(b);
}

double tp_budget_seconds_left(const tp_budget *b)
{
    return b && b->max_seconds > 0 ? b->max_seconds - b->seconds : 1e9;
}

int64_t tp_budget_share(tp_budget *b, double part)
{
    tp_assert(part >= 0 && part <= 1);
    if (!b)
        return 0;
    int64_t before = b->limit, left = b->limit - b->spent;
    if (before != INT64_MAX && left > 0)
        b->limit = b->spent + (int64_t)((double)left * part);
    return before;
}

void tp_budget_close(tp_budget *b, int64_t share)
{
    if (!b)
        return;
    b->cut |= tp_budget_over(b);
    b->limit = share;
}

static void settle(tp_budget *b)
{
    b->places[b->place].cost += b->spent - b->since;
    b->since = b->spent;
}

uint32_t tp_budget_at(tp_budget *b, const char *what, tp_str subject)
{
    if (!b)
        return 0;
    uint32_t before = b->place, at = 0;
    tp_budget_place place = {.what = what};
    snprintf(place.subject, sizeof place.subject, "%.*s", TP_FMT(subject));
    settle(b);
    while (at < b->nplaces &&
           (strcmp(b->places[at].what, what) != 0 || strcmp(b->places[at].subject, place.subject) != 0))
        at++;
    if (at == TP_BUDGET_PLACES) { /* too many to tell apart: the last one */
        at--;
        b->places[at].what = what;
        b->places[at].subject[0] = '\0';
    } else if (at == b->nplaces) {
        b->places[b->nplaces++] = place;
    }
    b->place = at;
    return before;
}

void tp_budget_back(tp_budget *b, uint32_t before)
{
    if (!b)
        return;
    settle(b);
    tp_assert(before < b->nplaces || before == 0);
    b->place = before;
}

bool tp_within(tp_arena *a, const tp_share *share, void (*fn)(void *ctx), void *ctx, tp_str *why)
{
    tp_budget *b = tp_arena_budget(a);
    int64_t limit = tp_budget_share(b, share->part);
    uint32_t place = tp_budget_at(b, share->what, share->subject);
    tp_status st = tp_try(a, fn, ctx);
    if (st == TP_E_BUDGET && b->end == TP_BUDGET_OPEN)
        *why = tp_budget_reason(a, b);
    tp_budget_back(b, place);
    tp_budget_close(b, limit);
    if (st != TP_OK && (st != TP_E_BUDGET || b->end != TP_BUDGET_OPEN))
        tp_leave(a, st);
    return st == TP_OK;
}

static tp_str dearest_text(tp_arena *a, tp_budget *b)
{
    const tp_budget_place *most = &b->places[0];
    settle(b);
    for (uint32_t i = 1; i < b->nplaces; i++)
        if (b->places[i].cost > most->cost)
            most = &b->places[i];
    /* in tens: what a cache remembers costs less, and texts should not change by it */
    int64_t tens = b->spent ? most->cost / (b->spent / 100 + 1) / 10 * 10 : 0;
    tp_str part = tp_printf(a, "%s %d %% of the work so far was %s", tens ? "at least" : "less than",
                            tens ? (int)tens : 10, most->what);
    return most->subject[0] ? tp_printf(a, "%.*s of `%s`", TP_FMT(part), most->subject) : part;
}

tp_str tp_budget_reason(tp_arena *a, tp_budget *b)
{
    tp_str most = dearest_text(a, b);
    switch (b->end) {
    case TP_BUDGET_MEMORY:
        return tp_printf(a, "the spec needs more memory than the %lld MiB of --memory-limit; %.*s", (long long)b->mib,
                         TP_FMT(most));
    case TP_BUDGET_TIME:
        return tp_printf(a,
                         "unknown(time): the CPU seconds ran out before the work units of --timeout %lld; another "
                         "machine may decide it; %.*s",
                         (long long)b->timeout, TP_FMT(most));
    case TP_BUDGET_OPEN: break;
    }
    return tp_printf(a, "its share of the work budget is spent (--timeout %lld raises it); %.*s", (long long)b->timeout,
                     TP_FMT(most));
}

tp_str tp_budget_or(tp_arena *a, tp_str otherwise)
{
    tp_budget *b = tp_arena_budget(a);
    return tp_budget_over(b) ? tp_budget_reason(a, b) : otherwise;
}
