/* Evidence that --require asks for. */
#include "verify/verify.h"

const tp_evidence_row TP_EVIDENCE_TABLE[TP_NEVIDENCE] = {{"rounding=E1", NULL, TP_EVIDENCE_E1},
                                                         {"bits=E2", NULL, TP_EVIDENCE_E2},
                                                         {"algebra=E3", NULL, TP_EVIDENCE_E3},
                                                         {"algebra=E4", NULL, TP_EVIDENCE_E4},
                                                         {"algebra=E5", "algebra=E6", TP_EVIDENCE_E5}};

static tp_str first_of(tp_str a, tp_str b)
{
    return a.n ? a : b;
}

static bool reached(const tp_spec_report *r, tp_evidence tier)
{
    return tier == TP_EVIDENCE_E5 ? r->equality.proven : tp_equiv_reaches(r->equiv, tier);
}

static tp_str missing_reason(const tp_spec_report *r, tp_evidence tier)
{
    const tp_equiv *e = r->equiv;
    switch (tier) {
    case TP_EVIDENCE_E1:
        for (uint32_t i = 0; i < e->cases.len; i++)
            if (e->cases.at[i].outcome == TP_SKIPPED)
                return e->cases.at[i].trap.message;
        return TP_S("");
    case TP_EVIDENCE_E2: return e->bits_reason;
    case TP_EVIDENCE_E3: return e->algebra_reason;
    case TP_EVIDENCE_E4:
        return first_of(first_of(e->algebra_reason, e->box_reason),
                        e->box_held.n                   ? TP_S("a size took one value in the whole box: see its sizes")
                        : e->box.equal == e->box_shapes ? TP_S("")
                        : r->spec->kernels[0]->ntables
                            ? TP_S("not every shape of the box was run: raise --box; or no tables were found for some")
                            : TP_S("not every shape of the box was run: raise --box"));
    case TP_EVIDENCE_E5: return r->equality.reason;
    }
    return TP_S("");
}

void tp_add_missing_evidence(tp_arena *a, tp_spec_report *r, const bool *required)
{
    const tp_kernel *k = r->spec->kernels[0];
    for (size_t i = 0; i < TP_NEVIDENCE; i++) {
        if (!required[i] || reached(r, TP_EVIDENCE_TABLE[i].tier))
            continue;
        tp_finding f = {.rule = "TP704",
                        .slug = "evidence-missing",
                        .verdict = TP_UNKNOWN,
                        .severity = TP_WARNING,
                        .reason = missing_reason(r, TP_EVIDENCE_TABLE[i].tier)};
        f.loc = k->reference.loc.end ? k->reference.loc : (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
        f.message = tp_printf(a, "%s was required and not reached", TP_EVIDENCE_TABLE[i].text);
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
    if (e->starved)
        tp_push(a, open, tp_printf(a, "%u tiers of cases: left out for want of memory", e->starved));
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
