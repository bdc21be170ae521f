/* Sets of counters, from the leaves up. */
#include "smt/trust/binders.h"

enum { BITS = 64 };

static uint32_t symbol_of(tp_reals *f, uint32_t sym)
{
    uint32_t own;
    if (!tp_own_symbol(&f->own, sym, &own))
        tp_reals_stop(f, "a counter is no symbol");
    return own;
}

/* The position of a counter, which is added where it is new. */
static uint32_t position_of(tp_binders *b, uint32_t sym)
{
    uint32_t i = 0;
    while (i < b->n && b->sym[i] != sym)
        i++;
    if (i == b->n)
        b->sym[b->n++] = sym;
    return i;
}

static uint64_t *set_of(const tp_binders *b, uint32_t node)
{
    return &b->bound[(size_t)(node - 1) * b->words];
}

static bool has(const uint64_t *set, uint32_t i)
{
    return set[i / BITS] >> (i % BITS) & 1;
}

static void bind(tp_reals *f, tp_binders *b, uint64_t *set, uint32_t counter)
{
    uint32_t sym = symbol_of(f, counter), i = position_of(b, sym), own;
    if (has(set, i))
        tp_reals_stop(f, "a counter is bound twice");
    for (uint32_t v = 0; v < f->d->nvars; v++)
        if (tp_own_symbol(&f->own, f->d->vars[v].sym, &own) && own == sym)
            tp_reals_stop(f, "a counter is a variable of the claim");
    set[i / BITS] |= (uint64_t)1 << (i % BITS);
}

tp_binders tp_binders_of(tp_reals *f)
{
    const tp_derivation *d = f->d;
    tp_binders b = {.n = 0};
    uint32_t most = 0;
    for (uint32_t i = 0; i < d->nreals; i++)
        most += d->reals[i].counters;
    b.sym = TP_NEWN(f->arena, uint32_t, most + 1);
    for (uint32_t i = 0; i < d->nreals; i++)
        for (uint32_t k = 0; k < d->reals[i].counters; k++)
            position_of(&b, symbol_of(f, d->reals[i].counter[k]));
    b.words = b.n / BITS + 1;
    b.bound = TP_NEWN(f->arena, uint64_t, (size_t)d->nreals * b.words + 1);
    for (uint32_t i = 0; i < d->nreals; i++) {
        const tp_real_node *r = &d->reals[i];
        uint64_t *set = set_of(&b, i + 1);
        for (uint32_t k = 0; k < r->nargs; k++)
            for (uint32_t w = 0; w < b.words; w++)
                set[w] |= set_of(&b, r->arg[k])[w];
        for (uint32_t k = 0; k < r->counters; k++)
            bind(f, &b, set, r->counter[k]);
    }
    return b;
}

bool tp_binders_capture(tp_reals *f, const tp_binders *b, uint32_t node, tp_expr e)
{
    const uint64_t *set = set_of(b, node);
    for (uint32_t i = 0; i < b->n; i++)
        if (has(set, i) && tp_expr_mentions(f->own.to, e, b->sym[i]))
            return true;
    return false;
}
