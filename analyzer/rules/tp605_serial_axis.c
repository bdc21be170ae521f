#include "base/budget.h"
#include "cost/advice.h"
#include "cost/text.h"

#include "rules.inc"

/* Is nothing open? */
static bool is_sound(const tp_findings *f)
{
    for (uint32_t i = 0; i < f->len; i++)
        if (!tp_verdict_settled(f->at[i].verdict) && f->at[i].verdict != TP_ADVICE)
            return false;
    return true;
}

/* The kernel as if one more axis were parallel, under the rules that say what may then go wrong. */
typedef struct trial {
    tp_analysis *under; /* whoever asks ends it: the budget may end in the middle */
    bool holds;         /* all of them are proven */
} trial;

/* Every rule that the machine traps on: what none of them forbids has one result, in any order of parallel steps. */
static void try_parallel(void *arg)
{
    trial *t = arg;
    bool holds = true;
    for (size_t r = 0; r < REGISTRY_SIZE && holds; r++) {
        if (!REGISTRY[r]->traps)
            continue;
        t->under->rule = REGISTRY[r];
        t->under->rule->check(t->under);
        holds = is_sound(&t->under->out->findings);
    }
    t->holds = holds;
}

static bool could_be_parallel(tp_analysis *a, uint32_t axis)
{
    tp_kernel other = *a->k;
    tp_analysis_options options = *a->o;
    tp_analysis_result result = {.findings = {0}};
    const tp_findings none = {0};
    tp_str why;
    other.axes = TP_NEWN(a->arena, tp_axis, other.naxes);
    memcpy(other.axes, a->k->axes, other.naxes * sizeof *other.axes);
    other.axes[axis].parallel = true;
    options.listener = NULL;
    options.refuted = NULL;
    options.replay = NULL;
    options.verdicts_only = true;
    options.prover.smt2_dir = NULL;
    trial t = {.under = tp_analysis_begin(a->arena, &other, &options)};
    t.under->out = &result;
    t.under->earlier = &none;
    tp_share share = {0.5, a->rule->code, a->k->axes[axis].name};
    bool holds = tp_within(a->arena, &share, try_parallel, &t, &why) && t.holds;
    tp_analysis_end(t.under);
    return holds;
}

/* The slowest axis of several steps; naxes: there is none. */
static uint32_t leading_axis(tp_analysis *a, const int64_t *env, int64_t *steps)
{
    uint32_t x = 0;
    while (x < a->k->naxes && tp_expr_eval(a->p, a->k->axes[x].steps, env, steps) == TP_EVAL_OK && *steps == 1)
        x++;
    return x;
}

static void check(tp_analysis *a)
{
    enum { LEAST = 4 }; /* steps that are worth a second core */
    int cores = tp_target_cores(&a->k->target);
    int64_t *env = cores > 1 && a->k->body && is_sound(&a->out->findings) ? tp_advice_sizes(a) : NULL, steps = 0;
    uint32_t x = env ? leading_axis(a, env, &steps) : a->k->naxes;
    if (x == a->k->naxes || a->k->axes[x].parallel || steps < LEAST || !could_be_parallel(a, x))
        return;
    const tp_axis *axis = &a->k->axes[x];
    int64_t each = (steps + cores - 1) / cores;
    tp_str sizes = tp_sizes_text(a->arena, a->k, env);
    tp_finding *f =
        tp_advise(a, axis->name, axis->loc,
                  tp_message(a, "axis `%.*s` could be parallel: one of the %d cores of %.*s makes all its steps",
                             TP_FMT(axis->name), cores, TP_FMT(a->k->target.name)),
                  tp_message(a, "declare `%.*s` `\"parallel\"`", TP_FMT(axis->name)));
    f->note = tp_message(a,
                         "%lld of %lld steps for each core%s%.*s. Proven for all sizes: every rule that the machine "
                         "traps on holds with this axis parallel, too",
                         (long long)each, (long long)steps, sizes.n ? ", at " : "", TP_FMT(sizes));
    tp_propose_semantics(a, f, x, "parallel");
}

const tp_rule tp_rule_tp605_serial_axis = {
    .code = "TP605",
    .slug = "serial-axis",
    .title = "a leading axis that could be shared out among the cores, and is not",
    .severity = TP_NOTE,
    .hardware = true,
    .per_dtype = false,
    .why = "A megacore chip (v4, v5p) divides the steps of leading parallel axes among its two cores. Axes are "
           "sequential unless they are declared parallel: then one core does everything.",
    .bad = "{\"axis\": \"i\", \"steps\": \"cdiv(M, bm)\"}   on tpu-v5p, where each step has an output block of its own",
    .good = "{\"axis\": \"i\", \"steps\": \"cdiv(M, bm)\", \"semantics\": \"parallel\"}",
    .jax = "Nothing is reported.",
    .check = check,
};
