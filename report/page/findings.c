/* Findings: the place, the smallest case as a table, the fix as a change of lines. */
#include "report/page/page.h"

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

static void write_bindings(const tp_page *p, const char *what, const tp_binding *at, uint32_t n, tp_str more)
{
    if (!n && !more.n)
        return;
    fprintf(p->out, "<tr><th scope=\"row\">%s</th><td>", what);
    for (uint32_t i = 0; i < n; i++) {
        tp_html_raw(p, i ? ", <code>" : "<code>");
        tp_html_put(p, at[i].name);
        fprintf(p->out, " = %lld</code>", (long long)at[i].value);
    }
    if (more.n) {
        tp_html_raw(p, n ? ", <code>" : "<code>");
        tp_html_put(p, more);
        tp_html_raw(p, "</code>");
    }
    tp_html_raw(p, "</td></tr>\n");
}

static void write_case(const tp_page *p, const tp_witness *w)
{
    tp_html_raw(p, "<table class=\"case\"><caption>Smallest case");
    tp_html_raw(p, strcmp(w->replay, "executed") == 0 ? ", confirmed by execution" : "");
    tp_html_raw(p, "</caption><tbody>\n");
    write_bindings(p, "sizes", w->sizes.at, w->sizes.len, w->dtypes);
    write_bindings(p, "grid step", w->step.at, w->step.len, (tp_str){NULL, 0});
    write_bindings(p, "tables", w->tables.at, w->tables.len, (tp_str){NULL, 0});
    if (w->detail.n) {
        tp_html_raw(p, "<tr><th scope=\"row\">there</th><td>");
        tp_html_prose(p, w->detail);
        tp_html_raw(p, "</td></tr>\n");
    }
    tp_html_raw(p, "</tbody></table>\n");
}

/* The lines that hold [start, end) of the text; of long ones what is near. */
static tp_str lines_around(tp_str text, uint32_t start, uint32_t end)
{
    enum { NEAR = 160 };
    size_t from = start, to = end;
    while (from > 0 && text.p[from - 1] != '\n' && start - from < NEAR)
        from--;
    while (to < text.n && text.p[to] != '\n' && to - end < NEAR)
        to++;
    while (from < start && tp_inside_character(text, from)) /* whole characters */
        from++;
    while (to > end && tp_inside_character(text, to))
        to--;
    return (tp_str){text.p + from, to - from};
}

static void write_lines(const tp_page *p, tp_str text, char sign)
{
    enum { MOST = 12, WIDTH = 600 };
    size_t n = 0;
    for (size_t i = 0; i <= text.n && n <= MOST; n++) {
        tp_str line = tp_line_from(text, i);
        i += line.n + 1;
        fprintf(p->out, "<span class=\"%s\">%c ", sign == '-' ? "minus" : "plus", sign);
        tp_html_put(p, n == MOST || line.n > WIDTH ? TP_S("…") : line);
        tp_html_raw(p, "</span>\n");
    }
}

/* The lines that the fix touches, before and after; edits far apart are shown one by one. */
static void write_change(const tp_page *p, const tp_source *source, const tp_fix *fix)
{
    enum { MOST = 6 };
    uint32_t n = fix->edits.len < MOST ? fix->edits.len : MOST;
    tp_html_raw(p, n ? "<pre>" : "");
    for (uint32_t i = 0, next; i < n; i = next) {
        const tp_edit *first = &fix->edits.at[i];
        tp_str old = lines_around(source->text, first->start, first->end);
        for (next = i + 1; next < fix->edits.len && source->text.p + fix->edits.at[next].start <= old.p + old.n; next++)
            old = lines_around(source->text, (uint32_t)(old.p - source->text.p), fix->edits.at[next].end);
        tp_edits moved = {0};
        for (uint32_t e = i; e < next; e++) {
            tp_edit edit = fix->edits.at[e];
            edit.start -= (uint32_t)(old.p - source->text.p);
            edit.end -= (uint32_t)(old.p - source->text.p);
            tp_push(p->a, moved, edit);
        }
        write_lines(p, old, '-');
        write_lines(p, tp_apply_edits(p->a, old, &moved), '+');
    }
    tp_html_raw(p, n ? "</pre>\n" : "");
}

static void write_remark(const tp_page *p, const char *what, tp_str text)
{
    if (!text.n)
        return;
    fprintf(p->out, "<li>%s: ", what);
    tp_html_prose(p, text);
    tp_html_raw(p, "</li>\n");
}

static void write_finding(const tp_page *p, const tp_spec_report *s, const tp_finding *f)
{
    static const char *const CLASSES[] = {"note", "open", "bad"}, *const EDGES[] = {"is-note", "is-warning",
                                                                                    "is-error"};
    tp_severity severity = tp_shown_severity(p->r, f);
    const char *word = f->verdict == TP_UNKNOWN  ? "unknown"
                       : f->verdict == TP_ADVICE ? "advice"
                                                 : tp_verdict_name(f->verdict);
    tp_str anchor = tp_html_anchor(p, s, f);
    fprintf(p->out, "<article id=\"%.*s\" class=\"%s\"><h4><span class=\"badge %s\">%s</span> ", TP_FMT(anchor),
            EDGES[severity], CLASSES[severity], s->valid ? word : "error");
    tp_html_code(p, f->rule);
    tp_html_raw(p, " ");
    tp_html_prose(p, f->message);
    tp_html_raw(p, "</h4>\n");
    write_excerpt(p, s->source, f);
    if (f->witness)
        write_case(p, f->witness);
    tp_html_raw(p, "<ul>\n");
    write_remark(p, "why", f->verdict == TP_UNKNOWN ? f->reason : (tp_str){NULL, 0});
    write_remark(p, "holds when", tp_shown_precondition(p->a, f));
    write_remark(p, "note", f->note);
    write_remark(p, "help", tp_shown_help(f));
    write_remark(p, "fix", tp_shown_fix(p->a, f));
    tp_html_raw(p, "</ul>\n");
    if (f->fix)
        write_change(p, s->source, f->fix);
    tp_html_failing(p, s, f);
    tp_html_raw(p, "</article>\n");
}

void tp_html_findings(const tp_page *p, const tp_spec_report *s)
{
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(p->a, p->r, s, &n);
    if (n)
        tp_html_raw(p, "<h3>Findings</h3>\n");
    for (int severity = TP_ERROR; severity >= TP_NOTE; severity--)
        for (uint32_t i = 0; i < n; i++)
            if ((int)all[i].severity == severity)
                write_finding(p, s, all[i].finding);
}
