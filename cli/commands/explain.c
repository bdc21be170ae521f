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
    if (c->paths.len != 1)
        return tp_usage_error("name one rule: tileproof explain TP101");
    tp_str name = c->paths.at[0];
    const tp_rule *r = tp_rule_find(name);
    size_t n, m;
    const tp_trap_rule *traps = tp_trap_rules(&n);
    for (size_t i = 0; i < n; i++)
        if (tp_str_is(name, traps[i].code) || tp_str_is(name, traps[i].slug)) {
            printf("%s %s\n\n  %s.\n\n  This build reports it when an execution (verify, run) meets it.\n",
                   traps[i].code, traps[i].slug, traps[i].title);
            return TP_EXIT_OK;
        }
    if (!r) {
        const tp_rule *const *rules = tp_rules(&m);
        tp_str names[64];
        size_t count = 0;
        for (size_t i = 0; i < m && count < 60; i++) {
            names[count++] = tp_str_c(rules[i]->code);
            names[count++] = tp_str_c(rules[i]->slug);
        }
        tp_str near = tp_nearest(name, names, count);
        if (near.n)
            return tp_usage_error("there is no rule `%.*s`; did you mean `%.*s`?", TP_FMT(name), TP_FMT(near));
        return tp_usage_error("there is no rule `%.*s`; `tileproof rules` lists them", TP_FMT(name));
    }
    printf("%s %s: %s\n", r->code, r->slug, r->title);
    paragraph("Why", r->why);
    paragraph("Bad", r->bad);
    paragraph("Good", r->good);
    paragraph("What JAX does", r->jax);
    return TP_EXIT_OK;
}

const tp_command tp_command_explain = {"explain", 'e', "RULE", "why a rule exists, with a bad and a good example", run};
