/* Where an element of a reshaped value comes from: dimension by dimension, in the smallest groups of them that hold as
 * many elements on both sides. */
#include "analyzer/equality/internal.h"

static const tp_value *value_of(const evaluation *v, tp_vid id)
{
    return &v->values.at[id];
}

static bool is_one(const evaluation *v, tp_expr e)
{
    int64_t one;
    return tp_expr_is_const(v->s->p, e, &one) && one == 1;
}

static tp_expr product_of_dims(evaluation *v, const tp_value *x, uint32_t from, uint32_t to)
{
    tp_expr n = tp_const(v->s->p, 1);
    for (uint32_t d = from; d < to; d++)
        n = tp_op2(v->s->p, TP_E_MUL, n, x->dims[d]);
    return tp_expr_normal(v->s->p, n);
}

static bool has_shards(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        any |= k->operands[i].global_shape != NULL;
    return any;
}

/* As text, or, where arrays are cut among devices, because the devices divide a dimension. */
static bool as_many(evaluation *v, tp_expr a, tp_expr b)
{
    return tp_same(a, b) || (has_shards(v->s->k) && summary_proves_of_sizes(v->s, tp_op2(v->s->p, TP_E_EQ, a, b)));
}

/* The fewest dimensions from i of x and from j of y that hold as many elements. */
static void group_of(evaluation *v, const tp_value *x, const tp_value *y, uint32_t i, uint32_t j, uint32_t *iend,
                     uint32_t *jend)
{
    *iend = x->rank;
    *jend = y->rank;
    for (uint32_t n = 2; n < x->rank - i + y->rank - j; n++)
        for (uint32_t a = 1; a < n && i + a <= x->rank; a++)
            if (j + n - a <= y->rank &&
                as_many(v, product_of_dims(v, x, i, i + a), product_of_dims(v, y, j, j + n - a))) {
                *iend = i + a;
                *jend = j + n - a;
                return;
            }
}

/* t / by; false: it is no multiple. */
static bool divide_term(tp_term *t, const tp_term *by)
{
    if (by->coef < 1 || t->coef % by->coef != 0)
        return false;
    t->coef /= by->coef;
    for (uint32_t i = 0, at; i < by->degree; i++) {
        for (at = 0; at < t->degree && !tp_same(t->factors[at], by->factors[i]);)
            at++;
        if (at == t->degree)
            return false;
        memmove(&t->factors[at], &t->factors[at + 1], (t->degree - at - 1) * sizeof *t->factors);
        t->degree--;
    }
    return true;
}

/* number = q * by + r, where 0 <= r < by is shown; false: it is not. */
static bool divided(evaluation *v, tp_expr number, tp_expr by, tp_expr *q, tp_expr *r)
{
    static const premises nothing = {.n = 0};
    tp_exprs *p = v->s->p;
    tp_poly all, divisor, quotient = {.ok = true}, rest = {.ok = true};
    tp_poly_of(p, number, &all);
    tp_poly_of(p, by, &divisor);
    if (!all.ok || !divisor.ok || divisor.n != 1)
        return false;
    for (uint32_t i = 0; i < all.n; i++) {
        tp_term t = all.terms[i];
        bool multiple = divide_term(&t, &divisor.terms[0]);
        tp_poly_add_term(multiple ? &quotient : &rest, multiple ? &t : &all.terms[i]);
    }
    *q = tp_poly_expr(p, &quotient);
    *r = tp_poly_expr(p, &rest);
    return quotient.ok && rest.ok &&
           summary_proves(v->s, &nothing,
                          tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, *r, tp_const(p, 0)), tp_op2(p, TP_E_LT, *r, by)));
}

/* Place `number` of the dimensions from i below iend, without quotients: false, and nothing is known, where some stay.
 */
static bool split(evaluation *v, const tp_value *x, uint32_t i, uint32_t iend, tp_expr number, tp_expr *from)
{
    for (uint32_t d = iend; d-- > i;)
        if (d == i)
            from[d] = number;
        else if (!divided(v, number, x->dims[d], &number, &from[d]))
            return false;
    return true;
}

void reshaped_place(evaluation *v, const tp_inst *inst, const tp_expr *at, tp_expr *from)
{
    const tp_value *x = value_of(v, inst->args[0]), *y = value_of(v, inst->out);
    tp_exprs *p = v->s->p;
    uint32_t i = 0, j = 0, iend, jend;
    while (i < x->rank || j < y->rank) {
        if (i < x->rank && is_one(v, x->dims[i])) { /* dimensions of 1 come and go */
            from[i++] = tp_const(p, 0);
            continue;
        }
        if (j < y->rank && is_one(v, y->dims[j])) {
            j++;
            continue;
        }
        group_of(v, x, y, i, j, &iend, &jend);
        tp_expr number = tp_const(p, 0), stride = tp_const(p, 1);
        for (uint32_t d = j; d < jend; d++)
            number = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, number, y->dims[d]), at[d]);
        bool known = has_shards(v->s->k) && split(v, x, i, iend, number, from);
        for (uint32_t d = iend; !known && d-- > i;) {
            tp_expr quotient = tp_op2(p, TP_E_FLOORDIV, number, stride);
            from[d] = d > i ? tp_op2(p, TP_E_MOD, quotient, x->dims[d]) : quotient;
            stride = tp_op2(p, TP_E_MUL, stride, x->dims[d]);
        }
        i = iend;
        j = jend;
    }
}
