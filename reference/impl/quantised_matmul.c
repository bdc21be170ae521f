#include "reference/reference.h"

/* (x @ w) * x_scale * w_scale, integers multiplied exactly; x is (M, K), w (K, N), x_scale (M, 1), w_scale (1, N)
 * (Dettmers et al., "LLM.int8()", 2022) */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "w", 1),
                     *xs = tp_builtin_input(c, "x_scale", 2), *ws = tp_builtin_input(c, "w_scale", 3);
    if (!x || !w || !xs || !ws || x->rank != 2 || w->rank != 2 || xs->rank != 2 || ws->rank != 2)
        return "it needs inputs x, w, x_scale and w_scale of rank 2";
    tp_builtin_line(c, "%s = matmul(%.*s.astype(float32), %.*s.astype(float32)) * %.*s * %.*s", tp_builtin_output(c),
                    TP_FMT(x->name), TP_FMT(w->name), TP_FMT(xs->name), TP_FMT(ws->name));
    return NULL;
}

const tp_builtin tp_builtin_quantised_matmul = {"quantised_matmul", "x, w, x_scale, w_scale",
                                                "matrix product of integers with scales of rows and columns", write};
