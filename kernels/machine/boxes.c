/* Which operations have a result of which a box is defined, where their arguments have one. */
#include "kernels/machine/internal.h"

/* Are all terms of some rows or columns defined, and no others? */
static bool has_lines(const tp_cells *c, uint32_t terms)
{
    return c->state == TP_CLEAN || (c->state == TP_INSIDE && !c->lines && c->n && c->defined->first[terms] == 0 &&
                                    c->defined->extent[terms] == c->dims[terms]);
}

bool tp_product_has_box(const tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]];
    return tp_may_defer(m) && a->rank == 2 && b->rank == 2 && !i->nbatch && i->ncontract == 1 && i->ints[0] == 1 &&
           i->ints[1] == 0 && (a->state != TP_CLEAN || b->state != TP_CLEAN) && has_lines(a, 1) && has_lines(b, 0);
}

bool tp_keeps_box(const tp_machine *m, const tp_inst *i)
{
    if (!tp_may_defer(m) || i->out < 0)
        return false;
    if (i->prim == TP_P_DOT)
        return tp_product_has_box(m, i);
    if (i->prim == TP_P_CAST)
        return tp_is_float(m->values[i->out].dtype);
    return tp_prim_is_elementwise(i->prim) && i->prim != TP_P_AND && i->prim != TP_P_OR;
}
