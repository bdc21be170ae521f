/* Invariants that headers state are checked in builds with TP_ASSERTS: a violation of each kind, planted in a child,
 * ends it. Other builds have no checks, and nothing to test. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/equality/sum.h"
#include "base/assert.h"
#include "kernels/machine/internal.h"
#include "tests/unit/support.h"

#define SPEC                                                                                                           \
    "{\"tileproof\": 1, \"name\": \"k\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "                     \
    "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": "             \
    "\"float32\", "                                                                                                    \
    "\"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": "  \
    "\"float32\", \"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], \"kernel\": [\"o[...] = x[...] " \
    "+ 1\"], "                                                                                                         \
    "\"reference\": [\"o = x + 1\"]}"

static void sum_out_of_order(loaded *l)
{
    tp_equality out;
    tp_analysis_options o = {.nonly = 0};
    summary *s = summary_new(l->arena, l->spec->kernels[0], &o, &out);
    product two[] = {product_of(1, 1), product_of(3, 6)};
    sum_intern(s, two, 2);
}

static void argument_before_it_is_there(loaded *l)
{
    const tp_kernel *k = l->spec->kernels[0];
    const tp_region *r = &k->body->statements;
    for (uint32_t i = r->len; i-- > 0;)
        if (r->at[i].kind == TP_COMPUTE && r->at[i].inst->nargs)
            r->at[i].inst->args[0] = r->at[i].inst->out;
    tp_assert(tp_program_holds(l->arena, k, k->body));
}

static void bound_over_a_later_variable(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr a = tp_sym_new(p, TP_S("a")), b = tp_sym_new(p, TP_S("b")), zero = tp_const(p, 0);
    tp_var vars[] = {{.sym = (uint32_t)tp_expr_get(p, a)->value, .lo = zero, .hi = b, .multiple_of = 1},
                     {.sym = (uint32_t)tp_expr_get(p, b)->value, .lo = zero, .hi = zero, .multiple_of = 1}};
    tp_obligation o = {.vars = vars, .nvars = 2, .goal = tp_op2(p, TP_E_GE, a, zero), .name = "planted"};
    tp_prove(tp_prover_new(l->arena, p, &(tp_prover_options){.no_solver = true}), &o);
}

static void shadow_without_origins(loaded *l)
{
    int64_t dims[] = {4};
    tp_cells c = {.rank = 0};
    tp_cells_init(l->arena, &c, TP_F32, 1, dims);
    tp_assert(tp_cells_hold(&c));
    c.state = TP_MIXED;
    c.shadow = NULL;
    tp_assert(tp_cells_hold(&c));
}

static void each_violation_ends_the_program(void **state)
{
    (void)state;
    static void (*const PLANTED[])(loaded *) = {sum_out_of_order, argument_before_it_is_there,
                                                bound_over_a_later_variable, shadow_without_origins};
    if (!tp_asserts())
        skip();
    for (size_t i = 0; i < sizeof PLANTED / sizeof *PLANTED; i++) {
        pid_t pid = fork();
        int status;
        if (pid == 0) {
            loaded *l = load_text(SPEC);
            close(STDERR_FILENO);
            PLANTED[i](l);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("planted violation %zu is not noticed", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_violation_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
