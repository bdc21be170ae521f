/* Findings that a spec allows or expects. */
#include "cli/check.h"

static bool covers(const tp_json *allow, const tp_finding *f)
{
    tp_str rule = tp_json_get(allow, "rule")->u.string;
    const tp_json *at = tp_json_get(allow, "at");
    if (!tp_str_is(rule, f->rule) && !tp_str_is(rule, f->slug))
        return false;
    if (!at || at->u.string.n == 0)
        return true;
    tp_str a = at->u.string, p = f->loc.pointer;
    return p.n >= a.n && memcmp(p.p, a.p, a.n) == 0 && (p.n == a.n || p.p[a.n] == '/');
}

void tp_apply_allow(tp_job *j)
{
    const tp_json *allow = j->report.spec->kernels[0]->allow;
    for (uint32_t i = 0; allow && i < allow->u.items.n; i++) {
        const tp_json *a = allow->u.items.at[i];
        bool used = false;
        for (uint32_t k = 0; k < j->report.findings.len; k++) {
            tp_finding *f = &j->report.findings.at[k];
            if ((f->verdict != TP_VIOLATED && f->verdict != TP_UNKNOWN && f->verdict != TP_VACUOUS &&
                 f->verdict != TP_ADVICE) ||
                !covers(a, f))
                continue;
            f->suppressed = used = true;
            f->suppress_reason = tp_json_get(a, "reason")->u.string;
        }
        if (used)
            continue;
        tp_finding stale = {
            .rule = "TP901", .slug = "stale-allow", .verdict = TP_VIOLATED, .severity = TP_WARNING, .loc = a->loc};
        stale.message = TP_S("this entry of \"allow\" suppresses nothing");
        stale.help = TP_S("remove it");
        tp_push(j->arena, j->report.findings, stale);
    }
}
