/* Exponents that add up ranges, as differences of sums from the beginning:
 *
 *   sum of x(b + c) for lo <= c < hi  =  P(b + hi) - P(b + lo),  P(n) the sum of x(u) for u < n,
 *
 * given 0 <= b + lo and lo <= hi, and that x has a value everywhere, masks and
 * infinities being none. So that what a scan decays by, block after
 * block, is what it decays by at once. */
#include "analyzer/equality/sum.h"

static const premises nothing = {.n = 0};

/* ---- what is added ---- */

typedef struct shift {
    uint32_t sym; /* c */
    tp_expr by;   /* b; no id: c is not met yet */
} shift;

/* e - c, where e is c and something without it. No id: it is not. */
static tp_expr less_counter(summary *s, tp_expr e, uint32_t sym, int64_t coef)
{
    tp_expr counter = tp_op2(s->p, TP_E_MUL, tp_const(s->p, coef), tp_sym(s->p, sym)),
            rest = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, e, counter));
    return tp_expr_mentions(s->p, e, sym) && !tp_expr_mentions(s->p, rest, sym) ? rest : (tp_expr){0};
}

/* Looks only: by how much the first index with c in it is more than c. */
static tp_expr find_shift(summary *s, tp_expr e, void *ctx)
{
    shift *x = ctx;
    if (!x->by.id && e.id)
        x->by = less_counter(s, e, x->sym, 1);
    return e;
}

/* ---- its range ---- */

typedef struct range {
    tp_expr lo, hi;
    bool cut; /* by a condition */
} range;

/* lo <= a < hi, which cuts the range there. */
static bool lies_in(summary *s, const range *r, tp_expr a)
{
    return summary_proves(s, &nothing,
                          tp_op2(s->p, TP_E_AND, tp_op2(s->p, TP_E_LE, r->lo, a), tp_op2(s->p, TP_E_LE, a, r->hi)));
}

/* Conditions that are bounds of the counter become the range's. */
static range range_of(summary *s, atom *f)
{
    range r = {.lo = tp_const(s->p, 0), .hi = f->extent[0]};
    uint32_t sym = f->counter[0], kept = 0;
    for (uint32_t i = 0; i < f->nguards; i++) {
        const tp_expr_node n = *tp_expr_get(s->p, f->guard[i]); /* a >= 0 */
        tp_expr below = n.op == TP_E_GE ? less_counter(s, n.a, sym, -1) : (tp_expr){0},
                above = n.op == TP_E_GE ? less_counter(s, n.a, sym, 1) : (tp_expr){0},
                end = below.id ? tp_op2(s->p, TP_E_ADD, below, tp_const(s->p, 1)) : below,
                begin = above.id ? tp_op1(s->p, TP_E_NEG, above) : above;
        if (end.id && lies_in(s, &r, end))
            r.hi = end;
        else if (begin.id && lies_in(s, &r, begin))
            r.lo = begin;
        else
            f->guard[kept++] = f->guard[i];
    }
    r.cut = kept < f->nguards;
    f->nguards = kept;
    return r;
}

/* The sum of f's body at u - by for u < end. */
static uint32_t prefix(summary *s, const atom *f, tp_expr by, tp_expr end)
{
    int64_t v;
    end = tp_expr_normal(s->p, end);
    if (tp_expr_is_const(s->p, end, &v) && v == 0)
        return sum_constant(s, 0);
    tp_expr u = summary_index(s, "u", end);
    blank b = blank_new(s, 0);
    b.with[f->counter[0]] = tp_op2(s->p, TP_E_SUB, u, by);
    uint32_t body = sum_subst(s, f->arg[0], b.with, b.room);
    for (uint32_t i = 0; i < f->nguards; i++) {
        tp_expr guard = tp_expr_subst(s->p, f->guard[i], b.with, b.room);
        if (!summary_follows(s, &nothing, guard))
            body = sum_guard(s, guard, body);
    }
    blank_done(s, b);
    return fold_sum(s, (uint32_t)tp_expr_get(s->p, u)->value, end, body);
}

static bool some_guard_follows(summary *s, const atom *f)
{
    bool any = false;
    for (uint32_t i = 0; i < f->nguards && !any; i++)
        any = summary_follows(s, &nothing, f->guard[i]);
    return any;
}

/* The law above, of one fold; 0: it is not a part of a longer sum. */
static uint32_t as_difference(summary *s, uint32_t id)
{
    int64_t v;
    if (atom_get(s, id)->kind != ATOM_FOLD || atom_get(s, id)->prim != TP_P_SUM || atom_get(s, id)->counters != 1)
        return 0;
    atom f = fold_open(s, id);
    shift x = {.sym = f.counter[0]};
    sum_map(s, f.arg[0], find_shift, &x);
    if (!x.by.id || !sum_is_free(s, f.arg[0]) || !sum_is_defined(s, f.arg[0]))
        return 0;
    range r = range_of(s, &f);
    if (!r.cut && tp_expr_is_const(s->p, x.by, &v) && v == 0 && !some_guard_follows(s, &f))
        return 0;
    tp_expr lo = tp_op2(s->p, TP_E_ADD, x.by, r.lo), hi = tp_op2(s->p, TP_E_ADD, x.by, r.hi), zero = tp_const(s->p, 0);
    if (!summary_proves(s, &nothing,
                        tp_op2(s->p, TP_E_AND, tp_op2(s->p, TP_E_GE, lo, zero), tp_op2(s->p, TP_E_LE, lo, hi))))
        return 0;
    return sum_add(s, prefix(s, &f, x.by, hi), prefix(s, &f, x.by, lo), -1);
}

uint32_t sum_prefixes(summary *s, uint32_t x)
{
    const sum a = *sum_get(s, x);
    uint32_t total = sum_constant(s, 0), difference = 0;
    bool any = false;
    for (uint32_t i = 0; i < a.n; i++) {
        product p = a.at[i];
        difference = 0;
        for (uint32_t k = 0; k < p.nfactors && !difference; k++)
            if (p.factor[k].power == 1 && (difference = as_difference(s, p.factor[k].atom)) != 0)
                p = product_without(&p, k);
        uint32_t alone = sum_intern(s, &p, 1);
        total = sum_add(s, total, difference ? sum_multiply(s, alone, difference) : alone, 1);
        any |= difference != 0;
    }
    return any ? total : x;
}
