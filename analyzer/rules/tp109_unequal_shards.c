#include "analyzer/claim/claim.h"

/* M % (R * C) == 0: devices have parts, and all parts of the dimension are equal. */
static void check_dimension(tp_analysis *a, const tp_operand *o, uint32_t d, tp_loc loc)
{
    tp_expr shards = tp_shards_of(a->k, o, d), extent = o->global_shape[d];
    tp_claim c = {
        .goal = both(a, mk(a, TP_E_GE, shards, num(a, 1)), multiple(a, extent, shards)),
        .subject = o->name,
        .loc = loc,
        .proven = tp_message(a, "dimension %u of `%.*s` is cut into equal parts", d, TP_FMT(o->name)),
        .violated = tp_message(a, "dimension %u of `%.*s` is not always cut into equal parts", d, TP_FMT(o->name)),
        .label =
            tp_message(a, "%.*s elements for %.*s devices", TP_FMT(tp_text(a, extent)), TP_FMT(tp_text(a, shards))),
    };
    const int64_t *env;
    tp_finding *f = tp_claim_check(a, &c, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    int64_t elements, devices;
    if (tp_expr_eval(a->p, extent, env, &elements) == TP_EVAL_OK &&
        tp_expr_eval(a->p, shards, env, &devices) == TP_EVAL_OK)
        f->witness->detail = tp_message(a, "%lld elements, %lld devices", (long long)elements, (long long)devices);
    tp_str fact = tp_text(a, multiple(a, extent, shards));
    f->help = tp_message(a, "add `%.*s` to \"where\"", TP_FMT(fact));
    tp_propose_where(a, f, fact);
}

static void check(tp_analysis *a)
{
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        for (uint32_t d = 0; o->global_shape && d < o->rank; d++)
            if (tp_is_cut(o, d) && (d == 0 || o->global_dim[d - 1] != o->global_dim[d]))
                check_dimension(a, o, o->global_dim[d], o->dims[d].loc);
    }
}

const tp_rule tp_rule_tp109_unequal_shards = {
    .code = "TP109",
    .slug = "unequal-shards",
    .title = "devices divide each dimension that is cut among them",
    .severity = TP_ERROR,
    .for_equality = true,
    .why = "shard_map gives each device an equal part of an array: there are no shards of different sizes.",
    .bad = "\"shape\": [\"M\", \"K\"], \"shard\": [\"d\", null]   with any M",
    .good = "\"where\": [\"M % D == 0\"]",
    .jax = "shard_map raises while tracing, for the shape at hand only.",
    .check = check,
};
