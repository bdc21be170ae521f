/* What lint says of the gallery and of every example of a rule, line by line
 * against tests/verdicts.txt: a verdict, a basis or a size in bytes that
 * changes is seen in the diff of that file. What only a solver decides is
 * "open", since solvers differ. TEST_WRITE=1 (make verdicts) writes the file;
 * TEST_SPECS=FOLDER looks at the specs below that folder only. */
#define _GNU_SOURCE
#include "analyzer/merge.h"
#include "tests/unit/process.h"
#include "tests/unit/support.h"

static const char FILE_NAME[] = "tests/verdicts.txt";

typedef struct count {
    const char *rule, *what, *subject;
    unsigned n;
} count;

static int by_name(const void *a, const void *b)
{
    const count *x = a, *y = b;
    int c = strcmp(x->rule, y->rule);
    c = c ? c : strcmp(x->what, y->what);
    return c ? c : strcmp(x->subject, y->subject);
}

/* "proven cert given F2", "violated fix", "open" */
static const char *what_of(tp_arena *a, struct json_object *f)
{
    const char *verdict = string_of(f, "verdict"), *grade = string_of(f, "grade");
    if (strcmp(verdict, "unknown") == 0 || (strcmp(verdict, "proven") == 0 && strstr(grade, "z3")))
        return "open";
    tp_buf b = {.arena = a};
    tp_buf_printf(&b, "%s%s%s", verdict, grade[0] ? " " : "", grade);
    if (member(f, "fix"))
        tp_buf_c(&b, " fix");
    struct json_object *basis = member(f, "rests_on");
    for (size_t i = 0; i < json_object_array_length(basis); i++)
        tp_buf_printf(&b, "%s%s", i ? " " : " given ", json_object_get_string(json_object_array_get_idx(basis, i)));
    return tp_cstr(a, tp_buf_view(&b));
}

static void print_spec(tp_arena *a, tp_buf *out, struct json_object *spec)
{
    enum { MOST = 400 };
    count counts[MOST];
    struct json_object *findings = member(spec, "findings"), *memory = member(spec, "memory"),
                       *vmem = memory ? member(memory, "vmem") : NULL;
    size_t n = 0;
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i);
        count c = {string_of(f, "rule"), what_of(a, f), string_of(f, "subject"), 1};
        size_t k = 0;
        while (k < n && by_name(&counts[k], &c) != 0)
            k++;
        assert_true(k < MOST);
        if (k < n)
            counts[k].n++;
        else
            counts[n++] = c;
    }
    qsort(counts, n, sizeof *counts, by_name);
    tp_buf_printf(out, "%s:", string_of(spec, "path"));
    for (size_t i = 0; i < n; i++) {
        const count *c = &counts[i];
        if (i == 0 || strcmp(c->rule, c[-1].rule) != 0 || strcmp(c->what, c[-1].what) != 0)
            tp_buf_printf(out, "%s%s %s:", i ? "; " : " ", c->rule, c->what);
        tp_buf_printf(out, c->n > 1 ? " %s %u" : " %s", c->subject, c->n);
    }
    if (vmem)
        tp_buf_printf(out, "; vmem %s", json_object_get_string(member(vmem, "bytes")));
    tp_buf_c(out, "\n");
}

/* The lines of text that speak of specs below folder. */
static const char *lines_below(tp_arena *a, const char *text, const char *folder)
{
    tp_buf b = {.arena = a};
    for (size_t n; *text; text += n + (text[n] != '\0')) {
        n = strcspn(text, "\n");
        if (strncmp(text, folder, strlen(folder)) == 0)
            tp_buf_printf(&b, "%.*s\n", (int)n, text);
    }
    return tp_cstr(a, tp_buf_view(&b));
}

static void verdicts(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_str why, wanted = {NULL, 0};
    const char *folder = getenv("TEST_SPECS");
    outcome o = folder ? RUN(a, "lint", "-j1", "--format", "json", folder)
                       : RUN(a, "lint", "-j1", "--format", "json", "examples", "tests/rules");
    struct json_object *r = record_of(a, &o), *specs = member(r, "specs");
    tp_buf now = {.arena = a};
    for (size_t i = 0; i < json_object_array_length(specs); i++)
        print_spec(a, &now, json_object_array_get_idx(specs, i));
    tp_str got = tp_buf_view(&now);
    if (getenv("TEST_WRITE"))
        assert_int_equal(tp_write_file(a, FILE_NAME, &got, 1, &why), TP_OK);
    assert_int_equal(tp_read_file(a, FILE_NAME, 8 << 20, &wanted, &why), TP_OK);
    const char *x = tp_cstr(a, got), *y = tp_cstr(a, wanted);
    if (folder)
        y = lines_below(a, y, folder);
    unsigned different = 0;
    while (*x || *y) {
        size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
        if ((n != m || memcmp(x, y, n) != 0) && different++ < 5)
            print_message("now   %.*s\nknown %.*s\n", (int)n, x, (int)m, y);
        x += n + (x[n] != '\0');
        y += m + (y[m] != '\0');
    }
    if (different)
        fail_msg("%u lines differ from %s; `make verdicts` writes it, review its diff", different, FILE_NAME);
    json_object_put(r);
    tp_arena_free(a);
}

/* Of two dtype combinations: the worse verdict, and what a proof of both rests on; a refutation rests on nothing. */
static void combinations_are_merged(void **state)
{
    (void)state;
    static const struct {
        tp_verdict first, second, merged;
        const char *rests_on;
    } CASES[] = {{TP_PROVEN, TP_PROVEN, TP_PROVEN, "F1, F2"},
                 {TP_PROVEN, TP_VIOLATED, TP_VIOLATED, ""},
                 {TP_VIOLATED, TP_PROVEN, TP_VIOLATED, ""},
                 {TP_UNKNOWN, TP_PROVEN, TP_UNKNOWN, ""}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        tp_arena *a = tp_arena_new(0);
        tp_merger m = {.next = {NULL, 0, 0}};
        for (int second = 0; second < 2; second++) {
            tp_verdict v = second ? CASES[i].second : CASES[i].first;
            tp_finding f = {.rule = TP_RULE_EXTENT,
                            .verdict = v,
                            .rests_on = tp_str_c(v != TP_PROVEN ? ""
                                                 : second       ? "F2"
                                                                : "F1")};
            tp_findings one = {&f, 1, 1};
            tp_merge(a, &m, &one);
        }
        tp_findings all = tp_merged_findings(a, &m);
        assert_int_equal(all.len, 1);
        assert_int_equal(all.at[0].verdict, CASES[i].merged);
        assert_string_equal(tp_cstr(a, all.at[0].rests_on), CASES[i].rests_on);
        tp_arena_free(a);
    }
}

/* ---- expressions that are too large ---- */

typedef struct pool {
    tp_exprs *p;
    unsigned claims;
} pool;

/* Lets something grow too large behind the first claim. */
static void overflow(void *ctx, const char *rule, const tp_obligation *o, const tp_decision *d)
{
    pool *x = ctx;
    (void)rule, (void)o;
    tp_expr e = tp_sym_new(x->p, TP_S("large"));
    for (int i = 1; x->claims == 0 && !tp_exprs_overflowed(x->p); i++)
        e = tp_op2(x->p, TP_E_MUL, e, tp_op2(x->p, TP_E_ADD, e, tp_const(x->p, i)));
    assert_true(tp_exprs_overflowed(x->p));
    assert_true(x->claims++ == 0 || d->verdict == TP_UNKNOWN);
}

/* What somebody lost before a claim is lost after it: claims forget what grows too large on their own way only. */
static void a_claim_forgets_what_is_its_own(void **state)
{
    (void)state;
    loaded *l =
        load_text("{\"tileproof\": 1, \"name\": \"two\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, "
                  "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 128)\"}], \"inputs\": [{\"name\": \"x\", "
                  "\"dtype\": \"float32\", \"shape\": [\"N\", \"N\"], \"block_shape\": [128, 128], "
                  "\"index_map\": [\"i\", \"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
                  "\"shape\": [\"N\"], \"block_shape\": [128], \"index_map\": [\"i\"]}]}");
    assert_non_null(l->spec);
    pool x = {.p = l->spec->kernels[0]->exprs};
    tp_analysis_options o = {.prover = {.no_solver = true}, .listener = overflow, .listener_ctx = &x};
    tp_analysis_result r = {0};
    tp_analyze(l->arena, l->spec, &o, &r);
    assert_true(x.claims > 2);
    unload(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts), cmocka_unit_test(combinations_are_merged),
                                       cmocka_unit_test(a_claim_forgets_what_is_its_own)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
