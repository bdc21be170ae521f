#include "reference/reference.h"

/* softmax(q @ k.T / sqrt(D)) @ v per head (Vaswani et al., 2017); q is (H, S, D),
 * k and v are (H / G, T, D): G query heads share one key head. With "causal",
 * query s sees keys 0 to s. */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *q = tp_builtin_input(c, "q", 0), *k = tp_builtin_input(c, "k", 1),
                     *v = tp_builtin_input(c, "v", 2);
    if (!q || !k || !v || q->rank != 3 || k->rank != 3 || v->rank != 3)
        return "it needs inputs q, k and v of rank 3";
    const char *heads = tp_builtin_dim(c, q, 0), *shared = tp_builtin_dim(c, k, 0), *queries = tp_builtin_dim(c, q, 1),
               *keys = tp_builtin_dim(c, k, 1);
    tp_builtin_line(c, "head_ = iota(int32, (%s,), 0) // (%s // %s)", heads, heads, shared);
    tp_builtin_line(c, "s_ = dot(%.*s, take(%.*s, head_), contract=((2,), (2,)), batch=((0,), (0,)))", TP_FMT(q->name),
                    TP_FMT(k->name));
    tp_builtin_line(c, "s_ = s_.astype(float32) / sqrt(%s * full((%s, %s, %s), 1, float32))", tp_builtin_dim(c, q, 2),
                    heads, queries, keys);
    if (tp_builtin_flag(c, "causal"))
        tp_builtin_line(c, "s_ = where(iota(int32, (%s, %s, %s), 2) <= iota(int32, (%s, %s, %s), 1), s_, -inf)", heads,
                        queries, keys, heads, queries, keys);
    tp_builtin_line(
        c,
        "%s = dot(softmax(s_, axis=2), take(%.*s, head_).astype(float32), contract=((2,), (1,)), batch=((0,), (0,)))",
        tp_builtin_output(c), TP_FMT(v->name));
    return NULL;
}

const tp_builtin tp_builtin_attention = {"attention", "q, k, v, causal",
                                         "softmax(q k^T / sqrt(D)) v per head, causal or not, grouped queries", write};
