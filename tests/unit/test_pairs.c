/* Which pairs of sizes stand together in a case: counted by kernels/trial/pairs.c and
 * by brute force, on random cases; what is left is named, and counted beyond the list. */
#include <stdlib.h>

#include "base/rng.h"
#include "kernels/trial/equiv.h"
#include "tests/unit/support.h"

enum { SIZES = 3, CHOICES = 18, MOST = 3 * CHOICES };

static const char SPEC[] =
    "{\"tileproof\": 1, \"name\": \"k\", \"target\": \"none\", \"sizes\": {"
    "\"A\": {\"in\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}, "
    "\"B\": {\"in\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}, "
    "\"C\": {\"in\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}}, "
    "\"where\": [\"A + B < 30\", \"A + B + C < 40\"], "
    "\"grid\": [{\"axis\": \"i\", \"steps\": \"C\", \"semantics\": \"arbitrary\"}], "
    "\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"A\", \"B\"], \"block_shape\": [\"A\", "
    "\"B\"], "
    "\"index_map\": [\"0\", \"0\"]}], "
    "\"outputs\": [{\"name\": \"o\", \"dtype\": \"float32\", \"shape\": [\"A\", \"B\"], \"block_shape\": [\"A\", "
    "\"B\"], "
    "\"index_map\": [\"0\", \"0\"]}], \"kernel\": [\"o[...] = x[...]\"], \"reference\": [\"o = x\"]}";

typedef struct point {
    int64_t v[SIZES];
} point;

static bool stands(const point *at, uint32_t n, int i, int64_t x, int j, int64_t y)
{
    for (uint32_t c = 0; c < n; c++)
        if (at[c].v[i] == x && at[c].v[j] == y)
            return true;
    return false;
}

static bool named(const tp_pairs *p, const char *text)
{
    for (uint32_t i = 0; i < p->gaps.len; i++)
        if (tp_str_is(p->gaps.at[i], text))
            return true;
    return false;
}

/* The gap has its place in the list, or there is a list of 256 others. */
static void expect_gap(const tp_pairs *p, uint64_t *gaps, const char *text)
{
    ++*gaps;
    if (p->gaps.len < 256 && !named(p, text))
        fail_msg("%s is not named", text);
}

static void check(const point *at, uint32_t n, const tp_pairs *p, tp_str text)
{
    uint64_t pairs = 0, covered = 0, gaps = 0;
    char gap[80];
    for (int i = 0; i < SIZES; i++)
        for (int64_t x = 1; x <= CHOICES; x++)
            if (!stands(at, n, i, x, i, x)) {
                snprintf(gap, sizeof gap, "%c = %d", 'A' + i, (int)x);
                expect_gap(p, &gaps, gap);
            }
    for (int i = 0; i < SIZES; i++)
        for (int j = i + 1; j < SIZES; j++)
            for (int64_t x = 1; x <= CHOICES; x++)
                for (int64_t y = 1; y <= CHOICES; y++) {
                    if (i == 0 && j == 1 && x + y >= 30)
                        continue;
                    bool seen = stands(at, n, i, x, j, y);
                    pairs++;
                    covered += seen;
                    if (seen || !stands(at, n, i, x, i, x) || !stands(at, n, j, y, j, y))
                        continue;
                    snprintf(gap, sizeof gap, "%c = %d with %c = %d", 'A' + i, (int)x, 'A' + j, (int)y);
                    expect_gap(p, &gaps, gap);
                }
    assert_int_equal(p->pairs, pairs);
    assert_int_equal(p->covered, covered);
    assert_int_equal(p->gaps.len, gaps < 256 ? gaps : 256);
    assert_int_equal(p->unnamed, gaps - p->gaps.len);
    char head[80], tail[80];
    snprintf(head, sizeof head, "%d of %d pairs of values; no case has ", (int)covered, (int)pairs);
    snprintf(tail, sizeof tail, ", and %d more", (int)gaps - 4);
    assert_true(text.n > strlen(head) && memcmp(text.p, head, strlen(head)) == 0);
    assert_true(gaps > 4 && memcmp(text.p + text.n - strlen(tail), tail, strlen(tail)) == 0);
}

static void pairs_are_counted(void **state)
{
    (void)state;
    tp_rng rng = tp_rng_new(7, 0);
    uint32_t long_lists = 0;
    for (int trial = 0; trial < 60; trial++) {
        loaded *l = load_text(SPEC);
        const tp_kernel *k = l->spec->kernels[0];
        point at[MOST];
        tp_cases cases = {0};
        tp_str text;
        uint32_t n = 1 + (uint32_t)tp_rng_below(&rng, MOST);
        for (uint32_t c = 0; c < n; c++) {
            tp_case x = {.kernel = k, .env = TP_NEWN(l->arena, int64_t, tp_sym_count(k->exprs))};
            do
                for (int s = 0; s < SIZES; s++)
                    at[c].v[s] = x.env[k->sizes[s].sym] = 1 + (int64_t)tp_rng_below(&rng, CHOICES);
            while (at[c].v[0] + at[c].v[1] >= 30 || at[c].v[0] + at[c].v[1] + at[c].v[2] >= 40);
            tp_push(l->arena, cases, x);
        }
        tp_pairs p = tp_pairs_of(l->arena, &cases, &text);
        check(at, n, &p, text);
        long_lists += p.unnamed > 0;
        unload(l);
    }
    assert_true(long_lists >= 10 && long_lists <= 55);
}

static void nothing_is_said_without_cases(void **state)
{
    (void)state;
    loaded *l = load_text(SPEC);
    tp_cases none = {0};
    tp_str text;
    tp_pairs p = tp_pairs_of(l->arena, &none, &text);
    assert_int_equal(p.pairs + p.unnamed + p.gaps.len + text.n, 0);
    unload(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_counted),
                                       cmocka_unit_test(nothing_is_said_without_cases)};
    cmocka_set_test_filter(getenv("TEST_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
