/* Copies in flight: what one event does to them. A start adds a copy, with the condition under which it is in flight. A
 * read or write has to lie apart from all of them. A wait takes its bits off its counter: which of the copies there are
 * in flight is split into cases, and in each the bits that they bring, less what earlier waits took, are a number. The
 * wait needs its bits; where it takes the last of them, all copies of the counter are settled; where some are left, it
 * is kept beside the copies, and counts against them. */
#include "analyzer/flow/flight.h"
#include "base/budget.h"

enum {
    MOST_QUESTIONS = 4000,
    MOST_CASES = 32,
    MOST_GIVEN = 4,   /* conditions of which each `or` is split */
    MOST_GUESSED = 6, /* cases, while guessing */
};

/* ---- copies, moved ---- */

fleet fleet_copy(proof *x, const fleet *all)
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

void fleet_put(proof *x, flight *y, const tp_expr *with, uint32_t n)
{
    y->guard = tp_expr_subst(x->a->p, y->guard, with, n);
    move_place(x, &y->event.place, with, n);
    move_place(x, &y->event.from, with, n);
    move_place(x, &y->event.counter, with, n);
    y->event.bits = tp_expr_subst(x->a->p, y->event.bits, with, n);
}

/* The copies with `value` for the symbol, under one condition more. */
void fleet_add_moved(proof *x, fleet *into, const fleet *from, uint32_t sym, tp_expr value, tp_expr when)
{
    tp_exprs *p = x->a->p;
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    with[sym] = value;
    for (uint32_t i = 0; i < from->len; i++) {
        flight y = from->at[i];
        fleet_put(x, &y, with, n);
        y.guard = tp_and(p, y.guard, when);
        tp_push(x->a->arena, *into, y);
    }
}

/* ---- questions ---- */

/* Does e speak of the step or of a turn? What speaks of sizes alone would narrow the domain of a claim. */
static bool speaks_of_steps(const proof *x, tp_expr e)
{
    bool any = false;
    for (uint32_t i = 0; i < x->a->k->naxes; i++)
        any |= tp_expr_mentions(x->a->p, e, x->a->k->axes[i].sym);
    for (uint32_t i = 0; i < TP_WALK_SETS * x->f->vars.len; i++)
        any |= tp_expr_mentions(x->a->p, e, x->walk[i].sym);
    for (uint32_t i = 0; i < x->nextra; i++)
        any |= tp_expr_mentions(x->a->p, e, x->extra[i].sym);
    return any;
}

bool fleet_asked_enough(const proof *x)
{
    return x->questions >= MOST_QUESTIONS;
}

/* Asked of the prover. What a proof costs and rests on is in `d` and `basis`. */
static bool is_proven(proof *x, const tp_expr *given, uint32_t n, tp_expr goal, tp_decision *d, tp_str *basis)
{
    enum { ROOM = 96 };
    tp_expr all[ROOM + TP_GRANTED], premises[ROOM + TP_GRANTED];
    tp_exprs *p = x->a->p;
    uint32_t nall = 0;
    int64_t v;
    tp_claim c = {.over_steps = true, .premises = premises, .given = x->f->given};
    for (uint32_t i = 0; i < n; i++)
        nall += tp_conjuncts(x->a, given[i], all + nall, ROOM - nall);
    if (x->assumed.id)
        nall += tp_conjuncts(x->a, x->assumed, all + nall, ROOM - nall);
    for (uint32_t i = 0; i < nall; i++) {
        tp_expr e = tp_expr_normal(p, all[i]);
        if (tp_expr_is_const(p, e, &v) && !v)
            return true;
        if (speaks_of_steps(x, all[i]))
            premises[c.npremises++] = all[i];
        else if (!tp_expr_is_const(p, e, &v))
            goal = tp_or(p, tp_op1(p, TP_E_NOT, all[i]), goal);
    }
    c.goal = goal = tp_expr_normal(p, goal);
    if (tp_expr_is_const(p, goal, &v) && v)
        return true;
    tp_flow_vars(x->a, x->f, 0, NULL, &c);
    c.walk = x->walk;
    c.nwalk *= TP_WALK_SETS;
    c.extra = x->extra;
    c.nextra = x->nextra;
    bool guesses =
        (x->guessing || x->f->kept.len) && tp_has_entries(x->a->k); /* no case is looked for, with contents of tables */
    if (x->quick && tp_claim_follows(x->a, &c))
        *d = (tp_decision){.verdict = TP_PROVEN, .grade = TP_GRADE_CERT};
    else if (!x->quick)
        *d = guesses ? tp_claim_proof(x->a, &c) : tp_claim_decide(x->a, &c);
    if (d->verdict == TP_PROVEN)
        *basis = tp_claim_basis(x->a, &c);
    return d->verdict == TP_PROVEN;
}

/* The question, by its expressions. Of further variables it is another one each time: no text. */
static tp_str text_of(const proof *x, const tp_expr *given, uint32_t n, tp_expr goal)
{
    uint32_t key[MOST_GIVEN + 3] = {goal.id, x->assumed.id, 2U * x->quick + x->guessing}, len = 3;
    if (x->nextra || n > MOST_GIVEN)
        return (tp_str){NULL, 0};
    for (uint32_t i = 0; i < n; i++)
        key[len++] = given[i].id;
    tp_buf b = {.arena = x->a->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, len * sizeof *key});
    return tp_buf_view(&b);
}

/* Rounds of guesses, in loops in steps, ask the same again and again, and so do TP502 and TP504; that is free. What was
 * answered while an expression was too large is forgotten, as the proof is. */
static bool is_answered(proof *x, const tp_expr *given, uint32_t n, tp_expr goal)
{
    tp_flow_asked *asked = x->f->asked;
    tp_str text = text_of(x, given, n, goal);
    uint32_t number = text.n ? tp_map_get(&asked->by_text, text) : 0;
    tp_flow_answer now = {.yes = false};
    if (number)
        now = asked->answers.at[number - 1];
    if (!number || (now.round && now.round != x->round)) {
        if (fleet_asked_enough(x))
            return false;
        tp_decision d = {.verdict = TP_UNKNOWN};
        tp_budget *b = tp_arena_budget(x->a->arena);
        bool cut = b && b->cut;
        if (b)
            b->cut = false;
        x->questions++;
        now.yes = is_proven(x, given, n, goal, &d, &now.basis);
        now.grade = d.grade;
        now.round = !now.yes && b && b->cut ? x->round : 0;
        if (b)
            b->cut |= cut;
        if (text.n && !tp_exprs_overflowed(x->a->p)) {
            tp_push(x->a->arena, asked->answers, now);
            tp_map_set(x->a->arena, &asked->by_text, text, asked->answers.len);
        }
    }
    if (now.yes && now.grade > x->grade)
        x->grade = now.grade;
    if (now.yes)
        x->basis = tp_basis_join(x->a->arena, x->basis, now.basis);
    return now.yes;
}

bool fleet_follows(proof *x, const tp_expr *given, uint32_t n, tp_expr goal)
{
    const tp_expr_node whole = *tp_expr_get(x->a->p, goal);
    if (whole.op == TP_E_AND)
        return fleet_follows(x, given, n, whole.a) && fleet_follows(x, given, n, whole.b);
    for (uint32_t i = 0; i < n && n <= MOST_GIVEN; i++) {
        const tp_expr_node either = *tp_expr_get(x->a->p, given[i]);
        tp_expr cases[MOST_GIVEN];
        if (either.op != TP_E_OR)
            continue;
        memcpy(cases, given, n * sizeof *given);
        cases[i] = either.a;
        bool good = fleet_follows(x, cases, n, goal);
        cases[i] = either.b;
        return good && fleet_follows(x, cases, n, goal);
    }
    return is_answered(x, given, n, goal);
}

/* Where both are one text, nothing is asked. */
static tp_expr equal(tp_exprs *p, tp_expr a, tp_expr b)
{
    return tp_same(tp_expr_normal(p, a), tp_expr_normal(p, b)) ? tp_const(p, 1) : tp_op2(p, TP_E_EQ, a, b);
}

tp_expr fleet_equal_places(proof *x, const tp_place *a, const tp_place *b)
{
    tp_exprs *p = x->a->p;
    tp_expr all = tp_const(p, a->operand == b->operand && a->known && b->known);
    for (uint32_t d = 0; d < a->rank && a->operand == b->operand; d++) {
        if (a->stride[d] != b->stride[d])
            return tp_const(p, 0);
        all = tp_and(p, all, tp_and(p, equal(p, a->start[d], b->start[d]), equal(p, a->size[d], b->size[d])));
    }
    return all;
}

tp_expr fleet_same_places(proof *x, const flight *a, const flight *b)
{
    tp_exprs *p = x->a->p;
    return tp_and(
        p, fleet_equal_places(x, &a->event.place, &b->event.place),
        tp_and(p, fleet_equal_places(x, &a->event.from, &b->event.from),
               tp_and(p, fleet_equal_places(x, &a->event.counter, &b->event.counter),
                      tp_op2(p, TP_E_EQ, tp_expr_normal(p, a->event.bits), tp_expr_normal(p, b->event.bits)))));
}

bool fleet_fails(proof *x, const char *why, const tp_flow_event *e)
{
    if (x->why.n)
        return false;
    x->why = tp_str_c(fleet_asked_enough(x) ? "it takes too many questions to follow what is in flight" : why);
    x->at = e ? e->syntax : NULL;
    return false;
}

/* ---- events ---- */

/* The bits as a number, which 64 of may be added; else 1, and false. */
static bool number_of_bits(proof *x, const tp_flow_event *e, int64_t *bits)
{
    if (tp_expr_is_const(x->a->p, tp_expr_normal(x->a->p, e->bits), bits) && *bits >= 0 && *bits < INT64_C(1) << 50)
        return true;
    *bits = 1;
    return false;
}

bool fleet_look(proof *x, const fleet *all, const tp_flow_event *e, const tp_place *at, bool writes)
{
    for (uint32_t i = 0; i < all->len && !x->counting && !x->guessing; i++) {
        const flight *y = &all->at[i];
        tp_expr given[] = {e->path, y->guard};
        bool clear = (y->event.place.operand != at->operand ||
                      fleet_follows(x, given, 2, tp_places_apart(x->a->p, at, &y->event.place))) &&
                     (!writes || y->event.from.operand != at->operand ||
                      fleet_follows(x, given, 2, tp_places_apart(x->a->p, at, &y->event.from)));
        if (!y->wait && !clear)
            return fleet_fails(x, "that this lies apart from what is in flight is not shown", e);
    }
    return true;
}

bool fleet_sides(proof *x, const tp_flow_event *e)
{
    return x->counting || x->guessing || fleet_follows(x, &e->path, 1, tp_places_apart(x->a->p, &e->from, &e->place)) ||
           fleet_fails(x, "that the source of this copy lies apart from its destination is not shown", e);
}

bool fleet_start(proof *x, fleet *all, const tp_flow_event *e)
{
    if (!e->told || !e->counter.known || !e->place.known || !e->from.known)
        return fleet_fails(x, "whether, where or what is copied depends on data", e);
    int64_t bits;
    if (number_of_bits(x, e, &bits) && !bits) /* nothing is moved */
        return true;
    if (all->len >= MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", e);
    tp_push(x->a->arena, *all, ((flight){.guard = e->path, .event = *e}));
    return true;
}

/* What a wait may take for its own: copies, and waits that did not end any, on its counter. */
typedef struct on_counter {
    uint32_t n, at[MOST_IN_FLIGHT];
    tp_expr when[MOST_IN_FLIGHT]; /* it is in flight, on this counter */
    int64_t bits[MOST_IN_FLIGHT], wanted;
} on_counter;

/* A case of the path of a wait: of those on its counter it has the marked ones. */
typedef struct count_case {
    tp_expr when;
    bool has[MOST_IN_FLIGHT]; /* by flight */
    int64_t bits;             /* in all: of copies, less what was waited for */
} count_case;
typedef TP_VEC(count_case) count_cases;

static tp_expr nowhere(proof *x)
{
    return tp_const(x->a->p, 0);
}

static bool excluded(proof *x, tp_expr a, tp_expr b)
{
    return fleet_follows(x, (tp_expr[]){a, b}, 2, nowhere(x));
}

/* False: which they are, or what they count, is not shown. Bits that are not numbers have to be those of the wait. */
static bool find_on_counter(proof *x, const fleet *all, const tp_flow_event *e, on_counter *mine)
{
    bool numbers = number_of_bits(x, e, &mine->wanted);
    mine->n = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        const flight *y = &all->at[i];
        tp_expr given[] = {e->path, y->guard}, same = fleet_equal_places(x, &y->event.counter, &e->counter);
        if (y->event.counter.operand != e->counter.operand ||
            fleet_follows(x, given, 2, tp_op1(x->a->p, TP_E_NOT, same)))
            continue;
        int64_t bits;
        bool known = number_of_bits(x, &y->event, &bits);
        if (y->twin.id || known != numbers ||
            (!known && !fleet_follows(x, given, 2, tp_op2(x->a->p, TP_E_EQ, y->event.bits, e->bits)))) {
            if (x->guessing)
                continue;
            return fleet_fails(x, "which copies this waits for is not shown", e);
        }
        mine->at[mine->n] = i;
        mine->when[mine->n] = fleet_follows(x, given, 2, same) ? y->guard : tp_and(x->a->p, y->guard, same);
        mine->bits[mine->n++] = y->wait ? -bits : bits;
    }
    return true;
}

/* All cases from flight number `next` on. False: too many. */
static bool split(proof *x, const on_counter *mine, uint32_t next, count_case c, count_cases *out)
{
    if (next == mine->n) {
        tp_push(x->a->arena, *out, c);
        return out->len < (x->guessing ? MOST_GUESSED : MOST_CASES);
    }
    tp_exprs *p = x->a->p;
    tp_expr when = mine->when[next], not = tp_op1(p, TP_E_NOT, when);
    bool never = excluded(x, c.when, when), always = !never && excluded(x, c.when, not );
    count_case with = c, without = c;
    with.when = always ? c.when : tp_and(p, c.when, when);
    with.has[mine->at[next]] = true;
    with.bits += mine->bits[next];
    without.when = never ? c.when : tp_and(p, c.when, not );
    return (never || split(x, mine, next + 1, with, out)) && (always || split(x, mine, next + 1, without, out));
}

tp_expr fleet_names_sides(proof *x, const tp_flow_event *copy, const tp_flow_event *wait)
{
    const tp_operand *all = x->a->k->operands;
    if (tp_is_far(&all[copy->place.operand]) && tp_is_far(&all[wait->place.operand]))
        return tp_const(x->a->p, 1);
    return tp_and(x->a->p, fleet_equal_places(x, &copy->place, &wait->place),
                  fleet_equal_places(x, &copy->from, &wait->from));
}

/* The wait names a copy that is in flight in this case and not `named` yet. */
static bool names_one(proof *x, const fleet *all, const tp_flow_event *wait, const count_case *c, bool *named)
{
    uint32_t k = 0;
    while (k < all->len && (!c->has[k] || all->at[k].wait || named[k] ||
                            !fleet_follows(x, &c->when, 1, fleet_names_sides(x, &all->at[k].event, wait))))
        k++;
    if (k < all->len)
        named[k] = true;
    return k < all->len;
}

/* A wait names a copy in flight; where it ends all of them, each was named by a wait of its own. No two in flight have
 * one destination, so that the others still name what they named when they were executed. */
static bool all_named(proof *x, const fleet *all, const tp_flow_event *e, const count_case *c, bool ends)
{
    bool named[MOST_IN_FLIGHT] = {false};
    bool good = names_one(x, all, e, c, named);
    for (uint32_t i = 0; i < all->len && ends && good; i++)
        good = !c->has[i] || !all->at[i].wait || names_one(x, all, &all->at[i].event, c, named);
    for (uint32_t i = 0; i < all->len && ends && good; i++)
        good = !c->has[i] || all->at[i].wait || named[i];
    return good;
}

/* What is not in flight in the cases any more, where all that the counter has is settled. */
static void settle(proof *x, fleet *all, const on_counter *mine, const tp_flow_event *e, const count_cases *cases)
{
    tp_exprs *p = x->a->p;
    bool gone[MOST_IN_FLIGHT] = {false};
    uint32_t kept = 0;
    for (uint32_t m = 0; m < mine->n; m++) {
        flight *y = &all->at[mine->at[m]];
        tp_expr ended = nowhere(x);
        bool stays = false, ends = false;
        for (uint32_t i = 0; i < cases->len; i++) {
            const count_case *c = &cases->at[i];
            bool now = c->has[mine->at[m]] && c->bits == mine->wanted;
            ends |= now;
            stays |= c->has[mine->at[m]] && !now;
            ended = now ? tp_or(p, ended, c->when) : ended;
        }
        if (!ends)
            continue;
        if (!stays) /* all of it that is on this counter */
            ended = tp_same(mine->when[m], y->guard) ? e->path : tp_and(p, e->path, mine->when[m]);
        gone[mine->at[m]] = fleet_follows(x, &y->guard, 1, ended);
        y->guard = tp_and(p, y->guard, tp_op1(p, TP_E_NOT, ended));
    }
    for (uint32_t i = 0; i < all->len; i++)
        if (!gone[i])
            all->at[kept++] = all->at[i];
    all->len = kept;
}

bool fleet_wait(proof *x, fleet *all, const tp_flow_event *e)
{
    on_counter mine;
    count_cases cases = {0};
    tp_expr waiting = nowhere(x);
    if (!e->told || !e->counter.known || !e->place.known || !e->from.known || !e->bits.id)
        return fleet_fails(x, "whether this waits, for what and where depends on data", e);
    if (!find_on_counter(x, all, e, &mine))
        return false;
    if (!mine.wanted || fleet_follows(x, &e->path, 1, nowhere(x))) /* of nothing, or never */
        return true;
    if (!split(x, &mine, 0, (count_case){.when = e->path}, &cases)) {
        if (!x->guessing)
            return fleet_fails(x, "how many copies are in flight on this semaphore is not shown", e);
        count_case any = {.when = e->path, .bits = mine.wanted}; /* as if it ended all of them */
        memset(any.has, true, sizeof any.has);
        cases.len = 0;
        tp_push(x->a->arena, cases, any);
    }
    for (uint32_t i = 0; i < cases.len; i++) {
        const count_case *c = &cases.at[i];
        if (c->bits < mine.wanted && !x->guessing)
            return fleet_fails(x, "that a copy is in flight here is not shown", e);
        if (x->naming && !x->guessing && !all_named(x, all, e, c, c->bits == mine.wanted)) {
            *x->naming = true;
            return fleet_fails(x, "that the copy which ends here has these sides is not shown", e);
        }
        if (c->bits > mine.wanted)
            waiting = tp_or(x->a->p, waiting, c->when);
    }
    settle(x, all, &mine, e, &cases);
    if (all->len >= MOST_IN_FLIGHT)
        return fleet_fails(x, "too many copies are in flight", e);
    if (!tp_same(waiting, nowhere(x)))
        tp_push(x->a->arena, *all, ((flight){.guard = waiting, .event = *e, .wait = true}));
    return true;
}

tp_var fleet_element(proof *x, uint32_t operand, uint32_t d, tp_expr sym)
{
    tp_exprs *p = x->a->p;
    tp_expr extent = x->a->k->operands[operand].ref_shape[d];
    return (tp_var){.sym = (uint32_t)tp_expr_get(p, sym)->value,
                    .lo = tp_const(p, 0),
                    .hi = tp_op2(p, TP_E_SUB, extent, tp_const(p, 1)),
                    .multiple_of = 1,
                    .step = true};
}
