/* Terms of a step of the grid: at which step they are looked at, and what the step finds. */
#include "analyzer/equality/grid.h"

tp_expr axis_of(const grid *g, uint32_t a)
{
    return tp_sym(g->v->s->p, g->v->s->k->axes[a].sym);
}

replacement no_symbols(const grid *g)
{
    uint32_t n = tp_sym_count(g->v->s->p);
    return (replacement){TP_NEWN(g->v->s->arena, tp_expr, n), n};
}

void replace_symbol(const grid *g, const replacement *r, tp_expr symbol, tp_expr by)
{
    const tp_expr_node *n = tp_expr_get(g->v->s->p, symbol);
    if (n->op == TP_E_SYM) /* else the one lane there is */
        r->with[n->value] = by;
}

term grid_substitute(grid *g, term t, const replacement *r)
{
    return term_subst(g->v->s, t, r->with, r->n);
}

term form_at(grid *g, const form *f, const term_node *n, term t)
{
    replacement with = no_symbols(g);
    for (uint32_t d = 0; d < n->rank; d++)
        replace_symbol(g, &with, f->lane[d], n->at[d]);
    return grid_substitute(g, t, &with);
}

term in_first_step(grid *g, term t, uint32_t first)
{
    static const premises nothing = {.n = 0};
    replacement zero = no_symbols(g);
    for (uint32_t a = first; a < g->v->s->k->naxes; a++)
        replace_symbol(g, &zero, axis_of(g, a), tp_const(g->v->s->p, 0));
    return term_decide(g->v->s, grid_substitute(g, t, &zero), &nothing);
}

bool is_before(grid *g, term t, uint32_t operand)
{
    const term_node *n = term_get(g->v->s, t);
    bool same = n->kind == T_BEFORE && n->operand == operand;
    for (uint32_t d = 0; d < n->rank && same; d++)
        same = tp_same(n->at[d], g->forms[operand].lane[d]);
    return same;
}

bool has_before(grid *g, term t, uint32_t operand)
{
    return term_mentions(g->v->s, t, T_BEFORE, operand);
}

term of_two(grid *g, tp_prim prim, term a, term b)
{
    return term_apply(g->v->s, prim, a, b, (term){0}, 0);
}

term power_of(grid *g, tp_prim exponential, term t)
{
    return term_apply(g->v->s, exponential, t, (term){0}, (term){0}, 0);
}

bool is_0(const summary *s, term t)
{
    const term_node *n = term_get(s, t);
    int64_t v;
    return n->kind == T_INTEGER && tp_expr_is_const(s->p, n->e, &v) && v == 0;
}

enum { MOST_PARTS = 16 };

term decide_parts(summary *s, term t, const premises *p, uint32_t depth)
{
    const term_node n = *term_get(s, t);
    if (n.kind != T_SELECT || depth == MOST_PARTS)
        return t;
    int truth = summary_decides(s, p, n.e);
    if (truth)
        return decide_parts(s, n.arg[truth < 0], p, depth + 1);
    premises yes = premises_with(s, p, n.e), no = premises_with(s, p, condition_normal(s, n.e, true));
    return term_select(s, n.e, decide_parts(s, n.arg[0], &yes, depth + 1), decide_parts(s, n.arg[1], &no, depth + 1));
}
