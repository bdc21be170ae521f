/* Where outputs are computed: in_place SPEC RECEIPT. */
#include <string.h>

#include "frame.h"

enum { M = 300, N = 700 };

static float x[M * N], y[M * N], o[M * N], both[2 * M * N];

static tileproof_status run(const tileproof_kernel *k, float *a, float *b, float *r, const int64_t *strides,
                            int unchecked, int64_t rows)
{
    const tileproof_run_options options = {.unchecked = unchecked};
    return add(k, M, N, a, b, r, strides, rows, &options);
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
    tileproof_kernel *k = load(argc, argv);
    const int64_t every_second[] = {2 * N * sizeof(float), 2 * sizeof(float)};
    fill();
    expect(run(k, x, y, o, NULL, 1, M - 1) == TILEPROOF_INPUT && o[0] == -1, "an output of another shape was written");
    expect(run(k, x, y, o, NULL, 1, M) == TILEPROOF_OK && right(o, 1), "wrong without a receipt");
    accept_receipt(k, argv);
    fill();
    expect(run(k, x, y, o, NULL, 0, M) == TILEPROOF_OK && right(o, 1), "wrong in place");
    expect(run(k, x, y, both, every_second, 0, M) == TILEPROOF_OK && right(both, 2), "wrong with strides");
    /* an output over an input, shifted: every block of it is read after others are written */
    memcpy(both, x, sizeof x);
    expect(run(k, both, y, both + N / 2, NULL, 0, M) == TILEPROOF_OK && right(both + N / 2, 1),
           "an output that overlaps an input was computed in place");
    memcpy(both + 1, x, sizeof x);
    expect(run(k, (float *)(void *)((char *)memmove((char *)both + 2, x, sizeof x)), y, o, NULL, 0, M) ==
                   TILEPROOF_OK &&
               right(o, 1),
           "wrong with an input that is not aligned");
    tileproof_free(k);
    return broken;
}
