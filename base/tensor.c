#include "base/tensor.h"

tp_tensor tp_tensor_new(tp_arena *a, tp_dtype dtype, uint32_t rank, const int64_t *dims)
{
    tp_tensor t = {.dtype = dtype, .rank = rank, .n = 1};
    for (uint32_t d = 0; d < rank; d++) {
        t.dims[d] = dims[d];
        if (dims[d] < 0 || __builtin_mul_overflow(t.n, (size_t)dims[d], &t.n))
            tp_leave(a, TP_E_MEMORY);
    }
    t.data = tp_alloc_array(a, t.n, tp_dtype_size(dtype));
    return t;
}

bool tp_tensor_holds(const tp_tensor *t)
{
    size_t n = 1;
    for (uint32_t d = 0; d < t->rank && t->rank <= TP_TENSOR_MAX_RANK; d++)
        if (t->dims[d] < 0 || __builtin_mul_overflow(n, (size_t)t->dims[d], &n))
            return false;
    return t->rank <= TP_TENSOR_MAX_RANK && t->n == n && (t->data || !n);
}

tp_str tp_tensor_text(tp_arena *a, const tp_tensor *t)
{
    tp_buf b = {.arena = a};
    tp_buf_printf(&b, "%s[", tp_dtype_info(t->dtype)->name);
    for (uint32_t d = 0; d < t->rank; d++)
        tp_buf_printf(&b, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
    tp_buf_c(&b, "]");
    return tp_buf_view(&b);
}
