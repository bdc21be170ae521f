/* Moving elements between two arrays of any strides: what broadcasts, transposes, slices and packing come down to. */
#include "base/strided.h"

#include <string.h>

#include "base/assert.h"
#include "base/tensor.h"

enum { SIDE = 16 }; /* of the squares in which two dimensions change places: a line of the cache of 4-byte elements */

typedef struct plan {
    uint32_t rank;
    size_t n[TP_TENSOR_MAX_RANK + 1];
    ptrdiff_t to[TP_TENSOR_MAX_RANK + 1], from[TP_TENSOR_MAX_RANK + 1]; /* strides in elements */
} plan;

/* Without dimensions of one element, and with those merged that lie in one line on both sides. False: nothing to move.
 */
static bool simplify(plan *p, uint32_t rank, const int64_t *dims, const ptrdiff_t *to, const ptrdiff_t *from)
{
    p->rank = 0;
    for (uint32_t d = 0; d < rank; d++) {
        if (dims[d] <= 0)
            return false;
        if (dims[d] == 1)
            continue;
        uint32_t last = p->rank - 1;
        if (p->rank && p->to[last] == to[d] * dims[d] && p->from[last] == from[d] * dims[d]) {
            p->n[last] *= (size_t)dims[d];
        } else {
            last = p->rank++;
            p->n[last] = (size_t)dims[d];
        }
        p->to[last] = to[d];
        p->from[last] = from[d];
    }
    if (!p->rank) {
        p->n[0] = 1;
        p->to[0] = p->from[0] = 1;
        p->rank = 1;
    }
    return true;
}

/* rows x n elements; a row of `to` is rto elements from the next. Where `from` runs along the rows, in squares. */
#define MOVE(T)                                                                                                        \
    static void move_##T(size_t rows, size_t n, T *restrict to, ptrdiff_t rto, ptrdiff_t to_step,                      \
                         const T *restrict from, ptrdiff_t rfrom, ptrdiff_t from_step)                                 \
    {                                                                                                                  \
        size_t side = from_step != 1 && from_step != 0 ? SIDE : n;                                                     \
        for (size_t r0 = 0; r0 < rows; r0 += SIDE)                                                                     \
            for (size_t i0 = 0; i0 < n; i0 += side)                                                                    \
                for (size_t r = r0; r < rows && r < r0 + SIDE; r++) {                                                  \
                    T *restrict p = to + (ptrdiff_t)r * rto + (ptrdiff_t)i0 * to_step;                                 \
                    const T *restrict q = from + (ptrdiff_t)r * rfrom + (ptrdiff_t)i0 * from_step;                     \
                    size_t end = n - i0 < side ? n - i0 : side;                                                        \
                    if (to_step == 1 && from_step == 1)                                                                \
                        memcpy(p, q, end * sizeof *p);                                                                 \
                    else if (to_step == 1 && from_step == 0)                                                           \
                        for (size_t i = 0; i < end; i++)                                                               \
                            p[i] = *q;                                                                                 \
                    else                                                                                               \
                        for (size_t i = 0; i < end; i++)                                                               \
                            p[(ptrdiff_t)i * to_step] = q[(ptrdiff_t)i * from_step];                                   \
                }                                                                                                      \
    }
MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)

void tp_move(size_t size, uint32_t rank, const int64_t *dims, void *to, const ptrdiff_t *to_stride, const void *from,
             const ptrdiff_t *from_stride)
{
    plan p;
    size_t at[TP_TENSOR_MAX_RANK + 1] = {0};
    tp_assert(rank <= TP_TENSOR_MAX_RANK && (size == 1 || size == 2 || size == 4 || size == 8));
    if (!simplify(&p, rank, dims, to_stride, from_stride))
        return;
    uint32_t last = p.rank - 1, outer = last ? last - 1 : 0;
    size_t rows = last ? p.n[outer] : 1;
    ptrdiff_t rto = last ? p.to[outer] : 0, rfrom = last ? p.from[outer] : 0, t = 0, f = 0;
    for (;;) {
        switch (size) {
        case 1:
            move_uint8_t(rows, p.n[last], (uint8_t *)to + t, rto, p.to[last], (const uint8_t *)from + f, rfrom,
                         p.from[last]);
            break;
        case 2:
            move_uint16_t(rows, p.n[last], (uint16_t *)to + t, rto, p.to[last], (const uint16_t *)from + f, rfrom,
                          p.from[last]);
            break;
        case 4:
            move_uint32_t(rows, p.n[last], (uint32_t *)to + t, rto, p.to[last], (const uint32_t *)from + f, rfrom,
                          p.from[last]);
            break;
        default:
            move_uint64_t(rows, p.n[last], (uint64_t *)to + t, rto, p.to[last], (const uint64_t *)from + f, rfrom,
                          p.from[last]);
        }
        uint32_t d = outer;
        while (d-- > 0) {
            t += p.to[d];
            f += p.from[d];
            if (++at[d] < p.n[d])
                break;
            t -= p.to[d] * (ptrdiff_t)p.n[d];
            f -= p.from[d] * (ptrdiff_t)p.n[d];
            at[d] = 0;
        }
        if (d == UINT32_MAX)
            return;
    }
}
