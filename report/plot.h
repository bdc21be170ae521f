/* The pictures of the HTML report, for a terminal. */
#ifndef TP_PLOT_H
#define TP_PLOT_H

#include "report/report.h"

/* How often each block comes, copies by step, VMEM. `unicode`: else ASCII only. */
void tp_write_plot(const tp_report *r, bool unicode, FILE *out);

#endif
