/* "prepare": tables that a program on integers computes from others, before the kernel runs. */
#include "spec/prepare.h"

#include "base/checked.h"
#include "base/map.h"
#include "spec/scope.h"
#include "spec/table.h"

enum { MOST_WORK = 1000000 };

static bool is_name(const tp_node *n)
{
    return n->kind == TP_N_NAME;
}

/* ---- reading: what the program may be made of ---- */

typedef struct reading {
    tp_reader *r;
    tp_map locals;
} reading;

static void collect_locals(reading *x, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if ((s->kind == TP_S_ASSIGN || s->kind == TP_S_FOR) && is_name(s->target))
            tp_map_set(x->r->c->arena, &x->locals, s->target->text, 1);
        collect_locals(x, &s->body);
        collect_locals(x, &s->orelse);
    }
}

_Noreturn static void refuse(reading *x, const tp_node *n, const char *help, const char *what)
{
    tp_raise(x->r->c, TP_RULE_SPEC_TYPE, tp_node_loc(x->r->c, n), help, "%s", what);
}

static const tp_table *table_named(const tp_kernel *k, const tp_node *n)
{
    int table = is_name(n) ? tp_table_find(k, n->text) : -1;
    return table < 0 ? NULL : &k->tables[table];
}

static void check_expression(reading *x, const tp_node *n);

static void check_entry(reading *x, const tp_node *n)
{
    const tp_table *t = table_named(x->r->k, n->kids[0]);
    if (!t)
        refuse(x, n->kids[0], "tables are declared in \"scalar_prefetch\" and in \"inputs\" of \"prepare\"",
               "this is no table");
    if (n->nkids - 1 != t->rank)
        refuse(x, n, "write one index for each dimension", "another number of indices than the table has dimensions");
    for (uint32_t i = 1; i < n->nkids; i++)
        check_expression(x, n->kids[i]);
}

static void check_expression(reading *x, const tp_node *n)
{
    static const char *const CALLS[] = {"cdiv", "min", "max", "align_up"};
    bool known = n->kind == TP_N_INT || n->kind == TP_N_UNARY || n->kind == TP_N_BINARY || n->kind == TP_N_TERNARY;
    if (n->kind == TP_N_INDEX) {
        check_entry(x, n);
        return;
    }
    if (is_name(n)) {
        const tp_table *t = table_named(x->r->k, n);
        if (t && t->rank)
            refuse(x, n, "read one entry of it", "a table stands where an integer is expected");
        if (!t && !tp_map_get(&x->locals, n->text) && !tp_size_find(x->r->k, n->text))
            tp_scope_unknown(x->r->c, &x->r->names, TP_NAME_SIZE | TP_NAME_TABLE, tp_node_loc(x->r->c, n), n->text);
        return;
    }
    for (size_t i = 0; n->kind == TP_N_CALL && i < sizeof CALLS / sizeof *CALLS; i++)
        known |= tp_str_is(n->text, CALLS[i]) && n->nkids == 2;
    bool other = n->kind == TP_N_BINARY && (n->op == TP_O_TRUEDIV || n->op == TP_O_POW || n->op == TP_O_MATMUL ||
                                            n->op == TP_O_IS || n->op == TP_O_ISNOT);
    if (!known || other)
        refuse(x, n, "use integers, sizes, entries of tables, + - * // %, comparisons, cdiv, min, max, align_up",
               "this is no integer expression of \"prepare\"");
    for (uint32_t i = 0; n->kind != TP_N_INT && i < n->nkids; i++)
        check_expression(x, n->kids[i]);
}

/* The table, of which an entry is assigned: it is one that the program computes. */
static void mark_prepared(reading *x, const tp_node *target, const tp_table *t)
{
    if (t->given)
        refuse(x, target, "it is what the caller gives", "an input of \"prepare\" is assigned");
    if (t->contents)
        refuse(x, target, "remove \"contents\"", "a table that the spec fixes is assigned");
    x->r->k->tables[t - x->r->k->tables].prepared = true;
}

/* A name that is assigned: a local, or a table without dimensions. */
static void check_target(reading *x, const tp_node *n, bool loop)
{
    const tp_table *t = table_named(x->r->k, n);
    if (tp_size_find(x->r->k, n->text))
        refuse(x, n, "choose another name", "a size is assigned");
    if (t && loop)
        refuse(x, n, "choose another name", "the variable of a loop has the name of a table");
    if (t && t->rank)
        refuse(x, n, "assign its entries: t[i] = …", "a table is assigned as a whole");
    if (t)
        mark_prepared(x, n, t);
}

static void check_block(reading *x, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        switch (s->kind) {
        case TP_S_PASS: break;
        case TP_S_ASSIGN:
            check_target(x, s->target, false);
            check_expression(x, s->value);
            break;
        case TP_S_STORE:
            check_entry(x, s->target);
            mark_prepared(x, s->target, table_named(x->r->k, s->target->kids[0]));
            check_expression(x, s->value);
            break;
        case TP_S_IF:
        case TP_S_WHILE: check_expression(x, s->value); break;
        case TP_S_FOR:
            if (!is_name(s->target) || s->value->kind != TP_N_CALL || !tp_str_is(s->value->text, "range") ||
                s->value->nkids < 1 || s->value->nkids > 2)
                refuse(x, s->value, "write for i in range(n) or range(lo, hi)", "this is no loop of \"prepare\"");
            check_target(x, s->target, true);
            for (uint32_t k = 0; k < s->value->nkids; k++)
                check_expression(x, s->value->kids[k]);
            break;
        case TP_S_EXPR:
            if (s->value->kind != TP_N_CALL || !tp_str_is(s->value->text, "check") || s->value->nkids != 2 ||
                s->value->kids[1]->kind != TP_N_STRING)
                refuse(x, s->value, "write check(condition, \"text\")", "this is no statement of \"prepare\"");
            check_expression(x, s->value->kids[0]);
            break;
        case TP_S_DEF:
        case TP_S_BREAK:
        case TP_S_CONTINUE:
        case TP_S_RETURN:
        case TP_S_UNPACK:
        case TP_S_PIPELINE:
        case TP_S_WITH:
            tp_raise(x->r->c, TP_RULE_SPEC_TYPE, tp_json_place(s->line), "use assignments, if, for and while",
                     "this is no statement of \"prepare\"");
        }
        check_block(x, &s->body);
        check_block(x, &s->orelse);
    }
}

void tp_read_prepare(tp_reader *r, const tp_json *program)
{
    reading x = {.r = r};
    tp_block *b = TP_NEW(r->c->arena, tp_block);
    *b = tp_parse_program(r->c, program);
    collect_locals(&x, b);
    check_block(&x, b);
    for (uint32_t t = 0; t < r->k->ntables && !r->k->prepare; t++)
        if (r->k->tables[t].prepared)
            r->k->prepare = b;
    if (!r->k->prepare)
        tp_raise(r->c, TP_RULE_SPEC_VALUE, program->loc, "assign the entries of a table: starts[g] = …",
                 "\"prepare\" computes no table");
}

/* ---- running ---- */

typedef struct variable {
    tp_str name;
    int64_t value;
} variable;

typedef struct running {
    tp_arena *arena;
    const tp_kernel *k;
    int64_t *env;
    TP_VEC(variable) locals;
    bool **set; /* of prepared tables: the entries that are assigned */
    int64_t work;
    uint32_t line;
    bool refused; /* by a check */
    tp_str why;
} running;

_Noreturn static void stop(running *x, const char *what)
{
    x->why = x->line ? tp_printf(x->arena, "\"prepare\", line %u: %s", x->line, what)
                     : tp_printf(x->arena, "\"prepare\": %s", what);
    tp_leave(x->arena, TP_E_INPUT);
}

static void work(running *x)
{
    tp_spend(x->arena, 2);
    if (++x->work > MOST_WORK)
        stop(x, "more than 1000000 operations");
}

static variable *local(running *x, tp_str name)
{
    for (uint32_t i = 0; i < x->locals.len; i++)
        if (tp_str_eq(x->locals.at[i].name, name))
            return &x->locals.at[i];
    return NULL;
}

static int64_t value_of(running *x, const tp_node *n);

/* The entry that n names, and whether it is there. */
static int64_t *entry(running *x, const tp_node *name, tp_node *const *index, bool **set)
{
    uint32_t t = (uint32_t)tp_table_find(x->k, name->text);
    const tp_table_data *d = tp_bound_table(x->env, x->k->tables[t].sym);
    int64_t at = 0;
    for (uint32_t i = 0; i < d->rank; i++) {
        int64_t v = value_of(x, index[i]);
        if (v < 0 || v >= d->dims[i])
            stop(x, tp_printf(x->arena, "index %lld outside the %lld of dimension %u of `%.*s`", (long long)v,
                              (long long)d->dims[i], i, TP_FMT(name->text))
                        .p);
        at = at * d->dims[i] + v;
    }
    *set = x->set[t] ? &x->set[t][at] : NULL;
    return &d->at[at];
}

static int64_t read(running *x, const tp_node *name, tp_node *const *index)
{
    bool *set;
    int64_t v = *entry(x, name, index, &set);
    if (set && !*set)
        stop(x, tp_printf(x->arena, "an entry of `%.*s` is read before it is assigned", TP_FMT(name->text)).p);
    return v;
}

static int64_t apply(running *x, tp_operator op, int64_t a, int64_t b)
{
    int64_t v = 0;
    bool ok = true;
    switch (op) {
    case TP_O_ADD: ok = tp_add(a, b, &v); break;
    case TP_O_SUB: ok = tp_sub(a, b, &v); break;
    case TP_O_MUL: ok = tp_mul(a, b, &v); break;
    case TP_O_FLOORDIV: ok = tp_floordiv(a, b, &v); break;
    case TP_O_MOD: ok = tp_floormod(a, b, &v); break;
    case TP_O_EQ: v = a == b; break;
    case TP_O_NE: v = a != b; break;
    case TP_O_LT: v = a < b; break;
    case TP_O_LE: v = a <= b; break;
    case TP_O_GT: v = a > b; break;
    case TP_O_GE: v = a >= b; break;
    case TP_O_BITAND: v = a & b; break;
    case TP_O_BITOR: v = a | b; break;
    case TP_O_BITXOR: v = a ^ b; break;
    case TP_O_SHL: ok = b >= 0 && b < 62 && tp_mul(a, (int64_t)1 << b, &v); break;
    case TP_O_SHR: ok = b >= 0 && b < 63 && tp_floordiv(a, (int64_t)1 << b, &v); break;
    case TP_O_AND:
    case TP_O_OR:
    case TP_O_IMPLIES: /* lazy: value_of() */
    case TP_O_IS:
    case TP_O_ISNOT:
    case TP_O_MATMUL:
    case TP_O_TRUEDIV:
    case TP_O_POW:
    case TP_O_NEG:
    case TP_O_INVERT:
    case TP_O_NOT:
    case TP_OPERATOR_COUNT: ok = false; break;
    }
    if (!ok)
        stop(x, "an integer that overflows, or a division by zero");
    return v;
}

static int64_t call(running *x, const tp_node *n)
{
    int64_t a = value_of(x, n->kids[0]), b = value_of(x, n->kids[1]), v;
    if (tp_str_is(n->text, "min"))
        return a < b ? a : b;
    if (tp_str_is(n->text, "max"))
        return a > b ? a : b;
    v = apply(x, TP_O_SUB, 0, apply(x, TP_O_FLOORDIV, apply(x, TP_O_SUB, 0, a), b)); /* cdiv */
    return tp_str_is(n->text, "cdiv") ? v : apply(x, TP_O_MUL, v, b);
}

static int64_t name_value(running *x, const tp_node *n)
{
    int64_t v;
    const variable *known = local(x, n->text);
    const tp_size *s = tp_size_find(x->k, n->text);
    if (known)
        return known->value;
    if (table_named(x->k, n))
        return read(x, n, NULL);
    if (!s || tp_expr_eval(x->k->exprs, s->expr, x->env, &v) != TP_EVAL_OK)
        stop(x, tp_printf(x->arena, "`%.*s` has no value yet", TP_FMT(n->text)).p);
    return v;
}

static int64_t integer_of(running *x, const tp_node *n)
{
    switch (n->kind) {
    case TP_N_INT: return n->integer;
    case TP_N_NAME: return name_value(x, n);
    case TP_N_INDEX: return read(x, n->kids[0], n->kids + 1);
    case TP_N_CALL: return call(x, n);
    case TP_N_TERNARY: return value_of(x, n->kids[0]) ? value_of(x, n->kids[1]) : value_of(x, n->kids[2]);
    case TP_N_UNARY: {
        int64_t v = value_of(x, n->kids[0]);
        return n->op == TP_O_NOT ? !v : n->op == TP_O_INVERT ? ~v : apply(x, TP_O_SUB, 0, v);
    }
    case TP_N_BINARY: {
        int64_t a = value_of(x, n->kids[0]);
        if (n->op == TP_O_AND)
            return a && value_of(x, n->kids[1]);
        if (n->op == TP_O_OR)
            return a || value_of(x, n->kids[1]);
        if (n->op == TP_O_IMPLIES)
            return !a || value_of(x, n->kids[1]);
        return apply(x, n->op, a, value_of(x, n->kids[1]));
    }
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
    case TP_N_COMPREHENSION: break; /* check_expression() refuses them */
    }
    stop(x, "this is no integer");
}

/* Integers are int32, as where a device or JAX computes them. */
static int64_t value_of(running *x, const tp_node *n)
{
    work(x);
    int64_t v = integer_of(x, n);
    if (v < INT32_MIN || v > INT32_MAX)
        stop(x, tp_printf(x->arena, "%lld is no int32", (long long)v).p);
    return v;
}

static void assign(running *x, tp_str name, int64_t v)
{
    variable *known = local(x, name);
    if (known)
        known->value = v;
    else
        tp_push(x->arena, x->locals, ((variable){name, v}));
}

static void store(running *x, const tp_syntax *s)
{
    bool *set;
    bool entire = is_name(s->target); /* of no dimensions */
    const tp_node *name = entire ? s->target : s->target->kids[0];
    tp_node *const *index = entire ? NULL : s->target->kids + 1;
    int64_t v = value_of(x, s->value);
    int64_t *at = entry(x, name, index, &set);
    const tp_table *t = table_named(x->k, name);
    if (s->augmented)
        v = apply(x, s->op, read(x, name, index), v);
    if (t->dtype == TP_BOOL ? v < 0 || v > 1 : v < tp_dtype_min(t->dtype) || v > tp_dtype_max(t->dtype))
        stop(x, tp_printf(x->arena, "%lld does not fit the %s of `%.*s`", (long long)v, tp_dtype_info(t->dtype)->name,
                          TP_FMT(t->name))
                    .p);
    *at = v;
    *set = true;
}

static void run_block(running *x, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        x->line = s->number;
        work(x);
        switch (s->kind) {
        case TP_S_ASSIGN: {
            if (table_named(x->k, s->target)) {
                store(x, s);
                break;
            }
            int64_t v = value_of(x, s->value);
            v = s->augmented ? apply(x, s->op, name_value(x, s->target), v) : v;
            if (v < INT32_MIN || v > INT32_MAX)
                stop(x, tp_printf(x->arena, "%lld is no int32", (long long)v).p);
            assign(x, s->target->text, v);
            break;
        }
        case TP_S_STORE: store(x, s); break;
        case TP_S_IF: run_block(x, value_of(x, s->value) ? &s->body : &s->orelse); break;
        case TP_S_WHILE:
            while (value_of(x, s->value))
                run_block(x, &s->body);
            break;
        case TP_S_FOR: {
            tp_node *const *range = s->value->kids;
            int64_t lo = s->value->nkids == 1 ? 0 : value_of(x, range[0]), hi = value_of(x, range[s->value->nkids - 1]);
            for (int64_t t = lo; t < hi; t++) {
                work(x);
                assign(x, s->target->text, t);
                run_block(x, &s->body);
            }
            break;
        }
        case TP_S_EXPR:
            x->refused = !value_of(x, s->value->kids[0]);
            if (x->refused)
                stop(x, tp_printf(x->arena, "check failed: %.*s", TP_FMT(s->value->kids[1]->text)).p);
            break;
        case TP_S_PASS:
        case TP_S_BREAK:
        case TP_S_CONTINUE:
        case TP_S_DEF:
        case TP_S_RETURN:
        case TP_S_UNPACK:
        case TP_S_PIPELINE:
        case TP_S_WITH: break;
        }
    }
}

static void run(void *arg)
{
    running *x = arg;
    const tp_kernel *k = x->k;
    x->set = TP_NEWN(x->arena, bool *, k->ntables);
    for (uint32_t t = 0; t < k->ntables; t++) {
        const tp_table_data *d = tp_bound_table(x->env, k->tables[t].sym);
        if (k->tables[t].prepared)
            x->set[t] = TP_NEWN(x->arena, bool, (size_t)tp_entries_of(d) + 1);
    }
    run_block(x, k->prepare);
    x->line = 0;
    for (uint32_t t = 0; t < k->ntables; t++) {
        const tp_table_data *d = tp_bound_table(x->env, k->tables[t].sym);
        for (int64_t i = 0; x->set[t] && i < tp_entries_of(d); i++)
            if (!x->set[t][i])
                stop(x, tp_printf(x->arena, "entry %lld of `%.*s` is never assigned", (long long)i,
                                  TP_FMT(k->tables[t].name))
                            .p);
    }
}

tp_prepared tp_prepare(tp_arena *a, const tp_kernel *k, int64_t *env, int64_t *operations, tp_str *why)
{
    running x = {.arena = a, .k = k, .env = env};
    if (!k->prepare)
        return TP_PREPARED;
    tp_status st = tp_try(a, run, &x);
    if (st == TP_E_MEMORY || st == TP_E_BUDGET)
        tp_leave(a, st);
    *why = x.why;
    *operations += x.work;
    return st == TP_OK ? TP_PREPARED : x.refused ? TP_PREPARE_REFUSES : TP_PREPARE_FAILS;
}
