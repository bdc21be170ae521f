/* Where outputs are computed: in_place SPEC RECEIPT, of examples/elementwise/add_2d. Exit 0, or a line and 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tileproof.h>

enum { M = 300, N = 700 };

static float x[M * N], y[M * N], o[M * N], both[2 * M * N];

static char *text(const char *path, size_t *n)
{
    static char room[1 << 16];
    FILE *f = fopen(path, "rb");
    *n = f ? fread(room, 1, sizeof room, f) : 0;
    if (f)
        fclose(f);
    return room;
}

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    printf("in_place: %s\n", what);
    exit(1);
}

static tileproof_status run(const tileproof_kernel *k, float *a, float *b, float *r, const int64_t *strides,
                            int unchecked, int64_t rows)
{
    const int64_t shape[] = {M, N}, out_shape[] = {rows, N};
    const tileproof_array arrays[] = {{"x", "float32", 2, shape, NULL, a},
                                      {"y", "float32", 2, shape, NULL, b},
                                      {"o", "float32", 2, out_shape, strides, r}};
    const tileproof_run_options options = {.unchecked = unchecked};
    return tileproof_run(k, arrays, 3, &options, NULL, NULL);
}

static int right(const float *r, size_t step)
{
    for (size_t i = 0; i < M * N; i++)
        if (r[i * step] != (float)(3 * i % 1000))
            return 0;
    return 1;
}

static void fill(void)
{
    for (size_t i = 0; i < M * N; i++) {
        x[i] = (float)(i % 1000 * 2 % 1000);
        y[i] = (float)(3 * i % 1000) - x[i];
        o[i] = -1;
    }
}

int main(int argc, char **argv)
{
    size_t n;
    tileproof_kernel *k = NULL;
    const int64_t every_second[] = {2 * N * sizeof(float), 2 * sizeof(float)};
    expect(argc == 3 && tileproof_load_file(argv[1], NULL, NULL, NULL, &k) == TILEPROOF_OK, "the spec does not load");
    fill();
    expect(run(k, x, y, o, NULL, 1, M - 1) == TILEPROOF_INPUT && o[0] == -1, "an output of another shape was written");
    expect(run(k, x, y, o, NULL, 1, M) == TILEPROOF_OK && right(o, 1), "wrong without a receipt");
    const char *receipt = text(argv[2], &n);
    expect(tileproof_accept(k, receipt, n, NULL, NULL) == TILEPROOF_OK, "the receipt is refused");
    fill();
    expect(run(k, x, y, o, NULL, 0, M) == TILEPROOF_OK && right(o, 1), "wrong in place");
    expect(run(k, x, y, both, every_second, 0, M) == TILEPROOF_OK && right(both, 2), "wrong with strides");
    memcpy(both, x,
           sizeof x); /* an output over an input, shifted: every block of it is read after others are written */
    expect(run(k, both, y, both + N / 2, NULL, 0, M) == TILEPROOF_OK && right(both + N / 2, 1),
           "an output that overlaps an input was computed in place");
    memcpy(both + 1, x, sizeof x);
    expect(run(k, (float *)(void *)((char *)memmove((char *)both + 2, x, sizeof x)), y, o, NULL, 0, M) ==
                   TILEPROOF_OK &&
               right(o, 1),
           "wrong with an input that is not aligned");
    tileproof_free(k);
    return 0;
}
