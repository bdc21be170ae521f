/* Calls of the language's functions. */
#include "spec/lower.h"

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
    static const char *const BODY[] = {"x", "lo", "hi", NULL}, *const NUMPY[] = {"x", "min", "max", NULL};
    const tp_node *args[3];
    bool names = false;
    for (uint32_t i = 0; i < n->nkids && l->reference; i++)
        names |= n->kids[i]->kind == TP_N_KEYWORD && n->kids[i]->text.p[0] == 'm';
    lower_bind_args(l, n, 0, names ? NUMPY : BODY, l->reference ? 1 : 3, args);
    tp_vid v = lower_expr(l, args[0]);
    for (int i = 1; i < 3; i++) { /* in references one of them may be None, or not there */
        bool none = !args[i] || (l->reference && args[i]->kind == TP_N_NAME && tp_str_is(args[i]->text, "None"));
        if (!none)
            v = lower_binary(l, i == 1 ? TP_P_MAXIMUM : TP_P_MINIMUM, v, lower_expr(l, args[i]), n);
    }
    return v;
}

/* Does the text show that m divides it: a product with a multiple of m, sums of such? */
static bool shows_multiple(tp_lower *l, tp_expr e, int64_t m)
{
    const tp_expr_node n = *tp_expr_get(l->k->exprs, e);
    int64_t v;
    if (tp_expr_is_const(l->k->exprs, e, &v))
        return v % m == 0;
    if (n.op == TP_E_MUL)
        return shows_multiple(l, n.a, m) || shows_multiple(l, n.b, m);
    return (n.op == TP_E_ADD || n.op == TP_E_SUB) && shows_multiple(l, n.a, m) && shows_multiple(l, n.b, m);
}

/* The claim is checked; behind it x is x // n * n, which shows to all who look that n divides it. */
static tp_vid call_multiple_of(tp_lower *l, const tp_node *n)
{
    static const char *const PARAMS[] = {"x", "n", NULL};
    const tp_node *args[2];
    int64_t m = 0;
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    if (l->reference)
        lower_fail(l, n, "leave it out", "a reference claims nothing about its integers");
    tp_vid x = lower_expr(l, args[0]), by = lower_expr(l, args[1]);
    const tp_value *value = lower_value(l, x);
    if (value->rank || (value->dtype != TP_WEAK_INT && value->dtype != TP_I32))
        lower_fail(l, args[0], NULL, "multiple_of is of an int32 scalar, not of %.*s", TP_FMT(lower_type_text(l, x)));
    if (lower_value(l, by)->dtype != TP_WEAK_INT ||
        !tp_expr_is_const(l->k->exprs, tp_expr_normal(l->k->exprs, lower_value(l, by)->meaning), &m) || m < 1)
        lower_fail(l, args[1], NULL, "it is a multiple of a number from 1 on that is written there");
    tp_vid rest = lower_binary(l, TP_P_MOD, x, by, n);
    tp_vid claim = lower_binary(l, TP_P_EQ, rest, lower_weak_int(l, tp_const(l->k->exprs, 0)), n);
    lower_statement(l, TP_ASSERT)->value = claim;
    if (value->dtype == TP_WEAK_INT && shows_multiple(l, value->meaning, m))
        return x;
    return lower_binary(l, TP_P_MUL, lower_binary(l, TP_P_FLOORDIV, x, by, n), by, n);
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
        tp_dtype_info(x->dtype)->bits != tp_dtype_info(d)->bits)
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
static tp_str axis_of_program_id(const tp_lower *l, const tp_node *n)
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
        tp_str axis = axis_of_program_id(l, n);
        if (l->reference)
            lower_fail(l, n, "a reference sees whole arrays only", "`program_id` in a reference");
        lower_fail(l, n, axis.n ? tp_printf(l->c->arena, "write `%.*s`", TP_FMT(axis)).p : NULL,
                   "`program_id` is not a function here: the name of a grid axis is its program id");
    }
    if (tp_str_is(n->text, "astype"))
        lower_fail(l, n, "write v.astype(dtype)", "`astype` is a method, not a function");
    if (tp_str_is(n->text, "check"))
        lower_fail(l, n, "write it as a statement", "`check` has no value");
    if (tp_str_is(n->text, "print"))
        lower_fail(l, n, "take it out; `tileproof run --show NAME` prints values",
                   "`print` is not part of the language");
    if (tp_str_is(n->text, "int"))
        lower_fail(l, n, "write x // y of integers, or x.astype(int32)", "`int` is not a function here");
    if (tp_str_is(n->text, "empty") || tp_str_is(n->text, "empty_like"))
        lower_fail(l, n, "write zeros(shape, dtype), or zeros_like(x)", "the elements of `%.*s` have no values",
                   TP_FMT(n->text));
}

/* Functions of references, as bodies write them. */
static void refuse_reference_function(tp_lower *l, const tp_node *n)
{
    static const struct {
        const char *name, *help;
    } ROWS[] = {{"matmul", "write dot(a, b) or a @ b"},
                {"mean", "write sum(x, axis=1, keepdims=True) / n"},
                {"softmax", "write e = exp(x - max(x, axis=1, keepdims=True)), then e / sum(e, axis=1, keepdims=True)"},
                {"arange", "write iota(int32, (n,), 0)"},
                {"ones", "write full(shape, 1, dtype)"},
                {"zeros_like", "write zeros(shape, dtype)"},
                {"ones_like", "write full(shape, 1, dtype)"},
                {"full_like", "write full(shape, value, dtype)"},
                {"einsum", "write dot(a, b, contract=…, batch=…)"},
                {"swapaxes", "write transpose(x, axes)"}};
    size_t count;
    const char *const *all = tp_reference_functions(&count), *help = "write it out in functions of bodies";
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        help = tp_str_is(n->text, ROWS[i].name) ? ROWS[i].help : help;
    for (size_t i = 0; i < count; i++)
        if (tp_str_is(n->text, all[i]) && !l->reference)
            tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, n), help, "`%.*s` is a function of references",
                     TP_FMT(n->text));
}

_Noreturn static void unknown_function(tp_lower *l, const tp_node *n)
{
    static const char *const LATER[] = {"scratch", "debug_print", "semaphore_read"};
    for (size_t i = 0; i < sizeof LATER / sizeof *LATER; i++)
        if (tp_str_is(n->text, LATER[i]))
            lower_fail(l, n, "`tileproof primitives` lists what this build supports",
                       "`%s` is part of the language but not supported by this build", LATER[i]);
    if (tp_str_is(n->text, "dict") || tp_str_is(n->text, "set"))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, n), "give each entry a name of its own",
                 "dicts and sets are not part of the language");
    refuse_call_form(l, n);
    refuse_reference_function(l, n);
    tp_str names[TP_PRIMS];
    size_t count = 0;
    for (int p = 0; p < TP_PRIMS; p++)
        if (p != TP_P_LITERAL && p != TP_P_VARIABLE && p != TP_P_COND && p != TP_P_SCAN) /* never called */
            names[count++] = tp_str_c(tp_prim_info((tp_prim)p)->name);
    tp_str near = tp_nearest(n->text, names, count);
    tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, n),
             tp_did_you_mean(l->c->arena, near, "`", "`tileproof primitives` lists the functions"),
             "unknown function `%.*s`", TP_FMT(n->text));
}

tp_vid lower_call(tp_lower *l, const tp_node *n)
{
    tp_prim p = tp_prim_find(n->text);
    const tp_syntax *function = lower_find_function(l, n->text);
    if (function) {
        const tp_thing *out = l->expand(l, function, n);
        if (!out)
            lower_fail(l, n, "end it with return", "`%.*s` returns no value", TP_FMT(n->text));
        if (out->kind == TP_THING_TUPLE)
            lower_fail(l, n, "write a, b = f(x)", "`%.*s` returns %u values", TP_FMT(n->text), out->items.len);
        return out->value;
    }
    if (tp_str_is(n->text, "cdiv") || tp_str_is(n->text, "align_up") || tp_str_is(n->text, "next_power_of_2"))
        return call_static(l, n);
    tp_vid own = l->reference ? lower_reference_call(l, n) : -1;
    if (own >= 0)
        return own;
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
    case TP_CLASS_FOLD: return lower_fold_call(l, p, n);
    case TP_CLASS_RUNNING: return lower_scan_call(l, p, n);
    case TP_CLASS_CONTRACT: return lower_dot_call(l, n);
    case TP_CLASS_CONVERT: return call_bitcast(l, n);
    case TP_CLASS_MEMORY:
        if (p == TP_P_PRNG_RANDOM_BITS)
            return lower_random_bits(l, n);
        if (p != TP_P_MASKED_LOAD)
            lower_fail(l, n, "write it as a statement", "`%s` has no value", tp_prim_info(p)->name);
        return lower_masked_load(l, n);
    case TP_CLASS_SUGAR:
        if (p == TP_P_CLIP)
            return call_clip(l, n);
        if (p == TP_P_MULTIPLE_OF)
            return call_multiple_of(l, n);
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
    access->guarded = l->k->target.generation == 0; /* no TPU: lanes that are masked off are not touched */
    access->mask = *mask;
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
