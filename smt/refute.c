/* Proofs by contradiction, without a solver: premises and the negated goal
 * are taken apart into facts x >= 0 and disjunctions. A leaf is closed when the
 * facts contradict each other linearly (farkas.c), or, once equations that
 * define a variable are put in, when the negation of a fact, or of the sum of
 * two, is positive (positivity.c). A disjunction with an arm that is
 * contradicted at once leaves the other one; else the goal's are split first.
 * What comes out is a proof for certificate.c. Incomplete; budgets bound the work. */
#include "base/checked.h"
#include "smt/internal.h"

enum { MAX_FACTS = 48, MAX_LEAVES = 100, MAX_CHECKS = 1500, MAX_LINEAR = 300, MAX_SYSTEM = 160, MAX_ATOMS = 60 };

/* A fact and the line that states it. `either`: a disjunction, perhaps negated;
 * `differ`: a != b, a disjunction of < and >. */
typedef struct fact {
    tp_expr e;
    tp_line line;
    bool negated;
} fact;
typedef TP_VEC(fact) fact_list;

typedef struct refuter {
    tp_prover *v;
    const tp_obligation *o;
    int leaves, checks, linear; /* budgets */
    uint32_t goal;              /* the first hypothesis that comes from it */
    int8_t *sure[2]; /* per expression, and per negated one: 1 true inside the bounds, -1 not known, 0 not asked yet */
    uint32_t nsure;
    uint32_t looked_at; /* disjunctions from this number on were looked at last: others first */
} refuter;

typedef struct facts {
    fact_list at_least_0, zero, not_zero, either, differ;
    struct {
        uint32_t at_least_0, zero, not_zero;
    } seen;              /* that many of each were there before the last split, and gave no contradiction */
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

/* x op y as a polynomial >= 0; of an equation or its opposite x - y. */
static tp_expr as_difference(refuter *r, tp_expr_op op, tp_expr x, tp_expr y)
{
    bool less = op == TP_E_LE || op == TP_E_LT, strict = op == TP_E_LT || op == TP_E_GT;
    return less ? minus(r, y, x, -strict) : minus(r, x, y, -strict);
}

static bool surely(refuter *r, tp_expr e, bool negated);

static bool surely_now(refuter *r, tp_expr e, bool negated)
{
    const tp_expr_node n = *tp_expr_get(r->v->p, e);
    int64_t value;
    if (tp_expr_is_const(r->v->p, e, &value))
        return (value != 0) != negated;
    if (n.op == TP_E_NOT)
        return surely(r, n.a, !negated);
    if (n.op == TP_E_AND || n.op == TP_E_OR || n.op == TP_E_IMPLIES) {
        bool a = surely(r, n.a, n.op == TP_E_IMPLIES ? !negated : negated), all = (n.op == TP_E_AND) != negated;
        return all ? a && surely(r, n.b, negated) : a || surely(r, n.b, negated);
    }
    tp_expr_op op = negated ? tp_expr_opposite(n.op) : n.op;
    if (n.op < TP_E_EQ || n.op > TP_E_GE)
        return false;
    tp_expr d = as_difference(r, op, n.a, n.b);
    tp_poly p;
    tp_lines lines = {0};
    if (tp_expr_is_const(r->v->p, d, &value))
        return op == TP_E_EQ ? value == 0 : op == TP_E_NE ? value != 0 : value >= 0;
    if (op == TP_E_EQ || op == TP_E_NE)
        return false;
    tp_poly_of(r->v->p, d, &p);
    return p.ok && tp_poly_at_least_0(r->v, r->o, &p, &lines);
}

/* Is it true wherever the variables are inside their bounds? Then it says
 * nothing, and is left out: fewer hypotheses need no proof. */
static bool surely(refuter *r, tp_expr e, bool negated)
{
    if (e.id >= r->nsure)
        return surely_now(r, e, negated);
    int8_t *known = &r->sure[negated][e.id];
    if (!*known)
        *known = surely_now(r, e, negated) ? 1 : -1;
    return *known > 0;
}

static void take_comparison(refuter *r, facts *f, const tp_expr_node *n, bool negated, tp_line line)
{
    tp_expr_op op = negated ? tp_expr_opposite(n->op) : n->op;
    tp_expr e = as_difference(r, op, n->a, n->b);
    bool equal = op == TP_E_EQ, differ = op == TP_E_NE;
    int64_t value;
    if (tp_expr_is_const(r->v->p, e, &value)) {
        if (equal ? value != 0 : differ ? value == 0 : value < 0) {
            f->closed = true;
            f->absurd = line.number;
        }
        return;
    }
    fact x = {e, line, false};
    if (equal)
        tp_push(r->v->scratch, f->zero, x);
    else if (differ)
        tp_push(r->v->scratch, f->not_zero, x);
    else
        tp_push(r->v->scratch, f->at_least_0, x);
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
        if (n.op == TP_E_ITE || !surely(r, e, negated))
            tp_push(r->v->scratch, f->either, (fact){e, line, negated});
    } else if (n.op >= TP_E_EQ && n.op <= TP_E_GE) {
        take_comparison(r, f, &n, negated, line);
        if (n.op == (negated ? TP_E_EQ : TP_E_NE))
            tp_push(r->v->scratch, f->differ, (fact){e, line, negated});
    } /* else not read: fewer premises are sound */
}

/* Is an arm false wherever the variables are inside their bounds? To be proven, but easily. */
static bool arm_impossible(refuter *r, const fact *either, bool first)
{
    const tp_expr_node n = *tp_expr_get(r->v->p, either->e);
    bool negated = first && n.op == TP_E_IMPLIES ? !either->negated : either->negated;
    return (n.op == TP_E_AND || n.op == TP_E_OR || n.op == TP_E_IMPLIES) && surely(r, first ? n.a : n.b, !negated);
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
                tp_poly_add_term(&rest, &u);
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
            if ((a->terms[i].coef > 0) != (b->terms[k].coef > 0) && tp_same_monomial(&a->terms[i], &b->terms[k]))
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

static const tp_proof *wrap(refuter *r, const proofs *lets, const tp_proof *inner)
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
    tp_poly_constant(&q, -1);
    tp_poly_add(&q, p, -1);
    uint32_t last = q.ok && r->checks-- > 0 ? tp_poly_at_least_0(r->v, r->o, &q, &lines) : 0;
    if (!last)
        return NULL;
    tp_product t[3] = {{1, 1, {last}}, {1, 1, {tp_line_add(r->v, &lines, *a)}}, {0, 0, {0}}};
    if (b)
        t[2] = (tp_product){1, 1, {tp_line_add(r->v, &lines, *b)}};
    tp_line_sum(r->v, &lines, t, b ? 3 : 2);
    return node(r, (tp_proof){.kind = TP_PROOF_LINES, .lines = lines.at, .nlines = lines.len}, NULL, NULL);
}

/* Without `pairs` only single facts are looked at, those that were not seen: cheap. */
static const tp_proof *leaf(refuter *r, const facts *given, bool pairs)
{
    bool all = pairs || given->zero.len > given->seen.zero; /* equations change the others */
    if (!all && given->at_least_0.len == given->seen.at_least_0 && given->not_zero.len == given->seen.not_zero)
        return NULL;
    proofs lets = {0};
    facts f = {.at_least_0 = copy(r, &given->at_least_0, given->at_least_0.len),
               .zero = copy(r, &given->zero, given->zero.len),
               .not_zero = copy(r, &given->not_zero, given->not_zero.len)};
    use_equations(r, &f, &lets);
    int64_t value;
    for (uint32_t i = 0; i < f.not_zero.len; i++)
        if (tp_expr_is_const(r->v->p, f.not_zero.at[i].e, &value) && value == 0) {
            tp_proof absurd = {.kind = TP_PROOF_ABSURD, .number = f.not_zero.at[i].line.number};
            return wrap(r, &lets, node(r, absurd, NULL, NULL));
        }
    tp_poly polys[MAX_FACTS];
    tp_line line[MAX_FACTS];
    uint32_t n = 0;
    const tp_proof *found = NULL;
    for (uint32_t i = f.at_least_0.len + 2 * f.zero.len; i-- > 0 && n < MAX_FACTS;) { /* the goal came last */
        bool equation = i >= f.at_least_0.len, minus = equation && (i - f.at_least_0.len) % 2;
        const fact *x = equation ? &f.zero.at[(i - f.at_least_0.len) / 2] : &f.at_least_0.at[i];
        if (!all && (i < given->seen.at_least_0 || i >= given->at_least_0.len))
            continue;
        tp_poly q;
        tp_poly_of(r->v->p, x->e, &q);
        tp_poly_constant(&polys[n], 0);
        tp_poly_add(&polys[n], &q, minus ? -1 : 1);
        if (!polys[n].ok)
            continue;
        line[n] = x->line;
        line[n].side = minus;
        n++;
    }
    for (uint32_t i = 0; i < n && !found && !pairs; i++)
        found = negative(r, &polys[i], &line[i], NULL);
    for (uint32_t i = 0; i < n && !found && pairs; i++)
        for (uint32_t k = i + 1; k < n && !found; k++) {
            if (!cancel(&polys[i], &polys[k]))
                continue;
            tp_poly sum;
            tp_poly_copy(&sum, &polys[i]);
            tp_poly_add(&sum, &polys[k], 1);
            found = sum.ok ? negative(r, &sum, &line[i], &line[k]) : NULL;
        }
    return found ? wrap(r, &lets, found) : NULL;
}

/* ---- linear contradictions ---- */

/* Facts, with what their atoms mean, and the lines that say so. */
typedef struct linear_facts {
    tp_lines lines;
    TP_VEC(tp_linear_fact) facts;
    TP_VEC(uint32_t) at; /* number of the line, 0: `own` */
    TP_VEC(tp_line) own;
    TP_VEC(tp_expr) atoms;
    uint32_t seen, seen_atoms; /* that many facts do not contradict each other; their atoms */
} linear_facts;

static void add_poly(refuter *r, linear_facts *s, const tp_poly *p, uint32_t number, tp_line own)
{
    tp_arena *a = r->v->scratch;
    if (!p->ok || s->facts.len >= MAX_SYSTEM)
        return;
    tp_term *terms = TP_NEWN(a, tp_term, p->n);
    memcpy(terms, p->terms, p->n * sizeof *terms);
    tp_push(a, s->facts, ((tp_linear_fact){terms, p->n}));
    tp_push(a, s->at, number);
    tp_push(a, s->own, own);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->terms[i].degree; k++) {
            tp_expr atom = p->terms[i].factors[k];
            bool known = s->atoms.len >= MAX_ATOMS;
            for (uint32_t j = 0; j < s->atoms.len && !known; j++)
                known = tp_same(s->atoms.at[j], atom);
            if (known)
                continue;
            tp_push(a, s->atoms, atom);
            tp_poly means[2];
            uint32_t lines[2], n = tp_atom_facts(r->v, r->o, atom, &s->lines, means, lines);
            for (uint32_t j = 0; j < n; j++)
                add_poly(r, s, &means[j], lines[j], (tp_line){0});
        }
}

/* Fact k says a <= b (`second`), or b <= a: the larger one is the maximum m, the smaller one the minimum. */
static void add_side(refuter *r, linear_facts *s, uint32_t k, tp_expr atom, const tp_poly *rest, bool second)
{
    tp_prover *v = r->v;
    const tp_expr_node n = *tp_expr_get(v->p, atom);
    bool max = n.op == TP_E_MAX;
    tp_expr known = second == max ? n.b : n.a, e = max ? minus(r, known, atom, 0) : minus(r, atom, known, 0);
    uint32_t difference = s->at.at[k] ? s->at.at[k] : tp_line_add(v, &s->lines, s->own.at[k]);
    if (rest->n) {
        tp_product t[2] = {{1, 1, {difference}}, {rest->terms[0].coef, 0, {0}}};
        difference = tp_line_sum(v, &s->lines, t, 2);
    }
    uint32_t zero = tp_line_sum(v, &s->lines, NULL, 0); /* for the arm that is m itself */
    bool itself = tp_same(known, n.a);
    tp_line l = {.rule = TP_LINE_CASES,
                 .e = atom,
                 .factor = tp_const(v->p, max ? -1 : 1),
                 .refs = {itself ? zero : difference, itself ? difference : zero}};
    tp_poly p;
    tp_poly_of(v->p, e, &p);
    add_poly(r, s, &p, tp_line_add(v, &s->lines, l), (tp_line){0});
}

/* A fact says which of a and b is larger: then min(a, b) and max(a, b) are known from both sides. */
static void add_known_sides(refuter *r, linear_facts *s)
{
    uint32_t nfacts = s->facts.len;
    for (uint32_t i = 0; i < s->atoms.len; i++) {
        tp_expr_node n = *tp_expr_get(r->v->p, s->atoms.at[i]);
        if (n.op != TP_E_MIN && n.op != TP_E_MAX)
            continue;
        tp_poly a, b;
        tp_poly_of(r->v->p, n.a, &a);
        tp_poly_of(r->v->p, n.b, &b);
        for (uint32_t k = nfacts; k-- > (i < s->seen_atoms ? s->seen : 0);)
            for (int larger = 0; larger < 2; larger++) { /* a - b, or b - a, is the fact + rest */
                tp_poly rest;
                tp_poly_copy(&rest, larger ? &b : &a);
                tp_poly_add(&rest, larger ? &a : &b, -1);
                for (uint32_t t = 0; t < s->facts.at[k].n; t++) {
                    tp_term x = s->facts.at[k].terms[t];
                    rest.ok &= tp_mul(x.coef, -1, &x.coef);
                    tp_poly_add_term(&rest, &x);
                }
                if (rest.ok && (rest.n == 0 || (rest.n == 1 && !rest.terms[0].degree && rest.terms[0].coef > 0)))
                    add_side(r, s, k, s->atoms.at[i], &rest, larger);
            }
    }
}

/* Those that were not seen. */
static void add_facts(refuter *r, linear_facts *s, const facts *f)
{
    tp_poly q, negated;
    for (uint32_t i = f->at_least_0.len; i-- > f->seen.at_least_0;) { /* the goal came last */
        tp_poly_of(r->v->p, f->at_least_0.at[i].e, &q);
        add_poly(r, s, &q, 0, f->at_least_0.at[i].line);
    }
    for (uint32_t i = f->zero.len; i-- > f->seen.zero;) {
        tp_line l = f->zero.at[i].line;
        tp_poly_of(r->v->p, f->zero.at[i].e, &q);
        add_poly(r, s, &q, 0, l);
        negated.n = 0;
        negated.ok = true;
        tp_poly_add(&negated, &q, -1);
        l.side = 1;
        add_poly(r, s, &negated, 0, l);
    }
}

static const tp_proof *add_up(refuter *r, linear_facts *s)
{
    tp_arena *a = r->v->scratch;
    uint32_t n = s->facts.len, used = 0;
    int64_t *factor = TP_NEWN(a, int64_t, n + 1);
    if (r->linear-- <= 0 || !tp_farkas(a, s->facts.at, n, s->seen, factor))
        return NULL;
    tp_lines lines = {0};
    for (uint32_t i = 0; i < s->lines.len; i++)
        tp_push(a, lines, s->lines.at[i]);
    tp_product *sum = TP_NEWN(a, tp_product, n);
    for (uint32_t i = 0; i < n; i++)
        if (factor[i])
            sum[used++] =
                (tp_product){factor[i], 1, {s->at.at[i] ? s->at.at[i] : tp_line_add(r->v, &lines, s->own.at[i])}};
    tp_line_sum(r->v, &lines, sum, used);
    return node(r, (tp_proof){.kind = TP_PROOF_LINES, .lines = lines.at, .nlines = lines.len}, NULL, NULL);
}

/* Is an arm of the disjunction contradicted at once, by the facts in s? */
static const tp_proof *arm_contradicted(refuter *r, linear_facts *s, const facts *f, const fact *either, bool first)
{
    facts own = {.hypotheses = f->hypotheses};
    take_arm(r, &own, either, first);
    if (own.closed)
        return node(r, (tp_proof){.kind = TP_PROOF_ABSURD, .number = own.absurd}, NULL, NULL);
    if (own.at_least_0.len + own.zero.len == 0)
        return NULL;
    linear_facts with = *s; /* appended to in place, and forgotten */
    add_facts(r, &with, &own);
    return add_up(r, &with);
}

/* ---- disjunctions ---- */

/* The proof without the hypotheses from .. from + n - 1, later ones renumbered; NULL when it uses one of them. */
static const tp_proof *without(refuter *r, const tp_proof *p, uint32_t from, uint32_t n)
{
    tp_arena *a = r->v->scratch;
    bool numbered = p->kind == TP_PROOF_SPLIT || p->kind == TP_PROOF_LET || p->kind == TP_PROOF_ABSURD;
    tp_proof *copy = TP_NEW(a, tp_proof);
    *copy = *p;
    if (numbered && p->number >= from) {
        if (p->number < from + n)
            return NULL;
        copy->number -= n;
    }
    tp_line *lines = TP_NEWN(a, tp_line, p->nlines);
    for (uint32_t i = 0; i < p->nlines; i++) {
        lines[i] = p->lines[i];
        if (lines[i].rule != TP_LINE_FACT || lines[i].number < from)
            continue;
        if (lines[i].number < from + n)
            return NULL;
        lines[i].number -= n;
    }
    copy->lines = lines;
    const tp_proof **kids = TP_NEWN(a, const tp_proof *, p->nkids);
    for (uint32_t i = 0; i < p->nkids; i++)
        if (!(kids[i] = without(r, p->kids[i], from, n)))
            return NULL;
    copy->kids = kids;
    return copy;
}

static const tp_proof *contradictory(refuter *r, const facts *f, const linear_facts *before);

/* Both arms, or one of them when its proof does not look at it. `known`: of the arm `known_first`, or NULL. `s`: what f
 * says linearly.
 */
static const tp_proof *split(refuter *r, const facts *f, const linear_facts *s, bool differ, uint32_t at,
                             const tp_proof *known, bool known_first)
{
    const fact *either = &(differ ? &f->differ : &f->either)->at[at];
    const tp_proof *arms[2] = {NULL, NULL}, *alone;
    for (int i = 0; i < 2; i++) {
        if (known && known_first == (i == 0)) {
            arms[i] = known;
            continue;
        }
        facts g = {.at_least_0 = copy(r, &f->at_least_0, f->at_least_0.len),
                   .zero = copy(r, &f->zero, f->zero.len),
                   .not_zero = copy(r, &f->not_zero, f->not_zero.len),
                   .either = copy(r, &f->either, f->either.len),
                   .differ = copy(r, &f->differ, f->differ.len),
                   .seen = {f->at_least_0.len, f->zero.len, f->not_zero.len},
                   .hypotheses = f->hypotheses};
        fact_list *list = differ ? &g.differ : &g.either;
        memmove(&list->at[at], &list->at[at + 1], (list->len - at - 1) * sizeof *list->at);
        list->len--;
        take_arm(r, &g, either, i == 0);
        if (!(arms[i] = contradictory(r, &g, s)))
            return NULL;
        if ((alone = without(r, arms[i], f->hypotheses, g.hypotheses - f->hypotheses)))
            return alone;
    }
    return node(r, (tp_proof){.kind = TP_PROOF_SPLIT, .number = either->line.number}, arms[0], arms[1]);
}

/* What f says linearly: beside what was known before the last split, or anew where that leaves little room. */
static linear_facts linear_facts_of(refuter *r, const facts *f, const linear_facts *before)
{
    linear_facts s = {0};
    facts all = *f;
    if (before && before->facts.len < MAX_SYSTEM / 2 && before->atoms.len < MAX_ATOMS / 2)
        s = *before; /* appended to in place */
    else
        memset(&all.seen, 0, sizeof all.seen);
    add_facts(r, &s, &all);
    add_known_sides(r, &s);
    return s;
}

/* `before`: what f said linearly before the last split, or NULL. */
static const tp_proof *contradictory(refuter *r, const facts *f, const linear_facts *before)
{
    const tp_proof *found;
    if (f->closed)
        return node(r, (tp_proof){.kind = TP_PROOF_ABSURD, .number = f->absurd}, NULL, NULL);
    if (r->leaves-- <= 0 || r->checks <= 0 || r->linear <= 0)
        return NULL;
    if ((found = leaf(r, f, false)))
        return found;
    linear_facts s = linear_facts_of(r, f, before);
    if ((found = add_up(r, &s)))
        return found;
    s.seen = s.facts.len;
    s.seen_atoms = s.atoms.len;
    for (uint32_t i = f->either.len; i-- > 0;)
        if (arm_impossible(r, &f->either.at[i], true) || arm_impossible(r, &f->either.at[i], false))
            return split(r, f, &s, false, i, NULL, false);
    for (int round = 0; round < 4; round++) {
        bool differ = round % 2, seen = round >= 2;
        const fact_list *list = differ ? &f->differ : &f->either;
        for (uint32_t i = list->len; i-- > 0;)
            for (int first = 0; first < 2 && (list->at[i].line.number >= r->looked_at) == seen; first++)
                if ((found = arm_contradicted(r, &s, f, &list->at[i], first))) {
                    r->looked_at = list->at[i].line.number;
                    return split(r, f, &s, differ, i, found, first);
                }
    }
    r->looked_at = UINT32_MAX;
    if ((found = leaf(r, f, true)))
        return found;
    const fact *last = f->either.len ? &f->either.at[f->either.len - 1] : NULL;
    const fact *unequal = f->differ.len ? &f->differ.at[f->differ.len - 1] : NULL;
    if (last && last->line.number >= r->goal) /* of the goal, or of an earlier split */
        return split(r, f, &s, false, f->either.len - 1, NULL, false);
    if (unequal && unequal->line.number >= r->goal)
        return split(r, f, &s, true, f->differ.len - 1, NULL, false);
    if (last)
        return split(r, f, &s, false, 0, NULL, false);
    return NULL;
}

const tp_proof *tp_refute(tp_prover *v, const tp_obligation *o, bool brief)
{
    refuter r = {.v = v,
                 .o = o,
                 .leaves = brief ? 6 : MAX_LEAVES,
                 .checks = MAX_CHECKS,
                 .linear = MAX_LINEAR,
                 .goal = UINT32_MAX,
                 .looked_at = UINT32_MAX};
    r.nsure = o->goal.id + 1; /* subterms come before what they are in */
    for (uint32_t i = 0; i < o->npremises; i++)
        r.nsure = o->premises[i].id >= r.nsure ? o->premises[i].id + 1 : r.nsure;
    r.sure[0] = TP_NEWN(v->scratch, int8_t, r.nsure);
    r.sure[1] = TP_NEWN(v->scratch, int8_t, r.nsure);
    facts f = {.closed = false};
    for (uint32_t i = 0; i < o->npremises; i++)
        take(&r, &f, o->premises[i], false);
    r.goal = f.hypotheses;
    take(&r, &f, o->goal, true);
    const tp_proof *found = contradictory(&r, &f, NULL);
    return found ? node(&r, (tp_proof){.kind = TP_PROOF_REFUTE}, found, NULL) : NULL;
}
