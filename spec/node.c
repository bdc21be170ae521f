/* Nodes that stand for other parts of a spec than text of the language. */
#include "spec/syntax.h"

#include <math.h>

tp_node *tp_number_node(tp_ctx *c, const tp_json *number)
{
    bool real = number->type == TP_J_REAL, negative = real ? signbit(number->u.real) : number->u.integer < 0;
    tp_node *n = TP_NEW(c->arena, tp_node), *minus = TP_NEW(c->arena, tp_node);
    *n = (tp_node){.kind = real ? TP_N_FLOAT : TP_N_INT, .source = number, .to = 1};
    n->text =
        (tp_str){c->source->text.p + number->loc.start + negative, number->loc.end - number->loc.start - negative};
    if (real)
        n->real = fabs(number->u.real);
    else if (number->u.integer == INT64_MIN)
        tp_raise(c, TP_RULE_SPEC_VALUE, number->loc, NULL, "this number does not fit 64 bits");
    else
        n->integer = negative ? -number->u.integer : number->u.integer;
    if (!negative)
        return n;
    *minus = (tp_node){.kind = TP_N_UNARY, .op = TP_O_NEG, .source = number, .to = 1, .nkids = 1};
    minus->kids = TP_NEWN(c->arena, tp_node *, 1);
    minus->kids[0] = n;
    return minus;
}
