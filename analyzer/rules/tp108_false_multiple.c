#include "analyzer/flow/flow.h"

static void check_claimed(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    tp_claim c = tp_use_claim(a, f, u);
    c.goal = u->value;
    c.subject = a->k->name;
    c.proven = TP_S("what multiple_of() claims is so");
    c.violated = TP_S("what multiple_of() claims is not so");
    c.label = TP_S("the compiler takes this for a multiple");
    if (!u->value.id) {
        tp_use_unknown(a, &c, "what it is claimed of depends on data");
        return;
    }
    tp_finding *found = tp_claim_check(a, &c, NULL);
    if (found->verdict == TP_VIOLATED)
        found->help = TP_S("claim what is so, or promise it of a table in its \"values\"");
}

static void check(tp_analysis *a)
{
    const tp_flow *f = tp_flow_of(a);
    tp_flow_gave_up(a, f, true);
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        if (f->uses.at[i].kind == TP_USE_CLAIMED)
            check_claimed(a, f, &f->uses.at[i]);
}

const tp_rule tp_rule_tp108_false_multiple = {
    .code = "TP108",
    .slug = "false-multiple",
    .title = "what multiple_of claims of a start is so",
    .severity = TP_ERROR,
    .follows = true,
    .traps = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "The compiler believes pl.multiple_of: it drops what would have handled other starts, and a claim that is "
           "false reads and writes somewhere else.",
    .bad = "\"o[...] = x[ds(multiple_of(4 * i, 8), 8), :]\"",
    .good = "\"o[...] = x[ds(multiple_of(8 * i, 8), 8), :]\"",
    .jax = "Nothing is checked at any stage: interpreters ignore the claim, the compiler takes it for granted.",
    .trap_help = "claim what is so",
    .check = check,
};
