/* Values that are rows of other values: broadcasts along or across rows, slices, and what counts up. They are read
 * where they lie by what works lane by lane, and moved for everything else. */
#include "base/strided.h"
#include "kernels/machine/internal.h"

/* Of fewer elements a move costs less than going row by row. */
int64_t tp_short_row(const tp_machine *m)
{
    return m->request->short_row ? m->request->short_row : 16;
}

void tp_strides_of(const tp_cells *c, size_t *stride)
{
    size_t s = 1, row = c->rank ? (size_t)c->dims[c->rank - 1] : 1;
    for (uint32_t d = c->rank; d-- > 0;) {
        stride[d] = s;
        if (c->viewed)
            stride[d] = d + 1 == c->rank ? !c->flat_row : s / row * (size_t)c->pitch;
        s *= (size_t)c->dims[d];
    }
}

bool tp_strides_in(tp_machine *m, const tp_inst *i, ptrdiff_t *stride, size_t *first)
{
    const tp_cells *from = &m->values[i->args[0]], *out = &m->values[i->out];
    size_t own[TP_MAX_RANK];
    tp_strides_of(from, own);
    memset(stride, 0, out->rank * sizeof *stride);
    *first = 0;
    for (uint32_t d = 0; d < from->rank; d++) {
        int64_t start = 0;
        if (i->prim == TP_P_SLICE)
            tp_expr_eval(m->k->exprs, i->starts[d], m->env, &start);
        *first += own[d] * (size_t)start;
        if (i->prim == TP_P_TRANSPOSE)
            stride[d] = (ptrdiff_t)own[i->ints[d]];
        else if (i->prim == TP_P_BROADCAST)
            stride[d] = from->dims[d] == 1 ? 0 : (ptrdiff_t)own[d];
        else if (i->prim == TP_P_SLICE) /* a stride between no two elements may be any number */
            stride[d] = out->dims[d] > 1 ? (ptrdiff_t)own[d] * i->ints[d] : 0;
        else
            return false;
    }
    return true;
}

bool tp_one_pitch(uint32_t rank, const int64_t *dims, const ptrdiff_t *stride, ptrdiff_t *pitch)
{
    bool any = false;
    ptrdiff_t next = 0; /* distance of an element of the dimension before */
    *pitch = 0;
    for (uint32_t d = rank - 1; d-- > 0;) {
        if (dims[d] == 1)
            continue;
        if (!any)
            *pitch = stride[d];
        else if (stride[d] != next)
            return false;
        any = true;
        next = stride[d] * (ptrdiff_t)dims[d];
    }
    return true;
}

static bool lies_within(const tp_cells *c, const tp_box_of_cells *box, const int64_t *first, const int64_t *size,
                        const int64_t *stride)
{
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t from = first[d] - box->first[d], last = from + (size[d] - 1) * stride[d];
        if (stride[d] < 1 || from < 0 || last >= box->extent[d])
            return false;
    }
    return true;
}

bool tp_defined_box(const tp_cells *c, const int64_t *first, const int64_t *size, const int64_t *stride)
{
    bool any = c->state == TP_CLEAN || (c->state == TP_INSIDE && lies_within(c, c->defined, first, size, stride));
    for (uint32_t p = 0; c->state == TP_PIECES && p < c->pieces->n; p++)
        any |= lies_within(c, &c->pieces->at[p], first, size, stride);
    return any;
}

/* Is all that the result shows defined? */
static bool shows_defined(tp_machine *m, const tp_inst *i)
{
    const tp_cells *from = &m->values[i->args[0]];
    int64_t first[TP_MAX_RANK] = {0}, stride[TP_MAX_RANK];
    for (uint32_t d = 0; i->prim == TP_P_SLICE && d < from->rank; d++) {
        tp_expr_eval(m->k->exprs, i->starts[d], m->env, &first[d]);
        stride[d] = i->ints[d];
    }
    return i->prim == TP_P_SLICE ? tp_defined_box(from, first, m->values[i->out].dims, stride)
                                 : from->state == TP_CLEAN;
}

/* Numbers that count up: one row for all, or one number for each of them. */
static bool view_count(tp_machine *m, const tp_inst *i)
{
    enum { WORTH_IT = 2048 }; /* fewer elements are in the first cache anyway */
    tp_cells *out = &m->values[i->out];
    uint32_t last = out->rank - 1, along = (uint32_t)i->integer;
    bool flat = along != last, alone = true;
    for (uint32_t d = 0; d < last; d++)
        alone &= !flat || d == along || out->dims[d] == 1;
    if (out->dtype != TP_I32 || out->rank < 2 || !alone || out->dims[last] < tp_short_row(m) ||
        out->n < (m->request->strip ? 2 : WORTH_IT))
        return false;
    int32_t *at = tp_workspace(m, i->out, (size_t)out->dims[along] * sizeof *at);
    for (int64_t v = 0; v < out->dims[along]; v++)
        at[v] = (int32_t)v;
    out->state = TP_CLEAN;
    out->viewed = true;
    out->flat_row = flat;
    out->pitch = flat;
    out->data = at;
    return true;
}

bool tp_view(tp_machine *m, const tp_inst *i)
{
    ptrdiff_t stride[TP_MAX_RANK], pitch;
    size_t first;
    if (tp_may_defer(m) && i->prim == TP_P_IOTA)
        return view_count(m, i);
    if (!tp_may_defer(m) || (i->prim != TP_P_BROADCAST && i->prim != TP_P_SLICE))
        return false;
    const tp_cells *from = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    uint32_t last = out->rank - 1;
    if (!out->rank || !out->n || out->dims[last] < tp_short_row(m) || from->rank != out->rank || !shows_defined(m, i) ||
        m->assigned[i->args[0]] || !tp_strides_in(m, i, stride, &first) || (stride[last] & ~1) ||
        !tp_one_pitch(out->rank, out->dims, stride, &pitch))
        return false;
    out->state = TP_CLEAN;
    out->viewed = true;
    out->flat_row = stride[last] == 0;
    out->pitch = pitch;
    out->data = (char *)from->data + first * tp_dtype_size(out->dtype);
    return true;
}

/* Does a reduction fold in the same order wherever rows lie? Members that lie side by side have an order of their own.
 */
static bool keeps_order(const tp_machine *m, const tp_inst *i)
{
    bool last = false;
    for (uint32_t k = 0; k < i->nints; k++)
        last |= (uint32_t)i->ints[k] + 1 == m->values[i->args[0]].rank;
    return !last || i->nints == 1;
}

bool tp_reads_views(tp_machine *m, const tp_inst *i)
{
    tp_dtype d = m->values[i->args[0]].dtype;
    if (i->prim == TP_P_WHERE)
        return true;
    if (i->prim == TP_P_DOT)
        return (m->values[i->args[0]].state == TP_CLEAN && m->values[i->args[1]].state == TP_CLEAN) ||
               tp_keeps_box(m, i);
    if (i->prim == TP_P_TRANSPOSE || i->prim == TP_P_BROADCAST || i->prim == TP_P_SLICE || i->prim == TP_P_CONCATENATE)
        return true;
    if (tp_prim_reduces(i->prim))
        return !m->values[i->args[0]].flat_row && keeps_order(m, i);
    if (i->prim == TP_P_CAST)
        return tp_is_float(d) && tp_is_float(m->values[i->out].dtype) && !m->values[i->args[0]].flat_row;
    return i->prim != TP_P_INTEGER_POW && tp_prim_is_elementwise(i->prim) &&
           (tp_is_float(d) || !tp_prim_divides(i->prim));
}

void tp_flatten(tp_cells *c)
{
    if (!c->viewed)
        return;
    int64_t dims[2] = {(int64_t)(c->n / (size_t)c->dims[c->rank - 1]), c->dims[c->rank - 1]};
    ptrdiff_t to[2] = {(ptrdiff_t)dims[1], 1}, from[2] = {c->pitch, !c->flat_row};
    tp_move(tp_dtype_size(c->dtype), 2, dims, c->own, to, c->data, from);
    c->data = c->own;
    c->viewed = false;
}

void tp_bytes_of(const tp_cells *c, uintptr_t *first, uintptr_t *end)
{
    ptrdiff_t size = (ptrdiff_t)tp_dtype_size(c->dtype), lo = 0, hi = (ptrdiff_t)c->n * size;
    if (c->viewed && c->n) {
        ptrdiff_t row = c->dims[c->rank - 1], last = ((ptrdiff_t)c->n / row - 1) * c->pitch * size;
        lo = last < 0 ? last : 0;
        hi = (last > 0 ? last : 0) + row * size;
    }
    *first = (uintptr_t)c->data + (uintptr_t)lo;
    *end = (uintptr_t)c->data + (uintptr_t)hi;
}

bool tp_overlap(const tp_cells *a, const tp_cells *b)
{
    uintptr_t first, end, other, other_end;
    tp_bytes_of(a, &first, &end);
    tp_bytes_of(b, &other, &other_end);
    return first < other_end && other < end;
}

tp_cells tp_row_of(const tp_cells *c, size_t r)
{
    tp_cells row = *c;
    if (c->n == 1)
        return row;
    size_t n = (size_t)c->dims[c->rank - 1];
    ptrdiff_t pitch = c->viewed ? c->pitch : (ptrdiff_t)n;
    row.n = c->viewed && c->flat_row ? 1 : n;
    row.data = (char *)c->data + (ptrdiff_t)r * pitch * (ptrdiff_t)tp_dtype_size(c->dtype);
    row.viewed = false;
    return row;
}
