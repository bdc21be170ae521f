/* run --trace, --trace-text: what a run did, and when, for a trace viewer or for a terminal (docs/REPORTS.md). */
#ifndef TP_CLI_TRACE_H
#define TP_CLI_TRACE_H

#include "base/finding.h"
#include "cli/cli.h"
#include "kernels/machine/machine.h"

/* Whole steps are kept until so many events are, and no more than twice as many. */
enum { TP_TRACE_EVENTS = 100000, TP_TRACE_DEVICES = 64 /* as many as are executed */ };

typedef struct tp_trace tp_trace;

/* `source`: the spec's text; `env`: values of the sizes. Both stay. Memory is taken from `a`. */
tp_trace *tp_trace_new(tp_arena *a, const tp_source *source, const tp_kernel *k, const int64_t *env);
tp_observer *tp_trace_observer(tp_trace *t);
/* The run is over; `trap`: with a trap, NULL: well. */
void tp_trace_close(tp_trace *t, const tp_trap *trap);
/* The file of --trace, in the format of Chrome's trace viewer, which Perfetto reads; `at`: sizes and dtypes. False with
 * *why. */
bool tp_trace_write(tp_cli *c, tp_trace *t, tp_str at, tp_str *why);
/* --trace-text: statements by time, windows, the first steps. */
void tp_trace_print(tp_trace *t, FILE *out);

#endif
