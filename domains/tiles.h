/* The matrix product of one type for one instruction set; tile_set.h includes this once for each, with
 *   ELEMENT          the type
 *   ADD(sum, x, y)   a vector of sums, and a scalar times a vector
 *   SET, ATTRIBUTE   suffix of the names, and what makes the compiler use the set
 *   BYTES            of a vector
 *   ROWS             of the largest tile: as many as registers hold, times two vectors of columns
 * A tile stays in registers while all its terms are added. Each element is one chain of sums in ascending k, whatever
 * the tile and the set. */
#define NAME(x) NAME_OF(x, ELEMENT, SET)
#define vector NAME(vector)
#define WIDTH (2 * BYTES / sizeof(ELEMENT))

typedef ELEMENT vector __attribute__((vector_size(BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* r[rows][WIDTH] += a[k][rows] b[k][WIDTH]; r with rows of ldr elements; `first`: instead of what r holds, 0. */
static inline __attribute__((always_inline)) ATTRIBUTE void
NAME(tile)(const int rows, size_t k, const ELEMENT *a, const ELEMENT *b, size_t ldb, ELEMENT *r, size_t ldr, bool first)
{
    vector sum[ROWS][2];
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        const vector *at = (const vector *)(const void *)(r + (size_t)i * ldr);
        sum[i][0] = first ? (vector){0} : at[0];
        sum[i][1] = first ? (vector){0} : at[1];
    }
    for (size_t t = 0; t < k; t++, a += rows, b += ldb) {
        const vector *y = (const vector *)(const void *)b;
        vector left = y[0], right = y[1];
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++) {
            ELEMENT x = a[i];
            sum[i][0] = ADD(sum[i][0], x, left);
            sum[i][1] = ADD(sum[i][1], x, right);
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        vector *at = (vector *)(void *)(r + (size_t)i * ldr);
        at[0] = sum[i][0];
        at[1] = sum[i][1];
    }
}

/* Rows of the next tile, of m that are left. */
static inline size_t NAME(height)(size_t m)
{
    return m >= ROWS ? ROWS : m >= 4 ? 4 : m >= 2 ? 2 : 1;
}

static ATTRIBUTE void NAME(any_tile)(size_t rows, size_t k, const ELEMENT *a, const ELEMENT *b, size_t ldb, ELEMENT *r,
                                     size_t ldr, bool first)
{
    switch (rows) {
    case ROWS: NAME(tile)(ROWS, k, a, b, ldb, r, ldr, first); break;
#if ROWS != 4
    case 4: NAME(tile)(4, k, a, b, ldb, r, ldr, first); break;
#endif
    case 2: NAME(tile)(2, k, a, b, ldb, r, ldr, first); break;
    default: NAME(tile)(1, k, a, b, ldb, r, ldr, first);
    }
}

/* The same of less than WIDTH columns: over a tile that is wide enough. */
static ATTRIBUTE void NAME(edge)(size_t rows, size_t k, const ELEMENT *a, const ELEMENT *panel, ELEMENT *r, size_t ldr,
                                 bool first, size_t columns)
{
    ELEMENT wide[ROWS * WIDTH] = {0};
    for (size_t q = 0; q < rows && !first; q++)
        memcpy(wide + q * WIDTH, r + q * ldr, columns * sizeof(ELEMENT));
    NAME(any_tile)(rows, k, a, panel, WIDTH, wide, WIDTH, first);
    for (size_t q = 0; q < rows; q++)
        memcpy(r + q * ldr, wide + q * WIDTH, columns * sizeof(ELEMENT));
}

/* Some rows of a tile of so many, term after term: no more than the first cache holds lines of at one place, which rows
 * at a distance of a power of two share. */
static inline __attribute__((always_inline)) void NAME(pack_some)(const size_t some, ELEMENT *to, size_t rows,
                                                                  const ELEMENT *a, size_t lda, size_t k)
{
    for (size_t t = 0; t < k; t++)
        for (size_t q = 0; q < some; q++)
            to[t * rows + q] = a[q * lda + t];
}

/* Tile after tile of m rows, each term after term. */
static ATTRIBUTE void NAME(pack_rows)(ELEMENT *to, const ELEMENT *a, size_t lda, size_t m, size_t k)
{
    for (size_t i = 0, rows; i < m; i += rows, to += rows * k) {
        rows = NAME(height)(m - i);
        for (size_t q = 0, some; q < rows; q += some) {
            some = rows - q >= 4 ? 4 : rows - q >= 2 ? 2 : 1;
            if (some == 4)
                NAME(pack_some)(4, to + q, rows, a + (i + q) * lda, lda, k);
            else if (some == 2)
                NAME(pack_some)(2, to + q, rows, a + (i + q) * lda, lda, k);
            else
                NAME(pack_some)(1, to + q, rows, a + (i + q) * lda, lda, k);
        }
    }
}

static ATTRIBUTE void NAME(pack_columns)(ELEMENT *to, const ELEMENT *b, size_t ldb, size_t k, size_t columns)
{
    if (columns == WIDTH) {
        for (size_t t = 0; t < k; t++, to += WIDTH, b += ldb) {
            const vector *from = (const vector *)(const void *)b;
            vector left = from[0], right = from[1], *at = (vector *)(void *)to;
            at[0] = left;
            at[1] = right;
        }
        return;
    }
    for (size_t t = 0; t < k; t++, to += WIDTH, b += ldb)
        for (size_t c = 0; c < WIDTH; c++)
            to[c] = c < columns ? b[c] : 0;
}

/* A part of the next panel, on its way while a tile is computed: its rows lie too far from each other for the
 * processor to see what comes. */
static inline void NAME(fetch)(const ELEMENT *b, size_t ldb, size_t from, size_t to)
{
    for (size_t t = from; t < to; t++) {
        __builtin_prefetch(b + t * ldb, 0, 2);
        __builtin_prefetch(b + t * ldb + WIDTH / 2, 0, 2);
    }
}

static ATTRIBUTE void NAME(multiply)(size_t m, size_t n, size_t k, const ELEMENT *a, size_t lda, const ELEMENT *b,
                                     size_t ldb, ELEMENT *r)
{
    ELEMENT panel[DEPTH * WIDTH], block[DEPTH * HEIGHT];
    size_t passes = (m + HEIGHT - 1) / HEIGHT, tall = passes ? ((m + passes - 1) / passes + ROWS - 1) / ROWS * ROWS : 0;
    for (size_t i = 0; i < m * n && k == 0; i++)
        r[i] = 0;
    for (size_t t = 0, depth; t < k; t += depth) {
        depth = k - t < DEPTH ? k - t : DEPTH;
        for (size_t i0 = 0, high; i0 < m; i0 += high) {
            high = m - i0 < tall ? m - i0 : tall;
            NAME(pack_rows)(block, a + i0 * lda + t, lda, high, depth);
            for (size_t j = 0; j < n; j += WIDTH) {
                size_t columns = n - j < WIDTH ? n - j : WIDTH;
                bool packs = high > FEW_ROWS || columns < WIDTH;
                const ELEMENT *x = block, *y = packs ? panel : b + t * ldb + j;
                if (packs)
                    NAME(pack_columns)(panel, b + t * ldb + j, ldb, depth, columns);
                for (size_t i = i0, rows; i < i0 + high; i += rows, x += rows * depth) {
                    rows = NAME(height)(i0 + high - i);
                    size_t from = (i - i0) * depth / high, to = (i - i0 + rows) * depth / high;
                    if (packs && n - j >= 2 * WIDTH)
                        NAME(fetch)(b + t * ldb + j + WIDTH, ldb, from, to);
                    if (columns < WIDTH)
                        NAME(edge)(rows, depth, x, panel, r + i * n + j, n, t == 0, columns);
                    else
                        NAME(any_tile)(rows, depth, x, y, packs ? WIDTH : ldb, r + i * n + j, n, t == 0);
                }
            }
        }
    }
}

#undef NAME
#undef vector
#undef WIDTH
#undef ELEMENT
#undef ADD
