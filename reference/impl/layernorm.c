#include <math.h>

#include "reference/reference.h"

/* (x - mean) / sqrt(var + eps) * weight + bias over the last dimension (Ba et
 * al., "Layer Normalization", 2016); eps 1e-5 */
static const char *run(tp_arena *arena, const tp_kernel *k, const tp_json *args, const tp_tensor *arrays,
                       tp_tensor *out)
{
    const tp_tensor *x = tp_builtin_input(k, args, "x", 0, arrays), *w = tp_builtin_input(k, args, "weight", 1, arrays),
                    *b = tp_builtin_input(k, args, "bias", 2, arrays);
    const tp_json *given = args && args->type == TP_J_OBJECT ? tp_json_get(args, "eps") : NULL;
    double eps = given && given->type == TP_J_REAL ? given->u.real : 1e-5;
    if (!x || !w || !b || x->rank < 1)
        return "it needs inputs x, weight and bias";
    size_t n = (size_t)x->dims[x->rank - 1];
    if (w->n != n || b->n != n)
        return "weight and bias have one element per column of x";
    *out = tp_tensor_new(arena, TP_F64, x->rank, x->dims);
    for (size_t row = 0; row + n <= x->n && n; row += n) {
        double mean = 0, var = 0, *o = (double *)out->data + row;
        for (size_t j = 0; j < n; j++)
            mean += tp_at(x, row + j) / (double)n;
        for (size_t j = 0; j < n; j++)
            var += (tp_at(x, row + j) - mean) * (tp_at(x, row + j) - mean) / (double)n;
        for (size_t j = 0; j < n; j++)
            o[j] = (tp_at(x, row + j) - mean) / sqrt(var + eps) * tp_at(w, j) + tp_at(b, j);
    }
    return NULL;
}

const tp_builtin tp_builtin_layernorm = {"layernorm", "x, weight, bias, eps",
                                         "layer normalisation over the last dimension", run};
