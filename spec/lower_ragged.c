/* References: slices whose size the sizes do not tell, x[start[e]:start[e + 1]].
 *
 * Such a value has the extent of the array along that dimension, and a length, an int32 scalar: the elements below it
 * are there, the others may be anything. Operations go element by element; what folds masks first; what is assigned to
 * a slice is cut to it. So the programs have no other primitives, and everybody who reads them knows what they mean.
 * lower_emit() keeps the lengths of what goes element by element; who else makes a value of one with a length says what
 * its lengths are (lower_lengths()), or the reference is refused. */
#include "spec/lower.h"

#include <math.h>

/* Lengths of a dimension. */
enum { WHOLE = 0, ANY = -1 }; /* all of it is there; as long as what it meets: from an extent of 1 */

typedef struct tp_lengths {
    tp_vid at[2 * TP_MAX_RANK]; /* else the length's value + 1 */
} lengths;

static bool same_length(const tp_lower *l, tp_vid a, tp_vid b);

static lengths *lengths_of(const tp_lower *l, tp_vid v)
{
    return v >= 0 && (uint32_t)v < l->lengths.len ? l->lengths.at[v] : NULL;
}

static lengths *new_lengths(tp_lower *l, tp_vid v)
{
    while (l->lengths.len <= (uint32_t)v)
        tp_push(l->c->arena, l->lengths, NULL);
    l->lengths.at[v] = TP_NEW(l->c->arena, lengths);
    if (l->unsettled == v + 1)
        l->unsettled = 0;
    return l->lengths.at[v];
}

bool lower_is_ragged(const tp_lower *l, tp_vid v)
{
    const lengths *x = lengths_of(l, v);
    bool any = false;
    for (uint32_t d = 0; x && d < lower_value(l, v)->rank; d++)
        any |= x->at[d] > 0;
    return any;
}

tp_vid lower_length(const tp_lower *l, tp_vid v, uint32_t d)
{
    const lengths *x = lengths_of(l, v);
    return x && x->at[d] > 0 ? x->at[d] - 1 : -1;
}

void lower_lengths(tp_lower *l, tp_vid out, tp_vid from, const int32_t *dims)
{
    const lengths *x = lengths_of(l, from);
    uint32_t rank = lower_value(l, out)->rank;
    if (!x)
        return;
    lengths *y = new_lengths(l, out);
    for (uint32_t d = 0; d < rank; d++)
        y->at[d] = dims && dims[d] < 0 ? WHOLE : x->at[dims ? dims[d] : (int32_t)d];
}

void lower_length_set(tp_lower *l, tp_vid v, uint32_t d, tp_vid length)
{
    lengths *x = lengths_of(l, v);
    if (!x)
        x = new_lengths(l, v);
    x->at[d] = length < 0 ? WHOLE : length + 1;
}

void lower_settle(tp_lower *l, tp_vid v)
{
    if (l->unsettled == v + 1)
        new_lengths(l, v);
}

bool lower_same_lengths(const tp_lower *l, tp_vid a, tp_vid b)
{
    bool same = true;
    for (uint32_t d = 0; same && d < lower_value(l, a)->rank && d < lower_value(l, b)->rank; d++) {
        tp_vid x = lower_length(l, a, d), y = lower_length(l, b, d);
        same = (x < 0) == (y < 0) && (x < 0 || same_length(l, x, y));
    }
    return same;
}

_Noreturn static void refuse(tp_lower *l, const tp_node *n)
{
    lower_fail(l, n, "loop over its elements, or take a slice of a fixed size and use where",
               "this operation is not defined on a slice whose size is not known from the sizes");
}

/* ---- are two lengths equal? ---- */

/* Computed alike from what does not change. */
static bool same_number(const tp_lower *l, tp_vid a, tp_vid b, int *fuel)
{
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    if (--*fuel < 0 || x->variable || y->variable)
        return false;
    if (a == b)
        return true;
    if (x->meaning.id && y->meaning.id)
        return tp_same(tp_expr_normal(l->k->exprs, x->meaning), tp_expr_normal(l->k->exprs, y->meaning));
    const tp_inst *i = (uint32_t)a < l->made.len ? l->made.at[a] : NULL,
                  *j = (uint32_t)b < l->made.len ? l->made.at[b] : NULL;
    if (!i || !j || i->prim != j->prim || i->nargs != j->nargs || i->integer != j->integer || x->dtype != y->dtype ||
        !(tp_prim_is_elementwise(i->prim) || i->prim == TP_P_READ || i->prim == TP_P_CAST))
        return false;
    for (uint32_t k = 0; k < i->nargs; k++)
        if (!same_number(l, i->args[k], j->args[k], fuel))
            return false;
    return true;
}

static bool same_length(const tp_lower *l, tp_vid a, tp_vid b)
{
    int fuel = 64;
    return a == b || same_number(l, a, b, &fuel);
}

static tp_vid weak(tp_lower *l, int64_t v)
{
    return lower_weak_int(l, tp_const(l->k->exprs, v));
}

/* 0, 1, 2, … along dimension d of `rank`; 1 elsewhere. */
static tp_vid count_along(tp_lower *l, uint32_t rank, uint32_t d, tp_expr extent, const tp_node *n)
{
    tp_expr dims[2 * TP_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = i == d ? extent : tp_const(l->k->exprs, 1);
    tp_vid out = lower_new_value(l, TP_I32, rank, dims);
    lower_emit(l, TP_P_IOTA, out, 0, NULL, n)->integer = d;
    return out;
}

/* index, or outside of the extent where the scalar `bad` holds: the reference stops there. */
static tp_vid or_outside(tp_lower *l, tp_vid index, tp_vid bad, tp_expr extent, const tp_node *n)
{
    tp_vid far = lower_binary(l, TP_P_MUL, lower_cast(l, bad, TP_I32, n), lower_weak_int(l, extent), n);
    return lower_binary(l, TP_P_ADD, index, far, n);
}

/* v, which the reference reads outside of along d where the scalar `bad` holds. */
static tp_vid stop_where(tp_lower *l, tp_vid v, uint32_t d, tp_vid bad, const tp_node *n)
{
    tp_expr extent = lower_value(l, v)->dims[d];
    tp_vid index = or_outside(l, count_along(l, 1, 0, extent, n), bad, extent, n);
    tp_vid out = lower_new_value(l, lower_value(l, v)->dtype, lower_value(l, v)->rank, lower_value(l, v)->dims);
    lower_emit(l, TP_P_TAKE, out, 2, (tp_vid[]){v, index}, n)->integer = d;
    lower_lengths(l, out, v, NULL);
    return out;
}

void lower_meet(tp_lower *l, tp_vid *a, uint32_t d, tp_vid b, uint32_t e, const tp_node *n)
{
    tp_vid x = lower_length(l, *a, d), y = lower_length(l, b, e);
    if (x < 0 && y < 0)
        return;
    if (x < 0 || y < 0)
        lower_fail(l, n, "use the same bounds for both",
                   "a slice whose size is not known from the sizes meets a dimension of %.*s elements",
                   TP_FMT(tp_expr_text(l->k->exprs, lower_value(l, b)->dims[e])));
    if (!same_length(l, x, y))
        *a = stop_where(l, *a, d, lower_binary(l, TP_P_NE, x, y, n), n);
}

/* What goes element by element: the arguments have one length where they have one. */
static void meet_all(tp_lower *l, tp_vid *args, uint32_t nargs, lengths *out, const tp_node *n)
{
    for (uint32_t i = 0; i < nargs; i++) {
        uint32_t rank = lower_value(l, args[i])->rank;
        for (uint32_t d = 0; d < rank; d++) {
            const lengths *x = lengths_of(l, args[i]);
            tp_vid own = x ? x->at[d] : WHOLE;
            for (uint32_t k = 0; k < i; k++) {
                const lengths *y = lengths_of(l, args[k]);
                tp_vid other = lower_value(l, args[k])->rank == rank ? y ? y->at[d] : WHOLE : ANY;
                if (own != ANY && other != ANY)
                    lower_meet(l, &args[i], d, args[k], d, n);
            }
            if (own != ANY)
                out->at[d] = own;
        }
    }
}

void lower_keep_lengths(tp_lower *l, tp_prim prim, tp_vid out, uint32_t nargs, tp_vid *args, const tp_node *n)
{
    bool any = false, along = prim == TP_P_CAST || prim == TP_P_WHERE || prim == TP_P_VARIABLE ||
                              (prim != TP_P_BROADCAST && tp_prim_is_elementwise(prim));
    if (l->unsettled)
        refuse(l, l->unsettled_at);
    bool ragged = false;
    for (uint32_t i = 0; i < nargs; i++) {
        any |= lengths_of(l, args[i]) != NULL;
        ragged |= (i < 2 || prim == TP_P_CONCATENATE) && lower_is_ragged(l, args[i]);
    }
    if (!any || out < 0)
        return;
    if (along) {
        lengths kept;
        for (uint32_t d = 0; d < 2 * TP_MAX_RANK; d++)
            kept.at[d] = ANY;
        meet_all(l, args, nargs, &kept, n);
        *new_lengths(l, out) = kept;
    } else if (prim == TP_P_BROADCAST && lower_value(l, args[0])->rank) {
        lengths *x = lengths_of(l, args[0]);
        *new_lengths(l, out) = *x;
    } else if (ragged) {
        l->unsettled = out + 1;
        l->unsettled_at = n;
    }
}

void lower_any_length(tp_lower *l, tp_vid from, tp_vid to)
{
    const tp_value *x = lower_value(l, from), *y = lower_value(l, to);
    int64_t one;
    if (from == to)
        return;
    uint32_t more = y->rank - x->rank;
    for (uint32_t d = 0; d < y->rank; d++) {
        bool stretched = d < more || (tp_expr_is_const(l->k->exprs, x->dims[d - more], &one) && one == 1 &&
                                      !(tp_expr_is_const(l->k->exprs, y->dims[d], &one) && one == 1));
        if (!stretched)
            continue;
        lengths *z = lengths_of(l, to);
        if (!z)
            z = new_lengths(l, to);
        z->at[d] = ANY;
    }
}

/* ---- masks ---- */

tp_vid lower_masked(tp_lower *l, tp_vid v, uint32_t d, tp_prim fold, const tp_node *n)
{
    tp_vid length = lower_length(l, v, d);
    if (length < 0)
        return v;
    const tp_value x = *lower_value(l, v);
    bool real = tp_is_float(x.dtype), most = fold == TP_P_MIN || fold == TP_P_ARGMIN || fold == TP_P_CUMMIN,
         least = fold == TP_P_MAX || fold == TP_P_ARGMAX || fold == TP_P_CUMMAX;
    double neutral = fold == TP_P_PROD || fold == TP_P_CUMPROD || fold == TP_P_ALL ? 1
                     : most  ? real ? (double)INFINITY : (double)tp_dtype_max(x.dtype)
                      : least ? real ? -(double)INFINITY : (double)tp_dtype_min(x.dtype)
                              : 0;
    tp_vid at = count_along(l, x.rank, d, x.dims[d], n);
    lower_length_set(l, at, d, length);
    tp_vid in = lower_binary(l, TP_P_LT, at, length, n);
    if (x.dtype == TP_BOOL) {
        tp_vid out = fold == TP_P_ALL ? lower_unary(l, TP_P_INVERT, in, n) : in;
        return lower_binary(l, fold == TP_P_ALL ? TP_P_OR : TP_P_AND, v, out, n);
    }
    return lower_where(l, in, v, lower_literal(l, x.dtype, neutral, n), n);
}

tp_vid lower_inside(tp_lower *l, tp_vid index, tp_vid v, uint32_t d, const tp_node *n)
{
    tp_vid length = lower_length(l, v, d);
    if (length >= 0) {
        index = lower_coerce(l, lower_promote(l, index, TP_I32, n), TP_I32, n);
        tp_vid far = lower_literal(l, TP_I32, INT32_MAX, n);
        index = lower_where(l, lower_binary(l, TP_P_LT, index, length, n), index, far, n);
    }
    for (uint32_t i = 0; i < lower_value(l, index)->rank; i++)
        index = lower_masked(l, index, i, TP_P_SUM, n); /* what is not there names 0 */
    return index;
}

/* ---- slices ---- */

/* max(hi - lo, 0) */
static tp_vid length_between(tp_lower *l, tp_vid lo, tp_vid hi, const tp_node *n)
{
    tp_vid apart = lower_binary(l, TP_P_SUB, hi, lo, n);
    return lower_binary(l, TP_P_MAXIMUM, apart, weak(l, 0), n);
}

static tp_vid as_int32(tp_lower *l, tp_vid v, const tp_node *n)
{
    return lower_coerce(l, lower_promote(l, v, TP_I32, n), TP_I32, n);
}

tp_vid lower_ragged_slice(tp_lower *l, tp_vid v, uint32_t d, tp_vid lo, tp_vid hi, const tp_node *n)
{
    const tp_value x = *lower_value(l, v);
    tp_vid length = length_between(l, as_int32(l, lo, n), as_int32(l, hi, n), n);
    tp_vid at = count_along(l, 1, 0, x.dims[d], n), in = lower_binary(l, TP_P_LT, at, length, n);
    tp_vid place = lower_inside(l, lower_binary(l, TP_P_ADD, at, lo, n), v, d, n);
    tp_vid index = lower_where(l, in, place, weak(l, 0), n);
    tp_vid longer = lower_binary(l, TP_P_GT, length, lower_weak_int(l, x.dims[d]), n);
    index = or_outside(l, index, longer, x.dims[d], n);
    tp_vid out = lower_new_value(l, x.dtype, x.rank, x.dims);
    lower_emit(l, TP_P_TAKE, out, 2, (tp_vid[]){v, index}, n)->integer = d;
    lower_lengths(l, out, v, NULL);
    lower_length_set(l, out, d, length);
    tp_push(l->c->arena, l->slices, ((tp_ragged){length, x.dims[d]}));
    return out;
}

tp_vid lower_ragged_store(tp_lower *l, tp_vid old, uint32_t d, tp_vid lo, tp_vid hi, tp_vid v, const tp_node *n)
{
    const tp_value x = *lower_value(l, old);
    tp_expr extent = x.dims[d];
    lo = as_int32(l, lo, n);
    hi = as_int32(l, hi, n);
    tp_vid at = count_along(l, x.rank, d, extent, n), length = length_between(l, lo, hi, n);
    tp_vid in = lower_binary(l, TP_P_AND, lower_binary(l, TP_P_GE, at, lo, n), lower_binary(l, TP_P_LT, at, hi, n), n);
    tp_vid outside = lower_binary(l, TP_P_OR, lower_binary(l, TP_P_LT, lo, weak(l, 0), n),
                                  lower_binary(l, TP_P_GT, hi, lower_weak_int(l, extent), n), n);
    tp_vid bad = lower_binary(l, TP_P_AND, outside, lower_binary(l, TP_P_GT, length, weak(l, 0), n), n);
    v = lower_of_rank(l, v, lower_value(l, v)->rank ? x.rank : 0, n);
    const tp_value y = *lower_value(l, v);
    int64_t one;
    bool stretched =
        !y.rank || (tp_expr_is_const(l->k->exprs, y.dims[d], &one) && one == 1 && lower_length(l, v, d) < 0);
    if (!stretched) { /* element i goes to lo + i */
        tp_vid own = lower_length(l, v, d);
        if (own < 0 || !lower_same_dim(l, y.dims[d], extent))
            lower_fail(l, n, "assign what was cut between the same bounds",
                       "a slice whose size is not known from the sizes is assigned %.*s",
                       TP_FMT(lower_type_text(l, v)));
        if (!same_length(l, own, length))
            bad = lower_binary(l, TP_P_OR, bad, lower_binary(l, TP_P_NE, own, length, n), n);
        tp_vid row = count_along(l, 1, 0, extent, n),
               is_in = lower_binary(l, TP_P_AND, lower_binary(l, TP_P_GE, row, lo, n),
                                    lower_binary(l, TP_P_LT, row, hi, n), n);
        tp_vid from = lower_where(l, is_in, lower_binary(l, TP_P_SUB, row, lo, n), weak(l, 0), n);
        tp_vid moved = lower_new_value(l, y.dtype, y.rank, y.dims);
        lower_emit(l, TP_P_TAKE, moved, 2, (tp_vid[]){v, from}, n)->integer = d;
        lower_lengths(l, moved, v, NULL);
        lower_length_set(l, moved, d, -1);
        v = moved;
    }
    return lower_where(l, in, v, stop_where(l, old, d, bad, n), n);
}

tp_vid lower_ragged_count(tp_lower *l, tp_vid count, const tp_node *n)
{
    tp_vid length = lower_binary(l, TP_P_MAXIMUM, as_int32(l, count, n), weak(l, 0), n);
    const tp_ragged *like = NULL;
    for (uint32_t i = l->slices.len; i-- > 0 && !like;)
        if (same_length(l, l->slices.at[i].length, length))
            like = &l->slices.at[i];
    if (!like && l->slices.len)
        like = &l->slices.at[l->slices.len - 1];
    if (!like)
        lower_fail(l, n, "take the slice first whose elements it counts; or loop",
                   "how many elements this has is not known from the sizes");
    tp_vid at = count_along(l, 1, 0, like->extent, n);
    tp_vid longer = lower_binary(l, TP_P_GT, length, lower_weak_int(l, like->extent), n);
    lower_length_set(l, at, 0, length);
    return stop_where(l, at, 0, longer, n);
}
