/* Memory is zeroed and aligned however often its pages were used before; who refuses it is known where it is caught. */
#include "base/rng.h"
#include "tests/unit/support.h"

enum { MOST = 64 << 20 };

static bool is_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

/* Allocations of all sizes, each filled; the next round gets the same pages. */
static void fill(tp_arena *a, tp_rng *r)
{
    while (tp_arena_used(a) < MOST) {
        size_t n = (size_t)tp_rng_below(r, (uint64_t)1 << tp_rng_below(r, 24));
        unsigned char *p = tp_alloc(a, n);
        assert_true((uintptr_t)p % (n < 256 ? 16 : 64) == 0);
        assert_true(is_zero(p, n));
        memset(p, 0xa5, n);
    }
}

static void memory_is_zeroed_however_often_it_was_used(void **state)
{
    (void)state;
    tp_rng rng = tp_rng_new(7, 0);
    for (int arenas = 0; arenas < 3; arenas++) {
        tp_arena *a = tp_arena_new(0);
        for (int rounds = 0; rounds < 3; rounds++) {
            fill(a, &rng);
            tp_arena_clear(a);
            assert_int_equal(tp_arena_used(a), 0);
        }
        tp_arena *child = tp_arena_child(a);
        fill(child, &rng);
        fill(a, &rng);
        tp_arena_free(a);
    }
}

static void take_too_much(void *a)
{
    tp_alloc(a, MOST);
}

/* Caught below, and passed on, as who cleans up does. */
static void pass_on(void *a)
{
    tp_status st = tp_try(a, take_too_much, a);
    assert_int_equal(st, TP_E_MEMORY);
    tp_leave(a, st);
}

static void who_refused_is_known_where_it_ends(void **state)
{
    (void)state;
    tp_arena *top = tp_arena_new(0), *limited = tp_arena_child_limited(top, MOST / 2), *below = tp_arena_child(limited);
    tp_arena_set_limit(below, MOST / 4);
    assert_int_equal(tp_try(limited, pass_on, below), TP_E_MEMORY);
    assert_int_equal(tp_arena_refusal(below), TP_REFUSED_BY_LIMIT);
    assert_int_equal(tp_arena_refusal(limited), TP_REFUSED_BY_LIMIT);
    assert_int_equal(tp_arena_refusal(top), TP_REFUSED_BY_SYSTEM); /* nothing was refused there */
    tp_arena_free(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_zeroed_however_often_it_was_used),
                                       cmocka_unit_test(who_refused_is_known_where_it_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
