/* What a kernel's runs have gone through: branches, masks, loops, arms, comparisons.
 * A point is a place that can go more than one way; every way that some run
 * took is noted. One tp_coverage belongs to one kernel (a dtype combination);
 * the machine writes to it while it runs, nobody else does. Lives in an arena;
 * counting costs a look at a table for each branch, and a scan of each mask
 * until both ways were seen. */
#ifndef TP_COVERAGE_H
#define TP_COVERAGE_H

#include "spec/kernel.h"

typedef enum tp_point_kind {
    TP_POINT_GUARD,      /* ways: false, true */
    TP_POINT_MASK,       /* ways: a false lane, a true lane */
    TP_POINT_LOOP,       /* ways: no turn, one, more */
    TP_POINT_ARM,        /* of min and max in index maps and steps: the first operand, the second */
    TP_POINT_COMPARISON, /* of positions, which no guard or mask takes; ways: a false lane, a true lane */
    TP_POINT_KINDS
} tp_point_kind;

typedef struct tp_point {
    tp_point_kind kind;
    const void *of;    /* tp_statement, tp_inst; ARM: none */
    tp_expr arm;       /* ARM: the min or max */
    uint32_t line;     /* of the spec */
    uint32_t offset;   /* ... in its text */
    uint8_t seen, all; /* bit w: way w */
} tp_point;

enum { TP_ARMS_SIZE = 200 }; /* nodes of an expression in which arms are looked for */

typedef struct tp_coverage {
    TP_VEC(tp_point) points;
    uint32_t *table, size; /* by `of`: 1 + number of its point; `size` is a power of two */
    uint32_t unseen;       /* ways */
} tp_coverage;

/* The points of k, nothing seen. */
tp_coverage *tp_coverage_new(tp_arena *a, const tp_kernel *k);
/* The statement or instruction went this way. Nothing for what is no point. */
void tp_cover(tp_coverage *v, const void *of, uint32_t way);
/* The lanes of a mask, n bytes of 0 and 1. */
void tp_cover_lanes(tp_coverage *v, const void *of, const uint8_t *lanes, size_t n);
/* The same points as `v`, which has seen nothing yet and outlives it. */
tp_coverage *tp_coverage_copy(tp_arena *a, const tp_coverage *v);
/* What the coverage of another reading of the same kernel has seen. */
void tp_cover_as(tp_coverage *v, const tp_coverage *other);
/* The arms that the grid of k takes at these sizes: of at most a few thousand steps. */
void tp_cover_arms(tp_arena *a, tp_coverage *v, const tp_kernel *k, const int64_t *env);

/* What one dtype combination went through, or any of them. */
typedef struct tp_coverage_count {
    tp_str dtypes; /* "T=float32"; of any: empty */
    uint32_t covered[TP_POINT_KINDS], points[TP_POINT_KINDS];
    tp_str text;         /* "guards 7 of 7, masks 3 of 4 (never false: line 12)"; empty: there are no points */
    TP_VEC(tp_str) gaps; /* "mask in line 12 is never false" */
} tp_coverage_count;

/* Values of two sizes that stand together in some case. */
typedef struct tp_pairs {
    uint64_t covered, pairs; /* pairs of values worth a case, of any two sizes; without those that "where" forbids */
    uint64_t unnamed;        /* not covered, and beyond the list of gaps */
    TP_VEC(tp_str) gaps;     /* "M = 1 with N = 3, 257", "no M = 7777" */
} tp_pairs;

typedef struct tp_coverage_summary {
    tp_coverage_count any;          /* a way counts that was taken in some dtype combination */
    TP_VEC(tp_coverage_count) each; /* dtype combination on its own */
    const tp_point *points;         /* with what was seen in any */
    uint32_t npoints;
    tp_str text;       /* of each; those that say the same stand together. Empty: there are no points */
    tp_pairs pairs;    /* of all dtype combinations together */
    tp_str pairs_text; /* "57 of 144 (…)"; empty: there are no two sizes */
} tp_coverage_summary;
/* Of the n kernels of a spec. */
void tp_coverage_summarise(tp_arena *a, const tp_kernel *const *kernels, tp_coverage *const *all, uint32_t n,
                           tp_coverage_summary *out);
const char *tp_point_kind_name(tp_point_kind k);
/* "branch: never false"; "branch: every way" */
tp_str tp_point_text(tp_arena *a, const tp_point *p);

#endif
