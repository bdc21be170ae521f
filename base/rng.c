#include "base/rng.h"

#include <math.h>

#include <Random123/philox.h>

tp_rng tp_rng_new(uint64_t seed, uint64_t stream)
{
    tp_rng r = {.key = {seed, stream}, .used = 4};
    return r;
}

void tp_rng_refill(tp_rng *r)
{
    if (++r->counter[0] == 0)
        ++r->counter[1];
    philox4x64_ctr_t c = {{r->counter[0], r->counter[1], r->counter[2], r->counter[3]}};
    philox4x64_key_t k = {{r->key[0], r->key[1]}};
    philox4x64_ctr_t out = philox4x64(c, k);
    for (int i = 0; i < 4; i++)
        r->block[i] = out.v[i];
    r->used = 0;
}

void tp_rng_units(tp_rng *r, double *u, double *v)
{
    *u = ((double)(tp_rng_next(r) >> 11) + 0.5) * 0x1p-53;
    *v = (double)(tp_rng_next(r) >> 11) * 0x1p-53;
}

double tp_normal_of(double u, double v)
{
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

double tp_rng_normal(tp_rng *r)
{
    double u, v;
    tp_rng_units(r, &u, &v);
    return tp_normal_of(u, v);
}
