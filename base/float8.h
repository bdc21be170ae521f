/* Numbers of 8 bits and float32, bit by bit as ml_dtypes 0.6.0 converts them. What describes a type is a row of
 * base/dtypes.def: its precision, the exponent of its smallest normal number (least), its specials. */
#ifndef TP_FLOAT8_H
#define TP_FLOAT8_H

#include <string.h>

#include "base/dtype.h"

static inline uint32_t tp_bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float tp_float_of(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline float tp_float8_power(int e)
{
    return tp_float_of((uint32_t)(e + 127) << 23);
}

/* A power of two, ties upwards; numbers up to 2^-127 become 2^-127, and those below 2^-126 that are larger become
 * 2^-126 (float32 has no implied one there). */
static inline uint8_t tp_scale_from_f32(float f)
{
    uint32_t u = tp_bits_of(f);
    if (u == 0 || u >= 0x7f800000u)
        return 0xff;
    return (uint8_t)((u + (u < 0x800000u ? 0x3fffffu : 0x400000u)) >> 23);
}

static inline float tp_scale_to_f32(uint8_t code)
{
    return tp_float_of(code == 0xff ? 0x7fc00000u : code == 0 ? 0x400000u : (uint32_t)code << 23);
}

/* Ties to even: an integer addition rounds normal numbers, one of floats those below. */
static inline uint8_t tp_float8_from_f32(float f, int precision, int least, tp_specials specials)
{
    if (specials == TP_SPECIALS_FNU)
        return tp_scale_from_f32(f);
    int stored = precision - 1, cut = 23 - stored;
    uint32_t u = tp_bits_of(f), sign = u >> 24 & 0x80u, a = u & 0x7fffffffu, infinity = 0x7fu >> stored << stored,
             most = specials == TP_SPECIALS_IEEE ? infinity - 1
                    : specials == TP_SPECIALS_FN ? 0x7eu
                                                 : 0x7fu,
             nan = specials == TP_SPECIALS_FNUZ ? 0x80u : sign | (specials == TP_SPECIALS_IEEE ? 0x7eu : 0x7fu),
             over = specials == TP_SPECIALS_IEEE ? sign | infinity : nan;
    float unit = tp_float8_power(23 + least - stored);
    uint32_t normal = ((a + (1u << (cut - 1)) - 1 + (a >> cut & 1)) >> cut) - ((uint32_t)(least + 126) << stored),
             below = tp_bits_of(tp_float_of(a) + unit) - tp_bits_of(unit),
             code = a < (uint32_t)(least + 127) << 23 ? below : normal;
    if (a > 0x7f800000u)
        return (uint8_t)nan;
    if (code > most)
        return (uint8_t)over;
    return (uint8_t)(code || specials != TP_SPECIALS_FNUZ ? sign | code : 0);
}

/* Without branches, so that rows are converted some at a time. */
static inline float tp_float8_to_f32(uint8_t code, int precision, int least, tp_specials specials)
{
    if (specials == TP_SPECIALS_FNU)
        return tp_scale_to_f32(code);
    int stored = precision - 1;
    uint32_t a = code & 0x7fu, sign = (uint32_t)(code & 0x80u) << 24, infinity = 0x7fu >> stored << stored,
             special = specials == TP_SPECIALS_IEEE ? infinity
                       : specials == TP_SPECIALS_FN ? 0x7fu
                                                    : 0x80u,
             named = specials == TP_SPECIALS_IEEE && a == infinity ? 0x7f800000u : 0x7fc00000u,
             normal = (a << (23 - stored)) + ((uint32_t)(least + 126) << 23),
             below = tp_bits_of((float)(int32_t)a * tp_float8_power(least - stored)),
             is_below = -(uint32_t)(a < 1u << stored), is_special = -(uint32_t)(a >= special),
             is_nan = -(uint32_t)(specials == TP_SPECIALS_FNUZ && code == 0x80u),
             size = (below & is_below) | (normal & ~is_below);
    return tp_float_of(sign | (size & ~is_special) | (named & is_special) | (0xffc00000u & is_nan));
}

#endif
