/* The checker of proofs (proof.h): the file to read for whoever wants to
 * believe a `proven (cert)`. Integers of any size (GMP); nothing is searched.
 *
 * Polynomials have integer coefficients over atoms: symbols, and operations
 * that are not + - *, keyed by their operands' polynomials. Two rewritings are
 * built in: operations on constants are evaluated, and
 * (b*q + r) // b = q + r // b, likewise for cdiv and %, where q has integer
 * values and either side has a value just when b != 0. What has no value is
 * left free, as an atom: nothing follows from it.
 */
#include <gmp.h>

#include "smt/proof.h"
#include "spec/kernel.h"

enum { MAX_WORK = 4000000, MAX_NODES_DEEP = 400, MAX_POINTS = 300000, MAX_SIZE = 2000 };

typedef struct term {
    mpz_ptr coef;
    uint32_t degree, *atoms; /* ascending */
} term;

typedef struct poly {
    term *at;
    uint32_t len, cap; /* terms in order, no zero coefficients */
} poly;

typedef struct atom {
    tp_expr_op op;
    uint32_t sym;
    poly args[3];
} atom;

typedef struct checker {
    tp_arena *arena;
    tp_exprs *p;
    const tp_obligation *o;
    const tp_proof *proof;
    TP_VEC(atom) atoms;
    TP_VEC(mpz_ptr) numbers; /* to be cleared */
    int64_t work;
    int depth;
    bool ok;
    const char *why;
} checker;

typedef struct hypothesis {
    tp_expr e;
    bool negated;
} hypothesis;

/* Variables and hypotheses at one node of the proof. */
typedef struct state {
    tp_var *vars;
    uint32_t nvars;
    TP_VEC(hypothesis) hyps;
    tp_expr *with; /* per symbol: what TP_PROOF_LET put in its place */
    uint32_t nwith;
} state;

static bool reject(checker *c, const char *why)
{
    if (!c->why)
        c->why = why;
    return c->ok = false;
}

/* ---- polynomials ---- */

static void spend(checker *c, int64_t work)
{
    c->work += work;
    if (c->work > MAX_WORK) {
        reject(c, "the proof is too long to be checked");
        tp_leave(c->arena, TP_E_INPUT);
    }
}

static mpz_ptr number(checker *c)
{
    mpz_ptr z = TP_NEW(c->arena, __mpz_struct);
    tp_push(c->arena, c->numbers, z);
    mpz_init(z);
    return z;
}

static int compare(const term *a, const term *b)
{
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    for (uint32_t i = 0; i < a->degree; i++)
        if (a->atoms[i] != b->atoms[i])
            return a->atoms[i] < b->atoms[i] ? -1 : 1;
    return 0;
}

/* p += coef * scale * atoms */
static void add_term(checker *c, poly *p, const term *t, mpz_srcptr scale)
{
    uint32_t i = 0;
    int order = 1;
    while (i < p->len && (order = compare(&p->at[i], t)) < 0)
        i++;
    spend(c, 1 + i / 4);
    if (i < p->len && order == 0) {
        mpz_ptr sum = number(c); /* polynomials share coefficients */
        mpz_set(sum, p->at[i].coef);
        mpz_addmul(sum, t->coef, scale);
        p->at[i].coef = sum;
        if (mpz_sgn(sum) == 0) {
            memmove(&p->at[i], &p->at[i + 1], (p->len - i - 1) * sizeof *t);
            p->len--;
        }
        return;
    }
    term new = *t;
    new.coef = number(c);
    mpz_mul(new.coef, t->coef, scale);
    if (mpz_sgn(new.coef) == 0)
        return;
    if (p->len > MAX_SIZE)
        spend(c, MAX_WORK);
    tp_push(c->arena, *p, new);
    memmove(&p->at[i + 1], &p->at[i], (p->len - 1 - i) * sizeof new);
    p->at[i] = new;
}

static poly constant(checker *c, int64_t v)
{
    poly p = {0};
    mpz_ptr z = number(c), one = number(c);
    mpz_set_ui(one, 1);
    if (v < 0) { /* -2^63 too */
        mpz_set_ui(z, (unsigned long)-(v + 1));
        mpz_add(z, z, one);
        mpz_neg(z, z);
    } else {
        mpz_set_ui(z, (unsigned long)v);
    }
    add_term(c, &p, &(term){.coef = z}, one);
    return p;
}

/* a + scale * b */
static poly plus(checker *c, const poly *a, const poly *b, int64_t scale)
{
    poly sum = {0}, k = constant(c, scale), one = constant(c, 1);
    for (uint32_t i = 0; i < a->len; i++)
        add_term(c, &sum, &a->at[i], one.at[0].coef);
    for (uint32_t i = 0; k.len && i < b->len; i++)
        add_term(c, &sum, &b->at[i], k.at[0].coef);
    return sum;
}

static poly times(checker *c, const poly *a, const poly *b)
{
    poly product = {0};
    for (uint32_t i = 0; i < a->len; i++)
        for (uint32_t k = 0; k < b->len; k++) {
            const term *x = &a->at[i], *y = &b->at[k];
            term t = {.coef = x->coef, .degree = x->degree + y->degree};
            t.atoms = TP_NEWN(c->arena, uint32_t, t.degree);
            spend(c, t.degree);
            for (uint32_t n = 0, l = 0, r = 0; n < t.degree; n++)
                t.atoms[n] =
                    r == y->degree || (l < x->degree && x->atoms[l] <= y->atoms[r]) ? x->atoms[l++] : y->atoms[r++];
            add_term(c, &product, &t, y->coef);
        }
    return product;
}

static bool same(const poly *a, const poly *b)
{
    bool equal = a->len == b->len;
    for (uint32_t i = 0; equal && i < a->len; i++)
        equal = compare(&a->at[i], &b->at[i]) == 0 && mpz_cmp(a->at[i].coef, b->at[i].coef) == 0;
    return equal;
}

/* The value of a constant polynomial; NULL when it is none. `zero` serves for 0. */
static mpz_srcptr value(checker *c, const poly *p)
{
    if (p->len == 0)
        return number(c);
    return p->len == 1 && p->at[0].degree == 0 ? p->at[0].coef : NULL;
}

static poly atom_poly(checker *c, atom a)
{
    uint32_t i = 0;
    for (; i < c->atoms.len; i++) {
        const atom *b = &c->atoms.at[i];
        if (a.op == b->op && a.sym == b->sym && same(&a.args[0], &b->args[0]) && same(&a.args[1], &b->args[1]) &&
            same(&a.args[2], &b->args[2]))
            break;
    }
    spend(c, 1 + i);
    if (i == c->atoms.len)
        tp_push(c->arena, c->atoms, a);
    poly p = {0}, one = constant(c, 1);
    uint32_t *id = TP_NEW(c->arena, uint32_t);
    *id = i;
    add_term(c, &p, &(term){.coef = one.at[0].coef, .degree = 1, .atoms = id}, one.at[0].coef);
    return p;
}

/* Move the terms b*q of p, b a positive constant or an atom, to the quotient. */
static void divide(checker *c, poly *p, const poly *b, poly *quotient)
{
    mpz_srcptr k = value(c, b);
    poly rest = {0}, one = constant(c, 1);
    bool is_atom = b->len == 1 && b->at[0].degree == 1 && mpz_cmp_ui(b->at[0].coef, 1) == 0;
    if (!(k && mpz_sgn(k) > 0) && !is_atom)
        return;
    for (uint32_t i = 0; i < p->len; i++) {
        term t = p->at[i];
        uint32_t at = 0;
        while (!k && at < t.degree && t.atoms[at] != b->at[0].atoms[0])
            at++;
        if (k ? !mpz_divisible_p(t.coef, k) : at == t.degree) {
            add_term(c, &rest, &t, one.at[0].coef);
            continue;
        }
        term q = {.coef = number(c), .degree = k ? t.degree : t.degree - 1};
        q.atoms = TP_NEWN(c->arena, uint32_t, q.degree);
        for (uint32_t n = 0, m = 0; m < t.degree; m++)
            if (k || m != at)
                q.atoms[n++] = t.atoms[m];
        mpz_set(q.coef, t.coef);
        if (k)
            mpz_divexact(q.coef, t.coef, k);
        add_term(c, quotient, &q, one.at[0].coef);
    }
    *p = rest;
}

static bool fold(checker *c, tp_expr_op op, const poly *args, poly *out)
{
    tp_expr e[3] = {{0}, {0}, {0}}, r;
    int64_t v;
    int n = op == TP_E_NOT || op == TP_E_POW2 ? 1 : op == TP_E_ITE ? 3 : 2;
    for (int i = 0; i < n; i++) {
        mpz_srcptr z = value(c, &args[i]);
        if (!z || !mpz_fits_slong_p(z))
            return false;
        e[i] = tp_const(c->p, mpz_get_si(z));
    }
    r = n == 1 ? tp_op1(c->p, op, e[0]) : n == 2 ? tp_op2(c->p, op, e[0], e[1]) : tp_ite(c->p, e[0], e[1], e[2]);
    if (!tp_expr_is_const(c->p, r, &v))
        return false;
    *out = constant(c, v);
    return true;
}

static poly poly_of(checker *c, const state *s, tp_expr e)
{
    tp_expr_node n = *tp_expr_get(c->p, e);
    spend(c, 1);
    if (!e.id)
        return (poly){0};
    if (n.op == TP_E_CONST)
        return constant(c, n.value);
    if (n.op == TP_E_SYM) {
        if ((uint64_t)n.value < s->nwith && s->with[n.value].id)
            return poly_of(c, s, s->with[n.value]);
        return atom_poly(c, (atom){.op = TP_E_SYM, .sym = (uint32_t)n.value});
    }
    atom a = {.op = n.op, .args = {poly_of(c, s, n.a), poly_of(c, s, n.b), poly_of(c, s, n.c)}};
    poly *x = &a.args[0], *y = &a.args[1], zero = {0}, result, quotient = {0};
    mpz_srcptr condition = n.op == TP_E_ITE ? value(c, x) : NULL;
    switch (n.op) {
    case TP_E_ADD: return plus(c, x, y, 1);
    case TP_E_SUB: return plus(c, x, y, -1);
    case TP_E_MUL: return times(c, x, y);
    case TP_E_NEG: return plus(c, &zero, x, -1);
    case TP_E_ITE:
        if (condition)
            return mpz_sgn(condition) ? *y : a.args[2];
        break;
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
    case TP_E_MOD: divide(c, x, y, &quotient); break;
    default: break;
    }
    if (n.op == TP_E_MOD || quotient.len == 0 || x->len) {
        if (x->len == 0 && quotient.len) /* b*q % b */
            return zero;
        if (!fold(c, n.op, a.args, &result))
            result = atom_poly(c, a);
    } else {
        result = zero; /* b*q // b */
    }
    return n.op == TP_E_MOD ? result : plus(c, &quotient, &result, 1);
}

/* ---- hypotheses ---- */

/* The arms of a conjunction (of a disjunction when `conjunction` is false);
 * their number, 0 when h is none. */
static int arms(checker *c, hypothesis h, bool conjunction, hypothesis arm[2])
{
    tp_expr_node n = *tp_expr_get(c->p, h.e);
    bool with = h.negated != conjunction; /* does `and` (or `or`) fit? */
    if (n.op == TP_E_AND || n.op == TP_E_OR) {
        arm[0] = (hypothesis){n.a, h.negated};
        arm[1] = (hypothesis){n.b, h.negated};
        return (n.op == TP_E_AND) == with ? 2 : 0;
    }
    if (n.op == TP_E_IMPLIES) { /* not a, or b */
        arm[0] = (hypothesis){n.a, !h.negated};
        arm[1] = (hypothesis){n.b, h.negated};
        return with ? 0 : 2;
    }
    if (n.op == TP_E_ITE && !conjunction) {
        tp_expr not_a = tp_op1(c->p, TP_E_NOT, n.a);
        tp_expr b = h.negated ? tp_op1(c->p, TP_E_NOT, n.b) : n.b, d = h.negated ? tp_op1(c->p, TP_E_NOT, n.c) : n.c;
        arm[0] = (hypothesis){tp_op2(c->p, TP_E_AND, n.a, b), false};
        arm[1] = (hypothesis){tp_op2(c->p, TP_E_AND, not_a, d), false};
        return 2;
    }
    return 0;
}

static void assume(checker *c, state *s, hypothesis h)
{
    hypothesis arm[2];
    spend(c, 1);
    while (tp_expr_get(c->p, h.e)->op == TP_E_NOT)
        h = (hypothesis){tp_expr_get(c->p, h.e)->a, !h.negated};
    if (arms(c, h, true, arm)) {
        assume(c, s, arm[0]);
        assume(c, s, arm[1]);
    } else {
        tp_push(c->arena, s->hyps, h);
    }
}

typedef enum relation { NONE, AT_LEAST_0, IS_0, NOT_0 } relation;

/* What a comparison says of a polynomial. */
static relation meaning(checker *c, const state *s, uint32_t number, poly *p)
{
    if (number >= s->hyps.len)
        return reject(c, "there is no such hypothesis"), NONE;
    hypothesis h = s->hyps.at[number];
    tp_expr_node n = *tp_expr_get(c->p, h.e);
    poly one = constant(c, 1);
    if (n.op < TP_E_EQ || n.op > TP_E_GE)
        return NONE;
    poly a = poly_of(c, s, n.a), b = poly_of(c, s, n.b);
    if (n.op == TP_E_EQ || n.op == TP_E_NE) {
        *p = plus(c, &a, &b, -1);
        return (n.op == TP_E_EQ) != h.negated ? IS_0 : NOT_0;
    }
    bool less = (n.op == TP_E_LT || n.op == TP_E_LE) != h.negated;           /* else a is the larger one */
    bool strict = (n.op == TP_E_LT || n.op == TP_E_GT) != h.negated;         /* not (a < b) is a >= b */
    *p = less ? plus(c, &b, &a, -1) : plus(c, &a, &b, -1);
    if (strict)
        *p = plus(c, p, &one, -1);
    return AT_LEAST_0;
}

static bool absurd(checker *c, const state *s, uint32_t number)
{
    int64_t v;
    poly p = {0};
    relation r = meaning(c, s, number, &p);
    if (!c->ok)
        return false;
    if (r == NONE) /* true or false, written out */
        return (tp_expr_is_const(c->p, s->hyps.at[number].e, &v) && (v != 0) == s->hyps.at[number].negated) ||
               reject(c, "the hypothesis is not absurd");
    mpz_srcptr z = value(c, &p);
    bool is = z && (r == AT_LEAST_0 ? mpz_sgn(z) < 0 : (r == IS_0) == (mpz_sgn(z) != 0));
    return is || reject(c, "the hypothesis is not absurd");
}

/* ---- lines ---- */

static const tp_var *variable(const state *s, uint32_t sym)
{
    for (uint32_t i = 0; i < s->nvars; i++)
        if (s->vars[i].sym == sym)
            return &s->vars[i];
    return NULL;
}

static bool bound(checker *c, const state *s, const tp_line *l, poly *out)
{
    const tp_var *x = variable(s, l->number);
    bool lower = l->rule == TP_LINE_LOWER;
    if (!x || !(lower ? x->lo.id : x->hi.id))
        return reject(c, "the variable has no such bound");
    poly b = poly_of(c, s, lower ? x->lo : x->hi), v = poly_of(c, s, tp_sym(c->p, x->sym));
    *out = lower ? plus(c, &v, &b, -1) : plus(c, &b, &v, -1);
    return true;
}

/* q = a // b: 0 <= a - b*q <= b - 1; cdiv likewise with b*q - a; m = a % b:
 * 0 <= m <= b - 1; u = align_up(a, b): 0 <= u - a <= b - 1; each for b >= 1. */
static bool definition(checker *c, const state *s, const tp_line *l, const poly *positive, poly *out)
{
    tp_expr_node n = *tp_expr_get(c->p, l->e);
    if (!l->e.id || l->side > 1)
        return reject(c, "no inequality of that number");
    poly e = poly_of(c, s, l->e), a = poly_of(c, s, n.a), b = poly_of(c, s, n.b), one = constant(c, 1), x = {0};
    poly b_1 = plus(c, &b, &one, -1);
    bool upper = l->side == 1;
    switch (n.op) {
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
    case TP_E_MOD:
    case TP_E_ALIGN_UP: {
        if (!positive || !same(positive, &b_1))
            return reject(c, "the divisor is not known to be at least 1");
        poly bq = times(c, &b, &e);
        x = n.op == TP_E_FLOORDIV ? plus(c, &a, &bq, -1)
            : n.op == TP_E_CDIV   ? plus(c, &bq, &a, -1)
            : n.op == TP_E_MOD    ? e
                                  : plus(c, &e, &a, -1);
        *out = upper ? plus(c, &b_1, &x, -1) : x;
        return true;
    }
    case TP_E_MIN: *out = plus(c, upper ? &b : &a, &e, -1); return true;
    case TP_E_MAX: *out = plus(c, &e, upper ? &b : &a, -1); return true;
    case TP_E_POW2: *out = plus(c, &e, upper ? &a : &one, -1); return true;
    default: break;
    }
    if (!tp_expr_is_bool(c->p, l->e))
        return reject(c, "the operation has no such property");
    *out = upper ? plus(c, &one, &e, -1) : e;
    return true;
}

static bool derive(checker *c, const state *s, const tp_line *l, const poly *lines, uint32_t number, poly *out)
{
    const poly *ref[4] = {NULL, NULL, NULL, NULL};
    poly one = constant(c, 1), zero = {0}, f, g;
    relation r;
    for (int i = 0; i < 4; i++)
        if (l->refs[i] >= number)
            return reject(c, "a line refers to a later one");
        else if (l->refs[i])
            ref[i] = &lines[l->refs[i]];
    bool two = ref[0] && ref[1];
    switch (l->rule) {
    case TP_LINE_FACT:
        r = meaning(c, s, l->number, out);
        if (r == IS_0 && l->side)
            *out = plus(c, &zero, out, -1);
        return r == IS_0 || (r == AT_LEAST_0 && !l->side) || reject(c, "the hypothesis is no such fact");
    case TP_LINE_LOWER:
    case TP_LINE_UPPER: return bound(c, s, l, out);
    case TP_LINE_DEFINITION: return definition(c, s, l, ref[0], out);
    case TP_LINE_SUM:
        *out = zero;
        for (uint32_t i = 0; i < l->nproducts; i++) {
            const tp_product *t = &l->products[i];
            poly product = constant(c, t->coef);
            if (t->coef < 0 || t->n > TP_POLY_MAX_DEGREE + 1)
                return reject(c, "a coefficient is negative");
            for (uint32_t k = 0; k < t->n; k++) {
                if (t->refs[k] == 0 || t->refs[k] >= number)
                    return reject(c, "a line refers to a later one");
                product = times(c, &product, &lines[t->refs[k]]);
            }
            *out = plus(c, out, &product, 1);
        }
        return true;
    case TP_LINE_CANCEL: { /* f >= 1 and f*e >= c: e >= 0, and e >= 1 when c > 0 */
        if (!two)
            break;
        poly e = poly_of(c, s, l->e);
        f = plus(c, ref[1], &one, 1);
        g = times(c, &f, &e);
        g = plus(c, &g, ref[0], -1);
        mpz_srcptr k = value(c, &g);
        if (!k || mpz_sgn(k) < 0)
            return reject(c, "the factor does not cancel");
        *out = mpz_sgn(k) > 0 ? plus(c, &e, &one, -1) : e;
        return true;
    }
    case TP_LINE_ENDS: { /* f <= 0: P = A + (-f)*Y; f >= 0: P = B + f*X */
        if (!two || !ref[2] || !ref[3])
            break;
        f = poly_of(c, s, l->factor);
        poly fx = times(c, &f, ref[2]), fy = times(c, &f, ref[3]);
        *out = plus(c, ref[0], &fy, -1);
        g = plus(c, ref[1], &fx, 1);
        return same(out, &g) || reject(c, "the two ends are not of one polynomial");
    }
    case TP_LINE_CASES: { /* m is a or b: P is A or B */
        tp_expr_node n = *tp_expr_get(c->p, l->e);
        bool ite = n.op == TP_E_ITE;
        if (!two || (!ite && n.op != TP_E_MIN && n.op != TP_E_MAX))
            break;
        poly m = poly_of(c, s, l->e), a = poly_of(c, s, ite ? n.b : n.a), b = poly_of(c, s, ite ? n.c : n.b);
        f = poly_of(c, s, l->factor);
        a = plus(c, &a, &m, -1);
        a = times(c, &f, &a);
        b = plus(c, &b, &m, -1);
        b = times(c, &f, &b);
        *out = plus(c, ref[0], &a, -1);
        g = plus(c, ref[1], &b, -1);
        return same(out, &g) || reject(c, "the two cases are not of one polynomial");
    }
    case TP_LINE_RULES: break;
    }
    return reject(c, "a line is incomplete");
}

static bool check_lines(checker *c, const state *s, const tp_proof *proof)
{
    poly *lines = TP_NEWN(c->arena, poly, (size_t)proof->nlines + 1);
    for (uint32_t i = 1; i <= proof->nlines; i++)
        if (!derive(c, s, &proof->lines[i - 1], lines, i, &lines[i]))
            return false;
    mpz_srcptr last = proof->nlines ? value(c, &lines[proof->nlines]) : NULL;
    return (last && mpz_sgn(last) < 0) || reject(c, "the last line is not a contradiction");
}

/* ---- nodes ---- */

static bool check(checker *c, const state *s, const tp_proof *proof);

static bool mentioned(const checker *c, const state *s, uint32_t sym)
{
    bool yes = false;
    for (uint32_t i = 0; i < s->hyps.len; i++)
        yes |= tp_expr_mentions(c->p, s->hyps.at[i].e, sym);
    for (uint32_t i = 0; i < s->nvars; i++)
        yes |= s->vars[i].sym == sym || tp_expr_mentions(c->p, s->vars[i].lo, sym) ||
               tp_expr_mentions(c->p, s->vars[i].hi, sym);
    return yes;
}

/* s with `by` in the place of a symbol; the symbol's own variable stays behind. */
static state substituted(checker *c, const state *s, uint32_t sym, tp_expr by, const tp_var *own)
{
    uint32_t n = tp_sym_count(c->p);
    tp_expr *with = TP_NEWN(c->arena, tp_expr, n);
    state r = {.vars = TP_NEWN(c->arena, tp_var, s->nvars + 1), .with = s->with, .nwith = s->nwith};
    with[sym] = by;
    spend(c, s->nvars + s->hyps.len);
    for (uint32_t i = 0; i < s->nvars; i++) {
        tp_var x = s->vars[i];
        if (x.sym == sym) {
            if (own)
                r.vars[r.nvars++] = *own;
            continue;
        }
        x.lo = tp_expr_subst(c->p, x.lo, with, n);
        x.hi = tp_expr_subst(c->p, x.hi, with, n);
        r.vars[r.nvars++] = x;
    }
    for (uint32_t i = 0; i < s->hyps.len; i++) {
        hypothesis h = s->hyps.at[i];
        h.e = tp_expr_subst(c->p, h.e, with, n);
        tp_push(c->arena, r.hyps, h);
    }
    return r;
}

static bool check_choices(checker *c, const state *s, const tp_proof *proof)
{
    const tp_var *x = variable(s, proof->number);
    if (!x || !x->choices || x->nchoices != proof->nkids)
        return reject(c, "the variable has not as many choices");
    for (uint32_t i = 0; i < proof->nkids; i++) {
        state kid = substituted(c, s, x->sym, tp_const(c->p, x->choices[i]), NULL);
        if (!check(c, &kid, proof->kids[i]))
            return false;
    }
    return true;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y) {
        int64_t r = x % y;
        x = y;
        y = r;
    }
    return a / x > TP_SIZE_MAX / b ? a : a / x * b;
}

/* x is a multiple of f, as declared or by hypotheses x % m == 0: x = f*k, and
 * lo <= f*k <= hi is cdiv(lo, f) <= k <= hi // f. */
static bool check_multiple(checker *c, const state *s, const tp_proof *proof)
{
    const tp_var *x = variable(s, proof->number);
    int64_t f = proof->factor, known = x ? x->multiple_of : 1, m, zero;
    if (!x || x->choices || f < 2 || proof->nkids != 1 || mentioned(c, s, proof->sym) ||
        proof->sym >= tp_sym_count(c->p))
        return reject(c, "the variable cannot be divided");
    for (uint32_t i = 0; i < s->hyps.len; i++) {
        const tp_expr_node *e = tp_expr_get(c->p, s->hyps.at[i].e), *l = tp_expr_get(c->p, e->a);
        if (!s->hyps.at[i].negated && e->op == TP_E_EQ && l->op == TP_E_MOD && tp_expr_is_const(c->p, e->b, &zero) &&
            zero == 0 && tp_same(l->a, tp_sym(c->p, x->sym)) && tp_expr_is_const(c->p, l->b, &m) && m >= 1 &&
            m <= TP_SIZE_MAX)
            known = common_multiple(known, m);
    }
    if (known % f != 0)
        return reject(c, "nothing says that the variable is such a multiple");
    tp_expr k = tp_sym(c->p, proof->sym), factor = tp_const(c->p, f);
    tp_var own = {.sym = proof->sym,
                  .lo = x->lo.id ? tp_op2(c->p, TP_E_CDIV, x->lo, factor) : x->lo,
                  .hi = x->hi.id ? tp_op2(c->p, TP_E_FLOORDIV, x->hi, factor) : x->hi,
                  .multiple_of = 1,
                  .step = x->step};
    state kid = substituted(c, s, x->sym, tp_op2(c->p, TP_E_MUL, factor, k), &own);
    return check(c, &kid, proof->kids[0]);
}

static bool check_let(checker *c, const state *s, const tp_proof *proof)
{
    poly p = {0};
    if (proof->nkids != 1 || proof->sym >= tp_sym_count(c->p) || meaning(c, s, proof->number, &p) != IS_0)
        return reject(c, "the hypothesis is no equation");
    poly v = poly_of(c, s, tp_sym(c->p, proof->sym)), by = poly_of(c, s, proof->value);
    poly difference = plus(c, &v, &by, -1), sum = plus(c, &difference, &p, 1);
    difference = plus(c, &difference, &p, -1);
    if (sum.len && difference.len)
        return reject(c, "the equation says something else");
    /* The symbol must be gone from what replaces it: else there is no end. */
    state kid = *s;
    kid.nwith = tp_sym_count(c->p);
    kid.with = TP_NEWN(c->arena, tp_expr, kid.nwith);
    for (uint32_t i = 0; i < s->nwith; i++)
        kid.with[i] = s->with[i];
    tp_expr put = tp_expr_subst(c->p, proof->value, kid.with, kid.nwith);
    if (kid.with[proof->sym].id || tp_expr_mentions(c->p, put, proof->sym))
        return reject(c, "the symbol is defined by itself");
    tp_expr *only = TP_NEWN(c->arena, tp_expr, kid.nwith);
    only[proof->sym] = put;
    for (uint32_t i = 0; i < kid.nwith; i++)
        kid.with[i] = tp_expr_subst(c->p, kid.with[i], only, kid.nwith);
    kid.with[proof->sym] = put;
    return check(c, &kid, proof->kids[0]);
}

static bool check_split(checker *c, const state *s, const tp_proof *proof)
{
    hypothesis arm[2];
    if (proof->number >= s->hyps.len || proof->nkids != 2 || arms(c, s->hyps.at[proof->number], false, arm) != 2)
        return reject(c, "the hypothesis is no disjunction");
    for (int i = 0; i < 2; i++) {
        state kid = *s;
        kid.hyps.at = TP_NEWN(c->arena, hypothesis, s->hyps.len + 1);
        kid.hyps.cap = s->hyps.len + 1;
        memcpy(kid.hyps.at, s->hyps.at, s->hyps.len * sizeof *s->hyps.at);
        assume(c, &kid, arm[i]);
        if (!check(c, &kid, proof->kids[i]))
            return false;
    }
    return true;
}

/* Is every symbol of e a variable? */
static bool bounded(checker *c, const state *s, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(c->p, e);
    spend(c, 1);
    if (!e.id || n.op == TP_E_CONST)
        return true;
    return n.op == TP_E_SYM ? variable(s, (uint32_t)n.value) != NULL
                            : bounded(c, s, n.a) && bounded(c, s, n.b) && bounded(c, s, n.c);
}

/* Some hypothesis fails at every point; without a value, it says nothing. */
static bool check_points(checker *c, const state *s, uint32_t i, int64_t *env)
{
    int64_t v, lo, hi;
    if (i == s->nvars) {
        spend(c, 8);
        bool all = true;
        for (uint32_t k = 0; k < s->hyps.len && all; k++)
            all = tp_expr_eval(c->p, s->hyps.at[k].e, env, &v) == TP_EVAL_OK && (v != 0) != s->hyps.at[k].negated;
        return !all || reject(c, "a case contradicts the claim");
    }
    const tp_var *x = &s->vars[i];
    spend(c, 1);
    if (!x->lo.id || !x->hi.id || tp_expr_eval(c->p, x->lo, env, &lo) != TP_EVAL_OK ||
        tp_expr_eval(c->p, x->hi, env, &hi) != TP_EVAL_OK)
        return reject(c, "a variable has no bounds to enumerate");
    int64_t n = x->choices ? (int64_t)x->nchoices : hi < lo ? 0 : hi / 2 - lo / 2 > MAX_POINTS ? MAX_POINTS + 1 : hi - lo + 1;
    if (n > MAX_POINTS)
        return reject(c, "there are too many cases to evaluate");
    for (int64_t k = 0; k < n; k++) {
        env[x->sym] = x->choices ? x->choices[k] : lo + k;
        if (env[x->sym] % x->multiple_of == 0 && !check_points(c, s, i + 1, env))
            return false;
    }
    return true;
}

static bool check(checker *c, const state *s, const tp_proof *proof)
{
    bool ok = false;
    spend(c, 1);
    if (!proof || ++c->depth > MAX_NODES_DEEP)
        return reject(c, "the proof is incomplete");
    switch (proof->kind) {
    case TP_PROOF_CHOICES: ok = check_choices(c, s, proof); break;
    case TP_PROOF_MULTIPLE: ok = check_multiple(c, s, proof); break;
    case TP_PROOF_REFUTE: {
        state kid = *s;
        kid.hyps.at = NULL;
        kid.hyps.len = kid.hyps.cap = 0;
        for (uint32_t i = 0; i < s->hyps.len; i++)
            assume(c, &kid, s->hyps.at[i]);
        ok = proof->nkids == 1 ? check(c, &kid, proof->kids[0]) : reject(c, "the proof is incomplete");
        break;
    }
    case TP_PROOF_SPLIT: ok = check_split(c, s, proof); break;
    case TP_PROOF_LET: ok = check_let(c, s, proof); break;
    case TP_PROOF_LINES: ok = check_lines(c, s, proof); break;
    case TP_PROOF_ABSURD: ok = absurd(c, s, proof->number); break;
    case TP_PROOF_POINTS:
        ok = s->nwith ? reject(c, "cases are evaluated before equations are put in") : true;
        for (uint32_t i = 0; i < s->hyps.len && ok; i++)
            ok = bounded(c, s, s->hyps.at[i].e) || reject(c, "a symbol has no bounds to enumerate");
        ok = ok && check_points(c, s, 0, TP_NEWN(c->arena, int64_t, tp_sym_count(c->p)));
        break;
    case TP_PROOF_KINDS: ok = reject(c, "no such step"); break;
    }
    c->depth--;
    return ok;
}

static void check_all(void *arg)
{
    checker *c = arg;
    state s = {.vars = TP_NEWN(c->arena, tp_var, c->o->nvars + 1), .nvars = c->o->nvars};
    for (uint32_t i = 0; i < c->o->nvars; i++)
        s.vars[i] = c->o->vars[i];
    for (uint32_t i = 0; i < c->o->npremises; i++)
        tp_push(c->arena, s.hyps, (hypothesis){c->o->premises[i], false});
    tp_push(c->arena, s.hyps, (hypothesis){c->o->goal, true});
    check(c, &s, c->proof);
}

bool tp_check_proof(tp_exprs *p, const tp_obligation *o, const tp_proof *proof, tp_str *why)
{
    tp_arena *parent = tp_exprs_arena(p), *arena = tp_arena_child(parent);
    checker c = {.arena = arena, .p = p, .o = o, .proof = proof, .ok = true};
    tp_status st = tp_try(arena, check_all, &c);
    for (uint32_t i = 0; i < c.numbers.len; i++)
        mpz_clear(c.numbers.at[i]);
    tp_arena_free(arena);
    if (st == TP_E_MEMORY)
        tp_leave(parent, st);
    if (why)
        *why = tp_str_c(c.why ? c.why : "");
    return st == TP_OK && c.ok;
}
