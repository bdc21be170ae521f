/* Constant bounds by interval arithmetic. */
#include "base/checked.h"
#include "smt/internal.h"

static const tp_interval ANY = {INT64_MIN, INT64_MAX};

static const tp_var *find_var(const tp_obligation *o, uint32_t sym)
{
    for (uint32_t i = 0; i < o->nvars; i++)
        if (o->vars[i].sym == sym)
            return &o->vars[i];
    return NULL;
}

static bool finite(int64_t v)
{
    return v != INT64_MIN && v != INT64_MAX;
}

static tp_interval of_var(const tp_prover *v, const tp_obligation *o, const tp_var *x)
{
    if (!x)
        return ANY;
    if (x->choices)
        return (tp_interval){x->choices[0], x->choices[x->nchoices - 1]};
    tp_interval r = ANY;
    if (x->lo.id)
        r.lo = tp_interval_of(v, o, x->lo).lo;
    if (x->hi.id)
        r.hi = tp_interval_of(v, o, x->hi).hi;
    return r;
}

static tp_interval negate(tp_interval a)
{
    return (tp_interval){finite(a.hi) ? -a.hi : INT64_MIN, finite(a.lo) ? -a.lo : INT64_MAX};
}

static tp_interval sum(tp_interval a, tp_interval b)
{
    tp_interval r = ANY;
    if (finite(a.lo) && finite(b.lo) && !tp_add(a.lo, b.lo, &r.lo))
        r.lo = INT64_MIN;
    if (finite(a.hi) && finite(b.hi) && !tp_add(a.hi, b.hi, &r.hi))
        r.hi = INT64_MAX;
    return r;
}

static tp_interval product(tp_interval a, tp_interval b)
{
    tp_interval r = ANY;
    if (finite(a.lo) && finite(a.hi) && finite(b.lo) && finite(b.hi)) {
        int64_t c[4];
        if (!tp_mul(a.lo, b.lo, &c[0]) || !tp_mul(a.lo, b.hi, &c[1]) || !tp_mul(a.hi, b.lo, &c[2]) ||
            !tp_mul(a.hi, b.hi, &c[3]))
            return a.lo >= 0 && b.lo >= 0 ? (tp_interval){0, INT64_MAX} : ANY;
        r.lo = r.hi = c[0];
        for (int i = 1; i < 4; i++) {
            r.lo = c[i] < r.lo ? c[i] : r.lo;
            r.hi = c[i] > r.hi ? c[i] : r.hi;
        }
    } else if (a.lo >= 0 && b.lo >= 0 && finite(a.lo) && finite(b.lo)) {
        if (!tp_mul(a.lo, b.lo, &r.lo))
            r.lo = 0;
    }
    return r;
}

/* Quotients by a divisor that is at least 1. */
static tp_interval quotient(tp_interval a, tp_interval b, bool up)
{
    tp_interval r = ANY;
    if (b.lo < 1)
        return r;
    bool (*div)(int64_t, int64_t, int64_t *) = up ? tp_ceildiv : tp_floordiv;
    int64_t x;
    /* the quotient grows with a; towards 0 as b grows */
    if (finite(a.lo) && div(a.lo, a.lo < 0 ? b.lo : finite(b.hi) ? b.hi : b.lo, &x))
        r.lo = a.lo >= 0 && !finite(b.hi) ? (up && a.lo > 0 ? 1 : 0) : x;
    if (finite(a.hi) && div(a.hi, a.hi >= 0 ? b.lo : finite(b.hi) ? b.hi : b.lo, &x))
        r.hi = a.hi < 0 && !finite(b.hi) ? 0 : x;
    return r;
}

static tp_interval hull(tp_interval a, tp_interval b)
{
    return (tp_interval){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static tp_interval compare(tp_expr_op op, tp_interval a, tp_interval b)
{
    static const tp_interval YES = {1, 1}, NO = {0, 0}, MAYBE = {0, 1};
    bool below = finite(a.hi) && finite(b.lo) && a.hi < b.lo, above = finite(a.lo) && finite(b.hi) && a.lo > b.hi;
    bool not_above = finite(a.hi) && finite(b.lo) && a.hi <= b.lo,
         not_below = finite(a.lo) && finite(b.hi) && a.lo >= b.hi;
    if (op == TP_E_LT)
        return below ? YES : not_below ? NO : MAYBE;
    if (op == TP_E_LE)
        return not_above ? YES : above ? NO : MAYBE;
    if (op == TP_E_GT)
        return above ? YES : not_above ? NO : MAYBE;
    if (op == TP_E_GE)
        return not_below ? YES : below ? NO : MAYBE;
    tp_interval same = below || above ? NO : not_above && not_below ? YES : MAYBE;
    return op == TP_E_EQ ? same : (tp_interval){1 - same.hi, 1 - same.lo};
}

tp_interval tp_interval_of(const tp_prover *v, const tp_obligation *o, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(v->p, e);
    tp_spend(v->scratch, 2);
    if (n->op == TP_E_CONST)
        return (tp_interval){n->value, n->value};
    if (n->op == TP_E_SYM)
        return of_var(v, o, find_var(o, (uint32_t)n->value));
    tp_interval a = tp_interval_of(v, o, n->a), b = n->b.id ? tp_interval_of(v, o, n->b) : ANY;
    switch (n->op) {
    case TP_E_NEG: return negate(a);
    case TP_E_ADD: return sum(a, b);
    case TP_E_SUB: return sum(a, negate(b));
    case TP_E_MUL: return product(a, b);
    case TP_E_FLOORDIV: return quotient(a, b, false);
    case TP_E_CDIV: return quotient(a, b, true);
    case TP_E_MOD:
        return b.lo < 1                                   ? ANY
               : a.lo >= 0 && finite(a.hi) && a.hi < b.lo ? a
                                                          : (tp_interval){0, finite(b.hi) ? b.hi - 1 : INT64_MAX};
    case TP_E_ALIGN_UP:
        return b.lo < 1 ? ANY : (tp_interval){a.lo, finite(a.hi) && finite(b.hi) ? sum(a, b).hi : INT64_MAX};
    case TP_E_MIN: return (tp_interval){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    case TP_E_MAX: return (tp_interval){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    case TP_E_POW2: return (tp_interval){a.lo > 1 ? a.lo : 1, INT64_MAX};
    case TP_E_ITE: return a.lo == 1 ? b : a.hi == 0 ? tp_interval_of(v, o, n->c) : hull(b, tp_interval_of(v, o, n->c));
    case TP_E_NOT: return (tp_interval){a.hi == 0, a.lo != 1};
    case TP_E_AND: return (tp_interval){a.lo == 1 && b.lo == 1, a.hi != 0 && b.hi != 0};
    case TP_E_OR: return (tp_interval){a.lo == 1 || b.lo == 1, a.hi != 0 || b.hi != 0};
    case TP_E_IMPLIES: return (tp_interval){a.hi == 0 || b.lo == 1, a.lo != 1 || b.hi != 0};
    case TP_E_EQ:
    case TP_E_NE:
    case TP_E_LT:
    case TP_E_LE:
    case TP_E_GT:
    case TP_E_GE: return compare(n->op, a, b);
    case TP_E_BITS:
    case TP_E_LEAVES: break;
    }
    return ANY;
}
