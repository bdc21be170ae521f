/* Random kernels that compute element by element, as text: windows that follow each other, overlap, miss the edge or
 * come back; or that lie anywhere. */
#ifndef TP_RANDOM_JOINED_H
#define TP_RANDOM_JOINED_H

#include "base/rng.h"
#include "tests/unit/support.h"

typedef struct draw {
    tp_rng rng;
    tp_arena *a;
    int64_t bm, bn, m, n, halo;
    const char *outer, *inner; /* axes */
} draw;

static int64_t below(draw *d, int64_t n)
{
    return (int64_t)tp_rng_below(&d->rng, (uint64_t)n);
}

static bool one_in(draw *d, int64_t n)
{
    return below(d, n) == 0;
}

/* An array of bm x bn numbers of a step. */
static tp_str expression(draw *d, int depth)
{
    tp_str a, b;
    if (depth == 0 || one_in(d, 5))
        switch (below(d, 9)) {
        case 0:
        case 1: return TP_S("x[...]");
        case 2: return TP_S("y[...]");
        case 3: return TP_S("row[...]");
        case 4: return TP_S("column[...]");
        case 5:
            return tp_printf(d->a, "iota(int32, (%lld, %lld), %lld).astype(float32)", (long long)d->bm,
                             (long long)d->bn, (long long)below(d, 2));
        case 6: return tp_printf(d->a, "%s.astype(float32)", one_in(d, 8) ? d->inner : d->outer);
        case 7: {
            long long p = below(d, d->halo + 1), q = below(d, d->halo + 1);
            return tp_printf(d->a, "slice(h[...], (%lld, %lld), (%lld, %lld))", p, q, p + (long long)d->bm,
                             q + (long long)d->bn);
        }
        default: return tp_printf(d->a, "%lld.5", (long long)below(d, 9));
        }
    a = expression(d, depth - 1);
    b = expression(d, depth - 1);
    switch (below(d, 7)) {
    case 0: return tp_printf(d->a, "(%.*s - %.*s)", TP_FMT(a), TP_FMT(b));
    case 1: return tp_printf(d->a, "(%.*s * %.*s)", TP_FMT(a), TP_FMT(b));
    case 2: return tp_printf(d->a, "maximum(%.*s, %.*s)", TP_FMT(a), TP_FMT(b));
    case 3: return tp_printf(d->a, "where(%.*s < %.*s, %.*s, 2.0)", TP_FMT(a), TP_FMT(b), TP_FMT(b));
    case 4:
        if (one_in(d, 6))
            return tp_printf(d->a, "(%.*s + sum(x[...], axis=%lld, keepdims=True))", TP_FMT(a), (long long)below(d, 2));
        return tp_printf(d->a, "(%.*s / (abs(%.*s) + 1.0))", TP_FMT(a), TP_FMT(b));
    default: return tp_printf(d->a, "(%.*s + %.*s)", TP_FMT(a), TP_FMT(b));
    }
}

static tp_str operand(draw *d, const char *name, int64_t m, int64_t n, tp_str rows, tp_str columns, tp_str map)
{
    return tp_printf(d->a,
                     "{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%lld, %lld], \"block_shape\": [%.*s, "
                     "%.*s], \"index_map\": [%.*s]}",
                     name, (long long)m, (long long)n, TP_FMT(rows), TP_FMT(columns), TP_FMT(map));
}

static tp_str number(draw *d, int64_t n)
{
    return tp_printf(d->a, "%lld", (long long)n);
}

/* Which of n blocks step i has: any of them, or one that is not there. */
static tp_str anywhere(draw *d, int64_t n)
{
    long long a = below(d, 9), b = below(d, n), all = n, beyond = one_in(d, 12) ? n + 1 : n;
    switch (below(d, 9)) {
    case 0: return TP_S("0");
    case 1:
    case 7: return tp_printf(d->a, "i // %lld %% %lld", 2 + a % 4, beyond);
    case 2: return one_in(d, 12) ? TP_S("i") : tp_printf(d->a, "%lld - i %% %lld", all - 1, beyond);
    case 3: return tp_printf(d->a, "min(i, %lld)", b);
    case 4: return tp_printf(d->a, "(g + i) %% %lld", beyond);
    default: return tp_printf(d->a, "(i * %lld + %lld) %% %lld", a, b, beyond);
    }
}

/* Blocks of bm x bn: of an array of 3 dimensions, the first of them squeezed, or side by side, in `across` columns of
 * blocks. */
static tp_str block(draw *d, const char *name, int64_t n, tp_str map, int64_t across)
{
    if (!across)
        return tp_printf(d->a,
                         "{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%lld, %lld, %lld], \"block_shape\": "
                         "[null, %lld, %lld], \"index_map\": [\"%.*s\", 0, 0]}",
                         name, (long long)n, (long long)d->bm, (long long)d->bn, (long long)d->bm, (long long)d->bn,
                         TP_FMT(map));
    return operand(d, name, n * d->bm, across * d->bn, number(d, d->bm), number(d, d->bn),
                   tp_printf(d->a, "\"%.*s\", \"%s\"", TP_FMT(map), across > 1 ? "i % 2" : "0"));
}

static tp_str output(draw *d, const char *name, int64_t outer, int64_t steps, const char *map)
{
    return tp_printf(d->a,
                     "{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [%lld, %lld, %lld, %lld], \"block_shape\": "
                     "[null, null, %lld, %lld], \"index_map\": [\"g\", \"%s\", 0, 0]}",
                     name, (long long)outer, (long long)steps, (long long)d->bm, (long long)d->bn, (long long)d->bm,
                     (long long)d->bn, map);
}

/* Small windows that lie anywhere, and outputs that follow each other. */
static tp_str make_gathered(draw *d)
{
    static const int64_t ROWS[] = {1, 1, 1, 2},
                         COLUMNS[] = {1, 24, 700, 1000, 1300}; /* of long ones few fit together */
    int64_t outer = 1 + below(d, 3), steps = 1 + below(d, one_in(d, 2) ? 40 : 10), n = 1 + below(d, 12);
    d->bm = ROWS[below(d, 4)];
    d->bn = COLUMNS[below(d, 5)];
    d->halo = below(d, 8) ? 0 : 1;
    d->outer = "g";
    d->inner = "i";
    tp_str body = expression(d, 3), at = anywhere(d, n), x = block(d, "x", n, anywhere(d, n), 0),
           y = block(d, "y", n, anywhere(d, n), below(d, 3)),
           row = operand(d, "row", 1, d->bn, TP_S("1"), number(d, d->bn), TP_S("0, 0")),
           column = operand(d, "column", n * d->bm, 1, number(d, d->bm), TP_S("1"),
                            tp_printf(d->a, "\"%.*s\", 0", TP_FMT(at)));
    d->bm += d->halo;
    d->bn += d->halo;
    tp_str h = block(d, "h", n, anywhere(d, n), 0);
    d->bm -= d->halo;
    d->bn -= d->halo;
    tp_str o = output(d, "o", outer, steps, one_in(d, 20) ? "i // 2" : "i"), p = output(d, "p", outer, steps, "i");
    return tp_printf(d->a,
                     "{\"tileproof\": 1, \"name\": \"gathered\", \"target\": \"none\", \"grid\": [{\"axis\": \"g\", "
                     "\"steps\": %lld}, {\"axis\": \"i\", \"steps\": %lld%s}], \"inputs\": [%.*s, %.*s, %.*s, %.*s, "
                     "%.*s], \"outputs\": [%.*s, %.*s], \"kernel\": [\"t = %.*s\", \"o[...] = t + 0.0 * x[...]\", "
                     "\"p[...] = %s\"]}",
                     (long long)outer, (long long)steps, one_in(d, 2) ? ", \"semantics\": \"parallel\"" : "", TP_FMT(x),
                     TP_FMT(y), TP_FMT(row), TP_FMT(column), TP_FMT(h), TP_FMT(o), TP_FMT(p), TP_FMT(body),
                     one_in(d, 2)   ? "y[...]"
                     : one_in(d, 2) ? "y[...] + t"
                                    : "y[...] + 1.0");
}

static tp_str make_joined(draw *d)
{
    static const int64_t EXTENTS[] = {1, 2, 8, 16, 24};
    int64_t rows, columns;
    d->bm = EXTENTS[below(d, 5)];
    d->bn = EXTENTS[below(d, 5)];
    d->m = d->bm * (1 + below(d, 5)) - (one_in(d, 3) ? below(d, d->bm) : 0);
    d->n = d->bn * (1 + below(d, 9)) - (one_in(d, 3) ? below(d, d->bn) : 0);
    d->halo = below(d, 3);
    rows = (d->m + d->bm - 1) / d->bm;
    columns = (d->n + d->bn - 1) / d->bn;
    bool parallel = one_in(d, 2);
    bool swapped = one_in(d, 3); /* the axis of the columns is the outer one */
    d->outer = swapped ? "j" : "i";
    d->inner = swapped ? "i" : "j";
    const char *kind = parallel ? ", \"semantics\": \"parallel\"" : "";
    tp_str i = tp_printf(d->a, "{\"axis\": \"i\", \"steps\": %lld%s}", (long long)rows, kind),
           j = tp_printf(d->a, "{\"axis\": \"j\", \"steps\": %lld%s}", (long long)columns, kind);
    tp_str bm = number(d, d->bm), bn = number(d, d->bn), one = TP_S("1"), both = TP_S("\"i\", \"j\"");
    tp_str at = one_in(d, 20) ? TP_S("\"i\", 0") : one_in(d, 20) ? TP_S("\"i\", \"j // 2\"") : both;
    tp_str more = tp_printf(d->a, "{\"element\": %lld, \"padding\": [0, %lld]}", (long long)(d->bm + d->halo),
                            (long long)(d->bm + 4)),
           wide = tp_printf(d->a, "{\"element\": %lld, \"padding\": [0, %lld]}", (long long)(d->bn + d->halo),
                            (long long)(d->bn + 4));
    tp_str halo = tp_printf(d->a, "\"i * %lld\", \"j * %lld\"", (long long)d->bm,
                            (long long)(one_in(d, 10) ? d->bn / 2 + 1 : d->bn));
    tp_str body = expression(d, 3), second = one_in(d, 4) ? TP_S("7.0") : expression(d, 2);
    tp_str x = operand(d, "x", d->m, d->n, bm, bn, both),
           y = operand(d, "y", d->m, d->n, bm, bn, one_in(d, 8) ? TP_S("\"i\", 0") : both),
           row = operand(d, "row", 1, d->n, one, bn, TP_S("0, \"j\"")),
           column = operand(d, "column", d->m, 1, bm, one, TP_S("\"i\", 0")),
           h = operand(d, "h", d->m + d->halo, d->n + d->halo, more, wide, halo),
           o = operand(d, "o", d->m, d->n, bm, bn, at), p = operand(d, "p", d->m, d->n, bm, bn, both);
    return tp_printf(
        d->a,
        "{\"tileproof\": 1, \"name\": \"joined\", \"target\": \"none\", \"grid\": [%.*s, %.*s], \"inputs\": "
        "[%.*s, %.*s, %.*s, %.*s, %.*s], \"outputs\": [%.*s, %.*s], \"kernel\": [\"t = %.*s\", \"o[...] = "
        "t + 0.0 * x[...]\", \"p[...] = %.*s + 0.0 * y[...] + %s\"]}",
        TP_FMT(swapped ? j : i), TP_FMT(swapped ? i : j), TP_FMT(x), TP_FMT(y), TP_FMT(row), TP_FMT(column), TP_FMT(h),
        TP_FMT(o), TP_FMT(p), TP_FMT(body), TP_FMT(second), one_in(d, 2) ? "t" : "1.0");
}

#endif
