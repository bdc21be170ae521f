#include "reference/reference.h"

/* sum over j of weight[m, j] * (x[m] @ w[expert[m, j]]) (Shazeer et al., 2017); x is (M, D), w (X, D, N), weight and
 * expert are inputs (M, k). */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *w = tp_builtin_input(c, "w", 1),
                     *weight = tp_builtin_input(c, "weight", 2), *expert = tp_builtin_input(c, "expert", 3);
    if (!x || !w || !weight || !expert || x->rank != 2 || w->rank != 3 || weight->rank != 2 || expert->rank != 2)
        return "it needs inputs x, weight and expert of rank 2, and w of rank 3";
    const char *out = tp_builtin_output(c);
    tp_builtin_line(c, "%s = zeros((%s, %s), float32)", out, tp_builtin_dim(c, x, 0), tp_builtin_dim(c, w, 2));
    tp_builtin_line(c, "for e_ in range(%s):", tp_builtin_dim(c, w, 0));
    tp_builtin_line(c, "    gate_ = where(%.*s == e_, %.*s, 0).sum(axis=1)", TP_FMT(expert->name),
                    TP_FMT(weight->name));
    tp_builtin_line(c, "    %s = %s + gate_[:, None] * (%.*s @ %.*s[e_])", out, out, TP_FMT(x->name), TP_FMT(w->name));
    return NULL;
}

const tp_builtin tp_builtin_moe = {"moe", "x, w, weight, expert",
                                   "mixture of experts: weighted products by chosen matrices", write};
