/* The machine keeps to its arrays, whatever somebody said of the kernel; and it gives one answer: for the gallery, by
 * any number of threads, in order or in a seeded one, with strips of any length and alone, the same bytes. */
#include <stdlib.h>

#include "kernels/machine/internal.h"
#include "report/report.h"
#include "tests/unit/gallery.h"

enum { MOST_ELEMENTS = 1 << 19, OPERANDS = 16 };

static void run_it(tp_arena *a, const tp_case *c, tp_run_request how, tp_tensor *arrays)
{
    const tp_kernel *k = c->kernel;
    tp_trap trap;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], c->env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs)
            tp_fill_input(k, c->env, i, &arrays[i], TP_INPUT_NORMAL, 8, c->seed);
    }
    how.kernel = k;
    how.env = c->env;
    how.arrays = arrays;
    how.max_steps = 1000000;
    if (tp_machine_run(a, &how, &trap, NULL) != TP_OK)
        fail_msg("%.*s: %.*s", TP_FMT(k->name), TP_FMT(trap.message));
}

static uint32_t one_case(const tp_case *c)
{
    static const uint32_t THREADS[] = {1, 2, 7, 16};
    const tp_kernel *k = c->kernel;
    tp_arena *a = tp_arena_new(0);
    tp_tensor want[OPERANDS], got[OPERANDS];
    assert_true(k->ninputs + k->noutputs <= OPERANDS);
    run_it(a, c, (tp_run_request){.in_order = true, .threads = 1, .apart = true}, want);
    for (size_t way = 0; way < 2 * 4; way++) {
        uint32_t threads = THREADS[way % 4];
        tp_run_request how = {.threads = threads, .share_from = 1, .in_order = way < 4, .seed = way};
        if (way >= 4) { /* views and fused operations wherever there can be some */
            how.short_row = 1;
            how.strip = threads * 16;
            how.last_cache = 1; /* outputs go past the caches */
        }
        run_it(a, c, how, got);
        for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
            size_t size = tp_dtype_size(want[i].dtype);
            for (size_t e = 0; !k->operands[i].discard && e < want[i].n; e++)
                if (memcmp((char *)want[i].data + e * size, (char *)got[i].data + e * size, size) != 0 &&
                    tp_is_compared(k, &k->operands[i], c->env, &want[i], e))
                    fail_msg("%.*s, %.*s: element %zu of `%.*s` is another by %u threads, way %zu", TP_FMT(k->name),
                             TP_FMT(tp_case_text(a, c)), e, TP_FMT(k->operands[i].name), threads, way);
        }
    }
    tp_arena_free(a);
    return 1;
}

typedef struct tally {
    uint32_t kernels, cases;
} tally;

static void one_kernel(const reading *r, void *ctx)
{
    tally *t = ctx;
    uint32_t before = t->cases;
    for (uint32_t c = 0; c < r->cases.len; c++)
        if (tp_elements_of(r->cases.at[c].kernel, r->cases.at[c].env) <= MOST_ELEMENTS)
            t->cases += one_case(&r->cases.at[c]);
    t->kernels += t->cases > before;
}

static void the_gallery_has_one_answer(void **state)
{
    tally t = {0};
    (void)state;
    for_gallery(one_kernel, &t);
    print_message("engine: %u cases of %u gallery kernels, 8 ways each: one answer\n", t.cases, t.kernels);
    assert_true(t.kernels >= 31 && t.cases >= 40);
}

/* ---- aliases ---- */

static tp_status run_alias(tp_arena *a, const tp_case *c, bool together, uint32_t threads, tp_tensor *arrays,
                           tp_trap *trap)
{
    const tp_kernel *k = c->kernel;
    tp_str why;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        assert_true(tp_operand_dims(k, &k->operands[i], c->env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
        if (i < k->ninputs)
            tp_fill_input(k, c->env, i, &arrays[i], TP_INPUT_NORMAL, 8, c->seed);
        else if (together)
            arrays[i].data = arrays[k->operands[i].alias].data;
    }
    tp_run_request how = {.kernel = k,
                          .env = c->env,
                          .arrays = arrays,
                          .in_order = true,
                          .threads = threads,
                          .share_from = 1,
                          .max_steps = 1000};
    if (threads > 1) /* views wherever there can be some */
        how.short_row = 1, how.last_cache = 1;
    return tp_machine_run(a, &how, trap, NULL);
}

/* In memory of its own an output is kept apart from its input, where no step can tell; in the input's it never is. Both
 * ways end alike. */
static void an_alias_ends_alike_in_any_memory(void **state)
{
    static const struct {
        bool apart;
        const char *second, *in, *out, *kernel;
    } ALIASES[] = {
        {true, "cdiv(N, 128)", "\"i\", \"j\"", "\"i\", \"j\"", "\"o[...] = w[...] * 3\""},
        {true, "cdiv(N, 128)", "\"i\", \"j\"", "\"i\", \"j\"", "\"o[...] = w[...] * 3\", \"o[...] = o[...] + w[...]\""},
        {true, "cdiv(N, 128)", "\"i\", \"j\"", "\"i\", \"j\"", "\"if i > 0:\", \"    o[...] = w[...]\""}, /* traps */
        {false, "cdiv(N, 128)", "\"i\", \"j\"", "\"i\", \"cdiv(N, 128) - 1 - j\"", "\"o[...] = w[...]\""},
        {false, "cdiv(N, 128)", "\"i\", \"cdiv(N, 128) - 1 - j\"", "\"i\", \"j\"", "\"o[...] = w[...]\""},
        {false, "cdiv(N, 128) + 1", "\"i\", \"min(j, cdiv(N, 128) - 1)\"", "\"i\", \"min(j, cdiv(N, 128) - 1)\"",
         "\"o[...] = w[...] + 1\""},
        {false, "cdiv(N, 128) - 1", "\"i\", \"j\"", "\"i\", \"j\"",
         "\"o[...] = w[...] + 1\""},                                     /* some are left as they are */
        {false, "1", "\"i\", 0", "\"i\", 0", "\"o[...] = w[...] + 1\""}, /* the same, by its first blocks */
        {false, "2", "\"i\", 0", "\"i\", 0", "\"o[...] = w[...] + 1\""},
        {false, "cdiv(N, 128)", "\"i\", 0", "\"i\", \"j\"", "\"o[...] = w[...] + 1\""},
        {false, "cdiv(N, 128)", "0, \"j\"", "\"i\", \"j\"", "\"o[...] = w[...] + 1\""}};
    uint32_t cases = 0;
    (void)state;
    for (size_t i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++) {
        char text[2048];
        snprintf(
            text, sizeof text,
            "{\"tileproof\": 1, \"name\": \"alias\", \"target\": \"tpu-v5e\", \"sizes\": {\"M\": {\"min\": 1}, \"N\": "
            "{\"min\": 129}}, \"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, 8)\", \"semantics\": \"parallel\"},"
            "{\"axis\": \"j\", \"steps\": \"%s\"}],"
            "\"inputs\": [{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"],"
            "\"block_shape\": [8, 128], \"index_map\": [%s]}],"
            "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"M\", \"N\"],"
            "\"block_shape\": [8, 128], \"index_map\": [%s], \"alias\": \"w\"}],"
            "\"kernel\": [%s], \"reference\": [\"o = w\"],"
            "\"cases\": [{\"sizes\": {\"M\": 24, \"N\": 256}}, {\"sizes\": {\"M\": 17, \"N\": 391}}]}",
            ALIASES[i].second, ALIASES[i].in, ALIASES[i].out, ALIASES[i].kernel);
        reading r = {.l = load_text(text), .per_kernel = 1};
        assert_non_null(r.l->spec);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        for (uint32_t n = 0; n < r.cases.len; n++) {
            const tp_case *c = &r.cases.at[n];
            tp_arena *a = tp_arena_new(0);
            tp_tensor one[2], other[2];
            tp_trap want, got;
            tp_status st = run_alias(a, c, true, 1, one, &want);
            for (uint32_t threads = 1; threads <= 2; threads++) {
                assert_int_equal(run_alias(a, c, false, threads, other, &got), st);
                tp_run_request how = {.kernel = c->kernel, .env = c->env, .arrays = other};
                assert_int_equal(tp_alias_is_apart(&how, 1), ALIASES[i].apart);
                if (st != TP_OK && !tp_str_eq(want.message, got.message))
                    fail_msg("alias %zu: %.*s, or %.*s", i, TP_FMT(want.message), TP_FMT(got.message));
                if (st == TP_OK && memcmp(one[1].data, other[1].data, one[1].n * sizeof(float)) != 0)
                    fail_msg("alias %zu, %.*s, %u threads: another answer", i, TP_FMT(tp_case_text(a, c)), threads);
            }
            cases++;
            tp_arena_free(a);
        }
        unload(r.l);
    }
    print_message("engine: %u cases of aliases end alike\n", cases);
    assert_true(cases >= 20);
}

/* ---- what is added in place ---- */

/* Of so few elements that by default nothing waits: each statement is executed for itself. */
static void products_are_added_as_by_two_statements(void **state)
{
    static const struct {
        const char *of, *in, *first, *statement;
    } SUMS[] = {{"float32", "float32", "x[0:8, :]", "s[...] = s[...] + dot(w[...], x[...])"},
                {"float32", "float32", "x[0:8, :]", "s[...] = s[...] + dot(w[0:8, 0:8], s[...])"},
                {"float32", "float32", "x[0:8, :]", "s[...] = s[...] + dot(s[0:8, 0:8], s[...])"},
                {"float32", "float32", "x[0:8, :]", "s[...] = x[0:8, :] + dot(w[...], x[...])"},
                {"int32", "int32", "x[0:8, :]", "s[...] = s[...] + dot(w[...], x[...])"},
                {"int8", "int32", "x[0:8, :].astype(int32)",
                 "s[...] = s[...] + dot(w[...], x[...], preferred_element_type=int32)"},
                {"uint8", "int32", "x[0:8, :].astype(int32)",
                 "s[...] = s[...] + dot(w[...], x[...], preferred_element_type=int32)"},
                {"int16", "int32", "x[0:8, :].astype(int32)",
                 "s[...] = s[...] + dot(w[...], x[...], preferred_element_type=int32)"}};
    (void)state;
    for (size_t i = 0; i < sizeof SUMS / sizeof *SUMS; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "{\"tileproof\": 1, \"name\": \"sums\", \"target\": \"tpu-v5e\", \"sizes\": {\"K\": {\"min\": 8}},"
                 "\"grid\": [{\"axis\": \"i\", \"steps\": 3}],"
                 "\"inputs\": [{\"name\": \"w\", \"dtype\": \"%s\", \"shape\": [8, \"K\"],"
                 "\"block_shape\": [8, \"K\"], \"index_map\": [0, 0]}, {\"name\": \"x\", \"dtype\": \"%s\","
                 "\"shape\": [\"K\", 128], \"block_shape\": [\"K\", 128], \"index_map\": [0, 0]}],"
                 "\"outputs\": [{\"name\": \"o\", \"dtype\": \"%s\", \"shape\": [8, 128],"
                 "\"block_shape\": [8, 128], \"index_map\": [0, 0]}],"
                 "\"scratch\": [{\"name\": \"s\", \"dtype\": \"%s\", \"shape\": [8, 128]}],"
                 "\"kernel\": [\"if i == 0:\", \"    s[...] = %s\", \"%s\", \"o[...] = s[...]\"],"
                 "\"reference\": [\"o = %s\"],"
                 "\"cases\": [{\"sizes\": {\"K\": 8}}, {\"sizes\": {\"K\": 300}}]}",
                 SUMS[i].of, SUMS[i].of, SUMS[i].in, SUMS[i].in, SUMS[i].first, SUMS[i].statement, SUMS[i].first);
        reading r = {.l = load_text(text), .per_kernel = 1};
        assert_non_null(r.l->spec);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        assert_true(r.cases.len >= 2);
        for (uint32_t c = 0; c < r.cases.len; c++)
            one_case(&r.cases.at[c]);
        unload(r.l);
    }
}

/* ---- variables that are assigned to again ---- */

static void see_nothing(tp_observer *o, const tp_event *e)
{
    (void)o, (void)e;
}

/* As if each statement were executed for itself, which it is where somebody looks at the numbers. */
static void as_one_by_one(const tp_case *c)
{
    const tp_kernel *k = c->kernel;
    tp_arena *a = tp_arena_new(0);
    tp_observer o = {.see = see_nothing, .looks = true};
    tp_tensor want[OPERANDS], got[OPERANDS];
    run_it(a, c, (tp_run_request){.observer = &o}, want);
    for (uint32_t strip = 0; strip <= 48; strip += 16) {
        run_it(a, c, (tp_run_request){.strip = strip, .short_row = 1, .last_cache = 1}, got);
        for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
            if (memcmp(want[i].data, got[i].data, want[i].n * tp_dtype_size(want[i].dtype)) != 0)
                fail_msg("%.*s: `%.*s` is another by strips of %u", TP_FMT(tp_case_text(a, c)),
                         TP_FMT(k->operands[i].name), strip);
    }
    tp_arena_free(a);
}

/* "a" begins as x without what lies beyond its end; what the lines leave in "a" is stored. */
static void variables_are_what_was_assigned_last(void **state)
{
    static const char *const BODIES[] = {
        /* in turns that are written out; the same twice in one expression */
        "\"b = a * 2\", \"for r in (1, 2, 3, 4, 5):\", \"    a = a + b\", \"    b = (b * r + b) * 0.5 - a\", \"a = a - "
        "b\"",
        /* in one branch, in both, in none */
        "\"if i == 1:\", \"    a = a * 3\", \"a = a + 1\"",
        "\"if i == 1:\", \"    a = a * 3\", \"else:\", \"    a = a - 2\", \"    a = a * a\", \"a = a + 1\"",
        "\"b = a * 2\", \"if i == 1:\", \"    b = a\", \"else:\", \"    a = a - 2\", \"a = a + b\"",
        /* what it was before */
        "\"b = a\", \"a = a + 1\", \"c = a\", \"a = b * c\", \"if i == 0:\", \"    b = c\", \"a = a + b\"",
        /* from turn to turn; two change places */
        "\"b = a * 0.5\", \"for t in range(i + 1):\", \"    c = a\", \"    a = b\", \"    b = c + 1\", \"a = a + b\"",
        "\"b = a\", \"for t in range(3):\", \"    b = a * 2\", \"    if t == 1:\", \"        a = b - "
        "t.astype(float32)\", \"    a = a "
        "+ b\"",
        "\"n = i - i\", \"while n < i + 2:\", \"    a = a * 2 - n.astype(float32)\", \"    n = n + 1\", \"a = a + "
        "n.astype(float32)\"",
        /* the memory that it was loaded from changes */
        "\"s[...] = a * 2\", \"b = s[...]\", \"s[...] = a * 3\", \"b = b + s[...]\", \"s[...] = b\", \"a = b + "
        "s[...]\"",
        /* what no step changes, beneath what each does */
        "\"f = iota(int32, (4096,), 0) + num_programs(i)\", \"a = a * (f + i).astype(float32)\"",
        "\"f = iota(int32, (4096,), 0) + num_programs(i)\", \"a = a + where(f - 7 < 2000 + i, a, 1)\"",
        /* sums, differences and products of each other, on either side, and more of them than one pass takes */
        "\"b = a * 0.3\", \"c = a - 7\", \"d = 1 / (2 + a * a)\", \"a = (b - c) * d - (a - b) + (1 - a * c)\"",
        "\"b = a * 0.3\", \"c = a - 7\", \"a = 4 - (c - (b - a)) * (a - c * b) - (b + c) * (a - 1) - (2 - b)\"",
        "\"b = a - 3\", \"for r in (1, 2, 3, 4, 5, 6, 7, 8, 9):\", \"    a = (r - a * b) - (a - r * b) * 0.1\"",
        /* chosen by masks that are decided */
        "\"e = exp(a * 0.1)\", \"p = where(i >= 0, e, 0)\", \"q = where(i < 0, 1, p)\", \"a = p * 2\", \"a = a + q\", "
        "\"s[...] = p\","
        "\"a = a + s[...] * q\"",
        "\"e = exp(a * 0.1)\", \"p = where(m, e, 0)\", \"a = p * a\", \"s[...] = a\", \"a = p + s[...]\", \"a = "
        "where(m, a, p) - p\""};
    (void)state;
    for (size_t i = 0; i < sizeof BODIES / sizeof *BODIES; i++) {
        char text[4096];
        snprintf(
            text, sizeof text,
            "{\"tileproof\": 1, \"name\": \"variables\", \"target\": \"tpu-v5e\", \"sizes\": {\"N\": {\"min\": 1}},"
            "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 4096)\"}],"
            "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"],"
            "\"block_shape\": [4096], \"index_map\": [\"i\"]}],"
            "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"],"
            "\"block_shape\": [4096], \"index_map\": [\"i\"]}],"
            "\"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [4096]}],"
            "\"kernel\": [\"m = i * 4096 + iota(int32, (4096,), 0) < N\", \"a = where(m, x[...], 0)\", %s, \"o[...] = "
            "a\"],"
            "\"reference\": [\"o = x\"], \"cases\": [{\"sizes\": {\"N\": 8192}}, {\"sizes\": {\"N\": 13000}}]}",
            BODIES[i]);
        reading r = {.l = load_text(text), .per_kernel = 1};
        if (!r.l->spec)
            fail_msg("body %zu does not type", i);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        assert_true(r.cases.len >= 2);
        for (uint32_t c = 0; c < r.cases.len; c++)
            as_one_by_one(&r.cases.at[c]);
        unload(r.l);
    }
}

/* ---- products of which a mask leaves out rows ---- */

/* "m" is where lanes of the rows from a to b are, of all columns or some; the lines say what "o" is made of. */
static void rows_that_no_mask_chooses_are_not_missed(void **state)
{
    static const char *const BODIES[] = {
        "\"o[...] = where(m, dot(w[...], x[...]), 0)\"",
        "\"o[...] = where(m, 1, dot(w[...], x[...]))\"",
        "\"y = dot(w[...], x[...])\", \"if i == 0:\", \"    o[...] = where(m, y, 0)\", \"elif i == 1:\", \"    o[...] "
        "= "
        "where(m, y, o[...])\", \"else:\", \"    o[...] = where(m, 2, y)\"",
        /* the other rows, too: by a second mask, by somebody else, by the same mask */
        "\"y = dot(w[...], x[...])\", \"o[...] = where(m, y, 0)\", \"o[...] = o[...] + where(m, 0, y)\"",
        "\"y = dot(w[...], x[...])\", \"o[...] = where(m, y, 0)\", \"o[...] = o[...] + y\"",
        "\"y = dot(w[...], x[...])\", \"o[...] = where(m, y, y * 2)\"",
        "\"y = dot(w[...], x[...])\", \"o[...] = where(m, y, y)\"",
        "\"z = where(m, dot(w[...], x[...]), 1)\", \"o[...] = z * z\", \"o[...] = o[...] + z\"",
        /* what was multiplied is another by the time of the look */
        "\"s[...] = w[...]\", \"z = where(m, dot(s[...], x[...]), 0)\", \"s[...] = w[...] * 0\", \"o[...] = z + s[0, "
        "0]\"",
        "\"s[...] = w[...]\", \"y = dot(s[...], x[...])\", \"s[...] = s[...] * 3\", \"o[...] = where(m, y, s[0, 0])\"",
        /* in turns, each with a product of its own, and with one for all */
        "\"o[...] = x[0:128, :] * 0\", \"for t in range(3):\", \"    y = dot(w[...], x[...])\", \"    o[...] = o[...] "
        "+ "
        "where(m | (rows == t), y, 1)\"",
        "\"y = dot(w[...], x[...])\", \"o[...] = y * 0\", \"for t in range(3):\", \"    o[...] = o[...] + where(rows "
        "// 8 "
        "== t, y, 0)\"",
        "\"y = dot(w[...], x[...])\", \"o[...] = w[:, 0:128] * 0\", \"for t in range(3):\", \"    o[...] = o[...] + "
        "where(rows // 8 "
        "== t, y, 0)\"",
        /* by way of a variable */
        "\"y = w[:, 0:128]\", \"if i > 0:\", \"    y = dot(w[...], x[...])\", \"o[...] = where(m, y, 0)\"",
        "\"y = w[:, 0:128]\", \"for t in range(2):\", \"    o[...] = where(m, y, t.astype(float32))\", \"    y = "
        "dot(w[...], x[...])\", \"o[...] = o[...] + "
        "where(m, 3, y)\"",
    };
    static const char *const MASKS[] = {"(rows >= 37 * i) & (rows < 37 * i + 5)",
                                        "(rows >= i) & (columns > rows + 100)",
                                        "rows < 0 * i",
                                        "rows == 5 * i + 2",
                                        "rows + columns == 1000",
                                        "rows + i < 9",
                                        "rows > 124 - columns // 100"};
    uint32_t cases = 0;
    (void)state;
    for (size_t i = 0; i < sizeof BODIES / sizeof *BODIES * (sizeof MASKS / sizeof *MASKS); i++) {
        char text[4096];
        snprintf(text, sizeof text,
                 "{\"tileproof\": 1, \"name\": \"rows\", \"target\": \"tpu-v5e\", \"sizes\": {\"K\": {\"min\": 128}},"
                 "\"grid\": [{\"axis\": \"i\", \"steps\": 3}],"
                 "\"inputs\": [{\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [384, \"K\"],"
                 "\"block_shape\": [128, \"K\"], \"index_map\": [\"i\", 0]}, {\"name\": \"x\", \"dtype\": \"float32\","
                 "\"shape\": [\"K\", 256], \"block_shape\": [\"K\", 128], \"index_map\": [0, \"i %% 2\"]}],"
                 "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [128, 128],"
                 "\"block_shape\": [128, 128], \"index_map\": [0, 0]}],"
                 "\"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [128, \"K\"]}],"
                 "\"kernel\": [\"if i == 0:\", \"    o[...] = w[:, 0:128]\", \"rows = iota(int32, (128, 128), 0)\", "
                 "\"columns = iota(int32, (128, 128), 1)\", \"m = %s\", %s],"
                 "\"reference\": [\"o = x[0:128, 0:128]\"],"
                 "\"cases\": [{\"sizes\": {\"K\": 128}}, {\"sizes\": {\"K\": 300}}]}",
                 MASKS[i % (sizeof MASKS / sizeof *MASKS)], BODIES[i / (sizeof MASKS / sizeof *MASKS)]);
        reading r = {.l = load_text(text), .per_kernel = 1};
        if (!r.l->spec)
            fail_msg("body %zu does not type", i);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        assert_true(r.cases.len >= 2);
        for (uint32_t c = 0; c < r.cases.len; c++, cases++)
            as_one_by_one(&r.cases.at[c]);
        unload(r.l);
    }
    print_message("engine: %u cases of masks over rows of products\n", cases);
}

/* ---- integers that are computed again ---- */

/* Does the plan leave out a statement whose number is there? */
static bool takes_again(tp_arena *a, const tp_case *c)
{
    const tp_kernel *k = c->kernel;
    tp_tensor arrays[OPERANDS];
    tp_plan plan;
    tp_trap trap;
    bool any = false;
    run_it(a, c, (tp_run_request){.in_order = true}, arrays);
    tp_run_request how = {.kernel = k, .env = c->env, .arrays = arrays, .in_order = true, .max_steps = 1000000};
    assert_int_equal(tp_machine_plan(a, &how, &plan, &trap), TP_OK);
    for (uint32_t v = 0; v < k->body->values.len; v++)
        any |= plan.values[v] == TP_MANNER_AGAIN;
    return any;
}

enum { NUMBERS = 4, INTEGER_BODIES = 300 };

static void put_number(tp_rng *rng, tp_buf *b, bool turns)
{
    uint64_t which = tp_rng_below(rng, turns ? 8 : 6);
    if (which < NUMBERS)
        tp_buf_printf(b, "n%d", (int)which);
    else
        tp_buf_printf(b, "%s", which < 6 ? "i" : "t");
}

/* Of so few kinds that many come again. */
static void put_integer(tp_rng *rng, tp_buf *b, bool turns)
{
    static const char *const KINDS[] = {" + 1", " % 3", " // 2", " * 2", " + ", " * "};
    uint64_t kind = tp_rng_below(rng, 6);
    put_number(rng, b, turns);
    tp_buf_printf(b, "%s", KINDS[kind]);
    if (kind >= 4)
        put_number(rng, b, turns);
}

static void put_lines(tp_rng *rng, tp_buf *b, unsigned depth, bool turns)
{
    for (uint64_t n = 2 + tp_rng_below(rng, 4); n-- > 0;) {
        uint64_t kind = tp_rng_below(rng, depth < 3 ? 6 : 4);
        tp_buf_printf(b, "\"%*s", (int)(4 * depth), "");
        if (kind < 4) {
            tp_buf_printf(b, "n%d = ", (int)tp_rng_below(rng, NUMBERS));
            put_integer(rng, b, turns);
            tp_buf_printf(b, "%s", "\", ");
            continue;
        }
        if (kind == 4 || turns) {
            tp_buf_printf(b, "%s", "if (");
            put_integer(rng, b, turns);
            tp_buf_printf(b, "%s", ") % 2 == 0:\", ");
            put_lines(rng, b, depth + 1, turns);
            if (tp_rng_below(rng, 2)) {
                tp_buf_printf(b, "\"%*selse:\", ", (int)(4 * depth), "");
                put_lines(rng, b, depth + 1, turns);
            }
        } else {
            tp_buf_printf(b, "%s", "for t in range(i + 2):\", ");
            put_lines(rng, b, depth + 1, true);
        }
    }
}

static void integers_are_the_first_that_are_the_same(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1);
    unsigned bodies = (unsigned)setting("TEST_TRIALS", INTEGER_BODIES), again = 0;
    (void)state;
    for (unsigned n = 0; n < bodies; n++) {
        tp_arena *a = tp_arena_new(0);
        tp_rng rng = tp_rng_new(seed, n);
        tp_buf b = {.arena = a};
        tp_buf_str(
            &b,
            TP_S("{\"tileproof\": 1, \"name\": \"integers\", \"target\": \"tpu-v5e\", \"sizes\": {\"N\": {\"min\": 1}},"
                 "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 128)\"}],"
                 "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"],"
                 "\"block_shape\": [128], \"index_map\": [\"i\"]}],"
                 "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"],"
                 "\"block_shape\": [128], \"index_map\": [\"i\"]}],"
                 "\"kernel\": ["));
        for (int v = 0; v < NUMBERS; v++)
            tp_buf_printf(&b, "\"n%d = i + %d\", ", v, v);
        put_lines(&rng, &b, 0, false);
        tp_buf_str(
            &b, TP_S("\"o[...] = x[...] + (n0 + 3 * n1 + 5 * n2 + 7 * n3).astype(float32)\"],"
                     "\"reference\": [\"o = x\"], \"cases\": [{\"sizes\": {\"N\": 128}}, {\"sizes\": {\"N\": 640}}]}"));
        reading r = {.l = load_text(tp_cstr(a, tp_buf_view(&b))), .per_kernel = 1};
        if (!r.l->spec)
            fail_msg("body %u does not type: %.*s", n, TP_FMT(tp_buf_view(&b)));
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        assert_true(r.cases.len >= 2);
        for (uint32_t c = 0; c < r.cases.len; c++)
            as_one_by_one(&r.cases.at[c]);
        again += takes_again(a, &r.cases.at[0]);
        unload(r.l);
        tp_arena_free(a);
    }
    print_message("engine: %u of %u bodies compute an integer again\n", again, bodies);
    assert_true(again > bodies / 2);
}

/* ---- products with one row, and of one term ---- */

/* Of what waits, which is larger than the first cache: it is multiplied as it is computed, and again where it is looked
 * at again. "u" is a row of x, "e" one of y, and s is what the turn before left. */
static void rows_are_multiplied_as_they_are_computed(void **state)
{
#define TURN(statement) "\"    " statement "\", "
    static const char *const BODIES[] = {
        TURN("k = s[...] * 0.9") TURN("w = e - dot(u, k)") TURN("s[...] = k + dot(u, w, contract=((0,), (0,)))"),
        TURN("k = s[...] - 0.5") TURN("s[...] = k + dot(u, e, contract=((0,), (0,)))") TURN("w = dot(u, k)")
            TURN("s[...] = s[...] + w"),
        TURN("k = s[...] * 0.5") TURN("w = dot(u, k + s[...])")
            TURN("s[...] = k * k + dot(u, w, contract=((0,), (0,)))"),
        /* each element waits for others than its own */
        TURN("k = s[3:4, :] + iota(int32, (112, 80), 0).astype(float32)")
            TURN("s[...] = k + dot(u, e, contract=((0,), (0,)))"),
        TURN("k = s[...] * 0.9") TURN("w = e + s[5:6, :]") TURN("s[...] = k + dot(u, w, contract=((0,), (0,)))"),
        /* -0 of the sum, and of the product */
        TURN("s[...] = s[...] * 0 - 0.0") TURN("k = s[...] * -1.0")
            TURN("s[...] = k + dot(u * 0, e * -1.0, contract=((0,), (0,)))"),
        /* many rows, which is another way */
        TURN("k = s[...] * 0.9") TURN("w = dot(x[...], k)") TURN("s[...] = k + slice(w, (0, 0), (1, 80))"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof BODIES / sizeof *BODIES; i++) {
        char text[4096];
        snprintf(text, sizeof text,
                 "{\"tileproof\": 1, \"name\": \"products\", \"target\": \"none\", \"sizes\": {\"T\": {\"min\": 1}},"
                 "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"T\", 112]},"
                 "{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [\"T\", 80]}],"
                 "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"T\", 80]},"
                 "{\"name\": \"last\", \"dtype\": \"float32\", \"shape\": [112, 80]}],"
                 "\"scratch\": [{\"name\": \"s\", \"dtype\": \"float32\", \"shape\": [112, 80]}],"
                 "\"kernel\": [\"s[...] = 0.25\", \"for r in range(T):\", \"    u = x[r:r + 1, :]\","
                 "\"    e = y[r:r + 1, :]\", %s\"    o[r:r + 1, :] = dot(u, s[...])\", \"last[...] = s[...]\"],"
                 "\"reference\": [\"o = y\", \"last = zeros((112, 80), float32)\"],"
                 "\"cases\": [{\"sizes\": {\"T\": 1}}, {\"sizes\": {\"T\": 5}}]}",
                 BODIES[i]);
        reading r = {.l = load_text(text), .per_kernel = 1};
        if (!r.l->spec)
            fail_msg("body %zu does not type", i);
        assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
        for (uint32_t c = 0; c < r.cases.len; c++)
            as_one_by_one(&r.cases.at[c]);
        unload(r.l);
    }
}

/* ---- parallel axes ---- */

/* The trap of a run in order; "": none. */
static tp_str trap_of(tp_arena *a, const char *grid, const char *length, const char *map)
{
    tp_str text = tp_printf(
        a,
        "{\"tileproof\": 1, \"name\": \"far\", \"target\": \"none\", \"grid\": [%s], \"inputs\": [{\"name\": \"x\", "
        "\"dtype\": \"int8\", \"shape\": [1]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"int8\", \"shape\": [%s], "
        "\"block_shape\": [1], \"index_map\": [\"%s\"]}], \"kernel\": [\"o[...] = x[...]\"]}",
        grid, length, map);
    loaded *l = load_text(text.p);
    assert_non_null(l->spec);
    const tp_kernel *k = l->spec->kernels[0];
    tp_tensor arrays[2];
    tp_trap trap = {.rule = ""};
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    for (uint32_t i = 0; i < 2; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        assert_true(tp_operand_dims(k, &k->operands[i], env, dims, &why));
        arrays[i] = tp_tensor_new(a, k->operands[i].dtype, k->operands[i].rank, dims);
    }
    tp_run_request r = {
        .kernel = k, .env = env, .arrays = arrays, .max_steps = 3000000, .in_order = true, .threads = 1};
    tp_status st = tp_machine_run(a, &r, &trap, NULL);
    tp_str rule = tp_printf(a, "%s", st == TP_OK ? "" : trap.rule);
    unload(l);
    return rule;
}

/* i = 0, j = 1000003 and i = 1, j = 0 write one element, on two cores; and so many axes that no product of large
 * numbers, one for each, has room. */
static void each_core_has_a_number_of_its_own(void **state)
{
    (void)state;
    tp_arena *a = tp_arena_new(0);
    tp_str many = TP_S(""), map = TP_S("0");
    const char *far = "{\"axis\": \"i\", \"steps\": 2, \"semantics\": \"parallel\"}, {\"axis\": \"j\", \"steps\": "
                      "1000004, \"semantics\": \"parallel\"}";
    assert_string_equal(trap_of(a, far, "2000007", "i * 1000003 + j").p, "TP403");
    assert_string_equal(trap_of(a, far, "2000008", "i * 1000004 + j").p, "");
    for (int x = 0; x < 8; x++) {
        many = tp_printf(a, "%.*s%s{\"axis\": \"x%d\", \"steps\": 3, \"semantics\": \"parallel\"}", TP_FMT(many),
                         x ? ", " : "", x);
        map = tp_printf(a, "(%.*s) * 3 + x%d", TP_FMT(map), x);
    }
    assert_string_equal(trap_of(a, many.p, "6561", map.p).p, "");
    tp_arena_free(a);
}

/* ---- kernels that nobody should have let run ---- */

/* A receipt that somebody forged lets any kernel run, on memory of the caller's. Each array has its own here, which
 * `MODE=asan` watches to the byte; what the machine says of the kernel is for others to judge. */
static bool runs_or_traps(const tp_case *c, bool in_order)
{
    const tp_kernel *k = c->kernel;
    tp_arena *a = tp_arena_new((size_t)256 << 20);
    uint32_t n = k->ninputs + k->noutputs;
    tp_tensor arrays[OPERANDS];
    tp_trap trap;
    assert_true(n <= OPERANDS);
    for (uint32_t i = 0; i < n; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        tp_tensor *t = &arrays[i];
        assert_true(tp_operand_dims(k, &k->operands[i], c->env, dims, &why));
        *t = (tp_tensor){.dtype = k->operands[i].dtype, .rank = k->operands[i].rank, .n = 1};
        for (uint32_t d = 0; d < t->rank; d++)
            t->n *= (size_t)(t->dims[d] = dims[d]);
        t->data = malloc(t->n * tp_dtype_size(t->dtype));
        if (i < k->ninputs)
            tp_fill_input(k, c->env, i, t, TP_INPUT_NORMAL, 8, c->seed);
        else
            memset(t->data, 0x55, t->n * tp_dtype_size(t->dtype));
    }
    tp_run_request r = {.kernel = k,
                        .env = c->env,
                        .arrays = arrays,
                        .max_steps = 10000,
                        .in_order = in_order,
                        .seed = c->seed,
                        .threads = in_order ? 2 : 1,
                        .share_from = 1,
                        .short_row = 1,
                        .last_cache = 1,
                        .strip = in_order ? 0 : 16};
    tp_status st = tp_machine_run(a, &r, &trap, NULL);
    assert_true(st == TP_OK || st == TP_E_TRAP || st == TP_E_LIMIT || st == TP_E_MEMORY);
    for (uint32_t i = 0; i < n; i++)
        free(arrays[i].data);
    tp_arena_free(a);
    return st == TP_E_TRAP;
}

/* A call whose arrays cannot be so is refused before anything runs. */
static bool has_arrays(const tp_case *c)
{
    const tp_kernel *k = c->kernel;
    bool all = true;
    for (uint32_t i = 0; all && i < k->ninputs + k->noutputs; i++) {
        int64_t dims[TP_MAX_RANK];
        tp_str why;
        all = tp_operand_dims(k, &k->operands[i], c->env, dims, &why);
    }
    return all;
}

static void forged_receipts_reach_no_other_memory(void **state)
{
    static const char *const PATTERNS[] = {"examples/broken/*.tile.json", "tests/rules/*/bad_*.tile.json"};
    uint32_t runs = 0, traps = 0;
    (void)state;
    for (size_t p = 0; p < sizeof PATTERNS / sizeof *PATTERNS; p++) {
        glob_t g;
        assert_int_equal(glob(PATTERNS[p], 0, NULL, &g), 0);
        for (size_t i = 0; i < g.gl_pathc; i++) {
            reading r = {.l = load_file(g.gl_pathv[i]), .per_kernel = 1};
            bool readable = r.l->spec && tp_try(r.l->arena, read_cases, &r) == TP_OK;
            for (uint32_t c = 0; readable && c < r.cases.len; c++) {
                const tp_case *x = &r.cases.at[c];
                if (!x->kernel->body || tp_elements_of(x->kernel, x->env) > MOST_ELEMENTS || !has_arrays(x))
                    continue;
                runs += 2;
                traps += runs_or_traps(x, false) + runs_or_traps(x, true);
            }
            unload(r.l);
        }
        globfree(&g);
    }
    print_message("engine: %u runs of kernels that rules refute, %u traps, nothing else touched\n", runs, traps);
    assert_true(runs > 200 && traps > 100);
}

/* ---- inputs of a case that is only to trap ---- */

static void inputs_at(reading *r, const tp_case *c)
{
    enum { DRAWN = 1 << 16 };
    const tp_kernel *k = c->kernel;
    tp_arena *a = tp_arena_new(0);
    for (int repeated = 0; repeated < 2; repeated++) {
        tp_equiv_options o = {.repeated = repeated};
        tp_trial x = {a, r->l->arena, c, &o, NULL};
        tp_sides e = {0};
        tp_str why;
        assert_true(tp_trial_arrays(&x, TP_INPUT_NORMAL, 8, &e, &why));
        for (uint32_t i = 0; i < k->ninputs; i++) {
            const tp_tensor *got = &e.arrays[i];
            size_t size = tp_dtype_size(got->dtype), n = repeated && got->n > DRAWN ? DRAWN : got->n;
            tp_tensor want = tp_tensor_new(a, got->dtype, 1, (int64_t[]){(int64_t)n});
            tp_fill_input(k, c->env, i, &want, TP_INPUT_NORMAL, 8, c->seed);
            for (size_t at = 0; at < got->n; at += n)
                assert_memory_equal((char *)got->data + at * size, want.data,
                                    (n < got->n - at ? n : got->n - at) * size);
        }
    }
    tp_arena_free(a);
}

/* Around the number of elements that are drawn, and at several times as many. */
static void large_inputs_repeat_their_first_elements(void **state)
{
    static const char TEXT[] =
        "{\"tileproof\": 1, \"name\": \"k\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": [],"
        "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"]},"
        "{\"name\": \"y\", \"dtype\": \"bfloat16\", \"shape\": [\"N\", 3]}, {\"name\": \"z\", \"dtype\": \"int8\", "
        "\"shape\": [\"N\"]}],"
        "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"]}], \"kernel\": [\"o[...] = "
        "x[...]\"],"
        "\"reference\": [\"o = x\"], \"cases\": [{\"sizes\": {\"N\": 65535}}, {\"sizes\": {\"N\": 65536}}, {\"sizes\": "
        "{\"N\": 65537}},"
        "{\"sizes\": {\"N\": 131072}}, {\"sizes\": {\"N\": 200001}}]}";
    (void)state;
    reading r = {.l = load_text(TEXT), .per_kernel = 1};
    assert_non_null(r.l->spec);
    assert_int_equal(tp_try(r.l->arena, read_cases, &r), TP_OK);
    assert_true(r.cases.len >= 5);
    for (uint32_t c = 0; c < r.cases.len; c++)
        inputs_at(&r, &r.cases.at[c]);
    unload(r.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(large_inputs_repeat_their_first_elements),
                                       cmocka_unit_test(the_gallery_has_one_answer),
                                       cmocka_unit_test(an_alias_ends_alike_in_any_memory),
                                       cmocka_unit_test(products_are_added_as_by_two_statements),
                                       cmocka_unit_test(each_core_has_a_number_of_its_own),
                                       cmocka_unit_test(variables_are_what_was_assigned_last),
                                       cmocka_unit_test(rows_that_no_mask_chooses_are_not_missed),
                                       cmocka_unit_test(integers_are_the_first_that_are_the_same),
                                       cmocka_unit_test(rows_are_multiplied_as_they_are_computed),
                                       cmocka_unit_test(forged_receipts_reach_no_other_memory)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
