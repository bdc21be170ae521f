#include "spec/lines.h"
#include "spec/syntax.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- lexer ---- */

typedef enum token_kind { T_END, T_INT, T_FLOAT, T_NAME, T_STRING, T_OP } token_kind;

typedef struct token {
    token_kind kind;
    tp_str text;
    uint32_t from, to;
} token;

typedef struct parser {
    tp_ctx *c;
    const tp_json *source;
    tp_str text;
    token now;
    uint32_t i; /* byte after `now` */
    int depth, nodes;
} parser;

tp_loc tp_node_loc(const tp_ctx *c, const tp_node *n)
{
    return tp_json_inside(c, n->source, n->from, n->to);
}

bool tp_node_is_position(const tp_node *n, const tp_str *names, const bool *which, uint32_t nnames, bool conditions)
{
    bool found = n->kind == TP_N_CALL && tp_str_is(n->text, "iota");
    if (!conditions && n->kind == TP_N_CALL && tp_str_is(n->text, "where"))
        return false;
    for (uint32_t i = 0; n->kind == TP_N_NAME && i < nnames; i++)
        found |= (!which || which[i]) && tp_str_eq(names[i], n->text);
    for (uint32_t i = 0; i < n->nkids && n->kind != TP_N_INDEX && !found; i++)
        found = n->kids[i] && tp_node_is_position(n->kids[i], names, which, nnames, conditions);
    return found;
}

_Noreturn static void fail_at(const parser *p, uint32_t from, uint32_t to, const char *help, const char *message)
{
    tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_json_inside(p->c, p->source, from, to), help, "%s", message);
}

static bool is_name_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static void lex_number(parser *p)
{
    const char *t = p->text.p;
    uint32_t i = p->now.from, n = (uint32_t)p->text.n;
    p->now.kind = T_INT;
    while (i < n && (isdigit((unsigned char)t[i]) || t[i] == '_'))
        i++;
    if (i + 1 < n && t[i] == '.' && t[i + 1] == '.')
        ; /* the start of "..." */
    else if (i < n && t[i] == '.') {
        p->now.kind = T_FLOAT;
        for (i++; i < n && isdigit((unsigned char)t[i]);)
            i++;
    }
    if (i < n && (t[i] == 'e' || t[i] == 'E')) {
        uint32_t k = i + 1;
        if (k < n && (t[k] == '+' || t[k] == '-'))
            k++;
        if (k < n && isdigit((unsigned char)t[k])) {
            p->now.kind = T_FLOAT;
            for (i = k; i < n && isdigit((unsigned char)t[i]);)
                i++;
        }
    }
    if (i < n && is_name_char(t[i]))
        fail_at(p, p->now.from, i + 1, NULL, "a number runs into a name");
    p->i = i;
}

static bool is_one_of(char ch, const char *set)
{
    return ch && strchr(set, ch);
}

/* Length of the operator that starts here; 0: there is none. */
static uint32_t operator_length(const char *t, size_t left)
{
    char a = t[0], b = left > 1 ? t[1] : '\0', c = left > 2 ? t[2] : '\0';
    if (a == '.' && b == '.' && c == '.')
        return 3;
    if (a == b && is_one_of(a, "*/<>"))
        return c == '=' ? 3 : 2;
    if ((b == '=' && is_one_of(a, "=!<>+-*/%&|^")) || (a == '-' && b == '>'))
        return 2;
    return is_one_of(a, "+-*/%<>=()[],:.&|^~@");
}

static void next(parser *p)
{
    const char *t = p->text.p;
    uint32_t n = (uint32_t)p->text.n;
    while (p->i < n && (t[p->i] == ' ' || t[p->i] == '\t'))
        p->i++;
    p->now = (token){.kind = T_END, .from = p->i, .to = p->i + 1};
    if (p->i >= n || t[p->i] == '#')
        return;
    if (isdigit((unsigned char)t[p->i]) || (t[p->i] == '.' && p->i + 1 < n && isdigit((unsigned char)t[p->i + 1]))) {
        lex_number(p);
    } else if (isalpha((unsigned char)t[p->i]) || t[p->i] == '_') {
        p->now.kind = T_NAME;
        while (p->i < n && is_name_char(t[p->i]))
            p->i++;
    } else if (t[p->i] == '"' || t[p->i] == '\'') {
        char quote = t[p->i++];
        p->now.kind = T_STRING;
        while (p->i < n && t[p->i] != quote && (unsigned char)t[p->i] >= ' ')
            p->i++;
        if (p->i < n && t[p->i] != quote)
            fail_at(p, p->i, p->i + 1, NULL, "a control character inside a string");
        if (p->i >= n)
            fail_at(p, p->now.from, n, NULL, "this string never ends");
        p->i++;
    } else {
        p->now.kind = T_OP;
        uint32_t length = operator_length(t + p->i, n - p->i);
        if (!length)
            fail_at(p, p->i, p->i + 1, t[p->i] == ';' ? "write one statement per line" : NULL,
                    "this character has no meaning here");
        p->i += length;
    }
    p->now.to = p->i;
    p->now.text = (tp_str){t + p->now.from, p->i - p->now.from};
}

/* The first letter decides nearly always. */
static inline bool spells(tp_str text, const char *word)
{
    return text.n && text.p[0] == word[0] && strncmp(word, text.p, text.n) == 0 && !word[text.n];
}

static inline bool at(const parser *p, const char *text)
{
    return (p->now.kind == T_OP || p->now.kind == T_NAME) && spells(p->now.text, text);
}

static bool accept(parser *p, const char *text)
{
    if (!at(p, text))
        return false;
    next(p);
    return true;
}

static void expect(parser *p, const char *text)
{
    if (accept(p, text))
        return;
    bool colon = strcmp(text, ":") == 0;
    const char *help = at(p, "=") && colon ? "compare with `==`"
                       : at(p, "for")      ? "write the elements one by one, or fill an array in a loop"
                                           : NULL;
    if (p->now.kind == T_END)
        fail_at(p, p->now.from ? p->now.from - 1 : 0, p->now.from, colon ? "end the line with `:`" : NULL,
                tp_printf(p->c->arena, "the text ends where `%s` is expected", text).p);
    fail_at(p, p->now.from, p->now.to, help,
            tp_printf(p->c->arena, "found `%.*s` where `%s` is expected", TP_FMT(p->now.text), text).p);
}

/* ---- expressions ---- */

static tp_node *parse_binary(parser *p, int power);

static tp_node *node_new(parser *p, tp_node_kind kind, uint32_t from)
{
    if (++p->nodes > TP_MAX_SYNTAX_NODES)
        fail_at(p, from, p->now.to, "split it over several statements", "this expression is too long");
    tp_node *n = TP_NEW(p->c->arena, tp_node);
    n->kind = kind;
    n->source = p->source;
    n->from = from;
    n->to = p->now.from > from ? p->now.from : p->now.to;
    return n;
}

static void set_kids(parser *p, tp_node *n, uint32_t count, tp_node *const *kids)
{
    n->nkids = count;
    n->kids = TP_NEWN(p->c->arena, tp_node *, count);
    memcpy(n->kids, kids, count * sizeof *kids);
}

/* Trim trailing blanks off the extent of a finished node. */
static tp_node *finish(parser *p, tp_node *n)
{
    uint32_t to = p->now.from < p->text.n ? p->now.from : (uint32_t)p->text.n;
    while (to > n->from + 1 && (p->text.p[to - 1] == ' ' || p->text.p[to - 1] == '\t'))
        to--;
    n->to = to;
    return n;
}

static bool is_keyword(tp_str w)
{
    static const char *const WORDS[] = {"and",    "or",     "not",   "implies",  "if",     "else", "elif",
                                        "for",    "in",     "while", "def",      "return", "with", "as",
                                        "lambda", "import", "break", "continue", "pass",   "is"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (spells(w, WORDS[i]))
            return true;
    return false;
}

typedef TP_VEC(tp_node *) node_vec;

static void parse_arguments(parser *p, const char *close, node_vec *args)
{
    while (!at(p, close)) {
        token name = p->now;
        uint32_t i = p->i;
        tp_node *arg;
        if (p->now.kind == T_NAME) {
            next(p);
            if (at(p, "=")) {
                next(p);
                tp_node *value = parse_binary(p, 0);
                arg = node_new(p, TP_N_KEYWORD, name.from);
                arg->text = name.text;
                set_kids(p, arg, 1, &value);
                tp_push(p->c->arena, *args, finish(p, arg));
                if (!accept(p, ","))
                    break;
                continue;
            }
            p->now = name;
            p->i = i;
        }
        arg = parse_binary(p, 0);
        tp_push(p->c->arena, *args, arg);
        if (!accept(p, ","))
            break;
    }
    expect(p, close);
}

/* A part of a slice after its first. */
static tp_node *parse_part(parser *p)
{
    bool absent = at(p, ":") || at(p, ",") || at(p, "]");
    return absent ? node_new(p, TP_N_ABSENT, p->now.from) : parse_binary(p, 0);
}

static tp_node *parse_subscript(parser *p)
{
    uint32_t from = p->now.from;
    if (at(p, "...")) {
        tp_node *n = node_new(p, TP_N_ELLIPSIS, from);
        next(p);
        return finish(p, n);
    }
    tp_node *kids[3] = {at(p, ":") ? node_new(p, TP_N_ABSENT, from) : parse_binary(p, 0)};
    if (!accept(p, ":"))
        return kids[0];
    kids[1] = parse_part(p);
    kids[2] = accept(p, ":") ? parse_part(p) : node_new(p, TP_N_ABSENT, p->now.from);
    bool all = kids[0]->kind == TP_N_ABSENT && kids[1]->kind == TP_N_ABSENT && kids[2]->kind == TP_N_ABSENT;
    tp_node *n = node_new(p, all ? TP_N_COLON : TP_N_SLICE, from);
    if (!all)
        set_kids(p, n, 3, kids);
    return finish(p, n);
}

static tp_node *parse_postfix(parser *p, tp_node *base, uint32_t from)
{
    while (at(p, "[") || at(p, ".")) {
        node_vec kids = {0};
        tp_push(p->c->arena, kids, base);
        if (accept(p, "[")) {
            while (!at(p, "]")) {
                tp_node *sub = parse_subscript(p);
                tp_push(p->c->arena, kids, sub);
                if (!accept(p, ","))
                    break;
            }
            expect(p, "]");
            base = node_new(p, TP_N_INDEX, from);
        } else {
            next(p);
            if (p->now.kind != T_NAME)
                fail_at(p, p->now.from, p->now.to, NULL, "a method name is expected after `.`");
            tp_str method = p->now.text;
            next(p);
            bool call = accept(p, "(");
            if (call)
                parse_arguments(p, ")", &kids);
            base = node_new(p, call ? TP_N_METHOD : TP_N_ATTRIBUTE, from);
            base->text = method;
        }
        base->kids = kids.at;
        base->nkids = kids.len;
        finish(p, base);
    }
    return base;
}

static tp_node *parse_sequence(parser *p, const char *close, uint32_t from)
{
    node_vec items = {0};
    bool comma = false;
    while (!at(p, close)) {
        tp_node *item = parse_binary(p, 0);
        tp_push(p->c->arena, items, item);
        comma = accept(p, ",");
        if (!comma)
            break;
    }
    expect(p, close);
    if (close[0] == ')' && items.len == 1 && !comma)
        return items.at[0]; /* parentheses only group */
    tp_node *n = node_new(p, TP_N_SEQUENCE, from);
    n->kids = items.at;
    n->nkids = items.len;
    return finish(p, n);
}

static tp_node *number_node(parser *p)
{
    token t = p->now;
    char digits[64];
    size_t k = 0;
    for (size_t i = 0; i < t.text.n; i++)
        if (t.text.p[i] != '_') {
            if (k == sizeof digits - 1)
                fail_at(p, t.from, t.to, NULL, "this number has too many digits");
            digits[k++] = t.text.p[i];
        }
    digits[k] = '\0';
    next(p);
    tp_node *n = node_new(p, t.kind == T_INT ? TP_N_INT : TP_N_FLOAT, t.from);
    n->text = t.text;
    errno = 0;
    if (t.kind == T_INT)
        n->integer = strtoll(digits, NULL, 10);
    else
        n->real = tp_real(digits);
    if (t.kind == T_INT ? errno == ERANGE : isinf(n->real))
        fail_at(p, t.from, t.to, NULL, "this number does not fit 64 bits");
    n->to = t.to;
    return n;
}

static tp_node *parse_primary(parser *p)
{
    token t = p->now;
    tp_node *n;
    if (t.kind == T_INT || t.kind == T_FLOAT) {
        n = number_node(p);
    } else if (t.kind == T_STRING) {
        next(p);
        n = node_new(p, TP_N_STRING, t.from);
        n->text = (tp_str){t.text.p + 1, t.text.n - 2};
    } else if (t.kind == T_NAME && !is_keyword(t.text)) {
        next(p);
        bool call = at(p, "(");
        node_vec args = {0};
        if (call) {
            next(p);
            parse_arguments(p, ")", &args);
        }
        n = node_new(p, call ? TP_N_CALL : TP_N_NAME, t.from);
        n->text = t.text;
        n->kids = args.at;
        n->nkids = args.len;
        finish(p, n);
    } else if (accept(p, "(")) {
        n = parse_sequence(p, ")", t.from);
    } else if (accept(p, "[")) {
        n = parse_sequence(p, "]", t.from);
    } else if (t.kind == T_END) {
        fail_at(p, t.from ? t.from - 1 : 0, t.from, NULL, "the text ends where a value is expected");
    } else {
        fail_at(p, t.from, t.to,
                tp_str_is(t.text, "@")        ? "write `if i == 0:` for pl.when; there are no decorators"
                : tp_str_is(t.text, "lambda") ? "write a def at the outer level, and its name here"
                                              : NULL,
                tp_printf(p->c->arena, "found `%.*s` where a value is expected", TP_FMT(t.text)).p);
    }
    return parse_postfix(p, n, t.from);
}

static tp_node *parse_unary(parser *p)
{
    token t = p->now;
    tp_operator op = at(p, "-") ? TP_O_NEG : at(p, "~") ? TP_O_INVERT : at(p, "not") ? TP_O_NOT : TP_OPERATOR_COUNT;
    if (op == TP_OPERATOR_COUNT) {
        accept(p, "+");
        return parse_primary(p);
    }
    next(p);
    tp_node *kid = parse_binary(p, TP_OPERATOR_ROWS[op].left);
    tp_node *n = node_new(p, TP_N_UNARY, t.from);
    n->op = op;
    set_kids(p, n, 1, &kid);
    return finish(p, n);
}

static tp_operator binary_here(const parser *p)
{
    /* most operands end at one of these */
    bool ends = p->now.kind == T_OP && p->now.text.n == 1 && is_one_of(p->now.text.p[0], "),]=:");
    if (!ends && (p->now.kind == T_OP || p->now.kind == T_NAME))
        for (int o = 0; o <= TP_O_POW; o++)
            if (spells(p->now.text, TP_OPERATOR_ROWS[o].text))
                return (tp_operator)o;
    return TP_OPERATOR_COUNT;
}

static tp_node *binary_node(parser *p, uint32_t from, tp_operator op, tp_node *a, tp_node *b)
{
    tp_node *n = node_new(p, TP_N_BINARY, from);
    n->op = op;
    set_kids(p, n, 2, (tp_node *[]){a, b});
    return finish(p, n);
}

static tp_node *parse_binary(parser *p, int power)
{
    if (++p->depth > TP_MAX_SYNTAX_DEPTH)
        fail_at(p, p->now.from, p->now.to, "name the inner parts", "this expression is nested too deep");
    uint32_t from = p->now.from, last_from = from; /* a parenthesis before an operand is the operation's */
    tp_node *left = parse_unary(p), *last_operand = NULL;
    for (;;) {
        tp_operator op = binary_here(p);
        if (op != TP_OPERATOR_COUNT && TP_OPERATOR_ROWS[op].left >= power) {
            next(p);
            uint32_t right_from = p->now.from;
            tp_node *right = parse_binary(p, TP_OPERATOR_ROWS[op].right);
            /* a < b < c is a < b and b < c */
            if (tp_operator_compares(op) && last_operand)
                left = binary_node(p, from, TP_O_AND, left, binary_node(p, last_from, op, last_operand, right));
            else
                left = binary_node(p, from, op, left, right);
            last_from = right_from;
            last_operand = tp_operator_compares(op) ? right : NULL;
        } else if (at(p, "if") && TP_POWER_TERNARY >= power) {
            next(p);
            tp_node *cond = parse_binary(p, TP_POWER_TERNARY + 1);
            expect(p, "else");
            tp_node *other = parse_binary(p, TP_POWER_TERNARY);
            tp_node *n = node_new(p, TP_N_TERNARY, from);
            set_kids(p, n, 3, (tp_node *[]){cond, left, other});
            left = finish(p, n);
        } else {
            break;
        }
    }
    p->depth--;
    return left;
}

static parser parser_new(tp_ctx *c, const tp_json *string)
{
    parser p = {.c = c, .source = string, .text = string->u.string};
    next(&p);
    return p;
}

static void expect_end(parser *p)
{
    if (p->now.kind != T_END)
        fail_at(p, p->now.from, p->now.to, at(p, "(") ? "functions are called by their names" : NULL,
                tp_printf(p->c->arena, "`%.*s` is not expected here", TP_FMT(p->now.text)).p);
}

tp_node *tp_parse_expr(tp_ctx *c, const tp_json *string)
{
    parser p = parser_new(c, string);
    tp_node *n = parse_binary(&p, 0);
    expect_end(&p);
    return n;
}

void tp_each_token(tp_ctx *c, const tp_json *string, tp_token_visitor visit, void *ctx)
{
    static const char *const KINDS[] = {
        [T_END] = "end", [T_INT] = "int", [T_FLOAT] = "float", [T_NAME] = "name", [T_STRING] = "string", [T_OP] = "op"};
    for (parser p = parser_new(c, string); p.now.kind != T_END; next(&p))
        visit(ctx, KINDS[p.now.kind], p.now.text);
}

tp_forall tp_parse_forall(tp_ctx *c, const tp_json *string)
{
    parser p = parser_new(c, string);
    tp_forall f = {.n = 0};
    if (accept(&p, "forall")) {
        do {
            if (f.n == TP_MAX_BOUND || p.now.kind != T_NAME)
                fail_at(&p, p.now.from, p.now.to, "write forall i < n, j < m: fact", "a bound name is expected");
            f.names[f.n] = parse_primary(&p);
            expect(&p, "<");
            f.extents[f.n++] = parse_binary(&p, TP_OPERATOR_ROWS[TP_O_LT].right);
        } while (accept(&p, ","));
        expect(&p, ":");
    }
    f.fact = parse_binary(&p, 0);
    expect_end(&p);
    return f;
}

/* ---- statements ---- */

typedef struct program {
    tp_ctx *c;
    tp_json **lines;
    const int *indent; /* tp_indentations() */
    uint32_t n, at;
    int depth;
} program;

static void refuse_keyword(parser *p)
{
    static const struct {
        const char *word, *help;
    } NEVER[] = {{"break", "test for it in `while`, or do the rest under an `if`"},
                 {"continue", "do the rest under an `if`"},
                 {"import", "numpy, jax, math and scipy may be imported; functions of bodies have no prefix: exp(x)"},
                 {"lambda", "write the expression itself, or a def"},
                 {"elif", "it stands below an `if`, as far to the right"},
                 {"else", "it stands below an `if`, as far to the right"}};
    for (size_t i = 0; i < sizeof NEVER / sizeof *NEVER; i++)
        if (at(p, NEVER[i].word))
            fail_at(p, p->now.from, p->now.to, NEVER[i].help,
                    tp_printf(p->c->arena, i >= 4 ? "`%s` without its `if`" : "`%s` is not part of the language",
                              NEVER[i].word)
                        .p);
}

static tp_operator augmented_op(parser *p)
{
    if (p->now.kind == T_OP && p->now.text.n >= 2 && p->now.text.p[p->now.text.n - 1] == '=')
        for (int o = TP_O_BITOR; o <= TP_O_POW; o++)
            if (tp_str_eq((tp_str){p->now.text.p, p->now.text.n - 1}, tp_str_c(TP_OPERATOR_ROWS[o].text)))
                return (tp_operator)o;
    return TP_OPERATOR_COUNT;
}

static tp_node *sequence_node(parser *p, uint32_t from, const node_vec *items)
{
    tp_node *n = node_new(p, TP_N_SEQUENCE, from);
    n->kids = items->at;
    n->nkids = items->len;
    return finish(p, n);
}

/* What stands before and after commas outside of parentheses; one alone is itself. */
static tp_node *parse_tuple(parser *p, tp_node *(*item)(parser *p))
{
    uint32_t from = p->now.from;
    tp_node *first = item(p);
    node_vec items = {0};
    if (!at(p, ","))
        return first;
    tp_push(p->c->arena, items, first);
    while (accept(p, ",")) {
        tp_node *more = item(p);
        tp_push(p->c->arena, items, more);
    }
    return sequence_node(p, from, &items);
}

static tp_node *parse_whole(parser *p)
{
    return parse_binary(p, 0);
}

static bool is_names(const tp_node *n)
{
    for (uint32_t i = 0; n->kind == TP_N_SEQUENCE && i < n->nkids; i++)
        if (n->kids[i]->kind != TP_N_NAME)
            return false;
    return n->kind == TP_N_SEQUENCE && n->nkids > 0;
}

/* assert c, "text" is check(c, "text") */
static void parse_assertion(parser *p, tp_syntax *s)
{
    uint32_t from = p->now.from;
    next(p);
    tp_node *c = parse_binary(p, 0), *text = accept(p, ",") ? parse_binary(p, 0) : node_new(p, TP_N_STRING, from);
    if (!text->text.n)
        text->text = TP_S(TP_ASSERTION);
    s->kind = TP_S_EXPR;
    s->asserted = true;
    s->value = node_new(p, TP_N_CALL, from);
    s->value->text = TP_S("check");
    set_kids(p, s->value, 2, (tp_node *[]){c, text});
    finish(p, s->value);
}

static void parse_simple(parser *p, tp_syntax *s)
{
    refuse_keyword(p);
    if (accept(p, "pass")) {
        s->kind = TP_S_PASS;
        return;
    }
    if (accept(p, "return")) {
        s->kind = TP_S_RETURN;
        s->value = parse_tuple(p, parse_whole);
        return;
    }
    if (at(p, "assert")) {
        parse_assertion(p, s);
        return;
    }
    tp_node *target = parse_tuple(p, parse_whole);
    tp_operator aug = augmented_op(p);
    if (target->kind == TP_N_NAME && accept(p, ":"))
        s->note = parse_binary(p, 0);
    if (!at(p, "=") && aug == TP_OPERATOR_COUNT) {
        if (s->note || target->kind != TP_N_CALL)
            fail_at(p, target->from, target->to, "assign it, store it, or call check(...)",
                    "this statement has no effect");
        s->kind = TP_S_EXPR;
        s->value = target;
        return;
    }
    bool names = is_names(target) && aug == TP_OPERATOR_COUNT;
    if (target->kind != TP_N_NAME && target->kind != TP_N_INDEX && !names)
        fail_at(p, target->from, target->to, NULL,
                target->kind == TP_N_SEQUENCE ? "several values go to several names"
                                              : "only a name or a subscript can be assigned");
    s->kind = names ? TP_S_UNPACK : target->kind == TP_N_NAME ? TP_S_ASSIGN : TP_S_STORE;
    s->target = target;
    s->augmented = aug != TP_OPERATOR_COUNT;
    s->op = aug;
    next(p);
    s->value = parse_tuple(p, parse_whole);
    if (at(p, "="))
        fail_at(p, p->now.from, p->now.to, NULL, "one assignment per statement");
    if (s->value->kind == TP_N_SEQUENCE && !names)
        fail_at(p, s->value->from, s->value->to, "write a, b = x, y", "several values for one name");
}

static tp_block parse_block(program *g, int indent);

/* The suite after a ':' — on the next lines, deeper than `indent`. */
static tp_block parse_suite(program *g, parser *p, int indent)
{
    expect(p, ":");
    if (p->now.kind != T_END)
        fail_at(p, p->now.from, p->now.to, "put it on the next line, indented",
                "a statement follows `:` on the same line");
    uint32_t k = g->at;
    while (k < g->n && g->indent[k] < 0)
        k++;
    if (k == g->n || g->indent[k] <= indent)
        fail_at(p, p->text.n ? (uint32_t)p->text.n - 1 : 0, (uint32_t)p->text.n, "indent the statements under it",
                "an indented block is expected after this line");
    return parse_block(g, g->indent[k]);
}

static tp_syntax *parse_if(program *g, parser *p, tp_syntax *s, int indent)
{
    s->kind = TP_S_IF;
    next(p);
    s->value = parse_binary(p, 0);
    s->body = parse_suite(g, p, indent);
    while (g->at < g->n && g->indent[g->at] < 0)
        g->at++;
    if (g->at < g->n && g->indent[g->at] == indent) {
        parser q = parser_new(g->c, g->lines[g->at]);
        if (at(&q, "elif")) {
            tp_syntax *inner = TP_NEW(g->c->arena, tp_syntax);
            inner->line = g->lines[g->at];
            inner->number = ++g->at;
            if (++g->depth > TP_MAX_SYNTAX_DEPTH)
                fail_at(&q, 0, 4, NULL, "too many elif branches");
            tp_push(g->c->arena, s->orelse, parse_if(g, &q, inner, indent));
        } else if (at(&q, "else")) {
            g->at++;
            next(&q);
            s->orelse = parse_suite(g, &q, indent);
        }
    }
    return s;
}

/* with scratch(shape, dtype) as name, … */
static void parse_with(program *g, parser *p, tp_syntax *s, int indent)
{
    node_vec names = {0}, buffers = {0};
    uint32_t from = p->now.from;
    s->kind = TP_S_WITH;
    do {
        tp_node *buffer = parse_primary(p);
        if (buffer->kind != TP_N_CALL || !tp_str_is(buffer->text, "scratch"))
            fail_at(p, buffer->from, buffer->to, "write: with scratch((8, 128), float32) as buffer:",
                    "`with` makes buffers and semaphores of a part of the body");
        expect(p, "as");
        tp_node *name = parse_primary(p);
        if (name->kind != TP_N_NAME)
            fail_at(p, name->from, name->to, NULL, "a name is expected after `as`");
        tp_push(p->c->arena, names, name);
        tp_push(p->c->arena, buffers, buffer);
    } while (accept(p, ","));
    s->target = sequence_node(p, from, &names);
    s->value = sequence_node(p, from, &buffers);
    s->body = parse_suite(g, p, indent);
}

static tp_block parse_block(program *g, int indent)
{
    tp_block block = {0};
    if (++g->depth > TP_MAX_SYNTAX_DEPTH)
        tp_raise(g->c, TP_RULE_SPEC_SYNTAX, g->lines[g->at]->loc, NULL, "statements are nested too deep");
    while (g->at < g->n) {
        const tp_json *line = g->lines[g->at];
        int here = g->indent[g->at];
        if (here < 0) {
            g->at++;
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
        parser p = parser_new(g->c, line);
        tp_syntax *s = TP_NEW(g->c->arena, tp_syntax);
        s->line = line;
        s->number = ++g->at;
        if (at(&p, "if")) {
            parse_if(g, &p, s, indent);
        } else if (accept(&p, "for")) {
            s->kind = TP_S_FOR;
            s->target = parse_tuple(&p, parse_primary);
            expect(&p, "in");
            s->value = parse_tuple(&p, parse_whole);
            s->body = parse_suite(g, &p, indent);
        } else if (accept(&p, "while")) {
            s->kind = TP_S_WHILE;
            s->value = parse_binary(&p, 0);
            s->body = parse_suite(g, &p, indent);
        } else if (accept(&p, "with")) {
            parse_with(g, &p, s, indent);
        } else if (accept(&p, "def")) {
            s->kind = TP_S_DEF;
            s->value = parse_primary(&p);
            s->body = parse_suite(g, &p, indent);
        } else {
            parse_simple(&p, s);
            expect_end(&p);
        }
        tp_push(g->c->arena, block, s);
    }
    g->depth--;
    return block;
}

/* Of a program that is one string: it may be indented as a whole. */
static int first_indentation(const program *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->indent[i] >= 0)
            return g->indent[i];
    return 0;
}

tp_block tp_parse_program(tp_ctx *c, const tp_json *lines)
{
    if (lines->type != TP_J_ARRAY)
        tp_raise(c, TP_RULE_SPEC_STRUCTURE, lines->loc, "write one string per line",
                 "a program is an array of lines or a string, not %s", tp_json_type_name(lines->type));
    program g = {.c = c, .lines = lines->u.items.at, .n = lines->u.items.n};
    for (uint32_t i = 0; i < g.n; i++)
        if (g.lines[i]->type != TP_J_STRING)
            tp_raise(c, TP_RULE_SPEC_STRUCTURE, g.lines[i]->loc, "write one string per line",
                     "a line of a program is a string, not %s", tp_json_type_name(g.lines[i]->type));
    for (uint32_t i = 0; i < g.n; i++)
        if (memchr(g.lines[i]->u.string.p, '\n', g.lines[i]->u.string.n))
            tp_raise(c, TP_RULE_SPEC_SYNTAX, g.lines[i]->loc, "write one string per line",
                     "a line break inside a line");
    g.indent = tp_indentations(c, g.lines, g.n);
    return parse_block(&g, lines->u.items.indented ? first_indentation(&g) : 0);
}
