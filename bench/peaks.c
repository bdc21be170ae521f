/* What one core can do at best, in the instructions of the engine's products, as one line of JSON: the fastest of some
 * turns of operations that wait for nothing but themselves. Numbers are operations per second, a product and its sum
 * counted as two, and bytes per second. `integers` are of 8 bits. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "domains/multiply.h"
#include "kernels/peaks.h"

enum {
    CHAINS = 12, /* as many as hide the time that one takes */
    TURNS = 1 << 18,
    TRIES = 5
};

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Operations per second of OPERATION(s, x, y), EACH of them in one, over all chains. */
#define PEAK(name, TARGET, WORD, ZERO, EACH, OPERATION)                                                                \
    __attribute__((target(TARGET))) static double name(void)                                                           \
    {                                                                                                                  \
        WORD s[CHAINS];                                                                                                \
        const __m512i x = _mm512_set1_epi32(0x01010101), y = _mm512_set1_epi32(0x02020202);                            \
        (void)x;                                                                                                       \
        double best = 1e9;                                                                                             \
        for (int i = 0; i < CHAINS; i++)                                                                               \
            s[i] = ZERO();                                                                                             \
        for (int t = 0; t < TRIES; t++) {                                                                              \
            double start = tp_thread_seconds();                                                                        \
            for (int n = 0; n < TURNS; n++)                                                                            \
                _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) s[i] = OPERATION(s[i], x, y);                \
            double took = tp_thread_seconds() - start;                                                                 \
            best = took < best ? took : best;                                                                          \
        }                                                                                                              \
        volatile WORD keep;                                                                                            \
        for (int i = 0; i < CHAINS; i++)                                                                               \
            keep = s[i];                                                                                               \
        (void)keep;                                                                                                    \
        return (double)(EACH)*CHAINS * TURNS / best;                                                                   \
    }
#define PAIRS_AND_SUM(s, x, y) _mm512_add_epi32(s, _mm512_madd_epi16(s, y))
PEAK(quads, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512, 128, _mm512_dpbusd_epi32)
PEAK(pairs, "avx512f,avx512bw", __m512i, _mm512_setzero_si512, 64, PAIRS_AND_SUM)
#define WORDS(s, x, y) _mm512_dpbf16_ps(s, (__m512bh)(x), (__m512bh)(y))
PEAK(words_of_bfloats, "avx512f,avx512bf16", __m512, _mm512_setzero_ps, 64, WORDS)

/* Four tiles of sums, as the products have them; EACH of a tile's 16 x 16 sums has so many terms. */
#define TILES(name, TARGET, EACH, OPERATION)                                                                           \
    __attribute__((target(TARGET))) static double name(void)                                                           \
    {                                                                                                                  \
        double best = 1e9;                                                                                             \
        begin_tiles();                                                                                                 \
        for (int t = 0; t < TRIES; t++) {                                                                              \
            double start = tp_thread_seconds();                                                                        \
            for (int n = 0; n < TURNS / 8; n++) {                                                                      \
                OPERATION(0, 4, 6);                                                                                    \
                OPERATION(1, 4, 7);                                                                                    \
                OPERATION(2, 5, 6);                                                                                    \
                OPERATION(3, 5, 7);                                                                                    \
            }                                                                                                          \
            double took = tp_thread_seconds() - start;                                                                 \
            best = took < best ? took : best;                                                                          \
        }                                                                                                              \
        _tile_release();                                                                                               \
        return 4.0 * 2 * 16 * 16 * (EACH) * (TURNS / 8) / best;                                                        \
    }

__attribute__((target("amx-tile"))) static void begin_tiles(void)
{
    _Alignas(64) unsigned char shapes[64] = {1};
    for (int t = 0; t < 8; t++) {
        shapes[16 + 2 * t] = 64;
        shapes[48 + t] = 16;
    }
    __asm__ volatile("" : : "r"(shapes) : "memory");
    _tile_loadconfig(shapes);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
}
TILES(tiles_of_integers, "amx-tile,amx-int8", 64, _tile_dpbusd)
TILES(tiles_of_bfloats, "amx-tile,amx-bf16", 32, _tile_dpbf16ps)

static double integers(const tp_multiplier *m)
{
    if (m->bytes && m->bytes_run_here() && strcmp(m->bytes_by, "AMX") == 0)
        return tiles_of_integers();
    return m->bytes && m->bytes_run_here() ? quads() : __builtin_cpu_supports("avx512bw") ? pairs() : 0;
}

static double bfloats(const tp_multiplier *m, const tp_peaks *p)
{
    return !m->bfloats ? p->flops : strcmp(m->bfloats_by, "AMX") == 0 ? tiles_of_bfloats() : words_of_bfloats();
}
#else
static double integers(const tp_multiplier *m)
{
    return (void)m, 0;
}

static double bfloats(const tp_multiplier *m, const tp_peaks *p)
{
    return (void)m, p->flops;
}
#endif

int main(void)
{
    tp_peaks p = tp_peaks_measure();
    const tp_multiplier *m = tp_multiplier_here();
    printf("{\"instruction_set\": \"%s\", \"elementary_functions\": \"%s\", \"flops_per_second\": %.6g, "
           "\"bytes_per_second\": %.6g, \"integers_by\": \"%s\", \"integers_per_second\": %.6g, "
           "\"bfloats_by\": \"%s\", \"bfloats_per_second\": %.6g}\n",
           p.instruction_set, p.elementary, p.flops, p.bytes, p.integers_by, integers(m), p.bfloats_by, bfloats(m, &p));
    return 0;
}
