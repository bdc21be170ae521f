/* "The same windows for all sizes" against enumeration: pairs of random index
 * maps, equal ones by rewriting, others by chance. */
#include <stdlib.h>

#include "analyzer/claim/windows.h"
#include "tests/unit/support.h"

static void random_map(uint64_t *state, tp_buf *b, int depth)
{
    static const char *const LEAVES[] = {"i", "k", "1", "2", "3", "N", "0"};
    static const char *const OPS[] = {" + ", " - ", " * ", " // ", " % "};
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t r = *state >> 33;
    if (depth == 0 || r % 4 == 0) {
        tp_buf_c(b, LEAVES[r / 4 % 7]);
        return;
    }
    uint64_t op = r / 4 % 7;
    if (op >= 5) {
        tp_buf_c(b, op == 5 ? "min(" : "max(");
        random_map(state, b, depth - 1);
        tp_buf_c(b, ", ");
        random_map(state, b, depth - 1);
        tp_buf_c(b, ")");
        return;
    }
    tp_buf_c(b, "(");
    random_map(state, b, depth - 1);
    tp_buf_c(b, OPS[op]);
    if (op >= 3)
        tp_buf_c(b, r / 64 % 2 ? "2" : "3");
    else
        random_map(state, b, depth - 1);
    tp_buf_c(b, ")");
}

/* Another text for the same function. */
static tp_str rewritten(tp_arena *a, uint64_t *state, tp_str map)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    switch (*state >> 33 & 3) {
    case 0: return tp_printf(a, "(%.*s) + i - i", TP_FMT(map));
    case 1: return tp_printf(a, "(3 * (%.*s)) // 3", TP_FMT(map));
    case 2: return tp_printf(a, "min(%.*s, %.*s)", TP_FMT(map), TP_FMT(map));
    default: return tp_printf(a, "2 * (%.*s) - (%.*s)", TP_FMT(map), TP_FMT(map));
    }
}

static loaded *spec_with(tp_arena *a, tp_str map)
{
    return load_text(
        tp_printf(
            a,
            "{\"tileproof\": 1, \"name\": \"m\", \"target\": \"none\", \"sizes\": {\"N\": {\"min\": 1, \"max\": 40}},"
            "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(N, 4)\"}, {\"axis\": \"k\", \"steps\": 3}],"
            "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [4], "
            "\"index_map\": [\"%.*s\"]}],"
            "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"N\"], \"block_shape\": [4], "
            "\"index_map\": [\"i\"]}]}",
            TP_FMT(map))
            .p);
}

/* Do the maps have the same value in every step of every size? */
static bool same_by_enumeration(const tp_kernel *x, const tp_kernel *y)
{
    int64_t env[2][64] = {{0}};
    for (int64_t n = 1; n <= 40; n++)
        for (int64_t i = 0; i < (n + 3) / 4; i++)
            for (int64_t k = 0; k < 3; k++) {
                int64_t value[2] = {0, 0};
                const tp_kernel *kernels[] = {x, y};
                for (int s = 0; s < 2; s++) {
                    env[s][kernels[s]->sizes[0].sym] = n;
                    env[s][kernels[s]->axes[0].sym] = i;
                    env[s][kernels[s]->axes[1].sym] = k;
                    assert_int_equal(
                        tp_expr_eval(kernels[s]->exprs, kernels[s]->operands[0].dims[0].index, env[s], &value[s]),
                        TP_EVAL_OK);
                }
                if (value[0] != value[1])
                    return false;
            }
    return true;
}

typedef struct windows_call {
    loaded *x, *y;
    tp_same_result r;
} windows_call;

static void ask(void *arg)
{
    windows_call *c = arg;
    tp_analysis_options o = {0};
    const tp_kernel *k = c->x->spec->kernels[0], *m = c->y->spec->kernels[0];
    c->r = tp_same_windows(c->x->arena, &o, k, &k->operands[0], m, &m->operands[0]);
}

static void claims_hold_for_every_size(void **state)
{
    (void)state;
    uint64_t seed = setting("TEST_SEED", 1), random = seed;
    int trials = (int)setting("TEST_TRIALS", 400);
    int same = 0, different = 0, open = 0;
    for (int t = 0; t < trials; t++) {
        tp_arena *a = tp_arena_new(0);
        tp_buf b = {.arena = a}, c = {.arena = a};
        random_map(&random, &b, 3);
        tp_str map = tp_buf_view(&b), other = map;
        if (t % 2)
            other = rewritten(a, &random, map);
        else {
            random_map(&random, &c, 2);
            other = tp_buf_view(&c);
        }
        windows_call call = {spec_with(a, map), spec_with(a, other), {TP_NOT_TOLD, NULL, {NULL, 0}}};
        if (call.x->spec && call.y->spec) {
            assert_int_equal(tp_try(call.x->arena, ask, &call), TP_OK);
            bool truth = same_by_enumeration(call.x->spec->kernels[0], call.y->spec->kernels[0]);
            if (call.r.same != TP_NOT_TOLD && (call.r.same == TP_SAME) != truth)
                fail_msg("seed %llu: \"%.*s\" and \"%.*s\": said %s", (unsigned long long)seed, TP_FMT(map),
                         TP_FMT(other), truth ? "different" : "the same");
            same += call.r.same == TP_SAME;
            different += call.r.same == TP_DIFFERENT_WINDOWS;
            open += call.r.same == TP_NOT_TOLD;
        }
        unload(call.x);
        unload(call.y);
        tp_arena_free(a);
    }
    print_message("windows: seed %llu, %d the same, %d different, %d not told\n", (unsigned long long)seed, same,
                  different, open);
    assert_true(same > trials / 4 && different > trials / 8 && open * 20 < trials);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims_hold_for_every_size)};
    return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
