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

/* suppress.c: "allow" and "expect" of the spec. */
void tp_apply_allow(tp_job *j);

/* check_one.c: read, analyse and, if asked to, execute one spec. Changes the
 * job (whose arena is there) and the solver only: jobs may run in threads. */
void tp_check_one(tp_cli *c, tp_job *j, tp_str path, const tp_check_settings *s, tp_solver *solver);

/* workers.c: all jobs, s->jobs at a time; how far it is shows on a terminal. False when memory ran out. */
bool tp_check_all(tp_cli *c, tp_job *jobs, const tp_strings *paths, const tp_check_settings *s);

/* outputs.c: is every --output FORMAT=PATH? Then write them. False after a message. */
bool tp_outputs_usable(const tp_cli *c);
bool tp_write_outputs(tp_cli *c, const tp_report *report);

#endif
