/* A spec in another form. */
#include <stdio.h>

#include "base/file.h"
#include "cli/cli.h"
#include "emit/dot.h"
#include "emit/pallas.h"
#include "spec/format.h"

typedef struct emission {
    tp_job *j;
    tp_buf *b;
} emission;

static void emit_pallas(emission *e)
{
    tp_emit_pallas(e->j->report.spec->kernels[0], e->b);
}

static void emit_dot(emission *e)
{
    tp_emit_dot(e->j->report.spec->kernels[0], e->b);
}

/* Canonical JSON, without the comments of a .jsonc. */
static void emit_spec(emission *e)
{
    tp_spec_format(&e->j->ctx, e->j->report.spec->doc, e->b);
}

static const struct {
    const char *name;
    bool needs_body;
    void (*emit)(emission *e);
} FORMS[] = {{"pallas", true, emit_pallas}, {"spec", false, emit_spec}, {"dot", false, emit_dot}};
enum { NFORMS = sizeof FORMS / sizeof *FORMS };

typedef struct emit_call {
    size_t form;
    emission e;
} emit_call;

static void emit(void *arg)
{
    emit_call *call = arg;
    FORMS[call->form].emit(&call->e);
}

static size_t form_named(tp_str name)
{
    size_t i = 0;
    while (i < NFORMS && !tp_str_is(name, FORMS[i].name))
        i++;
    return i;
}

static int run(tp_cli *c)
{
    tp_strings files = {0}, paths = c->paths;
    tp_job j = {0};
    tp_check_settings s;
    size_t form = paths.len == 2 ? form_named(paths.at[0]) : NFORMS;
    if (form == NFORMS)
        return tp_usage_error("emit takes a form (pallas, spec or dot) and a spec: tileproof emit pallas SPEC");
    c->paths = (tp_strings){.at = paths.at + 1, .len = 1, .cap = 1};
    if (!tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    if (files.len != 1)
        return tp_usage_error("emit takes one spec, not %u", files.len);
    tp_check_defaults(&s, false);
    tp_job_load(c, &j, files.at[0], &s);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    if (code == TP_EXIT_OK && FORMS[form].needs_body && !j.report.spec->kernels[0]->body) {
        tp_say(stderr, "tileproof: %.*s: the spec has no \"kernel\" to emit", TP_FMT(j.source.path));
        code = TP_EXIT_INPUT;
    }
    tp_str lacks = code == TP_EXIT_OK && FORMS[form].needs_body ? tp_emit_pallas_lacks(j.report.spec->kernels[0])
                                                                : (tp_str){NULL, 0};
    if (lacks.n) {
        tp_say(stderr, "tileproof: %.*s: not emitted: %.*s", TP_FMT(j.source.path), TP_FMT(lacks));
        code = TP_EXIT_INPUT;
    }
    if (code == TP_EXIT_OK) {
        tp_buf b = {.arena = j.report.spec->kernels[0]->arena};
        emit_call call = {form, {&j, &b}};
        if (tp_try(b.arena, emit, &call) != TP_OK)
            code = TP_EXIT_INTERNAL;
        else
            printf("%.*s", TP_FMT(tp_buf_view(&b)));
    }
    tp_job_free(&j);
    return code;
}

const tp_command tp_command_emit = {
    "emit", 'E', "pallas|spec|dot SPEC", "the kernel as Python for JAX, as canonical JSON, as a graph", run, false};
