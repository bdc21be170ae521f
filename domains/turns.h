/* Where, on the way between two inputs, a decision turns: the decisions of a run
 * at each end are held against each other, and between the ends bisection finds
 * the neighbours of which one decides as the beginning does, the other not. */
#ifndef TP_TURNS_H
#define TP_TURNS_H

#include "base/rng.h"
#include "domains/domain.h"

enum { TP_DECISION_KINDS = 6, TP_TURNS_OF_A_KIND = 2, TP_MAX_TURNS = TP_DECISION_KINDS * TP_TURNS_OF_A_KIND };

/* A decision that the ends do not share: its number in the log, and what is decided at the beginning. */
typedef struct tp_turn {
    size_t number;
    double first;
} tp_turn;

/* Room for as many decisions, in `a`. */
tp_decision_log tp_decision_log_new(tp_arena *a, size_t room);
/* A copy of what is in it, in `a`. */
tp_decision_log tp_decision_log_copy(tp_arena *a, const tp_decision_log *log);

/* Decisions that differ between the two logs, a few of each kind, by chance; all kinds take turns. */
uint32_t tp_turns_between(const tp_decision_log *first, const tp_decision_log *last, tp_rng *rng,
                          tp_turn out[TP_MAX_TURNS]);

/* Fills the log with what is decided this part of the way (0 to 1); false: it cannot. */
typedef bool (*tp_decide_at)(void *ctx, double way);
/* The turn lies between *lo and *hi, at most `least` apart; false: decide() gave up. */
bool tp_find_turn(const tp_turn *t, double least, const tp_decision_log *log, tp_decide_at decide, void *ctx,
                  double *lo, double *hi);

#endif
