/* What the executions and the proof for all sizes say, tier by tier, in sentences. */
#include <math.h>

#include "report/page/page.h"
#include "spec/facts.h"

/* "ok": the tier holds; "bad": it is refuted; "open": it was tried and nothing follows; "note": not shown. */
static void begin_tier(const tp_page *p, const char *name, const char *class, const char *word)
{
    fprintf(p->out, "<tr><th scope=\"row\" class=\"name\">%s</th><td><span class=\"badge %s\">%s</span></td><td>", name,
            class, word);
}

static void end_tier(const tp_page *p)
{
    tp_html_raw(p, "</td></tr>\n");
}

static void write_cases(const tp_page *p, const tp_equiv *e)
{
    bool wrong = e->different + e->trapped > 0;
    begin_tier(p, "cases",
               wrong      ? "bad"
               : e->equal ? "ok"
                          : "note",
               e->different ? "different"
               : e->trapped ? "trapped"
               : e->equal   ? "equal"
                            : "none");
    fprintf(p->out, "Executed beside the reference (seed %llu): %u equal, %u different, %u trapped, %u not run.",
            (unsigned long long)e->seed, e->equal, e->different, e->trapped, e->skipped);
    end_tier(p);
}

static void write_all_sizes(const tp_page *p, const tp_spec_report *s)
{
    const tp_equality *q = &s->equality;
    begin_tier(p, "all sizes", q->proven ? "ok" : "note", q->proven ? "proven" : "not shown");
    if (!q->proven) {
        tp_html_prose(p, q->reason);
        end_tier(p);
        return;
    }
    fprintf(p->out,
            "Equal over the reals for every size of the domain, given the rules%s%s: %u obligations, %u with "
            "certificate.",
            q->given ? " and " : "", tp_fact_names(q->given), q->obligations, q->certified);
    tp_html_raw(p, q->masks ? " Finite masks are taken as infinite." : "");
    tp_html_raw(p, q->casts ? " Casts are the identity." : "");
    for (uint32_t i = 0; i < q->constants.len; i++) {
        tp_html_raw(p, i ? ", " : " Taken as equal: ");
        tp_html_prose(p, q->constants.at[i]);
    }
    tp_html_raw(p, q->constants.len ? "." : "");
    const tp_case_result *overflow = tp_equiv_overflow(s->equiv);
    if (overflow) {
        tp_html_raw(p, " It overflows in ");
        tp_html_put(p, tp_case_phrase(p->a, overflow->the_case));
        tp_html_raw(p, ".");
    }
    tp_html_raw(p, " Rewriting: ");
    tp_html_prose(p, q->rewriting);
    tp_html_raw(p, ".");
    end_tier(p);
    if (!s->opinion.asked)
        return;
    begin_tier(p, "elements",
               s->opinion.different ? "bad"
               : s->opinion.unsure  ? "open"
                                    : "ok",
               s->opinion.different ? "different"
               : s->opinion.unsure  ? "unsure"
                                    : "equal");
    tp_html_raw(p, "Second opinion, single elements at far sizes: ");
    tp_html_put(p, tp_opinion_text(p->a, &s->opinion));
    tp_html_raw(p, ".");
    end_tier(p);
}

static void write_algebra(const tp_page *p, const tp_equiv *e)
{
    uint32_t shapes = e->algebra.equal + e->box.equal;
    bool different = e->algebra.different + e->box.different > 0;
    begin_tier(p, "algebra",
               different ? "bad"
               : shapes  ? "ok"
                         : "note",
               different ? "different"
               : shapes  ? "equal"
                         : "none");
    if (shapes)
        fprintf(p->out, "The same numbers over the reals at %u shape%s, by random residues", shapes,
                shapes == 1 ? "" : "s");
    if (e->box.equal)
        fprintf(p->out, ", among them %.*s", TP_FMT(tp_box_share_text(p->a, e)));
    if (e->blocks.n) {
        tp_html_raw(p, " (");
        tp_html_prose(p, e->blocks);
        tp_html_raw(p, ")");
    }
    if (shapes && e->chance < HUGE_VAL)
        fprintf(p->out, "; a wrong kernel passes with a probability of at most 2<sup>-%.0f</sup>", e->chance);
    if (!shapes)
        tp_html_prose(p, e->algebra_reason.n ? e->algebra_reason : TP_S("not run"));
    tp_html_raw(p, ".");
    end_tier(p);
    if (e->box.equal && e->box_text.n) {
        bool earned = tp_tier_e4.holds(e);
        begin_tier(p, "box", earned ? "ok" : "note", earned ? "equal" : "not earned");
        tp_html_raw(p, "Shapes of ");
        tp_html_prose(p, e->box_text);
        tp_html_raw(p, e->box_constants.n ? "; held: " : "");
        tp_html_prose(p, e->box_constants);
        tp_html_raw(p, ".");
        end_tier(p);
    }
}

static void write_numbers(const tp_page *p, const tp_equiv *e)
{
    bool within = e->worst && e->worst->ratio <= 1;
    begin_tier(p, "rounding",
               !e->worst ? "note"
               : within  ? "ok"
                         : "bad",
               !e->worst ? "none"
               : within  ? "within"
                         : "beyond");
    if (e->worst)
        fprintf(p->out, "The worst distance is %.3g of the certified bound", e->worst->ratio);
    if (e->unstable)
        fprintf(p->out,
                "; computed numbers are off by at most %.3g, %.2g units of the last place, %.3g of the tolerance",
                e->unstable->max_abs, e->unstable->max_ulp, e->unstable->rounding);
    tp_html_raw(p, e->worst || e->unstable ? "." : "Nothing was compared.");
    end_tier(p);
    begin_tier(p, "bits", e->bits.equal ? "ok" : "note", e->bits.equal ? "identical" : "not shown");
    if (e->bits.equal)
        fprintf(p->out, "Identical on exact inputs in %u case%s.", e->bits.equal, e->bits.equal == 1 ? "" : "s");
    else
        tp_html_prose(p, e->bits_reason.n ? e->bits_reason : TP_S("not run"));
    end_tier(p);
}

static void write_coverage(const tp_page *p, const tp_equiv *e)
{
    if (e->coverage.text.n) {
        bool gaps = e->coverage.any.gaps.len > 0;
        begin_tier(p, "coverage", gaps ? "open" : "ok", gaps ? "gaps" : "whole");
        tp_html_prose(p, e->coverage.text);
        end_tier(p);
    }
    if (e->coverage.pairs_text.n) {
        bool whole = e->coverage.pairs.covered == e->coverage.pairs.pairs;
        begin_tier(p, "sizes", whole ? "ok" : "note", whole ? "whole" : "in part");
        tp_html_prose(p, e->coverage.pairs_text);
        end_tier(p);
    }
}

/* The case to look at: a wrong one, else that of the largest error. */
static const tp_case_result *worst_case(const tp_equiv *e)
{
    const tp_case_result *worst = NULL;
    double most = -1;
    for (uint32_t i = 0; i < e->cases.len; i++) {
        const tp_case_result *c = &e->cases.at[i];
        if (c->outcome == TP_DIFFERENT && c->outputs.len)
            return c;
        for (uint32_t o = 0; o < c->outputs.len && c->outcome == TP_EQUAL; o++)
            if (c->outputs.at[o].rounding > most) {
                most = c->outputs.at[o].rounding;
                worst = c;
            }
    }
    return worst;
}

void tp_html_equivalence(const tp_page *p, const tp_spec_report *s)
{
    const tp_equiv *e = s->equiv;
    if (!e)
        return;
    tp_html_raw(p,
                "<h3>Against the reference</h3><table class=\"wide tiers\"><thead><tr><th scope=\"col\">tier</th><th "
                "scope=\"col\">verdict</th><th scope=\"col\">what it rests on</th></tr></thead><tbody>\n");
    write_cases(p, e);
    write_all_sizes(p, s);
    write_algebra(p, e);
    write_numbers(p, e);
    write_coverage(p, e);
    tp_html_raw(p, "</tbody></table>\n");
    const tp_case_result *worst = worst_case(e);
    if (!worst)
        return;
    tp_html_raw(p, "<p class=\"dim\">Errors of the worst case, ");
    tp_html_put(p, tp_case_text(p->a, worst->the_case));
    tp_html_raw(p, "</p><div class=\"maps\">\n");
    for (uint32_t o = 0; o < worst->outputs.len; o++)
        tp_html_errors(p, &worst->outputs.at[o]);
    tp_html_raw(p, "</div>\n");
}
