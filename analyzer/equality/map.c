/* Indices replaced in a normal form, which is made anew. */
#include "analyzer/equality/sum.h"

#include <stdlib.h>

typedef struct substitution {
    const tp_expr *with;
    uint32_t n;
} substitution;

static tp_expr put_in(summary *s, tp_expr e, void *ctx)
{
    const substitution *x = ctx;
    return tp_expr_subst(s->p, e, x->with, x->n);
}

static uint32_t atom_mapped(summary *s, uint32_t id, index_map map, void *ctx)
{
    atom a = *atom_get(s, id);
    if (a.kind == ATOM_INDEX)
        return sum_of_index(s, tp_expr_normal(s->p, map(s, a.e, ctx)));
    if (a.kind == ATOM_FOLD)
        a = fold_open(s, id);
    for (uint32_t d = 0; d < a.rank; d++)
        a.at[d] = tp_expr_normal(s->p, map(s, a.at[d], ctx));
    for (uint32_t i = 0; i < a.counters; i++)
        a.extent[i] = tp_expr_normal(s->p, map(s, a.extent[i], ctx));
    product guards = product_of(1, 1);
    for (uint32_t i = 0; i < a.nguards; i++)
        if (!product_guard(s, &guards, map(s, a.guard[i], ctx)))
            return sum_constant(s, 0); /* a sum over nothing; others are never empty */
    a.nguards = guards.nguards;
    memcpy(a.guard, guards.guard, sizeof a.guard);
    for (int i = 0; i < 3; i++)
        if (a.arg[i])
            a.arg[i] = sum_map(s, a.arg[i], map, ctx);
    if (a.kind == ATOM_INVERSE)
        return sum_inverse(s, a.arg[0]);
    if (a.kind == ATOM_APPLY && s->moves) {
        uint32_t moved = s->moves->condition(s, a.prim, a.arg);
        if (moved)
            return moved;
    }
    if (a.kind == ATOM_APPLY)
        return sum_apply(s, a.prim, tp_expr_get(s->p, a.e)->value, a.arg, a.arg[2] ? 3 : a.arg[1] ? 2 : 1, 0);
    if (a.kind == ATOM_FOLD && a.prim == TP_P_SUM) { /* perhaps no longer one product: summed again */
        return fold_again(s, &a, a.arg[0]);
    }
    if (a.kind == ATOM_FOLD && s->moves)
        return s->moves->fold(s, a);
    if (a.kind == ATOM_FOLD)
        return sum_of_factor(s, fold_intern(s, &a), 1);
    return sum_of_atom(s, &a, 1);
}

uint32_t sum_map(summary *s, uint32_t id, index_map map, void *ctx)
{
    const sum a = *sum_get(s, id);
    uint32_t *part = TP_NEWN(s->arena, uint32_t, a.n + 1), n = 0;
    sum_spend(s);
    for (uint32_t i = 0; i < a.n; i++) {
        product p = product_of(a.at[i].num, a.at[i].den);
        bool is_0 = false;
        for (uint32_t g = 0; g < a.at[i].nguards && !is_0; g++)
            is_0 = !product_guard(s, &p, map(s, a.at[i].guard[g], ctx));
        if (is_0)
            continue;
        uint32_t r = sum_intern(s, &p, 1);
        for (uint32_t f = 0; f < a.at[i].nfactors; f++) {
            uint32_t x = atom_mapped(s, a.at[i].factor[f].atom, map, ctx);
            int times = a.at[i].factor[f].power;
            if (times < 0)
                x = sum_inverse(s, x);
            for (int k = 0; k < abs(times); k++)
                r = sum_multiply(s, r, x);
        }
        if (a.at[i].exponent)
            r = sum_multiply(s, r, sum_exponential(s, sum_map(s, a.at[i].exponent, map, ctx)));
        part[n++] = r;
    }
    return sum_of_all(s, part, n);
}

uint32_t sum_subst(summary *s, uint32_t id, const tp_expr *with, uint32_t n)
{
    return sum_map(s, id, put_in, &(substitution){with, n});
}

static bool holds(summary *s, const premises *p, tp_expr condition)
{
    record_mark m = record_here(s);
    bool yes = summary_proves(s, p, condition);
    if (yes)
        record_truth(s, condition, m);
    return yes;
}

uint32_t sum_under(summary *s, const premises *p, uint32_t id)
{
    const sum a = *sum_get(s, id);
    product *at = TP_NEWN(s->arena, product, a.n + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.n; i++) {
        bool is_0 = false;
        at[n] = a.at[i];
        at[n].nguards = 0;
        memset(at[n].guard, 0, sizeof at[n].guard);
        for (uint32_t g = 0; g < a.at[i].nguards && !is_0; g++) {
            tp_expr guard = a.at[i].guard[g];
            is_0 = holds(s, p, condition_normal(s, guard, true));
            if (!is_0 && !holds(s, p, guard))
                at[n].guard[at[n].nguards++] = guard;
        }
        n += !is_0;
    }
    return sum_from(s, at, n);
}
