/* Fixes of the rules' examples and of the broken kernels: what is written, what is shown, what is left. */
#define _GNU_SOURCE
#include <glob.h>

#include "spec/format.h"
#include "tests/unit/specs.h"
#include "verify/rewrites.h"

/* Findings that fail a check, or those that advise. */
static uint32_t count_findings(struct json_object *spec, bool advice)
{
    struct json_object *list = member(spec, "findings");
    uint32_t n = 0;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        const char *verdict = string_of(json_object_array_get_idx(list, i), "verdict");
        n += advice ? strcmp(verdict, "advice") == 0 : is_open(verdict);
    }
    return n;
}

enum { GROUP = 16 }; /* specs of a call: a process for each would cost as much as its checks */

typedef struct fixes {
    uint32_t fixed, specs, patches;
    bool can_patch;
} fixes;

static const char *copy_name(place *p, size_t i)
{
    return tp_printf(p->a, "copy%02zu.tile.json", i).p;
}

static tp_str text_at(place *p, const char *path)
{
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, path, 1 << 20, &text, &why), TP_OK);
    return text;
}

/* The specs at these paths, n of them, in files beside each other. */
static void fix_group(place *p, char **paths, size_t n, fixes *all)
{
    tp_str was[GROUP], now[GROUP], header;
    const char *const LINT[] = {"lint", "--format", "json"}, *const DIFF[] = {"lint", "--diff", "--unsafe-fixes"},
                      *const FIX[] = {"lint", "--fix", "--unsafe-fixes", "--format", "json"};
    const char *before_args[GROUP + 6] = {0}, *diff_args[GROUP + 6] = {0}, *after_args[GROUP + 6] = {0};
    memcpy(before_args, LINT, sizeof LINT);
    memcpy(diff_args, DIFF, sizeof DIFF);
    memcpy(after_args, FIX, sizeof FIX);
    for (size_t i = 0; i < n; i++) {
        was[i] = text_at(p, paths[i]);
        put(p, copy_name(p, i), was[i].p, was[i].n);
        before_args[3 + i] = diff_args[3 + i] = after_args[5 + i] = copy_name(p, i);
    }
    outcome before = run_in(p->a, p->dir, NULL, 6144, before_args), diff = run_in(p->a, p->dir, NULL, 6144, diff_args),
            after = run_in(p->a, p->dir, NULL, 6144, after_args);
    assert_int_equal(diff.exit, before.exit);
    struct json_object *r = record_of(p->a, &before), *s = record_of(p->a, &after);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        now[i] = text_at(p, path_in(p, copy_name(p, i)));
        header = tp_printf(p->a, "--- %s\n+++ %s\n", copy_name(p, i), copy_name(p, i));
        bool changed = !tp_str_eq(now[i], was[i]);
        assert_int_equal(changed, contains(diff.out, header.p));
        struct json_object *then = json_object_array_get_idx(member(r, "specs"), i),
                           *since = json_object_array_get_idx(member(s, "specs"), i);
        bool advised = count_findings(then, false) == 0; /* a fix of advice alone */
        uint32_t stood = count_findings(then, advised), stands = count_findings(since, advised);
        if (changed ? stands >= stood : stands != stood)
            fail_msg("%s: %u findings, %u after its fixes", paths[i], stood, stands);
        all->specs++;
        all->fixed += changed;
        any |= changed;
        put(p, copy_name(p, i), was[i].p, was[i].n);
    }
    if (any && all->can_patch) { /* by a reader that we did not write */
        put(p, "the.patch", diff.out.p, diff.out.n);
        assert_int_equal(system(tp_printf(p->a, "cd %s && patch -s -p0 <the.patch", p->dir).p), 0);
        for (size_t i = 0; i < n; i++)
            assert_true(tp_str_eq(text_at(p, path_in(p, copy_name(p, i))), now[i]));
        all->patches++;
    }
    json_object_put(r);
    json_object_put(s);
}

/* What --fix writes is what --diff shows, has fewer findings, and none of a
 * rule that had none; a fix in the JSON report, applied here, is enough for its finding. Of every twentieth spec;
 * TEST_EVERY=1: of all (make attention). */
static void fixes_remove_findings(void **state)
{
    place *p = *state;
    static const char *const PLACES[] = {"examples/broken/*.tile.json", "tests/rules/*/bad_*.tile.json"};
    fixes all = {.can_patch = system("patch --version >/dev/null 2>&1") == 0};
    sample some = sample_of(20);
    for (size_t k = 0; k < 2; k++) {
        glob_t g;
        char *group[GROUP];
        size_t n = 0;
        assert_int_equal(glob(PLACES[k], 0, NULL, &g), 0);
        for (size_t i = 0; i < g.gl_pathc; i++) {
            if (is_taken(&some))
                group[n++] = g.gl_pathv[i];
            if (n == GROUP || (n && i + 1 == g.gl_pathc)) {
                fix_group(p, group, n, &all);
                n = 0;
            }
        }
        globfree(&g);
    }
    print_sample("specs", &some);
    print_message("fixes: %u of %u specs, %u patches applied\n", all.fixed, all.specs, all.patches);
    assert_true(all.fixed * 5 >= all.specs && all.specs >= 120 / some.every);
}

/* The finding, or "could not decide" its claim, is in the list: with its rule, subject, place and message. */
static bool is_found(struct json_object *list, struct json_object *f)
{
    static const char *const SAME[] = {"rule", "subject", "pointer", "message"};
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *g = json_object_array_get_idx(list, i);
        bool like = is_open(string_of(g, "verdict"));
        size_t same = strcmp(string_of(g, "verdict"), "unknown") == 0 ? 3 : 4;
        for (size_t k = 0; k < same && like; k++)
            like = strcmp(string_of(f, SAME[k]), string_of(g, SAME[k])) == 0;
        if (like)
            return true;
    }
    return false;
}

static const char *text_with(struct json_object *doc, const char *condition)
{
    struct json_object *where = member(doc, "where");
    if (!where)
        json_object_object_add(doc, "where", where = json_object_new_array());
    json_object_array_add(where, json_object_new_string(condition));
    return json_object_to_json_string(doc);
}

/* Of one spec; how many it has. */
static uint32_t try_preconditions(place *p, const char *path)
{
    outcome o = RUN(p->a, "lint", "--format", "json", path);
    struct json_object *r = record_of(p->a, &o),
                       *list = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    uint32_t n = 0;
    for (size_t i = 0; list && i < json_object_array_length(list); i++) {
        struct json_object *f = json_object_array_get_idx(list, i);
        const char *condition = string_of(f, "holds_when");
        if (!condition[0])
            continue;
        struct json_object *doc = json_object_from_file(path);
        const char *text = text_with(doc, condition);
        outcome then = RUN(p->a, "lint", "--format", "json", put(p, "narrow.tile.json", text, strlen(text)));
        struct json_object *s = record_of(p->a, &then);
        if (is_found(member(json_object_array_get_idx(member(s, "specs"), 0), "findings"), f))
            fail_msg("%s: %s is not proven where %s", path, string_of(f, "rule"), condition);
        json_object_put(s);
        json_object_put(doc);
        n++;
    }
    json_object_put(r);
    return n;
}

/* "holds when …: then proven" is so: a spec with the condition in "where" has no such finding. TEST_EVERY=1: of all
 * (make attention). */
static void preconditions_hold(void **state)
{
    enum { EVERY = 10 };
    place *p = *state;
    sample some = sample_of(EVERY);
    uint32_t n = 0;
    glob_t g;
    assert_int_equal(glob("tests/rules/*/bad_*.tile.json", 0, NULL, &g), 0);
    assert_int_equal(glob("examples/broken/*.tile.json", GLOB_APPEND, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (is_taken(&some))
            n += try_preconditions(p, g.gl_pathv[i]);
    globfree(&g);
    print_sample("specs", &some);
    print_message("preconditions: %u, each proven\n", n);
    assert_true(n >= 60 / some.every);
}

static void fixes_say_what_they_do(void **state)
{
    place *p = *state;
    put_spec(p, "k.tile.json", " + 1", "");
    outcome o = RUN_IN(p->a, p->dir, "lint", "--diff", "k.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "--- k.tile.json\n+++ k.tile.json\n@@ -4,7 +4,7 @@\n"));
    assert_true(contains(o.out, "\"index_map\": [\"i\"]}],\n   \"outputs\""));
    struct stat st;
    put_spec(p, "linked.tile.json", " + 1", "");
    assert_int_equal(chmod(path_in(p, "linked.tile.json"), 0640), 0);
    assert_int_equal(symlink("linked.tile.json", path_in(p, "link.tile.json")), 0);
    o = RUN_IN(p->a, p->dir, "lint", "-q", "--ignore", "TP501", "--fix", "link.tile.json");
    expect_exit(&o, 0);
    assert_int_equal(lstat(path_in(p, "link.tile.json"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(path_in(p, "linked.tile.json"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    o = RUN_IN(p->a, p->dir, "lint", "--fix", "--diff", "k.tile.json");
    expect_exit(&o, 2);
    o = RUN_IN(p->a, p->dir, "lint", "--fix", "-");
    expect_exit(&o, 2);
    assert_int_equal(chmod(p->dir, 0500), 0);
    o = RUN_IN(p->a, p->dir, "lint", "--fix", "k.tile.json");
    if (geteuid() != 0) { /* root may write anywhere */
        expect_exit(&o, 5);
        assert_true(contains(o.err, "--fix: "));
    }
    assert_int_equal(chmod(p->dir, 0700), 0);
}

/* cdiv steps write beside the array at M = 3, too: TP401 says no more then, and is not mended. */
static void what_hides_a_finding_is_no_fix(void **state)
{
    place *p = *state;
    static const char TEXT[] =
        "{\"tileproof\": 1, \"name\": \"k\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 2, \"max\": 4}},\n"
        " \"grid\": [{\"axis\": \"i\", \"steps\": \"M // 2\"}],\n"
        " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\", 2], \"block_shape\": [2, 2],"
        " \"index_map\": [\"i\", \"0\"]}],\n"
        " \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", 2], \"block_shape\": [2, 2],"
        " \"index_map\": [\"0\", \"i % 2\"]}],\n"
        " \"kernel\": [\"o[...] = x[...]\"]}\n";
    put(p, "k.tile.json", TEXT, sizeof TEXT - 1);
    outcome o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "error[TP101]") && contains(o.out, "error[TP401]"));
    assert_false(contains(o.out, "fix: "));
}

/* "says", "never" and "order" of what a command prints. */
static void expect_text(const char *path, struct json_object *test, tp_str text)
{
    struct json_object *says = member(test, "says"), *never = member(test, "never"), *order = member(test, "order");
    const char *at = text.p;
    for (size_t i = 0; order && i < json_object_array_length(order) && at; i++) {
        const char *part = json_object_get_string(json_object_array_get_idx(order, i));
        at = memmem(at, text.n - (size_t)(at - text.p), part, strlen(part));
        if (!at)
            fail_msg("%s does not say \"%s\" in its place: %.3000s", path, part, text.p);
    }
    for (size_t i = 0; i < json_object_array_length(says); i++)
        if (!contains(text, json_object_get_string(json_object_array_get_idx(says, i))))
            fail_msg("%s does not say \"%s\": %.3000s", path,
                     json_object_get_string(json_object_array_get_idx(says, i)), text.p);
    for (size_t i = 0; never && i < json_object_array_length(never); i++)
        if (contains(text, json_object_get_string(json_object_array_get_idx(never, i))))
            fail_msg("%s says \"%s\": %.3000s", path, json_object_get_string(json_object_array_get_idx(never, i)),
                     text.p);
}

/* After --fix of either command the text is as it was, or its results agree with the reference. */
static void expect_agreement(place *p, const char *path, const char *command, bool mended)
{
    tp_str was = text_at(p, path);
    const char *copy = put(p, "fixed.tile.json", was.p, was.n);
    RUN(p->a, command, copy, "--fix");
    bool changed = !tp_str_eq(text_at(p, copy), was);
    outcome o = RUN(p->a, "verify", copy);
    if (mended && o.exit != 0)
        fail_msg("%s is not mended: %.3000s", path, o.out.p);
    if (changed && contains(o.out, "TP701"))
        fail_msg("%s --fix of %s left another function: %.3000s", command, path, o.out.p);
}

/* The rules alone allow many a change after which a kernel computes something else. Of every second spec;
 * TEST_EVERY=1: of all (make attention). */
static void fixes_agree_with_references(void **state)
{
    place *p = *state;
    glob_t g;
    assert_int_equal(glob("tests/fixes/*.tile.json", 0, NULL, &g), 0);
    assert_true(g.gl_pathc >= 7);
    sample some = sample_of(2);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (!is_taken(&some))
            continue;
        const char *path = g.gl_pathv[i], *const COMMANDS[] = {"lint", "verify"};
        struct json_object *doc = json_object_from_file(path), *test = member(doc, "x-test");
        for (size_t c = 0; c < 2; c++) {
            outcome o = RUN(p->a, COMMANDS[c], path);
            expect_text(path, member(test, COMMANDS[c]), o.out);
            expect_agreement(p, path, COMMANDS[c], c && json_object_get_boolean(member(test, "mended")));
        }
        json_object_put(doc);
    }
    globfree(&g);
}

static size_t count_parens(tp_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '(';
    return n;
}

/* A changed spec in canonical form, or nothing: it does not parse. */
typedef struct changed {
    tp_source source;
    tp_ctx ctx;
    tp_buf out;
} changed;

static void format_changed(void *arg)
{
    changed *x = arg;
    tp_spec_format(&x->ctx, tp_json_parse(&x->ctx, false), &x->out);
}

enum { EVERY = 11 }; /* of a kernel's changes */

static void check_parentheses(const char *path)
{
    tp_arena *a = tp_arena_new(0);
    tp_str why, text;
    assert_int_equal(tp_read_file(a, path, 1 << 20, &text, &why), TP_OK);
    tp_source source = {.path = tp_str_c(path), .text = text};
    tp_ctx c = {.arena = a, .source = &source};
    tp_rewrites all = tp_rewrites_of(&c, tp_json_parse(&c, false), 4000);
    uint32_t parsed = 0;
    for (uint32_t i = 0; i < all.len; i += EVERY) {
        tp_arena *one = tp_arena_child(a);
        tp_edits edit = {0};
        tp_push(one, edit, all.at[i].edit);
        changed x = {.source = source, .ctx = {.arena = one, .source = &x.source}, .out = {.arena = one}};
        x.source.text = tp_apply_edits(one, text, &edit);
        bool parses = tp_try(one, format_changed, &x) == TP_OK;
        parsed += parses;
        if (parses && count_parens(x.source.text) != count_parens(tp_buf_view(&x.out)))
            fail_msg("%s:%u: parentheses that are not needed: %.*s", path,
                     tp_linecol_of(&source, all.at[i].edit.start).line, TP_FMT(all.at[i].edit.text));
        tp_arena_free(one);
    }
    assert_true(parsed > 2);
    tp_arena_free(a);
}

/* The gallery is in canonical form: so is what a change makes of it, as for its parentheses. */
static void changes_have_the_fewest_parentheses(void **state)
{
    glob_t g;
    (void)state;
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        check_parentheses(g.gl_pathv[i]);
    globfree(&g);
}

/* A fix is executed for a while only: of a body whose loop does not end, too, and where the call has no limit. */
static void loops_without_end_keep_their_fix(void **state)
{
    place *p = *state;
    static const char TEXT[] =
        "{\"tileproof\": 1, \"name\": \"k\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": 1, \"max\": 4096}},\n"
        " \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\"}],\n"
        " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"M\"], \"block_shape\": [8],"
        " \"index_map\": [\"i + 1\"]}],\n"
        " \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\"], \"block_shape\": [8],"
        " \"index_map\": [\"i\"]}],\n"
        " \"kernel\": [\"b = full((), 0, int32)\", \"while b < 1:\", \"    b = b * 1\", \"o[...] = x[...]\"],\n"
        " \"reference\": [\"o = x\"]}\n";
    put(p, "k.tile.json", TEXT, sizeof TEXT - 1);
    outcome o = RUN_IN(p->a, p->dir, "lint", "--timeout", "0", "k.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "fix: use `i`") || contains(o.out, "use `i` (re-checked"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(fixes_remove_findings),           IN_PLACE(preconditions_hold),
        IN_PLACE(fixes_say_what_they_do),          IN_PLACE(what_hides_a_finding_is_no_fix),
        IN_PLACE(fixes_agree_with_references),     cmocka_unit_test(changes_have_the_fewest_parentheses),
        IN_PLACE(loops_without_end_keep_their_fix)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
