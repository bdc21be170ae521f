/* Primitives with a structure of their own: selection, conversion, tables; and the way to all others. */
#include <math.h>

#include "base/vectorised.h"
#include "kernels/machine/internal.h"

/* One loop for each way in which the choices can be scalars; both are read first, so that each vectorises. */
#define CHOOSE(A, B)                                                                                                   \
    for (size_t e = 0; e < n; e++) {                                                                                   \
        T x = A, y = B;                                                                                                \
        r[e] = c[e] ? x : y;                                                                                           \
    }
#define SELECT(TYPE)                                                                                                   \
    TP_VECTORISED static void select_##TYPE(size_t n, const uint8_t *restrict c, bool sc, const TYPE *restrict a,      \
                                            bool sa, const TYPE *restrict b, bool sb, TYPE *restrict r)                \
    {                                                                                                                  \
        typedef TYPE T;                                                                                                \
        if (!n)                                                                                                        \
            return;                                                                                                    \
        if (sc && (*c ? sa : sb))                                                                                      \
            for (size_t e = 0; e < n; e++)                                                                             \
                r[e] = *c ? *a : *b;                                                                                   \
        else if (sc)                                                                                                   \
            memcpy(r, *c ? a : b, n * sizeof *r);                                                                      \
        else if (sa && sb)                                                                                             \
            CHOOSE(*a, *b)                                                                                             \
        else if (sa)                                                                                                   \
            CHOOSE(*a, b[e])                                                                                           \
        else if (sb)                                                                                                   \
            CHOOSE(a[e], *b)                                                                                           \
        else                                                                                                           \
            CHOOSE(a[e], b[e])                                                                                         \
    }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)

void tp_choose_numbers(tp_cells *out, const tp_cells *c, const tp_cells *a, const tp_cells *b)
{
    bool sc = c->n == 1 && out->n != 1, sa = a->n == 1 && out->n != 1, sb = b->n == 1 && out->n != 1;
    switch (tp_dtype_size(out->dtype)) {
    case 1: select_uint8_t(out->n, c->data, sc, a->data, sa, b->data, sb, out->data); break;
    case 2: select_uint16_t(out->n, c->data, sc, a->data, sa, b->data, sb, out->data); break;
    case 4: select_uint32_t(out->n, c->data, sc, a->data, sa, b->data, sb, out->data); break;
    default: select_uint64_t(out->n, c->data, sc, a->data, sa, b->data, sb, out->data); break;
    }
}

/* Does `mask` say something else than `chosen` n times? */
static bool chooses_none(const uint8_t *mask, bool chosen, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= (mask[i] != 0) == chosen;
    return !any;
}

/* Is none of these undefined where `mask` is `chosen`? */
static bool chooses_no_origin(const uint8_t *mask, bool chosen, const tp_origin *at, size_t n)
{
    tp_origin any = 0;
    for (size_t i = 0; i < n; i++)
        any |= (mask[i] != 0) == chosen ? at[i] : 0;
    return !any;
}

/* Is each element of x defined where `mask` is `chosen`, for all that is known by rows? */
static bool chooses_defined(const tp_cells *mask, bool chosen, const tp_cells *x)
{
    if (x->state == TP_CLEAN)
        return true;
    if (!x->rank || mask->n != x->n || mask->viewed)
        return false;
    if (x->state == TP_ALL_UNDEFINED)
        return chooses_none(mask->data, chosen, x->n);
    if (x->state == TP_MIXED)
        return chooses_no_origin(mask->data, chosen, x->shadow, x->n);
    size_t n = (size_t)x->dims[x->rank - 1];
    const uint8_t *row = mask->data;
    for (size_t at = 0; at < x->n; at += n, row += n) {
        size_t from = (size_t)x->defined->first[x->rank - 1], to = from + (size_t)x->defined->extent[x->rank - 1];
        size_t rest = at / n;
        for (uint32_t d = x->rank - 1; d-- > 0; rest /= (size_t)x->dims[d]) {
            int64_t t = (int64_t)(rest % (size_t)x->dims[d]) - x->defined->first[d];
            if (t < 0 || t >= x->defined->extent[d])
                from = to = n; /* nothing of the row is defined */
        }
        if (!chooses_none(row, chosen, from) || !chooses_none(row + to, chosen, n - to))
            return false;
    }
    return true;
}

/* The origins of one side stay where the mask says `chosen`; is there any? */
TP_VECTORISED static bool keep_origins(size_t n, const uint8_t *restrict mask, bool chosen, tp_origin *restrict at)
{
    tp_origin any = 0;
    for (size_t i = 0; i < n; i++) {
        tp_origin o = (mask[i] != 0) == chosen ? at[i] : 0;
        at[i] = o;
        any |= o;
    }
    return any != 0;
}

/* Of an element of what is clean or mixed. */
static tp_origin origin_of(const tp_origin *shadow, size_t i)
{
    return shadow ? shadow[i] : 0;
}

static void exec_where(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    const tp_cells *c = &m->values[i->args[0]], *a = &m->values[i->args[1]], *b = &m->values[i->args[2]];
    bool clean = c->state == TP_CLEAN && a->state == TP_CLEAN && b->state == TP_CLEAN;
    out->state = TP_CLEAN;
    if (c->viewed || a->viewed || b->viewed)
        for (size_t r = 0; r < out->n / (size_t)out->dims[out->rank - 1]; r++) {
            tp_cells row = tp_row_of(out, r), mask = tp_row_of(c, r), x = tp_row_of(a, r), y = tp_row_of(b, r);
            tp_choose_numbers(&row, &mask, &x, &y);
        }
    else
        tp_choose_numbers(out, c, a, b);
    if (clean)
        return;
    tp_flatten(&m->values[i->args[0]]);
    if (c->state == TP_CLEAN && chooses_defined(c, true, a) && chooses_defined(c, false, b))
        return;
    const tp_cells *one = a->state == TP_CLEAN ? b : b->state == TP_CLEAN ? a : NULL; /* with origins; its own stay */
    if (c->state == TP_CLEAN && one && one->n == out->n && c->n == out->n) {
        tp_origins(one, tp_shadow_unset(m, out));
        if (!keep_origins(out->n, c->data, one == a, out->shadow))
            out->state = TP_CLEAN;
        return;
    }
    const tp_origin *by[3];
    for (uint32_t k = 0; k < 3; k++) {
        tp_cells *arg = &m->values[i->args[k]];
        by[k] = arg->state == TP_CLEAN ? NULL : tp_materialise(m, arg);
    }
    const uint8_t *cond = c->data;
    bool sc = c->n == 1 && out->n != 1, sa = a->n == 1 && out->n != 1, sb = b->n == 1 && out->n != 1;
    tp_origin *shadow = tp_shadow_unset(m, out);
    bool any = false;
    for (size_t e = 0; e < out->n; e++) {
        size_t at = sc ? 0 : e;
        tp_origin oc = origin_of(by[0], at);
        shadow[e] = oc ? oc : cond[at] ? origin_of(by[1], sa ? 0 : e) : origin_of(by[2], sb ? 0 : e);
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
            tp_materialise(m, out)[e] = tp_origin_new(isnan(v) ? TP_BORN_NAN : TP_BORN_CAST, 0,
                                                      m->at && m->at->syntax ? m->at->syntax->number : 0, m->step);
    }
}

/* Is float32 on the way without a rounding? */
static bool passes_float32(tp_dtype from, tp_dtype to)
{
    enum { WHOLE = 1 << 24 };
    if (tp_is_float(from))
        return from != TP_F64 && from != TP_WEAK_FLOAT;
    return tp_is_float(to) && to != TP_F64 && to != TP_WEAK_FLOAT && from != TP_WEAK_INT &&
           tp_dtype_min(from) >= -WHOLE && tp_dtype_max(from) <= WHOLE;
}

/* One rounding; integers wrap. */
void tp_convert_numbers(tp_cells *out, const tp_cells *a)
{
    enum { STRIP = 512 };
    if (a->viewed) {
        for (size_t r = 0; r < out->n / (size_t)out->dims[out->rank - 1]; r++) {
            tp_cells row = tp_row_of(out, r), from = tp_row_of(a, r);
            tp_convert_numbers(&row, &from);
        }
        return;
    }
    bool integer = !tp_is_float(a->dtype) && a->dtype != TP_WEAK_INT; /* to float32 they are rounded once in any case */
    bool single = passes_float32(a->dtype, out->dtype) || (integer && out->dtype == TP_F32);
    float f[STRIP];
    double d[STRIP];
    int64_t w[STRIP];
    for (size_t at = 0, n; at < out->n; at += n) {
        n = out->n - at < STRIP ? out->n - at : STRIP;
        if (single) {
            tp_get_row_f32(a->dtype, a->data, at, n, f);
            tp_put_row_f32(out->dtype, out->data, at, n, f);
        } else if (tp_is_float(out->dtype)) {
            tp_get_row_f64(a->dtype, a->data, at, n, d);
            tp_put_row_f64(out->dtype, out->data, at, n, d);
        } else {
            tp_get_row_i64(a->dtype, a->data, at, n, w);
            tp_put_row_i64(out->dtype, out->data, at, n, w);
        }
    }
}

void tp_exec_cast(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    const tp_cells *a = &m->values[i->args[0]];
    out->state = TP_CLEAN;
    if (a->state == TP_INSIDE && tp_keeps_box(m, i))
        tp_copy_box(m, out, a);
    else if (a->state != TP_CLEAN)
        tp_origins(a, tp_shadow_unset(m, out));
    if (a->dtype == TP_WEAK_INT && !tp_is_float(out->dtype)) {
        int64_t v = *(const int64_t *)a->data;
        if (v < tp_dtype_min(out->dtype) || v > tp_dtype_max(out->dtype))
            tp_trap_raise(m, TP_RULE_INDEX_OVERFLOW, (tp_str){NULL, 0}, "%lld does not fit %s", (long long)v,
                          tp_dtype_info(out->dtype)->name);
        tp_put_i64(out->dtype, out->data, 0, v);
    } else if (tp_is_float(a->dtype) && out->dtype == TP_BOOL) {
        for (size_t e = 0; e < out->n; e++)
            ((uint8_t *)out->data)[e] = tp_get_f64(a->dtype, a->data, e) != 0;
    } else if (tp_is_float(a->dtype) && !tp_is_float(out->dtype)) {
        cast_to_int(m, out, a);
    } else {
        tp_convert_numbers(out, a);
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
            tp_trap_raise(m, TP_RULE_PREFETCH_CONTRACT, t->name,
                          "entry %lld of dimension %u of the table `%.*s`, which has %lld", (long long)index, x,
                          TP_FMT(t->name), (long long)n);
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

static void exec_copy(tp_machine *m, const tp_inst *i)
{
    tp_copy_cells(m, &m->values[i->out], &m->values[i->args[0]]);
}

static void exec_literal(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    tp_put_f64(out->dtype, out->data, 0, i->real);
}

static void exec_program_id(tp_machine *m, const tp_inst *i)
{
    *(int32_t *)m->values[i->out].data = (int32_t)m->env[m->k->axes[i->integer].sym];
}

static void exec_num_programs(tp_machine *m, const tp_inst *i)
{
    int64_t steps = 0;
    tp_expr_eval(m->k->exprs, m->k->axes[i->integer].steps, m->env, &steps);
    *(int32_t *)m->values[i->out].data = (int32_t)steps;
}

void tp_exec_structural(tp_machine *m, const tp_inst *i)
{
    static void (*const MEANINGS[TP_PRIMS])(tp_machine *, const tp_inst *) = {
        [TP_P_WHERE] = exec_where,
        [TP_P_CAST] = tp_exec_cast,
        [TP_P_BITCAST] = exec_copy,
        [TP_P_IOTA] = tp_exec_iota,
        [TP_P_LITERAL] = exec_literal,
        [TP_P_PROGRAM_ID] = exec_program_id,
        [TP_P_NUM_PROGRAMS] = exec_num_programs,
        [TP_P_MASKED_LOAD] = exec_masked_load,
        [TP_P_READ] = exec_read,
        [TP_P_VARIABLE] = exec_copy,
    };
    if (!MEANINGS[i->prim])
        tp_no_meaning(m, i->prim);
    MEANINGS[i->prim](m, i);
}

void tp_no_meaning(tp_machine *m, tp_prim p)
{
    tp_trap_raise(m, TP_RULE_SPEC_TYPE, (tp_str){NULL, 0}, "primitive `%s` has no meaning in the machine",
                  tp_prim_info(p)->name);
}
