#include "cli/cli.h"

#define X(name) extern const tp_command tp_command_##name;
#include "commands.inc"
#undef X

static const tp_command *const COMMANDS[] = {
#define X(name) &tp_command_##name,
#include "commands.inc"
#undef X
};

const tp_command *const *tp_commands(size_t *n)
{
    *n = sizeof COMMANDS / sizeof *COMMANDS;
    return COMMANDS;
}
