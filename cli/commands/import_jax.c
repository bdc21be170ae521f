#include "cli/cli.h"

static int run(tp_cli *c)
{
    return tp_python(c, "import");
}

const tp_command tp_command_import_jax = {
    "import-jax",
    'i',
    "PKG.MOD:FN --arg f32[512,128] … [--sym M=512,…] [--reference PKG.MOD:FN] [--contracts] [-o FOLDER] [--lint]",
    "write specs of the pallas_calls that a Python function reaches",
    run,
    true};
