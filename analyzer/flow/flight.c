/* Copies in flight, for all sizes and all steps.
 *
 * The walk over the body notes what happens in a step, in order. Here a set of copies in flight is carried along that
 * list: each with the condition under which it is in flight, its sides, its semaphore and its bits, all expressions
 * over sizes, the step and the counters of loops. A start adds one. A wait settles the copies of its semaphore when it
 * brings the last of their bits. A read or write has to lie apart from what is in flight.
 *
 * What a step, or a turn of a loop, leaves for the next one is guessed and proven: the guess is what a step leaves that
 * finds nothing, one step earlier. A step that finds that must leave it again; the first step finds nothing, and the
 * last one leaves nothing.
 */
#include "analyzer/flow/flight.h"
#include "base/budget.h"

enum { MOST_ROUNDS = 5, FEW_ROUNDS = 2 /* where a set that lasts is found otherwise */ };

/* ---- steps and turns ---- */

static bool same_copy(proof *x, const flight *a, const flight *b)
{
    return a->wait == b->wait && a->twin.id == b->twin.id && !fleet_never_lies(x, a, b) &&
           fleet_follows(x, &a->guard, 1, b->guard) && fleet_follows(x, &b->guard, 1, a->guard) && fleet_lies(x, a, b);
}

void fleet_drop_impossible(proof *x, fleet *all)
{
    uint32_t kept = 0;
    bool quick = x->quick;
    x->quick |= x->guessing;
    for (uint32_t i = 0; i < all->len; i++)
        if (!fleet_follows(x, &all->at[i].guard, 1, tp_const(x->a->p, 0)))
            all->at[kept++] = all->at[i];
    x->quick = quick;
    all->len = kept;
}

/* Is each of a one of b? The same number of each, none twice. */
static bool same_fleet(proof *x, const fleet *a, const fleet *b)
{
    bool taken[MOST_IN_FLIGHT] = {false};
    if (a->len != b->len)
        return false;
    for (uint32_t i = 0; i < a->len; i++) {
        uint32_t k = 0;
        while (k < b->len && (taken[k] || !same_copy(x, &a->at[i], &b->at[k])))
            k++;
        if (k == b->len)
            return false;
        taken[k] = true;
    }
    return true;
}

/* What a turn finds: the first one what was there before, a later one what its predecessor left. */
static void found_by_turn(proof *x, const fleet *before, const fleet *left, tp_expr turn, fleet *now)
{
    tp_exprs *p = x->a->p;
    uint32_t sym = (uint32_t)tp_expr_get(p, turn)->value;
    const tp_flow_turns *tested = fleet_tested(x, turn);
    tp_expr one = tp_const(p, 1), goes = tested ? tested->goes : one, first = tp_op2(p, TP_E_EQ, turn, tp_const(p, 0)),
            later = tp_op2(p, TP_E_GE, turn, one);
    fleet_add_moved(x, now, before, sym, turn, tp_and(p, first, goes));
    fleet_add_moved(x, now, left, sym, tp_op2(p, TP_E_SUB, turn, one), tp_and(p, later, goes));
    fleet_drop_impossible(x, now);
}

static bool turns(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all);

/* ---- the same, however often ---- */

bool flight_over(proof *x, flight_span s, fleet *all)
{
    if (s.axis == x->a->k->naxes)
        return flight_run(x, s.from, s.to, all);
    const tp_axis *axis = &x->a->k->axes[s.axis++];
    return turns(x, s, tp_sym(x->a->p, axis->sym), axis->steps, all);
}

/* The copies of the first turn, as if they lasted until something ends them: without what their start asks of the turn.
 */
static fleet lasting(proof *x, const fleet *first, uint32_t sym)
{
    enum { ROOM = 96 };
    tp_exprs *p = x->a->p;
    fleet wide = fleet_copy(x, first);
    for (uint32_t i = 0; i < wide.len; i++) {
        tp_expr all[ROOM], path[ROOM], guard = tp_const(p, 1);
        uint32_t n = tp_conjuncts(x->a, wide.at[i].guard, all, ROOM),
                 npath = tp_conjuncts(x->a, wide.at[i].event.path, path, ROOM);
        for (uint32_t k = 0; k < n; k++) {
            bool asked = tp_expr_mentions(p, all[k], sym);
            if (!asked || !tp_is_among(all[k], path, npath))
                guard = tp_and(p, guard, all[k]);
        }
        wide.at[i].guard = guard;
    }
    return wide;
}

/* They last until a turn ends them: where the copies of the first turn never meet the wait that does, as in a last turn
 * that is known to be another one, a turn that finds them tells. */
static void last_until_ended(proof *x, flight_span s, fleet *wide)
{
    proof guess = *x;
    fleet now = fleet_copy(x, wide);
    guess.guessing = true;
    flight_over(&guess, s, &now);
    x->questions = guess.questions;
    for (uint32_t i = 0; i < wide->len && i < now.len; i++) {
        flight *y = &wide->at[i];
        if (y->event.syntax == now.at[i].event.syntax && !fleet_follows(x, &y->guard, 1, now.at[i].guard))
            y->guard = now.at[i].guard;
    }
}

/* Copies of one start with the same sides, of which one at most is in flight, become one, which is in flight where one
 * of them is. */
static void join_alike(proof *x, fleet *all)
{
    tp_exprs *p = x->a->p;
    for (uint32_t i = 0; i < all->len; i++)
        for (uint32_t k = i + 1; k < all->len; k++) {
            flight *a = &all->at[i], *b = &all->at[k];
            if (a->wait || b->wait || a->twin.id || b->twin.id || a->event.syntax != b->event.syntax ||
                !fleet_follows(x, NULL, 0, fleet_same_places(x, a, b)) ||
                !fleet_follows(x, (tp_expr[]){a->guard, b->guard}, 2, tp_const(p, 0)))
                continue;
            a->guard = tp_or(p, a->guard, b->guard);
            all->at[k--] = all->at[--all->len];
        }
}

/* What is in flight behind a turn, if the next one finds `left`. */
static fleet left_by_turn(proof *x, tp_expr turn, const fleet *left)
{
    return fleet_step_ends(x, turn) ? fleet_left_for_next(x, turn, left) : *left;
}

/* Copies that lie where one of these lies get its words for that. */
static void say_alike(proof *x, fleet *now, const fleet *words)
{
    for (uint32_t i = 0; i < now->len; i++)
        for (uint32_t k = 0; k < words->len; k++) {
            flight *y = &now->at[i];
            const flight *w = &words->at[k];
            if (y->event.syntax != w->event.syntax || !fleet_lies(x, y, w))
                continue;
            y->event.place = w->event.place;
            y->event.from = w->event.from;
            y->event.counter = w->event.counter;
            break;
        }
}

static bool is_alike(proof *x, fleet *now, const fleet *expected)
{
    fleet_drop_impossible(x, now);
    if (same_fleet(x, now, expected))
        return true;
    if (x->f->kept.len)
        say_alike(x, now, expected);
    join_alike(x, now);
    return same_fleet(x, now, expected);
}

/* Where a test ends the loop, that is asked where another turn follows. When a step ends, it is known what the last
 * turns of its loops were like. */
static bool is_left(proof *x, tp_expr turn, fleet *now, const fleet *left)
{
    const tp_flow_turns *tested = fleet_tested(x, turn);
    fleet expected = left_by_turn(x, turn, left), next = *now;
    tp_expr assumed = x->assumed;
    if (!fleet_is_followed(x, turn, left) || !fleet_is_readable(x, left) || fleet_speaks_of_last(x, left))
        return false;
    if (tested) {
        next = fleet_where(x, now, tested->another);
        expected = fleet_where(x, &expected, tested->another);
        fleet_drop_impossible(x, &expected);
    }
    tp_expr behind = fleet_known_behind(x, turn);
    if (behind.id && x->f->lasts.len)
        x->assumed = assumed.id ? tp_and(x->a->p, assumed, behind) : behind;
    bool alike = is_alike(x, &next, &expected);
    x->assumed = assumed;
    return alike;
}

/* Copies that last past steps which neither start nor wait: those of a step that found nothing, without some of their
 * conditions. Where no such guess is kept, with all of them, of
 * steps; of turns there is another guess. */
static bool guess_lasting(proof *x, flight_span s, tp_expr turn, const fleet *all, fleet *left)
{
    fleet first = {0};
    proof guess = *x;
    guess.guessing = true;
    flight_over(&guess, s, &first);
    fleet_drop_impossible(&guess, &first);
    if (fleet_step_ends(x, turn))
        fleet_say_next(&guess, turn, &first);
    x->questions = guess.questions;
    for (uint32_t without = 1; fleet_lasts(x, &first, without, left); without++) {
        fleet now = {0};
        proof attempt = *x;
        attempt.guessing = false;
        found_by_turn(&attempt, all, left, turn, &now);
        bool kept = now.len <= MOST_IN_FLIGHT && flight_over(&attempt, s, &now) && is_left(&attempt, turn, &now, left);
        x->questions = attempt.questions;
        if (kept)
            return true;
    }
    *left = first;
    return fleet_is_axis(x, turn);
}

/* What a turn leaves for the next one, if it finds what was guessed. False: too many copies, or questions. */
static bool guess_again(proof *guess, flight_span s, tp_expr turn, const fleet *all, const fleet *guessed, fleet *now)
{
    if (fleet_asked_enough(guess))
        return false;
    guess->guessing = true;
    found_by_turn(guess, all, guessed, turn, now);
    if (now->len > MOST_IN_FLIGHT)
        return false;
    flight_over(guess, s, now);
    const tp_flow_turns *tested = fleet_tested(guess, turn);
    if (tested)
        *now = fleet_where(guess, now, tested->another);
    fleet_drop_impossible(guess, now);
    if (tested)
        fleet_take_for_granted(guess, tested->another, now);
    if (fleet_step_ends(guess, turn) || fleet_speaks_of_last(guess, now))
        fleet_say_next(guess, turn, now);
    return true;
}

/* Copies that last, told from what the turns behind the first one keep. False: no guess settles. */
static bool guess_joined(proof *x, flight_span s, tp_expr turn, const fleet *all, const fleet *first, fleet *left)
{
    bool settled = false;
    fleet guessed = *first;
    for (int round = 0; round < MOST_ROUNDS && !settled; round++) {
        fleet now = {0};
        proof guess = *x;
        if (!guess_again(&guess, s, turn, all, &guessed, &now))
            return false;
        fleet_tidy(&guess, &now);
        fleet_join(&guess, turn, &now);
        if (x->unbegun)
            fleet_unbegin(&guess, turn, &now);
        if (round)
            fleet_lose(&guess, &guessed, &now);
        settled = same_fleet(&guess, &now, &guessed);
        x->questions = guess.questions;
        guessed = now;
    }
    if (settled)
        *left = guessed;
    return settled;
}

/* What a turn leaves for the next one, as far as a few turns tell. False: too many copies. */
static bool guess_left(proof *x, flight_span s, tp_expr turn, const fleet *all, fleet *left)
{
    fleet first = {0};
    bool said = fleet_step_ends(x, turn) || (x->f->kept.len && fleet_is_axis(x, turn));
    int rounds = said ? FEW_ROUNDS : MOST_ROUNDS; /* copies that last for several turns */
    for (int round = 0; round < rounds; round++) {
        fleet now = {0};
        proof guess = *x;
        if (!guess_again(&guess, s, turn, all, left, &now))
            return false;
        bool settled = same_fleet(&guess, &now, left);
        x->questions = guess.questions;
        *left = now;
        if (settled)
            return true;
        if (!round)
            first = fleet_copy(x, &now);
    }
    if (said && guess_joined(x, s, turn, all, &first, left))
        return true;
    if (!said || !guess_lasting(x, s, turn, all, left)) {
        *left = lasting(x, &first, (uint32_t)tp_expr_get(x->a->p, turn)->value);
        last_until_ended(x, s, left);
    }
    return true;
}

/* Copies on semaphores that the span does not wait for: it ends none of them, and each turn finds them as they are.
 * What is said over what SMEM keeps is said anew in each step. */
static void put_aside(proof *x, flight_span s, tp_expr turn, const fleet *all, fleet *aside, fleet *rest)
{
    for (uint32_t i = 0; i < all->len; i++) {
        bool waited = fleet_is_axis(x, turn) && fleet_speaks_of_kept(x, &all->at[i]);
        for (uint32_t k = s.from; k < s.to && !waited; k++)
            waited = x->f->events.at[k].kind == TP_FLOW_WAIT &&
                     x->f->events.at[k].counter.operand == all->at[i].event.counter.operand;
        if (waited)
            tp_push(x->a->arena, *rest, all->at[i]);
        else
            tp_push(x->a->arena, *aside, all->at[i]);
    }
}

/* They are there in a turn, and are not compared with what the next one finds. */
static void add_aside(proof *x, const fleet *aside, fleet *now)
{
    for (uint32_t i = 0; i < aside->len; i++) {
        flight y = aside->at[i];
        y.aside = aside;
        tp_push(x->a->arena, *now, y);
    }
}

static void drop_aside(const fleet *aside, fleet *now)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < now->len; i++)
        if (now->at[i].aside != aside)
            now->at[kept++] = now->at[i];
    now->len = kept;
}

/* If a turn finds this guess, does it leave it again? `now`: what is in flight behind a turn. */
static bool is_kept(proof *x, flight_span s, tp_expr turn, const fleet *rest, const fleet *aside, const fleet *left,
                    fleet *now)
{
    found_by_turn(x, rest, left, turn, now);
    add_aside(x, aside, now);
    if (now->len > MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", NULL);
    bool guessed = x->guessing && x->f->kept.len && fleet_is_axis(x, turn); /* what the axis around makes of it */
    if (!guessed && !flight_over(x, s, now))
        return false;
    drop_aside(aside, now);
    return guessed || is_left(x, turn, now, left) ||
           fleet_fails(x, "what is in flight differs from step to step in a way that is not followed", NULL);
}

/* What a turn of `s` waits for, if turns leave that for each other. */
static bool leaves_demanded(proof *x, flight_span s, tp_expr turn, tp_expr count, const fleet *rest, const fleet *aside,
                            fleet *left, fleet *now)
{
    proof attempt = *x;
    *now = (fleet){0};
    *left = fleet_demanded(&attempt, s, turn, count);
    bool good = left->len && is_kept(&attempt, s, turn, rest, aside, left, now);
    if (good)
        *x = attempt;
    x->questions = attempt.questions;
    return good;
}

/* What a few turns tell. */
static bool leaves_guessed(proof *x, flight_span s, tp_expr turn, const fleet *rest, const fleet *aside, fleet *left,
                           fleet *now)
{
    *left = *now = (fleet){0};
    if (!guess_left(x, s, turn, rest, left))
        return fleet_fails(x, "too many copies are in flight", NULL);
    return is_kept(x, s, turn, rest, aside, left, now);
}

/* A turn that keeps what it finds. */
static bool keeps_all(proof *x, flight_span s, tp_expr turn, const fleet *all)
{
    fleet found = fleet_copy(x, all), expected = left_by_turn(x, turn, all);
    proof attempt = *x;
    bool good = fleet_is_followed(x, turn, all) && flight_over(&attempt, s, &found);
    if (good) {
        fleet_drop_impossible(&attempt, &found);
        good = same_fleet(&attempt, &found, &expected);
    }
    if (good)
        *x = attempt;
    x->questions = attempt.questions;
    return good;
}

/* The turns of `s`, `turn` their number from 0 to count - 1; `all` before the first turn becomes what is behind the
 * last one. */
static bool turns(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all)
{
    tp_exprs *p = x->a->p;
    uint32_t sym = (uint32_t)tp_expr_get(p, turn)->value;
    tp_expr one = tp_const(p, 1);
    if (flight_of_families(x, s, turn, count, all))
        return flight_count(x, s, TP_FLOW_START) ? flight_start_family(x, s, turn, count, all)
                                                 : flight_end_families(x, s, turn, count, all);
    const tp_flow_turns *tested = count.id ? NULL : fleet_tested(x, turn);
    fleet left = {0}, aside = {0}, rest = {0}, now = {0};
    put_aside(x, s, turn, all, &aside, &rest);
    bool tells = tested || (fleet_is_axis(x, turn) && x->f->kept.len && !x->guessing), /* more than their number does */
        good = tells && leaves_demanded(x, s, turn, count, &rest, &aside, &left, &now);
    if (!good && keeps_all(x, s, turn, all))
        return true;
    if (!good && !count.id && !tested)
        return fleet_fails(x, "what a turn of a loop leaves in flight is not shown", &x->f->events.at[s.from]);
    if (!good && !leaves_guessed(x, s, turn, &rest, &aside, &left, &now)) {
        if (tells || !x->f->lasts.len || !leaves_demanded(x, s, turn, count, &rest, &aside, &left, &now))
            return false;
        x->why = (tp_str){NULL, 0};
    }
    fleet after = aside;
    if (tested) {
        fleet_add_last(x, tested, &rest, &now, &after);
    } else {
        fleet_add_moved(x, &after, &left, sym, tp_op2(p, TP_E_SUB, count, one), tp_op2(p, TP_E_GE, count, one));
        fleet_add_moved(x, &after, &rest, sym, turn, tp_op2(p, TP_E_LT, count, one));
    }
    fleet_drop_impossible(x, &after);
    if (after.len > MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", NULL);
    *all = after;
    return true;
}

bool flight_moves(const tp_flow *f, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (f->events.at[i].kind == TP_FLOW_START || f->events.at[i].kind == TP_FLOW_WAIT)
            return true;
    return false;
}

/* Nothing that moves a buffer of the scope, or counts on its semaphores, is in flight any more. */
static bool leave(proof *x, fleet *all, const tp_flow_event *e)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        const flight y = all->at[i];
        bool mine = tp_in_scope(e->scope, y.event.place.operand) || tp_in_scope(e->scope, y.event.from.operand) ||
                    tp_in_scope(e->scope, y.event.counter.operand);
        bool gone = mine && fleet_follows(x, (tp_expr[]){e->path, y.guard}, 2, tp_const(x->a->p, 0));
        if (mine && !gone && !x->guessing)
            return fleet_fails(x, "that this copy is waited for before its `with` ends is not shown", &y.event);
        if (!mine || gone)
            all->at[kept++] = y;
    }
    all->len = kept;
    return true;
}

bool flight_step(proof *x, const tp_flow_event *e, fleet *all)
{
    switch (e->kind) {
    case TP_FLOW_READ: return fleet_look(x, all, e, &e->place, false);
    case TP_FLOW_WRITE: return fleet_look(x, all, e, &e->place, true);
    case TP_FLOW_COPY: return fleet_sides(x, e);
    case TP_FLOW_START: return fleet_start(x, all, e);
    case TP_FLOW_WAIT: return fleet_wait(x, all, e);
    case TP_FLOW_LEAVE: return leave(x, all, e);
    case TP_FLOW_SIGNAL: /* no copy; tally.c */
    case TP_FLOW_AWAIT:
    case TP_FLOW_LOOP:
    case TP_FLOW_END: break;
    }
    return true;
}

bool flight_run(proof *x, uint32_t from, uint32_t to, fleet *all)
{
    for (uint32_t i = from; i < to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        uint32_t end = e->kind == TP_FLOW_LOOP ? flight_loop_end(x->f, i) : i;
        bool good;
        if (e->kind == TP_FLOW_LOOP && fleet_speaks_of_turn(x, all, e->counter.start[0])) {
            good = fleet_fails(x, "where a loop left this copy when it was executed before is not followed", e);
        } else if (e->kind == TP_FLOW_LOOP && flight_moves(x->f, i, end)) {
            good = turns(x, (flight_span){i + 1, end, x->a->k->naxes}, e->counter.start[0], e->turns, all);
            i = end;
        } else {
            good = flight_step(x, e, all);
        }
        if (fleet_asked_enough(x))
            return fleet_fails(x, NULL, e);
        if (!good && !x->guessing)
            return false;
        if (!good)
            x->why = (tp_str){NULL, 0};
    }
    return true;
}
