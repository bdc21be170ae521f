#define _GNU_SOURCE
#include "tests/fuzz/readers.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/tensor.h"
#include "cli/check.h"
#include "cli/mutations.h"
#include "emit/dot.h"
#include "emit/pallas.h"
#include "kernels/receipt.h"
#include "lsp/lsp.h"
#include "report/plot.h"
#include "smt/cache.h"
#include "smt/trust/certificates.h"
#include "spec/format.h"

typedef struct input {
    tp_arena *arena;
    tp_source source;
    tp_ctx ctx;
    void (*body)(struct input *in);
} input;

static void call(void *arg)
{
    input *in = arg;
    in->body(in);
}

/* With an arena and a source of its own. */
static void with_text(const uint8_t *bytes, size_t n, const char *path, void (*body)(input *in))
{
    input in = {.arena = tp_arena_new((size_t)256 << 20), .body = body};
    if (!in.arena)
        return;
    in.source = (tp_source){tp_str_c(path), {(const char *)bytes, n}};
    in.ctx = (tp_ctx){.arena = in.arena, .source = &in.source};
    tp_try(in.arena, call, &in);
    tp_arena_free(in.arena);
}

/* With a file of that content; the same file each time. */
static const char *file_of(const uint8_t *bytes, size_t n, const char *suffix)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/tileproof-fuzz-%d%s", (int)getpid(), suffix);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    close(fd);
    return path;
}

/* ---- specs: JSON, names, expressions, statements, canonical form ---- */

/* What is canonical can be read, and is its own canonical form. */
static void spec(input *in)
{
    tp_load_options o = {0};
    tp_spec *s, *t;
    if (tp_spec_load(&in->ctx, &o, &s) != TP_OK)
        return;
    tp_buf b = {.arena = in->arena}, c = {.arena = in->arena};
    tp_spec_format(&in->ctx, s->doc, &b);
    tp_source source = {TP_S("canonical.tile.json"), tp_buf_view(&b)};
    tp_ctx ctx = {.arena = in->arena, .source = &source};
    tp_status st = tp_spec_load(&ctx, &o, &t);
    if (st == TP_E_MEMORY)
        return;
    if (st == TP_OK)
        tp_spec_format(&ctx, t->doc, &c);
    if (st != TP_OK || !tp_str_eq(tp_buf_view(&b), tp_buf_view(&c)))
        abort();
}

static void read_spec(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "x.tile.json", spec);
}

static void read_commented_spec(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "x.tile.jsonc", spec);
}

/* ---- arrays ---- */

static void read_tensor(const uint8_t *bytes, size_t n, const char *suffix, const char *part)
{
    tp_arena *a = tp_arena_new((size_t)256 << 20);
    tp_tensor t;
    tp_str why;
    const char *path = file_of(bytes, n, suffix);
    tp_tensor_read(a, tp_printf(a, "%s%s", path, part), TP_BF16, &t, &why);
    unlink(path);
    tp_arena_free(a);
}

static void read_npy(const uint8_t *bytes, size_t n)
{
    read_tensor(bytes, n, ".npy", "");
}

static void read_safetensors(const uint8_t *bytes, size_t n)
{
    read_tensor(bytes, n, ".safetensors", "#x");
}

/* ---- receipts, certificates, baselines, settings ---- */

static void receipt(input *in)
{
    tp_receipt_read(&in->ctx);
}

static void read_receipt(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "r.json", receipt);
}

static void certificate(input *in)
{
    tp_str why;
    tp_certificate c = tp_certificate_read(&in->ctx);
    tp_buf text = {.arena = in->arena};
    if (c.proof)
        tp_check_proof(in->arena, c.exprs, &c.obligation, c.proof, &why, &text);
}

static void read_certificate(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "c", certificate);
}

static void cache(input *in)
{
    tp_cache *c = tp_cache_new(in->arena, in->source.text, in->source.text.n / 2 + 64);
    tp_cache_text(c, in->arena);
    tp_cache_free(c);
}

static void read_cache(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "cache", cache);
}

typedef struct config_call {
    tp_cli cli;
    const char *path;
} config_call;

static void settings(void *arg)
{
    config_call *c = arg;
    char option[] = "--config", path[64];
    snprintf(path, sizeof path, "%s", c->path);
    char *argv[] = {option, path};
    size_t n;
    const tp_command *const *commands = tp_commands(&n);
    for (size_t i = 0; i < n; i++)
        if (commands[i]->letter == 'l')
            tp_read_settings(&c->cli, commands[i], 2, argv);
}

static void baseline(void *arg)
{
    config_call *c = arg;
    tp_baseline b = {0};
    tp_baseline_read(&c->cli, c->path, &b);
}

static void with_file(const uint8_t *bytes, size_t n, void (*body)(void *arg))
{
    config_call c = {.cli = {.arena = tp_arena_new((size_t)256 << 20)}, .path = file_of(bytes, n, ".json")};
    tp_try(c.cli.arena, body, &c);
    unlink(c.path);
    tp_arena_free(c.cli.arena);
}

static void read_settings(const uint8_t *bytes, size_t n)
{
    with_file(bytes, n, settings);
}

static void read_baseline(const uint8_t *bytes, size_t n)
{
    with_file(bytes, n, baseline);
}

/* ---- the language server: whatever a client may send ---- */

static void read_messages(const uint8_t *bytes, size_t n)
{
    const char *path = file_of(bytes, n, ".lsp");
    int in = open(path, O_RDONLY), out = open("/dev/null", O_WRONLY);
    tp_check_settings s;
    const tp_rule *none = NULL;
    tp_check_defaults(&s, false);
    s.analysis.only = &none; /* the reader, not the prover */
    s.analysis.nonly = 0;
    tp_lsp_serve(in, out, &s, true);
    close(in);
    close(out);
    unlink(path);
}

/* ---- what is written about a spec: reports, pictures, other forms ---- */

static void checked(input *in)
{
    static const tp_format *const *formats;
    size_t n;
    tp_check_settings s;
    tp_job job = {.arena = in->arena, .source = in->source};
    tp_report report = {.arena = in->arena, .unknown = TP_UNKNOWN_FAIL, .verbose = true};
    tp_check_defaults(&s, false);
    s.analysis.prover.no_solver = true; /* no processes */
    tp_job_begin(&job);
    tp_arena_set_limit(in->arena, (size_t)256 << 20);
    tp_check_text(&job, &s, NULL);
    tp_push(in->arena, report.specs, job.report);
    report.specs.at[0].source = &job.source;
    formats = tp_formats(&n);
    FILE *out = fopen("/dev/null", "w");
    for (size_t i = 0; out && i < n; i++)
        tp_write_report(formats[i], &report, out);
    tp_write_plot(&report, true, out);
    tp_write_plot(&report, false, out);
    fclose(out);
}

static void read_for_reports(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "x.tile.json", checked);
}

static void emitted(input *in)
{
    tp_load_options o = {0};
    tp_spec *s;
    tp_buf b = {.arena = in->arena};
    if (tp_spec_load(&in->ctx, &o, &s) != TP_OK)
        return;
    tp_emit_dot(s->kernels[0], &b);
    if (s->kernels[0]->body)
        tp_emit_pallas(s->kernels[0], &b);
}

static void read_for_emit(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "x.tile.json", emitted);
}

/* A command as it is typed; paths and options are those of the call. */
static void run_command(tp_cli *c, const char *name)
{
    size_t n;
    const tp_command *const *commands = tp_commands(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(commands[i]->name, name) == 0)
            commands[i]->run(c);
}

/* A text, a NUL, another one; without the NUL one text, named twice. */
static void with_two_files(const uint8_t *bytes, size_t n, const char *first, const char *second,
                           void (*body)(void *arg))
{
    const uint8_t *zero = memchr(bytes, 0, n);
    size_t before = zero ? (size_t)(zero - bytes) : n;
    config_call c = {.cli = {.arena = tp_arena_new((size_t)256 << 20)}};
    const char *one = tp_printf(c.cli.arena, "%s", file_of(bytes, before, first)).p,
               *two = zero ? file_of(zero + 1, n - before - 1, second) : one;
    tp_push(c.cli.arena, c.cli.paths, tp_str_c(one));
    tp_push(c.cli.arena, c.cli.paths, tp_str_c(two));
    tp_try(c.cli.arena, body, &c);
    unlink(one);
    unlink(two);
    tp_arena_free(c.cli.arena);
}

/* An old text and a new one. */
static void differ(void *arg)
{
    config_call *c = arg;
    tp_push(c->cli.arena, c->cli.jobs, TP_S("1"));
    tp_push(c->cli.arena, c->cli.select, TP_S("TP006,TP101,TP301"));
    run_command(&c->cli, "diff");
}

static void read_for_diff(const uint8_t *bytes, size_t n)
{
    with_two_files(bytes, n, ".old.tile.json", ".tile.json", differ);
}

/* ---- what is executed ---- */

/* Rules, cases, proof of equality and the second opinion, on a small budget, and the report of it. */
static void verified(input *in)
{
    tp_check_settings s;
    tp_job job = {.arena = in->arena, .source = in->source};
    tp_report report = {.arena = in->arena, .unknown = TP_UNKNOWN_FAIL};
    tp_check_defaults(&s, true);
    s.analysis.prover.no_solver = true; /* no processes */
    s.timeout = 1;
    s.memory_mib = 128;
    s.max_memory = s.equiv.max_memory = (size_t)32 << 20;
    s.equiv.max_steps = 1000;
    s.cases = s.box = 1;
    tp_job_begin(&job);
    tp_job_allow(&job, &s);
    tp_budget *b = tp_arena_budget(in->arena);
    b->limit /= 8;
    tp_check_text(&job, &s, NULL);
    if (job.report.internal_error && !job.report.out_of_memory) /* a proof and an execution disagree */
        abort();
    tp_push(in->arena, report.specs, job.report);
    report.specs.at[0].source = &job.source;
    FILE *out = fopen("/dev/null", "w");
    if (out)
        tp_write_report(tp_format_find(TP_S("json")), &report, out);
    if (out)
        fclose(out);
}

static void read_for_verify(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "x.tile.json", verified);
}

static void give_sizes(tp_cli *c, const char *path)
{
    tp_source source = {.path = tp_str_c(path)};
    tp_ctx ctx = {.arena = c->arena, .source = &source};
    tp_load_options o = {0};
    tp_spec *s;
    tp_str why;
    if (tp_read_file(c->arena, path, TP_JSON_MAX_BYTES, &source.text, &why) != TP_OK ||
        tp_spec_load(&ctx, &o, &s) != TP_OK)
        return;
    const tp_kernel *k = s->kernels[0];
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE || k->sizes[i].kind == TP_SIZE_CHOICE)
            tp_push(c->arena, c->size, tp_printf(c->arena, "%.*s=%d", TP_FMT(k->sizes[i].name), i ? 8 : 3));
}

/* Without a receipt, on inputs that are made. */
static void executed(void *arg)
{
    config_call *x = arg;
    tp_cli *c = &x->cli;
    give_sizes(c, x->path);
    tp_push(c->arena, c->paths, tp_str_c(x->path));
    tp_push(c->arena, c->unchecked, TP_S(""));
    tp_push(c->arena, c->fill, TP_S("normal"));
    tp_push(c->arena, c->timeout, TP_S("1"));
    tp_push(c->arena, c->max_steps, TP_S("200"));
    tp_push(c->arena, c->max_memory, TP_S("16"));
    run_command(c, "run");
}

static void read_for_run(const uint8_t *bytes, size_t n)
{
    with_file(bytes, n, executed);
}

/* Every defect is planted, and read again. */
static void planted(input *in)
{
    enum { FEW = 20 };
    tp_load_options o = {0};
    tp_spec *s, *t;
    if (tp_spec_load(&in->ctx, &o, &s) != TP_OK)
        return;
    tp_mutations all = tp_mutations_of(&in->ctx, s->doc);
    for (uint32_t i = 0; i < all.len && i < FEW; i++) {
        tp_source source = {TP_S("defect.tile.json"), all.at[i].text};
        tp_ctx ctx = {.arena = in->arena, .source = &source};
        tp_spec_load(&ctx, &o, &t);
    }
}

static void read_for_mutate(const uint8_t *bytes, size_t n)
{
    with_text(bytes, n, "x.tile.json", planted);
}

/* A file of certificates, all lines of it. */
static void rechecked(void *arg)
{
    config_call *x = arg;
    tp_push(x->cli.arena, x->cli.paths, tp_str_c(x->path));
    tp_push(x->cli.arena, x->cli.explain, TP_S(""));
    run_command(&x->cli, "recheck");
}

static void read_for_recheck(const uint8_t *bytes, size_t n)
{
    with_file(bytes, n, rechecked);
}

/* ---- what is counted and modelled ---- */

/* On every chip, at sizes that are given, as text and as JSON. */
static void counted(void *arg)
{
    config_call *x = arg;
    tp_cli *c = &x->cli;
    tp_push(c->arena, c->paths, tp_str_c(x->path));
    tp_push(c->arena, c->timeout, TP_S("1"));
    tp_push(c->arena, c->memory_limit, TP_S("128"));
    run_command(c, "cost");
    give_sizes(c, x->path);
    tp_push(c->arena, c->format, TP_S("json"));
    run_command(c, "cost");
}

static void read_for_cost(const uint8_t *bytes, size_t n)
{
    with_file(bytes, n, counted);
}

/* Two chips and two values of the first size, as a page. */
static void swept(void *arg)
{
    config_call *x = arg;
    tp_cli *c = &x->cli;
    give_sizes(c, x->path);
    tp_str size = c->size.len ? c->size.at[0] : TP_S("N=3");
    tp_push(c->arena, c->over, tp_printf(c->arena, "target=v4|v5e,%.*s|8", TP_FMT(size)));
    c->size.len = 0;
    tp_push(c->arena, c->paths, tp_str_c(x->path));
    tp_push(c->arena, c->timeout, TP_S("1"));
    tp_push(c->arena, c->memory_limit, TP_S("128"));
    tp_push(c->arena, c->jobs, TP_S("1"));
    tp_push(c->arena, c->format, TP_S("html"));
    run_command(c, "sweep");
}

static void read_for_sweep(const uint8_t *bytes, size_t n)
{
    with_file(bytes, n, swept);
}

/* ---- reports of shards ---- */

static void merged(void *arg)
{
    config_call *c = arg;
    run_command(&c->cli, "merge");
}

static void read_for_merge(const uint8_t *bytes, size_t n)
{
    with_two_files(bytes, n, ".1.json", ".2.json", merged);
}

const tp_reader_row *tp_fuzz_readers(size_t *n)
{
    static const tp_reader_row ROWS[] = {
        {"spec", read_spec},
        {"jsonc", read_commented_spec},
        {"npy", read_npy},
        {"safetensors", read_safetensors},
        {"receipt", read_receipt},
        {"certificate", read_certificate},
        {"cache", read_cache},
        {"baseline", read_baseline},
        {"settings", read_settings},
        {"lsp", read_messages},
        {"report", read_for_reports},
        {"emit", read_for_emit},
        {"diff", read_for_diff},
        {"verify", read_for_verify},
        {"run", read_for_run},
        {"mutate", read_for_mutate},
        {"recheck", read_for_recheck},
        {"cost", read_for_cost},
        {"sweep", read_for_sweep},
        {"merge", read_for_merge},
    };
    *n = sizeof ROWS / sizeof *ROWS;
    return ROWS;
}
