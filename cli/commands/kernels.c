#include <stdio.h>

#include "cli/cli.h"

static int run(tp_cli *c)
{
    tp_strings files = {0};
    tp_check_settings s;
    if (c->paths.len == 0)
        tp_push(c->arena, c->paths, TP_S("examples"));
    if (!tp_expand_paths(c, &files))
        return TP_EXIT_USAGE;
    int code = TP_EXIT_OK;
    tp_check_defaults(&s, false);
    for (uint32_t i = 0; i < files.len; i++) {
        tp_job j = {0};
        tp_job_load(c, &j, files.at[i], &s);
        if (j.report.valid)
            tp_say(stdout, "%-28.*s %.*s", TP_FMT(j.report.name), TP_FMT(j.report.spec->kernels[0]->description));
        else {
            tp_say(stderr, "tileproof: `%.*s` is not a valid spec; `tileproof lint` says why", TP_FMT(files.at[i]));
            code = TP_EXIT_INPUT;
        }
        tp_job_free(&j);
    }
    return code;
}

const tp_command tp_command_kernels = {"kernels", 'K', "[FOLDER…]", "list the kernels of a folder (default: examples)",
                                       run};
