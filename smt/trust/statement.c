/* Is an obligation a statement at all, and does it speak of anything? */
#include "base/checked.h"
#include "smt/trust/check.h"

enum { MAX_VARIABLES = 256 };

const tp_var *tp_check_variable(const tp_check_state *s, uint32_t sym)
{
    for (uint32_t i = 0; i < s->nvars; i++)
        if (s->vars[i].sym == sym)
            return &s->vars[i];
    return NULL;
}

/* Does e speak of nothing but the first n variables? */
static bool over(const tp_exprs *p, const tp_check_state *s, uint32_t n, tp_expr e)
{
    const tp_expr_node *k = tp_expr_get(p, e);
    if (!e.id || k->op == TP_E_CONST)
        return true;
    if (k->op == TP_E_TOO_LARGE || k->op == TP_E_READ)
        return false;
    if (k->op == TP_E_SYM) {
        tp_check_state first = *s;
        first.nvars = n;
        return tp_check_variable(&first, (uint32_t)k->value) != NULL;
    }
    return over(p, s, n, k->a) && over(p, s, n, k->b) && over(p, s, n, k->c);
}

static const char *choices_problem(const tp_exprs *p, const tp_var *x)
{
    int64_t lo, hi;
    if (x->nchoices == 0)
        return "a variable has no values";
    if ((x->lo.id && !tp_expr_is_const(p, x->lo, &lo)) || (x->hi.id && !tp_expr_is_const(p, x->hi, &hi)))
        return "a variable with choices has a bound that is no constant";
    for (uint32_t i = 0; i < x->nchoices; i++)
        if ((i && x->choices[i] <= x->choices[i - 1]) || x->choices[i] % x->multiple_of != 0 ||
            (x->lo.id && x->choices[i] < lo) || (x->hi.id && x->choices[i] > hi))
            return "the choices of a variable are not ascending, or not what its bounds say";
    return NULL;
}

static const char *variable_problem(const tp_exprs *p, const tp_check_state *s, uint32_t i)
{
    const tp_var *x = &s->vars[i];
    int64_t lo, hi, first;
    tp_check_state earlier = *s;
    earlier.nvars = i;
    if (tp_check_variable(&earlier, x->sym))
        return "a variable is declared twice";
    if (x->multiple_of < 1)
        return "a variable is a multiple of 1 or more";
    if (!over(p, s, i, x->lo) || !over(p, s, i, x->hi))
        return "a bound depends on something other than earlier variables";
    if (x->choices)
        return choices_problem(p, x);
    if (tp_expr_is_const(p, x->lo, &lo) && tp_expr_is_const(p, x->hi, &hi) &&
        (!tp_ceildiv(lo, x->multiple_of, &first) || !tp_mul(first, x->multiple_of, &first) || first > hi))
        return "a variable has no values";
    return NULL;
}

const char *tp_check_statement(const tp_checker *c, const tp_check_state *s)
{
    if (s->nvars > MAX_VARIABLES) /* enumerating them goes as deep */
        return "there are too many variables";
    for (uint32_t i = 0; i < s->nvars; i++) {
        const char *problem = variable_problem(c->p, s, i);
        if (problem)
            return problem;
    }
    for (uint32_t i = 0; i < s->hyps.len; i++)
        if (tp_expr_too_large(s->hyps.at[i].e)) /* a symbol without a variable may be any integer */
            return "a premise or the goal is too large, or reads a table";
    return NULL;
}
