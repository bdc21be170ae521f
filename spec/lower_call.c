/* Calls of the language's functions. */
#include "spec/lower.h"

static const char *takes(tp_lower *l, const char *const *params)
{
    tp_buf b = {.arena = l->c->arena};
    tp_buf_c(&b, "it takes ");
    for (uint32_t i = 0; params[i]; i++)
        tp_buf_printf(&b, "%s%s", i ? ", " : "", params[i]);
    return tp_buf_view(&b).p;
}

void lower_bind_args(tp_lower *l, const tp_node *n, uint32_t first, const char *const *params, uint32_t required,
                     const tp_node **out)
{
    uint32_t count = 0;
    while (params[count])
        out[count++] = NULL;
    for (uint32_t i = first; i < n->nkids; i++) {
        const tp_node *arg = n->kids[i];
        uint32_t at = i - first;
        if (arg->kind == TP_N_KEYWORD) {
            for (at = 0; at < count && !tp_str_is(arg->text, params[at]);)
                at++;
            if (at == count)
                lower_fail(l, arg, takes(l, params), "`%.*s` has no argument `%.*s`", TP_FMT(n->text),
                           TP_FMT(arg->text));
            arg = arg->kids[0];
        } else if (at >= count) {
            lower_fail(l, arg, NULL, "`%.*s` takes at most %u arguments", TP_FMT(n->text), count);
        }
        if (out[at])
            lower_fail(l, arg, NULL, "argument `%s` is given twice", params[at]);
        out[at] = arg;
    }
    for (uint32_t i = 0; i < required; i++)
        if (!out[i])
            lower_fail(l, n, takes(l, params), "`%.*s` needs the argument `%s`", TP_FMT(n->text), params[i]);
}

uint32_t lower_read_dims(tp_lower *l, const tp_node *n, tp_expr *dims)
{
    const tp_node *const *items = n->kind == TP_N_SEQUENCE ? (const tp_node *const *)n->kids : &n;
    uint32_t count = n->kind == TP_N_SEQUENCE ? n->nkids : 1;
    if (count > TP_MAX_RANK)
        lower_fail(l, n, NULL, "at most %d dimensions", TP_MAX_RANK);
    for (uint32_t i = 0; i < count; i++)
        dims[i] = lower_static_int(l, items[i], "a dimension");
    return count;
}

int64_t lower_read_axis(tp_lower *l, const tp_node *n, uint32_t rank)
{
    int64_t axis = lower_literal_int(l, n, "an axis");
    if (axis < 0)
        axis += rank;
    if (axis < 0 || axis >= rank)
        lower_fail(l, n, NULL, "axis %lld of a value of rank %u", (long long)axis, rank);
    return axis;
}

/* Axes of a list or a single axis into ints[]; returns how many. */
uint32_t lower_read_axes(tp_lower *l, const tp_node *n, uint32_t rank, int64_t *ints)
{
    const tp_node *const *items = n->kind == TP_N_SEQUENCE ? (const tp_node *const *)n->kids : &n;
    uint32_t count = n->kind == TP_N_SEQUENCE ? n->nkids : 1;
    if (count > rank && count)
        lower_fail(l, n, NULL, "%u axes of a value of rank %u", count, rank);
    for (uint32_t i = 0; i < count; i++) {
        ints[i] = lower_read_axis(l, items[i], rank);
        for (uint32_t j = 0; j < i; j++)
            if (ints[j] == ints[i])
                lower_fail(l, items[i], NULL, "axis %lld appears twice", (long long)ints[i]);
    }
    return count;
}

bool lower_read_flag(tp_lower *l, const tp_node *n)
{
    if (!n)
        return false;
    if (n->kind != TP_N_NAME || (!tp_str_is(n->text, "True") && !tp_str_is(n->text, "False")))
        lower_fail(l, n, NULL, "True or False is expected");
    return tp_str_is(n->text, "True");
}

/* ---- reductions ---- */

static tp_vid emit_reduce(tp_lower *l, tp_prim prim, tp_vid v, const int64_t *axes, uint32_t naxes, bool keepdims,
                          const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank = 0;
    bool reduced[TP_MAX_RANK] = {false};
    for (uint32_t i = 0; i < naxes; i++)
        reduced[axes[i]] = true;
    for (uint32_t d = 0; d < x->rank; d++)
        if (!reduced[d])
            dims[rank++] = x->dims[d];
        else if (keepdims)
            dims[rank++] = tp_const(l->k->exprs, 1);
    tp_dtype dtype = prim == TP_P_ARGMAX || prim == TP_P_ARGMIN ? TP_I32 : x->dtype;
    tp_vid out = lower_new_value(l, dtype, rank, dims);
    tp_inst *inst = lower_emit(l, prim, out, 1, &v, n);
    memcpy(inst->ints, axes, naxes * sizeof *axes);
    inst->nints = naxes;
    return out;
}

static tp_vid call_reduce(tp_lower *l, tp_prim prim, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis", "keepdims", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, prim == TP_P_ARGMAX || prim == TP_P_ARGMIN ? 2 : 1, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    bool logical = prim == TP_P_ANY || prim == TP_P_ALL;
    if (tp_is_weak(x->dtype) || (x->dtype == TP_BOOL) != logical)
        lower_fail(l, args[0], NULL, "`%.*s` takes %s, not %.*s", TP_FMT(n->text),
                   logical ? "bools" : "arrays of numbers", TP_FMT(lower_type_text(l, v)));
    int64_t axes[TP_MAX_RANK];
    uint32_t naxes = 0;
    if (args[1])
        naxes = lower_read_axes(l, args[1], x->rank, axes);
    else
        for (; naxes < x->rank; naxes++)
            axes[naxes] = naxes;
    if ((prim == TP_P_ARGMAX || prim == TP_P_ARGMIN) && naxes != 1)
        lower_fail(l, args[1], NULL, "`%.*s` takes one axis", TP_FMT(n->text));
    return emit_reduce(l, prim, v, axes, naxes, lower_read_flag(l, args[2]), n);
}

/* Running sums and the like along one axis. */
static tp_vid call_scan(tp_lower *l, tp_prim prim, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis", "reverse", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    if (tp_is_weak(x->dtype) || x->dtype == TP_BOOL || x->rank == 0)
        lower_fail(l, args[0], NULL, "`%.*s` takes arrays of numbers, not %.*s", TP_FMT(n->text),
                   TP_FMT(lower_type_text(l, v)));
    int64_t axis = lower_read_axis(l, args[1], x->rank);
    tp_vid out = lower_new_value(l, x->dtype, x->rank, x->dims);
    tp_inst *inst = lower_emit(l, prim, out, 1, &v, n);
    inst->ints[0] = axis;
    inst->nints = 1;
    inst->reverse = lower_read_flag(l, args[2]);
    return out;
}

/* ---- dot ---- */

static tp_vid emit_dot(tp_lower *l, tp_vid a, tp_vid b, const int64_t *pairs, uint32_t ncontract, uint32_t nbatch,
                       tp_dtype out_dtype, const tp_node *n)
{
    const tp_value *x = lower_value(l, a), *y = lower_value(l, b);
    tp_expr dims[2 * TP_MAX_RANK];
    uint32_t rank = 0;
    bool used_a[TP_MAX_RANK] = {false}, used_b[TP_MAX_RANK] = {false};
    for (uint32_t i = 0; i < ncontract + nbatch; i++) {
        int64_t p = pairs[2 * i], q = pairs[2 * i + 1];
        if (used_a[p] || used_b[q])
            lower_fail(l, n, NULL, "a dimension is contracted or batched twice");
        used_a[p] = used_b[q] = true;
        if (!lower_same_dim(l, x->dims[p], y->dims[q]))
            lower_fail(l, n, lower_suggest_equal(l, x->dims[p], y->dims[q]),
                       "dot pairs dimension %lld of %.*s with dimension %lld of %.*s: not provably equal", (long long)p,
                       TP_FMT(lower_type_text(l, a)), (long long)q, TP_FMT(lower_type_text(l, b)));
        if (i >= ncontract)
            dims[rank++] = x->dims[p];
    }
    for (uint32_t d = 0; d < x->rank; d++)
        if (!used_a[d])
            dims[rank++] = x->dims[d];
    for (uint32_t d = 0; d < y->rank; d++)
        if (!used_b[d])
            dims[rank++] = y->dims[d];
    if (rank > TP_MAX_RANK)
        lower_fail(l, n, NULL, "the result of this dot has rank %u; at most %d", rank, TP_MAX_RANK);
    tp_vid out = lower_new_value(l, out_dtype, rank, dims);
    tp_inst *inst = lower_emit(l, TP_P_DOT, out, 2, (tp_vid[]){a, b}, n);
    inst->ncontract = ncontract;
    inst->nbatch = nbatch;
    inst->nints = 2 * (ncontract + nbatch);
    memcpy(inst->ints, pairs, inst->nints * sizeof *pairs);
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
}

static tp_vid call_dot(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"a", "b", "contract", "batch", "preferred_element_type", "precision", NULL};
    const tp_node *args[6];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid a = lower_expr(l, args[0]), b = lower_expr(l, args[1]);
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
        pairs[1] = 0;
    }
    if (args[3])
        nbatch = read_pairs(l, args[3], x, y, pairs + 2 * ncontract);
    if (ncontract + nbatch > TP_MAX_RANK)
        lower_fail(l, n, NULL, "too many axes");
    tp_dtype out = args[4] ? lower_dtype_name(l, args[4]) : x->dtype;
    if (tp_is_float(out) != tp_is_float(x->dtype))
        lower_fail(l, args[4], NULL, "a dot of %s cannot accumulate in %s", tp_dtype_info(x->dtype)->name,
                   tp_dtype_info(out)->name);
    return emit_dot(l, a, b, pairs, ncontract, nbatch, lower_dtype(l, out), n);
}

/* matmul(a, b): leading dimensions are batches. References only. */
static tp_vid call_matmul(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"a", "b", NULL};
    const tp_node *args[2];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid a = lower_expr(l, args[0]), b = lower_expr(l, args[1]);
    check_dot_types(l, a, b, n);
    uint32_t ra = lower_value(l, a)->rank, rb = lower_value(l, b)->rank;
    if (ra < 2 || rb < 2 || (ra != rb && rb != 2))
        lower_fail(l, n, "use dot(a, b, contract=…)", "matmul of ranks %u and %u", ra, rb);
    int64_t pairs[2 * TP_MAX_RANK] = {ra - 1, rb - 2};
    uint32_t nbatch = rb == 2 ? 0 : ra - 2;
    for (uint32_t i = 0; i < nbatch; i++)
        pairs[2 + 2 * i] = pairs[3 + 2 * i] = i;
    return emit_dot(l, a, b, pairs, 1, nbatch, lower_value(l, a)->dtype, n);
}

/* ---- the composite functions of references ---- */

static tp_vid call_normalising(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "axis", "keepdims", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid x = lower_expr(l, args[0]);
    uint32_t rank = lower_value(l, x)->rank;
    if (!tp_is_float(lower_value(l, x)->dtype))
        lower_fail(l, args[0], NULL, "`%.*s` takes floats", TP_FMT(n->text));
    int64_t axes[TP_MAX_RANK];
    uint32_t naxes = lower_read_axes(l, args[1], rank, axes);
    bool keep = lower_read_flag(l, args[2]);
    if (tp_str_is(n->text, "mean")) {
        tp_expr count = tp_const(l->k->exprs, 1);
        for (uint32_t i = 0; i < naxes; i++)
            count = tp_op2(l->k->exprs, TP_E_MUL, count, lower_value(l, x)->dims[axes[i]]);
        tp_vid sum = emit_reduce(l, TP_P_SUM, x, axes, naxes, keep, n);
        return lower_binary(l, TP_P_DIV, sum, lower_weak_int(l, count), n);
    }
    tp_vid max = emit_reduce(l, TP_P_MAX, x, axes, naxes, true, n);
    tp_vid e = lower_unary(l, TP_P_EXP, lower_binary(l, TP_P_SUB, x, max, n), n);
    bool softmax = tp_str_is(n->text, "softmax");
    tp_vid sum = emit_reduce(l, TP_P_SUM, e, axes, naxes, softmax || keep, n);
    if (softmax)
        return lower_binary(l, TP_P_DIV, e, sum, n);
    if (!keep)
        max = emit_reduce(l, TP_P_MAX, x, axes, naxes, false, n);
    return lower_binary(l, TP_P_ADD, lower_unary(l, TP_P_LOG, sum, n), max, n);
}

/* ---- selection ---- */

tp_vid lower_where(tp_lower *l, tp_vid c, tp_vid x, tp_vid y, const tp_node *n)
{
    tp_vid v[3] = {c, x, y};
    const tp_node *args[3] = {n, n, n};
    for (uint32_t i = 0; i < 3 && tp_str_is(n->text, "where") && n->nkids == 3; i++)
        args[i] = n->kids[i]->kind == TP_N_KEYWORD ? n : n->kids[i];
    tp_dtype dx = lower_value(l, v[1])->dtype, dy = lower_value(l, v[2])->dtype;
    if (lower_value(l, v[0])->dtype != TP_BOOL)
        lower_fail(l, args[0], "compare it with something", "the condition of where is a bool, not %.*s",
                   TP_FMT(lower_type_text(l, v[0])));
    if (tp_is_weak(dx) && tp_is_weak(dy))
        lower_fail(l, n, "give one arm a dtype, e.g. full((), 1, float32)", "where of two literals has no dtype");
    if (tp_is_weak(dx))
        v[1] = lower_coerce(l, v[1], dy, args[1]);
    else
        v[2] = lower_coerce(l, v[2], dx, args[2]);
    uint32_t rank = 0;
    tp_expr dims[TP_MAX_RANK];
    int64_t one;
    for (int i = 0; i < 3; i++) {
        const tp_value *part = lower_value(l, v[i]);
        if (part->rank > rank) {
            rank = part->rank;
            memcpy(dims, part->dims, rank * sizeof *dims);
        }
        for (uint32_t d = 0; d < rank && part->rank == rank; d++)
            if (tp_expr_is_const(l->k->exprs, dims[d], &one) && one == 1)
                dims[d] = part->dims[d];
    }
    for (int i = 0; i < 3; i++)
        if (lower_value(l, v[i])->rank)
            v[i] = lower_broadcast(l, v[i], rank, dims, args[i]);
    tp_vid out = lower_new_value(l, lower_value(l, v[1])->dtype, rank, dims);
    lower_emit(l, TP_P_WHERE, out, 3, v, n);
    return out;
}

static tp_vid call_where(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"c", "x", "y", NULL};
    const tp_node *args[3];
    tp_vid v[3];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    for (int i = 0; i < 3; i++)
        v[i] = lower_expr(l, args[i]);
    return lower_where(l, v[0], v[1], v[2], n);
}

static tp_vid call_clip(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "lo", "hi", NULL};
    const tp_node *args[3];
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_vid v = lower_expr(l, args[0]);
    v = lower_binary(l, TP_P_MAXIMUM, v, lower_expr(l, args[1]), n);
    return lower_binary(l, TP_P_MINIMUM, v, lower_expr(l, args[2]), n);
}

static tp_vid call_bitcast(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "dtype", NULL};
    const tp_node *args[2];
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_vid v = lower_expr(l, args[0]);
    const tp_value *x = lower_value(l, v);
    tp_dtype d = lower_dtype_name(l, args[1]);
    if (l->reference)
        lower_fail(l, n, NULL, "a reference computes with real numbers: their bits are not defined");
    if (tp_is_weak(x->dtype) || x->dtype == TP_BOOL || d == TP_BOOL || !tp_dtype_info(d)->executable ||
        tp_dtype_size(x->dtype) != tp_dtype_size(d))
        lower_fail(l, n, NULL, "the bits of %.*s are not those of %s", TP_FMT(lower_type_text(l, v)),
                   tp_dtype_info(d)->name);
    tp_vid out = lower_new_value(l, d, x->rank, x->dims);
    lower_emit(l, TP_P_BITCAST, out, 1, &v, n);
    return out;
}

/* cdiv and friends on integers known from the sizes. */
static tp_vid call_static(tp_lower *l, const tp_node *n)
{
    tp_exprs *p = l->k->exprs;
    bool one = tp_str_is(n->text, "next_power_of_2");
    if (n->nkids != (one ? 1u : 2u))
        lower_fail(l, n, NULL, "`%.*s` takes %d argument%s", TP_FMT(n->text), one ? 1 : 2, one ? "" : "s");
    tp_expr a = lower_static_int(l, n->kids[0], "an argument");
    if (one)
        return lower_weak_int(l, tp_op1(p, TP_E_POW2, a));
    return lower_weak_int(l, tp_op2(p, tp_str_is(n->text, "cdiv") ? TP_E_CDIV : TP_E_ALIGN_UP, a,
                                    lower_static_int(l, n->kids[1], "an argument")));
}

static bool two_positional(const tp_node *n)
{
    return n->nkids == 2 && n->kids[0]->kind != TP_N_KEYWORD && n->kids[1]->kind != TP_N_KEYWORD;
}

/* The axis that program_id(d) or program_id(k) means, else the first one. */
static tp_str axis_meant(const tp_lower *l, const tp_node *n)
{
    const tp_node *argument = n->nkids == 1 ? n->kids[0] : NULL;
    for (uint32_t i = 0; argument && i < l->k->naxes; i++)
        if (argument->kind == TP_N_INT ? argument->integer == (int64_t)i
                                       : tp_str_eq(argument->text, l->k->axes[i].name))
            return l->k->axes[i].name;
    return l->k->naxes ? l->k->axes[0].name : TP_S("");
}

/* Operations that are written in another form than a call. */
static void refuse_call_form(tp_lower *l, const tp_node *n)
{
    if (tp_str_is(n->text, "program_id")) {
        tp_str axis = axis_meant(l, n);
        if (l->reference)
            lower_fail(l, n, "a reference sees whole arrays only", "`program_id` in a reference");
        lower_fail(l, n, axis.n ? tp_printf(l->c->arena, "write `%.*s`", TP_FMT(axis)).p : NULL,
                   "`program_id` is not a function here: the name of a grid axis is its program id");
    }
    if (tp_str_is(n->text, "astype"))
        lower_fail(l, n, "write v.astype(dtype)", "`astype` is a method, not a function");
    if (tp_str_is(n->text, "check"))
        lower_fail(l, n, "write it as a statement", "`check` has no value");
}

_Noreturn static void unknown_function(tp_lower *l, const tp_node *n)
{
    static const char *const LATER[] = {"scratch",        "copy_start",     "copy_wait",
                                        "prng_seed",      "debug_print",    "prng_bits",
                                        "semaphore_wait", "semaphore_read", "semaphore_signal"};
    for (size_t i = 0; i < sizeof LATER / sizeof *LATER; i++)
        if (tp_str_is(n->text, LATER[i]))
            lower_fail(l, n, "`tileproof primitives` lists what this build supports",
                       "`%s` is part of the language but not supported by this build", LATER[i]);
    refuse_call_form(l, n);
    tp_str names[TP_PRIMS];
    size_t count = 0;
    for (int p = 0; p < TP_PRIMS; p++)
        if (p != TP_P_LITERAL && p != TP_P_VARIABLE && p != TP_P_COND && p != TP_P_SCAN) /* never called */
            names[count++] = tp_str_c(tp_prim_info((tp_prim)p)->name);
    tp_str near = tp_nearest(n->text, names, count);
    tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, n),
             near.n ? tp_printf(l->c->arena, "did you mean `%.*s`?", TP_FMT(near)).p
                    : "`tileproof primitives` lists the functions",
             "unknown function `%.*s`", TP_FMT(n->text));
}

tp_vid lower_call(tp_lower *l, const tp_node *n)
{
    tp_prim p = tp_prim_find(n->text);
    const tp_syntax *function = lower_find_function(l, n->text);
    if (function) {
        tp_vid v = lower_expand(l, function, n);
        if (v < 0)
            lower_fail(l, n, "end it with return", "`%.*s` returns no value", TP_FMT(n->text));
        return v;
    }
    if (tp_str_is(n->text, "cdiv") || tp_str_is(n->text, "align_up") || tp_str_is(n->text, "next_power_of_2"))
        return call_static(l, n);
    if (l->reference && tp_str_is(n->text, "matmul"))
        return call_matmul(l, n);
    if (l->reference &&
        (tp_str_is(n->text, "softmax") || tp_str_is(n->text, "logsumexp") || tp_str_is(n->text, "mean")))
        return call_normalising(l, n);
    if ((p == TP_P_MAX || p == TP_P_MIN) && two_positional(n)) {
        tp_vid a = lower_expr(l, n->kids[0]), b = lower_expr(l, n->kids[1]);
        if (lower_value(l, a)->rank || lower_value(l, b)->rank)
            lower_fail(l, n, "use maximum, minimum, or axis=", "`%.*s(a, b)` takes two integer scalars",
                       TP_FMT(n->text));
        return lower_binary(l, p == TP_P_MAX ? TP_P_MAXIMUM : TP_P_MINIMUM, a, b, n);
    }
    if (p == TP_PRIMS)
        unknown_function(l, n);
    if (tp_prim_is_elementwise(p)) {
        static const char *const X[] = {"x", NULL}, *const XY[] = {"x", "y", NULL};
        const tp_node *args[2];
        bool binary = tp_prim_info(p)->nargs == 2;
        lower_bind_args(l, n, 0, binary ? XY : X, binary ? 2 : 1, args);
        tp_vid a = lower_expr(l, args[0]);
        return binary ? lower_binary(l, p, a, lower_expr(l, args[1]), n) : lower_unary(l, p, a, n);
    }
    switch (tp_prim_info(p)->class) {
    case TP_CLASS_SELECT: return call_where(l, n);
    case TP_CLASS_FOLD: return call_reduce(l, p, n);
    case TP_CLASS_RUNNING: return call_scan(l, p, n);
    case TP_CLASS_CONTRACT: return call_dot(l, n);
    case TP_CLASS_CONVERT: return call_bitcast(l, n);
    case TP_CLASS_MEMORY:
        if (p == TP_P_MASKED_STORE)
            lower_fail(l, n, "write it as a statement", "`store` has no value");
        return lower_masked_load(l, n);
    case TP_CLASS_SUGAR:
        if (p == TP_P_CLIP)
            return call_clip(l, n);
        break;
    case TP_CLASS_MOVE:
    case TP_CLASS_SOURCE:
    case TP_CLASS_ELEMENTWISE:
    case TP_CLASS_CONTROL: break;
    }
    tp_vid shaped = lower_shape_call(l, p, n);
    if (shaped < 0)
        unknown_function(l, n);
    return shaped;
}

/* ---- load and store with a mask: lanes that it leaves out are not touched ---- */

/* A subscripted ref and a mask of its shape. */
static tp_access *masked_place(tp_lower *l, const tp_node *place, const tp_node *given, uint32_t *rank, tp_expr *dims,
                               tp_vid *mask)
{
    if (l->reference)
        lower_fail(l, place, "use where", "a reference has no refs");
    if (place->kind != TP_N_INDEX)
        lower_fail(l, place, "write load(x[...], mask)", "a subscripted ref is expected");
    tp_access *access = lower_access(l, place, rank, dims);
    *mask = lower_expr(l, given);
    const tp_value *x = lower_value(l, *mask);
    if (x->dtype != TP_BOOL || !lower_same_shape(l, x, *rank, dims))
        lower_fail(l, given, "use broadcast_to", "the mask is %.*s, the place is %.*s",
                   TP_FMT(lower_type_text(l, *mask)), TP_FMT(lower_shape_text(l, *rank, dims)));
    return access;
}

tp_vid lower_masked_load(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "mask", "other", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    tp_vid mask;
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    tp_access *access = masked_place(l, args[0], args[1], &rank, dims, &mask);
    tp_dtype dtype = l->k->operands[access->operand].dtype;
    tp_vid v = lower_load(l, access, rank, dims, args[0]);
    if (args[2])
        return lower_where(l, mask, v, lower_coerce(l, lower_expr(l, args[2]), dtype, args[2]), n);
    tp_vid out = lower_new_value(l, dtype, rank, dims);
    lower_emit(l, TP_P_MASKED_LOAD, out, 2, (tp_vid[]){mask, v}, n)->integer = access->operand;
    return out;
}

void lower_masked_store(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "value", "mask", NULL};
    const tp_node *args[3];
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    tp_vid mask;
    lower_bind_args(l, n, 0, PARAMS, 3, args);
    tp_access *access = masked_place(l, args[0], args[2], &rank, dims, &mask);
    tp_vid v = lower_expr(l, args[1]);
    if (!lower_same_shape(l, lower_value(l, v), rank, dims))
        lower_fail(l, args[1], "use full or broadcast_to", "the value is %.*s, the place is %.*s",
                   TP_FMT(lower_type_text(l, v)), TP_FMT(lower_shape_text(l, rank, dims)));
    tp_vid old = lower_load(l, access, rank, dims, args[0]);
    lower_store_to(l, access, rank, dims, lower_where(l, mask, v, old, n), n, args[0]);
}
