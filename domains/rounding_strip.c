/* Elementwise operations over the reals: value in double, bound on the error. */
#include "domains/multiply.h"
#include "domains/rounding.h"

static const double U = 0x1p-53; /* unit roundoff of double */

/* Least positive double: what an underflow can hide. */
static const double TINY = 0x1p-1074;

/* ---- the error of the double operation itself ---- */

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

/* By what its row says, where nothing closer is known. */
static double row_error(tp_prim p, double x, double v)
{
    const tp_rounding_error *r = &tp_prim_info(p)->rounding;
    switch (r->kind) {
    case TP_ROUND_EXACT: return 0;
    case TP_ROUND_ONCE: return U * fabs(v) + TINY;
    case TP_ROUND_ULPS: return 2 * U * r->ulps * fabs(v) + (isfinite(x) ? 4 * TINY : 0);
    }
    return HUGE_VAL;
}

/* What the operation itself adds: what its row says, or less where that is seen, or what its formula loses. */
static double own_error(tp_prim p, double x, double y, double v)
{
    if (!isfinite(v))
        return 0;
    if (p == TP_P_ADD)
        return fabs(tp_sum_error(x, y, v));
    if (p == TP_P_SUB)
        return fabs(tp_sum_error(x, -y, v));
    if (p == TP_P_MUL || p == TP_P_SQUARE)
        return product_error(x, p == TP_P_MUL ? y : x, v);
    if (p == TP_P_DIV || p == TP_P_LAX_DIV)
        return isfinite(x) && isfinite(y) ? quotient_error(x, y, v) : 0;
    if (p == TP_P_SQRT)
        return v > 0 ? (fabs(x - v * v) + product_error(v, v, v * v)) / v : 0;
    if (p == TP_P_FLOORDIV) { /* the quotient may have been rounded to an integer, or over one */
        double q = x / y, e = quotient_error(x, y, q);
        return e == 0 || (floor(q - 2 * e) == floor(q + 2 * e) && fabs(q) < 0x1p50) ? 0 : 1 + 2 * e;
    }
    if (p == TP_P_MOD)
        return fmod(x, y) == v ? 0 : fabs(tp_sum_error(fmod(x, y), y, v));
    if (p == TP_P_GELU) /* (1 + tanh) / 2 cancels for negative x */
        return 32 * U * (fabs(v) + fabs(x)) + TINY;
    if ((p == TP_P_LOGISTIC || p == TP_P_SILU) && isfinite(x) && x < -700) /* exp(-x) overflows */
        return row_error(p, x, v) + 0x1p-1000 * (1 - x);
    return row_error(p, x, v);
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
    case TP_P_SIN:
    case TP_P_COS:
    case TP_P_ERF:
    case TP_P_ERFC:
    case TP_P_LOGISTIC:
    case TP_P_SILU:
    case TP_P_GELU:
    case TP_P_ADD:
    case TP_P_SUB: return tp_prim_info(p)->slope.steepest * (bx + by);
    case TP_P_TANH: /* its derivative is at most 1, and at most 4 exp(-2 |x|) */
        return bx * fmin(1, 4.01 * exp(2 * (bx - fabs(x)))) + TINY;
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
    case TP_P_TAN: {
        double c = fabs(cos(x)) - 8 * U;
        return c > bx ? bx / (c * (c - bx)) : HUGE_VAL;
    }
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND: return step_error(p, x, v, bx);
    case TP_P_MUL: return fabs(x) * by + fabs(y) * bx + bx * by;
    case TP_P_LAX_DIV:
    case TP_P_DIV: return fabs(y) > by ? (bx + fabs(v) * by + (by > 0 ? TINY : 0)) / (fabs(y) - by) : HUGE_VAL;
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: return fabs(x - y) > bx + by ? (v == x ? bx : by) : fmax(bx, by);
    case TP_P_POW: return power_error(x, y, v, bx, by);
    case TP_P_FLOORDIV:
    case TP_P_MOD:
    case TP_P_LAX_REM: return modulo_error(p, x, y, bx, by);
    case TP_P_IS_FINITE: /* of data and integers, or decided in rounding.c */
    case TP_P_INVERT:
    case TP_P_AND:
    case TP_P_OR:
    case TP_P_XOR:
    case TP_P_SHL:
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
    case TP_P_EQ:
    case TP_P_NE:
    case TP_P_LT:
    case TP_P_LE:
    case TP_P_GT:
    case TP_P_GE:
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return HUGE_VAL;
}

/* Is p infinite there by convention, not by overflow? */
static bool has_pole(tp_prim p, double x, double y)
{
    const tp_real_domain *domain = &tp_prim_info(p)->domain;
    if (p == TP_P_DIV || p == TP_P_LAX_DIV || p == TP_P_FLOORDIV)
        return y == 0;
    return p == TP_P_POW ? x == 0 : domain->kind == TP_DOMAIN_ABOVE && x == domain->least;
}

/* Is there no value at x, nor at anything that it may be? */
static bool is_undefined(tp_prim p, double x, double bx)
{
    const tp_real_domain *domain = &tp_prim_info(p)->domain;
    return (domain->kind == TP_DOMAIN_FROM || domain->kind == TP_DOMAIN_ABOVE) && x + bx < domain->least;
}

/* Infinities and NaN are what they are when their causes are. */
static double bound_of_result(tp_prim p, double x, double y, double v, double bx, double by, double b)
{
    bool product = p == TP_P_MUL || p == TP_P_SQUARE || p == TP_P_DIV || p == TP_P_LAX_DIV || p == TP_P_POW;
    if (isfinite(v)) /* the product of bounds may have vanished */
        return tp_up(product && (bx > 0 || by > 0) ? b + TINY : b);
    if (isinf(v) && isfinite(x) && isfinite(y) && !has_pole(p, x, y)) /* too large for double */
        return HUGE_VAL;
    if (isnan(v) && ((isnan(x) && bx == 0) || (isnan(y) && by == 0) || is_undefined(p, x, bx)))
        return 0;
    bool sum = p == TP_P_ADD || p == TP_P_SUB, extreme = p == TP_P_MAXIMUM || p == TP_P_MINIMUM;
    bool certain = (bx == 0 && by == 0) || ((sum || extreme) && !isnan(v) && (isfinite(x) || bx == 0) &&
                                            (isfinite(y) || by == 0) && bx + by < HUGE_VAL);
    bool of_infinity = (p == TP_P_MUL || p == TP_P_DIV) && isinf(x) && bx == 0 && isfinite(y) && fabs(y) > by;
    of_infinity |= p == TP_P_MUL && isinf(y) && by == 0 && isfinite(x) && fabs(x) > bx;
    of_infinity |= p == TP_P_DIV && y == 0 && by == 0 && isfinite(x) && fabs(x) > bx;
    return certain || of_infinity ? 0 : HUGE_VAL;
}

static void element_in_general(tp_prim p, size_t i, tp_strip x, tp_strip y, double *v, double *b)
{
    double yv = y.v ? y.v[i] : 0, yb = y.b ? y.b[i] : 0;
    v[i] = tp_meaning_f64(p, x.v[i], yv);
    b[i] = bound_of_result(p, x.v[i], yv, v[i], x.b[i], yb,
                           own_error(p, x.v[i], yv, v[i]) + carried_error(p, x.v[i], yv, v[i], x.b[i], yb));
}

/* ---- the frequent ones without branches ----
 *
 * Where an element is infinite or no number, or beyond what its formula covers, b becomes ASIDE: such elements go the
 * general way. Each returns 0, or something else when there are any. Of a finite result a bound that is infinite, or
 * that infinities and zeros made no number, is infinite. */

static const double ASIDE = -1;

#define BOUND(b) ((b) == (b) ? (b) : HUGE_VAL)
#define IS_FINITE(v) (fabs(v) < HUGE_VAL)
/* Of no number that x and y gave: there is none where one of them surely is none, or where both are what they are. */
#define NO_NUMBER(x, bx, y, by)                                                                                        \
    ((((x) != (x)) & ((bx) == 0)) | (((y) != (y)) & ((by) == 0)) | (((bx) == 0) & ((by) == 0)) ? 0 : HUGE_VAL)

/* More than what underflows lose, and large enough for arithmetic at full speed. */
static const double LOST = 0x1p-1000;

TP_VECTORISED static int64_t strip_add(size_t n, tp_strip x, tp_strip y, double sign, double *restrict rv,
                                       double *restrict rb)
{
    const double *xv = x.v, *xb = x.b, *yv = y.v, *yb = y.b;
    for (size_t i = 0; i < n; i++) {
        double a = xv[i], u = sign * yv[i], ba = xb[i], bu = yb[i], v = a + u, either = ba + bu;
        double b = (fabs(tp_sum_error(a, u, v)) + either) * (1 + 0x1p-40);
        bool infinite = fabs(v) == HUGE_VAL, surely = ((fabs(a) < HUGE_VAL) | (ba == 0)) &
                                                      ((fabs(u) < HUGE_VAL) | (bu == 0)) & (either < HUGE_VAL) &
                                                      ((fabs(a) == HUGE_VAL) | (fabs(u) == HUGE_VAL));
        b = infinite ? (surely ? 0 : HUGE_VAL) : BOUND(b);
        rv[i] = v;
        rb[i] = v == v ? b : NO_NUMBER(a, ba, u, bu);
    }
    return 0;
}

/* fma gives the rounding error of a product exactly, unless it underflows. */
TP_VECTORISED_FMA static int64_t strip_multiply(size_t n, tp_strip x, tp_strip y, double *restrict rv,
                                                double *restrict rb)
{
    const double *xv = x.v, *xb = x.b, *yv = y.v, *yb = y.b;
    int64_t unusual = 0;
    for (size_t i = 0; i < n; i++) {
        double a = xv[i], c = yv[i], ba = xb[i], bc = yb[i], v = a * c, least = fabs(a) < fabs(c) ? fabs(a) : fabs(c);
        double underflow = (((fabs(v) < 0x1p-900) & (least > 0)) | (ba + bc > 0)) ? LOST : 0;
        double b = (fabs(fma(a, c, -v)) + (fabs(a) * bc + fabs(c) * ba + ba * bc) + underflow) * (1 + 0x1p-40);
        bool covered = !(fabs(v) == HUGE_VAL);
        rv[i] = v;
        rb[i] = !covered ? ASIDE : v == v ? BOUND(b) : NO_NUMBER(a, ba, c, bc);
        unusual |= covered ? 0 : 1;
    }
    return unusual;
}

/* x - v y is exact where nothing underflows. */
TP_VECTORISED_FMA static int64_t strip_divide(size_t n, tp_strip x, tp_strip y, double *restrict rv,
                                              double *restrict rb)
{
    const double *xv = x.v, *xb = x.b, *yv = y.v, *yb = y.b;
    int64_t unusual = 0;
    for (size_t i = 0; i < n; i++) {
        double a = xv[i], c = yv[i], ba = xb[i], bc = yb[i], v = a / c, size = fabs(v);
        double underflow = ba + bc > 0 ? LOST : 0, least = fabs(c) - bc;
        double b = (fabs(fma(-v, c, a)) + ba + size * bc + underflow) / least * (1 + 0x1p-40);
        bool in_range = (least > 0x1p-400) & (fabs(c) < 0x1p400) & (((size > 0x1p-400) & (size < 0x1p400)) | (a == 0));
        bool hopeless = IS_FINITE(v) & (least <= 0); /* y may be 0 */
        bool covered = hopeless | (IS_FINITE(v) & in_range);
        rv[i] = v;
        rb[i] = hopeless ? HUGE_VAL : covered ? BOUND(b) : ASIDE;
        unusual |= covered ? 0 : 1;
    }
    return unusual;
}

/* Maximum, or with sign -1 the minimum. */
TP_VECTORISED static int64_t strip_extreme(size_t n, tp_strip x, tp_strip y, double sign, double *restrict rv,
                                           double *restrict rb)
{
    const double *xv = x.v, *xb = x.b, *yv = y.v, *yb = y.b;
    int64_t unusual = 0;
    for (size_t i = 0; i < n; i++) {
        double a = sign * xv[i], c = sign * yv[i], ba = xb[i], bc = yb[i], larger = ba > bc ? ba : bc;
        double v = a > c ? a : c, b = fabs(a - c) > ba + bc ? (a > c ? ba : bc) : larger;
        bool surely = ((fabs(a) < HUGE_VAL) | (ba == 0)) & ((fabs(c) < HUGE_VAL) | (bc == 0)); /* infinite */
        bool finite = IS_FINITE(a) & IS_FINITE(c),
             covered = finite | (surely & (a == a) & (c == c) & (ba + bc < HUGE_VAL));
        rv[i] = sign * v;
        rb[i] = covered ? b * (1 + 0x1p-40) : ASIDE;
        unusual |= covered ? 0 : 1;
    }
    return unusual;
}

TP_VECTORISED static int64_t strip_negate(size_t n, tp_strip x, double *restrict rv, double *restrict rb)
{
    const double *xv = x.v, *xb = x.b;
    int64_t unusual = 0;
    for (size_t i = 0; i < n; i++) {
        bool covered = IS_FINITE(xv[i]) & (xb[i] < HUGE_VAL);
        rv[i] = -xv[i];
        rb[i] = covered ? xb[i] : ASIDE;
        unusual |= covered ? 0 : 1;
    }
    return unusual;
}

TP_VECTORISED static int64_t bounds_of_exp(size_t n, tp_strip x, const double *restrict v, double *restrict rb)
{
    const double *xv = x.v, *xb = x.b;
    int64_t unusual = 0;
    for (size_t i = 0; i < n; i++) {
        double of = v[i], b = xb[i], underflow = ((of < 0x1p-900) & (xv[i] > -HUGE_VAL)) ? 4 * TINY : 0;
        double carried = of * (b * (1 + b)), r = (carried + (of * (16 * U) + underflow)) * (1 + 0x1p-40);
        bool bounded = (b < 0.5) | (b >= HUGE_VAL), covered = ((of < HUGE_VAL) & bounded) | (of != of);
        rb[i] = !covered ? ASIDE : of == of ? BOUND(r) : b == 0 ? 0 : HUGE_VAL;
        unusual |= covered ? 0 : 1;
    }
    return unusual;
}

static int64_t strip_exp(size_t n, tp_strip x, double *restrict rv, double *restrict rb)
{
    for (size_t i = 0; i < n; i++) { /* less is 0, and takes longer to find out */
        double a = x.v[i];
        rv[i] = a < -746 ? 0 : a == a ? exp(a) : a;
    }
    return bounds_of_exp(n, x, rv, rb);
}

void tp_round_strip(tp_prim p, size_t n, tp_strip x, tp_strip y, double *v, double *b)
{
    int64_t unusual = -1; /* of all of them nothing is known */
    if (p == TP_P_ADD || p == TP_P_SUB)
        unusual = strip_add(n, x, y, p == TP_P_ADD ? 1 : -1, v, b);
    else if (p == TP_P_MUL || p == TP_P_SQUARE)
        unusual = strip_multiply(n, x, p == TP_P_MUL ? y : x, v, b);
    else if (p == TP_P_DIV || p == TP_P_LAX_DIV)
        unusual = strip_divide(n, x, y, v, b);
    else if (p == TP_P_MAXIMUM || p == TP_P_MINIMUM)
        unusual = strip_extreme(n, x, y, p == TP_P_MAXIMUM ? 1 : -1, v, b);
    else if (p == TP_P_NEG)
        unusual = strip_negate(n, x, v, b);
    else if (p == TP_P_EXP)
        unusual = strip_exp(n, x, v, b);
    for (size_t i = 0; i < n && unusual; i++)
        if (unusual < 0 || b[i] < 0)
            element_in_general(p, i, x, y, v, b);
}
