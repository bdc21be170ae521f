/* Folds: sums, products, maxima and minima over index sets. */
#include "analyzer/equality/sum.h"

#include <math.h>

/* ---- folds ---- */

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

bool sum_mentions(summary *s, uint32_t id, uint32_t sym)
{
    sum_spend(s);
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
        const atom before = *f;
        record_mark m = record_here(s);
        if (!summary_proves(s, &p, f->guard[i]))
            continue;
        memmove(&f->guard[i], &f->guard[i + 1], (f->nguards - i - 1) * sizeof *f->guard);
        f->nguards--;
        record_fold(s, TP_LAW_GUARD, &before, f, 0, 0, m);
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
    uint32_t q = (uint32_t)tp_expr_get(s->p, quotient)->value;
    blank b = blank_new(s, 0);
    b.with[f->counter[k]] = quotient;
    b.with[f->counter[t]] = tp_op2(s->p, TP_E_SUB, both, tp_op2(s->p, TP_E_MUL, block, quotient));
    uint32_t body = sum_subst(s, f->arg[0], b.with, b.room);
    product guards = product_of(1, 1);
    bool is_free = !sum_mentions(s, body, q);
    for (uint32_t i = 0; i < f->nguards && is_free; i++)
        is_free = product_guard(s, &guards, tp_expr_subst(s->p, f->guard[i], b.with, b.room));
    blank_done(s, b);
    if (!is_free)
        return false;
    for (uint32_t i = 0; i < guards.nguards; i++)
        if (tp_expr_mentions(s->p, guards.guard[i], q))
            return false;
    const atom before = *f;
    record_mark m = record_here(s);
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
    record_fold(s, TP_LAW_DIGITS, &before, f, k, t, m);
    return true;
}

/* ---- one counter as two ---- */

/* u // by is `high` and u % by is `low`. */
typedef struct digits {
    uint32_t sym; /* u */
    int64_t by;
    tp_expr high, low;
} digits;

static bool is_digit_of(const summary *s, tp_expr_node n, uint32_t sym, int64_t *by)
{
    const tp_expr_node *a = n.a.id ? tp_expr_get(s->p, n.a) : NULL;
    return (n.op == TP_E_FLOORDIV || n.op == TP_E_MOD) && a->op == TP_E_SYM && (uint32_t)a->value == sym &&
           tp_expr_is_const(s->p, n.b, by) && *by > 1;
}

/* Looks only: for the first u // c or u % c. */
static tp_expr find_digit(summary *s, tp_expr e, void *ctx)
{
    digits *d = ctx;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    int64_t by;
    if (!e.id || n.op == TP_E_CONST || n.op == TP_E_SYM || d->by)
        return e;
    if (is_digit_of(s, n, d->sym, &by)) {
        d->by = by;
        return e;
    }
    find_digit(s, n.a, ctx);
    find_digit(s, n.b, ctx);
    find_digit(s, n.c, ctx);
    return e;
}

static tp_expr put_digits(summary *s, tp_expr e, void *ctx)
{
    const digits *d = ctx;
    tp_exprs *p = s->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    int64_t by;
    if (!e.id || n.op == TP_E_CONST)
        return e;
    if (n.op == TP_E_SYM)
        return (uint32_t)n.value == d->sym
                   ? tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, tp_const(p, d->by), d->high), d->low)
                   : e;
    if (is_digit_of(s, n, d->sym, &by) && by == d->by)
        return n.op == TP_E_MOD ? d->low : d->high;
    tp_expr a = put_digits(s, n.a, ctx), b = put_digits(s, n.b, ctx), c = put_digits(s, n.c, ctx);
    return tp_expr_rebuild(p, &n, a, b, c);
}

/* A counter whose quotient and remainder by a divisor of its extent are spoken
 * of is two: every number below the extent is one pair of digits. */
static bool split_counter(summary *s, atom *f, uint32_t k)
{
    static const premises nothing = {.n = 0};
    digits d = {.sym = f->counter[k]};
    product guards = product_of(1, 1);
    sum_map(s, f->arg[0], find_digit, &d);
    if (!d.by || f->counters == MAX_COUNTERS)
        return false;
    for (uint32_t i = 0; i < f->counters; i++)
        if (tp_expr_mentions(s->p, f->extent[i], d.sym))
            return false;
    tp_expr by = tp_const(s->p, d.by), high = tp_expr_normal(s->p, tp_op2(s->p, TP_E_FLOORDIV, f->extent[k], by));
    const atom before = *f;
    record_mark m = record_here(s);
    if (!summary_proves(s, &nothing, tp_op2(s->p, TP_E_EQ, tp_op2(s->p, TP_E_MUL, high, by), f->extent[k])))
        return false;
    d.high = summary_index(s, "h", high);
    d.low = summary_index(s, "l", by);
    for (uint32_t i = 0; i < f->nguards; i++)
        if (!product_guard(s, &guards, put_digits(s, f->guard[i], &d)))
            return false;
    f->arg[0] = sum_map(s, f->arg[0], put_digits, &d);
    f->nguards = guards.nguards;
    memcpy(f->guard, guards.guard, sizeof f->guard);
    memmove(&f->counter[k + 1], &f->counter[k], (f->counters - k) * sizeof *f->counter);
    memmove(&f->extent[k + 1], &f->extent[k], (f->counters - k) * sizeof *f->extent);
    f->counter[k] = (uint32_t)tp_expr_get(s->p, d.high)->value;
    f->extent[k] = high;
    f->counter[k + 1] = (uint32_t)tp_expr_get(s->p, d.low)->value;
    f->extent[k + 1] = by;
    f->counters++;
    record_fold(s, TP_LAW_SPLIT, &before, f, k, 0, m);
    return true;
}

static void split_counters(summary *s, atom *f)
{
    for (uint32_t k = 0; k < f->counters;)
        k += !split_counter(s, f, k);
}

/* ---- normal counters ---- */

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
        const atom before = *f;
        record_mark m = record_here(s);
        f->arg[0] = sum_map(s, f->arg[0], index_under_guards, &here);
        if (f->arg[0] != before.arg[0])
            record_fold(s, TP_LAW_UNDER, &before, f, 0, 0, m);
        record_forget(s, m);
        prune_guards(s, f);
        pruned = true;
    }
}

void fold_normalise(summary *s, atom *f)
{
    merge_counters(s, f);
    split_counters(s, f);
}

/* The fold over one more counter, outside of a fold over the same operation. */
static atom nest(summary *s, uint32_t sym, tp_expr extent, const atom *inner)
{
    atom f = *inner;
    if (f.counters == MAX_COUNTERS)
        sum_too_large(s);
    memmove(&f.counter[1], &f.counter[0], f.counters * sizeof *f.counter);
    memmove(&f.extent[1], &f.extent[0], f.counters * sizeof *f.extent);
    f.counter[0] = sym;
    f.extent[0] = extent;
    f.counters++;
    return f;
}

/* How many points a sum of ones has: its counter runs to its bound, or to a guard's. */
static bool is_count(summary *s, const atom *f, uint32_t *count)
{
    static const premises nothing = {.n = 0};
    tp_expr zero = tp_const(s->p, 0), end = f->extent[0], counter = tp_sym(s->p, f->counter[0]);
    record_mark m = record_here(s);
    if (f->counters != 1 || f->nguards > 1 || f->arg[0] != sum_constant(s, 1))
        return false;
    if (f->nguards) { /* end - counter - 1 >= 0 */
        const tp_expr_node n = *tp_expr_get(s->p, f->guard[0]);
        if (n.op != TP_E_GE)
            return false;
        end = tp_expr_normal(s->p, tp_op2(s->p, TP_E_ADD, tp_op2(s->p, TP_E_ADD, n.a, counter), tp_const(s->p, 1)));
        if (tp_expr_mentions(s->p, end, f->counter[0]) ||
            !summary_proves(s, &nothing, tp_op2(s->p, TP_E_LE, end, f->extent[0])))
            return false;
    }
    if (!summary_proves(s, &nothing, tp_op2(s->p, TP_E_GE, end, zero)))
        return false;
    record_count(s, f, end, m);
    *count = sum_of_index(s, end);
    return true;
}

/* ---- one value of a counter ---- */

/* What the symbol is where e is 0, without it. No id: e does not say so. */
static tp_expr solution(summary *s, tp_expr e, uint32_t sym)
{
    tp_exprs *x = s->p;
    tp_expr less = tp_expr_normal(x, tp_op2(x, TP_E_SUB, e, tp_sym(x, sym))),
            more = tp_expr_normal(x, tp_op2(x, TP_E_ADD, e, tp_sym(x, sym)));
    if (!tp_expr_mentions(x, more, sym))
        return more;
    return tp_expr_mentions(x, less, sym) ? (tp_expr){0} : tp_expr_normal(x, tp_op1(x, TP_E_NEG, less));
}

/* The only value of the symbol for which the guards hold; no id: there may be others. */
static tp_expr only_value(summary *s, const atom *f, uint32_t sym)
{
    tp_expr is = {0};
    for (uint32_t i = 0; i < f->nguards && !is.id; i++) {
        const tp_expr_node n = *tp_expr_get(s->p, f->guard[i]);
        bool zero = n.op == TP_E_EQ;
        if (!tp_expr_mentions(s->p, f->guard[i], sym) || (!zero && n.op != TP_E_GE))
            continue;
        tp_expr turned = condition_normal(s, tp_op2(s->p, TP_E_LE, n.a, tp_const(s->p, 0)), false);
        for (uint32_t k = 0; k < f->nguards && !zero; k++)
            zero = tp_same(f->guard[k], turned);
        is = zero ? solution(s, n.a, sym) : is;
    }
    return is;
}

/* sum of [c == t] x(c) for c < n  =  x(t), for a t from 0 below n at which the
 * other conditions on c hold, too: counter k goes. */
static bool drop_counter(summary *s, atom *f, uint32_t k)
{
    static const premises nothing = {.n = 0};
    uint32_t sym = f->counter[k], n = tp_sym_count(s->p), kept = 0;
    tp_expr is = only_value(s, f, sym);
    if (!is.id || tp_expr_mentions(s->p, f->extent[k], sym))
        return false;
    for (uint32_t i = 0; i < f->counters; i++)
        if (tp_expr_mentions(s->p, is, f->counter[i]) || tp_expr_mentions(s->p, f->extent[k], f->counter[i]))
            return false;
    const atom before = *f;
    record_mark m = record_here(s);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[sym] = is;
    /* one by one: a condition may speak of other counters, whose ranges may be empty */
    bool there = summary_proves(s, &nothing, tp_op2(s->p, TP_E_GE, is, tp_const(s->p, 0))) &&
                 summary_proves(s, &nothing, tp_op2(s->p, TP_E_LT, is, f->extent[k]));
    for (uint32_t i = 0; i < f->nguards && there; i++)
        there = !tp_expr_mentions(s->p, f->guard[i], sym) ||
                summary_proves(s, &nothing, tp_expr_subst(s->p, f->guard[i], with, n));
    if (!there)
        return false;
    for (uint32_t i = 0; i < f->nguards; i++)
        if (!tp_expr_mentions(s->p, f->guard[i], sym))
            f->guard[kept++] = f->guard[i];
    memset(&f->guard[kept], 0, (f->nguards - kept) * sizeof *f->guard);
    f->nguards = kept;
    f->arg[0] = sum_subst(s, f->arg[0], with, n);
    for (uint32_t i = 0; i < f->counters; i++)
        f->extent[i] = tp_expr_normal(s->p, tp_expr_subst(s->p, f->extent[i], with, n));
    f->counters--;
    memmove(&f->counter[k], &f->counter[k + 1], (f->counters - k) * sizeof *f->counter);
    memmove(&f->extent[k], &f->extent[k + 1], (f->counters - k) * sizeof *f->extent);
    record_exchange(s, tp_sym(s->p, sym), is);
    record_fold(s, TP_LAW_POINT, &before, f, k, 0, m);
    record_forget(s, m);
    return true;
}

/* The sum that is left is summed again, and may lose another counter then. */
static bool drop_some_counter(summary *s, atom *f)
{
    for (uint32_t k = 0; k < f->counters; k++)
        if (drop_counter(s, f, k))
            return true;
    return false;
}

/* The sum of one product: what does not depend on the counter moves out. */
static uint32_t summed_product(summary *s, uint32_t sym, tp_expr extent, const product *p)
{
    product outer = product_of(p->num, p->den), inner = product_of(1, 1);
    uint32_t fold = 0;
    for (uint32_t i = 0; i < p->nguards; i++)
        product_guard(s, tp_expr_mentions(s->p, p->guard[i], sym) ? &inner : &outer, p->guard[i]);
    for (uint32_t i = 0; i < p->nfactors; i++) {
        const atom *a = atom_get(s, p->factor[i].atom);
        bool inside = atom_mentions(s, p->factor[i].atom, sym);
        if (inside && !fold && a->kind == ATOM_FOLD && a->prim == TP_P_SUM && p->factor[i].power == 1)
            fold = p->factor[i].atom; /* its counters join this one */
        else
            product_factor(s, inside ? &inner : &outer, p->factor[i].atom, p->factor[i].power);
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
        f = fold_open(s, fold);
        const sum body = *sum_get(s, f.arg[0]); /* one product */
        product whole = inner;
        if (!product_multiply(s, &whole, &body.at[0]))
            return sum_constant(s, 0);
        for (uint32_t i = 0; i < f.nguards; i++)
            if (!product_guard(s, &whole, f.guard[i]))
                return sum_constant(s, 0);
        inner = whole;
    }
    f = nest(s, sym, extent, &f);
    f.nguards = inner.nguards;
    memcpy(f.guard, inner.guard, sizeof f.guard);
    inner.nguards = 0;
    memset(inner.guard, 0, sizeof inner.guard);
    f.arg[0] = sum_intern(s, &inner, 1);
    fold_normalise(s, &f);
    uint32_t count;
    if (drop_some_counter(s, &f))
        return sum_multiply(s, sum_intern(s, &outer, 1), fold_again(s, &f, f.arg[0]));
    if (is_count(s, &f, &count))
        return sum_multiply(s, sum_intern(s, &outer, 1), count);
    product_factor(s, &outer, fold_intern(s, &f), 1);
    return sum_intern(s, &outer, 1);
}

uint32_t fold_sum(summary *s, uint32_t sym, tp_expr extent, uint32_t body)
{
    const sum b = *sum_get(s, body);
    uint32_t total = sum_constant(s, 0);
    for (uint32_t i = 0; i < b.n; i++) {
        uint32_t by_entries = product_with_entries(s, &b.at[i], sym);
        total = sum_add(
            s, total, by_entries ? fold_sum(s, sym, extent, by_entries) : summed_product(s, sym, extent, &b.at[i]), 1);
    }
    return total;
}

uint32_t fold_again(summary *s, const atom *f, uint32_t body)
{
    for (uint32_t i = 0; i < f->nguards; i++)
        body = sum_guard(s, f->guard[i], body);
    for (uint32_t i = f->counters; i-- > 0;)
        body = fold_sum(s, f->counter[i], f->extent[i], body);
    return body;
}

/* ---- is there a point? ---- */

enum { MAX_PLACES = 6, MAX_TRIES = 16 };

/* Where a counter is looked for. */
typedef struct places {
    tp_expr at[MAX_PLACES];
    uint32_t n;
} places;

static void add_place(places *r, tp_expr e)
{
    bool known = !e.id || r->n == MAX_PLACES;
    for (uint32_t i = 0; i < r->n && !known; i++)
        known = tp_same(r->at[i], e);
    if (!known)
        r->at[r->n++] = e;
}

static bool is_counter(const atom *f, tp_expr_node n)
{
    bool yes = n.op != TP_E_SYM;
    for (uint32_t i = 0; i < f->counters && !yes; i++)
        yes = (uint32_t)n.value == f->counter[i];
    return yes;
}

/* Symbols in e that no counter is. */
static void add_symbols(const summary *s, const atom *f, tp_expr e, places *r)
{
    if (!e.id)
        return;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (n.op == TP_E_CONST)
        return;
    if (n.op == TP_E_SYM && !is_counter(f, n))
        add_place(r, e);
    if (n.op == TP_E_SYM)
        return;
    add_symbols(s, f, n.a, r);
    add_symbols(s, f, n.b, r);
    add_symbols(s, f, n.c, r);
}

/* The first one; where a condition begins to hold or ends, as at the diagonal of a causal mask; where an index of the
 * element is, as in its own chunk. */
static places places_of(summary *s, const atom *f, uint32_t k)
{
    places r = {.n = 0};
    add_place(&r, tp_const(s->p, 0));
    for (uint32_t i = 0; i < f->nguards; i++) {
        const tp_expr_node n = *tp_expr_get(s->p, f->guard[i]);
        tp_expr at = {0};
        if ((n.op == TP_E_GE || n.op == TP_E_EQ) && tp_expr_mentions(s->p, f->guard[i], f->counter[k]))
            at = solution(s, n.a, f->counter[k]);
        for (uint32_t c = 0; c < f->counters && at.id; c++)
            if (tp_expr_mentions(s->p, at, f->counter[c]))
                at = (tp_expr){0};
        add_place(&r, at);
    }
    for (uint32_t i = 0; i < f->nguards; i++)
        if (tp_expr_mentions(s->p, f->guard[i], f->counter[k]))
            add_symbols(s, f, f->guard[i], &r);
    return r;
}

/* Is the point at these places in the fold, for all sizes? */
static bool has_point(summary *s, const atom *f, const tp_expr *at)
{
    static const premises nothing = {.n = 0};
    blank b = blank_new(s, 0);
    tp_expr all = tp_const(s->p, 1);
    for (uint32_t i = 0; i < f->counters; i++)
        b.with[f->counter[i]] = at[i];
    for (uint32_t i = 0; i < f->counters; i++) {
        all = tp_op2(s->p, TP_E_AND, all, tp_op2(s->p, TP_E_GE, at[i], tp_const(s->p, 0)));
        all = tp_op2(s->p, TP_E_AND, all,
                     tp_op2(s->p, TP_E_LT, at[i], tp_expr_subst(s->p, f->extent[i], b.with, b.room)));
    }
    for (uint32_t i = 0; i < f->nguards; i++)
        all = tp_op2(s->p, TP_E_AND, all, tp_expr_subst(s->p, f->guard[i], b.with, b.room));
    blank_done(s, b);
    return summary_proves(s, &nothing, all);
}

bool fold_never_empty(summary *s, const atom *f)
{
    places where[MAX_COUNTERS];
    uint32_t chosen[MAX_COUNTERS] = {0};
    for (uint32_t i = 0; i < f->counters; i++)
        where[i] = places_of(s, f, i);
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        tp_expr at[MAX_COUNTERS];
        uint32_t k = 0;
        for (uint32_t i = 0; i < f->counters; i++)
            at[i] = where[i].at[chosen[i]];
        if (has_point(s, f, at))
            return true;
        while (k < f->counters && ++chosen[k] == where[k].n)
            chosen[k++] = 0;
        if (k == f->counters)
            return false;
    }
    return false;
}

/* How deep folds are nested in it. */
static uint32_t depth_of(summary *s, uint32_t id)
{
    const sum a = *sum_get(s, id);
    uint32_t depth = 0, inner;
    sum_spend(s);
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
    blank b = blank_new(s, 0);
    product guards = product_of(1, 1);
    for (uint32_t i = 0; i < f->counters; i++)
        b.with[f->counter[i]] = symbol[i];
    for (uint32_t i = 0; i < f->counters; i++) {
        f->extent[i] = tp_expr_normal(s->p, tp_expr_subst(s->p, f->extent[i], b.with, b.room));
        f->counter[i] = (uint32_t)tp_expr_get(s->p, symbol[i])->value;
    }
    for (uint32_t i = 0; i < f->nguards; i++)
        product_guard(s, &guards, tp_expr_subst(s->p, f->guard[i], b.with, b.room));
    f->nguards = guards.nguards;
    memcpy(f->guard, guards.guard, sizeof f->guard);
    f->arg[0] = sum_subst(s, f->arg[0], b.with, b.room);
    blank_done(s, b);
}

/* A finished fold: its counters get the names that every fold of its depth
 * uses, so that folds are the same whatever their counters were called. Such a
 * name is never free. */
uint32_t fold_intern(summary *s, atom *f)
{
    uint32_t depth = depth_of(s, f->arg[0]);
    tp_expr symbol[MAX_COUNTERS];
    if (depth == MAX_DEPTH)
        sum_too_large(s);
    for (uint32_t i = 0; i < f->counters; i++) {
        uint32_t *own = &sum_pool(s)->own[depth][i];
        if (!*own)
            *own = (uint32_t)tp_expr_get(s->p, tp_sym_new(s->p, tp_printf(s->arena, "%c%u", 'r' + (char)i, depth)))
                       ->value +
                   1;
        symbol[i] = tp_sym(s->p, *own - 1);
    }
    rename_counters(s, f, symbol);
    return atom_intern(s, f);
}

/* The fold with fresh indices for counters, about which the prover can be asked. */
atom fold_open(summary *s, uint32_t id)
{
    atom f = *atom_get(s, id);
    blank b = blank_new(s, f.counters);
    tp_expr symbol[MAX_COUNTERS];
    for (uint32_t i = 0; i < f.counters; i++) {
        symbol[i] = summary_index(s, "t", tp_expr_subst(s->p, f.extent[i], b.with, b.room));
        b.with[f.counter[i]] = symbol[i];
    }
    blank_done(s, b);
    rename_counters(s, &f, symbol);
    return f;
}
