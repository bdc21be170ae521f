#include "spec/guard.h"

tp_expr tp_guard_compare(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b)
{
    bool swapped = op == TP_E_LT || op == TP_E_LE, strict = op == TP_E_LT || op == TP_E_GT;
    tp_expr zero = tp_const(p, 0), x = swapped ? tp_op2(p, TP_E_SUB, b, a) : tp_op2(p, TP_E_SUB, a, b);
    if (strict)
        x = tp_op2(p, TP_E_SUB, x, tp_const(p, 1));
    x = tp_expr_normal(p, x);
    if (op != TP_E_EQ && op != TP_E_NE)
        return tp_op2(p, TP_E_GE, x, zero);
    tp_poly q;
    tp_poly_of(p, x, &q);
    if (q.ok && q.n && q.terms[0].coef < 0)
        x = tp_expr_normal(p, tp_op1(p, TP_E_NEG, x));
    return tp_op2(p, op, x, zero);
}

/* (c and yes) or (not c and no), each arm as it is or negated. */
static tp_expr choice(const tp_guard_form *f, tp_expr c, tp_expr yes, tp_expr no, bool not_yes, bool not_no)
{
    tp_expr holds = tp_guard_normal(f, c, false), then = tp_guard_normal(f, yes, not_yes);
    tp_expr first = f->connect(f->ctx, TP_E_AND, holds, then);
    tp_expr fails = tp_guard_normal(f, c, true), other = tp_guard_normal(f, no, not_no);
    return f->connect(f->ctx, TP_E_OR, first, f->connect(f->ctx, TP_E_AND, fails, other));
}

tp_expr tp_guard_normal(const tp_guard_form *f, tp_expr c, bool negated)
{
    const tp_expr_node n = *tp_expr_get(f->p, c);
    int64_t v;
    if (tp_expr_is_const(f->p, c, &v))
        return tp_const(f->p, (v != 0) != negated);
    switch (n.op) {
    case TP_E_NOT: return tp_guard_normal(f, n.a, !negated);
    case TP_E_AND:
    case TP_E_OR: {
        tp_expr a = tp_guard_normal(f, n.a, negated), b = tp_guard_normal(f, n.b, negated);
        return f->connect(f->ctx, (n.op == TP_E_AND) != negated ? TP_E_AND : TP_E_OR, a, b);
    }
    case TP_E_IMPLIES: {
        tp_expr a = tp_guard_normal(f, n.a, !negated), b = tp_guard_normal(f, n.b, negated);
        return f->connect(f->ctx, negated ? TP_E_AND : TP_E_OR, a, b);
    }
    case TP_E_ITE: return choice(f, n.a, n.b, n.c, negated, negated);
    case TP_E_EQ:
    case TP_E_NE:
        if (tp_expr_is_bool(f->p, n.a) && tp_expr_is_bool(f->p, n.b) && !tp_expr_is_const(f->p, n.b, NULL)) {
            bool same = (n.op == TP_E_EQ) != negated; /* of two conditions */
            return choice(f, n.a, n.b, n.b, !same, same);
        }
        return tp_guard_compare(f->p, negated ? tp_expr_opposite(n.op) : n.op, n.a, n.b);
    case TP_E_LT:
    case TP_E_LE:
    case TP_E_GT:
    case TP_E_GE: return tp_guard_compare(f->p, negated ? tp_expr_opposite(n.op) : n.op, n.a, n.b);
    case TP_E_RING:
    case TP_E_DIVISIONS:
    case TP_E_BITS:
    case TP_E_EXTREMES:
    case TP_E_LEAVES:
    case TP_E_POW2: break;
    }
    return tp_guard_compare(f->p, negated ? TP_E_EQ : TP_E_NE, c, tp_const(f->p, 0));
}

tp_expr tp_guard_connect(tp_exprs *p, tp_expr_op op, tp_expr a, tp_expr b)
{
    int64_t v;
    bool neutral = op == TP_E_AND; /* `true and x` and `false or x` are x */
    if (tp_expr_is_const(p, a, &v))
        return (v != 0) == neutral ? b : a;
    if (tp_expr_is_const(p, b, &v))
        return (v != 0) == neutral ? a : b;
    return tp_same(a, b) ? a : tp_op2(p, op, a, b);
}

static tp_expr connect(void *ctx, tp_expr_op op, tp_expr a, tp_expr b)
{
    return tp_guard_connect(ctx, op, a, b);
}

tp_expr tp_guard_expr(tp_exprs *p, tp_expr c, bool negated)
{
    return tp_guard_normal(&(tp_guard_form){p, connect, p}, c, negated);
}
