/* What is in a term, and a term in words. */
#include "analyzer/equality/internal.h"

static bool find(summary *s, term t, term_kind kind, uint32_t operand, bool *seen)
{
    if (!t.id || seen[t.id - 1])
        return false;
    seen[t.id - 1] = true;
    const term_node n = *term_get(s, t);
    if (n.kind == kind && (operand == UINT32_MAX || n.operand == operand))
        return true;
    return find(s, n.arg[0], kind, operand, seen) || find(s, n.arg[1], kind, operand, seen) ||
           find(s, n.arg[2], kind, operand, seen);
}

bool term_mentions(summary *s, term t, term_kind kind, uint32_t operand)
{
    return find(s, t, kind, operand, TP_NEWN(s->arena, bool, t.id + 1));
}

static bool applies(summary *s, term t, tp_prim prim, bool *seen)
{
    if (!t.id || seen[t.id - 1])
        return false;
    seen[t.id - 1] = true;
    const term_node n = *term_get(s, t);
    return (n.kind == T_APPLY && n.prim == prim) || applies(s, n.arg[0], prim, seen) ||
           applies(s, n.arg[1], prim, seen) || applies(s, n.arg[2], prim, seen);
}

bool term_applies(summary *s, term t, tp_prim prim)
{
    return applies(s, t, prim, TP_NEWN(s->arena, bool, t.id + 1));
}

static bool speaks(summary *s, term t, uint32_t sym, bool *seen)
{
    if (!t.id || seen[t.id - 1])
        return false;
    seen[t.id - 1] = true;
    const term_node n = *term_get(s, t);
    bool yes = n.e.id && tp_expr_mentions(s->p, n.e, sym);
    for (uint32_t d = 0; d < n.rank && !yes; d++)
        yes = tp_expr_mentions(s->p, n.at[d], sym);
    for (int i = 0; i < 3 && !yes; i++)
        yes = speaks(s, n.arg[i], sym, seen);
    return yes;
}

bool term_speaks_of(summary *s, term t, uint32_t sym)
{
    return speaks(s, t, sym, TP_NEWN(s->arena, bool, t.id + 1));
}

/* ---- words ---- */

void term_print(summary *s, tp_buf *b, term t)
{
    const term_node n = *term_get(s, t);
    const char *separator = "";
    switch (n.kind) {
    case T_INTEGER: tp_expr_print(b, s->p, n.e); return;
    case T_REAL: tp_buf_printf(b, "%.17g", n.real); return;
    case T_NOTHING: tp_buf_c(b, "nothing"); return;
    case T_HELD: tp_buf_c(b, "before"); return;
    case T_TURN: tp_buf_printf(b, "variable %u", n.operand); return;
    case T_READ:
    case T_BEFORE:
    case T_AFTER:
        tp_buf_printf(b, "%.*s%s[", TP_FMT(s->k->operands[n.operand].name),
                      n.kind == T_BEFORE  ? " before"
                      : n.kind == T_AFTER ? " after"
                                          : "");
        for (uint32_t d = 0; d < n.rank; d++) {
            tp_buf_c(b, d ? ", " : "");
            tp_expr_print(b, s->p, n.at[d]);
        }
        tp_buf_c(b, "]");
        return;
    case T_SELECT:
        tp_buf_c(b, "(if ");
        tp_expr_print(b, s->p, n.e);
        tp_buf_c(b, " then ");
        term_print(s, b, n.arg[0]);
        tp_buf_c(b, " else ");
        term_print(s, b, n.arg[1]);
        tp_buf_c(b, ")");
        return;
    case T_FOLD:
        tp_buf_printf(b, "%s %.*s < ", tp_prim_info(n.prim)->name, TP_FMT(tp_sym_name(s->p, n.sym)));
        tp_expr_print(b, s->p, n.e);
        tp_buf_c(b, ": (");
        term_print(s, b, n.arg[0]);
        if (n.arg[1].id) {
            tp_buf_c(b, n.prim == TP_P_SCAN ? " from " : " at ");
            term_print(s, b, n.arg[1]);
        }
        tp_buf_c(b, ")");
        return;
    case T_APPLY: break;
    }
    tp_buf_printf(b, "%s(", tp_prim_info(n.prim)->name);
    for (int i = 0; i < 3 && n.arg[i].id; i++, separator = ", ") {
        tp_buf_c(b, separator);
        term_print(s, b, n.arg[i]);
    }
    tp_buf_c(b, ")");
}
