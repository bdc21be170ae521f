/* Statements, scoping, and the two entry points. */
#include "base/assert.h"
#include "spec/lower.h"

/* `own` (may be NULL) receives the locals that the block leaves behind. */
static void lower_block(tp_lower *l, const tp_block *b, tp_region *into, tp_locals *own);

static tp_statement *add_statement(tp_lower *l, tp_statement_kind kind)
{
    tp_statement s = {.kind = kind, .syntax = l->syntax, .value = -1, .var = -1, .lo = -1, .hi = -1};
    tp_push(l->c->arena, *l->region, s);
    return &l->region->at[l->region->len - 1];
}

/* Where a block of statements is. */
typedef struct block {
    uint32_t at;
    tp_map nested; /* by name: number of the last statement that assigns it in a block of its own */
} block;

static void note_assigned(tp_lower *l, const tp_block *b, uint32_t statement, tp_map *into)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (statement && s->kind == TP_S_ASSIGN)
            tp_map_set(l->c->arena, into, s->target->text, statement);
        note_assigned(l, &s->body, statement ? statement : i + 1, into);
        note_assigned(l, &s->orelse, statement ? statement : i + 1, into);
    }
}

static void check_local_name(tp_lower *l, const tp_node *target)
{
    const tp_kernel *k = l->k;
    bool axis = false, table = tp_table_find(k, target->text) >= 0, dtype = tp_dtype_find(target->text) != TP_NO_DTYPE;
    for (uint32_t i = 0; i < k->naxes; i++)
        axis |= tp_str_eq(k->axes[i].name, target->text);
    for (uint32_t i = 0; i < k->ndtypes; i++)
        dtype |= tp_str_eq(k->dtypes[i].name, target->text);
    int operand = tp_operand_find(k, target->text);
    if (operand >= 0)
        lower_fail(l, target, tp_printf(l->c->arena, "write %.*s[...] = …", TP_FMT(target->text)).p,
                   "`%.*s` is a ref, not a local", TP_FMT(target->text));
    if (axis || table || dtype || tp_size_find(k, target->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, target), "choose another name", "`%.*s` is already a %s",
                 TP_FMT(target->text),
                 axis    ? "grid axis"
                 : table ? "table"
                 : dtype ? "dtype"
                         : "size");
    if (!lower_find_local(l, target->text)) {
        tp_names none = {0};
        tp_scope_add(l->c, &none, target->text, TP_NAME_LOCAL, 0, tp_node_loc(l->c, target));
    }
}

static void check_note(tp_lower *l, const tp_node *note, tp_vid v)
{
    const tp_value *x = lower_value(l, v);
    const tp_node *type = note->kind == TP_N_INDEX ? note->kids[0] : note;
    tp_dtype d = lower_dtype(l, lower_dtype_name(l, type));
    uint32_t rank = note->kind == TP_N_INDEX ? note->nkids - 1 : 0;
    tp_expr dims[TP_MAX_RANK];
    for (uint32_t i = 0; i < rank && i < TP_MAX_RANK; i++)
        dims[i] = lower_static_int(l, note->kids[i + 1], "a dimension");
    if (d != x->dtype || rank > TP_MAX_RANK || !lower_same_shape(l, x, rank, dims))
        lower_fail(l, note, "correct the note or the statement", "the note does not fit: the value is %.*s",
                   TP_FMT(lower_type_text(l, v)));
}

/* A copy, so that a later assignment to the variable does not change it. */
static tp_vid copy_of_slot(tp_lower *l, tp_vid v, const tp_node *n)
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
    tp_statement *s = add_statement(l, TP_ASSIGN);
    s->var = slot;
    s->value = value;
}

static tp_vid new_variable(tp_lower *l, tp_dtype dtype, uint32_t rank, const tp_expr *dims)
{
    tp_vid v = lower_new_value(l, dtype, rank, dims);
    l->p->values.at[v].variable = true;
    return v;
}

static void define_local(tp_lower *l, const tp_syntax *s, tp_vid v, const block *b)
{
    tp_local *old = lower_find_local(l, s->target->text);
    bool slot = tp_map_get(&b->nested, s->target->text) > b->at;
    if (slot && tp_is_weak(lower_value(l, v)->dtype))
        lower_fail(l, s->value, "give it a dtype, e.g. full((), 0, int32)",
                   "`%.*s` changes later: a literal has no dtype", TP_FMT(s->target->text));
    if (slot) {
        tp_vid var = new_variable(l, lower_value(l, v)->dtype, lower_value(l, v)->rank, lower_value(l, v)->dims);
        assign_slot(l, var, v);
        v = var;
    } else {
        v = copy_of_slot(l, v, s->value);
    }
    if (old && old->level == l->level) {
        old->value = v;
        old->is_slot = slot;
    } else {
        lower_push_local(l, (tp_local){.name = s->target->text,
                                       .value = v,
                                       .is_slot = slot,
                                       .level = l->level,
                                       .loc = tp_node_loc(l->c, s->target)});
    }
}

static void lower_assign(tp_lower *l, const tp_syntax *s, const block *b)
{
    int operand = tp_operand_find(l->k, s->target->text);
    if (s->augmented)
        lower_fail(l, s->target, "write v = v + …", "augmented assignment is for refs");
    if (l->reference && operand >= 0 && l->k->operands[operand].role == TP_OUTPUT) {
        const tp_operand *o = &l->k->operands[operand];
        tp_vid v = lower_coerce(l, lower_expr(l, s->value), lower_dtype(l, o->dtype), s->value);
        if (l->level)
            lower_fail(l, s->target, "assign it at the outer level", "output `%.*s` is assigned inside a block",
                       TP_FMT(o->name));
        l->p->operand_value[operand] = copy_of_slot(l, lower_broadcast(l, v, o->rank, o->shape, s->value), s->value);
        return;
    }
    check_local_name(l, s->target);
    tp_vid v = lower_expr(l, s->value);
    if (s->note)
        check_note(l, s->note, v);
    tp_local *old = lower_find_local(l, s->target->text);
    if (old && old->loop_variable)
        lower_fail(l, s->target, NULL, "`%.*s` is a loop variable", TP_FMT(old->name));
    if (!old || old->level == l->level) {
        define_local(l, s, v, b);
        return;
    }
    const tp_value *var = lower_value(l, old->value);
    v = lower_coerce(l, v, var->dtype, s->value);
    if (lower_value(l, v)->rank == 0 && var->rank)
        v = lower_broadcast(l, v, var->rank, var->dims, s->value);
    if (!lower_same_shape(l, lower_value(l, v), var->rank, var->dims))
        lower_fail(l, s->value, "a name that outlives a block keeps its dtype and shape",
                   "`%.*s` was %.*s before this block, here it is %.*s", TP_FMT(old->name),
                   TP_FMT(lower_type_text(l, old->value)), TP_FMT(lower_type_text(l, v)));
    assign_slot(l, old->value, v);
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
    tp_statement *statement = add_statement(l, TP_PUT);
    statement->access = a;
    statement->value = v;
}

static void lower_store(tp_lower *l, const tp_syntax *s)
{
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank;
    if (l->reference)
        lower_fail(l, s->target, "assign the whole output: o = …",
                   "subscripts are not supported in references by this build");
    tp_access *a = lower_access(l, s->target, &rank, dims);
    tp_vid old = s->augmented ? lower_load(l, a, rank, dims, s->target) : -1;
    tp_vid v = lower_expr(l, s->value);
    if (s->augmented) {
        tp_prim prim = augmented_prim(s->op);
        if (prim == TP_PRIMS)
            lower_fail(l, s->target, NULL, "`%s=` is not a statement of bodies", tp_operator_text(s->op));
        v = lower_binary(l, prim, old, v, s->value);
    }
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
        if (tp_is_weak(x->dtype) || x->dtype != y->dtype || !lower_same_shape(l, y, x->rank, x->dims))
            continue;
        tp_vid var = new_variable(l, x->dtype, x->rank, x->dims);
        l->region = body;
        assign_slot(l, var, a.value);
        l->region = orelse;
        assign_slot(l, var, other->at[k - 1].value);
        lower_push_local(l, (tp_local){.name = a.name, .value = var, .is_slot = true, .level = l->level, .loc = a.loc});
    }
}

/* The condition of a statement; help: what to do with an array. */
static tp_vid lower_condition(tp_lower *l, const tp_node *n, const char *help)
{
    tp_vid c = lower_expr(l, n);
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
    tp_statement *statement = add_statement(l, TP_IF);
    statement->value = c;
    statement->body = body;
    statement->orelse = orelse;
}

static void lower_while(tp_lower *l, const tp_syntax *s)
{
    tp_region *outer = l->region, test = {0}, body = {0};
    l->region = &test;
    tp_vid c = lower_condition(l, s->value, "reduce it with any or all");
    lower_block(l, &s->body, &body, NULL);
    l->region = outer;
    l->syntax = s;
    tp_statement *statement = add_statement(l, TP_WHILE);
    statement->value = c;
    statement->test = test;
    statement->body = body;
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

static void lower_for(tp_lower *l, const tp_syntax *s)
{
    const tp_node *r = s->value;
    if (r->kind != TP_N_CALL || !tp_str_is(r->text, "range") || r->nkids < 1 || r->nkids > 3)
        lower_fail(l, r, "write: for t in range(lo, hi):", "a loop runs over range(...)");
    if (s->target->kind != TP_N_NAME)
        lower_fail(l, s->target, NULL, "one loop variable is expected");
    check_local_name(l, s->target);
    if (lower_find_local(l, s->target->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, s->target), "choose another name",
                 "`%.*s` is already a local", TP_FMT(s->target->text));
    tp_vid lo = r->nkids == 1 ? lower_cast(l, lower_weak_int(l, tp_const(l->k->exprs, 0)), TP_I32, r)
                              : loop_bound(l, r->kids[0]);
    tp_vid hi = loop_bound(l, r->kids[r->nkids == 1 ? 0 : 1]);
    int64_t by = r->nkids == 3 ? lower_literal_int(l, r->kids[2], "the step of a range") : 1;
    if (by == 0)
        lower_fail(l, r->kids[2], NULL, "the step of a range is not zero");
    tp_vid var = new_variable(l, TP_I32, 0, NULL);
    uint32_t mark = l->locals.len;
    lower_push_local(l, (tp_local){.name = s->target->text,
                                   .value = var,
                                   .level = l->level + 1,
                                   .loc = tp_node_loc(l->c, s->target),
                                   .loop_variable = true,
                                   .is_slot = true});
    tp_region *outer = l->region, body = {0};
    lower_block(l, &s->body, &body, NULL);
    lower_drop_locals(l, mark);
    l->region = outer;
    l->syntax = s;
    tp_statement *statement = add_statement(l, TP_LOOP);
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
    tp_statement *statement = add_statement(l, TP_ASSERT);
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
    if (lower_find_function(l, f->text) || lower_find_local(l, f->text))
        tp_raise(l->c, TP_RULE_SPEC_NAME, tp_node_loc(l->c, f), "choose another name", "`%.*s` is already taken",
                 TP_FMT(f->text));
    for (uint32_t i = 0; i < f->nkids; i++) {
        if (f->kids[i]->kind != TP_N_NAME)
            lower_fail(l, f->kids[i], NULL, "a parameter is a name");
        check_local_name(l, f->kids[i]);
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

static void lower_statements(tp_lower *l, const tp_block *b, tp_region *into)
{
    block here = {0};
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
        case TP_S_STORE: lower_store(l, s); break;
        case TP_S_EXPR: lower_effect(l, s); break;
        case TP_S_IF: lower_if(l, s); break;
        case TP_S_FOR: lower_for(l, s); break;
        case TP_S_WHILE: lower_while(l, s); break;
        case TP_S_DEF: lower_def(l, s); break;
        case TP_S_RETURN:
            if (!l->calls || !ends_function(l, s))
                lower_fail(l, s->value, "assign the result to a name and return that at the end",
                           "`return` is the last statement of a function");
            l->returned = lower_expr(l, s->value);
            break;
        }
    }
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
    tp_vid v = copy_of_slot(l, lower_expr(l, argument), argument);
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

tp_vid lower_expand(tp_lower *l, const tp_syntax *function, const tp_node *call)
{
    const tp_node *head = function->value;
    const tp_syntax *syntax = l->syntax;
    tp_region *region = l->region;
    uint32_t base = l->base, mark = l->locals.len;
    tp_locals parameters = {0};
    if (call->nkids != head->nkids)
        lower_fail(l, call, NULL, "`%.*s` takes %u argument%s, not %u", TP_FMT(head->text), head->nkids,
                   head->nkids == 1 ? "" : "s", call->nkids);
    if (l->calls == TP_MAX_CALLS)
        lower_fail(l, call, "functions are expanded where they are called; they cannot call themselves",
                   "calls of functions are nested too deep");
    tp_map nested = {0};
    note_assigned(l, &function->body, 0, &nested);
    for (uint32_t i = 0; i < head->nkids; i++)
        tp_push(l->c->arena, parameters, bind_parameter(l, &nested, head->kids[i], call->kids[i]));
    for (uint32_t i = 0; i < parameters.len; i++)
        lower_push_local(l, parameters.at[i]);
    l->base = mark;
    l->calls++;
    l->level++;
    l->returned = -1;
    lower_statements(l, &function->body, region);
    tp_vid result = l->returned;
    l->returned = -1;
    l->level--;
    l->calls--;
    l->base = base;
    lower_drop_locals(l, mark);
    l->region = region;
    l->syntax = syntax;
    return result;
}

/* Facts "size == expression" of "where", as a substitution. */
static void collect_equalities(tp_lower *l)
{
    tp_exprs *p = l->k->exprs;
    l->nequal = tp_sym_count(p);
    l->equal = TP_NEWN(l->c->arena, tp_expr, l->nequal);
    bool any = false;
    for (uint32_t i = 0; i < l->k->nwhere; i++) {
        const tp_expr_node *n = tp_expr_get(p, l->k->where[i].expr);
        if (n->op != TP_E_EQ)
            continue;
        tp_expr sides[2][2] = {{n->a, n->b}, {n->b, n->a}};
        for (int s = 0; s < 2; s++) {
            const tp_expr_node *from = tp_expr_get(p, sides[s][0]);
            if (from->op == TP_E_SYM && !l->equal[from->value].id &&
                !tp_expr_mentions(p, sides[s][1], (uint32_t)from->value)) {
                l->equal[from->value] = sides[s][1];
                any = true;
                break;
            }
        }
    }
    if (!any)
        l->nequal = 0;
}

static tp_program *lower_program(tp_ctx *c, const tp_kernel *k, const tp_json *lines, bool reference)
{
    tp_lower l = {.c = c, .k = k, .p = TP_NEW(c->arena, tp_program), .reference = reference};
    collect_equalities(&l);
    l.p->syntax = tp_parse_program(c, lines);
    l.p->operand_value = TP_NEWN(c->arena, tp_vid, tp_noperands(k));
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        l.p->operand_value[i] =
            reference && o->role == TP_INPUT ? lower_new_value(&l, lower_dtype(&l, o->dtype), o->rank, o->shape) : -1;
    }
    l.p->table_value = TP_NEWN(c->arena, tp_vid, k->ntables);
    for (uint32_t i = 0; i < k->ntables; i++)
        l.p->table_value[i] = reference ? lower_new_value(&l, TP_I32, k->tables[i].rank, k->tables[i].shape) : -1;
    lower_statements(&l, &l.p->syntax, &l.p->statements);
    for (uint32_t i = k->ninputs; reference && i < k->ninputs + k->noutputs; i++)
        if (l.p->operand_value[i] < 0 && !k->operands[i].discard)
            tp_raise(c, TP_RULE_SPEC_TYPE, lines->loc, NULL, "the reference never assigns output `%.*s`",
                     TP_FMT(k->operands[i].name));
    return l.p;
}

static tp_program *checked(tp_ctx *c, const tp_kernel *k, tp_program *p)
{
    tp_assert(tp_program_holds(c->arena, k, p));
    return p;
}

tp_program *tp_lower_body(tp_ctx *c, const tp_kernel *k, const tp_json *lines)
{
    return checked(c, k, lower_program(c, k, lines, false));
}

tp_program *tp_lower_reference(tp_ctx *c, const tp_kernel *k, const tp_json *lines)
{
    return checked(c, k, lower_program(c, k, lines, true));
}
