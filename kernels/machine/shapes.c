/* Primitives that make, move and cut arrays. A result lane takes the origin of
 * the lane that it copies. */
#include "kernels/machine/internal.h"

/* out[i] = from[index(i)], where index is linear in the output coordinates. */
static void gather(tp_machine *m, tp_cells *out, const tp_cells *from, const size_t *stride)
{
    int64_t at[TP_MAX_RANK] = {0};
    size_t j = 0, size = tp_dtype_size(out->dtype);
    uint32_t last = out->rank ? out->rank - 1 : 0;
    out->state = TP_CLEAN;
    tp_origin *shadow = from->state == TP_CLEAN ? NULL : tp_materialise(m, out);
    for (size_t i = 0; i < out->n;) {
        size_t run = out->rank ? (size_t)out->dims[last] : 1, step = out->rank ? stride[last] : 0;
        if (step == 1) {
            memcpy((char *)out->data + i * size, (const char *)from->data + j * size, run * size);
        } else if (size == 4) {
            const uint32_t *restrict p = (const uint32_t *)from->data + j;
            uint32_t *restrict q = (uint32_t *)out->data + i;
            for (size_t k = 0; k < run; k++)
                q[k] = p[k * step];
        } else {
            for (size_t k = 0; k < run; k++)
                tp_copy_element(out, i + k, from, j + k * step);
        }
        for (size_t k = 0; shadow && k < run; k++)
            shadow[i + k] = tp_origin_at(from, j + k * step);
        i += run;
        for (uint32_t d = last; d-- > 0;) { /* next row of the output */
            j += stride[d];
            if (++at[d] < out->dims[d])
                break;
            j -= stride[d] * (size_t)out->dims[d];
            at[d] = 0;
        }
    }
}

static void exec_broadcast(tp_machine *m, const tp_inst *i)
{
    const tp_cells *from = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    size_t own[TP_MAX_RANK], stride[TP_MAX_RANK] = {0};
    tp_strides_of(from, own);
    for (uint32_t d = 0; d < from->rank; d++)
        stride[d] = from->dims[d] == 1 ? 0 : own[d];
    gather(m, out, from, stride);
}

static void exec_transpose(tp_machine *m, const tp_inst *i)
{
    const tp_cells *from = &m->values[i->args[0]];
    size_t own[TP_MAX_RANK], stride[TP_MAX_RANK];
    tp_strides_of(from, own);
    for (uint32_t d = 0; d < from->rank; d++)
        stride[d] = own[i->ints[d]];
    gather(m, &m->values[i->out], from, stride);
}

static void exec_iota(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    size_t stride[TP_MAX_RANK];
    tp_strides_of(out, stride);
    size_t step = stride[i->integer], extent = (size_t)out->dims[i->integer];
    out->state = TP_CLEAN;
    for (size_t e = 0; e < out->n; e++) {
        int64_t v = (int64_t)(e / step % extent);
        if (out->dtype == TP_I32)
            ((int32_t *)out->data)[e] = (int32_t)v;
        else
            tp_put_i64(out->dtype, out->data, e, v);
    }
}

/* ---- one map per dimension ---- */

/* Element of dimension d of the argument from which element `at` of the result comes. */
static size_t source_of(tp_machine *m, const tp_inst *i, uint32_t d, size_t at, size_t extent, int64_t shift)
{
    int64_t start = 0;
    switch (i->prim) {
    case TP_P_SLICE:
        tp_expr_eval(m->k->exprs, i->starts[d], m->env, &start);
        return (size_t)start + at * (size_t)i->ints[d];
    case TP_P_TILE: return at % extent;
    case TP_P_REPEAT: return at / (size_t)i->ints[d];
    case TP_P_FLIP: return d == (uint32_t)i->integer ? extent - 1 - at : at;
    default: /* TP_P_ROLL */
        if (d != (uint32_t)i->integer)
            return at;
        return (size_t)((((int64_t)at - shift) % (int64_t)extent + (int64_t)extent) % (int64_t)extent);
    }
}

/* out[i0, i1, …] = from[source(0, i0), source(1, i1), …] */
static void exec_dimensions(tp_machine *m, const tp_inst *i)
{
    const tp_cells *from = &m->values[i->args[0]], *by = i->nargs > 1 ? &m->values[i->args[1]] : NULL;
    tp_cells *out = &m->values[i->out];
    size_t own[TP_MAX_RANK], *source[TP_MAX_RANK], total = 0;
    int64_t at[TP_MAX_RANK] = {0};
    tp_origin unknown = by ? tp_any_undefined(by) : 0;
    if (unknown) { /* rolled by nobody knows how much */
        tp_make_undefined(out, unknown);
        return;
    }
    tp_strides_of(from, own);
    for (uint32_t d = 0; d < out->rank; d++)
        total += (size_t)out->dims[d];
    size_t *space = tp_workspace(m, i->out, (total + 1) * sizeof *space);
    for (uint32_t d = 0; d < out->rank; d++) {
        source[d] = space;
        for (size_t k = 0; k < (size_t)out->dims[d]; k++)
            *space++ =
                own[d] * source_of(m, i, d, k, (size_t)from->dims[d], by ? tp_get_i64(by->dtype, by->data, 0) : 0);
    }
    out->state = TP_CLEAN;
    tp_origin *shadow = from->state == TP_CLEAN ? NULL : tp_materialise(m, out);
    uint32_t last = out->rank - 1;
    for (size_t e = 0; e < out->n;) {
        size_t base = 0;
        for (uint32_t d = 0; d < last; d++)
            base += source[d][at[d]];
        for (size_t k = 0; k < (size_t)out->dims[last]; k++, e++) {
            tp_copy_element(out, e, from, base + source[last][k]);
            if (shadow)
                shadow[e] = tp_origin_at(from, base + source[last][k]);
        }
        for (uint32_t d = last; d-- > 0;) {
            if (++at[d] < out->dims[d])
                break;
            at[d] = 0;
        }
    }
}

/* out[.., i.., ..] = from[.., index[i..], ..]; a lane of the index that is
 * undefined makes its lanes undefined. */
static void exec_take(tp_machine *m, const tp_inst *i)
{
    const tp_cells *from = &m->values[i->args[0]], *index = &m->values[i->args[1]];
    tp_cells *out = &m->values[i->out];
    size_t inner = 1, extent = (size_t)from->dims[i->integer];
    for (uint32_t d = (uint32_t)i->integer + 1; d < from->rank; d++)
        inner *= (size_t)from->dims[d];
    out->state = TP_CLEAN;
    if (from->state != TP_CLEAN || index->state != TP_CLEAN)
        tp_materialise(m, out);
    for (size_t e = 0; e < out->n; e++) {
        size_t at = e / inner % index->n, outer = e / inner / index->n;
        tp_origin unknown = tp_origin_at(index, at);
        int64_t k = unknown ? 0 : tp_get_i64(index->dtype, index->data, at);
        if (k < 0 || (uint64_t)k >= extent)
            tp_trap_raise(m, "TP102", (tp_str){NULL, 0}, "take of element %lld of %zu", (long long)k, extent);
        size_t source = (outer * extent + (size_t)k) * inner + e % inner;
        tp_copy_element(out, e, from, source);
        if (out->state == TP_MIXED)
            out->shadow[e] = unknown ? unknown : tp_origin_at(from, source);
    }
}

/* ---- parts beside each other ---- */

/* Copy `from` into the box of `out` that starts at start[]. */
static void place(tp_machine *m, tp_cells *out, const tp_cells *from, const int64_t *start)
{
    int64_t at[TP_MAX_RANK] = {0};
    uint32_t last = out->rank - 1;
    size_t size = tp_dtype_size(out->dtype), row = (size_t)from->dims[last];
    if (from->state != TP_CLEAN)
        tp_materialise(m, out);
    for (size_t e = 0; e < from->n; e += row) {
        size_t to = 0;
        for (uint32_t d = 0; d < out->rank; d++)
            to = to * (size_t)out->dims[d] + (size_t)(start[d] + at[d]);
        memcpy((char *)out->data + to * size, (const char *)from->data + e * size, row * size);
        for (size_t k = 0; out->state == TP_MIXED && k < row; k++)
            out->shadow[to + k] = tp_origin_at(from, e + k);
        for (uint32_t d = last; d-- > 0;) {
            if (++at[d] < from->dims[d])
                break;
            at[d] = 0;
        }
    }
}

static void exec_concatenate(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    int64_t start[TP_MAX_RANK] = {0};
    out->state = TP_CLEAN;
    for (uint32_t a = 0; a < i->nargs; a++) {
        place(m, out, &m->values[i->args[a]], start);
        start[i->integer] += m->values[i->args[a]].dims[i->integer];
    }
}

static void exec_pad(tp_machine *m, const tp_inst *i)
{
    const tp_cells *from = &m->values[i->args[0]], *value = &m->values[i->args[1]];
    tp_cells *out = &m->values[i->out];
    int64_t start[TP_MAX_RANK];
    for (uint32_t d = 0; d < out->rank; d++)
        tp_expr_eval(m->k->exprs, i->starts[d], m->env, &start[d]);
    out->state = TP_CLEAN;
    tp_origin *shadow = value->state == TP_CLEAN ? NULL : tp_materialise(m, out);
    for (size_t e = 0; e < out->n; e++) {
        tp_copy_element(out, e, value, 0);
        if (shadow)
            shadow[e] = tp_origin_at(value, 0);
    }
    place(m, out, from, start);
}

bool tp_exec_shape(tp_machine *m, const tp_inst *i)
{
    switch (i->prim) {
    case TP_P_BROADCAST: exec_broadcast(m, i); return true;
    case TP_P_TRANSPOSE: exec_transpose(m, i); return true;
    case TP_P_IOTA: exec_iota(m, i); return true;
    case TP_P_TAKE: exec_take(m, i); return true;
    case TP_P_CONCATENATE: exec_concatenate(m, i); return true;
    case TP_P_PAD: exec_pad(m, i); return true;
    case TP_P_SLICE:
    case TP_P_TILE:
    case TP_P_REPEAT:
    case TP_P_ROLL:
    case TP_P_FLIP: exec_dimensions(m, i); return true;
    default: return false;
    }
}
