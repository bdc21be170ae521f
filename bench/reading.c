/* How fast text becomes a kernel: JSON, statements, types. usage: reading SPEC
 * (medians of repeats, MB of text per second). */
#include <stdio.h>

#include "base/file.h"
#include "bench/timing.h"
#include "spec/kernel.h"

enum { REPEATS = 15 };

typedef struct job {
    tp_ctx c;
    tp_json *doc;
    double json, statements, all; /* ms */
    size_t body;                  /* bytes of statements */
} job;

static void read_once(void *arg)
{
    job *j = arg;
    tp_load_options load = {0};
    tp_spec *spec;
    double start = now_ms();
    j->doc = tp_json_parse(&j->c, false);
    j->json = now_ms() - start;
    const tp_json *lines = tp_json_get(j->doc, "kernel");
    start = now_ms();
    tp_parse_program(&j->c, lines);
    j->statements = now_ms() - start;
    j->body = 0;
    for (uint32_t i = 0; i < lines->u.items.n; i++)
        j->body += lines->u.items.at[i]->u.string.n + 1;
    start = now_ms();
    tp_spec_load(&j->c, &load, &spec);
    j->all = now_ms() - start;
}

int main(int argc, char **argv)
{
    double json[REPEATS], statements[REPEATS], all[REPEATS];
    size_t bytes = 0, body = 0;
    if (argc != 2)
        return 1;
    for (int r = 0; r < REPEATS; r++) {
        tp_arena *arena = tp_arena_new(0);
        tp_source source = {.path = tp_str_c(argv[1])};
        job j = {.c = {.arena = arena, .source = &source}};
        tp_str why;
        if (tp_read_file(arena, argv[1], 8 << 20, &source.text, &why) != TP_OK || tp_try(arena, read_once, &j) != TP_OK)
            return 1;
        bytes = source.text.n;
        body = j.body;
        json[r] = (double)bytes / j.json / 1e3;
        statements[r] = (double)body / j.statements / 1e3;
        all[r] = (double)bytes / j.all / 1e3;
        tp_arena_free(arena);
    }
    printf("reading %.2f MB with %.2f MB of statements: JSON %.0f MB/s, statements %.0f MB/s, to a typed kernel %.0f "
           "MB/s\n",
           (double)bytes / 1e6, (double)body / 1e6, median(json, REPEATS), median(statements, REPEATS),
           median(all, REPEATS));
    return 0;
}
