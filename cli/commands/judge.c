#include "cli/cli.h"

static int run(tp_cli *c)
{
    return tp_python(c, "judge");
}

const tp_command tp_command_judge = {
    "judge", 'j', "SPEC…", "compare the verdicts of tileproof, JAX's interpreters and the TPU compiler", run, true};
