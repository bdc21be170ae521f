/* Specs that were written to do harm: every report of each of them, within
 * bounds of time, memory and output. tests/hostile/ holds the small ones: of what is done to each of them every third
 * thing, TEST_EVERY=1: all (make attention). */
#define _GNU_SOURCE
#include <glob.h>
#include <sys/resource.h>

#include "tests/unit/files.h"

enum { CPU_LIMIT = 10, MEMORY_MIB = LIMIT_MEMORY ? 2048 : 0, MOST_OUTPUT = 8 << 20 };

static double cpu_of_children(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 + (double)u.ru_stime.tv_sec;
}

/* An exit code of the table that is no internal error, but for memory that the limit refuses; and not much of anything.
 */
static outcome bounded(place *p, const char *stdin_path, const char *const *args)
{
    double before = cpu_of_children();
    outcome o = run_limited(p->a, stdin_path, MEMORY_MIB, args);
    double cpu = cpu_of_children() - before;
    const char *file = "";
    for (int i = 0; args[i]; i++)
        file = strstr(args[i], ".tile.json") ? args[i] : file;
    bool refused = o.exit == 5 && contains(o.err, "the system gave no more memory");
    if (o.exit < 0 || (o.exit > 4 && !refused))
        fail_msg("%s %s: exit %d: %.300s", args[0], file, o.exit, tp_cstr(p->a, o.err));
    if (cpu > CPU_LIMIT * SLOWDOWN)
        fail_msg("%s %s: %.1f CPU seconds", args[0], file, cpu);
    if (o.out.n + o.err.n > MOST_OUTPUT)
        fail_msg("%s %s: %zu bytes of output", args[0], file, o.out.n + o.err.n);
    return o;
}

/* All formats in one run, and the pictures for a terminal. */
static void report(place *p, const char *spec)
{
    static const char *const FORMATS[] = {"full",  "concise",    "json",   "jsonl",  "html", "markdown",
                                          "sarif", "sarif-full", "github", "gitlab", "junit"};
    enum { N = sizeof FORMATS / sizeof *FORMATS };
    const char *args[4 + 2 * N + 1] = {"lint", "--plot", "unicode", spec};
    for (int i = 0; i < N; i++) {
        args[4 + 2 * i] = "-o";
        args[5 + 2 * i] = tp_printf(p->a, "%s=%s/%s", FORMATS[i], p->dir, FORMATS[i]).p;
    }
    outcome o = bounded(p, NULL, args);
    for (int i = 0; i < N && o.exit != 2; i++) {
        struct stat st;
        if (stat(path_in(p, FORMATS[i]), &st) != 0 || st.st_size > MOST_OUTPUT)
            fail_msg("%s: the report %s has %lld bytes", spec, FORMATS[i], (long long)st.st_size);
    }
}

static tp_str framed(tp_arena *a, struct json_object *message)
{
    const char *text = json_object_to_json_string(message);
    tp_str s = tp_printf(a, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
    json_object_put(message);
    return s;
}

/* Opened in an editor that asks for everything. */
static void edit(place *p, const char *spec)
{
    struct json_object *open = json_tokener_parse(
        "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":\"x\","
        "\"version\":1}}}");
    tp_buf b = {.arena = p->a};
    tp_str text, why;
    assert_int_equal(tp_read_file(p->a, spec, 64 << 20, &text, &why), TP_OK);
    json_object_object_add(member(member(open, "params"), "textDocument"), "text",
                           json_object_new_string_len(text.p, (int)text.n));
    tp_buf_str(&b, framed(p->a, open));
    static const char *const ASKED[] = {"hover", "codeAction", "formatting"};
    for (int i = 0; i < 3; i++) {
        tp_str ask = tp_printf(p->a,
                               "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"textDocument/%s\",\"params\":{"
                               "\"textDocument\":{\"uri\":\"x\"},\"position\":{\"line\":0,\"character\":%zu},"
                               "\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":9,\"character\":0}"
                               "}}}",
                               i, ASKED[i], text.n / 2);
        tp_buf_str(&b, framed(p->a, json_tokener_parse(ask.p)));
    }
    const char *in = put(p, "messages", b.p, b.n), *args[] = {"lsp", NULL};
    bounded(p, in, args);
}

/* An odd number of things: the next spec gets the others. */
static void attack(place *p, const char *spec, sample *some)
{
    const char *const COMMANDS[][16] = {
        {"emit", "pallas", spec},
        {"emit", "spec", spec},
        {"emit", "dot", spec},
        {"diff", spec, spec},
        {"verify", "--cases", "1", spec},
        {"mutate", "--timeout", "1", "--defects", "2", "--wider", "2", spec},
        {"run", "--unchecked", "--timeout", "1", "--fill", "normal", "--size", "N=2", "--trace-text", "--trace",
         path_in(p, "trace"), spec},
        {"cost", "--timeout", "1", spec},
        {"assess", "--timeout", "1", spec},
        {"sweep", "--timeout", "1", "--over", "N=1:5,target=v4|v6e", spec},
    };
    report(p, spec);
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (is_taken(some))
            bounded(p, NULL, COMMANDS[i]);
    if (is_taken(some))
        edit(p, spec);
}

static void small_specs_are_bounded(void **state)
{
    glob_t g;
    sample some = sample_of(3);
    assert_int_equal(glob("tests/hostile/*.tile.json", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        attack(*state, g.gl_pathv[i], &some);
    print_message("hostile: %zu specs through every report\n", g.gl_pathc);
    print_sample("commands on them", &some);
    globfree(&g);
}

/* A number that is no number of 64 bits is not said to be another one. */
static void numbers_do_not_wrap(void **state)
{
    place *p = *state;
    outcome lint = bounded(p, NULL, (const char *[]){"lint", "tests/hostile/huge_stride.tile.json", NULL}),
            verify = bounded(p, NULL, (const char *[]){"verify", "tests/hostile/wild_stride.tile.json", NULL});
    if (!contains(lint.out, "elements from -5 to beyond 2^63; the dimension has 64"))
        fail_msg("%s", tp_cstr(p->a, lint.out));
    if (!contains(verify.out, "elements from 0 to one beyond 2^63 of dimension 0 of `x`, which has 64"))
        fail_msg("%s", tp_cstr(p->a, verify.out));
}

/* A block of fewer than no elements has no traffic that another order of the axes could save. */
static void no_advice_on_negative_blocks(void **state)
{
    place *p = *state;
    outcome lint = bounded(p, NULL, (const char *[]){"lint", "tests/hostile/negative_block.tile.json", NULL});
    if (!contains(lint.out, "TP008") || contains(lint.out, "TP603"))
        fail_msg("%s", tp_cstr(p->a, lint.out));
}

/* A proof of equality that takes more and more memory is not shown; all else that is asked of the spec is. */
static void proofs_leave_memory(void **state)
{
    outcome o = bounded(*state, NULL, (const char *[]){"verify", "tests/hostile/long_recurrence.tile.jsonc", NULL});
    if (!contains(o.out, "not shown: the proof takes more than 1024 MiB") || !contains(o.out, "0 unknown, 1 tested"))
        fail_msg("%s", tp_cstr(((place *)*state)->a, o.out));
}

/* As many operands as a spec may have, each a picture and a finding, all in one long line. */
static void large_reports_are_bounded(void **state)
{
    enum { OPERANDS = 64, BLANKS = 1 << 20 };
    place *p = *state;
    tp_buf b = {.arena = p->a};
    tp_buf_c(&b, "{\"tileproof\":1,\"name\":\"many\",\"target\":\"none\",\"grid\":[{\"axis\":\"i\",\"steps\":40},"
                 "{\"axis\":\"j\",\"steps\":40}],\"outputs\":[");
    for (int i = 0; i < OPERANDS; i++)
        tp_buf_printf(&b,
                      "%s{\"name\":\"o%d\",\"dtype\":\"float32\",\"shape\":[40,40],\"block_shape\":[1,1],"
                      "\"index_map\":[\"i\",\"j + 1\"]}",
                      i ? "," : "", i);
    tp_buf_printf(&b, "],%*s\"description\":\"\"}", BLANKS, "");
    report(p, put(p, "many.tile.json", b.p, b.n));
}

int main(void)
{
    setenv("ASAN_OPTIONS", "exitcode=99", 0); /* what a sanitizer finds is not taken for an exit code of ours */
    setenv("UBSAN_OPTIONS", "exitcode=99", 0);
    const struct CMUnitTest tests[] = {IN_PLACE(small_specs_are_bounded), IN_PLACE(numbers_do_not_wrap),
                                       IN_PLACE(no_advice_on_negative_blocks), IN_PLACE(proofs_leave_memory),
                                       IN_PLACE(large_reports_are_bounded)};
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
