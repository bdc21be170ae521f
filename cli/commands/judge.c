#include "cli/cli.h"

static int run(tp_cli *c)
{
    return tp_python(c, "judge");
}

const tp_command tp_command_judge = {"judge", 'j', "SPEC…", "who says what: tileproof beside JAX and the TPU compiler",
                                     run,     true};
