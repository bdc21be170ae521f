/* Shared by certificate.c, statement.c and points.c: the state of a check. */
#ifndef TP_CHECK_H
#define TP_CHECK_H

#include "smt/trust/bigpoly.h"
#include "smt/trust/own.h"
#include "smt/trust/proof.h"

typedef struct tp_checker {
    tp_arena *arena;
    tp_own own;
    tp_exprs *p; /* own.to */
    const tp_obligation *o;
    const tp_proof *proof;
    tp_bigs big;
    tp_bigpoly one;
    int depth;
    bool ok, claim_only;
    tp_str why;
    tp_buf *text; /* what is checked, in words; or NULL */
} tp_checker;

/* e holds; `negated`: it does not. */
typedef struct tp_hypothesis {
    tp_expr e;
    bool negated;
} tp_hypothesis;

/* Variables and hypotheses at one node of the proof, in the checker's pool. */
typedef struct tp_check_state {
    tp_var *vars;
    uint32_t nvars;
    TP_VEC(tp_hypothesis) hyps;
    tp_expr *with; /* per symbol: what TP_PROOF_LET put in its place */
    uint32_t nwith;
} tp_check_state;

/* Note what is wrong, the first thing only; false. */
bool tp_check_reject(tp_checker *c, tp_str why);
/* By the symbol's number in the checker's pool; NULL: it has no variable. */
const tp_var *tp_check_variable(const tp_check_state *s, uint32_t sym);
/* statement.c: what is wrong with the variables of an obligation, whatever its proof; NULL: nothing. */
const char *tp_check_statement(const tp_checker *c, const tp_check_state *s);
/* points.c: some hypothesis is false at every point. */
bool tp_check_points(tp_checker *c, const tp_check_state *s);

#endif
