/* Numbers that data are compared with. A bound at 1000 and a label of -100 act on no
 * number of everyday size: inputs have to lie on both sides of them. */
#include <math.h>

#include "kernels/trial/internal.h"

typedef struct tracing {
    const tp_kernel *k;
    const tp_program *p;
    const tp_inst **made; /* by value */
    const bool *from;     /* by value: comes of the input */
    double *start, *held; /* by value, of variables; by operand: the number that it was set to; else NaN */
    bool exponentiates;
    tp_thresholds *out;
} tracing;

/* The one number that all lanes of a value are, or were at first; NaN: it is none. */
static double constant_of(const tracing *x, tp_vid v)
{
    const tp_value *value = &x->p->values.at[v];
    const tp_inst *i = x->made[v];
    int64_t c;
    if (value->meaning.id)
        return tp_expr_is_const(x->k->exprs, value->meaning, &c) ? (double)c : (double)NAN;
    if (value->known)
        return value->real;
    if (!i)
        return x->start[v];
    if (i->prim == TP_P_LOAD)
        return x->held[i->access->operand];
    if (i->prim == TP_P_LITERAL)
        return i->real;
    bool same = i->prim == TP_P_CAST || i->prim == TP_P_BROADCAST || i->prim == TP_P_RESHAPE;
    return same ? constant_of(x, i->args[0]) : (double)NAN;
}

static void note_start(double *at, double c)
{
    if (!isnan(c))
        *at = c;
}

static void note(tp_thresholds *t, double c)
{
    bool known = !(fabs(c) >= 0x1p-20 && fabs(c) <= 0x1p31) || t->n == TP_MAX_THRESHOLDS;
    for (uint32_t i = 0; i < t->n && !known; i++)
        known = t->at[i] == c;
    if (!known)
        t->at[t->n++] = c;
}

/* What stands in for elements meets the others in the extreme of a row. Not beside exponentials: there it is a mask,
 * for which any number will do that is low enough. */
static void trace_inst(tracing *x, const tp_inst *i)
{
    uint32_t first = i->prim == TP_P_WHERE; /* the condition */
    bool meets = tp_prim_compares(i->prim) || i->prim == TP_P_MINIMUM || i->prim == TP_P_MAXIMUM ||
                 (i->prim == TP_P_WHERE && !x->exponentiates);
    for (uint32_t a = 0; meets && a < 2; a++)
        if (x->from[i->args[first + a]])
            note(x->out, constant_of(x, i->args[first + !a]));
    x->made[i->out] = i;
}

static void trace(tracing *x, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (tp_computed(s))
            trace_inst(x, s->inst);
        if (s->kind == TP_ASSIGN)
            note_start(&x->start[s->var], constant_of(x, s->value));
        if (tp_writes(s))
            note_start(&x->held[s->access->operand], constant_of(x, s->value));
        trace(x, &s->test);
        trace(x, &s->body);
        trace(x, &s->orelse);
    }
}

static bool exponentiates(const tp_statement *s, void *unused)
{
    (void)unused;
    return s->kind == TP_COMPUTE && tp_prim_is_exponential(s->inst->prim);
}

bool tp_has_exponentials(const tp_kernel *k)
{
    return k->body && tp_region_any(&k->body->statements, exponentiates, NULL);
}

static double *unknown(tp_arena *work, uint32_t n)
{
    double *r = TP_NEWN(work, double, n);
    for (uint32_t i = 0; i < n; i++)
        r[i] = (double)NAN;
    return r;
}

/* What a step leaves in memory the next one finds. */
static void trace_program(tp_arena *work, const tp_kernel *k, const tp_program *p, uint32_t input, tp_thresholds *out)
{
    enum { PASSES = 2 };
    uint32_t n = p->values.len + 1;
    tracing x = {.k = k,
                 .p = p,
                 .made = TP_NEWN(work, const tp_inst *, n),
                 .from = tp_comes_of(work, k, p, (int)input),
                 .start = unknown(work, n),
                 .held = unknown(work, tp_noperands(k) + 1),
                 .exponentiates = tp_has_exponentials(k),
                 .out = out};
    for (int pass = 0; pass < PASSES; pass++)
        trace(&x, &p->statements);
}

tp_thresholds tp_thresholds_of(const tp_kernel *k, uint32_t input)
{
    tp_thresholds out = {.n = 0};
    if (k->operands[input].dtype == TP_BOOL)
        return out;
    tp_arena *work = tp_arena_child(k->arena);
    if (k->body)
        trace_program(work, k, k->body, input, &out);
    if (k->reference.program)
        trace_program(work, k, k->reference.program, input, &out);
    tp_arena_free(work);
    return out;
}

bool tp_has_thresholds(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t i = 0; i < k->ninputs && !any; i++)
        any = tp_thresholds_of(k, i).n > 0;
    return any;
}
