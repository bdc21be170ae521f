/* One spec, from its text to its report. */
#include "base/digest.h"
#include "reference/reference.h"
#include "verify/verify.h"

void tp_job_begin(tp_job *j)
{
    tp_arena_set_limit(j->arena, (size_t)4 << 30);
    j->ctx = (tp_ctx){.arena = j->arena, .source = &j->source};
    j->report = (tp_spec_report){.source = &j->source, .name = j->source.path};
}

void tp_job_load_text(tp_job *j, tp_str target)
{
    tp_load_options o = {.target = target};
    tp_spec *spec = NULL;
    j->report.sha256 = tp_sha256(j->arena, j->source.text);
    tp_status st = tp_spec_load(&j->ctx, &o, &spec);
    j->report.findings = j->ctx.findings;
    if (st == TP_E_MEMORY)
        j->report.internal_error = true;
    if (st != TP_OK)
        return;
    j->report.valid = true;
    j->report.spec = spec;
    j->report.name = spec->name;
}

void tp_job_free(tp_job *j)
{
    tp_arena_free(j->arena);
    j->arena = NULL;
}

void tp_check_defaults(tp_check_settings *s, bool execute)
{
    *s = (tp_check_settings){.execute = execute, .max_memory = (size_t)2048 << 20, .cases = 6, .box = 8};
    s->equiv = (tp_equiv_options){.max_memory = s->max_memory, .max_steps = TP_MAX_STEPS};
    s->analysis.only = tp_rules(&s->analysis.nonly);
    s->analysis.replay = tp_replay_witness;
    s->analysis.replay_ctx = &s->max_memory;
}

typedef struct check_call {
    tp_job *job;
    const tp_check_settings *s;
    tp_solver *solver;
} check_call;

/* What the reader of specs cannot know: the rules and the builtin references. */
static void check_registries(tp_job *j)
{
    const tp_kernel *k = j->report.spec->kernels[0];
    size_t n;
    if (k->reference.builtin && !tp_builtin_find(k->reference.name)) {
        const tp_builtin *const *all = tp_builtins(&n);
        tp_buf names = {.arena = j->arena};
        for (size_t i = 0; i < n; i++)
            tp_buf_printf(&names, "%s%s", i ? ", " : "there are ", all[i]->name);
        tp_raise(&j->ctx, "TP002", tp_json_get(k->reference.builtin, "builtin")->loc, tp_buf_view(&names).p,
                 "there is no builtin reference \"%.*s\"", TP_FMT(k->reference.name));
    }
    const tp_json *const lists[] = {k->allow, k->expect};
    for (size_t l = 0; l < 2; l++)
        for (uint32_t i = 0; lists[l] && i < lists[l]->u.items.n; i++) {
            const tp_json *rule = tp_json_get(lists[l]->u.items.at[i], "rule");
            if (!tp_rule_find(rule->u.string) && !tp_code_find(rule->u.string))
                tp_raise(&j->ctx, "TP002", rule->loc, "`tileproof rules` lists them", "there is no rule \"%.*s\"",
                         TP_FMT(rule->u.string));
        }
}

static void check_loaded(void *arg)
{
    check_call *call = arg;
    tp_job *j = call->job;
    const tp_check_settings *s = call->s;
    tp_analysis_options analysis = s->analysis;
    tp_analysis_result r = {0};
    analysis.prover.solver = call->solver;
    analysis.prover.certificates = j->certificates;
    check_registries(j);
    tp_analyze(j->arena, j->report.spec, &analysis, &r);
    j->report.findings = r.findings;
    j->report.vmem = r.vmem;
    j->report.stats = r.stats;
    if (r.contradiction)
        tp_hold_witnesses_against_runs(j->arena, &j->report);
    bool vacuous = false;
    for (uint32_t i = 0; i < r.findings.len; i++)
        vacuous |= r.findings.at[i].verdict == TP_VACUOUS;
    if (s->execute && s->proofs_only && !vacuous) {
        j->report.equality = tp_check_equality(j->arena, j->report.spec, &analysis, &r.findings);
    } else if (s->execute && !vacuous) {
        tp_equiv *e = TP_NEW(j->arena, tp_equiv);
        tp_cases *cases = TP_NEW(j->arena, tp_cases);
        *cases = tp_cases_read(&j->ctx, j->report.spec, (uint32_t)s->cases);
        tp_equiv_run(j->arena, cases, &s->equiv, e);
        tp_equiv_coverage(j->arena, cases, e);
        if (e->equal && s->box)
            tp_equiv_box(&j->ctx, j->report.spec, (uint32_t)s->box, &s->equiv, e);
        j->report.equiv = e;
        if (s->cases_only)
            return;
        j->report.equality = tp_check_equality(j->arena, j->report.spec, &analysis, &r.findings);
        tp_hold_equality_against_elements(j->arena, &j->report, s->equiv.seed);
        tp_add_execution_findings(j->arena, e, j->report.spec->kernels[0], &s->equiv, j->report.equality.proven,
                                  &j->report.findings);
        tp_hold_proofs_against_runs(j->arena, &j->report, &r.findings);
        tp_add_missing_evidence(j->arena, &j->report, s->required);
    }
    tp_apply_waivers(j, s);
}

void tp_check_text(tp_job *j, const tp_check_settings *s, tp_solver *solver)
{
    j->ctx.read_from = s->read_from;
    j->ctx.nread_from = s->nread_from;
    tp_job_load_text(j, s->target);
    if (!j->report.valid)
        return;
    check_call call = {j, s, solver};
    tp_status st = tp_try(j->arena, check_loaded, &call);
    if (st == TP_E_INPUT) { /* a malformed case */
        j->report.findings = j->ctx.findings;
        j->report.valid = false;
        j->report.spec = NULL;
    } else if (st != TP_OK) {
        tp_finding f = {.rule = "TP902",
                        .slug = "out-of-memory",
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .message = TP_S("memory ran out before the check was done")};
        tp_push(j->arena, j->report.findings, f);
        j->report.internal_error = true;
    }
}

void tp_check_anew(tp_job *j, tp_arena *parent, tp_source source, const tp_check_settings *s, tp_solver *solver)
{
    *j = (tp_job){.arena = tp_arena_child(parent), .source = source};
    tp_job_begin(j);
    tp_check_text(j, s, solver);
}
