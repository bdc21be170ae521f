/* Which shapes are legal, and what each costs. */
#define _POSIX_C_SOURCE 200809L
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/processors.h"
#include "cli/check.h"
#include "cli/interrupt.h"
#include "cli/receipt.h"
#include "cli/watchdog.h"
#include "sweep/sweep.h"

typedef struct sweep_call {
    tp_cli *c;
    tp_check_settings lint;
    tp_sweep s;
    tp_watched_thread *watched;
    tp_progress progress;
    const tp_str *path;
    uint32_t measure; /* so many shapes */
} sweep_call;

static void unit(void *ctx, uint32_t thread)
{
    sweep_call *x = ctx;
    tp_watched_begin(&x->watched[thread], x->path);
    x->progress.done++;
}

static void go_through(sweep_call *x, uint32_t threads)
{
    tp_sweep_options o = {.lint = &x->lint, .threads = threads, .unit = unit, .ctx = x};
    tp_watchdog guard;
    x->watched = TP_NEWN(x->c->arena, tp_watched_thread, threads);
    for (uint32_t i = 0; i < threads; i++)
        x->watched[i] = tp_watched_here();
    x->progress = (tp_progress){.shown = tp_progress_wanted(x->c), .parts = "shapes", .of = x->s.ncells};
    tp_watchdog_start(&guard, x->watched, threads, x->lint.timeout, &x->progress);
    tp_sweep_run(&x->s, &o);
    if (!tp_budget_interrupted())
        tp_sweep_rank(&x->s, &o);
    if (!tp_budget_interrupted() && x->measure)
        tp_sweep_measure(&x->s, &o, x->measure);
    tp_watchdog_stop(&guard);
    tp_progress_clear(&x->progress);
}

/* --output FORMAT=PATH and --format; false after a message. */
static const tp_sweep_format *format_of(const tp_cli *c, const char *option, tp_str name)
{
    const tp_sweep_format *f = tp_sweep_format_find(name);
    tp_buf names = {.arena = c->arena};
    size_t n;
    const tp_sweep_format *all = tp_sweep_formats(&n);
    for (size_t i = 0; i < n; i++)
        tp_buf_printf(&names, "%s%s", i + 1 == n ? " or " : i ? ", " : "", all[i].name);
    if (!f)
        tp_usage_error("--%s: sweep has no format `%.*s`; it has %.*s", option, TP_FMT(name),
                       TP_FMT(tp_buf_view(&names)));
    return f;
}

static bool outputs_usable(tp_cli *c, tp_str spec)
{
    tp_run_files g = {0};
    tp_guard_reads(c, &g, spec);
    for (uint32_t i = 0; i < c->report.len; i++) {
        tp_str path = tp_after(c->report.at[i], '=');
        if (!path.n)
            return tp_usage_error("--output is FORMAT=PATH, not `%.*s`", TP_FMT(c->report.at[i])), false;
        if (!format_of(c, "output", (tp_str){c->report.at[i].p, c->report.at[i].n - path.n - 1}) ||
            !tp_may_write(c, &g, "output", path))
            return false;
    }
    tp_str certificates = tp_option(&c->certificates, "");
    if (certificates.n && !tp_may_write(c, &g, "certificates", certificates))
        return false;
    return format_of(c, "format", tp_option(&c->shapes, "table")) != NULL;
}

typedef struct printing {
    const tp_sweep_format *format;
    const tp_sweep *s;
} printing;

static void print(void *ctx, FILE *out)
{
    const printing *p = ctx;
    p->format->write(p->s, out);
}

/* Each whole or not at all. */
static bool write_outputs(sweep_call *x)
{
    bool all = true;
    for (uint32_t i = 0; i < x->c->report.len; i++) {
        tp_str path = tp_after(x->c->report.at[i], '='),
               name = {x->c->report.at[i].p, x->c->report.at[i].n - path.n - 1}, why;
        printing p = {format_of(x->c, "output", name), &x->s};
        if (tp_print_file(x->c->arena, tp_cstr(x->c->arena, path), print, &p, &why) == TP_OK)
            continue;
        tp_say(stderr, "tileproof: --output: %.*s", TP_FMT(why));
        all = false;
    }
    return all;
}

/* That the best shape is the best, for recheck: an exit code. */
static int write_optimum(sweep_call *x, tp_job *j)
{
    tp_sweep_options o = {.lint = &x->lint, .threads = 1};
    const char *path = tp_cstr(x->c->arena, tp_option(&x->c->certificates, ""));
    tp_str why;
    if (!*path)
        return TP_EXIT_OK;
    tp_str text = tp_sweep_optimum(&x->s, &o, tp_job_digest(x->c, j), &why);
    if (!text.n) {
        tp_say(stderr, "tileproof: --certificates: that no shape is better is not known, and nothing was written: %.*s",
               TP_FMT(why));
        return TP_EXIT_UNKNOWN;
    }
    if (tp_write_file(x->c->arena, path, &text, 1, &why) == TP_OK)
        return TP_EXIT_OK;
    tp_say(stderr, "tileproof: --certificates: %.*s", TP_FMT(why));
    return TP_EXIT_INTERNAL;
}

static int exit_code(const tp_sweep *s)
{
    uint32_t legal = 0, unknown = 0;
    for (uint32_t i = 0; i < s->ncells; i++) {
        legal += s->cells[i].said.verdict == TP_CELL_LEGAL;
        unknown += s->cells[i].said.verdict == TP_CELL_UNKNOWN;
    }
    return s->internal_error ? TP_EXIT_INTERNAL : legal ? TP_EXIT_OK : unknown ? TP_EXIT_UNKNOWN : TP_EXIT_VIOLATED;
}

static int run(tp_cli *c)
{
    sweep_call *x = TP_NEW(c->arena, sweep_call);
    tp_strings paths = {0};
    int64_t threads, measure;
    tp_str why;
    x->c = c;
    tp_check_defaults(&x->lint, false);
    if (!tp_use_target(c, &x->lint.target) || !tp_use_budget(c, &x->lint) ||
        !tp_option_number(&c->jobs, "jobs", 0, 1024, 0, &threads) ||
        !tp_option_number(&c->measure, "measure", 0, TP_SWEEP_MAX, 0, &measure) || !tp_expand_paths(c, &paths))
        return TP_EXIT_USAGE;
    if (paths.len != 1)
        return tp_usage_error("sweep takes one spec");
    x->measure = (uint32_t)measure;
    tp_binding *sizes = TP_NEWN(c->arena, tp_binding, c->size.len + 1);
    if (!outputs_usable(c, paths.at[0]) || !tp_option_sizes(c, TP_SIZE_MAX, sizes))
        return TP_EXIT_USAGE;
    tp_job j = {.arena = tp_arena_child(c->arena)};
    tp_job_load(c, &j, paths.at[0], &x->lint);
    if (!j.report.valid)
        return tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    x->path = &j.source.path;
    if (!tp_sweep_read(c->arena, &j, c->over.at, c->over.len, &x->s, &why) ||
        !tp_sweep_model(&x->s, &j, sizes, c->size.len, &why))
        return tp_usage_error("%.*s", TP_FMT(why));
    tp_interrupt_allow();
#ifdef M_TRIM_THRESHOLD
    mallopt(M_TRIM_THRESHOLD, 64 << 20); /* each shape takes the memory that the one before gave back */
#endif
    go_through(x, threads ? (uint32_t)threads : tp_processors());
    format_of(c, "format", tp_option(&c->shapes, "table"))->write(&x->s, stdout);
    int code = exit_code(&x->s);
    if (tp_budget_interrupted()) {
        tp_say(stderr, "tileproof: interrupted: what was not looked at is unknown");
        code = TP_EXIT_INTERRUPTED;
    } else if (!write_outputs(x)) {
        code = TP_EXIT_INTERNAL;
    } else if (!x->s.internal_error) {
        int written = write_optimum(x, &j);
        code = code ? code : written;
    } else if (x->s.internal_error) {
        tp_say(stderr, "tileproof: memory ran out while a shape was checked: it is unknown");
    }
    tp_sweep_free(&x->s);
    return code;
}

const tp_command tp_command_sweep = {"sweep", 'w', "[OPTIONS] SPEC --over NAME=LOW:HIGH:STEP,NAME=A|B,…",
                                     "every combination of listed sizes, constants, dtypes and targets: legal? which "
                                     "rule forbids it? what does it cost?",
                                     run};
