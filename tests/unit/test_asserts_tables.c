/* Invariants of tables (asserts.h). */
#include "kernels/machine/machine.h"
#include "spec/table.h"
#include "tests/unit/asserts.h"

static void table_that_prepare_does_not_compute(loaded *l)
{
    static const char TEXT[] =
        "{\"tileproof\": 1, \"name\": \"p\", \"scalar_prefetch\": [{\"name\": \"t\", \"dtype\": \"int32\", "
        "\"shape\": [1]}], \"prepare\": {\"program\": [\"t[0] = 7\"]}, \"outputs\": [{\"name\": \"o\", \"dtype\": "
        "\"int32\", \"shape\": [1]}], \"kernel\": [\"o[...] = full((1,), 0, int32) + t[0]\"]}";
    const tp_kernel *k = load_text(TEXT)->spec->kernels[0];
    int64_t dims[] = {1}, *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    tp_tensor arrays[] = {tp_tensor_new(l->arena, TP_I32, 1, dims)};
    tp_run_request r = {.kernel = k, .env = env, .arrays = arrays};
    tp_trap trap;
    assert_true(tp_tables_find(l->arena, k, env, NULL, 0, 0, NULL));
    tp_machine_run(l->arena, &r, &trap, NULL);
    tp_bound_table(env, k->tables[0].sym)->at[0] = 8;
    tp_machine_run(l->arena, &r, &trap, NULL);
}

static void each_violation_ends_the_program(void **state)
{
    (void)state;
    static const planted PLANTED[] = {PLANT(table_that_prepare_does_not_compute)};
    expect_noticed(PLANTED, sizeof PLANTED / sizeof *PLANTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_violation_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
