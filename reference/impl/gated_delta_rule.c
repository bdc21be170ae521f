#include "reference/reference.h"

/* S = alpha S + beta k (v - k alpha S), out = q S, token by token from S = 0; q and k are (H, S, D), v is (H, S, V),
 * alpha and beta are (H, S, 1) (Yang et al., "Gated Delta Networks", 2024) */
static const char *write(tp_builtin_call *c)
{
    static const char *const NAMES[] = {"q", "k", "v", "alpha", "beta"};
    const tp_operand *x[5];
    for (uint32_t i = 0; i < 5; i++) {
        x[i] = tp_builtin_input(c, NAMES[i], i);
        if (!x[i] || x[i]->rank != 3)
            return "it needs inputs q, k, v, alpha and beta of rank 3";
    }
    const char *out = tp_builtin_output(c);
    tp_builtin_line(c, "%s = zeros(%s, float32)", out, tp_builtin_shape(c, x[2]));
    tp_builtin_line(c, "for h_ in range(%s):", tp_builtin_dim(c, x[0], 0));
    tp_builtin_line(c, "    state_ = zeros((%s, %s), float32)", tp_builtin_dim(c, x[1], 2), tp_builtin_dim(c, x[2], 2));
    tp_builtin_line(c, "    for t_ in range(%s):", tp_builtin_dim(c, x[0], 1));
    tp_builtin_line(c, "        state_ = %.*s[h_, t_, 0] * state_", TP_FMT(x[3]->name));
    tp_builtin_line(c, "        error_ = %.*s[h_, t_] - %.*s[h_, t_] @ state_", TP_FMT(x[2]->name), TP_FMT(x[1]->name));
    tp_builtin_line(c, "        state_ = state_ + %.*s[h_, t_, 0] * %.*s[h_, t_][:, None] * error_[None, :]",
                    TP_FMT(x[4]->name), TP_FMT(x[1]->name));
    tp_builtin_line(c, "        %s[h_, t_] = %.*s[h_, t_] @ state_", out, TP_FMT(x[0]->name));
    return NULL;
}

const tp_builtin tp_builtin_gated_delta_rule = {"gated_delta_rule", "q, k, v, alpha, beta",
                                                "linear attention with gates and the delta rule, token by token",
                                                write};
