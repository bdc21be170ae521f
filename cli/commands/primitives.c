#include <stdio.h>

#include "cli/cli.h"

static int run(tp_cli *c)
{
    (void)c;
    printf("%-14s %-24s %-44s %s\n", "primitive", "jaxpr", "Pallas", "rounding");
    for (int p = 0; p < TP_PRIMS; p++) {
        const tp_prim_row *r = tp_prim_info((tp_prim)p);
        if (p != TP_P_LITERAL && p != TP_P_VARIABLE)
            printf("%-14s %-24s %-44s %s\n", r->name, r->jaxpr, r->pallas, r->rounding);
    }
    return TP_EXIT_OK;
}

const tp_command tp_command_primitives = {"primitives", 'P', "", "list the operations of the body", run};
