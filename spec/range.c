#include "spec/range.h"

/* As the dtype holds it: rounding is monotone, so what lies between the ends lies between the rounded ones. */
static double held(tp_dtype d, double v)
{
    uint64_t cell = 0;
    if (!tp_is_float(d) || !tp_dtype_info(d)->executable || isinf(v))
        return v;
    tp_put_f64(d, &cell, 0, v);
    return tp_get_f64(d, &cell, 0);
}

static double end_of(const tp_kernel *k, const tp_end *b, const int64_t *env, double none)
{
    int64_t v;
    if (!b->expr.id)
        return b->given ? b->number : none;
    return tp_expr_eval(k->exprs, b->expr, env, &v) == TP_EVAL_OK ? (double)v : none;
}

tp_range tp_input_range(const tp_kernel *k, uint32_t input, const int64_t *env)
{
    const tp_operand *o = &k->operands[input];
    tp_range r = {-HUGE_VAL, HUGE_VAL};
    if (!o->least.given && !o->most.given)
        return r;
    if (!tp_is_float(o->dtype)) {
        r.lo = (double)tp_dtype_min(o->dtype);
        r.hi = (double)tp_dtype_max(o->dtype);
    }
    double lo = end_of(k, &o->least, env, r.lo), hi = end_of(k, &o->most, env, r.hi);
    return (tp_range){held(o->dtype, fmax(lo, r.lo)), held(o->dtype, fmin(hi, r.hi))};
}

double tp_range_fold(tp_range r, double v, bool whole)
{
    double width = r.hi - r.lo + whole;
    if (v >= r.lo && v <= r.hi)
        return v;
    if (isnan(v) || width == 0)
        return isinf(r.lo) ? r.hi : r.lo;
    if (isinf(width)) {
        double far = v < r.lo ? 2 * r.lo - v : 2 * r.hi - v;
        return isfinite(far) ? far : isinf(r.lo) ? r.hi : r.lo;
    }
    double past = fmod(fabs(v - r.lo), whole ? width : 2 * width);
    if (whole)
        return r.lo + (v < r.lo && past > 0 ? width - past : past);
    return fmin(r.lo + (past > width ? 2 * width - past : past), r.hi);
}

double tp_range_draw(tp_range r, uint64_t hash, bool whole)
{
    double part = (double)(hash >> 12) * 0x1p-52;
    if ((hash & 15) < 2)
        return hash & 1 ? r.lo : r.hi;
    double v = r.lo + (whole ? floor(part * (r.hi - r.lo + 1)) : part * (r.hi - r.lo));
    return fmin(v, r.hi);
}

/* Is it one of those that "valid" leaves out? */
static bool is_left_out(const tp_kernel *k, const tp_operand *o, int64_t *env, const tp_tensor *t, size_t at)
{
    int64_t before[TP_MAX_RANK], value = 1;
    if (!o->valid.id)
        return false;
    for (uint32_t d = o->rank; d-- > 0; at /= (size_t)t->dims[d]) {
        before[d] = env[o->element_syms[d]];
        env[o->element_syms[d]] = (int64_t)(at % (size_t)t->dims[d]);
    }
    bool known = tp_expr_eval(k->exprs, o->valid, env, &value) == TP_EVAL_OK;
    for (uint32_t d = 0; d < o->rank; d++)
        env[o->element_syms[d]] = before[d];
    return known && !value;
}

bool tp_input_holds(tp_arena *a, const tp_kernel *k, uint32_t input, int64_t *env, const tp_tensor *t, tp_str *why)
{
    const tp_operand *o = &k->operands[input];
    tp_range r = tp_input_range(k, input, env);
    bool real = tp_is_float(o->dtype);
    if (tp_range_is_open(r) || !tp_dtype_info(o->dtype)->executable)
        return true;
    for (size_t i = 0; i < t->n; i++) {
        double v = real ? tp_get_f64(t->dtype, t->data, i) : (double)tp_get_i64(t->dtype, t->data, i);
        if ((v >= r.lo && v <= r.hi) || is_left_out(k, o, env, t, i))
            continue;
        tp_buf b = {.arena = a};
        size_t at = i, index[TP_MAX_RANK];
        for (uint32_t d = o->rank; d-- > 0; at /= (size_t)t->dims[d])
            index[d] = at % (size_t)t->dims[d];
        for (uint32_t d = 0; d < o->rank; d++)
            tp_buf_printf(&b, "%s%zu", d ? ", " : "", index[d]);
        *why = tp_printf(a, "%.*s[%.*s] is %.9g, but the spec says %.*s", TP_FMT(o->name), TP_FMT(tp_buf_view(&b)), v,
                         TP_FMT(tp_range_text(a, k, o)));
        return false;
    }
    return true;
}

static tp_str bound_text(tp_arena *a, const tp_kernel *k, const tp_end *b)
{
    return b->expr.id ? tp_expr_text(k->exprs, b->expr) : tp_printf(a, "%.9g", b->number);
}

tp_str tp_range_text(tp_arena *a, const tp_kernel *k, const tp_operand *o)
{
    tp_buf b = {.arena = a};
    if (!o->least.given && !o->most.given)
        return (tp_str){NULL, 0};
    if (o->least.given)
        tp_buf_printf(&b, "%.*s <= ", TP_FMT(bound_text(a, k, &o->least)));
    tp_buf_str(&b, o->name);
    if (o->most.given)
        tp_buf_printf(&b, " <= %.*s", TP_FMT(bound_text(a, k, &o->most)));
    return tp_buf_view(&b);
}
