/* How people work with many specs over time: settings, several at once,
 * what is allowed or expected, baselines, what changed. */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/specs.h"

typedef struct attempt_at_merge {
    const char *files[4], *says;
} attempt_at_merge;

/* ---- settings ---- */

static void settings_come_from_four_places(void **state)
{
    place *p = *state;
    put_spec(p, "k.tile.json", "", "");
    assert_int_equal(mkdir(path_in(p, "below"), 0777), 0);
    put_spec(p, "below/k.tile.json", " + 1", "");
    assert_int_equal(mkdir(path_in(p, ".git"), 0777), 0); /* settings above hold in a repository */
    outcome o = RUN_IN(p->a, p->dir, "lint", "--show-settings", "k.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "settings file: none"));

    text(p, ".tileproof.json",
         "{\n  // of the whole project\n  \"format\": \"concise\", \"ignore\": [\"TP501\", \"TP101\"],\n}");
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "k.tile.json"); /* found above */
    expect_exit(&o, 0);
    assert_false(contains(o.out, "TP101"));
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "--show-settings");
    assert_true(contains(o.out, "/.tileproof.json\n"));
    assert_true(contains(o.out, "ignore          TP501, TP101   ("));
    setenv("TILEPROOF_IGNORE", "TP604", 1);
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "k.tile.json"); /* replaces the file's */
    expect_exit(&o, 1);
    assert_true(contains(o.out, "k.tile.json:7:"));
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "--ignore", "TP101", "--show-settings");
    assert_true(contains(o.out, "ignore          TP101   (command line)"));
    unsetenv("TILEPROOF_IGNORE");
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "--config", "none", "k.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "smallest case"));

    assert_int_equal(mkdir(path_in(p, "below/.git"), 0777), 0); /* another project: the search ends here */
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "k.tile.json");
    expect_exit(&o, 1);
}

/* The file nearest to the specs holds, wherever one stands; two of them are no settings for one run. */
static void settings_are_those_near_the_specs(void **state)
{
    place *p = *state;
    assert_true(mkdir(path_in(p, "near"), 0777) == 0 && mkdir(path_in(p, "far"), 0777) == 0);
    put(p, "near/.tileproof.json", "{\"target\": \"tpu-v4\"}", 20);
    put(p, "near/k.tile.json", "{", 1);
    put(p, "far/.tileproof.json", "{\"target\": \"tpu-v6e\"}", 21);
    put(p, "far/k.tile.json", "{", 1);
    outcome o = RUN_IN(p->a, path_in(p, "far"), "lint", "--show-settings", "../near/k.tile.json");
    assert_true(contains(o.out, "tpu-v4") && !contains(o.out, "tpu-v6e"));
    o = RUN_IN(p->a, p->dir, "lint", "--show-settings", "near");
    assert_true(contains(o.out, "tpu-v4"));
    o = RUN_IN(p->a, path_in(p, "far"), "lint", "--show-settings", "-");
    assert_true(contains(o.out, "tpu-v6e"));
    o = RUN_IN(p->a, p->dir, "lint", "near", "far");
    assert_true(o.exit == 2 && contains(o.err, "in two runs"));
}

static void wrong_settings_are_errors(void **state)
{
    place *p = *state;
    static const struct {
        const char *file, *said;
    } WRONG[] = {
        {"{\"formt\": \"json\"}", ".tileproof.json:1:2: there is no setting \"formt\"; did you mean \"format\"?"},
        {"{\"format\": 3.5}", "\"format\" is a string, an integer or an array of strings, not "},
        {"{\"format\": \"\"}", "\"format\" is empty"},
        {"{\"format\": \"jsn\"}", "there is no format `jsn`"},
        {"{\"verbose\": 1}", "\"verbose\" is true or false"},
        {"{\"output\": \"x\"}", "there is no setting \"output\""},
        {"{\"rlimit\": -1}", "--rlimit takes an integer"},
        {"[]", "settings are an object, not an array"},
        {"{\"format\": \"json\"", ".tileproof.json:1:17: "},
        {"", ".tileproof.json:1:1: "},
    };
    put_spec(p, "k.tile.json", "", "");
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        text(p, ".tileproof.json", WRONG[i].file);
        outcome o = RUN_IN(p->a, p->dir, "lint", "k.tile.json");
        expect_exit(&o, 2);
        if (!contains(o.err, WRONG[i].said))
            fail_msg("%s: %.*s", WRONG[i].file, TP_FMT(o.err));
    }
    outcome o = RUN_IN(p->a, p->dir, "lint", "--config", "gone.json", "k.tile.json");
    expect_exit(&o, 2);
    assert_true(contains(o.err, "cannot read the settings file `gone.json`"));
}

/* ---- several at once ---- */

static void jobs_change_no_byte(void **state)
{
    place *p = *state;
    if (SLOWDOWN > 1)
        skip(); /* a child that is forked beside a thread can hang in the sanitizer's allocator */
    outcome first = {0};
    tp_str certificates = {NULL, 0}, why;
    static const char *const JOBS[] = {"-j1", "-j8"};
    for (size_t i = 0; i < 2; i++) {
        outcome o = run_limited(p->a, NULL, 0,
                                (const char *const[]){"lint", JOBS[i], "tests/rules/padding-leak",
                                                      "tests/rules/parallel-race", /* has questions for Z3 */
                                                      "examples/attention", "examples/matmul", "examples/moe",
                                                      "--format", "json", "--certificates", path_in(p, "certs"), NULL});
        tp_str now;
        assert_int_equal(tp_read_file(p->a, path_in(p, "certs"), 256 << 20, &now, &why), TP_OK);
        if (i == 0) {
            first = o;
            certificates = now;
        }
        assert_int_equal(o.exit, first.exit);
        assert_true(tp_str_eq(o.out, first.out));
        assert_true(tp_str_eq(now, certificates));
    }
}

static void statistics_count_every_rule(void **state)
{
    place *p = *state;
    put_spec(p, "a.tile.json", "", "");
    put_spec(p, "b.tile.json", " + 1", "");
    outcome o = RUN(p->a, "lint", "--statistics", "--timings", p->dir);
    expect_exit(&o, 1);
    assert_true(contains(o.out, "TP101 block-out-of-bounds             3        3        1        0          0\n"));
    assert_true(contains(o.err, "all specs, added up") && !contains(o.err, "of CPU: rules"));
    o = RUN(p->a, "verify", "-q", "--timings", "add_vectors");
    double total = 0, part, sum = 0;
    const char *err = tp_cstr(p->a, o.err), *at = strstr(err, " ms  "), *tiers = strstr(err, "of CPU: rules ");
    assert_true(at && tiers && sscanf(strchr(at, '('), "(%lf ms of CPU", &total) == 1);
    for (int i = 0; i < 7; i++) { /* rules, E1 to E5, second opinion: a number behind the last blank of each */
        const char *end = strpbrk(i ? tiers + 1 : tiers + sizeof "of CPU: rules", ",\n"), *number = end;
        while (number[-1] != ' ')
            number--;
        assert_int_equal(sscanf(number, "%lf", &part), 1);
        sum += part;
        tiers = end;
    }
    assert_true(*tiers == '\n' && sum > 0 && sum < total + 1);
}

/* ---- allow, expect ---- */

/* A report of one of n shards of the folder, in N.json. */
static outcome shard_of(place *p, int i, int n)
{
    const char *shard = tp_printf(p->a, "%d/%d", i, n).p, *to = tp_printf(p->a, "json=%s/%d.json", p->dir, i).p;
    return RUN_IN(p->a, p->dir, "lint", "-q", "--shard", shard, "-o", to, "--format", "concise", "specs");
}

/* Shards together check each spec once, and their merged report is that of one run, to the byte. */
static void shards_make_one_report(void **state)
{
    place *p = *state;
    tp_str whole, why;
    assert_int_equal(mkdir(path_in(p, "specs"), 0777), 0);
    for (int i = 0; i < 9; i++)
        put_spec(p, tp_printf(p->a, "specs/%d.tile.json", i).p, i == 4 ? " + 1" : "", i == 4 ? "" : i % 2 ? " " : "  ");
    put(p, "specs/bad.tile.json", "{", 1);
    outcome one = RUN_IN(p->a, p->dir, "lint", "-q", "-o", "json=one.json", "--format", "concise", "specs");
    expect_exit(&one, 3);
    assert_int_equal(tp_read_file(p->a, path_in(p, "one.json"), 1 << 24, &whole, &why), TP_OK);
    static const int SHARDS[] = {1, 2, 3, 8, 4};
    for (size_t s = 0; s < sizeof SHARDS / sizeof *SHARDS; s++) {
        const char *args[10] = {"merge"};
        int n = SHARDS[s];
        for (int i = 1; i <= n; i++) {
            shard_of(p, i, n);
            args[n - i + 1] = tp_printf(p->a, "%d.json", i).p; /* in any order */
        }
        outcome o = run_in(p->a, p->dir, NULL, 0, args);
        expect_exit(&o, 3);
        assert_true(tp_str_eq(o.out, whole));
    }
    static const attempt_at_merge REFUSED[] = {
        {{"1.json", "2.json", "3.json"}, "it is one of 4 shards, and 3 are named"},
        {{"1.json", "2.json", "3.json", "3.json"}, "it is shard 3, which another file is, too"},
        {{"one.json"}, "write it with --shard I/N --format json"},
        {{"specs/bad.tile.json"}, "it is no JSON"},
        {{"specs/0.tile.json"}, "it is no JSON report of tileproof"},
        {{"none.json"}, "cannot open it"},
    };
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        const char *const *f = REFUSED[i].files;
        outcome o = RUN_IN(p->a, p->dir, "merge", f[0], f[1], f[2], f[3]);
        expect_exit(&o, 3);
        assert_true(contains(o.err, REFUSED[i].says) && !o.out.n);
    }
    outcome o = RUN_IN(p->a, p->dir, "lint", "--shard", "4/3", "specs");
    expect_exit(&o, 2);
    o = RUN_IN(p->a, p->dir, "lint", "--shard", "1", "specs");
    expect_exit(&o, 2);
    assert_true(contains(o.err, "--shard is I/N"));
}

static void expected_findings_must_be_there(void **state)
{
    place *p = *state;
    static const char EXPECT[] =
        ",\n  \"expect\": [{\"rule\": \"TP101\", \"at\": \"/inputs/0\", \"reason\": \"a test\"}]";
    put_spec(p, "k.tile.json", " + 1", EXPECT);
    outcome o = RUN_IN(p->a, p->dir, "lint", "k.tile.json");
    expect_exit(&o, 0);
    put_spec(p, "k.tile.json", "", EXPECT);
    o = RUN_IN(p->a, p->dir, "lint", "--format", "concise", "k.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "error[TP903]"));
    o = RUN_IN(p->a, p->dir, "lint", "--select", "TP007", "k.tile.json"); /* did not look */
    expect_exit(&o, 0);
    put_spec(p, "k.tile.json", "",
             ",\n  \"allow\": [{\"rule\": \"TP701\", \"reason\": \"looked for by verify only\"}]");
    o = RUN_IN(p->a, p->dir, "lint", "--format", "concise", "k.tile.json");
    expect_exit(&o, 0);
    assert_false(contains(o.out, "TP901"));
    put_spec(p, "k.tile.json", "", ",\n  \"allow\": [{\"rule\": \"TP101\", \"reason\": \"for long gone\"}]");
    o = RUN_IN(p->a, p->dir, "lint", "--format", "concise", "k.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "TP901"));
}

/* ---- assumptions ---- */

static void inferred_sizes_are_assumed(void **state)
{
    place *p = *state;
    put_spec(p, "declared.tile.json", "", ",\n  \"x-python\": {\"call\": \"k.py:3\"}");
    put_spec(p, "inferred.tile.json", "", ",\n  \"x-python\": {\"inferred\": {\"sizes\": [\"N\"], \"calls\": 31}}");
    static const char *const FILES[] = {"declared.tile.json", "inferred.tile.json"};
    for (int inferred = 0; inferred < 2; inferred++) {
        outcome o = RUN_IN(p->a, p->dir, "lint", "--format", "json", FILES[inferred]);
        expect_exit(&o, 0);
        struct json_object *r = record_of(p->a, &o);
        assert_int_equal(json_object_get_int(member(member(r, "summary"), "assumed")), inferred);
        json_object_put(r);
        assert_int_equal(contains(o.out, "TP906"), inferred);
        o = RUN_IN(p->a, p->dir, "lint", FILES[inferred]);
        assert_int_equal(contains(o.out, ", 1 assumed\n"), inferred);
        assert_false(contains(o.out, "TP906"));
        o = RUN_IN(p->a, p->dir, "lint", "--format", "concise", FILES[inferred]);
        assert_int_equal(o.out.n, 0);
    }
}

/* ---- baselines ---- */

static void baseline_hides_what_it_knows(void **state)
{
    place *p = *state;
    put_spec(p, "k.tile.json", " + 1", "");
    outcome o = RUN_IN(p->a, p->dir, "baseline", "write", "base.json", "k.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "base.json: 1 finding\n"));
    o = RUN_IN(p->a, p->dir, "lint", "--baseline", "base.json", "k.tile.json");
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "baseline", "check", "base.json", "k.tile.json");
    expect_exit(&o, 0);
    put_spec(p, "k.tile.json", " + 2", ",\n  \"description\": \"lines move\""); /* the same defect */
    o = RUN_IN(p->a, p->dir, "lint", "--baseline", "base.json", "k.tile.json");
    expect_exit(&o, 0);
    put_spec(p, "new.tile.json", " * 8", "");
    o = RUN_IN(p->a, p->dir, "lint", "--baseline", "base.json", "--format", "json", ".");
    expect_exit(&o, 0); /* `copy` again: the same name at the same place */
    put_spec(p, "k.tile.json", "", "");
    unlink(path_in(p, "new.tile.json"));
    o = RUN_IN(p->a, p->dir, "lint", "--baseline", "base.json", "k.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.err, "1 entry of the baseline suppresses nothing"));
    o = RUN_IN(p->a, p->dir, "baseline", "check", "base.json", "k.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "nothing has TP101 in `copy` at /inputs/x/index_map/0 any more"));
    text(p, "bad.json", "{\"tileproof_baseline\": 1, \"findings\": [{\"rule\": \"TP101\"}]}");
    o = RUN_IN(p->a, p->dir, "lint", "--baseline", "bad.json", "k.tile.json");
    expect_exit(&o, 2);
    assert_true(contains(o.err, "bad.json:1:"));
    text(p, "k.tile.json", "{");
    o = RUN_IN(p->a, p->dir, "baseline", "write", "base.json", "k.tile.json");
    expect_exit(&o, 3);
}

/* ---- what changed ---- */

static void only_changed_specs_are_checked(void **state)
{
    place *p = *state;
    put_spec(p, "a.tile.json", " + 1", "");
    put_spec(p, "b.tile.json", " + 1", "");
    tp_str setup = tp_printf(
        p->a, "cd %s && git init -q . && git add . && git -c user.name=t -c user.email=t@t commit -qm x", p->dir);
    if (system(setup.p) != 0)
        skip(); /* no git here */
    outcome o = RUN_IN(p->a, p->dir, "lint", "--changed-since", "HEAD", ".");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "0 specs"));
    put_spec(p, "b.tile.json", " + 2", "");
    put_spec(p, "c.tile.json", "", "");
    o = RUN_IN(p->a, p->dir, "lint", "--changed-since", "HEAD", "--format", "json", ".");
    expect_exit(&o, 1);
    assert_false(contains(o.out, "./a.tile.json"));
    assert_true(contains(o.out, "./b.tile.json") && contains(o.out, "./c.tile.json"));
    o = RUN_IN(p->a, p->dir, "lint", "--changed-since", "no-such-thing", ".");
    expect_exit(&o, 2);
    o = RUN_IN(p->a, p->dir, "lint", "--changed-since=--output=x", ".");
    expect_exit(&o, 2);
}

/* ---- the cache ---- */

static outcome lint_all(place *p, const char *cache)
{
    return run_limited(p->a, NULL, 0,
                       (const char *const[]){"lint", "--timings", "--format", "json", "tests/rules/parallel-race",
                                             "tests/rules/slice-out-of-bounds", "examples/matmul",
                                             "examples/attention/flash_attention.tile.json",
                                             "examples/attention/splash_attention.tile.json", "examples/reduction",
                                             "examples/elementwise", cache ? "--cache" : NULL, cache, NULL});
}

static unsigned cache_count(const outcome *o, const char *what)
{
    unsigned n[4] = {0};
    const char *at = memmem(o->err.p, o->err.n, "cache: ", 7);
    assert_non_null(at);
    assert_int_equal(sscanf(at, "cache: %u entries, %u used, %u refused, %u new", &n[0], &n[1], &n[2], &n[3]), 4);
    return n[strcmp(what, "used") == 0 ? 1 : strcmp(what, "refused") == 0 ? 2 : 3];
}

/* Each line's payload goes to another line: entries that are well formed, and of other obligations. */
static void shuffle(place *p, const char *path)
{
    tp_str text, why;
    tp_buf b = {.arena = p->a};
    TP_VEC(tp_str) keys = {0}, payloads = {0};
    assert_int_equal(tp_read_file(p->a, path, 256 << 20, &text, &why), TP_OK);
    const char *at = memchr(text.p, '\n', text.n);
    tp_buf_add(&b, text.p, (size_t)(++at - text.p));
    while (at < text.p + text.n) {
        const char *blank = memchr(at, ' ', (size_t)(text.p + text.n - at)),
                   *end = memchr(at, '\n', (size_t)(text.p + text.n - at));
        tp_push(p->a, keys, ((tp_str){at, (size_t)(blank - at)}));
        tp_push(p->a, payloads, ((tp_str){blank + 1, (size_t)(end - blank - 1)}));
        at = end + 1;
    }
    for (uint32_t i = 0; i < keys.len; i++)
        tp_buf_printf(&b, "%.*s %.*s\n", TP_FMT(keys.at[i]), TP_FMT(payloads.at[(i + 1) % payloads.len]));
    put(p, strrchr(path, '/') + 1, b.p, b.n);
}

/* A proof of `1 >= 0` and the like for everything: "c" with one and the same certificate. */
static void one_proof_for_all(place *p, const char *path)
{
    tp_str text, why;
    tp_buf b = {.arena = p->a};
    assert_int_equal(tp_read_file(p->a, path, 256 << 20, &text, &why), TP_OK);
    const char *proof = memmem(text.p, text.n, " c{", 3), *end = memchr(proof, '\n', (size_t)(text.p + text.n - proof));
    for (const char *at = text.p; at < text.p + text.n;) {
        const char *line = memchr(at, '\n', (size_t)(text.p + text.n - at)),
                   *blank = memchr(at, ' ', (size_t)(line - at));
        bool header = at == text.p;
        tp_buf_add(&b, at, (size_t)((header ? line : blank) - at));
        if (!header)
            tp_buf_add(&b, proof, (size_t)(end - proof));
        tp_buf_c(&b, "\n");
        at = line + 1;
    }
    put(p, strrchr(path, '/') + 1, b.p, b.n);
}

/* Rule, place, subject and verdict of every finding. */
static tp_str verdicts_of(place *p, const outcome *o)
{
    tp_buf b = {.arena = p->a};
    struct json_object *r = record_of(p->a, o), *specs = member(r, "specs");
    for (size_t i = 0; i < json_object_array_length(specs); i++) {
        struct json_object *list = member(json_object_array_get_idx(specs, i), "findings");
        for (size_t k = 0; k < json_object_array_length(list); k++) {
            struct json_object *f = json_object_array_get_idx(list, k);
            tp_buf_printf(&b, "%zu %s %s %s %s\n", i, string_of(f, "rule"), string_of(f, "pointer"),
                          string_of(f, "subject"), string_of(f, "verdict"));
        }
    }
    json_object_put(r);
    return tp_buf_view(&b);
}

static void the_cache_changes_no_byte(void **state)
{
    place *p = *state;
    const char *cache = path_in(p, "cache");
    outcome plain = lint_all(p, NULL), first = lint_all(p, cache), second = lint_all(p, cache);
    assert_true(tp_str_eq(plain.out, first.out) && tp_str_eq(plain.out, second.out));
    assert_int_equal(cache_count(&first, "used"), 0);
    assert_true(cache_count(&second, "used") > 300 && cache_count(&first, "new") > 300);
    assert_true(cache_count(&first, "new") < 5000); /* short proofs are not worth their entries */
    assert_int_equal(cache_count(&second, "refused"), 0);
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, cache, 256 << 20, &text, &why), TP_OK);

    shuffle(p, cache); /* another counterexample may be shown, if it is one */
    outcome o = lint_all(p, cache);
    assert_true(tp_str_eq(verdicts_of(p, &plain), verdicts_of(p, &o)));
    assert_true(cache_count(&o, "refused") > 100);
    put(p, "cache", text.p, text.n);
    one_proof_for_all(p, cache);
    o = lint_all(p, cache);
    assert_true(tp_str_eq(plain.out, o.out));
    assert_true(cache_count(&o, "refused") > 100);
    put(p, "cache", text.p, text.n * 2 / 3); /* cut off in the middle of a line */
    o = lint_all(p, cache);
    assert_true(tp_str_eq(plain.out, o.out));
    assert_true(cache_count(&o, "new") > 20);
    o = RUN(p->a, "lint", "-q", "--cache", path_in(p, "no/folder"), "add_2d"); /* no reason to fail */
    expect_exit(&o, 0);
}

/* What is past the limit goes, the oldest lines first, and the rest is used. */
static void a_large_cache_is_pruned(void **state)
{
    place *p = *state;
    const char *cache = path_in(p, "cache");
    tp_str text, why;
    struct stat st;
    lint_all(p, cache);
    assert_int_equal(tp_read_file(p->a, cache, 256 << 20, &text, &why), TP_OK);
    FILE *f = fopen(cache, "r+b"); /* the header, a hole, the entries */
    const char *entries = (const char *)memchr(text.p, '\n', text.n) + 1;
    assert_int_equal(fseek(f, 257 << 20, SEEK_SET), 0);
    assert_int_equal(fputc('\n', f), '\n');
    assert_int_equal(fwrite(entries, 1, (size_t)(text.p + text.n - entries), f), text.p + text.n - entries);
    assert_int_equal(fseek(f, entries - text.p, SEEK_SET), 0);
    fputc('\n', f);
    fclose(f);
    assert_int_equal(truncate(cache, (257 << 20) + (off_t)text.n), 0);
    outcome o = lint_all(p, cache);
    assert_true(cache_count(&o, "used") > 500);
    assert_int_equal(stat(cache, &st), 0);
    assert_true(st.st_size <= 2 * (off_t)text.n); /* what it remembers leaves the budget room for more questions */
}

/* ---- two versions, a first one, other forms ---- */

static void diff_tells_what_changed(void **state)
{
    place *p = *state;
    put_spec(p, "a.tile.json", "", "");
    put_spec(p, "b.tile.json", " + 1", "");
    put_spec(p, "c.tile.json", " + 0 * N", "");
    put_spec(p, "inside.tile.json", " + min(i, 0)", ""); /* 0 in every step, and only there */
    outcome o = RUN_IN(p->a, p->dir, "diff", "a.tile.json", "b.tile.json");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "introduced: violated[TP101] operand `x` can be read outside dimension 0\n"));
    assert_true(contains(o.out, "windows of `x`: [8] at (i) -> [8] at (i + 1): different, e.g. with N = 1\n"));
    o = RUN_IN(p->a, p->dir, "diff", "b.tile.json", "a.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "fixed: violated[TP101]"));
    o = RUN_IN(p->a, p->dir, "diff", "a.tile.json", "c.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "the same for all sizes\nthe same windows for all sizes of the old spec\n"));
    o = RUN_IN(p->a, p->dir, "diff", "a.tile.json", "inside.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "the same windows for all sizes of the old spec\n"));
    o = RUN_IN(p->a, p->dir, "diff", "a.tile.json", "a.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "no verdict, window, bound or result changed"));
    o = RUN_IN(p->a, p->dir, "diff", "a.tile.json");
    expect_exit(&o, 2);
}

/* Sizes and tables of the new spec, by name in the old one: a name that is neither, a size that is a number there. */
static void diff_reads_names_in_the_old_spec(void **state)
{
    static const char SPEC[] =
        "{\"tileproof\": 1, \"name\": \"copy\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}%s}, "
        "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8)\"}], %s\"inputs\": [{\"name\": \"x\", \"dtype\": "
        "\"float32\", \"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i%s\"]}], \"outputs\": [{\"name\": "
        "\"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": [\"i\"]}], "
        "\"kernel\": [\"o[...] = x[...]\"]}";
    static const char TABLE[] =
        "\"scalar_prefetch\": [{\"name\": \"t\", \"dtype\": \"int32\", \"shape\": [\"cdiv(N, 8)\"]}], ";
    static const struct {
        const char *sizes, *table, *index, *other_sizes, *other_table, *other_index, *says;
    } PAIRS[] = {
        {"", "", "", ", \"K\": 0", "", " + K", "the same windows for all sizes of the old spec"},
        {"", "", "", ", \"K\": {\"min\": 0, \"max\": 0}", "", " + K", "`K` means nothing in the old spec"},
        {", \"K\": 0", "", " + K", ", \"K\": {\"min\": 0, \"max\": 0}", "", " + K",
         "`K` means nothing in the old spec"},
        {"", TABLE, " + 0 * t[i]", "", TABLE, " + 0 * t[i] * t[i]", "the same windows for all sizes of the old spec"},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) {
        tp_str old = tp_printf(p->a, SPEC, PAIRS[i].sizes, PAIRS[i].table, PAIRS[i].index),
               new = tp_printf(p->a, SPEC, PAIRS[i].other_sizes, PAIRS[i].other_table, PAIRS[i].other_index);
        put(p, "old.tile.json", old.p, old.n);
        put(p, "new.tile.json", new.p, new.n);
        outcome o = RUN_IN(p->a, p->dir, "diff", "old.tile.json", "new.tile.json");
        if (!contains(o.out, PAIRS[i].says))
            fail_msg("pair %zu, exit %d: %.*s", i, o.exit, TP_FMT(o.out));
    }
}

/* Two bodies, and what is said of their results. */
static void diff_compares_results(void **state)
{
    static const struct {
        const char *block, *old, *new, *reference;
        int exit;
        const char *says;
    } CASES[] = {
        {"8", "o[...] = x[...] * 2", "o[...] = x[...] + x[...]", "\"o = x * 2\"", 0,
         "results: equal over the reals for all sizes that both have, by proof"},
        {"16", "o[...] = x[...] * 2", "o[...] = x[...] + x[...]", "\"o = x * 2\"", 0, "by proof"},
        {"8", "o[...] = x[...] * 0.33333334", "o[...] = 0.33333334 * x[...]", "\"o = x / 3\"", 0,
         "what the old reference says; taken as equal: 0.33333334 = 1/3), and on"},
        {"8", "o[...] = x[...] * 2", "o[...] = x[...] + x[...]", NULL, 0,
         "not proven for all sizes (the old one has no reference)"},
        {"8", "o[...] = x[...] * 2", "o[...] = x[...] + x[...]", "\"o = x * 3\"", 0,
         "not proven for all sizes (the old"},
        {"8", "o[...] = x[...] * 2", "o[...] = x[...] * 3", "\"o = x * 2\"", 1, "results: different, e.g. with N = 1"},
        {"8", "o[...] = x[...] * 2", "o[...] = x[...] * 2 + (i > 0).astype(float32)", NULL, 1,
         "results: different, e.g. with N = 9"},
        {"8", "o[...] = x[...] * 2", "o[...] = x[...] * W", "\"o = x * 2\"", 1, "results: different"},
        {"8", "o[...] = x[...] * 2", "o[ds(4, 4)] = x[ds(4, 4)]", NULL, 1, "results: not compared: "},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (int new = 0; new < 2; new ++) {
            const char *block = new ? CASES[i].block : "8", *reference = CASES[i].reference;
            tp_str s = tp_printf(
                p->a,
                "{\"tileproof\": 1, \"name\": \"two\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}, "
                "\"b\": %s, \"W\": 3}, \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, b)\"}],\n"
                "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": "
                "[\"b\"], \"index_map\": [\"i\"]}],\n"
                "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": "
                "[\"b\"], \"index_map\": [\"i\"]}],\n\"kernel\": [\"%s\"]%s%s%s}\n",
                block, new ? CASES[i].new : CASES[i].old, reference ? ", \"reference\": [" : "",
                reference ? reference : "", reference ? "]" : "");
            put(p, new ? "new.tile.json" : "old.tile.json", s.p, s.n);
        }
        outcome o = RUN_IN(p->a, p->dir, "diff", "old.tile.json", "new.tile.json");
        if (o.exit != CASES[i].exit || !contains(o.out, CASES[i].says) || contains(o.out, "no verdict"))
            fail_msg("%s -> %s: exit %d: %.*s%.*s", CASES[i].old, CASES[i].new, o.exit, TP_FMT(o.out), TP_FMT(o.err));
    }
}

/* Names that the old reference means, and elements that only one version leaves open. */
static void diff_needs_the_same_names(void **state)
{
    static const struct {
        const char *old, *new, *says; /* members before "outputs", of the output, and the body */
    } CASES[] = {
        {"\"constants\": {\"c\": 1.5}, \"reference\": \"o = x * c\", \"kernel\": \"o[...] = x[...] * c\"",
         "\"constants\": {\"c\": 1.5000001}, \"reference\": \"o = x * c\", \"kernel\": \"o[...] = x[...] * c\"",
         "not proven for all sizes (the constant `c` is not the same in both)"},
        {"\"constants\": {\"c\": 1.5}, \"reference\": \"o = x * 2\", \"kernel\": \"o[...] = x[...] * 2\"",
         "\"constants\": {\"c\": 2}, \"reference\": \"o = x * 2\", \"kernel\": \"o[...] = x[...] * c\"",
         "results: equal over the reals for all sizes that both have, by proof"},
        {"\"constants\": {\"c\": \"Q\"}, \"reference\": \"o = where(arange(N) < c, x, 0)\", \"kernel\": \"o[...] = "
         "where(iota(int32, (N,), 0) < c, x[...], 0)\"",
         "\"constants\": {\"c\": \"Q\"}, \"reference\": \"o = where(arange(N) < c, x, 0)\", \"kernel\": \"o[...] = "
         "where(iota(int32, (N,), 0) < c, x[...], 0)\"",
         "not proven for all sizes (the size `Q` is not the same in both)"},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (int new = 0; new < 2; new ++) {
            tp_str s = tp_printf(p->a,
                                 "{\"tileproof\": 1, \"name\": \"two\", \"target\": \"none\", \"sizes\": {\"N\": "
                                 "{\"min\": 1, \"max\": 9000}, \"Q\": %d},\n%s,\n"
                                 "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"]}],\n"
                                 "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"]}]}\n",
                                 9001 + new, new ? CASES[i].new : CASES[i].old);
            put(p, new ? "new.tile.json" : "old.tile.json", s.p, s.n);
        }
        outcome o = RUN_IN(p->a, p->dir, "diff", "old.tile.json", "new.tile.json");
        if (o.exit != 0 || !contains(o.out, CASES[i].says))
            fail_msg("%s: exit %d: %.*s%.*s", CASES[i].says, o.exit, TP_FMT(o.out), TP_FMT(o.err));
    }
}

/* An element that only one version leaves open has no result to compare. */
static void diff_compares_what_both_define(void **state)
{
    place *p = *state;
    for (int new = 0; new < 2; new ++) {
        tp_str s = tp_printf(
            p->a,
            "{\"tileproof\": 1, \"name\": \"two\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}},\n"
            "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"]}],\n"
            "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"]%s}],\n"
            "\"kernel\": [\"o[...] = %s\"], \"reference\": [\"o = x\"]}\n",
            new ? ", \"valid\": \"d0 < 100\"" : "", new ? "where(iota(int32, (N,), 0) < 100, x[...], 0)" : "x[...]");
        put(p, new ? "new.tile.json" : "old.tile.json", s.p, s.n);
    }
    for (int turned = 0; turned < 2; turned++) {
        outcome o = RUN_IN(p->a, p->dir, "diff", turned ? "new.tile.json" : "old.tile.json",
                           turned ? "old.tile.json" : "new.tile.json");
        expect_exit(&o, 0);
        assert_true(contains(o.out, "results: not compared: `valid` or `discard` of `o` is not the same in both"));
    }
}

static void init_writes_two_specs(void **state)
{
    place *p = *state;
    outcome o = RUN_IN(p->a, p->dir, "init", "mine");
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "verify", "-q", "mine.tile.jsonc");
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "lint", "-q", "mine_broken.tile.jsonc");
    expect_exit(&o, 1);
    assert_true(contains(o.out, "TP501"));
    o = RUN_IN(p->a, p->dir, "init", "mine"); /* loses nothing */
    expect_exit(&o, 2);
    o = RUN_IN(p->a, p->dir, "init", "../x");
    expect_exit(&o, 2);
    o = RUN_IN(p->a, p->dir, "emit", "spec", "mine.tile.jsonc");
    expect_exit(&o, 0);
    put(p, "plain.tile.json", o.out.p, o.out.n);
    o = RUN_IN(p->a, p->dir, "fmt", "--check", "plain.tile.json");
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "emit", "dot", "plain.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.out, "\"x\" -> \"()\" [label=\"[256, 512] at (i, k)\"];"));
}

/* ---- what can go wrong outside ---- */

static void closed_pipes_end_with_a_sentence(void **state)
{
    place *p = *state;
    tp_str command = tp_printf(
               p->a,
               "{ %s lint --format json examples/elementwise; echo $? >%s/code; } 2>%s/err | head -c 100 >/dev/null",
               TILEPROOF, p->dir, p->dir),
           code, err, why;
    assert_int_equal(system(command.p), 0);
    assert_int_equal(tp_read_file(p->a, path_in(p, "code"), 100, &code, &why), TP_OK);
    assert_int_equal(tp_read_file(p->a, path_in(p, "err"), 10000, &err, &why), TP_OK);
    assert_true(tp_str_is(code, "5\n"));
    assert_true(contains(err, "cannot write the output"));
}

/* Where a standard stream is closed, its number is not that of what the program opens: a report went to the solver. */
static void closed_streams_are_nobodys(void **state)
{
    place *p = *state;
    static const struct {
        const char *what, *streams, *code;
    } CALLS[] = {{"lint -j1", ">&-", "5\n"},
                 {"lint -j2", "<&- >&-", "5\n"},
                 {"lint -j1 -q", "<&- >/dev/null", "1\n"},
                 {"verify -j1 --cases 1", ">&- 2>&-", "5\n"}};
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
        static const char SPEC[] = "tests/rules/output-coverage/bad_every_fifth_block.tile.json"; /* Z3 is asked */
        tp_str command = tp_printf(p->a, "timeout 300 %s %s %s %s %s; echo $? >%s/code", TILEPROOF, CALLS[i].what, SPEC,
                                   SPEC, CALLS[i].streams, p->dir),
               code, why;
        assert_int_equal(system(command.p), 0);
        assert_int_equal(tp_read_file(p->a, path_in(p, "code"), 100, &code, &why), TP_OK);
        if (!tp_str_is(code, CALLS[i].code))
            fail_msg("%s %s: exit %.*s", CALLS[i].what, CALLS[i].streams, TP_FMT(code));
    }
}

static void full_disks_leave_nothing_half_written(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "lint", "--quiet", "-o", "json=/dev/full", "matmul");
    expect_exit(&o, 2);
    text(p, "kept.json", "as it was");
    tp_str command = tp_printf(
               p->a,
               "ulimit -f 4; %s lint -q -o json=%s/kept.json examples/elementwise >/dev/null 2>%s/err; test $? = 5",
               TILEPROOF, p->dir, p->dir),
           now, why;
    assert_int_equal(system(command.p), 0);
    assert_int_equal(tp_read_file(p->a, path_in(p, "kept.json"), 100, &now, &why), TP_OK);
    assert_true(tp_str_is(now, "as it was"));
}

static void interrupts_leave_nothing_half_written(void **state)
{
    place *p = *state;
    glob_t g;
    tp_str now, why;
    text(p, "kept.json", "as it was");
    static const char *const AFTER[] = {"0.02", "0.1", "0.3"};
    for (size_t i = 0; i < 3; i++) { /* 124: it was interrupted, else it was done before */
        tp_str command = tp_printf(
            p->a,
            "timeout -s INT %s %s lint -q -j2 -o json=%s/kept.json examples tests/rules >/dev/null 2>&1; test $? = 124",
            AFTER[i], TILEPROOF, p->dir);
        if (system(command.p) != 0)
            continue;
        assert_int_equal(tp_read_file(p->a, path_in(p, "kept.json"), 64 << 20, &now, &why), TP_OK);
        assert_true(tp_str_is(now, "as it was"));
        assert_int_equal(glob(path_in(p, ".tileproof*"), 0, NULL, &g), GLOB_NOMATCH);
    }
}

int main(void)
{
    if (SLOWDOWN > 1)
        setenv("TILEPROOF_JOBS", "1", 1);
    const struct CMUnitTest tests[] = {
        IN_PLACE(settings_come_from_four_places),
        IN_PLACE(settings_are_those_near_the_specs),
        IN_PLACE(wrong_settings_are_errors),
        IN_PLACE(jobs_change_no_byte),
        IN_PLACE(shards_make_one_report),
        IN_PLACE(statistics_count_every_rule),
        IN_PLACE(expected_findings_must_be_there),
        IN_PLACE(inferred_sizes_are_assumed),
        IN_PLACE(baseline_hides_what_it_knows),
        IN_PLACE(only_changed_specs_are_checked),
        IN_PLACE(the_cache_changes_no_byte),
        IN_PLACE(a_large_cache_is_pruned),
        IN_PLACE(diff_tells_what_changed),
        IN_PLACE(diff_reads_names_in_the_old_spec),
        IN_PLACE(diff_compares_results),
        IN_PLACE(diff_needs_the_same_names),
        IN_PLACE(diff_compares_what_both_define),
        IN_PLACE(init_writes_two_specs),
        IN_PLACE(closed_pipes_end_with_a_sentence),
        IN_PLACE(closed_streams_are_nobodys),
        IN_PLACE(full_disks_leave_nothing_half_written),
        IN_PLACE(interrupts_leave_nothing_half_written),
    };
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests_name("workflow", tests, NULL, NULL);
}
