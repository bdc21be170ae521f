/* What a cast to a narrower type changes. Over the reals casts are the
 * identity; but what is decided by a narrowed value (a comparison, floor, a
 * sign, …) is a function of that value. So terms keep the casts that may change
 * a number, and normal forms drop them everywhere but under decisions. */
#include "analyzer/equality/internal.h"

#include <math.h>
#include <stdlib.h>

double summary_rounded(tp_dtype d, double v)
{
    uint64_t place = 0;
    if (tp_dtype_info(d)->cell == TP_CELL_NONE)
        return (double)NAN;
    tp_put_f64(d, &place, 0, v);
    return tp_get_f64(d, &place, 0);
}

/* Integers up to 2^digits are exact. */
static int digits(tp_dtype d)
{
    return -ilogb(tp_dtype_roundoff(d));
}

/* Exponent of the smallest positive number. */
static int finest(tp_dtype d)
{
    return tp_dtype_info(d)->least - digits(d) + 1;
}

/* Does type `to`, of floats, hold every number of type `from`? */
static bool holds(tp_dtype to, tp_dtype from)
{
    const tp_dtype_row *x = tp_dtype_info(from), *y = tp_dtype_info(to);
    if (from == to)
        return true;
    if (!tp_is_float(to) || y->cell == TP_CELL_NONE || tp_is_scale(to))
        return false;
    if (!tp_is_float(from))
        return !tp_is_weak(from) && (from == TP_BOOL || x->bits - (x->kind == TP_KIND_INT) <= digits(to));
    bool infinite = x->specials != TP_SPECIALS_IEEE || y->specials == TP_SPECIALS_IEEE;
    return infinite && x->cell != TP_CELL_NONE && x->roundoff >= y->roundoff && x->largest <= y->largest &&
           finest(from) >= finest(to);
}

static bool integer_fits(summary *s, tp_expr e, tp_dtype to)
{
    static const premises nothing = {.n = 0};
    int64_t v, most = (int64_t)1 << digits(to);
    if (tp_expr_is_const(s->p, e, &v))
        return summary_rounded(to, (double)v) == (double)v && llabs(v) <= (int64_t)1 << 53;
    if (tp_is_scale(to))
        return false;
    if (tp_expr_is_bool(s->p, e))
        return true;
    return summary_follows(s, &nothing,
                           tp_op2(s->p, TP_E_AND, tp_op2(s->p, TP_E_LE, e, tp_const(s->p, most)),
                                  tp_op2(s->p, TP_E_GE, e, tp_const(s->p, -most))));
}

static bool all_fit(summary *s, const term_node *n, int from, tp_dtype to)
{
    for (int i = from; i < 3 && n->arg[i].id; i++)
        if (!term_fits(s, n->arg[i], to))
            return false;
    return true;
}

bool term_fits(summary *s, term t, tp_dtype to)
{
    const term_node n = *term_get(s, t);
    switch (n.kind) {
    case T_INTEGER: return integer_fits(s, n.e, to);
    case T_REAL: return isnan(n.real) || summary_rounded(to, n.real) == n.real;
    case T_READ:
        if (!tp_is_float(s->k->operands[n.operand].dtype) && tp_is_float(to) && !tp_is_scale(to) &&
            summary_lies_between(s, t, -ldexp(1, digits(to)), ldexp(1, digits(to))))
            return true;
        return holds(to, s->k->operands[n.operand].dtype);
    case T_BEFORE:
    case T_AFTER: return holds(to, s->k->operands[n.operand].dtype);
    case T_HELD:
    case T_NOTHING:
    case T_TURN: return false;
    case T_SELECT: return all_fit(s, &n, 0, to);
    case T_FOLD: return (n.prim == TP_P_MAX || n.prim == TP_P_MIN) && all_fit(s, &n, 0, to);
    case T_APPLY: break;
    }
    if (tp_prim_info(n.prim)->to_bool)
        return true;
    static const bool KEEPS[TP_PRIMS] = {
        /* what fits: the result is an operand, its negative, 0, or a whole number */
        [TP_P_NEG] = true,   [TP_P_ABS] = true,  [TP_P_MAXIMUM] = true, [TP_P_MINIMUM] = true, [TP_P_RELU] = true,
        [TP_P_FLOOR] = true, [TP_P_CEIL] = true, [TP_P_ROUND] = true,   [TP_P_SIGN] = true};
    int64_t type;
    if (n.prim == TP_P_CAST)
        return tp_expr_is_const(s->p, n.e, &type) && type >= 0 && holds(to, (tp_dtype)type);
    if (n.prim == TP_P_WHERE)
        return all_fit(s, &n, 1, to);
    return KEEPS[n.prim] && all_fit(s, &n, 0, to);
}

term term_narrow(summary *s, term t, tp_dtype to)
{
    const term_node n = *term_get(s, t);
    int64_t v;
    bool constant = n.kind == T_INTEGER && tp_expr_is_const(s->p, n.e, &v);
    double number = constant ? (double)v : n.real;
    if ((n.kind == T_REAL || constant) && !isnan(number) && !isfinite(summary_rounded(to, number)))
        return term_real(s, summary_rounded(to, number));
    if (n.kind == T_REAL && term_may_be_mask(&n)) /* stands for minus infinity, in any spelling */
        return t;
    return term_apply(s, TP_P_CAST, t, (term){0}, (term){0}, to);
}

term term_literal(summary *s, term number, tp_dtype in)
{
    const term_node n = *term_get(s, number);
    bool few = tp_is_float(in) && !tp_is_weak(in) && tp_dtype_info(in)->bits < 32;
    return few && !term_may_be_mask(&n) && !term_may_be_mask_above(&n) ? term_narrow(s, number, in) : number;
}
