/* What one spec may cost. Work is counted in units, the same on every machine
 * and under every load: units decide what is decided. Memory is counted by
 * chunks of the arenas, which makes it as steady. CPU seconds stand behind
 * both, for machines far slower than expected and for work that nobody counts.
 *
 * A budget belongs to an arena and to the arenas below it (base/arena.h). Work
 * is counted anywhere (tp_charge), and ends at places that say so (tp_spend):
 * there the call leaves through tp_try() with TP_E_BUDGET. Who catches that
 * has decided nothing, and says "unknown" with tp_budget_reason().
 */
#ifndef TP_BUDGET_H
#define TP_BUDGET_H

#include <stdbool.h>

#include "base/str.h"

/* A unit is about the evaluation of one operation of an expression; a processor
 * of 2020 does some 120 million in a second, half of that where two threads
 * share a core. */
enum {
    TP_UNITS_PER_SECOND = 80000000,
    TP_LINT_SECONDS = 10,
    TP_LINT_MIB = 1024,
    TP_VERIFY_SECONDS = 120,
    TP_VERIFY_MIB = 8192,
    TP_BUDGET_PLACES = 64
};

typedef enum tp_budget_end { TP_BUDGET_OPEN, TP_BUDGET_MEMORY, TP_BUDGET_TIME } tp_budget_end;

typedef struct tp_budget_place {
    const char *what; /* the code of a rule, "the cases" */
    char subject[48]; /* an operand's name, or its start; may be empty. A copy: texts of trials go before the budget */
    int64_t cost;     /* units */
} tp_budget_place;

typedef struct tp_budget {
    int64_t spent, limit;                /* units; limit: where the present share ends */
    int64_t look;                        /* units at which the clock is read next */
    tp_budget_end end;                   /* not open: the spec is over, whatever is left of the work */
    size_t bytes, most_bytes, max_bytes; /* of arenas; most: ever; max 0: no limit */
    double seconds, max_seconds;         /* CPU of this thread and its children; max 0: no limit */
    double clock;                        /* of the thread that looked last */
    uint64_t thread;
    bool cut;      /* some share was spent: something is undecided for it */
    bool refused;  /* memory was, to an arena whose limit was what it left */
    bool unsteady; /* some answer may be another at another time: for its seconds, or since the system refused */
    tp_budget_place places[TP_BUDGET_PLACES];
    uint32_t nplaces, place;
    int64_t since;        /* spent when the present place was entered */
    int64_t timeout, mib; /* as the options say */
} tp_budget;

/* `timeout` in seconds and `mib`, 0: no limit. */
void tp_budget_begin(tp_budget *b, int64_t timeout, int64_t mib);
/* The same limits again, for a part that has its own: of what was spent, only the memory is still held. */
void tp_budget_renew(tp_budget *b);
/* Somebody wants the program to end: from now on every budget is over, in all threads. May be called by a signal's
 * handler. */
void tp_budget_interrupt(void);
bool tp_budget_interrupted(void);
/* Is the present share spent, or the spec over? NULL: no. */
bool tp_budget_over(const tp_budget *b);
/* Count CPU seconds of a child process. */
void tp_budget_child(tp_budget *b, double seconds);
/* CPU seconds that are left; a large number without a limit. */
double tp_budget_seconds_left(const tp_budget *b);
/* Read the clock; ends the budget when the time is over. */
void tp_budget_look(tp_budget *b);

/* Work until tp_budget_close() may cost `part` of what is left, e.g. 0.5. The
 * result is for tp_budget_close(). Both do nothing with NULL. */
int64_t tp_budget_share(tp_budget *b, double part);
void tp_budget_close(tp_budget *b, int64_t share);

/* Run fn(ctx) with such a share, on account of a place. False: it is spent, fn
 * was left in the middle, and *why says so. Where the whole spec is over it
 * leaves through the tp_try() around it; so does all else that fn leaves with. */
typedef struct tp_share {
    double part;
    const char *what;
    tp_str subject;
} tp_share;
bool tp_within(tp_arena *a, const tp_share *share, void (*fn)(void *ctx), void *ctx, tp_str *why);

/* From now on work is on account of this place; what was before, for tp_budget_back(). */
uint32_t tp_budget_at(tp_budget *b, const char *what, tp_str subject);
void tp_budget_back(tp_budget *b, uint32_t before);

/* "… spent" in place of `otherwise`, where that is why something was not done. */
tp_str tp_budget_or(tp_arena *a, tp_str otherwise);
/* Why something is undecided: which limit, where most of the work went, which option raises it. */
tp_str tp_budget_reason(tp_arena *a, tp_budget *b);

#endif
