/* Terms have no width, numbers of a dtype do: sums and products of integers
 * from data are only what their term says where no partial result is too large,
 * and so are numbers of sizes, indices and constants in a float type. */
#include "analyzer/equality/internal.h"

#include <math.h>

enum { MAX_BITS = 62, MAX_BOUNDS = 200 };

static bool at_most(summary *s, tp_expr e, int64_t bound, bool kept)
{
    static const premises nothing = {.n = 0};
    tp_expr goal = tp_op2(s->p, TP_E_LE, e, tp_const(s->p, bound));
    if (kept)
        return summary_proves(s, &nothing, goal);
    tp_claim c = {
        .goal = goal, .over_steps = true, .extra = s->vars.at, .nextra = s->vars.len, .subject = TP_S("equality")};
    return tp_claim_follows(s->a, &c);
}

static double least_bound(summary *s, tp_expr e)
{
    int64_t constant, lo = -1, hi = 1;
    if (tp_expr_is_const(s->p, e, &constant))
        return (double)constant;
    while (!at_most(s, e, hi, false)) {
        if (hi >> MAX_BITS)
            return HUGE_VAL;
        lo = hi;
        hi *= 2;
    }
    while (hi - lo > 1) {
        int64_t middle = lo + (hi - lo) / 2;
        if (at_most(s, e, middle, false))
            hi = middle;
        else
            lo = middle;
    }
    return at_most(s, e, hi, true) ? (double)hi : HUGE_VAL;
}

double summary_upper(summary *s, tp_expr e)
{
    tp_str key = tp_printf(s->arena, "%u", e.id);
    uint32_t number = tp_map_get(&s->bound_of, key);
    if (!number) {
        if (s->bounds.len == MAX_BOUNDS)
            summary_stop(s, TP_S("too many integers have to be bounded"));
        tp_push(s->arena, s->bounds, least_bound(s, e));
        number = s->bounds.len;
        tp_map_set(s->arena, &s->bound_of, key, number);
    }
    return s->bounds.at[number - 1];
}

/* ---- floats: what is computed of no data ---- */

/* An integer of sizes and indices: it fits int32 (TP104). `exact`: by what the prover sees. */
static reach reach_of_integer(summary *s, tp_expr e, bool exact)
{
    int64_t v;
    if (tp_expr_is_const(s->p, e, &v))
        return (reach){fmin((double)v, 0), fmax((double)v, 0)};
    if (tp_expr_is_bool(s->p, e))
        return (reach){0, 1};
    return exact ? (reach){fmin(-summary_upper(s, tp_op1(s->p, TP_E_NEG, e)), 0), fmax(summary_upper(s, e), 0)}
                 : (reach){-0x1p31, 0x1p31};
}

/* A power of a number that is above 0, of sizes, indices and constants alone; finite masks stand for infinity. */
static bool is_exponential_of_numbers(const summary *s, const term_node *n)
{
    double base;
    return n->kind == T_APPLY && !n->of_data && term_get(s, n->arg[0])->mask == 0 &&
           term_get(s, n->arg[0])->mask_above == 0 &&
           (tp_prim_is_exponential(n->prim) || n->prim == TP_P_EXPM1 ||
            (n->prim == TP_P_POW && term_is_number(s, n->arg[0], &base) && base > 0));
}

static reach reach_of_exponential(const summary *s, const term_node *n, const reach *x)
{
    double base = 0, at_lo, at_hi;
    bool any_base = n->prim == TP_P_POW && term_is_number(s, n->arg[0], &base);
    at_lo = any_base ? pow(base, x[1].lo) : tp_meaning_f64(n->prim, x[0].lo, 0);
    at_hi = any_base ? pow(base, x[1].hi) : tp_meaning_f64(n->prim, x[0].hi, 0);
    return (reach){fmin(fmin(at_lo, at_hi), 0), fmax(at_lo, at_hi), n->prim == TP_P_EXPM1 ? 1 : fmin(at_lo, at_hi)};
}

/* How small it is at least, given so for its arguments and that it is not 0. */
static double least_of(summary *s, const term_node *n, const reach *x, bool exact)
{
    double a = n->arg[0].id ? x[0].least : 1, b = n->arg[1].id ? x[1].least : 1;
    int64_t power;
    if (n->kind == T_SELECT)
        return fmin(a, b);
    if (n->kind == T_FOLD && n->prim == TP_P_SCAN)
        return a < 1 ? 0 : a;
    if (n->kind == T_FOLD)
        return n->prim == TP_P_PROD && a < 1 ? pow(a, fmax(reach_of_integer(s, n->e, exact).hi, 1)) : a;
    if (n->kind != T_APPLY)
        return 1;
    if (is_exponential_of_numbers(s, n))
        return reach_of_exponential(s, n, x).least;
    if (n->prim == TP_P_ADD || n->prim == TP_P_MAXIMUM)
        return fmax(a, b);
    if (n->prim == TP_P_SUB || n->prim == TP_P_MINIMUM)
        return fmin(a, b);
    if (n->prim == TP_P_WHERE)
        return fmin(b, x[2].least);
    if (n->prim == TP_P_MUL)
        return a * b;
    if (n->prim == TP_P_SQUARE)
        return a * a;
    if (n->prim == TP_P_SQRT)
        return sqrt(a);
    if (n->prim == TP_P_INTEGER_POW)
        return tp_expr_is_const(s->p, n->e, &power) && power > 0 ? pow(a, (double)power) : 1;
    return n->prim == TP_P_DIV || n->prim == TP_P_NEG || n->prim == TP_P_ABS || n->prim == TP_P_CAST ? a : 1;
}

/* May an exponential that is above 0 over the reals be 0 in float32, where only that it is none gives a value? */
static bool divides_by_0(const summary *s, const term_node *n, const reach *x)
{
    static const double LEAST = 0x1p-126;
    int64_t power;
    bool of_first = n->prim == TP_P_RSQRT || n->prim == TP_P_LOG || n->prim == TP_P_LOG2 ||
                    (n->prim == TP_P_INTEGER_POW && tp_expr_is_const(s->p, n->e, &power) && power < 0);
    return of_first ? x[0].least < LEAST : n->prim == TP_P_DIV && x[1].least < LEAST;
}

/* Of data nothing is known here but that they are numbers: an unlisted primitive of them has no reach. */
static reach reach_of_applied(const summary *s, const term_node *n, const reach *x, reach all)
{
    double a, b = 0;
    int64_t power;
    if (divides_by_0(s, n, x))
        return (reach){-HUGE_VAL, HUGE_VAL, 0};
    if (is_exponential_of_numbers(s, n))
        return reach_of_exponential(s, n, x);
    if (tp_prim_is_elementwise(n->prim) && n->prim != TP_P_INTEGER_POW && term_is_number(s, n->arg[0], &a) &&
        (!n->arg[1].id || term_is_number(s, n->arg[1], &b))) {
        double v = tp_meaning_f64(n->prim, a, b);
        return v != v || isinf(a) || isinf(b) ? (reach){0, 0} : (reach){fmin(v, 0), fmax(v, 0)};
    }
    if (n->prim == TP_P_ADD)
        return (reach){x[0].lo + x[1].lo, x[0].hi + x[1].hi};
    if (n->prim == TP_P_SUB)
        return (reach){x[0].lo - x[1].hi, x[0].hi - x[1].lo};
    if (n->prim == TP_P_MUL)
        return (reach){fmin(x[0].lo * x[1].hi, x[0].hi * x[1].lo), fmax(x[0].lo * x[1].lo, x[0].hi * x[1].hi)};
    if (n->prim == TP_P_SQUARE)
        return (reach){0, fmax(x[0].lo * x[0].lo, x[0].hi * x[0].hi)};
    if (n->prim == TP_P_INTEGER_POW && tp_expr_is_const(s->p, n->e, &power) && power > 0) {
        double most = pow(fmax(-x[0].lo, x[0].hi), (double)power);
        return (reach){-most, most};
    }
    if (n->prim == TP_P_NEG)
        return (reach){-x[0].hi, -x[0].lo};
    if (n->prim == TP_P_ABS)
        return (reach){0, fmax(-x[0].lo, x[0].hi)};
    if (n->prim == TP_P_MAXIMUM)
        return (reach){fmax(x[0].lo, x[1].lo), all.hi};
    if (n->prim == TP_P_MINIMUM)
        return (reach){all.lo, fmin(x[0].hi, x[1].hi)};
    return n->prim == TP_P_WHERE || n->prim == TP_P_CAST ? all : (reach){0, 0};
}

/* Constants alone, with 0 for what comes of data, which is finite. x: of the arguments. */
static reach reach_of(summary *s, const term_node *n, const reach *x, bool exact)
{
    reach all = {0, 0};
    if (n->kind == T_INTEGER)
        return reach_of_integer(s, n->e, exact);
    if (n->kind == T_REAL)
        return isfinite(n->real) ? (reach){fmin(n->real, 0), fmax(n->real, 0)} : all;
    for (int i = n->kind == T_APPLY && n->prim == TP_P_WHERE; i < 3 && n->arg[i].id; i++)
        all = (reach){fmin(all.lo, x[i].lo), fmax(all.hi, x[i].hi)};
    if (n->kind == T_FOLD && prim_of_first(n->prim) != TP_PRIMS)
        return x[1];
    if (n->kind == T_FOLD && n->prim == TP_P_SCAN && (all.lo < 0 || all.hi > 0))
        return (reach){-(double)INFINITY, (double)INFINITY};
    if (n->kind == T_FOLD && n->prim == TP_P_SUM && (all.lo < 0 || all.hi > 0)) {
        double most = fmax(reach_of_integer(s, n->e, exact).hi, 1);
        return (reach){all.lo * most, all.hi * most};
    }
    if (n->kind == T_FOLD && n->prim == TP_P_PROD && (all.lo < -1 || all.hi > 1)) {
        double most = pow(fmax(-all.lo, all.hi), fmax(reach_of_integer(s, n->e, exact).hi, 1));
        return (reach){-most, most};
    }
    return n->kind == T_APPLY ? reach_of_applied(s, n, x, all) : all;
}

static reach reach_and_least(summary *s, const term_node *n, const reach *x, bool exact)
{
    reach r = reach_of(s, n, x, exact);
    r.least = least_of(s, n, x, exact);
    return r;
}

reach reach_of_node(summary *s, const term_node *n, const reach *x)
{
    return reach_and_least(s, n, x, false);
}

static reach exact_reach(summary *s, term t, reach *done, bool *known)
{
    const term_node n = *term_get(s, t);
    reach x[3] = {{0, 0}};
    if (known[t.id])
        return done[t.id];
    for (int i = 0; i < 3 && n.arg[i].id; i++)
        x[i] = exact_reach(s, n.arg[i], done, known);
    known[t.id] = true;
    return done[t.id] = reach_and_least(s, &n, x, true);
}

static bool in_reach(const reach *r, tp_dtype d)
{
    return tp_dtype_holds(d, r->lo) && tp_dtype_holds(d, r->hi);
}

/* What makes the constants in t too large: the innermost term whose parts are not. */
static term first_beyond(const summary *s, term t, tp_dtype d, const reach *done)
{
    const term_node *n = term_get(s, t);
    for (int i = 0; i < 3 && n->arg[i].id; i++)
        if (!in_reach(&done[n->arg[i].id], d))
            return first_beyond(s, n->arg[i], d, done);
    return t;
}

/* Is it infinite of numbers that are not large? */
static bool has_pole(const summary *s, const term_node *n)
{
    double a, b = 1;
    bool numbers =
        n->kind == T_APPLY && term_is_number(s, n->arg[0], &a) && (!n->arg[1].id || term_is_number(s, n->arg[1], &b));
    return numbers && (n->prim == TP_P_DIV ? b == 0 : fabs(a) <= 1 && isinf(tp_meaning_f64(n->prim, a, b)));
}

static tp_str why_beyond(summary *s, term t, tp_dtype d, const reach *done)
{
    const term_node n = *term_get(s, first_beyond(s, t, d, done));
    const char *dtype = tp_dtype_info(d)->name, *name = n.kind == T_APPLY ? tp_prim_info(n.prim)->name : "";
    reach x[3] = {{0, 0}};
    for (int i = 0; i < 3 && n.arg[i].id; i++)
        x[i] = done[n.arg[i].id];
    if (has_pole(s, &n))
        return n.prim == TP_P_DIV ? TP_S("a constant is divided by 0")
                                  : tp_printf(s->arena, "`%s` of a constant is infinite", name);
    if (n.kind == T_APPLY && divides_by_0(s, &n, x))
        return n.prim == TP_P_DIV
                   ? tp_printf(s->arena, "a product or exponential that is divided by may be 0 in %s", dtype)
                   : tp_printf(s->arena, "a product or exponential may be 0 in %s, where `%s` has no value", dtype,
                               name);
    const char *what = n.kind == T_FOLD && n.prim == TP_P_SCAN   ? "what a recurrence makes of constants"
                       : n.kind == T_FOLD && n.prim == TP_P_SUM  ? "a sum of constants"
                       : n.kind == T_FOLD && n.prim == TP_P_PROD ? "a product of constants"
                       : n.of_sizes                              ? "a number of sizes, indices and constants"
                                                                 : NULL;
    return what ? tp_printf(s->arena, "%s may overflow %s", what, dtype)
                : tp_printf(s->arena, "a constant overflows %s", dtype);
}

tp_str term_overflows(summary *s, term t, tp_dtype d)
{
    const term_node *n = term_get(s, t);
    if (!tp_is_float(d) || tp_is_weak(d) || (n->kind == T_REAL && isinf(n->real)) || in_reach(&n->constants, d))
        return (tp_str){NULL, 0};
    reach *done = TP_NEWN(s->arena, reach, t.id + 1);
    reach r = exact_reach(s, t, done, TP_NEWN(s->arena, bool, t.id + 1));
    return in_reach(&r, d) ? (tp_str){NULL, 0} : why_beyond(s, t, d, done);
}

/* ---- integers ---- */

typedef struct range {
    bool known;
    double lo, hi; /* infinity: no bound is seen */
} range;

static range within(double lo, double hi)
{
    return (range){true, isnan(lo) ? -HUGE_VAL : lo, isnan(hi) ? HUGE_VAL : hi};
}

static range product(range a, range b)
{
    double c[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi}, lo = c[0], hi = c[0];
    for (int i = 0; i < 4; i++) {
        if (isnan(c[i]))
            return within(-HUGE_VAL, HUGE_VAL);
        lo = fmin(lo, c[i]);
        hi = fmax(hi, c[i]);
    }
    return within(lo, hi);
}

static range range_of(summary *s, term t, range *done);

/* Below which power of two is it, with a bit for the sign? */
static double room_of(range x)
{
    double most = fmax(x.hi, -1 - x.lo);
    return most < 1 ? 1 : isfinite(most) ? ldexp(1, ilogb(most) + 1) : HUGE_VAL;
}

static range range_of_integers(tp_prim prim, range a, range b, bool whole)
{
    if (prim == TP_P_XOR) {
        double room = fmax(room_of(a), room_of(b));
        return within(a.lo >= 0 && b.lo >= 0 ? 0 : -room, room - 1);
    }
    if (!(b.lo > 0)) /* a float, perhaps, by anything */
        return within(-HUGE_VAL, HUGE_VAL);
    if (prim == TP_P_MOD)
        return within(0, a.lo >= 0 ? fmin(a.hi, b.hi - whole) : b.hi - whole);
    return within(floor(fmin(a.lo / b.lo, a.lo / b.hi)), floor(fmax(a.hi / b.lo, a.hi / b.hi)));
}

static range range_of_applied(summary *s, const term_node *n, range *done)
{
    if (tp_prim_info(n->prim)->to_bool)
        return within(0, 1);
    if (n->prim == TP_P_NEG) {
        range x = range_of(s, n->arg[0], done);
        return within(-x.hi, -x.lo);
    }
    if (n->prim == TP_P_ROUND || n->prim == TP_P_FLOOR || n->prim == TP_P_CEIL) { /* none is less than one before */
        range x = range_of(s, n->arg[0], done);
        return n->prim == TP_P_ROUND   ? within(rint(x.lo), rint(x.hi))
               : n->prim == TP_P_FLOOR ? within(floor(x.lo), floor(x.hi))
                                       : within(ceil(x.lo), ceil(x.hi));
    }
    if (n->prim == TP_P_SIGN)
        return within(-1, 1);
    if (n->prim == TP_P_ABS) {
        range x = range_of(s, n->arg[0], done);
        return within(fmax(0, fmax(x.lo, -x.hi)), fmax(-x.lo, x.hi));
    }
    if (n->prim == TP_P_CAST) {
        int64_t type;
        bool same = tp_expr_is_const(s->p, n->e, &type) && type >= 0 && term_fits(s, n->arg[0], (tp_dtype)type);
        return same ? range_of(s, n->arg[0], done) : within(-HUGE_VAL, HUGE_VAL);
    }
    if (n->prim == TP_P_FLOORDIV || n->prim == TP_P_MOD || n->prim == TP_P_XOR)
        return range_of_integers(n->prim, range_of(s, n->arg[0], done), range_of(s, n->arg[1], done),
                                 term_is_whole(s, n->arg[0]) && term_is_whole(s, n->arg[1]));
    if (n->prim != TP_P_ADD && n->prim != TP_P_SUB && n->prim != TP_P_MUL && n->prim != TP_P_MAXIMUM &&
        n->prim != TP_P_MINIMUM && n->prim != TP_P_WHERE)
        return within(-HUGE_VAL, HUGE_VAL);
    bool chooses = n->prim == TP_P_WHERE;
    range a = range_of(s, n->arg[chooses ? 1 : 0], done), b = range_of(s, n->arg[chooses ? 2 : 1], done);
    return n->prim == TP_P_ADD       ? within(a.lo + b.lo, a.hi + b.hi)
           : n->prim == TP_P_SUB     ? within(a.lo - b.hi, a.hi - b.lo)
           : n->prim == TP_P_MUL     ? product(a, b)
           : n->prim == TP_P_MAXIMUM ? within(fmax(a.lo, b.lo), fmax(a.hi, b.hi))
           : n->prim == TP_P_MINIMUM ? within(fmin(a.lo, b.lo), fmin(a.hi, b.hi))
                                     : within(fmin(a.lo, b.lo), fmax(a.hi, b.hi));
}

/* Its "values", or what its type holds. A float type rounds the ends. */
static range range_of_input(summary *s, uint32_t input)
{
    const tp_operand *o = &s->k->operands[tp_array_of(s->k, input)];
    bool real = tp_is_float(o->dtype);
    double lo = real ? -HUGE_VAL : (double)tp_dtype_min(o->dtype),
           hi = real ? HUGE_VAL : (double)tp_dtype_max(o->dtype);
    if (o->least.given)
        lo = fmax(lo, o->least.expr.id ? -summary_upper(s, tp_op1(s->p, TP_E_NEG, o->least.expr)) : o->least.number);
    if (o->most.given)
        hi = fmin(hi, o->most.expr.id ? summary_upper(s, o->most.expr) : o->most.number);
    return real ? within(summary_rounded(o->dtype, lo), summary_rounded(o->dtype, hi)) : within(lo, hi);
}

/* What t can be, with the partial sums of its folds in any order. */
static range range_of(summary *s, term t, range *done)
{
    range *r = &done[t.id];
    const term_node n = *term_get(s, t);
    if (r->known)
        return *r;
    *r = within(-HUGE_VAL, HUGE_VAL);
    switch (n.kind) {
    case T_INTEGER: *r = within(-summary_upper(s, tp_op1(s->p, TP_E_NEG, n.e)), summary_upper(s, n.e)); break;
    case T_REAL: *r = within(n.real, n.real); break;
    case T_READ: *r = range_of_input(s, n.operand); break;
    case T_SELECT: {
        range a = range_of(s, n.arg[0], done), b = range_of(s, n.arg[1], done);
        *r = within(fmin(a.lo, b.lo), fmax(a.hi, b.hi));
        break;
    }
    case T_FOLD:
        if (n.prim == TP_P_SCAN)
            break;
        *r = range_of(s, n.arg[n.arg[1].id != 0], done);
        if (n.prim == TP_P_SUM) {
            double most = fmax(summary_upper(s, n.e), 0);
            *r = within(fmin(r->lo, 0) * most, fmax(r->hi, 0) * most);
        }
        break;
    case T_NOTHING: *r = within(0, 0); break;
    case T_BEFORE:
    case T_AFTER:
    case T_HELD:
    case T_TURN: break;
    case T_APPLY: *r = range_of_applied(s, &n, done); break;
    }
    return *r;
}

bool term_is_whole(const summary *s, term t)
{
    const term_node *n = term_get(s, t);
    if (n->kind == T_INTEGER)
        return true;
    if (n->kind == T_REAL)
        return isfinite(n->real) && n->real == rint(n->real);
    if (n->kind == T_READ)
        return !tp_is_float(s->k->operands[n->operand].dtype);
    if (n->kind == T_SELECT)
        return term_is_whole(s, n->arg[0]) && term_is_whole(s, n->arg[1]);
    if (n->kind != T_APPLY)
        return false;
    static const bool KEEPS[TP_PRIMS] = {
        [TP_P_ADD] = true,     [TP_P_SUB] = true,   [TP_P_MUL] = true, [TP_P_MAXIMUM] = true,
        [TP_P_MINIMUM] = true, [TP_P_WHERE] = true, [TP_P_MOD] = true, [TP_P_XOR] = true};
    if (KEEPS[n->prim]) {
        bool chooses = n->prim == TP_P_WHERE;
        return term_is_whole(s, n->arg[chooses]) && term_is_whole(s, n->arg[1 + chooses]);
    }
    if (n->prim == TP_P_NEG || n->prim == TP_P_ABS || n->prim == TP_P_CAST) /* no type rounds it to a fraction */
        return term_is_whole(s, n->arg[0]);
    return n->prim == TP_P_ROUND || n->prim == TP_P_FLOOR || n->prim == TP_P_CEIL || n->prim == TP_P_SIGN ||
           n->prim == TP_P_FLOORDIV;
}

bool summary_lies_between(summary *s, term t, double lo, double hi)
{
    range r = range_of(s, t, TP_NEWN(s->arena, range, t.id + 1));
    return r.lo >= lo && r.hi <= hi;
}

bool summary_lies_in(summary *s, term t, tp_dtype dtype)
{
    return summary_lies_between(s, t, (double)tp_dtype_min(dtype), (double)tp_dtype_max(dtype));
}

void summary_must_fit(summary *s, term t, tp_dtype dtype)
{
    narrow x = {t, s->now, dtype, s->node, s->syntax};
    tp_push(s->arena, s->narrow, x);
}

void summary_fits(summary *s, term (*contents)(void *ctx, struct evaluation *of, term t), void *ctx)
{
    for (uint32_t i = 0; i < s->narrow.len; i++) {
        narrow x = s->narrow.at[i];
        term t = contents ? contents(ctx, x.of, x.term) : x.term;
        range r = range_of(s, t, TP_NEWN(s->arena, range, t.id + 1));
        if (r.lo >= (double)tp_dtype_min(x.dtype) && r.hi <= (double)tp_dtype_max(x.dtype))
            continue;
        s->node = x.node;
        s->syntax = x.syntax;
        summary_stop(s, tp_printf(s->arena, "%s from data may wrap around", tp_dtype_info(x.dtype)->name));
    }
    s->narrow.len = 0;
}
