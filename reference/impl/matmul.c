#include "reference/reference.h"

/* out[..., i, j] = sum over t of a[..., i, t] * b[..., t, j] */
static const char *run(tp_arena *arena, const tp_kernel *k, const tp_json *args, const tp_tensor *arrays,
                       tp_tensor *out)
{
    const tp_tensor *a = tp_builtin_input(k, args, "a", 0, arrays), *b = tp_builtin_input(k, args, "b", 1, arrays);
    if (!a || !b)
        return "it needs two inputs, a and b";
    if (a->rank < 2 || a->rank != b->rank)
        return "both inputs have the same rank, 2 or more";
    uint32_t r = a->rank;
    int64_t dims[TP_MAX_RANK];
    size_t batch = 1, m = (size_t)a->dims[r - 2], n = (size_t)b->dims[r - 1], depth = (size_t)a->dims[r - 1];
    for (uint32_t d = 0; d < r; d++)
        dims[d] = d == r - 1 ? b->dims[d] : a->dims[d];
    for (uint32_t d = 0; d + 2 < r; d++) {
        if (a->dims[d] != b->dims[d])
            return "the leading dimensions differ";
        batch *= (size_t)a->dims[d];
    }
    if (a->dims[r - 1] != b->dims[r - 2])
        return "the inner dimensions differ";
    *out = tp_tensor_new(arena, TP_F64, r, dims);
    for (size_t q = 0; q < batch; q++)
        for (size_t i = 0; i < m; i++)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t t = 0; t < depth; t++)
                    sum += tp_at(a, (q * m + i) * depth + t) * tp_at(b, (q * depth + t) * n + j);
                ((double *)out->data)[(q * m + i) * n + j] = sum;
            }
    return NULL;
}

const tp_builtin tp_builtin_matmul = {"matmul", "a, b", "matrix product over the last two dimensions", run};
