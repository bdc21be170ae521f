#include <stdio.h>

#include "cli/cli.h"

/* "exact", "rounded", "8 ulps" */
static const char *rounding_text(tp_arena *a, const tp_prim_row *r)
{
    switch (r->rounding.kind) {
    case TP_ROUND_EXACT: return "exact";
    case TP_ROUND_ONCE: return "rounded";
    case TP_ROUND_ULPS: return tp_printf(a, "%d ulps", r->rounding.ulps).p;
    }
    return "";
}

static int run(tp_cli *c)
{
    static const char *const KINDS[] = {
        [TP_CLASS_SELECT] = "select",   [TP_CLASS_CONVERT] = "convert",   [TP_CLASS_FOLD] = "fold",
        [TP_CLASS_RUNNING] = "running", [TP_CLASS_CONTRACT] = "contract", [TP_CLASS_MOVE] = "move",
        [TP_CLASS_SOURCE] = "source",   [TP_CLASS_MEMORY] = "memory",     [TP_CLASS_CONTROL] = "control",
        [TP_CLASS_SUGAR] = "sugar"};
    if (c->paths.len)
        return tp_usage_error("primitives takes no arguments");
    printf("%-14s %-10s %-24s %-44s %s\n", "primitive", "kind", "jaxpr", "Pallas", "rounding");
    for (int p = 0; p < TP_PRIMS; p++) {
        const tp_prim_row *r = tp_prim_info((tp_prim)p);
        if (p != TP_P_LITERAL && p != TP_P_VARIABLE)
            printf("%-14s %-10s %-24s %-44s %s\n", r->name,
                   r->nargs == 2   ? "binary"
                   : r->nargs == 1 ? "unary"
                                   : KINDS[r->class],
                   r->jaxpr, r->pallas, rounding_text(c->arena, r));
    }
    return TP_EXIT_OK;
}

const tp_command tp_command_primitives = {"primitives", 'P', "", "list the operations of the body", run};
