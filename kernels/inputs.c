/* What kernels are run on. */
#include <math.h>

#include "base/rng.h"
#include "kernels/equiv.h"

static double integer_of(tp_dtype d, tp_rng *rng, int64_t range)
{
    if (d == TP_BOOL)
        return (double)tp_rng_below(rng, 2);
    if (tp_dtype_info(d)->kind == TP_KIND_UINT)
        return (double)tp_rng_below(rng, (uint64_t)(2 * range + 1));
    return (double)((int64_t)tp_rng_below(rng, (uint64_t)(2 * range + 1)) - range);
}

static double wide(tp_rng *rng)
{
    double m = 1 + (double)tp_rng_below(rng, 1 << 20) * 0x1p-20;
    return ldexp(tp_rng_below(rng, 2) ? m : -m, (int)tp_rng_below(rng, 13) - 6);
}

/* Neighbours are opposite up to a little, or equal, or zeros of both signs. */
static double cancelling(tp_rng *rng, double previous, size_t i)
{
    switch (i % 2 ? tp_rng_below(rng, 4) : 4) {
    case 0: return -previous * (1 + 0x1p-8);
    case 1: return -previous;
    case 2: return previous;
    case 3: return tp_rng_below(rng, 2) ? 0.0 : -0.0;
    default: return tp_rng_normal(rng);
    }
}

static double small(tp_rng *rng)
{
    double v = (double)(1 + tp_rng_below(rng, 63)) / 64;
    return tp_rng_below(rng, 2) ? v : -v;
}

void tp_fill(tp_tensor *t, tp_input_family family, int64_t range, uint64_t seed, uint64_t stream)
{
    tp_rng rng = tp_rng_new(seed, stream);
    double v = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!tp_is_float(t->dtype)) {
            v = integer_of(t->dtype, &rng, family == TP_INPUT_INTEGERS ? range : 8);
            tp_put_i64(t->dtype, t->data, i, (int64_t)v);
            continue;
        }
        switch (family) {
        case TP_INPUT_NORMAL: v = tp_rng_normal(&rng); break;
        case TP_INPUT_WIDE: v = wide(&rng); break;
        case TP_INPUT_CANCEL: v = cancelling(&rng, v, i); break;
        case TP_INPUT_INTEGERS: v = integer_of(t->dtype, &rng, range); break;
        case TP_INPUT_SMALL: v = small(&rng); break;
        }
        tp_put_f64(t->dtype, t->data, i, v);
    }
}

void tp_fill_random(tp_tensor *t, uint64_t seed, uint64_t stream)
{
    tp_fill(t, TP_INPUT_NORMAL, 0, seed, stream);
}
