/* Matrix products r[m][n] = a[m][k] b[k][n], contiguous: of each element one term after the other in ascending k, from
 * 0; products and sums are never fused. The result does not depend on the instruction set. r does not overlap. */
#ifndef TP_MULTIPLY_H
#define TP_MULTIPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vectorised.h"

/* Two 16-bit integers, the first of them low: terms 2 t and 2 t + 1 of an element of a or b. An odd last one has a 0
 * beside it. */
typedef uint32_t tp_pair;

typedef struct tp_multiplier {
    const char *name; /* of the instruction set */
    bool (*runs_here)(void);
    void (*f32)(size_t m, size_t n, size_t k, const float *a, const float *b, float *r);
    void (*f64)(size_t m, size_t n, size_t k, const double *a, const double *b, double *r);
    void (*u32)(size_t m, size_t n, size_t k, const uint32_t *a, const uint32_t *b, uint32_t *r); /* modulo 2^32 */
    void (*pairs)(size_t m, size_t n, size_t k, const tp_pair *a, const tp_pair *b, tp_pair *r);  /* k pairs; r: sums */
} tp_multiplier;

/* All of this build, the fastest first; the last runs everywhere. */
const tp_multiplier *tp_multipliers(size_t *n);
/* The fastest that runs on this processor. */
const tp_multiplier *tp_multiplier_here(void);

void tp_multiply_f64(size_t m, size_t n, size_t k, const double *a, const double *b, double *r);
/* Modulo TP_FIELD_P; elements below 2^31, `room` is n words. */
void tp_multiply_p(size_t m, size_t n, size_t k, const uint32_t *a, const uint32_t *b, uint32_t *r, uint64_t *room);
/* Modulo TP_FIELD_Q. */
void tp_multiply_q(size_t m, size_t n, size_t k, const uint32_t *a, const uint32_t *b, uint32_t *r, uint64_t *room);

#endif
