/* The last resort behind the budgets: work that nobody counts, for ever. A
 * thread that has spent twice the CPU seconds of --timeout on one spec cannot
 * be asked to stop, so that the program ends: a sentence on standard error,
 * exit code 4, nothing half-written. */
#ifndef TP_WATCHDOG_H
#define TP_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"

/* A thread that works on specs, one after the other. */
typedef struct tp_watched {
    pthread_t thread;
    atomic_llong began;           /* CPU milliseconds of the thread when its spec began; -1: it has none */
    _Atomic(const tp_str *) spec; /* its path */
} tp_watched;

typedef struct tp_watchdog {
    tp_watched *of;
    uint32_t n;
    long long most; /* CPU milliseconds */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    bool started, done; /* done: under the lock */
} tp_watchdog;

/* This thread, without a spec. */
tp_watched tp_watched_here(void);
/* Both are called by the thread itself. The path stays until the end; it may begin again before. */
void tp_watched_begin(tp_watched *w, const tp_str *spec);
void tp_watched_end(tp_watched *w);

/* Watch `n` threads; `timeout` in seconds, 0: none is ever stopped. Where no
 * thread can be had for it, nobody watches. */
void tp_watchdog_start(tp_watchdog *g, tp_watched *of, uint32_t n, int64_t timeout);
void tp_watchdog_stop(tp_watchdog *g);

#endif
