/* Text that grows without taking memory: what is beyond a megabyte lies in a file without a name. */
#ifndef TP_SPOOL_H
#define TP_SPOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"

typedef struct tp_spool tp_spool;
/* Its record lives in the arena, and leaves through it where there is no stream to be had; the text is freed by
 * tp_spool_free(). */
tp_spool *tp_spool_new(tp_arena *a);
void tp_spool_free(tp_spool *s);
/* What is printed there is appended. */
FILE *tp_spool_out(tp_spool *s);
/* Bytes so far. */
uint64_t tp_spool_length(tp_spool *s);
/* Bytes [from, from + n) of it. False: some were lost on the way, for lack of memory or disk, or `out` failed. */
bool tp_spool_copy(tp_spool *s, uint64_t from, uint64_t n, FILE *out);
/* At most `n` bytes from `from` on, into `to`; how many there were. 0: the end, or they were lost. */
size_t tp_spool_read(tp_spool *s, uint64_t from, char *to, size_t n);
/* Was anything lost? */
bool tp_spool_lost(const tp_spool *s);

#endif
