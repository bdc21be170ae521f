#include <stdio.h>

#include "cli/check.h"

static int run(tp_cli *c)
{
    if (c->paths.len < 3 || !(tp_str_is(c->paths.at[0], "write") || tp_str_is(c->paths.at[0], "check")))
        return tp_usage_error("use `tileproof baseline write FILE PATH…` or `tileproof baseline check FILE PATH…`");
    bool write = tp_str_is(c->paths.at[0], "write");
    const char *file = tp_cstr(c->arena, c->paths.at[1]);
    tp_baseline b = {0};
    tp_check_run r;
    c->paths.at += 2;
    c->paths.len -= 2;
    if (write ? !tp_baseline_replaceable(c, file) : !tp_baseline_read(c, file, &b))
        return TP_EXIT_USAGE;
    int code = tp_check_begin(c, false, false, &r);
    if (code)
        return code;
    uint32_t stale = tp_baseline_apply(&b, &r.s, &r.report);
    code = tp_report_exit_code(&r.report);
    if (write && code != TP_EXIT_INPUT && code != TP_EXIT_INTERNAL) {
        code = tp_baseline_write(c, file, &r.report) ? TP_EXIT_OK : TP_EXIT_INTERNAL;
    } else {
        tp_write_report(tp_format_find(TP_S("concise")), &r.report, stdout);
        for (uint32_t i = 0; i < b.len; i++)
            if (b.at[i].stale)
                tp_say(stdout, "%s: nothing has %.*s in `%.*s` at %.*s any more", file, TP_FMT(b.at[i].rule),
                       TP_FMT(tp_visible(c->arena, b.at[i].kernel)), TP_FMT(tp_visible(c->arena, b.at[i].place)));
        if (stale && code == TP_EXIT_OK)
            code = TP_EXIT_VIOLATED;
    }
    tp_check_end(c, &r);
    return code;
}

const tp_command tp_command_baseline = {"baseline", 'b', "[OPTIONS] write|check FILE PATH…",
                                        "record the current findings, or check that there are no others", run};
