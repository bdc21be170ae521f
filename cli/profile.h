/* run --profile: what a run did and how long it took, as JSON (docs/REPORTS.md). */
#ifndef TP_CLI_PROFILE_H
#define TP_CLI_PROFILE_H

#include "cli/check.h"
#include "kernels/call.h"

enum { TP_PROFILE_VERSION = 1 };

/* Wall seconds of the phases around the machine. */
typedef struct tp_profile {
    const tp_call *call;
    const tp_run_stats *stats;
    tp_str standing; /* by what right it ran */
    double read, verify, write;
} tp_profile;

/* Measures the peaks and writes the file of --profile; false with *why. */
bool tp_profile_write(tp_cli *c, const tp_profile *p, tp_str *why);

#endif
