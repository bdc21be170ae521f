#include "analyzer/summary/sum.h"
#include "base/checked.h"
#include "spec/constants.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_PRODUCTS = 64, MAX_SPLITS = 4, MAX_POWER = 8 };

enum { MAX_DEPTH = 8 };

struct sums {
    uint32_t own[MAX_DEPTH][MAX_COUNTERS]; /* symbols that only folds bind, by how deep folds are nested in them; + 1 */
    TP_VEC(sum) sums;
    TP_VEC(atom) atoms;
    tp_map known;
    tp_map of_term;
};

static struct sums *pool(summary *s)
{
    if (!s->sums)
        s->sums = TP_NEW(s->arena, struct sums);
    return s->sums;
}

const sum *sum_get(const summary *s, uint32_t id)
{
    return &s->sums->sums.at[id - 1];
}

const atom *atom_get(const summary *s, uint32_t id)
{
    return &s->sums->atoms.at[id - 1];
}

static _Noreturn void too_large(summary *s)
{
    summary_stop(s, TP_S("the normal form grows too large"));
}

/* ---- hash-consing ---- */

typedef struct key {
    tp_buf b;
} key;

static void put(key *k, uint64_t v)
{
    tp_buf_str(&k->b, (tp_str){(const char *)&v, sizeof v});
}

static uint32_t atom_of(summary *s, const atom *a)
{
    struct sums *all = pool(s);
    key k = {.b = {.arena = s->arena}};
    uint64_t bits;
    memcpy(&bits, &a->real, sizeof bits);
    put(&k, 1);
    put(&k, a->kind);
    put(&k, a->prim);
    put(&k, bits);
    put(&k, a->e.id);
    put(&k, a->number);
    put(&k, a->operand);
    put(&k, a->rank);
    for (uint32_t d = 0; d < a->rank; d++)
        put(&k, a->at[d].id);
    for (int i = 0; i < 3; i++)
        put(&k, a->arg[i]);
    put(&k, a->counters);
    for (uint32_t i = 0; i < a->counters; i++) {
        put(&k, a->counter[i]);
        put(&k, a->extent[i].id);
    }
    for (uint32_t i = 0; i < a->nguards; i++)
        put(&k, a->guard[i].id);
    tp_str text = tp_buf_view(&k.b);
    uint32_t known = tp_map_get(&all->known, text);
    if (known)
        return known;
    tp_push(s->arena, all->atoms, *a);
    tp_map_set(s->arena, &all->known, text, all->atoms.len);
    return all->atoms.len;
}

static uint32_t intern_sum(summary *s, const product *at, uint32_t n)
{
    struct sums *all = pool(s);
    key k = {.b = {.arena = s->arena}};
    put(&k, 2);
    for (uint32_t i = 0; i < n; i++) {
        const product *p = &at[i];
        put(&k, (uint64_t)p->num);
        put(&k, (uint64_t)p->den);
        put(&k, p->exponent);
        put(&k, (uint64_t)p->nguards << 32 | p->nfactors);
        for (uint32_t g = 0; g < p->nguards; g++)
            put(&k, p->guard[g].id);
        for (uint32_t f = 0; f < p->nfactors; f++)
            put(&k, (uint64_t)p->factor[f].atom << 32 | (uint32_t)p->factor[f].power);
    }
    tp_str text = tp_buf_view(&k.b);
    uint32_t known = tp_map_get(&all->known, text);
    if (known)
        return known;
    product *copy = TP_NEWN(s->arena, product, n);
    if (n)
        memcpy(copy, at, n * sizeof *at);
    tp_push(s->arena, all->sums, ((sum){copy, n}));
    tp_map_set(s->arena, &all->known, text, all->sums.len);
    return all->sums.len;
}

/* ---- arithmetic ---- */

/* Everything but the coefficient; guards last. */
static int compare_products(const product *a, const product *b, bool with_guards)
{
    if (a->nfactors != b->nfactors)
        return a->nfactors < b->nfactors ? -1 : 1;
    for (uint32_t i = 0; i < a->nfactors; i++) {
        if (a->factor[i].atom != b->factor[i].atom)
            return a->factor[i].atom < b->factor[i].atom ? -1 : 1;
        if (a->factor[i].power != b->factor[i].power)
            return a->factor[i].power < b->factor[i].power ? -1 : 1;
    }
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    if (!with_guards)
        return 0;
    if (a->nguards != b->nguards)
        return a->nguards < b->nguards ? -1 : 1;
    for (uint32_t i = 0; i < a->nguards; i++)
        if (a->guard[i].id != b->guard[i].id)
            return a->guard[i].id < b->guard[i].id ? -1 : 1;
    return 0;
}

static int by_order(const void *a, const void *b)
{
    return compare_products(a, b, true);
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static void reduce_fraction(summary *s, product *p)
{
    if (p->den == 0 || p->num == INT64_MIN || p->den == INT64_MIN)
        too_large(s);
    int64_t d = divisor(p->num, p->den);
    p->num /= d;
    p->den /= d;
    if (p->den < 0) {
        p->num = -p->num;
        p->den = -p->den;
    }
}

static void add_fraction(summary *s, product *to, const product *p)
{
    int64_t a, b, den, num;
    if (!tp_mul(to->num, p->den, &a) || !tp_mul(p->num, to->den, &b) || !tp_add(a, b, &num) ||
        !tp_mul(to->den, p->den, &den))
        too_large(s);
    to->num = num;
    to->den = den;
    reduce_fraction(s, to);
}

/* [g] x + [not g] x = x, once. */
static bool merge_complements(summary *s, product *at, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        for (uint32_t k = i + 1; k < *n; k++) {
            product *a = &at[i], *b = &at[k];
            if (a->num != b->num || a->den != b->den || a->nguards != b->nguards || a->nguards == 0 ||
                compare_products(a, b, false) != 0)
                continue;
            uint32_t only_a = UINT32_MAX, differ = 0;
            for (uint32_t g = 0; g < a->nguards; g++) {
                bool found = false;
                for (uint32_t h = 0; h < b->nguards; h++)
                    found |= tp_same(a->guard[g], b->guard[h]);
                if (!found) {
                    only_a = g;
                    differ++;
                }
            }
            if (differ != 1)
                continue;
            tp_expr opposite = condition_normal(s, a->guard[only_a], true);
            bool complement = false;
            for (uint32_t h = 0; h < b->nguards; h++)
                complement |= tp_same(b->guard[h], opposite);
            if (!complement)
                continue;
            memmove(&a->guard[only_a], &a->guard[only_a + 1], (a->nguards - only_a - 1) * sizeof *a->guard);
            a->nguards--;
            memmove(b, b + 1, (*n - k - 1) * sizeof *b);
            --*n;
            return true;
        }
    return false;
}

/* Sorted, like products added; the array is used up. */
static uint32_t sum_from(summary *s, product *at, uint32_t n)
{
    do {
        uint32_t kept = 0;
        qsort(at, n, sizeof *at, by_order);
        for (uint32_t i = 0; i < n; i++) {
            if (kept && compare_products(&at[kept - 1], &at[i], true) == 0)
                add_fraction(s, &at[kept - 1], &at[i]);
            else
                at[kept++] = at[i];
            if (at[kept - 1].num == 0)
                kept--;
        }
        n = kept;
    } while (merge_complements(s, at, &n));
    return intern_sum(s, at, n);
}

static product number(int64_t num, int64_t den)
{
    return (product){.num = num, .den = den};
}

static uint32_t constant(summary *s, int64_t v)
{
    product p = number(v, 1);
    return intern_sum(s, &p, v != 0);
}

static uint32_t add(summary *s, uint32_t a, uint32_t b, int64_t scale)
{
    const sum x = *sum_get(s, a), y = *sum_get(s, b);
    if (x.n + y.n > MAX_PRODUCTS)
        too_large(s);
    product *at = TP_NEWN(s->arena, product, x.n + y.n + 1);
    if (x.n)
        memcpy(at, x.at, x.n * sizeof *at);
    for (uint32_t i = 0; i < y.n; i++) {
        at[x.n + i] = y.at[i];
        if (!tp_mul(y.at[i].num, scale, &at[x.n + i].num))
            too_large(s);
    }
    return sum_from(s, at, x.n + y.n);
}

/* Adds a condition to p; false: p is 0 then. Conjunctions are taken apart. */
static bool add_guard(summary *s, product *p, tp_expr condition)
{
    tp_expr e = condition_normal(s, condition, false);
    const tp_expr_node n = *tp_expr_get(s->p, e);
    int64_t v;
    if (tp_expr_is_const(s->p, e, &v))
        return v != 0;
    if (n.op == TP_E_AND)
        return add_guard(s, p, n.a) && add_guard(s, p, n.b);
    tp_expr opposite = condition_normal(s, e, true);
    uint32_t at = p->nguards;
    for (uint32_t i = 0; i < p->nguards; i++) {
        if (tp_same(p->guard[i], e))
            return true;
        if (tp_same(p->guard[i], opposite))
            return false;
    }
    if (p->nguards == MAX_GUARDS)
        too_large(s);
    while (at > 0 && p->guard[at - 1].id > e.id)
        at--;
    memmove(&p->guard[at + 1], &p->guard[at], (p->nguards - at) * sizeof *p->guard);
    p->guard[at] = e;
    p->nguards++;
    return true;
}

/* Is it 0 or 1? */
static bool is_condition(const atom *a)
{
    return a->kind == ATOM_APPLY && (tp_prim_info(a->prim)->to_bool || a->prim == TP_P_ANY || a->prim == TP_P_ALL);
}

/* Never 0? Then x / x = 1. */
static bool never_0(summary *s, const atom *a)
{
    static const premises nothing = {.n = 0};
    return a->kind == ATOM_REAL ||
           (a->kind == ATOM_INDEX && summary_follows(s, &nothing, tp_op2(s->p, TP_E_GE, a->e, tp_const(s->p, 1))));
}

/* atom^power joins p. Powers of both signs stay apart where the atom may be 0. */
static void add_factor(summary *s, product *p, uint32_t id, int power)
{
    const atom a = *atom_get(s, id);
    bool cancels = false;
    for (uint32_t i = 0; i < p->nfactors; i++) {
        if (p->factor[i].atom != id)
            continue;
        if ((p->factor[i].power > 0) != (power > 0) && !cancels && !(cancels = never_0(s, &a)))
            continue;
        int both = p->factor[i].power + power;
        if (is_condition(&a) && both > 1)
            both = 1;
        if (abs(both) > MAX_POWER)
            too_large(s);
        p->factor[i].power = both;
        if (both == 0) {
            memmove(&p->factor[i], &p->factor[i + 1], (p->nfactors - i - 1) * sizeof *p->factor);
            p->nfactors--;
        }
        return;
    }
    if (p->nfactors == MAX_FACTORS)
        too_large(s);
    uint32_t at = p->nfactors;
    while (at > 0 && (p->factor[at - 1].atom > id || (p->factor[at - 1].atom == id && p->factor[at - 1].power > power)))
        at--;
    memmove(&p->factor[at + 1], &p->factor[at], (p->nfactors - at) * sizeof *p->factor);
    p->factor[at] = (factor){id, power};
    p->nfactors++;
}

/* False: it is 0. */
static bool multiply_into(summary *s, product *p, const product *by)
{
    if (!tp_mul(p->num, by->num, &p->num) || !tp_mul(p->den, by->den, &p->den))
        too_large(s);
    reduce_fraction(s, p);
    for (uint32_t i = 0; i < by->nguards; i++)
        if (!add_guard(s, p, by->guard[i]))
            return false;
    for (uint32_t i = 0; i < by->nfactors; i++)
        add_factor(s, p, by->factor[i].atom, by->factor[i].power);
    if (by->exponent)
        p->exponent = p->exponent ? add(s, p->exponent, by->exponent, 1) : by->exponent;
    if (p->exponent && sum_get(s, p->exponent)->n == 0)
        p->exponent = 0;
    return true;
}

static uint32_t multiply(summary *s, uint32_t a, uint32_t b)
{
    const sum x = *sum_get(s, a), y = *sum_get(s, b);
    uint32_t n = 0;
    if (x.n * y.n > MAX_PRODUCTS)
        too_large(s);
    product *at = TP_NEWN(s->arena, product, x.n * y.n + 1);
    for (uint32_t i = 0; i < x.n; i++)
        for (uint32_t k = 0; k < y.n; k++) {
            at[n] = x.at[i];
            n += multiply_into(s, &at[n], &y.at[k]);
        }
    return sum_from(s, at, n);
}

static uint32_t of_atom(summary *s, const atom *a, int power)
{
    product p = number(1, 1);
    add_factor(s, &p, atom_of(s, a), power);
    return intern_sum(s, &p, 1);
}

static uint32_t of_index(summary *s, tp_expr e)
{
    int64_t v;
    if (tp_expr_is_bool(s->p, e) && !tp_expr_is_const(s->p, e, &v)) {
        product p = number(1, 1);
        return add_guard(s, &p, e) ? intern_sum(s, &p, 1) : constant(s, 0);
    }
    if (tp_expr_is_const(s->p, e, &v))
        return constant(s, v);
    /* a polynomial: its atoms are factors, so that sums of indices are sums */
    tp_poly *q = TP_NEW(s->arena, tp_poly);
    tp_poly_of(s->p, e, q);
    if (!q->ok)
        return of_atom(s, &(atom){.kind = ATOM_INDEX, .e = e}, 1);
    product *at = TP_NEWN(s->arena, product, q->n);
    for (uint32_t i = 0; i < q->n; i++) {
        at[i] = number(q->terms[i].coef, 1);
        for (uint32_t k = 0; k < q->terms[i].degree; k++)
            add_factor(s, &at[i], atom_of(s, &(atom){.kind = ATOM_INDEX, .e = q->terms[i].factors[k]}), 1);
    }
    return sum_from(s, at, q->n);
}

/* [condition] x */
static uint32_t guarded(summary *s, tp_expr condition, uint32_t a)
{
    const sum x = *sum_get(s, a);
    product *at = TP_NEWN(s->arena, product, x.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        at[n] = x.at[i];
        n += add_guard(s, &at[n], condition);
    }
    return sum_from(s, at, n);
}

/* The value of the choice; a conjunction is one condition after the other. */
static uint32_t chosen(summary *s, tp_expr condition, uint32_t yes, uint32_t no)
{
    tp_expr e = condition_normal(s, condition, false);
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (n.op == TP_E_AND)
        return chosen(s, n.a, chosen(s, n.b, yes, no), no);
    if (n.op == TP_E_OR)
        return chosen(s, n.a, yes, chosen(s, n.b, yes, no));
    return add(s, guarded(s, e, yes), guarded(s, condition_normal(s, e, true), no), 1);
}

/* ---- laws ---- */

/* A guard in x: what is not linear looks at both cases. No id: there is none. */
static tp_expr some_guard(summary *s, uint32_t x)
{
    const sum *a = sum_get(s, x);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].nguards)
            return a->at[i].guard[0];
    return (tp_expr){0};
}

/* x where the guard holds, or does not. */
static uint32_t where_guard(summary *s, uint32_t x, tp_expr guard, bool holds)
{
    const sum a = *sum_get(s, x);
    tp_expr yes = condition_normal(s, guard, !holds), no = condition_normal(s, guard, holds);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        product p = a.at[i];
        bool is_0 = false;
        p.nguards = 0;
        for (uint32_t g = 0; g < a.at[i].nguards; g++) {
            is_0 |= tp_same(a.at[i].guard[g], no);
            if (!tp_same(a.at[i].guard[g], yes))
                p.guard[p.nguards++] = a.at[i].guard[g];
        }
        if (!is_0)
            at[n++] = p;
    }
    return sum_from(s, at, n);
}

static uint32_t of_fold(summary *s, atom *f);
static atom opened(summary *s, uint32_t id);
static uint32_t applied(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth);

static uint32_t exponential(summary *s, uint32_t x)
{
    if (sum_get(s, x)->n == 0)
        return constant(s, 1);
    product p = number(1, 1);
    p.exponent = x;
    return intern_sum(s, &p, 1);
}

static uint32_t inverse(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    if (a.n == 1 && a.at[0].nguards == 0) {
        product p = number(a.at[0].den, a.at[0].num);
        reduce_fraction(s, &p);
        for (uint32_t i = 0; i < a.at[0].nfactors; i++)
            add_factor(s, &p, a.at[0].factor[i].atom, -a.at[0].factor[i].power);
        if (a.at[0].exponent)
            p.exponent = add(s, constant(s, 0), a.at[0].exponent, -1);
        return intern_sum(s, &p, 1);
    }
    return of_atom(s, &(atom){.kind = ATOM_INVERSE, .arg = {x}}, 1);
}

static uint32_t power(summary *s, uint32_t x, int64_t n)
{
    uint32_t r = constant(s, 1);
    if (n < -MAX_POWER || n > MAX_POWER)
        too_large(s);
    for (int64_t k = 0; k < (n < 0 ? -n : n); k++)
        r = multiply(s, r, x);
    return n < 0 ? inverse(s, r) : r;
}

/* log(exp(e) * rest) = e + log(rest) */
static uint32_t logarithm(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    if (a.n != 1 || !a.at[0].exponent || a.at[0].nguards)
        return of_atom(s, &(atom){.kind = ATOM_APPLY, .prim = TP_P_LOG, .arg = {x}}, 1);
    product rest = a.at[0];
    rest.exponent = 0;
    return add(s, a.at[0].exponent, logarithm(s, intern_sum(s, &rest, 1)), 1);
}

static uint32_t literal(summary *s, double v)
{
    return sum_of_term(s, term_real(s, v));
}

static uint32_t opaque(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs)
{
    static const struct {
        tp_prim from, to;
    } TURNED[] = {{TP_P_GT, TP_P_LT}, {TP_P_GE, TP_P_LE}};
    atom a = {.kind = ATOM_APPLY, .prim = prim, .e = tp_const(s->p, exponent)};
    for (uint32_t i = 0; i < nargs; i++)
        a.arg[i] = arg[i];
    bool turn = false, symmetric = prim == TP_P_MAXIMUM || prim == TP_P_MINIMUM || prim == TP_P_EQ || prim == TP_P_NE;
    for (int i = 0; i < 2; i++)
        if (prim == TURNED[i].from) {
            a.prim = TURNED[i].to;
            turn = true;
        }
    if (turn || (symmetric && arg[0] > arg[1])) {
        a.arg[0] = arg[1];
        a.arg[1] = arg[0];
    }
    return of_atom(s, &a, 1);
}

static uint32_t by_meaning(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs)
{
    uint32_t one = constant(s, 1), x = arg[0];
    switch (prim) {
    case TP_P_EXP: return exponential(s, x);
    case TP_P_EXPM1: return add(s, exponential(s, x), one, -1);
    case TP_P_LOG: return logarithm(s, x);
    case TP_P_LOG1P: return logarithm(s, add(s, one, x, 1));
    case TP_P_RSQRT: {
        const uint32_t root[] = {x};
        return inverse(s, opaque(s, TP_P_SQRT, 0, root, 1));
    }
    case TP_P_LOGISTIC: return inverse(s, add(s, one, exponential(s, add(s, constant(s, 0), x, -1)), 1));
    case TP_P_SILU: return multiply(s, x, by_meaning(s, TP_P_LOGISTIC, 0, arg, 1));
    case TP_P_GELU: {
        uint32_t cubic = multiply(s, power(s, x, 3), literal(s, 0.044715)),
                 inner[] = {multiply(s, add(s, x, cubic, 1), literal(s, 0.7978845608028654))};
        uint32_t outer = add(s, one, applied(s, TP_P_TANH, 0, inner, 1, 0), 1);
        return multiply(s, multiply(s, x, outer), inverse(s, constant(s, 2)));
    }
    case TP_P_RELU: {
        const uint32_t both[] = {x, constant(s, 0)};
        return opaque(s, TP_P_MAXIMUM, 0, both, 2);
    }
    case TP_P_INTEGER_POW: return power(s, x, exponent);
    case TP_P_SQUARE: return multiply(s, x, x);
    default: return opaque(s, prim, exponent, arg, nargs);
    }
}

/* An operation that is not linear: guards in its arguments are decided first. */
static uint32_t applied(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth)
{
    for (uint32_t i = 0; i < nargs; i++) {
        tp_expr guard = some_guard(s, arg[i]);
        if (!guard.id)
            continue;
        if (depth == MAX_SPLITS)
            too_large(s);
        uint32_t yes[3], no[3];
        for (uint32_t k = 0; k < nargs; k++) {
            yes[k] = where_guard(s, arg[k], guard, true);
            no[k] = where_guard(s, arg[k], guard, false);
        }
        return chosen(s, guard, applied(s, prim, exponent, yes, nargs, depth + 1),
                      applied(s, prim, exponent, no, nargs, depth + 1));
    }
    return by_meaning(s, prim, exponent, arg, nargs);
}

/* ---- folds ---- */

static bool sum_mentions(summary *s, uint32_t id, uint32_t sym);

static bool atom_mentions(summary *s, uint32_t id, uint32_t sym)
{
    const atom a = *atom_get(s, id);
    bool yes = a.e.id && tp_expr_mentions(s->p, a.e, sym);
    for (uint32_t d = 0; d < a.rank && !yes; d++)
        yes = tp_expr_mentions(s->p, a.at[d], sym);
    for (uint32_t i = 0; i < a.counters && !yes; i++)
        yes = tp_expr_mentions(s->p, a.extent[i], sym);
    for (uint32_t i = 0; i < a.nguards && !yes; i++)
        yes = tp_expr_mentions(s->p, a.guard[i], sym);
    for (int i = 0; i < 3 && !yes; i++)
        yes = a.arg[i] && sum_mentions(s, a.arg[i], sym);
    return yes;
}

static bool product_mentions(summary *s, const product *p, uint32_t sym)
{
    bool yes = p->exponent && sum_mentions(s, p->exponent, sym);
    for (uint32_t i = 0; i < p->nguards && !yes; i++)
        yes = tp_expr_mentions(s->p, p->guard[i], sym);
    for (uint32_t i = 0; i < p->nfactors && !yes; i++)
        yes = atom_mentions(s, p->factor[i].atom, sym);
    return yes;
}

static bool sum_mentions(summary *s, uint32_t id, uint32_t sym)
{
    const sum a = *sum_get(s, id);
    for (uint32_t i = 0; i < a.n; i++)
        if (product_mentions(s, &a.at[i], sym))
            return true;
    return false;
}

static premises guards_but(const atom *f, uint32_t which)
{
    premises p = {.n = 0};
    for (uint32_t i = 0; i < f->nguards; i++)
        if (i != which)
            p.at[p.n++] = f->guard[i];
    return p;
}

/* Guards that follow from the others and the ranges are left out. */
static void prune_guards(summary *s, atom *f)
{
    for (uint32_t i = f->nguards; i-- > 0;) {
        premises p = guards_but(f, i);
        if (!summary_follows(s, &p, f->guard[i]))
            continue;
        memmove(&f->guard[i], &f->guard[i + 1], (f->nguards - i - 1) * sizeof *f->guard);
        f->nguards--;
    }
}

/* Two counters k and t that are only spoken of as k*B + t, B the extent of t,
 * are the digits of one: every number below the product once. */
static bool merge_pair(summary *s, atom *f, uint32_t k, uint32_t t)
{
    static const premises nothing = {.n = 0};
    tp_expr block = f->extent[t], positive = tp_op2(s->p, TP_E_GE, block, tp_const(s->p, 1));
    for (uint32_t i = 0; i < f->counters; i++)
        if (tp_expr_mentions(s->p, block, f->counter[i]) || tp_expr_mentions(s->p, f->extent[k], f->counter[i]) ||
            tp_expr_mentions(s->p, f->extent[i], f->counter[k]) || tp_expr_mentions(s->p, f->extent[i], f->counter[t]))
            return false;
    tp_expr count = tp_op2(s->p, TP_E_MUL, f->extent[k], block), both = summary_index(s, "u", count),
            quotient = summary_index(s, "q", f->extent[k]);
    uint32_t n = tp_sym_count(s->p), q = (uint32_t)tp_expr_get(s->p, quotient)->value;
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[f->counter[k]] = quotient;
    with[f->counter[t]] = tp_op2(s->p, TP_E_SUB, both, tp_op2(s->p, TP_E_MUL, block, quotient));
    uint32_t body = sum_subst(s, f->arg[0], with, n);
    product guards = number(1, 1);
    if (sum_mentions(s, body, q))
        return false;
    for (uint32_t i = 0; i < f->nguards; i++)
        if (!add_guard(s, &guards, tp_expr_subst(s->p, f->guard[i], with, n)))
            return false;
    for (uint32_t i = 0; i < guards.nguards; i++)
        if (tp_expr_mentions(s->p, guards.guard[i], q))
            return false;
    if (!summary_proves(s, &nothing, positive))
        return false;
    f->arg[0] = body;
    f->nguards = guards.nguards;
    memcpy(f->guard, guards.guard, sizeof f->guard);
    f->counter[k] = (uint32_t)tp_expr_get(s->p, both)->value;
    f->extent[k] = tp_expr_normal(s->p, count);
    for (uint32_t i = t; i + 1 < f->counters; i++) {
        f->counter[i] = f->counter[i + 1];
        f->extent[i] = f->extent[i + 1];
    }
    f->counters--;
    return true;
}

/* Where the guards say which argument is smaller, min and max are one of them. */
static tp_expr without_minima(summary *s, tp_expr e, void *ctx)
{
    const premises *p = ctx;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (!e.id || n.op == TP_E_CONST || n.op == TP_E_SYM)
        return e;
    if (n.op == TP_E_NEG || n.op == TP_E_NOT)
        return tp_op1(s->p, n.op, without_minima(s, n.a, ctx));
    if (n.op < TP_E_ADD)
        return e; /* choices and entries of tables stay */
    tp_expr a = without_minima(s, n.a, ctx), b = without_minima(s, n.b, ctx);
    if (n.op == TP_E_MIN || n.op == TP_E_MAX) {
        bool min = n.op == TP_E_MIN;
        if (summary_follows(s, p, tp_op2(s->p, TP_E_LE, a, b)))
            return min ? a : b;
        if (summary_follows(s, p, tp_op2(s->p, TP_E_GE, a, b)))
            return min ? b : a;
    }
    return tp_op2(s->p, n.op, a, b);
}

static bool merge_some(summary *s, atom *f)
{
    for (uint32_t k = 0; k < f->counters; k++)
        for (uint32_t t = 0; t < f->counters; t++)
            if (k != t && merge_pair(s, f, k, t))
                return true;
    return false;
}

static void merge_counters(summary *s, atom *f)
{
    for (bool pruned = false; f->counters > 1;) {
        if (merge_some(s, f))
            continue;
        if (pruned)
            return;
        premises here = guards_but(f, UINT32_MAX);
        for (uint32_t i = 0; i < f->counters; i++) /* in the domain of its counters only */
            here = premises_with(s, &here, tp_op2(s->p, TP_E_LT, tp_sym(s->p, f->counter[i]), f->extent[i]));
        f->arg[0] = sum_mapped(s, f->arg[0], without_minima, &here);
        prune_guards(s, f);
        pruned = true;
    }
}

/* The fold over one more counter, outside of a fold over the same operation. */
static atom nested(summary *s, uint32_t sym, tp_expr extent, const atom *inner)
{
    atom f = *inner;
    if (f.counters == MAX_COUNTERS)
        too_large(s);
    memmove(&f.counter[1], &f.counter[0], f.counters * sizeof *f.counter);
    memmove(&f.extent[1], &f.extent[0], f.counters * sizeof *f.extent);
    f.counter[0] = sym;
    f.extent[0] = extent;
    f.counters++;
    return f;
}

/* The sum of one product: what does not depend on the counter moves out. */
static uint32_t summed_product(summary *s, uint32_t sym, tp_expr extent, const product *p)
{
    product outer = number(p->num, p->den), inner = number(1, 1);
    uint32_t fold = 0;
    for (uint32_t i = 0; i < p->nguards; i++)
        add_guard(s, tp_expr_mentions(s->p, p->guard[i], sym) ? &inner : &outer, p->guard[i]);
    for (uint32_t i = 0; i < p->nfactors; i++) {
        const atom *a = atom_get(s, p->factor[i].atom);
        bool inside = atom_mentions(s, p->factor[i].atom, sym);
        if (inside && !fold && a->kind == ATOM_FOLD && a->prim == TP_P_SUM && p->factor[i].power == 1)
            fold = p->factor[i].atom; /* its counters join this one */
        else
            add_factor(s, inside ? &inner : &outer, p->factor[i].atom, p->factor[i].power);
    }
    if (p->exponent) { /* exp(a + b) = exp(a) * exp(b) */
        const sum e = *sum_get(s, p->exponent);
        product *in = TP_NEWN(s->arena, product, e.n), *out = TP_NEWN(s->arena, product, e.n);
        uint32_t nin = 0, nout = 0;
        for (uint32_t i = 0; i < e.n; i++)
            if (product_mentions(s, &e.at[i], sym))
                in[nin++] = e.at[i];
            else
                out[nout++] = e.at[i];
        inner.exponent = nin ? sum_from(s, in, nin) : 0;
        outer.exponent = nout ? sum_from(s, out, nout) : 0;
    }
    atom f = {.kind = ATOM_FOLD, .prim = TP_P_SUM, .counters = 0};
    if (fold) {
        f = opened(s, fold);
        const sum body = *sum_get(s, f.arg[0]); /* one product */
        product joined = inner;
        if (!multiply_into(s, &joined, &body.at[0]))
            return constant(s, 0);
        for (uint32_t i = 0; i < f.nguards; i++)
            if (!add_guard(s, &joined, f.guard[i]))
                return constant(s, 0);
        inner = joined;
    }
    f = nested(s, sym, extent, &f);
    f.nguards = inner.nguards;
    memcpy(f.guard, inner.guard, sizeof f.guard);
    inner.nguards = 0;
    memset(inner.guard, 0, sizeof inner.guard);
    f.arg[0] = intern_sum(s, &inner, 1);
    merge_counters(s, &f);
    add_factor(s, &outer, of_fold(s, &f), 1);
    return intern_sum(s, &outer, 1);
}

static uint32_t summed(summary *s, uint32_t sym, tp_expr extent, uint32_t body)
{
    const sum b = *sum_get(s, body);
    uint32_t total = constant(s, 0);
    for (uint32_t i = 0; i < b.n; i++)
        total = add(s, total, summed_product(s, sym, extent, &b.at[i]), 1);
    return total;
}

/* Is some point in the fold? The first one is tried. */
static bool never_empty(summary *s, const atom *f)
{
    static const premises nothing = {.n = 0};
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n), all = tp_const(s->p, 1);
    for (uint32_t i = 0; i < f->counters; i++)
        with[f->counter[i]] = tp_const(s->p, 0);
    for (uint32_t i = 0; i < f->counters; i++)
        all = tp_op2(s->p, TP_E_AND, all,
                     tp_op2(s->p, TP_E_GE, tp_expr_subst(s->p, f->extent[i], with, n), tp_const(s->p, 1)));
    for (uint32_t i = 0; i < f->nguards; i++)
        all = tp_op2(s->p, TP_E_AND, all, tp_expr_subst(s->p, f->guard[i], with, n));
    return summary_proves(s, &nothing, all);
}

/* max and min: terms that are the unit where a condition fails are outside of the fold. */
static uint32_t folded_term(summary *s, const term_node *fold)
{
    atom f = {.kind = ATOM_FOLD, .prim = fold->prim};
    product guards = number(1, 1);
    term t;
    term_node n = *fold;
    bool extreme = fold->prim == TP_P_MAX || fold->prim == TP_P_MIN;
    do { /* folds of folds */
        if (f.counters == MAX_COUNTERS)
            too_large(s);
        f.counter[f.counters] = n.sym;
        f.extent[f.counters++] = n.e;
        for (t = n.arg[0], n = *term_get(s, t); extreme && n.kind == T_SELECT; n = *term_get(s, t)) {
            const term_node no = *term_get(s, n.arg[1]), yes = *term_get(s, n.arg[0]);
            double unit = fold->prim == TP_P_MAX ? -INFINITY : INFINITY;
            bool unit_no = no.kind == T_REAL && no.real == unit, unit_yes = yes.kind == T_REAL && yes.real == unit;
            if (!unit_no && !unit_yes)
                break;
            if (!add_guard(s, &guards, unit_no ? n.e : condition_normal(s, n.e, true)))
                summary_stop(s, TP_S("the maximum of nothing"));
            t = n.arg[!unit_no];
        }
    } while (n.kind == T_FOLD && n.prim == fold->prim);
    f.nguards = guards.nguards;
    memcpy(f.guard, guards.guard, sizeof f.guard);
    f.arg[0] = sum_of_term(s, t);
    merge_counters(s, &f);
    if (extreme && !never_empty(s, &f))
        summary_stop(s, TP_S("the maximum or minimum of a row may be of nothing"));
    product p = number(1, 1);
    add_factor(s, &p, of_fold(s, &f), 1);
    return intern_sum(s, &p, 1);
}

/* How deep folds are nested in it. */
static uint32_t depth_of(summary *s, uint32_t id)
{
    const sum a = *sum_get(s, id);
    uint32_t depth = 0, inner;
    for (uint32_t i = 0; i < a.n; i++) {
        for (uint32_t f = 0; f < a.at[i].nfactors; f++) {
            const atom x = *atom_get(s, a.at[i].factor[f].atom);
            for (int k = 0; k < 3; k++)
                if (x.arg[k] && (inner = depth_of(s, x.arg[k]) + (x.kind == ATOM_FOLD)) > depth)
                    depth = inner;
        }
        if (a.at[i].exponent && (inner = depth_of(s, a.at[i].exponent)) > depth)
            depth = inner;
    }
    return depth;
}

/* Other symbols for the counters. */
static void rename_counters(summary *s, atom *f, const tp_expr *symbol)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    product guards = number(1, 1);
    for (uint32_t i = 0; i < f->counters; i++)
        with[f->counter[i]] = symbol[i];
    for (uint32_t i = 0; i < f->counters; i++) {
        f->extent[i] = tp_expr_normal(s->p, tp_expr_subst(s->p, f->extent[i], with, n));
        f->counter[i] = (uint32_t)tp_expr_get(s->p, symbol[i])->value;
    }
    for (uint32_t i = 0; i < f->nguards; i++)
        add_guard(s, &guards, tp_expr_subst(s->p, f->guard[i], with, n));
    f->nguards = guards.nguards;
    memcpy(f->guard, guards.guard, sizeof f->guard);
    f->arg[0] = sum_subst(s, f->arg[0], with, n);
}

/* A finished fold: its counters get the names that every fold of its depth
 * uses, so that folds are the same whatever their counters were called. Such a
 * name is never free. */
static uint32_t of_fold(summary *s, atom *f)
{
    uint32_t depth = depth_of(s, f->arg[0]);
    tp_expr symbol[MAX_COUNTERS];
    if (depth == MAX_DEPTH)
        too_large(s);
    for (uint32_t i = 0; i < f->counters; i++) {
        uint32_t *own = &pool(s)->own[depth][i];
        if (!*own)
            *own = (uint32_t)tp_expr_get(s->p, tp_sym_new(s->p, tp_printf(s->arena, "%c%u", 'r' + (char)i, depth)))
                       ->value +
                   1;
        symbol[i] = tp_sym(s->p, *own - 1);
    }
    rename_counters(s, f, symbol);
    return atom_of(s, f);
}

/* The fold with fresh indices for counters, about which the prover can be asked. */
static atom opened(summary *s, uint32_t id)
{
    atom f = *atom_get(s, id);
    uint32_t n = tp_sym_count(s->p) + f.counters;
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n), symbol[MAX_COUNTERS];
    for (uint32_t i = 0; i < f.counters; i++) {
        symbol[i] = summary_index(s, "t", tp_expr_subst(s->p, f.extent[i], with, n));
        with[f.counter[i]] = symbol[i];
    }
    rename_counters(s, &f, symbol);
    return f;
}

/* ---- from terms ---- */

/* A literal is the constant that it stands for (spec/constants.h). */
static uint32_t meant(summary *s, double v)
{
    tp_constant c = tp_constant_of(v);
    double scale = 1;
    while (c.a != trunc(c.a) && scale < 0x1p40)
        c.a *= 2, scale *= 2;
    uint32_t x;
    if (c.kind == TP_CONSTANT_OTHER || c.a != trunc(c.a) || c.a >= 0x1p52) {
        x = of_atom(s, &(atom){.kind = ATOM_REAL, .real = c.a / scale}, 1);
    } else {
        product p = number((int64_t)c.a, (int64_t)(c.b * scale));
        reduce_fraction(s, &p);
        x = intern_sum(s, &p, 1);
        if (c.kind == TP_CONSTANT_ROOT || c.kind == TP_CONSTANT_INVERSE_ROOT)
            x = opaque(s, TP_P_SQRT, 0, &x, 1);
        if (c.kind == TP_CONSTANT_INVERSE_ROOT)
            x = inverse(s, x);
    }
    if (c.times_log2e)
        x = multiply(s, x, of_atom(s, &(atom){.kind = ATOM_REAL, .real = 1.4426950408889634}, 1));
    return c.sign < 0 ? add(s, constant(s, 0), x, -1) : x;
}

static uint32_t convert(summary *s, term t)
{
    const term_node n = *term_get(s, t);
    uint32_t arg[3] = {0, 0, 0};
    switch (n.kind) {
    case T_INTEGER: return of_index(s, n.e);
    case T_REAL:
        if (!isfinite(n.real))
            summary_stop(s, TP_S("it computes with infinity"));
        return meant(s, n.real);
    case T_READ:
    case T_BEFORE:
    case T_AFTER: {
        atom a = {.kind = ATOM_ELEMENT, .number = n.kind, .operand = n.operand, .rank = n.rank};
        memcpy(a.at, n.at, sizeof a.at);
        return of_atom(s, &a, 1);
    }
    case T_SELECT: return chosen(s, n.e, sum_of_term(s, n.arg[0]), sum_of_term(s, n.arg[1]));
    case T_FOLD:
        if (n.prim == TP_P_SUM)
            return summed(s, n.sym, n.e, sum_of_term(s, n.arg[0]));
        return folded_term(s, &n);
    case T_APPLY: break;
    }
    uint32_t nargs = 0;
    for (; nargs < 3 && n.arg[nargs].id; nargs++)
        arg[nargs] = sum_of_term(s, n.arg[nargs]);
    int64_t exponent = 0;
    tp_expr_is_const(s->p, n.e, &exponent);
    uint32_t one = constant(s, 1);
    switch (n.prim) {
    case TP_P_ADD: return add(s, arg[0], arg[1], 1);
    case TP_P_SUB: return add(s, arg[0], arg[1], -1);
    case TP_P_NEG: return add(s, constant(s, 0), arg[0], -1);
    case TP_P_MUL: return multiply(s, arg[0], arg[1]);
    case TP_P_SQUARE: return multiply(s, arg[0], arg[0]);
    case TP_P_DIV: { /* of the divisor only guards are decided */
        tp_expr guard = some_guard(s, arg[1]);
        if (!guard.id)
            return multiply(s, arg[0], inverse(s, arg[1]));
        summary_stop(s, TP_S("it divides by something that depends on a condition"));
    }
    /* conditions on data are 0 or 1 */
    case TP_P_WHERE: return add(s, multiply(s, arg[0], arg[1]), multiply(s, add(s, one, arg[0], -1), arg[2]), 1);
    case TP_P_AND: return multiply(s, arg[0], arg[1]);
    case TP_P_OR: return add(s, add(s, arg[0], arg[1], 1), multiply(s, arg[0], arg[1]), -1);
    case TP_P_INVERT: return add(s, one, arg[0], -1);
    default: return applied(s, n.prim, exponent, arg, nargs, 0);
    }
}

uint32_t sum_of_term(summary *s, term t)
{
    uint32_t *number_of = TP_NEW(s->arena, uint32_t);
    *number_of = t.id;
    tp_str text = {(const char *)number_of, sizeof *number_of};
    uint32_t known = tp_map_get(&pool(s)->of_term, text);
    if (!known) {
        known = convert(s, t);
        tp_map_set(s->arena, &pool(s)->of_term, text, known);
    }
    return known;
}

/* ---- replacing ---- */

typedef struct substitution {
    const tp_expr *with;
    uint32_t n;
} substitution;

static tp_expr put_in(summary *s, tp_expr e, void *ctx)
{
    const substitution *x = ctx;
    return tp_expr_subst(s->p, e, x->with, x->n);
}

static uint32_t atom_mapped(summary *s, uint32_t id, index_map map, void *ctx)
{
    atom a = *atom_get(s, id);
    if (a.kind == ATOM_INDEX)
        return of_index(s, tp_expr_normal(s->p, map(s, a.e, ctx)));
    if (a.kind == ATOM_FOLD)
        a = opened(s, id);
    for (uint32_t d = 0; d < a.rank; d++)
        a.at[d] = tp_expr_normal(s->p, map(s, a.at[d], ctx));
    for (uint32_t i = 0; i < a.counters; i++)
        a.extent[i] = tp_expr_normal(s->p, map(s, a.extent[i], ctx));
    product guards = number(1, 1);
    for (uint32_t i = 0; i < a.nguards; i++)
        if (!add_guard(s, &guards, map(s, a.guard[i], ctx)))
            return constant(s, 0); /* a sum over nothing; others are never empty */
    a.nguards = guards.nguards;
    memcpy(a.guard, guards.guard, sizeof a.guard);
    for (int i = 0; i < 3; i++)
        if (a.arg[i])
            a.arg[i] = sum_mapped(s, a.arg[i], map, ctx);
    if (a.kind == ATOM_APPLY)
        return applied(s, a.prim, tp_expr_get(s->p, a.e)->value, a.arg, a.arg[2] ? 3 : a.arg[1] ? 2 : 1, 0);
    if (a.kind == ATOM_FOLD && a.prim == TP_P_SUM) { /* perhaps no longer one product: summed again */
        uint32_t r = a.arg[0];
        for (uint32_t i = 0; i < a.nguards; i++)
            r = guarded(s, a.guard[i], r);
        for (uint32_t i = a.counters; i-- > 0;)
            r = summed(s, a.counter[i], a.extent[i], r);
        return r;
    }
    if (a.kind == ATOM_FOLD) {
        product p = number(1, 1);
        add_factor(s, &p, of_fold(s, &a), 1);
        return intern_sum(s, &p, 1);
    }
    return of_atom(s, &a, 1);
}

uint32_t sum_mapped(summary *s, uint32_t id, index_map map, void *ctx)
{
    const sum a = *sum_get(s, id);
    uint32_t total = constant(s, 0);
    for (uint32_t i = 0; i < a.n; i++) {
        product p = number(a.at[i].num, a.at[i].den);
        bool is_0 = false;
        for (uint32_t g = 0; g < a.at[i].nguards && !is_0; g++)
            is_0 = !add_guard(s, &p, map(s, a.at[i].guard[g], ctx));
        if (is_0)
            continue;
        uint32_t r = intern_sum(s, &p, 1);
        for (uint32_t f = 0; f < a.at[i].nfactors; f++) {
            uint32_t x = atom_mapped(s, a.at[i].factor[f].atom, map, ctx);
            int times = a.at[i].factor[f].power;
            if (times < 0)
                x = inverse(s, x);
            for (int k = 0; k < abs(times); k++)
                r = multiply(s, r, x);
        }
        if (a.at[i].exponent)
            r = multiply(s, r, exponential(s, sum_mapped(s, a.at[i].exponent, map, ctx)));
        total = add(s, total, r, 1);
    }
    return total;
}

uint32_t sum_subst(summary *s, uint32_t id, const tp_expr *with, uint32_t n)
{
    return sum_mapped(s, id, put_in, &(substitution){with, n});
}

uint32_t sum_under(summary *s, const premises *p, uint32_t id)
{
    const sum a = *sum_get(s, id);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        bool is_0 = false;
        at[n] = a.at[i];
        at[n].nguards = 0;
        memset(at[n].guard, 0, sizeof at[n].guard);
        for (uint32_t g = 0; g < a.at[i].nguards && !is_0; g++) {
            tp_expr guard = a.at[i].guard[g];
            is_0 = summary_proves(s, p, condition_normal(s, guard, true));
            if (!is_0 && !summary_proves(s, p, guard))
                at[n].guard[at[n].nguards++] = guard;
        }
        n += !is_0;
    }
    return sum_from(s, at, n);
}

/* ---- words ---- */

static void print_atom(summary *s, tp_buf *b, uint32_t id)
{
    const atom a = *atom_get(s, id);
    switch (a.kind) {
    case ATOM_REAL: tp_buf_printf(b, "%.17g", a.real); return;
    case ATOM_INDEX: tp_expr_print(b, s->p, a.e); return;
    case ATOM_ELEMENT:
        tp_buf_printf(b, "%.*s[", TP_FMT(s->k->operands[a.operand].name));
        for (uint32_t d = 0; d < a.rank; d++) {
            tp_buf_c(b, d ? ", " : "");
            tp_expr_print(b, s->p, a.at[d]);
        }
        tp_buf_c(b, "]");
        return;
    case ATOM_FOLD:
        tp_buf_printf(b, "%s{", tp_prim_info(a.prim)->name);
        for (uint32_t i = 0; i < a.counters; i++) {
            tp_buf_printf(b, "%s%.*s < ", i ? ", " : "", TP_FMT(tp_sym_name(s->p, a.counter[i])));
            tp_expr_print(b, s->p, a.extent[i]);
        }
        for (uint32_t i = 0; i < a.nguards; i++) {
            tp_buf_c(b, i ? " and " : " | ");
            tp_expr_print(b, s->p, a.guard[i]);
        }
        tp_buf_c(b, "}(");
        break;
    case ATOM_APPLY:
    case ATOM_INVERSE: tp_buf_printf(b, "%s(", a.kind == ATOM_INVERSE ? "1 / " : tp_prim_info(a.prim)->name); break;
    }
    for (int i = 0; i < 3 && a.arg[i]; i++) {
        tp_buf_c(b, i ? ", " : "");
        sum_print(s, b, a.arg[i]);
    }
    tp_buf_c(b, ")");
}

void sum_print(summary *s, tp_buf *b, uint32_t id)
{
    const sum a = *sum_get(s, id);
    if (a.n == 0)
        tp_buf_c(b, "0");
    for (uint32_t i = 0; i < a.n; i++) {
        const product *p = &a.at[i];
        const char *separator = "";
        tp_buf_c(b, i ? " + " : "");
        for (uint32_t g = 0; g < p->nguards; g++) {
            tp_buf_c(b, "[");
            tp_expr_print(b, s->p, p->guard[g]);
            tp_buf_c(b, "]");
        }
        if (p->num != 1 || p->den != 1 || (p->nfactors == 0 && !p->exponent)) {
            tp_buf_printf(b, "%lld", (long long)p->num);
            if (p->den != 1)
                tp_buf_printf(b, "/%lld", (long long)p->den);
            separator = "*";
        }
        for (uint32_t f = 0; f < p->nfactors; f++, separator = "*") {
            tp_buf_c(b, separator);
            print_atom(s, b, p->factor[f].atom);
            if (p->factor[f].power != 1)
                tp_buf_printf(b, "^%d", p->factor[f].power);
        }
        if (p->exponent) {
            tp_buf_printf(b, "%sexp(", separator);
            sum_print(s, b, p->exponent);
            tp_buf_c(b, ")");
        }
    }
}
