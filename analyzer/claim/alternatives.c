/* Conditions with alternatives, as the arms of an `if` make them: shown arm by arm.
 *
 * (c and A) or (not c and B) is asked as A where c holds, and B where it does not. What is left of an array in its last
 * block, M % n, is met by elements e of that block: where e // n is M // n, M % n is M - n (e // n), and that e // n is
 * neither less nor more is shown beside it. The prover does not find these cuts by itself.
 *
 * A comparison that reads a table is cut out of what guards it: that its entries exist is shown first, since a claim
 * is granted those that it reads. */
#include "analyzer/claim/claim.h"
#include "spec/guard.h"

enum { MOST_SPLITS = 6 };

typedef struct showing {
    tp_analysis *a;
    bool (*is_proven)(void *ctx, tp_expr goal);
    void *ctx;
} showing;

static bool is_joined(const tp_expr_node *n)
{
    return n->op == TP_E_AND || n->op == TP_E_OR;
}

/* The condition where one of its comparisons is true, or is false. */
static tp_expr given(tp_exprs *p, tp_expr e, tp_expr one, tp_expr its_opposite, bool truth)
{
    const tp_expr_node n = *tp_expr_get(p, e);
    if (tp_same(e, one) || tp_same(e, its_opposite))
        return tp_const(p, tp_same(e, one) == truth);
    return is_joined(&n) ? tp_guard_connect(p, n.op, given(p, n.a, one, its_opposite, truth),
                                            given(p, n.b, one, its_opposite, truth))
                         : e;
}

static bool has_part(const tp_exprs *p, tp_expr e, tp_expr part)
{
    const tp_expr_node n = *tp_expr_get(p, e);
    return tp_same(e, part) || (is_joined(&n) && (has_part(p, n.a, part) || has_part(p, n.b, part)));
}

/* A comparison in `part` whose opposite stands in `whole`, too; no id: there is none. */
static tp_expr some_alternative(tp_exprs *p, tp_expr part, tp_expr whole)
{
    const tp_expr_node n = *tp_expr_get(p, part);
    if (!is_joined(&n))
        return has_part(p, whole, tp_guard_expr(p, part, true)) ? part : (tp_expr){0};
    tp_expr found = some_alternative(p, n.a, whole);
    return found.id ? found : some_alternative(p, n.b, whole);
}

/* The first x // c or x % c in e, of that c if one is given; no id: there is none. */
static tp_expr some_division(const tp_exprs *p, tp_expr e, tp_expr_op op, tp_expr c)
{
    if (!e.id)
        return e;
    const tp_expr_node n = *tp_expr_get(p, e);
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return (tp_expr){0};
    if (n.op == op && (!c.id || tp_same(n.b, c)))
        return e;
    tp_expr found = some_division(p, n.a, op, c);
    found = found.id ? found : some_division(p, n.b, op, c);
    return found.id ? found : some_division(p, n.c, op, c);
}

static tp_expr exchanged(tp_exprs *p, tp_expr e, tp_expr from, tp_expr to)
{
    if (!e.id || tp_same(e, from))
        return e.id ? to : e;
    const tp_expr_node n = *tp_expr_get(p, e);
    bool one = n.op == TP_E_NEG || n.op == TP_E_NOT;
    if (!one && (n.op < TP_E_ADD || n.op == TP_E_ITE || n.op == TP_E_READ))
        return e;
    tp_expr a = exchanged(p, n.a, from, to);
    return one ? tp_op1(p, n.op, a) : tp_op2(p, n.op, a, exchanged(p, n.b, from, to));
}

static bool is_shown_at_ends(const showing *x, tp_expr condition, tp_expr unless)
{
    tp_exprs *p = x->a->p;
    tp_expr goal = tp_guard_connect(p, TP_E_OR, unless, condition),
            rest = some_division(p, condition, TP_E_MOD, (tp_expr){0});
    const tp_expr_node r = *tp_expr_get(p, rest.id ? rest : goal);
    tp_expr block = rest.id ? some_division(p, condition, TP_E_FLOORDIV, r.b) : rest;
    if (!block.id)
        return x->is_proven(x->ctx, goal);
    tp_expr last = tp_op2(p, TP_E_FLOORDIV, r.a, r.b),
            by_block = tp_op2(p, TP_E_SUB, r.a, tp_op2(p, TP_E_MUL, r.b, block));
    return x->is_proven(x->ctx, tp_op2(p, TP_E_OR, goal, tp_op2(p, TP_E_GE, block, last))) &&
           x->is_proven(x->ctx, tp_op2(p, TP_E_OR, goal, tp_op2(p, TP_E_LE, block, last))) &&
           x->is_proven(x->ctx,
                        tp_op2(p, TP_E_OR, exchanged(p, goal, rest, by_block), tp_op2(p, TP_E_NE, block, last)));
}

/* The condition holds unless that does. */
static bool is_shown(const showing *x, tp_expr condition, tp_expr unless, uint32_t splits)
{
    tp_exprs *p = x->a->p;
    tp_expr one = splits < MOST_SPLITS ? some_alternative(p, condition, condition) : (tp_expr){0};
    if (one.id && tp_expr_reads(p, one) &&
        !x->is_proven(x->ctx, tp_guard_connect(p, TP_E_OR, unless, tp_readable(x->a, one))))
        one = (tp_expr){0};
    if (one.id) {
        tp_expr opposite = tp_guard_expr(p, one, true);
        return is_shown(x, given(p, condition, one, opposite, true), tp_guard_connect(p, TP_E_OR, unless, opposite),
                        splits + 1) &&
               is_shown(x, given(p, condition, one, opposite, false), tp_guard_connect(p, TP_E_OR, unless, one),
                        splits + 1);
    }
    const tp_expr_node n = *tp_expr_get(p, condition);
    return n.op == TP_E_AND ? is_shown(x, n.a, unless, splits) && is_shown(x, n.b, unless, splits)
                            : is_shown_at_ends(x, condition, unless);
}

bool tp_shown_by_alternatives(tp_analysis *a, tp_expr condition, bool (*is_proven)(void *ctx, tp_expr goal), void *ctx)
{
    const showing x = {a, is_proven, ctx};
    return is_shown(&x, tp_guard_expr(a->p, condition, false), tp_const(a->p, 0), 0);
}
