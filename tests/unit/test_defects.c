/* Defects of the kinds that users report, planted into gallery kernels, and
 * correct kernels that look like them: tests/defects.json (and tests/copies/defects.json, of kernels there) holds text
 * changes with the rule that has to be violated (and what its help, note and fix say), or
 * none. "cases": so many for each dtype combination; 2. Of those that are executed every sixtieth, of the others every
 * twelfth; TEST_EVERY=1: all of them (make attention). TEST_COMMAND=lint or verify:
 * those that this command judges. */
#define _GNU_SOURCE
#include "tests/unit/changes.h"

/* Findings that are not proofs, and among them a violation of `rule`. */
static unsigned open_findings(place *p, struct json_object *entry, const char *rule, bool *caught, tp_buf *said)
{
    const char *name = string_of(entry, "in"), *command = string_of(entry, "command");
    const char *folder = strchr(name, '/') ? "" : "examples/*/";
    tp_str text = changed(p, tp_printf(p->a, "%s%s.tile.json", folder, name).p, member(entry, "change"));
    const char *path = put(p, "changed.tile.json", text.p, text.n);
    const char *cases = string_of(entry, "cases");
    outcome o = command[0]
                    ? RUN(p->a, command, path, "--format", "json", "--cases", cases[0] ? cases : "2", "--box", "2")
                    : RUN(p->a, "lint", path, "--format", "json");
    struct json_object *r = record_of(p->a, &o),
                       *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    unsigned open = 0;
    *caught = false;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        if (strcmp(string_of(f, "verdict"), "proven") == 0 || strcmp(string_of(f, "verdict"), "advice") == 0)
            continue;
        open++;
        *caught |= strcmp(string_of(f, "verdict"), "violated") == 0 && strcmp(string_of(f, "rule"), rule) == 0 &&
                   strstr(string_of(f, "help"), string_of(entry, "help")) &&
                   strstr(string_of(f, "note"), string_of(entry, "note")) &&
                   strstr(string_of(member(f, "fix"), "title"), string_of(entry, "fix"));
        tp_buf_printf(said, " %s(%s)", string_of(f, "rule"), string_of(f, "verdict"));
    }
    json_object_put(r);
    return open;
}

static void each(place *p, const char *file, const char *list, uint64_t every, bool defects)
{
    struct json_object *all = json_object_from_file(file), *entries = member(all, list);
    size_t n = json_object_array_length(entries), wrong = 0;
    const char *only = getenv("TEST_COMMAND");
    sample proven = sample_of(every), executed = sample_of(60);
    for (size_t i = 0; i < n; i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        const char *command = string_of(entry, "command");
        if (only && strcmp(only, command[0] ? command : "lint") != 0)
            continue;
        if (!is_taken(command[0] ? &executed : &proven))
            continue;
        tp_buf said = {.arena = p->a};
        bool caught;
        unsigned open = open_findings(p, entry, string_of(entry, "rule"), &caught, &said);
        if (defects ? caught : open == 0)
            continue;
        wrong++;
        print_message("%s: %s:%.*s\n", defects ? "not caught" : "false alarm", json_object_to_json_string(entry),
                      TP_FMT(tp_buf_view(&said)));
    }
    print_sample(list, &proven);
    print_sample("executed", &executed);
    print_message("%zu wrong\n", wrong);
    assert_int_equal(wrong, 0);
    assert_true(n >= (defects ? 60u : 30u));
    json_object_put(all);
}

static void planted_defects_are_caught(void **state)
{
    each(*state, "tests/defects.json", "defects", 12, true);
}

static void planted_defects_of_copies_are_caught(void **state)
{
    each(*state, "tests/copies/defects.json", "defects", 12, true);
}

static void look_alikes_are_left_in_peace(void **state)
{
    each(*state, "tests/defects.json", "look_alikes", 12, false);
}

static void look_alikes_of_copies_are_left_in_peace(void **state)
{
    each(*state, "tests/copies/defects.json", "look_alikes", 12, false);
}

/* All of what they are planted into, and nothing is left open. */
static void kernels_with_copies_are_proven(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "lint", "-q", "tests/copies", "tests/devices");
    if (o.exit != 0 || !contains(o.out, ": 0 violated") || !contains(o.out, " 0 unknown"))
        fail_msg("%s", o.out);
}

static size_t entries_of(const char *file, const char *kernel)
{
    struct json_object *all = json_object_from_file(file), *entries = member(all, "defects");
    size_t n = 0;
    for (size_t i = 0; i < json_object_array_length(entries); i++)
        n += strcmp(string_of(json_object_array_get_idx(entries, i), "in"), kernel) == 0;
    json_object_put(all);
    return n;
}

/* What may be wrong with copies; each of it is planted into five kernels, or more. */
static const char *const KINDS[] = {
    "a wait is missing",
    "a wait is doubled",
    "a wait on another semaphore",
    "a wait for other bytes",
    "a slot is not rotated",
    "a start without its guard",
    "a start under another guard than its wait",
    "used before the wait",
    "a store to what a copy reads",
    "a load from a slot in flight",
    "overwritten before it is out",
    "left over at the end",
    "an element is never written",
};
enum { NKINDS = sizeof KINDS / sizeof *KINDS, FEWEST_KERNELS = 5 };

/* Is one of this kind and kernel before number `at`? */
static bool seen_before(struct json_object *entries, size_t at, const char *kind)
{
    const char *kernel = string_of(json_object_array_get_idx(entries, at), "in");
    for (size_t i = 0; i < at; i++) {
        struct json_object *e = json_object_array_get_idx(entries, i);
        if (strcmp(string_of(e, "kind"), kind) == 0 && strcmp(string_of(e, "in"), kernel) == 0)
            return true;
    }
    return false;
}

static void every_kind_is_planted_into_five_kernels(void **state)
{
    (void)state;
    struct json_object *all = json_object_from_file("tests/copies/defects.json"), *entries = member(all, "defects");
    size_t n = json_object_array_length(entries), named = 0;
    for (size_t i = 0; i < n; i++)
        named += string_of(json_object_array_get_idx(entries, i), "kind")[0] != 0;
    for (size_t k = 0; k < NKINDS; k++) {
        size_t defects = 0, kernels = 0;
        for (size_t i = 0; i < n; i++)
            if (strcmp(string_of(json_object_array_get_idx(entries, i), "kind"), KINDS[k]) == 0) {
                defects++;
                kernels += !seen_before(entries, i, KINDS[k]);
            }
        print_message("%s: %zu defects in %zu kernels\n", KINDS[k], defects, kernels);
        named -= defects;
        assert_true(kernels >= FEWEST_KERNELS);
    }
    assert_int_equal(named, 0); /* no kind is misspelt */
    json_object_put(all);
}

static void every_gallery_kernel_has_defects(void **state)
{
    place *p = *state;
    glob_t g;
    size_t kernels = 0;
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *name = strrchr(g.gl_pathv[i], '/') + 1;
        const char *kernel = tp_printf(p->a, "%.*s", (int)strcspn(name, "."), name).p;
        if (strstr(g.gl_pathv[i], "/broken/"))
            continue;
        size_t n = entries_of("tests/defects.json", kernel) + entries_of("tests/copies/defects.json", kernel);
        kernels++;
        if (n < 10)
            fail_msg("%s: %zu defects are planted", kernel, n);
    }
    assert_true(kernels >= 40);
    globfree(&g);
}

/* What is past the end has no influence, as 0 times it is 0: no law says so of undefined numbers. */
static const char PAST[] =
    "{\"tileproof\": 1, \"name\": \"past\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": "
    "[{\"axis\": "
    "\"i\", \"steps\": \"cdiv(N, 256)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [1, "
    "\"N\"], "
    "\"block_shape\": [1, 256], \"index_map\": [0, \"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
    "\"shape\": [1, \"N\"], \"block_shape\": [1, 256], \"index_map\": [0, \"i\"]}], \"scratch\": [{\"name\": \"top\", "
    "\"dtype\": \"float32\", \"shape\": [1, 1]}], \"kernel\": [\"if i == 0:\", \"    top[...] = -inf\", \"lane = "
    "iota(int32, "
    "(1, 256), 1)\", \"v = where(i * 256 + lane < N, x[...], -inf)\", \"past = where(i * 256 + lane < N, 1, where(lane "
    "< 5, "
    "full((), 2, int32), 3)).astype(float32)\", \"o[...] = maximum(top[...], cummax(v, axis=1)) + 0 * sum(past, "
    "axis=1, "
    "keepdims=True)\", \"top[...] = maximum(top[...], max(v, axis=1, keepdims=True))\"], \"reference\": [\"o = "
    "cummax(x, "
    "axis=1)\"]}";

static void mutate_says_who_notices(void **state)
{
    place *p = *state;
    const char *past = put(p, "past.tile.json", PAST, sizeof PAST - 1);
    outcome o = RUN(p->a, "mutate", "add_vectors", "column_scale");
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "E1") && contains(o.out, "2 specs") && contains(o.out, "not told apart on wider runs"));
    /* what the cases of verify do not tell apart is held against wider ones */
    assert_false(contains(o.out, "not told apart wrong in a late step"));
    assert_false(contains(o.out, "not told apart index map held"));
    o = RUN(p->a, "mutate", "add_vectors", "--defects", "3", "--verbose");
    assert_true(o.exit == 0 && contains(o.out, "3 defects of"));
    /* a defect that moves the cases themselves (a step that only some see) leaves no common numbers: wider runs compare
     */
    o = RUN(p->a, "mutate", past, "--defects", "8", "--seed", "1");
    assert_true(o.exit == 0 && contains(o.out, "not told apart on wider runs 2, open 0, survive 0"));
    /* nor does this one change a bit: nobody looks at what lies past the end */
    o = RUN(p->a, "mutate", "tests/kernels/running_max.tile.json", "--defects", "8", "--seed", "11");
    assert_true(o.exit == 0 && contains(o.out, "2 proven equal for all sizes; of the other 6 noticed 6"));
    assert_true(contains(o.out, "leaves the bits of the kernel as it is"));
    /* from element 9000001 on, where no case reaches */
    o = RUN(p->a, "mutate", "tests/kernels/far_column.tile.json", "--defects", "12", "--seed", "1");
    assert_true(o.exit == 0 && contains(o.out, "second opinion") && contains(o.out, "not told apart on wider runs 0"));
    o = RUN(p->a, "mutate", "add_vectors", "--wider", "many");
    assert_int_equal(o.exit, 2);
    o = RUN(p->a, "mutate", "tests/bad/truncated.tile.json");
    assert_int_equal(o.exit, 3);
    o = RUN(p->a, "mutate");
    assert_int_equal(o.exit, 2);
}

/* What rejects the kernel as it is would be said to notice every defect; a spec without an answer counts as none. */
static void mutate_counts_what_it_judged(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "mutate", "--defects", "3", "examples/broken/index_plus_one.tile.json", "add_vectors");
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.err, "TP101 rejects the kernel as it is"));
    assert_true(contains(o.out, "1 specs, 3 defects planted") && !contains(o.out, "index_plus_one"));
}

static void mutate_writes_json(void **state)
{
    place *p = *state;
    static const char *const FATES[] = {"noticed", "proven_equal", "not_told_apart", "open", "survives"};
    outcome o = RUN(p->a, "mutate", "--defects", "8", "--seed", "11", "--format", "json",
                    put(p, "past.tile.json", PAST, sizeof PAST - 1), "add_vectors");
    struct json_object *doc = record_of(p->a, &o), *specs = member(doc, "specs"), *all = member(doc, "counts");
    int64_t planted = 0;
    assert_int_equal(o.exit, 0);
    assert_int_equal(json_object_array_length(specs), 2);
    for (size_t f = 0; f < sizeof FATES / sizeof *FATES; f++) {
        int64_t n = 0;
        for (size_t i = 0; i < 2; i++) {
            struct json_object *list = member(json_object_array_get_idx(specs, i), "defects");
            for (size_t d = 0; d < json_object_array_length(list); d++) {
                struct json_object *one = json_object_array_get_idx(list, d);
                n += strcmp(string_of(one, "outcome"), FATES[f]) == 0;
                assert_true((member(one, "by") != NULL) == (strcmp(string_of(one, "outcome"), "noticed") == 0));
            }
        }
        assert_int_equal(json_object_get_int64(member(all, FATES[f])), n);
        planted += n;
    }
    assert_int_equal(json_object_get_int64(member(all, "not_told_apart")), 4);
    assert_int_equal(json_object_get_int64(member(all, "planted")), planted);
    assert_int_equal(json_object_get_int64(member(all, "specs")), 2);
    json_object_put(doc);
    o = RUN(p->a, "mutate", "--format", "html", "add_vectors");
    assert_true(o.exit == 2 && contains(o.err, "it has full and json"));
}

/* Into the steps, windows and grids of pipelines, too. */
static void mutate_plants_into_pipelines(void **state)
{
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"rows\", \"target\": \"none\", \"grid\": [], \"inputs\": [{\"name\": \"x\", "
        "\"dtype\": \"float32\", \"shape\": [8, 8], \"memory_space\": \"any\"}], \"outputs\": [{\"name\": \"o\", "
        "\"dtype\": \"float32\", \"shape\": [1, 8]}], \"pipelines\": [{\"name\": \"add\", \"grid\": [{\"axis\": \"a\", "
        "\"steps\": 4}], \"inputs\": [{\"name\": \"xb\", \"block_shape\": [2, 8], \"index_map\": [\"a\", 0]}], "
        "\"kernel\": [\"o[...] += sum(xb[...], axis=0, keepdims=True)\"]}], \"kernel\": [\"o[...] = 0\", \"add(x)\"], "
        "\"reference\": [\"o = sum(x, axis=0, keepdims=True)\"]}";
    static const char *const KINDS_OF_PIPELINES[] = {"index map off by one",      "index map constant",
                                                     "index map entries swapped", "block twice as large",
                                                     "one step too few",          "overwritten instead of accumulated",
                                                     "wrong in a late step"};
    place *p = *state;
    outcome o =
        RUN(p->a, "mutate", "--defects", "99", "--format", "json", put(p, "rows.tile.json", SPEC, sizeof SPEC - 1));
    struct json_object *doc = record_of(p->a, &o),
                       *list = member(json_object_array_get_idx(member(doc, "specs"), 0), "defects");
    assert_int_equal(o.exit, 0);
    for (size_t k = 0; k < sizeof KINDS_OF_PIPELINES / sizeof *KINDS_OF_PIPELINES; k++) {
        size_t planted = 0;
        for (size_t d = 0; d < json_object_array_length(list); d++) {
            struct json_object *one = json_object_array_get_idx(list, d);
            bool same = strcmp(string_of(one, "kind"), KINDS_OF_PIPELINES[k]) == 0;
            planted += same;
            assert_true(!same || strcmp(string_of(one, "outcome"), "noticed") == 0);
        }
        if (!planted)
            print_message("not planted: %s\n", KINDS_OF_PIPELINES[k]);
        assert_true(planted > 0);
    }
    json_object_put(doc);
}

/* A step that only larger sizes have, though the windows of few steps move much already. */
static void late_steps_of_large_windows(void **state)
{
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"late\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1}, \"N\": "
        "{\"min\": 1}}, "
        "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 256)\"}, {\"axis\": \"j\", \"steps\": \"cdiv(N, 512)\"}], "
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [256, "
        "512], "
        "\"index_map\": [\"i\", \"j\"]}, {\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], "
        "\"block_shape\": [256, 512], \"index_map\": [\"i\", \"min(j, 3)\"]}], "
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"], \"block_shape\": [256, "
        "512], "
        "\"index_map\": [\"i\", \"j\"]}], "
        "\"kernel\": [\"o[...] = x[...] * y[...]\"], \"reference\": [\"o = x * y\"]}";
    place *p = *state;
    assert_int_equal(RUN(p->a, "verify", put(p, "late.tile.json", SPEC, sizeof SPEC - 1)).exit, 1);
}

static void nan_everywhere_shows_nothing(void **state)
{
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"nan\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"]}], "
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"]}], "
        "\"kernel\": [\"o[...] = sqrt(-1 - x[...] * x[...])\"], \"reference\": [\"o = sqrt(-1 - x * x)\"]}";
    place *p = *state;
    outcome o = RUN(p->a, "verify", put(p, "nan.tile.json", SPEC, sizeof SPEC - 1));
    assert_int_equal(o.exit, 4);
    assert_true(contains(o.out, "nan everywhere, so nothing is compared"));
}

static void required_evidence(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "verify", "softmax_rows", "--require", "algebra=E4,rounding=E1", "--box", "50");
    assert_int_equal(o.exit, 0);
    o = RUN(p->a, "verify", "softmax_rows", "--require", "bits=E2");
    assert_true(o.exit == 4 && contains(o.out, "TP704") && contains(o.out, "is rounded on integer inputs"));
    o = RUN(p->a, "verify", "examples/elementwise/column_scale.tile.json", "--require", "algebra=E6");
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.err, "algebra=E6 is the old name of algebra=E5"));
    o = RUN(p->a, "verify", "softmax_rows", "--require", "algebra=E9");
    assert_true(o.exit == 2 && contains(o.err, "algebra=E9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(every_gallery_kernel_has_defects),
                                       cmocka_unit_test(every_kind_is_planted_into_five_kernels),
                                       IN_PLACE(planted_defects_are_caught),
                                       IN_PLACE(planted_defects_of_copies_are_caught),
                                       IN_PLACE(mutate_says_who_notices),
                                       IN_PLACE(mutate_counts_what_it_judged),
                                       IN_PLACE(mutate_plants_into_pipelines),
                                       IN_PLACE(mutate_writes_json),
                                       IN_PLACE(late_steps_of_large_windows),
                                       IN_PLACE(required_evidence),
                                       IN_PLACE(nan_everywhere_shows_nothing),
                                       IN_PLACE(look_alikes_are_left_in_peace),
                                       IN_PLACE(look_alikes_of_copies_are_left_in_peace),
                                       IN_PLACE(kernels_with_copies_are_proven)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
