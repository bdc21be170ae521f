/* One spec, from its text to its report. */
#include "base/budget.h"
#include "base/digest.h"
#include "reference/reference.h"
#include "spec/files.h"
#include "verify/verify.h"

void tp_job_begin(tp_job *j)
{
    j->ctx = (tp_ctx){.arena = j->arena, .source = &j->source};
    j->report = (tp_spec_report){.source = &j->source, .name = j->source.path};
}

void tp_job_add_spent(tp_job *j, const char *what, tp_str why)
{
    tp_finding f = {.rule = TP_RULE_BUDGET_SPENT,
                    .slug = "budget-spent",
                    .verdict = TP_UNKNOWN,
                    .severity = TP_WARNING,
                    .message = tp_printf(j->arena, "the check is incomplete: %s", what),
                    .reason = why};
    if (j->report.spec)
        f.loc = (tp_loc){j->report.spec->kernels[0]->doc->loc.start, j->report.spec->kernels[0]->doc->loc.start + 1,
                         TP_S("")};
    tp_push(j->arena, j->report.findings, f);
}

void tp_job_add_memory(tp_job *j, const char *message)
{
    tp_finding f = {.rule = TP_RULE_OUT_OF_MEMORY,
                    .slug = "out-of-memory",
                    .verdict = TP_UNKNOWN,
                    .severity = TP_WARNING,
                    .loc = {.pointer = TP_S("")},
                    .message = tp_str_c(message)};
    tp_push(j->arena, j->report.findings, f);
    j->report.internal_error = j->report.out_of_memory = true;
}

static void complete(void *arg)
{
    tp_job *j = arg;
    tp_source_complete(&j->ctx, &j->source);
}

void tp_job_load_text(tp_job *j, tp_str target)
{
    tp_load_options o = {.target = target};
    tp_spec *spec = NULL;
    tp_status st = j->source.kernel_file.n ? TP_OK : tp_try(j->arena, complete, j);
    j->report.sha256 = tp_sha256(j->arena, j->source.text);
    if (st == TP_OK)
        st = tp_spec_load(&j->ctx, &o, &spec);
    j->report.findings = j->ctx.findings;
    if (st == TP_E_BUDGET) {
        tp_job_add_spent(j, "the spec was not read", tp_budget_reason(j->arena, tp_arena_budget(j->arena)));
    } else if (st == TP_E_MEMORY) {
        tp_job_add_memory(j, "memory ran out while the spec was read");
    }
    if (st != TP_OK)
        return;
    j->report.valid = true;
    j->report.spec = spec;
    j->report.name = spec->name;
}

void tp_job_allow(tp_job *j, const tp_check_settings *s)
{
    if (tp_arena_budget(j->arena))
        return;
    tp_budget *b = TP_NEW(j->arena, tp_budget);
    tp_budget_begin(b, s->timeout, s->memory_mib);
    tp_arena_set_budget(j->arena, b);
}

void tp_job_note_cost(tp_job *j)
{
    tp_budget *b = tp_arena_budget(j->arena);
    if (!b)
        return;
    tp_budget_look(b);
    j->report.cpu_ms = b->seconds * 1e3;
    j->report.units = b->spent;
    j->report.most_units = b->timeout * TP_UNITS_PER_SECOND;
    j->report.memory = b->most_bytes;
}

void tp_job_free(tp_job *j)
{
    tp_arena_free(j->arena);
    j->arena = NULL;
}

void tp_check_defaults(tp_check_settings *s, bool execute)
{
    *s = (tp_check_settings){.execute = execute, .max_memory = (size_t)2048 << 20, .cases = 6, .box = 8};
    s->timeout = execute ? TP_VERIFY_SECONDS : TP_LINT_SECONDS;
    s->memory_mib = execute ? TP_VERIFY_MIB : TP_LINT_MIB;
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
        tp_raise(&j->ctx, TP_RULE_SPEC_NAME, tp_json_get(k->reference.builtin, "builtin")->loc, tp_buf_view(&names).p,
                 "there is no builtin reference \"%.*s\"", TP_FMT(k->reference.name));
    }
    const tp_json *const lists[] = {k->allow, k->expect};
    for (size_t l = 0; l < 2; l++)
        for (uint32_t i = 0; lists[l] && i < lists[l]->u.items.n; i++) {
            const tp_json *rule = tp_json_get(lists[l]->u.items.at[i], "rule");
            if (!tp_rule_find(rule->u.string) && !tp_code_find(rule->u.string))
                tp_raise(&j->ctx, TP_RULE_SPEC_NAME, rule->loc, "`tileproof rules` lists them",
                         "there is no rule \"%.*s\"", TP_FMT(rule->u.string));
        }
}

typedef struct phase_call {
    check_call *call;
    const tp_analysis_options *analysis;
    tp_analysis_result r;
    tp_equiv *e;
    tp_str spent; /* why not all of it was done; empty: it was */
} phase_call;

/* CPU of the spec so far, its threads and children included. */
static double cpu_ms(const tp_job *j)
{
    tp_budget *b = tp_arena_budget(j->arena);
    if (!b)
        return 0;
    tp_budget_look(b);
    return 1e3 * b->seconds;
}

/* The same since *start, which is now. */
static double ms_since(const tp_job *j, double *start)
{
    double from = *start;
    *start = cpu_ms(j);
    return *start - from;
}

static void analyse(void *arg)
{
    phase_call *p = arg;
    tp_job *j = p->call->job;
    double start = cpu_ms(j);
    tp_analyze(j->arena, j->report.spec, p->analysis, &p->r);
    j->report.tier_ms.rules = ms_since(j, &start);
}

/* Nothing that is still to be done would change what the caller asks. */
static bool is_settled(const tp_check_settings *s, const tp_equiv *e)
{
    return s->cases_only || (s->equiv.until_different && e->different);
}

/* For a thread that runs some of the cases. */
static const tp_spec *read_again(const void *ctx, tp_arena *a)
{
    const check_call *call = ctx;
    const tp_job *j = call->job;
    tp_ctx c = {.arena = a, .source = &j->source, .read_from = j->ctx.read_from, .nread_from = j->ctx.nread_from};
    tp_load_options o = {.target = call->s->target};
    tp_spec *spec = NULL;
    return tp_spec_load(&c, &o, &spec) == TP_OK ? spec : NULL;
}

static void run_cases(void *arg)
{
    phase_call *p = arg;
    tp_job *j = p->call->job;
    const tp_check_settings *s = p->call->s;
    const tp_team team = {.threads = s->threads,
                          .spec = j->report.spec,
                          .read = read_again,
                          .ctx = p->call,
                          .watch = s->watch,
                          .name = &j->source.path};
    tp_equiv_options side_by_side = s->equiv;
    side_by_side.team = s->equiv.until_different ? NULL : &team;
    tp_cases *cases = TP_NEW(j->arena, tp_cases);
    *cases = s->effort > 0 ? tp_cases_few(&j->ctx, j->report.spec, s->at, s->effort)
                           : tp_cases_read(&j->ctx, j->report.spec, (uint32_t)s->cases);
    tp_equiv_run(j->arena, cases, &side_by_side, p->e);
    if (!s->cases_only)
        tp_equiv_coverage(j->arena, cases, p->e);
    double start = cpu_ms(j);
    j->report.tier_ms.e1 = 1e3 * p->e->seconds.rounding;
    j->report.tier_ms.e2 = 1e3 * p->e->seconds.bits;
    j->report.tier_ms.e3 = 1e3 * p->e->seconds.algebra;
    if (p->e->equal && s->box && !is_settled(s, p->e))
        tp_equiv_box(&j->ctx, j->report.spec, (uint32_t)s->box, &side_by_side, p->e);
    j->report.tier_ms.e4 = ms_since(j, &start);
    p->spent = tp_budget_or(j->arena, (tp_str){NULL, 0});
}

static void prove_equality(void *arg)
{
    phase_call *p = arg;
    tp_job *j = p->call->job;
    double start = cpu_ms(j);
    j->report.equality = tp_check_equality(j->arena, j->report.spec, p->analysis, &p->r.findings);
    j->report.tier_ms.e5 = ms_since(j, &start);
    if (!p->call->s->proofs_only)
        tp_hold_equality_against_elements(j->arena, &j->report, p->call->s->equiv.seed);
    if (p->e)
        tp_search_far_case(j->arena, &j->report, &p->call->s->equiv, p->e);
    j->report.tier_ms.opinion = ms_since(j, &start);
}

/* Each with half of what is left. Where a phase was left in the middle, what it
 * has found by then stands, and the next one is tried. */
static void phase(phase_call *p, const char *what, void (*fn)(void *))
{
    tp_job *j = p->call->job;
    tp_budget *b = tp_arena_budget(j->arena);
    int64_t limit = tp_budget_share(b, 0.5);
    uint32_t place = tp_budget_at(b, what, (tp_str){NULL, 0});
    bool open = !b || b->end == TP_BUDGET_OPEN;
    p->spent = (tp_str){NULL, 0};
    tp_status st = open ? tp_try(j->arena, fn, p) : TP_E_BUDGET;
    if (st == TP_E_BUDGET)
        p->spent = tp_budget_reason(j->arena, b);
    else if (st != TP_OK)
        tp_leave(j->arena, st);
    if (p->spent.n)
        tp_job_add_spent(j, what, p->spent);
    tp_budget_back(b, place);
    tp_budget_close(b, limit);
}

static void check_phases(void *arg)
{
    check_call *call = arg;
    tp_job *j = call->job;
    const tp_check_settings *s = call->s;
    tp_analysis_options analysis = s->analysis;
    phase_call p = {.call = call, .analysis = &analysis};
    analysis.prover.solver = call->solver;
    analysis.prover.certificates = j->certificates;
    if (!analysis.prover.recall)
        analysis.prover.recall = j->recall = tp_recall_new(j->arena);
    check_registries(j);
    if (s->execute)
        phase(&p, "the rules", analyse);
    else
        analyse(&p);
    tp_analysis_result r = p.r;
    j->report.findings = r.findings;
    j->report.vmem = r.vmem;
    j->report.stats = r.stats;
    tp_add_assumed(j->arena, &j->report);
    if (r.contradiction)
        tp_hold_witnesses_against_runs(j->arena, &j->report);
    bool vacuous = false;
    for (uint32_t i = 0; i < r.findings.len; i++)
        vacuous |= r.findings.at[i].verdict == TP_VACUOUS;
    if (s->execute && s->proofs_only && !vacuous) {
        phase(&p, "the proof of equality", prove_equality);
    } else if (s->execute && !vacuous) {
        tp_equiv *e = p.e = TP_NEW(j->arena, tp_equiv);
        phase(&p, "the cases", run_cases);
        tp_str spent = p.spent;
        j->report.equiv = e;
        if (is_settled(s, e))
            return;
        phase(&p, "the proof of equality", prove_equality);
        if (is_settled(s, e))
            return;
        tp_add_execution_findings(j->arena, e, j->report.spec->kernels[0], &s->equiv, j->report.equality.proven, spent,
                                  &j->report.findings);
        tp_hold_proofs_against_runs(j->arena, &j->report, &r.findings);
        tp_add_missing_evidence(j->arena, &j->report, s->required);
    }
    tp_apply_waivers(j, s);
}

void tp_check_load(tp_job *j, const tp_check_settings *s)
{
    j->ctx.read_from = s->read_from;
    j->ctx.nread_from = s->nread_from;
    tp_job_allow(j, s);
    tp_job_load_text(j, s->target);
}

void tp_check_loaded(tp_job *j, const tp_check_settings *s, tp_solver *solver)
{
    check_call call = {j, s, solver};
    tp_status st = tp_try(j->arena, check_phases, &call);
    if (st == TP_E_INPUT) { /* a malformed case */
        j->report.findings = j->ctx.findings;
        j->report.valid = false;
        j->report.spec = NULL;
    } else if (st == TP_E_BUDGET) {
        tp_job_add_spent(j, "the rules", tp_budget_reason(j->arena, tp_arena_budget(j->arena)));
    } else if (st != TP_OK) {
        tp_job_add_memory(j, "memory ran out before the check was done");
    }
}

void tp_check_text(tp_job *j, const tp_check_settings *s, tp_solver *solver)
{
    tp_check_load(j, s);
    if (j->report.valid)
        tp_check_loaded(j, s, solver);
}

void tp_check_anew(tp_job *j, tp_arena *parent, tp_source source, const tp_check_settings *s, tp_solver *solver)
{
    *j = (tp_job){.arena = tp_arena_child(parent), .source = source};
    tp_job_begin(j);
    tp_check_text(j, s, solver);
}
