#include "analyzer/claim/claim.h"

static void check_axis(tp_analysis *a, const tp_axis *x)
{
    tp_claim c = {
        .goal = mk(a, TP_E_GE, x->steps, num(a, 1)),
        .subject = x->name,
        .loc = x->steps_loc,
        .proven = tp_message(a, "axis `%.*s` has at least one step, or there is nothing to write", TP_FMT(x->name)),
        .violated = tp_message(a, "axis `%.*s` can have no steps although outputs have elements: they stay undefined",
                               TP_FMT(x->name)),
        .label = tp_message(a, "%.*s can be 0 or less", TP_FMT(tp_text(a, x->steps))),
    };
    tp_decision all = {.verdict = TP_PROVEN, .grade = TP_GRADE_CERT};
    tp_var vars[TP_MAX_RANK];
    tp_expr premises[TP_MAX_RANK + 1];
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs && all.verdict == TP_PROVEN; i++) {
        if (a->k->operands[i].discard || a->k->operands[i].alias >= 0)
            continue;
        tp_name_element(a, &a->k->operands[i], &c, vars, premises);
        tp_decision d = tp_claim_decide(a, &c);
        tp_grade grade = d.grade > all.grade ? d.grade : all.grade;
        all = d;
        all.grade = grade;
        tp_expr_node n = *tp_expr_get(a->p, x->steps);
        if (d.verdict != TP_VIOLATED)
            continue;
        tp_finding *f = tp_claim_record(a, &c, d, NULL);
        tp_claim fixed = c;
        fixed.goal = n.op == TP_E_FLOORDIV ? mk(a, TP_E_GE, mk(a, TP_E_CDIV, n.a, n.b), num(a, 1)) : num(a, 0);
        if (tp_claim_decide(a, &fixed).verdict != TP_PROVEN)
            continue;
        f->help = tp_message(a, "use `cdiv(%.*s, %.*s)` (re-checked: then at least one step)", TP_FMT(tp_text(a, n.a)),
                             TP_FMT(tp_text(a, n.b)));
        tp_propose_expr(a, f, x->steps_loc, tp_text(a, mk(a, TP_E_CDIV, n.a, n.b)));
    }
    if (all.verdict != TP_VIOLATED)
        tp_claim_record(a, &c, all, NULL);
}

static void check(tp_analysis *a)
{
    for (uint32_t i = 0; i < a->k->naxes; i++) {
        const tp_axis *x = &a->k->axes[i];
        int64_t steps;
        if (tp_expr_is_const(a->p, x->steps, &steps) && steps == 0)
            tp_add_finding(a, TP_VACUOUS, x->name, x->steps_loc,
                           tp_message(a, "axis `%.*s` has no steps: the kernel never runs", TP_FMT(x->name)));
        else
            check_axis(a, x);
    }
}

const tp_rule tp_rule_tp007_zero_step = {
    .code = "TP007",
    .slug = "zero-step",
    .title = "every grid axis has at least one step where outputs have elements",
    .severity = TP_ERROR,
    .for_equality = true,
    .why = "With a zero-step axis no step runs and the outputs are never written: the device returns whatever was in "
           "memory.",
    .bad = "{\"axis\": \"i\", \"steps\": \"M // 128\"}   with M >= 1: no step for M < 128",
    .good = "{\"axis\": \"i\", \"steps\": \"cdiv(M, 128)\"}",
    .jax = "pallas_call lowers and compiles an empty grid; nothing is reported.",
    .check = check,
};
