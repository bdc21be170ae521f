/* --dump: what phases hand on, in place of a report. */
#include "dump/dump.h"

#include <stdio.h>

#include "base/budget.h"
#include "cli/check.h"

typedef TP_VEC(const tp_dump *) dumps;

static bool read_phases(const tp_cli *c, dumps *out)
{
    for (uint32_t i = 0; i < c->dump.len; i++)
        for (tp_str rest = c->dump.at[i], name; tp_list_next(&rest, ",", &name);) {
            const tp_dump *d = tp_dump_find(name);
            if (!d) {
                tp_buf names = {.arena = c->arena};
                size_t n;
                const tp_dump *const *all = tp_dumps(&n);
                for (size_t k = 0; k < n; k++)
                    tp_buf_printf(&names, "%s%s", k ? ", " : "", all[k]->name);
                tp_usage_error("--dump: there is no phase `%.*s`; there are %.*s", TP_FMT(name),
                               TP_FMT(tp_buf_view(&names)));
                return false;
            }
            tp_push(c->arena, *out, d);
        }
    return true;
}

typedef struct dump_call {
    tp_job *job;
    const tp_dump *phase;
    tp_str text;
} dump_call;

static void dump(void *arg)
{
    dump_call *x = arg;
    x->text = tp_dump_text(&x->job->ctx, x->job->report.spec, x->phase);
}

static int dump_one(tp_cli *c, const tp_check_run *run, const dumps *phases, tp_str path)
{
    tp_job j = {0};
    tp_job_load(c, &j, path, &run->s);
    int code = tp_job_exit_code(c, &j, TP_UNKNOWN_WARN);
    for (uint32_t i = 0; i < phases->len && code == TP_EXIT_OK; i++) {
        dump_call x = {&j, phases->at[i], {NULL, 0}};
        tp_status st = tp_try(j.arena, dump, &x);
        if (st == TP_OK) {
            printf("%.*s", TP_FMT(x.text));
            continue;
        }
        tp_say(stderr, "tileproof: %.*s: --dump=%s: %.*s", TP_FMT(path), phases->at[i]->name,
               TP_FMT(tp_budget_or(j.arena, TP_S("memory ran out"))));
        code = st == TP_E_BUDGET ? TP_EXIT_UNKNOWN : TP_EXIT_INTERNAL;
    }
    tp_job_free(&j);
    return code;
}

int tp_dump_specs(tp_cli *c, bool execute)
{
    tp_check_run run = {.report.arena = c->arena};
    tp_strings paths = {0};
    dumps phases = {0};
    int code = TP_EXIT_OK;
    if (!read_phases(c, &phases) || !tp_check_read_settings(c, execute, &run) || !tp_expand_paths(c, &paths))
        return TP_EXIT_USAGE;
    for (uint32_t i = 0; i < paths.len; i++)
        code = tp_worse_exit(code, dump_one(c, &run, &phases, paths.at[i]));
    return code;
}
