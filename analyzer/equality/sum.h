/* Normal forms: sums of products with conditions. Hash-consed: what is equal
 * by these laws has equal handles; what is not may still be shown to be equal
 * (equal.c). */
#ifndef TP_SUMMARY_SUM_H
#define TP_SUMMARY_SUM_H

#include "analyzer/equality/internal.h"

enum { MAX_PRODUCTS = 64, MAX_GUARDS = 12, MAX_FACTORS = 16, MAX_COUNTERS = 6 };

/* [guard and guard …] * num/den * factor^power * … * exp(exponent): 0 where a guard does not hold. */
typedef struct factor {
    uint32_t atom;
    int power;
} factor;
typedef struct product {
    int64_t num, den;
    uint32_t nguards, nfactors, exponent; /* exponent: a sum; 0: none */
    tp_expr guard[MAX_GUARDS];            /* normal, ascending */
    factor factor[MAX_FACTORS];           /* ascending */
} product;
typedef struct sum {
    const product *at;
    uint32_t n;
} sum;

typedef enum atom_kind {
    ATOM_REAL,    /* a literal as it is written; `number` 1: log2(e) */
    ATOM_INDEX,   /* an integer expression */
    ATOM_ELEMENT, /* of an input, or a placeholder (term_kind in `number`) */
    ATOM_APPLY,   /* an operation of which nothing is known but that equal arguments give equal results */
    ATOM_INVERSE, /* 1 / arg[0] */
    ATOM_FOLD,    /* over all points of counters within extents for which the guards hold; SCAN: from arg[1] */
} atom_kind;

typedef struct atom {
    atom_kind kind;
    tp_prim prim;
    double real;
    tp_expr e;
    uint32_t number, operand, rank;
    tp_expr at[TP_MAX_RANK];
    uint32_t arg[3]; /* sums; FOLD: the body */
    uint32_t counters;
    uint32_t counter[MAX_COUNTERS]; /* symbols */
    tp_expr extent[MAX_COUNTERS];   /* over earlier counters, too */
    uint32_t nguards;
    tp_expr guard[MAX_GUARDS];
} atom;

/* Everything that is known so far. */
enum { MAX_DEPTH = 8 };
struct sums {
    TP_VEC(sum) sums;
    TP_VEC(atom) atoms;
    tp_map ids, of_term;                   /* atoms and sums by contents; sums by term */
    uint32_t reducing;                     /* how deep laws of products are in one another */
    uint32_t own[MAX_DEPTH][MAX_COUNTERS]; /* symbols that only folds bind, by how deep folds are nested in them; + 1 */
};

/* By number, until the next one is made. */
const sum *sum_get(const summary *s, uint32_t id);
const atom *atom_get(const summary *s, uint32_t id);
/* For people, cut off behind 4000 bytes: "[i < n]x[i] + 2". */
void sum_print(summary *s, tp_buf *b, uint32_t id);

/* What arithmetic asks of the laws: they are built on it, and sum.c knows none of them. */
struct sum_laws {
    bool (*is_defined)(summary *s, const product *p);
    bool (*reduced)(summary *s, const product *p, uint32_t *out);
    uint32_t (*exponential)(summary *s, uint32_t x);
    uint32_t (*inverse)(summary *s, uint32_t x);
    uint32_t (*applied)(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth);
};
extern const struct sum_laws sum_laws;             /* laws.c, of which one is elsewhere: */
bool law_is_defined(summary *s, const product *p); /* defined.c */
/* These ask s->laws. Has it a value wherever its inputs have one? */
bool product_is_defined(summary *s, const product *p);
/* Laws of products of conditions and shares; false: none applies. */
bool product_reduced(summary *s, const product *p, uint32_t *out);
/* exp(x); 1 / x; an operation that is not linear. */
uint32_t sum_exponential(summary *s, uint32_t x);
uint32_t sum_inverse(summary *s, uint32_t x);
uint32_t sum_apply(summary *s, tp_prim prim, int64_t exponent, const uint32_t *arg, uint32_t nargs, int depth);

/* sum.c: arithmetic */
struct sums *sum_pool(summary *s);
_Noreturn void sum_too_large(summary *s);
/* What stops fn, but for memory and budgets, stops that alone; false then. */
bool sum_try(summary *s, bool strict, void (*fn)(void *ctx), void *ctx);
/* One more sum is looked through. */
void sum_spend(summary *s);
uint32_t sum_intern(summary *s, const product *at, uint32_t n);
uint32_t atom_intern(summary *s, const atom *a);
/* Sorted, like products added; the array is used up. */
uint32_t sum_from(summary *s, product *at, uint32_t n);
uint32_t sum_constant(summary *s, int64_t v);
/* Is it one fraction other than 0? */
bool sum_is_fraction(const summary *s, uint32_t id, int64_t *num, int64_t *den);
uint32_t sum_add(summary *s, uint32_t a, uint32_t b, int64_t scale);
/* Of n sums. */
uint32_t sum_of_all(summary *s, const uint32_t *part, uint32_t n);
uint32_t sum_multiply(summary *s, uint32_t a, uint32_t b);
uint32_t sum_of_atom(summary *s, const atom *a, int power);
/* Of one that is known by number. */
uint32_t sum_of_factor(summary *s, uint32_t id, int power);
uint32_t sum_of_index(summary *s, tp_expr e);
/* [condition] x; and the value of a choice, a conjunction being one condition after the other. */
uint32_t sum_guard(summary *s, tp_expr condition, uint32_t x);
uint32_t sum_choose(summary *s, tp_expr condition, uint32_t yes, uint32_t no);
/* A guard in x: what is not linear looks at both cases. No id: there is none. */
tp_expr sum_some_guard(summary *s, uint32_t x);
/* x where a condition in it holds, or does not. */
uint32_t sum_where_guard(summary *s, uint32_t x, tp_expr guard, bool holds);
product product_of(int64_t num, int64_t den);
void product_reduce(summary *s, product *p);
/* Adds a condition, conjunctions taken apart; false: the product is 0 then. */
bool product_guard(summary *s, product *p, tp_expr condition);
/* atom^power joins. Powers of both signs stay apart where the atom may be 0. */
void product_factor(summary *s, product *p, uint32_t atom, int power);
/* p without one of its factors. */
product product_without(const product *p, uint32_t which);
/* Has it that very factor? Then *which is its place. */
bool product_has(const product *p, const factor *f, uint32_t *which);
/* p without those of the factors of `of` that it has. */
product product_without_factors(const product *p, const product *of);
/* The same but for the coefficient? */
bool product_alike(const product *a, const product *b);
bool product_multiply(summary *s, product *p, const product *by);
/* Never 0? Then x / x = 1. Is it 0 or 1? */
bool atom_never_0(summary *s, const atom *a);
bool atom_is_condition(const atom *a);

/* numbers.c: v >= 0, as such a fraction, or a number of which only itself is known. */
uint32_t sum_number(summary *s, double v);
/* constants.c: a literal as it is written, or as it is meant (summary.meant). */
uint32_t sum_literal(summary *s, double v);

/* laws.c */
/* x log2(e)^n, for a number of which only that it is above 0 is known. */
uint32_t sum_log2e(summary *s, uint32_t x, int n);

/* normal.c */
uint32_t sum_of_term(summary *s, term t);
/* Is it below all data (MAX), or above (MIN)? An infinity, or a mask. */
bool term_is_least(summary *s, term t, tp_prim fold);
/* What is extreme in a fold (MAX, MIN), without the choices for its unit, whose conditions become guards. */
term value_inside(summary *s, term value, tp_prim fold, product *guards);

/* What sum_map() makes of an opened fold, not a sum, and of an operation; 0: nothing else than it is. */
struct sum_moves {
    uint32_t (*fold)(summary *s, atom f);
    uint32_t (*condition)(summary *s, tp_prim prim, const uint32_t *arg);
};

/* map.c: every index expression in it replaced by map(it). */
typedef tp_expr (*index_map)(summary *s, tp_expr e, void *ctx);
uint32_t sum_map(summary *s, uint32_t id, index_map map, void *ctx);
/* Symbols replaced; those that a fold binds stay. */
uint32_t sum_subst(summary *s, uint32_t id, const tp_expr *with, uint32_t n);
/* What is left under premises: guards that follow are gone, and products of which one is refuted. */
uint32_t sum_under(summary *s, const premises *p, uint32_t id);

/* fold.c */
/* The sum of x for symbol `sym` from 0 below extent. */
uint32_t fold_sum(summary *s, uint32_t sym, tp_expr extent, uint32_t x);
/* Counters joined and parted as laws allow. */
void fold_normalise(summary *s, atom *f);
/* The sum of another body over the points of f, which is opened. */
uint32_t fold_again(summary *s, const atom *f, uint32_t body);
bool sum_mentions(summary *s, uint32_t id, uint32_t sym);
/* With fresh indices for counters, about which the prover can be asked; and back. */
atom fold_open(summary *s, uint32_t id);
uint32_t fold_intern(summary *s, atom *f);
/* Is some point in the fold, for all sizes? */
bool fold_never_empty(summary *s, const atom *f);

/* Are the points of two folds the same, by the names that their counters have? */
bool fold_over_points(const atom *f, const atom *g);

/* extremes.c: a normal form of the kernel (`strict`) or the reference in which what can moves out of maxima and minima;
 * as it is where that fails. */
uint32_t sum_with_extremes_out(summary *s, uint32_t x, bool strict);

/* nothing.c: it without sums over no points, where p holds. */
uint32_t sum_without_nothing(summary *s, const premises *p, uint32_t id);

/* prefix.c: sums over ranges in it as differences of sums from the beginning. */
uint32_t sum_prefixes(summary *s, uint32_t x);

/* pieces.c: what is linear in pieces. Of sums without guards; 0: it stays as it is. */
uint32_t sum_absolute(summary *s, uint32_t x);
uint32_t sum_extreme(summary *s, tp_prim prim, uint32_t x, uint32_t y);
uint32_t sum_compare(summary *s, tp_prim prim, uint32_t x, uint32_t y);
uint32_t sum_sign_of(summary *s, uint32_t x);
/* Is it 0 < w, or 0 == w? w is arg[1]. */
bool atom_is_sign(summary *s, const atom *a);
/* p holds that condition, and what it tells of another factor. */
bool reduce_sign(summary *s, const product *p, uint32_t which, uint32_t *out);
/* Is the coefficient below 0 that tells the sign of x from that of -x? */
bool sum_leads_below_0(const summary *s, uint32_t x);

/* shares.c: 1 / x and log(x) for sums of two exponentials; 0: x is no such. */
uint32_t sum_share(summary *s, uint32_t x);
uint32_t sum_logarithm_of_two(summary *s, uint32_t x);
bool sum_is_rest_of_share(summary *s, uint32_t x);
bool reduce_share(summary *s, const product *p, uint32_t which, uint32_t *out);

/* roots.c */
uint32_t sum_square_root(summary *s, uint32_t x);
bool reduce_root(summary *s, const product *p, uint32_t which, uint32_t *out);
/* Sums with roots in them are equal where these are, in their place: both are at least 0. false: none are seen. */
bool squares_of(summary *s, uint32_t *a, uint32_t *b);

/* mask.c: neither a mask nor an infinity is in it. */
bool sum_is_free(summary *s, uint32_t id);
/* mask.c: what it tends to when masks go to minus infinity. Divisors do not
 * tend to 0: `assumed`, or proven where the limit is taken. */
uint32_t sum_limit(summary *s, uint32_t id, bool assumed);

/* record.c: fold `before` is fold `after`, by that law; k, t: positions of counters. */
void record_fold(summary *s, tp_law law, const atom *before, const atom *after, uint32_t k, uint32_t t, record_mark m);
/* That condition holds where it was asked for. */
void record_truth(summary *s, tp_expr condition, record_mark m);
/* Under the conditions of that product the sum has no points. */
void record_nothing(summary *s, const product *around, const atom *f, record_mark m);
/* It is as many as `end`. */
void record_count(summary *s, const atom *f, tp_expr end, record_mark m);

/* equal.c, where p holds; cases.c: by cases of signs of data. */
bool sums_equal(summary *s, const premises *p, uint32_t a, uint32_t b, int cases);
bool equal_by_signs(summary *s, const premises *p, uint32_t a, uint32_t b, int cases);

/* entries.c: reads of tables that speak of a counter. */
enum { MAX_ENTRIES = 8 };
typedef struct entries {
    uint32_t sym;
    tp_expr at[MAX_ENTRIES];
    uint32_t n;
} entries;
/* e as it is; *ctx, the entries, gets those that it reads. */
tp_expr entries_find(summary *s, tp_expr e, void *ctx);
/* What the entry is where the condition holds, without the counter. No id: it does not say so. */
tp_expr entry_is(summary *s, tp_expr condition, tp_expr entry, uint32_t sym);
/* e with one of its subterms replaced. */
tp_expr index_exchange(summary *s, tp_expr e, tp_expr from, tp_expr to);
/* [t[c] == v] x(t[c]) = [t[c] == v] x(v), for a v without c; 0: there is nothing to replace. */
uint32_t product_with_entries(summary *s, const product *p, uint32_t sym);

/* single.c: two sums, each with one point of a counter that counts, are equal there. */
bool singles_equal(summary *s, const premises *p, uint32_t a, uint32_t b, int cases);

/* defined.c: is it above 0, for all inputs? */
bool sum_is_positive(summary *s, uint32_t id);
bool sum_is_at_least_0(summary *s, uint32_t id);
/* Has it a value wherever its inputs have one? A division by what
 * may be 0, a logarithm or a root of what may be negative has not. */
bool sum_is_defined(summary *s, uint32_t id);

#endif
