/* Proofs without a solver: P >= 0 by endpoint substitution.
 *
 * Variables are eliminated in an order in which bounds only use what remains.
 * A polynomial that is affine in v takes its least value at an end of v's
 * range; quotients q = a // b are bounded by b*q <= a and b*q >= a - b + 1
 * after multiplying with b >= 1. When only non-negative atoms are left,
 * non-negative coefficients are the proof. Sound for all integers (an empty
 * range is harmless); incomplete. Coefficients are checked for overflow.
 */
#include "base/checked.h"
#include "smt/internal.h"

typedef struct goal {
    tp_prover *v;
    const tp_obligation *o;
    int budget; /* substitutions left */
} goal;

static bool positive(goal *g, const tp_poly *p);

static const tp_var *var_of(const goal *g, tp_expr atom)
{
    const tp_expr_node *n = tp_expr_get(g->v->p, atom);
    for (uint32_t i = 0; n->op == TP_E_SYM && i < g->o->nvars; i++)
        if (g->o->vars[i].sym == (uint32_t)n->value)
            return &g->o->vars[i];
    return NULL;
}

/* Elimination order: steps (later axes first), then composite atoms (outer
 * first), then sizes. */
static uint64_t rank_of(const goal *g, tp_expr atom)
{
    const tp_var *x = var_of(g, atom);
    if (x && x->step)
        return (uint64_t)3 << 32 | x->sym;
    return tp_expr_get(g->v->p, atom)->op == TP_E_SYM ? (uint64_t)1 << 32 | atom.id : (uint64_t)2 << 32 | atom.id;
}

/* P = coef * v + rest; false when P is not affine in v. */
static bool split(const tp_poly *p, tp_expr v, tp_poly *coef, tp_poly *rest)
{
    *coef = (tp_poly){.ok = true};
    *rest = (tp_poly){.ok = true};
    for (uint32_t i = 0; i < p->n; i++) {
        tp_term t = p->terms[i];
        uint32_t count = 0, at = 0;
        for (uint32_t k = 0; k < t.degree; k++)
            if (tp_same(t.factors[k], v)) {
                count++;
                at = k;
            }
        if (count > 1)
            return false;
        if (count == 1) {
            memmove(&t.factors[at], &t.factors[at + 1], (t.degree - at - 1) * sizeof *t.factors);
            t.degree--;
            tp_poly_add_term(coef, t);
        } else {
            tp_poly_add_term(rest, t);
        }
    }
    return coef->ok && rest->ok;
}

/* +1: every coefficient >= 0 over atoms known to be >= 0; -1: <= 0; 0: neither */
static int sign_of(const goal *g, const tp_poly *p)
{
    int sign = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t k = 0; k < p->terms[i].degree; k++)
            if (tp_interval_of(g->v, g->o, p->terms[i].factors[k]).lo < 0)
                return 0;
        int s = p->terms[i].coef > 0 ? 1 : -1;
        if (sign && s != sign)
            return 0;
        sign = s;
    }
    return sign ? sign : 1;
}

/* coef * value + scale * rest >= 0? */
static bool combined(goal *g, const tp_poly *coef, const tp_poly *value, const tp_poly *scale, const tp_poly *rest)
{
    tp_poly *a = TP_NEW(g->v->scratch, tp_poly), *b = TP_NEW(g->v->scratch, tp_poly);
    tp_poly_mul(coef, value, a);
    tp_poly_mul(scale, rest, b);
    tp_poly_add(a, b, 1);
    return a->ok && positive(g, a);
}

static tp_poly *poly(goal *g, tp_expr e)
{
    tp_poly *q = TP_NEW(g->v->scratch, tp_poly);
    tp_poly_of(g->v->p, e, q);
    return q;
}

static tp_poly constant(int64_t c)
{
    tp_poly q = {.ok = true};
    tp_poly_add_term(&q, (tp_term){.coef = c});
    return q;
}

static bool eliminate_quotient(goal *g, const tp_expr_node *n, const tp_poly *coef, const tp_poly *rest, int sign)
{
    tp_poly *a = poly(g, n->a), *b = poly(g, n->b), bound = *a, one = constant(1);
    bool up = n->op == TP_E_CDIV;
    if (sign == 0 || tp_interval_of(g->v, g->o, n->b).lo < 1)
        return false;
    if (sign > 0 && !up) { /* b*q >= a - b + 1 */
        tp_poly_add(&bound, b, -1);
        tp_poly_add(&bound, &one, 1);
    } else if (sign < 0 && up) { /* b*q <= a + b - 1 */
        tp_poly_add(&bound, b, 1);
        tp_poly_add(&bound, &one, -1);
    }
    return bound.ok && combined(g, coef, &bound, b, rest);
}

static bool at_value(goal *g, const tp_poly *coef, const tp_poly *rest, tp_expr value)
{
    tp_poly one = constant(1);
    return value.id && combined(g, coef, poly(g, value), &one, rest);
}

static bool at_constant(goal *g, const tp_poly *coef, const tp_poly *rest, int64_t value)
{
    tp_poly one = constant(1), c = constant(value);
    return value != INT64_MIN && value != INT64_MAX && combined(g, coef, &c, &one, rest);
}

static bool eliminate(goal *g, tp_expr v, const tp_poly *coef, const tp_poly *rest)
{
    tp_expr_node n = *tp_expr_get(g->v->p, v);
    const tp_var *x = var_of(g, v);
    tp_interval range = tp_interval_of(g->v, g->o, v);
    int sign = sign_of(g, coef);
    if (x && x->step) {
        bool low = sign > 0 || at_value(g, coef, rest, x->hi), high = sign < 0 || at_value(g, coef, rest, x->lo);
        return low && high;
    }
    switch (n.op) {
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
        if (eliminate_quotient(g, &n, coef, rest, sign))
            return true;
        return (sign > 0 && at_constant(g, coef, rest, range.lo)) || (sign < 0 && at_constant(g, coef, rest, range.hi));
    case TP_E_MOD:
        if (tp_interval_of(g->v, g->o, n.b).lo < 1)
            return false;
        return (sign > 0 || at_value(g, coef, rest, tp_op2(g->v->p, TP_E_SUB, n.b, tp_const(g->v->p, 1)))) &&
               (sign < 0 || at_constant(g, coef, rest, 0));
    case TP_E_MIN:
    case TP_E_MAX: {
        /* it is one of the two, and on the helpful side of both */
        bool either = (n.op == TP_E_MIN && sign < 0) || (n.op == TP_E_MAX && sign > 0);
        bool first = at_value(g, coef, rest, n.a);
        if (first == either)
            return first;
        return at_value(g, coef, rest, n.b);
    }
    case TP_E_ITE: return at_value(g, coef, rest, n.b) && at_value(g, coef, rest, n.c);
    default: break;
    }
    if (sign < 0)
        return at_constant(g, coef, rest, range.hi);
    return sign > 0 && at_constant(g, coef, rest, range.lo);
}

/* P with every size replaced by its least value plus a non-negative rest. */
static bool shifted(goal *g, const tp_poly *p)
{
    tp_poly sum = {.ok = true};
    for (uint32_t i = 0; i < p->n; i++) {
        tp_poly m = constant(p->terms[i].coef), factor, next;
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            tp_expr atom = p->terms[i].factors[k];
            int64_t lo = tp_interval_of(g->v, g->o, atom).lo;
            if (lo == INT64_MIN)
                return false;
            factor = constant(lo);
            tp_poly_add_term(&factor, (tp_term){.coef = 1, .degree = 1, .factors = {atom}});
            tp_poly_mul(&m, &factor, &next);
            m = next;
        }
        tp_poly_add(&sum, &m, 1);
    }
    for (uint32_t i = 0; i < sum.n; i++)
        if (sum.terms[i].coef < 0)
            return false;
    return sum.ok;
}

static bool positive(goal *g, const tp_poly *p)
{
    tp_expr v = {0};
    uint64_t best = 0;
    if (g->budget-- <= 0 || !p->ok)
        return false;
    if (shifted(g, p))
        return true;
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->terms[i].degree; k++)
            if (rank_of(g, p->terms[i].factors[k]) > best) {
                best = rank_of(g, p->terms[i].factors[k]);
                v = p->terms[i].factors[k];
            }
    tp_poly *coef = TP_NEW(g->v->scratch, tp_poly), *rest = TP_NEW(g->v->scratch, tp_poly);
    return v.id && split(p, v, coef, rest) && eliminate(g, v, coef, rest);
}

/* a - b + shift >= 0, perhaps with the help of one premise. */
static bool at_least(goal *g, tp_expr a, tp_expr b, int64_t shift)
{
    tp_poly *p = poly(g, a), c = constant(shift);
    tp_poly_add(p, poly(g, b), -1);
    tp_poly_add(p, &c, 1);
    if (!p->ok)
        return false;
    if (positive(g, p))
        return true;
    for (uint32_t i = 0; i < g->o->npremises; i++) {
        const tp_expr_node *n = tp_expr_get(g->v->p, g->o->premises[i]);
        tp_expr x = n->a, y = n->b; /* premise x - y - strict >= 0 */
        bool less = n->op == TP_E_LE || n->op == TP_E_LT, strict = n->op == TP_E_LT || n->op == TP_E_GT;
        if (!less && n->op != TP_E_GE && n->op != TP_E_GT)
            continue;
        tp_poly *q = TP_NEW(g->v->scratch, tp_poly), one = constant(strict ? 1 : 0);
        *q = *p;
        tp_poly_add(q, poly(g, less ? y : x), -1);
        tp_poly_add(q, poly(g, less ? x : y), 1);
        tp_poly_add(q, &one, 1);
        if (q->ok && positive(g, q))
            return true;
    }
    return false;
}

/* e % m == 0: with every size a multiple of what is declared, every
 * coefficient is divisible. */
static bool divisible(goal *g, tp_expr e, int64_t m)
{
    tp_poly *p = poly(g, e);
    for (uint32_t i = 0; i < p->n; i++) {
        int64_t c = p->terms[i].coef % m;
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            const tp_var *x = var_of(g, p->terms[i].factors[k]);
            if (x && x->multiple_of > 1 && !tp_mul(c, x->multiple_of % m, &c))
                return false;
            c %= m;
        }
        if (c != 0)
            return false;
    }
    return p->ok;
}

static bool holds(goal *g, tp_expr e)
{
    tp_expr_node n = *tp_expr_get(g->v->p, e);
    int64_t zero, m;
    if (tp_interval_of(g->v, g->o, e).lo == 1 && tp_expr_is_bool(g->v->p, e))
        return true;
    switch (n.op) {
    case TP_E_AND: return holds(g, n.a) && holds(g, n.b);
    case TP_E_OR: return holds(g, n.a) || holds(g, n.b);
    case TP_E_IMPLIES: return holds(g, n.b);
    case TP_E_LE: return at_least(g, n.b, n.a, 0);
    case TP_E_LT: return at_least(g, n.b, n.a, -1);
    case TP_E_GE: return at_least(g, n.a, n.b, 0);
    case TP_E_GT: return at_least(g, n.a, n.b, -1);
    case TP_E_EQ: {
        const tp_expr_node *l = tp_expr_get(g->v->p, n.a);
        if (l->op == TP_E_MOD && tp_expr_is_const(g->v->p, n.b, &zero) && zero == 0 &&
            tp_expr_is_const(g->v->p, l->b, &m) && m > 0)
            return divisible(g, l->a, m);
        return tp_same(tp_expr_normal(g->v->p, n.a), tp_expr_normal(g->v->p, n.b));
    }
    default: return false;
    }
}

bool tp_poly_at_least_0(tp_prover *v, const tp_obligation *o, const tp_poly *p)
{
    goal g = {v, o, 60};
    return positive(&g, p);
}

bool tp_prove_exact(tp_prover *v, const tp_obligation *o)
{
    goal g = {v, o, 400};
    return holds(&g, o->goal);
}
