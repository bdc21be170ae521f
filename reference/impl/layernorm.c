#include "reference/reference.h"

/* (x - mean) / sqrt(var + eps) * weight + bias over the last dimension (Ba et
 * al., "Layer Normalization", 2016); eps 1e-5 */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "weight", 1),
                     *b = tp_builtin_input(c, "bias", 2);
    if (!x || !w || !b || x->rank < 1)
        return "it needs inputs x, weight and bias";
    const char *row = tp_builtin_row_shape(c, x), *shape = tp_builtin_shape(c, x);
    tp_builtin_line(c, "centred_ = %.*s - mean(%.*s, axis=%u, keepdims=True)", TP_FMT(x->name), TP_FMT(x->name),
                    x->rank - 1);
    tp_builtin_line(c, "scale_ = rsqrt(mean(centred_ * centred_, axis=%u, keepdims=True) + %.17g)", x->rank - 1,
                    tp_builtin_number(c, "eps", 1e-5));
    tp_builtin_line(
        c, "%s = centred_ * scale_ * broadcast_to(reshape(%.*s, %s), %s) + broadcast_to(reshape(%.*s, %s), %s)",
        tp_builtin_output(c), TP_FMT(w->name), row, shape, TP_FMT(b->name), row, shape);
    return NULL;
}

const tp_builtin tp_builtin_layernorm = {"layernorm", "x, weight, bias, eps",
                                         "layer normalisation over the last dimension", write};
