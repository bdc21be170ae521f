#include "report/usual.h"

#include "cost/text.h"
#include "kernels/trial/equiv.h"
#include "report/blocks.h"

static int64_t *sizes_of(tp_arena *a, const tp_spec_report *s, tp_str *text)
{
    const tp_kernel *k = s->spec->kernels[0];
    if (k->ntables)
        return tp_map_sizes(a, s, text);
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    int64_t wish = TP_TYPICAL_SIZE;
    do {
        for (uint32_t i = 0; i < k->nsizes; i++)
            if (tp_is_open_size(&k->sizes[i]))
                env[k->sizes[i].sym] = tp_typical_size(k, &k->sizes[i], wish);
    } while (!tp_in_proven_domain(a, k, env) && (wish /= 2));
    if (!wish)
        return NULL;
    *text = tp_sizes_text(a, k, env);
    return env;
}

bool tp_usual_cost_of(tp_arena *a, const tp_spec_report *s, tp_usual_cost *c)
{
    const tp_kernel *k = s->spec->kernels[0];
    c->sizes = (tp_str){NULL, 0};
    for (uint32_t i = 0; i < s->findings.len; i++) /* a window may miss its array */
        if (s->findings.at[i].verdict == TP_VIOLATED)
            return false;
    int64_t *env = sizes_of(a, s, &c->sizes);
    if (!env)
        return false;
    tp_cost *cost = tp_cost_new(a, k);
    c->numbers = tp_cost_at(cost, a, &(tp_cost_request){.env = env, .work = TP_COST_GLANCE});
    c->model = tp_cost_on(cost, &c->numbers, &k->target);
    return c->numbers.bytes_in.known || c->numbers.bytes_out.known;
}
