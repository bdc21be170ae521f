/* Kernels on several devices: tests/devices/. The kernels there equal their references on every number of devices that
 * is tried; tests/devices/defects.json holds text changes, each with the rule that `verify` has to report, and correct
 * kernels that look like them. Where all sizes are fixed, lint proves by the only run. A sample in `make test`;
 * TEST_EVERY=1: all (make attention). */
#define _GNU_SOURCE
#include "tests/unit/changes.h"

/* Has lint proven what some run of the same kernel breaks? */
static bool proven_too(struct json_object *findings, const char *rule)
{
    bool proven = false;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        proven |= strcmp(string_of(f, "rule"), rule) == 0 && strcmp(string_of(f, "verdict"), "proven") == 0;
    }
    return proven && (strcmp(rule, TP_RULE_IN_FLIGHT) == 0 || strcmp(rule, TP_RULE_DMA_SEMAPHORE) == 0 ||
                      strcmp(rule, TP_RULE_UNINITIALIZED_USE) == 0);
}

/* The rules that verify finds violated, and what else stands in the record. */
static tp_str violated_rules(place *p, const char *path, int64_t *tested)
{
    outcome o = RUN(p->a, "verify", path, "--format", "json", "--cases", "4", "--box", "12");
    struct json_object *r = record_of(p->a, &o), *spec = json_object_array_get_idx(member(r, "specs"), 0),
                       *findings = member(spec, "findings");
    tp_buf b = {.arena = p->a};
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        if (strcmp(string_of(f, "verdict"), "violated") != 0)
            continue;
        if (proven_too(findings, string_of(f, "rule")))
            fail_msg("%s: %s is proven, and broken", path, string_of(f, "rule"));
        tp_buf_printf(&b, " %s", string_of(f, "rule"));
    }
    *tested = (int64_t)json_object_array_length(member(member(spec, "equivalence"), "cases"));
    json_object_put(r);
    return tp_buf_view(&b);
}

static void correct_kernels_equal_their_references(void **state)
{
    place *p = *state;
    glob_t g;
    assert_int_equal(glob("tests/devices/*.tile.json", 0, NULL, &g), 0);
    assert_true(g.gl_pathc >= 5);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        int64_t tested;
        tp_str rules = violated_rules(p, g.gl_pathv[i], &tested);
        if (rules.n || tested < 8)
            fail_msg("%s: %lld cases,%.*s", g.gl_pathv[i], (long long)tested, TP_FMT(rules));
    }
    globfree(&g);
}

static void each(place *p, const char *list, bool defects)
{
    struct json_object *all = json_object_from_file("tests/devices/defects.json"), *entries = member(all, list);
    size_t n = json_object_array_length(entries), wrong = 0;
    sample some = sample_of(9);
    for (size_t i = 0; i < n; i++) {
        if (!is_taken(&some))
            continue;
        struct json_object *entry = json_object_array_get_idx(entries, i);
        tp_str text = changed(p, tp_printf(p->a, "%s.tile.json", string_of(entry, "in")).p, member(entry, "change"));
        int64_t tested;
        tp_str rules = violated_rules(p, put(p, "changed.tile.json", text.p, text.n), &tested);
        if (defects ? strstr(tp_printf(p->a, "%.*s", TP_FMT(rules)).p, string_of(entry, "rule")) != NULL : !rules.n)
            continue;
        wrong++;
        print_message("%s: %s:%.*s\n", defects ? "not caught" : "false alarm", json_object_to_json_string(entry),
                      TP_FMT(rules));
    }
    print_sample(list, &some);
    assert_int_equal(wrong, 0);
    assert_true(n >= (defects ? 35u : 10u));
    json_object_put(all);
}

static void planted_defects_are_caught(void **state)
{
    each(*state, "defects", true);
}

static void look_alikes_are_left_in_peace(void **state)
{
    each(*state, "look_alikes", false);
}

/* For all sizes: places, numbers of devices, integers, semaphores, what is in flight, and what is read and written. */
static void all_is_proven_for_all_sizes(void **state)
{
    static const char *const RULES[] = {TP_RULE_SLICE_OUT_OF_BOUNDS, TP_RULE_INDEX_OVERFLOW, TP_RULE_DIVISION_BY_ZERO,
                                        TP_RULE_DMA_SEMAPHORE,       TP_RULE_IN_FLIGHT,      TP_RULE_OUTPUT_COVERAGE,
                                        TP_RULE_UNINITIALIZED_USE,   TP_RULE_PADDING_LEAK};
    place *p = *state;
    outcome o = RUN(p->a, "lint", "tests/devices", "--format", "json");
    struct json_object *r = record_of(p->a, &o), *specs = member(r, "specs");
    assert_true(json_object_array_length(specs) >= 5);
    for (size_t i = 0; i < json_object_array_length(specs); i++) {
        struct json_object *spec = json_object_array_get_idx(specs, i), *findings = member(spec, "findings");
        for (size_t k = 0; k < sizeof RULES / sizeof *RULES; k++) {
            unsigned proven = 0;
            for (size_t n = 0; n < json_object_array_length(findings); n++) {
                struct json_object *f = json_object_array_get_idx(findings, n);
                if (strcmp(string_of(f, "rule"), RULES[k]) != 0)
                    continue;
                assert_string_equal(string_of(f, "verdict"), "proven");
                proven++;
            }
            if (!proven)
                fail_msg("%s: %s is not proven", string_of(spec, "path"), RULES[k]);
        }
    }
    json_object_put(r);
}

/* The record of lint, with all sizes fixed; `spec` goes. */
static struct json_object *fixed_at(place *p, struct json_object *spec, int devices, int rows, int columns, int n)
{
    struct json_object *sizes = json_object_new_object();
    json_object_object_add(sizes, "D", json_object_new_int(devices));
    json_object_object_add(sizes, "R", json_object_new_int(rows));
    json_object_object_add(sizes, "C", json_object_new_int(columns));
    json_object_object_add(sizes, "N", json_object_new_int(n));
    json_object_object_add(spec, "sizes", sizes);
    json_object_object_add(spec, "target", json_object_new_string("none"));
    const char *text = json_object_to_json_string(spec), *path = put(p, "fixed.tile.json", text, strlen(text));
    outcome o = RUN(p->a, "lint", path, "--format", "json");
    json_object_put(spec);
    return record_of(p->a, &o);
}

static struct json_object *findings_of(struct json_object *record)
{
    return member(json_object_array_get_idx(member(record, "specs"), 0), "findings");
}

/* With all sizes fixed nothing is left open: one run stands for every order of the devices. */
static void the_only_run_proves(void **state)
{
    place *p = *state;
    glob_t g;
    assert_int_equal(glob("tests/devices/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct json_object *r = fixed_at(p, json_object_from_file(g.gl_pathv[i]), 4, 5, 3, 256),
                           *findings = findings_of(r);
        bool flights = false;
        for (size_t f = 0; f < json_object_array_length(findings); f++) {
            struct json_object *x = json_object_array_get_idx(findings, f);
            const char *rule = string_of(x, "rule"), *verdict = string_of(x, "verdict");
            bool proven = strcmp(verdict, "proven") == 0;
            flights |= proven && strcmp(rule, TP_RULE_IN_FLIGHT) == 0;
            if (strcmp(verdict, "violated") == 0)
                fail_msg("%s: %s %s", g.gl_pathv[i], rule, verdict);
        }
        if (!flights)
            fail_msg("%s: TP504 is not proven by the only run", g.gl_pathv[i]);
        json_object_put(r);
    }
    globfree(&g);
}

enum { RING = 1000, ROWS = 100, COLUMNS = 64 }; /* far more than are executed, or counted one by one */

/* What is proven for any number of devices is proven for a large one. */
static void many_devices_are_proven(void **state)
{
    place *p = *state;
    glob_t g;
    assert_int_equal(glob("tests/devices/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct json_object *r = fixed_at(p, json_object_from_file(g.gl_pathv[i]), RING, ROWS, COLUMNS, 64),
                           *findings = findings_of(r);
        for (size_t f = 0; f < json_object_array_length(findings); f++) {
            struct json_object *x = json_object_array_get_idx(findings, f);
            const char *verdict = string_of(x, "verdict");
            if (strcmp(verdict, "unknown") == 0 || strcmp(verdict, "violated") == 0)
                fail_msg("%s: %s %s", g.gl_pathv[i], string_of(x, "rule"), verdict);
        }
        json_object_put(r);
    }
    globfree(&g);
}

/* ... and a defect is not. */
static void defects_of_many_devices_are_not(void **state)
{
    place *p = *state;
    struct json_object *all = json_object_from_file("tests/devices/defects.json"), *entries = member(all, "defects");
    sample some = sample_of(9);
    unsigned tried = 0;
    for (size_t i = 0; i < json_object_array_length(entries); i++) {
        if (!is_taken(&some))
            continue;
        struct json_object *entry = json_object_array_get_idx(entries, i);
        const char *rule = string_of(entry, "rule");
        tp_str text = changed(p, tp_printf(p->a, "%s.tile.json", string_of(entry, "in")).p, member(entry, "change"));
        struct json_object *spec = json_tokener_parse(tp_cstr(p->a, text));
        assert_non_null(spec);
        if (strcmp(rule, "TP701") == 0) { /* of results */
            json_object_put(spec);
            continue;
        }
        struct json_object *r = fixed_at(p, spec, RING, ROWS, COLUMNS, 64), *findings = findings_of(r);
        bool open = false;
        for (size_t f = 0; f < json_object_array_length(findings); f++) {
            struct json_object *x = json_object_array_get_idx(findings, f);
            open |= strcmp(string_of(x, "rule"), rule) == 0 && strcmp(string_of(x, "verdict"), "proven") != 0;
        }
        if (!open)
            fail_msg("%s is proven of %s", rule, json_object_to_json_string(entry));
        tried++;
        json_object_put(r);
    }
    print_message("%u defects at %d devices, or at %d by %d\n", tried, RING, ROWS, COLUMNS);
    json_object_put(all);
}

/* Where a copy arrives grows too large once modulos are choices: that is not known, and what else is known stays so. */
static void places_that_grow_too_large_leave_the_rest_known(void **state)
{
    place *p = *state;
    tp_buf b = {.arena = p->a};
    tp_buf_c(
        &b,
        "{\"tileproof\": 1, \"name\": \"large\", \"target\": \"none\", \"sizes\": {\"D\": {\"min\": 1, \"max\": 8}}, "
        "\"grid\": [{\"axis\": \"d\", \"steps\": \"D\", \"semantics\": \"device\"}], ");
    for (int out = 0; out < 2; out++)
        tp_buf_printf(&b,
                      "\"%s\": [{\"name\": \"%s\", \"dtype\": \"float32\", \"shape\": [\"D\", 8], "
                      "\"block_shape\": [null, 8], \"index_map\": [\"d\", 0], \"memory_space\": \"any\"}], ",
                      out ? "outputs" : "inputs", out ? "o" : "x");
    tp_buf_c(&b, "\"scratch\": [{\"name\": \"b\", \"dtype\": \"float32\", \"shape\": [\"D + 2\", 8]}");
    for (int recv = 0; recv < 2; recv++)
        tp_buf_printf(&b, ", {\"name\": \"%s\", \"memory_space\": \"dma_semaphore\", \"shape\": []}",
                      recv ? "recv" : "send");
    tp_buf_c(&b, "], \"kernel\": [\"r = (d + 1) % D\"");
    for (int i = 0; i < 8; i++)
        tp_buf_c(&b, ", \"r = max(r // 2 + 1, r // 3)\"");
    tp_buf_c(&b,
             ", \"copy_start(x[...], b[r, :], send, recv, device=(d + 1) % D)\", \"copy(x[...], b[1, :])\", "
             "\"copy_wait(x[...], b[0, :], send)\", \"copy_wait(x[...], b[0, :], recv)\", \"copy(x[...], o[...])\"]}");
    outcome o = RUN(p->a, "lint", put(p, "large.tile.json", b.p, b.n), "--format", "json");
    struct json_object *r = record_of(p->a, &o),
                       *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    unsigned places = 0, semaphores = 0;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        const char *rule = string_of(f, "rule");
        bool proven = strcmp(string_of(f, "verdict"), "proven") == 0;
        assert_false(proven && strcmp(rule, TP_RULE_IN_FLIGHT) == 0);
        places += proven && strcmp(rule, TP_RULE_SLICE_OUT_OF_BOUNDS) == 0;
        semaphores += proven && strcmp(rule, TP_RULE_DMA_SEMAPHORE) == 0;
    }
    assert_true(places && semaphores);
    json_object_put(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(correct_kernels_equal_their_references, make_place, drop_place),
        cmocka_unit_test_setup_teardown(planted_defects_are_caught, make_place, drop_place),
        cmocka_unit_test_setup_teardown(look_alikes_are_left_in_peace, make_place, drop_place),
        cmocka_unit_test_setup_teardown(all_is_proven_for_all_sizes, make_place, drop_place),
        cmocka_unit_test_setup_teardown(the_only_run_proves, make_place, drop_place),
        cmocka_unit_test_setup_teardown(many_devices_are_proven, make_place, drop_place),
        cmocka_unit_test_setup_teardown(defects_of_many_devices_are_not, make_place, drop_place),
        cmocka_unit_test_setup_teardown(places_that_grow_too_large_leave_the_rest_known, make_place, drop_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
