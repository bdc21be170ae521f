/* Conditions in one spelling: comparisons as x >= 0, x == 0 or x != 0 over
 * normal forms, negations pushed down to them. Of x and -x the one whose first
 * term is positive is compared with 0. */
#ifndef TP_GUARD_H
#define TP_GUARD_H

#include "spec/expr.h"

/* What a conjunction or a disjunction of normal forms becomes is the owner's. */
typedef struct tp_guard_form {
    tp_exprs *p;
    tp_expr (*connect)(void *ctx, tp_expr_op op, tp_expr a, tp_expr b); /* op: TP_E_AND or TP_E_OR */
    void *ctx;
} tp_guard_form;

/* The comparison `a op b`. */
tp_expr tp_guard_compare(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b);
/* The condition c, or its negation. */
tp_expr tp_guard_normal(const tp_guard_form *f, tp_expr c, bool negated);
/* `a op b` as an expression; constants and what is there twice are left out. */
tp_expr tp_guard_connect(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b);
/* The condition c, or its negation, connected so. */
tp_expr tp_guard_expr(tp_exprs *p, tp_expr c, bool negated);

#endif
