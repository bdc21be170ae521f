/* The domain that a report prints is the domain of its proofs: what lint gave
 * the prover, read back from the certificates of the gallery and of the rules'
 * examples, beside the domain of the same run's report. Bounds are the printed
 * ones; a premise about sizes alone is a printed fact of "where", an implicit
 * fact that a finding of the rule cites, or a condition of the kernel itself. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "smt/trust/certificates.h"
#include "tests/unit/files.h"
#include "tests/unit/support.h"

typedef struct checked {
    tp_arena *a;
    struct json_object *spec, *domain; /* of the report */
    loaded *l;                         /* the same spec */
    tp_source line;
    tp_ctx ctx;
    tp_certificate row;
    uint32_t specs, obligations, bounds, facts, cited;
} checked;

static void read_row(void *arg)
{
    checked *c = arg;
    c->row = tp_certificate_read(&c->ctx);
}

static int64_t int_of(struct json_object *o, const char *key, int64_t otherwise)
{
    struct json_object *v = member(o, key);
    return v ? json_object_get_int64(v) : otherwise;
}

static void wrong(const checked *c, const char *what, tp_str text)
{
    fail_msg("%s: %.*s: %s: %.*s", string_of(c->spec, "path"), TP_FMT(c->row.entry.obligation), what, TP_FMT(text));
}

/* Does the printed range of this size say what the prover was given? */
static void check_bounds(checked *c, const tp_var *x, struct json_object *size)
{
    tp_str name = tp_sym_name(c->row.exprs, x->sym);
    int64_t lo, hi, m = int_of(size, "multiple_of", 1), min = int_of(size, "min", 0), max = int_of(size, "max", 0);
    if (!tp_expr_is_const(c->row.exprs, x->lo, &lo) || !tp_expr_is_const(c->row.exprs, x->hi, &hi) ||
        x->multiple_of != m || lo != (min + m - 1) / m * m || hi != max / m * m)
        wrong(c, "the range is not the printed one of", name);
    struct json_object *in = member(size, "in");
    if (json_object_array_length(in ? in : json_object_new_array()) != x->nchoices)
        wrong(c, "not the printed choices of", name);
    for (uint32_t i = 0; i < x->nchoices; i++)
        if (json_object_get_int64(json_object_array_get_idx(in, i)) != x->choices[i])
            wrong(c, "not the printed choices of", name);
    c->bounds++;
}

/* Sizes of the printed domain only? Constants are nobody's. */
static bool sizes_only(const checked *c, tp_expr e, bool *some)
{
    if (!e.id)
        return true;
    const tp_expr_node n = *tp_expr_get(c->row.exprs, e);
    if (n.op == TP_E_SYM) {
        tp_str name = tp_sym_name(c->row.exprs, (uint32_t)n.value);
        *some = true;
        return json_object_object_get_ex(member(c->domain, "sizes"), tp_cstr(c->a, name), NULL);
    }
    return n.op != TP_E_READ && sizes_only(c, n.a, some) && sizes_only(c, n.b, some) && sizes_only(c, n.c, some);
}

static bool printed_where(const checked *c, tp_str text)
{
    const tp_kernel *k = c->l->spec->kernels[0];
    struct json_object *where = member(c->domain, "where");
    for (uint32_t i = 0; i < k->nwhere; i++)
        if (tp_str_eq(text, tp_expr_text(k->exprs, k->where[i].expr))) {
            struct json_object *printed = json_object_array_get_idx(where, i);
            return printed && tp_str_is(k->where[i].text, json_object_get_string(printed));
        }
    return false;
}

/* A finding of this obligation's rule rests on `id` ("": on any rule's behalf). */
static bool rests(const checked *c, const char *id)
{
    struct json_object *findings = member(c->spec, "findings");
    for (size_t i = 0; i < json_object_array_length(findings); i++) {
        struct json_object *f = json_object_array_get_idx(findings, i), *basis = member(f, "rests_on");
        if (memcmp(c->row.entry.obligation.p, string_of(f, "rule"), 5) != 0)
            continue;
        for (size_t b = 0; b < json_object_array_length(basis); b++)
            if (strcmp(json_object_get_string(json_object_array_get_idx(basis, b)), id) == 0)
                return true;
    }
    return false;
}

static bool cited_fact(checked *c, tp_str text)
{
    struct json_object *facts = member(c->domain, "facts");
    for (size_t i = 0; i < json_object_array_length(facts); i++) {
        struct json_object *f = json_object_array_get_idx(facts, i), *says = member(f, "says");
        for (size_t s = 0; s < json_object_array_length(says); s++) {
            if (!tp_str_is(text, json_object_get_string(json_object_array_get_idx(says, s))))
                continue;
            /* questions of the walk over the body ("fact-") are cited by all findings on the body */
            bool walk = memcmp(c->row.entry.obligation.p, "fact", 4) == 0;
            c->cited += !walk;
            return walk || rests(c, string_of(f, "id"));
        }
    }
    return false;
}

/* Obligations on the body have the conditions of its branches for premises. */
static bool of_the_body(const checked *c)
{
    static const char *const RULES[] = {"fact",  "TP102", "TP103", "TP105", "TP202",
                                        "TP203", "TP401", "TP404", "TP501", "TP503"};
    tp_str o = c->row.entry.obligation, name = c->l->spec->kernels[0]->name;
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++)
        if (o.n >= 5 && memcmp(o.p, RULES[i], strlen(RULES[i])) == 0)
            return true;
    return o.n == 6 + name.n && memcmp(o.p, "TP104-", 6) == 0 && memcmp(o.p + 6, name.p, name.n) == 0;
}

/* What is not a fact: some axis has a step or some dimension an element, which
 * cuts nothing off above; windows meet their arrays, which is cited. */
static bool of_the_kernel(const checked *c, tp_expr e)
{
    const tp_expr_node n = *tp_expr_get(c->row.exprs, e);
    int64_t one;
    bool some = n.op == TP_E_GE && tp_expr_is_const(c->row.exprs, n.b, &one) && one == 1;
    bool excluded = memcmp(c->row.entry.obligation.p, "TP006", 5) == 0; /* asks whether they contradict each other */
    return some || excluded || rests(c, "TP101") || of_the_body(c);
}

static void check_row(checked *c)
{
    const tp_obligation *o = &c->row.obligation;
    c->obligations++;
    for (uint32_t i = 0; i < o->nvars; i++) {
        struct json_object *size = NULL;
        json_object_object_get_ex(member(c->domain, "sizes"), tp_cstr(c->a, tp_sym_name(c->row.exprs, o->vars[i].sym)),
                                  &size);
        if (json_object_is_type(size, json_type_object))
            check_bounds(c, &o->vars[i], size);
    }
    for (uint32_t i = 0; i < o->npremises; i++) {
        bool some = false;
        if (!sizes_only(c, o->premises[i], &some) || !some)
            continue;
        tp_str text = tp_expr_text(c->row.exprs, o->premises[i]);
        c->facts++;
        if (!printed_where(c, text) && !cited_fact(c, text) && !of_the_kernel(c, o->premises[i]))
            wrong(c, "a premise that is neither printed nor cited", text);
    }
}

/* The next spec of the report with this name: sections come in their order. */
static void next_spec(checked *c, struct json_object *specs, size_t *at, tp_str name)
{
    for (; *at < json_object_array_length(specs); ++*at) {
        c->spec = json_object_array_get_idx(specs, *at);
        c->domain = member(c->spec, "domain");
        if (c->domain && tp_str_is(name, string_of(c->spec, "name"))) {
            ++*at;
            c->specs++;
            if (c->l)
                unload(c->l);
            c->l = load_file(string_of(c->spec, "path"));
            assert_non_null(c->l->spec);
            return;
        }
    }
    fail_msg("no spec %.*s in the report", TP_FMT(name));
}

static void each_line(checked *c, struct json_object *specs, tp_str text)
{
    size_t at = 0, from = 0;
    for (size_t end; from < text.n; from = end + 1) {
        const char *newline = memchr(text.p + from, '\n', text.n - from);
        end = newline ? (size_t)(newline - text.p) : text.n;
        if (from > 0) { /* after the header */
            tp_arena *row = tp_arena_new(0);
            c->line = (tp_source){.path = TP_S("certificates"), .text = {text.p + from, end - from}};
            c->ctx = (tp_ctx){.arena = row, .source = &c->line};
            c->a = row;
            assert_int_equal(tp_try(row, read_row, c), TP_OK);
            if (c->row.section)
                next_spec(c, specs, &at, c->row.section->name);
            else
                check_row(c);
            tp_arena_free(row);
        }
    }
}

static void the_printed_domain_is_the_proofs_domain(void **state)
{
    place *p = *state;
    checked c = {0};
    const char *report = path_in(p, "report.json"), *certificates = path_in(p, "certificates");
    tp_str text, why;
    bool all = getenv("TEST_TRIALS") != NULL; /* else the gallery and the rules that speak of large sizes */
#define LINT(...)                                                                                                      \
    RUN(p->a, "lint", "-q", "--config", "none", "-o", tp_printf(p->a, "json=%s", report).p, "--certificates",          \
        certificates, "tests/rules/index-overflow", "tests/rules/output-coverage", __VA_ARGS__)
    outcome o = all ? LINT("examples", "tests/rules")
                    : LINT("examples/attention", "examples/elementwise", "examples/matmul", "examples/reduction",
                           "examples/sequence", "examples/moe", "tests/rules/extent", "tests/rules/padding-leak");
    assert_int_equal(o.exit, 1); /* examples of violations among them */
    struct json_object *record = json_object_from_file(report);
    assert_int_equal(tp_read_file(p->a, certificates, (size_t)1 << 28, &text, &why), TP_OK);
    each_line(&c, member(record, "specs"), text);
    print_message("premises: %u specs, %u obligations: %u ranges and %u premises about sizes, %u of them facts that a "
                  "finding cites\n",
                  c.specs, c.obligations, c.bounds, c.facts, c.cited);
    assert_true(c.specs >= (all ? 300 : 60) && c.bounds > c.obligations && c.cited > 0);
    unload(c.l);
    json_object_put(record);
}

/* ---- who cites what ---- */

#define MAP(sizes, shape, steps, map)                                                                                  \
    "{\"tileproof\": 1, \"name\": \"m\", \"sizes\": {" sizes "}, \"grid\": [{\"axis\": \"i\", \"steps\": \"" steps     \
    "\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"" shape                                \
    "\"], \"block_shape\": [8], \"index_map\": [\"" map                                                                \
    "\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"" shape                              \
    "\"], \"block_shape\": [8], \"index_map\": [\"" map "\"]}]}"

static void facts_are_cited_where_they_are_needed(void **state)
{
    static const struct {
        const char *name, *spec, *verdict, *basis;
    } ROWS[] = {
        {"the sizes' own bounds suffice", MAP("\"N\": {\"min\": 1}", "N", "cdiv(N, 8)", "i"), "proven", ""},
        {"a dimension is three times a size", MAP("\"N\": {\"min\": 1}", "3 * N", "cdiv(3 * N, 8)", "i"), "proven",
         "F2"},
        {"of a small one", MAP("\"N\": {\"min\": 1, \"max\": 4096}", "3 * N", "cdiv(3 * N, 8)", "i"), "proven", ""},
        {"a map that leaves int32 in arrays that can be", MAP("\"N\": {\"min\": 8}", "N", "cdiv(N, 8)", "i * 64 // 64"),
         "violated", ""},
        {"a flattened index",
         "{\"tileproof\": 1, \"name\": \"f\", \"sizes\": {\"M\": {\"min\": 1}, \"N\": {\"min\": 1}}, \"grid\": "
         "[{\"axis\": "
         "\"i\", \"steps\": \"M\"}], \"inputs\": [], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", "
         "\"shape\": "
         "[\"M\", \"N\"], \"block_shape\": [1, null], \"index_map\": [\"i * N // N\", 0]}]}",
         "proven", "F1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        loaded *l = load_text(ROWS[i].spec);
        assert_non_null(l->spec);
        tp_analysis_result r = analyze_with(l, "TP104", (tp_prover_options){0});
        for (uint32_t f = 0; f < r.findings.len; f++) {
            const tp_finding *x = &r.findings.at[f];
            if (strcmp(x->rule, "TP104") == 0 &&
                (!tp_str_is(x->rests_on, ROWS[i].basis) || strcmp(tp_verdict_name(x->verdict), ROWS[i].verdict) != 0))
                fail_msg("%s: %s given \"%.*s\"", ROWS[i].name, tp_verdict_name(x->verdict), TP_FMT(x->rests_on));
        }
        assert_true(r.findings.len > 0);
        unload(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_printed_domain_is_the_proofs_domain, make_place, drop_place),
        cmocka_unit_test_setup_teardown(facts_are_cited_where_they_are_needed, make_place, drop_place),
    };
    return cmocka_run_group_tests_name("premises", tests, NULL, NULL);
}
