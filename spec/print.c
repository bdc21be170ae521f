/* Operators as rows, and the canonical text of nodes and statements. */
#include "spec/syntax.h"

const tp_operator_row TP_OPERATOR_ROWS[TP_OPERATOR_COUNT] = {
#define X(id, text, left, right) {text, left, right},
    TP_OPERATORS(X)
#undef X
        {"-", TP_POWER_UNARY, TP_POWER_UNARY},
    {"~", TP_POWER_UNARY, TP_POWER_UNARY},
    {"not", TP_POWER_NOT, TP_POWER_NOT},
};

const char *tp_operator_text(tp_operator o)
{
    return TP_OPERATOR_ROWS[o].text;
}

bool tp_operator_compares(tp_operator o)
{
    return o >= TP_O_EQ && o <= TP_O_GE;
}

static void print_list(tp_buf *b, tp_node *const *kids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            tp_buf_c(b, ", ");
        tp_print_node(b, kids[i]);
    }
}

/* Without the parentheses of a tuple. */
static void print_tuple(tp_buf *b, const tp_node *n)
{
    if (n->kind == TP_N_SEQUENCE && n->nkids > 1)
        print_list(b, n->kids, n->nkids);
    else
        tp_print_node(b, n);
}

enum { POWER_NUMBER = TP_POWER_POSTFIX - 1 /* (2).astype: "2." would be a number */, POWER_ATOM = 1000 };

int tp_node_power(const tp_node *n)
{
    switch (n->kind) {
    case TP_N_BINARY:
    case TP_N_UNARY: return TP_OPERATOR_ROWS[n->op].left;
    case TP_N_TERNARY: return TP_POWER_TERNARY;
    case TP_N_LAMBDA: return 0;
    case TP_N_INT: return n->integer < 0 ? TP_POWER_UNARY : POWER_NUMBER;
    case TP_N_FLOAT: return POWER_NUMBER;
    case TP_N_STRING:
    case TP_N_NAME:
    case TP_N_CALL:
    case TP_N_METHOD:
    case TP_N_ATTRIBUTE:
    case TP_N_INDEX:
    case TP_N_SEQUENCE:
    case TP_N_KEYWORD:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_SLICE:
    case TP_N_APPLY:
    case TP_N_COMPREHENSION:
    case TP_N_ABSENT: break;
    }
    return POWER_ATOM;
}

int tp_operand_power(tp_operator o, uint32_t i)
{
    const tp_operator_row *row = &TP_OPERATOR_ROWS[o];
    if (i)
        return row->right;
    /* comparisons do not nest without parentheses: they would chain */
    return row->left + (row->right < row->left || tp_operator_compares(o));
}

int tp_kid_power(const tp_node *n, uint32_t i)
{
    switch (n->kind) {
    case TP_N_UNARY: return TP_OPERATOR_ROWS[n->op].left;
    case TP_N_BINARY: return tp_operand_power(n->op, i);
    case TP_N_TERNARY: return TP_POWER_TERNARY + (i < 2);
    case TP_N_COMPREHENSION: return TP_POWER_TERNARY + (i > 1);
    case TP_N_METHOD:
    case TP_N_ATTRIBUTE:
    case TP_N_INDEX:
    case TP_N_APPLY: return i ? 0 : TP_POWER_POSTFIX;
    case TP_N_INT:
    case TP_N_FLOAT:
    case TP_N_STRING:
    case TP_N_NAME:
    case TP_N_CALL:
    case TP_N_SEQUENCE:
    case TP_N_KEYWORD:
    case TP_N_ELLIPSIS:
    case TP_N_COLON:
    case TP_N_SLICE:
    case TP_N_ABSENT:
    case TP_N_LAMBDA: break;
    }
    return 0;
}

static void print_at(tp_buf *b, const tp_node *n, int power)
{
    bool parens = tp_node_power(n) < power;
    if (parens)
        tp_buf_c(b, "(");
    tp_print_node(b, n);
    if (parens)
        tp_buf_c(b, ")");
}

static void print_kid(tp_buf *b, const tp_node *n, uint32_t i)
{
    print_at(b, n->kids[i], tp_kid_power(n, i));
}

void tp_print_node(tp_buf *b, const tp_node *n)
{
    switch (n->kind) {
    case TP_N_INT:
    case TP_N_FLOAT:
    case TP_N_NAME: tp_buf_str(b, n->text); break;
    case TP_N_STRING: tp_buf_printf(b, "'%.*s'", TP_FMT(n->text)); break;
    case TP_N_UNARY:
        tp_buf_printf(b, "%s%s", TP_OPERATOR_ROWS[n->op].text, n->op == TP_O_NOT ? " " : "");
        print_kid(b, n, 0);
        break;
    case TP_N_BINARY:
        print_kid(b, n, 0);
        tp_buf_printf(b, n->op == TP_O_POW ? "%s" : " %s ", TP_OPERATOR_ROWS[n->op].text);
        print_kid(b, n, 1);
        break;
    case TP_N_TERNARY:
        print_kid(b, n, 1);
        tp_buf_c(b, " if ");
        print_kid(b, n, 0);
        tp_buf_c(b, " else ");
        print_kid(b, n, 2);
        break;
    case TP_N_CALL:
        tp_buf_printf(b, "%.*s(", TP_FMT(n->text));
        print_list(b, n->kids, n->nkids);
        tp_buf_c(b, ")");
        break;
    case TP_N_METHOD:
        print_kid(b, n, 0);
        tp_buf_printf(b, ".%.*s(", TP_FMT(n->text));
        print_list(b, n->kids + 1, n->nkids - 1);
        tp_buf_c(b, ")");
        break;
    case TP_N_ATTRIBUTE:
        print_kid(b, n, 0);
        tp_buf_printf(b, ".%.*s", TP_FMT(n->text));
        break;
    case TP_N_INDEX:
        print_kid(b, n, 0);
        tp_buf_c(b, "[");
        print_list(b, n->kids + 1, n->nkids - 1);
        tp_buf_c(b, "]");
        break;
    case TP_N_SEQUENCE:
        tp_buf_c(b, "(");
        print_list(b, n->kids, n->nkids);
        tp_buf_c(b, n->nkids == 1 ? ",)" : ")");
        break;
    case TP_N_KEYWORD:
        tp_buf_printf(b, "%.*s=", TP_FMT(n->text));
        tp_print_node(b, n->kids[0]);
        break;
    case TP_N_ELLIPSIS: tp_buf_c(b, "..."); break;
    case TP_N_COLON: tp_buf_c(b, ":"); break;
    case TP_N_SLICE:
        for (uint32_t i = 0; i < 3; i++) {
            tp_buf_c(b, i == 1 || (i == 2 && n->kids[2]->kind != TP_N_ABSENT) ? ":" : "");
            tp_print_node(b, n->kids[i]);
        }
        break;
    case TP_N_ABSENT: break;
    case TP_N_LAMBDA:
        tp_buf_c(b, n->nkids > 1 ? "lambda " : "lambda");
        print_list(b, n->kids, n->nkids - 1);
        tp_buf_c(b, ": ");
        tp_print_node(b, n->kids[n->nkids - 1]);
        break;
    case TP_N_APPLY:
        print_kid(b, n, 0);
        tp_buf_c(b, "(");
        print_list(b, n->kids + 1, n->nkids - 1);
        tp_buf_c(b, ")");
        break;
    case TP_N_COMPREHENSION: {
        const tp_node *element = n->kids[0];
        for (const tp_node *x = n; x->prefixed; x = x->kids[0])
            element = x->kids[0]->kids[0];
        tp_buf_c(b, n->computed ? "(" : "[");
        print_at(b, element, TP_POWER_TERNARY);
        for (const tp_node *x = n;; x = x->kids[0]) {
            tp_buf_c(b, " for ");
            print_tuple(b, x->kids[1]);
            tp_buf_c(b, " in ");
            print_kid(b, x, 2);
            for (uint32_t i = 3; i < x->nkids; i++) {
                tp_buf_c(b, " if ");
                print_kid(b, x, i);
            }
            if (!x->prefixed)
                break;
        }
        tp_buf_c(b, n->computed ? ")" : "]");
        break;
    }
    }
}

void tp_print_stmt_head(tp_buf *b, const tp_syntax *s)
{
    switch (s->kind) {
    case TP_S_PIPELINE:
    case TP_S_EXPR:
        tp_buf_c(b, s->asserted ? "assert " : "");
        tp_print_node(b, s->asserted ? s->value->kids[0] : s->value);
        if (s->asserted && !tp_str_is(s->value->kids[1]->text, TP_ASSERTION)) {
            tp_buf_c(b, ", ");
            tp_print_node(b, s->value->kids[1]);
        }
        return;
    case TP_S_IF:
        tp_buf_c(b, "if ");
        tp_print_node(b, s->value);
        tp_buf_c(b, ":");
        return;
    case TP_S_FOR:
        tp_buf_c(b, "for ");
        print_tuple(b, s->target);
        tp_buf_c(b, " in ");
        tp_print_node(b, s->value);
        tp_buf_c(b, ":");
        return;
    case TP_S_WHILE:
        tp_buf_c(b, "while ");
        tp_print_node(b, s->value);
        tp_buf_c(b, ":");
        return;
    case TP_S_DEF:
        tp_buf_c(b, "def ");
        tp_print_node(b, s->value);
        tp_buf_c(b, ":");
        return;
    case TP_S_RETURN:
        tp_buf_c(b, s->value ? "return " : "return");
        if (s->value)
            print_tuple(b, s->value);
        return;
    case TP_S_PASS: tp_buf_c(b, "pass"); return;
    case TP_S_BREAK: tp_buf_c(b, "break"); return;
    case TP_S_CONTINUE: tp_buf_c(b, "continue"); return;
    case TP_S_WITH:
        for (uint32_t i = 0; i < s->target->nkids; i++) {
            tp_buf_c(b, i ? ", " : "with ");
            tp_print_node(b, s->value->kids[i]);
            tp_buf_printf(b, " as %.*s", TP_FMT(s->target->kids[i]->text));
        }
        tp_buf_c(b, ":");
        return;
    case TP_S_UNPACK:
        print_tuple(b, s->target);
        tp_buf_c(b, " = ");
        print_tuple(b, s->value);
        return;
    case TP_S_ASSIGN:
    case TP_S_STORE: break;
    }
    tp_print_node(b, s->target);
    if (s->note) {
        tp_buf_c(b, ": ");
        tp_print_node(b, s->note);
    }
    tp_buf_printf(b, " %s= ", s->augmented ? TP_OPERATOR_ROWS[s->op].text : "");
    tp_print_node(b, s->value);
}
