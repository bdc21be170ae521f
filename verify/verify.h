/* Verifying one spec: the analyzer and the machine, which never see each
 * other, together. What comes out is the run record of report/report.h. */
#ifndef TP_VERIFY_H
#define TP_VERIFY_H

#include "report/report.h"

/* One spec: its own arena, source and result. Jobs share nothing. */
typedef struct tp_job {
    tp_arena *arena;
    tp_str file; /* as it is named to the system; source.path is for people */
    tp_source source;
    tp_ctx ctx;
    tp_spec_report report;
    struct tp_certificates *certificates; /* of its proofs; NULL: not asked for */
    struct tp_recall *recall;             /* what was decided, for the trials of its fixes */
    tp_str fixed;                         /* the text with its fixes; empty: there are none */
    uint32_t nfixes;                      /* in it */
} tp_job;
/* An empty report on j->source, in j->arena. */
void tp_job_begin(tp_job *j);
/* Load j->source for `target` (empty: the spec's own); on failure the report
 * holds the findings and valid is false. */
void tp_job_load_text(tp_job *j, tp_str target);
void tp_job_free(tp_job *j);

enum { TP_NEVIDENCE = 5 };

typedef struct tp_check_settings {
    tp_str target;
    tp_analysis_options analysis; /* without solver and certificates: each spec has its own */
    tp_equiv_options equiv;
    size_t max_memory;
    int64_t cases, box;
    uint32_t threads;                  /* that run the cases of one spec; 0: one */
    void (*watch)(const tp_str *spec); /* what each further one calls (kernels/trial/equiv.h); or NULL */
    int64_t timeout, memory_mib;       /* what a spec may cost: base/budget.h; 0: no limit */
    bool required[TP_NEVIDENCE];       /* by tp_evidence_at() */
    bool execute;
    bool proofs_only;     /* with execute: what is proven of equality, and no case is executed */
    bool cases_only;      /* with execute: the cases are counted in report.equiv, and nothing is made of them */
    const tp_witness *at; /* of tp_cases_few(), which are all the cases where effort is not 0 */
    double effort;
    bool unsafe_fixes;       /* those that narrow the domain, too */
    const tp_str *read_from; /* folders from which cases may read arrays, besides the spec's own */
    uint32_t nread_from;
} tp_check_settings;
/* All rules; with `execute`, the default cases. The settings stay where they
 * are: they point into themselves. */
void tp_check_defaults(tp_check_settings *s, bool execute);

/* check.c: from now on the job is on account of a budget; nothing where its
 * arena has one already, as those below another job have. */
void tp_job_allow(tp_job *j, const tp_check_settings *s);
/* check.c: a finding (TP905): for its budget, not all of `what` was looked at. */
void tp_job_add_spent(tp_job *j, const char *what, tp_str why);
/* check.c: a finding (TP902), and an internal error: memory ran out. */
void tp_job_add_memory(tp_job *j, const char *message);
/* check.c: into the report, what was spent. */
void tp_job_note_cost(tp_job *j);

/* check.c: load, analyse and, if asked to, execute the text of j->source.
 * Changes the job and the solver only. */
void tp_check_text(tp_job *j, const tp_check_settings *s, tp_solver *solver);
/* The two halves of it; the second one is for valid jobs. */
void tp_check_load(tp_job *j, const tp_check_settings *s);
void tp_check_loaded(tp_job *j, const tp_check_settings *s, tp_solver *solver);
/* The same of a text, as a new job in an arena of its own below `parent`. */
void tp_check_anew(tp_job *j, tp_arena *parent, tp_source source, const tp_check_settings *s, tp_solver *solver);

/* execution.c: replay of a witness by the machine (analyzer/analyze.h). ctx: size_t max memory. */
int tp_replay_witness(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule, tp_trapped *out);
/* Findings of an execution, shrunk to small sizes. `proven`: equality is, for all sizes; `spent`: why the cases were
 * left in the middle, or empty. */
void tp_add_execution_findings(tp_arena *a, const tp_equiv *e, const tp_kernel *k, const tp_equiv_options *o,
                               bool proven, tp_str spent, tp_findings *into);

/* disagreement.c: a proof of equality held against single elements at far sizes. */
void tp_hold_equality_against_elements(tp_arena *a, tp_spec_report *r, uint64_t seed);
/* opinion.c: where equality is not proven and all cases agree, single elements
 * at far sizes are compared all the same. Where one differs, the case at its
 * sizes is executed, and if it does not agree it is added to *e, in `a`. */
void tp_search_far_case(tp_arena *a, const tp_spec_report *r, const tp_equiv_options *o, tp_equiv *e);

/* Does the machine trap on what the rule forbids? */
bool tp_traps(const char *rule);
/* The sizes of a case that was executed. */
tp_witness *tp_witness_of_case(tp_arena *a, const tp_case *c);

/* disagreement.c: what was proven, and what an execution shows instead. */
typedef struct tp_disagreement {
    tp_str proof, execution; /* both go into the message: "… is proven, and …"; without a proof the execution alone */
    tp_str subject;          /* operand; may be empty */
    tp_witness *witness;     /* the case; may be NULL */
} tp_disagreement;
/* The one way to report it: a finding (TP904) that every format prints and
 * nothing suppresses, exit 5, and no proof of equality is left. */
void tp_add_disagreement(tp_arena *a, tp_spec_report *r, const tp_disagreement *d);
/* Every case of r->equiv against its run without a domain, against r->equality, and against the rules that
 * `proofs`, the findings of the analyzer, show to hold. */
void tp_hold_proofs_against_runs(tp_arena *a, tp_spec_report *r, const tp_findings *proofs);
/* Counterexamples of the analyzer that ran to their end without a trap. */
void tp_hold_witnesses_against_runs(tp_arena *a, tp_spec_report *r);

/* equality.c: for all sizes and dtype combinations; findings: what tp_analyze()
 * says of the rules on which it rests. */
tp_equality tp_check_equality(tp_arena *a, const tp_spec *s, const tp_analysis_options *o, const tp_findings *findings);
/* What `one` takes for granted, `all` does, too. */
void tp_equality_join(tp_arena *a, tp_equality *all, const tp_equality *one);

/* evidence.c: what --require names, i < TP_NEVIDENCE. */
typedef struct tp_evidence_names {
    const char *text, *old; /* old: the name in earlier versions, or NULL */
} tp_evidence_names;
tp_evidence_names tp_evidence_at(size_t i);
typedef TP_VEC(tp_str) tp_open_tiers;
/* evidence.c: tiers of an execution without a verdict on some case, each with its reason: "E3 at 2 shapes: …".
 * What does not apply at all (bits that are rounded) is none of them. */
tp_open_tiers tp_tiers_open(tp_arena *a, const tp_equiv *e);
/* The same in one line, "E1 …; E3 …"; empty: none. */
tp_str tp_tiers_open_text(tp_arena *a, const tp_equiv *e);
/* evidence.c: a finding for each required tier that was not reached. */
void tp_add_missing_evidence(tp_arena *a, tp_spec_report *r, const bool *required);

/* assumed.c: a finding for each size that an importer inferred: the only ones with the verdict "assumed". */
void tp_add_assumed(tp_arena *a, tp_spec_report *r);

/* waivers.c: did this run look for the rule, by code or slug? */
bool tp_looked_for(const tp_check_settings *s, const tp_spec_report *r, tp_str rule);
/* What "allow" and "expect" of the spec say of its findings. */
void tp_apply_waivers(tp_job *j, const tp_check_settings *s);

/* versions.c: is it the same text, but for what is said beside the program
 * (name, target, reference, cases, …)? */
bool tp_same_program(tp_arena *a, const tp_spec *old, const tp_spec *new);
bool tp_same_reference(const tp_spec *old, const tp_spec *new);
/* The same for all but the body and the semantics of axes, of which *semantics says whether they are the same. */
bool tp_same_but_body(tp_arena *a, const tp_spec *old, const tp_spec *new, bool *semantics);

/* alike.c: is it proven that the new kernel leaves the bits of the old one in every output, at all sizes, by what the
 * statements of both do? The old one keeps the rules on which equality rests (tp_equality_without()); `found` is what
 * tp_analyze() says of the new one. Takes both bodies from the texts of the jobs. */
bool tp_does_the_same(tp_job *new, const tp_findings *found, const tp_job *old, const tp_analysis_options *o);

/* Do two versions compute the same, on the sizes that both have? */
typedef struct tp_versions {
    enum {
        TP_VERSIONS_PROVEN,    /* over the reals, for all those sizes: both are the old reference */
        TP_VERSIONS_TESTED,    /* they agree on `cases`; why_not_proven */
        TP_VERSIONS_DIFFERENT, /* in `witness` */
        TP_VERSIONS_NOT_COMPARED,
    } verdict;
    uint32_t cases, open; /* in which they agree; that could not be compared: why_not_run, of the first */
    tp_witness *witness;
    tp_str terms; /* proven: what both proofs take for granted, "; given F1; casts are the identity" */
    tp_str why_not_proven, why_not_run;
} tp_versions;
/* Of two checked, valid jobs; the settings are those of the check. Results
 * live in `a` and in new->arena. */
tp_versions tp_compare_versions(tp_arena *a, tp_job *old, tp_job *new, const tp_check_settings *s);

/* guess.c: is it of a kind that no rule proposes fixes for (TP004, TP701, TP703)? Proposals for those of the report,
 * made of the text of the body. */
bool tp_has_guess(const tp_finding *f);
void tp_guess_fixes(tp_job *j);
/* repair.c: proposals for a finding of an executed spec that results differ (TP701), or that cases trap: changes of one
 * place that mend the elements which were looked at. They are looked for within a fixed amount of work; none may be
 * found. */
void tp_propose_repairs(tp_job *j, tp_finding *f);
/* repair.c: let a finding that results differ point at the place of such a change, with which they agree. */
void tp_blame_repair(tp_job *j, tp_finding *f, const tp_fix *fix);

/* fix.c: try what the rules proposed; what stands the test becomes the fix of its finding. */
void tp_try_fixes(tp_job *j, const tp_check_settings *s, tp_solver *solver);
/* Fix by fix, each after a new check, into j->fixed. */
void tp_fix_text(tp_job *j, const tp_check_settings *s, tp_solver *solver);

#endif
