/* Attention kernels without cases of their own, and what goes wrong in such
 * kernels: tests/attention/ holds the kernels, defects.json text changes with
 * the rule that verify has to find violated, and changes that break nothing.
 * A sample; TEST_EVERY=1 is all of it (make attention). */
#define _GNU_SOURCE
#include "tests/unit/changes.h"

enum { SAMPLE = 61 };

static outcome verified(place *p, struct json_object *entry)
{
    const char *pattern = tp_printf(p->a, "tests/attention/%s.tile.json", string_of(entry, "in")).p;
    tp_str text = changed(p, pattern, member(entry, "change"));
    return RUN(p->a, "verify", put(p, "changed.tile.json", text.p, text.n), "--format", "json");
}

/* Violated rules, and the unknown ones in brackets. */
static bool finds(place *p, const outcome *o, const char *rule, tp_buf *said)
{
    struct json_object *r = record_of(p->a, o),
                       *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    bool found = false;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        bool violated = strcmp(string_of(f, "verdict"), "violated") == 0;
        if (violated || strcmp(string_of(f, "verdict"), "unknown") == 0)
            tp_buf_printf(said, violated ? " %s" : " (%s)", string_of(f, "rule"));
        found |= violated && strcmp(string_of(f, "rule"), rule) == 0;
    }
    json_object_put(r);
    return found;
}

static void each(place *p, const char *list, size_t step, int exit, size_t least)
{
    struct json_object *all = json_object_from_file("tests/attention/defects.json"), *entries = member(all, list);
    size_t n = json_object_array_length(entries), wrong = 0, ran = 0;
    for (size_t i = 0; i < n; i += step, ran++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        tp_buf said = {.arena = p->a};
        outcome o = verified(p, entry);
        bool found = finds(p, &o, string_of(entry, "rule"), &said);
        if (o.exit == exit && (exit == 0 || found))
            continue;
        wrong++;
        print_message("exit %d: %s:%.*s\n", o.exit, json_object_to_json_string(entry), TP_FMT(tp_buf_view(&said)));
    }
    print_message("%s: %zu of %zu, %zu wrong\n", list, ran, n, wrong);
    assert_int_equal(wrong, 0);
    assert_true(n >= least);
    json_object_put(all);
}

static size_t step_of(size_t normally)
{
    const char *every = getenv("TEST_EVERY");
    size_t step = every ? strtoul(every, NULL, 10) : normally;
    return step ? step : 1;
}

static void defects_are_rejected(void **state)
{
    each(*state, "defects", step_of(SAMPLE), 1, 200);
}

static void correct_ones_pass(void **state)
{
    each(*state, "look_alikes", step_of(2), 0, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(defects_are_rejected), IN_PLACE(correct_ones_pass)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
