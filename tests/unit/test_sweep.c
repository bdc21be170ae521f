/* Sweeps: the counts of tests/sweep/sweeps.json; cells of them, and of random sweeps of the gallery and its broken
 * kernels, picked by a seed, against lint of a spec in whose JSON their values were written; what is no sweep. */
#define _GNU_SOURCE
#include <glob.h>

#include "base/rng.h"
#include "tests/unit/files.h"

enum { CELLS = 3 }; /* of each sweep; TEST_TRIALS */

static struct json_object *data;

static struct json_object *sweep_of(place *p, const char *spec, const char *over, outcome *o)
{
    *o = RUN(p->a, "sweep", spec, "--over", over, "--format", "json");
    return o->exit == 0 || o->exit == 1 || o->exit == 4 ? record_of(p->a, o) : NULL;
}

/* Cells per first rule. */
static int64_t forbidden_by(struct json_object *cells, const char *rule)
{
    int64_t n = 0;
    for (size_t i = 0; i < json_object_array_length(cells); i++) {
        struct json_object *rules = member(json_object_array_get_idx(cells, i), "rules");
        n += strcmp(string_of(json_object_array_get_idx(cells, i), "verdict"), "forbidden") == 0 &&
             strcmp(json_object_get_string(json_object_array_get_idx(rules, 0)), rule) == 0;
    }
    return n;
}

static void check_counts(struct json_object *row, struct json_object *r)
{
    struct json_object *want = member(row, "forbidden");
    int64_t sum = 0;
    json_object_object_foreach (want, rule, count) {
        int64_t got = forbidden_by(member(r, "cells"), rule);
        sum += got;
        if (got != json_object_get_int64(count))
            fail_msg("%s: %s forbids %lld", string_of(row, "over"), rule, (long long)got);
    }
    if (json_object_get_int64(member(r, "legal")) != json_object_get_int64(member(row, "legal")) ||
        json_object_get_int64(member(r, "unknown")) != json_object_get_int64(member(row, "unknown")) ||
        json_object_get_int64(member(r, "forbidden")) != sum)
        fail_msg("%s: %s legal", string_of(row, "over"), json_object_to_json_string(member(r, "legal")));
}

/* ---- against lint ---- */

/* The spec with the cell's values, by way of JSON: no edit of text. */
static const char *spec_of_cell(place *p, const char *spec, struct json_object *at, const char *name)
{
    struct json_object *doc = json_object_from_file(spec);
    const char *const SECTIONS[] = {"sizes", "constants"};
    json_object_object_foreach (at, key, value) {
        if (strcmp(key, "target") == 0)
            json_object_object_add(doc, key, json_object_get(value));
        for (int s = 0; s < 2; s++)
            if (member(doc, SECTIONS[s]) && member(member(doc, SECTIONS[s]), key))
                json_object_object_add(member(doc, SECTIONS[s]), key, json_object_get(value));
        if (member(doc, "dtypes") && member(member(doc, "dtypes"), key)) {
            struct json_object *one = json_object_new_array();
            json_object_array_add(one, json_object_get(value));
            json_object_object_add(member(doc, "dtypes"), key, one);
        }
    }
    const char *text = json_object_to_json_string(doc), *path = put(p, name, text, strlen(text));
    json_object_put(doc);
    return path;
}

/* "legal", "forbidden" or "unknown", as lint has it; and does it name these rules? */
static const char *verdict_of(struct json_object *spec, struct json_object *rules, bool *named)
{
    struct json_object *findings = member(spec, "findings");
    bool bad = strcmp(string_of(spec, "status"), "ok") != 0, open = false;
    size_t found = 0;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        const char *v = string_of(f, "verdict");
        bool violated =
            strcmp(v, "vacuous") == 0 || (strcmp(v, "violated") == 0 && strcmp(string_of(f, "severity"), "error") == 0);
        bad |= violated;
        open |= strcmp(v, "unknown") == 0;
    }
    for (size_t r = 0; r < json_object_array_length(rules); r++) {
        bool here = false;
        for (size_t i = 0; i < json_object_array_length(findings); i++) {
            struct json_object *f = json_object_array_get_idx(findings, i);
            here |= strcmp(string_of(f, "verdict"), "proven") != 0 &&
                    strcmp(string_of(f, "rule"), json_object_get_string(json_object_array_get_idx(rules, r))) == 0;
        }
        found += here;
    }
    *named = found == json_object_array_length(rules);
    return bad ? "forbidden" : open ? "unknown" : "legal";
}

typedef struct verdicts {
    size_t legal, forbidden, unknown;
} verdicts;

static size_t check_cells(place *p, const char *spec, struct json_object *cells, tp_rng *rng, size_t n, verdicts *seen)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *cell = json_object_array_get_idx(cells, tp_rng_below(rng, json_object_array_length(cells)));
        outcome o = RUN(p->a, "lint", spec_of_cell(p, spec, member(cell, "at"), "cell.tile.json"), "--format", "json",
                        "--config", "none");
        struct json_object *r = record_of(p->a, &o);
        bool named;
        const char *want = verdict_of(json_object_array_get_idx(member(r, "specs"), 0), member(cell, "rules"), &named);
        *(*want == 'l' ? &seen->legal : *want == 'f' ? &seen->forbidden : &seen->unknown) += 1;
        if (strcmp(want, string_of(cell, "verdict")) != 0 || !named) {
            print_message("%s: lint says %s of %s\n", spec, want, json_object_to_json_string(cell));
            wrong++;
        }
        json_object_put(r);
    }
    return wrong;
}

static void sweeps_are_those_of_the_data_and_of_lint(void **state)
{
    place *p = *state;
    struct json_object *all = member(data, "sweeps");
    uint64_t seed = setting("TEST_SEED", 1);
    size_t each = setting("TEST_TRIALS", CELLS), wrong = 0, n = 0;
    verdicts seen = {0};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < json_object_array_length(all); i++, n += each) {
        struct json_object *row = json_object_array_get_idx(all, i);
        tp_rng rng = tp_rng_new(seed, i);
        outcome o;
        struct json_object *r = sweep_of(p, string_of(row, "in"), string_of(row, "over"), &o);
        if (!r)
            fail_msg("%s: exit %d: %.*s", string_of(row, "over"), o.exit, TP_FMT(o.err));
        check_counts(row, r);
        wrong += check_cells(p, string_of(row, "in"), member(r, "cells"), &rng, each, &seen);
        json_object_put(r);
    }
    print_message("%zu cells, %zu are not what lint says\n", n, wrong);
    assert_int_equal(wrong, 0);
}

/* ---- random sweeps ---- */

/* Values of a size around what blocks and arrays have, on tiles and off them. */
static const char *random_size(place *p, tp_rng *rng, struct json_object *was)
{
    uint64_t small = 1 + tp_rng_below(rng, 12), v = small;
    uint64_t given = json_object_is_type(was, json_type_int) ? (uint64_t)json_object_get_int64(was) : 0;
    switch (tp_rng_below(rng, 7)) {
    case 0: v = given ? given : 256; break;
    case 1: v = given > 1 ? given / 2 : 64; break;
    case 2: v = given ? 2 * given : 512; break;
    case 3: v = 8 * small; break;
    case 4: v = 128 * small; break;
    case 5: v = 1 + tp_rng_below(rng, 1500); break;
    default: break;
    }
    return tp_printf(p->a, "%llu", (unsigned long long)v).p;
}

static const char *random_value(place *p, tp_rng *rng, const char *kind, struct json_object *was)
{
    static const char *const DTYPES[] = {"float32", "bfloat16", "float16", "int8", "int32", "int16", "float8_e4m3fn"},
                             *const TARGETS[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};
    if (strcmp(kind, "dtypes") == 0)
        return DTYPES[tp_rng_below(rng, sizeof DTYPES / sizeof *DTYPES)];
    if (strcmp(kind, "target") == 0)
        return TARGETS[tp_rng_below(rng, sizeof TARGETS / sizeof *TARGETS)];
    return random_size(p, rng, was);
}

static void add_list(place *p, tp_buf *b, tp_rng *rng, const char *kind, const char *name, struct json_object *was)
{
    const char *values[3];
    uint32_t n = 0, wish = 2 + (uint32_t)tp_rng_below(rng, 2);
    for (uint32_t i = 0; i < wish; i++) {
        bool again = false;
        values[n] = random_value(p, rng, kind, was);
        for (uint32_t k = 0; k < n; k++)
            again |= strcmp(values[k], values[n]) == 0;
        n += !again;
    }
    for (uint32_t i = 0; i < n; i++)
        tp_buf_printf(b, "%s%s%s%s", i ? "|" : b->n ? "," : "", i ? "" : name, i ? "" : "=", values[i]);
}

/* Some of what the spec lets be listed; empty: nothing. */
static const char *random_lists(place *p, tp_rng *rng, const char *spec)
{
    struct json_object *doc = json_object_from_file(spec), *sizes = member(doc, "sizes"),
                       *dtypes = member(doc, "dtypes");
    tp_buf b = {.arena = p->a};
    if (sizes) {
        json_object_object_foreach (sizes, name, value)
            if (!json_object_is_type(value, json_type_string) && tp_rng_below(rng, 5) < 2)
                add_list(p, &b, rng, "sizes", name, value);
    }
    if (dtypes) {
        json_object_object_foreach (dtypes, name, value)
            if (tp_rng_below(rng, 3) == 0)
                add_list(p, &b, rng, "dtypes", name, value);
    }
    if (tp_rng_below(rng, 3) == 0)
        add_list(p, &b, rng, "target", "target", NULL);
    json_object_put(doc);
    return tp_cstr(p->a, tp_buf_view(&b));
}

/* TEST_CELLS of them. */
static void cells_of_random_sweeps_are_what_lint_says(void **state)
{
    enum { EACH = 4 };
    place *p = *state;
    glob_t g;
    uint64_t seed = setting("TEST_SEED", 1), cells = setting("TEST_CELLS", 12), sweeps = 0, slow = 0;
    size_t wrong = 0, n = 0;
    verdicts seen = {0};
    tp_rng rng = tp_rng_new(seed, 5);
    assert_int_equal(glob("examples/*/*.tile.json", 0, NULL, &g), 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    while (n < cells) {
        const char *spec = g.gl_pathv[tp_rng_below(&rng, g.gl_pathc)], *over = random_lists(p, &rng, spec);
        outcome o;
        struct json_object *r = *over ? sweep_of(p, spec, over, &o) : NULL;
        if (!r && *over && o.exit != 2 && !o.slow) /* 2: a fact of `where` excludes a value */
            fail_msg("%s of %s: exit %d: %.*s", over, spec, o.exit, TP_FMT(o.err));
        slow += *over && o.slow;
        if (!r)
            continue;
        size_t bad = check_cells(p, spec, member(r, "cells"), &rng, EACH, &seen);
        if (bad)
            print_message("  of --over %s\n", over);
        wrong += bad;
        n += EACH;
        sweeps++;
        json_object_put(r);
    }
    globfree(&g);
    print_message(
        "%zu cells of %llu random sweeps, %zu legal, %zu forbidden, %zu unknown; %zu are not what lint says\n", n,
        (unsigned long long)sweeps, seen.legal, seen.forbidden, seen.unknown, wrong);
    assert_int_equal(wrong, 0);
    assert_true(slow * 10 <= sweeps);
}

/* ---- formats and errors ---- */

/* The model's numbers of a cell are those of `cost`, and nothing legal dominates a shape on the Pareto list. */
static void pareto_list_is_that_of_brute_force(void **state)
{
    place *p = *state;
    outcome o;
    struct json_object *r =
        sweep_of(p, "examples/matmul/matmul.tile.json", "bm=64:320:64,bn=128:512:128,bk=128|256,T=float32", &o);
    struct json_object *cells = member(r, "cells");
    size_t n = json_object_array_length(cells), marked = 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *a = json_object_array_get_idx(cells, i);
        bool best = true;
        for (size_t k = 0; k < n && best; k++) {
            struct json_object *b = json_object_array_get_idx(cells, k);
            double d[3];
            const char *const WHAT[] = {"model_seconds", "traffic_bytes", "vmem_bytes"};
            for (int w = 0; w < 3; w++)
                d[w] = json_object_get_double(member(b, WHAT[w])) - json_object_get_double(member(a, WHAT[w]));
            best = !(d[0] <= 0 && d[1] <= 0 && d[2] <= 0 && (d[0] < 0 || d[1] < 0 || d[2] < 0));
        }
        marked += best;
        assert_int_equal(json_object_get_boolean(member(a, "pareto")), best);
    }
    assert_true(marked > 3 && marked < n);
    json_object_put(r);
}

/* x is read once for each block of columns, y once for each block of rows, o is written once. */
static void traffic_of_a_matmul(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "sweep", "examples/matmul/matmul.tile.json", "--over", "bm=128|256,bn=128|512,T=float32",
                    "--size", "M=1024", "--size", "N=2048", "--size", "K=512", "--format", "json");
    struct json_object *r = record_of(p->a, &o), *cells = member(r, "cells");
    for (size_t i = 0; i < json_object_array_length(cells); i++) {
        struct json_object *cell = json_object_array_get_idx(cells, i);
        int64_t bm = json_object_get_int64(member(member(cell, "at"), "bm")),
                bn = json_object_get_int64(member(member(cell, "at"), "bn"));
        assert_int_equal(json_object_get_int64(member(cell, "traffic_bytes")),
                         4 * (1024 * 512 * (2048 / bn) + 512 * 2048 * (1024 / bm) + 1024 * 2048));
        assert_int_equal(json_object_get_int64(member(cell, "flops")) / (2LL * 1024 * 2048 * 512), 1);
    }
    json_object_put(r);
}

static void pages_and_search_spaces(void **state)
{
    place *p = *state;
    const char *const OVER = "bm=64:256:64,bn=64:256:64,T=float32";
    const char *page = path_in(p, "page.html"), *list = path_in(p, "shapes.py");
    tp_str html, python, why;
    outcome o = RUN(p->a, "sweep", "examples/matmul/matmul.tile.json", "--over", OVER, "--format", "space", "-o",
                    tp_printf(p->a, "html=%s", page).p, "-o", tp_printf(p->a, "python=%s", list).p);
    struct json_object *shapes = record_of(p->a, &o);
    assert_int_equal(json_object_array_length(shapes), 8);
    assert_string_equal(string_of(json_object_array_get_idx(shapes, 7), "T"), "float32");
    json_object_put(shapes);
    assert_int_equal(tp_read_file(p->a, page, 1 << 20, &html, &why), TP_OK);
    assert_true(contains(html, "default-src 'none'") && !contains(html, "<script") && !contains(html, "http://"));
    assert_true(contains(html, "<td class=\"bad\">TP201</td>") && contains(html, " best\">"));
    o = RUN(p->a, "lint", "examples/matmul/matmul.tile.json", "--format", "html", "--sweep-page", "of/page.html");
    assert_true(contains(o.out, "<a href=\"of/page.html\">") && contains(o.out, "<a href=\"#rule-TP201\">TP201</a>") &&
                contains(o.out, "<h3 id=\"rule-TP201\">"));
    o = RUN(p->a, "lint", "examples/matmul/matmul.tile.json", "--format", "html", "--sweep-page",
            "javascript:alert(1)");
    assert_true(o.exit == 2 && contains(o.err, "--sweep-page is the path of a file, without `:`"));
    assert_int_equal(tp_read_file(p->a, list, 1 << 20, &python, &why), TP_OK);
    assert_true(contains(python, "SHAPES = [\n    {\"bm\": ") && contains(python, "\"T\": \"float32\"},\n"));
}

/* ---- the best shape ---- */

/* Some values of each list, ascending. */
static const char *random_space(place *p, tp_rng *rng, const char *const *names, int n)
{
    tp_buf b = {.arena = p->a};
    for (int i = 0; i < n; i++) {
        uint64_t step = 8ull << tp_rng_below(rng, 6);
        uint64_t low = step * (1 + tp_rng_below(rng, 6));
        tp_buf_printf(&b, "%s%s=%llu:%llu:%llu", i ? "," : "", names[i], (unsigned long long)low,
                      (unsigned long long)(low + step * tp_rng_below(rng, 5)), (unsigned long long)step);
    }
    return tp_cstr(p->a, tp_buf_view(&b));
}

/* Of the legal cells of a sweep the least model time; -1: there is none. */
static double least_seconds(struct json_object *cells)
{
    double least = -1;
    for (size_t i = 0; i < json_object_array_length(cells); i++) {
        struct json_object *cell = json_object_array_get_idx(cells, i), *seconds = member(cell, "model_seconds");
        if (strcmp(string_of(cell, "verdict"), "legal") == 0 && seconds &&
            (least < 0 || json_object_get_double(seconds) < least))
            least = json_object_get_double(seconds);
    }
    return least;
}

static void best_shape_is_that_of_brute_force(void **state)
{
    place *p = *state;
    static const struct {
        const char *spec, *names[3];
        int n;
    } KERNELS[] = {{"examples/matmul/matmul.tile.json", {"bm", "bn", "bk"}, 3},
                   {"examples/attention/flash_attention.tile.json", {"bq", "bk"}, 2},
                   {"examples/elementwise/transpose.tile.json", {"b"}, 1}};
    uint64_t seed = setting("TEST_SEED", 1), some = 0;
    tp_rng rng = tp_rng_new(seed, 77);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < setting("TEST_TRIALS", 6); i++) {
        size_t k = i % (sizeof KERNELS / sizeof *KERNELS);
        const char *over = random_space(p, &rng, KERNELS[k].names, KERNELS[k].n), *file = path_in(p, "best.json");
        outcome o = RUN(p->a, "sweep", KERNELS[k].spec, "--over", over, "--format", "json", "--certificates", file);
        struct json_object *r = record_of(p->a, &o);
        double least = least_seconds(member(r, "cells"));
        json_object_put(r);
        if (access(file, F_OK) != 0) {
            if (!contains(o.err, least < 0 ? "nothing was written: no " : "may be better, and is not modelled"))
                fail_msg("%s of %s: %.*s", over, KERNELS[k].spec, TP_FMT(o.err));
            continue;
        }
        struct json_object *claim = json_object_from_file(file);
        double stated = json_object_get_double(member(claim, "model_seconds"));
        json_object_put(claim);
        if (stated > least * 1.000001 || stated < least * 0.999999)
            fail_msg("%s: %g is claimed, and %g is there", over, stated, least);
        o = RUN(p->a, "recheck", file, KERNELS[k].spec);
        if (o.exit || !contains(o.out, ": accepted: of "))
            fail_msg("%s: exit %d: %.*s%.*s", over, o.exit, TP_FMT(o.out), TP_FMT(o.err));
        unlink(file);
        some++;
    }
    assert_true(some > 0);
}

/* The text with `to` for the first `from`. */
static const char *replaced(place *p, tp_str text, const char *from, const char *to)
{
    const char *all = tp_cstr(p->a, text), *at = strstr(all, from);
    if (!at)
        fail_msg("there is no %s in %s", from, all);
    return tp_printf(p->a, "%.*s%s%s", (int)(at - all), all, to, at + strlen(from)).p;
}

static void a_forged_best_shape_is_refused(void **state)
{
    place *p = *state;
    static const char SPEC[] = "examples/matmul/matmul.tile.json";
    const char *file = path_in(p, "best.json");
    outcome o = RUN(p->a, "sweep", SPEC, "--over", "bm=64:1024:320,bn=64:1024:320,bk=512,target=v3|v5e",
                    "--certificates", file);
    tp_str text, why;
    assert_int_equal(o.exit, 0);
    assert_int_equal(tp_read_file(p->a, file, 1 << 20, &text, &why), TP_OK);
    struct json_object *claim = json_object_from_file(file), *list = member(claim, "forbidden"),
                       *first = json_object_array_get_idx(list, 0);
    const char *best = tp_printf(p->a, "\"best\": %d,", json_object_get_int(member(claim, "best"))).p;
    assert_true(json_object_array_length(list) > 0);
    const char *run = tp_printf(p->a, "[\"%s\", %d, %d]", json_object_get_string(json_object_array_get_idx(first, 0)),
                                json_object_get_int(json_object_array_get_idx(first, 1)),
                                json_object_get_int(json_object_array_get_idx(first, 2)))
                          .p;
    const struct {
        const char *from, *to;
        int exit;
        const char *says;
    } FORGED[] = {
        {best, "\"best\": 0,", 1, "and the file says"},
        {best, "\"best\": 99999,", 1, "the sweep has no shape 99999"},
        {best, "\"best\": -1,", 1, "the sweep has no shape -1"},
        {"\"model_seconds\": ", "\"model_seconds\": 1", 1, "and the file says"},
        {run, "[\"TP201\", 0, 0]", 1, "the file names no rule that forbids it"},
        {tp_printf(p->a, "[\"%s\"", json_object_get_string(json_object_array_get_idx(first, 0))).p, "[\"TP404\"", 1,
         "does not forbid it"},
        {"\"modelled_at\": {\"M\": 4096, ", "\"modelled_at\": {", 1, "does not say every size"},
        {"\"modelled_at\": {\"M\": 4096, ", "\"modelled_at\": {\"M\": 128, ", 1, "and the file says"},
        {"\"spec\": \"", "\"spec\": \"0", 1, "another spec"},
        {"\"forbidden\": [", "\"forbidden\": [[\"TP201\", 5, 4],", 3, "a run is a rule"},
        {"\"forbidden\": [", "\"forbidden\": [[\"TP201\", 0, 99999],", 3, "a run is a rule"},
        {"\"forbidden\": [", "\"forbidden\": [[\"TP999\", 0, 0],", 3, "a run is a rule"},
        {"\"name\": \"bm\"", "\"name\": \"zz\"", 1, "no size, constant or dtype `zz`"},
        {"\"tileproof_optimum\": 1", "\"tileproof_optimum\": 2", 3, "no claim about a best shape"},
    };
    json_object_put(claim);
    o = RUN(p->a, "recheck", file, SPEC);
    assert_int_equal(o.exit, 0);
    for (size_t i = 0; i < sizeof FORGED / sizeof *FORGED; i++) {
        const char *forged = replaced(p, text, FORGED[i].from, FORGED[i].to);
        o = RUN(p->a, "recheck", put(p, "forged.json", forged, strlen(forged)), SPEC);
        if (o.exit != FORGED[i].exit || (!contains(o.out, FORGED[i].says) && !contains(o.err, FORGED[i].says)))
            fail_msg("%s for %s: exit %d: %.*s%.*s", FORGED[i].to, FORGED[i].from, o.exit, TP_FMT(o.out),
                     TP_FMT(o.err));
    }
    o = RUN(p->a, "recheck", file, "examples/matmul/int8_matmul.tile.json");
    assert_true(o.exit == 1 && contains(o.out, "another spec"));
    o = RUN(p->a, "recheck", file);
    assert_int_equal(o.exit, 2);
}

/* The first shapes are executed, the others are not; what cannot be is said. */
static void shapes_are_measured(void **state)
{
    place *p = *state;
    static const char SPEC[] = "examples/matmul/matmul.tile.json";
    static const char *const LIMITS[] = {"1024", "1"};
    for (int l = 0; l < 2; l++) {
        outcome o = RUN(p->a, "sweep", SPEC, "--over", "bm=8:24:8,bn=128,bk=100|128", "--size", "M=64", "--size",
                        "N=128", "--size", "K=256", "--measure", "2", "--format", "json", "--memory-limit", LIMITS[l]);
        struct json_object *r = record_of(p->a, &o), *cells = member(r, "cells");
        size_t measured = 0, failed = 0, legal = 0;
        for (size_t i = 0; i < json_object_array_length(cells); i++) {
            struct json_object *cell = json_object_array_get_idx(cells, i), *seconds = member(cell, "measured_seconds");
            legal += strcmp(string_of(cell, "verdict"), "legal") == 0;
            measured += seconds && json_object_get_double(seconds) > 0;
            failed += member(cell, "not_measured") != NULL;
        }
        json_object_put(r);
        if (l == 0)
            assert_true(legal == 3 && measured == 2 && failed == 0);
        else
            assert_true(legal == 0 && measured == 0 && o.exit == 4); /* too little to ask a rule: unknown */
    }
    outcome o = RUN(p->a, "sweep", SPEC, "--over", "bm=8,bn=128,bk=128", "--size", "M=8", "--size", "N=128", "--size",
                    "K=128", "--measure", "1", "--format", "csv");
    assert_true(contains(o.out, "pareto,case,measured_us\n8,128,128,legal,"));
    o = RUN(p->a, "sweep", SPEC, "--over", "bm=8,bn=128,bk=128", "--size", "M=8", "--size", "N=128", "--size", "K=128",
            "--measure", "1");
    assert_true(contains(o.out, "        here  bound by") && contains(o.out, "which says nothing of a"));
}

static void options_that_do_not_hold(void **state)
{
    place *p = *state;
    const char *const WRONG[][3] = {
        {"--size", "bm=64", "--over lists it"},     {"--size", "Z=1", "no size `Z`"},
        {"--size", "M=0", "outside the sizes"},     {"--size", "M", "NAME=VALUE"},
        {"--format", "sarif", "no format `sarif`"}, {"-o", "csv=/nowhere/x.csv", "cannot"},
        {"-o", "zip=x", "no format `zip`"},         {"-o", "csv", "FORMAT=PATH"},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        outcome o =
            RUN(p->a, "sweep", "examples/matmul/matmul.tile.json", "--over", "bm=64:128:64", WRONG[i][0], WRONG[i][1]);
        if (o.exit != 2 || !contains(o.err, WRONG[i][2]))
            fail_msg("%s %s: exit %d: %.*s", WRONG[i][0], WRONG[i][1], o.exit, TP_FMT(o.err));
    }
}

static void any_number_of_threads(void **state)
{
    place *p = *state;
    const char *const SPEC = "examples/matmul/matmul.tile.json", *const OVER = "bm=8:96:8,bn=96:160:32,bk=96:256:32";
    for (int f = 0; f < 2; f++) {
        const char *format = f ? "csv" : "json";
        outcome one = RUN(p->a, "sweep", SPEC, "--over", OVER, "--format", format, "-j", "1"),
                four = RUN(p->a, "sweep", SPEC, "--over", OVER, "--format", format, "-j", "4");
        assert_int_equal(one.exit, 0);
        assert_true(tp_str_eq(one.out, four.out));
    }
}

static void a_table_has_80_columns(void **state)
{
    place *p = *state;
    struct json_object *all = member(data, "sweeps");
    for (size_t i = 1; i < json_object_array_length(all); i += 6) {
        struct json_object *row = json_object_array_get_idx(all, i);
        outcome o = RUN(p->a, "sweep", string_of(row, "in"), "--over", string_of(row, "over"));
        for (tp_str rest = o.out, line; tp_list_next(&rest, "\n", &line);) {
            size_t columns = 0;
            for (size_t c = 0; c < line.n; c++)
                columns += ((unsigned char)line.p[c] & 0xc0) != 0x80;
            if (columns > 80)
                fail_msg("%zu columns: %.*s", columns, TP_FMT(line));
        }
    }
}

static void what_is_no_sweep_is_one_error(void **state)
{
    place *p = *state;
    struct json_object *all = member(data, "errors");
    for (size_t i = 0; i < json_object_array_length(all); i++) {
        struct json_object *row = json_object_array_get_idx(all, i);
        outcome o = RUN(p->a, "sweep", string_of(row, "in"), "--over", string_of(row, "over"));
        size_t lines = 0;
        for (size_t c = 0; c < o.err.n; c++)
            lines += o.err.p[c] == '\n';
        if (o.exit != 2 || o.out.n || lines != 1 || !contains(o.err, string_of(row, "says")))
            fail_msg("%s: exit %d: %.*s", string_of(row, "over"), o.exit, TP_FMT(o.err));
    }
    outcome o = RUN(p->a, "sweep", "examples/matmul/matmul.tile.json");
    assert_int_equal(o.exit, 2);
    o = RUN(p->a, "sweep", "tests/bad/allow_blank_reason.tile.json", "--over", "M=1:2");
    assert_int_equal(o.exit, 3);
}

int main(void)
{
    data = json_object_from_file("tests/sweep/sweeps.json");
    const struct CMUnitTest tests[] = {
        IN_PLACE(sweeps_are_those_of_the_data_and_of_lint),
        IN_PLACE(cells_of_random_sweeps_are_what_lint_says),
        IN_PLACE(pareto_list_is_that_of_brute_force),
        IN_PLACE(traffic_of_a_matmul),
        IN_PLACE(pages_and_search_spaces),
        IN_PLACE(best_shape_is_that_of_brute_force),
        IN_PLACE(a_forged_best_shape_is_refused),
        IN_PLACE(shapes_are_measured),
        IN_PLACE(options_that_do_not_hold),
        IN_PLACE(any_number_of_threads),
        IN_PLACE(a_table_has_80_columns),
        IN_PLACE(what_is_no_sweep_is_one_error),
    };
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    int code = cmocka_run_group_tests(tests, NULL, NULL);
    json_object_put(data);
    return code;
}
