/* Who asks Z3: a process that is forked while this one is small, and has nothing but Z3's context. For each question it
 * forks a child with limits, since a hard query can ignore rlimit, take all memory, or crash. Z3 never runs in this
 * process, whose memory no question copies. */
#define _GNU_SOURCE /* wait4, syscall */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/budget.h"
#include "smt/internal.h"

/* What a query costs the spec, in units: the child, and a step of Z3's own count. */
enum { CPU_SECONDS = 10, ASLEEP = 600 /* seconds */, UNITS_OF_CHILD = TP_UNITS_PER_SECOND / 100, UNITS_OF_STEP = 64 };
/* MiB that Z3 may take, and that the child may map beside for its own terms. */
enum { Z3_MIB = 512, LEAST_Z3_MIB = 32, BESIDE_MIB = 512 };

/* What came of a question; an answer and a model follow where the child has `told` them. */
typedef struct outcome {
    bool asked; /* else no child could be started */
    bool told;
    int32_t status; /* of the child, as wait() has it */
    double seconds; /* of CPU that it took */
} outcome;

/* A call moved `k` more bytes, or was interrupted. False: the other end is closed, or there is an error. */
static bool moved(ssize_t k, size_t *done)
{
    *done += k > 0 ? (size_t)k : 0;
    return k > 0 || (k < 0 && errno == EINTR);
}

static bool send_all(int fd, const void *from, size_t n)
{
    for (size_t done = 0; done < n;)
        if (!moved(send(fd, (const char *)from + done, n - done, MSG_NOSIGNAL), &done))
            return false;
    return true;
}

static bool read_all(int fd, void *to, size_t n)
{
    for (size_t done = 0; done < n;)
        if (!moved(read(fd, (char *)to + done, n - done), &done))
            return false;
    return true;
}

/* An answer, and its model of n values. */
static bool send_reply(int fd, const tp_reply *r, const int64_t *model, uint32_t n)
{
    return send_all(fd, r, sizeof *r) && send_all(fd, model, n * sizeof *model);
}

static bool read_reply(int fd, tp_reply *r, int64_t *model, uint32_t n)
{
    return read_all(fd, r, sizeof *r) && read_all(fd, model, n * sizeof *model);
}

/* ---- in the child of a question ---- */

/* The limit of the system is of whole seconds: a timer stands before it. */
static void limit_cpu(double seconds)
{
    struct timeval at = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)((seconds - floor(seconds)) * 1e6)};
    rlim_t whole = (rlim_t)ceil(seconds) + 1;
    setrlimit(RLIMIT_CPU, &(struct rlimit){whole, whole + 2});
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = at}, NULL);
}

/* Z3 ends a query that takes more than its share with an answer; behind that
 * stands the system. */
static void limit_memory(uint32_t mib)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    tp_z3_limit(mib);
    if (f && fscanf(f, "%lu", &pages) == 1) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)(mib + BESIDE_MIB) << 20);
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
    if (f)
        fclose(f);
}

static _Noreturn void answer(int fd, tp_z3 *z, const tp_question *q)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit_cpu(q->seconds);
    alarm(ASLEEP); /* for ever: CPU is what counts, however busy the machine is */
    limit_memory(q->mib);
    int64_t *model = calloc(q->nwanted + 1, sizeof *model);
    if (!model)
        _exit(1);
    tp_reply r = tp_z3_answer(z, q, model);
    _exit(send_reply(fd, &r, model, q->nwanted) ? 0 : 1);
}

/* ---- in the process of a solver ---- */

/* What it inherits but the one: it would keep files and pipes of the parent open, and should Z3 call exit(), then what
 * lies in the parent's streams has nowhere to go. */
static void close_others(int fd)
{
    enum { MOST = 1024 };
#ifdef SYS_close_range /* libraries of C before 2021 have no function for it, Linux before 5.9 no such call */
    if ((fd == 0 || syscall(SYS_close_range, 0U, (unsigned)fd - 1, 0U) == 0) &&
        syscall(SYS_close_range, (unsigned)fd + 1, ~0U, 0U) == 0)
        return;
#endif
    for (int i = 0; i < MOST; i++)
        if (i != fd)
            close(i);
}

/* Death is how a child says that it was stopped, and what ends the program ends who works for it; what the program does
 * then (half-written files, a sentence) is not theirs. A parent that ignores its children would not be told of them. */
static void restore_signals(void)
{
    sigset_t all;
    static const int HANDLED[] = {SIGABRT, SIGPROF, SIGALRM, SIGXCPU, SIGSEGV, SIGBUS,
                                  SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGCHLD};
    for (size_t i = 0; i < sizeof HANDLED / sizeof *HANDLED; i++)
        signal(HANDLED[i], SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
}

/* A context costs milliseconds: it is made once, when the first question comes. */
static tp_z3 *open_context(void)
{
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = CPU_SECONDS}, NULL);
    tp_z3 *z = tp_z3_open();
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    return z;
}

/* Asks one question; false: nobody wants the answer any more. */
static bool serve_one(int fd, tp_z3 *z, const tp_question *q)
{
    enum { READER, WRITER };
    outcome o = {0};
    tp_reply r;
    int ends[2];
    struct rusage used = {0};
    int64_t *model = calloc(q->nwanted + 1, sizeof *model);
    pid_t pid = -1;
    if (z && model && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
        pid = fork();
        if (pid == 0) {
            close(fd);
            close(ends[READER]);
            answer(ends[WRITER], z, q);
        }
        close(ends[WRITER]);
        o.asked = pid > 0;
        o.told = o.asked && read_reply(ends[READER], &r, model, q->nwanted);
        close(ends[READER]);
    }
    while (o.asked && wait4(pid, &o.status, 0, &used) < 0 && errno == EINTR)
        ;
    o.seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    bool sent = send_all(fd, &o, sizeof o) && (!o.told || send_reply(fd, &r, model, q->nwanted));
    free(model);
    return sent;
}

/* Until the parent shuts its end, or is no more. */
static _Noreturn void serve(int fd, pid_t parent)
{
    tp_z3 *z = NULL;
    tp_question q;
    bool on = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    close_others(fd);
    restore_signals();
    while (on && read_all(fd, &q, sizeof q)) {
        int64_t *words = calloc(q.nwords + 1, sizeof *words);
        q.words = words;
        on = words && read_all(fd, words, q.nwords * sizeof *words);
        if (on && !z)
            z = open_context();
        on = on && serve_one(fd, z, &q);
        free(words);
    }
    _exit(0);
}

/* ---- here ---- */

struct tp_solver {
    pid_t pid; /* 0: none runs */
    int fd;
};

/* Where a standard stream is closed, its number is free, and what is printed would go to the solver. */
static int above_streams(int fd)
{
    int above = fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (above != fd)
        close(fd);
    return above;
}

bool tp_solver_start(tp_solver *s)
{
    enum { OURS, ITS };
    int ends[2];
    if (s->pid > 0)
        return true;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    ends[OURS] = above_streams(ends[OURS]);
    pid_t parent = getpid(), pid = ends[OURS] >= 0 ? fork() : -1;
    if (pid == 0)
        serve(ends[ITS], parent);
    close(ends[ITS]);
    if (pid > 0)
        *s = (tp_solver){.pid = pid, .fd = ends[OURS]};
    else if (ends[OURS] >= 0)
        close(ends[OURS]);
    return pid > 0;
}

tp_solver *tp_solver_new(tp_arena *a)
{
    return TP_NEW(a, tp_solver);
}

void tp_solver_free(tp_solver *s)
{
    if (!s || s->pid <= 0)
        return;
    shutdown(s->fd, SHUT_RDWR); /* a process that others forked meanwhile may hold this end, too */
    close(s->fd);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *s = (tp_solver){0};
}

void tp_note_unsteady(const tp_prover *v)
{
    tp_budget *b = tp_arena_budget(v->arena);
    if (b)
        b->unsteady = true;
}

/* No longer than the spec may still run. */
static double cpu_seconds(const tp_prover *v)
{
    static const double LEAST = 0.05;
    double most = v->o.cpu_seconds ? v->o.cpu_seconds : CPU_SECONDS,
           left = tp_budget_seconds_left(tp_arena_budget(v->arena));
    return left < LEAST ? LEAST : left < most ? left : most;
}

/* Of Z3's steps, no more than the share of the work allows. */
static uint64_t steps_left(const tp_prover *v, uint64_t rlimit)
{
    const tp_budget *b = tp_arena_budget(v->arena);
    uint64_t left = b ? (uint64_t)(b->limit - b->spent) / UNITS_OF_STEP + 1 : rlimit;
    return left < rlimit ? left : rlimit;
}

/* MiB for Z3: no more than the spec may still take. */
static uint32_t solver_mib(const tp_prover *v)
{
    const tp_budget *b = tp_arena_budget(v->arena);
    size_t left = b && b->max_bytes ? (b->max_bytes > b->bytes ? b->max_bytes - b->bytes : 0) >> 20 : Z3_MIB;
    return left > Z3_MIB ? Z3_MIB : left < LEAST_Z3_MIB ? LEAST_Z3_MIB : (uint32_t)left;
}

/* Why the child gave no answer. Work units end a query alike on every machine;
 * where Z3 does not count, seconds do, and the reason says so. */
static tp_str why_none(const tp_prover *v, int status, double seconds)
{
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (by == SIGXCPU || by == SIGPROF)
        return tp_printf(v->arena,
                         "Z3 did not stop at its work limit, but at %.3g s of CPU: another machine may decide it",
                         seconds);
    return by == SIGALRM ? TP_S("the solver process slept for ten minutes") : TP_S("the solver process died");
}

/* On account of the spec. A query that had to be stopped costs what it was allowed. */
static void charge(const tp_prover *v, uint64_t steps, const outcome *o)
{
    tp_budget *b = tp_arena_budget(v->arena);
    int by = WIFSIGNALED(o->status) ? WTERMSIG(o->status) : 0;
    bool stopped = by == SIGXCPU || by == SIGPROF;
    int64_t most = (int64_t)(v->o.cpu_seconds ? v->o.cpu_seconds : CPU_SECONDS) * TP_UNITS_PER_SECOND,
            work = steps < (uint64_t)most / UNITS_OF_STEP ? (int64_t)steps * UNITS_OF_STEP : most;
    tp_charge(v->arena, stopped ? most : work);
    tp_budget_child(b, o->seconds);
}

static bool put_question(int fd, const tp_question *q)
{
    return send_all(fd, q, sizeof *q) && send_all(fd, q->words, q->nwords * sizeof *q->words);
}

/* To a process that runs; somebody may have ended it since the last question. */
static bool ask(tp_solver *s, const tp_question *q)
{
    if (tp_solver_start(s) && put_question(s->fd, q))
        return true;
    tp_solver_free(s);
    return tp_solver_start(s) && put_question(s->fd, q);
}

/* False: the process is no more. */
static bool hear(int fd, const tp_question *q, outcome *o, tp_reply *r, int64_t *model)
{
    return read_all(fd, o, sizeof *o) && (!o->told || read_reply(fd, r, model, q->nwanted));
}

tp_answer tp_ask_z3(tp_prover *v, const tp_obligation *o, bool linear, uint64_t rlimit, int64_t *env, tp_str *reason)
{
    tp_spend(v->scratch, UNITS_OF_CHILD);
    if (!v->solver)
        v->solver = tp_solver_new(v->arena);
    tp_solver *s = v->solver;
    tp_question q = tp_question_of(v, o, linear);
    q.rlimit = steps_left(v, rlimit);
    q.seconds = cpu_seconds(v);
    q.mib = solver_mib(v);
    int64_t *model = TP_NEWN(v->scratch, int64_t, q.nwanted + 1);
    tp_reply r = {.answer = TP_UNDECIDED};
    outcome out = {.asked = ask(s, &q)};
    bool alive = out.asked && hear(s->fd, &q, &out, &r, model);
    if (!alive)
        tp_solver_free(s);
    charge(v, r.work, &out);
    if (!alive || !out.told || !WIFEXITED(out.status) || WEXITSTATUS(out.status) != 0) {
        *reason = out.asked ? why_none(v, out.status, q.seconds) : TP_S("no solver process could be started");
        tp_note_unsteady(v);
        return out.asked ? TP_UNDECIDED : TP_SOLVER_ERROR;
    }
    memset(env, 0, tp_sym_count(v->p) * sizeof *env);
    for (uint32_t i = 0; i < o->nvars; i++)
        env[o->vars[i].sym] = model[i];
    r.reason[sizeof r.reason - 1] = '\0';
    *reason = tp_printf(v->arena, "%s", r.reason);
    return (tp_answer)r.answer;
}
