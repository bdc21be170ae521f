/* A spec in another form. */
#include <stdio.h>

#include "base/file.h"
#include "cli/cli.h"
#include "emit/pallas.h"

typedef struct emission {
    const tp_kernel *k;
    tp_buf *b;
} emission;

static void emit(void *arg)
{
    emission *e = arg;
    tp_emit_pallas(e->k, e->b);
}

static int run(tp_cli *c)
{
    tp_strings files = {0}, paths = c->paths;
    tp_job j = {0};
    int code = TP_EXIT_OK;
    if (paths.len != 2 || !tp_str_is(paths.at[0], "pallas"))
        return tp_usage_error("emit takes a form and a spec: tileproof emit pallas SPEC");
    c->paths = (tp_strings){.at = paths.at + 1, .len = 1, .cap = 1};
    if (!tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    if (files.len != 1)
        return tp_usage_error("emit takes one spec, not %u", files.len);
    tp_job_load(c, &j, files.at[0], TP_S(""));
    if (!j.report.valid) {
        tp_report report = {.arena = c->arena};
        tp_push(c->arena, report.specs, j.report);
        report.specs.at[0].source = &j.source;
        tp_format_find(TP_S("full"))->write(&report, stderr);
        code = TP_EXIT_INPUT;
    } else if (!j.report.spec->kernels[0]->body) {
        fprintf(stderr, "tileproof: %.*s: the spec has no \"kernel\" to emit\n", TP_FMT(j.source.path));
        code = TP_EXIT_INPUT;
    } else {
        tp_buf b = {.arena = j.report.spec->kernels[0]->arena};
        emission e = {j.report.spec->kernels[0], &b};
        if (tp_try(b.arena, emit, &e) != TP_OK)
            code = TP_EXIT_INTERNAL;
        else
            printf("%.*s", TP_FMT(tp_buf_view(&b)));
    }
    tp_job_free(&j);
    return code;
}

const tp_command tp_command_emit = {"emit", 'E', "pallas SPEC", "the kernel as Python for JAX", run, false};
