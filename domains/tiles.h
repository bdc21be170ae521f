/* The matrix product of one type for one instruction set; tile_set.h includes this once for each, with
 *   ELEMENT          the type
 *   PRODUCT(x, y)    vector of products of a scalar and a vector
 *   SET, ATTRIBUTE   suffix of the names, and what makes the compiler use the set
 *   BYTES            of a vector
 *   ROWS             of the largest tile: as many as registers hold, times two vectors of columns
 * A tile stays in registers while all its terms are added. Each element is one chain of sums in ascending k, whatever
 * the tile and the set. */
#define NAME(x) NAME_OF(x, ELEMENT, SET)
#define vector NAME(vector)
#define WIDTH (2 * BYTES / sizeof(ELEMENT))

typedef ELEMENT vector __attribute__((vector_size(BYTES), aligned(sizeof(ELEMENT)), may_alias));

/* r[rows][WIDTH] += a[rows][k] b[k][WIDTH], strides in elements; `first`: instead of what r holds, 0. */
static inline __attribute__((always_inline)) ATTRIBUTE void NAME(tile)(const int rows, size_t k, const ELEMENT *a,
                                                                       size_t lda, const ELEMENT *b, size_t ldb,
                                                                       ELEMENT *r, size_t ldr, bool first)
{
    vector sum[ROWS][2];
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        const vector *at = (const vector *)(const void *)(r + (size_t)i * ldr);
        sum[i][0] = first ? (vector){0} : at[0];
        sum[i][1] = first ? (vector){0} : at[1];
    }
    for (size_t t = 0; t < k; t++, b += ldb) {
        const vector *y = (const vector *)(const void *)b;
        vector left = y[0], right = y[1];
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++) {
            ELEMENT x = a[(size_t)i * lda + t];
            sum[i][0] += PRODUCT(x, left);
            sum[i][1] += PRODUCT(x, right);
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        vector *at = (vector *)(void *)(r + (size_t)i * ldr);
        at[0] = sum[i][0];
        at[1] = sum[i][1];
    }
}

static ATTRIBUTE size_t NAME(some_rows)(size_t m, size_t k, const ELEMENT *a, size_t lda, const ELEMENT *b, size_t ldb,
                                        ELEMENT *r, size_t ldr, bool first)
{
    if (m >= ROWS)
        return NAME(tile)(ROWS, k, a, lda, b, ldb, r, ldr, first), (size_t)ROWS;
    if (m >= 4)
        return NAME(tile)(4, k, a, lda, b, ldb, r, ldr, first), (size_t)4;
    if (m >= 2)
        return NAME(tile)(2, k, a, lda, b, ldb, r, ldr, first), (size_t)2;
    return NAME(tile)(1, k, a, lda, b, ldb, r, ldr, first), (size_t)1;
}

/* The same of less than WIDTH columns: over a tile that is wide enough. */
static ATTRIBUTE void NAME(edge)(size_t m, size_t k, const ELEMENT *a, size_t lda, const ELEMENT *panel, ELEMENT *r,
                                 size_t ldr, bool first, size_t columns)
{
    ELEMENT wide[ROWS][WIDTH] = {{0}};
    for (size_t i = 0, n; i < m; i += n) {
        size_t rows = m - i < ROWS ? m - i : ROWS;
        for (size_t q = 0; q < rows && !first; q++)
            memcpy(wide[q], r + (i + q) * ldr, columns * sizeof(ELEMENT));
        n = NAME(some_rows)(rows, k, a + i * lda, lda, panel, WIDTH, wide[0], WIDTH, first);
        for (size_t q = 0; q < n; q++)
            memcpy(r + (i + q) * ldr, wide[q], columns * sizeof(ELEMENT));
    }
}

static ATTRIBUTE void NAME(multiply)(size_t m, size_t n, size_t k, const ELEMENT *a, const ELEMENT *b, ELEMENT *r)
{
    ELEMENT panel[DEPTH * WIDTH];
    for (size_t i = 0; i < m * n && k == 0; i++)
        r[i] = 0;
    for (size_t j = 0; j < n; j += WIDTH) {
        size_t columns = n - j < WIDTH ? n - j : WIDTH, depth;
        for (size_t t = 0; t < k; t += depth) {
            depth = k - t < DEPTH ? k - t : DEPTH;
            bool whole = columns == WIDTH, packs = m > FEW_ROWS || !whole;
            for (size_t s = 0; s < depth && packs; s++) {
                memcpy(panel + s * WIDTH, b + (t + s) * n + j, (whole ? WIDTH : columns) * sizeof(ELEMENT));
                for (size_t c = columns; c < WIDTH; c++)
                    panel[s * WIDTH + c] = 0;
            }
            const ELEMENT *y = packs ? panel : b + t * n + j;
            if (!whole)
                NAME(edge)(m, depth, a + t, k, panel, r + j, n, t == 0, columns);
            for (size_t i = 0; i < m && whole;)
                i += NAME(some_rows)(m - i, depth, a + i * k + t, k, y, packs ? WIDTH : n, r + i * n + j, n, t == 0);
        }
    }
}

#undef NAME
#undef vector
#undef WIDTH
#undef ELEMENT
#undef PRODUCT
