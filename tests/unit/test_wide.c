/* Wide and deep specs are proven: of every kind, for TEST_TRIALS seeds from TEST_SEED on. bench/scale.c has the times.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "tests/unit/support.h"
#include "tests/unit/wide.h"

/* Each more than what some list of the analyzer once had room for. */
static const int64_t SIZES[WIDE_KINDS] = {
    [WIDE_OPERANDS] = 256, [WIDE_PAIRS] = 96,   [WIDE_STATEMENTS] = 300, [WIDE_BRANCHES] = 64,
    [WIDE_CHAIN] = 64,     [WIDE_LOOP] = 10000, [WIDE_LATE_ROWS] = 31,   [WIDE_SCRATCH] = 100,
};

static void expect_proven(wide_kind kind, int64_t n, uint64_t seed)
{
    tp_arena *a = tp_arena_new(0);
    wide_lint c = wide_lint_of(a, wide_spec(a, kind, n, seed));
    const tp_finding *f = c.first_open;
    if (f)
        fail_msg("%s of %lld, TEST_SEED=%llu: %s %.*s: %.*s", WIDE_NAMES[kind], (long long)n, (unsigned long long)seed,
                 f->rule, TP_FMT(f->message), TP_FMT(f->reason));
    assert_true(c.open == 0 && c.proven > 10);
    tp_arena_free(a);
}

static void all_of_it_is_proven(void **state)
{
    const char *seed = getenv("TEST_SEED"), *trials = getenv("TEST_TRIALS");
    uint64_t from = seed ? strtoull(seed, NULL, 10) : 1, n = trials ? strtoull(trials, NULL, 10) : 3;
    (void)state;
    for (uint64_t s = from; s < from + n; s++)
        for (wide_kind k = 0; k < WIDE_KINDS; k++)
            expect_proven(k, SIZES[k], s);
}

/* At these a walk once knew less than at the sizes around them. */
static void loops_of_any_length_are_proven(void **state)
{
    static const int64_t TURNS[] = {1, 2, 7, 15, 16, 31, 32, 63, 64, 65, 100, 1000};
    (void)state;
    for (size_t i = 0; i < sizeof TURNS / sizeof *TURNS; i++)
        for (uint64_t s = 1; s <= 3; s++) {
            expect_proven(WIDE_LOOP, TURNS[i], s);
            expect_proven(WIDE_LATE_ROWS, TURNS[i], s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_it_is_proven),
                                       cmocka_unit_test(loops_of_any_length_are_proven)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
