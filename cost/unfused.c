/* What the reference moves if each of its operations reads from HBM and writes back. */
#include "base/checked.h"
#include "cost/internal.h"

typedef struct reading {
    tp_cost *c;
    const tp_program *p;
    const tp_inst **from; /* by value */
    int *operand;         /* by value: 1 + the operand that it is; 0: none */
    tp_cost_count bytes;
} reading;

static bool refuse(reading *r, const char *why)
{
    r->bytes = (tp_cost_count){.why = tp_str_c(why)};
    return false;
}

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
    int64_t n = 1, extent,
            width = tp_is_float(x->dtype) ? 4
                    : x->dtype == TP_BOOL ? 1
                                          : (int64_t)tp_dtype_size(x->dtype);
    if (r->operand[v])
        width = (int64_t)tp_dtype_size(r->c->k->operands[r->operand[v] - 1].dtype);
    for (uint32_t d = 0; d < x->rank; d++) {
        if (tp_expr_eval(r->c->p, x->dims[d], r->c->env, &extent) != TP_EVAL_OK)
            return refuse(r, "a shape of the reference has no value");
        if (!tp_mul(n, extent, &n))
            return refuse(r, "the number is beyond 2^63");
    }
    if (x->rank && (!tp_mul(n, width, &n) || !tp_add(r->bytes.n, n, &r->bytes.n)))
        return refuse(r, "the number is beyond 2^63");
    return true;
}

static bool add_inst(reading *r, const tp_inst *i)
{
    if (i->out >= 0)
        r->from[i->out] = i;
    if (is_view(i))
        return true;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (!add_value(r, i->args[a]))
            return false;
    return i->out < 0 || add_value(r, i->out);
}

static bool add_region(reading *r, const tp_region *region)
{
    for (uint32_t n = 0; n < region->len; n++) {
        const tp_statement *s = &region->at[n];
        switch (s->kind) {
        case TP_COMPUTE:
            if (!add_inst(r, s->inst))
                return false;
            break;
        case TP_ASSIGN:
        case TP_ASSERT: break;
        case TP_IF:
        case TP_LOOP:
        case TP_WHILE: return refuse(r, "the reference has loops or branches");
        case TP_PUT:
        case TP_COPY_START:
        case TP_COPY_WAIT:
        case TP_SIGNAL:
        case TP_AWAIT: return refuse(r, "the reference has refs");
        }
    }
    return true;
}

tp_cost_count tp_cost_unfused(tp_cost *c, tp_arena *a, const tp_program *reference, const int64_t *env)
{
    uint32_t n = reference->values.len;
    reading r = {c, reference, TP_NEWN(a, const tp_inst *, n), TP_NEWN(a, int, n), {.known = true}};
    memcpy(c->env, env, c->ngiven * sizeof *env);
    for (uint32_t i = 0; reference->operand_value && i < c->k->ninputs + c->k->noutputs; i++)
        if (reference->operand_value[i] >= 0)
            r.operand[reference->operand_value[i]] = (int)i + 1;
    add_region(&r, &reference->statements);
    return r.bytes;
}
