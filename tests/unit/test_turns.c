/* Where a decision turns between two inputs (domains/turns.h), and what the log of decisions holds. */
#include "tests/unit/support.h"

#include <math.h>

#include "domains/turns.h"

/* Decides by a step at each of two places; a third decision is left out beyond the first step. */
typedef struct steps {
    tp_decision_log log;
    double at[2];
    int runs;
} steps;

static bool decide(void *ctx, double way)
{
    steps *s = ctx;
    s->log.n = 0;
    for (uint32_t i = 0; i < 2; i++) {
        s->log.kind[s->log.n] = i;
        s->log.result[s->log.n++] = way > s->at[i];
    }
    return s->runs-- > 0;
}

static void a_turn_lies_between_its_neighbours(void **state)
{
    tp_arena *a = tp_arena_new(0);
    tp_rng rng = tp_rng_new(5, 0);
    (void)state;
    for (int n = 0; n < 200; n++) {
        steps s = {.log = tp_decision_log_new(a, 4), .runs = 1000};
        tp_turn turns[TP_MAX_TURNS];
        double lo, hi, least = ldexp(1, -(int)tp_rng_below(&rng, 40));
        for (int i = 0; i < 2; i++)
            s.at[i] = (double)tp_rng_below(&rng, 1 << 20) / (1 << 20);
        assert_true(decide(&s, 0));
        tp_decision_log first = tp_decision_log_copy(a, &s.log);
        assert_true(decide(&s, 1));
        assert_int_equal(tp_turns_between(&first, &s.log, &rng, turns), 2);
        for (int i = 0; i < 2; i++) {
            assert_true(tp_find_turn(&turns[i], least, &s.log, decide, &s, &lo, &hi));
            double at = s.at[turns[i].number];
            assert_true(lo <= at && at <= hi && hi - lo <= least);
        }
        s.runs = 3;
        assert_false(tp_find_turn(&turns[0], 0x1p-30, &s.log, decide, &s, &lo, &hi));
    }
    tp_arena_free(a);
}

static void a_few_of_each_kind_take_turns(void **state)
{
    enum { N = 400, KINDS = 9, NONE = 3 };
    tp_arena *a = tp_arena_new(0);
    tp_rng rng = tp_rng_new(6, 0);
    tp_decision_log x = tp_decision_log_new(a, N), y = tp_decision_log_new(a, N);
    tp_turn turns[TP_MAX_TURNS];
    unsigned seen[KINDS] = {0};
    (void)state;
    for (x.n = 0; x.n < N; x.n++) {
        x.kind[x.n] = y.kind[x.n] = (uint32_t)x.n % KINDS;
        x.result[x.n] = 0;
        y.result[x.n] = x.kind[x.n] == NONE ? 0 : x.kind[x.n] == NONE + 1 ? (double)NAN : 1;
    }
    y.n = N;
    uint32_t n = tp_turns_between(&x, &y, &rng, turns);
    assert_int_equal(n, TP_MAX_TURNS);
    for (uint32_t i = 0; i < n; i++) {
        seen[x.kind[turns[i].number]]++;
        assert_true(x.result[turns[i].number] != y.result[turns[i].number]);
        assert_true(i >= TP_DECISION_KINDS || seen[x.kind[turns[i].number]] == 1);
    }
    assert_int_equal(seen[NONE] + seen[NONE + 1], 0);
    y.kind[0] = KINDS; /* no longer the same decision */
    y.n = 1;
    assert_int_equal(tp_turns_between(&x, &y, &rng, turns), 0);
    tp_arena_free(a);
}

static size_t decisions_of(tp_arena *a, tp_dtype t, bool integers)
{
    double x[3] = {1, 2, 3}, y = 2;
    uint8_t out[3];
    uint64_t planes[2][3];
    tp_decision_log log = tp_decision_log_new(a, 8);
    log.integers = integers;
    tp_domain *d = tp_decisions_new(a, &log);
    tp_lanes left = {.dtype = t, .stored = TP_F64, .n = 3, .data = x},
             right = {.dtype = t, .stored = TP_F64, .n = 1, .data = &y},
             result = {.dtype = TP_BOOL, .stored = TP_BOOL, .n = 3, .data = out, .plane = {planes[0], planes[1]}};
    const tp_lanes *args[] = {&left, &right};
    for (int i = 0; i < 3; i++)
        out[i] = x[i] < y;
    d->elementwise(d, TP_P_LT, 0, &result, args, 2);
    if (log.n)
        assert_true(log.result[0] == 1 && log.result[1] == 0 && log.result[2] == 0);
    return log.n;
}

static void integers_are_logged_where_asked_for(void **state)
{
    tp_arena *a = tp_arena_new(0);
    (void)state;
    assert_int_equal(decisions_of(a, TP_F32, false), 3);
    assert_int_equal(decisions_of(a, TP_I32, false), 0);
    assert_int_equal(decisions_of(a, TP_I32, true), 3);
    tp_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_lies_between_its_neighbours),
        cmocka_unit_test(a_few_of_each_kind_take_turns),
        cmocka_unit_test(integers_are_logged_where_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
