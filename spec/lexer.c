#include "spec/lexer.h"

#include <ctype.h>

#include "spec/lines.h"

_Noreturn void tp_fail_token(const tp_parser *p, tp_token t, const char *help, const char *message)
{
    tp_raise(p->c, TP_RULE_SPEC_SYNTAX, tp_json_inside(p->c, t.source, t.from, t.to), help, "%s", message);
}

_Noreturn static void fail_at(const tp_parser *p, uint32_t from, uint32_t to, const char *help, const char *message)
{
    tp_fail_token(p, (tp_token){.source = p->source, .from = from, .to = to}, help, message);
}

static bool is_name_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static void lex_number(tp_parser *p)
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
        fail_at(p, p->now.from, i + 1, t[p->now.from] == '0' ? "numbers are decimal: 15 for 0xf" : NULL,
                "a number runs into a name");
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
    if ((b == '=' && is_one_of(a, "=!<>+-*/%&|^@")) || (a == '-' && b == '>'))
        return 2;
    return is_one_of(a, "+-*/%<>=()[],:.&|^~@;");
}

/* The rest of a statement that is open stands in the next line that says something. */
static bool next_line(tp_parser *p)
{
    while (p->lines && p->lines->next < p->lines->n) {
        uint32_t k = p->lines->next++;
        if (p->lines->columns[k] < 0)
            continue;
        p->source = p->lines->at[k];
        p->text = p->source->u.string;
        p->i = 0;
        p->python = true;
        return true;
    }
    return false;
}

/* To the first byte of the next token; false: there is none. */
static bool skip_blanks(tp_parser *p)
{
    for (;;) {
        const char *t = p->text.p;
        uint32_t n = (uint32_t)p->text.n;
        while (p->i < n && (t[p->i] == ' ' || t[p->i] == '\t'))
            p->i++;
        bool goes_on = p->i + 1 == n && t[p->i] == '\\' && p->lines && p->lines->next < p->lines->n;
        if (p->i < n && t[p->i] != '#' && !goes_on)
            return true;
        if ((!p->open && !goes_on) || !next_line(p))
            return false;
    }
}

static void lex_string(tp_parser *p)
{
    const char *t = p->text.p;
    uint32_t n = (uint32_t)p->text.n;
    char quote = t[p->i++];
    p->now.kind = T_STRING;
    while (p->i < n && t[p->i] != quote && (unsigned char)t[p->i] >= ' ')
        p->i++;
    if (p->i < n && t[p->i] != quote)
        fail_at(p, p->i, p->i + 1, NULL, "a control character inside a string");
    if (p->i >= n)
        fail_at(p, p->now.from, n, NULL, "this string never ends");
    p->i++;
}

void tp_next(tp_parser *p)
{
    bool more = skip_blanks(p);
    const char *t = p->text.p;
    uint32_t n = (uint32_t)p->text.n;
    p->now = (tp_token){.kind = T_END, .source = p->source, .from = p->i, .to = p->i + 1};
    if (!more)
        return;
    if (isdigit((unsigned char)t[p->i]) || (t[p->i] == '.' && p->i + 1 < n && isdigit((unsigned char)t[p->i + 1]))) {
        lex_number(p);
    } else if (isalpha((unsigned char)t[p->i]) || t[p->i] == '_') {
        p->now.kind = T_NAME;
        while (p->i < n && is_name_char(t[p->i]))
            p->i++;
        if (p->i < n && p->i == p->now.from + 1 && is_one_of(t[p->i], "\"'") && is_one_of(t[p->now.from], "frb"))
            lex_string(p);
    } else if (t[p->i] == '"' || t[p->i] == '\'') {
        lex_string(p);
    } else {
        p->now.kind = T_OP;
        uint32_t length = operator_length(t + p->i, n - p->i);
        if (is_one_of(t[p->i], "{}"))
            fail_at(p, p->i, p->i + 1, "give each entry a name: {'w': x} is w = x, p['w'] is w",
                    "dicts and sets are not part of the language");
        if (!length)
            fail_at(p, p->i, p->i + 1, NULL, "this character has no meaning here");
        if (is_one_of(t[p->i], "(["))
            p->open++;
        else if (is_one_of(t[p->i], ")]") && p->open)
            p->open--;
        p->i += length;
    }
    p->now.to = p->i;
    p->now.text = (tp_str){t + p->now.from, p->i - p->now.from};
}

/* The first letter decides nearly always. */
bool tp_spells(tp_str text, const char *word)
{
    return text.n && text.p[0] == word[0] && strncmp(word, text.p, text.n) == 0 && !word[text.n];
}

bool tp_at(const tp_parser *p, const char *text)
{
    return (p->now.kind == T_OP || p->now.kind == T_NAME) && tp_spells(p->now.text, text);
}

bool tp_accept(tp_parser *p, const char *text)
{
    if (!tp_at(p, text))
        return false;
    tp_next(p);
    return true;
}

void tp_expect(tp_parser *p, const char *text)
{
    if (tp_accept(p, text))
        return;
    bool colon = strcmp(text, ":") == 0;
    const char *help = tp_at(p, "=") && colon ? "compare with `==`" : NULL;
    if (p->now.kind == T_END)
        fail_at(p, p->now.from ? p->now.from - 1 : 0, p->now.from, colon ? "end the line with `:`" : NULL,
                tp_printf(p->c->arena, "the text ends where `%s` is expected", text).p);
    tp_fail_token(p, p->now, help,
                  tp_printf(p->c->arena, "found `%.*s` where `%s` is expected", TP_FMT(p->now.text), text).p);
}

void tp_expect_end(tp_parser *p)
{
    if (p->now.kind != T_END)
        tp_fail_token(p, p->now, NULL, tp_printf(p->c->arena, "`%.*s` is not expected here", TP_FMT(p->now.text)).p);
}

bool tp_is_keyword(tp_str w)
{
    static const char *const WORDS[] = {"and",    "or",     "not",   "implies",  "if",     "else", "elif",
                                        "for",    "in",     "while", "def",      "return", "with", "as",
                                        "lambda", "import", "break", "continue", "pass",   "is"};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (tp_spells(w, WORDS[i]))
            return true;
    return false;
}

tp_parser tp_parser_new(tp_ctx *c, const tp_json *string, tp_lines *lines)
{
    tp_parser p = {.c = c, .source = string, .text = string->u.string, .lines = lines};
    tp_next(&p);
    return p;
}

void tp_each_token(tp_ctx *c, const tp_json *string, tp_token_visitor visit, void *ctx)
{
    static const char *const KINDS[] = {
        [T_END] = "end", [T_INT] = "int", [T_FLOAT] = "float", [T_NAME] = "name", [T_STRING] = "string", [T_OP] = "op"};
    for (tp_parser p = tp_parser_new(c, string, NULL); p.now.kind != T_END; tp_next(&p))
        visit(ctx, KINDS[p.now.kind], p.now.text);
}
