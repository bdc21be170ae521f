/* One finding per rule and place, the worst over the dtype combinations. */
#ifndef TP_MERGE_H
#define TP_MERGE_H

#include "base/finding.h"
#include "base/map.h"

typedef struct tp_merger {
    tp_findings all;
    tp_map first;          /* by rule, place and subject: index + 1 of the first */
    TP_VEC(uint32_t) next; /* index + 1 of the next one with that rule, place and subject */
} tp_merger;

/* The findings on one dtype combination, whose open ones learn their causes. */
void tp_merge(tp_arena *a, tp_merger *m, tp_findings *more);
/* All of them, causes first, then by place. */
tp_findings tp_merged_findings(tp_arena *a, tp_merger *m);

#endif
