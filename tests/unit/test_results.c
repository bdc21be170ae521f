/* Whole results in the cache (lint --cache-key): they change no byte of a report, are those of one question, and nobody
 * else can make one. */
#define _GNU_SOURCE
#include <unistd.h>

#include "tests/unit/specs.h"

static unsigned cache_count(const outcome *o, const char *what)
{
    unsigned n[4] = {0};
    const char *at = memmem(o->err.p, o->err.n, "cache: ", 7);
    assert_non_null(at);
    assert_int_equal(sscanf(at, "cache: %u entries, %u used, %u refused, %u new", &n[0], &n[1], &n[2], &n[3]), 4);
    return n[strcmp(what, "used") == 0 ? 1 : strcmp(what, "refused") == 0 ? 2 : 3];
}

enum { KEY_DIGITS = 64 };

typedef struct sealed {
    place *p;
    const char *program, *cache, *key; /* program NULL: the one under test */
} sealed;

/* A lint with them: `more` ends with NULL. */
static outcome lint_sealed(const sealed *s, const char *const *more)
{
    const char *args[MAX_ARGS] = {"lint", "--config", "none", "--timings", "--cache", s->cache, "--cache-key", s->key};
    for (int i = 0; more[i]; i++)
        args[8 + i] = more[i];
    return run_program(s->p->a, s->program ? s->program : TILEPROOF, NULL, NULL, 6144, args);
}
#define LINT_SEALED(s, ...) lint_sealed(s, (const char *const[]){__VA_ARGS__, NULL})

static tp_str replaced(tp_arena *a, tp_str text, const char *old, const char *new)
{
    const char *at = memmem(text.p, text.n, old, strlen(old));
    assert_non_null(at);
    tp_buf b = {.arena = a};
    tp_buf_add(&b, text.p, (size_t)(at - text.p));
    tp_buf_c(&b, new);
    tp_buf_add(&b, at + strlen(old), text.n - (size_t)(at - text.p) - strlen(old));
    return tp_buf_view(&b);
}

/* Results in the file. */
static uint32_t notes(const sealed *s)
{
    tp_str text, why;
    uint32_t n = 0;
    assert_int_equal(tp_read_file(s->p->a, s->cache, 1 << 20, &text, &why), TP_OK);
    for (const char *at = text.p, *end = text.p + text.n; at < end;
         at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1)
        n += at[KEY_DIGITS] == ' ' && at[KEY_DIGITS + 1] == 'r';
    return n;
}

static sealed sealed_place(place *p)
{
    sealed s = {p, NULL, path_in(p, "cache"), path_in(p, "key")};
    outcome o = RUN(p->a, "keygen", s.key, "me");
    expect_exit(&o, 0);
    return s;
}

/* Of a cache with the results of two specs: each under the key of the other. */
static void swap_payloads(const sealed *s)
{
    tp_str text, why, keys[2], payloads[2];
    tp_buf b = {.arena = s->p->a};
    uint32_t n = 0;
    assert_int_equal(tp_read_file(s->p->a, s->cache, 1 << 20, &text, &why), TP_OK);
    const char *at = (const char *)memchr(text.p, '\n', text.n) + 1, *end = text.p + text.n;
    tp_buf_add(&b, text.p, (size_t)(at - text.p));
    for (const char *line = at, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        const char *blank = memchr(line, ' ', (size_t)(next - line));
        if (blank[1] != 'r')
            continue;
        assert_true(n < 2);
        keys[n] = (tp_str){line, (size_t)(blank - line)};
        payloads[n++] = (tp_str){blank, (size_t)(next - blank)};
    }
    assert_int_equal(n, 2);
    for (uint32_t i = 0; i < n; i++)
        tp_buf_printf(&b, "%.*s%.*s\n", TP_FMT(keys[i]), TP_FMT(payloads[1 - i]));
    put(s->p, "cache", b.p, b.n);
}

/* "full" on standard output, where it ends with a hint, the others in files. */
static const char *const FORMATS[] = {"full", "json", "sarif-full", "html", "github"};
enum { NFORMATS = sizeof FORMATS / sizeof *FORMATS };

typedef struct reports {
    outcome run;
    tp_str text[NFORMATS];
} reports;

/* Proven, violated, unknown. */
#define SPECS                                                                                                          \
    "examples/elementwise", "examples/matmul", "examples/reduction", "examples/moe", "examples/sequence",              \
        "tests/rules/padding-leak", "tests/rules/in-flight", "tests/rules/output-coverage"

/* A lint of them, sealed or not (NULL), and all its reports. */
static reports reports_of(place *p, const sealed *s)
{
    const char *args[MAX_ARGS] = {"lint", "--config", "none", SPECS}, **more = args + (s ? 3 : 0);
    size_t n = 0;
    while (args[n])
        n++;
    for (size_t i = 1; i < NFORMATS; i++) {
        args[n++] = "-o";
        args[n++] = tp_printf(p->a, "%s=%s", FORMATS[i], path_in(p, FORMATS[i])).p;
    }
    reports r = {s ? lint_sealed(s, more) : run_limited(p->a, NULL, 6144, more), {{NULL, 0}}};
    tp_str why;
    r.text[0] = r.run.out;
    for (size_t i = 1; i < NFORMATS; i++)
        assert_int_equal(tp_read_file(p->a, path_in(p, FORMATS[i]), 64 << 20, &r.text[i], &why), TP_OK);
    return r;
}

static void whole_results_change_no_byte(void **state)
{
    place *p = *state;
    sealed s = sealed_place(p);
    reports plain = reports_of(p, NULL), first = reports_of(p, &s);
    assert_true(cache_count(&first.run, "new") > 50);
    assert_int_equal(plain.run.exit, first.run.exit);
    for (size_t i = 0; i < NFORMATS; i++) {
        outcome second = LINT_SEALED(&s, "--format", FORMATS[i], SPECS);
        assert_true(plain.text[i].n && tp_str_eq(plain.text[i], first.text[i]));
        assert_true(tp_str_eq(plain.text[i], second.out));
        assert_int_equal(plain.run.exit, second.exit);
        assert_true(cache_count(&second, "used") > 50);
        assert_int_equal(cache_count(&second, "refused"), 0);
        assert_int_equal(cache_count(&second, "new"), 0);
    }
}

/* Whatever decides a result is asked for anew when it changes. */
static void whole_results_are_of_one_question(void **state)
{
    place *p = *state;
    sealed s = sealed_place(p);
    const char *spec = path_in(p, "a.tile.json");
    put_spec(p, "a.tile.json", "", "");
    outcome o = LINT_SEALED(&s, spec);
    assert_int_equal(notes(&s), 1);
    o = LINT_SEALED(&s, spec);
    assert_int_equal(cache_count(&o, "used"), 1);
    assert_int_equal(cache_count(&o, "new"), 0);
    o = LINT_SEALED(&s, "--select", "TP101", spec);
    assert_int_equal(notes(&s), 2);
    assert_false(contains(o.out, "TP401"));
    o = LINT_SEALED(&s, "--target", "none", spec);
    assert_int_equal(notes(&s), 3);
    o = LINT_SEALED(&s, "--timeout", "9", spec);
    assert_int_equal(notes(&s), 4);
    put_spec(p, "a.tile.json", " + 1", "");
    o = LINT_SEALED(&s, spec);
    expect_exit(&o, 1);
    assert_int_equal(notes(&s), 5);
    o = LINT_SEALED(&s, spec); /* a finding, from the cache */
    expect_exit(&o, 1);
    assert_int_equal(cache_count(&o, "new"), 0);
    put_spec(p, "a.tile.json", "", "");
    o = LINT_SEALED(&s, spec);
    expect_exit(&o, 0);
    assert_int_equal(cache_count(&o, "used"), 1);
    o = LINT_SEALED(&s, "--certificates", path_in(p, "proofs"), spec); /* more than a result holds */
    assert_true(cache_count(&o, "refused") == 0 && notes(&s) == 5);
    tp_str proofs, why;
    assert_int_equal(tp_read_file(p->a, path_in(p, "proofs"), 1 << 20, &proofs, &why), TP_OK);

    tp_str program; /* another program: its build ID differs */
    const char mark[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
    assert_int_equal(tp_read_file(p->a, TILEPROOF, 1 << 30, &program, &why), TP_OK);
    char *id = tp_writable(memmem(program.p, program.n, mark, sizeof mark));
    assert_non_null(id);
    id[sizeof mark] ^= 1;
    put(p, "other", program.p, program.n);
    s.program = path_in(p, "other");
    assert_int_equal(chmod(s.program, 0700), 0);
    o = LINT_SEALED(&s, spec);
    expect_exit(&o, 0);
    assert_int_equal(notes(&s), 6);
}

/* What is undecided is kept like a verdict; what nobody sealed, or somebody else, is not believed. */
static void whole_results_cannot_be_forged(void **state)
{
    place *p = *state;
    sealed s = sealed_place(p);
    const char *spec = path_in(p, "a.tile.json"),
               *open = "tests/rules/empty-domain/undecided_too_many_for_the_values.tile.json";
    tp_str text, why;
    outcome o = LINT_SEALED(&s, open);
    assert_true(contains(o.out, "unknown"));
    assert_int_equal(notes(&s), 1);
    assert_true(tp_str_eq(o.out, LINT_SEALED(&s, open).out));
    unlink(s.cache);

    put_spec(p, "a.tile.json", " + 1", "");
    outcome honest = LINT_SEALED(&s, spec);
    expect_exit(&honest, 1);
    assert_int_equal(tp_read_file(p->a, s.cache, 1 << 20, &text, &why), TP_OK);
    tp_str forged = replaced(p->a, text, "[\"TP101\",1,", "[\"TP101\",0,"); /* violated, now proven */
    put(p, "cache", forged.p, forged.n);
    o = LINT_SEALED(&s, spec);
    expect_exit(&o, 1);
    assert_int_equal(cache_count(&o, "refused"), 1);
    assert_true(tp_str_eq(o.out, honest.out));

    sealed other = {p, NULL, s.cache, path_in(p, "key2")};
    o = RUN(p->a, "keygen", other.key, "you");
    put(p, "cache", text.p, text.n);
    o = LINT_SEALED(&other, spec);
    expect_exit(&o, 1);
    assert_int_equal(cache_count(&o, "refused"), 1);
    put_spec(p, "b.tile.json", "", ""); /* the good one's result under the key of the bad one */
    LINT_SEALED(&s, path_in(p, "b.tile.json"));
    swap_payloads(&s);
    o = LINT_SEALED(&s, spec);
    expect_exit(&o, 1);
    o = RUN(p->a, "lint", "--cache-key", s.key, spec);
    expect_exit(&o, 2);
    assert_true(contains(o.err, "--cache-key needs --cache FILE"));
    assert_int_equal(chmod(s.key, 0644), 0);
    o = LINT_SEALED(&s, spec);
    expect_exit(&o, 2);
    assert_true(contains(o.err, "--cache-key: others may read or write the key"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(whole_results_change_no_byte),
        IN_PLACE(whole_results_are_of_one_question),
        IN_PLACE(whole_results_cannot_be_forged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
