#include "reference/reference.h"

/* logsumexp(logits) - logits[label], row by row; logits are (M, V), labels (M) or (M, 1), the output has the shape of
 * the labels */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "logits", 0), *label = tp_builtin_input(c, "labels", 1);
    if (!x || !label || x->rank != 2 || label->rank < 1 || label->rank > 2)
        return "it needs inputs logits of rank 2 and labels of rank 1 or 2";
    tp_builtin_line(c, "label_ = reshape(%.*s, (%s, 1))", TP_FMT(label->name), tp_builtin_dim(c, x, 0));
    tp_builtin_line(c, "picked_ = where(arange(%s)[None, :] == label_, %.*s, 0).sum(axis=1, keepdims=True)",
                    tp_builtin_dim(c, x, 1), TP_FMT(x->name));
    tp_builtin_line(c, "%s = reshape(logsumexp(%.*s, axis=1, keepdims=True) - picked_, %s)", tp_builtin_output(c),
                    TP_FMT(x->name), tp_builtin_shape(c, label));
    return NULL;
}

const tp_builtin tp_builtin_cross_entropy = {"cross_entropy", "logits, labels",
                                             "cross entropy of each row with its label", write};
