/* Moving elements between two arrays of any strides. */
#ifndef TP_STRIDED_H
#define TP_STRIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* to[sum of at[d] to_stride[d]] = from[sum of at[d] from_stride[d]] for all 0 <= at[d] < dims[d]: elements of `size`
 * bytes (1, 2, 4 or 8), strides in elements, those of `from` may be 0 or negative. The two do not overlap. At most
 * TP_TENSOR_MAX_RANK dimensions; of rank 0 one element. */
void tp_move(size_t size, uint32_t rank, const int64_t *dims, void *to, const ptrdiff_t *to_stride, const void *from,
             const ptrdiff_t *from_stride);

#endif
