/* Executing a kernel against its naive reference, case by case. */
#ifndef TP_EQUIV_H
#define TP_EQUIV_H

#include "kernels/machine.h"

/* What to execute: one kernel (a dtype combination) at concrete sizes. */
typedef struct tp_case {
    const tp_kernel *kernel;
    int64_t *env;
    uint64_t seed;
    tp_loc loc;     /* of the entry in "cases", or of the kernel */
    bool generated; /* sizes were chosen by the boundary picker */
    bool tables;    /* "tables" were given: other sizes would not fit them */
} tp_case;
typedef TP_VEC(tp_case) tp_cases;

/* The cases of a spec: its "cases", completed at block boundaries (1, block-1,
 * block, block+1, …), or `per_kernel` such cases for every dtype combination.
 * Raises TP001, TP002, TP005 through c for a malformed case or one outside the
 * domain. */
tp_cases tp_cases_read(tp_ctx *c, const tp_spec *s, uint32_t per_kernel);
/* The tables of a case, bound in x->env: those in `given` (an object of nested
 * lists, or NULL), the others found so that the contracts hold. False when
 * none were found; raises TP002, TP005 for given ones that do not fit. */
bool tp_case_tables(tp_ctx *c, const tp_kernel *k, tp_case *x, const tp_json *given);
/* Does env satisfy sizes and "where"? *why says what it breaks. */
bool tp_in_domain(const tp_kernel *k, const int64_t *env, tp_str *why);

typedef enum tp_outcome { TP_EQUAL, TP_DIFFERENT, TP_TRAPPED, TP_SKIPPED } tp_outcome;

typedef struct tp_output_diff {
    tp_str name;
    double max_abs, max_rel;
    double max_ulp; /* in units of the last place of max(|want|, rms of the output) */
    double ratio;   /* worst error in units of the tolerance; > 1 differs */
    tp_str worst;   /* "o[3, 17]" */
    double got, want;
    tp_str step; /* "i=0, j=1, k=2": the last step of the run that wrote it */
} tp_output_diff;

typedef struct tp_case_result {
    const tp_case *the_case;
    tp_outcome outcome;
    tp_trap trap; /* TRAPPED; SKIPPED: trap.message says why */
    TP_VEC(tp_output_diff) outputs;
    int64_t steps;
} tp_case_result;

typedef struct tp_equiv {
    TP_VEC(tp_case_result) cases;
    uint32_t equal, different, trapped, skipped;
    const tp_output_diff *worst;
    uint64_t seed;
} tp_equiv;

typedef struct tp_equiv_options {
    uint64_t seed;
    size_t max_memory; /* bytes per case */
    int64_t max_steps;
} tp_equiv_options;

/* Results live in `a`. */
void tp_equiv_run(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_equiv *out);

/* Random input: floats normal, integers in [-8, 8], bools fair. */
void tp_fill_random(tp_tensor *t, uint64_t seed, uint64_t stream);

/* Tolerance of `tested`, relative to max(|want|, rms of the output): an
 * engineering threshold, not a proof. 256 roundoffs of float32 plus 4
 * roundoffs of the coarsest float type that the body computes in. */
double tp_tolerance(const tp_kernel *k);
void tp_compare(tp_arena *a, const tp_kernel *k, int64_t *env, uint32_t output, const tp_tensor *got,
                const tp_tensor *want, tp_output_diff *out);

#endif
