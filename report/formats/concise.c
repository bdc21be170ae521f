/* One line per finding: PATH:LINE:COLUMN: SEVERITY[CODE] MESSAGE */
#include "report/writing.h"

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    FILE *out = tp_part_out(w, 0);
    uint32_t n;
    const tp_shown_finding *all = tp_shown_findings(a, w->r, s, &n);
    for (uint32_t j = 0; j < n; j++) {
        const tp_finding *f = all[j].finding;
        tp_linecol at = tp_linecol_of(s->source, f->loc.start);
        fprintf(out, "%.*s:%u:%u: %s[%s] %.*s", TP_FMT(tp_visible_line(a, tp_source_path(s->source, f->loc.start))),
                at.line, at.column,
                f->verdict == TP_UNKNOWN                            ? "unknown"
                : f->verdict == TP_ADVICE && f->severity == TP_NOTE ? "advice"
                                                                    : tp_severity_name(f->severity),
                f->rule, TP_FMT(tp_visible(a, f->message)));
        if (f->witness) {
            tp_str witness = tp_witness_text(a, f->witness);
            fprintf(out, " (%.*s)", TP_FMT(witness));
        }
        fputc('\n', out);
    }
}

const tp_format tp_format_concise = {"concise", "one line per finding", write_spec, NULL};
