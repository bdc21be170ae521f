/* Proofs by contradiction, without a solver: premises (and the negated goal)
 * are taken apart into facts x >= 0, disjunctions are split, equations that
 * define a variable are put in, and a leaf is closed when the negation of a
 * fact, or of the sum of two, is positive (positivity.c). Sound for all
 * integers; incomplete. Budgets bound the work, never the meaning. */
#include "smt/internal.h"

enum { MAX_FACTS = 48, MAX_LEAVES = 64, MAX_CHECKS = 3000 };

typedef TP_VEC(tp_expr) exprs;

typedef struct refuter {
    tp_prover *v;
    const tp_obligation *o;
    int leaves, checks;
} refuter;

typedef struct facts {
    exprs at_least_0, zero, not_zero, either; /* `either`: disjunctions */
    bool closed;
} facts;

static tp_expr minus(refuter *r, tp_expr a, tp_expr b, int64_t shift)
{
    tp_exprs *p = r->v->p;
    return tp_expr_normal(p, tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_SUB, a, b), tp_const(p, shift)));
}

static tp_expr not_of(refuter *r, tp_expr e)
{
    return tp_op1(r->v->p, TP_E_NOT, e);
}

static void take_comparison(refuter *r, facts *f, const tp_expr_node *n, bool negated)
{
    static const tp_expr_op OPPOSITE[][2] = {{TP_E_EQ, TP_E_NE}, {TP_E_LT, TP_E_GE}, {TP_E_GT, TP_E_LE}};
    tp_expr_op op = n->op;
    for (int i = 0; negated && i < 3; i++)
        for (int s = 0; s < 2; s++)
            if (n->op == OPPOSITE[i][s])
                op = OPPOSITE[i][1 - s];
    tp_arena *a = r->v->scratch;
    switch (op) {
    case TP_E_GE: tp_push(a, f->at_least_0, minus(r, n->a, n->b, 0)); break;
    case TP_E_GT: tp_push(a, f->at_least_0, minus(r, n->a, n->b, -1)); break;
    case TP_E_LE: tp_push(a, f->at_least_0, minus(r, n->b, n->a, 0)); break;
    case TP_E_LT: tp_push(a, f->at_least_0, minus(r, n->b, n->a, -1)); break;
    case TP_E_EQ: tp_push(a, f->zero, minus(r, n->a, n->b, 0)); break;
    default: tp_push(a, f->not_zero, minus(r, n->a, n->b, 0)); break;
    }
}

static void take(refuter *r, facts *f, tp_expr e, bool negated)
{
    const tp_expr_node n = *tp_expr_get(r->v->p, e);
    tp_exprs *p = r->v->p;
    int64_t value;
    if (tp_expr_is_const(p, e, &value)) {
        f->closed |= (value != 0) == negated;
        return;
    }
    switch (n.op) {
    case TP_E_NOT: take(r, f, n.a, !negated); return;
    case TP_E_AND:
    case TP_E_OR:
        if ((n.op == TP_E_AND) != negated) {
            take(r, f, n.a, negated);
            take(r, f, n.b, negated);
        } else {
            tp_expr a = negated ? not_of(r, n.a) : n.a, b = negated ? not_of(r, n.b) : n.b;
            tp_push(r->v->scratch, f->either, tp_op2(p, TP_E_OR, a, b));
        }
        return;
    case TP_E_IMPLIES: {
        tp_expr or = tp_op2(p, TP_E_OR, not_of(r, n.a), n.b);
        take(r, f, or, negated);
        return;
    }
    case TP_E_ITE: {
        tp_expr yes = tp_op2(p, TP_E_AND, n.a, negated ? not_of(r, n.b) : n.b);
        tp_expr no = tp_op2(p, TP_E_AND, not_of(r, n.a), negated ? not_of(r, n.c) : n.c);
        tp_push(r->v->scratch, f->either, tp_op2(p, TP_E_OR, yes, no));
        return;
    }
    case TP_E_EQ:
    case TP_E_NE:
    case TP_E_LT:
    case TP_E_LE:
    case TP_E_GT:
    case TP_E_GE: take_comparison(r, f, &n, negated); return;
    default: return; /* not read: fewer premises are sound */
    }
}

/* zero = ±s + rest with s a variable that rest does not mention: s = ∓rest. */
static bool solve(refuter *r, tp_expr zero, uint32_t *sym, tp_expr *value)
{
    tp_exprs *p = r->v->p;
    tp_poly *q = TP_NEW(r->v->scratch, tp_poly), rest;
    tp_poly_of(p, zero, q);
    for (uint32_t i = q->n; q->ok && i-- > 0;) {
        const tp_term *t = &q->terms[i];
        if (t->degree != 1 || (t->coef != 1 && t->coef != -1) || tp_expr_get(p, t->factors[0])->op != TP_E_SYM)
            continue;
        *sym = (uint32_t)tp_expr_get(p, t->factors[0])->value;
        rest = (tp_poly){.ok = true};
        for (uint32_t k = 0; k < q->n; k++)
            if (k != i) {
                tp_term u = q->terms[k];
                u.coef *= -t->coef;
                tp_poly_add_term(&rest, u);
            }
        *value = tp_poly_expr(p, &rest);
        if (rest.ok && !tp_expr_mentions(p, *value, *sym))
            return true;
    }
    return false;
}

static void substitute(refuter *r, exprs *list, const tp_expr *with, uint32_t n)
{
    for (uint32_t i = 0; i < list->len; i++)
        list->at[i] = tp_expr_normal(r->v->p, tp_expr_subst(r->v->p, list->at[i], with, n));
}

/* Put defined variables in; the variable's own bounds become facts. */
static void use_equations(refuter *r, facts *f)
{
    uint32_t n = tp_sym_count(r->v->p), sym;
    tp_expr value;
    for (uint32_t i = 0; i < f->zero.len; i++) {
        if (!solve(r, f->zero.at[i], &sym, &value))
            continue;
        tp_expr *with = TP_NEWN(r->v->scratch, tp_expr, n);
        for (uint32_t k = 0; k < r->o->nvars; k++)
            if (r->o->vars[k].sym == sym && f->at_least_0.len + 2 < MAX_FACTS) {
                if (r->o->vars[k].lo.id)
                    tp_push(r->v->scratch, f->at_least_0, minus(r, value, r->o->vars[k].lo, 0));
                if (r->o->vars[k].hi.id)
                    tp_push(r->v->scratch, f->at_least_0, minus(r, r->o->vars[k].hi, value, 0));
            }
        with[sym] = value;
        substitute(r, &f->at_least_0, with, n);
        substitute(r, &f->zero, with, n);
        substitute(r, &f->not_zero, with, n);
    }
}

/* Is p, which is at least 0 by assumption, in truth negative? */
static bool negative(refuter *r, const tp_poly *p)
{
    tp_poly *q = TP_NEW(r->v->scratch, tp_poly);
    q->ok = true;
    tp_poly_add(q, p, -1);
    tp_poly_add_term(q, (tp_term){.coef = -1});
    return r->checks-- > 0 && tp_poly_at_least_0(r->v, r->o, q);
}

/* Do a and b share a monomial with opposite signs? Otherwise their sum says
 * nothing that each alone did not. */
static bool cancel(const tp_poly *a, const tp_poly *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = 0; k < b->n && a->terms[i].degree; k++)
            if ((a->terms[i].coef > 0) != (b->terms[k].coef > 0) && a->terms[i].degree == b->terms[k].degree &&
                memcmp(a->terms[i].factors, b->terms[k].factors, a->terms[i].degree * sizeof(tp_expr)) == 0)
                return true;
    return false;
}

static exprs copy(refuter *r, const exprs *list, uint32_t from)
{
    exprs c = {0};
    for (uint32_t i = from; i < list->len; i++)
        tp_push(r->v->scratch, c, list->at[i]);
    return c;
}

static bool leaf(refuter *r, const facts *given)
{
    tp_arena *a = r->v->scratch;
    facts f = {.at_least_0 = copy(r, &given->at_least_0, 0),
               .zero = copy(r, &given->zero, 0),
               .not_zero = copy(r, &given->not_zero, 0)};
    use_equations(r, &f);
    int64_t value;
    for (uint32_t i = 0; i < f.not_zero.len; i++)
        if (tp_expr_is_const(r->v->p, f.not_zero.at[i], &value) && value == 0)
            return true;
    const tp_poly *polys[3 * MAX_FACTS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < f.at_least_0.len + 2 * f.zero.len && n < MAX_FACTS; i++) {
        bool equation = i >= f.at_least_0.len;
        tp_poly *q = TP_NEW(a, tp_poly), *p = TP_NEW(a, tp_poly);
        tp_poly_of(r->v->p, equation ? f.zero.at[(i - f.at_least_0.len) / 2] : f.at_least_0.at[i], q);
        p->ok = true;
        tp_poly_add(p, q, equation && (i - f.at_least_0.len) % 2 ? -1 : 1);
        if (p->ok)
            polys[n++] = p;
    }
    for (uint32_t i = 0; i < n; i++)
        if (negative(r, polys[i]))
            return true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = i + 1; k < n; k++) {
            tp_poly *sum = TP_NEW(a, tp_poly);
            if (!cancel(polys[i], polys[k]))
                continue;
            *sum = *polys[i];
            tp_poly_add(sum, polys[k], 1);
            if (sum->ok && negative(r, sum))
                return true;
        }
    return false;
}

static bool contradictory(refuter *r, const facts *f)
{
    if (f->closed)
        return true;
    if (r->leaves <= 0 || r->checks <= 0 || f->at_least_0.len > MAX_FACTS)
        return false;
    r->leaves--;
    if (leaf(r, f))
        return true;
    if (f->either.len == 0)
        return false;
    const tp_expr_node n = *tp_expr_get(r->v->p, f->either.at[0]);
    tp_expr arms[2] = {n.a, n.b};
    for (int i = 0; i < 2; i++) {
        facts g = {.at_least_0 = copy(r, &f->at_least_0, 0),
                   .zero = copy(r, &f->zero, 0),
                   .not_zero = copy(r, &f->not_zero, 0),
                   .either = copy(r, &f->either, 1)};
        take(r, &g, arms[i], false);
        if (!contradictory(r, &g))
            return false;
    }
    return true;
}

bool tp_refute(tp_prover *v, const tp_obligation *o)
{
    refuter r = {v, o, MAX_LEAVES, MAX_CHECKS};
    facts f = {.closed = false};
    for (uint32_t i = 0; i < o->npremises; i++)
        take(&r, &f, o->premises[i], false);
    take(&r, &f, o->goal, true);
    return contradictory(&r, &f);
}
