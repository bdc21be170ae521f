/* Executing a kernel against its naive reference, case by case: the tiers of
 * docs/EQUIVALENCE.md. */
#ifndef TP_EQUIV_H
#define TP_EQUIV_H

#include "kernels/machine/machine.h"
#include "spec/table.h"

/* What to execute: one kernel (a dtype combination) at concrete sizes. */
typedef struct tp_case {
    const tp_kernel *kernel;
    int64_t *env;
    uint64_t seed;
    tp_loc loc;                    /* of the entry in "cases", or of the kernel */
    uint32_t listed;               /* 1 + number of its entry in "cases"; 0: of none */
    bool generated;                /* sizes were chosen by the boundary picker */
    bool tables;                   /* "tables" were given: other sizes would not fit them */
    const tp_tensor *given;        /* by input: arrays from files for E1 (data NULL: random); or NULL */
    bool numbers, algebra, bits;   /* tiers to run: E1, E3, E2 */
    bool boundaries;               /* E1 also where decisions by floats turn */
    bool near;                     /* the given inputs were found next to such a place */
    tp_coverage *coverage;         /* of the kernel, where runs are counted; or NULL */
    uint32_t families;             /* of inputs for E1 besides the normal one: TP_INPUT_BIT(…) */
    const struct tp_case *against; /* NULL: the kernel's reference. Else this kernel at these sizes stands in its
                                      place, on the same inputs by name */
} tp_case;
typedef TP_VEC(tp_case) tp_cases;

/* The cases of a spec: its "cases", completed at block boundaries (1, block-1,
 * block, block+1, …), or `per_kernel` such cases for every dtype combination.
 * Raises TP001, TP002, TP005 through c for a malformed case or one outside the
 * domain. */
tp_cases tp_cases_read(tp_ctx *c, const tp_spec *s, uint32_t per_kernel);
/* One or a few, for E1 on normal inputs, each of which moves `most_effort` elements at most: at the sizes of `at` (or
 * NULL), and one past a block in each size or not less than 3, and that with one size otherwise; for the dtype
 * combination of `at` or the first. */
tp_cases tp_cases_few(tp_ctx *c, const tp_spec *s, const tp_witness *at, double most_effort);
/* Does each lie in the domain of its kernel? For tp_assert(). */
bool tp_cases_hold(const tp_cases *cases);
/* The tables of a case, bound in x->env: those in `given` (an object of nested
 * lists, or NULL), the others found so that the contracts hold. False when
 * none were found; raises TP002, TP005 for given ones that do not fit. */
bool tp_case_tables(tp_ctx *c, const tp_kernel *k, tp_case *x, const tp_json *given);
/* The seed for tp_tables_of_seed(): never 0, which would ask for the least entries. */
uint64_t tp_case_table_seed(const tp_case *x);
/* tp_tables_find(); where that fails and the seed has this bit, also tp_tables_search_carefully(), for a while. */
enum { TP_CAREFUL_SEED = 1 << 20 };
bool tp_tables_of_seed(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed, uint32_t nfixed,
                       uint64_t seed);
/* Let `other` stand in place of the reference: c->against becomes its case at
 * the sizes of c, with its tables, by name. False with *why when it has none. */
bool tp_case_against(tp_arena *a, tp_case *c, const tp_kernel *other, tp_str *why);
/* Elements of all its arrays and scratch. */
int64_t tp_case_elements(const tp_case *c);
/* Is the size one on which neither the arrays' shapes nor the reference
 * depends, such as that of a block? Without a reference none is. */
bool tp_size_is_free(const tp_kernel *k, tp_str name);
/* Does some text at or below v (may be NULL) speak of the name? */
bool tp_speaks_of(const tp_json *v, tp_str name);
/* The largest block that tiles a dimension of this size, at the choices of env; 0: none does. */
int64_t tp_largest_block(const tp_kernel *k, const tp_size *s, const int64_t *env);
/* The box of a kernel is the product of a few values for every size: all up to
 * two blocks and one when the blocks that tile it are of at most 4, else 1, a
 * block, two blocks and their neighbours; small numbers, and those around
 * constants that it meets, when no block tiles it. Of its shapes that lie inside the
 * domain and are small enough to execute: as many as together move
 * `most_effort` elements, but at least `least`, spread over all of them. */
typedef struct tp_box {
    tp_cases cases;
    uint64_t shapes;  /* of the whole box, inside the domain and small enough; one more than were looked at when those
                         are too many */
    tp_str text;      /* "M in {1, 127, 128}, N in {…}" */
    tp_str constants; /* "W = 1": sizes that took one value in all cases, though the domain has others; may be empty */
} tp_box;
tp_box tp_cases_box(tp_ctx *c, const tp_kernel *k, uint32_t least, double most_effort);
/* Does env satisfy sizes and "where"? *why says what it breaks. */
bool tp_in_domain(const tp_kernel *k, const int64_t *env, tp_str *why);
/* And F1 and F2 (spec/facts.h), which proofs are given? Memory is taken from `a`. */
bool tp_in_proven_domain(tp_arena *a, const tp_kernel *k, const int64_t *env);

typedef enum tp_outcome { TP_EQUAL, TP_DIFFERENT, TP_TRAPPED, TP_SKIPPED } tp_outcome;

/* What one tier says about one case. */
typedef enum tp_tier {
    TP_TIER_NONE, /* not run, or it does not apply; `reason` says why */
    TP_TIER_EQUAL,
    TP_TIER_INCONCLUSIVE, /* run, and nothing follows; `reason` says why */
    TP_TIER_DIFFERENT,
} tp_tier;
const char *tp_tier_name(tp_tier t);

/* What the numbers of inputs are like. */
typedef enum tp_input_family {
    TP_INPUT_NORMAL,   /* floats normal, integers in [-8, 8], bools fair */
    TP_INPUT_WIDE,     /* magnitudes from 2^-6 to 2^6, both signs */
    TP_INPUT_CANCEL,   /* pairs of neighbours that nearly cancel, ±0, equal values */
    TP_INPUT_INTEGERS, /* floats are integers in [-range, range] */
    TP_INPUT_SMALL,    /* multiples of 1/64 in (-1, 1), no 0 */
    /* what stands where in its array decides; integers stay within [-8, 8] */
    TP_INPUT_ASCENDING, /* along every dimension: a maximum moves in every block */
    TP_INPUT_DESCENDING,
    TP_INPUT_SPIKES,   /* small, with an element in 16 and a row in 8 that stands out */
    TP_INPUT_TIES,     /* -1, 0 and 1: many equal maxima; integers 0 and 1 */
    TP_INPUT_ZEROS,    /* bools false: masked wholly */
    TP_INPUT_CONSTANT, /* rows of one value, bools too */
    TP_INPUT_SIGNS,    /* of one sign: the first input negative, the second positive, … */
    TP_INPUT_POWERS,   /* of two, from 1/16 to 16, both signs */
    TP_INPUT_LARGE,    /* normal, times 12: exp matters */
    TP_INPUT_OPPOSITE, /* as TP_INPUT_SIGNS, the other way round */
    /* what the text says decides: */
    TP_INPUT_THRESHOLDS, /* at, around and beyond constants that the input meets; normal where it meets none */
    TP_INPUT_FAR, /* far from 0, of one sign each: exponents are, too, or scores that are products of two inputs */
    TP_INPUT_FAR_OTHERS, /* the same, with other signs: two inputs have different ones here or there, or both differ */
    TP_INPUT_FRACTIONS,  /* multiples of 1/64 in (0, 1), which have roots and logarithms; integers from 1 on, bools true
                          */
} tp_input_family;

/* Buckets of errors in units of the last place: 0, up to 1/2, 1, 2, 4, …, more. */
enum { TP_ULP_BUCKETS = 10 };

/* E1: an output against the reference, values over the reals. */
typedef struct tp_output_diff {
    tp_str name;
    tp_tier tier;
    double ratio;            /* worst |kernel - reference| over the reals, in units of both bounds; > 1 differs */
    double max_abs, max_rel; /* of the computed numbers, as are the next four */
    double max_ulp;          /* in units of the last place of max(|want|, rms of the output) */
    tp_str worst;            /* "o[3, 17]" */
    double got, want;
    double rounding;           /* worst |computed - over the reals|, in units of what is allowed */
    double allowed;            /* 1: the tolerance; more: so many times that (tp_allowed_for()) */
    double rounding_of_counts; /* the same of floats that are exactly integers over the reals */
    uint64_t ulps[TP_ULP_BUCKETS];
    uint32_t rank;
    int64_t blocks[TP_MAX_RANK];  /* blocks per dimension; rank 0: too many, or windows without a grid of blocks */
    double *block_ulp;            /* worst error of each block, in order */
    tp_str step;                  /* "i=0, j=1, k=2": the last step of the run that wrote it */
    bool overflows;               /* NaN or infinity of finite numbers, where the reference has a finite number; or 0,
                                   * where that is far from it: exponentials that are all 0 */
    tp_input_family overflows_on; /* these inputs */
    uint64_t loose;               /* elements that allclose(rtol=1e-2, atol=1e-2) would reject */
    uint64_t compared, differing; /* elements; differing: certainly, over the reals, or by overflow */
    uint64_t overflowed;          /* of those: no more is known than that finite numbers became too large */
    uint64_t refuting;            /* of those: another number than the reference's, or no value where that has one */
    uint64_t valueless;           /* of those: no value where the reference has a number */
    uint64_t undefined;           /* elements, compared or not, for which the reference has no number */
    bool narrowed;                /* DIFFERENT, by what the reference decides by numbers that it narrows */
    tp_str reason;                /* INCONCLUSIVE */
    tp_input_family family;       /* DIFFERENT, and the inputs before agreed: it differs on those of this family */
} tp_output_diff;

/* E3: residues of kernel and reference. */
typedef struct tp_algebra {
    tp_tier tier;
    bool ordered;      /* some output shows the maximum itself: maxima by the order of the data */
    bool tags;         /* some function was taken as uninterpreted */
    bool oracle;       /* some maximum was answered by a random residue */
    bool approximate;  /* some constant was cut to 24 bits */
    bool unexplained;  /* INCONCLUSIVE: the residues differ, also where maxima follow the data */
    bool undefined;    /* the reference has no number for some element */
    bool tied;         /* unexplained, and the difference rests on numbers that tie in every draw */
    uint64_t compared; /* elements */
    double chance;     /* k: a wrong kernel passes with a probability of at most 2^-k */
    tp_str worst;      /* DIFFERENT: the element, */
    uint32_t output;   /* and by number */
    size_t element;
    tp_str reason; /* NONE, INCONCLUSIVE */
} tp_algebra;

/* E2: bits, on inputs for which no operation rounds. */
typedef struct tp_bits {
    tp_tier tier;
    int64_t range; /* inputs are integers from -range to range */
    tp_str worst, reason;
    double got, want;
} tp_bits;

/* Where kernel and reference part: what the difference of an element depends
 * on. Residues of single inputs are drawn anew, and whoever notices tells. */
typedef struct tp_blame {
    uint32_t output;  /* ... of this one: that at which residues differ, which may be another one than numbers do */
    tp_str evidence;  /* "o[3, 17] depends on x[3, 77] in the reference, not in the kernel" */
    tp_str step;      /* first step that holds both: "i=0, j=0, k=0" */
    tp_str statement; /* that reads the input */
    tp_loc loc;       /* its line, where it reads too much or too little; else empty */
    bool constant;    /* it depends on no input */
    tp_str hint;
} tp_blame;

/* CPU seconds of a thread, by what is compared; the hunts for a difference that is confirmed are of E1. */
typedef struct tp_tier_seconds {
    double rounding, bits, algebra; /* E1, E2, E3 */
} tp_tier_seconds;

typedef struct tp_case_result {
    const tp_case *the_case;
    tp_tier_seconds seconds;
    tp_outcome outcome;
    tp_trap trap; /* TRAPPED; SKIPPED: trap.message says why */
    TP_VEC(tp_output_diff) outputs;
    tp_algebra algebra;
    tp_bits bits;
    tp_blame blame; /* of a difference that the algebra shows; see tp_equiv_blame() */
    int64_t steps;
    tp_str as_run;          /* how `run` would execute it otherwise than it was verified; empty: it does not */
    uint64_t digest;        /* of the outputs' numbers, on the first inputs */
    bool fractions;         /* the first inputs are such: on normal ones, the reference lacks numbers */
    uint32_t out_of_memory; /* tiers left out for want of memory */
    tp_str left_out;        /* why the last of them was */
} tp_case_result;

typedef struct tp_tier_counts {
    uint32_t equal, different, inconclusive, none;
} tp_tier_counts;

typedef struct tp_equiv {
    TP_VEC(tp_case_result) cases;
    uint32_t equal, different, trapped, skipped;
    uint32_t fractions; /* cases that are compared on such inputs, since on others the reference has no number */
    const tp_output_diff *worst;    /* by ratio */
    const tp_output_diff *unstable; /* by rounding */
    tp_tier_counts algebra, bits, box;
    double chance; /* least of the equal ones */
    bool ordered, tags;
    tp_str algebra_reason, bits_reason; /* first of the others */
    uint64_t box_shapes;                /* of all boxes; box counts those that were run */
    tp_str box_text, box_reason;
    tp_str box_constants;   /* sizes that took one value in the box of some dtype combination: E4 is not earned */
    tp_str blocks;          /* in place of the spec's, in the box: "bm=4, bk in {4, 8}"; may be empty */
    uint32_t out_of_memory; /* tiers of cases left out for want of memory */
    tp_str left_out;        /* why the last of them was */
    const tp_case_result *unexplained; /* the first of those; or NULL */
    const tp_kernel *far_kernel;       /* a single element differs at sizes that no case confirms; or NULL */
    uint32_t far_output;               /* its output, */
    tp_str far_reason;                 /* values and sizes */
    uint64_t seed;
    tp_coverage_summary coverage; /* of the cases */
    tp_tier_seconds seconds;      /* of the cases, without those of the box */
} tp_equiv;

/* Who may run the cases of a spec side by side. */
typedef struct tp_team {
    uint32_t threads;
    const tp_spec *spec; /* that of their kernels */
    /* The same spec once more, in `a`, where it may leave; for several threads at a time. NULL: it cannot be had. */
    const tp_spec *(*read)(const void *ctx, tp_arena *a);
    const void *ctx;
    /* What each further thread calls as it begins, with the spec's name, and as it ends, with NULL; or NULL. */
    void (*watch)(const tp_str *name);
    const tp_str *name;
} tp_team;

typedef struct tp_equiv_options {
    uint64_t seed;
    size_t max_memory; /* bytes per case */
    int64_t max_steps;
    bool no_hunt;         /* leave it at residues that the numbers do not confirm */
    bool until_different; /* the first case that differs is the last one */
    bool verified_alone;  /* nobody asks whether `run` would execute a case otherwise */
    bool repeated;        /* nobody looks at results: beyond their first elements large inputs repeat these */
    const tp_team *team;  /* NULL: one after the other. The results are the same */
} tp_equiv_options;

/* Results live in `a`. */
void tp_equiv_run(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_equiv *out);
/* pairs.c: which pairs of values worth a case stand together in one of the cases. *text: in words. */
tp_pairs tp_pairs_of(tp_arena *a, const tp_cases *cases, tp_str *text);
/* What the cases went through, into out->coverage. */
void tp_equiv_coverage(tp_arena *a, const tp_cases *cases, tp_equiv *out);
/* E4: E3 on the shapes of a box, added to *out. With small
 * blocks in place of the spec's where the kernel is equal to its reference with
 * those; else with its own blocks, on at least `least` shapes for every dtype
 * combination, and a shape that differs becomes one of the cases (in c->arena). */
void tp_equiv_box(tp_ctx *c, const tp_spec *s, uint32_t least, const tp_equiv_options *o, tp_equiv *out);

/* Elements of an output that E1 compared, in all cases that ran to their end. */
uint64_t tp_equiv_compared(const tp_equiv *e, tp_str output);

/* A tier of evidence that executions give: a file eN_name.c each. The one for
 * all sizes, E5, is analyzer/equality/e5_all_sizes.c. */
typedef struct tp_tier_evidence {
    const char *text, *old;           /* as --require has it; its name in earlier versions, or NULL */
    bool (*holds)(const tp_equiv *e); /* does the run earn the tier's words, on everything that it executed? */
    tp_str (*missing)(const tp_equiv *e, const tp_kernel *k); /* why not; may be empty */
} tp_tier_evidence;
extern const tp_tier_evidence tp_tier_e1, tp_tier_e2, tp_tier_e3, tp_tier_e4;

/* Does the case refute equality over the reals, for inputs on which the
 * reference has a number? Another number does, and so does NaN or infinity that
 * is one over the reals, too (inf - inf, 0 * inf, 0 / 0, an infinite literal).
 * Overflow of finite numbers does not: over the reals there is none. With
 * `masks` the proof takes finite masks for minus infinity and says nothing of
 * rows that are masked wholly, where a kernel may have no value: only another
 * number refutes it. */
bool tp_equiv_refutes(const tp_case_result *r, bool masks);
/* The first case with NaN or infinity by overflow; NULL: none. */
const tp_case_result *tp_equiv_overflow(const tp_equiv *e);

/* Fill in r->blame. */
void tp_equiv_blame(tp_arena *a, const tp_equiv_options *o, tp_case_result *r);

/* ---- inputs ---- */

enum {
    TP_INPUT_FIRST_PLACED = TP_INPUT_ASCENDING,
    TP_INPUT_PLACED = TP_INPUT_OPPOSITE + 1 - TP_INPUT_FIRST_PLACED,
    TP_INPUT_FAMILIES = TP_INPUT_FRACTIONS + 1
};
/* The families that E1 may run besides the normal one, as bits of tp_case.families. */
#define TP_INPUT_BIT(family) (1u << (family))
/* What reports and `run --fill` call it; false: there is none of that name. */
const char *tp_input_name(tp_input_family family);
/* "many equal elements": what such inputs have. */
const char *tp_input_words(tp_input_family family);
bool tp_input_find(tp_str name, tp_input_family *out);
/* Are its floats so small that infinity or NaN, where the reference has a number, is no mere overflow? */
bool tp_input_tame(tp_input_family family);
/* Are they for exponentials that are all 0, or all too large? */
bool tp_input_is_far(tp_input_family family);
void tp_fill(tp_tensor *t, tp_input_family family, int64_t range, uint64_t seed, uint64_t stream);
/* TP_INPUT_NORMAL */
void tp_fill_random(tp_tensor *t, uint64_t seed, uint64_t stream);
/* Elements of an input that its "values" do not allow become others. */
void tp_keep_values(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t);
/* What an input of k is filled with at these sizes: tp_fill() of stream `input`; integers that the body compares with
 * positions are, every other one, any that a position of the arrays may be. */
void tp_fill_input(const tp_kernel *k, const int64_t *env, uint32_t input, tp_tensor *t, tp_input_family family,
                   int64_t range, uint64_t seed);

/* ---- blame ---- */

/* A box of an input, in elements. */
typedef struct tp_part {
    uint32_t input;
    int64_t lo[TP_MAX_RANK], hi[TP_MAX_RANK];
} tp_part;
/* Residues of one element by kernel and reference with the part drawn anew
 * (NULL: as they are). False when they cannot be had. */
typedef bool (*tp_probe)(void *ctx, const tp_part *part, uint64_t *kernel, uint64_t *reference);
/* The line of the last statement that writes an operand; empty: none does. */
tp_loc tp_last_store(const tp_kernel *k, uint32_t operand);
void tp_blame_find(tp_arena *a, const tp_kernel *k, const int64_t *env, uint32_t output, size_t element, tp_probe probe,
                   void *ctx, tp_blame *out);

/* ---- comparing ---- */

/* One array of an output: numbers, and planes of the rounding domain. */
typedef struct tp_result {
    const tp_tensor *data;
    const tp_planes *meaning;
} tp_result;

/* Tolerance of rounding, relative to max(|want|, rms of the output): an
 * engineering threshold, not a proof. 1024 roundoffs of float32 plus 8
 * roundoffs of the coarsest float type of outputs, the reference, and inputs (8 bits apart) from whose numbers the
 * reference computes an output, not only a decision: what is coarser inside is the kernel's own doing. The spec's
 * "tolerance" where there is one. */
double tp_tolerance(const tp_kernel *k);
/* How many times the tolerance of a float output is allowed where the reference, its own formula computed in float32
 * (`single`), is off by so much of what it says over the reals: up to 2^-10 of an output's size. At least 1. */
double tp_allowed_for(const tp_kernel *k, int64_t *env, uint32_t output, const tp_tensor *single, tp_result want);
/* The root mean square of an output over the reals, of the elements that are compared. */
double tp_size_of(const tp_kernel *k, const tp_operand *o, int64_t *env, const tp_result *want);
/* What rounding costs an output, in units of the tolerance, where its numbers are neither those of `single`, nor those
 * of `typed` (NULL: there are none), nor the reference's own: else no kernel that computes the formula has others. */
double tp_rounding_beside(const tp_kernel *k, int64_t *env, uint32_t output, const tp_tensor *single,
                          const tp_tensor *typed, tp_result got, tp_result want);
/* Does the reference decide by numbers of few bits that arithmetic has rounded, as argmax of a product in bfloat16
 * does? Many of these tie, and rounding may decide which. */
bool tp_rounding_decides(tp_arena *work, const tp_kernel *k);
/* Does a loop of the body end where floats decide, as one that turns until a result is close enough? Such a kernel is
 * another function over the reals than what it approximates: within the tolerance, nothing follows. */
bool tp_approximates(const tp_kernel *k);
/* With `partial`, elements at which the reference has no number are left out; else a number there differs. */
void tp_compare(tp_arena *a, const tp_kernel *k, int64_t *env, uint32_t output, tp_result got, tp_result want,
                bool partial, tp_output_diff *out);
/* Is element i of output o inside its "valid"? */
bool tp_is_compared(const tp_kernel *k, const tp_operand *o, int64_t *env, const tp_tensor *t, size_t i);
/* Coordinates of the first or last step whose windows hold the element of `o`,
 * and that of `other` where it is not NULL; empty when there is none. */
tp_str tp_step_of(tp_arena *a, const tp_kernel *k, const int64_t *env, const tp_operand *o, const int64_t *element,
                  const tp_operand *other, const int64_t *other_element, bool last);
/* "o[3, 17]", of the array as callers have it: by indices in memory, where its extents are `dims`, or by the number of
 * the element. */
tp_str tp_element_at(tp_arena *a, const tp_operand *o, const int64_t *dims, const int64_t *at);
tp_str tp_element_name(tp_arena *a, const tp_operand *o, const tp_tensor *t, size_t i);

#endif
