/* What rounding may cost: by the coarsest type that numbers come through. */
#include <math.h>

#include "kernels/trial/equiv.h"

typedef struct tracing {
    const tp_program *p;
    bool *counts; /* by value: an output is computed from its number */
} tracing;

static bool count(tracing *x, tp_vid v)
{
    bool is_new = v >= 0 && !x->counts[v];
    if (is_new)
        x->counts[v] = true;
    return is_new;
}

/* What only decides says nothing about how exact the result is: a count of what is above 0. */
static bool passes(const tp_inst *i, uint32_t a)
{
    return !tp_prim_compares(i->prim) && !(i->prim == TP_P_WHERE && a == 0);
}

static bool trace(const tp_statement *s, void *ctx)
{
    tracing *x = ctx;
    const tp_inst *i = tp_computed(s);
    bool found = s->kind == TP_ASSIGN && x->counts[s->var] && count(x, s->value);
    for (uint32_t a = 0; i && x->counts[i->out] && a < i->nargs; a++)
        found |= passes(i, a) && count(x, i->args[a]);
    return found;
}

/* By value of the reference. */
static bool *numbers_that_count(tp_arena *a, const tp_kernel *k, const tp_program *p)
{
    tracing x = {p, TP_NEWN(a, bool, p->values.len + 1)};
    for (uint32_t o = 0; o < k->noutputs; o++)
        count(&x, p->operand_value[k->ninputs + o]);
    tp_region_settle(&p->statements, trace, &x);
    return x.counts;
}

/* A cast that the reference spells out is meant. */
static bool coarser(const tp_statement *s, void *ctx)
{
    double *u = ctx;
    if (s->kind == TP_COMPUTE && s->inst->prim == TP_P_CAST && tp_is_float((tp_dtype)s->inst->integer))
        *u = fmax(*u, tp_dtype_roundoff((tp_dtype)s->inst->integer));
    return false;
}

/* The roundoff of the coarsest float type. */
static double coarsest_roundoff(tp_arena *a, const tp_kernel *k)
{
    const tp_program *p = k->reference.program;
    const bool *numbers = p ? numbers_that_count(a, k, p) : NULL;
    double u = 0;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++) {
        tp_dtype d = k->operands[i].dtype;
        bool counts = i >= k->ninputs ||
                      (tp_dtype_info(d)->bits > 8 && (!p || p->operand_value[i] < 0 || numbers[p->operand_value[i]]));
        if (tp_is_float(d) && counts)
            u = fmax(u, tp_dtype_roundoff(d));
    }
    if (p)
        tp_region_any(&p->statements, coarser, &u);
    return u;
}

double tp_tolerance(const tp_kernel *k)
{
    if (k->tolerance > 0)
        return k->tolerance;
    tp_arena *work = tp_arena_child(k->arena);
    double u = coarsest_roundoff(work, k);
    tp_arena_free(work);
    return u == 0 ? 0 : u == 0x1p-53 ? 1024 * u : 1024 * 0x1p-24 + 8 * u;
}

/* ---- approximations ---- */

/* Of the conditions of loops, and of the bools that they are made of: does one compare floats? */
typedef struct conditions {
    tracing made;
    bool floats;
} conditions;

static bool trace_condition(const tp_statement *s, void *ctx)
{
    conditions *c = ctx;
    tracing *x = &c->made;
    const tp_inst *i = tp_computed(s);
    bool found = (s->kind == TP_WHILE || (s->kind == TP_ASSIGN && x->counts[s->var])) && count(x, s->value);
    for (uint32_t a = 0; i && x->counts[i->out] && a < i->nargs; a++) {
        tp_dtype d = x->p->values.at[i->args[a]].dtype;
        found |= d == TP_BOOL && count(x, i->args[a]);
        c->floats |= tp_prim_compares(i->prim) && tp_is_float(d);
    }
    return found;
}

bool tp_approximates(const tp_kernel *k)
{
    tp_arena *work = k->body ? tp_arena_child(k->arena) : NULL;
    conditions c = {.made = {.p = k->body}};
    if (work) {
        c.made.counts = TP_NEWN(work, bool, k->body->values.len + 1);
        tp_region_settle(&k->body->statements, trace_condition, &c);
    }
    tp_arena_free(work);
    return c.floats;
}
