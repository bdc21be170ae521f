#include "spec/constants.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_PRODUCT = 1000 * 1000, LARGEST_ROOT = 1 << 20 };

static const double LOG2E = 1.4426950408889634;

/* Does x have at most `bits` significant bits? */
static bool has_bits(double x, int bits)
{
    int e;
    double m = ldexp(frexp(x, &e), bits);
    return m == trunc(m);
}

/* x as a decimal of at most 12 digits, over a power of ten that a double holds. */
static void as_decimal(double x, tp_constant *c)
{
    enum { DIGITS = 12, LARGEST_POWER = 22 };
    char text[32];
    for (int digits = 1; digits <= DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, x);
        if (strtod(text, NULL) != x)
            continue;
        int places = digits - 1 - atoi(strchr(text, 'e') + 1);
        if (places < 1 || places > LARGEST_POWER)
            return;
        for (c->b = 1; places > 0; places--)
            c->b *= 10;
        c->a = round(x * c->b); /* of at most 12 digits: the product is off by less than a half */
        return;
    }
}

/* Is x the double next to a decimal number of that many digits? */
static bool has_digits(double x, int digits)
{
    char text[32];
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    return strtod(text, NULL) == x;
}

bool tp_constant_printed(double x)
{
    char text[32];
    if (has_bits(x, 12) || !isfinite((double)(float)x))
        return false;
    if (has_bits(x, 24))
        return true;
    for (int digits = 6; digits <= 9 && !has_digits(x, 5); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)(float)x);
        if (strtod(text, NULL) == x)
            return true;
    }
    return false;
}

double tp_constant_slack(double x, bool float64)
{
    if (x == 0 || !(fabs(x) < LARGEST_ROOT) || has_bits(x, 12)) /* large ones stand for infinity: masks */
        return 0;
    if (has_bits(x, 24) && !float64)
        return fabs(x) * 0x1p-24;
    bool printed =
        !float64 && !has_digits(x, 5) && has_digits(x, 9); /* the shortest decimal that a float32 is told by */
    return fabs(x) * (printed ? 0x1p-23 : 0x1p-53);
}

/* Constants are told apart as float32, or as doubles. */
static bool same(double x, double y, bool float64)
{
    return float64 ? fabs(x - y) <= 0x1p-52 * fabs(x) : (float)x == (float)y;
}

/* Best fraction by continued fractions. x times `scale` is meant, here and below. */
static bool fraction(double x, double scale, bool float64, tp_constant *c)
{
    double p0 = 0, q0 = 1, p1 = 1, q1 = 0, rest = x;
    for (int i = 0; i < 12; i++) {
        double whole = floor(rest), p = whole * p1 + p0, q = whole * q1 + q0;
        if (p * q > LARGEST_PRODUCT || q > LARGEST_PRODUCT)
            return false;
        if (p > 0 && same(x * scale, p / q * scale, float64)) {
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

static bool root(double x, double scale, bool float64, tp_constant *c)
{
    double square = round(x * x), inverse = round(1 / (x * x));
    if (square >= 2 && square <= LARGEST_ROOT && same(x * scale, sqrt(square) * scale, float64)) {
        c->kind = TP_CONSTANT_ROOT;
        c->a = square;
        return true;
    }
    if (inverse >= 2 && inverse <= LARGEST_ROOT && same(x * scale, 1 / sqrt(inverse) * scale, float64)) {
        c->kind = TP_CONSTANT_INVERSE_ROOT;
        c->a = inverse;
        return true;
    }
    return false;
}

static bool simple(double x, double scale, bool float64, tp_constant *c)
{
    return fraction(x, scale, float64, c) || root(x, scale, float64, c);
}

/* Is x the float32 of a decimal of few digits, as 0.044715? People write such. */
static bool rounds_decimal(double x, tp_constant *c)
{
    enum { FEW = 6 };
    char text[32];
    for (int digits = 1; digits <= FEW; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, x);
        double decimal = strtod(text, NULL);
        if ((float)decimal != (float)x)
            continue;
        c->kind = TP_CONSTANT_EXACT;
        c->a = decimal;
        as_decimal(decimal, c);
        return true;
    }
    return false;
}

tp_constant tp_constant_of(double x, bool float64)
{
    tp_constant c = {.kind = TP_CONSTANT_EXACT, .sign = x < 0 ? -1 : 1, .a = fabs(x), .b = 1};
    double size = fabs(x);
    bool rounded =
        (!float64 && tp_constant_printed(x)) || !has_digits(x, 12); /* else it is the decimal that is written */
    if (x == 0 || !isfinite(x) || has_bits(size, 12))
        return c;
    if (!rounded) {
        as_decimal(size, &c);
        return c;
    }
    if (simple(size, 1, float64, &c))
        return c;
    c.times_log2e = simple(size / LOG2E, LOG2E, float64, &c);
    if (!c.times_log2e && !(!float64 && tp_constant_printed(size) && rounds_decimal(size, &c))) {
        c.kind = TP_CONSTANT_OTHER;
        c.a = float64 ? size : (double)(float)size;
    }
    return c;
}

double tp_constant_value(const tp_constant *c)
{
    double scale = c->sign * (c->times_log2e ? LOG2E : 1);
    switch (c->kind) {
    case TP_CONSTANT_EXACT:
    case TP_CONSTANT_FRACTION: return c->a / c->b * scale;
    case TP_CONSTANT_ROOT: return sqrt(c->a) * scale;
    case TP_CONSTANT_INVERSE_ROOT: return 1 / sqrt(c->a) * scale;
    case TP_CONSTANT_OTHER: break;
    }
    return c->a * scale;
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
