/* Things of references that are no values: making them, and messages about them. */
#include "spec/lower.h"

tp_thing *lower_new_thing(tp_lower *l, tp_thing_kind kind)
{
    tp_thing *x = TP_NEW(l->c->arena, tp_thing);
    *x = (tp_thing){.kind = kind, .value = -1};
    return x;
}

tp_thing *lower_value_object(tp_lower *l, tp_vid v)
{
    tp_thing *x = lower_new_thing(l, TP_THING_VALUE);
    x->value = v;
    return x;
}

tp_thing *lower_tuple(tp_lower *l, uint32_t n, tp_thing *const *items)
{
    tp_thing *x = lower_new_thing(l, TP_THING_TUPLE);
    for (uint32_t i = 0; i < n; i++)
        tp_push(l->c->arena, x->items, items[i]);
    x->turns = l->turns;
    x->branch = l->branch;
    return x;
}

tp_thing *lower_frozen(tp_lower *l, tp_thing *x, const tp_node *n)
{
    if (x->kind != TP_THING_VALUE || !lower_value(l, x->value)->variable)
        return x;
    tp_thing *copy = lower_value_object(l, lower_copy_of_slot(l, x->value, n));
    copy->memory = x->memory;
    return copy;
}

tp_vid lower_object_value(tp_lower *l, const tp_thing *x, const tp_node *n)
{
    if (!x)
        lower_fail(l, n, "end it with return", "this function returns no value");
    switch (x->kind) {
    case TP_THING_VALUE: return x->value;
    case TP_THING_TUPLE:
        lower_fail(l, n, "write a, b = …, or x[0]; of a list: np.stack(x)", "%u values stand where one is expected",
                   x->items.len);
    case TP_THING_ROWS:
        lower_fail(l, n, "write np.stack(x), or np.array(x)", "a list stands where an array is expected");
    case TP_THING_FUNCTION:
        lower_fail(l, n, "call it", "the function `%.*s` stands where a value is expected", TP_FMT(x->function->text));
    case TP_THING_NONE: lower_fail(l, n, "test for it: if x is not None:", "None has no value");
    case TP_THING_TEXT: break;
    }
    lower_fail(l, n, NULL, "a text is no value");
}

void lower_check_lazy(tp_lower *l, const tp_node *n)
{
    if (n && n->kind == TP_N_COMPREHENSION && n->computed)
        lower_fail(l, n, "write a list: [… for … in …]",
                   "the elements of a generator are computed when it is looked at, and once");
}

void lower_spend_statement(tp_lower *l, const tp_node *n)
{
    if (l->p->nstatements++ == TP_MAX_STATEMENTS)
        lower_fail(l, n, NULL, "the functions and lists expand to more than %d statements", TP_MAX_STATEMENTS);
}

tp_thing *lower_none(tp_lower *l)
{
    return lower_new_thing(l, TP_THING_NONE);
}

_Noreturn void lower_fail_shared(tp_lower *l, tp_loc at, tp_str name, const tp_syntax *by)
{
    tp_raise(
        l->c, TP_RULE_SPEC_TYPE, at,
        tp_printf(l->c->arena, "write a new array in line %u: y = y + …, or a copy before it: y = x.copy()", by->number)
            .p,
        "`%.*s` may share elements with what line %u changes in place: in NumPy it changes, too, in JAX it does not",
        TP_FMT(name), by->number);
}

void lower_check_shared(tp_lower *l, const tp_syntax *changed, const tp_node *n)
{
    if (changed)
        lower_fail_shared(l, tp_node_loc(l->c, n), n->text, changed);
}
