#include <unistd.h>

#include "cli/check.h"
#include "lsp/lsp.h"

static int run(tp_cli *c)
{
    tp_check_run r = {.report.arena = c->arena};
    if (c->paths.len)
        return tp_usage_error("lsp takes no files: the editor sends them");
    if (!tp_check_read_settings(c, false, &r))
        return TP_EXIT_USAGE;
    int code = tp_lsp_serve(STDIN_FILENO, STDOUT_FILENO, &r.s, false);
    if (code == TP_EXIT_INTERNAL)
        tp_say(stderr, "tileproof: out of memory: the language server ends");
    return code;
}

const tp_command tp_command_lsp = {"lsp", 'L', "[OPTIONS]", "language server for editors, on standard input and output",
                                   run};
