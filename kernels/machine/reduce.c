/* Reductions and running reductions: members of an output are folded in order, whichever loop does it. */
#include <math.h>

#include "base/turned.h"
#include "base/vectorised.h"
#include "kernels/machine/internal.h"

/* A reduction as output index -> members: for output o, the members are
 * base[o] + offset[t] for all t. */
typedef struct groups {
    size_t nout, nin;
    size_t *base, *offset;
    tp_machine *m;
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
    size_t pitch = a->viewed ? (size_t)a->pitch : 0;
    bool known = m->workspace_size[i->out] != 0;
    size_t *space = tp_workspace(m, i->out, (out->n + nred + 3) * sizeof *space), *of = space + out->n + nred + 2;
    if (known && *of == pitch) /* but for the distance of rows it does not depend on the step */
        return (groups){out->n, nred, space, space + out->n + 1, m};
    *of = pitch;
    groups g = {.m = m};
    g.base = enumerate(space, a, kept, stride, &g.nout);
    g.offset = enumerate(space + out->n + 1, a, reduced, stride, &g.nin);
    return g;
}

/* A sum of float32s that lie side by side: 16 sums of every 16th, then what is left over and these in order. */
typedef struct row_sum {
    float lanes[16], rest;
} row_sum;

/* n elements more; all pieces but the last are multiples of 16. */
TP_VECTORISED static void sum_more(row_sum *restrict s, const float *restrict p, size_t n)
{
    enum { LANES = sizeof s->lanes / sizeof *s->lanes };
    float lanes[LANES];
    size_t t = 0;
    memcpy(lanes, s->lanes, sizeof lanes);
    for (; t + LANES <= n; t += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += p[t + k];
    for (; t < n; t++)
        s->rest += p[t];
    memcpy(s->lanes, lanes, sizeof lanes);
}

static float sum_of(const row_sum *s)
{
    float sum = s->rest;
    for (size_t k = 0; k < sizeof s->lanes / sizeof *s->lanes; k++)
        sum += s->lanes[k];
    return sum;
}

/* The sums of some rows of n elements at once, as those of one: each alone would wait for itself. */
enum { TOGETHER = 4 };
typedef float lane_sums __attribute__((vector_size(sizeof((row_sum *)0)->lanes), aligned(sizeof(float)), may_alias));

TP_VECTORISED static void sum_together(const float *const *rows, size_t n, float *restrict r)
{
    enum { LANES = sizeof(lane_sums) / sizeof(float) };
    const float *p0 = rows[0], *p1 = rows[1], *p2 = rows[2], *p3 = rows[3];
    lane_sums s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    float rest[TOGETHER] = {0}, lanes[TOGETHER][LANES];
    size_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        s0 += *(const lane_sums *)(const void *)(p0 + t);
        s1 += *(const lane_sums *)(const void *)(p1 + t);
        s2 += *(const lane_sums *)(const void *)(p2 + t);
        s3 += *(const lane_sums *)(const void *)(p3 + t);
    }
    for (; t < n; t++)
        for (size_t q = 0; q < TOGETHER; q++)
            rest[q] += rows[q][t];
    memcpy(lanes[0], &s0, sizeof s0);
    memcpy(lanes[1], &s1, sizeof s1);
    memcpy(lanes[2], &s2, sizeof s2);
    memcpy(lanes[3], &s3, sizeof s3);
    for (size_t k = 0; k < LANES; k++)
        for (size_t q = 0; q < TOGETHER; q++)
            rest[q] += lanes[q][k];
    memcpy(r, rest, sizeof rest);
}

/* The same of sixteen short rows, whose 16 sums each are added beside those of the others. */
TP_VECTORISED static void sum_sixteen(const float *const *rows, size_t n, float *restrict r)
{
    _Alignas(64) float lanes[TP_SIXTEEN][TP_SIXTEEN], turned[TP_SIXTEEN][TP_SIXTEEN], sum[TP_SIXTEEN];
    const float *of[TP_SIXTEEN];
    for (size_t q = 0; q < TP_SIXTEEN; q++) {
        lane_sums s = {0};
        size_t t = 0;
        for (; t + TP_SIXTEEN <= n; t += TP_SIXTEEN)
            s += *(const lane_sums *)(const void *)(rows[q] + t);
        of[q] = memcpy(lanes[q], &s, sizeof s);
        for (sum[q] = 0; t < n; t++)
            sum[q] += rows[q][t];
    }
    tp_turn_sixteen(of, turned);
    for (size_t k = 0; k < TP_SIXTEEN; k++)
        for (size_t q = 0; q < TP_SIXTEEN; q++)
            sum[q] += turned[k][q];
    memcpy(r, sum, sizeof sum);
}

static double fold_float(tp_prim prim, bool single, double acc, double v)
{
    if (prim == TP_P_SUM)
        return single ? (double)((float)acc + (float)v) : acc + v;
    if (prim == TP_P_PROD)
        return single ? (double)((float)acc * (float)v) : acc * v;
    return (prim == TP_P_MAX ? acc > v : acc < v) || acc != acc ? acc : v;
}

static int64_t fold_int(tp_prim prim, int64_t acc, int64_t v)
{
    return prim == TP_P_SUM    ? (int64_t)((uint64_t)acc + (uint64_t)v)
           : prim == TP_P_PROD ? (int64_t)((uint64_t)acc * (uint64_t)v)
           : prim == TP_P_MAX  ? (acc > v ? acc : v)
           : prim == TP_P_MIN  ? (acc < v ? acc : v)
           : prim == TP_P_ANY  ? (acc | v)
                               : (acc & v);
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

/* Do the members of each output lie side by side? */
static bool lie_in_rows(const groups *g)
{
    return g->nin && g->offset[g->nin - 1] == g->nin - 1;
}

/* ---- the numbers ---- */

enum {
    STRIP = 512,
    WIDE_STRIP = 2048, /* of columns: what is read of a row lies side by side */
    ABREAST = 8        /* outputs whose members are folded at the same time: each waits for its own sum only */
};

static double start_of(tp_prim prim)
{
    return prim == TP_P_SUM ? 0 : prim == TP_P_PROD ? 1 : prim == TP_P_MAX ? -HUGE_VAL : HUGE_VAL;
}

/* acc[i] = fold of acc[i] and v[i]; of sums four at once, one after the other. */
#define FOLD(T)                                                                                                        \
    TP_VECTORISED static void fold_into_##T(tp_prim prim, size_t n, T *restrict acc, const T *restrict v)              \
    {                                                                                                                  \
        if (prim == TP_P_SUM)                                                                                          \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] += v[i];                                                                                        \
        else if (prim == TP_P_PROD)                                                                                    \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] *= v[i];                                                                                        \
        else if (prim == TP_P_MAX)                                                                                     \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = acc[i] > v[i] || acc[i] != acc[i] ? acc[i] : v[i];                                            \
        else                                                                                                           \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = acc[i] < v[i] || acc[i] != acc[i] ? acc[i] : v[i];                                            \
    }                                                                                                                  \
    TP_VECTORISED static void sum_four_into_##T(size_t n, T *restrict acc, const T *restrict u, const T *restrict v,   \
                                                const T *restrict w, const T *restrict x)                              \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            acc[i] = acc[i] + u[i] + v[i] + w[i] + x[i];                                                               \
    }
FOLD(float)
FOLD(double)

/* The largest or smallest of a row, unless that is a NaN or a zero: of those the order decides which. */
typedef struct row_extreme {
    float best;
    bool nan;
} row_extreme;

TP_VECTORISED static void extreme_more(tp_prim prim, row_extreme *restrict x, const float *restrict p, size_t n)
{
    enum { LANES = 32 };
    float lanes[LANES], best = x->best;
    unsigned nans[LANES] = {0}, nan = 0;
    for (size_t k = 0; k < LANES; k++)
        lanes[k] = best;
    size_t t = 0;
    for (; t + LANES <= n; t += LANES)
        for (size_t k = 0; k < LANES; k++) {
            float v = p[t + k];
            nans[k] |= v != v;
            lanes[k] = prim == TP_P_MAX ? (v > lanes[k] ? v : lanes[k]) : (v < lanes[k] ? v : lanes[k]);
        }
    if (t + LANES / 2 <= n) {
        for (size_t k = 0; k < LANES / 2; k++) {
            float v = p[t + k];
            nans[k] |= v != v;
            lanes[k] = prim == TP_P_MAX ? (v > lanes[k] ? v : lanes[k]) : (v < lanes[k] ? v : lanes[k]);
        }
        t += LANES / 2;
    }
    for (; t < n; t++) {
        nan |= p[t] != p[t];
        best = prim == TP_P_MAX ? (p[t] > best ? p[t] : best) : (p[t] < best ? p[t] : best);
    }
    for (size_t k = 0; k < LANES; k++)
        nan |= nans[k];
    for (size_t half = LANES / 2; half; half /= 2) /* in any order: see above */
        for (size_t k = 0; k < half; k++) {
            float v = lanes[k + half];
            lanes[k] = prim == TP_P_MAX ? (v > lanes[k] ? v : lanes[k]) : (v < lanes[k] ? v : lanes[k]);
        }
    x->best = prim == TP_P_MAX ? (lanes[0] > best ? lanes[0] : best) : (lanes[0] < best ? lanes[0] : best);
    x->nan |= nan != 0;
}

typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t of_quad __attribute__((vector_size(16)));

/* Lane by lane the larger or smaller one, x where they are the same; a NaN stays. */
static inline quad further(bool largest, quad x, quad v)
{
    of_quad takes = (largest ? v > x : v < x) | (v != v);
    return (quad)(((of_quad)v & takes) | ((of_quad)x & ~takes));
}

/* Those of sixteen short rows of 16 elements at least; false: some of them is or may be such a NaN or zero. In vectors
 * that every processor has: longer ones would be shorter by little. */
static inline __attribute__((always_inline)) bool extremes(const bool largest, const float *const *rows, size_t n,
                                                           float *restrict r)
{
    float lanes[TP_SIXTEEN][TP_SIXTEEN], turned[TP_SIXTEEN][TP_SIXTEEN];
    const float *of[TP_SIXTEEN];
    of_quad unsure = {0};
    for (size_t q = 0; q < TP_SIXTEEN; q++) {
        of[q] = n > TP_SIXTEEN ? lanes[q] : rows[q];
        for (size_t k = 0; n > TP_SIXTEEN && k < TP_SIXTEEN; k += 4) {
            quad x = *(const quad *)(const void *)(rows[q] + k);
            for (size_t t = TP_SIXTEEN; t < n; t += TP_SIXTEEN) /* the last ones may be looked at twice */
                x = further(largest, x,
                            *(const quad *)(const void *)(rows[q] + k + (t + TP_SIXTEEN <= n ? t : n - TP_SIXTEEN)));
            *(quad *)(void *)(lanes[q] + k) = x;
        }
    }
    tp_turn_sixteen(of, turned);
    for (size_t q = 0; q < TP_SIXTEEN; q += 4) {
        quad x = *(const quad *)(const void *)(turned[0] + q);
        for (size_t k = 1; k < TP_SIXTEEN; k++)
            x = further(largest, x, *(const quad *)(const void *)(turned[k] + q));
        unsure |= (x != x) | (x == 0);
        *(quad *)(void *)(r + q) = x;
    }
    return !(unsure[0] | unsure[1] | unsure[2] | unsure[3]);
}

static bool extreme_sixteen(tp_prim prim, const float *const *rows, size_t n, float *r)
{
    return prim == TP_P_MAX ? extremes(true, rows, n, r) : extremes(false, rows, n, r);
}

/* May they be reduced sixteen at a time? More of longer rows come slower than four. */
static bool are_short(tp_prim prim, size_t n)
{
    enum { SHORT = 32 };
    return n <= SHORT && (prim == TP_P_SUM || n >= TP_SIXTEEN);
}

/* False: they have to be done one by one. */
static bool reduce_sixteen(tp_prim prim, const float *const *rows, size_t n, float *r)
{
    if (prim != TP_P_SUM)
        return extreme_sixteen(prim, rows, n, r);
    sum_sixteen(rows, n, r);
    return true;
}

static bool is_certain(const row_extreme *x)
{
    return !x->nan && x->best != 0;
}

/* Members of an output lie side by side: some outputs at a time, each in order. */
#define ROWS(T, GET, PUT)                                                                                              \
    static void rows_##T(tp_prim prim, const tp_cells *a, tp_cells *out, const groups *g, size_t first, size_t count)  \
    {                                                                                                                  \
        T strip[ABREAST][STRIP], turned[ABREAST], acc[ABREAST];                                                        \
        for (size_t r = 0; r < ABREAST; r++)                                                                           \
            acc[r] = (T)start_of(prim);                                                                                \
        for (size_t t = 0, n; t < g->nin; t += n) {                                                                    \
            n = g->nin - t < STRIP ? g->nin - t : STRIP;                                                               \
            for (size_t r = 0; r < count; r++)                                                                         \
                GET(a->dtype, a->data, g->base[first + r] + t, n, strip[r]);                                           \
            for (size_t i = 0; i < n; i++) {                                                                           \
                for (size_t r = 0; r < ABREAST; r++)                                                                   \
                    turned[r] = r < count ? strip[r][i] : 0;                                                           \
                fold_into_##T(prim, ABREAST, acc, turned);                                                             \
            }                                                                                                          \
        }                                                                                                              \
        PUT(out->dtype, out->data, first, count, acc);                                                                 \
    }
ROWS(float, tp_get_row_f32, tp_put_row_f32)
ROWS(double, tp_get_row_f64, tp_put_row_f64)

/* Outputs o to o + n lie side by side, and so do their members: strips of them, one member after the other. */
#define COLUMNS(T, AS_IT_LIES, GET, PUT)                                                                               \
    static void columns_##T(tp_prim prim, const tp_cells *a, tp_cells *out, const groups *g, size_t first,             \
                            size_t count)                                                                              \
    {                                                                                                                  \
        T strip[WIDE_STRIP], acc[WIDE_STRIP];                                                                          \
        for (size_t o = 0, n; o < count; o += n) {                                                                     \
            n = count - o < WIDE_STRIP ? count - o : WIDE_STRIP;                                                       \
            for (size_t i = 0; i < n; i++)                                                                             \
                acc[i] = (T)start_of(prim);                                                                            \
            const T *there = (const T *)a->data + g->base[first + o];                                                  \
            const size_t *at = g->offset;                                                                              \
            size_t t = 0;                                                                                              \
            for (; a->dtype == AS_IT_LIES && prim == TP_P_SUM && t + 4 <= g->nin; t += 4) {                            \
                tp_ahead_beside(g->m, 4 * n);                                                                          \
                sum_four_into_##T(n, acc, there + at[t], there + at[t + 1], there + at[t + 2], there + at[t + 3]);     \
            }                                                                                                          \
            for (; t < g->nin; t++) {                                                                                  \
                tp_ahead_beside(g->m, n);                                                                              \
                if (a->dtype != AS_IT_LIES)                                                                            \
                    GET(a->dtype, a->data, g->base[first + o] + at[t], n, strip);                                      \
                fold_into_##T(prim, n, acc, a->dtype != AS_IT_LIES ? strip : there + at[t]);                           \
            }                                                                                                          \
            PUT(out->dtype, out->data, first + o, n, acc);                                                             \
        }                                                                                                              \
    }
COLUMNS(float, TP_F32, tp_get_row_f32, tp_put_row_f32)
COLUMNS(double, TP_F64, tp_get_row_f64, tp_put_row_f64)

static void reduce_ints(tp_prim prim, const tp_cells *a, tp_cells *out, const groups *g)
{
    int64_t strip[STRIP];
    bool rows = lie_in_rows(g);
    for (size_t o = 0; o < out->n; o++) {
        int64_t acc = prim == TP_P_SUM || prim == TP_P_ANY    ? 0
                      : prim == TP_P_PROD || prim == TP_P_ALL ? 1
                      : prim == TP_P_MAX                      ? tp_dtype_min(a->dtype)
                                                              : tp_dtype_max(a->dtype);
        for (size_t t = 0, n; t < g->nin; t += n) {
            n = !rows ? 1 : g->nin - t < STRIP ? g->nin - t : STRIP;
            tp_get_row_i64(a->dtype, a->data, g->base[o] + g->offset[t], n, strip);
            for (size_t i = 0; i < n; i++)
                acc = fold_int(prim, acc, strip[i]);
        }
        tp_put_i64(out->dtype, out->data, o, acc);
    }
}

/* Outputs of which the members lie side by side as they do themselves. */
static size_t side_by_side(const tp_inst *i, const tp_cells *a)
{
    size_t n = 1;
    for (uint32_t d = a->rank; d-- > (a->viewed ? a->rank - 1 : 0); n *= (size_t)a->dims[d])
        for (uint32_t k = 0; k < i->nints; k++)
            if ((uint32_t)i->ints[k] == d)
                return n;
    return n;
}

static void reduce_floats(const tp_inst *i, const tp_cells *a, tp_cells *out, const groups *g)
{
    bool rows = lie_in_rows(g);
    size_t columns = side_by_side(i, a), n = rows ? ABREAST : columns;
    for (size_t o = 0; o < out->n; o += n) {
        size_t count = out->n - o < n ? out->n - o : n;
        tp_ahead_beside(g->m, rows ? count * g->nin : 0);
        if (!rows && a->dtype == TP_F64)
            columns_double(i->prim, a, out, g, o, count);
        else if (!rows)
            columns_float(i->prim, a, out, g, o, count);
        else if (a->dtype == TP_F64)
            rows_double(i->prim, a, out, g, o, count);
        else
            rows_float(i->prim, a, out, g, o, count);
    }
}

/* Rows of float32, each at once where that says the same. */
static void reduce_f32_rows(tp_prim prim, const tp_cells *a, tp_cells *out, const groups *g)
{
    enum { AHEAD = 4, LINE = 64 / sizeof(float), MOST = 4096 / sizeof(float) };
    float *r = out->data;
    size_t o = 0;
    for (; !a->viewed && are_short(prim, g->nin) && o + TP_SIXTEEN <= out->n; o += TP_SIXTEEN) {
        const float *rows[TP_SIXTEEN];
        for (size_t q = 0; q < TP_SIXTEEN; q++)
            rows[q] = (const float *)a->data + g->base[o + q];
        tp_ahead_beside(g->m, TP_SIXTEEN * g->nin);
        if (!reduce_sixteen(prim, rows, g->nin, r + o))
            break;
    }
    for (; prim == TP_P_SUM && o + TOGETHER <= out->n && g->nin <= MOST; o += TOGETHER) {
        const float *rows[TOGETHER];
        for (size_t q = 0; q < TOGETHER; q++) {
            rows[q] = (const float *)a->data + g->base[o + q];
            for (size_t t = 0; a->viewed && o + AHEAD + q < out->n && t < g->nin; t += LINE)
                __builtin_prefetch((const float *)a->data + g->base[o + AHEAD + q] + t, 0, 3);
        }
        tp_ahead_beside(g->m, TOGETHER * g->nin);
        sum_together(rows, g->nin, r + o);
    }
    for (; o < out->n; o++) {
        const float *row = (const float *)a->data + g->base[o];
        for (size_t t = 0; a->viewed && o + AHEAD < out->n && t < g->nin && t < MOST; t += LINE)
            __builtin_prefetch((const float *)a->data + g->base[o + AHEAD] + t, 0, 3);
        tp_ahead_beside(g->m, g->nin);
        row_sum sum = {.rest = 0};
        row_extreme x = {.best = (float)start_of(prim)};
        if (prim == TP_P_SUM)
            sum_more(&sum, row, g->nin);
        else
            extreme_more(prim, &x, row, g->nin);
        r[o] = prim == TP_P_SUM ? sum_of(&sum) : x.best;
        if (prim != TP_P_SUM && !is_certain(&x))
            rows_float(prim, a, out, g, o, 1);
    }
}

/* ---- rows that are reduced while they are computed ---- */

typedef struct fused_rows {
    tp_prim prim;
    size_t length;
    float *out;
    row_sum sum;
    row_extreme extreme;
    float ordered; /* the extreme in order, which is wanted for few */
} fused_rows;

static void reduce_piece(fused_rows *f, size_t row, size_t at, const float *p, size_t n)
{
    if (at == 0) {
        f->sum = (row_sum){.rest = 0};
        f->extreme.best = f->ordered = (float)start_of(f->prim);
        f->extreme.nan = false;
    }
    if (f->prim == TP_P_SUM) {
        sum_more(&f->sum, p, n);
    } else {
        extreme_more(f->prim, &f->extreme, p, n);
        if (!is_certain(&f->extreme)) /* a piece that is certain leaves behind what the order would */
            for (size_t i = 0; i < n; i++)
                fold_into_float(f->prim, 1, &f->ordered, p + i);
        else
            f->ordered = f->extreme.best;
    }
    if (at + n == f->length)
        f->out[row] = f->prim == TP_P_SUM ? sum_of(&f->sum) : f->ordered;
}

static void reduce_pieces(void *ctx, size_t row, size_t at, const void *data, size_t n, size_t count)
{
    fused_rows *f = ctx;
    const float *p = data;
    for (; n == f->length && are_short(f->prim, n) && count >= TP_SIXTEEN; count -= TP_SIXTEEN, row += TP_SIXTEEN) {
        const float *rows[TP_SIXTEEN];
        for (size_t q = 0; q < TP_SIXTEEN; q++)
            rows[q] = p + q * n;
        if (!reduce_sixteen(f->prim, rows, n, f->out + row))
            break;
        p += TP_SIXTEEN * n;
    }
    for (; f->prim == TP_P_SUM && n == f->length && count >= TOGETHER; count -= TOGETHER, row += TOGETHER) {
        sum_together((const float *[]){p, p + n, p + 2 * n, p + 3 * n}, n, f->out + row);
        p += TOGETHER * n;
    }
    for (; count > 0; count--, row++, p += n)
        reduce_piece(f, row, at, p, n);
}

bool tp_reduce_fused(tp_machine *m, const tp_inst *i)
{
    if (i->prim != TP_P_SUM && i->prim != TP_P_MAX && i->prim != TP_P_MIN)
        return false;
    const tp_cells *a = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    if (a->dtype != TP_F32 || !a->n || i->nints != 1 || (uint32_t)i->ints[0] + 1 != a->rank)
        return false;
    fused_rows f = {.prim = i->prim, .length = (size_t)a->dims[a->rank - 1], .out = out->own};
    if (!tp_fuse_reads(m, i->args[0], sizeof f.sum.lanes / sizeof *f.sum.lanes, reduce_pieces, &f))
        return false;
    out->data = out->own;
    out->viewed = false;
    out->state = TP_CLEAN;
    return true;
}

/* Of float32s that lie side by side: the lowest place of the best, once that is known; a NaN is looked for in order. */
static int64_t arg_best_of_row(tp_prim prim, const tp_cells *a, size_t base, const groups *g)
{
    const float *row = (const float *)a->data + base;
    row_extreme x = {.best = (float)start_of(prim == TP_P_ARGMAX ? TP_P_MAX : TP_P_MIN)};
    extreme_more(prim == TP_P_ARGMAX ? TP_P_MAX : TP_P_MIN, &x, row, g->nin);
    size_t best = 0;
    while (!x.nan && best < g->nin && !(row[best] == x.best))
        best++;
    return x.nan || best == g->nin ? arg_best(prim, a, base, g) : (int64_t)best;
}

static void reduce_numbers(const tp_inst *i, const tp_cells *a, tp_cells *out, const groups *g)
{
    bool rows = lie_in_rows(g);
    if (i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN)
        for (size_t o = 0; o < out->n; o++)
            tp_put_i64(out->dtype, out->data, o,
                       rows && a->dtype == TP_F32 ? arg_best_of_row(i->prim, a, g->base[o], g)
                                                  : arg_best(i->prim, a, g->base[o], g));
    else if (!tp_is_float(a->dtype))
        reduce_ints(i->prim, a, out, g);
    else if (rows && a->dtype == TP_F32 && i->prim != TP_P_PROD)
        reduce_f32_rows(i->prim, a, out, g);
    else
        reduce_floats(i, a, out, g);
}

static void planes_of_reduce(tp_machine *m, tp_prim prim, tp_cells *out, const tp_cells *a, const tp_groups *g)
{
    tp_lanes x = tp_lanes_of(a), r = tp_planes_result(m, out);
    tp_note_planes(out, &r, m->domain->reduce(m->domain, prim, &r, &x, g));
}

void tp_exec_reduce(tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    groups g = group(m, i, a, out);
    out->state = TP_CLEAN;
    if ((i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN) && g.nin == 0)
        tp_trap_raise(m, TP_RULE_EXTENT, (tp_str){NULL, 0}, "argmax or argmin over no elements");
    reduce_numbers(i, a, out, &g);
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
void tp_exec_scan(tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]];
    tp_cells *out = &m->values[i->out];
    tp_prim prim = tp_prim_of(i->prim);
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
        tp_note_planes(out, &r, planes);
    }
}
