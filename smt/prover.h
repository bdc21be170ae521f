/* The prover: obligations (trust/obligation.h) in, verdicts out.
 *
 * Cheapest means first: a proof of our own, which trust/certificate.c must
 * accept, a search for small counterexamples, enumeration of tiny domains, Z3 on a linearised form, Z3 on the raw form,
 * both in a process of their own, enumeration. A verdict `violated` always comes with a case that was re-evaluated in
 * exact integer arithmetic; `proven` by Z3 is always an unsat answer.
 */
#ifndef TP_PROVER_H
#define TP_PROVER_H

#include "smt/trust/obligation.h"

typedef struct tp_decision {
    tp_verdict verdict; /* PROVEN, VIOLATED or UNKNOWN */
    tp_grade grade;
    int64_t *env;  /* VIOLATED: a value for every symbol */
    tp_str reason; /* UNKNOWN: why */
    double ms;
    const struct tp_proof *proof; /* PROVEN without a solver; lives in the prover's arena */
    bool recalled; /* decided before, under other names or in a cache's file: its proof was checked and is not kept */
} tp_decision;

/* Is it what its verdict says? For tp_assert(). */
bool tp_decision_holds(const tp_decision *d);

/* A process that asks Z3, which provers of one thread can share. The handle lives in the arena, the process until
 * tp_solver_free(), or until the thread ends that started it. The first question starts it, at the latest:
 * tp_solver_start() is for programs that will grow, since a fork costs what the process has by then. False: there is
 * none, and the first question tries again. */
typedef struct tp_solver tp_solver;
tp_solver *tp_solver_new(tp_arena *a);
bool tp_solver_start(tp_solver *s);
void tp_solver_free(tp_solver *s);

/* Is the second solver's program on the PATH? */
bool tp_external_exists(tp_arena *a, const char *program);

typedef struct tp_times {
    tp_arena *arena;
    TP_VEC(double) ms;
} tp_times;

typedef struct tp_prover tp_prover;

typedef struct tp_prover_options {
    uint64_t rlimit;                      /* of the raw form; 0: 2 000 000 */
    const char *smt2_dir;                 /* write one file per obligation; NULL: none */
    const char *smt2_name;                /* start of the file names; the spec in certificates */
    tp_solver *solver;                    /* shared; NULL: the prover makes its own */
    const char *second;                   /* a second solver's program, "cvc5"; NULL: none */
    unsigned cpu_seconds;                 /* of one query to Z3, which may not obey rlimit; 0: 10 */
    uint32_t *queries;                    /* how many may still end without an answer, counted down; NULL: any number */
    bool no_z3;                           /* ask the second solver only */
    bool only_proof;                      /* a proof of our own, or unknown: no search, no solver */
    bool no_solver;                       /* exact procedures only */
    bool few_points;                      /* evaluate few cases: for searches whose answer need not be there */
    bool only_solver;                     /* skip the exact proof (tests) */
    struct tp_times *times;               /* receives the time of each obligation (bench); NULL: none */
    struct tp_certificates *certificates; /* receives every proof; NULL: none */
    struct tp_cache *cache;               /* what was decided before (smt/cache.h); NULL: none */
    struct tp_recall *recall;             /* what provers of this thread decided before; NULL: none */
} tp_prover_options;

typedef struct tp_prover_stats {
    uint32_t obligations, certified, searched, linear, raw, enumerated, unknown;
    uint32_t rejected;   /* proofs that certificate.c refused: none, if all is well */
    tp_str disagreement; /* a file on which the solvers disagree */
    tp_str smt2_error;   /* why a file of smt2_dir could not be written */
} tp_prover_stats;

/* Decisions by obligations whatever their variables and pools are: kernels that differ by a dtype, and rounds of an
 * analysis, ask the same again. Lives in the arena; used by one thread at a time. */
typedef struct tp_recall tp_recall;
tp_recall *tp_recall_new(tp_arena *a);

/* Lives in the arena; tp_prover_free() releases the solver. */
tp_prover *tp_prover_new(tp_arena *a, tp_exprs *p, const tp_prover_options *o);
void tp_prover_free(tp_prover *v);
/* Decide the obligation, whose expressions are in the prover's pool: equal questions are answered from memory. What the
 * decision points to lives in the prover's arena. Leaves with TP_E_BUDGET or TP_E_MEMORY; never fails otherwise. */
tp_decision tp_prove(tp_prover *v, const tp_obligation *o);
const tp_prover_stats *tp_prover_get_stats(const tp_prover *v);

#endif
