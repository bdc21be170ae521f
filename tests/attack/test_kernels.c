/* tests/kernels: correct kernels as people write them, without declared cases.
 * Lint has nothing to say of them, and each is proven for all sizes, but for
 * those whose "x-test" says what is unknown. TEST_TRIALS: how many are executed
 * too (default 6, another few with every seed). */
#define _GNU_SOURCE
#include <glob.h>

#include "tests/attack/attack.h"

enum { TRIALS = 6, LEAST = 40 };

static void held_out_kernels(void **state)
{
    uint64_t seed = setting("TEST_SEED", 1), trials = setting("TEST_TRIALS", TRIALS);
    unsigned proven = 0, executed = 0;
    glob_t found;
    (void)state;
    assert_int_equal(glob("tests/kernels/*.tile.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        loaded *l = load_file(found.gl_pathv[i]);
        assert_non_null(l->spec);
        const tp_json *test = tp_json_get(l->spec->doc, "x-test");
        bool execute = (i + seed * TRIALS) % found.gl_pathc < trials;
        judged v = judge_text(tp_cstr(l->arena, l->source.text), BY_PROOF | (execute ? BY_EXECUTION : 0));
        v.proven |= v.listed;
        proven += v.proven;
        executed += v.executed;
        if (v.refused || v.accused)
            fail_msg("%s is accused: %s", found.gl_pathv[i], v.why);
        if (!v.proven && !test)
            fail_msg("%s is not proven", found.gl_pathv[i]);
        if (v.proven && test)
            print_message("%s is proven now: its \"x-test\" can go\n", found.gl_pathv[i]);
        unload(l);
    }
    print_message("kernels: %zu, of which %u are proven for all sizes, %u executed\n", found.gl_pathc, proven,
                  executed);
    assert_true(found.gl_pathc >= LEAST);
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(held_out_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
