/* What goes into an analysis and what comes out of it. */
#ifndef TP_ANALYSIS_H
#define TP_ANALYSIS_H

#include "smt/prover.h"
#include "spec/kernel.h"

typedef struct tp_analysis tp_analysis;

/* A rule: one file of analyzer/rules, one descriptor named after the file. */
typedef struct tp_rule {
    const char *code, *slug, *title;
    tp_severity severity;
    bool hardware;          /* off for target "none" */
    bool as_written;        /* asked of loops as they are: turn by turn it would be another question */
    bool traps;             /* where a case breaks it, the machine traps under its code */
    bool for_equality;      /* a proof of equality for all sizes rests on it */
    bool per_dtype;         /* the verdict can depend on dtype parameters */
    bool follows;           /* asks what the values of the body are, if there is a body */
    const char *why;        /* why the hardware cares */
    const char *bad, *good; /* snippets of a spec */
    const char *jax;        /* what JAX does with the bad one */
    const char *trap_help;  /* what mends most kernels that trap so; or NULL */
    const char *made_help;  /* the same where no operand holds what is undefined, as a cast made it; or NULL */
    void (*check)(tp_analysis *a);
} tp_rule;

/* What the machine says of a trap; in `arena`. */
typedef struct tp_trapped {
    tp_arena *arena;
    const char *rule; /* NULL: it did not trap */
    tp_str message;
    tp_str subject; /* operand, or empty */
    tp_str origin;  /* operand in which what is undefined was born, or empty */
    tp_loc loc;     /* empty: of no statement */
    TP_VEC(tp_binding) step;
} tp_trapped;

/* Runs the machine at a witness. Returns 1: it trapped with this rule, 0: it
 * ran to the end (a contradiction), -1: cannot say. `out`, unless NULL, is
 * what it trapped with, this rule or another. */
typedef int (*tp_replay)(void *ctx, const tp_kernel *k, const int64_t *env, const char *rule, tp_trapped *out);

/* What the rule advises where a case traps; `origin` as in tp_trapped. Empty: nothing. */
tp_str tp_trap_help(const tp_rule *rule, tp_str origin);

typedef struct tp_memory_row {
    tp_str name;
    int buffers;
    /* At the largest sizes; -1: no bound. */
    int64_t data_bytes;   /* the elements of one buffer */
    int64_t padded_bytes; /* one buffer, in whole tiles */
    int64_t bytes;        /* all buffers */
} tp_memory_row;

typedef struct tp_memory_table {
    TP_VEC(tp_memory_row) rows;
    int64_t bytes; /* at the largest sizes; -1: no bound */
    int64_t limit;
    tp_str dtypes; /* the combination with the largest sum */
} tp_memory_table;

typedef struct tp_analysis_options {
    tp_prover_options prover;
    const tp_rule *const *only; /* NULL: all rules */
    size_t nonly;
    tp_replay replay;
    void *replay_ctx;
    /* Told of every claim that is decided; NULL: nobody is. */
    void (*listener)(void *ctx, const char *rule, const tp_obligation *o, const tp_decision *d);
    void *listener_ctx;
    /* Told of every claim without tables that is recorded as violated, and of its case; NULL: nobody is. Any other
     * case of the obligation breaks the rule, too: none of these claims is approximate. */
    void (*refuted)(void *ctx, const tp_kernel *k, const tp_obligation *o, const int64_t *env, const tp_finding *f);
    void *refuted_ctx;
    /* True ends the analysis. Asked behind every rule on the first dtype combination, which found those from `from` on.
     * NULL: nobody is. */
    bool (*enough)(void *ctx, const tp_findings *found, uint32_t from);
    /* Before the others, and as if there were no others: other rules' findings hide some. What it finds on the dtype
     * combinations so far is for enough_alone(), and then forgotten. NULL: there is none. */
    const tp_rule *alone;
    bool (*enough_alone)(void *ctx, const tp_findings *found);
    void *enough_ctx;
    bool waits_named;   /* tp_waits_name_copies(), for proofs of equality */
    bool verdicts_only; /* nobody asks under which precondition a violated claim would hold */
} tp_analysis_options;

typedef struct tp_analysis_result {
    tp_findings findings; /* every obligation, proven ones too; by place */
    tp_memory_table vmem;
    tp_prover_stats stats;
    bool contradiction; /* a witness did not replay */
} tp_analysis_result;

#endif
