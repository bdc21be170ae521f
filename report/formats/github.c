/* Workflow commands of GitHub Actions: annotations, worst first, since the
 * platform shows ten of each kind. */
#include "report/writing.h"

/* Escaped as the runner unescapes it; in a property also what ends one. */
static void put(FILE *out, tp_str s, bool property)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            fprintf(out, "%%%02X", c);
        else
            fputc(c, out);
    }
}

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    static const char *const COMMANDS[] = {"notice", "warning", "error"};
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(a, w->r, s, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tp_finding *f = all[i].finding;
        tp_linecol start = tp_linecol_of(s->source, f->loc.start), end = tp_linecol_of(s->source, f->loc.end);
        bool range = f->loc.end > f->loc.start;
        FILE *out = tp_part_out(w, all[i].severity);
        fprintf(out, "::%s file=", COMMANDS[all[i].severity]);
        put(out, tp_visible(a, tp_source_path(s->source, f->loc.start)), true);
        fprintf(out, ",line=%u,col=%u", start.line, start.column);
        if (range && end.line == start.line)
            fprintf(out, ",endColumn=%u", end.column);
        if (range && end.line > start.line)
            fprintf(out, ",endLine=%u", end.line);
        fputs(",title=", out);
        put(out, tp_printf(a, "%s %s", f->rule, f->slug), true);
        fputs("::", out);
        put(out, tp_finding_story(a, f), false);
        fputc('\n', out);
    }
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    (void)r;
    for (uint32_t severity = TP_ERROR + 1; severity-- > 0;)
        tp_copy_part(w, severity, out);
}

const tp_format tp_format_github = {"github", "annotations of GitHub Actions", write_spec, write_end};
