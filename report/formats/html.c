/* One self-contained page: no scripts, no network, light and dark. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "base/file.h"
#include "report/page/page.h"

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

static int grade_of(const tp_spec_report *s)
{
    tp_counts c = tp_count(s);
    return !s->valid ? 0 : c.violated + c.vacuous ? 1 : c.unknown ? 2 : 3;
}

typedef struct entry {
    uint32_t spec;
    int grade;
} entry;

static int worst_first(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    return a->grade != b->grade ? (a->grade < b->grade ? -1 : 1) : a->spec < b->spec ? -1 : a->spec > b->spec;
}

/* The rules that are violated, or open, each once, with links to their first finding. */
static void write_open_rules(const tp_page *p, const tp_spec_report *s)
{
    bool any = false;
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        bool again = !tp_is_standing(f) || !tp_is_shown(p->r, f);
        for (uint32_t k = 0; k < i && !again; k++)
            again = strcmp(s->findings.at[k].rule, f->rule) == 0 && tp_is_standing(&s->findings.at[k]);
        if (again)
            continue;
        fprintf(p->out, "%s<a href=\"#%.*s\">%s</a>", any ? ", " : "", TP_FMT(tp_html_anchor(p, s, f)), f->rule);
        any = true;
    }
}

static void write_entry(const tp_page *p, uint32_t i)
{
    const tp_spec_report *s = &p->r->specs.at[i];
    tp_counts c = tp_count(s);
    fprintf(p->out, "<tr class=\"%s\"><th scope=\"row\"><a href=\"#spec%u\">", class_of(s), i);
    name_of(p, s);
    fprintf(p->out, "</a></th><td>%s</td><td>", badge_of(s));
    write_open_rules(p, s);
    fprintf(p->out, "</td><td class=\"n long\">%u</td><td class=\"n long\">", c.proven);
    if (s->vmem.limit && s->vmem.bytes >= 0)
        fprintf(p->out, "%.0f&nbsp;%%", 100.0 * (double)s->vmem.bytes / (double)s->vmem.limit);
    else
        tp_html_raw(p, s->vmem.limit ? "no bound" : "");
    tp_html_raw(p, "</td><td class=\"long\">");
    if (s->equiv)
        fprintf(p->out, "%u of %u cases equal%s%s", c.tested, s->equiv->cases.len,
                s->equality.proven ? ", proven for all sizes" : "",
                tp_equiv_overflow(s->equiv) ? ", overflows in some" : "");
    tp_html_raw(p, "</td></tr>\n");
}

static void write_index(const tp_page *p, const entry *order)
{
    tp_html_raw(p, "<fieldset class=\"filter\"><legend>Show</legend>"
                   "<input type=\"radio\" name=\"show\" id=\"show-all\" checked><label for=\"show-all\">all</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-bad\"><label for=\"show-bad\">violated</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-open\"><label for=\"show-open\">unknown</label>"
                   "<input type=\"radio\" name=\"show\" id=\"show-ok\"><label for=\"show-ok\">ok</label></fieldset>\n");
    tp_html_raw(p,
                "<table class=\"wide\"><caption>All specs, worst first</caption><thead><tr><th "
                "scope=\"col\">kernel</th><th scope=\"col\">verdict</th><th scope=\"col\">rules</th><th scope=\"col\" "
                "class=\"long\">proven</th><th scope=\"col\" class=\"long\">VMEM</th><th scope=\"col\" "
                "class=\"long\">executed</th></tr></thead><tbody>\n");
    for (uint32_t i = 0; i < p->r->specs.len; i++)
        write_entry(p, order[i].spec);
    tp_html_raw(p, "</tbody></table>\n");
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
    tp_html_findings(p, s);
    if (s->spec) {
        tp_html_verdicts(p, s);
        tp_html_equivalence(p, s);
        tp_html_maps(p, s);
        tp_html_pipeline(p, s);
        tp_html_cost(p, s);
        tp_html_vmem(p, s);
        tp_html_source(p, s);
        tp_html_raw(p, "<h3>Proofs</h3>\n");
        tp_html_rules(p, s);
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
static bool is_escaped(const char *text, size_t at)
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
        if (buffer[i] == '"' && !(quoted && is_escaped(buffer, i)))
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
    for (size_t i = 0; tp_page_style[i]; i++)
        tp_html_raw(&p, tp_page_style[i]);
    fprintf(out,
            "</style></head><body><a class=\"skip\" href=\"#main\">To the findings</a><header><h1>tileproof</h1><p>%u "
            "spec%s: %u violated, %u unknown, %u proven</p></header><main id=\"main\">\n",
            r->specs.len, r->specs.len == 1 ? "" : "s", t.violated, t.unknown, t.proven);
    tp_html_raw(&p, tp_page_patterns);
    entry *order = TP_NEWN(p.a, entry, r->specs.len + 1);
    for (uint32_t i = 0; i < r->specs.len; i++)
        order[i] = (entry){i, grade_of(&r->specs.at[i])};
    qsort(order, r->specs.len, sizeof *order, worst_first);
    if (r->specs.len > 1)
        write_index(&p, order);
    for (uint32_t i = 0; i < r->specs.len; i++)
        write_spec(&p, order[i].spec);
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
