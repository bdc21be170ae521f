/* Proofs by contradiction, without a solver: premises and the negated goal
 * are taken apart into facts x >= 0, disjunctions are split, equations that
 * define a variable are put in, and a leaf is closed when the negation of a
 * fact, or of the sum of two, is positive (positivity.c). What comes out is a
 * proof for certificate.c. Incomplete; budgets bound the work. */
#include "smt/internal.h"

enum { MAX_FACTS = 48, MAX_LEAVES = 64, MAX_CHECKS = 3000 };

/* A fact and the line that states it. `either`: a disjunction, perhaps negated;
 * `differ`: a != b of the goal, a disjunction of < and >. */
typedef struct fact {
    tp_expr e;
    tp_line line;
    bool negated;
} fact;
typedef TP_VEC(fact) fact_list;

typedef struct refuter {
    tp_prover *v;
    const tp_obligation *o;
    int leaves, checks;
    uint32_t goal; /* the first hypothesis that comes from it */
} refuter;

typedef struct facts {
    fact_list at_least_0, zero, not_zero, either, differ;
    uint32_t hypotheses; /* so far */
    bool closed;
    uint32_t absurd; /* the hypothesis that closed it */
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

static void take_comparison(refuter *r, facts *f, const tp_expr_node *n, bool negated, tp_line line)
{
    static const tp_expr_op OPPOSITE[][2] = {{TP_E_EQ, TP_E_NE}, {TP_E_LT, TP_E_GE}, {TP_E_GT, TP_E_LE}};
    tp_expr_op op = n->op;
    for (int i = 0; negated && i < 3; i++)
        for (int s = 0; s < 2; s++)
            if (n->op == OPPOSITE[i][s])
                op = OPPOSITE[i][1 - s];
    tp_arena *a = r->v->scratch;
    switch (op) {
    case TP_E_GE: tp_push(a, f->at_least_0, (fact){minus(r, n->a, n->b, 0), line, false}); break;
    case TP_E_GT: tp_push(a, f->at_least_0, (fact){minus(r, n->a, n->b, -1), line, false}); break;
    case TP_E_LE: tp_push(a, f->at_least_0, (fact){minus(r, n->b, n->a, 0), line, false}); break;
    case TP_E_LT: tp_push(a, f->at_least_0, (fact){minus(r, n->b, n->a, -1), line, false}); break;
    case TP_E_EQ: tp_push(a, f->zero, (fact){minus(r, n->a, n->b, 0), line, false}); break;
    default: tp_push(a, f->not_zero, (fact){minus(r, n->a, n->b, 0), line, false}); break;
    }
}

/* The next hypothesis, numbered as certificate.c numbers it. */
static void take(refuter *r, facts *f, tp_expr e, bool negated)
{
    const tp_expr_node n = *tp_expr_get(r->v->p, e);
    bool conjunction = n.op == TP_E_AND ? !negated : (n.op == TP_E_OR || n.op == TP_E_IMPLIES) && negated;
    int64_t value;
    if (n.op == TP_E_NOT) {
        take(r, f, n.a, !negated);
        return;
    }
    if (conjunction) {
        take(r, f, n.a, n.op == TP_E_IMPLIES ? !negated : negated);
        take(r, f, n.b, negated);
        return;
    }
    tp_line line = {.rule = TP_LINE_FACT, .number = f->hypotheses++};
    if (tp_expr_is_const(r->v->p, e, &value)) {
        if ((value != 0) == negated) {
            f->closed = true;
            f->absurd = line.number;
        }
    } else if (n.op == TP_E_AND || n.op == TP_E_OR || n.op == TP_E_IMPLIES || n.op == TP_E_ITE) {
        tp_push(r->v->scratch, f->either, (fact){e, line, negated});
    } else if (n.op >= TP_E_EQ && n.op <= TP_E_GE) {
        take_comparison(r, f, &n, negated, line);
        if (n.op == (negated ? TP_E_EQ : TP_E_NE) && line.number >= r->goal)
            tp_push(r->v->scratch, f->differ, (fact){e, line, negated});
    } /* else not read: fewer premises are sound */
}

static void take_arm(refuter *r, facts *f, const fact *either, bool first)
{
    const tp_expr_node n = *tp_expr_get(r->v->p, either->e);
    bool negated = either->negated;
    if (n.op == TP_E_ITE) {
        tp_expr arm = first ? n.b : n.c, condition = first ? n.a : not_of(r, n.a);
        take(r, f, tp_op2(r->v->p, TP_E_AND, condition, negated ? not_of(r, arm) : arm), false);
    } else if (n.op == TP_E_EQ || n.op == TP_E_NE) {
        take(r, f, tp_op2(r->v->p, first ? TP_E_LT : TP_E_GT, n.a, n.b), false);
    } else {
        take(r, f, first ? n.a : n.b, first && n.op == TP_E_IMPLIES ? !negated : negated);
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

static void substitute(refuter *r, fact_list *list, const tp_expr *with, uint32_t n)
{
    for (uint32_t i = 0; i < list->len; i++)
        list->at[i].e = tp_expr_normal(r->v->p, tp_expr_subst(r->v->p, list->at[i].e, with, n));
}

typedef TP_VEC(tp_proof) proofs;

/* Put defined variables in, each a node of the proof; the variable's own bounds become facts. */
static void use_equations(refuter *r, facts *f, proofs *lets)
{
    tp_arena *a = r->v->scratch;
    uint32_t n = tp_sym_count(r->v->p), sym;
    tp_expr value;
    for (uint32_t i = 0; i < f->zero.len; i++) {
        if (!solve(r, f->zero.at[i].e, &sym, &value))
            continue;
        tp_expr *with = TP_NEWN(a, tp_expr, n);
        with[sym] = value;
        for (uint32_t k = 0; k < r->o->nvars; k++) {
            const tp_var *x = &r->o->vars[k];
            if (x->sym != sym || f->at_least_0.len + 2 >= MAX_FACTS)
                continue;
            tp_line lower = {.rule = TP_LINE_LOWER, .number = sym}, upper = {.rule = TP_LINE_UPPER, .number = sym};
            if (x->lo.id)
                tp_push(a, f->at_least_0, (fact){minus(r, value, x->lo, 0), lower, false});
            if (x->hi.id)
                tp_push(a, f->at_least_0, (fact){minus(r, x->hi, value, 0), upper, false});
        }
        tp_proof let = {.kind = TP_PROOF_LET, .number = f->zero.at[i].line.number, .sym = sym, .value = value};
        tp_push(a, *lets, let);
        substitute(r, &f->at_least_0, with, n);
        substitute(r, &f->zero, with, n);
        substitute(r, &f->not_zero, with, n);
    }
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

static fact_list copy(refuter *r, const fact_list *list, uint32_t n)
{
    fact_list c = {0};
    for (uint32_t i = 0; i < n; i++)
        tp_push(r->v->scratch, c, list->at[i]);
    return c;
}

static const tp_proof *node(refuter *r, tp_proof n, const tp_proof *first, const tp_proof *second)
{
    const tp_proof *kids[2] = {first, second};
    return tp_proof_node(r->v->scratch, n, kids, second ? 2 : first ? 1 : 0);
}

static const tp_proof *wrapped(refuter *r, const proofs *lets, const tp_proof *inner)
{
    for (uint32_t i = lets->len; i-- > 0;)
        inner = node(r, lets->at[i], inner, NULL);
    return inner;
}

/* Lines that close the leaf: a (and b), which are at least 0, are negative. */
static const tp_proof *negative(refuter *r, const tp_poly *p, const tp_line *a, const tp_line *b)
{
    tp_poly q;
    tp_lines lines = {0};
    q.n = 0;
    q.ok = true;
    tp_poly_add(&q, p, -1);
    tp_poly_add_term(&q, (tp_term){.coef = -1});
    uint32_t last = q.ok && r->checks-- > 0 ? tp_poly_at_least_0(r->v, r->o, &q, &lines) : 0;
    if (!last)
        return NULL;
    tp_product t[3] = {{1, 1, {last}}, {1, 1, {tp_line_add(r->v, &lines, *a)}}, {0, 0, {0}}};
    if (b)
        t[2] = (tp_product){1, 1, {tp_line_add(r->v, &lines, *b)}};
    tp_line_sum(r->v, &lines, t, b ? 3 : 2);
    return node(r, (tp_proof){.kind = TP_PROOF_LINES, .lines = lines.at, .nlines = lines.len}, NULL, NULL);
}

static const tp_proof *leaf(refuter *r, const facts *given)
{
    proofs lets = {0};
    facts f = {.at_least_0 = copy(r, &given->at_least_0, given->at_least_0.len),
               .zero = copy(r, &given->zero, given->zero.len),
               .not_zero = copy(r, &given->not_zero, given->not_zero.len)};
    use_equations(r, &f, &lets);
    int64_t value;
    for (uint32_t i = 0; i < f.not_zero.len; i++)
        if (tp_expr_is_const(r->v->p, f.not_zero.at[i].e, &value) && value == 0) {
            tp_proof absurd = {.kind = TP_PROOF_ABSURD, .number = f.not_zero.at[i].line.number};
            return wrapped(r, &lets, node(r, absurd, NULL, NULL));
        }
    tp_poly polys[MAX_FACTS];
    tp_line line[MAX_FACTS];
    uint32_t n = 0;
    const tp_proof *found = NULL;
    for (uint32_t i = f.at_least_0.len + 2 * f.zero.len; i-- > 0 && n < MAX_FACTS;) { /* the goal came last */
        bool equation = i >= f.at_least_0.len, minus = equation && (i - f.at_least_0.len) % 2;
        const fact *x = equation ? &f.zero.at[(i - f.at_least_0.len) / 2] : &f.at_least_0.at[i];
        tp_poly q;
        tp_poly_of(r->v->p, x->e, &q);
        polys[n].n = 0;
        polys[n].ok = true;
        tp_poly_add(&polys[n], &q, minus ? -1 : 1);
        if (!polys[n].ok)
            continue;
        line[n] = x->line;
        line[n].side = minus;
        n++;
    }
    for (uint32_t i = 0; i < n && !found; i++)
        found = negative(r, &polys[i], &line[i], NULL);
    for (uint32_t i = 0; i < n && !found; i++)
        for (uint32_t k = i + 1; k < n && !found; k++) {
            if (!cancel(&polys[i], &polys[k]))
                continue;
            tp_poly sum = polys[i];
            tp_poly_add(&sum, &polys[k], 1);
            found = sum.ok ? negative(r, &sum, &line[i], &line[k]) : NULL;
        }
    return found ? wrapped(r, &lets, found) : NULL;
}

static const tp_proof *contradictory(refuter *r, const facts *f)
{
    const tp_proof *found;
    if (f->closed)
        return node(r, (tp_proof){.kind = TP_PROOF_ABSURD, .number = f->absurd}, NULL, NULL);
    if (r->leaves <= 0 || r->checks <= 0 || f->at_least_0.len > MAX_FACTS)
        return NULL;
    r->leaves--;
    if ((found = leaf(r, f)) || f->either.len + f->differ.len == 0)
        return found;
    bool differ = f->either.len == 0;
    const fact_list *list = differ ? &f->differ : &f->either;
    const fact *either = &list->at[list->len - 1]; /* the goal's first */
    const tp_proof *arms[2];
    for (int i = 0; i < 2; i++) {
        facts g = {.at_least_0 = copy(r, &f->at_least_0, f->at_least_0.len),
                   .zero = copy(r, &f->zero, f->zero.len),
                   .not_zero = copy(r, &f->not_zero, f->not_zero.len),
                   .either = copy(r, &f->either, f->either.len - !differ),
                   .differ = copy(r, &f->differ, f->differ.len - differ),
                   .hypotheses = f->hypotheses};
        take_arm(r, &g, either, i == 0);
        if (!(arms[i] = contradictory(r, &g)))
            return NULL;
    }
    return node(r, (tp_proof){.kind = TP_PROOF_SPLIT, .number = either->line.number}, arms[0], arms[1]);
}

const tp_proof *tp_refute(tp_prover *v, const tp_obligation *o)
{
    refuter r = {v, o, MAX_LEAVES, MAX_CHECKS, UINT32_MAX};
    facts f = {.closed = false};
    for (uint32_t i = 0; i < o->npremises; i++)
        take(&r, &f, o->premises[i], false);
    r.goal = f.hypotheses;
    take(&r, &f, o->goal, true);
    const tp_proof *found = contradictory(&r, &f);
    return found ? node(&r, (tp_proof){.kind = TP_PROOF_REFUTE}, found, NULL) : NULL;
}
