/* Products of 8-bit integers by an instruction that multiplies unsigned ones by signed ones, four at a time. */
#ifndef TP_BYTES_H
#define TP_BYTES_H

#include "domains/multiply.h"

/* Four 8-bit integers, the first of them low: terms 4 t to 4 t + 3; of a from 0 to 255, of b from -128 to 127. Behind
 * the last ones are 0s. */
typedef uint32_t tp_quad;

/* Operands are packed to whole groups of so many terms, and to whole panels of so many rows of a, or columns of b. */
enum { TP_BYTES = 64, TP_BYTE_LINES = 32 };

/* k quads; sums modulo 2^32 */
typedef void tp_multiply_quads(size_t m, size_t n, size_t k, const tp_quad *a, tp_steps sa, const tp_quad *b,
                               tp_steps sb, tp_quad *r, const tp_quad *base, tp_quad *onto, tp_ahead *ahead);

/* As `bytes` of a tp_multiplier, by `quads`. */
void tp_multiply_bytes(tp_multiply_quads *quads, size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa,
                       const uint8_t *b, tp_steps sb, tp_signs is_signed, uint32_t *r, const uint32_t *base,
                       uint32_t *onto, tp_ahead *ahead, void *room, tp_panels *panels);

#endif
