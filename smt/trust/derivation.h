/* Derivations: why two terms over the reals are equal, as data.
 *
 * Both terms are nodes of one table. Each step says that two nodes are equal, by
 * a law (laws.def) with its side conditions; at the end the normal forms of
 * both terms, with what the steps say put in, are the same. Replaying searches
 * nothing: it evaluates normal forms (real.c), and looks each side condition up
 * among those that the step names. docs/CERTIFICATES.md is the format.
 *
 * The claim: for all values of the free variables within their bounds for
 * which the premises hold, and all real contents of the arrays, both terms are
 * equal wherever every operation in them has a value.
 */
#ifndef TP_DERIVATION_H
#define TP_DERIVATION_H

#include "smt/trust/proof.h"

enum { TP_REAL_RANK = 8, TP_REAL_COUNTERS = 6 };

typedef enum tp_real_kind {
    TP_REAL_INTEGER, /* the value of `e`; a condition is 0 or 1 */
    TP_REAL_RATIO,   /* num / den */
    TP_REAL_NUMBER,  /* a literal that is no small fraction, by its text */
    TP_REAL_READ,    /* element `at` of array `operand` */
    TP_REAL_IF,      /* arg[0] where `e` holds, else arg[1] */
    TP_REAL_FOLD,    /* `op` of arg[0] over one counter; what is a sum inside joins it */
    TP_REAL_OVER,    /* the same over several counters, exactly as written */
    TP_REAL_SCAN,    /* arg[1] before the turns of one counter, arg[0] after each */
    TP_REAL_HELD,    /* what it was before the turn `e`, the counter of the SCAN around it */
    TP_REAL_APPLY,   /* `op` of the arguments; `number` belongs to the operation */
    TP_REAL_KINDS
} tp_real_kind;

/* Nodes are named by position, from 1, and refer to earlier ones. */
typedef struct tp_real_node {
    tp_real_kind kind;
    tp_str op; /* also the text of a NUMBER */
    tp_expr e;
    int64_t num, den, number;
    uint32_t operand, rank, counters, nargs;
    tp_expr at[TP_REAL_RANK];
    uint32_t counter[TP_REAL_COUNTERS]; /* symbols */
    tp_expr extent[TP_REAL_COUNTERS];   /* over earlier counters, too */
    uint32_t arg[3];
} tp_real_node;

/* How many arguments such a node has; an operation: at most. */
static inline uint32_t tp_real_arity(tp_real_kind kind)
{
    switch (kind) {
    case TP_REAL_APPLY: return 3;
    case TP_REAL_IF:
    case TP_REAL_SCAN: return 2;
    case TP_REAL_FOLD:
    case TP_REAL_OVER: return 1;
    case TP_REAL_INTEGER:
    case TP_REAL_RATIO:
    case TP_REAL_NUMBER:
    case TP_REAL_READ:
    case TP_REAL_HELD:
    case TP_REAL_KINDS: break;
    }
    return 0;
}

typedef enum tp_law {
#define LAW(id, name, statement) TP_LAW_##id,
#include "smt/trust/laws.def"
    TP_LAWS,
    TP_LAW_BEFORE_OPEN = TP_LAWS - 1,
#define OPEN(id, name, statement) TP_LAW_##id,
#include "smt/trust/laws.def"
    TP_ALL_LAWS
} tp_law;

typedef struct tp_law_row {
    const char *name, *statement;
} tp_law_row;
const tp_law_row *tp_law_info(tp_law law);

/* An obligation, with its proof; NULL: somebody else's word. */
typedef struct tp_side {
    tp_obligation o;
    const tp_proof *proof;
} tp_side;

typedef struct tp_exchange {
    tp_expr from, to;
} tp_exchange;

typedef struct tp_law_step {
    tp_law law;
    uint32_t from, to;     /* nodes */
    uint32_t k, t;         /* DIGITS, SPLIT, POINT: positions of counters */
    const uint32_t *sides; /* positions in `sides`, from 0 */
    uint32_t nsides;
    const tp_exchange
        *exchanges; /* UNDER, POINTS, INDEX; POINT: the counter's value; NOTHING, HOLDS: a condition, 0 or 1 */
    uint32_t nexchanges;
} tp_law_step;

typedef struct tp_derivation {
    const tp_exprs *p;
    const tp_var *vars; /* free: sizes, and the indices of the element */
    uint32_t nvars;
    const tp_expr *premises;
    uint32_t npremises;
    const tp_real_node *reals;
    uint32_t nreals;
    const tp_side *sides;
    uint32_t nsides;
    const tp_law_step *steps;
    uint32_t nsteps;
    uint32_t kernel, reference; /* nodes */
} tp_derivation;

typedef struct tp_replay_result {
    bool ok;
    tp_str why;                    /* not: what is wrong */
    uint32_t steps, sides, proven; /* replayed; side conditions; those with a checked proof */
    bool *used;                    /* per step: is it needed? */
} tp_replay_result;

/* Temporary memory comes from `work`; `proofs`: the proofs of side conditions
 * are checked, too, else their statements alone. `why` and `used` live in work. */
tp_replay_result tp_replay_derivation(tp_arena *work, const tp_derivation *d, bool proofs);
/* Which steps hold, and are needed by others or by the end? For who writes one. */
tp_replay_result tp_sift_derivation(tp_arena *work, const tp_derivation *d);

#endif
