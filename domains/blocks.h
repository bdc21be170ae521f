/* What products by blocks of sums share (bytes.h has others): operands that are packed to tiles of words. */
#ifndef TP_BLOCKS_H
#define TP_BLOCKS_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ahead.h"

enum {
    SIDE = 16, /* rows of a tile, and words of a row */
    TILE = SIDE * SIDE,
    PAIR = 2 * TILE, /* words of a group of a panel */
    BLOCK = 2 * SIDE /* of sums: four tiles, for two of a and two of b */
};

#define WITH_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

/* What is asked for beside a product: so many lines with each group of terms, while the tiles before are multiplied. */
typedef struct beside {
    tp_ahead *ahead;
    size_t lines;
} beside;

static inline beside beside_groups(tp_ahead *ahead, size_t groups)
{
    return (beside){ahead, groups ? ahead->lines / groups + 1 : 0};
}

/* What was stored to p is there: the compiler does not know that these instructions look at memory. */
static inline void is_there(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static inline size_t least(size_t x, size_t y)
{
    return x < y ? x : y;
}

static inline size_t in_parts(size_t n, size_t part)
{
    return (n + part - 1) / part;
}

static inline __mmask32 first(size_t n)
{
    return n >= 32 ? UINT32_MAX : (UINT32_C(1) << n) - 1;
}

/* Words of 16 lines, turned. */
WITH_AVX512 static inline void turn_tile(__m512i v[SIDE])
{
    __m512i w[SIDE];
#pragma GCC unroll 4
    for (int i = 0; i < SIDE; i += 4) {
        __m512i p = _mm512_unpacklo_epi32(v[i], v[i + 1]), q = _mm512_unpackhi_epi32(v[i], v[i + 1]),
                r = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]), s = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
        w[i] = _mm512_unpacklo_epi64(p, r);
        w[i + 1] = _mm512_unpackhi_epi64(p, r);
        w[i + 2] = _mm512_unpacklo_epi64(q, s);
        w[i + 3] = _mm512_unpackhi_epi64(q, s);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i p = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88), q = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd),
                r = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88),
                s = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
        v[i] = _mm512_shuffle_i32x4(p, r, 0x88);
        v[i + 4] = _mm512_shuffle_i32x4(q, s, 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(p, r, 0xdd);
        v[i + 12] = _mm512_shuffle_i32x4(q, s, 0xdd);
    }
}

/* A part of a matrix, or a copy of it: rows are so many elements apart. NULL: 0s. */
typedef struct part_of {
    float *at;
    size_t pitch;
} part_of;

#endif
