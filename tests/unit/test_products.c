/* Products of bfloat16: every instruction set gives the bits of their documented order (domains/multiply.h) on numbers
 * of any magnitude, subnormal, infinite and NaN ones beside others; those of 8-bit integers are exact modulo 2^32,
 * signed or not; and no product looks at memory that is not of its operands, which the sanitizer does not see of
 * instructions for tiles. The seed is printed when one fails. */
#define _GNU_SOURCE
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/rng.h"
#include "domains/multiply.h"
#include "tests/unit/support.h"

typedef struct shape {
    size_t m, n, k;
} shape;

static float widen(tp_bfloat b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void *filled(size_t n, size_t size, int with)
{
    return memset(malloc((n + 1) * size), with, (n + 1) * size);
}

/* Groups of 32 terms; in each the even ones and the odd ones. */
static float plain_element(size_t k, const tp_bfloat *row, const tp_bfloat *column, size_t step)
{
    volatile float r = 0;
    for (size_t t = 0; t < k;) {
        volatile float sum[2] = {0, 0}, both;
        for (size_t end = t + 32 < k ? t + 32 : k; t < end; t++)
            sum[t % 2] = fmaf(widen(row[t]), widen(column[t * step]), sum[t % 2]);
        both = sum[0] + sum[1];
        r = r + both;
    }
    return r;
}

static void plain(shape s, const tp_bfloat *a, const tp_bfloat *b, float *r)
{
    for (size_t i = 0; i < s.m * s.n; i++)
        r[i] = plain_element(s.k, a + i / s.n * s.k, b + i % s.n, s.n);
}

/* Exponents as they are stored, from `least` on, of b more; the bits of fractions; and of 4096 numbers so many that
 * have any bits at all, and that are infinite or NaN. One of 16 is 0. */
typedef struct magnitudes {
    const char *what;
    unsigned least, count, more, fraction, odd, infinite;
} magnitudes;

static const magnitudes MAGNITUDES[] = {
    {"near 1", 120, 10, 0, 0x7f, 0, 0},
    {"last places of products from 2^-126 on", 71, 1, 0, 1, 0, 0},
    {"last places of products from 2^-127 on", 70, 1, 1, 1, 0, 0},
    {"products near 2^-126", 67, 4, 0, 0x7f, 0, 0},
    {"products less than 2^-126", 50, 30, 0, 0x7f, 0, 0},
    {"subnormal", 0, 2, 0, 0x7f, 0, 0},
    {"subnormal by large", 0, 1, 200, 0x7f, 0, 0},
    {"sums that overflow", 190, 5, 0, 0x7f, 0, 0},
    {"infinite and NaN", 120, 10, 0, 0x7f, 0, 8},
    {"any", 0, 256, 0, 0x7f, 4096, 0},
    {"some are any", 120, 8, 0, 0x7f, 2, 0},
    {"more of them are any", 80, 16, 0, 0x7f, 40, 0},
};

static tp_bfloat drawn(tp_rng *rng, const magnitudes *m, bool of_b)
{
    uint64_t bits = tp_rng_next(rng);
    unsigned of_4096 = (unsigned)(bits >> 32 & 4095), exponent = (unsigned)(bits >> 20 & 0xfff) % m->count;
    exponent += m->least + (of_b ? m->more : 0);
    if (of_4096 < m->odd)
        return (tp_bfloat)bits;
    if (of_4096 < m->infinite)
        return (tp_bfloat)(of_4096 % 2 ? bits | 0x7f80 : (bits & 0x8000) | 0x7f80);
    if ((bits >> 48) % 16 == 0)
        return (tp_bfloat)(bits & 0x8000);
    return (tp_bfloat)((bits & (0x8000 | m->fraction)) | exponent << 7);
}

static shape random_shape(tp_rng *rng)
{
    static const size_t DEPTHS[] = {0, 1, 2, 31, 32, 33, 64, 255, 256, 257, 511, 512, 513, 1040};
    size_t k = tp_rng_below(rng, 2) ? tp_rng_below(rng, 100) : DEPTHS[tp_rng_below(rng, 14)];
    if (tp_rng_below(rng, 8) == 0)
        return (shape){1, 1 + tp_rng_below(rng, 400), k};
    return (shape){tp_rng_below(rng, 80), 1 + tp_rng_below(rng, 80), k};
}

static bool is_same(float x, float y)
{
    return memcmp(&x, &y, sizeof x) == 0 || (x != x && y != y); /* which NaN it is, is nowhere said */
}

/* How an operand lies: in rows with a gap, in columns, or with gaps everywhere. */
static tp_bfloat *laid(const tp_bfloat *x, size_t rows, size_t columns, unsigned way, tp_steps *s)
{
    *s = way == 0 ? (tp_steps){columns + 3, 1} : way == 1 ? (tp_steps){1, rows + 5} : (tp_steps){2 * columns + 1, 2};
    tp_bfloat *to = filled((rows + 1) * (2 * columns + 2) + 6 * (columns + 1), sizeof *to, 0xff);
    for (size_t i = 0; i < rows * columns; i++)
        to[i / columns * s->row + i % columns * s->column] = x[i];
    return to;
}

static void check(const tp_multiplier *by, shape s, const magnitudes *what, tp_rng *rng, unsigned round)
{
    tp_bfloat *a = filled(s.m * s.k, sizeof *a, 0), *b = filled(s.k * s.n, sizeof *b, 0);
    float *want = filled(s.m * s.n, sizeof *want, 0), *base = filled(s.m * s.n, sizeof *base, 0),
          *got = filled(s.m * s.n, sizeof *got, 0xff), *onto = filled(s.m * s.n, sizeof *onto, 0xff);
    for (size_t i = 0; i < s.m * s.k; i++)
        a[i] = drawn(rng, what, false);
    for (size_t i = 0; i < s.k * s.n; i++)
        b[i] = drawn(rng, what, true);
    plain(s, a, b, want);
    for (size_t i = 0; i < s.m * s.n; i++) /* of the magnitude of the sums, so that they meet */
        base[i] = want[i] * (float)((int)tp_rng_below(rng, 5) - 2) + (tp_rng_below(rng, 2) ? 0 : 0x1p-149F);
    for (unsigned way = 0; way < 3; way++)
        for (unsigned adds = 0; adds < 3; adds++) { /* 2: in place */
            tp_steps sa, sb;
            tp_bfloat *x = laid(a, s.m, s.k, way, &sa), *y = laid(b, s.k, s.n, (way + adds) % 3, &sb);
            float *to = adds == 2 ? filled(s.m * s.n, sizeof *to, 0) : onto, *wide_x = filled(s.m * s.k, 4, 0),
                  *wide_y = filled(s.k * s.n, 4, 0);
            void *room = filled(tp_bfloats_room(s.m, s.n, s.k), 1, 0xff);
            if (adds == 2)
                memcpy(to, base, s.m * s.n * sizeof *to);
            for (size_t i = 0; i < s.m * s.k; i++)
                wide_x[i] = widen(a[i]);
            for (size_t i = 0; i < s.k * s.n; i++)
                wide_y[i] = widen(b[i]);
            if (by->bfloats)
                by->bfloats(s.m, s.n, s.k, x, sa, y, sb, got, adds == 2 ? to : base, adds ? to : NULL, NULL, room, NULL,
                            NULL);
            else
                by->widened(s.m, s.n, s.k, wide_x, (tp_steps){s.k, 1}, wide_y, (tp_steps){s.n, 1}, got,
                            adds == 2 ? to : base, adds ? to : NULL, NULL, NULL);
            for (size_t i = 0; i < s.m * s.n; i++) {
                float w = adds ? base[i] + want[i] : want[i], g = adds ? to[i] : got[i];
                if (!is_same(w, g))
                    fail_msg("%s by %s (%s): element %zu of %zu x %zu x %zu is %a, not %a; ways %u, %u, seed %u",
                             what->what, by->name, by->bfloats_by, i, s.m, s.n, s.k, (double)g, (double)w, way, adds,
                             round);
            }
            free(x), free(y), free(wide_x), free(wide_y), free(room);
            if (adds == 2)
                free(to);
        }
    free(a), free(b), free(want), free(base), free(got), free(onto);
}

/* Each set that runs here, and so many rounds, of which each has its own numbers. */
static void by_each_set(unsigned rounds, uint64_t stream,
                        void (*one)(const tp_multiplier *by, tp_rng *rng, unsigned round))
{
    size_t n;
    const tp_multiplier *all = tp_multipliers(&n);
    for (const tp_multiplier *by = all; by < all + n; by++)
        for (unsigned round = 0; by->runs_here() && round < rounds; round++) {
            tp_rng rng = tp_rng_new(round, stream);
            one(by, &rng, round);
        }
}

static void in_one_order(const tp_multiplier *by, tp_rng *rng, unsigned round)
{
    shape s = random_shape(rng);
    check(by, s, &MAGNITUDES[round % (sizeof MAGNITUDES / sizeof *MAGNITUDES)], rng, round);
}

static void bfloat16_is_summed_in_one_order(void **state)
{
    (void)state;
    by_each_set(400, 0x62663136, in_one_order);
}

/* ---- 8-bit integers ---- */

static bool multiplies_bytes(const tp_multiplier *by)
{
    return by->bytes && by->bytes_run_here();
}

/* How a matrix of bytes lies: in rows or in columns, with a gap or without, or with gaps everywhere. */
static uint8_t *bytes_laid(const uint8_t *x, size_t rows, size_t columns, unsigned way, tp_steps *s)
{
    *s = way == 0   ? (tp_steps){columns, 1}
         : way == 1 ? (tp_steps){1, rows + 5}
         : way == 2 ? (tp_steps){columns + 3, 1}
                    : (tp_steps){2 * columns + 1, 2};
    uint8_t *to = filled((rows + 1) * (2 * columns + 2) + 6 * (columns + 1), 1, 0xff);
    for (size_t i = 0; i < rows * columns; i++)
        to[i / columns * s->row + i % columns * s->column] = x[i];
    return to;
}

static uint32_t number(uint8_t byte, bool is_signed)
{
    return is_signed ? (uint32_t)(int8_t)byte : byte;
}

static void exact(const tp_multiplier *by, tp_rng *rng, unsigned round)
{
    static const size_t SIDES[] = {16, 17, 32, 33, 64, 65, 128, 200};
    shape s = random_shape(rng);
    const tp_signs is_signed = {round & 1, round >> 1 & 1};
    const bool largest = tp_rng_below(rng, 3) == 0; /* ... of all magnitudes */
    if (!multiplies_bytes(by))
        return;
    if (tp_rng_below(rng, 3) == 0)
        s.n = SIDES[tp_rng_below(rng, 8)];
    if (tp_rng_below(rng, 3) == 0)
        s.m = SIDES[tp_rng_below(rng, 8)];
    uint8_t *a = filled(s.m * s.k, 1, 0), *b = filled(s.k * s.n, 1, 0);
    uint32_t *want = filled(s.m * s.n, 4, 0), *base = filled(s.m * s.n, 4, 0), *got = filled(s.m * s.n, 4, 0xff),
             *onto = filled(s.m * s.n, 4, 0xff);
    for (size_t i = 0; i < s.m * s.k; i++)
        a[i] = largest ? (is_signed.a ? 0x80 : 0xff) : (uint8_t)tp_rng_next(rng);
    for (size_t i = 0; i < s.k * s.n; i++)
        b[i] = largest ? (is_signed.b ? 0x80 : 0xff) : (uint8_t)tp_rng_next(rng);
    for (size_t i = 0; i < s.m * s.n; i++) {
        for (size_t t = 0; t < s.k; t++)
            want[i] += number(a[i / s.n * s.k + t], is_signed.a) * number(b[t * s.n + i % s.n], is_signed.b);
        base[i] = (uint32_t)tp_rng_next(rng);
    }
    for (unsigned way = 0; way < 4; way++)
        for (unsigned adds = 0; adds < 3; adds++) { /* 2: in place */
            tp_steps sa, sb;
            uint8_t *x = bytes_laid(a, s.m, s.k, way, &sa), *y = bytes_laid(b, s.k, s.n, (way + adds) % 4, &sb);
            uint32_t *to = adds == 2 ? filled(s.m * s.n, 4, 0) : onto;
            void *room = filled(tp_bytes_room(s.m, s.n, s.k), 1, 0xff);
            if (adds == 2)
                memcpy(to, base, s.m * s.n * sizeof *to);
            by->bytes(s.m, s.n, s.k, x, sa, y, sb, is_signed, got, adds == 2 ? to : base, adds ? to : NULL, NULL, room,
                      NULL);
            for (size_t i = 0; i < s.m * s.n; i++) {
                uint32_t w = adds ? base[i] + want[i] : want[i], g = adds ? to[i] : got[i];
                if (w != g)
                    fail_msg("by %s: element %zu of %zu x %zu x %zu is %x, not %x; ways %u, %u, round %u", by->bytes_by,
                             i, s.m, s.n, s.k, g, w, way, adds, round);
            }
            free(x), free(y), free(room);
            if (adds == 2)
                free(to);
        }
    free(a), free(b), free(want), free(base), free(got), free(onto);
}

static void integers_are_summed_exactly(void **state)
{
    (void)state;
    by_each_set(600, 0x696e7438, exact);
}

/* ---- at the end of memory, and at its begin ---- */

typedef struct fenced {
    char *map;
    size_t mapped;
    void *at;
} fenced;

/* `bytes` between two pages that nobody may touch, next to one of them. */
static fenced fence(size_t bytes, bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page + page;
    fenced f = {.mapped = inner + 2 * page};
    f.map = mmap(NULL, f.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED && mprotect(f.map + page, inner, PROT_READ | PROT_WRITE) == 0);
    f.at = at_end ? f.map + page + inner - bytes : f.map + page;
    memset(f.at, 0, bytes);
    return f;
}

static void take_down(fenced f)
{
    munmap(f.map, f.mapped);
}

typedef enum kind { FLOATS, WIDENED, INT8, BFLOATS, KINDS } kind;

static void within_operands(const tp_multiplier *by, tp_rng *rng, unsigned round)
{
    shape s = random_shape(rng);
    kind what = (kind)(round % KINDS);
    if ((what == INT8 && !multiplies_bytes(by)) || (what == BFLOATS && !by->bfloats))
        return;
    const size_t size = what == INT8 ? 1 : what == BFLOATS ? 2 : 4, cells = s.m * s.n * 4;
    const bool at_end = tp_rng_below(rng, 4), columns_of_a = tp_rng_below(rng, 2), columns_of_b = tp_rng_below(rng, 2),
               adds = tp_rng_below(rng, 2);
    const tp_signs is_signed = {round >> 2 & 1, round >> 3 & 1};
    fenced a = fence(s.m * s.k * size, at_end), b = fence(s.k * s.n * size, at_end), r = fence(cells, at_end),
           base = fence(cells, at_end), onto = fence(cells, at_end),
           room = fence(what == BFLOATS ? tp_bfloats_room(s.m, s.n, s.k)
                        : what == INT8  ? tp_bytes_room(s.m, s.n, s.k) / 4 * 4
                                        : 1,
                        at_end);
    tp_steps sa = columns_of_a ? (tp_steps){1, s.m} : (tp_steps){s.k, 1},
             sb = columns_of_b ? (tp_steps){1, s.k} : (tp_steps){s.n, 1};
    void *to = adds ? onto.at : NULL;
    switch (what) {
    case FLOATS: by->f32(s.m, s.n, s.k, a.at, sa, b.at, sb, r.at, base.at, to, NULL, NULL); break;
    case WIDENED: by->widened(s.m, s.n, s.k, a.at, sa, b.at, sb, r.at, base.at, to, NULL, NULL); break;
    case INT8: by->bytes(s.m, s.n, s.k, a.at, sa, b.at, sb, is_signed, r.at, base.at, to, NULL, room.at, NULL); break;
    case BFLOATS: by->bfloats(s.m, s.n, s.k, a.at, sa, b.at, sb, r.at, base.at, to, NULL, room.at, NULL, NULL); break;
    case KINDS: break;
    }
    fenced used[] = {a, b, r, base, onto, room};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        take_down(used[i]);
}

static void products_stay_within_their_operands(void **state)
{
    (void)state;
    by_each_set(600, 0x66656e63, within_operands);
}

/* ---- operands that are packed once ---- */

static void fill(tp_rng *rng, float *x, size_t n)
{
    for (size_t e = 0; e < n; e++)
        x[e] = (float)((double)tp_rng_below(rng, 1 << 20) / (1 << 19) - 1);
}

/* Three products with one b, of which the first one packs it; then b is another, and nobody may tell. Of bfloat16s in
 * every other round, whose order is that of bfloat16_is_summed_in_one_order(). */
static void packed_once(const tp_multiplier *by, tp_rng *rng, unsigned round)
{
    static const size_t ROWS[] = {1, 2, 5, 12, 13, 24, 128, 140, 141, 300}, TERMS[] = {1, 7, 128, 256, 257, 600};
    const size_t m = ROWS[tp_rng_below(rng, 10)], k = TERMS[tp_rng_below(rng, 6)], n = 1 + tp_rng_below(rng, 140),
                 wide = (n + TP_WIDE - 1) / TP_WIDE * TP_WIDE;
    const bool columns_of_a = tp_rng_below(rng, 2), columns_of_b = tp_rng_below(rng, 2), adds = tp_rng_below(rng, 2);
    const size_t pitch = tp_rng_below(rng, 2) ? k : 1024; /* rows that share their places in a cache */
    tp_steps sa = columns_of_a ? (tp_steps){1, m} : (tp_steps){pitch, 1},
             sb = columns_of_b ? (tp_steps){1, k} : (tp_steps){n, 1};
    const size_t of_a = columns_of_a ? m * k : (m - 1) * pitch + k;
    fenced a = fence(of_a * 4, true), b = fence(k * n * 4, true), room = fence(wide * k * 4, true);
    fenced r = fence(m * n * 4, true), want = fence(m * n * 4, true), onto = fence(m * n * 4, true),
           base = fence(m * n * 4, true), sum = fence(m * n * 4, true);
    tp_panels panels = {room.at, false};
    const bool widened = round % 2;
    tp_multiply_floats *product = widened ? by->widened : by->f32;
    fill(rng, b.at, k * n);
    fill(rng, base.at, m * n);
    for (unsigned turn = 0; turn < 3; turn++) {
        fill(rng, a.at, of_a);
        for (size_t i = 0; i < m * n; i++) {
            float e = 0;
            for (size_t t = 0; t < k && turn == 0; t++) /* later ones: the plain product's, which is as this one */
                e = fmaf(((float *)a.at)[i / n * sa.row + t * sa.column],
                         ((float *)b.at)[t * sb.row + i % n * sb.column], e);
            ((float *)want.at)[i] = e;
            ((float *)sum.at)[i] = ((float *)base.at)[i] + e;
        }
        fenced other = fence(k * n * 4, true);
        memcpy(other.at, b.at, k * n * 4);
        if (turn || widened)
            product(m, n, k, a.at, sa, b.at, sb, want.at, NULL, NULL, NULL, NULL);
        for (size_t i = 0; (turn || widened) && i < m * n; i++)
            ((float *)sum.at)[i] = ((float *)base.at)[i] + ((float *)want.at)[i];
        for (size_t e = 0; turn && e < k * n; e++)
            ((float *)other.at)[e] = 3;
        product(m, n, k, a.at, sa, other.at, sb, r.at, base.at, adds ? onto.at : NULL, NULL, &panels);
        assert_true(panels.filled);
        if (memcmp(adds ? onto.at : r.at, adds ? sum.at : want.at, m * n * 4) != 0)
            fail_msg("%s, round %u, product %u: %zu x %zu x %zu differs", by->name, round, turn, m, k, n);
        take_down(other);
    }
    fenced used[] = {a, b, room, r, want, onto, base, sum};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        take_down(used[i]);
}

/* The same of bytes, and of bfloat16 of either operand or both: what is packed already nobody looks at. */
static void narrow_packed_once(const tp_multiplier *by, tp_rng *rng, unsigned round)
{
    static const size_t LINES[] = {1, 15, 16, 17, 32, 33, 64, 100, 130}, TERMS[] = {1, 31, 32, 63, 64, 65, 256, 520};
    const size_t m = LINES[tp_rng_below(rng, 9)], n = LINES[tp_rng_below(rng, 9)], k = TERMS[tp_rng_below(rng, 8)];
    const bool bytes = round % 2, keeps_b = bytes || round / 2 % 3 != 1, keeps_a = !bytes && round / 2 % 3 != 0,
               adds = tp_rng_below(rng, 2);
    const size_t size = bytes ? 1 : 2, line = 64;
    const tp_signs is_signed = {tp_rng_below(rng, 2), tp_rng_below(rng, 2)};
    if (bytes ? !multiplies_bytes(by) : !by->bfloats)
        return;
    tp_steps sa = tp_rng_below(rng, 2) ? (tp_steps){1, m} : (tp_steps){k, 1},
             sb = tp_rng_below(rng, 2) ? (tp_steps){1, k} : (tp_steps){n, 1};
    const size_t of_rows = tp_bfloats_panels(m, k), of_panels = bytes ? tp_bytes_panels(n, k) : tp_bfloats_panels(n, k);
    assert_true(of_rows % line == 0 && of_panels % line == 0);
    fenced a = fence(m * k * size, true), b = fence(k * n * size, true), of_a = fence(of_rows, true),
           of_b = fence(of_panels, true), r = fence(m * n * 4, true), want = fence(m * n * 4, true),
           base = fence(m * n * 4, true),
           room = fence(bytes ? tp_bytes_room(m, n, k) / 4 * 4 : tp_bfloats_room(m, n, k), true);
    tp_panels rows = {of_a.at, false}, panels = {of_b.at, false};
    const magnitudes *what = &MAGNITUDES[tp_rng_below(rng, sizeof MAGNITUDES / sizeof *MAGNITUDES)];
    for (unsigned turn = 0; turn < 3; turn++) {
        for (size_t e = 0; e < m * k && (!turn || !keeps_a); e++)
            if (bytes)
                ((uint8_t *)a.at)[e] = (uint8_t)tp_rng_next(rng);
            else
                ((tp_bfloat *)a.at)[e] = drawn(rng, what, false);
        for (size_t e = 0; e < k * n && (!turn || !keeps_b); e++)
            if (bytes)
                ((uint8_t *)b.at)[e] = (uint8_t)tp_rng_next(rng);
            else
                ((tp_bfloat *)b.at)[e] = drawn(rng, what, true);
        for (size_t e = 0; e < m * n; e++)
            ((uint32_t *)base.at)[e] = (uint32_t)tp_rng_below(rng, 1 << 20) << 9;
        const fenced gone = fence(k * size * (m > n ? m : n), true); /* what may not be looked at: other numbers */
        memset(gone.at, 0x55, k * size * (m > n ? m : n));
        for (unsigned kept = 0; kept < 2; kept++) {
            void *x = kept && turn && keeps_a ? gone.at : a.at, *y = kept && turn && keeps_b ? gone.at : b.at,
                 *to = kept ? r.at : want.at, *onto = adds ? to : NULL;
            if (bytes)
                by->bytes(m, n, k, x, sa, y, sb, is_signed, to, base.at, onto, NULL, room.at, kept ? &panels : NULL);
            else
                by->bfloats(m, n, k, x, sa, y, sb, to, base.at, onto, NULL, room.at, kept && keeps_a ? &rows : NULL,
                            kept && keeps_b ? &panels : NULL);
        }
        assert_true(rows.filled == keeps_a && panels.filled == keeps_b);
        for (size_t e = 0; e < m * n; e++)
            if (bytes ? ((uint32_t *)r.at)[e] != ((uint32_t *)want.at)[e]
                      : !is_same(((float *)r.at)[e], ((float *)want.at)[e]))
                fail_msg("%s, round %u, product %u: element %zu of %zu x %zu x %zu differs", by->name, round, turn, e,
                         m, k, n);
        take_down(gone);
    }
    fenced used[] = {a, b, of_a, of_b, r, want, base, room};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        take_down(used[i]);
}

static void what_is_packed_once_gives_the_same_numbers(void **state)
{
    (void)state;
    by_each_set(240, 0x7061636b, packed_once);
    by_each_set(400, 0x6e617272, narrow_packed_once);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_once_gives_the_same_numbers),
        cmocka_unit_test(bfloat16_is_summed_in_one_order),
        cmocka_unit_test(integers_are_summed_exactly),
        cmocka_unit_test(products_stay_within_their_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
