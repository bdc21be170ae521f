#include "domains/bfloats.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <string.h>

#include "base/processors.h"

/* Operands are packed to panels of BLOCK lines: rows of a, columns of b. Of each TP_GROUP terms of a panel there are
 * two tiles, of its first lines and of the others, without gaps; 0s where there are no lines or no terms. A word has
 * two terms. Words of a row are those of a line in a, of a pair of terms in b.
 *
 * These instructions take and give 0 for what is subnormal, as no other instruction here does. So a panel is asked for
 * the least exponents of its numbers. Let all numbers of a panel of a that are not 0 be at least 2^x, and those of one
 * of b at least 2^y, and -126 <= x, y. A bfloat16 of at least 2^x is a multiple of 2^(x - 7), so each product is a
 * multiple of q = 2^(x + y - 14). So is each sum of a product or sum and a multiple of q, exactly; and rounded, for a
 * float32 that is next to a multiple of q is either that or has a last place above q. If q >= 2^-126, what is not 0 is
 * not subnormal, and nothing is rounded otherwise than by IEEE 754. With exponents as they are stored (127 more), x + y
 * - 14 >= -126 reads X + Y >= 142. Sums that overflow, infinities and NaN are those of IEEE 754. */
enum { LEAST_EXPONENTS = 142, ROWS = 4 };

/* The least exponent of each panel lies behind all of them. */
size_t tp_bfloats_panels(size_t lines, size_t k)
{
    const size_t panels = in_parts(lines, BLOCK),
                 bytes = panels * (in_parts(k, TP_GROUP) * PAIR * sizeof(tp_pair) + sizeof(uint32_t));
    return in_parts(bytes, TP_AHEAD_LINE) * TP_AHEAD_LINE;
}

size_t tp_bfloats_room(size_t m, size_t n, size_t k)
{
    return tp_bfloats_panels(m, k) + tp_bfloats_panels(n, k) + TP_AHEAD_LINE;
}

/* The least magnitude so far of 32 numbers, less by 1, so that 0 is most of all. */
WITH_AVX512 static inline __m512i look(__m512i seen, __m512i v)
{
    const __m512i size = _mm512_and_si512(v, _mm512_set1_epi16(0x7fff));
    return _mm512_min_epu16(seen, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
}

/* Its exponent; 512: all are 0. */
WITH_AVX512 static inline uint32_t exponent_of(__m512i seen)
{
    uint16_t all[TP_GROUP], one = UINT16_MAX;
    _mm512_storeu_si512(all, seen);
    for (size_t i = 0; i < TP_GROUP; i++)
        one = all[i] < one ? all[i] : one;
    return ((uint32_t)one + 1) >> 7;
}

/* Up to 16 lines whose terms lie side by side. */
WITH_AVX512 static inline void load_lines(__m512i v[SIDE], const tp_bfloat *x, size_t step, size_t lines, size_t terms)
{
    const __mmask32 there = first(terms);
    if (lines >= SIDE && terms >= TP_GROUP)
#pragma GCC unroll 16
        for (size_t q = 0; q < SIDE; q++)
            v[q] = _mm512_loadu_si512(x + q * step);
    else
        for (size_t q = 0; q < SIDE; q++)
            v[q] = q < lines ? _mm512_maskz_loadu_epi16(there, x + q * step) : _mm512_setzero_si512();
}

/* Of 32 terms of a line in their order: the order of their words if they are split, and back. */
WITH_AVX512 static inline __m512i split_words(__m512i v)
{
    return _mm512_shufflehi_epi16(_mm512_shufflelo_epi16(v, 0x72), 0x72); /* 2, 0, 3, 1 of each four */
}

WITH_AVX512 static inline __m512i joined_words(__m512i v)
{
    return _mm512_shufflehi_epi16(_mm512_shufflelo_epi16(v, 0x8d), 0x8d); /* 1, 3, 0, 2 */
}

/* The terms of word p of a group. */
static inline size_t low_term(size_t p, bool split)
{
    return split ? p / 2 * 4 + p % 2 + 2 : 2 * p;
}

static inline size_t high_term(size_t p, bool split)
{
    return split ? p / 2 * 4 + p % 2 : 2 * p + 1;
}

/* Up to 16 words of which up to 32 lines lie side by side: v of the first 16, w of the others. */
WITH_AVX512 static inline void load_terms(__m512i v[SIDE], __m512i w[SIDE], const tp_bfloat *x, size_t step,
                                          size_t lines, size_t terms, bool split)
{
    static const uint16_t LOW[TP_GROUP] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                           8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i low = _mm512_loadu_si512(LOW), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    const __mmask32 there = first(lines);
    for (size_t p = 0; p < SIDE; p++) {
        const size_t t = low_term(p, split), u = high_term(p, split);
        __m512i x0 = t < terms ? _mm512_maskz_loadu_epi16(there, x + t * step) : _mm512_setzero_si512(),
                x1 = u < terms ? _mm512_maskz_loadu_epi16(there, x + u * step) : _mm512_setzero_si512();
        v[p] = _mm512_permutex2var_epi16(x0, low, x1);
        w[p] = _mm512_permutex2var_epi16(x0, high, x1);
    }
}

/* Elements anywhere. */
WITH_AVX512 static void load_any(__m512i v[SIDE], const tp_bfloat *x, size_t line, size_t term, size_t lines,
                                 size_t terms)
{
    for (size_t q = 0; q < SIDE; q++) {
        tp_bfloat row[TP_GROUP] = {0};
        for (size_t t = 0; q < lines && t < terms; t++)
            row[t] = x[q * line + t * term];
        v[q] = _mm512_loadu_si512(row);
    }
}

WITH_AVX512 static inline void store_tile(tp_pair *to, const __m512i v[SIDE], __m512i *seen)
{
#pragma GCC unroll 16
    for (size_t q = 0; q < SIDE; q++) {
        *seen = look(*seen, v[q]);
        _mm512_store_si512(to + q * SIDE, v[q]);
    }
}

WITH_AVX512 static inline void split_all(__m512i v[SIDE])
{
#pragma GCC unroll 16
    for (size_t q = 0; q < SIDE; q++)
        v[q] = split_words(v[q]);
}

/* One panel, and its least exponent; the lines and terms of x are so many elements apart. `turned`: the rows of a tile
 * are words of one place in their lines. */
WITH_AVX512 static uint32_t pack_panel(tp_pair *to, const tp_bfloat *x, size_t line, size_t term, size_t lines,
                                       size_t k, bool turned, bool split)
{
    __m512i seen = _mm512_set1_epi16(-1);
    const bool by_terms = term != 1 && line == 1;
    for (size_t t = 0; t < k; t += TP_GROUP, to += PAIR, x += TP_GROUP * term) {
        const size_t terms = least(k - t, TP_GROUP), low = lines > SIDE ? lines - SIDE : 0;
        __m512i v[SIDE], w[SIDE];
        if (by_terms) {
            load_terms(v, w, x, term, lines, terms, split);
        } else if (term == 1) {
            load_lines(v, x, line, lines, terms);
            if (low)
                load_lines(w, x + SIDE * line, line, low, terms);
        } else {
            load_any(v, x, line, term, lines, terms);
            load_any(w, x + SIDE * line, line, term, low, terms);
        }
        if (split && !by_terms) {
            split_all(v);
            if (low)
                split_all(w);
        }
        if (turned != by_terms)
            turn_tile(v);
        store_tile(to, v, &seen);
        if (low && turned != by_terms)
            turn_tile(w);
        if (low)
            store_tile(to + TILE, w, &seen);
    }
    return exponent_of(seen);
}

/* Are sums of these those of IEEE 754? */
static inline bool fit(uint32_t x, uint32_t y)
{
    return x && y && x + y >= LEAST_EXPONENTS;
}

/* Lines of a group of a. */
WITH_AVX512 static void widen_rows(const tp_pair *from, size_t rows, bool split, tp_widened *to)
{
    const __m512i first_half = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                  second_half = _mm512_add_epi32(first_half, _mm512_set1_epi32(8));
    for (size_t i = 0; i < rows; i++, from += SIDE, to += TP_GROUP) {
        const __m512i v = _mm512_load_si512(from), w = split ? joined_words(v) : v, even = _mm512_slli_epi32(w, 16),
                      odd = _mm512_and_si512(w, _mm512_set1_epi32((int)0xffff0000));
        _mm512_storeu_si512(to, _mm512_permutex2var_epi32(even, first_half, odd));
        _mm512_storeu_si512(to + SIDE, _mm512_permutex2var_epi32(even, second_half, odd));
    }
}

/* ... of b, whose rows are words of one place in their lines. */
WITH_AVX512 static void widen_terms(const tp_pair *from, bool split, tp_widened *to)
{
    for (size_t p = 0; p < SIDE; p++, from += SIDE)
        for (size_t side = 0; side < 2; side++) {
            const __m512i w = _mm512_load_si512(from + side * TILE);
            tp_widened *at = to + side * SIDE;
            _mm512_storeu_si512(at + low_term(p, split) * BLOCK, _mm512_slli_epi32(w, 16));
            _mm512_storeu_si512(at + high_term(p, split) * BLOCK,
                                _mm512_and_si512(w, _mm512_set1_epi32((int)0xffff0000)));
        }
}

/* The same of all terms, by float32. */
static void other_sums(const tp_pair *a, const tp_pair *b, size_t k, size_t high, size_t wide, bool split, float *to,
                       tp_multiply_floats *widened)
{
    tp_widened x[BLOCK * TP_GROUP], y[TP_GROUP * BLOCK], part[BLOCK * BLOCK], sum[BLOCK * BLOCK] = {0};
    for (size_t t = 0; t < k; t += TP_GROUP, a += PAIR, b += PAIR) {
        const size_t terms = least(k - t, TP_GROUP);
        widen_rows(a, high, split, x);
        widen_terms(b, split, y);
        /* the sum of a group, from 0, added to the sums before */
        widened(high, wide, terms, x, (tp_steps){TP_GROUP, 1}, y, (tp_steps){BLOCK, 1}, part, sum, sum, NULL, NULL);
    }
    for (size_t i = 0; i < high; i++)
        memcpy(to + i * BLOCK, sum + i * wide, wide * sizeof *sum);
}

/* A part of r, or of `base`, or of `onto`: so many of BLOCK rows and columns. */
WITH_AVX512 static void put_block(const float *from, size_t high, size_t wide, float *to, const float *base,
                                  size_t pitch)
{
    const __mmask16 left = (__mmask16)first(least(wide, SIDE)), right = (__mmask16)first(wide > SIDE ? wide - SIDE : 0);
    for (size_t i = 0; i < high; i++, from += BLOCK, to += pitch) {
        __m512 x = _mm512_loadu_ps(from), y = _mm512_loadu_ps(from + SIDE);
        if (base) {
            x = _mm512_add_ps(_mm512_maskz_loadu_ps(left, base + i * pitch), x);
            y = _mm512_add_ps(_mm512_maskz_loadu_ps(right, base + i * pitch + SIDE), y);
        }
        _mm512_mask_storeu_ps(to, left, x);
        _mm512_mask_storeu_ps(to + SIDE, right, y);
    }
}

WITH_AVX512 static void get_block(float *to, size_t high, size_t wide, const float *from, size_t pitch)
{
    const __mmask16 left = (__mmask16)first(least(wide, SIDE)), right = (__mmask16)first(wide > SIDE ? wide - SIDE : 0);
    for (size_t i = 0; i < high; i++, to += BLOCK, from += pitch) {
        _mm512_storeu_ps(to, _mm512_maskz_loadu_ps(left, from));
        _mm512_storeu_ps(to + SIDE, _mm512_maskz_loadu_ps(right, from + SIDE));
    }
}

/* An operand's panels, each of so many pairs, and the least exponent of each. */
typedef struct packed {
    tp_pair *at;
    uint32_t *least;
} packed;

/* They are packed to `room`, or are kept: then they may be there. */
static packed pack(void *room, tp_panels *kept, const tp_bfloat *x, size_t line, size_t term, size_t lines, size_t k,
                   bool turned, bool split)
{
    const size_t pairs = in_parts(k, TP_GROUP) * PAIR;
    tp_pair *at = kept ? kept->at : room;
    const packed p = {at, at + in_parts(lines, BLOCK) * pairs};
    for (size_t i = 0; i < lines && !(kept && kept->filled); i += BLOCK)
        p.least[i / BLOCK] =
            pack_panel(at + i / BLOCK * pairs, x + i * line, line, term, least(lines - i, BLOCK), k, turned, split);
    if (kept)
        kept->filled = true;
    return p;
}

void tp_multiply_bfloats(const tp_bfloat_blocks *by, size_t m, size_t n, size_t k, const tp_bfloat *a, tp_steps sa,
                         const tp_bfloat *b, tp_steps sb, float *r, const float *base, float *onto, tp_ahead *ahead,
                         void *room, tp_panels *rows, tp_panels *panels, tp_multiply_floats *widened)
{
    _Alignas(64) float block[BLOCK * BLOCK] = {0};
    const size_t groups = in_parts(k, TP_GROUP), blocks = in_parts(m, BLOCK) * in_parts(n, BLOCK);
    tp_ahead nothing = {.n = 0};
    const beside other = beside_groups(ahead ? ahead : &nothing, blocks * groups);
    const part_of none = {NULL, 0};
    char *own = (char *)(((uintptr_t)room + TP_AHEAD_LINE - 1) / TP_AHEAD_LINE * TP_AHEAD_LINE);
    const packed x = pack(own, rows, a, sa.row, sa.column, m, k, false, by->split),
                 y = pack(own + tp_bfloats_panels(m, k), panels, b, sb.column, sb.row, n, k, true, by->split);
    is_there(own);
    if (by->begin)
        by->begin();
    for (size_t t = 0, some; t == 0 || t < groups; t += some) {
        some = least(groups - t, by->depth);
        const bool last = t + some >= groups;
        for (size_t i = 0; i < m; i += BLOCK)
            for (size_t j = 0; j < n; j += BLOCK) {
                const size_t high = least(m - i, BLOCK), wide = least(n - j, BLOCK), at = i * n + j;
                const tp_pair *p = x.at + (i / BLOCK * groups + t) * PAIR, *q = y.at + (j / BLOCK * groups + t) * PAIR;
                const bool fits = fit(x.least[i / BLOCK], y.least[j / BLOCK]), whole = high == BLOCK && wide == BLOCK;
                const part_of there = {r + at, n}, copy = {block, BLOCK}, before = whole ? there : copy,
                              from = t ? before : none, to = whole && !(last && onto) ? there : copy;
                if (!fits && !last)
                    continue;
                if (!fits) {
                    tp_ahead_ask(other.ahead, other.lines * groups);
                    other_sums(p - t * PAIR, q - t * PAIR, k, high, wide, by->split, block, widened);
                } else {
                    if (from.at == block)
                        get_block(block, high, wide, r + at, n);
                    is_there(block);
                    by->sums(p, q, some, high, wide, from, to, other);
                }
                if (!fits || to.at == block)
                    put_block(block, high, wide, (last && onto ? onto : r) + at, last && onto ? base + at : NULL, n);
            }
        if (!groups)
            break;
    }
    if (by->end)
        by->end();
}

/* ---- by words ---- */

#define WITH_BFLOATS __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

/* x + the product of the high halves, rounded, + that of the low ones (Intel SDM 2, VDPBF16PS). */
WITH_BFLOATS static inline __m512 add_words(__m512 x, __m512i a, __m512i b)
{
    return _mm512_dpbf16_ps(x, (__m512bh)a, (__m512bh)b);
}

/* The same of ROWS rows, and of one or two times 16 columns. */
WITH_BFLOATS static inline __attribute__((always_inline)) void strip(const tp_pair *a, const tp_pair *b, size_t groups,
                                                                     size_t columns, part_of from, part_of to)
{
    __m512 sum[ROWS][2];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < columns; j++)
            sum[i][j] = from.at ? _mm512_loadu_ps(from.at + i * from.pitch + j * SIDE) : _mm512_setzero_ps();
    for (size_t t = 0; t < groups; t++, a += PAIR, b += PAIR) {
        __m512 part[2][ROWS][2]; /* of even terms, of odd ones */
        for (size_t i = 0; i < 2 * ROWS; i++)
            for (size_t j = 0; j < columns; j++)
                part[i / ROWS][i % ROWS][j] = _mm512_setzero_ps();
#pragma GCC unroll 1
        for (size_t p = 0; p < SIDE; p += 2)
#pragma GCC unroll 2
            for (size_t odd = 0; odd < 2; odd++) {
                __m512i y[2];
                for (size_t j = 0; j < columns; j++)
                    y[j] = _mm512_load_si512(b + (p + odd) * SIDE + j * TILE);
#pragma GCC unroll 4
                for (size_t i = 0; i < ROWS; i++) {
                    const __m512i x = _mm512_set1_epi32((int)a[i * SIDE + p + odd]);
                    for (size_t j = 0; j < columns; j++)
                        part[odd][i][j] = add_words(part[odd][i][j], x, y[j]);
                }
            }
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < columns; j++)
                sum[i][j] = _mm512_add_ps(sum[i][j], _mm512_add_ps(part[0][i][j], part[1][i][j]));
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < columns; j++)
            _mm512_storeu_ps(to.at + i * to.pitch + j * SIDE, sum[i][j]);
}

WITH_BFLOATS static void sums_of_words(const tp_pair *a, const tp_pair *b, size_t groups, size_t high, size_t wide,
                                       part_of from, part_of to, beside other)
{
    const size_t asked = other.lines * groups / in_parts(high, ROWS) + 1;
    for (size_t i = 0; i < high; i += ROWS) {
        const tp_pair *x = a + i / SIDE * TILE + i % SIDE * SIDE;
        const part_of f = {from.at ? from.at + i * from.pitch : NULL, from.pitch}, t = {to.at + i * to.pitch, to.pitch};
        tp_ahead_ask(other.ahead, asked);
        if (wide > SIDE)
            strip(x, b, groups, 2, f, t);
        else
            strip(x, b, groups, 1, f, t);
    }
}

const tp_bfloat_blocks TP_BFLOAT_WORDS = {.split = true, .depth = 8, .sums = sums_of_words};

/* 2^24 + 1, rounded, is 2^24; less 1 it is the number below. In the other order, or rounded once, it would be 2^24. */
WITH_BFLOATS static bool high_halves_first(void)
{
    enum { ONE = 0x3f80, LESS_ONE = 0xbf80 };
    const __m512i ones = _mm512_set1_epi32(ONE << 16 | ONE), x = _mm512_set1_epi32(ONE << 16 | LESS_ONE);
    return _mm512_cvtss_f32(add_words(_mm512_set1_ps(0x1p24F), x, ones)) == 0x1p24F - 1;
}

/* Of AMD's processors; on Intel's, of which one was measured (Sapphire Rapids), it takes twice the time of float32. */
bool tp_has_avx512_bf16(void)
{
    return tp_has_avx512() && __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512bf16") && high_halves_first();
}
#else
size_t tp_bfloats_panels(size_t lines, size_t k)
{
    return (void)lines, (void)k, (size_t)0;
}

size_t tp_bfloats_room(size_t m, size_t n, size_t k)
{
    return (void)m, (void)n, (void)k, (size_t)0;
}
#endif
