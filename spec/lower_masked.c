/* load and store with a mask: lanes that it leaves out are not touched. */
#include "spec/lower.h"

static tp_access *masked_access(tp_lower *l, const tp_node *n, uint32_t *rank, tp_expr *dims)
{
    if (l->reference)
        lower_fail(l, n, "use where", "a reference has no refs");
    if (n->kind != TP_N_INDEX)
        lower_fail(l, n, "write load(x[...], mask)", "a subscripted ref is expected");
    return lower_access(l, n, rank, dims);
}

static tp_vid mask_of(tp_lower *l, const tp_node *n, uint32_t rank, const tp_expr *dims)
{
    tp_vid mask = lower_expr(l, n);
    const tp_value *x = lower_value(l, mask);
    if (x->dtype != TP_BOOL || !lower_same_shape(l, x, rank, dims))
        lower_fail(l, n, "use broadcast_to", "the mask is %.*s, the place is %.*s", TP_FMT(lower_type_text(l, mask)),
                   TP_FMT(lower_shape_text(l, rank, dims)));
    return mask;
}

tp_vid lower_masked_load(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "mask", "other", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_access *access = masked_access(l, args[0], &rank, dims);
    tp_dtype dtype = l->k->operands[access->operand].dtype;
    tp_vid mask = mask_of(l, args[1], rank, dims), v = lower_load(l, access, rank, dims, args[0]);
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
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_access *access = masked_access(l, args[0], &rank, dims);
    tp_vid mask = mask_of(l, args[2], rank, dims), v = lower_expr(l, args[1]);
    if (!lower_same_shape(l, lower_value(l, v), rank, dims))
        lower_fail(l, args[1], "use full or broadcast_to", "the value is %.*s, the place is %.*s",
                   TP_FMT(lower_type_text(l, v)), TP_FMT(lower_shape_text(l, rank, dims)));
    tp_vid old = lower_load(l, access, rank, dims, args[0]);
    lower_store_to(l, access, rank, dims, lower_where(l, mask, v, old, n), n, args[0]);
}
