/* The prover against brute force on random obligations. A wrong verdict of
 * either kind fails; "unknown" is counted. The seed is printed. TEST_SMT2=DIR
 * writes the obligations, for other solvers. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "tests/unit/obligations.h"

/* CERTIFIED: proofs of our own among the default trials; does not depend on Z3.
 * It is the power of the exact engine: let it grow, and know why when it falls. */
enum { TRIALS = 6000, CERTIFIED = 2373 };

static void report(box *b, const tp_obligation *o, const char *what, uint64_t seed)
{
    for (uint32_t i = 0; i < o->nvars; i++)
        print_message("  %.*s <= v%u <= %.*s, multiple of %lld\n", TP_FMT(tp_expr_text(b->p, o->vars[i].lo)), i,
                      TP_FMT(tp_expr_text(b->p, o->vars[i].hi)), (long long)o->vars[i].multiple_of);
    for (uint32_t i = 0; i < o->npremises; i++)
        print_message("  given %.*s\n", TP_FMT(tp_expr_text(b->p, o->premises[i])));
    fail_msg("seed %llu: %s: %s", (unsigned long long)seed, what, tp_cstr(b->a, tp_expr_text(b->p, o->goal)));
}

static void random_obligations(void **state)
{
    (void)state;
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
    if (!given && !count)
        assert_int_equal(certified, CERTIFIED);
    assert_true(refused * 1000 <= certified);
    assert_true(proven > trials / 20);
    assert_true(violated > trials / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_obligations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
