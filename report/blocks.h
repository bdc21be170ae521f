/* Which blocks of an array the steps of the grid visit, at one choice of sizes. */
#ifndef TP_BLOCKS_H
#define TP_BLOCKS_H

#include "report/report.h"

/* Most blocks along a side, blocks of all pictures of a spec, and steps of the grid. */
enum { TP_MAP_SIDE = 40, TP_MAP_CELLS = 10000, TP_MAP_STEPS = 4000 };

/* Blocks along two dimensions, a slice for each block index of the others; around each slice a rim of one cell, for
 * windows beside the array. */
typedef struct tp_block_map {
    uint32_t rows, columns;   /* blocks along the two dimensions of most interest */
    uint32_t slices, shown;   /* of them the first ones are there: at most TP_MAP_SLICES */
    uint32_t *first, *visits; /* by tp_map_cell(): number of the first step in it, from 1; 0: never; how many runs
                                 of steps */
    double row_padding, column_padding; /* share of the last block that lies beyond the array, 0 to 1 */
    uint32_t outside;                   /* steps whose block does not meet the array */
    uint32_t steps;
    tp_str *title; /* per slice that is there: "[2, :, :]" in blocks; empty: there is one */
} tp_block_map;
enum { TP_MAP_SLICES = 8 };
/* Of a block; row and column from -1 to rows and columns. */
size_t tp_map_cell(const tp_block_map *m, uint32_t slice, int64_t row, int64_t column);

/* Of the slices that are there, without their rims. */
typedef struct tp_visits {
    uint64_t blocks, never, again, all; /* again: visited more than once; all: visits */
    uint32_t most;                      /* of one block */
} tp_visits;
tp_visits tp_map_visits(const tp_block_map *m);

/* Sizes at which the pictures are drawn: those of the smallest case of a
 * violation, else such that there are several blocks along each axis and the last one leaves its array; where tables
 * decide, those of a case that was run, or tables by chance that satisfy the contracts; where there are more than
 * TP_MAP_STEPS steps at all sizes, small ones. An environment for all symbols; NULL: none was found. *text: "M = 300, N
 * = 300". */
int64_t *tp_map_sizes(tp_arena *a, const tp_spec_report *s, tp_str *text);
/* The sizes of a counterexample, and the contents of tables that the spec has, into env: values of all symbols. */
void tp_sizes_of_witness(const tp_kernel *k, const tp_witness *w, int64_t *env);
/* False when there is nothing to draw: windows without a grid of blocks, too
 * many of them, or maps that read tables of unknown contents. */
bool tp_map_blocks(tp_arena *a, const tp_kernel *k, const tp_operand *o, int64_t *env, tp_block_map *map);

/* The pipeline: for which steps is a window copied? Inputs when their block is
 * another than in the step before, outputs in the last step of a run of equal
 * blocks. An operand that stays in HBM ("any") has no window: the body copies it, in
 * some steps several times. Shown are the first and the last steps. */
enum { TP_LANE_STEPS = 40, TP_LANE_ENDS = 64 };
typedef struct tp_copies {
    uint64_t steps;
    uint64_t first, kept; /* of steps beyond TP_MAP_STEPS only the first TP_LANE_ENDS and as many last ones are kept */
    uint32_t shown;
    uint32_t lead;    /* slots before the first step, in which windows come in: at least 1 */
    uint64_t *step;   /* numbers of those shown, from 1 */
    uint32_t *copied; /* operands by kept steps: how often; for tp_copied_for() */
    uint64_t *run;    /* the same: how many windows there were before the one of the step; for tp_run_of() */
    uint64_t *copies; /* per operand, in all steps */
    bool *counted;    /* the same; false: what the body copies depends on data, or is too much to count */
} tp_copies;
/* False: the grid is empty, a map reads tables of unknown contents, or what it copies is not known. Leaves with
 * TP_E_MEMORY. */
bool tp_map_lanes(tp_arena *a, const tp_kernel *k, int64_t *env, tp_copies *l);
/* Slots of time: one for each shown step; -lead to -1 before them, one behind. The step, from 0, that is at work in a
 * slot: below 0 and from `steps` on none. */
int64_t tp_step_in_slot(const tp_copies *l, int64_t slot);
/* How often it is copied for a step; 0: there is no such step, or it is not kept. */
uint32_t tp_copied_for(const tp_copies *l, uint32_t operand, int64_t step);
/* Of a step that is kept. */
uint64_t tp_run_of(const tp_copies *l, uint32_t operand, int64_t step);
/* Steps between the begin of a window's copy and its use, as Pallas' pipeline has them: an input with n buffers comes
 * in n - 1 steps ahead, an output goes out one step behind; with one buffer the step waits for its copy. */
uint32_t tp_window_lead(const tp_operand *o);

/* Share of a buffer that rounds it up to whole tiles, 0 to 1. */
double tp_padding_share(const tp_memory_row *m);

#endif
