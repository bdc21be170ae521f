/* What all files of an evaluator need: its budget, giving up, places in arrays. */
#include <stdarg.h>

#include "base/assert.h"
#include "base/checked.h"
#include "demand/internal.h"

_Noreturn void demand_give_up(tp_demand *d, tp_demand_outcome outcome, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    d->outcome = outcome;
    d->why = tp_vprintf(d->arena, fmt, ap);
    va_end(ap);
    tp_leave(d->arena, TP_E_LIMIT);
}

void demand_afford(tp_demand *d, int64_t n)
{
    if (n > d->o.budget - d->work)
        demand_give_up(d, TP_DEMAND_TOO_FAR, "it takes more than %lld operations", (long long)d->o.budget);
}

void demand_charge(tp_demand *d, int64_t n)
{
    demand_afford(d, n);
    d->work += n;
    tp_spend(d->arena, n);
}

int64_t demand_size(tp_demand *d, tp_expr e)
{
    int64_t v = 0;
    tp_eval_error err = tp_expr_eval(d->k->exprs, e, d->env, &v);
    if (err != TP_EVAL_OK)
        demand_give_up(d, TP_DEMAND_TRAP, "an index map, a shape or a step count %s", tp_eval_error_text(err));
    return v;
}

/* x / n; small numbers are divided in a fraction of the time. */
static int64_t quotient(int64_t x, int64_t n)
{
    return (uint64_t)(x | n) <= UINT32_MAX ? (int64_t)((uint32_t)x / (uint32_t)n) : x / n;
}

void demand_unravel(const shape *s, int64_t lane, int64_t *at)
{
    for (uint32_t i = s->rank; i-- > 1;) {
        int64_t next = quotient(lane, s->dims[i]);
        at[i] = lane - next * s->dims[i];
        lane = next;
    }
    tp_assert(lane >= 0 && (!s->rank || !lane || lane < s->dims[0]));
    if (s->rank)
        at[0] = lane;
}

int64_t demand_ravel(const shape *s, const int64_t *at)
{
    int64_t lane = 0;
    for (uint32_t i = 0; i < s->rank; i++) {
        tp_assert(at[i] >= 0 && (at[i] < s->dims[i] || (at[i] == 0 && s->dims[i] == 0))); /* or where nothing begins */
        lane = lane * s->dims[i] + at[i];
    }
    return lane;
}

tp_dtype demand_dtype(const tp_demand *d, tp_vid v)
{
    return d->p->values.at[v].dtype;
}

_Noreturn void demand_not_modelled(tp_demand *d, tp_prim p)
{
    demand_give_up(d, TP_DEMAND_OPEN, "`%s` is not modelled", tp_prim_info(p)->name);
}
