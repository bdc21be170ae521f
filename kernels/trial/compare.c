/* E1: the kernel's numbers and the reference's, each with its value over the reals. */
#include <math.h>

#include "base/checked.h"
#include "base/vectorised.h"
#include "kernels/trial/equiv.h"

/* Does o's window at these coordinates hold the element? */
static bool holds(const tp_kernel *k, const tp_operand *o, const int64_t *at, const int64_t *element)
{
    int64_t index, block, lo = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        bool element_dim = o->dims[d].kind == TP_DIM_ELEMENT;
        if (tp_expr_eval(k->exprs, o->dims[d].index, at, &index) != TP_EVAL_OK ||
            tp_expr_eval(k->exprs, o->dims[d].block, at, &block) != TP_EVAL_OK ||
            (element_dim && tp_expr_eval(k->exprs, o->dims[d].pad_lo, at, &lo) != TP_EVAL_OK))
            return false;
        int64_t start = element_dim ? index - lo : index * block;
        if (element[d] < start || element[d] >= start + block)
            return false;
    }
    return true;
}

tp_str tp_step_of(tp_arena *a, const tp_kernel *k, const int64_t *env, const tp_operand *o, const int64_t *element,
                  const tp_operand *other, const int64_t *other_element, bool last)
{
    enum { LIMIT = 200000 };
    int64_t *at = tp_env_copy(a, k, env), steps[TP_MAX_AXES], total = 1, found = -1;
    for (uint32_t x = 0; x < k->naxes; x++)
        if (tp_expr_eval(k->exprs, k->axes[x].steps, env, &steps[x]) != TP_EVAL_OK ||
            __builtin_mul_overflow(total, steps[x], &total) || total > LIMIT)
            return TP_S("");
    for (int64_t s = 0; s < total && (last || found < 0); s++) {
        int64_t rest = s;
        for (uint32_t x = k->naxes; x-- > 0; rest /= steps[x])
            at[k->axes[x].sym] = rest % steps[x];
        if (holds(k, o, at, element) && (!other || holds(k, other, at, other_element)))
            found = s;
    }
    tp_buf b = {.arena = a};
    for (uint32_t x = 0; found >= 0 && x < k->naxes; x++) {
        int64_t rest = found;
        for (uint32_t y = k->naxes; y-- > x + 1;)
            rest /= steps[y];
        tp_buf_printf(&b, "%s%.*s=%lld", x ? ", " : "", TP_FMT(k->axes[x].name), (long long)(rest % steps[x]));
    }
    return tp_buf_view(&b);
}

/* The power of two below a positive number. */
static double power_below(double x)
{
    uint64_t bits;
    int e;
    memcpy(&bits, &x, sizeof bits);
    if (x < 0x1p-1000 || !isfinite(x)) {
        frexp(x, &e);
        return ldexp(1, e - 1);
    }
    bits &= (uint64_t)0x7ff << 52;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Error in units of the last place of `scale`, for integers the error itself. */
static double ulps(tp_dtype d, double error, double scale)
{
    return !tp_is_float(d) || scale == 0 ? error : error / (2 * tp_dtype_roundoff(d) * power_below(scale));
}

static void indices(const tp_operand *o, const tp_tensor *t, size_t i, int64_t *at)
{
    for (uint32_t d = o->rank; d-- > 0; i /= (size_t)t->dims[d])
        at[d] = (int64_t)(i % (size_t)t->dims[d]);
}

bool tp_is_compared(const tp_kernel *k, const tp_operand *o, int64_t *env, const tp_tensor *t, size_t i)
{
    int64_t at[TP_MAX_RANK];
    if (!o->valid.id)
        return true;
    indices(o, t, i, at);
    return tp_element_valid(k, o, env, at);
}

tp_str tp_element_at(tp_arena *a, const tp_operand *o, const int64_t *dims, const int64_t *at)
{
    tp_buf b = {.arena = a};
    int64_t global[TP_MAX_RANK];
    tp_global_index(o, dims, at, global);
    tp_buf_printf(&b, "%.*s[", TP_FMT(o->name));
    for (uint32_t d = 0; d < tp_global_rank(o); d++)
        tp_buf_printf(&b, "%s%lld", d ? ", " : "", (long long)global[d]);
    tp_buf_c(&b, "]");
    return tp_buf_view(&b);
}

tp_str tp_element_name(tp_arena *a, const tp_operand *o, const tp_tensor *t, size_t i)
{
    int64_t at[TP_MAX_RANK];
    indices(o, t, i, at);
    return tp_element_at(a, o, t->dims, at);
}

/* ---- one element ---- */

typedef struct element {
    double data, real, bound, rounded; /* rounded: real, to the output's type */
} element;

/* Error of the computed number, 0 where it is the value over the reals rounded once. */
static double number_error(double got, const element *of)
{
    return got == of->real || got == of->rounded || (isnan(got) && isnan(of->real)) ? 0 : fabs(got - of->real);
}

/* Bounds wider than this part of the output's size say nothing. */
static const double WIDE = 0x1p-10;

/* Results of this size are themselves near the end of float32: what overflows on the way is no fault of a kernel. */
static const double BRINK = 0x1p96;

/* NaN or infinity where the reference has a finite number, because numbers
 * became too large: what has no value over the reals either is known to. */
static bool is_overflow(const element *g, const element *w)
{
    bool none = !isfinite(g->real) && g->bound < HUGE_VAL;
    return !isfinite(g->data) && isfinite(w->rounded) && w->bound < HUGE_VAL && !none;
}

/* Distance over the reals in units of both bounds; NaN: nothing is known. */
static double ratio_of(const element *g, const element *w, double scale)
{
    double slack = g->bound + w->bound, distance = fabs(g->real - w->real);
    if (!(slack < HUGE_VAL)) /* as where one overflowed: compared with infinity it would pass for little */
        return (double)NAN;
    if (g->real == w->real || (isnan(g->real) && isnan(w->real)))
        return 0;
    if (!(slack <= WIDE * scale || (scale == 0 && slack <= 0x1p-40))) /* a difference may be certain all the same */
        return distance > slack ? HUGE_VAL : (double)NAN;
    return isnan(distance) || slack == 0 ? HUGE_VAL : distance / slack;
}

#define APPROXIMATES "a loop turns until numbers are close: within the tolerance, but another function over the reals"

enum { MOST_BLOCKS = 4096 };

/* Room for an error per block of the output. */
static void lay_out_blocks(tp_arena *a, const tp_kernel *k, const tp_operand *o, const int64_t *env, const tp_tensor *t,
                           int64_t *block, tp_output_diff *out)
{
    size_t n = 1;
    for (uint32_t d = 0; d < o->rank; d++) {
        block[d] = t->dims[d];
        if (o->dims[d].kind == TP_DIM_ELEMENT ||
            (!o->whole && (tp_expr_eval(k->exprs, o->dims[d].block, env, &block[d]) != TP_EVAL_OK || block[d] < 1)))
            return;
        out->blocks[d] = 0;
        if ((block[d] && !tp_ceildiv(t->dims[d], block[d], &out->blocks[d])) || out->blocks[d] > MOST_BLOCKS ||
            (n *= (size_t)out->blocks[d]) > MOST_BLOCKS)
            return;
    }
    out->rank = o->rank;
    out->block_ulp = TP_NEWN(a, double, n + 1);
}

static void note_block(const tp_tensor *t, const int64_t *block, size_t i, double ulp, tp_output_diff *out)
{
    size_t at = 0, step = 1;
    for (uint32_t d = out->rank; d-- > 0; i /= (size_t)t->dims[d], step *= (size_t)out->blocks[d])
        at += i % (size_t)t->dims[d] / (size_t)block[d] * step;
    out->block_ulp[at] = isnan(ulp) ? HUGE_VAL : fmax(out->block_ulp[at], ulp);
}

static void count_ulp(tp_output_diff *out, double ulp)
{
    uint32_t bucket = ulp == 0 ? 0 : 1;
    for (double limit = 0.5; !(ulp <= limit) && bucket + 1 < TP_ULP_BUCKETS; limit *= 2) /* NaN is in the last one */
        bucket++;
    out->ulps[bucket]++;
}

double tp_size_of(const tp_kernel *k, const tp_operand *o, int64_t *env, const tp_result *want)
{
    double squares = 0;
    size_t finite = 0;
    for (size_t i = 0; i < want->data->n; i++) {
        double w = ((const double *)want->meaning->plane[0])[i];
        if (isfinite(w) && tp_is_compared(k, o, env, want->data, i)) {
            squares += w * w;
            finite++;
        }
    }
    return finite ? sqrt(squares / (double)finite) : 0;
}

static void note_rounding(tp_output_diff *out, const element *g, bool is_float, double rounding)
{
    bool counted = is_float && g->bound == 0 && g->real == nearbyint(g->real);
    out->rounding = fmax(out->rounding, rounding);
    out->rounding_of_counts = counted ? fmax(out->rounding_of_counts, rounding) : out->rounding_of_counts;
}

/* An output, while its elements are compared. */
typedef struct comparison {
    tp_arena *a;
    const tp_kernel *k;
    const tp_operand *o;
    int64_t *env;
    const tp_tensor *got;
    bool partial, approximates, is_float;
    double tolerance, rms;
    int64_t block[TP_MAX_RANK];
    size_t worst, unknown, numbers;
    int gravest;
    tp_output_diff *out;
} comparison;

static void note_unknown(comparison *c, size_t i, bool close, double bound)
{
    if (c->unknown++)
        return;
    tp_str name = tp_element_name(c->a, c->o, c->got, i);
    c->out->reason =
        close ? tp_printf(c->a, APPROXIMATES ", at %.*s", TP_FMT(name))
              : tp_printf(c->a, "at %.*s the rounding bound is %.2g, too wide to decide", TP_FMT(name), bound);
}

static void note_error(comparison *c, size_t i, double error, double ulp, double size)
{
    tp_output_diff *out = c->out;
    if (isfinite(error)) {
        out->max_abs = fmax(out->max_abs, error);
        out->max_rel = fmax(out->max_rel, size != 0 ? error / size : 0);
        out->max_ulp = fmax(out->max_ulp, ulp);
    }
    if (out->block_ulp)
        note_block(c->got, c->block, i, ulp, out);
}

static void note_worst(comparison *c, size_t i, const element *g, const element *w, int grave, double ratio,
                       double error)
{
    tp_output_diff *out = c->out;
    bool worse = ratio > out->ratio || (ratio == out->ratio && error > fabs(out->got - out->want));
    if (grave < c->gravest || (grave == c->gravest && !worse))
        return;
    c->gravest = grave;
    c->worst = i;
    out->ratio = ratio;
    out->got = g->data;
    out->want = w->real;
}

static void compare_element(comparison *c, size_t i, const element *g, const element *w)
{
    tp_output_diff *out = c->out;
    double size = fabs(w->real), scale = size > c->rms ? size : c->rms, ratio = ratio_of(g, w, scale);
    bool undefined = isnan(w->real) && w->bound < HUGE_VAL;
    out->undefined += undefined;
    if (undefined && c->partial)
        return;
    bool close = c->approximates && ratio > 1 && (scale == 0 || fabs(g->real - w->real) <= c->tolerance * scale);
    ratio = close ? (double)NAN : ratio;
    bool differs = ratio > 1, overflows = !differs && is_overflow(g, w), overflow = overflows && scale < BRINK;
    ratio = overflow ? HUGE_VAL : ratio;
    double error = number_error(g->data, w), ulp = error == 0 ? 0 : ulps(c->got->dtype, error, scale);
    out->compared++;
    c->numbers += !(isnan(g->data) && isnan(w->real));
    out->loose += !(g->data == w->real || fabs(g->data - w->real) <= 1e-2 + 1e-2 * size);
    out->differing += ratio > 1;
    out->overflowed += overflow;
    out->overflows |= overflows;
    out->refuting += differs && isfinite(w->real);
    out->valueless += differs && isfinite(w->real) && !isfinite(g->real);
    if (isnan(ratio)) {
        note_unknown(c, i, close, g->bound + w->bound);
        ratio = 0;
    }
    count_ulp(out, ulp);
    if (error != 0) /* or it is no number */
        note_error(c, i, error, ulp, size);
    double own = number_error(g->data, g),
           allowed = c->is_float ? c->tolerance * scale : 1; /* one decision by rounding */
    if (own > 0 && isfinite(own) && g->bound < HUGE_VAL)     /* else it overflowed */
        note_rounding(out, g, c->is_float, allowed > 0 ? own / allowed : HUGE_VAL);
    note_worst(c, i, g, w, differs ? 2 : overflow ? 1 : 0, ratio, error);
}

/* ---- elements of which nothing is to be told but how far they are off ---- */

/* A strip of elements, all of them compared: what the columns say of each. */
typedef struct strip {
    const double *data, *g, *bg, *own, *w, *bw, *wanted;
    double scale[TP_STRIP], ratio[TP_STRIP], error[TP_STRIP], off[TP_STRIP]; /* off: error of the kernel's own value */
} strip;

/* The measures of n elements, as compare_element() has them; false where one of them is no number, differs, is beyond
 * its bound, or of a size below 2^-1000. */
TP_VECTORISED static bool measure(size_t n, double rms, strip *restrict s)
{
    const double *restrict of_data = s->data, *restrict of_g = s->g, *restrict of_w = s->w, *restrict bg = s->bg,
                           *restrict bw = s->bw, *restrict own = s->own, *restrict wanted = s->wanted;
    int64_t other = 0;
    for (size_t i = 0; i < n; i++) {
        double g = of_g[i], w = of_w[i], data = of_data[i], slack = bg[i] + bw[i], distance = fabs(g - w),
               size = fabs(w), scale = size > rms ? size : rms;
        double quotient = distance / slack, error = fabs(data - w), off = fabs(data - g);
        bool equal = g == w, near = slack <= WIDE * scale, alike = (data == w) | (data == wanted[i]);
        s->scale[i] = scale;
        s->ratio[i] = equal ? 0 : quotient;
        s->error[i] = alike ? 0 : error;
        s->off[i] = ((data == g) | (data == own[i])) ? 0 : off;
        bool plain = (equal | (near & (quotient <= 1))) & (slack < HUGE_VAL) & (error < HUGE_VAL) & (off < HUGE_VAL) &
                     (distance < HUGE_VAL) & (scale >= 0x1p-1000) & (scale < HUGE_VAL);
        other |= plain ? 0 : 1;
    }
    return !other;
}

/* All that compare_element() notes of such elements. */
static void note_strip(comparison *c, size_t from, size_t n, const strip *s)
{
    tp_output_diff *out = c->out;
    double unit = c->is_float ? 2 * tp_dtype_roundoff(c->got->dtype) : 0, furthest = 0;
    for (size_t i = 0; i < n; i++) {
        double error = s->error[i], size = fabs(s->w[i]), far = fabs(s->data[i] - s->w[i]);
        double ulp = error == 0 || !c->is_float ? error : error / (unit * power_below(s->scale[i]));
        out->loose += !(far <= 1e-2 + 1e-2 * size);
        count_ulp(out, ulp);
        if (error != 0)
            note_error(c, from + i, error, ulp, size);
        double allowed = c->is_float ? c->tolerance * s->scale[i] : 1;
        if (s->off[i] > 0)
            note_rounding(out, &(element){s->data[i], s->g[i], s->bg[i], s->own[i]}, c->is_float,
                          allowed > 0 ? s->off[i] / allowed : HUGE_VAL);
        furthest = s->ratio[i] > furthest ? s->ratio[i] : furthest;
    }
    out->compared += n;
    c->numbers += n;
    for (size_t i = 0; i < n && c->gravest == 0 && furthest >= out->ratio; i++)
        note_worst(c, from + i, &(element){s->data[i], s->g[i], s->bg[i], s->own[i]},
                   &(element){0, s->w[i], s->bw[i], s->wanted[i]}, 0, s->ratio[i], s->error[i]);
}

/* n values over the reals as the type holds them, rounded once; integers as they are. */
static void round_row(tp_dtype d, size_t n, const double *real, double *to)
{
    uint64_t cells[TP_STRIP];
    if (!tp_is_float(d)) {
        memcpy(to, real, n * sizeof *to);
        return;
    }
    tp_put_row_f64(d, cells, 0, n, real);
    tp_get_row_f64(d, cells, 0, n, to);
}

static void compare_all(comparison *c, const tp_result *got, const tp_result *want)
{
    double data[TP_STRIP], own[TP_STRIP], wanted[TP_STRIP];
    tp_dtype d = got->data->dtype;
    for (size_t from = 0, n; from < got->data->n; from += n) {
        const double *g = (const double *)got->meaning->plane[0] + from,
                     *w = (const double *)want->meaning->plane[0] + from,
                     *bg = (const double *)got->meaning->plane[1] + from,
                     *bw = (const double *)want->meaning->plane[1] + from;
        n = tp_strip_at(got->data->n, from);
        tp_get_row_f64(d, got->data->data, from, n, data);
        round_row(d, n, g, own);
        round_row(d, n, w, wanted);
        strip s;
        s.data = data, s.g = g, s.bg = bg, s.own = own, s.w = w, s.bw = bw, s.wanted = wanted;
        if (!c->o->valid.id && measure(n, c->rms, &s)) {
            note_strip(c, from, n, &s);
            continue;
        }
        for (size_t i = 0; i < n; i++)
            if (tp_is_compared(c->k, c->o, c->env, got->data, from + i))
                compare_element(c, from + i, &(element){data[i], g[i], bg[i], own[i]},
                                &(element){0, w[i], bw[i], wanted[i]});
    }
}

void tp_compare(tp_arena *a, const tp_kernel *k, int64_t *env, uint32_t output, tp_result got, tp_result want,
                bool partial, tp_output_diff *out)
{
    const tp_operand *o = &k->operands[k->ninputs + output];
    comparison c = {.a = a,
                    .k = k,
                    .o = o,
                    .env = env,
                    .got = got.data,
                    .partial = partial,
                    .approximates = tp_approximates(k),
                    .is_float = tp_is_float(got.data->dtype),
                    .tolerance = tp_tolerance(k),
                    .rms = tp_size_of(k, o, env, &want),
                    .out = out};
    int64_t at[TP_MAX_RANK];
    *out = (tp_output_diff){.name = o->name, .ratio = -1, .allowed = 1, .tier = TP_TIER_EQUAL};
    lay_out_blocks(a, k, o, env, got.data, c.block, out);
    compare_all(&c, &got, &want);
    if (out->ratio < 0) { /* nothing to compare */
        out->ratio = 0;
        return;
    }
    if (!c.numbers && !c.unknown++)
        out->reason = TP_S("kernel and reference are nan everywhere, so nothing is compared");
    out->tier = out->ratio > 1 ? TP_TIER_DIFFERENT : c.unknown ? TP_TIER_INCONCLUSIVE : TP_TIER_EQUAL;
    indices(o, got.data, c.worst, at);
    out->worst = tp_element_name(a, o, got.data, c.worst);
    out->step = tp_step_of(a, k, env, o, at, NULL, NULL, true);
}

double tp_rounding_beside(const tp_kernel *k, int64_t *env, uint32_t output, const tp_tensor *single,
                          const tp_tensor *typed, tp_result got, tp_result want)
{
    const tp_operand *o = &k->operands[k->ninputs + output];
    const double *g = got.meaning->plane[0], *bound = got.meaning->plane[1], *w = want.meaning->plane[0];
    double tolerance = tp_tolerance(k), rms = tp_size_of(k, o, env, &want), worst = 0;
    for (size_t i = 0; i < single->n; i++) {
        const double *s = single->data, *t = (typed ? typed : single)->data, *r = want.data->data;
        double data = tp_get_f64(got.data->dtype, got.data->data, i), numbers[] = {g[i], s[i], r[i], t[i]}, rounded[4];
        round_row(got.data->dtype, 4, numbers, rounded);
        double own = number_error(data, &(element){data, g[i], bound[i], rounded[0]});
        if (data != rounded[1] && data != rounded[2] && data != rounded[3] && isfinite(own) && bound[i] < HUGE_VAL &&
            tp_is_compared(k, o, env, got.data, i))
            worst = fmax(worst, own > 0 ? own / (tolerance * fmax(fabs(w[i]), rms)) : 0);
    }
    return worst;
}

double tp_allowed_for(const tp_kernel *k, int64_t *env, uint32_t output, const tp_tensor *single, tp_result want)
{
    static const double OF_THE_REFERENCE = 8; /* its sums are rounded once, and a kernel's at each step */
    const tp_operand *o = &k->operands[k->ninputs + output];
    double tolerance = tp_tolerance(k), rms = tp_size_of(k, o, env, &want), worst = 0;
    const double *real = (const double *)want.meaning->plane[0], *at = single->data;
    for (size_t i = 0; i < single->n; i++) {
        double loss = fabs(at[i] - real[i]) / (tolerance * fmax(fabs(real[i]), rms));
        if (isfinite(loss) && tp_is_compared(k, o, env, want.data, i))
            worst = fmax(worst, loss);
    }
    return fmax(1, fmin(OF_THE_REFERENCE * worst, WIDE / tolerance));
}

bool tp_equiv_refutes(const tp_case_result *r, bool masks)
{
    bool refutes = r->outcome == TP_DIFFERENT && r->bits.tier == TP_TIER_DIFFERENT && isfinite(r->bits.want) &&
                   (!masks || isfinite(r->bits.got));
    for (uint32_t i = 0; i < r->outputs.len; i++) {
        const tp_output_diff *d = &r->outputs.at[i];
        refutes |= d->tier == TP_TIER_DIFFERENT && d->refuting > (masks ? d->valueless : 0);
    }
    return refutes;
}
