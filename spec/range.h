/* Between what the elements of an input lie: its "values". */
#ifndef TP_RANGE_H
#define TP_RANGE_H

#include <math.h>

#include "base/tensor.h"
#include "spec/kernel.h"

/* Both ends are numbers of the dtype, or infinite where nothing is declared; empty where lo > hi. */
typedef struct tp_range {
    double lo, hi;
} tp_range;

static inline bool tp_range_is_open(tp_range r)
{
    return isinf(r.lo) && isinf(r.hi);
}

/* That of an input at these sizes: all numbers where it declares nothing. */
tp_range tp_input_range(const tp_kernel *k, uint32_t input, const int64_t *env);

/* v where it lies inside of r, which is not empty; else a number inside, near the end that v is beyond: other numbers
 * become other ones, as far as there are any. `whole`: r is one of integers. */
double tp_range_fold(tp_range r, double v, bool whole);

/* A number of r, both of whose ends are finite, by a hash: either end once in eight. */
double tp_range_draw(tp_range r, uint64_t hash, bool whole);

/* Do all elements of the array that are "valid" lie in the input's range? False with *why in `a`, which names one. env
 * has the sizes and tables, and room for every symbol: it is as before on return. */
bool tp_input_holds(tp_arena *a, const tp_kernel *k, uint32_t input, int64_t *env, const tp_tensor *t, tp_str *why);

/* "0 <= labels <= V - 1"; empty where nothing is declared. */
tp_str tp_range_text(tp_arena *a, const tp_kernel *k, const tp_operand *o);

#endif
