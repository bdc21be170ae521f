/* The checker of proofs (proof.h): the file to read, with bigpoly.c and
 * points.c, for whoever wants to believe a `proven (cert)`. Nothing is searched
 * here. docs/CERTIFICATES.md states every rule with its side conditions.
 *
 * Expressions of the obligation and of the proof are copied into a pool of the
 * checker's own when they are looked at: own().
 */
#include "base/checked.h"
#include "smt/trust/check.h"

enum { MAX_WORK = 4000000, MAX_NODES_DEEP = 400, MAX_FACTOR = 1 << 30 };

typedef struct tp_checker checker;
typedef struct tp_hypothesis hypothesis;
typedef struct tp_check_state state;

static bool reject(checker *c, const char *why)
{
    return tp_check_reject(c, tp_str_c(why));
}

bool tp_check_reject(checker *c, tp_str why)
{
    if (!c->why.n)
        c->why = why;
    return c->ok = false;
}

static tp_bigpoly poly_of(checker *c, const state *s, tp_expr e)
{
    return tp_big_of(&c->big, e, s->with, s->nwith);
}

static tp_expr own(checker *c, tp_expr e)
{
    return tp_own_copy(&c->own, e);
}

/* ---- words ---- */

static void say_text(checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say_text(checker *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_buf_vprintf(c->text, fmt, ap);
    va_end(ap);
}

/* Words are made only for whoever reads them. */
#define say(c, ...) ((c)->text ? say_text((c), __VA_ARGS__) : (void)0)

static void say_line(checker *c, const tp_line *l, uint32_t number, const tp_bigpoly *p)
{
    static const char *const BECAUSE[] = {"hypothesis", "lower bound", "upper bound", "definition",
                                          "sum",        "cancelled",   "both ends",   "either case"};
    if (!c->text)
        return;
    say(c, "%*s%3u  ", 2 * c->depth, "", number);
    tp_big_print(c->text, &c->big, p);
    say(c, " >= 0  [%s", BECAUSE[l->rule]);
    if (l->rule == TP_LINE_FACT)
        say(c, " %u", l->number);
    for (int i = 0; i < 4 && l->refs[i]; i++)
        say(c, "%s%u", i ? ", " : " of ", l->refs[i]);
    for (uint32_t i = 0; i < l->nproducts; i++) {
        const tp_product *t = &l->products[i];
        say(c, "%s", i ? " + " : ": ");
        if (t->coef != 1 || t->n == 0)
            say(c, "%lld%s", (long long)t->coef, t->n ? "*" : "");
        for (uint32_t k = 0; k < t->n; k++)
            say(c, "%s(%u)", k ? "*" : "", t->refs[k]);
    }
    say(c, "]\n");
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
    if (n.op == (h.negated ? TP_E_EQ : TP_E_NE) && !conjunction) {
        arm[0] = (hypothesis){tp_op2(c->p, TP_E_LT, n.a, n.b), false};
        arm[1] = (hypothesis){tp_op2(c->p, TP_E_GT, n.a, n.b), false};
        return 2;
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
    tp_bigs_spend(&c->big, 1);
    while (tp_expr_get(c->p, h.e)->op == TP_E_NOT)
        h = (hypothesis){tp_expr_get(c->p, h.e)->a, !h.negated};
    if (arms(c, h, true, arm)) {
        assume(c, s, arm[0]);
        assume(c, s, arm[1]);
    } else {
        tp_push(c->arena, s->hyps, h);
        say(c, "%*sh%u: %s%.*s%s\n", 2 * c->depth, "", s->hyps.len - 1, h.negated ? "not (" : "",
            TP_FMT(tp_expr_text(c->p, h.e)), h.negated ? ")" : "");
    }
}

typedef enum relation { NONE, AT_LEAST_0, IS_0, NOT_0 } relation;

/* What a comparison says of a polynomial. */
static relation meaning(checker *c, const state *s, uint32_t number, tp_bigpoly *p)
{
    if (number >= s->hyps.len)
        return reject(c, "there is no such hypothesis"), NONE;
    hypothesis h = s->hyps.at[number];
    tp_expr_node n = *tp_expr_get(c->p, h.e);
    if (n.op < TP_E_EQ || n.op > TP_E_GE)
        return NONE;
    tp_bigpoly a = poly_of(c, s, n.a), b = poly_of(c, s, n.b);
    if (n.op == TP_E_EQ || n.op == TP_E_NE) {
        *p = tp_big_plus(&c->big, &a, &b, -1);
        return (n.op == TP_E_EQ) != h.negated ? IS_0 : NOT_0;
    }
    bool less = (n.op == TP_E_LT || n.op == TP_E_LE) != h.negated;   /* else a is the larger one */
    bool strict = (n.op == TP_E_LT || n.op == TP_E_GT) != h.negated; /* not (a < b) is a >= b */
    *p = less ? tp_big_plus(&c->big, &b, &a, -1) : tp_big_plus(&c->big, &a, &b, -1);
    if (strict)
        *p = tp_big_plus(&c->big, p, &c->one, -1);
    return AT_LEAST_0;
}

static bool absurd(checker *c, const state *s, uint32_t number)
{
    int64_t v;
    tp_bigpoly p = {0};
    relation r = meaning(c, s, number, &p);
    if (!c->ok)
        return false;
    if (r == NONE) /* true or false, written out */
        return (tp_expr_is_const(c->p, s->hyps.at[number].e, &v) && (v != 0) == s->hyps.at[number].negated) ||
               reject(c, "the hypothesis is not absurd");
    mpz_srcptr z = tp_big_value(&c->big, &p);
    bool is = z && (r == AT_LEAST_0 ? mpz_sgn(z) < 0 : (r == IS_0) == (mpz_sgn(z) != 0));
    return is || reject(c, "the hypothesis is not absurd");
}

/* ---- lines ---- */

/* The variable of a symbol that the proof names. */
static const tp_var *variable(checker *c, const state *s, uint32_t named)
{
    uint32_t sym;
    return tp_own_symbol(&c->own, named, &sym) ? tp_check_variable(s, sym) : NULL;
}

static bool bound(checker *c, const state *s, const tp_line *l, tp_bigpoly *out)
{
    const tp_var *x = variable(c, s, l->number);
    bool lower = l->rule == TP_LINE_LOWER;
    if (!x || !(lower ? x->lo.id : x->hi.id))
        return reject(c, "the variable has no such bound");
    tp_bigpoly b = poly_of(c, s, lower ? x->lo : x->hi), v = poly_of(c, s, tp_sym(c->p, x->sym));
    *out = lower ? tp_big_plus(&c->big, &v, &b, -1) : tp_big_plus(&c->big, &b, &v, -1);
    return true;
}

/* q = a // b: 0 <= a - b*q <= b - 1; cdiv likewise with b*q - a; m = a % b:
 * 0 <= m <= b - 1; each for b >= 1. */
static bool definition(checker *c, const state *s, const tp_line *l, const tp_bigpoly *positive, tp_bigpoly *out)
{
    tp_expr whole = own(c, l->e);
    tp_expr_node n = *tp_expr_get(c->p, whole);
    if (!whole.id || l->side > 1)
        return reject(c, "no inequality of that number");
    tp_bigpoly e = poly_of(c, s, whole), a = poly_of(c, s, n.a), b = poly_of(c, s, n.b), x = {0};
    tp_bigpoly b_1 = tp_big_plus(&c->big, &b, &c->one, -1);
    bool upper = l->side == 1;
    switch (n.op) {
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
    case TP_E_MOD: {
        if (!positive || !tp_big_same(positive, &b_1))
            return reject(c, "the divisor is not known to be at least 1");
        tp_bigpoly bq = tp_big_times(&c->big, &b, &e);
        x = n.op == TP_E_FLOORDIV ? tp_big_plus(&c->big, &a, &bq, -1)
            : n.op == TP_E_CDIV   ? tp_big_plus(&c->big, &bq, &a, -1)
                                  : e;
        *out = upper ? tp_big_plus(&c->big, &b_1, &x, -1) : x;
        return true;
    }
    case TP_E_MIN: *out = tp_big_plus(&c->big, upper ? &b : &a, &e, -1); return true;
    case TP_E_MAX: *out = tp_big_plus(&c->big, &e, upper ? &b : &a, -1); return true;
    case TP_E_POW2: *out = tp_big_plus(&c->big, &e, upper ? &a : &c->one, -1); return true;
    case TP_E_ALIGN_UP:
    case TP_E_ITE:
    case TP_E_LEAVES:
    case TP_E_RING:
    case TP_E_BITS:
    case TP_E_CONNECTIVES:
    case TP_E_COMPARISONS: break;
    }
    if (!tp_expr_is_bool(c->p, whole))
        return reject(c, "the operation has no such property");
    *out = upper ? tp_big_plus(&c->big, &c->one, &e, -1) : e;
    return true;
}

static bool derive(checker *c, const state *s, const tp_line *l, const tp_bigpoly *lines, uint32_t number,
                   tp_bigpoly *out)
{
    const tp_bigpoly *ref[4] = {NULL, NULL, NULL, NULL};
    tp_bigpoly zero = {0}, f, g;
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
            *out = tp_big_plus(&c->big, &zero, out, -1);
        return r == IS_0 || (r == AT_LEAST_0 && !l->side) || reject(c, "the hypothesis is no such fact");
    case TP_LINE_LOWER:
    case TP_LINE_UPPER: return bound(c, s, l, out);
    case TP_LINE_DEFINITION: return definition(c, s, l, ref[0], out);
    case TP_LINE_SUM:
        *out = zero;
        for (uint32_t i = 0; i < l->nproducts; i++) {
            const tp_product *t = &l->products[i];
            tp_bigpoly product = tp_big_constant(&c->big, t->coef);
            if (t->coef < 0 || t->n > TP_POLY_MAX_DEGREE + 1)
                return reject(c, "a coefficient is negative");
            for (uint32_t k = 0; k < t->n; k++) {
                if (t->refs[k] == 0 || t->refs[k] >= number)
                    return reject(c, "a line refers to a later one");
                product = tp_big_times(&c->big, &product, &lines[t->refs[k]]);
            }
            *out = tp_big_plus(&c->big, out, &product, 1);
        }
        return true;
    case TP_LINE_CANCEL: { /* f >= 1 and f*e >= c: e >= 0, and e >= 1 when c > 0 */
        if (!two)
            break;
        tp_bigpoly e = poly_of(c, s, own(c, l->e));
        f = tp_big_plus(&c->big, ref[1], &c->one, 1);
        g = tp_big_times(&c->big, &f, &e);
        g = tp_big_plus(&c->big, &g, ref[0], -1);
        mpz_srcptr k = tp_big_value(&c->big, &g);
        if (!k || mpz_sgn(k) < 0)
            return reject(c, "the factor does not cancel");
        *out = mpz_sgn(k) > 0 ? tp_big_plus(&c->big, &e, &c->one, -1) : e;
        return true;
    }
    case TP_LINE_ENDS: { /* f <= 0: P = A + (-f)*Y; f >= 0: P = B + f*X */
        if (!two || !ref[2] || !ref[3])
            break;
        f = poly_of(c, s, own(c, l->factor));
        tp_bigpoly fx = tp_big_times(&c->big, &f, ref[2]), fy = tp_big_times(&c->big, &f, ref[3]);
        *out = tp_big_plus(&c->big, ref[0], &fy, -1);
        g = tp_big_plus(&c->big, ref[1], &fx, 1);
        return tp_big_same(out, &g) || reject(c, "the two ends are not of one polynomial");
    }
    case TP_LINE_CASES: { /* m is a or b: P is A or B */
        tp_expr whole = own(c, l->e);
        tp_expr_node n = *tp_expr_get(c->p, whole);
        bool ite = n.op == TP_E_ITE;
        if (!two || (!ite && n.op != TP_E_MIN && n.op != TP_E_MAX))
            break;
        tp_bigpoly m = poly_of(c, s, whole), a = poly_of(c, s, ite ? n.b : n.a), b = poly_of(c, s, ite ? n.c : n.b);
        f = poly_of(c, s, own(c, l->factor));
        a = tp_big_plus(&c->big, &a, &m, -1);
        a = tp_big_times(&c->big, &f, &a);
        b = tp_big_plus(&c->big, &b, &m, -1);
        b = tp_big_times(&c->big, &f, &b);
        *out = tp_big_plus(&c->big, ref[0], &a, -1);
        g = tp_big_plus(&c->big, ref[1], &b, -1);
        return tp_big_same(out, &g) || reject(c, "the two cases are not of one polynomial");
    }
    case TP_LINE_RULES: break;
    }
    return reject(c, "a line is incomplete");
}

static bool check_lines(checker *c, const state *s, const tp_proof *proof)
{
    tp_bigpoly *lines = TP_NEWN(c->arena, tp_bigpoly, (size_t)proof->nlines + 1);
    for (uint32_t i = 1; i <= proof->nlines; i++)
        if (derive(c, s, &proof->lines[i - 1], lines, i, &lines[i]))
            say_line(c, &proof->lines[i - 1], i, &lines[i]);
        else
            return false;
    mpz_srcptr last = proof->nlines ? tp_big_value(&c->big, &lines[proof->nlines]) : NULL;
    return (last && mpz_sgn(last) < 0) || reject(c, "the last line is not a contradiction");
}

/* ---- nodes ---- */

static bool check(checker *c, const state *s, const tp_proof *proof);

/* Does anything that is known, or put in, speak of the symbol? */
static bool is_mentioned(checker *c, const state *s, uint32_t sym)
{
    bool yes = sym < s->nwith && s->with[sym].id;
    for (uint32_t i = 0; i < s->hyps.len; i++)
        yes |= tp_expr_mentions(c->p, s->hyps.at[i].e, sym);
    for (uint32_t i = 0; i < s->nvars; i++)
        yes |= s->vars[i].sym == sym || tp_expr_mentions(c->p, s->vars[i].lo, sym) ||
               tp_expr_mentions(c->p, s->vars[i].hi, sym);
    for (uint32_t i = 0; i < s->nwith; i++)
        yes |= tp_expr_mentions(c->p, s->with[i], sym);
    return yes;
}

/* A new symbol: one that nothing mentions. */
static bool fresh(checker *c, const state *s, uint32_t named, uint32_t *sym)
{
    tp_bigs_spend(&c->big, s->nvars + s->nwith + s->hyps.len);
    for (uint32_t i = 0; i < s->hyps.len; i++)
        tp_bigs_spend(&c->big, tp_expr_size(c->p, s->hyps.at[i].e) / 16);
    if (!tp_own_symbol(&c->own, named, sym) || is_mentioned(c, s, *sym))
        return reject(c, "the new symbol is not new");
    return true;
}

/* s with `by` in the place of a symbol; the symbol's own variable stays behind. */
static state substitute(checker *c, const state *s, uint32_t sym, tp_expr by, const tp_var *own)
{
    uint32_t n = tp_sym_count(c->p);
    tp_expr *with = TP_NEWN(c->arena, tp_expr, n);
    state r = {.vars = TP_NEWN(c->arena, tp_var, s->nvars + 1), .with = s->with, .nwith = s->nwith};
    with[sym] = by;
    tp_bigs_spend(&c->big, s->nvars + s->hyps.len);
    for (uint32_t i = 0; i < s->hyps.len; i++)
        tp_bigs_spend(&c->big, tp_expr_size(c->p, s->hyps.at[i].e) / 16);
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
    const tp_var *x = variable(c, s, proof->number);
    if (!x || !x->choices || !x->nchoices || x->nchoices != proof->nkids)
        return reject(c, "the variable has not as many choices");
    for (uint32_t i = 0; i < proof->nkids; i++) {
        state kid = substitute(c, s, x->sym, tp_const(c->p, x->choices[i]), NULL);
        say(c, "%*scase %.*s = %lld\n", 2 * c->depth, "", TP_FMT(tp_sym_name(c->p, x->sym)), (long long)x->choices[i]);
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
    return a / x > MAX_FACTOR / b ? a : a / x * b;
}

/* x is a multiple of f, as declared or by hypotheses x % m == 0: x = f*k, and
 * lo <= f*k <= hi is cdiv(lo, f) <= k <= hi // f. */
static bool check_multiple(checker *c, const state *s, const tp_proof *proof)
{
    const tp_var *x = variable(c, s, proof->number);
    int64_t f = proof->factor, known = x ? x->multiple_of : 1, m, zero;
    uint32_t sym;
    if (!x || x->choices || f < 2 || proof->nkids != 1)
        return reject(c, "the variable cannot be divided");
    if (!fresh(c, s, proof->sym, &sym))
        return false;
    for (uint32_t i = 0; i < s->hyps.len; i++) {
        const tp_expr_node *e = tp_expr_get(c->p, s->hyps.at[i].e), *l = tp_expr_get(c->p, e->a);
        if (!s->hyps.at[i].negated && e->op == TP_E_EQ && l->op == TP_E_MOD && tp_expr_is_const(c->p, e->b, &zero) &&
            zero == 0 && tp_same(l->a, tp_sym(c->p, x->sym)) && tp_expr_is_const(c->p, l->b, &m) && m >= 1 &&
            m <= MAX_FACTOR)
            known = common_multiple(known, m);
    }
    if (known % f != 0)
        return reject(c, "nothing says that the variable is such a multiple");
    tp_expr k = tp_sym(c->p, sym), factor = tp_const(c->p, f);
    tp_var part = {.sym = sym,
                   .lo = x->lo.id ? tp_op2(c->p, TP_E_CDIV, x->lo, factor) : x->lo,
                   .hi = x->hi.id ? tp_op2(c->p, TP_E_FLOORDIV, x->hi, factor) : x->hi,
                   .multiple_of = 1,
                   .step = x->step};
    state kid = substitute(c, s, x->sym, tp_op2(c->p, TP_E_MUL, factor, k), &part);
    say(c, "%*s%.*s = %lld * %.*s\n", 2 * c->depth, "", TP_FMT(tp_sym_name(c->p, x->sym)), (long long)f,
        TP_FMT(tp_sym_name(c->p, sym)));
    return check(c, &kid, proof->kids[0]);
}

/* x % t == 0 is a hypothesis, x >= lo >= 0 and t >= 1: x = t*k with k >= 0,
 * k >= 1 when lo >= 1, and k <= x <= hi. */
static bool check_divided(checker *c, const state *s, const tp_proof *proof)
{
    const tp_var *x = variable(c, s, proof->number);
    tp_expr divisor = own(c, proof->value);
    const tp_expr_node *v = tp_expr_get(c->p, divisor);
    const tp_var *t = divisor.id && v->op == TP_E_SYM ? tp_check_variable(s, (uint32_t)v->value) : NULL;
    int64_t lo, hi, least;
    uint32_t sym;
    if (!x || !t || x == t || x->choices || proof->nkids != 1 || !tp_expr_is_const(c->p, x->lo, &lo) ||
        !tp_expr_is_const(c->p, x->hi, &hi) || !tp_expr_is_const(c->p, t->lo, &least) || lo < 0 || least < 1 ||
        s->hyps.len == 0)
        return reject(c, "the variable cannot be divided");
    if (!fresh(c, s, proof->sym, &sym))
        return false;
    tp_expr zero = tp_const(c->p, 0),
            fact = tp_op2(c->p, TP_E_EQ, tp_op2(c->p, TP_E_MOD, tp_sym(c->p, x->sym), divisor), zero);
    bool found = false;
    for (uint32_t i = 0; i < s->hyps.len; i++)
        found |= !s->hyps.at[i].negated && tp_same(s->hyps.at[i].e, fact);
    if (!found)
        return reject(c, "nothing says that the variable is such a multiple");
    tp_expr product = tp_op2(c->p, TP_E_MUL, divisor, tp_sym(c->p, sym));
    tp_var part = {.sym = sym, .lo = tp_const(c->p, lo >= 1), .hi = x->hi, .multiple_of = 1};
    state kid = substitute(c, s, x->sym, product, &part);
    hypothesis goal = kid.hyps.at[--kid.hyps.len]; /* stays the last */
    tp_push(c->arena, kid.hyps, (hypothesis){tp_op2(c->p, TP_E_GE, product, x->lo), false});
    tp_push(c->arena, kid.hyps, (hypothesis){tp_op2(c->p, TP_E_LE, product, x->hi), false});
    tp_push(c->arena, kid.hyps, goal);
    say(c, "%*s%.*s = %.*s\n", 2 * c->depth, "", TP_FMT(tp_sym_name(c->p, x->sym)),
        TP_FMT(tp_expr_text(c->p, product)));
    return check(c, &kid, proof->kids[0]);
}

/* What hypothesis e says of x alone: at least, or at most, a constant. */
static bool says(const checker *c, tp_expr e, const tp_var *x, bool upper, int64_t *bound)
{
    const tp_expr_node *n = tp_expr_get(c->p, e);
    if (!tp_same(n->a, tp_sym(c->p, x->sym)) || !tp_expr_is_const(c->p, n->b, bound))
        return false;
    if (n->op == TP_E_EQ || n->op == (upper ? TP_E_LE : TP_E_GE))
        return true;
    return n->op == (upper ? TP_E_LT : TP_E_GT) && tp_add(*bound, upper ? -1 : 1, bound);
}

static bool check_bound(checker *c, const state *s, const tp_proof *proof)
{
    const tp_var *x = variable(c, s, proof->number);
    bool found = false, upper = proof->side == 1;
    for (uint32_t i = 0; x && !x->choices && i < s->hyps.len && !found; i++) {
        int64_t bound;
        found = !s->hyps.at[i].negated && says(c, s->hyps.at[i].e, x, upper, &bound) &&
                (upper ? bound <= proof->factor : bound >= proof->factor);
    }
    if (!found || proof->nkids != 1 || proof->side > 1)
        return reject(c, "no hypothesis bounds the variable");
    state kid = *s;
    kid.vars = TP_NEWN(c->arena, tp_var, s->nvars);
    memcpy(kid.vars, s->vars, s->nvars * sizeof *s->vars);
    for (uint32_t i = 0; i < s->nvars; i++)
        if (s->vars[i].sym == x->sym)
            *(upper ? &kid.vars[i].hi : &kid.vars[i].lo) = tp_const(c->p, proof->factor);
    say(c, "%*s%.*s %s %lld\n", 2 * c->depth, "", TP_FMT(tp_sym_name(c->p, x->sym)),
        upper ? "<=" : ">=", (long long)proof->factor);
    return check(c, &kid, proof->kids[0]);
}

static bool check_let(checker *c, const state *s, const tp_proof *proof)
{
    tp_bigpoly p = {0};
    uint32_t sym;
    tp_expr value = own(c, proof->value);
    if (proof->nkids != 1 || !value.id || !tp_own_symbol(&c->own, proof->sym, &sym) ||
        meaning(c, s, proof->number, &p) != IS_0)
        return reject(c, "the hypothesis is no equation");
    tp_bigpoly v = poly_of(c, s, tp_sym(c->p, sym)), by = poly_of(c, s, value);
    tp_bigpoly difference = tp_big_plus(&c->big, &v, &by, -1), sum = tp_big_plus(&c->big, &difference, &p, 1);
    difference = tp_big_plus(&c->big, &difference, &p, -1);
    if (sum.len && difference.len)
        return reject(c, "the equation says something else");
    /* The symbol must be gone from what replaces it: else there is no end. */
    state kid = *s;
    kid.nwith = tp_sym_count(c->p);
    kid.with = TP_NEWN(c->arena, tp_expr, kid.nwith);
    for (uint32_t i = 0; i < s->nwith; i++)
        kid.with[i] = s->with[i];
    tp_expr put = tp_expr_subst(c->p, value, kid.with, kid.nwith);
    if (kid.with[sym].id || tp_expr_too_large(put) || tp_expr_mentions(c->p, put, sym))
        return reject(c, "the symbol is defined by itself");
    tp_expr *only = TP_NEWN(c->arena, tp_expr, kid.nwith);
    only[sym] = put;
    for (uint32_t i = 0; i < kid.nwith; i++) {
        tp_bigs_spend(&c->big, 1 + tp_expr_size(c->p, kid.with[i]) / 16);
        kid.with[i] = tp_expr_subst(c->p, kid.with[i], only, kid.nwith);
    }
    kid.with[sym] = put;
    say(c, "%*sby h%u, %.*s = %.*s\n", 2 * c->depth, "", proof->number, TP_FMT(tp_sym_name(c->p, sym)),
        TP_FMT(tp_expr_text(c->p, put)));
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
        say(c, "%*scase %d of h%u\n", 2 * c->depth, "", i + 1, proof->number);
        assume(c, &kid, arm[i]);
        if (!check(c, &kid, proof->kids[i]))
            return false;
    }
    return true;
}

static bool check(checker *c, const state *s, const tp_proof *proof)
{
    bool ok = false;
    tp_bigs_spend(&c->big, 1);
    if (!proof || ++c->depth > MAX_NODES_DEEP)
        return reject(c, "the proof is incomplete");
    switch (proof->kind) {
    case TP_PROOF_CHOICES: ok = check_choices(c, s, proof); break;
    case TP_PROOF_MULTIPLE: ok = check_multiple(c, s, proof); break;
    case TP_PROOF_DIVIDED: ok = check_divided(c, s, proof); break;
    case TP_PROOF_BOUND: ok = check_bound(c, s, proof); break;
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
    case TP_PROOF_ABSURD:
        ok = absurd(c, s, proof->number);
        say(c, "%*sh%u cannot hold\n", 2 * c->depth, "", proof->number);
        break;
    case TP_PROOF_POINTS:
        ok = s->nwith ? reject(c, "cases are evaluated before equations are put in") : tp_check_points(c, s);
        say(c, "%*severy case was evaluated\n", 2 * c->depth, "");
        break;
    case TP_PROOF_KINDS: ok = reject(c, "no such step"); break;
    }
    c->depth--;
    return ok;
}

static void check_all(void *arg)
{
    checker *c = arg;
    const tp_obligation *o = c->o;
    state s = {.vars = TP_NEWN(c->arena, tp_var, o->nvars + 1), .nvars = o->nvars};
    c->one = tp_big_constant(&c->big, 1);
    for (uint32_t i = 0; i < o->nvars; i++) {
        s.vars[i] = o->vars[i];
        if (!tp_own_symbol(&c->own, o->vars[i].sym, &s.vars[i].sym))
            return;
        s.vars[i].lo = own(c, o->vars[i].lo);
        s.vars[i].hi = own(c, o->vars[i].hi);
        s.vars[i].quotient = (tp_expr){0};
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        tp_push(c->arena, s.hyps, ((hypothesis){own(c, o->premises[i]), false}));
    tp_push(c->arena, s.hyps, ((hypothesis){own(c, o->goal), true}));
    const char *problem = tp_check_statement(c, &s);
    c->ok = !problem || reject(c, problem);
    if (c->ok && !c->claim_only)
        c->ok = check(c, &s, c->proof) && c->ok; /* a part that nobody looked at is no proof */
}

static bool run(checker c, tp_arena *work, const tp_exprs *p, tp_str *why)
{
    c.arena = work;
    c.own = tp_own_new(work, p);
    c.p = c.own.to;
    c.big = (tp_bigs){.arena = work, .exprs = c.p, .budget = MAX_WORK};
    tp_status st = tp_try(work, check_all, &c);
    tp_bigs_free(&c.big);
    if (st == TP_E_MEMORY)
        tp_leave(work, st);
    bool ok = st == TP_OK && c.ok;
    if (why)
        *why = ok ? TP_S("") : c.why.n ? c.why : TP_S("the proof, or an expression in it, is too large to be checked");
    return ok;
}

bool tp_check_proof(tp_arena *work, const tp_exprs *p, const tp_obligation *o, const tp_proof *proof, tp_str *why,
                    tp_buf *text)
{
    return run((checker){.o = o, .proof = proof, .text = text}, work, p, why);
}

bool tp_check_claim(tp_arena *work, const tp_exprs *p, const tp_obligation *o, tp_str *why)
{
    return run((checker){.o = o, .claim_only = true}, work, p, why);
}
