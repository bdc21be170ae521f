/* Inputs of integers of which "values" says between what they lie: what the analyzer says for a box of sizes and all
 * such contents, against what the machine does for every one of them. "Proven" and a trap of that rule is unsound. And
 * what is drawn lies inside. The seed is printed; TEST_SEED and TEST_TRIALS change it. */
#define _GNU_SOURCE /* memmem */
#include "tests/unit/support.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "demand/demand.h"
#include "kernels/machine/machine.h"
#include "kernels/trial/equiv.h"
#include "spec/range.h"

enum { TRIALS = 150, LOWEST = -2, HIGHEST = 3, ELEMENTS = 3 };

typedef struct maker {
    tp_arena *a;
    tp_rng rng;
} maker;

static const char *one_of(maker *g, const char *const *list, int n)
{
    return list[tp_rng_below(&g->rng, (uint64_t)n)];
}
#define ONE_OF(g, ...)                                                                                                 \
    one_of(g, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

/* A column x of integers, read as a whole, by blocks, or by a block that goes over its end. */
static const char *make_spec(maker *g)
{
    const char *values =
        ONE_OF(g, "\"min\": 0, \"max\": \"M - 1\"", "\"min\": 0, \"max\": 2", "\"min\": 1, \"max\": \"M\"",
               "\"min\": 0", "\"max\": \"M - 1\"", "\"min\": -1, \"max\": \"M - 2\"",
               "\"min\": \"M - 1\", \"max\": \"2 * M - 3\"", "\"min\": 1");
    const char *window = ONE_OF(g, "", ", \"block_shape\": [1], \"index_map\": [\"i\"]",
                                ", \"block_shape\": [2], \"index_map\": [\"i // 2\"]",
                                ", \"block_shape\": [1], \"index_map\": [\"M - 1 - i\"]");
    bool whole = !window[0];
    const char *at = whole ? ONE_OF(g, "x[i]", "x[0]", "x[M - 1 - i]", "x[min(i, 1)]", "x[x[i].astype(int32)]")
                           : ONE_OF(g, "x[0]", "x[i % 2]", "x[0]");
    const char *index = ONE_OF(g, "v", "v", "v + 1", "v - 1", "maximum(v, 0)", "minimum(v, 2)", "2 - v", "v + v",
                               "v - v", "v * v", "v % 3", "3 // v", "where(v > 0, v - 1, 0)", "(i if v > 0 else 0)");
    const char *body =
        ONE_OF(g, "\"o[...] = s[ds(AT, 1)]\"", "\"o[...] = s[ds(AT, 1)]\"",
               "\"if v >= 0:\", \"    o[...] = s[ds(AT, 1)]\", \"else:\", \"    o[...] = 0\"",
               "\"if i == v:\", \"    o[...] = s[ds(0, 1)]\", \"if i != v:\", \"    o[...] = 1\"",
               "\"o[...] = 0\", \"for e in range(0, v):\", \"    o[...] += s[ds(e, 1)]\"",
               "\"w = v\", \"for e in range(2):\", \"    w = w + v - AT\", \"o[...] = s[ds(w, 1)]\"",
               "\"w = v\", \"o[...] = 0\", \"for e in range(2):\", \"    u = x[min(e, READ)].astype(int32)\", \"    "
               "o[...] += s[ds(max(u - w, 0), 1)]\", \"    w = u\"",
               "\"o[...] = where(iota(int32, (1,), 0) < v, 0, s[ds(0, 1)])\"",
               "\"o[...] = take(s[...], full((1,), AT, int32), 0)\"", "\"if AT == 0:\", \"    o[...] = 1\"");
    tp_buf b = {.arena = g->a}, text = {.arena = g->a};
    for (const char *p = body; *p; p++)
        if (strncmp(p, "AT", 2) == 0) {
            tp_buf_c(&text, index);
            p++;
        } else if (strncmp(p, "READ", 4) == 0) {
            tp_buf_c(&text, whole ? "M - 1" : "0");
            p += 3;
        } else
            tp_buf_printf(&text, "%c", *p);
    tp_buf_printf(
        &b,
        "{\"tileproof\": 1, \"name\": \"random\", \"target\": \"none\", \"sizes\": {\"M\": {\"min\": %llu, \"max\": "
        "3}}, "
        "\"grid\": [{\"axis\": \"i\", \"steps\": \"M\", \"semantics\": \"%s\"}], \"inputs\": [{\"name\": \"x\", "
        "\"dtype\": \"%s\", \"shape\": [\"M\"]%s, \"memory_space\": \"smem\", \"values\": {%s}}], \"outputs\": "
        "[{\"name\": \"o\", "
        "\"dtype\": \"float32\", \"shape\": [\"M\"], \"block_shape\": [1], \"index_map\": [\"i\"]}], \"scratch\": "
        "[{\"name\": "
        "\"s\", \"dtype\": \"float32\", \"shape\": [3]}], \"kernel\": [\"s[...] = 1\", \"v = %s%s\", %.*s]}",
        (unsigned long long)(1 + tp_rng_below(&g->rng, 2)), ONE_OF(g, "arbitrary", "parallel"),
        ONE_OF(g, "int32", "int32", "int8"), window, values, at, ONE_OF(g, ".astype(int32)", ".astype(int32)"),
        TP_FMT(tp_buf_view(&text)));
    return tp_buf_view(&b).p;
}

typedef struct tally {
    unsigned specs, refused, points, traps, proven, by_values, violated, unknown, unsound;
} tally;

static void judge_point(tally *t, loaded *l, const tp_analysis_result *r, int64_t *env, const int64_t *contents,
                        const char *spec, uint64_t trial)
{
    const tp_kernel *k = l->spec->kernels[0];
    tp_arena *a = tp_arena_new(0);
    int64_t m = env[k->sizes[0].sym];
    tp_tensor arrays[2] = {tp_tensor_new(a, k->operands[0].dtype, 1, &m), tp_tensor_new(a, TP_F32, 1, &m)};
    tp_trap trap;
    tp_str why;
    for (int64_t e = 0; e < m; e++)
        tp_put_i64(arrays[0].dtype, arrays[0].data, (size_t)e, contents[e]);
    if (tp_input_holds(a, k, 0, env, &arrays[0], &why)) {
        tp_run_request q = {.kernel = k, .env = env, .arrays = arrays, .seed = trial, .max_steps = 1000};
        tp_status st = tp_machine_run(a, &q, &trap, NULL);
        assert_true(st == TP_OK || st == TP_E_TRAP);
        t->points++;
        t->traps += st == TP_E_TRAP;
        if (st == TP_E_TRAP && !open_for(r, trap.rule) && t->unsound++ < 3)
            printf("trial %llu: %s proven, but %.*s with [%lld, %lld, %lld], M = %lld\n%s\n", (unsigned long long)trial,
                   trap.rule, TP_FMT(trap.message), (long long)contents[0], (long long)contents[1],
                   (long long)contents[2], (long long)m, spec);
    }
    tp_arena_free(a);
}

static void one_spec(maker *g, tally *t, uint64_t trial)
{
    const char *spec = make_spec(g);
    loaded *l = load_random(spec, &t->refused);
    if (!l)
        return;
    tp_analysis_result r = analyze(l, (tp_analysis_options){.prover = {.rlimit = 100000, .no_solver = trial % 2 != 0}});
    t->specs++;
    for (uint32_t i = 0; i < r.findings.len; i++) {
        const tp_finding *f = &r.findings.at[i];
        t->proven += f->verdict == TP_PROVEN;
        t->by_values +=
            f->verdict == TP_PROVEN && f->rests_on.n && memmem(f->rests_on.p, f->rests_on.n, "values of x", 11);
        t->violated += f->verdict == TP_VIOLATED;
        t->unknown += f->verdict == TP_UNKNOWN;
    }
    const tp_kernel *k = l->spec->kernels[0];
    int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs)), c[ELEMENTS];
    for (env[k->sizes[0].sym] = k->sizes[0].min; env[k->sizes[0].sym] <= ELEMENTS; env[k->sizes[0].sym]++)
        for (c[0] = LOWEST; c[0] <= HIGHEST; c[0]++)
            for (c[1] = LOWEST; c[1] <= HIGHEST; c[1]++)
                for (c[2] = LOWEST; c[2] <= HIGHEST; c[2]++)
                    judge_point(t, l, &r, env, c, spec, trial);
    unload(l);
}

static void all_contents(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    tally t = {0};
    for (uint64_t trial = 0; trial < trials; trial++) {
        maker g = {.a = tp_arena_new(0), .rng = tp_rng_new(seed, trial)};
        one_spec(&g, &t, trial);
        tp_arena_free(g.a);
    }
    print_message("values: seed %llu: %u specs (%u refused), %u contents, %u trap; %u proven (%u by \"values\"), %u "
                  "violated, %u unknown; "
                  "%u unsound\n",
                  (unsigned long long)seed, t.specs, t.refused, t.points, t.traps, t.proven, t.by_values, t.violated,
                  t.unknown, t.unsound);
    assert_int_equal(t.unsound, 0);
    assert_int_equal(t.refused, 0);
    assert_true(t.by_values * 8 >= t.specs);
}

/* ---- what is drawn ---- */

static const struct {
    const char *dtype, *values;
} INPUTS[] = {
    {"int32", "\"min\": 0, \"max\": \"M - 1\""},
    {"int32", "\"min\": 3"},
    {"int32", "\"max\": -5"},
    {"int8", "\"min\": 100"},
    {"uint8", "\"max\": 3"},
    {"int32", "\"min\": 40000, \"max\": 50000"},
    {"float32", "\"min\": 0, \"max\": 1"},
    {"float32", "\"min\": 1e-6"},
    {"bfloat16", "\"min\": 0.1, \"max\": 0.3"},
    {"float16", "\"max\": -0.7"},
    {"float32", "\"min\": 2, \"max\": 2"},
    {"float64", "\"min\": -3.5, \"max\": \"M\""},
    {"float8_e4m3fn", "\"min\": 0.5, \"max\": 9"},
    {"uint32", "\"min\": 1"},
    {"float32", "\"min\": 1e30, \"max\": 2e30"},
};

/* Of all families, both generators; what is drawn differs, and comes near both ends. */
static void drawn_inside(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof INPUTS / sizeof *INPUTS; n++) {
        char spec[600];
        snprintf(spec, sizeof spec,
                 "{\"tileproof\": 1, \"name\": \"n\", \"sizes\": {\"M\": {\"min\": 1}}, \"inputs\": [{\"name\": \"x\", "
                 "\"dtype\": "
                 "\"%s\", \"shape\": [\"M\"], \"values\": {%s}}], \"outputs\": [{\"name\": \"o\", \"dtype\": "
                 "\"float32\", \"shape\": "
                 "[\"M\"]}]}",
                 INPUTS[n].dtype, INPUTS[n].values);
        loaded *l = load_text(spec);
        assert_non_null(l->spec);
        const tp_kernel *k = l->spec->kernels[0];
        int64_t *env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs)), m = 500;
        env[k->sizes[0].sym] = m;
        tp_range r = tp_input_range(k, 0, env);
        tp_tensor t = tp_tensor_new(l->arena, k->operands[0].dtype, 1, &m);
        double least = HUGE_VAL, most = -HUGE_VAL;
        tp_str why = {NULL, 0};
        for (int family = 0; family < TP_INPUT_FAMILIES; family++) {
            tp_fill_input(k, env, 0, &t, (tp_input_family)family, 8, 5);
            if (!tp_input_holds(l->arena, k, 0, env, &t, &why))
                fail_msg("%s: %.*s", tp_input_name((tp_input_family)family), TP_FMT(why));
            for (size_t i = 0; i < t.n; i++) {
                least = fmin(least, tp_is_float(t.dtype) ? tp_get_f64(t.dtype, t.data, i)
                                                         : (double)tp_get_i64(t.dtype, t.data, i));
                most = fmax(most, tp_is_float(t.dtype) ? tp_get_f64(t.dtype, t.data, i)
                                                       : (double)tp_get_i64(t.dtype, t.data, i));
            }
        }
        tp_demand_array x = tp_demand_array_of(t.dtype, 1, &m, 0);
        x.values = r;
        for (int family = 0; family < TP_DEMAND_FAMILIES; family++)
            for (uint64_t i = 0; i < 500; i++) {
                tp_demand_options o = {.family = (tp_demand_family)family,
                                       .seed = i,
                                       .way = (double)(i % 3) / 2,
                                       .end = (tp_demand_end)(i % TP_DEMAND_ENDS)};
                double v = tp_demand_on_way(&x, &o, 0, i);
                if (!(v >= r.lo && v <= r.hi))
                    fail_msg("%s {%s}: %g on demand", INPUTS[n].dtype, INPUTS[n].values, v);
            }
        bool closed = isfinite(r.lo) && isfinite(r.hi);
        assert_true(!closed || (least <= r.lo + (r.hi - r.lo) / 8 && most >= r.hi - (r.hi - r.lo) / 8));
        assert_true(most > least || r.lo == r.hi);
        unload(l);
    }
}

/* Normal inputs that are computed by vectors are those that are drawn one by one. */
static void normals_are_those_drawn(void **state)
{
    static const tp_dtype TYPES[] = {TP_F32, TP_BF16, TP_F16, TP_F64, TP_F8E4M3FN};
    enum { N = 100003 };
    tp_arena *a = tp_arena_new(0);
    (void)state;
    for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++) {
        tp_tensor x = tp_tensor_new(a, TYPES[t], 1, (int64_t[]){N}),
                  one = tp_tensor_new(a, TYPES[t], 1, (int64_t[]){N});
        tp_rng rng = tp_rng_new(77, t);
        tp_fill(&x, TP_INPUT_NORMAL, 0, 77, t);
        for (size_t i = 0; i < N; i++)
            tp_put_f64(TYPES[t], one.data, i, tp_dtype_moderate(TYPES[t], tp_rng_normal(&rng)));
        assert_memory_equal(x.data, one.data, N * tp_dtype_size(TYPES[t]));
    }
    tp_arena_free(a);
}

/* What families make of normal numbers, too: in a float type they are the doubles of the same draws, rounded. */
static void families_are_rounded_doubles(void **state)
{
    static const tp_dtype TYPES[] = {TP_F32, TP_BF16, TP_F16, TP_F8E4M3FN};
    enum { ROWS = 40, COLUMNS = 257, N = ROWS * COLUMNS };
    tp_arena *a = tp_arena_new(0);
    (void)state;
    for (int family = 0; family < TP_INPUT_FAMILIES; family++)
        for (size_t t = 0; t < sizeof TYPES / sizeof *TYPES; t++) {
            int64_t dims[] = {ROWS, COLUMNS};
            tp_tensor x = tp_tensor_new(a, TYPES[t], 2, dims), one = tp_tensor_new(a, TYPES[t], 2, dims),
                      exact = tp_tensor_new(a, TP_F64, 2, dims);
            tp_fill(&x, (tp_input_family)family, 8, 78, t);
            tp_fill(&exact, (tp_input_family)family, 8, 78, t);
            for (size_t i = 0; i < N; i++)
                tp_put_f64(TYPES[t], one.data, i, tp_dtype_moderate(TYPES[t], ((const double *)exact.data)[i]));
            if (memcmp(x.data, one.data, N * tp_dtype_size(TYPES[t])) != 0)
                fail_msg("%s inputs of %s", tp_input_name((tp_input_family)family), tp_dtype_info(TYPES[t])->name);
        }
    tp_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_contents), cmocka_unit_test(drawn_inside),
                                       cmocka_unit_test(normals_are_those_drawn),
                                       cmocka_unit_test(families_are_rounded_doubles)};
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
