#include "reference/reference.h"

/* (x - mean) / sqrt(var + eps), mean and variance over each of "groups" equal parts of the last dimension, times
 * weight plus bias (Wu and He, "Group Normalization", 2018); x is (M, C), eps 1e-5 */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "weight", 1),
                     *b = tp_builtin_input(c, "bias", 2);
    const char *groups = tp_builtin_text(c, "groups", NULL);
    if (!x || !w || !b || x->rank != 2 || !groups)
        return "it needs inputs x of rank 2, weight and bias, and \"groups\"";
    const char *rows = tp_builtin_dim(c, x, 0), *channels = tp_builtin_dim(c, x, 1);
    tp_builtin_line(c, "parts_ = reshape(%.*s, (%s, %s, %s // %s))", TP_FMT(x->name), rows, groups, channels, groups);
    tp_builtin_line(c, "centred_ = parts_ - mean(parts_, axis=2, keepdims=True)");
    tp_builtin_line(c, "parts_ = centred_ * rsqrt(mean(centred_ * centred_, axis=2, keepdims=True) + %.17g)",
                    tp_builtin_number(c, "eps", 1e-5));
    tp_builtin_line(c, "%s = reshape(parts_, (%s, %s)) * reshape(%.*s, (1, %s)) + reshape(%.*s, (1, %s))",
                    tp_builtin_output(c), rows, channels, TP_FMT(w->name), channels, TP_FMT(b->name), channels);
    return NULL;
}

const tp_builtin tp_builtin_groupnorm = {"groupnorm", "x, weight, bias, groups, eps",
                                         "normalisation of each group of channels", write};
