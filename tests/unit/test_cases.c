/* What `verify` chooses to run: tests/cases/ holds kernels with a defect that
 * shows only at certain sizes, inputs or branches (bad_*), and correct ones that
 * look like them (ok_*); open_*: undecided. "x-test": exit code, the rule that a
 * violation breaks, parts of the full text ("says"), and what is in no part of
 * it ("never"), parts of the HTML ("page"); members of "coverage" and of
 * "all_sizes" ("proof") in the record. Every fifth of the bad ones, every fourth
 * of the others; TEST_EVERY=1: all (make attention). */
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
static void check_coverage(const char *path, struct json_object *wanted, struct json_object *record,
                           struct json_object *says, tp_arena *a, tp_str html, tp_str table)
{
    struct json_object *e = member(json_object_array_get_idx(member(record, "specs"), 0), "equivalence");
    json_object_object_foreach (wanted, key, value) {
        struct json_object *got = member(member(e, "coverage"), key);
        if (!json_object_equal(value, got))
            fail_msg("%s: %s is %s", path, key, json_object_to_json_string(got));
    }
    for (size_t i = 0; i < json_object_array_length(says); i++) {
        const char *line = json_object_get_string(json_object_array_get_idx(says, i)), *text = line + 11;
        tp_str head = tp_printf(a, ">%.*s</th>", (int)strcspn(line, " "), line),
               row = tp_printf(a, "<td>%s</td></tr>", text);
        if (!contains(html, head.p) || !contains(html, row.p))
            fail_msg("%s: HTML does not say \"%s\"", path, row.p);
        if (strncmp(line, "coverage", 8) == 0 && !contains(table, text))
            fail_msg("%s: Markdown does not say \"%s\"", path, text);
    }
}

static tp_str report_in(place *p, const char *name)
{
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, path_in(p, name), 64 << 20, &text, &why), TP_OK);
    return text;
}

/* "all_sizes" in the record has these members. */
static void check_proof(const char *path, struct json_object *wanted, struct json_object *record)
{
    struct json_object *e = member(json_object_array_get_idx(member(record, "specs"), 0), "equivalence"),
                       *proof = member(member(e, "algebra"), "all_sizes");
    json_object_object_foreach (wanted, key, value) {
        struct json_object *got = member(proof, key);
        if (!json_object_equal(value, got))
            fail_msg("%s: %s is %s", path, key, json_object_to_json_string(got));
    }
}

/* All formats of one run. */
static void check_file(place *p, const char *path)
{
    struct json_object *doc = json_object_from_file(path), *test = member(doc, "x-test"), *says = member(test, "says"),
                       *never = member(test, "never"), *page = member(test, "page");
    int code = json_object_get_int(member(test, "exit"));
    outcome o = RUN(p->a, "verify", path, "--format", "json", "-o", tp_printf(p->a, "full=%s/full", p->dir).p, "-o",
                    tp_printf(p->a, "html=%s/html", p->dir).p, "-o", tp_printf(p->a, "markdown=%s/markdown", p->dir).p);
    if (o.exit != code)
        fail_msg("%s: exit %d, expected %d: %.300s", path, o.exit, code, tp_cstr(p->a, o.err));
    struct json_object *r = record_of(p->a, &o),
                       *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    tp_str full = report_in(p, "full");
    if (code == 1 && !violates(findings, string_of(test, "rule")))
        fail_msg("%s: no violation of %s", path, string_of(test, "rule"));
    for (size_t i = 0; says && i < json_object_array_length(says); i++) {
        const char *part = json_object_get_string(json_object_array_get_idx(says, i));
        if (!contains(full, part))
            fail_msg("%s does not say \"%s\"", path, part);
    }
    for (size_t i = 0; never && i < json_object_array_length(never); i++) {
        const char *part = json_object_get_string(json_object_array_get_idx(never, i));
        if (contains(full, part))
            fail_msg("%s says \"%s\"", path, part);
    }
    if (member(test, "proof"))
        check_proof(path, member(test, "proof"), r);
    tp_str html = report_in(p, "html");
    for (size_t i = 0; page && i < json_object_array_length(page); i++) {
        const char *part = json_object_get_string(json_object_array_get_idx(page, i));
        if (!strpbrk(part, "<>")) /* the page shows the spec, and with it this text */
            fail_msg("%s: \"%s\" has no markup", path, part);
        if (!contains(html, part))
            fail_msg("%s: HTML does not say \"%s\"", path, part);
    }
    if (member(test, "coverage"))
        check_coverage(path, member(test, "coverage"), r, says, p->a, html, report_in(p, "markdown"));
    json_object_put(r);
    json_object_put(doc);
}

static void defects_that_show_seldom_are_seen(void **state)
{
    sample bad = sample_of(6), good = sample_of(5);
    glob_t g;
    assert_int_equal(glob("tests/cases/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (is_taken(strstr(g.gl_pathv[i], "/bad_") ? &bad : &good))
            check_file(*state, g.gl_pathv[i]);
    print_sample("defects", &bad);
    print_sample("others", &good);
    assert_true(bad.taken + good.taken >= 30);
    globfree(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(defects_that_show_seldom_are_seen)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
