/* What the files of cost/ share. */
#ifndef TP_COST_INTERNAL_H
#define TP_COST_INTERNAL_H

#include "base/vec.h"
#include "cost/cost.h"

/* A variable of a sum: lo, lo + by, … below (by < 0: above) hi. Bounds are over sizes and earlier variables. */
typedef struct tp_range {
    uint32_t sym;
    tp_expr lo, hi;
    int64_t by;
    bool axis; /* at least one value, where every axis has a step */
} tp_range;

/* The sum over all variables of the product of all factors, which are looked at in order up to the first 0. */
typedef struct tp_sum {
    TP_VEC(tp_range) over;
    TP_VEC(tp_expr) factors;
} tp_sum;

/* A sum with its closed form, if it has one. */
typedef struct tp_total {
    tp_sum sum;
    tp_form form;
} tp_total;

/* A program region: how often it is executed, and what one execution computes, over sizes. */
enum { TP_OP_FLOPS, TP_OP_DOT, TP_OP_TRANSCENDENTAL, TP_OPS };
typedef struct tp_context {
    tp_total executions;
    tp_str opaque; /* why nobody can tell how often; empty: the sum does */
    tp_expr per[TP_OPS];
} tp_context;

typedef struct tp_dot {
    uint32_t context;
    tp_peak peak;
    tp_expr batch, m, k, n;
} tp_dot;

/* A copy that the body starts; `elements` may depend on the step. */
typedef struct tp_transfer {
    uint32_t context, operand;
    bool in;
    tp_total executions, elements;
} tp_transfer;

typedef struct tp_body_cost {
    TP_VEC(tp_context) contexts;
    TP_VEC(tp_dot) dots;
    TP_VEC(tp_transfer) transfers, links; /* links: copies to other devices, once more */
} tp_body_cost;

/* How often a window moves when axis `jump - 1` counts on (0: the first step), and the elements that it then has. */
typedef struct tp_move {
    bool never;
    /* moved = all - same: steps that begin so, less those in which no index changed; the same of elements */
    tp_sum all, same, all_elements, same_elements;
    bool subtract; /* else `same` is 0 in every step */
} tp_move;

typedef struct tp_window_cost {
    tp_move *moves; /* by jump */
    tp_form times, elements;
    bool far;   /* no windows: copies of the body move it */
    tp_str why; /* not counted at all; empty: it is */
} tp_window_cost;

struct tp_cost {
    tp_arena *arena;
    const tp_kernel *k;
    tp_exprs *p;
    int64_t *env;           /* of every symbol, those of loops too */
    uint32_t nsyms, ngiven; /* ngiven: of the kernel as it was loaded */
    tp_body_cost body;
    tp_window_cost *windows; /* inputs, then outputs */
    tp_expr *arrays;         /* elements of each array */
    tp_expr steps;
    tp_expr vmem[2]; /* [1]: on generations 2 and 3 */
    tp_cost_forms forms;
};

static inline tp_expr tp_cost_op(const tp_cost *c, tp_expr_op op, tp_expr a, tp_expr b)
{
    return tp_op2(c->p, op, a, b);
}
/* Their tiles are twice as large. */
static inline bool tp_early_generation(const tp_target *t)
{
    return t->checked && t->generation <= 3;
}
static inline tp_expr tp_cost_num(const tp_cost *c, int64_t n)
{
    return tp_const(c->p, n);
}

/* sum.c: the value; false with *why. c->env holds the sizes; at most *left turns, which become fewer. */
bool tp_sum_value(tp_cost *c, const tp_sum *s, int64_t *left, int64_t *out, tp_str *why);
tp_form tp_sum_form(tp_cost *c, const tp_sum *s);

/* windows.c */
void tp_cost_windows(tp_cost *c);
/* The number of steps that begin with this jump, as a product of steps of axes; its variables. */
tp_sum tp_jump_steps(tp_cost *c, uint32_t jump);

/* cost.c: FLOPs of all executions, on whole tiles of a matrix unit of side x side. */
tp_cost_count tp_dot_on_tiles(const tp_dot_cost *x, int64_t side);

/* straight.c: the operations of a reference in order, up to the first for which visit() is false. False with *why where
 * the reference has loops, branches or refs; why visit() stops is its own to say. */
typedef bool (*tp_cost_visitor)(void *ctx, const tp_inst *i);
bool tp_cost_each_operation(const tp_region *region, tp_cost_visitor visit, void *ctx, tp_str *why);
/* Bytes of a value with elements of `width` bytes, at the sizes of c->env; false with *why. */
bool tp_cost_bytes(tp_cost *c, const tp_value *x, int64_t width, int64_t *bytes, tp_str *why);

/* model.c: FLOP/s; 0: not known. Products of float32 take several passes of the unit for bfloat16: its peak bounds
 * theirs. */
double tp_peak_rate(const tp_target *t, tp_peak p);

/* body.c; the sides of a dot of the body or of a reference */
tp_dot tp_cost_dot(tp_cost *c, const tp_program *p, const tp_inst *i);
void tp_cost_body(tp_cost *c);

#endif
