/* Findings, and what they say. */
#include "base/assert.h"
#include "analyzer/claim/claim.h"

tp_str tp_text(tp_analysis *a, tp_expr e)
{
    return tp_expr_text(a->p, e);
}

tp_str tp_message(tp_analysis *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_str s = tp_vprintf(a->arena, fmt, ap);
    va_end(ap);
    return s;
}

tp_finding *tp_add_finding(tp_analysis *a, tp_verdict v, tp_str subject, tp_loc loc, tp_str message)
{
    tp_assert(a->rule && v < TP_VERDICTS && message.n);
    tp_finding f = {.rule = a->rule->code,
                    .slug = a->rule->slug,
                    .verdict = v,
                    .severity = TP_NOTE,
                    .subject = subject,
                    .loc = loc,
                    .message = message};
    if (v == TP_VIOLATED || v == TP_VACUOUS)
        f.severity = a->rule->severity;
    else if (v == TP_UNKNOWN)
        f.severity = TP_WARNING;
    tp_push(a->arena, a->out->findings, f);
    return &a->out->findings.at[a->out->findings.len - 1];
}

tp_finding *tp_advise(tp_analysis *a, tp_str subject, tp_loc loc, tp_str message, tp_str help)
{
    tp_finding *f = tp_add_finding(a, TP_ADVICE, subject, loc, message);
    f->help = help;
    return f;
}

tp_str tp_trap_help(const tp_rule *rule, tp_str origin)
{
    const char *help = !origin.n && rule->made_help ? rule->made_help : rule->trap_help;
    return help ? tp_str_c(help) : (tp_str){NULL, 0};
}

void tp_say_trap(const tp_rule *rule, const tp_trapped *trap, tp_finding *f)
{
    f->message = trap->message;
    if (trap->loc.end > trap->loc.start)
        f->loc = trap->loc;
    f->witness->step.len = 0;
    f->witness->detail = (tp_str){NULL, 0};
    for (uint32_t i = 0; i < trap->step.len; i++)
        tp_push(trap->arena, f->witness->step, trap->step.at[i]);
    tp_str help = tp_trap_help(rule, trap->origin);
    f->help = help.n ? help : f->help;
}

bool tp_is_violated(const tp_analysis *a, const char *rule, const tp_loc *at)
{
    const tp_findings *lists[] = {&a->out->findings, a->earlier};
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l]->len; i++) {
            const tp_finding *f = &lists[l]->at[i];
            if (f->verdict == TP_VIOLATED && strcmp(f->rule, rule) == 0 && (!at || f->loc.start == at->start))
                return true;
        }
    return false;
}

bool tp_is_proven(const tp_analysis *a, const char *rule)
{
    const tp_findings *lists[] = {&a->out->findings, a->earlier};
    bool any = false;
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l]->len; i++) {
            const tp_finding *f = &lists[l]->at[i];
            if (strcmp(f->rule, rule) != 0)
                continue;
            if (f->verdict != TP_PROVEN)
                return false;
            any = true;
        }
    return any;
}

tp_loc tp_body_loc(const tp_analysis *a, const tp_node *node, const tp_syntax *syntax)
{
    tp_ctx c = {.arena = a->arena, .source = a->k->source};
    if (node)
        return tp_node_loc(&c, node);
    return syntax ? tp_json_place(syntax->line) : a->k->doc->loc;
}
