/* What the constants of a program stand for. */
#ifndef TP_CONSTANTS_H
#define TP_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

/* A constant of a program, as its author may have meant it. Authors round
 * irrational and decimal numbers to float32 or to double; two spellings of one
 * number are one constant. */
typedef enum tp_constant_kind {
    TP_CONSTANT_EXACT,    /* of at most 12 bits, or a decimal of at most 12 digits: the number itself */
    TP_CONSTANT_FRACTION, /* a / b, with a * b at most 10^6 */
    TP_CONSTANT_ROOT,     /* the square root of the integer a */
    TP_CONSTANT_INVERSE_ROOT,
    TP_CONSTANT_OTHER, /* a rounded number, told from others by its first 24 bits */
} tp_constant_kind;
typedef struct tp_constant {
    tp_constant_kind kind;
    double sign, a, b; /* OTHER: the number is sign * a; EXACT: sign * a / b, b a power of ten or 1 */
    bool times_log2e;  /* the class is that of the number divided by log2(e) */
} tp_constant;
/* The simple number of which x is the rounding: they are the same float32; in
 * a program that computes in float64, the same double up to a unit. */
tp_constant tp_constant_of(double x, bool float64);
double tp_constant_value(const tp_constant *c);
/* Does x look printed from a float32: one that needs all its bits, or its
 * decimal of 6 to 9 digits? */
bool tp_constant_printed(double x);
/* How far the meant number may lie from x: half a unit of the last place of
 * the float type to which x looks rounded (a float32, or one that was printed:
 * 6 to 9 digits, twice that; where a program computes in float64, a double); 0
 * for EXACT and for stand-ins of infinity (2^20 and more). */
double tp_constant_slack(double x, bool float64);
/* The largest s with n = s * s * *rest, for 1 <= n < 2^40. */
int64_t tp_square_part(int64_t n, int64_t *rest);

#endif
