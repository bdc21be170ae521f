/* Loops that search: `for t in range(m, n): r = r + 1 if C(r) else r` finds the least number from where r began on of
 * which C does not hold, or n. Written L[m], with `end` = n it is a function of m, whatever C is: there is one number
 * like that for each m. What proofs use of it:
 *
 *   m <= L[m] <= max(m, n);  L[m] < n implies not C(L[m]);  m <= r < L[m] implies C(r);
 *   C(m) and m < n imply L[m] == L[m + 1], else L[m] == m.
 *
 * At the head of turn number t, r is min(m + t, L[m]); that is a guess of carried.c, which proves it.
 */
#include "analyzer/flow/internal.h"

/* How many m there are: those of int32, from 0 on. */
static const int64_t NUMBERS = (int64_t)INT32_MAX + 1;

/* Nothing but integers. */
static bool computes(const tp_region *r)
{
    bool only = true;
    for (uint32_t i = 0; i < r->len && only; i++)
        only = r->at[i].kind == TP_COMPUTE || r->at[i].kind == TP_ASSIGN ||
               (r->at[i].kind == TP_IF && computes(&r->at[i].body) && computes(&r->at[i].orelse));
    return only;
}

void flow_make_search(flow *f, const tp_statement *s)
{
    if (s->kind != TP_LOOP || s->by != 1 || !computes(&s->body))
        return;
    flow_search *x = &f->search[s->var];
    x->found = flow_new_variable(f, "found", tp_const(f->a->p, INT32_MAX));
    x->table = (uint32_t)tp_expr_get(f->a->p, tp_sym_new(f->a->p, TP_S("least")))->value;
    x->at = tp_sym_new(f->a->p, TP_S("m"));
    x->inside = tp_sym_new(f->a->p, TP_S("r"));
}

/* From `least` on, as an int32. */
static bool lies_in(flow *f, tp_expr e, int64_t least)
{
    tp_exprs *p = f->a->p;
    tp_expr from = tp_op2(p, TP_E_GE, e, tp_const(p, least)), to = tp_op2(p, TP_E_LE, e, tp_const(p, INT32_MAX));
    return flow_holds(f, tp_op2(p, TP_E_AND, from, to), 0, NULL);
}

/* Of sizes and tables alone, and perhaps of this symbol. */
static bool is_fixed(const flow *f, tp_expr e, tp_expr but)
{
    const tp_exprs *p = f->a->p;
    bool fixed = !flow_speaks_of_kept(f, e);
    for (uint32_t i = 0; i < f->k->naxes && fixed; i++)
        fixed = !tp_expr_mentions(p, e, f->k->axes[i].sym);
    for (uint32_t i = 0; i < f->out->vars.len && fixed; i++)
        fixed = (but.id && tp_expr_get(p, but)->value == (int64_t)f->out->vars.at[i].sym) ||
                !tp_expr_mentions(p, e, f->out->vars.at[i].sym);
    return fixed;
}

/* Why a turn goes on from here: r + 1 where this holds, else r. No id: it is no search. */
static tp_expr condition_of(flow *f, const flow_search *x, tp_expr after)
{
    tp_exprs *p = f->a->p;
    const tp_expr_node n = *tp_expr_get(p, after);
    tp_expr next = tp_expr_normal(p, tp_op2(p, TP_E_ADD, x->found, tp_const(p, 1)));
    if (n.op != TP_E_ITE)
        return (tp_expr){0};
    tp_expr then = tp_expr_normal(p, n.b), other = tp_expr_normal(p, n.c);
    if (tp_same(then, next) && tp_same(other, x->found))
        return n.a;
    return tp_same(then, x->found) && tp_same(other, next) ? tp_op1(p, TP_E_NOT, n.a) : (tp_expr){0};
}

static tp_expr put(const tp_analysis *a, const tp_least *l, tp_expr value)
{
    tp_expr *with = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    with[l->at] = value;
    return tp_expr_subst(a->p, l->condition, with, tp_sym_count(a->p));
}

/* For all m, and r: the fact. */
static void add_fact(tp_analysis *a, tp_least *l, uint32_t i, tp_expr m, tp_expr r, tp_expr fact)
{
    tp_contract *c = &l->facts[i];
    tp_expr most = num(a, NUMBERS);
    *c = (tp_contract){.nbound = r.id ? 2 : 1, .fact = fact, .extent = {most, most}};
    c->bound[0] = (uint32_t)tp_expr_get(a->p, m)->value;
    c->bound[1] = r.id ? (uint32_t)tp_expr_get(a->p, r)->value : 0;
}

static void say_facts(tp_analysis *a, tp_least *l, tp_expr m, tp_expr r)
{
    tp_expr next = mk(a, TP_E_ADD, m, num(a, 1)), here = tp_read(a->p, l->table.sym, 1, &m),
            after = tp_read(a->p, l->table.sym, 1, &next);
    tp_expr goes_on = both(a, mk(a, TP_E_LT, m, l->end), put(a, l, m));
    add_fact(a, l, 0, m, (tp_expr){0},
             both(a, mk(a, TP_E_LE, m, here), mk(a, TP_E_LE, here, mk(a, TP_E_MAX, m, l->end))));
    add_fact(a, l, 1, m, (tp_expr){0},
             mk(a, TP_E_IMPLIES, mk(a, TP_E_LT, here, l->end), tp_op1(a->p, TP_E_NOT, put(a, l, here))));
    add_fact(a, l, 2, m, r, mk(a, TP_E_IMPLIES, both(a, mk(a, TP_E_LE, m, r), mk(a, TP_E_LT, r, here)), put(a, l, r)));
    add_fact(a, l, 3, m, (tp_expr){0}, mk(a, TP_E_IMPLIES, goes_on, mk(a, TP_E_EQ, here, after)));
    add_fact(a, l, 4, m, (tp_expr){0}, mk(a, TP_E_IMPLIES, tp_op1(a->p, TP_E_NOT, goes_on), mk(a, TP_E_EQ, here, m)));
}

/* The function; the one that is known already, if it is that. NULL: it may leave int32. */
static tp_least *least_of(flow *f, const flow_search *x, tp_expr condition, tp_expr end)
{
    tp_analysis *a = f->a;
    uint32_t at = (uint32_t)tp_expr_get(a->p, x->found)->value;
    if (!lies_in(f, end, INT32_MIN))
        return NULL;
    for (uint32_t i = 0; i < a->least.len; i++) {
        tp_least *l = a->least.at[i];
        if (tp_same(l->end, end) && tp_same(put(a, l, x->found), condition))
            return l;
    }
    tp_least *l = TP_NEW(a->arena, tp_least);
    *l = (tp_least){.end = end, .condition = condition, .at = at};
    l->table =
        (tp_table){.name = TP_S("least"), .dtype = TP_I32, .rank = 1, .shape = {num(a, NUMBERS)}, .sym = x->table};
    say_facts(a, l, x->at, x->inside);
    tp_push(a->arena, a->least, l);
    return l;
}

tp_expr flow_search_form(flow *f, const tp_statement *s, tp_expr entry, tp_expr after, tp_expr counter)
{
    tp_exprs *p = f->a->p;
    const flow_search *x = &f->search[s->var];
    tp_expr end = flow_meaning(f, s->hi), none = {0};
    tp_expr condition = after.id ? condition_of(f, x, after) : none;
    if (!condition.id || !end.id || !tp_has_entries(f->k) || tp_expr_too_large(condition) ||
        !is_fixed(f, condition, x->found) || !is_fixed(f, end, none) || !lies_in(f, entry, 0))
        return none;
    const tp_least *l = least_of(f, x, condition, tp_expr_normal(p, end));
    return l ? tp_op2(p, TP_E_MIN, tp_op2(p, TP_E_ADD, entry, counter), tp_read(p, l->table.sym, 1, &entry)) : none;
}

tp_expr flow_searched(flow *f, tp_expr e)
{
    tp_exprs *p = f->a->p;
    const tp_expr_node n = *tp_expr_get(p, e);
    if (n.op != TP_E_MIN || !f->a->least.len)
        return e;
    for (int i = 0; i < 2; i++) {
        tp_expr found = i ? n.b : n.a, most = i ? n.a : n.b;
        if (tp_expr_get(p, found)->op == TP_E_READ && flow_holds(f, tp_op2(p, TP_E_LE, found, most), 0, NULL))
            return found;
    }
    return e;
}
