/* Shared by arrivals.c, what others write to a device, credits.c, when they may, and received.c, what is there then.
 *
 * A party is a device somewhere in its run: expressions for its number, its step and the turns of its loops in place of
 * those of this device (NULL: this device). */
#ifndef TP_ARRIVALS_H
#define TP_ARRIVALS_H

#include "analyzer/flow/flight.h"

enum { NO_LOOP = -1 };

typedef struct party {
    tp_expr *with; /* by symbol; no id: it stays */
    uint32_t n;
} party;

/* e is a choice of these where the condition holds. */
typedef struct unrolling {
    tp_expr given, e, choices;
} unrolling;

typedef struct arrivals {
    proof *x;
    tp_exprs *p;
    const tp_flow *f;
    int32_t *around;            /* by event: the innermost loop */
    party one, two;             /* senders */
    TP_VEC(unrolling) unrolled; /* so far */
    flight_sums *sums;          /* by operand, those of semaphores; NULL: not asked for */
    bool *summed;               /* by operand: they are known */
    bool *exact;                /* by operand: its sums tell what has arrived (credits.c) */
    int8_t *grants;             /* by event and operand: arrivals_grants(), 1 yes, -1 no, 0 not asked yet */
    int8_t *quiet; /* by operand, twice: no copy on the one is in flight where the other is signalled; the same */
} arrivals;

static inline tp_expr all_of(arrivals *w, tp_expr a, tp_expr b)
{
    return tp_op2(w->p, TP_E_AND, a, b);
}
static inline tp_expr any_of(arrivals *w, tp_expr a, tp_expr b)
{
    return tp_op2(w->p, TP_E_OR, a, b);
}
static inline tp_expr no_way(arrivals *w)
{
    return tp_const(w->p, 0);
}
static inline tp_expr of_party(const arrivals *w, const party *by, tp_expr e)
{
    return by ? tp_expr_subst(w->p, e, by->with, by->n) : e;
}
tp_coordinates arrivals_coordinates(const arrivals *w, const party *by);
tp_expr arrivals_turn_of(const arrivals *w, int32_t loop);
/* When event number i happens. */
tp_expr arrivals_happens(arrivals *w, uint32_t i);
/* Which device the copy that begins at event number `start`, of that party, goes to, its modulo as choices. */
tp_coordinates arrivals_device(arrivals *w, uint32_t start, const party *by);
/* They are one device. */
tp_expr arrivals_same_device(const arrivals *w, tp_coordinates a, tp_coordinates b);
/* The place, the modulo of its starts as choices where this is given. */
tp_place arrivals_place(arrivals *w, tp_expr given, const tp_place *at);
tp_place arrivals_place_of(const arrivals *w, const party *by, const tp_place *at);
/* Event number i of the one comes before event number k of the other, if both were one device. */
tp_expr arrivals_precedes(arrivals *w, uint32_t i, const party *by, uint32_t k, const party *other);
/* That event number i of this device is not behind the place where all has arrived that counts where this does. */
tp_expr arrivals_not_behind(arrivals *w, uint32_t arrival, uint32_t i, const party *sender);

/* credits.c: what semaphores count by place; which of these counts tell what. */
void arrivals_sum(arrivals *w);
/* For which of them the sums tell what has arrived; once parties are named. */
void arrivals_find_exact(arrivals *w);
/* A condition under which the copy, sent by that party, starts after event number i of this device is over in every
 * order. */
tp_expr arrivals_starts_after(arrivals *w, uint32_t start, const party *sender, uint32_t i);
/* ... under which it has arrived before event number i of this device in every order. */
tp_expr arrivals_has_arrived(arrivals *w, uint32_t start, const party *sender, uint32_t i);
/* Two copies of one sender, to one device, lie apart or arrive one after the other. */
bool arrivals_in_turn(arrivals *w, uint32_t first, uint32_t second);

/* arrivals.c: prepared for questions, with senders named; sums: those of semaphores, too. */
void arrivals_begin(arrivals *w, proof *x, bool sums);
void arrivals_end(arrivals *w);

#endif
