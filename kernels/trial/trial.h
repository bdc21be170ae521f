/* A trial: kernel and reference of one case on the same arrays, under the
 * same domain. Shared by the tiers. */
#ifndef TP_TRIAL_H
#define TP_TRIAL_H

#include "kernels/trial/equiv.h"

typedef struct tp_trial {
    tp_arena *work; /* memory of the case */
    tp_arena *keep; /* memory of the results */
    const tp_case *c;
    const tp_equiv_options *o;
    tp_case_result *r;
} tp_trial;

/* Arrays and planes of inputs and outputs, and of what the reference says. */
typedef struct tp_sides {
    uint32_t n; /* arrays: inputs and outputs */
    tp_tensor *arrays, *want;
    tp_planes *got_meaning, *want_meaning; /* per array */
    tp_garbage garbage;
} tp_sides;

/* Allocate, and fill the inputs. False with *why when an array does not fit. */
bool tp_trial_arrays(const tp_trial *x, tp_input_family family, int64_t range, tp_sides *e, tp_str *why);
/* tp_machine_run() in memory that goes back where it ends well; leaves with TP_E_MEMORY. */
tp_status tp_trial_run(const tp_trial *x, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats);
/* The kernel on e->arrays. Leaves with TP_E_MEMORY. */
tp_status tp_trial_kernel(const tp_trial *x, tp_sides *e, tp_domain *d, tp_trap *trap, tp_run_stats *stats);
/* The reference on e->arrays; *undecided (may be NULL): it decides by numbers
 * about which the domain is not certain. False with *why when it cannot be
 * evaluated, or gives other shapes. */
bool tp_trial_reference(const tp_trial *x, tp_sides *e, tp_domain *d, bool *undecided, tp_str *why);
/* What the reference says of e->arrays if each of its results is rounded: by output, float64 tensors in `work`. NULL:
 * there is no such answer. To float32; */
tp_tensor *tp_trial_in_single(const tp_trial *x, const tp_sides *e);
/* ... or to the type that JAX gives it (types.c): that of its operands; NULL where all of these are float32, too. */
tp_tensor *tp_trial_in_own_types(const tp_trial *x, const tp_sides *e);
/* types.c: these types, by value of the reference's program, which is there; in `work`. NULL: all are float32. */
const tp_dtype *tp_own_types(tp_arena *work, const tp_kernel *k);
/* narrowed.c: output i differs where the reference decides by what it narrowed, and the kernel otherwise. `single`:
 * tp_trial_in_single(), once it was asked for. */
void tp_trial_hold_narrowed(const tp_trial *x, const tp_sides *e, uint32_t i, tp_result got, tp_result want,
                            const tp_tensor **single, tp_output_diff *d);
/* Is there anything to compare the case with? */
bool tp_trial_comparable(const tp_case *c);
/* Does a run of the kernel change what the reference reads? */
bool tp_trial_writes_inputs(const tp_kernel *k);
/* Is output i of the kernel compared? */
bool tp_trial_compares(const tp_kernel *k, uint32_t i);
/* s in the memory of the results. */
tp_str tp_trial_keep(tp_arena *keep, tp_str s);

/* Why work in this arena was left in the middle, and so what would help. */
tp_str tp_trial_left_out(tp_arena *keep, const tp_arena *work, const tp_equiv_options *o);
/* Run a tier (tp_trial *) in memory of its own; false, with r->left_out, when that ran out. */
bool tp_trial_in_memory(tp_arena *keep, const tp_case *c, const tp_equiv_options *o, tp_case_result *r,
                        void (*tier)(void *));
/* case.c: all its tiers. */
void tp_trial_case(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r);
/* team.c: all cases. Each result is taken in the order of the cases, its memory is a child of `a`; `fn` may leave. */
typedef enum tp_result_use {
    TP_RESULT_KEEP, /* its memory stays */
    TP_RESULT_DROP, /* nothing points to it any more */
    TP_RESULT_STOP  /* it stays, and no other result is wanted */
} tp_result_use;
typedef tp_result_use (*tp_result_visitor)(void *ctx, tp_case_result *r);
void tp_trial_cases(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_result_visitor fn, void *ctx);
/* case.c: a tier's verdict, counted; that of E3 with what it says besides. */
void tp_note_tier(tp_tier_counts *n, tp_tier t);
void tp_note_algebra(const tp_algebra *x, tp_equiv *out, tp_tier_counts *n, tp_str *reason);
/* Is there one, and are all equal? */
bool tp_tier_all_equal(const tp_tier_counts *n);

/* as_run.c: outputs of two runs; false: *where says what differs, in the memory of the results. NaNs are one number. */
bool tp_trial_same_numbers(const tp_trial *x, const tp_tensor *verified, const tp_tensor *run, tp_str *where);
/* After the kernel ran on e->arrays, filled by `family`: does it give the same as `run` executes it? */
void tp_trial_as_run(const tp_trial *x, const tp_sides *e, tp_input_family family);

void tp_trial_numbers(void *trial); /* e1_rounding.c */
void tp_trial_bits(void *trial);    /* e2_bits.c */
void tp_trial_algebra(void *trial); /* e3_algebra.c */
/* e3_algebra.c: do the residues agree when maxima follow the order of such data,
 * but for elements that rest on ties? Zeroed before the first draw; every draw
 * adds to it. */
typedef struct tp_order {
    bool **seen;   /* by output, by element: compared in some draw, or never to be; in `a` */
    uint64_t ties; /* elements that rested on ties, over all draws */
} tp_order;
bool tp_trial_agrees_in_order(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_input_family family,
                              tp_order *into);

/* hunt.c: r->algebra differs and the numbers do not. Either *r becomes the
 * result of a case, with inputs in `a`, whose numbers do, or the tier is
 * inconclusive. */
void tp_hunt(tp_arena *a, const tp_equiv_options *o, tp_case_result *r);

/* boundaries.c: inputs next to where a comparison, a sign, a floor or the like
 * of kernel or reference turns. *r stays, or becomes the result of a case, with
 * such inputs in `a`, whose numbers differ. */
void tp_hunt_boundaries(tp_arena *a, const tp_equiv_options *o, tp_case_result *r);

#endif
