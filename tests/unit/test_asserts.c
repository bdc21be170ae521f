/* Invariants that headers state are checked in builds with TP_ASSERTS (asserts.h). Those of analyzer/flow/ are in
 * test_asserts_flow.c, whose headers do not go with those of the machine. */

#include "analyzer/analyze.h"
#include "analyzer/equality/sum.h"
#include "base/assert.h"
#include "base/budget.h"
#include "base/checked.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/rng.h"
#include "base/strided.h"
#include "base/tensor.h"
#include "demand/internal.h"
#include "domains/residue.h"
#include "kernels/machine/internal.h"
#include "kernels/trial/equiv.h"
#include "smt/cache.h"
#include "smt/internal.h"
#include "smt/trust/bigpoly.h"
#include "tests/unit/asserts.h"

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

static void text_past_its_room(loaded *l)
{
    tp_buf b = {.arena = l->arena};
    tp_buf_c(&b, "text");
    tp_buf_c(&b, "more");
    b.n = b.cap;
    tp_buf_c(&b, "");
}

static void key_of_no_text(loaded *l)
{
    tp_map m = {0};
    tp_map_set(l->arena, &m, TP_S(""), 1);
    tp_map_set(l->arena, &m, (tp_str){NULL, 0}, 1);
}

static void arena_given_back_twice(loaded *l)
{
    (void)l;
    tp_pool *p = tp_pool_new();
    tp_arena *a = tp_pool_take(p, 0);
    tp_pool_give(p, a);
    tp_pool_give(p, a);
}

static void work_below_0(loaded *l)
{
    tp_charge(l->arena, 1);
    tp_charge(l->arena, -1);
}

static void spent_below_0(loaded *l)
{
    tp_spend(l->arena, 0);
    tp_spend(l->arena, -1);
}

static void share_of_more_than_all(loaded *l)
{
    tp_budget *b = TP_NEW(l->arena, tp_budget);
    tp_budget_begin(b, 0, 0);
    tp_budget_close(b, tp_budget_share(b, 1));
    tp_budget_share(b, 1.5);
}

static void back_to_no_place(loaded *l)
{
    tp_budget *b = TP_NEW(l->arena, tp_budget);
    tp_budget_begin(b, 0, 0);
    tp_budget_back(b, tp_budget_at(b, "here", TP_S("")));
    tp_budget_back(b, TP_BUDGET_PLACES - 1);
}

static void elements_of_3_bytes(loaded *l)
{
    (void)l;
    int64_t dims[] = {1};
    ptrdiff_t stride[] = {1};
    char from[4] = {0}, to[4];
    tp_move(4, 1, dims, to, stride, from, stride);
    tp_move(3, 1, dims, to, stride, from, stride);
}

static void array_of_another_size(loaded *l)
{
    int64_t dims[] = {2, 3};
    tp_tensor t = tp_tensor_new(l->arena, TP_F32, 2, dims);
    tp_assert(tp_tensor_holds(&t));
    t.n = 5;
    tp_assert(tp_tensor_holds(&t));
}

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

static void one_operand_of_two(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_op1(p, TP_E_NEG, tp_sym(p, 0));
    tp_op1(p, TP_E_ADD, tp_sym(p, 0));
}

static void two_operands_of_one(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_op2(p, TP_E_ADD, tp_sym(p, 0), tp_sym(p, 0));
    tp_op2(p, TP_E_NEG, tp_sym(p, 0), tp_sym(p, 0));
}

static void sum_with_nothing(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_op2(p, TP_E_ADD, tp_sym(p, 0), (tp_expr){0});
}

static void choice_without_an_arm(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr x = tp_sym(p, 0), is = tp_op2(p, TP_E_GT, x, tp_const(p, 0));
    tp_ite(p, is, x, tp_const(p, 1));
    tp_ite(p, is, x, (tp_expr){0});
}

static void read_of_too_many_indices(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr at[TP_TABLE_RANK + 1] = {tp_const(p, 0), tp_const(p, 0), tp_const(p, 0), tp_const(p, 0)};
    tp_read(p, 0, TP_TABLE_RANK, at);
    tp_read(p, 0, TP_TABLE_RANK + 1, at);
}

static void factors_that_descend(loaded *l)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr a = tp_sym_new(p, TP_S("a")), b = tp_sym_new(p, TP_S("b"));
    tp_poly q = {.ok = true};
    tp_poly_add_term(&q, &(tp_term){.coef = 1, .degree = 2, .factors = {a, b}});
    tp_poly_add_term(&q, &(tp_term){.coef = 1, .degree = 2, .factors = {b, a}});
}

static void steps_over_an_axis(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->axes[0].steps = tp_op2(k->exprs, TP_E_ADD, k->axes[0].steps, tp_sym(k->exprs, k->axes[0].sym));
    tp_assert(tp_kernel_holds(k));
}

static void shape_over_an_axis(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->operands[0].shape[0] = tp_sym(k->exprs, k->axes[0].sym);
    tp_assert(tp_kernel_holds(k));
}

static void squeezed_block_of_8(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->operands[0].dims[0].kind = TP_DIM_SQUEEZED;
    k->operands[0].ref_rank = 0;
    tp_assert(tp_kernel_holds(k));
}

static void core_axis_in_order(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->axes[0].per_core = true;
    tp_assert(tp_kernel_holds(k));
}

static void input_that_is_discarded(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->operands[0].discard = true;
    tp_assert(tp_kernel_holds(k));
}

static void choice_of_no_number(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    k->sizes[0].kind = TP_SIZE_CHOICE;
    tp_assert(tp_kernel_holds(k));
}

static void extent_over_a_later_symbol(loaded *l)
{
    tp_kernel *k = l->spec->kernels[0];
    tp_expr a = tp_sym_new(k->exprs, TP_S("a")), b = tp_sym_new(k->exprs, TP_S("b")), two = tp_const(k->exprs, 2);
    tp_contract c = {.nbound = 2,
                     .bound = {(uint32_t)tp_expr_get(k->exprs, a)->value, (uint32_t)tp_expr_get(k->exprs, b)->value},
                     .extent = {two, a},
                     .fact = tp_op2(k->exprs, TP_E_LE, a, b)};
    k->contracts = &c;
    k->ncontracts = 1;
    tp_assert(tp_kernel_holds(k));
    c.extent[0] = b;
    tp_assert(tp_kernel_holds(k));
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

static void prove_goal(loaded *l, tp_expr goal, int64_t multiple_of)
{
    tp_exprs *p = l->spec->kernels[0]->exprs;
    tp_expr a = tp_sym_new(p, TP_S("a"));
    tp_var v = {.sym = (uint32_t)tp_expr_get(p, a)->value,
                .lo = tp_const(p, 1),
                .hi = tp_const(p, 2),
                .multiple_of = multiple_of};
    tp_obligation o = {.vars = &v, .nvars = 1, .goal = goal, .name = "planted"};
    tp_prove(tp_prover_new(l->arena, p, &(tp_prover_options){.no_solver = true}), &o);
}

static void nothing_to_prove(loaded *l)
{
    prove_goal(l, tp_const(l->spec->kernels[0]->exprs, 1), 1);
    prove_goal(l, (tp_expr){0}, 1);
}

static void multiples_of_0(loaded *l)
{
    prove_goal(l, tp_const(l->spec->kernels[0]->exprs, 1), 0);
}

static void certified_without_a_proof(loaded *l)
{
    tp_proof proof = {.kind = TP_PROOF_POINTS};
    tp_decision d = {.verdict = TP_PROVEN, .grade = TP_GRADE_CERT, .proof = &proof};
    (void)l;
    tp_assert(tp_decision_holds(&d));
    d.proof = NULL;
    tp_assert(tp_decision_holds(&d));
}

static void violated_without_a_case(loaded *l)
{
    int64_t env[] = {1};
    tp_decision d = {.verdict = TP_VIOLATED, .env = env};
    (void)l;
    tp_assert(tp_decision_holds(&d));
    d.env = NULL;
    tp_assert(tp_decision_holds(&d));
}

static void unknown_without_a_reason(loaded *l)
{
    tp_decision d = {.verdict = TP_UNKNOWN, .reason = TP_S("planted")};
    (void)l;
    tp_assert(tp_decision_holds(&d));
    d.reason.n = 0;
    tp_assert(tp_decision_holds(&d));
}

static void line_that_rests_on_a_later_one(loaded *l)
{
    tp_prover *v = tp_prover_new(l->arena, l->spec->kernels[0]->exprs, &(tp_prover_options){.no_solver = true});
    tp_lines lines = {0};
    tp_product one = {.coef = 1, .n = 1, .refs = {1}};
    tp_line_add(v, &lines, (tp_line){.rule = TP_LINE_FACT});
    tp_line_sum(v, &lines, &one, 1);
    one.refs[0] = 3;
    tp_line_sum(v, &lines, &one, 1);
}

static void sum_with_a_factor_below_0(loaded *l)
{
    tp_prover *v = tp_prover_new(l->arena, l->spec->kernels[0]->exprs, &(tp_prover_options){.no_solver = true});
    tp_lines lines = {0};
    tp_product one = {.coef = 1, .n = 1, .refs = {1}};
    tp_line_add(v, &lines, (tp_line){.rule = TP_LINE_FACT});
    tp_line_sum(v, &lines, &one, 1);
    one.coef = -1;
    tp_line_sum(v, &lines, &one, 1);
}

static void split_with_one_arm(loaded *l)
{
    const tp_proof *leaf = tp_proof_node(l->arena, (tp_proof){.kind = TP_PROOF_ABSURD}, NULL, 0),
                   *kids[] = {leaf, leaf};
    tp_proof_node(l->arena, (tp_proof){.kind = TP_PROOF_SPLIT}, kids, 2);
    tp_proof_node(l->arena, (tp_proof){.kind = TP_PROOF_SPLIT}, kids, 1);
}

static void note_of_two_lines(loaded *l)
{
    tp_cache *c = tp_cache_new(l->arena, TP_S(""), 1 << 20);
    tp_cache_add_note(c, TP_S("00ff"), TP_S("one"));
    tp_cache_add_note(c, TP_S("00fe"), TP_S("one\ntwo"));
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

static void term_of_a_later_term(loaded *l)
{
    tp_equality out;
    tp_analysis_options o = {.nonly = 0};
    summary *s = summary_new(l->arena, l->spec->kernels[0], &o, &out);
    term one = term_real(s, 1);
    term_node n = {.kind = T_APPLY, .prim = TP_P_NEG, .arg = {one}};
    tp_assert(term_holds(s, &n));
    n.arg[0].id = s->terms.len + 1;
    tp_assert(term_holds(s, &n));
}

static void finding_of_no_words(loaded *l)
{
    tp_analysis_options o = {.nonly = 0};
    tp_analysis *a = tp_analysis_begin(l->arena, l->spec->kernels[0], &o);
    tp_analysis_result out = {0};
    size_t n;
    a->out = &out;
    a->rule = tp_rules(&n)[0];
    tp_add_finding(a, TP_PROVEN, TP_S("x"), (tp_loc){0}, TP_S("planted"));
    tp_add_finding(a, TP_PROVEN, TP_S("x"), (tp_loc){0}, TP_S(""));
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

static void origin_of_no_kind(loaded *l)
{
    (void)l;
    tp_origin_new(TP_BORN_OUTSIDE, 0, 0, 0);
    tp_origin_new((tp_origin_kind)0, 0, 0, 0);
}

static void slice_past_its_ref(loaded *l)
{
    int64_t dims[] = {8};
    tp_slice s = {.start = {2}, .size = {3}, .of = {3}, .stride = {2}, .rank = 1};
    (void)l;
    tp_assert(tp_slice_holds(&s, dims));
    s.start[0] = 4;
    tp_assert(tp_slice_holds(&s, dims));
}

static void arrays_of_another_kernel(loaded *l)
{
    int64_t dims[] = {8};
    tp_tensor arrays[] = {tp_tensor_new(l->arena, TP_F32, 1, dims), tp_tensor_new(l->arena, TP_F32, 1, dims)};
    tp_run_request r = {.kernel = l->spec->kernels[0], .arrays = arrays};
    tp_assert(tp_request_holds(&r));
    arrays[1].dtype = TP_I32;
    tp_assert(tp_request_holds(&r));
}

static void work_of_the_machine_below_0(loaded *l)
{
    tp_run_request r = {.kernel = l->spec->kernels[0]};
    tp_machine m = {.arena = l->arena, .request = &r};
    tp_exec_spend(&m, 1);
    tp_exec_spend(&m, -1);
}

static void arguments_of_other_lengths(loaded *l)
{
    tp_domain *d = tp_rounding_new(l->arena);
    double room[5][4] = {{0}};
    tp_lanes x = {.dtype = TP_F32, .stored = TP_F64, .n = 4, .data = room[0]}, y = x, out = x;
    const tp_lanes *args[] = {&x, &y};
    tp_inst add = {.prim = TP_P_ADD, .nargs = 2};
    out.data = room[1];
    for (int p = 0; p < TP_MAX_PLANES; p++)
        out.plane[p] = room[2 + p];
    tp_domain_compute(d, &add, &out, args);
    y.n = 3;
    tp_domain_compute(d, &add, &out, args);
}

static void strip_past_the_end(loaded *l)
{
    (void)l;
    tp_strip_at(8, 8);
    tp_strip_at(8, 9);
}

static void case_outside_its_domain(loaded *l)
{
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs));
    tp_cases cases = {0};
    env[k->sizes[0].sym] = 1;
    tp_push(l->arena, cases, ((tp_case){.kernel = k, .env = env, .numbers = true}));
    tp_assert(tp_cases_hold(&cases));
    env[k->sizes[0].sym] = 0;
    tp_assert(tp_cases_hold(&cases));
}

static void lane_past_a_vector(loaded *l)
{
    double v[2] = {1, 2};
    bool planes[2] = {false, false};
    buffer room = {.v = v, .has_planes = planes};
    vector x = {.lanes = {0, 1, 2}, .room = &room};
    (void)l;
    demand_vector_lane(&x, 1);
    demand_vector_lane(&x, 2);
}

static void vector_let_go_twice(loaded *l)
{
    tp_demand *d = TP_NEW(l->arena, tp_demand);
    vector x = {.pins = 1, .known = true};
    demand_release(d, &x);
    demand_release(d, &x);
}

static void value_of_nobody(loaded *l)
{
    tp_demand *d = TP_NEW(l->arena, tp_demand);
    d->arena = l->arena;
    demand_remember(d, 1, 0, (scalar){0});
    demand_remember(d, 0, 0, (scalar){0});
}

static void each_violation_ends_the_program(void **state)
{
    (void)state;
    static const planted PLANTED[] = {
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
        PLANT(text_past_its_room),
        PLANT(key_of_no_text),
        PLANT(arena_given_back_twice),
        PLANT(work_below_0),
        PLANT(spent_below_0),
        PLANT(share_of_more_than_all),
        PLANT(back_to_no_place),
        PLANT(elements_of_3_bytes),
        PLANT(array_of_another_size),
        PLANT(one_operand_of_two),
        PLANT(two_operands_of_one),
        PLANT(sum_with_nothing),
        PLANT(choice_without_an_arm),
        PLANT(read_of_too_many_indices),
        PLANT(factors_that_descend),
        PLANT(steps_over_an_axis),
        PLANT(shape_over_an_axis),
        PLANT(squeezed_block_of_8),
        PLANT(core_axis_in_order),
        PLANT(input_that_is_discarded),
        PLANT(choice_of_no_number),
        PLANT(extent_over_a_later_symbol),
        PLANT(nothing_to_prove),
        PLANT(multiples_of_0),
        PLANT(certified_without_a_proof),
        PLANT(violated_without_a_case),
        PLANT(unknown_without_a_reason),
        PLANT(line_that_rests_on_a_later_one),
        PLANT(sum_with_a_factor_below_0),
        PLANT(split_with_one_arm),
        PLANT(note_of_two_lines),
        PLANT(term_of_a_later_term),
        PLANT(finding_of_no_words),
        PLANT(origin_of_no_kind),
        PLANT(slice_past_its_ref),
        PLANT(arrays_of_another_kernel),
        PLANT(work_of_the_machine_below_0),
        PLANT(arguments_of_other_lengths),
        PLANT(strip_past_the_end),
        PLANT(case_outside_its_domain),
        PLANT(lane_past_a_vector),
        PLANT(vector_let_go_twice),
        PLANT(value_of_nobody),
    };
    expect_noticed(PLANTED, sizeof PLANTED / sizeof *PLANTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_violation_ends_the_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
