/* What buffers hold when they are filled piece by piece, masked at their ends or handed over, against loops in C; and
 * that what stays undefined is noticed. What their rows give. TEST_SEED and TEST_TRIALS change what is random. */
#include <math.h>

#include "base/rng.h"
#include "kernels/machine/machine.h"
#include "tests/unit/support.h"

enum { COLUMNS = 160 }; /* of float32: more than a buffer needs to be handed over */

typedef struct outcome {
    loaded *l;
    tp_status status;
    tp_trap trap;
    tp_tensor arrays[2]; /* x, o */
} outcome;

/* Run a body on x of rows x COLUMNS in blocks of `block` rows and `width` columns; x[i] = values[i % n]. */
static outcome run_wide(const char *kernel, const char *scratch, int rows, int block, int width, const float *values,
                        size_t n, const char *out_dtype, int out_columns)
{
    char text[2048];
    int out_width = out_columns == COLUMNS ? width : out_columns;
    snprintf(text, sizeof text,
             "{\"tileproof\": 1, \"name\": \"m\", \"target\": \"none\", \"grid\": [{\"axis\": \"i\", \"steps\": %d}],"
             "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [%d, %d], \"block_shape\": [%d, %d], "
             "\"index_map\": [\"i\", 0]}],"
             "\"outputs\": [{\"name\": \"o\", \"dtype\": \"%s\", \"shape\": [%d, %d], \"block_shape\": [%d, %d], "
             "\"index_map\": [\"i\", 0]}],"
             "\"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [%d, %d]}%s],"
             "\"kernel\": [%s]}",
             (rows + block - 1) / block, rows, COLUMNS, block, width, out_dtype, rows, out_columns, block, out_width,
             block, width, scratch, kernel);
    outcome r = {.l = load_text(text)};
    if (!r.l->spec)
        fail_msg("%s: %s", kernel, r.l->ctx.findings.len ? tp_cstr(r.l->arena, r.l->ctx.findings.at[0].message) : "");
    const tp_kernel *k = r.l->spec->kernels[0];
    for (uint32_t i = 0; i < 2; i++) {
        int64_t dims[2] = {rows, i ? out_columns : COLUMNS};
        r.arrays[i] = tp_tensor_new(r.l->arena, k->operands[i].dtype, 2, dims);
    }
    for (size_t e = 0; e < r.arrays[0].n; e++)
        ((float *)r.arrays[0].data)[e] = values[e % n];
    int64_t *env = TP_NEWN(r.l->arena, int64_t, tp_sym_count(k->exprs));
    tp_run_request q = {.kernel = k, .env = env, .arrays = r.arrays, .max_steps = 1000, .in_order = true};
    r.status = tp_machine_run(r.l->arena, &q, &r.trap, NULL);
    return r;
}

static outcome run(const char *kernel, const char *scratch, int rows, int block, const float *values, size_t n,
                   const char *out_dtype, int out_columns)
{
    return run_wide(kernel, scratch, rows, block, COLUMNS, values, n, out_dtype, out_columns);
}

static const float SOME[] = {1.5f, -2, 0.25f, 7, -0.5f, 3, 11, -6.25f, 0.125f, 2, -9};
enum { OF_SOME = sizeof SOME / sizeof *SOME };

static void expect_x_times(outcome *r, float factor)
{
    assert_int_equal(r->status, TP_OK);
    for (size_t e = 0; e < r->arrays[0].n; e++)
        assert_true(((float *)r->arrays[1].data)[e] == ((float *)r->arrays[0].data)[e] * factor);
    unload(r->l);
}

static void expect_trap(outcome *r)
{
    assert_int_equal(r->status, TP_E_TRAP);
    assert_non_null(r->trap.rule);
    unload(r->l);
}

static void a_buffer_is_filled_piece_by_piece(void **state)
{
    static const char *const WHOLE[] = {
        "\"for r in range(6):\", \"    s[r:r + 1, :] = x[r:r + 1, :]\", \"o[...] = s[...]\"",
        "\"for r in range(6):\", \"    s[5 - r:6 - r, :] = x[5 - r:6 - r, :]\", \"o[...] = s[...]\"",
        "\"for r in range(6):\", \"    s[r * 5 % 6:r * 5 % 6 + 1, :] = x[r * 5 % 6:r * 5 % 6 + 1, :]\", \"o[...] = "
        "s[...]\"",
        "\"s[:, 0:80] = x[:, 0:80]\", \"s[:, 80:160] = x[:, 80:160]\", \"for r in range(6):\", \"    o[r:r + 1, :] = "
        "s[r:r + 1, :]\"",
        /* pieces are read before all of it is there */
        "\"for r in range(6):\", \"    s[r:r + 1, :] = x[r:r + 1, :]\", \"    o[r:r + 1, :] = s[r:r + 1, :]\"",
    };
    static const char *const HOLES[] = {
        "\"for r in range(5):\", \"    s[r:r + 1, :] = x[r:r + 1, :]\", \"o[...] = s[...]\"",
        "\"for r in range(5):\", \"    s[r + 1:r + 2, :] = x[r + 1:r + 2, :]\", \"o[...] = s[...]\"",
        "\"s[:, 0:80] = x[:, 0:80]\", \"s[:, 81:160] = x[:, 81:160]\", \"for r in range(6):\", \"    o[r:r + 1, :] = "
        "s[r:r + 1, :]\"",
        "\"for r in range(6):\", \"    s[r:r + 1, :] = x[r:r + 1, :]\", \"    o[r:r + 1, :] = s[5 - r:6 - r, :]\"",
    };
    (void)state;
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++) {
        outcome r = run(WHOLE[i], "", 6, 6, SOME, OF_SOME, "float32", COLUMNS);
        expect_x_times(&r, 1);
    }
    for (size_t i = 0; i < sizeof HOLES / sizeof *HOLES; i++) {
        outcome r = run(HOLES[i], "", 6, 6, SOME, OF_SOME, "float32", COLUMNS);
        expect_trap(&r);
    }
    /* step 1 stores an undefined row over a defined one, behind which all is defined */
    outcome r = run("\"if i == 0:\", \"    for r in range(4):\", \"        s[r:r + 1, :] = x[r:r + 1, :]\", \"else:\", "
                    "\"    s[0:1, :] = x[2:3, :]\", \"    s[3:4, :] = x[0:1, :]\", \"o[...] = s[...]\"",
                    "", 6, 4, SOME, OF_SOME, "float32", COLUMNS);
    expect_trap(&r);
}

/* Rows behind the last one of x are undefined; a mask keeps them away, or not all of them, or not all columns. */
static void a_mask_has_to_cover_what_is_undefined(void **state)
{
    (void)state;
#define MASKED(condition)                                                                                              \
    "\"t = where(" condition ", x[...], 0)\", \"s[...] = t + sum(t, axis=0, keepdims=True) * 0\", \"o[...] = s[...]\""
    outcome r = run(MASKED("i * 4 + iota(int32, (4, 160), 0) < 6"), "", 6, 4, SOME, OF_SOME, "float32", COLUMNS);
    expect_x_times(&r, 1);
    r = run(MASKED("i * 4 + iota(int32, (4, 160), 0) < 7"), "", 6, 4, SOME, OF_SOME, "float32", COLUMNS);
    expect_trap(&r);
    r = run(MASKED("(i * 4 + iota(int32, (4, 160), 0) < 6) | (iota(int32, (4, 160), 1) == 159)"), "", 6, 4, SOME,
            OF_SOME, "float32", COLUMNS);
    expect_trap(&r);
    for (int width = COLUMNS; width < COLUMNS + 2; width++) {
        char kernel[256];
        snprintf(
            kernel, sizeof kernel,
            "\"t = where(iota(int32, (3, 192), 1) < %d, x[...], 0)\", \"s[...] = t + max(t, axis=1, keepdims=True) "
            "* 0\", \"o[...] = s[...]\"",
            width);
        r = run_wide(kernel, "", 3, 3, 192, SOME, OF_SOME, "float32", COLUMNS);
        if (width == COLUMNS)
            expect_x_times(&r, 1);
        else
            expect_trap(&r);
    }
}

static void the_place_of_the_best(void **state)
{
    enum { N = 11 };
    static const float ROWS[][N] = {{3, 9, -1, 9, 2},       {-0.0f, 0, -5, 0}, {-1, -2, -1},
                                    {-INFINITY, -INFINITY}, {1, NAN, 5, NAN},  {INFINITY, 3, INFINITY}};
    (void)state;
    for (size_t c = 0; c < sizeof ROWS / sizeof *ROWS; c++)
        for (int largest = 0; largest < 2; largest++) {
            outcome r = run(largest ? "\"o[...] = argmax(x[...], axis=1, keepdims=True)\""
                                    : "\"o[...] = argmin(x[...], axis=1, keepdims=True)\"",
                            "", 3, 3, ROWS[c], N, "int32", 1);
            assert_int_equal(r.status, TP_OK);
            for (int row = 0; row < 3; row++) {
                const float *x = (const float *)r.arrays[0].data + row * COLUMNS;
                int best = 0;
                for (int t = 1; t < COLUMNS; t++) /* a NaN is better than any number */
                    if (!isnan(x[best]) && (isnan(x[t]) || (largest ? x[t] > x[best] : x[t] < x[best])))
                        best = t;
                assert_int_equal(((int32_t *)r.arrays[1].data)[row], best);
            }
            unload(r.l);
        }
}

static void what_is_handed_over_is_not_looked_at_again(void **state)
{
    static const struct {
        const char *kernel;
        float factor;
    } CASES[] = {
        {"\"a = x[...] * 2\", \"s[...] = a\", \"o[...] = s[...] + a\"", 4},
        {"\"a = x[...] * 2\", \"s[...] = a\", \"s[...] = s[...] * 2\", \"o[...] = s[...] + a\"", 6},
        {"\"a = x[...] * 2\", \"s[...] = a\", \"s[...] = s[...] + s[...]\", \"o[...] = s[...] * 2\"", 8},
        {"\"a = x[...] * 1\", \"b = x[...] * 1\", \"for t in range(4):\", \"    c = a + b\", \"    a = b\", \"    b = "
         "c\", \"o[...] = a + b\"",
         13},
        {"\"s[...] = x[...] * 2\", \"before = s[...]\", \"s[...] = before * 3\", \"o[...] = s[...] + before\"", 8},
        {"\"a = x[...] * 2\", \"for t in range(3):\", \"    s[...] = a\", \"    s[...] = s[...] * 5\", \"o[...] = "
         "s[...] + a\"",
         12},
    };
    static const char *const PRECISIONS[] = {"",
                                             ", {\"name\": \"other\", \"dtype\": \"float32\", \"shape\": [2, 160]}"};
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        for (int rows = 2; rows <= 32; rows *= 4) { /* computed at once, and when it is looked at */
            outcome r = run(CASES[i].kernel, PRECISIONS[rows == 2], rows, rows, SOME, OF_SOME, "float32", COLUMNS);
            expect_x_times(&r, CASES[i].factor);
        }
}

/* ---- some boxes of a buffer are defined ---- */

enum { ROWS = 6, STEP = 32 };

typedef struct area {
    int top, bottom, left, right; /* columns in STEPs */
} area;

static area random_area(tp_rng *rng)
{
    int a = (int)tp_rng_below(rng, ROWS), b = (int)tp_rng_below(rng, ROWS), c = (int)tp_rng_below(rng, COLUMNS / STEP),
        d = (int)tp_rng_below(rng, COLUMNS / STEP);
    area x = {a < b ? a : b, (a < b ? b : a) + 1, c < d ? c : d, (c < d ? d : c) + 1};
    if (tp_rng_below(rng, 2)) { /* rows as a whole: such boxes often are one */
        x.left = 0;
        x.right = COLUMNS / STEP;
    }
    return x;
}

/* What each element is a multiple of x by, as far as the model goes; 0: undefined. */
typedef struct picture {
    int by[ROWS][COLUMNS];
} picture;

/* `to` gets the part of `from`, or all of it the factor; false: an undefined element is looked at. */
static bool paint(picture *to, const picture *from, area x, int factor)
{
    bool all = true;
    for (int r = x.top; r < x.bottom; r++)
        for (int c = x.left * STEP; c < x.right * STEP; c++) {
            to->by[r][c] = from ? from->by[r][c] : factor;
            all &= to->by[r][c] != 0;
        }
    return all;
}

static int write_place(char *to, const char *name, area x)
{
    return sprintf(to, "%s[%d:%d, %d:%d]", name, x.top, x.bottom, x.left * STEP, x.right * STEP);
}

/* Boxes are stored and looked at in any order; false: some undefined element was, which has to be a trap. */
static bool boxes_of(tp_rng *rng, bool may_trap)
{
    char kernel[1400];
    static picture s, o;
    int n = sprintf(kernel, "\"o[...] = x[...]\"");
    bool defined = true;
    memset(&s, 0, sizeof s);
    paint(&o, NULL, (area){0, ROWS, 0, COLUMNS / STEP}, 1);
    for (int i = 0, statements = 4 + (int)tp_rng_below(rng, 12); i < statements; i++) {
        area x = random_area(rng);
        picture after = o;
        if (tp_rng_below(rng, 3)) {
            n += sprintf(kernel + n, ", \"");
            n += write_place(kernel + n, "s", x);
            n += sprintf(kernel + n, " = ");
            n += write_place(kernel + n, "x", x);
            n += sprintf(kernel + n, " * %d\"", i + 2);
            paint(&s, NULL, x, i + 2);
        } else if (paint(&after, &s, x, 0) || (may_trap && i + 4 > statements)) {
            n += sprintf(kernel + n, ", \"");
            n += write_place(kernel + n, "o", x);
            n += sprintf(kernel + n, " = ");
            n += write_place(kernel + n, "s", x);
            n += sprintf(kernel + n, "\"");
            o = after;
        }
    }
    for (int e = 0; e < ROWS * COLUMNS; e++)
        defined &= o.by[e / COLUMNS][e % COLUMNS] != 0;
    outcome r = run(kernel, "", ROWS, ROWS, SOME, OF_SOME, "float32", COLUMNS);
    if (r.status != (defined ? TP_OK : TP_E_TRAP))
        fail_msg("%s: status %d, and %s", kernel, (int)r.status, defined ? "all is defined" : "not all is defined");
    for (size_t e = 0; defined && e < r.arrays[0].n; e++)
        if (((float *)r.arrays[1].data)[e] != ((float *)r.arrays[0].data)[e] * (float)o.by[e / COLUMNS][e % COLUMNS])
            fail_msg("%s: element %zu", kernel, e);
    unload(r.l);
    return defined;
}

static void boxes_of_a_buffer_are_stored_in_any_order(void **state)
{
    unsigned defined = 0, trials = (unsigned)setting("TEST_TRIALS", 600);
    tp_rng rng = tp_rng_new(setting("TEST_SEED", 1), 0x626f78);
    (void)state;
    for (unsigned i = 0; i < trials; i++)
        defined += boxes_of(&rng, i % 3 == 0);
    assert_true(defined < trials && defined > trials / 2);
}

/* ---- rows are reduced, some at a time ---- */

static float fold_row(int what, const float *x, int n)
{
    float lanes[16] = {0}, r = what == 2 ? 0 : what ? -INFINITY : INFINITY;
    int whole = n / 16 * 16;
    for (int t = 0; t < n && what < 2; t++)
        r = (what ? r > x[t] : r < x[t]) || r != r ? r : x[t];
    for (int t = 0; t < n && what == 2; t++)
        if (t < whole)
            lanes[t % 16] += x[t];
        else
            r += x[t];
    for (int k = 0; k < 16 && what == 2; k++)
        r += lanes[k];
    return r;
}

static float odd_number(tp_rng *rng, unsigned odd)
{
    static const float ODD[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, -0x1p-140f, 0x1p127f};
    return tp_rng_below(rng, 1000) < odd ? ODD[tp_rng_below(rng, sizeof ODD / sizeof *ODD)]
                                         : (float)tp_rng_normal(rng) - 3;
}

static void rows_are_reduced_as_each_by_itself(void **state)
{
    enum { MANY = 53 };
    static const char *const HOW[] = {"min", "max", "sum"};
    static float values[MANY * COLUMNS];
    tp_rng rng = tp_rng_new(setting("TEST_SEED", 1), 0x726f7773);
    (void)state;
    for (int n = 1; n <= COLUMNS; n += n < 50 ? 1 : 13)
        for (int what = 0; what < 3; what++)
            for (unsigned odd = 0; odd < 3; odd++) {
                char kernel[200];
                for (int e = 0; e < MANY * COLUMNS; e++)
                    values[e] = odd_number(&rng, odd == 2 && e / COLUMNS % 20 < 17 ? 0 : odd * 40);
                snprintf(kernel, sizeof kernel, "\"t = x[:, 0:%d] * 1\", \"o[...] = %s(t, axis=1, keepdims=True)\"", n,
                         HOW[what]);
                outcome r = run(kernel, "", MANY, MANY, values, MANY * COLUMNS, "float32", 1);
                assert_int_equal(r.status, TP_OK);
                for (int row = 0; row < MANY; row++) {
                    float want = fold_row(what, values + row * COLUMNS, n), got = ((float *)r.arrays[1].data)[row];
                    if (memcmp(&want, &got, sizeof got) != 0 && !(isnan(want) && isnan(got)))
                        fail_msg("%s of %d: row %d is %a, not %a", HOW[what], n, row, (double)got, (double)want);
                }
                unload(r.l);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_is_filled_piece_by_piece),
        cmocka_unit_test(a_mask_has_to_cover_what_is_undefined),
        cmocka_unit_test(the_place_of_the_best),
        cmocka_unit_test(what_is_handed_over_is_not_looked_at_again),
        cmocka_unit_test(boxes_of_a_buffer_are_stored_in_any_order),
        cmocka_unit_test(rows_are_reduced_as_each_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
