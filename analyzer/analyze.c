/* The rules, one after the other, on every dtype combination. */
#include "analyzer/analyze.h"
#include "analyzer/claim/claim.h"
#include "analyzer/flow/flow.h"
#include "analyzer/merge.h"
#include "base/budget.h"

#include "rules.inc" /* REGISTRY, sorted by code: file names sort that way */

static const double SHARE = 0.5; /* of the work that is left, for a rule; for the walk over the body: */
static const double FOLLOWING = 0.85;

const tp_rule *const *tp_rules(size_t *n)
{
    *n = REGISTRY_SIZE;
    return REGISTRY;
}

const tp_rule *tp_rule_find(tp_str name)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (tp_str_is(name, REGISTRY[i]->code) || tp_str_is(name, REGISTRY[i]->slug))
            return REGISTRY[i];
    return NULL;
}

const char *tp_equality_without(const tp_findings *findings)
{
    for (size_t r = 0; r < REGISTRY_SIZE; r++)
        for (uint32_t i = 0; REGISTRY[r]->for_equality && i < findings->len; i++) {
            const tp_finding *f = &findings->at[i];
            if (strcmp(f->rule, REGISTRY[r]->code) == 0 && f->verdict != TP_PROVEN && f->verdict != TP_ADVICE &&
                f->verdict != TP_NOT_APPLICABLE)
                return REGISTRY[r]->code;
        }
    return NULL;
}

static bool is_selected(const tp_analysis_options *o, const tp_rule *r)
{
    for (size_t i = 0; o->only && i < o->nonly; i++)
        if (o->only[i] == r)
            return true;
    return !o->only;
}

static void keep_open(tp_findings *f)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->len; i++)
        if (f->at[i].verdict != TP_PROVEN)
            f->at[n++] = f->at[i];
    f->len = n;
}

static void add_stats(tp_arena *arena, tp_prover_stats *to, const tp_prover_stats *s)
{
    if (s->disagreement.n)
        to->disagreement = tp_printf(arena, "%.*s", TP_FMT(s->disagreement));
    if (s->smt2_error.n)
        to->smt2_error = tp_printf(arena, "%.*s", TP_FMT(s->smt2_error));
    to->obligations += s->obligations;
    to->certified += s->certified;
    to->rejected += s->rejected;
    to->searched += s->searched;
    to->linear += s->linear;
    to->raw += s->raw;
    to->enumerated += s->enumerated;
    to->unknown += s->unknown;
}

/* The rule could not say all that it has to say. */
static void add_undecided(tp_analysis *a, const tp_rule *rule)
{
    a->rule = rule;
    tp_finding *f = tp_add_finding(a, TP_UNKNOWN, (tp_str){NULL, 0},
                                   (tp_loc){a->k->doc->loc.start, a->k->doc->loc.start + 1, TP_S("")},
                                   tp_message(a, "could not decide: %s", rule->title));
    f->reason = tp_budget_reason(a->arena, tp_arena_budget(a->arena));
}

/* How much is open: what is undecided counts more than what is violated. */
static uint32_t openness(const tp_findings *f, uint32_t from)
{
    enum { UNDECIDED = 1 << 16 };
    uint32_t n = 0;
    for (uint32_t i = from; i < f->len; i++)
        n += f->at[i].verdict == TP_UNKNOWN ? UNDECIDED : f->at[i].verdict == TP_VIOLATED;
    return n;
}

/* May another look change a verdict? Not that of a case that was executed, and trapped. */
static bool is_settled(const tp_findings *f, uint32_t from)
{
    for (uint32_t i = from; i < f->len; i++)
        if (f->at[i].verdict == TP_UNKNOWN ||
            (f->at[i].verdict == TP_VIOLATED &&
             !(f->at[i].witness && strcmp(f->at[i].witness->replay, "executed") == 0)))
            return false;
    return true;
}

static void check_once(void *arg)
{
    tp_analysis *a = arg;
    uint32_t from = a->out->findings.len;
    a->rule->check(a);
    tp_tell_only_trap(a, from);
}

/* What is not proven with all turns of a loop at once is asked again turn by turn. */
static void check_rule(void *arg)
{
    tp_analysis *a = arg;
    uint32_t from = a->out->findings.len;
    tp_analysis_result before = *a->out;
    a->flow_used = false;
    check_once(a);
    if (a->rule->as_written || !a->flow_used || is_settled(&a->out->findings, from) || !tp_flow_unroll(a))
        return;
    tp_analysis_result once = *a->out;
    *a->out = before;
    a->out->findings = (tp_findings){0}; /* a list of its own */
    for (uint32_t i = 0; i < from; i++)
        tp_push(a->arena, a->out->findings, before.findings.at[i]);
    tp_share share = {SHARE, a->rule->code, {NULL, 0}};
    tp_prover *prover = a->prover;
    tp_str why;
    if (!tp_within(a->arena, &share, check_once, a, &why) ||
        openness(&once.findings, from) < openness(&a->out->findings, from))
        *a->out = once;
    a->prover = prover;
    tp_flow_exchange(a);
}

/* Leaves nothing of an analysis that was left in the middle. */
static tp_analysis *begin_again(tp_analysis *old)
{
    tp_analysis *a = tp_analysis_begin(old->arena, old->k, old->o);
    a->out = old->out;
    a->earlier = old->earlier;
    a->queries = old->queries;
    add_stats(a->arena, &a->out->stats, tp_prover_get_stats(old->prover));
    tp_analysis_end(old);
    return a;
}

/* With a part of what is left. */
static tp_status run_in_share(tp_analysis *a, double part, const char *what, void (*fn)(void *))
{
    tp_budget *b = tp_arena_budget(a->arena);
    int64_t share = tp_budget_share(b, part);
    uint32_t place = tp_budget_at(b, what, (tp_str){NULL, 0});
    tp_prover *prover = a->prover;
    tp_status st = tp_try(a->arena, fn, a);
    a->prover = prover; /* left in the middle, it may stand for another one */
    if (st != TP_OK && st != TP_E_BUDGET)
        tp_leave(a->arena, st);
    tp_budget_back(b, place);
    tp_budget_close(b, share);
    return st;
}

static bool is_open(const tp_analysis *a)
{
    const tp_budget *b = tp_arena_budget(a->arena);
    return !b || b->end == TP_BUDGET_OPEN;
}

static void follow_body(void *analysis)
{
    tp_flow_of(analysis);
}

/* All rules share the walk over the body, so that it is not on the account of the first one that asks. */
static tp_analysis *follow_for_all(tp_analysis *a)
{
    if (!is_open(a) || !a->k->body || a->flow)
        return a;
    a->rule = NULL;
    tp_status st = run_in_share(a, FOLLOWING, "following the body", follow_body);
    return st == TP_E_BUDGET && is_open(a) ? begin_again(a) : a;
}

/* With half of what is left; what a rule may not spend is left to the others. */
static tp_analysis *run_rule(tp_analysis *a, const tp_rule *rule)
{
    if (rule->follows)
        a = follow_for_all(a);
    if (!is_open(a))
        return add_undecided(a, rule), a;
    a->rule = rule;
    tp_status st = run_in_share(a, SHARE, rule->code, check_rule);
    if (st == TP_E_BUDGET)
        add_undecided(a, rule);
    return st == TP_E_BUDGET && is_open(a) ? begin_again(a) : a;
}

static bool applies(const tp_analysis *a, const tp_rule *rule, uint32_t combination)
{
    return (combination == 0 || rule->per_dtype) && (!rule->hardware || a->k->target.checked);
}

/* The rule that is asked alone, first. True: what it finds is enough. */
static bool is_settled_alone(tp_analysis **a, const tp_analysis_options *o, tp_merger *alone)
{
    tp_analysis_result *out = (*a)->out;
    *a = run_rule(*a, o->alone);
    tp_merge((*a)->arena, alone, &out->findings);
    out->findings = (tp_findings){0};
    return o->enough_alone(o->enough_ctx, &alone->all);
}

void tp_analyze(tp_arena *arena, const tp_spec *s, const tp_analysis_options *o, tp_analysis_result *out)
{
    tp_merger all = {0}, alone = {0};
    bool enough = false;
    for (uint32_t c = 0; c < s->nkernels && !enough; c++) {
        tp_analysis *a = tp_analysis_begin(arena, s->kernels[c], o);
        a->out = out;
        a->earlier = &alone.all;
        out->findings = (tp_findings){0};
        enough = o->alone && applies(a, o->alone, c) && is_settled_alone(&a, o, &alone);
        a->earlier = &all.all;
        for (size_t r = 0; r < REGISTRY_SIZE && !a->vacuous && !enough; r++) {
            const tp_rule *rule = REGISTRY[r];
            uint32_t from = out->findings.len;
            bool asked = is_selected(o, rule);
            if ((!asked && r > 0) || !applies(a, rule, c))
                continue;
            a = run_rule(a, rule);
            if (!asked) /* TP006: on an empty domain nothing is proven, whatever was asked for */
                keep_open(&out->findings);
            enough = c == 0 && o->enough && o->enough(o->enough_ctx, &out->findings, from);
        }
        add_stats(arena, &out->stats, tp_prover_get_stats(a->prover));
        tp_analysis_end(a);
        tp_merge(arena, &all, &out->findings);
        if (a->vacuous)
            break;
    }
    out->findings = tp_merged_findings(arena, &all);
}

static bool is_wait(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_COPY_WAIT;
}

bool tp_waits_name_copies(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o)
{
    if (!k->body || !tp_region_any(&k->body->statements, is_wait, NULL))
        return false;
    tp_analysis *a = tp_analysis_begin(arena, k, o);
    bool named = tp_try(arena, follow_body, a) == TP_OK && !a->stores_at_start;
    tp_analysis_end(a);
    return named;
}
