/* One line per finding: PATH:LINE:COLUMN: SEVERITY[CODE] MESSAGE */
#include "report/report.h"

static void write_concise(const tp_report *r, FILE *out)
{
    tp_arena *a = tp_arena_child(r->arena);
    for (uint32_t i = 0; i < r->specs.len; i++) {
        const tp_spec_report *s = &r->specs.at[i];
        for (uint32_t j = 0; j < s->findings.len; j++) {
            const tp_finding *f = &s->findings.at[j];
            tp_linecol at = tp_linecol_of(s->source, f->loc.start);
            if (!tp_is_shown(r, f))
                continue;
            fprintf(out, "%.*s:%u:%u: %s[%s] %.*s", TP_FMT(tp_visible_line(a, tp_source_path(s->source, f->loc.start))),
                    at.line, at.column,
                    f->verdict == TP_UNKNOWN                            ? "unknown"
                    : f->verdict == TP_ADVICE && f->severity == TP_NOTE ? "advice"
                                                                        : tp_severity_name(f->severity),
                    f->rule, TP_FMT(tp_visible(a, f->message)));
            if (f->witness) {
                tp_str w = tp_witness_text(a, f->witness);
                fprintf(out, " (%.*s)", TP_FMT(w));
            }
            fputc('\n', out);
        }
    }
    tp_arena_free(a);
}

const tp_format tp_format_concise = {"concise", "one line per finding", write_concise, true};
