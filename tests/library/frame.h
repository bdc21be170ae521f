/* What the programs of tests/library share: SPEC RECEIPT as arguments, of examples/elementwise/add_2d. They print a
 * line for each promise that is broken, nothing else, and then exit 1. */
#ifndef TILEPROOF_TEST_FRAME_H
#define TILEPROOF_TEST_FRAME_H

#include <stdio.h>
#include <stdlib.h>
#include <tileproof.h>

static int broken;

static void expect(int holds, const char *what)
{
    if (!holds)
        printf("%s\n", what);
    broken |= !holds;
}

static tileproof_kernel *load(int argc, char **argv)
{
    tileproof_kernel *k = NULL;
    if (argc == 3 && tileproof_load_file(argv[1], NULL, NULL, NULL, &k) == TILEPROOF_OK)
        return k;
    puts("the spec does not load");
    exit(1);
}

/* A file of at most 65535 bytes, with a NUL behind it. */
static char *read_file(const char *path, size_t *n)
{
    char *text = calloc(1, 1 << 16);
    FILE *f = fopen(path, "rb");
    *n = f && text ? fread(text, 1, (1 << 16) - 1, f) : 0;
    if (f)
        fclose(f);
    return text;
}

static inline void accept_receipt(tileproof_kernel *k, char **argv)
{
    size_t n;
    char *receipt = read_file(argv[2], &n);
    expect(tileproof_accept(k, receipt, n, NULL, NULL) == TILEPROOF_OK, "the receipt is refused");
    free(receipt);
}

/* o = x + y for `rows` rows of o; x and y have m. */
static tileproof_status add(const tileproof_kernel *k, int64_t m, int64_t n, float *x, float *y, float *o,
                            const int64_t *strides, int64_t rows, const tileproof_run_options *options)
{
    const int64_t shape[] = {m, n}, out_shape[] = {rows, n};
    const tileproof_array arrays[] = {{"x", "float32", 2, shape, NULL, x},
                                      {"y", "float32", 2, shape, NULL, y},
                                      {"o", "float32", 2, out_shape, strides, o}};
    return tileproof_run(k, arrays, 3, options, NULL, NULL);
}

#endif
