/* tileproof: command line. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

#define X(name) extern const tp_command tp_command_##name;
#include "commands.inc"
#undef X

static const tp_command *const COMMANDS[] = {
#define X(name) &tp_command_##name,
#include "commands.inc"
#undef X
};

const tp_command *const *tp_commands(size_t *n)
{
    *n = sizeof COMMANDS / sizeof *COMMANDS;
    return COMMANDS;
}

typedef struct option_row {
    const char *name;
    char brief;
    const char *metavar, *commands, *help;
    size_t offset;
} option_row;

static const option_row OPTIONS[] = {
#define X(field, name, brief, metavar, commands, help) {name, brief, metavar, commands, help, offsetof(tp_cli, field)},
#include "cli/options.def"
#undef X
};
enum { NOPTIONS = sizeof OPTIONS / sizeof *OPTIONS };

static tp_strings *values_of(tp_cli *c, const option_row *o)
{
    return (tp_strings *)(void *)((char *)c + o->offset);
}

static bool applies(const option_row *o, const tp_command *cmd)
{
    return o->commands[0] == 'a' || strchr(o->commands, cmd->letter) != NULL;
}

static void print_overview(FILE *out)
{
    fprintf(out,
            "tileproof %s: a verifier for tiled kernel specs\n\nusage: tileproof COMMAND [OPTIONS] [ARGUMENTS]\n\n",
            TP_VERSION);
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
    fprintf(out, "\nexit codes: 0 fine, 1 a rule is violated or a result differs, 2 usage,\n"
                 "            3 an input cannot be read or is not a valid spec, 4 only unknowns, 5 internal error\n"
                 "`tileproof COMMAND --help` lists the options.\n");
}

static void print_help(const tp_command *cmd)
{
    printf("%s\n\nusage: tileproof %s %s\n", cmd->summary, cmd->name, cmd->usage);
    bool any = false;
    for (size_t i = 0; i < NOPTIONS; i++) {
        const option_row *o = &OPTIONS[i];
        if (!applies(o, cmd))
            continue;
        if (!any)
            printf("\n");
        any = true;
        char left[64];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->brief ? "-" : "  ", o->brief ? o->brief : ' ',
                 o->brief ? ", " : " ", o->name, o->metavar ? " " : "", o->metavar ? o->metavar : "");
        printf("  %-28s %s\n", left, o->help);
    }
}

static const option_row *find_option(const tp_command *cmd, const char *arg, size_t n)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        const option_row *o = &OPTIONS[i];
        bool match = arg[1] == '-' ? n - 2 == strlen(o->name) && strncmp(arg + 2, o->name, n - 2) == 0
                                   : n == 2 && o->brief && o->brief == arg[1];
        if (match && applies(o, cmd))
            return o;
    }
    return NULL;
}

static int unknown_option(const tp_command *cmd, const char *arg, size_t n)
{
    tp_str names[NOPTIONS];
    size_t count = 0;
    for (size_t i = 0; i < NOPTIONS; i++)
        if (applies(&OPTIONS[i], cmd))
            names[count++] = tp_str_c(OPTIONS[i].name);
    tp_str near = tp_nearest((tp_str){arg + (arg[1] == '-' ? 2 : 1), n - (arg[1] == '-' ? 2 : 1)}, names, count);
    if (near.n)
        return tp_usage_error("`%s` has no option `%.*s`; did you mean `--%.*s`?", cmd->name, (int)n, arg,
                              TP_FMT(near));
    return tp_usage_error("`%s` has no option `%.*s`; see `tileproof %s --help`", cmd->name, (int)n, arg, cmd->name);
}

/* 0, or an exit code after a message. */
static int parse(tp_cli *c, const tp_command *cmd, int argc, char **argv)
{
    bool only_paths = false;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
        size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
        if (only_paths || arg[0] != '-' || arg[1] == '\0') {
            tp_push(c->arena, c->paths, tp_str_c(arg));
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_paths = true;
            continue;
        }
        const option_row *o = find_option(cmd, arg, n);
        if (!o)
            return unknown_option(cmd, arg, n);
        tp_str value = TP_S("yes");
        if (o->metavar) {
            if (!equals && i + 1 >= argc)
                return tp_usage_error("option --%s takes a value (%s)", o->name, o->metavar);
            value = tp_str_c(equals ? equals + 1 : argv[++i]);
        } else if (equals) {
            return tp_usage_error("option --%s takes no value", o->name);
        }
        tp_push(c->arena, *values_of(c, o), value);
    }
    return 0;
}

static void read_environment(tp_cli *c, const tp_command *cmd)
{
    for (size_t i = 0; i < NOPTIONS; i++) {
        char name[64] = "TILEPROOF_";
        size_t n = strlen(name);
        for (const char *p = OPTIONS[i].name; *p && n < sizeof name - 1; p++)
            name[n++] = *p == '-' ? '_' : (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
        name[n] = '\0';
        const char *value = getenv(name);
        if (value && *value && applies(&OPTIONS[i], cmd) && strcmp(OPTIONS[i].name, "help") != 0)
            tp_push(c->arena, *values_of(c, &OPTIONS[i]), tp_str_c(value));
    }
}

typedef struct invocation {
    tp_cli cli;
    int argc;
    char **argv;
    int exit_code;
} invocation;

static int unknown_command(const char *name)
{
    tp_str names[sizeof COMMANDS / sizeof *COMMANDS];
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        names[i] = tp_str_c(COMMANDS[i]->name);
    tp_str near = tp_nearest(tp_str_c(name), names, sizeof COMMANDS / sizeof *COMMANDS);
    if (near.n)
        return tp_usage_error("there is no command `%s`; did you mean `%.*s`?", name, TP_FMT(near));
    return tp_usage_error("there is no command `%s`; `tileproof --help` lists them", name);
}

static void dispatch(void *arg)
{
    invocation *v = arg;
    const char *name = v->argc > 1 ? v->argv[1] : "";
    if (v->argc < 2 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_overview(v->argc < 2 ? stderr : stdout);
        v->exit_code = v->argc < 2 ? TP_EXIT_USAGE : TP_EXIT_OK;
        return;
    }
    if (strcmp(name, "--version") == 0) {
        printf("tileproof %s\n", TP_VERSION);
        return;
    }
    const tp_command *cmd = NULL;
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        if (strcmp(COMMANDS[i]->name, name) == 0)
            cmd = COMMANDS[i];
    if (!cmd) {
        v->exit_code = unknown_command(name);
        return;
    }
    for (int i = 2; cmd->raw && i < v->argc; i++)
        tp_push(v->cli.arena, v->cli.paths, tp_str_c(v->argv[i]));
    if (cmd->raw) {
        v->exit_code = cmd->run(&v->cli);
        return;
    }
    read_environment(&v->cli, cmd);
    v->exit_code = parse(&v->cli, cmd, v->argc - 2, v->argv + 2);
    if (v->exit_code)
        return;
    if (v->cli.help.len)
        print_help(cmd);
    else
        v->exit_code = cmd->run(&v->cli);
}

int main(int argc, char **argv)
{
    invocation v = {.argc = argc, .argv = argv};
    v.cli.arena = tp_arena_new(0);
    v.cli.program = argv[0];
    if (!v.cli.arena || tp_try(v.cli.arena, dispatch, &v) != TP_OK) {
        fprintf(stderr, "tileproof: out of memory\n");
        v.exit_code = TP_EXIT_INTERNAL;
    }
    tp_arena_free(v.cli.arena);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "tileproof: cannot write the output\n");
        return TP_EXIT_INTERNAL;
    }
    return v.exit_code;
}
