/* Which operations have a result of which a box is defined, where their arguments have one. */
#include "kernels/machine/internal.h"

bool tp_is_bounded(tp_machine *m, const tp_inst *i, uint32_t arg)
{
    if (!m->bounded)
        m->bounded = tp_bounded_values(m->arena, m->k->exprs, m->k->body);
    return m->bounded[i->args[arg]];
}

bool tp_settles_zeros(tp_machine *m, const tp_inst *i)
{
    bool any = false;
    for (uint32_t a = 0; a < 2 && (i->prim == TP_P_MUL || i->prim == TP_P_DOT); a++)
        any |= m->values[i->args[a]].state != TP_CLEAN && tp_is_bounded(m, i, a);
    return any;
}

/* Are all terms of some rows or columns defined, and no others? */
static bool has_lines(const tp_cells *c, uint32_t terms)
{
    return c->state == TP_CLEAN || (c->state == TP_INSIDE && !c->lines && c->n && c->defined->first[terms] == 0 &&
                                    c->defined->extent[terms] == c->dims[terms]);
}

bool tp_product_has_box(const tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]];
    return tp_may_box(m) && a->rank == 2 && b->rank == 2 && !i->nbatch && i->ncontract == 1 && i->ints[0] == 1 &&
           i->ints[1] == 0 && (a->state != TP_CLEAN || b->state != TP_CLEAN) && has_lines(a, 1) && has_lines(b, 0);
}

/* Has each line of `c` that is defined, across its terms, a number other than 0? */
static bool no_zero_lines(const tp_cells *c, uint32_t terms)
{
    uint32_t lines = 1 - terms;
    int64_t first = c->state == TP_CLEAN ? 0 : c->defined->first[lines],
            n = c->state == TP_CLEAN ? c->dims[lines] : c->defined->extent[lines],
            pitch = c->viewed ? (int64_t)c->pitch : c->dims[1];
    for (int64_t l = first, t = 0; l < first + n; l++, t = 0) {
        while (t < c->dims[terms] &&
               tp_get_f64(c->dtype, c->data, (size_t)(terms ? l * pitch + t : t * pitch + l)) == 0)
            t++;
        if (t == c->dims[terms])
            return false;
    }
    return !(c->viewed && c->flat_row);
}

/* What is undefined of a product stays so: no line of zeros on the other side makes it 0. */
static bool no_zeros_settle(tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]];
    return (a->state == TP_CLEAN || !tp_is_bounded(m, i, 0) || no_zero_lines(b, 0)) &&
           (b->state == TP_CLEAN || !tp_is_bounded(m, i, 1) || no_zero_lines(a, 1));
}

bool tp_keeps_box(tp_machine *m, const tp_inst *i)
{
    if (!tp_may_box(m) || i->out < 0)
        return false;
    if (i->prim == TP_P_DOT)
        return tp_product_has_box(m, i) && no_zeros_settle(m, i);
    if (i->prim == TP_P_CAST)
        return tp_is_float(m->values[i->out].dtype);
    return tp_prim_is_elementwise(i->prim) && i->prim != TP_P_AND && i->prim != TP_P_OR && !tp_settles_zeros(m, i);
}
