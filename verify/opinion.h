/* A second opinion on a claim of equality: kernel and reference at single
 * elements, at sizes that no run reaches (demand/). */
#ifndef TP_OPINION_H
#define TP_OPINION_H

#include "demand/demand.h"
#include "report/report.h"

typedef struct tp_opinion_options {
    uint64_t seed;
    uint32_t least;      /* elements to look at; more where the budget allows */
    int64_t per_element; /* operations that one side of one element may take */
    int64_t budget;      /* and all of them together; some times more for places that tell most */
    unsigned facts;      /* implicit facts that the claim rests on: it says nothing of other sizes */
    bool masks;          /* the claim says nothing of rows that are masked wholly */
    bool smaller;        /* the place of a difference is made as small as the difference allows */
} tp_opinion_options;
void tp_opinion_defaults(tp_opinion_options *o);

/* Compare all kernels of s with their references. Where a difference is
 * confirmed by numbers, out->different is 1, it stops, and out->element,
 * values and env say where; all in `a`. Leaves with TP_E_MEMORY. */
void tp_second_opinion(tp_arena *a, const tp_spec *s, const tp_opinion_options *o, tp_opinion *out);

/* numbers.c: numbers from 3 on at which something may happen: those that are
 * written in the spec, and at these sizes distances between windows that share
 * an array, extents of windows and their padding. */
enum { TP_MAX_NUMBERS = 24 };
typedef struct tp_numbers {
    int64_t at[TP_MAX_NUMBERS]; /* the most telling first */
    uint32_t n, unusual;        /* the first of them are no powers of two */
    uint32_t left_out;
} tp_numbers;
tp_numbers tp_numbers_of(tp_arena *a, const tp_kernel *k, const int64_t *env);

/* points.c: where to look. */
typedef struct tp_look {
    const tp_kernel *kernel;
    int64_t *env;
    uint32_t output;
    int64_t at[TP_MAX_RANK];
    bool directed, telling; /* telling: at a written number that is no power of two */
    tp_str about;           /* "K = 39937" */
} tp_look;
typedef struct tp_look_list {
    TP_VEC(tp_look) list;
    TP_VEC(tp_str) unplaced; /* where no sizes inside the domain, or no tables, were found: "K = 39937" */
    uint32_t left_out;       /* places beyond the limit */
    tp_str left_out_at;      /* the first of them */
    uint32_t numbers_left_out;
} tp_look_list;
/* `random` points at sizes of all magnitudes, then at most `directed` ones where
 * conditions of the body turn, and as many at both sides of what the spec speaks of: block edges, constants, their
 * products, powers of two, declared maxima; the most telling first; then half as many where one side of an
 * `and` or `or`, or an arm of an index map, turns. */
tp_look_list tp_points(tp_arena *a, const tp_kernel *k, const tp_opinion_options *o, uint32_t random,
                       uint32_t directed);

/* nearby.c: an element on which the sides agree, next to where a decision of theirs turns. */
typedef struct tp_nearby {
    const tp_look *look;
    const tp_program *reference;
    tp_demand_family family; /* the draw on which they agree */
    uint64_t seed;
    int64_t *budget; /* operations; what is used is taken off */
} tp_nearby;
/* Does the program, k's body or reference, decide anything by what inputs hold, or take it or a number, whichever is
 * larger? */
bool tp_may_turn(const tp_kernel *k, const tp_program *p);
/* Do the sides differ there, over the reals and by more than their bounds? Then by these values. A search: false is no
 * statement. */
bool tp_differs_nearby(tp_arena *a, const tp_nearby *o, double *kernel, double *reference);

#endif
