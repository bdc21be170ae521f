/* The field domain, knowing what rests on ties.
 *
 * Decisions of the field domain follow the numbers. Where two numbers tie and
 * their residues differ, the point has an order that the numbers do not have:
 * maximum(v, 0) may be either there, and relu(v) the other. Such results, and
 * what is computed of them, are no residues here but TP_FIELD_UNKNOWN; bools
 * and integers carry that mark, too.
 */
#include <math.h>

#include "domains/residue.h"

typedef struct ties {
    tp_domain base;
    tp_domain *field;
    tp_arena *arena;
} ties;

static tp_domain *field_of(const tp_domain *d)
{
    return ((const ties *)d)->field;
}

static uint64_t word(const tp_lanes *x, size_t i)
{
    return x->plane[0] ? ((const uint64_t *)x->plane[0])[x->n == 1 ? 0 : i] : tp_residue_of(tp_lane(x, i));
}

static bool is_open(const tp_lanes *x, size_t i)
{
    return x->plane[0] && word(x, i) == TP_FIELD_UNKNOWN;
}

static bool differ(uint64_t a, uint64_t b)
{
    return tp_p_of(a) != tp_p_of(b);
}

/* ---- which decisions are ties ---- */

static bool compares(tp_prim p)
{
    return (p >= TP_P_EQ && p <= TP_P_GE) || p == TP_P_MAXIMUM || p == TP_P_MINIMUM;
}

/* A step of a function lies at v, and the residue is not v. */
static bool on_step(double v, uint64_t w)
{
    return isfinite(v) && v == trunc(v) && differ(w, tp_residue_of(v));
}

static bool quotient_on_step(const tp_lanes *a, const tp_lanes *b, size_t i)
{
    double q = tp_lane(a, i) / tp_lane(b, i);
    return isfinite(q) && q == trunc(q) && differ(word(a, i), tp_residue_multiply(tp_residue_of(q), word(b, i)));
}

bool tp_may_tie(tp_prim p)
{
    return compares(p) || p == TP_P_RELU || p == TP_P_ABS || p == TP_P_SIGN || p == TP_P_FLOOR || p == TP_P_CEIL ||
           p == TP_P_ROUND || p == TP_P_FLOORDIV || p == TP_P_MOD || p == TP_P_LAX_REM;
}

bool tp_decides_a_tie(tp_prim p, const tp_lanes *a, const tp_lanes *b, size_t i)
{
    if (!tp_may_tie(p) || !tp_is_float(a->dtype) || is_open(a, i) || (b && is_open(b, i)) || !isfinite(tp_lane(a, i)))
        return false;
    if (b && compares(p))
        return tp_lane(a, i) == tp_lane(b, i) && differ(word(a, i), word(b, i));
    if (p == TP_P_RELU || p == TP_P_ABS || p == TP_P_SIGN)
        return tp_lane(a, i) == 0 && tp_p_of(word(a, i)) != 0;
    if (p == TP_P_FLOOR || p == TP_P_CEIL)
        return on_step(tp_lane(a, i), word(a, i));
    if (p == TP_P_ROUND)
        return on_step(2 * tp_lane(a, i), tp_residue_add(word(a, i), word(a, i)));
    return b && (p == TP_P_FLOORDIV || p == TP_P_MOD || p == TP_P_LAX_REM) && quotient_on_step(a, b, i);
}

/* ---- marks ---- */

/* The words of a result that the field left to its data. */
static void mark(tp_domain *d, tp_lanes *out, size_t i, bool *has_planes)
{
    if (!*has_planes)
        field_of(d)->exact(field_of(d), out, out->plane);
    *has_planes = true;
    ((uint64_t *)out->plane[0])[i] = TP_FIELD_UNKNOWN;
}

static bool elementwise(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out, const tp_lanes *const *args,
                        uint32_t nargs)
{
    const tp_lanes *a = args[0], *b = nargs > 1 ? args[1] : NULL;
    bool has_planes = field_of(d)->elementwise(field_of(d), p, integer, out, args, nargs);
    for (size_t i = 0; i < out->n; i++)
        if (is_open(a, i) || (b && is_open(b, i)) || tp_decides_a_tie(p, a, b, i))
            mark(d, out, i, &has_planes);
    return has_planes;
}

/* Arms that are the same need no decision. */
static bool select_arm(tp_domain *d, tp_lanes *out, const tp_lanes *cond, const tp_lanes *a, const tp_lanes *b)
{
    bool has_planes = field_of(d)->select(field_of(d), out, cond, a, b);
    for (size_t i = 0; i < out->n; i++)
        if (is_open(tp_lane(cond, i) != 0 ? a : b, i) || (is_open(cond, i) && differ(word(a, i), word(b, i))))
            mark(d, out, i, &has_planes);
    return has_planes;
}

static bool cast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    bool has_planes = field_of(d)->cast(field_of(d), out, a), step = tp_is_float(a->dtype) && !tp_is_float(out->dtype);
    for (size_t i = 0; i < out->n; i++)
        if (is_open(a, i) || (step && on_step(tp_lane(a, i), word(a, i))))
            mark(d, out, i, &has_planes);
    return has_planes;
}

static bool literal(tp_domain *d, tp_lanes *out, double v)
{
    field_of(d)->float64 = d->float64;
    return field_of(d)->literal(field_of(d), out, v);
}

static bool bitcast(tp_domain *d, tp_lanes *out, const tp_lanes *a)
{
    return field_of(d)->bitcast(field_of(d), out, a);
}

/* ---- folds ---- */

/* Does a fold rest on a tie: one of its members does, or two of them are its extreme? */
typedef struct fold {
    tp_prim p;
    bool any, open;
    double best;
    uint64_t word;
} fold;

static void fold_in(fold *f, const tp_lanes *a, size_t i)
{
    double v = tp_lane(a, i);
    f->open |= is_open(a, i);
    if ((f->p != TP_P_MAX && f->p != TP_P_MIN) || !tp_is_float(a->dtype) || f->open)
        return;
    if (f->any && v == f->best && isfinite(v) && differ(f->word, word(a, i)))
        f->word = TP_FIELD_UNKNOWN;
    if (f->any && !(f->p == TP_P_MAX ? v > f->best : v < f->best))
        return;
    f->any = true;
    f->best = v;
    f->word = word(a, i);
}

static bool rests_on_tie(const fold *f)
{
    return f->open || (f->any && f->word == TP_FIELD_UNKNOWN);
}

static bool reduce(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g)
{
    bool has_planes = field_of(d)->reduce(field_of(d), p, out, a, g);
    for (size_t o = 0; o < g->nout; o++) {
        fold f = {.p = p};
        for (size_t t = 0; t < g->nin; t++)
            fold_in(&f, a, g->base[o] + g->offset[t]);
        if (rests_on_tie(&f))
            mark(d, out, o, &has_planes);
    }
    return has_planes;
}

static bool scan(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step, size_t n)
{
    fold f = {.p = p};
    bool has_planes = field_of(d)->scan(field_of(d), p, out, a, start, step, n);
    for (size_t t = 0; has_planes && t < n; t++) {
        size_t i = (size_t)((ptrdiff_t)start + (ptrdiff_t)t * step);
        fold_in(&f, a, i);
        if (rests_on_tie(&f))
            mark(d, out, i, &has_planes);
    }
    return has_planes;
}

/* ---- dot ---- */

/* Which of the rows of an operand, `n` words each `step` apart, hold a mark; the
 * marks become 0 in *x, which then has words of its own. */
static bool *take_marks(tp_domain *d, tp_lanes *x, size_t outer, size_t rows, size_t row_step, size_t n, size_t step)
{
    tp_arena *a = ((ties *)d)->arena;
    bool *open_row = TP_NEWN(a, bool, outer *rows + 1);
    if (!x->plane[0])
        return open_row;
    uint64_t *words = tp_alloc_array(a, x->n + 1, sizeof *words);
    memcpy(words, x->plane[0], x->n * sizeof *words);
    for (size_t r = 0; r < outer * rows; r++)
        for (size_t i = 0; i < n; i++) {
            uint64_t *w = &words[r / rows * rows * n + r % rows * row_step + i * step];
            open_row[r] |= *w == TP_FIELD_UNKNOWN;
            *w = *w == TP_FIELD_UNKNOWN ? 0 : *w;
        }
    x->plane[0] = words;
    return open_row;
}

static bool dot(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    tp_lanes x = *a, y = *b;
    const bool *rows = take_marks(d, &x, s.batch, s.m, s.k, s.k, 1),
               *columns = take_marks(d, &y, s.batch, s.n, 1, s.k, s.n);
    bool has_planes = field_of(d)->dot(field_of(d), s, out, &x, &y);
    for (size_t i = 0; i < s.batch * s.m * s.n; i++)
        if (rows[i / s.n] || columns[i / (s.m * s.n) * s.n + i % s.n])
            mark(d, out, i, &has_planes);
    return has_planes;
}

/* ---- making ---- */

static void exact(const tp_domain *d, const tp_lanes *x, void *const *plane)
{
    field_of(d)->exact(field_of(d), x, plane);
}

static bool certain(const tp_domain *d, const tp_lanes *x)
{
    (void)d;
    for (size_t i = 0; i < x->n; i++)
        if (is_open(x, i))
            return false;
    return true;
}

tp_domain *tp_ties_new(tp_arena *a, tp_domain *field)
{
    ties *t = TP_NEW(a, ties);
    *t = (ties){.base = {.name = "ties", .nplanes = 1, TP_DOMAIN_OPERATIONS}, .field = field, .arena = a};
    return &t->base;
}
