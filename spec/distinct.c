/* Contracts over all pairs that say that entries differ, or ascend: each entry is looked at once, not each pair. */
#include <stdlib.h>

#include "spec/table.h"

/* What a fact says of f(t) and f(u). */
typedef enum order { NO_ORDER, DIFFER, ASCEND, NEVER_DESCEND } order;

/* Is v what w is with u in place of t? What mentions u already is not. */
static bool is_same_of(const tp_exprs *p, tp_expr w, tp_expr v, uint32_t t, uint32_t u)
{
    if (!w.id || !v.id)
        return w.id == v.id;
    const tp_expr_node *a = tp_expr_get(p, w), *b = tp_expr_get(p, v);
    if (a->op != b->op || a->op == TP_E_TOO_LARGE)
        return false;
    if (a->op == TP_E_SYM)
        return a->value != u && b->value == (a->value == t ? u : a->value);
    return a->value == b->value && is_same_of(p, a->a, b->a, t, u) && is_same_of(p, a->b, b->b, t, u) &&
           is_same_of(p, a->c, b->c, t, u);
}

static bool is_sym(const tp_exprs *p, tp_expr e, uint32_t sym)
{
    const tp_expr_node *n = tp_expr_get(p, e);
    return n->op == TP_E_SYM && n->value == sym;
}

/* "t == u or f(t) != f(u)" and the like, with f(t) in *f. */
static order order_of(const tp_kernel *k, const tp_contract *x, tp_expr *f)
{
    const tp_exprs *p = k->exprs;
    const tp_expr_node *n = tp_expr_get(p, x->fact);
    if (x->nbound != 2 || (n->op != TP_E_OR && n->op != TP_E_IMPLIES))
        return NO_ORDER;
    const tp_expr_node *when = tp_expr_get(p, n->a), *then = tp_expr_get(p, n->b);
    uint32_t t = x->bound[0], u = x->bound[1];
    bool in_order = is_sym(p, when->a, t) && is_sym(p, when->b, u),
         turned = is_sym(p, when->a, u) && is_sym(p, when->b, t),
         other = n->op == TP_E_OR ? when->op == TP_E_EQ : when->op == TP_E_NE;
    *f = then->a;
    if (!then->a.id || !then->b.id || !is_same_of(p, then->a, then->b, t, u))
        return NO_ORDER;
    if (then->op == TP_E_NE && (in_order || turned) && (other || (n->op == TP_E_IMPLIES && when->op == TP_E_LT)))
        return DIFFER;
    if (n->op != TP_E_IMPLIES || when->op != TP_E_LT || !in_order)
        return NO_ORDER;
    return then->op == TP_E_LT ? ASCEND : then->op == TP_E_LE ? NEVER_DESCEND : NO_ORDER;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool in_order(const int64_t *at, int64_t n, bool strictly)
{
    bool all = true;
    for (int64_t i = 1; i < n; i++)
        all &= at[i - 1] < at[i] || (!strictly && at[i - 1] == at[i]);
    return all;
}

bool tp_pairs_hold(tp_arena *a, const tp_kernel *k, const tp_contract *x, int64_t *env, int64_t *n)
{
    tp_expr f;
    int64_t other;
    order says = order_of(k, x, &f);
    if (says == NO_ORDER || tp_expr_mentions(k->exprs, x->extent[1], x->bound[0]) ||
        tp_expr_eval(k->exprs, x->extent[0], env, n) != TP_EVAL_OK || *n < 1 || *n > TP_TABLE_MAX_ENTRIES ||
        tp_expr_eval(k->exprs, x->extent[1], env, &other) != TP_EVAL_OK || other != *n)
        return false;
    int64_t *at = TP_NEWN(a, int64_t, (size_t)*n);
    tp_spend(a, 16 * *n);
    for (int64_t i = 0; i < *n; i++) {
        env[x->bound[0]] = i;
        if (tp_expr_eval(k->exprs, f, env, &at[i]) != TP_EVAL_OK)
            return false;
    }
    if (says == DIFFER && !in_order(at, *n, true))
        qsort(at, (size_t)*n, sizeof *at, by_size);
    return in_order(at, *n, says != NEVER_DESCEND);
}
