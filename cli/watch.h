#ifndef TP_WATCH_H
#define TP_WATCH_H

#include "cli/cli.h"

/* lint and verify, again and again, until a signal ends the program. Returns an exit code for what no change of a spec
 * mends: wrong usage, or that no process can be started. */
int tp_watch_specs(tp_cli *c, bool execute);

#endif
