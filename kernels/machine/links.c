/* Some operations over float32 in one pass: what one of them hands to the next stays in registers. Each is rounded for
 * itself. */
#include "base/vectorised.h"
#include <stdlib.h>

#include "base/processors.h"
#include "kernels/machine/internal.h"

enum { VECTORS = 8 }; /* in flight for each step, so that none waits for itself */
typedef float lanes __attribute__((vector_size(64), aligned(sizeof(float)), may_alias));

/* N times as many numbers as V has. */
#define STRETCH(V, N)                                                                                                  \
    for (; i + (N) * sizeof(V) / sizeof(float) <= length; i += (N) * sizeof(V) / sizeof(float)) {                      \
        V sum[N] = {0}, term[N] = {0};                                                                                 \
        for (uint32_t k = 0; k < n; k++) {                                                                             \
            const float *p = (const float *)(const void *)at[k];                                                       \
            const V *ahead = (const V *)(const void *)(p + i) + l[k].ahead / (ptrdiff_t)sizeof(V);                     \
            if (l[k].ahead)                                                                                            \
                EACH(N, __builtin_prefetch(ahead + j))                                                                 \
            switch (2 * (uint32_t)l[k].does + l[k].one) {                                                              \
                FORM(TP_LINK_SUM, N, sum[j] = x)                                                                       \
                FORM(TP_LINK_TERM, N, term[j] = x)                                                                     \
                OPERATION(ADD, +, N)                                                                                   \
                OPERATION(SUB, -, N)                                                                                   \
                OPERATION(MUL, *, N)                                                                                   \
            default: abort(); /* no such link */                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        EACH(N, PUT(V, (V *)(void *)(to + i) + j, sum[j]))                                                             \
    }
#define EACH(N, WHAT)                                                                                                  \
    _Pragma("GCC unroll 8") for (int j = 0; j < (N); j++)                                                              \
    {                                                                                                                  \
        WHAT;                                                                                                          \
    }
#define FORM(does, N, WHAT)                                                                                            \
    case 2 * does: EACH(N, const NUMBERS x = ((const NUMBERS *)(const void *)(p + i))[j]; WHAT) break;                 \
    case 2 * does + 1: {                                                                                               \
        const NUMBERS x = *(const NUMBERS *)(const void *)p;                                                           \
        EACH(N, WHAT)                                                                                                  \
        break;                                                                                                         \
    }
#define OPERATION(id, op, N)                                                                                           \
    FORM(TP_LINK_##id##_RIGHT, N, sum[j] = sum[j] op x)                                                                \
    FORM(TP_LINK_##id##_LEFT, N, sum[j] = x op sum[j])                                                                 \
    FORM(TP_LINK_##id##_TERM, N, term[j] = term[j] op x)                                                               \
    case 2 * TP_LINK_##id##_BOTH: EACH(N, sum[j] = sum[j] op term[j]) break;

typedef void (*row_of_links)(const tp_link *l, uint32_t n, const char *const *at, size_t length, float *to);

TP_VECTORISED static void run_row(const tp_link *l, uint32_t n, const char *const *at, size_t length, float *to)
{
    size_t i = 0;
#define PUT(V, at, v) *(at) = v
#define NUMBERS lanes
    STRETCH(lanes, VECTORS)
#undef NUMBERS
#define NUMBERS float
    STRETCH(float, 1)
#undef NUMBERS
#undef PUT
}

enum { LINE = 64, WHOLE = VECTORS * sizeof(lanes) };
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* Past the caches, whole lines: see base/stream.h. */
__attribute__((target("avx512f"))) static void stream_row(const tp_link *l, uint32_t n, const char *const *at,
                                                          size_t length, float *to)
{
    size_t i = 0;
#define PUT(V, at, v) _mm512_stream_ps((float *)(at), (__m512)(v))
#define NUMBERS lanes
    STRETCH(lanes, VECTORS)
#undef NUMBERS
#undef PUT
}

bool tp_links_stream(const void *to, size_t row, ptrdiff_t pitch)
{
    return (uintptr_t)to % LINE == 0 && row * sizeof(float) % WHOLE == 0 && pitch % LINE == 0 && tp_has_avx512();
}
#else
static const row_of_links stream_row = run_row;

bool tp_links_stream(const void *to, size_t row, ptrdiff_t pitch)
{
    (void)to, (void)row, (void)pitch;
    return false;
}
#endif

void tp_links_run(const tp_link *l, uint32_t n, size_t rows, size_t row, void *to, ptrdiff_t pitch, bool streams)
{
    const row_of_links run = streams ? stream_row : run_row;
    lanes same[TP_MOST_LINKS]; /* one number in all of its lanes */
    const char *at[TP_MOST_LINKS];
    ptrdiff_t step[TP_MOST_LINKS];
    bool varies = false;
    for (uint32_t k = 0; k < n; k++) {
        at[k] = l[k].one || !l[k].at ? (const char *)&same[k] : l[k].at;
        step[k] = l[k].one ? 0 : l[k].pitch;
        varies |= l[k].one && l[k].pitch;
    }
    for (size_t r = 0; r < rows; r++, to = (char *)to + pitch) {
        for (uint32_t k = 0; (r == 0 || varies) && k < n; k++)
            for (size_t j = 0; l[k].one && j < sizeof(lanes) / sizeof(float); j++)
                same[k][j] = *(const float *)(const void *)(l[k].at + (ptrdiff_t)r * l[k].pitch);
        run(l, n, at, row, to);
        for (uint32_t k = 0; k < n; k++)
            at[k] += step[k];
    }
}

bool tp_link_of(tp_prim p, tp_link_does *right)
{
    static const struct {
        bool is;
        tp_link_does right;
    } OF[TP_PRIMS] = {[TP_P_ADD] = {true, TP_LINK_ADD_RIGHT},
                      [TP_P_SUB] = {true, TP_LINK_SUB_RIGHT},
                      [TP_P_MUL] = {true, TP_LINK_MUL_RIGHT}};
    *right = OF[p].right;
    return OF[p].is;
}
