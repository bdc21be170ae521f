/* Loops that are walked turn by turn: of few turns whose number is known. */
#include "analyzer/flow/internal.h"
#include "base/checked.h"

/* Does it store elements, one by one, of what SMEM keeps, and nothing else? */
static bool stores_kept(const flow *f, const tp_region *r)
{
    bool any = false, only = true;
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        bool puts = s->kind == TP_PUT && flow_keeps(f, s);
        any |= puts || (s->kind == TP_LOOP && stores_kept(f, &s->body));
        only &= puts || s->kind == TP_COMPUTE || s->kind == TP_LOOP;
    }
    return any && only;
}

bool flow_is_unrolled(flow *f, const tp_statement *s, int64_t *lo, int64_t *n)
{
    int64_t hi;
    tp_expr a = flow_meaning(f, s->lo), b = flow_meaning(f, s->hi);
    if (!a.id || !b.id || !tp_expr_is_const(f->a->p, a, lo) || !tp_expr_is_const(f->a->p, b, &hi))
        return false;
    bool few = tp_turns(*lo, hi, s->by, n) && *n <= FLOW_MOST_UNROLLED && *n * f->unrolled <= FLOW_MOST_UNROLLED;
    if (few && *n * f->unrolled <= FLOW_MOST_KEEPING && stores_kept(f, &s->body))
        return true;
    f->out->summarised |= few && !f->unroll;
    return few && f->unroll;
}
