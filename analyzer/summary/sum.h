/* Normal forms: sums of products with conditions. Hash-consed: what is equal
 * by these laws has equal handles; what is not may still be shown to be equal
 * (equal.c). */
#ifndef TP_SUMMARY_SUM_H
#define TP_SUMMARY_SUM_H

#include "analyzer/summary/internal.h"

enum { MAX_GUARDS = 12, MAX_FACTORS = 16, MAX_COUNTERS = 6 };

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
    ATOM_REAL,    /* a literal as it is written */
    ATOM_INDEX,   /* an integer expression */
    ATOM_ELEMENT, /* of an input, or a placeholder (term_kind in `number`) */
    ATOM_APPLY,   /* an operation of which nothing is known but that equal arguments give equal results */
    ATOM_INVERSE, /* 1 / arg[0] */
    ATOM_FOLD,    /* over all points of counters within extents for which the guards hold */
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

const sum *sum_get(const summary *s, uint32_t id);
const atom *atom_get(const summary *s, uint32_t id);
uint32_t sum_of_term(summary *s, term t);
/* Every index expression in it replaced by map(it). */
typedef tp_expr (*index_map)(summary *s, tp_expr e, void *ctx);
uint32_t sum_mapped(summary *s, uint32_t id, index_map map, void *ctx);
/* Symbols replaced; those that a fold binds stay. */
uint32_t sum_subst(summary *s, uint32_t id, const tp_expr *with, uint32_t n);
/* What is left under premises: guards that follow are gone, and products of which one is refuted. */
uint32_t sum_under(summary *s, const premises *p, uint32_t id);
void sum_print(summary *s, tp_buf *b, uint32_t id);

#endif
