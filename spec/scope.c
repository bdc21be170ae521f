#include "spec/scope.h"

#include <ctype.h>

const tp_name *tp_scope_find(const tp_names *names, tp_str name)
{
    for (uint32_t i = 0; i < names->len; i++)
        if (tp_str_eq(names->at[i].name, name))
            return &names->at[i];
    return NULL;
}

static bool well_formed(tp_str s)
{
    if (s.n == 0 || s.n > TP_MAX_NAME || isdigit((unsigned char)s.p[0]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!(isalnum((unsigned char)s.p[i]) && (unsigned char)s.p[i] < 128) && s.p[i] != '_')
            return false;
    return true;
}

/* Words of the language that no name may take. */
/* Arrays may be named as functions are, which are called: cos[...] beside cos(x). */
static bool is_reserved(tp_str s, bool array)
{
    static const char *const WORDS[] =
        {
            "and",      "or",    "not", "implies", "if",   "else",  "elif",  "for",    "in",
            "range",    "while", "def", "return",  "with", "True",  "False", "cdiv",   "next_power_of_2",
            "align_up", "inf",   "nan", "ds",      "load", "store", "check", "forall", "len",
            "d0",       "None",
        },
                             *const FUNCTIONS[] = {"matmul", "softmax", "logsumexp", "mean"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (tp_str_is(s, WORDS[i]))
            return true;
    for (size_t i = 0; !array && i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (tp_str_is(s, FUNCTIONS[i]))
            return true;
    tp_dtype d = tp_dtype_find(s); /* b1 is a dtype where one is expected, and else a name */
    return (!array && tp_prim_find(s) != TP_PRIMS) || (d != TP_NO_DTYPE && tp_str_is(s, tp_dtype_info(d)->name));
}

void tp_scope_add(tp_ctx *c, tp_names *names, tp_str name, tp_name_kind kind, uint32_t index, tp_loc loc)
{
    const tp_name *old = tp_scope_find(names, name);
    if (!well_formed(name))
        tp_raise(c, TP_RULE_SPEC_NAME, loc, "use a to z, A to Z, digits and _, at most 64", "`%.*s` cannot be a name",
                 TP_FMT(name));
    if (is_reserved(name, kind == TP_NAME_OPERAND))
        tp_raise(c, TP_RULE_SPEC_NAME, loc, "choose another name", "`%.*s` is a word of the language", TP_FMT(name));
    if (old) {
        tp_linecol at = tp_linecol_of(c->source, old->loc.start);
        tp_raise(c, TP_RULE_SPEC_NAME, loc, "all names of a spec share one namespace; rename one of the two",
                 "the name `%.*s` is taken at line %u, column %u", TP_FMT(name), at.line, at.column);
    }
    tp_push(c->arena, *names, (tp_name){name, kind, index, loc});
}

/* "there are `i`, `j`, `M`"; NULL: no names are. */
static const char *names_text(tp_arena *a, const tp_str *names, size_t n)
{
    enum { MOST = 8 };
    tp_buf b = {.arena = a};
    for (size_t i = 0; i < n && i < MOST; i++)
        tp_buf_printf(&b, "%s`%.*s`", i ? ", " : "there are ", TP_FMT(names[i]));
    tp_buf_c(&b, n > MOST ? ", …" : "");
    return n ? tp_cstr(a, tp_buf_view(&b)) : NULL;
}

_Noreturn void tp_scope_unknown(tp_ctx *c, const tp_names *names, unsigned kinds, tp_loc loc, tp_str name)
{
    tp_str *known = TP_NEWN(c->arena, tp_str, names->len);
    size_t n = 0;
    for (uint32_t i = 0; i < names->len; i++)
        if (names->at[i].kind & kinds)
            known[n++] = names->at[i].name;
    tp_str near = tp_nearest(name, known, n);
    tp_raise(c, TP_RULE_SPEC_NAME, loc,
             tp_did_you_mean(c->arena, near, "`",
                             kinds == TP_NAME_SIZE ? "only sizes can be used here" : names_text(c->arena, known, n)),
             "unknown name `%.*s`", TP_FMT(name));
}

/* ---- JSON helpers ---- */

void tp_expect_type(tp_ctx *c, const tp_json *v, tp_json_type type, const char *what)
{
    const char *help = v->type == TP_J_STRING && type == TP_J_ARRAY
                           ? "write a list, with one entry per dimension or part: [\"i\", \"j\"]"
                       : v->type == TP_J_OBJECT && type == TP_J_ARRAY ? "put it in a list: [{…}]"
                       : type == TP_J_OBJECT && strcmp(what, "a grid axis") == 0
                           ? "write {\"axis\": \"i\", \"steps\": \"cdiv(N, 256)\"}"
                           : NULL;
    if (v->type != type)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, v->loc, help, "%s is %s, not %s", what, tp_json_type_name(type),
                 tp_json_type_name(v->type));
}

const tp_json *tp_member(tp_ctx *c, const tp_json *object, const char *key, tp_json_type type, bool required)
{
    const tp_json *v = tp_json_get(object, key);
    if (!v && required)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, (tp_loc){object->loc.start, object->loc.start + 1, object->loc.pointer},
                 NULL, "the key \"%s\" is missing here", key);
    if (v)
        tp_expect_type(c, v, type, tp_printf(c->arena, "\"%s\"", key).p);
    return v;
}

void tp_check_keys(tp_ctx *c, const tp_json *object, const char *const *known, const char *const *later,
                   const char *what)
{
    tp_str names[64];
    size_t n = 0;
    for (; known[n]; n++)
        names[n] = tp_str_c(known[n]);
    for (uint32_t i = 0; i < object->u.items.n; i++) {
        const tp_json *m = object->u.items.at[i];
        bool ok = tp_str_is(m->key, "$schema") || tp_str_is(m->key, "$comment") ||
                  (m->key.n >= 2 && memcmp(m->key.p, "x-", 2) == 0);
        for (size_t k = 0; k < n && !ok; k++)
            ok = tp_str_eq(m->key, names[k]);
        if (ok)
            continue;
        for (size_t k = 0; later && later[k]; k++)
            if (tp_str_is(m->key, later[k]))
                tp_raise(c, TP_RULE_SPEC_STRUCTURE, m->key_loc, "remove it, or use a newer tileproof",
                         "\"%s\" is part of the format but not supported by this build", later[k]);
        tp_str near = tp_nearest(m->key, names, n);
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, m->key_loc,
                 tp_did_you_mean(c->arena, near, "\"", "keys that start with x- are ignored"),
                 "unknown key \"%.*s\" in %s", TP_FMT(m->key), what);
    }
}

/* ---- integer expressions ---- */

static const struct {
    const char *name;
    uint32_t arity;
    tp_expr_op op;
} FUNCTIONS[] = {{"cdiv", 2, TP_E_CDIV},
                 {"min", 2, TP_E_MIN},
                 {"max", 2, TP_E_MAX},
                 {"align_up", 2, TP_E_ALIGN_UP},
                 {"next_power_of_2", 1, TP_E_POW2}};

static tp_expr_op binary_op(tp_operator o)
{
    switch (o) {
    case TP_O_IMPLIES: return TP_E_IMPLIES;
    case TP_O_OR: return TP_E_OR;
    case TP_O_AND: return TP_E_AND;
    case TP_O_EQ: return TP_E_EQ;
    case TP_O_NE: return TP_E_NE;
    case TP_O_LT: return TP_E_LT;
    case TP_O_LE: return TP_E_LE;
    case TP_O_GT: return TP_E_GT;
    case TP_O_GE: return TP_E_GE;
    case TP_O_BITOR: return TP_E_BITOR;
    case TP_O_BITXOR: return TP_E_BITXOR;
    case TP_O_BITAND: return TP_E_BITAND;
    case TP_O_SHL: return TP_E_SHL;
    case TP_O_SHR: return TP_E_SHR;
    case TP_O_ADD: return TP_E_ADD;
    case TP_O_SUB: return TP_E_SUB;
    case TP_O_MUL: return TP_E_MUL;
    case TP_O_FLOORDIV: return TP_E_FLOORDIV;
    case TP_O_MOD: return TP_E_MOD;
    case TP_O_TRUEDIV: /* are none of integers */
    case TP_O_IS:
    case TP_O_ISNOT:
    case TP_O_MATMUL:
    case TP_O_POW:
    case TP_O_NEG:
    case TP_O_INVERT:
    case TP_O_NOT:
    case TP_OPERATOR_COUNT: break;
    }
    return TP_E_CONST;
}

/* An entry of a table: by its bare name when it has no dimensions. */
static tp_expr table_expr(tp_reader *r, const tp_node *n, uint32_t table, tp_node *const *index, uint32_t given,
                          unsigned kinds)
{
    const tp_table *t = &r->k->tables[table];
    tp_expr at[TP_TABLE_RANK];
    if (given != t->rank)
        tp_raise(r->c, TP_RULE_SPEC_TYPE, tp_node_loc(r->c, n),
                 t->rank ? tp_printf(r->c->arena, "write %.*s[…] with %u ind%s", TP_FMT(t->name), t->rank,
                                     t->rank == 1 ? "ex" : "ices")
                               .p
                         : "write its bare name",
                 "%u %s for the table `%.*s` of rank %u", given, given == 1 ? "index" : "indices", TP_FMT(t->name),
                 t->rank);
    for (uint32_t d = 0; d < given; d++)
        at[d] = tp_int_expr_of(r, index[d], kinds, false);
    return tp_read(r->k->exprs, t->sym, t->rank, at);
}

_Noreturn static void fail_mutable(tp_reader *r, const tp_node *n)
{
    tp_raise(r->c, TP_RULE_SPEC_NAME, tp_node_loc(r->c, n), "read it in the body, or keep a second table for this",
             "`%.*s` is mutable: only the body reads it", TP_FMT(n->text));
}

_Noreturn static void fail_given(tp_reader *r, const tp_node *n)
{
    tp_raise(r->c, TP_RULE_SPEC_NAME, tp_node_loc(r->c, n), "copy what is needed to a table of \"scalar_prefetch\"",
             "`%.*s` is an input of \"prepare\": the kernel does not see it", TP_FMT(n->text));
}

static tp_expr index_expr(tp_reader *r, const tp_node *n, unsigned kinds)
{
    const tp_node *base = n->kids[0];
    const tp_name *name = base->kind == TP_N_NAME ? tp_scope_find(&r->names, base->text) : NULL;
    if (name && name->kind == TP_NAME_MUTABLE)
        fail_mutable(r, base);
    if (name && name->kind == TP_NAME_GIVEN && !(kinds & TP_NAME_GIVEN))
        fail_given(r, base);
    if (!name || (name->kind != TP_NAME_TABLE && name->kind != TP_NAME_GIVEN))
        tp_raise(r->c, TP_RULE_SPEC_NAME, tp_node_loc(r->c, base), "tables are declared in \"scalar_prefetch\"",
                 "only tables have entries here");
    if (!(kinds & TP_NAME_TABLE))
        tp_raise(r->c, TP_RULE_SPEC_NAME, tp_node_loc(r->c, n), NULL, "tables cannot be read here");
    return table_expr(r, n, name->index, n->kids + 1, n->nkids - 1, kinds);
}

static tp_expr name_expr(tp_reader *r, const tp_node *n, unsigned kinds)
{
    const tp_name *name = tp_scope_find(&r->names, n->text);
    if (tp_str_is(n->text, "True") || tp_str_is(n->text, "False"))
        return tp_const(r->k->exprs, n->text.n == 4);
    if (!name)
        tp_scope_unknown(r->c, &r->names, kinds, tp_node_loc(r->c, n), n->text);
    if (name->kind == TP_NAME_MUTABLE)
        fail_mutable(r, n);
    if (name->kind == TP_NAME_GIVEN && !(kinds & TP_NAME_GIVEN))
        fail_given(r, n);
    if (!(name->kind & kinds))
        tp_raise(r->c, TP_RULE_SPEC_NAME, tp_node_loc(r->c, n), NULL,
                 kinds & TP_NAME_AXIS ? "`%.*s` is neither a size nor a grid axis"
                                      : "only sizes can be used here; `%.*s` is not a size",
                 TP_FMT(n->text));
    if (name->kind == TP_NAME_ELEMENT)
        return tp_sym(r->k->exprs, name->index);
    if (name->kind == TP_NAME_TABLE || name->kind == TP_NAME_GIVEN)
        return table_expr(r, n, name->index, NULL, 0, kinds);
    if (name->kind == TP_NAME_AXIS)
        return tp_sym(r->k->exprs, r->k->axes[name->index].sym);
    tp_read_size(r, name->index);
    return r->k->sizes[name->index].expr;
}

static tp_expr call_expr(tp_reader *r, const tp_node *n, unsigned kinds)
{
    for (size_t f = 0; f < sizeof FUNCTIONS / sizeof *FUNCTIONS; f++) {
        if (!tp_str_is(n->text, FUNCTIONS[f].name))
            continue;
        if (n->nkids != FUNCTIONS[f].arity)
            tp_raise(r->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(r->c, n), NULL, "%s takes %u argument%s, not %u",
                     FUNCTIONS[f].name, FUNCTIONS[f].arity, FUNCTIONS[f].arity == 1 ? "" : "s", n->nkids);
        tp_expr a = tp_int_expr_of(r, n->kids[0], kinds, false);
        if (n->nkids == 1)
            return tp_op1(r->k->exprs, FUNCTIONS[f].op, a);
        return tp_op2(r->k->exprs, FUNCTIONS[f].op, a, tp_int_expr_of(r, n->kids[1], kinds, false));
    }
    tp_raise(r->c, TP_RULE_SPEC_NAME, tp_node_loc(r->c, n),
             "integer expressions know cdiv, min, max, align_up, next_power_of_2", "unknown function `%.*s`",
             TP_FMT(n->text));
}

static tp_expr unary_expr(tp_reader *r, const tp_node *n, unsigned kinds)
{
    bool is_not = n->op == TP_O_NOT;
    if (n->op == TP_O_INVERT)
        tp_raise(r->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(r->c, n), NULL, "`~` is not an integer expression here");
    return tp_op1(r->k->exprs, is_not ? TP_E_NOT : TP_E_NEG, tp_int_expr_of(r, n->kids[0], kinds, is_not));
}

/* A condition, and not one of the constants that are integers as well. */
static bool is_condition(const tp_exprs *p, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    if (n->op == TP_E_ITE)
        return is_condition(p, n->b) || is_condition(p, n->c);
    return tp_expr_is_bool(p, e) && n->op != TP_E_CONST;
}

static void check_kind(tp_reader *r, const tp_node *n, tp_expr e, bool boolean)
{
    if (boolean && !tp_expr_is_bool(r->k->exprs, e))
        tp_raise(r->c, TP_RULE_SPEC_TYPE, tp_node_loc(r->c, n), "compare it with something",
                 "a condition is expected, this is an integer");
    if (!boolean && is_condition(r->k->exprs, e))
        tp_raise(r->c, TP_RULE_SPEC_TYPE, tp_node_loc(r->c, n), "write `1 if … else 0`",
                 "an integer is expected, this is a condition");
}

static tp_expr any_expr(tp_reader *r, const tp_node *n, unsigned kinds)
{
    tp_exprs *p = r->k->exprs;
    switch (n->kind) {
    case TP_N_INT: return tp_const(p, n->integer);
    case TP_N_NAME: return name_expr(r, n, kinds);
    case TP_N_CALL: return call_expr(r, n, kinds);
    case TP_N_INDEX: return index_expr(r, n, kinds);
    case TP_N_UNARY: return unary_expr(r, n, kinds);
    case TP_N_TERNARY: {
        tp_expr c = tp_int_expr_of(r, n->kids[0], kinds, true);
        tp_expr a = any_expr(r, n->kids[1], kinds), b = any_expr(r, n->kids[2], kinds);
        bool boolean = is_condition(p, a) || is_condition(p, b);
        check_kind(r, n->kids[1], a, boolean);
        check_kind(r, n->kids[2], b, boolean);
        return tp_ite(p, c, a, b);
    }
    case TP_N_BINARY: {
        tp_expr_op op = binary_op(n->op);
        bool logical = op == TP_E_AND || op == TP_E_OR || op == TP_E_IMPLIES;
        if (op == TP_E_CONST)
            tp_raise(r->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(r->c, n),
                     n->op == TP_O_TRUEDIV ? "write // for floor division" : NULL, "`%s` is not an integer operation",
                     tp_operator_text(n->op));
        tp_expr a = tp_int_expr_of(r, n->kids[0], kinds, logical);
        return tp_op2(p, op, a, tp_int_expr_of(r, n->kids[1], kinds, logical));
    }
    case TP_N_FLOAT:
        tp_raise(r->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(r->c, n), "index arithmetic is on integers",
                 "a float in an integer expression");
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
    case TP_N_COMPREHENSION: break;
    }
    tp_raise(r->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(r->c, n), NULL, "this is not an integer expression");
}

tp_expr tp_int_expr_of(tp_reader *r, const tp_node *n, unsigned kinds, bool boolean)
{
    tp_expr e = any_expr(r, n, kinds);
    if (tp_exprs_overflowed(r->k->exprs))
        tp_raise(r->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(r->c, n), "a chain of derived sizes can double at each link",
                 "this expression is too large");
    check_kind(r, n, e, boolean);
    return e;
}

tp_expr tp_read_int_expr(tp_reader *r, const tp_json *v, unsigned kinds, const char *what)
{
    if (v->type == TP_J_INT)
        return tp_const(r->k->exprs, v->u.integer);
    if (v->type != TP_J_STRING)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v->loc, NULL, "%s is an integer or an expression, not %s", what,
                 tp_json_type_name(v->type));
    return tp_int_expr_of(r, tp_parse_expr(r->c, v), kinds, false);
}
