/* Calls that make, move and cut arrays. */
#include "spec/lower.h"

static tp_vid call_iota(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"dtype", "shape", "dim", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_dtype d = lower_dtype_name(l, args[0]);
    uint32_t rank = lower_read_dims(l, args[1], dims);
    if (d == TP_BOOL)
        lower_fail(l, args[0], NULL, "iota of bool");
    if (rank == 0)
        lower_fail(l, args[1], NULL, "iota needs at least one dimension");
    tp_vid out = lower_new_value(l, lower_dtype(l, d), rank, dims);
    lower_emit(l, TP_P_IOTA, out, 0, NULL, n)->integer = lower_read_axis(l, args[2], rank);
    return out;
}

static tp_vid call_full(tp_lower *l, tp_prim prim, const tp_node *n)
{
    bool zeros = prim == TP_P_ZEROS;
    static const char *const FULL[] = {"shape", "value", "dtype", NULL}, *const ZEROS[] = {"shape", "dtype", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    lower_bind_args(l, n, 0, zeros ? ZEROS : FULL, zeros ? 2 : 3, args);
    uint32_t rank = lower_read_dims(l, args[0], dims);
    tp_dtype written = lower_dtype_name(l, args[zeros ? 1 : 2]), d = lower_dtype(l, written);
    tp_vid v = zeros ? d == TP_BOOL ? lower_literal(l, TP_BOOL, 0, n) : lower_weak_int(l, tp_const(l->k->exprs, 0))
                     : lower_expr(l, args[1]);
    if (lower_value(l, v)->rank != 0)
        lower_fail(l, args[1], "use broadcast_to", "full takes a scalar");
    lower_check_literal(l, v, written, zeros ? n : args[1]); /* references hold float64, and say what they mean */
    v = lower_coerce(l, v, d, n);
    return lower_broadcast(l, v, rank, dims, n);
}

static tp_vid call_broadcast(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"x", "shape", NULL};
    const tp_node *args[2];
    tp_expr dims[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid v = lower_expr(l, args[0]);
    if (tp_is_weak(lower_value(l, v)->dtype))
        lower_fail(l, args[0], "use full(shape, value, dtype)", "a literal has no dtype to broadcast");
    uint32_t rank = lower_read_dims(l, args[1], dims);
    return lower_broadcast(l, v, rank, dims, n);
}

static tp_expr product(tp_lower *l, uint32_t rank, const tp_expr *dims)
{
    tp_expr p = tp_const(l->k->exprs, 1);
    for (uint32_t i = 0; i < rank; i++)
        p = tp_op2(l->k->exprs, TP_E_MUL, p, dims[i]);
    return p;
}

/* An extent of -1 is what the others leave. */
static void fill_open(tp_lower *l, uint32_t rank, tp_expr *dims, tp_expr count)
{
    tp_exprs *p = l->k->exprs;
    tp_expr others = tp_const(p, 1), *open = NULL;
    int64_t extent;
    for (uint32_t d = 0; d < rank; d++)
        if (tp_expr_is_const(p, dims[d], &extent) && extent == -1 && !open)
            open = &dims[d];
        else
            others = tp_op2(p, TP_E_MUL, others, dims[d]);
    if (open)
        *open = tp_expr_normal(p, tp_op2(p, TP_E_FLOORDIV, count, others));
}

static tp_vid call_reshape(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"x", "shape", NULL};
    const tp_node *args[2];
    tp_expr dims[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    uint32_t rank = lower_read_dims(l, args[1], dims);
    if (tp_is_weak(x->dtype))
        lower_fail(l, args[0], "use full(shape, value, dtype)", "a literal cannot be reshaped");
    x = lower_value(l, v);
    if (l->reference)
        fill_open(l, rank, dims, product(l, x->rank, x->dims));
    if (!lower_same_dim(l, product(l, x->rank, x->dims), product(l, rank, dims)))
        lower_fail(l, n, NULL, "reshape from %.*s to %.*s: the element counts are not provably equal",
                   TP_FMT(lower_shape_text(l, x->rank, x->dims)), TP_FMT(lower_shape_text(l, rank, dims)));
    return lower_reshape(l, v, rank, dims, n);
}

/* squeeze(x): without the dimensions of extent 1 */
static tp_vid squeeze_all(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value x = *lower_value(l, v);
    tp_expr dims[TP_MAX_RANK];
    int32_t from[TP_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < x.rank; d++) {
        int64_t one;
        bool constant = tp_expr_is_const(l->k->exprs, x.dims[d], &one);
        if (!constant)
            lower_fail(l, n, "name the axis", "whether a dimension of extent %.*s is squeezed depends on the sizes",
                       TP_FMT(tp_expr_text(l->k->exprs, x.dims[d])));
        if (one == 1)
            continue;
        from[rank] = (int32_t)d;
        dims[rank++] = x.dims[d];
    }
    tp_vid out = lower_reshape(l, v, rank, dims, n);
    lower_lengths(l, out, v, from);
    return out;
}

static tp_vid call_expand_squeeze(tp_lower *l, tp_prim prim, const tp_node *n)
{
    bool expand = prim == TP_P_EXPAND_DIMS;
    static const char *const PARAMS[] = {"x", "axis", NULL};
    const tp_node *args[2];
    tp_expr dims[TP_MAX_RANK + 1];
    lower_bind_args(l, n, 0, PARAMS, l->reference && !expand ? 1 : 2, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    if (!args[1])
        return squeeze_all(l, v, n);
    if (expand && x->rank == TP_MAX_RANK)
        lower_fail(l, n, NULL, "at most %d dimensions", TP_MAX_RANK);
    int64_t axis = lower_read_axis(l, args[1], x->rank + (expand ? 1 : 0)), one;
    if (!expand && !(tp_expr_is_const(l->k->exprs, x->dims[axis], &one) && one == 1))
        lower_fail(l, n, NULL, "only a dimension of extent 1 can be squeezed; this is %.*s",
                   TP_FMT(tp_expr_text(l->k->exprs, x->dims[axis])));
    uint32_t rank = x->rank + (expand ? 1 : 0) - (expand ? 0 : 1);
    int32_t from[TP_MAX_RANK + 1];
    for (uint32_t d = 0; d < rank; d++) {
        bool new = expand &&d == (uint32_t)axis;
        from[d] = new ? -1 : (int32_t)(d < (uint32_t)axis ? d : expand ? d - 1 : d + 1);
        dims[d] = new ? tp_const(l->k->exprs, 1) : x->dims[from[d]];
    }
    tp_vid out = lower_reshape(l, v, rank, dims, n);
    lower_lengths(l, out, v, from);
    return out;
}

static tp_vid call_transpose(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"x", "axes", NULL};
    const tp_node *args[2];
    tp_expr dims[TP_MAX_RANK];
    int64_t perm[TP_MAX_RANK];
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    if (args[1]) {
        if (lower_read_axes(l, args[1], x->rank, perm) != x->rank)
            lower_fail(l, args[1], NULL, "a permutation of all %u axes is expected", x->rank);
    } else {
        for (uint32_t d = 0; d < x->rank; d++)
            perm[d] = x->rank - 1 - d;
    }
    for (uint32_t d = 0; d < x->rank; d++)
        dims[d] = x->dims[perm[d]];
    tp_vid out = lower_new_value(l, x->dtype, x->rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_TRANSPOSE, out, 1, &v, n);
    int32_t from[TP_MAX_RANK];
    for (uint32_t d = 0; d < x->rank; d++) {
        inst->ints[d] = perm[d];
        from[d] = (int32_t)perm[d];
    }
    inst->nints = x->rank;
    lower_lengths(l, out, v, from);
    return out;
}

static int64_t literal_at_least(tp_lower *l, const tp_node *n, int64_t least, const char *what)
{
    int64_t v = lower_literal_int(l, n, what);
    if (v < least)
        lower_fail(l, n, NULL, "%s is at least %lld, not %lld", what, (long long)least, (long long)v);
    return v;
}

/* One value per dimension of x: a list, or a scalar for rank 1. */
static const tp_node *const *per_dimension(tp_lower *l, const tp_node *n, uint32_t rank, const char *what)
{
    if (n->kind != TP_N_SEQUENCE && rank == 1) {
        const tp_node **one = TP_NEWN(l->c->arena, const tp_node *, 1);
        one[0] = n;
        return one;
    }
    if (n->kind != TP_N_SEQUENCE || n->nkids != rank)
        lower_fail(l, n, NULL, "%s: one per dimension, %u here", what, rank);
    return (const tp_node *const *)n->kids;
}

static tp_vid array_argument(tp_lower *l, const tp_node *n)
{
    tp_vid v = lower_expr(l, n);
    if (tp_is_weak(lower_value(l, v)->dtype) || lower_value(l, v)->rank == 0)
        lower_fail(l, n, "use full(shape, value, dtype)", "an array is expected, not %.*s",
                   TP_FMT(lower_type_text(l, v)));
    return v;
}

static tp_vid call_slice(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"x", "starts", "limits", "strides", NULL};
    const tp_node *args[4];
    tp_exprs *p = l->k->exprs;
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_vid v = array_argument(l, args[0]);
    const tp_value *x = lower_value(l, v);
    uint32_t rank = x->rank;
    const tp_node *const *starts = per_dimension(l, args[1], rank, "the starts of a slice"),
                         *const *limits = per_dimension(l, args[2], rank, "the limits of a slice"),
                         *const *strides = args[3] ? per_dimension(l, args[3], rank, "the strides of a slice") : NULL;
    tp_expr dims[TP_MAX_RANK], *from = TP_NEWN(l->c->arena, tp_expr, rank);
    int64_t step[TP_MAX_RANK], lo;
    for (uint32_t d = 0; d < rank; d++) {
        from[d] = lower_static_int(l, starts[d], "the start of a slice");
        tp_expr to = lower_static_int(l, limits[d], "the limit of a slice"), span = tp_op2(p, TP_E_SUB, to, from[d]);
        step[d] = strides ? literal_at_least(l, strides[d], 1, "the stride of a slice") : 1;
        dims[d] = step[d] == 1 ? span : tp_op2(p, TP_E_CDIV, span, tp_const(p, step[d]));
        bool to_end = lower_same_dim(l, to, x->dims[d]), all = to_end && tp_expr_is_const(p, from[d], &lo) && lo == 0;
        int64_t past;
        if (tp_expr_is_const(p, tp_op2(p, TP_E_SUB, to, x->dims[d]), &past) && past > 0)
            lower_fail(l, n, NULL, "elements %.*s to %.*s of dimension %u, which has %.*s",
                       TP_FMT(tp_expr_text(p, from[d])), TP_FMT(tp_expr_text(p, to)), d,
                       TP_FMT(tp_expr_text(p, x->dims[d])));
        if (!all && !(lower_never_negative(l, from[d]) && lower_never_negative(l, span) &&
                      (to_end || lower_never_negative(l, tp_op2(p, TP_E_SUB, x->dims[d], to)))))
            lower_fail(l, n, "slice refs with ds(start, size); values between literal bounds, or such as 2 and M + 2",
                       "elements %.*s to %.*s: not provably inside dimension %u of %.*s",
                       TP_FMT(tp_expr_text(p, from[d])), TP_FMT(tp_expr_text(p, to)), d, TP_FMT(lower_type_text(l, v)));
    }
    tp_vid out = lower_new_value(l, x->dtype, rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_SLICE, out, 1, &v, n);
    inst->starts = from;
    inst->nints = rank;
    memcpy(inst->ints, step, rank * sizeof *step);
    return out;
}

static tp_vid call_pad(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"x", "value", "widths", NULL};
    const tp_node *args[3];
    tp_exprs *p = l->k->exprs;
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_vid v[2] = {array_argument(l, args[0]), lower_expr(l, args[1])};
    v[1] = lower_coerce(l, v[1], lower_value(l, v[0])->dtype, args[1]);
    const tp_value *x = lower_value(l, v[0]);
    if (lower_value(l, v[1])->rank)
        lower_fail(l, args[1], NULL, "the value of the padding is a scalar");
    tp_expr dims[TP_MAX_RANK], *before = TP_NEWN(l->c->arena, tp_expr, x->rank);
    if (args[2]->kind != TP_N_SEQUENCE || args[2]->nkids != x->rank)
        lower_fail(l, args[2], "write ((0, 0), (0, 8))", "a pair (before, after) per dimension is expected, %u here",
                   x->rank);
    for (uint32_t d = 0; d < x->rank; d++) {
        const tp_node *pair = args[2]->kids[d];
        if (pair->kind != TP_N_SEQUENCE || pair->nkids != 2)
            lower_fail(l, pair, "write (before, after)", "a pair of counts is expected");
        before[d] = tp_const(p, literal_at_least(l, pair->kids[0], 0, "padding"));
        tp_expr after = tp_const(p, literal_at_least(l, pair->kids[1], 0, "padding"));
        dims[d] = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_ADD, before[d], x->dims[d]), after);
    }
    tp_vid out = lower_new_value(l, x->dtype, x->rank, dims);
    lower_emit(l, TP_P_PAD, out, 2, v, n)->starts = before;
    return out;
}

static tp_expr count_of(tp_lower *l, const tp_node *n, const char *what)
{
    tp_expr e = lower_static_int(l, n, what);
    int64_t v;
    if (tp_expr_is_const(l->k->exprs, e, &v) && v < 0)
        lower_fail(l, n, NULL, "%s is at least 0, not %lld", what, (long long)v);
    return e;
}

/* tile(x, reps), reps per dimension; repeat(x, n, axis). */
/* All elements in one dimension. */
static tp_vid in_a_row(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    tp_expr all = tp_const(l->k->exprs, 1);
    if (lower_is_ragged(l, v))
        lower_fail(l, n, "name the axis", "a slice whose size is not known from the sizes");
    for (uint32_t d = 0; d < x->rank; d++)
        all = tp_op2(l->k->exprs, TP_E_MUL, all, x->dims[d]);
    all = tp_expr_normal(l->k->exprs, all);
    return lower_reshape(l, v, 1, &all, n);
}

static tp_vid call_tile_repeat(tp_lower *l, tp_prim prim, const tp_node *n)
{
    static const char *const TILE[] = {"x", "reps", NULL}, *const REPEAT[] = {"x", "n", "axis", NULL};
    const tp_node *args[3];
    tp_exprs *p = l->k->exprs;
    lower_bind_args(l, n, 0, prim == TP_P_TILE ? TILE : REPEAT, prim == TP_P_TILE || l->reference ? 2 : 3, args);
    tp_vid v = array_argument(l, args[0]);
    bool flat = prim == TP_P_REPEAT && !args[2]; /* of all elements in a row */
    v = flat ? in_a_row(l, v, n) : v;
    const tp_value *x = lower_value(l, v);
    tp_expr dims[TP_MAX_RANK], *times = TP_NEWN(l->c->arena, tp_expr, x->rank);
    const tp_node *const *reps = prim == TP_P_TILE ? per_dimension(l, args[1], x->rank, "the repetitions") : NULL;
    int64_t axis = reps ? -1 : flat ? 0 : lower_read_axis(l, args[2], x->rank);
    for (uint32_t d = 0; d < x->rank; d++) {
        times[d] = reps                 ? count_of(l, reps[d], "a repetition")
                   : (int64_t)d == axis ? count_of(l, args[1], "a repetition")
                                        : tp_const(p, 1);
        dims[d] = tp_op2(p, TP_E_MUL, lower_value(l, v)->dims[d], times[d]);
    }
    tp_vid out = lower_new_value(l, lower_value(l, v)->dtype, lower_value(l, v)->rank, dims);
    lower_emit(l, prim, out, 1, &v, n)->starts = times;
    if (axis >= 0 && lower_length(l, v, (uint32_t)axis) < 0)
        lower_lengths(l, out, v, NULL);
    return out;
}

static tp_vid turned(tp_lower *l, tp_prim prim, tp_vid v, const tp_node *shift, int64_t axis, const tp_node *n)
{
    tp_vid args[2] = {v, -1};
    if (shift) {
        args[1] = lower_coerce(l, lower_expr(l, shift), TP_I32, shift);
        if (lower_value(l, args[1])->rank)
            lower_fail(l, shift, NULL, "the shift is an int32 scalar");
    }
    const tp_value *x = lower_value(l, v);
    tp_vid out = lower_new_value(l, x->dtype, x->rank, x->dims);
    lower_emit(l, prim, out, shift ? 2 : 1, args, n)->integer = axis;
    return out;
}

/* roll(x, shift, axis): to higher indices, around; flip(x, axis). References have several axes, and none: all of them;
 * without axes, roll is of all elements in a row. */
static tp_vid call_roll_flip(tp_lower *l, tp_prim prim, const tp_node *n)
{
    static const char *const ROLL[] = {"x", "shift", "axis", NULL}, *const FLIP[] = {"x", "axis", NULL};
    const tp_node *args[3];
    bool roll = prim == TP_P_ROLL;
    lower_bind_args(l, n, 0, roll ? ROLL : FLIP, (roll ? 3 : 2) - (uint32_t)l->reference, args);
    tp_vid v = array_argument(l, args[0]);
    const tp_value x = *lower_value(l, v);
    const tp_node *axis = args[roll ? 2 : 1], *shift = roll ? args[1] : NULL;
    if (!l->reference)
        return turned(l, prim, v, shift, lower_read_axis(l, axis, x.rank), n);
    int64_t axes[TP_MAX_RANK] = {0};
    uint32_t count = axis ? lower_read_axes(l, axis, x.rank, axes) : roll ? 1 : x.rank;
    for (uint32_t d = 0; !axis && d < count; d++)
        axes[d] = d;
    bool each = shift && shift->kind == TP_N_SEQUENCE;
    if (each && (!axis || shift->nkids != count))
        lower_fail(l, shift, NULL, "%u shifts along %u axes", shift->nkids, axis ? count : 0);
    if (roll && !axis)
        v = in_a_row(l, v, n);
    for (uint32_t i = 0; i < count; i++)
        v = turned(l, prim, v, each ? shift->kids[i] : shift, axes[i], n);
    return roll && !axis ? lower_reshape(l, v, x.rank, x.dims, n) : v;
}

/* The dimensions of the index stand where the axis was. */
tp_vid lower_take(tp_lower *l, tp_vid v, tp_vid by, uint32_t axis, const tp_node *n)
{
    if (l->reference)
        by = lower_inside(l, by, v, axis, n);
    const tp_value *x = lower_value(l, v), *index = lower_value(l, by);
    tp_expr dims[2 * TP_MAX_RANK];
    tp_vid length[2 * TP_MAX_RANK];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < x->rank; d++)
        if (d != axis) {
            length[rank] = lower_length(l, v, d);
            dims[rank++] = x->dims[d];
        } else {
            for (uint32_t i = 0; i < index->rank; i++) {
                length[rank] = lower_length(l, by, i);
                dims[rank++] = index->dims[i];
            }
        }
    if (rank > TP_MAX_RANK)
        lower_fail(l, n, NULL, "the result has rank %u; at most %d", rank, TP_MAX_RANK);
    tp_vid out = lower_new_value(l, x->dtype, rank, dims);
    lower_emit(l, TP_P_TAKE, out, 2, (tp_vid[]){v, by}, n)->integer = axis;
    lower_settle(l, out);
    for (uint32_t d = 0; d < rank; d++)
        if (length[d] >= 0)
            lower_length_set(l, out, d, length[d]);
    return out;
}

static tp_vid call_take(tp_lower *l, tp_prim prim, const tp_node *n)
{
    (void)prim;
    static const char *const PARAMS[] = {"x", "index", "axis", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid v = array_argument(l, args[0]), index = lower_expr(l, args[1]);
    if (lower_value(l, index)->dtype == TP_WEAK_INT)
        index = lower_coerce(l, index, TP_I32, args[1]);
    if (!tp_is_int(lower_value(l, index)->dtype))
        lower_fail(l, args[1], "convert it with .astype(int32)", "an index holds integers, not %.*s",
                   TP_FMT(lower_type_text(l, index)));
    int64_t axis = args[2] ? lower_read_axis(l, args[2], lower_value(l, v)->rank) : 0;
    return lower_take(l, v, index, (uint32_t)axis, n);
}

tp_vid lower_concatenate(tp_lower *l, const tp_vid *parts, uint32_t count, int64_t axis, const tp_node *n)
{
    const tp_value *x = lower_value(l, parts[0]);
    tp_expr dims[TP_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    for (uint32_t i = 1; i < count; i++) {
        const tp_value *y = lower_value(l, parts[i]);
        if (y->dtype != x->dtype || y->rank != x->rank)
            lower_fail(l, n, "convert with .astype(...) or reshape", "the parts are %.*s and %.*s",
                       TP_FMT(lower_type_text(l, parts[0])), TP_FMT(lower_type_text(l, parts[i])));
        for (uint32_t d = 0; d < x->rank; d++)
            if (d == (uint32_t)axis)
                dims[d] = tp_op2(l->k->exprs, TP_E_ADD, dims[d], y->dims[d]);
            else if (!lower_same_dim(l, x->dims[d], y->dims[d]))
                lower_fail(l, n, lower_suggest_equal(l, x->dims[d], y->dims[d]),
                           "the parts differ in dimension %u: %.*s and %.*s", d, TP_FMT(lower_type_text(l, parts[0])),
                           TP_FMT(lower_type_text(l, parts[i])));
    }
    tp_vid out = lower_new_value(l, x->dtype, x->rank, dims);
    lower_emit(l, TP_P_CONCATENATE, out, count, parts, n)->integer = axis;
    return out;
}

/* Rows of a list side by side along an axis of theirs: that of the list goes before it, and where they are no stack
 * both are one. */
static tp_vid join_rows(tp_lower *l, tp_vid v, bool stack, const tp_node *along, const tp_node *n)
{
    const tp_value x = *lower_value(l, v);
    tp_expr dims[TP_MAX_RANK];
    uint32_t axis = along ? (uint32_t)lower_read_axis(l, along, x.rank - !stack) : 0;
    tp_vid out = v;
    if (!stack && x.rank < 2)
        lower_fail(l, n, "use stack", "an array is expected, not %.*s", TP_FMT(lower_type_text(l, v)));
    for (uint32_t d = 0; d < x.rank; d++)
        dims[d] = x.dims[d < axis ? d + 1 : d == axis ? 0 : d];
    if (axis) {
        out = lower_new_value(l, x.dtype, x.rank, dims);
        tp_inst *inst = lower_emit(l, TP_P_TRANSPOSE, out, 1, &v, n);
        inst->nints = x.rank;
        for (uint32_t d = 0; d < x.rank; d++)
            inst->ints[d] = d < axis ? d + 1 : d == axis ? 0 : d;
    }
    if (stack)
        return out;
    dims[axis] = tp_expr_normal(l->k->exprs, tp_op2(l->k->exprs, TP_E_MUL, dims[axis], dims[axis + 1]));
    memmove(&dims[axis + 1], &dims[axis + 2], (x.rank - axis - 2) * sizeof *dims);
    return lower_reshape(l, out, x.rank - 1, dims, n);
}

static tp_vid call_concatenate(tp_lower *l, tp_prim prim, const tp_node *n)
{
    bool stack = prim == TP_P_STACK;
    static const char *const PARAMS[] = {"xs", "axis", NULL};
    const tp_node *args[2];
    lower_bind_args(l, n, 0, PARAMS, 1, args);
    const tp_thing *list = l->reference && args[0]->kind != TP_N_SEQUENCE ? l->special(l, args[0]) : NULL;
    bool written = args[0]->kind == TP_N_SEQUENCE;
    if (l->reference && !written &&
        (!list || list->kind == TP_THING_ROWS || list->kind == TP_THING_VALUE)) { /* its rows */
        tp_vid v = list ? lower_copy_of_slot(l, list->value, n) : lower_expr(l, args[0]);
        if (lower_value(l, v)->rank)
            return join_rows(l, v, stack, args[1], n);
    }
    bool listed = list && list->kind == TP_THING_TUPLE;
    uint32_t count = written ? args[0]->nkids : listed ? list->items.len : 0;
    if (!count)
        lower_fail(l, args[0], "write [a, b]", "a list of arrays is expected");
    tp_vid *parts = TP_NEWN(l->c->arena, tp_vid, count);
    bool wide = false;
    for (uint32_t i = 0; i < count; i++) {
        const tp_node *item = written ? args[0]->kids[i] : args[0];
        if (listed && list->items.at[i]->kind != TP_THING_VALUE)
            lower_fail(l, item, NULL, "a list of arrays is expected");
        parts[i] = written ? lower_expr(l, item) : list->items.at[i]->value;
        const tp_value *x = lower_value(l, parts[i]);
        if (l->reference && stack && tp_is_weak(x->dtype))
            parts[i] = lower_cast(l, parts[i], x->dtype == TP_WEAK_INT ? TP_I32 : TP_F64, item);
        x = lower_value(l, parts[i]);
        wide |= tp_is_float(x->dtype);
        if (tp_is_weak(x->dtype) || (!stack && x->rank == 0) || (stack && x->rank == TP_MAX_RANK))
            lower_fail(l, item, "use full(shape, value, dtype)", "an array is expected, not %.*s",
                       TP_FMT(lower_type_text(l, parts[i])));
    }
    for (uint32_t i = 0; i < count && l->reference && wide; i++)
        parts[i] = lower_promote(l, parts[i], TP_F64, n);
    uint32_t rank = lower_value(l, parts[0])->rank + stack;
    int64_t axis = args[1] ? lower_read_axis(l, args[1], rank) : 0;
    for (uint32_t i = 0; stack && i < count; i++) {
        tp_expr dims[TP_MAX_RANK];
        const tp_value *x = lower_value(l, parts[i]);
        if (x->rank + 1 != rank)
            lower_fail(l, args[0], NULL, "the parts of a stack have one shape");
        for (uint32_t d = 0, from = 0; d < rank; d++)
            dims[d] = d == (uint32_t)axis ? tp_const(l->k->exprs, 1) : x->dims[from++];
        parts[i] = lower_reshape(l, parts[i], rank, dims, n);
    }
    return lower_concatenate(l, parts, count, axis, n);
}

tp_vid lower_shape_call(tp_lower *l, tp_prim p, const tp_node *n)
{
    static tp_vid (*const CALLS[TP_PRIMS])(tp_lower *, tp_prim, const tp_node *) = {
        [TP_P_IOTA] = call_iota,
        [TP_P_ZEROS] = call_full,
        [TP_P_FULL] = call_full,
        [TP_P_BROADCAST] = call_broadcast,
        [TP_P_RESHAPE] = call_reshape,
        [TP_P_TRANSPOSE] = call_transpose,
        [TP_P_EXPAND_DIMS] = call_expand_squeeze,
        [TP_P_SQUEEZE] = call_expand_squeeze,
        [TP_P_TAKE] = call_take,
        [TP_P_SLICE] = call_slice,
        [TP_P_PAD] = call_pad,
        [TP_P_TILE] = call_tile_repeat,
        [TP_P_REPEAT] = call_tile_repeat,
        [TP_P_ROLL] = call_roll_flip,
        [TP_P_FLIP] = call_roll_flip,
        [TP_P_CONCATENATE] = call_concatenate,
        [TP_P_STACK] = call_concatenate,
    };
    return CALLS[p] ? CALLS[p](l, p, n) : -1;
}
