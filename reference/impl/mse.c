#include "reference/reference.h"

/* mean of (x - y)^2 over the last dimension */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0), *y = tp_builtin_input(c, "y", 1);
    if (!x || !y || x->rank < 1 || x->rank != y->rank)
        return "it needs inputs x and y of one rank, 1 or more";
    const tp_operand *o = &c->kernel->operands[c->kernel->ninputs];
    tp_builtin_line(c, "d_ = %.*s.astype(float32) - %.*s.astype(float32)", TP_FMT(x->name), TP_FMT(y->name));
    tp_builtin_line(c, "%s = mean(d_ * d_, axis=%u, keepdims=%s)", tp_builtin_output(c), x->rank - 1,
                    o->rank == x->rank ? "True" : "False");
    return NULL;
}

const tp_builtin tp_builtin_mse = {"mse", "x, y", "mean squared difference over the last dimension", write};
