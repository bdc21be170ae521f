/* The spec as it was read, line by line, with what was found in its margin. */
#include "report/page/page.h"

/* The gravest finding of a line that has an article; NULL: none. */
static const tp_finding *gravest(const tp_page *p, const tp_spec_report *s, size_t start, size_t end)
{
    const tp_finding *worst = NULL;
    for (uint32_t i = 0; i < s->findings.len; i++) {
        const tp_finding *f = &s->findings.at[i];
        if (tp_is_shown(p->r, f) && f->loc.end > f->loc.start && f->loc.start >= start && f->loc.start < end &&
            (!worst || tp_shown_severity(p->r, f) > tp_shown_severity(p->r, worst)))
            worst = f;
    }
    return worst;
}

/* Coverage of the branches, masks, loops and arms of a line; nothing where there are none. */
static void write_ways(const tp_page *p, const tp_coverage_summary *v, size_t start, size_t end)
{
    tp_buf text = {.arena = p->a};
    bool gap = false;
    for (uint32_t i = 0; i < v->npoints; i++) {
        const tp_point *x = &v->points[i];
        if (!x->line || x->offset < start || x->offset >= end)
            continue;
        tp_buf_printf(&text, "%s%.*s", text.n ? "; " : "", TP_FMT(tp_point_text(p->a, x)));
        gap |= x->seen != x->all;
    }
    if (!text.n) {
        tp_html_raw(p, "<span></span>");
        return;
    }
    fprintf(p->out, "<span class=\"%s\" role=\"img\" aria-label=\"%.*s\" title=\"%.*s\">%s</span>", gap ? "open" : "ok",
            TP_FMT(tp_buf_view(&text)), TP_FMT(tp_buf_view(&text)), gap ? "○" : "●");
}

static void write_text(const tp_page *p, const tp_spec_report *s, size_t from, size_t to)
{
    enum { MOST_LINES = 600, WIDTH = 300 };
    tp_str text = s->source->text;
    const tp_coverage_summary *v = s->equiv && s->equiv->coverage.npoints ? &s->equiv->coverage : NULL;
    if (v)
        tp_html_raw(p, "<p class=\"legend\"><span class=\"ok\">●</span> went every way in the cases, <span "
                       "class=\"open\">○</span> did not</p>\n");
    tp_html_raw(p, v ? "<ol class=\"source ways\">\n" : "<ol class=\"source\">\n");
    uint32_t lines = 0;
    for (size_t i = from, end; i < to; i = end + 1) {
        end = i + tp_line_from((tp_str){text.p, to}, i).n;
        if (++lines > MOST_LINES)
            continue;
        const tp_finding *f = gravest(p, s, i, end + 1);
        tp_html_raw(p, "<li>");
        if (f)
            fprintf(p->out, "<a class=\"%s\" href=\"#%.*s\" title=\"%s\">%s</a>", tp_html_class(f),
                    TP_FMT(tp_html_anchor(p, s, f)), f->rule, f->verdict == TP_UNKNOWN ? "?" : "!");
        else
            tp_html_raw(p, "<span></span>");
        if (v)
            write_ways(p, v, i, end + 1);
        tp_html_raw(p, "<span>");
        size_t shown = end - i;
        if (shown > WIDTH)
            for (shown = WIDTH; shown > 0 && tp_inside_character(text, i + shown);)
                shown--;
        tp_html_content(p, (tp_str){text.p + i, shown});
        tp_html_raw(p, shown < end - i ? "…</span></li>\n" : "</span></li>\n");
    }
    tp_html_raw(p, "</ol>\n");
    if (lines > MOST_LINES)
        fprintf(p->out, "<p class=\"dim\">%u more lines are not shown.</p>\n", lines - MOST_LINES);
}

void tp_html_source(const tp_page *p, const tp_spec_report *s)
{
    size_t n = tp_source_main(s->source);
    if (!n)
        return;
    tp_html_raw(p, "<h3>Source</h3>\n<details><summary>");
    tp_html_put(p, s->source->path);
    tp_html_raw(p, "</summary>\n");
    write_text(p, s, 0, n);
    tp_html_raw(p, "</details>\n");
    if (s->source->kernel_file.n && n < s->source->text.n) {
        tp_html_raw(p, "<details><summary>");
        tp_html_put(p, s->source->kernel_file);
        tp_html_raw(p, "</summary>\n");
        write_text(p, s, n + 1, s->source->text.n);
        tp_html_raw(p, "</details>\n");
    }
}
