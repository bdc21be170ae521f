#include "reference/reference.h"

/* sum of softmax(p) * (log softmax(p) - log softmax(q)) over the last dimension, of logits p and q */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *p = tp_builtin_input(c, "p", 0), *q = tp_builtin_input(c, "q", 1);
    if (!p || !q || p->rank < 1 || p->rank != q->rank)
        return "it needs inputs p and q of one rank, 1 or more";
    const tp_operand *o = &c->kernel->operands[c->kernel->ninputs];
    uint32_t last = p->rank - 1;
    tp_builtin_line(c, "p_ = %.*s - logsumexp(%.*s, axis=%u, keepdims=True)", TP_FMT(p->name), TP_FMT(p->name), last);
    tp_builtin_line(c, "q_ = %.*s - logsumexp(%.*s, axis=%u, keepdims=True)", TP_FMT(q->name), TP_FMT(q->name), last);
    tp_builtin_line(c, "%s = sum(exp(p_) * (p_ - q_), axis=%u, keepdims=%s)", tp_builtin_output(c), last,
                    o->rank == p->rank ? "True" : "False");
    return NULL;
}

const tp_builtin tp_builtin_kl_divergence = {"kl_divergence", "p, q",
                                             "Kullback-Leibler divergence of softmax(p) from softmax(q)", write};
