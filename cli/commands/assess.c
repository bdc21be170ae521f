/* Is a kernel worth its code? Keep, experimental or drop, with the reasons. */
#include <stdio.h>

#include "base/budget.h"
#include "cli/assess.h"
#include "cli/cli.h"
#include "cli/watchdog.h"
#include "reference/reference.h"
#include "report/usual.h"

typedef struct assess_call {
    tp_cli *c;
    tp_job *j;
    tp_binding *sizes; /* of --size */
    tp_assessment x;
    tp_str text, usage; /* usage: what is wrong with the command line */
    bool json;
    uint32_t runs; /* on this machine */
} assess_call;

_Noreturn static void refuse(assess_call *r, tp_str why)
{
    r->usage = why;
    tp_leave(r->j->arena, TP_E_INPUT);
}

/* ---- the model ---- */

static bool unknown(tp_kernel_assessment *at, tp_str why)
{
    at->why = why;
    return false;
}

static bool measure(assess_call *r, tp_kernel_assessment *at, const tp_case *one)
{
    tp_arena *a = r->j->arena;
    const tp_kernel *k = at->kernel;
    tp_str why = {NULL, 0};
    tp_cost *cost = tp_cost_new(a, k);
    tp_cost_numbers n = tp_cost_at(cost, a, &(tp_cost_request){.env = one->env});
    tp_cost_model m = tp_cost_on(cost, &n, &k->target);
    if (!m.known || !m.pipelined)
        return unknown(at, m.why.n ? m.why : TP_S("how steps follow each other is not counted"));
    const tp_program *reference = tp_reference_program(a, k, &why);
    if (!reference)
        return unknown(at, why.n ? why : TP_S("the spec has no reference"));
    at->baseline = tp_cost_baseline_of(cost, a, reference, one->env, &k->target);
    if (!at->baseline.known)
        return unknown(at, at->baseline.why);
    at->steps = n.steps.n;
    at->moved = (double)n.bytes_in.n + (double)n.bytes_out.n;
    at->once = (double)n.ideal_in.n + (double)n.ideal_out.n;
    at->bound = m.bound;
    at->seconds = m.issued;
    at->issue = m.issued - m.pipeline;
    if (at->seconds <= 0)
        return unknown(at, TP_S("nothing runs at these sizes"));
    at->gain = at->baseline.seconds / at->seconds;
    return true;
}

static void add_kernel(assess_call *r, const tp_kernel *k)
{
    tp_kernel_assessment at = {.kernel = k};
    tp_str wrong = tp_option_sizes_wrong(r->c, r->sizes, k);
    if (wrong.n)
        refuse(r, wrong);
    tp_case one = {.kernel = k, .env = tp_usual_sizes(r->j->arena, k, r->sizes, r->c->size.len)};
    if (!one.env) {
        at.why = TP_S("the spec allows none of the sizes that were tried: give --size NAME=VALUE");
        at.text = TP_S("usual sizes");
    } else {
        at.env = one.env;
        at.text = tp_case_text(r->j->arena, &one);
        at.known = tp_case_tables(&r->j->ctx, k, &one, NULL)
                       ? measure(r, &at, &one)
                       : unknown(&at, TP_S("no contents of the tables were found that satisfy the contracts"));
    }
    at.here.runs = r->runs;
    if (r->runs && (r->x.counts.violated || r->x.counts.vacuous))
        at.here.why = TP_S("a rule is violated");
    else if (r->runs)
        tp_measure_here(&r->j->ctx, r->j->report.spec, k, r->sizes, r->c->size.len, &at.here);
    tp_push(r->j->arena, r->x.at, at);
}

static void work(void *arg)
{
    assess_call *r = arg;
    const tp_spec *s = r->j->report.spec;
    r->x.arena = r->j->arena;
    r->x.report = &r->j->report;
    r->x.counts = tp_count(&r->j->report);
    for (uint32_t i = 0; i < s->nkernels; i++)
        add_kernel(r, s->kernels[i]);
    if (r->j->report.equiv)
        r->x.open = tp_tiers_open_text(r->j->arena, r->j->report.equiv);
    tp_assess(&r->x);
    r->text = r->json ? tp_assessment_json(&r->x) : tp_assessment_text(&r->x);
}

/* ---- the command ---- */

static int exit_code_of(const assess_call *r)
{
    if (r->j->report.internal_error)
        return TP_EXIT_INTERNAL;
    if (r->x.counts.violated || r->x.counts.vacuous)
        return TP_EXIT_VIOLATED;
    return r->x.counts.unknown ? TP_EXIT_UNKNOWN : TP_EXIT_OK;
}

static int finish(assess_call *r, tp_status st)
{
    tp_str path = r->j->source.path;
    if (st == TP_OK) {
        fwrite(r->text.p, 1, r->text.n, stdout);
        return exit_code_of(r);
    }
    if (r->usage.n)
        return tp_usage_error("%.*s: %.*s", TP_FMT(path), TP_FMT(r->usage));
    tp_say(stderr, "tileproof: %.*s: %.*s", TP_FMT(path), TP_FMT(tp_budget_or(r->c->arena, TP_S("memory ran out"))));
    return st == TP_E_BUDGET ? TP_EXIT_UNKNOWN : TP_EXIT_INTERNAL;
}

static bool read_options(tp_cli *c, assess_call *r, tp_check_settings *s)
{
    tp_str format = tp_option(&c->costs, "full");
    int64_t percent, runs;
    r->json = tp_str_is(format, "json");
    if (!r->json && !tp_str_is(format, "full")) {
        tp_usage_error("--format: assess has no format `%.*s`; it has full and json", TP_FMT(format));
        return false;
    }
    tp_check_defaults(s, true);
    s->read_from = c->allow_path.at;
    s->nread_from = c->allow_path.len;
    r->sizes = TP_NEWN(c->arena, tp_binding, c->size.len);
    if (!tp_option_sizes(c, INT64_MAX, r->sizes) || !tp_use_budget(c, s) || !tp_use_target(c, &s->target) ||
        !tp_option_number(&c->gain, "gain", 0, 1000000, 10, &percent) ||
        !tp_option_number(&c->runs, "runs", 0, 1000, 0, &runs))
        return false;
    r->runs = (uint32_t)runs;
    r->x.least_gain = 1 + (double)percent / 100;
    return true;
}

static int run(tp_cli *c)
{
    tp_strings files = {0};
    tp_job j = {0};
    assess_call r = {.c = c, .j = &j};
    tp_check_settings s;
    tp_watched_thread watched = tp_watched_here();
    tp_watchdog guard;
    if (!read_options(c, &r, &s) || !tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    if (files.len != 1)
        return tp_usage_error("assess takes one spec, not %u", files.len);
    tp_progress progress = {.shown = false};
    tp_watchdog_start(&guard, &watched, 1, s.timeout, &progress);
    tp_watched_begin(&watched, &files.at[0]);
    tp_job_load(c, &j, files.at[0], &s);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK) {
        tp_solver *solver = tp_solver_new(c->arena);
        tp_check_loaded(&j, &s, solver);
        tp_solver_free(solver);
        /* a case against the contracts is found only now */
        code = j.report.spec ? finish(&r, tp_try(j.arena, work, &r)) : tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    }
    tp_watchdog_stop(&guard);
    tp_job_free(&j);
    return code;
}

const tp_command tp_command_assess = {
    "assess", 'A', "[OPTIONS] SPEC",
    "verify a kernel, hold it against its reference in the model, and advise: keep, experimental or drop", run};
