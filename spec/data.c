/* Which values of a program come of what inputs hold. */
#include "spec/kernel.h"

typedef struct tracing {
    int input;  /* -1: any */
    bool *from; /* by value: comes of it */
    bool *kept; /* by operand: holds what comes of it */
} tracing;

static bool mark(bool *at, bool from)
{
    bool is_new = from && !*at;
    *at |= from;
    return is_new;
}

static bool trace(const tp_statement *s, void *ctx)
{
    tracing *x = ctx;
    const tp_inst *i = tp_computed(s);
    bool found = false, from = i && i->access && x->kept[i->access->operand];
    for (uint32_t a = 0; i && a < i->nargs; a++)
        from |= x->from[i->args[a]];
    if (i)
        found |= mark(&x->from[i->out], from);
    if (s->kind == TP_ASSIGN)
        found |= mark(&x->from[s->var], x->from[s->value]);
    if (tp_writes(s) && s->value >= 0)
        found |= mark(&x->kept[s->access->operand], x->from[s->value]);
    return found;
}

bool *tp_comes_of(tp_arena *a, const tp_kernel *k, const tp_program *p, int input)
{
    tracing x = {
        .input = input, .from = TP_NEWN(a, bool, p->values.len + 1), .kept = TP_NEWN(a, bool, tp_noperands(k) + 1)};
    for (uint32_t i = 0; i < k->ninputs; i++)
        if (input < 0 || tp_array_of(k, i) == (uint32_t)input) {
            x.kept[i] = true;
            if (p->operand_value && p->operand_value[i] >= 0)
                x.from[p->operand_value[i]] = true;
        }
    tp_region_settle(&p->statements, trace, &x);
    return x.from;
}
