/* The specs of a call, side by side; where there are fewer of them than threads, the cases of each, too. What comes
 * out is in the jobs, in their order: the number of threads changes no byte of a report. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/processors.h"
#include "cli/certificates.h"
#include "cli/check.h"
#include "cli/results.h"
#include "cli/watchdog.h"

typedef struct pool {
    tp_cli *c;
    tp_check_run *run;
    const tp_strings *paths;
    tp_progress progress;
    atomic_uint next;
    atomic_bool failed;
    pthread_mutex_t lock;
    bool *checked;    /* by spec: to its end */
    uint32_t printed; /* so many specs were printed and freed */
} pool;

typedef struct one_job {
    pool *p;
    uint32_t i;
    tp_solver *solver;
} one_job;

typedef struct worker {
    pool *p;
    tp_solver *solver;
    tp_watched_thread *watched;
} worker;

/* With whole results in the cache. */
static void check_or_find(const tp_check_run *run, tp_job *j, tp_solver *solver)
{
    tp_check_load(j, &run->s);
    if (!j->report.valid || tp_result_find(run, j))
        return;
    tp_check_loaded(j, &run->s, solver);
    tp_try_fixes(j, &run->s, solver);
    if (!tp_budget_interrupted())
        tp_result_keep(run, j);
}

/* The report is of the text that --fix leaves behind. */
static void check_one(pool *p, tp_job *j, tp_str path, tp_solver *solver)
{
    const tp_check_settings *s = &p->run->s;
    if (!tp_job_read(p->c, j, path))
        return;
    tp_job_allow(j, s);
    if (p->run->results) {
        check_or_find(p->run, j, solver);
        return;
    }
    if (p->run->fix != TP_FIX_NONE)
        tp_fix_text(j, s, solver);
    if (j->fixed.n && p->run->fix == TP_FIX_WRITE)
        j->source.text = j->fixed;
    tp_check_text(j, s, solver);
    tp_try_fixes(j, s, solver);
}

static void check(void *arg)
{
    one_job *o = arg;
    double start = tp_wall_seconds();
    if (o->p->c->certificates.len)
        o->p->run->jobs[o->i].certificates = tp_certificates_new(o->p->run->jobs[o->i].arena);
    check_one(o->p, &o->p->run->jobs[o->i], o->p->paths->at[o->i], o->solver);
    o->p->run->jobs[o->i].report.ms = 1e3 * (tp_wall_seconds() - start);
    tp_job_note_cost(&o->p->run->jobs[o->i]);
}

static void say_spent(void *arg)
{
    one_job *o = arg;
    tp_job *j = &o->p->run->jobs[o->i];
    tp_job_add_spent(j, "the fixes", tp_budget_reason(j->arena, tp_arena_budget(j->arena)));
}

static void say_out_of_memory(void *arg)
{
    one_job *o = arg;
    tp_job_add_memory(&o->p->run->jobs[o->i], "memory ran out while fixes were tried");
}

/* What the checks catch is in the report; what is done beside them may be cut off, too. */
static bool check_or_say(one_job *o)
{
    tp_job *j = &o->p->run->jobs[o->i];
    tp_status st = tp_try(j->arena, check, o);
    if (st == TP_E_BUDGET)
        st = tp_try(j->arena, say_spent, o);
    else if (st == TP_E_MEMORY)
        st = tp_try(j->arena, say_out_of_memory, o);
    return st == TP_OK;
}

/* ---- reports on the way ---- */

/* What totals, exit codes and timings need of a report outlives its spec. */
static void reduce_to_counts(tp_arena *keep, tp_job *j)
{
    const tp_spec_report *r = &j->report;
    tp_counts *counts = TP_NEW(keep, tp_counts);
    *counts = tp_count(r);
    tp_spec_report left = {.valid = r->valid,
                           .internal_error = r->internal_error,
                           .out_of_memory = r->out_of_memory,
                           .ms = r->ms,
                           .tier_ms = r->tier_ms,
                           .cpu_ms = r->cpu_ms,
                           .units = r->units,
                           .most_units = r->most_units,
                           .memory = r->memory,
                           .counted = counts};
    left.stats.disagreement = tp_printf(keep, "%.*s", TP_FMT(r->stats.disagreement));
    left.stats.smt2_error = tp_printf(keep, "%.*s", TP_FMT(r->stats.smt2_error));
    left.name = tp_printf(keep, "%.*s", TP_FMT(r->name));
    j->source = (tp_source){.path = tp_printf(keep, "%.*s", TP_FMT(j->source.path)),
                            .kernel_file = tp_printf(keep, "%.*s", TP_FMT(j->source.kernel_file))};
    j->report = left;
}

static void print_one(void *arg)
{
    one_job *o = arg;
    tp_job *j = &o->p->run->jobs[o->i];
    j->report.source = &j->source;
    tp_outputs_add(o->p->run, &j->report, j->arena);
    reduce_to_counts(o->p->run->kept, j);
}

/* Specs are printed in their order, each as soon as it and those before it are checked. */
static bool print_checked(one_job *o)
{
    pool *p = o->p;
    bool ok = true;
    pthread_mutex_lock(&p->lock);
    p->checked[o->i] = !tp_budget_interrupted();
    tp_progress_clear(&p->progress);
    for (; ok && p->printed < p->paths->len && p->checked[p->printed]; p->printed++) {
        one_job next = {.p = p, .i = p->printed};
        ok = tp_try(p->run->jobs[next.i].arena, print_one, &next) == TP_OK;
        tp_job_free(&p->run->jobs[next.i]);
    }
    fflush(stdout); /* who reads it sees each spec when it is done */
    pthread_mutex_unlock(&p->lock);
    return ok;
}

static void *work(void *arg)
{
    worker *w = arg;
    pool *p = w->p;
    one_job o = {.p = p, .solver = w->solver};
    while (!p->failed && !tp_budget_interrupted() && (o.i = atomic_fetch_add(&p->next, 1)) < p->paths->len) {
        tp_watched_begin(w->watched, &p->paths->at[o.i]);
        tp_job *j = &p->run->jobs[o.i];
        j->arena = tp_arena_new(0); /* no child: threads make and free them side by side */
        if (!j->arena || !check_or_say(&o) || (p->run->by_spec && !print_checked(&o)))
            p->failed = true;
        else if (!p->run->by_spec)
            p->checked[o.i] = !tp_budget_interrupted();
        tp_watched_end(w->watched);
        p->progress.done++;
    }
    tp_solver_free(o.solver);
    return NULL;
}

/* Of an interrupted run: prints those behind a spec that was not checked, and keeps the jobs of those that were. */
static bool keep_checked(pool *p)
{
    tp_check_run *run = p->run;
    uint32_t n = 0;
    bool ok = true;
    for (uint32_t i = 0; i < run->njobs && ok; i++) {
        one_job o = {.p = p, .i = i};
        if (run->by_spec && i >= p->printed && p->checked[i])
            ok = tp_try(run->jobs[i].arena, print_one, &o) == TP_OK;
        if (run->by_spec || !p->checked[i])
            tp_job_free(&run->jobs[i]);
        if (!p->checked[i])
            continue;
        if (run->report.shard.of)
            run->report.shard.positions[n] = run->report.shard.positions[i];
        run->jobs[n++] = run->jobs[i];
    }
    run->report.interrupted = run->njobs;
    run->njobs = n;
    return ok;
}

bool tp_check_all(tp_cli *c, tp_check_run *run, const tp_strings *paths)
{
    pool p = {.c = c, .run = run, .paths = paths, .checked = TP_NEWN(c->arena, bool, paths->len + 1)};
    uint32_t threads = run->threads ? (uint32_t)run->threads : tp_processors(), started = 0;
    run->s.threads = paths->len ? threads / paths->len : 1; /* for the cases of each */
    run->s.watch = tp_watched_help;
    threads = threads < paths->len ? threads : paths->len ? paths->len : 1;
    worker *workers = TP_NEWN(c->arena, worker, threads);
    tp_watched_thread *watched = TP_NEWN(c->arena, tp_watched_thread, threads);
    for (uint32_t i = 0; i < threads; i++) {
        watched[i] = tp_watched_here();
        workers[i] = (worker){&p, tp_solver_new(c->arena), &watched[i]};
        tp_solver_start(workers[i].solver);
    }
    pthread_mutex_init(&p.lock, NULL);
    p.progress = (tp_progress){.shown = tp_progress_wanted(c),
                               .parts = paths->len > 1 ? "specs" : NULL,
                               .of = paths->len,
                               .printing = &p.lock};
    while (started + 1 < threads &&
           pthread_create(&watched[started + 1].thread, NULL, work, &workers[started + 1]) == 0)
        started++;
    tp_watchdog guard;
    tp_watchdog_start(&guard, watched, started + 1, run->s.timeout, &p.progress);
    work(&workers[0]); /* this thread works, too, even where no other could be had */
    for (uint32_t i = 0; i < started; i++)
        pthread_join(watched[i + 1].thread, NULL);
    tp_watchdog_stop(&guard);
    pthread_mutex_destroy(&p.lock);
    return !p.failed && (!tp_budget_interrupted() || keep_checked(&p));
}
