/* One counter: what tally.c executes and proves, and tally_guess.c guesses in between. */
#ifndef TP_TALLY_H
#define TP_TALLY_H

#include "analyzer/flow/flight.h"

enum { MOST_ELEMENTS = 16 };

/* What was held somewhere, at these values of all symbols. */
typedef struct sighting {
    const int64_t *env;
    int64_t held;
} sighting;
typedef TP_VEC(sighting) sightings;

/* What is left; or all that was added, of which waits take nothing off: what others may have added before this device
 * waits; or all that was taken. */
typedef enum counting_of { OF_BOTH, OF_ADDED, OF_TAKEN } counting_of;

/* One counter. Places: 0, the begin of a step; 1 + i, that of a turn of the loop of event number i. */
typedef struct tally {
    proof *x;
    uint32_t operand, axis;  /* axes from this one on are sequential */
    tp_expr at[TP_MAX_RANK]; /* which element; of more than a few: any, a variable */
    tp_expr given;           /* ... that is one */
    tp_var any[TP_MAX_RANK];
    uint32_t nany;
    counting_of what;
    bool units;      /* all that counts on it counts by the same: that is 1 */
    tp_expr *before; /* not NULL: by event, what is found before it */
    sightings *seen;
    tp_expr *held; /* the guess, once there is one */
    uint32_t executed, most;
    bool cut;       /* it was, before the end */
    int64_t now;    /* while executing */
    tp_arena *work; /* what lasts for this counter */
} tally;

static inline bool tally_takes(const tp_flow_event *e)
{
    return e->kind == TP_FLOW_WAIT || e->kind == TP_FLOW_AWAIT;
}

static inline bool tally_gives(const tp_flow_event *e)
{
    return e->kind == TP_FLOW_START || e->kind == TP_FLOW_SIGNAL;
}

static inline bool tally_counts(const tally *t, const tp_flow_event *e)
{
    return e->counter.operand == t->operand &&
           ((t->what != OF_TAKEN && tally_gives(e)) || (t->what != OF_ADDED && tally_takes(e)));
}

/* Does the sum go up? */
static inline bool tally_adds(const tally *t, const tp_flow_event *e)
{
    return t->what == OF_TAKEN || tally_gives(e);
}

static inline tp_expr tally_amount(const tally *t, const tp_flow_event *e)
{
    return t->units ? tp_const(t->x->a->p, 1) : e->bits;
}

static inline bool tally_evaluates(const tally *t, tp_expr e, const int64_t *env, int64_t *v)
{
    return tp_expr_eval(t->x->a->p, e, env, v) == TP_EVAL_OK;
}

/* tally_guess.c: the plainest expression that agrees with all that was seen at the place; no id: there is none. */
tp_expr tally_guess(tally *t, uint32_t place);

#endif
