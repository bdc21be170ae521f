#include "analyzer/internal.h"

static void check(tp_analysis *a)
{
    tp_expr facts[TP_MAX_FACTS];
    tp_claim c = {.goal = num(a, 0)}, with_facts = {.goal = num(a, 0),
                                                    .premises = facts,
                                                    .npremises = tp_dimension_facts(a, facts, TP_MAX_FACTS)};
    tp_loc loc = a->k->nwhere ? a->k->where[0].loc : a->k->nsizes ? a->k->sizes[0].loc : a->k->doc->loc;
    tp_decision d = tp_claim_decide(a, &c);
    bool some = d.verdict == TP_VIOLATED; /* a point was found */
    if (some)
        d = tp_claim_decide(a, &with_facts);
    if (d.verdict == TP_VIOLATED) {
        tp_finding *f = tp_add_finding(a, TP_PROVEN, a->k->name, loc, TP_S("the domain has points that satisfy F2"));
        f->grade = TP_GRADE_EXACT;
        return;
    }
    if (d.verdict == TP_PROVEN) {
        tp_finding *f = tp_add_finding(
            a, TP_VACUOUS, a->k->name, loc,
            some ? TP_S("no sizes satisfy fact F2, every array dimension is at most 2^30: every claim would be empty")
                 : TP_S("no sizes satisfy the declared domain: every claim would be empty"));
        f->help = some ? TP_S("make the arrays smaller: device indices are int32")
                       : TP_S("widen \"sizes\" or drop a fact of \"where\"");
        f->grade = d.grade;
        a->vacuous = true;
        return;
    }
    tp_finding *f = tp_add_finding(a, TP_UNKNOWN, a->k->name, loc,
                                   TP_S("could not decide whether any sizes satisfy the declared domain"));
    f->reason = tp_message(a, "%.*s", TP_FMT(d.reason));
}

const tp_rule tp_rule_tp006_empty_domain = {
    .code = "TP006",
    .slug = "empty-domain",
    .title = "the declared sizes and facts have at least one point",
    .severity = TP_ERROR,
    .why = "A claim over no sizes is true and worthless. Facts that exclude each other would make every rule pass.",
    .bad = "\"sizes\": {\"M\": {\"min\": 1, \"max\": 100}}, \"where\": [\"M % 128 == 0\"]",
    .good = "\"sizes\": {\"M\": {\"min\": 1}}, \"where\": [\"M % 128 == 0\"]",
    .jax = "JAX has no symbolic domain: it sees one shape at a time.",
    .check = check,
};
