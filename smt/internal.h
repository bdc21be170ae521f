/* Shared by the files of smt/. */
#ifndef TP_SMT_INTERNAL_H
#define TP_SMT_INTERNAL_H

#include "base/map.h"
#include "smt/prover.h"
#include "smt/question.h"
#include "smt/trust/proof.h"

/* memo.c: decisions by obligation, in the prover's arena. */
typedef struct tp_memo {
    tp_map numbers; /* of decisions, from 1 */
    TP_VEC(tp_decision) decisions;
    TP_VEC(uint32_t) nsyms; /* values in each decision's env */
    tp_buf key;             /* of the obligation that was asked last */
    tp_buf text;            /* ... and its text for recall and cache */
    size_t bytes;
} tp_memo;

/* search.c: counterexamples that were found last, for questions that ask for any. */
enum { TP_PAST_CASES = 8 };
typedef struct tp_past_cases {
    int64_t *env[TP_PAST_CASES]; /* a ring */
    uint32_t nsyms[TP_PAST_CASES], n;
} tp_past_cases;

struct tp_prover {
    tp_arena *arena;
    tp_arena *scratch; /* of one decision; emptied after each engine */
    tp_arena *keys;    /* with a cache or a recall: of one key; emptied after each decision */
    tp_exprs *p;
    tp_prover_options o;
    tp_prover_stats stats;
    tp_memo memo;
    tp_past_cases past;
    uint32_t *number; /* cache.c: by expression, its number in the text of an obligation; not above `numbered`: none */
    uint32_t nnumber, numbered;
    tp_solver *solver;  /* the caller's, or this prover's own; NULL: nothing was asked */
    uint32_t emitted;   /* files of --emit-smt2 */
    bool distrust;      /* a proof was rejected: decide without the exact engine */
    bool brief;         /* only a short proof of our own is tried: for the cache */
    bool briefly_tried; /* and there was none */
};

/* memo.c: the obligation as bytes, equal for equal ones of this prover's pool; until the next key. */
tp_str tp_memo_key(tp_prover *v, const tp_obligation *o);
/* The decision on it, with an env of its own; false: there is none. */
bool tp_memo_find(tp_prover *v, tp_str key, tp_decision *d);
/* Where too much is remembered already, nothing happens. */
void tp_memo_add(tp_prover *v, tp_str key, const tp_decision *d);

/* cache.c: the obligation as a text that is the same for all that differ by names and numbers of variables and by the
 * pool that they are in only, with what else decides the answer. False: it reads tables, or has none. */
bool tp_obligation_text(tp_prover *v, const tp_obligation *o, tp_buf *text);
/* memo.c: that text with what is searched by, and what provers that share the recall have decided of it. Found: with an
 * env of v's own. */
void tp_recall_key(const tp_prover *v, const tp_obligation *o, tp_buf *text);
bool tp_recall_find(tp_prover *v, const tp_obligation *o, tp_str key, tp_decision *d);
void tp_recall_add(tp_prover *v, const tp_obligation *o, tp_str key, const tp_decision *d);

/* interval.c: constant bounds of an expression; INT64_MIN / MAX: none known. */
typedef struct tp_interval {
    int64_t lo, hi;
} tp_interval;
tp_interval tp_interval_of(const tp_prover *v, const tp_obligation *o, tp_expr e);

/* positivity.c: lines that say p >= 0 inside the bounds of o's variables; the
 * number of the last one, 0 when none was found. */
typedef TP_VEC(tp_line) tp_lines;
uint32_t tp_poly_at_least_0(tp_prover *v, const tp_obligation *o, const tp_poly *p, tp_lines *lines);
/* One more line, which refers to earlier ones; its number, from 1. */
uint32_t tp_line_add(tp_prover *v, tp_lines *lines, tp_line l);
/* ... the sum of these products of lines, which are copied. */
uint32_t tp_line_sum(tp_prover *v, tp_lines *lines, const tp_product *products, uint32_t n);

/* What the meaning of an atom says without looking further: its bounds, of a
 * variable; the inequalities that define it, of an operation. Up to two
 * polynomials >= 0 and their lines; how many. */
uint32_t tp_atom_facts(tp_prover *v, const tp_obligation *o, tp_expr atom, tp_lines *lines, tp_poly out[2],
                       uint32_t number[2]);

/* A fact: these terms add up to at least 0. */
typedef struct tp_linear_fact {
    const tp_term *terms;
    uint32_t n;
} tp_linear_fact;

/* farkas.c: factors >= 0 with which the facts, each >= 0, add up to a negative
 * constant; false: none was found. Those before `fresh` are known not to.
 * Different products of atoms are unrelated. */
bool tp_farkas(tp_arena *a, const tp_linear_fact *facts, uint32_t n, uint32_t fresh, int64_t *factor);

/* prepare.c: the obligation with bounds from premises `x <= c`; with sizes that
 * are known to be multiples, of others (`s % t == 0`) or of numbers, written
 * as products; `multiple`: by variable.
 * `nodes`: the proof's, without their kids. */
enum { TP_MAX_BOUNDS = 16 };
const tp_obligation *tp_with_bounds(tp_prover *v, const tp_obligation *o, const tp_proof **nodes, uint32_t *n);
const tp_obligation *tp_with_divisors(tp_prover *v, const tp_obligation *o, const tp_proof **nodes, uint32_t *n);
const tp_obligation *tp_with_quotients(tp_prover *v, const tp_obligation *o, int64_t *multiple);
/* Does the obligation mention the symbol? */
bool tp_concerns(const tp_prover *v, const tp_obligation *o, uint32_t sym);

/* refute.c: a proof that premises and negated goal contradict each other, in
 * the scratch arena; NULL when none was found. `brief`: without a case split. */
const tp_proof *tp_refute(tp_prover *v, const tp_obligation *o, bool brief);

/* search.c: a small counterexample, after at most `budget` cases; env has room for every symbol. */
bool tp_search(tp_prover *v, const tp_obligation *o, int budget, int64_t *env);
/* The same, at or beside the sizes of counterexamples that were remembered: rounds ask nearly the same again. */
bool tp_search_near(tp_prover *v, const tp_obligation *o, int64_t *env);
void tp_remember_case(tp_prover *v, const int64_t *env);
/* Is one of those a counterexample as it stands? Then env is it. */
bool tp_refuted_before(const tp_prover *v, const tp_obligation *o, int64_t *env);
/* Is env inside bounds and premises, with the goal false? */
bool tp_refutes(const tp_prover *v, const tp_obligation *o, const int64_t *env);
/* Make a counterexample smaller, sizes first. */
void tp_minimise(tp_prover *v, const tp_obligation *o, int64_t *env);
/* Check every point when there are at most `budget`. 1 proven, 0 violated
 * (env set), -1 too many. */
int tp_enumerate(tp_prover *v, const tp_obligation *o, int64_t budget, int64_t *env);

/* question.c: the obligation as Z3 gets it, in the scratch arena; its limits are not set. `linear`: products are
 * opaque. */
tp_question tp_question_of(tp_prover *v, const tp_obligation *o, bool linear);
/* solver.c: refute the obligation, in a process with limits: its death and its limits are "undecided".
 * `linear`: SAT is a hint only. On SAT env holds the model's values. */
tp_answer tp_ask_z3(tp_prover *v, const tp_obligation *o, bool linear, uint64_t rlimit, int64_t *env, tp_str *reason);

/* linear.c: facts about products for the linear form. */
typedef struct tp_facts {
    const tp_obligation *o;
    TP_VEC(tp_poly *) polys; /* each >= 0 */
} tp_facts;
/* Rewrite e so that %, align_up, shifts and masks become //, cdiv and products. */
tp_expr tp_rewrite_div(tp_prover *v, const tp_obligation *o, tp_expr e);
void tp_collect_facts(tp_prover *v, const tp_obligation *o, tp_expr goal, tp_facts *f);

/* smt2.c: the obligation as a standalone file; status: unsat, sat, unknown, or
 * NULL. Its path. */
tp_str tp_smt2_text(tp_prover *v, const tp_obligation *o, const char *status);
const char *tp_emit_smt2(tp_prover *v, const tp_obligation *o, const char *dir, const char *status);

/* solver.c: a solver gave no answer, for its seconds or since it could not be started: another time it may. */
void tp_note_unsteady(const tp_prover *v);
/* external.c: another solver, as a process that reads SMT-LIB. Anything but a
 * clean answer is unknown. */
tp_answer tp_external_check(tp_prover *v, const tp_obligation *o, tp_str *reason);
/* Does the obligation use operations that the text leaves uninterpreted? */
bool tp_smt2_approximates(const tp_prover *v, const tp_obligation *o);

#endif
