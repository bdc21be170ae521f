/* "prepare": tables that a program on integers computes from others, before the kernel runs. */
#ifndef TP_PREPARE_H
#define TP_PREPARE_H

#include "spec/scope.h"

/* Read the program of a kernel whose tables are read: sets k->prepare, and `prepared` of the tables that it assigns.
 * Raises TP002 to TP005. */
void tp_read_prepare(tp_reader *r, const tp_json *program);
/* Fill the prepared tables that env binds, from the others. It refuses what a check of the program does not allow, and
 * fails, both with *why: an entry outside its table, or one that is never assigned, a value outside int32, or more
 * than 10^6 operations. How many it took is added to *operations. */
typedef enum tp_prepared { TP_PREPARED, TP_PREPARE_REFUSES, TP_PREPARE_FAILS } tp_prepared;
tp_prepared tp_prepare(tp_arena *a, const tp_kernel *k, int64_t *env, int64_t *operations, tp_str *why);

#endif
