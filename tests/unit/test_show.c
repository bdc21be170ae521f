/* `run --show`: what names of the body hold. */
#define _GNU_SOURCE
#include "cli/show.h"
#include "tests/unit/files.h"

/* o = x * 2 + t, t = 0, 1, by way of scratch; rows beyond N are padding. */
static const char SPEC[] =
    "{\"tileproof\": 1, \"name\": \"twice\", \"sizes\": {\"N\": {\"min\": 1}}, \"grid\": [{\"axis\": \"i\", "
    "\"steps\": \"cdiv(N, 2)\"}], \"inputs\": [{\"name\": \"x\", \"dtype\": \"int32\", \"shape\": [\"N\"], "
    "\"block_shape\": [2], \"index_map\": [\"i\"]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"int32\", "
    "\"shape\": [\"N\"], \"block_shape\": [2], \"index_map\": [\"i\"]}], \"scratch\": [{\"name\": \"s\", \"dtype\": "
    "\"int32\", \"shape\": [2]}], \"kernel\": [\"y = x[...] * 2\", \"for t in range(2):\", \"    if t == 0:\", "
    "\"        s[...] = y\", \"    z = full((), 5, int32) + t\", \"    b = iota(int32, (2, 9), 1) > 7\", \"o[...] = "
    "s[...]\"]}";

static const char *spec_in(place *p)
{
    return put(p, "twice.tile.json", SPEC, sizeof SPEC - 1);
}

static void windows_locals_scratch(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "run", "--unchecked", "-q", spec_in(p), "--fill", "zeros", "--size", "N=3", "--show", "x,y",
                    "--show", "s,z,b");
    assert_int_equal(o.exit, 0);
    const char *all = tp_cstr(p->a, o.out), *first = strstr(all, "step i = 0\n  x = int32[2]\n    [0 0]\n  "),
               *loop = strstr(all, "\nstep i = 0; t = 0\n"), *turn = strstr(all, "\nstep i = 0; t = 1\n"),
               *second = strstr(all, "step i = 1\n  x = int32[2]\n    [ 0 --]\n  ");
    assert_true(first && loop > first && turn > loop && second > turn);
    assert_true(contains(o.out, "twice.tile.json:1: y = int32[2]\n    [ 0 --]\n"));
    assert_true(strstr(loop, ": s = int32[2]\n    [0 0]\n") < turn && strstr(loop, ": z = int32[] 5\n") < turn);
    assert_true(strstr(turn, ": z = int32[] 6\n") < second);
    assert_true(contains(o.out,
                         ": b = bool[2, 9]\n    [[false false false … false false  true]\n     [false false false … "
                         "false false  true]]\n"));
}

/* What the engine would compute later, with others, or show where it lies. */
static void nothing_waits(void **state)
{
    static const char WAITS[] =
        "{\"tileproof\": 1, \"name\": \"waits\", \"grid\": [], \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", "
        "\"shape\": [64, 256]}], \"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [64, 256]}], "
        "\"kernel\": [\"y = x[...] + 1\", \"z = y * 3\", \"r = z[8:, :]\", \"o[...] = z * z\", \"o[0, :] = r[1, "
        ":]\"]}";
    static const char *const NUMBERS[] = {"1", "3", "3", "9"}, *const NAMES[] = {"y", "z", "r", "o"};
    place *p = *state;
    const char *spec = put(p, "waits.tile.json", WAITS, sizeof WAITS - 1);
    outcome o = RUN(p->a, "run", "--unchecked", "-q", spec, "--fill", "zeros", "--show", "y,z,r,o");
    assert_int_equal(o.exit, 0);
    for (int i = 0; i < 4; i++) {
        const char *n = NUMBERS[i];
        tp_str row = tp_printf(p->a, ": %s = float32[%d, 256]\n    [[%s %s %s … %s %s %s]\n     [%s %s", NAMES[i],
                               i == 2 ? 56 : 64, n, n, n, n, n, n, n, n);
        if (!contains(o.out, tp_cstr(p->a, row)))
            fail_msg("no %.*s in %.*s", TP_FMT(row), TP_FMT(o.out));
    }
}

static void one_step(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "run", "--unchecked", "-q", "matmul", "--fill", "normal", "--size", "M=130", "--size", "N=20",
                    "--size", "K=300", "--size", "bk=256", "--show", "acc", "--at", "k=0", "--at", "i=1");
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "step i = 1, j = 0, k = 0\n") && !contains(o.out, "i = 0") &&
                !contains(o.out, "k = 1"));
    assert_true(contains(o.out, ": acc = float32[128, 128]\n    [[0 0 0 … 0 0 0]\n")); /* begun, then added to */
    o = RUN(p->a, "run", "--unchecked", "-q", "matmul", "--fill", "normal", "--size", "M=130", "--size", "N=20",
            "--size", "K=300", "--size", "bk=256", "--show", "acc", "--at", "k=7");
    assert_true(o.exit == 0 && contains(o.out, "acc: nothing is written to it in this step"));
}

/* Nothing else changes. */
static void results_stay(void **state)
{
    static const struct {
        const char *name, *sizes[4], *dtype, *show, *output;
    } KERNELS[] = {
        {"flash_attention", {"Hk=1", "G=2", "S=300", "bq=128"}, "T=float32", "m,l,acc,q", "o"},
        {"matmul_double_buffered", {"M=128", "N=128", "K=512"}, NULL, "xs,ys,acc", "o"},
        {"softmax_rows", {"M=9", "N=300", NULL}, "T=float32", "x,v,e", "o"},
        {NULL, {NULL}, NULL, NULL, NULL},
    };
    place *p = *state;
    for (size_t i = 0; KERNELS[i].show; i++) {
        tp_str written[2], why;
        for (int shown = 0; shown < 2; shown++) {
            const char *args[24] = {"run", "--unchecked", "-q", KERNELS[i].name, "--fill", "normal"};
            const char *file = path_in(p, shown ? "shown.npy" : "plain.npy");
            size_t n = 6;
            args[n++] = "--output";
            args[n++] = tp_cstr(p->a, tp_printf(p->a, "%s=%s", KERNELS[i].output, file));
            for (int s = 0; s < 4 && KERNELS[i].sizes[s]; s++) {
                args[n++] = "--size";
                args[n++] = KERNELS[i].sizes[s];
            }
            if (KERNELS[i].dtype) {
                args[n++] = "--dtype";
                args[n++] = KERNELS[i].dtype;
            }
            if (shown) {
                args[n++] = "--show";
                args[n++] = KERNELS[i].show;
            }
            outcome o = run_limited(p->a, NULL, 6144, args);
            if (o.exit)
                fail_msg("%s: %.*s", KERNELS[i].name, TP_FMT(o.err));
            assert_int_equal(tp_read_file(p->a, file, 1 << 28, &written[shown], &why), TP_OK);
        }
        assert_true(tp_str_eq(written[0], written[1]));
    }
}

static void it_is_bounded(void **state)
{
    place *p = *state;
    outcome o = RUN(p->a, "run", "--unchecked", "-q", spec_in(p), "--fill", "zeros", "--size", "N=4000", "--show", "x");
    assert_int_equal(o.exit, 0);
    assert_true(contains(o.out, "step i = 999\n") && !contains(o.out, "step i = 1000\n"));
    assert_true(contains(o.out, "and 1000 further values; --at AXIS=STEP shows those of one step"));
}

static void what_is_not_there(void **state)
{
    static const struct {
        const char *option, *value, *says;
    } WRONG[] = {
        {"--show", "t", "--show: the body has no operand or local `t`; it has x o s y z b"},
        {"--show", ",x", "--show: the body has no operand or local ``"},
        {"--at", "i=1", "--at says which steps --show shows"},
        {"--at", "i", "--at takes NAME=VALUE, e.g. --at i=0, not `i`"},
        {"--at", "q=1", "--at: the grid has no axis `q`"},
        {"--trace", "FILE", "--show or --trace, not both"},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        bool lone = i == 2, names = i < 2;
        outcome o = lone || names ? RUN(p->a, "run", "--unchecked", spec_in(p), "--fill", "zeros", "--size", "N=3",
                                        WRONG[i].option, WRONG[i].value)
                                  : RUN(p->a, "run", "--unchecked", spec_in(p), "--fill", "zeros", "--size", "N=3",
                                        "--show", "x", WRONG[i].option, WRONG[i].value);
        if (o.exit != 2 || !contains(o.err, WRONG[i].says))
            fail_msg("%s %s: %d %.*s", WRONG[i].option, WRONG[i].value, o.exit, TP_FMT(o.err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(windows_locals_scratch), IN_PLACE(nothing_waits), IN_PLACE(one_step),
        IN_PLACE(results_stay),           IN_PLACE(it_is_bounded), IN_PLACE(what_is_not_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
