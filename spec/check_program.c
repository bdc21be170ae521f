/* What spec/program.h says of a typed program, held against one. */
#include "base/assert.h"
#include "spec/kernel.h"

typedef struct checking {
    const tp_program *p;
    bool *there; /* per value: computed, or given, before */
} checking;

static bool is_value(const checking *x, tp_vid v)
{
    if (v < 0 || (uint32_t)v >= x->p->values.len)
        return false;
    const tp_value *t = &x->p->values.at[v];
    return t->rank <= TP_MAX_RANK && (x->there[v] || t->dtype == TP_WEAK_INT || t->variable);
}

static bool inst_holds(const checking *x, const tp_inst *i)
{
    const tp_prim_row *row = tp_prim_info(i->prim);
    if (row->nargs && i->nargs != row->nargs)
        return false;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (!is_value(x, i->args[a]))
            return false;
    if (i->prim == TP_P_LOAD && !i->access)
        return false;
    if (row->class != TP_CLASS_ELEMENTWISE || i->out < 0)
        return true;
    const tp_value *out = &x->p->values.at[i->out];
    for (uint32_t a = 0; a < i->nargs; a++) {
        const tp_value *in = &x->p->values.at[i->args[a]];
        if (in->rank != out->rank && in->rank != 0)
            return false;
    }
    return !row->to_bool || out->dtype == TP_BOOL;
}

static bool region_holds(checking *x, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (s->kind == TP_COMPUTE) {
            if (!inst_holds(x, s->inst))
                return false;
            if (s->inst->out >= 0)
                x->there[s->inst->out] = true;
        }
        if (s->kind == TP_LOOP)
            x->there[s->var] = true;
        if (!region_holds(x, &s->test) || !region_holds(x, &s->body) || !region_holds(x, &s->orelse))
            return false;
    }
    return true;
}

bool tp_program_holds(tp_arena *a, const tp_kernel *k, const tp_program *p)
{
    checking x = {p, TP_NEWN(a, bool, p->values.len + 1)};
    for (uint32_t i = 0; p->operand_value && i < k->ninputs; i++)
        if (p->operand_value[i] >= 0)
            x.there[p->operand_value[i]] = true;
    for (uint32_t t = 0; p->table_value && t < k->ntables; t++)
        if (p->table_value[t] >= 0)
            x.there[p->table_value[t]] = true;
    return region_holds(&x, &p->statements);
}
