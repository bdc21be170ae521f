#include "cli/cli.h"

static int run(tp_cli *c)
{
    return tp_check_specs(c, false);
}

const tp_command tp_command_lint = {"lint", 'l', "[OPTIONS] PATH…",
                                    "prove the static rules for all sizes; executes nothing", run};
