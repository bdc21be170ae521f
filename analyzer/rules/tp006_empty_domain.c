#include "analyzer/claim/claim.h"

/* Which of the facts is it that leaves nothing? */
static void say_empty(tp_analysis *a, tp_loc loc, tp_decision d)
{
    unsigned guilty = 0;
    if (tp_domain_find(a, 0, NULL, 0, true).verdict == TP_VIOLATED)
        guilty = tp_domain_find(a, TP_FACT_F2, NULL, 0, true).verdict == TP_PROVEN ? TP_FACT_F2 : TP_FACT_F1;
    tp_finding *f = tp_add_finding(a, TP_VACUOUS, a->k->name, loc,
                                   guilty ? tp_message(a, "no sizes satisfy fact %s, %s: every claim would be vacuous",
                                                       tp_fact_names(guilty), tp_fact_text(guilty))
                                          : TP_S("no sizes satisfy the declared domain: every claim would be vacuous"));
    f->help = guilty ? TP_S("make the arrays smaller: device indices are int32")
                     : TP_S("widen \"sizes\" or drop a fact of \"where\"");
    f->grade = d.grade;
    a->vacuous = true;
}

/* "valid" that no element fulfils leaves nothing to read or to write. */
static void check_valid(tp_analysis *a, const tp_operand *o)
{
    tp_var vars[TP_MAX_RANK];
    tp_expr premises[TP_MAX_RANK + 1];
    tp_claim none = {.goal = num(a, 0), .subject = o->name};
    tp_name_element(a, o, &none, vars, premises);
    tp_prover *prover = a->prover; /* an element is found cheaply, or none is: no solver */
    a->prover = a->search;
    tp_decision d = tp_claim_decide(a, &none);
    a->prover = prover;
    if (d.verdict == TP_VIOLATED) {
        tp_add_finding(a, TP_PROVEN, o->name, o->valid_loc,
                       tp_message(a, "some element of `%.*s` is valid", TP_FMT(o->name)))
            ->grade = TP_GRADE_EXACT;
        return;
    }
    bool never = d.verdict == TP_PROVEN;
    tp_finding *f = tp_add_finding(
        a, never ? TP_VACUOUS : TP_UNKNOWN, o->name, o->valid_loc,
        never ? tp_message(a, "no element of `%.*s` is valid: claims about them would be vacuous", TP_FMT(o->name))
              : tp_message(a, "could not decide whether any element of `%.*s` is valid", TP_FMT(o->name)));
    f->grade = never ? d.grade : TP_GRADE_NONE;
    f->rests_on = never ? tp_claim_basis(a, &none) : (tp_str){NULL, 0};
    f->reason = never ? (tp_str){NULL, 0} : d.reason;
    f->help = TP_S("\"valid\" is a condition on sizes and the element's indices d0, d1, …");
}

static void check(tp_analysis *a)
{
    tp_loc loc = a->k->nwhere ? a->k->where[0].loc : a->k->nsizes ? a->k->sizes[0].loc : a->k->doc->loc;
    tp_decision d = tp_domain_find(a, TP_FACTS_ALL, NULL, 0, false);
    bool sparse = d.verdict == TP_UNKNOWN;
    if (sparse)
        d = tp_domain_find(a, TP_FACTS_ALL, NULL, 0, true);
    if (d.verdict == TP_PROVEN) {
        say_empty(a, loc, d);
        return;
    }
    if (d.verdict == TP_UNKNOWN) {
        a->queries = 0; /* nobody knows of what: solvers would search in vain */
        tp_finding *f = tp_add_finding(a, TP_UNKNOWN, a->k->name, loc,
                                       TP_S("could not decide whether any sizes satisfy the declared domain"));
        f->reason =
            tp_message(a, "neither a point nor a contradiction was found within the work budget of a domain: %.*s",
                       TP_FMT(d.reason));
        f->help = TP_S("use simpler facts, or list the values of sizes with \"in\"");
        return;
    }
    if (sparse)
        a->queries = 1;
    tp_add_finding(a, TP_PROVEN, a->k->name, loc, TP_S("the domain has points"))->grade = TP_GRADE_EXACT;
    if (a->k->ntables)
        tp_check_contents(a, d.env);
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs && !a->vacuous; i++)
        if (a->k->operands[i].valid.id)
            check_valid(a, &a->k->operands[i]);
}

const tp_rule tp_rule_tp006_empty_domain = {
    .code = "TP006",
    .slug = "empty-domain",
    .title = "the declared domain has at least one point, and some table contents satisfy the contracts",
    .severity = TP_ERROR,
    .for_equality = true,
    .why = "A claim over an empty domain is true and worthless. Facts or contracts that contradict each other would "
           "make every rule pass.",
    .bad = "\"sizes\": {\"M\": {\"min\": 1, \"max\": 100}}, \"where\": [\"M % 128 == 0\"]",
    .good = "\"sizes\": {\"M\": {\"min\": 1}}, \"where\": [\"M % 128 == 0\"]",
    .jax = "JAX has no symbolic domain: it sees one shape at a time.",
    .check = check,
};
