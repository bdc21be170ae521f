/* What is expected of integers that loops hand on (as_axes.c), as the body computes them. */
#include "analyzer/equality/internal.h"

enum { MOST_MODULUS = 8 };

/* The first remainder by a small number in e; 0: there is none. */
static int64_t some_modulus(const summary *s, tp_expr e)
{
    if (!e.id)
        return 0;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    int64_t m = 0;
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return 0;
    if (n.op == TP_E_MOD && tp_expr_is_const(s->p, n.b, &m) && m > 1 && m <= MOST_MODULUS)
        return m;
    const tp_expr part[] = {n.a, n.b, n.c};
    for (int i = 0; i < 3 && !(m = some_modulus(s, part[i]));)
        i++;
    return m;
}

/* As it is, or by the remainder of a counter: what a slot is. */
static bool is_as_expected(summary *s, const expected_value *e, tp_expr value)
{
    tp_exprs *p = s->p;
    tp_expr goal = tp_op2(p, TP_E_EQ, value, e->is);
    premises here = {.at = {e->where}, .n = e->where.id != 0};
    int64_t m = some_modulus(s, e->is);
    if (summary_proves(s, &here, goal))
        return true;
    for (uint32_t a = 0; m && a < s->k->naxes; a++) {
        if (!tp_expr_mentions(p, e->is, s->k->axes[a].sym))
            continue;
        tp_expr q = summary_index(s, "q", s->k->axes[a].steps);
        bool all = true;
        for (int64_t r = 0; r < m && all; r++) {
            tp_expr step = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, tp_const(p, m), q), tp_const(p, r));
            premises with = {.n = 0};
            if (here.n)
                with = premises_with(s, &with, at_step_of(s, e->where, a, step));
            all = summary_proves(s, &with, at_step_of(s, goal, a, step));
        }
        if (all)
            return true;
    }
    return false;
}

void expect_values(evaluation *v)
{
    summary *s = v->s;
    for (uint32_t i = 0; v->body && s->turned && i < s->turned->expected.len; i++) {
        const expected_value *e = &s->turned->expected.at[i];
        if (!is_as_expected(s, e, scalar_of(v, e->value)))
            evaluation_stop(v, "an integer that a loop hands on, and that is not followed");
    }
}
