/* The walk of a kernel, made once for all rules. */
#include "analyzer/flow/internal.h"

/* Where waits do not name the copies that they end, a second walk takes copies for stores at their start. */
const tp_flow *tp_flow_of(tp_analysis *a)
{
    tp_str why;
    const tp_syntax *at = NULL;
    a->flow_used = true;
    if (!a->k->body || a->flow)
        return a->flow;
    flow_walk_again(a);
    if (!a->flow->copies || tp_flow_no_memory(a->flow).n || a->stores_at_start || flow_waits_name_copies(a, &why, &at))
        return a->flow;
    a->stores_at_start = true;
    flow_walk_again(a);
    a->flow->in_flight = why;
    a->flow->in_flight_at = at;
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
