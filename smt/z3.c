/* The only file that knows Z3. Measured hazards of 4.8.12 shape it: the
 * `timeout` parameter can deadlock and is never set (rlimit is); an error
 * without a handler ends the process; Z3_mk_solver is ten times slower per
 * check than Z3_mk_simple_solver; a hard query can ignore rlimit, hence the
 * child process. */
#define _GNU_SOURCE /* wait4, syscall */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <z3.h>

#include "base/budget.h"
#include "smt/internal.h"

struct tp_solver {
    Z3_context ctx;
    Z3_sort integer;
    bool shares; /* `shared` below */
};

static void on_error(Z3_context c, Z3_error_code e)
{
    (void)c, (void)e; /* the code is checked after each query */
}

tp_solver *tp_solver_new(tp_arena *a)
{
    return TP_NEW(a, tp_solver);
}

/* Threads may prove side by side, each with a solver of its own. A child must
 * not be born while another thread holds a lock inside Z3; in this process Z3
 * runs only under this mutex. */
static pthread_mutex_t inside_z3 = PTHREAD_MUTEX_INITIALIZER;

/* Under the mutex: the context of all solvers, which children use and this process never. It is one: Z3 counts the
 * memory of a process, and what a child may take must not depend on how many threads have asked before. */
static tp_solver shared;
static unsigned sharers;

/* A context costs milliseconds: 16 MiB of tables. False: Z3 had no memory for one. */
static bool open_context(tp_solver *z)
{
    if (z->ctx)
        return true;
    Z3_config cfg = Z3_mk_config();
    z->ctx = cfg ? Z3_mk_context(cfg) : NULL;
    if (cfg)
        Z3_del_config(cfg);
    if (!z->ctx)
        return false;
    Z3_set_error_handler(z->ctx, on_error);
    z->integer = Z3_mk_int_sort(z->ctx);
    return true;
}

/* Made when the first question comes; under the mutex. */
static bool share_context(tp_solver *z)
{
    if (!z->shares && open_context(&shared)) {
        *z = shared;
        z->shares = true;
        sharers++;
    }
    return z->shares;
}

void tp_solver_free(tp_solver *z)
{
    if (!z || !z->shares)
        return;
    pthread_mutex_lock(&inside_z3);
    if (--sharers == 0) {
        Z3_del_context(shared.ctx);
        shared = (tp_solver){0};
    }
    pthread_mutex_unlock(&inside_z3);
    *z = (tp_solver){0};
}

/* One query: terms for atoms are made once. */
typedef struct query {
    tp_solver *z;
    tp_prover *v;
    const tp_obligation *o;
    Z3_solver solver;
    bool linear;
    TP_VEC(tp_term) monomials; /* opaque products and their constants */
    TP_VEC(Z3_ast) products;
    uint8_t *defined; /* per expression id: its defining facts are asserted */
    uint32_t ndefined;
} query;

static Z3_ast number(query *q, int64_t v)
{
    return Z3_mk_int64(q->z->ctx, v, q->z->integer);
}

static Z3_ast constant(query *q, const char *prefix, uint32_t id)
{
    char name[32];
    snprintf(name, sizeof name, "%s%u", prefix, id);
    return Z3_mk_const(q->z->ctx, Z3_mk_string_symbol(q->z->ctx, name), q->z->integer);
}

static Z3_ast arith(query *q, tp_expr e);
static Z3_ast formula(query *q, tp_expr e);

static void say(query *q, Z3_ast a)
{
    if (a)
        Z3_solver_assert(q->z->ctx, q->solver, a);
}

/* x = n.a // n.b or cdiv(n.a, n.b), for a positive divisor. */
static void say_quotient(query *q, const tp_expr_node *n, tp_expr e, Z3_ast x)
{
    Z3_context c = q->z->ctx;
    tp_expr bq = tp_op2(q->v->p, TP_E_MUL, n->b, e);
    Z3_ast a = arith(q, n->a), b = arith(q, n->b), zero = number(q, 0), one = number(q, 1);
    Z3_ast r = arith(q, tp_op2(q->v->p, TP_E_SUB, bq, n->a)); /* b*x - a: in (-b, 0] for floor, in [0, b) for ceiling */
    bool up = n->op == TP_E_CDIV;
    Z3_ast facts[4] = {up ? Z3_mk_ge(c, r, zero) : Z3_mk_le(c, r, zero),
                       up ? Z3_mk_lt(c, r, b) : Z3_mk_gt(c, r, Z3_mk_unary_minus(c, b))};
    unsigned nfacts = 2;
    int64_t k;
    if (!tp_expr_is_const(q->v->p, n->b, &k)) { /* the first quotients, which opaque products hide */
        facts[nfacts++] = up ? Z3_mk_iff(c, Z3_mk_le(c, a, zero), Z3_mk_le(c, x, zero))
                             : Z3_mk_iff(c, Z3_mk_lt(c, a, zero), Z3_mk_lt(c, x, zero));
        facts[nfacts++] = up ? Z3_mk_iff(c, Z3_mk_le(c, a, b), Z3_mk_le(c, x, one))
                             : Z3_mk_iff(c, Z3_mk_lt(c, a, b), Z3_mk_lt(c, x, one));
    }
    Z3_ast all = Z3_mk_and(c, nfacts, facts);
    say(q, tp_interval_of(q->v, q->o, n->b).lo >= 1 ? all : Z3_mk_implies(c, Z3_mk_ge(c, b, one), all));
}

/* The value of a non-polynomial operation: a fresh constant with its defining
 * facts. What cannot be defined stays free: sound for proofs. */
static Z3_ast atom(query *q, tp_expr e)
{
    Z3_context c = q->z->ctx;
    tp_expr_node n = *tp_expr_get(q->v->p, e);
    if (n.op == TP_E_SYM)
        return constant(q, "s", (uint32_t)n.value);
    Z3_ast x = constant(q, "a", e.id);
    if (e.id >= q->ndefined || q->defined[e.id])
        return x;
    q->defined[e.id] = 1;
    if (n.op == TP_E_FLOORDIV || n.op == TP_E_CDIV) {
        say_quotient(q, &n, e, x);
    } else if (n.op == TP_E_MIN || n.op == TP_E_MAX) {
        Z3_ast l = arith(q, n.a), r = arith(q, n.b);
        Z3_ast first = n.op == TP_E_MIN ? Z3_mk_le(c, l, r) : Z3_mk_ge(c, l, r);
        say(q, Z3_mk_eq(c, x, Z3_mk_ite(c, first, l, r)));
    } else if (n.op == TP_E_ITE) {
        say(q, Z3_mk_eq(c, x, Z3_mk_ite(c, formula(q, n.a), arith(q, n.b), arith(q, n.c))));
    } else if (n.op == TP_E_POW2) {
        Z3_ast a = arith(q, n.a), one = number(q, 1);
        say(q, Z3_mk_ge(c, x, a));
        say(q, Z3_mk_ge(c, x, one));
        Z3_ast twice[] = {a, a};
        say(q, Z3_mk_or(c, 2, (Z3_ast[]){Z3_mk_eq(c, x, one), Z3_mk_lt(c, x, Z3_mk_add(c, 2, twice))}));
    } else if (tp_expr_is_bool(q->v->p, e)) {
        say(q, Z3_mk_eq(c, x, Z3_mk_ite(c, formula(q, e), number(q, 1), number(q, 0))));
    }
    return x;
}

static Z3_ast product(query *q, const tp_term *t)
{
    Z3_ast factors[TP_POLY_MAX_DEGREE];
    for (uint32_t i = 0; i < t->degree; i++)
        factors[i] = atom(q, t->factors[i]);
    if (t->degree == 1)
        return factors[0];
    if (!q->linear)
        return Z3_mk_mul(q->z->ctx, t->degree, factors);
    for (uint32_t i = 0; i < q->monomials.len; i++)
        if (tp_same_monomial(&q->monomials.at[i], t))
            return q->products.at[i];
    Z3_ast fresh = constant(q, "m", q->monomials.len);
    tp_push(q->v->arena, q->monomials, *t);
    tp_push(q->v->arena, q->products, fresh);
    return fresh;
}

static Z3_ast of_poly(query *q, const tp_poly *p)
{
    Z3_ast parts[TP_POLY_MAX_TERMS + 1];
    unsigned n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        Z3_ast k = number(q, p->terms[i].coef);
        if (p->terms[i].degree == 0)
            parts[n++] = k;
        else if (p->terms[i].coef == 1)
            parts[n++] = product(q, &p->terms[i]);
        else
            parts[n++] = Z3_mk_mul(q->z->ctx, 2, (Z3_ast[]){k, product(q, &p->terms[i])});
    }
    return n == 0 ? number(q, 0) : n == 1 ? parts[0] : Z3_mk_add(q->z->ctx, n, parts);
}

static Z3_ast arith(query *q, tp_expr e)
{
    tp_poly p;
    if (tp_expr_too_large(e)) /* it may be anything, and another thing each time */
        return Z3_mk_fresh_const(q->z->ctx, "large", q->z->integer);
    tp_poly_of(q->v->p, tp_rewrite_div(q->v, q->o, e), &p);
    return p.ok ? of_poly(q, &p) : constant(q, "big", e.id); /* too large: free */
}

static Z3_ast formula(query *q, tp_expr e)
{
    Z3_context c = q->z->ctx;
    tp_expr_node n = *tp_expr_get(q->v->p, e);
    switch (n.op) {
    case TP_E_CONST: return n.value ? Z3_mk_true(c) : Z3_mk_false(c);
    case TP_E_NOT: return Z3_mk_not(c, formula(q, n.a));
    case TP_E_AND: return Z3_mk_and(c, 2, (Z3_ast[]){formula(q, n.a), formula(q, n.b)});
    case TP_E_OR: return Z3_mk_or(c, 2, (Z3_ast[]){formula(q, n.a), formula(q, n.b)});
    case TP_E_IMPLIES: return Z3_mk_implies(c, formula(q, n.a), formula(q, n.b));
    case TP_E_ITE: return Z3_mk_ite(c, formula(q, n.a), formula(q, n.b), formula(q, n.c));
    case TP_E_EQ: return Z3_mk_eq(c, arith(q, n.a), arith(q, n.b));
    case TP_E_NE: return Z3_mk_not(c, Z3_mk_eq(c, arith(q, n.a), arith(q, n.b)));
    case TP_E_LT: return Z3_mk_lt(c, arith(q, n.a), arith(q, n.b));
    case TP_E_LE: return Z3_mk_le(c, arith(q, n.a), arith(q, n.b));
    case TP_E_GT: return Z3_mk_gt(c, arith(q, n.a), arith(q, n.b));
    case TP_E_GE: return Z3_mk_ge(c, arith(q, n.a), arith(q, n.b));
    case TP_E_SYM: /* an integer that is not 0 */
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_POW2:
    case TP_E_RING:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES: break;
    }
    return Z3_mk_not(c, Z3_mk_eq(c, arith(q, e), number(q, 0)));
}

static void say_bounds(query *q, const tp_var *x)
{
    Z3_context c = q->z->ctx;
    Z3_ast s = constant(q, "s", x->sym);
    if (x->lo.id)
        say(q, Z3_mk_ge(c, s, arith(q, x->lo)));
    if (x->hi.id)
        say(q, Z3_mk_le(c, s, arith(q, x->hi)));
    if (x->multiple_of > 1)
        say(q, Z3_mk_eq(c, s, Z3_mk_mul(c, 2, (Z3_ast[]){number(q, x->multiple_of), constant(q, "k", x->sym)})));
    if (x->choices) {
        Z3_ast any[64];
        for (uint32_t i = 0; i < x->nchoices; i++)
            any[i] = Z3_mk_eq(c, s, number(q, x->choices[i]));
        say(q, Z3_mk_or(c, x->nchoices, any));
    }
}

static bool read_model(query *q, int64_t *env)
{
    Z3_context c = q->z->ctx;
    Z3_model m = Z3_solver_get_model(c, q->solver);
    bool ok = m != NULL;
    if (m)
        Z3_model_inc_ref(c, m);
    for (uint32_t i = 0; ok && i < q->o->nvars; i++) {
        Z3_ast value = NULL;
        ok = Z3_model_eval(c, m, constant(q, "s", q->o->vars[i].sym), true, &value) &&
             Z3_get_numeral_int64(c, value, &env[q->o->vars[i].sym]);
    }
    if (m)
        Z3_model_dec_ref(c, m);
    return ok;
}

/* Steps of Z3's own count that the query took. */
static uint64_t steps_of(Z3_context c, Z3_solver solver)
{
    Z3_stats s = Z3_solver_get_statistics(c, solver);
    uint64_t steps = 0;
    Z3_stats_inc_ref(c, s);
    for (unsigned i = 0; i < Z3_stats_size(c, s); i++)
        if (Z3_stats_is_uint(c, s, i) && strcmp(Z3_stats_get_key(c, s, i), "rlimit count") == 0)
            steps = Z3_stats_get_uint_value(c, s, i);
    Z3_stats_dec_ref(c, s);
    return steps;
}

static tp_answer ask(tp_solver *z, tp_prover *v, const tp_obligation *o, bool linear, uint64_t rlimit, int64_t *env,
                     tp_str *reason, uint64_t *work)
{
    Z3_context c = z->ctx;
    query q = {.z = z, .v = v, .o = o, .linear = linear};
    q.ndefined = 1 << 16;
    q.defined = TP_NEWN(v->arena, uint8_t, q.ndefined);
    q.solver = Z3_mk_simple_solver(c);
    Z3_solver_inc_ref(c, q.solver);
    Z3_params params = Z3_mk_params(c);
    Z3_params_inc_ref(c, params);
    Z3_params_set_uint(c, params, Z3_mk_string_symbol(c, "rlimit"), (unsigned)rlimit);
    Z3_solver_set_params(c, q.solver, params);
    Z3_params_dec_ref(c, params);
    for (uint32_t i = 0; i < o->nvars; i++)
        say_bounds(&q, &o->vars[i]);
    for (uint32_t i = 0; i < o->npremises; i++)
        say(&q, formula(&q, o->premises[i]));
    say(&q, Z3_mk_not(c, formula(&q, o->goal)));
    if (linear) {
        tp_facts facts = {0};
        tp_collect_facts(v, o, o->goal, &facts);
        for (uint32_t i = 0; i < facts.polys.len; i++)
            say(&q, Z3_mk_ge(c, of_poly(&q, facts.polys.at[i]), number(&q, 0)));
    }
    tp_answer answer = TP_SOLVER_ERROR;
    if (Z3_get_error_code(c) == Z3_OK) {
        Z3_lbool r = Z3_solver_check(c, q.solver);
        *work = steps_of(c, q.solver);
        answer = r == Z3_L_FALSE ? TP_UNSAT : r == Z3_L_TRUE ? TP_SAT : TP_UNDECIDED;
        if (answer == TP_UNDECIDED)
            *reason = tp_printf(v->arena, "Z3: %s (rlimit %llu)", Z3_solver_get_reason_unknown(c, q.solver),
                                (unsigned long long)rlimit);
        if (answer == TP_SAT && !read_model(&q, env))
            answer = TP_UNDECIDED;
    }
    if (Z3_get_error_code(c) != Z3_OK) { /* an unsat next to an error proves nothing */
        *reason = tp_printf(v->arena, "Z3 error: %s", Z3_get_error_msg(c, Z3_get_error_code(c)));
        answer = TP_SOLVER_ERROR;
    }
    Z3_solver_dec_ref(c, q.solver);
    return answer;
}

/* ---- in a child ---- */

typedef struct message {
    int32_t answer;
    char reason[200];
    uint64_t work; /* as Z3 counts it */
} message;

/* What a query costs the spec, in units: the child, and a step of Z3's own count. */
enum { CPU_SECONDS = 10, ASLEEP = 600 /* seconds */, UNITS_OF_CHILD = TP_UNITS_PER_SECOND / 100, UNITS_OF_STEP = 64 };
/* MiB that Z3 may take, and that the child may map beside for its own terms. */
enum { Z3_MIB = 512, LEAST_Z3_MIB = 32, BESIDE_MIB = 512 };

/* No longer than the spec may still run. */
static double cpu_seconds(const tp_prover *v)
{
    static const double LEAST = 0.05;
    double most = v->o.cpu_seconds ? v->o.cpu_seconds : CPU_SECONDS,
           left = tp_budget_seconds_left(tp_arena_budget(v->arena));
    return left < LEAST ? LEAST : left < most ? left : most;
}

/* The limit of the system is of whole seconds: a timer stands before it. */
static void limit_cpu(double seconds)
{
    struct timeval at = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)((seconds - floor(seconds)) * 1e6)};
    rlim_t whole = (rlim_t)ceil(seconds) + 1;
    setrlimit(RLIMIT_CPU, &(struct rlimit){whole, whole + 2});
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = at}, NULL);
}

/* Of Z3's steps, no more than the share of the work allows. */
static uint64_t steps_left(const tp_prover *v, uint64_t rlimit)
{
    const tp_budget *b = tp_arena_budget(v->arena);
    uint64_t left = b ? (uint64_t)(b->limit - b->spent) / UNITS_OF_STEP + 1 : rlimit;
    return left < rlimit ? left : rlimit;
}

/* MiB for Z3: no more than the spec may still take. */
static unsigned solver_mib(const tp_prover *v)
{
    const tp_budget *b = tp_arena_budget(v->arena);
    size_t left = b && b->max_bytes ? (b->max_bytes > b->bytes ? b->max_bytes - b->bytes : 0) >> 20 : Z3_MIB;
    return left > Z3_MIB ? Z3_MIB : left < LEAST_Z3_MIB ? LEAST_Z3_MIB : (unsigned)left;
}

/* Z3 ends a query that takes more than its share with an answer; behind that
 * stands the system. */
static void limit_memory(unsigned mib)
{
    char text[24];
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    snprintf(text, sizeof text, "%u", mib);
    Z3_global_param_set("memory_max_size", text);
    if (f && fscanf(f, "%lu", &pages) == 1) {
        rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)(mib + BESIDE_MIB) << 20);
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    }
    if (f)
        fclose(f);
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

typedef struct child_call {
    int fd;
    tp_prover *v;
    const tp_obligation *o;
    bool linear;
    uint64_t rlimit;
    uint32_t nsyms;
    double seconds; /* of CPU */
} child_call;

static void ask_and_tell(void *arg)
{
    const child_call *x = arg;
    tp_prover *v = x->v;
    int64_t *env = TP_NEWN(v->arena, int64_t, x->nsyms);
    tp_str reason = {"", 0};
    message m = {0};
    m.answer = (int32_t)ask(v->solver, v, x->o, x->linear, x->rlimit, env, &reason, &m.work);
    snprintf(m.reason, sizeof m.reason, "%.*s", TP_FMT(reason));
    bool ok = write(x->fd, &m, sizeof m) == (ssize_t)sizeof m &&
              write(x->fd, env, x->nsyms * sizeof *env) == (ssize_t)(x->nsyms * sizeof *env);
    _exit(ok ? 0 : 1);
}

static void ask_in_arena(void *arg)
{
    const child_call *x = arg;
    tp_try(x->v->arena, ask_and_tell, arg);
}

/* Should Z3 call exit(), then what lies in the parent's streams has nowhere to go. */
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

/* Whatever happens, the child ends here: nothing may leave to a tp_try() of the parent. */
static void child(child_call *x)
{
    tp_budget *b = tp_arena_budget(x->v->arena);
    unsigned mib = solver_mib(x->v);
    close_others(x->fd);
    limit_cpu(x->seconds);
    signal(SIGABRT, SIG_DFL); /* out of memory: the parent says what that means */
    signal(SIGPROF, SIG_DFL);
    alarm(ASLEEP); /* for ever: CPU is what counts, however busy the machine is */
    limit_memory(mib);
    if (b)
        tp_budget_begin(b, 0, 0); /* the system's limits are enough here */
    tp_try(tp_exprs_arena(x->v->p), ask_in_arena, x);
    _exit(1);
}

void tp_note_unsteady(const tp_prover *v)
{
    tp_budget *b = tp_arena_budget(v->arena);
    if (b)
        b->unsteady = true;
}

/* On account of the spec. A query that had to be stopped costs what it was allowed. */
static void charge(const tp_prover *v, const message *m, int status, const struct rusage *used)
{
    tp_budget *b = tp_arena_budget(v->arena);
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    bool stopped = by == SIGXCPU || by == SIGPROF;
    int64_t most = (int64_t)(v->o.cpu_seconds ? v->o.cpu_seconds : CPU_SECONDS) * TP_UNITS_PER_SECOND,
            work = m->work < (uint64_t)most / UNITS_OF_STEP ? (int64_t)m->work * UNITS_OF_STEP : most;
    tp_charge(v->arena, stopped ? most : work);
    tp_budget_child(b, (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
                           (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1e-6);
}

static bool read_all(int fd, void *to, size_t n)
{
    char *p = to;
    while (n) {
        ssize_t k = read(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

tp_answer tp_z3_check(tp_prover *v, const tp_obligation *o, bool linear, uint64_t rlimit, int64_t *env, tp_str *reason)
{
    int fds[2], status = 0;
    uint32_t nsyms = tp_sym_count(v->p);
    struct rusage usage = {0};
    message m = {.answer = TP_UNDECIDED};
    double seconds = cpu_seconds(v);
    tp_spend(v->scratch, UNITS_OF_CHILD);
    rlimit = steps_left(v, rlimit);
    *reason = TP_S("no solver process could be started");
    if (pipe2(fds, O_CLOEXEC) != 0) {
        tp_note_unsteady(v);
        return TP_SOLVER_ERROR;
    }
    pthread_mutex_lock(&inside_z3);
    bool opened = share_context(v->solver); /* once, for all children to come */
    pid_t pid = opened ? fork() : -1;
    if (pid != 0)
        pthread_mutex_unlock(&inside_z3);
    if (pid == 0) {
        close(fds[0]);
        child(&(child_call){fds[1], v, o, linear, rlimit, nsyms, seconds});
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        tp_note_unsteady(v);
        return TP_SOLVER_ERROR;
    }
    bool ok = read_all(fds[0], &m, sizeof m) && read_all(fds[0], env, nsyms * sizeof *env);
    m.work = ok ? m.work : 0;
    close(fds[0]);
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    charge(v, &m, status, &usage);
    if (!ok || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        *reason = why_none(v, status, seconds);
        tp_note_unsteady(v);
        return TP_UNDECIDED;
    }
    m.reason[sizeof m.reason - 1] = '\0';
    *reason = tp_printf(v->arena, "%s", m.reason);
    return (tp_answer)m.answer;
}
