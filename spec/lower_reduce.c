/* Folds along axes, running ones, and dot. */
#include "spec/lower.h"

/* ---- reductions ---- */

tp_vid lower_fold(tp_lower *l, tp_prim prim, tp_vid v, const int64_t *axes, uint32_t naxes, bool keepdims,
                  const tp_node *n)
{
    tp_expr dims[TP_MAX_RANK];
    int32_t from[TP_MAX_RANK];
    uint32_t rank = 0;
    bool reduced[TP_MAX_RANK] = {false};
    for (uint32_t i = 0; i < naxes; i++) {
        reduced[axes[i]] = true;
        v = lower_masked(l, v, (uint32_t)axes[i], prim, n);
    }
    const tp_value *x = lower_value(l, v);
    for (uint32_t d = 0; d < x->rank; d++)
        if (!reduced[d] || keepdims) {
            from[rank] = reduced[d] ? -1 : (int32_t)d;
            dims[rank++] = reduced[d] ? tp_const(l->k->exprs, 1) : x->dims[d];
        }
    tp_dtype dtype = prim == TP_P_ARGMAX || prim == TP_P_ARGMIN ? TP_I32 : x->dtype;
    tp_vid out = lower_new_value(l, dtype, rank, dims);
    tp_inst *inst = lower_emit(l, prim, out, 1, &v, n);
    memcpy(inst->ints, axes, naxes * sizeof *axes);
    inst->nints = naxes;
    lower_lengths(l, out, v, from);
    return out;
}

tp_vid lower_fold_call(tp_lower *l, tp_prim prim, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis", "keepdims", NULL};
    const tp_node *args[3];
    bool arg = prim == TP_P_ARGMAX || prim == TP_P_ARGMIN;
    lower_bind_args(l, n, 0, PARAMS, arg && !l->reference ? 2 : 1, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    if (l->reference && x->dtype == TP_BOOL) /* NumPy's maximum of bools is one */
        prim = prim == TP_P_MAX ? TP_P_ANY : prim == TP_P_MIN ? TP_P_ALL : prim;
    bool logical = prim == TP_P_ANY || prim == TP_P_ALL;
    if (l->reference && logical) {
        v = lower_truths(l, v, args[0]);
        x = lower_value(l, v);
    }
    if (l->reference && !logical && x->dtype == TP_BOOL) {
        v = lower_cast(l, v, TP_I32, args[0]);
        x = lower_value(l, v);
    }
    if (tp_is_weak(x->dtype) || (x->dtype == TP_BOOL) != logical)
        lower_fail(l, args[0], NULL, "`%.*s` takes %s, not %.*s", TP_FMT(n->text),
                   logical ? "bools" : "arrays of numbers", TP_FMT(lower_type_text(l, v)));
    if (tp_is_scale(x->dtype))
        lower_fail_scale(l, tp_prim_info(prim)->name, x->dtype, args[0]);
    int64_t axes[TP_MAX_RANK];
    uint32_t naxes = 0;
    if (args[1])
        naxes = lower_read_axes(l, args[1], x->rank, axes);
    else
        for (; naxes < x->rank; naxes++)
            axes[naxes] = naxes;
    if (arg && naxes != 1)
        lower_fail(l, args[1] ? args[1] : n, NULL, "`%.*s` takes one axis", TP_FMT(n->text));
    return lower_fold(l, prim, v, axes, naxes, lower_read_flag(l, args[2]), n);
}

/* Running sums and the like along one axis. */
tp_vid lower_scan_call(tp_lower *l, tp_prim prim, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis", "reverse", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, l->reference ? 1 : 2, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    if (l->reference && x->dtype == TP_BOOL) {
        v = lower_cast(l, v, TP_I32, args[0]);
        x = lower_value(l, v);
    }
    if (!args[1] && x->rank != 1)
        lower_fail(l, n, "name the axis", "`%.*s` of an array of rank %u", TP_FMT(n->text), x->rank);
    if (tp_is_weak(x->dtype) || x->dtype == TP_BOOL || x->rank == 0)
        lower_fail(l, args[0], NULL, "`%.*s` takes arrays of numbers, not %.*s", TP_FMT(n->text),
                   TP_FMT(lower_type_text(l, v)));
    if (tp_is_scale(x->dtype))
        lower_fail_scale(l, tp_prim_info(prim)->name, x->dtype, args[0]);
    int64_t axis = args[1] ? lower_read_axis(l, args[1], x->rank) : 0;
    v = lower_masked(l, v, (uint32_t)axis, prim, n);
    x = lower_value(l, v);
    tp_vid out = lower_new_value(l, x->dtype, x->rank, x->dims);
    tp_inst *inst = lower_emit(l, prim, out, 1, &v, n);
    inst->ints[0] = axis;
    inst->nints = 1;
    inst->reverse = lower_read_flag(l, args[2]);
    lower_lengths(l, out, v, NULL);
    return out;
}

/* ---- dot ---- */

tp_vid lower_dot(tp_lower *l, tp_vid a, tp_vid b, const int64_t *pairs, uint32_t ncontract, uint32_t nbatch,
                 tp_dtype out_dtype, const tp_node *n)
{
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    tp_expr dims[2 * TP_MAX_RANK];
    uint32_t rank = 0;
    bool used_a[TP_MAX_RANK] = {false}, used_b[TP_MAX_RANK] = {false};
    tp_vid length[2 * TP_MAX_RANK + 1];
    for (uint32_t i = 0; i < ncontract + nbatch; i++) {
        int64_t p = pairs[2 * i], q = pairs[2 * i + 1];
        if (used_a[p] || used_b[q])
            lower_fail(l, n, NULL, "a dimension is contracted or batched twice");
        used_a[p] = used_b[q] = true;
        if (!lower_same_dim(l, x->dims[p], y->dims[q]))
            lower_fail(l, n, lower_suggest_equal(l, x->dims[p], y->dims[q]),
                       "dot pairs dimension %lld of %.*s with dimension %lld of %.*s: not provably equal", (long long)p,
                       TP_FMT(lower_type_text(l, a)), (long long)q, TP_FMT(lower_type_text(l, b)));
        lower_meet(l, &a, (uint32_t)p, b, (uint32_t)q, n);
        if (i < ncontract) {
            a = lower_masked(l, a, (uint32_t)p, TP_P_SUM, n);
            b = lower_masked(l, b, (uint32_t)q, TP_P_SUM, n);
        }
        x = lower_value(l, a);
        y = lower_value(l, b);
        length[rank] = lower_length(l, a, (uint32_t)p);
        if (i >= ncontract)
            dims[rank++] = x->dims[p];
    }
    for (uint32_t d = 0; d < x->rank; d++)
        if (!used_a[d]) {
            length[rank] = lower_length(l, a, d);
            dims[rank++] = x->dims[d];
        }
    for (uint32_t d = 0; d < y->rank; d++)
        if (!used_b[d]) {
            length[rank] = lower_length(l, b, d);
            dims[rank++] = y->dims[d];
        }
    if (rank > TP_MAX_RANK)
        lower_fail(l, n, NULL, "the result of this dot has rank %u; at most %d", rank, TP_MAX_RANK);
    tp_vid out = lower_new_value(l, out_dtype, rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_DOT, out, 2, (tp_vid[]){a, b}, n);
    inst->ncontract = ncontract;
    inst->nbatch = nbatch;
    inst->nints = 2 * (ncontract + nbatch);
    memcpy(inst->ints, pairs, inst->nints * sizeof *pairs);
    lower_settle(l, out);
    for (uint32_t d = 0; d < rank; d++)
        if (length[d] >= 0)
            lower_length_set(l, out, d, length[d]);
    return out;
}

/* ([a axes], [b axes]) into pairs */
static uint32_t read_pairs(tp_lower *l, const tp_node *n, const tp_value *x, const tp_value *y, int64_t *pairs)
{
    int64_t p[TP_MAX_RANK], q[TP_MAX_RANK];
    if (n->kind != TP_N_SEQUENCE || n->nkids != 2 || n->kids[0]->kind != TP_N_SEQUENCE ||
        n->kids[1]->kind != TP_N_SEQUENCE)
        lower_fail(l, n, "write ([1],[0])", "two lists of axes are expected");
    uint32_t count = lower_read_axes(l, n->kids[0], x->rank, p);
    if (lower_read_axes(l, n->kids[1], y->rank, q) != count)
        lower_fail(l, n, NULL, "the two lists of axes differ in length");
    for (uint32_t i = 0; i < count; i++) {
        pairs[2 * i] = p[i];
        pairs[2 * i + 1] = q[i];
    }
    return count;
}

static void check_dot_types(tp_lower *l, tp_vid a, tp_vid b, const tp_node *n)
{
    tp_dtype x = lower_value(l, a)->dtype, y = lower_value(l, b)->dtype;
    if (x != y || x == TP_BOOL || tp_is_weak(x))
        lower_fail(l, n, "both operands need one dtype of numbers; convert with .astype(...)", "dot of %.*s and %.*s",
                   TP_FMT(lower_type_text(l, a)), TP_FMT(lower_type_text(l, b)));
    if (!tp_dtype_info(x)->executable)
        lower_fail(l, n, NULL, "this build does not compute with %s", tp_dtype_info(x)->name);
    if (tp_is_scale(x))
        lower_fail_scale(l, "dot", x, n);
}

tp_vid lower_dot_call(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"a", "b", "contract", "batch", "preferred_element_type", "precision", NULL};
    const tp_node *args[6];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid a = lower_expr(l, args[0]), b = lower_expr(l, args[1]);
    if (l->reference)
        lower_unify(l, &a, &b, n);
    check_dot_types(l, a, b, n);
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    int64_t pairs[4 * TP_MAX_RANK];
    uint32_t ncontract = 1, nbatch = 0;
    if (x->rank == 0 || y->rank == 0)
        lower_fail(l, n, "use *", "dot of a scalar");
    if (args[2]) {
        ncontract = read_pairs(l, args[2], x, y, pairs);
    } else {
        pairs[0] = x->rank - 1;
        pairs[1] = n->prefixed && y->rank > 2 ? y->rank - 2 : 0; /* np.dot */
    }
    if (args[3])
        nbatch = read_pairs(l, args[3], x, y, pairs + 2 * ncontract);
    if (ncontract + nbatch > TP_MAX_RANK)
        lower_fail(l, n, NULL, "too many axes");
    tp_dtype out = args[4] ? lower_dtype_name(l, args[4]) : x->dtype;
    if (tp_is_float(out) != tp_is_float(x->dtype))
        lower_fail(l, args[4], NULL, "a dot of %s cannot accumulate in %s", tp_dtype_info(x->dtype)->name,
                   tp_dtype_info(out)->name);
    return lower_dot(l, a, b, pairs, ncontract, nbatch, lower_dtype(l, out), n);
}

/* tensordot(a, b, axes); inner(a, b): along the last of both */
tp_vid lower_tensordot(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"a", "b", "axes", NULL};
    const tp_node *args[3];
    bool inner = tp_str_is(n->text, "inner");
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid a = lower_expr(l, args[0]), b = lower_expr(l, args[1]);
    lower_unify(l, &a, &b, n);
    check_dot_types(l, a, b, n);
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    int64_t pairs[4 * TP_MAX_RANK], p[TP_MAX_RANK], q[TP_MAX_RANK], k = 2;
    uint32_t count;
    if (!inner && args[2] && args[2]->kind == TP_N_SEQUENCE && args[2]->nkids == 2) {
        count = lower_read_axes(l, args[2]->kids[0], x->rank, p);
        if (lower_read_axes(l, args[2]->kids[1], y->rank, q) != count)
            lower_fail(l, args[2], NULL, "the two lists of axes differ in length");
        for (uint32_t i = 0; i < count; i++) {
            pairs[2 * i] = p[i];
            pairs[2 * i + 1] = q[i];
        }
        return lower_dot(l, a, b, pairs, count, 0, lower_value(l, a)->dtype, n);
    }
    k = inner ? 1 : args[2] ? lower_literal_int(l, args[2], "the number of axes") : 2;
    if (k < 1 || k > (int64_t)x->rank || k > (int64_t)y->rank || (inner && args[2]))
        lower_fail(l, n, NULL, "%lld axes of values of rank %u and %u", (long long)k, x->rank, y->rank);
    for (int64_t i = 0; i < k; i++) {
        pairs[2 * i] = (int64_t)x->rank - k + i;
        pairs[2 * i + 1] = inner ? (int64_t)y->rank - 1 : i;
    }
    return lower_dot(l, a, b, pairs, (uint32_t)k, 0, x->dtype, n);
}

static bool is_scalar(tp_lower *l, tp_vid v)
{
    return lower_value(l, v)->rank == 0;
}

/* Leading dimensions are batches; a vector is a row on the left and a column on the right. */
tp_vid lower_matmul(tp_lower *l, tp_vid a, tp_vid b, const tp_node *n)
{
    lower_unify(l, &a, &b, n);
    check_dot_types(l, a, b, n);
    uint32_t ra = lower_value(l, a)->rank, rb = lower_value(l, b)->rank;
    if (is_scalar(l, a) || is_scalar(l, b))
        lower_fail(l, n, "use *", "matmul of a scalar");
    if (!l->reference && (ra != 2 || rb != 2))
        lower_fail(l, n, "use dot(a, b, contract=…)", "`@` of ranks %u and %u", ra, rb);
    bool vector = ra == 1 || rb == 1, same = ra == rb;
    if (!vector && !same && rb != 2 && ra != 2)
        lower_fail(l, n, "use einsum or dot(a, b, contract=…)", "matmul of ranks %u and %u", ra, rb);
    int64_t pairs[2 * TP_MAX_RANK] = {ra - 1, rb == 1 ? 0 : rb - 2};
    uint32_t nbatch = vector || !same ? 0 : ra - 2;
    for (uint32_t i = 0; i < nbatch; i++)
        pairs[2 + 2 * i] = pairs[3 + 2 * i] = i;
    tp_vid v = lower_dot(l, a, b, pairs, 1, nbatch, lower_value(l, a)->dtype, n);
    if (vector || rb == 2 || same)
        return v;
    /* a matrix and a batch of them: the batch goes first */
    const tp_value x = *lower_value(l, v);
    tp_expr dims[TP_MAX_RANK];
    tp_vid out;
    int64_t perm[TP_MAX_RANK];
    for (uint32_t d = 0; d < x.rank; d++) {
        perm[d] = d < x.rank - 2 ? d + 1 : d == x.rank - 2 ? 0 : d;
        dims[d] = x.dims[perm[d]];
    }
    out = lower_new_value(l, x.dtype, x.rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_TRANSPOSE, out, 1, &v, n);
    memcpy(inst->ints, perm, x.rank * sizeof *perm);
    inst->nints = x.rank;
    return out;
}
