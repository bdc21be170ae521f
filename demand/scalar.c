/* One lane of an elementwise operation: its number, in the type in which the
 * machine computes it or in double for references, and what it means. */
#include <tgmath.h>

#include "base/vectorised.h"
#include "demand/internal.h"
#include "domains/residue.h"

scalar demand_number(double v)
{
    return (scalar){.v = v};
}

scalar demand_undefined(undefined_kind kind)
{
    return (scalar){.v = -77, .undefined = (uint8_t)kind};
}

double demand_as_dtype(tp_dtype t, double v)
{
    uint64_t cell = 0;
    if (tp_is_weak(t) || t == TP_F64)
        return v;
    if (t == TP_F32)
        return (double)(float)v;
    tp_put_f64(t, &cell, 0, v);
    return tp_get_f64(t, &cell, 0);
}

double demand_as_integer(tp_dtype t, int64_t v)
{
    uint64_t cell = 0;
    if (tp_is_weak(t))
        return (double)v;
    tp_put_i64(t, &cell, 0, v);
    return tp_get_f64(t, &cell, 0);
}

/* ---- the rows of spec/prims.def ---- */

#define TP_WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))
#define TP_PYMOD(r, y) ((r) != 0 && ((r) < 0) != ((y) < 0) ? (r) + (y) : (r))
#define TP_UNSIGNED(x) (uint64_t)((x)&mask)
#define BINARY UNARY

/* Others than those with a meaning do not come here, see demand_compute(). */
#define STRUCT(id, ...) case TP_P_##id:
#define TP_REAL(x, c) c##f
#define UNARY(id, name, operands, result, f, i, ...)                                                                   \
    case TP_P_##id:                                                                                                    \
        for (size_t k = 0; k < n; k++) {                                                                               \
            float x = (float)a[k], y = (float)b[k];                                                                    \
            (void)x, (void)y;                                                                                          \
            to[k] = (double)(float)(f);                                                                                \
        }                                                                                                              \
        return;
TP_VECTORISED static void singles(tp_prim p, size_t n, const double *a, const double *b, double *restrict to)
{
    switch (p) {
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    for (size_t k = 0; k < n; k++)
        to[k] = (double)NAN;
}
#undef TP_REAL

static double single(tp_prim p, double x, double y)
{
    double r;
    singles(p, 1, &x, &y, &r);
    return r;
}

#define STRUCT(id, ...) case TP_P_##id:
#define BINARY UNARY
#define TP_REAL(x, c) 0
#define UNARY(id, name, operands, result, f, i, ...)                                                                   \
    case TP_P_##id: return (int64_t)(i);
static int64_t whole(tp_prim p, int64_t x, int64_t y, int64_t mask)
{
    (void)mask;
    switch (p) {
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return 0;
}

/* ---- numbers ---- */

/* Ones where the type has bits. */
static int64_t bits_of(tp_dtype t)
{
    int bits = tp_dtype_info(t)->bits;
    return bits < 64 ? ((int64_t)1 << bits) - 1 : -1;
}

/* References compute with exact integers. */
static double exact_number(tp_demand *d, const tp_inst *i, tp_dtype t, double x, double y)
{
    bool bits = i->prim == TP_P_AND || i->prim == TP_P_OR || i->prim == TP_P_XOR || i->prim == TP_P_SHL ||
                i->prim == TP_P_SHR || i->prim == TP_P_SHR_LOGICAL || i->prim == TP_P_INVERT;
    if (i->prim == TP_P_INTEGER_POW)
        return pow(x, (double)i->integer);
    if (tp_prim_divides(i->prim) && !tp_is_float(t)) {
        if (y == 0)
            demand_give_up(d, TP_DEMAND_OPEN, "the reference divides an integer by zero");
        return i->prim == TP_P_FLOORDIV  ? floor(x / y)
               : i->prim == TP_P_MOD     ? x - floor(x / y) * y
               : i->prim == TP_P_LAX_DIV ? trunc(x / y)
                                         : fmod(x, y);
    }
    if (bits && i->prim == TP_P_INVERT && t == TP_BOOL)
        return x == 0;
    if (bits)
        return (double)whole(i->prim, (int64_t)x, (int64_t)y, bits_of(t));
    return tp_meaning_f64(i->prim, x, y);
}

static double power(tp_dtype t, double x, int64_t e)
{
    uint64_t times = (uint64_t)(e < 0 ? -e : e), r = 1, w = (uint64_t)(int64_t)(tp_is_float(t) ? 0 : x);
    double real = 1;
    float narrow = 1;
    for (uint64_t n = 0; n < times; n++) {
        r *= w;
        real *= x;
        narrow *= (float)x;
    }
    if (!tp_is_float(t))
        return demand_as_integer(t, (int64_t)r);
    if (t == TP_F64 || t == TP_WEAK_FLOAT)
        return e < 0 ? 1 / real : real;
    return demand_as_dtype(t, (double)(e < 0 ? 1 / narrow : narrow));
}

/* Of an elementwise primitive whose operands are of type t. */
static double machine_number(tp_demand *d, const tp_inst *i, tp_dtype t, tp_dtype out, double x, double y)
{
    if (i->prim == TP_P_INTEGER_POW)
        return power(t, x, i->integer);
    if (t == TP_F64 || t == TP_WEAK_FLOAT)
        return tp_meaning_f64(i->prim, x, y);
    if (tp_is_float(t))
        return demand_as_dtype(out, single(i->prim, x, y));
    if (tp_prim_divides(i->prim) && y == 0)
        demand_give_up(d, TP_DEMAND_TRAP, "integer division by zero (" TP_RULE_DIVISION_BY_ZERO ")");
    int64_t r = whole(i->prim, (int64_t)x, (int64_t)y, bits_of(t));
    return out == TP_BOOL ? (double)(r & 1) : demand_as_integer(out, r);
}

static scalar cast_number(tp_demand *d, tp_dtype from, tp_dtype to, double v)
{
    double least = tp_is_float(to) ? 0 : (double)tp_dtype_min(to),
           most = tp_is_float(to) ? 0 : (double)tp_dtype_max(to);
    if (d->o.reference && (tp_is_weak(from) || to == TP_BOOL || tp_is_float(to)))
        return demand_number(tp_is_weak(from) ? v : to == TP_BOOL ? v != 0 : demand_as_dtype(to, v));
    if (d->o.reference && tp_is_float(from) && !(v > least - 1 && v < most + 1))
        demand_give_up(d, TP_DEMAND_OPEN, "the reference casts %g to %s, which does not hold it",
                       v == v ? v : (double)NAN, tp_dtype_info(to)->name);
    if (d->o.reference)
        return demand_number(to == TP_I32 || tp_is_float(from) ? trunc(v) : demand_as_integer(to, (int64_t)v));
    if (from == TP_WEAK_INT && !tp_is_float(to) && (v < least || v > most))
        demand_give_up(d, TP_DEMAND_TRAP, "%lld does not fit %s (" TP_RULE_INDEX_OVERFLOW ")", (long long)v,
                       tp_dtype_info(to)->name);
    if (to == TP_BOOL && tp_is_float(from))
        return demand_number(v != 0);
    if (tp_is_float(from) && !tp_is_float(to))
        return v > least - 1 && v < most + 1 ? demand_number(trunc(v)) : demand_undefined(UNDEFINED_CAST);
    return demand_number(tp_is_float(from) ? demand_as_dtype(to, v) : demand_as_integer(to, (int64_t)v));
}

static double bits_as(tp_dtype from, tp_dtype to, double v)
{
    uint64_t cell = 0;
    if (tp_is_float(from))
        tp_put_f64(from, &cell, 0, v);
    else
        tp_put_i64(from, &cell, 0, (int64_t)v);
    return tp_get_f64(to, &cell, 0);
}

/* ---- meaning ---- */

static tp_lanes lanes_of(scalar *s, tp_dtype t, bool result)
{
    tp_lanes x = {.dtype = t, .stored = TP_F64, .n = 1, .data = &s->v};
    for (int p = 0; p < TP_MAX_PLANES && (s->has_planes || result); p++)
        x.plane[p] = &s->plane[p];
    return x;
}

static uint64_t word_of(const scalar *s)
{
    return s->has_planes ? s->plane[0] : tp_residue_of(s->v);
}

/* Sums and products of residues, without the way through the domain. */
static bool is_simple(tp_prim p, tp_dtype t)
{
    return tp_is_float(t) && (p == TP_P_ADD || p == TP_P_SUB || p == TP_P_MUL);
}

static uint64_t simple_residue(tp_prim p, uint64_t x, uint64_t y)
{
    return x == TP_FIELD_UNKNOWN || y == TP_FIELD_UNKNOWN ? TP_FIELD_UNKNOWN
           : p == TP_P_MUL                                ? tp_residue_multiply(x, y)
           : p == TP_P_ADD                                ? tp_residue_add(x, y)
                                                          : tp_residue_add(x, tp_residue_negative(y));
}

static bool decides_a_tie(const tp_demand *d, const tp_inst *i, scalar *args)
{
    tp_lanes a = lanes_of(&args[0], demand_dtype(d, i->args[0]), false), b;
    if (i->nargs > 1)
        b = lanes_of(&args[1], demand_dtype(d, i->args[1]), false);
    return tp_decides_a_tie(i->prim, &a, i->nargs > 1 ? &b : NULL, 0);
}

/* Its number alone; `t`: the type of its operands. */
static scalar number_of(tp_demand *d, const tp_inst *i, tp_dtype t, tp_dtype out, const scalar *in)
{
    double x = i->nargs ? in[0].v : 0, y = i->nargs > 1 ? in[1].v : x;
    if (i->prim == TP_P_LITERAL)
        return demand_number(d->o.reference ? i->real : demand_as_dtype(out, i->real));
    if (i->prim == TP_P_CAST)
        return cast_number(d, t, out, x);
    if (i->prim == TP_P_BITCAST)
        return demand_number(bits_as(t, out, x));
    if (i->prim == TP_P_WHERE)
        return demand_number(x != 0 ? in[1].v : in[2].v);
    if (!tp_prim_is_elementwise(i->prim))
        demand_not_modelled(d, i->prim);
    return demand_number(d->o.reference ? exact_number(d, i, t, x, y) : machine_number(d, i, t, out, x, y));
}

static bool decides(const tp_demand *d, const tp_inst *i)
{
    return (i->prim == TP_P_AND || i->prim == TP_P_OR) && demand_dtype(d, i->out) == TP_BOOL;
}

bool demand_may_ignore(const tp_demand *d, const tp_inst *i)
{
    return decides(d, i) ||
           ((i->prim == TP_P_MUL || i->prim == TP_P_DOT) && (d->bounded[i->args[0]] || d->bounded[i->args[1]]));
}

bool demand_ignores(const tp_demand *d, const tp_inst *i, uint32_t arg, const scalar *zero)
{
    return !zero->undefined && zero->v == 0 && d->bounded[i->args[arg]];
}

scalar demand_compute(tp_demand *d, const tp_inst *i, const scalar *args)
{
    tp_dtype t = i->nargs ? demand_dtype(d, i->args[0]) : TP_F64, out = demand_dtype(d, i->out);
    scalar s, in[3];
    tp_lanes lanes[3], r;
    const tp_lanes *at[3];
    for (uint32_t a = 0; a < 2 && decides(d, i); a++)
        if (!args[a].undefined && args[1 - a].undefined && (args[a].v != 0) == (i->prim == TP_P_OR))
            return args[a];
    for (uint32_t a = 0; a < 2 && i->prim == TP_P_MUL; a++)
        if (args[1 - a].undefined && demand_ignores(d, i, 1 - a, &args[a]))
            return args[a];
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        if (args[a].undefined)
            return args[a];
        in[a] = args[a];
    }
    s = number_of(d, i, t, out, in);
    if (s.undefined)
        return s;
    if (d->field && is_simple(i->prim, t)) {
        s.has_planes = true;
        s.plane[0] = simple_residue(i->prim, word_of(&in[0]), word_of(&in[1]));
        return s;
    }
    if (d->field && i->nargs && tp_is_float(t))
        d->tied |= decides_a_tie(d, i, in);
    if (d->field && i->prim != TP_P_LITERAL && !tp_is_float(out) && i->prim != TP_P_BITCAST)
        return s; /* integers and decisions are what they are */
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        lanes[a] = lanes_of(&in[a], demand_dtype(d, i->args[a]), false);
        at[a] = &lanes[a];
    }
    r = lanes_of(&s, out, true);
    s.has_planes = tp_domain_compute(d->domain, i, &r, at);
    return s;
}

/* Have all lanes of each of them planes, or none? */
static bool alike(const vector *const *args, uint32_t n)
{
    for (uint32_t a = 0; a < n; a++)
        if (args[a]->some && !args[a]->all)
            return false;
    return true;
}

/* What all lanes of `out` mean, whose numbers are there. */
static void mean_lanes(tp_demand *d, const tp_inst *i, const vector *const *args, vector *out)
{
    tp_lanes lanes[3], r = demand_vector_lanes(out, demand_dtype(d, i->out));
    const tp_lanes *at[3] = {NULL};
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        lanes[a] = demand_vector_lanes(args[a], demand_dtype(d, i->args[a]));
        at[a] = &lanes[a];
    }
    for (int p = 0; p < TP_MAX_PLANES; p++)
        r.plane[p] = out->room->plane[p];
    bool has_planes = tp_domain_compute(d->domain, i, &r, at);
    memset(out->room->has_planes, has_planes, (size_t)out->lanes.n * sizeof *out->room->has_planes);
}

/* Sums, differences and products of integers of at most 32 bits as doubles, which are exact where all of them fit;
 * false: not of these, or one wraps. */
static bool integer_row(tp_prim p, tp_dtype to, size_t n, const double *x, const double *y, double *r)
{
    if ((p != TP_P_ADD && p != TP_P_SUB && p != TP_P_MUL) || to == TP_BOOL || tp_is_weak(to) ||
        tp_dtype_info(to)->bits > 32)
        return false;
    double least = (double)tp_dtype_min(to), most = (double)tp_dtype_max(to);
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        r[i] = p == TP_P_ADD ? x[i] + y[i] : p == TP_P_SUB ? x[i] - y[i] : x[i] * y[i];
        fits &= (r[i] >= least) & (r[i] <= most);
        r[i] += 0.0; /* integers have no negative zero */
    }
    return fits;
}

/* The same of n lanes at once, where each is computed alike and none can be undefined; false: what is written does not
 * count. */
static bool number_row(const tp_demand *d, const tp_inst *i, tp_dtype t, tp_dtype to, size_t n, const double *x,
                       const double *y, double *r)
{
    bool narrow = !d->o.reference && t != TP_F64 && t != TP_WEAK_FLOAT;
    double cells[TP_STRIP];
    bool compares = i->prim >= TP_P_EQ && i->prim <= TP_P_GE;
    if (!d->o.reference && !tp_is_float(t) && tp_prim_is_elementwise(i->prim))
        return compares ? tp_meaning_row_f64(i->prim, n, x, 1, y, 1, r) : integer_row(i->prim, to, n, x, y, r);
    if (!tp_prim_is_elementwise(i->prim) || i->prim == TP_P_INTEGER_POW || !tp_is_float(t))
        return false;
    if (!narrow)
        return tp_meaning_row_f64(i->prim, n, x, 1, y, 1, r);
    singles(i->prim, n, x, y, r);
    for (size_t from = 0; tp_is_float(to) && to != TP_F32 && from < n; from += TP_STRIP) {
        tp_put_row_f64(to, cells, 0, tp_strip_at(n, from), r + from);
        tp_get_row_f64(to, cells, 0, tp_strip_at(n, from), r + from);
    }
    return true;
}

/* The numbers alone of all lanes; false with the first that is undefined. */
static bool number_lanes(tp_demand *d, const tp_inst *i, tp_dtype t, tp_dtype to, const vector *const *args,
                         vector *out, scalar *bad)
{
    size_t n = (size_t)out->lanes.n;
    const double *x = i->nargs ? args[0]->room->v : NULL, *y = i->nargs > 1 ? args[1]->room->v : x;
    bool chooses = i->prim == TP_P_WHERE, whole = chooses || (x && number_row(d, i, t, to, n, x, y, out->room->v));
    for (size_t lane = 0; chooses && lane < n; lane++)
        out->room->v[lane] = x[lane] != 0 ? y[lane] : args[2]->room->v[lane];
    for (size_t lane = 0; lane < n && !whole; lane++) {
        scalar in[3];
        for (uint32_t a = 0; a < i->nargs && a < 3; a++)
            in[a].v = args[a]->room->v[lane];
        scalar s = number_of(d, i, t, to, in);
        if (s.undefined) {
            *bad = s;
            return false;
        }
        out->room->v[lane] = s.v;
    }
    memset(out->room->has_planes, 0, n * sizeof *out->room->has_planes);
    return true;
}

/* Some number of which decides a tie. */
static bool some_lane_ties(const tp_demand *d, const tp_inst *i, const vector *const *args, int64_t n)
{
    tp_lanes a = demand_vector_lanes(args[0], demand_dtype(d, i->args[0])), b;
    bool tied = false;
    if (!tp_may_tie(i->prim))
        return false;
    if (i->nargs > 1)
        b = demand_vector_lanes(args[1], demand_dtype(d, i->args[1]));
    for (int64_t lane = 0; lane < n && !tied; lane++)
        tied = tp_decides_a_tie(i->prim, &a, i->nargs > 1 ? &b : NULL, (size_t)lane);
    return tied;
}

static uint64_t word_at(const vector *x, size_t lane)
{
    return x->room->has_planes[lane] ? x->room->plane[0][lane] : tp_residue_of(x->room->v[lane]);
}

static void add_simple_residues(tp_prim p, const vector *x, const vector *y, vector *out)
{
    size_t n = (size_t)out->lanes.n;
    uint64_t *r = out->room->plane[0];
    if (x->all && y->all)
        (p == TP_P_MUL   ? tp_residues_multiply
         : p == TP_P_ADD ? tp_residues_add
                         : tp_residues_subtract)(n, x->room->plane[0], y->room->plane[0], r);
    for (size_t lane = 0; !(x->all && y->all) && lane < n; lane++)
        r[lane] = simple_residue(p, word_at(x, lane), word_at(y, lane));
    memset(out->room->has_planes, 1, n * sizeof *out->room->has_planes);
}

bool demand_compute_lanes(tp_demand *d, const tp_inst *i, const vector *const *args, vector *out, scalar *bad)
{
    tp_dtype t = i->nargs ? demand_dtype(d, i->args[0]) : TP_F64, to = demand_dtype(d, i->out);
    bool simple = d->field && is_simple(i->prim, t), decided = d->field && !tp_is_float(to) && i->prim != TP_P_BITCAST;
    if (simple || alike(args, i->nargs)) {
        if (!number_lanes(d, i, t, to, args, out, bad))
            return false;
        if (!simple && d->field && i->nargs && tp_is_float(t))
            d->tied |= some_lane_ties(d, i, args, out->lanes.n);
        if (simple)
            add_simple_residues(i->prim, args[0], args[1], out);
        else if (!decided)
            mean_lanes(d, i, args, out);
        return true;
    }
    for (int64_t lane = 0; lane < out->lanes.n; lane++) {
        scalar in[3];
        for (uint32_t a = 0; a < i->nargs && a < 3; a++)
            in[a] = demand_vector_lane(args[a], lane);
        scalar s = demand_compute(d, i, in);
        if (s.undefined) {
            *bad = s;
            return false;
        }
        demand_set_lane(out, lane, &s);
    }
    return true;
}
