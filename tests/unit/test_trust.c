/* What the program trusts and what it leaves alone: files of others, their
 * names, their settings, the modules beside them. */
#define _GNU_SOURCE
#include "tests/unit/specs.h"

/* ---- what a run leaves as it is ---- */

typedef struct attempt {
    const char *args[8]; /* in the folder */
    const char *says;
} attempt;

/* Each is a usage error that says why and changes no file. */
static void expect_refused(place *p, const char *victim, const attempt *row)
{
    tp_str before, after, why;
    assert_int_equal(tp_read_file(p->a, path_in(p, victim), 1 << 20, &before, &why), TP_OK);
    outcome o = run_in(p->a, p->dir, NULL, 0, row->args);
    if (o.exit != 2 || !contains(o.err, row->says))
        fail_msg("%s %s %s: exit %d: %.*s", row->args[0], row->args[1], row->args[2], o.exit, TP_FMT(o.err));
    assert_int_equal(tp_read_file(p->a, path_in(p, victim), 1 << 20, &after, &why), TP_OK);
    if (!tp_str_eq(before, after))
        fail_msg("%s %s %s: %s was changed", row->args[0], row->args[1], row->args[2], victim);
}

static void nothing_that_is_read_is_overwritten(void **state)
{
    place *p = *state;
    static const char SPEC[] = "k.tile.json";
    static const attempt SPECS[] = {
        {{"lint", "-o", "json=k.tile.json", SPEC}, "--output: `k.tile.json` is read by this run"},
        {{"lint", "-o", "json=link", SPEC}, "is read by this run"},
        {{"lint", "--certificates", "./k.tile.json", SPEC}, "--certificates: "},
        {{"lint", "--cache", "k.tile.json", "b.tile.json"}, "`k.tile.json` is not a cache and is left unchanged"},
        {{"lint", "--cache", "k.tile.json", SPEC}, "is read by this run"},
        {{"lint", "--cache", "folder", SPEC}, "`folder` cannot be read: it is a folder"},
        {{"lint", "-o", "json=new", "-o", "junit=new", SPEC}, "would be written twice"},
        {{"verify", "--receipt", "k.tile.json", SPEC}, "--receipt: "},
        {{"verify", "--playback", "json=k.tile.json", SPEC}, "--playback: "},
        {{"baseline", "write", "k.tile.json", "b.tile.json"}, "`k.tile.json` is not a baseline and is left unchanged"},
        {{"run", "-i", "x=x.npy", "-o", "o=x.npy", SPEC}, "--output: `x.npy` is read by this run"},
        {{"run", "-i", "x=x.npy", "-o", "o=k.tile.json", SPEC}, "is read by this run"},
    };
    put_spec(p, SPEC, "", "");
    put_spec(p, "b.tile.json", "", "");
    text(p, "x.npy", "no array");
    assert_int_equal(symlink("k.tile.json", path_in(p, "link")), 0);
    assert_int_equal(mkdir(path_in(p, "folder"), 0777), 0);
    for (size_t i = 0; i < sizeof SPECS / sizeof *SPECS; i++)
        expect_refused(p, contains(tp_str_c(SPECS[i].says), "x.npy") ? "x.npy" : SPEC, &SPECS[i]);
    assert_int_not_equal(access(path_in(p, "new"), F_OK), 0);
    outcome o = RUN_IN(p->a, p->dir, "baseline", "write", "base.json", SPEC);
    expect_exit(&o, 0);
    o = RUN_IN(p->a, p->dir, "baseline", "write", "base.json", SPEC); /* again */
    expect_exit(&o, 0);
    static const attempt BASELINE = {{"lint", "--baseline", "base.json", "-o", "json=base.json", SPEC}, "is read by"};
    expect_refused(p, "base.json", &BASELINE);
}

/* Settings name files below their folder, and hold in their repository. */
static void settings_reach_no_other_place(void **state)
{
    place *p = *state;
    static const char *const OUTSIDE[] = {"/tmp/x", "../victim", "a/../../victim", "..", "link/victim", "to_victim"};
    assert_true(mkdir(path_in(p, "repo"), 0777) == 0 && mkdir(path_in(p, "repo/.git"), 0777) == 0);
    assert_true(mkdir(path_in(p, "repo/deep"), 0777) == 0);
    assert_int_equal(symlink("..", path_in(p, "repo/link")), 0);
    assert_int_equal(symlink("../victim", path_in(p, "repo/to_victim")), 0);
    put_spec(p, "repo/k.tile.json", "", "");
    put_spec(p, "repo/deep/k.tile.json", "", "");
    put_spec(p, "k.tile.json", "", "");
    text(p, "victim", "");
    for (size_t i = 0; i < sizeof OUTSIDE / sizeof *OUTSIDE; i++) {
        text(p, "repo/.tileproof.json", tp_printf(p->a, "{\"cache\": \"%s\"}", OUTSIDE[i]).p);
        attempt row = {{"lint", "-q", "repo/k.tile.json"}, "repo/.tileproof.json:1:11: \"cache\" "};
        expect_refused(p, "victim", &row);
    }
    text(p, "repo/.tileproof.json", "{\"cache\": \"deep/cache\"}");
    outcome o = RUN_IN(p->a, p->dir, "lint", "-q", "repo/deep/k.tile.json"); /* found above, in the repository */
    expect_exit(&o, 0);
    assert_int_equal(access(path_in(p, "repo/deep/cache"), F_OK), 0);
    text(p, ".tileproof.json", "{\"formt\": 1}"); /* above, and in no repository */
    assert_int_equal(mkdir(path_in(p, "below"), 0777), 0);
    put_spec(p, "below/k.tile.json", "", "");
    o = RUN_IN(p->a, path_in(p, "below"), "lint", "-q", "k.tile.json");
    expect_exit(&o, 0);
    assert_true(contains(o.err, "/.tileproof.json is not used, since no repository"));
    o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json"); /* beside the spec */
    expect_exit(&o, 2);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(path_in(p, ".tileproof.json"), 12345, 12345), 0);
    o = RUN_IN(p->a, p->dir, "lint", "-q", "k.tile.json");
    expect_exit(&o, 2);
    assert_true(contains(o.err, "belongs to another user"));
    text(p, ".tileproof.json", "{}");
    o = RUN_IN(p->a, p->dir, "lint", "-q", "--config", ".tileproof.json", "k.tile.json");
    expect_exit(&o, 0);
}

/* Where every process has the same number, as in containers, what one left behind is in nobody's way. */
static void leftovers_block_nothing(void **state)
{
    place *p = *state;
    tp_buf b = {.arena = p->a};
    put_spec(p, "k.tile.json", "", "");
    tp_buf_printf(&b,
                  "cd %s; for n in $(seq $$ $(($$ + 300))); do : >r.json.tmp-$n; done; exec %s lint -q -o json=r.json "
                  "k.tile.json",
                  p->dir, realpath(TILEPROOF, NULL));
    assert_int_equal(system(tp_buf_view(&b).p), 0);
}

/* No line of any output begins with what a name holds, and nothing steers a terminal. */
static void expect_clean(const outcome *o, const char *command)
{
    tp_str both[] = {o->out, o->err};
    for (int i = 0; i < 2; i++) {
        bool begins = true;
        for (size_t k = 0; k < both[i].n; k++) {
            tp_str rest = {both[i].p + k, both[i].n - k};
            if (rest.p[0] == '\x1b' || rest.p[0] == '\r' ||
                (begins && rest.n > 2 && (memcmp(rest.p, "::", 2) == 0 || memcmp(rest.p, "##[", 3) == 0)))
                fail_msg("%s: exit %d: %.*s", command, o->exit, TP_FMT(both[i]));
            begins = rest.p[0] == '\n' || (begins && rest.p[0] == ' ');
        }
    }
}

static void names_stay_in_their_line(void **state)
{
    place *p = *state;
    static const char *const NAMES[] = {"a\n::error::x.tile.json", "::error::x.tile.json", "a\x1b[31m\r.tile.json"};
    static const char *const COMMANDS[][6] = {
        {"lint", "--color=never"},
        {"lint", "--format=concise"},
        {"lint", "-q", "--timings", "--statistics"},
        {"lint", "--plot=ascii"},
        {"lint", "--diff"},
        {"lint", "--fix"},
        {"lint", "-o", "\n::error::"},
        {"verify", "--cases=1"},
        {"fmt", "--check"},
        {"run", "--unchecked"},
        {"run", "-i", "x=\n::error::"},
        {"recheck"},
        {"emit", "pallas"},
        {"mutate", "--defects=1", "--cases=1", "--wider=0"},
        {"baseline", "write", "\n::error::y"},
        {"baseline", "check", "\n::error::z"},
        {"lint", "--color", "\x1b[31m"},
        {"lint", "--target", "\n::error::"},
        {"lint", "--\n::error::"},
        {"kernels"},
    };
    for (size_t n = 0; n < sizeof NAMES / sizeof *NAMES; n++)
        for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
            const char *args[8] = {0};
            put_spec(p, NAMES[n], " + 1", ", \"description\": \"::error::\"");
            int k = 0;
            for (; k < 6 && COMMANDS[i][k]; k++)
                args[k] = COMMANDS[i][k];
            args[k] = NAMES[n];
            outcome o = run_in(p->a, p->dir, NULL, 0, args);
            expect_clean(&o, args[0]);
            unlink(path_in(p, NAMES[n]));
        }
    static const char *const SETTINGS[] = {"{\"color\": \"\\u001b[31m\"}", "{\"target\": \"\\n::error::\"}",
                                           "{\"\\n::error::\": 1}", "{\"cache\": \"\\n::error::/x\"}"};
    put_spec(p, "k.tile.json", "", "");
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        text(p, ".tileproof.json", SETTINGS[i]);
        outcome o = RUN_IN(p->a, p->dir, "lint", "k.tile.json");
        expect_clean(&o, SETTINGS[i]);
        o = RUN_IN(p->a, p->dir, "lint", "--show-settings", "k.tile.json");
        expect_clean(&o, SETTINGS[i]);
    }
}

/* Specs of others may lie beside modules of others. */
static void modules_of_the_folder_are_not_executed(void **state)
{
    place *p = *state;
    static const char HOSTILE[] = "print('EXECUTED', flush=True)\ndef main(a): return 0\n";
    static const char *const COMMANDS[] = {"judge", "trace", "import-jax"};
    assert_int_equal(mkdir(path_in(p, "tileproof"), 0777), 0);
    put(p, "tileproof/__init__.py", HOSTILE, sizeof HOSTILE - 1);
    put(p, "tileproof/command.py", HOSTILE, sizeof HOSTILE - 1);
    for (int i = 0; i < 3; i++) {
        outcome o = RUN_IN(p->a, p->dir, COMMANDS[i], "k.tile.json");
        assert_true(o.exit != 0 && !contains(o.out, "EXECUTED"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(nothing_that_is_read_is_overwritten),
        IN_PLACE(settings_reach_no_other_place),
        IN_PLACE(leftovers_block_nothing),
        IN_PLACE(modules_of_the_folder_are_not_executed),
        IN_PLACE(names_stay_in_their_line),
    };
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
