/* The rounding domain: the value over the reals beside the computed one. */
#include "domains/rounding.h"

#include "base/assert.h"
#include "domains/multiply.h"

static const double U = 0x1p-53;

typedef struct rounding {
    tp_domain base;
    tp_arena *arena;
    double *room; /* of dot */
    size_t room_size;
} rounding;

static size_t at(const tp_lanes *x, size_t i)
{
    return x->n == 1 ? 0 : i;
}

static double value(const tp_lanes *x, size_t i)
{
    return x->plane[0] ? ((const double *)x->plane[0])[at(x, i)] : tp_lane(x, i);
}

static double bound(const tp_lanes *x, size_t i)
{
    return x->plane[0] ? ((const double *)x->plane[1])[at(x, i)] : 0;
}

/* Write one element; true when it says no more than the data. */
static bool put(tp_lanes *out, size_t i, double v, double b)
{
    double r = tp_lane(out, i);
    ((double *)out->plane[0])[i] = v;
    ((double *)out->plane[1])[i] = b;
    return b == 0 && (v == r || (v != v && r != r));
}

static void exact(const tp_domain *d, const tp_lanes *x, void *const *plane)
{
    (void)d;
    const double *v = tp_lanes_part(x, 0, x->n, plane[0]);
    if (v != plane[0])
        memcpy(plane[0], v, x->n * sizeof *v);
    memset(plane[1], 0, x->n * sizeof *v);
}

static bool has_planes(const tp_lanes *const *args, uint32_t n)
{
    for (uint32_t a = 0; a < n; a++)
        if (args[a]->plane[0])
            return true;
    return false;
}

/* ---- elementwise ---- */

/* Elements [from, from + n) of x: its planes themselves, or room filled with
 * its data; of a scalar, filled where from is 0. */
TP_VECTORISED static tp_strip part(const tp_lanes *x, size_t from, size_t n, double *v, double *b)
{
    static const double EXACT[TP_STRIP] = {0};
    if (x->n == 1) {
        double one = value(x, 0), off = bound(x, 0);
        for (size_t i = 0; from == 0 && i < n; i++) {
            v[i] = one;
            b[i] = off;
        }
        return (tp_strip){v, b};
    }
    if (x->plane[0])
        return (tp_strip){(const double *)x->plane[0] + from, (const double *)x->plane[1] + from};
    return (tp_strip){tp_lanes_part(x, from, n, v), EXACT};
}

/* Do the planes say no more than the data there? */
TP_VECTORISED static bool says_the_data(const tp_lanes *out, size_t from, size_t n)
{
    const double *v = (const double *)out->plane[0] + from, *b = (const double *)out->plane[1] + from;
    int64_t unlike = 0;
    if (out->stored == TP_F32) {
        const float *r = (const float *)out->data + from;
        for (size_t i = 0; i < n; i++)
            unlike |= ((b[i] == 0) & ((double)r[i] == v[i])) ? 0 : 1;
        return unlike == 0;
    }
    for (size_t i = 0; i < n && !unlike; i++)
        unlike = !(b[i] == 0 && tp_get_f64(out->stored, out->data, from + i) == v[i]);
    return unlike == 0;
}

static bool is_comparison(tp_prim p)
{
    return p == TP_P_IS_FINITE || (p >= TP_P_EQ && p <= TP_P_GE);
}

/* A decision between values that the bounds do not tell apart is uncertain. */
static bool compare(tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    bool same = true;
    for (size_t i = 0; i < out->n; i++) {
        double x = value(a, i), y = b ? value(b, i) : 0, slack = bound(a, i) + (b ? bound(b, i) : 0);
        bool close = slack > 0 && !(fabs(x - y) > slack);
        same &= put(out, i, tp_meaning_f64(p, x, y), close && p != TP_P_IS_FINITE ? 1 : slack < HUGE_VAL ? 0 : 1);
    }
    return same;
}

/* Connectives of bools; a certain operand may decide alone. */
static double logic(tp_prim p, double x, double y, double bx, double by, double *b)
{
    double decides = p == TP_P_AND ? 0 : 1;
    *b = fmax(bx, by);
    if ((p == TP_P_AND || p == TP_P_OR) && ((bx == 0 && (x != 0) == decides) || (by == 0 && (y != 0) == decides))) {
        *b = 0;
        return decides;
    }
    return p == TP_P_AND   ? x != 0 && y != 0
           : p == TP_P_OR  ? x != 0 || y != 0
           : p == TP_P_XOR ? (x != 0) != (y != 0)
                           : x == 0;
}

static bool logical(tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    bool same = true;
    for (size_t i = 0; i < out->n; i++) {
        double bits, v = logic(p, value(a, i), b ? value(b, i) : 0, bound(a, i), b ? bound(b, i) : 0, &bits);
        same &= put(out, i, v, bits);
    }
    return same;
}

/* Integers that hang on an uncertain decision: sums and products carry the
 * doubt, other operations give up. */
static bool integers(tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    bool same = true;
    for (size_t i = 0; i < out->n; i++) {
        double x = value(a, i), y = b ? value(b, i) : 0, bx = bound(a, i), by = b ? bound(b, i) : 0,
               v = tp_lane(out, i), e = HUGE_VAL;
        bool as_data = bx == 0 && by == 0 && x == tp_lane(a, i) && (!b || y == tp_lane(b, i));
        if (as_data) {
            e = 0;
        } else if (p == TP_P_ADD || p == TP_P_SUB) {
            v = p == TP_P_ADD ? x + y : x - y;
            e = bx + by;
        } else if (p == TP_P_MUL) {
            v = x * y;
            e = fabs(x) * by + fabs(y) * bx + bx * by;
        } else if (p == TP_P_NEG) {
            v = -x;
            e = bx;
        } else if (p == TP_P_MAXIMUM || p == TP_P_MINIMUM) {
            v = tp_meaning_f64(p, x, y);
            e = fmax(bx, by);
        }
        same &= put(out, i, v, e);
    }
    return same;
}

static bool power(tp_lanes *out, const tp_lanes *a, int64_t exponent)
{
    double v[TP_STRIP], b[TP_STRIP], was_v[TP_STRIP], was_b[TP_STRIP], one[TP_STRIP], none[TP_STRIP];
    tp_strip was = {was_v, was_b}, ones = {one, none};
    bool same = true;
    uint64_t times = (uint64_t)(exponent < 0 ? -exponent : exponent);
    for (size_t i = 0; i < TP_STRIP; i++) {
        one[i] = 1;
        none[i] = 0;
    }
    for (size_t from = 0; from < out->n; from += TP_STRIP) {
        size_t n = tp_strip_at(out->n, from), bytes = n * sizeof *v;
        tp_strip x = part(a, from, n, v, b);
        double *rv = (double *)out->plane[0] + from, *rb = (double *)out->plane[1] + from;
        memcpy(rv, one, bytes);
        memcpy(rb, none, bytes);
        for (uint64_t t = 0; t < times + (exponent < 0); t++) {
            memcpy(was_v, rv, bytes);
            memcpy(was_b, rb, bytes);
            if (t < times)
                tp_round_strip(TP_P_MUL, n, was, x, rv, rb);
            else
                tp_round_strip(TP_P_DIV, n, ones, was, rv, rb);
        }
        same = same && says_the_data(out, from, n);
    }
    return !same;
}

static bool elementwise(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out, const tp_lanes *const *args,
                        uint32_t nargs)
{
    const tp_lanes *a = args[0], *b = nargs > 1 ? args[1] : NULL;
    bool same = true, planes = has_planes(args, nargs), real = tp_is_float(a->dtype);
    double xv[TP_STRIP], xb[TP_STRIP], yv[TP_STRIP], yb[TP_STRIP];
    (void)d;
    if (!planes && (!real || is_comparison(p)))
        return false;
    if (is_comparison(p))
        return !compare(p, out, a, b);
    if (a->dtype == TP_BOOL)
        return !logical(p, out, a, b);
    if (!real)
        return !integers(p, out, a, b);
    if (p == TP_P_INTEGER_POW)
        return power(out, a, integer);
    for (size_t from = 0; from < out->n; from += TP_STRIP) {
        size_t n = tp_strip_at(out->n, from);
        tp_strip x = part(a, from, n, xv, xb), y = {NULL, NULL};
        if (b)
            y = part(b, from, n, yv, yb);
        tp_round_strip(p, n, x, y, (double *)out->plane[0] + from, (double *)out->plane[1] + from);
        same = same && says_the_data(out, from, n);
    }
    return !same;
}

/* ---- selection and conversion ---- */

/* An arm that an uncertain condition may have left out is off by its distance. */
TP_VECTORISED static void select_strip(size_t n, const double *restrict cond, const double *restrict doubt, tp_strip x,
                                       tp_strip y, double *restrict rv, double *restrict rb)
{
    const double *xv = x.v, *xb = x.b, *yv = y.v, *yb = y.b;
    for (size_t i = 0; i < n; i++) {
        bool first = cond[i] != 0;
        double v = first ? xv[i] : yv[i], e = first ? xb[i] : yb[i];
        if (doubt[i] > 0) {
            double other = first ? yv[i] : xv[i], off = first ? yb[i] : xb[i], far = fabs(v - other) + off;
            bool alike = (v == other) & (e == 0) & (off == 0);
            e = alike ? e : (far > e || far != far ? far : e) * (1 + 0x1p-40);
        }
        rv[i] = v;
        rb[i] = e == e ? e : HUGE_VAL;
    }
}

static bool select_arm(tp_domain *d, tp_lanes *out, const tp_lanes *cond, const tp_lanes *a, const tp_lanes *b)
{
    bool same = true;
    double cv[TP_STRIP], cb[TP_STRIP], xv[TP_STRIP], xb[TP_STRIP], yv[TP_STRIP], yb[TP_STRIP];
    (void)d;
    if (!cond->plane[0] && !a->plane[0] && !b->plane[0])
        return false;
    for (size_t from = 0; from < out->n; from += TP_STRIP) {
        size_t n = tp_strip_at(out->n, from);
        tp_strip c = part(cond, from, n, cv, cb), x = part(a, from, n, xv, xb), y = part(b, from, n, yv, yb);
        select_strip(n, c.v, c.b, x, y, (double *)out->plane[0] + from, (double *)out->plane[1] + from);
        same = same && says_the_data(out, from, n);
    }
    return !same;
}

static bool cast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    bool same = true, from_float = tp_is_float(a->dtype), to_float = tp_is_float(out->dtype);
    (void)d;
    if (!a->plane[0] && !to_float)
        return false;
    if (from_float && to_float) { /* the identity */
        double xv[TP_STRIP], xb[TP_STRIP];
        for (size_t from = 0; from < out->n; from += TP_STRIP) {
            size_t n = tp_strip_at(out->n, from);
            tp_strip x = part(a, from, n, xv, xb);
            memcpy((double *)out->plane[0] + from, x.v, n * sizeof(double));
            memcpy((double *)out->plane[1] + from, x.b, n * sizeof(double));
            same = same && says_the_data(out, from, n);
        }
        return !same;
    }
    for (size_t i = 0; i < out->n; i++) {
        double v = value(a, i), b = bound(a, i), r = tp_lane(out, i);
        if (out->dtype == TP_BOOL) {
            b = b > 0 && fabs(v) <= b ? 1 : 0;
            v = v != 0;
        } else if (from_float && !to_float) {
            double lo = trunc(v - b), hi = trunc(v + b);
            v = trunc(v);
            b = lo == hi ? 0 : fmax(v - lo, hi - v);
            if (!(fabs(v) < 0x1p62)) { /* undefined; whoever looks at it traps */
                v = r;
                b = 0;
            }
        } else if (!to_float && r != tp_lane(a, i)) { /* wrapped */
            b = b == 0 && v == tp_lane(a, i) ? 0 : HUGE_VAL;
            v = r;
        }
        same &= put(out, i, v, b == b ? b : HUGE_VAL);
    }
    return !same;
}

static bool literal(tp_domain *d, tp_lanes *out, double v)
{
    return !put(out, 0, v, tp_constant_slack(v, d->float64));
}

static bool bitcast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    bool same = true;
    (void)d;
    for (size_t i = 0; a->plane[0] && i < out->n; i++) {
        bool as_data = bound(a, i) == 0 && value(a, i) == tp_lane(a, i);
        same &= put(out, i, tp_lane(out, i), as_data ? 0 : HUGE_VAL);
    }
    return !same;
}

static bool certain(const tp_domain *d, const tp_lanes *x)
{
    (void)d;
    for (size_t i = 0; x->plane[0] && i < x->n; i++)
        if (bound(x, i) != 0 || value(x, i) != tp_lane(x, i))
            return false;
    return true;
}

/* ---- folds ---- */

typedef struct pair {
    double v, b;
} pair;

/* As spec/prims.def has them. */
static inline double extreme(tp_prim p, double x, double y)
{
    return (p == TP_P_MAXIMUM ? x > y : x < y) || x != x ? x : y;
}

/* In a loop over one p, of which the compiler makes its own. */
static inline __attribute__((always_inline)) pair fold(tp_prim p, pair x, pair y)
{
    double v = p == TP_P_ADD ? x.v + y.v : p == TP_P_MUL ? x.v * y.v : extreme(p, x.v, y.v), b = 0;
    if (p == TP_P_ADD)
        b = fabs(tp_sum_error(x.v, y.v, v)) + (x.b + y.b);
    else if (p == TP_P_MUL)
        b = fabs(v) * U + 0x1p-1073 + fabs(x.v) * y.b + fabs(y.v) * x.b + x.b * y.b;
    else
        b = fabs(x.v - y.v) > x.b + y.b ? (v == x.v ? x.b : y.b) : fmax(x.b, y.b);
    bool usual = fabs(v) > 0x1p-900 && fabs(x.v) < 0x1p400 && fabs(y.v) < 0x1p400;
    if (p == TP_P_MUL && x.b == 0 && y.b == 0 &&
        (x.v == 0 || y.v == 0 || (usual && tp_product_error(x.v, y.v, v) == 0)))
        b = 0;
    if (!isfinite(v)) /* infinite because of operands that are certain */
        b = (isfinite(x.v) || x.b == 0) && (isfinite(y.v) || y.b == 0) && !(isfinite(x.v) && isfinite(y.v)) ? 0
                                                                                                            : HUGE_VAL;
    return (pair){v, tp_up(b)};
}

static tp_prim binary_of(tp_prim p)
{
    return p == TP_P_SUM ? TP_P_ADD : p == TP_P_PROD ? TP_P_MUL : p == TP_P_MAX ? TP_P_MAXIMUM : TP_P_MINIMUM;
}

static pair unit_of(tp_prim p)
{
    return (pair){p == TP_P_SUM ? 0 : p == TP_P_PROD ? 1 : p == TP_P_MAX ? -HUGE_VAL : HUGE_VAL, 0};
}

/* Sum of n elements side by side. */
TP_VECTORISED static pair sum_row(const tp_lanes *a, size_t base, size_t n)
{
    enum { LANES = 8 };
    double s[LANES] = {0}, e[LANES] = {0}, b[LANES] = {0}, v[LANES];
    const double *pv = a->plane[0] ? (const double *)a->plane[0] + base : NULL,
                 *pb = a->plane[0] ? (const double *)a->plane[1] + base : NULL;
    const float *f = !pv && a->stored == TP_F32 ? (const float *)a->data + base : NULL;
    size_t t = 0;
    for (; t + LANES <= n; t += LANES) {
        for (size_t k = 0; k < LANES; k++)
            v[k] = pv ? pv[t + k] : f ? (double)f[t + k] : tp_get_f64(a->stored, a->data, base + t + k);
        for (size_t k = 0; k < LANES; k++) {
            double sum = s[k] + v[k];
            e[k] += fabs(tp_sum_error(s[k], v[k], sum));
            s[k] = sum;
        }
        for (size_t k = 0; pb && k < LANES; k++)
            b[k] += pb[t + k];
    }
    pair all = {0, 0};
    for (size_t k = 0; k < LANES; k++)
        all = fold(TP_P_ADD, all, (pair){s[k], (e[k] + b[k]) * (1 + (double)n * 0x1p-52)});
    for (; t < n; t++)
        all = fold(TP_P_ADD, all, (pair){value(a, base + t), bound(a, base + t)});
    return all;
}

/* Maximum or minimum of n elements side by side: off by no more than one of them is, and between the largest of what
 * they are at least, and at most. A masked element is far below, however far off it is. False where some element is no
 * number or infinite. */
TP_VECTORISED static bool extreme_row(tp_prim p, const tp_lanes *a, size_t base, size_t n, pair *out)
{
    double sign = p == TP_P_MAX ? 1 : -1, best = -HUGE_VAL, most = 0, unusual = 0, least = best, end = best;
    for (size_t t = 0; t < n; t++) {
        double v = sign * value(a, base + t), b = bound(a, base + t), lo = v - b, hi = v + b;
        unusual += (v - v) + (b - b);
        best = v > best ? v : best;
        most = b > most ? b : most;
        least = lo > least ? lo : least;
        end = hi > end ? hi : end;
    }
    double rounded = (fabs(least) + fabs(end)) * 0x1p-52, /* of these two, and of their distances */
        off = tp_up((end - best > best - least ? end - best : best - least) + rounded);
    *out = (pair){sign * best, off < most ? off : most};
    return unusual == 0 && n > 0;
}

static inline __attribute__((always_inline)) pair fold_each(tp_prim p, pair s, const tp_lanes *a, size_t base,
                                                            const tp_groups *g)
{
    for (size_t t = 0; t < g->nin; t++) {
        size_t i = base + g->offset[t];
        s = fold(p, s, (pair){value(a, i), bound(a, i)});
    }
    return s;
}

static pair fold_group(tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    bool row = g->nin && g->offset[g->nin - 1] == g->nin - 1;
    if (p == TP_P_SUM && row && a->n > 1) {
        pair s = sum_row(a, base, g->nin);
        if (isfinite(s.v) && isfinite(s.b))
            return s;
    }
    pair s;
    if ((p == TP_P_MAX || p == TP_P_MIN) && row && a->n > 1 && extreme_row(p, a, base, g->nin, &s))
        return s;
    if (p == TP_P_SUM)
        return fold_each(TP_P_ADD, unit_of(p), a, base, g);
    if (p == TP_P_PROD)
        return fold_each(TP_P_MUL, unit_of(p), a, base, g);
    return p == TP_P_MAX ? fold_each(TP_P_MAXIMUM, unit_of(p), a, base, g)
                         : fold_each(TP_P_MINIMUM, unit_of(p), a, base, g);
}

static pair any_or_all(tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    tp_prim connective = p == TP_P_ANY ? TP_P_OR : TP_P_AND;
    pair s = {p == TP_P_ALL, 0};
    for (size_t t = 0; t < g->nin; t++) {
        size_t i = base + g->offset[t];
        s.v = logic(connective, s.v, value(a, i), s.b, bound(a, i), &s.b);
    }
    return s;
}

static pair best_index(tp_prim p, const tp_lanes *a, size_t base, const tp_groups *g)
{
    size_t best = 0;
    bool sure = true;
    for (size_t t = 1; t < g->nin; t++) {
        double x = value(a, base + g->offset[best]), v = value(a, base + g->offset[t]);
        if (x == x && (v != v || (p == TP_P_ARGMAX ? v > x : v < x)))
            best = t;
    }
    size_t at_best = base + g->offset[best];
    for (size_t t = 0; t < g->nin; t++) {
        size_t i = base + g->offset[t];
        double slack = bound(a, i) + bound(a, at_best);
        sure &= t == best || slack == 0 || fabs(value(a, i) - value(a, at_best)) > slack;
    }
    return (pair){(double)best, sure ? 0 : HUGE_VAL};
}

static bool reduce(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g)
{
    tp_assert(tp_groups_hold(g, out, a));
    bool same = true;
    (void)d;
    if (!a->plane[0] && !tp_is_float(out->dtype))
        return false;
    for (size_t o = 0; o < g->nout; o++) {
        pair s = p == TP_P_ANY || p == TP_P_ALL         ? any_or_all(p, a, g->base[o], g)
                 : p == TP_P_ARGMAX || p == TP_P_ARGMIN ? best_index(p, a, g->base[o], g)
                                                        : fold_group(p, a, g->base[o], g);
        same &= put(out, o, s.v, s.b);
    }
    return !same;
}

static bool scan(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step, size_t n)
{
    bool same = true;
    pair s = {0, 0};
    (void)d;
    if (!a->plane[0] && !tp_is_float(out->dtype))
        return false;
    for (size_t t = 0; t < n; t++) {
        size_t i = (size_t)((ptrdiff_t)start + (ptrdiff_t)t * step);
        pair x = {value(a, i), bound(a, i)};
        s = t ? fold(binary_of(p), s, x) : x;
        same &= put(out, i, s.v, s.b);
    }
    return !same;
}

/* ---- dot ---- */

/* One operand of dot as lines: rows of the left one, columns of the right one. */
typedef struct lines {
    const double *x;
    size_t count, length, stride, step; /* element i of line o: x[o * stride + i * step] */
} lines;

/* Euclidean norms: |sum of x y| is at most their product (Cauchy and Schwarz). */
TP_VECTORISED static void norms(const lines *l, double *r)
{
    memset(r, 0, l->count * sizeof *r);
    if (l->step == 1)
        for (size_t o = 0; o < l->count; o++) {
            double lanes[8] = {0}, sum = 0;
            const double *x = l->x + o * l->stride;
            size_t i = 0;
            for (; i + 8 <= l->length; i += 8)
                for (size_t k = 0; k < 8; k++)
                    lanes[k] += x[i + k] * x[i + k];
            for (; i < l->length; i++)
                sum += x[i] * x[i];
            for (size_t k = 0; k < 8; k++)
                sum += lanes[k];
            r[o] = sum;
        }
    else
        for (size_t i = 0; i < l->length; i++)
            for (size_t o = 0; o < l->count; o++) {
                double v = l->x[o * l->stride + i * l->step];
                r[o] += v * v;
            }
    for (size_t o = 0; o < l->count; o++) {
        double largest = 0;
        for (size_t i = 0; r[o] < 0x1p-1000 && i < l->length; i++) /* the squares have vanished */
            largest = fmax(largest, fabs(l->x[o * l->stride + i * l->step]));
        r[o] = sqrt(r[o] * (1 + ((double)l->length + 4) * 0x1p-52)) * (1 + 0x1p-50) + (double)l->length * largest;
    }
}

/* The larger of a magnitude and of that of v; HUGE_VAL where v is no integer. */
static inline double larger_integer(double most, double v)
{
    double a = fabs(v), larger = most > a ? most : a;
    return (a + 0x1p52) - 0x1p52 == a ? larger : HUGE_VAL;
}

/* Largest magnitude of n elements; HUGE_VAL unless all are integers. */
TP_VECTORISED static double integral_row(const double *x, size_t n)
{
    enum { LANES = 16 };
    double most[LANES] = {0}, all = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            most[k] = larger_integer(most[k], x[i + k]);
    for (size_t k = 0; k < LANES; k++)
        all = most[k] > all ? most[k] : all;
    for (; i < n; i++)
        all = larger_integer(all, x[i]);
    return all;
}

/* The same, which ends where an element is none. */
static double integral_line(const double *x, size_t n, double most)
{
    for (size_t from = 0, some; from < n && most < HUGE_VAL; from += some) {
        some = tp_strip_at(n, from);
        double here = integral_row(x + from, some);
        most = here > most ? here : most;
    }
    return most;
}

/* Largest magnitude of each line; HUGE_VAL unless all elements are integers. */
TP_VECTORISED static void integral(const lines *l, double *r)
{
    memset(r, 0, l->count * sizeof *r);
    if (l->step == 1)
        for (size_t o = 0; o < l->count; o++)
            r[o] = integral_line(l->x + o * l->stride, l->length, 0);
    else
        for (size_t i = 0; i < l->length; i++)
            for (size_t o = 0; o < l->count; o++)
                r[o] = larger_integer(r[o], l->x[o * l->stride + i * l->step]);
}

/* Norms of a line's values and of its bounds, and the largest magnitude where all are integers. */
typedef struct line {
    double norm, bound, most;
} line;

/* On the products of a row with n columns, sums of k terms. */
TP_VECTORISED static void bounds_of_row(size_t n, size_t k, line row, const double *restrict column,
                                        const double *restrict column_bound, const double *restrict column_most,
                                        double *restrict e)
{
    double terms = (double)k, growth = (terms + 2) * U, underflow = (terms + 4) * 0x1p-1072;
    double norm = row.norm, bound = row.bound, most = row.most, always = bound > 0 ? underflow : 0;
    for (size_t j = 0; j < n; j++) {
        double other = column_bound[j], own = most * column_most[j] * terms < 0x1p53 ? 0 : growth,
               wide = column[j] + other;
        double b = (own * (norm * wide) + bound * wide + norm * other) * (1 + 0x1p-40),
               lost = own > 0 ? underflow : always;
        lost = other > 0 ? underflow : lost;
        e[j] = (b == b ? b : HUGE_VAL) + lost;
    }
}

/* Nothing is known of what is no finite number; are all the others exact? */
TP_VECTORISED static bool settle(size_t n, const double *restrict v, double *restrict e)
{
    int64_t off = 0;
    for (size_t i = 0; i < n; i++) {
        e[i] = ((fabs(v[i]) < HUGE_VAL) & (e[i] == e[i])) ? e[i] : HUGE_VAL;
        off |= e[i] == 0 ? 0 : 1;
    }
    return off == 0;
}

/* Do operands that mean their data give sums of small integers, of which float32 rounds none, in whatever order? Then
 * the result means its data. */
static bool is_exact_as_float(tp_dot_shape s, const tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    double most[2] = {0, 0};
    const tp_lanes *side[2] = {a, b};
    if (out->stored != TP_F32 || a->plane[0] || b->plane[0])
        return false;
    for (int i = 0; i < 2 && most[0] < HUGE_VAL; i++)
        most[i] = integral_line(side[i]->data, side[i]->n, 0);
    return most[0] * most[1] * (double)s.k < 0x1p24;
}

static bool dot(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    tp_assert(tp_dot_holds(s, out, a, b));
    rounding *self = (rounding *)d;
    size_t want = 3 * (s.m + s.n) + 1;
    const double *x = a->plane[0] ? a->plane[0] : a->data, *y = b->plane[0] ? b->plane[0] : b->data;
    const double *bx = a->plane[1], *by = b->plane[1];
    double *v = out->plane[0], *e = out->plane[1];
    if ((!a->plane[0] && !b->plane[0] && !tp_is_float(out->dtype)) || is_exact_as_float(s, out, a, b))
        return false;
    if (self->room_size < want) {
        self->room = TP_NEWN(self->arena, double, want);
        self->room_size = want;
    }
    double *row = self->room, *column = row + s.m, *row_bound = column + s.n, *column_bound = row_bound + s.m,
           *row_most = column_bound + s.n, *column_most = row_most + s.m;
    for (size_t q = 0; q < s.batch; q++) {
        const double *xq = x + q * s.m * s.k, *yq = y + q * s.k * s.n;
        tp_multiply_f64(s.m, s.n, s.k, xq, yq, v + q * s.m * s.n);
        lines rows = {xq, s.m, s.k, s.k, 1}, columns = {yq, s.n, s.k, 1, s.n};
        norms(&rows, row);
        norms(&columns, column);
        integral(&rows, row_most);
        integral(&columns, column_most);
        memset(row_bound, 0, s.m * sizeof *row_bound);
        memset(column_bound, 0, s.n * sizeof *column_bound);
        if (a->plane[0]) {
            rows.x = bx + q * s.m * s.k;
            norms(&rows, row_bound);
        }
        if (b->plane[0]) {
            columns.x = by + q * s.k * s.n;
            norms(&columns, column_bound);
        }
        for (size_t i = 0; i < s.m; i++)
            bounds_of_row(s.n, s.k, (line){row[i], row_bound[i], row_most[i]}, column, column_bound, column_most,
                          e + (q * s.m + i) * s.n);
    }
    bool same = settle(out->n, v, e);
    for (size_t i = 0; same && i < out->n; i++)
        same = tp_lane(out, i) == v[i];
    return !same;
}

tp_domain *tp_rounding_new(tp_arena *a)
{
    rounding *r = TP_NEW(a, rounding);
    r->base = (tp_domain){.name = "rounding", .nplanes = 2, .reals = true, TP_DOMAIN_OPERATIONS};
    r->arena = a;
    return &r->base;
}
