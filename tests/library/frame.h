/* What the programs of tests/library share: SPEC RECEIPT as arguments, of examples/elementwise/add_2d; a line and exit
 * 1 where something else happens than should. */
#ifndef TILEPROOF_TEST_FRAME_H
#define TILEPROOF_TEST_FRAME_H

#include <stdio.h>
#include <stdlib.h>
#include <tileproof.h>

static const char *program;

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    printf("%s: %s\n", program, what);
    exit(1);
}

static tileproof_kernel *load(int argc, char **argv)
{
    tileproof_kernel *k = NULL;
    program = argv[0];
    expect(argc == 3 && tileproof_load_file(argv[1], NULL, NULL, NULL, &k) == TILEPROOF_OK, "the spec does not load");
    return k;
}

static void accept_receipt(tileproof_kernel *k, char **argv)
{
    static char receipt[1 << 16];
    FILE *f = fopen(argv[2], "rb");
    size_t n = f ? fread(receipt, 1, sizeof receipt, f) : 0;
    if (f)
        fclose(f);
    expect(tileproof_accept(k, receipt, n, NULL, NULL) == TILEPROOF_OK, "the receipt is refused");
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
