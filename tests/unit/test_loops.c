/* The loops under the machine: every instruction set gives the bits of the plain loop, and a strided move is what its
 * definition says. Shapes at random; the seed is printed when one fails. */
#include <math.h>
#include <stdlib.h>

#include "base/lookup.h"
#include "base/rng.h"
#include "base/processors.h"
#include "domains/subnormal.h"
#include "kernels/machine/internal.h"
#include "base/strided.h"
#include "tests/unit/support.h"

enum { ROUNDS = 300, MOST = 70 };

/* Sums in ascending k, one at a time. */
static void plain_float(size_t m, size_t n, size_t k, const float *a, const float *b, float *r)
{
    for (size_t i = 0; i < m * n; i++) {
        r[i] = 0;
        for (size_t t = 0; t < k; t++)
            r[i] = fmaf(a[i / n * k + t], b[t * n + i % n], r[i]);
    }
}

#define PLAIN(T)                                                                                                       \
    static void plain_##T(size_t m, size_t n, size_t k, const T *a, const T *b, T *r)                                  \
    {                                                                                                                  \
        for (size_t i = 0; i < m; i++)                                                                                 \
            for (size_t j = 0; j < n; j++) {                                                                           \
                volatile T sum = 0; /* a product is rounded before it is added */                                      \
                for (size_t t = 0; t < k; t++) {                                                                       \
                    volatile T product = a[i * k + t] * b[t * n + j];                                                  \
                    sum = sum + product;                                                                               \
                }                                                                                                      \
                r[i * n + j] = sum;                                                                                    \
            }                                                                                                          \
    }
PLAIN(double)
PLAIN(uint32_t)

static void plain_pairs(size_t m, size_t n, size_t k, const tp_pair *a, const tp_pair *b, tp_pair *r)
{
    for (size_t i = 0; i < m * n; i++) {
        uint32_t sum = 0;
        for (size_t t = 0; t < k; t++) {
            tp_pair x = a[i / n * k + t], y = b[t * n + i % n];
            sum += (uint32_t)((int16_t)x * (int16_t)y);
            sum += (uint32_t)((int32_t)(int16_t)(x >> 16) * (int16_t)(y >> 16));
        }
        r[i] = sum;
    }
}

typedef struct shape {
    size_t m, n, k;
} shape;

/* Few rows or several passes of them, several panels, and edges of each; one row of many columns is a way of its own.
 */
static shape random_shape(tp_rng *rng)
{
    static const size_t DEPTHS[] = {0, 1, 2, 255, 256, 257, 513};
    size_t k = tp_rng_below(rng, 2) ? tp_rng_below(rng, 40) : DEPTHS[tp_rng_below(rng, 7)];
    if (tp_rng_below(rng, 4) == 0)
        return (shape){1, 1 + tp_rng_below(rng, 5 * MOST), k};
    if (tp_rng_below(rng, 16) == 0) /* all terms of a pass, and the most rows, which tiles do not divide */
        return (shape){240 + tp_rng_below(rng, 16), 1 + tp_rng_below(rng, 4), 256};
    if (tp_rng_below(rng, 16) == 0)
        return (shape){100 + tp_rng_below(rng, 200), 1 + tp_rng_below(rng, MOST), 1 + k % 40};
    return (shape){tp_rng_below(rng, 30), 1 + tp_rng_below(rng, MOST), k};
}

/* In some arrays, numbers of float32 are small, down to subnormal ones and 0. */
static void *filled(tp_rng *rng, size_t n, size_t size, bool real)
{
    char *p = malloc((n + 1) * size);
    uint64_t small = tp_rng_below(rng, 3) ? 1 : 170;
    for (size_t i = 0; i < n; i++) {
        double v = (double)tp_rng_below(rng, 2000) / 7.0 - 140;
        float f = ldexpf((float)v, -(int)tp_rng_below(rng, small));
        uint64_t w = tp_rng_below(rng, UINT64_C(1) << 32); /* its lower half first */
        memcpy(p + i * size, !real ? (void *)&w : size == 8 ? (void *)&v : (void *)&f, size);
    }
    return p;
}

#define AND_PANELS , NULL
#define COMPARE(field, T, real, plain, more)                                                                           \
    for (unsigned round = 0; round < ROUNDS; round++) {                                                                \
        tp_rng rng = tp_rng_new(round, 0x74696c65);                                                                    \
        shape s = random_shape(&rng);                                                                                  \
        T *a = filled(&rng, s.m * s.k, sizeof(T), real), *b = filled(&rng, s.k * s.n, sizeof(T), real);                \
        T *want = filled(&rng, s.m * s.n, sizeof(T), real), *got = filled(&rng, s.m * s.n, sizeof(T), real);           \
        plain(s.m, s.n, s.k, a, b, want);                                                                              \
        size_t gap = tp_rng_below(&rng, 9), rows = s.k + gap;                                                          \
        T *turned_a = malloc((s.m * s.k + 1) * sizeof(T)), *turned_b = malloc((s.k * s.n + 1) * sizeof(T));            \
        T *apart = filled(&rng, s.m * rows, sizeof(T), real), *onto = filled(&rng, s.m * s.n, sizeof(T), real);        \
        T *added = malloc((s.m * s.n + 1) * sizeof(T));                                                                \
        for (size_t i = 0; i < s.m * s.k; i++)                                                                         \
            turned_a[i % s.k * s.m + i / s.k] = apart[i / s.k * rows + i % s.k] = a[i];                                \
        for (size_t i = 0; i < s.k * s.n; i++)                                                                         \
            turned_b[i % s.n * s.k + i / s.n] = b[i];                                                                  \
        for (size_t i = 0; i < s.m * s.n; i++)                                                                         \
            added[i] = onto[i] + want[i];                                                                              \
        for (unsigned way = 0; way < 12; way++) {                                                                      \
            bool x = way & 1, y = way & 2, adds = way >= 4, elsewhere = way >= 8;                                      \
            T *sum = malloc((s.m * s.n + 1) * sizeof(T));                                                              \
            memcpy(sum, elsewhere ? want : onto, s.m *s.n * sizeof(T));                                                \
            tp_ahead ahead = {{{(const char *)b, TP_AHEAD_LINE, s.k, 1}}, 1, 0, 0, 0, s.k};                            \
            by->field(s.m, s.n, s.k, x ? turned_a : apart, x ? (tp_steps){1, s.m} : (tp_steps){rows, 1},               \
                      y ? turned_b : b, y ? (tp_steps){1, s.k} : (tp_steps){s.n, 1}, got, elsewhere ? onto : sum,      \
                      adds ? sum : NULL, adds ? &ahead : NULL more);                                                   \
            assert_true(!adds || ahead.now == ahead.n || !(s.m && s.n && s.k));                                        \
            if (memcmp(adds ? added : want, adds ? sum : got, s.m * s.n * sizeof(T)) != 0)                             \
                fail_msg("%s of %s differs at %zu x %zu x %zu, way %u, seed %u", #field, by->name, s.m, s.n, s.k, way, \
                         round);                                                                                       \
            free(sum);                                                                                                 \
        }                                                                                                              \
        free(turned_a), free(turned_b), free(apart), free(onto), free(added);                                          \
        free(a), free(b), free(want), free(got);                                                                       \
    }

/* Elements of any size, or all of them the largest, whose sums are. */
#define COMPARE_MODULO(field, prime)                                                                                   \
    for (unsigned round = 0; round < ROUNDS; round++) {                                                                \
        tp_rng rng = tp_rng_new(round, 0x7072696d65);                                                                  \
        shape s = random_shape(&rng);                                                                                  \
        bool largest = tp_rng_below(&rng, 2);                                                                          \
        uint64_t *a = malloc((s.m * s.k + 1) * sizeof *a), *b = malloc((s.k * s.n + 1) * sizeof *b),                   \
                 *r = malloc((s.m * s.n + 1) * sizeof *r);                                                             \
        for (size_t i = 0; i < s.m * s.k; i++)                                                                         \
            a[i] = largest ? (prime)-1 : tp_rng_below(&rng, prime);                                                    \
        for (size_t i = 0; i < s.k * s.n; i++)                                                                         \
            b[i] = largest ? (prime)-1 : tp_rng_below(&rng, prime);                                                    \
        by->field(s.m, s.n, s.k, a, (tp_steps){s.k, 1}, b, (tp_steps){s.n, 1}, r, NULL, NULL, NULL);                   \
        for (size_t i = 0; i < s.m * s.n; i++) {                                                                       \
            uint64_t want = 0;                                                                                         \
            for (size_t t = 0; t < s.k; t++)                                                                           \
                want = (want + a[i / s.n * s.k + t] * b[t * s.n + i % s.n]) % (prime);                                 \
            if (r[i] >> 47 || r[i] % (prime) != want)                                                                  \
                fail_msg("%s of %s differs at %zu x %zu x %zu, seed %u", #field, by->name, s.m, s.n, s.k, round);      \
        }                                                                                                              \
        free(a), free(b), free(r);                                                                                     \
    }

static void products_do_not_depend_on_the_instruction_set(void **state)
{
    size_t n, ran = 0;
    const tp_multiplier *all = tp_multipliers(&n);
    (void)state;
    for (const tp_multiplier *by = all; by < all + n; by++) {
        if (!by->runs_here())
            continue;
        ran++;
        COMPARE(f32, float, true, plain_float, AND_PANELS)
        COMPARE(f64, double, true, plain_double, )
        COMPARE(u32, uint32_t, false, plain_uint32_t, )
        COMPARE_MODULO(p, TP_FIELD_P)
        COMPARE_MODULO(q, TP_FIELD_Q)
        COMPARE(pairs, tp_pair, false, plain_pairs, )
    }
    assert_true(ran > 0 && all[n - 1].runs_here());
}

/* Whatever the processor says of itself. */
static void products_of_subnormal_numbers_are_the_same(void **state)
{
    (void)state;
#if defined(__x86_64__) && defined(__GNUC__)
    const tp_multiplier subnormal = {.name = "subnormal", .f32 = tp_multiply_subnormal}, *by = &subnormal;
    if (!tp_has_avx512())
        return;
    COMPARE(f32, float, true, plain_float, AND_PANELS)
#endif
}

/* A sum next to the middle of two float32s, which rounds another way if it is rounded to double before. */
static void products_and_sums_are_rounded_once(void **state)
{
    size_t n, found = 0;
    const tp_multiplier *all = tp_multipliers(&n);
    (void)state;
    for (uint32_t i = 1; i < 1 << 20; i++) {
        float x = 1 + (float)i * 0x1p-23f, y = (float)(2.0 / (double)x) + 0x1p-24f;
        double off = (double)x * (double)y - 2;
        if (off == 0 || fabs(off) >= 0x1p-29) /* of the 53 bits of the sum, it is in none */
            continue;
        for (int sign = -1; sign <= 1; sign += 2)
            for (float last = 0; last < 2; last++) {
                float c = 1 + last * 0x1p-23f, a[2] = {(float)sign, (float)sign * x}, b[2] = {c, y * 0x1p-25f}, r;
                float want = fmaf(a[1], b[1], a[0] * b[0]);
                found += want != (float)((double)a[1] * (double)b[1] + (double)a[0] * (double)b[0]);
                for (const tp_multiplier *by = all; by < all + n; by++) {
                    if (!by->runs_here())
                        continue;
                    by->f32(1, 1, 2, a, (tp_steps){2, 1}, b, (tp_steps){1, 1}, &r, NULL, NULL, NULL, NULL);
                    if (r != want)
                        fail_msg("%a + %a * %a is %a by %s, not %a", (double)(a[0] * b[0]), (double)a[1], (double)b[1],
                                 (double)r, by->name, (double)want);
                }
            }
    }
    assert_true(found > 4);
}

/* Element by element. */
static void plain_move(size_t size, uint32_t rank, const int64_t *dims, char *to, const ptrdiff_t *ts, const char *from,
                       const ptrdiff_t *fs)
{
    if (!rank) {
        memcpy(to, from, size);
        return;
    }
    for (int64_t i = 0; i < dims[0]; i++)
        plain_move(size, rank - 1, dims + 1, to + i * ts[0] * (ptrdiff_t)size, ts + 1,
                   from + i * fs[0] * (ptrdiff_t)size, fs + 1);
}

/* `to` in a random order of its dimensions, with gaps; of `from` any strides, also 0 and negative. */
static void moves_are_what_they_say(void **state)
{
    enum { ROOM = 1 << 15, MIDDLE = ROOM / 2 };
    static uint64_t source[ROOM], want[ROOM], got[ROOM];
    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        tp_rng rng = tp_rng_new(round, 0x6d6f7665);
        uint32_t rank = (uint32_t)tp_rng_below(&rng, 5);
        int64_t dims[5];
        ptrdiff_t to[5], from[5], step = 1 + (ptrdiff_t)tp_rng_below(&rng, 2);
        bool done[5] = {false};
        for (uint32_t d = 0; d < rank; d++) {
            dims[d] = (int64_t)tp_rng_below(&rng, rank > 3 ? 5 : rank > 2 ? 12 : rank > 1 ? 40 : 400);
            from[d] = (ptrdiff_t)tp_rng_below(&rng, 41) - 20;
        }
        if (tp_rng_below(&rng, 2)) /* as a transposed array lies */
            for (uint32_t d = 0, s = 1; d < rank; s *= dims[d] ? (uint32_t)dims[d] : 1, d++)
                from[d] = (ptrdiff_t)s;
        for (uint32_t left = rank; left > 0;) {
            uint32_t d = (uint32_t)tp_rng_below(&rng, rank);
            if (done[d])
                continue;
            done[d] = true;
            left--;
            to[d] = step;
            step *= dims[d] ? (ptrdiff_t)dims[d] : 1;
        }
        size_t size = (size_t)1 << tp_rng_below(&rng, 4);
        for (size_t i = 0; i < ROOM; i++) {
            source[i] = i * 0x9e3779b97f4a7c15u;
            want[i] = got[i] = 0x5555555555555555u;
        }
        plain_move(size, rank, dims, (char *)want, to, (char *)(source + MIDDLE), from);
        tp_move(size, rank, dims, got, to, source + MIDDLE, from);
        if (memcmp(want, got, sizeof want) != 0)
            fail_msg("a move of rank %u, elements of %zu bytes differs: seed %u", rank, size, round);
    }
}

/* Any bit pattern, or a number where the functions have something to say. */
static void draw(tp_rng *rng, bool any, size_t size, double scale, void *to)
{
    uint64_t bits = tp_rng_below(rng, UINT64_C(1) << 32) << 32 | tp_rng_below(rng, UINT64_C(1) << 32);
    double number = ((double)(bits >> 11) / 0x1p52 - 1) * scale;
    float narrow = (float)number;
    memcpy(to, any ? (const void *)&bits : size == sizeof narrow ? (const void *)&narrow : (const void *)&number, size);
}

/* Over bit patterns of both types, with every number of lanes left over and scalars on either side. */
static void elementary_functions_do_not_depend_on_the_instruction_set(void **state)
{
    enum { AT_A_TIME = 1003, SIZE = sizeof(double) };
    size_t n;
    const tp_elementary *all = tp_elementaries(&n);
    _Alignas(double) char a[AT_A_TIME * SIZE], b[AT_A_TIME * SIZE], want[AT_A_TIME * SIZE], got[AT_A_TIME * SIZE];
    (void)state;
    for (size_t at = 0; at + 1 < n; at++) {
        if (!all[at].runs_here())
            continue;
        for (int q = 0; q < 2 * TP_PRIMS; q++) {
            tp_prim p = (tp_prim)(q / 2);
            size_t size = q % 2 ? sizeof(double) : sizeof(float);
            tp_loop here = (q % 2 ? all[at].doubles : all[at].loops)[p],
                    scalars = (q % 2 ? all[n - 1].doubles : all[n - 1].loops)[p];
            assert_true(!here == !scalars);
            if (!here)
                continue;
            bool two = tp_prim_info(p)->nargs == 2;
            tp_rng rng = tp_rng_new((uint64_t)q, 0x656c656d);
            for (unsigned round = 0; round < 40; round++) {
                size_t count = 1 + tp_rng_below(&rng, AT_A_TIME);
                bool scalar_a = two && round % 8 == 1, scalar_b = two && round % 8 == 2;
                for (size_t i = 0; i < count; i++) {
                    draw(&rng, round % 2 == 0, size, 20, a + i * size);
                    draw(&rng, round % 2 == 0, size, 2, b + i * size);
                }
                scalars(&TP_ONE_ROW, count, a, scalar_a, two ? b : NULL, scalar_b, want);
                here(&TP_ONE_ROW, count, a, scalar_a, two ? b : NULL, scalar_b, got);
                for (size_t i = 0; i < count; i++)
                    if (memcmp(want + i * size, got + i * size, size) != 0)
                        fail_msg("%s: element %zu of round %u of %zu bytes is another on %s", tp_prim_info(p)->name, i,
                                 round, size, all[at].name);
            }
        }
    }
}

/* What EQUIVALENCE.md cites: no elementary function is further than its documentation says from the C library's in
 * double, rounded. */
static void elementary_functions_are_as_exact_as_documented(void **state)
{
    static const struct {
        tp_prim prim;
        double (*f)(double);
        double ulps;
    } ROWS[] = {{TP_P_EXP, exp, 1},     {TP_P_EXP2, exp2, 1}, {TP_P_EXPM1, expm1, 1}, {TP_P_LOG, log, 1},
                {TP_P_LOG1P, log1p, 1}, {TP_P_LOG2, log2, 1}, {TP_P_TANH, tanh, 3.5}, {TP_P_ERF, erf, 1},
                {TP_P_ERFC, erfc, 1.5}, {TP_P_SIN, sin, 1},   {TP_P_COS, cos, 1},     {TP_P_TAN, tan, 1}};
    (void)state;
    for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++) {
        tp_loop loop = tp_elementary_here(ROWS[r].prim, TP_F32);
        for (int i = -40000; loop && i <= 40000; i++) {
            float x = (float)i / 2048, y;
            loop(&TP_ONE_ROW, 1, &x, false, NULL, false, &y);
            double want = ROWS[r].f((double)x);
            if (isfinite(want) && fabs(want) > 0x1p-120 &&
                fabs((double)y - want) > (ROWS[r].ulps + 1e-6) * ldexp(1, ilogb(want) - 23))
                fail_msg("%s(%a) is %a, not %a", tp_prim_info(ROWS[r].prim)->name, (double)x, (double)y, want);
        }
        loop = tp_elementary_here(ROWS[r].prim, TP_F64);
        for (int i = -40000; loop && i <= 40000; i++) { /* the C library may be off by 2, tan's by 4 */
            double x = (double)i / 2048.001, y, want = ROWS[r].f(x), libm = ROWS[r].prim == TP_P_TAN ? 4 : 2;
            loop(&TP_ONE_ROW, 1, &x, false, NULL, false, &y);
            if (isfinite(want) && fabs(want) > 0x1p-900 &&
                fabs(y - want) > (ROWS[r].ulps + libm) * ldexp(1, ilogb(want) - 52))
                fail_msg("%s(%a) is %a, not %a", tp_prim_info(ROWS[r].prim)->name, x, y, want);
        }
    }
}

/* What `prim` says of two uint32s, modulo 2^32. */
static uint32_t of_uint32(tp_prim prim, uint32_t x, uint32_t y)
{
    uint64_t a = x, b = y;
    return (uint32_t)(prim == TP_P_ADD                               ? a + b
                      : prim == TP_P_SUB                             ? a - b
                      : prim == TP_P_MUL                             ? a * b
                      : prim == TP_P_AND                             ? (a & b)
                      : prim == TP_P_OR                              ? (a | b)
                      : prim == TP_P_XOR                             ? (a ^ b)
                      : prim == TP_P_SHL                             ? (b > 31 ? 0 : a << b)
                      : prim == TP_P_SHR || prim == TP_P_SHR_LOGICAL ? (b > 31 ? 0 : a >> b)
                      : prim == TP_P_MAXIMUM                         ? (a > b ? a : b)
                      : prim == TP_P_MINIMUM                         ? (a < b ? a : b)
                      : prim == TP_P_LT                              ? a < b
                      : prim == TP_P_LE                              ? a <= b
                      : prim == TP_P_GT                              ? a > b
                      : prim == TP_P_GE                              ? a >= b
                      : prim == TP_P_EQ                              ? a == b
                                                                     : a != b);
}

static void unsigned_integers_wrap_at_32_bits(void **state)
{
    static const tp_prim PRIMS[] = {TP_P_ADD, TP_P_SUB, TP_P_MUL,         TP_P_AND,     TP_P_OR,      TP_P_XOR,
                                    TP_P_SHL, TP_P_SHR, TP_P_SHR_LOGICAL, TP_P_MAXIMUM, TP_P_MINIMUM, TP_P_LT,
                                    TP_P_LE,  TP_P_GT,  TP_P_GE,          TP_P_EQ,      TP_P_NE};
    enum { N = 67 };
    tp_rng rng = tp_rng_new(setting("SEED", 1), 5);
    uint32_t x[N], y[N], r[N];
    (void)state;
    for (size_t p = 0; p < sizeof PRIMS / sizeof *PRIMS; p++) {
        tp_loop loop = tp_elementwise_loop(PRIMS[p], TP_U32);
        bool shifts = PRIMS[p] == TP_P_SHL || PRIMS[p] == TP_P_SHR || PRIMS[p] == TP_P_SHR_LOGICAL;
        assert_non_null(loop);
        for (int ways = 0; ways < 3; ways++) { /* both as they are, one of them one for all */
            for (size_t i = 0; i < N; i++) {
                x[i] = (uint32_t)tp_rng_below(&rng, (uint64_t)1 << (1 + tp_rng_below(&rng, 32)));
                y[i] = shifts                       ? (uint32_t)tp_rng_below(&rng, 40)
                       : tp_rng_below(&rng, 4) == 0 ? x[i]
                                                    : (uint32_t)tp_rng_below(&rng, (uint64_t)1 << 32);
            }
            loop(&TP_ONE_ROW, N, x, ways == 1, y, ways == 2, r);
            for (size_t i = 0; i < N; i++) {
                uint32_t a = x[ways == 1 ? 0 : i], b = y[ways == 2 ? 0 : i], want = of_uint32(PRIMS[p], a, b),
                         got = tp_prim_info(PRIMS[p])->to_bool ? ((const uint8_t *)r)[i] : r[i];
                if (got != want)
                    fail_msg("%u %s %u is %u, not %u", a, tp_prim_info(PRIMS[p])->name, b, got, want);
            }
        }
    }
}

/* Rows at any distance, backwards too, give what each of them gives alone, and leave alone what lies between them. */
static void rows_are_what_they_are_alone(void **state)
{
    static const struct {
        tp_prim prim;
        tp_dtype dtype;
    } LOOPS[] = {{TP_P_ADD, TP_F32}, {TP_P_NEG, TP_F32}, {TP_P_LT, TP_F32},  {TP_P_EXP, TP_F32}, {TP_P_POW, TP_F32},
                 {TP_P_MUL, TP_U32}, {TP_P_ADD, TP_I32}, {TP_P_MUL, TP_F64}, {TP_P_AND, TP_BOOL}};
    enum { ROWS = 5, WIDEST = 70, ROOM = ROWS * WIDEST * 8 };
    static uint64_t x[ROOM / 4], y[ROOM / 4], want[ROOM / 4], got[ROOM / 4];
    (void)state;
    for (unsigned round = 0; round < 900; round++) {
        tp_rng rng = tp_rng_new(round, 0x726f7773);
        size_t l = round % (sizeof LOOPS / sizeof *LOOPS), n = 1 + tp_rng_below(&rng, WIDEST);
        tp_dtype d = LOOPS[l].dtype;
        const tp_prim_row *prim = tp_prim_info(LOOPS[l].prim);
        tp_loop loop = tp_elementwise_loop(LOOPS[l].prim, d);
        bool two = prim->nargs == 2, one_x = tp_rng_below(&rng, 3) == 0, one_y = two && tp_rng_below(&rng, 3) == 0;
        ptrdiff_t size = (ptrdiff_t)tp_dtype_size(d), to = prim->to_bool ? 1 : size;
        assert_non_null(loop);
        for (size_t i = 0; i < ROOM / 4; i++) {
            for (size_t at = 0; at < 8 / (size_t)size; at++) {
                tp_put_f64(d, x + i, at, (double)tp_rng_below(&rng, 2));
                tp_put_f64(d, y + i, at, (double)(1 + tp_rng_below(&rng, 3)));
            }
            want[i] = got[i] = 0x5555555555555555;
        }
        tp_rows rows = {ROWS, ((ptrdiff_t)tp_rng_below(&rng, 2 * WIDEST) - WIDEST) * size,
                        ((ptrdiff_t)tp_rng_below(&rng, 2 * WIDEST) - WIDEST) * size,
                        (ptrdiff_t)(n + tp_rng_below(&rng, WIDEST)) * to};
        const char *from_x = (const char *)x + ROOM, *from_y = (const char *)y + ROOM; /* in the middle */
        loop(&rows, n, from_x, one_x, two ? from_y : NULL, one_y, got);
        for (ptrdiff_t r = 0; r < ROWS; r++)
            loop(&TP_ONE_ROW, n, from_x + r * rows.a, one_x, two ? from_y + r * rows.b : NULL, one_y,
                 (char *)want + r * rows.r);
        if (memcmp(want, got, sizeof want) != 0)
            fail_msg("rows of %s of %s differ: seed %u", prim->name, tp_dtype_info(d)->name, round);
    }
}

/* Every code, at any place, and nothing beside what is asked for. */
static void tables_are_looked_up(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 500; round++) {
        tp_rng rng = tp_rng_new(round, 0x636f6465);
        uint16_t table[TP_CODES], to[600];
        uint8_t from[600];
        size_t at = tp_rng_below(&rng, 40), n = tp_rng_below(&rng, 520);
        for (size_t c = 0; c < TP_CODES; c++)
            table[c] = (uint16_t)tp_rng_next(&rng);
        for (size_t i = 0; i < 600; i++)
            from[i] = (uint8_t)(round % 2 ? tp_rng_next(&rng) : i), to[i] = 0x5a5a;
        tp_look_up(to + at, from + at, n, table);
        for (size_t i = 0; i < 600; i++)
            assert_int_equal(to[i], i >= at && i < at + n ? table[from[i]] : 0x5a5a);
    }
}

/* By one number for all, as by as many. */
static void shifts_by_one_number_are_those_by_many(void **state)
{
    enum { N = 77 };
    static const tp_prim SHIFTS[] = {TP_P_SHL, TP_P_SHR, TP_P_SHR_LOGICAL};
    static const tp_dtype TYPES[] = {TP_I32, TP_U32};
    (void)state;
    for (unsigned round = 0; round < 6 * 80; round++) {
        tp_rng rng = tp_rng_new(round, 0x73686966);
        tp_loop loop = tp_elementwise_loop(SHIFTS[round % 3], TYPES[round / 3 % 2]);
        const uint32_t by = round / 6 + 6 < 80 ? round / 6 : UINT32_C(0x80000000) - 3 + round / 6 % 6;
        uint32_t x[2 * N], one[2] = {by, by + 1}, y[2 * N], got[2 * N], want[2 * N];
        for (size_t i = 0; i < 2 * N; i++) {
            x[i] = (uint32_t)tp_rng_next(&rng);
            y[i] = one[i / N];
        }
        loop(&(tp_rows){2, N * 4, 4, N * 4}, N, x, false, one, true, got);
        loop(&(tp_rows){2, N * 4, N * 4, N * 4}, N, x, false, y, false, want);
        assert_memory_equal(got, want, sizeof got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_what_they_are_alone),
        cmocka_unit_test(products_do_not_depend_on_the_instruction_set),
        cmocka_unit_test(products_of_subnormal_numbers_are_the_same),
        cmocka_unit_test(products_and_sums_are_rounded_once),
        cmocka_unit_test(moves_are_what_they_say),
        cmocka_unit_test(tables_are_looked_up),
        cmocka_unit_test(shifts_by_one_number_are_those_by_many),
        cmocka_unit_test(unsigned_integers_wrap_at_32_bits),
        cmocka_unit_test(elementary_functions_do_not_depend_on_the_instruction_set),
        cmocka_unit_test(elementary_functions_are_as_exact_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
