/* Integers that name positions: labels, segments, targets. What a kernel
 * compares with positions it must meet at all of them, the far ones, too. */
#include "spec/kernel.h"

typedef struct tracing {
    const tp_kernel *k;
    uint32_t input;
    bool *from, *position; /* per value: comes of the input; is made of iota or of program ids */
    bool met;
} tracing;

bool tp_names_axes(const tp_kernel *k, tp_vid v)
{
    tp_expr meaning = k->body->values.at[v].meaning;
    for (uint32_t a = 0; meaning.id && a < k->naxes; a++)
        if (tp_expr_mentions(k->exprs, meaning, k->axes[a].sym))
            return true;
    return false;
}

static void trace_inst(tracing *x, const tp_inst *i)
{
    bool from = i->prim == TP_P_LOAD && tp_array_of(x->k, i->access->operand) == x->input,
         position = i->prim == TP_P_IOTA || i->prim == TP_P_PROGRAM_ID;
    for (uint32_t a = 0; a < i->nargs; a++) {
        from |= x->from[i->args[a]];
        position |= x->position[i->args[a]] || tp_names_axes(x->k, i->args[a]);
    }
    if (tp_prim_compares(i->prim))
        x->met |= from && position;
    tp_dtype d = x->k->body->values.at[i->out].dtype;
    x->from[i->out] = from && !tp_is_float(d) && d != TP_BOOL;
    x->position[i->out] = position && !tp_is_float(d) && d != TP_BOOL;
}

static void trace(tracing *x, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len && !x->met; n++) {
        const tp_statement *s = &r->at[n];
        if (tp_computed(s))
            trace_inst(x, s->inst);
        if (s->kind == TP_ASSIGN) {
            x->from[s->var] |= x->from[s->value];
            x->position[s->var] |= x->position[s->value];
        }
        if (s->kind == TP_LOOP)
            x->position[s->var] = true;
        trace(x, &s->test);
        trace(x, &s->body);
        trace(x, &s->orelse);
    }
}

bool tp_names_positions(const tp_kernel *k, uint32_t input)
{
    tp_dtype d = k->operands[input].dtype;
    if (!k->body || tp_is_float(d) || d == TP_BOOL)
        return false;
    tp_arena *work = tp_arena_child(k->arena);
    uint32_t n = k->body->values.len + 1;
    tracing x = {k, tp_array_of(k, input), TP_NEWN(work, bool, n), TP_NEWN(work, bool, n), false};
    trace(&x, &k->body->statements);
    tp_arena_free(work);
    return x.met;
}
