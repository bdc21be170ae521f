/* Expressions of references that are more than the value of an operation: lists, functions, None, texts, and what is
 * decided by them. */
#include "spec/lower.h"

/* ---- what may share elements ---- */

static uint32_t *memory_under(tp_lower *l, const tp_node *n)
{
    tp_local *local = n->prefixed ? NULL : lower_find_local(l, n->text);
    int operand = local || n->prefixed ? -1 : tp_operand_find(l->k, n->text);
    if (local && local->object)
        return local->object->kind == TP_THING_VALUE || local->object->kind == TP_THING_ROWS ? &local->object->memory
                                                                                             : NULL;
    return local ? &local->memory : operand >= 0 ? &l->operand_memory[tp_array_of(l->k, (uint32_t)operand)] : NULL;
}

uint32_t lower_memory_of(tp_lower *l, const tp_node *n)
{
    static const char *const VIEWS[] = {"reshape", "ravel",         "transpose", "swapaxes",     "squeeze",
                                        "asarray", "expand_dims",   "view",      "broadcast_to", "flip",
                                        "flatten", "stop_gradient", "moveaxis"};
    if (n->kind == TP_N_NAME) {
        uint32_t *memory = memory_under(l, n);
        if (memory && !*memory)
            *memory = ++l->nmemories;
        return memory ? *memory : 0;
    }
    if (n->kind == TP_N_INDEX || (n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "T")))
        return lower_memory_of(l, n->kids[0]);
    bool call = n->kind == TP_N_CALL, turned = call && tp_str_is(n->text, "einsum") && n->nkids == 2;
    const tp_node *x = n->nkids && n->kind == TP_N_METHOD && tp_str_is(n->text, "astype") ? n->kids[0] : NULL;
    if (turned || (x && x->kind == TP_N_CALL && tp_str_is(x->text, "asarray"))) /* asarray(x, dtype=t) */
        return lower_memory_of(l, turned ? n->kids[1] : x);
    if (call && tp_str_is(n->text, "array") && n->nkids > 1) /* array(x, copy=False) */
        return lower_memory_of(l, n->kids[0]);
    for (size_t i = 0; (n->kind == TP_N_CALL || n->kind == TP_N_METHOD) && n->nkids && i < sizeof VIEWS / sizeof *VIEWS;
         i++)
        if (tp_str_is(n->text, VIEWS[i]))
            return lower_memory_of(l, n->kids[0]);
    return 0;
}

static bool holds(const tp_thing *x, uint32_t memory)
{
    bool found = x->memory == memory;
    for (uint32_t i = 0; i < x->items.len && !found; i++)
        found = holds(x->items.at[i], memory);
    return found;
}

static void rename(tp_thing *x, uint32_t from, uint32_t to)
{
    x->memory = x->memory == from ? to : x->memory;
    for (uint32_t i = 0; i < x->items.len; i++)
        rename(x->items.at[i], from, to);
}

uint32_t lower_one_memory(tp_lower *l, uint32_t a, uint32_t b)
{
    if (!a || !b || a == b)
        return a ? a : b;
    l->njoined++;
    for (uint32_t i = 0; i < l->locals.len; i++) {
        if (l->locals.at[i].memory == b)
            l->locals.at[i].memory = a;
        if (l->locals.at[i].object)
            rename(l->locals.at[i].object, b, a);
    }
    for (uint32_t i = 0; i < tp_noperands(l->k); i++)
        if (l->operand_memory[i] == b)
            l->operand_memory[i] = a;
    return a;
}

static bool mentions(const tp_node *n, tp_str name)
{
    bool found = n && n->kind == TP_N_NAME && tp_str_eq(n->text, name);
    for (uint32_t i = 0; n && i < n->nkids && !found; i++)
        found = mentions(n->kids[i], name);
    return found;
}

static bool block_mentions(const tp_block *b, tp_str name)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (mentions(s->target, name) || mentions(s->value, name) || block_mentions(&s->body, name) ||
            block_mentions(&s->orelse, name))
            return true;
    }
    return false;
}

/* Does the block change the name in place? */
static bool block_changes(const tp_block *b, tp_str name)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        const tp_node *x = s->kind == TP_S_STORE ? s->target->kids[0] : s->augmented ? s->target : NULL;
        if ((x && x->kind == TP_N_NAME && tp_str_eq(x->text, name)) || block_changes(&s->body, name) ||
            block_changes(&s->orelse, name))
            return true;
    }
    return false;
}

/* In a loop what comes before may be looked at again; a name that the loop itself makes is made again before. */
static void check_loops(tp_lower *l, tp_str name, uint32_t level, const tp_syntax *s)
{
    for (const tp_repeat *t = l->turns; t; t = t->outer)
        if (t->syntax && level <= t->level && block_mentions(&t->syntax->body, name))
            lower_fail_shared(l, tp_json_place(s->line), name, s);
}

void lower_check_lasting(tp_lower *l, tp_str name, uint32_t memory)
{
    for (const tp_repeat *t = l->turns; t && memory; t = t->outer)
        for (uint32_t i = 0; t->syntax && i < l->locals.len;
             i++) /* what the loop makes is made again in the next turn */
            if (l->locals.at[i].memory == memory && l->locals.at[i].level <= t->level &&
                block_changes(&t->syntax->body, l->locals.at[i].name))
                lower_fail_shared(l, tp_json_place(l->syntax->line), name, t->syntax);
}

void lower_changed(tp_lower *l, tp_str name, uint32_t memory, const tp_syntax *s)
{
    const tp_local *own = lower_own_local(l, name);
    if (!memory)
        return;
    for (uint32_t i = 0; i < l->locals.len; i++) {
        tp_local *other = &l->locals.at[i];
        if (other == own || !(other->object ? holds(other->object, memory) : other->memory == memory))
            continue;
        check_loops(l, other->name, other->level, s);
        other->changed = s;
    }
    for (uint32_t i = 0; i < tp_noperands(l->k); i++)
        if (l->operand_memory[tp_array_of(l->k, i)] == memory) {
            if (!lower_own_local(l, l->k->operands[i].name) && !tp_str_eq(l->k->operands[i].name, name))
                check_loops(l, l->k->operands[i].name, 0, s);
            l->operand_changed[i] = s;
        }
    for (const tp_repeat *t = l->turns; t; t = t->outer) /* and what loops run over */
        if (t->memory == memory)
            lower_fail_shared(l, tp_json_place(s->line), name, s);
}

/* ---- conditions that the text decides ---- */

static bool compare(tp_prim p, double x, double y)
{
    return p == TP_P_EQ   ? x == y
           : p == TP_P_NE ? x != y
           : p == TP_P_LT ? x < y
           : p == TP_P_LE ? x <= y
           : p == TP_P_GT ? x > y
                          : x >= y;
}

static bool value_known(tp_lower *l, tp_vid v, bool *truth)
{
    const tp_value *x = lower_value(l, v);
    const tp_inst *made = (uint32_t)v < l->made.len ? l->made.at[v] : NULL;
    double a, b;
    int64_t i;
    if (x->rank || x->variable)
        return false;
    if (x->meaning.id && tp_expr_is_const(l->k->exprs, x->meaning, &i)) {
        *truth = i != 0;
        return true;
    }
    if (lower_number(l, v, &a)) {
        *truth = a != 0;
        return true;
    }
    bool compares = made && made->nargs == 2 && made->prim >= TP_P_EQ && made->prim <= TP_P_GE;
    if (!compares || !lower_number(l, made->args[0], &a) || !lower_number(l, made->args[1], &b))
        return false;
    *truth = compare(made->prim, a, b);
    return true;
}

/* x is None, text == "relu"; false: it is no comparison of objects */
static bool object_known(tp_lower *l, const tp_node *n, bool *truth)
{
    bool is = n->op == TP_O_IS || n->op == TP_O_ISNOT, equal = n->op == TP_O_EQ || n->op == TP_O_NE;
    if (n->kind != TP_N_BINARY || (!is && !equal))
        return false;
    bool texts = n->kids[0]->kind == TP_N_STRING || n->kids[1]->kind == TP_N_STRING,
         none = n->kids[1]->kind == TP_N_NAME && tp_str_is(n->kids[1]->text, "None");
    if (is && !none)
        lower_fail(l, n, "write x is None, or ==", "`is` asks whether something is None");
    if (!texts && !none)
        return false;
    tp_thing *x = lower_object(l, n->kids[0]), *y = lower_object(l, n->kids[1]);
    bool same = none ? x->kind == TP_THING_NONE
                     : x->kind == TP_THING_TEXT && y->kind == TP_THING_TEXT && tp_str_eq(x->text, y->text);
    if (!is && none && x->kind == TP_THING_VALUE)
        lower_fail(l, n, "write x is None", "an array is compared with None");
    *truth = same == (n->op == TP_O_IS || n->op == TP_O_EQ);
    return true;
}

static tp_vid scalar_bool(tp_lower *l, tp_vid v, const tp_node *n, const char *op)
{
    const tp_value *x = lower_value(l, v);
    if (x->dtype != TP_BOOL || x->rank)
        lower_fail(l, n, "use & | ~ on arrays", "`%s` takes scalar bools, not %.*s", op, TP_FMT(lower_type_text(l, v)));
    return v;
}

/* a and b, a or b: b is looked at where a does not decide. */
static bool connective_known(tp_lower *l, const tp_node *n, bool *truth, tp_vid *v)
{
    tp_vid left, right;
    bool decides = n->op == TP_O_OR, other;
    if (lower_known(l, n->kids[0], truth, &left))
        return *truth == decides || lower_known(l, n->kids[1], truth, v);
    left = scalar_bool(l, left, n->kids[0], tp_operator_text(n->op));
    if (lower_known(l, n->kids[1], &other, &right))
        right = lower_literal(l, TP_BOOL, other, n->kids[1]);
    right = scalar_bool(l, right, n->kids[1], tp_operator_text(n->op));
    *v = lower_binary(l, decides ? TP_P_OR : TP_P_AND, left, right, n);
    return false;
}

bool lower_known(tp_lower *l, const tp_node *n, bool *truth, tp_vid *v)
{
    *v = -1;
    if (object_known(l, n, truth))
        return true;
    if (n->kind == TP_N_BINARY && (n->op == TP_O_AND || n->op == TP_O_OR))
        return connective_known(l, n, truth, v);
    if (n->kind == TP_N_UNARY && n->op == TP_O_NOT) {
        bool known = lower_known(l, n->kids[0], truth, v);
        *truth = known && !*truth;
        if (!known)
            *v = lower_unary(l, TP_P_INVERT, scalar_bool(l, *v, n->kids[0], "not"), n);
        return known;
    }
    tp_thing *x = lower_object(l, n);
    *v = x->value;
    switch (x->kind) {
    case TP_THING_VALUE: return value_known(l, x->value, truth);
    case TP_THING_TUPLE: *truth = x->items.len > 0; return true;
    case TP_THING_TEXT: *truth = x->text.n > 0; return true;
    case TP_THING_FUNCTION: *truth = true; return true;
    case TP_THING_NONE: *truth = false; return true;
    case TP_THING_ROWS: break;
    }
    lower_fail(l, n, "compare its length", "a list as a condition");
}

/* ---- expressions ---- */

static tp_thing *name_object(tp_lower *l, const tp_node *n)
{
    tp_local *local = n->prefixed ? NULL : lower_find_local(l, n->text);
    bool taken = tp_operand_find(l->k, n->text) >= 0 || tp_table_find(l->k, n->text) >= 0 ||
                 tp_size_find(l->k, n->text) || tp_named_number_find(l->k, n->text);
    if (local && local->object) {
        if (local->object->kind == TP_THING_ROWS || local->object->kind == TP_THING_TUPLE)
            lower_check_shared(l, local->changed, n);
        for (tp_repeat *t = l->turns; t && local->object->open; t = t->outer)
            if (t == local->object->open)
                lower_fail(l, n, "look at it behind the loop", "the list `%.*s` grows in this loop", TP_FMT(n->text));
        return local->object;
    }
    if (local || (taken && !n->prefixed))
        return NULL;
    if (tp_str_is(n->text, "None"))
        return lower_none(l);
    if (!lower_is_function_word(l, n->text))
        return NULL;
    tp_thing *x = lower_new_thing(l, TP_THING_FUNCTION);
    tp_function *f = TP_NEW(l->c->arena, tp_function);
    *f = (tp_function){.kind = TP_FUNCTION_WORD, .text = n->text};
    x->function = f;
    return x;
}

static tp_thing *sequence_object(tp_lower *l, const tp_node *n)
{
    tp_thing **items = TP_NEWN(l->c->arena, tp_thing *, n->nkids);
    for (uint32_t i = 0; i < n->nkids; i++)
        items[i] = lower_frozen(l, lower_object(l, n->kids[i]), n->kids[i]);
    return lower_tuple(l, n->nkids, items);
}

/* x.shape */
static tp_thing *shape_object(tp_lower *l, const tp_node *n)
{
    uint32_t rank;
    const tp_expr *dims = lower_shape_of(l, n->kids[0], &rank);
    tp_thing *out = lower_tuple(l, 0, NULL);
    for (uint32_t d = 0; d < rank; d++) {
        tp_vid length = lower_length_of(l, n->kids[0], d);
        tp_push(l->c->arena, out->items, lower_value_object(l, length >= 0 ? length : lower_weak_int(l, dims[d])));
    }
    return out;
}

/* Where a bound of a slice of a list lies. */
static int64_t list_bound(tp_lower *l, const tp_node *n, int64_t otherwise, int64_t length)
{
    if (n->kind == TP_N_ABSENT)
        return otherwise;
    int64_t at = lower_literal_int(l, n, "the bound of a slice of a list");
    at += at < 0 ? length : 0;
    return at < 0 ? 0 : at > length ? length : at;
}

/* xs[1], xs[-1], xs[1:] of a list */
static tp_thing *item_object(tp_lower *l, const tp_thing *x, const tp_node *n)
{
    const tp_node *by = n->kids[1];
    if (n->nkids == 2 && by->kind == TP_N_SLICE && by->kids[2]->kind == TP_N_ABSENT) {
        int64_t lo = list_bound(l, by->kids[0], 0, x->items.len),
                hi = list_bound(l, by->kids[1], x->items.len, x->items.len);
        return lower_tuple(l, hi > lo ? (uint32_t)(hi - lo) : 0, x->items.at + lo);
    }
    if (n->nkids != 2 || by->kind == TP_N_SLICE || by->kind == TP_N_COLON)
        lower_fail(l, n, "name its elements one by one", "a list is subscripted by one integer");
    int64_t i = lower_literal_int(l, n->kids[1], "the index of a list"), at = i < 0 ? i + x->items.len : i;
    if (at < 0 || at >= x->items.len)
        lower_fail(l, n->kids[1], NULL, "element %lld of a list of %u", (long long)i, x->items.len);
    return x->items.at[at];
}

/* (M, N) == x.shape */
static tp_thing *equal_lists(tp_lower *l, const tp_node *n)
{
    tp_thing *x = lower_object(l, n->kids[0]), *y = lower_object(l, n->kids[1]);
    if (x->kind != TP_THING_TUPLE || y->kind != TP_THING_TUPLE)
        lower_fail(l, n, NULL, "a list is compared with what is none");
    bool same = x->items.len == y->items.len;
    tp_vid all = lower_literal(l, TP_BOOL, same, n);
    for (uint32_t i = 0; same && i < x->items.len; i++) {
        tp_vid a = lower_object_value(l, x->items.at[i], n), b = lower_object_value(l, y->items.at[i], n);
        if (!lower_value(l, a)->rank && !lower_value(l, b)->rank && lower_value(l, a)->dtype == TP_WEAK_INT &&
            lower_value(l, b)->dtype == TP_WEAK_INT &&
            lower_same_dim(l, lower_value(l, a)->meaning, lower_value(l, b)->meaning))
            continue;
        all = lower_binary(l, TP_P_AND, all, lower_binary(l, TP_P_EQ, a, b, n), n);
    }
    return lower_value_object(l, n->op == TP_O_EQ ? all : lower_unary(l, TP_P_INVERT, all, n));
}

static tp_thing *index_object(tp_lower *l, const tp_node *n)
{
    const tp_node *base = n->kids[0];
    tp_thing *x = lower_special(l, base);
    if (!x)
        return NULL;
    if (x->kind == TP_THING_TUPLE)
        return item_object(l, x, n);
    if (x->kind != TP_THING_VALUE && x->kind != TP_THING_ROWS)
        lower_object_value(l, x, base);
    return lower_value_object(l, lower_value_part(l, x->value, n));
}

tp_arguments lower_arguments(tp_lower *l, const tp_node *n, uint32_t first)
{
    tp_arguments out = {0};
    for (uint32_t i = first; i < n->nkids; i++) {
        const tp_node *arg = n->kids[i];
        bool named = arg->kind == TP_N_KEYWORD;
        const tp_node *value = named ? arg->kids[0] : arg;
        lower_check_lazy(l, value);
        tp_thing *x = l->reference ? lower_object(l, value) : lower_value_object(l, lower_expr(l, value));
        x = lower_frozen(l, x, value);
        tp_push(l->c->arena, out, ((tp_argument){named ? arg->text : (tp_str){NULL, 0}, x}));
    }
    return out;
}

static tp_thing *apply(tp_lower *l, const tp_thing *f, const tp_node *n, uint32_t first)
{
    if (f->kind != TP_THING_FUNCTION)
        lower_fail(l, n, NULL, "this is not a function");
    if (f->function->kind == TP_FUNCTION_WORD) {
        tp_node *call = TP_NEW(l->c->arena, tp_node);
        *call = *n;
        call->kind = TP_N_CALL;
        call->text = f->function->text;
        call->prefixed = true;
        call->kids += first;
        call->nkids -= first;
        return lower_object(l, call);
    }
    tp_arguments args = lower_arguments(l, n, first);
    tp_thing *x = l->call(l, f->function, &args, n);
    if (!x)
        lower_fail(l, n, "end it with return", "`%.*s` returns no value", TP_FMT(f->function->text));
    return x;
}

static tp_thing *call_object(tp_lower *l, const tp_node *n)
{
    tp_local *local = n->prefixed ? NULL : lower_find_local(l, n->text);
    if (local && local->object && local->object->kind == TP_THING_FUNCTION)
        return apply(l, local->object, n, 0);
    if (local && !lower_is_function_word(l, n->text))
        lower_fail(l, n, NULL, "`%.*s` is not a function", TP_FMT(n->text));
    return l->higher(l, n);
}

/* What is decided as lower_known() says. Where the left side of and, or decides it, Python's result is that side or the
 * other, whatever they are: `scale or 1.0`. */
static tp_thing *decided_object(tp_lower *l, const tp_node *n)
{
    bool truth = false;
    tp_vid v;
    if (n->kind == TP_N_BINARY && (n->op == TP_O_AND || n->op == TP_O_OR) && lower_known(l, n->kids[0], &truth, &v)) {
        const tp_node *side = n->kids[truth == (n->op == TP_O_AND)];
        tp_thing *x = lower_object(l, side);
        bool decides = x->kind != TP_THING_VALUE || lower_value(l, x->value)->dtype != TP_BOOL;
        if (decides)
            return x;
        n = side;
    }
    bool known = lower_known(l, n, &truth, &v);
    return lower_value_object(l, known ? lower_literal(l, TP_BOOL, truth, n) : v);
}

static bool compares_objects(const tp_node *n)
{
    bool text = n->kids[0]->kind == TP_N_STRING || n->kids[1]->kind == TP_N_STRING,
         none = n->kids[1]->kind == TP_N_NAME && tp_str_is(n->kids[1]->text, "None");
    return n->op == TP_O_IS || n->op == TP_O_ISNOT || ((n->op == TP_O_EQ || n->op == TP_O_NE) && (text || none));
}

/* By its form; nothing is computed. */
static bool is_list(tp_lower *l, const tp_node *n)
{
    const tp_local *local = n->kind == TP_N_NAME && !n->prefixed ? lower_find_local(l, n->text) : NULL;
    bool cut = n->kind == TP_N_INDEX && n->nkids == 2 && n->kids[1]->kind == TP_N_SLICE && is_list(l, n->kids[0]);
    return n->kind == TP_N_SEQUENCE || cut || (n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "shape")) ||
           (local && local->object && local->object->kind == TP_THING_TUPLE);
}

/* x.shape[:-1] + (n,) */
static tp_thing *joined_object(tp_lower *l, const tp_node *n)
{
    tp_thing *x = lower_object(l, n->kids[0]), *y = lower_object(l, n->kids[1]);
    if (x->kind != TP_THING_TUPLE || y->kind != TP_THING_TUPLE)
        lower_fail(l, n, NULL, "a list is added to a list");
    tp_thing *out = lower_tuple(l, x->items.len, x->items.at);
    for (uint32_t i = 0; i < y->items.len; i++)
        tp_push(l->c->arena, out->items, y->items.at[i]);
    return out;
}

tp_thing *lower_special(tp_lower *l, const tp_node *n)
{
    switch (n->kind) {
    case TP_N_NAME: return name_object(l, n);
    case TP_N_SEQUENCE: return sequence_object(l, n);
    case TP_N_LAMBDA:
    case TP_N_TERNARY:
    case TP_N_COMPREHENSION: return l->higher(l, n);
    case TP_N_APPLY: return apply(l, lower_object(l, n->kids[0]), n, 1);
    case TP_N_CALL: return call_object(l, n);
    case TP_N_INDEX: return index_object(l, n);
    case TP_N_BINARY:
        if (n->op == TP_O_AND || n->op == TP_O_OR || compares_objects(n))
            return decided_object(l, n);
        if ((n->op == TP_O_EQ || n->op == TP_O_NE) && is_list(l, n->kids[0]) && is_list(l, n->kids[1]))
            return equal_lists(l, n);
        return n->op == TP_O_ADD && (is_list(l, n->kids[0]) || is_list(l, n->kids[1])) ? joined_object(l, n) : NULL;
    case TP_N_STRING: {
        tp_thing *x = lower_new_thing(l, TP_THING_TEXT);
        if (n->computed)
            lower_fail(l, n, "write the text itself", "a text that is made when it is looked at");
        x->text = n->text;
        return x;
    }
    case TP_N_UNARY: return n->op == TP_O_NOT ? decided_object(l, n) : NULL;
    case TP_N_ATTRIBUTE: return tp_str_is(n->text, "shape") ? shape_object(l, n) : NULL;
    case TP_N_INT:
    case TP_N_FLOAT:
    case TP_N_METHOD:
    case TP_N_KEYWORD:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_SLICE:
    case TP_N_ABSENT: break;
    }
    return NULL;
}

tp_thing *lower_object(tp_lower *l, const tp_node *n)
{
    tp_thing *x = lower_special(l, n);
    if (!x) {
        x = lower_value_object(l, lower_expr(l, n));
        x->memory = lower_value(l, x->value)->rank ? lower_memory_of(l, n) : 0;
    }
    return x;
}
