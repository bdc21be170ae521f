#include "base/lookup.h"

#include "base/processors.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { LANES = 32 };

/* The table lies in eight registers, of which one instruction looks up in two. How many were looked up. */
__attribute__((target("avx512f,avx512bw"))) static size_t
in_registers(uint16_t *restrict to, const uint8_t *restrict from, size_t n, const uint16_t *restrict table)
{
    __m512i part[TP_CODES / LANES];
    size_t i = 0;
#pragma GCC unroll 8
    for (size_t q = 0; q < TP_CODES / LANES; q++)
        part[q] = _mm512_loadu_si512(table + q * LANES);
    for (; i + LANES <= n; i += LANES) {
        const __m512i code = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
        const __mmask32 second = _mm512_test_epi16_mask(code, _mm512_set1_epi16(64)),
                        high = _mm512_test_epi16_mask(code, _mm512_set1_epi16(128));
        const __m512i low_half = _mm512_mask_blend_epi16(second, _mm512_permutex2var_epi16(part[0], code, part[1]),
                                                         _mm512_permutex2var_epi16(part[2], code, part[3])),
                      high_half = _mm512_mask_blend_epi16(second, _mm512_permutex2var_epi16(part[4], code, part[5]),
                                                          _mm512_permutex2var_epi16(part[6], code, part[7]));
        _mm512_storeu_si512(to + i, _mm512_mask_blend_epi16(high, low_half, high_half));
    }
    return i;
}

static size_t by_vectors(uint16_t *restrict to, const uint8_t *restrict from, size_t n, const uint16_t *restrict table)
{
    return tp_has_avx512() && __builtin_cpu_supports("avx512bw") ? in_registers(to, from, n, table) : 0;
}
#else
static size_t by_vectors(uint16_t *restrict to, const uint8_t *restrict from, size_t n, const uint16_t *restrict table)
{
    return (void)to, (void)from, (void)n, (void)table, 0;
}
#endif

void tp_look_up(uint16_t *restrict to, const uint8_t *restrict from, size_t n, const uint16_t table[TP_CODES])
{
    for (size_t i = by_vectors(to, from, n, table); i < n; i++)
        to[i] = table[from[i]];
}
