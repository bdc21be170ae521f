/* A second solver, e.g. cvc5, as a process of its own: the text of smt2.c on
 * its standard input, one word on its standard output. It runs with a CPU
 * limit; whatever goes wrong is "unknown". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smt/internal.h"

enum { CPU_SECONDS = 10, WALL_SECONDS = 600 /* asleep: CPU is what counts */ };

bool tp_external_exists(tp_arena *a, const char *program)
{
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p;) {
        size_t n = strcspn(p, ":");
        if (access(tp_printf(a, "%.*s/%s", (int)n, p, program).p, X_OK) == 0)
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

static void run_child(const char *program, const int in[2], const int out[2])
{
    struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS + 2};
    int null = open("/dev/null", O_WRONLY);
    setrlimit(RLIMIT_CPU, &cpu);
    if (null >= 0)
        dup2(null, 2);
    if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0)
        _exit(127);
    close(in[0]), close(in[1]), close(out[0]), close(out[1]);
    execlp(program, program, "--lang=smt2", "-", (char *)NULL);
    _exit(127);
}

/* Feed the text and collect up to `room` bytes of the answer. */
static size_t converse(int to, int from, tp_str text, char *answer, size_t room)
{
    size_t offset = 0, got = 0;
    bool open = true;
    for (int waited = 0; waited < 10 * WALL_SECONDS && open && got < room;) {
        struct pollfd fds[2] = {{.fd = from, .events = POLLIN}, {.fd = to, .events = POLLOUT}};
        int ready = poll(fds, to >= 0 ? 2 : 1, 100);
        waited += ready == 0;
        if (ready < 0 && errno != EINTR)
            break;
        if (to >= 0 && fds[1].revents) {
            ssize_t n = write(to, text.p + offset, text.n - offset);
            offset += n > 0 ? (size_t)n : 0;
            if (offset == text.n || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                close(to);
                to = -1;
            }
        }
        if (fds[0].revents) {
            ssize_t n = read(from, answer + got, room - got);
            open = n > 0 || (n < 0 && errno == EINTR);
            got += n > 0 ? (size_t)n : 0;
        }
    }
    if (to >= 0)
        close(to);
    return got;
}

tp_answer tp_external_check(tp_prover *v, const tp_obligation *o, tp_str *reason)
{
    int in[2], out[2], status = 0;
    char answer[64] = "";
    tp_str text = tp_smt2_text(v, o, NULL);
    *reason = tp_printf(v->arena, "%s gave no answer within %d s of CPU", v->o.second, CPU_SECONDS);
    if (pipe2(in, O_CLOEXEC) != 0)
        return TP_UNDECIDED;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]);
        return TP_UNDECIDED;
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before); /* it may die while we write */
    pid_t pid = fork();
    if (pid == 0) {
        sigaction(SIGPIPE, &before, NULL);
        run_child(v->o.second, in, out);
    }
    close(in[0]), close(out[1]);
    if (pid > 0) {
        fcntl(in[1], F_SETFL, O_NONBLOCK);
        converse(in[1], out[0], text, answer, sizeof answer - 1);
        kill(pid, SIGKILL); /* done, or too late */
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    } else {
        close(in[1]);
    }
    close(out[0]);
    sigaction(SIGPIPE, &before, NULL);
    if (strcmp(answer, "unsat\n") == 0)
        return TP_UNSAT;
    return strcmp(answer, "sat\n") == 0 ? TP_SAT : TP_UNDECIDED;
}
