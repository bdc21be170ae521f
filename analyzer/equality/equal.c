/* Two normal forms are equal: by their handles, or because the prover shows
 * that indices are equal and that folds go over the same points. */
#include "analyzer/equality/sum.h"

enum { MAX_CASES = 5, MAX_ORDERED = 3 };

/* x % c = x - c * (x // c), for a constant c other than 0. */
static tp_expr without_remainders(summary *s, tp_expr e)
{
    tp_exprs *p = s->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    int64_t by;
    if (!e.id || n.op == TP_E_CONST || n.op == TP_E_SYM)
        return e;
    tp_expr a = without_remainders(s, n.a), b = without_remainders(s, n.b), c = without_remainders(s, n.c);
    if (n.op == TP_E_MOD && tp_expr_is_const(p, b, &by) && by != 0)
        return tp_op2(p, TP_E_SUB, a, tp_op2(p, TP_E_MUL, b, tp_op2(p, TP_E_FLOORDIV, a, b)));
    return tp_expr_rebuild(p, &n, a, b, c);
}

static bool indices_equal(summary *s, const premises *p, tp_expr a, tp_expr b)
{
    if (tp_same(tp_expr_normal(s->p, a), tp_expr_normal(s->p, b)) ||
        tp_same(tp_expr_normal(s->p, without_remainders(s, a)), tp_expr_normal(s->p, without_remainders(s, b))))
        return true;
    if (tp_same(tp_expr_normal(s->p, index_under(s, p, a)), tp_expr_normal(s->p, index_under(s, p, b))))
        return true;
    if (!summary_proves(s, p, tp_op2(s->p, TP_E_EQ, a, b)))
        return false;
    record_exchange(s, a, b);
    return true;
}

/* The fold's points: 0 <= counter < extent, and the guards, with other symbols. */
typedef struct points {
    tp_expr inside[2 * MAX_COUNTERS + MAX_GUARDS];
    uint32_t n;
    uint32_t body;
} points;

static points points_of(summary *s, const atom *f, const uint32_t *order, const tp_expr *symbol)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n), zero = tp_const(s->p, 0);
    points r = {.n = 0};
    for (uint32_t i = 0; i < f->counters; i++)
        with[f->counter[order[i]]] = symbol[i];
    for (uint32_t i = 0; i < f->counters; i++) {
        tp_expr extent = tp_expr_subst(s->p, f->extent[order[i]], with, n);
        r.inside[r.n++] = condition_normal(s, tp_op2(s->p, TP_E_GE, symbol[i], zero), false);
        r.inside[r.n++] = condition_normal(s, tp_op2(s->p, TP_E_LT, symbol[i], extent), false);
    }
    for (uint32_t i = 0; i < f->nguards; i++)
        r.inside[r.n++] = condition_normal(s, tp_expr_subst(s->p, f->guard[i], with, n), false);
    r.body = sum_subst(s, f->arg[0], with, n);
    return r;
}

static premises inside(summary *s, const premises *p, const points *x)
{
    premises r = *p;
    for (uint32_t i = 0; i < x->n; i++)
        r = premises_with(s, &r, x->inside[i]);
    return r;
}

static bool all_inside(summary *s, const premises *p, const points *from, const points *to)
{
    premises here = inside(s, p, from);
    for (uint32_t i = 0; i < to->n; i++)
        if (!summary_proves(s, &here, to->inside[i]))
            return false;
    return true;
}

/* The fold with those symbols for counters. */
static atom over_points(summary *s, const atom *f, const uint32_t *order, const tp_expr *symbol, uint32_t body)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    atom r = *f;
    for (uint32_t i = 0; i < f->counters; i++)
        with[f->counter[order[i]]] = symbol[i];
    for (uint32_t i = 0; i < f->counters; i++) {
        r.counter[i] = (uint32_t)tp_expr_get(s->p, symbol[i])->value;
        r.extent[i] = tp_expr_subst(s->p, f->extent[order[i]], with, n);
    }
    for (uint32_t i = 0; i < f->nguards; i++)
        r.guard[i] = condition_normal(s, tp_expr_subst(s->p, f->guard[i], with, n), false);
    r.arg[0] = body;
    return r;
}

/* The same points, and the same at each of them. */
static bool folds_match(summary *s, const premises *p, const atom *a, const atom *b, const uint32_t *order, int cases)
{
    static const uint32_t straight[MAX_COUNTERS] = {0, 1, 2, 3, 4, 5};
    tp_expr symbol[MAX_COUNTERS];
    for (uint32_t i = 0; i < a->counters; i++) /* bounds are among the premises */
        symbol[i] = summary_index(s, "p", tp_const(s->p, (int64_t)1 << 60));
    points x = points_of(s, a, straight, symbol), y = points_of(s, b, order, symbol);
    record_mark m = record_here(s);
    if (!all_inside(s, p, &x, &y) || !all_inside(s, p, &y, &x))
        return false;
    premises here = inside(s, p, &x);
    bool yes = sums_equal(s, &here, x.body, y.body, cases);
    if (yes) {
        atom left = over_points(s, a, straight, symbol, x.body), right = over_points(s, b, order, symbol, y.body);
        right.arg[1] = left.arg[1]; /* of recurrences: how they begin is compared elsewhere */
        record_fold(s, TP_LAW_POINTS, &left, &right, 0, 0, m);
    }
    record_forget(s, m);
    return yes;
}

static bool some_order(summary *s, const premises *p, const atom *a, const atom *b, uint32_t *order, uint32_t n,
                       int cases)
{
    if (n == a->counters)
        return folds_match(s, p, a, b, order, cases);
    for (uint32_t i = 0; i < b->counters; i++) {
        bool used = false;
        for (uint32_t k = 0; k < n; k++)
            used |= order[k] == i;
        order[n] = i;
        if (!used && some_order(s, p, a, b, order, n + 1, cases))
            return true;
    }
    return false;
}

static bool atoms_equal(summary *s, const premises *p, uint32_t x, uint32_t y, int cases)
{
    const atom a = *atom_get(s, x), b = *atom_get(s, y);
    if (x == y)
        return true;
    if (a.kind != b.kind || a.prim != b.prim || a.counters != b.counters || a.rank != b.rank ||
        a.operand != b.operand || a.number != b.number)
        return false;
    switch (a.kind) {
    case ATOM_REAL: return a.real == b.real;
    case ATOM_INDEX: return indices_equal(s, p, a.e, b.e);
    case ATOM_ELEMENT:
        for (uint32_t d = 0; d < a.rank; d++)
            if (!indices_equal(s, p, a.at[d], b.at[d]))
                return false;
        return true;
    case ATOM_FOLD: {
        uint32_t order[MAX_COUNTERS];
        if (a.prim == TP_P_SCAN)
            return some_order(s, p, &a, &b, order, 0, cases) && sums_equal(s, p, a.arg[1], b.arg[1], cases);
        return some_order(s, p, &a, &b, order, 0, cases) || (a.prim == TP_P_SUM && singles_equal(s, p, x, y, cases));
    }
    case ATOM_APPLY:
    case ATOM_INVERSE: break;
    }
    if (!tp_same(a.e, b.e))
        return false;
    bool straight = true,
         crossed = a.prim == TP_P_MAXIMUM || a.prim == TP_P_MINIMUM || a.prim == TP_P_EQ || a.prim == TP_P_NE;
    for (int i = 0; i < 3 && straight; i++)
        straight = (a.arg[i] == 0) == (b.arg[i] == 0) && (!a.arg[i] || sums_equal(s, p, a.arg[i], b.arg[i], cases));
    return straight ||
           (crossed && sums_equal(s, p, a.arg[0], b.arg[1], cases) && sums_equal(s, p, a.arg[1], b.arg[0], cases));
}

static bool equal_by_squares(summary *s, const premises *p, uint32_t a, uint32_t b, int cases)
{
    return cases > 0 && squares_of(s, &a, &b) && sums_equal(s, p, a, b, cases - 1);
}

static bool factors_match(summary *s, const premises *p, const product *a, const product *b, int cases)
{
    bool used[MAX_FACTORS] = {false};
    if (a->num != b->num || a->den != b->den || a->nfactors != b->nfactors || (a->exponent == 0) != (b->exponent == 0))
        return false;
    for (uint32_t i = 0; i < a->nfactors; i++) {
        bool found = false;
        for (int look = 0; look < 2 && !found; look++) /* the same handle first */
            for (uint32_t k = 0; k < b->nfactors && !found; k++) {
                if (used[k] || a->factor[i].power != b->factor[k].power ||
                    (look == 0 && a->factor[i].atom != b->factor[k].atom))
                    continue;
                found = look == 0 || atoms_equal(s, p, a->factor[i].atom, b->factor[k].atom, cases);
                used[k] |= found;
            }
        if (!found)
            return false;
    }
    return !a->exponent || sums_equal(s, p, a->exponent, b->exponent, cases);
}

/* Whatever their conditions. */
static bool products_equal(summary *s, const premises *p, const product *a, const product *b, int cases)
{
    product x = *a, y = *b;
    x.nguards = y.nguards = 0;
    return factors_match(s, p, a, b, cases) ||
           equal_by_squares(s, p, sum_intern(s, &x, 1), sum_intern(s, &y, 1), cases);
}

static bool same_guards(const product *a, const product *b)
{
    return a->nguards == b->nguards && memcmp(a->guard, b->guard, a->nguards * sizeof *a->guard) == 0;
}

/* Product by product, guards as they are written. */
static bool equal_pairwise(summary *s, const premises *p, const sum *a, const sum *b, int cases)
{
    bool *used = TP_NEWN(s->arena, bool, b->n + 1);
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < b->n && !found; k++) {
            if (used[k] || !same_guards(&a->at[i], &b->at[k]))
                continue;
            premises here = *p;
            for (uint32_t g = 0; g < a->at[i].nguards; g++)
                here = premises_with(s, &here, a->at[i].guard[g]);
            found = products_equal(s, &here, &a->at[i], &b->at[k], cases);
            used[k] = found;
        }
        if (!found)
            return false;
    }
    return true;
}

/* ---- one range as two ---- */

/* The factor that is a sum; nfactors: none. */
static uint32_t range_in(const summary *s, const product *p)
{
    for (uint32_t i = 0; i < p->nfactors; i++) {
        const atom *a = atom_get(s, p->factor[i].atom);
        if (a->kind == ATOM_FOLD && a->prim == TP_P_SUM && p->factor[i].power == 1)
            return i;
    }
    return p->nfactors;
}

/* The one condition of y that does not follow from x; UINT32_MAX: there are none or several. */
static uint32_t only_open(summary *s, const premises *p, const points *x, const points *y)
{
    premises all = inside(s, p, x);
    uint32_t open = UINT32_MAX;
    for (uint32_t i = 0; i < y->n; i++) {
        if (summary_proves(s, &all, y->inside[i]))
            continue;
        if (open != UINT32_MAX)
            return UINT32_MAX;
        open = i;
    }
    return open;
}

/* Counter k of r runs from `end` on: it is counted from 0. false: `end` is not shown to be at least 0. */
static bool counted_from(summary *s, const premises *p, atom *r, uint32_t k, tp_expr end, tp_expr *with)
{
    if (!summary_proves(s, p, tp_op2(s->p, TP_E_GE, end, tp_const(s->p, 0))))
        return false;
    r->extent[k] = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, r->extent[k], end));
    tp_expr counter = summary_index(s, "r", r->extent[k]);
    with[r->counter[k]] = tp_op2(s->p, TP_E_ADD, counter, end);
    r->counter[k] = (uint32_t)tp_expr_get(s->p, counter)->value;
    return true;
}

/* `part`, its counters in this order, sums those terms of `whole` that one more
 * condition holds for: the others. When it is the bound of a counter, they are
 * counted from 0. */
static bool rest_of_range(summary *s, const premises *p, const atom *whole, const atom *part, const uint32_t *order,
                          int cases, uint32_t *rest)
{
    static const uint32_t straight[MAX_COUNTERS] = {0, 1, 2, 3, 4, 5};
    tp_expr symbol[MAX_COUNTERS];
    for (uint32_t i = 0; i < whole->counters; i++)
        symbol[i] = summary_index(s, "p", tp_const(s->p, (int64_t)1 << 60));
    points x = points_of(s, whole, straight, symbol), y = points_of(s, part, order, symbol);
    premises here = inside(s, p, &y);
    uint32_t open = only_open(s, p, &x, &y);
    if (open == UINT32_MAX || !all_inside(s, p, &y, &x) || !sums_equal(s, &here, x.body, y.body, cases))
        return false;
    atom r = fold_open(s, atom_intern(s, whole));
    uint32_t n = tp_sym_count(s->p) + 1; /* and that of counted_from() */
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    product guards = product_of(1, 1);
    if (open < 2 * part->counters && open % 2 == 1) { /* in the order of points_of() */
        tp_expr end = part->extent[order[open / 2]];
        for (uint32_t i = 0; i < part->counters; i++)
            if (tp_expr_mentions(s->p, end, part->counter[i]))
                return false;
        for (uint32_t i = 0; i < r.counters; i++)
            if (tp_expr_mentions(s->p, r.extent[i], r.counter[open / 2]))
                return false;
        if (!counted_from(s, p, &r, open / 2, end, with))
            return false;
    } else {
        for (uint32_t i = 0; i < r.counters; i++)
            with[tp_expr_get(s->p, symbol[i])->value] = tp_sym(s->p, r.counter[i]);
        if (!product_guard(s, &guards, tp_expr_subst(s->p, condition_normal(s, y.inside[open], true), with, n)))
            return false;
    }
    for (uint32_t i = 0; i < r.nguards; i++)
        if (!product_guard(s, &guards, tp_expr_subst(s->p, r.guard[i], with, n)))
            return false;
    r.nguards = guards.nguards;
    memcpy(r.guard, guards.guard, sizeof r.guard);
    r.arg[0] = sum_subst(s, r.arg[0], with, n);
    *rest = fold_intern(s, &r);
    return true;
}

/* The same for some order of the part's counters, of which the first n are chosen. */
static bool rest_in_some_order(summary *s, const premises *p, const atom *whole, const atom *part, uint32_t *order,
                               uint32_t n, int cases, uint32_t *rest)
{
    if (n == whole->counters)
        return rest_of_range(s, p, whole, part, order, cases, rest);
    for (uint32_t i = 0; i < part->counters; i++) {
        bool used = false;
        for (uint32_t k = 0; k < n; k++)
            used |= order[k] == i;
        order[n] = i;
        if (!used && rest_in_some_order(s, p, whole, part, order, n + 1, cases, rest))
            return true;
    }
    return false;
}

/* Some sum of x is a part of one of y: both without it are equal. */
static bool cut_equal(summary *s, const premises *p, const sum *x, const sum *y, int cases)
{
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t k = 0; k < y->n; k++) {
            const product *a = &x->at[i], *b = &y->at[k];
            uint32_t fa = range_in(s, a), fb = range_in(s, b), rest;
            if (fa == a->nfactors || fb == b->nfactors)
                continue;
            product others = product_without(a, fa), same = product_without(b, fb);
            const atom part = *atom_get(s, a->factor[fa].atom), whole = *atom_get(s, b->factor[fb].atom);
            uint32_t order[MAX_COUNTERS];
            if (part.counters != whole.counters || part.counters > MAX_ORDERED || !same_guards(a, b) ||
                !products_equal(s, p, &others, &same, cases) ||
                !rest_in_some_order(s, p, &whole, &part, order, 0, cases, &rest))
                continue;
            record_open(s, TP_LAW_CUT);
            product *left = TP_NEWN(s->arena, product, x->n), *right = TP_NEWN(s->arena, product, y->n);
            memcpy(left, x->at, x->n * sizeof *left);
            memcpy(right, y->at, y->n * sizeof *right);
            memmove(&left[i], &left[i + 1], (x->n - i - 1) * sizeof *left);
            right[k] = same;
            product_factor(s, &right[k], rest, 1);
            return sums_equal(s, p, sum_from(s, left, x->n - 1), sum_from(s, right, y->n), cases);
        }
    return false;
}

/* What one side has beside the other is nothing: x[e] - x[M - 1], where e is M - 1. Each has a value for all inputs. */
static bool rest_vanishes(summary *s, const premises *p, uint32_t a, uint32_t b, int cases)
{
    if (sum_get(s, a)->n + sum_get(s, b)->n > MAX_PRODUCTS) /* which would end the proof, not this way alone */
        return false;
    const sum rest = *sum_get(s, sum_add(s, a, b, -1));
    bool *used = TP_NEWN(s->arena, bool, rest.n + 1);
    for (uint32_t i = 0; i < rest.n; i++) {
        bool found = used[i];
        for (uint32_t k = i + 1; k < rest.n && !found; k++) {
            product other = rest.at[k];
            other.num = -other.num;
            found = !used[k] && sum_is_defined(s, sum_intern(s, &rest.at[i], 1)) &&
                    sum_is_defined(s, sum_intern(s, &other, 1)) && products_equal(s, p, &rest.at[i], &other, cases);
            used[k] |= found;
        }
        if (!found)
            return false;
    }
    record_open(s, TP_LAW_CANCEL);
    return true;
}

static tp_expr first_guard(const sum *a)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].nguards)
            return a->at[i].guard[0];
    return (tp_expr){0};
}

bool sums_equal(summary *s, const premises *p, uint32_t a, uint32_t b, int cases)
{
    if (a == b)
        return true;
    sum_spend(s);
    a = sum_under(s, p, a);
    b = sum_under(s, p, b);
    if (a == b)
        return true;
    const sum x = *sum_get(s, a), y = *sum_get(s, b);
    if (equal_pairwise(s, p, &x, &y, cases))
        return true;
    if ((x.n > y.n && cut_equal(s, p, &x, &y, cases)) || (x.n < y.n && cut_equal(s, p, &y, &x, cases)))
        return true;
    tp_expr guard = first_guard(&x);
    if (!guard.id)
        guard = first_guard(&y);
    if (!guard.id)
        return rest_vanishes(s, p, a, b, cases) || (x.n * y.n != 1 && equal_by_squares(s, p, a, b, cases)) ||
               equal_by_signs(s, p, a, b, cases);
    if (cases == 0)
        return false;
    record_open(s, TP_LAW_CASES);
    premises yes = premises_with(s, p, guard), no = premises_with(s, p, condition_normal(s, guard, true));
    return sums_equal(s, &yes, a, b, cases - 1) && sums_equal(s, &no, a, b, cases - 1);
}

bool terms_equal(summary *s, const premises *p, term a, term b, bool reference)
{
    a = term_decide(s, a, p);
    b = term_decide(s, b, p);
    if (!reference && a.id == b.id)
        return true;
    s->strict = true;
    uint32_t x = sum_of_term(s, a);
    s->strict = !reference;
    uint32_t y = sum_of_term(s, b);
    s->strict = false;
    if (reference) { /* where the reference has a value, equal divisors are not 0 */
        uint32_t left = sum_limit(s, x, true), right = sum_limit(s, y, false);
        if (left != x || right != y)
            record_open(s, TP_LAW_LIMIT);
        x = left;
        y = right;
    }
    if (sums_equal(s, p, x, y, MAX_CASES))
        return true;
    uint32_t left = sum_without_nothing(s, p, x), right = sum_without_nothing(s, p, y);
    if ((left != x || right != y) && sums_equal(s, p, left, right, MAX_CASES))
        return true;
    x = sum_with_extremes_out(s, left, true);
    y = sum_with_extremes_out(s, right, !reference);
    return (left != x || right != y) && sums_equal(s, p, x, y, MAX_CASES);
}

/* ---- all of it ---- */
