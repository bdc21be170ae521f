/* What semaphores count, for all sizes and all steps: a ghost sum for each of them.
 *
 * Signals and starts add to a counter, waits take off it, each under its condition. So what it holds at a place of the
 * body is what it held when the step began, and a sum of `if path and it is this one: n else 0`. What it holds when a
 * step or a turn of a loop begins is an invariant, guessed and proven. The guess is what was seen when the counts were
 * executed at small sizes: by class of step (the first few, residues, conditions of the body) an affine expression over
 * axes, turns and sizes. The proof is an induction: nothing is held at first, each step and turn leaves for the next
 * one what that begins with, the last step leaves nothing; and no wait asks for more than is held there. A guess that
 * is wrong proves nothing.
 */
#include "analyzer/flow/tally.h"
#include "base/checked.h"
#include "spec/table.h"

enum {
    MOST_SIGHTINGS = 4000, /* at a place */
    MOST_EXECUTED = 25000, /* of one element at one vector of sizes: what was seen by then has to do */
    ENOUGH = 20000,        /* executed: no further sizes */
    WIDE = 9,              /* sizes that are tried, from the least one on */
};

static bool any_counts(const tally *t, uint32_t from, uint32_t to)
{
    bool any = false;
    for (uint32_t i = from; i < to && !any; i++)
        any = tally_counts(t, &t->x->f->events.at[i]);
    return any;
}

/* It happens, and to this counter. */
static tp_expr happens(const tally *t, const tp_flow_event *e)
{
    tp_exprs *p = t->x->a->p;
    tp_expr all = e->path;
    for (uint32_t d = 0; d < e->counter.rank; d++)
        all = tp_op2(p, TP_E_AND, all, tp_op2(p, TP_E_EQ, e->counter.start[d], t->at[d]));
    return all;
}

static tp_expr with_value(const proof *x, tp_expr e, tp_expr sym, tp_expr value)
{
    uint32_t n = tp_sym_count(x->a->p);
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    with[tp_expr_get(x->a->p, sym)->value] = value;
    return tp_expr_subst(x->a->p, e, with, n);
}

/* A loop is entered, with at least one turn. */
static tp_expr entered(const proof *x, const tp_flow_event *loop)
{
    tp_exprs *p = x->a->p;
    return tp_op2(p, TP_E_AND, with_value(x, loop->path, loop->counter.start[0], tp_const(p, 0)),
                  tp_op2(p, TP_E_GE, loop->bits, tp_const(p, 1)));
}

/* ---- executing the counts ---- */

static void see(tally *t, uint32_t place, const int64_t *env)
{
    uint32_t n = tp_sym_count(t->x->a->p);
    if (t->seen[place].len >= MOST_SIGHTINGS)
        return;
    int64_t *copy = TP_NEWN(t->work, int64_t, n);
    memcpy(copy, env, n * sizeof *copy);
    tp_push(t->work, t->seen[place], ((sighting){copy, t->now}));
}

/* False: it has no value, or a wait would not end. */
static bool execute(tally *t, uint32_t from, uint32_t to, int64_t *env)
{
    for (uint32_t i = from; i < to; i++) {
        const tp_flow_event *e = &t->x->f->events.at[i];
        int64_t yes, n;
        t->cut = t->executed++ >= t->most;
        if (t->cut)
            return false;
        if (e->kind == TP_FLOW_LOOP) {
            uint32_t end = flight_loop_end(t->x->f, i);
            bool mine = any_counts(t, i, end);
            if (mine &&
                (!tally_evaluates(t, entered(t->x, e), env, &yes) || (yes && !tally_evaluates(t, e->bits, env, &n))))
                return false;
            int64_t *turn = &env[tp_expr_get(t->x->a->p, e->counter.start[0])->value];
            for (*turn = 0; mine && yes && *turn <= n; ++*turn) {
                see(t, 1 + i, env);
                if (*turn < n && !execute(t, i + 1, end, env))
                    return false;
            }
            i = end;
        } else if (tally_counts(t, e)) {
            if (!tally_evaluates(t, happens(t, e), env, &yes) ||
                (yes && !tally_evaluates(t, tally_amount(t, e), env, &n)))
                return false;
            if (yes && !tp_add(t->now, tally_adds(t, e) ? n : -n, &t->now))
                return false;
            if (t->now < 0)
                return fleet_fails(t->x, "that the semaphore has as much as this waits for is not shown", e);
        }
    }
    return true;
}

/* All steps at these sizes, in order; of a long axis whose steps do not follow each other the first ones and the last.
 */
static bool execute_steps(tally *t, uint32_t axis, int64_t *env)
{
    const tp_kernel *k = t->x->a->k;
    int64_t n;
    bool first = true;
    if (axis < k->naxes) {
        int64_t *at = &env[k->axes[axis].sym];
        bool good = tally_evaluates(t, k->axes[axis].steps, env, &n);
        for (*at = 0; good && *at < n; ++*at) {
            *at = axis < t->axis && *at == WIDE && n > 2 * WIDE ? n - 1 : *at;
            good = execute_steps(t, axis + 1, env);
        }
        return good;
    }
    for (uint32_t i = t->axis; i < k->naxes; i++)
        first &= env[k->axes[i].sym] == 0;
    if (first)
        t->now = 0;
    see(t, 0, env);
    return execute(t, 0, t->x->f->events.len, env);
}

/* The value number `at` of a size, from 0; its last one where it has no such. */
static int64_t size_at(const tp_analysis *a, const tp_var *v, int64_t at)
{
    int64_t lo = 0, hi = INT32_MAX, m = v->multiple_of;
    if (v->choices)
        return v->choices[at < v->nchoices ? at : v->nchoices - 1];
    tp_expr_is_const(a->p, v->lo, &lo);
    tp_expr_is_const(a->p, v->hi, &hi);
    int64_t value = ((lo + m - 1) / m + at) * m;
    return value <= hi ? value : hi / m * m;
}

/* All steps, for some elements: the first ones, and the last. */
static bool execute_elements(tally *t, int64_t *env)
{
    enum { SOME = 4 };
    const tp_operand *o = &t->x->a->k->operands[t->operand];
    bool good = true;
    for (int64_t i = 0; i < (t->nany ? SOME : 1) && good; i++) {
        bool there = true;
        for (uint32_t d = 0; d < t->nany; d++) {
            int64_t n = 0;
            there &= tally_evaluates(t, o->ref_shape[d], env, &n) && n > (i == SOME - 1 ? 0 : i);
            env[t->any[d].sym] = i == SOME - 1 ? n - 1 : i;
        }
        t->most = t->executed + MOST_EXECUTED;
        good = !there || execute_steps(t, 0, env) || t->cut;
    }
    return good;
}

/* At sizes that grow together, and at those of which one is large. */
static bool execute_some(tally *t)
{
    tp_analysis *a = t->x->a;
    uint32_t points = 0;
    for (int64_t i = 0; i < (a->nsizes ? WIDE : 1) + a->nsizes && (points < 2 || t->executed < ENOUGH); i++) {
        int64_t *env = TP_NEWN(t->work, int64_t, tp_sym_count(a->p));
        for (uint32_t s = 0; s < a->nsizes; s++)
            env[a->vars[s].sym] = size_at(a, &a->vars[s], i < WIDE ? i : i - WIDE == s ? WIDE - 1 : 2);
        if (!tp_domain_has(a, env) || (a->k->ntables && !tp_tables_find(t->work, a->k, env, NULL, 0, 0, NULL)))
            continue;
        points++;
        if (!execute_elements(t, env))
            return false;
    }
    return points > (a->nsizes > 0);
}

/* ---- proving ---- */

tp_expr flight_choice(const tp_exprs *p, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    tp_expr part[] = {n->a, n->b, n->c}, found = {0};
    for (uint32_t i = 0; i < 3 && !found.id; i++)
        if (part[i].id)
            found = flight_choice(p, part[i]);
    return found.id || n->op != TP_E_ITE ? found : n->a;
}

tp_expr flight_chosen(tp_exprs *p, tp_expr e, tp_expr condition, bool yes)
{
    const tp_expr_node n = *tp_expr_get(p, e);
    if (n.op == TP_E_ITE && tp_same(n.a, condition))
        return flight_chosen(p, yes ? n.b : n.c, condition, yes);
    if (!n.a.id)
        return e;
    tp_expr a = flight_chosen(p, n.a, condition, yes), b = n.b.id ? flight_chosen(p, n.b, condition, yes) : n.b;
    return tp_expr_rebuild(p, &n, a, b, n.c.id ? flight_chosen(p, n.c, condition, yes) : n.c);
}

/* Choice by choice, so that sums are left. */
bool flight_follows(proof *x, tp_expr given, tp_expr goal)
{
    tp_exprs *p = x->a->p;
    tp_expr choice = flight_choice(p, goal);
    /* cut out of the choices around it, it is granted the entries that it reads */
    if (!choice.id || (tp_expr_reads(p, choice) && !fleet_follows(x, &given, 1, tp_readable(x->a, choice))))
        return fleet_follows(x, &given, 1, goal);
    bool quick = x->quick, good = true;
    for (int yes = 0; yes < 2 && good; yes++) {
        tp_expr side = tp_op2(p, TP_E_AND, given, yes ? choice : tp_op1(p, TP_E_NOT, choice));
        x->quick = true;
        bool never = fleet_follows(x, &side, 1, tp_const(p, 0));
        x->quick = quick;
        good = never || flight_follows(x, side, flight_chosen(p, goal, choice, yes));
    }
    return good;
}

static bool equal(proof *x, tp_expr given, tp_expr a, tp_expr b)
{
    tp_expr both[] = {a, b};
    for (int i = 0; i < 2; i++) /* a guess reads what the kernel does not */
        if (tp_expr_reads(x->a->p, both[i]) && !fleet_follows(x, &given, 1, tp_readable(x->a, both[i])))
            return false;
    return flight_follows(x, given, tp_op2(x->a->p, TP_E_EQ, a, b));
}

static bool follow(tally *t, uint32_t from, uint32_t to, tp_expr around, tp_expr *now);

/* What it holds behind a loop, which begins with `now`. */
static bool follow_loop(tally *t, uint32_t i, tp_expr around, tp_expr *now)
{
    proof *x = t->x;
    tp_exprs *p = x->a->p;
    const tp_flow_event *e = &x->f->events.at[i];
    tp_expr turn = e->counter.start[0], held = t->held[1 + i], zero = tp_const(p, 0), one = tp_const(p, 1);
    tp_expr enters = tp_op2(p, TP_E_AND, around, entered(x, e));
    tp_expr turns = tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, turn, zero), tp_op2(p, TP_E_LT, turn, e->bits));
    tp_expr inside = held;
    turns = tp_op2(p, TP_E_AND, enters, turns);
    if (!equal(x, enters, *now, with_value(x, held, turn, zero)))
        return fleet_fails(x, "what the semaphore has before this loop is not shown", e);
    if (!follow(t, i + 1, flight_loop_end(x->f, i), turns, &inside))
        return false;
    if (!equal(x, turns, inside, with_value(x, held, turn, tp_op2(p, TP_E_ADD, turn, one))))
        return fleet_fails(x, "what a turn of this loop leaves on the semaphore is not shown", e);
    *now = tp_ite(p, entered(x, e), with_value(x, held, turn, e->bits), *now);
    return true;
}

/* A statement that counts: of no negative number, of no more than there is, and not beyond int32. */
static bool follow_count(tally *t, const tp_flow_event *e, tp_expr around, tp_expr *now)
{
    proof *x = t->x;
    tp_exprs *p = x->a->p;
    tp_expr happens_here = happens(t, e), zero = tp_const(p, 0);
    tp_expr given = tp_op2(p, TP_E_AND, around, happens_here);
    tp_expr by = tally_amount(t, e), after = tp_op2(p, tally_adds(t, e) ? TP_E_ADD : TP_E_SUB, *now, by);
    if (!flight_follows(x, given, tp_op2(p, TP_E_GE, by, zero)))
        return fleet_fails(x, "that this counts by no negative number is not shown", e);
    if (!tally_adds(t, e) && !flight_follows(x, given, tp_op2(p, TP_E_GE, after, zero)))
        return fleet_fails(x, "that the semaphore has as much as this waits for is not shown", e);
    if (e->kind == TP_FLOW_SIGNAL && x->a->k->operands[t->operand].memory != TP_MEM_DMA_SEMAPHORE &&
        !flight_follows(x, given, tp_op2(p, TP_E_LE, after, tp_const(p, INT32_MAX))))
        return fleet_fails(x, "that the semaphore counts to less than 2^31 is not shown", e);
    *now = tp_ite(p, happens_here, after, *now);
    return true;
}

/* Does a copy on this semaphore move a buffer of the scope, or is it the scope's? */
static bool ends_with(const tally *t, tp_scope scope)
{
    bool any = tp_in_scope(scope, t->operand);
    for (uint32_t i = 0; i < t->x->f->events.len && !any; i++) {
        const tp_flow_event *e = &t->x->f->events.at[i];
        any = e->kind == TP_FLOW_START && tally_counts(t, e) &&
              (tp_in_scope(scope, e->place.operand) || tp_in_scope(scope, e->from.operand));
    }
    return any;
}

static bool follow(tally *t, uint32_t from, uint32_t to, tp_expr around, tp_expr *now)
{
    proof *x = t->x;
    for (uint32_t i = from; i < to; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        bool good = true;
        if (t->before)
            t->before[i] = tp_expr_normal(x->a->p, *now);
        if (e->kind == TP_FLOW_LOOP && any_counts(t, i, flight_loop_end(x->f, i))) {
            good = follow_loop(t, i, around, now);
            i = flight_loop_end(x->f, i);
        } else if (e->kind == TP_FLOW_LEAVE && t->what == OF_BOTH && ends_with(t, e->scope)) {
            good = equal(x, tp_op2(x->a->p, TP_E_AND, around, e->path), *now, tp_const(x->a->p, 0)) ||
                   fleet_fails(x, "that nothing is left when its `with` ends is not shown", e);
        } else if (tally_counts(t, e)) {
            good = follow_count(t, e, around, now);
        }
        if (!good)
            return false;
    }
    return true;
}

/* The sequential axes from number `from` on are at their first, or last, step. */
static tp_expr at_end(const tally *t, uint32_t from, bool last)
{
    tp_exprs *p = t->x->a->p;
    tp_expr all = t->given;
    for (uint32_t i = from; i < t->x->a->k->naxes; i++) {
        const tp_axis *axis = &t->x->a->k->axes[i];
        tp_expr to = last ? tp_op2(p, TP_E_SUB, axis->steps, tp_const(p, 1)) : tp_const(p, 0);
        all = tp_op2(p, TP_E_AND, all, tp_op2(p, TP_E_EQ, tp_sym(p, axis->sym), to));
    }
    return all;
}

static bool prove(tally *t)
{
    proof *x = t->x;
    tp_exprs *p = x->a->p;
    const tp_kernel *k = x->a->k;
    tp_expr now = t->held[0], zero = tp_const(p, 0), one = tp_const(p, 1);
    if (!equal(x, at_end(t, t->axis, false), now, zero) || !follow(t, 0, x->f->events.len, t->given, &now))
        return fleet_fails(x, "what a semaphore has in the first step is not shown", NULL);
    for (uint32_t i = t->axis; i < k->naxes; i++) { /* axis number i goes on, those behind it begin again */
        tp_expr at = tp_sym(p, k->axes[i].sym), next = t->held[0];
        tp_expr goes_on = tp_op2(p, TP_E_LT, tp_op2(p, TP_E_ADD, at, one), k->axes[i].steps);
        for (uint32_t j = i; j < k->naxes; j++)
            next = with_value(x, next, tp_sym(p, k->axes[j].sym), j == i ? tp_op2(p, TP_E_ADD, at, one) : zero);
        if (!equal(x, tp_op2(p, TP_E_AND, goes_on, at_end(t, i + 1, true)), now, next))
            return fleet_fails(x, "what a step leaves on a semaphore is not shown", NULL);
    }
    return t->what != OF_BOTH || equal(x, at_end(t, t->axis, true), now, zero) ||
           fleet_fails(x, "that a semaphore is zero at the end is not shown", NULL);
}

static bool tally_here(tally *t)
{
    const tp_flow *f = t->x->f;
    t->seen = TP_NEWN(t->work, sightings, f->events.len + 1);
    t->held = TP_NEWN(t->x->a->arena, tp_expr, f->events.len + 1);
    t->executed = 0;
    if (!execute_some(t))
        return fleet_fails(t->x, "what a semaphore counts was not found at small sizes", NULL);
    for (uint32_t place = 0; place <= f->events.len; place++) {
        if (place &&
            (f->events.at[place - 1].kind != TP_FLOW_LOOP || !any_counts(t, place - 1, flight_loop_end(f, place - 1))))
            continue;
        t->held[place] = tally_guess(t, place);
        if (!t->held[place].id)
            return fleet_fails(t->x, "what a semaphore has differs from step to step in a way that is not followed",
                               place ? &f->events.at[place - 1] : NULL);
    }
    return prove(t);
}

static bool tally_one(tally *t)
{
    t->work = tp_arena_child(t->x->a->arena);
    bool good = tally_here(t);
    tp_arena_free(t->work);
    return good;
}

/* Is all that counts on it known? */
static bool is_known(tally *t)
{
    for (uint32_t i = 0; i < t->x->f->events.len; i++) {
        const tp_flow_event *e = &t->x->f->events.at[i];
        bool loop = e->kind == TP_FLOW_LOOP && any_counts(t, i, flight_loop_end(t->x->f, i));
        if ((loop && (!e->bits.id || !e->exact)) ||
            (tally_counts(t, e) && (!e->exact || !e->counter.known || !e->bits.id)))
            return fleet_fails(t->x, "whether, where or by how much a semaphore counts depends on data", e);
    }
    return true;
}

/* Every element at once. */
static bool tally_any(tally *t)
{
    proof *x = t->x;
    const tp_operand *o = &x->a->k->operands[t->operand];
    tp_exprs *p = x->a->p;
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        tp_expr e = t->before ? t->at[d] : tp_sym_new(p, tp_printf(x->a->arena, "element%u", d)), zero = tp_const(p, 0);
        t->at[d] = e;
        t->given = tp_op2(p, TP_E_AND, t->given,
                          tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, e, zero), tp_op2(p, TP_E_LT, e, o->ref_shape[d])));
        t->any[t->nany++] = fleet_element(x, t->operand, d, e);
    }
    x->extra = t->any;
    x->nextra = t->nany;
    bool good = tally_one(t);
    x->nextra = 0;
    return good;
}

static bool tally_elements(tally *t)
{
    const tp_operand *o = &t->x->a->k->operands[t->operand];
    int64_t dims[TP_MAX_RANK], n = 1;
    if (!any_counts(t, 0, t->x->f->events.len))
        return true;
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        if (!tp_expr_is_const(t->x->a->p, o->ref_shape[d], &dims[d]) || dims[d] > MOST_ELEMENTS)
            return is_known(t) && tally_any(t);
        n *= dims[d];
    }
    if (n > MOST_ELEMENTS)
        return is_known(t) && tally_any(t);
    bool good = is_known(t);
    for (int64_t i = 0; i < n && good; i++) {
        int64_t rest = i;
        for (uint32_t d = o->ref_rank; d-- > 0; rest /= dims[d])
            t->at[d] = tp_const(t->x->a->p, rest % dims[d]);
        good = tally_one(t);
    }
    return good;
}

bool flight_tally(proof *x, uint32_t operand)
{
    const tp_kernel *k = x->a->k;
    tally t = {.x = x, .operand = operand, .axis = k->naxes, .given = tp_const(x->a->p, 1)};
    while (t.axis > 0 && !k->axes[t.axis - 1].parallel)
        t.axis--;
    if (!tally_elements(&t))
        return false;
    t.nany = 0;
    t.given = tp_const(x->a->p, 1);
    t.what = OF_ADDED;
    return !tp_is_connected(k) || k->operands[operand].memory == TP_MEM_DMA_SEMAPHORE || tally_elements(&t);
}

/* ---- sums by place ---- */

/* Do all that count on it count by the same in all steps and turns? */
static bool counts_alike(const proof *x, uint32_t operand, const tp_flow_event **first)
{
    tp_exprs *p = x->a->p;
    bool alike = true;
    *first = NULL;
    for (uint32_t i = 0; i < x->f->events.len && alike; i++) {
        const tp_flow_event *e = &x->f->events.at[i];
        if ((!tally_takes(e) && !tally_gives(e)) || e->counter.operand != operand)
            continue;
        *first = *first ? *first : e;
        alike = e->bits.id && tp_same(tp_expr_normal(p, e->bits), tp_expr_normal(p, (*first)->bits));
        for (uint32_t v = 0; v < x->f->vars.len && alike; v++)
            alike = !tp_expr_mentions(p, e->bits, x->f->vars.at[v].sym);
        for (uint32_t v = 0; v < x->a->k->naxes && alike; v++)
            alike = !tp_expr_mentions(p, e->bits, x->a->k->axes[v].sym);
    }
    return alike && *first;
}

/* into := if it is this element, what was found, else what is there. */
static void add_element(const tally *t, const flight_sums *s, tp_expr *into)
{
    tp_exprs *p = t->x->a->p;
    tp_expr mine = tp_const(p, 1);
    for (uint32_t d = 0; d < t->x->a->k->operands[t->operand].ref_rank; d++)
        mine = tp_op2(p, TP_E_AND, mine, tp_op2(p, TP_E_EQ, s->element[d], t->at[d]));
    for (uint32_t i = 0; i < t->x->f->events.len; i++)
        into[i] = into[i].id ? tp_ite(p, mine, t->before[i], into[i]) : t->before[i];
}

static bool sum_elements(tally *t, const flight_sums *s, tp_expr *into)
{
    tp_exprs *p = t->x->a->p;
    const tp_operand *o = &t->x->a->k->operands[t->operand];
    int64_t dims[TP_MAX_RANK], n = 1;
    bool few = true;
    t->before = TP_NEWN(t->x->a->arena, tp_expr, t->x->f->events.len + 1);
    for (uint32_t i = 0; i <= t->x->f->events.len; i++)
        t->before[i] = tp_const(p, 0);
    for (uint32_t d = 0; d < o->ref_rank && few; d++) {
        few = tp_expr_is_const(p, o->ref_shape[d], &dims[d]) && dims[d] <= MOST_ELEMENTS;
        n *= few ? dims[d] : 1;
        few &= n <= MOST_ELEMENTS;
    }
    if (!is_known(t))
        return false;
    if (!few) {
        for (uint32_t d = 0; d < o->ref_rank; d++)
            t->at[d] = s->element[d];
        if (!tally_any(t))
            return false;
        add_element(t, s, into);
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i;
        for (uint32_t d = o->ref_rank; d-- > 0; rest /= dims[d])
            t->at[d] = tp_const(p, rest % dims[d]);
        if (!tally_one(t))
            return false;
        add_element(t, s, into);
    }
    return true;
}

bool flight_sum(proof *x, uint32_t operand, flight_sums *out)
{
    const tp_kernel *k = x->a->k;
    const tp_flow_event *first;
    *out = (flight_sums){.units = counts_alike(x, operand, &first)};
    if (!first)
        return false;
    for (uint32_t d = 0; d < k->operands[operand].ref_rank; d++)
        out->element[d] = tp_sym_new(x->a->p, tp_printf(x->a->arena, "element%u", d));
    for (int taken = 0; taken < 2; taken++) {
        tally t = {.x = x,
                   .operand = operand,
                   .axis = k->naxes,
                   .given = tp_const(x->a->p, 1),
                   .units = out->units,
                   .what = taken ? OF_TAKEN : OF_ADDED};
        tp_expr *into = TP_NEWN(x->a->arena, tp_expr, x->f->events.len + 1);
        while (t.axis > 0 && !k->axes[t.axis - 1].parallel)
            t.axis--;
        if (!sum_elements(&t, out, into))
            return false;
        *(taken ? &out->taken : &out->added) = into;
    }
    return true;
}
