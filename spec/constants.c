#include "spec/constants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST_TERM = 1000, LARGEST_ROOT = 1 << 20 };

static const double CLOSE = 0x1p-23; /* relative; float32 constants are 2^-24 away at most */

/* Does x have at most `bits` significant bits? */
static bool has_bits(double x, int bits)
{
    int e;
    double m = ldexp(frexp(x, &e), bits);
    return m == trunc(m);
}

/* Is x the double next to a decimal number of that many digits? */
static bool has_digits(double x, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    return strtod(text, NULL) == x;
}

double tp_constant_slack(double x)
{
    if (x == 0 || !(fabs(x) < LARGEST_ROOT) || has_bits(x, 12)) /* large ones stand for infinity: masks */
        return 0;
    if (has_bits(x, 24))
        return fabs(x) * 0x1p-24;
    bool printed = !has_digits(x, 5) && has_digits(x, 9); /* the shortest decimal that a float32 is told by */
    return fabs(x) * (printed ? 0x1p-23 : 0x1p-53);
}

static bool close_to(double x, double y)
{
    return fabs(x - y) <= fabs(y) * CLOSE;
}

/* Best fraction by continued fractions. */
static bool fraction(double x, tp_constant *c)
{
    double p0 = 0, q0 = 1, p1 = 1, q1 = 0, rest = x;
    for (int i = 0; i < 12; i++) {
        double whole = floor(rest), p = whole * p1 + p0, q = whole * q1 + q0;
        if (p > LARGEST_TERM || q > LARGEST_TERM)
            return false;
        if (p > 0 && close_to(x, p / q)) {
            c->kind = TP_CONSTANT_FRACTION;
            c->a = p;
            c->b = q;
            return true;
        }
        if (rest == whole)
            return false;
        rest = 1 / (rest - whole);
        p0 = p1, q0 = q1, p1 = p, q1 = q;
    }
    return false;
}

static bool root(double x, tp_constant *c)
{
    double square = round(x * x), inverse = round(1 / (x * x));
    if (square >= 2 && square <= LARGEST_ROOT && close_to(x, sqrt(square))) {
        c->kind = TP_CONSTANT_ROOT;
        c->a = square;
        return true;
    }
    if (inverse >= 2 && inverse <= LARGEST_ROOT && close_to(x, 1 / sqrt(inverse))) {
        c->kind = TP_CONSTANT_INVERSE_ROOT;
        c->a = inverse;
        return true;
    }
    return false;
}

static bool simple(double x, tp_constant *c)
{
    if (has_bits(x, 12)) {
        c->kind = TP_CONSTANT_EXACT;
        c->a = x;
        return true;
    }
    return fraction(x, c) || root(x, c);
}

tp_constant tp_constant_of(double x)
{
    tp_constant c = {.sign = x < 0 ? -1 : 1, .a = fabs(x), .b = 1};
    double size = fabs(x);
    if (x == 0 || !isfinite(x) || simple(size, &c))
        return c;
    c.times_log2e = simple(size * 0.6931471805599453, &c);
    if (!c.times_log2e) {
        c.kind = TP_CONSTANT_OTHER;
        c.a = (double)(float)size;
    }
    return c;
}

int64_t tp_square_part(int64_t n, int64_t *rest)
{
    int64_t s = 1;
    for (int64_t d = 2; d * d <= n; d++)
        while (n % (d * d) == 0) {
            n /= d * d;
            s *= d;
        }
    *rest = n;
    return s;
}
