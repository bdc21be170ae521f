/* Functions of references that take functions or lists. */
#include "spec/lower.h"

/* ---- trees: values, and tuples of trees ---- */

typedef tp_vid leaf_map(tp_lower *l, tp_vid v, void *ctx, const tp_node *n);

/* The same tree, with map() of its values. */
static tp_thing *map_leaves(tp_lower *l, tp_thing *x, leaf_map *map, void *ctx, const tp_node *n)
{
    if (x->kind == TP_THING_NONE)
        return x;
    if (x->kind != TP_THING_TUPLE)
        return lower_value_object(l, map(l, lower_object_value(l, x, n), ctx, n));
    tp_thing *out = lower_tuple(l, 0, NULL);
    for (uint32_t i = 0; i < x->items.len; i++) {
        tp_thing *item = map_leaves(l, x->items.at[i], map, ctx, n);
        tp_push(l->c->arena, out->items, item);
    }
    return out;
}

typedef struct indexing {
    tp_vid index;
    uint32_t axis;
    bool stays;
    tp_expr count; /* no id: not known yet */
} indexing;

static tp_vid take_element(tp_lower *l, tp_vid v, void *ctx, const tp_node *n)
{
    const indexing *at = ctx;
    return lower_element(l, v, at->axis, at->index, at->stays, n);
}

static tp_vid note_count(tp_lower *l, tp_vid v, void *ctx, const tp_node *n)
{
    indexing *at = ctx;
    const tp_value *x = lower_value(l, v);
    if (at->axis >= x->rank)
        lower_fail(l, n, NULL, "an array is expected, not %.*s", TP_FMT(lower_type_text(l, v)));
    if (at->count.id && !lower_same_dim(l, at->count, x->dims[at->axis]))
        lower_fail(l, n, NULL, "the arrays have %.*s and %.*s elements along their axis",
                   TP_FMT(tp_expr_text(l->k->exprs, at->count)), TP_FMT(tp_expr_text(l->k->exprs, x->dims[at->axis])));
    at->count = x->dims[at->axis];
    return v;
}

static tp_vid to_rows(tp_lower *l, tp_vid v, void *ctx, const tp_node *n)
{
    return lower_new_rows(l, ctx, v, n);
}

static tp_vid copy_leaf(tp_lower *l, tp_vid v, void *ctx, const tp_node *n)
{
    (void)ctx;
    return lower_copy_of_slot(l, v, n);
}

/* What is carried from turn to turn: variables, by number. A literal of integers begins as a real where reals follow,
 * as names do (lower_again()): in the next attempt. */
typedef struct carried {
    const tp_node *node;
    uint32_t n;
} carried;

static tp_str carried_name(tp_lower *l, carried *c)
{
    return tp_printf(l->c->arena, "%p/%u", (const void *)c->node, c->n++);
}

/* A variable that begins as v. */
static tp_vid to_slot(tp_lower *l, tp_vid v, void *ctx, const tp_node *n)
{
    bool real = tp_map_get(&l->promoted, carried_name(l, ctx)) != 0;
    v = real && lower_value(l, v)->dtype == TP_WEAK_INT ? lower_cast(l, v, TP_F64, n) : lower_strong(l, v, n);
    const tp_value x = *lower_value(l, v);
    tp_vid var = lower_new_variable(l, x.dtype, x.rank, x.dims);
    lower_assign_slot(l, var, v);
    return var;
}

static void assign_leaf(tp_lower *l, tp_vid to, tp_vid v, tp_str name, const tp_node *n)
{
    tp_dtype d = lower_value(l, v)->dtype, had = lower_value(l, to)->dtype;
    if (had == TP_I32 && (tp_is_float(d) || d == TP_WEAK_FLOAT) && !tp_map_get(&l->promoted, name)) {
        tp_map_set(l->c->arena, &l->promoted, name, 1);
        l->again = true;
        tp_leave(l->c->arena, TP_E_INPUT);
    }
    v = lower_coerce(l, lower_promote(l, v, had, n), had, n);
    const tp_value *var = lower_value(l, to);
    if (!lower_same_shape(l, lower_value(l, v), var->rank, var->dims))
        lower_fail(l, n, "what is carried from turn to turn keeps its dtype and shape", "this is %.*s, and was %.*s",
                   TP_FMT(lower_type_text(l, v)), TP_FMT(lower_type_text(l, to)));
    lower_assign_slot(l, to, v);
}

/* Each variable of `to` is what stands there in x. */
static void assign_leaves(tp_lower *l, const tp_thing *to, const tp_thing *x, carried *c, const tp_node *n)
{
    bool tuple = to->kind == TP_THING_TUPLE, none = to->kind == TP_THING_NONE;
    if (!x || tuple != (x->kind == TP_THING_TUPLE) || none != (x->kind == TP_THING_NONE) ||
        to->items.len != x->items.len)
        lower_fail(l, n, "return what the loop was given, with other numbers",
                   "what is carried from turn to turn changes its form");
    for (uint32_t i = 0; i < to->items.len; i++)
        assign_leaves(l, to->items.at[i], x->items.at[i], c, n);
    if (!tuple && !none)
        assign_leaf(l, to->value, lower_object_value(l, x, n), carried_name(l, c), n);
}

static tp_thing *begin_carry(tp_lower *l, tp_thing *init, const tp_node *n)
{
    carried c = {n, 0};
    return map_leaves(l, init, to_slot, &c, n);
}

static tp_thing *carry_now(tp_lower *l, tp_thing *slots, const tp_node *n)
{
    return map_leaves(l, slots, copy_leaf, NULL, n);
}

static void carry_on(tp_lower *l, const tp_thing *slots, const tp_thing *x, const tp_node *n)
{
    carried c = {n, 0};
    assign_leaves(l, slots, x, &c, n);
}

static tp_thing *call_with(tp_lower *l, const tp_thing *f, uint32_t n, tp_thing *const *values, const tp_node *at)
{
    tp_arguments args = {0};
    if (f->kind != TP_THING_FUNCTION)
        lower_fail(l, at, "pass a def or a lambda", "a function is expected");
    for (uint32_t i = 0; i < n; i++)
        tp_push(l->c->arena, args, ((tp_argument){(tp_str){NULL, 0}, values[i]}));
    tp_thing *x = l->call(l, f->function, &args, at);
    if (!x)
        lower_fail(l, at, "end it with return", "`%.*s` returns no value", TP_FMT(f->function->text));
    return x;
}

/* Argument number i of call n, or of that name. */
static const tp_node *given(const tp_node *n, uint32_t i, const char *name)
{
    for (uint32_t k = 0; k < n->nkids; k++)
        if (n->kids[k]->kind == TP_N_KEYWORD ? tp_str_is(n->kids[k]->text, name) : k == i)
            return n->kids[k]->kind == TP_N_KEYWORD ? n->kids[k]->kids[0] : n->kids[k];
    return NULL;
}

static const tp_node *needed(tp_lower *l, const tp_node *n, uint32_t i, const char *name)
{
    const tp_node *x = given(n, i, name);
    if (!x)
        lower_fail(l, n, NULL, "`%.*s` needs the argument `%s`", TP_FMT(n->text), name);
    return x;
}

/* TP004 at an argument that is none of these (NULL-terminated). */
static void check_given(tp_lower *l, const tp_node *n, const char *const *names)
{
    for (uint32_t k = 0; k < n->nkids; k++) {
        bool known = n->kids[k]->kind != TP_N_KEYWORD;
        for (uint32_t i = 0; names[i] && !known; i++)
            known = tp_str_is(n->kids[k]->text, names[i]);
        if (!known)
            lower_fail(l, n->kids[k], NULL, "`%.*s` has no argument `%.*s` here", TP_FMT(n->text),
                       TP_FMT(n->kids[k]->text));
    }
}

static bool flag_given(tp_lower *l, const tp_node *n, uint32_t i, const char *name)
{
    const tp_node *x = given(n, i, name);
    bool truth = false;
    tp_vid v;
    if (x && !lower_known(l, x, &truth, &v))
        lower_fail(l, x, NULL, "True or False is expected");
    return truth;
}

/* scan(f, init, xs, length, reverse): f(carry, x) gives the next carry and a row of the result. */
static tp_thing *call_scan(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"f", "init", "xs", "length", "reverse", "unroll", NULL};
    check_given(l, n, NAMES);
    const tp_node *length = given(n, 3, "length"), *over = given(n, 2, "xs");
    tp_thing *f = lower_object(l, needed(l, n, 0, "f")), *init = lower_object(l, needed(l, n, 1, "init")),
             *xs = over ? lower_object(l, over) : lower_none(l);
    bool reverse = flag_given(l, n, 4, "reverse");
    indexing at = {0};
    xs = map_leaves(l, xs, note_count, &at, n);
    if (!at.count.id && length)
        at.count = lower_static_int(l, length, "the length");
    if (!at.count.id)
        lower_fail(l, n, NULL, "`scan` needs arrays, or a length");
    tp_thing *slots = begin_carry(l, init, n);
    tp_repeat t;
    tp_region body = {0};
    lower_begin_turns(l, &t, &body, at.count);
    tp_expr last = tp_op2(l->k->exprs, TP_E_SUB, at.count, tp_const(l->k->exprs, 1));
    at.index = t.index = reverse ? lower_binary(l, TP_P_SUB, lower_weak_int(l, last), t.var, n) : t.var;
    tp_thing *args[] = {carry_now(l, slots, n), map_leaves(l, xs, take_element, &at, n)};
    tp_thing *out = call_with(l, f, 2, args, n);
    if (out->kind != TP_THING_TUPLE || out->items.len != 2)
        lower_fail(l, n, "end the function with: return carry, y", "the function of a scan returns two values");
    tp_thing *rows = map_leaves(l, out->items.at[1], to_rows, &t, n);
    carry_on(l, slots, out->items.at[0], n);
    lower_end_counted(l, &t, &body, n);
    tp_thing *both[] = {carry_now(l, slots, n), carry_now(l, rows, n)};
    return lower_tuple(l, 2, both);
}

static tp_vid loop_bound(tp_lower *l, const tp_node *n)
{
    tp_vid v = lower_expr(l, n);
    const tp_value *x = lower_value(l, v);
    if (x->rank || (x->dtype != TP_WEAK_INT && !tp_is_int(x->dtype)))
        lower_fail(l, n, "use sizes, literals or integer scalars", "a loop bound is an integer scalar, not %.*s",
                   TP_FMT(lower_type_text(l, v)));
    return lower_coerce(l, lower_promote(l, v, TP_I32, n), TP_I32, n);
}

/* fori_loop(lower, upper, body_fun, init_val) */
static tp_thing *call_fori(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"lower", "upper", "body_fun", "init_val", "unroll", NULL};
    check_given(l, n, NAMES);
    tp_vid lo = loop_bound(l, needed(l, n, 0, "lower")), hi = loop_bound(l, needed(l, n, 1, "upper"));
    tp_thing *f = lower_object(l, needed(l, n, 2, "body_fun")),
             *slots = begin_carry(l, lower_object(l, needed(l, n, 3, "init_val")), n);
    tp_repeat t;
    tp_region body = {0};
    lower_begin_turns(l, &t, &body, (tp_expr){0});
    tp_thing *args[] = {lower_value_object(l, lower_copy_of_slot(l, t.var, n)), carry_now(l, slots, n)};
    carry_on(l, slots, call_with(l, f, 2, args, n), n);
    lower_end_turns(l, &t, &body, lo, hi, 1);
    return carry_now(l, slots, n);
}

/* while_loop(cond_fun, body_fun, init_val) */
static tp_thing *call_while(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"cond_fun", "body_fun", "init_val", NULL};
    check_given(l, n, NAMES);
    tp_thing *test = lower_object(l, needed(l, n, 0, "cond_fun")), *f = lower_object(l, needed(l, n, 1, "body_fun")),
             *slots = begin_carry(l, lower_object(l, needed(l, n, 2, "init_val")), n), *now;
    tp_region *outer = l->region, tests = {0}, body = {0};
    l->level++;
    l->branch++;
    l->region = &tests;
    now = carry_now(l, slots, n);
    tp_vid c = lower_object_value(l, call_with(l, test, 1, &now, n), n);
    if (lower_value(l, c)->dtype != TP_BOOL || lower_value(l, c)->rank)
        lower_fail(l, n, NULL, "a condition is a scalar bool, not %.*s", TP_FMT(lower_type_text(l, c)));
    l->region = &body;
    now = carry_now(l, slots, n);
    carry_on(l, slots, call_with(l, f, 1, &now, n), n);
    l->level--;
    l->branch--;
    l->region = outer;
    tp_statement *statement = lower_statement(l, TP_WHILE);
    statement->value = c;
    statement->test = tests;
    statement->body = body;
    return carry_now(l, slots, n);
}

/* cond(pred, true_fun, false_fun, *operands) */
static tp_thing *call_cond(tp_lower *l, const tp_node *n)
{
    bool truth;
    tp_vid c;
    bool known = lower_known(l, needed(l, n, 0, "pred"), &truth, &c);
    tp_thing *f[] = {lower_object(l, needed(l, n, 1, "true_fun")), lower_object(l, needed(l, n, 2, "false_fun"))};
    tp_arguments operands = lower_arguments(l, n, 3);
    tp_thing **args = TP_NEWN(l->c->arena, tp_thing *, operands.len + 1), *slots = NULL;
    for (uint32_t i = 0; i < operands.len; i++)
        args[i] = operands.at[i].object;
    if (known)
        return call_with(l, f[!truth], operands.len, args, n);
    tp_region *outer = l->region, arm[2] = {0};
    carried name = {n, 0};
    if (lower_value(l, c)->dtype != TP_BOOL || lower_value(l, c)->rank)
        lower_fail(l, n->kids[0], "use where on arrays", "a condition is a scalar bool, not %.*s",
                   TP_FMT(lower_type_text(l, c)));
    l->level++;
    l->branch++;
    for (int i = 0; i < 2; i++) {
        l->region = &arm[i];
        tp_thing *x = call_with(l, f[i], operands.len, args, n);
        if (i)
            carry_on(l, slots, x, n);
        else
            slots = map_leaves(l, x, to_slot, &name, n);
    }
    l->level--;
    l->branch--;
    l->region = outer;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = c;
    statement->body = arm[0];
    statement->orelse = arm[1];
    return carry_now(l, slots, n);
}

/* associative_scan(fn, elems, reverse): what fn is for, one by one. */
static tp_thing *call_associative(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"fn", "elems", "reverse", "axis", NULL};
    check_given(l, n, NAMES);
    const tp_node *axis = given(n, 3, "axis");
    tp_thing *f = lower_object(l, needed(l, n, 0, "fn")), *xs = lower_object(l, needed(l, n, 1, "elems"));
    bool reverse = flag_given(l, n, 2, "reverse");
    indexing at = {.stays = true}, row = {0};
    if (axis && lower_literal_int(l, axis, "the axis"))
        lower_fail(l, axis, "swap the axes before and after", "`associative_scan` runs along axis 0 here");
    map_leaves(l, xs, note_count, &at, n);
    tp_expr last = tp_op2(l->k->exprs, TP_E_SUB, at.count, tp_const(l->k->exprs, 1));
    at.index = reverse ? lower_weak_int(l, last) : lower_weak_int(l, tp_const(l->k->exprs, 0));
    tp_thing *slots = begin_carry(l, map_leaves(l, xs, take_element, &at, n), n);
    tp_repeat t;
    tp_region body = {0};
    lower_begin_turns(l, &t, &body, at.count);
    at.index = t.index = reverse ? lower_binary(l, TP_P_SUB, lower_weak_int(l, last), t.var, n) : t.var;
    /* the first turn keeps the first element */
    tp_region *inside = l->region, first = {0}, later = {0};
    tp_vid begins = lower_binary(l, TP_P_EQ, t.var, lower_weak_int(l, tp_const(l->k->exprs, 0)), n);
    l->region = &later;
    tp_thing *args[] = {carry_now(l, slots, n), map_leaves(l, xs, take_element, &at, n)};
    carry_on(l, slots, call_with(l, f, 2, args, n), n);
    l->region = inside;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = begins;
    statement->body = first;
    statement->orelse = later;
    row.index = lower_weak_int(l, tp_const(l->k->exprs, 0));
    tp_thing *rows = map_leaves(l, map_leaves(l, carry_now(l, slots, n), take_element, &row, n), to_rows, &t, n);
    lower_end_counted(l, &t, &body, n);
    return carry_now(l, rows, n);
}

/* ---- the same function for each element ---- */

/* The axis of argument i, of `count`; -1: all of it each time. */
static int64_t axis_of(tp_lower *l, const tp_thing *axes, uint32_t i, uint32_t count, const tp_node *n)
{
    double axis = 0;
    if (axes && axes->kind == TP_THING_TUPLE && axes->items.len != count)
        lower_fail(l, n, NULL, "%u axes for %u arguments", axes->items.len, count);
    const tp_thing *own = axes && axes->kind == TP_THING_TUPLE ? axes->items.at[i] : axes;
    if (own && own->kind == TP_THING_NONE)
        return -1;
    if (own && (own->kind != TP_THING_VALUE || !lower_number(l, own->value, &axis) || axis < 0))
        lower_fail(l, n, "write 0, 1, … or None", "an axis of vmap is expected");
    return (int64_t)axis;
}

static tp_thing *call_mapped(tp_lower *l, const tp_thing *f, const tp_thing *axes, const tp_arguments *args,
                             const tp_node *n)
{
    tp_thing **values = TP_NEWN(l->c->arena, tp_thing *, args->len + 1);
    indexing at = {0};
    for (uint32_t i = 0; i < args->len; i++) {
        int64_t axis = axis_of(l, axes, i, args->len, n);
        at.axis = (uint32_t)axis;
        if (args->at[i].keyword.n)
            lower_fail(l, n, "pass it by its place", "an argument by its name");
        if (axis >= 0)
            map_leaves(l, args->at[i].object, note_count, &at, n);
    }
    if (!at.count.id)
        lower_fail(l, n, NULL, "there is nothing to map over");
    tp_repeat t;
    tp_region body = {0};
    lower_begin_turns(l, &t, &body, at.count);
    at.index = t.var;
    for (uint32_t i = 0; i < args->len; i++) {
        int64_t axis = axis_of(l, axes, i, args->len, n);
        at.axis = (uint32_t)axis;
        values[i] = axis < 0 ? args->at[i].object : map_leaves(l, args->at[i].object, take_element, &at, n);
    }
    tp_thing *rows = map_leaves(l, call_with(l, f, args->len, values, n), to_rows, &t, n);
    lower_end_counted(l, &t, &body, n);
    return carry_now(l, rows, n);
}

static const tp_function *function_given(tp_lower *l, const tp_node *n, uint32_t i, const char *name)
{
    const tp_node *at = needed(l, n, i, name);
    tp_thing *f = lower_object(l, at);
    if (f->kind != TP_THING_FUNCTION)
        lower_fail(l, at, "pass a def or a lambda", "a function is expected");
    return f->function;
}

/* vmap(fun, in_axes, out_axes) */
static tp_thing *call_vmap(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"fun", "in_axes", "out_axes", NULL};
    check_given(l, n, NAMES);
    const tp_node *in = given(n, 1, "in_axes"), *out = given(n, 2, "out_axes");
    if (out && (out->kind != TP_N_INT || out->integer))
        lower_fail(l, out, "swap the axes of the result", "vmap puts the new axis first here");
    return lower_new_function(l, (tp_function){.kind = TP_FUNCTION_VMAP,
                                               .text = TP_S("vmap"),
                                               .inner = function_given(l, n, 0, "fun"),
                                               .axes = in ? lower_object(l, in) : NULL});
}

static tp_thing *call_partial(tp_lower *l, const tp_node *n)
{
    const tp_function *f = function_given(l, n, 0, "func");
    return lower_new_function(
        l,
        (tp_function){.kind = TP_FUNCTION_PARTIAL, .text = f->text, .inner = f, .arguments = lower_arguments(l, n, 1)});
}

/* jit(f), checkpoint(f): f */
static tp_thing *call_same(tp_lower *l, const tp_node *n)
{
    return lower_new_function(l, *function_given(l, n, 0, "fun"));
}

/* lax.map(f, xs) */
static tp_thing *call_map(tp_lower *l, const tp_node *n)
{
    static const char *const NAMES[] = {"f", "xs", "batch_size", NULL};
    check_given(l, n, NAMES);
    tp_thing f = {.kind = TP_THING_FUNCTION, .value = -1, .function = function_given(l, n, 0, "f")};
    tp_arguments args = {0};
    tp_push(l->c->arena, args, ((tp_argument){(tp_str){NULL, 0}, lower_object(l, needed(l, n, 1, "xs"))}));
    return call_mapped(l, &f, NULL, &args, n);
}

/* A function of the language, of values: under names that no text has. */
static tp_thing *call_word(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n)
{
    uint32_t mark = l->locals.len;
    tp_node *call = TP_NEW(l->c->arena, tp_node);
    *call = (tp_node){.kind = TP_N_CALL, .prefixed = true, .source = n->source, .from = n->from, .to = n->to};
    call->text = f->text;
    call->nkids = args->len;
    call->kids = TP_NEWN(l->c->arena, tp_node *, args->len);
    for (uint32_t i = 0; i < args->len; i++) {
        tp_thing *x = args->at[i].object;
        tp_node *name = TP_NEW(l->c->arena, tp_node), *keyword = TP_NEW(l->c->arena, tp_node);
        *name = (tp_node){.kind = TP_N_NAME, .source = n->source, .from = n->from, .to = n->to};
        name->text = tp_printf(l->c->arena, "(%u)", ++l->nhidden);
        lower_push_local(l, (tp_local){.name = name->text,
                                       .value = x->value,
                                       .object = x->kind == TP_THING_VALUE ? NULL : x,
                                       .level = l->level,
                                       .node = name,
                                       .loc = tp_node_loc(l->c, n)});
        *keyword = *name;
        keyword->kind = TP_N_KEYWORD;
        keyword->text = args->at[i].keyword;
        keyword->nkids = 1;
        keyword->kids = TP_NEWN(l->c->arena, tp_node *, 1);
        keyword->kids[0] = name;
        call->kids[i] = args->at[i].keyword.n ? keyword : name;
    }
    tp_thing *out = lower_frozen(l, lower_object(l, call), n);
    lower_drop_locals(l, mark);
    return out;
}

tp_thing *lower_call_function(tp_lower *l, const tp_function *f, const tp_arguments *args, const tp_node *n)
{
    tp_thing inner = {.kind = TP_THING_FUNCTION, .value = -1, .function = f->inner};
    switch (f->kind) {
    case TP_FUNCTION_WORD: return call_word(l, f, args, n);
    case TP_FUNCTION_VMAP: return call_mapped(l, &inner, f->axes, args, n);
    case TP_FUNCTION_WRITTEN:
    case TP_FUNCTION_PARTIAL: break;
    }
    return lower_apply(l, f, args, n);
}

/* ---- lists ---- */

static tp_vid rows_of(tp_lower *l, const tp_thing *x, const tp_node *n);

/* The items one above the other, as an array. */
static tp_vid stacked(tp_lower *l, const tp_thing *x, const tp_node *n)
{
    tp_exprs *p = l->k->exprs;
    tp_vid *parts = TP_NEWN(l->c->arena, tp_vid, x->items.len + 1);
    tp_dtype wide = TP_BOOL;
    if (!x->items.len)
        lower_fail(l, n, NULL, "an array of an empty list");
    for (uint32_t i = 0; i < x->items.len; i++) {
        parts[i] = lower_strong(l, rows_of(l, x->items.at[i], n), n);
        tp_dtype d = lower_value(l, parts[i])->dtype;
        wide = tp_is_float(d) || wide == TP_F64 ? TP_F64 : tp_is_int(d) ? TP_I32 : wide;
    }
    for (uint32_t i = 0; i < x->items.len; i++) {
        tp_expr dims[TP_MAX_RANK + 1] = {tp_const(p, 1)};
        parts[i] = lower_coerce(l, lower_promote(l, parts[i], wide, n), wide, n);
        const tp_value *y = lower_value(l, parts[i]);
        if (y->rank == TP_MAX_RANK || y->rank != lower_value(l, parts[0])->rank - (i ? 1 : 0))
            lower_fail(l, n, NULL, "the parts of a stack have one shape");
        if (y->rank)
            memcpy(dims + 1, y->dims, y->rank * sizeof *dims);
        parts[i] = lower_reshape(l, parts[i], y->rank + 1, dims, n);
    }
    return lower_concatenate(l, parts, x->items.len, 0, n);
}

static tp_vid rows_of(tp_lower *l, const tp_thing *x, const tp_node *n)
{
    return x->kind == TP_THING_TUPLE  ? stacked(l, x, n)
           : x->kind == TP_THING_ROWS ? lower_copy_of_slot(l, x->value, n)
                                      : lower_object_value(l, x, n);
}

/* Under a name that the call `text`(name, the other arguments) has in place of its first one. */
static tp_thing *call_of(tp_lower *l, const char *text, tp_vid v, const tp_node *n)
{
    tp_function f = {.kind = TP_FUNCTION_WORD, .text = tp_str_c(text)};
    tp_arguments args = {0};
    tp_push(l->c->arena, args, ((tp_argument){(tp_str){NULL, 0}, lower_value_object(l, v)}));
    tp_arguments others = lower_arguments(l, n, 1);
    for (uint32_t i = 0; i < others.len; i++)
        tp_push(l->c->arena, args, others.at[i]);
    return call_word(l, &f, &args, n);
}

/* sum([a, b, …]), of Python: a + b + … */
static tp_thing *sum_of_list(tp_lower *l, const tp_thing *x, const tp_node *n)
{
    if (x->kind == TP_THING_ROWS) {
        int64_t axis = 0;
        tp_vid rows = lower_copy_of_slot(l, x->value, n);
        return lower_value_object(l, lower_fold(l, TP_P_SUM, rows, &axis, 1, false, n));
    }
    tp_vid total = lower_weak_int(l, tp_const(l->k->exprs, 0));
    for (uint32_t i = 0; i < x->items.len; i++)
        total = lower_binary(l, TP_P_ADD, total, lower_object_value(l, x->items.at[i], n), n);
    return lower_value_object(l, total);
}

static tp_thing *length_of(tp_lower *l, const tp_thing *x, const tp_node *n)
{
    if (x->kind == TP_THING_TUPLE)
        return lower_value_object(l, lower_weak_int(l, tp_const(l->k->exprs, x->items.len)));
    tp_vid v = x->kind == TP_THING_ROWS ? x->value : lower_object_value(l, x, n);
    if (!lower_value(l, v)->rank)
        lower_fail(l, n, NULL, "a scalar has no length");
    tp_vid length = lower_length(l, v, 0);
    return lower_value_object(l, length >= 0 ? length : lower_weak_int(l, lower_value(l, v)->dims[0]));
}

/* apply_along_axis(f, axis, x): of rank 2 */
static tp_thing *call_along_axis(tp_lower *l, const tp_node *n)
{
    tp_thing f = {.kind = TP_THING_FUNCTION, .value = -1, .function = function_given(l, n, 0, "func1d")};
    const tp_node *at = needed(l, n, 2, "arr");
    tp_vid x = lower_object_value(l, lower_object(l, at), at);
    int64_t axis = lower_read_axis(l, needed(l, n, 1, "axis"), lower_value(l, x)->rank);
    if (lower_value(l, x)->rank != 2 || axis != 1)
        lower_fail(l, n, "loop over the rows: o[i] = f(x[i])",
                   "`apply_along_axis` is for rows of arrays of rank 2 here");
    tp_arguments args = {0};
    tp_push(l->c->arena, args, ((tp_argument){(tp_str){NULL, 0}, lower_value_object(l, x)}));
    return call_mapped(l, &f, NULL, &args, n);
}

static bool is_list(const tp_thing *x)
{
    return x && (x->kind == TP_THING_TUPLE || x->kind == TP_THING_ROWS);
}

/* Functions of lists; of one array they are what they are elsewhere. */
static tp_thing *call_of_list(tp_lower *l, const tp_node *n)
{
    const tp_node *first = n->nkids && n->kids[0]->kind != TP_N_KEYWORD ? n->kids[0] : NULL;
    bool array = tp_str_is(n->text, "array") || tp_str_is(n->text, "asarray"), sum = tp_str_is(n->text, "sum"),
         len = tp_str_is(n->text, "len");
    if (!first || !(array || sum || len))
        return NULL;
    tp_thing *x = len ? lower_object(l, first) : l->special(l, first);
    if (len)
        return length_of(l, x, n);
    if (!is_list(x) && array) {
        x = lower_value_object(l, x ? lower_object_value(l, x, n) : lower_expr(l, first));
        x->memory = tp_str_is(n->text, "asarray") || n->nkids > 1 ? lower_memory_of(l, first) : 0;
        return x;
    }
    if (!is_list(x))
        return x && x->kind == TP_THING_VALUE && sum ? call_of(l, "sum", x->value, n) : NULL;
    if (sum && !n->prefixed)
        return sum_of_list(l, x, n);
    if (array)
        return lower_value_object(l, rows_of(l, x, n));
    if (sum)
        return call_of(l, "sum", rows_of(l, x, n), n);
    return NULL;
}

/* a if c else b: the arm that c chooses, where the text tells it. */
static tp_thing *conditional(tp_lower *l, const tp_node *n)
{
    bool truth;
    tp_vid v;
    if (lower_known(l, n->kids[0], &truth, &v))
        return lower_object(l, n->kids[truth ? 1 : 2]);
    tp_thing *x = lower_value_object(l, lower_conditional(l, n, v));
    x->memory = lower_one_memory(l, lower_memory_of(l, n->kids[1]), lower_memory_of(l, n->kids[2]));
    return x;
}

/* vstack, hstack: rows of rank 1 one above the other, others along axis 0; along the last axis of rank 1, or axis 1. */
static tp_thing *call_stacks(tp_lower *l, const tp_node *n)
{
    bool above = tp_str_is(n->text, "vstack");
    tp_thing *list = lower_object(l, needed(l, n, 0, "tup"));
    const tp_thing *first = list->kind == TP_THING_TUPLE && list->items.len ? list->items.at[0] : NULL;
    if (n->nkids != 1 || !first || first->kind != TP_THING_VALUE)
        lower_fail(l, n, "use stack or concatenate", "a list of arrays is expected");
    uint32_t rank = lower_value(l, first->value)->rank;
    tp_function f = {.kind = TP_FUNCTION_WORD, .text = above && rank < 2 ? TP_S("stack") : TP_S("concatenate")};
    tp_vid axis = lower_weak_int(l, tp_const(l->k->exprs, above || rank < 2 ? 0 : 1));
    tp_arguments args = {0};
    tp_push(l->c->arena, args, ((tp_argument){(tp_str){NULL, 0}, list}));
    tp_push(l->c->arena, args, ((tp_argument){(tp_str){NULL, 0}, lower_value_object(l, axis)}));
    return call_word(l, &f, &args, n);
}

tp_thing *lower_higher(tp_lower *l, const tp_node *n)
{
    static const struct {
        const char *name;
        tp_thing *(*call)(tp_lower *, const tp_node *);
    } ROWS[] = {{"scan", call_scan},
                {"fori_loop", call_fori},
                {"while_loop", call_while},
                {"cond", call_cond},
                {"associative_scan", call_associative},
                {"vmap", call_vmap},
                {"partial", call_partial},
                {"jit", call_same},
                {"checkpoint", call_same},
                {"remat", call_same},
                {"vstack", call_stacks},
                {"hstack", call_stacks},
                {"apply_along_axis", call_along_axis}};
    if (n->kind != TP_N_CALL)
        return n->kind == TP_N_LAMBDA    ? lower_lambda(l, n)
               : n->kind == TP_N_TERNARY ? conditional(l, n)
                                         : lower_comprehension(l, n);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (tp_str_is(n->text, ROWS[i].name))
            return ROWS[i].call(l, n);
    if (n->prefixed && tp_str_is(n->text, "map"))
        return call_map(l, n);
    tp_thing *x = call_of_list(l, n);
    return x ? x : lower_library(l, n);
}
