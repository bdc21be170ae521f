/* What the commands share. */
#ifndef TP_CLI_H
#define TP_CLI_H

#include <stdio.h>

#include "verify/verify.h"

typedef TP_VEC(tp_str) tp_strings;

enum { TP_MAX_OPTIONS = 80 };

typedef struct tp_cli {
    tp_arena *arena;
    const char *program;
    tp_strings paths;
    const char *config_file;             /* NULL: none */
    bool noted;                          /* a settings file that does not hold */
    const char *origins[TP_MAX_OPTIONS]; /* by row of options.def: who set it; NULL: nobody */
#define X(field, name, brief, metavar, commands, help) tp_strings field;
#include "cli/options.def"
#undef X
} tp_cli;

/* A command: one file of cli/commands, one descriptor named after it. */
typedef struct tp_command {
    const char *name;
    char letter; /* in options.def */
    const char *usage, *summary;
    int (*run)(tp_cli *c); /* exit code */
    bool raw;              /* reads its arguments itself: all are in c->paths */
} tp_command;
const tp_command *const *tp_commands(size_t *n);

/* A row of options.def. */
typedef struct tp_option_row {
    const char *name;
    char brief;
    const char *metavar, *commands, *help;
    size_t offset; /* of its tp_strings in tp_cli */
} tp_option_row;
const tp_option_row *tp_option_rows(size_t *n);
bool tp_option_applies(const tp_option_row *o, const tp_command *cmd);
/* Options of the command line, the environment and the settings file. An exit
 * code, not 0 after a message. */
int tp_read_settings(tp_cli *c, const tp_command *cmd, int argc, char **argv);
void tp_print_settings(tp_cli *c, const tp_command *cmd);
/* Below a message on an option: which ones stand elsewhere than on the command line, and where. */
void tp_say_other_places(tp_cli *c, const tp_command *cmd);
void tp_print_help(const tp_command *cmd);

/* Becomes `python3` with the Python package's SUBCOMMAND and all arguments;
 * returns an exit code after a message when that fails. */
int tp_python(tp_cli *c, const char *subcommand);
/* One line: whatever names and values hold, nothing in it begins another line or steers a terminal. */
void tp_say(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Message on stderr: "tileproof: …"; returns TP_EXIT_USAGE. */
int tp_usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A JSON file of ours (`what`: settings file, baseline, receipt): read() raises as the readers of specs do. What it
 * makes may point into the text, which stays. False after a message. */
bool tp_read_own_file(tp_cli *c, const char *what, const char *path, size_t max_bytes,
                      void (*read)(tp_ctx *ctx, void *into), void *into);

/* Last value of an option or `otherwise`; a number in [lo, hi], false after a
 * message. */
tp_str tp_option(const tp_strings *values, const char *otherwise);
bool tp_option_number(const tp_strings *values, const char *name, int64_t lo, int64_t hi, int64_t otherwise,
                      int64_t *out);
/* The two sides of NAME=VALUE; false: it is not that. */
bool tp_split_binding(tp_str s, tp_str *name, tp_str *value);
/* --OPTION NAME=VALUE, each value in [0, most], into values->len bindings; false after a message, which has `example`.
 */
bool tp_option_bindings(const tp_strings *values, const char *option, const char *example, int64_t most,
                        tp_binding *out);
/* Those of --size. */
bool tp_option_sizes(const tp_cli *c, int64_t most, tp_binding *sizes);
/* What is wrong with these names of --size for k: one is no open size; empty: nothing. */
tp_str tp_option_sizes_wrong(const tp_cli *c, const tp_binding *sizes, const tp_kernel *k);
/* "WHAT `name`; did you mean `near`?"; `otherwise` where none is near. TP_EXIT_USAGE. */
int tp_refuse_name(const char *what, tp_str name, tp_str near, const char *otherwise);
/* There is none of that name: says which one is near. TP_EXIT_USAGE. */
int tp_refuse_rule(tp_str name);
/* --target, empty: the spec's own. False after a message. */
bool tp_use_target(const tp_cli *c, tp_str *target);
bool tp_use_color(const tp_cli *c, bool *color);
/* --timeout and --memory-limit into the settings, which hold the defaults. False after a message. */
bool tp_use_budget(const tp_cli *c, tp_check_settings *s);

/* FILE:LINE of a statement in the text of its spec. */
tp_str tp_statement_place(tp_arena *a, const tp_source *source, const tp_syntax *s);
/* "i = 0, j = 2": the coordinates of a step, as env has them. */
tp_str tp_coordinates_text(tp_arena *a, const tp_kernel *k, const int64_t *env);

/* Files named on the command line: folders are searched for *.tile.json(c),
 * gallery names are looked up. False after a message. */
bool tp_expand_paths(tp_cli *c, tp_strings *out);

/* Read the text; false: the report holds the finding. */
bool tp_job_read(tp_cli *c, tp_job *j, tp_str path);
/* Read and load for s->target, on account of the budget of the settings; on failure the report holds the findings and
 * valid is false. */
void tp_job_load(tp_cli *c, tp_job *j, tp_str path, const tp_check_settings *s);
/* Exit code that the findings call for; unless it is 0 they are printed in full, on stderr. */
int tp_job_exit_code(tp_cli *c, const tp_job *j, tp_unknown_policy unknown);

/* lint and verify; `execute`: run the cases too. */
int tp_check_specs(tp_cli *c, bool execute);

/* playback.c: is --playback well formed (and its folder there)? False after a
 * message. Then the failing cases of the report; arrays take at most `room`
 * bytes each time. */
bool tp_playback_usable(tp_cli *c);
bool tp_write_playback(tp_cli *c, const tp_report *r, size_t room);

#endif
