/* Certificates as rows of a file. Expressions are a table of nodes, operands by
 * position from 1, so that what is shared stays shared; everything else refers
 * to it. */
#include "smt/trust/rows.h"

const char *const tp_row_line_names[TP_LINE_RULES] = {"fact", "lower",  "upper", "definition",
                                                      "sum",  "cancel", "ends",  "cases"};
const char *const tp_row_proof_names[TP_PROOF_KINDS] = {"choices", "multiple", "divided", "bound",  "refute",
                                                        "split",   "let",      "lines",   "absurd", "points"};

const char *tp_row_op_name(tp_expr_op op)
{
    static const char *const NAMES[TP_E_ADD] = {[TP_E_CONST] = "const",
                                                [TP_E_SYM] = "sym",
                                                [TP_E_NEG] = "-",
                                                [TP_E_NOT] = "not",
                                                [TP_E_ITE] = "if",
                                                [TP_E_READ] = "read",
                                                [TP_E_TOO_LARGE] = "too large",
                                                [TP_E_POW2] = "next_power_of_2"};
    return op < TP_E_ADD ? NAMES[op] : tp_expr_op_text(op);
}

struct tp_certificates {
    tp_arena *arena;
    tp_buf rows;
    TP_VEC(tp_certificate_entry) entries;
};

typedef tp_row_writer writer;

static json *integer(int64_t v)
{
    return json_object_new_int64(v);
}

static void put(json *object, const char *key, json *value)
{
    json_object_object_add(object, key, value);
}

static void add(json *array, json *value)
{
    json_object_array_add(array, value);
}

/* The name of a symbol, told from others of that name. */
static tp_str name_of(writer *w, uint32_t sym)
{
    tp_str name = tp_sym_name(w->p, sym), own = name;
    for (uint32_t i = 0, n = 2; i < w->names.len; i++)
        if (tp_str_eq(w->names.at[i], own)) {
            own = tp_printf(w->arena, "%.*s#%u", TP_FMT(name), n++);
            i = UINT32_MAX; /* again from the first */
        }
    tp_push(w->arena, w->names, own);
    return own;
}

json *tp_row_of_expr(writer *w, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(w->p, e);
    if (!e.id)
        return NULL;
    while (w->number.len <= e.id)
        tp_push(w->arena, w->number, 0);
    if (w->number.at[e.id])
        return integer(w->number.at[e.id]);
    json *row = json_object_new_array();
    bool negate = n->op == TP_E_NEG; /* "-" with one operand */
    add(row, json_object_new_string(negate ? "-" : tp_row_op_name(n->op)));
    if (n->op == TP_E_CONST) {
        add(row, integer(n->value));
    } else if (n->op == TP_E_SYM) {
        add(row, tp_jsonc_string(name_of(w, (uint32_t)n->value)));
    } else {
        tp_expr kids[3] = {n->a, n->b, n->c};
        if (n->op == TP_E_READ)
            add(row, tp_row_of_symbol(w, (uint32_t)n->value));
        for (int i = 0; i < 3 && kids[i].id; i++)
            add(row, tp_row_of_expr(w, kids[i]));
    }
    add(w->nodes, row);
    w->number.at[e.id] = ++w->written;
    return integer(w->written);
}

/* The node of a symbol, also of one that no expression mentions. */
json *tp_row_of_symbol(writer *w, uint32_t sym)
{
    return tp_row_of_expr(w, tp_sym(w->p, sym));
}

static json *line_of(writer *w, const tp_line *l)
{
    json *row = json_object_new_array();
    add(row, json_object_new_string(tp_row_line_names[l->rule]));
    switch (l->rule) {
    case TP_LINE_FACT:
        add(row, integer(l->number));
        add(row, integer(l->side));
        break;
    case TP_LINE_LOWER:
    case TP_LINE_UPPER: add(row, tp_row_of_symbol(w, l->number)); break;
    case TP_LINE_DEFINITION:
        add(row, tp_row_of_expr(w, l->e));
        add(row, integer(l->side));
        add(row, integer(l->refs[0]));
        break;
    case TP_LINE_SUM:
        for (uint32_t i = 0; i < l->nproducts; i++) {
            json *t = json_object_new_array();
            add(t, integer(l->products[i].coef));
            for (uint32_t k = 0; k < l->products[i].n; k++)
                add(t, integer(l->products[i].refs[k]));
            add(row, t);
        }
        break;
    case TP_LINE_CANCEL:
        add(row, tp_row_of_expr(w, l->e));
        add(row, integer(l->refs[0]));
        add(row, integer(l->refs[1]));
        break;
    case TP_LINE_ENDS:
    case TP_LINE_CASES:
        if (l->rule == TP_LINE_CASES)
            add(row, tp_row_of_expr(w, l->e));
        add(row, tp_row_of_expr(w, l->factor));
        for (int i = 0; i < (l->rule == TP_LINE_ENDS ? 4 : 2); i++)
            add(row, integer(l->refs[i]));
        break;
    case TP_LINE_RULES: break;
    }
    return row;
}

static json *proof_of(writer *w, const tp_proof *p)
{
    json *o = json_object_new_object();
    put(o, "by", json_object_new_string(tp_row_proof_names[p->kind]));
    if (p->kind == TP_PROOF_CHOICES || p->kind == TP_PROOF_MULTIPLE || p->kind == TP_PROOF_DIVIDED ||
        p->kind == TP_PROOF_BOUND)
        put(o, "variable", tp_row_of_symbol(w, p->number));
    else if (p->kind == TP_PROOF_SPLIT || p->kind == TP_PROOF_LET || p->kind == TP_PROOF_ABSURD)
        put(o, "hypothesis", integer(p->number));
    if (p->kind == TP_PROOF_MULTIPLE || p->kind == TP_PROOF_DIVIDED || p->kind == TP_PROOF_LET)
        put(o, "symbol", tp_row_of_symbol(w, p->sym));
    if (p->kind == TP_PROOF_MULTIPLE)
        put(o, "factor", integer(p->factor));
    if (p->kind == TP_PROOF_BOUND)
        put(o, p->side ? "at_most" : "at_least", integer(p->factor));
    if (p->kind == TP_PROOF_LET || p->kind == TP_PROOF_DIVIDED)
        put(o, "value", tp_row_of_expr(w, p->value));
    if (p->nkids) {
        json *kids = json_object_new_array();
        for (uint32_t i = 0; i < p->nkids; i++)
            add(kids, proof_of(w, p->kids[i]));
        put(o, "cases", kids);
    }
    if (p->kind == TP_PROOF_LINES) {
        json *lines = json_object_new_array();
        for (uint32_t i = 0; i < p->nlines; i++)
            add(lines, line_of(w, &p->lines[i]));
        put(o, "lines", lines);
    }
    return o;
}

json *tp_row_of_variable(writer *w, const tp_var *x)
{
    json *o = json_object_new_object();
    put(o, "symbol", tp_row_of_symbol(w, x->sym));
    put(o, "lo", tp_row_of_expr(w, x->lo));
    put(o, "hi", tp_row_of_expr(w, x->hi));
    if (x->multiple_of != 1)
        put(o, "multiple_of", integer(x->multiple_of));
    if (x->choices) {
        json *choices = json_object_new_array();
        for (uint32_t i = 0; i < x->nchoices; i++)
            add(choices, integer(x->choices[i]));
        put(o, "choices", choices);
    }
    return o;
}

tp_certificates *tp_certificates_new(tp_arena *a)
{
    tp_certificates *c = TP_NEW(a, tp_certificates);
    c->arena = a;
    c->rows.arena = a;
    return c;
}

/* What is claimed, into `row`: the same claim gives the same text. */
static void put_statement(writer *w, json *row, const tp_certificate_entry *entry, const tp_obligation *o)
{
    json *vars = json_object_new_array(), *premises = json_object_new_array();
    put(row, "spec", tp_jsonc_string(entry->spec));
    put(row, "obligation", tp_jsonc_string(entry->obligation));
    for (uint32_t i = 0; i < o->nvars; i++)
        add(vars, tp_row_of_variable(w, &o->vars[i]));
    for (uint32_t i = 0; i < o->npremises; i++)
        add(premises, tp_row_of_expr(w, o->premises[i]));
    put(row, "variables", vars);
    put(row, "premises", premises);
    put(row, "goal", tp_row_of_expr(w, o->goal));
}

static tp_str text_of(tp_arena *a, json *row)
{
    return tp_jsonc_text(a, row, TP_JSONC_PLAIN);
}

tp_str tp_row_statement(tp_arena *a, const tp_exprs *p, const tp_certificate_entry *entry, const tp_obligation *o)
{
    writer w = {.arena = a, .p = p, .nodes = json_object_new_array()};
    json *row = json_object_new_object();
    put_statement(&w, row, entry, o);
    put(row, "nodes", w.nodes);
    tp_str text = text_of(a, row);
    json_object_put(row);
    return text;
}

static tp_str copy_text(tp_arena *a, const char *text)
{
    return tp_printf(a, "%s", text ? text : "");
}

void tp_certificates_add(tp_certificates *c, const tp_exprs *p, const char *spec, const tp_obligation *o,
                         const tp_proof *proof, tp_grade grade)
{
    tp_arena *work = tp_arena_child(c->arena);
    writer w = {.arena = work, .p = p, .nodes = json_object_new_array()};
    json *row = json_object_new_object();
    tp_certificate_entry entry = {copy_text(c->arena, spec), copy_text(c->arena, o->name),
                                  tp_str_c(tp_grade_name(grade))};
    put_statement(&w, row, &entry, o);
    json *by = proof ? proof_of(&w, proof) : NULL;
    put(row, "nodes", w.nodes);
    put(row, "grade", tp_jsonc_string(entry.grade));
    put(row, "proof", by);
    tp_certificates_row(c, entry, row);
    json_object_put(row);
    tp_arena_free(work);
}

tp_str tp_certificates_header(tp_arena *a)
{
    return tp_printf(a, "{\"tileproof_certificates\":%d}\n", TP_CERTIFICATES_FORMAT);
}

void tp_certificates_row(tp_certificates *c, tp_certificate_entry entry, json *row)
{
    entry = (tp_certificate_entry){tp_printf(c->arena, "%.*s", TP_FMT(entry.spec)),
                                   tp_printf(c->arena, "%.*s", TP_FMT(entry.obligation)), entry.grade};
    tp_buf_str(&c->rows, text_of(c->arena, row));
    tp_buf_c(&c->rows, "\n");
    tp_push(c->arena, c->entries, entry);
}

static json *strings(const tp_str *at, uint32_t n)
{
    json *list = json_object_new_array();
    for (uint32_t i = 0; i < n; i++)
        add(list, tp_jsonc_string(at[i]));
    return list;
}

tp_str tp_certificates_section(tp_certificates *c, tp_certificate_section *about)
{
    json *o = json_object_new_object(), *list = json_object_new_array();
    about->obligations.len = 0;
    for (uint32_t i = 0; i < c->entries.len; i++) {
        const tp_certificate_entry *e = &c->entries.at[i];
        add(list, strings((tp_str[]){e->spec, e->obligation, e->grade}, 3));
        tp_push(c->arena, about->obligations, *e);
    }
    put(o, "section", tp_jsonc_string(about->name));
    put(o, "sha256", tp_jsonc_string(about->sha256));
    put(o, "target", tp_jsonc_string(about->target));
    put(o, "tool", tp_jsonc_string(about->tool));
    put(o, "command", tp_jsonc_string(about->command));
    put(o, "rules", strings(about->rules.at, about->rules.len));
    put(o, "dtypes", strings(about->dtypes.at, about->dtypes.len));
    put(o, "obligations", list);
    tp_buf text = {.arena = c->arena};
    tp_buf_str(&text, text_of(c->arena, o));
    tp_buf_c(&text, "\n");
    tp_buf_str(&text, tp_buf_view(&c->rows));
    json_object_put(o);
    return tp_buf_view(&text);
}

tp_str tp_certificates_rows(const tp_certificates *c)
{
    return tp_buf_view(&c->rows);
}

json *tp_row_of_side(writer *w, const tp_side *side)
{
    json *o = json_object_new_object(), *vars = json_object_new_array(), *premises = json_object_new_array();
    for (uint32_t i = 0; i < side->o.nvars; i++)
        add(vars, tp_row_of_variable(w, &side->o.vars[i]));
    for (uint32_t i = 0; i < side->o.npremises; i++)
        add(premises, tp_row_of_expr(w, side->o.premises[i]));
    put(o, "variables", vars);
    put(o, "premises", premises);
    put(o, "goal", tp_row_of_expr(w, side->o.goal));
    put(o, "proof", side->proof ? proof_of(w, side->proof) : NULL);
    return o;
}
