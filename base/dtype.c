#include "base/dtype.h"
#include "base/assert.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/float8.h"
#include "base/vectorised.h"

/* A float type has a precision, and no other kind has one. */
#define X(id, name, brief, bits, kind, cell, precision, ...)                                                           \
    _Static_assert((kind == TP_KIND_FLOAT) == (precision > 0), name);
#include "base/dtypes.def"
#undef X

#define ROUNDOFF(precision) ((precision) ? 1.0 / (double)((uint64_t)1 << (precision)) : 0)

static const tp_dtype_row ROWS[] = {
#define X(id, name, brief, bits, kind, cell, precision, largest, least, specials)                                      \
    {name,                                                                                                             \
     brief,                                                                                                            \
     bits,                                                                                                             \
     kind,                                                                                                             \
     TP_CELL_##cell,                                                                                                   \
     TP_CELL_##cell != TP_CELL_NONE,                                                                                   \
     ROUNDOFF(precision),                                                                                              \
     largest,                                                                                                          \
     least,                                                                                                            \
     TP_SPECIALS_##specials},
#include "base/dtypes.def"
#undef X
    {"weak int", "weak int", 64, TP_KIND_INT, TP_CELL_I64, true, 0, 0, 0, TP_SPECIALS_NONE},
    {"weak float", "weak float", 64, TP_KIND_FLOAT, TP_CELL_F64, true, ROUNDOFF(53), DBL_MAX, -1022, TP_SPECIALS_IEEE},
};

const tp_dtype_row *tp_dtype_info(tp_dtype d)
{
    tp_assert((size_t)d < sizeof ROWS / sizeof *ROWS);
    return &ROWS[d];
}

tp_dtype tp_dtype_find(tp_str name)
{
    for (int d = 0; d < TP_DTYPES; d++)
        if (tp_str_is(name, ROWS[d].name) || tp_str_is(name, ROWS[d].brief))
            return (tp_dtype)d;
    return TP_NO_DTYPE;
}

size_t tp_dtype_size(tp_dtype d)
{
    int bits = ROWS[d].bits;
    return bits < 8 ? 1 : (size_t)bits / 8;
}

bool tp_is_float(tp_dtype d)
{
    return ROWS[d].kind == TP_KIND_FLOAT;
}

bool tp_is_int(tp_dtype d)
{
    return ROWS[d].kind == TP_KIND_INT || ROWS[d].kind == TP_KIND_UINT;
}

bool tp_is_weak(tp_dtype d)
{
    return d == TP_WEAK_INT || d == TP_WEAK_FLOAT;
}

bool tp_is_scale(tp_dtype d)
{
    return ROWS[d].specials == TP_SPECIALS_FNU;
}

int64_t tp_dtype_min(tp_dtype d)
{
    if (ROWS[d].kind != TP_KIND_INT)
        return 0;
    return d == TP_WEAK_INT ? INT64_MIN : -((int64_t)1 << (ROWS[d].bits - 1));
}

int64_t tp_dtype_max(tp_dtype d)
{
    if (ROWS[d].kind == TP_KIND_BOOL)
        return 1;
    if (d == TP_WEAK_INT)
        return INT64_MAX;
    return ((int64_t)1 << (ROWS[d].bits - (ROWS[d].kind == TP_KIND_INT ? 1 : 0))) - 1;
}

double tp_dtype_largest(tp_dtype d)
{
    return tp_is_float(d) ? ROWS[d].largest : DBL_MAX;
}

double tp_dtype_roundoff(tp_dtype d)
{
    return tp_is_float(d) ? ROWS[d].roundoff : DBL_EPSILON / 2;
}

/* Nearest float with ties broken to odd: a second rounding to a type with at
 * least two bits less is then the same as rounding once. */
static float round_to_odd(double d)
{
    float f = (float)d;
    if (isnan(d) || isinf(d) || (double)f == d)
        return f;
    uint32_t u = tp_bits_of(isinf(f) ? tp_float_of((tp_bits_of(f) & 0x80000000u) | 0x7f7fffffu) : f);
    f = tp_float_of(u);
    if (fabs((double)f) > fabs(d))
        u -= 1; /* truncate towards zero */
    return tp_float_of(u | 1);
}

uint16_t tp_bf16_from_f32(float f)
{
    uint32_t u = tp_bits_of(f);
    if (isnan(f))
        return (uint16_t)((u >> 16 & 0x8000u) | 0x7fc0u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

uint16_t tp_bf16_from_f64(double d)
{
    return tp_bf16_from_f32(round_to_odd(d));
}

float tp_bf16_to_f32(uint16_t h)
{
    return tp_float_of((uint32_t)h << 16);
}

uint16_t tp_f16_from_f32(float f)
{
    uint32_t u = tp_bits_of(f), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (a >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) { /* subnormal: let the FPU round at 2^-24 */
        float r = tp_float_of(a) + 0.5f;
        return (uint16_t)(sign | (tp_bits_of(r) - 0x3f000000u));
    }
    uint32_t r = a + 0xfffu + (a >> 13 & 1);
    return (uint16_t)(sign | ((r >> 13) - (112u << 10)));
}

uint16_t tp_f16_from_f64(double d)
{
    return tp_f16_from_f32(round_to_odd(d));
}

float tp_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu;
    if (e == 31)
        return tp_float_of(sign | 0x7f800000u | m << 13);
    if (e == 0) {
        float f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    return tp_float_of(sign | (e + 112u) << 23 | m << 13);
}

/* No engine computes with such a dtype. Whoever asks for an element of it all the same gets none: a wrong one would
 * not be noticed. */
static _Noreturn void no_cell(void)
{
    abort();
}

/* What a row of 8 bits does with its type as constants. */
#define X(id, name, brief, bits, kind, cell, precision, largest, least, specials)                                      \
    if (TP_CELL_##cell == TP_CELL_F8 && d == TP_##id)                                                                  \
    EIGHT(precision, least, TP_SPECIALS_##specials)

uint8_t tp_f8_from_f32(tp_dtype d, float f)
{
#define EIGHT(...) return tp_float8_from_f32(f, __VA_ARGS__);
#include "base/dtypes.def"
#undef EIGHT
    no_cell();
}

float tp_f8_to_f32(tp_dtype d, uint8_t code)
{
#define EIGHT(...) return tp_float8_to_f32(code, __VA_ARGS__);
#include "base/dtypes.def"
#undef EIGHT
    no_cell();
}

TP_VECTORISED static void get_row_f8(tp_dtype d, const uint8_t *restrict from, size_t n, float *restrict to)
{
#define EIGHT(...)                                                                                                     \
    for (size_t i = 0; i < n; i++)                                                                                     \
        to[i] = tp_float8_to_f32(from[i], __VA_ARGS__);
#include "base/dtypes.def"
#undef EIGHT
}

TP_VECTORISED static void put_row_f8(tp_dtype d, uint8_t *restrict to, size_t n, const float *restrict from)
{
#define EIGHT(...)                                                                                                     \
    for (size_t i = 0; i < n; i++)                                                                                     \
        to[i] = tp_float8_from_f32(from[i], __VA_ARGS__);
#include "base/dtypes.def"
#undef EIGHT
}
#undef X

/* Groups of cells, for a switch: case TP_CELL_FLOATS: */
#define TP_CELL_FLOATS                                                                                                 \
    TP_CELL_F32:                                                                                                       \
    case TP_CELL_F64:                                                                                                  \
    case TP_CELL_BF16:                                                                                                 \
    case TP_CELL_F16:                                                                                                  \
    case TP_CELL_F8
#define TP_CELL_INTEGERS                                                                                               \
    TP_CELL_I4:                                                                                                        \
    case TP_CELL_U4:                                                                                                   \
    case TP_CELL_I8:                                                                                                   \
    case TP_CELL_I16:                                                                                                  \
    case TP_CELL_I32:                                                                                                  \
    case TP_CELL_I64:                                                                                                  \
    case TP_CELL_U8:                                                                                                   \
    case TP_CELL_U16:                                                                                                  \
    case TP_CELL_U32:                                                                                                  \
    case TP_CELL_BOOL

double tp_get_f64(tp_dtype d, const void *data, size_t i)
{
    switch (ROWS[d].cell) {
    case TP_CELL_F32: return (double)((const float *)data)[i];
    case TP_CELL_F64: return ((const double *)data)[i];
    case TP_CELL_BF16: return (double)tp_bf16_to_f32(((const uint16_t *)data)[i]);
    case TP_CELL_F16: return (double)tp_f16_to_f32(((const uint16_t *)data)[i]);
    case TP_CELL_F8: return (double)tp_f8_to_f32(d, ((const uint8_t *)data)[i]);
    case TP_CELL_INTEGERS: return (double)tp_get_i64(d, data, i);
    case TP_CELL_NONE: break;
    }
    no_cell();
}

/* What four bits hold with two's complement. */
static inline int low_half(uint8_t byte)
{
    return ((byte & 15) ^ 8) - 8;
}

int64_t tp_get_i64(tp_dtype d, const void *data, size_t i)
{
    switch (ROWS[d].cell) {
    case TP_CELL_I4: return low_half(((const uint8_t *)data)[i]);
    case TP_CELL_U4: return ((const uint8_t *)data)[i] & 15;
    case TP_CELL_I8: return ((const int8_t *)data)[i];
    case TP_CELL_I16: return ((const int16_t *)data)[i];
    case TP_CELL_I32: return ((const int32_t *)data)[i];
    case TP_CELL_I64: return ((const int64_t *)data)[i];
    case TP_CELL_BOOL:
    case TP_CELL_U8: return ((const uint8_t *)data)[i];
    case TP_CELL_U16: return ((const uint16_t *)data)[i];
    case TP_CELL_U32: return ((const uint32_t *)data)[i];
    case TP_CELL_FLOATS: /* is no integer */
    case TP_CELL_NONE: break;
    }
    no_cell();
}

void tp_put_f64(tp_dtype d, void *data, size_t i, double v)
{
    switch (ROWS[d].cell) {
    case TP_CELL_F32: ((float *)data)[i] = (float)v; return;
    case TP_CELL_F64: ((double *)data)[i] = v; return;
    case TP_CELL_BF16: ((uint16_t *)data)[i] = tp_bf16_from_f64(v); return;
    case TP_CELL_F16: ((uint16_t *)data)[i] = tp_f16_from_f64(v); return;
    case TP_CELL_F8: ((uint8_t *)data)[i] = tp_f8_from_f32(d, round_to_odd(v)); return;
    case TP_CELL_INTEGERS: tp_put_i64(d, data, i, (int64_t)v); return;
    case TP_CELL_NONE: break;
    }
    no_cell();
}

void tp_put_i64(tp_dtype d, void *data, size_t i, int64_t v)
{
    switch (ROWS[d].cell) {
    case TP_CELL_I4:
    case TP_CELL_U4: ((uint8_t *)data)[i] = (uint8_t)((uint64_t)v & 15); return;
    case TP_CELL_I8: ((int8_t *)data)[i] = (int8_t)(uint8_t)v; return;
    case TP_CELL_I16: ((int16_t *)data)[i] = (int16_t)(uint16_t)v; return;
    case TP_CELL_I32: ((int32_t *)data)[i] = (int32_t)(uint32_t)v; return;
    case TP_CELL_I64: ((int64_t *)data)[i] = v; return;
    case TP_CELL_BOOL: ((uint8_t *)data)[i] = v != 0; return;
    case TP_CELL_U8: ((uint8_t *)data)[i] = (uint8_t)v; return;
    case TP_CELL_U16: ((uint16_t *)data)[i] = (uint16_t)v; return;
    case TP_CELL_U32: ((uint32_t *)data)[i] = (uint32_t)v; return;
    case TP_CELL_FLOATS: tp_put_f64(d, data, i, (double)v); return;
    case TP_CELL_NONE: break;
    }
    no_cell();
}

bool tp_dtype_holds(tp_dtype d, double v)
{
    uint64_t place = 0;
    if (ROWS[d].cell == TP_CELL_NONE)
        return !(fabs(v) > tp_dtype_largest(d));
    tp_put_f64(d, &place, 0, v);
    return isnan(v) || isfinite(tp_get_f64(d, &place, 0));
}

double tp_dtype_moderate(tp_dtype d, double v)
{
    if (ROWS[d].cell != TP_CELL_F8)
        return v;
    v = fmax(-ROWS[d].largest, fmin(v, ROWS[d].largest));
    return !tp_is_scale(d) ? v : v == 0 ? 1 : fabs(v);
}

/* ---- rows ---- */

#define ROW(T, R, EXPR)                                                                                                \
    {                                                                                                                  \
        const T *restrict p = (const T *)data + from;                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            T v = p[i];                                                                                                \
            to[i] = (R)(EXPR);                                                                                         \
        }                                                                                                              \
        return;                                                                                                        \
    }
#define INTEGER_ROWS(R)                                                                                                \
    case TP_CELL_I4: ROW(uint8_t, R, low_half(v))                                                                      \
    case TP_CELL_U4: ROW(uint8_t, R, v & 15)                                                                           \
    case TP_CELL_I8: ROW(int8_t, R, v)                                                                                 \
    case TP_CELL_I16: ROW(int16_t, R, v)                                                                               \
    case TP_CELL_I32: ROW(int32_t, R, v)                                                                               \
    case TP_CELL_BOOL:                                                                                                 \
    case TP_CELL_U8: ROW(uint8_t, R, v)                                                                                \
    case TP_CELL_U16: ROW(uint16_t, R, v)                                                                              \
    case TP_CELL_U32: ROW(uint32_t, R, v)

TP_VECTORISED void tp_get_row_f32(tp_dtype d, const void *data, size_t from, size_t n, float *restrict to)
{
    switch (ROWS[d].cell) {
    case TP_CELL_F32: memcpy(to, (const float *)data + from, n * sizeof *to); return;
    case TP_CELL_BF16: ROW(uint16_t, float, tp_bf16_to_f32(v))
    case TP_CELL_F16: ROW(uint16_t, float, tp_f16_to_f32(v))
    case TP_CELL_F8: get_row_f8(d, (const uint8_t *)data + from, n, to); return;
    case TP_CELL_F64:
        ROW(double, float, v)
        INTEGER_ROWS(float) case TP_CELL_I64 : ROW(int64_t, float, (double)v) case TP_CELL_NONE : break;
    }
    no_cell();
}

TP_VECTORISED void tp_get_row_f64(tp_dtype d, const void *data, size_t from, size_t n, double *restrict to)
{
    switch (ROWS[d].cell) {
    case TP_CELL_F32: ROW(float, double, v)
    case TP_CELL_BF16: ROW(uint16_t, double, tp_bf16_to_f32(v))
    case TP_CELL_F16: ROW(uint16_t, double, tp_f16_to_f32(v))
    case TP_CELL_F8: ROW(uint8_t, double, tp_f8_to_f32(d, v))
    case TP_CELL_F64:
        memcpy(to, (const double *)data + from, n * sizeof *to);
        return;
        INTEGER_ROWS(double)
    case TP_CELL_I64: ROW(int64_t, double, v)
    case TP_CELL_NONE: break;
    }
    no_cell();
}

TP_VECTORISED void tp_get_row_i64(tp_dtype d, const void *data, size_t from, size_t n, int64_t *restrict to)
{
    switch (ROWS[d].cell) {
        INTEGER_ROWS(int64_t)
    case TP_CELL_I64: memcpy(to, (const int64_t *)data + from, n * sizeof *to); return;
    case TP_CELL_FLOATS:
    case TP_CELL_NONE: break;
    }
    no_cell();
}

#undef ROW
#undef INTEGER_ROWS
#define ROW(T, EXPR)                                                                                                   \
    {                                                                                                                  \
        T *restrict p = (T *)data + to;                                                                                \
        for (size_t i = 0; i < n; i++)                                                                                 \
            p[i] = (T)(EXPR);                                                                                          \
        return;                                                                                                        \
    }

TP_VECTORISED void tp_put_row_f32(tp_dtype d, void *data, size_t to, size_t n, const float *restrict from)
{
    switch (ROWS[d].cell) {
    case TP_CELL_F32: memcpy((float *)data + to, from, n * sizeof *from); return;
    case TP_CELL_BF16: ROW(uint16_t, tp_bf16_from_f32(from[i]))
    case TP_CELL_F16: ROW(uint16_t, tp_f16_from_f32(from[i]))
    case TP_CELL_F8: put_row_f8(d, (uint8_t *)data + to, n, from); return;
    case TP_CELL_F64: ROW(double, from[i])
    case TP_CELL_INTEGERS:
    case TP_CELL_NONE: break;
    }
    for (size_t i = 0; i < n; i++)
        tp_put_f64(d, data, to + i, (double)from[i]);
}

/* By integers; false where an element is other than 0 and not in the range of normal numbers: then it is not done. */
TP_VECTORISED static bool put_row_bf16(uint16_t *restrict to, size_t n, const double *restrict from)
{
    enum { CUT = 52 - 7 }; /* bits of the mantissa that go */
    const uint64_t least = (uint64_t)(1023 - 126) << 52, end = (uint64_t)(1023 + 128) << 52;
    int64_t other = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t u, a, h;
        memcpy(&u, &from[i], sizeof u);
        a = u & ~((uint64_t)1 << 63);
        h = ((a + (((uint64_t)1 << (CUT - 1)) - 1) + (a >> CUT & 1)) >> CUT) - ((uint64_t)(1023 - 127) << 7);
        to[i] = (uint16_t)((u >> 48 & 0x8000u) | (a ? h : 0));
        other |= (a - least < end - least || !a) ? 0 : 1;
    }
    return !other;
}

TP_VECTORISED void tp_put_row_f64(tp_dtype d, void *data, size_t to, size_t n, const double *restrict from)
{
    switch (ROWS[d].cell) {
    case TP_CELL_F32: ROW(float, from[i])
    case TP_CELL_F64: memcpy((double *)data + to, from, n * sizeof *from); return;
    case TP_CELL_BF16:
        if (put_row_bf16((uint16_t *)data + to, n, from))
            return;
        break;
    case TP_CELL_F16:
    case TP_CELL_F8:
    case TP_CELL_INTEGERS:
    case TP_CELL_NONE: break;
    }
    for (size_t i = 0; i < n; i++)
        tp_put_f64(d, data, to + i, from[i]);
}

TP_VECTORISED void tp_put_row_i64(tp_dtype d, void *data, size_t to, size_t n, const int64_t *restrict from)
{
    switch (ROWS[d].cell) {
    case TP_CELL_I4:
    case TP_CELL_U4: ROW(uint8_t, (uint64_t)from[i] & 15)
    case TP_CELL_I8: ROW(int8_t, (uint8_t)from[i])
    case TP_CELL_I16: ROW(int16_t, (uint16_t)from[i])
    case TP_CELL_I32: ROW(int32_t, (uint32_t)from[i])
    case TP_CELL_BOOL: ROW(uint8_t, from[i] != 0)
    case TP_CELL_U8: ROW(uint8_t, from[i])
    case TP_CELL_U16: ROW(uint16_t, from[i])
    case TP_CELL_U32: ROW(uint32_t, from[i])
    case TP_CELL_I64: memcpy((int64_t *)data + to, from, n * sizeof *from); return;
    case TP_CELL_FLOATS:
    case TP_CELL_NONE: break;
    }
    for (size_t i = 0; i < n; i++)
        tp_put_i64(d, data, to + i, from[i]);
}
#undef ROW
