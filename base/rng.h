/* Seeded random numbers: Philox4x64-10, the generator NumPy calls Philox
 * (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011), through the Random123 library. */
#ifndef TP_RNG_H
#define TP_RNG_H

#include <stdint.h>

#include "base/assert.h"

typedef struct tp_rng {
    uint64_t key[2], counter[4], block[4];
    unsigned used; /* words of `block` handed out */
} tp_rng;

/* Independent streams: one per (seed, stream). */
tp_rng tp_rng_new(uint64_t seed, uint64_t stream);
/* The next block; for tp_rng_next(). */
void tp_rng_refill(tp_rng *r);

/* Inline, as where n is written no number is divided. */
static inline uint64_t tp_rng_next(tp_rng *r)
{
    if (r->used == 4)
        tp_rng_refill(r);
    return r->block[r->used++];
}

/* Uniform in [0, n); n >= 1. */
static inline uint64_t tp_rng_below(tp_rng *r, uint64_t n)
{
    tp_assert(n);
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, v;
    do
        v = tp_rng_next(r);
    while (v >= limit);
    return v % n;
}

/* Standard normal (Box and Muller), */
double tp_rng_normal(tp_rng *r);
/* ... which is this of two numbers below 1 that were drawn, the first above 0. */
void tp_rng_units(tp_rng *r, double *u, double *v);
double tp_normal_of(double u, double v);

#endif
