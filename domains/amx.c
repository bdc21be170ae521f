#define _GNU_SOURCE
#include "domains/amx.h"

#include "base/processors.h"
#include "domains/bytes.h"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__linux__)
#include <cpuid.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "domains/blocks.h"

enum {
    ASK_FOR_STATE = 0x1023, /* ARCH_REQ_XCOMP_PERM: Linux, Documentation/arch/x86/xstate.rst */
    TILE_DATA = 18,         /* number of that state; Intel SDM 1, 13.5.15 */
    AMX_BF16 = 1 << 22,     /* of edx of leaf 7 */
    AMX_TILE = 1 << 24,
    AMX_INT8 = 1 << 25
};

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

__attribute__((target("amx-tile,amx-bf16"))) static void sums_of_tiles(const tp_pair *a, const tp_pair *b,
                                                                       size_t groups, size_t high, size_t wide,
                                                                       part_of from, part_of to, beside other)
{
    const bool low = high > SIDE, right = wide > SIDE;
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

/* Tiles of whole blocks, for all of a product. */
static void begin_blocks(void)
{
    shape(BLOCK, BLOCK);
}

const tp_bfloat_blocks TP_BFLOAT_TILES = {.depth = 16, .begin = begin_blocks, .sums = sums_of_tiles, .end = release};
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

#if defined(__x86_64__) && defined(__GNUC__)
const tp_bfloat_blocks TP_BFLOAT_TILES = {.depth = 0};
#endif
#endif
