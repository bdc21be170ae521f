/* Host arrays: contiguous, C order. Read from and written to .npy files and
 * safetensors. */
#ifndef TP_TENSOR_H
#define TP_TENSOR_H

#include "base/dtype.h"
#include "base/file.h"

enum { TP_TENSOR_MAX_RANK = 8 };

typedef struct tp_tensor {
    tp_dtype dtype;
    uint32_t rank;
    int64_t dims[TP_TENSOR_MAX_RANK];
    size_t n;   /* elements */
    void *data; /* n * tp_dtype_size(dtype) bytes; owned by the arena or mapped */
} tp_tensor;

/* Zeroed tensor in the arena. Leaves with TP_E_MEMORY when it does not fit. */
tp_tensor tp_tensor_new(tp_arena *a, tp_dtype dtype, uint32_t rank, const int64_t *dims);
/* Is n what the dimensions say? For tp_assert(). */
bool tp_tensor_holds(const tp_tensor *t);
/* "float32[300, 700]" */
tp_str tp_tensor_text(tp_arena *a, const tp_tensor *t);

/* Read PATH.npy or PATH.safetensors#NAME. `wanted` decides the meaning of the
 * void types of one and two bytes with which NumPy stores bfloat16, float8, int4
 * and uint4 (one byte an element, the value in its low half); otherwise the file's
 * own dtype is returned, whatever it is. Native little-endian C-order data is
 * mapped, all else is copied. On failure *why is one sentence. */
tp_status tp_tensor_read(tp_arena *a, tp_str path, tp_dtype wanted, tp_tensor *out, tp_str *why);

/* Memory for t, whose dtype and dimensions are known, in a draft of the file that tp_tensor_write() would write;
 * published, that is the file. Without a `d->at` t is as it was. */
tp_status tp_tensor_draft(tp_arena *a, tp_str path, tp_str name, tp_tensor *t, tp_draft *d, tp_str *why);

/* Write a .npy (version 1.0; bfloat16 as '<V2', float8 and 4 bits as '|V1') or, for a path that ends in
 * .safetensors, a file with the single tensor `name`. Atomic. */
tp_status tp_tensor_write(tp_arena *a, tp_str path, tp_str name, const tp_tensor *t, tp_str *why);

#endif
