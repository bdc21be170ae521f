/* Laws that hold nearly everywhere. Random expressions over two inputs, in pairs
 * that agree at random points and differ at a special one: at 0, at a tie, at a
 * pole. None of them may be proven equal. TEST_SEED, TEST_TRIALS: pairs. */
#include <ctype.h>
#include <math.h>

#include "base/rng.h"
#include "spec/program.h"
#include "tests/attack/attack.h"

enum {
    TRIALS = 500,
    ROUND = 300,
    OF_ROUND = 25,
    GENERIC = 24,
    SIDE = 7,
    SPECIAL = SIDE * SIDE,
    POINTS = GENERIC + SPECIAL
};

typedef struct tree {
    enum { INPUT, CONSTANT, APPLY, CHOICE } kind;
    int input; /* 0: x, 1: y */
    double constant;
    tp_prim prim;        /* of a choice: the comparison of arg[2] and arg[3] */
    struct tree *arg[4]; /* a choice is arg[0] or arg[1] */
} tree;

typedef struct trial {
    tree *expression;
    double strict[POINTS], value[POINTS]; /* strict: NaN where any operation has no value */
} trial;

/* Functions are rounded, so that decisions are not asked about them. */
static const tp_prim SMOOTH[] = {TP_P_NEG, TP_P_ABS, TP_P_SQUARE, TP_P_SQRT,
                                 TP_P_EXP, TP_P_LOG, TP_P_TANH,   TP_P_LOGISTIC};
static const tp_prim EXACT[] = {TP_P_NEG, TP_P_ABS, TP_P_SIGN, TP_P_SQUARE, TP_P_FLOOR, TP_P_CEIL, TP_P_ROUND};
static const tp_prim BINARY[] = {TP_P_ADD, TP_P_SUB, TP_P_MUL, TP_P_MUL, TP_P_DIV, TP_P_MAXIMUM, TP_P_MINIMUM};
static const tp_prim COMPARE[] = {TP_P_LT, TP_P_LE, TP_P_GT, TP_P_GE, TP_P_EQ, TP_P_NE};

#define ANY_OF(rng, list) (list)[tp_rng_below(rng, sizeof(list) / sizeof *(list))]

static tree *random_tree(tp_arena *a, tp_rng *rng, unsigned depth, bool decides)
{
    static const double CONSTANTS[] = {0, 1, 2, -1, 0.5};
    tree *t = TP_NEW(a, tree);
    uint64_t kind = tp_rng_below(rng, 100);
    if (depth == 0 || kind < 12) {
        t->kind = tp_rng_below(rng, 4) == 0 ? CONSTANT : INPUT;
        t->input = tp_rng_below(rng, 3) == 0;
        t->constant = ANY_OF(rng, CONSTANTS);
        return t;
    }
    bool choice = decides && kind >= 75, unary = !choice && kind < 40;
    t->kind = choice ? CHOICE : APPLY;
    t->prim = choice    ? ANY_OF(rng, COMPARE)
              : !unary  ? ANY_OF(rng, BINARY)
              : decides ? ANY_OF(rng, EXACT)
                        : ANY_OF(rng, SMOOTH);
    for (int i = 0; i < (choice ? 4 : unary ? 1 : 2); i++)
        t->arg[i] = random_tree(a, rng, i < 2 ? depth - 1 : depth / 2, decides);
    return t;
}

static double value_of(const tree *t, double x, double y, bool strict)
{
    double v[4] = {0};
    if (t->kind == INPUT)
        return t->input ? y : x;
    if (t->kind == CONSTANT)
        return t->constant;
    for (int i = 0; i < 4 && t->arg[i]; i++) {
        v[i] = value_of(t->arg[i], x, y, strict);
        if (strict && !isfinite(v[i]))
            return (double)NAN;
    }
    return t->kind == APPLY ? tp_meaning_f64(t->prim, v[0], v[1]) : v[tp_meaning_f64(t->prim, v[2], v[3]) != 0 ? 0 : 1];
}

static void print_tree(tp_buf *b, const tree *t, bool kernel)
{
    const char *name = tp_prim_info(t->prim)->name;
    if (t->kind == INPUT) {
        tp_buf_printf(b, "%c%s", t->input ? 'y' : 'x', kernel ? "[...]" : "");
        return;
    }
    if (t->kind == CONSTANT) {
        tp_buf_printf(b, "full((%s,), %.1f, float32)", kernel ? "8" : "n", t->constant);
        return;
    }
    bool function = t->kind == CHOICE || isalpha((unsigned char)*name), minus = t->prim == TP_P_NEG;
    tp_buf_printf(b, "%s(", t->kind == CHOICE ? "where(" : minus || !function ? "" : name);
    if (minus)
        tp_buf_c(b, "-");
    const int first = t->kind == CHOICE ? 2 : 0;
    print_tree(b, t->arg[first], kernel);
    if (t->arg[first + 1]) {
        tp_buf_printf(b, t->kind == APPLY && function ? ", " : " %s ", name);
        print_tree(b, t->arg[first + 1], kernel);
    }
    tp_buf_c(b, ")");
    for (int i = 0; i < 2 && t->kind == CHOICE; i++) {
        tp_buf_c(b, ", ");
        print_tree(b, t->arg[i], kernel);
    }
    if (t->kind == CHOICE)
        tp_buf_c(b, ")");
}

static trial *random_sample(tp_arena *a, tp_rng *rng, bool decides)
{
    static const double VALUES[SIDE] = {-2, -1, -0.5, 0, 0.5, 1, 2};
    tp_rng points = tp_rng_new(1, 0x6c617773);
    trial *s = TP_NEW(a, trial);
    s->expression = random_tree(a, rng, 1 + (unsigned)tp_rng_below(rng, 3), decides);
    for (int i = 0; i < POINTS; i++) {
        int at = i - GENERIC;
        double x = at < 0 ? (double)tp_rng_below(&points, 6000000) / 1e6 - 3 : VALUES[at / SIDE],
               y = at < 0 ? (double)tp_rng_below(&points, 6000000) / 1e6 - 3 : VALUES[at % SIDE];
        s->strict[i] = value_of(s->expression, x, y, true);
        s->value[i] = value_of(s->expression, x, y, false);
    }
    return s;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Where the reference has a value: the same at random points, another at a special one? */
static bool nearly_equal(const trial *kernel, const trial *reference)
{
    unsigned known = 0;
    for (int i = 0; i < GENERIC; i++) {
        if (isfinite(reference->strict[i]) && !is_near(kernel->value[i], reference->strict[i]))
            return false;
        known += isfinite(reference->strict[i]) && !is_near(reference->strict[i], reference->strict[0]);
    }
    for (int i = GENERIC; known >= 4 && i < POINTS; i++)
        if (isfinite(reference->strict[i]) && !(fabs(kernel->value[i] - reference->strict[i]) < 1e-3))
            return true;
    return false;
}

static bool is_proven(tp_arena *a, const trial *kernel, const trial *reference)
{
    tp_buf is = {.arena = a}, wanted = {.arena = a};
    print_tree(&is, kernel->expression, true);
    print_tree(&wanted, reference->expression, false);
    tp_str text = tp_printf(
        a,
        "{\"tileproof\": 1, \"name\": \"laws\", \"target\": \"none\", \"sizes\": {\"n\": {\"min\": 1}}, \"grid\": "
        "[{\"axis\": \"i\", \"steps\": \"cdiv(n, 8)\"}],\n\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", "
        "\"shape\": [\"n\"], \"block_shape\": [8], \"index_map\": [\"i\"]}, {\"name\": \"y\", \"dtype\": \"float32\", "
        "\"shape\": [\"n\"], \"block_shape\": [8], \"index_map\": [\"i\"]}],\n\"outputs\": [{\"name\": \"o\", "
        "\"dtype\": \"float32\", \"shape\": [\"n\"], \"block_shape\": [8], \"index_map\": [\"i\"]}],\n"
        "\"kernel\": [\"o[...] = %.*s\"],\n\"reference\": [\"o = %.*s\"]}",
        TP_FMT(tp_buf_view(&is)), TP_FMT(tp_buf_view(&wanted)));
    judged v = judge_text(text.p, BY_PROOF);
    if (v.refused)
        fail_msg("%s: %s", v.why, text.p);
    if (v.proven || v.listed)
        print_error("PROVEN: %s\n", text.p);
    return v.proven || v.listed;
}

static void laws_that_nearly_hold(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS), pairs = 0, proven = 0;
    (void)state;
    for (uint64_t round = 0; pairs < trials; round++) {
        tp_arena *a = tp_arena_new(0);
        tp_rng rng = tp_rng_new(seed, round);
        trial *s[ROUND];
        uint64_t most = pairs + OF_ROUND < trials ? pairs + OF_ROUND : trials;
        for (int i = 0; i < ROUND; i++)
            s[i] = random_sample(a, &rng, round % 2);
        for (int i = 0; i < ROUND; i++)
            for (int k = 0; k < ROUND && pairs < most; k++)
                if (nearly_equal(s[i], s[k])) {
                    pairs++;
                    proven += is_proven(a, s[i], s[k]);
                }
        tp_arena_free(a);
    }
    print_message("laws: seed %llu: of %llu pairs that differ at special points only, %llu are proven\n",
                  (unsigned long long)seed, (unsigned long long)pairs, (unsigned long long)proven);
    assert_int_equal(proven, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(laws_that_nearly_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
