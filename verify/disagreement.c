/* Proofs held against executions. Where they say opposite things one of the two
 * is wrong, and it is this program: an internal error, whatever the kernel is. */
#include "spec/facts.h"
#include "verify/opinion.h"
#include "verify/verify.h"

void tp_add_disagreement(tp_arena *a, tp_spec_report *r, const tp_disagreement *d)
{
    const tp_kernel *k = r->spec->kernels[0];
    tp_finding f = {.rule = TP_RULE_DISAGREEMENT,
                    .slug = tp_code_find(TP_S(TP_RULE_DISAGREEMENT))->slug,
                    .verdict = TP_VIOLATED,
                    .severity = TP_ERROR,
                    .subject = d->subject,
                    .witness = d->witness,
                    .loc = {k->doc->loc.start, k->doc->loc.start + 1, TP_S("")},
                    .help = TP_S("please report it, with the spec; until then no proof about this kernel counts")};
    f.message = tp_printf(a, "internal error: proof and execution disagree: %.*s%s%.*s", TP_FMT(d->proof),
                          d->proof.n ? " is proven, and " : "", TP_FMT(d->execution));
    tp_push(a, r->findings, f);
    r->internal_error = true;
    if (r->equality.proven)
        r->equality = (tp_equality){.reason = TP_S("internal error: proof and execution disagree")};
}

/* ---- equality for all sizes ---- */

/* What the case shows: the numbers of E1, or those of E2. */
static tp_str difference_text(tp_arena *a, const tp_case_result *r)
{
    for (uint32_t i = 0; i < r->outputs.len; i++) {
        const tp_output_diff *d = &r->outputs.at[i];
        if (d->tier == TP_TIER_DIFFERENT)
            return tp_printf(a, "%.*s is %.9g, the reference says %.9g", TP_FMT(d->worst), d->got, d->want);
    }
    return tp_printf(a, "%.*s is %.9g on integer inputs, the reference says %.9g", TP_FMT(r->bits.worst), r->bits.got,
                     r->bits.want);
}

/* A proof about elements that there are not says nothing. */
static void hold_against_nothing(tp_arena *a, tp_spec_report *r)
{
    const tp_kernel *k = r->spec->kernels[0];
    for (uint32_t i = k->ninputs; r->equality.proven && r->equiv->equal && i < k->ninputs + k->noutputs; i++)
        if (!k->operands[i].discard && !tp_equiv_compared(r->equiv, k->operands[i].name))
            r->equality = (tp_equality){
                .reason = tp_printf(a, "no element of `%.*s` was compared in any case", TP_FMT(k->operands[i].name))};
}

static void hold_equality(tp_arena *a, tp_spec_report *r)
{
    for (uint32_t i = 0; r->equality.proven && i < r->equiv->cases.len; i++) {
        const tp_case_result *c = &r->equiv->cases.at[i];
        if (!tp_equiv_refutes(c, r->equality.masks))
            continue;
        tp_disagreement d = {.proof = TP_S("equality with the reference for all sizes"),
                             .execution = difference_text(a, c),
                             .witness = tp_witness_of_case(a, c->the_case)};
        tp_add_disagreement(a, r, &d);
    }
    for (uint32_t i = 0; r->equality.proven && i < r->equiv->cases.len; i++)
        if (tp_equiv_refutes(&r->equiv->cases.at[i], false))
            r->equality = (tp_equality){.reason = TP_S("finite masks taken as infinite: in some case a row is "
                                                       "masked entirely, and the kernel has no value there")};
}

/* ---- rules ---- */

/* Is a rule open on which the proof rests: "given TP007"? */
static bool is_conditional(const tp_findings *findings, const tp_finding *proof)
{
    for (uint32_t i = 0; i < findings->len; i++)
        if (tp_is_open(&findings->at[i]) && tp_basis_names(proof->rests_on, findings->at[i].rule))
            return true;
    return false;
}

/* Is the rule proven, and no other one open whose traps may stand in for its own? */
static bool is_proven(const tp_findings *findings, const char *rule)
{
    bool proven = false;
    for (uint32_t i = 0; i < findings->len; i++) {
        const tp_finding *f = &findings->at[i];
        if (!tp_traps(f->rule))
            continue;
        if (f->verdict != TP_PROVEN && f->verdict != TP_NOT_APPLICABLE && f->verdict != TP_ADVICE)
            return false;
        proven |= f->verdict == TP_PROVEN && strcmp(f->rule, rule) == 0 && !is_conditional(findings, f);
    }
    return proven;
}

static void hold_rules(tp_arena *a, tp_spec_report *r, const tp_findings *proofs)
{
    for (uint32_t i = 0; i < r->equiv->cases.len; i++) {
        const tp_case_result *c = &r->equiv->cases.at[i];
        if (c->outcome != TP_TRAPPED || !is_proven(proofs, c->trap.rule))
            continue;
        tp_disagreement d = {.proof = tp_str_c(c->trap.rule),
                             .execution = tp_printf(a, "a case traps on it: %.*s", TP_FMT(c->trap.message)),
                             .subject = c->trap.subject,
                             .witness = tp_witness_of_case(a, c->the_case)};
        tp_add_disagreement(a, r, &d);
        return;
    }
}

/* ---- the machine against itself ---- */

static void hold_runs(tp_arena *a, tp_spec_report *r)
{
    for (uint32_t i = 0; i < r->equiv->cases.len; i++) {
        const tp_case_result *c = &r->equiv->cases.at[i];
        if (!c->as_run.n)
            continue;
        tp_disagreement d = {.execution = c->as_run, .witness = tp_witness_of_case(a, c->the_case)};
        tp_add_disagreement(a, r, &d);
        return;
    }
}

void tp_hold_proofs_against_runs(tp_arena *a, tp_spec_report *r, const tp_findings *proofs)
{
    hold_equality(a, r);
    hold_against_nothing(a, r);
    hold_rules(a, r, proofs);
    hold_runs(a, r);
}

void tp_hold_witnesses_against_runs(tp_arena *a, tp_spec_report *r)
{
    for (uint32_t i = 0, n = r->findings.len; i < n; i++) {
        tp_finding f = r->findings.at[i];
        if (f.verdict != TP_VIOLATED || !f.reason.n)
            continue;
        tp_disagreement d = {.proof = tp_printf(a, "a violation of %s", f.rule),
                             .execution = f.reason,
                             .subject = f.subject,
                             .witness = f.witness};
        tp_add_disagreement(a, r, &d);
    }
}

void tp_hold_equality_against_elements(tp_arena *a, tp_spec_report *r, uint64_t seed)
{
    tp_opinion_options o;
    const tp_opinion *x = &r->opinion;
    if (!r->equality.proven)
        return;
    tp_opinion_defaults(&o);
    o.seed = seed;
    o.masks = r->equality.masks;
    o.facts = r->equality.given;
    for (uint32_t i = 0; i < r->findings.len; i++)
        o.facts |= (tp_basis_names(r->findings.at[i].rests_on, "F1") ? TP_FACT_F1 : 0) |
                   (tp_basis_names(r->findings.at[i].rests_on, "F2") ? TP_FACT_F2 : 0);
    tp_second_opinion(a, r->spec, &o, &r->opinion);
    if (x->different) {
        tp_case c = {.kernel = x->kernel, .env = x->env};
        tp_disagreement d = {.proof = TP_S("equality with the reference for all sizes"),
                             .execution = tp_printf(a, "%.*s is %.*s, the reference says %.*s", TP_FMT(x->element),
                                                    TP_FMT(x->got), TP_FMT(x->want)),
                             .witness = tp_witness_of_case(a, &c)};
        tp_add_disagreement(a, r, &d);
    } else if (x->unsure) {
        r->equality = (tp_equality){.reason = tp_printf(a,
                                                        "the second opinion is inconclusive: the residues of %.*s "
                                                        "differ or are missing, and the numbers confirm no difference",
                                                        TP_FMT(x->element))};
    }
}
