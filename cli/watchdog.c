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

tp_watched_thread tp_watched_here(void)
{
    return (tp_watched_thread){.thread = pthread_self(), .began = -1};
}

void tp_watched_begin(tp_watched_thread *w, const tp_str *spec)
{
    w->began = -1; /* never this spec with the time of the last one */
    w->spec = spec;
    w->began = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
}

void tp_watched_end(tp_watched_thread *w)
{
    w->began = -1;
}

enum { HELPERS = 64 };
static tp_watched_thread helpers[HELPERS];
static atomic_bool busy[HELPERS];
static _Thread_local int mine; /* 1 + number of this thread's */

void tp_watched_help(const tp_str *spec)
{
    if (!spec && mine) {
        tp_watched_end(&helpers[mine - 1]);
        atomic_store(&busy[mine - 1], false);
        mine = 0;
    }
    for (int i = 0; spec && !mine && i < HELPERS; i++) {
        bool no = false;
        if (atomic_compare_exchange_strong(&busy[i], &no, true)) {
            helpers[i].began = -1;
            helpers[i].thread = pthread_self();
            tp_watched_begin(&helpers[i], spec);
            mine = i + 1;
        }
    }
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

static void look_at(const tp_watchdog *g, const tp_watched_thread *w)
{
    long long began = w->began;
    const tp_str *spec = w->spec;
    clockid_t clock;
    if (began >= 0 && pthread_getcpuclockid(w->thread, &clock) == 0 && cpu_ms(clock) - began > g->most &&
        w->began == began)
        give_up(*spec);
}

bool tp_progress_wanted(const tp_cli *c)
{
    return isatty(STDERR_FILENO) && !c->quiet.len && !c->no_progress.len;
}

void tp_progress_clear(const tp_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
}

/* "3 of 20 specs, 12 s: examples/matmul.tile.json" */
static void show(const tp_watchdog *g)
{
    enum { ROOM = 60 };
    const tp_progress *p = g->progress;
    const tp_str *spec = NULL;
    struct timespec now;
    for (uint32_t i = 0; i < g->n && !spec; i++)
        spec = g->of[i].began >= 0 ? g->of[i].spec : NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (p->printing)
        pthread_mutex_lock(p->printing);
    tp_progress_clear(p);
    if (p->parts && p->of)
        fprintf(stderr, "%u of %u %s, ", p->done, p->of, p->parts);
    fprintf(stderr, "%lld s", (long long)(now.tv_sec - g->start.tv_sec));
    if (spec) {
        size_t cut = spec->n > ROOM ? spec->n - ROOM : 0;
        fprintf(stderr, ": %s%.*s", cut ? "…" : "", (int)(spec->n - cut), spec->p + cut);
    }
    fflush(stderr);
    if (p->printing)
        pthread_mutex_unlock(p->printing);
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
        for (uint32_t i = 0; i < g->n && !g->done && g->most; i++)
            look_at(g, &g->of[i]);
        for (int i = 0; i < HELPERS && !g->done && g->most; i++)
            if (atomic_load(&busy[i]))
                look_at(g, &helpers[i]);
        if (g->progress && g->progress->shown && !g->done)
            show(g);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

void tp_watchdog_start(tp_watchdog *g, tp_watched_thread *of, uint32_t n, int64_t timeout, tp_progress *progress)
{
    *g = (tp_watchdog){.of = of, .n = n, .most = timeout * 1900, .progress = progress};
    clock_gettime(CLOCK_MONOTONIC, &g->start);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->ended, NULL);
    g->started = (timeout > 0 || (progress && progress->shown)) && pthread_create(&g->thread, NULL, watch, g) == 0;
}

void tp_watchdog_stop(tp_watchdog *g)
{
    pthread_mutex_lock(&g->lock);
    g->done = true;
    pthread_cond_signal(&g->ended);
    pthread_mutex_unlock(&g->lock);
    if (g->started)
        pthread_join(g->thread, NULL);
    if (g->progress)
        tp_progress_clear(g->progress);
}
