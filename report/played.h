/* A kernel that moves its own data is executed once, for the picture of what it starts, signals and waits for. */
#ifndef TP_PLAYED_H
#define TP_PLAYED_H

#include "kernels/machine/schedule.h"
#include "report/report.h"

typedef struct tp_played {
    const tp_kernel *kernel;
    const int64_t *env;
    tp_str sizes;          /* "D = 2, N = 1"; empty: there is one shape */
    tp_schedule *schedule; /* played; NULL: it was not executed, since: */
    tp_str why;
    const char *rule; /* of the trap in which the run ended; NULL: it ended well */
} tp_played;

/* Does the kernel have semaphores? */
bool tp_moves_its_data(const tp_kernel *k);
/* Execute k at these values of its symbols, within bounds of work and memory, and play what it did: all of it, or up
 * to the moment of the trap. In `a`; leaves with TP_E_MEMORY. */
tp_played tp_play_at(tp_arena *a, const tp_kernel *k, const int64_t *env);
/* The same for the smallest case of a finding. False: it has none, or executing it does not break that rule; then
 * nothing is to be shown. */
bool tp_play_finding(tp_arena *a, const tp_spec_report *s, const tp_finding *f, tp_played *out);
/* "i = 0, k = 2": the axes in a step, without that of the devices; empty: there are none. */
tp_str tp_played_step(tp_arena *a, const tp_played *x, int64_t step);

#endif
