/* `assess`: advice and reasons on the specs of tests/assess; the model of the reference; what is no question. */
#define _GNU_SOURCE
#include <glob.h>
#include <json-c/json.h>

#include "tests/unit/files.h"

static struct json_object *assessment_of(place *p, const char *spec, int exit)
{
    outcome o = RUN(p->a, "assess", "--format", "json", spec);
    if (o.exit != exit)
        fail_msg("%s: exit %d: %.*s", spec, o.exit, TP_FMT(o.err));
    struct json_object *r = json_tokener_parse(tp_cstr(p->a, o.out));
    assert_non_null(r);
    return r;
}

static struct json_object *first_of(struct json_object *r)
{
    return json_object_array_get_idx(member(r, "at"), 0);
}

static void specs_get_their_advice(void **state)
{
    place *p = *state;
    glob_t g;
    assert_int_equal(glob("tests/assess/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct json_object *spec = json_object_from_file(g.gl_pathv[i]), *wish = member(spec, "x-test"),
                           *says = member(wish, "says");
        bool violated = strstr(g.gl_pathv[i], "wrong");
        struct json_object *r = assessment_of(p, g.gl_pathv[i], violated ? 1 : 0);
        const char *reasons = json_object_to_json_string(member(r, "reasons"));
        if (strcmp(string_of(r, "advice"), string_of(wish, "advice")) != 0)
            fail_msg("%s: %s %s", g.gl_pathv[i], string_of(r, "advice"), reasons);
        if (json_object_array_length(says) == 0)
            assert_int_equal(json_object_array_length(member(r, "reasons")), 0);
        for (size_t s = 0; s < json_object_array_length(says); s++)
            if (!strstr(reasons, json_object_get_string(json_object_array_get_idx(says, s))))
                fail_msg("%s: %s", g.gl_pathv[i], reasons);
        json_object_put(r);
        json_object_put(spec);
    }
    globfree(&g);
}

/* Operations and bytes of references, by hand, with M = N = 4096 and K = 1024 of bfloat16. */
static void references_cost_what_they_move(void **state)
{
    static const struct {
        const char *spec;
        int operations;
        int64_t bytes;
    } ROWS[] = {
        {"tests/assess/keep_fused_matmul_relu.tile.json", 2, 2 * (2 * 4096 * 1024 + 3 * 4096LL * 4096)},
        {"tests/assess/drop_naive_transpose.tile.json", 1, 2 * 2 * 4096LL * 4096},
        {"tests/assess/drop_one_operation.tile.json", 1, 4 * 3 * 4096LL * 4096},
        /* the maximum; the sum, which reads x and the maximum; the quotient, which reads all three */
        {"tests/assess/keep_softmax_of_long_rows.tile.json", 3, 2 * (4 * 4096LL * 4096 + 5 * 4096)},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct json_object *r = assessment_of(p, ROWS[i].spec, 0), *at = first_of(r);
        assert_int_equal(json_object_get_int(member(at, "reference_operations")), ROWS[i].operations);
        assert_int_equal(json_object_get_int64(member(at, "reference_bytes")), ROWS[i].bytes);
        json_object_put(r);
    }
}

static void options_and_texts(void **state)
{
    static const char *const FUSED = "tests/assess/keep_fused_matmul_relu.tile.json";
    static const struct {
        const char *args[10];
        int exit;
        const char *says;
    } ROWS[] = {
        {{"assess", FUSED}, 0, "keep_fused_matmul_relu, tpu-v5e: keep\n"},
        {{"assess", FUSED}, 0, "    gain       1.28\n"},
        {{"assess", FUSED, "--gain", "40"}, 0, "a gain of 1.28 in the model, below 1.4: its products"},
        {{"assess", FUSED, "--size", "K=128"}, 0, "M = 4096, N = 4096, K = 128"},
        {{"assess", FUSED, "--target", "tpu-v6e"}, 0, "keep_fused_matmul_relu, tpu-v6e: "},
        {{"assess", FUSED, "--target", "none"}, 0, "the model does not know: "},
        {{"assess", FUSED, "--size", "K=4096"}, 0, "the spec allows none of the sizes that were tried"},
        {{"assess", FUSED, "--size", "Q=3"}, 2, "`Q` is no size of the spec"},
        {{"assess", FUSED, "--gain", "x"}, 2, "--gain takes an integer from 0"},
        {{"assess", FUSED, "--runs", "x"}, 2, "--runs takes an integer from 0"},
        {{"assess", FUSED, "--format", "csv"}, 2, "full and json"},
        {{"assess", FUSED, FUSED}, 2, "one spec, not 2"},
        {{"assess", "tests/bad/truncated.tile.json"}, 3, "the file may be cut off"},
        {{"assess", "tests/semantics/array_by_two_windows.tile.json", "--runs", "1"},
         4,
         "the spec has no reference to run"},
        {{"assess", "block_sparse_matmul", "--runs", "1"}, 0, "tables by chance, the least of 1"},
        {{"assess", "tests/assess/keep_fused_matmul_relu.tile.json", "--runs", "1"}, 0, "K = 256, the least of 1"},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        outcome o = run_limited(p->a, NULL, 6144, ROWS[i].args);
        tp_str all = ROWS[i].exit == 2 || ROWS[i].exit == 3 ? o.err : o.out;
        if (o.exit != ROWS[i].exit || !contains(all, ROWS[i].says))
            fail_msg("row %zu: exit %d: %.*s%.*s", i, o.exit, TP_FMT(o.err), TP_FMT(o.out));
    }
}

/* What ran here is named, and no time changes the advice. */
static void times_of_this_machine_decide_nothing(void **state)
{
    static const char *const TRANSPOSE = "tests/assess/drop_naive_transpose.tile.json";
    place *p = *state;
    outcome o = RUN(p->a, "assess", "--format", "json", "--runs", "2", TRANSPOSE, "--size", "M=512");
    struct json_object *r = record_of(p->a, &o), *here = member(first_of(r), "here"), *kernel = member(here, "kernel"),
                       *reference = member(here, "reference");
    assert_string_equal(string_of(r, "advice"), "drop"); /* as without --runs: specs_get_their_advice */
    assert_false(json_object_get_boolean(member(here, "decides")));
    assert_int_equal(json_object_get_int(member(here, "runs")), 2);
    assert_int_equal(json_object_get_int(member(member(here, "sizes"), "M")), 512);
    assert_string_equal(string_of(kernel, "engine"), "machine");
    assert_true(strlen(string_of(kernel, "instruction_set")) && strlen(string_of(kernel, "elementary_functions")));
    assert_string_equal(string_of(reference, "engine"), "evaluator");
    assert_true(json_object_get_double(member(kernel, "seconds")) > 0);
    assert_true(json_object_get_double(member(reference, "seconds")) > 0);
    json_object_put(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(specs_get_their_advice), IN_PLACE(references_cost_what_they_move),
                                       IN_PLACE(options_and_texts), IN_PLACE(times_of_this_machine_decide_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
