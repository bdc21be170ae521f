/* Assignments, and what is under a name. */
#include "spec/lower.h"

/* Is the name assigned later, in a block of its own? */
static bool changes_later(const tp_place *b, tp_str name)
{
    return b && (tp_map_get(&b->nested, name) > b->at || changes_later(b->outer, name));
}

static void note_target(tp_lower *l, const tp_node *target, uint32_t statement, tp_map *into)
{
    if (target->kind == TP_N_NAME)
        tp_map_set(l->c->arena, into, target->text, statement);
    for (uint32_t i = 0; target->kind == TP_N_SEQUENCE && i < target->nkids; i++)
        note_target(l, target->kids[i], statement, into);
}

void lower_note_assigned(tp_lower *l, const tp_block *b, uint32_t statement, tp_map *into)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        uint32_t inner = statement ? statement : i + 1;
        if (s->kind == TP_S_DEF) { /* its own locals are not ours */
            if (statement)
                tp_map_set(l->c->arena, into, s->value->text, statement);
            continue;
        }
        if (statement && (s->kind == TP_S_ASSIGN || s->kind == TP_S_UNPACK))
            note_target(l, s->target, statement, into);
        if (statement && s->kind == TP_S_STORE)
            note_target(l, s->target->kids[0], statement, into);
        lower_note_assigned(l, &s->body, inner, into);
        lower_note_assigned(l, &s->orelse, inner, into);
    }
}

void lower_check_local(tp_lower *l, const tp_node *target)
{
    const tp_kernel *k = l->k;
    bool axis = false, table = tp_table_find(k, target->text) >= 0,
         dtype = tp_dtype_find(target->text) != TP_NO_DTYPE && !l->reference;
    for (uint32_t i = 0; i < k->naxes && !l->reference; i++) /* references have no axes */
        axis |= tp_str_eq(k->axes[i].name, target->text);
    for (uint32_t i = 0; i < k->ndtypes; i++)
        dtype |= tp_str_eq(k->dtypes[i].name, target->text);
    int operand = tp_operand_find(k, target->text);
    if (operand >= 0 && !l->reference)
        lower_fail(l, target, tp_printf(l->c->arena, "write %.*s[...] = …", TP_FMT(target->text)).p,
                   "`%.*s` is a ref, not a local", TP_FMT(target->text));
    bool constant = tp_named_number_find(k, target->text) != NULL, own = l->reference && l->calls; /* of a function */
    if (!own && (axis || table || dtype || constant || tp_size_find(k, target->text)))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, target), "choose another name", "`%.*s` is already a %s",
                 TP_FMT(target->text),
                 axis       ? "grid axis"
                 : table    ? "table"
                 : dtype    ? "dtype"
                 : constant ? "constant"
                            : "size");
    bool word = lower_is_function_word(l, target->text) || (l->reference && tp_dtype_find(target->text) != TP_NO_DTYPE);
    if (operand < 0 && !own && !lower_own_local(l, target->text) && !word) {
        tp_names none = {0};
        tp_scope_add(l->c, &none, target->text, TP_NAME_LOCAL, 0, tp_node_loc(l->c, target));
    }
}

/* The local is `new`; one of its name in this block is no more. */
static void put_local(tp_lower *l, tp_local new)
{
    tp_local *old = lower_own_local(l, new.name);
    if (old && old->level == new.level) {
        new.hides = old->hides;
        *old = new;
    } else {
        lower_push_local(l, new);
    }
}

void lower_define(tp_lower *l, const tp_node *target, const tp_node *value, tp_thing *x, const tp_place *b)
{
    tp_local new = {.name = target->text, .level = l->level, .node = target, .loc = tp_node_loc(l->c, target)};
    if (x->kind != TP_THING_VALUE) {
        new.value = -1;
        new.object = x;
        put_local(l, new);
        return;
    }
    tp_vid v = x->value;
    new.is_slot = changes_later(b, target->text);
    if (new.is_slot && l->reference &&tp_is_weak(lower_value(l, v)->dtype)) {
        new.literal = lower_value(l, v)->dtype == TP_WEAK_INT && !tp_map_get(&l->promoted, target->text);
        v = lower_cast(l, v, new.literal ? TP_I32 : TP_F64, value);
    }
    if (new.is_slot && tp_is_weak(lower_value(l, v)->dtype))
        lower_fail(l, value, "give it a dtype, e.g. full((), 0, int32)", "`%.*s` changes later: a literal has no dtype",
                   TP_FMT(target->text));
    if (new.is_slot) {
        tp_vid var = lower_new_variable(l, lower_value(l, v)->dtype, lower_value(l, v)->rank, lower_value(l, v)->dims);
        lower_lengths(l, var, v, NULL);
        lower_assign_slot(l, var, v);
        v = var;
    } else {
        v = lower_copy_of_slot(l, v, value);
    }
    tp_push(l->c->arena, l->p->names, ((tp_named_value){target->text, v, false}));
    new.value = v;
    new.memory = lower_value(l, v)->rank ? x->memory : 0;
    put_local(l, new);
}

/* A name that began as an integer literal and holds reals: from the beginning, in another attempt. */
static void lower_again(tp_lower *l, const tp_local *old)
{
    tp_map_set(l->c->arena, &l->promoted, old->name, 1);
    l->again = true;
    tp_leave(l->c->arena, TP_E_INPUT);
}

/* As output o of a reference takes it. */
static tp_vid as_output(tp_lower *l, const tp_operand *o, tp_vid v, const tp_node *value)
{
    tp_dtype d = lower_dtype(l, o->dtype);
    if (lower_is_ragged(l, v))
        lower_fail(l, value, "assign it to a slice between the same bounds",
                   "an output is assigned a slice whose size is not known from the sizes");
    v = lower_coerce(l, lower_promote(l, v, d, value), d, value);
    const tp_value *x = lower_value(l, v);
    uint32_t rank = tp_global_rank(o);
    const tp_expr *shape = tp_global_shape(o);
    if (x->rank && x->rank != rank)
        lower_fail(l, value, "use expand_dims or reshape", "shape %.*s cannot be broadcast to %.*s: the ranks differ",
                   TP_FMT(lower_shape_text(l, x->rank, x->dims)), TP_FMT(lower_shape_text(l, rank, shape)));
    return lower_broadcast(l, v, rank, shape, value);
}

/* Another value for a local of a block around this one. */
static void assign_outer(tp_lower *l, tp_local *old, tp_thing *x, const tp_node *value)
{
    if (old->object || x->kind != TP_THING_VALUE)
        lower_fail(l, value, "assign it outside of branches and loops",
                   "`%.*s` changes within a block: it is a list, a function or None there or before",
                   TP_FMT(old->name));
    const tp_value *var = lower_value(l, old->value);
    tp_vid v = x->value;
    tp_dtype d = lower_value(l, v)->dtype;
    if (old->literal && var->dtype == TP_I32 && (d == TP_WEAK_FLOAT || tp_is_float(d)))
        lower_again(l, old);
    v = lower_coerce(l, lower_promote(l, v, var->dtype, value), var->dtype, value);
    var = lower_value(l, old->value);
    if (lower_value(l, v)->rank == 0 && var->rank)
        v = lower_broadcast(l, v, var->rank, var->dims, value);
    var = lower_value(l, old->value);
    if (!lower_same_shape(l, lower_value(l, v), var->rank, var->dims))
        lower_fail(l, value, "a name that outlives a block keeps its dtype and shape",
                   "`%.*s` was %.*s before this block, here it is %.*s", TP_FMT(old->name),
                   TP_FMT(lower_type_text(l, old->value)), TP_FMT(lower_type_text(l, v)));
    lower_check_lasting(l, old->name, x->memory == old->memory ? 0 : x->memory);
    old->memory = lower_one_memory(l, old->memory, x->memory);
    lower_assign_slot(l, old->value, v);
}

void lower_bind(tp_lower *l, const tp_node *target, const tp_node *note, tp_thing *x, const tp_node *value,
                const tp_place *b)
{
    bool array = x->kind == TP_THING_VALUE;
    int operand = tp_operand_find(l->k, target->text);
    const tp_size *size = l->reference && array ? tp_size_find(l->k, target->text) : NULL;
    if (size && lower_value(l, x->value)->dtype == TP_WEAK_INT &&
        lower_same_dim(l, lower_value(l, x->value)->meaning, size->expr))
        return; /* M, N = x.shape says what they are */
    lower_check_local(l, target);
    if (operand >= 0 && l->k->operands[operand].role == TP_OUTPUT && !l->calls) {
        bool integers = lower_value(l, lower_object_value(l, x, value))->dtype == TP_BOOL ||
                        tp_is_int(lower_value(l, x->value)->dtype);
        l->operand_integers[operand] = integers || (l->operand_integers[operand] && l->level);
        tp_thing *out =
            lower_value_object(l, as_output(l, &l->k->operands[operand], lower_object_value(l, x, value), value));
        out->memory = x->memory;
        x = out;
    }
    if (note)
        lower_check_note(l, note, lower_object_value(l, x, value));
    tp_local *old = lower_own_local(l, target->text);
    if (old && old->loop_variable)
        lower_fail(l, target, NULL, "`%.*s` is a loop variable", TP_FMT(old->name));
    if (!old || old->level == l->level)
        lower_define(l, target, value, x, b);
    else
        assign_outer(l, old, x, value);
}

static tp_prim augmented_prim(tp_operator op)
{
    static const struct {
        tp_operator op;
        tp_prim prim;
    } MAP[] = {{TP_O_ADD, TP_P_ADD},           {TP_O_SUB, TP_P_SUB}, {TP_O_MUL, TP_P_MUL},    {TP_O_TRUEDIV, TP_P_DIV},
               {TP_O_FLOORDIV, TP_P_FLOORDIV}, {TP_O_MOD, TP_P_MOD}, {TP_O_BITAND, TP_P_AND}, {TP_O_BITOR, TP_P_OR},
               {TP_O_BITXOR, TP_P_XOR},        {TP_O_SHL, TP_P_SHL}, {TP_O_SHR, TP_P_SHR}};
    for (size_t i = 0; i < sizeof MAP / sizeof *MAP; i++)
        if (MAP[i].op == op)
            return MAP[i].prim;
    return TP_PRIMS;
}

/* old op= v */
static tp_vid augment(tp_lower *l, const tp_syntax *s, tp_vid old, tp_vid v)
{
    tp_prim prim = augmented_prim(s->op);
    if (l->reference && s->op == TP_O_MATMUL)
        return lower_matmul(l, old, v, s->value);
    if (prim == TP_PRIMS)
        lower_fail(l, s->target, NULL, "`%s=` is not a statement of bodies", tp_operator_text(s->op));
    return lower_binary(l, prim, old, v, s->value);
}

/* x op= v; in NumPy arrays change where they lie. */
static tp_thing *augmented(tp_lower *l, const tp_syntax *s)
{
    tp_local *local = lower_own_local(l, s->target->text);
    if (!local && (l->calls || (tp_operand_find(l->k, s->target->text) < 0 &&
                                tp_table_find(l->k, s->target->text) < 0 && !tp_size_find(l->k, s->target->text))))
        lower_fail(l, s->target, "assign it first, e.g. zeros(shape, dtype)", "`%.*s` has no value yet",
                   TP_FMT(s->target->text));
    tp_thing *x = lower_value_object(l, lower_expr(l, s->target));
    tp_vid old = x->value, v = lower_expr(l, s->value);
    bool array = lower_value(l, old)->rank > 0;
    x = lower_value_object(l, augment(l, s, old, v));
    if (array && l->reference) {
        local = lower_own_local(l, s->target->text);
        x->memory = local ? local->memory : lower_memory_of(l, s->target);
        lower_changed(l, s->target->text, x->memory, s);
    }
    return x;
}

void lower_assign(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    lower_check_lazy(l, s->value);
    tp_thing *x = s->augmented   ? augmented(l, s)
                  : l->reference ? lower_object(l, s->value)
                                 : lower_value_object(l, lower_expr(l, s->value));
    lower_bind(l, s->target, s->note, x, s->value, b);
}

/* Several values: written out, returned by a function, the extents of an array, or its rows. */
static tp_things lower_several(tp_lower *l, const tp_node *n, uint32_t count)
{
    tp_things out = {0};
    if (n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "shape")) {
        uint32_t rank;
        const tp_expr *dims = lower_shape_of(l, n->kids[0], &rank);
        for (uint32_t d = 0; d < rank; d++) {
            tp_vid length = lower_length_of(l, n->kids[0], d);
            tp_push(l->c->arena, out, lower_value_object(l, length >= 0 ? length : lower_weak_int(l, dims[d])));
        }
        return out;
    }
    if (l->reference) {
        tp_thing *x = lower_object(l, n);
        int64_t rows;
        if (x->kind == TP_THING_TUPLE)
            return x->items;
        if (x->kind == TP_THING_VALUE && lower_value(l, x->value)->rank &&
            tp_expr_is_const(l->k->exprs, lower_value(l, x->value)->dims[0], &rows) && rows == count) {
            tp_series *source = lower_source(l, n);
            if (lower_source_items(l, source, &out))
                return out;
        }
        lower_fail(l, n, "write a, b = x, y", "one value for several names");
    }
    const tp_syntax *function = n->kind == TP_N_CALL ? lower_find_function(l, n->text) : NULL;
    if (function) {
        tp_thing *x = l->expand(l, function, n);
        if (x && x->kind == TP_THING_TUPLE)
            return x->items;
    }
    if (n->kind != TP_N_SEQUENCE)
        lower_fail(l, n, "write a, b = x, y", "one value for several names");
    for (uint32_t i = 0; i < n->nkids; i++) {
        tp_vid v = lower_copy_of_slot(l, lower_expr(l, n->kids[i]), n->kids[i]);
        tp_push(l->c->arena, out, lower_value_object(l, v));
    }
    return out;
}

/* Names, or names of the parts of one, get the items. */
static void unpack(tp_lower *l, const tp_node *target, tp_things items, const tp_node *value, const tp_place *b)
{
    if (items.len != target->nkids)
        lower_fail(l, value, NULL, "%u values for %u names", items.len, target->nkids);
    for (uint32_t i = 0; i < items.len; i++) {
        const tp_node *name = target->kids[i],
                      *own = value->kind == TP_N_SEQUENCE && i < value->nkids ? value->kids[i] : value;
        for (uint32_t k = 0; k < i; k++)
            if (name->kind == TP_N_NAME && tp_str_eq(name->text, target->kids[k]->text) && !tp_str_is(name->text, "_"))
                lower_fail(l, name, NULL, "a name appears twice");
        if (name->kind == TP_N_NAME)
            lower_bind(l, name, NULL, items.at[i], own, b);
        else if (items.at[i]->kind == TP_THING_TUPLE && l->reference)
            unpack(l, name, items.at[i]->items, own, b);
        else
            lower_fail(l, name, NULL, "one value for several names");
    }
}

void lower_unpack(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    for (uint32_t i = 0; i < s->target->nkids; i++)
        if (s->target->kids[i]->kind == TP_N_INDEX) /* of references they have become statements */
            lower_fail(l, s->target->kids[i], "store in a statement of its own", "several values go to several names");
    unpack(l, s->target, lower_several(l, s->value, s->target->nkids), s->value, b);
}

void lower_store_to(tp_lower *l, tp_access *a, uint32_t rank, const tp_expr *dims, tp_vid v, const tp_node *value,
                    const tp_node *target)
{
    const tp_operand *o = &l->k->operands[a->operand];
    if (o->role == TP_INPUT)
        lower_fail(l, target, "write to an output or to scratch", "`%.*s` is an input; inputs are read-only",
                   TP_FMT(o->name));
    v = lower_coerce(l, v, o->dtype, value);
    if (lower_value(l, v)->rank != 0 && !lower_same_shape(l, lower_value(l, v), rank, dims))
        lower_fail(l, value, "a store takes the exact shape or a scalar", "the value is %.*s, the place is %.*s",
                   TP_FMT(lower_type_text(l, v)), TP_FMT(lower_shape_text(l, rank, dims)));
    tp_statement *statement = lower_statement(l, TP_PUT);
    statement->access = a;
    statement->value = v;
}

/* References: a variable, or an output, with another part. */
static void lower_part(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    const tp_node *name = s->target->kids[0];
    tp_local *local = name->kind == TP_N_NAME ? lower_own_local(l, name->text) : NULL;
    if (!local || local->object)
        lower_fail(l, name,
                   l->calls ? "return the new value, and assign it where the function is called"
                            : "assign it first: o = zeros(shape, dtype)",
                   "only variables and outputs can be assigned parts");
    lower_check_shared(l, local->changed, name);
    tp_vid mask = lower_value(l, local->value)->rank ? lower_mask_of(l, local->value, s->target) : -1,
           part = mask >= 0      ? local->value
                  : s->augmented ? lower_value_part(l, local->value, s->target)
                                 : -1,
           v = lower_expr(l, s->value);
    if (mask >= 0 && lower_value(l, v)->rank)
        lower_fail(l, s->value, "use where(mask, v, x)", "a mask selects an unknown number of elements");
    if (s->augmented)
        v = augment(l, s, part, v);
    local = lower_own_local(l, name->text);
    if (local->literal && (tp_is_float(lower_value(l, v)->dtype) || lower_value(l, v)->dtype == TP_WEAK_FLOAT))
        lower_again(l, local);
    int operand = l->calls ? -1 : tp_operand_find(l->k, name->text);
    tp_dtype d = lower_value(l, v)->dtype;
    if (operand >= 0 && l->operand_integers[operand] && (tp_is_float(d) || d == TP_WEAK_FLOAT))
        lower_fail(l, s->value, "begin with zeros(shape), of reals",
                   "`%.*s` is an array of integers or bools, into which NumPy cuts reals", TP_FMT(name->text));
    lower_changed(l, local->name, local->memory, s);
    tp_thing *x = lower_value_object(l, mask >= 0 ? lower_masked_with(l, local->value, mask, v, s->value)
                                                  : lower_value_with(l, local->value, s->target, v, s->value));
    x->memory = local->memory;
    lower_bind(l, name, NULL, x, s->value, b);
}

void lower_store(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    if (l->reference) {
        lower_part(l, s, b);
        return;
    }
    tp_access *a = lower_access(l, s->target, &rank, dims);
    tp_vid old = s->augmented ? lower_load(l, a, rank, dims, s->target) : -1;
    tp_vid v = lower_expr(l, s->value);
    if (s->augmented)
        v = augment(l, s, old, v);
    lower_store_to(l, a, rank, dims, v, s->value, s->target);
}
