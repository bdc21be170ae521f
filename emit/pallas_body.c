/* Expressions and statements as Python. */
#include "emit/internal.h"

void emit_text(emitter *e, const char *text)
{
    tp_buf_c(e->b, text);
}

static void start_line(emitter *e)
{
    tp_buf_printf(e->b, "%*s", 4 * e->indent, "");
}

/* ---- names ---- */

static bool is_dtype(const emitter *e, tp_str name)
{
    for (uint32_t i = 0; i < e->k->ndtypes; i++)
        if (tp_str_eq(e->k->dtypes[i].name, name))
            return true;
    return tp_dtype_find(name) != TP_NO_DTYPE;
}

/* A name of the spec in Python: words and modules of Python get an underscore. */
void emit_identifier(emitter *e, tp_str s)
{
    static const char *const WORDS[] = {
        "as",      "assert", "async",  "await",     "break", "class",     "continue", "del",   "except",
        "finally", "from",   "global", "import",    "is",    "lambda",    "nonlocal", "pass",  "raise",
        "try",     "yield",  "jax",    "jnp",       "lax",   "pl",        "pltpu",    "plgpu", "kernel",
        "print",   "min",    "max",    "interpret", "call",  "on_device", "mesh",     "P",     "np"};
    tp_buf_str(e->b, s);
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (tp_str_is(s, WORDS[i]))
            emit_text(e, "_");
}

void emit_ref(emitter *e, tp_str s)
{
    tp_buf_printf(e->b, "%.*s_ref", TP_FMT(s));
}

void emit_scratch(emitter *e, const tp_operand *o)
{
    emit_text(e, o->memory == TP_MEM_DMA_SEMAPHORE ? "pltpu.SemaphoreType.DMA"
                 : o->memory == TP_MEM_SEMAPHORE   ? "pltpu.SemaphoreType.REGULAR"
                 : o->memory == TP_MEM_SMEM        ? "pltpu.SMEM"
                                                   : "pltpu.VMEM");
}

void emit_dtype(emitter *e, tp_str name)
{
    for (uint32_t i = 0; i < e->k->ndtypes; i++)
        if (tp_str_eq(e->k->dtypes[i].name, name)) {
            emit_identifier(e, name);
            return;
        }
    tp_buf_printf(e->b, "jnp.%.*s", TP_FMT(tp_str_is(name, "bool") ? TP_S("bool_") : name));
}

/* Known from the sizes alone: stays an ordinary Python integer. */
static bool is_static(const emitter *e, const tp_node *n)
{
    if (n->kind == TP_N_NAME)
        return tp_size_find(e->k, n->text) != NULL || tp_named_number_find(e->k, n->text) != NULL;
    if (n->kind == TP_N_INDEX || n->kind == TP_N_FLOAT || n->kind == TP_N_METHOD || n->kind == TP_N_ATTRIBUTE ||
        n->kind == TP_N_STRING)
        return false;
    if (n->kind == TP_N_CALL && !tp_str_is(n->text, "cdiv") && !tp_str_is(n->text, "min") &&
        !tp_str_is(n->text, "max") && !tp_str_is(n->text, "align_up") && !tp_str_is(n->text, "next_power_of_2"))
        return false;
    for (uint32_t i = 0; i < n->nkids; i++)
        if (!is_static(e, n->kids[i]))
            return false;
    return true;
}

static void name(emitter *e, tp_str s)
{
    int operand = tp_operand_find(e->k, s), table = tp_table_find(e->k, s);
    if (is_dtype(e, s))
        emit_dtype(e, s);
    else if (tp_str_is(s, "inf") || tp_str_is(s, "nan"))
        tp_buf_printf(e->b, "jnp.%.*s", TP_FMT(s));
    else if (operand >= 0 || (table >= 0 && !e->outside))
        emit_ref(e, s);
    else
        emit_identifier(e, s);
    if (table >= 0 && !e->k->tables[table].rank)
        emit_text(e, "[0]");
}

/* ---- expressions ---- */

static void list(emitter *e, tp_node *const *kids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        emit_text(e, i ? ", " : "");
        emit_node(e, kids[i], 0);
    }
}

/* Where a function of the language lives in JAX; its arguments are the same. Empty: it is a function of the program. */
static tp_str python_name(tp_str s)
{
    static const struct {
        const char *name, *python;
    } INTEGERS[] = {
        {"cdiv", "pl.cdiv"}, {"align_up", "align_up"}, {"next_power_of_2", "pl.next_power_of_2"}, {"ds", "pl.ds"}};
    for (size_t i = 0; i < sizeof INTEGERS / sizeof *INTEGERS; i++)
        if (tp_str_is(s, INTEGERS[i].name))
            return tp_str_c(INTEGERS[i].python);
    tp_prim p = tp_prim_find(s);
    if (p == TP_PRIMS)
        return (tp_str){NULL, 0};
    const char *text = tp_prim_info(p)->pallas, *lax = "jax.lax.";
    if (strncmp(text, lax, strlen(lax)) == 0) /* the module imports lax */
        text += strlen("jax.");
    return (tp_str){text, strcspn(text, "(")};
}

tp_node *emit_argument(const tp_node *call, const char *keyword, uint32_t position)
{
    for (uint32_t i = 0; i < call->nkids; i++)
        if (call->kids[i]->kind == TP_N_KEYWORD ? tp_str_is(call->kids[i]->text, keyword) : i == position)
            return call->kids[i]->kind == TP_N_KEYWORD ? call->kids[i]->kids[0] : call->kids[i];
    return NULL;
}

static void dot(emitter *e, const tp_node *n)
{
    const tp_node *contract = emit_argument(n, "contract", 2), *batch = emit_argument(n, "batch", 3),
                  *type = emit_argument(n, "preferred_element_type", 4);
    bool plain = !contract && !batch;
    emit_text(e, plain ? "jnp.dot(" : "lax.dot_general(");
    list(e, n->kids, 2);
    if (!plain) {
        emit_text(e, ", (");
        if (contract)
            emit_node(e, contract, 0);
        else
            emit_text(e, "((1,), (0,))");
        emit_text(e, ", ");
        if (batch)
            emit_node(e, batch, 0);
        else
            emit_text(e, "((), ())");
        emit_text(e, ")");
    }
    if (type) {
        emit_text(e, ", preferred_element_type=");
        emit_node(e, type, 0);
    }
    emit_text(e, ")");
}

static void pad(emitter *e, const tp_node *n)
{
    emit_text(e, "jnp.pad(");
    emit_node(e, emit_argument(n, "x", 0), 0);
    emit_text(e, ", ");
    emit_node(e, emit_argument(n, "widths", 2), 0);
    emit_text(e, ", constant_values=");
    emit_node(e, emit_argument(n, "value", 1), 0);
    emit_text(e, ")");
}

/* x_ref.at[...]; integers as arrays, since interpret=True of JAX 0.10 fails on others under a mask. */
static void place(emitter *e, const tp_node *n)
{
    emit_node(e, n->kids[0], TP_POWER_POSTFIX);
    for (uint32_t i = 1; i < n->nkids; i++) {
        bool integer = n->kids[i]->kind != TP_N_COLON && n->kids[i]->kind != TP_N_ELLIPSIS && is_static(e, n->kids[i]);
        emit_text(e, i > 1 ? ", " : ".at[");
        emit_text(e, integer ? "jnp.int32(" : "");
        emit_node(e, n->kids[i], 0);
        emit_text(e, integer ? ")" : "");
    }
    emit_text(e, "]");
}

/* condition, then, else */
static void select(emitter *e, tp_node *const *kids)
{
    emit_text(e, "jnp.where(");
    list(e, kids, 3);
    emit_text(e, ")");
}

/* pltpu.load or store of a place under a mask; a load has no value */
static void masked_access(emitter *e, const char *function, const tp_node *x, const tp_node *value, const tp_node *mask,
                          const tp_node *other)
{
    tp_buf_printf(e->b, "%s(", function);
    place(e, x);
    if (value) {
        emit_text(e, ", ");
        emit_node(e, value, 0);
    }
    emit_text(e, ", mask=");
    emit_node(e, mask, 0);
    if (other) {
        emit_text(e, ", other=");
        emit_node(e, other, 0);
    }
    emit_text(e, ")");
}

/* May it lie beyond its ref where the mask is false? */
static bool is_guarded(const emitter *e, const tp_node *x)
{
    bool all = true;
    for (uint32_t i = 1; i < x->nkids; i++)
        all &= x->kids[i]->kind == TP_N_COLON || x->kids[i]->kind == TP_N_ELLIPSIS;
    return e->k->target.generation == 0 && !all;
}

/* On TPUs load with `other` is a select, which they have; without it lanes stay undefined. */
static void masked_load(emitter *e, const tp_node *n)
{
    tp_node *x = emit_argument(n, "x", 0), *mask = emit_argument(n, "mask", 1), *other = emit_argument(n, "other", 2);
    if (is_guarded(e, x))
        masked_access(e, "plgpu.load", x, NULL, mask, other);
    else if (other)
        select(e, (tp_node *[]){mask, x, other});
    else
        masked_access(e, "pltpu.load", x, NULL, mask, NULL);
}

/* TPUs store 32-bit elements under a mask; others are read, selected and stored. */
static void masked_store(emitter *e, const tp_node *n)
{
    tp_node *x = emit_argument(n, "x", 0), *value = emit_argument(n, "value", 1), *mask = emit_argument(n, "mask", 2);
    int operand = tp_operand_find(e->k, x->kids[0]->text);
    bool guarded = is_guarded(e, x);
    if (guarded || tp_dtype_info(e->k->operands[operand].dtype)->bits == 32) {
        masked_access(e, guarded ? "plgpu.store" : "pltpu.store", x, value, mask, NULL);
        return;
    }
    emit_node(e, x, 0);
    emit_text(e, " = ");
    select(e, (tp_node *[]){mask, value, x});
}

static void call(emitter *e, const tp_node *n)
{
    bool extreme = tp_str_is(n->text, "min") || tp_str_is(n->text, "max");
    tp_str python = python_name(n->text);
    if (tp_str_is(n->text, "num_programs")) {
        if (e->steps(e, n->kids[0]->text))
            return;
        int axis = tp_axis_find(e->k, n->kids[0]->text) - (int)tp_mesh_rank(e->k);
        if (axis < 0)
            tp_buf_printf(e->b, "lax.axis_size(\"%.*s\")", TP_FMT(n->kids[0]->text));
        else
            tp_buf_printf(e->b, "pl.num_programs(%d)", axis);
        return;
    }
    if (tp_str_is(n->text, "dot")) {
        dot(e, n);
        return;
    }
    if (tp_str_is(n->text, "load")) {
        masked_load(e, n);
        return;
    }
    if (tp_str_is(n->text, "pad")) {
        pad(e, n);
        return;
    }
    if (extreme && n->nkids == 2 && n->kids[1]->kind != TP_N_KEYWORD)
        python = is_static(e, n) ? n->text : tp_str_is(n->text, "min") ? TP_S("jnp.minimum") : TP_S("jnp.maximum");
    if (python.n)
        tp_buf_str(e->b, python);
    else
        emit_identifier(e, n->text); /* a function of the program */
    emit_text(e, "(");
    list(e, n->kids, n->nkids);
    emit_text(e, tp_str_is(n->text, "take") && !emit_argument(n, "axis", 2) ? ", axis=0)" : ")");
}

static void logical(emitter *e, const tp_node *n)
{
    emit_text(e, n->op == TP_O_AND ? "jnp.logical_and(" : "jnp.logical_or(");
    emit_node(e, n->kids[0], 0);
    emit_text(e, ", ");
    emit_node(e, n->kids[1], 0);
    emit_text(e, ")");
}

static void binary(emitter *e, const tp_node *n, int power)
{
    const tp_operator_row *o = &TP_OPERATOR_ROWS[n->op];
    bool right = o->right < o->left, compares = tp_operator_compares(n->op);
    if ((n->op == TP_O_AND || n->op == TP_O_OR) && !is_static(e, n)) {
        logical(e, n);
        return;
    }
    bool parens = o->left < power;
    emit_text(e, parens ? "(" : "");
    emit_node(e, n->kids[0], right || compares ? o->left + 1 : o->left);
    tp_buf_printf(e->b, n->op == TP_O_POW ? "%s" : " %s ", o->text);
    emit_node(e, n->kids[1], compares ? o->left + 1 : o->right);
    emit_text(e, parens ? ")" : "");
}

static void unary(emitter *e, const tp_node *n, int power)
{
    bool is_not = n->op == TP_O_NOT, parens = !is_not && TP_OPERATOR_ROWS[n->op].left < power;
    emit_text(e, is_not ? "jnp.logical_not(" : parens ? "(" : "");
    emit_text(e, is_not ? "" : n->op == TP_O_NEG ? "-" : "~");
    emit_node(e, n->kids[0], is_not ? 0 : TP_OPERATOR_ROWS[n->op].left);
    emit_text(e, is_not || parens ? ")" : "");
}

typedef struct search {
    const tp_node *place;
    const tp_access *found;
} search;

static bool accesses(const tp_statement *x, void *ctx)
{
    search *w = ctx;
    if (x->kind == TP_COMPUTE && x->inst->access && x->inst->node == w->place)
        w->found = x->inst->access;
    const tp_syntax *s = x->syntax;
    if (x->kind == TP_PUT && s->kind == TP_S_STORE && s->target == w->place)
        w->found = x->access;
    bool moves = s && s->kind == TP_S_EXPR && (x->kind == TP_PUT || x->from);
    if (moves && emit_argument(s->value, "dst", 1) == w->place)
        w->found = x->access;
    if (moves && emit_argument(s->value, "src", 0) == w->place)
        w->found = x->from;
    return w->found != NULL;
}

/* JAX wants x[a:b] of fixed bounds, else pl.ds(a, b - a) with a fixed size. */
static void slice(emitter *e, const tp_node *place, uint32_t kid)
{
    const tp_node *n = place->kids[kid];
    search w = {.place = place};
    bool moves = n->kids[0]->kind != TP_N_ABSENT && !is_static(e, n->kids[0]);
    if (!moves || !tp_region_any(&e->k->body->statements, accesses, &w)) {
        emit_node(e, n, 0);
        return;
    }
    uint32_t d = kid - 1, rank = e->k->operands[w.found->operand].ref_rank;
    for (uint32_t i = 1; i < kid; i++) /* `...` stands for what the others leave */
        d += place->kids[i]->kind == TP_N_ELLIPSIS ? rank - (place->nkids - 2) - 1 : 0;
    emit_text(e, "pl.ds(");
    emit_node(e, n->kids[0], 0);
    emit_text(e, ", ");
    tp_expr_print(e->b, e->k->exprs, w.found->subs[d].size);
    if (w.found->subs[d].stride != 1)
        tp_buf_printf(e->b, ", %lld", (long long)w.found->subs[d].stride);
    emit_text(e, ")");
}

void emit_subscripts(emitter *e, const tp_node *place)
{
    emit_text(e, "[");
    for (uint32_t i = 1; i < place->nkids; i++) {
        emit_text(e, i > 1 ? ", " : "");
        if (place->kids[i]->kind == TP_N_SLICE)
            slice(e, place, i);
        else
            emit_node(e, place->kids[i], 0);
    }
    emit_text(e, "]");
}

void emit_node(emitter *e, const tp_node *n, int power)
{
    switch (n->kind) {
    case TP_N_INT:
    case TP_N_FLOAT: tp_buf_str(e->b, n->text); break;
    case TP_N_STRING: tp_buf_printf(e->b, "'%.*s'", TP_FMT(n->text)); break;
    case TP_N_NAME: name(e, n->text); break;
    case TP_N_UNARY: unary(e, n, power); break;
    case TP_N_BINARY: binary(e, n, power); break;
    case TP_N_TERNARY:
        if (is_static(e, n->kids[0])) {
            emit_text(e, "(");
            emit_node(e, n->kids[1], TP_POWER_TERNARY + 1);
            emit_text(e, " if ");
            emit_node(e, n->kids[0], TP_POWER_TERNARY + 1);
            emit_text(e, " else ");
            emit_node(e, n->kids[2], TP_POWER_TERNARY);
            emit_text(e, ")");
        } else {
            select(e, n->kids);
        }
        break;
    case TP_N_CALL: call(e, n); break;
    case TP_N_METHOD:
        emit_node(e, n->kids[0], TP_POWER_POSTFIX);
        tp_buf_printf(e->b, ".%.*s(", TP_FMT(n->text));
        list(e, n->kids + 1, n->nkids - 1);
        emit_text(e, ")");
        break;
    case TP_N_ATTRIBUTE:
        emit_node(e, n->kids[0], TP_POWER_POSTFIX);
        tp_buf_printf(e->b, ".%.*s", TP_FMT(n->text));
        break;
    case TP_N_INDEX:
        emit_node(e, n->kids[0], TP_POWER_POSTFIX);
        emit_subscripts(e, n);
        break;
    case TP_N_SEQUENCE:
        emit_text(e, "(");
        list(e, n->kids, n->nkids);
        emit_text(e, n->nkids == 1 ? ",)" : ")");
        break;
    case TP_N_KEYWORD:
        tp_buf_printf(e->b, "%.*s=", TP_FMT(n->text));
        emit_node(e, n->kids[0], 0);
        break;
    case TP_N_ELLIPSIS: emit_text(e, "..."); break;
    case TP_N_COLON: emit_text(e, ":"); break;
    case TP_N_SLICE:
        for (uint32_t i = 0; i < 3; i++) {
            emit_text(e, i == 1 || (i == 2 && n->kids[2]->kind != TP_N_ABSENT) ? ":" : "");
            emit_node(e, n->kids[i], 0);
        }
        break;
    case TP_N_ABSENT:
    case TP_N_LAMBDA:
    case TP_N_APPLY:
    case TP_N_COMPREHENSION: break; /* bodies have none */
    }
}

/* Text of an expression of the spec, parsed again: a JSON string or integer. */
void emit_expression(emitter *e, const tp_json *v)
{
    tp_ctx c = {.arena = e->k->arena, .source = e->k->source};
    if (v->type == TP_J_INT)
        tp_buf_printf(e->b, "%lld", (long long)v->u.integer);
    else
        emit_node(e, tp_parse_expr(&c, v), 0);
}

/* ---- statements ---- */

void emit_item(emitter *e, bool comma, tp_str s)
{
    emit_text(e, comma ? ", " : "");
    emit_identifier(e, s);
}

static void tuple(emitter *e, const emit_names *list, const char *none)
{
    for (uint32_t i = 0; i < list->len; i++)
        emit_item(e, i, list->at[i]);
    emit_text(e, list->len == 1 ? "," : list->len ? "" : none);
}

static void function_body(emitter *e, const tp_block *s, const emit_names *carry, const char *argument,
                          const emit_names *given)
{
    uint32_t mark = e->known.len;
    e->indent++;
    if (argument && given->len) {
        start_line(e);
        tuple(e, given, "");
        tp_buf_printf(e->b, " = %s\n", argument);
    }
    emit_block(e, s);
    if (argument) {
        start_line(e);
        emit_text(e, "return (");
        tuple(e, carry, "");
        emit_text(e, ")\n");
    } else if (!s->len) {
        start_line(e);
        emit_text(e, "pass\n");
    }
    e->indent--;
    e->known.len = mark;
}

/* if without values that live on: @pl.when; else lax.cond over a tuple of them. */
static void branch(emitter *e, const tp_syntax *s)
{
    emit_names carry = emit_carry_names(e, s), given = {0};
    unsigned id = ++e->functions;
    if (!carry.len) {
        for (int arm = 0; arm < (s->orelse.len ? 2 : 1); arm++) {
            emit_text(e, arm ? "\n" : "");
            start_line(e);
            emit_text(e, arm ? "@pl.when(jnp.logical_not(" : "@pl.when(");
            emit_node(e, s->value, 0);
            emit_text(e, arm ? "))\n" : ")\n");
            start_line(e);
            tp_buf_printf(e->b, "def _():\n");
            function_body(e, arm ? &s->orelse : &s->body, &carry, NULL, &given);
        }
        return;
    }
    given = emit_known_of(e, &carry);
    for (int arm = 0; arm < 2; arm++) {
        start_line(e);
        tp_buf_printf(e->b, "def %s_%u(values):\n", arm ? "otherwise" : "then", id);
        function_body(e, arm ? &s->orelse : &s->body, &carry, "values", &given);
    }
    start_line(e);
    tuple(e, &carry, "");
    emit_text(e, " = lax.cond(");
    emit_node(e, s->value, 0);
    tp_buf_printf(e->b, ", then_%u, otherwise_%u, (", id, id);
    tuple(e, &given, "");
    emit_text(e, "))\n");
    for (uint32_t i = 0; i < carry.len; i++)
        tp_push(e->k->arena, e->known, carry.at[i]);
}

static void loop(emitter *e, const tp_syntax *s)
{
    emit_names carry = emit_carry_names(e, s);
    const tp_node *r = s->value;
    unsigned id = ++e->functions;
    bool is_for = s->kind == TP_S_FOR;
    const tp_node *lo = is_for && r->nkids > 1 ? r->kids[0] : NULL, *hi = is_for ? r->kids[r->nkids > 1] : NULL,
                  *step = is_for && r->nkids == 3 ? r->kids[2] : NULL;
    uint32_t mark = e->known.len;
    if (!is_for) {
        start_line(e);
        tp_buf_printf(e->b, "def test_%u(values):\n", id);
        e->indent++;
        if (carry.len) {
            start_line(e);
            tuple(e, &carry, "");
            emit_text(e, " = values\n");
        }
        start_line(e);
        emit_text(e, "return ");
        emit_node(e, s->value, 0);
        emit_text(e, "\n");
        e->indent--;
    }
    start_line(e);
    tp_buf_printf(e->b, "def turn_%u(", id);
    if (is_for) {
        emit_text(e, step ? "n_" : "");
        emit_identifier(e, s->target->text);
        emit_text(e, ", ");
    }
    emit_text(e, "values):\n");
    if (step) { /* counted from 0, in steps of `step` */
        e->indent++;
        start_line(e);
        emit_identifier(e, s->target->text);
        emit_text(e, " = ");
        emit_node(e, lo, TP_OPERATOR_ROWS[TP_O_ADD].left);
        emit_text(e, " + n_");
        emit_identifier(e, s->target->text);
        emit_text(e, " * ");
        emit_node(e, step, TP_OPERATOR_ROWS[TP_O_MUL].right);
        emit_text(e, "\n");
        e->indent--;
    }
    function_body(e, &s->body, &carry, "values", &carry);
    e->known.len = mark;
    start_line(e);
    tuple(e, &carry, "_");
    if (!is_for) {
        tp_buf_printf(e->b, " = lax.while_loop(test_%u, turn_%u, (", id, id);
    } else {
        emit_text(e, " = lax.fori_loop(");
        if (lo && !step)
            emit_node(e, lo, 0);
        else
            emit_text(e, "0");
        emit_text(e, ", ");
        if (step) {
            emit_text(e, "jnp.maximum(0, -((");
            emit_node(e, lo, TP_OPERATOR_ROWS[TP_O_SUB].left);
            emit_text(e, " - ");
            emit_node(e, hi, TP_OPERATOR_ROWS[TP_O_SUB].right);
            emit_text(e, ") // ");
            emit_node(e, step, TP_OPERATOR_ROWS[TP_O_FLOORDIV].right);
            emit_text(e, "))");
        } else {
            emit_node(e, hi, 0);
        }
        tp_buf_printf(e->b, ", turn_%u, (", id);
    }
    tuple(e, &carry, "");
    emit_text(e, "))\n");
}

typedef struct splat {
    const tp_kernel *k;
    const tp_syntax *store;
} splat;

/* Is it that store, and does it write one scalar into many elements? */
static bool splats(const tp_statement *x, void *ctx)
{
    const splat *s = ctx;
    if (x->kind != TP_PUT || x->syntax->line != s->store->line || !x->syntax->target ||
        x->syntax->target->from != s->store->target->from)
        return false; /* of a pipeline the step is parsed again where it runs */
    uint32_t rank = 0;
    for (uint32_t d = 0; d < s->k->operands[x->access->operand].ref_rank; d++)
        rank += x->access->subs[d].kind != TP_SUB_INT;
    return s->k->body->values.at[x->value].rank == 0 && rank > 0;
}

static void store(emitter *e, const tp_syntax *s)
{
    bool whole = s->target->nkids == 2 && s->target->kids[1]->kind == TP_N_ELLIPSIS;
    start_line(e);
    emit_node(e, s->target, 0);
    tp_buf_printf(e->b, " %s= ", s->augmented ? TP_OPERATOR_ROWS[s->op].text : "");
    if (s->augmented || !tp_region_any(&e->k->body->statements, splats, &(splat){e->k, s})) {
        emit_node(e, s->value, 0);
        emit_text(e, "\n");
        return;
    }
    bool zero = s->value->kind == TP_N_INT && s->value->integer == 0;
    emit_text(e, zero ? "jnp.zeros_like(" : "jnp.full_like(");
    emit_node(e, whole ? s->target->kids[0] : s->target, 0);
    if (!zero) {
        emit_text(e, ", ");
        emit_node(e, s->value, 0);
    }
    emit_text(e, ")\n");
}

/* pl.run_scoped: the buffers are parameters; names that live on are handed in and out. */
static void scope(emitter *e, const tp_syntax *s)
{
    emit_names carry = emit_carry_names(e, s), given = emit_known_of(e, &carry);
    unsigned id = ++e->functions;
    start_line(e);
    tp_buf_printf(e->b, "def scope_%u(", id);
    for (uint32_t i = 0; i < s->target->nkids; i++) {
        emit_text(e, i ? ", " : "");
        emit_ref(e, s->target->kids[i]->text);
    }
    if (given.len) {
        emit_text(e, ", values=(");
        tuple(e, &given, "");
        emit_text(e, ")");
    }
    emit_text(e, "):\n");
    function_body(e, &s->body, &carry, carry.len ? "values" : NULL, &given);
    start_line(e);
    tuple(e, &carry, "");
    tp_buf_printf(e->b, "%spl.run_scoped(scope_%u", carry.len ? " = " : "", id);
    for (uint32_t i = 0; i < s->value->nkids; i++) {
        const tp_node *buffer = s->value->kids[i];
        const tp_operand *o = &e->k->operands[tp_operand_find(e->k, s->target->kids[i]->text)];
        emit_text(e, ", ");
        emit_scratch(e, o);
        emit_text(e, "(");
        emit_node(e, buffer->kids[0], 0);
        if (!tp_is_semaphore(o)) {
            emit_text(e, ", ");
            emit_dtype(e, buffer->kids[1]->text);
        }
        emit_text(e, ")");
    }
    emit_text(e, ")\n");
    for (uint32_t i = 0; i < carry.len; i++)
        tp_push(e->k->arena, e->known, carry.at[i]);
}

/* for h in (0, 1, 2): Python unrolls it, too. */
static void each(emitter *e, const tp_syntax *s)
{
    start_line(e);
    emit_text(e, "for ");
    if (s->target->kind == TP_N_SEQUENCE)
        list(e, s->target->kids, s->target->nkids);
    else
        emit_node(e, s->target, 0);
    emit_text(e, " in ");
    emit_node(e, s->value, 0);
    emit_text(e, ":\n");
    e->indent++;
    emit_block(e, &s->body);
    e->indent--;
}

static void statement(emitter *e, const tp_syntax *s)
{
    switch (s->kind) {
    case TP_S_BREAK:
    case TP_S_CONTINUE: /* bodies have none */
    case TP_S_PASS:
        start_line(e);
        emit_text(e, "pass\n");
        break;
    case TP_S_UNPACK:
        start_line(e);
        list(e, s->target->kids, s->target->nkids);
        emit_text(e, " = ");
        if (s->value->kind == TP_N_SEQUENCE)
            list(e, s->value->kids, s->value->nkids);
        else
            emit_node(e, s->value, 0);
        emit_text(e, "\n");
        for (uint32_t i = 0; i < s->target->nkids; i++)
            tp_push(e->k->arena, e->known, s->target->kids[i]->text);
        break;
    case TP_S_ASSIGN:
        start_line(e);
        emit_identifier(e, s->target->text);
        if (s->augmented)
            tp_buf_printf(e->b, " %s= ", TP_OPERATOR_ROWS[s->op].text);
        else
            emit_text(e, " = ");
        emit_node(e, s->value, 0);
        emit_text(e, "\n");
        tp_push(e->k->arena, e->known, s->target->text);
        break;
    case TP_S_STORE: store(e, s); break;
    case TP_S_IF: branch(e, s); break;
    case TP_S_FOR:
        if (s->value->kind == TP_N_SEQUENCE)
            each(e, s);
        else
            loop(e, s);
        break;
    case TP_S_WHILE: loop(e, s); break;
    case TP_S_WITH: scope(e, s); break;
    case TP_S_PIPELINE: e->pipeline(e, s); break;
    case TP_S_EXPR:
        start_line(e);
        if (tp_str_is(s->value->text, "check"))
            emit_text(e, "# ");
        if (tp_str_is(s->value->text, "store"))
            masked_store(e, s->value);
        else if (!emit_movement(e, s->value))
            emit_node(e, s->value, 0);
        emit_text(e, "\n");
        break;
    case TP_S_DEF: {
        uint32_t mark = e->known.len;
        start_line(e);
        emit_text(e, "def ");
        emit_identifier(e, s->value->text);
        emit_text(e, "(");
        list(e, s->value->kids, s->value->nkids);
        emit_text(e, "):\n");
        for (uint32_t i = 0; i < s->value->nkids; i++)
            tp_push(e->k->arena, e->known, s->value->kids[i]->text);
        e->indent++;
        emit_block(e, &s->body);
        e->indent--;
        e->known.len = mark;
        break;
    }
    case TP_S_RETURN:
        start_line(e);
        emit_text(e, "return ");
        emit_node(e, s->value, 0);
        emit_text(e, "\n");
        break;
    }
}

/* Becomes functions of its own: set off by empty lines. */
static bool defines(const tp_syntax *s)
{
    return s->body.len > 0;
}

static bool is_check(const tp_syntax *s)
{
    return s->kind == TP_S_EXPR && tp_str_is(s->value->text, "check");
}

void emit_block(emitter *e, const tp_block *s)
{
    bool acts = false; /* a check is a comment */
    for (uint32_t i = 0; i < s->len; i++) {
        acts |= !is_check(s->at[i]);
        if (i > 0 && (defines(s->at[i]) || defines(s->at[i - 1])))
            emit_text(e, "\n");
        statement(e, s->at[i]);
    }
    if (!acts && e->indent > 1) {
        start_line(e);
        emit_text(e, "pass\n");
    }
}
