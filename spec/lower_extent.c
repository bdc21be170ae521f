/* Extents: those of what stands in the text, and those that are written. */
#include "spec/lower.h"

/* The operand that is meant, not a local of its name; -1: none. */
static int operand_at(tp_lower *l, const tp_node *x)
{
    return x->kind == TP_N_NAME && !lower_find_local(l, x->text) ? tp_operand_find(l->k, x->text) : -1;
}

tp_vid lower_length_of(tp_lower *l, const tp_node *x, uint32_t d)
{
    return l->reference && operand_at(l, x) < 0 ? lower_length(l, lower_expr(l, x), d) : -1;
}

const tp_expr *lower_shape_of(tp_lower *l, const tp_node *x, uint32_t *rank)
{
    int operand = operand_at(l, x);
    if (operand >= 0) {
        const tp_operand *o = &l->k->operands[operand];
        lower_check_open(l, (uint32_t)operand, x);
        *rank = l->reference ? tp_global_rank(o) : o->ref_rank;
        return l->reference ? tp_global_shape(o) : o->ref_shape;
    }
    const tp_value *v = lower_value(l, lower_expr(l, x));
    *rank = v->rank;
    return v->dims;
}

uint32_t lower_read_dims(tp_lower *l, const tp_node *n, tp_expr *dims)
{
    if (n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "shape")) {
        uint32_t rank;
        const tp_expr *of = lower_shape_of(l, n->kids[0], &rank);
        memcpy(dims, of, rank * sizeof *dims);
        return rank;
    }
    const tp_thing *tuple = l->reference && n->kind != TP_N_SEQUENCE ? l->special(l, n) : NULL;
    if (tuple && tuple->kind == TP_THING_TUPLE) {
        for (uint32_t i = 0; i < tuple->items.len && i < TP_MAX_RANK; i++) {
            const tp_thing *x = tuple->items.at[i];
            if (x->kind != TP_THING_VALUE || lower_value(l, x->value)->dtype != TP_WEAK_INT)
                lower_fail(l, n, "use sizes and integer literals", "a dimension must be known from the sizes");
            dims[i] = lower_value(l, x->value)->meaning;
        }
        if (tuple->items.len > TP_MAX_RANK)
            lower_fail(l, n, NULL, "at most %d dimensions", TP_MAX_RANK);
        return tuple->items.len;
    }
    const tp_node *const *items = n->kind == TP_N_SEQUENCE ? (const tp_node *const *)n->kids : &n;
    uint32_t count = n->kind == TP_N_SEQUENCE ? n->nkids : 1;
    if (count > TP_MAX_RANK)
        lower_fail(l, n, NULL, "at most %d dimensions", TP_MAX_RANK);
    for (uint32_t i = 0; i < count; i++)
        dims[i] = lower_static_int(l, items[i], "a dimension");
    return count;
}
