/* Expressions as text, with no more parentheses than they need. */
#include "spec/expr.h"

static const struct {
    const char *text;
    int power;
} BINARIES[] = {
#define X(id, text, power) {text, power},
    TP_EXPR_BINARIES(X)
#undef X
};

const char *tp_expr_op_text(tp_expr_op op)
{
    return op == TP_E_POW2 ? "next_power_of_2" : op >= TP_E_ADD ? BINARIES[op - TP_E_ADD].text : "?";
}

static void print_at(tp_buf *b, const tp_exprs *p, tp_expr e, int power)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    int mine = 1000;
    bool lowest = n->op == TP_E_CONST && n->value == INT64_MIN; /* the syntax has no literal for it */
    if (lowest)
        mine = BINARIES[TP_E_SUB - TP_E_ADD].power;
    else if (n->op >= TP_E_ADD && BINARIES[n->op - TP_E_ADD].power)
        mine = BINARIES[n->op - TP_E_ADD].power;
    else if (n->op == TP_E_NEG || (n->op == TP_E_CONST && n->value < 0))
        mine = 130;
    else if (n->op == TP_E_NOT)
        mine = 50;
    else if (n->op == TP_E_ITE)
        mine = 20;
    if (mine < power)
        tp_buf_c(b, "(");
    if (lowest) {
        tp_buf_printf(b, "%lld - 1", (long long)-INT64_MAX);
    } else if (n->op == TP_E_CONST) {
        tp_buf_printf(b, "%lld", (long long)n->value);
    } else if (n->op == TP_E_SYM) {
        tp_buf_str(b, tp_sym_name(p, (uint32_t)n->value));
    } else if (n->op == TP_E_TOO_LARGE) {
        tp_buf_c(b, "<too large>");
    } else if (n->op == TP_E_READ) {
        const tp_expr index[] = {n->a, n->b, n->c};
        tp_buf_str(b, tp_sym_name(p, (uint32_t)n->value));
        for (int i = 0; i < TP_TABLE_RANK && index[i].id; i++) {
            tp_buf_c(b, i ? ", " : "[");
            print_at(b, p, index[i], 0);
        }
        tp_buf_c(b, n->a.id ? "]" : "");
    } else if (n->op == TP_E_NEG || n->op == TP_E_NOT) {
        tp_buf_c(b, n->op == TP_E_NEG ? "-" : "not ");
        print_at(b, p, n->a, mine);
    } else if (n->op == TP_E_ITE) {
        print_at(b, p, n->b, 21);
        tp_buf_c(b, " if ");
        print_at(b, p, n->a, 21);
        tp_buf_c(b, " else ");
        print_at(b, p, n->c, 20);
    } else if (mine == 1000) {
        tp_buf_printf(b, "%s(", tp_expr_op_text(n->op));
        print_at(b, p, n->a, 0);
        if (n->b.id) {
            tp_buf_c(b, ", ");
            print_at(b, p, n->b, 0);
        }
        tp_buf_c(b, ")");
    } else {
        bool comparison = n->op >= TP_E_EQ && n->op <= TP_E_GE, right = n->op == TP_E_IMPLIES;
        print_at(b, p, n->a, right || comparison ? mine + 1 : mine);
        tp_buf_printf(b, " %s ", BINARIES[n->op - TP_E_ADD].text);
        print_at(b, p, n->b, right ? mine : mine + 1);
    }
    if (mine < power)
        tp_buf_c(b, ")");
}

void tp_expr_print(tp_buf *b, const tp_exprs *p, tp_expr e)
{
    print_at(b, p, e, 0);
}

tp_str tp_expr_text(const tp_exprs *p, tp_expr e)
{
    tp_buf b = {.arena = tp_exprs_arena(p)};
    if (e.id)
        tp_expr_print(&b, p, e);
    return tp_buf_view(&b);
}
