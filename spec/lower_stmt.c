/* Statements and scoping. */
#include "spec/lower.h"

/* `own` (may be NULL) receives the locals that the block leaves behind. */
static void lower_block(tp_lower *l, const tp_block *b, tp_region *into, tp_locals *own);

tp_statement *lower_statement(tp_lower *l, tp_statement_kind kind)
{
    tp_statement s = {.kind = kind, .syntax = l->syntax, .value = -1, .var = -1, .lo = -1, .hi = -1};
    tp_push(l->c->arena, *l->region, s);
    return &l->region->at[l->region->len - 1];
}

/* Where a block of statements is. */
typedef struct block block;
struct block {
    uint32_t at;
    tp_map nested;      /* by name: number of the last statement that assigns it in a block of its own */
    const block *outer; /* what is under a `with` belongs to the block around it */
};

/* Is the name assigned later, in a block of its own? */
static bool changes_later(const block *b, tp_str name)
{
    return b && (tp_map_get(&b->nested, name) > b->at || changes_later(b->outer, name));
}

static void note_assigned(tp_lower *l, const tp_block *b, uint32_t statement, tp_map *into)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (statement && s->kind == TP_S_ASSIGN)
            tp_map_set(l->c->arena, into, s->target->text, statement);
        if (statement && s->kind == TP_S_STORE && s->target->kids[0]->kind == TP_N_NAME)
            tp_map_set(l->c->arena, into, s->target->kids[0]->text, statement);
        for (uint32_t k = 0; statement && s->kind == TP_S_UNPACK && k < s->target->nkids; k++)
            tp_map_set(l->c->arena, into, s->target->kids[k]->text, statement);
        note_assigned(l, &s->body, statement ? statement : i + 1, into);
        note_assigned(l, &s->orelse, statement ? statement : i + 1, into);
    }
}

static void check_local_name(tp_lower *l, const tp_node *target)
{
    const tp_kernel *k = l->k;
    bool axis = false, table = tp_table_find(k, target->text) >= 0, dtype = tp_dtype_find(target->text) != TP_NO_DTYPE;
    for (uint32_t i = 0; i < k->naxes && !l->reference; i++) /* references have no axes */
        axis |= tp_str_eq(k->axes[i].name, target->text);
    for (uint32_t i = 0; i < k->ndtypes; i++)
        dtype |= tp_str_eq(k->dtypes[i].name, target->text);
    int operand = tp_operand_find(k, target->text);
    if (operand >= 0 && !l->reference)
        lower_fail(l, target, tp_printf(l->c->arena, "write %.*s[...] = …", TP_FMT(target->text)).p,
                   "`%.*s` is a ref, not a local", TP_FMT(target->text));
    bool constant = tp_named_number_find(k, target->text) != NULL;
    if (axis || table || dtype || constant || tp_size_find(k, target->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, target), "choose another name", "`%.*s` is already a %s",
                 TP_FMT(target->text),
                 axis       ? "grid axis"
                 : table    ? "table"
                 : dtype    ? "dtype"
                 : constant ? "constant"
                            : "size");
    if (operand < 0 && !lower_find_local(l, target->text) && !lower_is_function_word(l, target->text)) {
        tp_names none = {0};
        tp_scope_add(l->c, &none, target->text, TP_NAME_LOCAL, 0, tp_node_loc(l->c, target));
    }
}

tp_vid lower_copy_of_slot(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    if (!x->variable)
        return v;
    tp_vid copy = lower_new_value(l, x->dtype, x->rank, x->dims);
    lower_emit(l, TP_P_VARIABLE, copy, 1, &v, n);
    return copy;
}

static void assign_slot(tp_lower *l, tp_vid slot, tp_vid value)
{
    if (!lower_same_lengths(l, slot, value))
        tp_raise(l->c, TP_RULE_SPEC_TYPE, tp_json_place(l->syntax->line), "use another name, or loop over its elements",
                 "a name that outlives a block holds a slice whose size is not known from the sizes");
    tp_statement *s = lower_statement(l, TP_ASSIGN);
    s->var = slot;
    s->value = value;
}

static tp_vid new_variable(tp_lower *l, tp_dtype dtype, uint32_t rank, const tp_expr *dims)
{
    tp_vid v = lower_new_value(l, dtype, rank, dims);
    l->p->values.at[v].variable = true;
    return v;
}

static void define_local(tp_lower *l, const tp_node *target, const tp_node *value, tp_vid v, const block *b)
{
    tp_local *old = lower_find_local(l, target->text);
    bool slot = changes_later(b, target->text), literal = false;
    if (slot && l->reference && tp_is_weak(lower_value(l, v)->dtype)) {
        literal = lower_value(l, v)->dtype == TP_WEAK_INT && !tp_map_get(&l->promoted, target->text);
        v = lower_cast(l, v, literal ? TP_I32 : TP_F64, value);
    }
    if (slot && tp_is_weak(lower_value(l, v)->dtype))
        lower_fail(l, value, "give it a dtype, e.g. full((), 0, int32)", "`%.*s` changes later: a literal has no dtype",
                   TP_FMT(target->text));
    if (slot) {
        tp_vid var = new_variable(l, lower_value(l, v)->dtype, lower_value(l, v)->rank, lower_value(l, v)->dims);
        lower_lengths(l, var, v, NULL);
        assign_slot(l, var, v);
        v = var;
    } else {
        v = lower_copy_of_slot(l, v, value);
    }
    tp_push(l->c->arena, l->p->names, ((tp_named_value){target->text, v, false}));
    if (old && old->level == l->level) {
        old->value = v;
        old->is_slot = slot;
        old->literal = literal;
    } else {
        lower_push_local(l, (tp_local){.name = target->text,
                                       .value = v,
                                       .is_slot = slot,
                                       .literal = literal,
                                       .level = l->level,
                                       .node = target,
                                       .loc = tp_node_loc(l->c, target)});
    }
}

/* A name that began as an integer literal and holds reals: from the beginning, in another attempt. */
static void lower_again(tp_lower *l, const tp_local *old)
{
    tp_map_set(l->c->arena, &l->promoted, old->name, 1);
    l->again = true;
    tp_leave(l->c->arena, TP_E_INPUT);
}

/* target = v, which stands at `value` */
static void assign_value(tp_lower *l, const tp_node *target, const tp_node *note, tp_vid v, const tp_node *value,
                         const block *b)
{
    int operand = tp_operand_find(l->k, target->text);
    const tp_size *size = l->reference ? tp_size_find(l->k, target->text) : NULL;
    if (size && lower_value(l, v)->dtype == TP_WEAK_INT && lower_same_dim(l, lower_value(l, v)->meaning, size->expr))
        return; /* M, N = x.shape says what they are */
    check_local_name(l, target);
    if (operand >= 0 && l->k->operands[operand].role == TP_OUTPUT) { /* of a reference */
        const tp_operand *o = &l->k->operands[operand];
        tp_dtype d = lower_dtype(l, o->dtype);
        if (lower_is_ragged(l, v))
            lower_fail(l, value, "assign it to a slice between the same bounds",
                       "an output is assigned a slice whose size is not known from the sizes");
        v = lower_coerce(l, lower_promote(l, v, d, value), d, value);
        const tp_value *x = lower_value(l, v);
        if (x->rank && x->rank != o->rank)
            lower_fail(l, value, "use expand_dims or reshape",
                       "shape %.*s cannot be broadcast to %.*s: the ranks differ",
                       TP_FMT(lower_shape_text(l, x->rank, x->dims)), TP_FMT(lower_shape_text(l, o->rank, o->shape)));
        v = lower_broadcast(l, v, o->rank, o->shape, value);
    }
    if (note)
        lower_check_note(l, note, v);
    tp_local *old = lower_find_local(l, target->text);
    if (old && old->loop_variable)
        lower_fail(l, target, NULL, "`%.*s` is a loop variable", TP_FMT(old->name));
    if (!old || old->level == l->level) {
        define_local(l, target, value, v, b);
        return;
    }
    const tp_value *var = lower_value(l, old->value);
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
    assign_slot(l, old->value, v);
}

static tp_prim augmented_prim(tp_operator op);

/* old op= v */
static tp_vid augment(tp_lower *l, const tp_syntax *s, tp_vid old, tp_vid v)
{
    tp_prim prim = augmented_prim(s->op);
    if (prim == TP_PRIMS)
        lower_fail(l, s->target, NULL, "`%s=` is not a statement of bodies", tp_operator_text(s->op));
    return lower_binary(l, prim, old, v, s->value);
}

static void lower_assign(tp_lower *l, const tp_syntax *s, const block *b)
{
    tp_vid v;
    if (s->augmented && !lower_find_local(l, s->target->text) && tp_operand_find(l->k, s->target->text) < 0 &&
        tp_table_find(l->k, s->target->text) < 0 && !tp_size_find(l->k, s->target->text))
        lower_fail(l, s->target, "assign it first, e.g. zeros(shape, dtype)", "`%.*s` has no value yet",
                   TP_FMT(s->target->text));
    if (s->augmented) {
        tp_vid old = lower_expr(l, s->target);
        v = augment(l, s, old, lower_expr(l, s->value));
    } else {
        v = lower_expr(l, s->value);
    }
    assign_value(l, s->target, s->note, v, s->value, b);
}

/* Several values: written out, returned by a function, or the extents of an array. */
static tp_vids lower_several(tp_lower *l, const tp_node *n)
{
    tp_vids out = {0};
    const tp_syntax *function = n->kind == TP_N_CALL ? lower_find_function(l, n->text) : NULL;
    if (function)
        return lower_expand(l, function, n);
    if (n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "shape")) {
        uint32_t rank;
        const tp_expr *dims = lower_shape_of(l, n->kids[0], &rank);
        for (uint32_t d = 0; d < rank; d++) {
            tp_vid length = lower_length_of(l, n->kids[0], d);
            tp_push(l->c->arena, out, length >= 0 ? length : lower_weak_int(l, dims[d]));
        }
        return out;
    }
    if (n->kind != TP_N_SEQUENCE)
        lower_fail(l, n, "write a, b = x, y", "one value for several names");
    for (uint32_t i = 0; i < n->nkids; i++) {
        tp_vid v = lower_copy_of_slot(l, lower_expr(l, n->kids[i]), n->kids[i]);
        tp_push(l->c->arena, out, v);
    }
    return out;
}

static void lower_unpack(tp_lower *l, const tp_syntax *s, const block *b)
{
    tp_vids v = lower_several(l, s->value);
    if (v.len != s->target->nkids)
        lower_fail(l, s->value, NULL, "%u values for %u names", v.len, s->target->nkids);
    for (uint32_t i = 0; i < v.len; i++) {
        const tp_node *value = s->value->kind == TP_N_SEQUENCE ? s->value->kids[i] : s->value;
        for (uint32_t k = 0; k < i; k++)
            if (tp_str_eq(s->target->kids[i]->text, s->target->kids[k]->text))
                lower_fail(l, s->target->kids[i], NULL, "a name appears twice");
        assign_value(l, s->target->kids[i], NULL, v.at[i], value, b);
    }
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
static void lower_part(tp_lower *l, const tp_syntax *s, const block *b)
{
    const tp_node *name = s->target->kids[0];
    tp_local *local = name->kind == TP_N_NAME ? lower_find_local(l, name->text) : NULL;
    if (!local)
        lower_fail(l, name, "assign it first: o = zeros(shape, dtype)",
                   "only variables and outputs can be assigned parts");
    tp_vid part = s->augmented ? lower_value_part(l, local->value, s->target) : -1, v = lower_expr(l, s->value);
    if (s->augmented)
        v = augment(l, s, part, v);
    local = lower_find_local(l, name->text);
    if (local->literal && (tp_is_float(lower_value(l, v)->dtype) || lower_value(l, v)->dtype == TP_WEAK_FLOAT))
        lower_again(l, local);
    v = lower_value_with(l, local->value, s->target, v, s->value);
    assign_value(l, name, NULL, v, s->value, b);
}

static void lower_store(tp_lower *l, const tp_syntax *s, const block *b)
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

/* A name that both arms define with one type lives on after them. */
static void join_arms(tp_lower *l, tp_region *body, const tp_locals *then, tp_region *orelse, const tp_locals *other)
{
    tp_map second = {0};
    for (uint32_t k = 0; k < other->len; k++)
        tp_map_set(l->c->arena, &second, other->at[k].name, k + 1);
    for (uint32_t i = 0; i < then->len; i++) {
        tp_local a = then->at[i];
        uint32_t k = tp_map_get(&second, a.name);
        if (!k)
            continue;
        const tp_value *x = lower_value(l, a.value), *y = lower_value(l, other->at[k - 1].value);
        if (tp_is_weak(x->dtype) || x->dtype != y->dtype || !lower_same_shape(l, y, x->rank, x->dims) ||
            lower_is_ragged(l, a.value) || lower_is_ragged(l, other->at[k - 1].value))
            continue;
        tp_vid var = new_variable(l, x->dtype, x->rank, x->dims);
        l->region = body;
        assign_slot(l, var, a.value);
        l->region = orelse;
        assign_slot(l, var, other->at[k - 1].value);
        lower_push_local(l, (tp_local){.name = a.name, .value = var, .is_slot = true, .level = l->level, .loc = a.loc});
    }
}

/* References, as Python: an integer is true where it is not 0. */
static tp_vid truth_of(tp_lower *l, tp_vid v, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    bool integer = l->reference && x->rank == 0 && (x->dtype == TP_WEAK_INT || tp_is_int(x->dtype));
    return integer ? lower_binary(l, TP_P_NE, v, lower_weak_int(l, tp_const(l->k->exprs, 0)), n) : v;
}

/* The condition of a statement; help: what to do with an array. */
static tp_vid lower_condition(tp_lower *l, const tp_node *n, const char *help)
{
    tp_vid c = truth_of(l, lower_expr(l, n), n);
    const tp_value *x = lower_value(l, c);
    if (x->dtype != TP_BOOL || x->rank != 0)
        lower_fail(l, n, help, "a condition is a scalar bool, not %.*s", TP_FMT(lower_type_text(l, c)));
    return c;
}

static void lower_if(tp_lower *l, const tp_syntax *s)
{
    tp_vid c = lower_condition(l, s->value, "use where on arrays");
    tp_region *outer = l->region, body = {0}, orelse = {0};
    tp_locals then = {0}, other = {0};
    lower_block(l, &s->body, &body, &then);
    lower_block(l, &s->orelse, &orelse, &other);
    l->syntax = s;
    join_arms(l, &body, &then, &orelse, &other);
    l->region = outer;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = c;
    statement->body = body;
    statement->orelse = orelse;
}

static bool is_of_sizes(const tp_lower *l, tp_expr e)
{
    for (uint32_t i = 0; i < l->k->naxes; i++)
        if (e.id && tp_expr_mentions(l->k->exprs, e, l->k->axes[i].sym))
            return false;
    return e.id != 0;
}

tp_vid lower_conditional(tp_lower *l, const tp_node *n)
{
    tp_exprs *p = l->k->exprs;
    tp_vid c = truth_of(l, lower_expr(l, n->kids[0]), n->kids[0]), v[2];
    const tp_value *x = lower_value(l, c);
    if (x->dtype != TP_BOOL || x->rank != 0)
        lower_fail(l, n->kids[0], x->rank ? "use where on arrays" : "compare it: flag != 0",
                   "a condition is a scalar bool, not %.*s", TP_FMT(lower_type_text(l, c)));
    tp_region *outer = l->region, arm[2] = {0};
    uint32_t first = l->p->values.len;
    for (int i = 0; i < 2; i++) {
        l->region = &arm[i];
        v[i] = lower_expr(l, n->kids[i + 1]);
    }
    tp_dtype d[2] = {lower_value(l, v[0])->dtype, lower_value(l, v[1])->dtype};
    x = lower_value(l, c);
    if (d[0] == TP_WEAK_INT && d[1] == TP_WEAK_INT && is_of_sizes(l, x->meaning)) {
        tp_expr chosen = tp_ite(p, x->meaning, lower_value(l, v[0])->meaning, lower_value(l, v[1])->meaning);
        for (uint32_t i = first; i < l->p->values.len; i++) /* of an arm alone, which need not be taken */
            if (l->p->values.at[i].dtype == TP_WEAK_INT)
                l->p->values.at[i].meaning = tp_const(p, 0);
        l->region = outer;
        return lower_weak_int(l, chosen);
    }
    if (tp_is_weak(d[0]) && tp_is_weak(d[1]) && !l->reference)
        lower_fail(l, n, "give one arm a dtype, e.g. full((), 1, float32)", "the choice of two literals has no dtype");
    tp_dtype wide = tp_is_float(d[0]) || tp_is_float(d[1]) || d[0] == TP_WEAK_FLOAT || d[1] == TP_WEAK_FLOAT ? TP_F64
                    : d[0] == TP_BOOL && d[1] == TP_BOOL                                                     ? TP_BOOL
                                                                                                             : TP_I32;
    tp_dtype to = l->reference ? wide : tp_is_weak(d[0]) ? d[1] : d[0];
    uint32_t most = lower_value(l, v[0])->rank >= lower_value(l, v[1])->rank ? 0 : 1;
    tp_vid var = -1;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t at = i ? !most : most;
        l->region = &arm[at];
        v[at] = lower_coerce(l, lower_promote(l, v[at], to, n->kids[at + 1]), to, n->kids[at + 1]);
        const tp_value *y = lower_value(l, v[at]);
        if (!i)
            var = new_variable(l, to, y->rank, y->dims);
        else
            v[at] = lower_broadcast(l, v[at], lower_value(l, var)->rank, lower_value(l, var)->dims, n->kids[at + 1]);
        assign_slot(l, var, v[at]);
    }
    l->region = outer;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = c;
    statement->body = arm[0];
    statement->orelse = arm[1];
    return lower_copy_of_slot(l, var, n);
}

static tp_vid loop_bound(tp_lower *l, const tp_node *n)
{
    tp_vid v = lower_expr(l, n);
    const tp_value *x = lower_value(l, v);
    if (x->rank || (x->dtype != TP_WEAK_INT && x->dtype != TP_I32))
        lower_fail(l, n, "use sizes, literals or int32 scalars", "a loop bound is an integer scalar, not %.*s",
                   TP_FMT(lower_type_text(l, v)));
    return lower_coerce(l, v, TP_I32, n);
}

/* A loop over a range, with what the counter is behind it. */
static bool lower_counting(tp_lower *l, const tp_syntax *s)
{
    const tp_node *below;
    const tp_local *t = lower_counter(l, s, &below);
    if (!t)
        return false;
    tp_vid slot = t->value, lo = lower_copy_of_slot(l, slot, s->value), hi = loop_bound(l, below);
    tp_local turn = *t;
    turn.value = new_variable(l, TP_I32, 0, NULL);
    turn.level = l->level + 1;
    tp_block but_last = s->body;
    but_last.len--;
    uint32_t mark = l->locals.len;
    lower_push_local(l, turn);
    tp_region *outer = l->region, body = {0};
    lower_block(l, &but_last, &body, NULL);
    lower_drop_locals(l, mark);
    l->region = outer;
    l->syntax = s;
    *lower_statement(l, TP_LOOP) = (tp_statement){
        .kind = TP_LOOP, .syntax = s, .var = turn.value, .lo = lo, .hi = hi, .by = 1, .value = -1, .body = body};
    assign_slot(l, slot, lower_binary(l, TP_P_MAXIMUM, lo, hi, s->value));
    return true;
}

static void lower_while(tp_lower *l, const tp_syntax *s)
{
    if (!l->reference && lower_counting(l, s))
        return;
    tp_region *outer = l->region, test = {0}, body = {0};
    l->region = &test;
    tp_vid c = lower_condition(l, s->value, "reduce it with any or all");
    lower_block(l, &s->body, &body, NULL);
    l->region = outer;
    l->syntax = s;
    tp_statement *statement = lower_statement(l, TP_WHILE);
    statement->value = c;
    statement->test = test;
    statement->body = body;
}

static void push_loop_variable(tp_lower *l, const tp_node *name, tp_vid v, bool slot)
{
    if (name->kind != TP_N_NAME)
        lower_fail(l, name, NULL, "one loop variable is expected");
    check_local_name(l, name);
    if (lower_find_local(l, name->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, name), "choose another name", "`%.*s` is already a local",
                 TP_FMT(name->text));
    tp_push(l->c->arena, l->p->names, ((tp_named_value){name->text, v, true}));
    lower_push_local(l, (tp_local){.name = name->text,
                                   .value = v,
                                   .level = l->level + 1,
                                   .node = name,
                                   .loc = tp_node_loc(l->c, name),
                                   .loop_variable = true,
                                   .is_slot = slot});
}

/* for h in (0, 1, 2): the body, once for each. */
static void lower_each(tp_lower *l, const tp_syntax *s)
{
    tp_region *outer = l->region;
    bool several = s->target->kind == TP_N_SEQUENCE;
    for (uint32_t i = 0; i < s->value->nkids; i++) {
        const tp_node *item = s->value->kids[i];
        uint32_t mark = l->locals.len;
        l->syntax = s;
        l->region = outer;
        if (several && (item->kind != TP_N_SEQUENCE || item->nkids != s->target->nkids))
            lower_fail(l, item, NULL, "%u values are expected", s->target->nkids);
        for (uint32_t k = 0; k < (several ? item->nkids : 1u); k++) {
            const tp_node *value = several ? item->kids[k] : item;
            tp_vid v = lower_copy_of_slot(l, lower_expr(l, value), value);
            push_loop_variable(l, several ? s->target->kids[k] : s->target, v, false);
        }
        lower_block(l, &s->body, outer, NULL);
        lower_drop_locals(l, mark);
    }
    l->region = outer;
}

static void lower_for(tp_lower *l, const tp_syntax *s)
{
    const tp_node *r = s->value;
    if (r->kind == TP_N_SEQUENCE) {
        lower_each(l, s);
        return;
    }
    if (r->kind != TP_N_CALL || !tp_str_is(r->text, "range") || r->nkids < 1 || r->nkids > 3)
        lower_fail(l, r, "write: for t in range(lo, hi):", "a loop runs over range(...) or over values in parentheses");
    tp_vid lo = r->nkids == 1 ? lower_cast(l, lower_weak_int(l, tp_const(l->k->exprs, 0)), TP_I32, r)
                              : loop_bound(l, r->kids[0]);
    tp_vid hi = loop_bound(l, r->kids[r->nkids == 1 ? 0 : 1]);
    int64_t by = r->nkids == 3 ? lower_literal_int(l, r->kids[2], "the step of a range") : 1;
    if (by == 0)
        lower_fail(l, r->kids[2], NULL, "the step of a range is not zero");
    tp_vid var = new_variable(l, TP_I32, 0, NULL);
    uint32_t mark = l->locals.len;
    push_loop_variable(l, s->target, var, true);
    tp_region *outer = l->region, body = {0};
    lower_block(l, &s->body, &body, NULL);
    lower_drop_locals(l, mark);
    l->region = outer;
    l->syntax = s;
    tp_statement *statement = lower_statement(l, TP_LOOP);
    statement->var = var;
    statement->lo = lo;
    statement->hi = hi;
    statement->by = by;
    statement->body = body;
}

static void lower_effect(tp_lower *l, const tp_syntax *s)
{
    static const char *const PARAMS[] = {"c", "text", NULL};
    const tp_node *args[2];
    const tp_syntax *function = lower_find_function(l, s->value->text);
    if (function) {
        lower_expand(l, function, s->value);
        return;
    }
    if (tp_str_is(s->value->text, "store")) {
        lower_masked_store(l, s->value);
        return;
    }
    if (lower_movement(l, s->value))
        return;
    if (tp_str_is(s->value->text, "prng_seed") && !l->reference) {
        lower_seed(l, s->value);
        return;
    }
    if (!tp_str_is(s->value->text, "check")) {
        if (tp_prim_find(s->value->text) != TP_PRIMS)
            lower_fail(l, s->value, "assign it or store it", "this statement has no effect");
        lower_call(l, s->value); /* says what is wrong with it */
        lower_fail(l, s->value, "assign it or store it", "this statement has no effect");
    }
    lower_bind_args(l, s->value, 0, PARAMS, 2, args);
    tp_vid c = lower_expr(l, args[0]);
    if (lower_value(l, c)->dtype != TP_BOOL)
        lower_fail(l, args[0], NULL, "check takes a bool, not %.*s", TP_FMT(lower_type_text(l, c)));
    if (args[1]->kind != TP_N_STRING)
        lower_fail(l, args[1], NULL, "the text of a check is a string in quotes");
    tp_statement *statement = lower_statement(l, TP_ASSERT);
    statement->value = c;
    statement->text = args[1]->text;
}

/* ---- functions ---- */

static void lower_def(tp_lower *l, const tp_syntax *s)
{
    const tp_node *f = s->value;
    tp_names none = {0};
    if (f->kind != TP_N_CALL)
        lower_fail(l, f, "write def name(a, b):", "a function has a name and parameters");
    if (l->level || l->calls)
        lower_fail(l, f, "define it before the first statement that uses it",
                   "functions are defined at the outer level");
    check_local_name(l, f);
    if (l->reference)
        tp_scope_add(l->c, &none, f->text, TP_NAME_LOCAL, 0, tp_node_loc(l->c, f)); /* no function of the language */
    if (lower_find_function(l, f->text) || lower_find_local(l, f->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, f), "choose another name", "`%.*s` is already taken",
                 TP_FMT(f->text));
    for (uint32_t i = 0; i < f->nkids; i++) {
        const tp_node *p = f->kids[i], *number = p->kind == TP_N_KEYWORD ? p->kids[0] : NULL;
        number = number && number->kind == TP_N_UNARY ? number->kids[0] : number;
        if (number && (!l->reference || (number->kind != TP_N_INT && number->kind != TP_N_FLOAT)))
            lower_fail(l, p, "pass it where the function is called", "a default is a number, in references");
        if (!number && p->kind != TP_N_NAME)
            lower_fail(l, p, NULL, "a parameter is a name");
        check_local_name(l, f->kids[i]);
        if (!lower_is_function_word(l, f->kids[i]->text))
            tp_scope_add(l->c, &none, f->kids[i]->text, TP_NAME_LOCAL, 0, tp_node_loc(l->c, f->kids[i]));
    }
    tp_push(l->c->arena, l->functions, s);
}

const tp_syntax *lower_find_function(const tp_lower *l, tp_str name)
{
    for (uint32_t i = 0; i < l->functions.len; i++)
        if (tp_str_eq(l->functions.at[i]->value->text, name))
            return l->functions.at[i];
    return NULL;
}

static bool ends_function(const tp_lower *l, const tp_syntax *s)
{
    for (uint32_t i = 0; i < l->functions.len; i++) {
        const tp_block *body = &l->functions.at[i]->body;
        if (body->at[body->len - 1] == s)
            return true;
    }
    return false;
}

/* outer: where the block is whose statements these are, too; NULL: they have one of their own. */
static void lower_under(tp_lower *l, const tp_block *b, tp_region *into, const block *outer);

static void lower_with(tp_lower *l, const tp_syntax *s, const block *b)
{
    tp_region *here = l->region;
    tp_scope scope = lower_scope_of(l, s);
    lower_statement(l, TP_ENTER)->scope = scope;
    memset(l->open + scope.first, true, scope.n);
    lower_under(l, &s->body, here, b);
    memset(l->open + scope.first, false, scope.n);
    l->region = here;
    l->syntax = s;
    lower_statement(l, TP_LEAVE)->scope = scope;
}

static void lower_under(tp_lower *l, const tp_block *b, tp_region *into, const block *outer)
{
    block here = {.outer = outer};
    tp_vids results = {0};
    note_assigned(l, b, 0, &here.nested);
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        here.at = i;
        l->syntax = s;
        l->region = into;
        if (l->p->nstatements++ == TP_MAX_STATEMENTS)
            lower_fail(l, s->value, NULL, "the functions expand to more than %d statements", TP_MAX_STATEMENTS);
        switch (s->kind) {
        case TP_S_ASSIGN: lower_assign(l, s, &here); break;
        case TP_S_STORE: lower_store(l, s, &here); break;
        case TP_S_UNPACK: lower_unpack(l, s, &here); break;
        case TP_S_PASS: break;
        case TP_S_EXPR: lower_effect(l, s); break;
        case TP_S_IF: lower_if(l, s); break;
        case TP_S_FOR: lower_for(l, s); break;
        case TP_S_WHILE: lower_while(l, s); break;
        case TP_S_DEF: lower_def(l, s); break;
        case TP_S_WITH: lower_with(l, s, &here); break;
        case TP_S_RETURN:
            if (!l->calls || !ends_function(l, s))
                lower_fail(l, s->value, "assign the result to a name and return that at the end",
                           "`return` is the last statement of a function");
            l->returned = (tp_vids){0};
            for (uint32_t k = 0; k < (s->value->kind == TP_N_SEQUENCE ? s->value->nkids : 1u); k++) {
                tp_vid v = lower_expr(l, s->value->kind == TP_N_SEQUENCE ? s->value->kids[k] : s->value);
                tp_push(l->c->arena, results, v);
            }
            l->returned = results;
            break;
        }
    }
}

void lower_statements(tp_lower *l, const tp_block *b, tp_region *into)
{
    lower_under(l, b, into, NULL);
}

static void lower_block(tp_lower *l, const tp_block *b, tp_region *into, tp_locals *own)
{
    uint32_t mark = l->locals.len;
    l->level++;
    lower_statements(l, b, into);
    l->level--;
    for (uint32_t i = mark; own && i < l->locals.len; i++)
        tp_push(l->c->arena, *own, l->locals.at[i]);
    lower_drop_locals(l, mark);
}

/* A parameter is a local of its own, as wide as what is passed. */
static tp_local bind_parameter(tp_lower *l, const tp_map *nested, const tp_node *name, const tp_node *argument)
{
    tp_vid v = lower_copy_of_slot(l, lower_expr(l, argument), argument);
    const tp_value *x = lower_value(l, v);
    bool slot = tp_map_get(nested, name->text) && !tp_is_weak(x->dtype);
    if (slot) {
        tp_vid var = new_variable(l, x->dtype, x->rank, x->dims);
        assign_slot(l, var, v);
        v = var;
    }
    return (tp_local){
        .name = name->text, .value = v, .is_slot = slot, .level = l->level + 1, .loc = tp_node_loc(l->c, name)};
}

/* By parameter: what is passed, or its default. */
static const tp_node **bind_arguments(tp_lower *l, const tp_node *head, const tp_node *call)
{
    const tp_node **out = TP_NEWN(l->c->arena, const tp_node *, head->nkids);
    const char **names = TP_NEWN(l->c->arena, const char *, head->nkids + 1);
    uint32_t required = 0;
    for (uint32_t i = 0; i < head->nkids; i++) {
        names[i] = tp_cstr(l->c->arena, head->kids[i]->text);
        required = head->kids[i]->kind == TP_N_NAME ? i + 1 : required;
    }
    if (call->nkids > head->nkids || (call->nkids < required && !l->reference))
        lower_fail(l, call, NULL, "`%.*s` takes %u argument%s, not %u", TP_FMT(head->text), head->nkids,
                   head->nkids == 1 ? "" : "s", call->nkids);
    lower_bind_args(l, call, 0, names, required, out);
    for (uint32_t i = 0; i < head->nkids; i++)
        out[i] = out[i] ? out[i] : head->kids[i]->kids[0];
    return out;
}

tp_vids lower_expand(tp_lower *l, const tp_syntax *function, const tp_node *call)
{
    const tp_node *head = function->value;
    const tp_syntax *syntax = l->syntax;
    tp_region *region = l->region;
    uint32_t base = l->base, mark = l->locals.len;
    tp_locals parameters = {0};
    const tp_node **arguments = bind_arguments(l, head, call);
    if (l->calls == TP_MAX_CALLS)
        lower_fail(l, call, "functions are expanded where they are called; they cannot call themselves",
                   "calls of functions are nested too deep");
    tp_map nested = {0};
    note_assigned(l, &function->body, 0, &nested);
    for (uint32_t i = 0; i < head->nkids; i++)
        tp_push(l->c->arena, parameters, bind_parameter(l, &nested, head->kids[i], arguments[i]));
    for (uint32_t i = 0; i < parameters.len; i++)
        lower_push_local(l, parameters.at[i]);
    bool *open = l->open; /* a function sees no buffers of a `with` around its call */
    l->open = lower_open(l);
    l->base = mark;
    l->calls++;
    l->level++;
    tp_vids before = l->returned;
    l->returned = (tp_vids){0};
    lower_statements(l, &function->body, region);
    tp_vids result = l->returned;
    l->returned = before;
    l->level--;
    l->calls--;
    l->base = base;
    l->open = open;
    lower_drop_locals(l, mark);
    l->region = region;
    l->syntax = syntax;
    return result;
}
