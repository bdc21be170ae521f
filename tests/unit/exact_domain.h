/* A third domain, for tests: planes hold numbers of 240 bits (MPFR), so that
 * kernels run with practically exact values over the reals. */
#ifndef TP_TEST_EXACT_DOMAIN_H
#define TP_TEST_EXACT_DOMAIN_H

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

#include "domains/domain.h"

enum { EXACT_BITS = 240, EXACT_CHUNK = 4096 };

typedef struct exact_domain {
    tp_domain base;
    mpfr_t **chunks; /* a plane element is a number's index */
    size_t n, room;
} exact_domain;

static inline uint64_t exact_new(exact_domain *e)
{
    if (e->n == e->room * EXACT_CHUNK) {
        e->chunks = realloc(e->chunks, (e->room + 1) * sizeof *e->chunks);
        e->chunks[e->room++] = malloc(EXACT_CHUNK * sizeof(mpfr_t));
    }
    mpfr_init2(e->chunks[e->n / EXACT_CHUNK][e->n % EXACT_CHUNK], EXACT_BITS);
    return e->n++;
}

static inline mpfr_ptr exact_at(const exact_domain *e, uint64_t i)
{
    return e->chunks[i / EXACT_CHUNK][i % EXACT_CHUNK];
}

static inline mpfr_ptr exact_result(exact_domain *e, tp_lanes *out, size_t i)
{
    uint64_t at = exact_new(e);
    ((uint64_t *)out->plane[0])[i] = at;
    return exact_at(e, at);
}

/* Value of element i, in `room` when it is only data. */
static inline mpfr_srcptr exact_value(const exact_domain *e, const tp_lanes *x, size_t i, mpfr_ptr room)
{
    if (x->plane[0])
        return exact_at(e, ((const uint64_t *)x->plane[0])[x->n == 1 ? 0 : i]);
    mpfr_set_d(room, tp_lane(x, i), MPFR_RNDN);
    return room;
}

static inline void exact_gelu(mpfr_ptr r, mpfr_srcptr x)
{
    mpfr_t t;
    mpfr_init2(t, EXACT_BITS);
    mpfr_pow_ui(t, x, 3, MPFR_RNDN);
    mpfr_mul_d(t, t, 0.044715, MPFR_RNDN);
    mpfr_add(t, t, x, MPFR_RNDN);
    mpfr_mul_d(t, t, 0.7978845608028654, MPFR_RNDN);
    mpfr_tanh(t, t, MPFR_RNDN);
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_div_ui(t, t, 2, MPFR_RNDN);
    mpfr_mul(r, t, x, MPFR_RNDN);
    mpfr_clear(t);
}

/* r = p(x, y) over the reals; comparisons give 0 or 1. Every primitive is listed: one without a meaning here would
 * pass every comparison. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
static inline void exact_operation(tp_prim p, int64_t integer, mpfr_ptr r, mpfr_srcptr x, mpfr_srcptr y)
{
    const mpfr_rnd_t N = MPFR_RNDN;
    switch (p) {
    case TP_P_NEG: mpfr_neg(r, x, N); return;
    case TP_P_ABS: mpfr_abs(r, x, N); return;
    case TP_P_SIGN: mpfr_set_si(r, mpfr_sgn(x), N); return;
    case TP_P_SQUARE: mpfr_sqr(r, x, N); return;
    case TP_P_EXP: mpfr_exp(r, x, N); return;
    case TP_P_EXP2: mpfr_exp2(r, x, N); return;
    case TP_P_EXPM1: mpfr_expm1(r, x, N); return;
    case TP_P_LOG: mpfr_log(r, x, N); return;
    case TP_P_LOG1P: mpfr_log1p(r, x, N); return;
    case TP_P_LOG2: mpfr_log2(r, x, N); return;
    case TP_P_SQRT: mpfr_sqrt(r, x, N); return;
    case TP_P_RSQRT: /* of -0: 1 / -0, as the machine has it */
        if (mpfr_zero_p(x))
            mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
        else
            mpfr_rec_sqrt(r, x, N);
        return;
    case TP_P_TANH: mpfr_tanh(r, x, N); return;
    case TP_P_ERF: mpfr_erf(r, x, N); return;
    case TP_P_ERFC: mpfr_erfc(r, x, N); return;
    case TP_P_LOGISTIC:
    case TP_P_SILU: {
        mpfr_t t;
        mpfr_init2(t, EXACT_BITS);
        mpfr_neg(t, x, N);
        mpfr_exp(t, t, N);
        mpfr_add_ui(t, t, 1, N);
        if (p == TP_P_SILU)
            mpfr_div(r, x, t, N);
        else
            mpfr_ui_div(r, 1, t, N);
        mpfr_clear(t);
        return;
    }
    case TP_P_GELU: exact_gelu(r, x); return;
    case TP_P_RELU: mpfr_set_ui(r, 0, N), mpfr_max(r, x, r, N); return;
    case TP_P_SIN: mpfr_sin(r, x, N); return;
    case TP_P_COS: mpfr_cos(r, x, N); return;
    case TP_P_TAN: mpfr_tan(r, x, N); return;
    case TP_P_FLOOR: mpfr_floor(r, x); return;
    case TP_P_CEIL: mpfr_ceil(r, x); return;
    case TP_P_ROUND: mpfr_rint(r, x, N); return;
    case TP_P_ADD: mpfr_add(r, x, y, N); return;
    case TP_P_SUB: mpfr_sub(r, x, y, N); return;
    case TP_P_MUL: mpfr_mul(r, x, y, N); return;
    case TP_P_LAX_DIV:
    case TP_P_DIV: mpfr_div(r, x, y, N); return;
    case TP_P_FLOORDIV: mpfr_div(r, x, y, N), mpfr_floor(r, r); return;
    case TP_P_LAX_REM: mpfr_fmod(r, x, y, N); return;
    case TP_P_MOD:
        mpfr_fmod(r, x, y, N);
        if (mpfr_sgn(r) && mpfr_sgn(r) != mpfr_sgn(y))
            mpfr_add(r, r, y, N);
        return;
    case TP_P_POW: mpfr_pow(r, x, y, N); return;
    case TP_P_INTEGER_POW: mpfr_pow_si(r, x, (long)integer, N); return;
    case TP_P_MAXIMUM: mpfr_max(r, x, y, N); return;
    case TP_P_MINIMUM: mpfr_min(r, x, y, N); return;
    case TP_P_EQ: mpfr_set_si(r, mpfr_equal_p(x, y) != 0, N); return;
    case TP_P_NE: mpfr_set_si(r, mpfr_equal_p(x, y) == 0, N); return;
    case TP_P_LT: mpfr_set_si(r, mpfr_less_p(x, y) != 0, N); return;
    case TP_P_LE: mpfr_set_si(r, mpfr_lessequal_p(x, y) != 0, N); return;
    case TP_P_GT: mpfr_set_si(r, mpfr_greater_p(x, y) != 0, N); return;
    case TP_P_GE: mpfr_set_si(r, mpfr_greaterequal_p(x, y) != 0, N); return;
    case TP_P_IS_FINITE: mpfr_set_si(r, mpfr_number_p(x) != 0, N); return;
    case TP_P_AND: mpfr_set_si(r, mpfr_sgn(x) && mpfr_sgn(y), N); return;
    case TP_P_OR: mpfr_set_si(r, mpfr_sgn(x) || mpfr_sgn(y), N); return;
    case TP_P_XOR: mpfr_set_si(r, !mpfr_sgn(x) != !mpfr_sgn(y), N); return;
    case TP_P_INVERT: mpfr_set_si(r, !mpfr_sgn(x), N); return;
    case TP_P_SHL: /* of integers, which follow the data */
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
#define IMMEDIATE(...)
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    abort();
}
#pragma GCC diagnostic pop

static inline bool exact_elementwise(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out,
                                     const tp_lanes *const *args, uint32_t nargs)
{
    exact_domain *e = (exact_domain *)d;
    const tp_lanes *b = nargs > 1 ? args[1] : args[0];
    mpfr_t x, y;
    if (!args[0]->plane[0] && !b->plane[0] && !tp_is_float(args[0]->dtype))
        return false;
    if (!tp_is_float(args[0]->dtype) && args[0]->dtype != TP_BOOL)
        return false; /* integers follow the data */
    mpfr_inits2(EXACT_BITS, x, y, (mpfr_ptr)0);
    for (size_t i = 0; i < out->n; i++)
        exact_operation(p, integer, exact_result(e, out, i), exact_value(e, args[0], i, x), exact_value(e, b, i, y));
    mpfr_clears(x, y, (mpfr_ptr)0);
    return true;
}

static inline bool exact_select(tp_domain *d, tp_lanes *out, const tp_lanes *c, const tp_lanes *a, const tp_lanes *b)
{
    exact_domain *e = (exact_domain *)d;
    mpfr_t x;
    mpfr_init2(x, EXACT_BITS);
    for (size_t i = 0; i < out->n; i++) {
        bool first = mpfr_sgn(exact_value(e, c, i, x)) != 0;
        mpfr_ptr r = exact_result(e, out, i);
        mpfr_set(r, exact_value(e, first ? a : b, i, x), MPFR_RNDN);
    }
    mpfr_clear(x);
    return true;
}

static inline bool exact_cast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    exact_domain *e = (exact_domain *)d;
    mpfr_t x;
    if (!tp_is_float(out->dtype))
        return false;
    mpfr_init2(x, EXACT_BITS);
    for (size_t i = 0; i < out->n; i++) {
        mpfr_ptr r = exact_result(e, out, i);
        mpfr_set(r, exact_value(e, a, i, x), MPFR_RNDN);
    }
    mpfr_clear(x);
    return true;
}

static inline bool exact_literal(tp_domain *d, tp_lanes *out, double v)
{
    mpfr_set_d(exact_result((exact_domain *)d, out, 0), v, MPFR_RNDN);
    return true;
}

static inline bool exact_bitcast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    (void)d, (void)out, (void)a;
    return false;
}

static inline bool exact_reduce(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g)
{
    exact_domain *e = (exact_domain *)d;
    mpfr_t x;
    if (!tp_is_float(out->dtype))
        return false;
    mpfr_init2(x, EXACT_BITS);
    for (size_t o = 0; o < g->nout; o++) {
        mpfr_ptr r = exact_result(e, out, o);
        mpfr_set_si(r, p == TP_P_PROD ? 1 : 0, MPFR_RNDN);
        if (p == TP_P_MAX || p == TP_P_MIN)
            mpfr_set_inf(r, p == TP_P_MAX ? -1 : 1);
        for (size_t t = 0; t < g->nin; t++)
            exact_operation(tp_prim_of(p), 0, r, r, exact_value(e, a, g->base[o] + g->offset[t], x));
    }
    mpfr_clear(x);
    return true;
}

static inline bool exact_scan(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step,
                              size_t n)
{
    exact_domain *e = (exact_domain *)d;
    mpfr_t x, s;
    if (!tp_is_float(out->dtype))
        return false;
    mpfr_inits2(EXACT_BITS, x, s, (mpfr_ptr)0);
    for (size_t t = 0; t < n; t++) {
        size_t i = (size_t)((ptrdiff_t)start + (ptrdiff_t)t * step);
        mpfr_srcptr v = exact_value(e, a, i, x);
        if (t == 0)
            mpfr_set(s, v, MPFR_RNDN);
        else
            exact_operation(tp_prim_of(p), 0, s, s, v);
        mpfr_set(exact_result(e, out, i), s, MPFR_RNDN);
    }
    mpfr_clears(x, s, (mpfr_ptr)0);
    return true;
}

static inline bool exact_dot(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    exact_domain *e = (exact_domain *)d;
    mpfr_t x, y, t;
    if (!tp_is_float(out->dtype))
        return false;
    mpfr_inits2(EXACT_BITS, x, y, t, (mpfr_ptr)0);
    for (size_t q = 0, i = 0; q < s.batch; q++)
        for (size_t m = 0; m < s.m; m++)
            for (size_t n = 0; n < s.n; n++, i++) {
                mpfr_ptr r = exact_result(e, out, i);
                mpfr_set_ui(r, 0, MPFR_RNDN);
                for (size_t k = 0; k < s.k; k++) {
                    mpfr_mul(t, exact_value(e, a, (q * s.m + m) * s.k + k, x),
                             exact_value(e, b, (q * s.k + k) * s.n + n, y), MPFR_RNDN);
                    mpfr_add(r, r, t, MPFR_RNDN);
                }
            }
    mpfr_clears(x, y, t, (mpfr_ptr)0);
    return true;
}

static inline void exact_of_data(const tp_domain *d, const tp_lanes *x, void *const *plane)
{
    exact_domain *e = tp_writable(d);
    for (size_t i = 0; i < x->n; i++) {
        uint64_t at = exact_new(e);
        mpfr_set_d(exact_at(e, at), tp_lane(x, i), MPFR_RNDN);
        ((uint64_t *)plane[0])[i] = at;
    }
}

static inline bool exact_certain(const tp_domain *d, const tp_lanes *x)
{
    (void)d, (void)x;
    return true;
}

static inline exact_domain exact_make(void)
{
    return (exact_domain){.base = {.name = "exact",
                                   .nplanes = 1,
                                   .tells = true,
                                   .exact = exact_of_data,
                                   .elementwise = exact_elementwise,
                                   .select = exact_select,
                                   .cast = exact_cast,
                                   .literal = exact_literal,
                                   .bitcast = exact_bitcast,
                                   .reduce = exact_reduce,
                                   .scan = exact_scan,
                                   .dot = exact_dot,
                                   .certain = exact_certain}};
}

static inline void exact_drop(exact_domain *e)
{
    for (size_t i = 0; i < e->n; i++)
        mpfr_clear(exact_at(e, i));
    for (size_t i = 0; i < e->room; i++)
        free(e->chunks[i]);
    free(e->chunks);
    mpfr_free_cache();
}

/* |exact - v| <= b? */
static inline bool exact_within(mpfr_srcptr x, double v, double b)
{
    mpfr_t t;
    if (b == (double)INFINITY || (mpfr_nan_p(x) && v != v))
        return true;
    mpfr_init2(t, EXACT_BITS);
    mpfr_sub_d(t, x, v, MPFR_RNDN);
    bool within = mpfr_cmpabs_ui(t, 0) == 0 || (mpfr_inf_p(x) && mpfr_cmp_d(x, v) == 0);
    if (!within) {
        mpfr_abs(t, t, MPFR_RNDN);
        within = !mpfr_nan_p(t) && mpfr_cmp_d(t, b) <= 0;
    }
    mpfr_clear(t);
    return within;
}

#endif
