#include "analyzer/flow/flow.h"

static bool loads_masked(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_COMPUTE && s->inst->prim == TP_P_MASKED_LOAD;
}

static void check(tp_analysis *a)
{
    if (a->k->body && tp_region_any(&a->k->body->statements, loads_masked, NULL))
        tp_check_leaks(a, "no masked-off lane reaches output");
}

const tp_rule tp_rule_tp503_undefined_source = {
    .code = "TP503",
    .slug = "undefined-source",
    .title = "no masked-off lane of a load and no cast out of range reaches a result or a decision",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "A masked load leaves the masked-off lanes undefined: registers keep whatever they held. A float-to-int "
           "conversion out of range is undefined, too; that half depends on data and is checked during execution.",
    .bad = "\"a = load(x[...], lane < N)\"   then \"o[...] = sum(a, axis=1)\"",
    .good = "\"a = load(x[...], lane < N, other=0)\"",
    .jax = "Nothing is reported: interpret=True loads the masked-off lanes anyway. The TPU interpreter and the TPU "
           "lowering "
           "have no masked loads; on GPUs the lanes stay undefined.",
    .trap_help = "say what masked-off lanes hold: `load(..., other=0)`",
    .made_help = "before the cast, clip to what the integer holds and keep nan out: `0 / 0` is one, so a divisor that "
                 "may be 0 needs a least value, as in `maximum(s, 1e-12)`",
    .check = check,
};
