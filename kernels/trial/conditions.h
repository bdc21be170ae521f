/* Branches and masks of a body, arms of index maps: at which sizes, in which step and at which
 * lane one of them holds, or does not. What is found here is only where to look; no
 * claim rests on it. */
#ifndef TP_TRIAL_CONDITIONS_H
#define TP_TRIAL_CONDITIONS_H

#include "base/rng.h"
#include "spec/table.h"

/* A branch, or a loop, that leads to a condition. */
typedef struct tp_guard {
    tp_vid value; /* that is `want` there; -1: of a loop: */
    bool want;
    tp_vid loop; /* its variable */
    const struct tp_guard *outer;
} tp_guard;

/* A condition under the branches that lead to it: a value of the body, or that the second arm
 * of a min or max decides where a window lies, or how many steps there are. */
typedef struct tp_condition {
    tp_vid value;           /* -1: of an arm: */
    tp_expr arm;            /* the min or max */
    bool detail;            /* an arm, or one side of an `and` or `or` that alone decides it */
    const tp_guard *guards; /* innermost first; NULL: none */
    tp_vid lanes;           /* the value over whose lanes it is taken; -1: a scalar */
} tp_condition;

typedef struct tp_conditions {
    const tp_kernel *kernel;
    TP_VEC(tp_condition) list;
    const tp_inst **made;       /* by value; NULL: by no instruction */
    const tp_statement **loops; /* by value: the loop whose variable it is */
} tp_conditions;

/* collect.c: those of k's body, on numbers that inputs hold among them; then their details, and arms of the index
 * maps of what the body reads and writes, and of steps. */
tp_conditions tp_conditions_of(tp_arena *a, const tp_kernel *k);

enum { TP_MOST_PINNED = 8 };
/* Where it was found: */
typedef struct tp_whereabouts {
    int64_t *env; /* sizes, and the coordinates of the step; tables are not bound yet, or those that were */
    tp_vid lanes; /* the value among whose lanes it is: the condition's, or a mask's; -1: none */
    int64_t lane[TP_MAX_RANK];
    tp_table_entry pinned[TP_MOST_PINNED]; /* entries that tables must have for it */
    uint32_t npinned;
} tp_whereabouts;

/* What a search may change. */
enum { TP_SOLVE_STEP = 1, TP_SOLVE_SIZES = 2, TP_SOLVE_TABLES = 4 }; /* with the lanes; sizes; pinned entries */

/* Change *w, which has sizes inside their own bounds, until condition number c
 * is `want` in a step of the grid, as far as it can be computed without the
 * contents of arrays; and masks of the body at the same lane, as many as can
 * be. A search: false is no statement. */
bool tp_condition_solve(const tp_conditions *cs, uint32_t c, bool want, unsigned may, tp_rng *rng, tp_whereabouts *w);

/* Pin the entries that condition number c and the branches that lead to it read in the step of *w; false: they read
 * none. */
bool tp_condition_pin(const tp_conditions *cs, uint32_t c, tp_whereabouts *w);

/* First and last index, by dimension, of what a store or copy of the body, one of them by chance, writes of an operand
 * whose ref is the whole array, in the step of *w, whose tables are bound; false: not known. */
bool tp_condition_writes(const tp_conditions *cs, uint32_t operand, const tp_whereabouts *w, tp_rng *rng, int64_t *lo,
                         int64_t *hi);

#endif
