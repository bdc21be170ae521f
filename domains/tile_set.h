/* The matrix products of one instruction set: SET, ATTRIBUTE, BYTES and ROWS as tiles.h wants them, and
 *   PAIRS(x, y)      of 16-bit integers that lie two to a word: sums of their two products
 */
#define ELEMENT float
#define PRODUCT(x, y) ((x) * (y))
#include "domains/tiles.h"
#define ELEMENT double
#define PRODUCT(x, y) ((x) * (y))
#include "domains/tiles.h"
#define ELEMENT uint32_t
#define PRODUCT(x, y) ((x) * (y))
#include "domains/tiles.h"
#define ELEMENT tp_pair
#define PRODUCT(x, y) PAIRS(x, y)
#include "domains/tiles.h"
#undef SET
#undef ATTRIBUTE
#undef BYTES
#undef ROWS
#undef PAIRS
