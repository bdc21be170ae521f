#include "reference/reference.h"

/* out[b, s, c] = sum over i of w[i, c] * x[b, s + i - K + 1, c], x being 0 before its beginning: causal, one filter
 * for each channel; x is (B, S, C), w (K, C) */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "w", 1);
    if (!x || !w || x->rank != 3 || w->rank != 2)
        return "it needs inputs x of rank 3 and w of rank 2";
    const char *out = tp_builtin_output(c), *length = tp_builtin_dim(c, x, 1), *taps = tp_builtin_dim(c, w, 0);
    tp_builtin_line(c, "padded_ = concatenate([zeros((%s, %s - 1, %s), float32), %.*s.astype(float32)], axis=1)",
                    tp_builtin_dim(c, x, 0), taps, tp_builtin_dim(c, x, 2), TP_FMT(x->name));
    tp_builtin_line(c, "%s = zeros(%s, float32)", out, tp_builtin_shape(c, x));
    tp_builtin_line(c, "for i_ in range(%s):", taps);
    tp_builtin_line(c, "    %s = %s + padded_[:, i_:i_ + %s] * %.*s[i_]", out, out, length, TP_FMT(w->name));
    return NULL;
}

const tp_builtin tp_builtin_conv1d = {"conv1d", "x, w", "causal convolution over the middle dimension, by channel",
                                      write};
