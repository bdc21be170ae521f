#include "reference/reference.h"

/* h[t] = a[t] h[t - 1] + x[t] from h = 0, over the middle dimension; a and x are (B, S, D) (the LRU of Orvieto et al.,
 * 2023, with real gates) */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *a = tp_builtin_input(c, "a", 0), *x = tp_builtin_input(c, "x", 1);
    if (!a || !x || a->rank != 3 || x->rank != 3)
        return "it needs inputs a and x of rank 3";
    const char *out = tp_builtin_output(c);
    tp_builtin_line(c, "%s = zeros(%s, float32)", out, tp_builtin_shape(c, x));
    tp_builtin_line(c, "h_ = zeros((%s, %s), float32)", tp_builtin_dim(c, x, 0), tp_builtin_dim(c, x, 2));
    tp_builtin_line(c, "for t_ in range(%s):", tp_builtin_dim(c, x, 1));
    tp_builtin_line(c, "    h_ = %.*s[:, t_] * h_ + %.*s[:, t_]", TP_FMT(a->name), TP_FMT(x->name));
    tp_builtin_line(c, "    %s[:, t_] = h_", out);
    return NULL;
}

const tp_builtin tp_builtin_linear_recurrence = {"linear_recurrence", "a, x",
                                                 "h[t] = a[t] h[t - 1] + x[t] over the middle dimension", write};
