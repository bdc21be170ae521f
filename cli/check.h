/* lint and verify: what their files share. */
#ifndef TP_CHECK_H
#define TP_CHECK_H

#include "cli/cli.h"

enum { TP_NEVIDENCE = 5 };

/* The options, understood. */
typedef struct tp_check_settings {
    const tp_format *format;
    tp_str target;
    tp_analysis_options analysis; /* without solver and certificates: each spec has its own */
    tp_equiv_options equiv;
    size_t max_memory;
    int64_t cases, box, jobs;
    bool required[TP_NEVIDENCE]; /* by TP_EVIDENCE_TABLE */
    bool execute;
    enum { TP_FIX_NONE, TP_FIX_SHOW, TP_FIX_WRITE } fix;
    bool unsafe_fixes; /* those that narrow the domain, too */
} tp_check_settings;

/* check_settings.c: false after a message. */
bool tp_check_read_settings(tp_cli *c, tp_check_settings *s, tp_report *report);

typedef struct tp_evidence_row {
    const char *text;
    tp_evidence tier;
} tp_evidence_row;
extern const tp_evidence_row TP_EVIDENCE_TABLE[TP_NEVIDENCE];
/* evidence.c: a finding for each required tier that was not reached. */
void tp_add_missing_evidence(tp_arena *a, tp_spec_report *r, const bool *required);

/* suppress.c: did this run look for the rule, by code or slug? */
bool tp_looked_for(const tp_check_settings *s, const tp_spec_report *r, tp_str rule);
/* What "allow" and "expect" of the spec and the baseline say of its findings. */
void tp_apply_waivers(tp_job *j, const tp_check_settings *s);

/* baseline.c: findings that were there when the baseline was written. */
typedef struct tp_baseline_entry {
    tp_str rule, kernel, place, subject;
    bool used, stale; /* stale: its spec was checked, and has nothing like it */
} tp_baseline_entry;
typedef TP_VEC(tp_baseline_entry) tp_baseline;
/* False after a message. */
bool tp_baseline_read(tp_cli *c, const char *path, tp_baseline *b);
bool tp_baseline_write(tp_cli *c, const char *path, const tp_report *r);
/* Suppresses what it knows; the number of stale entries. */
uint32_t tp_baseline_apply(tp_baseline *b, const tp_check_settings *s, const tp_report *r);

/* git.c: those of the paths that differ from the revision or are not tracked. False after a message. */
bool tp_changed_since(tp_cli *c, tp_str revision, tp_strings *paths);

/* check_one.c: read, analyse and, if asked to, execute one spec. Changes the
 * job (whose arena is there) and the solver only: jobs may run in threads. */
void tp_check_one(tp_cli *c, tp_job *j, tp_str path, const tp_check_settings *s, tp_solver *solver);

/* The same for the text that j->source has. */
void tp_check_text(tp_job *j, const tp_check_settings *s, tp_solver *solver);

/* fix.c: try what the rules proposed; what stands the test becomes the fix of its finding. */
void tp_try_fixes(tp_job *j, const tp_check_settings *s, tp_solver *solver);
/* Fix by fix, each after a new check, into j->fixed. */
void tp_fix_text(tp_job *j, const tp_check_settings *s, tp_solver *solver);
tp_str tp_apply_fix(tp_arena *a, tp_str text, const tp_fix *fix);
/* Write the fixed texts, or print them as a patch. False after a message. */
bool tp_write_fixes(tp_cli *c, const tp_job *jobs, uint32_t n, const tp_check_settings *s);

/* workers.c: all jobs, s->jobs at a time; how far it is shows on a terminal. False when memory ran out. */
bool tp_check_all(tp_cli *c, tp_job *jobs, const tp_strings *paths, const tp_check_settings *s);

/* check.c: a run of lint or verify, up to its report. An exit code, not 0 after a message. */
typedef struct tp_check_run {
    tp_check_settings s;
    tp_report report;
    tp_job *jobs;
    uint32_t njobs;
} tp_check_run;
int tp_check_begin(tp_cli *c, bool execute, tp_check_run *run);
void tp_check_end(tp_check_run *run);

/* outputs.c: is every --output FORMAT=PATH? Then write them. False after a message. */
bool tp_outputs_usable(const tp_cli *c);
bool tp_write_outputs(tp_cli *c, const tp_report *report);

#endif
