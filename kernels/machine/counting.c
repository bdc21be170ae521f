/* What an operation costs, as statistics and bounds count it. */
#include "kernels/machine/internal.h"

/* Elements of a value in one step. */
static size_t elements(const tp_machine *m, tp_vid v)
{
    return m->together > 1 ? m->of_step[v] : m->values[v].n;
}

int64_t tp_work_of(const tp_machine *m, const tp_inst *i)
{
    size_t n = elements(m, i->out), contracted = 1;
    for (uint32_t c = 0; c < i->ncontract && i->prim == TP_P_DOT; c++)
        contracted *= (size_t)m->values[i->args[0]].dims[i->ints[2 * c]];
    n *= contracted;
    for (uint32_t a = 0; a < i->nargs; a++)
        n += elements(m, i->args[a]);
    return (int64_t)n * m->together;
}

/* Of one step, as tp_run_stats counts them. */
static int64_t flops_of(const tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = i->nargs ? &m->values[i->args[0]] : NULL;
    if (i->prim == TP_P_DOT)
        return 2 * (tp_work_of(m, i) / m->together - (int64_t)a->n - (int64_t)m->values[i->args[1]].n);
    if (!a || !tp_is_float(a->dtype))
        return 0;
    return (int64_t)(tp_prim_reduces(i->prim)          ? elements(m, i->args[0])
                     : tp_prim_is_elementwise(i->prim) ? elements(m, i->out)
                                                       : 0);
}

/* FLOPs of a dot on whole tiles of a matrix unit of side x side: rows come in groups of sublanes. */
static int64_t mxu_flops_of(const tp_machine *m, const tp_inst *i)
{
    const tp_cells *side[] = {&m->values[i->args[0]], &m->values[i->args[1]]};
    int64_t mxu = m->k->target.mxu, batch = 1, k = 1, free[] = {1, 1};
    for (uint32_t c = 0; c < i->ncontract + i->nbatch; c++)
        *(c < i->ncontract ? &k : &batch) *= side[0]->dims[i->ints[2 * c]];
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t d = 0; d < side[s]->rank; d++) {
            bool paired = false;
            for (uint32_t c = 0; c < i->ncontract + i->nbatch; c++)
                paired |= i->ints[2 * c + s] == d;
            free[s] *= paired ? 1 : side[s]->dims[d];
        }
    if (!mxu)
        return 0;
    int64_t rows = (free[0] + TP_SUBLANES - 1) / TP_SUBLANES * TP_SUBLANES;
    return 2 * batch * rows * ((k + mxu - 1) / mxu * mxu) * ((free[1] + mxu - 1) / mxu * mxu);
}

void tp_count_operation(tp_machine *m, const tp_inst *i)
{
    int64_t steps = m->together, n = steps * flops_of(m, i);
    m->stats.flops += n;
    if (i->prim == TP_P_DOT) {
        m->stats.dot_flops += n;
        m->stats.mxu_flops += steps * mxu_flops_of(m, i);
    }
    m->stats.transcendental += tp_prim_transcendental(i->prim) ? steps * (int64_t)elements(m, i->out) : 0;
}
