/* Invariants of analyzer/flow/ (asserts.h). */
#include "analyzer/flow/flow.h"
#include "analyzer/flow/internal.h"
#include "tests/unit/asserts.h"

static void leak_of_no_operand(loaded *l)
{
    const tp_kernel *k = l->spec->kernels[0];
    flow f = {.k = k};
    tp_leak leak = {.when = tp_const(k->exprs, 1), .through = TP_PRIMS};
    tp_assert(flow_leak_holds(&f, &leak));
    leak.operand = tp_noperands(k);
    tp_assert(flow_leak_holds(&f, &leak));
}

static void leak_past_the_last_dimension(loaded *l)
{
    const tp_kernel *k = l->spec->kernels[0];
    flow f = {.k = k};
    tp_leak leak = {.when = tp_const(k->exprs, 1), .through = TP_PRIMS, .dim = 0};
    tp_assert(flow_leak_holds(&f, &leak));
    leak.dim = 2;
    tp_assert(flow_leak_holds(&f, &leak));
}

static void each_violation_ends_the_program(void **state)
{
    (void)state;
    static const planted PLANTED[] = {PLANT(leak_of_no_operand), PLANT(leak_past_the_last_dimension)};
    expect_noticed(PLANTED, sizeof PLANTED / sizeof *PLANTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_violation_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
