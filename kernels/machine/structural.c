/* Primitives with a structure of their own: selection, conversion, reductions. */
#include <math.h>

#include "kernels/machine/internal.h"

static void exec_where(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    const tp_cells *c = &m->values[i->args[0]], *a = &m->values[i->args[1]], *b = &m->values[i->args[2]];
    const uint8_t *cond = c->data;
    bool sc = c->n == 1 && out->n != 1, sa = a->n == 1 && out->n != 1, sb = b->n == 1 && out->n != 1;
    bool clean = c->state == TP_CLEAN && a->state == TP_CLEAN && b->state == TP_CLEAN;
    out->state = TP_CLEAN;
    if (out->dtype == TP_F32 && !sc) {
        const float *restrict x = a->data, *restrict y = b->data;
        float *restrict r = out->data;
        if (!sa && sb)
            for (size_t e = 0, n = out->n; e < n; e++)
                r[e] = cond[e] ? x[e] : y[0];
        else
            for (size_t e = 0, n = out->n; e < n; e++)
                r[e] = cond[e] ? x[sa ? 0 : e] : y[sb ? 0 : e];
    } else {
        for (size_t e = 0; e < out->n; e++)
            if (cond[sc ? 0 : e])
                tp_copy_element(out, e, a, sa ? 0 : e);
            else
                tp_copy_element(out, e, b, sb ? 0 : e);
    }
    if (clean)
        return;
    tp_origin *shadow = tp_materialise(m, out);
    bool any = false;
    for (size_t e = 0; e < out->n; e++) {
        size_t at = sc ? 0 : e;
        tp_origin oc = tp_origin_at(c, at);
        shadow[e] = oc ? oc : cond[at] ? tp_origin_at(a, sa ? 0 : e) : tp_origin_at(b, sb ? 0 : e);
        any |= shadow[e] != 0;
    }
    if (!any)
        out->state = TP_CLEAN;
}

/* ---- conversion ---- */

static void cast_to_int(tp_machine *m, tp_cells *out, const tp_cells *a)
{
    double lo = (double)tp_dtype_min(out->dtype) - 1, hi = (double)tp_dtype_max(out->dtype) + 1;
    for (size_t e = 0; e < out->n; e++) {
        double v = tp_get_f64(a->dtype, a->data, e);
        bool fits = v > lo && v < hi;
        tp_put_i64(out->dtype, out->data, e, fits ? (int64_t)v : 0);
        if (!fits && !tp_origin_at(a, e))
            tp_materialise(m, out)[e] =
                tp_origin_new(TP_BORN_CAST, 0, m->at && m->at->syntax ? m->at->syntax->number : 0, m->step);
    }
}

void tp_exec_cast(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    const tp_cells *a = &m->values[i->args[0]];
    out->state = TP_CLEAN;
    if (a->state != TP_CLEAN) {
        tp_origin *shadow = tp_materialise(m, out);
        for (size_t e = 0; e < out->n; e++)
            shadow[e] = tp_origin_at(a, e);
    }
    if (a->dtype == TP_WEAK_INT && !tp_is_float(out->dtype)) {
        int64_t v = *(const int64_t *)a->data;
        if (v < tp_dtype_min(out->dtype) || v > tp_dtype_max(out->dtype))
            tp_trap_raise(m, "TP104", (tp_str){NULL, 0}, "%lld does not fit %s", (long long)v,
                          tp_dtype_info(out->dtype)->name);
        tp_put_i64(out->dtype, out->data, 0, v);
    } else if (tp_is_float(a->dtype) && out->dtype == TP_BOOL) {
        for (size_t e = 0; e < out->n; e++)
            ((uint8_t *)out->data)[e] = tp_get_f64(a->dtype, a->data, e) != 0;
    } else if (tp_is_float(a->dtype) && !tp_is_float(out->dtype)) {
        cast_to_int(m, out, a);
    } else if (a->dtype == TP_F32 && out->dtype == TP_BF16) {
        for (size_t e = 0; e < out->n; e++)
            ((uint16_t *)out->data)[e] = tp_bf16_from_f32(((const float *)a->data)[e]);
    } else if (a->dtype == TP_BF16 && out->dtype == TP_F32) {
        for (size_t e = 0; e < out->n; e++)
            ((float *)out->data)[e] = tp_bf16_to_f32(((const uint16_t *)a->data)[e]);
    } else if (tp_is_float(a->dtype)) {
        for (size_t e = 0; e < out->n; e++)
            tp_put_f64(out->dtype, out->data, e, tp_get_f64(a->dtype, a->data, e));
    } else {
        for (size_t e = 0; e < out->n; e++)
            tp_put_i64(out->dtype, out->data, e, tp_get_i64(a->dtype, a->data, e));
    }
}

/* ---- reductions ---- */

/* A reduction as output index -> members: for output o, the members are
 * base[o] + offset[t] for all t. */
typedef struct groups {
    size_t nout, nin;
    size_t *base, *offset;
} groups;

static size_t *enumerate(size_t *into, const tp_cells *c, const bool *pick, const size_t *stride, size_t *count)
{
    *count = 1;
    into[0] = 0;
    for (uint32_t d = 0; d < c->rank; d++) {
        if (!pick[d])
            continue;
        size_t extent = (size_t)c->dims[d], old = *count;
        for (size_t i = old; i-- > 0;) /* from the back: in place */
            for (size_t k = extent; k-- > 0;)
                into[i * extent + k] = into[i] + k * stride[d];
        *count = old * extent;
    }
    return into;
}

static groups group(tp_machine *m, const tp_inst *i, const tp_cells *a, const tp_cells *out)
{
    bool reduced[TP_MAX_RANK] = {false}, kept[TP_MAX_RANK];
    size_t stride[TP_MAX_RANK], nred = 1;
    tp_strides_of(a, stride);
    for (uint32_t k = 0; k < i->nints; k++)
        reduced[i->ints[k]] = true;
    for (uint32_t d = 0; d < a->rank; d++) {
        kept[d] = !reduced[d];
        nred *= reduced[d] ? (size_t)a->dims[d] : 1;
    }
    size_t *space = tp_workspace(m, i->out, (out->n + nred + 2) * sizeof *space);
    groups g;
    g.base = enumerate(space, a, kept, stride, &g.nout);
    g.offset = enumerate(space + out->n + 1, a, reduced, stride, &g.nin);
    return g;
}

static float sum_row(const float *restrict p, size_t n)
{
    enum { LANES = 16 };
    float lanes[LANES] = {0}, sum = 0;
    size_t t = 0;
    for (; t + LANES <= n; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += p[t + k];
    for (; t < n; t++)
        sum += p[t];
    for (size_t k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

static double fold_float(tp_prim prim, bool single, double acc, double v)
{
    switch (prim) {
    case TP_P_SUM: return single ? (double)((float)acc + (float)v) : acc + v;
    case TP_P_PROD: return single ? (double)((float)acc * (float)v) : acc * v;
    case TP_P_MAX: return acc > v || acc != acc ? acc : v;
    default: return acc < v || acc != acc ? acc : v;
    }
}

static int64_t fold_int(tp_prim prim, int64_t acc, int64_t v)
{
    switch (prim) {
    case TP_P_SUM: return (int64_t)((uint64_t)acc + (uint64_t)v);
    case TP_P_PROD: return (int64_t)((uint64_t)acc * (uint64_t)v);
    case TP_P_MAX: return acc > v ? acc : v;
    case TP_P_MIN: return acc < v ? acc : v;
    case TP_P_ANY: return acc | v;
    default: return acc & v;
    }
}

static int64_t arg_best(tp_prim prim, const tp_cells *a, size_t base, const groups *g)
{
    size_t best = 0;
    for (size_t t = 1; t < g->nin; t++) {
        double x = tp_get_f64(a->dtype, a->data, base + g->offset[best]),
               v = tp_get_f64(a->dtype, a->data, base + g->offset[t]);
        if (x == x && (v != v || (prim == TP_P_ARGMAX ? v > x : v < x))) /* ties: lowest; a NaN wins */
            best = t;
    }
    return (int64_t)best;
}

static void reduce_one(tp_prim prim, const tp_cells *a, tp_cells *out, size_t o, const groups *g)
{
    bool single = a->dtype != TP_F64;
    if (prim == TP_P_ARGMAX || prim == TP_P_ARGMIN) {
        tp_put_i64(out->dtype, out->data, o, arg_best(prim, a, g->base[o], g));
    } else if (a->dtype == TP_F32 && prim == TP_P_SUM && g->nin && g->offset[g->nin - 1] == g->nin - 1) {
        ((float *)out->data)[o] = sum_row((const float *)a->data + g->base[o], g->nin);
    } else if (tp_is_float(a->dtype)) {
        double acc = prim == TP_P_SUM ? 0 : prim == TP_P_PROD ? 1 : prim == TP_P_MAX ? -HUGE_VAL : HUGE_VAL;
        for (size_t t = 0; t < g->nin; t++)
            acc = fold_float(prim, single, acc, tp_get_f64(a->dtype, a->data, g->base[o] + g->offset[t]));
        tp_put_f64(out->dtype, out->data, o, acc);
    } else {
        int64_t acc = prim == TP_P_SUM || prim == TP_P_ANY    ? 0
                      : prim == TP_P_PROD || prim == TP_P_ALL ? 1
                      : prim == TP_P_MAX                      ? tp_dtype_min(a->dtype)
                                                              : tp_dtype_max(a->dtype);
        for (size_t t = 0; t < g->nin; t++)
            acc = fold_int(prim, acc, tp_get_i64(a->dtype, a->data, g->base[o] + g->offset[t]));
        tp_put_i64(out->dtype, out->data, o, acc);
    }
}

static void planes_of_reduce(tp_machine *m, tp_prim prim, tp_cells *out, const tp_cells *a, const tp_groups *g)
{
    tp_lanes x = tp_lanes_of(a), r = tp_planes_result(m, out);
    tp_planes_written(out, &r, m->domain->reduce(m->domain, prim, &r, &x, g));
}

void tp_exec_reduce(tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    groups g = group(m, i, a, out);
    out->state = TP_CLEAN;
    if ((i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN) && g.nin == 0)
        tp_trap_raise(m, "TP008", (tp_str){NULL, 0}, "argmax or argmin over no elements");
    for (size_t o = 0; o < out->n; o++)
        reduce_one(i->prim, a, out, o, &g);
    if (m->domain && !tp_chainable(m, i))
        planes_of_reduce(m, i->prim, out, a, &(tp_groups){g.nout, g.nin, g.base, g.offset});
    if (a->state == TP_CLEAN)
        return;
    tp_origin *shadow = tp_materialise(m, out);
    for (size_t o = 0; o < out->n; o++)
        for (size_t t = 0; t < g.nin && !shadow[o]; t++)
            shadow[o] = tp_origin_at(a, g.base[o] + g.offset[t]);
}

/* ---- running reductions ---- */

/* True when the row says more than its data. */
static bool plane_of_row(tp_machine *m, tp_prim prim, tp_cells *out, const tp_cells *a, size_t start, ptrdiff_t step,
                         size_t n)
{
    tp_lanes x = tp_lanes_of(a), r = tp_planes_result(m, out);
    bool any = m->domain->scan(m->domain, prim, &r, &x, start, step, n);
    out->meaning.degree = r.degree;
    return any;
}

/* out[..., t, ...] = fold of a[..., 0 to t, ...]; undefined from the first undefined one on. */
static void exec_scan(tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    tp_prim prim = tp_prim_folded(i->prim);
    bool reals = tp_is_float(a->dtype), single = a->dtype != TP_F64;
    size_t stride[TP_MAX_RANK], n = (size_t)a->dims[i->ints[0]], step, e;
    tp_strides_of(a, stride);
    step = stride[i->ints[0]];
    out->state = TP_CLEAN;
    tp_origin *shadow = a->state == TP_CLEAN ? NULL : tp_materialise(m, out);
    bool planes = false;
    for (size_t row = 0; n && row < a->n / n; row++) {
        size_t base = row / step * step * n + row % step;
        double real = 0;
        int64_t whole = 0;
        tp_origin origin = 0;
        for (size_t t = 0; t < n; t++) {
            e = base + (i->reverse ? n - 1 - t : t) * step;
            if (reals) {
                double v = tp_get_f64(a->dtype, a->data, e);
                real = t ? fold_float(prim, single, real, v) : v;
                tp_put_f64(out->dtype, out->data, e, real);
            } else {
                int64_t v = tp_get_i64(a->dtype, a->data, e);
                whole = t ? fold_int(prim, whole, v) : v;
                tp_put_i64(out->dtype, out->data, e, whole);
            }
            if (shadow)
                shadow[e] = origin = origin ? origin : tp_origin_at(a, e);
        }
        if (m->domain)
            planes |= plane_of_row(m, prim, out, a, base + (i->reverse ? n - 1 : 0) * step,
                                   i->reverse ? -(ptrdiff_t)step : (ptrdiff_t)step, n);
    }
    if (m->domain) {
        tp_lanes r = {.degree = out->meaning.degree};
        tp_planes_written(out, &r, planes);
    }
}

/* ---- tables ---- */

static void exec_read(tp_machine *m, const tp_inst *i)
{
    const tp_table *t = &m->k->tables[i->integer];
    const tp_table_data *d = tp_bound_table(m->env, t->sym);
    int64_t at = 0;
    for (uint32_t x = 0; x < i->nargs; x++) {
        const tp_cells *c = &m->values[i->args[x]];
        if (tp_any_undefined(c))
            tp_trap_undefined(m, tp_any_undefined(c), t->name, "an index");
        int64_t index = tp_get_i64(c->dtype, c->data, 0), n = x ? d->dims[x] : d->readable;
        if (index < 0 || index >= n)
            tp_trap_raise(m, "TP103", t->name, "entry %lld of dimension %u of the table `%.*s`, which has %lld",
                          (long long)index, x, TP_FMT(t->name), (long long)n);
        at = at * d->dims[x] + index;
    }
    *(int32_t *)m->values[i->out].data = (int32_t)d->at[at];
}

/* The lanes of a load that its mask leaves out are undefined. */
static void exec_masked_load(tp_machine *m, const tp_inst *i)
{
    const tp_cells *mask = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    tp_copy_cells(m, out, &m->values[i->args[1]]);
    for (size_t e = 0; e < out->n; e++) {
        tp_origin o = tp_origin_at(mask, e);
        if (!o && tp_get_i64(TP_BOOL, mask->data, e))
            continue;
        uint32_t line = m->at && m->at->syntax ? m->at->syntax->number : 0;
        if (out->state != TP_MIXED)
            tp_materialise(m, out);
        out->shadow[e] = o ? o : tp_origin_new(TP_BORN_MASKED, (uint32_t)i->integer, line, m->step);
        tp_put_f64(out->dtype, out->data, e, tp_is_float(out->dtype) ? -7.77e33 : -77);
    }
}

/* ---- dispatch ---- */

void tp_exec_structural(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    switch (i->prim) {
    case TP_P_RESHAPE:
    case TP_P_VARIABLE: tp_copy_cells(m, out, &m->values[i->args[0]]); break;
    case TP_P_WHERE: exec_where(m, i); break;
    case TP_P_MASKED_LOAD: exec_masked_load(m, i); break;
    case TP_P_LITERAL: tp_put_f64(out->dtype, out->data, 0, i->real); break;
    case TP_P_PROGRAM_ID: *(int32_t *)out->data = (int32_t)m->env[m->k->axes[i->integer].sym]; break;
    case TP_P_NUM_PROGRAMS: {
        int64_t steps = 0;
        tp_expr_eval(m->k->exprs, m->k->axes[i->integer].steps, m->env, &steps);
        *(int32_t *)out->data = (int32_t)steps;
        break;
    }
    case TP_P_READ: exec_read(m, i); break;
    case TP_P_BITCAST: tp_copy_cells(m, out, &m->values[i->args[0]]); break;
    default:
        if (tp_prim_scans(i->prim))
            exec_scan(m, i);
        else if (!tp_exec_shape(m, i))
            tp_trap_raise(m, "TP004", (tp_str){NULL, 0}, "primitive `%s` has no meaning in the machine",
                          tp_prim_info(i->prim)->name);
    }
}
