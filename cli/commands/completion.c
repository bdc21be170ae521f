#include <stdio.h>

#include "cli/generate/generate.h"

static int run(tp_cli *c)
{
    if (c->paths.len != 1 || !tp_print_completion(c->paths.at[0], stdout))
        return tp_usage_error("name a shell: tileproof completion bash, zsh or fish");
    return TP_EXIT_OK;
}

const tp_command tp_command_completion = {"completion", 'x', "bash|zsh|fish", "completion for a shell", run};
