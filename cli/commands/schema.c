#include <stdio.h>

#include "cli/generate/generate.h"

static int run(tp_cli *c)
{
    bool settings = c->paths.len == 1 && tp_str_is(c->paths.at[0], "settings");
    if (c->paths.len && !settings)
        return tp_usage_error("schema takes no arguments, or `settings`");
    if (settings)
        tp_print_settings_schema(c->arena, stdout);
    else
        tp_print_schema(c->arena, stdout);
    return TP_EXIT_OK;
}

const tp_command tp_command_schema = {"schema", 'S', "[settings]", "JSON Schema of specs, or of .tileproof.json", run};
