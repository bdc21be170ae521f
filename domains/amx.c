#define _GNU_SOURCE
#include "domains/amx.h"

#include "base/processors.h"

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
    AMX_TILE = 1 << 24,     /* of edx of leaf 7 */
    AMX_INT8 = 1 << 25,
    SIDE = 16,       /* rows of a tile, and words of a row */
    BLOCK = 2 * SIDE /* of sums: four tiles, for two of a and two of b */
};

static bool ask(void)
{
    unsigned a, b, c, d;
    return tp_has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX_TILE) && (d & AMX_INT8) &&
           syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
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

/* What was stored to p is there: the compiler does not know that these instructions look at memory. */
static inline void is_there(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

typedef struct tile_of {
    const tp_quad *at;
    size_t stride; /* bytes */
} tile_of;

/* Rows and columns that lie in memory as a tile wants them, or in `room`, with 0s behind. */
static tile_of part(const tp_quad *x, tp_steps s, size_t rows, size_t columns, bool whole, tp_quad *room)
{
    if (whole && s.column == 1)
        return (tile_of){x, s.row * sizeof *x};
    memset(room, 0, SIDE * SIDE * sizeof *room);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            room[i * SIDE + j] = x[i * s.row + j * s.column];
    is_there(room);
    return (tile_of){room, SIDE * sizeof *room};
}

static inline size_t least(size_t x, size_t y)
{
    return x < y ? x : y;
}

enum { SUM, RIGHT, BELOW, BOTH, A_TOP, A_LOW, B_LEFT, B_RIGHT }; /* tiles: 0 to 7 */

/* to[high][wide] = from[high][wide] + a[high][k] b[k][wide], of at most BLOCK rows and columns; rows of `from`, NULL:
 * 0, and of `to` are so many bytes apart. */
__attribute__((target("amx-tile,amx-int8"))) static void block(size_t high, size_t wide, size_t k, const tp_quad *a,
                                                               tp_steps sa, const tp_quad *b, tp_steps sb,
                                                               const tp_quad *from, tp_quad *to, size_t stride)
{
    tp_quad room[4][SIDE * SIDE];
    const size_t top = least(high, SIDE), low = high - top, left = least(wide, SIDE), right = wide - left,
                 below = SIDE * (stride / sizeof *to);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    if (from)
        _tile_loadd(0, from, stride);
    if (from && right)
        _tile_loadd(1, from + SIDE, stride);
    if (from && low)
        _tile_loadd(2, from + below, stride);
    if (from && low && right)
        _tile_loadd(3, from + below + SIDE, stride);
    for (size_t t = 0, some; t < k; t += some) {
        some = least(k - t, SIDE);
        const tp_quad *x = a + t * sa.column, *y = b + t * sb.row;
        tile_of p = part(x, sa, top, some, some == SIDE, room[0]), q = part(y, sb, some, left, some == SIDE, room[1]);
        _tile_loadd(4, p.at, p.stride);
        _tile_loadd(6, q.at, q.stride);
        _tile_dpbusd(0, 4, 6);
        if (right) {
            q = part(y + SIDE * sb.column, sb, some, right, some == SIDE, room[2]);
            _tile_loadd(7, q.at, q.stride);
            _tile_dpbusd(1, 4, 7);
        }
        if (low) {
            p = part(x + SIDE * sa.row, sa, low, some, some == SIDE, room[3]);
            _tile_loadd(5, p.at, p.stride);
            _tile_dpbusd(2, 5, 6);
        }
        if (low && right)
            _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, to, stride);
    if (right)
        _tile_stored(1, to + SIDE, stride);
    if (low)
        _tile_stored(2, to + below, stride);
    if (low && right)
        _tile_stored(3, to + below + SIDE, stride);
}

/* Tiles of a block of so many rows and columns; what is not there has one of each, and is not used. */
__attribute__((target("amx-tile"))) static void shape(size_t high, size_t wide)
{
    const size_t rows[] = {least(high, SIDE), high > SIDE ? high - SIDE : 1},
                 words[] = {least(wide, SIDE), wide > SIDE ? wide - SIDE : 1};
    shapes s = {.palette = 1};
    for (size_t t = SUM; t <= B_RIGHT; t++) {
        size_t below = t < A_TOP ? t / 2 : t - A_TOP, beside = t < A_TOP ? t % 2 : t - B_LEFT;
        s.rows[t] = (uint8_t)(t < B_LEFT ? rows[below] : SIDE);
        s.bytes[t] = (uint16_t)(sizeof(tp_quad) * (t < A_TOP || t >= B_LEFT ? words[beside] : SIDE));
    }
    is_there(&s);
    _tile_loadconfig(&s);
}

__attribute__((target("amx-tile"))) static void release(void)
{
    _tile_release();
}

void tp_multiply_quads_amx(size_t m, size_t n, size_t k, const tp_quad *a, tp_steps sa, const tp_quad *b, tp_steps sb,
                           tp_quad *r, const tp_quad *base, tp_quad *onto, tp_ahead *ahead)
{
    const size_t blocks = ((m + BLOCK - 1) / BLOCK) * ((n + BLOCK - 1) / BLOCK),
                 lines = ahead && blocks ? ahead->lines / blocks + 1 : 0;
    size_t high = 0, wide = 0; /* of the block that tiles have the shape of */
    for (size_t i = 0; i < m; i += BLOCK)
        for (size_t j = 0; j < n; j += BLOCK) {
            if (high != least(m - i, BLOCK) || wide != least(n - j, BLOCK)) {
                high = least(m - i, BLOCK);
                wide = least(n - j, BLOCK);
                shape(high, wide);
            }
            if (ahead)
                tp_ahead_ask(ahead, lines);
            const size_t at = i * n + j;
            block(high, wide, k, a + i * sa.row, sa, b + j * sb.column, sb, onto ? base + at : NULL,
                  (onto ? onto : r) + at, n * sizeof *r);
        }
    if (high)
        release();
}
#else
bool tp_has_amx(void)
{
    return false;
}

void tp_multiply_quads_amx(size_t m, size_t n, size_t k, const tp_quad *a, tp_steps sa, const tp_quad *b, tp_steps sb,
                           tp_quad *r, const tp_quad *base, tp_quad *onto, tp_ahead *ahead)
{
    (void)m, (void)n, (void)k, (void)a, (void)sa, (void)b, (void)sb, (void)r, (void)base, (void)onto, (void)ahead;
}
#endif
