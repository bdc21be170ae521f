/* Is all of an output block there that is copied out? */
#include "kernels/machine/internal.h"

static void gather_origins(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx)
{
    tp_origin *any = ctx;
    (void)array;
    for (size_t i = lane; i < lane + n; i++)
        *any |= r->cells.shadow[i];
}

bool tp_is_written(tp_ref *r)
{
    tp_box_of_cells inner;
    tp_origin any = 0;
    if (r->cells.state == TP_MIXED) {
        tp_each_inner_row(r, gather_origins, &any);
        return !any;
    }
    if (r->cells.state != TP_INSIDE || r->cells.rank != r->operand->rank)
        return r->cells.state == TP_CLEAN;
    return !tp_inner_part(r, inner.first, inner.extent) || tp_box_holds(&r->cells, &inner);
}
