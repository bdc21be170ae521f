#include "cli/cli.h"

#include "commands.inc" /* REGISTRY, of cli/commands */

const tp_command *const *tp_commands(size_t *n)
{
    *n = REGISTRY_SIZE;
    return REGISTRY;
}
