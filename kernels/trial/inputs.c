/* What kernels are run on. */
#include <assert.h>
#include <math.h>

#include "base/rng.h"
#include "kernels/trial/equiv.h"
#include "kernels/trial/internal.h"
#include "spec/elementary.h"
#include "spec/range.h"

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

/* A float as it is drawn: a number or, where u is above 0, so many times the normal number of two that were drawn,
 * which is computed later, with others. */
typedef struct drawn {
    double value, u, v;
} drawn;

static drawn plain(double value)
{
    return (drawn){.value = value};
}

static drawn normal_times(double factor, tp_rng *rng)
{
    drawn d = {.value = factor};
    tp_rng_units(rng, &d.u, &d.v);
    return d;
}

/* Neighbours are opposite up to a little, or equal, or zeros of both signs. */
static drawn near_opposite(tp_rng *rng, drawn previous, size_t i)
{
    switch (i % 2 ? tp_rng_below(rng, 4) : 4) {
    case 0: return (drawn){-previous.value * (1 + 0x1p-8), previous.u, previous.v};
    case 1: return (drawn){-previous.value, previous.u, previous.v};
    case 2: return previous;
    case 3: return plain(tp_rng_below(rng, 2) ? 0.0 : -0.0);
    default: return normal_times(1, rng);
    }
}

static double small(tp_rng *rng)
{
    double v = (double)(1 + tp_rng_below(rng, 63)) / 64;
    return tp_rng_below(rng, 2) ? v : -v;
}

/* Where an element stands, and what all of its row (all dimensions but the last) share; from element to element. */
typedef struct place {
    const tp_tensor *t;
    size_t at[TP_MAX_RANK], row;
    double part[TP_MAX_RANK]; /* index / extent, over the rank */
    bool known;               /* `shared` is that of this row */
    uint64_t shared;
} place;

static place place_new(const tp_tensor *t)
{
    return (place){.t = t};
}

static void place_next(place *p)
{
    uint32_t rank = p->t->rank, d = rank;
    while (d-- > 0) {
        size_t extent = (size_t)p->t->dims[d];
        bool more = ++p->at[d] < extent;
        if (!more)
            p->at[d] = 0;
        p->part[d] = (double)p->at[d] / (double)extent / rank;
        if (more)
            break;
    }
    if (d + 1 != rank) { /* past the end of the last dimension */
        p->row++;
        p->known = false;
    }
}

/* How far along the dimensions: the mean of index / extent, in [0, 1). */
static double along(const place *p)
{
    double sum = 0;
    for (uint32_t d = p->t->rank; d-- > 0;)
        sum += p->part[d];
    return sum;
}

/* First, or last, in some dimension of more than one element. */
static bool is_first(const place *p)
{
    for (uint32_t d = 0; d < p->t->rank; d++)
        if (p->t->dims[d] > 1 && p->at[d] == 0)
            return true;
    return false;
}

static bool is_last(const place *p)
{
    for (uint32_t d = 0; d < p->t->rank; d++)
        if (p->t->dims[d] > 1 && p->at[d] == (size_t)p->t->dims[d] - 1)
            return true;
    return false;
}

/* The same number for the same row, from 0 to n - 1. */
static uint64_t number_of(uint64_t seed, uint64_t stream, size_t row, uint64_t n)
{
    tp_rng rng = tp_rng_new(seed ^ 0x726f77, stream + ((uint64_t)row << 8));
    return tp_rng_below(&rng, n);
}

/* That of the place's row; one n for an array. */
static uint64_t of_row(place *p, uint64_t seed, uint64_t stream, uint64_t n)
{
    if (!p->known)
        p->shared = number_of(seed, stream, p->row, n);
    p->known = true;
    return p->shared;
}

/* The same over many indices, in every input, as the ids of segments are; one element in 16 stands out. */
static int64_t segment(size_t i, int64_t any, bool out, int64_t lo, uint64_t seed)
{
    enum { LENGTH = 64 };
    return out ? any : (int64_t)number_of(seed, 0x736567, i / LENGTH, (uint64_t)(9 - lo)) + lo;
}

/* One element in 16 stands out, and one row in 8. */
static drawn spike(tp_rng *rng, bool row)
{
    drawn d = normal_times(0.25, rng);
    if (tp_rng_below(rng, 16) == 0)
        d = plain(3 + (double)tp_rng_below(rng, 64) / 32);
    d.value *= row ? 4 : 1;
    return d;
}

/* Of the families of one sign: that of this input. */
static bool positive(tp_input_family family, uint64_t stream)
{
    return stream % 2 == (family == TP_INPUT_SIGNS);
}

/* What stands where; magnitudes are small where they may be, so that exp and what comes of it stay exact enough. */
static drawn input_value(tp_input_family family, place *p, tp_rng *rng, uint64_t seed, uint64_t stream)
{
    double noise = (double)tp_rng_below(rng, 64) / 2048, half = (double)tp_rng_below(rng, 3) - 1;
    bool flip = tp_rng_below(rng, 2);
    static const double BEYOND = 0x1p-5; /* noise is below: the ends stand out, however close their neighbours are */
    switch (family) {
    case TP_INPUT_ASCENDING:
        return plain(0.25 + 2 * along(p) + noise + (is_last(p) ? BEYOND : is_first(p) ? -BEYOND : 0));
    case TP_INPUT_DESCENDING:
        return plain(2.25 - 2 * along(p) + noise + (is_first(p) ? BEYOND : is_last(p) ? -BEYOND : 0));
    case TP_INPUT_SPIKES: return spike(rng, of_row(p, seed, stream, 8) == 0);
    case TP_INPUT_TIES: return plain(half);
    case TP_INPUT_CONSTANT: return plain(((double)of_row(p, seed, stream, 9) - 4) / 4);
    case TP_INPUT_SIGNS:
    case TP_INPUT_OPPOSITE:
        return plain((positive(family, stream) ? 1 : -1) * (0.125 + noise + (double)tp_rng_below(rng, 64) / 32));
    case TP_INPUT_POWERS: return plain(ldexp(flip ? 1 : -1, (int)tp_rng_below(rng, 9) - 4));
    case TP_INPUT_LARGE: return normal_times(12, rng);
    case TP_INPUT_FAR:
    case TP_INPUT_FAR_OTHERS:
    case TP_INPUT_THRESHOLDS: return normal_times(1, rng);
    case TP_INPUT_FRACTIONS: return plain(fabs(small(rng)));
    case TP_INPUT_ZEROS:
    case TP_INPUT_NORMAL:
    case TP_INPUT_WIDE:
    case TP_INPUT_CANCEL:
    case TP_INPUT_INTEGERS:
    case TP_INPUT_SMALL: break;
    }
    return plain(0);
}

/* Integers and bools stay within what other families give them: they may be counts or shifts. */
static double placed_integer(tp_input_family family, place *p, size_t i, tp_rng *rng, uint64_t seed, uint64_t stream)
{
    bool sign = tp_dtype_info(p->t->dtype)->kind != TP_KIND_UINT;
    int64_t lo = sign ? -8 : 0, any = (int64_t)integer_of(p->t->dtype, rng, 8);
    if (p->t->dtype == TP_BOOL)
        return family == TP_INPUT_ZEROS       ? 0
               : family == TP_INPUT_FRACTIONS ? 1
               : family == TP_INPUT_CONSTANT  ? (double)of_row(p, seed, stream, 2)
                                              : (double)any;
    switch (family) {
    case TP_INPUT_ASCENDING: return floor((double)lo + along(p) * (double)(9 - lo));
    case TP_INPUT_DESCENDING: return floor(8 - along(p) * (double)(9 - lo) + 0.5);
    case TP_INPUT_TIES: return (double)tp_rng_below(rng, 2);
    case TP_INPUT_ZEROS: return 0;
    case TP_INPUT_CONSTANT: return (double)((int64_t)of_row(p, seed, stream, (uint64_t)(9 - lo)) + lo);
    case TP_INPUT_SIGNS:
    case TP_INPUT_OPPOSITE: return (double)(sign && !positive(family, stream) ? -1 - (any & 7) : 1 + (any & 7));
    case TP_INPUT_FRACTIONS: return (double)(1 + (any & 7));
    case TP_INPUT_POWERS: return (double)((int64_t)1 << tp_rng_below(rng, 4));
    case TP_INPUT_SPIKES: return (double)segment(i, any, tp_rng_below(rng, 16) == 0, lo, seed);
    case TP_INPUT_LARGE:
    case TP_INPUT_THRESHOLDS:
    case TP_INPUT_FAR:
    case TP_INPUT_FAR_OTHERS:
    case TP_INPUT_NORMAL:
    case TP_INPUT_WIDE:
    case TP_INPUT_CANCEL:
    case TP_INPUT_INTEGERS:
    case TP_INPUT_SMALL: break;
    }
    return (double)any;
}

static const char *const NAMES[] = {
    [TP_INPUT_NORMAL] = "normal",         [TP_INPUT_WIDE] = "wide",           [TP_INPUT_CANCEL] = "cancelling",
    [TP_INPUT_INTEGERS] = "integers",     [TP_INPUT_SMALL] = "small",         [TP_INPUT_ASCENDING] = "ascending",
    [TP_INPUT_DESCENDING] = "descending", [TP_INPUT_SPIKES] = "spikes",       [TP_INPUT_TIES] = "ties",
    [TP_INPUT_ZEROS] = "zeros",           [TP_INPUT_CONSTANT] = "constant",   [TP_INPUT_SIGNS] = "signs",
    [TP_INPUT_POWERS] = "powers",         [TP_INPUT_LARGE] = "large",         [TP_INPUT_OPPOSITE] = "opposite",
    [TP_INPUT_THRESHOLDS] = "thresholds", [TP_INPUT_FRACTIONS] = "fractions", [TP_INPUT_FAR] = "far",
    [TP_INPUT_FAR_OTHERS] = "far-others",
};
static_assert(sizeof NAMES / sizeof *NAMES == TP_INPUT_FAMILIES, "a name for every family");

const char *tp_input_name(tp_input_family family)
{
    return NAMES[family];
}

const char *tp_input_words(tp_input_family family)
{
    static const char *const WORDS[] = {
        [TP_INPUT_NORMAL] = "random numbers",
        [TP_INPUT_WIDE] = "numbers of very different size",
        [TP_INPUT_CANCEL] = "neighbours that nearly cancel, or are equal",
        [TP_INPUT_INTEGERS] = "integers",
        [TP_INPUT_SMALL] = "small numbers",
        [TP_INPUT_ASCENDING] = "elements that ascend",
        [TP_INPUT_DESCENDING] = "elements that descend",
        [TP_INPUT_SPIKES] = "a few elements that stand out",
        [TP_INPUT_TIES] = "many equal elements",
        [TP_INPUT_ZEROS] = "nothing but zeros",
        [TP_INPUT_CONSTANT] = "rows of one value",
        [TP_INPUT_SIGNS] = "one sign each",
        [TP_INPUT_POWERS] = "powers of two",
        [TP_INPUT_LARGE] = "large numbers",
        [TP_INPUT_OPPOSITE] = "one sign each",
        [TP_INPUT_THRESHOLDS] = "numbers that the spec compares them with",
        [TP_INPUT_FAR] = "numbers far from 0, of one sign each",
        [TP_INPUT_FAR_OTHERS] = "numbers far from 0, of one sign each",
        [TP_INPUT_FRACTIONS] = "numbers between 0 and 1",
    };
    static_assert(sizeof WORDS / sizeof *WORDS == TP_INPUT_FAMILIES, "words for every family");
    return WORDS[family];
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
           family != TP_INPUT_SPIKES && family != TP_INPUT_POWERS && family != TP_INPUT_THRESHOLDS &&
           !tp_input_is_far(family);
}

bool tp_input_is_far(tp_input_family family)
{
    return family == TP_INPUT_FAR || family == TP_INPUT_FAR_OTHERS;
}

/* A float, before its dtype rounds it; `before`: that of the element before. */
static drawn real_value(tp_input_family family, place *p, size_t i, tp_rng *rng, int64_t range, drawn before,
                        uint64_t seed, uint64_t stream)
{
    switch (family) {
    case TP_INPUT_NORMAL: return normal_times(1, rng);
    case TP_INPUT_WIDE: return plain(wide(rng));
    case TP_INPUT_CANCEL: return near_opposite(rng, before, i);
    case TP_INPUT_INTEGERS: return plain(integer_of(p->t->dtype, rng, range));
    case TP_INPUT_SMALL: return plain(small(rng));
    case TP_INPUT_ASCENDING:
    case TP_INPUT_DESCENDING:
    case TP_INPUT_SPIKES:
    case TP_INPUT_TIES:
    case TP_INPUT_ZEROS:
    case TP_INPUT_CONSTANT:
    case TP_INPUT_SIGNS:
    case TP_INPUT_POWERS:
    case TP_INPUT_LARGE:
    case TP_INPUT_THRESHOLDS:
    case TP_INPUT_FAR:
    case TP_INPUT_FAR_OTHERS:
    case TP_INPUT_FRACTIONS:
    case TP_INPUT_OPPOSITE: break;
    }
    return input_value(family, p, rng, seed, stream);
}

enum { STRIP = 256 };

/* Floats of a strip that are multiples of normal numbers. */
typedef struct multiples {
    size_t n, at[STRIP]; /* in the strip */
    double factor[STRIP], u[STRIP], v[STRIP];
} multiples;

/* As tp_normal_of() has them: what the float type rounds is computed by vectors, and again where what these may be off
 * could round otherwise. */
static void compute_normals(tp_dtype t, const multiples *m, double *to)
{
    static const double OFF = 0x1p-46; /* log, cos, a root and three products, by two libraries: less than 2^-48 */
    tp_loop logs = tp_elementary_here(TP_P_LOG, TP_F64), cosines = tp_elementary_here(TP_P_COS, TP_F64);
    bool rounds = tp_dtype_roundoff(t) > 0x1p-30 && tp_dtype_roundoff(t) <= 0x1p-8 /* none is cut */ && logs && cosines;
    double value[STRIP], cosine[STRIP], least[STRIP], most[STRIP];
    uint32_t cells[STRIP];
    for (size_t k = 0; k < m->n && rounds; k++)
        cosine[k] = 6.283185307179586 * m->v[k];
    if (rounds && m->n) {
        logs(&TP_ONE_ROW, m->n, m->u, false, NULL, false, value);
        cosines(&TP_ONE_ROW, m->n, cosine, false, NULL, false, cosine);
    }
    for (size_t k = 0; k < m->n && rounds; k++) {
        value[k] = m->factor[k] * (sqrt(-2 * value[k]) * cosine[k]);
        least[k] = value[k] * (1 - OFF);
        most[k] = value[k] * (1 + OFF);
    }
    if (rounds) {
        tp_put_row_f64(t, cells, 0, m->n, least);
        tp_get_row_f64(t, cells, 0, m->n, least);
        tp_put_row_f64(t, cells, 0, m->n, most);
        tp_get_row_f64(t, cells, 0, m->n, most);
    }
    for (size_t k = 0; k < m->n; k++)
        to[m->at[k]] = rounds && least[k] == most[k] ? value[k] : m->factor[k] * tp_normal_of(m->u[k], m->v[k]);
}

/* A strip of normal numbers: the frequent family, and nothing else is to be decided. */
static void draw_normals(multiples *m, size_t n, tp_rng *rng)
{
    m->n = n;
    for (size_t k = 0; k < n; k++) {
        m->at[k] = k;
        m->factor[k] = 1;
        tp_rng_units(rng, &m->u[k], &m->v[k]);
    }
}

void tp_fill(tp_tensor *t, tp_input_family family, int64_t range, uint64_t seed, uint64_t stream)
{
    tp_rng rng = tp_rng_new(seed, stream);
    place p = place_new(t);
    bool placed = (int)family >= TP_INPUT_FIRST_PLACED, real = tp_is_float(t->dtype),
         normals = real && family == TP_INPUT_NORMAL, byte = tp_dtype_info(t->dtype)->bits <= 8;
    drawn d = plain(0);
    double reals[STRIP];
    int64_t most = family == TP_INPUT_INTEGERS ? range : 8, integers[STRIP];
    multiples normal;
    for (size_t from = 0, n; from < t->n; from += n) {
        n = t->n - from < STRIP ? t->n - from : STRIP;
        normal.n = 0;
        if (normals)
            draw_normals(&normal, n, &rng);
        for (size_t k = 0; k < n && !normals; k++) {
            if (real) {
                d = real_value(family, &p, from + k, &rng, range, d, seed, stream);
                reals[k] = d.value;
            } else {
                integers[k] = (int64_t)(placed ? placed_integer(family, &p, from + k, &rng, seed, stream)
                                               : integer_of(t->dtype, &rng, most));
            }
            if (real && d.u > 0) {
                normal.at[normal.n] = k;
                normal.factor[normal.n] = d.value;
                normal.u[normal.n] = d.u;
                normal.v[normal.n++] = d.v;
            }
            if (placed)
                place_next(&p);
        }
        compute_normals(t->dtype, &normal, reals);
        for (size_t k = 0; k < n && real && byte; k++)
            reals[k] = tp_dtype_moderate(t->dtype, reals[k]);
        if (real)
            tp_put_row_f64(t->dtype, t->data, from, n, reals);
        else
            tp_put_row_i64(t->dtype, t->data, from, n, integers);
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

/* Is what it makes of bytes never out of their range? */
static bool keeps_bytes(tp_prim p)
{
    static const bool KEEPS[TP_PRIMS] = {
        [TP_P_AND] = true,         [TP_P_OR] = true,      [TP_P_XOR] = true,     [TP_P_SHR] = true,
        [TP_P_SHR_LOGICAL] = true, [TP_P_MAXIMUM] = true, [TP_P_MINIMUM] = true, [TP_P_MAX] = true,
        [TP_P_MIN] = true,         [TP_P_CUMMAX] = true,  [TP_P_CUMMIN] = true};
    return KEEPS[p];
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
        if (i->prim == TP_P_SHL ||
            ((i->prim == TP_P_SHR || i->prim == TP_P_SHR_LOGICAL) && !p->values.at[i->args[1]].meaning.id))
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
    return is_byte(p->values.at[i->out].dtype) && !keeps_bytes(i->prim);
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

/* A row has one threshold and one scale, down to 1/64 of the threshold and up to three times; half of the rows have
 * its sign alone. */
typedef struct threshold_row {
    double c, scale;
    bool turns;
    double side; /* of integers: below it, above it (-1, 1), or 0 */
} threshold_row;

static threshold_row threshold_of(const tp_thresholds *t, uint64_t seed, uint32_t input, size_t row)
{
    return (threshold_row){.c = t->at[number_of(seed, input + 0x61, row, t->n)],
                           .scale = ldexp(1, 1 - (int)number_of(seed, input + 0x62, row, 8)),
                           .turns = number_of(seed, input + 0x63, row, 2),
                           .side = (double[]){-1, 1, 0, 0}[number_of(seed, input + 0x64, row, 4)]};
}

static double around_threshold(const threshold_row *r, tp_rng *rng)
{
    bool at = tp_rng_below(rng, 8) == 0, turn = tp_rng_below(rng, 2) && r->turns;
    double v = at ? r->c : r->c * r->scale * (0.5 + (double)tp_rng_below(rng, 1 << 16) * 0x1p-16);
    return turn ? -v : v;
}

/* A threshold, or next to it; every other number is one of any. In a quarter of the rows all lie below one, in another
 * quarter above. */
static double integer_around(const tp_thresholds *t, const threshold_row *r, tp_dtype d, tp_rng *rng)
{
    double c = t->at[tp_rng_below(rng, t->n)], any = integer_of(d, rng, 8), next = (double)tp_rng_below(rng, 3) - 1;
    bool near = tp_rng_below(rng, 2);
    if (r->side != 0)
        return fmax((double)tp_dtype_min(d), fmin(floor(r->c) + r->side * (2 + next), (double)tp_dtype_max(d)));
    return near ? floor(c) + next : any;
}

static void fill_thresholds(const tp_thresholds *all, tp_tensor *t, uint64_t seed, uint32_t input)
{
    tp_rng rng = tp_rng_new(seed ^ 0x626f756e64, input);
    size_t columns = t->rank ? (size_t)t->dims[t->rank - 1] : 1;
    threshold_row row = {0};
    for (size_t i = 0; i < t->n && all->n; i++) {
        if (i % columns == 0)
            row = threshold_of(all, seed, input, i / columns);
        if (tp_is_float(t->dtype)) {
            double v = around_threshold(&row, &rng);
            if (!tp_dtype_holds(t->dtype, v)) /* it would be infinite */
                v = row.c;
            tp_put_f64(t->dtype, t->data, i, tp_dtype_moderate(t->dtype, v));
            continue;
        }
        double v = integer_around(all, &row, t->dtype, &rng);
        if (tp_dtype_holds(t->dtype, v))
            tp_put_i64(t->dtype, t->data, i, (int64_t)v);
    }
}

/* Into its "values"; `spread`: half of the elements anywhere between both ends, which other numbers may not reach;
 * `whole`: integers, if there are any. */
static void keep(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t, bool spread, bool whole,
                 uint64_t seed)
{
    tp_range r = tp_input_range(k, input, env);
    bool real = tp_is_float(t->dtype);
    tp_rng rng = tp_rng_new(seed ^ 0x76616c756573, input);
    whole = !real || (whole && ceil(r.lo) <= floor(r.hi));
    if (whole)
        r = (tp_range){ceil(r.lo), floor(r.hi)};
    spread = spread && isfinite(r.lo) && isfinite(r.hi);
    for (size_t i = 0; i < t->n && !tp_range_is_open(r) && r.lo <= r.hi; i++) {
        double v = real ? tp_get_f64(t->dtype, t->data, i) : (double)tp_get_i64(t->dtype, t->data, i);
        uint64_t hash = spread ? tp_rng_next(&rng) : 0;
        v = hash & 16 ? tp_range_draw(r, hash, whole) : tp_range_fold(r, v, whole);
        if (real)
            tp_put_f64(t->dtype, t->data, i, v);
        else
            tp_put_i64(t->dtype, t->data, i, (int64_t)v);
    }
}

void tp_keep_values(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t)
{
    keep(k, env, input, t, false, false, 0);
}

/* What comes first of an input in the body: an exponential, or a sum of products? */
typedef struct first_use {
    const bool *from;
    bool is_summed;
} first_use;

static bool sums_or_exponentiates(const tp_statement *s, void *ctx)
{
    first_use *x = ctx;
    const tp_inst *i = s->kind == TP_COMPUTE ? s->inst : NULL;
    bool sums = i && (i->prim == TP_P_DOT || i->prim == TP_P_SUM), meets = false;
    for (uint32_t a = 0; i && a < i->nargs && (sums || tp_prim_is_exponential(i->prim)); a++)
        meets |= x->from[i->args[a]];
    x->is_summed |= meets && sums;
    return meets;
}

/* Standard normal numbers become numbers far from 0, so that all exponentials of them, or of scores that are sums of
 * products of two such inputs, are 0 in float32, or none is. No farther: masks that are meant are farther from 0.
 * Signs: of the first four inputs of floats each two have different ones in one of the families. */
static void move_far(const tp_kernel *k, tp_tensor *t, tp_input_family family, uint32_t input)
{
    static const double DIRECT = 160, OF_SCORES = 16;
    tp_arena *work = tp_arena_child(k->arena);
    first_use x = {.from = k->body ? tp_comes_of(work, k, k->body, (int)input) : NULL};
    uint32_t number = 0;
    for (uint32_t i = 0; i < input; i++)
        number += tp_is_float(k->operands[i].dtype);
    if (k->body)
        tp_region_any(&k->body->statements, sums_or_exponentiates, &x);
    tp_arena_free(work);
    double columns = t->rank ? (double)t->dims[t->rank - 1] : 1,
           shift = x.is_summed ? OF_SCORES / sqrt(sqrt(columns)) : DIRECT;
    bool below = !(number >> (family == TP_INPUT_FAR_OTHERS) & 1);
    for (size_t i = 0; i < t->n; i++) {
        double v = shift + tp_get_f64(t->dtype, t->data, i);
        tp_put_f64(t->dtype, t->data, i, tp_dtype_moderate(t->dtype, below ? -v : v));
    }
}

/* What the family says, of an input of which nothing else is declared. */
static void fill_any(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t, tp_input_family family,
                     int64_t range, uint64_t seed)
{
    tp_thresholds all = {.n = 0};
    if (family == TP_INPUT_THRESHOLDS)
        all = tp_thresholds_of(k, input);
    if (!all.n || !tp_is_float(t->dtype)) /* else none would be left */
        tp_fill(t, family, range, seed, input);
    bool chosen = family == TP_INPUT_TIES || family == TP_INPUT_ZEROS || family == TP_INPUT_CONSTANT;
    bool bytes =
        family == TP_INPUT_WIDE || family == TP_INPUT_LARGE || family == TP_INPUT_SIGNS || family == TP_INPUT_OPPOSITE;
    if (bytes && !tp_names_positions(k, input))
        fill_bytes(k, t, family, seed, input);
    if (family == TP_INPUT_THRESHOLDS)
        fill_thresholds(&all, t, seed, input);
    if (tp_input_is_far(family) && tp_is_float(t->dtype))
        move_far(k, t, family, input);
    if (chosen || family == TP_INPUT_THRESHOLDS || !tp_names_positions(k, input))
        return;
    tp_rng rng = tp_rng_new(seed ^ 0x706c616365, input);
    uint64_t most = (uint64_t)farthest(k, env, t->dtype);
    for (size_t i = 0; i < t->n; i++)
        if (tp_rng_below(&rng, 2))
            tp_put_i64(t->dtype, t->data, i, (int64_t)tp_rng_below(&rng, most));
}

void tp_fill_input(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t, tp_input_family family,
                   int64_t range, uint64_t seed)
{
    input = tp_array_of(k, input);
    bool exact = tp_is_float(t->dtype) && (family == TP_INPUT_INTEGERS || family == TP_INPUT_SMALL),
         chosen = family == TP_INPUT_TIES || family == TP_INPUT_ZEROS || family == TP_INPUT_CONSTANT ||
                  family == TP_INPUT_THRESHOLDS || family == TP_INPUT_ASCENDING || family == TP_INPUT_DESCENDING;
    fill_any(k, env, input, t, family, range, seed);
    keep(k, env, input, t, !chosen && !exact, family == TP_INPUT_INTEGERS, seed);
}
