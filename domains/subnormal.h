/* Products of float32 with elements below 2^-126: processors of Intel leave a multiplication of these to microcode,
 * some hundred cycles for each vector. What decays exponentially is full of them. */
#ifndef TP_SUBNORMAL_H
#define TP_SUBNORMAL_H

#include "domains/multiply.h"

#if defined(__x86_64__) && defined(__GNUC__)
/* The product as `plain` has it, to the bit; only where AVX-512F is. The processor notes whether it met subnormal
 * numbers: where it did, the next products are looked through before. */
void tp_multiply_watched(tp_multiply_floats *plain, size_t m, size_t n, size_t k, const float *a, tp_steps sa,
                         const float *b, tp_steps sb, float *r, const float *base, float *onto, tp_ahead *ahead,
                         tp_panels *panels);
/* The same where every element is finite, whatever the processor says of itself. */
void tp_multiply_subnormal(size_t m, size_t n, size_t k, const float *a, tp_steps sa, const float *b, tp_steps sb,
                           float *r, const float *base, float *onto, tp_ahead *ahead, tp_panels *panels);
#endif

#endif
