/* Text that lies in memory, then in a file: it comes back as it was, whoever flushes all streams meanwhile. */
#include "base/spool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tests/unit/support.h"

enum { MIB = 1 << 20, ROUNDS = 200 };

static char *pattern(size_t n)
{
    char *text = malloc(n + 1);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i * 7 % 26);
    text[n] = '\0';
    return text;
}

static void comes_back(size_t n)
{
    tp_arena *a = tp_arena_new(0);
    tp_spool *s = tp_spool_new(a);
    char *text = pattern(n), *back = malloc(n + 1);
    assert_non_null(back);
    for (size_t at = 0; at < n; at += 1000)
        fwrite(text + at, 1, n - at < 1000 ? n - at : 1000, tp_spool_out(s));
    assert_true(tp_spool_length(s) == n);
    for (size_t at = 0, got; at < n; at += got)
        assert_true((got = tp_spool_read(s, at, back + at, n - at)) > 0);
    assert_memory_equal(text, back, n);
    assert_true(tp_spool_read(s, n, back, 1) == 0 && !tp_spool_lost(s));
    free(text);
    free(back);
    tp_spool_free(s);
    tp_arena_free(a);
}

static void text_comes_back(void **state)
{
    static const size_t LENGTHS[] = {0, 1, 999, MIB - 1, MIB, MIB + 1, 3 * MIB + 5};
    (void)state;
    for (size_t i = 0; i < sizeof LENGTHS / sizeof *LENGTHS; i++)
        comes_back(LENGTHS[i]);
}

static void *flush_all(void *arg)
{
    atomic_bool *stop = arg;
    while (!*stop)
        fflush(NULL);
    return NULL;
}

/* A stream that opens another one while it is written to would wait for this thread, and this thread for it. */
static void others_flush(void **state)
{
    atomic_bool stop = false;
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, flush_all, &stop), 0);
    for (int i = 0; i < ROUNDS; i++)
        comes_back(MIB + 4096);
    stop = true;
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_comes_back), cmocka_unit_test(others_flush)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
