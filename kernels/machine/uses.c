/* Who looks at a value: what decides whether it, or its planes, may wait; and how many wait. */
#include "base/assert.h"
#include "kernels/machine/internal.h"

/* An instruction or step of `region` looks at v, which `home` says where it is computed. */
static void look(tp_machine *m, const uint32_t *home, uint32_t region, tp_vid v)
{
    if (v >= 0)
        m->uses[v] += home[v] == region && !m->steady[v] ? 1 : 2;
}

static void look_through(tp_machine *m, const uint32_t *home, uint32_t region, const tp_access *a)
{
    for (uint32_t d = 0; a && d < m->k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            look(m, home, region, a->subs[d].start);
}

static void count_uses(tp_machine *m, const tp_region *r, uint32_t *home, uint32_t *regions)
{
    uint32_t here = ++*regions;
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_COMPUTE) {
            for (uint32_t a = 0; a < s->inst->nargs; a++)
                look(m, home, here, s->inst->args[a]);
            look_through(m, home, here, s->inst->access);
            home[s->inst->out] = here;
            continue;
        }
        if (s->kind == TP_LOOP) {
            look(m, home, here, s->lo);
            look(m, home, here, s->hi);
        }
        if (s->kind == TP_WHILE)
            count_uses(m, &s->test, home, regions);
        if (s->kind != TP_LOOP)
            look(m, home, here, s->value);
        look_through(m, home, here, s->access);
        look_through(m, home, here, s->semaphore);
        for (uint32_t d = 0; d < TP_MAX_MESH; d++)
            look(m, home, here, s->device[d]);
        look_through(m, home, here, s->arrival);
        count_uses(m, &s->body, home, regions);
        count_uses(m, &s->orelse, home, regions);
    }
}

void tp_uses_count(tp_machine *m)
{
    uint32_t n = m->k->body->values.len, regions = 0;
    m->uses = TP_NEWN(m->arena, uint32_t, n);
    count_uses(m, m->body, TP_NEWN(m->arena, uint32_t, n), &regions);
}

bool tp_used_once(const tp_machine *m, tp_vid v)
{
    return m->uses[v] == 1;
}

static bool reduces_rows(const tp_machine *m, const tp_inst *i)
{
    const tp_cells *a = &m->values[i->args[0]];
    return tp_prim_reduces(i->prim) && i->nints == 1 && (uint32_t)i->ints[0] + 1 == a->rank &&
           (size_t)a->dims[a->rank - 1] <= TP_LONG_ROW * m->piece && a->n > 1;
}

bool tp_chainable(const tp_machine *m, const tp_inst *i)
{
    if (!m->domain || i->out < 0)
        return false;
    if (tp_prim_reduces(i->prim))
        return reduces_rows(m, i);
    if (m->values[i->out].n <= 1)
        return false;
    tp_prim_class class = tp_prim_info(i->prim)->class;
    return class == TP_CLASS_ELEMENTWISE || class == TP_CLASS_SELECT || class == TP_CLASS_CONVERT ||
           i->prim == TP_P_BROADCAST;
}

/* ---- values that wait ---- */

uint32_t tp_count_waiting(const tp_machine *m, const tp_inst *i)
{
    uint32_t n = 1;
    for (uint32_t a = 0; a < i->nargs && n <= TP_MOST_WAITING; a++)
        n += m->values[i->args[a]].waits ? m->values[i->args[a]].behind : 0;
    return n < m->waiting + 1 ? n : m->waiting + 1; /* what is looked at twice waits once */
}

void tp_begin_waiting(tp_machine *m, tp_cells *c, const tp_inst *i, uint32_t all)
{
    tp_assert(!c->waits);
    c->waits = i;
    c->behind = all;
    m->waiting++;
}

void tp_end_waiting(tp_machine *m, tp_cells *c)
{
    tp_assert(c->waits && m->waiting);
    c->waits = NULL;
    m->waiting--;
}
