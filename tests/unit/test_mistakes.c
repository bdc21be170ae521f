/* Mistakes that authors of kernels make (tests/mistakes): the first finding names the cause, and --fix makes of the
 * spec one without findings. "x-test" says with which command, the rule, a part of what the finding says ("says") and
 * of what its fix does ("fix"). Every second one; TEST_EVERY=1: all (make attention). */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/files.h"

enum { MISTAKES = 55 };

static outcome checked(place *p, const char *command, const char *path, const char *how)
{
    if (strcmp(command, "lint") == 0)
        return how ? RUN(p->a, "lint", path, how) : RUN(p->a, "lint", path, "--format", "json");
    return how ? RUN(p->a, "verify", "--cases", "2", "--box", "2", path, how)
               : RUN(p->a, "verify", "--cases", "2", "--box", "2", path, "--format", "json");
}

static struct json_object *first_open(struct json_object *spec)
{
    struct json_object *all = member(spec, "findings"), *advice = NULL;
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *f = json_object_array_get_idx(all, i);
        const char *verdict = string_of(f, "verdict");
        if (is_open(verdict))
            return f;
        if (!advice && strcmp(verdict, "advice") == 0)
            advice = f;
    }
    return advice;
}

static bool names_cause(struct json_object *finding, struct json_object *test)
{
    static const char *const PARTS[] = {"message", "label", "note", "help"};
    struct json_object *fix = member(finding, "fix"), *witness = member(finding, "witness");
    const char *subject = string_of(test, "subject");
    bool says = witness && strstr(string_of(witness, "detail"), string_of(test, "says"));
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++)
        says |= strstr(string_of(finding, PARTS[i]), string_of(test, "says")) != NULL;
    return says && strcmp(string_of(finding, "rule"), string_of(test, "rule")) == 0 &&
           (!subject[0] || strcmp(string_of(finding, "subject"), subject) == 0) && fix &&
           strstr(string_of(fix, "title"), string_of(test, "fix"));
}

/* After --fix nothing is open, not even advice of the rule. */
static bool mended(place *p, const char *command, const char *text_of, const char *rule)
{
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, text_of, 1 << 20, &text, &why), TP_OK);
    const char *copy = put(p, "mistake.tile.json", text.p, text.n);
    checked(p, command, copy, "--fix");
    outcome o = checked(p, command, copy, NULL);
    struct json_object *r = record_of(p->a, &o), *f = first_open(json_object_array_get_idx(member(r, "specs"), 0));
    bool clean = o.exit == 0 &&
                 (!f || (strcmp(string_of(f, "verdict"), "advice") == 0 && strcmp(string_of(f, "rule"), rule) != 0));
    json_object_put(r);
    return clean;
}

static void first_findings_name_the_cause(void **state)
{
    place *p = *state;
    glob_t g;
    unsigned named = 0, fixed = 0;
    sample some = sample_of(2);
    assert_int_equal(glob("tests/mistakes/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *path = g.gl_pathv[i];
        if (!is_taken(&some))
            continue;
        struct json_object *doc = json_object_from_file(path), *test = member(doc, "x-test");
        assert_non_null(test);
        outcome o = checked(p, string_of(test, "command"), path, NULL);
        struct json_object *r = record_of(p->a, &o), *f = first_open(json_object_array_get_idx(member(r, "specs"), 0));
        bool cause = f && names_cause(f, test),
             whole = mended(p, string_of(test, "command"), path, string_of(test, "rule"));
        if (!cause || !whole)
            print_message("%s: %s%s: %s\n", path, cause ? "" : "another cause or fix; ", whole ? "" : "not mended",
                          f ? json_object_to_json_string(f) : "no finding");
        named += cause;
        fixed += cause && whole;
        json_object_put(r);
        json_object_put(doc);
    }
    print_message("%llu of %u mistakes: %u named first, %u of them mended\n", (unsigned long long)some.taken,
                  (unsigned)g.gl_pathc, named, fixed);
    assert_true(g.gl_pathc >= MISTAKES && named == some.taken && fixed == some.taken);
    globfree(&g);
}

/* Each thing once: no help beside a fix that keeps the sizes, one finding for what one change removes. */
static void things_are_said_once(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "lint", "tests/mistakes/block_not_aligned.tile.json");
    assert_true(contains(o.out, "fix: use `16`") && !contains(o.out, "help:"));
    assert_true(contains(o.out, "also: `y` (line") && !contains(o.out, "of the block of `y`"));
    assert_true(contains(o.out, "3 violated")); /* all are counted */
    o = RUN(p->a, "lint", "examples/broken/unbounded_rows.tile.json");
    assert_true(contains(o.out, "fix: require `N <= 131072`") && !contains(o.out, "holds when"));
    o = RUN(p->a, "lint", "examples/broken/index_maps_swapped.tile.json"); /* causes before what follows from them */
    assert_true(contains(o.out, "fix: use the index_map `(i, k)`") && !contains(o.out, "help:"));
    assert_true(contains(o.out, "note: the fix of TP101 of `x` in line 26 removes this, too"));
}

/* What leaves next to nothing is not offered. */
static void preconditions_leave_something(void **state)
{
    place *p = *state;
    static const char *const SPECS[] = {"tests/mistakes/padding_in_max.tile.json",
                                        "tests/mistakes/output_revisited.tile.json"};
    for (size_t i = 0; i < 2; i++) {
        outcome o = RUN(p->a, "lint", SPECS[i]);
        assert_true(o.exit == 1 && !contains(o.out, "holds when") && !contains(o.out, "require "));
    }
    outcome o = RUN(p->a, "lint", "tests/mistakes/mask_missing.tile.json"); /* this one leaves every 512th */
    assert_true(contains(o.out, "holds when: K % 512 == 0"));
}

/* A result that differs is told at the statement that is wrong, or that writes it: roots of what is drawn below 0 do
 * not hide it. */
static void differences_are_told_at_a_statement(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "verify", "--cases", "2", "--box", "0", "examples/broken/moment_before_update.tile.json");
    assert_true(contains(o.out, "error[TP701]") && contains(o.out, "| ") && contains(o.out, "     \"step = m[...] * "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(first_findings_name_the_cause), IN_PLACE(things_are_said_once),
                                       IN_PLACE(preconditions_leave_something),
                                       IN_PLACE(differences_are_told_at_a_statement)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
