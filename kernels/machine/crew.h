/* Machines that run parts of one walk, each in a thread and with memory of its own: at the same time (threads.c), or
 * by turns (devices.c). */
#ifndef TP_CREW_H
#define TP_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "kernels/machine/internal.h"

struct tp_crew {
    const tp_run_request *request;
    uint32_t n;
    int processor;        /* of the first worker, when the others are made; -1: not known */
    int64_t outer, inner; /* steps of the leading parallel axes; of the others, for each of those */
    int64_t pieces;
    atomic_bool failed;
    _Atomic uint8_t **claims; /* per operand, per block: 1 + the worker that has it; NULL: not an output */
};

typedef struct tp_worker {
    tp_crew *crew;
    uint32_t number;
    tp_arena *arena;
    tp_budget budget;
    tp_machine machine;
    tp_trap trap;
    pthread_t thread;
    bool started;
} tp_worker;

/* Once the first machine, which works in `a`, is prepared. */
void tp_crew_make_claims(tp_crew *c, tp_arena *a, const tp_machine *m);
/* What the worker's windows and copies moved is on the first machine's account, too. */
void tp_crew_add_moved(const tp_worker *w, const tp_machine *first);
/* What all of them did; the first machine knows what the others claimed. */
void tp_crew_sum_up(tp_crew *c, tp_worker *all, tp_run_stats *stats);

#endif
