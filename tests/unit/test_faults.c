/* Things that fail: memory, files, the solver. Whatever fails, nothing is
 * "proven" that was not, nothing is written by half, and the program ends with
 * its exit code and a sentence. tests/unit/shim/faults.c makes them fail. */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "tests/unit/files.h"

#if defined(__SANITIZE_ADDRESS__)
enum { PRELOADS = 0 }; /* the sanitizer wants to be first */
#else
enum { PRELOADS = 1 };
#endif

static void arm(const char *what, const char *value)
{
    static const char *const ALL[] = {"FAULT_MALLOC", "FAULT_WRITE", "FAULT_Z3"};
    for (int i = 0; i < 3; i++)
        unsetenv(ALL[i]);
    setenv("LD_PRELOAD", TESTS "/faults.so", 1);
    setenv(what, value, 1);
}

static void disarm(void)
{
    unsetenv("LD_PRELOAD");
}

#define FAULTY(o, a, what, value, ...)                                                                                 \
    do {                                                                                                               \
        arm(what, value);                                                                                              \
        o = RUN(a, __VA_ARGS__);                                                                                       \
        disarm();                                                                                                      \
    } while (0)

static void memory(void **state)
{
    place *p = *state;
    unsigned ran_out = 0, fine = 0;
    if (!PRELOADS)
        return;
    outcome good = RUN(p->a, "verify", "examples/reduction/softmax_rows.tile.json"), o;
    for (int n = 1; n < 400; n += n < 60 ? 1 : 17) {
        FAULTY(o, p->a, "FAULT_MALLOC", tp_printf(p->a, "%d", n).p, "verify",
               "examples/reduction/softmax_rows.tile.json");
        bool same = o.exit == 0 && tp_str_eq(o.out, good.out);
        bool told = o.exit == 5 && (contains(o.err, "out of memory") || contains(o.out, "memory"));
        /* a case that was not executed for want of memory is said to be so */
        bool skipped = (o.exit == 4 || o.exit == 0) && (contains(o.out, "skipped") || contains(o.out, "max-memory"));
        if (!same && !told && !skipped)
            fail_msg("allocation %d fails: exit %d\n%s\n%s", n, o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
        ran_out += told;
        fine += same;
    }
    print_message("faults: allocations: %u ended with exit 5, %u did not matter\n", ran_out, fine);
    assert_true(ran_out >= 3);
}

static void files(void **state)
{
    place *p = *state;
    static const char OLD[] = "what was here before\n";
    const char *file = put(p, "old.certs", OLD, sizeof OLD - 1);
    outcome o;
    tp_str text, why;
    if (!PRELOADS)
        return;
    for (int n = 1; n <= 3; n++) {
        FAULTY(o, p->a, "FAULT_WRITE", tp_printf(p->a, "%d", n).p, "lint", "matmul", "--certificates", file);
        assert_int_equal(tp_read_file(p->a, file, 64 << 20, &text, &why), TP_OK);
        bool whole = o.exit == 0 && text.n > 1000, kept = o.exit == 5 && tp_str_is(text, OLD);
        if (!whole && !kept)
            fail_msg("write %d fails: exit %d, %zu bytes: %s", n, o.exit, text.n, tp_cstr(p->a, o.err));
        if (kept)
            assert_true(contains(o.err, "--certificates"));
        put(p, "old.certs", OLD, sizeof OLD - 1);
    }
    FAULTY(o, p->a, "FAULT_WRITE", "1", "lint", "matmul", "--certificates", file);
    assert_int_equal(o.exit, 5);
}

static void solver(void **state)
{
    place *p = *state;
    static const char SPEC[] = "tests/rules/nonconsecutive-revisit/ok_flat_order.tile.json";
    static const char *const HOW[] = {"unknown", "sat", "die"};
    if (!PRELOADS)
        return;
    assert_true(contains(RUN(p->a, "lint", SPEC).out, "proven(z3)"));
    for (size_t i = 0; i < sizeof HOW / sizeof *HOW; i++) {
        outcome o;
        FAULTY(o, p->a, "FAULT_Z3", HOW[i], "lint", SPEC, "--unknown", "fail");
        if (o.exit != 4 || contains(o.out, "proven(z3)") || contains(o.out, "error["))
            fail_msg("Z3 %s: exit %d\n%s\n%s", HOW[i], o.exit, tp_cstr(p->a, o.out), tp_cstr(p->a, o.err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {IN_PLACE(memory), IN_PLACE(files), IN_PLACE(solver)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
