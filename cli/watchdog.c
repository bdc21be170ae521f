#define _POSIX_C_SOURCE 200809L
#include "cli/watchdog.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"

static long long cpu_ms(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000 : 0;
}

tp_watched tp_watched_here(void)
{
    return (tp_watched){.thread = pthread_self(), .began = -1};
}

void tp_watched_begin(tp_watched *w, const tp_str *spec)
{
    w->began = -1; /* never this spec with the time of the last one */
    w->spec = spec;
    w->began = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
}

void tp_watched_end(tp_watched *w)
{
    w->began = -1;
}

_Noreturn static void give_up(tp_str spec)
{
    tp_say(stderr,
           "tileproof: %.*s: stopped at twice the CPU seconds of --timeout, in a part that does not count its work: it "
           "is undecided, and no report is written",
           TP_FMT(spec));
    tp_remove_unfinished();
    _exit(TP_EXIT_UNKNOWN);
}

static void look_at(const tp_watchdog *g, const tp_watched *w)
{
    long long began = w->began;
    const tp_str *spec = w->spec;
    clockid_t clock;
    if (began >= 0 && pthread_getcpuclockid(w->thread, &clock) == 0 && cpu_ms(clock) - began > g->most &&
        w->began == began)
        give_up(*spec);
}

static void *watch(void *arg)
{
    tp_watchdog *g = arg;
    pthread_mutex_lock(&g->lock);
    while (!g->done) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&g->ended, &g->lock, &until);
        for (uint32_t i = 0; i < g->n && !g->done; i++)
            look_at(g, &g->of[i]);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

void tp_watchdog_start(tp_watchdog *g, tp_watched *of, uint32_t n, int64_t timeout)
{
    *g = (tp_watchdog){.of = of, .n = n, .most = timeout * 1900};
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->ended, NULL);
    g->started = timeout > 0 && pthread_create(&g->thread, NULL, watch, g) == 0;
}

void tp_watchdog_stop(tp_watchdog *g)
{
    pthread_mutex_lock(&g->lock);
    g->done = true;
    pthread_cond_signal(&g->ended);
    pthread_mutex_unlock(&g->lock);
    if (g->started)
        pthread_join(g->thread, NULL);
}
