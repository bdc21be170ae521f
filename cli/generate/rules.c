#include "cli/generate/generate.h"

static void print_codes(FILE *out, tp_code_source source, const char *title)
{
    size_t n;
    const tp_code *codes = tp_codes(&n);
    fprintf(out, "\n## %s\n\n| code | slug | says |\n|---|---|---|\n", title);
    for (size_t i = 0; i < n; i++)
        if (codes[i].source == source)
            fprintf(out, "| %s | `%s` | %s. %s |\n", codes[i].code, codes[i].slug, codes[i].title, codes[i].why);
}

void tp_print_rules(FILE *out)
{
    static const char *const SEVERITIES[] = {"advice", "warning", "error"};
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    fprintf(out,
            "# Rules\n\nMade by `tileproof rules --markdown`. Codes keep their meaning; slugs are accepted "
            "wherever codes are "
            "(`--select`,\n`\"allow\"`). `tileproof explain " TP_RULE_BLOCK_OUT_OF_BOUNDS "` prints one of them.\n\n"
            "| code | slug | level | holds when |\n|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++)
        fprintf(out, "| [%s](#%s) | `%s` | %s%s | %s |\n", rules[i]->code, rules[i]->code, rules[i]->slug,
                SEVERITIES[rules[i]->severity], rules[i]->hardware ? ", chips only" : "", rules[i]->title);
    for (size_t i = 0; i < n; i++)
        fprintf(out,
                "\n<a id=\"%s\"></a>\n## %s %s\n\nRule: "
                "%s.\n\n%s\n\nBad:\n\n```\n%s\n```\n\nGood:\n\n```\n%s\n```\n\nJAX: %s\n",
                rules[i]->code, rules[i]->code, rules[i]->slug, rules[i]->title, rules[i]->why, rules[i]->bad,
                rules[i]->good, rules[i]->jax);
    print_codes(out, TP_CODE_EXECUTION, "Reported by an execution (verify, run)");
    print_codes(out, TP_CODE_SPEC, "Errors of the spec itself");
    print_codes(out, TP_CODE_RUN, "About the run itself");
}
