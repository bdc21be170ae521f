#include "analyzer/claim/claim.h"

static void check(tp_analysis *a)
{
    for (uint32_t i = 0; i < tp_noperands(a->k); i++) {
        const tp_operand *o = &a->k->operands[i];
        bool aliased = false; /* it brings the output's contents */
        for (uint32_t k = a->k->ninputs; k < a->k->ninputs + a->k->noutputs; k++)
            aliased |= a->k->operands[k].alias == (int)i;
        if (o->role == TP_OUTPUT || aliased || tp_body_uses(a->k, i))
            continue;
        bool input = o->role == TP_INPUT;
        tp_advise(a, o->name, o->loc,
                  tp_message(a, "the body never uses %s `%.*s`", input ? "input" : "scratch", TP_FMT(o->name)),
                  input ? TP_S("use it, or remove it: its blocks are copied in although nothing reads them")
                        : TP_S("remove it"));
    }
}

const tp_rule tp_rule_tp604_unused_operand = {
    .code = "TP604",
    .slug = "unused-operand",
    .title = "inputs and scratch that the body never uses",
    .severity = TP_NOTE,
    .hardware = false,
    .per_dtype = false,
    .why = "The pipeline copies every input's blocks whether the body reads them or not, and gives them VMEM.",
    .bad = "\"inputs\": [x, y], \"kernel\": [\"o[...] = x[...]\"]",
    .good = "\"inputs\": [x], \"kernel\": [\"o[...] = x[...]\"]",
    .jax = "Nothing is reported.",
    .check = check,
};
