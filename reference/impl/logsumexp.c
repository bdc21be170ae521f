#include "reference/reference.h"

/* log(sum(exp(x))) over the last dimension */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0);
    if (!x || x->rank < 1)
        return "it needs an input x of rank 1 or more";
    const tp_operand *o = &c->kernel->operands[c->kernel->ninputs];
    tp_builtin_line(c, "%s = logsumexp(%.*s, axis=%u, keepdims=%s)", tp_builtin_output(c), TP_FMT(x->name), x->rank - 1,
                    o->rank == x->rank ? "True" : "False");
    return NULL;
}

const tp_builtin tp_builtin_logsumexp = {"logsumexp", "x", "log of the sum of exponentials over the last dimension",
                                         write};
