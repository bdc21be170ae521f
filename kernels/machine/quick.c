/* Operations on few elements, of which only the loop is left to do at each step: most statements of a body compute an
 * index, or a row. */
#include "base/assert.h"
#include "kernels/machine/internal.h"

struct tp_quick {
    tp_loop by;         /* NULL: it takes another way: */
    bool loads;         /* ... that of a load, or the long one */
    int64_t work, cost; /* as statistics count it; as the budget does */
    bool divides;       /* integers by one: it traps by the long way */
};

enum { FEW = 2048 }; /* more may wait for who looks at them */

static tp_quick quick_of(const tp_machine *m, const tp_inst *i)
{
    const tp_cells *out = &m->values[i->out], *a = i->nargs ? &m->values[i->args[0]] : out;
    const tp_cells *b = i->nargs > 1 ? &m->values[i->args[1]] : a;
    bool number = out->dtype == TP_F32 || out->dtype == TP_F64 || out->n == 1, /* of others the range may be enough */
        divides = tp_prim_divides(i->prim) && !tp_is_float(a->dtype);
    if (i->prim == TP_P_LOAD && !i->nargs && !i->access->guarded)
        return (tp_quick){.loads = true, .work = tp_work_of(m, i), .cost = 8 + (int64_t)out->n / 32};
    if (!tp_prim_is_elementwise(i->prim) || i->nargs < 1 || i->nargs > 2 || !number || !out->n ||
        out->n >= (m->request->strip ? 2 : FEW) || m->fixed[i->out] != TP_VARIES || (divides && b->n != 1))
        return (tp_quick){.by = NULL};
    for (uint32_t x = 0; x < i->nargs; x++)
        if (m->values[i->args[x]].n != 1 && !tp_same_shape(&m->values[i->args[x]], out))
            return (tp_quick){.by = NULL};
    size_t n = out->n + a->n + (i->nargs > 1 ? b->n : 0);
    return (tp_quick){.by = divides ? tp_division_loop(i->prim, a->dtype) : tp_elementwise_loop(i->prim, a->dtype),
                      .work = tp_work_of(m, i),
                      .cost = 8 + (int64_t)n / 32,
                      .divides = divides};
}

static void find(tp_machine *m, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (s->kind == TP_COMPUTE && s->inst->out >= 0)
            m->quick[s->inst->out] = quick_of(m, s->inst);
        find(m, &s->test);
        find(m, &s->body);
        find(m, &s->orelse);
    }
}

void tp_quick_prepare(tp_machine *m)
{
    if (!tp_may_defer(m) || m->joined || m->request->counts)
        return;
    m->quick = TP_NEWN(m->arena, tp_quick, m->k->body->values.len);
    find(m, m->body);
}

static bool is_there(const tp_cells *c)
{
    return !c->waits && c->state == TP_CLEAN && !c->viewed;
}

/* What every operation does first. */
static void begin(tp_machine *m, const tp_quick *q, tp_cells *out)
{
    tp_spend(m->arena, q->cost);
    tp_exec_spend(m, q->work);
    tp_assert(!out->waits);
    out->state = TP_CLEAN;
    out->ranged = out->viewed = false;
    out->spared = 0;
    out->data = out->own;
}

bool tp_quick_load(tp_machine *m, const tp_inst *i)
{
    if (!m->quick[i->out].loads)
        return false;
    begin(m, &m->quick[i->out], &m->values[i->out]);
    return true;
}

bool tp_quick_exec(tp_machine *m, const tp_inst *i)
{
    const tp_quick *q = &m->quick[i->out];
    if (!q->by)
        return false;
    const tp_cells *a = &m->values[i->args[0]], *b = i->nargs > 1 ? &m->values[i->args[1]] : NULL;
    tp_cells *out = &m->values[i->out];
    if (!is_there(a) || (b && !is_there(b)) || (q->divides && tp_get_i64(b->dtype, b->data, 0) == 0))
        return false;
    begin(m, q, out);
    q->by(&TP_ONE_ROW, out->n, a->data, a->n == 1 && out->n != 1, b ? b->data : NULL, b && b->n == 1 && out->n != 1,
          out->data);
    return true;
}
