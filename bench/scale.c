/* What lint of one wide or deep spec costs, in a warm process, and how that grows: per kind the CPU time at sizes from
 * small to large, what is not proven, and the exponents of growth, over all of it and between the two largest sizes.
 * usage: scale [SEED]. Fails when something is not proven. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>

#include "bench/timing.h"
#include "tests/unit/wide.h"

enum { SIZES = 4, REPEATS = 5 };

static const int64_t OF[WIDE_KINDS][SIZES] = {
    [WIDE_OPERANDS] = {32, 64, 128, 256},
    [WIDE_PAIRS] = {32, 64, 128, 256},
    [WIDE_STATEMENTS] = {125, 250, 500, 1000},
    [WIDE_BRANCHES] = {8, 16, 32, 64},
    [WIDE_CHAIN] = {8, 16, 32, 64},
    [WIDE_LOOP] = {10, 100, 1000, 10000},
    [WIDE_LATE_ROWS] = {2, 15, 125, 1250},
    [WIDE_SCRATCH] = {32, 64, 128, 254},
};

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double timed(tp_str text, uint32_t *open)
{
    double runs[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        tp_arena *a = tp_arena_new(0);
        double start = cpu_ms();
        *open = wide_lint_of(a, text).open;
        runs[r] = cpu_ms() - start;
        tp_arena_free(a);
    }
    return median(runs, REPEATS);
}

static uint32_t measure(wide_kind kind, uint64_t seed)
{
    double ms[SIZES];
    uint32_t open = 0;
    tp_arena *a = tp_arena_new(0);
    printf("  %-11s", WIDE_NAMES[kind]);
    for (int i = 0; i < SIZES; i++) {
        uint32_t unproven;
        ms[i] = timed(wide_spec(a, kind, OF[kind][i], seed), &unproven);
        open += unproven;
        printf(" %6lld: %7.1f ms", (long long)OF[kind][i], ms[i]);
        if (unproven)
            printf(" (%u not proven)", unproven);
    }
    double all = log(ms[SIZES - 1] / ms[0]) / log((double)OF[kind][SIZES - 1] / (double)OF[kind][0]),
           last = log(ms[SIZES - 1] / ms[SIZES - 2]) / log((double)OF[kind][SIZES - 1] / (double)OF[kind][SIZES - 2]);
    printf(" exponent %.2f, last step %.2f\n", all, last);
    tp_arena_free(a);
    return open;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint32_t open = 0;
    printf("lint of wide and deep specs, CPU, median of %d, seed %llu\n", REPEATS, (unsigned long long)seed);
    for (wide_kind k = 0; k < WIDE_KINDS; k++)
        open += measure(k, seed);
    return open != 0;
}
