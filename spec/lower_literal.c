/* Constants of bodies and references: weak floats that are computed from
 * literals alone. Each has to have a value, and to fit the dtype that it takes
 * on; infinity is meant only where it is written. */
#include <math.h>

#include "spec/lower.h"

/* The constant that v is, weak integers included. */
static bool constant_of(const tp_lower *l, tp_vid v, double *real)
{
    const tp_value *x = lower_value(l, v);
    int64_t integer;
    if (x->dtype == TP_WEAK_INT && tp_expr_is_const(l->k->exprs, x->meaning, &integer)) {
        *real = (double)integer;
        return true;
    }
    *real = x->real;
    return x->dtype == TP_WEAK_FLOAT && x->known;
}

void lower_check_literal(tp_lower *l, tp_vid v, tp_dtype dtype, const tp_node *n)
{
    double real;
    if (!tp_is_float(dtype) || dtype >= TP_DTYPES || !constant_of(l, v, &real) || isnan(real))
        return;
    bool infinite = tp_dtype_info(dtype)->specials == TP_SPECIALS_IEEE;
    if (isinf(real) ? infinite : tp_dtype_holds(dtype, real))
        return;
    tp_buf help = {.arena = l->c->arena};
    if (tp_is_scale(dtype))
        tp_buf_printf(&help, "it holds powers of two from 2^-127 to 2^127");
    else
        tp_buf_printf(&help, "the largest %s is %.9g", tp_dtype_info(dtype)->name, tp_dtype_largest(dtype));
    if (infinite)
        tp_buf_printf(&help, "; for infinity, write %sinf", real < 0 ? "-" : "");
    else if (!tp_is_scale(dtype))
        tp_buf_printf(&help, ", and it has no infinity");
    lower_fail(l, n, tp_buf_view(&help).p, "%.9g does not fit %s", real, tp_dtype_info(dtype)->name);
}

/* `out` is `real`, computed from x and y. */
static void settle(tp_lower *l, tp_vid out, double real, double x, double y, const tp_node *n)
{
    if (isfinite(x) && isfinite(y) && isinf(real))
        lower_fail(l, n, "for infinity, write inf", "this constant does not fit float64");
    if (isnan(real) && !isnan(x) && !isnan(y))
        lower_fail(l, n, "for NaN, write nan", "this constant has no value");
    l->p->values.at[out].known = true;
    l->p->values.at[out].real = real;
}

void lower_fold_literal(tp_lower *l, tp_prim prim, tp_vid out, tp_vid a, tp_vid b, const tp_node *n)
{
    double x, y = 0;
    if (lower_value(l, out)->dtype != TP_WEAK_FLOAT || !constant_of(l, a, &x) || (b >= 0 && !constant_of(l, b, &y)))
        return;
    settle(l, out, prim == TP_P_CAST ? x : tp_meaning_f64(prim, x, y), x, y, n);
}

void lower_fold_power(tp_lower *l, tp_vid out, tp_vid a, int64_t exponent, const tp_node *n)
{
    double x;
    if (lower_value(l, out)->dtype == TP_WEAK_FLOAT && constant_of(l, a, &x))
        settle(l, out, pow(x, (double)exponent), x, 0, n);
}
