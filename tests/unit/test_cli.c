/* The program as a whole: specs that carry their expectation, bad input,
 * usage errors, and runs on arrays. */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/files.h"

/* ---- specs with "x-test" ---- */

/* False where the expectation has none. */
static bool same_numbers(struct json_object *want, struct json_object *got)
{
    if (!want)
        return false;
    json_object_object_foreach (want, key, value) {
        struct json_object *v = got ? member(got, key) : NULL;
        if (!v || json_object_get_int64(v) != json_object_get_int64(value))
            return false;
    }
    return true;
}

static void check_witness(const char *path, struct json_object *finding, struct json_object *expected)
{
    struct json_object *w = member(finding, "witness"), *want = member(expected, "witness");
    struct json_object *when = member(expected, "holds_when"); /* "": there must be none */
    struct json_object *help = member(expected, "help");       /* "": there must be none */
    if (help && (json_object_get_string(help)[0] ? !strstr(string_of(finding, "help"), json_object_get_string(help))
                                                 : string_of(finding, "help")[0] != '\0'))
        fail_msg("%s: the help is \"%s\"", path, string_of(finding, "help"));
    if (when && strcmp(json_object_get_string(when), string_of(finding, "holds_when")) != 0)
        fail_msg("%s: holds when \"%s\", expected \"%s\"", path, string_of(finding, "holds_when"),
                 json_object_get_string(when));
    const char *replay = w ? string_of(w, "replay") : "";
    if (strcmp(string_of(finding, "verdict"), "vacuous") == 0)
        return; /* no sizes, no witness */
    if (strcmp(replay, "executed") != 0 && strcmp(replay, "arithmetic") != 0)
        fail_msg("%s: the violation has no replayed witness", path);
    if (want && (!same_numbers(member(want, "sizes"), member(w, "sizes")) ||
                 !same_numbers(member(want, "step"), member(w, "step")) ||
                 (member(want, "tables") && !same_numbers(member(want, "tables"), member(w, "tables"))) ||
                 strcmp(string_of(want, "replay"), replay) != 0))
        fail_msg("%s: the witness is %s, expected %s", path, json_object_to_json_string(w),
                 json_object_to_json_string(want));
}

static void check_basis(const char *path, struct json_object *finding, struct json_object *expected)
{
    struct json_object *want = member(expected, "rests_on"), *got = member(finding, "rests_on");
    if (want && strcmp(json_object_to_json_string(want), json_object_to_json_string(got)) != 0)
        fail_msg("%s: it rests on %s, expected %s", path, json_object_to_json_string(got),
                 json_object_to_json_string(want));
}

static void check_expectation(const char *path)
{
    tp_arena *a = tp_arena_new(0);
    struct json_object *doc = json_object_from_file(path), *test = member(doc, "x-test");
    if (!test)
        fail_msg("%s: no x-test", path);
    const char *rule = string_of(test, "rule"), *subject = string_of(test, "subject"),
               *verdict = string_of(test, "verdict"); /* of this subject; empty: some obligation is proven, or bad */
    int code = json_object_get_int(member(test, "exit"));
    char full[] = "/tmp/tileproof-full-XXXXXX";
    tp_str text, why;
    close(mkstemp(full));
    outcome o = RUN(a, string_of(test, "command"), path, "--format", "json", "-o", tp_printf(a, "full=%s", full).p);
    if (o.exit != code)
        fail_msg("%s: exit %d, expected %d: %.300s", path, o.exit, code, tp_cstr(a, o.err));
    struct json_object *r = record_of(a, &o), *spec = json_object_array_get_idx(member(r, "specs"), 0),
                       *findings = member(spec, "findings");
    bool found = false;
    struct json_object *advice = member(test, "advice"); /* wanted (true) or not */
    for (size_t i = 0; i < json_object_array_length(findings) && advice; i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        found |= strcmp(string_of(f, "rule"), rule) == 0 && strcmp(string_of(f, "verdict"), "advice") == 0 &&
                 strcmp(string_of(f, "subject"), subject) == 0;
    }
    if (advice && found != json_object_get_boolean(advice))
        fail_msg("%s: %s advice of %s on %s", path, found ? "unwanted" : "no", rule, subject);
    found = advice != NULL;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        bool same = strcmp(string_of(f, "rule"), rule) == 0, bad = is_bad(string_of(f, "verdict"));
        bool wanted = strcmp(string_of(f, "verdict"), verdict[0] ? verdict : "proven") == 0 &&
                      (!verdict[0] || strcmp(string_of(f, "subject"), subject) == 0);
        if (code == 0 && same && wanted) {
            found = true;
            check_basis(path, f, test);
        }
        if (code == 0 && bad)
            fail_msg("%s: %s %s", path, string_of(f, "rule"), string_of(f, "message"));
        if (code == 1 && same && bad && (!subject[0] || strcmp(string_of(f, "subject"), subject) == 0) && !found) {
            found = true;
            check_witness(path, f, test);
            check_basis(path, f, test);
        }
    }
    if (!found)
        fail_msg("%s: no %s finding of %s for %s", path, code ? "bad" : verdict[0] ? verdict : "proven", rule, subject);
    const char *says = string_of(test, "says"); /* a part of the full text */
    assert_int_equal(tp_read_file(a, full, 64 << 20, &text, &why), TP_OK);
    if (!contains(text, says))
        fail_msg("%s does not say \"%s\"", path, says);
    unlink(full);
    json_object_put(r);
    json_object_put(doc);
    tp_arena_free(a);
}

/* How many were checked, and of how many. */
static sample each(const char *pattern, uint64_t every, void (*check)(const char *path))
{
    glob_t g;
    sample some = every > 1 ? sample_of(every) : (sample){.every = 1};
    assert_int_equal(glob(pattern, 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (is_taken(&some))
            check(g.gl_pathv[i]);
    globfree(&g);
    return some;
}

/* Of every third; TEST_EVERY=1: of all (make attention). What lint says of all of them is in tests/verdicts.txt. */
static void rules_on_their_examples(void **state)
{
    (void)state;
    sample some = each("tests/rules/*/*.tile.json", 3, check_expectation);
    print_sample("examples of rules", &some);
    assert_true(some.taken >= 40);
}

/* Every third of those that lint finds, every fourth of those that have to be executed; TEST_EVERY=1: all (make
 * attention). What lint says of all of them is in tests/verdicts.txt. */
static void broken_siblings(void **state)
{
    (void)state;
    sample proven = sample_of(3), executed = sample_of(4);
    glob_t g;
    assert_int_equal(glob("examples/broken/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        struct json_object *doc = json_object_from_file(g.gl_pathv[i]);
        bool executes = strcmp(string_of(member(doc, "x-test"), "command"), "verify") == 0;
        json_object_put(doc);
        if (is_taken(executes ? &executed : &proven))
            check_expectation(g.gl_pathv[i]);
    }
    globfree(&g);
    print_sample("by lint", &proven);
    print_sample("by verify", &executed);
    assert_true(proven.taken + executed.taken >= 15);
}

/* ---- the gallery ---- */

/* verify says all that lint does. */
static void check_gallery_spec(tp_arena *a, const char *path)
{
    outcome o = RUN(a, "verify", path, "--format", "json", "--unknown", "fail");
    struct json_object *r = record_of(a, &o), *s = member(r, "summary");
    if (o.exit != 0 || json_object_get_int(member(s, "unknown")) || !json_object_get_int(member(s, "proven")))
        fail_msg("%s: exit %d, %s", path, o.exit, json_object_to_json_string(s));
    if (json_object_get_int(member(s, "tested")) < 5)
        fail_msg("%s: only %s", path, json_object_to_json_string(s));
    json_object_put(r);
}

/* The same spec without the cases that it declares; NULL: it declares none. */
static const char *without_cases(place *p, const char *path)
{
    static const char KEY[] = "\n  \"cases\": ";
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, path, 1 << 20, &text, &why), TP_OK);
    const char *whole = tp_cstr(p->a, text), *at = strstr(whole, KEY);
    if (!at)
        return NULL;
    tp_str other = tp_printf(p->a, "%.*s\n  \"x-cases\": %s", (int)(at - whole), whole, at + sizeof KEY - 1);
    return put(p, strrchr(path, '/') + 1, other.p, other.n);
}

/* Every fifth spec, which TEST_SEED shifts, every second of them by cases that are made up alone; TEST_EVERY=1: all in
 * both ways (make attention). What lint says of the others is in tests/verdicts.txt. */
static void gallery_is_clean(void **state)
{
    place *p = *state;
    size_t every = setting("TEST_EVERY", 5), first = setting("TEST_SEED", 1), specs = 0;
    glob_t g;
    assert_true(every > 0);
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (strstr(g.gl_pathv[i], "/broken/") || specs++ % every != first % every)
            continue;
        const char *other = every == 1 || specs / every % 2 ? without_cases(p, g.gl_pathv[i]) : NULL;
        if (other)
            check_gallery_spec(p->a, other);
        if (!other || every == 1)
            check_gallery_spec(p->a, g.gl_pathv[i]);
    }
    globfree(&g);
    assert_true(specs >= 30);
}

static void check_canonical(const char *path)
{
    tp_arena *a = tp_arena_new(0);
    tp_str text, why;
    outcome once = RUN(a, "fmt", path);
    assert_int_equal(tp_read_file(a, path, 1 << 20, &text, &why), TP_OK);
    if (once.exit != 0 || !tp_str_eq(once.out, text))
        fail_msg("%s is not in canonical form (tileproof fmt -w)", path);
    tp_arena_free(a);
}

/* fmt prints what it read: the files are fixed points. */
static void files_are_canonical(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    each("examples/*/*.tile.json", 1, check_canonical);
    outcome o = RUN(a, "fmt", "--check", "tests/alike", "tests/blocks", "tests/cases", "tests/equality", "tests/rules",
                    "tests/semantics"); /* the same of all files in one process */
    if (o.exit != 0)
        fail_msg("%s", tp_cstr(a, o.out));
    tp_arena_free(a);
}

/* ---- bad input ---- */

static bool has_raw_controls(tp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\n') || s.p[i] == 0x7f)
            return true;
    return contains(s, "\xe2\x80\xae"); /* right-to-left override */
}

static void check_bad_file(place *p, struct json_object *row)
{
    static const char *const FORMATS[] = {"full", "concise"};
    tp_arena *a = tp_arena_new(0);
    const char *path = tp_printf(a, "tests/bad/%s", string_of(row, "file")).p, *command = string_of(row, "command"),
               *message = string_of(row, "message");
    struct json_object *help = json_object_object_get(row, "help"); /* NULL: whatever it says */
    int code = json_object_get_int(member(row, "exit"));
    const char *files[2];
    for (int i = 0; i < 2; i++)
        files[i] = path_in(p, FORMATS[i]);
    outcome o = RUN(a, command, path, "--color", "never", "--format", "json", "-o", tp_printf(a, "full=%s", files[0]).p,
                    "-o", tp_printf(a, "concise=%s", files[1]).p);
    if (o.exit != code)
        fail_msg("%s: exit %d, expected %d", path, o.exit, code);
    struct json_object *r = record_of(a, &o),
                       *findings = member(json_object_array_get_idx(member(r, "specs"), 0), "findings");
    bool found = false;
    for (size_t i = 0; i < json_object_array_length(findings) && !found; i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        found = strcmp(string_of(f, "rule"), string_of(row, "rule")) == 0 &&
                strncmp(string_of(f, "message"), message, strlen(message)) == 0 &&
                (!help || strcmp(string_of(f, "help"), json_object_get_string(help)) == 0) &&
                json_object_get_int(member(f, "line")) == json_object_get_int(member(row, "line")) &&
                json_object_get_int(member(f, "column")) == json_object_get_int(member(row, "column"));
    }
    if (!found)
        fail_msg("%s: no %s at %d:%d with \"%s\" in %s", path, string_of(row, "rule"),
                 json_object_get_int(member(row, "line")), json_object_get_int(member(row, "column")), message,
                 json_object_to_json_string(findings));
    json_object_put(r);
    for (int i = 0; i < 2; i++) {
        tp_str text, why;
        assert_int_equal(tp_read_file(a, files[i], 64 << 20, &text, &why), TP_OK);
        if (!contains(text, string_of(row, "rule")) || has_raw_controls(text))
            fail_msg("%s, --format %s: %.400s", path, FORMATS[i], tp_cstr(a, text));
    }
    tp_arena_free(a);
}

static void bad_files(void **state)
{
    struct json_object *rows = json_object_from_file("tests/bad/expected.json");
    assert_non_null(rows);
    size_t n = json_object_array_length(rows);
    for (size_t i = 0; i < n; i++)
        check_bad_file(*state, json_object_array_get_idx(rows, i));
    json_object_put(rows);
    glob_t g;
    assert_int_equal(glob("tests/bad/*.tile.json*", 0, NULL, &g), 0);
    assert_int_equal(g.gl_pathc, n); /* each file has its row */
    globfree(&g);
    assert_true(n >= 60);
}

/* ---- input too large or too strange for a repository ---- */

static const char *put_repeated(place *p, const char *name, const char *head, const char *unit, size_t n,
                                const char *tail)
{
    tp_buf b = {.arena = p->a};
    tp_buf_c(&b, head);
    for (size_t i = 0; i < n; i++)
        tp_buf_c(&b, unit);
    tp_buf_c(&b, tail);
    return put(p, name, b.p, b.n);
}

/* Exit 3, one TP001, in bounded memory (512 MiB). */
static void refused(place *p, const char *path, const char *message)
{
    outcome o = run_limited(p->a, NULL, 512, (const char *const[]){"lint", path, "--color", "never", NULL});
    if (o.exit != 3 || !contains(o.out, "error[TP001]") || !contains(o.out, message))
        fail_msg("%s: exit %d: %.300s%.300s", path, o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
}

static void hostile_files(void **state)
{
    place *p = *state;
    const char *huge = path_in(p, "huge.tile.json");
    FILE *f = fopen(huge, "wb");
    fputs("{\"tileproof\": 1, \"name\": \"", f);
    assert_int_equal(ftruncate(fileno(f), 200 << 20), 0);
    fclose(f);
    refused(p, huge, "the limit is");
    refused(p, put_repeated(p, "deep.tile.json", "{\"tileproof\": 1, \"x-deep\": ", "[", 1000000, ""),
            "nested more than 128 levels");
    refused(p, put_repeated(p, "deep2.tile.json", "", "{\"a\":", 1000000, ""), "nested more than 128 levels");
    refused(p, put_repeated(p, "wide.tile.json", "{\"tileproof\": 1, \"x-wide\": [", "0,", 1000000, "0]}"),
            "more than");
    refused(p, put_repeated(p, "keys.tile.json", "{", "\"a\":0,", 1000000, "}"), "appears twice");
    tp_buf keys = {.arena = p->a};
    tp_buf_c(&keys, "{");
    for (int i = 0; i < 6000; i++)
        tp_buf_printf(&keys, "%s\"x-%d\": 0", i ? "," : "", i);
    tp_buf_c(&keys, "}");
    refused(p, put(p, "many.tile.json", keys.p, keys.n), "keys");
    refused(p, path_in(p, "missing.tile.json"), "No such file");
    refused(p, "/dev/zero", "");
    const char *fifo = path_in(p, "pipe.tile.json");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    refused(p, fifo, "not a regular file");
    const char *secret = put(p, "secret.tile.json", "{}", 2);
    chmod(secret, 0);
    if (geteuid() != 0)
        refused(p, secret, "Permission denied");
    const char *empty = path_in(p, "empty");
    mkdir(empty, 0700);
    outcome o = RUN(p->a, "lint", empty);
    assert_int_equal(o.exit, 2);
    assert_true(contains(o.err, "has no *.tile.json"));
    const char *deep = empty;
    for (int i = 0; i < 33; i++, mkdir(deep, 0700))
        deep = tp_printf(p->a, "%s/d", deep).p;
    o = RUN(p->a, "lint", empty);
    assert_int_equal(o.exit, 2);
    assert_true(contains(o.err, "lies too deep"));
    assert_int_equal(symlink("loop.tile.json", path_in(p, "loop.tile.json")), 0);
    refused(p, path_in(p, "loop.tile.json"), "Too many levels");
}

/* What tools wrote below a folder is not checked with it, but where it is named. */
static void folders_of_tools_are_left_out(void **state)
{
    static const char *const OTHERS[] = {".git", "build", "dist", "node_modules", "env", "kernels"};
    place *p = *state;
    for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
        const char *folder = path_in(p, tp_printf(p->a, "tree/%s", OTHERS[i]).p);
        mkdir(path_in(p, "tree"), 0700);
        assert_int_equal(mkdir(folder, 0700), 0);
        put(p, tp_printf(p->a, "tree/%s/x.tile.json", OTHERS[i]).p, "{}", 2);
    }
    put(p, "tree/env/pyvenv.cfg", "", 0);
    put(p, "tree/.hidden.tile.json", "{}", 2);
    outcome all = RUN(p->a, "lint", "--format", "concise", path_in(p, "tree")),
            one = RUN(p->a, "lint", "--format", "concise", path_in(p, "tree/build"));
    assert_true(contains(all.out, "kernels/x.tile.json") && contains(one.out, "build/x.tile.json"));
    for (size_t i = 0; i + 1 < sizeof OTHERS / sizeof *OTHERS; i++)
        assert_false(contains(all.out, tp_printf(p->a, "tree/%s/", OTHERS[i]).p));
    assert_false(contains(all.out, ".hidden"));
}

static void standard_input(void **state)
{
    place *p = *state;
    outcome o =
        run_limited(p->a, "examples/elementwise/add_vectors.tile.json", 6144, (const char *const[]){"lint", "-", NULL});
    assert_int_equal(o.exit, 0);
    o = run_limited(p->a, "tests/bad/truncated.tile.json", 6144, (const char *const[]){"lint", "-", NULL});
    assert_int_equal(o.exit, 3);
    assert_true(contains(o.out, "<stdin>:6:90"));
    o = run_limited(p->a, "/dev/zero", 512, (const char *const[]){"lint", "-", NULL});
    assert_int_equal(o.exit, 3);
}

/* ---- usage ---- */

/* The memory table is that of the dtypes with the largest sum; no end, no number. */
static void memory_table(void **state)
{
    place *p = *state;
    static const struct {
        const char *size;
        int64_t bytes;
    } CASES[] = {{"128", 4 * 128 * 128 * 128 + 2 * 4 * 8 * 128}, {"{\"min\": 1}", -1}};
    for (size_t i = 0; i < 2; i++) {
        tp_str spec =
            tp_printf(p->a,
                      "{\"tileproof\": 1, \"name\": \"m\", \"dtypes\": {\"T\": [\"bfloat16\", \"float32\", "
                      "\"int8\"]}, \"sizes\": {\"N\": %s}, \"inputs\": [{\"name\": \"x\", \"dtype\": \"T\", "
                      "\"shape\": [\"N\", \"N\", \"N\"]}], \"grid\": [{\"axis\": \"i\", \"steps\": 2}], \"outputs\": "
                      "[{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [16, 128], \"block_shape\": [8, 128], "
                      "\"index_map\": [\"i\", 0]}]}",
                      CASES[i].size);
        outcome o = RUN(p->a, "lint", put(p, "m.tile.json", spec.p, spec.n), "--format", "json");
        struct json_object *r = record_of(p->a, &o),
                           *vmem = member(member(json_object_array_get_idx(member(r, "specs"), 0), "memory"), "vmem");
        struct json_object *bytes = member(vmem, "bytes");
        assert_int_equal(bytes ? json_object_get_int64(bytes) : -1, CASES[i].bytes);
        json_object_put(r);
    }
}

static void usage(void **state)
{
    place *p = *state;
    static const struct {
        const char *args[8];
        int exit;
        const char *text; /* on stderr, or stdout when the exit code is 0 */
    } ROWS[] = {
        {{NULL}, 2, "usage: tileproof COMMAND"},
        {{"--help"}, 0, "exit codes"},
        {{"--version"}, 0, "tileproof 0."},
        {{"lintt", "x"}, 2, "did you mean `lint`"},
        {{"lint"}, 2, "name a spec"},
        {{"lint", "--help"}, 0, "--emit-smt2"},
        {{"help", "lint"}, 0, "--emit-smt2"},
        {{"help", "trace"}, 0, "usage: tileproof trace"},
        {{"help", "lintt"}, 2, "did you mean `lint`"},
        {{"help"}, 0, "exit codes"},
        {{"lint", "--fail-on", "sometimes", "matmul"}, 2, "error, unknown, warning or never"},
        {{"lint", "--fail-on", "unknown", "--unknown", "ignore", "matmul"}, 2, "contradict"},
        {{"lint", "--diff", "tests/bad/truncated.tile.json"}, 3, "the file may be cut off"},
        {{"lint", "--frmat", "json", "matmul"}, 2, "did you mean `--format`"},
        {{"lint", "--format"}, 2, "takes a value"},
        {{"lint", "--format", "xml", "matmul"}, 2, "no format `xml`"},
        {{"lint", "--quiet=yes", "matmul"}, 2, "takes no value"},
        {{"lint", "--target", "tpu-v99", "matmul"}, 2, "unknown target"},
        {{"lint", "--target", "tpu-v5", "matmul"}, 2, "did you mean `tpu-v5"},
        {{"lint", "--select", "TP999", "matmul"}, 2, "no rule `TP999`"},
        {{"lint", "--select", "TP110", "matmul"}, 2, "did you mean `TP1"},
        {{"lint", "--ignore", "TP701", "matmul"}, 2, "`TP701` is found by other means than a rule of lint"},
        {{"run", "matmull"}, 3, "no kernel of the gallery has this name"},
        {{"rules", "TP101"}, 2, "tileproof explain TP101"},
        {{"targets", "tpu-v4"}, 2, "targets takes no arguments"},
        {{"primitives", "exp"}, 2, "primitives takes no arguments"},
        {{"lint", "--unknown", "maybe", "matmul"}, 2, "fail, warn or ignore"},
        {{"lint", "--color", "sometimes", "matmul"}, 2, "auto, always or never"},
        {{"verify", "--cases", "many", "matmul"}, 2, "--cases"},
        {{"verify", "--max-memory", "0", "matmul"}, 2, "--max-memory"},
        {{"explain", "TP101"}, 0, "block-out-of-bounds"},
        {{"explain", "TP501"}, 0, "padding-leak"},
        {{"explain", "TP1O1"}, 2, "TP1O1"},
        {{"rules"}, 0, "TP301"},
        {{"targets"}, 0, "tpu-v5e"},
        {{"primitives"}, 0, "maximum"},
        {{"kernels"}, 0, "matmul_relu"},
        {{"kernels", "extra"}, 3, "not a valid spec"},
        {{"fmt", "--check", "examples"}, 0, ""},
        {{"fmt", "--check", "tests/bad/duplicate_key.tile.json"}, 3, "appears twice"},
        {{"fmt", "--check", "tests/bad/duplicate_key.tile.json", "tests/bad/unclosed_comment.tile.jsonc"},
         2,
         "appears twice"},
        {{"fmt", "--check", "tests/bad/unclosed_comment.tile.jsonc", "tests/bad/duplicate_key.tile.json"},
         2,
         "lose the comments"},
        {{"lint", "matmul", "--select", "TP101,TP201"}, 0, "TP201"},
        {{"lint", "--target", "none", "examples/broken/block_12_rows.tile.json"}, 0, "ok"},
        {{"run", "add_vectors"}, 2, "array for `x` is missing"},
        {{"run", "examples"}, 2, "one spec"},
        {{"run", "add_vectors", "--input", "z=a.npy"}, 2, "no input `z`"},
        {{"run", "add_vectors", "--input", "x"}, 2, "NAME=FILE"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        outcome o = run_limited(p->a, NULL, 6144, ROWS[i].args);
        tp_str text = ROWS[i].exit ? o.err : o.out;
        if (o.exit != ROWS[i].exit || !contains(text, ROWS[i].text))
            fail_msg("%s %s …: exit %d, expected %d with \"%s\": %.300s%.300s", ROWS[i].args[0],
                     ROWS[i].args[0] ? ROWS[i].args[1] : "", o.exit, ROWS[i].exit, ROWS[i].text, tp_cstr(p->a, o.err),
                     tp_cstr(p->a, o.out));
    }
}

/* A wrong value says where it stands. */
static void values_name_their_place(void **state)
{
    place *p = *state;
    const char *settings = put(p, "settings.json", "{\"target\": \"tpu-v99\"}", 21);
    outcome there = RUN(p->a, "lint", "--config", settings, "matmul"),
            here = RUN(p->a, "lint", "--config", "none", "--target", "tpu-v99", "matmul");
    assert_int_equal(there.exit, 2);
    assert_true(contains(there.err, tp_printf(p->a, "not from the command line: --target (%s)", settings).p));
    assert_int_equal(here.exit, 2);
    assert_false(contains(here.err, "not from the command line"));
}

/* Nothing was looked at by then, and nothing but the sentence is said. */
static void files_that_nobody_can_write_end_a_run_first(void **state)
{
    place *p = *state;
    static const char BROKEN[] = "examples/broken/extra_step.tile.json";
    static const struct {
        const char *args[12];
        int exit;
    } ROWS[] = {
        {{"verify", "--receipt", "no/such/r.json", BROKEN}, 2},
        {{"verify", "--receipt", "examples", BROKEN}, 2},
        {{"lint", "--certificates", "no/such/c.jsonl", BROKEN}, 2},
        {{"lint", "--playback", "json=no/such/p.json", BROKEN}, 2},
        {{"sweep", "--over", "bm=8|16", "matmul", "-o", "json=no/such/s.json"}, 2},
        {{"run", BROKEN, "--fill", "normal", "--size", "M=8", "--size", "N=8", "-o", "o=no/such/o.npy"}, 3},
        {{"run", BROKEN, "--fill", "normal", "--size", "M=8", "--size", "N=8", "-o", "x=no/such/x.npy"}, 3},
        {{"run", BROKEN, "--fill", "normal", "--size", "M=8", "--size", "N=8", "--profile", "no/such/p.json"}, 3},
        {{"run", BROKEN, "--fill", "normal", "--size", "M=8", "--size", "N=8", "--trace", "no/such/t.json"}, 3},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        outcome o = run_limited(p->a, NULL, 6144, ROWS[i].args);
        if (o.exit != ROWS[i].exit || o.out.n || !contains(o.err, "cannot write `") || contains(o.err, "violated") ||
            contains(o.err, "not verified"))
            fail_msg("%s %s …: exit %d: %.300s%.300s", ROWS[i].args[0], ROWS[i].args[1], o.exit, tp_cstr(p->a, o.err),
                     tp_cstr(p->a, o.out));
    }
}

/* What the total line under -q says, and which lines it leaves. */
static void quiet_keeps_the_total(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "lint", "-q", "examples/broken/extra_step.tile.json", "examples/elementwise");
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.out, "extra_step.tile.json: 3 violated") && !contains(o.out, "transpose.tile.json: 0"));
    assert_true(contains(o.out, " clean: 3 violated, "));
    o = RUN(p->a, "lint", "-q", "examples/elementwise/transpose.tile.json");
    assert_true(contains(o.out, "transpose.tile.json: 0 violated"));
}

static int exit_of(place *p, const char *level, const char *spec)
{
    return RUN(p->a, "verify", "--cases", "1", "--box", "0", "--fail-on", level, spec).exit;
}

/* --fail-on, by what there is to fail on. */
static void fail_levels(void **state)
{
    place *p = *state;
    static const char STALE[] =
        "{\"tileproof\": 1, \"name\": \"s\", \"target\": \"none\", \"inputs\": [{\"name\": \"x\", \"dtype\": "
        "\"float32\", \"shape\": [8]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [8]}], "
        "\"kernel\": [\"o[...] = x[...]\"], \"reference\": [\"o = x\"], \"allow\": [{\"rule\": \"TP101\", \"reason\": "
        "\"once\"}]}";
    const char *broken = "examples/broken/extra_step.tile.json", *open = "tests/bad/case_huge.tile.json",
               *stale = put(p, "stale.tile.json", STALE, sizeof STALE - 1);
    static const struct {
        const char *level;
        int broken, open, stale;
    } ROWS[] = {{"error", 1, 0, 0}, {"unknown", 1, 4, 0}, {"warning", 1, 4, 1}, {"never", 0, 0, 0}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        assert_int_equal(exit_of(p, ROWS[i].level, broken), ROWS[i].broken);
        assert_int_equal(exit_of(p, ROWS[i].level, open), ROWS[i].open);
        assert_int_equal(exit_of(p, ROWS[i].level, stale), ROWS[i].stale);
    }
    assert_int_equal(RUN(p->a, "lint", "--exit-zero", broken).exit, 0);
    assert_int_equal(RUN(p->a, "lint", "--exit-zero", "tests/bad/empty.tile.json").exit, 3);
    assert_int_equal(RUN(p->a, "lint", "--exit-zero").exit, 2);
    outcome o = RUN(p->a, "lint", stale); /* nothing is violated: the entry is stale */
    assert_true(contains(o.out, ": 0 violated, ") && contains(o.out, "1 stale allow") && contains(o.out, "s  ok"));
}

/* Exit codes when several specs meet: 3 before 1 before 4. */
static void exit_codes_of_many(void **state)
{
    place *p = *state;
    assert_int_equal(RUN(p->a, "lint", "examples/matmul/matmul.tile.json", "examples/broken/extra_step.tile.json").exit,
                     1);
    assert_int_equal(RUN(p->a, "lint", "examples/broken/extra_step.tile.json", "tests/bad/empty.tile.json").exit, 3);
    assert_int_equal(RUN(p->a, "verify", "tests/bad/case_huge.tile.json").exit, 4);
    assert_int_equal(RUN(p->a, "verify", "tests/bad/case_huge.tile.json", "--unknown", "warn").exit, 0);
    assert_int_equal(RUN(p->a, "verify", "tests/bad/case_huge.tile.json", "examples/broken/extra_step.tile.json").exit,
                     1);
    outcome full = run_limited(p->a, NULL, 6144, (const char *const[]){"lint", "matmul", NULL});
    assert_int_equal(full.exit, 0);
    const char *const broken = "examples/broken/extra_step.tile.json"; /* tools/steady.sh has the whole gallery */
    outcome o = RUN(p->a, "lint", "examples/reduction", "examples/matmul", broken, "--format", "json"),
            again = RUN(p->a, "lint", "examples/reduction", "examples/matmul", broken, "--format", "json");
    assert_int_equal(o.exit, 1);
    assert_true(tp_str_eq(o.out, again.out)); /* byte for byte */
}

/* Specs that are printed as they are done, by any number of threads, and all at once: the same bytes. */
static void reports_on_the_way(void **state)
{
    place *p = *state;
    const char *const FORMATS[] = {"full", "concise", "jsonl"};
    const char *const side = tp_printf(p->a, "markdown=%s/side.md", p->dir).p;
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++) {
        outcome at_once = RUN(p->a, "lint", "examples/reduction", "examples/broken/extra_step.tile.json", "--format",
                              FORMATS[i], "--output", side);
        assert_int_equal(at_once.exit, 1);
        for (const char *jobs = "1\0003\0"; *jobs; jobs += 2) {
            outcome o = RUN(p->a, "lint", "examples/reduction", "examples/broken/extra_step.tile.json", "--format",
                            FORMATS[i], "--jobs", jobs);
            assert_int_equal(o.exit, 1);
            assert_true(tp_str_eq(o.out, at_once.out));
        }
    }
}

static void output_that_cannot_be_written(void **state)
{
    place *p = *state;
    assert_int_equal(RUN(p->a, "lint", "matmul", "--emit-smt2", "/proc/nowhere").exit, 2);
    assert_int_equal(RUN(p->a, "lint", "matmul", "--emit-smt2", "/proc").exit, 5);
    int code = system(tp_printf(p->a, "%s rules > /dev/full 2> %s/err", TILEPROOF, p->dir).p);
    assert_int_equal(WEXITSTATUS(code), 5);
}

/* A file with one section that lists these. */
#define SECTION(list)                                                                                                  \
    "{\"tileproof_certificates\":2}\n{\"section\":\"s\",\"sha256\":\"\",\"target\":\"tpu-v5e\",\"tool\":\"t\","        \
    "\"command\":\"lint\",\"rules\":[],\"dtypes\":[],\"obligations\":[" list "]}\n"

static void certificate_files(void **state)
{
    place *p = *state;
    const char *file = path_in(p, "m.certs");
    assert_int_equal(RUN(p->a, "lint", "matmul_relu", "--certificates", file).exit, 0);
    outcome o = RUN(p->a, "recheck", file);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "certificates accepted, 0 refused"));
    o = RUN(p->a, "recheck", "--explain", file);
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "[lower bound]") && contains(o.out, "  claim "));
    /* a claim that does not follow: refused, with the place */
    static const char FALSE_CLAIM[] =
        SECTION("[\"s\",\"o\",\"cert\"]") "{\"spec\":\"s\",\"obligation\":\"o\",\"grade\":\"cert\",\"nodes\":[[\"sym\","
                                          "\"M\"],[\"const\",1],[\"const\",9]"
                                          ","
                                          "[\">=\",1,3]],\"variables\":[{\"symbol\":1,\"lo\":2,\"hi\":3}],\"premises\":"
                                          "[],\"goal\":4,\"proof\":"
                                          "{\"by\":\"refute\",\"cases\":[{\"by\":\"lines\",\"lines\":[[\"lower\",1],["
                                          "\"fact\",0,0],[\"sum\",[1,1],[1,2]]]"
                                          "}]}}\n";
    o = RUN(p->a, "recheck", put(p, "false.certs", FALSE_CLAIM, sizeof FALSE_CLAIM - 1));
    assert_int_equal(o.exit, 1);
    assert_true(contains(o.out, "false.certs:3: s o: refused: the last line is not a contradiction"));
    static const struct {
        const char *text, *message;
    } BAD[] = {
        {"", ":1:1: the text ends where a value is expected"},
        {"{}\n", "not a file of certificates"},
        {"{\"tileproof_certificates\":1}\n", "certificates of format 1"},
        {"{\"tileproof_certificates\":2}\n", "there is no certificate in it"},
        {SECTION(""), "there is no certificate in it"},
        {"{\"tileproof_certificates\":2}\nnonsense\n", ":2:1: "},
        {"{\"tileproof_certificates\":2}\n{}\n", "\"nodes\" should be"},
        {"{\"tileproof_certificates\":2}\n{\"nodes\":[[\"+\",1,1]]}\n", "should be"},
        {"{\"tileproof_certificates\":2}\n{\"nodes\":[],\"note\":1}\n", "there is no place for \"note\" here"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        o = RUN(p->a, "recheck", put(p, "bad.certs", BAD[i].text, strlen(BAD[i].text)));
        if (o.exit != 3 || !contains(o.err, BAD[i].message))
            fail_msg("%s: exit %d: %s", BAD[i].text, o.exit, tp_cstr(p->a, o.err));
    }
    assert_int_equal(RUN(p->a, "recheck").exit, 2);
    assert_int_equal(RUN(p->a, "recheck", path_in(p, "missing.certs")).exit, 3);
    assert_int_equal(RUN(p->a, "lint", "matmul", "--certificates", "/proc/nowhere").exit, 5);
}

/* What --playback writes traps when it is run: of every third broken kernel; TEST_EVERY=1: of all (make attention). */
static void playback(void **state)
{
    place *p = *state;
    const char *folder = path_in(p, "cases"),
               *lint[MAX_ARGS] = {"lint", "--playback", tp_printf(p->a, "npy=%s", folder).p};
    sample some = sample_of(3);
    glob_t g;
    assert_int_equal(glob("examples/broken/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        if (is_taken(&some)) {
            assert_true(some.taken + 3 < MAX_ARGS);
            lint[some.taken + 2] = g.gl_pathv[i];
        }
    print_sample("broken kernels", &some);
    assert_int_equal(run_limited(p->a, NULL, 6144, lint).exit, 1);
    globfree(&g);
    struct json_object *cases = json_object_from_file(tp_printf(p->a, "%s/playback.json", folder).p);
    unsigned executed = 0;
    for (size_t i = 0; i < json_object_array_length(cases); i++) {
        struct json_object *c = json_object_array_get_idx(cases, i);
        const char *command = string_of(c, "run"), *args[40] = {NULL};
        if (!command[0])
            continue;
        int n = 0;
        for (char *word = strtok(tp_writable(tp_printf(p->a, "%s", command).p), " "); word && n < 39;
             word = strtok(NULL, " "))
            args[n++] = word;
        outcome o = run_limited(p->a, NULL, 6144, args + 1); /* without "tileproof" */
        if (o.exit != 1 || !contains(o.err, string_of(c, "rule")))
            fail_msg("%s: exit %d: %s", command, o.exit, tp_cstr(p->a, o.err));
        executed++;
    }
    assert_true(3 * executed >= some.taken);
    json_object_put(cases);
    assert_int_equal(RUN(p->a, "lint", "matmul", "--playback", "zip=x").exit, 2);
    assert_int_equal(RUN(p->a, "lint", "matmul", "--playback", "npy=/proc/nowhere").exit, 2);
    assert_int_equal(RUN(p->a, "lint", "matmul", "--playback", "json=/proc/nowhere").exit, 5);
}

/* A program `cvc5` of our own making: whatever it says or does, only a clean
 * "unsat" confirms, and "sat" against a proof of Z3 stops everything. */
static void second_solver(void **state)
{
    place *p = *state;
    static const char SPEC[] = "tests/rules/nonconsecutive-revisit/ok_flat_order.tile.json";
    static const struct {
        const char *script;
        int exit;
        const char *grade, *message;
    } ROWS[] = {
        {"cat >/dev/null; echo unsat", 0, "proven(z3+cvc5)", ""},
        {"cat >/dev/null; echo sat", 5, "unknown", "the solvers disagree on"},
        {"cat >/dev/null; echo unknown", 0, "proven(z3)", ""},
        {"echo unsat; echo more", 0, "proven(z3)", ""},
        {"exit 3", 0, "proven(z3)", ""},
        {"kill -9 $$", 0, "proven(z3)", ""},
        {"yes unsat", 0, "proven(z3)", ""},
    };
    const char *bin = path_in(p, "bin"), *dumps = path_in(p, "dumps");
    const char *before = tp_printf(p->a, "%s", getenv("PATH")).p;
    mkdir(bin, 0700);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        tp_str text = tp_printf(p->a, "#!/bin/sh\n%s\n", ROWS[i].script);
        chmod(put(p, "bin/cvc5", text.p, text.n), 0700);
        setenv("PATH", tp_printf(p->a, "%s:%s", bin, before).p, 1);
        outcome o = RUN(p->a, "lint", SPEC, "--solvers", "z3,cvc5", "--emit-smt2", dumps);
        if (o.exit != ROWS[i].exit || !contains(o.out, ROWS[i].grade) || !contains(o.err, ROWS[i].message))
            fail_msg("%s: exit %d: %s%s", ROWS[i].script, o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
    }
    setenv("PATH", "/nowhere", 1);
    outcome o = RUN(p->a, "lint", SPEC, "--solvers", "cvc5");
    setenv("PATH", before, 1);
    assert_int_equal(o.exit, 2);
    assert_true(contains(o.err, "no program cvc5"));
    assert_int_equal(RUN(p->a, "lint", SPEC, "--solvers", "mathsat").exit, 2);
}

static void smt2_files(void **state)
{
    place *p = *state;
    const char *dir = path_in(p, "smt2");
    outcome o = RUN(p->a, "lint", "matmul_relu", "--emit-smt2", dir);
    assert_int_equal(o.exit, 0);
    glob_t g;
    assert_int_equal(glob(tp_printf(p->a, "%s/*.smt2", dir).p, 0, NULL, &g), 0);
    assert_true(g.gl_pathc > 10);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        tp_str text, why;
        assert_int_equal(tp_read_file(p->a, g.gl_pathv[i], 1 << 20, &text, &why), TP_OK);
        assert_true(contains(text, "(check-sat)"));
        assert_true(contains(text, "(set-logic"));
    }
    globfree(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_on_their_examples),
        cmocka_unit_test(broken_siblings),
        IN_PLACE(gallery_is_clean),
        cmocka_unit_test(files_are_canonical),
        IN_PLACE(bad_files),
        IN_PLACE(hostile_files),
        IN_PLACE(folders_of_tools_are_left_out),
        IN_PLACE(standard_input),
        IN_PLACE(usage),
        IN_PLACE(values_name_their_place),
        IN_PLACE(memory_table),
        IN_PLACE(exit_codes_of_many),
        IN_PLACE(files_that_nobody_can_write_end_a_run_first),
        IN_PLACE(quiet_keeps_the_total),
        IN_PLACE(fail_levels),
        IN_PLACE(reports_on_the_way),
        IN_PLACE(output_that_cannot_be_written),
        IN_PLACE(certificate_files),
        IN_PLACE(second_solver),
        IN_PLACE(playback),
        IN_PLACE(smt2_files),
    };
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
