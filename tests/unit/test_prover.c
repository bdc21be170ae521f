/* The prover against brute force: random obligations over small boxes, with
 * every operation of the expressions. A wrong verdict of either kind fails;
 * "unknown" is counted. The seed is printed. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "base/rng.h"
#include "smt/prover.h"

enum { VARS = 3, TRIALS = 6000, MAX_VALUE = 6 };

typedef struct box {
    tp_arena *a;
    tp_exprs *p;
    tp_rng rng;
    tp_var vars[VARS];
    uint32_t nvars;
} box;

static int pick(box *b, int n)
{
    return (int)tp_rng_below(&b->rng, (uint64_t)n);
}

static tp_expr integer(box *b, int depth);

static tp_expr condition(box *b, int depth)
{
    static const tp_expr_op COMPARE[] = {TP_E_LT, TP_E_LE, TP_E_GT, TP_E_GE, TP_E_EQ, TP_E_NE};
    static const tp_expr_op LOGIC[] = {TP_E_AND, TP_E_OR, TP_E_IMPLIES};
    if (depth > 0 && pick(b, 4) == 0)
        return tp_op2(b->p, LOGIC[pick(b, 3)], condition(b, depth - 1), condition(b, depth - 1));
    if (depth > 0 && pick(b, 10) == 0)
        return tp_op1(b->p, TP_E_NOT, condition(b, depth - 1));
    return tp_op2(b->p, COMPARE[pick(b, 6)], integer(b, depth), integer(b, depth));
}

static tp_expr integer(box *b, int depth)
{
    static const tp_expr_op OPS[] = {TP_E_ADD, TP_E_ADD,  TP_E_SUB, TP_E_SUB, TP_E_MUL,    TP_E_MUL,      TP_E_FLOORDIV,
                                     TP_E_MOD, TP_E_CDIV, TP_E_MIN, TP_E_MAX, TP_E_BITAND, TP_E_ALIGN_UP, TP_E_SHR};
    if (depth == 0 || pick(b, 4) == 0)
        return pick(b, 3) ? tp_sym(b->p, (uint32_t)pick(b, (int)b->nvars)) : tp_const(b->p, pick(b, 9) - 2);
    if (pick(b, 12) == 0)
        return tp_ite(b->p, condition(b, depth - 1), integer(b, depth - 1), integer(b, depth - 1));
    if (pick(b, 16) == 0)
        return tp_op1(b->p, TP_E_NEG, integer(b, depth - 1));
    tp_expr_op op = OPS[pick(b, sizeof OPS / sizeof *OPS)];
    tp_expr right = integer(b, depth - 1);
    bool divides = op == TP_E_FLOORDIV || op == TP_E_MOD || op == TP_E_CDIV || op == TP_E_ALIGN_UP || op == TP_E_SHR;
    if (divides && pick(b, 5)) /* mostly by a positive constant, as kernels do */
        right = tp_const(b->p, 1 + pick(b, 4));
    return tp_op2(b->p, op, integer(b, depth - 1), right);
}

static void make_box(box *b)
{
    static const int64_t CHOICES[][3] = {{1, 2, 4}, {0, 1, 1}, {2, 3, 5}};
    b->nvars = 1 + (uint32_t)pick(b, VARS);
    for (uint32_t i = 0; i < b->nvars; i++) {
        tp_sym_new(b->p, tp_printf(b->a, "v%u", i));
        tp_var *x = &b->vars[i];
        *x = (tp_var){
            .sym = i, .lo = tp_const(b->p, pick(b, 2)), .hi = tp_const(b->p, pick(b, MAX_VALUE + 1)), .multiple_of = 1};
        if (pick(b, 6) == 0)
            x->multiple_of = 2 + pick(b, 2);
        if (i > 0 && pick(b, 3) == 0) { /* a step: its bound reads the sizes before it */
            x->hi = tp_op2(b->p, TP_E_SUB, tp_op2(b->p, TP_E_CDIV, tp_sym(b->p, i - 1), tp_const(b->p, 1 + pick(b, 3))),
                           tp_const(b->p, 1));
            x->lo = tp_const(b->p, 0);
            x->multiple_of = 1;
            x->step = true;
        } else if (pick(b, 6) == 0) {
            int c = pick(b, 3);
            x->choices = CHOICES[c];
            x->nchoices = c == 1 ? 2 : 3;
            x->multiple_of = 1;
            x->lo = tp_const(b->p, CHOICES[c][0]);
            x->hi = tp_const(b->p, CHOICES[c][x->nchoices - 1]);
        }
    }
}

/* 1: holds everywhere, 0: fails somewhere. Points where the goal has no value
 * are not judged: division by zero is a claim of its own (TP105). */
static int brute(box *b, const tp_obligation *o, uint32_t i, int64_t *env)
{
    int64_t v, lo, hi;
    if (i == o->nvars) {
        for (uint32_t k = 0; k < o->npremises; k++)
            if (tp_expr_eval(b->p, o->premises[k], env, &v) != TP_EVAL_OK || !v)
                return 1;
        return tp_expr_eval(b->p, o->goal, env, &v) != TP_EVAL_OK || v != 0;
    }
    const tp_var *x = &o->vars[i];
    if (tp_expr_eval(b->p, x->lo, env, &lo) != TP_EVAL_OK || tp_expr_eval(b->p, x->hi, env, &hi) != TP_EVAL_OK)
        return 1;
    for (v = lo; v <= hi; v++) {
        bool listed = !x->choices;
        for (uint32_t c = 0; c < x->nchoices; c++)
            listed |= x->choices[c] == v;
        env[x->sym] = v;
        if (listed && v % x->multiple_of == 0 && !brute(b, o, i + 1, env))
            return 0;
    }
    return 1;
}

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
             z3 = 0;
    tp_arena *keep = tp_arena_new(0);
    tp_solver *solver = tp_solver_new(keep);
    for (uint64_t seed = first; seed < first + trials; seed++) {
        tp_arena *a = tp_arena_new(0);
        box b = {.a = a, .p = tp_exprs_new(a), .rng = tp_rng_new(seed, 0)};
        make_box(&b);
        tp_expr premises[2];
        tp_obligation o = {.vars = b.vars,
                           .nvars = b.nvars,
                           .premises = premises,
                           .npremises = (uint32_t)pick(&b, 3),
                           .name = "random"};
        for (uint32_t i = 0; i < o.npremises; i++)
            premises[i] = condition(&b, 1);
        o.goal = condition(&b, 3);
        int64_t env[VARS] = {0}, value;
        int truth = brute(&b, &o, 0, env);
        bool only_solver = seed % 8 == 0;
        tp_prover *v =
            tp_prover_new(a, b.p, &(tp_prover_options){.only_solver = only_solver, .solver = solver, .rlimit = 60000});
        tp_decision d = tp_prove(v, &o);
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
        "prover: %u random obligations from seed %llu: %u proven, %u violated, %u unknown (%u by the solver alone)\n",
        trials, (unsigned long long)first, proven, violated, unknown, z3);
    tp_solver_free(solver);
    tp_arena_free(keep);
    assert_true(proven > trials / 20);
    assert_true(violated > trials / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_obligations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
