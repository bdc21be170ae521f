#include <math.h>

#include "reference/reference.h"

static bool flag(const tp_json *args, const char *key)
{
    const tp_json *v = args && args->type == TP_J_OBJECT ? tp_json_get(args, key) : NULL;
    return v && v->type == TP_J_BOOL && v->u.boolean;
}

/* softmax(q @ k.T / sqrt(D)) @ v per head (Vaswani et al., 2017); q is (H, S, D),
 * k and v are (H / G, T, D): G query heads share one key head. With "causal",
 * query s sees keys 0 to s. */
static const char *run(tp_arena *arena, const tp_kernel *kernel, const tp_json *args, const tp_tensor *arrays,
                       tp_tensor *out)
{
    const tp_tensor *q = tp_builtin_input(kernel, args, "q", 0, arrays),
                    *k = tp_builtin_input(kernel, args, "k", 1, arrays),
                    *v = tp_builtin_input(kernel, args, "v", 2, arrays);
    bool causal = flag(args, "causal");
    if (!q || !k || !v || q->rank != 3 || k->rank != 3 || v->rank != 3)
        return "it needs inputs q, k and v of rank 3";
    size_t heads = (size_t)q->dims[0], queries = (size_t)q->dims[1], depth = (size_t)q->dims[2],
           key_heads = (size_t)k->dims[0], keys = (size_t)k->dims[1], width = (size_t)v->dims[2];
    if (key_heads == 0 || heads % key_heads || (size_t)k->dims[2] != depth || v->dims[0] != k->dims[0] ||
        v->dims[1] != k->dims[1])
        return "q is (H, S, D), k is (H / G, T, D), v is (H / G, T, E)";
    *out = tp_tensor_new(arena, TP_F64, 3, (int64_t[]){q->dims[0], q->dims[1], v->dims[2]});
    double *weight = TP_NEWN(arena, double, keys + 1);
    for (size_t h = 0; h < heads; h++)
        for (size_t s = 0; s < queries; s++) {
            size_t group = h / (heads / key_heads), seen = causal && s + 1 < keys ? s + 1 : keys;
            double top = -HUGE_VAL, sum = 0, *o = (double *)out->data + (h * queries + s) * width;
            for (size_t t = 0; t < seen; t++) {
                weight[t] = 0;
                for (size_t d = 0; d < depth; d++)
                    weight[t] += tp_at(q, (h * queries + s) * depth + d) * tp_at(k, (group * keys + t) * depth + d);
                weight[t] /= sqrt((double)depth);
                top = fmax(top, weight[t]);
            }
            for (size_t t = 0; t < seen; t++)
                sum += weight[t] = exp(weight[t] - top);
            for (size_t t = 0; t < seen; t++)
                for (size_t e = 0; e < width; e++)
                    o[e] += weight[t] / sum * tp_at(v, (group * keys + t) * width + e);
        }
    return NULL;
}

const tp_builtin tp_builtin_attention = {"attention", "q, k, v, causal",
                                         "softmax(q k^T / sqrt(D)) v per head, causal or not, grouped queries", run};
