#define _GNU_SOURCE
#include "base/stream.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/processors.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { LINE = 64 };

/* SSE2, which every such processor has: four stores fill a line, which then leaves as one. */
static void lines_sse2(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(void *)(to + i), _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
}

__attribute__((target("avx512f"))) static void lines_avx512(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i += LINE)
        _mm512_stream_si512((__m512i *)(void *)(to + i), _mm512_loadu_si512(from + i));
}

void tp_stream(void *to, const void *from, size_t n)
{
    char *p = to;
    const char *q = from;
    size_t head = -(uintptr_t)p % LINE, lines = n < head ? 0 : (n - head) / LINE * LINE;
    if (!lines) {
        memcpy(p, q, n);
        return;
    }
    memcpy(p, q, head);
    (tp_has_avx512() ? lines_avx512 : lines_sse2)(p + head, q + head, lines);
    memcpy(p + head + lines, q + head + lines, n - head - lines);
}

void tp_stream_end(void)
{
    _mm_sfence();
}
#else
void tp_stream(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

void tp_stream_end(void)
{
}
#endif

size_t tp_last_cache(void)
{
    enum { GUESS = 1 << 24, MOST = 1 << 25 }; /* systems tell the sum of the caches that groups of cores have */
    long n = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    n = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return n <= 0 ? GUESS : n < MOST ? (size_t)n : MOST;
}
