/* lint and verify: what their files share. */
#ifndef TP_CHECK_H
#define TP_CHECK_H

#include "cli/cli.h"

/* A run of lint or verify, up to its report. */
typedef struct tp_check_run {
    tp_check_settings s;
    const tp_format *format;
    int64_t threads;
    enum { TP_FIX_NONE, TP_FIX_SHOW, TP_FIX_WRITE } fix;
    tp_report report;
    tp_job *jobs;
    uint32_t njobs;
    struct tp_cache *cache;     /* NULL: none */
    struct tp_results *results; /* results.h; NULL: only proofs are kept */
    bool by_spec;               /* reports are written, and memory is freed, as specs are done; of these remains: */
    tp_arena *kept;
    struct tp_writing **writings; /* of each --output, then of what is printed */
    uint32_t nwritings;
} tp_check_run;
/* check_settings.c: false after a message. */
bool tp_check_read_settings(tp_cli *c, bool execute, tp_check_run *run);
/* check.c: an exit code, not 0 after a message. `print`: reports are written, on the way where nothing else asks for
 * all specs at once: then what remains of a spec is counts, name and cost. */
int tp_check_begin(tp_cli *c, bool execute, bool print, tp_check_run *run);
void tp_check_end(tp_cli *c, tp_check_run *run);

/* dump.c: --dump; an exit code. */
int tp_dump_specs(tp_cli *c, bool execute);

/* workers.c: all jobs, run->threads at a time; how far it is shows on a terminal. False when memory ran out. */
bool tp_check_all(tp_cli *c, tp_check_run *run, const tp_strings *paths);

/* guard.c: the files of a run. */
typedef struct tp_run_files {
    tp_strings reads, writes;
} tp_run_files;
/* Nothing for an empty path and for "-". */
void tp_guard_reads(tp_cli *c, tp_run_files *g, tp_str path);
/* False after a message: it would overwrite what is read, or is written already. `option`: its long name. */
bool tp_guard_writes(tp_cli *c, tp_run_files *g, const char *option, tp_str path);
/* Can a file be written there, as far as the file system says before the work is done? False after a message; whatever
 * happens later is found by writing. */
bool tp_can_write(const tp_cli *c, const char *option, tp_str path);
/* Both: neither over what is read nor where nothing can be. */
bool tp_may_write(tp_cli *c, tp_run_files *g, const char *option, tp_str path);
/* For everything that lint and verify read and write. */
bool tp_guard_check(tp_cli *c, const tp_strings *specs);
/* The cache's text, empty where there is none yet; false after a message: what is there is something else. */
bool tp_cache_usable(tp_cli *c, const char *path, tp_str *text);
/* What follows the first `sign`; empty when there is none. */
tp_str tp_after(tp_str s, char sign);

/* baseline.c: findings that were there when the baseline was written. */
typedef struct tp_baseline_entry {
    tp_str rule, kernel, place, subject;
    bool used, stale; /* stale: its spec was checked, and has nothing like it */
} tp_baseline_entry;
typedef TP_VEC(tp_baseline_entry) tp_baseline;
/* False after a message. */
bool tp_baseline_read(tp_cli *c, const char *path, tp_baseline *b);
bool tp_baseline_write(tp_cli *c, const char *path, const tp_report *r);
/* Is there nothing at the path, or a baseline? False after a message. */
bool tp_baseline_replaceable(tp_cli *c, const char *path);
/* Suppresses what it knows; the number of stale entries. */
uint32_t tp_baseline_apply(tp_baseline *b, const tp_check_settings *s, const tp_report *r);

/* shard.c: the paths of the shard that --shard names, and which of all they are. False after a message. */
bool tp_shard_paths(tp_cli *c, tp_strings *paths, tp_shard *s);

/* git.c: those of the paths that differ from the revision or are not tracked. False after a message. */
bool tp_changed_since(tp_cli *c, tp_str revision, tp_strings *paths);

/* outputs.c: is every --output FORMAT=PATH? False after a message. */
bool tp_outputs_usable(const tp_cli *c);
/* Reports begin, get a spec, in order, with the arena `a` for what is not kept, and are put together: first the one
 * that is printed, then the files. False when some of it could not be written, for files after a message. */
void tp_outputs_begin(tp_cli *c, tp_check_run *run, bool alone, bool print);
void tp_outputs_add(tp_check_run *run, const tp_spec_report *s, tp_arena *a);
bool tp_outputs_print(const tp_cli *c, const tp_check_run *run);
bool tp_outputs_end(tp_cli *c, tp_check_run *run);
/* Write the fixed texts, or print them as a patch. False after a message. */
bool tp_write_fixes(tp_cli *c, const tp_check_run *run);

#endif
