/* The types of a reference's values where it is read as JAX reads it. In a program all float results are float64; a
 * cast that is written keeps its type, one to float64 was put in by promotion. */
#include "domains/domain.h"
#include "kernels/trial/trial.h"

static const tp_dtype NONE = TP_WEAK_FLOAT; /* takes the type of what it meets */

/* Of what operands of both types give. */
static tp_dtype join(tp_dtype a, tp_dtype b)
{
    return a == NONE ? b : b == NONE || a == b ? a : TP_F32;
}

static tp_dtype written(tp_dtype d)
{
    return d == TP_F64 || d == TP_WEAK_FLOAT || !tp_is_float(d) ? NONE : d;
}

static bool set(tp_dtype *types, tp_vid v, tp_dtype d)
{
    bool is_new = types[v] != d;
    types[v] = d;
    return is_new;
}

/* Of comparisons and integers, too, whose types nobody asks for. */
static bool of_operands(const tp_statement *s, void *ctx)
{
    tp_dtype *types = ctx; /* by value */
    const tp_inst *i = tp_computed(s);
    if (s->kind == TP_ASSIGN)
        return set(types, s->var, join(types[s->var], types[s->value]));
    if (!i)
        return false;
    const tp_dtype cast = i->prim == TP_P_CAST ? written((tp_dtype)i->integer) : NONE;
    tp_dtype d = cast;
    for (uint32_t a = 0; cast == NONE && a < i->nargs; a++)
        d = join(d, types[i->args[a]]);
    return set(types, i->out, join(types[i->out], d));
}

/* A constant is one of its operation's type. */
static bool of_constants(const tp_statement *s, void *ctx)
{
    tp_dtype *types = ctx; /* by value */
    const tp_inst *i = tp_computed(s);
    bool found = false;
    for (uint32_t a = 0; i && a < i->nargs; a++)
        if (types[i->args[a]] == NONE)
            found |= set(types, i->args[a], types[i->out]);
    return found;
}

const tp_dtype *tp_own_types(tp_arena *work, const tp_kernel *k)
{
    const tp_program *p = k->reference.program;
    bool narrow = false;
    tp_dtype *types = TP_NEWN(work, tp_dtype, p->values.len + 1);
    for (uint32_t v = 0; v < p->values.len; v++)
        types[v] = NONE;
    for (uint32_t i = 0; i < k->ninputs; i++)
        if (p->operand_value[i] >= 0)
            types[p->operand_value[i]] = written(k->operands[i].dtype);
    tp_region_settle(&p->statements, of_operands, types);
    tp_region_settle(&p->statements, of_constants, types);
    for (uint32_t v = 0; v < p->values.len; v++) {
        types[v] = types[v] == NONE ? TP_F32 : types[v];
        narrow |= types[v] != TP_F32;
    }
    return narrow ? types : NULL;
}
