/* What a walk has decided before its first step, for people who ask why a kernel is slow. */
#include "kernels/machine/internal.h"

typedef struct planning {
    tp_machine m;
    tp_plan *out;
} planning;

static tp_manner manner_of(const tp_machine *m, const tp_inst *i)
{
    if (m->repeats && m->repeats[i->out])
        return TP_MANNER_AGAIN;
    if (m->fixed[i->out] != TP_VARIES)
        return TP_MANNER_ONCE;
    if (m->shows && m->shows[i->out])
        return TP_MANNER_SHOWN;
    if (m->added && m->added[i->out])
        return TP_MANNER_SUM;
    if (m->chosen && m->chosen[i->out])
        return TP_MANNER_ROWS;
    return m->k->body->values.at[i->out].rank && tp_fuse_may_wait(m, i) ? TP_MANNER_WAITS : TP_MANNER_OWN;
}

static bool note(const tp_statement *s, void *ctx)
{
    const planning *x = ctx;
    if (tp_computed(s))
        x->out->values[s->inst->out] = manner_of(&x->m, s->inst);
    return false;
}

static void prepare(void *arg)
{
    planning *x = arg;
    tp_machine *m = &x->m;
    tp_walk_prepare(m);
    x->out->body = m->body;
    x->out->values = TP_NEWN(m->arena, tp_manner, m->k->body->values.len + 1);
    x->out->windows = TP_NEWN(m->arena, tp_window_plan, tp_noperands(m->k));
    tp_region_any(m->body, note, x);
    x->out->joined = tp_join_most(m, &x->out->axis);
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        x->out->windows[i] =
            (tp_window_plan){m->refs[i].in_place, m->refs[i].streams, m->refs[i].awaited || m->refs[i].jumps};
}

tp_status tp_machine_plan(tp_arena *a, const tp_run_request *r, tp_plan *out, tp_trap *trap)
{
    planning x = {.m = tp_machine_new(a, r, trap), .out = out};
    tp_status st = tp_try(a, prepare, &x);
    if (st == TP_E_MEMORY || st == TP_E_BUDGET)
        tp_leave(a, st);
    return st;
}
