#include "spec/format.h"

#include "spec/syntax.h"

enum { WIDTH = 100 };

static const char *const TOP[] = {
    "$schema", "$comment",    "tileproof", "name",      "description",     "target", "dtypes",  "sizes",   "constants",
    "where",   "contracts",   "prepare",   "grid",      "scalar_prefetch", "inputs", "outputs", "scratch", "pipelines",
    "kernel",  "kernel_file", "reference", "tolerance", "cases",           "allow",  "expect",  NULL};

/* What strings are: EXPRESSION under the keys below, DATA below x-… keys, cases and the like. */
typedef enum mode { DATA, TEXT, EXPRESSION } mode;

static void print_value(tp_ctx *c, const tp_json *v, tp_buf *b, int indent, mode m);

static void print_string(tp_ctx *c, const tp_json *v, tp_buf *b, mode m)
{
    if (m != EXPRESSION) {
        tp_buf_json(b, v->u.string);
        return;
    }
    tp_buf text = {.arena = c->arena};
    tp_print_node(&text, tp_parse_expr(c, v));
    tp_buf_json(b, tp_buf_view(&text));
}

static void spaces(tp_buf *b, int n)
{
    for (int i = 0; i < n; i++)
        tp_buf_c(b, " ");
}

static bool any_child(const tp_json *v, tp_json_type type)
{
    for (uint32_t i = 0; i < v->u.items.n; i++)
        if (v->u.items.at[i]->type == type)
            return true;
    return false;
}

static mode member_mode(tp_str key, mode outer)
{
    /* strings under these keys are integer expressions */
    static const char *const KEYS[] = {"where", "steps", "shape", "block_shape", "index_map", "element", "padding"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (outer != DATA && tp_str_is(key, KEYS[i]))
            return EXPRESSION;
    return outer == DATA ? DATA : TEXT;
}

static void print_flat(tp_ctx *c, const tp_json *v, tp_buf *b, mode strings)
{
    bool object = v->type == TP_J_OBJECT;
    if (v->type != TP_J_OBJECT && v->type != TP_J_ARRAY) {
        print_value(c, v, b, 0, strings);
        return;
    }
    tp_buf_c(b, object ? "{" : "[");
    for (uint32_t i = 0; i < v->u.items.n; i++) {
        const tp_json *m = v->u.items.at[i];
        tp_buf_c(b, i ? ", " : "");
        if (object) {
            tp_buf_json(b, m->key);
            tp_buf_c(b, ": ");
        }
        print_flat(c, m, b, object ? member_mode(m->key, strings) : strings);
    }
    tp_buf_c(b, object ? "}" : "]");
}

static void print_items(tp_ctx *c, const tp_json *v, tp_buf *b, int indent, mode strings)
{
    bool object = v->type == TP_J_OBJECT;
    tp_buf flat = {.arena = c->arena};
    print_flat(c, v, &flat, strings);
    size_t column = 0;
    while (column < b->n && b->p[b->n - column - 1] != '\n')
        column++;
    if ((column + flat.n <= WIDTH && !any_child(v, TP_J_OBJECT)) || v->u.items.n == 0) {
        tp_buf_str(b, tp_buf_view(&flat));
        return;
    }
    tp_buf_c(b, object ? "{\n" : "[\n");
    for (uint32_t i = 0; i < v->u.items.n; i++) {
        const tp_json *m = v->u.items.at[i];
        spaces(b, indent + 2);
        if (object) {
            tp_buf_json(b, m->key);
            tp_buf_c(b, ": ");
        }
        print_value(c, m, b, indent + 2, object ? member_mode(m->key, strings) : strings);
        tp_buf_c(b, i + 1 < v->u.items.n ? ",\n" : "\n");
    }
    spaces(b, indent);
    tp_buf_c(b, object ? "}" : "]");
}

static void print_value(tp_ctx *c, const tp_json *v, tp_buf *b, int indent, mode strings)
{
    switch (v->type) {
    case TP_J_NULL: tp_buf_c(b, "null"); break;
    case TP_J_BOOL: tp_buf_c(b, v->u.boolean ? "true" : "false"); break;
    case TP_J_INT: tp_buf_printf(b, "%lld", (long long)v->u.integer); break;
    case TP_J_REAL: tp_buf_add(b, c->source->text.p + v->loc.start, v->loc.end - v->loc.start); break;
    case TP_J_STRING: print_string(c, v, b, strings); break;
    case TP_J_ARRAY:
    case TP_J_OBJECT: print_items(c, v, b, indent, strings); break;
    }
}

/* ---- programs ---- */

typedef struct lines {
    tp_ctx *c;
    tp_buf *b;
    const tp_json *source;
    uint32_t done; /* source lines printed */
} lines;

static void print_line(lines *l, int depth, tp_str text)
{
    tp_buf whole = {.arena = l->c->arena};
    spaces(&whole, 4 * depth);
    tp_buf_str(&whole, text);
    tp_buf_c(l->b, "    ");
    tp_buf_json(l->b, tp_buf_view(&whole));
    l->done++;
    tp_buf_c(l->b, l->done < l->source->u.items.n ? ",\n" : "\n");
}

/* Comments and blank lines before source line `number` are kept as they are. */
static void print_comments(lines *l, uint32_t number, int depth)
{
    while (l->done + 1 < number) {
        tp_str t = l->source->u.items.at[l->done]->u.string;
        while (t.n && t.p[0] == ' ')
            t = (tp_str){t.p + 1, t.n - 1};
        bool is_else = t.n >= 4 && memcmp(t.p, "else", 4) == 0;
        if (is_else)
            return; /* printed by its `if` */
        print_line(l, t.n ? depth : 0, t);
    }
}

static bool is_elif(const tp_block *b)
{
    if (b->len != 1 || b->at[0]->kind != TP_S_IF)
        return false;
    tp_str t = b->at[0]->line->u.string;
    while (t.n && t.p[0] == ' ')
        t = (tp_str){t.p + 1, t.n - 1};
    return t.n >= 4 && memcmp(t.p, "elif", 4) == 0;
}

static void print_block(lines *l, const tp_block *b, int depth);

/* The lines of a statement as they are, moved as a whole. */
static void print_as_written(lines *l, const tp_syntax *s, int depth)
{
    tp_str first = s->line->u.string;
    size_t old = 0;
    while (old < first.n && first.p[old] == ' ')
        old++;
    bool orelse = first.n - old >= 4 && memcmp(first.p + old, "else", 4) == 0; /* else: this statement */
    size_t new = 4 * (size_t)(depth - orelse);
    while (l->done < s->last) {
        tp_str t = l->source->u.items.at[l->done]->u.string;
        size_t own = 0;
        while (own < t.n && t.p[own] == ' ')
            own++;
        tp_buf text = {.arena = l->c->arena};
        spaces(&text, own == t.n || own + new < old ? 0 : (int)(own + new - old));
        tp_buf_add(&text, t.p + own, t.n - own);
        print_line(l, 0, tp_buf_view(&text));
    }
}

static void print_head(lines *l, const tp_syntax *s, int depth, const char *prefix)
{
    tp_buf head = {.arena = l->c->arena};
    tp_buf_c(&head, prefix);
    tp_print_stmt_head(&head, s);
    /* a comment at the end of the line stays */
    tp_str text = s->line->u.string;
    char quote = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (quote ? text.p[i] == quote : text.p[i] == '\'' || text.p[i] == '"')
            quote = quote ? 0 : text.p[i];
        else if (!quote && text.p[i] == '#') {
            tp_buf_c(&head, "  ");
            tp_buf_add(&head, text.p + i, text.n - i);
            break;
        }
    }
    print_line(l, depth, tp_buf_view(&head));
}

static void print_stmt(lines *l, const tp_syntax *s, int depth, const char *prefix)
{
    if (s->number <= l->done) /* behind a `:` or `;`: printed with its line */
        return;
    print_comments(l, s->number, depth);
    if (s->python)
        print_as_written(l, s, depth);
    else
        print_head(l, s, depth, prefix);
    print_block(l, &s->body, depth + 1);
    if (s->orelse.len && is_elif(&s->orelse)) {
        print_stmt(l, s->orelse.at[0], depth, "el");
    } else if (s->orelse.len) {
        uint32_t at = l->done;
        while (at < l->source->u.items.n && at + 1 < s->orelse.at[0]->number) { /* comments, the else line */
            tp_str t = l->source->u.items.at[at]->u.string;
            while (t.n && t.p[0] == ' ')
                t = (tp_str){t.p + 1, t.n - 1};
            print_line(l, t.n && t.p[0] == '#' ? depth + 1 : depth,
                       t.n >= 4 && memcmp(t.p, "else", 4) == 0 ? TP_S("else:") : t);
            at++;
        }
        print_block(l, &s->orelse, depth + 1);
    }
}

static void print_block(lines *l, const tp_block *b, int depth)
{
    for (uint32_t i = 0; i < b->len; i++)
        print_stmt(l, b->at[i], depth, "");
}

static void print_program(tp_ctx *c, const tp_json *v, tp_buf *b)
{
    tp_block block = tp_parse_program(c, v);
    lines l = {.c = c, .b = b, .source = v};
    tp_buf_c(b, v->u.items.n ? "[\n" : "[");
    print_block(&l, &block, 0);
    print_comments(&l, v->u.items.n + 1, 0);
    tp_buf_c(b, v->u.items.n ? "  ]" : "]");
}

static void print_sizes(tp_ctx *c, const tp_json *v, tp_buf *b)
{
    tp_buf_c(b, "{\n");
    for (uint32_t i = 0; i < v->u.items.n; i++) {
        const tp_json *m = v->u.items.at[i];
        tp_buf_c(b, "    ");
        tp_buf_json(b, m->key);
        tp_buf_c(b, ": ");
        print_flat(c, m, b, EXPRESSION);
        tp_buf_c(b, i + 1 < v->u.items.n ? ",\n" : "\n");
    }
    tp_buf_c(b, v->u.items.n ? "  }" : "}");
}

static bool holds_language(tp_str key)
{
    static const char *const KEYS[] = {"where", "grid", "scalar_prefetch", "inputs", "outputs", "scratch", "pipelines"};
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        if (tp_str_is(key, KEYS[i]))
            return true;
    return false;
}

static void print_member(tp_ctx *c, const tp_json *m, tp_buf *b, bool first)
{
    tp_buf_c(b, first ? "\n  " : ",\n  ");
    tp_buf_json(b, m->key);
    tp_buf_c(b, ": ");
    if ((tp_str_is(m->key, "kernel") || tp_str_is(m->key, "reference")) && m->type == TP_J_ARRAY)
        print_program(c, m, b);
    else if (tp_str_is(m->key, "sizes") && m->type == TP_J_OBJECT && m->u.items.n > 3)
        print_sizes(c, m, b);
    else if (tp_str_is(m->key, "sizes") && m->type == TP_J_OBJECT)
        print_flat(c, m, b, EXPRESSION);
    else
        print_value(c, m, b, 2, member_mode(m->key, holds_language(m->key) ? TEXT : DATA));
}

void tp_spec_format(tp_ctx *c, const tp_json *doc, tp_buf *out)
{
    bool first = true;
    tp_buf_c(out, "{");
    for (int i = 0; TOP[i]; i++) {
        const tp_json *m = tp_json_get(doc, TOP[i]);
        if (!m)
            continue;
        print_member(c, m, out, first);
        first = false;
    }
    for (uint32_t i = 0; i < doc->u.items.n; i++) { /* x-… and the like, in their order */
        bool known = false;
        for (int k = 0; TOP[k]; k++)
            known |= tp_str_is(doc->u.items.at[i]->key, TOP[k]);
        if (!known) {
            print_member(c, doc->u.items.at[i], out, first);
            first = false;
        }
    }
    tp_buf_c(out, first ? "}\n" : "\n}\n");
}
