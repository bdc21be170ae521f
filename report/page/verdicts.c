/* Rules down, what they speak of across. */
#include "report/page/page.h"

typedef TP_VEC(tp_str) subjects_t;

/* The gravest finding of a rule on a subject; NULL: it does not speak of it. */
static const tp_finding *worst_of(const tp_spec_report *s, const char *rule, const tp_str *subject)
{
    static const int GRAVITY[TP_VERDICTS] = {[TP_PROVEN] = 1, [TP_UNKNOWN] = 3, [TP_VIOLATED] = 4, [TP_VACUOUS] = 4};
    const tp_finding *worst = NULL;
    int gravest = 0;
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        if (strcmp(f->rule, rule) != 0 || (subject && !tp_str_eq(f->subject, *subject)))
            continue;
        int gravity = f->suppressed ? 2 : GRAVITY[f->verdict];
        if (gravity > gravest) {
            gravest = gravity;
            worst = f;
        }
    }
    return worst;
}

static const char *sign_of(const tp_finding *f, const char **word)
{
    *word = f->suppressed ? "allowed" : f->verdict == TP_PROVEN ? "proven" : tp_verdict_name(f->verdict);
    return f->suppressed ? "a" : f->verdict == TP_PROVEN ? "✓" : f->verdict == TP_UNKNOWN ? "?" : "✗";
}

/* Does some verdict speak of it? Once in the list. */
static void add_subject(const tp_page *p, const tp_spec_report *s, tp_str subject, subjects_t *all)
{
    bool wanted = false;
    for (uint32_t i = 0; i < s->findings.len && !wanted; i++)
        wanted = s->findings.at[i].verdict != TP_ADVICE && tp_str_eq(s->findings.at[i].subject, subject);
    for (uint32_t k = 0; k < all->len && wanted; k++)
        wanted = !tp_str_eq(all->at[k], subject);
    if (wanted)
        tp_push(p->a, *all, subject);
}

/* The kernel, axes and operands as they are declared, then the rest as it comes. */
static subjects_t subjects_of(const tp_page *p, const tp_spec_report *s)
{
    const tp_kernel *k = s->spec->kernels[0];
    subjects_t all = {0};
    add_subject(p, s, s->name, &all);
    for (uint32_t x = 0; x < k->naxes; x++)
        add_subject(p, s, k->axes[x].name, &all);
    for (uint32_t o = 0; o < tp_noperands(k); o++)
        add_subject(p, s, k->operands[o].name, &all);
    for (uint32_t i = 0; i < s->findings.len; i++)
        add_subject(p, s, s->findings.at[i].subject, &all);
    return all;
}

static void write_head(const tp_page *p, const tp_spec_report *s, const subjects_t *all, uint32_t from, uint32_t to)
{
    tp_html_raw(p, "<table class=\"matrix\"><thead><tr><th scope=\"col\">rule</th>");
    for (uint32_t k = from; k < to; k++) {
        tp_html_raw(p, "<th scope=\"col\"><span class=\"up\">");
        tp_html_put(p, all->at[k].n == 0                ? TP_S("all")
                       : tp_str_eq(all->at[k], s->name) ? TP_S("the kernel")
                                                        : all->at[k]);
        tp_html_raw(p, "</span></th>");
    }
    tp_html_raw(p, "</tr></thead><tbody>\n");
}

static void write_row(const tp_page *p, const tp_spec_report *s, const tp_rule *rule, const subjects_t *all,
                      uint32_t from, uint32_t to)
{
    bool any = false;
    for (uint32_t k = from; k < to && !any; k++)
        any = worst_of(s, rule->code, &all->at[k]);
    if (!any)
        return;
    fprintf(p->out, "<tr><th scope=\"row\"><abbr class=\"name\" title=\"%s\">", rule->title);
    tp_html_code(p, rule->code);
    fprintf(p->out, "</abbr> <span class=\"long\">%s</span></th>", rule->slug);
    for (uint32_t k = from; k < to; k++) {
        const tp_finding *f = worst_of(s, rule->code, &all->at[k]);
        const char *word;
        if (!f) {
            tp_html_raw(p, "<td></td>");
            continue;
        }
        const char *sign = sign_of(f, &word);
        bool linked = tp_is_shown(p->r, f);
        fprintf(p->out, "<td class=\"%s\">", tp_html_class(f));
        if (linked)
            fprintf(p->out, "<a href=\"#%.*s\">", TP_FMT(tp_html_anchor(p, s, f)));
        fprintf(p->out, "<b role=\"img\" aria-label=\"%s\">%s</b>%s</td>", word, sign, linked ? "</a>" : "");
    }
    tp_html_raw(p, "</tr>\n");
}

void tp_html_verdicts(const tp_page *p, const tp_spec_report *s)
{
    enum { MOST = 12 }; /* as many as a telephone shows */
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    subjects_t all = subjects_of(p, s);
    if (!all.len)
        return;
    tp_html_raw(p,
                "<h3>Verdicts</h3><p class=\"legend\">The gravest verdict of each rule on each operand, axis or size: "
                "<span class=\"badge ok\">✓ proven</span> <span class=\"badge bad\">✗ violated</span> <span "
                "class=\"badge open\">? unknown</span> <span class=\"badge note\">a allowed</span></p>\n<div "
                "class=\"matrices\">\n");
    uint32_t tables = (all.len - 1) / MOST + 1, across = (all.len - 1) / tables + 1;
    for (uint32_t from = 0; from < all.len; from += across) {
        uint32_t to = from + across < all.len ? from + across : all.len;
        write_head(p, s, &all, from, to);
        for (size_t r = 0; r < n; r++)
            write_row(p, s, rules[r], &all, from, to);
        tp_html_raw(p, "</tbody></table>\n");
    }
    tp_html_raw(p, "</div>\n");
}

void tp_html_rules(const tp_page *p, const tp_spec_report *s)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    tp_html_raw(p,
                "<details><summary>What was decided, rule by rule</summary><table class=\"wide\"><caption>Obligations "
                "by rule</caption><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">says</th><th "
                "scope=\"col\">verdicts</th><th scope=\"col\" class=\"long\">rests on</th></tr></thead><tbody>\n");
    for (size_t r = 0; r < n; r++) {
        unsigned proven = 0, violated = 0, unknown = 0, allowed = 0;
        tp_grade grade = TP_GRADE_NONE;
        tp_str given = {NULL, 0};
        for (uint32_t i = 0; i < s->findings.len; i++) {
            const tp_finding *f = &s->findings.at[i];
            if (strcmp(f->rule, rules[r]->code) != 0 || f->verdict == TP_ADVICE)
                continue;
            allowed += f->suppressed;
            proven += f->verdict == TP_PROVEN;
            violated += !f->suppressed && (f->verdict == TP_VIOLATED || f->verdict == TP_VACUOUS);
            unknown += !f->suppressed && f->verdict == TP_UNKNOWN;
            grade = f->grade > grade ? f->grade : grade;
            given = tp_basis_join(p->a, given, f->rests_on);
        }
        if (proven + violated + unknown + allowed == 0)
            continue;
        tp_html_raw(p, "<tr><th scope=\"row\" class=\"name\">");
        tp_html_code(p, rules[r]->code);
        fprintf(p->out, "</th><td>%s</td><td>", rules[r]->title);
        const char *gap = "";
        if (proven) {
            fprintf(p->out, "%u proven%s%s%s", proven, grade ? " (" : "", grade ? tp_grade_name(grade) : "",
                    grade ? ")" : "");
            gap = ", ";
        }
        const struct {
            unsigned count;
            const char *word;
        } OTHERS[] = {{violated, "violated"}, {unknown, "unknown"}, {allowed, "allowed"}};
        for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
            if (OTHERS[i].count) {
                fprintf(p->out, "%s%u %s", gap, OTHERS[i].count, OTHERS[i].word);
                gap = ", ";
            }
        tp_html_raw(p, "</td><td class=\"long\">");
        tp_html_put(p, given);
        tp_html_raw(p, "</td></tr>\n");
    }
    tp_html_raw(p, "</tbody></table></details>\n");
}
