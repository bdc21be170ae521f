#include <stdio.h>

#include "cli/cli.h"
#include "verify/rewrites.h"

enum { MOST = 6000 };

typedef struct rewrites_call {
    tp_job *job;
    tp_buf text;
} rewrites_call;

static void list(void *arg)
{
    rewrites_call *r = arg;
    tp_ctx *c = &r->job->ctx;
    const tp_json *doc = tp_json_parse(c, false);
    if (doc->type != TP_J_OBJECT)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, doc->loc, NULL, "a spec is an object, not %s",
                 tp_json_type_name(doc->type));
    tp_rewrites all = tp_rewrites_of(c, doc, MOST);
    const char *sep = "";
    tp_buf_printf(&r->text, "{\"tileproof_rewrites\": 1, \"rewrites\": [");
    for (uint32_t i = 0; i < all.len; i++) {
        const tp_edit *e = &all.at[i].edit;
        if (all.at[i].also.text.n) /* these are of one place */
            continue;
        tp_linecol at = tp_linecol_of(c->source, e->start);
        tp_buf_printf(&r->text,
                      "%s\n  {\"start\": %u, \"end\": %u, \"line\": %u, \"column\": %u, \"rank\": %u, \"pointer\": ",
                      sep, e->start, e->end, at.line, at.column, all.at[i].rank);
        tp_buf_json(&r->text, all.at[i].place.pointer);
        tp_buf_printf(&r->text, ", \"text\": ");
        tp_buf_json(&r->text, e->text);
        tp_buf_c(&r->text, "}");
        sep = ",";
    }
    tp_buf_c(&r->text, "\n]}\n");
}

static int run(tp_cli *c)
{
    tp_job j = {0};
    if (c->paths.len != 1)
        return tp_usage_error("rewrites takes one spec");
    bool readable = tp_job_read(c, &j, c->paths.at[0]);
    rewrites_call r = {&j, {.arena = j.arena}};
    int code = TP_EXIT_OK;
    if (!readable || tp_try(j.arena, list, &r) != TP_OK) {
        if (readable)
            j.report.findings = j.ctx.findings;
        code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    } else {
        tp_str text = tp_buf_view(&r.text);
        fwrite(text.p, 1, text.n, stdout);
    }
    tp_job_free(&j);
    return code;
}

const tp_command tp_command_rewrites = {
    "rewrites", 'z', "SPEC",
    "list the changes of one place that verify tries where results differ (for programs: JSON)", run};
