/* One self-contained page: no scripts, no network, light and dark. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "report/html.h"
#include "spec/facts.h"

static const char STYLE[] =
    ":root{color-scheme:light dark;--bg:#fbfbfa;--card:#fff;--ink:#1c1e21;--dim:#5b6169;--line:#dcdfe3;--ok:#1a6b34;"
    "--okbg:#e3f3e7;--bad:#a3131f;--badbg:#fbe6e7;--open:#7a4a00;--openbg:#fcf0d9;--note:#1d4f91;--notebg:#e5eefb;"
    "--a:#2f6fb3;--b:#cfe0f3}"
    "@media(prefers-color-scheme:dark){:root{--bg:#15171a;--card:#1d2024;--ink:#e7e9ec;--dim:#a5acb5;--line:#363b42;"
    "--ok:#7fd498;--okbg:#17301f;--bad:#ff9a9f;--badbg:#3a1a1d;--open:#f2c46d;--openbg:#362a12;--note:#9cc3f5;"
    "--notebg:#182838;--a:#6aa5e0;--b:#24415f}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,sans-serif}"
    "main,header,footer{max-width:70rem;margin:0 auto;padding:0 "
    "1.25rem}header{padding-top:2rem}h1{font-size:1.7rem;margin:0}"
    "h2{font-size:1.35rem;margin:2.5rem 0 .25rem;padding-top:1rem;border-top:1px solid "
    "var(--line)}h3{font-size:1.05rem;"
    "margin:1.6rem 0 .5rem}p{margin:.35rem 0}.dim{color:var(--dim)}code,pre{font:.9em/1.5 "
    "ui-monospace,Consolas,monospace}"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;background:var(--card);font-size:.94rem}"
    "caption{text-align:left;color:var(--dim);padding:.25rem 0}th,td{text-align:left;padding:.35rem .7rem;border:1px "
    "solid "
    "var(--line);vertical-align:top}td.n{text-align:right;font-variant-numeric:tabular-nums}thead "
    "th{background:var(--bg)}"
    ".badge{display:inline-block;padding:.05rem "
    ".5rem;border-radius:.7rem;font-size:.82rem;font-weight:600;white-space:nowrap}"
    ".ok{color:var(--ok);background:var(--okbg)}.bad{color:var(--bad);background:var(--badbg)}.open{color:var(--open);"
    "background:var(--openbg)}.note{color:var(--note);background:var(--notebg)}"
    "article{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--line);padding:.7rem 1rem;"
    "margin:.7rem 0;border-radius:.3rem}article.bad{border-left-color:var(--bad);background:var(--card);color:inherit}"
    "article.open{border-left-color:var(--open);background:var(--card);color:inherit}article.note{border-left-color:"
    "var(--note);background:var(--card);color:inherit}article h4{margin:0 0 .3rem;font-size:1rem;font-weight:600}"
    "pre{background:var(--bg);border:1px solid var(--line);padding:.5rem .7rem;overflow-x:auto;margin:.5rem 0}"
    "mark{background:var(--openbg);color:var(--open);font-weight:600;text-decoration:underline}ul{margin:.3rem "
    "0;padding-left:"
    "1.2rem}details>summary{cursor:pointer;color:var(--a)}.maps{display:flex;flex-wrap:wrap;gap:1.2rem}figure{margin:0}"
    "figcaption{font-size:.88rem;max-width:22rem}svg{display:block;max-width:100%;height:auto}svg text{font:9px "
    "ui-monospace,"
    "monospace;fill:var(--ink)}a{color:var(--a)}a:focus-visible,summary:focus-visible{outline:2px solid var(--a);"
    "outline-offset:2px}.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:1rem;background:var(--card)}"
    ".filter{border:1px solid var(--line);border-radius:.3rem;margin:1rem 0;padding:.3rem "
    ".8rem;display:flex;flex-wrap:wrap;gap:.4rem}"
    ".filter label{margin-right:.8rem}"
    "body:has(#show-bad:checked) :is(.is-open,.is-ok),body:has(#show-open:checked) :is(.is-bad,.is-ok),"
    "body:has(#show-ok:checked) :is(.is-bad,.is-open){display:none}abbr{text-decoration:none}"
    ".matrix td,.matrix th{padding:.2rem .35rem;font-size:.8rem}.matrix .badge{font-size:.75rem;padding:0 .35rem}"
    "p code{overflow-wrap:anywhere}"
    "footer{margin:3rem auto;color:var(--dim);font-size:.88rem}@media "
    "print{body{background:#fff}article{break-inside:avoid}}";

/* For the filters: what is the worst of it? */
static const char *class_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    return !s->valid || c.violated + c.vacuous ? "is-bad" : c.unknown ? "is-open" : "is-ok";
}

static const char *badge_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    if (!s->valid)
        return "<span class=\"badge bad\">not a valid spec</span>";
    return c.violated + c.vacuous ? "<span class=\"badge bad\">violated</span>"
           : c.unknown            ? "<span class=\"badge open\">unknown</span>"
                                  : "<span class=\"badge ok\">ok</span>";
}

static void name_of(const tp_page *p, const tp_spec_report *s)
{
    tp_html_put(p, s->name.n ? s->name : s->source->path);
}

/* ---- the index ---- */

static void write_index(const tp_page *p)
{
    tp_html_raw(p, "<fieldset class=\"filter\"><legend>Show</legend>"
                   "<input type=\"radio\" name=\"show\" id=\"show-all\" checked><label for=\"show-all\">all</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-bad\"><label for=\"show-bad\">violated</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-open\"><label for=\"show-open\">unknown</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-ok\"><label for=\"show-ok\">ok</label></fieldset>\n");
    tp_html_raw(
        p, "<div class=\"scroll\"><table><caption>All specs</caption><thead><tr><th scope=\"col\">kernel</th><th "
           "scope=\"col\">verdict</th><th scope=\"col\">violated</th><th scope=\"col\">unknown</th><th "
           "scope=\"col\">proven</th><th scope=\"col\">VMEM</th><th scope=\"col\">executed</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < p->r->specs.len; i++) {
        const tp_spec_report *s = &p->r->specs.at[i];
        tp_counts c = tp_count(s);
        fprintf(p->out, "<tr class=\"%s\"><th scope=\"row\"><a href=\"#spec%u\">", class_of(s), i);
        name_of(p, s);
        fprintf(
            p->out,
            "</a></th><td>%s</td><td class=\"n\">%u</td><td class=\"n\">%u</td><td class=\"n\">%u</td><td class=\"n\">",
            badge_of(s), c.violated + c.vacuous, c.unknown, c.proven);
        if (s->vmem.limit && s->vmem.bytes >= 0)
            fprintf(p->out, "%.0f&nbsp;%%", 100.0 * (double)s->vmem.bytes / (double)s->vmem.limit);
        else
            tp_html_raw(p, s->vmem.limit ? "no bound" : "");
        tp_html_raw(p, "</td><td>");
        if (s->equiv)
            fprintf(p->out, "%u cases%s%s", c.tested, s->equality.proven ? ", proven for all sizes" : "",
                    tp_equiv_overflow(s->equiv) ? ", overflows in some" : "");
        tp_html_raw(p, "</td></tr>\n");
    }
    tp_html_raw(p, "</tbody></table></div>\n");
}

/* ---- findings ---- */

static void write_excerpt(const tp_page *p, const tp_source *source, const tp_finding *f)
{
    enum { WIDTH = 400 };
    if (f->loc.end <= f->loc.start)
        return;
    tp_excerpt x = tp_excerpt_of(source, f, WIDTH);
    fprintf(p->out, "<pre><span class=\"dim\">%u | </span>", tp_linecol_of(source, f->loc.start).line);
    tp_html_raw(p, x.before ? "…" : "");
    tp_html_put(p, (tp_str){x.text.p, x.start});
    tp_html_raw(p, "<mark>");
    tp_html_put(p, (tp_str){x.text.p + x.start, x.end - x.start});
    tp_html_raw(p, "</mark>");
    tp_html_put(p, (tp_str){x.text.p + x.end, x.text.n - x.end});
    tp_html_raw(p, x.behind ? "…</pre>\n" : "</pre>\n");
}

static void write_finding(const tp_page *p, const tp_spec_report *s, const tp_finding *f)
{
    static const char *const CLASSES[] = {"note", "open", "bad"};
    tp_severity severity = tp_shown_severity(p->r, f);
    const char *word = f->verdict == TP_UNKNOWN  ? "unknown"
                       : f->verdict == TP_ADVICE ? "advice"
                                                 : tp_verdict_name(f->verdict);
    tp_str story = tp_finding_story(p->a, f);
    fprintf(p->out, "<article class=\"%s\"><h4><span class=\"badge %s\">%s</span> %s ", CLASSES[severity],
            CLASSES[severity], s->valid ? word : "error", f->rule);
    tp_html_prose(p, f->message);
    tp_html_raw(p, "</h4>\n");
    write_excerpt(p, s->source, f);
    tp_html_raw(p, "<ul>\n");
    for (size_t i = 0, end; i < story.n; i = end + 1) {
        for (end = i; end < story.n && story.p[end] != '\n';)
            end++;
        if (i == 0)
            continue; /* the heading */
        tp_html_raw(p, "<li>");
        tp_html_prose(p, (tp_str){story.p + i, end - i});
        tp_html_raw(p, "</li>\n");
    }
    tp_html_raw(p, "</ul></article>\n");
}

static void write_findings(const tp_page *p, const tp_spec_report *s)
{
    bool any = false;
    for (int severity = TP_ERROR; severity >= TP_NOTE; severity--)
        for (uint32_t i = 0; i < s->findings.len; i++) {
            const tp_finding *f = &s->findings.at[i];
            if (!tp_is_shown(p->r, f) || (int)tp_shown_severity(p->r, f) != severity)
                continue;
            if (!any)
                tp_html_raw(p, "<h3>Findings</h3>\n");
            any = true;
            write_finding(p, s, f);
        }
}

/* ---- the matrix ---- */

/* The worst verdict of a rule on a subject. */
static const char *cell(const tp_spec_report *s, const char *rule, tp_str subject, const char **word)
{
    static const struct {
        const char *badge, *word;
    } CELLS[] = {{"", ""}, {"ok", "proven"}, {"note", "allowed"}, {"open", "unknown"}, {"bad", "violated"}};
    int worst = 0;
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        if (strcmp(f->rule, rule) != 0 || !tp_str_eq(f->subject, subject) || f->verdict == TP_ADVICE)
            continue;
        int now = f->suppressed                                           ? 2
                  : f->verdict == TP_PROVEN                               ? 1
                  : f->verdict == TP_UNKNOWN                              ? 3
                  : f->verdict == TP_VIOLATED || f->verdict == TP_VACUOUS ? 4
                                                                          : 0;
        worst = now > worst ? now : worst;
    }
    *word = CELLS[worst].word;
    return worst ? CELLS[worst].badge : NULL;
}

static bool speaks_of(const tp_spec_report *s, const char *rule)
{
    for (uint32_t i = 0; i < s->findings.len; i++)
        if (strcmp(s->findings.at[i].rule, rule) == 0 && s->findings.at[i].verdict != TP_ADVICE)
            return true;
    return false;
}

/* Rows: what claims are about. Columns: rules. */
static void write_matrix(const tp_page *p, const tp_spec_report *s)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    TP_VEC(tp_str) subjects = {0};
    for (uint32_t i = 0; i < s->findings.len; i++) {
        bool known = s->findings.at[i].verdict == TP_ADVICE;
        for (uint32_t k = 0; k < subjects.len && !known; k++)
            known = tp_str_eq(subjects.at[k], s->findings.at[i].subject);
        if (!known)
            tp_push(p->a, subjects, s->findings.at[i].subject);
    }
    tp_html_raw(p, "<h3>Verdicts</h3><div class=\"scroll\"><table class=\"matrix\"><caption>The worst verdict of each "
                   "rule on each "
                   "operand, axis or "
                   "size</caption><thead><tr><th scope=\"col\">about</th>");
    for (size_t r = 0; r < n; r++)
        if (speaks_of(s, rules[r]->code))
            fprintf(p->out, "<th scope=\"col\"><abbr title=\"%s\">%s</abbr></th>", rules[r]->slug, rules[r]->code);
    tp_html_raw(p, "</tr></thead><tbody>\n");
    for (uint32_t k = 0; k < subjects.len; k++) {
        tp_html_raw(p, "<tr><th scope=\"row\">");
        tp_html_put(p, subjects.at[k].n ? subjects.at[k] : TP_S("all"));
        tp_html_raw(p, "</th>");
        for (size_t r = 0; r < n; r++) {
            const char *word,
                *badge = speaks_of(s, rules[r]->code) ? cell(s, rules[r]->code, subjects.at[k], &word) : NULL;
            if (badge)
                fprintf(p->out, "<td><span class=\"badge %s\">%s</span></td>", badge, word);
            else if (speaks_of(s, rules[r]->code))
                tp_html_raw(p, "<td></td>");
        }
        tp_html_raw(p, "</tr>\n");
    }
    tp_html_raw(p, "</tbody></table></div>\n");
}

/* ---- rules ---- */

static void write_rules(const tp_page *p, const tp_spec_report *s)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    tp_html_raw(p, "<details><summary>What was decided</summary><div class=\"scroll\"><table><caption>Obligations by "
                   "rule</caption><thead><tr><th scope=\"col\">rule</th><th scope=\"col\">says</th><th "
                   "scope=\"col\">proven</th><th "
                   "scope=\"col\">violated</th><th scope=\"col\">unknown</th><th scope=\"col\">allowed</th><th "
                   "scope=\"col\">rests "
                   "on</th></tr></thead><tbody>\n");
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
        fprintf(p->out,
                "<tr><th scope=\"row\">%s</th><td>%s</td><td class=\"n\">%u%s%s%s</td><td class=\"n\">%u</td><td "
                "class=\"n\">%u</td><td class=\"n\">%u</td><td>",
                rules[r]->code, rules[r]->title, proven, proven ? " (" : "",
                proven && grade ? tp_grade_name(grade) : "", proven ? ")" : "", violated, unknown, allowed);
        tp_html_put(p, given);
        tp_html_raw(p, "</td></tr>\n");
    }
    tp_html_raw(p, "</tbody></table></div></details>\n");
}

/* ---- equivalence ---- */

static void write_equivalence(const tp_page *p, const tp_spec_report *s)
{
    const tp_equiv *e = s->equiv;
    const tp_equality *q = &s->equality;
    if (!e)
        return;
    tp_html_raw(
        p, "<h3>Against the reference</h3><div class=\"scroll\"><table><caption>What was compared</caption><tbody>\n");
    fprintf(p->out,
            "<tr><th scope=\"row\">cases</th><td>%u equal, %u different, %u trapped, %u not run; seed %llu</td></tr>\n",
            e->equal, e->different, e->trapped, e->skipped, (unsigned long long)e->seed);
    tp_html_raw(p, "<tr><th scope=\"row\">all sizes</th><td>");
    const tp_case_result *overflow = tp_equiv_overflow(e);
    if (q->proven) {
        fprintf(p->out,
                "<span class=\"badge ok\">proven</span> over the reals, given the rules%s%s: %u obligations, %u with "
                "certificate%s%s",
                q->given ? " and " : "", tp_fact_names(q->given), q->obligations, q->certified,
                q->masks ? "; finite masks taken as minus infinity" : "", q->casts ? "; casts are the identity" : "");
        for (uint32_t i = 0; i < q->constants.len; i++) {
            tp_html_raw(p, i ? ", " : "; taken as equal: ");
            tp_html_prose(p, q->constants.at[i]);
        }
        if (overflow) {
            tp_html_raw(p, "; overflows in case ");
            tp_html_put(p, tp_case_text(p->a, overflow->the_case));
        }
        tp_html_raw(p, "; rewriting: ");
        tp_html_prose(p, q->rewriting);
    } else {
        tp_html_raw(p, "<span class=\"badge note\">not shown</span> ");
        tp_html_prose(p, q->reason);
    }
    if (q->proven && s->opinion.asked) {
        tp_html_raw(p, "</td></tr>\n<tr><th scope=\"row\">elements</th><td>second opinion: ");
        tp_html_put(p, tp_opinion_text(p->a, &s->opinion));
    }
    uint32_t shapes = e->algebra.equal + e->box.equal;
    fprintf(p->out, "</td></tr>\n<tr><th scope=\"row\">algebra</th><td>%s%u shape%s",
            shapes ? "equal over the reals at " : "decided at ", shapes, shapes == 1 ? "" : "s");
    if (e->box.equal)
        fprintf(p->out, ", among them %u of the %llu of a box", e->box.equal, (unsigned long long)e->box_shapes);
    if (e->blocks.n) {
        tp_html_raw(p, " (");
        tp_html_prose(p, e->blocks);
        tp_html_raw(p, ")");
    }
    if (shapes && e->chance < HUGE_VAL)
        fprintf(p->out, "; false acceptance &le; 2<sup>-%.0f</sup>", e->chance);
    tp_html_raw(p, "</td></tr>\n<tr><th scope=\"row\">rounding</th><td>");
    if (e->worst)
        fprintf(p->out, "worst distance %.3g of the certified bound", e->worst->ratio);
    if (e->unstable)
        fprintf(p->out, "; computed numbers off by %.3g of the tolerance", e->unstable->rounding);
    fprintf(p->out, "</td></tr>\n<tr><th scope=\"row\">bits</th><td>identical on exact inputs in %u case%s</td></tr>\n",
            e->bits.equal, e->bits.equal == 1 ? "" : "s");
    if (e->coverage.text.n) {
        tp_html_raw(p, "<tr><th scope=\"row\">coverage</th><td>");
        tp_html_prose(p, e->coverage.text);
        tp_html_raw(p, "</td></tr>\n");
    }
    if (e->coverage.pairs_text.n) {
        tp_html_raw(p, "<tr><th scope=\"row\">sizes</th><td>");
        tp_html_prose(p, e->coverage.pairs_text);
        tp_html_raw(p, "</td></tr>\n");
    }
    if (e->box.equal && e->box_text.n) {
        tp_html_raw(p, "<tr><th scope=\"row\">box</th><td>");
        tp_html_prose(p, e->box_text);
        tp_html_raw(p, e->box_constants.n ? "; held: " : "");
        tp_html_prose(p, e->box_constants);
        tp_html_raw(p, "</td></tr>\n");
    }
    tp_html_raw(p, "</tbody></table></div>\n");
    tp_html_raw(p, "<div class=\"maps\">\n");
    for (uint32_t i = 0; i < e->cases.len && i < 1; i++)
        for (uint32_t o = 0; o < e->cases.at[i].outputs.len; o++)
            tp_html_errors(p, &e->cases.at[i].outputs.at[o]);
    tp_html_raw(p, "</div>\n");
}

/* ---- the page ---- */

static void write_spec(const tp_page *p, uint32_t i)
{
    const tp_spec_report *s = &p->r->specs.at[i];
    fprintf(p->out, "<section class=\"%s\"><h2 id=\"spec%u\">", class_of(s), i);
    name_of(p, s);
    fprintf(p->out, " %s</h2>\n<p class=\"dim\">", badge_of(s));
    tp_html_put(p, s->source->path);
    if (s->spec) {
        tp_html_raw(p, " &middot; target ");
        tp_html_put(p, s->spec->kernels[0]->target.name);
        tp_html_raw(p, "</p>\n<p>For all ");
        tp_html_put(p, tp_domain_text(p->a, s));
        tp_str but = tp_domain_but(s);
        tp_html_raw(p, but.n ? "; but " : "");
        tp_html_put(p, but);
    }
    tp_html_raw(p, "</p>\n");
    write_findings(p, s);
    if (s->spec) {
        write_matrix(p, s);
        tp_html_maps(p, s);
        tp_html_lanes(p, s);
        tp_html_vmem(p, s);
        write_equivalence(p, s);
        tp_html_raw(p, "<h3>Proofs</h3>\n");
        write_rules(p, s);
        const tp_kernel *k = s->spec->kernels[0];
        for (uint32_t c = 0; c < k->ncontracts; c++) {
            tp_html_raw(p, c ? "<br>" : "<p>Taken for granted: ");
            tp_html_put(p, k->contracts[c].id);
            tp_html_raw(p, " <code>");
            tp_html_put(p, k->contracts[c].text);
            tp_html_raw(p, c + 1 == k->ncontracts ? "</code></p>\n" : "</code>");
        }
    }
    if (s->sha256.n) {
        tp_html_raw(p, "<p class=\"dim\">sha256 <code>");
        tp_html_put(p, s->sha256);
        tp_html_raw(p, "</code></p>\n");
    }
    tp_html_raw(p, "</section>\n");
}

/* Is the character after an odd number of backslashes? */
static bool escaped(const char *text, size_t at)
{
    size_t n = 0;
    while (n < at && text[at - n - 1] == '\\')
        n++;
    return n % 2 == 1;
}

/* The JSON record once more, for programs; data, no script: a "<" in it is written as an escape. */
static void write_record(const tp_page *p)
{
    tp_memory_file m;
    if (!tp_memory_open(&m))
        tp_leave(p->a, TP_E_MEMORY);
    tp_format_json.write(p->r, m.out);
    if (!tp_memory_close(&m)) {
        free(m.at);
        tp_leave(p->a, TP_E_MEMORY);
    }
    const char *buffer = m.at;
    size_t n = m.n;
    tp_html_raw(p, "<script type=\"application/json\" id=\"record\">");
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (!quoted && (buffer[i] == ' ' || buffer[i] == '\n'))
            continue; /* layout */
        if (buffer[i] == '"' && !(quoted && escaped(buffer, i)))
            quoted = !quoted;
        if (buffer[i] == '<')
            tp_html_raw(p, "\\u003c");
        else
            fputc(buffer[i], p->out);
    }
    tp_html_raw(p, "</script>\n");
    free(m.at);
}

static void write_html(const tp_report *r, FILE *out)
{
    tp_page p = {r, tp_arena_child(r->arena), out};
    tp_counts t = {0};
    for (uint32_t i = 0; i < r->specs.len; i++) {
        tp_counts c = tp_count(&r->specs.at[i]);
        t.violated += c.violated + c.vacuous;
        t.unknown += c.unknown;
        t.proven += c.proven;
    }
    tp_html_raw(
        &p,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"><meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>tileproof");
    if (r->specs.len == 1) {
        tp_html_raw(&p, ": ");
        name_of(&p, &r->specs.at[0]);
    }
    tp_html_raw(&p, "</title><style>");
    tp_html_raw(&p, STYLE);
    fprintf(out,
            "</style></head><body><a class=\"skip\" href=\"#main\">To the findings</a><header><h1>tileproof</h1><p>%u "
            "spec%s: %u violated, %u unknown, %u proven</p></header><main id=\"main\">\n",
            r->specs.len, r->specs.len == 1 ? "" : "s", t.violated, t.unknown, t.proven);
    if (r->specs.len > 1)
        write_index(&p);
    for (uint32_t i = 0; i < r->specs.len; i++)
        write_spec(&p, i);
    write_record(&p);
    tp_html_raw(
        &p,
        "</main><footer><p>tileproof " TP_VERSION ". F1: each array has fewer than 2^31 elements. F2: each array "
        "dimension is at most 2^30. cert: each arithmetic step "
        "has a certificate; exact: decided by tables, text or every case; z3: by a solver. Proofs hold for all sizes "
        "of the spec; cases for what was run.</p></footer></body></html>\n");
    tp_arena_free(p.a);
}

const tp_format tp_format_html = {"html", "one self-contained page with pictures", write_html, false};
