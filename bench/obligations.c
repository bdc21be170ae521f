/* How long one obligation takes: every one of the specs, in one process; and
 * whether all of them got slower than they were. The measure is a ratio, since
 * machines differ: time to SHA-256 of 16 MiB in the same run, the median of
 * REPEATS. BASELINE holds a line "NAME<tab>ratio<tab>MiB"; more than 20 % above
 * either is an alarm, and exit 1.
 * usage: obligations BASELINE NAME SPEC… */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/analyze.h"
#include "base/digest.h"
#include "base/file.h"
#include "bench/timing.h"
#include "spec/kernel.h"

enum { REPEATS = 9 };

typedef struct job {
    tp_arena *arena;
    const char *path;
    tp_analysis_options options;
} job;

static void analyze(void *arg)
{
    job *j = arg;
    tp_source source = {.path = tp_str_c(j->path)};
    tp_ctx c = {.arena = j->arena, .source = &source};
    tp_load_options load = {0};
    tp_spec *spec = NULL;
    tp_analysis_result r = {0};
    tp_str why;
    if (tp_read_file(j->arena, j->path, 8 << 20, &source.text, &why) == TP_OK &&
        tp_spec_load(&c, &load, &spec) == TP_OK)
        tp_analyze(j->arena, spec, &j->options, &r);
}

/* Milliseconds for all of them; *bytes: their memory. times: of each obligation, or NULL. */
static double pass(char **paths, int n, tp_times *times, size_t *bytes)
{
    double start = now_ms();
    *bytes = 0;
    for (int i = 0; i < n; i++) {
        job j = {.arena = tp_arena_new(0), .path = paths[i]};
        j.options.prover.times = times;
        if (tp_try(j.arena, analyze, &j) != TP_OK)
            exit(1);
        *bytes += tp_arena_used(j.arena);
        tp_arena_free(j.arena);
    }
    return now_ms() - start;
}

static double digest(void)
{
    static char text[16 << 20];
    tp_arena *a = tp_arena_new(0);
    double start = now_ms();
    tp_sha256(a, (tp_str){text, sizeof text});
    double ms = now_ms() - start;
    tp_arena_free(a);
    return ms;
}

/* False: slower, or larger, than the baseline allows. */
static bool compare(const char *file, const char *name, double ratio, double mib)
{
    char line[200], key[100];
    double known_ratio = NAN, known_mib = NAN;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f)) {
        double r, m;
        if (sscanf(line, "%99[^\t]\t%lf\t%lf", key, &r, &m) == 3 && strcmp(key, name) == 0)
            known_ratio = r, known_mib = m;
    }
    if (f)
        fclose(f);
    bool alarm = ratio > 1.2 * known_ratio || mib > 1.2 * known_mib;
    printf("proof speed, %s: %.3f times SHA-256 of 16 MiB (%.2f of the baseline), %.1f MiB (%.2f of it)%s\n", name,
           ratio, ratio / known_ratio, mib, mib / known_mib, alarm ? "   ALARM: over 1.20" : "");
    return !alarm;
}

int main(int argc, char **argv)
{
    tp_arena *keep = tp_arena_new(0);
    tp_times times = {.arena = keep};
    double ratios[REPEATS];
    size_t bytes = 0;
    if (argc < 4)
        return 2;
    for (int i = 0; i < REPEATS; i++) {
        double hash = digest(), ms = pass(argv + 3, argc - 3, i ? NULL : &times, &bytes);
        ratios[i] = ms / hash;
    }
    uint32_t n = times.ms.len;
    if (n == 0)
        return 1;
    qsort(times.ms.at, n, sizeof *times.ms.at, ascending);
    printf("obligations, %u of %d specs: p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, worst %.1f ms\n", n, argc - 3,
           times.ms.at[n / 2], times.ms.at[n * 9 / 10], times.ms.at[n * 99 / 100], times.ms.at[n - 1]);
    bool good = compare(argv[1], argv[2], median(ratios, REPEATS), (double)bytes / (1 << 20));
    tp_arena_free(keep);
    return !good;
}
