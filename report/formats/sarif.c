#include "report/report.h"

static void write_it(const tp_report *r, FILE *out)
{
    tp_write_sarif(r, false, out);
}

const tp_format tp_format_sarif = {"sarif", "SARIF 2.1.0 for code scanning: what is violated or open", write_it, false};
