/* load and store with a mask: lanes that it leaves out are not touched. */
#include "spec/lower.h"

/* A subscripted ref and a mask of its shape. */
static tp_access *masked_place(tp_lower *l, const tp_node *place, const tp_node *given, uint32_t *rank, tp_expr *dims,
                               tp_vid *mask)
{
    if (l->reference)
        lower_fail(l, place, "use where", "a reference has no refs");
    if (place->kind != TP_N_INDEX)
        lower_fail(l, place, "write load(x[...], mask)", "a subscripted ref is expected");
    tp_access *access = lower_access(l, place, rank, dims);
    *mask = lower_expr(l, given);
    const tp_value *x = lower_value(l, *mask);
    if (x->dtype != TP_BOOL || !lower_same_shape(l, x, *rank, dims))
        lower_fail(l, given, "use broadcast_to", "the mask is %.*s, the place is %.*s",
                   TP_FMT(lower_type_text(l, *mask)), TP_FMT(lower_shape_text(l, *rank, dims)));
    return access;
}

tp_vid lower_masked_load(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "mask", "other", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    tp_vid mask;
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_access *access = masked_place(l, args[0], args[1], &rank, dims, &mask);
    tp_dtype dtype = l->k->operands[access->operand].dtype;
    tp_vid v = lower_load(l, access, rank, dims, args[0]);
    if (args[2])
        return lower_where(l, mask, v, lower_coerce(l, lower_expr(l, args[2]), dtype, args[2]), n);
    tp_vid out = lower_new_value(l, dtype, rank, dims);
    lower_emit(l, TP_P_MASKED_LOAD, out, 2, (tp_vid[]){mask, v}, n)->integer = access->operand;
    return out;
}

void lower_masked_store(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "value", "mask", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    tp_vid mask;
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_access *access = masked_place(l, args[0], args[2], &rank, dims, &mask);
    tp_vid v = lower_expr(l, args[1]);
    if (!lower_same_shape(l, lower_value(l, v), rank, dims))
        lower_fail(l, args[1], "use full or broadcast_to", "the value is %.*s, the place is %.*s",
                   TP_FMT(lower_type_text(l, v)), TP_FMT(lower_shape_text(l, rank, dims)));
    tp_vid old = lower_load(l, access, rank, dims, args[0]);
    lower_store_to(l, access, rank, dims, lower_where(l, mask, v, old, n), n, args[0]);
}
