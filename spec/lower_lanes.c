/* Arrays of integers that index refs: start + stride * arange(n) is a slice in disguise. */
#include "base/checked.h"
#include "spec/lower.h"

/* What an array of int32 holds: start + stride * lane of dimension `dim`, whatever the other lanes are. */
typedef struct lanes {
    bool known;
    int dim; /* -1: one number in all lanes */
    tp_vid start;
    int64_t stride;
} lanes;

static const tp_inst *maker(const tp_lower *l, tp_vid v)
{
    return (uint32_t)v < l->made.len ? l->made.at[v] : NULL;
}

static lanes lanes_of(tp_lower *l, tp_vid v, uint32_t depth);

static lanes number(tp_vid v)
{
    return (lanes){.known = true, .dim = -1, .start = v};
}

/* The number that all lanes are, where it is written. */
static bool literal_of(const tp_lower *l, const lanes *x, int64_t *number)
{
    tp_expr meaning = lower_value(l, x->start)->meaning;
    return x->dim < 0 && meaning.id && tp_expr_is_const(l->k->exprs, meaning, number);
}

static bool starts_at_0(const tp_lower *l, const lanes *x)
{
    int64_t start;
    return literal_of(l, &(lanes){.dim = -1, .start = x->start}, &start) && start == 0;
}

/* Another shape with ones more or less: the dimension that is not one is found again. */
static lanes reshape(tp_lower *l, const tp_inst *i, uint32_t depth)
{
    lanes x = lanes_of(l, i->args[0], depth);
    const tp_value *from = lower_value(l, i->args[0]), *to = lower_value(l, i->out);
    int64_t one;
    if (!x.known || x.dim < 0)
        return x;
    int dim = -1;
    for (uint32_t d = 0; d < from->rank; d++)
        x.known &= (int)d == x.dim || (tp_expr_is_const(l->k->exprs, from->dims[d], &one) && one == 1);
    for (uint32_t d = 0; d < to->rank; d++)
        if (!tp_expr_is_const(l->k->exprs, to->dims[d], &one) || one != 1) {
            x.known &= dim < 0;
            dim = (int)d;
        }
    x.dim = dim < 0 ? (int)to->rank - 1 : dim;
    return x;
}

static lanes broadcast(tp_lower *l, const tp_inst *i, uint32_t depth)
{
    lanes x = lanes_of(l, i->args[0], depth);
    const tp_value *from = lower_value(l, i->args[0]), *to = lower_value(l, i->out);
    if (x.known && x.dim >= 0)
        x.known = from->rank == to->rank && lower_same_dim(l, from->dims[x.dim], to->dims[x.dim]);
    return x;
}

static lanes sum(tp_lower *l, const tp_inst *i, uint32_t depth)
{
    lanes a = lanes_of(l, i->args[0], depth), b = lanes_of(l, i->args[1], depth);
    if (!a.known || !b.known || (a.dim >= 0 && b.dim >= 0) || (i->prim == TP_P_SUB && b.dim >= 0))
        return (lanes){0};
    lanes out = a.dim >= 0 ? a : b;
    out.start = starts_at_0(l, &b)                          ? a.start
                : i->prim == TP_P_ADD && starts_at_0(l, &a) ? b.start
                                                            : lower_binary(l, i->prim, a.start, b.start, i->node);
    return out;
}

static lanes product(tp_lower *l, const tp_inst *i, uint32_t depth)
{
    lanes a = lanes_of(l, i->args[0], depth), b = lanes_of(l, i->args[1], depth);
    int64_t by = 1;
    bool second = a.known && b.known && b.dim >= 0, varies = second || (a.known && b.known && a.dim >= 0);
    if (!a.known || !b.known || (a.dim >= 0 && b.dim >= 0))
        return (lanes){0};
    lanes out = second ? b : a;
    if (varies && (!literal_of(l, second ? &a : &b, &by) || !tp_mul(out.stride, by, &out.stride)))
        return (lanes){0};
    out.start = lower_binary(l, TP_P_MUL, a.start, b.start, i->node);
    return out;
}

enum { DEEPEST = 32 };

static lanes lanes_of(tp_lower *l, tp_vid v, uint32_t depth)
{
    const tp_value *x = lower_value(l, v);
    const tp_inst *i = maker(l, v);
    if (x->dtype != TP_I32 && x->dtype != TP_WEAK_INT)
        return (lanes){0};
    if (x->rank == 0)
        return number(v);
    if (!i || depth == DEEPEST)
        return (lanes){0};
    if (i->prim == TP_P_IOTA)
        return (lanes){
            .known = true, .dim = (int)i->integer, .start = lower_weak_int(l, tp_const(l->k->exprs, 0)), .stride = 1};
    return i->prim == TP_P_BROADCAST                    ? broadcast(l, i, depth + 1)
           : i->prim == TP_P_RESHAPE                    ? reshape(l, i, depth + 1)
           : i->prim == TP_P_ADD || i->prim == TP_P_SUB ? sum(l, i, depth + 1)
           : i->prim == TP_P_MUL                        ? product(l, i, depth + 1)
                                                        : (lanes){0};
}

tp_subscript lower_lanes(tp_lower *l, const tp_node *n, tp_vid v, uint32_t *dim, uint32_t *rank)
{
    lanes x = lanes_of(l, v, 0);
    const tp_value *t = lower_value(l, v);
    if (!x.known || x.dim < 0 || x.stride < 1)
        lower_fail(l, n, "write start + arange(n) or ds(start, n); use take for a gather of a value",
                   "an array that indexes a ref is a start plus an ascending arange");
    *dim = (uint32_t)x.dim;
    *rank = t->rank;
    return (tp_subscript){TP_SUB_SLICE, x.start, t->dims[x.dim], x.stride};
}
