/* Normal forms of real terms, for the checker of derivations and independent
 * of analyzer/equality/: sums of products of conditions, powers of atoms and one
 * exponential each. What is computed here without a step is
 *
 *   commutative rings with quotients; [c] [c] = [c], [c] [not c] = 0, [c] x + [not c] x = x
 *   if c a b = [c] a + [not c] b, conjunctions and disjunctions of conditions
 *   exp(a) exp(b) = exp(a + b); 1 / (exp(a) x) = exp(-a) / x
 *   f(if c a b) = if c f(a) f(b)
 *   sum of a x = a sum of x, sum of (x + y) = sum of x + sum of y, sums of sums as one
 *   square, power, rsqrt, exp2, expm1, logistic, silu, relu by their definitions
 *   recurrences of the same turns from the same beginning are the same
 *
 * Everything else is an atom: equal when it is written in the same way. Atoms
 * are told by keys: text in which bound counters are numbered by depth.
 */
#ifndef TP_REALS_H
#define TP_REALS_H

#include "base/map.h"
#include "smt/trust/bigpoly.h"
#include "smt/trust/derivation.h"
#include "smt/trust/own.h"

enum { TP_REAL_GUARDS = 12, TP_REAL_FACTORS = 16 };

typedef struct tp_real_guard {
    int kind;  /* 0: e >= 0, 1: e == 0, 2: e != 0 */
    tp_expr e; /* in the checker's pool */
    tp_str key;
} tp_real_guard;

struct tp_real_form;
typedef struct tp_real_atom {
    tp_real_kind kind; /* APPLY of "sum": the form arg[0] itself, below a line */
    tp_str op;
    int64_t number;
    tp_expr e;
    uint32_t operand, rank, counters, nargs, nguards;
    tp_expr at[TP_REAL_RANK];
    uint32_t counter[TP_REAL_COUNTERS];
    tp_expr extent[TP_REAL_COUNTERS];
    const struct tp_real_form *arg[3];
    tp_real_guard guard[TP_REAL_GUARDS]; /* of folds that are no sums: points outside are no points */
} tp_real_atom;

typedef struct tp_real_factor {
    const tp_real_atom *atom;
    tp_str key;
    int power;
} tp_real_factor;

typedef struct tp_real_product {
    int64_t num, den;
    uint32_t nguards, nfactors;
    tp_real_guard guard[TP_REAL_GUARDS];
    tp_real_factor factor[TP_REAL_FACTORS];
    const struct tp_real_form *exponent; /* NULL: none */
    tp_str key;                          /* without the coefficient */
} tp_real_product;

typedef struct tp_real_form {
    tp_real_product *at;
    uint32_t n;
} tp_real_form;

/* What replaces an atom from here on. */
typedef struct tp_real_rule {
    tp_str key;
    uint32_t to; /* node */
    const tp_real_form *form;
    bool used;
} tp_real_rule;

/* A condition that holds throughout. */
typedef struct tp_real_truth {
    tp_str key, opposite;
    bool used;
} tp_real_truth;

/* How index expressions are read. */
typedef struct tp_real_view {
    const tp_expr *with; /* per symbol of the checker's pool; NULL: none */
    uint32_t n;
    const tp_exchange *exchanges; /* of the checker's pool */
    uint32_t nexchanges;
} tp_real_view;

typedef struct tp_reals {
    tp_arena *arena;
    const tp_derivation *d;
    tp_own own;
    tp_bigs big;
    TP_VEC(tp_real_rule) rules;
    uint32_t from_rule;        /* only these apply */
    TP_VEC(tp_expr) bound;     /* names of bound counters, by depth */
    TP_VEC(tp_exchange) index; /* free index expressions that are others */
    TP_VEC(uint32_t) index_step;
    TP_VEC(tp_real_truth) truths;
    const tp_real_form **memo;
    tp_real_view view;
    tp_str why;
} tp_reals;

/* It cannot be replayed: why. Leaves with TP_E_INPUT. */
_Noreturn void tp_reals_stop(tp_reals *f, const char *why);
/* The normal form of a node, seen through `view`. */
const tp_real_form *tp_reals_of(tp_reals *f, uint32_t node, tp_real_view view);
/* Equal? */
bool tp_reals_same(tp_reals *f, const tp_real_form *a, const tp_real_form *b);
/* The sum of a form over the counters of `over`, laws of sums applied. */
const tp_real_form *tp_reals_sum(tp_reals *f, const tp_real_atom *over, const tp_real_form *body);
/* Does it speak of what the recurrence of that counter was? */
bool tp_reals_holds(tp_reals *f, const tp_real_form *x, uint32_t sym);
/* The one atom that a form is; NULL: it is more. */
const tp_real_atom *tp_reals_atom(const tp_real_form *x, tp_str *key);
/* a + b */
const tp_real_form *tp_reals_plus(tp_reals *f, const tp_real_form *a, const tp_real_form *b);
/* The opposite condition; the condition through a view. */
tp_real_guard tp_reals_negated(tp_reals *f, tp_real_guard g);
tp_real_guard tp_reals_guard_at(tp_reals *f, tp_real_guard g, const tp_real_view *view);
/* [guard] x */
const tp_real_form *tp_reals_under(tp_reals *f, const tp_real_form *x, tp_real_guard g);
/* x where it holds: without the condition. */
const tp_real_form *tp_reals_where(tp_reals *f, const tp_real_form *x, tp_real_guard g);
/* A comparison as a guard; false: it is more than one. */
bool tp_reals_guard(tp_reals *f, tp_expr condition, tp_real_guard *g);
/* e through a view. */
tp_expr tp_reals_index(tp_reals *f, tp_expr e, const tp_real_view *view);
tp_str tp_reals_key(tp_reals *f, tp_expr e);
/* A rule: this atom is that node. */
void tp_reals_rule(tp_reals *f, tp_str key, uint32_t to);

#endif
