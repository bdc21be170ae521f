/* Reports for CI systems, read back: JSON formats by json-c, the others by
 * what their readers rely on. `make test-jax` reads them with readers that we
 * did not write. */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/unit/files.h"

static struct json_object *parsed(tp_str text)
{
    struct json_tokener *t = json_tokener_new();
    json_tokener_set_flags(t, JSON_TOKENER_STRICT);
    struct json_object *o = json_tokener_parse_ex(t, text.p, (int)text.n);
    if (!o)
        fail_msg("no JSON: %s", json_tokener_error_desc(json_tokener_get_error(t)));
    json_tokener_free(t);
    return o;
}

static size_t count_of(tp_str s, const char *part)
{
    size_t n = 0;
    for (const char *at = s.p; (at = memmem(at, s.n - (size_t)(at - s.p), part, strlen(part))); at++)
        n++;
    return n;
}

/* Findings that code scanning would show, from the JSON report. */
static size_t shown_in(struct json_object *report)
{
    size_t n = 0;
    struct json_object *specs = member(report, "specs");
    for (size_t i = 0; i < json_object_array_length(specs); i++) {
        struct json_object *findings = member(json_object_array_get_idx(specs, i), "findings");
        for (size_t k = 0; k < json_object_array_length(findings); k++) {
            struct json_object *f = json_object_array_get_idx(findings, k);
            n += strcmp(string_of(f, "verdict"), "proven") != 0 && !member(f, "suppressed");
        }
    }
    return n;
}

/* A name and a message that every format would have to escape. */
static const char HOSTILE[] =
    "{\"tileproof\": 1, \"name\": \"a\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}},\n"
    " \"description\": \"</script><b>&\\\"' ]]> `x` | # \\u202e %0A\",\n"
    " \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 8) + 1\"}],\n"
    " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": "
    "[\"i\"]}],\n"
    " \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [8], \"index_map\": "
    "[\"i\"]}],\n"
    " \"kernel\": [\"o[...] = x[...]\"],\n"
    " \"allow\": [{\"rule\": \"TP101\", \"at\": \"/inputs/0\", \"reason\": \"</failure><x>&\\\"`|\"}]}";

static const char *hostile(place *p)
{
    return put(p, "a <b>&`'|%,:.tile.json", HOSTILE, sizeof HOSTILE - 1);
}

typedef struct files {
    const char *path[10];
    tp_str text[10];
} files;

static const char *const NAMES[] = {"json",   "jsonl",  "sarif", "sarif-full", "gitlab",
                                    "github", "rdjson", "junit", "markdown",   "html"};
enum { JSON, JSONL, SARIF, SARIF_FULL, GITLAB, GITHUB, RDJSON, JUNIT, MARKDOWN, HTML, FORMATS };

/* All formats in one run, each in a file and one as printed. */
static files reports_of(place *p, const char *spec, const char *other, int exit)
{
    files f;
    const char *args[40] = {"lint", spec, other, "--format", "github"};
    int n = 5;
    for (int i = 0; i < FORMATS; i++) {
        f.path[i] = path_in(p, NAMES[i]);
        args[n++] = "--output";
        args[n++] = tp_printf(p->a, "%s=%s", NAMES[i], f.path[i]).p;
    }
    outcome o = run_limited(p->a, NULL, 0, args);
    if (o.exit != exit)
        fail_msg("exit %d: %.*s", o.exit, TP_FMT(o.err));
    for (int i = 0; i < FORMATS; i++) {
        tp_str why;
        assert_int_equal(tp_read_file(p->a, f.path[i], 64 << 20, &f.text[i], &why), TP_OK);
    }
    assert_true(tp_str_eq(o.out, f.text[GITHUB]));
    return f;
}

static void check_sarif(tp_str text, size_t results, bool full)
{
    struct json_object *log = parsed(text), *run = json_object_array_get_idx(member(log, "runs"), 0),
                       *list = member(run, "results"), *rules = member(member(member(run, "tool"), "driver"), "rules");
    assert_string_equal(string_of(log, "version"), "2.1.0");
    if (full)
        assert_true(json_object_array_length(list) > results);
    else
        assert_int_equal(json_object_array_length(list), results);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *r = json_object_array_get_idx(list, i);
        size_t rule = (size_t)json_object_get_int64(member(r, "ruleIndex"));
        assert_true(rule < json_object_array_length(rules));
        assert_string_equal(string_of(r, "ruleId"), string_of(json_object_array_get_idx(rules, rule), "id"));
        struct json_object *where = member(json_object_array_get_idx(member(r, "locations"), 0), "physicalLocation");
        assert_true(json_object_get_int64(member(member(where, "region"), "startLine")) >= 1);
        const char *uri = string_of(member(where, "artifactLocation"), "uri");
        assert_true(uri[0] && !strpbrk(uri, " <>&`'|,:\\\""));
        assert_true(string_of(member(r, "message"), "text")[0] != '\0');
        if (!full) { /* what is shown as an alert is one */
            assert_string_equal(string_of(r, "kind"), "fail");
            assert_null(member(r, "suppressions"));
        }
    }
    json_object_put(log);
}

/* Each place is in the text, the end behind the start; a suggestion is one replacement. */
static void check_rdjson(tp_str text, size_t shown)
{
    struct json_object *all = parsed(text), *list = member(all, "diagnostics");
    assert_string_equal(string_of(member(all, "source"), "name"), "tileproof");
    assert_int_equal(json_object_array_length(list), shown);
    for (size_t i = 0; i < shown; i++) {
        struct json_object *d = json_object_array_get_idx(list, i), *range = member(member(d, "location"), "range"),
                           *start = member(range, "start"), *end = member(range, "end");
        int64_t line = json_object_get_int64(member(start, "line")),
                column = json_object_get_int64(member(start, "column")),
                last = json_object_get_int64(member(end, "line")), to = json_object_get_int64(member(end, "column"));
        assert_true(line >= 1 && column >= 1 && (last > line || (last == line && to >= column)));
        assert_true(string_of(d, "message")[0] && strncmp(string_of(member(d, "code"), "value"), "TP", 2) == 0);
        assert_true(strcmp(string_of(d, "severity"), "ERROR") == 0 || i > 0);
    }
    json_object_put(all);
}

static void every_format_says_the_same(void **state)
{
    place *p = *state;
    files f = reports_of(p, hostile(p), "examples/broken/index_maps_swapped.tile.json", 1);
    struct json_object *report = parsed(f.text[JSON]), *summary = member(report, "summary");
    size_t shown = shown_in(report);
    assert_true(shown > 2);
    check_sarif(f.text[SARIF], shown, false);
    check_sarif(f.text[SARIF_FULL], shown, true);
    struct json_object *issues = parsed(f.text[GITLAB]);
    assert_int_equal(json_object_array_length(issues), shown);
    for (size_t i = 0; i < shown; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(string_of(json_object_array_get_idx(issues, i), "fingerprint"),
                                    string_of(json_object_array_get_idx(issues, k), "fingerprint"));
    json_object_put(issues);
    check_rdjson(f.text[RDJSON], shown);
    assert_int_equal(count_of(f.text[GITHUB], "\n"), shown);
    assert_int_equal(count_of(f.text[GITHUB], "::error ") + count_of(f.text[GITHUB], "::warning ") +
                         count_of(f.text[GITHUB], "::notice "),
                     shown);
    assert_true(strncmp(f.text[GITHUB].p, "::error ", 8) == 0); /* the worst first */
    assert_int_equal(count_of(f.text[MARKDOWN], "\n### "), shown);
    assert_int_equal(count_of(f.text[HTML], "<article"), shown);
    size_t lines = 0;
    for (size_t i = 0, end; i < f.text[JSONL].n; i = end + 1, lines++) {
        for (end = i; f.text[JSONL].p[end] != '\n';)
            end++;
        json_object_put(parsed((tp_str){f.text[JSONL].p + i, end - i}));
    }
    assert_int_equal(count_of(f.text[JUNIT], "<testcase "), lines);
    assert_int_equal(count_of(f.text[JUNIT], "<failure "), json_object_get_int64(member(summary, "violated")));
    assert_true(contains(f.text[JUNIT], "<skipped message=\"allowed: &lt;/failure&gt;"));
    json_object_put(report);
}

/* Nothing of a spec becomes markup, and no page asks for anything. */
static void hostile_text_stays_text(void **state)
{
    place *p = *state;
    files f = reports_of(p, hostile(p), "tests/bad/truncated.tile.json", 3);
    for (int i = JUNIT; i < FORMATS; i++)
        if (i != MARKDOWN)
            assert_true(!contains(f.text[i], "a <b>") && !contains(f.text[i], "<x>"));
    static const char *const LEAVES[] = {"http:", "https:", "src=", "@import", "javascript"};
    for (size_t i = 0; i < sizeof LEAVES / sizeof *LEAVES; i++)
        assert_false(contains(f.text[HTML], LEAVES[i]));
    assert_int_equal(count_of(f.text[HTML], "url("), count_of(f.text[HTML], "url(#padding)")); /* within the page */
    /* one block of data: what is in it can neither end it nor run */
    assert_int_equal(count_of(f.text[HTML], "<script"), 1);
    assert_int_equal(count_of(f.text[HTML], "</script"), 1);
    assert_true(contains(f.text[HTML], "<script type=\"application/json\" id=\"record\">{"));
    assert_true(contains(f.text[HTML], "default-src 'none'"));
    assert_true(contains(f.text[HTML], "not a valid spec") && contains(f.text[MARKDOWN], "not a valid spec"));
    assert_true(contains(f.text[JUNIT], "<error "));
}

static void verify_in_pictures(void **state)
{
    place *p = *state;
    const char *page = path_in(p, "page.html");
    outcome o =
        RUN(p->a, "verify", "-q", "--cases", "2", "--box", "2", "add_2d", "-o", tp_printf(p->a, "html=%s", page).p);
    tp_str text, why;
    assert_int_equal(o.exit, 0);
    assert_int_equal(tp_read_file(p->a, page, 8 << 20, &text, &why), TP_OK);
    assert_false(contains(text, "\"outcome\":\"equal\""));
    assert_true(count_of(text, "<figure") >= 4); /* blocks of x, y and o; errors of o */
    assert_true(contains(text, "<h3>Pipeline</h3>") && contains(text, "<h3>Verdicts</h3>"));
    assert_true(contains(text, "each block once") && contains(text, "given the rules"));
    assert_int_equal(count_of(text, "<svg"),
                     count_of(text, "<svg role=\"img\"") + count_of(text, "<svg aria-hidden=\"true\""));
}

/* What `cost` counts at the same sizes stands in the page; a kernel that misses its array has no cost. */
static void costs_of_the_page(void **state)
{
    place *p = *state;
    outcome page = RUN(p->a, "lint", "--format", "html", "matmul"),
            cost = RUN(p->a, "cost", "matmul", "--size", "M=4096", "--size", "N=4096", "--size", "K=4096", "--size",
                       "bk=256", "--dtype", "T=float32"),
            broken = RUN(p->a, "lint", "--format", "html",
                         "tests/rules/block-out-of-bounds/bad_as_many_steps_as_a_fixed_table_says.tile.json");
    assert_true(contains(page.out, "At M = 4096, N = 4096, K = 4096, bk = 256, T=float32"));
    assert_true(contains(cost.out, "2,147,483,648") && contains(cost.out, "5.32 ms")); /* x; tpu-v5e */
    assert_true(contains(page.out, "<th scope=\"row\">x</th><td class=\"n\">2.00 GiB</td><td class=\"n\">0 B</td>"
                                   "<td class=\"n long\">64.00 MiB</td><td class=\"n\">32</td>"));
    assert_true(contains(page.out, "at least <strong>5.320 ms</strong>; HBM binds"));
    assert_true(contains(page.out, "<title>Roofline of tpu-v5e</title>") &&
                contains(page.out, "the kernel: 31.57 FLOPs per byte"));
    assert_true(contains(broken.out, "TP101") && !contains(broken.out, "<h3>Cost</h3>"));
}

/* Six steps, x in three buffers and y in one, o in one: x comes in two steps ahead, before the first step, too; copies
 * of y and o are in the steps that wait for them. What the body copies is marked where it does. */
static void buffers_of_the_pipeline(void **state)
{
    place *p = *state;
    static const char SPEC[] =
        "{\"tileproof\":1,\"name\":\"k\",\"target\":\"v5e\",\"sizes\":{\"N\":6},\"grid\":[{\"axis\":\"i\",\"steps\":"
        "\"N\"}],"
        "\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[48,128],\"block_shape\":[8,128],\"index_map\":["
        "\"i\",0],"
        "\"buffers\":3},{\"name\":\"y\",\"dtype\":\"float32\",\"shape\":[48,128],\"block_shape\":[8,128],\"index_map\":"
        "[\"i\",0],\"buffers\":1},{\"name\":\"z\",\"dtype\":\"float32\",\"shape\":[8,128],\"memory_space\":\"any\"}],"
        "\"outputs\":[{\"name\":\"o\",\"dtype\":\"float32\",\"shape\":[48,128],\"block_shape\":[8,128],\"index_map\":["
        "\"i\","
        "0],\"buffers\":1}],\"scratch\":[{\"name\":\"s\",\"dtype\":\"float32\",\"shape\":[8,128]}],\"kernel\":[\"if i "
        "% 2 == 0:\","
        "\"    copy(z[...], s[...])\",\"o[...] = x[...] + y[...] + s[...]\"]}";
    const char *path = put(p, "k.tile.json", SPEC, sizeof SPEC - 1);
    outcome page = RUN(p->a, "lint", "--format", "html", path), plot = RUN(p->a, "lint", "-q", "--plot", "ascii", path);
    assert_true(contains(page.out, "<code>x</code> comes in 2 steps ahead, into 3 buffers."));
    assert_true(contains(page.out, "(half a square): <code>y</code>, <code>o</code>."));
    assert_true(contains(page.out, "in the steps that are marked: <code>z</code>."));
    /* slot 0 has the first step, two slots behind the left edge; of x the third window comes in there */
    assert_true(contains(
        page.out, "<rect x=\"84\" y=\"3\" width=\"18\" height=\"18\" class=\"moved\"><title>fetched for step 1<"));
    assert_true(contains(
        page.out, "<rect x=\"124\" y=\"3\" width=\"18\" height=\"18\" class=\"moved\"><title>fetched for step 3<"));
    assert_true(contains(
        page.out, "<rect x=\"124\" y=\"27\" width=\"8\" height=\"18\" class=\"moved\"><title>fetched for step 1<"));
    assert_true(contains(
        page.out,
        "<rect x=\"134\" y=\"99\" width=\"8\" height=\"18\" class=\"back\"><title>written back after step 1<"));
    assert_int_equal(count_of(page.out, "<title>copied 1 time in step "), 3);
    assert_true(contains(page.out, "<title>copied 1 time in step 5<") && contains(plot.out, "#.#.#.  3 by the body"));
}

/* Branches that no case took both ways are marked beside their line, others as whole. */
static void ways_in_the_margin(void **state)
{
    place *p = *state;
    static const char SPEC[] =
        "{\"tileproof\":1,\"name\":\"k\",\"target\":\"none\",\"sizes\":{\"N\":{\"min\":1,\"max\":4}},\"grid\":[{"
        "\"axis\":"
        "\"i\",\"steps\":\"N\"}],\n\"outputs\":[{\"name\":\"o\",\"dtype\":\"float32\",\"shape\":[\"N\", 8],"
        "\"block_shape\":[1, 8],\"index_map\":[\"i\", 0]}],\n\"kernel\":[\"o[...] = 1\",\n\"if i == 0:\",\n\"    "
        "o[...] = "
        "1\",\n\"if i >= 0:\",\n\"    o[...] = 1\"],\n\"reference\":[\"o = ones((N, 8), float32)\"]}";
    const char *path = put(p, "k.tile.json", SPEC, sizeof SPEC - 1);
    outcome page = RUN(p->a, "verify", "--format", "html", path), lint = RUN(p->a, "lint", "--format", "html", path);
    assert_true(
        contains(page.out, "aria-label=\"branch: every way\" title=\"branch: every way\">●</span><span>\"if i == 0"));
    assert_true(contains(
        page.out, "aria-label=\"branch: never false\" title=\"branch: never false\">○</span><span>\"if i &gt;= 0"));
    assert_true(!contains(lint.out, "●"));
}

/* Of every kernel of the gallery: several steps, and mostly a last block that leaves its array. */
static void pictures_have_something_to_see(void **state)
{
    place *p = *state;
    glob_t g;
    unsigned kernels = 0, ragged = 0;
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (strstr(g.gl_pathv[i], "/broken/"))
            continue;
        outcome o = RUN(p->a, "lint", "-q", "--plot", "ascii", g.gl_pathv[i]);
        const char *steps = memmem(o.out.p, o.out.n, "copies by step, ", 16);
        kernels++;
        ragged += contains(o.out, "(1)") || contains(o.out, "(2)") || contains(o.out, "(3)");
        if (!contains(o.out, ", at ") || (steps && strtol(steps + 16, NULL, 10) < 3))
            fail_msg("%s: %s", g.gl_pathv[i], tp_cstr(p->a, o.out));
    }
    globfree(&g);
    if (ragged * 10 < kernels * 8)
        fail_msg("%u of %u kernels with a ragged edge", ragged, kernels);
}

/* What is no number is no small error, neither in the histogram nor on the map. */
static void no_number_is_no_small_error(void **state)
{
    place *p = *state;
    static const char SPEC[] =
        "{\"tileproof\":1,\"name\":\"k\",\"target\":\"none\",\"sizes\":{\"N\":16},\"grid\":[{\"axis\":\"i\",\"steps\":"
        "2}],"
        "\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"block_shape\":[8],\"index_map\":[\"i\"]}"
        "],"
        "\"outputs\":[{\"name\":\"o\",\"dtype\":\"float32\",\"shape\":[\"N\"],\"block_shape\":[8],\"index_map\":[\"i\"]"
        "}],"
        "\"kernel\":[\"if i == 0:\",\"    o[...] = x[...]\",\"else:\",\"    o[...] = sqrt(x[...] - x[...] - 1.0)\"],"
        "\"reference\":[\"o = x\"]}";
    const char *path = put(p, "k.tile.json", SPEC, sizeof SPEC - 1);
    outcome o = RUN(p->a, "verify", "--format", "json", path), page = RUN(p->a, "verify", "--format", "html", path);
    assert_int_equal(o.exit, 1);
    struct json_object *report = parsed(o.out), *spec = json_object_array_get_idx(member(report, "specs"), 0),
                       *one = json_object_array_get_idx(member(member(spec, "equivalence"), "cases"), 0),
                       *output = json_object_array_get_idx(member(one, "outputs"), 0),
                       *histogram = member(output, "ulp_histogram"),
                       *worst = member(member(output, "blocks"), "max_ulp");
    assert_int_equal(json_object_get_int(json_object_array_get_idx(histogram, 0)), 8);
    assert_int_equal(json_object_get_int(json_object_array_get_idx(histogram, 1)), 0);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(worst, 1)), "inf");
    json_object_put(report);
    assert_true(contains(page.out, "what is no finite number"));
}

static void outputs_are_whole_or_not_there(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "lint", "-q", "add_2d", "-o", "nonsense=x");
    assert_true(o.exit == 2 && contains(o.err, "sarif") && contains(o.err, "FORMAT=PATH"));
    o = RUN(p->a, "lint", "-q", "add_2d", "-o", "sarif");
    assert_int_equal(o.exit, 2);
    const char *there = path_in(p, "no/such/folder/r.sarif");
    o = RUN(p->a, "lint", "-q", "add_2d", "-o", tp_printf(p->a, "sarif=%s", there).p);
    assert_true(o.exit == 2 && contains(o.err, "no/such/folder") && o.out.n == 0); /* before any work */
    o = RUN(p->a, "lint", "-q", "add_2d", "-o", tp_printf(p->a, "sarif=%s", p->dir).p);
    assert_true(o.exit == 2 && contains(o.err, "it is a folder"));
    const char *kept = put(p, "kept.xml", "before", 6);
    o = RUN(p->a, "lint", "-q", "add_2d", "-o", tp_printf(p->a, "junit=%s", kept).p, "--unknown", "nonsense");
    tp_str text, why;
    assert_int_equal(o.exit, 2);
    assert_int_equal(tp_read_file(p->a, kept, 100, &text, &why), TP_OK);
    assert_true(tp_str_is(text, "before"));
}

/* Past the code that begins at `at`, if code does: a run of backticks up to the next one of its length (GFM 6.3). */
static size_t past_code(tp_str s, size_t at)
{
    size_t n = 0, run = 0;
    while (at + n < s.n && s.p[at + n] == '`')
        n++;
    for (size_t i = at + n; n && i <= s.n; i++) {
        if (i < s.n && s.p[i] == '`') {
            run++;
            continue;
        }
        if (run == n)
            return i;
        run = 0;
    }
    return at + n;
}

/* Each line of Markdown outside of fences holds no HTML but an empty comment, and calls nobody. */
static void expect_no_markup(tp_str text)
{
    bool fenced = false;
    for (size_t i = 0, n; i < text.n; i += n + 1) {
        const char *end = memchr(text.p + i, '\n', text.n - i);
        n = end ? (size_t)(end - text.p) - i : text.n - i;
        tp_str line = {text.p + i, n};
        bool fence = n >= 3 && memcmp(line.p, "```", 3) == 0 &&
                     !memchr(line.p + past_code(line, 0), '`', n - past_code(line, 0));
        fenced ^= fence;
        for (size_t k = 0; k < n && !fenced && !fence;) {
            bool comment = n - k >= 8 && memcmp(line.p + k, "<!-- -->", 8) == 0;
            if ((line.p[k] == '<' && !comment) ||
                (line.p[k] == '@' && !(n - k >= 9 && memcmp(line.p + k + 1, "<!-- -->", 8) == 0)))
                fail_msg("markup in: %.*s", TP_FMT(line));
            k = line.p[k] == '\\' ? k + 2 : line.p[k] == '`' ? past_code(line, k) : k + (comment ? 8 : 1);
        }
    }
}

static void markdown_is_no_markup(void **state)
{
    place *p = *state;
    static const char *const TITLES[] = {"``` <img src=x><h1>Everything is proven</h1> `",
                                         "`` ` <b> `` @everyone `",
                                         "` <b>",
                                         "`<b>` `",
                                         "``<b>",
                                         "a\\\\`<b>`",
                                         "<b> @all",
                                         "`a``<b>`",
                                         "```"};
    for (size_t i = 0; i < sizeof TITLES / sizeof *TITLES; i++) {
        const char *at = strstr(HOSTILE, "\"a\"");
        tp_str s = tp_printf(p->a, "%.*s\"%s\"%s", (int)(at - HOSTILE), HOSTILE, TITLES[i], at + 3);
        outcome o = RUN(p->a, "lint", "--format", "markdown", put(p, "m.tile.json", s.p, s.n));
        assert_true(o.exit == 0 || o.exit == 1);
        expect_no_markup(o.out);
    }
}

/* Whatever is written of them, memory holds one spec of many; beyond a megabyte parts of reports lie in files. */
static void memory_does_not_grow_with_specs(void **state)
{
    enum { SPECS = 300, MIB = 64 }; /* kept until the end they take 0.4 MiB each */
    place *p = *state;
    tp_str text, why, first[FORMATS];
    if (SLOWDOWN > 1)
        skip();
    assert_int_equal(tp_read_file(p->a, "examples/elementwise/add_vectors.tile.json", 1 << 20, &text, &why), TP_OK);
    assert_int_equal(mkdir(path_in(p, "specs"), 0777), 0);
    for (int i = 0; i < SPECS; i++)
        put(p, tp_printf(p->a, "specs/%03d.tile.json", i).p, text.p, text.n);
    for (int jobs = 1; jobs <= 2; jobs++) {
        const char *args[32] = {"lint", "--config", "none", jobs == 1 ? "-j1" : "-j2", "--format", "json", "specs"};
        for (int i = 0; i < FORMATS; i++) {
            args[7 + 2 * i] = "-o";
            args[8 + 2 * i] = tp_printf(p->a, "%s=%s", NAMES[i], NAMES[i]).p;
        }
        outcome o = run_in(p->a, p->dir, NULL, MIB, args);
        if (o.exit != 0)
            fail_msg("exit %d: %.*s", o.exit, TP_FMT(o.err));
        for (int i = 0; i < FORMATS; i++) {
            assert_int_equal(tp_read_file(p->a, path_in(p, NAMES[i]), 64 << 20, &text, &why), TP_OK);
            assert_true(jobs == 1 || tp_str_eq(text, first[i]));
            first[i] = text;
        }
        assert_true(tp_str_eq(o.out, first[JSON]) && first[JSON].n > 2 << 20);
        assert_int_equal(count_of(first[HTML], "<section"), SPECS);
    }
    outcome o = RUN_IN(p->a, p->dir, "lint", "--config", "none", "--shard", "1/1", "-q", "-o", "json=shard", "specs");
    assert_int_equal(o.exit, 0);
    o = run_in(p->a, p->dir, NULL, MIB / 2, (const char *const[]){"merge", "shard", NULL});
    assert_true(o.exit == 0 && tp_str_eq(o.out, first[JSON]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(every_format_says_the_same),
                                       IN_PLACE(hostile_text_stays_text),
                                       IN_PLACE(markdown_is_no_markup),
                                       IN_PLACE(verify_in_pictures),
                                       IN_PLACE(costs_of_the_page),
                                       IN_PLACE(buffers_of_the_pipeline),
                                       IN_PLACE(ways_in_the_margin),
                                       IN_PLACE(pictures_have_something_to_see),
                                       IN_PLACE(no_number_is_no_small_error),
                                       IN_PLACE(outputs_are_whole_or_not_there),
                                       IN_PLACE(memory_does_not_grow_with_specs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
