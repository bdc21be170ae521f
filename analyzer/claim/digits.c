/* Steps from what index expressions say of them. */
#include "analyzer/claim/claim.h"

/* The coefficient of each axis in index, and x less the rest of it. false: it is no polynomial. */
static bool take_coefficients(tp_analysis *a, tp_expr index, tp_expr x, tp_expr *coefficient, tp_expr *left)
{
    tp_poly *p = TP_NEW(a->arena, tp_poly), rest = {.ok = true};
    tp_poly_of(a->p, index, p);
    if (!p->ok)
        return false;
    for (uint32_t i = 0; i < p->n; i++) { /* collect the coefficient of each axis */
        tp_term t = p->terms[i];
        int axis = -1;
        for (uint32_t k = 0; k < t.degree && axis < 0; k++)
            for (uint32_t n = 0; n < a->k->naxes && axis < 0; n++)
                if (tp_same(t.factors[k], tp_sym(a->p, a->k->axes[n].sym))) {
                    axis = (int)n;
                    memmove(&t.factors[k], &t.factors[k + 1], (t.degree - k - 1) * sizeof *t.factors);
                    t.degree--;
                }
        if (axis < 0) {
            tp_poly_add_term(&rest, &t);
            continue;
        }
        tp_poly one = {.ok = true};
        tp_poly_add_term(&one, &t);
        tp_expr c = tp_poly_expr(a->p, &one);
        coefficient[axis] = coefficient[axis].id ? mk(a, TP_E_ADD, coefficient[axis], c) : c;
    }
    *left = mk(a, TP_E_SUB, x, tp_poly_expr(a->p, &rest));
    return true;
}

/* The one axis that has a coefficient; -1: there is none, -2: there are several. */
static int lonely_axis(const tp_analysis *a, const tp_expr *coefficient)
{
    int lonely = -1;
    for (uint32_t n = 0; n < a->k->naxes; n++)
        if (coefficient[n].id)
            lonely = lonely == -1 ? (int)n : -2;
    return lonely;
}

void tp_split_multiple(tp_analysis *a, tp_expr index, tp_expr x, tp_expr *step)
{
    tp_expr coefficient[TP_MAX_AXES] = {{0}}, left;
    int64_t v;
    int lonely = take_coefficients(a, index, x, coefficient, &left) ? lonely_axis(a, coefficient) : -1;
    if (lonely >= 0 && !step[lonely].id && tp_expr_is_const(a->p, coefficient[lonely], &v) && v > 1)
        step[lonely] = mk(a, TP_E_FLOORDIV, left, coefficient[lonely]);
}

void tp_split_digits(tp_analysis *a, tp_expr index, tp_expr x, tp_expr *step)
{
    tp_expr coefficient[TP_MAX_AXES] = {{0}}, left, radix = num(a, 1);
    if (!take_coefficients(a, index, x, coefficient, &left))
        return;
    int64_t v;
    int lonely = lonely_axis(a, coefficient);
    if (lonely >= 0 && tp_expr_is_const(a->p, coefficient[lonely], &v) && v == -1) { /* reversed */
        step[lonely] = mk(a, TP_E_SUB, num(a, 0), left);
        return;
    }
    for (bool found = true; found;) {
        found = false;
        for (uint32_t n = 0; n < a->k->naxes && !found; n++) {
            if (!coefficient[n].id || step[n].id ||
                !tp_same(tp_expr_normal(a->p, coefficient[n]), tp_expr_normal(a->p, radix)))
                continue;
            bool last = true; /* the slowest digit takes what is left */
            for (uint32_t k = 0; k < a->k->naxes; k++)
                last &= !coefficient[k].id || step[k].id || k == n;
            tp_expr digit = mk(a, TP_E_FLOORDIV, left, radix);
            step[n] = last ? digit : mk(a, TP_E_MOD, digit, a->k->axes[n].steps);
            radix = mk(a, TP_E_MUL, radix, a->k->axes[n].steps);
            found = true;
        }
    }
}
