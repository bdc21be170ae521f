/* A term with a subnormal element is computed in double, where no number of it is subnormal; all others by fma(). */
#include "domains/subnormal.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

#define ATTRIBUTE __attribute__((target("avx512f")))

enum {
    DEPTH = 256,  /* terms of one pass, */
    HEIGHT = 128, /* ... and rows of a, of which is noted where they have subnormal elements */
    ROWS = 4,     /* of a tile of sums, */
    LANES = 16,
    WIDTH = 2 * LANES, /* ... and columns */
    WORDS = DEPTH / 64,
    WORTH_IT = 1 << 15, /* products: for fewer, to ask the processor takes too long */
    MANY = 16           /* products to look through, once subnormal elements were met */
};

/* Bits of the terms of a pass in which somebody has a subnormal element. */
typedef struct marks {
    uint64_t bits[WORDS];
} marks;

static const uint32_t EXPONENT = 0x7f800000, MANTISSA = 0x7fffff, SIGN = 0x80000000;

/* The first n, or all. */
static __mmask16 lanes(size_t n)
{
    return (__mmask16)((1U << (n < LANES ? n : LANES)) - 1);
}

static ATTRIBUTE __mmask16 subnormal_lanes(__m512i x)
{
    return (__mmask16)(_mm512_testn_epi32_mask(x, _mm512_set1_epi32((int)EXPONENT)) &
                       _mm512_test_epi32_mask(x, _mm512_set1_epi32((int)MANTISSA)));
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static bool is_subnormal(float x)
{
    return !(bits_of(x) & EXPONENT) && (bits_of(x) & MANTISSA);
}

/* ---- what there is ---- */

typedef struct census {
    size_t subnormal;
    bool finite;
} census;

static ATTRIBUTE void count_line(census *c, const float *x, size_t n, size_t step)
{
    const __m512i exponent = _mm512_set1_epi32((int)EXPONENT);
    size_t i = 0;
    __mmask16 strange = 0;
    for (; step == 1 && i < n; i += LANES) {
        __mmask16 some = lanes(n - i);
        __m512i v = _mm512_maskz_loadu_epi32(some, x + i);
        c->subnormal += (size_t)__builtin_popcount(subnormal_lanes(v));
        strange |= _mm512_cmpeq_epi32_mask(_mm512_and_epi32(v, exponent), exponent);
    }
    for (; i < n; i++) {
        c->subnormal += is_subnormal(x[i * step]);
        strange |= (bits_of(x[i * step]) & EXPONENT) == EXPONENT;
    }
    c->finite &= !strange;
}

/* Lines of elements that lie side by side, if any do. */
static census count(const float *x, size_t rows, size_t columns, tp_steps s)
{
    census c = {0, true};
    bool turned = s.column != 1 && s.row == 1;
    for (size_t i = 0; i < (turned ? columns : rows); i++)
        count_line(&c, x + i * (turned ? s.column : s.row), turned ? rows : columns, turned ? s.row : s.column);
    return c;
}

static void mark(marks *to, size_t t)
{
    to->bits[t / 64] |= (uint64_t)1 << t % 64;
}

/* Per tile of rows, of depth terms. */
static ATTRIBUTE void mark_rows(marks *to, const float *a, tp_steps s, size_t rows, size_t depth)
{
    memset(to, 0, (rows + ROWS - 1) / ROWS * sizeof *to);
    for (size_t i = 0; s.column == 1 && i < rows; i++)
        for (size_t t = 0; t < depth; t += LANES) {
            __mmask16 some = lanes(depth - t);
            uint64_t found = subnormal_lanes(_mm512_maskz_loadu_epi32(some, a + i * s.row + t));
            to[i / ROWS].bits[t / 64] |= found << t % 64;
        }
    for (size_t t = 0; s.column != 1 && t < depth; t++)
        for (size_t i = 0; i < rows; i += LANES) {
            __mmask16 some = lanes(rows - i);
            unsigned found = 0;
            if (s.row == 1)
                found = subnormal_lanes(_mm512_maskz_loadu_epi32(some, a + i + t * s.column));
            for (size_t q = 0; s.row != 1 && q < LANES && i + q < rows; q++)
                found |= (unsigned)is_subnormal(a[(i + q) * s.row + t * s.column]) << q;
            for (size_t q = i / ROWS; found; q++, found >>= ROWS)
                if (found & ((1U << ROWS) - 1))
                    mark(&to[q], t);
        }
}

/* Columns of b, 0s behind the last one. */
static ATTRIBUTE void pack(float *restrict to, marks *m, const float *b, tp_steps s, size_t depth, size_t columns)
{
    memset(m, 0, sizeof *m);
    for (size_t t = 0; t < depth; t++, to += WIDTH, b += s.row) {
        for (size_t c = 0; c < WIDTH; c++)
            to[c] = c < columns ? b[c * s.column] : 0;
        if (subnormal_lanes(_mm512_loadu_si512(to)) | subnormal_lanes(_mm512_loadu_si512(to + LANES)))
            mark(m, t);
    }
}

/* ---- sums ---- */

/* Sixteen float32s, each as the same number in double. */
typedef struct doubles {
    __m512d low, high;
} doubles;

static inline ATTRIBUTE __m512d widen(__m256i x, __mmask8 tiny)
{
    const __m256i mantissa = _mm256_set1_epi32((int)MANTISSA), sign = _mm256_set1_epi32((int)SIGN);
    __m512d normal = _mm512_maskz_cvtps_pd((__mmask8)~tiny, _mm256_castsi256_ps(x));
    __m512d small = _mm512_mul_pd(_mm512_cvtepi32_pd(_mm256_and_si256(x, mantissa)), _mm512_set1_pd(0x1p-149));
    __m512i signs = _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm256_and_si256(x, sign)), 32);
    small = _mm512_castsi512_pd(_mm512_or_si512(_mm512_castpd_si512(small), signs));
    return _mm512_mask_mov_pd(normal, tiny, small);
}

static inline ATTRIBUTE doubles doubles_at(const float *at)
{
    __m512i x = _mm512_loadu_si512(at);
    __mmask16 tiny = _mm512_testn_epi32_mask(x, _mm512_set1_epi32((int)EXPONENT));
    return (doubles){widen(_mm512_castsi512_si256(x), (__mmask8)tiny),
                     widen(_mm512_extracti64x4_epi64(x, 1), (__mmask8)(tiny >> 8))};
}

static inline ATTRIBUTE __mmask8 is_tiny(__m512d x)
{
    return _mm512_cmp_pd_mask(_mm512_abs_pd(x), _mm512_set1_pd(0x1p-126), _CMP_LT_OQ);
}

/* The nearest float32 of each, of which none is subnormal while it is computed. */
static inline ATTRIBUTE __m512d round_once(__m512d x)
{
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
    const __m512d unit = _mm512_set1_pd(0x1.8p-97); /* its last place is 2^-149 */
    const __m512i sign = _mm512_set1_epi64(INT64_MIN);
    __mmask8 tiny = is_tiny(x);
    __m512d small = _mm512_sub_round_pd(_mm512_add_round_pd(x, unit, NEAREST), unit, NEAREST);
    small = _mm512_castsi512_pd(
        _mm512_or_si512(_mm512_castpd_si512(small), _mm512_and_si512(_mm512_castpd_si512(x), sign)));
    __m512d normal = _mm512_cvtps_pd(_mm512_maskz_cvt_roundpd_ps((__mmask8)~tiny, x, NEAREST));
    return _mm512_mask_mov_pd(normal, tiny, small);
}

/* sum + x y as fma() has it: the product is exact in double, and the sum is rounded to odd there, which the second
 * rounding does not notice (Boldo and Melquiond 2008). */
static inline ATTRIBUTE __m512d term(__m512d sum, __m512d x, __m512d y)
{
    __m512d p = _mm512_mul_pd(x, y), up = _mm512_add_round_pd(p, sum, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC),
            down = _mm512_add_round_pd(p, sum, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC),
            v = _mm512_add_round_pd(p, sum, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    __mmask8 inexact = _mm512_cmp_pd_mask(up, down, _CMP_NEQ_OQ);
    __m512i odd = _mm512_castpd_si512(v);
    odd = _mm512_mask_or_epi64(odd, inexact, odd, _mm512_set1_epi64(1));
    return round_once(_mm512_castsi512_pd(odd));
}

static inline ATTRIBUTE __m256i narrow(__m512d x)
{
    __mmask8 tiny = is_tiny(x);
    __m256i normal = _mm256_castps_si256(_mm512_maskz_cvtpd_ps((__mmask8)~tiny, x));
    __m512i bits = _mm512_cvtepi32_epi64(_mm512_maskz_cvtpd_epi32(tiny, _mm512_mul_pd(x, _mm512_set1_pd(0x1p149))));
    __m512i sign = _mm512_slli_epi64(_mm512_srli_epi64(_mm512_castpd_si512(x), 63), 31);
    __m256i small = _mm512_cvtepi64_epi32(_mm512_or_si512(_mm512_abs_epi64(bits), sign));
    return _mm512_castsi512_si256(
        _mm512_mask_mov_epi32(_mm512_castsi256_si512(normal), tiny, _mm512_castsi256_si512(small)));
}

static inline ATTRIBUTE void doubles_to(float *at, doubles x)
{
    _mm512_storeu_si512(at, _mm512_inserti64x4(_mm512_castsi256_si512(narrow(x.low)), narrow(x.high), 1));
}

static double widened(float x)
{
    if (bits_of(x) & EXPONENT)
        return (double)x;
    double small = (double)(int)(bits_of(x) & MANTISSA) * 0x1p-149;
    return bits_of(x) & SIGN ? -small : small;
}

/* Some rows of a: element (i, t) at i[row] + t step. */
typedef struct lines {
    const float *row[ROWS];
    size_t step;
} lines;

typedef struct tile {
    _Alignas(64) float sum[ROWS][WIDTH];
} tile;

/* Terms from t to end, none of them with a subnormal element. */
static ATTRIBUTE void add_normal(tile *s, const lines *a, const float *b, size_t t, size_t end)
{
    __m512 sum[ROWS][2];
#pragma GCC unroll 4
    for (int i = 0; i < ROWS; i++) {
        sum[i][0] = _mm512_load_ps(s->sum[i]);
        sum[i][1] = _mm512_load_ps(s->sum[i] + LANES);
    }
    for (; t < end; t++) {
        __m512 y = _mm512_loadu_ps(b + t * WIDTH), z = _mm512_loadu_ps(b + t * WIDTH + LANES);
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; i++) {
            __m512 x = _mm512_set1_ps(a->row[i][t * a->step]);
            sum[i][0] = _mm512_fmadd_ps(x, y, sum[i][0]);
            sum[i][1] = _mm512_fmadd_ps(x, z, sum[i][1]);
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < ROWS; i++) {
        _mm512_store_ps(s->sum[i], sum[i][0]);
        _mm512_store_ps(s->sum[i] + LANES, sum[i][1]);
    }
}

static ATTRIBUTE void add_subnormal(tile *s, const lines *a, const float *b, size_t from, size_t end)
{
    for (size_t half = 0; half < WIDTH; half += LANES) {
        doubles sum[ROWS];
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; i++)
            sum[i] = doubles_at(s->sum[i] + half);
        for (size_t t = from; t < end; t++) {
            doubles y = doubles_at(b + t * WIDTH + half);
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; i++) {
                __m512d x = _mm512_set1_pd(widened(a->row[i][t * a->step]));
                sum[i].low = term(sum[i].low, x, y.low);
                sum[i].high = term(sum[i].high, x, y.high);
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; i++)
            doubles_to(s->sum[i] + half, sum[i]);
    }
}

/* The first term from t on, of depth, that is marked, or is not. */
static size_t next(const marks *m, size_t t, size_t depth, bool marked)
{
    while (t < depth) {
        uint64_t word = (marked ? m->bits[t / 64] : ~m->bits[t / 64]) >> t % 64;
        if (word) {
            t += (size_t)__builtin_ctzll(word);
            return t < depth ? t : depth;
        }
        t = t / 64 * 64 + 64;
    }
    return depth;
}

static void add_terms(tile *s, const lines *a, const float *b, const marks *m, size_t depth)
{
    for (size_t t = 0, end; t < depth;) {
        end = next(m, t, depth, true);
        if (end > t)
            add_normal(s, a, b, t, end);
        t = next(m, end, depth, false);
        if (t > end)
            add_subnormal(s, a, b, end, t);
    }
}

/* ---- products ---- */

/* Of a tile: so many rows and columns of r, n apart. */
typedef struct place {
    size_t rows, columns, n;
} place;

static void begin_sums(tile *s, const float *r, const place *p)
{
    memset(s, 0, sizeof *s);
    for (size_t i = 0; r && i < p->rows; i++)
        memcpy(s->sum[i], r + i * p->n, p->columns * sizeof *r);
}

static void end_sums(const tile *s, float *to, const float *base, const place *p)
{
    for (size_t i = 0; i < p->rows; i++)
        for (size_t c = 0; c < p->columns; c++)
            to[i * p->n + c] = base ? base[i * p->n + c] + s->sum[i][c] : s->sum[i][c];
}

void tp_multiply_subnormal(size_t m, size_t n, size_t k, const float *a, tp_steps sa, const float *b, tp_steps sb,
                           float *r, const float *base, float *onto, tp_ahead *ahead, tp_panels *panels)
{
    (void)panels; /* stays as it is */
    _Alignas(64) float panel[DEPTH * WIDTH];
    marks of_rows[HEIGHT / ROWS], of_panel, both;
    tile s;
    if (ahead)
        tp_ahead_ask(ahead, ahead->lines);
    for (size_t t = 0, depth, i0, high; t < k || (t == 0 && k == 0); t += depth) {
        depth = k - t < DEPTH ? k - t : DEPTH;
        bool last = t + depth == k;
        for (i0 = 0; i0 < m; i0 += high) {
            high = m - i0 < HEIGHT ? m - i0 : HEIGHT;
            const float *top = a + i0 * sa.row + t * sa.column;
            mark_rows(of_rows, top, sa, high, depth);
            for (size_t j = 0; j < n; j += WIDTH) {
                place p = {0, n - j < WIDTH ? n - j : WIDTH, n};
                pack(panel, &of_panel, b + t * sb.row + j * sb.column, sb, depth, p.columns);
                for (size_t i = 0; i < high; i += ROWS) {
                    p.rows = high - i < ROWS ? high - i : ROWS;
                    lines x = {.step = sa.column};
                    for (size_t q = 0; q < ROWS; q++) /* rows that are not there are the last one again */
                        x.row[q] = top + (i + (q < p.rows ? q : p.rows - 1)) * sa.row;
                    for (size_t w = 0; w < WORDS; w++)
                        both.bits[w] = of_rows[i / ROWS].bits[w] | of_panel.bits[w];
                    size_t at = (i0 + i) * n + j;
                    begin_sums(&s, t ? r + at : NULL, &p);
                    add_terms(&s, &x, panel, &both, depth);
                    end_sums(&s, last && onto ? onto + at : r + at, last && onto ? base + at : NULL, &p);
                }
            }
        }
        if (!depth)
            return;
    }
}

/* Does the processor take long? */
static bool takes_long(void)
{
    return __builtin_cpu_is("intel");
}

void tp_multiply_watched(tp_multiply_floats *plain, size_t m, size_t n, size_t k, const float *a, tp_steps sa,
                         const float *b, tp_steps sb, float *r, const float *base, float *onto, tp_ahead *ahead,
                         tp_panels *panels)
{
    static _Thread_local unsigned suspicious;
    if (m * n * k < WORTH_IT || !takes_long()) {
        plain(m, n, k, a, sa, b, sb, r, base, onto, ahead, panels);
        return;
    }
    if (suspicious) {
        census x = count(a, m, k, sa), y = count(b, k, n, sb);
        size_t slow = x.subnormal * n + y.subnormal * m; /* products, 16 at a time in some 128 cycles, ... */
        suspicious = slow ? MANY : suspicious - 1;
        if (x.finite && y.finite && 1024 * slow > m * n * k) { /* ... beside what is lost of the others */
            tp_multiply_subnormal(m, n, k, a, sa, b, sb, r, base, onto, ahead, panels);
            return;
        }
    }
    unsigned state = _mm_getcsr();
    if (state & _MM_EXCEPT_DENORM)
        _mm_setcsr(state & ~(unsigned)_MM_EXCEPT_DENORM);
    plain(m, n, k, a, sa, b, sb, r, base, onto, ahead, panels);
    if (_mm_getcsr() & _MM_EXCEPT_DENORM)
        suspicious = MANY;
}
#endif
