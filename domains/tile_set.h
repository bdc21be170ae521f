/* The matrix products of one instruction set: SET, ATTRIBUTE, BYTES and ROWS as tiles.h wants them, and
 *   FUSED(sum, x, y) of float32: sum + x y, rounded once
 *   PAIRS(x, y)      of 16-bit integers that lie two to a word: sums of their two products
 *   PRODUCT(x, y)    of words whose upper halves are 0
 *   ROWS_OF_TWO      ROWS, where each element has two sums
 */
#define ELEMENT float
#define ADD(sum, x, y) FUSED(sum, x, y)
#include "domains/tiles.h"
#define ELEMENT double
#define ADD(sum, x, y) ((sum) + (x) * (y))
#include "domains/tiles.h"
#define ELEMENT uint32_t
#define ADD(sum, x, y) ((sum) + (x) * (y))
#include "domains/tiles.h"
#define ELEMENT tp_pair
#define ADD(sum, x, y) ((sum) + PAIRS(x, y))
#include "domains/tiles.h"
#define ELEMENT uint64_t
#define ADD(sum, x, y) ((sum) + PRODUCT(x, y))
#include "domains/tiles.h"
#undef ROWS
#define ROWS ROWS_OF_TWO
#define ELEMENT tp_widened
#define ADD(sum, x, y) FUSED(sum, x, y)
#define GROUP TP_GROUP
#include "domains/tiles.h"
#undef GROUP
#undef SET
#undef ATTRIBUTE
#undef BYTES
#undef ROWS
#undef ROWS_OF_TWO
#undef FUSED
#undef PAIRS
#undef PRODUCT
