#include <math.h>

#include "reference/reference.h"

/* x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and
 * Sennrich, "Root Mean Square Layer Normalization", 2019); eps 1e-6 */
static const char *run(tp_arena *arena, const tp_kernel *k, const tp_json *args, const tp_tensor *arrays,
                       tp_tensor *out)
{
    const tp_tensor *x = tp_builtin_input(k, args, "x", 0, arrays), *w = tp_builtin_input(k, args, "weight", 1, arrays);
    const tp_json *given = args && args->type == TP_J_OBJECT ? tp_json_get(args, "eps") : NULL;
    double eps = given && given->type == TP_J_REAL ? given->u.real : 1e-6;
    if (!x || !w || x->rank < 1)
        return "it needs inputs x and weight";
    size_t n = (size_t)x->dims[x->rank - 1];
    if (w->n != n)
        return "weight has one element per column of x";
    *out = tp_tensor_new(arena, TP_F64, x->rank, x->dims);
    for (size_t row = 0; row + n <= x->n && n; row += n) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += tp_at(x, row + j) * tp_at(x, row + j);
        double scale = 1 / sqrt(sum / (double)n + eps);
        for (size_t j = 0; j < n; j++)
            ((double *)out->data)[row + j] = tp_at(x, row + j) * scale * tp_at(w, j);
    }
    return NULL;
}

const tp_builtin tp_builtin_rmsnorm = {"rmsnorm", "x, weight, eps", "RMS normalisation over the last dimension", run};
