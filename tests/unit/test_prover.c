/* The prover against brute force on random obligations. A wrong verdict of
 * either kind fails; "unknown" is counted. The seed is printed. TEST_SMT2=DIR
 * writes the obligations, for other solvers. */
#define _GNU_SOURCE
#include "base/budget.h"
#include "tests/unit/support.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smt/internal.h"
#include "smt/trust/proof.h"
#include "tests/unit/obligations.h"

/* CERTIFIED: proofs of our own among the default trials; does not depend on Z3.
 * It is the power of the exact engine: let it grow, and know why when it falls.
 * (An obligation whose variables have no values has no certificate.) */
enum { TRIALS = 6000, CERTIFIED = 2118 };
/* Of the random intervals, of the ends of these, of the small ranges; of the planted contradictions. */
enum { BOUNDED = 6146, ENDS = 12894, TIGHT = 5550, PLANTED = 1830 };
static const char PARTS[] = " 741 580 4 170 3365 156 288 1560 1961 0 | 1320 1298 1024 771 6707 367 3 317";

static void report(box *b, const tp_obligation *o, const char *what, uint64_t seed)
{
    for (uint32_t i = 0; i < o->nvars; i++)
        print_message("  %.*s <= v%u <= %.*s, multiple of %lld\n", TP_FMT(tp_expr_text(b->p, o->vars[i].lo)), i,
                      TP_FMT(tp_expr_text(b->p, o->vars[i].hi)), (long long)o->vars[i].multiple_of);
    for (uint32_t i = 0; i < o->npremises; i++)
        print_message("  given %.*s\n", TP_FMT(tp_expr_text(b->p, o->premises[i])));
    fail_msg("seed %llu: %s: %s", (unsigned long long)seed, what, tp_cstr(b->a, tp_expr_text(b->p, o->goal)));
}

/* Nodes of proofs by kind, and lines by rule. */
typedef struct parts {
    unsigned kinds[TP_PROOF_KINDS], rules[TP_LINE_RULES];
} parts;

static void count_parts(parts *n, const tp_proof *p)
{
    if (!p)
        return;
    n->kinds[p->kind]++;
    for (uint32_t i = 0; i < p->nlines; i++)
        n->rules[p->lines[i].rule]++;
    for (uint32_t i = 0; i < p->nkids; i++)
        count_parts(n, p->kids[i]);
}

static void random_obligations(void **state)
{
    (void)state;
    parts used = {{0}, {0}};
    uint64_t first = setting("TEST_SEED", 1);
    unsigned trials = (unsigned)setting("TEST_TRIALS", TRIALS), proven = 0, violated = 0, unknown = 0, z3 = 0,
             certified = 0, solver_alone = 0, refused = 0;
    tp_arena *keep = tp_arena_new(0);
    tp_solver *solver = tp_solver_new(keep);
    for (uint64_t seed = first; seed < first + trials; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 0)};
        tp_expr premises[2];
        tp_obligation o = random_obligation(&b, premises);
        int64_t env[VARS] = {0}, value;
        int truth = brute(&b, &o, 0, env);
        bool only_solver = seed % 8 == 0;
        tp_prover *v =
            tp_prover_new(a, b.p,
                          &(tp_prover_options){.only_solver = only_solver,
                                               .solver = solver,
                                               .rlimit = 60000,
                                               .smt2_dir = getenv("TEST_SMT2"),
                                               .smt2_name = tp_printf(a, "random-%llu", (unsigned long long)seed).p});
        tp_decision d = tp_prove(v, &o);
        const tp_prover_stats *stats = tp_prover_get_stats(v);
        certified += stats->certified;
        solver_alone += stats->linear + stats->raw;
        refused += stats->rejected;
        z3 += only_solver;
        if (d.verdict == TP_PROVEN && d.grade == TP_GRADE_CERT)
            count_parts(&used, d.proof);
        proven += d.verdict == TP_PROVEN;
        violated += d.verdict == TP_VIOLATED;
        unknown += d.verdict == TP_UNKNOWN;
        if (d.verdict == TP_PROVEN && !truth)
            report(&b, &o, "proven, and false", seed);
        if (d.verdict == TP_VIOLATED && truth)
            report(&b, &o, "violated, and true", seed);
        if (d.verdict == TP_VIOLATED) { /* the case is inside the premises and breaks the goal */
            for (uint32_t i = 0; i < o.npremises; i++)
                if (tp_expr_eval(b.p, premises[i], d.env, &value) != TP_EVAL_OK || !value)
                    report(&b, &o, "the counterexample breaks a premise of", seed);
            if (tp_expr_eval(b.p, o.goal, d.env, &value) != TP_EVAL_OK || value)
                report(&b, &o, "the counterexample satisfies", seed);
        }
        tp_prover_free(v);
        tp_arena_free(a);
    }
    print_message(
        "prover: %u random obligations from seed %llu: %u proven (%u with certificate, %u by Z3), %u violated, %u "
        "unknown (%u were asked of the solver alone); the checker refused %u of our proofs\n",
        trials, (unsigned long long)first, proven, certified, solver_alone, violated, unknown, z3, refused);
    tp_solver_free(solver);
    tp_arena_free(keep);
    tp_buf kinds = {.arena = tp_arena_new(0)};
    for (int k = 0; k < TP_PROOF_KINDS; k++)
        tp_buf_printf(&kinds, " %u", used.kinds[k]);
    tp_buf_c(&kinds, " |");
    for (int k = 0; k < TP_LINE_RULES; k++)
        tp_buf_printf(&kinds, " %u", used.rules[k]);
    print_message("prover: parts of the proofs:%.*s\n", TP_FMT(tp_buf_view(&kinds)));
    if (!getenv("TEST_SEED") && !getenv("TEST_TRIALS")) {
        assert_int_equal(certified, CERTIFIED);
        assert_true(tp_str_is(tp_buf_view(&kinds), PARTS));
    }
    tp_arena_free(kinds.arena);
    assert_true(refused * 1000 <= certified);
    assert_true(proven > trials / 20);
    assert_true(violated > trials / 20);
}

/* ---- intervals ---- */

static void evaluate_points(const box *b, tp_expr e, uint32_t i, int64_t *env, const tp_interval *range,
                            unsigned *points)
{
    int64_t lo, hi, v;
    if (i == b->nvars) {
        if (tp_expr_eval(b->p, e, env, &v) != TP_EVAL_OK)
            return;
        ++*points;
        if (v < range->lo || v > range->hi)
            fail_msg("%s is %lld, outside [%lld, %lld]", tp_cstr(b->a, tp_expr_text(b->p, e)), (long long)v,
                     (long long)range->lo, (long long)range->hi);
        return;
    }
    assert_int_equal(tp_expr_eval(b->p, b->vars[i].lo, env, &lo), TP_EVAL_OK);
    if (b->vars[i].hi.id)
        assert_int_equal(tp_expr_eval(b->p, b->vars[i].hi, env, &hi), TP_EVAL_OK);
    else
        hi = lo + 12;
    for (env[b->vars[i].sym] = lo; env[b->vars[i].sym] <= hi; env[b->vars[i].sym]++)
        evaluate_points(b, e, i + 1, env, range, points);
}

/* The interval of an expression holds every value that it takes, and is not
 * always everything. Some bounds are huge, so that products and sums overflow. */
static void intervals_hold_every_value(void **state)
{
    (void)state;
    unsigned points = 0, tight = 0, ends = 0, trials = 8000;
    for (uint64_t seed = 1; seed <= trials; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 7)};
        tp_expr premises[2];
        int64_t env[VARS] = {0};
        tp_obligation o = random_obligation(&b, premises);
        o.npremises = 0;
        for (uint32_t i = 0; i < b.nvars; i++) /* some without an upper bound */
            if (!b.vars[i].choices && pick(&b, 6) == 0)
                b.vars[i].hi = (tp_expr){0};
        tp_expr e = pick(&b, 4) ? integer(&b, 2) : condition(&b, 2);
        if (pick(&b, 6) == 0) { /* at the edge of 64 bits */
            tp_expr far = tp_const(b.p, INT64_MAX / (1 + pick(&b, 5)) - pick(&b, 3));
            e = tp_op2(b.p, (tp_expr_op[]){TP_E_MUL, TP_E_ADD, TP_E_SUB, TP_E_CDIV, TP_E_LE}[pick(&b, 5)],
                       pick(&b, 2) ? far : e, e);
        }
        tp_prover *v = tp_prover_new(a, b.p, &(tp_prover_options){.no_solver = true});
        tp_interval range = tp_interval_of(v, &o, e);
        tight += range.lo != INT64_MIN && range.hi != INT64_MAX;
        ends += (range.lo != INT64_MIN ? 1u : 0) + (range.hi != INT64_MAX ? 1u : 0);
        evaluate_points(&b, e, 0, env, &range, &points);
        tp_prover_free(v);
        tp_arena_free(a);
    }
    print_message("intervals: %u expressions, %u points, %u with both ends, %u ends\n", trials, points, tight, ends);
    assert_int_equal(tight, BOUNDED);
    assert_int_equal(ends, ENDS);
}

/* Every operation on every small pair of ranges, ends left open too. */
static void intervals_of_small_ranges(void **state)
{
    static const tp_expr_op OPS[] = {TP_E_ADD, TP_E_SUB, TP_E_MUL, TP_E_FLOORDIV, TP_E_CDIV, TP_E_MOD,
                                     TP_E_MIN, TP_E_MAX, TP_E_LT,  TP_E_GE,       TP_E_EQ};
    enum { OPEN = 9 }; /* how far an open end is tried */
    static const int LENGTHS[] = {0, 1, 3, OPEN};
    unsigned points = 0, tight = 0; /* as narrow as the values are */
    (void)state;
    for (size_t k = 0; k < sizeof OPS / sizeof *OPS; k++)
        for (int alo = -3; alo <= 3; alo++)
            for (int blo = -3; blo <= 3; blo++)
                for (int lengths = 0; lengths < 16; lengths++) {
                    tp_arena *a = tp_arena_new(0);
                    tp_exprs *p = tp_exprs_new(a);
                    int la = LENGTHS[lengths / 4], lb = LENGTHS[lengths % 4];
                    tp_expr x = tp_sym_new(p, TP_S("x")), y = tp_sym_new(p, TP_S("y"));
                    tp_var vars[] = {{.sym = 0, .lo = tp_const(p, alo), .multiple_of = 1},
                                     {.sym = 1, .lo = tp_const(p, blo), .multiple_of = 1}};
                    if (la != OPEN)
                        vars[0].hi = tp_const(p, alo + la);
                    if (lb != OPEN)
                        vars[1].hi = tp_const(p, blo + lb);
                    tp_obligation o = {.vars = vars, .nvars = 2};
                    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.no_solver = true});
                    tp_expr e = tp_op2(p, OPS[k], x, y);
                    tp_interval range = tp_interval_of(v, &o, e), seen = {INT64_MAX, INT64_MIN};
                    for (int64_t i = alo; i <= alo + la; i++)
                        for (int64_t j = blo; j <= blo + lb; j++) {
                            int64_t env[] = {i, j}, value;
                            if (tp_expr_eval(p, e, env, &value) != TP_EVAL_OK)
                                continue;
                            points++;
                            seen.lo = value < seen.lo ? value : seen.lo;
                            seen.hi = value > seen.hi ? value : seen.hi;
                            if (value < range.lo || value > range.hi)
                                fail_msg("%lld %s %lld = %lld, outside [%lld, %lld]; x from %d%s, y from %d%s",
                                         (long long)i, tp_expr_op_text(OPS[k]), (long long)j, (long long)value,
                                         (long long)range.lo, (long long)range.hi, alo, la == OPEN ? " on" : "", blo,
                                         lb == OPEN ? " on" : "");
                        }
                    tight += seen.lo == range.lo && seen.hi == range.hi;
                    tp_prover_free(v);
                    tp_arena_free(a);
                }
    print_message("intervals of small ranges: %u points, %u tight\n", points, tight);
    assert_int_equal(tight, TIGHT);
}

/* Equations of which a later one changes what an earlier one put in. */
static void chains_of_equations(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_exprs *p = tp_exprs_new(a);
    tp_expr s[5], one = tp_const(p, 1);
    tp_var vars[5];
    for (uint32_t i = 0; i < 5; i++) {
        s[i] = tp_sym_new(p, tp_printf(a, "s%u", i));
        vars[i] = (tp_var){.sym = i, .lo = one, .multiple_of = 1};
    }
    tp_expr premises[3]; /* s0 = s1 + 1, s1 = s2 + 1, s2 = s3 + 1 */
    for (uint32_t i = 0; i < 3; i++)
        premises[i] = tp_op2(p, TP_E_EQ, s[i], tp_op2(p, TP_E_ADD, s[i + 1], one));
    tp_expr product = tp_op2(p, TP_E_MUL, s[0], s[4]), sum = tp_op2(p, TP_E_ADD, s[3], tp_const(p, 3));
    tp_obligation o = {.vars = vars,
                       .nvars = 5,
                       .premises = premises,
                       .npremises = 3,
                       .goal = tp_op2(p, TP_E_GE, product, tp_op2(p, TP_E_MUL, sum, s[4]))};
    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.no_solver = true});
    tp_decision d = tp_prove(v, &o);
    assert_int_equal(d.verdict, TP_PROVEN);
    assert_int_equal(d.grade, TP_GRADE_CERT);
    o.goal = tp_op2(p, TP_E_GE, product, tp_op2(p, TP_E_MUL, tp_op2(p, TP_E_ADD, sum, one), s[4]));
    assert_int_equal(tp_prove(v, &o).verdict, TP_VIOLATED);
    assert_int_equal(tp_prover_get_stats(v)->rejected, 0);
    tp_prover_free(v);
    tp_arena_free(a);
}

/* Asked again, a prover says the same: the env is the caller's own, has values for symbols that came since, and another
 * premise, another bound or another order is another question. */
static void what_was_decided_is_remembered(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_exprs *p = tp_exprs_new(a);
    tp_expr x = tp_sym_new(p, TP_S("x")), y = tp_sym_new(p, TP_S("y"));
    tp_var vars[] = {{.sym = 0, .lo = tp_const(p, 1), .hi = tp_const(p, 99), .multiple_of = 1},
                     {.sym = 1, .lo = tp_const(p, 1), .hi = tp_const(p, 99), .multiple_of = 1}};
    tp_expr premises[] = {tp_op2(p, TP_E_LE, x, y), tp_op2(p, TP_E_LE, y, tp_const(p, 50))};
    tp_obligation o = {.vars = vars, .nvars = 2, .premises = premises, .npremises = 2};
    o.goal = tp_op2(p, TP_E_LE, x, tp_const(p, 49));
    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.no_solver = true});
    tp_decision first = tp_prove(v, &o);
    assert_int_equal(first.verdict, TP_VIOLATED);
    assert_int_equal(first.env[0], 50);
    first.env[0] = -7;
    tp_expr late = tp_sym_new(p, TP_S("late"));
    tp_decision again = tp_prove(v, &o);
    uint32_t searched = tp_prover_get_stats(v)->searched;
    assert_int_equal(searched, 1); /* it was not searched for again */
    assert_int_equal(again.verdict, TP_VIOLATED);
    assert_int_equal(again.env[0], 50);
    assert_int_equal(again.env[tp_expr_get(p, late)->value], 0);
    vars[0].hi = tp_const(p, 49);
    assert_int_equal(tp_prove(v, &o).verdict, TP_PROVEN);
    vars[0].hi = tp_const(p, 99);
    premises[1] = tp_op2(p, TP_E_LE, y, tp_const(p, 49));
    tp_decision proof = tp_prove(v, &o);
    assert_int_equal(proof.verdict, TP_PROVEN);
    assert_ptr_equal(tp_prove(v, &o).proof, proof.proof);
    tp_expr swapped[] = {premises[1], premises[0]}; /* proofs number their premises */
    o.premises = swapped;
    proof = tp_prove(v, &o);
    assert_true(tp_check_proof(a, p, &o, proof.proof, NULL, NULL));
    assert_int_equal(tp_prover_get_stats(v)->obligations, 6);
    tp_prover_free(v);
    tp_arena_free(a);
}

/* ---- sums of linear facts ---- */

/* Facts of which a planted sum is a negative constant, among others that are
 * true at a point, so that only the planted ones can be to blame. */
static void planted_sums_are_found(void **state)
{
    (void)state;
    enum { SYMBOLS = 6, FACTS = 24, TRIALS_HERE = 3000 };
    unsigned found = 0, none = 0;
    for (uint64_t seed = 1; seed <= TRIALS_HERE; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 8)};
        int64_t point[SYMBOLS], factor[FACTS + 1];
        tp_expr sym[SYMBOLS];
        tp_poly facts[FACTS + 1], sum = {.ok = true};
        tp_linear_fact list[FACTS + 1];
        uint32_t n = 2 + (uint32_t)pick(&b, FACTS - 1), used = 1 + (uint32_t)pick(&b, (int)n);
        for (uint32_t i = 0; i < SYMBOLS; i++) {
            sym[i] = tp_sym_new(b.p, tp_printf(a, "s%u", i));
            point[i] = (int64_t)pick(&b, 200) - 100;
        }
        for (uint32_t k = 0; k < n; k++) {
            int64_t value = (int64_t)pick(&b, 5), at = 0;
            facts[k] = (tp_poly){.ok = true};
            for (uint32_t i = 0; i < SYMBOLS; i++) {
                int64_t c = pick(&b, 3) ? 0 : (int64_t)pick(&b, 5) - 2;
                c *= pick(&b, 4) ? 1 : 128;
                at += c * point[i];
                if (c)
                    tp_poly_add_term(&facts[k], &(tp_term){.coef = c, .degree = 1, .factors = {sym[i]}});
            }
            if (value != at)
                tp_poly_add_term(&facts[k], &(tp_term){.coef = value - at});
            if (k < used)
                tp_poly_add(&sum, &facts[k], 1 + (int64_t)pick(&b, 3));
        }
        bool planted = seed % 4 != 0;
        facts[n].n = 0;
        facts[n].ok = true;
        if (planted) { /* the negation of the sum, and one less */
            tp_poly_add(&facts[n], &sum, -1);
            tp_poly_add_term(&facts[n], &(tp_term){.coef = -1});
        }
        for (uint32_t k = 0; k <= n; k++)
            list[k] = (tp_linear_fact){facts[k].terms, facts[k].n};
        bool yes = tp_farkas(a, list, n + planted, 0, factor);
        tp_poly total = {.ok = true};
        for (uint32_t k = 0; yes && k < n + planted; k++) {
            assert_true(factor[k] >= 0);
            tp_poly_add(&total, &facts[k], factor[k]);
        }
        if (yes && !(total.ok && total.n == 1 && total.terms[0].degree == 0 && total.terms[0].coef < 0))
            fail_msg("seed %llu: the factors do not add up", (unsigned long long)seed);
        if (yes && !planted)
            fail_msg("seed %llu: facts that hold at a point are contradicted", (unsigned long long)seed);
        found += yes;
        none += !planted;
        tp_arena_free(a);
    }
    print_message("sums: %u of %u planted contradictions found, %u without one left alone\n", found, TRIALS_HERE - none,
                  none);
    assert_int_equal(found, PLANTED); /* factors with denominators over a million are given up */
}

/* x^3 + y^3 = z^3, with more work units than a second has: the reason names the clock. */
/* That no sum of two cubes is a cube. */
static void cubes(tp_exprs *p, tp_var *vars, tp_obligation *o)
{
    tp_expr cube[3];
    for (int i = 0; i < 3; i++) {
        tp_expr x = tp_sym_new(p, tp_printf(tp_exprs_arena(p), "x%d", i));
        vars[i] = (tp_var){.sym = (uint32_t)tp_expr_get(p, x)->value,
                           .lo = tp_const(p, 1000),
                           .hi = tp_const(p, 1000000),
                           .multiple_of = 1};
        cube[i] = tp_op2(p, TP_E_MUL, x, tp_op2(p, TP_E_MUL, x, x));
    }
    *o = (tp_obligation){.vars = vars,
                         .nvars = 3,
                         .goal = tp_op2(p, TP_E_NE, tp_op2(p, TP_E_ADD, cube[0], cube[1]), cube[2]),
                         .name = "cubes"};
}

static void a_stop_by_the_clock_is_said(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_exprs *p = tp_exprs_new(a);
    tp_var vars[3];
    tp_obligation o;
    cubes(p, vars, &o);
    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.rlimit = UINT32_MAX, .cpu_seconds = 1});
    tp_decision d = tp_prove(v, &o);
    assert_int_equal(d.verdict, TP_UNKNOWN);
    if (!memmem(d.reason.p, d.reason.n, "1 s of CPU: another machine may decide it", 41))
        fail_msg("not said: %.*s", TP_FMT(d.reason));
    tp_prover_free(v);
    tp_arena_free(a);
}

/* The obligation over fresh symbols. */
static tp_obligation renamed(box *b, const tp_obligation *o)
{
    uint32_t n = tp_sym_count(b->p);
    tp_expr *with = TP_NEWN(b->a, tp_expr, n), *premises = TP_NEWN(b->a, tp_expr, o->npremises + 1);
    tp_var *vars = TP_NEWN(b->a, tp_var, o->nvars + 1);
    tp_obligation r = *o;
    for (uint32_t i = 0; i < o->nvars; i++) {
        vars[i] = o->vars[i];
        vars[i].lo = tp_expr_subst(b->p, vars[i].lo, with, n);
        vars[i].hi = tp_expr_subst(b->p, vars[i].hi, with, n);
        with[vars[i].sym] = tp_sym_new(b->p, TP_S("other"));
        vars[i].sym = (uint32_t)tp_expr_get(b->p, with[vars[i].sym])->value;
    }
    for (uint32_t i = 0; i < o->npremises; i++)
        premises[i] = tp_expr_subst(b->p, o->premises[i], with, n);
    r.vars = vars;
    r.premises = premises;
    r.goal = tp_expr_subst(b->p, o->goal, with, n);
    return r;
}

/* Another prover that shares what was decided has the same answer by other names, with a case of its own, and asks no
 * engine; whoever wants any case has the same verdict. */
static void what_was_decided_is_recalled(void **state)
{
    (void)state;
    unsigned violated = 0, asked = 0, asked_again = 0;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 0)};
        tp_expr premises[2];
        tp_obligation o = random_obligation(&b, premises), other = renamed(&b, &o), any = o;
        tp_prover_options options = {.no_solver = true, .recall = tp_recall_new(a)}, alone = {.no_solver = true};
        tp_prover *first = tp_prover_new(a, b.p, &options), *second = tp_prover_new(a, b.p, &options),
                  *third = tp_prover_new(a, b.p, &alone);
        tp_decision d = tp_prove(first, &o), again = tp_prove(second, &other), without = tp_prove(third, &o);
        any.any_case = true;
        tp_decision rough = tp_prove(third, &any);
        if (d.verdict != again.verdict || d.verdict != without.verdict || d.verdict != rough.verdict)
            report(&b, &o, "another verdict", seed);
        assert_true(d.grade == without.grade && d.grade == again.grade);
        assert_true(d.verdict != TP_PROVEN || again.recalled); /* the shortest proof, too */
        if (d.verdict == TP_VIOLATED) {
            violated++;
            assert_true(tp_refutes(second, &other, again.env) && tp_refutes(third, &any, rough.env));
            for (uint32_t i = 0; i < o.nvars; i++)
                assert_true(again.env[other.vars[i].sym] == d.env[o.vars[i].sym] &&
                            without.env[o.vars[i].sym] == d.env[o.vars[i].sym]);
        }
        const tp_prover_stats *one = tp_prover_get_stats(first), *two = tp_prover_get_stats(second);
        asked += one->searched + one->enumerated;
        asked_again += two->searched + two->enumerated;
        tp_prover_free(first);
        tp_prover_free(second);
        tp_prover_free(third);
        tp_arena_free(a);
    }
    assert_true(violated > 100 && asked > 100);
    assert_int_equal(asked_again, 0);
}

/* Four numbers up to `most` that are 0 or 2 do not add up to an odd one; `any`: nobody asks for a proof. */
static tp_decision evens_add_up_to(int64_t sum, int64_t most, bool any)
{
    tp_arena *a = tp_arena_new(0);
    tp_exprs *p = tp_exprs_new(a);
    tp_expr premises[5], zero = tp_const(p, 0), two = tp_const(p, 2), total = zero;
    tp_var vars[4];
    for (uint32_t i = 0; i < 4; i++) {
        tp_expr s = tp_sym_new(p, tp_printf(a, "s%u", i));
        vars[i] = (tp_var){.sym = i, .lo = zero, .hi = tp_const(p, most), .multiple_of = 1};
        premises[i] = tp_op2(p, TP_E_OR, tp_op2(p, TP_E_EQ, s, zero), tp_op2(p, TP_E_EQ, s, two));
        total = tp_op2(p, TP_E_ADD, total, s);
    }
    premises[4] = tp_op2(p, TP_E_EQ, total, tp_const(p, sum));
    tp_obligation o = {vars, 4, premises, 5, zero, .name = "evens", .any_case = any};
    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.no_solver = true});
    tp_decision d = tp_prove(v, &o);
    d.env = NULL;
    tp_prover_free(v);
    tp_arena_free(a);
    return d;
}

/* Where any case will do, few points are tried before a proof is looked for; where the premises alone make them few,
 * before a long one. */
static void few_points_come_before_proofs(void **state)
{
    (void)state;
    assert_int_equal(evens_add_up_to(3, 2, false).grade, TP_GRADE_CERT);
    assert_int_equal(evens_add_up_to(9, 2, false).grade, TP_GRADE_CERT);
    for (int64_t sum = -1; sum <= 10; sum++) {
        bool is_sum = sum >= 0 && sum <= 8 && sum % 2 == 0;
        tp_decision few = evens_add_up_to(sum, 2, true), many = evens_add_up_to(sum, 20, true);
        assert_int_equal(few.verdict, is_sum ? TP_VIOLATED : TP_PROVEN);
        assert_int_equal(many.verdict, few.verdict);
        assert_int_equal(few.grade, is_sum ? TP_GRADE_NONE : TP_GRADE_EXACT);
    }
    assert_int_equal(evens_add_up_to(3, 20, true).grade, TP_GRADE_EXACT);
    assert_int_equal(evens_add_up_to(-1, 20, true).grade, TP_GRADE_CERT); /* a short one comes first */
}

typedef struct query {
    tp_prover *v;
    const tp_obligation *o;
} query;

static void ask_once(void *arg)
{
    query *q = arg;
    tp_prove(q->v, q->o);
}

/* The limit of the system is of whole seconds: a second more than the spec had left, once. */
static void a_query_takes_no_more_than_is_left(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_budget b;
    struct rusage before, after;
    tp_budget_begin(&b, 1, 0);
    tp_arena_set_budget(a, &b);
    tp_budget_child(&b, b.max_seconds - 0.2);
    tp_exprs *p = tp_exprs_new(a);
    tp_obligation o;
    tp_var vars[3];
    cubes(p, vars, &o);
    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.rlimit = UINT32_MAX});
    getrusage(RUSAGE_CHILDREN, &before);
    tp_try(a, ask_once, &(query){v, &o}); /* left, its time being over */
    assert_true(tp_budget_over(&b));
    tp_prover_free(v); /* and what its solver took is counted */
    getrusage(RUSAGE_CHILDREN, &after);
    double took = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                  (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) * 1e-6;
    if (took > 0.5)
        fail_msg("a query took %.2f s, where 0.2 were left", took);
    tp_arena_free(a);
}

/* The one process that this thread has forked; 0: none. */
static int only_child(void)
{
    int pid = 0;
    FILE *f = fopen("/proc/thread-self/children", "r");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

/* x * y + x >= x * y, for the solver alone. */
static tp_verdict ask_something(tp_solver *solver)
{
    tp_arena *a = tp_arena_new(0);
    tp_exprs *p = tp_exprs_new(a);
    tp_var vars[3];
    tp_obligation o;
    cubes(p, vars, &o);
    tp_expr x = tp_sym(p, vars[0].sym), y = tp_sym(p, vars[1].sym), xy = tp_op2(p, TP_E_MUL, x, y);
    o.goal = tp_op2(p, TP_E_GE, tp_op2(p, TP_E_ADD, xy, x), xy);
    tp_prover *v = tp_prover_new(a, p, &(tp_prover_options){.solver = solver, .only_solver = true});
    tp_verdict verdict = tp_prove(v, &o).verdict;
    tp_prover_free(v);
    tp_arena_free(a);
    return verdict;
}

/* A solver's process that somebody else ended is started anew, and none outlives its handle. */
static void a_solver_is_started_again(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_solver *solver = tp_solver_new(a);
    assert_int_equal(ask_something(solver), TP_PROVEN);
    int first = only_child();
    if (first) { /* systems without that file have nothing to look at */
        kill(first, SIGKILL);
        waitid(P_PID, (id_t)first, &(siginfo_t){0}, WEXITED | WNOWAIT);
        assert_int_equal(ask_something(solver), TP_PROVEN);
        assert_int_not_equal(only_child(), first);
    }
    tp_solver_free(solver);
    assert_int_equal(only_child(), 0);
    tp_arena_free(a);
}

/* Not though another process has this one's end, too, as those have that a host forks while a call lasts. */
static void a_solver_ends_with_its_handle(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_solver *solver = tp_solver_new(a);
    assert_int_equal(ask_something(solver), TP_PROVEN);
    pid_t other = fork();
    if (other == 0)
        for (;;)
            pause();
    alarm(60); /* it would wait for ever */
    tp_solver_free(solver);
    alarm(0);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    tp_arena_free(a);
}

/* A term has as many factors as its degree says: a product of polynomials leaves others behind them. */
static void terms_end_with_their_degree(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_exprs *p = tp_exprs_new(a);
    tp_expr x = tp_sym_new(p, TP_S("x")), y = tp_sym_new(p, TP_S("y"));
    tp_poly three, times, product, same;
    memset(&three, 0x5a, sizeof three);
    tp_poly_constant(&three, 3);
    tp_poly_of(p, x, &times);
    tp_poly_mul(&three, &times, &product);
    tp_poly_of(p, tp_op2(p, TP_E_MUL, x, tp_const(p, 3)), &same);
    assert_int_equal(product.n, 1);
    assert_true(tp_same_monomial(&product.terms[0], &same.terms[0]));
    assert_false(tp_same_monomial(&product.terms[0], &three.terms[0]));
    tp_poly_of(p, y, &same);
    assert_false(tp_same_monomial(&product.terms[0], &same.terms[0]));
    tp_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_points_come_before_proofs),
                                       cmocka_unit_test(random_obligations),
                                       cmocka_unit_test(planted_sums_are_found),
                                       cmocka_unit_test(terms_end_with_their_degree),
                                       cmocka_unit_test(a_solver_is_started_again),
                                       cmocka_unit_test(a_solver_ends_with_its_handle),
                                       cmocka_unit_test(intervals_of_small_ranges),
                                       cmocka_unit_test(chains_of_equations),
                                       cmocka_unit_test(what_was_decided_is_remembered),
                                       cmocka_unit_test(what_was_decided_is_recalled),
                                       cmocka_unit_test(intervals_hold_every_value),
                                       cmocka_unit_test(a_stop_by_the_clock_is_said),
                                       cmocka_unit_test(a_query_takes_no_more_than_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
