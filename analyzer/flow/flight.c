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
 *
 * A loop that starts a copy in each turn and waits for none leaves a family: one copy for each value of a variable that
 * stands for the turn. A loop of waits ends it when the two have the same turns.
 */
#include "analyzer/flow/internal.h"

enum {
    MOST_IN_FLIGHT = 64,
    MOST_ROUNDS = 5,
    MOST_QUESTIONS = 4000,
};

/* ---- questions ---- */

typedef struct flight {
    tp_expr guard;
    tp_flow_event event; /* the start */
    uint32_t waits;      /* waits on its counter that did not bring the last of its bits */
    bool named;          /* one of these had its sides */
    tp_expr twin; /* a family: one copy for each value of this variable for which the guard holds; no id: one copy */
} flight;
typedef TP_VEC(flight) fleet;

typedef struct proof {
    tp_analysis *a;
    const tp_flow *f;
    const tp_var *walk;  /* variables of the walk, then their twins, which have no bounds */
    const tp_expr *twin; /* by variable of the walk */
    tp_grade grade;
    uint32_t questions;
    bool guessing;       /* what does not fit is passed over */
    bool families;       /* loops that only start copies leave a family */
    bool counting;       /* only what is waited for is asked, not who uses the memory */
    tp_str basis;        /* what is promised and used */
    tp_str why;          /* why nothing is shown; empty: all is well so far */
    const tp_syntax *at; /* ... and where */
} proof;

/* Does e speak of the step or of a turn? What speaks of sizes alone would narrow the domain of a claim. */
static bool speaks_of_steps(const proof *x, tp_expr e)
{
    bool any = false;
    for (uint32_t i = 0; i < x->a->k->naxes; i++)
        any |= tp_expr_mentions(x->a->p, e, x->a->k->axes[i].sym);
    for (uint32_t i = 0; i < 2 * x->f->vars.len; i++)
        any |= tp_expr_mentions(x->a->p, e, x->walk[i].sym);
    return any;
}

static bool follows(proof *x, const tp_expr *given, uint32_t n, tp_expr goal)
{
    enum { ROOM = 96 };
    tp_expr all[ROOM + TP_GRANTED], premises[ROOM + TP_GRANTED];
    tp_exprs *p = x->a->p;
    uint32_t nall = 0;
    int64_t v;
    if (++x->questions > MOST_QUESTIONS)
        return false;
    tp_claim c = {.over_steps = true, .premises = premises, .given = x->f->given};
    for (uint32_t i = 0; i < n; i++)
        nall += tp_conjuncts(x->a, given[i], all + nall, ROOM - nall);
    for (uint32_t i = 0; i < nall; i++) {
        tp_expr e = tp_expr_normal(p, all[i]);
        if (tp_expr_is_const(p, e, &v) && !v)
            return true;
        if (speaks_of_steps(x, all[i]))
            premises[c.npremises++] = all[i];
        else if (!tp_expr_is_const(p, e, &v))
            goal = tp_op2(p, TP_E_OR, tp_op1(p, TP_E_NOT, all[i]), goal);
    }
    c.goal = goal = tp_expr_normal(p, goal);
    if (tp_expr_is_const(p, goal, &v) && v)
        return true;
    tp_flow_vars(x->a, x->f, 0, NULL, &c);
    c.walk = x->walk;
    c.nwalk *= 2;
    tp_decision d = tp_claim_decide(x->a, &c);
    if (d.verdict == TP_PROVEN && d.grade > x->grade)
        x->grade = d.grade;
    if (d.verdict == TP_PROVEN)
        x->basis = tp_basis_join(x->a->arena, x->basis, tp_claim_basis(x->a, &c));
    return d.verdict == TP_PROVEN;
}

static tp_expr equal_places(proof *x, const tp_place *a, const tp_place *b)
{
    tp_exprs *p = x->a->p;
    tp_expr all = tp_const(p, a->operand == b->operand && a->known && b->known);
    for (uint32_t d = 0; d < a->rank && a->operand == b->operand; d++) {
        if (a->stride[d] != b->stride[d])
            return tp_const(p, 0);
        all = tp_op2(p, TP_E_AND, all,
                     tp_op2(p, TP_E_AND, tp_op2(p, TP_E_EQ, a->start[d], b->start[d]),
                            tp_op2(p, TP_E_EQ, a->size[d], b->size[d])));
    }
    return all;
}

static bool fails(proof *x, const char *why, const tp_flow_event *e)
{
    if (x->why.n)
        return false;
    x->why = tp_str_c(why);
    x->at = e ? e->syntax : NULL;
    return false;
}

/* ---- events ---- */

static bool look(proof *x, const fleet *all, const tp_flow_event *e, const tp_place *at, bool writes)
{
    for (uint32_t i = 0; i < all->len && !x->counting; i++) {
        const flight *y = &all->at[i];
        tp_expr given[] = {e->path, y->guard};
        bool clear = (y->event.place.operand != at->operand ||
                      follows(x, given, 2, tp_places_apart(x->a->p, at, &y->event.place))) &&
                     (!writes || y->event.from.operand != at->operand ||
                      follows(x, given, 2, tp_places_apart(x->a->p, at, &y->event.from)));
        if (!clear)
            return fails(x, "that this lies apart from what is in flight is not shown", e);
    }
    return true;
}

/* A copy within one buffer writes what it reads, unless its sides lie apart. */
static bool sides(proof *x, const tp_flow_event *e)
{
    return x->counting || follows(x, &e->path, 1, tp_places_apart(x->a->p, &e->from, &e->place)) ||
           fails(x, "that the source of this copy lies apart from its destination is not shown", e);
}

static bool start(proof *x, fleet *all, const tp_flow_event *e)
{
    if (!e->exact || !e->counter.known || !e->place.known || !e->from.known)
        return fails(x, "whether, where or what is copied depends on data", e);
    if (all->len >= MOST_IN_FLIGHT)
        return fails(x, "too many copies are in flight", e);
    tp_push(x->a->arena, *all, ((flight){.guard = e->path, .event = *e}));
    return true;
}

/* Behind the path, nothing of `mine` is in flight any more. */
static void settle(proof *x, fleet *all, const bool *mine, tp_expr path)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        flight y = all->at[i];
        if (mine[i] && follows(x, &y.guard, 1, path))
            continue;
        if (mine[i])
            y.guard = tp_op2(x->a->p, TP_E_AND, y.guard, tp_op1(x->a->p, TP_E_NOT, path));
        all->at[kept++] = y;
    }
    all->len = kept;
}

/* Copies on the counter of the wait, which brings as many bits as each of them. False: that is not shown. */
static bool on_counter(proof *x, const fleet *all, const tp_flow_event *e, bool *mine, uint32_t *n)
{
    *n = 0;
    memset(mine, 0, MOST_IN_FLIGHT * sizeof *mine);
    for (uint32_t i = 0; i < all->len; i++) {
        const flight *y = &all->at[i];
        tp_expr given[] = {e->path, y->guard};
        tp_expr same = equal_places(x, &y->event.counter, &e->counter);
        if (y->event.counter.operand != e->counter.operand || follows(x, given, 2, tp_op1(x->a->p, TP_E_NOT, same)))
            continue;
        bool sure = !y->twin.id && follows(x, given, 2, same) &&
                    follows(x, given, 2, tp_op2(x->a->p, TP_E_EQ, y->event.bits, e->bits));
        if (!sure && !x->guessing)
            return fails(x, "which copies this waits for is not shown", e);
        mine[i] = sure;
        *n += sure;
    }
    return *n || fails(x, "that a copy is in flight here is not shown", e);
}

/* Exactly one of several copies is in flight, each under its own condition. */
static bool one_of_them(proof *x, const fleet *all, const bool *mine, tp_expr path)
{
    tp_expr any = tp_const(x->a->p, 0);
    for (uint32_t i = 0; i < all->len; i++) {
        if (!mine[i])
            continue;
        any = tp_op2(x->a->p, TP_E_OR, any, all->at[i].guard);
        for (uint32_t k = 0; k < i; k++)
            if (mine[k] && !follows(x, (tp_expr[]){path, all->at[i].guard, all->at[k].guard}, 3, tp_const(x->a->p, 0)))
                return false;
    }
    return follows(x, &path, 1, any);
}

/* All of them are in flight, and this wait names the sides of one that no wait has named. */
static bool one_more(proof *x, fleet *all, const bool *mine, const tp_flow_event *e, uint32_t *waits)
{
    flight *found = NULL;
    for (uint32_t i = 0; i < all->len; i++) {
        flight *y = &all->at[i];
        if (!mine[i])
            continue;
        if (!follows(x, &e->path, 1, y->guard) || !follows(x, &y->guard, 1, e->path))
            return false;
        *waits = y->waits + 1;
        if (!found && !y->named && follows(x, &e->path, 1, equal_places(x, &y->event.place, &e->place)) &&
            follows(x, &e->path, 1, equal_places(x, &y->event.from, &e->from)))
            found = y;
    }
    for (uint32_t i = 0; i < all->len; i++)
        all->at[i].waits += mine[i];
    if (found)
        found->named = true;
    return found != NULL;
}

/* Does the wait name the sides of the copy that ends with it, where they matter? Who follows values takes a wait for a
 * store, but not one that names an array: then the copy was stored at its start, if it went out to an array. */
static tp_expr names_sides(proof *x, const flight *y, const tp_flow_event *e)
{
    const tp_operand *all = x->a->k->operands;
    if (tp_is_far(&all[y->event.place.operand]) && tp_is_far(&all[e->place.operand]))
        return tp_const(x->a->p, 1);
    return tp_op2(x->a->p, TP_E_AND, equal_places(x, &y->event.place, &e->place),
                  equal_places(x, &y->event.from, &e->from));
}

static bool wait(proof *x, fleet *all, const tp_flow_event *e)
{
    bool mine[MOST_IN_FLIGHT];
    uint32_t n, waits = 0;
    if (!e->exact || !e->counter.known || !e->place.known || !e->from.known)
        return fails(x, "whether this waits, for what and where depends on data", e);
    if (!on_counter(x, all, e, mine, &n)) {
        if (x->guessing) /* as if it ended what is surely there */
            settle(x, all, mine, e->path);
        return false;
    }
    if (one_of_them(x, all, mine, e->path)) {
        for (uint32_t i = 0; i < all->len; i++)
            if (mine[i] && !x->counting &&
                !follows(x, (tp_expr[]){e->path, all->at[i].guard}, 2, names_sides(x, &all->at[i], e)))
                return fails(x, "that the copy which ends here has these sides is not shown", e);
        settle(x, all, mine, e->path);
        return true;
    }
    if (x->guessing) {
        settle(x, all, mine, e->path);
        return true;
    }
    if (!one_more(x, all, mine, e, &waits))
        return fails(x, "how many copies are in flight on this semaphore is not shown", e);
    if (waits == n)
        settle(x, all, mine, e->path);
    return true;
}

/* ---- steps and turns ---- */

static bool run(proof *x, uint32_t from, uint32_t to, fleet *all);
static bool step(proof *x, const tp_flow_event *e, fleet *all);

static fleet copy_of(proof *x, const fleet *all)
{
    fleet c = {0};
    for (uint32_t i = 0; i < all->len; i++)
        tp_push(x->a->arena, c, all->at[i]);
    return c;
}

static void move_place(proof *x, tp_place *at, const tp_expr *with, uint32_t n)
{
    for (uint32_t d = 0; d < at->rank; d++) {
        at->start[d] = tp_expr_subst(x->a->p, at->start[d], with, n);
        at->size[d] = tp_expr_subst(x->a->p, at->size[d], with, n);
    }
}

/* The copies with `value` for the symbol, under one condition more. */
static void add_moved(proof *x, fleet *into, const fleet *from, uint32_t sym, tp_expr value, tp_expr when)
{
    tp_exprs *p = x->a->p;
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    with[sym] = value;
    for (uint32_t i = 0; i < from->len; i++) {
        flight y = from->at[i];
        y.guard = tp_op2(p, TP_E_AND, tp_expr_subst(p, y.guard, with, n), when);
        move_place(x, &y.event.place, with, n);
        move_place(x, &y.event.from, with, n);
        move_place(x, &y.event.counter, with, n);
        y.event.bits = tp_expr_subst(p, y.event.bits, with, n);
        tp_push(x->a->arena, *into, y);
    }
}

static bool same_copy(proof *x, const flight *a, const flight *b)
{
    tp_exprs *p = x->a->p;
    tp_expr same = tp_op2(p, TP_E_AND, equal_places(x, &a->event.place, &b->event.place),
                          tp_op2(p, TP_E_AND, equal_places(x, &a->event.from, &b->event.from),
                                 equal_places(x, &a->event.counter, &b->event.counter)));
    return !a->waits && !b->waits && a->twin.id == b->twin.id && follows(x, &a->guard, 1, b->guard) &&
           follows(x, &b->guard, 1, a->guard) && follows(x, &a->guard, 1, same);
}

static void drop_impossible(proof *x, fleet *all)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < all->len; i++)
        if (!follows(x, &all->at[i].guard, 1, tp_const(x->a->p, 0)))
            all->at[kept++] = all->at[i];
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
    add_moved(x, now, before, sym, turn, tp_op2(p, TP_E_EQ, turn, tp_const(p, 0)));
    add_moved(x, now, left, sym, tp_op2(p, TP_E_SUB, turn, one), tp_op2(p, TP_E_GE, turn, one));
    drop_impossible(x, now);
}

/* What is repeated: the events from `from` to before `to`, in each step of the axes from `axis` on. */
typedef struct span {
    uint32_t from, to, axis;
} span;

static bool turns(proof *x, span s, tp_expr turn, tp_expr count, fleet *all);

/* ---- families ---- */

static tp_expr twin_of(const proof *x, tp_expr turn)
{
    uint32_t sym = (uint32_t)tp_expr_get(x->a->p, turn)->value, i = 0;
    while (i < x->f->vars.len && x->f->vars.at[i].sym != sym)
        i++;
    return i < x->f->vars.len ? x->twin[i] : (tp_expr){0};
}

/* Events of this kind among those of a span; loops that move data count as all kinds. */
static uint32_t count_events(const proof *x, span s, tp_flow_event_kind kind)
{
    uint32_t n = 0;
    for (uint32_t i = s.from; i < s.to; i++)
        n += x->f->events.at[i].kind == kind || x->f->events.at[i].kind == TP_FLOW_LOOP;
    return n;
}

static tp_expr within(tp_exprs *p, tp_expr v, tp_expr count)
{
    return tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, v, tp_const(p, 0)), tp_op2(p, TP_E_LT, v, count));
}

/* The copies that the turns before number `before` start. */
static void add_families(proof *x, span s, tp_expr turn, tp_expr before, fleet *into)
{
    tp_expr twin = twin_of(x, turn);
    for (uint32_t i = s.from; i < s.to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        fleet one = {0};
        if (e->kind != TP_FLOW_START)
            continue;
        tp_push(x->a->arena, one, ((flight){.guard = e->path, .event = *e}));
        add_moved(x, into, &one, (uint32_t)tp_expr_get(x->a->p, turn)->value, twin, within(x->a->p, twin, before));
        into->at[into->len - 1].twin = twin;
    }
}

/* A loop that starts copies and waits for none. */
static bool start_family(proof *x, span s, tp_expr turn, tp_expr count, fleet *all)
{
    fleet now = copy_of(x, all), after = copy_of(x, all);
    add_families(x, s, turn, turn, &now);
    if (now.len > MOST_IN_FLIGHT)
        return fails(x, "too many copies are in flight", NULL);
    if (!run(x, s.from, s.to, &now))
        return false;
    add_families(x, s, turn, count, &after);
    *all = after;
    return true;
}

/* Of a wait in each turn, with the turns of a family: it ends this one of `all`, where that is the one in flight. */
static bool is_ended_by(proof *x, const flight *y, const tp_flow_event *e, tp_expr turn, tp_expr count, flight *in_turn)
{
    tp_exprs *p = x->a->p;
    fleet one = {0}, moved = {0};
    uint32_t n = tp_sym_count(p), twin = (uint32_t)tp_expr_get(p, y->twin)->value;
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    with[(uint32_t)tp_expr_get(p, turn)->value] = y->twin;
    tp_expr same_turns = tp_op2(p, TP_E_AND, tp_expr_subst(p, e->path, with, n), within(p, y->twin, count));
    for (uint32_t d = 0; d < y->event.counter.rank; d++)
        if (tp_expr_mentions(p, y->event.counter.start[d], twin))
            return false;
    tp_push(x->a->arena, one, *y);
    add_moved(x, &moved, &one, twin, turn, tp_const(p, 1));
    *in_turn = moved.at[0];
    tp_expr given[] = {e->path, in_turn->guard};
    tp_expr same = tp_op2(p, TP_E_AND, equal_places(x, &in_turn->event.counter, &e->counter),
                          tp_op2(p, TP_E_EQ, in_turn->event.bits, e->bits));
    if (!x->counting)
        same = tp_op2(p, TP_E_AND, same, names_sides(x, in_turn, e));
    return !y->waits && follows(x, &y->guard, 1, same_turns) && follows(x, given, 2, same);
}

/* The wait of each turn ends one family: of those on its counter at most one has copies, and that has one for each. */
static bool end_family(proof *x, fleet *all, const tp_flow_event *e, tp_expr turn, tp_expr count, bool *ended)
{
    tp_exprs *p = x->a->p;
    tp_expr any = tp_const(p, 0);
    bool mine[MOST_IN_FLIGHT] = {false};
    for (uint32_t i = 0; i < all->len; i++) {
        const flight *y = &all->at[i];
        flight in_turn;
        tp_expr given[] = {e->path, y->guard};
        if (y->event.counter.operand != e->counter.operand ||
            follows(x, given, 2, tp_op1(p, TP_E_NOT, equal_places(x, &y->event.counter, &e->counter))))
            continue;
        mine[i] = y->twin.id && !ended[i] && is_ended_by(x, y, e, turn, count, &in_turn);
        if (!mine[i] && x->guessing)
            continue;
        if (!mine[i])
            return fails(x, "that these waits end the copies of a loop, turn by turn, is not shown", e);
        any = tp_op2(p, TP_E_OR, any, in_turn.guard);
        for (uint32_t k = 0; k < i && !x->guessing; k++)
            if (mine[k] && (all->at[k].twin.id == y->twin.id ||
                            !follows(x, (tp_expr[]){all->at[k].guard, y->guard}, 2, tp_const(p, 0))))
                return fails(x, "that the copies of one loop only are in flight here is not shown", e);
    }
    for (uint32_t i = 0; i < all->len; i++)
        ended[i] |= mine[i];
    return x->guessing || follows(x, &e->path, 1, any) || fails(x, "that a copy is in flight here is not shown", e);
}

/* A loop that waits in each turn and starts nothing. */
static bool end_families(proof *x, span s, tp_expr turn, tp_expr count, fleet *all)
{
    bool ended[MOST_IN_FLIGHT] = {false};
    uint32_t kept = 0;
    for (uint32_t i = s.from; i < s.to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        if (e->kind != TP_FLOW_WAIT && !step(x, e, all) && !x->guessing) /* all are in flight up to the last wait */
            return false;
        if (e->kind != TP_FLOW_WAIT)
            continue;
        if (!e->exact || !e->counter.known || !e->place.known || !e->from.known)
            return fails(x, "whether this waits, for what and where depends on data", e);
        if (!end_family(x, all, e, turn, count, ended))
            return false;
    }
    for (uint32_t i = 0; i < all->len; i++)
        if (!ended[i])
            all->at[kept++] = all->at[i];
    all->len = kept;
    return true;
}

/* Is this a loop that starts copies and waits for none, or one of waits for what such a loop started? */
static bool is_of_families(const proof *x, span s, tp_expr turn, tp_expr count, const fleet *all)
{
    uint32_t starts = count_events(x, s, TP_FLOW_START), waits = count_events(x, s, TP_FLOW_WAIT);
    bool any = false;
    for (uint32_t i = 0; i < all->len; i++)
        any |= all->at[i].twin.id != 0;
    return x->families && count.id && s.axis == x->a->k->naxes && twin_of(x, turn).id &&
           ((starts && !waits) || (waits && !starts && any));
}

/* ---- the same, however often ---- */

static bool once(proof *x, span s, fleet *all)
{
    if (s.axis == x->a->k->naxes)
        return run(x, s.from, s.to, all);
    const tp_axis *axis = &x->a->k->axes[s.axis++];
    return turns(x, s, tp_sym(x->a->p, axis->sym), axis->steps, all);
}

/* The copies of the first turn, as if they lasted until something ends them: without what their start asks of the turn.
 */
static fleet lasting(proof *x, const fleet *first, uint32_t sym)
{
    enum { ROOM = 96 };
    tp_exprs *p = x->a->p;
    fleet wide = copy_of(x, first);
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
                guard = tp_op2(p, TP_E_AND, guard, all[k]);
        }
        wide.at[i].guard = guard;
    }
    return wide;
}

/* Copies of one start with the same sides, of which one at most is in flight, become one, which is in flight where one
 * of them is. */
static void join_alike(proof *x, fleet *all)
{
    tp_exprs *p = x->a->p;
    for (uint32_t i = 0; i < all->len; i++)
        for (uint32_t k = i + 1; k < all->len; k++) {
            flight *a = &all->at[i], *b = &all->at[k];
            tp_expr same = tp_op2(p, TP_E_AND, equal_places(x, &a->event.place, &b->event.place),
                                  tp_op2(p, TP_E_AND, equal_places(x, &a->event.from, &b->event.from),
                                         equal_places(x, &a->event.counter, &b->event.counter)));
            if (a->waits || b->waits || a->twin.id || b->twin.id || a->event.syntax != b->event.syntax ||
                !follows(x, NULL, 0, same) || !follows(x, (tp_expr[]){a->guard, b->guard}, 2, tp_const(p, 0)))
                continue;
            a->guard = tp_op2(p, TP_E_OR, a->guard, b->guard);
            all->at[k--] = all->at[--all->len];
        }
}

/* What a turn leaves for the next one, as far as a few turns tell. False: too many copies. */
static bool guess_left(proof *x, span s, tp_expr turn, const fleet *all, fleet *left)
{
    fleet first = {0};
    for (int round = 0; round < MOST_ROUNDS; round++) { /* copies that last for several turns */
        fleet now = {0};
        proof guess = *x;
        guess.guessing = true;
        found_by_turn(&guess, all, left, turn, &now);
        if (now.len > MOST_IN_FLIGHT)
            return false;
        once(&guess, s, &now);
        drop_impossible(&guess, &now);
        bool settled = same_fleet(&guess, &now, left);
        x->questions = guess.questions;
        *left = now;
        if (settled)
            return true;
        if (!round)
            first = copy_of(x, &now);
    }
    *left = lasting(x, &first, (uint32_t)tp_expr_get(x->a->p, turn)->value);
    return true;
}

/* The turns of `s`, `turn` their number from 0 to count - 1; `all` before the first turn becomes what is behind the
 * last one. */
static bool turns(proof *x, span s, tp_expr turn, tp_expr count, fleet *all)
{
    tp_exprs *p = x->a->p;
    uint32_t sym = (uint32_t)tp_expr_get(p, turn)->value;
    tp_expr one = tp_const(p, 1);
    if (is_of_families(x, s, turn, count, all))
        return count_events(x, s, TP_FLOW_START) ? start_family(x, s, turn, count, all)
                                                 : end_families(x, s, turn, count, all);
    fleet found = copy_of(x, all); /* a turn that keeps what it finds */
    proof attempt = *x;
    if (once(&attempt, s, &found) && (drop_impossible(&attempt, &found), same_fleet(&attempt, &found, all))) {
        *x = attempt;
        return true;
    }
    x->questions = attempt.questions;
    if (!count.id)
        return fails(x, "what a turn of a loop leaves in flight is not shown", &x->f->events.at[s.from]);
    fleet left = {0};
    if (!guess_left(x, s, turn, all, &left))
        return fails(x, "too many copies are in flight", NULL);
    fleet now = {0};
    found_by_turn(x, all, &left, turn, &now);
    if (now.len > MOST_IN_FLIGHT)
        return fails(x, "too many copies are in flight", NULL);
    if (!once(x, s, &now))
        return false;
    drop_impossible(x, &now);
    if (!same_fleet(x, &now, &left) && (join_alike(x, &now), !same_fleet(x, &now, &left)))
        return fails(x, "what is in flight differs from step to step in a way that is not followed", NULL);
    fleet after = {0};
    add_moved(x, &after, &left, sym, tp_op2(p, TP_E_SUB, count, one), tp_op2(p, TP_E_GE, count, one));
    add_moved(x, &after, all, sym, turn, tp_op2(p, TP_E_LT, count, one));
    drop_impossible(x, &after);
    *all = after;
    return true;
}

static uint32_t end_of(const tp_flow *f, uint32_t at)
{
    uint32_t depth = 0;
    for (uint32_t i = at; i < f->events.len; i++) {
        depth += f->events.at[i].kind == TP_FLOW_LOOP;
        depth -= f->events.at[i].kind == TP_FLOW_END;
        if (!depth)
            return i;
    }
    return f->events.len;
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
        bool gone = mine && follows(x, (tp_expr[]){e->path, y.guard}, 2, tp_const(x->a->p, 0));
        if (mine && !gone && !x->guessing)
            return fails(x, "that this copy is waited for before its `with` ends is not shown", &y.event);
        if (!mine || gone)
            all->at[kept++] = y;
    }
    all->len = kept;
    return true;
}

static bool step(proof *x, const tp_flow_event *e, fleet *all)
{
    switch (e->kind) {
    case TP_FLOW_READ: return look(x, all, e, &e->place, false);
    case TP_FLOW_WRITE: return look(x, all, e, &e->place, true);
    case TP_FLOW_COPY: return sides(x, e);
    case TP_FLOW_START: return start(x, all, e);
    case TP_FLOW_WAIT: return wait(x, all, e);
    case TP_FLOW_COUNT: return fails(x, "what a semaphore counts is not followed yet", e);
    case TP_FLOW_LEAVE: return leave(x, all, e);
    case TP_FLOW_LOOP:
    case TP_FLOW_END: break;
    }
    return true;
}

static bool run(proof *x, uint32_t from, uint32_t to, fleet *all)
{
    for (uint32_t i = from; i < to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        uint32_t end = e->kind == TP_FLOW_LOOP ? end_of(x->f, i) : i;
        bool good;
        if (e->kind == TP_FLOW_LOOP && moves(x->f, i, end)) {
            good = turns(x, (span){i + 1, end, x->a->k->naxes}, e->counter.start[0], e->bits, all);
            i = end;
        } else {
            good = step(x, e, all);
        }
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

/* A second variable for each of the walk. What it runs over is said where it is used. */
static void make_twins(proof *x)
{
    uint32_t n = x->f->vars.len;
    tp_var *walk = TP_NEWN(x->a->arena, tp_var, 2 * n + 1);
    tp_expr *twin = TP_NEWN(x->a->arena, tp_expr, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        twin[i] = tp_sym_new(x->a->p, tp_printf(x->a->arena, "turn%u", i));
        walk[i] = walk[n + i] = x->f->vars.at[i];
        walk[n + i].sym = (uint32_t)tp_expr_get(x->a->p, twin[i])->value;
        walk[n + i].lo = tp_const(x->a->p, 0);
        walk[n + i].hi = tp_const(x->a->p, INT32_MAX);
    }
    x->walk = walk;
    x->twin = twin;
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
    bool good = run(&inside, 0, f->events.len, &all), crosses = false;
    drop_impossible(&inside, &all);
    if ((!good || all.len) && axis < a->k->naxes) { /* copies last from step to step */
        x.questions = inside.questions;
        crosses = true;
        all = (fleet){0};
        good = once(&x, (span){0, f->events.len, axis}, &all);
    } else {
        x = inside;
    }
    drop_impossible(&x, &all);
    for (uint32_t i = 0; good && i < all.len; i++)
        good = fails(&x, "that this copy is waited for at the end is not shown", &all.at[i].event);
    for (uint32_t i = 0; good && crosses && !x.counting && i < f->events.len; i++) /* which of them do was not kept */
        if (f->events.at[i].kind == TP_FLOW_START)
            good = stays(a->k, &(flight){.event = f->events.at[i]}) ||
                   fails(&x, "a copy of a window, which moves with the steps", &f->events.at[i]);
    if (tp_exprs_overflowed(a->p)) {
        tp_exprs_forget_overflow(a->p);
        good = fails(&x, "the conditions grow too large", NULL);
    }
    *at = x.at;
    *basis = x.basis;
    return good ? (tp_decision){.verdict = TP_PROVEN, .grade = x.grade}
                : (tp_decision){.verdict = TP_UNKNOWN, .reason = x.why};
}

/* Copy by copy; where that shows nothing, with families. */
static tp_decision decide_flights(tp_analysis *a, bool counting, const tp_syntax **at, tp_str *basis)
{
    proof x = {.a = a, .f = tp_flow_of(a), .grade = TP_GRADE_CERT, .counting = counting};
    if (x.f->gave_up.n)
        return (tp_decision){.verdict = TP_UNKNOWN, .reason = x.f->gave_up};
    make_twins(&x);
    tp_decision d = decide(x, at, basis);
    x.families = true;
    return d.verdict == TP_UNKNOWN && x.f->vars.len ? decide(x, at, basis) : d;
}

/* ---- the rules ---- */

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
    tp_claim c = {.subject = a->k->name,
                  .loc = a->k->doc->loc,
                  .proven = tp_str_c(proven),
                  .violated = tp_str_c(violated),
                  .approximate = "the case that was found does not trap again"};
    tp_str basis = {NULL, 0};
    tp_decision d = decide_flights(a, counting, &at, &basis);
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
        flow_say_trap(a->rule, &trap, found);
}
