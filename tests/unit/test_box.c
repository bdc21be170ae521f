/* Small boxes, exhaustively: TP101 against brute enumeration and against the
 * machine. A case is one spec with concrete sizes; every case is decided three
 * times (analyzer, enumeration here, machine) and all must agree. Every family
 * is decided once more with symbolic sizes, and with Z3 alone. */
#include "tests/unit/support.h"

#include "kernels/machine.h"

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

enum { MAX_D = 7, MAX_G = 6, MAX_B = 4 };

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
    int64_t env[16] = {0}, steps[3] = {1, 1, 1};
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
    int64_t env[16] = {0};
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
    unsigned cases, families, wrong, unknown, proven, z3_only, z3_unknown;
} tally;

static void concrete_cases(tally *t, int naxes, const char *steps, const char *map, int b, bool *fails)
{
    char text[2048], ds[16], gs[16];
    for (int d = 1; d <= MAX_D; d++)
        for (int g = 1; g <= MAX_G; g++) {
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
    snprintf(ds, sizeof ds, "{\"min\":1,\"max\":%d}", MAX_D);
    snprintf(gs, sizeof gs, "{\"min\":1,\"max\":%d}", MAX_G);
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
                    for (int b = 1; b <= MAX_B; b++) {
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
    assert_true(t.cases >= 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
