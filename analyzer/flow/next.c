/* What a step leaves in flight, in the words of the next one: where the body keeps slots and flags in SMEM (kept.c),
 * what is in flight when a step begins is said over what these hold then. The same of turns of a loop and what that
 * carries.
 *
 * Forwards that is exact: for what a kept element holds when the next step begins there is an expression over what this
 * step found, put in its place. So a guess is proven. Backwards it is a guess: a slot `1 - s` of a copy that is left is
 * the element that holds 1 - s when the step ends, and a condition on what was found is one on what is left.
 */
#include "analyzer/flow/flight.h"

enum { ROOM = 96, MOST_ASKED = 5 };

static uint32_t symbol_of(const proof *x, const tp_kept *k)
{
    return (uint32_t)tp_expr_get(x->a->p, k->head)->value;
}

static bool place_mentions(const proof *x, const tp_place *at, uint32_t sym)
{
    bool any = false;
    for (uint32_t d = 0; d < at->rank && !any; d++)
        any = tp_expr_mentions(x->a->p, at->start[d], sym) || tp_expr_mentions(x->a->p, at->size[d], sym);
    return any;
}

bool fleet_mentions(const proof *x, const flight *y, uint32_t sym)
{
    return tp_expr_mentions(x->a->p, y->guard, sym) || tp_expr_mentions(x->a->p, y->event.bits, sym) ||
           place_mentions(x, &y->event.place, sym) || place_mentions(x, &y->event.from, sym) ||
           place_mentions(x, &y->event.counter, sym);
}

/* Does it speak of what a turn of this loop begins with? */
static bool is_of(const tp_kept *k, tp_expr turn)
{
    return tp_same(k->turn, turn);
}

/* ... and is something in the walk said over it? */
static bool is_said(const tp_kept *k, tp_expr turn)
{
    return is_of(k, turn) && (!k->loop || k->used);
}

bool fleet_step_ends(const proof *x, tp_expr turn)
{
    bool any = false;
    for (uint32_t i = 0; i < x->f->kept.len && !any; i++)
        any = is_of(&x->f->kept.at[i], turn);
    return any;
}

bool fleet_speaks_of_turn(const proof *x, const fleet *all, tp_expr turn)
{
    bool any = false;
    for (uint32_t i = 0; i < x->f->kept.len; i++) {
        const tp_kept *k = &x->f->kept.at[i];
        for (uint32_t n = 0; k->loop && tp_same(k->turn, turn) && n < all->len && !any; n++)
            any = fleet_mentions(x, &all->at[n], symbol_of(x, k)) ||
                  (k->last.id && fleet_mentions(x, &all->at[n], (uint32_t)tp_expr_get(x->a->p, k->last)->value));
    }
    const tp_flow_turns *tested = fleet_tested(x, turn);
    for (uint32_t n = 0; tested && n < all->len && !any; n++)
        any = fleet_mentions(x, &all->at[n], (uint32_t)tp_expr_get(x->a->p, tested->last)->value);
    return any;
}

bool fleet_is_axis(const proof *x, tp_expr turn)
{
    bool any = false;
    for (uint32_t i = 0; i < x->a->k->naxes && !any; i++)
        any = tp_expr_get(x->a->p, turn)->value == (int64_t)x->a->k->axes[i].sym;
    return any;
}

bool fleet_speaks_of_kept(const proof *x, const flight *y)
{
    bool any = false;
    for (uint32_t i = 0; i < x->f->kept.len && !any; i++)
        any = fleet_mentions(x, y, symbol_of(x, &x->f->kept.at[i]));
    return any;
}

bool fleet_is_followed(const proof *x, tp_expr turn, const fleet *found)
{
    bool good = true;
    for (uint32_t i = 0; i < x->f->kept.len; i++) {
        const tp_kept *k = &x->f->kept.at[i];
        for (uint32_t n = 0; is_of(k, turn) && !k->left.id && n < found->len && good; n++)
            good = !fleet_mentions(x, &found->at[n], symbol_of(x, k));
    }
    return good;
}

fleet fleet_left_for_next(proof *x, tp_expr turn, const fleet *found)
{
    tp_exprs *p = x->a->p;
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(x->a->arena, tp_expr, n);
    fleet left = {0};
    for (uint32_t i = 0; i < x->f->kept.len; i++)
        if (is_of(&x->f->kept.at[i], turn))
            with[symbol_of(x, &x->f->kept.at[i])] = x->f->kept.at[i].left;
    for (uint32_t i = 0; i < found->len; i++) {
        flight y = found->at[i];
        fleet_put(x, &y, with, n);
        tp_push(x->a->arena, left, y);
    }
    return left;
}

/* ---- guessing ---- */

/* (v + by) % size, v below size. */
static tp_expr turned(tp_exprs *p, tp_expr v, int64_t by, int64_t size)
{
    return by ? tp_op2(p, TP_E_MOD, tp_op2(p, TP_E_ADD, v, tp_const(p, by)), tp_const(p, size)) : v;
}

/* How many values from 0 on the element has; 0: others, too. */
static int64_t values_of(const proof *x, const tp_kept *k)
{
    int64_t lo, hi;
    const tp_var *v = &x->f->vars.at[k->var];
    return tp_expr_is_const(x->a->p, v->lo, &lo) && tp_expr_is_const(x->a->p, v->hi, &hi) && lo >= 0 && hi < 8 ? hi + 1
                                                                                                               : 0;
}

static bool is_loop(const tp_statement *s, void *loop)
{
    return s == *(const tp_statement **)loop;
}

/* Is it a loop that each turn executes anew? */
static bool is_within(const proof *x, const tp_statement *loop, tp_expr turn)
{
    const tp_statement *around = NULL;
    for (uint32_t i = 0; i < x->f->turns.len && !around; i++)
        around = tp_same(x->f->turns.at[i].counter, turn) ? x->f->turns.at[i].loop : NULL;
    return !around || tp_region_any(&around->test, is_loop, &loop) || tp_region_any(&around->body, is_loop, &loop);
}

/* Does e speak of what is another thing in the next turn? */
static bool is_renewed(const proof *x, tp_expr turn, tp_expr e)
{
    bool any = fleet_mentions_last(x, e);
    for (uint32_t i = 0; i < x->f->kept.len && !any; i++) {
        const tp_kept *k = &x->f->kept.at[i];
        any = (is_said(k, turn) || (k->loop && is_within(x, k->loop, turn))) &&
              tp_expr_mentions(x->a->p, e, symbol_of(x, k));
    }
    return any;
}

/* What is e where the guard holds, in the next step's words. */
static tp_expr said_of_next(proof *x, tp_expr turn, tp_expr guard, tp_expr e)
{
    tp_exprs *p = x->a->p;
    if (!e.id || !is_renewed(x, turn, e))
        return e;
    for (uint32_t i = 0; i < x->f->kept.len; i++) {
        const tp_kept *k = &x->f->kept.at[i];
        int64_t size = values_of(x, k);
        for (int64_t by = 0; is_said(k, turn) && k->left.id && by < (size ? size : 1); by++)
            if (fleet_follows(x, &guard, 1, tp_op2(p, TP_E_EQ, e, turned(p, k->left, by, size))))
                return turned(p, k->head, by, size);
    }
    const tp_expr_node n = *tp_expr_get(p, e); /* what it is made of */
    if (n.op == TP_E_SYM || n.op == TP_E_CONST)
        return e;
    tp_expr part[3] = {n.a, n.b, n.c};
    for (uint32_t i = 0; i < 3; i++)
        part[i] = said_of_next(x, turn, guard, part[i]);
    return tp_expr_rebuild(p, &n, part[0], part[1], part[2]);
}

static void say_place(proof *x, tp_expr turn, tp_expr guard, tp_place *at)
{
    for (uint32_t d = 0; d < at->rank; d++) {
        at->start[d] = said_of_next(x, turn, guard, at->start[d]);
        at->size[d] = said_of_next(x, turn, guard, at->size[d]);
    }
}

/* Of the guard's conjuncts those that speak of nothing kept, and what each element holds then, if that is one value. */
static tp_expr said_guard(proof *x, tp_expr turn, tp_expr guard)
{
    tp_exprs *p = x->a->p;
    tp_expr all[ROOM], next = tp_const(p, 1);
    uint32_t n = tp_conjuncts(x->a, guard, all, ROOM);
    for (uint32_t i = 0; i < n; i++)
        if (!is_renewed(x, turn, all[i]))
            next = tp_and(p, next, all[i]);
    for (uint32_t i = 0; i < x->f->kept.len; i++) {
        const tp_kept *k = &x->f->kept.at[i];
        int64_t size = is_said(k, turn) && k->left.id ? values_of(x, k) : 0;
        for (int64_t v = 0; v < size && size > 1; v++)
            if (fleet_follows(x, &guard, 1, tp_op2(p, TP_E_EQ, k->left, tp_const(p, v)))) {
                next = tp_and(p, next, tp_op2(p, TP_E_EQ, k->head, tp_const(p, v)));
                break;
            }
    }
    return next;
}

void fleet_say_next(proof *x, tp_expr turn, fleet *left)
{
    for (uint32_t i = 0; i < left->len; i++) {
        flight *y = &left->at[i];
        say_place(x, turn, y->guard, &y->event.place);
        say_place(x, turn, y->guard, &y->event.from);
        say_place(x, turn, y->guard, &y->event.counter);
        y->guard = said_guard(x, turn, y->guard);
    }
}

/* ---- copies that last ---- */

/* The distinct conjuncts of their guards. */
static uint32_t asked_of(proof *x, const fleet *all, tp_expr *asked)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        tp_expr parts[ROOM];
        uint32_t m = tp_conjuncts(x->a, all->at[i].guard, parts, ROOM);
        for (uint32_t k = 0; k < m; k++) {
            uint32_t at = 0;
            while (at < n && !tp_same(asked[at], parts[k]))
                at++;
            if (at == n && n == MOST_ASKED)
                return 0;
            if (at == n)
                asked[n++] = parts[k];
        }
    }
    return n;
}

bool fleet_lasts(proof *x, const fleet *first, uint32_t without, fleet *out)
{
    tp_exprs *p = x->a->p;
    tp_expr asked[MOST_ASKED];
    uint32_t n = asked_of(x, first, asked);
    if (without >> n)
        return false;
    *out = (fleet){0};
    for (uint32_t i = 0; i < first->len; i++) {
        flight y = first->at[i];
        tp_expr parts[ROOM], guard = tp_const(p, 1);
        uint32_t m = tp_conjuncts(x->a, y.guard, parts, ROOM);
        for (uint32_t k = 0; k < m; k++) {
            uint32_t at = 0;
            while (!tp_same(asked[at], parts[k]))
                at++;
            if (!(without >> at & 1))
                guard = tp_and(p, guard, parts[k]);
        }
        y.guard = guard;
        tp_push(x->a->arena, *out, y);
    }
    return true;
}
