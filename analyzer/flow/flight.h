/* Copies in flight: shared by fleet.c, what one event does to them, and flight.c, what steps and turns do. */
#ifndef TP_FLIGHT_H
#define TP_FLIGHT_H

#include "analyzer/flow/internal.h"

enum { MOST_IN_FLIGHT = 64, TP_WALK_SETS = 3 /* the walk's variables, and two others for each */ };

typedef struct flight {
    tp_expr guard;
    tp_flow_event event; /* the start */
    bool wait; /* no copy, but a wait that brought some bits of its counter, and not the last: they count against it */
    tp_expr twin; /* a family: one copy for each value of this variable for which the guard holds; no id: one copy */
    const void *aside; /* the loop around that passes it by, while that is followed; else NULL */
} flight;
typedef TP_VEC(flight) fleet;

typedef struct proof {
    tp_analysis *a;
    const tp_flow *f;
    const tp_var *walk;  /* variables of the walk, then twice their twins, which have no bounds */
    const tp_expr *twin; /* by variable of the walk; behind them the second ones */
    tp_grade grade;
    uint32_t round; /* of f->asked */
    uint32_t questions;
    tp_expr assumed;     /* no id: nothing */
    bool quick;          /* no search and no solver */
    bool guessing;       /* what does not fit is passed over */
    bool families;       /* loops that only start copies leave a family */
    bool unbegun;        /* guesses do not ask whether an axis around is behind its first step: what SMEM keeps tells */
    bool *naming;        /* not NULL: waits have to name the sides of what they end; set where one does not */
    bool counting;       /* only what is waited for is asked, not who uses the memory */
    const tp_var *extra; /* further variables of what is asked */
    uint32_t nextra;
    tp_str basis;        /* what is promised and used */
    tp_str why;          /* why nothing is shown; empty: all is well so far */
    const tp_syntax *at; /* ... and where */
} proof;

/* Is the goal proven for all sizes, steps and turns where these conditions hold? */
bool fleet_follows(proof *x, const tp_expr *given, uint32_t n, tp_expr goal);
/* Then nothing more follows. */
bool fleet_asked_enough(const proof *x);
/* They are one place. */
tp_expr fleet_equal_places(proof *x, const tp_place *a, const tp_place *b);
/* Both sides and the semaphore are the same places, of as many bits. */
tp_expr fleet_same_places(proof *x, const flight *a, const flight *b);
/* False. The first reason is kept, with its place; where no more is asked, that is it, and `why` may be NULL. */
bool fleet_fails(proof *x, const char *why, const tp_flow_event *e);
/* Does the place, read or written, lie apart from what is in flight? */
bool fleet_look(proof *x, const fleet *all, const tp_flow_event *e, const tp_place *at, bool writes);
/* A copy within one buffer writes what it reads, unless its sides lie apart. */
bool fleet_sides(proof *x, const tp_flow_event *e);
bool fleet_start(proof *x, fleet *all, const tp_flow_event *e);
/* A wait takes its bits off the counter, in each case of what that has; where it has no others, all is settled. */
bool fleet_wait(proof *x, fleet *all, const tp_flow_event *e);
/* Does a wait name the sides of the copy? Who follows values takes a wait for a store, but not one that names an array:
 * then the copy was stored at its start, if it went out to an array. */
tp_expr fleet_names_sides(proof *x, const tp_flow_event *copy, const tp_flow_event *wait);

/* What is repeated: the events from `from` to before `to`, in each step of the axes from `axis` on. */
typedef struct flight_span {
    uint32_t from, to, axis;
} flight_span;
/* flight_decide.c: a proof begins, with a second and a third variable for each of the walk. What they run over is said
 * where they are used. */
void flight_begin(proof *x);
/* flight.c: one event, and those from `from` to before `to`; `all` becomes what is in flight behind them. */
bool flight_step(proof *x, const tp_flow_event *e, fleet *all);
bool flight_run(proof *x, uint32_t from, uint32_t to, fleet *all);
/* The span, in all steps of its axes. */
bool flight_over(proof *x, flight_span s, fleet *all);
/* Does one of these events start a copy, or wait for one? */
bool flight_moves(const tp_flow *f, uint32_t from, uint32_t to);
/* Without copies that are never in flight. */
void fleet_drop_impossible(proof *x, fleet *all);
fleet fleet_copy(proof *x, const fleet *all);
/* The copies with `value` for the symbol, under one condition more. */
void fleet_add_moved(proof *x, fleet *into, const fleet *from, uint32_t sym, tp_expr value, tp_expr when);
/* families.c: is this a loop that starts copies and waits for none, or one of waits for what such a loop started? */
bool flight_of_families(const proof *x, flight_span s, tp_expr turn, tp_expr count, const fleet *all);
bool flight_start_family(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all);
/* A loop that waits in each turn and starts nothing. */
bool flight_end_families(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all);
/* Events of this kind among those of a span; loops that move data count as all kinds. */
uint32_t flight_count(const proof *x, flight_span s, tp_flow_event_kind kind);
/* fleet.c: the symbols of the copy replaced. */
void fleet_put(proof *x, flight *y, const tp_expr *with, uint32_t n);
/* tested.c: the loop of these turns, if a test ends it after a number of turns that is not known; else NULL. */
const tp_flow_turns *fleet_tested(const proof *x, tp_expr turn);
/* What such a loop leaves, of which the first turn found `before`, and a turn leaves `now`. */
void fleet_add_last(proof *x, const tp_flow_turns *loop, const fleet *before, const fleet *now, fleet *into);
/* What is known of last turns of loops when such a turn, or step, ends; no id: nothing. Behind a row of steps nothing
 * is: it is said over what its last step found in SMEM, and what is in flight there over what the next row finds. */
tp_expr fleet_known_behind(const proof *x, tp_expr turn);
/* The copies under one condition more. */
fleet fleet_where(proof *x, const fleet *all, tp_expr condition);
/* Without those of their conditions that this one has. */
void fleet_take_for_granted(proof *x, tp_expr condition, fleet *all);
/* Does one speak of a loop's last turn? */
bool fleet_mentions_last(const proof *x, tp_expr e);
bool fleet_speaks_of_last(const proof *x, const fleet *all);
/* next.c: does it mention the symbol? */
bool fleet_mentions(const proof *x, const flight *y, uint32_t sym);
/* next.c: does `turn` count steps, of a body that keeps integers in SMEM, or turns of a loop that carries some which
 * are no function of the turn? Then what is left is said over what the next one finds. */
bool fleet_step_ends(const proof *x, tp_expr turn);
bool fleet_is_axis(const proof *x, tp_expr turn);
/* Is one said over what the loop carried when it was executed before? */
bool fleet_speaks_of_turn(const proof *x, const fleet *all, tp_expr turn);
bool fleet_speaks_of_kept(const proof *x, const flight *y);
/* Is known what becomes of all that these are said over? */
bool fleet_is_followed(const proof *x, tp_expr turn, const fleet *found);
/* What is in flight at the begin of the next step, said over what this one found, if that is `found` over what the next
 * one finds. */
fleet fleet_left_for_next(proof *x, tp_expr turn, const fleet *found);
/* A guess, the other way round: what a step leaves, in the words of the next one. */
void fleet_say_next(proof *x, tp_expr turn, fleet *left);
/* Copies as they are without the conditions of these numbers (bits), some of those that their guards ask. False: there
 * are none of these numbers. */
bool fleet_lasts(proof *x, const fleet *first, uint32_t without, fleet *out);
/* demanded.c: a guess of what such a turn leaves for the next one: what that waits for. */
fleet fleet_demanded(proof *x, flight_span s, tp_expr turn, tp_expr count);
/* joined.c: do all table entries exist that a guess reads, where its guards hold? */
bool fleet_is_readable(proof *x, const fleet *all);
/* joined.c: what guards decide of the choices in them, and in places, is put in. */
void fleet_tidy(proof *x, fleet *now);
/* Do their words alone say that they are two places? Then nothing is asked. */
bool fleet_never_lies(proof *x, const flight *a, const flight *words);
/* Where the one is in flight, does it lie where the other's words say? */
bool fleet_lies(proof *x, const flight *a, const flight *words);
/* joined.c: copies of one statement that lie in one place become one, under the conditions that hold of all of them. */
void fleet_join(proof *x, tp_expr turn, fleet *now);
/* Without conditions that an axis but this one is behind its first step. */
void fleet_unbegin(proof *x, tp_expr turn, fleet *now);
/* Of what is left already each copy has those conditions that still hold. */
void fleet_lose(proof *x, const fleet *left, fleet *now);
/* events.c: the END of the loop that begins at event number `at`. */
uint32_t flight_loop_end(const tp_flow *f, uint32_t at);
/* tally.c: does every wait on this semaphore end, and is each of its counters zero at the end, by a proof of what they
 * count? Also true where nothing counts on it. False: x->why and x->at say what is not shown. */
bool flight_tally(proof *x, uint32_t operand);
/* What was added to an element of a semaphore, and taken off, before each event of a device that all count like. */
typedef struct flight_sums {
    tp_expr element[TP_MAX_RANK]; /* variables: which element */
    tp_expr *added, *taken;       /* by event: over the axes, and the turns around it */
    bool units;                   /* in units: each that counts, counts 1; else as they count */
} flight_sums;
/* False: they are not known; x->why and x->at. */
bool flight_sum(proof *x, uint32_t operand, flight_sums *out);
/* fleet.c: a variable for an element of dimension d of the operand. */
tp_var fleet_element(proof *x, uint32_t operand, uint32_t d, tp_expr sym);
/* tally.c: the condition of some choice in e, of which no part is a choice itself; no id: there is none. */
tp_expr flight_choice(const tp_exprs *p, tp_expr e);
/* ... e where that condition holds, or does not. */
tp_expr flight_chosen(tp_exprs *p, tp_expr e, tp_expr condition, bool yes);
/* tally.c: the goal, choice by choice, so that sums without choices are left. */
bool flight_follows(proof *x, tp_expr given, tp_expr goal);
/* ring.c: do all devices count alike, so that flight_tally() speaks of each of them? False: x->why and x->at. */
bool flight_is_symmetric(proof *x);
/* arrivals.c: is what other devices write to this one apart from what it does before it knows that, where all counts
 * are shown to end? False: x->why and x->at. */
bool flight_arrivals(proof *x);
/* received.c: by operand, which refs others write to; is all that is read of them written before, and defined if what
 * is written is, where TP502 and TP504 hold? False: x->why and x->at. */
bool flight_received(proof *x, bool *received);
/* Does a copy to another device begin at event number i? What it counts there is the SIGNAL behind it. */
bool flight_goes_away(const tp_flow *f, uint32_t i);

#endif
