/* Random obligations over small boxes, with every operation of the
 * expressions, and brute force over all points. */
#ifndef TESTS_OBLIGATIONS_H
#define TESTS_OBLIGATIONS_H

#include "base/rng.h"
#include "smt/prover.h"

enum { VARS = 3, MAX_VALUE = 6 };

typedef struct box {
    tp_arena *a;
    tp_exprs *p;
    tp_rng rng;
    tp_var vars[VARS];
    uint32_t nvars;
} box;

static int pick(box *b, int n)
{
    return (int)tp_rng_below(&b->rng, (uint64_t)n);
}

static tp_expr integer(box *b, int depth);

static tp_expr condition(box *b, int depth)
{
    static const tp_expr_op COMPARE[] = {TP_E_LT, TP_E_LE, TP_E_GT, TP_E_GE, TP_E_EQ, TP_E_NE};
    static const tp_expr_op LOGIC[] = {TP_E_AND, TP_E_OR, TP_E_IMPLIES};
    if (depth > 0 && pick(b, 4) == 0)
        return tp_op2(b->p, LOGIC[pick(b, 3)], condition(b, depth - 1), condition(b, depth - 1));
    if (depth > 0 && pick(b, 10) == 0)
        return tp_op1(b->p, TP_E_NOT, condition(b, depth - 1));
    tp_expr v = tp_sym(b->p, (uint32_t)pick(b, (int)b->nvars)), c = tp_const(b->p, 1 + pick(b, MAX_VALUE));
    if (pick(b, 6) == 0) /* v % w == 0, v % 3 == 0: what facts about sizes look like */
        return tp_op2(b->p, TP_E_EQ,
                      tp_op2(b->p, TP_E_MOD, v, pick(b, 2) ? tp_sym(b->p, (uint32_t)pick(b, (int)b->nvars)) : c),
                      tp_const(b->p, 0));
    if (pick(b, 8) == 0)
        return tp_op2(b->p, COMPARE[pick(b, 6)], v, c);
    return tp_op2(b->p, COMPARE[pick(b, 6)], integer(b, depth), integer(b, depth));
}

static tp_expr integer(box *b, int depth)
{
    static const tp_expr_op OPS[] = {TP_E_ADD, TP_E_ADD,  TP_E_SUB, TP_E_SUB, TP_E_MUL,    TP_E_MUL,      TP_E_FLOORDIV,
                                     TP_E_MOD, TP_E_CDIV, TP_E_MIN, TP_E_MAX, TP_E_BITAND, TP_E_ALIGN_UP, TP_E_SHR};
    if (depth == 0 || pick(b, 4) == 0)
        return pick(b, 3) ? tp_sym(b->p, (uint32_t)pick(b, (int)b->nvars)) : tp_const(b->p, pick(b, 9) - 2);
    if (pick(b, 12) == 0)
        return tp_ite(b->p, condition(b, depth - 1), integer(b, depth - 1), integer(b, depth - 1));
    if (pick(b, 16) == 0)
        return tp_op1(b->p, TP_E_NEG, integer(b, depth - 1));
    tp_expr_op op = OPS[pick(b, sizeof OPS / sizeof *OPS)];
    tp_expr right = integer(b, depth - 1);
    bool divides = op == TP_E_FLOORDIV || op == TP_E_MOD || op == TP_E_CDIV || op == TP_E_ALIGN_UP || op == TP_E_SHR;
    if (divides && pick(b, 5)) /* mostly by a positive constant, as kernels do */
        right = tp_const(b->p, 1 + pick(b, 4));
    return tp_op2(b->p, op, integer(b, depth - 1), right);
}

static void make_box(box *b)
{
    static const int64_t CHOICES[][3] = {{1, 2, 4}, {0, 1, 1}, {2, 3, 5}};
    b->nvars = 1 + (uint32_t)pick(b, VARS);
    for (uint32_t i = 0; i < b->nvars; i++)
        tp_sym_new(b->p, tp_printf(b->a, "v%u", i));
    for (uint32_t i = 0; i < b->nvars; i++) {

        tp_var *x = &b->vars[i];
        *x = (tp_var){
            .sym = i, .lo = tp_const(b->p, pick(b, 2)), .hi = tp_const(b->p, pick(b, MAX_VALUE + 1)), .multiple_of = 1};
        if (pick(b, 6) == 0)
            x->multiple_of = 2 + pick(b, 2);
        if (i > 0 && pick(b, 3) == 0) { /* a step: its bound reads the sizes before it */
            x->hi = tp_op2(b->p, TP_E_SUB, tp_op2(b->p, TP_E_CDIV, tp_sym(b->p, i - 1), tp_const(b->p, 1 + pick(b, 3))),
                           tp_const(b->p, 1));
            x->lo = tp_const(b->p, 0);
            x->multiple_of = 1;
            x->step = true;
        } else if (pick(b, 6) == 0) {
            int c = pick(b, 3);
            x->choices = CHOICES[c];
            x->nchoices = c == 1 ? 2 : 3;
            x->multiple_of = 1;
            x->lo = tp_const(b->p, CHOICES[c][0]);
            x->hi = tp_const(b->p, CHOICES[c][x->nchoices - 1]);
        }
        if (!x->step && !x->choices)
            x->quotient = tp_sym_new(b->p, tp_printf(b->a, "v%u'", i));
    }
}

/* 1: holds everywhere, 0: fails somewhere. Points where the goal has no value
 * are not judged: division by zero is a claim of its own (TP105). */
static inline int brute(box *b, const tp_obligation *o, uint32_t i, int64_t *env)
{
    int64_t v, lo, hi;
    if (i == o->nvars) {
        for (uint32_t k = 0; k < o->npremises; k++)
            if (tp_expr_eval(b->p, o->premises[k], env, &v) != TP_EVAL_OK || !v)
                return 1;
        return tp_expr_eval(b->p, o->goal, env, &v) != TP_EVAL_OK || v != 0;
    }
    const tp_var *x = &o->vars[i];
    if (tp_expr_eval(b->p, x->lo, env, &lo) != TP_EVAL_OK || tp_expr_eval(b->p, x->hi, env, &hi) != TP_EVAL_OK)
        return 1;
    for (v = lo; v <= hi; v++) {
        bool listed = !x->choices;
        for (uint32_t c = 0; c < x->nchoices; c++)
            listed |= x->choices[c] == v;
        env[x->sym] = v;
        if (listed && v % x->multiple_of == 0 && !brute(b, o, i + 1, env))
            return 0;
    }
    return 1;
}

/* One obligation with up to two premises. */
static tp_obligation random_obligation(box *b, tp_expr premises[2])
{
    make_box(b);
    tp_obligation o = {
        .vars = b->vars, .nvars = b->nvars, .premises = premises, .npremises = (uint32_t)pick(b, 3), .name = "random"};
    for (uint32_t i = 0; i < o.npremises; i++)
        premises[i] = condition(b, 1);
    o.goal = condition(b, 3);
    return o;
}

#endif
