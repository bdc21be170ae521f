/* dot: operands are packed to [batch][m][k] and [batch][k][n] in the type of
 * the accumulator, multiplied, and rounded once to the result's type. */
#include "domains/multiply.h"
#include "kernels/machine/internal.h"

/* How to walk one operand: batch dimensions, then `first`, then `second`. */
typedef struct layout {
    uint32_t order[TP_MAX_RANK];
    size_t batch, first, second;
} layout;

static layout plan(const tp_inst *i, const tp_cells *c, int side)
{
    layout l = {.batch = 1, .first = 1, .second = 1};
    bool used[TP_MAX_RANK] = {false};
    uint32_t at = 0;
    for (uint32_t p = i->ncontract; p < i->ncontract + i->nbatch; p++) {
        uint32_t d = (uint32_t)i->ints[2 * p + (uint32_t)side];
        l.order[at++] = d;
        used[d] = true;
        l.batch *= (size_t)c->dims[d];
    }
    size_t contracted = 1, rest = 1;
    for (uint32_t p = 0; p < i->ncontract; p++) {
        used[i->ints[2 * p + (uint32_t)side]] = true;
        contracted *= (size_t)c->dims[i->ints[2 * p + (uint32_t)side]];
    }
    for (int pass = 0; pass < 2; pass++) { /* a: rest, contracted; b: the other way */
        if (pass == side)
            for (uint32_t d = 0; d < c->rank; d++) {
                if (!used[d]) {
                    l.order[at++] = d;
                    rest *= (size_t)c->dims[d];
                }
            }
        else
            for (uint32_t p = 0; p < i->ncontract; p++)
                l.order[at++] = (uint32_t)i->ints[2 * p + (uint32_t)side];
    }
    l.first = side == 0 ? rest : contracted;
    l.second = side == 0 ? contracted : rest;
    return l;
}

typedef enum accumulator { ACC_F32, ACC_F64, ACC_INT, AS_IT_IS } accumulator;

static void convert(accumulator acc, void *to, size_t i, const tp_cells *c, size_t j)
{
    if (acc == ACC_F32)
        ((float *)to)[i] = c->dtype == TP_F32 ? ((const float *)c->data)[j] : (float)tp_get_f64(c->dtype, c->data, j);
    else if (acc == ACC_F64)
        ((double *)to)[i] = tp_get_f64(c->dtype, c->data, j);
    else if (acc == AS_IT_IS) /* planes: words of 64 bits */
        ((uint64_t *)to)[i] = ((const uint64_t *)c->data)[j];
    else
        ((uint64_t *)to)[i] = (uint64_t)tp_get_i64(c->dtype, c->data, j);
}

/* Is the operand packed as it lies? */
static bool in_order(const tp_cells *c, const layout *l)
{
    for (uint32_t d = 0; d < c->rank; d++)
        if (l->order[d] != d)
            return false;
    return true;
}

static void pack(accumulator acc, void *to, size_t *origin_at, const tp_cells *c, const layout *l)
{
    size_t stride[TP_MAX_RANK], s = 1;
    int64_t at[TP_MAX_RANK] = {0};
    for (uint32_t d = c->rank; d-- > 0; s *= (size_t)c->dims[d])
        stride[d] = s;
    size_t j = 0;
    for (size_t i = 0; i < c->n; i++) {
        convert(acc, to, i, c, j);
        if (origin_at)
            origin_at[i] = j;
        for (uint32_t q = c->rank; q-- > 0;) {
            uint32_t d = l->order[q];
            j += stride[d];
            if (++at[d] < c->dims[d])
                break;
            j -= stride[d] * (size_t)c->dims[d];
            at[d] = 0;
        }
    }
}

/* First undefined origin of each row (or column) of a packed operand. */
static void undefined_lines(tp_origin *r, const tp_cells *c, const layout *l, const size_t *origin_at, bool rows)
{
    memset(r, 0, l->batch * (rows ? l->first : l->second) * sizeof *r);
    for (size_t b = 0, i = 0; b < l->batch; b++)
        for (size_t f = 0; f < l->first; f++)
            for (size_t s = 0; s < l->second; s++, i++) {
                tp_origin *line = &r[b * (rows ? l->first : l->second) + (rows ? f : s)];
                if (!*line)
                    *line = tp_origin_at(c, origin_at[i]);
            }
}

static void dot_shadow(tp_machine *m, tp_cells *out, const tp_cells *a, const tp_cells *b, const layout *la,
                       const layout *lb, const size_t *at_a, const size_t *at_b, tp_origin *row)
{
    size_t mm = la->first, n = lb->second;
    tp_origin *shadow = tp_materialise(m, out), *column = row + la->batch * mm;
    undefined_lines(row, a, la, at_a, true);
    undefined_lines(column, b, lb, at_b, false);
    for (size_t q = 0, i = 0; q < la->batch; q++)
        for (size_t r = 0; r < mm; r++)
            for (size_t c = 0; c < n; c++, i++)
                shadow[i] = row[q * mm + r] ? row[q * mm + r] : column[q * n + c];
}

/* One operand in packed order: its planes, or its data as double. */
static tp_lanes packed(const tp_machine *m, tp_cells *c, const layout *l, double *room)
{
    tp_lanes x = tp_lanes_of(c);
    x.stored = TP_F64;
    x.data = room;
    if (!x.plane[0]) {
        pack(ACC_F64, room, NULL, c, l);
        return x;
    }
    for (uint32_t p = 0; p < m->domain->nplanes; p++) {
        tp_cells plane = *c;
        plane.data = c->meaning.plane[p];
        plane.dtype = TP_F64;
        if (in_order(c, l))
            continue;
        x.plane[p] = room + p * c->n;
        pack(AS_IT_IS, x.plane[p], NULL, &plane, l);
    }
    return x;
}

static void plane_dot(tp_machine *m, const tp_inst *i, const layout *la, const layout *lb)
{
    tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]], *out = &m->values[i->out];
    double *room = tp_workspace(m, i->out, (a->n + b->n) * TP_MAX_PLANES * sizeof *room);
    tp_lanes x = packed(m, a, la, room), y = packed(m, b, lb, room + TP_MAX_PLANES * a->n),
             r = tp_planes_result(m, out);
    tp_dot_shape s = {la->batch, la->first, lb->second, la->second};
    tp_planes_written(out, &r, m->domain->dot(m->domain, s, &r, &x, &y));
}

void tp_exec_dot(tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]];
    tp_cells *out = &m->values[i->out];
    layout la = plan(i, a, 0), lb = plan(i, b, 1);
    accumulator acc = !tp_is_float(a->dtype) ? ACC_INT : a->dtype == TP_F64 || out->dtype == TP_F64 ? ACC_F64 : ACC_F32;
    size_t size = acc == ACC_F32 ? 4 : 8, mm = la.first, k = la.second, n = lb.second;
    tp_spend(m->arena, (int64_t)(la.batch * mm * n / (m->domain ? 8 : 64) * k));
    bool dirty = a->state != TP_CLEAN || b->state != TP_CLEAN;
    size_t room = ((a->n + b->n + out->n) * size + 7) / 8 * 8;
    size_t places = (a->n + b->n) * sizeof(size_t), lines = la.batch * (mm + n) * sizeof(tp_origin);
    char *space = tp_workspace(m, i->out, room + (dirty ? places + lines : 0));
    char *pa = space, *pb = pa + a->n * size, *pr = pb + b->n * size;
    size_t *at_a = dirty ? (size_t *)(void *)(space + room) : NULL, *at_b = dirty ? at_a + a->n : NULL;
    bool direct = acc == ACC_F32 && !dirty;
    if (direct && a->dtype == TP_F32 && in_order(a, &la))
        pa = a->data;
    else
        pack(acc, pa, at_a, a, &la);
    if (direct && b->dtype == TP_F32 && in_order(b, &lb))
        pb = b->data;
    else
        pack(acc, pb, at_b, b, &lb);
    if (direct && out->dtype == TP_F32)
        pr = out->data;
    for (size_t q = 0; q < la.batch; q++) {
        const char *x = pa + q * mm * k * size, *y = pb + q * k * n * size;
        char *r = pr + q * mm * n * size;
        if (acc == ACC_F32)
            tp_multiply_f32(mm, n, k, (const float *)(const void *)x, (const float *)(const void *)y,
                            (float *)(void *)r);
        else if (acc == ACC_F64)
            tp_multiply_f64(mm, n, k, (const double *)(const void *)x, (const double *)(const void *)y,
                            (double *)(void *)r);
        else
            tp_multiply_u64(mm, n, k, (const uint64_t *)(const void *)x, (const uint64_t *)(const void *)y,
                            (uint64_t *)(void *)r);
    }
    for (size_t e = 0; pr != (char *)out->data && e < out->n; e++) {
        if (acc == ACC_F32)
            tp_put_f64(out->dtype, out->data, e, (double)((const float *)(const void *)pr)[e]);
        else if (acc == ACC_F64)
            tp_put_f64(out->dtype, out->data, e, ((const double *)(const void *)pr)[e]);
        else /* int32 accumulation wraps */
            tp_put_i64(out->dtype, out->data, e, (int32_t)((const uint64_t *)(const void *)pr)[e]);
    }
    out->state = TP_CLEAN;
    if (dirty)
        dot_shadow(m, out, a, b, &la, &lb, at_a, at_b, (tp_origin *)(void *)(space + room + places));
    if (m->domain) /* last: it uses the workspace again */
        plane_dot(m, i, &la, &lb);
}
