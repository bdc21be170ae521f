/* 64-bit integers that notice overflow, and floor division as Python has it
 * (the quotient rounds towards minus infinity; the remainder has the sign of
 * the divisor). Each returns false instead of a wrong number. */
#ifndef TP_CHECKED_H
#define TP_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
static inline bool tp_add(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_add_overflow(a, b, r);
}

static inline bool tp_sub(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_sub_overflow(a, b, r);
}

static inline bool tp_mul(int64_t a, int64_t b, int64_t *r)
{
    return !__builtin_mul_overflow(a, b, r);
}

static inline bool tp_floordiv(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return false;
    int64_t q = a / b;
    *r = a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
    return true;
}

static inline bool tp_floormod(int64_t a, int64_t b, int64_t *r)
{
    if (b == 0)
        return false;
    if (b == -1) {
        *r = 0;
        return true;
    }
    int64_t m = a % b;
    *r = m != 0 && (m < 0) != (b < 0) ? m + b : m;
    return true;
}

/* Ceiling of a / b. */
static inline bool tp_ceildiv(int64_t a, int64_t b, int64_t *r)
{
    int64_t q, m;
    if (!tp_floordiv(a, b, &q) || !tp_floormod(a, b, &m))
        return false;
    return m == 0 ? (*r = q, true) : tp_add(q, 1, r);
}

/* Last of `size` elements, at least 1, from `start`, `stride` apart. */
static inline bool tp_last(int64_t start, int64_t size, int64_t stride, int64_t *r)
{
    tp_assert(size >= 1);
    int64_t span;
    return tp_mul(size - 1, stride, &span) && tp_add(start, span, r);
}

/* Turns of `range(lo, hi, by)`, by not 0. All its values lo + k * by, k below
 * the number of turns, lie between lo and hi. */
static inline bool tp_turns(int64_t lo, int64_t hi, int64_t by, int64_t *r)
{
    tp_assert(by != 0);
    int64_t span;
    if (by > 0 ? hi <= lo : hi >= lo)
        return *r = 0, true;
    return tp_sub(hi, lo, &span) && tp_ceildiv(span, by, r);
}

/* Greatest common divisor, not negative; of integers over INT64_MIN. */
static inline int64_t tp_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

#endif
