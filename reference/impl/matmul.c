#include "reference/reference.h"

/* out[..., i, j] = sum over t of a[..., i, t] * b[..., t, j] */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *a = tp_builtin_input(c, "a", 0), *b = tp_builtin_input(c, "b", 1);
    if (!a || !b)
        return "it needs two inputs, a and b";
    if (a->rank < 2 || a->rank != b->rank)
        return "both inputs have the same rank, 2 or more";
    tp_builtin_line(c, "%s = matmul(%.*s, %.*s)", tp_builtin_output(c), TP_FMT(a->name), TP_FMT(b->name));
    return NULL;
}

const tp_builtin tp_builtin_matmul = {"matmul", "a, b", "matrix product over the last two dimensions", write};
