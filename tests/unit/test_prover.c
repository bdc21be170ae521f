/* The prover against brute force on random obligations. A wrong verdict of
 * either kind fails; "unknown" is counted. The seed is printed. TEST_SMT2=DIR
 * writes the obligations, for other solvers. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "smt/internal.h"
#include "smt/proof.h"
#include "tests/unit/obligations.h"

/* CERTIFIED: proofs of our own among the default trials; does not depend on Z3.
 * It is the power of the exact engine: let it grow, and know why when it falls. */
enum { TRIALS = 6000, CERTIFIED = 2384 };
enum { BOUNDED = 6146 }; /* of the random intervals */
static const char PARTS[] =
    " 792 766 7 195 3721 250 412 2079 1892 0 | 1804 1581 1273 941 9355 496 3 390";

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
    const char *given = getenv("TEST_SEED"), *count = getenv("TEST_TRIALS");
    uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    unsigned trials = count ? (unsigned)strtoul(count, NULL, 10) : TRIALS, proven = 0, violated = 0, unknown = 0,
             z3 = 0, certified = 0, solver_alone = 0, refused = 0;
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
    if (!given && !count) {
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
    unsigned points = 0, tight = 0, trials = 8000;
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
        evaluate_points(&b, e, 0, env, &range, &points);
        tp_prover_free(v);
        tp_arena_free(a);
    }
    print_message("intervals: %u expressions, %u points, %u with both ends\n", trials, points, tight);
    assert_true(tight > trials / 2);
    assert_int_equal(tight, BOUNDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_obligations),
                                       cmocka_unit_test(intervals_hold_every_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
