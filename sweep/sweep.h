/* Every combination of listed sizes, constants, dtypes and targets of one spec:
 * which are legal, by which rule the others are forbidden, and what each costs
 * in the model.
 *
 * A cell is one combination. It stands for the spec in whose text each listed
 * name has the cell's value in place of its own definition; all other sizes stay
 * symbols. Its verdict is that of `lint` on this text: legal when every rule is
 * proven, forbidden when one is violated (or the text is no valid spec), else
 * unknown.
 *
 * Rules of the hardware are asked for each cell as it stands. The others cost
 * more; they are asked once for a box, the least range of sizes that holds many
 * cells. What is proven for all sizes of a box is proven for its cells. Where it
 * is not, counterexamples are evaluated at each cell, and the cells that are left
 * get smaller boxes, at last one for each (boxes.c).
 */
#ifndef TP_SWEEP_H
#define TP_SWEEP_H

#include <stdio.h>

#include "sweep/price.h"
#include "verify/verify.h"

enum {
    TP_SWEEP_MAX = 100000, /* cells */
    TP_SWEEP_AXES = 8,
    TP_SWEEP_RULES = 6, /* of a cell; more are not listed */
};

typedef enum tp_sweep_kind { TP_SWEEP_SIZE, TP_SWEEP_CONSTANT, TP_SWEEP_DTYPE, TP_SWEEP_TARGET } tp_sweep_kind;

typedef struct tp_sweep_axis {
    tp_sweep_kind kind;
    tp_str name; /* "target" for TARGET */
    uint32_t n;
    tp_str *values;   /* as they stand in the text */
    int64_t *numbers; /* of a SIZE; else NULL */
    tp_loc place;     /* of the definition that a value replaces; not for a TARGET */
} tp_sweep_axis;

typedef enum tp_sweep_verdict { TP_CELL_UNKNOWN, TP_CELL_LEGAL, TP_CELL_FORBIDDEN } tp_sweep_verdict;
const char *tp_sweep_verdict_name(tp_sweep_verdict v);

/* What rules say of a cell. */
typedef struct tp_sweep_opinion {
    tp_sweep_verdict verdict;
    uint32_t nrules;
    const char *rules[TP_SWEEP_RULES]; /* codes that are violated, else undecided; ascending */
    tp_str message, smallest;          /* of the first rule: its finding; a case that breaks it. May be empty */
} tp_sweep_opinion;

/* What the machine took. */
typedef struct tp_sweep_measured {
    bool tried;
    double seconds;  /* of one processor: the fastest of a few runs */
    const char *why; /* it was not measured; NULL: it was */
} tp_sweep_measured;

typedef struct tp_sweep_cell {
    tp_sweep_opinion said;
    int64_t vmem; /* bytes of declared buffers at the largest sizes; -1: no bound, or not computed */
    tp_sweep_cost cost;
    tp_sweep_measured here;
    bool pareto; /* legal, and no other one is better */
} tp_sweep_cell;

/* A group of forbidden, or of undecided, cells: those with the same first rule. */
typedef struct tp_sweep_group {
    const char *rule;
    tp_sweep_verdict verdict;
    uint32_t cells, first; /* first: the first of them */
    tp_sweep_opinion said; /* of the first one, by lint: with its smallest case */
} tp_sweep_group;
typedef TP_VEC(tp_sweep_group) tp_sweep_groups;

typedef struct tp_sweep {
    tp_arena *arena;
    tp_str name;
    const tp_source *source;
    bool expects; /* the spec has "expect": what a box shows of findings says nothing of a cell's */
    tp_sweep_axis axes[TP_SWEEP_AXES];
    uint32_t naxes;
    tp_binding *modelled; /* sizes that are not listed, at which costs are modelled */
    uint32_t nmodelled;
    tp_sweep_cell *cells; /* the last axis varies fastest */
    uint32_t ncells;
    tp_sweep_groups groups;
    uint32_t measured;     /* the first so many legal cells were executed */
    uint32_t boxes, alone; /* analyses of boxes, and of one cell */
    bool internal_error;
    tp_arena **kept; /* of the threads: texts of cells */
    uint32_t nkept;
} tp_sweep;

/* space.c: read --over lists ("bm=64:512:64,T=float32|bfloat16") for a valid job. False with one sentence in *why. */
bool tp_sweep_read(tp_arena *a, const tp_job *j, const tp_str *over, uint32_t n, tp_sweep *s, tp_str *why);
/* model.c: the sizes at which costs are modelled: those given; of the others, what the spec's first case has where that
 * is at most 16, and 4096 or the nearest value that they may have. False with one sentence in *why. */
bool tp_sweep_model(tp_sweep *s, const tp_job *j, const tp_binding *given, uint32_t n, tp_str *why);
/* Number of the cell's value on an axis. */
uint32_t tp_sweep_at(const tp_sweep *s, uint32_t cell, uint32_t axis);
/* The same cell with another value there. */
uint32_t tp_sweep_with(const tp_sweep *s, uint32_t cell, uint32_t axis, uint32_t value);
/* Index of the axis of that kind, or -1. */
int tp_sweep_axis_of(const tp_sweep *s, tp_sweep_kind kind);
/* "bm = 128, bn = 256". */
tp_str tp_sweep_cell_name(tp_arena *a, const tp_sweep *s, uint32_t cell);
/* The spec's text with values[i] in the place of axis i; none (p NULL): its own. */
tp_str tp_sweep_text(tp_arena *a, const tp_sweep *s, const tp_str *values);
/* The text that the cell stands for, and its target (empty: the settings'). */
tp_str tp_sweep_cell_text(tp_arena *a, const tp_sweep *s, uint32_t cell, tp_str *target);

typedef struct tp_sweep_options {
    const tp_check_settings *lint; /* what each cell is held to; execute is false */
    uint32_t threads;
    /* A thread (from 0) begins a piece of work on the spec; may be NULL. */
    void (*unit)(void *ctx, uint32_t thread);
    void *ctx;
} tp_sweep_options;

/* Fill in the cells, whose texts live until tp_sweep_free(). Leaves with TP_E_MEMORY. */
void tp_sweep_run(tp_sweep *s, const tp_sweep_options *o);
void tp_sweep_free(tp_sweep *s);
/* What lint says of a cell, all rules together, with its smallest case: for the few that are shown. */
tp_sweep_opinion tp_sweep_lint(tp_sweep *s, const tp_sweep_options *o, uint32_t cell);

/* order.c: legal cells, best first: by the model's time, then traffic, then VMEM. Their number in *n. */
const uint32_t *tp_sweep_best(tp_arena *a, const tp_sweep *s, uint32_t *n);
uint32_t tp_sweep_count(const tp_sweep *s, tp_sweep_verdict v);
/* Marks the legal cells that no other one dominates; groups the others by rule, and asks lint once for each group. */
void tp_sweep_rank(tp_sweep *s, const tp_sweep_options *o);

/* measure.c: executes the first `most` legal cells at the sizes of the model, on generated inputs, one after the other,
 * each within the budgets of lint. Leaves with TP_E_MEMORY. */
void tp_sweep_measure(tp_sweep *s, const tp_sweep_options *o, uint32_t most);

/* optimum.c: the claim that no legal shape is faster in the model than the first one, as text, with what is needed to
 * check it. `digest`: tp_spec_digest() of the spec. {NULL, 0} with one sentence in *why: it is not known to be so. */
tp_str tp_sweep_optimum(tp_sweep *s, const tp_sweep_options *o, tp_str digest, tp_str *why);

typedef struct tp_sweep_rechecked {
    tp_str refusal; /* why the claim is not accepted; empty: it is, but for what is `open` */
    tp_str lists;   /* "bm, bn": what the space is of */
    tp_str sizes;   /* "M = 4096, N = 4096": those of the model */
    tp_str best;    /* "bm = 128, bn = 256" */
    double seconds; /* in the model */
    uint32_t shapes, slower, outside, forbidden; /* outside: the sizes of the model are not in its domain */
    uint32_t open; /* shapes that take a solver: the best one's proofs, or a rule's case */
    bool internal_error;
} tp_sweep_rechecked;
/* Is the text of c->source such a claim about the valid spec of j, and true? Each shape is priced again, and what is
 * faster is forbidden again, without a solver. Raises TP001, TP004, TP005 for what is none. Inside tp_try(). */
void tp_sweep_recheck(tp_ctx *c, const tp_job *j, const tp_check_settings *lint, tp_str digest,
                      tp_sweep_rechecked *out);

/* A way to write it down. */
typedef struct tp_sweep_format {
    const char *name;
    void (*write)(const tp_sweep *s, FILE *out);
} tp_sweep_format;
const tp_sweep_format *tp_sweep_formats(size_t *n);
const tp_sweep_format *tp_sweep_format_find(tp_str name);

#endif
