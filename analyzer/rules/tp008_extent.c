#include "analyzer/claim/claim.h"

/* `o` is not NULL: of parts, where they are equal (TP109). */
static void check_part(tp_analysis *a, const tp_operand *o, tp_expr e, int64_t least, tp_str subject, tp_loc loc,
                       const char *what)
{
    int64_t v;
    if (tp_expr_is_const(a->p, e, &v) && v >= least)
        return;
    tp_claim c = {
        .goal = mk(a, TP_E_GE, e, num(a, least)),
        .subject = subject,
        .loc = loc,
        .proven = tp_message(a, "%s of `%.*s` is at least %lld", what, TP_FMT(subject), (long long)least),
        .violated = tp_message(a, "%s of `%.*s` can be less than %lld", what, TP_FMT(subject), (long long)least),
        .label = tp_message(a, "%.*s", TP_FMT(tp_text(a, e))),
    };
    tp_expr equal[TP_MAX_RANK];
    c.premises = equal;
    for (uint32_t d = 0; o && o->global_shape && d < o->global_rank; d++) {
        tp_expr devices = tp_shards_of(a->k, o, d);
        equal[c.npremises++] = both(a, mk(a, TP_E_GE, devices, num(a, 1)), multiple(a, o->global_shape[d], devices));
        c.rests_on = TP_RULE_UNEQUAL_SHARDS;
    }
    tp_claim_check(a, &c, NULL);
}

static void check_extent(tp_analysis *a, tp_expr e, int64_t least, tp_str subject, tp_loc loc, const char *what)
{
    check_part(a, NULL, e, least, subject, loc, what);
}

/* Is it one of the extents that are checked with their operand? */
static bool is_of_operand(const tp_kernel *k, tp_expr e)
{
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        for (uint32_t d = 0; d < k->operands[i].rank; d++)
            if (tp_same(e, k->operands[i].shape[d]) || (k->operands[i].role != TP_SCRATCH && !k->operands[i].whole &&
                                                        tp_same(e, k->operands[i].dims[d].block)))
                return true;
    return false;
}

/* Values have their shapes in every step, whether or not a branch computes them. */
static void check_values(tp_analysis *a)
{
    const tp_program *p = a->k->body;
    TP_VEC(tp_expr) seen = {0};
    for (uint32_t v = 0; p && v < p->values.len; v++)
        for (uint32_t d = 0; d < p->values.at[v].rank; d++) {
            tp_expr e = p->values.at[v].dims[d];
            bool known = is_of_operand(a->k, e);
            for (uint32_t i = 0; i < seen.len && !known; i++)
                known = tp_same(seen.at[i], e);
            if (known)
                continue;
            tp_push(a->arena, seen, e);
            check_extent(a, e, 0, a->k->name, tp_json_get(a->k->doc, "kernel")->loc,
                         "a dimension of a value in the body");
        }
}

static void check(tp_analysis *a)
{
    const tp_kernel *k = a->k;
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_DERIVED)
            check_extent(a, k->sizes[i].expr, 0, k->sizes[i].name, k->sizes[i].loc, "the value");
    for (uint32_t i = 0; i < k->naxes; i++)
        check_extent(a, k->axes[i].steps, 0, k->axes[i].name, k->axes[i].steps_loc, "the number of steps");
    for (uint32_t i = 0, d; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        const tp_expr *whole = tp_global_shape(o); /* parts of what is not negative are not */
        for (o = tp_part_of_device(a->arena, o), d = 0; d < o->rank; d++) {
            check_extent(a, whole[d], 0, o->name, o->dims[d].shape_loc, tp_message(a, "dimension %u", d).p);
            if (o->role != TP_SCRATCH && !o->whole)
                check_part(a, &k->operands[i], o->dims[d].block, 1, o->name, o->dims[d].loc,
                           tp_message(a, "dimension %u of the block", d).p);
        }
    }
    check_values(a);
}

const tp_rule tp_rule_tp008_extent = {
    .code = "TP008",
    .slug = "extent",
    .title = "no negative dimension or step count, no block below 1",
    .severity = TP_ERROR,
    .for_equality = true,
    .why = "A negative shape or step count, or a block below 1, means nothing to the hardware. The same holds for the "
           "shape of a value in the body, in any branch.",
    .bad = "\"shape\": [\"M - 2\", 128]   with M >= 1",
    .good = "\"sizes\": {\"M\": {\"min\": 2}}",
    .jax = "An error while tracing, for the shape at hand only.",
    .check = check,
};
