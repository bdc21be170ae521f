/* Arithmetic on integers from data, as functions of their values: bits of an integer are quotients and rests by powers
 * of two, whatever the width of its type. */
#include <math.h>

#include "analyzer/equality/internal.h"

enum { MAX_RUNS = 4, MAX_SHIFT = 31 };

static term applied(summary *s, tp_prim prim, term a, term b)
{
    const term_node x = *term_get(s, a), y = *term_get(s, b);
    bool index = x.kind == T_INTEGER && y.kind == T_INTEGER && (prim == TP_P_FLOORDIV || prim == TP_P_MOD);
    return index ? term_integer(s, tp_op2(s->p, tp_prim_expr(prim), x.e, y.e))
                 : term_apply(s, prim, a, b, (term){0}, 0);
}

static term number(summary *s, int64_t v)
{
    return term_integer(s, tp_const(s->p, v));
}

static bool is_number(summary *s, term t, int64_t *v)
{
    const term_node *n = term_get(s, t);
    return n->kind == T_INTEGER && tp_expr_is_const(s->p, n->e, v);
}

static bool is_mask_of_low_bits(int64_t mask)
{
    return mask > 0 && (mask & (mask + 1)) == 0;
}

/* The bits of `a` under a mask, run by run: those below `until` without those below `from`. No id: too many runs. */
static term under_mask(summary *s, term a, int64_t mask)
{
    term sum = {0};
    if (mask < 0) {
        term rest = under_mask(s, a, ~mask);
        return rest.id ? applied(s, TP_P_SUB, a, rest) : rest;
    }
    if (mask == 0)
        return number(s, 0);
    for (int64_t from = 1, until, runs = 0; mask >= from; from = until, runs++) {
        while (!(mask & from))
            from *= 2;
        for (until = from; mask & until;)
            until *= 2;
        if (runs == MAX_RUNS)
            return (term){0};
        term run = applied(s, TP_P_MOD, a, number(s, until));
        if (from > 1)
            run = applied(s, TP_P_SUB, run, applied(s, TP_P_MOD, a, number(s, from)));
        sum = sum.id ? applied(s, TP_P_ADD, sum, run) : run;
    }
    return sum;
}

/* Has b no bit of a? It is a multiple of a power of two, and a is less. */
static bool is_above(summary *s, term b, term a)
{
    const term_node n = *term_get(s, b);
    int64_t by;
    return n.kind == T_APPLY && n.prim == TP_P_MUL && is_number(s, n.arg[1], &by) && by > 1 &&
           is_mask_of_low_bits(by - 1) && summary_lies_between(s, a, 0, (double)(by - 1));
}

/* a & b = (a + b - (a ^ b)) / 2, and a | b is the other half of a + b. */
static term bitwise(summary *s, tp_prim prim, term a, term b)
{
    int64_t mask;
    term by_mask = {0};
    if (is_number(s, a, &mask)) {
        term t = a;
        a = b;
        b = t;
    }
    if (is_number(s, b, &mask))
        by_mask = under_mask(s, a, prim == TP_P_AND ? mask : ~mask);
    if (by_mask.id) /* a | m is m and what a has besides, a ^ m that less what both have */
        return prim == TP_P_AND ? by_mask
               : prim == TP_P_OR
                   ? applied(s, TP_P_ADD, by_mask, b)
                   : applied(s, TP_P_SUB, applied(s, TP_P_ADD, by_mask, by_mask), applied(s, TP_P_SUB, a, b));
    if (is_above(s, a, b) || is_above(s, b, a))
        return prim == TP_P_AND ? number(s, 0) : applied(s, TP_P_ADD, a, b);
    term differ = applied(s, TP_P_XOR, a, b);
    if (prim == TP_P_XOR)
        return differ;
    term both = applied(s, TP_P_ADD, a, b), twice = applied(s, prim == TP_P_AND ? TP_P_SUB : TP_P_ADD, both, differ);
    return applied(s, TP_P_MUL, twice, term_real(s, 0.5));
}

/* Rests and quotients by numbers above 0, which are no larger than what is divided, or than the divisor. */
static term divided(summary *s, tp_prim prim, term a, term b)
{
    bool quotient = prim == TP_P_FLOORDIV || prim == TP_P_LAX_DIV, floors = prim == TP_P_FLOORDIV || prim == TP_P_MOD;
    if (!summary_lies_between(s, b, 1, HUGE_VAL) || !(floors || summary_lies_between(s, a, 0, HUGE_VAL)))
        return (term){0};
    return applied(s, quotient ? TP_P_FLOORDIV : TP_P_MOD, a, b);
}

term integer_of_data(summary *s, tp_prim prim, tp_dtype d, term a, term b)
{
    int64_t by;
    if (prim == TP_P_FLOORDIV || prim == TP_P_MOD || prim == TP_P_LAX_DIV || prim == TP_P_LAX_REM)
        return divided(s, prim, a, b);
    if (prim == TP_P_AND || prim == TP_P_OR || prim == TP_P_XOR)
        return bitwise(s, prim, a, b);
    if ((prim != TP_P_SHL && prim != TP_P_SHR && prim != TP_P_SHR_LOGICAL) || !is_number(s, b, &by) || by < 0 ||
        by > MAX_SHIFT || by >= (int64_t)tp_dtype_info(d)->bits)
        return (term){0};
    term power = number(s, (int64_t)1 << by);
    return prim == TP_P_SHL ? applied(s, TP_P_MUL, a, power)
                            : divided(s, prim == TP_P_SHR ? TP_P_FLOORDIV : TP_P_LAX_DIV, a, power);
}
