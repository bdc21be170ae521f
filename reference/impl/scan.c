#include "reference/reference.h"

/* Running sums along "axis" (0), from the end with "reverse"; with "exclusive" without the element itself. */
static const char *write(tp_builtin_call *c)
{
    const tp_operand *x = tp_builtin_input(c, "x", 0);
    const char *axis = tp_builtin_text(c, "axis", "0");
    if (!x || x->rank < 1)
        return "it needs an input x of rank 1 or more";
    tp_builtin_line(c, "%s = cumsum(%.*s, axis=%s, reverse=%s)%s%.*s", tp_builtin_output(c), TP_FMT(x->name), axis,
                    tp_builtin_flag(c, "reverse") ? "True" : "False", tp_builtin_flag(c, "exclusive") ? " - " : "",
                    tp_builtin_flag(c, "exclusive") ? (int)x->name.n : 0, x->name.p);
    return NULL;
}

const tp_builtin tp_builtin_scan = {"scan", "x, axis, reverse, exclusive", "running sums along an axis", write};
