#include <stdio.h>

#include "cli/cli.h"

static int run(tp_cli *c)
{
    size_t n, m;
    const tp_rule *const *rules = tp_rules(&n);
    const tp_trap_rule *traps = tp_trap_rules(&m);
    (void)c;
    printf("proven for all sizes by lint and verify:\n");
    for (size_t i = 0; i < n; i++) { /* advice has the last codes */
        if (rules[i]->severity == TP_NOTE && (i == 0 || rules[i - 1]->severity != TP_NOTE))
            printf("advice by lint and verify, which never fails a run:\n");
        printf("  %s  %-24s %s\n", rules[i]->code, rules[i]->slug, rules[i]->title);
    }
    printf("reported when execution (verify, run) meets them:\n");
    for (size_t i = 0; i < m; i++)
        printf("  %s  %-24s %s\n", traps[i].code, traps[i].slug, traps[i].title);
    printf("errors of the spec itself: TP001 structure, TP002 name, TP003 syntax, TP004 type, TP005 value\n");
    return TP_EXIT_OK;
}

const tp_command tp_command_rules = {"rules", 'R', "", "list the rules", run};
