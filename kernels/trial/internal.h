/* Which sizes, tables and blocks make the cases of a trial. */
#ifndef TP_TRIAL_INTERNAL_H
#define TP_TRIAL_INTERNAL_H

#include "base/rng.h"
#include "kernels/machine/machine.h"

/* sizes.c: values of one size, each once. */
enum { TP_MAX_VALUES = 96, TP_MAX_CONSTANTS = 32 };
typedef struct tp_values {
    int64_t at[TP_MAX_VALUES];
    uint32_t n;
} tp_values;
/* Constants that a size or an axis meets in comparisons, divisions, minima and
 * maxima of facts, maps, steps, body and reference, directly or through local names. */
typedef struct tp_met {
    int64_t at[TP_MAX_CONSTANTS], blocks[TP_MAX_CONSTANTS]; /* blocks: of a size, met by what counts blocks of it */
    uint32_t n, nblocks;
} tp_met;
typedef struct tp_constants {
    tp_met *sizes, *axes; /* by number */
} tp_constants;
const tp_constants *tp_constants_of(tp_arena *a, const tp_kernel *k);
/* x rounded down to a multiple that the size may have; nothing when it may not. */
void tp_add_value(tp_values *v, const tp_size *s, int64_t x);
/* Has a size that no block tiles a value above 256? */
bool tp_large_here(const tp_kernel *k, const int64_t *env);
/* Values worth a case: one past the largest block first. env: chosen sizes are set. */
tp_values tp_telling_values(const tp_kernel *k, const tp_constants *all, const tp_size *s, const int64_t *env);

/* thresholds.c: constants, in body or reference, that an input or what comes of it meets in comparisons, minima and
 * maxima. */
enum { TP_MAX_THRESHOLDS = 8 };
typedef struct tp_thresholds {
    double at[TP_MAX_THRESHOLDS];
    uint32_t n;
} tp_thresholds;
tp_thresholds tp_thresholds_of(const tp_kernel *k, uint32_t input);
/* Has any input some? */
bool tp_has_thresholds(const tp_kernel *k);
/* Does the body compute some? */
bool tp_has_exponentials(const tp_kernel *k);

/* picker.c: puts values together. */
typedef struct tp_picker tp_picker;
tp_picker *tp_picker_new(tp_arena *a, const tp_kernel *k);
/* Choose every size that is not given. Number 0 takes the first value of each,
 * 1 the least ones, others random ones. False when none of 400 attempts is in the domain. */
bool tp_pick(const tp_picker *p, const tp_kernel *k, const bool *given, tp_rng *rng, uint32_t number, int64_t *env);
/* These sizes are a case. */
void tp_picker_note(tp_picker *p, const tp_kernel *k, const int64_t *env);
/* Makes sizes (of the picker's kernel) a case, with tables of this seed (0: of any); false when it was one already. */
typedef bool (*tp_take_case)(void *ctx, const int64_t *env, uint64_t seed);
/* Cases for two blocks and a rest everywhere, for every single value, and for pairs of values, while effort lasts. */
void tp_pick_more(tp_arena *a, tp_picker *p, tp_take_case take, void *ctx);
/* Cases for what `coverage` has not seen: sizes are tried in dry runs. */
void tp_pick_ways(tp_arena *a, tp_picker *p, tp_coverage *coverage, tp_take_case take, void *ctx);
/* Run without a reference, for its coverage alone; nothing for what takes more than `most` of tp_effort_of(), or
 * without k. Cases have a quarter of TP_DRY_EFFORT, the effort of all dry runs. */
#define TP_DRY_EFFORT (1 << 21)
void tp_run_dry(const tp_kernel *k, const int64_t *env, double most, tp_coverage *coverage);

/* Elements of all arrays and scratch; 0 when a shape is none: the machine says so. */
int64_t tp_elements_of(const tp_kernel *k, const int64_t *env);
/* box.c: what a run moves: all arrays, and in each step its windows. Starting one
 * costs as much as a thousand elements do, finding contents of tables more. Or what
 * the reference computes, where that is far more. */
double tp_effort_of(const tp_kernel *k, const int64_t *env);

/* shrink.c: the spec with small blocks in place of its own; its kernels are
 * read like those of any spec. *blocks: "bm=4, bk in {4, 8}". */
typedef enum tp_shrink_mode {
    TP_SHRINK_BLOCKS, /* fixed and chosen sizes that name blocks, each on its own */
    TP_SHRINK_ALL,    /* every number that a common factor of the blocks divides */
    TP_SHRINK_MODES
} tp_shrink_mode;
/* NULL: there is nothing to shrink, or what comes out is no spec. Both live in c->arena. */
tp_spec *tp_shrunk(tp_ctx *c, const tp_spec *s, tp_shrink_mode how, tp_str *blocks);

#endif
