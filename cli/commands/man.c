#include <stdio.h>

#include "cli/generate/generate.h"

static int run(tp_cli *c)
{
    if (c->paths.len)
        return tp_usage_error("man takes no arguments: tileproof man | man -l -");
    tp_command_list all;
    all.at = tp_commands(&all.n);
    tp_print_man(all, stdout);
    return TP_EXIT_OK;
}

const tp_command tp_command_man = {"man", 'M', "", "the manual page", run};
