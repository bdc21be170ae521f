/* One element of a program at given sizes, and nothing else: what a kernel
 * writes there by the rules of docs/SPEC.md ("The machine"), or what a
 * reference says there.
 *
 * The evaluator walks back: from an element of an output to the last step
 * whose window covers it, through the statements of that step, to the elements
 * of the buffers that they look at, and so to earlier steps and to the inputs,
 * which are functions of their indices and never lie in memory. So an element
 * costs what it depends on, whatever the sizes are. It shares the language
 * (spec/), the scalar meanings of spec/prims.def and the domains with machine,
 * reference and analyzer, and no code: it is there to catch them.
 *
 * Statements that `check` are not looked at. An evaluator belongs to one
 * thread; it recurses as deep as the element reaches back, see tp_with_stack().
 */
#ifndef TP_DEMAND_H
#define TP_DEMAND_H

#include "domains/domain.h"
#include "spec/range.h"

/* What inputs hold: the same function of (operand, index, seed) for all. */
typedef enum tp_demand_family {
    TP_DEMAND_SMALL,    /* k / 64, 0 < |k| < 64 */
    TP_DEMAND_INTEGERS, /* from -4 to 4, without 0 */
    TP_DEMAND_RISING,   /* small ones that rise slowly with the index */
    TP_DEMAND_FALLING,
    TP_DEMAND_SPIKES,   /* small ones, here and there one of 8 and more */
    TP_DEMAND_FINE,     /* between -1 and 1, as finely as the dtype allows up to 2^-24: few are equal */
    TP_DEMAND_ROWS,     /* rising along the last dimension, without end; small ones in arrays of one row */
    TP_DEMAND_COLUMNS,  /* the same along the dimension before it */
    TP_DEMAND_POSITIVE, /* small ones above 0, as roots and logarithms ask for */
    TP_DEMAND_ABOVE,    /* from 1 to 2 */
    TP_DEMAND_SIGNS,    /* small ones of one sign in each input: which, by the seed */
    TP_DEMAND_FAMILIES
} tp_demand_family;

/* What a way from the numbers of a family leads to. Integers of 32 bits and more go with it, those that name positions
 * to OTHER alone; other integers and bools stay. */
typedef enum tp_demand_end {
    TP_DEMAND_OTHER, /* between -1 and 1, finely; integers anywhere in the arrays */
    TP_DEMAND_UP,    /* their magnitudes, hundreds and thousands of times as large */
    TP_DEMAND_DOWN,  /* the same below 0 */
    TP_DEMAND_TINY,  /* as many times as small */
    TP_DEMAND_TIES,  /* -1, 0 and 1 */
    TP_DEMAND_ENDS
} tp_demand_end;

typedef struct tp_demand_options {
    const tp_kernel *kernel;
    const tp_program *program; /* the kernel's body, or a reference for it */
    bool reference;
    const int64_t *env; /* sizes, and contents of the tables */
    tp_domain *domain;  /* the field or the rounding domain */
    uint64_t seed;      /* of the inputs' numbers */
    tp_demand_family family;
    tp_demand_end end; /* where inputs are on a way: to there, */
    double way;        /* and how far on it, from 0 to 1 */
    int64_t budget;    /* operations that one element may take */
    bool one_by_one;   /* no vectors: each lane by itself, as a test of them */
} tp_demand_options;

typedef enum tp_demand_outcome {
    TP_DEMAND_VALUE,
    TP_DEMAND_UNDEFINED, /* nobody writes it, or it depends on what is undefined */
    TP_DEMAND_TRAP,      /* a rule of the machine is broken on the way */
    TP_DEMAND_TOO_FAR,   /* the budget, or the depth, or the memory does not suffice */
    TP_DEMAND_OPEN       /* not modelled */
} tp_demand_outcome;

typedef struct tp_demand_value {
    tp_demand_outcome outcome;
    double number;                 /* as it is computed: in its dtype, or in double by a reference */
    uint64_t plane[TP_MAX_PLANES]; /* of the domain */
    bool undecided;                /* it hangs on a decision about which the domain is not certain */
    bool tied;                     /* field: a decision between numbers that tie while their residues differ */
    bool masked;                   /* a maximum that it depends on is that of a row that is masked wholly */
    int64_t step;                  /* kernels: number of the last step that covers it in grid order; -1: none */
    int64_t work;                  /* operations that it took */
    tp_str why;                    /* of all outcomes but VALUE; in the evaluator's arena */
} tp_demand_value;

typedef struct tp_demand tp_demand;
/* An evaluator in `a`, which it fills with what it has found out: one for
 * many elements at the same sizes. */
tp_demand *tp_demand_new(tp_arena *a, const tp_demand_options *o);
/* Output number `output` (from 0) at these indices, which lie inside it. What
 * earlier calls found out is not found out again, so `undecided`, `tied`
 * and `masked` are complete only while no earlier value had them. */
tp_demand_value tp_demand_element(tp_demand *d, uint32_t output, const int64_t *at);
/* From now on an element may take this many operations. */
void tp_demand_allow(tp_demand *d, int64_t budget);

/* An input's array, as far as its numbers follow it. */
typedef struct tp_demand_array {
    tp_dtype dtype;
    int64_t columns, rows; /* extents of the last dimension, and of the one before it; at least 1 */
    int64_t reach;   /* of inputs that name positions (tp_names_positions()), the largest extent of an array: every
                        other integer lies from 0 below it; 0: none does */
    int64_t longest; /* the largest extent of an array, as far as the dtype counts */
    tp_range values; /* between what they lie */
} tp_demand_array;
enum { TP_DEMAND_SEGMENT = 64 }; /* indices */
tp_demand_array tp_demand_array_of(tp_dtype dtype, uint32_t rank, const int64_t *dims, int64_t reach);
/* The number that an input holds at this place, in row-major order. Half of the
 * integers are those of their segment: the same in all inputs. Residues
 * are tp_field_word(domain, input, index). */
double tp_demand_input(const tp_demand_array *x, tp_demand_family family, uint64_t seed, uint32_t input,
                       uint64_t index);
/* The same on the way of *o. */
double tp_demand_on_way(const tp_demand_array *x, const tp_demand_options *o, uint32_t input, uint64_t index);
/* The same at first, first + step, …: n of them. */
void tp_demand_inputs(const tp_demand_array *x, const tp_demand_options *o, uint32_t input, uint64_t first,
                      uint64_t step, size_t n, double *to);

/* Run fn(ctx) on a stack of its own on which TP_DEMAND_DEPTH evaluations fit
 * within each other; false: there is none. It must not leave through an arena
 * that was entered outside. */
enum { TP_DEMAND_DEPTH = 400000 };
bool tp_with_stack(void (*fn)(void *ctx), void *ctx);

#endif
