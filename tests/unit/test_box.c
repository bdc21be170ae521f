/* Small boxes, exhaustively: the rules on index maps against brute enumeration
 * and against the machine. A case is one spec with concrete sizes; every case
 * is decided three times (analyzer, enumeration here, machine) and all must
 * agree. Input maps: TP101, every family once more with symbolic sizes, and
 * with Z3 alone. Output maps: TP101, TP401, TP402 and TP403 together.
 * TEST_BOX=small: five times as many; large: fifty times. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "base/rng.h"
#include "kernels/machine/machine.h"

static const char *const STEPS[] = {"cdiv(D, b)", "D // b", "D", "G", "cdiv(D, b) + 1", "cdiv(D, 2 * b)"};
/* index maps over the first A axes of i, j, k */
static const char *const MAPS[3][24] = {
    {"0",
     "1",
     "i",
     "i + 1",
     "i - 1",
     "2 * i",
     "cdiv(D, b) - 1 - i",
     "D // b - 1 - i",
     "i // 2",
     "i % 2",
     "(3 * i + 1) % 2",
     "i // b",
     "i % b",
     "i * b",
     "i % cdiv(D, b)",
     "min(i, cdiv(D, b) - 1)",
     "max(i - 1, 0)",
     "i if i < cdiv(D, b) else 0",
     "i // G",
     "i % G",
     "(i + G) // 2",
     "i & 1",
     "i >> 1",
     "align_up(i, 2) // 2"},
    {"i + j", "j", "i * G + j", "2 * i + j", "i - j", "(i + j) // 2", "(i + j) % 3", "i // G + j // G",
     "(i * G + j) // G", "(i * G + j) % cdiv(D, b)", "min(i, j)", "max(i, j)", "i if j == 0 else 0", "i * j",
     "j if i > 0 else i", "(i * G + j) // (G + 1)", "i + j // 2", "cdiv(i + j, 2)", NULL},
    {"i + j + k", "i + k", "(i * G + j) // G + k", "k * i", "(i + 2 * j + 3 * k) % cdiv(D, b)", "min(i, j + k)",
     "i if k == 0 else j", "i + k // 2", "k", "(i + j) // (k + 1)", NULL}};

typedef struct box {
    int d, g, b;
} box;
static const box INPUTS[] = {{4, 3, 3}, {7, 6, 4}, {18, 10, 6}}, OUTPUTS[] = {{3, 3, 2}, {5, 4, 3}, {11, 7, 5}};
static const int ALIASES[] = {3000, 12000, 200000};

/* Which of them: by default, small, large. */
static int extent(void)
{
    const char *wanted = getenv("TEST_BOX");
    return wanted && strcmp(wanted, "large") == 0 ? 2 : wanted && strcmp(wanted, "small") == 0 ? 1 : 0;
}

static void spec_text(char *out, size_t room, int naxes, const char *steps, const char *map, int b, const char *d,
                      const char *g)
{
    char grid[512];
    size_t n = (size_t)snprintf(grid, sizeof grid, "{\"axis\":\"i\",\"steps\":\"%s\"}", steps);
    if (naxes > 1)
        n += (size_t)snprintf(grid + n, sizeof grid - n, ",{\"axis\":\"j\",\"steps\":\"G\"}");
    if (naxes > 2)
        snprintf(grid + n, sizeof grid - n, ",{\"axis\":\"k\",\"steps\":2}");
    snprintf(
        out, room,
        "{\"tileproof\":1,\"name\":\"box\",\"target\":\"none\",\"sizes\":{\"D\":%s,\"G\":%s,\"b\":%d},\"grid\":[%s],"
        "\"inputs\":[{\"name\":\"x\",\"dtype\":\"int8\",\"shape\":[\"D\"],\"block_shape\":[\"b\"],\"index_map\":[\"%"
        "s\"]}],"
        "\"outputs\":[{\"name\":\"o\",\"dtype\":\"int8\",\"shape\":[1]}],\"kernel\":[\"o[...] = 1\"]}",
        d, g, b, grid, map);
}

/* 1: some step's window misses the array; by looping over the steps. */
static int brute(const tp_kernel *k, int64_t d, int64_t g, int64_t b)
{
    int64_t env[64] = {0}, steps[3] = {1, 1, 1};
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE)
            env[k->sizes[i].sym] = tp_str_is(k->sizes[i].name, "D") ? d : g;
    for (uint32_t a = 0; a < k->naxes; a++)
        assert_int_equal(tp_expr_eval(k->exprs, k->axes[a].steps, env, &steps[a]), TP_EVAL_OK);
    for (int64_t i = 0; i < steps[0]; i++)
        for (int64_t j = 0; j < steps[1]; j++)
            for (int64_t l = 0; l < steps[2]; l++) {
                int64_t at[3] = {i, j, l}, index;
                for (uint32_t a = 0; a < k->naxes; a++)
                    env[k->axes[a].sym] = at[a];
                assert_int_equal(tp_expr_eval(k->exprs, k->operands[0].dims[0].index, env, &index), TP_EVAL_OK);
                if (index * b < 0 || index * b >= d)
                    return 1;
            }
    return 0;
}

static int machine(const loaded *l, int64_t d)
{
    const tp_kernel *k = l->spec->kernels[0];
    tp_tensor arrays[2] = {tp_tensor_new(l->arena, TP_I8, 1, &d), tp_tensor_new(l->arena, TP_I8, 1, &(int64_t){1})};
    int64_t env[64] = {0};
    tp_run_request r = {.kernel = k, .env = env, .arrays = arrays, .max_steps = 100000};
    tp_trap trap;
    tp_status st = tp_machine_run(l->arena, &r, &trap, NULL);
    assert_true(st == TP_OK || st == TP_E_TRAP);
    return st == TP_E_TRAP && strcmp(trap.rule, "TP101") == 0;
}

static tp_verdict verdict(loaded *l, tp_prover_options o, const tp_witness **w)
{
    tp_analysis_result r = analyze_with(l, "TP101", o);
    assert_int_equal(r.findings.len, 1);
    *w = r.findings.at[0].witness;
    return r.findings.at[0].verdict;
}

typedef struct tally {
    unsigned cases, families, wrong, unknown, proven, z3_only, z3_unknown, open[4];
} tally;

static void concrete_cases(tally *t, int naxes, const char *steps, const char *map, int b, bool *fails)
{
    char text[2048], ds[16], gs[16];
    const box *most = &INPUTS[extent()];
    for (int d = 1; d <= most->d; d++)
        for (int g = 1; g <= most->g; g++) {
            snprintf(ds, sizeof ds, "%d", d);
            snprintf(gs, sizeof gs, "%d", g);
            spec_text(text, sizeof text, naxes, steps, map, b, ds, gs);
            loaded *l = load_text(text);
            const tp_witness *w;
            assert_non_null(l->spec);
            int truth = brute(l->spec->kernels[0], d, g, b);
            tp_verdict v = verdict(l, (tp_prover_options){.no_solver = true}, &w);
            *fails |= truth;
            t->cases++;
            if (v != (truth ? TP_VIOLATED : TP_PROVEN) || machine(l, d) != truth) {
                if (t->wrong++ < 5)
                    print_message("wrong: %s, %s, b=%d, D=%d, G=%d: truth %d, verdict %s\n", steps, map, b, d, g, truth,
                                  tp_verdict_name(v));
            }
            unload(l);
        }
}

static void symbolic_family(tally *t, int naxes, const char *steps, const char *map, int b, bool fails, bool solver)
{
    char text[2048], ds[40], gs[40];
    const box *most = &INPUTS[extent()];
    snprintf(ds, sizeof ds, "{\"min\":1,\"max\":%d}", most->d);
    snprintf(gs, sizeof gs, "{\"min\":1,\"max\":%d}", most->g);
    spec_text(text, sizeof text, naxes, steps, map, b, ds, gs);
    loaded *l = load_text(text);
    const tp_witness *w = NULL;
    tp_verdict v = verdict(l, (tp_prover_options){.only_solver = solver, .rlimit = 100000}, &w);
    t->families++;
    t->proven += v == TP_PROVEN && !solver;
    t->unknown += v == TP_UNKNOWN && !solver;
    t->z3_only += solver;
    t->z3_unknown += v == TP_UNKNOWN && solver;
    bool wrong = (v == TP_PROVEN && fails) || (v == TP_VIOLATED && !fails);
    if (v == TP_VIOLATED && !wrong)
        wrong = brute(l->spec->kernels[0], w->sizes.at[0].value, w->sizes.at[1].value, b) != 1;
    if (wrong && t->wrong++ < 5)
        print_message("wrong family: %s, %s, b=%d: fails %d, verdict %s\n", steps, map, b, fails, tp_verdict_name(v));
    unload(l);
}

static void boxes(void **state)
{
    tally t = {0};
    unsigned number = 0;
    (void)state;
    for (int naxes = 1; naxes <= 3; naxes++)
        for (int family = 0; family < naxes; family++)
            for (int m = 0; m < 24 && MAPS[family][m]; m++)
                for (size_t s = 0; s < sizeof STEPS / sizeof *STEPS; s++)
                    for (int b = 1; b <= INPUTS[extent()].b; b++) {
                        bool fails = false;
                        concrete_cases(&t, naxes, STEPS[s], MAPS[family][m], b, &fails);
                        symbolic_family(&t, naxes, STEPS[s], MAPS[family][m], b, fails, false);
                        if (number++ % 11 == 0)
                            symbolic_family(&t, naxes, STEPS[s], MAPS[family][m], b, fails, true);
                    }
    print_message("boxes: %u cases, %u families (%u proven, %u unknown; %u by Z3 alone, %u unknown there), %u wrong\n",
                  t.cases, t.families, t.proven, t.unknown, t.z3_only, t.z3_unknown, t.wrong);
    assert_int_equal(t.wrong, 0);
    assert_int_equal(t.unknown, 0);
    assert_true(t.cases >= (extent() ? 100000 : 20000));
}

/* ---- output maps ---- */

static const char *const OUTPUT_RULES[] = {"TP101", "TP401", "TP402", "TP403"};

/* Which of OUTPUT_RULES is broken, by walking the grid; false when it has no
 * steps, which is TP007's. */
static bool brute_output(const tp_kernel *k, int64_t d, int64_t b, bool *broken)
{
    int64_t env[64] = {0}, steps[2] = {1, 1}, blocks = (d + b - 1) / b, run_of[32] = {0}, parallel_of[32] = {0};
    int64_t current = -1, parallel_now = -1;
    memset(broken, 0, 4 * sizeof *broken);
    for (uint32_t a = 0; a < k->naxes; a++)
        assert_int_equal(tp_expr_eval(k->exprs, k->axes[a].steps, env, &steps[a]), TP_EVAL_OK);
    for (int64_t i = 0; i < steps[0]; i++)
        for (int64_t j = 0; j < steps[1]; j++) {
            int64_t at[2] = {i, j}, index, key = 0;
            for (uint32_t a = 0; a < k->naxes; a++) {
                env[k->axes[a].sym] = at[a];
                key = k->axes[a].parallel ? key * 1000 + at[a] + 1 : key;
            }
            assert_int_equal(tp_expr_eval(k->exprs, k->operands[0].dims[0].index, env, &index), TP_EVAL_OK);
            if (index < 0 || index >= blocks) {
                broken[0] = true;
                return true;
            }
            if (index != current || key != parallel_now) { /* a run begins */
                broken[2] |= run_of[index] && parallel_of[index] == key;
                broken[3] |= run_of[index] && parallel_of[index] != key;
                run_of[index] = 1;
                parallel_of[index] = key;
            }
            current = index;
            parallel_now = key;
        }
    for (int64_t n = 0; n < blocks; n++)
        broken[1] |= !run_of[n];
    return steps[0] > 0 && steps[1] > 0;
}

/* A race may hide a return to a window, and the other way round. */
static bool agree(const bool *truth, const bool *said)
{
    if (truth[0] || said[0])
        return truth[0] == said[0];
    return truth[1] == said[1] && truth[3] == said[3] && (truth[3] || truth[2] == said[2]);
}

static void output_case(tally *t, int naxes, const char *steps, const char *map, int d, int g, int b, int parallel)
{
    char text[2048], fast[64] = "";
    bool truth[4], said[4] = {false}, open = false;
    if (naxes > 1)
        snprintf(fast, sizeof fast, ",{\"axis\":\"j\",\"steps\":\"G\",\"semantics\":\"%s\"}",
                 parallel & 2 ? "parallel" : "arbitrary");
    snprintf(text, sizeof text,
             "{\"tileproof\":1,\"name\":\"box\",\"target\":\"none\",\"sizes\":{\"D\":%d,\"G\":%d,\"b\":%d},\"grid\":[{"
             "\"axis\":\"i\",\"steps\":\"%s\",\"semantics\":\"%s\"}%s],\"outputs\":[{\"name\":\"o\",\"dtype\":\"int8\","
             "\"shape\":[\"D\"],\"block_shape\":[\"b\"],\"index_map\":[\"%s\"]}],\"kernel\":[\"o[...] = 1\"]}",
             d, g, b, steps, parallel & 1 ? "parallel" : "arbitrary", fast, map);
    loaded *l = load_text(text);
    assert_non_null(l->spec);
    const tp_kernel *k = l->spec->kernels[0];
    if (!brute_output(k, d, b, truth)) {
        unload(l);
        return;
    }
    for (int r = 0; r < 4; r++) {
        tp_analysis_result result = analyze_with(l, OUTPUT_RULES[r], (tp_prover_options){.no_solver = true});
        for (uint32_t i = 0; i < result.findings.len; i++) {
            said[r] |= result.findings.at[i].verdict == TP_VIOLATED;
            open |= result.findings.at[i].verdict == TP_UNKNOWN;
            t->open[r] += result.findings.at[i].verdict == TP_UNKNOWN;
        }
    }
    tp_tensor array = tp_tensor_new(l->arena, TP_I8, 1, &(int64_t){d});
    int64_t env[64] = {0};
    tp_run_request r = {.kernel = k, .env = env, .arrays = &array, .max_steps = 100000};
    tp_trap trap;
    bool traps = tp_machine_run(l->arena, &r, &trap, NULL) == TP_E_TRAP,
         any = truth[0] || truth[1] || truth[2] || truth[3];
    t->cases++;
    t->unknown += open;
    t->proven += !any;
    if ((!open && !agree(truth, said)) || traps != any)
        if (t->wrong++ < 5)
            print_message("wrong: %s, %s, b=%d, D=%d, G=%d, parallel %d: truth %d%d%d%d, said %d%d%d%d, machine %s\n",
                          steps, map, b, d, g, parallel, truth[0], truth[1], truth[2], truth[3], said[0], said[1],
                          said[2], said[3], traps ? trap.rule : "ran");
    unload(l);
}

static void output_boxes(void **state)
{
    (void)state;
    tally t = {0};
    const box *most = &OUTPUTS[extent()];
    for (int naxes = 1; naxes <= 2; naxes++)
        for (int family = 0; family < naxes; family++)
            for (int m = 0; m < 24 && MAPS[family][m]; m++)
                for (size_t s = 0; s < sizeof STEPS / sizeof *STEPS; s++)
                    for (int parallel = 0; parallel < 1 << naxes; parallel++)
                        for (int b = 1; b <= most->b; b++)
                            for (int d = 1; d <= most->d; d++)
                                for (int g = 1; g <= (strchr(MAPS[family][m], 'G') || naxes > 1 ? most->g : 1); g++)
                                    output_case(&t, naxes, STEPS[s], MAPS[family][m], d, g, b, parallel);
    print_message("output boxes: %u cases, %u without a defect, %u wrong; unknown: TP101 %u, TP401 %u, TP402 %u, TP403 "
                  "%u\n",
                  t.cases, t.proven, t.wrong, t.open[0], t.open[1], t.open[2], t.open[3]);
    assert_int_equal(t.wrong, 0);
    assert_true(t.unknown * 50 <= t.cases && t.proven > t.cases / 100);
}

/* ---- aliases ---- */

/* One array read through one map and written through another, with other block
 * sizes and buffers: what TP405 says against the machine. */
static void alias_case(tally *t, tp_rng *rng)
{
    static const char *const INDEX[] = {
        "i", "i + 1", "i // 2",    "i % 2",         "n - 1 - i", "max(i - 2, 0)", "2 * i",
        "j", "i + j", "2 * i + j", "i * 2 + j + 1", "0",         "min(i, 2)",     "(i + j) % 3"};
    char text[2048];
    int d = 2 + (int)tp_rng_below(rng, 9), bi = 1 + (int)tp_rng_below(rng, 3), bo = 1 + (int)tp_rng_below(rng, 3);
    const char *in = INDEX[tp_rng_below(rng, sizeof INDEX / sizeof *INDEX)],
               *out = INDEX[tp_rng_below(rng, sizeof INDEX / sizeof *INDEX)];
    bool element = tp_rng_below(rng, 4) == 0;
    char block[64];
    snprintf(block, sizeof block, element ? "{\"element\":%d,\"padding\":[1,2]}" : "%d", bi);
    snprintf(
        text, sizeof text,
        "{\"tileproof\":1,\"name\":\"alias\",\"target\":\"none\",\"sizes\":{\"n\":%d},\"grid\":[{\"axis\":\"i\","
        "\"steps\":%d,\"semantics\":\"%s\"},{\"axis\":\"j\",\"steps\":%d,\"semantics\":\"%s\"}],\"inputs\":[{\"name\":"
        "\"x\",\"dtype\":\"int8\",\"shape\":[%d],\"block_shape\":[%s],\"index_map\":[\"%s\"],\"buffers\":%d}],"
        "\"outputs\":[{\"name\":\"o\",\"dtype\":\"int8\",\"shape\":[%d],\"block_shape\":[%d],\"index_map\":[\"%s\"],"
        "\"buffers\":%d,\"alias\":\"x\"}],\"kernel\":[\"o[...] = 1\"]}",
        d, 1 + (int)tp_rng_below(rng, 5), tp_rng_below(rng, 4) ? "arbitrary" : "parallel",
        1 + (int)tp_rng_below(rng, 3), tp_rng_below(rng, 5) ? "arbitrary" : "parallel", d, block, in,
        1 + (int)tp_rng_below(rng, 3), d, bo, out, 1 + (int)tp_rng_below(rng, 3));
    loaded *l = load_text(text);
    assert_non_null(l->spec);
    const tp_kernel *k = l->spec->kernels[0];
    tp_tensor arrays[2] = {tp_tensor_new(l->arena, TP_I8, 1, &(int64_t){d}),
                           tp_tensor_new(l->arena, TP_I8, 1, &(int64_t){d})};
    int64_t env[64] = {0};
    bool traps = false, others = false;
    for (uint64_t seed = 0; seed < 3; seed++) { /* the order of parallel axes */
        tp_run_request r = {.kernel = k, .env = env, .arrays = arrays, .max_steps = 100000, .seed = seed};
        tp_trap trap;
        if (tp_machine_run(l->arena, &r, &trap, NULL) != TP_E_TRAP)
            continue;
        traps |= strcmp(trap.rule, "TP405") == 0;
        others |= strcmp(trap.rule, "TP405") != 0;
    }
    if (!others) {
        tp_analysis_result r = analyze_with(l, "TP405", (tp_prover_options){.rlimit = 100000});
        bool violated = false, unknown = false;
        for (uint32_t i = 0; i < r.findings.len; i++) {
            violated |= r.findings.at[i].verdict == TP_VIOLATED;
            unknown |= r.findings.at[i].verdict == TP_UNKNOWN;
        }
        t->cases++;
        t->proven += !violated && !unknown;
        t->unknown += unknown;
        if (!unknown && violated != traps && t->wrong++ < 5)
            print_message("wrong: the machine %s, TP405 is %s: %s\n", traps ? "traps" : "runs",
                          violated ? "violated" : "proven", text);
    }
    unload(l);
}

static void alias_boxes(void **state)
{
    (void)state;
    tp_rng rng = tp_rng_new(setting("TEST_SEED", 1), 9);
    tally t = {0};
    for (int n = 0; n < ALIASES[extent()]; n++)
        alias_case(&t, &rng);
    print_message("aliases: %u cases, %u proven, %u unknown, %u wrong\n", t.cases, t.proven, t.unknown, t.wrong);
    assert_int_equal(t.wrong, 0);
    assert_true(t.proven > t.cases / 20 && t.unknown * 10 < t.cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes), cmocka_unit_test(output_boxes),
                                       cmocka_unit_test(alias_boxes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
