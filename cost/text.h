/* Costs for people: sizes at which they mean something, and quantities as text. */
#ifndef TP_COST_TEXT_H
#define TP_COST_TEXT_H

#include "spec/kernel.h"

/* For a size of k: `wish`, or the nearest value that it may have; of a choice the largest; and what is at most 16 in
 * the first case of the spec and is not cut into blocks (it counts heads, groups or the like) stays. */
int64_t tp_typical_size(const tp_kernel *k, const tp_size *z, int64_t wish);
enum { TP_TYPICAL_SIZE = 4096 };

/* "M = 3, N = 200": of open sizes, in `a`. */
tp_str tp_sizes_text(tp_arena *a, const tp_kernel *k, const int64_t *env);
/* "3.50 MiB", in `a`; "no bound" below 0. */
tp_str tp_bytes_text(tp_arena *a, int64_t bytes);
/* "3.141 ms", in `a`. */
tp_str tp_seconds_text(tp_arena *a, double seconds);

#endif
