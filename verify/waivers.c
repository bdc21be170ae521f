/* Findings that a spec allows or expects. An entry that meets nothing is
 * itself a finding, unless this run did not look for its rule. */
#include "verify/verify.h"

static bool covers(const tp_json *entry, const tp_finding *f)
{
    tp_str rule = tp_json_get(entry, "rule")->u.string;
    const tp_json *at = tp_json_get(entry, "at");
    if (!tp_str_is(rule, f->rule) && !tp_str_is(rule, f->slug))
        return false;
    if (!at || at->u.string.n == 0)
        return true;
    tp_str a = at->u.string, p = f->loc.pointer;
    return p.n >= a.n && memcmp(p.p, a.p, a.n) == 0 && (p.n == a.n || p.p[a.n] == '/');
}

bool tp_looked_for(const tp_check_settings *s, const tp_spec_report *r, tp_str rule)
{
    const tp_rule *row = tp_rule_find(rule);
    for (size_t i = 0; row && i < s->analysis.nonly; i++)
        if (s->analysis.only[i] == row)
            return !row->hardware || r->spec->kernels[0]->target.checked;
    return !row && s->execute && r->equiv;
}

static void apply(tp_job *j, const tp_check_settings *s, const tp_json *list, const tp_finding *when_stale)
{
    uint32_t n = j->report.findings.len;
    for (uint32_t i = 0; list && i < list->u.items.n; i++) {
        const tp_json *entry = list->u.items.at[i];
        bool used = false;
        for (uint32_t k = 0; k < n; k++) {
            tp_finding *f = &j->report.findings.at[k];
            if ((!tp_is_open(f) && f->verdict != TP_ADVICE) || tp_is_internal(f) || !covers(entry, f))
                continue;
            f->suppressed = used = true;
            f->suppress_reason = tp_json_get(entry, "reason")->u.string;
        }
        if (used || !tp_looked_for(s, &j->report, tp_json_get(entry, "rule")->u.string))
            continue;
        tp_finding stale = *when_stale;
        stale.loc = entry->loc;
        tp_push(j->arena, j->report.findings, stale);
    }
}

void tp_apply_waivers(tp_job *j, const tp_check_settings *s)
{
    const tp_kernel *k = j->report.spec->kernels[0];
    const tp_finding stale = {.rule = TP_RULE_STALE_ALLOW,
                              .slug = "stale-allow",
                              .verdict = TP_VIOLATED,
                              .severity = TP_WARNING,
                              .message = TP_S("this entry of \"allow\" suppresses nothing"),
                              .help = TP_S("remove it")},
                     missing = {.rule = TP_RULE_EXPECT_MISSING,
                                .slug = "expect-missing",
                                .verdict = TP_VIOLATED,
                                .severity = TP_ERROR,
                                .message = TP_S("the finding that this entry of \"expect\" names is not there"),
                                .help = TP_S("remove the entry, or find out why the rule no longer reports it")};
    apply(j, s, k->allow, &stale);
    apply(j, s, k->expect, &missing);
}
