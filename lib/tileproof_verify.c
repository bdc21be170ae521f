/* include/tileproof_verify.h over verify/. */
#include "include/tileproof_verify.h"

#include "lib/handle.h"
#include "verify/verify.h"

typedef struct verify_call {
    tileproof_kernel *h;
    const tileproof_verify_options *o;
    tp_listener listener;
    tp_job job;
    tp_solver *solver;
    tileproof_status result;
} verify_call;

static bool is_told(const tp_finding *f, const tileproof_verify_options *o)
{
    return !f->suppressed && (!tp_verdict_settled(f->verdict) || (o->report_proven && f->verdict == TP_PROVEN));
}

static void verify(void *arg)
{
    verify_call *c = arg;
    tp_check_settings s;
    tp_report report = {.arena = c->job.arena, .unknown = TP_UNKNOWN_FAIL};
    tp_check_defaults(&s, !c->o->lint_only);
    s.target = c->h->target;
    if (c->o->cases)
        s.cases = c->o->cases;
    if (c->o->max_memory)
        s.max_memory = s.equiv.max_memory = c->o->max_memory;
    s.equiv.seed = c->o->seed;
    s.analysis.prover.rlimit = c->o->rlimit;
    c->solver = tp_solver_new(c->job.arena);
    tp_job_begin(&c->job);
    tp_check_text(&c->job, &s, c->solver);
    tp_push(c->job.arena, report.specs, c->job.report);
    for (uint32_t i = 0; i < c->job.report.findings.len; i++)
        if (is_told(&c->job.report.findings.at[i], c->o))
            tp_tell_finding(c->job.arena, &c->listener, &c->job.source, &c->job.report.findings.at[i]);
    switch (tp_report_exit_code(&report)) {
    case TP_EXIT_OK: c->result = TILEPROOF_OK; break;
    case TP_EXIT_VIOLATED: c->result = TILEPROOF_VIOLATED; break;
    case TP_EXIT_UNKNOWN: c->result = TILEPROOF_UNKNOWN; break;
    case TP_EXIT_INPUT: c->result = TILEPROOF_INPUT; break;
    default: c->result = TILEPROOF_INTERNAL; break;
    }
}

tileproof_status tileproof_verify(tileproof_kernel *kernel, const tileproof_verify_options *options,
                                  tileproof_sink sink, void *context)
{
    static const tileproof_verify_options DEFAULTS = {0};
    verify_call c = {.h = kernel, .o = options ? options : &DEFAULTS, .listener = {sink, context}};
    if (!kernel)
        return TILEPROOF_USAGE;
    c.job = (tp_job){.arena = tp_arena_new((size_t)4 << 30), .source = kernel->source};
    if (!c.job.arena)
        return TILEPROOF_MEMORY;
    tp_status st = tp_try(c.job.arena, verify, &c);
    if (c.solver)
        tp_solver_free(c.solver);
    tp_job_free(&c.job);
    if (st != TP_OK)
        return tp_public_status(st);
    kernel->verified |= c.result == TILEPROOF_OK && !c.o->lint_only;
    return c.result;
}
