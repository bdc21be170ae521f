/* Statements and scoping. */
#include "spec/lower.h"
#include "spec/pipeline.h"

/* `own` (may be NULL) receives the locals that the block leaves behind. */
static void lower_block(tp_lower *l, const tp_block *b, tp_region *into, tp_locals *own);
/* outer: where the block is whose statements these are, too; NULL: they have one of their own. */
static void lower_under(tp_lower *l, const tp_block *b, tp_region *into, const tp_place *outer);

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
        if (a.object || other->at[k - 1].object)
            continue;
        const tp_value *x = lower_value(l, a.value), *y = lower_value(l, other->at[k - 1].value);
        if (tp_is_weak(x->dtype) || x->dtype != y->dtype || !lower_same_shape(l, y, x->rank, x->dims) ||
            lower_is_ragged(l, a.value) || lower_is_ragged(l, other->at[k - 1].value))
            continue;
        tp_vid var = lower_new_variable(l, x->dtype, x->rank, x->dims);
        l->region = body;
        lower_assign_slot(l, var, a.value);
        l->region = orelse;
        lower_assign_slot(l, var, other->at[k - 1].value);
        lower_push_local(l, (tp_local){.name = a.name, .value = var, .is_slot = true, .level = l->level, .loc = a.loc});
    }
}

/* The condition of a statement, whose value it is; help: what to do with an array. */
static tp_vid scalar_condition(tp_lower *l, tp_vid v, const tp_node *n, const char *help)
{
    tp_vid c = lower_truth(l, v, n);
    const tp_value *x = lower_value(l, c);
    if (x->dtype != TP_BOOL || x->rank != 0)
        lower_fail(l, n, help, "a condition is a scalar bool, not %.*s", TP_FMT(lower_type_text(l, c)));
    return c;
}

static void lower_if(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    bool truth;
    tp_vid v = -1;
    if (l->reference && lower_known(l, s->value, &truth, &v)) { /* the arm that Python takes, as if it stood alone */
        tp_place here = *b;
        here.at++; /* what it assigns does not come later */
        lower_under(l, truth ? &s->body : &s->orelse, l->region, &here);
        return;
    }
    tp_vid c = scalar_condition(l, v < 0 ? lower_expr(l, s->value) : v, s->value, "use where on arrays");
    tp_region *outer = l->region, body = {0}, orelse = {0};
    tp_locals then = {0}, other = {0};
    l->branch++;
    lower_block(l, &s->body, &body, &then);
    lower_block(l, &s->orelse, &orelse, &other);
    l->branch--;
    l->syntax = s;
    join_arms(l, &body, &then, &orelse, &other);
    l->region = outer;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = c;
    statement->body = body;
    statement->orelse = orelse;
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
    turn.value = lower_new_variable(l, TP_I32, 0, NULL);
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
    *lower_statement(l, TP_LOOP) = (tp_statement){.kind = TP_LOOP,
                                                  .syntax = s,
                                                  .var = turn.value,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .by = 1,
                                                  .device = TP_NOWHERE,
                                                  .value = -1,
                                                  .body = body};
    lower_assign_slot(l, slot, lower_binary(l, TP_P_MAXIMUM, lo, hi, s->value));
    return true;
}

static void lower_while(tp_lower *l, const tp_syntax *s)
{
    if (!l->reference && lower_counting(l, s))
        return;
    bool truth;
    tp_vid v = -1;
    tp_region *outer = l->region, test = {0}, body = {0};
    l->region = &test;
    if (l->reference && lower_known(l, s->value, &truth, &v)) {
        l->region = outer;
        if (truth)
            lower_fail(l, s->value, "test for the end in `while`", "this loop has no end that is known");
        return;
    }
    tp_vid c = scalar_condition(l, v < 0 ? lower_expr(l, s->value) : v, s->value, "reduce it with any or all");
    l->branch++;
    lower_block(l, &s->body, &body, NULL);
    l->branch--;
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
    lower_check_local(l, name);
    if (lower_own_local(l, name->text))
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

/* References: once for each element of a list, as if the statements stood there one after the other. */
static void lower_listed(tp_lower *l, const tp_syntax *s, const tp_things *items, const tp_place *b)
{
    tp_region *into = l->region;
    tp_place here = *b;
    here.at++;
    for (uint32_t i = 0; i < items->len && !l->returned; i++) {
        l->syntax = s;
        lower_bind_names(l, s->target, items->at[i], &here);
        lower_under(l, &s->body, into, &here);
        l->region = into;
    }
}

/* The loop variable of a range is the counter itself. */
static void begin_loop(tp_lower *l, const tp_syntax *s, const tp_series *source, tp_repeat *t)
{
    tp_vid lo, hi;
    int64_t by;
    if (lower_source_range(source, &lo, &hi, &by)) {
        push_loop_variable(l, s->target, t->var, true);
        l->locals.at[l->locals.len - 1].level = l->level;
        return;
    }
    tp_thing *x = lower_source_item(l, source, t->var, s->value);
    tp_map nested = {0};
    lower_note_assigned(l, &s->body, 0, &nested);
    tp_place place = {.nested = nested};
    lower_bind_names(l, s->target, x, &place);
}

static void lower_loop(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    tp_series *source = lower_source(l, s->value);
    tp_things items = {0};
    tp_vid lo, hi;
    tp_repeat t;
    int64_t by;
    tp_region body = {0};
    if (lower_source_lists(source) && lower_source_items(l, source, &items)) {
        lower_listed(l, s, &items, b);
        return;
    }
    bool range = lower_source_range(source, &lo, &hi, &by);
    tp_expr n = lower_source_count(l, source);
    if (!range && !n.id)
        lower_fail(l, s->value,
                   "write: for t in range(lo, hi):", "a loop runs over range(...) or over values in parentheses");
    const tp_node *r = s->value, *end = r->kind == TP_N_CALL && tp_str_is(r->text, "range") && r->nkids && r->nkids <= 3
                                            ? r->kids[r->nkids > 1]
                                            : r;
    lo = lower_coerce(l, range ? lo : lower_weak_int(l, tp_const(l->k->exprs, 0)), TP_I32, r);
    hi = lower_coerce(l, range ? hi : lower_weak_int(l, n), TP_I32, end);
    uint32_t mark = l->locals.len;
    lower_begin_turns(l, &t, &body, n);
    t.syntax = s;
    t.memory = lower_source_memory(source);
    t.lo = range ? lo : -1;
    t.by = range ? by : 1;
    begin_loop(l, s, source, &t);
    lower_statements(l, &s->body, &body);
    lower_drop_locals(l, mark);
    l->syntax = s;
    lower_end_turns(l, &t, &body, lo, hi, range ? by : 1);
}

static void lower_for(tp_lower *l, const tp_syntax *s, const tp_place *b)
{
    const tp_node *r = s->value;
    if (l->reference) {
        lower_loop(l, s, b);
        return;
    }
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
    tp_vid var = lower_new_variable(l, TP_I32, 0, NULL);
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
    const tp_node *list = s->value->kind == TP_N_METHOD && l->reference ? s->value->kids[0] : NULL;
    tp_local *local = list && list->kind == TP_N_NAME ? lower_find_local(l, list->text) : NULL;
    if (local && local->object && tp_str_is(s->value->text, "append") && s->value->nkids == 2) {
        lower_append(l, s->value);
        return;
    }
    if (s->value->kind == TP_N_METHOD)
        lower_fail(l, s->value, "assign it, store it, or call check(...)", "this statement has no effect");
    local = l->reference && !s->value->prefixed ? lower_find_local(l, s->value->text) : NULL;
    if (local && local->object && local->object->kind == TP_THING_FUNCTION) {
        tp_arguments given = lower_arguments(l, s->value, 0);
        l->call(l, local->object->function, &given, s->value);
        return;
    }
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

static bool ends_function(const tp_lower *l, const tp_syntax *s)
{
    for (uint32_t i = 0; i < l->functions.len; i++) {
        const tp_block *body = &l->functions.at[i]->body;
        if (body->at[body->len - 1] == s)
            return true;
    }
    return false;
}

static void lower_with(tp_lower *l, const tp_syntax *s, const tp_place *b)
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

/* The loop of a pipeline. Its step is a function in Pallas: names that it assigns are its own. */
static void lower_pipeline(tp_lower *l, const tp_syntax *s)
{
    tp_region *here = l->region;
    for (uint32_t i = 0; i < l->locals.len; i++) {
        const tp_node *again = tp_pipeline_assigns(s->pipeline, l->locals.at[i].name);
        if (again)
            lower_fail(l, again, "store it in scratch, or choose another name",
                       "a step of a pipeline cannot assign `%.*s`, which is there before it", TP_FMT(again->text));
    }
    lower_block(l, &s->body, here, NULL);
    l->region = here;
}

/* The object of a RETURN. */
static tp_thing *returned_object(tp_lower *l, const tp_syntax *s)
{
    if (!s->value && l->reference)
        return lower_none(l);
    if (!s->value)
        tp_raise(l->c, TP_RULE_SPEC_TYPE, tp_json_place(s->line), "return a value", "this function returns no value");
    lower_check_lazy(l, s->value);
    if (l->reference)
        return lower_frozen(l, lower_object(l, s->value), s->value);
    bool several = s->value->kind == TP_N_SEQUENCE;
    tp_thing *all = lower_tuple(l, 0, NULL);
    for (uint32_t i = 0; i < (several ? s->value->nkids : 1u); i++) {
        tp_thing *x = lower_value_object(l, lower_expr(l, several ? s->value->kids[i] : s->value));
        if (!several)
            return x;
        tp_push(l->c->arena, all->items, x);
    }
    return all;
}

static void lower_return(tp_lower *l, const tp_syntax *s)
{
    bool inside = l->reference ? l->calls && l->branch == l->frame->branch : l->calls && ends_function(l, s);
    if (!inside)
        tp_raise(l->c, TP_RULE_SPEC_TYPE, s->value ? tp_node_loc(l->c, s->value) : tp_json_place(s->line),
                 !l->calls      ? "assign the outputs"
                 : l->reference ? "assign the result to a name where it is found, and return that at the end"
                                : "assign the result to a name and return that at the end",
                 !l->calls      ? "`return` outside of a function"
                 : l->reference ? "`return` inside of a loop"
                                : "`return` is the last statement of a function");
    l->returned = returned_object(l, s);
}

/* ---- return under a condition ---- */

static bool may_return(const tp_block *b)
{
    bool found = false;
    for (uint32_t i = 0; i < b->len && !found; i++)
        found = b->at[i]->kind == TP_S_RETURN ||
                (b->at[i]->kind == TP_S_IF && (may_return(&b->at[i]->body) || may_return(&b->at[i]->orelse)));
    return found;
}

/* One arm and what comes behind it, to the end of the function; what it returns. */
static tp_thing *lower_to_the_end(tp_lower *l, const tp_block *arm, const tp_block *b, uint32_t at, tp_region *into,
                                  const tp_place *outer)
{
    tp_block *all = TP_NEW(l->c->arena, tp_block);
    const void *before = l->frame->last;
    for (uint32_t i = 0; i < arm->len; i++)
        tp_push(l->c->arena, *all, arm->at[i]);
    for (uint32_t i = at + 1; i < b->len; i++)
        tp_push(l->c->arena, *all, b->at[i]);
    l->frame->last = all;
    lower_under(l, all, into, outer);
    l->frame->last = before;
    return l->returned;
}

/* What variables hold by now. */
static void read_variables(tp_lower *l, tp_thing *x, const tp_node *n)
{
    if (x->kind == TP_THING_VALUE)
        x->value = lower_copy_of_slot(l, x->value, n);
    for (uint32_t i = 0; i < x->items.len; i++)
        read_variables(l, x->items.at[i], n);
}

/* if c: return x; rest: both arms go on to the end of the function, and it returns what one of them does. Statement
 * number `at` of b, which the function ends with. */
static void lower_returning_if(tp_lower *l, const tp_block *b, uint32_t at, tp_region *into, const tp_place *outer)
{
    const tp_syntax *s = b->at[at];
    bool truth;
    tp_vid v = -1;
    if (lower_known(l, s->value, &truth, &v)) {
        lower_to_the_end(l, truth ? &s->body : &s->orelse, b, at, into, outer);
        return;
    }
    tp_vid c = scalar_condition(l, v < 0 ? lower_expr(l, s->value) : v, s->value, "use where on arrays");
    tp_region arm[2] = {0};
    tp_thing *x[2];
    const tp_node *where[] = {s->value, s->value};
    uint32_t base = l->frame->base, mark = l->locals.len, joined = l->njoined;
    tp_local *were = TP_NEWN(l->c->arena, tp_local, mark - base + 1);
    memcpy(were, l->locals.at + base, (mark - base) * sizeof *were);
    l->branch++;
    l->frame->branch++;
    for (int i = 0; i < 2; i++) {
        l->returned = NULL;
        x[i] = lower_to_the_end(l, i ? &s->orelse : &s->body, b, at, &arm[i], outer);
        l->syntax = s;
        if (!x[i])
            lower_fail(l, s->value, "return a value in every case",
                       "this function returns nothing where the condition is %s", i ? "false" : "true");
        if (l->njoined != joined)
            lower_fail(l, s->value, "return copies: x.copy()",
                       "arrays that share their elements, under a condition on data that decides what is returned");
        lower_drop_locals(l, mark); /* names are rebound in one arm alone */
        memcpy(l->locals.at + base, were, (mark - base) * sizeof *were);
    }
    l->frame->branch--;
    l->branch--;
    l->region = into;
    l->returned = lower_one_thing_of(l, x, arm, where);
    l->region = into;
    tp_statement *statement = lower_statement(l, TP_IF);
    statement->value = c;
    statement->body = arm[0];
    statement->orelse = arm[1];
    read_variables(l, l->returned, s->value);
}

static void lower_under(tp_lower *l, const tp_block *b, tp_region *into, const tp_place *outer)
{
    tp_place here = {.outer = outer};
    lower_note_assigned(l, b, 0, &here.nested);
    for (uint32_t i = 0; i < b->len && !(l->reference && l->returned); i++) {
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
        case TP_S_BREAK:
        case TP_S_CONTINUE:
            tp_raise(l->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(l->c, s->word),
                     s->kind == TP_S_BREAK ? "test for it in `while`, or do the rest under an `if`"
                                           : "do the rest under an `if`",
                     "`%s` is not part of the language", s->kind == TP_S_BREAK ? "break" : "continue");
        case TP_S_EXPR: lower_effect(l, s); break;
        case TP_S_IF:
            if (l->reference && l->calls && b == l->frame->last && (may_return(&s->body) || may_return(&s->orelse))) {
                lower_returning_if(l, b, i, into, outer);
                return;
            }
            lower_if(l, s, &here);
            break;
        case TP_S_FOR: lower_for(l, s, &here); break;
        case TP_S_WHILE: lower_while(l, s); break;
        case TP_S_DEF: lower_def(l, s, &here); break;
        case TP_S_WITH: lower_with(l, s, &here); break;
        case TP_S_PIPELINE: lower_pipeline(l, s); break;
        case TP_S_RETURN: lower_return(l, s); break;
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
