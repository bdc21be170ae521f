#include "domains/multiply.h"

#include "domains/domain.h"

#define MULTIPLY(name, T)                                                                                              \
    TP_VECTORISED void name(size_t m, size_t n, size_t k, const T *restrict a, const T *restrict b, T *restrict r)     \
    {                                                                                                                  \
        for (size_t i = 0; i < m; i++) {                                                                               \
            T *restrict row = r + i * n;                                                                               \
            for (size_t j = 0; j < n; j++)                                                                             \
                row[j] = 0;                                                                                            \
            for (size_t t = 0; t < k; t++) {                                                                           \
                T x = a[i * k + t];                                                                                    \
                const T *restrict p = b + t * n;                                                                       \
                for (size_t j = 0; j < n; j++)                                                                         \
                    row[j] += x * p[j];                                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }
MULTIPLY(tp_multiply_f32, float)
MULTIPLY(tp_multiply_f64, double)
MULTIPLY(tp_multiply_u64, uint64_t)

/* Fourteen products below 2^60 fit 64 bits. A sum is folded at bit 30 (29 for
 * q), where the prime is a power of two plus a small number: x = hi 2^30 + lo
 * is lo - hi * 799, kept positive by a multiple of the prime. */
enum { TERMS = 14 };

#define MULTIPLY_MODULO(name, P, BITS)                                                                                 \
    TP_VECTORISED void name(size_t m, size_t n, size_t k, const uint32_t *restrict a, const uint32_t *restrict b,      \
                            uint32_t *restrict r, uint64_t *restrict row)                                              \
    {                                                                                                                  \
        const uint64_t low = ((uint64_t)1 << (BITS)) - 1, excess = (uint64_t)(P)-low - 1, lift = (uint64_t)(P) << 16;  \
        for (size_t i = 0; i < m; i++) {                                                                               \
            for (size_t j = 0; j < n; j++)                                                                             \
                row[j] = 0;                                                                                            \
            for (size_t t = 0; t < k; t += TERMS) {                                                                    \
                size_t end = t + TERMS < k ? t + TERMS : k;                                                            \
                for (size_t s = t; s < end; s++) {                                                                     \
                    uint64_t x = a[i * k + s];                                                                         \
                    const uint32_t *restrict p = b + s * n;                                                            \
                    for (size_t j = 0; j < n; j++)                                                                     \
                        row[j] += x * p[j];                                                                            \
                }                                                                                                      \
                for (size_t j = 0; j < n; j++)                                                                         \
                    row[j] = (row[j] & low) + lift - (row[j] >> (BITS)) * excess;                                      \
            }                                                                                                          \
            for (size_t j = 0; j < n; j++)                                                                             \
                r[i * n + j] = (uint32_t)(row[j] % (P));                                                               \
        }                                                                                                              \
    }
MULTIPLY_MODULO(tp_multiply_p, TP_FIELD_P, 30)
MULTIPLY_MODULO(tp_multiply_q, TP_FIELD_Q, 29)
