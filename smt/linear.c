/* The linear form: products of variables become opaque, and facts about them
 * are multiplied out where the goal needs them (guided product
 * linearisation): for a fact h >= 0 with a monomial t and a monomial mu that
 * occurs elsewhere with t | mu, add h * (mu / t) >= 0 when mu / t is a product
 * of non-negative atoms. */
#include "smt/internal.h"

enum { MAX_FACTS = 160, ROUNDS = 2 };

static bool power_of_two(int64_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

tp_expr tp_rewrite_div(tp_prover *v, const tp_obligation *o, tp_expr e)
{
    tp_exprs *p = v->p;
    if (!e.id)
        return e;
    tp_expr_node n = *tp_expr_get(p, e);
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return e;
    tp_expr a = tp_rewrite_div(v, o, n.a), b = tp_rewrite_div(v, o, n.b), c = tp_rewrite_div(v, o, n.c);
    int64_t k;
    bool constant = b.id && tp_expr_is_const(p, b, &k);
    if (n.op == TP_E_ITE)
        return tp_ite(p, a, b, c);
    bool divides = n.op == TP_E_MOD || n.op == TP_E_ALIGN_UP;
    if (divides && tp_interval_of(v, o, n.b).lo < 1) /* may have no value: nothing may follow from it */
        return tp_op2(p, n.op, a, b);
    if (n.op == TP_E_MOD) /* a % b = a - b * (a // b) */
        return tp_op2(p, TP_E_SUB, a, tp_op2(p, TP_E_MUL, b, tp_op2(p, TP_E_FLOORDIV, a, b)));
    if (n.op == TP_E_ALIGN_UP)
        return tp_op2(p, TP_E_MUL, b, tp_op2(p, TP_E_CDIV, a, b));
    if (n.op == TP_E_BITAND && constant && power_of_two(k + 1)) {
        tp_expr m = tp_const(p, k + 1);
        return tp_op2(p, TP_E_SUB, a, tp_op2(p, TP_E_MUL, m, tp_op2(p, TP_E_FLOORDIV, a, m)));
    }
    if (n.op == TP_E_BITAND && constant && power_of_two(k)) { /* one bit: k (a // k % 2) */
        tp_expr q = tp_op2(p, TP_E_FLOORDIV, a, b), pairs = tp_op2(p, TP_E_FLOORDIV, q, tp_const(p, 2));
        return tp_op2(p, TP_E_MUL, b, tp_op2(p, TP_E_SUB, q, tp_op2(p, TP_E_MUL, tp_const(p, 2), pairs)));
    }
    if (n.op == TP_E_SHL && constant && k >= 0 && k < 62)
        return tp_op2(p, TP_E_MUL, a, tp_const(p, (int64_t)1 << k));
    if (n.op == TP_E_SHR && constant && k >= 0 && k < 62)
        return tp_op2(p, TP_E_FLOORDIV, a, tp_const(p, (int64_t)1 << k));
    return b.id ? tp_op2(p, n.op, a, b) : tp_op1(p, n.op, a);
}

static bool has_same_terms(const tp_poly *p, const tp_poly *q)
{
    bool same = p->n == q->n;
    for (uint32_t i = 0; same && i < p->n; i++)
        same = p->terms[i].coef == q->terms[i].coef && tp_same_monomial(&p->terms[i], &q->terms[i]);
    return same;
}

static void add_fact(tp_prover *v, tp_facts *f, const tp_poly *q)
{
    if (!q->ok || f->polys.len >= MAX_FACTS)
        return;
    for (uint32_t i = 0; i < f->polys.len; i++)
        if (has_same_terms(f->polys.at[i], q))
            return;
    tp_poly *copy = TP_NEW(v->scratch, tp_poly);
    copy->ok = true;
    copy->n = q->n;
    memcpy(copy->terms, q->terms, q->n * sizeof *q->terms);
    tp_push(v->scratch, f->polys, copy);
}

/* a - b - strict >= 0 */
static void add_difference(tp_prover *v, tp_facts *f, tp_expr a, tp_expr b, int64_t strict)
{
    tp_poly p, q;
    tp_poly_of(v->p, tp_rewrite_div(v, f->o, a), &p);
    tp_poly_of(v->p, tp_rewrite_div(v, f->o, b), &q);
    tp_poly_add(&p, &q, -1);
    if (p.ok)
        tp_poly_add_term(&p, &(tp_term){.coef = -strict});
    add_fact(v, f, &p);
}

static void premise_facts(tp_prover *v, tp_facts *f, tp_expr e)
{
    tp_expr_node n = *tp_expr_get(v->p, e);
    switch (n.op) {
    case TP_E_AND:
        premise_facts(v, f, n.a);
        premise_facts(v, f, n.b);
        break;
    case TP_E_LE: add_difference(v, f, n.b, n.a, 0); break;
    case TP_E_LT: add_difference(v, f, n.b, n.a, 1); break;
    case TP_E_GE: add_difference(v, f, n.a, n.b, 0); break;
    case TP_E_GT: add_difference(v, f, n.a, n.b, 1); break;
    case TP_E_EQ:
        add_difference(v, f, n.a, n.b, 0);
        add_difference(v, f, n.b, n.a, 0);
        break;
    case TP_E_NE: /* say nothing linear */
    case TP_E_NOT:
    case TP_E_OR:
    case TP_E_IMPLIES:
    case TP_E_RING:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES:
    case TP_E_LEAVES:
    case TP_E_POW2:
    case TP_E_ITE: break;
    }
}

static void quotient_facts(tp_prover *v, const tp_obligation *o, tp_facts *f, tp_expr e)
{
    if (!e.id)
        return;
    tp_expr_node n = *tp_expr_get(v->p, e);
    quotient_facts(v, o, f, n.a);
    quotient_facts(v, o, f, n.b);
    quotient_facts(v, o, f, n.c);
    if ((n.op != TP_E_FLOORDIV && n.op != TP_E_CDIV) || tp_interval_of(v, o, n.b).lo < 1)
        return;
    tp_expr whole = tp_expr_normal(v->p, e), bq = tp_op2(v->p, TP_E_MUL, n.b, whole);
    if (n.op == TP_E_FLOORDIV) { /* 0 <= a - b*q <= b - 1 */
        add_difference(v, f, n.a, bq, 0);
        add_difference(v, f, tp_op2(v->p, TP_E_ADD, bq, n.b), n.a, 1);
    } else { /* 0 <= b*q - a <= b - 1 */
        add_difference(v, f, bq, n.a, 0);
        add_difference(v, f, tp_op2(v->p, TP_E_ADD, n.a, n.b), bq, 1);
    }
    tp_interval r = tp_interval_of(v, o, e);
    if (r.lo != INT64_MIN)
        add_difference(v, f, whole, tp_const(v->p, r.lo), 0);
}

/* mu / t when t divides mu; the quotient's factors must be non-negative. */
static bool quotient_term(const tp_prover *v, const tp_obligation *o, const tp_term *mu, const tp_term *t, tp_term *q)
{
    uint32_t k = 0;
    *q = (tp_term){.coef = 1};
    for (uint32_t i = 0; i < mu->degree; i++)
        if (k < t->degree && tp_same(mu->factors[i], t->factors[k]))
            k++;
        else
            q->factors[q->degree++] = mu->factors[i];
    if (k != t->degree || q->degree == 0)
        return false;
    for (uint32_t i = 0; i < q->degree; i++)
        if (tp_interval_of(v, o, q->factors[i]).lo < 0)
            return false;
    return true;
}

static void multiply_out(tp_prover *v, const tp_obligation *o, tp_facts *f, const tp_poly *goal)
{
    TP_VEC(tp_term) monomials = {0};
    for (uint32_t i = 0; i <= f->polys.len; i++) {
        const tp_poly *p = i < f->polys.len ? f->polys.at[i] : goal;
        for (uint32_t k = 0; k < p->n; k++) {
            bool seen = p->terms[k].degree < 2;
            for (uint32_t m = 0; m < monomials.len && !seen; m++)
                seen = tp_same_monomial(&monomials.at[m], &p->terms[k]);
            if (!seen)
                tp_push(v->scratch, monomials, p->terms[k]);
        }
    }
    uint32_t old = f->polys.len;
    for (uint32_t m = 0; m < monomials.len; m++)
        for (uint32_t i = 0; i < old && f->polys.len < MAX_FACTS; i++)
            for (uint32_t k = 0; k < f->polys.at[i]->n; k++) {
                tp_term q;
                if (f->polys.at[i]->terms[k].degree == 0 ||
                    !quotient_term(v, o, &monomials.at[m], &f->polys.at[i]->terms[k], &q))
                    continue;
                tp_poly factor = {.ok = true}, r;
                tp_poly_add_term(&factor, &q);
                tp_poly_mul(f->polys.at[i], &factor, &r);
                add_fact(v, f, &r);
            }
}

static void goal_monomials(tp_prover *v, const tp_obligation *o, tp_expr e, tp_poly *into)
{
    if (!e.id)
        return;
    tp_expr_node n = *tp_expr_get(v->p, e);
    if (n.op >= TP_E_EQ && n.op <= TP_E_GE) {
        tp_poly p;
        tp_poly_of(v->p, tp_op2(v->p, TP_E_SUB, tp_rewrite_div(v, o, n.a), tp_rewrite_div(v, o, n.b)), &p);
        for (uint32_t i = 0; p.ok && i < p.n; i++)
            if (p.terms[i].degree >= 2) {
                p.terms[i].coef = 1; /* positive, so that terms never cancel */
                tp_poly_add_term(into, &p.terms[i]);
            }
        return;
    }
    goal_monomials(v, o, n.a, into);
    goal_monomials(v, o, n.b, into);
    goal_monomials(v, o, n.c, into);
}

void tp_collect_facts(tp_prover *v, const tp_obligation *o, tp_expr goal, tp_facts *f)
{
    f->o = o;
    for (uint32_t i = 0; i < o->nvars; i++) {
        const tp_var *x = &o->vars[i];
        tp_expr s = tp_sym(v->p, x->sym);
        if (x->lo.id)
            add_difference(v, f, s, x->lo, 0);
        if (x->hi.id)
            add_difference(v, f, x->hi, s, 0);
        quotient_facts(v, o, f, x->hi);
    }
    for (uint32_t i = 0; i < o->npremises; i++) {
        premise_facts(v, f, o->premises[i]);
        quotient_facts(v, o, f, tp_rewrite_div(v, o, o->premises[i]));
    }
    quotient_facts(v, o, f, tp_rewrite_div(v, o, goal));
    tp_poly *monomials = TP_NEW(v->scratch, tp_poly);
    monomials->ok = true;
    goal_monomials(v, o, goal, monomials);
    for (int round = 0; round < ROUNDS; round++)
        multiply_out(v, o, f, monomials);
}
