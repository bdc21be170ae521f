/* Following the statements of a step (or of a reference): which ran, in which
 * order, on which values. Only what decides is computed: branch conditions,
 * bounds, indices. */
#include "base/checked.h"
#include "demand/internal.h"

/* Statements that are followed stay: memory for each, which costs as much as several operations. */
enum { EVENT_COST = 4, SLICE_COST = 4 };

static event *event_new(tp_demand *d, event_kind kind, tp_vid vid, moment *m)
{
    event *e = TP_NEW(d->arena, event);
    e->kind = kind;
    e->vid = vid;
    e->when = m;
    e->id = d->ids++;
    demand_charge(d, EVENT_COST);
    return e;
}

static const event *value_now(tp_demand *d, tp_vid v)
{
    const event *e = d->values[v] ? d->values[v] : d->constants[v];
    if (e)
        return e;
    const tp_value *x = &d->p->values.at[v];
    if (x->dtype != TP_WEAK_INT)
        demand_give_up(d, TP_DEMAND_OPEN, "a value is used before it is there");
    event *c = event_new(d, EVENT_NUMBER, v, NULL);
    c->number = (double)demand_size(d, x->meaning);
    return d->constants[v] = c;
}

static const slice *resolve(tp_demand *d, const tp_access *a)
{
    const shape *ref = &d->refs[a->operand];
    slice *s = TP_NEW(d->arena, slice);
    demand_charge(d, SLICE_COST);
    s->rank = ref->rank;
    for (uint32_t i = 0; i < s->rank; i++) {
        const tp_subscript *sub = &a->subs[i];
        s->size[i] = sub->kind == TP_SUB_FULL ? ref->dims[i] : sub->kind == TP_SUB_INT ? 1 : demand_size(d, sub->size);
        s->stride[i] = sub->kind == TP_SUB_SLICE ? sub->stride : 1;
        s->start[i] = sub->kind == TP_SUB_FULL ? 0 : demand_decide_index(d, value_now(d, sub->start), "an index");
        int64_t last;
        if (s->size[i] > 0 && !a->guarded && /* else lane by lane, when one is looked at */
            (s->start[i] < 0 || !tp_last(s->start[i], s->size[i], s->stride[i], &last) || last >= ref->dims[i]))
            demand_give_up(d, TP_DEMAND_TRAP,
                           "%lld elements from %lld of dimension %u of `%.*s`, %lld apart; it has %lld "
                           "(" TP_RULE_SLICE_OUT_OF_BOUNDS ")",
                           (long long)s->size[i], (long long)s->start[i], i, TP_FMT(d->k->operands[a->operand].name),
                           (long long)s->stride[i], (long long)ref->dims[i]);
    }
    return s;
}

static void follow_inst(tp_demand *d, moment *m, const tp_inst *i)
{
    if (i->prim == TP_P_VARIABLE) {
        d->values[i->out] = value_now(d, i->args[0]);
        return;
    }
    if (d->once[i->out]) {
        d->values[i->out] = d->once[i->out];
        return;
    }
    event *e = event_new(d, EVENT_INST, i->out, m);
    e->inst = i;
    e->args = i->nargs ? TP_NEWN(d->arena, const event *, i->nargs) : NULL;
    for (uint32_t a = 0; a < i->nargs; a++)
        e->args[a] = value_now(d, i->args[a]);
    if (i->prim == TP_P_LOAD) {
        e->operand = i->access->operand;
        e->at = resolve(d, i->access);
        e->previous = m->last[e->operand];
    }
    d->values[i->out] = e;
    if (d->timeless[i->out])
        d->once[i->out] = e;
}

static void follow_store(tp_demand *d, moment *m, const tp_statement *s)
{
    event *e = event_new(d, EVENT_STORE, -1, m);
    e->args = TP_NEWN(d->arena, const event *, 1);
    e->args[0] = value_now(d, s->value);
    e->operand = s->access->operand;
    e->at = resolve(d, s->access);
    e->previous = m->last[e->operand];
    m->last[e->operand] = e;
}

/* A store of nothing to all of each buffer. */
static void follow_enter(tp_demand *d, moment *m, const tp_statement *s)
{
    for (uint32_t o = s->scope.first; o < s->scope.first + s->scope.n; o++) {
        event *e = event_new(d, EVENT_STORE, -1, m);
        e->operand = o;
        m->last[o] = e;
    }
}

static void follow(tp_demand *d, moment *m, const tp_region *r);

static void follow_loop(tp_demand *d, moment *m, const tp_statement *s)
{
    int64_t lo = demand_decide_index(d, value_now(d, s->lo), "a loop bound"),
            hi = demand_decide_index(d, value_now(d, s->hi), "a loop bound");
    int64_t turns;
    if (!tp_turns(lo, hi, s->by, &turns))
        demand_give_up(d, TP_DEMAND_TOO_FAR, "a loop of the body has too many turns");
    demand_afford(d, turns); /* what will not come to the last turn is not begun */
    for (int64_t k = 0; k < turns; k++) {
        event *e = event_new(d, EVENT_NUMBER, s->var, m);
        e->number = (double)(lo + k * s->by);
        d->values[s->var] = e;
        follow(d, m, &s->body);
    }
}

static void follow(tp_demand *d, moment *m, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        switch (s->kind) {
        case TP_COMPUTE: follow_inst(d, m, s->inst); break;
        case TP_ASSIGN: d->values[s->var] = value_now(d, s->value); break;
        case TP_COPY_START: /* nobody looks at it in flight (TP504) */
        case TP_PUT: follow_store(d, m, s); break;
        case TP_LOOP: follow_loop(d, m, s); break;
        case TP_ENTER: follow_enter(d, m, s); break;
        case TP_COPY_WAIT:
        case TP_SIGNAL:
        case TP_AWAIT:
        case TP_LEAVE:
        case TP_ASSERT: break; /* changes nothing */
        case TP_WHILE:
            for (follow(d, m, &s->test); demand_decide(d, value_now(d, s->value), "a loop condition") != 0;
                 follow(d, m, &s->test)) {
                demand_charge(d, 1);
                follow(d, m, &s->body);
            }
            break;
        case TP_IF:
            follow(d, m, demand_decide(d, value_now(d, s->value), "a branch condition") != 0 ? &s->body : &s->orelse);
            break;
        }
    }
}

/* A step may look at the step before it, which is followed while this one is. */
void demand_follow_step(tp_demand *d, moment *m)
{
    if (m->ready)
        return;
    const event **outer = d->values;
    d->values = TP_NEWN(d->arena, const event *, d->p->values.len + 1);
    memset(m->last, 0, tp_noperands(d->k) * sizeof *m->last); /* it may have been given up before */
    for (uint32_t o = 0; o < d->k->ninputs + d->k->noutputs; o++)
        demand_window(d, m, o);
    follow(d, m, &d->p->statements);
    d->values = outer;
    m->ready = true;
}

void demand_follow_reference(tp_demand *d)
{
    const tp_kernel *k = d->k;
    if (d->ready)
        return;
    d->values = TP_NEWN(d->arena, const event *, d->p->values.len + 1);
    for (uint32_t i = 0; i < k->ninputs; i++) {
        event *e = event_new(d, EVENT_INPUT, d->p->operand_value[i], NULL);
        e->operand = i;
        d->values[e->vid] = e;
    }
    for (uint32_t t = 0; t < k->ntables; t++) {
        event *e = event_new(d, EVENT_TABLE, d->p->table_value[t], NULL);
        e->operand = t;
        if (e->vid >= 0)
            d->values[e->vid] = e;
    }
    follow(d, NULL, &d->p->statements);
    d->ready = true;
}
