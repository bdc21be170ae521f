/* Two versions of a kernel: do they ask for the same windows? */
#ifndef TP_WINDOWS_H
#define TP_WINDOWS_H

#include "analyzer/claim/analysis.h"

typedef enum tp_sameness { TP_SAME, TP_DIFFERENT_WINDOWS, TP_NOT_TOLD } tp_sameness;

typedef struct tp_same_result {
    tp_sameness same;
    const tp_witness *witness; /* DIFFERENT_WINDOWS: sizes and step */
    tp_str reason;             /* NOT_TOLD */
} tp_same_result;

/* Has operand `y` of kernel `b` the windows of operand `x` of kernel `a`, in
 * every step, for all sizes of a's domain? Axes correspond by position, sizes
 * and tables by name. Leaves with TP_E_MEMORY. */
tp_same_result tp_same_windows(tp_arena *arena, const tp_analysis_options *o, const tp_kernel *a, const tp_operand *x,
                               const tp_kernel *b, const tp_operand *y);

#endif
