/* Terms and conditions: building, replacing, simplifying. */
#include <math.h>

#include "analyzer/equality/internal.h"
#include "base/assert.h"
#include "spec/guard.h"

enum { MAX_TERMS = 200000, MAX_DEPTH = 4000 }; /* of recursion: within a stack of 8 MiB */

void summary_stop(summary *s, tp_str why)
{
    if (!s->out->reason.n)
        s->out->reason = why;
    if (s->node || s->syntax)
        s->out->loc = tp_body_loc(s->a, s->node, s->syntax);
    tp_leave(s->arena, TP_E_INPUT);
}

const term_node *term_get(const summary *s, term t)
{
    tp_assert(t.id && t.id <= s->terms.len);
    return &s->terms.at[t.id - 1];
}

/* Of the masks among its choices the one that is farthest out, below 0 or above: sign * mask is at most -SUMMARY_MASK.
 * Arithmetic with one makes no other one. */
static double mask_of(const summary *s, const term_node *n, int sign)
{
    bool extreme =
             (n->kind == T_APPLY && (n->prim == TP_P_MAXIMUM || n->prim == TP_P_MINIMUM || n->prim == TP_P_CAST)) ||
             (n->kind == T_FOLD && (n->prim == TP_P_MAX || n->prim == TP_P_MIN)),
         choice = n->kind == T_SELECT || (n->kind == T_APPLY && n->prim == TP_P_WHERE);
    bool far = n->kind == T_REAL && isfinite(n->real) && fabs(n->real) >= SUMMARY_MASK;
    double least = !far ? 0 : sign * n->real < 0 ? sign * n->real : -(double)INFINITY;
    for (int i = 0; i < 3 && n->arg[i].id; i++) {
        const term_node *x = term_get(s, n->arg[i]);
        double m = sign > 0 ? x->mask : -x->mask_above;
        if (m < 0)
            least = extreme || choice ? fmin(least, m) : -(double)INFINITY;
    }
    return sign * least;
}

bool term_may_be_mask(const term_node *n)
{
    return n->mask < 0 && isfinite(n->mask);
}

bool term_may_be_mask_above(const term_node *n)
{
    return n->mask_above > 0 && isfinite(n->mask_above);
}

bool term_is_number(const summary *s, term t, double *v)
{
    const term_node *n = term_get(s, t);
    int64_t whole;
    if (n->kind == T_INTEGER && tp_expr_is_const(s->p, n->e, &whole))
        *v = (double)whole;
    else if (n->kind == T_REAL)
        *v = n->real;
    else
        return false;
    return true;
}

static bool may_be_endless(const summary *s, const term_node *n)
{
    bool any = n->kind == T_REAL && n->real > 0 && isinf(n->real),
         passes = n->kind == T_SELECT || (n->kind == T_FOLD && (n->prim == TP_P_MAX || n->prim == TP_P_MIN)) ||
                  (n->kind == T_APPLY && (n->prim == TP_P_WHERE || n->prim == TP_P_MAXIMUM || n->prim == TP_P_MINIMUM ||
                                          n->prim == TP_P_CAST));
    for (int i = 0; i < 3 && n->arg[i].id && passes; i++)
        any |= term_get(s, n->arg[i])->endless;
    return any;
}

/* Has it a value, given that its arguments have? What a buffer holds may have none. */
static bool surely_has_value(const summary *s, const term_node *n)
{
    double by;
    switch (n->kind) {
    case T_BEFORE:
    case T_AFTER:
    case T_HELD:
    case T_NOTHING:
    case T_TURN: return false;
    case T_REAL: return isfinite(n->real);
    case T_FOLD: return n->prim == TP_P_SUM;
    case T_INTEGER:
    case T_READ:
    case T_SELECT: return true;
    case T_APPLY: break;
    }
    if (n->prim == TP_P_DIV)
        return term_is_number(s, n->arg[1], &by) && by != 0;
    return n->prim == TP_P_WHERE || n->prim == TP_P_CAST || tp_prim_info(n->prim)->domain.kind == TP_DOMAIN_REALS;
}

/* What can be told from the arguments, once and for all. */
static void describe(summary *s, term_node *n)
{
    bool all = true;
    reach x[3] = {{0, 0}};
    n->of_sizes = n->kind == T_INTEGER && !tp_expr_is_const(s->p, n->e, NULL);
    n->narrowed = n->kind == T_APPLY && n->prim == TP_P_CAST;
    n->of_data = n->kind == T_READ || n->kind == T_BEFORE || n->kind == T_AFTER;
    for (int i = 0; i < 3 && n->arg[i].id; i++) {
        all &= term_get(s, n->arg[i])->plain;
        n->narrowed |= term_get(s, n->arg[i])->narrowed;
        n->of_data |= term_get(s, n->arg[i])->of_data;
        n->of_sizes |= term_get(s, n->arg[i])->of_sizes;
        if (n->depth <= term_get(s, n->arg[i])->depth)
            n->depth = term_get(s, n->arg[i])->depth + 1;
        x[i] = term_get(s, n->arg[i])->constants;
        n->infinite |=
            (n->kind == T_SELECT || (n->kind == T_APPLY && n->prim == TP_P_WHERE)) && term_get(s, n->arg[i])->infinite;
    }
    if (n->kind == T_REAL)
        n->infinite = !isfinite(n->real);
    n->endless = may_be_endless(s, n);
    n->constants = reach_of_node(s, n, x);
    n->mask = mask_of(s, n, 1);
    n->mask_above = mask_of(s, n, -1);
    n->plain = all && surely_has_value(s, n);
}

/* Of the kernel, with what buffers and turns hold put in; whoever made the term before. */
static term must_hold(summary *s, term t)
{
    term_node *n = &s->terms.at[t.id - 1];
    bool recurs = n->kind == T_FOLD && n->prim == TP_P_SCAN;
    if (!s->of_kernel || n->holds || !(recurs || (n->kind == T_APPLY && !s->float64)))
        return t;
    tp_str why = term_overflows(s, t, s->float64 ? TP_F64 : TP_F32);
    if (why.n)
        summary_stop(s, why);
    s->terms.at[t.id - 1].holds = true;
    return t;
}

/* Equal contents have equal handles. */
bool term_holds(const summary *s, const term_node *n)
{
    for (int i = 0; i < 3; i++)
        if (n->arg[i].id > s->terms.len || /* what it is made of was made before */
            (n->arg[i].id && term_get(s, n->arg[i])->kind == T_NOTHING))
            return false;
    switch (n->kind) {
    case T_INTEGER: return n->e.id != 0;
    case T_READ: return n->operand < s->k->ninputs && n->rank == s->k->operands[n->operand].rank;
    case T_APPLY: return n->prim < TP_PRIMS && n->arg[0].id;
    case T_SELECT: return n->e.id && n->arg[0].id && n->arg[1].id;
    case T_FOLD: return n->e.id && n->arg[0].id;
    case T_REAL:
    case T_NOTHING:
    case T_BEFORE:
    case T_AFTER:
    case T_HELD:
    case T_TURN: break;
    }
    return n->rank <= TP_MAX_RANK;
}

static term intern(summary *s, const term_node *n)
{
    tp_assert(term_holds(s, n));
    tp_spend(s->arena, 20);
    uint32_t key[10 + TP_MAX_RANK] = {n->kind, n->prim,      n->e.id,      n->operand,  n->sym,
                                      n->rank, n->arg[0].id, n->arg[1].id, n->arg[2].id},
                      len = 9;
    for (uint32_t i = 0; i < n->rank; i++)
        key[len++] = n->at[i].id;
    uint64_t bits;
    memcpy(&bits, &n->real, sizeof bits);
    tp_buf b = {.arena = s->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, len * sizeof *key});
    tp_buf_str(&b, (tp_str){(const char *)&bits, sizeof bits});
    tp_str text = tp_buf_view(&b);
    uint32_t id = tp_map_get(&s->ids, text);
    if (id)
        return must_hold(s, (term){id});
    if (s->terms.len >= MAX_TERMS)
        summary_stop(s, TP_S("the terms grow too large"));
    tp_push(s->arena, s->terms, *n);
    tp_map_set(s->arena, &s->ids, text, s->terms.len);
    describe(s, &s->terms.at[s->terms.len - 1]);
    term t = {s->terms.len};
    if (term_get(s, t)->depth > MAX_DEPTH)
        summary_stop(s, TP_S("the terms are nested too deep"));
    return must_hold(s, t);
}

/* ---- conditions ---- */

tp_expr condition_normal(summary *s, tp_expr e, bool negated)
{
    return tp_guard_expr(s->p, e, negated);
}

/* ---- building ---- */

term term_integer(summary *s, tp_expr e)
{
    tp_expr n = tp_expr_is_bool(s->p, e) ? condition_normal(s, e, false) : tp_expr_normal(s->p, e);
    if (tp_exprs_overflowed(s->p))
        summary_stop(s, TP_S("an index is too large an expression"));
    return intern(s, &(term_node){.kind = T_INTEGER, .e = n});
}

term term_real(summary *s, double v)
{
    if (isfinite(v) && v == trunc(v) && fabs(v) < 1e15)
        return term_integer(s, tp_const(s->p, (int64_t)v));
    return intern(s, &(term_node){.kind = T_REAL, .real = isnan(v) ? (double)NAN : v});
}

term term_nothing(summary *s)
{
    return intern(s, &(term_node){.kind = T_NOTHING});
}

static bool is_nothing(const summary *s, term t)
{
    return t.id && term_get(s, t)->kind == T_NOTHING;
}

/* Of a fold, which may be of no point. */
static term any_number(summary *s, term t)
{
    return is_nothing(s, t) ? term_real(s, 0) : t;
}

/* Of an operation on what nobody looks at: that, or what it is for some value; no id: on nothing of the kind. */
static term of_nothing(const summary *s, tp_prim prim, term a, term b, term c)
{
    bool chooses = prim == TP_P_AND || prim == TP_P_OR, where = prim == TP_P_WHERE && !is_nothing(s, a);
    if (!is_nothing(s, a) && !is_nothing(s, b) && !is_nothing(s, c))
        return (term){0};
    return chooses            ? (is_nothing(s, a) ? b : a)
           : where            ? (is_nothing(s, b) ? c : b)
           : is_nothing(s, a) ? a
           : is_nothing(s, b) ? b
                              : c;
}

term term_element(summary *s, term_kind kind, uint32_t operand, uint32_t rank, const tp_expr *at)
{
    const tp_table *entries = kind == T_READ ? s->k->operands[operand].entries : NULL;
    if (entries)
        return term_integer(s, tp_read(s->p, entries->sym, rank, at));
    term_node n = {.kind = kind, .operand = kind == T_READ ? tp_array_of(s->k, operand) : operand, .rank = rank};
    for (uint32_t d = 0; d < rank; d++)
        n.at[d] = tp_expr_normal(s->p, at[d]);
    return intern(s, &n);
}

static bool is_integer(const summary *s, term t, int64_t *v)
{
    const term_node *n = term_get(s, t);
    return n->kind == T_INTEGER && tp_expr_is_const(s->p, n->e, v);
}

static bool is_infinite(const summary *s, term t)
{
    const term_node *n = term_get(s, t);
    return n->kind == T_REAL && !isfinite(n->real);
}

static bool is_nan(const summary *s, term t)
{
    return t.id && term_get(s, t)->kind == T_REAL && isnan(term_get(s, t)->real);
}

static bool has_infinite_arm(const summary *s, term t)
{
    return term_get(s, t)->infinite;
}

/* Of integers as numbers: mathematical, without wrap-around. */
static term of_integers(summary *s, tp_prim prim, tp_expr a, tp_expr b)
{
    tp_exprs *p = s->p;
    tp_expr_op op = tp_prim_expr(prim);
    if (prim == TP_P_AND || prim == TP_P_OR) {
        bool logical = tp_expr_is_bool(p, a) && tp_expr_is_bool(p, b);
        return logical ? term_integer(s, tp_op2(p, prim == TP_P_AND ? TP_E_AND : TP_E_OR, a, b)) : (term){0};
    }
    bool partial = tp_prim_divides(prim) || tp_prim_info(prim)->slope.kind == TP_SLOPE_DISCRETE;
    return op == TP_E_CONST || partial ? (term){0} : term_integer(s, tp_op2(p, op, a, b));
}

/* A mask, and no choice of x is less. */
static bool is_mask_below(const summary *s, term mask, term x)
{
    const term_node *m = term_get(s, mask), *n = term_get(s, x);
    return m->kind == T_REAL && term_may_be_mask(m) && n->mask >= m->mask && !n->infinite;
}

/* A mask in the place of plus infinity, and no choice of x is greater. */
static bool is_mask_above(const summary *s, term mask, term x)
{
    const term_node *m = term_get(s, mask), *n = term_get(s, x);
    return m->kind == T_REAL && term_may_be_mask_above(m) && n->mask_above <= m->mask_above && !n->infinite;
}

/* Minus infinity hides t, which must have a value. */
static void hide(summary *s, term t)
{
    if (s->of_kernel && !term_get(s, t)->plain && !is_infinite(s, t))
        tp_push(s->arena, s->hidden, ((hidden){t, s->now}));
}

/* A cast may overflow; only under a decision does that matter, and here nobody knows. */
static bool is_finite(const summary *s, term t)
{
    return term_get(s, t)->plain && !term_get(s, t)->narrowed;
}

/* What is known of an operation without looking into its arguments; no id: nothing. */
static term by_law(summary *s, tp_prim prim, term a, term b)
{
    int64_t v;
    if (is_nan(s, a) || is_nan(s, b))
        return is_nan(s, a) ? a : b;
    if (tp_prim_is_exponential(prim) && is_infinite(s, a) && term_get(s, a)->real < 0)
        return term_real(s, 0);
    if (tp_prim_is_exponential(prim) && is_integer(s, a, &v) && v == 0)
        return term_real(s, 1);
    if (prim == TP_P_NEG && term_get(s, a)->kind == T_INTEGER && !tp_expr_is_bool(s->p, term_get(s, a)->e))
        return term_integer(s, tp_op1(s->p, TP_E_NEG, term_get(s, a)->e));
    if (prim == TP_P_NEG && term_get(s, a)->kind == T_REAL)
        return term_real(s, -term_get(s, a)->real);
    if (prim == TP_P_INVERT && term_get(s, a)->kind == T_INTEGER && tp_expr_is_bool(s->p, term_get(s, a)->e))
        return term_integer(s, tp_op1(s->p, TP_E_NOT, term_get(s, a)->e));
    if (!b.id)
        return (term){0};
    bool lowest_a = is_infinite(s, a) && term_get(s, a)->real < 0,
         lowest_b = is_infinite(s, b) && term_get(s, b)->real < 0,
         highest_a = is_infinite(s, a) && term_get(s, a)->real > 0,
         highest_b = is_infinite(s, b) && term_get(s, b)->real > 0;
    if (prim == TP_P_MAXIMUM && (is_mask_below(s, a, b) || is_mask_below(s, b, a))) {
        s->out->masks = true;
        return is_mask_below(s, a, b) ? b : a;
    }
    if (prim == TP_P_MINIMUM && (is_mask_above(s, a, b) || is_mask_above(s, b, a))) {
        s->out->masks = true;
        return is_mask_above(s, a, b) ? b : a;
    }
    if (prim == TP_P_ADD) {
        if (is_integer(s, a, &v) && v == 0)
            return b;
        if (is_integer(s, b, &v) && v == 0)
            return a;
        if ((lowest_a && term_get(s, b)->endless) || (lowest_b && term_get(s, a)->endless))
            return is_infinite(s, a) && is_infinite(s, b) ? term_real(s, (double)NAN) : (term){0};
        if (lowest_a || lowest_b)
            hide(s, lowest_a ? b : a);
        return lowest_a ? a : lowest_b ? b : (term){0}; /* all else is finite */
    }
    if (prim == TP_P_SUB) {
        if (is_integer(s, b, &v) && v == 0)
            return a;
        if (lowest_b)
            return term_real(s, (double)NAN);
        if (!lowest_a || has_infinite_arm(s, b))
            return (term){0};
        hide(s, b);
        return a;
    }
    if (prim == TP_P_MUL) {
        if (is_integer(s, a, &v) && (v == 1 || (v == 0 && is_finite(s, b))))
            return v ? b : a;
        if (is_integer(s, b, &v) && (v == 1 || (v == 0 && is_finite(s, a))))
            return v ? a : b;
    }
    if (prim == TP_P_DIV && is_integer(s, b, &v) && v == 1)
        return a;
    if (prim == TP_P_MAXIMUM)
        return lowest_a ? b : lowest_b ? a : a.id == b.id ? a : (term){0};
    if (prim == TP_P_MINIMUM)
        return highest_a ? b : highest_b ? a : a.id == b.id ? a : (term){0};
    if ((prim == TP_P_AND || prim == TP_P_OR) && is_integer(s, a, &v)) /* with true or false */
        return (v != 0) == (prim == TP_P_AND) ? b : a;
    if ((prim == TP_P_AND || prim == TP_P_OR) && is_integer(s, b, &v))
        return (v != 0) == (prim == TP_P_AND) ? a : b;
    return (term){0};
}

/* where(a > b, a, b), in any of its spellings: MAXIMUM or MINIMUM of a and b, for all real numbers. PRIMS: no such. */
static tp_prim extreme_of(const term_node *compared, term yes, term no)
{
    if (compared->kind != T_APPLY)
        return TP_PRIMS;
    bool greater = compared->prim == TP_P_GT || compared->prim == TP_P_GE,
         less = compared->prim == TP_P_LT || compared->prim == TP_P_LE,
         straight = compared->arg[0].id == yes.id && compared->arg[1].id == no.id,
         crossed = compared->arg[0].id == no.id && compared->arg[1].id == yes.id;
    if ((!greater && !less) || (!straight && !crossed))
        return TP_PRIMS;
    return greater == straight ? TP_P_MAXIMUM : TP_P_MINIMUM;
}

static bool is_linear(tp_prim prim)
{
    return prim == TP_P_ADD || prim == TP_P_SUB || prim == TP_P_MUL || prim == TP_P_NEG;
}

static bool stays_outside(const summary *s, tp_prim prim, term a, term b)
{
    return is_linear(prim) && !has_infinite_arm(s, a) && !term_may_be_mask(term_get(s, a)) &&
           !(b.id && (has_infinite_arm(s, b) || term_may_be_mask(term_get(s, b))));
}

/* A number below or above infinity. */
static bool orders_infinity(const summary *s, tp_prim prim, term a, term b)
{
    bool orders = prim == TP_P_LT || prim == TP_P_LE || prim == TP_P_GT || prim == TP_P_GE;
    return orders && has_infinite_arm(s, a) != has_infinite_arm(s, b) && (is_infinite(s, a) || is_infinite(s, b));
}

/* A choice by data that has to come out of an operation, since one of its arms is infinite or a mask. */
static bool chooses_mask(const summary *s, tp_prim prim, term t)
{
    if (!t.id || prim == TP_P_WHERE || prim == TP_P_MAXIMUM || prim == TP_P_MINIMUM)
        return false;
    const term_node *n = term_get(s, t);
    return n->kind == T_APPLY && n->prim == TP_P_WHERE &&
           (n->infinite || term_may_be_mask(n) || (n->mask < 0 && !is_linear(prim)));
}

term term_apply(summary *s, tp_prim prim, term a, term b, term c, int64_t exponent)
{
    const term_node x = *term_get(s, a), y = b.id ? *term_get(s, b) : (term_node){.kind = T_REAL};
    term r = {0};
    if (++s->steps > MAX_TERMS)
        summary_stop(s, TP_S("the terms grow too large"));
    if ((r = of_nothing(s, prim, a, b, c)).id)
        return r;
    if (prim == TP_P_CAST && exponent >= 0 && term_fits(s, a, (tp_dtype)exponent))
        return a;
    if (b.id && !c.id && x.kind == T_INTEGER && y.kind == T_INTEGER)
        r = of_integers(s, prim, x.e, y.e);
    if (!r.id && !c.id)
        r = by_law(s, prim, a, b);
    if (r.id)
        return r;
    if (prim == TP_P_WHERE) {
        if (x.kind == T_INTEGER)
            return term_select(s, x.e, b, c);
        if (b.id == c.id)
            return b;
        tp_prim extreme = extreme_of(&x, b, c);
        if (extreme != TP_PRIMS)
            return term_apply(s, extreme, b, c, (term){0}, 0);
        if (x.kind == T_APPLY && (x.prim == TP_P_AND || x.prim == TP_P_OR)) /* an index condition leaves it */
            for (int i = 0; i < 2; i++)
                if (term_get(s, x.arg[i])->kind == T_INTEGER) {
                    term rest = term_apply(s, prim, x.arg[!i], b, c, 0);
                    bool both = x.prim == TP_P_AND;
                    return term_select(s, term_get(s, x.arg[i])->e, both ? rest : b, both ? c : rest);
                }
    }
    /* choices come to the top, out of what is not linear */
    if (x.kind == T_SELECT && !stays_outside(s, prim, a, b))
        return term_select(s, x.e, term_apply(s, prim, x.arg[0], b, c, exponent),
                           term_apply(s, prim, x.arg[1], b, c, exponent));
    if (b.id && y.kind == T_SELECT && prim != TP_P_WHERE && !(prim == TP_P_DIV) && !stays_outside(s, prim, a, b))
        return term_select(s, y.e, term_apply(s, prim, a, y.arg[0], c, exponent),
                           term_apply(s, prim, a, y.arg[1], c, exponent));
    for (int i = 1; prim == TP_P_WHERE && i < 3; i++) { /* so that infinity is met by what leaves it out */
        term arm[3] = {a, b, c};
        const term_node n = *term_get(s, arm[i]);
        if (n.kind != T_SELECT || !has_infinite_arm(s, arm[i]))
            continue;
        arm[i] = n.arg[0];
        term yes = term_apply(s, prim, arm[0], arm[1], arm[2], 0);
        arm[i] = n.arg[1];
        return term_select(s, n.e, yes, term_apply(s, prim, arm[0], arm[1], arm[2], 0));
    }
    if (prim == TP_P_DIV && y.kind == T_SELECT)
        return term_select(s, y.e, term_apply(s, prim, a, y.arg[0], c, exponent),
                           term_apply(s, prim, a, y.arg[1], c, exponent));
    for (int i = 0; i < 2; i++) {
        term arg[2] = {a, b};
        if (!chooses_mask(s, prim, arg[i]))
            continue;
        const term_node n = *term_get(s, arg[i]);
        arg[i] = n.arg[1];
        term yes = term_apply(s, prim, arg[0], arg[1], c, exponent);
        arg[i] = n.arg[2];
        return term_apply(s, TP_P_WHERE, n.arg[0], yes, term_apply(s, prim, arg[0], arg[1], c, exponent), 0);
    }
    if (is_linear(prim) && (term_get(s, a)->endless || (b.id && term_get(s, b)->endless)))
        return term_real(s, (double)NAN);
    if (has_infinite_arm(s, a) || (b.id && has_infinite_arm(s, b)) || (c.id && has_infinite_arm(s, c)))
        if (prim != TP_P_MAXIMUM && prim != TP_P_MINIMUM && prim != TP_P_WHERE && !orders_infinity(s, prim, a, b))
            return term_real(s, (double)NAN); /* perhaps never chosen */
    return intern(s, &(term_node){.kind = T_APPLY, .prim = prim, .e = tp_const(s->p, exponent), .arg = {a, b, c}});
}

term term_select(summary *s, tp_expr condition, term a, term b)
{
    tp_expr e = condition_normal(s, condition, false);
    int truth = summary_is_decided(s, e);
    if (truth)
        return truth > 0 ? a : b;
    if (is_nothing(s, a) || is_nothing(s, b))
        return is_nothing(s, a) ? b : a;
    const term_node x = *term_get(s, a), y = *term_get(s, b);
    if (x.kind == T_SELECT && tp_same(x.e, e))
        a = x.arg[0];
    if (y.kind == T_SELECT && tp_same(y.e, e))
        b = y.arg[1];
    if (a.id == b.id)
        return a;
    return intern(s, &(term_node){.kind = T_SELECT, .e = e, .arg = {a, b}});
}

term term_fold(summary *s, tp_prim prim, uint32_t sym, tp_expr extent, term body)
{
    int64_t v;
    tp_expr n = tp_expr_normal(s->p, extent);
    body = any_number(s, body);
    if (prim == TP_P_SUM && is_integer(s, body, &v) && v == 0)
        return body;
    if (is_infinite(s, body) && prim != TP_P_MAX && prim != TP_P_MIN)
        return term_real(s, (double)NAN);
    if (tp_expr_is_const(s->p, n, &v) && v == 1) {
        tp_expr *with = TP_NEWN(s->arena, tp_expr, tp_sym_count(s->p));
        with[sym] = tp_const(s->p, 0);
        return term_subst(s, body, with, tp_sym_count(s->p));
    }
    return intern(s, &(term_node){.kind = T_FOLD, .prim = prim, .sym = sym, .e = n, .arg = {body}});
}

tp_prim prim_of_first(tp_prim prim)
{
    return prim == TP_P_ARGMAX ? TP_P_MAX : prim == TP_P_ARGMIN ? TP_P_MIN : TP_PRIMS;
}

term term_first(summary *s, tp_prim prim, uint32_t sym, tp_expr extent, term value, term place)
{
    int64_t v;
    tp_expr n = tp_expr_normal(s->p, extent);
    value = any_number(s, value);
    place = any_number(s, place);
    if (tp_expr_is_const(s->p, n, &v) && v == 1) {
        tp_expr *with = TP_NEWN(s->arena, tp_expr, tp_sym_count(s->p));
        with[sym] = tp_const(s->p, 0);
        return term_subst(s, place, with, tp_sym_count(s->p));
    }
    return intern(s, &(term_node){.kind = T_FOLD, .prim = prim, .sym = sym, .e = n, .arg = {value, place}});
}

term term_held(summary *s, tp_expr turn)
{
    return term_element(s, T_HELD, 0, 1, &turn);
}

term term_scan(summary *s, uint32_t sym, tp_expr extent, term body, term init)
{
    int64_t v;
    tp_expr n = tp_expr_normal(s->p, extent);
    if (tp_expr_is_const(s->p, n, &v) && v == 0)
        return init;
    body = any_number(s, body);
    init = any_number(s, init);
    for (int i = 0; i < 2; i++)
        if (term_get(s, i ? body : init)->infinite || term_get(s, i ? body : init)->endless)
            return term_real(s, (double)NAN);
    term simpler = s->scan_law(s, sym, n, body, init);
    if (simpler.id)
        return simpler;
    return intern(s, &(term_node){.kind = T_FOLD, .prim = TP_P_SCAN, .sym = sym, .e = n, .arg = {body, init}});
}

static int64_t constant_part(summary *s, tp_expr e)
{
    tp_poly *q = TP_NEW(s->arena, tp_poly);
    tp_poly_of(s->p, e, q);
    for (uint32_t i = 0; q->ok && i < q->n; i++)
        if (q->terms[i].degree == 0)
            return q->terms[i].coef;
    return 0;
}

/* The same where there is a turn: the last one is written out. */
static term scan_of_some(summary *s, uint32_t sym, tp_expr extent, term body, term init)
{
    tp_exprs *p = s->p;
    tp_expr before = tp_expr_normal(p, tp_op2(p, TP_E_SUB, extent, tp_const(p, 1))),
            fresh = summary_index(s, "n", before);
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[sym] = fresh;
    term held =
        term_scan_unfolded(s, (uint32_t)tp_expr_get(p, fresh)->value, before, term_subst(s, body, with, n), init);
    with[sym] = before;
    return term_exchange(s, term_subst(s, body, with, n), term_held(s, before), held);
}

term term_scan_unfolded(summary *s, uint32_t sym, tp_expr extent, term body, term init)
{
    enum { MOST = 16 };
    static const premises nothing = {.n = 0};
    int64_t more = constant_part(s, extent), all;
    bool written = tp_expr_is_const(s->p, extent, &all) ? all == 1 : more >= 1 && more <= MOST;
    return written && summary_proves(s, &nothing, tp_op2(s->p, TP_E_GE, extent, tp_const(s->p, 1)))
               ? scan_of_some(s, sym, extent, body, init)
               : term_scan(s, sym, extent, body, init);
}

static term scan_with_last_turn(summary *s, uint32_t sym, tp_expr extent, term body, term init)
{
    static const premises nothing = {.n = 0};
    bool some = summary_proves(s, &nothing, tp_op2(s->p, TP_E_GE, extent, tp_const(s->p, 1)));
    return (some ? scan_of_some : term_scan)(s, sym, extent, body, init);
}

/* ---- folds over a few turns ---- */

/* Infinities, which leave points out of a maximum, are no numbers to compute with. */
static bool is_short(const summary *s, const term_node *fold)
{
    enum { FEW = 8 };
    const term_node *body = term_get(s, fold->arg[0]);
    int64_t v;
    bool joins = tp_prim_reduces(fold->prim) && prim_of_first(fold->prim) == TP_PRIMS;
    return joins && tp_expr_is_const(s->p, fold->e, &v) && v >= 1 && v <= FEW && !body->infinite && !body->endless;
}

static term written_out(summary *s, const term_node *fold, term body)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    int64_t turns = tp_expr_get(s->p, fold->e)->value;
    term r = {0};
    for (int64_t k = 0; k < turns; k++) {
        with[fold->sym] = tp_const(s->p, k);
        term turn = term_subst(s, body, with, n);
        r = k ? term_apply(s, tp_prim_of(fold->prim), r, turn, (term){0}, 0) : turn;
    }
    return r;
}

/* ---- replacing ---- */

typedef struct rewriting {
    summary *s;
    const tp_expr *with;
    uint32_t n, len;
    term_replacer by;
    const premises *premises;
    void *ctx;
    term *done; /* per term */
    bool last_turns, written_out;
} rewriting;

static tp_expr index_of(rewriting *r, tp_expr e)
{
    return r->with ? tp_expr_subst(r->s->p, e, r->with, r->n) : e;
}

static term rewrite(rewriting *r, term t)
{
    summary *s = r->s;
    tp_spend(s->arena, 4);
    if (!t.id || (t.id <= r->len && r->done[t.id - 1].id))
        return t.id ? r->done[t.id - 1] : t;
    const term_node n = *term_get(s, t);
    term arg[3], out = t;
    tp_expr at[TP_MAX_RANK];
    if (n.kind == T_SELECT && r->premises) {
        int truth = summary_decides(s, r->premises, n.e);
        out = truth ? rewrite(r, n.arg[truth < 0]) : term_select(s, n.e, rewrite(r, n.arg[0]), rewrite(r, n.arg[1]));
    } else {
        for (int i = 0; i < 3; i++)
            arg[i] = rewrite(r, n.arg[i]);
        for (uint32_t d = 0; d < n.rank; d++)
            at[d] = index_of(r, n.at[d]);
        switch (n.kind) {
        case T_INTEGER: out = r->with ? term_integer(s, index_of(r, n.e)) : t; break;
        case T_REAL:
        case T_NOTHING: break;
        case T_READ:
        case T_BEFORE:
        case T_AFTER:
        case T_HELD:
        case T_TURN:
            out = r->by ? r->by(s, &n, r->ctx) : (term){0};
            if (!out.id)
                out = term_element(s, n.kind, n.operand, n.rank, at);
            break;
        case T_APPLY: {
            int64_t exponent = 0;
            tp_expr_is_const(s->p, n.e, &exponent);
            out = term_apply(s, n.prim, arg[0], arg[1], arg[2], exponent);
            break;
        }
        case T_SELECT: out = term_select(s, index_of(r, n.e), arg[0], arg[1]); break;
        case T_FOLD:
            out = n.prim == TP_P_SCAN && r->last_turns ? scan_with_last_turn(s, n.sym, n.e, arg[0], arg[1])
                  : r->written_out && is_short(s, &n)  ? written_out(s, &n, arg[0])
                  : n.prim == TP_P_SCAN                ? term_scan(s, n.sym, index_of(r, n.e), arg[0], arg[1])
                  : arg[1].id                          ? term_first(s, n.prim, n.sym, index_of(r, n.e), arg[0], arg[1])
                                                       : term_fold(s, n.prim, n.sym, index_of(r, n.e), arg[0]);
            break;
        }
    }
    if (t.id <= r->len)
        r->done[t.id - 1] = out;
    return out;
}

static term rewrite_all(summary *s, term t, rewriting r)
{
    r.s = s;
    r.len = t.id;
    r.done = TP_NEWN(s->arena, term, t.id + 1);
    return rewrite(&r, t);
}

term term_subst(summary *s, term t, const tp_expr *with, uint32_t n)
{
    return rewrite_all(s, t, (rewriting){.with = with, .n = n});
}

term term_decide(summary *s, term t, const premises *p)
{
    return rewrite_all(s, t, (rewriting){.premises = p});
}

term term_with_last_turns(summary *s, term t)
{
    return rewrite_all(s, t, (rewriting){.last_turns = true});
}

term term_written_out(summary *s, term t)
{
    return rewrite_all(s, t, (rewriting){.written_out = true});
}

term term_replace(summary *s, term t, term_replacer by, void *ctx)
{
    return rewrite_all(s, t, (rewriting){.by = by, .ctx = ctx});
}

term term_exchange(summary *s, term t, term from, term to)
{
    rewriting r = {.s = s, .len = t.id > from.id ? t.id : from.id};
    r.done = TP_NEWN(s->arena, term, r.len + 1);
    r.done[from.id - 1] = to;
    return rewrite(&r, t);
}
