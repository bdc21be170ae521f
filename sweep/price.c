#include "sweep/price.h"

#include "cost/cost.h"
#include "kernels/trial/equiv.h"

/* A value for every size that is a symbol: the least, where it is not named. */
static int64_t *env_of(tp_arena *a, const tp_kernel *k, const tp_binding *sizes, uint32_t n)
{
    int64_t *env = TP_NEWN(a, int64_t, tp_sym_count(k->exprs) + 1);
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *z = &k->sizes[i];
        if (!tp_is_open_size(z))
            continue;
        env[z->sym] = z->kind == TP_SIZE_CHOICE ? z->min : tp_size_least(z);
        for (uint32_t s = 0; s < n; s++)
            if (tp_str_eq(sizes[s].name, z->name))
                env[z->sym] = sizes[s].value;
    }
    return env;
}

bool tp_sweep_possible(tp_arena *a, const tp_kernel *k, const tp_binding *sizes, uint32_t n)
{
    return tp_in_proven_domain(a, k, env_of(a, k, sizes, n));
}

static tp_sweep_cost of_kernel(tp_arena *a, const tp_kernel *k, const tp_binding *sizes, uint32_t n)
{
    if (k->ntables)
        return (tp_sweep_cost){.why = "the kernel reads tables, and their contents are not chosen"};
    if (!k->target.checked)
        return (tp_sweep_cost){.why = "the target is no chip"};
    if (!tp_sweep_possible(a, k, sizes, n))
        return (tp_sweep_cost){.why = "the sizes of the model are outside the domain of this shape"};
    tp_cost *c = tp_cost_new(a, k);
    tp_cost_numbers counts =
        tp_cost_at(c, a, &(tp_cost_request){.env = env_of(a, k, sizes, n), .work = TP_COST_GLANCE});
    tp_cost_model m = tp_cost_on(c, &counts, &k->target);
    if (!m.known || !m.pipelined)
        return (tp_sweep_cost){.why = "a count or a rate is not known"};
    return (tp_sweep_cost){.known = true,
                           .bytes = counts.bytes_in.n + counts.bytes_out.n,
                           .flops = counts.flops.known ? counts.flops.n : -1,
                           .seconds = m.pipeline,
                           .bound = tp_bound_name(m.bound)};
}

tp_sweep_cost tp_sweep_price(tp_arena *a, const tp_spec *spec, const tp_binding *sizes, uint32_t n)
{
    tp_sweep_cost worst = of_kernel(a, spec->kernels[0], sizes, n);
    for (uint32_t i = 1; i < spec->nkernels && worst.known; i++) {
        tp_sweep_cost c = of_kernel(a, spec->kernels[i], sizes, n);
        if (!c.known || c.seconds > worst.seconds)
            worst = c;
    }
    return worst;
}
