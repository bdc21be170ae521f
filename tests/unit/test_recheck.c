/* `recheck` on files that were changed after they were written: what is
 * missing, extra, exchanged, without its proof or of another spec. */
#define _GNU_SOURCE
#include "tests/unit/files.h"

enum { MAX_LINES = 600 };

typedef struct lines {
    tp_str at[MAX_LINES]; /* 0: the format, 1: the section, then an obligation each */
    uint32_t n;
} lines;

static lines read_lines(place *p, const char *path)
{
    lines l = {.n = 0};
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, path, (size_t)64 << 20, &text, &why), TP_OK);
    for (size_t from = 0; from < text.n;) {
        const char *end = memchr(text.p + from, '\n', text.n - from);
        assert_true(end && l.n < MAX_LINES);
        l.at[l.n++] = (tp_str){text.p + from, (size_t)(end - text.p) - from};
        from = (size_t)(end - text.p) + 1;
    }
    return l;
}

static const char *write_lines(place *p, const lines *l)
{
    tp_buf b = {.arena = p->a};
    for (uint32_t i = 0; i < l->n; i++)
        tp_buf_printf(&b, "%.*s\n", TP_FMT(l->at[i]));
    return put(p, "forged.certs", b.p, b.n);
}

/* s with the first `old` replaced; `last`: the last one. */
static tp_str replaced(place *p, tp_str s, const char *old, const char *by, bool last)
{
    const char *text = tp_cstr(p->a, s), *at = strstr(text, old), *next;
    assert_non_null(at);
    while (last && (next = strstr(at + 1, old)))
        at = next;
    return tp_printf(p->a, "%.*s%s%s", (int)(at - text), text, by, at + strlen(old));
}

/* Without its last entry, the list of a section. */
static tp_str without_last_entry(place *p, tp_str section)
{
    const char *text = tp_cstr(p->a, section), *at = strstr(text, ",["), *next;
    while ((next = strstr(at + 1, ",[")))
        at = next;
    return tp_printf(p->a, "%.*s]}", (int)(at - text), text);
}

/* An obligation without its proof, which is its last member. */
static tp_str without_proof(place *p, tp_str row)
{
    const char *text = tp_cstr(p->a, row), *at = strstr(text, "\"proof\":");
    assert_non_null(at);
    return tp_printf(p->a, "%.*s\"proof\":null}", (int)(at - text), text);
}

static void expect(place *p, const lines *l, const char *spec, int exit, const char *message)
{
    const char *file = write_lines(p, l);
    outcome o = spec ? RUN(p->a, "recheck", file, spec) : RUN(p->a, "recheck", file);
    if (o.exit != exit || !(contains(o.out, message) || contains(o.err, message)))
        fail_msg("%s: exit %d, not %d, and \"%s\" in:\n%.300s%.300s", spec ? spec : "no spec", o.exit, exit, message,
                 tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
}

static const char SPEC[] = "examples/elementwise/add_2d.tile.json", OTHER[] = "examples/matmul/matmul.tile.json";

static lines written(place *p, const char *spec)
{
    const char *file = path_in(p, "whole.certs");
    assert_int_equal(RUN(p->a, "lint", spec, "--certificates", file).exit, 0);
    return read_lines(p, file);
}

static void a_whole_file_is_accepted(void **state)
{
    place *p = *state;
    lines l = written(p, SPEC);
    assert_true(l.n > 5);
    expect(p, &l, SPEC, 0, "they are the obligations of the spec, all of them");
    expect(p, &l, NULL, 0, "only the statements were checked");
    outcome o = RUN(p->a, "recheck", "--explain", write_lines(p, &l));
    assert_true(contains(o.out, "  for all ") && contains(o.out, "  claim "));
    const char *both = path_in(p, "both.certs");
    assert_int_equal(RUN(p->a, "lint", SPEC, OTHER, "--certificates", both).exit, 0);
    assert_int_equal(RUN(p->a, "recheck", both, SPEC, OTHER).exit, 0);
    assert_int_equal(RUN(p->a, "recheck", both, OTHER, SPEC).exit, 1);
    assert_int_equal(RUN(p->a, "recheck", both, SPEC).exit, 1);
}

static void a_changed_file_is_refused(void **state)
{
    place *p = *state;
    const lines whole = written(p, SPEC);
    uint32_t last = whole.n - 1;
    lines l = whole;
    l.n--;
    expect(p, &l, NULL, 1, "the list of its section has it, and the file does not");
    l = whole;
    l.at[l.n++] = whole.at[last];
    expect(p, &l, NULL, 1, "it is not what the list of its section has here");
    l = whole;
    l.at[2] = whole.at[last];
    l.at[last] = whole.at[2];
    expect(p, &l, NULL, 1, "it is not what the list of its section has here");
    l = whole;
    l.at[last] = without_proof(p, l.at[last]);
    expect(p, &l, NULL, 1, "there is no proof, and the grade is cert");
    /* and the list with it: nothing in the file is wrong, but it is not of the spec */
    l.at[last] = replaced(p, l.at[last], "\"grade\":\"cert\"", "\"grade\":\"z3\"", false);
    l.at[1] = replaced(p, l.at[1], "\"cert\"]", "\"z3\"]", true);
    expect(p, &l, NULL, 4, "1 proven obligation without one");
    expect(p, &l, SPEC, 1, "the proof is missing");
    l = whole;
    l.n--;
    l.at[1] = without_last_entry(p, l.at[1]);
    expect(p, &l, NULL, 0, "only the statements were checked");
    expect(p, &l, SPEC, 1, "an obligation of the spec is missing");
    static const char EXTRA[] =
        "{\"spec\":\"s\",\"obligation\":\"TP101-x\",\"grade\":\"cert\",\"nodes\":[[\"const\",1]],"
        "\"variables\":[],\"premises\":[],\"goal\":1,\"proof\":{\"by\":\"points\"}}";
    l = whole;
    l.at[l.n++] = tp_str_c(EXTRA);
    l.at[1] = replaced(p, l.at[1], "]]}", "],[\"s\",\"TP101-x\",\"cert\"]]}", true);
    expect(p, &l, NULL, 0, "only the statements were checked");
    expect(p, &l, SPEC, 1, "this is not an obligation of the spec");
    l = whole; /* a true statement in the place of another, under its name */
    const tp_str row = whole.at[last];
    const char *text = tp_cstr(p->a, row), *proof = strstr(text, "\"proof\":");
    assert_non_null(proof);
    const char *names = strstr(text, "\"variables\"");
    l.at[last] =
        tp_printf(p->a,
                  "%.*s\"variables\":[],\"premises\":[],\"goal\":1,\"nodes\":[[\"const\",1]],\"grade\":\"cert\","
                  "\"proof\":{\"by\":\"points\"}}",
                  (int)(names - text), text);
    expect(p, &l, NULL, 0, "only the statements were checked");
    expect(p, &l, SPEC, 1, "this is not what the spec asks for");
    expect(p, &whole, OTHER, 1, "it was written for another text of the spec");
    l = whole;
    l.at[1] = replaced(p, l.at[1], "\"TP101\",", "", false);
    expect(p, &l, SPEC, 1, "this is not an obligation of the spec");
    l = whole;
    l.at[1] = replaced(p, l.at[1], "\"TP101\",", "\"TP999\",", false);
    expect(p, &l, SPEC, 1, "it names a rule that does not exist in this version");
    l = whole;
    l.at[1] = replaced(p, l.at[1], "\"tool\":\"tileproof ", "\"tool\":\"tileproof 9", false);
    expect(p, &l, SPEC, 1, "it was written by another version");
    l = whole;
    l.at[0] = TP_S("{\"tileproof_certificates\":1}");
    expect(p, &l, NULL, 3, "write them again");
    l.n = 0;
    expect(p, &l, NULL, 3, "the text ends where a value is expected");
}

/* Lines that are not of the format, from any editor or forger. */
static void a_line_of_another_form_is_refused(void **state)
{
    place *p = *state;
    const lines whole = written(p, SPEC);
    static const struct {
        uint32_t line;
        const char *old, *by, *says;
    } FORMS[] = {
        {0, "{", "\xef\xbb\xbf{", "begins with a byte order mark"},
        {1, "{", "\xef\xbb\xbf{", "begins with a byte order mark"},
        {2, "{", "\xef\xbb\xbf{", "begins with a byte order mark"},
        {0, "2}", "2,\"by\":1}", "this is not a file of certificates"},
        {0, "2}", "2.0}", "this is not a file of certificates"},
        {2, "\"goal\":", "\"go\\u0061l\":1,\"goal\":", "key \"goal\" appears twice"},
        {2, "\"goal\":", "\"goal\":4294967296", "this should be a small number"},
        {2, "\"goal\":", "\"goal\":18446744073709551616", "does not fit 64 bits"},
        {2, "\"goal\":", "\"goal\":-", "this should be a small number"},
        {2, "[\"sym\",\"", "[\"sym\",\"a\\u0000", "this string has a NUL character"},
        {2, "[\"sym\",\"", "[\"sym\",\"a\\ud800", "surrogates in pairs"},
        {2, "[\"const\",", "[\"const\",1e0,", "this should be a list of 2"},
        {2, "\"proof\":", "\"p\":", "there is no place for \"p\" here"},
    };
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        lines l = whole;
        if (strstr(tp_cstr(p->a, l.at[FORMS[i].line]), FORMS[i].old)) {
            l.at[FORMS[i].line] = replaced(p, l.at[FORMS[i].line], FORMS[i].old, FORMS[i].by, false);
            expect(p, &l, NULL, 3, FORMS[i].says);
            expect(p, &l, SPEC, 3, FORMS[i].says);
        } else {
            fail_msg("line %u has no %s", FORMS[i].line, FORMS[i].old);
        }
    }
}

/* What a section names in place of all rules and of the spec's own chip is said. */
static void limits_of_a_section_are_said(void **state)
{
    place *p = *state;
    static const struct {
        const char *option, *value, *says;
    } LIMITS[] = {
        {"--ignore", "TP101,TP404", "all of them, without TP101, TP404\n"},
        {"--select", "TP008,TP101", "all of them, of TP008, TP101 only\n"},
        {"--target", "tpu-v4", "all of them, for tpu-v4 in place of the spec's chip\n"},
        {"--target", "tpu-v5e", "all of them\n"},
    };
    for (size_t i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        const char *file = path_in(p, "part.certs");
        assert_int_equal(RUN(p->a, "lint", SPEC, LIMITS[i].option, LIMITS[i].value, "--certificates", file).exit, 0);
        lines l = read_lines(p, file);
        expect(p, &l, SPEC, 0, LIMITS[i].says);
    }
    const char *both = path_in(p, "both.certs");
    assert_int_equal(RUN(p->a, "lint", SPEC, OTHER, "--ignore", "TP101", "--certificates", both).exit, 0);
    outcome o = RUN(p->a, "recheck", both, SPEC, OTHER);
    assert_true(contains(o.out, "all of them, add_2d, without TP101, matmul, without TP101\n"));
}

/* As many variables as fit into a line: refused, and soon. */
static void a_crowded_line_is_refused(void **state)
{
    place *p = *state;
    tp_buf b = {.arena = p->a};
    lines l = {.n = 3};
    l.at[0] = TP_S("{\"tileproof_certificates\":2}");
    l.at[1] = TP_S("{\"section\":\"s\",\"sha256\":\"\",\"target\":\"\",\"tool\":\"\",\"command\":\"lint\","
                   "\"rules\":[],\"dtypes\":[],\"obligations\":[[\"s\",\"o\",\"cert\"]]}");
    for (int symbols = 4000; symbols <= 40000; symbols *= 10) {
        b.n = 0;
        tp_buf_c(&b, "{\"spec\":\"s\",\"obligation\":\"o\",\"grade\":\"cert\",\"nodes\":[[\"const\",1]");
        for (int i = 0; i < symbols; i++)
            tp_buf_printf(&b, ",[\"sym\",\"x%d\"]", i);
        tp_buf_c(&b, "],\"variables\":[");
        for (int i = 0; i < symbols; i++)
            tp_buf_printf(&b, "%s{\"symbol\":%d,\"lo\":1,\"hi\":1}", i ? "," : "", i + 2);
        tp_buf_c(&b, "],\"premises\":[],\"goal\":1,\"proof\":{\"by\":\"points\"}}");
        l.at[2] = tp_buf_view(&b);
        expect(p, &l, NULL, symbols > 4096 ? 3 : 1, symbols > 4096 ? "too many symbols" : "too many variables");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(a_whole_file_is_accepted),          IN_PLACE(a_changed_file_is_refused),
        IN_PLACE(a_line_of_another_form_is_refused), IN_PLACE(limits_of_a_section_are_said),
        IN_PLACE(a_crowded_line_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
