/* "prepare" as a function that computes its tables with jnp and lax, before the call of the kernel. */
#include "emit/internal.h"
#include "spec/syntax.h"

static void line(emitter *e)
{
    tp_buf_printf(e->b, "%*s", 4 * e->indent, "");
}

/* ---- expressions ---- */

/* Known from the sizes alone. */
static bool is_static(const emitter *e, const tp_node *n)
{
    bool all = n->kind == TP_N_NAME ? tp_size_find(e->k, n->text) != NULL : n->kind != TP_N_INDEX;
    for (uint32_t i = 0; i < n->nkids; i++)
        all &= is_static(e, n->kids[i]);
    return all;
}

static void expression(emitter *e, const tp_node *n);

static void pair(emitter *e, const char *before, tp_node *const *kids, const char *between, const char *behind)
{
    emit_text(e, before);
    expression(e, kids[0]);
    emit_text(e, between);
    expression(e, kids[1]);
    emit_text(e, behind);
}

static void binary(emitter *e, const tp_node *n)
{
    static const char *const SIGNS[TP_OPERATOR_COUNT] = {
        [TP_O_ADD] = " + ",   [TP_O_SUB] = " - ",    [TP_O_MUL] = " * ",  [TP_O_FLOORDIV] = " // ",
        [TP_O_MOD] = " % ",   [TP_O_EQ] = " == ",    [TP_O_NE] = " != ",  [TP_O_LT] = " < ",
        [TP_O_LE] = " <= ",   [TP_O_GT] = " > ",     [TP_O_GE] = " >= ",  [TP_O_BITAND] = " & ",
        [TP_O_BITOR] = " | ", [TP_O_BITXOR] = " ^ ", [TP_O_SHL] = " << ", [TP_O_SHR] = " >> "};
    bool compares = n->op >= TP_O_EQ && n->op <= TP_O_GE;
    if (n->op == TP_O_AND || n->op == TP_O_OR)
        pair(e, n->op == TP_O_AND ? "jnp.int32(jnp.logical_and(" : "jnp.int32(jnp.logical_or(", n->kids, ", ", "))");
    else if (n->op == TP_O_IMPLIES)
        pair(e, "jnp.int32(jnp.logical_or(jnp.logical_not(", n->kids, "), ", "))");
    else
        pair(e, compares ? "jnp.int32(" : "(", n->kids, SIGNS[n->op], ")");
}

static void call(emitter *e, const tp_node *n)
{
    bool least = tp_str_is(n->text, "min");
    if (least || tp_str_is(n->text, "max")) {
        pair(e, least ? "jnp.minimum(" : "jnp.maximum(", n->kids, ", ", ")");
        return;
    }
    pair(e, "(-(-", n->kids, " // ", ")");
    if (tp_str_is(n->text, "align_up")) {
        emit_text(e, " * ");
        expression(e, n->kids[1]);
    }
    emit_text(e, ")");
}

static void entry(emitter *e, const tp_node *n)
{
    emit_identifier(e, n->kids[0]->text);
    for (uint32_t i = 1; i < n->nkids; i++) {
        emit_text(e, i > 1 ? ", " : "[");
        expression(e, n->kids[i]);
    }
    emit_text(e, n->nkids > 1 ? "]" : "");
}

static void ternary(emitter *e, const tp_node *n)
{
    bool known = is_static(e, n->kids[0]);
    pair(e, known ? "(" : "jnp.where(", (tp_node *[]){n->kids[known ? 1 : 0], n->kids[known ? 0 : 1]},
         known ? " if " : ", ", known ? " else " : ", ");
    expression(e, n->kids[2]);
    emit_text(e, ")");
}

static void expression(emitter *e, const tp_node *n)
{
    switch (n->kind) {
    case TP_N_INT: tp_buf_printf(e->b, "%lld", (long long)n->integer); return;
    case TP_N_NAME: emit_identifier(e, n->text); return;
    case TP_N_INDEX: entry(e, n); return;
    case TP_N_CALL: call(e, n); return;
    case TP_N_TERNARY: ternary(e, n); return;
    case TP_N_BINARY: binary(e, n); return;
    case TP_N_UNARY: break;
    case TP_N_FLOAT:
    case TP_N_STRING:
    case TP_N_METHOD:
    case TP_N_ATTRIBUTE:
    case TP_N_SEQUENCE:
    case TP_N_KEYWORD:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_SLICE:
    case TP_N_ABSENT:
    case TP_N_LAMBDA:
    case TP_N_APPLY:
    case TP_N_COMPREHENSION: return; /* tp_read_prepare() refuses them */
    }
    emit_text(e, n->op == TP_O_NOT ? "jnp.int32(jnp.logical_not(" : n->op == TP_O_INVERT ? "(~" : "(-");
    expression(e, n->kids[0]);
    emit_text(e, n->op == TP_O_NOT ? "))" : ")");
}

static void int32(emitter *e, const tp_node *n)
{
    emit_text(e, "jnp.int32(");
    expression(e, n);
    emit_text(e, ")");
}

static void condition(emitter *e, const tp_node *n)
{
    emit_text(e, "jnp.bool_(");
    expression(e, n);
    emit_text(e, ")");
}

/* ---- statements: what is assigned goes into the functions of loops and branches, and comes back ---- */

static void add(emitter *e, emit_names *all, tp_str s)
{
    for (uint32_t i = 0; i < all->len; i++)
        if (tp_str_eq(all->at[i], s))
            return;
    tp_push(e->k->arena, *all, s);
}

static void assigned_in(emitter *e, const tp_block *b, emit_names *all);

/* Locals and tables that a statement assigns. */
static void assigned(emitter *e, const tp_syntax *s, emit_names *all)
{
    if (s->kind == TP_S_ASSIGN || s->kind == TP_S_FOR)
        add(e, all, s->target->text);
    if (s->kind == TP_S_STORE)
        add(e, all, s->target->kids[0]->text);
    assigned_in(e, &s->body, all);
    assigned_in(e, &s->orelse, all);
}

static void assigned_in(emitter *e, const tp_block *b, emit_names *all)
{
    for (uint32_t i = 0; i < b->len; i++)
        assigned(e, b->at[i], all);
}

/* a, b: as the target of an assignment, and as a tuple. */
static void tuple(emitter *e, const emit_names *all)
{
    for (uint32_t i = 0; i < all->len; i++)
        emit_item(e, i > 0, all->at[i]);
    emit_text(e, all->len == 1 ? "," : "");
}

static void block(emitter *e, const tp_block *b);

/* A function of the carried names; `at`: of the loop's variable, too. */
static void function(emitter *e, const char *name, unsigned number, const emit_names *all, const tp_node *at,
                     const tp_block *body)
{
    line(e);
    tp_buf_printf(e->b, "def %s_%u(%scarry):\n", name, number, at ? "at, " : "");
    e->indent++;
    line(e);
    tuple(e, all);
    emit_text(e, " = carry\n");
    if (at) {
        line(e);
        emit_identifier(e, at->text);
        emit_text(e, " = at\n");
    }
    block(e, body);
    line(e);
    emit_text(e, "return ");
    tuple(e, all);
    emit_text(e, "\n");
    e->indent--;
}

static void compound(emitter *e, const tp_syntax *s)
{
    emit_names all = {0};
    unsigned number = ++e->functions;
    const tp_node *range = s->value;
    assigned(e, s, &all);
    if (!all.len)
        return;
    function(e, s->kind == TP_S_IF ? "then" : "turn", number, &all, s->kind == TP_S_FOR ? s->target : NULL, &s->body);
    if (s->kind == TP_S_IF)
        function(e, "other", number, &all, NULL, &s->orelse);
    if (s->kind == TP_S_WHILE) {
        line(e);
        tp_buf_printf(e->b, "def goes_on_%u(carry):\n", number);
        tp_buf_printf(e->b, "%*s", 4 * e->indent + 4, "");
        tuple(e, &all);
        tp_buf_printf(e->b, " = carry\n%*sreturn ", 4 * e->indent + 4, "");
        condition(e, s->value);
        emit_text(e, "\n");
    }
    line(e);
    tuple(e, &all);
    if (s->kind == TP_S_FOR) {
        emit_text(e, " = lax.fori_loop(");
        if (range->nkids == 2)
            int32(e, range->kids[0]);
        else
            emit_text(e, "jnp.int32(0)");
        emit_text(e, ", ");
        int32(e, range->kids[range->nkids - 1]);
        tp_buf_printf(e->b, ", turn_%u, (", number);
    } else if (s->kind == TP_S_WHILE) {
        tp_buf_printf(e->b, " = lax.while_loop(goes_on_%u, turn_%u, (", number, number);
    } else {
        emit_text(e, " = lax.cond(");
        condition(e, s->value);
        tp_buf_printf(e->b, ", then_%u, other_%u, (", number, number);
    }
    tuple(e, &all);
    emit_text(e, "))\n");
}

/* The name, or the entry, with what is assigned to it. */
static void assignment(emitter *e, const tp_syntax *s)
{
    bool store = s->kind == TP_S_STORE && s->target->nkids > 1;
    const tp_node *target = store ? s->target->kids[0] : s->target->kind == TP_N_INDEX ? s->target->kids[0] : s->target;
    tp_node whole = {.kind = TP_N_BINARY, .op = s->op, .nkids = 2};
    tp_node *kids[] = {s->target, s->value};
    whole.kids = kids;
    line(e);
    emit_identifier(e, target->text);
    emit_text(e, " = ");
    if (store) {
        emit_identifier(e, target->text);
        for (uint32_t i = 1; i < s->target->nkids; i++) {
            emit_text(e, i > 1 ? ", " : ".at[");
            expression(e, s->target->kids[i]);
        }
        emit_text(e, "].set(");
    }
    int32(e, s->augmented ? &whole : s->value);
    emit_text(e, store ? ")\n" : "\n");
}

static void block(emitter *e, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (s->kind == TP_S_ASSIGN || s->kind == TP_S_STORE)
            assignment(e, s);
        else if (s->kind == TP_S_FOR || s->kind == TP_S_WHILE || s->kind == TP_S_IF)
            compound(e, s);
        else if (s->kind == TP_S_EXPR) {
            line(e);
            emit_text(e, "# here holds ");
            tp_print_node(e->b, s->value->kids[0]);
            emit_text(e, "\n");
        }
    }
}

void emit_prepare(emitter *e)
{
    const tp_kernel *k = e->k;
    emit_names all = {0}, tables = {0};
    if (!k->prepare)
        return;
    assigned_in(e, k->prepare, &all);
    for (uint32_t i = 0; i < k->ntables; i++)
        if (!k->tables[i].prepared) {
            emit_text(e, "    ");
            emit_identifier(e, k->tables[i].name);
            emit_text(e, " = jnp.asarray(");
            emit_identifier(e, k->tables[i].name);
            emit_text(e, ", jnp.int32)\n");
        }
    emit_text(e, "\n    def prepare():\n");
    e->indent = 2;
    for (uint32_t i = 0; i < all.len; i++) {
        int table = tp_table_find(k, all.at[i]);
        line(e);
        emit_identifier(e, all.at[i]);
        if (table < 0) {
            emit_text(e, " = jnp.int32(0)\n");
            continue;
        }
        add(e, &tables, all.at[i]);
        emit_text(e, " = jnp.zeros(");
        emit_shape(e, tp_json_get(tp_json_get(k->doc, "scalar_prefetch")->u.items.at[table], "shape"), 0);
        emit_text(e, ", jnp.int32)\n");
    }
    block(e, k->prepare);
    emit_text(e, "        return ");
    tuple(e, &tables);
    emit_text(e, "\n\n    ");
    tuple(e, &tables);
    emit_text(e, " = prepare()\n");
    e->indent = 0;
}
