#include "reference/reference.h"

/* exp(x - max) / sum(exp(x - max)) over the last dimension */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0);
    if (!x || x->rank < 1)
        return "it needs an input x of rank 1 or more";
    tp_builtin_line(c, "%s = softmax(%.*s, axis=%u)", tp_builtin_output(c), TP_FMT(x->name), x->rank - 1);
    return NULL;
}

const tp_builtin tp_builtin_softmax = {"softmax", "x", "softmax over the last dimension", write};
