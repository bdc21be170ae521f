/* Entries of tables that a condition tells, put in. */
#include "analyzer/equality/sum.h"

/* e with one of its subterms replaced. */
tp_expr index_exchange(summary *s, tp_expr e, tp_expr from, tp_expr to)
{
    tp_exprs *p = s->p;
    if (!e.id || tp_same(e, from))
        return e.id ? to : e;
    const tp_expr_node n = *tp_expr_get(p, e);
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return e;
    tp_expr a = index_exchange(s, n.a, from, to), b = index_exchange(s, n.b, from, to),
            c = index_exchange(s, n.c, from, to);
    return tp_expr_rebuild(p, &n, a, b, c);
}

/* Looks only: for reads of tables that speak of the counter. */
tp_expr entries_find(summary *s, tp_expr e, void *ctx)
{
    entries *x = ctx;
    if (!e.id || !tp_expr_mentions(s->p, e, x->sym))
        return e;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (n.op == TP_E_SYM)
        return e;
    bool known = n.op != TP_E_READ || x->n == MAX_ENTRIES;
    for (uint32_t i = 0; i < x->n; i++)
        known |= tp_same(x->at[i], e);
    if (!known)
        x->at[x->n++] = e;
    entries_find(s, n.a, ctx);
    entries_find(s, n.b, ctx);
    entries_find(s, n.c, ctx);
    return e;
}

/* What the entry is where the condition holds, without the counter. No id: it does not say so. */
tp_expr entry_is(summary *s, tp_expr condition, tp_expr entry, uint32_t sym)
{
    const tp_expr_node n = *tp_expr_get(s->p, condition); /* a == 0 */
    if (n.op != TP_E_EQ)
        return (tp_expr){0};
    tp_expr is = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, entry, n.a)),
            negative = tp_expr_normal(s->p, tp_op2(s->p, TP_E_ADD, entry, n.a));
    return !tp_expr_mentions(s->p, is, sym) ? is : !tp_expr_mentions(s->p, negative, sym) ? negative : (tp_expr){0};
}

typedef struct exchange {
    tp_expr from, to;
    bool occurs;
} exchange;

/* Looks only. */
static tp_expr meets_entry(summary *s, tp_expr e, void *ctx)
{
    exchange *x = ctx;
    x->occurs |= e.id && !tp_same(index_exchange(s, e, x->from, x->to), e);
    return e;
}

static tp_expr put_entry(summary *s, tp_expr e, void *ctx)
{
    const exchange *x = ctx;
    return index_exchange(s, e, x->from, x->to);
}

/* [t[c] == v] x(t[c]) = [t[c] == v] x(v), for a v without c; 0: there is nothing to replace. */
uint32_t product_with_entries(summary *s, const product *p, uint32_t sym)
{
    for (uint32_t g = 0; g < p->nguards; g++) {
        entries found = {.sym = sym};
        entries_find(s, p->guard[g], &found);
        for (uint32_t i = 0; i < found.n; i++) {
            exchange x = {found.at[i], entry_is(s, p->guard[g], found.at[i], sym), false};
            product rest = *p;
            if (!x.to.id)
                continue;
            memmove(&rest.guard[g], &rest.guard[g + 1], (rest.nguards - g - 1) * sizeof *rest.guard);
            memset(&rest.guard[--rest.nguards], 0, sizeof *rest.guard);
            uint32_t x_of_entry = sum_intern(s, &rest, 1);
            sum_map(s, x_of_entry, meets_entry, &x);
            if (x.occurs)
                return sum_guard(s, p->guard[g], sum_map(s, x_of_entry, put_entry, &x));
        }
    }
    return 0;
}
