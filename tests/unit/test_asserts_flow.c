/* Invariants of analyzer/claim/ and analyzer/flow/ (asserts.h). */
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

/* An obligation of a claim with this goal, and variables of its own. */
static void ask(loaded *l, tp_expr goal, const tp_var *extra, uint32_t nextra, const tp_var *walk, uint32_t nwalk)
{
    tp_analysis_options o = {.nonly = 0};
    tp_analysis *a = tp_analysis_begin(l->arena, l->spec->kernels[0], &o);
    tp_claim c = {.goal = goal, .extra = extra, .nextra = nextra, .walk = walk, .nwalk = nwalk, .subject = TP_S("x")};
    tp_claim_obligation(a, &c);
}

static tp_var variable(tp_exprs *p, tp_expr sym, tp_expr hi)
{
    return (tp_var){
        .sym = (uint32_t)tp_expr_get(p, sym)->value, .lo = tp_const(p, 0), .hi = hi, .multiple_of = 1, .step = true};
}

static void symbol_without_a_range(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr v = tp_sym_new(p, TP_S("v")), goal = tp_op2(p, TP_E_GE, v, tp_const(p, 0));
    tp_var known = variable(p, v, tp_const(p, 3));
    ask(l, goal, &known, 1, NULL, 0);
    ask(l, goal, NULL, 0, NULL, 0);
}

static void range_over_a_symbol_without_one(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr v = tp_sym_new(p, TP_S("v")), w = tp_sym_new(p, TP_S("w")), goal = tp_op2(p, TP_E_GE, w, tp_const(p, 0));
    tp_var known[] = {variable(p, v, tp_const(p, 3)), variable(p, w, v)};
    ask(l, goal, known, 2, NULL, 0);
    ask(l, goal, known + 1, 1, NULL, 0);
}

static void range_over_a_later_variable(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr v = tp_sym_new(p, TP_S("v")), w = tp_sym_new(p, TP_S("w")), goal = tp_op2(p, TP_E_GE, w, tp_const(p, 0));
    tp_var known[] = {variable(p, v, tp_const(p, 3)), variable(p, w, v)}, late[] = {known[1], known[0]};
    ask(l, goal, known, 1, known + 1, 1);
    ask(l, goal, NULL, 0, known, 2);
    ask(l, goal, NULL, 0, late, 2);
}

static void range_over_a_variable_of_the_walk(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr v = tp_sym_new(p, TP_S("v")), w = tp_sym_new(p, TP_S("w")), goal = tp_op2(p, TP_E_GE, w, tp_const(p, 0));
    tp_var known[] = {variable(p, v, tp_const(p, 3)), variable(p, w, v)};
    ask(l, goal, known, 1, known + 1, 1);
    ask(l, goal, known + 1, 1, known, 1);
}

static void each_violation_ends_the_program(void **state)
{
    (void)state;
    static const planted PLANTED[] = {PLANT(leak_of_no_operand),          PLANT(leak_past_the_last_dimension),
                                      PLANT(symbol_without_a_range),      PLANT(range_over_a_symbol_without_one),
                                      PLANT(range_over_a_later_variable), PLANT(range_over_a_variable_of_the_walk)};
    expect_noticed(PLANTED, sizeof PLANTED / sizeof *PLANTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_violation_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
