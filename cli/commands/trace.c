#include "cli/cli.h"

static int run(tp_cli *c)
{
    return tp_python(c, "trace");
}

const tp_command tp_command_trace = {"trace",
                                     't',
                                     "[-o FOLDER] SCRIPT.py [ARGUMENTS…]",
                                     "run a Python script and write specs of the pallas_calls that it makes",
                                     run,
                                     true};
