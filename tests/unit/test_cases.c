/* What `verify` chooses to run: tests/cases/ holds kernels with a defect that
 * shows only at certain sizes, inputs or branches (bad_*), and correct ones that
 * look like them (ok_*); open_*: undecided. "x-test": exit code, the rule that a
 * violation breaks, parts of the full text ("says"), and what is in no part of
 * it ("never"); members of "coverage" in the record. */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/files.h"

static bool violates(struct json_object *findings, const char *rule)
{
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        if (strcmp(string_of(f, "verdict"), "violated") == 0 && strcmp(string_of(f, "rule"), rule) == 0)
            return true;
    }
    return false;
}

/* "coverage" of the record has these members; what the terminal says of it stands on the page, too, and its
 * coverage in the table of Markdown. */
static void check_coverage(place *p, const char *path, struct json_object *wanted, struct json_object *record,
                           struct json_object *says)
{
    struct json_object *e = member(json_object_array_get_idx(member(record, "specs"), 0), "equivalence");
    json_object_object_foreach (wanted, key, value) {
        struct json_object *got = member(member(e, "coverage"), key);
        if (!json_object_equal(value, got))
            fail_msg("%s: %s is %s", path, key, json_object_to_json_string(got));
    }
    outcome html = RUN(p->a, "verify", path, "--format", "html"),
            table = RUN(p->a, "verify", path, "--format", "markdown");
    for (size_t i = 0; i < json_object_array_length(says); i++) {
        const char *line = json_object_get_string(json_object_array_get_idx(says, i)), *text = line + 11;
        tp_str head = tp_printf(p->a, ">%.*s</th>", (int)strcspn(line, " "), line),
               row = tp_printf(p->a, "<td>%s</td></tr>", text);
        if (!contains(html.out, head.p) || !contains(html.out, row.p))
            fail_msg("%s: HTML does not say \"%s\"", path, row.p);
        if (strncmp(line, "coverage", 8) == 0 && !contains(table.out, text))
            fail_msg("%s: Markdown does not say \"%s\"", path, text);
    }
}

static void check_file(place *p, const char *path)
{
    struct json_object *doc = json_object_from_file(path), *test = member(doc, "x-test"), *says = member(test, "says"),
                       *never = member(test, "never");
    int code = json_object_get_int(member(test, "exit"));
    outcome o = RUN(p->a, "verify", path, "--format", "json");
    if (o.exit != code)
        fail_msg("%s: exit %d, expected %d: %.300s", path, o.exit, code, tp_cstr(p->a, o.err));
    struct json_object *r = record_of(p->a, &o),
                       *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    if (code == 1 && !violates(findings, string_of(test, "rule")))
        fail_msg("%s: no violation of %s", path, string_of(test, "rule"));
    if (says || never)
        o = RUN(p->a, "verify", path);
    for (size_t i = 0; says && i < json_object_array_length(says); i++) {
        const char *part = json_object_get_string(json_object_array_get_idx(says, i));
        if (!contains(o.out, part))
            fail_msg("%s does not say \"%s\"", path, part);
    }
    for (size_t i = 0; never && i < json_object_array_length(never); i++) {
        const char *part = json_object_get_string(json_object_array_get_idx(never, i));
        if (contains(o.out, part))
            fail_msg("%s says \"%s\"", path, part);
    }
    if (member(test, "coverage"))
        check_coverage(p, path, member(test, "coverage"), r, says);
    json_object_put(r);
    json_object_put(doc);
}

static void defects_that_show_seldom_are_seen(void **state)
{
    glob_t g;
    assert_int_equal(glob("tests/cases/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        check_file(*state, g.gl_pathv[i]);
    assert_true(g.gl_pathc >= 10);
    globfree(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(defects_that_show_seldom_are_seen)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
