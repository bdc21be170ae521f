/* A derivation that is replayed, and the side conditions of its steps; shared by
 * derivation.c, which has the laws, and sides.c. */
#ifndef TP_REPLAY_H
#define TP_REPLAY_H

#include "smt/trust/binders.h"

enum { TP_MAX_GIVEN = 40 };

/* A product that is 0, as that step says. */
typedef struct tp_nothing {
    const tp_real_product *of;
    uint32_t step;
} tp_nothing;

typedef struct tp_replay {
    tp_reals f;
    const tp_derivation *d;
    tp_replay_result *out;
    tp_binders binders;
    TP_VEC(tp_expr) premises; /* in the checker's pool */
    TP_VEC(uint32_t) rule_step;
    TP_VEC(uint32_t) truth_step;
    TP_VEC(tp_nothing) nothing;
    uint32_t step;
    bool lenient;
} tp_replay;

/* What holds where a side condition is asked for, beside the premises. */
typedef struct tp_here {
    tp_str given[TP_MAX_GIVEN]; /* keys of guards */
    uint32_t n;
    const tp_real_atom *points; /* its counters are within their extents; NULL: none */
} tp_here;

void tp_side_give(tp_replay *c, tp_here *h, tp_str key);
/* The points of a fold: its counters within their extents, its conditions. */
tp_here tp_side_points(tp_replay *c, const tp_real_atom *a);
/* Conditions of points: guards of the fold, or those that all of a sum stands under. */
uint32_t tp_side_conditions(const tp_real_atom *a, const tp_real_guard **at);
tp_expr tp_side_less(tp_replay *c, tp_expr a, tp_expr b);
tp_expr tp_side_at_least(tp_replay *c, tp_expr a, int64_t b);
/* A comparison as a guard, or it stops. */
tp_real_guard tp_side_guard(tp_replay *c, tp_expr condition);
tp_expr tp_side_counter(tp_replay *c, const tp_real_atom *a, uint32_t i);
/* 0 <= counter < extent, of the i-th counter. */
void tp_side_range(tp_replay *c, const tp_real_atom *a, uint32_t i, tp_expr bounds[2]);
bool tp_side_same_index(tp_replay *c, tp_expr a, tp_expr b);
/* Stops unless it is decided, given here, or the step names a side condition that says so here. */
void tp_side_needs(tp_replay *c, const tp_law_step *s, tp_real_guard g, const tp_here *h);
void tp_side_needs_that(tp_replay *c, const tp_law_step *s, tp_expr condition, const tp_here *h);

#endif
