/* a if c else b */
#include "spec/lower.h"

static bool is_of_sizes(const tp_lower *l, tp_expr e)
{
    for (uint32_t i = 0; i < l->k->naxes; i++)
        if (e.id && tp_expr_mentions(l->k->exprs, e, l->k->axes[i].sym))
            return false;
    return e.id != 0;
}

static tp_dtype wider(tp_dtype a, tp_dtype b)
{
    return tp_is_float(a) || tp_is_float(b) || a == TP_WEAK_FLOAT || b == TP_WEAK_FLOAT ? TP_F64
           : a == TP_BOOL && b == TP_BOOL                                               ? TP_BOOL
                                                                                        : TP_I32;
}

/* A variable that each arm assigns its value to, as `to`. */
static tp_vid lower_one_of(tp_lower *l, const tp_vid *values, tp_dtype to, tp_region *arm, const tp_node *const *at)
{
    uint32_t most = lower_value(l, values[0])->rank >= lower_value(l, values[1])->rank ? 0 : 1;
    tp_vid var = -1;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t k = i ? !most : most;
        l->region = &arm[k];
        tp_vid v = lower_coerce(l, lower_promote(l, values[k], to, at[k]), to, at[k]);
        const tp_value *y = lower_value(l, v);
        if (!i)
            var = lower_new_variable(l, to, y->rank, y->dims);
        else
            v = lower_broadcast(l, v, lower_value(l, var)->rank, lower_value(l, var)->dims, at[k]);
        lower_assign_slot(l, var, v);
    }
    return var;
}

tp_thing *lower_one_thing_of(tp_lower *l, tp_thing *const *x, tp_region *arm, const tp_node *const *at)
{
    tp_region *outer = l->region;
    if (x[0]->kind == TP_THING_TUPLE && x[1]->kind == TP_THING_TUPLE && x[0]->items.len == x[1]->items.len) {
        tp_thing *all = lower_tuple(l, 0, NULL);
        for (uint32_t i = 0; i < x[0]->items.len; i++) {
            tp_thing *const item[] = {x[0]->items.at[i], x[1]->items.at[i]};
            tp_push(l->c->arena, all->items, lower_one_thing_of(l, item, arm, at));
        }
        return all;
    }
    if (x[0]->kind != TP_THING_VALUE || x[1]->kind != TP_THING_VALUE || lower_is_ragged(l, x[0]->value) ||
        lower_is_ragged(l, x[1]->value))
        lower_fail(l, at[1], "return arrays of one shape, or as many values",
                   "what a function returns is of another kind where a condition on data is not true");
    tp_vid values[] = {x[0]->value, x[1]->value};
    tp_vid var =
        lower_one_of(l, values, wider(lower_value(l, values[0])->dtype, lower_value(l, values[1])->dtype), arm, at);
    l->region = outer;
    tp_thing *one = lower_value_object(l, var);
    one->memory = lower_one_memory(l, x[0]->memory, x[1]->memory);
    return one;
}

tp_vid lower_conditional(tp_lower *l, const tp_node *n, tp_vid c)
{
    tp_exprs *p = l->k->exprs;
    tp_vid v[2];
    c = lower_truth(l, c, n->kids[0]);
    const tp_value *x = lower_value(l, c);
    if (x->dtype != TP_BOOL || x->rank != 0)
        lower_fail(l, n->kids[0], x->rank ? "use where on arrays" : "compare it: flag != 0",
                   "a condition is a scalar bool, not %.*s", TP_FMT(lower_type_text(l, c)));
    tp_region *outer = l->region, arm[2] = {0};
    uint32_t first = l->p->values.len;
    for (int i = 0; i < 2; i++) {
        l->region = &arm[i];
        v[i] = lower_expr(l, n->kids[i + 1]);
    }
    tp_dtype d[2] = {lower_value(l, v[0])->dtype, lower_value(l, v[1])->dtype};
    x = lower_value(l, c);
    if (d[0] == TP_WEAK_INT && d[1] == TP_WEAK_INT && is_of_sizes(l, x->meaning)) {
        tp_expr chosen = tp_ite(p, x->meaning, lower_value(l, v[0])->meaning, lower_value(l, v[1])->meaning);
        for (uint32_t i = first; i < l->p->values.len; i++) /* of an arm alone, which need not be taken */
            if (l->p->values.at[i].dtype == TP_WEAK_INT)
                l->p->values.at[i].meaning = tp_const(p, 0);
        l->region = outer;
        return lower_weak_int(l, chosen);
    }
    if (tp_is_weak(d[0]) && tp_is_weak(d[1]) && !l->reference)
        lower_fail(l, n, "give one arm a dtype, e.g. full((), 1, float32)", "the choice of two literals has no dtype");
    tp_dtype to = l->reference ? wider(d[0], d[1]) : tp_is_weak(d[0]) ? d[1] : d[0];
    const tp_node *at[] = {n->kids[1], n->kids[2]};
    tp_vid var = lower_one_of(l, v, to, arm, at);
    l->region = outer;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = c;
    statement->body = arm[0];
    statement->orelse = arm[1];
    return lower_copy_of_slot(l, var, n);
}
