/* Run a kernel on memory of our own, by its receipt.
 *
 *     cc run.c $(pkg-config --cflags --libs tileproof) -o run
 *     tileproof verify --receipt add.receipt.json add_2d
 *     ./run SPEC add.receipt.json
 */
#include <stdio.h>
#include <stdlib.h>

#include <tileproof.h>

static void print(void *context, const tileproof_finding *f)
{
    fprintf(context, "%s[%s]: %s\n", f->severity, f->rule ? f->rule : "-", f->message);
}

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(1 << 20) : NULL;
    *n = text ? fread(text, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    return text;
}

int main(int argc, char **argv)
{
    enum { M = 300, N = 700 };
    static float x[M][N + 4], y[N][M], out[M][N]; /* x has gaps between its rows, y is transposed */
    tileproof_kernel *kernel = NULL;
    size_t n = 0;
    if (argc < 3 || tileproof_load_file(argv[1], NULL, print, stderr, &kernel) != TILEPROOF_OK)
        return 1;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            x[i][j] = (float)i;
            y[j][i] = (float)j;
        }
    const int64_t shape[] = {M, N}, rows[] = {sizeof x[0], sizeof x[0][0]}, columns[] = {sizeof y[0][0], sizeof y[0]};
    const tileproof_array arrays[] = {{"x", "float32", 2, shape, rows, x},
                                      {"y", "float32", 2, shape, columns, y},
                                      {"o", "float32", 2, shape, NULL, out}};
    tileproof_status st = tileproof_run(kernel, arrays, 3, NULL, print, stdout);
    printf("without a receipt: %s\n", tileproof_status_name(st));
    char *receipt = read_file(argv[2], &n);
    st = receipt ? tileproof_accept(kernel, receipt, n, print, stderr) : TILEPROOF_INPUT;
    free(receipt);
    if (st == TILEPROOF_OK)
        st = tileproof_run(kernel, arrays, 3, NULL, print, stderr);
    printf("%s for %s: %s, o[299][699] = %g\n", tileproof_name(kernel), tileproof_target(kernel),
           tileproof_status_name(st), (double)out[299][699]);
    tileproof_free(kernel);
    return st == TILEPROOF_OK && out[299][699] == 998.0f ? 0 : 1;
}
