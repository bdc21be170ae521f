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

static void drop_impossible(proof *x, fleet *all)
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
    tp_expr one = tp_const(p, 1);
    fleet_add_moved(x, now, before, sym, turn, tp_op2(p, TP_E_EQ, turn, tp_const(p, 0)));
    fleet_add_moved(x, now, left, sym, tp_op2(p, TP_E_SUB, turn, one), tp_op2(p, TP_E_GE, turn, one));
    drop_impossible(x, now);
}

static bool turns(proof *x, flight_span s, tp_expr turn, tp_expr count, fleet *all);

/* ---- the same, however often ---- */

static bool once(proof *x, flight_span s, fleet *all)
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
            uint32_t at = 0;
            while (at < npath && !tp_same(all[k], path[at]))
                at++;
            if (!asked || at == npath)
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
    once(&guess, s, &now);
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

static bool is_left(proof *x, tp_expr turn, fleet *now, const fleet *left)
{
    fleet expected = left_by_turn(x, turn, left);
    if (!fleet_is_followed(x, turn, left) || !fleet_is_readable(x, left))
        return false;
    drop_impossible(x, now);
    if (same_fleet(x, now, &expected))
        return true;
    if (x->f->kept.len)
        say_alike(x, now, &expected);
    join_alike(x, now);
    return same_fleet(x, now, &expected);
}

/* Copies that last past steps which neither start nor wait: those of a step that found nothing, without some of their
 * conditions. Where no such guess is kept, with all of them, of
 * steps; of turns there is another guess. */
static bool guess_lasting(proof *x, flight_span s, tp_expr turn, const fleet *all, fleet *left)
{
    fleet first = {0};
    proof guess = *x;
    guess.guessing = true;
    once(&guess, s, &first);
    drop_impossible(&guess, &first);
    if (fleet_step_ends(x, turn))
        fleet_say_next(&guess, turn, &first);
    x->questions = guess.questions;
    for (uint32_t without = 1; fleet_lasts(x, &first, without, left); without++) {
        fleet now = {0};
        proof attempt = *x;
        attempt.guessing = false;
        found_by_turn(&attempt, all, left, turn, &now);
        bool kept = now.len <= MOST_IN_FLIGHT && once(&attempt, s, &now) && is_left(&attempt, turn, &now, left);
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
    once(guess, s, now);
    drop_impossible(guess, now);
    if (fleet_step_ends(guess, turn))
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
    fleet found = fleet_copy(x, all); /* a turn that keeps what it finds */
    proof attempt = *x;
    fleet expected = left_by_turn(x, turn, all);
    if (fleet_is_followed(x, turn, all) && once(&attempt, s, &found) &&
        (drop_impossible(&attempt, &found), same_fleet(&attempt, &found, &expected))) {
        *x = attempt;
        return true;
    }
    x->questions = attempt.questions;
    if (!count.id)
        return fleet_fails(x, "what a turn of a loop leaves in flight is not shown", &x->f->events.at[s.from]);
    fleet left = {0}, aside = {0}, rest = {0};
    put_aside(x, s, turn, all, &aside, &rest);
    if (!guess_left(x, s, turn, &rest, &left))
        return fleet_fails(x, "too many copies are in flight", NULL);
    fleet now = {0};
    found_by_turn(x, &rest, &left, turn, &now);
    add_aside(x, &aside, &now);
    if (now.len > MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", NULL);
    bool guessed = x->guessing && x->f->kept.len && fleet_is_axis(x, turn); /* what the axis around makes of it */
    if (!guessed && !once(x, s, &now))
        return false;
    drop_aside(&aside, &now);
    if (!guessed && !is_left(x, turn, &now, &left))
        return fleet_fails(x, "what is in flight differs from step to step in a way that is not followed", NULL);
    fleet after = aside;
    fleet_add_moved(x, &after, &left, sym, tp_op2(p, TP_E_SUB, count, one), tp_op2(p, TP_E_GE, count, one));
    fleet_add_moved(x, &after, &rest, sym, turn, tp_op2(p, TP_E_LT, count, one));
    drop_impossible(x, &after);
    if (after.len > MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", NULL);
    *all = after;
    return true;
}

static bool moves(const tp_flow *f, uint32_t from, uint32_t to)
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
        } else if (e->kind == TP_FLOW_LOOP && moves(x->f, i, end)) {
            good = turns(x, (flight_span){i + 1, end, x->a->k->naxes}, e->counter.start[0], e->bits, all);
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

/* No window moves under a copy that lasts longer than its step. */
static bool stays(const tp_kernel *k, const flight *y)
{
    const tp_operand *from = &k->operands[y->event.from.operand], *to = &k->operands[y->event.place.operand];
    return (tp_is_far(from) || from->role == TP_SCRATCH) && (tp_is_far(to) || to->role == TP_SCRATCH);
}

void flight_begin(proof *x)
{
    uint32_t n = x->f->vars.len;
    x->basis = tp_basis_join(x->a->arena, x->basis, flow_basis(x->a, x->f, FLOW_ALL_BIRTHS));
    tp_var *walk = TP_NEWN(x->a->arena, tp_var, TP_WALK_SETS * n + 1);
    tp_expr *twin = TP_NEWN(x->a->arena, tp_expr, (TP_WALK_SETS - 1) * n + 1);
    for (uint32_t i = 0; i < n; i++)
        walk[i] = x->f->vars.at[i];
    for (uint32_t i = 0; i < (TP_WALK_SETS - 1) * n; i++) {
        twin[i] = tp_sym_new(x->a->p, tp_printf(x->a->arena, "turn%u", i));
        walk[n + i] = x->f->vars.at[i % n];
        walk[n + i].sym = (uint32_t)tp_expr_get(x->a->p, twin[i])->value;
        walk[n + i].lo = tp_const(x->a->p, 0);
        walk[n + i].hi = tp_const(x->a->p, INT32_MAX);
    }
    x->walk = walk;
    x->twin = twin;
    x->round = ++x->f->asked->rounds;
}

static bool moves_in_loops(const tp_flow *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->events.len && !any; i++)
        any = f->events.at[i].kind == TP_FLOW_LOOP && moves(f, i, flight_loop_end(f, i));
    return any;
}

/* All is well at the end. */
static bool nothing_left(proof *x, fleet *all)
{
    drop_impossible(x, all);
    return !all->len || fleet_fails(x, "that this copy is waited for at the end is not shown", &all->at[0].event);
}

/* Where axis number `axis` has n steps and those behind it have one. What goes wrong mostly does so there, and that is
 * told soon. */
static bool good_in(proof *x, uint32_t axis, int64_t n)
{
    tp_exprs *p = x->a->p;
    const tp_axis *axes = x->a->k->axes;
    proof small = *x;
    fleet all = {0};
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) {
        fleet moved = {0};
        small.assumed = tp_const(p, 1);
        for (uint32_t k = axis; k < x->a->k->naxes; k++) {
            tp_expr steps = tp_const(p, k == axis ? n : 1), at = tp_const(p, k == axis ? i : 0);
            tp_expr here =
                tp_and(p, tp_op2(p, TP_E_EQ, axes[k].steps, steps), tp_op2(p, TP_E_EQ, tp_sym(p, axes[k].sym), at));
            small.assumed = tp_and(p, small.assumed, here);
        }
        good = flight_run(&small, 0, x->f->events.len, &all);
        drop_impossible(&small, &all);
        fleet_add_moved(&small, &moved, &all, axes[axis].sym, tp_const(p, i), tp_const(p, 1));
        all = moved;
    }
    good = good && nothing_left(&small, &all);
    x->questions = small.questions;
    x->why = small.why;
    x->at = small.at;
    return good;
}

/* Nothing of a proof counts whose expressions were cut. */
static bool fits(proof *x)
{
    if (!tp_exprs_overflowed(x->a->p))
        return true;
    tp_exprs_forget_overflow(x->a->p);
    return fleet_fails(x, "the conditions grow too large", NULL);
}

static tp_decision decide(proof x, const tp_syntax **at, tp_str *basis)
{
    tp_analysis *a = x.a;
    const tp_flow *f = x.f;
    fleet all = {0};
    uint32_t axis = a->k->naxes; /* those from here on are sequential: nothing outlasts a step of the ones before */
    while (axis > 0 && !a->k->axes[axis - 1].parallel)
        axis--;
    proof inside = x;
    bool good = flight_run(&inside, 0, f->events.len, &all), crosses = false;
    drop_impossible(&inside, &all);
    if ((!good || all.len) && axis < a->k->naxes) { /* copies last from step to step */
        x.questions = inside.questions;
        crosses = true;
        all = (fleet){0};
        bool many = moves_in_loops(f) || f->kept.len; /* a few steps by themselves tell little */
        good = (many || (good_in(&x, axis, 1) && good_in(&x, axis, 2) && good_in(&x, axis, 3))) &&
               once(&x, (flight_span){0, f->events.len, axis}, &all);
    } else {
        x = inside;
    }
    good = good && nothing_left(&x, &all);
    for (uint32_t i = 0; good && crosses && !x.counting && i < f->events.len; i++) /* which of them do was not kept */
        if (f->events.at[i].kind == TP_FLOW_START)
            good = stays(a->k, &(flight){.event = f->events.at[i]}) ||
                   fleet_fails(&x, "a copy of a window, which moves with the steps", &f->events.at[i]);
    good = fits(&x) && good;
    *at = x.at;
    *basis = x.basis;
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = x.grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = x.why};
}

/* What is asked of counters alone: of those of this memory. */
static bool tally_all(proof *x, tp_memory memory)
{
    bool good = true;
    for (uint32_t i = 0; i < tp_noperands(x->a->k) && good; i++)
        good = x->a->k->operands[i].memory != memory || flight_tally(x, i);
    return good;
}

/* Is this the memory of what other devices count here when their copies arrive? */
static bool is_of_arrivals(const tp_flow *f, uint32_t operand)
{
    bool any = false;
    for (uint32_t i = 0; i + 1 < f->events.len && !any; i++)
        any = flight_goes_away(f, i) && f->events.at[i + 1].counter.operand == operand;
    return any;
}

/* What a device does itself: of a copy that goes away it reads the source alone, and waits for no arrival. No flow:
 * one semaphore counts what goes and what comes. */
static const tp_flow *without_arrivals(proof *x)
{
    tp_flow *f = TP_NEW(x->a->arena, tp_flow);
    *f = *x->f;
    f->events.at = NULL;
    f->events.len = f->events.cap = 0;
    for (uint32_t i = 0; i < x->f->events.len; i++) {
        tp_flow_event e = x->f->events.at[i];
        bool arrives = e.kind != TP_FLOW_LOOP && e.kind != TP_FLOW_END && is_of_arrivals(x->f, e.counter.operand);
        if (e.kind == TP_FLOW_START && arrives && !fleet_fails(x, "one semaphore counts what goes and what comes", &e))
            return NULL;
        if (flight_goes_away(x->f, i)) /* to nowhere */
            e.place = (tp_place){.operand = e.counter.operand,
                                 .rank = 1,
                                 .known = true,
                                 .start = {tp_const(x->a->p, 0)},
                                 .size = {tp_const(x->a->p, 0)},
                                 .stride = {1}};
        if ((e.kind != TP_FLOW_WAIT && e.kind != TP_FLOW_SIGNAL) || !arrives)
            tp_push(x->a->arena, f->events, e);
    }
    return f;
}

/* One device by itself: copy by copy, then with families. */
static bool flies_alone(proof *x, const tp_syntax **at, tp_str *basis)
{
    proof alone = *x;
    alone.f = without_arrivals(x);
    if (!alone.f)
        return false;
    tp_decision d = decide(alone, at, basis);
    alone.families = true;
    if (d.verdict == TP_UNKNOWN && x->f->vars.len)
        d = decide(alone, at, basis);
    if (d.verdict == TP_PROVEN) {
        x->grade = d.grade > x->grade ? d.grade : x->grade;
        x->basis = tp_basis_join(x->a->arena, x->basis, *basis);
        return true;
    }
    x->why = d.reason;
    x->at = *at;
    return false;
}

/* Where devices count alike, what one of them would count alone, if all that it sends came to itself. Then what it does
 * alone with what is in flight, and what arrives. */
static tp_decision decide_on_devices(proof *x, const tp_syntax **at, tp_str *basis)
{
    static const tp_memory MEMORIES[] = {TP_MEM_DMA_SEMAPHORE, TP_MEM_SEMAPHORE, TP_MEM_BARRIER};
    bool good = flight_is_symmetric(x);
    for (uint32_t i = 0; i < sizeof MEMORIES / sizeof *MEMORIES && good; i++)
        good = tally_all(x, MEMORIES[i]);
    good = good && (x->counting || (flies_alone(x, at, basis) && flight_arrivals(x)));
    good = fits(x) && good;
    *at = x->at;
    *basis = tp_basis_join(x->a->arena, x->basis,
                           x->counting ? TP_S(TP_RULE_SLICE_OUT_OF_BOUNDS)
                                       : TP_S(TP_RULE_SLICE_OUT_OF_BOUNDS ", " TP_RULE_DMA_SEMAPHORE));
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = x->grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = x->why};
}

/* Copy by copy; where that shows nothing, with families; where who ends whom is not asked, by what semaphores count. */
static tp_decision decide_flights(tp_analysis *a, bool counting, bool *naming, const tp_syntax **at, tp_str *basis)
{
    proof x = {.a = a, .f = tp_flow_of(a), .grade = TP_GRADE_CERT, .counting = counting, .naming = naming};
    bool devices = !naming && tp_is_connected(a->k) && !x.f->gave_up.n;
    if (!devices && tp_flow_no_memory(x.f).n)
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = tp_flow_no_memory(x.f)};
    flight_begin(&x);
    if (devices)
        return decide_on_devices(&x, at, basis);
    x.unbegun = x.f->kept.len && a->k->naxes > 1;
    tp_decision d = decide(x, at, basis);
    if (d.verdict == TP_UNKNOWN && x.unbegun) {
        x.unbegun = false;
        d = decide(x, at, basis);
    }
    x.families = true;
    if (d.verdict == TP_UNKNOWN && x.f->vars.len)
        d = decide(x, at, basis);
    if (!counting)
        return d;
    proof sums = {.a = a,
                  .f = x.f,
                  .walk = x.walk,
                  .twin = x.twin,
                  .round = x.round,
                  .grade = d.verdict == TP_PROVEN ? d.grade : TP_GRADE_CERT,
                  .counting = true,
                  .basis = *basis};
    bool copies = d.verdict == TP_PROVEN || tally_all(&sums, TP_MEM_DMA_SEMAPHORE);
    if (!copies)
        return d;
    bool good = tally_all(&sums, TP_MEM_SEMAPHORE);
    *at = sums.at;
    *basis = sums.basis;
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = sums.grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = sums.why};
}

typedef struct naming_call {
    tp_analysis *a;
    bool unnamed;
    const tp_syntax **at;
    tp_decision d;
} naming_call;

static void decide_naming(void *arg)
{
    naming_call *x = arg;
    tp_str basis = {NULL, 0};
    x->d = decide_flights(x->a, false, &x->unnamed, x->at, &basis);
}

/* With a part of what is left of the work: the walk, of which other rules want to know, is done. */
bool flow_waits_name_copies(tp_analysis *a, tp_str *why, const tp_syntax **at)
{
    static const tp_share SHARE = {0.75, "following what is in flight", {NULL, 0}};
    const tp_rule *rule = a->rule;
    naming_call x = {.a = a, .at = at};
    a->rule = NULL;
    if (!tp_within(a->arena, &SHARE, decide_naming, &x, why)) {
        x.d = (tp_decision){.verdict = TP_UNKNOWN, .reason = *why};
        tp_exprs_forget_overflow(a->p);
    }
    a->rule = rule;
    *why = x.unnamed ? (tp_str){NULL, 0} : x.d.reason;
    return x.d.verdict == TP_PROVEN;
}

tp_str flow_find_received(tp_analysis *a)
{
    const tp_rule *rule = a->rule;
    const tp_syntax *at = NULL;
    tp_str basis = {NULL, 0};
    proof x = {.a = a, .f = a->flow, .grade = TP_GRADE_CERT};
    bool *received = TP_NEWN(a->arena, bool, tp_noperands(a->k));
    a->rule = NULL;
    flight_begin(&x);
    tp_decision d = decide_on_devices(&x, &at, &basis);
    x.questions = 0;
    bool good = d.verdict == TP_PROVEN && flight_received(&x, received);
    good = fits(&x) && good;
    a->rule = rule;
    if (good) {
        a->received = received;
        a->received_grade = x.grade;
        a->received_by = tp_basis_join(a->arena, x.basis, TP_S(TP_RULE_DMA_SEMAPHORE ", " TP_RULE_IN_FLIGHT));
    }
    return good ? (tp_str){NULL, 0} : x.why.n ? x.why : TP_S("what devices write to each other is not known");
}

/* ---- the rules ---- */

typedef struct rule_call {
    tp_analysis *a;
    bool counting;
    const tp_syntax **at;
    tp_str *basis;
    tp_decision d;
} rule_call;

static void decide_rule(void *arg)
{
    rule_call *x = arg;
    x->d = decide_flights(x->a, x->counting, NULL, x->at, x->basis);
}

/* With a part of what the rule has: a run may decide what is not shown. */
static tp_decision decide_in_share(tp_analysis *a, bool counting, const tp_syntax **at, tp_str *basis)
{
    tp_share share = {0.5, a->rule->code, {NULL, 0}};
    rule_call x = {.a = a, .counting = counting, .at = at, .basis = basis};
    tp_str why;
    if (!tp_within(a->arena, &share, decide_rule, &x, &why)) {
        x.d = (tp_decision){.verdict = TP_UNKNOWN, .reason = why};
        tp_exprs_forget_overflow(a->p);
    }
    return x.d;
}

static bool starts(const tp_statement *s, void *ctx)
{
    const bool *counting = ctx;
    return s->semaphore || (!*counting && tp_copies_within(s));
}

void tp_check_flights(tp_analysis *a, bool counting, const char *proven, const char *violated)
{
    if (!a->k->body || !tp_region_any(&a->k->body->statements, starts, &counting))
        return;
    const tp_syntax *at = NULL;
    tp_str basis = {NULL, 0};
    tp_claim c = {.subject = a->k->name,
                  .loc = a->k->doc->loc,
                  .proven = tp_str_c(proven),
                  .violated = tp_str_c(violated),
                  .approximate = "a case was found that seems to break it"};
    const tp_flow *f = tp_flow_of(a);
    tp_decision d = {.verdict = TP_UNKNOWN, .reason = f->in_flight};
    if (counting || !d.reason.n)
        d = decide_in_share(a, counting, &at, &basis);
    else
        at = f->in_flight_at;
    int64_t *env = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p));
    if (at)
        c.loc = tp_body_loc(a, NULL, at);
    tp_trapped trap = {.arena = a->arena};
    bool shown = d.verdict == TP_PROVEN;
    if (d.verdict == TP_UNKNOWN && tp_runs_to_the_end(a))
        d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_EXACT};
    else if (d.verdict == TP_UNKNOWN && flow_find_trap(a, env, &trap))
        d = (tp_decision){.verdict = TP_VIOLATED, .env = env};
    tp_finding *found = tp_claim_record(a, &c, d, NULL);
    if (shown)
        found->rests_on = basis;
    if (found->verdict == TP_VIOLATED && trap.message.n)
        tp_say_trap(a->rule, &trap, found);
}
