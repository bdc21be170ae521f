/* A proof and an execution that say opposite things: exit 5, and every format
 * says so, whatever the spec allows. The records are made contradictory here:
 * a kernel that differs beside a proof that it does not, and a trap beside the
 * proof of its rule. */
#define _GNU_SOURCE
#include <math.h>

#include "kernels/trial/trial.h"
#include "tests/unit/files.h"
#include "verify/verify.h"

static const char WORDS[] = "internal error: proof and execution disagree";

/* `allow` is a list of rules that the spec suppresses. */
#define SPEC(statement, allow) WITH(statement, "2 * x", allow)
#define WITH(statement, reference, allow)                                                                              \
    "{\"tileproof\": 1, \"name\": \"a\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1, \"max\": 64}},"         \
    "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}],"                                                        \
    "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], "                \
    "\"index_map\": [\"i\"]}],"                                                                                        \
    "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], "               \
    "\"index_map\": [\"i\"]}],"                                                                                        \
    "\"kernel\": [\"" statement "\"], \"reference\": [\"o = " reference "\"]" allow "}"

static void check(void *arg)
{
    tp_job *j = arg;
    tp_check_settings s;
    tp_check_defaults(&s, true);
    s.box = 0;
    tp_solver *solver = tp_solver_new(j->arena);
    tp_check_text(j, &s, solver);
    tp_solver_free(solver);
}

static tp_job *checked(tp_arena *a, const char *text)
{
    tp_job *j = TP_NEW(a, tp_job);
    *j = (tp_job){.arena = tp_arena_new(0), .source = {.path = TP_S("a.tile.json"), .text = tp_str_c(text)}};
    tp_job_begin(j);
    check(j);
    if (!j->report.valid)
        fail_msg("%.*s", TP_FMT(j->report.findings.at[0].message));
    return j;
}

static void every_format_says_it(tp_arena *a, const tp_job *j)
{
    tp_report r = {.arena = a, .quiet = true, .unknown = TP_UNKNOWN_IGNORE};
    size_t n;
    const tp_format *const *formats = tp_formats(&n);
    tp_push(a, r.specs, j->report);
    assert_int_equal(tp_report_exit_code(&r), TP_EXIT_INTERNAL);
    assert_true(n >= 11);
    for (size_t i = 0; i < n; i++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        tp_write_report(formats[i], &r, out);
        fclose(out);
        if (!contains((tp_str){text, length}, WORDS))
            fail_msg("%s does not say it", formats[i]->name);
        free(text);
    }
}

static uint32_t disagreements(const tp_job *j)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->report.findings.len; i++)
        n += tp_is_internal(&j->report.findings.at[i]);
    return n;
}

static void equality_and_a_case_that_differs(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(a, SPEC("o[...] = 3 * x[...]", ", \"allow\": [{\"rule\": \"TP904\", \"reason\": \"no\"}, "
                                                       "{\"rule\": \"TP701\", \"reason\": \"no\"}]"));
    tp_findings none = {0};
    assert_true(j->report.equiv->different > 0);
    assert_int_equal(disagreements(j), 0);
    j->report.equality = (tp_equality){.proven = true, .grade = TP_GRADE_CERT};
    tp_hold_proofs_against_runs(j->arena, &j->report, &none);
    assert_int_equal(disagreements(j), 1);
    assert_false(j->report.equality.proven);
    tp_check_settings s;
    tp_check_defaults(&s, true);
    tp_apply_waivers(j, &s);
    every_format_says_it(a, j);
    tp_job_free(j);
    tp_arena_free(a);
}

/* A case whose numbers as `run` executes it are said to be others. */
static void a_case_that_runs_otherwise(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(a, SPEC("o[...] = 2 * x[...]", ""));
    tp_findings none = {0};
    assert_true(j->report.equiv->equal > 0);
    for (uint32_t i = 0; i < j->report.equiv->cases.len; i++)
        assert_int_equal(j->report.equiv->cases.at[i].as_run.n, 0);
    double one[] = {1, (double)NAN, 3}, same[] = {1, -(double)NAN, 3}, other[] = {1, (double)NAN, 4};
    int64_t dims[] = {3};
    tp_case_result r = {.outcome = TP_EQUAL};
    tp_trial x = {.work = a, .keep = a, .c = j->report.equiv->cases.at[0].the_case, .r = &r};
    tp_tensor first = tp_tensor_new(a, TP_F64, 1, dims), second = tp_tensor_new(a, TP_F64, 1, dims);
    memcpy(first.data, one, sizeof one);
    memcpy(second.data, same, sizeof same);
    assert_true(tp_trial_same_numbers(&x, &first, &second, &r.as_run));
    memcpy(second.data, other, sizeof other);
    assert_false(tp_trial_same_numbers(&x, &first, &second, &r.as_run));
    assert_true(contains(r.as_run, "o[2] is 3 as it was verified, and 4 as `run` executes"));
    j->report.equiv->cases.at[0].as_run = r.as_run;
    tp_hold_proofs_against_runs(j->arena, &j->report, &none);
    assert_int_equal(disagreements(j), 1);
    every_format_says_it(a, j);
    tp_job_free(j);
    tp_arena_free(a);
}

/* One of input and output, which share an array; the window that is read at `index`. */
#define SHARED(index, statement, reference)                                                                            \
    "{\"tileproof\": 1, \"name\": \"a\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}},"                      \
    "\"grid\": [{\"axis\": \"i\", \"steps\": \"N\"}],"                                                                 \
    "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [1], "                \
    "\"index_map\": [\"" index "\"]}],"                                                                                \
    "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [1], "               \
    "\"index_map\": [\"i\"], \"alias\": \"x\"}],"                                                                      \
    "\"kernel\": [" statement "], \"reference\": [\"o = " reference "\"]}"

/* What no case sees, and single elements do: each is said to be proven. */
static void equality_and_an_element_that_differs(void **state)
{
    static const struct {
        const char *text, *says;
    } ALL[] = {
        {SHARED("i", "\"o[...] = 2 * x[...]\", \"if i == 7777:\", \"    o[...] = 3 * x[...]\"", "2 * x"),
         "o[7777] is "},
        {SHARED("i", "\"o[...] = 2 * x[...]\", \"if N == 40961:\", \"    o[...] = 3 * x[...]\"", "2 * x"), "N = 40961"},
        {SHARED("max(i - 5150, 0)", "\"o[...] = 2 * x[...]\"",
                "2 * take(x, maximum(iota(int32, (N,), 0) - 5150, 0), axis=0)"),
         "the reference says"},
        /* the copy-in may meet the copy-out: a hazard on the way */
        {SHARED("i - (i + 4095) // 8192", "\"o[...] = 2 * x[...]\"",
                "2 * take(x, iota(int32, (N,), 0) - (iota(int32, (N,), 0) + 4095) // 8192, axis=0)"),
         "copied in too soon after it was written (TP405)"},
        /* nobody writes it */
        {SHARED("i", "\"if i != 7777:\", \"    o[...] = 2 * x[...]\"", "2 * x"), "undefined"},
    };
    (void)state;
    tp_arena *a = tp_arena_new(0);
    for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
        tp_job *j = checked(a, ALL[i].text);
        bool says = false;
        j->report.findings.len = 0;
        j->report.equality = (tp_equality){.proven = true, .grade = TP_GRADE_CERT};
        tp_hold_equality_against_elements(j->arena, &j->report, 1);
        if (disagreements(j) != 1)
            fail_msg("%zu: %u equal, %u unsure, not reached: %.*s", i, j->report.opinion.equal,
                     j->report.opinion.unsure, TP_FMT(j->report.opinion.far));
        for (uint32_t f = 0; f < j->report.findings.len; f++)
            says |= contains(j->report.findings.at[f].message, ALL[i].says) ||
                    contains(tp_witness_text(a, j->report.findings.at[f].witness), ALL[i].says);
        if (!says)
            fail_msg("%zu: %.*s", i, TP_FMT(j->report.findings.at[0].message));
        assert_false(j->report.equality.proven);
        every_format_says_it(a, j);
        tp_job_free(j);
    }
    tp_arena_free(a);
}

/* The kernel reads what nobody wrote; its rules are said to be proven. */
static void rule_and_a_case_that_traps(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(a, SPEC("o[...] = o[...] + x[...]", ""));
    assert_true(j->report.equiv->trapped > 0);
    assert_int_equal(disagreements(j), 0); /* the rule is violated: they agree */
    tp_findings proofs = {0};
    const char *rule = j->report.equiv->cases.at[0].trap.rule;
    tp_push(a, proofs, ((tp_finding){.rule = rule, .verdict = TP_PROVEN}));
    tp_push(a, proofs, ((tp_finding){.rule = "TP101", .verdict = TP_UNKNOWN}));
    tp_hold_proofs_against_runs(j->arena, &j->report, &proofs);
    assert_int_equal(disagreements(j), 0); /* what is open may be the cause */
    proofs.at[1].verdict = TP_PROVEN;
    tp_hold_proofs_against_runs(j->arena, &j->report, &proofs);
    assert_int_equal(disagreements(j), 1);
    every_format_says_it(a, j);
    tp_job_free(j);
    tp_arena_free(a);
}

/* A counterexample of the analyzer that the machine runs to its end. */
static void witness_that_does_not_trap(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(a, SPEC("o[...] = 2 * x[...]", ""));
    tp_finding f = {.rule = "TP101",
                    .slug = "block-out-of-bounds",
                    .verdict = TP_VIOLATED,
                    .severity = TP_ERROR,
                    .message = TP_S("m"),
                    .reason = TP_S("its smallest case was executed, and did not trap")};
    tp_push(j->arena, j->report.findings, f);
    tp_hold_witnesses_against_runs(j->arena, &j->report);
    assert_int_equal(disagreements(j), 1);
    every_format_says_it(a, j);
    tp_job_free(j);
    tp_arena_free(a);
}

/* NaN or infinity that is one over the reals, too, refutes a proof; the
 * inputs of magnitudes up to 128 show it. */
static void no_value_refutes(void **state)
{
    static const char *const TEXTS[] = {
        SPEC("o[...] = where(x[...] > 20, (x[...] + inf) - inf, 2 * x[...])", ""),
        SPEC("o[...] = where(x[...] > 20, (x[...] + inf) * 0.0, 2 * x[...])", ""),
        SPEC("o[...] = where(x[...] > 20, (x[...] - x[...]) / (x[...] - x[...]), 2 * x[...])", ""),
        SPEC("o[...] = where(x[...] > 20, 1 / (x[...] - x[...]), 2 * x[...])", ""),
        SPEC("o[...] = where(x[...] > 20, log(-x[...]), 2 * x[...])", ""),
        SPEC("o[...] = where(x[...] > 20, x[...] + inf, 2 * x[...])", ""),
    };
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_findings none = {0};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        tp_job *j = checked(a, TEXTS[i]);
        tp_report r = {.arena = a};
        tp_push(a, r.specs, j->report);
        if (tp_report_exit_code(&r) != TP_EXIT_VIOLATED)
            fail_msg("%zu: exit %d", i, tp_report_exit_code(&r));
        j->report.equality = (tp_equality){.proven = true, .grade = TP_GRADE_CERT};
        tp_hold_proofs_against_runs(j->arena, &j->report, &none);
        assert_int_equal(disagreements(j), 1);
        tp_job_free(j);
    }
    tp_arena_free(a);
}

/* Finite numbers that become too large: advice, and the proof names the case. */
static void overflow_does_not(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(a, SPEC("o[...] = 2 * x[...] * exp(2 * x[...]) / exp(2 * x[...])", ""));
    tp_report r = {.arena = a};
    tp_push(a, r.specs, j->report);
    assert_true(j->report.equality.proven);
    assert_int_equal(tp_report_exit_code(&r), TP_EXIT_OK);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    tp_write_report(tp_format_find(TP_S("full")), &r, out);
    fclose(out);
    assert_true(contains((tp_str){text, length}, "proven over the reals"));
    assert_true(contains((tp_str){text, length}, "; overflows in case N = "));
    free(text);
    tp_job_free(j);
    tp_arena_free(a);
}

/* On small inputs it is a difference; no longer where the reference is as large as that. */
static void overflow_on_the_way_to_large_numbers(void **state)
{
    static const char *const TEXTS[] = {
        WITH("o[...] = x[...] * 4.253529586511731e37 * 8 * 0.125", "x * 4.253529586511731e37", ""),
        WITH("o[...] = x[...] * 4.253529586511731e37 * 8 * 2.3509887016445750e-38", "x * 8", "")};
    (void)state;
    tp_arena *a = tp_arena_new(0);
    for (size_t i = 0; i < 2; i++) {
        tp_job *j = checked(a, TEXTS[i]);
        tp_report r = {.arena = a};
        tp_push(a, r.specs, j->report);
        assert_int_equal(tp_report_exit_code(&r), i ? TP_EXIT_VIOLATED : TP_EXIT_OK);
        assert_non_null(tp_equiv_overflow(j->report.equiv));
        tp_job_free(j);
    }
    tp_arena_free(a);
}

/* An element that overflows does not hide another one that is wrong. */
static void overflow_hides_nothing(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(
        a, SPEC("o[...] = where(x[...] < -20, 3 * x[...], 2 * x[...] * exp(2 * x[...]) / exp(2 * x[...]))", ""));
    assert_true(j->report.equiv->different > 0);
    assert_non_null(tp_equiv_overflow(j->report.equiv));
    tp_job_free(j);
    tp_arena_free(a);
}

static void agreement(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_job *j = checked(a, SPEC("o[...] = x[...] + x[...]", ""));
    assert_true(j->report.equality.proven);
    assert_int_equal(disagreements(j), 0);
    assert_false(j->report.internal_error);
    tp_job_free(j);
    tp_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_and_a_case_that_differs),
        cmocka_unit_test(a_case_that_runs_otherwise),
        cmocka_unit_test(equality_and_an_element_that_differs),
        cmocka_unit_test(rule_and_a_case_that_traps),
        cmocka_unit_test(witness_that_does_not_trap),
        cmocka_unit_test(no_value_refutes),
        cmocka_unit_test(overflow_does_not),
        cmocka_unit_test(overflow_on_the_way_to_large_numbers),
        cmocka_unit_test(overflow_hides_nothing),
        cmocka_unit_test(agreement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
