/* What is computed strip by strip is what each element gives by itself, in every bit: rows of numbers as their types
 * hold them, values over the reals with their bounds, comparisons of an output, and numbers of inputs. All lengths up
 * to some, at any place in memory, on numbers of every kind: NaN of any bits, infinities, zeros of both signs,
 * subnormal ones, ties between neighbours of a type. The seed is printed; TEST_SEED and TEST_TRIALS (rounds) change it.
 */
#include <math.h>

#include "base/rng.h"
#include "demand/demand.h"
#include "kernels/trial/equiv.h"
#include "tests/unit/support.h"

enum { ROUNDS = 6, MOST = 70, PLACES = 4, LONG = 600 };

/* Lengths: 0 to MOST, and around strips of 256. */
static const size_t LENGTHS[] = {255, 256, 257, 300, 513, LONG};
enum { NLENGTHS = MOST + 1 + sizeof LENGTHS / sizeof *LENGTHS };

static size_t length_of(size_t i)
{
    return i <= MOST ? i : LENGTHS[i - MOST - 1];
}

/* ---- numbers ---- */

static double of_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The same bits, or both no number: which one an operation gives, IEEE 754 leaves open. */
static bool is_same(double a, double b)
{
    return bits_of(a) == bits_of(b) || (a != a && b != b);
}

/* In the middle of two neighbours of the type, or next to it. */
static double tie(tp_rng *rng, tp_dtype d)
{
    double v = ldexp(1 + (double)tp_rng_below(rng, 1 << 20) * 0x1p-20, (int)tp_rng_below(rng, 300) - 150);
    uint64_t cell = 0;
    int e;
    tp_put_f64(d, &cell, 0, v);
    v = tp_get_f64(d, &cell, 0);
    frexp(v, &e);
    double half = ldexp(tp_dtype_roundoff(d), e - 1), middle = v + (tp_rng_below(rng, 2) ? half : -half);
    return of_bits(bits_of(middle) + tp_rng_below(rng, 3) - 1);
}

static double number(tp_rng *rng, tp_dtype d)
{
    static const double ODD[] = {0x1p-126, 0x1p-133, 0x1.fffffep127, 0x1.fep127, 0x1.ffp127, 65504,    65520,
                                 448,      464,      57344,          0x1p-24,    709.78,     -708.4,   -745.13,
                                 -746,     -800,     0x1p1023,       0x1p-1022,  0x1p-1074,  0x1p-400, 0x1p400};
    double sign = tp_rng_below(rng, 2) ? 1 : -1;
    switch (tp_rng_below(rng, 12)) {
    case 0: return sign * 0.0;
    case 1: return sign * HUGE_VAL;
    case 2: return of_bits(0x7ff0000000000001 | tp_rng_next(rng) >> 12 | (sign < 0 ? (uint64_t)1 << 63 : 0));
    case 3: return sign * of_bits(tp_rng_next(rng) >> (12 + tp_rng_below(rng, 50))); /* subnormal */
    case 4: return sign * ldexp((double)tp_rng_below(rng, 1 << 20), -149 - (int)tp_rng_below(rng, 8));
    case 5: return of_bits(tp_rng_next(rng));
    case 6: return sign * (double)tp_rng_below(rng, 600);
    case 7: return sign * ODD[tp_rng_below(rng, sizeof ODD / sizeof *ODD)];
    case 8:
    case 9: return sign * tie(rng, d);
    default: return sign * ldexp(1 + (double)(tp_rng_next(rng) >> 12) * 0x1p-52, (int)tp_rng_below(rng, 12) - 6);
    }
}

/* Most numbers of a row are moderate in half of the rows: vectors go on where no element is of a kind of its own. */
static void fill(tp_rng *rng, tp_dtype d, size_t n, double *to)
{
    bool moderate = tp_rng_below(rng, 2);
    for (size_t i = 0; i < n; i++) {
        bool plain = moderate && tp_rng_below(rng, 4 * n + 1);
        to[i] = plain ? (double)tp_rng_below(rng, 1 << 16) * 0x1p-12 - 8 : number(rng, d);
    }
}

/* ---- rows as their types hold them ---- */

enum { GUARD = 0x5a };

static void expect_cells(tp_dtype d, const char *what, size_t n, size_t to, const void *got, const void *want)
{
    size_t size = tp_dtype_size(d), bytes = (to + n + PLACES) * size;
    for (size_t i = 0; i < bytes; i++)
        if (((const uint8_t *)got)[i] != ((const uint8_t *)want)[i])
            fail_msg("%s of %s: byte %zu of a row of %zu from %zu on differs", what, tp_dtype_info(d)->name, i, n, to);
}

static void put_rows(tp_rng *rng, tp_dtype d, size_t n, size_t to)
{
    static double from[LONG], got[LONG + 2 * PLACES], want[LONG + 2 * PLACES];
    static float narrow[LONG];
    fill(rng, d, n, from);
    memset(got, GUARD, sizeof got);
    memset(want, GUARD, sizeof want);
    tp_put_row_f64(d, got, to, n, from);
    for (size_t i = 0; i < n; i++)
        tp_put_f64(d, want, to + i, from[i]);
    expect_cells(d, "tp_put_row_f64", n, to, got, want);
    for (size_t i = 0; i < n; i++) {
        narrow[i] = (float)from[i]; /* quiet, as what the other way makes of it */
        tp_put_f64(d, want, to + i, (double)narrow[i]);
    }
    tp_put_row_f32(d, got, to, n, narrow);
    expect_cells(d, "tp_put_row_f32", n, to, got, want);
}

static void get_rows(tp_rng *rng, tp_dtype d, size_t n, size_t from)
{
    static uint64_t cells[LONG + PLACES];
    static double to[LONG];
    static float narrow[LONG];
    for (size_t i = 0; i < LONG + PLACES; i++)
        cells[i] = tp_rng_next(rng);
    tp_get_row_f64(d, cells, from, n, to);
    tp_get_row_f32(d, cells, from, n, narrow);
    for (size_t i = 0; i < n; i++) {
        double v = tp_get_f64(d, cells, from + i);
        if (bits_of(v) != bits_of(to[i]) && !(d == TP_F64 && v != v))
            fail_msg("tp_get_row_f64 of %s: %a is %a in a row of %zu", tp_dtype_info(d)->name, v, to[i], n);
        if (!is_same((double)(float)v, (double)narrow[i]))
            fail_msg("tp_get_row_f32 of %s: %a is %a in a row of %zu", tp_dtype_info(d)->name, v, (double)narrow[i], n);
    }
}

static tp_rng begin(const char *what, uint64_t *rounds, uint64_t stream)
{
    uint64_t seed = setting("TEST_SEED", 1);
    *rounds = setting("TEST_TRIALS", ROUNDS);
    print_message("strips: %s, seed %llu\n", what, (unsigned long long)seed);
    return tp_rng_new(seed, stream);
}

static void rows_are_their_elements(void **state)
{
    static const tp_dtype FLOATS[] = {TP_F32, TP_F64, TP_BF16, TP_F16, TP_F8E4M3FN, TP_F8E5M2, TP_F8E8M0};
    uint64_t rounds;
    tp_rng rng = begin("rows", &rounds, 0x726f7773);
    (void)state;
    for (uint64_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < NLENGTHS; i++)
            for (size_t d = 0; d < sizeof FLOATS / sizeof *FLOATS; d++)
                for (size_t at = 0; at < PLACES; at++) {
                    put_rows(&rng, FLOATS[d], length_of(i), at);
                    get_rows(&rng, FLOATS[d], length_of(i), at);
                }
}

/* ---- values over the reals with their bounds ---- */

/* An operand of the rounding domain: planes, or data of which they are made. */
typedef struct operand {
    double v[LONG + PLACES], b[LONG + PLACES];
    union {
        float f32[LONG + PLACES];
        double f64[LONG + PLACES];
        uint16_t bf16[LONG + PLACES];
        uint8_t bits[LONG + PLACES];
    } data;
    tp_lanes lanes;
} operand;

static double bound_for(tp_rng *rng, double v)
{
    static const double RELATIVE[] = {0x1p-53, 0x1p-40, 0x1p-20, 0.5, 2};
    static const double ODD[] = {HUGE_VAL, 0x1p-1074, 0.5, 0x1p1000, 0x1p-1000};
    double of_v = fabs(v) * RELATIVE[tp_rng_below(rng, 5)];
    uint64_t kind = tp_rng_below(rng, 8);
    return kind < 4 ? 0 : kind == 4 ? ODD[tp_rng_below(rng, 5)] : of_v == of_v ? of_v : 0;
}

/* n elements from place `at` on. */
static void draw_operand(tp_rng *rng, operand *x, size_t n, size_t at)
{
    static const tp_dtype STORED[] = {TP_F32, TP_F64, TP_BF16};
    tp_dtype stored = STORED[tp_rng_below(rng, 3)];
    bool planes = tp_rng_below(rng, 3) > 0;
    fill(rng, TP_F64, n, x->v + at);
    for (size_t i = at; i < at + n; i++) {
        x->b[i] = bound_for(rng, x->v[i]);
        tp_put_f64(stored, &x->data, i, x->v[i]);
    }
    x->lanes = (tp_lanes){.dtype = stored == TP_F64 ? TP_F32 : stored,
                          .stored = stored,
                          .n = n,
                          .data = (const char *)&x->data + at * tp_dtype_size(stored)};
    if (planes) {
        x->lanes.plane[0] = x->v + at;
        x->lanes.plane[1] = x->b + at;
    }
}

static void draw_condition(tp_rng *rng, operand *x, size_t n, size_t at)
{
    for (size_t i = at; i < at + n; i++) {
        x->data.bits[i] = (uint8_t)tp_rng_below(rng, 2);
        x->v[i] = (double)tp_rng_below(rng, 2);
        x->b[i] = (double)(tp_rng_below(rng, 3) == 0);
    }
    x->lanes = (tp_lanes){.dtype = TP_BOOL, .stored = TP_BOOL, .n = n, .data = x->data.bits + at};
    if (tp_rng_below(rng, 2)) {
        x->lanes.plane[0] = x->v + at;
        x->lanes.plane[1] = x->b + at;
    }
}

static tp_lanes lane_of(const tp_lanes *x, size_t i)
{
    tp_lanes one = *x;
    if (x->n == 1)
        return one;
    one.n = 1;
    one.data = (const char *)x->data + i * tp_dtype_size(x->stored);
    for (int p = 0; p < TP_MAX_PLANES && x->plane[0]; p++)
        one.plane[p] = (double *)x->plane[p] + i;
    return one;
}

/* A result, whose data are no numbers: it means its data where no element is one, and surely none is. */
typedef struct result {
    union {
        float f32[LONG];
        double f64[LONG];
    } data;
    double v[LONG], b[LONG];
    bool any;
} result;

static tp_lanes new_result(result *r, tp_dtype stored, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tp_put_f64(stored, &r->data, i, (double)NAN);
    return (tp_lanes){.dtype = TP_F32, .stored = stored, .n = n, .data = &r->data, .plane = {r->v, r->b}};
}

static void said(const result *r, size_t i, double *v, double *b)
{
    *v = r->any ? r->v[i] : (double)NAN;
    *b = r->any ? r->b[i] : 0;
}

/* What an operand may be. At a finite distance from infinity is infinity alone; what is not certain to be no number may
 * be any. */
static void may_be(const tp_lanes *x, double *at)
{
    double v = x->plane[0] ? *(double *)x->plane[0] : tp_lane(x, 0), off = x->plane[0] ? *(double *)x->plane[1] : 0;
    bool certain = off == 0 || (isinf(v) && off < HUGE_VAL);
    at[0] = certain ? v : isfinite(v) ? v - off : 0;
    at[1] = v;
    at[2] = certain ? v : isfinite(v) ? v + off : 1;
}

/* Where a result is surely infinite or no number, it is the same for all that the operands may be. */
static void expect_surely(tp_prim p, const tp_lanes *const *args, uint32_t nargs, double v)
{
    double x[3], y[3] = {0};
    may_be(args[0], x);
    if (nargs > 1)
        may_be(args[1], y);
    for (int k = 0; k < 9; k++)
        if (!is_same(tp_meaning_f64(p, x[k / 3], y[k % 3]), v))
            fail_msg("%s(%a .. %a, %a .. %a) is surely %a, and may be %a", tp_prim_info(p)->name, x[0], x[2], y[0],
                     y[2], v, tp_meaning_f64(p, x[k / 3], y[k % 3]));
}

static void expect_element(tp_prim p, size_t n, size_t i, const result *all, const result *alone,
                           const tp_lanes *const *one, uint32_t nargs)
{
    double v, b, want_v, want_b;
    const tp_rounding_error *r = &tp_prim_info(p)->rounding;
    said(all, i, &v, &b);
    said(alone, 0, &want_v, &want_b);
    if (!is_same(v, want_v) || !is_same(b, want_b))
        fail_msg("%s: element %zu of %zu is %a +- %a, alone %a +- %a", tp_prim_info(p)->name, i, n, v, b, want_v,
                 want_b);
    if (!(b >= 0))
        fail_msg("%s: element %zu of %zu has the bound %a", tp_prim_info(p)->name, i, n, b);
    if (!isfinite(v) && b == 0 && p != TP_P_INTEGER_POW && nargs && r->kind != TP_ROUND_ULPS)
        expect_surely(p, one, nargs, v);
}

static void one_elementwise(tp_rng *rng, tp_domain *d, tp_prim p, uint32_t nargs, size_t n)
{
    static operand x, y;
    static result all, alone;
    int64_t exponent = (int64_t)tp_rng_below(rng, 9) - 3;
    draw_operand(rng, &x, n, tp_rng_below(rng, PLACES));
    draw_operand(rng, &y, tp_rng_below(rng, 8) ? n : 1, tp_rng_below(rng, PLACES));
    const tp_lanes *args[] = {&x.lanes, &y.lanes};
    tp_lanes out = new_result(&all, TP_F32, n);
    all.any = d->elementwise(d, p, exponent, &out, args, nargs);
    for (size_t i = 0; i < n; i++) {
        tp_lanes a = lane_of(&x.lanes, i), b = lane_of(&y.lanes, i);
        const tp_lanes *one[] = {&a, &b};
        out = new_result(&alone, TP_F32, 1);
        alone.any = d->elementwise(d, p, exponent, &out, one, nargs);
        expect_element(p, n, i, &all, &alone, one, nargs);
    }
}

static void one_selection(tp_rng *rng, tp_domain *d, size_t n)
{
    static operand c, x, y;
    static result all, alone;
    draw_condition(rng, &c, n, tp_rng_below(rng, PLACES));
    draw_operand(rng, &x, n, tp_rng_below(rng, PLACES));
    draw_operand(rng, &y, n, tp_rng_below(rng, PLACES));
    tp_lanes out = new_result(&all, TP_F32, n);
    all.any = d->select(d, &out, &c.lanes, &x.lanes, &y.lanes);
    for (size_t i = 0; i < n && all.any; i++) {
        tp_lanes of = lane_of(&c.lanes, i), a = lane_of(&x.lanes, i), b = lane_of(&y.lanes, i);
        out = new_result(&alone, TP_F32, 1);
        alone.any = d->select(d, &out, &of, &a, &b);
        expect_element(TP_P_WHERE, n, i, &all, &alone, NULL, 0);
    }
}

static void strips_are_their_elements(void **state)
{
    static const struct {
        tp_prim p;
        uint32_t nargs;
    } ROWS[] = {
#define REAL(operands) (TP_OC_##operands == TP_OC_FLOATS || TP_OC_##operands == TP_OC_NUMBERS)
#define UNARY(id, name, operands, ...) {TP_P_##id, REAL(operands) ? 1 : 0},
#define BINARY(id, name, operands, ...) {TP_P_##id, REAL(operands) ? 2 : 0},
#include "spec/prims.def"
        {TP_P_INTEGER_POW, 1},
    };
    uint64_t rounds;
    tp_rng rng = begin("values over the reals", &rounds, 0x7265616c);
    tp_arena *a = tp_arena_new(0);
    tp_domain *d = tp_rounding_new(a);
    (void)state;
    for (uint64_t round = 0; round < rounds; round++)
        for (size_t k = 0; k < NLENGTHS; k++) {
            for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
                if (ROWS[i].nargs && !tp_prim_info(ROWS[i].p)->to_bool)
                    one_elementwise(&rng, d, ROWS[i].p, ROWS[i].nargs, length_of(k));
            one_selection(&rng, d, length_of(k));
        }
    tp_arena_free(a);
}

/* A product of a row and n columns, and of that row and each column, twice. */
static void one_product(tp_rng *rng, tp_domain *d, size_t n, size_t k)
{
    static double column[2][2 * MOST];
    static operand x, y;
    static result all, alone;
    draw_operand(rng, &x, k, tp_rng_below(rng, PLACES));
    draw_operand(rng, &y, k * n, tp_rng_below(rng, PLACES));
    x.lanes.data = x.v; /* as products take it */
    y.lanes.data = y.v;
    x.lanes.stored = y.lanes.stored = TP_F64;
    tp_lanes out = new_result(&all, TP_F64, n), pair = y.lanes;
    all.any = d->dot(d, (tp_dot_shape){1, 1, n, k}, &out, &x.lanes, &y.lanes);
    for (size_t j = 0; j < n; j++) {
        for (size_t t = 0; t < 2 * k; t++)
            for (int p = 0; p < 2; p++) {
                const double *from = y.lanes.plane[0] ? y.lanes.plane[p] : y.lanes.data;
                column[p][t] = p && !y.lanes.plane[0] ? 0 : from[t / 2 * n + j];
            }
        pair.n = 2 * k;
        pair.data = column[0];
        for (int p = 0; p < 2 && y.lanes.plane[0]; p++)
            pair.plane[p] = column[p];
        out = new_result(&alone, TP_F64, 2);
        alone.any = d->dot(d, (tp_dot_shape){1, 1, 2, k}, &out, &x.lanes, &pair);
        expect_element(TP_P_DOT, n, j, &all, &alone, NULL, 0);
    }
}

static void products_are_those_of_their_columns(void **state)
{
    enum { DEPTH = 7 };
    uint64_t rounds;
    tp_rng rng = begin("products", &rounds, 0x646f74);
    tp_arena *a = tp_arena_new(0);
    tp_domain *d = tp_rounding_new(a);
    (void)state;
    for (uint64_t round = 0; round < rounds; round++)
        for (size_t n = 2; n <= MOST; n++)
            one_product(&rng, d, n, 1 + tp_rng_below(&rng, DEPTH));
    tp_arena_free(a);
}

/* A maximum of a row, or with sign -1 the minimum. */
static void fold_row(tp_domain *d, operand *x, size_t n, double sign, double *v, double *b)
{
    static size_t base[1], offset[MOST];
    static result of;
    x->lanes = (tp_lanes){.dtype = TP_F32, .stored = TP_F64, .n = n, .data = x->v, .plane = {x->v, x->b}};
    for (size_t i = 0; i < n; i++)
        offset[i] = i;
    tp_groups g = {1, n, base, offset};
    tp_lanes out = new_result(&of, TP_F64, 1);
    of.any = d->reduce(d, sign > 0 ? TP_P_MAX : TP_P_MIN, &out, &x->lanes, &g);
    said(&of, 0, v, b);
}

/* Some elements of a row are masked by a large number, whose sum with a score is off by much. */
static void maxima_are_of_what_may_be_one(void **state)
{
    static const double NEAR = 0x1p-30, MASK = -0x1.66p127, FAR = 0x1p73;
    static operand x;
    uint64_t rounds;
    tp_rng rng = begin("maxima", &rounds, 0x6d6178);
    tp_arena *a = tp_arena_new(0);
    tp_domain *d = tp_rounding_new(a);
    double v, b;
    (void)state;
    for (size_t i = 0; i < 40 * rounds * (MOST - 1); i++) {
        size_t n = 2 + i % (MOST - 1), seen = tp_rng_below(&rng, n);
        double sign = i & 1 ? 1 : -1, at_least = -HUGE_VAL, truly = -HUGE_VAL;
        bool masked = tp_rng_below(&rng, 2);
        for (size_t k = 0; k < n; k++) {
            bool far = masked && k != seen && tp_rng_below(&rng, 3);
            x.b[k] = masked ? (far ? FAR : NEAR) : (double)tp_rng_below(&rng, 1 << 12) * 0x1p-11;
            x.v[k] = sign * ((double)tp_rng_below(&rng, 1 << 16) * 0x1p-12 - 8 + (far ? MASK : 0));
            at_least = fmax(at_least, sign * x.v[k] - x.b[k]);
            truly = fmax(truly, sign * x.v[k] + x.b[k] * ((double)tp_rng_below(&rng, 3) - 1));
        }
        fold_row(d, &x, n, sign, &v, &b);
        if (fabs(sign * v - truly) > b || fabs(sign * v - at_least) > b)
            fail_msg("a maximum of %zu is %a +- %a, and may be %a, or %a", n, sign * v, b, truly, at_least);
        if (masked && b > 2 * NEAR)
            fail_msg("a maximum of %zu, of which some are masked, is off by %a", n, b);
    }
    tp_arena_free(a);
}

/* ---- comparisons of an output ---- */

/* "valid" is asked of each element, so that none of them is compared with others. */
static loaded *load_output(tp_arena *a, bool alone)
{
    loaded *l = load_text(
        tp_printf(
            a,
            "{\"tileproof\": 1, \"name\": \"strips\", \"target\": \"none\", \"dtypes\": {\"T\": [\"float32\", "
            "\"bfloat16\", \"float16\", \"int32\"]}, \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", "
            "\"steps\": \"cdiv(N, 16)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"T\", \"shape\": [\"N\"], "
            "\"block_shape\": [16], \"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"T\", "
            "\"shape\": [\"N\"], \"block_shape\": [16], \"index_map\": [\"i\"]%s}], \"kernel\": [\"o[...] = "
            "x[...]\"], \"reference\": [\"o = x\"]}",
            alone ? ", \"valid\": \"d0 >= 0\"" : "")
            .p);
    if (!l->spec)
        fail_msg("%.*s", TP_FMT(l->ctx.findings.at[0].message));
    assert_int_equal(l->spec->kernels[0]->operands[1].valid.id != 0, alone);
    return l;
}

/* What the reference and the kernel have, close to each other, but for the odd number. */
typedef struct sides {
    double g[LONG], bg[LONG], w[LONG], bw[LONG];
    tp_planes got, want;
} sides;

static void draw_sides(tp_rng *rng, tp_dtype d, size_t n, sides *s, tp_tensor *data)
{
    bool odd = tp_rng_below(rng, 2), real = tp_is_float(d);
    s->got.plane[0] = s->g, s->got.plane[1] = s->bg, s->want.plane[0] = s->w, s->want.plane[1] = s->bw;
    fill(rng, d, n, s->w);
    for (size_t i = 0; i < n; i++) {
        bool is_odd = odd && tp_rng_below(rng, n + 1) == 0;
        if (!odd && !isfinite(s->w[i]))
            s->w[i] = 1;
        if (!real)
            s->w[i] = isfinite(s->w[i]) ? fmin(fmax(trunc(s->w[i]), -1000), 1000) : 7;
        s->bw[i] = is_odd ? bound_for(rng, s->w[i]) : real ? fabs(s->w[i]) * 0x1p-50 : 0;
        s->bg[i] = is_odd ? bound_for(rng, s->w[i]) : tp_rng_below(rng, 2) && real ? fabs(s->w[i]) * 0x1p-48 : 0;
        s->g[i] = is_odd && real ? number(rng, d)
                                 : s->w[i] + (s->bw[i] + s->bg[i]) * ((double)tp_rng_below(rng, 129) / 64 - 1);
        double off = tp_rng_below(rng, 3) ? 0 : (double)tp_rng_below(rng, 9) - 4, v = s->g[i];
        v = is_odd && real ? number(rng, d) : real ? v + off * 2 * tp_dtype_roundoff(d) * v : v + trunc(off / 4);
        if (real)
            tp_put_f64(d, data->data, i, v);
        else
            tp_put_i64(d, data->data, i, (int64_t)v);
    }
}

static void expect_diff(const tp_output_diff *a, const tp_output_diff *b, size_t n)
{
    const double of_a[] = {a->ratio, a->max_abs, a->max_rel,  a->max_ulp,
                           a->got,   a->want,    a->rounding, a->rounding_of_counts},
                 of_b[] = {b->ratio, b->max_abs, b->max_rel,  b->max_ulp,
                           b->got,   b->want,    b->rounding, b->rounding_of_counts};
    const uint64_t counts_a[] = {a->loose,     a->compared,  a->differing, a->overflowed,     a->refuting,
                                 a->valueless, a->undefined, a->overflows, (uint64_t)a->tier, a->rank},
                   counts_b[] = {b->loose,     b->compared,  b->differing, b->overflowed,     b->refuting,
                                 b->valueless, b->undefined, b->overflows, (uint64_t)b->tier, b->rank};
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
        if (!is_same(of_a[i], of_b[i]))
            fail_msg("of %zu elements measure %zu is %a, of each by itself %a", n, i, of_a[i], of_b[i]);
    for (size_t i = 0; i < sizeof counts_a / sizeof *counts_a; i++)
        if (counts_a[i] != counts_b[i])
            fail_msg("of %zu elements count %zu is %llu, of each by itself %llu", n, i, (unsigned long long)counts_a[i],
                     (unsigned long long)counts_b[i]);
    assert_memory_equal(a->ulps, b->ulps, sizeof a->ulps);
    for (int64_t i = 0; a->rank && i < a->blocks[0]; i++)
        if (!is_same(a->block_ulp[i], b->block_ulp[i]))
            fail_msg("of %zu elements block %lld is off by %a, of each by itself by %a", n, (long long)i,
                     a->block_ulp[i], b->block_ulp[i]);
    assert_true(tp_str_eq(a->worst, b->worst) && tp_str_eq(a->step, b->step) && tp_str_eq(a->reason, b->reason));
}

static void outputs_are_compared_as_their_elements(void **state)
{
    static sides s;
    uint64_t rounds, equal = 0, done = 0;
    tp_rng rng = begin("comparisons", &rounds, 0x636f6d);
    tp_arena *a = tp_arena_new(0);
    loaded *both[] = {load_output(a, false), load_output(a, true)};
    (void)state;
    for (uint64_t round = 0; round < 4 * rounds; round++)
        for (size_t i = 1; i < NLENGTHS; i++)
            for (uint32_t t = 0; t < both[0]->spec->nkernels; t++) {
                tp_arena *here = tp_arena_child(a);
                int64_t n = (int64_t)length_of(i);
                tp_output_diff diff[2];
                for (int way = 0; way < 2; way++) {
                    const tp_kernel *k = both[way]->spec->kernels[t];
                    int64_t *env = TP_NEWN(here, int64_t, tp_sym_count(k->exprs));
                    tp_tensor data = tp_tensor_new(here, k->operands[1].dtype, 1, &n);
                    tp_rng same = rng;
                    draw_sides(&same, data.dtype, (size_t)n, &s, &data);
                    env[k->sizes[0].sym] = n;
                    tp_compare(here, k, env, 0, (tp_result){&data, &s.got}, (tp_result){&data, &s.want}, false,
                               &diff[way]);
                    if (way)
                        rng = same;
                }
                expect_diff(&diff[0], &diff[1], (size_t)n);
                equal += diff[0].tier == TP_TIER_EQUAL;
                done++;
                tp_arena_free(here);
            }
    print_message("strips: %llu outputs, %llu of them equal\n", (unsigned long long)done, (unsigned long long)equal);
    assert_true(equal > done / 4 && equal < done);
    unload(both[0]), unload(both[1]);
    tp_arena_free(a);
}

/* ---- numbers of inputs ---- */

/* As docs/EQUIVALENCE.md has them, one by one. */
static double drawn(tp_input_family family, tp_rng *rng)
{
    double u, v;
    if (family == TP_INPUT_LARGE) { /* what every number of such a family draws */
        tp_rng_below(rng, 64);
        tp_rng_below(rng, 3);
        tp_rng_below(rng, 2);
    }
    tp_rng_units(rng, &u, &v);
    return (family == TP_INPUT_LARGE ? 12 : 1) * tp_normal_of(u, v);
}

static void inputs_are_drawn_one_by_one(void **state)
{
    static const tp_dtype FLOATS[] = {TP_F32, TP_F64, TP_BF16, TP_F16, TP_F8E4M3FN, TP_F8E5M2, TP_F8E8M0};
    static const tp_input_family NORMALS[] = {TP_INPUT_NORMAL, TP_INPUT_LARGE};
    uint64_t rounds;
    tp_rng seeds = begin("inputs", &rounds, 0x696e);
    (void)state;
    for (size_t i = 0; i < rounds * NLENGTHS * 14; i++) {
        tp_arena *a = tp_arena_new(0);
        tp_dtype d = FLOATS[i % 7];
        tp_input_family family = NORMALS[i / 7 % 2];
        int64_t n = (int64_t)length_of(i / 14 % NLENGTHS);
        uint64_t seed = tp_rng_next(&seeds);
        tp_rng rng = tp_rng_new(seed, 3);
        tp_tensor got = tp_tensor_new(a, d, 1, &n), want = tp_tensor_new(a, d, 1, &n);
        tp_fill(&got, family, 0, seed, 3);
        for (int64_t k = 0; k < n; k++) {
            double v = drawn(family, &rng);
            tp_put_f64(d, want.data, (size_t)k, tp_dtype_info(d)->bits <= 8 ? tp_dtype_moderate(d, v) : v);
        }
        if (n && memcmp(got.data, want.data, (size_t)n * tp_dtype_size(d)) != 0)
            fail_msg("%s numbers of %s, %lld of them, seed %llu", tp_input_name(family), tp_dtype_info(d)->name,
                     (long long)n, (unsigned long long)seed);
        tp_arena_free(a);
    }
}

static void inputs_on_demand_are_drawn_one_by_one(void **state)
{
    static const tp_dtype TYPES[] = {TP_F32, TP_BF16, TP_F64, TP_F8E4M3FN, TP_F8E5M2, TP_I32};
    uint64_t rounds;
    tp_rng rng = begin("inputs on demand", &rounds, 0x64656d);
    double got[LONG];
    (void)state;
    for (size_t i = 0; i < rounds * NLENGTHS * 6; i++) {
        const int64_t dims[] = {13, 57};
        size_t n = length_of(i / 6 % NLENGTHS);
        tp_demand_array x = tp_demand_array_of(TYPES[i % 6], 2, dims, tp_rng_below(&rng, 4) ? 0 : 57);
        tp_demand_options o = {.seed = tp_rng_next(&rng),
                               .family = tp_rng_below(&rng, 2)
                                             ? TP_DEMAND_SMALL
                                             : (tp_demand_family)tp_rng_below(&rng, TP_DEMAND_FAMILIES)};
        uint32_t input = (uint32_t)tp_rng_below(&rng, 5);
        uint64_t first = tp_rng_next(&rng) >> tp_rng_below(&rng, 60),
                 step = tp_rng_next(&rng) >> (20 + tp_rng_below(&rng, 44));
        tp_demand_inputs(&x, &o, input, first, step, n, got);
        for (size_t k = 0; k < n; k++) {
            double want = tp_demand_input(&x, o.family, o.seed, input, first + k * step);
            if (bits_of(got[k]) != bits_of(want))
                fail_msg("number %llu is %a, by itself %a", (unsigned long long)(first + k * step), got[k], want);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_their_elements),
                                       cmocka_unit_test(strips_are_their_elements),
                                       cmocka_unit_test(products_are_those_of_their_columns),
                                       cmocka_unit_test(maxima_are_of_what_may_be_one),
                                       cmocka_unit_test(outputs_are_compared_as_their_elements),
                                       cmocka_unit_test(inputs_are_drawn_one_by_one),
                                       cmocka_unit_test(inputs_on_demand_are_drawn_one_by_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
