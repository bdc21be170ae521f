/* What one core can do at best, in the instructions of the engine's products and in others, as one line of JSON: the
 * fastest of some turns of operations that wait for nothing but themselves. Numbers are operations per second, a
 * product and its sum counted as two, and bytes per second. `integers` is of 8-bit ones, as the engine multiplies them
 * here. */
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
#define BFLOATS(s, x, y) _mm512_dpbf16_ps(s, (__m512bh)(x), (__m512bh)(y))
PEAK(quads, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512, 128, _mm512_dpbusd_epi32)
PEAK(pairs, "avx512f,avx512bw", __m512i, _mm512_setzero_si512, 64, PAIRS_AND_SUM)
PEAK(bfloats, "avx512f,avx512bf16", __m512, _mm512_setzero_ps, 64, BFLOATS)

/* Four tiles of sums, as the products have them. */
__attribute__((target("amx-tile,amx-int8"))) static double tiles(void)
{
    enum { EACH = 4, OPERATIONS = 2 * 16 * 16 * 64 };
    _Alignas(64) unsigned char shapes[64] = {1};
    double best = 1e9;
    for (int t = 0; t < 8; t++) {
        shapes[16 + 2 * t] = 64;
        shapes[48 + t] = 16;
    }
    __asm__ volatile("" : : "r"(shapes) : "memory");
    _tile_loadconfig(shapes);
    for (int t = 0; t < TRIES; t++) {
        double start = tp_thread_seconds();
        for (int n = 0; n < TURNS / 8; n++) {
            _tile_dpbusd(0, 4, 6);
            _tile_dpbusd(1, 4, 7);
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        }
        double took = tp_thread_seconds() - start;
        best = took < best ? took : best;
    }
    _tile_release();
    return (double)OPERATIONS * EACH * (TURNS / 8) / best;
}

static double integers(const tp_multiplier *m)
{
    if (m->quads && m->quads_run_here() && strcmp(m->quads_by, "AMX") == 0)
        return tiles();
    return m->quads && m->quads_run_here() ? quads() : __builtin_cpu_supports("avx512bw") ? pairs() : 0;
}

static double of_bfloats(void)
{
    return __builtin_cpu_supports("avx512bf16") ? bfloats() : 0;
}
#else
static double integers(const tp_multiplier *m)
{
    return (void)m, 0;
}

static double of_bfloats(void)
{
    return 0;
}
#endif

int main(void)
{
    tp_peaks p = tp_peaks_measure();
    const tp_multiplier *m = tp_multiplier_here();
    printf("{\"instruction_set\": \"%s\", \"elementary_functions\": \"%s\", \"flops_per_second\": %.6g, "
           "\"bytes_per_second\": %.6g, \"integers_by\": \"%s\", \"integers_per_second\": %.6g, "
           "\"bfloats_per_second\": %.6g}\n",
           p.instruction_set, p.elementary, p.flops, p.bytes,
           m->quads && m->quads_run_here() ? m->quads_by : "pairs of 16 bits", integers(m), of_bfloats());
    return 0;
}
