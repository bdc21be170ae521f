#include "reference/reference.h"

/* out[n, y, x, o] = sum over i, j, c of w[i, j, c, o] * x[n, y + i, x + j, c], where all of the filter is inside; x is
 * (N, H, W, C), w (KH, KW, C, O) */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "w", 1);
    if (!x || !w || x->rank != 4 || w->rank != 4)
        return "it needs inputs x and w of rank 4";
    const char *out = tp_builtin_output(c), *h = tp_builtin_dim(c, x, 1), *kh = tp_builtin_dim(c, w, 0),
               *v = tp_builtin_dim(c, x, 2), *kw = tp_builtin_dim(c, w, 1);
    tp_builtin_line(c, "%s = zeros((%s, %s - %s + 1, %s - %s + 1, %s), float32)", out, tp_builtin_dim(c, x, 0), h, kh,
                    v, kw, tp_builtin_dim(c, w, 3));
    tp_builtin_line(c, "for i_ in range(%s):", kh);
    tp_builtin_line(c, "    for j_ in range(%s):", kw);
    tp_builtin_line(c, "        part_ = %.*s[:, i_:i_ + (%s - %s + 1), j_:j_ + (%s - %s + 1)]", TP_FMT(x->name), h, kh,
                    v, kw);
    tp_builtin_line(c, "        %s = %s + einsum('nhwc,co->nhwo', part_, %.*s[i_, j_])", out, out, TP_FMT(w->name));
    return NULL;
}

const tp_builtin tp_builtin_conv2d = {"conv2d", "x, w", "convolution over two dimensions, without padding", write};
