/* Squares of elements of 4 bytes, turned: what was a row is a column. */
#ifndef TP_TURNED_H
#define TP_TURNED_H

#include <stddef.h>
#include <stdint.h>

/* Four elements that lie side by side, at any address. */
typedef uint32_t tp_four __attribute__((vector_size(16), aligned(4), may_alias));

/* turned[i]: element i of each of four rows. */
static inline void tp_turn_four(const void *a, const void *b, const void *c, const void *d, tp_four *turned)
{
    tp_four p = *(const tp_four *)a, q = *(const tp_four *)b, r = *(const tp_four *)c, s = *(const tp_four *)d;
    tp_four low = __builtin_shufflevector(p, q, 0, 4, 1, 5), high = __builtin_shufflevector(p, q, 2, 6, 3, 7),
            low2 = __builtin_shufflevector(r, s, 0, 4, 1, 5), high2 = __builtin_shufflevector(r, s, 2, 6, 3, 7);
    turned[0] = __builtin_shufflevector(low, low2, 0, 1, 4, 5);
    turned[1] = __builtin_shufflevector(low, low2, 2, 3, 6, 7);
    turned[2] = __builtin_shufflevector(high, high2, 0, 1, 4, 5);
    turned[3] = __builtin_shufflevector(high, high2, 2, 3, 6, 7);
}

enum { TP_SIXTEEN = 16 };

/* to[i][q]: element i of row q. */
static inline void tp_turn_sixteen(const float *const *rows, float (*to)[TP_SIXTEEN])
{
    for (size_t q = 0; q < TP_SIXTEEN; q += 4)
        for (size_t i = 0; i < TP_SIXTEEN; i += 4) {
            tp_four turned[4];
            tp_turn_four(rows[q] + i, rows[q + 1] + i, rows[q + 2] + i, rows[q + 3] + i, turned);
            for (size_t k = 0; k < 4; k++)
                *(tp_four *)(void *)&to[i + k][q] = turned[k];
        }
}

#endif
