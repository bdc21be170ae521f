/* Statements of programs, and variables. */
#include "spec/lower.h"

tp_statement *lower_statement(tp_lower *l, tp_statement_kind kind)
{
    tp_statement s = {
        .kind = kind, .syntax = l->syntax, .value = -1, .var = -1, .lo = -1, .hi = -1, .device = TP_NOWHERE};
    tp_push(l->c->arena, *l->region, s);
    return &l->region->at[l->region->len - 1];
}

tp_vid lower_copy_of_slot(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    if (!x->variable)
        return v;
    tp_vid copy = lower_new_value(l, x->dtype, x->rank, x->dims);
    lower_emit(l, TP_P_VARIABLE, copy, 1, &v, n);
    return copy;
}

void lower_assign_slot(tp_lower *l, tp_vid slot, tp_vid value)
{
    if (!lower_same_lengths(l, slot, value))
        tp_raise(l->c, TP_RULE_SPEC_TYPE, tp_json_place(l->syntax->line), "use another name, or loop over its elements",
                 "a name that outlives a block holds a slice whose size is not known from the sizes");
    tp_statement *s = lower_statement(l, TP_ASSIGN);
    s->var = slot;
    s->value = value;
}

tp_vid lower_new_variable(tp_lower *l, tp_dtype dtype, uint32_t rank, const tp_expr *dims)
{
    tp_vid v = lower_new_value(l, dtype, rank, dims);
    l->p->values.at[v].variable = true;
    return v;
}
