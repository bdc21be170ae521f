/* Elementwise operations over the reals: value in double, bound on the error. */
#include "domains/multiply.h"
#include "domains/rounding.h"

static const double U = 0x1p-53; /* unit roundoff of double */

/* Least positive double: what an underflow can hide. */
static const double TINY = 0x1p-1074;

/* ---- the error of the double operation itself ---- */

/* Functions of the C library in double, in units of the last place (2 U):
 * above what glibc 2.36 lists as the largest known error of any architecture
 * (manual, section "Errors in Math Functions"), with room for the few
 * operations of the composed ones. */
static double library_ulps(tp_prim p)
{
    switch (p) {
    case TP_P_ERFC: return 16;
    case TP_P_TAN:
    case TP_P_SILU:
    case TP_P_LOGISTIC: return 12;
    default: return 8;
    }
}

static double product_error(double x, double y, double v)
{
    double e = fabs(tp_product_error(x, y, v));
    if (!(fabs(x) < 0x1p400 && fabs(y) < 0x1p400)) /* the splitting may overflow */
        return fabs(v) * U;
    return fabs(v) > 0x1p-900 || x == 0 || y == 0 ? e : e + 2 * TINY;
}

static double quotient_error(double x, double y, double v)
{
    double p = v * y;
    bool safe = fabs(v) < 0x1p400 && fabs(y) < 0x1p400 && fabs(p) < 0x1p400 && fabs(v) > 0x1p-400 &&
                fabs(y) > 0x1p-400 && fabs(p) > 0x1p-400;
    if (x == 0)
        return 0;
    if (!safe) /* near the ends of the range the remainder is not exact */
        return fabs(v) * U + TINY;
    /* x - p is exact (Sterbenz), and so is p - v y */
    return fabs((x - p) - tp_product_error(v, y, p)) / fabs(y) * (1 + 0x1p-40);
}

static double own_error(tp_prim p, double x, double y, double v)
{
    if (!isfinite(v))
        return 0;
    switch (p) {
    case TP_P_ADD: return fabs(tp_sum_error(x, y, v));
    case TP_P_SUB: return fabs(tp_sum_error(x, -y, v));
    case TP_P_MUL: return product_error(x, y, v);
    case TP_P_SQUARE: return product_error(x, x, v);
    case TP_P_LAX_DIV:
    case TP_P_DIV: return isfinite(x) && isfinite(y) ? quotient_error(x, y, v) : 0;
    case TP_P_SQRT: return v > 0 ? (fabs(x - v * v) + product_error(v, v, v * v)) / v : 0;
    case TP_P_FLOORDIV: { /* the quotient may have been rounded to an integer, or over one */
        double q = x / y, e = quotient_error(x, y, q);
        return e == 0 || (floor(q - 2 * e) == floor(q + 2 * e) && fabs(q) < 0x1p50) ? 0 : 1 + 2 * e;
    }
    case TP_P_MOD: return fmod(x, y) == v ? 0 : fabs(tp_sum_error(fmod(x, y), y, v));
    case TP_P_GELU: /* (1 + tanh) / 2 cancels for negative x */ return 32 * U * (fabs(v) + fabs(x)) + TINY;
    case TP_P_EXP:
    case TP_P_EXP2:
    case TP_P_EXPM1:
    case TP_P_LOG:
    case TP_P_LOG1P:
    case TP_P_LOG2:
    case TP_P_RSQRT:
    case TP_P_TANH:
    case TP_P_ERF:
    case TP_P_ERFC:
    case TP_P_LOGISTIC:
    case TP_P_SILU:
    case TP_P_SIN:
    case TP_P_COS:
    case TP_P_TAN:
    case TP_P_POW: {
        double lost = !isfinite(x)                                         ? 0
                      : (p == TP_P_LOGISTIC || p == TP_P_SILU) && x < -700 ? 0x1p-1000 * (1 - x)
                                                                           : 4 * TINY;
        return 2 * U * library_ulps(p) * fabs(v) + lost; /* by underflow of the result, or overflow of exp(-x) */
    }
    default: return 0;
    }
}

/* exp(b) - 1 from above */
static double growth(double b)
{
    return b < 0.5 ? b * (1 + b) : expm1(b) * (1 + 0x1p-40);
}

/* ---- what the errors of the operands become ---- */

static double step_error(tp_prim p, double x, double v, double b)
{
    double around = b + fabs(x) * 0x1p-52, lo = tp_meaning_f64(p, x - around, 0), hi = tp_meaning_f64(p, x + around, 0);
    return fmax(fabs(lo - v), fabs(hi - v));
}

static double power_error(double x, double y, double v, double bx, double by)
{
    if (!(x > bx))
        return HUGE_VAL;
    double relative = bx / (x - bx), change = fabs(y) * relative + by * (fabs(log(x)) + relative);
    return change < 0.5 ? fabs(v) * growth(change) : exp(y * log(x) + change * (1 + 0x1p-40)) * (1 + 0x1p-30);
}

static double modulo_error(tp_prim p, double x, double y, double bx, double by)
{
    if (!(fabs(y) > by))
        return HUGE_VAL;
    double q = x / y, dq = tp_up((bx + fabs(q) * by) / (fabs(y) - by)) + fabs(q) * 4 * U;
    bool whole = p == TP_P_LAX_REM ? trunc(q - dq) == trunc(q + dq) : floor(q - dq) == floor(q + dq);
    if (!whole)
        return HUGE_VAL;
    return p == TP_P_FLOORDIV ? 0 : bx + (fabs(q) + 1) * by;
}

/* Bounds from the derivative, or from monotony; x - b stays where p is defined. */
static double carried_error(tp_prim p, double x, double y, double v, double bx, double by)
{
    if (bx == 0 && by == 0)
        return 0;
    switch (p) {
    case TP_P_NEG:
    case TP_P_ABS:
    case TP_P_RELU:
    case TP_P_TANH:
    case TP_P_SIN:
    case TP_P_COS: return bx;
    case TP_P_SIGN: return fabs(x) <= bx ? 2 : 0;
    case TP_P_SQUARE: return bx * (2 * fabs(x) + bx);
    case TP_P_EXP: return bx < 1 ? v * growth(bx) : exp(x + bx) * (1 + 0x1p-40);
    case TP_P_EXP2: return bx < 1 ? v * growth(bx * 0.6931471805599454) : exp2(x + bx) * (1 + 0x1p-40);
    case TP_P_EXPM1: return (v + 1 + 4 * U) * growth(bx);
    case TP_P_LOG: return x > bx ? bx / (x - bx) : HUGE_VAL;
    case TP_P_LOG2: return x > bx ? bx / (x - bx) * 1.442695040888964 : HUGE_VAL;
    case TP_P_LOG1P: return 1 + x > bx + 2 * U ? bx / (1 + x - bx - 2 * U) : HUGE_VAL;
    case TP_P_SQRT: return x > bx ? bx / v : sqrt(fabs(x) + bx);
    case TP_P_RSQRT: return x > bx ? bx / (x - bx) / sqrt(x - bx) / 2 : HUGE_VAL;
    case TP_P_ERF:
    case TP_P_ERFC: return 1.1283791670955127 * bx;
    case TP_P_LOGISTIC: return bx / 4;
    case TP_P_SILU: return 1.0999 * bx;
    case TP_P_GELU: return 1.13 * bx;
    case TP_P_TAN: {
        double c = fabs(cos(x)) - 8 * U;
        return c > bx ? bx / (c * (c - bx)) : HUGE_VAL;
    }
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND: return step_error(p, x, v, bx);
    case TP_P_ADD:
    case TP_P_SUB: return bx + by;
    case TP_P_MUL: return fabs(x) * by + fabs(y) * bx + bx * by;
    case TP_P_LAX_DIV:
    case TP_P_DIV: return fabs(y) > by ? (bx + fabs(v) * by + (by > 0 ? TINY : 0)) / (fabs(y) - by) : HUGE_VAL;
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: return fabs(x - y) > bx + by ? (v == x ? bx : by) : fmax(bx, by);
    case TP_P_POW: return power_error(x, y, v, bx, by);
    case TP_P_FLOORDIV:
    case TP_P_MOD:
    case TP_P_LAX_REM: return modulo_error(p, x, y, bx, by);
    default: return HUGE_VAL;
    }
}

/* Is p infinite there by convention, not by overflow? */
static bool has_pole(tp_prim p, double x, double y)
{
    switch (p) {
    case TP_P_DIV:
    case TP_P_LAX_DIV:
    case TP_P_FLOORDIV: return y == 0;
    case TP_P_LOG:
    case TP_P_LOG2:
    case TP_P_RSQRT:
    case TP_P_POW: return x == 0;
    case TP_P_LOG1P: return x == -1;
    default: return false;
    }
}

/* Infinities and NaN are what they are when their causes are. */
static double settled(tp_prim p, double x, double y, double v, double bx, double by, double b)
{
    bool product = p == TP_P_MUL || p == TP_P_SQUARE || p == TP_P_DIV || p == TP_P_LAX_DIV || p == TP_P_POW;
    if (isfinite(v)) /* the product of bounds may have vanished */
        return tp_up(product && (bx > 0 || by > 0) ? b + TINY : b);
    if (isinf(v) && isfinite(x) && isfinite(y) && !has_pole(p, x, y)) /* too large for double */
        return HUGE_VAL;
    bool sum = p == TP_P_ADD || p == TP_P_SUB, extreme = p == TP_P_MAXIMUM || p == TP_P_MINIMUM;
    bool certain = (bx == 0 && by == 0) || ((sum || extreme) && !isnan(v) && (isfinite(x) || bx == 0) &&
                                            (isfinite(y) || by == 0) && bx + by < HUGE_VAL);
    bool scaled = (p == TP_P_MUL || p == TP_P_DIV) && isinf(x) && bx == 0 && isfinite(y) && fabs(y) > by;
    scaled |= p == TP_P_MUL && isinf(y) && by == 0 && isfinite(x) && fabs(x) > bx;
    return certain || scaled ? 0 : HUGE_VAL;
}

static void strip_in_general(tp_prim p, size_t n, const tp_strip *x, const tp_strip *y, tp_strip *r)
{
    for (size_t i = 0; i < n; i++) {
        double v = tp_meaning_f64(p, x->v[i], y->v[i]);
        r->v[i] = v;
        r->b[i] = settled(p, x->v[i], y->v[i], v, x->b[i], y->b[i],
                          own_error(p, x->v[i], y->v[i], v) + carried_error(p, x->v[i], y->v[i], v, x->b[i], y->b[i]));
    }
}

/* ---- the frequent ones without branches ---- */

/* NaN and infinity make a bound NaN or infinite here; those strips go the general way. */
TP_VECTORISED static bool all_finite(const double *v, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (v[i] - v[i]) + (b[i] - b[i]);
    return sum == 0;
}

TP_VECTORISED static void strip_add(size_t n, const tp_strip *x, const tp_strip *y, double sign, tp_strip *r)
{
    for (size_t i = 0; i < n; i++) {
        double u = sign * y->v[i], v = x->v[i] + u;
        r->v[i] = v;
        r->b[i] = (fabs(tp_sum_error(x->v[i], u, v)) + (x->b[i] + y->b[i])) * (1 + 0x1p-40);
    }
}

/* False when something may have underflowed, or was too large to split. */
TP_VECTORISED static bool strip_multiply(size_t n, const tp_strip *restrict x, const tp_strip *restrict y,
                                         tp_strip *restrict r)
{
    double unusual = 0; /* counted in double, so that it vectorises */
    for (size_t i = 0; i < n; i++) {
        double a = x->v[i], c = y->v[i], v = a * c, ba = x->b[i], bc = y->b[i];
        r->v[i] = v;
        r->b[i] = (fabs(tp_product_error(a, c, v)) + (fabs(a) * bc + fabs(c) * ba + ba * bc)) * (1 + 0x1p-40);
    }
    for (size_t i = 0; i < n; i++) {
        double a = fabs(x->v[i]), c = fabs(y->v[i]), v = fabs(r->v[i]), least = a < c ? a : c, most = a < c ? c : a;
        double vanished = v > 0x1p-900 ? 0
                          : least > 0  ? 1
                                       : 0,
               large = most < 0x1p400 ? 0 : 1, lost = r->b[i] > 0 ? 0 : x->b[i] + y->b[i];
        unusual += vanished + large + lost;
    }
    return unusual == 0;
}

/* A large bound makes the strip go the general way. */
static void strip_exp(size_t n, const tp_strip *x, tp_strip *r)
{
    for (size_t i = 0; i < n; i++) {
        double v = exp(x->v[i]);
        r->v[i] = v;
        r->b[i] = (v * (x->b[i] < 0.5 ? x->b[i] * (1 + x->b[i]) : HUGE_VAL) +
                   (v * (16 * U) + (v < 0x1p-900 && x->v[i] > -HUGE_VAL ? 4 * TINY : 0))) *
                  (1 + 0x1p-40);
    }
}

void tp_round_strip(tp_prim p, size_t n, const tp_strip *x, const tp_strip *y, tp_strip *r)
{
    bool done = false;
    switch (p) {
    case TP_P_ADD: strip_add(n, x, y, 1, r), done = true; break;
    case TP_P_SUB: strip_add(n, x, y, -1, r), done = true; break;
    case TP_P_MUL: done = strip_multiply(n, x, y, r); break;
    case TP_P_EXP: strip_exp(n, x, r), done = true; break;
    default: break;
    }
    if (!done || !all_finite(r->v, r->b, n))
        strip_in_general(p, n, x, y, r);
}
