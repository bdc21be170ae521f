/* Completion of commands, options and the rules, targets and formats that options take. */
#include "cli/generate/generate.h"

static void print_options(FILE *out, const tp_command *cmd)
{
    size_t n;
    const tp_option_row *rows = tp_option_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (tp_option_applies(&rows[i], cmd))
            fprintf(out, " --%s", rows[i].name);
}

static void print_rules(FILE *out)
{
    size_t n;
    const tp_rule *const *rules = tp_rules(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %s", rules[i]->code);
}

static void print_targets(FILE *out)
{
    size_t n;
    const tp_target *targets = tp_targets(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %.*s", TP_FMT(targets[i].name));
    fprintf(out, " none");
}

static void print_formats(FILE *out)
{
    size_t n;
    const tp_format *const *formats = tp_formats(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %s", formats[i]->name);
}

static const struct {
    const char *option;
    void (*values)(FILE *out);
} VALUES[] = {
    {"--target", print_targets}, {"--format", print_formats}, {"--select", print_rules}, {"--ignore", print_rules}};
enum { NVALUES = sizeof VALUES / sizeof *VALUES };

static void print_bash(tp_command_list commands, FILE *out)
{
    fprintf(out, "# bash completion of tileproof: made by `tileproof completion bash`\n"
                 "_tileproof() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
                 "    case $before in\n");
    for (size_t i = 0; i < NVALUES; i++) {
        fprintf(out, "    %s) words=\"", VALUES[i].option);
        VALUES[i].values(out);
        fprintf(out, "\" ;;\n");
    }
    fprintf(out, "    explain) words=\"");
    print_rules(out);
    fprintf(out, "\" ;;\n    esac\n    if [ -z \"$words\" ] && [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"");
    for (size_t i = 0; i < commands.n; i++)
        fprintf(out, " %s", commands.at[i]->name);
    fprintf(
        out,
        "\"\n    elif [ -z \"$words\" ] && [ \"${word#-}\" != \"$word\" ]; then\n        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < commands.n; i++) {
        fprintf(out, "        %s) words=\"", commands.at[i]->name);
        print_options(out, commands.at[i]);
        fprintf(out, "\" ;;\n");
    }
    fprintf(out, "        esac\n    fi\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                 "    [ -n \"$words\" ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
                 "complete -o filenames -F _tileproof tileproof\n");
}

/* Text inside single quotes and zsh's brackets. */
static void put_help(FILE *out, const char *help, const char *escaped)
{
    for (const char *p = help; *p; p++) {
        if (*p == '\'')
            fputs("'\\'", out);
        else if (strchr(escaped, *p))
            fputc('\\', out);
        fputc(*p, out);
    }
}

static void print_zsh(tp_command_list commands, FILE *out)
{
    size_t m;
    const tp_option_row *rows = tp_option_rows(&m);
    fprintf(out, "#compdef tileproof\n# zsh completion of tileproof: made by `tileproof completion zsh`\n"
                 "_tileproof() {\n  if (( CURRENT == 2 )); then\n    local -a commands=(\n");
    for (size_t i = 0; i < commands.n; i++) {
        fprintf(out, "      '%s:", commands.at[i]->name);
        put_help(out, commands.at[i]->summary, ":");
        fprintf(out, "'\n");
    }
    fprintf(out, "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n"
                 "  shift words\n  (( CURRENT-- ))\n  case $command in\n");
    for (size_t i = 0; i < commands.n; i++) {
        fprintf(out, "    %s)\n      _arguments", commands.at[i]->name);
        for (size_t k = 0; k < m; k++) {
            if (!tp_option_applies(&rows[k], commands.at[i]))
                continue;
            fprintf(out, " \\\n        '*--%s[", rows[k].name);
            put_help(out, rows[k].help, "[]:\\");
            fprintf(out, "]%s", rows[k].metavar ? ":" : "");
            if (rows[k].metavar) {
                fprintf(out, "%s:", rows[k].metavar);
                bool listed = false;
                for (size_t v = 0; v < NVALUES; v++)
                    if (strcmp(VALUES[v].option + 2, rows[k].name) == 0) {
                        fprintf(out, "(");
                        VALUES[v].values(out);
                        fprintf(out, ")");
                        listed = true;
                    }
                if (!listed)
                    fprintf(out, "_files");
            }
            fprintf(out, "'");
        }
        fprintf(out, " \\\n        '*:file:_files' ;;\n");
    }
    fprintf(out, "  esac\n}\n_tileproof \"$@\"\n");
}

static void print_fish(tp_command_list commands, FILE *out)
{
    size_t m;
    const tp_option_row *rows = tp_option_rows(&m);
    fprintf(out, "# fish completion of tileproof: made by `tileproof completion fish`\n");
    for (size_t i = 0; i < commands.n; i++) {
        fprintf(out, "complete -c tileproof -n __fish_use_subcommand -a %s -d '", commands.at[i]->name);
        put_help(out, commands.at[i]->summary, "");
        fprintf(out, "'\n");
        for (size_t k = 0; k < m; k++) {
            if (!tp_option_applies(&rows[k], commands.at[i]))
                continue;
            fprintf(out, "complete -c tileproof -n '__fish_seen_subcommand_from %s' -l %s", commands.at[i]->name,
                    rows[k].name);
            if (rows[k].brief)
                fprintf(out, " -s %c", rows[k].brief);
            if (rows[k].metavar)
                fprintf(out, " -r");
            for (size_t v = 0; v < NVALUES; v++)
                if (strcmp(VALUES[v].option + 2, rows[k].name) == 0) {
                    fprintf(out, " -x -a '");
                    VALUES[v].values(out);
                    fprintf(out, "'");
                }
            fprintf(out, " -d '");
            put_help(out, rows[k].help, "");
            fprintf(out, "'\n");
        }
    }
}

bool tp_print_completion(tp_str shell, tp_command_list commands, FILE *out)
{
    if (tp_str_is(shell, "bash"))
        print_bash(commands, out);
    else if (tp_str_is(shell, "zsh"))
        print_zsh(commands, out);
    else if (tp_str_is(shell, "fish"))
        print_fish(commands, out);
    else
        return false;
    return true;
}
