/* Workflow commands of GitHub Actions: annotations, worst first, since the
 * platform shows ten of each kind. */
#include "report/report.h"

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

static void write_github(const tp_report *r, FILE *out)
{
    static const char *const COMMANDS[] = {"notice", "warning", "error"};
    tp_arena *a = tp_arena_child(r->arena);
    uint32_t n;
    const tp_shown *all = tp_shown_findings(a, r, &n);
    for (uint32_t i = 0; i < n; i++) {
        const tp_finding *f = all[i].finding;
        const tp_source *source = all[i].spec->source;
        tp_linecol start = tp_linecol_of(source, f->loc.start), end = tp_linecol_of(source, f->loc.end);
        bool range = f->loc.end > f->loc.start;
        fprintf(out, "::%s file=", COMMANDS[all[i].severity]);
        put(out, tp_visible(a, tp_source_path(source, f->loc.start)), true);
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
    tp_arena_free(a);
}

const tp_format tp_format_github = {"github", "annotations of GitHub Actions", write_github, false};
