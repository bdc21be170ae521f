#include "cost/advice.h"

#include "cost/text.h"

enum { WORK = 1 << 14 }; /* turns of sums: less than a rule takes */

int64_t *tp_advice_sizes(tp_analysis *a)
{
    int64_t *env = TP_NEWN(a->arena, int64_t, tp_sym_count(a->p) + 1), wish = TP_TYPICAL_SIZE;
    do {
        for (uint32_t i = 0; i < a->k->nsizes; i++)
            if (tp_is_open_size(&a->k->sizes[i]))
                env[a->k->sizes[i].sym] = tp_typical_size(a->k, &a->k->sizes[i], wish);
    } while (!tp_domain_has(a, env) && (wish /= 2));
    return wish ? env : NULL;
}

bool tp_advice_cost_of(tp_analysis *a, tp_advice_cost *c)
{
    for (uint32_t i = 0; i < a->out->findings.len; i++)
        if (a->out->findings.at[i].verdict == TP_VIOLATED)
            return false;
    int64_t *env = a->k->ntables ? NULL : tp_advice_sizes(a);
    if (!env)
        return false;
    c->env = env;
    c->sizes = tp_sizes_text(a->arena, a->k, env);
    tp_cost *cost = tp_cost_new(a->arena, a->k);
    c->numbers = tp_cost_at(cost, a->arena, &(tp_cost_request){.env = env, .work = WORK});
    c->model = tp_cost_on(cost, &c->numbers, &a->k->target);
    return c->model.known && c->model.pipelined;
}
