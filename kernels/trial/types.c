/* The types of a reference's values where it is read as JAX reads it. In a program all float results are float64; a
 * cast that is written keeps its type, one to float64 was put in by promotion. */
#include "domains/domain.h"
#include "kernels/trial/trial.h"

static const tp_dtype NONE = TP_WEAK_FLOAT; /* takes the type of what it meets */

typedef struct typing {
    const tp_program *p;
    tp_dtype *types;
    bool more;
} typing;

/* Of what operands of both types give. */
static tp_dtype join(tp_dtype a, tp_dtype b)
{
    return a == NONE ? b : b == NONE || a == b ? a : TP_F32;
}

static tp_dtype written(tp_dtype d)
{
    return d == TP_F64 || d == TP_WEAK_FLOAT || !tp_is_float(d) ? NONE : d;
}

static void set(typing *x, tp_vid v, tp_dtype d)
{
    x->more |= x->types[v] != d;
    x->types[v] = d;
}

static const tp_inst *inst_of(const tp_statement *s)
{
    return s->kind == TP_COMPUTE && s->inst->out >= 0 ? s->inst : NULL;
}

/* Of comparisons and integers, too, whose types nobody asks for. */
static bool of_operands(const tp_statement *s, void *ctx)
{
    typing *x = ctx;
    const tp_inst *i = inst_of(s);
    if (s->kind == TP_ASSIGN)
        set(x, s->var, join(x->types[s->var], x->types[s->value]));
    if (!i)
        return false;
    const tp_dtype cast = i->prim == TP_P_CAST ? written((tp_dtype)i->integer) : NONE;
    tp_dtype d = cast;
    for (uint32_t a = 0; cast == NONE && a < i->nargs; a++)
        d = join(d, x->types[i->args[a]]);
    set(x, i->out, join(x->types[i->out], d));
    return false;
}

/* A constant is one of its operation's type. */
static bool of_constants(const tp_statement *s, void *ctx)
{
    typing *x = ctx;
    const tp_inst *i = inst_of(s);
    for (uint32_t a = 0; i && a < i->nargs; a++)
        if (x->types[i->args[a]] == NONE)
            set(x, i->args[a], x->types[i->out]);
    return false;
}

static void settle(typing *x, bool (*visit)(const tp_statement *s, void *ctx))
{
    do {
        x->more = false;
        tp_region_any(&x->p->statements, visit, x);
    } while (x->more);
}

const tp_dtype *tp_own_types(tp_arena *work, const tp_kernel *k)
{
    const tp_program *p = k->reference.program;
    bool narrow = false;
    typing x = {.p = p, .types = TP_NEWN(work, tp_dtype, p->values.len + 1)};
    for (uint32_t v = 0; v < p->values.len; v++)
        x.types[v] = NONE;
    for (uint32_t i = 0; i < k->ninputs; i++)
        if (p->operand_value[i] >= 0)
            x.types[p->operand_value[i]] = written(k->operands[i].dtype);
    settle(&x, of_operands);
    settle(&x, of_constants);
    for (uint32_t v = 0; v < p->values.len; v++) {
        x.types[v] = x.types[v] == NONE ? TP_F32 : x.types[v];
        narrow |= x.types[v] != TP_F32;
    }
    return narrow ? x.types : NULL;
}
