/* The walk of a kernel, made once for all rules. */
#include "analyzer/flow/internal.h"
#include "base/budget.h"

/* With a part of what is left of the work. */
static const tp_share SHARE = {0.75, "following the body", {NULL, 0}};

static void walk_within_budget(flow *f)
{
    tp_str why;
    if (!tp_within(f->a->arena, &SHARE, flow_walk_body, f, &why))
        f->out->gave_up = why; /* nothing of the walk is used */
}

/* The walk follows the memory of one device, and arrays that all its steps share. */
static tp_str by_others(const tp_analysis *a)
{
    if (tp_is_connected(a->k) && !a->received)
        return a->not_received.n ? a->not_received : TP_S("what devices write to each other is not known");
    if (tp_has_shards(a->k) && !tp_has_devices(a->k))
        return TP_S("an array of which each step sees a part, and copies move others, is followed by execution alone");
    return (tp_str){NULL, 0};
}

/* One walk; `unroll`: with loops of few turns written out; `keeps`: with symbols for what SMEM and loops carry. Is it
 * of use? */
static bool walk_once(flow *f, tp_analysis *a, bool unroll, bool keeps)
{
    uint32_t n = a->k->body->values.len;
    const tp_rule *rule = a->rule;
    *f = (flow){.a = a,
                .k = a->k,
                .p = a->k->body,
                .out = TP_NEW(a->arena, tp_flow),
                .unrolled = 1,
                .unroll = unroll,
                .keeps = keeps};
    a->rule = NULL;
    const tp_budget *budget = tp_arena_budget(a->arena);
    int64_t spent = budget ? budget->spent : 0;
    f->out->asked = TP_NEW(a->arena, tp_flow_asked);
    f->reduced = TP_NEWN(a->arena, tp_expr, n);
    f->loop = TP_NEWN(a->arena, tp_expr, n);
    f->made = TP_NEWN(a->arena, const tp_inst *, n);
    f->last = TP_NEWN(a->arena, tp_expr, n);
    f->fits = TP_NEWN(a->arena, bool, n);
    f->search = TP_NEWN(a->arena, flow_search, n);
    f->doubted = TP_NEWN(a->arena, bool, n);
    f->data = tp_sym_new(a->p, TP_S("data"));
    f->feeds = TP_NEWN(a->arena, bool, n);
    f->quiet = TP_NEWN(a->arena, bool, tp_noperands(a->k));
    for (uint32_t v = 0; v < n; v++)
        if (f->p->values.at[v].variable)
            tp_push(a->arena, f->variables, (tp_vid)v);
    f->out->others = by_others(a);
    walk_within_budget(f);
    f->out->cost = budget ? budget->spent - spent : 0;
    if (tp_exprs_overflowed(a->p)) { /* nothing of the walk is used */
        f->out->gave_up = TP_S("the conditions in the body grow too large to follow");
        tp_exprs_forget_overflow(a->p);
    }
    a->rule = rule;
    return !f->out->gave_up.n;
}

/* May that be spent once more? */
static bool is_affordable(const tp_analysis *a, int64_t cost)
{
    const tp_budget *b = tp_arena_budget(a->arena);
    return !b || (double)cost < SHARE.part * (double)(b->limit - b->spent);
}

void flow_walk_again(tp_analysis *a)
{
    flow f;
    bool keeps = !a->flow || (a->flow->kept.len && is_affordable(a, a->flow->cost)),
         good = walk_once(&f, a, false, keeps);
    if (!good && f.out->kept.len) /* of what is carried nothing is known, then */
        good = walk_once(&f, a, false, keeps = false);
    bool coarse = f.coarse;
    a->flow = f.out;
    if (good && !coarse)
        return;
    if (f.out->summarised && walk_once(&f, a, true, keeps) && !(good && f.coarse)) {
        f.out->summarised = false;
        a->flow = f.out;
    }
    a->flow->summarised = false; /* nothing is left to be tried */
}

/* What is not shown of all turns at once may be shown turn by turn. */
static void receive_unrolled(tp_analysis *a)
{
    flow f;
    tp_flow_exchange(a);
    a->not_received = flow_find_received(a);
    if (a->received && walk_once(&f, a, true, a->flow->kept.len))
        a->flow = f.out;
    tp_flow_exchange(a);
}

bool tp_flow_unroll(tp_analysis *a)
{
    flow f;
    if (!a->flow || !a->flow->summarised)
        return false;
    if (!a->unrolled) {
        bool good = walk_once(&f, a, true, a->flow->kept.len) && !f.coarse;
        a->unrolled = f.out;
        a->flow->summarised = good; /* tried once */
        if (good && tp_is_connected(a->k) && !a->received)
            receive_unrolled(a);
        if (!good)
            return false;
    }
    tp_flow_exchange(a);
    return true;
}

void tp_flow_exchange(tp_analysis *a)
{
    struct tp_flow *other = a->unrolled;
    a->unrolled = a->flow;
    a->flow = other;
}

static bool reaches(const tp_statement *s, void *operands)
{
    bool *reached = operands;
    if (s->arrival)
        reached[s->access->operand] = true;
    return false;
}

/* A walk for what happens, of which nothing undefined is followed in what others write to: whether that matters is told
 * by its events, and where it does nothing is known of memory. */
static void walk_for_events(tp_analysis *a)
{
    bool *reached = TP_NEWN(a->arena, bool, tp_noperands(a->k));
    tp_region_any(&a->k->body->statements, reaches, reached);
    a->received = reached;
    flow_walk_again(a);
    a->received = NULL;
}

/* The walk takes copies for stores at their waits, which is not shown to be right (`why`: TP504 is not proven; else
 * waits do not name their copies). One that takes them for stores at their start is made; where it gives up, what the
 * first one knows of integers and of events, which does not depend on that, is kept. */
static void store_at_start(tp_analysis *a, tp_str why, const tp_syntax *at)
{
    tp_flow *first = a->flow;
    a->stores_at_start = true;
    flow_walk_again(a);
    tp_flow *second = a->flow;
    if (second->gave_up.n) {
        first->unstored =
            !why.n ? second->gave_up
                   : tp_printf(a->arena,
                               "what a copy leaves is known where " TP_RULE_IN_FLIGHT " is proven, and it is not: %.*s",
                               TP_FMT(why));
        a->flow = first;
    } else if (first->kept.len && !second->kept.len) { /* it knows nothing of what is carried */
        first->memory = second;
        a->flow = first;
    }
    first->in_flight = second->in_flight = why;
    first->in_flight_at = second->in_flight_at = at;
}

/* Where waits do not name the copies that they end, a second walk takes copies for stores at their start. */
const tp_flow *tp_flow_of(tp_analysis *a)
{
    tp_str why;
    const tp_syntax *at = NULL;
    a->flow_used = true;
    if (!a->k->body || a->flow)
        return a->flow;
    a->stores_at_start |= tp_is_connected(a->k); /* a wait names no copy that comes from another device */
    if (tp_is_connected(a->k))
        walk_for_events(a);
    else
        flow_walk_again(a);
    if (tp_is_connected(a->k) && !a->flow->gave_up.n) {
        a->not_received = flow_find_received(a);
        if (a->received)
            flow_walk_again(a);
        else
            a->flow->others = a->not_received;
        return a->flow;
    }
    if (!a->flow->copies || tp_flow_no_memory(a->flow).n || a->stores_at_start || flow_waits_name_copies(a, &why, &at))
        return a->flow;
    store_at_start(a, why, at);
    return a->flow;
}

const tp_flow *tp_flow_exact(tp_analysis *a)
{
    struct tp_flow *kept = a->flow;
    if (!a->exact) {
        a->nothing_wraps = true;
        flow_walk_again(a);
        a->nothing_wraps = false;
        a->exact = a->flow;
        a->flow = kept;
    }
    return a->exact;
}
