/* tileproof: command line. */
#define _POSIX_C_SOURCE 200809L
#include <gmp.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/interrupt.h"

static void print_overview(FILE *out)
{
    fprintf(out,
            "tileproof %s: a verifier for tiled kernel specs\n\nusage: tileproof COMMAND [OPTIONS] [ARGUMENTS]\n\n",
            TP_VERSION);
    size_t n;
    const tp_command *const *commands = tp_commands(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\nexit codes: 0 fine, 1 a rule is violated or a result differs, 2 usage,\n"
                 "            3 an input cannot be read or is not a valid spec, 4 only unknowns, 5 internal error\n"
                 "`tileproof help COMMAND` lists the options, `tileproof --version` says which version this is.\n");
}

typedef struct invocation {
    tp_cli cli;
    int argc;
    char **argv;
    int exit_code;
} invocation;

static int unknown_command(const char *name)
{
    tp_str names[64];
    size_t n, count = 0;
    const tp_command *const *commands = tp_commands(&n);
    for (; count < n && count < sizeof names / sizeof *names; count++)
        names[count] = tp_str_c(commands[count]->name);
    return tp_refuse_name("there is no command", tp_str_c(name), tp_nearest(tp_str_c(name), names, count),
                          "`tileproof --help` lists them");
}

static const tp_command *command_of(const char *name)
{
    size_t n;
    const tp_command *const *commands = tp_commands(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int help_on(const char *name)
{
    const tp_command *cmd = command_of(name);
    if (!cmd)
        return unknown_command(name);
    tp_print_help(cmd);
    return TP_EXIT_OK;
}

static void dispatch(void *arg)
{
    invocation *v = arg;
    const char *name = v->argc > 1 ? v->argv[1] : "";
    if (v->argc > 2 && strcmp(name, "help") == 0) {
        v->exit_code = help_on(v->argv[2]);
        return;
    }
    if (v->argc < 2 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_overview(v->argc < 2 ? stderr : stdout);
        v->exit_code = v->argc < 2 ? TP_EXIT_USAGE : TP_EXIT_OK;
        return;
    }
    if (strcmp(name, "--version") == 0) {
        printf("tileproof %s\n", TP_VERSION);
        return;
    }
    const tp_command *cmd = command_of(name);
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
    v->exit_code = tp_read_settings(&v->cli, cmd, v->argc - 2, v->argv + 2);
    if (v->exit_code)
        return;
    if (v->cli.help.len)
        tp_print_help(cmd);
    else if (v->cli.show_settings.len)
        tp_print_settings(&v->cli, cmd);
    else
        v->exit_code = cmd->run(&v->cli);
    if (v->exit_code == TP_EXIT_USAGE)
        tp_say_other_places(&v->cli, cmd);
}

/* ---- signals ---- */

static void say(const char *text)
{
    size_t n = strlen(text);
    for (ssize_t wrote; n && (wrote = write(STDERR_FILENO, text, n)) > 0; n -= (size_t)wrote)
        text += wrote;
}

/* Nothing half-written stays; the program ends as it would have. */
static void clean_up(int signal_number)
{
    if (signal_number == SIGINT && tp_interrupt_noted())
        return;
    tp_remove_unfinished();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A file that was mapped has become shorter under us. */
static void cut_short(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    const char *path = tp_mapped_file_at(info->si_addr);
    if (!path)
        clean_up(signal_number);
    say("tileproof: `");
    say(path ? path : "");
    say("` became shorter while it was read: start again when nothing writes to it\n");
    tp_remove_unfinished();
    _exit(TP_EXIT_INPUT);
}

_Noreturn static void end_with(const char *sentence)
{
    say(sentence);
    tp_remove_unfinished();
    _exit(TP_EXIT_INTERNAL);
}

/* A library that cannot go on, mostly for want of memory: it has said why. */
static void give_up(int signal_number)
{
    (void)signal_number;
    end_with("tileproof: cannot continue: a library stopped, most likely because memory ran out\n");
}

/* GMP wants memory or the end of the program. */
static void *or_end(void *p)
{
    if (!p)
        end_with("tileproof: out of memory for large numbers\n");
    return p;
}

static void *gmp_new(size_t n)
{
    return or_end(malloc(n));
}

static void *gmp_resize(void *p, size_t before, size_t n)
{
    (void)before;
    return or_end(realloc(p, n));
}

static void gmp_free(void *p, size_t n)
{
    (void)n;
    free(p);
}

static void handle_signals(void)
{
    static const int ENDING[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction ending = {.sa_handler = clean_up}, bus = {.sa_sigaction = cut_short, .sa_flags = SA_SIGINFO}, now;
    signal(SIGPIPE, SIG_IGN); /* a reader that leaves, a file that may not grow: */
    signal(SIGXFSZ, SIG_IGN); /* errors to report, not deaths */
    for (size_t i = 0; i < sizeof ENDING / sizeof *ENDING; i++)
        if (sigaction(ENDING[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) /* as under nohup */
            sigaction(ENDING[i], &ending, NULL);
    sigaction(SIGBUS, &bus, NULL);
    signal(SIGABRT, give_up);
}

/* Arrays of a case are taken and given back many times: from the system each time they cost a fault a page. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    enum { KEPT = 64 << 20 };
    mallopt(M_MMAP_THRESHOLD, KEPT / 2);
    mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

int main(int argc, char **argv)
{
    invocation v = {.argc = argc, .argv = argv};
    v.cli.arena = tp_arena_new(0);
    v.cli.program = argv[0];
    handle_signals();
    keep_freed_memory();
    mp_set_memory_functions(gmp_new, gmp_resize, gmp_free);
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
