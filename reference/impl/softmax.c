#include <math.h>

#include "reference/reference.h"

/* exp(x - max) / sum(exp(x - max)) over the last dimension */
static const char *run(tp_arena *arena, const tp_kernel *k, const tp_json *args, const tp_tensor *arrays,
                       tp_tensor *out)
{
    const tp_tensor *x = tp_builtin_input(k, args, "x", 0, arrays);
    if (!x || x->rank < 1)
        return "it needs an input x of rank 1 or more";
    *out = tp_tensor_new(arena, TP_F64, x->rank, x->dims);
    size_t n = (size_t)x->dims[x->rank - 1];
    for (size_t row = 0; row + n <= x->n && n; row += n) {
        double max = -HUGE_VAL, sum = 0, *r = (double *)out->data + row;
        for (size_t j = 0; j < n; j++)
            max = fmax(max, tp_at(x, row + j));
        for (size_t j = 0; j < n; j++)
            sum += r[j] = exp(tp_at(x, row + j) - max);
        for (size_t j = 0; j < n; j++)
            r[j] /= sum;
    }
    return NULL;
}

const tp_builtin tp_builtin_softmax = {"softmax", "x", "softmax over the last dimension", run};
