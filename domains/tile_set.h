/* The matrix products of one instruction set: SET, ATTRIBUTE, BYTES and ROWS as tiles.h wants them, and
 *   FUSED(sum, x, y) of float32: sum + x y, rounded once
 *   PAIRS(x, y)      of 16-bit integers that lie two to a word: sums of their two products
 *   PRODUCT(x, y)    of words whose upper halves are 0
 *   ROWS_OF_TWO      ROWS, where each element has two sums
 */
#define ELEMENT float
#define ADD(sum, x, y) FUSED(sum, x, y)
#define BY_PANELS
#include "domains/tiles.h"
#undef BY_PANELS
#define ELEMENT double
#define ADD(sum, x, y) ((sum) + (x) * (y))
#include "domains/tiles.h"
#define ELEMENT uint32_t
#define ADD(sum, x, y) ((sum) + (x) * (y))
#include "domains/tiles.h"
#define ELEMENT tp_pair
#define ADD(sum, x, y) ((sum) + PAIRS(x, y))
#include "domains/tiles.h"
/* 2^32 is -4 (P - 2^30) modulo P: of a sum the lower half stays, and the upper one comes off so many times; a multiple
 * of the prime keeps that above 0. Fourteen products below P^2 more still fit, and 62 of Q, which is half of it. */
#define FOLDED(sum, prime, excess)                                                                                     \
    (((sum)&UINT32_MAX) + ((uint64_t)(prime) << 16) - PRODUCT((uint64_t)(excess), (sum) >> 32))
#define ELEMENT tp_modulo_p
#define ADD(sum, x, y) ((sum) + PRODUCT(x, y))
#define TERMS (size_t)14
#define FOLD(sum) FOLDED(sum, TP_FIELD_P, 4 * (TP_FIELD_P - (1 << 30)))
#include "domains/tiles.h"
#define ELEMENT tp_modulo_q
#define ADD(sum, x, y) ((sum) + PRODUCT(x, y))
#define TERMS (size_t)62
#define FOLD(sum) FOLDED(sum, TP_FIELD_Q, 8 * (TP_FIELD_Q - (1 << 29)))
#include "domains/tiles.h"
#undef FOLDED
#undef ROWS
#define ROWS ROWS_OF_TWO
#define ELEMENT tp_widened
#define ADD(sum, x, y) FUSED(sum, x, y)
#define GROUP TP_GROUP
#define BY_PANELS
#include "domains/tiles.h"
#undef BY_PANELS
#undef GROUP
#undef SET
#undef ATTRIBUTE
#undef BYTES
#undef ROWS
#undef ROWS_OF_TWO
#undef FUSED
#undef PAIRS
#undef PRODUCT
