/* A process per document: it checks one text and answers what is asked about
 * it. A text that changes ends it, whatever it was doing; what it does to
 * itself, it does to nobody else. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lsp/internal.h"

typedef struct work {
    tp_session *s;
    tp_wire *wire;
} work;

static void serve(void *arg)
{
    work *w = arg;
    json *request;
    w->s->solver = tp_solver_new(w->s->arena);
    bool open = tp_wire_write(w->wire, tp_lsp_diagnostics(w->s->uri, &w->s->version, tp_session_check(w->s)));
    while (open && tp_wire_read(w->wire, &request) == TP_WIRE_OK) {
        open = tp_wire_write(w->wire, tp_lsp_answer(tp_lsp_member(request, "id"), tp_session_answer(w->s, request)));
        json_object_put(request);
    }
}

bool tp_child_start(tp_child *c, tp_session *s)
{
    int ends[2];
    *c = (tp_child){.pid = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0); /* solvers that it starts end with it */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        tp_wire wire = {.in = ends[1], .out = ends[1]};
        work w = {s, &wire};
        if (getppid() == parent)
            tp_try(s->arena, serve, &w);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    setpgid(pid, pid); /* before either of us goes on */
    *c = (tp_child){.pid = pid, .wire = {.in = ends[0], .out = ends[0]}};
    return true;
}

void tp_child_end(tp_child *c)
{
    if (c->pid <= 0)
        return;
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(c->wire.in);
    tp_wire_free(&c->wire);
    *c = (tp_child){.pid = -1};
}
