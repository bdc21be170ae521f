/* Whole results in the cache: what lint found in a spec, sealed with the user's key.
 *
 * A proof in a cache is checked again; findings cannot be. So they count only under a seal that nobody else can make,
 * and only for the same text, target, rules, limits and program. Nothing is kept that may turn out otherwise the next
 * time: what was cut off by seconds, or since the system refused something.
 */
#ifndef TP_CLI_RESULTS_H
#define TP_CLI_RESULTS_H

#include "cli/check.h"

typedef struct tp_results tp_results;

/* For --cache-key; run->results stays NULL where the run writes what a result does not hold. False after a message. */
bool tp_results_begin(tp_cli *c, tp_check_run *run);
void tp_results_end(tp_check_run *run);

/* The report of this loaded, valid job as an earlier run left it; false: there is none. Safe from several threads. */
bool tp_result_find(const tp_check_run *run, tp_job *j);
/* For runs to come, where it would be the same. Safe from several threads. */
void tp_result_keep(const tp_check_run *run, tp_job *j);

#endif
