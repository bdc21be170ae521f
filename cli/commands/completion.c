#include <stdio.h>

#include "cli/generate/generate.h"

static int run(tp_cli *c)
{
    tp_command_list all;
    all.at = tp_commands(&all.n);
    if (c->paths.len != 1 || !tp_print_completion(c->paths.at[0], all, stdout))
        return tp_usage_error("name a shell: tileproof completion bash, zsh or fish");
    return TP_EXIT_OK;
}

const tp_command tp_command_completion = {"completion", 'x', "bash|zsh|fish", "completion for a shell", run};
