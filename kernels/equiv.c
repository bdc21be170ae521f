/* The one file of kernels/ that knows reference/. */
#include "kernels/equiv.h"

#include <math.h>

#include "base/rng.h"
#include "reference/reference.h"

void tp_fill_random(tp_tensor *t, uint64_t seed, uint64_t stream)
{
    tp_rng rng = tp_rng_new(seed, stream);
    for (size_t i = 0; i < t->n; i++)
        if (tp_is_float(t->dtype))
            tp_put_f64(t->dtype, t->data, i, tp_rng_normal(&rng));
        else if (t->dtype == TP_BOOL)
            tp_put_i64(t->dtype, t->data, i, (int64_t)tp_rng_below(&rng, 2));
        else if (tp_dtype_info(t->dtype)->kind == TP_KIND_UINT)
            tp_put_i64(t->dtype, t->data, i, (int64_t)tp_rng_below(&rng, 17));
        else
            tp_put_i64(t->dtype, t->data, i, (int64_t)tp_rng_below(&rng, 17) - 8);
}

double tp_tolerance(const tp_kernel *k)
{
    double u = 0;
    for (uint32_t v = 0; k->body && v < k->body->values.len; v++) {
        tp_dtype d = k->body->values.at[v].dtype;
        if (d < TP_DTYPES && tp_is_float(d) && tp_dtype_roundoff(d) > u)
            u = tp_dtype_roundoff(d);
    }
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        if (tp_is_float(k->operands[i].dtype) && tp_dtype_roundoff(k->operands[i].dtype) > u)
            u = tp_dtype_roundoff(k->operands[i].dtype);
    return u == 0 ? 0 : u == 0x1p-53 ? 256 * u : 256 * 0x1p-24 + 4 * u;
}

/* Coordinates of the last step (in grid order) whose window holds the element. */
static tp_str owning_step(tp_arena *a, const tp_kernel *k, const int64_t *env, const tp_operand *o,
                          const int64_t *element)
{
    enum { LIMIT = 200000 };
    int64_t *at = TP_NEWN(a, int64_t, tp_sym_count(k->exprs)), steps[16], total = 1, found = -1;
    memcpy(at, env, tp_sym_count(k->exprs) * sizeof *at);
    for (uint32_t x = 0; x < k->naxes; x++)
        if (tp_expr_eval(k->exprs, k->axes[x].steps, env, &steps[x]) != TP_EVAL_OK ||
            __builtin_mul_overflow(total, steps[x], &total) || total > LIMIT)
            return TP_S("");
    for (int pass = 0; pass < 2; pass++)
        for (int64_t s = pass ? found : 0; s < (pass ? found + 1 : total) && s >= 0; s++) {
            int64_t rest = s, index, block, lo = 0;
            for (uint32_t x = k->naxes; x-- > 0; rest /= steps[x])
                at[k->axes[x].sym] = rest % steps[x];
            bool inside = true;
            for (uint32_t d = 0; d < o->rank && inside; d++)
                if (o->dims[d].kind == TP_DIM_ELEMENT)
                    inside = tp_expr_eval(k->exprs, o->dims[d].index, at, &index) == TP_EVAL_OK &&
                             tp_expr_eval(k->exprs, o->dims[d].block, at, &block) == TP_EVAL_OK &&
                             tp_expr_eval(k->exprs, o->dims[d].pad_lo, at, &lo) == TP_EVAL_OK &&
                             element[d] >= index - lo && element[d] < index - lo + block;
                else
                    inside = tp_expr_eval(k->exprs, o->dims[d].index, at, &index) == TP_EVAL_OK &&
                             tp_expr_eval(k->exprs, o->dims[d].block, at, &block) == TP_EVAL_OK &&
                             element[d] >= index * block && element[d] < (index + 1) * block;
            if (inside)
                found = s;
        }
    tp_buf b = {.arena = a};
    for (uint32_t x = 0; x < k->naxes && found >= 0; x++)
        tp_buf_printf(&b, "%s%.*s=%lld", x ? ", " : "", TP_FMT(k->axes[x].name), (long long)at[k->axes[x].sym]);
    return tp_buf_view(&b);
}

/* Error in units of the last place of `scale`, for integers the error itself. */
static double ulps(tp_dtype d, double error, double scale)
{
    int e;
    if (!tp_is_float(d) || scale == 0)
        return error;
    frexp(scale, &e); /* scale in [2^(e-1), 2^e) */
    return error / ldexp(2 * tp_dtype_roundoff(d), e - 1);
}

/* Is element i inside the output's "valid"? */
static bool compared(const tp_kernel *k, const tp_operand *o, int64_t *env, const tp_tensor *t, size_t i)
{
    int64_t at[TP_MAX_RANK];
    for (uint32_t d = o->rank; d-- > 0; i /= (size_t)t->dims[d])
        at[d] = (int64_t)(i % (size_t)t->dims[d]);
    return tp_element_valid(k, o, env, at);
}

void tp_compare(tp_arena *a, const tp_kernel *k, int64_t *env, uint32_t output, const tp_tensor *got,
                const tp_tensor *want, tp_output_diff *out)
{
    const tp_operand *o = &k->operands[k->ninputs + output];
    double tolerance = tp_tolerance(k), squares = 0;
    size_t finite = 0, worst = 0;
    *out = (tp_output_diff){.name = o->name, .ratio = -1};
    for (size_t i = 0; i < got->n; i++) {
        double w = tp_at(want, i);
        if (isfinite(w) && compared(k, o, env, got, i)) {
            squares += w * w;
            finite++;
        }
    }
    double rms = finite ? sqrt(squares / (double)finite) : 0;
    for (size_t i = 0; i < got->n; i++) {
        double g = tp_at(got, i), w = tp_at(want, i), error = fabs(g - w), scale = fmax(fabs(w), rms), ratio;
        int64_t cell[1] = {0};
        double rounded = w;
        if (!compared(k, o, env, got, i))
            continue;
        if (tp_is_float(got->dtype)) { /* an overflow of the dtype itself is right */
            tp_put_f64(got->dtype, cell, 0, w);
            rounded = tp_get_f64(got->dtype, cell, 0);
        }
        if (g == w || g == rounded || (isnan(g) && isnan(w)))
            error = 0;
        if (error == 0)
            ratio = 0;
        else if (!tp_is_float(got->dtype) || !isfinite(error))
            ratio = HUGE_VAL;
        else
            ratio = scale > 0 ? error / (tolerance * scale) : HUGE_VAL;
        if (isfinite(error)) {
            out->max_abs = fmax(out->max_abs, error);
            out->max_rel = fmax(out->max_rel, w != 0 ? error / fabs(w) : 0);
            out->max_ulp = fmax(out->max_ulp, error == 0 ? 0 : ulps(got->dtype, error, scale));
        }
        if (ratio > out->ratio) {
            out->ratio = ratio;
            worst = i;
        }
    }
    if (got->n == 0) {
        out->ratio = 0;
        return;
    }
    int64_t at[TP_MAX_RANK];
    size_t rest = worst;
    for (uint32_t d = o->rank; d-- > 0; rest /= (size_t)got->dims[d])
        at[d] = (int64_t)(rest % (size_t)got->dims[d]);
    tp_buf b = {.arena = a};
    tp_buf_printf(&b, "%.*s[", TP_FMT(o->name));
    for (uint32_t d = 0; d < o->rank; d++)
        tp_buf_printf(&b, "%s%lld", d ? ", " : "", (long long)at[d]);
    tp_buf_c(&b, "]");
    out->worst = tp_buf_view(&b);
    out->got = tp_at(got, worst);
    out->want = tp_at(want, worst);
    out->step = owning_step(a, k, env, o, at);
}

/* ---- one case ---- */

typedef struct one {
    tp_arena *work; /* memory of the case */
    tp_arena *keep; /* memory of the results */
    const tp_case *c;
    const tp_equiv_options *o;
    tp_case_result *r;
} one;

static tp_str keep_str(tp_arena *a, tp_str s)
{
    return s.n ? tp_printf(a, "%.*s", TP_FMT(s)) : s;
}

static void keep_trap(tp_arena *a, const tp_kernel *k, tp_trap *t)
{
    tp_trap copy = *t;
    copy.message = keep_str(a, t->message);
    copy.statement = keep_str(a, t->statement);
    copy.coordinates.at = NULL;
    copy.coordinates.len = copy.coordinates.cap = 0;
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_push(a, copy.coordinates, t->coordinates.at[i]);
    (void)k;
    *t = copy;
}

static void skip(one *x, tp_str why)
{
    x->r->outcome = TP_SKIPPED;
    x->r->trap.message = keep_str(x->keep, why);
}

static void run_case(void *arg)
{
    one *x = arg;
    const tp_kernel *k = x->c->kernel;
    uint32_t n = k->ninputs + k->noutputs;
    tp_tensor *arrays = TP_NEWN(x->work, tp_tensor, n), *want = TP_NEWN(x->work, tp_tensor, k->noutputs);
    tp_str why = {NULL, 0};
    for (uint32_t i = 0; i < n; i++) {
        int64_t dims[TP_MAX_RANK];
        if (!tp_operand_dims(k, &k->operands[i], x->c->env, dims, &why)) {
            skip(x, why);
            return;
        }
        arrays[i] = tp_tensor_new(x->work, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs && tp_dtype_info(arrays[i].dtype)->executable)
            tp_fill_random(&arrays[i], x->o->seed + x->c->seed, i);
    }
    tp_run_request request = {
        .kernel = k, .env = x->c->env, .arrays = arrays, .seed = x->o->seed + x->c->seed, .max_steps = x->o->max_steps};
    tp_run_stats stats;
    tp_status st = tp_machine_run(x->work, &request, &x->r->trap, &stats);
    x->r->steps = stats.steps;
    keep_trap(x->keep, k, &x->r->trap);
    if (st == TP_E_LIMIT) {
        x->r->outcome = TP_SKIPPED;
        return;
    }
    if (st == TP_E_TRAP) {
        x->r->outcome = TP_TRAPPED;
        return;
    }
    if (st != TP_OK)
        tp_leave(x->work, st);
    if (!k->reference.program && !k->reference.builtin) {
        skip(x, TP_S("the spec has no \"reference\" to compare with; the run itself did not trap"));
        return;
    }
    if (tp_reference_run(x->work, k, x->c->env, arrays, want, &why) != TP_OK) {
        skip(x, why.n ? why : TP_S("not enough memory for the reference"));
        return;
    }
    x->r->outcome = TP_EQUAL;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        tp_output_diff d;
        if (k->operands[k->ninputs + i].discard)
            continue;
        tp_str text = tp_tensor_text(x->keep, &want[i]);
        if (want[i].n != arrays[k->ninputs + i].n || want[i].rank != arrays[k->ninputs + i].rank) {
            skip(x, tp_printf(x->keep, "the reference gives %.*s for `%.*s`", TP_FMT(text),
                              TP_FMT(k->operands[k->ninputs + i].name)));
            return;
        }
        tp_compare(x->keep, k, x->c->env, i, &arrays[k->ninputs + i], &want[i], &d);
        tp_push(x->keep, x->r->outputs, d);
        if (d.ratio > 1)
            x->r->outcome = TP_DIFFERENT;
    }
}

void tp_equiv_run(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_equiv *out)
{
    *out = (tp_equiv){.seed = o->seed};
    for (uint32_t i = 0; i < cases->len; i++) {
        tp_case_result r = {.the_case = &cases->at[i]};
        tp_arena *work = tp_arena_new(o->max_memory);
        if (!work)
            tp_leave(a, TP_E_MEMORY);
        one x = {work, a, &cases->at[i], o, &r};
        tp_status st = tp_try(work, run_case, &x);
        tp_arena_free(work);
        if (st != TP_OK) {
            r.outcome = TP_SKIPPED;
            r.trap.message = tp_printf(a, "it needs more than the %zu MiB of --max-memory", o->max_memory >> 20);
        }
        out->equal += r.outcome == TP_EQUAL;
        out->different += r.outcome == TP_DIFFERENT;
        out->trapped += r.outcome == TP_TRAPPED;
        out->skipped += r.outcome == TP_SKIPPED;
        tp_push(a, out->cases, r);
    }
    for (uint32_t i = 0; i < out->cases.len; i++)
        for (uint32_t j = 0; j < out->cases.at[i].outputs.len; j++)
            if (!out->worst || out->cases.at[i].outputs.at[j].ratio > out->worst->ratio)
                out->worst = &out->cases.at[i].outputs.at[j];
}
