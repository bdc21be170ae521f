/* Invariants that headers state are checked in builds with TP_ASSERTS: a violation of each kind, planted in a child,
 * ends it. Other builds have no checks, and nothing to test. Each plant holds when it is left out: what it builds on is
 * checked by the same call before it. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/equality/sum.h"
#include "base/assert.h"
#include "base/budget.h"
#include "base/checked.h"
#include "base/rng.h"
#include "demand/internal.h"
#include "domains/residue.h"
#include "kernels/machine/internal.h"
#include "smt/trust/bigpoly.h"
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

/* ---- base/ ---- */

static void number_below_0(loaded *l)
{
    (void)l;
    tp_rng rng = tp_rng_new(1, 1);
    tp_rng_below(&rng, 1);
    tp_rng_below(&rng, 0);
}

static void last_of_no_elements(loaded *l)
{
    (void)l;
    int64_t r;
    tp_last(0, 1, 1, &r);
    tp_last(0, 0, 1, &r);
}

static void turns_by_0(loaded *l)
{
    (void)l;
    int64_t r;
    tp_turns(0, 4, 1, &r);
    tp_turns(0, 4, 0, &r);
}

static void edits_that_overlap(loaded *l)
{
    tp_edit at[] = {{0, 3, TP_S("x")}, {3, 4, TP_S("y")}};
    tp_edits edits = {at, 2, 2};
    tp_apply_edits(l->arena, TP_S("abcdef"), &edits);
    at[1].start = 2;
    tp_apply_edits(l->arena, TP_S("abcdef"), &edits);
}

static void budget_without_its_bytes(loaded *l)
{
    (void)l;
    tp_arena *a = tp_arena_new(0);
    tp_budget *b = TP_NEW(a, tp_budget);
    tp_arena_set_budget(a, b);
    tp_arena *child = tp_arena_child(a);
    tp_alloc(child, 64);
    tp_arena_free(child);
    child = tp_arena_child(a);
    tp_alloc(child, 64);
    b->bytes = 0;
    tp_arena_free(child);
}

#ifdef TP_BOUNDS_CHECKED
static void element_behind_a_vector(loaded *l)
{
    TP_VEC(int) v = {0};
    tp_push(l->arena, v, 1);
    v.at[0] = 2;
    v.at[1] = 3;
}
#endif

static void no_dtype(loaded *l)
{
    (void)l;
    tp_dtype_info(TP_F32);
    tp_dtype_info((tp_dtype)4711);
}

static void no_primitive(loaded *l)
{
    (void)l;
    tp_prim_info(TP_P_ADD);
    tp_prim_info(TP_PRIMS);
}

/* ---- spec/ ---- */

static void expression_of_another_pool(loaded *l)
{
    const tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr_get(p, l->spec->kernels[0]->axes[0].steps);
    tp_expr_get(p, (tp_expr){1 << 30});
}

static void symbol_of_another_pool(loaded *l)
{
    const tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_sym(p, 0);
    tp_sym(p, 1 << 20);
}

static void terms_out_of_order(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_poly q = {.ok = true, .n = 2};
    q.terms[0] = (tp_term){.coef = 2, .degree = 1, .factors = {tp_sym(p, 0)}};
    q.terms[1] = (tp_term){.coef = 1, .degree = 0};
    tp_poly_expr(p, &q);
    tp_term t = q.terms[0];
    q.terms[0] = q.terms[1];
    q.terms[1] = t;
    tp_poly_expr(p, &q);
}

static void term_of_coefficient_0(loaded *l)
{
    tp_poly q = {.ok = true, .n = 1};
    q.terms[0].coef = 0;
    tp_poly_expr(l->spec->kernels[0]->exprs, &q);
}

static void choices_that_descend(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    int64_t choices[] = {4, 2};
    tp_assert(tp_kernel_holds(k));
    k->sizes[0].kind = TP_SIZE_CHOICE;
    k->sizes[0].choices = choices;
    k->sizes[0].nchoices = 2;
    tp_assert(tp_kernel_holds(k));
}

static void output_among_the_inputs(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->operands[0].role = TP_OUTPUT;
    tp_assert(tp_kernel_holds(k));
}

static void alias_of_an_output(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->operands[1].alias = 1;
    tp_assert(tp_kernel_holds(k));
}

/* ---- smt/ ---- */

static void choices_of_a_variable_that_descend(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr a = tp_sym_new(p, TP_S("a"));
    int64_t choices[] = {1, 2};
    tp_var v = {.sym = (uint32_t)tp_expr_get(p, a)->value,
                .lo = tp_const(p, 1),
                .hi = tp_const(p, 2),
                .multiple_of = 1,
                .choices = choices,
                .nchoices = 2};
    tp_obligation o = {.vars = &v, .nvars = 1, .goal = tp_op2(p, TP_E_GE, a, tp_const(p, 1)), .name = "planted"};
    tp_prove(tp_prover_new(l->arena, p, &(tp_prover_options){.no_solver = true}), &o);
    choices[0] = 3;
    tp_prove(tp_prover_new(l->arena, p, &(tp_prover_options){.no_solver = true}), &o);
}

static void big_terms_out_of_order(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_bigs b = {.arena = l->arena, .exprs = p, .budget = 1000};
    tp_bigpoly x = tp_big_of(&b, tp_op2(p, TP_E_ADD, tp_sym(p, 0), tp_const(p, 1)), NULL, 0), none = {0};
    tp_bigpoly y = tp_big_times(&b, &x, &x);
    mpz_set_si(y.at[0].coef, 0);
    tp_big_plus(&b, &none, &x, 1);
    x.at[0].degree = 2;
    x.at[0].atoms = (uint32_t[]){1, 0};
    tp_big_plus(&b, &x, &none, 1);
}

/* ---- analyzer/ ---- */

static void term_that_nobody_made(loaded *l)
{
    tp_equality out;
    tp_analysis_options o = {.nonly = 0};
    summary *s = summary_new(l->arena, l->spec->kernels[0], &o, &out);
    term t = term_real(s, 1);
    term_get(s, t);
    term_get(s, (term){t.id + 1});
}

static void sum_that_nobody_made(loaded *l)
{
    tp_equality out;
    tp_analysis_options o = {.nonly = 0};
    summary *s = summary_new(l->arena, l->spec->kernels[0], &o, &out);
    uint32_t one = sum_constant(s, 1);
    sum_get(s, one);
    sum_get(s, one + 100);
}

/* ---- kernels/, domains/, demand/ ---- */

static void step_twice(loaded *l)
{
    (void)l;
    int64_t order[] = {1, 0, 2};
    tp_grid g = {.steps = {3}, .order = {order}};
    tp_assert(tp_grid_holds(&g, 1));
    order[0] = 0;
    tp_assert(tp_grid_holds(&g, 1));
}

static void visit_nothing(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx)
{
    (void)r, (void)array, (void)lane, (void)n, (void)ctx;
}

static void window_past_its_array(loaded *l)
{
    int64_t dims[] = {8};
    tp_tensor x = {.dtype = TP_F32, .rank = 1, .n = 8};
    x.dims[0] = 8;
    tp_ref r = {.operand = &l->spec->kernels[0]->operands[0], .array = &x, .block = {8}};
    tp_cells_init(l->arena, &r.cells, TP_F32, 1, dims);
    tp_each_inner_row(&r, visit_nothing, NULL);
    x.n = 4;
    tp_each_inner_row(&r, visit_nothing, NULL);
}

static void residue_over_its_prime(loaded *l)
{
    (void)l;
    uint64_t x = tp_word(TP_Q - 1, TP_P - 1), y = TP_FIELD_UNKNOWN, r;
    tp_residues_add(1, &x, &x, &r);
    tp_residues_multiply(1, &x, &y, &r);
    y = tp_word(0, 2 * (uint64_t)TP_P);
    tp_residues_add(1, &x, &y, &r);
}

static void more_words_than_a_sum_holds(loaded *l)
{
    (void)l;
    uint64_t x = 1;
    tp_residues_sum(1, &x);
    tp_residues_sum((size_t)1 << 31, &x);
}

static void product_of_other_shapes(loaded *l)
{
    tp_domain *d = tp_rounding_new(l->arena);
    double room[3][4] = {{0}};
    tp_lanes x = {.dtype = TP_I32, .stored = TP_F64, .n = 4, .data = room[0]}, y = x, out = x;
    d->dot(d, (tp_dot_shape){1, 2, 2, 2}, &out, &x, &y);
    d->dot(d, (tp_dot_shape){1, 2, 2, 3}, &out, &x, &y);
}

static void group_past_its_array(loaded *l)
{
    tp_domain *d = tp_rounding_new(l->arena);
    double room[4] = {0};
    size_t base[] = {0, 2}, offset[] = {0, 1};
    tp_groups g = {2, 2, base, offset};
    tp_lanes x = {.dtype = TP_I32, .stored = TP_F64, .n = 4, .data = room}, out = {.dtype = TP_I32, .n = 2};
    d->reduce(d, TP_P_SUM, &out, &x, &g);
    base[1] = 3;
    d->reduce(d, TP_P_SUM, &out, &x, &g);
}

static void element_outside(loaded *l)
{
    (void)l;
    shape s = {.rank = 2, .dims = {2, 3}};
    demand_ravel(&s, (int64_t[]){1, 2});
    demand_ravel(&s, (int64_t[]){1, 3});
}

#define PLANT(f)                                                                                                       \
    {                                                                                                                  \
#f, f                                                                                                          \
    }

static void each_violation_ends_the_program(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        void (*plant)(loaded *);
    } PLANTED[] = {
        PLANT(sum_out_of_order),
        PLANT(argument_before_it_is_there),
        PLANT(bound_over_a_later_variable),
        PLANT(shadow_without_origins),
        PLANT(number_below_0),
        PLANT(last_of_no_elements),
        PLANT(turns_by_0),
        PLANT(edits_that_overlap),
        PLANT(budget_without_its_bytes),
#ifdef TP_BOUNDS_CHECKED
        PLANT(element_behind_a_vector),
#endif
        PLANT(no_dtype),
        PLANT(no_primitive),
        PLANT(expression_of_another_pool),
        PLANT(symbol_of_another_pool),
        PLANT(terms_out_of_order),
        PLANT(term_of_coefficient_0),
        PLANT(choices_that_descend),
        PLANT(output_among_the_inputs),
        PLANT(alias_of_an_output),
        PLANT(choices_of_a_variable_that_descend),
        PLANT(big_terms_out_of_order),
        PLANT(term_that_nobody_made),
        PLANT(sum_that_nobody_made),
        PLANT(step_twice),
        PLANT(window_past_its_array),
        PLANT(residue_over_its_prime),
        PLANT(more_words_than_a_sum_holds),
        PLANT(product_of_other_shapes),
        PLANT(group_past_its_array),
        PLANT(element_outside),
    };
    if (!tp_asserts())
        skip();
    for (size_t i = 0; i < sizeof PLANTED / sizeof *PLANTED; i++) {
        pid_t pid = fork();
        int status;
        if (pid == 0) {
            loaded *l = load_text(SPEC);
            close(STDERR_FILENO);
            PLANTED[i].plant(l);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) /* the sanitizer exits, tp_assert() aborts */
            fail_msg("%s: a planted violation is not noticed", PLANTED[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_violation_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
