/* Windows of several steps, wherever they lie, as one (joined.c): copied side by side once somebody looks at them. */
#include "kernels/machine/internal.h"

/* Each as rows. */
static void copy_windows(const tp_machine *m, const tp_ref *r, char *to)
{
    const tp_cells *c = &r->cells;
    size_t size = tp_dtype_size(c->dtype), n = c->n / (size_t)m->together * size,
           row = r->pitch ? (size_t)c->dims[c->rank - 1] * size : n;
    for (int64_t q = 0; q < m->together; q++) {
        const char *from = r->places[q];
        for (size_t done = 0; done < n; done += row, to += row, from += r->pitch * (ptrdiff_t)size)
            memcpy(to, from, row);
    }
}

void tp_gathered_fetch(tp_machine *m, tp_ref *r)
{
    if (!tp_is_gathered(m, r) || r->fetched)
        return;
    copy_windows(m, r, r->cells.own);
    r->fetched = true;
}

bool tp_gathered_defers(tp_machine *m, const tp_inst *i)
{
    if (i->prim != TP_P_LOAD || !tp_is_gathered(m, &m->refs[i->access->operand]) || m->uses[i->out] != 1)
        return false;
    m->values[i->out].state = TP_CLEAN;
    tp_begin_waiting(m, &m->values[i->out], i, 1);
    return true;
}

bool tp_gathered_stores(tp_machine *m, tp_vid v, tp_cells *to)
{
    tp_cells *value = &m->values[v];
    const tp_inst *i = value->waits;
    const tp_ref *from = i && i->prim == TP_P_LOAD ? &m->refs[i->access->operand] : NULL;
    if (!from || !tp_is_gathered(m, from) || from->fetched || from->cells.n != value->n || to->n != value->n ||
        to->dtype != value->dtype || to->viewed)
        return false;
    tp_end_waiting(m, value);
    copy_windows(m, from, to->data);
    to->state = TP_CLEAN;
    return true;
}
