/* The rounding domain, with a log of what floats decide. */
#include <math.h>

#include "domains/domain.h"

typedef struct decisions {
    tp_domain base;
    tp_domain *rounding;
    tp_decision_log *log;
} decisions;

static tp_domain *rounding_of(const tp_domain *d)
{
    return ((const decisions *)d)->rounding;
}

bool tp_decides(tp_prim p)
{
    return (p >= TP_P_EQ && p <= TP_P_GE) || p == TP_P_SIGN || p == TP_P_FLOOR || p == TP_P_CEIL || p == TP_P_ROUND ||
           p == TP_P_FLOORDIV || p == TP_P_MOD || p == TP_P_LAX_REM || p == TP_P_ARGMAX || p == TP_P_ARGMIN;
}

/* ---- the log ---- */

static double value(const tp_lanes *x, size_t i, bool has_planes)
{
    return has_planes && x->plane[0] ? ((const double *)x->plane[0])[x->n == 1 ? 0 : i] : tp_lane(x, i);
}

/* What turns where the decision does: the whole part of a quotient for a
 * remainder; for equality, which no two draws meet, the side on which they are. */
static double result(tp_prim p, const tp_lanes *out, const tp_lanes *const *args, size_t i, bool has_planes)
{
    if (p == TP_P_EQ || p == TP_P_NE) {
        double x = value(args[0], i, true), y = value(args[1], i, true);
        return x < y ? -1 : x > y ? 1 : 0;
    }
    if (p != TP_P_MOD && p != TP_P_LAX_REM)
        return value(out, i, has_planes);
    double q = value(args[0], i, true) / value(args[1], i, true);
    return p == TP_P_MOD ? floor(q) : trunc(q);
}

static bool counts(const tp_domain *d, tp_dtype t)
{
    return tp_is_float(t) || ((const decisions *)d)->log->integers;
}

static bool note(tp_domain *d, tp_prim p, const tp_lanes *out, const tp_lanes *const *args, bool has_planes)
{
    tp_decision_log *log = ((decisions *)d)->log;
    for (size_t i = 0; i < out->n && log->n < log->room; i++) {
        log->result[log->n] = result(p, out, args, i, has_planes);
        log->kind[log->n++] = (uint32_t)p << 16 ^ (uint32_t)out->n;
    }
    return has_planes;
}

/* ---- the rounding domain ---- */

static void exact(const tp_domain *d, const tp_lanes *x, void *const *plane)
{
    rounding_of(d)->exact(rounding_of(d), x, plane);
}

static bool elementwise(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out, const tp_lanes *const *args,
                        uint32_t nargs)
{
    bool has_planes = rounding_of(d)->elementwise(rounding_of(d), p, integer, out, args, nargs);
    return tp_decides(p) && counts(d, args[0]->dtype) ? note(d, p, out, args, has_planes) : has_planes;
}

static bool select_arm(tp_domain *d, tp_lanes *out, const tp_lanes *cond, const tp_lanes *a, const tp_lanes *b)
{
    return rounding_of(d)->select(rounding_of(d), out, cond, a, b);
}

static bool cast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    bool has_planes = rounding_of(d)->cast(rounding_of(d), out, a);
    bool decides = tp_is_float(a->dtype) ? !tp_is_float(out->dtype) : out->dtype == TP_BOOL && counts(d, a->dtype);
    return decides ? note(d, TP_P_CAST, out, &a, has_planes) : has_planes;
}

static bool literal(tp_domain *d, tp_lanes *out, double v)
{
    rounding_of(d)->float64 = d->float64;
    return rounding_of(d)->literal(rounding_of(d), out, v);
}

static bool bitcast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    return rounding_of(d)->bitcast(rounding_of(d), out, a);
}

static bool reduce(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g)
{
    bool has_planes = rounding_of(d)->reduce(rounding_of(d), p, out, a, g);
    return tp_decides(p) && counts(d, a->dtype) ? note(d, p, out, &a, has_planes) : has_planes;
}

static bool scan(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step, size_t n)
{
    return rounding_of(d)->scan(rounding_of(d), p, out, a, start, step, n);
}

static bool dot(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    return rounding_of(d)->dot(rounding_of(d), s, out, a, b);
}

static bool certain(const tp_domain *d, const tp_lanes *x)
{
    return rounding_of(d)->certain(rounding_of(d), x);
}

tp_domain *tp_decisions_new(tp_arena *a, tp_decision_log *log)
{
    decisions *d = TP_NEW(a, decisions);
    *d = (decisions){.base = {.name = "decisions", .nplanes = 2, .tells = true, TP_DOMAIN_OPERATIONS},
                     .rounding = tp_rounding_new(a),
                     .log = log};
    return &d->base;
}
