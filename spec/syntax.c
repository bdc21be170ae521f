#include "spec/syntax.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "spec/lexer.h"

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

/* ---- expressions ---- */

tp_node *tp_node_from(tp_parser *p, tp_node_kind kind, tp_token from)
{
    if (++p->nodes > TP_MAX_SYNTAX_NODES)
        tp_fail_token(p, from, "split it over several statements", "this expression is too long");
    tp_node *n = TP_NEW(p->c->arena, tp_node);
    n->kind = kind;
    n->source = from.source;
    n->from = from.from;
    n->to = p->now.source == from.source && p->now.from > from.from ? p->now.from : from.to;
    return n;
}

void tp_node_kids(tp_parser *p, tp_node *n, uint32_t count, tp_node *const *kids)
{
    n->nkids = count;
    n->kids = TP_NEWN(p->c->arena, tp_node *, count);
    if (count)
        memcpy(n->kids, kids, count * sizeof *kids);
}

/* Trim trailing blanks off the extent of a finished node; of one that goes on in another line, its first line's. */
static tp_node *finish(tp_parser *p, tp_node *n)
{
    tp_str text = n->source->u.string;
    uint32_t to = p->now.source == n->source && p->now.from < text.n ? p->now.from : (uint32_t)text.n;
    while (to > n->from + 1 && (text.p[to - 1] == ' ' || text.p[to - 1] == '\t'))
        to--;
    n->to = to;
    return n;
}

/* [element for target in iterable if c]: behind the element. */
static tp_node *parse_comprehension(tp_parser *p, tp_node *element, tp_token from, bool list)
{
    tp_node_vec kids = {0};
    p->python = true;
    tp_push(p->c->arena, kids, element);
    tp_expect(p, "for");
    tp_node *target = tp_parse_targets(p);
    tp_push(p->c->arena, kids, target);
    tp_expect(p, "in");
    tp_node *over = tp_parse_power(p, TP_POWER_TERNARY + 1);
    tp_push(p->c->arena, kids, over);
    while (tp_accept(p, "if")) {
        tp_node *c = tp_parse_power(p, TP_POWER_TERNARY + 1);
        tp_push(p->c->arena, kids, c);
    }
    bool joins = tp_at(p, "for");
    if (joins) /* the element is what the rest makes of it */
        kids.at[0] = parse_comprehension(p, element, from, true);
    tp_node *n = tp_node_from(p, TP_N_COMPREHENSION, from);
    n->computed = !list;
    n->prefixed = joins;
    tp_node_kids(p, n, kids.len, kids.at);
    return finish(p, n);
}

/* name=value; NULL, and nothing is read: it is none. */
static tp_node *parse_keyword(tp_parser *p)
{
    tp_parser here = *p;
    uint32_t line = p->lines ? p->lines->next : 0;
    tp_token name = p->now;
    if (name.kind != T_NAME)
        return NULL;
    tp_next(p);
    if (!tp_accept(p, "=")) {
        *p = here;
        if (p->lines)
            p->lines->next = line;
        return NULL;
    }
    tp_node *value = tp_parse_power(p, 0), *n = tp_node_from(p, TP_N_KEYWORD, name);
    n->text = name.text;
    tp_node_kids(p, n, 1, &value);
    return finish(p, n);
}

static void parse_arguments(tp_parser *p, const char *close, tp_node_vec *args)
{
    while (!tp_at(p, close)) {
        tp_token from = p->now;
        tp_node *arg = parse_keyword(p);
        if (!arg) {
            arg = tp_parse_power(p, 0);
            arg = tp_at(p, "for") ? parse_comprehension(p, arg, from, false) : arg;
        }
        tp_push(p->c->arena, *args, arg);
        if (!tp_accept(p, ","))
            break;
    }
    tp_expect(p, close);
}

static tp_node *parse_annotation(tp_parser *p)
{
    p->python = true;
    return tp_parse_power(p, 0);
}

void tp_parse_parameters(tp_parser *p, const char *close, tp_node_vec *into)
{
    bool lambda = close[0] == ':';
    while (!tp_at(p, close)) {
        tp_token name = p->now;
        if (tp_accept(p, "*") || tp_accept(p, "/")) { /* how what follows, or precedes, may be passed */
            p->python = true;
            if (!tp_at(p, ","))
                tp_fail_token(p, p->now, "name each of them", "a function takes a fixed number of arguments");
            tp_next(p);
            continue;
        }
        if (name.kind != T_NAME || tp_is_keyword(name.text))
            tp_fail_token(p, name, tp_str_is(name.text, "**") ? "name each of them" : NULL,
                          tp_str_is(name.text, "**") ? "a function takes a fixed number of arguments"
                                                     : "a parameter is a name");
        tp_next(p);
        if (!lambda && tp_accept(p, ":"))
            parse_annotation(p);
        tp_node *value = tp_accept(p, "=") ? tp_parse_power(p, 0) : NULL;
        tp_node *n = tp_node_from(p, value ? TP_N_KEYWORD : TP_N_NAME, name);
        n->text = name.text;
        if (value)
            tp_node_kids(p, n, 1, &value);
        tp_push(p->c->arena, *into, finish(p, n));
        if (!tp_accept(p, ","))
            break;
    }
    tp_expect(p, close);
}

/* A part of a slice after its first. */
static tp_node *parse_part(tp_parser *p)
{
    bool absent = tp_at(p, ":") || tp_at(p, ",") || tp_at(p, "]");
    return absent ? tp_node_from(p, TP_N_ABSENT, p->now) : tp_parse_power(p, 0);
}

static tp_node *parse_subscript(tp_parser *p)
{
    tp_token from = p->now;
    if (tp_at(p, "...")) {
        tp_node *n = tp_node_from(p, TP_N_ELLIPSIS, from);
        tp_next(p);
        return finish(p, n);
    }
    tp_node *kids[3] = {tp_at(p, ":") ? tp_node_from(p, TP_N_ABSENT, from) : tp_parse_power(p, 0)};
    if (!tp_accept(p, ":"))
        return kids[0];
    kids[1] = parse_part(p);
    kids[2] = tp_accept(p, ":") ? parse_part(p) : tp_node_from(p, TP_N_ABSENT, p->now);
    bool all = kids[0]->kind == TP_N_ABSENT && kids[1]->kind == TP_N_ABSENT && kids[2]->kind == TP_N_ABSENT;
    tp_node *n = tp_node_from(p, all ? TP_N_COLON : TP_N_SLICE, from);
    if (!all)
        tp_node_kids(p, n, 3, kids);
    return finish(p, n);
}

static tp_node *parse_postfix(tp_parser *p, tp_node *base, tp_token from)
{
    while (tp_at(p, "[") || tp_at(p, ".") || tp_at(p, "(")) {
        tp_node_vec kids = {0};
        tp_push(p->c->arena, kids, base);
        if (tp_accept(p, "[")) {
            while (!tp_at(p, "]")) {
                tp_node *sub = parse_subscript(p);
                tp_push(p->c->arena, kids, sub);
                if (!tp_accept(p, ","))
                    break;
            }
            tp_expect(p, "]");
            base = tp_node_from(p, TP_N_INDEX, from);
        } else if (tp_accept(p, "(")) {
            p->python = true;
            parse_arguments(p, ")", &kids);
            base = tp_node_from(p, TP_N_APPLY, from);
        } else {
            tp_next(p);
            if (p->now.kind != T_NAME)
                tp_fail_token(p, p->now, NULL, "a method name is expected after `.`");
            tp_str method = p->now.text;
            tp_next(p);
            bool call = tp_accept(p, "(");
            if (call)
                parse_arguments(p, ")", &kids);
            base = tp_node_from(p, call ? TP_N_METHOD : TP_N_ATTRIBUTE, from);
            base->text = method;
        }
        base->kids = kids.at;
        base->nkids = kids.len;
        finish(p, base);
    }
    return base;
}

static tp_node *parse_sequence(tp_parser *p, const char *close, tp_token from)
{
    tp_node_vec items = {0};
    bool comma = false;
    while (!tp_at(p, close)) {
        tp_node *item = tp_parse_power(p, 0);
        if (!items.len && tp_at(p, "for")) {
            tp_node *all = parse_comprehension(p, item, from, close[0] == ']');
            tp_expect(p, close);
            return all;
        }
        tp_push(p->c->arena, items, item);
        comma = tp_accept(p, ",");
        if (!comma)
            break;
    }
    tp_expect(p, close);
    if (close[0] == ')' && items.len == 1 && !comma)
        return items.at[0];       /* parentheses only group */
    p->python |= close[0] == ']'; /* printed as a tuple, to which Python appends nothing */
    tp_node *n = tp_node_from(p, TP_N_SEQUENCE, from);
    n->kids = items.at;
    n->nkids = items.len;
    n->computed = close[0] == ']';
    return finish(p, n);
}

static tp_node *number_node(tp_parser *p)
{
    tp_token t = p->now;
    char digits[64];
    size_t k = 0;
    for (size_t i = 0; i < t.text.n; i++)
        if (t.text.p[i] != '_') {
            if (k == sizeof digits - 1)
                tp_fail_token(p, t, NULL, "this number has too many digits");
            digits[k++] = t.text.p[i];
        }
    digits[k] = '\0';
    tp_next(p);
    tp_node *n = tp_node_from(p, t.kind == T_INT ? TP_N_INT : TP_N_FLOAT, t);
    n->text = t.text;
    errno = 0;
    if (t.kind == T_INT)
        n->integer = strtoll(digits, NULL, 10);
    else
        n->real = tp_real(digits);
    if (t.kind == T_INT ? errno == ERANGE : isinf(n->real))
        tp_fail_token(p, t, NULL, "this number does not fit 64 bits");
    n->to = t.to;
    return n;
}

/* lambda a, b: body; behind the word */
static tp_node *parse_lambda(tp_parser *p, tp_token from)
{
    tp_node_vec kids = {0};
    p->python = true;
    tp_parse_parameters(p, ":", &kids);
    tp_node *body = tp_parse_power(p, 0);
    tp_push(p->c->arena, kids, body);
    tp_node *n = tp_node_from(p, TP_N_LAMBDA, from);
    tp_node_kids(p, n, kids.len, kids.at);
    return finish(p, n);
}

tp_node *tp_parse_operand(tp_parser *p)
{
    tp_token t = p->now;
    tp_node *n;
    if (t.kind == T_INT || t.kind == T_FLOAT) {
        n = number_node(p);
    } else if (t.kind == T_STRING) {
        tp_next(p);
        n = tp_node_from(p, TP_N_STRING, t);
        bool prefix = t.text.p[0] != '"' && t.text.p[0] != '\'';
        n->text = (tp_str){t.text.p + 1 + prefix, t.text.n - 2 - prefix};
        n->computed = prefix;
    } else if (t.kind == T_NAME && !tp_is_keyword(t.text)) {
        tp_next(p);
        bool call = tp_at(p, "(");
        tp_node_vec args = {0};
        if (call) {
            tp_next(p);
            parse_arguments(p, ")", &args);
        }
        n = tp_node_from(p, call ? TP_N_CALL : TP_N_NAME, t);
        n->text = t.text;
        n->kids = args.at;
        n->nkids = args.len;
        finish(p, n);
    } else if (tp_accept(p, "lambda")) {
        return parse_lambda(p, t);
    } else if (tp_accept(p, "(")) {
        n = parse_sequence(p, ")", t);
    } else if (tp_accept(p, "[")) {
        n = parse_sequence(p, "]", t);
    } else if (t.kind == T_END) {
        t.to = t.from;
        t.from -= t.from > 0;
        tp_fail_token(p, t, NULL, "the text ends where a value is expected");
    } else {
        tp_fail_token(p, t,
                      tp_str_is(t.text, "@") ? "write `if i == 0:` for pl.when; jax.jit is the one decorator"
                      : tp_str_is(t.text, "*") || tp_str_is(t.text, "**") ? "write the arguments out: f(a[0], a[1])"
                                                                          : NULL,
                      tp_printf(p->c->arena, "found `%.*s` where a value is expected", TP_FMT(t.text)).p);
    }
    return parse_postfix(p, n, t);
}

static tp_node *parse_unary(tp_parser *p)
{
    tp_token t = p->now;
    tp_operator op = tp_at(p, "-")     ? TP_O_NEG
                     : tp_at(p, "~")   ? TP_O_INVERT
                     : tp_at(p, "not") ? TP_O_NOT
                                       : TP_OPERATOR_COUNT;
    if (op == TP_OPERATOR_COUNT) {
        tp_accept(p, "+");
        return tp_parse_operand(p);
    }
    tp_next(p);
    tp_node *kid = tp_parse_power(p, TP_OPERATOR_ROWS[op].left);
    tp_node *n = tp_node_from(p, TP_N_UNARY, t);
    n->op = op;
    tp_node_kids(p, n, 1, &kid);
    return finish(p, n);
}

static tp_operator binary_here(const tp_parser *p)
{
    /* most operands end at one of these */
    bool ends = p->now.kind == T_OP && p->now.text.n == 1 && strchr("),]=:", p->now.text.p[0]);
    if (!ends && (p->now.kind == T_OP || p->now.kind == T_NAME))
        for (int o = 0; o <= TP_O_POW; o++)
            if (tp_spells(p->now.text, TP_OPERATOR_ROWS[o].text))
                return (tp_operator)o;
    return TP_OPERATOR_COUNT;
}

static tp_node *binary_node(tp_parser *p, tp_token from, tp_operator op, tp_node *a, tp_node *b)
{
    tp_node *n = tp_node_from(p, TP_N_BINARY, from);
    n->op = op;
    tp_node_kids(p, n, 2, (tp_node *[]){a, b});
    return finish(p, n);
}

tp_node *tp_parse_power(tp_parser *p, int power)
{
    if (++p->depth > TP_MAX_SYNTAX_DEPTH)
        tp_fail_token(p, p->now, "name the inner parts", "this expression is nested too deep");
    tp_token from = p->now, last_from = from; /* a parenthesis before an operand is the operation's */
    tp_node *left = parse_unary(p), *last_operand = NULL;
    for (;;) {
        tp_operator op = binary_here(p);
        if (op != TP_OPERATOR_COUNT && TP_OPERATOR_ROWS[op].left >= power) {
            tp_next(p);
            if (op == TP_O_IS && tp_accept(p, "not"))
                op = TP_O_ISNOT;
            tp_token right_from = p->now;
            tp_node *right = tp_parse_power(p, TP_OPERATOR_ROWS[op].right);
            /* a < b < c is a < b and b < c */
            if (tp_operator_compares(op) && last_operand)
                left = binary_node(p, from, TP_O_AND, left, binary_node(p, last_from, op, last_operand, right));
            else
                left = binary_node(p, from, op, left, right);
            last_from = right_from;
            last_operand = tp_operator_compares(op) ? right : NULL;
        } else if (tp_at(p, "if") && TP_POWER_TERNARY >= power) {
            tp_next(p);
            tp_node *cond = tp_parse_power(p, TP_POWER_TERNARY + 1);
            tp_expect(p, "else");
            tp_node *other = tp_parse_power(p, TP_POWER_TERNARY);
            tp_node *n = tp_node_from(p, TP_N_TERNARY, from);
            tp_node_kids(p, n, 3, (tp_node *[]){cond, left, other});
            left = finish(p, n);
        } else {
            break;
        }
    }
    p->depth--;
    return left;
}

tp_node *tp_parse_whole(tp_parser *p)
{
    return tp_parse_power(p, 0);
}

tp_node *tp_parse_tuple(tp_parser *p, tp_node *(*item)(tp_parser *p))
{
    tp_token from = p->now;
    tp_node *first = item(p);
    tp_node_vec items = {0};
    if (!tp_at(p, ","))
        return first;
    tp_push(p->c->arena, items, first);
    while (tp_accept(p, ",")) {
        if (p->now.kind == T_END || tp_at(p, "=")) /* a, = f(x) */
            break;
        tp_node *more = item(p);
        tp_push(p->c->arena, items, more);
    }
    tp_node *n = tp_node_from(p, TP_N_SEQUENCE, from);
    tp_node_kids(p, n, items.len, items.at);
    return finish(p, n);
}

tp_node *tp_parse_targets(tp_parser *p)
{
    return tp_parse_tuple(p, tp_parse_operand);
}

tp_node *tp_parse_expr(tp_ctx *c, const tp_json *string)
{
    tp_parser p = tp_parser_new(c, string, NULL);
    tp_node *n = tp_parse_power(&p, 0);
    tp_expect_end(&p);
    return n;
}

tp_forall tp_parse_forall(tp_ctx *c, const tp_json *string)
{
    tp_parser p = tp_parser_new(c, string, NULL);
    tp_forall f = {.n = 0};
    if (tp_accept(&p, "forall")) {
        do {
            if (f.n == TP_MAX_BOUND || p.now.kind != T_NAME)
                tp_fail_token(&p, p.now, "write forall i < n, j < m: fact", "a bound name is expected");
            f.names[f.n] = tp_parse_operand(&p);
            tp_expect(&p, "<");
            f.extents[f.n++] = tp_parse_power(&p, TP_OPERATOR_ROWS[TP_O_LT].right);
        } while (tp_accept(&p, ","));
        tp_expect(&p, ":");
    }
    f.fact = tp_parse_power(&p, 0);
    tp_expect_end(&p);
    return f;
}
