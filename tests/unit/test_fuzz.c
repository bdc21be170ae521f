/* The corpus of tests/fuzz through its readers, and every file of tests/bad
 * through all of them: what fuzzing once found stays found. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/fuzz/readers.h"
#include "tests/unit/support.h"

static void quiet_begin(int kept[2])
{
    int null = open("/dev/null", O_WRONLY);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        kept[i] = dup(i + 1);
        dup2(null, i + 1);
    }
    close(null);
}

static void quiet_end(const int kept[2])
{
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], i + 1);
        close(kept[i]);
    }
}

static size_t replay(const tp_reader_row *r, const char *pattern)
{
    glob_t g;
    size_t n = 0;
    if (glob(pattern, 0, NULL, &g) != 0)
        return 0;
    for (; n < g.gl_pathc; n++) {
        tp_arena *a = tp_arena_new(0);
        tp_str text, why;
        assert_int_equal(tp_read_file(a, g.gl_pathv[n], 64 << 20, &text, &why), TP_OK);
        r->read((const uint8_t *)text.p, text.n);
        tp_arena_free(a);
    }
    globfree(&g);
    return n;
}

static void corpus_does_no_harm(void **state)
{
    (void)state;
    size_t n, files = 0;
    const tp_reader_row *rows = tp_fuzz_readers(&n);
    int kept[2];
    quiet_begin(kept);
    for (size_t i = 0; i < n; i++) {
        char pattern[256];
        snprintf(pattern, sizeof pattern, "tests/fuzz/corpus/%s/*", rows[i].name);
        size_t own = replay(&rows[i], pattern);
        if (own == 0) {
            quiet_end(kept);
            fail_msg("tests/fuzz/corpus/%s is empty", rows[i].name);
        }
        files += own + replay(&rows[i], "tests/bad/*");
    }
    quiet_end(kept);
    print_message("fuzz: %zu files through %zu readers\n", files, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_does_no_harm)};
    return cmocka_run_group_tests_name("fuzz", tests, NULL, NULL);
}
