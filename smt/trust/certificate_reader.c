/* Certificates from the rows of a file, which anyone may have written: what
 * does not fit is TP001 with its place. */
#include "smt/trust/rows.h"

enum { MAX_SYMBOLS = 4096 };

typedef tp_row_reader reader;

_Noreturn static void wrong(tp_ctx *c, const tp_json *at, const char *what)
{
    tp_raise(c, TP_RULE_SPEC_STRUCTURE, at->loc, NULL, "%s", what);
}

const tp_json *tp_row_member(reader *r, const tp_json *o, const char *key, tp_json_type type)
{
    const tp_json *v = o->type == TP_J_OBJECT ? tp_json_get(o, key) : NULL;
    if (!v || v->type != type)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, v ? v->loc : o->loc, NULL, "\"%s\" should be %s", key,
                 tp_json_type_name(type));
    return v;
}

/* An object with these members, and no others. */
void tp_row_members(reader *r, const tp_json *o, const char *const *names, uint32_t n)
{
    if (o->type != TP_J_OBJECT)
        wrong(r->c, o, "this should be an object");
    for (uint32_t i = 0; i < o->u.items.n; i++) {
        bool known = false;
        for (uint32_t k = 0; k < n; k++)
            known |= tp_str_is(o->u.items.at[i]->key, names[k]);
        if (!known)
            tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, o->u.items.at[i]->key_loc, NULL,
                     "there is no place for \"%.*s\" here", TP_FMT(o->u.items.at[i]->key));
    }
}

static void exactly(reader *r, const tp_json *list, uint32_t n)
{
    if (list->type != TP_J_ARRAY || list->u.items.n != n)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, list->loc, NULL, "this should be a list of %u", n);
}

const tp_json *tp_row_item(reader *r, const tp_json *array, uint32_t i, tp_json_type type)
{
    if (array->type != TP_J_ARRAY || i >= array->u.items.n || array->u.items.at[i]->type != type)
        tp_raise(r->c, TP_RULE_SPEC_STRUCTURE, array->loc, NULL, "value %u of this list should be %s", i + 1,
                 tp_json_type_name(type));
    return array->u.items.at[i];
}

uint32_t tp_row_small(reader *r, const tp_json *v)
{
    if (v->type != TP_J_INT || v->u.integer < 0 || v->u.integer > INT32_MAX)
        wrong(r->c, v, "this should be a small number");
    return (uint32_t)v->u.integer;
}

/* An expression by its number. */
tp_expr tp_row_expr(reader *r, const tp_json *v)
{
    uint32_t i = tp_row_small(r, v);
    if (i == 0 || i > r->nodes.len)
        wrong(r->c, v, "there is no node of that number");
    return r->nodes.at[i - 1];
}

uint32_t tp_row_symbol(reader *r, const tp_json *v)
{
    const tp_expr_node *n = tp_expr_get(r->p, tp_row_expr(r, v));
    if (n->op != TP_E_SYM)
        wrong(r->c, v, "this node is not a symbol");
    return (uint32_t)n->value;
}

/* Of a derivation: the prover sees no tables. */
static tp_expr read_entry(reader *r, const tp_json *row)
{
    tp_expr index[TP_TABLE_RANK];
    uint32_t rank = row->u.items.n - 2;
    if (row->u.items.n < 2 || rank > TP_TABLE_RANK)
        wrong(r->c, row, "an entry has a table and up to three indices");
    for (uint32_t i = 0; i < rank; i++)
        index[i] = tp_row_expr(r, row->u.items.at[i + 2]);
    return tp_read(r->p, tp_row_symbol(r, row->u.items.at[1]), rank, index);
}

static tp_expr read_node(reader *r, const tp_json *row)
{
    tp_str name = tp_row_item(r, row, 0, TP_J_STRING)->u.string;
    uint32_t operands = row->u.items.n - 1;
    if (tp_str_is(name, "const") || tp_str_is(name, "sym"))
        exactly(r, row, 2);
    if (tp_str_is(name, "const"))
        return tp_const(r->p, tp_row_item(r, row, 1, TP_J_INT)->u.integer);
    if (tp_str_is(name, "sym")) {
        tp_str own = tp_row_item(r, row, 1, TP_J_STRING)->u.string;
        if (tp_sym_count(r->p) >= MAX_SYMBOLS)
            wrong(r->c, row, "there are too many symbols");
        for (uint32_t i = 0; i < tp_sym_count(r->p); i++)
            if (tp_str_eq(tp_sym_name(r->p, i), own))
                wrong(r->c, row, "there is a symbol of that name already");
        return tp_sym_new(r->p, own);
    }
    if (tp_str_is(name, tp_row_op_name(TP_E_READ)))
        return read_entry(r, row);
    for (int op = TP_E_NEG; op <= TP_E_ALIGN_UP; op++) {
        if (op == TP_E_READ || op == TP_E_TOO_LARGE)
            continue;
        uint32_t arity = op == TP_E_ITE ? 3 : op < TP_E_ITE ? 1 : 2;
        if (arity != operands || !tp_str_is(name, tp_row_op_name((tp_expr_op)op)))
            continue;
        tp_expr k[3] = {{0}, {0}, {0}};
        for (uint32_t i = 0; i < operands; i++)
            k[i] = tp_row_expr(r, row->u.items.at[i + 1]);
        return arity == 3   ? tp_ite(r->p, k[0], k[1], k[2])
               : arity == 2 ? tp_op2(r->p, (tp_expr_op)op, k[0], k[1])
                            : tp_op1(r->p, (tp_expr_op)op, k[0]);
    }
    wrong(r->c, row, "there is no such operation");
}

static int index_of(tp_str name, const char *const *names, int n)
{
    int i = 0;
    while (i < n && !tp_str_is(name, names[i]))
        i++;
    return i;
}

static void read_products(reader *r, const tp_json *row, tp_line *l)
{
    tp_product *products = TP_NEWN(r->c->arena, tp_product, row->u.items.n);
    l->nproducts = row->u.items.n - 1;
    l->products = products;
    for (uint32_t i = 0; i < l->nproducts; i++) {
        const tp_json *t = tp_row_item(r, row, i + 1, TP_J_ARRAY);
        products[i].coef = tp_row_item(r, t, 0, TP_J_INT)->u.integer;
        products[i].n = t->u.items.n - 1;
        if (products[i].n > TP_POLY_MAX_DEGREE + 1)
            wrong(r->c, t, "this product has too many factors");
        for (uint32_t k = 0; k < products[i].n; k++)
            products[i].refs[k] = tp_row_small(r, t->u.items.at[k + 1]);
    }
}

static tp_line read_line(reader *r, const tp_json *row)
{
    tp_str name = tp_row_item(r, row, 0, TP_J_STRING)->u.string;
    tp_line l = {.rule = (tp_line_rule)index_of(name, tp_row_line_names, TP_LINE_RULES)};
    uint32_t at = 1, refs = 0;
    switch (l.rule) {
    case TP_LINE_FACT:
        l.number = tp_row_small(r, tp_row_item(r, row, at++, TP_J_INT));
        l.side = tp_row_small(r, tp_row_item(r, row, at++, TP_J_INT));
        break;
    case TP_LINE_LOWER:
    case TP_LINE_UPPER: l.number = tp_row_symbol(r, tp_row_item(r, row, at++, TP_J_INT)); break;
    case TP_LINE_DEFINITION:
        l.e = tp_row_expr(r, tp_row_item(r, row, at++, TP_J_INT));
        l.side = tp_row_small(r, tp_row_item(r, row, at++, TP_J_INT));
        refs = 1;
        break;
    case TP_LINE_SUM:
        read_products(r, row, &l);
        at = row->u.items.n;
        break;
    case TP_LINE_CANCEL:
        l.e = tp_row_expr(r, tp_row_item(r, row, at++, TP_J_INT));
        refs = 2;
        break;
    case TP_LINE_ENDS:
    case TP_LINE_CASES:
        if (l.rule == TP_LINE_CASES)
            l.e = tp_row_expr(r, tp_row_item(r, row, at++, TP_J_INT));
        l.factor = tp_row_expr(r, tp_row_item(r, row, at++, TP_J_INT));
        refs = l.rule == TP_LINE_ENDS ? 4 : 2;
        break;
    case TP_LINE_RULES: wrong(r->c, row, "there is no such reason for a line");
    }
    for (uint32_t i = 0; i < refs; i++)
        l.refs[i] = tp_row_small(r, tp_row_item(r, row, at++, TP_J_INT));
    exactly(r, row, at);
    return l;
}

/* Besides "by" and, where a step has them, "cases". */
static const char *const MEMBERS[TP_PROOF_KINDS][3] = {
    [TP_PROOF_CHOICES] = {"variable", "variable", "variable"},
    [TP_PROOF_MULTIPLE] = {"variable", "symbol", "factor"},
    [TP_PROOF_DIVIDED] = {"variable", "symbol", "value"},
    [TP_PROOF_BOUND] = {"variable", "at_least", "at_most"},
    [TP_PROOF_REFUTE] = {"by", "by", "by"},
    [TP_PROOF_SPLIT] = {"hypothesis", "hypothesis", "hypothesis"},
    [TP_PROOF_LET] = {"hypothesis", "symbol", "value"},
    [TP_PROOF_LINES] = {"lines", "lines", "lines"},
    [TP_PROOF_ABSURD] = {"hypothesis", "hypothesis", "hypothesis"},
    [TP_PROOF_POINTS] = {"by", "by", "by"},
};

static const tp_proof *read_proof(reader *r, const tp_json *o)
{
    tp_proof *p = TP_NEW(r->c->arena, tp_proof);
    int kind = index_of(tp_row_member(r, o, "by", TP_J_STRING)->u.string, tp_row_proof_names, TP_PROOF_KINDS);
    const tp_json *cases = tp_json_get(o, "cases");
    p->kind = (tp_proof_kind)kind;
    if (kind == TP_PROOF_KINDS)
        wrong(r->c, o, "there is no such step of a proof");
    tp_row_members(r, o, (const char *const[]){"by", MEMBERS[kind][0], MEMBERS[kind][1], MEMBERS[kind][2], "cases"},
                   kind == TP_PROOF_LINES || kind == TP_PROOF_ABSURD || kind == TP_PROOF_POINTS ? 4 : 5);
    if (kind == TP_PROOF_CHOICES || kind == TP_PROOF_MULTIPLE || kind == TP_PROOF_DIVIDED || kind == TP_PROOF_BOUND)
        p->number = tp_row_symbol(r, tp_row_member(r, o, "variable", TP_J_INT));
    else if (kind == TP_PROOF_SPLIT || kind == TP_PROOF_LET || kind == TP_PROOF_ABSURD)
        p->number = tp_row_small(r, tp_row_member(r, o, "hypothesis", TP_J_INT));
    if (kind == TP_PROOF_MULTIPLE || kind == TP_PROOF_DIVIDED || kind == TP_PROOF_LET)
        p->sym = tp_row_symbol(r, tp_row_member(r, o, "symbol", TP_J_INT));
    if (kind == TP_PROOF_MULTIPLE)
        p->factor = tp_row_member(r, o, "factor", TP_J_INT)->u.integer;
    if (kind == TP_PROOF_BOUND) {
        p->side = tp_json_get(o, "at_most") != NULL;
        if (p->side && tp_json_get(o, "at_least"))
            wrong(r->c, o, "a bound is from one side");
        p->factor = tp_row_member(r, o, p->side ? "at_most" : "at_least", TP_J_INT)->u.integer;
    }
    if (kind == TP_PROOF_LET || kind == TP_PROOF_DIVIDED)
        p->value = tp_row_expr(r, tp_row_member(r, o, "value", TP_J_INT));
    if (cases) {
        cases = tp_row_member(r, o, "cases", TP_J_ARRAY);
        const tp_proof **kids = TP_NEWN(r->c->arena, const tp_proof *, cases->u.items.n);
        for (uint32_t i = 0; i < cases->u.items.n; i++)
            kids[i] = read_proof(r, cases->u.items.at[i]);
        p->kids = kids;
        p->nkids = cases->u.items.n;
    }
    if (kind == TP_PROOF_LINES) {
        const tp_json *rows = tp_row_member(r, o, "lines", TP_J_ARRAY);
        tp_line *lines = TP_NEWN(r->c->arena, tp_line, rows->u.items.n);
        for (uint32_t i = 0; i < rows->u.items.n; i++)
            lines[i] = read_line(r, rows->u.items.at[i]);
        p->lines = lines;
        p->nlines = rows->u.items.n;
    }
    return p;
}

/* null: none. */
static tp_expr bound(reader *r, const tp_json *o, const char *key)
{
    const tp_json *v = tp_json_get(o, key);
    return v && v->type == TP_J_NULL ? (tp_expr){0} : tp_row_expr(r, tp_row_member(r, o, key, TP_J_INT));
}

static tp_var read_variable(reader *r, const tp_json *o)
{
    tp_row_members(r, o, (const char *const[]){"symbol", "lo", "hi", "multiple_of", "choices"}, 5);
    const tp_json *multiple = tp_json_get(o, "multiple_of"), *choices = tp_json_get(o, "choices");
    tp_var x = {.sym = tp_row_symbol(r, tp_row_member(r, o, "symbol", TP_J_INT)), .multiple_of = 1};
    x.lo = bound(r, o, "lo");
    x.hi = bound(r, o, "hi");
    if (multiple && (x.multiple_of = tp_row_member(r, o, "multiple_of", TP_J_INT)->u.integer) < 1)
        wrong(r->c, multiple, "a variable is a multiple of 1 or more");
    if (!choices)
        return x;
    choices = tp_row_member(r, o, "choices", TP_J_ARRAY);
    int64_t *list = TP_NEWN(r->c->arena, int64_t, choices->u.items.n + 1);
    for (uint32_t i = 0; i < choices->u.items.n; i++)
        list[i] = tp_row_item(r, choices, i, TP_J_INT)->u.integer;
    x.choices = list;
    x.nchoices = choices->u.items.n;
    return x;
}

/* A line, which has no byte order mark. */
static const tp_json *parse(tp_ctx *c)
{
    const tp_json *doc = tp_json_parse(c, false);
    if (c->source->text.n >= 3 && memcmp(c->source->text.p, "\xef\xbb\xbf", 3) == 0)
        wrong(c, doc, "this line begins with a byte order mark");
    return doc;
}

void tp_certificates_read_header(tp_ctx *c)
{
    const tp_json *doc = parse(c);
    const tp_json *format = doc->type == TP_J_OBJECT ? tp_json_get(doc, "tileproof_certificates") : NULL;
    if (!format || format->type != TP_J_INT || doc->u.items.n != 1)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, doc->loc, "write one with: tileproof lint --certificates FILE SPEC",
                 "this is not a file of certificates");
    if (format->u.integer != TP_CERTIFICATES_FORMAT)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, format->loc,
                 "write them again with: tileproof lint --certificates FILE SPEC",
                 "certificates of format %lld; this version reads format %d", (long long)format->u.integer,
                 TP_CERTIFICATES_FORMAT);
}

static void read_strings(reader *r, const tp_json *list, void (*take)(void *into, tp_arena *a, tp_str s), void *into)
{
    for (uint32_t i = 0; i < list->u.items.n; i++)
        take(into, r->c->arena, tp_row_item(r, list, i, TP_J_STRING)->u.string);
}

static void take_rule(void *into, tp_arena *a, tp_str s)
{
    tp_certificate_section *section = into;
    tp_push(a, section->rules, s);
}

static void take_dtypes(void *into, tp_arena *a, tp_str s)
{
    tp_certificate_section *section = into;
    tp_push(a, section->dtypes, s);
}

static const tp_certificate_section *read_section(reader *r, const tp_json *doc)
{
    static const char *const NAMES[] = {"section", "sha256", "target", "tool",
                                        "command", "rules",  "dtypes", "obligations"};
    tp_arena *a = r->c->arena;
    tp_certificate_section *s = TP_NEW(a, tp_certificate_section);
    tp_row_members(r, doc, NAMES, sizeof NAMES / sizeof *NAMES);
    s->name = tp_row_member(r, doc, "section", TP_J_STRING)->u.string;
    s->sha256 = tp_row_member(r, doc, "sha256", TP_J_STRING)->u.string;
    s->target = tp_row_member(r, doc, "target", TP_J_STRING)->u.string;
    s->tool = tp_row_member(r, doc, "tool", TP_J_STRING)->u.string;
    const tp_json *command = tp_row_member(r, doc, "command", TP_J_STRING);
    s->command = command->u.string;
    if (!tp_str_is(s->command, "lint") && !tp_str_is(s->command, "verify"))
        wrong(r->c, command, "certificates are of lint or of verify");
    read_strings(r, tp_row_member(r, doc, "rules", TP_J_ARRAY), take_rule, s);
    read_strings(r, tp_row_member(r, doc, "dtypes", TP_J_ARRAY), take_dtypes, s);
    const tp_json *list = tp_row_member(r, doc, "obligations", TP_J_ARRAY);
    for (uint32_t i = 0; i < list->u.items.n; i++) {
        const tp_json *e = tp_row_item(r, list, i, TP_J_ARRAY);
        exactly(r, e, 3);
        tp_push(a, s->obligations,
                ((tp_certificate_entry){tp_row_item(r, e, 0, TP_J_STRING)->u.string,
                                        tp_row_item(r, e, 1, TP_J_STRING)->u.string,
                                        tp_row_item(r, e, 2, TP_J_STRING)->u.string}));
    }
    return s;
}

void tp_row_nodes(reader *r, const tp_json *nodes)
{
    for (uint32_t i = 0; i < nodes->u.items.n; i++) {
        tp_expr e = read_node(r, nodes->u.items.at[i]); /* before there is a place for it: it refers to earlier ones */
        tp_push(r->c->arena, r->nodes, e);
    }
}

const tp_var *tp_row_variables(reader *r, const tp_json *vars)
{
    tp_var *v = TP_NEWN(r->c->arena, tp_var, vars->u.items.n + 1);
    for (uint32_t i = 0; i < vars->u.items.n; i++)
        v[i] = read_variable(r, vars->u.items.at[i]);
    return v;
}

const tp_expr *tp_row_exprs(reader *r, const tp_json *list)
{
    tp_expr *e = TP_NEWN(r->c->arena, tp_expr, list->u.items.n + 1);
    for (uint32_t i = 0; i < list->u.items.n; i++)
        e[i] = tp_row_expr(r, list->u.items.at[i]);
    return e;
}

static tp_obligation read_statement(reader *r, const tp_json *vars, const tp_json *premises, const tp_json *goal)
{
    return (tp_obligation){.vars = tp_row_variables(r, vars),
                           .nvars = vars->u.items.n,
                           .premises = tp_row_exprs(r, premises),
                           .npremises = premises->u.items.n,
                           .goal = tp_row_expr(r, goal)};
}

tp_side tp_row_side(reader *r, const tp_json *o)
{
    static const char *const NAMES[] = {"variables", "premises", "goal", "proof"};
    tp_row_members(r, o, NAMES, 4);
    const tp_json *proof = tp_json_get(o, "proof");
    tp_side side = {.o = read_statement(r, tp_row_member(r, o, "variables", TP_J_ARRAY),
                                        tp_row_member(r, o, "premises", TP_J_ARRAY),
                                        tp_row_member(r, o, "goal", TP_J_INT))};
    if (!proof || proof->type != TP_J_NULL)
        side.proof = read_proof(r, tp_row_member(r, o, "proof", TP_J_OBJECT));
    return side;
}

/* "cert", "exact", …: who decided. */
static tp_str read_grade(reader *r, const tp_json *doc)
{
    const tp_json *v = tp_row_member(r, doc, "grade", TP_J_STRING);
    for (int g = TP_GRADE_CERT; g <= TP_GRADE_CVC5; g++)
        if (tp_str_is(v->u.string, tp_grade_name((tp_grade)g)))
            return v->u.string;
    wrong(r->c, v, "there is no such grade");
}

tp_certificate tp_certificate_read(tp_ctx *c)
{
    static const char *const NAMES[] = {"spec",      "obligation", "grade", "nodes",
                                        "variables", "premises",   "goal",  "proof"};
    reader r = {.c = c, .p = tp_exprs_new(c->arena)};
    const tp_json *doc = parse(c);
    if (doc->type == TP_J_OBJECT && tp_json_get(doc, "section"))
        return (tp_certificate){.section = read_section(&r, doc)};
    if (doc->type == TP_J_OBJECT && tp_json_get(doc, "derivation"))
        return tp_row_derivation(&r, doc);
    tp_row_members(&r, doc, NAMES, sizeof NAMES / sizeof *NAMES);
    const tp_json *nodes = tp_row_member(&r, doc, "nodes", TP_J_ARRAY),
                  *vars = tp_row_member(&r, doc, "variables", TP_J_ARRAY),
                  *premises = tp_row_member(&r, doc, "premises", TP_J_ARRAY), *proof = tp_json_get(doc, "proof");
    tp_certificate out = {.exprs = r.p,
                          .entry = {tp_row_member(&r, doc, "spec", TP_J_STRING)->u.string,
                                    tp_row_member(&r, doc, "obligation", TP_J_STRING)->u.string, read_grade(&r, doc)}};
    tp_row_nodes(&r, nodes);
    out.obligation = read_statement(&r, vars, premises, tp_row_member(&r, doc, "goal", TP_J_INT));
    out.obligation.name = tp_cstr(c->arena, out.entry.obligation);
    out.statement = tp_row_statement(c->arena, r.p, &out.entry, &out.obligation);
    if (!proof || proof->type != TP_J_NULL)
        out.proof = read_proof(&r, tp_row_member(&r, doc, "proof", TP_J_OBJECT));
    if (tp_exprs_overflowed(r.p))
        wrong(c, nodes, "an expression is too large");
    return out;
}
