/* The last resort behind the budgets: work that nobody counts, for ever. A
 * thread that has spent twice the CPU seconds of --timeout on one spec cannot
 * be asked to stop, so that the program ends: a sentence on standard error,
 * exit code 4, nothing half-written. */
#ifndef TP_WATCHDOG_H
#define TP_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/str.h"

struct tp_cli;

/* A thread that works on specs, one after the other. */
typedef struct tp_watched_thread {
    pthread_t thread;
    atomic_llong began;           /* CPU milliseconds of the thread when its spec began; -1: it has none */
    _Atomic(const tp_str *) spec; /* its path */
} tp_watched_thread;

/* What a terminal shows of the work, once a second. */
typedef struct tp_progress {
    bool shown;        /* else nothing */
    const char *parts; /* "specs"; NULL: there is one */
    atomic_uint done, of;
    pthread_mutex_t *printing; /* whoever prints on that terminal has it; NULL: nobody else prints */
} tp_progress;
/* Is standard error a terminal that may show it? */
bool tp_progress_wanted(const struct tp_cli *c);
/* Takes the line away, before something else is printed. */
void tp_progress_clear(const tp_progress *p);

typedef struct tp_watchdog {
    tp_watched_thread *of;
    tp_progress *progress; /* or NULL */
    struct timespec start;
    uint32_t n;
    long long most; /* CPU milliseconds */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    bool started, done; /* done: under the lock */
} tp_watchdog;

/* This thread, without a spec. */
tp_watched_thread tp_watched_here(void);
/* Both are called by the thread itself. The path stays until the end; it may begin again before. */
void tp_watched_begin(tp_watched_thread *w, const tp_str *spec);
void tp_watched_end(tp_watched_thread *w);

/* This thread works on the spec, too, beside the one that began it; NULL: no longer. */
void tp_watched_help(const tp_str *spec);

/* Watch `n` threads, and those that help them; `timeout` in seconds, 0: none is ever stopped. Where no
 * thread can be had for it, nobody watches. `progress`: to be shown; may be NULL. */
void tp_watchdog_start(tp_watchdog *g, tp_watched_thread *of, uint32_t n, int64_t timeout, tp_progress *progress);
void tp_watchdog_stop(tp_watchdog *g);

#endif
