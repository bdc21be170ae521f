/* Terms have no width, integers of a dtype do: sums and products of integers
 * from data are only what their term says where no partial result is too large. */
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
    case T_READ: {
        tp_dtype d = s->k->operands[n.operand].dtype;
        if (!tp_is_float(d))
            *r = within((double)tp_dtype_min(d), (double)tp_dtype_max(d));
        break;
    }
    case T_SELECT: {
        range a = range_of(s, n.arg[0], done), b = range_of(s, n.arg[1], done);
        *r = within(fmin(a.lo, b.lo), fmax(a.hi, b.hi));
        break;
    }
    case T_FOLD:
        *r = range_of(s, n.arg[n.arg[1].id != 0], done);
        if (n.prim == TP_P_SUM) {
            double most = fmax(summary_upper(s, n.e), 0);
            *r = within(fmin(r->lo, 0) * most, fmax(r->hi, 0) * most);
        }
        break;
    case T_BEFORE:
    case T_AFTER: break;
    case T_APPLY: *r = range_of_applied(s, &n, done); break;
    }
    return *r;
}

bool term_is_whole(const summary *s, term t)
{
    const term_node *n = term_get(s, t);
    if (n->kind == T_INTEGER)
        return true;
    if (n->kind == T_SELECT)
        return term_is_whole(s, n->arg[0]) && term_is_whole(s, n->arg[1]);
    if (n->kind != T_APPLY)
        return false;
    if (n->prim == TP_P_MAXIMUM || n->prim == TP_P_MINIMUM)
        return term_is_whole(s, n->arg[0]) && term_is_whole(s, n->arg[1]);
    if (n->prim == TP_P_WHERE)
        return term_is_whole(s, n->arg[1]) && term_is_whole(s, n->arg[2]);
    return n->prim == TP_P_ROUND || n->prim == TP_P_FLOOR || n->prim == TP_P_CEIL || n->prim == TP_P_SIGN;
}

bool summary_is_whole_in(summary *s, term t, tp_dtype dtype)
{
    if (!term_is_whole(s, t))
        return false;
    range r = range_of(s, t, TP_NEWN(s->arena, range, t.id + 1));
    return r.lo >= (double)tp_dtype_min(dtype) && r.hi <= (double)tp_dtype_max(dtype);
}

void summary_must_fit(summary *s, term t, tp_dtype dtype)
{
    narrow x = {t, dtype, s->node, s->syntax};
    tp_push(s->arena, s->narrow, x);
}

void summary_fits(summary *s, term (*contents)(void *ctx, term t), void *ctx)
{
    for (uint32_t i = 0; i < s->narrow.len; i++) {
        narrow x = s->narrow.at[i];
        term t = contents ? contents(ctx, x.term) : x.term;
        range r = range_of(s, t, TP_NEWN(s->arena, range, t.id + 1));
        if (r.lo >= (double)tp_dtype_min(x.dtype) && r.hi <= (double)tp_dtype_max(x.dtype))
            continue;
        s->node = x.node;
        s->syntax = x.syntax;
        summary_stop(s, tp_printf(s->arena, "%s from data may wrap around", tp_dtype_info(x.dtype)->name));
    }
    s->narrow.len = 0;
}
