#include "cli/cli.h"

static int run(tp_cli *c)
{
    return tp_check_specs(c, true);
}

const tp_command tp_command_verify = {"verify", 'v', "[OPTIONS] PATH…",
                                      "lint, then execute against the naive reference", run};
