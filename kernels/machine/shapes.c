/* Primitives that make, move and cut arrays. A result lane takes the origin of
 * the lane that it copies. */
#include "base/strided.h"
#include "base/vectorised.h"
#include "kernels/machine/internal.h"

/* A box of `to` from a box of `from`, with origins: extents, first elements and strides of both. */
typedef struct box {
    uint32_t rank;
    int64_t dims[TP_MAX_RANK];
    size_t to_first, from_first;
    ptrdiff_t to[TP_MAX_RANK], from[TP_MAX_RANK];
} box;

static void move_box(tp_machine *m, tp_cells *to, tp_cells *from, const box *b)
{
    size_t size = tp_dtype_size(to->dtype);
    tp_move(size, b->rank, b->dims, (char *)to->data + b->to_first * size, b->to,
            (const char *)from->data + b->from_first * size, b->from);
    if (to->state == TP_CLEAN && from->state == TP_CLEAN)
        return;
    static const tp_origin DEFINED = 0;
    static const ptrdiff_t NOWHERE[TP_MAX_RANK] = {0};
    bool clean = from->state == TP_CLEAN;
    tp_origin *shadow = tp_materialise(m, to);
    tp_move(sizeof *shadow, b->rank, b->dims, shadow + b->to_first, b->to,
            clean ? &DEFINED : tp_materialise(m, from) + b->from_first, clean ? NOWHERE : b->from);
}

/* Extents of c and, as strides of `to`, its own. */
static box box_of(const tp_cells *c)
{
    box b = {.rank = c->rank};
    size_t own[TP_MAX_RANK];
    tp_strides_of(c, own);
    for (uint32_t d = 0; d < c->rank; d++) {
        b.dims[d] = c->dims[d];
        b.to[d] = (ptrdiff_t)own[d];
    }
    return b;
}

/* out[i] = from[index(i)], where index is linear in the output coordinates. */
static void gather(tp_machine *m, tp_cells *out, tp_cells *from, const ptrdiff_t *stride, size_t first)
{
    box b = box_of(out);
    memcpy(b.from, stride, out->rank * sizeof *stride);
    b.from_first = first;
    out->state = TP_CLEAN;
    move_box(m, out, from, &b);
    tp_note_defined(out); /* what is undefined may have been left behind */
}

/* broadcast, transpose, slice */
static void exec_linear(tp_machine *m, const tp_inst *i)
{
    ptrdiff_t stride[TP_MAX_RANK];
    size_t first;
    if (m->values[i->args[0]].state == TP_INSIDE)
        tp_materialise(m, &m->values[i->args[0]]);
    tp_strides_in(m, i, stride, &first);
    gather(m, &m->values[i->out], &m->values[i->args[0]], stride, first);
}

TP_VECTORISED static void count_up(size_t n, int32_t *to)
{
    for (size_t k = 0; k < n; k++)
        to[k] = (int32_t)k;
}

void tp_exec_iota(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    size_t stride[TP_MAX_RANK];
    tp_strides_of(out, stride);
    size_t step = stride[i->integer], extent = (size_t)out->dims[i->integer];
    out->state = TP_CLEAN;
    for (size_t e = 0; step == 1 && out->dtype == TP_I32 && e < out->n; e += extent)
        count_up(extent, (int32_t *)out->data + e);
    if (step == 1 && out->dtype == TP_I32)
        return;
    for (size_t e = 0; e < out->n; e += step * extent) /* one turn of the dimension */
        for (size_t v = 0; v < extent; v++)
            for (size_t k = e + v * step; k < e + (v + 1) * step; k++)
                if (out->dtype == TP_I32)
                    ((int32_t *)out->data)[k] = (int32_t)v;
                else
                    tp_put_i64(out->dtype, out->data, k, (int64_t)v);
}

static void exec_flip(tp_machine *m, const tp_inst *i)
{
    tp_cells *from = &m->values[i->args[0]];
    size_t own[TP_MAX_RANK], first;
    ptrdiff_t stride[TP_MAX_RANK];
    tp_strides_of(from, own);
    for (uint32_t d = 0; d < from->rank; d++)
        stride[d] = d == (uint32_t)i->integer ? -(ptrdiff_t)own[d] : (ptrdiff_t)own[d];
    first = from->n ? own[i->integer] * (size_t)(from->dims[i->integer] - 1) : 0;
    gather(m, &m->values[i->out], from, stride, first);
}

/* In two pieces: what goes round, and the rest. */
static void exec_roll(tp_machine *m, const tp_inst *i)
{
    tp_cells *from = &m->values[i->args[0]], *out = &m->values[i->out];
    const tp_cells *by = &m->values[i->args[1]];
    uint32_t d = (uint32_t)i->integer;
    int64_t extent = from->dims[d];
    tp_origin unknown = tp_any_undefined(by);
    if (unknown) { /* by nobody knows how much */
        tp_make_undefined(out, unknown);
        return;
    }
    out->state = TP_CLEAN;
    if (!out->n)
        return;
    int64_t shift = (tp_get_i64(by->dtype, by->data, 0) % extent + extent) % extent;
    box b = box_of(out);
    memcpy(b.from, b.to, sizeof b.from);
    b.dims[d] = extent - shift;
    b.to_first = (size_t)(shift * b.to[d]);
    move_box(m, out, from, &b);
    b.dims[d] = shift;
    b.from_first = (size_t)((extent - shift) * b.to[d]);
    b.to_first = 0;
    move_box(m, out, from, &b);
}

/* Each dimension is split in two: repeats inside (of elements) or outside (of the whole). */
static void exec_repeats(tp_machine *m, const tp_inst *i)
{
    tp_cells *from = &m->values[i->args[0]], *out = &m->values[i->out];
    bool inside = i->prim == TP_P_REPEAT;
    size_t own[TP_MAX_RANK];
    int64_t at[TP_MAX_RANK] = {0}, copies[TP_MAX_RANK];
    box b = box_of(out);
    tp_strides_of(from, own);
    out->state = TP_CLEAN;
    for (uint32_t d = 0; d < out->rank; d++) {
        copies[d] = from->dims[d] ? out->dims[d] / from->dims[d] : 0;
        b.dims[d] = from->dims[d];
        b.from[d] = (ptrdiff_t)own[d];
    }
    box one = b; /* a copy of `from`: each time at another place of `out` */
    for (uint32_t d = 0; d < out->rank; d++)
        one.to[d] = inside ? b.to[d] * copies[d] : b.to[d];
    for (uint32_t d = out->n ? 0 : UINT32_MAX; d != UINT32_MAX;) {
        one.to_first = 0;
        for (uint32_t x = 0; x < out->rank; x++)
            one.to_first += (size_t)(at[x] * b.to[x] * (inside ? 1 : from->dims[x]));
        move_box(m, out, from, &one);
        for (d = out->rank; d-- > 0;) {
            if (++at[d] < copies[d])
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
    size_t size = tp_dtype_size(out->dtype), plane = extent * inner, outer = plane ? from->n / plane : 0;
    for (size_t o = 0, e = 0; o < outer || (!outer && e < out->n); o++)
        for (size_t at = 0; at < index->n; at++, e += inner) {
            tp_origin unknown = tp_origin_at(index, at);
            int64_t k = unknown ? 0 : tp_get_i64(index->dtype, index->data, at);
            if (k < 0 || (uint64_t)k >= extent)
                tp_trap_raise(m, TP_RULE_SLICE_OUT_OF_BOUNDS, (tp_str){NULL, 0}, "take of element %lld of %zu",
                              (long long)k, extent);
            size_t source = (o * extent + (size_t)k) * inner;
            memcpy((char *)out->data + e * size, (const char *)from->data + source * size, inner * size);
            for (size_t t = 0; out->state == TP_MIXED && t < inner; t++)
                out->shadow[e + t] = unknown ? unknown : tp_origin_at(from, source + t);
        }
}

/* ---- parts beside each other ---- */

/* Copy `from` into the box of `out` that starts at start[]. */
static void place(tp_machine *m, tp_cells *out, tp_cells *from, const int64_t *start)
{
    box b = box_of(out), all = box_of(from);
    memcpy(b.dims, all.dims, sizeof b.dims);
    memcpy(b.from, all.to, sizeof b.from);
    for (uint32_t d = 0; d < out->rank; d++)
        b.to_first += (size_t)(start[d] * b.to[d]);
    move_box(m, out, from, &b);
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
    static const ptrdiff_t NOWHERE[TP_MAX_RANK] = {0};
    tp_cells *out = &m->values[i->out];
    int64_t start[TP_MAX_RANK];
    for (uint32_t d = 0; d < out->rank; d++)
        tp_expr_eval(m->k->exprs, i->starts[d], m->env, &start[d]);
    gather(m, out, &m->values[i->args[1]], NOWHERE, 0);
    place(m, out, &m->values[i->args[0]], start);
}

static void exec_reshape(tp_machine *m, const tp_inst *i)
{
    if (m->domain || m->assigned[i->args[0]])
        tp_copy_cells(m, &m->values[i->out], &m->values[i->args[0]]);
    else
        tp_show_numbers(m, &m->values[i->out], &m->values[i->args[0]]);
}

void tp_exec_move(tp_machine *m, const tp_inst *i)
{
    static void (*const MOVES[TP_PRIMS])(tp_machine *, const tp_inst *) = {
        [TP_P_BROADCAST] = exec_linear, [TP_P_TRANSPOSE] = exec_linear,
        [TP_P_SLICE] = exec_linear,     [TP_P_RESHAPE] = exec_reshape,
        [TP_P_TAKE] = exec_take,        [TP_P_ROLL] = exec_roll,
        [TP_P_FLIP] = exec_flip,        [TP_P_CONCATENATE] = exec_concatenate,
        [TP_P_PAD] = exec_pad,          [TP_P_TILE] = exec_repeats,
        [TP_P_REPEAT] = exec_repeats,
    };
    if (!MOVES[i->prim])
        tp_no_meaning(m, i->prim);
    MOVES[i->prim](m, i);
}
