/* Casts of the narrow types as the machine executes them, against what
 * tests/jax/conversions.py recorded of ml_dtypes: every number, every pair of
 * types. Rows, single elements and doubles agree. */
#include "tests/unit/support.h"

#include <math.h>

#include "base/digest.h"
#include "kernels/machine/internal.h"

enum { TEXT = 4096 };

/* As float32() of conversions.py. */
static void fill_f32(tp_tensor *t)
{
    static const uint32_t LOW[] = {0, 1, 0xfff};
    size_t n = 0;
    uint32_t *bits = t->data;
    for (uint32_t high = 0; high < 65536; high++)
        for (uint32_t low = 0; low < 48; low++) {
            uint32_t u = (high << 16) + low / 3 * 0x1000 + LOW[low % 3];
            bits[n++] = (u & 0x7fffffff) > 0x7f800000 ? (u & 0xff800000) | 0x400000 : u;
        }
    assert_int_equal(n, t->n);
}

static void fill_i32(tp_tensor *t)
{
    for (size_t i = 0; i < 31; i++) {
        int64_t one = (int64_t)1 << i, v[] = {one - 1, one, one + 1, 3 * one / 2, -one, -one - 1};
        for (size_t k = 0; k < 6; k++)
            tp_put_i64(t->dtype, t->data, 31 * k + i, v[k]);
    }
    assert_int_equal(t->n, 186);
}

static size_t count_of(tp_dtype d)
{
    int bits = tp_dtype_info(d)->bits;
    return d == TP_F32 ? (size_t)65536 * 48 : d == TP_I32 ? 186 : (size_t)1 << bits;
}

static void fill(tp_tensor *t)
{
    if (t->dtype == TP_F32)
        fill_f32(t);
    else if (t->dtype == TP_I32)
        fill_i32(t);
    else
        for (size_t i = 0; i < t->n; i++)
            for (size_t b = 0, size = tp_dtype_size(t->dtype); b < size; b++)
                ((unsigned char *)t->data)[i * size + b] = (unsigned char)(i >> 8 * b);
}

static void write_spec(char *text, tp_dtype from, tp_dtype to, size_t n)
{
    const char *x = tp_dtype_info(from)->name, *y = tp_dtype_info(to)->name;
    char cast[512];
    if (tp_is_float(from) && !tp_is_float(to))
        snprintf(cast, sizeof cast,
                 "v = x[...].astype(float32)\", \"o[...] = where((v > %lld.0) & (v < %lld.0), x[...].astype(%s), 0)",
                 (long long)tp_dtype_min(to) - 1, (long long)tp_dtype_max(to) + 1, y);
    else
        snprintf(cast, sizeof cast, "o[...] = x[...].astype(%s)", y);
    snprintf(text, TEXT,
             "{\"tileproof\": 1, \"name\": \"cast\", \"target\": \"none\","
             " \"inputs\": [{\"name\": \"x\", \"dtype\": \"%s\", \"shape\": [%zu]}],"
             " \"outputs\": [{\"name\": \"o\", \"dtype\": \"%s\", \"shape\": [%zu]}], \"kernel\": [\"%s\"]}",
             x, n, y, n, cast);
}

/* How many numbers, and what they become, as in a line of the record. */
static void check_pair(const char *line, tp_dtype from, tp_dtype to, size_t n, const char *digest)
{
    char text[TEXT];
    assert_int_equal(n, count_of(from));
    write_spec(text, from, to, n);
    loaded *l = load_text(text);
    if (!l->spec)
        fail_msg("%s: %s", line, tp_cstr(l->arena, l->ctx.findings.at[0].message));
    int64_t dims[] = {(int64_t)n};
    tp_tensor arrays[2] = {tp_tensor_new(l->arena, from, 1, dims), tp_tensor_new(l->arena, to, 1, dims)};
    fill(&arrays[0]);
    int64_t env[64] = {0};
    tp_run_request request = {.kernel = l->spec->kernels[0], .env = env, .arrays = arrays, .max_steps = 10};
    tp_trap trap;
    if (tp_machine_run(l->arena, &request, &trap, NULL) != TP_OK)
        fail_msg("%s: %s", line, tp_cstr(l->arena, trap.message));
    tp_str got = tp_sha256(l->arena, (tp_str){arrays[1].data, n * tp_dtype_size(to)});
    if (strncmp(got.p, digest, 16) != 0)
        fail_msg("%s: the machine gives %.16s", line, got.p);
    unload(l);
}

static void casts_are_those_of_ml_dtypes(void **state)
{
    (void)state;
    FILE *f = fopen("tests/conversions.txt", "r");
    char line[256], from[64], to[64], digest[64];
    size_t n, lines = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        assert_int_equal(sscanf(line, "%63s %63s %zu %63s", from, to, &n, digest), 4);
        check_pair(line, tp_dtype_find(tp_str_c(from)), tp_dtype_find(tp_str_c(to)), n, digest);
        lines++;
    }
    fclose(f);
    assert_int_equal(lines, 6 * 13 + 8 * 6);
}

/* Rows of float32 and of double, and single elements, round alike; a code stays what it is. */
static void the_ways_agree(void **state)
{
    (void)state;
    enum { ROW = 4096 };
    static const tp_dtype EIGHT[] = {TP_F8E4M3FN, TP_F8E5M2, TP_F8E4M3B11, TP_F8E8M0};
    for (size_t t = 0; t < sizeof EIGHT / sizeof *EIGHT; t++) {
        tp_dtype d = EIGHT[t];
        for (uint32_t from = 0; from < 1 << 19; from += ROW) {
            float x[ROW], back[ROW];
            double y[ROW], wide[ROW];
            uint8_t a[ROW], b[ROW], one;
            for (uint32_t i = 0; i < ROW; i++) {
                uint32_t u = (from + i) << 13; /* every number of 10 bits of significand, and every middle */
                memcpy(&x[i], &u, sizeof u);
                y[i] = (double)x[i];
            }
            tp_put_row_f32(d, a, 0, ROW, x);
            tp_put_row_f64(d, b, 0, ROW, y);
            tp_get_row_f32(d, a, 0, ROW, back);
            tp_get_row_f64(d, a, 0, ROW, wide);
            assert_memory_equal(a, b, sizeof a);
            for (uint32_t i = 0; i < ROW; i++) {
                tp_put_f64(d, &one, 0, y[i]);
                assert_int_equal(one, a[i]);
                double v = tp_get_f64(d, a, i);
                assert_true((isnan(v) && isnan(back[i]) && isnan(wide[i])) || (v == (double)back[i] && v == wide[i]));
            }
        }
    }
}

/* Integers as floats: rows as single elements, which are rounded once from double. */
static void integers_become_floats_with_one_rounding(void **state)
{
    enum { ROW = 1 << 16 };
    static uint32_t bits[ROW];
    static char row[ROW * sizeof(double)], one[ROW * sizeof(double)];
    static const tp_dtype TO[] = {TP_F32, TP_BF16, TP_F16, TP_F64, TP_F8E4M3FN, TP_F8E5M2};
    (void)state;
    for (int from = 0; from < TP_DTYPES; from++) {
        if (!tp_dtype_info((tp_dtype)from)->executable || tp_is_float((tp_dtype)from) || from == TP_WEAK_INT)
            continue;
        int64_t lo = tp_dtype_min((tp_dtype)from), n = tp_dtype_max((tp_dtype)from) - lo + 1;
        for (int64_t i = 0; i < ROW; i++) /* all that there are, or some of all sizes */
            tp_put_i64((tp_dtype)from, bits, (size_t)i, lo + (n <= ROW ? i % n : n / ROW * i + i % 4096));
        for (size_t t = 0; t < sizeof TO / sizeof *TO; t++) {
            tp_cells a = {.dtype = (tp_dtype)from, .n = ROW, .data = bits},
                     out = {.dtype = TO[t], .n = ROW, .data = row};
            tp_convert_numbers(&out, &a);
            for (size_t i = 0; i < ROW; i++)
                tp_put_f64(TO[t], one, i, tp_get_f64((tp_dtype)from, bits, i));
            if (memcmp(row, one, ROW * tp_dtype_size(TO[t])) != 0)
                fail_msg("%s to %s", tp_dtype_info((tp_dtype)from)->name, tp_dtype_info(TO[t])->name);
        }
    }
}

/* A double is rounded once: just above a middle it goes up, where float32 between them would have made it the middle.
 */
static void doubles_are_rounded_once(void **state)
{
    (void)state;
    static const struct {
        tp_dtype d;
        double middle, below, above;
    } ROWS[] = {{TP_F8E4M3FN, 0x1.1p0, 1, 0x1.2p0},
                {TP_F8E5M2, 0x1.2p0, 1, 0x1.4p0},
                {TP_F8E4M3B11, 0x1.1p-3, 0x1p-3, 0x1.2p-3}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        uint8_t code;
        tp_put_f64(ROWS[i].d, &code, 0, ROWS[i].middle);
        assert_true(tp_get_f64(ROWS[i].d, &code, 0) == ROWS[i].below);
        tp_put_f64(ROWS[i].d, &code, 0, ROWS[i].middle * (1 + 0x1p-50));
        assert_true(tp_get_f64(ROWS[i].d, &code, 0) == ROWS[i].above);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_are_those_of_ml_dtypes),
        cmocka_unit_test(integers_become_floats_with_one_rounding),
        cmocka_unit_test(the_ways_agree),
        cmocka_unit_test(doubles_are_rounded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
