/* Folds along dimensions and their prefixes, in the order of the elements. */
#include <math.h>

#include "base/vectorised.h"
#include "reference/internal.h"

static double fold(tp_prim p, double acc, double v)
{
    return p == TP_P_SUM    ? acc + v
           : p == TP_P_PROD ? acc * v
           : p == TP_P_MAX  ? (acc > v || acc != acc ? acc : v)
           : p == TP_P_MIN  ? (acc < v || acc != acc ? acc : v)
           : p == TP_P_ANY  ? acc != 0 || v != 0
                            : acc != 0 && v != 0;
}

/* fold() of a and x, for loops that the compiler vectorises: LOOP(prim, value) for each prim. */
#define EACH_FOLD(LOOP)                                                                                                \
    LOOP(TP_P_SUM, a + x)                                                                                              \
    LOOP(TP_P_PROD, a *x)                                                                                              \
    LOOP(TP_P_MAX, ((a > x) | (a != a)) ? a : x)                                                                       \
    LOOP(TP_P_MIN, ((a < x) | (a != a)) ? a : x)                                                                       \
    LOOP(TP_P_ANY, (double)((a != 0) | (x != 0)))                                                                      \
    LOOP(TP_P_ALL, (double)((a != 0) & (x != 0)))

/* acc[j] with v[j], v[step + j], … in that order, for j < n: element after element for all j at once. */
TP_VECTORISED static void fold_rows(tp_prim p, double *restrict acc, const double *v, size_t n, size_t count,
                                    size_t step)
{
#define ROWS(prim, value)                                                                                              \
    if (p == (prim))                                                                                                   \
        for (size_t t = 0; t < count; t++)                                                                             \
            for (size_t j = 0; j < n; j++) {                                                                           \
                double a = acc[j], x = v[t * step + j];                                                                \
                acc[j] = value;                                                                                        \
            }
    EACH_FOLD(ROWS)
#undef ROWS
}

enum { ABREAST = 8 }; /* rows that are folded at once: an addition waits for the one before it in its own row alone */

/* count elements of each of n rows, `row` apart. */
static void fold_along(tp_prim p, double *acc, const double *v, size_t n, size_t count, size_t row)
{
#define ALONG(prim, value)                                                                                             \
    if (p == (prim))                                                                                                   \
        for (size_t t = 0; t < count; t++)                                                                             \
            for (size_t r = 0; r < ABREAST; r++) {                                                                     \
                double a = at[r], x = q[r * row + t];                                                                  \
                at[r] = value;                                                                                         \
            }
    size_t first = 0;
    for (; first + ABREAST <= n; first += ABREAST) {
        const double *q = v + first * row;
        double at[ABREAST];
        memcpy(at, acc + first, sizeof at);
        EACH_FOLD(ALONG)
        memcpy(acc + first, at, sizeof at);
    }
#undef ALONG
    for (; first < n; first++)
        for (size_t t = 0; t < count; t++)
            acc[first] = fold(p, acc[first], v[first * row + t]);
}

/* Elements before, along and behind dimensions that lie together. */
typedef struct lines {
    size_t before, count, behind;
} lines;

/* Of the dimensions from `first` on. False: the reduced ones do not lie together. */
static bool lie_together(const array *a, const bool *reduced, uint32_t first, lines *l)
{
    uint32_t last = a->rank;
    *l = (lines){1, 1, 1};
    while (first < a->rank && !reduced[first])
        l->before *= (size_t)a->dims[first++];
    while (last > first && !reduced[last - 1])
        l->behind *= (size_t)a->dims[--last];
    for (uint32_t d = first; d < last; d++) {
        if (!reduced[d])
            return false;
        l->count *= (size_t)a->dims[d];
    }
    return true;
}

static void fold_lines(tp_prim p, const lines *l, const double *v, double *out)
{
    enum { BLOCK = 2048 }; /* results that stay in the cache */
    for (size_t b = 0; l->behind > 1 && b < l->before; b++)
        for (size_t j = 0; j < l->behind; j += BLOCK)
            fold_rows(p, out + b * l->behind + j, v + b * l->count * l->behind + j,
                      l->behind - j < BLOCK ? l->behind - j : BLOCK, l->count, l->behind);
    if (l->behind == 1)
        fold_along(p, out, v, l->before, l->count, l->count);
}

/* Dimensions from d on, into results that hold what was folded before. */
static void fold_from(tp_prim p, const array *a, const bool *reduced, uint32_t d, const double *v, double *out)
{
    lines l;
    if (lie_together(a, reduced, d, &l)) {
        fold_lines(p, &l, v, out);
        return;
    }
    size_t step = 1, kept = 1;
    for (uint32_t q = d + 1; q < a->rank; q++) {
        step *= (size_t)a->dims[q];
        kept *= reduced[q] ? 1 : (size_t)a->dims[q];
    }
    for (size_t k = 0; k < (size_t)a->dims[d]; k++)
        fold_from(p, a, reduced, d + 1, v + k * step, reduced[d] ? out : out + k * kept);
}

/* The greatest of v[0], …, v[n - 1] times sign, NaN where there is one; n > 0. In no order: a place is asked for. */
TP_VECTORISED static double greatest(const double *v, size_t n, double sign)
{
    enum { LANES = 32 };
    double most[LANES], all = -HUGE_VAL;
    bool nan = false;
    for (size_t r = 0; r < LANES; r++)
        most[r] = -HUGE_VAL;
    size_t t = 0;
    for (; t + LANES <= n; t += LANES)
        for (size_t r = 0; r < LANES; r++) {
            double x = sign * v[t + r], m = most[r];
            most[r] = ((m > x) | (m != m)) ? m : x;
        }
    for (size_t r = 0; r < LANES; r++) {
        nan |= most[r] != most[r];
        all = most[r] > all ? most[r] : all;
    }
    for (; t < n; t++) {
        nan |= v[t] != v[t];
        all = sign * v[t] > all ? sign * v[t] : all;
    }
    return nan ? (double)NAN : sign * all;
}

/* The first place of the greatest (least) element of each line, or of its first NaN. */
static void find_places(evaluator *e, bool greatest_one, const lines *l, const double *v, double *out)
{
    double sign = greatest_one ? 1 : -1;
    size_t behind = l->behind;
    if (behind == 1)
        for (size_t b = 0; b < l->before; b++) {
            const double *row = v + b * l->count;
            double most = l->count ? greatest(row, l->count, sign) : 0;
            size_t t = 0;
            while (t < l->count && row[t] != most && (most == most || row[t] == row[t]))
                t++;
            out[b] = t < l->count ? (double)t : 0;
        }
    if (behind == 1)
        return;
    double *most = tp_take_room(e, behind);
    for (size_t b = 0; b < l->before && l->count; b++) {
        const double *x = v + b * l->count * behind;
        double *place = out + b * behind;
        memcpy(most, x, behind * sizeof *most);
        for (size_t t = 1; t < l->count; t++)
            for (size_t j = 0; j < behind; j++) {
                double m = most[j], y = x[t * behind + j];
                bool better = (m == m) & ((y != y) | (sign * y > sign * m));
                most[j] = better ? y : m;
                place[j] = better ? (double)t : place[j];
            }
    }
    tp_give_room(e, most, behind);
}

void tp_reference_reduce(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]];
    array *out = &e->values[i->out];
    bool reduced[TP_MAX_RANK] = {false};
    lines l;
    for (uint32_t r = 0; r < i->nints; r++)
        reduced[i->ints[r]] = true;
    for (size_t o = 0; o < out->n; o++)
        out->at[o] = i->prim == TP_P_PROD || i->prim == TP_P_ALL ? 1
                     : i->prim == TP_P_MAX                       ? -HUGE_VAL
                     : i->prim == TP_P_MIN                       ? HUGE_VAL
                                                                 : 0;
    if (i->prim != TP_P_ARGMAX && i->prim != TP_P_ARGMIN)
        fold_from(i->prim, a, reduced, 0, a->at, out->at);
    else if (lie_together(a, reduced, 0, &l)) /* it is of one dimension */
        find_places(e, i->prim == TP_P_ARGMAX, &l, a->at, out->at);
}

/* to[j] = fold of before[j] and v[j] for j < n. */
TP_VECTORISED static void fold_row(tp_prim p, double *restrict to, const double *before, const double *v, size_t n)
{
#define ROW(prim, value)                                                                                               \
    if (p == (prim))                                                                                                   \
        for (size_t j = 0; j < n; j++) {                                                                               \
            double a = before[j], x = v[j];                                                                            \
            to[j] = value;                                                                                             \
        }
    EACH_FOLD(ROW)
#undef ROW
}

/* The prefixes of n rows of `count`, `row` apart; from an end on by steps of 1 or -1. */
static void prefixes_along(tp_prim p, double *to, const double *v, size_t n, size_t count, size_t row, ptrdiff_t step)
{
#define ALONG(prim, value)                                                                                             \
    if (p == (prim))                                                                                                   \
        for (size_t t = 0; t < count; t++)                                                                             \
            for (size_t r = 0; r < ABREAST; r++) {                                                                     \
                ptrdiff_t k = (ptrdiff_t)(r * row) + (ptrdiff_t)t * step;                                              \
                double a = at[r], x = q[k];                                                                            \
                s[k] = at[r] = t ? value : x;                                                                          \
            }
    size_t first = 0;
    for (; first + ABREAST <= n; first += ABREAST) {
        const double *q = v + first * row;
        double at[ABREAST] = {0}, *s = to + first * row;
        EACH_FOLD(ALONG)
    }
#undef ALONG
    for (; first < n; first++)
        for (size_t t = 0; t < count; t++) {
            ptrdiff_t k = (ptrdiff_t)(first * row) + (ptrdiff_t)t * step;
            to[k] = t ? fold(p, to[k - step], v[k]) : v[k];
        }
}

void tp_reference_scan(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]];
    array *out = &e->values[i->out];
    tp_prim p = tp_prim_of(i->prim);
    bool along[TP_MAX_RANK] = {false};
    lines l;
    along[i->ints[0]] = true;
    if (!lie_together(a, along, 0, &l) || !out->n)
        return; /* a single dimension does */
    size_t n = l.count, line = n * l.behind, end = i->reverse ? n - 1 : 0;
    if (l.behind == 1) {
        prefixes_along(p, out->at + end, a->at + end, l.before, n, n, i->reverse ? -1 : 1);
        return;
    }
    for (size_t b = 0; b < l.before; b++)
        for (size_t t = 0; t < n; t++) {
            size_t here = b * line + (i->reverse ? n - 1 - t : t) * l.behind;
            if (t)
                fold_row(p, out->at + here, out->at + (i->reverse ? here + l.behind : here - l.behind), a->at + here,
                         l.behind);
            else
                memcpy(out->at + here, a->at + here, l.behind * sizeof *out->at);
        }
}
