/* The checker of proofs against brute force: whatever proof it is given, true
 * or damaged, it accepts none of a false obligation. And certificates as
 * files: written, read again, damaged. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "smt/trust/bigpoly.h"
#include "smt/trust/certificates.h"
#include "tests/unit/obligations.h"

enum { TRIALS = 4000, DAMAGES = 12 };

static uint32_t nudge(box *b, uint32_t v, uint32_t n)
{
    return pick(b, 2) ? (uint32_t)pick(b, (int)n + 2) : v + (pick(b, 2) ? 1 : (uint32_t)-1);
}

static tp_line damaged_line(box *b, tp_line l, uint32_t nlines)
{
    switch (pick(b, 6)) {
    case 0: l.rule = (tp_line_rule)pick(b, TP_LINE_RULES); break;
    case 1: l.number = nudge(b, l.number, 3); break;
    case 2: l.side = (uint32_t)pick(b, 3); break;
    case 3: l.refs[pick(b, 4)] = (uint32_t)pick(b, (int)nlines + 2); break;
    case 4: *(pick(b, 2) ? &l.e : &l.factor) = integer(b, 1); break;
    default:
        if (l.nproducts) {
            tp_product *p = TP_NEWN(b->a, tp_product, l.nproducts);
            memcpy(p, l.products, l.nproducts * sizeof *p);
            tp_product *one = &p[pick(b, (int)l.nproducts)];
            one->coef += pick(b, 5) - 2;
            if (one->n)
                one->refs[pick(b, (int)one->n)] = (uint32_t)pick(b, (int)nlines + 2);
            l.products = p;
        }
    }
    return l;
}

/* A copy with about one part changed. */
static const tp_proof *damaged(box *b, const tp_proof *p)
{
    tp_proof *copy = TP_NEW(b->a, tp_proof);
    *copy = *p;
    if (pick(b, 8) == 0)
        copy->kind = (tp_proof_kind)pick(b, TP_PROOF_KINDS);
    else if (pick(b, 4) == 0)
        copy->number = nudge(b, p->number, 4);
    else if (pick(b, 8) == 0)
        copy->value = integer(b, 1);
    else if (pick(b, 8) == 0)
        copy->factor += pick(b, 3) - 1;
    if (p->nlines) {
        tp_line *lines = TP_NEWN(b->a, tp_line, p->nlines);
        memcpy(lines, p->lines, p->nlines * sizeof *lines);
        uint32_t i = (uint32_t)pick(b, (int)p->nlines);
        lines[i] = damaged_line(b, lines[i], p->nlines);
        copy->lines = lines;
        copy->nlines -= pick(b, 6) == 0;
    }
    if (p->nkids) {
        const tp_proof **kids = TP_NEWN(b->a, const tp_proof *, p->nkids);
        memcpy(kids, p->kids, p->nkids * sizeof *kids);
        int i = pick(b, (int)p->nkids);
        kids[i] = damaged(b, pick(b, 8) ? p->kids[i] : p->kids[0]);
        copy->kids = kids;
        copy->nkids -= pick(b, 12) == 0;
    }
    return copy;
}

static void no_false_obligation_is_accepted(void **state)
{
    (void)state;
    uint64_t first = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    unsigned proofs = 0, damages = 0, accepted = 0, disproved = 0, refused = 0;
    for (uint64_t seed = first; seed < first + trials; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 1)};
        tp_expr premises[2];
        int64_t env[VARS] = {0};
        tp_obligation o = random_obligation(&b, premises), other = o;
        tp_prover *v = tp_prover_new(a, b.p, &(tp_prover_options){.no_solver = true});
        tp_decision d = tp_prove(v, &o);
        refused += tp_prover_get_stats(v)->rejected;
        tp_prover_free(v);
        for (int i = 0; d.proof && i < DAMAGES; i++) {
            /* a damaged proof of the claim, or of one that is nearly the same, often false */
            const tp_proof *p = damaged(&b, d.proof);
            const tp_expr_node *g = tp_expr_get(b.p, o.goal);
            other.goal = i % 3 == 0   ? o.goal
                         : i % 3 == 1 ? tp_op1(b.p, TP_E_NOT, o.goal)
                         : g->op >= TP_E_EQ && g->op <= TP_E_GE
                             ? tp_op2(b.p, TP_E_EQ + (tp_expr_op)pick(&b, 6), g->a, g->b)
                             : condition(&b, 1);
            bool yes = tp_check_proof(a, b.p, &other, i == 1 ? d.proof : p, NULL, NULL);
            damages++;
            accepted += yes;
            if (!brute(&b, &other, 0, env)) {
                disproved++;
                if (yes)
                    fail_msg("seed %llu: accepted, and false: %s", (unsigned long long)seed,
                             tp_cstr(a, tp_expr_text(b.p, other.goal)));
            }
        }
        proofs += d.proof != NULL;
        tp_arena_free(a);
    }
    print_message("certificates: %u proofs from seed %llu, damaged %u times (%u of them of false claims): %u accepted, "
                  "0 of them false; %u refused as they were\n",
                  proofs, (unsigned long long)first, damages, disproved, accepted, refused);
    assert_true(refused * 1000 <= proofs); /* where a divisor is 0, prover and checker may rewrite in another order */
    assert_true(proofs > trials / 20);
    assert_true(disproved > damages / 10);
    assert_true(accepted > damages / 50); /* harmless damage exists: the test is not vacuous */
}

/* ---- the checker's polynomials ---- */

typedef struct evaluation {
    tp_bigs *b;
    tp_expr e;
    const tp_expr *with;
    uint32_t n;
    tp_bigpoly p;
} evaluation;

static void evaluate(void *arg)
{
    evaluation *v = arg;
    v->p = tp_big_of(v->b, v->e, v->with, v->n);
}

/* With numbers in the place of all symbols a polynomial is the value; with
 * numbers in the place of some, e and its normal form are one polynomial. */
static void polynomials_mean_what_expressions_mean(void **state)
{
    (void)state;
    unsigned compared = 0, without = 0, same = 0;
    for (uint64_t seed = 1; seed < 6000; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 5), .nvars = VARS};
        for (uint32_t i = 0; i < VARS; i++)
            tp_sym_new(b.p, tp_printf(a, "v%u", i));
        tp_expr e = integer(&b, 3), with[VARS], none[VARS] = {{0}};
        int64_t env[VARS], value;
        for (uint32_t i = 0; i < VARS; i++)
            with[i] = tp_const(b.p, env[i] = pick(&b, 14) - 4);
        tp_bigs bigs = {.arena = a, .exprs = b.p, .budget = 100000};
        evaluation v = {&bigs, e, with, VARS, {0}}, n = {&bigs, tp_expr_normal(b.p, e), none, VARS, {0}};
        assert_int_equal(tp_try(a, evaluate, &v), TP_OK);
        mpz_srcptr z = tp_big_value(&bigs, &v.p);
        if (tp_expr_eval(b.p, e, env, &value) == TP_EVAL_OK) {
            if (!z || mpz_cmp_si(z, value) != 0)
                fail_msg("seed %llu: %s at %lld, %lld, %lld is %lld", (unsigned long long)seed,
                         tp_cstr(a, tp_expr_text(b.p, e)), (long long)env[0], (long long)env[1], (long long)env[2],
                         (long long)value);
            compared++;
        } else {
            without++;
        }
        v.with = none;
        if (tp_try(a, evaluate, &v) == TP_OK && tp_try(a, evaluate, &n) == TP_OK)
            same += tp_big_same(&v.p, &n.p);
        tp_bigs_free(&bigs);
        tp_arena_free(a);
    }
    print_message("polynomials: %u values equal, %u expressions without a value; %u equal their normal form\n",
                  compared, without, same);
    assert_true(compared > 4000 && same > 5500);
}

/* ---- proofs made to deceive ---- */

/* x in [0, 10], y in [-2, 10], c in {1, 2, 9}; a claim that is false, and a
 * proof that would do if one check of the checker were missing. */
typedef struct forgery {
    tp_arena *a;
    tp_exprs *p;
    tp_expr x, y, c, fresh;
    tp_var vars[3];
    tp_expr premise, goal;
    bool any_premise;
} forgery;

static tp_expr number_of(forgery *f, int64_t v)
{
    return tp_const(f->p, v);
}

static const tp_proof *node(forgery *f, tp_proof n, const tp_proof *kid)
{
    tp_proof *copy = TP_NEW(f->a, tp_proof);
    const tp_proof **kids = TP_NEWN(f->a, const tp_proof *, 1);
    *copy = n;
    kids[0] = kid;
    copy->kids = kids;
    copy->nkids = kid != NULL;
    return copy;
}

static const tp_proof *lines(forgery *f, const tp_line *l, uint32_t n)
{
    tp_line *copy = TP_NEWN(f->a, tp_line, n);
    memcpy(copy, l, n * sizeof *l);
    return node(f, (tp_proof){.kind = TP_PROOF_LINES, .lines = copy, .nlines = n}, NULL);
}

static tp_line sum_line(forgery *f, int64_t k1, uint32_t r1, int64_t k2, uint32_t r2)
{
    tp_product *t = TP_NEWN(f->a, tp_product, 2);
    t[0] = (tp_product){k1, r1 > 0, {r1}};
    t[1] = (tp_product){k2, r2 > 0, {r2}};
    return (tp_line){.rule = TP_LINE_SUM, .products = t, .nproducts = k2 ? 2 : 1};
}

static const tp_proof *refute(forgery *f, const tp_proof *inner)
{
    return node(f, (tp_proof){.kind = TP_PROOF_REFUTE}, inner);
}

/* x <= 5 by x <= 5: the upper bound and the negated goal, hypothesis h. */
static const tp_proof *by_upper_bound(forgery *f, uint32_t h)
{
    tp_line l[] = {{.rule = TP_LINE_UPPER, .number = 0}, {.rule = TP_LINE_FACT, .number = h}, sum_line(f, 1, 1, 1, 2)};
    return refute(f, lines(f, l, 3));
}

/* Because x % t == 0, with x = t * k: true at all points. */
static const tp_proof *divided(forgery *f, tp_expr x, tp_expr t)
{
    f->premise = tp_op2(f->p, TP_E_EQ, tp_op2(f->p, TP_E_MOD, x, t), number_of(f, 0));
    f->any_premise = true;
    tp_proof n = {.kind = TP_PROOF_DIVIDED, .number = (uint32_t)tp_expr_get(f->p, x)->value, .sym = 3, .value = t};
    return node(f, n, node(f, (tp_proof){.kind = TP_PROOF_POINTS}, NULL));
}

static const tp_proof *forge(forgery *f, int which)
{
    tp_expr_op le = TP_E_LE;
    f->goal = tp_op2(f->p, le, f->x, number_of(f, 5));
    tp_line negated = {.rule = TP_LINE_FACT, .number = 0};
    switch (which) {
    case 0: return by_upper_bound(f, 0); /* 10 - x and x - 6 do not contradict */
    case 1:                              /* a bound that nothing gives */
        return node(f, (tp_proof){.kind = TP_PROOF_BOUND, .number = 0, .side = 1, .factor = 5}, by_upper_bound(f, 0));
    case 2: /* a bound that is weaker than claimed */
        f->premise = tp_op2(f->p, le, f->x, number_of(f, 7));
        f->any_premise = true;
        return node(f, (tp_proof){.kind = TP_PROOF_BOUND, .number = 0, .side = 1, .factor = 5}, by_upper_bound(f, 1));
    case 3: /* the other side of a bound */
        f->premise = tp_op2(f->p, TP_E_GE, f->x, number_of(f, 5));
        f->any_premise = true;
        return node(f, (tp_proof){.kind = TP_PROOF_BOUND, .number = 0, .side = 1, .factor = 5}, by_upper_bound(f, 1));
    case 4: { /* a negative coefficient */ tp_line l[] = {sum_line(f, -1, 0, 0, 0)}; return refute(f, lines(f, l, 1));
    }
    case 5: { /* 10 - x = (x - 5) * -1 + 5, with x - 5 >= 1: -1 >= 0 if the 5 were forgotten */
        tp_line l[] = {negated,
                       {.rule = TP_LINE_UPPER, .number = 0},
                       {.rule = TP_LINE_CANCEL, .e = number_of(f, -1), .refs = {2, 1}}};
        return refute(f, lines(f, l, 3));
    }
    case 6: /* every even number is even; x need not be */
        f->goal = tp_op2(f->p, TP_E_EQ, tp_op2(f->p, TP_E_MOD, f->x, number_of(f, 2)), number_of(f, 0));
        return node(f, (tp_proof){.kind = TP_PROOF_MULTIPLE, .number = 0, .sym = 3, .factor = 2},
                    refute(f, node(f, (tp_proof){.kind = TP_PROOF_ABSURD, .number = 0}, NULL)));
    case 7: /* the same with a premise about 3 */
        f->premise = tp_op2(f->p, TP_E_EQ, tp_op2(f->p, TP_E_MOD, f->x, number_of(f, 3)), number_of(f, 0));
        f->any_premise = true;
        f->goal = tp_op2(f->p, TP_E_EQ, tp_op2(f->p, TP_E_MOD, f->x, number_of(f, 2)), number_of(f, 0));
        return node(f, (tp_proof){.kind = TP_PROOF_MULTIPLE, .number = 0, .sym = 3, .factor = 2},
                    refute(f, node(f, (tp_proof){.kind = TP_PROOF_ABSURD, .number = 1}, NULL)));
    case 8: /* x is a multiple of y */
        f->goal = tp_op2(f->p, TP_E_EQ, tp_op2(f->p, TP_E_MOD, f->x, f->c), number_of(f, 0));
        return node(f, (tp_proof){.kind = TP_PROOF_DIVIDED, .number = 0, .sym = 3, .value = f->c},
                    refute(f, node(f, (tp_proof){.kind = TP_PROOF_ABSURD, .number = 2}, NULL)));
    case 9: { /* a new symbol that is not new: x = 2 * y, and y <= 10 */
        f->premise = tp_op2(f->p, TP_E_EQ, tp_op2(f->p, TP_E_MOD, f->x, number_of(f, 2)), number_of(f, 0));
        f->any_premise = true;
        f->goal = tp_op2(f->p, TP_E_EQ, f->x, tp_op2(f->p, TP_E_MUL, number_of(f, 2), f->y));
        return node(f, (tp_proof){.kind = TP_PROOF_MULTIPLE, .number = 0, .sym = 1, .factor = 2},
                    refute(f, node(f, (tp_proof){.kind = TP_PROOF_ABSURD, .number = 1}, NULL)));
    }
    case 10: /* two of three choices */
        f->goal = tp_op2(f->p, le, f->c, number_of(f, 5));
        return node(f, (tp_proof){.kind = TP_PROOF_CHOICES, .number = 2},
                    refute(f, node(f, (tp_proof){.kind = TP_PROOF_ABSURD, .number = 0}, NULL)));
    case 11: /* a symbol without bounds, "evaluated" */
        f->goal = tp_op2(f->p, le, f->fresh, number_of(f, 5));
        return node(f, (tp_proof){.kind = TP_PROOF_POINTS}, NULL);
    case 12: return node(f, (tp_proof){.kind = TP_PROOF_POINTS}, NULL); /* x = 6 contradicts */
    case 13: { /* x // y <= x for y >= 1 only: a divisor that may be negative */
        tp_expr q = tp_op2(f->p, TP_E_FLOORDIV, f->x, f->y);
        f->goal = tp_op2(f->p, TP_E_GE, q, number_of(f, 0));
        tp_line l[] = {{.rule = TP_LINE_LOWER, .number = 0},
                       {.rule = TP_LINE_DEFINITION, .e = q, .side = 1, .refs = {1}},
                       negated,
                       sum_line(f, 1, 2, 1, 3)};
        return refute(f, lines(f, l, 4));
    }
    case 14: /* a hypothesis that can hold */
        return refute(f, node(f, (tp_proof){.kind = TP_PROOF_ABSURD, .number = 0}, NULL));
    case 15: { /* max(x, 3) is x or 3; x + 3 is neither */
        tp_expr e = tp_op2(f->p, TP_E_ADD, f->x, number_of(f, 3));
        tp_line l[] = {{.rule = TP_LINE_LOWER, .number = 0},
                       {.rule = TP_LINE_CASES, .e = e, .factor = number_of(f, -1), .refs = {1, 1}}};
        return refute(f, lines(f, l, 2));
    }
    case 16: { /* the two ends of two polynomials */
        tp_line l[] = {{.rule = TP_LINE_LOWER, .number = 0},
                       {.rule = TP_LINE_UPPER, .number = 0},
                       {.rule = TP_LINE_ENDS, .factor = number_of(f, 2), .refs = {1, 1, 2, 2}},
                       sum_line(f, 1, 3, 0, 0)};
        return refute(f, lines(f, l, 4));
    }
    case 17: { /* a != b as if it said a > b */
        f->premise = tp_op2(f->p, TP_E_NE, f->x, number_of(f, 20));
        f->any_premise = true;
        tp_line l[] = {
            {.rule = TP_LINE_FACT, .number = 0}, {.rule = TP_LINE_UPPER, .number = 0}, sum_line(f, 1, 1, 1, 2)};
        return refute(f, lines(f, l, 3));
    }
    case 18: /* x == x defines x by itself */
        f->premise = tp_op2(f->p, TP_E_EQ, f->x, f->x);
        f->any_premise = true;
        return refute(
            f, node(f, (tp_proof){.kind = TP_PROOF_LET, .number = 0, .sym = 0, .value = f->x}, lines(f, &negated, 1)));
    case 19: /* x == y says nothing of x being 0 */
        f->premise = tp_op2(f->p, TP_E_EQ, f->x, f->y);
        f->any_premise = true;
        return refute(f, node(f, (tp_proof){.kind = TP_PROOF_LET, .number = 0, .sym = 0, .value = number_of(f, 0)},
                              lines(f, (tp_line[]){{.rule = TP_LINE_FACT, .number = 1}}, 1)));
    case 20: /* a line that refers to itself, and to none */
        return refute(f, lines(f, (tp_line[]){sum_line(f, 1, 1, 0, 0)}, 1));
    case 21: return refute(f, NULL);
    case 22: return refute(f, node(f, (tp_proof){.kind = TP_PROOF_SPLIT, .number = 0}, by_upper_bound(f, 0)));
    case 23: /* y <= 5 says nothing of x */
        f->premise = tp_op2(f->p, le, f->y, number_of(f, 5));
        f->any_premise = true;
        return node(f, (tp_proof){.kind = TP_PROOF_BOUND, .number = 0, .side = 1, .factor = 5}, by_upper_bound(f, 1));
    case 24: /* neither does y == 5, nor x <= y */
        f->premise = tp_op2(f->p, TP_E_EQ, f->y, number_of(f, 5));
        f->any_premise = true;
        return node(f, (tp_proof){.kind = TP_PROOF_BOUND, .number = 0, .side = 1, .factor = 5}, by_upper_bound(f, 1));
    case 25:
        f->premise = tp_op2(f->p, le, f->x, f->y);
        f->any_premise = true;
        return node(f, (tp_proof){.kind = TP_PROOF_BOUND, .number = 0, .side = 1, .factor = 5}, by_upper_bound(f, 1));
    case 26: /* both ends, of which two are missing */
    case 27: {
        tp_line l[] = {negated,
                       {.rule = TP_LINE_UPPER, .number = 0},
                       {.rule = TP_LINE_ENDS, .factor = number_of(f, 1), .refs = {1, 2, 0, 0}}};
        if (which == 27)
            l[2].refs[2] = 1;
        return refute(f, lines(f, l, 3));
    }
    case 28: { /* either case, of which one is missing */
        tp_line l[] = {negated,
                       {.rule = TP_LINE_CASES,
                        .e = tp_op2(f->p, TP_E_MAX, f->x, f->y),
                        .factor = number_of(f, 1),
                        .refs = {1, 0, 0, 0}}};
        return refute(f, lines(f, l, 2));
    }
    case 29: /* the hypothesis behind the last one */
        return refute(f, node(f, (tp_proof){.kind = TP_PROOF_SPLIT, .number = 1, .nkids = 2}, by_upper_bound(f, 0)));
    case 30: { /* the same with two kids */
        tp_proof *both = TP_NEW(f->a, tp_proof);
        const tp_proof **kids = TP_NEWN(f->a, const tp_proof *, 2);
        kids[0] = kids[1] = by_upper_bound(f, 0);
        *both = (tp_proof){.kind = TP_PROOF_SPLIT, .number = 1, .kids = kids, .nkids = 2};
        return refute(f, both);
    }
    case 31: { /* a line that refers to a later one, in each place */
        tp_line l[] = {sum_line(f, 1, 2, 0, 0), negated};
        return refute(f, lines(f, l, 2));
    }
    case 32: /* x = y*k with k >= 0: y is positive, then, or x is 0; but 4 = -2 * -2 */
        f->goal = tp_op2(f->p, TP_E_OR, tp_op2(f->p, TP_E_EQ, f->x, number_of(f, 0)),
                         tp_op2(f->p, TP_E_GE, f->y, number_of(f, 0)));
        return divided(f, f->x, f->y);
    case 33: /* y = c*k with k >= 0: but -2 = 2 * -1 */
        f->goal = tp_op2(f->p, TP_E_GE, f->y, number_of(f, 0));
        return divided(f, f->y, f->c);
    case 34: return divided(f, f->x, f->c); /* what x = c*k is said to be stays inside x's bounds, not below */
    case 35: /* nor above */ f->goal = tp_op2(f->p, TP_E_GT, f->x, number_of(f, 10)); return divided(f, f->x, f->c);
    case 36: /* x may be its upper bound */
        f->goal = tp_op2(f->p, TP_E_LT, f->x, number_of(f, 10));
        return divided(f, f->x, f->c);
    case 37: /* references of which one is missing */
    case 38:
    case 39:
    case 40:
    case 41:
    case 42:
    case 43:
    case 44: {
        static const tp_line MISSING[] = {
            {.rule = TP_LINE_ENDS, .refs = {0, 1, 1, 1}},   {.rule = TP_LINE_ENDS, .refs = {1, 0, 1, 1}},
            {.rule = TP_LINE_ENDS, .refs = {0, 0, 1, 1}},   {.rule = TP_LINE_ENDS, .refs = {1, 1, 0, 1}},
            {.rule = TP_LINE_CASES, .refs = {0, 1, 0, 0}},  {.rule = TP_LINE_CANCEL, .refs = {0, 1, 0, 0}},
            {.rule = TP_LINE_CANCEL, .refs = {1, 0, 0, 0}}, {.rule = TP_LINE_DEFINITION, .refs = {0, 0, 0, 0}}};
        tp_line l[] = {negated, MISSING[which - 37]};
        l[1].factor = number_of(f, 1);
        l[1].e = tp_op2(f->p, which == 44 ? TP_E_FLOORDIV : TP_E_MAX, f->x, f->c);
        return refute(f, lines(f, l, 2));
    }
    default: return NULL;
    }
}

static forgery new_forgery(tp_arena *a)
{
    static const int64_t CHOICES[] = {1, 2, 9};
    forgery f = {.a = a, .p = tp_exprs_new(a)};
    f.x = tp_sym_new(f.p, TP_S("x"));
    f.y = tp_sym_new(f.p, TP_S("y"));
    f.c = tp_sym_new(f.p, TP_S("c"));
    f.fresh = tp_sym_new(f.p, TP_S("fresh"));
    f.vars[0] = (tp_var){.sym = 0, .lo = number_of(&f, 0), .hi = number_of(&f, 10), .multiple_of = 1};
    f.vars[1] = (tp_var){.sym = 1, .lo = number_of(&f, -2), .hi = number_of(&f, 10), .multiple_of = 1};
    f.vars[2] = (tp_var){
        .sym = 2, .lo = number_of(&f, 1), .hi = number_of(&f, 9), .multiple_of = 1, .choices = CHOICES, .nchoices = 3};
    return f;
}

static bool is_accepted(const forgery *f, const tp_proof *proof, tp_str *why)
{
    tp_obligation o = {
        .vars = f->vars, .nvars = 3, .premises = &f->premise, .npremises = f->any_premise, .goal = f->goal};
    return tp_check_proof(f->a, f->p, &o, proof, why, NULL);
}

static void forgeries_are_refused(void **state)
{
    (void)state;
    int n = 0;
    for (;; n++) {
        tp_arena *a = tp_arena_new(0);
        forgery f = new_forgery(a);
        const tp_proof *proof = forge(&f, n);
        if (!proof) {
            tp_arena_free(a);
            break;
        }
        tp_str why;
        if (is_accepted(&f, proof, &why))
            fail_msg("forgery %d was accepted", n);
        assert_true(why.n > 0);
        tp_arena_free(a);
    }
    print_message("certificates: %d forgeries refused\n", n);
    assert_true(n > 20);
}

/* x == y + 1 and y == 3, so x <= 4: the second equation is put into what the first one put in. */
static void equations_are_put_in_one_after_the_other(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    forgery f = new_forgery(a);
    tp_expr next = tp_op2(f.p, TP_E_ADD, f.y, number_of(&f, 1)), three = number_of(&f, 3);
    f.premise = tp_op2(f.p, TP_E_AND, tp_op2(f.p, TP_E_EQ, f.x, next), tp_op2(f.p, TP_E_EQ, f.y, three));
    f.any_premise = true;
    tp_line negated = {.rule = TP_LINE_FACT, .number = 2}; /* x - limit - 1 >= 0 */
    for (int64_t limit = 3; limit <= 4; limit++) {
        tp_str why;
        f.goal = tp_op2(f.p, TP_E_LE, f.x, number_of(&f, limit));
        const tp_proof *inner = lines(&f, &negated, 1);
        inner = node(&f, (tp_proof){.kind = TP_PROOF_LET, .number = 1, .sym = 1, .value = three}, inner);
        inner = node(&f, (tp_proof){.kind = TP_PROOF_LET, .number = 0, .sym = 0, .value = next}, inner);
        assert_int_equal(is_accepted(&f, refute(&f, inner), &why), limit == 4);
    }
    tp_arena_free(a);
}

/* x == y + 1, y == c and c == x, each put in: x would be x + 1. */
static void equations_in_a_circle_are_refused(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    forgery f = new_forgery(a);
    tp_expr next = tp_op2(f.p, TP_E_ADD, f.y, number_of(&f, 1));
    tp_expr two = tp_op2(f.p, TP_E_AND, tp_op2(f.p, TP_E_EQ, f.x, next), tp_op2(f.p, TP_E_EQ, f.y, f.c));
    f.premise = tp_op2(f.p, TP_E_AND, two, tp_op2(f.p, TP_E_EQ, f.c, f.x));
    f.any_premise = true;
    f.goal = tp_op2(f.p, TP_E_LE, f.x, number_of(&f, 5));
    tp_line negated = {.rule = TP_LINE_FACT, .number = 3};
    const tp_proof *inner = lines(&f, &negated, 1);
    inner = node(&f, (tp_proof){.kind = TP_PROOF_LET, .number = 2, .sym = 2, .value = f.x}, inner);
    inner = node(&f, (tp_proof){.kind = TP_PROOF_LET, .number = 1, .sym = 1, .value = f.c}, inner);
    inner = node(&f, (tp_proof){.kind = TP_PROOF_LET, .number = 0, .sym = 0, .value = next}, inner);
    tp_str why;
    assert_false(is_accepted(&f, refute(&f, inner), &why));
    assert_string_equal(tp_cstr(a, why), "the symbol is defined by itself");
    tp_arena_free(a);
}

/* Every case evaluated: accepted when all hold, and only then. */
static void points_are_evaluated(void **state)
{
    (void)state;
    static const tp_proof points = {.kind = TP_PROOF_POINTS};
    for (int64_t most = 98; most <= 101; most++) {
        tp_arena *a = tp_arena_new(0);
        tp_exprs *p = tp_exprs_new(a);
        tp_expr x = tp_sym_new(p, TP_S("x"));
        tp_var var = {.sym = 0, .lo = tp_const(p, -3), .hi = tp_const(p, 10), .multiple_of = 1};
        tp_expr premise = tp_op2(p, TP_E_NE, x, tp_const(p, 9));
        tp_obligation o = {.vars = &var,
                           .nvars = 1,
                           .premises = &premise,
                           .npremises = 1,
                           .goal = tp_op2(p, TP_E_LE, tp_op2(p, TP_E_MUL, x, x), tp_const(p, most))};
        tp_str why;
        assert_int_equal(tp_check_proof(a, p, &o, &points, &why, NULL), most >= 100);
        o.goal = tp_op2(p, TP_E_LE, x, tp_const(p, most - 91)); /* 9 is left out */
        assert_int_equal(tp_check_proof(a, p, &o, &points, &why, NULL), most - 91 >= 10);
        tp_arena_free(a);
    }
}

/* ---- files ---- */

typedef struct reading {
    tp_ctx ctx;
    tp_source source;
    bool header;
    tp_certificate certificate;
} reading;

static void read_line(void *arg)
{
    reading *r = arg;
    if (r->header)
        tp_certificates_read_header(&r->ctx);
    else
        r->certificate = tp_certificate_read(&r->ctx);
}

static tp_status read_text(tp_arena *a, reading *r, tp_str text, bool header)
{
    *r = (reading){.source = {TP_S("test"), text}, .header = header};
    r->ctx = (tp_ctx){.arena = a, .source = &r->source};
    return tp_try(a, read_line, r);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    unsigned lines = 0, refused = 0, unread = 0;
    for (uint64_t seed = 1; seed < 400; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 2)};
        tp_expr premises[2];
        tp_obligation o = random_obligation(&b, premises);
        tp_certificates *c = tp_certificates_new(a);
        tp_prover *v = tp_prover_new(a, b.p, &(tp_prover_options){.no_solver = true, .certificates = c});
        tp_decision d = tp_prove(v, &o);
        tp_prover_free(v);
        tp_str header = tp_certificates_header(a), row = tp_certificates_rows(c);
        reading r;
        assert_int_equal(read_text(a, &r, header, true), TP_OK);
        assert_int_equal(row.n > 0, d.verdict == TP_PROVEN);
        if (d.proof) {
            row.n--; /* the newline */
            assert_int_equal(read_text(a, &r, row, false), TP_OK);
            tp_str why;
            tp_buf words = {.arena = a};
            if (!tp_check_proof(a, r.certificate.exprs, &r.certificate.obligation, r.certificate.proof, &why, &words))
                fail_msg("seed %llu: %s", (unsigned long long)seed, tp_cstr(a, why));
            assert_true(words.n > 0);
            lines++;
            for (int i = 0; i < 60; i++) { /* any byte changed: read or refused, never a crash */
                char *copy = TP_NEWN(a, char, row.n);
                memcpy(copy, row.p, row.n);
                copy[pick(&b, (int)row.n)] = "0123456789[]{},\":x"[pick(&b, 18)];
                tp_status st = read_text(a, &r, (tp_str){copy, row.n}, false);
                unread += st != TP_OK;
                if (st == TP_OK && r.certificate.proof)
                    refused += !tp_check_proof(a, r.certificate.exprs, &r.certificate.obligation, r.certificate.proof,
                                               NULL, NULL);
            }
        }
        tp_arena_free(a);
    }
    print_message(
        "certificates: %u written and read; of %u with a changed byte %u could not be read, %u were refused\n", lines,
        lines * 60, unread, refused);
    assert_true(lines > 20 && unread > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(polynomials_mean_what_expressions_mean),
                                       cmocka_unit_test(forgeries_are_refused),
                                       cmocka_unit_test(equations_are_put_in_one_after_the_other),
                                       cmocka_unit_test(equations_in_a_circle_are_refused),
                                       cmocka_unit_test(points_are_evaluated),
                                       cmocka_unit_test(no_false_obligation_is_accepted),
                                       cmocka_unit_test(what_is_written_is_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
