#include "report/report.h"

static void write_spec(tp_writing *w, const tp_spec_report *s, tp_arena *a)
{
    tp_sarif_spec(w, s, false, a);
}

static void write_end(tp_writing *w, const tp_report *r, FILE *out)
{
    (void)r;
    tp_sarif_end(w, false, out);
}

const tp_format tp_format_sarif = {"sarif", "SARIF 2.1.0 for code scanning: what is violated or open", write_spec,
                                   write_end};
