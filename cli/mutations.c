#include "cli/mutations.h"

#include <stdarg.h>

#include "base/checked.h"

/* A step or element that only larger sizes have. */
enum { LATE = 3 };

typedef struct planter {
    tp_ctx *c;
    tp_mutations out;
    TP_VEC(tp_str) axes, indices; /* names; indices: of what counts elements or steps, axes among them */
} planter;

/* ---- changed text ---- */

/* Replace bytes [from, to) of the source. */
static void plant(planter *p, const char *kind, size_t from, size_t to, tp_str after)
{
    tp_str text = p->c->source->text;
    tp_buf b = {.arena = p->c->arena};
    tp_str before = {text.p + from, to - from};
    if (tp_str_eq(before, after))
        return;
    tp_buf_add(&b, text.p, from);
    tp_buf_add(&b, after.p, after.n);
    tp_buf_add(&b, text.p + to, text.n - to);
    tp_mutation m = {.kind = kind,
                     .line = tp_linecol_of(p->c->source, (uint32_t)from).line,
                     .before = before,
                     .after = after,
                     .text = tp_buf_view(&b)};
    tp_push(p->c->arena, p->out, m);
}

static tp_str node_text(const planter *p, const tp_node *n)
{
    tp_loc at = tp_node_loc(p->c, n);
    return (tp_str){p->c->source->text.p + at.start, at.end - at.start};
}

static void plant_node(planter *p, const char *kind, const tp_node *n, tp_str after)
{
    tp_loc at = tp_node_loc(p->c, n);
    plant(p, kind, at.start, at.end, after);
}

static tp_str format(planter *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static tp_str format(planter *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tp_str s = tp_vprintf(p->c->arena, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- expressions ---- */

/* Does it speak of indices: an axis, a table, an iota, a name made of them? */
static bool is_index(const planter *p, const tp_node *n)
{
    return tp_node_is_position(n, p->indices.at, NULL, p->indices.len, true);
}

typedef struct exchange {
    const char *kind;
    tp_operator from, to;
} exchange;

static const exchange OPERATORS[] = {
    {"bound off by one", TP_O_LT, TP_O_LE},
    {"bound off by one", TP_O_LE, TP_O_LT},
    {"comparison reversed", TP_O_LT, TP_O_GE},
    {"comparison reversed", TP_O_LE, TP_O_GT},
    {"comparison reversed", TP_O_GE, TP_O_LT},
    {"comparison reversed", TP_O_GT, TP_O_LE},
    {"bound off by one", TP_O_GT, TP_O_GE},
    {"bound off by one", TP_O_GE, TP_O_GT},
    {"condition negated", TP_O_EQ, TP_O_NE},
    {"sum for difference", TP_O_SUB, TP_O_ADD},
    {"difference for sum", TP_O_ADD, TP_O_SUB},
    {"sum for product", TP_O_MUL, TP_O_ADD},
    {"product for quotient", TP_O_TRUEDIV, TP_O_MUL},
    {"conditions joined otherwise", TP_O_BITAND, TP_O_BITOR},
    {"remainder for quotient", TP_O_FLOORDIV, TP_O_MOD},
    {"quotient for remainder", TP_O_MOD, TP_O_FLOORDIV},
};

typedef struct renaming {
    const char *kind, *from, *to;
} renaming;

static const renaming FUNCTIONS[] = {
    {"another exponential", "exp", "exp2"},
    {"max for sum", "sum", "max"},
    {"min for max", "max", "min"},
    {"minimum for maximum", "maximum", "minimum"},
    {"root for inverse root", "rsqrt", "sqrt"},
    {"floor for cdiv", "cdiv", NULL},
    {"sum for mean", "mean", "sum"},
    {"another activation", "silu", "relu"},
    {"another activation", "tanh", "logistic"},
};

static bool mentions_lanes(const tp_node *n)
{
    bool found = n->kind == TP_N_CALL && tp_str_is(n->text, "iota");
    for (uint32_t i = 0; i < n->nkids && !found; i++)
        found = n->kids[i] && mentions_lanes(n->kids[i]);
    return found;
}

/* The first axis in an expression; empty: none. */
static tp_str axis_in(const planter *p, const tp_node *n)
{
    tp_str found = {NULL, 0};
    for (uint32_t i = 0; n->kind == TP_N_NAME && i < p->axes.len; i++)
        if (tp_str_eq(p->axes.at[i], n->text))
            return n->text;
    for (uint32_t i = 0; i < n->nkids && !found.n; i++)
        if (n->kids[i])
            found = axis_in(p, n->kids[i]);
    return found;
}

/* The bound on its other side; an element that is left out; a decision about a narrowed value. */
static void plant_comparison(planter *p, const tp_node *n, tp_str a, tp_str b)
{
    bool less = n->op == TP_O_LT || n->op == TP_O_LE, greater = n->op == TP_O_GT || n->op == TP_O_GE;
    const char *op = tp_operator_text(n->op);
    if (!less && !greater)
        return;
    if (is_index(p, n->kids[0]) || is_index(p, n->kids[1])) {
        plant_node(p, "bound off by one", n,
                   format(p, "(%.*s) %s (%.*s) %s 1", TP_FMT(a), op, TP_FMT(b), less ? "-" : "+"));
        tp_str which = is_index(p, n->kids[0]) ? a : b, axis = axis_in(p, n);
        if (!mentions_lanes(n) && axis.n) /* 128 * j is never 3 */
            which = axis;
        plant_node(p, "one element left out", n,
                   format(p, "((%.*s) %s (%.*s)) & ((%.*s) != %d)", TP_FMT(a), op, TP_FMT(b), TP_FMT(which), LATE));
        plant_node(p, "bound of a constant", n,
                   less ? format(p, "(%.*s) %s min(%.*s, %d)", TP_FMT(a), op, TP_FMT(b), 7 * LATE)
                        : format(p, "(%.*s) %s max(%.*s, %d)", TP_FMT(a), op, TP_FMT(b), LATE));
    } else if (n->kids[1]->kind != TP_N_INT) {
        plant_node(p, "cast before a decision", n,
                   format(p, "(%.*s).astype(bfloat16).astype(float32) %s (%.*s)", TP_FMT(a), op, TP_FMT(b)));
    }
}

static void plant_binary(planter *p, const tp_node *n)
{
    tp_str a = node_text(p, n->kids[0]), b = node_text(p, n->kids[1]);
    for (size_t i = 0; i < sizeof OPERATORS / sizeof *OPERATORS; i++)
        if (OPERATORS[i].from == n->op)
            plant_node(p, OPERATORS[i].kind, n,
                       format(p, "(%.*s) %s (%.*s)", TP_FMT(a), tp_operator_text(OPERATORS[i].to), TP_FMT(b)));
    if (n->op == TP_O_MUL || n->op == TP_O_TRUEDIV)
        plant_node(p, "factor dropped", n, a);
    if (n->op == TP_O_MUL) /* a rescale stands on either side */
        plant_node(p, "factor dropped", n, b);
    if (n->op == TP_O_ADD || n->op == TP_O_SUB)
        plant_node(p, "term dropped", n, a);
    if (n->op == TP_O_ADD)
        plant_node(p, "term dropped", n, b);
    plant_comparison(p, n, a, b);
    if (n->op == TP_O_BITAND) {
        plant_node(p, "condition dropped", n, a);
        plant_node(p, "condition dropped", n, b);
    }
    if (n->op == TP_O_SUB || n->op == TP_O_TRUEDIV)
        plant_node(p, "operands swapped", n,
                   format(p, "(%.*s) %s (%.*s)", TP_FMT(b), tp_operator_text(n->op), TP_FMT(a)));
}

static void plant_call(planter *p, const tp_node *n)
{
    for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
        const renaming *r = &FUNCTIONS[i];
        if (!tp_str_is(n->text, r->from))
            continue;
        tp_loc at = tp_node_loc(p->c, n);
        if (r->to)
            plant(p, r->kind, at.start, at.start + n->text.n, tp_str_c(r->to));
        else if (n->nkids == 2)
            plant_node(
                p, r->kind, n,
                format(p, "((%.*s) // (%.*s))", TP_FMT(node_text(p, n->kids[0])), TP_FMT(node_text(p, n->kids[1]))));
    }
    if (tp_str_is(n->text, "where") && n->nkids == 3) {
        tp_str c = node_text(p, n->kids[0]), a = node_text(p, n->kids[1]), b = node_text(p, n->kids[2]);
        plant_node(p, "mask dropped", n, a);
        plant_node(p, "arms of where swapped", n,
                   format(p, "where(%.*s, %.*s, %.*s)", TP_FMT(c), TP_FMT(b), TP_FMT(a)));
    }
    if (tp_str_is(n->text, "dot") && n->nkids >= 2) {
        plant_node(p, "operands of dot swapped", n->kids[0], node_text(p, n->kids[1]));
        plant_node(p, "operand of dot used twice", n->kids[1], node_text(p, n->kids[0]));
    }
}

static void plant_expression(planter *p, const tp_node *n)
{
    if (!n)
        return;
    switch (n->kind) {
    case TP_N_INT: {
        long long off = n->integer < INT64_MAX ? n->integer + 1 : n->integer - 1;
        plant_node(p, "integer off by one", n, format(p, "%lld", off));
        return;
    }
    case TP_N_FLOAT:
        plant_node(p, "constant off by 1 %", n, format(p, "%.17g", n->real * 1.01));
        plant_node(p, "constant off in its last digits", n, format(p, "%.17g", n->real * 1.000002));
        return;
    case TP_N_BINARY: plant_binary(p, n); break;
    case TP_N_CALL: plant_call(p, n); break;
    case TP_N_METHOD:
        if (tp_str_is(n->text, "astype"))
            plant_node(p, "early cast", n,
                       format(p, "%.*s.astype(bfloat16).astype(float32)", TP_FMT(node_text(p, n->kids[0]))));
        break;
    case TP_N_UNARY: plant_node(p, "sign dropped", n, node_text(p, n->kids[0])); break;
    case TP_N_KEYWORD:
        if (tp_str_is(n->text, "axis") && n->kids[0]->kind == TP_N_INT)
            plant_node(p, "another axis", n, format(p, "axis=%d", n->kids[0]->integer == 0));
        return;
    case TP_N_STRING:
    case TP_N_NAME:
    case TP_N_TERNARY:
    case TP_N_INDEX:
    case TP_N_SEQUENCE:
    case TP_N_ATTRIBUTE:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_SLICE:
    case TP_N_ABSENT:
    case TP_N_LAMBDA:
    case TP_N_APPLY:
    case TP_N_COMPREHENSION: break;
    }
    for (uint32_t i = 0; i < n->nkids && n->kind != TP_N_SEQUENCE; i++)
        plant_expression(p, n->kids[i]);
}

/* ---- statements ---- */

static void plant_line(planter *p, const char *kind, const tp_json *line, tp_str after)
{
    plant(p, kind, line->loc.start + 1, line->loc.end - 1, after);
}

static void plant_store(planter *p, const tp_syntax *s)
{
    tp_str line = {p->c->source->text.p + s->line->loc.start + 1, s->line->loc.end - s->line->loc.start - 2};
    tp_str target = node_text(p, s->target), value = node_text(p, s->value);
    int indent = 0;
    while ((size_t)indent < line.n && line.p[indent] == ' ')
        indent++;
    plant_line(p, "statement dropped", s->line, TP_S(""));
    bool doubles = !tp_str_is(value, "0") && !tp_str_is(value, "inf") && !tp_str_is(value, "-inf");
    for (uint32_t i = 0; i < p->axes.len && (doubles || s->augmented); i++)
        plant_line(p, "wrong in a late step", s->line,
                   format(p, "%.*s\", \"%*sif %.*s == %d:\", \"%*s%.*s = (%.*s) * 2", TP_FMT(line), indent, "",
                          TP_FMT(p->axes.at[i]), LATE, indent + 4, "", TP_FMT(target), TP_FMT(target)));
    if (s->augmented)
        plant_line(p, "overwritten instead of accumulated", s->line,
                   format(p, "%*s%.*s = %.*s", indent, "", TP_FMT(target), TP_FMT(value)));
    else
        plant_line(p, "accumulated instead of overwritten", s->line,
                   format(p, "%*s%.*s += %.*s", indent, "", TP_FMT(target), TP_FMT(value)));
    if (doubles)
        plant_line(
            p, "stored twice as much", s->line,
            format(p, "%*s%.*s %s 2 * (%.*s)", indent, "", TP_FMT(target), s->augmented ? "+=" : "=", TP_FMT(value)));
}

static void plant_block(planter *p, const tp_block *b)
{
    for (uint32_t i = 0; i < b->len; i++) {
        const tp_syntax *s = b->at[i];
        if (s->kind == TP_S_STORE)
            plant_store(p, s);
        else if (s->target && s->value && s->target->kind == TP_N_NAME && is_index(p, s->value))
            tp_push(p->c->arena, p->indices, s->target->text);
        if (s->kind == TP_S_IF)
            plant_node(p, "condition always true", s->value, TP_S("0 == 0"));
        plant_expression(p, s->value);
        plant_block(p, &s->body);
        plant_block(p, &s->orelse);
    }
}

/* ---- windows and grid ---- */

static tp_str source_of(const planter *p, const tp_json *v)
{
    return (tp_str){p->c->source->text.p + v->loc.start, v->loc.end - v->loc.start};
}

static void swap(planter *p, const char *kind, const tp_json *list, uint32_t i, uint32_t j)
{
    const tp_json *a = list->u.items.at[i], *b = list->u.items.at[j];
    tp_str text = p->c->source->text, between = {text.p + a->loc.end, b->loc.start - a->loc.end};
    plant(p, kind, a->loc.start, b->loc.end,
          format(p, "%.*s%.*s%.*s", TP_FMT(source_of(p, b)), TP_FMT(between), TP_FMT(source_of(p, a))));
}

static void plant_operand(planter *p, const tp_json *o, bool aliased)
{
    const tp_json *map = tp_json_get(o, "index_map"), *block = tp_json_get(o, "block_shape");
    for (uint32_t i = 0; map && map->type == TP_J_ARRAY && i < map->u.items.n; i++) {
        const tp_json *e = map->u.items.at[i];
        if (e->type == TP_J_STRING && !tp_str_is(e->u.string, "0")) {
            plant(p, "index map off by one", e->loc.start, e->loc.end,
                  format(p, "\"(%.*s) + 1\"", TP_FMT(e->u.string)));
            plant(p, "index map off by one", e->loc.start, e->loc.end,
                  format(p, "\"max((%.*s) - 1, 0)\"", TP_FMT(e->u.string)));
            plant(p, "index map constant", e->loc.start, e->loc.end, TP_S("0"));
            plant(p, "index map held", e->loc.start, e->loc.end,
                  format(p, "\"min(%.*s, %d)\"", TP_FMT(e->u.string), LATE));
            if (aliased)
                plant(p, "read a distance behind its update", e->loc.start, e->loc.end,
                      format(p, "\"max((%.*s) - %d, 0)\"", TP_FMT(e->u.string), LATE));
            plant_expression(p, tp_parse_expr(p->c, e));
        }
        if (i > 0)
            swap(p, "index map entries swapped", map, i - 1, i);
    }
    for (uint32_t i = 0; block && block->type == TP_J_ARRAY && i < block->u.items.n; i++) {
        const tp_json *e = block->u.items.at[i];
        int64_t twice;
        if (e->type == TP_J_INT && tp_mul(e->u.integer, 2, &twice))
            plant(p, "block twice as large", e->loc.start, e->loc.end, format(p, "%lld", (long long)twice));
    }
}

static void plant_axis(planter *p, const tp_json *axis, bool of_pipeline)
{
    const tp_json *steps = tp_json_get(axis, "steps"), *semantics = tp_json_get(axis, "semantics"),
                  *name = tp_json_get(axis, "axis");
    if (steps && steps->type == TP_J_STRING) {
        tp_node *n = tp_parse_expr(p->c, steps);
        plant(p, "one step too many", steps->loc.start, steps->loc.end,
              format(p, "\"(%.*s) + 1\"", TP_FMT(steps->u.string)));
        plant(p, "one step too few", steps->loc.start, steps->loc.end,
              format(p, "\"max((%.*s) - 1, 1)\"", TP_FMT(steps->u.string)));
        plant_expression(p, n);
    } else if (of_pipeline && steps && steps->type == TP_J_INT) {
        long long n = (long long)steps->u.integer;
        plant(p, "one step too many", steps->loc.start, steps->loc.end, format(p, "\"%lld + 1\"", n));
        plant(p, "one step too few", steps->loc.start, steps->loc.end, format(p, "\"max(%lld - 1, 1)\"", n));
    }
    if (!semantics && name && !of_pipeline)
        plant(p, "reduction declared parallel", name->loc.end, name->loc.end, TP_S(", \"semantics\": \"parallel\""));
}

/* Does an output share the array of this input? */
static bool is_aliased(const tp_json *doc, const tp_json *input)
{
    const tp_json *outputs = tp_json_get(doc, "outputs"), *name = tp_json_get(input, "name");
    bool found = false;
    for (uint32_t i = 0; name && outputs && i < outputs->u.items.n; i++) {
        const tp_json *alias = tp_json_get(outputs->u.items.at[i], "alias");
        found |= alias && tp_str_eq(alias->u.string, name->u.string);
    }
    return found;
}

/* The grid of the spec or of a pipeline; its axes count steps from here on. */
static void plant_grid(planter *p, const tp_json *grid, bool of_pipeline)
{
    for (uint32_t i = 0; grid && i < grid->u.items.n; i++) {
        const tp_json *axis = tp_json_get(grid->u.items.at[i], "axis");
        tp_push(p->c->arena, p->axes, axis->u.string);
        tp_push(p->c->arena, p->indices, axis->u.string);
    }
    for (uint32_t i = 0; grid && i < grid->u.items.n; i++) {
        plant_axis(p, grid->u.items.at[i], of_pipeline);
        if (i > 0 &&
            !(tp_json_get(grid->u.items.at[i], "semantics") && tp_json_get(grid->u.items.at[i - 1], "semantics")))
            swap(p, "axes of the grid swapped", grid, i - 1, i); /* two parallel ones are in no order */
    }
}

/* Inputs and outputs of the spec, or the windows of a pipeline. */
static void plant_operands(planter *p, const tp_json *of)
{
    static const char *const LISTS[] = {"inputs", "outputs"};
    for (size_t l = 0; l < sizeof LISTS / sizeof *LISTS; l++) {
        const tp_json *list = tp_json_get(of, LISTS[l]);
        for (uint32_t i = 0; list && i < list->u.items.n; i++)
            plant_operand(p, list->u.items.at[i], l == 0 && is_aliased(of, list->u.items.at[i]));
    }
}

static void plant_body(planter *p, const tp_json *body)
{
    if (!body)
        return;
    tp_block b = tp_parse_program(p->c, body);
    plant_block(p, &b);
}

tp_mutations tp_mutations_of(tp_ctx *c, const tp_json *doc)
{
    planter p = {.c = c};
    const tp_json *pipelines = tp_json_get(doc, "pipelines");
    plant_grid(&p, tp_json_get(doc, "grid"), false);
    plant_operands(&p, doc);
    plant_body(&p, tp_json_get(doc, "kernel"));
    for (uint32_t i = 0; pipelines && i < pipelines->u.items.n; i++) {
        const tp_json *one = pipelines->u.items.at[i];
        uint32_t axes = p.axes.len, indices = p.indices.len; /* those of a pipeline are in its step alone */
        plant_grid(&p, tp_json_get(one, "grid"), true);
        plant_operands(&p, one);
        plant_body(&p, tp_json_get(one, "kernel"));
        p.axes.len = axes;
        p.indices.len = indices;
    }
    return p.out;
}
