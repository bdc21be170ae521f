/* How long lint takes as a whole process: each spec of the gallery, and 1000
 * generated specs in one call. usage: lint PROGRAM REPEATS SPEC… */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/timing.h"

enum { SPECS = 1000, MAX_REPEATS = 100, MAX_SPECS = 200 };

/* Wall time of one process in ms; its exit code in *code. */
static double timed(const char *program, const char *path, int *code)
{
    int status = 0;
    double start = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, 1);
        execl(program, program, "lint", path, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return now_ms() - start;
}

static int gallery(const char *program, int repeats, char **specs, int n)
{
    double medians[MAX_SPECS], worst = 0;
    const char *slowest = "";
    for (int i = 0; i < n; i++) {
        double runs[MAX_REPEATS];
        int code = 0;
        for (int r = 0; r < repeats; r++)
            runs[r] = timed(program, specs[i], &code);
        if (code != 0)
            return 1;
        medians[i] = median(runs, repeats);
        if (medians[i] > worst) {
            worst = medians[i];
            slowest = strrchr(specs[i], '/') + 1;
        }
        printf("  %-28s %7.2f ms (worst %.2f)\n", strrchr(specs[i], '/') + 1, medians[i], runs[repeats - 1]);
    }
    printf("lint, one process per gallery spec, median of %d: median %.2f ms, worst %.2f ms (%s)\n", repeats,
           median(medians, n), worst, slowest);
    return 0;
}

/* Matmuls, elementwise kernels and transposes with many block shapes; every
 * tenth has a map that runs one block too far. */
static int write_spec(const char *path, int n)
{
    static const int ROWS[] = {16, 32, 128, 256, 512}, LANES[] = {128, 256, 384, 512};
    int bm = ROWS[n % 5], bn = LANES[n / 5 % 4], bk = LANES[n / 20 % 4];
    const char *off = n % 10 == 9 ? " + 1" : "", *map = n % 3 == 1 ? "i" : "num - 1 - i";
    FILE *f = fopen(path, "w");
    if (!f)
        return 1;
    fprintf(f, "{\"tileproof\": 1, \"name\": \"generated_%d\", \"dtypes\": {\"T\": [\"float32\", \"bfloat16\"]},\n", n);
    if (n % 3 == 0)
        fprintf(f,
                "\"sizes\": {\"M\": {\"min\": 1}, \"N\": {\"min\": 1}, \"K\": {\"min\": 1, \"multiple_of\": %d}},\n"
                "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, %d)\", \"semantics\": \"parallel\"}, {\"axis\": "
                "\"j\", \"steps\": \"cdiv(N, %d)\"}, {\"axis\": \"k\", \"steps\": \"K // %d\"}],\n"
                "\"inputs\": [{\"name\": \"x\", \"dtype\": \"T\", \"shape\": [\"M\", \"K\"], \"block_shape\": [%d, "
                "%d], \"index_map\": [\"i%s\", \"k\"]},\n"
                "{\"name\": \"y\", \"dtype\": \"T\", \"shape\": [\"K\", \"N\"], \"block_shape\": [%d, %d], "
                "\"index_map\": [\"k\", \"j\"]}],\n"
                "\"outputs\": [{\"name\": \"o\", \"dtype\": \"T\", \"shape\": [\"M\", \"N\"], \"block_shape\": [%d, "
                "%d], \"index_map\": [\"i\", \"j\"]}],\n"
                "\"scratch\": [{\"name\": \"acc\", \"dtype\": \"float32\", \"shape\": [%d, %d]}],\n"
                "\"kernel\": [\"if k == 0:\", \"    acc[...] = 0\", \"acc[...] += dot(x[...], y[...], "
                "preferred_element_type=float32)\", \"if k == num_programs(k) - 1:\", \"    o[...] = "
                "acc[...].astype(T)\"]}\n",
                bk, bm, bn, bk, bm, bk, off, bk, bn, bm, bn, bm, bn);
    else
        fprintf(f,
                "\"sizes\": {\"M\": {\"min\": 1}, \"N\": {\"min\": %d}, \"num\": \"cdiv(M, %d)\"},\n"
                "\"grid\": [{\"axis\": \"i\", \"steps\": \"cdiv(M, %d)\"}, {\"axis\": \"j\", \"steps\": \"cdiv(N, "
                "%d)\"}],\n"
                "\"inputs\": [{\"name\": \"x\", \"dtype\": \"T\", \"shape\": [\"M\", \"N\"], \"block_shape\": [%d, "
                "%d], \"index_map\": [\"%s\", \"j%s\"]}],\n"
                "\"outputs\": [{\"name\": \"o\", \"dtype\": \"T\", \"shape\": [\"M\", \"N\"], \"block_shape\": [%d, "
                "%d], \"index_map\": [\"%s\", \"j\"]}],\n"
                "\"kernel\": [\"o[...] = x[...] * x[...] + 1\"], \"reference\": [\"o = x * x + 1\"]}\n",
                n % 7 + 1, bm, bm, bn, bm, bn, map, off, bm, bn, map);
    return fclose(f);
}

static int generated(const char *program)
{
    char folder[] = "/tmp/tileproof-bench-XXXXXX", path[96];
    double runs[5];
    int code = 0;
    if (!mkdtemp(folder))
        return 1;
    for (int n = 0; n < SPECS; n++) {
        snprintf(path, sizeof path, "%s/s%04d.tile.json", folder, n);
        if (write_spec(path, n) != 0)
            return 1;
    }
    for (int r = 0; r < 5; r++)
        runs[r] = timed(program, folder, &code);
    double ms = median(runs, 5);
    printf(
        "lint, %d generated specs in one call, median of 5: %.0f ms, %.0f specs/s, exit %d (every tenth is broken)\n",
        SPECS, ms, SPECS / ms * 1e3, code);
    if (getenv("KEEP"))
        return 0;
    snprintf(path, sizeof path, "rm -rf %s", folder);
    return system(path) != 0 || code != 1;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc - 3 > MAX_SPECS)
        return 2;
    int repeats = atoi(argv[2]);
    repeats = repeats < 1 ? 1 : repeats > MAX_REPEATS ? MAX_REPEATS : repeats;
    return gallery(argv[1], repeats, argv + 3, argc - 3) || generated(argv[1]);
}
