/* What kernels are run on. */
#include <assert.h>
#include <math.h>

#include "base/rng.h"
#include "kernels/trial/equiv.h"

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
static double near_opposite(tp_rng *rng, double previous, size_t i)
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

/* Where an element stands: how far along the dimensions of its array, and in which row (all dimensions but the last).
 */
typedef struct place {
    double along; /* mean over the dimensions of index / extent, in [0, 1) */
    size_t row;
    bool first, last; /* in some dimension of more than one element */
} place;

static place place_of(const tp_tensor *t, size_t i)
{
    size_t last = t->rank ? (size_t)t->dims[t->rank - 1] : 1;
    place p = {.row = i / last};
    for (uint32_t d = t->rank; d-- > 0; i /= (size_t)t->dims[d]) {
        size_t extent = (size_t)t->dims[d], at = i % extent;
        p.along += (double)at / (double)extent / t->rank;
        p.first |= extent > 1 && at == 0;
        p.last |= extent > 1 && at == extent - 1;
    }
    return p;
}

/* The same number for the same row, from 0 to n - 1. */
static uint64_t of_row(uint64_t seed, uint64_t stream, size_t row, uint64_t n)
{
    tp_rng rng = tp_rng_new(seed ^ 0x726f77, stream + ((uint64_t)row << 8));
    return tp_rng_below(&rng, n);
}

/* The same over many indices, in every input, as the ids of segments are; one element in 16 stands out. */
static int64_t segment(size_t i, int64_t any, bool out, int64_t lo, uint64_t seed)
{
    enum { LENGTH = 64 };
    return out ? any : (int64_t)of_row(seed, 0x736567, i / LENGTH, (uint64_t)(9 - lo)) + lo;
}

/* One element in 16 stands out, and one row in 8. */
static double spike(tp_rng *rng, bool row)
{
    double v = tp_rng_normal(rng) / 4;
    if (tp_rng_below(rng, 16) == 0)
        v = 3 + (double)tp_rng_below(rng, 64) / 32;
    return row ? 4 * v : v;
}

/* Of the families of one sign: that of this input. */
static bool positive(tp_input_family family, uint64_t stream)
{
    return stream % 2 == (family == TP_INPUT_SIGNS);
}

/* What stands where; magnitudes are small where they may be, so that exp and what comes of it stay exact enough. */
static double input_value(tp_input_family family, const tp_tensor *t, size_t i, tp_rng *rng, uint64_t seed,
                          uint64_t stream)
{
    place p = place_of(t, i);
    double noise = (double)tp_rng_below(rng, 64) / 2048, half = (double)tp_rng_below(rng, 3) - 1;
    bool flip = tp_rng_below(rng, 2);
    static const double BEYOND = 0x1p-5; /* noise is below: the ends stand out, however close their neighbours are */
    switch (family) {
    case TP_INPUT_ASCENDING: return 0.25 + 2 * p.along + noise + (p.last ? BEYOND : p.first ? -BEYOND : 0);
    case TP_INPUT_DESCENDING: return 2.25 - 2 * p.along + noise + (p.first ? BEYOND : p.last ? -BEYOND : 0);
    case TP_INPUT_SPIKES: return spike(rng, of_row(seed, stream, p.row, 8) == 0);
    case TP_INPUT_TIES: return half;
    case TP_INPUT_CONSTANT: return ((double)of_row(seed, stream, p.row, 9) - 4) / 4;
    case TP_INPUT_SIGNS:
    case TP_INPUT_OPPOSITE:
        return (positive(family, stream) ? 1 : -1) * (0.125 + noise + (double)tp_rng_below(rng, 64) / 32);
    case TP_INPUT_POWERS: return ldexp(flip ? 1 : -1, (int)tp_rng_below(rng, 9) - 4);
    case TP_INPUT_LARGE: return 12 * tp_rng_normal(rng);
    case TP_INPUT_ZEROS:
    case TP_INPUT_NORMAL:
    case TP_INPUT_WIDE:
    case TP_INPUT_CANCEL:
    case TP_INPUT_INTEGERS:
    case TP_INPUT_SMALL: break;
    }
    return 0;
}

/* Integers and bools stay within what other families give them: they may be counts or shifts. */
static double placed_integer(tp_input_family family, const tp_tensor *t, size_t i, tp_rng *rng, uint64_t seed,
                             uint64_t stream)
{
    place p = place_of(t, i);
    bool sign = tp_dtype_info(t->dtype)->kind != TP_KIND_UINT;
    int64_t lo = sign ? -8 : 0, any = (int64_t)integer_of(t->dtype, rng, 8);
    if (t->dtype == TP_BOOL)
        return family == TP_INPUT_ZEROS      ? 0
               : family == TP_INPUT_CONSTANT ? (double)of_row(seed, stream, p.row, 2)
                                             : (double)any;
    switch (family) {
    case TP_INPUT_ASCENDING: return floor((double)lo + p.along * (double)(9 - lo));
    case TP_INPUT_DESCENDING: return floor(8 - p.along * (double)(9 - lo) + 0.5);
    case TP_INPUT_TIES: return (double)tp_rng_below(rng, 2);
    case TP_INPUT_ZEROS: return 0;
    case TP_INPUT_CONSTANT: return (double)((int64_t)of_row(seed, stream, p.row, (uint64_t)(9 - lo)) + lo);
    case TP_INPUT_SIGNS:
    case TP_INPUT_OPPOSITE: return (double)(sign && !positive(family, stream) ? -1 - (any & 7) : 1 + (any & 7));
    case TP_INPUT_POWERS: return (double)((int64_t)1 << tp_rng_below(rng, 4));
    case TP_INPUT_SPIKES: return (double)segment(i, any, tp_rng_below(rng, 16) == 0, lo, seed);
    case TP_INPUT_LARGE:
    case TP_INPUT_NORMAL:
    case TP_INPUT_WIDE:
    case TP_INPUT_CANCEL:
    case TP_INPUT_INTEGERS:
    case TP_INPUT_SMALL: break;
    }
    return (double)any;
}

static const char *const NAMES[] = {
    [TP_INPUT_NORMAL] = "normal",         [TP_INPUT_WIDE] = "wide",         [TP_INPUT_CANCEL] = "cancelling",
    [TP_INPUT_INTEGERS] = "integers",     [TP_INPUT_SMALL] = "small",       [TP_INPUT_ASCENDING] = "ascending",
    [TP_INPUT_DESCENDING] = "descending", [TP_INPUT_SPIKES] = "spikes",     [TP_INPUT_TIES] = "ties",
    [TP_INPUT_ZEROS] = "zeros",           [TP_INPUT_CONSTANT] = "constant", [TP_INPUT_SIGNS] = "signs",
    [TP_INPUT_POWERS] = "powers",         [TP_INPUT_LARGE] = "large",       [TP_INPUT_OPPOSITE] = "opposite",
};
static_assert(sizeof NAMES / sizeof *NAMES == TP_INPUT_FAMILIES, "a name for every family");

const char *tp_input_name(tp_input_family family)
{
    return NAMES[family];
}

bool tp_input_find(tp_str name, tp_input_family *out)
{
    for (int f = 0; f < TP_INPUT_FAMILIES; f++)
        if (tp_str_is(name, NAMES[f])) {
            *out = (tp_input_family)f;
            return true;
        }
    return false;
}

bool tp_input_tame(tp_input_family family)
{
    return family != TP_INPUT_WIDE && family != TP_INPUT_CANCEL && family != TP_INPUT_LARGE &&
           family != TP_INPUT_SPIKES && family != TP_INPUT_POWERS;
}

void tp_fill(tp_tensor *t, tp_input_family family, int64_t range, uint64_t seed, uint64_t stream)
{
    tp_rng rng = tp_rng_new(seed, stream);
    double v = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!tp_is_float(t->dtype)) {
            v = (int)family >= TP_INPUT_FIRST_PLACED
                    ? placed_integer(family, t, i, &rng, seed, stream)
                    : integer_of(t->dtype, &rng, family == TP_INPUT_INTEGERS ? range : 8);
            tp_put_i64(t->dtype, t->data, i, (int64_t)v);
            continue;
        }
        switch (family) {
        case TP_INPUT_NORMAL: v = tp_rng_normal(&rng); break;
        case TP_INPUT_WIDE: v = wide(&rng); break;
        case TP_INPUT_CANCEL: v = near_opposite(&rng, v, i); break;
        case TP_INPUT_INTEGERS: v = integer_of(t->dtype, &rng, range); break;
        case TP_INPUT_SMALL: v = small(&rng); break;
        case TP_INPUT_ASCENDING:
        case TP_INPUT_DESCENDING:
        case TP_INPUT_SPIKES:
        case TP_INPUT_TIES:
        case TP_INPUT_ZEROS:
        case TP_INPUT_CONSTANT:
        case TP_INPUT_SIGNS:
        case TP_INPUT_POWERS:
        case TP_INPUT_LARGE:
        case TP_INPUT_OPPOSITE: v = input_value(family, t, i, &rng, seed, stream); break;
        }
        tp_put_f64(t->dtype, t->data, i, tp_dtype_moderate(t->dtype, v));
    }
}

void tp_fill_random(tp_tensor *t, uint64_t seed, uint64_t stream)
{
    tp_fill(t, TP_INPUT_NORMAL, 0, seed, stream);
}

/* The largest extent of an array at these sizes that the dtype can count. */
static int64_t farthest(const tp_kernel *k, const int64_t *env, tp_dtype d)
{
    int64_t most = 1, dims[TP_MAX_RANK],
            room = (int64_t)1 << (tp_dtype_info(d)->bits > 32 ? 31 : tp_dtype_info(d)->bits - 1);
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        for (uint32_t x = 0; tp_operand_dims(k, &k->operands[i], env, dims, &why) && x < k->operands[i].rank; x++)
            most = dims[x] > most ? dims[x] : most;
    return most < room ? most : room;
}

static bool is_byte(tp_dtype d)
{
    return d == TP_I8 || d == TP_U8;
}

/* Does a statement of a reference compute bytes, whose integers do not wrap there, or shift by what may be too far? */
static bool computes_bytes(const tp_statement *s, void *program)
{
    const tp_program *p = program;
    if (s->kind != TP_COMPUTE || !s->inst->nargs)
        return false;
    const tp_inst *i = s->inst;
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE:
        if (i->prim == TP_P_SHL || i->prim == TP_P_SHR || i->prim == TP_P_SHR_LOGICAL)
            return true;
        break;
    case TP_CLASS_CONVERT:
    case TP_CLASS_FOLD:
    case TP_CLASS_RUNNING:
    case TP_CLASS_CONTRACT: break;
    case TP_CLASS_SELECT:
    case TP_CLASS_SOURCE:
    case TP_CLASS_MOVE:
    case TP_CLASS_MEMORY:
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: return false;
    }
    return is_byte(p->values.at[i->out].dtype);
}

/* All numbers of a byte, the ends often, or one end alone, so that what wraps before it is widened is met: where the
 * reference widens first. */
static void fill_bytes(const tp_kernel *k, tp_tensor *t, tp_input_family family, uint64_t seed, uint32_t input)
{
    bool one_sign = family == TP_INPUT_SIGNS || family == TP_INPUT_OPPOSITE, high = positive(family, input);
    tp_program *p = k->reference.program;
    if (!is_byte(t->dtype) || !p || tp_region_any(&p->statements, computes_bytes, p))
        return;
    tp_rng rng = tp_rng_new(seed ^ 0x6279746573, input);
    int64_t lo = t->dtype == TP_I8 ? INT8_MIN : 0;
    for (size_t i = 0; i < t->n; i++) {
        uint64_t end = tp_rng_below(&rng, 8), any = tp_rng_below(&rng, 256);
        if (one_sign)
            end = high;
        tp_put_i64(t->dtype, t->data, i, lo + (int64_t)(end == 0 ? 0 : end == 1 ? 255 : any));
    }
}

void tp_fill_input(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t, tp_input_family family,
                   int64_t range, uint64_t seed)
{
    tp_fill(t, family, range, seed, input);
    bool chosen = family == TP_INPUT_TIES || family == TP_INPUT_ZEROS || family == TP_INPUT_CONSTANT;
    bool bytes =
        family == TP_INPUT_WIDE || family == TP_INPUT_LARGE || family == TP_INPUT_SIGNS || family == TP_INPUT_OPPOSITE;
    if (bytes && !tp_names_positions(k, input))
        fill_bytes(k, t, family, seed, input);
    if (chosen || !tp_names_positions(k, input))
        return;
    tp_rng rng = tp_rng_new(seed ^ 0x706c616365, input);
    uint64_t most = (uint64_t)farthest(k, env, t->dtype);
    for (size_t i = 0; i < t->n; i++)
        if (tp_rng_below(&rng, 2))
            tp_put_i64(t->dtype, t->data, i, (int64_t)tp_rng_below(&rng, most));
}
