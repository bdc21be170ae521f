/* What the walk notes of a step, in order, where the body moves data itself. */
#include "analyzer/flow/flight.h"

static tp_place place_of(flow *f, const tp_access *access)
{
    const tp_operand *o = &f->k->operands[access->operand];
    tp_exprs *p = f->a->p;
    tp_place at = {.operand = access->operand, .rank = o->ref_rank, .known = true};
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *s = &access->subs[d];
        at.stride[d] = s->kind == TP_SUB_SLICE ? s->stride : 1;
        at.start[d] = s->kind == TP_SUB_FULL ? tp_const(p, 0) : flow_meaning(f, s->start);
        at.size[d] = s->kind == TP_SUB_FULL ? o->ref_shape[d] : s->kind == TP_SUB_INT ? tp_const(p, 1) : s->size;
        at.known &= at.start[d].id != 0 && !flow_speaks_of_last(f, at.start[d]) && !flow_speaks_of_last(f, at.size[d]);
    }
    return at;
}

static tp_expr end_of(tp_exprs *p, const tp_place *at, uint32_t d)
{
    return tp_op2(p, TP_E_ADD, at->start[d], tp_op2(p, TP_E_MUL, tp_const(p, at->stride[d]), at->size[d]));
}

tp_expr tp_places_apart(tp_exprs *p, const tp_place *a, const tp_place *b)
{
    tp_expr any = tp_const(p, 0);
    for (uint32_t d = 0; d < a->rank && a->known && b->known; d++)
        any = tp_op2(p, TP_E_OR, any,
                     tp_op2(p, TP_E_OR, tp_op2(p, TP_E_LE, end_of(p, a, d), b->start[d]),
                            tp_op2(p, TP_E_LE, end_of(p, b, d), a->start[d])));
    return any;
}

static void note(flow *f, tp_flow_event e)
{
    e.path = flow_without_last(f, f->path); /* another loop's last turn in the next step */
    e.exact = f->certain == FLOW_ALWAYS && tp_same(e.path, f->path);
    e.told = f->certain && tp_same(e.path, f->path);
    e.syntax = f->syntax;
    tp_push(f->a->arena, f->out->events, e);
}

static bool notes(const flow *f)
{
    bool any = false;
    for (uint32_t i = 0; f->recording && i < tp_noperands(f->k) && !any; i++)
        any = tp_is_semaphore(&f->k->operands[i]) || tp_is_far(&f->k->operands[i]);
    return any;
}

void flow_note_access(flow *f, tp_flow_event_kind kind, const tp_access *a)
{
    if (notes(f) && !(f->away && kind == TP_FLOW_WRITE))
        note(f, (tp_flow_event){.kind = kind, .place = place_of(f, a), .partial = a->guarded});
}

/* No id, if it speaks of another loop's last turn. */
static tp_expr of_this_turn(const flow *f, tp_expr e)
{
    return flow_speaks_of_last(f, e) ? (tp_expr){0} : e;
}

/* On a mesh in normal form: of a number, (r * C + e) // C is r + e // C. */
static tp_coordinates device_of(flow *f, const tp_statement *s)
{
    tp_coordinates out = {0};
    for (uint32_t i = 0; i < TP_MAX_MESH && s->device[i] >= 0; i++) {
        out.at[i] = of_this_turn(f, flow_meaning(f, s->device[i]));
        if (out.at[i].id && tp_mesh_rank(f->k) > 1)
            out.at[i] = tp_expr_normal(f->a->p, out.at[i]);
    }
    return out;
}

void flow_note_copy(flow *f, tp_flow_event_kind kind, const tp_statement *s)
{
    tp_flow_event e = {.kind = kind};
    if (!notes(f))
        return;
    e.counter = place_of(f, s->semaphore);
    if (kind == TP_FLOW_SIGNAL || kind == TP_FLOW_AWAIT) {
        e.place = e.from = e.counter;
        e.bits = of_this_turn(f, flow_meaning(f, s->value));
        e.there = s->device[0] >= 0;
        e.device = device_of(f, s);
    } else {
        tp_exprs *p = f->a->p;
        e.place = place_of(f, s->access);
        e.from = place_of(f, s->from);
        e.there = kind == TP_FLOW_START && s->arrival;
        e.bits = tp_const(p, tp_dtype_info(f->k->operands[s->access->operand].dtype)->bits);
        for (uint32_t d = 0; d < e.place.rank; d++)
            e.bits = tp_op2(p, TP_E_MUL, e.bits, e.place.size[d]);
        e.bits = of_this_turn(f, e.bits);
    }
    note(f, e);
    if (kind == TP_FLOW_START && s->arrival)
        note(f, (tp_flow_event){.kind = TP_FLOW_SIGNAL,
                                .counter = place_of(f, s->arrival),
                                .bits = e.bits,
                                .there = true,
                                .device = device_of(f, s)});
}

void flow_note_leave(flow *f, tp_scope scope)
{
    if (notes(f))
        note(f, (tp_flow_event){.kind = TP_FLOW_LEAVE, .scope = scope});
}

void flow_note_copy_within(flow *f, const tp_statement *s)
{
    if (f->recording && !f->away && tp_copies_within(s))
        note(f, (tp_flow_event){.kind = TP_FLOW_COPY, .place = place_of(f, s->access), .from = place_of(f, s->from)});
}

void flow_note_loop(flow *f, tp_flow_event_kind kind, tp_expr counter, tp_expr count)
{
    if (notes(f))
        note(f, (tp_flow_event){
                    .kind = kind, .counter = {.start = {counter}}, .bits = of_this_turn(f, count), .turns = count});
}

/* Without what is no function of step and turn. */
static const tp_expr *functions(flow *f, const tp_expr *carried)
{
    tp_expr *some = TP_NEWN(f->a->arena, tp_expr, f->p->values.len + 1);
    for (uint32_t v = 0; v < f->p->values.len; v++)
        some[v] = flow_speaks_of_kept(f, carried[v]) ? (tp_expr){0} : carried[v];
    return some;
}

void flow_list_turns(flow *f, tp_flow_turns turns)
{
    turns.kept = flow_speaks_of_kept(f, turns.lo) || flow_speaks_of_kept(f, turns.hi);
    if (f->out->kept.len)
        turns.carried = functions(f, turns.carried);
    for (uint32_t i = 0; i < f->out->turns.len; i++)
        if (f->out->turns.at[i].loop == turns.loop) {
            f->out->turns.at[i].again = true;
            f->out->turns.at[i].kept |= turns.kept;
            return;
        }
    tp_push(f->a->arena, f->out->turns, turns);
}

void flow_note_turns(flow *f, tp_flow_turns turns)
{
    flow_note_loop(f, TP_FLOW_LOOP, turns.counter, turns.count);
    flow_list_turns(f, turns);
}

void flow_note_turn(flow *f, const tp_statement *s, tp_expr path, tp_expr enters, flow_turn turn)
{
    bool tells = f->certain && enters.id && turn.goes.id && turn.again.id;
    for (uint32_t i = 0; i < f->out->turns.len; i++) {
        tp_flow_turns *t = &f->out->turns.at[i];
        if (t->loop != s)
            continue;
        t->behind = t->again ? (tp_expr){0} : turn.behind;
        if (!tells || t->again)
            continue;
        t->enters = flow_and(f, path, enters);
        t->goes = flow_and(f, path, turn.goes);
        t->another = flow_and(f, path, turn.again);
        t->tested = !flow_speaks_of_last(f, t->enters) && !flow_speaks_of_last(f, t->goes) &&
                    !flow_speaks_of_last(f, t->another);
        t->last = f->last[s->value];
    }
}

uint32_t flight_loop_end(const tp_flow *f, uint32_t at)
{
    uint32_t depth = 0;
    for (uint32_t i = at; i < f->events.len; i++) {
        depth += f->events.at[i].kind == TP_FLOW_LOOP;
        depth -= f->events.at[i].kind == TP_FLOW_END;
        if (!depth)
            return i;
    }
    return f->events.len;
}
