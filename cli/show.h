/* run --show: what names of the body hold, statement by statement (docs/REPORTS.md). */
#ifndef TP_CLI_SHOW_H
#define TP_CLI_SHOW_H

#include "cli/cli.h"
#include "kernels/machine/machine.h"

enum { TP_SHOW_MOST = 1000 }; /* values that are printed; further ones are counted */

typedef struct tp_show tp_show;

/* --show and --at of the command line, for a kernel whose text is `source`; prints to `out`. NULL after a message: a
 * name that the kernel does not have. Memory is taken from c->arena. */
tp_show *tp_show_new(tp_cli *c, const tp_source *source, const tp_kernel *k, FILE *out);
tp_observer *tp_show_observer(tp_show *s);
/* The run is over: what was left out, what was asked for and never seen. */
void tp_show_close(tp_show *s);

#endif
