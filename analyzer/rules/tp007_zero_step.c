#include "analyzer/internal.h"

static void check(tp_analysis *a)
{
    const tp_kernel *k = a->k;
    tp_expr empty = num(a, 1); /* every output has no elements */
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        tp_expr none = num(a, 0);
        for (uint32_t d = 0; d < k->operands[i].rank; d++)
            none = either(a, none, mk(a, TP_E_EQ, k->operands[i].shape[d], num(a, 0)));
        empty = both(a, empty, none);
    }
    for (uint32_t i = 0; i < k->naxes; i++) {
        const tp_axis *x = &k->axes[i];
        int64_t steps;
        if (tp_expr_is_const(a->p, x->steps, &steps) && steps == 0) {
            tp_add_finding(a, TP_VACUOUS, x->name, x->steps_loc,
                           tp_message(a, "axis `%.*s` has no steps: the kernel never runs", TP_FMT(x->name)));
            continue;
        }
        tp_claim c = {
            .goal = either(a, mk(a, TP_E_GE, x->steps, num(a, 1)), empty),
            .subject = x->name,
            .loc = x->steps_loc,
            .proven = tp_message(a, "axis `%.*s` has at least one step, or there is nothing to write", TP_FMT(x->name)),
            .violated = tp_message(a, "axis `%.*s` can have no steps while outputs have elements: they stay undefined",
                                   TP_FMT(x->name)),
            .label = tp_message(a, "%.*s can be 0 or less", TP_FMT(tp_text(a, x->steps))),
        };
        tp_finding *f = tp_claim_check(a, &c, NULL);
        tp_expr_node n = *tp_expr_get(a->p, x->steps);
        if (f->verdict == TP_VIOLATED && n.op == TP_E_FLOORDIV) {
            tp_claim fixed = c;
            fixed.goal = either(a, mk(a, TP_E_GE, mk(a, TP_E_CDIV, n.a, n.b), num(a, 1)), empty);
            if (tp_claim_decide(a, &fixed).verdict == TP_PROVEN)
                f->help = tp_message(a, "use \"cdiv(%.*s, %.*s)\" (re-checked: then at least one step)",
                                     TP_FMT(tp_text(a, n.a)), TP_FMT(tp_text(a, n.b)));
        }
    }
}

const tp_rule tp_rule_tp007_zero_step = {
    .code = "TP007",
    .slug = "zero-step",
    .title = "every grid axis has at least one step where outputs have elements",
    .severity = TP_ERROR,
    .why = "With a zero-step axis no step runs and the outputs are never written: the device returns whatever was in "
           "memory.",
    .bad = "{\"axis\": \"i\", \"steps\": \"M // 128\"}   with M >= 1: no step for M < 128",
    .good = "{\"axis\": \"i\", \"steps\": \"cdiv(M, 128)\"}",
    .jax = "pallas_call lowers and compiles an empty grid; nothing is reported.",
    .check = check,
};
