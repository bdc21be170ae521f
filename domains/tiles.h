/* The matrix product of one type for one instruction set; tile_set.h includes this once for each, with
 *   ELEMENT          the type
 *   ADD(sum, x, y)   a vector of sums, and a scalar times a vector
 *   SET, ATTRIBUTE   suffix of the names, and what makes the compiler use the set
 *   BYTES            of a vector
 *   ROWS             of the largest tile: as many as registers hold, times two vectors of columns
 *   TERMS, FOLD(sum) where sums of more terms do not fit: after so many a sum becomes a smaller one; or neither
 *   BY_PANELS        if only multiply_by_panels() is wanted
 *   GROUP            if the sums are those of groups of so many terms, which divide DEPTH (multiply.h)
 * A tile stays in registers while all its terms are added, or those of a group. Each element is one chain of sums in
 * ascending k, whatever the tile and the set; or two in each group. */
#define NAME(x) NAME_OF(x, ELEMENT, SET)
#define vector NAME(vector)
#define WIDTH (2 * BYTES / sizeof(ELEMENT))
#define HALF (WIDTH / 2)
#ifndef TERMS
#define TERMS SIZE_MAX
#define FOLD(sum) (sum)
#endif

typedef ELEMENT vector __attribute__((vector_size(BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* r[rows][wide vectors] += a[rows][k] b[k][wide vectors]; r with rows of ldr elements; `first`: instead of what r
 * holds, 0. `packed`: a is term after term; else it lies in rows. With `onto`: that becomes base
 * plus the sums, instead of r; both lie as r does. `kept`, where it is not NULL, becomes the rows of b, side by side.
 */
#ifdef GROUP
static inline __attribute__((always_inline)) ATTRIBUTE void
NAME(tile)(const int rows, const int wide, size_t k, const ELEMENT *a, const bool packed, size_t lda, const ELEMENT *b,
           size_t ldb, ELEMENT *r, size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto, ELEMENT *kept)
{
    const ELEMENT *lines[(ROWS + 2) / 3];
    for (int i = 0; i < rows; i += 3)
        lines[i / 3] = a + (size_t)i * lda;
    for (size_t t = 0; t < k;) {
        const size_t end = k - t < GROUP ? k : t + GROUP;
        const bool begins = first && t == 0, ends = onto && end == k;
        vector even[ROWS][WIDEST], odd[ROWS][WIDEST];
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++)
                even[i][j] = odd[i][j] = (vector){0};
        for (; t < end; t += 2) {
            const bool both = t + 1 < end;
            vector y[WIDEST];
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++)
                y[j] = ((const vector *)(const void *)b)[j];
#pragma GCC unroll 8
            for (int j = 0; kept && j < wide; j++)
                ((vector *)(void *)(kept + t * WIDTH))[j] = y[j];
#pragma GCC unroll 12
            for (int i = 0; i < rows; i++) {
                ELEMENT x = packed ? a[i] : lines[i / 3][(size_t)(i % 3) * lda];
#pragma GCC unroll 8
                for (int j = 0; j < wide; j++)
                    even[i][j] = ADD(even[i][j], x, y[j]);
            }
            if (!both)
                break;
            b += ldb;
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++)
                y[j] = ((const vector *)(const void *)b)[j];
#pragma GCC unroll 8
            for (int j = 0; kept && j < wide; j++)
                ((vector *)(void *)(kept + (t + 1) * WIDTH))[j] = y[j];
#pragma GCC unroll 12
            for (int i = 0; i < rows; i++) {
                ELEMENT x = packed ? a[rows + i] : lines[i / 3][(size_t)(i % 3) * lda + 1];
#pragma GCC unroll 8
                for (int j = 0; j < wide; j++)
                    odd[i][j] = ADD(odd[i][j], x, y[j]);
            }
            b += ldb;
            a += packed ? 2 * rows : 2;
#pragma GCC unroll 4
            for (int i = 0; i < rows; i += 3)
                lines[i / 3] += 2;
        }
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++) {
            vector *at = (vector *)(void *)(r + (size_t)i * ldr),
                   *to = (vector *)(void *)((ends ? onto : r) + (size_t)i * ldr);
            const vector *more = (const vector *)(const void *)((ends ? base : r) + (size_t)i * ldr);
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++) {
                vector sum = begins ? (vector){0} : at[j];
                sum += even[i][j] + odd[i][j];
                if (ends)
                    sum = more[j] + sum;
                to[j] = sum;
            }
        }
        t = end;
    }
}
#else
static inline __attribute__((always_inline)) ATTRIBUTE void
NAME(tile)(const int rows, const int wide, size_t k, const ELEMENT *a, const bool packed, size_t lda, const ELEMENT *b,
           size_t ldb, ELEMENT *r, size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto, ELEMENT *kept)
{
    /* rows at a distance of 1 and 2 strides from one of these need no address of their own */
    const ELEMENT *lines[(ROWS + 2) / 3];
    vector sum[ROWS][WIDEST];
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        const vector *at = (const vector *)(const void *)(r + (size_t)i * ldr);
#pragma GCC unroll 8
        for (int j = 0; j < wide; j++)
            sum[i][j] = first ? (vector){0} : at[j];
    }
    for (int i = 0; i < rows; i += 3)
        lines[i / 3] = a + (size_t)i * lda;
    for (size_t t = 0, some; t < k;) {
        some = k - t < TERMS ? k - t : TERMS;
        for (size_t end = t + some; t < end; t++, a += packed ? rows : 1, b += ldb) {
            vector y[WIDEST];
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++)
                y[j] = ((const vector *)(const void *)b)[j];
#pragma GCC unroll 8
            for (int j = 0; kept && j < wide; j++)
                ((vector *)(void *)(kept + t * WIDTH))[j] = y[j];
#pragma GCC unroll 12
            for (int i = 0; i < rows; i++) {
                ELEMENT x = packed ? a[i] : lines[i / 3][(size_t)(i % 3) * lda];
#pragma GCC unroll 8
                for (int j = 0; j < wide; j++)
                    sum[i][j] = ADD(sum[i][j], x, y[j]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < rows; i += 3)
                lines[i / 3]++;
        }
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
            for (int j = 0; j < wide; j++)
                sum[i][j] = FOLD(sum[i][j]);
    }
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        vector *at = (vector *)(void *)((onto ? onto : r) + (size_t)i * ldr);
        const vector *more = (const vector *)(const void *)(base + (size_t)i * ldr);
#pragma GCC unroll 8
        for (int j = 0; j < wide && onto; j++)
            sum[i][j] = more[j] + sum[i][j];
#pragma GCC unroll 8
        for (int j = 0; j < wide; j++)
            at[j] = sum[i][j];
    }
}

#endif

/* Rows of the next tile, of m that are left. */
static inline size_t NAME(height)(size_t m)
{
    return m >= ROWS ? ROWS : ROWS > 8 && m >= 8 ? 8 : ROWS > 4 && m >= 4 ? 4 : m >= 2 ? 2 : 1;
}

/* Rows of a: of a block that pack_rows() made, or as they lie, one every `lda` elements. */
typedef struct NAME(rows_of_a) {
    const ELEMENT *at;
    bool packed;
    size_t lda;
} NAME(rows_of_a);

static inline __attribute__((always_inline)) ATTRIBUTE void
NAME(some_tile)(const int rows, const int wide, size_t k, const NAME(rows_of_a) * a, const ELEMENT *b, size_t ldb,
                ELEMENT *r, size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto)
{
    if (a->packed)
        NAME(tile)(rows, wide, k, a->at, true, 0, b, ldb, r, ldr, first, base, onto, NULL);
    else
        NAME(tile)(rows, wide, k, a->at, false, a->lda, b, ldb, r, ldr, first, base, onto, NULL);
}

static inline __attribute__((always_inline)) ATTRIBUTE void
NAME(tile_of)(const int wide, size_t rows, size_t k, const NAME(rows_of_a) * a, const ELEMENT *b, size_t ldb,
              ELEMENT *r, size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto)
{
    switch (rows) {
    case ROWS: NAME(some_tile)(ROWS, wide, k, a, b, ldb, r, ldr, first, base, onto); break;
#if ROWS > 8
    case 8: NAME(some_tile)(8, wide, k, a, b, ldb, r, ldr, first, base, onto); break;
#endif
#if ROWS > 4
    case 4: NAME(some_tile)(4, wide, k, a, b, ldb, r, ldr, first, base, onto); break;
#endif
    case 2: NAME(some_tile)(2, wide, k, a, b, ldb, r, ldr, first, base, onto); break;
    default: NAME(some_tile)(1, wide, k, a, b, ldb, r, ldr, first, base, onto);
    }
}

static ATTRIBUTE void NAME(any_tile)(size_t rows, size_t k, const NAME(rows_of_a) * a, const ELEMENT *b, size_t ldb,
                                     ELEMENT *r, size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto)
{
    NAME(tile_of)(2, rows, k, a, b, ldb, r, ldr, first, base, onto);
}

/* One vector wide. */
static ATTRIBUTE void NAME(narrow_tile)(size_t rows, size_t k, const NAME(rows_of_a) * a, const ELEMENT *b, ELEMENT *r,
                                        size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto)
{
    NAME(tile_of)(1, rows, k, a, b, HALF, r, ldr, first, base, onto);
}

/* The first tile of a panel, whose columns are as many as its: what it reads of b is packed on the way. */
static ATTRIBUTE void NAME(packing_tile)(size_t k, const NAME(rows_of_a) * a, const ELEMENT *b, size_t ldb, ELEMENT *r,
                                         size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto, ELEMENT *panel)
{
    if (a->packed)
        NAME(tile)(ROWS, 2, k, a->at, true, 0, b, ldb, r, ldr, first, base, onto, panel);
    else
        NAME(tile)(ROWS, 2, k, a->at, false, a->lda, b, ldb, r, ldr, first, base, onto, panel);
}

/* One row over as many columns as have sums enough that none of them waits for itself. */
static ATTRIBUTE void NAME(wide_tile)(size_t k, const ELEMENT *a, const ELEMENT *b, size_t ldb, ELEMENT *r, bool first,
                                      const ELEMENT *base, ELEMENT *onto)
{
    NAME(tile)(1, WIDEST, k, a, true, 0, b, ldb, r, 0, first, base, onto, NULL);
}

/* Columns of a panel of so many, which it has room for: a tile is one vector wide, or two. */
static inline size_t NAME(room_for)(size_t columns)
{
    return columns <= HALF ? HALF : WIDTH;
}

/* The same of less than WIDTH columns: over a tile that is wide enough. */
static ATTRIBUTE void NAME(edge)(size_t rows, size_t k, const NAME(rows_of_a) * a, const ELEMENT *panel, ELEMENT *r,
                                 size_t ldr, bool first, const ELEMENT *base, ELEMENT *onto, size_t columns)
{
    if (columns == HALF) {
        NAME(narrow_tile)(rows, k, a, panel, r, ldr, first, base, onto);
        return;
    }
    const size_t room = NAME(room_for)(columns);
    ELEMENT wide[ROWS * WIDTH] = {0};
    for (size_t q = 0; q < rows && !first; q++)
        memcpy(wide + q * room, r + q * ldr, columns * sizeof(ELEMENT));
    if (room == HALF)
        NAME(narrow_tile)(rows, k, a, panel, wide, room, first, wide, NULL);
    else
        NAME(any_tile)(rows, k, a, panel, room, wide, room, first, wide, NULL);
    for (size_t q = 0; onto && q < rows; q++)
        for (size_t c = 0; c < columns; c++)
            onto[q * ldr + c] = base[q * ldr + c] + wide[q * room + c];
    for (size_t q = 0; !onto && q < rows; q++)
        memcpy(r + q * ldr, wide + q * room, columns * sizeof(ELEMENT));
}

/* Some lines of k terms, `step` elements apart, term after term, of which each has so much room: no more lines than the
 * first cache holds at one place, which those at a distance of a power of two share. */
static inline __attribute__((always_inline)) void NAME(turn_some)(const size_t some, ELEMENT *to, size_t room,
                                                                  const ELEMENT *a, size_t step, size_t k)
{
    size_t t = 0;
    for (; some == 4 && sizeof(ELEMENT) == 4 && t + 4 <= k; t += 4) {
        tp_four turned[4];
        tp_turn_four(a + t, a + step + t, a + 2 * step + t, a + 3 * step + t, turned);
        for (size_t q = 0; q < 4; q++)
            *(tp_four *)(void *)(to + (t + q) * room) = turned[q];
    }
    for (; t < k; t++)
        for (size_t q = 0; q < some; q++)
            to[t * room + q] = a[q * step + t];
}

static ATTRIBUTE void NAME(turn_lines)(size_t lines, ELEMENT *to, size_t room, const ELEMENT *a, size_t step, size_t k)
{
    for (size_t q = 0, some; q < lines; q += some) {
        some = lines - q >= 4 ? 4 : lines - q >= 2 ? 2 : 1;
        if (some == 4)
            NAME(turn_some)(4, to + q, room, a + q * step, step, k);
        else if (some == 2)
            NAME(turn_some)(2, to + q, room, a + q * step, step, k);
        else
            NAME(turn_some)(1, to + q, room, a + q * step, step, k);
    }
}

/* Tile after tile of m rows, each term after term. */
static ATTRIBUTE void NAME(pack_rows)(ELEMENT *to, const ELEMENT *a, tp_steps s, size_t m, size_t k)
{
    size_t i = 0;
    /* some tiles at once: of terms far from each other the same lines are not in the first cache for long */
    for (; s.row == 1 && m - i >= AT_ONCE * ROWS; i += AT_ONCE * ROWS, to += AT_ONCE * ROWS * k)
        for (size_t t = 0; t < k; t++)
#pragma GCC unroll 4
            for (size_t q = 0; q < AT_ONCE; q++)
                memcpy(to + (q * k + t) * ROWS, a + i + q * ROWS + t * s.column, ROWS * sizeof(ELEMENT));
    for (size_t rows; i < m; i += rows, to += rows * k) {
        rows = NAME(height)(m - i);
        for (size_t t = 0; s.row == 1 && rows == ROWS && t < k; t++)
            memcpy(to + t * ROWS, a + i + t * s.column, ROWS * sizeof(ELEMENT));
        if (s.column == 1)
            NAME(turn_lines)(rows, to, rows, a + i * s.row, s.row, k);
        for (size_t t = 0; s.column != 1 && (s.row != 1 || rows != ROWS) && t < k; t++)
            for (size_t q = 0; q < rows; q++)
                to[t * rows + q] = a[(i + q) * s.row + t * s.column];
    }
}

static ATTRIBUTE void NAME(pack_columns)(ELEMENT *to, const ELEMENT *b, tp_steps s, size_t k, size_t columns)
{
    const size_t ldb = s.row, room = NAME(room_for)(columns);
    if (s.column != 1) {
        if (columns < room)
            memset(to, 0, k * room * sizeof(ELEMENT));
        if (s.row == 1)
            NAME(turn_lines)(columns, to, room, b, s.column, k);
        for (size_t t = 0; s.row != 1 && t < k; t++)
            for (size_t c = 0; c < columns; c++)
                to[t * room + c] = b[t * s.row + c * s.column];
        return;
    }
    for (size_t t = 0; t < k; t++, to += room, b += ldb)
        for (size_t c = 0; c < room; c++)
            to[c] = c < columns ? b[c] : 0;
}

/* A part of the next panel, on its way while a tile is computed: its rows lie too far from each other for the
 * processor to see what comes. Of a row that shares its first line with the panel before, that one is there. */
static inline void NAME(fetch)(const ELEMENT *b, size_t ldb, size_t from, size_t to)
{
    for (size_t t = from; t < to; t++) {
        __builtin_prefetch(b + t * ldb + WIDTH / 2 - 1, 0, 2);
        __builtin_prefetch(b + t * ldb + WIDTH - 1, 0, 2);
    }
}

/* Are rows of a worth packing though they lie in rows? The first cache has as few as 8 ways for lines that lie 4096
 * bytes apart: those of the rows of a tall tile would drive each other out at every term. */
static inline bool NAME(drive_out)(size_t row, size_t m, size_t n)
{
    enum { WAYS = 8, APART = 4096 };
    return ROWS > WAYS && row * sizeof(ELEMENT) % APART == 0 && m >= ROWS && n >= 4 * WIDTH;
}

/* With `panels`, b becomes packed there: for every WIDTH columns k rows of as many; or is so already. */
static ATTRIBUTE void NAME(multiply_by_panels)(size_t m, size_t n, size_t k, const ELEMENT *a, tp_steps sa,
                                               const ELEMENT *b, tp_steps sb, ELEMENT *r, const ELEMENT *base,
                                               ELEMENT *onto, tp_ahead *ahead, tp_panels *panels)
{
    const size_t ldb = sb.row;
    /* a vector of them is one line of the cache; passes end with whole tiles */
    _Alignas(64) ELEMENT room[DEPTH * WIDTH], block[DEPTH * (HEIGHT + ROWS)];
    size_t passes = (m + HEIGHT - 1) / HEIGHT, tall = passes ? ((m + passes - 1) / passes + ROWS - 1) / ROWS * ROWS : 0;
    const size_t tiles = ((k + DEPTH - 1) / DEPTH) * ((m + ROWS - 1) / ROWS) * ((n + WIDTH - 1) / WIDTH),
                 lines = ahead && tiles ? ahead->lines / tiles + 1 : 0; /* beside a tile */
    for (size_t i = 0; i < m * n && k == 0; i++)
        *(onto ? onto + i : r + i) = onto ? base[i] + 0 : 0;
    for (size_t t = 0, depth; t < k; t += depth) {
        depth = k - t < DEPTH ? k - t : DEPTH;
        ELEMENT *last = t + depth == k ? onto : NULL;
        const ELEMENT *old = last ? base : r;
        for (size_t i0 = 0, high; i0 < m; i0 += high) {
            high = m - i0 < tall ? m - i0 : tall;
            const ELEMENT *top = a + i0 * sa.row + t * sa.column;
            NAME(rows_of_a) x = {block, sa.column != 1 || NAME(drive_out)(sa.row, high, n), sa.row};
            if (x.packed)
                NAME(pack_rows)(block, top, sa, high, depth);
            size_t j = 0;
            for (; high == 1 && !panels && sb.column == 1 && n - j >= WIDEST / 2 * WIDTH; j += WIDEST / 2 * WIDTH) {
                size_t at = i0 * n + j;
                if (ahead)
                    tp_ahead_ask(ahead, WIDEST / 2 * lines);
                NAME(wide_tile)
                (depth, x.packed ? block : top, b + t * ldb + j, ldb, r + at, t == 0, old + at,
                 last ? last + at : NULL);
            }
            for (; j < n; j += WIDTH) {
                size_t columns = n - j < WIDTH ? n - j : WIDTH;
                const bool there = panels && (panels->filled || i0);
                bool packs = panels || high > FEW_ROWS || columns < WIDTH || sb.column != 1,
                     at_once = packs && !there && columns == WIDTH && sb.column == 1 && high >= ROWS;
                ELEMENT *panel = panels ? (ELEMENT *)panels->at + j * k + t * WIDTH : room;
                const ELEMENT *y = packs ? panel : b + t * ldb + j;
                if (packs && !there && !at_once)
                    NAME(pack_columns)(panel, b + t * ldb + j * sb.column, sb, depth, columns);
                for (size_t i = 0, rows; i < high; i += rows) {
                    rows = NAME(height)(high - i);
                    x.at = x.packed ? block + i * depth : top + i * sa.row;
                    size_t at = (i0 + i) * n + j;
                    ELEMENT *sum = last ? last + at : NULL;
                    if (ahead)
                        tp_ahead_ask(ahead, lines);
                    if (there && n - j > WIDTH)
                        NAME(fetch)(panel + k * WIDTH, WIDTH, i * depth / high, (i + rows) * depth / high);
                    else if (at_once && n - j >= 2 * WIDTH)
                        NAME(fetch)(b + t * ldb + j + WIDTH, ldb, i * depth / high, (i + rows) * depth / high);
                    else if (at_once && t + depth < k)
                        NAME(fetch)(b + (t + depth) * ldb, ldb, i * depth / high, (i + rows) * depth / high);
                    if (at_once && i == 0)
                        NAME(packing_tile)
                    (depth, &x, b + t * ldb + j, ldb, r + at, n, t == 0, old + at, sum, panel);
                    else if (columns < WIDTH)
                        NAME(edge)(rows, depth, &x, panel, r + at, n, t == 0, old + at, sum, columns);
                    else NAME(any_tile)(rows, depth, &x, y, packs ? WIDTH : ldb, r + at, n, t == 0, old + at, sum);
                }
            }
        }
    }
    if (panels)
        panels->filled = true;
}

#ifndef BY_PANELS
static ATTRIBUTE void NAME(multiply)(size_t m, size_t n, size_t k, const ELEMENT *a, tp_steps sa, const ELEMENT *b,
                                     tp_steps sb, ELEMENT *r, const ELEMENT *base, ELEMENT *onto, tp_ahead *ahead)
{
    NAME(multiply_by_panels)(m, n, k, a, sa, b, sb, r, base, onto, ahead, NULL);
}
#endif

#undef NAME
#undef vector
#undef HALF
#undef WIDTH
#undef ELEMENT
#undef ADD
#undef TERMS
#undef FOLD
