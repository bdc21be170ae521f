/* Attacks on the words "proven" and "ok": settings, counts and the judge, which
 * is the whole program on one side and execution by the machine on the other. */
#ifndef TESTS_ATTACK_ATTACK_H
#define TESTS_ATTACK_ATTACK_H

#include "tests/unit/support.h"
#include "verify/verify.h"

/* What the program says of a spec, and what execution says. */
typedef struct judged {
    bool refused;  /* it is no valid spec */
    bool proven;   /* equal for all sizes, with the rules on which it rests, and no constants taken as equal */
    bool listed;   /* equal for all sizes, and the report lists constants that were taken as equal */
    bool masks;    /* … with finite masks for minus infinity */
    bool accused;  /* a rule or a case says that it is wrong */
    bool executed; /* some case ran to the end and was compared */
    bool refuted;  /* a case differs or traps: known by execution alone */
    bool disagree; /* the program itself saw that proof and execution disagree */
    char why[512]; /* the first finding that accuses, or what the reader says */
} judged;

typedef struct judging {
    tp_job *job;
    const tp_check_settings *s;
    judged *out;
} judging;

static inline void say(judged *out, const tp_finding *f)
{
    if (!out->why[0])
        snprintf(out->why, sizeof out->why, "%s: %.*s", f->rule, TP_FMT(f->message));
}

static inline void judge_by_proof(void *arg)
{
    judging *x = arg;
    tp_analysis_result r = {0};
    tp_analyze(x->job->arena, x->job->report.spec, &x->s->analysis, &r);
    tp_equality q = tp_check_equality(x->job->arena, x->job->report.spec, &x->s->analysis, &r.findings);
    x->out->proven = q.proven && !q.constants.len;
    x->out->masks = q.masks;
    x->out->listed = q.proven && q.constants.len;
    for (uint32_t i = 0; i < r.findings.len; i++)
        if (r.findings.at[i].verdict == TP_VIOLATED || r.findings.at[i].verdict == TP_VACUOUS) {
            x->out->accused = true;
            say(x->out, &r.findings.at[i]);
        }
}

/* The declared cases, and those that the program picks. */
static inline void judge_by_execution(void *arg)
{
    judging *x = arg;
    tp_arena *a = x->job->arena;
    tp_cases cases = tp_cases_read(&x->job->ctx, x->job->report.spec, (uint32_t)x->s->cases);
    tp_equiv *e = TP_NEW(a, tp_equiv);
    tp_equiv_run(a, &cases, &x->s->equiv, e);
    for (uint32_t i = 0; i < e->cases.len; i++) {
        const tp_case_result *r = &e->cases.at[i];
        x->out->refuted |= r->outcome == TP_TRAPPED || tp_equiv_refutes(r, x->out->masks);
        x->out->executed |= r->outcome == TP_EQUAL;
        x->out->accused |= r->outcome == TP_TRAPPED || r->outcome == TP_DIFFERENT;
        if (!x->out->why[0] && r->outcome == TP_TRAPPED)
            snprintf(x->out->why, sizeof x->out->why, "%s: %.*s", r->trap.rule, TP_FMT(r->trap.message));
        if (!x->out->why[0] && r->outcome == TP_DIFFERENT)
            snprintf(x->out->why, sizeof x->out->why, "a case differs: %.*s",
                     TP_FMT(r->outputs.len ? r->outputs.at[0].worst : TP_S("")));
    }
}

typedef enum ask { BY_PROOF = 1, BY_EXECUTION = 2, EXECUTE_PROVEN = 4 } ask;

/* `how`: a set of ask. Declared cases only, where there are some. */
static inline judged judge_text(const char *text, unsigned how)
{
    judged out = {0};
    tp_check_settings s;
    tp_job j = {.arena = tp_arena_new(0)};
    tp_check_defaults(&s, true);
    s.analysis.replay = NULL;
    s.equiv.max_memory = (size_t)1 << 30;
    s.equiv.max_steps = 200000;
    j.source = (tp_source){.path = TP_S("attack.tile.json"), .text = tp_str_c(text)};
    tp_job_begin(&j);
    tp_job_load_text(&j, TP_S(""));
    judging x = {&j, &s, &out};
    s.cases = j.report.valid && !tp_json_get(j.report.spec->doc, "cases") ? 2 : 0;
    if (!j.report.valid) {
        out.refused = true;
        if (j.report.findings.len)
            say(&out, &j.report.findings.at[0]);
    } else {
        if (how & (BY_PROOF | EXECUTE_PROVEN))
            out.refused |= tp_try(j.arena, judge_by_proof, &x) == TP_E_INPUT;
        if (!out.refused && ((how & BY_EXECUTION) || (out.proven && (how & EXECUTE_PROVEN))))
            out.refused |= tp_try(j.arena, judge_by_execution, &x) == TP_E_INPUT;
    }
    tp_job_free(&j);
    return out;
}

#endif
