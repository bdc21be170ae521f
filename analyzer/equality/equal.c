/* Two normal forms are equal: by their handles, or because the prover shows
 * that indices are equal and that folds go over the same points. */
#include "analyzer/equality/sum.h"
#include "base/budget.h"

enum { MAX_CASES = 5, MAX_QUESTIONS = 1500, MAX_ORDERED = 3 };

/* ---- questions to the prover ---- */

tp_expr summary_index(summary *s, const char *name, tp_expr extent)
{
    tp_expr e = tp_sym_new(s->p, tp_printf(s->arena, "%s%u", name, s->vars.len));
    tp_var x = {.sym = (uint32_t)tp_expr_get(s->p, e)->value,
                .lo = tp_const(s->p, 0),
                .hi = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, extent, tp_const(s->p, 1))),
                .multiple_of = 1,
                .step = true};
    tp_push(s->arena, s->vars, x);
    return e;
}

premises premises_with(summary *s, const premises *p, tp_expr also)
{
    premises r = *p;
    if (r.n == sizeof r.at / sizeof *r.at)
        summary_stop(s, TP_S("there are too many cases"));
    r.at[r.n++] = also;
    return r;
}

typedef enum effort {
    QUICK,
    THOROUGH, /* with search and solvers, too */
    OF_SIZES, /* that, without a step of the grid at hand */
    LARGE,    /* THOROUGH, and hardly true without the implicit facts */
} effort;

static bool ask(summary *s, const premises *p, tp_expr goal, effort how)
{
    tp_expr copy[48];
    int64_t v;
    goal = condition_normal(s, goal, false);
    if (tp_expr_is_const(s->p, goal, &v))
        return v != 0;
    uint32_t key[52] = {goal.id, how}, len = 2;
    for (uint32_t i = 0; i < p->n; i++)
        key[len++] = p->at[i].id;
    tp_buf b = {.arena = s->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, len * sizeof *key});
    tp_str text = tp_buf_view(&b);
    uint32_t known = tp_map_get(&s->asked, text), number = 0;
    if (known > 1)
        record_side_again(s, known - 2);
    if (known)
        return known > 1;
    if (++s->questions > MAX_QUESTIONS)
        summary_stop(s, TP_S("too many conditions have to be decided"));
    memcpy(copy, p->at, p->n * sizeof *copy);
    tp_claim c = {.goal = goal,
                  .over_steps = how != OF_SIZES,
                  .premises = copy,
                  .npremises = p->n,
                  .extra = s->vars.at,
                  .nextra = s->vars.len,
                  .subject = TP_S("equality"),
                  .large = how == LARGE};
    bool yes = tp_claim_follows(s->a, &c);
    if (yes || how != QUICK) { /* by the prover that keeps the books */
        tp_decision d = tp_claim_decide(s->a, &c);
        yes = d.verdict == TP_PROVEN;
        s->out->given |= yes ? c.given : 0;
        s->out->obligations += yes;
        s->out->certified += yes && d.grade == TP_GRADE_CERT;
        if (yes && d.grade > s->out->grade)
            s->out->grade = d.grade;
        number = yes ? record_side(s, &c, d) : 0;
    }
    tp_map_set(s->arena, &s->asked, text, yes ? 2 + number : 1);
    return yes;
}

bool summary_follows(summary *s, const premises *p, tp_expr goal)
{
    return ask(s, p, goal, QUICK);
}

bool summary_proves(summary *s, const premises *p, tp_expr goal)
{
    return ask(s, p, goal, THOROUGH);
}

bool summary_proves_large(summary *s, tp_expr goal)
{
    static const premises nothing = {.n = 0};
    return ask(s, &nothing, goal, LARGE);
}

bool summary_proves_of_sizes(summary *s, tp_expr goal)
{
    static const premises nothing = {.n = 0};
    return ask(s, &nothing, goal, OF_SIZES);
}

int summary_decides(summary *s, tp_expr condition, void *p)
{
    if (summary_follows(s, p, condition))
        return 1;
    return summary_follows(s, p, condition_normal(s, condition, true)) ? -1 : 0;
}

bool at_most_one_point(summary *s, const premises *p, tp_expr condition, const uint32_t *sym, const tp_expr *extent,
                       uint32_t n)
{
    tp_expr *first = TP_NEWN(s->arena, tp_expr, n), *second = TP_NEWN(s->arena, tp_expr, n);
    for (uint32_t i = 0; i < n; i++) {
        first[i] = summary_index(s, "p", extent[i]);
        second[i] = summary_index(s, "q", extent[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t symbols = tp_sym_count(s->p);
        tp_expr *at_first = TP_NEWN(s->arena, tp_expr, symbols), *at_second = TP_NEWN(s->arena, tp_expr, symbols);
        for (uint32_t k = 0; k < n; k++) {
            at_first[sym[k]] = first[k];
            at_second[sym[k]] = k < i ? first[k] : second[k];
        }
        premises both = *p;
        for (uint32_t k = 0; k < p->n; k++) {
            both.at[k] = tp_expr_subst(s->p, p->at[k], at_first, symbols);
            both = premises_with(s, &both, tp_expr_subst(s->p, p->at[k], at_second, symbols));
        }
        both = premises_with(s, &both, tp_expr_subst(s->p, condition, at_first, symbols));
        both = premises_with(s, &both, tp_expr_subst(s->p, condition, at_second, symbols));
        if (!summary_proves(s, &both, tp_op2(s->p, TP_E_GE, first[i], second[i])))
            return false;
    }
    return true;
}

/* ---- comparing ---- */

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
    if (n.op == TP_E_READ)
        return tp_read(p, (uint32_t)n.value, 3, (tp_expr[]){a, b, c});
    if (n.op == TP_E_ITE)
        return tp_ite(p, a, b, c);
    return b.id ? tp_op2(p, n.op, a, b) : tp_op1(p, n.op, a);
}

static bool indices_equal(summary *s, const premises *p, tp_expr a, tp_expr b)
{
    if (tp_same(tp_expr_normal(s->p, a), tp_expr_normal(s->p, b)) ||
        tp_same(tp_expr_normal(s->p, without_remainders(s, a)), tp_expr_normal(s->p, without_remainders(s, b))))
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
        bool taken = false;
        for (uint32_t k = 0; k < n; k++)
            taken |= order[k] == i;
        order[n] = i;
        if (!taken && some_order(s, p, a, b, order, n + 1, cases))
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

static bool products_equal(summary *s, const premises *p, const product *a, const product *b, int cases)
{
    bool taken[MAX_FACTORS] = {false};
    if (a->num != b->num || a->den != b->den || a->nfactors != b->nfactors || (a->exponent == 0) != (b->exponent == 0))
        return false;
    for (uint32_t i = 0; i < a->nfactors; i++) {
        bool found = false;
        for (int look = 0; look < 2 && !found; look++) /* the same handle first */
            for (uint32_t k = 0; k < b->nfactors && !found; k++) {
                if (taken[k] || a->factor[i].power != b->factor[k].power ||
                    (look == 0 && a->factor[i].atom != b->factor[k].atom))
                    continue;
                found = look == 0 || atoms_equal(s, p, a->factor[i].atom, b->factor[k].atom, cases);
                taken[k] |= found;
            }
        if (!found)
            return false;
    }
    return !a->exponent || sums_equal(s, p, a->exponent, b->exponent, cases);
}

static bool same_guards(const product *a, const product *b)
{
    return a->nguards == b->nguards && memcmp(a->guard, b->guard, a->nguards * sizeof *a->guard) == 0;
}

/* Product by product, guards as they are written. */
static bool paired(summary *s, const premises *p, const sum *a, const sum *b, int cases)
{
    bool *taken = TP_NEWN(s->arena, bool, b->n + 1);
    if (a->n != b->n)
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < b->n && !found; k++) {
            if (taken[k] || !same_guards(&a->at[i], &b->at[k]))
                continue;
            premises here = *p;
            for (uint32_t g = 0; g < a->at[i].nguards; g++)
                here = premises_with(s, &here, a->at[i].guard[g]);
            found = products_equal(s, &here, &a->at[i], &b->at[k], cases);
            taken[k] = found;
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

/* Counter k of r runs from `end` on: it is counted from 0. false: `end` is not seen to be at least 0. */
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
    atom r = fold_opened(s, atom_intern(s, whole));
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
        bool taken = false;
        for (uint32_t k = 0; k < n; k++)
            taken |= order[k] == i;
        order[n] = i;
        if (!taken && rest_in_some_order(s, p, whole, part, order, n + 1, cases, rest))
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
    if (paired(s, p, &x, &y, cases))
        return true;
    if ((x.n > y.n && cut_equal(s, p, &x, &y, cases)) || (x.n < y.n && cut_equal(s, p, &y, &x, cases)))
        return true;
    tp_expr guard = first_guard(&x);
    if (!guard.id)
        guard = first_guard(&y);
    if (!guard.id)
        return equal_by_signs(s, p, a, b, cases);
    if (cases == 0)
        return false;
    record_open(s, TP_LAW_CASES);
    premises yes = premises_with(s, p, guard), no = premises_with(s, p, condition_normal(s, guard, true));
    return sums_equal(s, &yes, a, b, cases - 1) && sums_equal(s, &no, a, b, cases - 1);
}

bool terms_equal(summary *s, const premises *p, term a, term b, bool reference)
{
    a = term_decided(s, a, summary_decides, (void *)(uintptr_t)p);
    b = term_decided(s, b, summary_decides, (void *)(uintptr_t)p);
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
    return sums_equal(s, p, x, y, MAX_CASES);
}

/* ---- all of it ---- */

typedef struct proving {
    summary *s;
    const tp_program *reference;
} proving;

static tp_str sum_text(summary *s, term t, bool kernel)
{
    enum { MOST = 400 };
    tp_buf b = {.arena = s->arena};
    s->strict = kernel;
    sum_print(s, &b, sum_limit(s, sum_of_term(s, t), kernel));
    tp_str text = tp_buf_view(&b);
    return text.n <= MOST ? text : tp_printf(s->arena, "%.*s...", MOST, text.p);
}

static _Noreturn void stop_at_difference(summary *s, const tp_operand *o, term kernel, term reference)
{
    s->out->detail = tp_printf(s->arena, "%.*s; in the reference %.*s", TP_FMT(sum_text(s, kernel, true)),
                               TP_FMT(sum_text(s, reference, false)));
    summary_stop(s, tp_printf(s->arena, "output `%.*s` is not seen to be equal", TP_FMT(o->name)));
}

static void prove_all(void *arg)
{
    static const premises nothing = {.n = 0};
    proving *w = arg;
    summary *s = w->s;
    const tp_kernel *k = s->k;
    literals_of(s, k->body, true);
    literals_of(s, w->reference, false);
    evaluation *body = evaluate(s, k->body, true), *reference = evaluate(s, w->reference, false);
    uint32_t compared = 0;
    find_uniform(body);
    for (uint32_t i = 0; i < k->noutputs; i++) {
        uint32_t operand = k->ninputs + i;
        const tp_operand *o = &k->operands[operand];
        tp_vid value = reference->p->operand_value[operand];
        tp_expr at[TP_MAX_RANK];
        s->node = NULL;
        s->syntax = NULL;
        if (o->discard || value < 0)
            continue;
        compared++;
        for (uint32_t d = 0; d < o->rank; d++)
            at[d] = summary_index(s, "e", o->shape[d]);
        term is = output_element(body, operand, at), wanted = element_of(reference, value, at);
        premises p = nothing;
        summary_fits(s, NULL, NULL);
        if (o->valid.id) { /* only these elements are compared */
            tp_expr *with = TP_NEWN(s->arena, tp_expr, tp_sym_count(s->p));
            for (uint32_t d = 0; d < o->rank; d++)
                with[o->element_syms[d]] = at[d];
            p = premises_with(s, &p, tp_expr_subst(s->p, o->valid, with, tp_sym_count(s->p)));
        }
        s->node = NULL;
        s->syntax = NULL;
        if (!terms_equal(s, &p, is, wanted, true))
            stop_at_difference(s, o, is, wanted);
        record_equal(s, &p, is, wanted, o->name);
    }
    if (compared == 0)
        summary_stop(s, TP_S("no output is compared with the reference"));
}

summary *summary_new(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o, tp_equality *out)
{
    summary *s = TP_NEW(arena, summary);
    tp_analysis_options *own = TP_NEW(arena, tp_analysis_options);
    *own = *o;
    own->prover.no_solver = true; /* many small questions: what needs a solver is left open */
    *s = (summary){.arena = arena, .a = tp_analysis_begin(arena, k, own), .k = k, .p = k->exprs, .out = out};
    s->o = &own->prover;
    s->positive = TP_NEWN(arena, bool, tp_noperands(k));
    *out = (tp_equality){.grade = TP_GRADE_CERT};
    return s;
}

/* Once; false: literals that are taken for what they may mean could help. */
static bool try_to_prove(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                         bool meant, tp_equality *out)
{
    proving w = {summary_new(a, k, o, out), reference};
    w.s->meant = meant;
    tp_status st = tp_try(a, prove_all, &w);
    bool overflowed = tp_exprs_overflowed(k->exprs);
    tp_analysis_end(w.s->a);
    if (st == TP_E_MEMORY)
        tp_leave(a, st);
    out->proven = st == TP_OK && !overflowed;
    if (st == TP_E_BUDGET)
        out->reason = tp_budget_or(a, out->reason);
    else if (!out->proven && !out->reason.n)
        out->reason = TP_S("an expression is too large");
    return out->proven || !literals_may_be_rounded(w.s);
}

void tp_prove_equality(tp_arena *a, const tp_kernel *k, const tp_program *reference, const tp_analysis_options *o,
                       tp_equality *out)
{
    if (!try_to_prove(a, k, reference, o, false, out))
        try_to_prove(a, k, reference, o, true, out);
}

const char *const tp_equality_rests_on[] = {"TP006", "TP007", "TP008", "TP101", "TP102", "TP103",
                                            "TP104", "TP105", "TP401", "TP402", "TP403", "TP404",
                                            "TP405", "TP406", "TP501", "TP503", NULL};

const char *tp_equality_without(const tp_findings *findings)
{
    for (int r = 0; tp_equality_rests_on[r]; r++)
        for (uint32_t i = 0; i < findings->len; i++) {
            const tp_finding *f = &findings->at[i];
            if (strcmp(f->rule, tp_equality_rests_on[r]) == 0 && f->verdict != TP_PROVEN && f->verdict != TP_ADVICE &&
                f->verdict != TP_NOT_APPLICABLE)
                return tp_equality_rests_on[r];
        }
    return NULL;
}
