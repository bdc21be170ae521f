/* A temporary folder per test, with files in it. */
#ifndef TP_TEST_FILES_H
#define TP_TEST_FILES_H

#include <sys/stat.h>

#include "tests/unit/process.h"

typedef struct place {
    tp_arena *a;
    char dir[64];
} place;

static inline int make_place(void **state)
{
    place *p = calloc(1, sizeof *p);
    strcpy(p->dir, "/tmp/tileproof-test-XXXXXX");
    p->a = tp_arena_new(0);
    *state = p;
    return mkdtemp(p->dir) ? 0 : -1;
}

static inline int drop_place(void **state)
{
    place *p = *state;
    char command[256];
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", p->dir, p->dir);
    int code = system(command);
    tp_arena_free(p->a);
    free(p);
    return code;
}

static inline const char *path_in(place *p, const char *name)
{
    return tp_printf(p->a, "%s/%s", p->dir, name).p;
}

static inline const char *put(place *p, const char *name, const void *bytes, size_t n)
{
    const char *path = path_in(p, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    if (n) /* an empty file may have no bytes to point at */
        assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, drop_place)

#endif
