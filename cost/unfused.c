/* What the reference moves if each of its operations reads from HBM and writes back. */
#include "base/checked.h"
#include "cost/internal.h"

typedef struct reading {
    tp_cost *c;
    const tp_program *p;
    const tp_inst **from; /* by value */
    int *operand;         /* by value: 1 + the operand that it is; 0: none */
    int64_t bytes;
    tp_str why;
} reading;

/* Other shapes of a value, and its repetition, take no memory of their own. */
static bool is_view(const tp_inst *i)
{
    return i && (i->prim == TP_P_BROADCAST || i->prim == TP_P_RESHAPE);
}

static bool add_value(reading *r, tp_vid v)
{
    while (is_view(r->from[v]))
        v = r->from[v]->args[0];
    const tp_value *x = &r->p->values.at[v];
    int64_t n, width = tp_is_float(x->dtype) ? 4 : x->dtype == TP_BOOL ? 1 : (int64_t)tp_dtype_size(x->dtype);
    if (r->operand[v])
        width = (int64_t)tp_dtype_size(r->c->k->operands[r->operand[v] - 1].dtype);
    if (!tp_cost_bytes(r->c, x, width, &n, &r->why))
        return false;
    if (!x->rank || tp_add(r->bytes, n, &r->bytes))
        return true;
    r->why = TP_S("the number is beyond 2^63");
    return false;
}

static bool add_inst(void *ctx, const tp_inst *i)
{
    reading *r = ctx;
    if (i->out >= 0)
        r->from[i->out] = i;
    if (is_view(i))
        return true;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (!add_value(r, i->args[a]))
            return false;
    return i->out < 0 || add_value(r, i->out);
}

tp_cost_count tp_cost_unfused(tp_cost *c, tp_arena *a, const tp_program *reference, const int64_t *env)
{
    uint32_t n = reference->values.len;
    reading r = {c, reference, TP_NEWN(a, const tp_inst *, n), TP_NEWN(a, int, n)};
    memcpy(c->env, env, c->ngiven * sizeof *env);
    for (uint32_t i = 0; reference->operand_value && i < c->k->ninputs + c->k->noutputs; i++)
        if (reference->operand_value[i] >= 0)
            r.operand[reference->operand_value[i]] = (int)i + 1;
    return tp_cost_each_operation(&reference->statements, add_inst, &r, &r.why)
               ? (tp_cost_count){.known = true, .n = r.bytes}
               : (tp_cost_count){.why = r.why};
}
