/* What inputs hold, as a function of the index; and a stack to recurse on. */
#define _DEFAULT_SOURCE /* pthread_attr_setstacksize */
#include <math.h>
#include <pthread.h>

#include "base/vectorised.h"
#include "demand/demand.h"
#include "domains/residue.h"

tp_demand_array tp_demand_array_of(tp_dtype dtype, uint32_t rank, const int64_t *dims, int64_t reach)
{
    return (tp_demand_array){.dtype = dtype,
                             .columns = rank > 0 && dims[rank - 1] > 1 ? dims[rank - 1] : 1,
                             .rows = rank > 1 && dims[rank - 2] > 1 ? dims[rank - 2] : 1,
                             .reach = reach,
                             .longest = 1,
                             .values = {-HUGE_VAL, HUGE_VAL}};
}

/* Of what is drawn of an input: what its elements share. */
static uint64_t stream_of(uint64_t what, uint64_t seed, uint32_t input)
{
    return tp_mix(tp_mix(seed ^ what) ^ input);
}

static const uint64_t NUMBERS = 0x64656d616e64, ANYWHERE = 0x76616c756573, ENDS = 0x656e64; /* what is drawn */

static double raw(const tp_demand_array *x, tp_demand_family family, uint64_t seed, uint32_t input, uint64_t index)
{
    tp_dtype dtype = x->dtype;
    uint64_t columns = (uint64_t)x->columns, rows = (uint64_t)x->rows;
    uint64_t h = tp_mix(stream_of(NUMBERS, seed, input) ^ index);
    double sign = h & 1 ? 1 : -1, small = (double)(1 + (h >> 8) % 63) / 64, slow = (double)(index % 4096) / 4096;
    if (dtype == TP_BOOL)
        return (double)(h & 1);
    if (x->reach && h & 2)
        return (double)((h >> 8) % (uint64_t)x->reach);
    if (!tp_is_float(dtype) && h & 4) /* the same over many indices, in every input: of one segment */
        h = tp_mix(seed ^ index / TP_DEMAND_SEGMENT);
    if (!tp_is_float(dtype))
        return (double)((h >> 8) % 17) - (tp_dtype_info(dtype)->kind == TP_KIND_UINT ? 0 : 8);
    switch (family) {
    case TP_DEMAND_INTEGERS: return sign * (double)(1 + (h >> 8) % 4);
    case TP_DEMAND_RISING: return slow + small / 8;
    case TP_DEMAND_FALLING: return 1 - slow + small / 8;
    case TP_DEMAND_SPIKES: return (h >> 20) % 61 == 0 ? sign * 8 : sign * small;
    case TP_DEMAND_FINE: return sign * ldexp((double)(1 + (h >> 8) % 0xffffff), -24);
    case TP_DEMAND_ROWS: return columns > 1 ? (double)(index % columns) / 1024 + small / 1024 : small;
    case TP_DEMAND_COLUMNS: return rows > 1 ? (double)(index / columns % rows) / 1024 + small / 1024 : small;
    case TP_DEMAND_POSITIVE: return small;
    case TP_DEMAND_ABOVE: return 1 + small;
    case TP_DEMAND_SIGNS: return (input + seed) % 2 ? -small : small;
    case TP_DEMAND_SMALL:
    case TP_DEMAND_FAMILIES: break;
    }
    return sign * small;
}

/* v as the type holds it. */
static double held(tp_dtype t, double v)
{
    uint64_t cell = 0;
    if (t == TP_F32)
        return (double)(float)v;
    tp_put_f64(t, &cell, 0, v);
    return tp_get_f64(t, &cell, 0);
}

/* v, or another number that "values" allows. */
static double allowed(const tp_demand_array *x, double v)
{
    return tp_range_is_open(x->values) ? v : tp_range_fold(x->values, v, !tp_is_float(x->dtype));
}

double tp_demand_input(const tp_demand_array *x, tp_demand_family family, uint64_t seed, uint32_t input, uint64_t index)
{
    bool closed = isfinite(x->values.lo) && isfinite(x->values.hi);
    uint64_t h = closed ? tp_mix(stream_of(ANYWHERE, seed, input) ^ index) : 0;
    double v = h & 16 ? tp_range_draw(x->values, h, !tp_is_float(x->dtype))
                      : allowed(x, tp_dtype_moderate(x->dtype, raw(x, family, seed, input, index)));
    return held(x->dtype, v);
}

/* Where the way of a number ends that begins at `from`. */
static double end_of(const tp_demand_array *x, tp_demand_end end, double from, uint64_t h)
{
    bool real = tp_is_float(x->dtype), sign = tp_dtype_info(x->dtype)->kind != TP_KIND_UINT,
         moves = tp_dtype_info(x->dtype)->bits >= 32 && !(x->reach && end != TP_DEMAND_OTHER);
    int times = real ? 8 + (int)((h >> 8) % 10) : 6 + (int)((h >> 8) % 7); /* as a power of two */
    if (!real && !moves)
        return from;
    switch (end) {
    case TP_DEMAND_OTHER:
        return real ? (h & 1 ? 1 : -1) * ldexp((double)(1 + (h >> 8) % 0xffffff), -24)
                    : (double)((h >> 8) % (uint64_t)x->longest >> (x->reach ? 0 : (h >> 2) % 16));
    case TP_DEMAND_UP: return ldexp(fabs(from), times);
    case TP_DEMAND_DOWN: return sign ? -ldexp(fabs(from), times) : 0;
    case TP_DEMAND_TINY: return real ? ldexp(from, -times) : from;
    case TP_DEMAND_TIES: return sign ? (double)((h >> 8) % 3) - 1 : (double)((h >> 8) % 2);
    case TP_DEMAND_ENDS: break;
    }
    return from;
}

double tp_demand_on_way(const tp_demand_array *x, const tp_demand_options *o, uint32_t input, uint64_t index)
{
    double from = tp_demand_input(x, o->family, o->seed, input, index);
    if (o->way == 0)
        return from;
    double to = end_of(x, o->end, from, tp_mix(stream_of(ENDS, o->seed, input) ^ index)),
           v = o->way == 1 ? to : from + o->way * (to - from);
    return held(x->dtype, allowed(x, tp_is_float(x->dtype) ? tp_dtype_moderate(x->dtype, v) : floor(v + 0.5)));
}

/* What raw() says of SMALL floats at even distances. */
TP_VECTORISED static void small_numbers(uint64_t stream, uint64_t first, uint64_t step, size_t n, double *to)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t h = tp_mix(stream ^ (first + i * step)), y = h >> 8; /* modulo 63, where 64 is 1: sums of its digits */
        y = (y & 0x3fffffff) + (y >> 30);
        y = (y & 0xfff) + (y >> 12 & 0xfff) + (y >> 24);
        y = (y & 63) + (y >> 6);
        y = (y & 63) + (y >> 6);
        double v = (double)(int32_t)(1 + (y >= 63 ? y - 63 : y)) / 64;
        to[i] = h & 1 ? v : -v;
    }
}

void tp_demand_inputs(const tp_demand_array *x, const tp_demand_options *o, uint32_t input, uint64_t first,
                      uint64_t step, size_t n, double *to)
{
    bool held = tp_is_float(x->dtype) && !x->reach && tp_dtype_roundoff(x->dtype) <= 0x1p-6; /* each is k / 64 */
    if (held && o->way == 0 && o->family == TP_DEMAND_SMALL && tp_range_is_open(x->values)) {
        small_numbers(stream_of(NUMBERS, o->seed, input), first, step, n, to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = tp_demand_on_way(x, o, input, first + i * step);
}

typedef struct call {
    void (*fn)(void *ctx);
    void *ctx;
} call;

static void *run(void *arg)
{
    call *c = arg;
    c->fn(c->ctx);
    return NULL;
}

bool tp_with_stack(void (*fn)(void *ctx), void *ctx)
{
    call c = {fn, ctx};
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return false;
    bool ran = pthread_attr_setstacksize(&attr, (size_t)TP_DEMAND_DEPTH * 2048) == 0 &&
               pthread_create(&thread, &attr, run, &c) == 0;
    pthread_attr_destroy(&attr);
    return ran && pthread_join(thread, NULL) == 0;
}
