/* What the spec of one cell costs at some sizes, by cost/. */
#ifndef TP_SWEEP_PRICE_H
#define TP_SWEEP_PRICE_H

#include "spec/kernel.h"

/* Of the dtype combinations, that of the slowest. */
typedef struct tp_sweep_cost {
    bool known;        /* else `why` */
    int64_t bytes;     /* between HBM and VMEM or SMEM */
    int64_t flops;     /* -1: not known */
    double seconds;    /* in the model of the pipeline on one core of the chip: a bound from below */
    const char *bound; /* what binds: "memory", "compute" */
    const char *why;   /* static */
} tp_sweep_cost;

/* `sizes`: of the symbols that the spec has. */
tp_sweep_cost tp_sweep_price(tp_arena *a, const tp_spec *spec, const tp_binding *sizes, uint32_t n);
/* Has the kernel such sizes? Sizes that are not named are at their least. */
bool tp_sweep_possible(tp_arena *a, const tp_kernel *k, const tp_binding *sizes, uint32_t n);

#endif
