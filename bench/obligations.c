/* How long one obligation takes: every one of the gallery and of the rules'
 * examples, in one process. usage: obligations SPEC… */
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/analyze.h"
#include "base/file.h"
#include "spec/kernel.h"

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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    tp_arena *keep = tp_arena_new(0);
    tp_times times = {.arena = keep};
    for (int i = 1; i < argc; i++) {
        job j = {.arena = tp_arena_new(0), .path = argv[i]};
        j.options.prover.times = &times;
        if (tp_try(j.arena, analyze, &j) != TP_OK)
            return 1;
        tp_arena_free(j.arena);
    }
    uint32_t n = times.ms.len;
    if (n == 0)
        return 1;
    qsort(times.ms.at, n, sizeof *times.ms.at, ascending);
    printf("obligations, %u of %d specs: p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, worst %.1f ms\n", n, argc - 1,
           times.ms.at[n / 2], times.ms.at[n * 9 / 10], times.ms.at[n * 99 / 100], times.ms.at[n - 1]);
    tp_arena_free(keep);
    return 0;
}
