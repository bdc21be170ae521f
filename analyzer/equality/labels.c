/* Which lane has the number of a label: one of them, where "values" keep it among these. */
#include "analyzer/equality/sum.h"

/* Is it an integer, whatever the data? */
static bool is_integer(summary *s, uint32_t id)
{
    const sum a = *sum_get(s, id);
    bool yes = true;
    for (uint32_t i = 0; i < a.n && yes; i++) {
        yes = a.at[i].den == 1 && !a.at[i].exponent;
        for (uint32_t f = 0; f < a.at[i].nfactors && yes; f++) {
            const atom x = *atom_get(s, a.at[i].factor[f].atom);
            yes = a.at[i].factor[f].power > 0 &&
                  (x.kind == ATOM_INDEX ||
                   (x.kind == ATOM_ELEMENT && x.number == T_READ && tp_is_int(s->k->operands[x.operand].dtype)));
        }
    }
    return yes;
}

/* Does the condition e >= 0 hold where the counter is u, which is no index? */
static bool holds_at(summary *s, tp_expr guard, uint32_t sym, uint32_t u)
{
    const tp_expr_node n = *tp_expr_get(s->p, guard);
    if (n.op != TP_E_GE)
        return false;
    uint32_t counter = sum_of_index(s, tp_sym(s->p, sym)), e = sum_of_index(s, n.a), step = sum_add(s, u, counter, -1);
    for (int64_t c = -1; c <= 1; c += 2) {
        uint32_t there = sum_add(s, e, step, c);
        if (!sum_mentions(s, there, sym))
            return sum_is_at_least_0(s, there);
    }
    return false;
}

/* sum of [u == c] for c < n is 1, for an integer u from 0 below n at which the other conditions hold, too. */
bool law_is_met_once(summary *s, const atom *f)
{
    const sum body = *sum_get(s, f->arg[0]);
    if (f->counters != 1 || body.n != 1 || body.at[0].nfactors != 1 || body.at[0].factor[0].power != 1 ||
        body.at[0].num != body.at[0].den || body.at[0].nguards || body.at[0].exponent)
        return false;
    const atom is = *atom_get(s, body.at[0].factor[0].atom);
    if (is.kind != ATOM_APPLY || is.prim != TP_P_EQ || is.arg[0] != sum_constant(s, 0))
        return false;
    uint32_t sym = f->counter[0], counter = sum_of_index(s, tp_sym(s->p, sym)), u = sum_add(s, is.arg[1], counter, 1);
    u = sum_mentions(s, u, sym) ? sum_add(s, counter, is.arg[1], -1) : u;
    bool once = !sum_mentions(s, u, sym) && is_integer(s, u) && sum_is_at_least_0(s, u);
    if (once) {
        uint32_t last = sum_add(s, sum_of_index(s, f->extent[0]), sum_constant(s, 1), -1);
        once = sum_is_at_least_0(s, sum_add(s, last, u, -1));
    }
    for (uint32_t i = 0; once && i < f->nguards; i++)
        once = holds_at(s, f->guard[i], sym, u);
    return once;
}
