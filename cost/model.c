/* The time of a kernel on a chip, as a model. */
#include <math.h>

#include "cost/internal.h"

const char *tp_bound_name(tp_bound b)
{
    switch (b) {
    case TP_BOUND_UNKNOWN: return "unknown";
    case TP_BOUND_MEMORY: return "memory";
    case TP_BOUND_COMPUTE: return "compute";
    }
    return "";
}

double tp_peak_rate(const tp_target *t, tp_peak p)
{
    switch (p) {
    case TP_PEAK_F32:
    case TP_PEAK_BF16: return t->bf16_flops;
    case TP_PEAK_INT8: return t->int8_ops;
    case TP_PEAK_FP8: return t->fp8_flops;
    case TP_PEAK_INT4: return t->int4_ops;
    case TP_PEAKS: break;
    }
    return 0;
}

static bool refuse(tp_cost_model *m, tp_str why)
{
    m->why = why;
    return false;
}

/* FLOPs and seconds of all dots. */
static bool add_dots(tp_cost_model *m, const tp_cost_numbers *n)
{
    for (uint32_t i = 0; i < n->ndots; i++) {
        tp_cost_count flops = tp_dot_on_tiles(&n->dots[i], m->target->mxu);
        double rate = tp_peak_rate(m->target, n->dots[i].peak);
        if (!flops.known)
            return refuse(m, flops.why);
        if (!flops.n)
            continue;
        if (rate <= 0)
            return refuse(m, TP_S("no public peak for the dtype of its products"));
        m->f32_peak |= n->dots[i].peak == TP_PEAK_F32;
        m->mxu_flops += (double)flops.n;
        m->compute += (double)flops.n / rate;
        if (m->ridge <= 0)
            m->ridge = rate / m->target->hbm_bandwidth;
    }
    return true;
}

/* The first fetch; then each step beside the fetch for the next one and the write of the one before; the last write. Of
 * each step the core takes `issue` seconds, and its share of the products. */
static double pipeline(const tp_cost_model *m, const tp_cost_numbers *n, double issue)
{
    double bandwidth = m->target->hbm_bandwidth, steps = (double)n->steps.n, each = m->compute / steps + issue,
           windows = 0, time;
    for (uint32_t j = 0; j < n->njumps; j++)
        windows += (double)n->jumps[j].bytes_in.n + (double)n->jumps[j].bytes_out.n;
    double others = fmax(0, (double)n->bytes_in.n + (double)n->bytes_out.n - windows) / bandwidth / steps;
    each = fmax(each, others); /* copies of the body go beside its computation, too */
    time = ((double)n->jumps[0].bytes_in.n + (double)n->jumps[0].bytes_out.n) / bandwidth + each;
    for (uint32_t j = 1; j < n->njumps; j++) {
        double count = (double)n->jumps[j].steps.n, copy = 0;
        if (count > 0)
            copy = ((double)n->jumps[j].bytes_in.n + (double)n->jumps[j].bytes_out.n) / bandwidth / count;
        time += count * fmax(each, copy);
    }
    return time;
}

tp_cost_model tp_cost_on(const tp_cost *c, const tp_cost_numbers *n, const tp_target *t)
{
    tp_cost_model m = {.target = t};
    const tp_cost_count *needed[] = {&n->steps, &n->bytes_in, &n->bytes_out, &n->flops};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i]->known) {
            m.why = needed[i]->why;
            return m;
        }
    if (n->steps.n < 0 || n->bytes_in.n < 0 || n->bytes_out.n < 0 || n->flops.n < 0) {
        m.why = TP_S("an extent is negative, which lint reports");
        return m;
    }
    double bytes = (double)n->bytes_in.n + (double)n->bytes_out.n;
    const tp_cost_count *vmem = &n->vmem_of[tp_early_generation(t)];
    m.fits = vmem->known && vmem->n <= (c->k->vmem_limit ? c->k->vmem_limit : tp_target_vmem(t));
    m.intensity = bytes > 0 ? (double)n->flops.n / bytes : 0;
    if (tp_is_connected(c->k)) {
        m.why = TP_S("what links between devices take is not modelled");
        return m;
    }
    if (!t->checked || t->hbm_bandwidth <= 0) {
        m.why = TP_S("the target has no rates");
        return m;
    }
    if (!add_dots(&m, n))
        return m;
    m.known = true;
    m.memory = bytes / t->hbm_bandwidth;
    m.roofline = fmax(m.memory, m.compute);
    m.bound = m.memory >= m.compute ? TP_BOUND_MEMORY : TP_BOUND_COMPUTE;
    m.pipelined = n->steps.n > 0;
    for (uint32_t j = 0; j < n->njumps; j++)
        m.pipelined &= n->jumps[j].steps.known && n->jumps[j].bytes_in.known && n->jumps[j].bytes_out.known;
    if (m.pipelined) {
        m.pipeline = fmax(pipeline(&m, n, 0), m.roofline);
        m.issued = fmax(pipeline(&m, n, TP_STEP_SECONDS), m.pipeline);
        m.bubbles = m.pipeline - m.roofline;
    }
    return m;
}
