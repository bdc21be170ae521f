/* Evidence that --require asks for. */
#include "verify/verify.h"

static const tp_tier_evidence *const EXECUTED[] = {&tp_tier_e1, &tp_tier_e2, &tp_tier_e3, &tp_tier_e4};
enum { NEXECUTED = sizeof EXECUTED / sizeof *EXECUTED };
_Static_assert(TP_NEVIDENCE == NEXECUTED + 1, "TP_NEVIDENCE counts the tiers of executions, and E5");

tp_evidence_names tp_evidence_at(size_t i)
{
    return i < NEXECUTED ? (tp_evidence_names){EXECUTED[i]->text, EXECUTED[i]->old}
                         : (tp_evidence_names){"algebra=E5", "algebra=E6"};
}

static bool holds(const tp_spec_report *r, size_t i)
{
    return i < NEXECUTED ? EXECUTED[i]->holds(r->equiv) : r->equality.proven;
}

static tp_str reason_of(const tp_spec_report *r, size_t i)
{
    return i < NEXECUTED ? EXECUTED[i]->missing(r->equiv, r->spec->kernels[0]) : r->equality.reason;
}

static tp_str first_of(tp_str a, tp_str b)
{
    return a.n ? a : b;
}

void tp_add_missing_evidence(tp_arena *a, tp_spec_report *r, const bool *required)
{
    const tp_kernel *k = r->spec->kernels[0];
    for (size_t i = 0; i < TP_NEVIDENCE; i++) {
        if (!required[i] || holds(r, i))
            continue;
        tp_finding f = {.rule = TP_RULE_EVIDENCE_MISSING,
                        .slug = "evidence-missing",
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .reason = reason_of(r, i)};
        f.loc = k->reference.loc.end ? k->reference.loc : (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
        f.message = tp_printf(a, "%s was required and not reached", tp_evidence_at(i).text);
        tp_push(a, r->findings, f);
    }
}

tp_open_tiers tp_tiers_open(tp_arena *a, const tp_equiv *e)
{
    tp_open_tiers open = {0};
    uint32_t shapes = e->algebra.inconclusive + e->algebra.none + e->box.inconclusive + e->box.none;
    for (uint32_t i = 0; i < e->cases.len && e->skipped; i++)
        if (e->cases.at[i].outcome == TP_SKIPPED) {
            tp_push(a, open,
                    tp_printf(a, "E1 on %u case%s: %.*s", e->skipped, e->skipped == 1 ? "" : "s",
                              TP_FMT(e->cases.at[i].trap.message)));
            break;
        }
    if (shapes)
        tp_push(a, open,
                tp_printf(a, "E3 at %u shape%s: %.*s", shapes, shapes == 1 ? "" : "s",
                          TP_FMT(first_of(e->algebra_reason, e->box_reason))));
    if (e->out_of_memory)
        tp_push(a, open, tp_printf(a, "%u tiers of cases: %.*s", e->out_of_memory, TP_FMT(e->left_out)));
    return open;
}

tp_str tp_tiers_open_text(tp_arena *a, const tp_equiv *e)
{
    tp_buf b = {.arena = a};
    tp_open_tiers open = tp_tiers_open(a, e);
    for (uint32_t i = 0; i < open.len; i++)
        tp_buf_printf(&b, "%s%.*s", i ? "; " : "", TP_FMT(open.at[i]));
    return tp_buf_view(&b);
}
