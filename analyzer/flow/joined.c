/* Guesses of copies that last past steps which neither start nor wait. What such a step keeps was started by some step
 * before it, under that step's conditions; what the next live step starts lies under its own. If both are copies of one
 * statement, and the words of the one say where the other lies, too, they are taken for one copy, under those of their
 * conditions that hold of both. A condition on the turn, such as 8 * i < rows, also gives what it says of turn 0: there
 * is a row. From the third round on a guess may only lose conditions, so that it settles.
 */
#include "analyzer/flow/flight.h"

enum { ROOM = 64 };

static tp_expr at_first(proof *x, tp_expr turn, tp_expr e)
{
    tp_exprs *p = x->a->p;
    return tp_expr_normal(p, tp_expr_replace(p, e, (uint32_t)tp_expr_get(p, turn)->value, tp_const(p, 0)));
}

/* Distinct conditions. */
typedef struct conditions {
    uint32_t n;
    tp_expr at[2 * ROOM];
} conditions;

static void add(conditions *c, tp_expr e)
{
    uint32_t i = 0;
    while (i < c->n && !tp_same(c->at[i], e))
        i++;
    if (i == c->n && c->n < 2 * ROOM)
        c->at[c->n++] = e;
}

/* Those of the one that hold of the other, too; of a condition on the turn that does not, what it says of turn 0. */
static void add_common(proof *x, tp_expr turn, tp_expr guard, tp_expr other, conditions *c)
{
    tp_expr parts[ROOM];
    uint32_t sym = (uint32_t)tp_expr_get(x->a->p, turn)->value, n = tp_conjuncts(x->a, guard, parts, ROOM);
    for (uint32_t i = 0; i < n; i++) {
        if (fleet_follows(x, &other, 1, parts[i])) {
            add(c, parts[i]);
            continue;
        }
        if (!tp_expr_mentions(x->a->p, parts[i], sym))
            continue;
        tp_expr first = at_first(x, turn, parts[i]);
        if (fleet_follows(x, NULL, 0, tp_readable(x->a, first)) && fleet_follows(x, &guard, 1, first) &&
            fleet_follows(x, &other, 1, first))
            add(c, first);
    }
}

static tp_expr all_but(proof *x, const conditions *c, uint32_t but)
{
    tp_expr all = tp_const(x->a->p, 1);
    for (uint32_t i = 0; i < c->n; i++)
        if (i != but)
            all = tp_and(x->a->p, all, c->at[i]);
    return all;
}

/* Without those that follow from the others. */
static tp_expr shortest(proof *x, conditions *c)
{
    for (uint32_t i = c->n; i-- > 0;) {
        tp_expr others = all_but(x, c, i);
        if (fleet_follows(x, &others, 1, c->at[i])) {
            memmove(c->at + i, c->at + i + 1, (c->n - i - 1) * sizeof *c->at);
            c->n--;
        }
    }
    return all_but(x, c, c->n);
}

/* e with what the given condition decides of its choices. */
static tp_expr tidy(proof *x, tp_expr given, tp_expr e)
{
    tp_exprs *p = x->a->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    if (!flight_choice(p, e).id)
        return e;
    tp_expr a = tidy(x, given, n.a);
    if (n.op != TP_E_ITE) {
        tp_expr b = n.b.id ? tidy(x, given, n.b) : n.b;
        return tp_expr_rebuild(p, &n, a, b, n.c.id ? tidy(x, given, n.c) : n.c);
    }
    tp_expr not = tp_op1(p, TP_E_NOT, a);
    if (fleet_follows(x, &given, 1, a))
        return tidy(x, given, n.b);
    if (fleet_follows(x, &given, 1, not ))
        return tidy(x, given, n.c);
    return tp_ite(p, a, tidy(x, tp_and(p, given, a), n.b), tidy(x, tp_and(p, given, not ), n.c));
}

static void tidy_place(proof *x, tp_expr given, tp_place *at)
{
    for (uint32_t d = 0; d < at->rank; d++) {
        at->start[d] = tp_expr_normal(x->a->p, tidy(x, given, at->start[d]));
        at->size[d] = tp_expr_normal(x->a->p, tidy(x, given, at->size[d]));
    }
}

void fleet_tidy(proof *x, fleet *now)
{
    for (uint32_t i = 0; i < now->len; i++) {
        flight *y = &now->at[i];
        tp_expr parts[ROOM];
        conditions c = {.n = tp_conjuncts(x->a, y->guard, parts, ROOM)};
        memcpy(c.at, parts, c.n * sizeof *parts);
        for (uint32_t k = 0; k < c.n; k++)
            if (flight_choice(x->a->p, c.at[k]).id)
                c.at[k] = tp_expr_normal(x->a->p, tidy(x, all_but(x, &c, k), c.at[k]));
        y->guard = all_but(x, &c, c.n);
        tidy_place(x, y->guard, &y->event.place);
        tidy_place(x, y->guard, &y->event.from);
        tidy_place(x, y->guard, &y->event.counter);
    }
}

/* By a number. */
static bool differ(tp_exprs *p, tp_expr a, tp_expr b)
{
    int64_t v;
    return tp_expr_is_const(p, tp_expr_normal(p, tp_op2(p, TP_E_SUB, a, b)), &v) && v;
}

static bool places_differ(tp_exprs *p, const tp_place *a, const tp_place *b)
{
    bool any = a->operand != b->operand;
    for (uint32_t d = 0; d < a->rank && !any && a->known && b->known; d++)
        any = differ(p, a->start[d], b->start[d]) || differ(p, a->size[d], b->size[d]);
    return any;
}

bool fleet_never_lies(proof *x, const flight *a, const flight *words)
{
    tp_exprs *p = x->a->p;
    return places_differ(p, &a->event.place, &words->event.place) ||
           places_differ(p, &a->event.from, &words->event.from) ||
           places_differ(p, &a->event.counter, &words->event.counter);
}

bool fleet_lies(proof *x, const flight *a, const flight *words)
{
    tp_expr same = fleet_same_places(x, a, words);
    return fleet_follows(x, &a->guard, 1, same) ||
           (flight_choice(x->a->p, same).id && flight_follows(x, a->guard, same));
}

static bool place_is_readable(proof *x, tp_expr guard, const tp_place *at)
{
    bool good = true;
    for (uint32_t d = 0; d < at->rank && good; d++)
        good = fleet_follows(x, &guard, 1, tp_readable(x->a, at->start[d])) &&
               fleet_follows(x, &guard, 1, tp_readable(x->a, at->size[d]));
    return good;
}

bool fleet_is_readable(proof *x, const fleet *all)
{
    bool good = true;
    for (uint32_t i = 0; i < all->len && good && tp_has_entries(x->a->k); i++) {
        const flight *y = &all->at[i];
        good = fleet_follows(x, NULL, 0, tp_readable(x->a, y->guard)) &&
               place_is_readable(x, y->guard, &y->event.place) && place_is_readable(x, y->guard, &y->event.from) &&
               place_is_readable(x, y->guard, &y->event.counter) &&
               fleet_follows(x, &y->guard, 1, tp_readable(x->a, y->event.bits));
    }
    return good;
}

/* Copies of one statement that may be one. */
static bool says(proof *x, const flight *a, const flight *words)
{
    return !a->wait && !words->wait && !a->twin.id && !words->twin.id && a->event.syntax == words->event.syntax &&
           !fleet_never_lies(x, a, words) && fleet_lies(x, a, words);
}

void fleet_join(proof *x, tp_expr turn, fleet *now)
{
    for (uint32_t i = 0; i < now->len; i++)
        for (uint32_t k = i + 1; k < now->len; k++) {
            flight *a = &now->at[i], *b = &now->at[k];
            conditions c = {0};
            if (!says(x, a, b)) {
                flight *other = a;
                a = b;
                b = other;
                if (!says(x, a, b))
                    continue;
            }
            add_common(x, turn, b->guard, a->guard, &c);
            add_common(x, turn, a->guard, b->guard, &c);
            flight one = *b;
            one.guard = shortest(x, &c);
            now->at[i] = one;
            now->at[k] = now->at[--now->len];
            k = i; /* with the others, once more */
        }
}

void fleet_unbegin(proof *x, tp_expr turn, fleet *now)
{
    tp_exprs *p = x->a->p;
    for (uint32_t i = 0; i < now->len; i++) {
        tp_expr parts[ROOM], guard = tp_const(p, 1);
        uint32_t n = tp_conjuncts(x->a, now->at[i].guard, parts, ROOM);
        for (uint32_t k = 0; k < n; k++) {
            bool begun = false;
            for (uint32_t a = 0; a < x->a->k->naxes; a++) {
                tp_expr at = tp_sym(p, x->a->k->axes[a].sym);
                begun |= !tp_same(at, turn) && tp_same(parts[k], tp_op2(p, TP_E_GE, at, tp_const(p, 1)));
            }
            guard = begun ? guard : tp_and(p, guard, parts[k]);
        }
        now->at[i].guard = guard;
    }
}

void fleet_lose(proof *x, const fleet *left, fleet *now)
{
    for (uint32_t i = 0; i < now->len; i++)
        for (uint32_t k = 0; k < left->len; k++) {
            flight *y = &now->at[i];
            tp_expr parts[ROOM];
            tp_expr guard = tp_const(x->a->p, 1);
            if (!says(x, y, &left->at[k]))
                continue;
            uint32_t n = tp_conjuncts(x->a, left->at[k].guard, parts, ROOM);
            for (uint32_t c = 0; c < n; c++)
                if (fleet_follows(x, &y->guard, 1, parts[c]))
                    guard = tp_and(x->a->p, guard, parts[c]);
            *y = left->at[k];
            y->guard = guard;
            break;
        }
}
