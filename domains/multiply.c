/* Matrix products by tiles (tiles.h), one set of them for each instruction set; products modulo primes by rows. */
#include "domains/multiply.h"

#include <stdbool.h>
#include <string.h>

#include "base/processors.h"
#include "base/turned.h"
#include "domains/amx.h"
#include "domains/bytes.h"
#include "domains/residue.h"
#include "domains/subnormal.h"

/* ---- by tiles ---- */

enum {
    DEPTH = 256,   /* terms of one pass: a panel of b stays in the first cache, */
    HEIGHT = 128,  /* ... and so many rows of a in the second */
    FEW_ROWS = 12, /* rows of a for which a panel is not worth copying */
    AT_ONCE = 4,   /* tiles whose rows are packed, if they are columns */
    WIDEST = 8     /* vectors of columns of a tile */
};

#define NAME_OF_(x, type, set) x##_##type##_##set
#define NAME_OF(x, type, set) NAME_OF_(x, type, set)

/* In vectors of 16 bytes, which every machine has, or its compiler takes apart. Shifts of the signed kind part a pair.
 */
#define SET portable
#define ATTRIBUTE
#define BYTES 16
#define ROWS 4
#define ROWS_OF_TWO 4
typedef int32_t halves __attribute__((vector_size(BYTES)));

/* sum + x y, rounded once. Where that is no instruction: the product is exact in double, and the sum is rounded to odd
 * there, which the second rounding does not notice (Boldo and Melquiond 2008). */
static inline float multiply_add(float sum, float x, float y)
{
#ifdef __FP_FAST_FMAF
    return __builtin_fmaf(x, y, sum);
#else
    double p = (double)x * (double)y, c = (double)sum, v = p + c, back = v - p, lost = (p - (v - back)) + (c - back);
    int64_t bits, of_lost, inexact = (lost > 0) | (lost < 0);
    memcpy(&bits, &v, sizeof bits);
    memcpy(&of_lost, &lost, sizeof of_lost);
    bits = (bits + ((bits ^ of_lost) >> 63 & -inexact)) | inexact; /* less by one where v was rounded away from zero */
    memcpy(&v, &bits, sizeof bits);
    return (float)v;
#endif
}
#define FUSED(sum, x, y)                                                                                               \
    ((vector){multiply_add((sum)[0], x, (y)[0]), multiply_add((sum)[1], x, (y)[1]), multiply_add((sum)[2], x, (y)[2]), \
              multiply_add((sum)[3], x, (y)[3])})
#define PAIRS(x, y)                                                                                                    \
    ((uint32_t)(int16_t)(x) * (vector)((halves)((y) << 16) >> 16) +                                                    \
     (uint32_t)((int32_t)(x) >> 16) * (vector)((halves)(y) >> 16))
#define PRODUCT(x, y) ((x) * (y))
#include "domains/tile_set.h"

static bool always(void)
{
    return true;
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define SET avx2
#define ATTRIBUTE __attribute__((target("avx2,fma")))
#define BYTES 32
#define ROWS 6
#define ROWS_OF_TWO 3
#define FUSED(sum, x, y) ((vector)_mm256_fmadd_ps(_mm256_set1_ps(x), (__m256)(y), (__m256)(sum)))
#define PAIRS(x, y) ((vector)_mm256_madd_epi16(_mm256_set1_epi32((int)(x)), (__m256i)(y)))
#define PRODUCT(x, y) ((vector)_mm256_mul_epu32(_mm256_set1_epi64x((long long)(x)), (__m256i)(y)))
#include "domains/tile_set.h"

#define SET avx512
#define ATTRIBUTE __attribute__((target("avx512f,avx512bw")))
#define BYTES 64
#define ROWS 12
#define ROWS_OF_TWO 6
#define FUSED(sum, x, y) ((vector)_mm512_fmadd_ps(_mm512_set1_ps(x), (__m512)(y), (__m512)(sum)))
#define PAIRS(x, y) ((vector)_mm512_madd_epi16(_mm512_set1_epi32((int)(x)), (__m512i)(y)))
#define PRODUCT(x, y) ((vector)_mm512_mul_epu32(_mm512_set1_epi64((long long)(x)), (__m512i)(y)))
#include "domains/tile_set.h"

static bool has_avx512(void)
{
    return tp_has_avx512() && __builtin_cpu_supports("avx512bw");
}

/* Four products of 8-bit integers and their sum are one instruction here (VNNI), which does not saturate. */
#define SET avx512
#define ATTRIBUTE __attribute__((target("avx512f,avx512bw,avx512vnni")))
#define BYTES 64
#define ROWS 12
#define ELEMENT tp_quad
#define ADD(sum, x, y) ((vector)_mm512_dpbusd_epi32((__m512i)(sum), _mm512_set1_epi32((int)(x)), (__m512i)(y)))
#include "domains/tiles.h"
#undef SET
#undef ATTRIBUTE
#undef BYTES
#undef ROWS

static void watched_float_avx512(size_t m, size_t n, size_t k, const float *a, tp_steps sa, const float *b, tp_steps sb,
                                 float *r, const float *base, float *onto, tp_ahead *ahead, tp_panels *panels)
{
    tp_multiply_watched(multiply_by_panels_float_avx512, m, n, k, a, sa, b, sb, r, base, onto, ahead, panels);
}

static bool has_avx512_and_amx(void)
{
    return has_avx512() && tp_has_amx();
}

static bool has_avx512_bf16(void)
{
    return has_avx512() && tp_has_avx512_bf16();
}

#define BFLOATS(name, by)                                                                                              \
    static void name(size_t m, size_t n, size_t k, const tp_bfloat *a, tp_steps sa, const tp_bfloat *b, tp_steps sb,   \
                     float *r, const float *base, float *onto, tp_ahead *ahead, void *room, tp_panels *rows,           \
                     tp_panels *panels)                                                                                \
    {                                                                                                                  \
        tp_multiply_bfloats(&(by), m, n, k, a, sa, b, sb, r, base, onto, ahead, room, rows, panels,                    \
                            multiply_by_panels_tp_widened_avx512);                                                     \
    }
BFLOATS(bfloats_by_tiles, TP_BFLOAT_TILES)
BFLOATS(bfloats_by_words, TP_BFLOAT_WORDS)

static bool has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

static void by_vnni(size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa, const uint8_t *b, tp_steps sb,
                    tp_signs is_signed, uint32_t *r, const uint32_t *base, uint32_t *onto, tp_ahead *ahead, void *room,
                    tp_panels *panels)
{
    tp_multiply_bytes(multiply_tp_quad_avx512, m, n, k, a, sa, b, sb, is_signed, r, base, onto, ahead, room, panels);
}
#endif

#define MULTIPLIER(set, runs, floats, of_bytes, bytes_run, by, of_bfloats, by_bfloats)                                 \
    {                                                                                                                  \
        .name = #set, .runs_here = runs, .f32 = floats, .widened = multiply_by_panels_tp_widened_##set,                \
        .f64 = multiply_double_##set, .u32 = multiply_uint32_t_##set, .p = multiply_tp_modulo_p_##set,                 \
        .q = multiply_tp_modulo_q_##set, .pairs = multiply_tp_pair_##set, .bytes = of_bytes,                           \
        .bytes_run_here = bytes_run, .bytes_by = by, .bfloats = of_bfloats, .bfloats_by = by_bfloats                   \
    }
static const tp_multiplier MULTIPLIERS[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    MULTIPLIER(avx512, has_avx512_and_amx, watched_float_avx512, tp_multiply_bytes_amx, tp_has_amx, "AMX",
               bfloats_by_tiles, "AMX"),
    MULTIPLIER(avx512, has_avx512_bf16, watched_float_avx512, by_vnni, has_vnni, "VNNI", bfloats_by_words, "VDPBF16PS"),
    MULTIPLIER(avx512, has_avx512, watched_float_avx512, by_vnni, has_vnni, "VNNI", NULL, "float32"),
    MULTIPLIER(avx2, tp_has_avx2, multiply_by_panels_float_avx2, NULL, NULL, NULL, NULL, "float32"),
#endif
    MULTIPLIER(portable, always, multiply_by_panels_float_portable, NULL, NULL, NULL, NULL, "float32"),
};

const tp_multiplier *tp_multipliers(size_t *n)
{
    *n = sizeof MULTIPLIERS / sizeof *MULTIPLIERS;
    return MULTIPLIERS;
}

const tp_multiplier *tp_multiplier_here(void)
{
    const tp_multiplier *m = MULTIPLIERS;
    while (!m->runs_here())
        m++;
    return m;
}

void tp_multiply_f64(size_t m, size_t n, size_t k, const double *a, const double *b, double *r)
{
    tp_steps sa = {k, 1}, sb = {n, 1};
    k = tp_terms_that_count(sizeof *a, m, n, k, a, sa, b, sb);
    tp_multiplier_here()->f64(m, n, k, a, sa, b, sb, r, NULL, NULL, NULL);
}

/* ---- modulo primes ---- */

#define MULTIPLY_MODULO(prime)                                                                                         \
    TP_VECTORISED static void settle_##prime(size_t n, uint64_t *r)                                                    \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            r[i] = tp_fold_##prime(r[i]);                                                                              \
    }                                                                                                                  \
    void tp_multiply_##prime(size_t m, size_t n, size_t k, const uint64_t *a, const uint64_t *b, uint64_t *r)          \
    {                                                                                                                  \
        tp_steps sa = {k, 1}, sb = {n, 1};                                                                             \
        k = tp_terms_that_count(sizeof *a, m, n, k, a, sa, b, sb);                                                     \
        tp_multiplier_here()->prime(m, n, k, a, sa, b, sb, r, NULL, NULL, NULL);                                       \
        settle_##prime(m *n, r);                                                                                       \
    }
MULTIPLY_MODULO(p)
MULTIPLY_MODULO(q)
