/* Sums of products: what they are made of, and arithmetic on them. */
#include "analyzer/equality/sum.h"
#include "base/assert.h"
#include "base/checked.h"

#include <stdlib.h>

enum { MAX_POWER = 8 };

struct sums *sum_pool(summary *s)
{
    if (!s->sums)
        s->sums = TP_NEW(s->arena, struct sums);
    return s->sums;
}

const sum *sum_get(const summary *s, uint32_t id)
{
    tp_assert(id && id <= s->sums->sums.len);
    return &s->sums->sums.at[id - 1];
}

const atom *atom_get(const summary *s, uint32_t id)
{
    tp_assert(id && id <= s->sums->atoms.len);
    return &s->sums->atoms.at[id - 1];
}

_Noreturn void sum_too_large(summary *s)
{
    summary_stop(s, TP_S("the normal form grows too large"));
}

void sum_spend(summary *s)
{
    enum { MAX_WORK = 1000000 };
    if (++s->work > MAX_WORK)
        sum_too_large(s);
}

bool sum_try(summary *s, bool strict, void (*fn)(void *ctx), void *ctx)
{
    tp_str reason = s->out->reason;
    tp_loc loc = s->out->loc;
    uint32_t reducing = sum_pool(s)->reducing, signs = s->signs.len;
    bool before = s->strict;
    s->strict = strict;
    tp_status st = tp_try(s->arena, fn, ctx);
    s->strict = before;
    if (st == TP_OK)
        return true;
    if (st != TP_E_INPUT)
        tp_leave(s->arena, st);
    sum_pool(s)->reducing = reducing;
    s->signs.len = signs;
    s->out->reason = reason;
    s->out->loc = loc;
    return false;
}

/* ---- hash-consing ---- */

typedef struct key {
    tp_buf b;
} key;

static void put(key *k, uint64_t v)
{
    tp_buf_str(&k->b, (tp_str){(const char *)&v, sizeof v});
}

uint32_t atom_intern(summary *s, const atom *a)
{
    struct sums *all = sum_pool(s);
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
    uint32_t id = tp_map_get(&all->ids, text);
    if (id)
        return id;
    tp_push(s->arena, all->atoms, *a);
    tp_map_set(s->arena, &all->ids, text, all->atoms.len);
    return all->atoms.len;
}

static int compare_products(const product *a, const product *b, bool with_guards);

/* Ascending, each product another one, in lowest terms, its guards and factors ascending. */
static bool is_normal(const product *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const product *p = &at[i];
        if (p->num == 0 || p->den <= 0 || tp_gcd(p->num, p->den) != 1 ||
            (i && compare_products(&at[i - 1], p, true) >= 0))
            return false;
        for (uint32_t g = 1; g < p->nguards; g++)
            if (p->guard[g - 1].id >= p->guard[g].id)
                return false;
        for (uint32_t f = 0; f < p->nfactors; f++)
            if (p->factor[f].power == 0 || (f && p->factor[f - 1].atom > p->factor[f].atom))
                return false;
    }
    return true;
}

uint32_t sum_intern(summary *s, const product *at, uint32_t n)
{
    tp_assert(is_normal(at, n));
    struct sums *all = sum_pool(s);
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
    uint32_t id = tp_map_get(&all->ids, text);
    if (id)
        return id;
    product *copy = TP_NEWN(s->arena, product, n);
    if (n)
        memcpy(copy, at, n * sizeof *at);
    tp_push(s->arena, all->sums, ((sum){copy, n}));
    tp_map_set(s->arena, &all->ids, text, all->sums.len);
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

bool product_alike(const product *a, const product *b)
{
    return compare_products(a, b, true) == 0;
}

static int by_order(const void *a, const void *b)
{
    return compare_products(a, b, true);
}

void product_reduce(summary *s, product *p)
{
    if (p->den == 0 || p->num == INT64_MIN || p->den == INT64_MIN)
        sum_too_large(s);
    int64_t d = tp_gcd(p->num, p->den);
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
        sum_too_large(s);
    to->num = num;
    to->den = den;
    product_reduce(s, to);
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
uint32_t sum_from(summary *s, product *at, uint32_t n)
{
    do {
        uint32_t count = 0;
        qsort(at, n, sizeof *at, by_order);
        for (uint32_t i = 0; i < n; i++) {
            if (count && compare_products(&at[count - 1], &at[i], true) == 0)
                add_fraction(s, &at[count - 1], &at[i]);
            else
                at[count++] = at[i];
            if (at[count - 1].num == 0) {
                if (s->strict && !product_is_defined(s, &at[count - 1]))
                    summary_stop(s, TP_S("something that may be undefined cancels"));
                count--;
            }
        }
        n = count;
    } while (merge_complements(s, at, &n));
    return sum_intern(s, at, n);
}

product product_of(int64_t num, int64_t den)
{
    return (product){.num = num, .den = den};
}

uint32_t sum_constant(summary *s, int64_t v)
{
    product p = product_of(v, 1);
    return sum_intern(s, &p, v != 0);
}

uint32_t sum_add(summary *s, uint32_t a, uint32_t b, int64_t scale)
{
    const sum x = *sum_get(s, a), y = *sum_get(s, b);
    if (x.n + y.n > MAX_PRODUCTS)
        sum_too_large(s);
    product *at = TP_NEWN(s->arena, product, x.n + y.n + 1);
    if (x.n)
        memcpy(at, x.at, x.n * sizeof *at);
    for (uint32_t i = 0; i < y.n; i++) {
        at[x.n + i] = y.at[i];
        if (!tp_mul(y.at[i].num, scale, &at[x.n + i].num))
            sum_too_large(s);
    }
    return sum_from(s, at, x.n + y.n);
}

uint32_t sum_of_all(summary *s, const uint32_t *part, uint32_t n)
{
    uint32_t count = 0, total = sum_constant(s, 0);
    for (uint32_t i = 0; i < n; i++)
        count += sum_get(s, part[i])->n;
    if (count > MAX_PRODUCTS) { /* what cancels may leave few enough */
        for (uint32_t i = 0; i < n; i++)
            total = sum_add(s, total, part[i], 1);
        return total;
    }
    product *at = TP_NEWN(s->arena, product, count + 1);
    for (uint32_t i = 0, k = 0; i < n; i++) {
        const sum x = *sum_get(s, part[i]);
        if (x.n)
            memcpy(&at[k], x.at, x.n * sizeof *at);
        k += x.n;
    }
    return sum_from(s, at, count);
}

/* Adds a condition to p; false: p is 0 then. Conjunctions are taken apart. */
bool product_guard(summary *s, product *p, tp_expr condition)
{
    tp_expr e = condition_normal(s, condition, false);
    const tp_expr_node n = *tp_expr_get(s->p, e);
    int64_t v;
    if (tp_expr_is_const(s->p, e, &v))
        return v != 0;
    if (n.op == TP_E_AND)
        return product_guard(s, p, n.a) && product_guard(s, p, n.b);
    tp_expr opposite = condition_normal(s, e, true);
    uint32_t at = p->nguards;
    for (uint32_t i = 0; i < p->nguards; i++) {
        if (tp_same(p->guard[i], e))
            return true;
        if (tp_same(p->guard[i], opposite))
            return false;
    }
    if (p->nguards == MAX_GUARDS)
        sum_too_large(s);
    while (at > 0 && p->guard[at - 1].id > e.id)
        at--;
    memmove(&p->guard[at + 1], &p->guard[at], (p->nguards - at) * sizeof *p->guard);
    p->guard[at] = e;
    p->nguards++;
    return true;
}

/* Is it 0 or 1? */
bool atom_is_condition(const atom *a)
{
    return a->kind == ATOM_APPLY && (tp_prim_info(a->prim)->to_bool || a->prim == TP_P_ANY || a->prim == TP_P_ALL);
}

/* Never 0? Then x / x = 1. */
bool atom_never_0(summary *s, const atom *a)
{
    static const premises nothing = {.n = 0};
    return a->kind == ATOM_REAL || (a->kind == ATOM_ELEMENT && a->number == T_AFTER && s->positive[a->operand]) ||
           (a->kind == ATOM_INDEX && summary_follows(s, &nothing, tp_op2(s->p, TP_E_GE, a->e, tp_const(s->p, 1))));
}

bool sum_is_fraction(const summary *s, uint32_t id, int64_t *num, int64_t *den)
{
    const sum *x = sum_get(s, id);
    if (x->n != 1 || x->at[0].nguards + x->at[0].nfactors + x->at[0].exponent)
        return false;
    *num = x->at[0].num;
    *den = x->at[0].den;
    return true;
}

/* Is it the root of a whole constant? */
static bool is_root(const summary *s, const atom *a, int64_t *of)
{
    if (a->kind != ATOM_APPLY || a->prim != TP_P_SQRT)
        return false;
    int64_t den;
    return sum_is_fraction(s, a->arg[0], of, &den) && den == 1 && *of > 0;
}

/* root^power, whole powers of `of` taken out: 0 or 1 is left. */
static int whole_powers(summary *s, product *p, int64_t of, int power)
{
    for (; power > 1 || power < 0; power += power < 0 ? 2 : -2) {
        if (!tp_mul(power < 0 ? p->den : p->num, of, power < 0 ? &p->den : &p->num))
            sum_too_large(s);
        product_reduce(s, p);
    }
    return power;
}

/* The atom that is all of the sum; 0: it is more than one. */
static uint32_t atom_alone(const summary *s, uint32_t id)
{
    const sum *x = sum_get(s, id);
    bool alone = x->n == 1 && x->at[0].num == 1 && x->at[0].den == 1 && x->at[0].nguards == 0 && !x->at[0].exponent &&
                 x->at[0].nfactors == 1 && x->at[0].factor[0].power == 1;
    return alone ? x->at[0].factor[0].atom : 0;
}

/* The atom of which it is the absolute value; 0: it is none of an atom. */
static uint32_t inside_of_absolute(const summary *s, const atom *a)
{
    return a->kind == ATOM_APPLY && a->prim == TP_P_ABS ? atom_alone(s, a->arg[0]) : 0;
}

/* The power of 1 / v that atom^power is, for the v under that root; 0: none. */
static int inverses_under(const summary *s, uint32_t root, uint32_t id, int power)
{
    const atom *r = atom_get(s, root), *a = atom_get(s, id);
    if (r->kind != ATOM_APPLY || r->prim != TP_P_SQRT)
        return 0;
    if (a->kind == ATOM_INVERSE)
        return a->arg[0] == r->arg[0] && power > 0 ? power : 0;
    return power < 0 && atom_alone(s, r->arg[0]) == id ? -power : 0;
}

static void drop_factor(product *p, uint32_t which)
{
    memmove(&p->factor[which], &p->factor[which + 1], (p->nfactors - which - 1) * sizeof *p->factor);
    p->nfactors--;
}

/* atom^power joins p. Powers of both signs stay apart where the atom may be 0. */
void product_factor(summary *s, product *p, uint32_t id, int power)
{
    const atom a = *atom_get(s, id);
    bool cancels = false;
    int64_t of = 0;
    if (is_root(s, &a, &of) && (power = whole_powers(s, p, of, power)) == 0)
        return;
    /* 1 / (sqrt(v) v) = 1 / sqrt(v)^3: the root is left, and says that v is above 0 */
    for (uint32_t i = 0; i < p->nfactors; i++) {
        factor f = p->factor[i];
        int joins = f.power < 0 ? inverses_under(s, f.atom, id, power) : 0,
            joined = power < 0 ? inverses_under(s, id, f.atom, f.power) : 0;
        if (joins) {
            product_factor(s, p, f.atom, -2 * joins);
            return;
        }
        if (joined) {
            drop_factor(p, i);
            product_factor(s, p, id, power - 2 * joined);
            return;
        }
    }
    for (uint32_t i = 0; i < p->nfactors; i++) {
        if (p->factor[i].atom != id)
            continue;
        if ((p->factor[i].power > 0) != (power > 0) && !cancels && !(cancels = atom_never_0(s, &a)))
            continue;
        int both = p->factor[i].power + power;
        if (atom_is_condition(&a) && both > 1)
            both = 1;
        if (of)
            both = whole_powers(s, p, of, both);
        if (abs(both) > MAX_POWER)
            sum_too_large(s);
        uint32_t inside = both % 2 == 0 ? inside_of_absolute(s, &a) : 0;
        p->factor[i].power = inside ? 0 : both;
        if (inside || both == 0)
            drop_factor(p, i);
        if (inside) /* |x|^2 = x^2 */
            product_factor(s, p, inside, both);
        return;
    }
    if (p->nfactors == MAX_FACTORS)
        sum_too_large(s);
    uint32_t at = p->nfactors;
    while (at > 0 && (p->factor[at - 1].atom > id || (p->factor[at - 1].atom == id && p->factor[at - 1].power > power)))
        at--;
    memmove(&p->factor[at + 1], &p->factor[at], (p->nfactors - at) * sizeof *p->factor);
    p->factor[at] = (factor){id, power};
    p->nfactors++;
}

product product_without(const product *p, uint32_t which)
{
    product r = *p;
    memmove(&r.factor[which], &r.factor[which + 1], (r.nfactors - which - 1) * sizeof *r.factor);
    memset(&r.factor[--r.nfactors], 0, sizeof *r.factor);
    return r;
}

bool product_has(const product *p, const factor *f, uint32_t *which)
{
    for (*which = 0; *which < p->nfactors; ++*which)
        if (p->factor[*which].atom == f->atom && p->factor[*which].power == f->power)
            return true;
    return false;
}

product product_without_factors(const product *p, const product *of)
{
    product r = *p;
    uint32_t which;
    for (uint32_t i = 0; i < of->nfactors; i++)
        if (product_has(&r, &of->factor[i], &which))
            r = product_without(&r, which);
    return r;
}

/* False: it is 0. */
bool product_multiply(summary *s, product *p, const product *by)
{
    if (!tp_mul(p->num, by->num, &p->num) || !tp_mul(p->den, by->den, &p->den))
        sum_too_large(s);
    product_reduce(s, p);
    for (uint32_t i = 0; i < by->nguards; i++)
        if (!product_guard(s, p, by->guard[i]))
            return false;
    for (uint32_t i = 0; i < by->nfactors; i++)
        product_factor(s, p, by->factor[i].atom, by->factor[i].power);
    if (by->exponent)
        p->exponent = p->exponent ? sum_add(s, p->exponent, by->exponent, 1) : by->exponent;
    if (p->exponent && sum_get(s, p->exponent)->n == 0)
        p->exponent = 0;
    return true;
}

/* Products with conditions and shares in them, by their laws. */
static uint32_t reduce(summary *s, uint32_t id)
{
    enum { MAX_NESTED = 40 };
    const sum a = *sum_get(s, id);
    uint32_t total = 0, left = 0, x;
    if (++sum_pool(s)->reducing > MAX_NESTED)
        sum_too_large(s);
    product *rest = TP_NEWN(s->arena, product, a.n + 1);
    for (uint32_t i = 0; i < a.n; i++)
        if (product_reduced(s, &a.at[i], &x))
            total = total ? sum_add(s, total, x, 1) : x;
        else
            rest[left++] = a.at[i];
    sum_pool(s)->reducing--;
    return total ? sum_add(s, sum_from(s, rest, left), total, 1) : id;
}

uint32_t sum_multiply(summary *s, uint32_t a, uint32_t b)
{
    const sum x = *sum_get(s, a), y = *sum_get(s, b);
    uint32_t n = 0;
    if (x.n * y.n > MAX_PRODUCTS)
        sum_too_large(s);
    product *at = TP_NEWN(s->arena, product, x.n * y.n + 1);
    for (uint32_t i = 0; i < x.n; i++)
        for (uint32_t k = 0; k < y.n; k++) {
            at[n] = x.at[i];
            n += product_multiply(s, &at[n], &y.at[k]);
        }
    return reduce(s, sum_from(s, at, n));
}

uint32_t sum_of_factor(summary *s, uint32_t id, int power)
{
    product p = product_of(1, 1);
    product_factor(s, &p, id, power);
    return sum_intern(s, &p, 1);
}

uint32_t sum_of_atom(summary *s, const atom *a, int power)
{
    return sum_of_factor(s, atom_intern(s, a), power);
}

uint32_t sum_of_index(summary *s, tp_expr e)
{
    int64_t v;
    if (tp_expr_is_bool(s->p, e) && !tp_expr_is_const(s->p, e, &v)) {
        product p = product_of(1, 1);
        return product_guard(s, &p, e) ? sum_intern(s, &p, 1) : sum_constant(s, 0);
    }
    if (tp_expr_is_const(s->p, e, &v))
        return sum_constant(s, v);
    /* a polynomial: its atoms are factors, so that sums of indices are sums */
    tp_poly *q = TP_NEW(s->arena, tp_poly);
    tp_poly_of(s->p, e, q);
    if (!q->ok)
        return sum_of_atom(s, &(atom){.kind = ATOM_INDEX, .e = e}, 1);
    product *at = TP_NEWN(s->arena, product, q->n);
    for (uint32_t i = 0; i < q->n; i++) {
        at[i] = product_of(q->terms[i].coef, 1);
        for (uint32_t k = 0; k < q->terms[i].degree; k++)
            product_factor(s, &at[i], atom_intern(s, &(atom){.kind = ATOM_INDEX, .e = q->terms[i].factors[k]}), 1);
    }
    return sum_from(s, at, q->n);
}

/* [condition] x */
uint32_t sum_guard(summary *s, tp_expr condition, uint32_t a)
{
    const sum x = *sum_get(s, a);
    product *at = TP_NEWN(s->arena, product, x.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < x.n; i++) {
        at[n] = x.at[i];
        n += product_guard(s, &at[n], condition);
    }
    return sum_from(s, at, n);
}

/* The value of the choice; a conjunction is one condition after the other. */
uint32_t sum_choose(summary *s, tp_expr condition, uint32_t yes, uint32_t no)
{
    tp_expr e = condition_normal(s, condition, false);
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (n.op == TP_E_AND)
        return sum_choose(s, n.a, sum_choose(s, n.b, yes, no), no);
    if (n.op == TP_E_OR)
        return sum_choose(s, n.a, yes, sum_choose(s, n.b, yes, no));
    return sum_add(s, sum_guard(s, e, yes), sum_guard(s, condition_normal(s, e, true), no), 1);
}

/* ---- words ---- */

static void print_atom(summary *s, tp_buf *b, uint32_t id)
{
    const atom a = *atom_get(s, id);
    switch (a.kind) {
    case ATOM_REAL:
        if (a.number)
            tp_buf_c(b, "log2(e)");
        else
            tp_buf_printf(b, "%.17g", a.real);
        return;
    case ATOM_INDEX: tp_expr_print(b, s->p, a.e); return;
    case ATOM_ELEMENT:
        if (a.number == T_HELD) {
            tp_buf_c(b, "before");
            return;
        }
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
    enum { MOST = 4000 }; /* nobody reads on */
    const sum a = *sum_get(s, id);
    if (b->n > MOST)
        return;
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

tp_expr sum_some_guard(summary *s, uint32_t x)
{
    const sum *a = sum_get(s, x);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->at[i].nguards)
            return a->at[i].guard[0];
    return (tp_expr){0};
}

uint32_t sum_where_guard(summary *s, uint32_t x, tp_expr guard, bool holds)
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

/* ---- laws ---- */

bool product_is_defined(summary *s, const product *p)
{
    return s->laws->is_defined(s, p);
}

bool product_reduced(summary *s, const product *p, uint32_t *out)
{
    return s->laws->reduced(s, p, out);
}

uint32_t sum_exponential(summary *s, uint32_t x)
{
    return s->laws->exponential(s, x);
}

uint32_t sum_inverse(summary *s, uint32_t x)
{
    return s->laws->inverse(s, x);
}

uint32_t sum_apply(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth)
{
    return s->laws->applied(s, prim, exponent, arg, nargs, depth);
}
