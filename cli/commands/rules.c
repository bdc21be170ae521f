#include <stdio.h>

#include "cli/generate/generate.h"

static void print_codes(tp_code_source source, const char *title)
{
    size_t n;
    const tp_code *codes = tp_codes(&n);
    printf("%s\n", title);
    for (size_t i = 0; i < n; i++)
        if (codes[i].source == source)
            printf("  %s  %-24s %s\n", codes[i].code, codes[i].slug, codes[i].title);
}

static int run(tp_cli *c)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    if (c->paths.len)
        return tp_usage_error("rules takes no arguments; `tileproof explain %.*s` tells of one rule",
                              TP_FMT(c->paths.at[0]));
    if (c->markdown.len) {
        tp_print_rules(stdout);
        return TP_EXIT_OK;
    }
    printf("proven for all sizes by lint and verify:\n");
    for (size_t i = 0; i < n; i++) { /* advice has the last codes */
        if (rules[i]->severity == TP_NOTE && (i == 0 || rules[i - 1]->severity != TP_NOTE))
            printf("advice by lint and verify, which never fails a run:\n");
        printf("  %s  %-24s %s\n", rules[i]->code, rules[i]->slug, rules[i]->title);
    }
    print_codes(TP_CODE_EXECUTION, "reported when execution (verify, run) meets them:");
    print_codes(TP_CODE_SPEC, "errors of the spec itself:");
    print_codes(TP_CODE_RUN, "about the run itself:");
    return TP_EXIT_OK;
}

const tp_command tp_command_rules = {"rules", 'R', "[--markdown]", "list the rules", run};
