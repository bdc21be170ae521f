#include "report/report.h"

static void write_it(const tp_report *r, FILE *out)
{
    tp_write_sarif(r, true, out);
}

const tp_format tp_format_sarif_full = {"sarif-full", "SARIF 2.1.0 for archives: proofs and suppressed findings, too",
                                        write_it, false};
