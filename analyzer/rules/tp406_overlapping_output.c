#include "analyzer/claim/claim.h"

/* Two steps have the same window, or windows apart in some dimension. Windows
 * that meet the array (TP101) and each other meet each other inside it. */
static void check_output(tp_analysis *a, const tp_operand *o)
{
    tp_expr premises[TP_GRANTED], same = num(a, 1), apart = num(a, 0);
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr here = tp_window_start(a, o, d), there = tp_at_step(a, here, 1), n = o->dims[d].block;
        same = both(a, same, mk(a, TP_E_EQ, here, there));
        apart = either(a, apart,
                       either(a, mk(a, TP_E_GE, mk(a, TP_E_SUB, here, there), n),
                              mk(a, TP_E_GE, mk(a, TP_E_SUB, there, here), n)));
    }
    tp_claim c = {.goal = either(a, same, apart),
                  .over_steps = true,
                  .premises = premises,
                  .subject = o->name,
                  .loc = o->dims[0].index_loc,
                  .proven = tp_message(a, "two windows of `%.*s` are equal or disjoint", TP_FMT(o->name)),
                  .violated = tp_message(a, "two different windows of `%.*s` overlap", TP_FMT(o->name)),
                  .note = TP_S("JAX does not report this at any stage")};
    c.extra = tp_step_vars(a, 1, &c.nextra);
    c.npremises = tp_meeting_windows(a, true, premises);
    c.rests_on = c.npremises ? TP_RULE_BLOCK_OUT_OF_BOUNDS : NULL;
    const int64_t *env;
    tp_finding *f = tp_claim_check(a, &c, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    f->witness->detail = tp_message(a, "its window overlaps the window of step %.*s", TP_FMT(tp_step_text(a, 1, env)));
    f->help = TP_S(
        "place the starts at least one window apart, or use a Blocked output and write only the step's own elements");
}

static void check(tp_analysis *a)
{
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++)
        if (tp_has_element_dims(&a->k->operands[i]) && !a->k->operands[i].discard)
            check_output(a, &a->k->operands[i]);
}

const tp_rule tp_rule_tp406_overlapping_output = {
    .code = "TP406",
    .slug = "overlapping-output",
    .title = "Element windows of an output are equal or disjoint",
    .severity = TP_ERROR,
    .traps = true,
    .for_equality = true,
    .why = "Each window is copied out as a whole when the grid leaves it. Where two of them overlap, the later copy "
           "overwrites what the earlier one wrote, garbage included.",
    .bad = "\"block_shape\": [{\"element\": 6}], \"index_map\": [\"i * 4\"]   on an output",
    .good = "\"block_shape\": [{\"element\": 4}], \"index_map\": [\"i * 4\"]",
    .jax = "Nothing is reported at any stage; the check for revisited blocks sees equal windows only.",
    .check = check,
};
