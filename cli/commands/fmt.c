#include <stdio.h>

#include "base/file.h"
#include "cli/cli.h"
#include "spec/format.h"

typedef struct fmt_call {
    tp_job *job;
    tp_buf text;
} fmt_call;

/* Needs the syntax only: a spec that does not type-check has a canonical form. */
static void format(void *arg)
{
    fmt_call *f = arg;
    tp_ctx *c = &f->job->ctx;
    const tp_json *doc = tp_json_parse(c, false);
    if (doc->type != TP_J_OBJECT)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, doc->loc, NULL, "a spec is an object, not %s",
                 tp_json_type_name(doc->type));
    tp_spec_format(c, doc, &f->text);
}

static int format_one(tp_cli *c, tp_str path)
{
    tp_job j = {0};
    tp_str why;
    int code = TP_EXIT_OK;
    if (path.n > 6 && memcmp(path.p + path.n - 6, ".jsonc", 6) == 0)
        return tp_usage_error("`%.*s`: fmt would lose the comments of a .jsonc file; it formats .tile.json",
                              TP_FMT(path));
    bool readable = tp_job_read(c, &j, path);
    fmt_call f = {&j, {.arena = j.arena}};
    if (!readable || tp_try(j.arena, format, &f) != TP_OK) {
        if (readable)
            j.report.findings = j.ctx.findings;
        code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    } else if (c->check.len) {
        if (!tp_str_eq(tp_buf_view(&f.text), j.source.text)) {
            tp_say(stdout, "%.*s: not in canonical form", TP_FMT(path));
            code = TP_EXIT_VIOLATED;
        }
    } else if (c->write.len && !tp_str_is(path, "-")) {
        tp_str text = tp_buf_view(&f.text);
        if (!tp_str_eq(text, j.source.text) &&
            tp_write_file(j.arena, tp_cstr(j.arena, path), &text, 1, &why) != TP_OK) {
            tp_say(stderr, "tileproof: %.*s", TP_FMT(why));
            code = TP_EXIT_INPUT;
        }
    } else {
        fwrite(f.text.p, 1, f.text.n, stdout);
    }
    tp_job_free(&j);
    return code;
}

static int run(tp_cli *c)
{
    tp_strings files = {0};
    int code = TP_EXIT_OK;
    if (!tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    for (uint32_t i = 0; i < files.len; i++)
        code = tp_worse_exit(code, format_one(c, files.at[i]));
    return code;
}

const tp_command tp_command_fmt = {"fmt", 'f', "[--check | --write] FILE…", "print specs in canonical form", run};
