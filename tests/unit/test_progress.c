/* What a terminal shows of long work, and what is left when Ctrl-C ends it. */
#define _GNU_SOURCE
#include <pty.h>
#include <signal.h>

#include "tests/unit/specs.h"

static void two_specs(place *p)
{
    put_spec(p, "a.tile.json", "", "");
    text(p, "b.tile.json", ENDLESS);
}

typedef struct running {
    pid_t pid;
    int out, err;
} running;

/* The program on the two specs, its output and errors in pipes. */
static running start(place *p, const char *const *args)
{
    int out[2], err[2];
    char self[4096];
    assert_non_null(realpath(TILEPROOF, self));
    assert_int_equal(pipe(out) | pipe(err), 0);
    char *argv[16] = {self};
    for (int i = 0; args[i]; i++)
        argv[i + 1] = tp_writable(args[i]);
    running r = {fork(), out[0], err[0]};
    if (r.pid == 0) {
        dup2(out[1], 1);
        dup2(err[1], 2);
        signal(SIGINT, SIG_DFL); /* a shell's background jobs ignore it */
        alarm(120);
        if (chdir(p->dir) == 0)
            execv(self, argv);
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    return r;
}

/* What can be read, until `stop` is in it or the other side closes. */
static tp_str read_until(place *p, int fd, const char *stop)
{
    tp_buf b = {.arena = p->a};
    char piece[4096];
    for (ssize_t n; (!stop || !b.n || !contains(tp_buf_view(&b), stop)) && (n = read(fd, piece, sizeof piece)) > 0;)
        tp_buf_add(&b, piece, (size_t)n);
    return tp_buf_view(&b);
}

static int end_of(const running *r)
{
    int status = 0;
    waitpid(r->pid, &status, 0);
    close(r->out);
    close(r->err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void what_is_finished_is_printed(void **state)
{
    place *p = *state;
    two_specs(p);
    running r = start(p, (const char *const[]){"verify", "-j1", "--timeout", "100", ".", NULL});
    assert_true(contains(read_until(p, r.out, "a.tile.json: "), "a.tile.json: "));
    kill(r.pid, SIGINT);
    tp_str rest = read_until(p, r.out, NULL), err = read_until(p, r.err, NULL);
    assert_true(contains(err, "tileproof: interrupted: the report is partial, of 1 of 2 specs\n"));
    assert_false(contains(rest, "endless"));
    assert_int_equal(end_of(&r), 130);
}

static void reports_are_whole_and_say_that_they_are_partial(void **state)
{
    place *p = *state;
    two_specs(p);
    running r = start(p, (const char *const[]){"verify", "-j1", "--timeout", "100", "--format", "json", "-o",
                                               "json=out.json", ".", NULL});
    sleep(2); /* into the second spec, or the first one where the machine is busy */
    kill(r.pid, SIGINT);
    tp_str out = read_until(p, r.out, NULL);
    read_until(p, r.err, NULL);
    assert_int_equal(end_of(&r), 130);
    struct json_object *report = json_tokener_parse(tp_cstr(p->a, out)), *member;
    assert_non_null(report);
    assert_true(json_object_object_get_ex(report, "interrupted", &member));
    assert_int_equal(json_object_get_int(member), 2);
    assert_true(json_object_object_get_ex(report, "specs", &member));
    assert_true(json_object_array_length(member) <= 1);
    json_object_put(report);
    assert_int_equal(access(path_in(p, "out.json"), F_OK), -1); /* a file is that of a whole run */
}

/* What a terminal of its own gets while the two specs are checked: until `stop` is there, or for `seconds`. */
static tp_str on_a_terminal(place *p, const char *more, const char *stop, unsigned seconds)
{
    int terminal;
    char self[4096];
    assert_non_null(realpath(TILEPROOF, self));
    fflush(NULL);
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0) {
        signal(SIGINT, SIG_DFL); /* a shell's background jobs ignore it */
        alarm(120);
        if (chdir(p->dir) == 0)
            execl(self, self, "verify", "-j1", "--timeout", "100", "--color", "never", ".", more, (char *)NULL);
        _exit(127);
    }
    tp_str shown = stop ? read_until(p, terminal, stop) : TP_S("");
    sleep(seconds);
    kill(pid, SIGINT);
    tp_str rest = read_until(p, terminal, NULL);
    waitpid(pid, NULL, 0);
    close(terminal);
    return tp_printf(p->a, "%.*s%.*s", TP_FMT(shown), TP_FMT(rest));
}

static void a_terminal_sees_how_far_it_is(void **state)
{
    place *p = *state;
    two_specs(p);
    tp_str shown = on_a_terminal(p, NULL, " s: ./b.tile.json", 0),
           quiet = on_a_terminal(p, "--no-progress", "a.tile.json: ", 2);
    assert_true(contains(shown, "1 of 2 specs, ") && contains(shown, " s: ./b.tile.json"));
    assert_false(contains(quiet, " of 2 specs, "));
    assert_true(contains(quiet, "of 1 of 2 specs"));
    outcome o = RUN_IN(p->a, p->dir, "verify", "-j1", "--timeout", "2", ".");
    assert_false(contains(o.err, " of 2 specs, "));
}

/* A spec that is mended while --watch waits is checked again; Ctrl-C ends it. */
static void a_changed_spec_is_checked_again(void **state)
{
    place *p = *state;
    put_spec(p, "k.tile.json", " + 1", "");
    running r = start(p, (const char *const[]){"lint", "-q", "--watch", "k.tile.json", NULL});
    assert_true(contains(read_until(p, r.err, "Ctrl-C ends\n"), "exit code 1"));
    assert_true(contains(read_until(p, r.out, "k.tile.json: 1 violated"), "error[TP101]"));
    put_spec(p, "k.tile.json", "", "");
    assert_true(contains(read_until(p, r.err, "Ctrl-C ends\n"), "exit code 0"));
    assert_true(contains(read_until(p, r.out, "k.tile.json: 0 violated"), "0 violated"));
    kill(r.pid, SIGINT);
    int status = 0;
    waitpid(r.pid, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    close(r.out);
    close(r.err);
    outcome o = RUN(p->a, "lint", "--watch", "-");
    assert_true(o.exit == 2 && contains(o.err, "standard input"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(what_is_finished_is_printed), IN_PLACE(reports_are_whole_and_say_that_they_are_partial),
        IN_PLACE(a_terminal_sees_how_far_it_is), IN_PLACE(a_changed_spec_is_checked_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
