/* Matrix products r[m][n] = a[m][k] b[k][n], contiguous, one term after the
 * other in ascending k; products and sums are never fused. */
#ifndef TP_MULTIPLY_H
#define TP_MULTIPLY_H

#include <stddef.h>
#include <stdint.h>

/* The same code for several instruction sets; the result does not depend on
 * which one runs. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define TP_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
/* For fma(): it is an instruction of the first two. */
#define TP_VECTORISED_FMA __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define TP_VECTORISED
#define TP_VECTORISED_FMA
#endif

void tp_multiply_f32(size_t m, size_t n, size_t k, const float *a, const float *b, float *r);
void tp_multiply_f64(size_t m, size_t n, size_t k, const double *a, const double *b, double *r);
void tp_multiply_u64(size_t m, size_t n, size_t k, const uint64_t *a, const uint64_t *b, uint64_t *r);
/* Modulo TP_FIELD_P; elements below 2^31, `room` is n words. */
void tp_multiply_p(size_t m, size_t n, size_t k, const uint32_t *a, const uint32_t *b, uint32_t *r, uint64_t *room);
/* Modulo TP_FIELD_Q. */
void tp_multiply_q(size_t m, size_t n, size_t k, const uint32_t *a, const uint32_t *b, uint32_t *r, uint64_t *room);

#endif
