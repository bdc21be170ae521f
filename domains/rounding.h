/* Shared by the files of the rounding domain. Bounds are rounded up: every
 * formula of a few operations is widened by a factor of 1 + 2^-40. */
#ifndef TP_ROUNDING_H
#define TP_ROUNDING_H

#include <math.h>

#include "domains/domain.h"

/* Operands of an elementwise operation: values over the reals, bounds. */
typedef struct tp_strip {
    const double *v, *b;
} tp_strip;

/* The value of p(x, y) in double and a bound on its distance from the true
 * value, for n elements; y is not looked at where p has one operand. The
 * result lies apart from the operands. */
void tp_round_strip(tp_prim p, size_t n, tp_strip x, tp_strip y, double *v, double *b);

static inline double tp_up(double b)
{
    return b == b ? b * (1 + 0x1p-40) : HUGE_VAL;
}

/* Rounding error of s = x + y, exactly (Knuth: The Art of Computer
 * Programming, volume 2, section 4.2.2). */
static inline double tp_sum_error(double x, double y, double s)
{
    double t = s - x;
    return (x - (s - t)) + (y - t);
}

/* Rounding error of p = x y, exactly but for underflow (Dekker 1971). */
static inline double tp_product_error(double x, double y, double p)
{
    double cx = 134217729.0 * x, cy = 134217729.0 * y, hx = cx - (cx - x), hy = cy - (cy - y), lx = x - hx, ly = y - hy;
    return ((hx * hy - p) + hx * ly + lx * hy) + lx * ly;
}

#endif
