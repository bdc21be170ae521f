/* What the commands share. */
#ifndef TP_CLI_H
#define TP_CLI_H

#include "report/report.h"

typedef TP_VEC(tp_str) tp_strings;

enum { TP_MAX_OPTIONS = 64 };

typedef struct tp_cli {
    tp_arena *arena;
    const char *program;
    tp_strings paths;
    const char *config_file;             /* NULL: none */
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
void tp_print_settings(const tp_cli *c, const tp_command *cmd);
void tp_print_help(const tp_command *cmd);

/* Becomes `python3` with the Python package's SUBCOMMAND and all arguments;
 * returns an exit code after a message when that fails. */
int tp_python(tp_cli *c, const char *subcommand);
/* Message on stderr: "tileproof: …"; returns TP_EXIT_USAGE. */
int tp_usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The first finding of a file that is no spec (settings, a baseline); returns TP_EXIT_USAGE. */
int tp_config_error(tp_cli *c, const tp_ctx *ctx);

/* Last value of an option or `otherwise`; a number in [lo, hi], false after a
 * message. */
tp_str tp_option(const tp_strings *values, const char *otherwise);
bool tp_option_number(const tp_strings *values, const char *name, int64_t lo, int64_t hi, int64_t otherwise,
                      int64_t *out);
bool tp_use_color(const tp_cli *c, bool *color);

/* Files named on the command line: folders are searched for *.tile.json(c),
 * gallery names are looked up. False after a message. */
bool tp_expand_paths(tp_cli *c, tp_strings *out);

/* One spec: its own arena (made by the first call that needs it), source and result. */
typedef struct tp_job {
    tp_arena *arena;
    tp_str file; /* as it is named to the system; source.path is for people */
    tp_source source;
    tp_ctx ctx;
    tp_spec_report report;
    struct tp_certificates *certificates; /* of its proofs; NULL: not asked for */
    tp_str fixed;                         /* the text with its fixes; empty: there are none */
    uint32_t nfixes;                      /* in it */
} tp_job;
/* An empty report on j->source, in j->arena. */
void tp_job_begin(tp_job *j);
/* Read the text; false: the report holds the finding. */
bool tp_job_read(tp_cli *c, tp_job *j, tp_str path);
/* Read and load; on failure the report holds the findings and valid is false. */
void tp_job_load(tp_cli *c, tp_job *j, tp_str path, tp_str target);
/* Load j->source, which is there. */
void tp_job_load_text(tp_job *j, tp_str target);
void tp_job_free(tp_job *j);

/* lint and verify; `execute`: run the cases too. */
int tp_check_specs(tp_cli *c, bool execute);

/* playback.c: is --playback well formed (and its folder there)? False after a
 * message. Then the failing cases of the report; arrays take at most `room`
 * bytes each time. */
bool tp_playback_usable(tp_cli *c);
bool tp_write_playback(tp_cli *c, const tp_report *r, size_t room);

/* Replay of a witness by the machine (analyzer/analyze.h). ctx: size_t max memory. */
int tp_replay_witness(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule);
/* Equality for all sizes and dtype combinations; findings: what tp_analyze()
 * says of the rules on which it rests. */
tp_equality tp_check_equality(tp_arena *a, const tp_spec *s, const tp_analysis_options *o, const tp_findings *findings);
/* Findings of an execution, shrunk to small sizes. */
void tp_add_execution_findings(tp_arena *a, const tp_equiv *e, const tp_kernel *k, const tp_equiv_options *o,
                               tp_findings *into);

#endif
