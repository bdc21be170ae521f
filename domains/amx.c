#define _GNU_SOURCE
#include "domains/amx.h"

#include "base/processors.h"
#include "domains/bytes.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    ASK_FOR_STATE = 0x1023, /* ARCH_REQ_XCOMP_PERM: Linux, Documentation/arch/x86/xstate.rst */
    TILE_DATA = 18,         /* number of that state; Intel SDM 1, 13.5.15 */
    AMX_BF16 = 1 << 22,     /* of edx of leaf 7 */
    AMX_TILE = 1 << 24,
    AMX_INT8 = 1 << 25,
    SIDE = 16, /* rows of a tile, and words of a row */
    TILE = SIDE * SIDE,
    BLOCK = 2 * SIDE /* of sums: four tiles, for two of a and two of b */
};

#define WITH_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))

static bool ask(void)
{
    const unsigned wanted = AMX_TILE | AMX_INT8 | AMX_BF16;
    unsigned a, b, c, d;
    return tp_has_avx512() && __builtin_cpu_supports("avx512vbmi") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & wanted) == wanted && syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
}

bool tp_has_amx(void)
{
    static atomic_int tiles; /* 0: not asked yet, 1: no, 2: yes */
    int now = atomic_load_explicit(&tiles, memory_order_relaxed);
    if (!now) {
        now = ask() ? 2 : 1;
        atomic_store_explicit(&tiles, now, memory_order_relaxed);
    }
    return now == 2;
}

/* What LDTILECFG reads. */
typedef struct shapes {
    uint8_t palette, start, none[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} shapes;

/* What is asked for beside a product: so many lines with each group of terms, while the tiles before are multiplied. */
typedef struct beside {
    tp_ahead *ahead;
    size_t lines;
} beside;

static beside beside_groups(tp_ahead *ahead, size_t groups)
{
    return (beside){ahead, groups ? ahead->lines / groups + 1 : 0};
}

/* What was stored to p is there: the compiler does not know that these instructions look at memory. */
static inline void is_there(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static inline size_t least(size_t x, size_t y)
{
    return x < y ? x : y;
}

static size_t in_parts(size_t n, size_t part)
{
    return (n + part - 1) / part;
}

static inline __mmask32 first(size_t n)
{
    return n >= 32 ? UINT32_MAX : (UINT32_C(1) << n) - 1;
}

/* Words of 16 lines, turned. */
WITH_AVX512 static inline void turn_tile(__m512i v[SIDE])
{
    __m512i w[SIDE];
#pragma GCC unroll 4
    for (int i = 0; i < SIDE; i += 4) {
        __m512i p = _mm512_unpacklo_epi32(v[i], v[i + 1]), q = _mm512_unpackhi_epi32(v[i], v[i + 1]),
                r = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]), s = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
        w[i] = _mm512_unpacklo_epi64(p, r);
        w[i + 1] = _mm512_unpackhi_epi64(p, r);
        w[i + 2] = _mm512_unpacklo_epi64(q, s);
        w[i + 3] = _mm512_unpackhi_epi64(q, s);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        __m512i p = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88), q = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd),
                r = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88),
                s = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
        v[i] = _mm512_shuffle_i32x4(p, r, 0x88);
        v[i + 4] = _mm512_shuffle_i32x4(q, s, 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(p, r, 0xdd);
        v[i + 12] = _mm512_shuffle_i32x4(q, s, 0xdd);
    }
}

enum { SUM, RIGHT, BELOW, BOTH, A_TOP, A_LOW, B_LEFT, B_RIGHT }; /* tiles: 0 to 7 */

/* Tiles of a block of so many rows and columns; what is not there has one of each, and is not used. */
__attribute__((target("amx-tile"))) static void shape(size_t high, size_t wide)
{
    const size_t rows[] = {least(high, SIDE), high > SIDE ? high - SIDE : 1},
                 words[] = {least(wide, SIDE), wide > SIDE ? wide - SIDE : 1};
    shapes s = {.palette = 1};
    for (size_t t = SUM; t <= B_RIGHT; t++) {
        size_t below = t < A_TOP ? t / 2 : t - A_TOP, right = t < A_TOP ? t % 2 : t - B_LEFT;
        s.rows[t] = (uint8_t)(t < B_LEFT ? rows[below] : SIDE);
        s.bytes[t] = (uint16_t)(sizeof(tp_quad) * (t < A_TOP || t >= B_LEFT ? words[right] : SIDE));
    }
    is_there(&s);
    _tile_loadconfig(&s);
}

__attribute__((target("amx-tile"))) static void release(void)
{
    _tile_release();
}

/* ---- 8-bit integers ---- */

/* b is packed to panels of BLOCK columns: of each TP_BYTES terms of a panel there are two tiles, of its first columns
 * and of the others, without gaps; 0s where there are no columns or no terms. A word has four terms. Rows of a are as
 * tiles want them where their terms lie side by side; else, and for terms at the end that fill no tile, they are packed
 * to such panels, too. */
enum { STEP = SIDE * TP_BYTES /* bytes of a tile */ };

#define WITH_BYTES __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

/* Sixteen bytes of each of four terms, as words. */
WITH_BYTES static inline __m512i join(__m128i p, __m128i q, __m128i r, __m128i s)
{
    static const uint8_t ORDER[TP_BYTES] = {0,  16, 32, 48, 1,  17, 33, 49, 2,  18, 34, 50, 3,  19, 35, 51,
                                            4,  20, 36, 52, 5,  21, 37, 53, 6,  22, 38, 54, 7,  23, 39, 55,
                                            8,  24, 40, 56, 9,  25, 41, 57, 10, 26, 42, 58, 11, 27, 43, 59,
                                            12, 28, 44, 60, 13, 29, 45, 61, 14, 30, 46, 62, 15, 31, 47, 63};
    __m512i all = _mm512_inserti32x4(_mm512_castsi128_si512(p), q, 1);
    all = _mm512_inserti32x4(_mm512_inserti32x4(all, r, 2), s, 3);
    return _mm512_permutexvar_epi8(_mm512_loadu_si512(ORDER), all);
}

WITH_BYTES static inline __m128i sixteen(const uint8_t *x)
{
    return _mm_loadu_si128((const __m128i *)(const void *)x);
}

/* A group of terms of as many lines as two panels have, which lie side by side; `apart`: bytes from panel to panel.
 * They are read term after term, since those far from each other share places of the first cache. */
WITH_BYTES static void pack_two(uint8_t *to, size_t apart, const uint8_t *x, size_t term)
{
    for (size_t t = 0; t < SIDE; t++, x += 4 * term, to += TP_BYTES)
#pragma GCC unroll 4
        for (size_t part = 0; part < 4; part++) {
            const uint8_t *p = x + part * SIDE;
            _mm512_store_si512(to + part / 2 * apart + part % 2 * STEP,
                               join(sixteen(p), sixteen(p + term), sixteen(p + 2 * term), sixteen(p + 3 * term)));
        }
}

/* Four terms, or as many as are there, of up to 16 lines that lie side by side. */
WITH_BYTES static inline __m512i load_quads(const uint8_t *x, size_t term, __mmask16 lines, size_t terms)
{
    __m128i v[4];
    for (size_t t = 0; t < 4; t++)
        v[t] = t < terms ? _mm_maskz_loadu_epi8(lines, x + t * term) : _mm_setzero_si128();
    return join(v[0], v[1], v[2], v[3]);
}

/* Up to 16 lines of a group of up to TP_BYTES terms. `turned`: the rows of the tile are quads of terms. */
WITH_BYTES static void pack_bytes_tile(uint8_t *to, const uint8_t *x, tp_steps s, size_t lines, size_t terms,
                                       bool turned)
{
    const size_t line = s.row, term = s.column;
    const bool by_terms = line == 1 && term != 1;
    const __mmask64 there = terms >= TP_BYTES ? UINT64_MAX : (UINT64_C(1) << terms) - 1;
    __m512i v[SIDE];
    for (size_t q = 0; q < SIDE; q++) {
        uint8_t row[TP_BYTES] = {0};
        v[q] = _mm512_setzero_si512();
        if (by_terms && 4 * q < terms)
            v[q] = load_quads(x + 4 * q * term, term, (__mmask16)first(lines), terms - 4 * q);
        else if (!by_terms && term == 1 && q < lines)
            v[q] = _mm512_maskz_loadu_epi8(there, x + q * line);
        for (size_t t = 0; !by_terms && term != 1 && q < lines && t < terms; t++)
            row[t] = x[q * line + t * term];
        if (!by_terms && term != 1)
            v[q] = _mm512_loadu_si512(row);
    }
    if (turned != by_terms)
        turn_tile(v);
    for (size_t q = 0; q < SIDE; q++)
        _mm512_store_si512(to + q * TP_BYTES, v[q]);
}

static void pack_bytes(uint8_t *to, const uint8_t *x, tp_steps s, size_t lines, size_t k, bool turned)
{
    const size_t apart = in_parts(k, TP_BYTES) * 2 * STEP; /* panels */
    for (size_t t = 0; t < k; t += TP_BYTES, x += TP_BYTES * s.column, to += 2 * STEP) {
        const size_t terms = least(k - t, TP_BYTES);
        size_t i = 0;
        for (; turned && s.row == 1 && s.column != 1 && terms == TP_BYTES && lines - i >= 2 * BLOCK; i += 2 * BLOCK)
            pack_two(to + i / BLOCK * apart, apart, x + i, s.column);
        for (; i < lines; i += SIDE)
            pack_bytes_tile(to + i / BLOCK * apart + i % BLOCK / SIDE * STEP, x + i * s.row, s, least(lines - i, SIDE),
                            terms, turned);
    }
}

/* BLOCK rows of a, of some groups: so many bytes from row to row, from group to group, and to the lower half. */
typedef struct rows_of_bytes {
    const uint8_t *at;
    size_t groups, row, group, half;
} rows_of_bytes;

/* sum += x y of tiles. */
#define MULTIPLY_BYTES(is_signed, sum, x, y)                                                                           \
    do {                                                                                                               \
        if ((is_signed).a && (is_signed).b)                                                                            \
            _tile_dpbssd(sum, x, y);                                                                                   \
        else if ((is_signed).a)                                                                                        \
            _tile_dpbsud(sum, x, y);                                                                                   \
        else if ((is_signed).b)                                                                                        \
            _tile_dpbusd(sum, x, y);                                                                                   \
        else                                                                                                           \
            _tile_dpbuud(sum, x, y);                                                                                   \
    } while (0)

#define WITH_TILES_OF_BYTES __attribute__((target("amx-tile,amx-int8")))

/* Products of some groups of a block and a panel of b; `low`, `right`: are there more than half as many rows, columns?
 */
WITH_TILES_OF_BYTES static inline __attribute__((always_inline)) void
add_groups(tp_signs is_signed, rows_of_bytes a, const uint8_t *b, bool low, bool right, beside other)
{
    for (size_t t = 0; t < a.groups; t++, a.at += a.group, b += 2 * STEP) {
        tp_ahead_ask(other.ahead, other.lines);
        _tile_loadd(4, a.at, a.row);
        _tile_loadd(6, b, TP_BYTES);
        MULTIPLY_BYTES(is_signed, 0, 4, 6);
        if (right) {
            _tile_loadd(7, b + STEP, TP_BYTES);
            MULTIPLY_BYTES(is_signed, 1, 4, 7);
        }
        if (low) {
            _tile_loadd(5, a.at + a.half, a.row);
            MULTIPLY_BYTES(is_signed, 2, 5, 6);
        }
        if (low && right)
            MULTIPLY_BYTES(is_signed, 3, 5, 7);
    }
}

/* Sums of a block, rows so many bytes apart, to tiles and back. */
WITH_TILES_OF_BYTES static inline void load_sums(const uint32_t *from, size_t stride, bool low, bool right)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (!from)
        return;
    const uint32_t *below = from + SIDE * (stride / sizeof *from);
    _tile_loadd(0, from, stride);
    if (right)
        _tile_loadd(1, from + SIDE, stride);
    if (low)
        _tile_loadd(2, below, stride);
    if (low && right)
        _tile_loadd(3, below + SIDE, stride);
}

WITH_TILES_OF_BYTES static inline void store_sums(uint32_t *to, size_t stride, bool low, bool right)
{
    uint32_t *below = to + SIDE * (stride / sizeof *to);
    _tile_stored(0, to, stride);
    if (right)
        _tile_stored(1, to + SIDE, stride);
    if (low)
        _tile_stored(2, below, stride);
    if (low && right)
        _tile_stored(3, below + SIDE, stride);
}

/* to = from + the products of rows that lie in two places and a panel of b. */
WITH_TILES_OF_BYTES static void block_of_bytes(tp_signs is_signed, const rows_of_bytes *a, const rows_of_bytes *others,
                                               const uint8_t *b, const uint32_t *from, uint32_t *to, size_t stride,
                                               bool low, bool right, beside other)
{
    load_sums(from, stride, low, right);
    add_groups(is_signed, *a, b, low, right, other);
    add_groups(is_signed, *others, b + a->groups * 2 * STEP, low, right, other);
    store_sums(to, stride, low, right);
}

void tp_multiply_bytes_amx(size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa, const uint8_t *b, tp_steps sb,
                           tp_signs is_signed, uint32_t *r, const uint32_t *base, uint32_t *onto, tp_ahead *ahead,
                           void *room, tp_panels *panels)
{
    const size_t groups = in_parts(k, TP_BYTES), there = sa.column == 1 ? k / TP_BYTES : 0, others = groups - there,
                 blocks = in_parts(m, BLOCK) * in_parts(n, BLOCK), stride = n * sizeof *r;
    tp_ahead nothing = {.n = 0};
    const beside other = beside_groups(ahead ? ahead : &nothing, blocks * groups);
    uint8_t *own = (uint8_t *)(((uintptr_t)room + TP_AHEAD_LINE - 1) / TP_AHEAD_LINE * TP_AHEAD_LINE),
            *y = panels ? panels->at : own, *x = own + tp_bytes_panels(n, k);
    size_t high = 0, wide = 0; /* of the block that tiles have the shape of */
    if (!panels || !panels->filled)
        pack_bytes(y, b, (tp_steps){sb.column, sb.row}, n, k, true);
    if (panels)
        panels->filled = true;
    pack_bytes(x, a + there * TP_BYTES * sa.column, sa, m, k - there * TP_BYTES, false);
    is_there(y);
    for (size_t i = 0; i < m; i += BLOCK)
        for (size_t j = 0; j < n; j += BLOCK) {
            const rows_of_bytes rows = {a + i * sa.row, there, sa.row, TP_BYTES, SIDE * sa.row},
                                packed = {x + i / BLOCK * others * 2 * STEP, others, TP_BYTES, 2 * STEP, STEP};
            const uint8_t *panel = y + j / BLOCK * groups * 2 * STEP;
            if (high != least(m - i, BLOCK) || wide != least(n - j, BLOCK)) {
                high = least(m - i, BLOCK);
                wide = least(n - j, BLOCK);
                shape(high, wide);
            }
            block_of_bytes(is_signed, &rows, &packed, panel, onto ? base + i * n + j : NULL,
                           (onto ? onto : r) + i * n + j, stride, high > SIDE, wide > SIDE, other);
        }
    if (high)
        release();
}

/* ---- bfloat16 ---- */

/* Operands are packed to panels of BLOCK lines: rows of a, columns of b. Of each TP_GROUP terms of a panel there are
 * two tiles, of its first lines and of the others, without gaps; 0s where there are no lines or no terms. A word has
 * two terms. Words of a row are those of a line in a, of a pair of terms in b.
 *
 * The tiles take and give 0 for what is subnormal, as no other instruction here does. So a panel is asked for
 * the least exponents of its numbers. Let all numbers of a panel of a that are not 0 be at least 2^x, and those of one
 * of b at least 2^y, and -126 <= x, y. A bfloat16 of at least 2^x is a multiple of 2^(x - 7), so each product is a
 * multiple of q = 2^(x + y - 14). So is each sum of a product or sum and a multiple of q, exactly; and rounded, for a
 * float32 that is next to a multiple of q is either that or has a last place above q. If q >= 2^-126, what is not 0 is
 * not subnormal, and nothing is rounded otherwise than by IEEE 754. With exponents as they are stored (127 more), x + y
 * - 14 >= -126 reads X + Y >= 142. Sums that overflow, infinities and NaN are those of IEEE 754. */
enum { PAIR = 2 * TILE, LEAST_EXPONENTS = 142, DEPTH = 16 /* groups */ };

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

/* Up to 16 pairs of terms of which up to 32 lines lie side by side: v of the first 16, w of the others. */
WITH_AVX512 static inline void load_terms(__m512i v[SIDE], __m512i w[SIDE], const tp_bfloat *x, size_t step,
                                          size_t lines, size_t terms)
{
    static const uint16_t LOW[TP_GROUP] = {0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                           8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    const __m512i low = _mm512_loadu_si512(LOW), high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
    const __mmask32 there = first(lines);
    for (size_t p = 0; p < SIDE; p++, x += 2 * step) {
        __m512i even = 2 * p < terms ? _mm512_maskz_loadu_epi16(there, x) : _mm512_setzero_si512(),
                odd = 2 * p + 1 < terms ? _mm512_maskz_loadu_epi16(there, x + step) : _mm512_setzero_si512();
        v[p] = _mm512_permutex2var_epi16(even, low, odd);
        w[p] = _mm512_permutex2var_epi16(even, high, odd);
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

/* One panel, and its least exponent; the lines and terms of x are so many elements apart. `turned`: the rows of a tile
 * are pairs of terms. */
WITH_AVX512 static uint32_t pack_panel(tp_pair *to, const tp_bfloat *x, size_t line, size_t term, size_t lines,
                                       size_t k, bool turned)
{
    __m512i seen = _mm512_set1_epi16(-1);
    const bool by_terms = term != 1 && line == 1;
    for (size_t t = 0; t < k; t += TP_GROUP, to += PAIR, x += TP_GROUP * term) {
        const size_t terms = least(k - t, TP_GROUP), low = lines > SIDE ? lines - SIDE : 0;
        __m512i v[SIDE], w[SIDE];
        if (by_terms) {
            load_terms(v, w, x, term, lines, terms);
        } else if (term == 1) {
            load_lines(v, x, line, lines, terms);
            if (low)
                load_lines(w, x + SIDE * line, line, low, terms);
        } else {
            load_any(v, x, line, term, lines, terms);
            load_any(w, x + SIDE * line, line, term, low, terms);
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

/* Are the tiles' sums of these those of IEEE 754? */
static inline bool fit(uint32_t x, uint32_t y)
{
    return x && y && x + y >= LEAST_EXPONENTS;
}

/* A part of a matrix, or a copy of it: rows are so many elements apart. NULL: 0s. */
typedef struct part_of {
    float *at;
    size_t pitch;
} part_of;

/* to = from + the products of some groups of a panel of a and one of b, BLOCK x BLOCK sums. `low`, `right`: are there
 * more than half as many rows, columns? */
__attribute__((target("amx-tile,amx-bf16"))) static void
sums(const tp_pair *a, const tp_pair *b, size_t groups, bool low, bool right, part_of from, part_of to, beside other)
{
    const size_t stride = from.pitch * sizeof(float), of_to = to.pitch * sizeof(float);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (from.at) {
        _tile_loadd(0, from.at, stride);
        _tile_loadd(1, from.at + SIDE, stride);
        _tile_loadd(2, from.at + SIDE * from.pitch, stride);
        _tile_loadd(3, from.at + SIDE * from.pitch + SIDE, stride);
    }
    for (size_t t = 0; t < groups; t++, a += PAIR, b += PAIR) {
        tp_ahead_ask(other.ahead, other.lines);
        _tile_loadd(4, a, SIDE * sizeof *a);
        _tile_loadd(6, b, SIDE * sizeof *b);
        _tile_dpbf16ps(0, 4, 6);
        if (right) {
            _tile_loadd(7, b + TILE, SIDE * sizeof *b);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (low) {
            _tile_loadd(5, a + TILE, SIDE * sizeof *a);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (low && right)
            _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, to.at, of_to);
    _tile_stored(1, to.at + SIDE, of_to);
    _tile_stored(2, to.at + SIDE * to.pitch, of_to);
    _tile_stored(3, to.at + SIDE * to.pitch + SIDE, of_to);
}

/* Rows of a group of a: the low halves of words and the high ones, one after the other. */
WITH_AVX512 static void widen_rows(const tp_pair *from, size_t rows, tp_widened *to)
{
    const __m512i first_half = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
                  second_half = _mm512_add_epi32(first_half, _mm512_set1_epi32(8));
    for (size_t i = 0; i < rows; i++, from += SIDE, to += TP_GROUP) {
        const __m512i w = _mm512_load_si512(from), even = _mm512_slli_epi32(w, 16),
                      odd = _mm512_and_si512(w, _mm512_set1_epi32((int)0xffff0000));
        _mm512_storeu_si512(to, _mm512_permutex2var_epi32(even, first_half, odd));
        _mm512_storeu_si512(to + SIDE, _mm512_permutex2var_epi32(even, second_half, odd));
    }
}

/* ... of b, in which a row is one of pairs of terms. */
WITH_AVX512 static void widen_terms(const tp_pair *from, size_t terms, tp_widened *to)
{
    for (size_t q = 0; q < terms; q += 2, from += SIDE, to += 2 * BLOCK)
        for (size_t side = 0; side < 2; side++) {
            const __m512i w = _mm512_load_si512(from + side * TILE);
            _mm512_storeu_si512(to + side * SIDE, _mm512_slli_epi32(w, 16));
            _mm512_storeu_si512(to + BLOCK + side * SIDE, _mm512_and_si512(w, _mm512_set1_epi32((int)0xffff0000)));
        }
}

/* The same of all terms, without tiles. */
static void other_sums(const tp_pair *a, const tp_pair *b, size_t k, size_t high, size_t wide, float *to,
                       tp_multiply_floats *widened)
{
    tp_widened x[BLOCK * TP_GROUP], y[TP_GROUP * BLOCK], part[BLOCK * BLOCK], sum[BLOCK * BLOCK] = {0};
    for (size_t t = 0; t < k; t += TP_GROUP, a += PAIR, b += PAIR) {
        const size_t terms = least(k - t, TP_GROUP);
        widen_rows(a, high, x);
        widen_terms(b, terms, y);
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
                   bool turned)
{
    const size_t pairs = in_parts(k, TP_GROUP) * PAIR;
    tp_pair *at = kept ? kept->at : room;
    const packed p = {at, at + in_parts(lines, BLOCK) * pairs};
    for (size_t i = 0; i < lines && !(kept && kept->filled); i += BLOCK)
        p.least[i / BLOCK] =
            pack_panel(at + i / BLOCK * pairs, x + i * line, line, term, least(lines - i, BLOCK), k, turned);
    if (kept)
        kept->filled = true;
    return p;
}

void tp_multiply_bfloats_amx(size_t m, size_t n, size_t k, const tp_bfloat *a, tp_steps sa, const tp_bfloat *b,
                             tp_steps sb, float *r, const float *base, float *onto, tp_ahead *ahead, void *room,
                             tp_panels *rows, tp_panels *panels, tp_multiply_floats *widened)
{
    _Alignas(64) float block[BLOCK * BLOCK] = {0};
    const size_t groups = in_parts(k, TP_GROUP), blocks = in_parts(m, BLOCK) * in_parts(n, BLOCK);
    tp_ahead nothing = {.n = 0};
    const beside other = beside_groups(ahead ? ahead : &nothing, blocks * groups);
    const part_of none = {NULL, 0};
    char *own = (char *)(((uintptr_t)room + TP_AHEAD_LINE - 1) / TP_AHEAD_LINE * TP_AHEAD_LINE);
    const packed x = pack(own, rows, a, sa.row, sa.column, m, k, false),
                 y = pack(own + tp_bfloats_panels(m, k), panels, b, sb.column, sb.row, n, k, true);
    is_there(own);
    shape(BLOCK, BLOCK);
    for (size_t t = 0, some; t == 0 || t < groups; t += some) {
        some = least(groups - t, DEPTH);
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
                    other_sums(p - t * PAIR, q - t * PAIR, k, high, wide, block, widened);
                } else {
                    if (from.at == block)
                        get_block(block, high, wide, r + at, n);
                    is_there(block);
                    sums(p, q, some, high > SIDE, wide > SIDE, from, to, other);
                }
                if (!fits || to.at == block)
                    put_block(block, high, wide, (last && onto ? onto : r) + at, last && onto ? base + at : NULL, n);
            }
        if (!groups)
            break;
    }
    release();
}
#else
bool tp_has_amx(void)
{
    return false;
}

void tp_multiply_bytes_amx(size_t m, size_t n, size_t k, const uint8_t *a, tp_steps sa, const uint8_t *b, tp_steps sb,
                           tp_signs is_signed, uint32_t *r, const uint32_t *base, uint32_t *onto, tp_ahead *ahead,
                           void *room, tp_panels *panels)
{
    (void)m, (void)n, (void)k, (void)a, (void)sa, (void)b, (void)sb, (void)is_signed, (void)r, (void)base, (void)onto;
    (void)ahead, (void)room, (void)panels;
}

size_t tp_bfloats_panels(size_t lines, size_t k)
{
    return (void)lines, (void)k, (size_t)0;
}

size_t tp_bfloats_room(size_t m, size_t n, size_t k)
{
    return (void)m, (void)n, (void)k, (size_t)0;
}

void tp_multiply_bfloats_amx(size_t m, size_t n, size_t k, const tp_bfloat *a, tp_steps sa, const tp_bfloat *b,
                             tp_steps sb, float *r, const float *base, float *onto, tp_ahead *ahead, void *room,
                             tp_panels *rows, tp_panels *panels, tp_multiply_floats *widened)
{
    (void)m, (void)n, (void)k, (void)a, (void)sa, (void)b, (void)sb, (void)r, (void)base, (void)onto, (void)ahead;
    (void)room, (void)rows, (void)panels, (void)widened;
}
#endif
