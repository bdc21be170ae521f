#include <ctype.h>
#include <stdio.h>

#include "cli/cli.h"

static void paragraph(const char *title, const char *text)
{
    printf("\n%s\n", title);
    size_t column = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (column + n + 1 > 96) {
            printf("\n");
            column = 0;
        }
        printf("%s%.*s", column ? " " : "  ", (int)n, p);
        column += n + (column ? 1 : 2);
        p += n;
        while (*p == ' ')
            p++;
    }
    printf("\n");
}

static int run(tp_cli *c)
{
    static const char *const REPORTED_BY[] = {"the reader of specs.", "an execution (verify, run) that meets it.",
                                              "lint and verify, about the run itself."};
    if (c->paths.len != 1)
        return tp_usage_error("name one rule: tileproof explain " TP_RULE_BLOCK_OUT_OF_BOUNDS);
    const tp_rule *r = tp_rule_find(c->paths.at[0]);
    const tp_code *code = tp_code_find(c->paths.at[0]);
    if (!r && !code)
        return tp_refuse_rule(c->paths.at[0]);
    if (code) {
        printf("%s %s: %s\n", code->code, code->slug, code->title);
        paragraph("Why", code->why);
        paragraph("Reported by", REPORTED_BY[code->source]);
        return TP_EXIT_OK;
    }
    printf("%s %s: %s\n", r->code, r->slug, r->title);
    paragraph("Why", r->why);
    paragraph("Bad", r->bad);
    paragraph("Good", r->good);
    paragraph("What JAX does", r->jax);
    return TP_EXIT_OK;
}

const tp_command tp_command_explain = {"explain", 'e', "RULE", "why a rule exists, with a bad and a good example", run};
