#include "analyzer/claim/claim.h"

static void check(tp_analysis *a)
{
    int cores = tp_target_cores(&a->k->target);
    for (uint32_t i = 0; i < a->k->naxes; i++) {
        const tp_axis *x = &a->k->axes[i];
        if (!x->per_core)
            continue;
        tp_claim c = {
            .goal = mk(a, TP_E_LE, x->steps, num(a, cores)),
            .subject = x->name,
            .loc = x->steps_loc,
            .proven = tp_message(a, "core_parallel axis `%.*s` has no more steps than %.*s runs cores", TP_FMT(x->name),
                                 TP_FMT(a->k->target.name)),
            .violated = tp_message(a, "core_parallel axis `%.*s` has more steps than the %d %s of %.*s",
                                   TP_FMT(x->name), cores, cores == 1 ? "core" : "cores", TP_FMT(a->k->target.name)),
            .label = TP_S("one index for each core"),
        };
        const int64_t *env;
        tp_finding *f = tp_claim_check(a, &c, &env);
        if (f->verdict != TP_VIOLATED)
            continue;
        f->help = TP_S("use `\"parallel\"`: its steps are shared out among the cores");
        tp_propose_semantics(a, f, i, "parallel");
    }
}

const tp_rule tp_rule_tp205_core_parallel = {
    .code = "TP205",
    .slug = "core-parallel",
    .title = "a core_parallel axis has at most one step for each core",
    .severity = TP_ERROR,
    .hardware = true,
    .why = "A core_parallel axis gives every core of a megacore chip one index; the compiler refuses more indices than "
           "cores. A parallel axis of any length is divided among them.",
    .bad = "{\"axis\": \"c\", \"steps\": 4, \"semantics\": \"core_parallel\"} on tpu-v5p",
    .good = "{\"axis\": \"c\", \"steps\": 2, \"semantics\": \"core_parallel\"}",
    .jax = "Lowering and both interpreters accept any length; only the TPU compiler refuses.",
    .check = check,
};
