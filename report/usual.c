#include "report/usual.h"

#include "cost/text.h"
#include "kernels/trial/equiv.h"
#include "report/blocks.h"

int64_t *tp_sizes_near(tp_arena *a, const tp_kernel *k, const tp_binding *given, uint32_t ngiven, int64_t wish)
{
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_is_open_size(&k->sizes[i]))
            env[k->sizes[i].sym] = tp_typical_size(k, &k->sizes[i], wish);
    for (uint32_t i = 0; i < ngiven; i++)
        env[tp_size_find(k, given[i].name)->sym] = given[i].value;
    return tp_in_proven_domain(a, k, env) ? env : NULL;
}

int64_t *tp_usual_sizes(tp_arena *a, const tp_kernel *k, const tp_binding *given, uint32_t ngiven)
{
    for (int64_t wish = TP_TYPICAL_SIZE; wish; wish /= 2) {
        int64_t *env = tp_sizes_near(a, k, given, ngiven, wish);
        if (env)
            return env;
    }
    return NULL;
}

bool tp_usual_cost_of(tp_arena *a, const tp_spec_report *s, tp_usual_cost *c)
{
    const tp_kernel *k = s->spec->kernels[0];
    c->sizes = (tp_str){NULL, 0};
    for (uint32_t i = 0; i < s->findings.len; i++) /* a window may miss its array */
        if (s->findings.at[i].verdict == TP_VIOLATED)
            return false;
    int64_t *env = k->ntables ? tp_map_sizes(a, s, &c->sizes) : tp_usual_sizes(a, k, NULL, 0);
    if (!env)
        return false;
    if (!k->ntables)
        c->sizes = tp_sizes_text(a, k, env);
    tp_cost *cost = tp_cost_new(a, k);
    c->numbers = tp_cost_at(cost, a, &(tp_cost_request){.env = env, .work = TP_COST_GLANCE});
    c->model = tp_cost_on(cost, &c->numbers, &k->target);
    return c->numbers.bytes_in.known || c->numbers.bytes_out.known;
}
