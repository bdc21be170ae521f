#include "kernels/peaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "domains/multiply.h"
#include "spec/elementary.h"

enum {
    CHAINS = 12, /* of operations that wait for themselves only: as many as hide the time that one takes */
    TURNS = 1 << 18,
    TRIES = 5,
    COPY = 32 << 20, /* bytes */
    COPIES = 3
};

/* Seconds of the fastest of some turns of s = s x + y over all chains. */
#define PEAK(set, ATTRIBUTE, WORD, ALL, FUSED)                                                                         \
    ATTRIBUTE static double seconds_##set(void)                                                                        \
    {                                                                                                                  \
        WORD s[CHAINS], x = ALL(0.5F), y = ALL(0.25F);                                                                 \
        double best = 1e9;                                                                                             \
        for (int i = 0; i < CHAINS; i++)                                                                               \
            s[i] = ALL((float)i);                                                                                      \
        for (int t = 0; t < TRIES; t++) {                                                                              \
            double start = tp_thread_seconds();                                                                        \
            for (int n = 0; n < TURNS; n++)                                                                            \
                _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) s[i] = FUSED(s[i], x, y);                    \
            double took = tp_thread_seconds() - start;                                                                 \
            best = took < best ? took : best;                                                                          \
        }                                                                                                              \
        volatile WORD keep = s[0];                                                                                     \
        for (int i = 1; i < CHAINS; i++)                                                                               \
            keep = s[i];                                                                                               \
        (void)keep;                                                                                                    \
        return best;                                                                                                   \
    }

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
PEAK(avx512, __attribute__((target("avx512f"))), __m512, _mm512_set1_ps, _mm512_fmadd_ps)
PEAK(avx2, __attribute__((target("avx2,fma"))), __m256, _mm256_set1_ps, _mm256_fmadd_ps)
#endif

typedef float four __attribute__((vector_size(16)));
#define ALL_FOUR(v) ((four){(v), (v), (v), (v)})
#define PLAIN(s, x, y) ((s) * (x) + (y))
PEAK(portable, , four, ALL_FOUR, PLAIN)

static const struct {
    const char *set;
    double (*seconds)(void);
    int lanes;
} SETS[] = {
#if defined(__x86_64__) && defined(__GNUC__)
    {"avx512", seconds_avx512, 16},
    {"avx2", seconds_avx2, 8},
#endif
    {"portable", seconds_portable, 4},
};

static double copy_rate(void)
{
    char *from = malloc(COPY), *to = malloc(COPY);
    double best = 1e9;
    if (from && to) {
        memset(from, 1, COPY);
        memset(to, 2, COPY);
        for (int t = 0; t < COPIES; t++) {
            double start = tp_thread_seconds();
            memcpy(to, from, COPY);
            double took = tp_thread_seconds() - start;
            best = took < best ? took : best;
            from[t] = to[COPY - 1 - t]; /* somebody looks at it */
        }
    }
    double rate = from && to ? 2.0 * COPY / best : 0;
    free(from);
    free(to);
    return rate;
}

tp_peaks tp_peaks_measure(void)
{
    const tp_multiplier *m = tp_multiplier_here();
    tp_peaks p = {.instruction_set = m->name,
                  .elementary = "libm",
                  .bfloats_by = m->bfloats_by,
                  .integers_by = m->bytes && m->bytes_run_here() ? m->bytes_by : "pairs of 16 bits",
                  .bytes = copy_rate()};
    size_t n;
    const tp_elementary *all = tp_elementaries(&n);
    for (size_t i = n; i-- > 0;)
        if (all[i].runs_here())
            p.elementary = all[i].name;
    for (size_t i = 0; i < sizeof SETS / sizeof *SETS; i++)
        if (strcmp(SETS[i].set, p.instruction_set) == 0)
            p.flops = 2.0 * CHAINS * TURNS * SETS[i].lanes / SETS[i].seconds();
    return p;
}
