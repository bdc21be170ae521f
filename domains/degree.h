/* Degrees of the rational functions that a kernel computes: by them residues
 * bound the chance that two different ones agree (Schwartz 1980, Zippel 1979).
 * A function without a law counts as a variable of its own.
 */
#ifndef TP_DEGREE_H
#define TP_DEGREE_H

#include "domains/domain.h"

/* Of an array: that of its planes; data are constants. */
static inline tp_degree tp_degree_of(const tp_lanes *x)
{
    return x->plane[0] ? x->degree : (tp_degree){0, 0};
}
tp_degree tp_degree_product(tp_degree a, tp_degree b);
/* p of x (and y); integer: the exponent of TP_P_INTEGER_POW. */
tp_degree tp_degree_of_elementwise(tp_prim p, int64_t integer, tp_degree x, tp_degree y);
/* n elements of degree x folded by p. */
tp_degree tp_degree_of_fold(tp_prim p, tp_degree x, double n);

#endif
