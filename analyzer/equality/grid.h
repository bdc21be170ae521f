/* Shared by grid.c, which finds folds over the steps of the grid, what it asks (weight.c, of sums that every step
 * scales, and others), and outputs.c and written.c, which ask it. */
#ifndef TP_SUMMARY_GRID_H
#define TP_SUMMARY_GRID_H

#include "analyzer/equality/sum.h"

/* What is known of an operand's contents from step to step. */
typedef struct form {
    bool ready, busy;
    bool overwritten; /* nothing of the step before is left */
    bool but_last;    /* what follows holds for all steps of the run but its last one */
    uint32_t first;   /* the run: this axis and the later ones */
    bool keyed;       /* of that axis only the steps with one key (grid.key) */
    tp_prim fold;     /* SUM, PROD, MAX, MIN, ARGMAX, ARGMIN, SCAN */
    bool narrowed;    /* some step narrows it, so that it is the fold over the reals only */
    term weight;      /* a sum, times weight before / weight after in every step; none: 1. As the step leaves it */
    term found;       /* the weight as the step finds it; none: it is not asked for */
    term part;        /* what a step adds, times the weight; `overwritten`: what it leaves; ARGMAX, ARGMIN: its place */
    term value;       /* ARGMAX, ARGMIN: what is extreme there */
    term start;       /* what the first step sets beside that; none: nothing */
    tp_expr lane[TP_MAX_RANK];
    bool filled;   /* all that is of the steps of one phase (filled.c): */
    int64_t phase; /* this step of the axis before the last one */
    term set;      /* what its first step finds, at these lanes; none: it does not look */
    term left;     /* what its last step leaves, at these lanes; none: nobody has asked */
} form;

typedef struct grid {
    evaluation *v;
    form *forms;
    tp_map folds; /* elements before and after a step, as folds */
    bool last;    /* in the last step of the output's run, which begins at axis: */
    uint32_t run;
    tp_expr key;   /* no id, or: the run is the steps that have a key, which ascends with that axis */
    tp_expr block; /* the key of the block */
} grid;

enum { MAX_PLACES = 6 };

/* What holds at some places of a term. */
typedef struct places {
    const premises *at[MAX_PLACES];
    uint32_t n;
} places;

typedef struct match {
    bool ok;
    term part, factor;       /* contents before * factor + part; no factor: 1 */
    places scaled, unscaled; /* where they are multiplied by the factor, and where they are not */
} match;

/* steps.c */
tp_expr axis_of(const grid *g, uint32_t a);
/* What to put in the place of symbols; those made later stay. */
typedef struct replacement {
    tp_expr *with;
    uint32_t n;
} replacement;

replacement no_symbols(const grid *g);
void replace_symbol(const grid *g, const replacement *r, tp_expr symbol, tp_expr by);
term grid_substitute(grid *g, term t, const replacement *r);
/* A term at the form's lanes, at those of n. */
term form_at(grid *g, const form *f, const term_node *n, term t);
/* In the first step of the run that begins at this axis. */
term in_first_step(grid *g, term t, uint32_t first);
bool is_0(const summary *s, term t);
term of_two(grid *g, tp_prim prim, term a, term b);
term power_of(grid *g, tp_prim exponential, term t);
/* Is it what the step finds at the form's lanes of that operand; does it speak of what the step finds there? */
bool is_before(grid *g, term t, uint32_t operand);
bool has_before(grid *g, term t, uint32_t operand);
/* Parts that are stored one after the other: of what an older store left, only what the newer ones do not cover. */
term decide_parts(summary *s, term t, const premises *p, uint32_t depth);

/* grid.c */
/* What is known of the operand; the summary stops where nothing is. */
form *form_of(grid *g, uint32_t operand);
/* Folds in the place of contents. */
term with_folds(grid *g, term t);
/* The run of a key: where it begins, behind another one; its later steps; and that `last` is its last one. Axes behind
 * stand at 0 where it begins. */
typedef struct key_steps {
    premises begins, later, ends;
} key_steps;
key_steps steps_of_key(const grid *g, tp_expr last);

/* phases.c: the phase that stores to an operand, of all up to this one. */
evaluation *evaluation_of(evaluation *last, uint32_t operand);
/* Of a phase: the grid that is looked at in the last turn. */
grid *phase_ends(evaluation *v);

/* written.c: an output of which steps write pieces. w gets the step that writes an element last, and *written what it
 * writes at lane `own` of its window, the whole array; false: none is seen. */
bool written_by_pieces(evaluation *v, uint32_t operand, const tp_expr *own, writer *w, kept_or_set *written);
/* Element `at` of an output that begins as its input, and of which steps write elements, or the summary stops. */
term written_or_as_input(grid *g, uint32_t operand, const tp_expr *at);

/* filled.c: buffers that one phase fills. An update in that phase alone, with g's form of the operand marked; or as it
 * is. */
term find_filled(grid *g, uint32_t operand, term update);
/* What the first step of the phase makes, given what it finds. */
term first_found(grid *g, uint32_t operand, term base);
/* p, in that phase. */
premises fill_steps(grid *g, const form *f, const premises *p);
/* A term of the form, in that phase; of a form of all steps, as it is. */
term in_its_phase(grid *g, const form *f, term t);
/* Do their laws speak of the same steps? */
bool of_one_phase(const form *a, const form *b);
/* t at the last turn of that phase. */
term in_last_turn(grid *g, const form *f, term t);
/* What any step finds or leaves, given what one of that phase does, and form.left. */
term over_phases(grid *g, const form *f, const term_node *n, term in_that_phase);

/* weight.c: weights so that the factor of a step is weight before / weight
 * after. In *m the part is multiplied with it; in *base tests of sums for 0 are
 * gone. false: none is seen. */
bool find_any_weight(grid *g, form *f, match *m, term *base);

/* first.c: a place that a step exchanges where its values are above those of
 * all steps before, which another buffer holds. *base: the first step's place. */
match match_first(grid *g, form *f, term step, uint32_t operand, const premises *later, term *base);

/* turns.c: a buffer that every step makes of what it was, lane by lane, from
 * what the first step finds in its place. f gets it; false: it is no such. */
bool match_recurrence(grid *g, form *f, uint32_t operand, term update, const premises *later);

#endif
