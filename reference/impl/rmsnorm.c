#include "reference/reference.h"

/* x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and
 * Sennrich, "Root Mean Square Layer Normalization", 2019); eps 1e-6 */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "weight", 1);
    if (!x || !w || x->rank < 1)
        return "it needs inputs x and weight";
    tp_builtin_line(c, "w_ = broadcast_to(reshape(%.*s, %s), %s)", TP_FMT(w->name), tp_builtin_row_shape(c, x),
                    tp_builtin_shape(c, x));
    tp_builtin_line(c, "rows_ = %.*s", TP_FMT(x->name));
    tp_builtin_line(c, "%s = rows_ * rsqrt(mean(rows_ * rows_, axis=%u, keepdims=True) + %.17g) * w_",
                    tp_builtin_output(c), x->rank - 1, tp_builtin_number(c, "eps", 1e-6));
    return NULL;
}

const tp_builtin tp_builtin_rmsnorm = {"rmsnorm", "x, weight, eps", "RMS normalisation over the last dimension", write};
