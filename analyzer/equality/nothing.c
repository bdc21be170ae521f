/* Sums over no points: where the conditions of a sum, and of those around it, contradict each other. A kernel that puts
 * any number in the place of what lies past the end has them. */
#include "analyzer/equality/sum.h"

enum { ROOM = 2 * MAX_GUARDS }; /* premises that are added at most before one looks again */

static premises with_guards(summary *s, const premises *p, const tp_expr *guard, uint32_t n, uint32_t without)
{
    premises r = *p;
    for (uint32_t g = 0; g < n; g++)
        if (g != without)
            r = premises_with(s, &r, guard[g]);
    return r;
}

/* Of an opened sum: where p holds, and with it the guards of `around`, some guard contradicts the others. */
static bool has_no_points(summary *s, const premises *p, const product *around, const atom *f)
{
    for (uint32_t g = 0; g < f->nguards; g++) {
        premises others = with_guards(s, p, f->guard, f->nguards, g);
        record_mark m = record_here(s);
        if (!summary_proves(s, &others, condition_normal(s, f->guard[g], true)))
            continue;
        record_exchange(s, f->guard[g], tp_const(s->p, 0));
        record_nothing(s, around, f, m);
        record_forget(s, m);
        return true;
    }
    return false;
}

/* Factor `which` of x, a sum, without sums of nothing. */
static uint32_t fold_without(summary *s, const premises *p, const product *x, uint32_t which)
{
    product others = product_without(x, which);
    atom f = fold_open(s, x->factor[which].atom);
    if (sum_is_defined(s, f.arg[0]) && product_is_defined(s, &others) && has_no_points(s, p, x, &f))
        return sum_constant(s, 0);
    premises here = with_guards(s, p, f.guard, f.nguards, f.nguards);
    uint32_t body = sum_without_nothing(s, &here, f.arg[0]);
    return body == f.arg[0] ? sum_of_atom(s, atom_get(s, x->factor[which].atom), 1) : fold_again(s, &f, body);
}

static uint32_t product_without_nothing(summary *s, const premises *p, const product *x)
{
    premises here = with_guards(s, p, x->guard, x->nguards, x->nguards);
    product plain = *x;
    uint32_t r;
    plain.nfactors = plain.exponent = 0;
    memset(plain.factor, 0, sizeof plain.factor);
    r = sum_intern(s, &plain, 1);
    for (uint32_t i = 0; i < x->nfactors; i++) {
        const atom *f = atom_get(s, x->factor[i].atom);
        bool looked_into = f->kind == ATOM_FOLD && f->prim == TP_P_SUM && x->factor[i].power == 1;
        r = sum_multiply(s, r, looked_into ? fold_without(s, &here, x, i) : sum_of_atom(s, f, x->factor[i].power));
    }
    if (x->exponent)
        r = sum_multiply(s, r, sum_exponential(s, sum_without_nothing(s, &here, x->exponent)));
    return r;
}

uint32_t sum_without_nothing(summary *s, const premises *p, uint32_t id)
{
    const sum x = *sum_get(s, id);
    uint32_t total = sum_constant(s, 0);
    sum_spend(s);
    if (p->n + ROOM > sizeof p->at / sizeof *p->at)
        return id;
    for (uint32_t i = 0; i < x.n; i++)
        total = sum_add(s, total, product_without_nothing(s, p, &x.at[i]), 1);
    return total;
}
