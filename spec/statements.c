/* Statements, line by line. */
#include "spec/lexer.h"
#include "spec/lines.h"

typedef struct program {
    tp_ctx *c;
    tp_lines lines;
    int depth;
} program;

static void refuse_keyword(tp_parser *p)
{
    static const struct {
        const char *word, *help;
    } NEVER[] = {{"import", "numpy, jax, math and scipy may be imported; functions of bodies have no prefix: exp(x)"},
                 {"nonlocal", "return the value and assign it where the function is called"},
                 {"global", "return the value and assign it where the function is called"},
                 {"elif", "it stands below an `if`, as far to the right"},
                 {"else", "it stands below an `if`, as far to the right"}};
    for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++)
        if (tp_at(p, NEVER[i].word))
            tp_fail_token(p, p->now, NEVER[i].help,
                          tp_printf(p->c->arena, i >= 3 ? "`%s` without its `if`" : "`%s` is not part of the language",
                                    NEVER[i].word)
                              .p);
}

static tp_operator augmented_op(tp_parser *p)
{
    if (p->now.kind == T_OP && p->now.text.n >= 2 && p->now.text.p[p->now.text.n - 1] == '=')
        for (int o = TP_O_BITOR; o <= TP_O_POW; o++)
            if (tp_str_eq((tp_str){p->now.text.p, p->now.text.n - 1}, tp_str_c(TP_OPERATOR_ROWS[o].text)))
                return (tp_operator)o;
    return TP_OPERATOR_COUNT;
}

/* Names, or sequences of names. */
static bool is_names(const tp_node *n)
{
    bool names = n->kind == TP_N_SEQUENCE && n->nkids > 0;
    for (uint32_t i = 0; names && i < n->nkids; i++)
        names = n->kids[i]->kind == TP_N_NAME || is_names(n->kids[i]);
    return names;
}

/* o[i], m = …: places, too */
static bool is_names_and_places(const tp_node *n)
{
    bool both = n->kind == TP_N_SEQUENCE && n->nkids > 0;
    for (uint32_t i = 0; both && i < n->nkids; i++)
        both = n->kids[i]->kind == TP_N_NAME || n->kids[i]->kind == TP_N_INDEX;
    return both;
}

static void make_check(tp_parser *p, tp_syntax *s, tp_token from, tp_node *c, tp_node *text)
{
    s->kind = TP_S_EXPR;
    s->value = tp_node_from(p, TP_N_CALL, from);
    s->value->text = TP_S("check");
    tp_node_kids(p, s->value, 2, (tp_node *[]){c, text});
}

/* assert c, "text" is check(c, "text") */
static void parse_assertion(tp_parser *p, tp_syntax *s)
{
    tp_token from = p->now;
    tp_next(p);
    tp_node *c = tp_parse_whole(p), *text = tp_accept(p, ",") ? tp_parse_whole(p) : tp_node_from(p, TP_N_STRING, from);
    if (!text->text.n)
        text->text = TP_S(TP_ASSERTION);
    s->asserted = true;
    make_check(p, s, from, c, text);
}

/* raise E is check(False, "raise E") */
static void parse_raise(tp_parser *p, tp_syntax *s)
{
    tp_token from = p->now;
    tp_next(p);
    p->python = true;
    tp_node *c = tp_node_from(p, TP_N_NAME, from), *text = tp_node_from(p, TP_N_STRING, from);
    c->text = TP_S("False");
    text->text = TP_S("the reference raises an error");
    if (p->now.kind != T_END)
        tp_parse_whole(p);
    make_check(p, s, from, c, text);
}

/* One word alone; its kind, or COUNT. */
static bool parse_word(tp_parser *p, tp_syntax *s)
{
    static const struct {
        const char *word;
        tp_stmt_kind kind;
    } WORDS[] = {{"pass", TP_S_PASS}, {"break", TP_S_BREAK}, {"continue", TP_S_CONTINUE}};
    tp_token here = p->now;
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (tp_accept(p, WORDS[i].word)) {
            s->kind = WORDS[i].kind;
            s->word = tp_node_from(p, TP_N_NAME, here);
            return true;
        }
    return false;
}

/* What stands alone, for its effect. */
static void parse_effect(tp_parser *p, tp_syntax *s, tp_node *n)
{
    bool method = n->kind == TP_N_METHOD, text = n->kind == TP_N_STRING;
    if ((s->note && n->kind == TP_N_NAME) || text) { /* x: float; 'a docstring' */
        p->python = true;
        s->kind = TP_S_PASS;
        return;
    }
    if (n->kind != TP_N_CALL && !method)
        tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(p->c, n), "assign it, store it, or call check(...)",
                 "this statement has no effect");
    s->kind = TP_S_EXPR;
    s->value = n;
}

/* a = b = v is a = v, b = a */
static void parse_chain(tp_parser *p, tp_syntax *s, tp_block *into)
{
    if (s->kind != TP_S_ASSIGN)
        tp_fail_token(p, p->now, "name the value first", "the first of several targets is a name");
    p->python = true;
    tp_push(p->c->arena, *into, s);
    while (tp_accept(p, "=")) {
        tp_node *target = s->value;
        bool names = is_names(target);
        if (target->kind != TP_N_NAME && target->kind != TP_N_INDEX && !names)
            tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(p->c, target), NULL,
                     "only a name or a subscript can be assigned");
        tp_syntax *more = TP_NEW(p->c->arena, tp_syntax);
        *more = (tp_syntax){.kind = names                       ? TP_S_UNPACK
                                    : target->kind == TP_N_NAME ? TP_S_ASSIGN
                                                                : TP_S_STORE,
                            .line = s->line,
                            .number = s->number,
                            .target = target,
                            .value = s->target};
        tp_push(p->c->arena, *into, more);
        s->value = tp_parse_tuple(p, tp_parse_whole);
    }
}

/* One statement, or several of `a = b = v`, at the end of `into`. */
static void parse_simple(tp_parser *p, tp_syntax *s, tp_block *into)
{
    refuse_keyword(p);
    if (parse_word(p, s)) {
        tp_push(p->c->arena, *into, s);
        return;
    }
    if (tp_accept(p, "return")) {
        bool none = p->now.kind == T_END || tp_at(p, ";");
        s->kind = TP_S_RETURN;
        s->value = none ? NULL : tp_parse_tuple(p, tp_parse_whole);
        tp_push(p->c->arena, *into, s);
        return;
    }
    if (tp_at(p, "assert") || tp_at(p, "raise")) {
        if (tp_at(p, "assert"))
            parse_assertion(p, s);
        else
            parse_raise(p, s);
        tp_push(p->c->arena, *into, s);
        return;
    }
    tp_node *target = tp_parse_tuple(p, tp_parse_whole);
    tp_operator aug = augmented_op(p);
    if (target->kind == TP_N_NAME && tp_accept(p, ":"))
        s->note = tp_parse_whole(p);
    if (!tp_at(p, "=") && aug == TP_OPERATOR_COUNT) {
        parse_effect(p, s, target);
        tp_push(p->c->arena, *into, s);
        return;
    }
    bool names = is_names(target) && aug == TP_OPERATOR_COUNT;
    if (!names && is_names_and_places(target) && aug == TP_OPERATOR_COUNT)
        names = p->python = true;
    if (target->kind != TP_N_NAME && target->kind != TP_N_INDEX && !names)
        tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(p->c, target), NULL,
                 target->kind == TP_N_SEQUENCE ? "several values go to several names"
                                               : "only a name or a subscript can be assigned");
    s->kind = names ? TP_S_UNPACK : target->kind == TP_N_NAME ? TP_S_ASSIGN : TP_S_STORE;
    s->target = target;
    s->augmented = aug != TP_OPERATOR_COUNT;
    s->op = aug;
    tp_next(p);
    s->value = tp_parse_tuple(p, tp_parse_whole);
    if (tp_at(p, "=") && !s->augmented)
        parse_chain(p, s, into);
    else
        tp_push(p->c->arena, *into, s);
}

static tp_block parse_block(program *g, int indent);

/* Statements that end with the line; under: they stand behind a `:`. */
static void parse_line(program *g, tp_parser *p, bool under, tp_block *into)
{
    uint32_t first = into->len;
    do {
        tp_syntax *s = TP_NEW(g->c->arena, tp_syntax);
        s->line = p->now.source;
        s->number = g->lines.next;
        parse_simple(p, s, into);
        under |= tp_at(p, ";");
    } while (tp_accept(p, ";") && p->now.kind != T_END);
    tp_expect_end(p);
    for (uint32_t i = first; i < into->len; i++) {
        into->at[i]->last = g->lines.next;
        into->at[i]->python = p->python || under;
    }
}

static bool says_nothing(const program *g)
{
    return g->lines.next < g->lines.n && g->lines.columns[g->lines.next] < 0;
}

/* The suite after a ':', in this line, or in the next ones, deeper than `indent`. */
static tp_block parse_suite(program *g, tp_parser *p, tp_syntax *s, int indent)
{
    tp_expect(p, ":");
    s->last = g->lines.next;
    s->python |= p->python;
    if (p->now.kind != T_END) {
        tp_block block = {0};
        s->python = true;
        parse_line(g, p, true, &block);
        return block;
    }
    while (says_nothing(g))
        g->lines.next++;
    if (g->lines.next == g->lines.n || g->lines.columns[g->lines.next] <= indent) {
        tp_token end = p->now;
        end.to = (uint32_t)p->text.n;
        end.from = end.to ? end.to - 1 : 0;
        tp_fail_token(p, end, "indent the statements under it", "an indented block is expected after this line");
    }
    return parse_block(g, g->lines.columns[g->lines.next]);
}

/* The next line, which says something. */
static tp_parser open_line(program *g)
{
    const tp_json *line = g->lines.at[g->lines.next++];
    return tp_parser_new(g->c, line, &g->lines);
}

static void parse_if(program *g, tp_parser *p, tp_syntax *s, int indent)
{
    s->kind = TP_S_IF;
    tp_next(p);
    s->value = tp_parse_whole(p);
    s->body = parse_suite(g, p, s, indent);
    while (says_nothing(g))
        g->lines.next++;
    if (g->lines.next == g->lines.n || g->lines.columns[g->lines.next] != indent)
        return;
    uint32_t here = g->lines.next;
    tp_parser q = open_line(g);
    if (tp_at(&q, "elif")) {
        tp_syntax *inner = TP_NEW(g->c->arena, tp_syntax);
        inner->line = q.source;
        inner->number = g->lines.next;
        if (++g->depth > TP_MAX_SYNTAX_DEPTH)
            tp_fail_token(&q, q.now, NULL, "too many elif branches");
        tp_push(g->c->arena, s->orelse, inner);
        parse_if(g, &q, inner, indent);
    } else if (tp_accept(&q, "else")) {
        tp_syntax other = {.kind = TP_S_PASS};
        s->orelse = parse_suite(g, &q, &other, indent);
    } else {
        g->lines.next = here;
    }
}

/* with scratch(shape, dtype) as name, … */
static void parse_with(program *g, tp_parser *p, tp_syntax *s, int indent)
{
    tp_node_vec names = {0}, buffers = {0};
    tp_token from = p->now;
    s->kind = TP_S_WITH;
    do {
        tp_node *buffer = tp_parse_operand(p);
        if (buffer->kind != TP_N_CALL || !tp_str_is(buffer->text, "scratch"))
            tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(p->c, buffer),
                     "write: with scratch((8, 128), float32) as buffer:",
                     "`with` makes buffers and semaphores of a part of the body");
        tp_expect(p, "as");
        tp_node *name = tp_parse_operand(p);
        if (name->kind != TP_N_NAME)
            tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_node_loc(p->c, name), NULL, "a name is expected after `as`");
        tp_push(p->c->arena, names, name);
        tp_push(p->c->arena, buffers, buffer);
    } while (tp_accept(p, ","));
    s->target = tp_node_from(p, TP_N_SEQUENCE, from);
    s->value = tp_node_from(p, TP_N_SEQUENCE, from);
    tp_node_kids(p, s->target, names.len, names.at);
    tp_node_kids(p, s->value, buffers.len, buffers.at);
    s->body = parse_suite(g, p, s, indent);
}

/* def name(a, b=1) -> type: */
static void parse_def(program *g, tp_parser *p, tp_syntax *s, int indent)
{
    tp_token name = p->now;
    tp_node_vec parameters = {0};
    s->kind = TP_S_DEF;
    tp_next(p);
    if (name.kind != T_NAME || tp_is_keyword(name.text) || !tp_accept(p, "("))
        tp_raise(p->c, TP_RULE_SPEC_TYPE, tp_json_inside(p->c, name.source, name.from, name.to),
                 "write def name(a, b):", "a function has a name and parameters");
    tp_parse_parameters(p, ")", &parameters);
    if (tp_accept(p, "->")) {
        tp_parse_whole(p);
        p->python = true;
    }
    s->value = tp_node_from(p, TP_N_CALL, name);
    s->value->text = name.text;
    tp_node_kids(p, s->value, parameters.len, parameters.at);
    s->body = parse_suite(g, p, s, indent);
}

/* Does the node name jax.jit? */
static bool is_jit(const tp_node *n)
{
    return (n->kind == TP_N_NAME && tp_str_is(n->text, "jit")) ||
           (n->kind == TP_N_ATTRIBUTE && tp_str_is(n->text, "jit") && n->kids[0]->kind == TP_N_NAME &&
            tp_str_is(n->kids[0]->text, "jax"));
}

/* @jax.jit, @partial(jax.jit, static_argnums=0): the function computes the same. */
static void parse_decorator(tp_parser *p)
{
    tp_token from = p->now;
    tp_next(p);
    tp_node *n = tp_parse_operand(p);
    bool method = n->kind == TP_N_METHOD, call = n->kind == TP_N_CALL;
    bool partial =
        (method || call) && tp_str_is(n->text, "partial") && n->nkids > (uint32_t)method && is_jit(n->kids[method]);
    if (!is_jit(n) && !partial)
        tp_fail_token(p, from, "write `if i == 0:` for pl.when; jax.jit is the one decorator",
                      "found `@` where a value is expected");
    tp_expect_end(p);
}

static tp_block parse_block(program *g, int indent)
{
    tp_block block = {0};
    tp_lines *lines = &g->lines;
    if (++g->depth > TP_MAX_SYNTAX_DEPTH)
        tp_raise(g->c, TP_RULE_SPEC_SYNTAX, lines->at[lines->next]->loc, NULL, "statements are nested too deep");
    while (lines->next < lines->n) {
        const tp_json *line = lines->at[lines->next];
        int here = lines->columns[lines->next];
        if (here < 0) {
            lines->next++;
            continue;
        }
        if (here < indent && g->depth == 1)
            tp_raise(g->c, TP_RULE_SPEC_SYNTAX, tp_json_inside(g->c, line, 0, (size_t)here),
                     "align it with the first line", "less indentation than the first line has");
        if (here < indent)
            break;
        if (here > indent)
            tp_raise(g->c, TP_RULE_SPEC_SYNTAX, tp_json_inside(g->c, line, 0, (size_t)here),
                     "align it with the line above", "unexpected indentation");
        tp_parser p = open_line(g);
        bool known = tp_at(&p, "if") || tp_at(&p, "for") || tp_at(&p, "while") || tp_at(&p, "with") || tp_at(&p, "def");
        if (tp_at(&p, "@")) {
            parse_decorator(&p);
            continue;
        }
        if (!known) {
            parse_line(g, &p, false, &block);
            continue;
        }
        tp_syntax *s = TP_NEW(g->c->arena, tp_syntax);
        s->line = line;
        s->number = lines->next;
        tp_push(g->c->arena, block, s);
        if (tp_at(&p, "if")) {
            parse_if(g, &p, s, indent);
        } else if (tp_accept(&p, "for")) {
            s->kind = TP_S_FOR;
            s->target = tp_parse_targets(&p);
            tp_expect(&p, "in");
            s->value = tp_parse_tuple(&p, tp_parse_whole);
            s->body = parse_suite(g, &p, s, indent);
        } else if (tp_accept(&p, "while")) {
            s->kind = TP_S_WHILE;
            s->value = tp_parse_whole(&p);
            s->body = parse_suite(g, &p, s, indent);
        } else if (tp_accept(&p, "with")) {
            parse_with(g, &p, s, indent);
        } else if (tp_accept(&p, "def")) {
            parse_def(g, &p, s, indent);
        }
    }
    g->depth--;
    return block;
}

/* Of a program that is one string: it may be indented as a whole. */
static int first_indentation(const program *g)
{
    for (uint32_t i = 0; i < g->lines.n; i++)
        if (g->lines.columns[i] >= 0)
            return g->lines.columns[i];
    return 0;
}

tp_block tp_parse_program(tp_ctx *c, const tp_json *lines)
{
    if (lines->type != TP_J_ARRAY)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, lines->loc, "write one string per line",
                 "a program is an array of lines or a string, not %s", tp_json_type_name(lines->type));
    program g = {.c = c, .lines = {.at = lines->u.items.at, .n = lines->u.items.n}};
    for (uint32_t i = 0; i < g.lines.n; i++)
        if (g.lines.at[i]->type != TP_J_STRING)
            tp_raise(c, TP_RULE_SPEC_STRUCTURE, g.lines.at[i]->loc, "write one string per line",
                     "a line of a program is a string, not %s", tp_json_type_name(g.lines.at[i]->type));
    for (uint32_t i = 0; i < g.lines.n; i++)
        if (memchr(g.lines.at[i]->u.string.p, '\n', g.lines.at[i]->u.string.n))
            tp_raise(c, TP_RULE_SPEC_SYNTAX, g.lines.at[i]->loc, "write one string per line",
                     "a line break inside a line");
    g.lines.columns = tp_indentations(c, g.lines.at, g.lines.n);
    return parse_block(&g, lines->u.items.indented ? first_indentation(&g) : 0);
}
