/* The walk over statements and memory; preparing it. */
#include "analyzer/flow/internal.h"
#include "base/budget.h"
#include "base/checked.h"

enum { EFFORT_PER_UNIT = 8 };

flow_state flow_copy_state(flow *f, const flow_state *s)
{
    uint32_t nvalues = flow_nvalues(f), nrefs = tp_noperands(f->k);
    flow_state c = {TP_NEWN(f->a->arena, flow_value, nvalues), TP_NEWN(f->a->arena, tp_leaks, nrefs)};
    memcpy(c.values, s->values, nvalues * sizeof *c.values);
    memcpy(c.refs, s->refs, nrefs * sizeof *c.refs);
    /* lists are shared; a list that changes is always a new one */
    return c;
}

/* ---- records ---- */

/* What holds where this statement is executed. */
static tp_expr here(flow *f)
{
    return flow_and(f, flow_and(f, f->path, f->entered), f->behind);
}

void flow_use(flow *f, tp_use use)
{
    if (!f->recording)
        return;
    use.path = here(f);
    use.exact = f->certain == FLOW_ALWAYS && !flow_speaks_of_kept(f, f->path) && !flow_speaks_of_kept(f, f->entered) &&
                !flow_speaks_of_kept(f, use.value) && !flow_speaks_of_kept(f, use.size) &&
                !flow_speaks_of_kept(f, use.guard);
    use.syntax = f->syntax;
    use.turn = f->turn;
    tp_push(f->a->arena, f->out->uses, use);
}

static void sink(flow *f, tp_sink_kind kind, tp_vid v)
{
    const tp_value *x = &f->p->values.at[v];
    if (!f->recording || f->now.values[v].leaks.len == 0)
        return;
    tp_push(f->a->arena, f->out->sinks,
            ((tp_sink){.kind = kind,
                       .path = here(f),
                       .exact = f->certain == FLOW_ALWAYS && !flow_speaks_of_kept(f, f->path),
                       .rank = x->rank,
                       .dims = x->dims,
                       .syntax = f->syntax,
                       .leaks = f->now.values[v].leaks}));
}

/* ---- memory ---- */

/* Which lanes of the ref an access touches (`inside`), and for each lane of
 * the ref the lane of the value (`to_value`), and back (`to_ref`). False when
 * a start is not known. */
typedef struct mapping {
    tp_expr inside, *to_value, *to_ref;
    bool known, whole;
} mapping;

/* How a scalar integer is computed, as far as expressions say it: of abs(x), which is a choice, they do not. */
static tp_expr text_of(flow *f, tp_vid v, int depth)
{
    const tp_inst *i = f->made[v];
    tp_expr meaning = flow_meaning(f, v), leaf = meaning.id ? meaning : f->data, args[3];
    if (!i || i->prim == TP_P_ABS)
        return i ? f->data : leaf;
    tp_expr_op op = tp_prim_info(i->prim)->expr;
    bool chooses = i->prim == TP_P_WHERE;
    if (depth == 0 || (!chooses && (op == TP_E_CONST || i->nargs != 2)))
        return leaf;
    for (uint32_t k = 0; k < i->nargs; k++)
        args[k] = text_of(f, i->args[k], depth - 1);
    return chooses ? tp_ite(f->a->p, f->data, args[1], args[2]) : tp_op2(f->a->p, op, args[0], args[1]);
}

static mapping map_access(flow *f, const tp_access *access, const tp_node *node)
{
    const tp_operand *o = &f->k->operands[access->operand];
    tp_exprs *p = f->a->p;
    mapping m = {
        .inside = flow_yes(f), .to_value = flow_identity(f), .to_ref = flow_identity(f), .known = true, .whole = true};
    uint32_t lane = 0;
    const tp_value *mask = access->guarded ? &f->p->values.at[access->mask] : NULL;
    const flow_value *known = mask ? &f->now.values[access->mask] : NULL;
    tp_expr guard =
        known && known->meaning.id && !known->leaks.len ? flow_guard(f, known->meaning, false) : (tp_expr){0};
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *s = &access->subs[d];
        tp_expr here = f->out->lane[d];
        if (s->kind == TP_SUB_FULL) {
            m.to_value[flow_lane_sym(f, lane)] = here;
            m.to_ref[flow_lane_sym(f, d)] = f->out->lane[lane++];
            continue;
        }
        tp_expr start = flow_meaning(f, s->start), one = tp_const(p, 1);
        sink(f, TP_SINK_INDEX, s->start);
        flow_use(f, (tp_use){.kind = TP_USE_SLICE,
                             .text = text_of(f, s->start, 4),
                             .value = start,
                             .rank = mask ? mask->rank : 0,
                             .dims = mask ? mask->dims : NULL,
                             .guarded = mask != NULL,
                             .guard = guard,
                             .along = s->kind == TP_SUB_INT ? (tp_expr){0} : f->out->lane[lane],
                             .node = node,
                             .operand = access->operand,
                             .dim = d,
                             .size = s->kind == TP_SUB_INT ? one : s->size,
                             .extent = o->ref_shape[d],
                             .stride = s->stride});
        m.whole = false;
        m.known &= start.id != 0;
        if (!start.id) {
            lane += s->kind == TP_SUB_SLICE;
            continue;
        }
        tp_expr offset = tp_op2(p, TP_E_SUB, here, start), stride = tp_const(p, s->stride);
        if (s->kind == TP_SUB_INT) {
            m.inside = flow_and(f, m.inside, flow_compare(f, TP_E_EQ, here, start));
            m.to_ref[flow_lane_sym(f, d)] = start;
            continue;
        }
        tp_expr end = tp_op2(p, TP_E_MUL, s->size, stride);
        m.inside = flow_and(f, m.inside, flow_compare(f, TP_E_GE, offset, tp_const(p, 0)));
        m.inside = flow_and(f, m.inside, flow_compare(f, TP_E_LT, offset, end));
        if (s->stride > 1)
            m.inside =
                flow_and(f, m.inside, flow_compare(f, TP_E_EQ, tp_op2(p, TP_E_MOD, offset, stride), tp_const(p, 0)));
        m.to_value[flow_lane_sym(f, lane)] = tp_op2(p, TP_E_FLOORDIV, offset, stride);
        m.to_ref[flow_lane_sym(f, d)] = tp_op2(p, TP_E_ADD, start, tp_op2(p, TP_E_MUL, f->out->lane[lane++], stride));
    }
    return m;
}

void flow_any_lane(flow *f, tp_leaks *into, const tp_leaks *from)
{
    bool *marks = flow_lane_marks(f);
    uint32_t len = from->len;
    for (uint32_t i = 0; i < len; i++) {
        tp_leak l = from->at[i];
        l.when = flow_forget(f, l.when, marks);
        l.exact = false;
        flow_add(f, into, l);
    }
}

/* A copy of the list; in memory a leak is `stored` when a statement put it there. */
static tp_leaks with_stored(flow *f, const tp_leaks *from, bool stored)
{
    tp_leaks copy = {0};
    bool all = true;
    for (uint32_t i = 0; i < from->len && all; i++)
        all = from->at[i].stored == stored;
    if (all)
        return *from;
    for (uint32_t i = 0; i < from->len; i++) {
        tp_leak l = from->at[i];
        l.stored = stored;
        flow_add(f, &copy, l);
    }
    return copy;
}

/* Where nothing is undefined it is what SMEM keeps there. */
static void load_kept(flow *f, const tp_inst *i, tp_expr inside)
{
    flow_value *out = &f->now.values[i->out];
    tp_expr is = flow_load_kept(f, i->access->operand, inside);
    if (is.id && out->leaks.len && !f->doubted[i->out])
        f->doubted_now = f->doubted[i->out] = true;
    if (is.id && !f->doubted[i->out])
        out->meaning = is;
}

void flow_load(flow *f, const tp_inst *i)
{
    tp_leaks from = with_stored(f, &f->now.refs[i->access->operand], false);
    flow_value *out = &f->now.values[i->out];
    mapping m = map_access(f, i->access, i->node);
    flow_note_access(f, TP_FLOW_READ, i->access);
    if (tp_is_far(&f->k->operands[i->access->operand]) && !flow_is_received(f, i->access->operand))
        flow_unordered(f, i->access->operand, &out->leaks);
    if (m.known)
        flow_join(f, &out->leaks, &from, flow_yes(f), m.whole ? NULL : m.to_ref, true);
    else
        flow_any_lane(f, &out->leaks, &from);
    if (m.known)
        out->meaning = flow_entries(f, &f->k->operands[i->access->operand], m.whole ? NULL : m.to_ref);
    if (!m.whole)
        flow_drop_impossible(f, &out->leaks, f->p->values.at[i->out].rank, f->p->values.at[i->out].dims);
    if (m.known && !f->p->values.at[i->out].rank)
        load_kept(f, i, m.inside);
    for (uint32_t k = 0; k < out->leaks.len; k++)
        if (!out->leaks.at[k].read)
            out->leaks.at[k].read = i->node;
}

/* A number, where the spec fixes what the table holds. */
static tp_expr entry_of(flow *f, const tp_table *t, uint32_t n, const tp_expr *index)
{
    tp_expr read = tp_read(f->a->p, t->sym, n, index);
    bool fixed = t->contents != NULL;
    int64_t *env = TP_NEWN(f->a->arena, int64_t, tp_sym_count(f->a->p)), v;
    for (uint32_t d = 0; d < n && fixed; d++)
        fixed = tp_expr_is_const(f->a->p, index[d], NULL);
    tp_bind_table(env, t->sym, t->contents);
    return fixed && tp_expr_eval(f->a->p, read, env, &v) == TP_EVAL_OK ? tp_const(f->a->p, v) : read;
}

void flow_read(flow *f, const tp_inst *i, flow_value *out)
{
    tp_expr index[TP_TABLE_RANK];
    bool known = true;
    for (uint32_t d = 0; d < i->nargs; d++) {
        index[d] = flow_meaning(f, i->args[d]);
        sink(f, TP_SINK_INDEX, i->args[d]);
        flow_use(
            f,
            (tp_use){
                .kind = TP_USE_TABLE, .value = index[d], .node = i->node, .operand = (uint32_t)i->integer, .dim = d});
        known &= index[d].id != 0;
    }
    if (known)
        out->meaning = entry_of(f, &f->k->tables[i->integer], i->nargs, index);
}

/* What a copy, its start or its wait takes of a ref. */
static void note_moved(flow *f, const tp_access *side)
{
    const tp_operand *o = &f->k->operands[side->operand];
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *s = &side->subs[d];
        if (s->kind != TP_SUB_FULL)
            flow_use(f, (tp_use){.kind = TP_USE_MOVED,
                                 .value = flow_meaning(f, s->start),
                                 .text = text_of(f, s->start, 4),
                                 .operand = side->operand,
                                 .dim = d,
                                 .size = s->kind == TP_SUB_INT ? tp_const(f->a->p, 1)
                                         : s->block.id         ? s->block
                                                               : s->size,
                                 .extent = o->ref_shape[d],
                                 .cut = s->kind == TP_SUB_SLICE && s->block.id,
                                 .stride = s->kind == TP_SUB_INT ? 0 : s->stride});
    }
}

/* To where others write, too: what is read there is defined as long as this is. */
static void store_to_received(flow *f, const tp_leaks *value)
{
    if (f->recording && value->len)
        f->out->others = TP_S("that what other devices may find is defined is not shown");
}

static void store_kept(flow *f, const tp_statement *s, const mapping *m)
{
    tp_expr value = flow_meaning(f, s->value);
    bool known = m->known && !s->access->guarded && value.id;
    if (known && !m->whole)
        value = tp_expr_subst(f->a->p, value, m->to_value, tp_sym_count(f->a->p));
    flow_store_kept(f, s->access->operand, m->known ? m->inside : flow_yes(f), known ? value : (tp_expr){0});
}

static void walk_store(flow *f, const tp_statement *s)
{
    const tp_leaks *old = &f->now.refs[s->access->operand];
    tp_leaks next = {0}, value = with_stored(f, &f->now.values[s->value].leaks, true);
    mapping m = map_access(f, s->access, s->syntax ? s->syntax->target : NULL);
    flow_note_store(f, s->access->operand, m.inside);
    flow_note_access(f, TP_FLOW_WRITE, s->access);
    store_kept(f, s, &m);
    flow_note_copy_within(f, s);
    if (flow_is_received(f, s->access->operand)) {
        store_to_received(f, &value);
        return;
    }
    if (m.whole) {
        next = value;
    } else if (m.known) {
        flow_join(f, &next, &value, m.inside, m.to_value, true);
        flow_join(f, &next, old, flow_guard(f, m.inside, true), NULL, true);
    } else { /* somewhere: every lane may be the new or the old one */
        flow_any_lane(f, &next, &value);
        flow_join(f, &next, old, flow_yes(f), NULL, false);
    }
    f->now.refs[s->access->operand] = next;
}

static void note_device(flow *f, const tp_statement *s)
{
    for (uint32_t i = 0; i < TP_MAX_MESH && s->device[i] >= 0; i++) {
        sink(f, TP_SINK_INDEX, s->device[i]);
        flow_use(f, (tp_use){.kind = TP_USE_DEVICE,
                             .value = flow_meaning(f, s->device[i]),
                             .dim = i,
                             .extent = f->k->axes[i].steps});
    }
}

static void walk_start(flow *f, const tp_statement *s)
{
    f->out->copies = true;
    note_device(f, s);
    f->away = s->arrival != NULL;
    if (s->arrival)
        map_access(f, s->arrival, NULL);
    if (tp_stores_here(f->k->operands, s, f->a->stores_at_start)) {
        walk_store(f, s);
    } else {
        map_access(f, s->access, NULL);
        flow_note_access(f, TP_FLOW_WRITE, s->access);
        flow_note_copy_within(f, s);
    }
    f->away = false;
    map_access(f, s->semaphore, NULL);
    flow_note_copy(f, TP_FLOW_START, s);
}

/* Neither side is looked at by the wait itself, so nothing is recorded of them. */
static void walk_wait(flow *f, const tp_statement *s)
{
    bool recording = f->recording;
    map_access(f, s->semaphore, NULL);
    flow_note_copy(f, TP_FLOW_WAIT, s);
    if (!tp_stores_here(f->k->operands, s, f->a->stores_at_start))
        return;
    f->recording = false;
    f->now.values[s->value] = (flow_value){.meaning = {0}};
    flow_load(f, s->inst);
    walk_store(f, s);
    f->recording = recording;
}

/* ---- branches ---- */

static void merge_leaks(flow *f, tp_leaks *into, const tp_leaks *a, tp_expr when_a, const tp_leaks *b, tp_expr when_b,
                        bool exact)
{
    if (a->at == b->at && a->len == b->len) {
        *into = *a;
        return;
    }
    tp_leaks merged = {0};
    flow_join_arm(f, &merged, a, when_a, b, exact);
    flow_join_arm(f, &merged, b, when_b, a, exact);
    *into = merged;
}

/* What statements behind an `if` see of its arms: memory, and the values that statements assign. A state whose values
 * are those of f->variables. */
static flow_state visible(flow *f)
{
    uint32_t nrefs = tp_noperands(f->k);
    flow_state s = {TP_NEWN(f->a->arena, flow_value, f->variables.len), TP_NEWN(f->a->arena, tp_leaks, nrefs)};
    for (uint32_t i = 0; i < f->variables.len; i++)
        s.values[i] = f->now.values[f->variables.at[i]];
    memcpy(s.refs, f->now.refs, nrefs * sizeof *s.refs);
    return s;
}

static void show(flow *f, const flow_state *s)
{
    for (uint32_t i = 0; i < f->variables.len; i++)
        f->now.values[f->variables.at[i]] = s->values[i];
    memcpy(f->now.refs, s->refs, tp_noperands(f->k) * sizeof *s->refs);
}

/* f->now, behind the other arm, becomes what is behind either of them. */
static void merge_arms(flow *f, const flow_state *after, tp_expr condition, tp_expr then, tp_expr other)
{
    bool known = condition.id != 0;
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        merge_leaks(f, &f->now.refs[o], &after->refs[o], then, &f->now.refs[o], other, known);
    for (uint32_t i = 0; i < f->variables.len; i++) {
        flow_value *b = &f->now.values[f->variables.at[i]], *a = &after->values[i];
        merge_leaks(f, &b->leaks, &a->leaks, then, &b->leaks, other, known);
        if (!tp_same(a->meaning, b->meaning))
            b->meaning = known && a->meaning.id && b->meaning.id ? tp_ite(f->a->p, condition, a->meaning, b->meaning)
                                                                 : (tp_expr){0};
        if (!tp_same(a->zero, b->zero))
            b->zero = (tp_expr){0};
    }
}

static void walk_if(flow *f, const tp_statement *s)
{
    tp_expr condition = f->now.values[s->value].meaning, then = flow_yes(f), other = then, outer = f->path,
            behind = f->behind;
    bool known = condition.id != 0;
    flow_certainty certain = f->certain;
    sink(f, TP_SINK_BRANCH, s->value);
    if (known) {
        then = flow_guard(f, condition, false);
        other = flow_guard(f, condition, true);
    }
    flow_state before = visible(f);
    f->certain = known ? certain : FLOW_PERHAPS;
    f->path = flow_and(f, outer, then);
    if (!flow_is_false(f, f->path))
        flow_walk(f, &s->body);
    flow_state after = visible(f);
    show(f, &before);
    f->behind = behind;
    f->path = flow_and(f, outer, other);
    if (!flow_is_false(f, f->path))
        flow_walk(f, &s->orelse);
    f->path = outer;
    f->behind = behind;
    f->certain = certain;
    if (flow_is_false(f, other))
        show(f, &after);
    else if (!flow_is_false(f, then))
        merge_arms(f, &after, condition, then, other);
}

/* ---- loops ---- */

static void collect_slots(const flow *f, const tp_region *r, bool *slots, bool *refs)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_ASSIGN)
            slots[s->var] = true;
        if (tp_writes(s) || s->kind == TP_COPY_WAIT)
            refs[s->access->operand] = true;
        for (uint32_t k = 0; (tp_writes(s) || s->kind == TP_COPY_WAIT) && k < f->nkept; k++)
            slots[flow_kept_value(f, k)] |= f->out->kept.at[k].operand == s->access->operand;
        for (uint32_t o = 0; s->kind == TP_ENTER && o < s->scope.n; o++)
            refs[s->scope.first + o] = true;
        collect_slots(f, &s->test, slots, refs);
        collect_slots(f, &s->body, slots, refs);
        collect_slots(f, &s->orelse, slots, refs);
    }
}

/* One turn of a `for`, whose variable has this value. */
static void walk_for(flow *f, const tp_statement *s, tp_expr value)
{
    tp_flow_turn *turn = TP_NEW(f->a->arena, tp_flow_turn);
    *turn = (tp_flow_turn){f->turn, s->syntax, value};
    f->turn = turn;
    f->now.values[s->var] = (flow_value){.meaning = value};
    flow_walk(f, &s->body);
    f->turn = turn->outer;
}

/* A loop of which one turn is walked for all: a `for` of any number of them, or a `while`. */
typedef struct turns {
    const tp_statement *s;
    tp_expr from, to;        /* of a `for`, where they are known; */
    tp_expr variable;        /* ... and its variable in a turn */
    tp_expr counter, count;  /* the turn, from 0; how many there are, if that is known */
    tp_expr enters;          /* of a `while`: when there is a first one, if that is known */
    bool *slots, *refs;      /* what turns change: values, and by operand */
    bool *ends;              /* by operand: the last turn leaves what no other one does */
    flow_state entry, guess; /* before the first turn; the invariant, at the end of each */
    const tp_expr *carried;  /* by value: its integers at the head of a turn */
} turns;

/* State at the head of a turn: the entry's in the first one, the guess later. */
static void loop_head(flow *f, const turns *t)
{
    tp_exprs *p = f->a->p;
    tp_expr first = flow_compare(f, TP_E_EQ, t->counter, tp_const(p, 0)), later = flow_guard(f, first, true);
    tp_expr *back = flow_identity(f);
    back[tp_expr_get(p, t->counter)->value] = tp_op2(p, TP_E_SUB, t->counter, tp_const(p, 1));
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        if (t->refs[o]) {
            tp_leaks l = {0};
            flow_join(f, &l, &t->entry.refs[o], first, NULL, true);
            flow_join(f, &l, &t->guess.refs[o], later, back, true);
            f->now.refs[o] = l;
        }
    for (uint32_t v = 0; v < flow_nvalues(f); v++)
        if (t->slots[v]) {
            flow_value l = {.meaning = t->carried[v]};
            flow_join(f, &l.leaks, &t->entry.values[v].leaks, first, NULL, true);
            flow_join(f, &l.leaks, &t->guess.values[v].leaks, later, back, true);
            f->now.values[v] = l;
        }
}

/* `another`: there is one more turn. What only the last one leaves is not for the next: then the operand is marked. */
static bool weaken_guess(flow *f, turns *t, const bool *changing, tp_expr another, flow_freedom_kind how)
{
    bool changed = false;
    for (uint32_t o = 0; o < tp_noperands(f->k); o++) {
        if (!t->refs[o])
            continue;
        tp_leaks left = flow_within(f, &f->now.refs[o], another);
        t->ends[o] |= left.len < f->now.refs[o].len;
        changed |= flow_weaken(f, &t->guess.refs[o], &left, changing, f->k->operands[o].ref_rank,
                               f->k->operands[o].ref_shape, how);
    }
    for (uint32_t v = 0; v < f->p->values.len; v++) /* what SMEM keeps leaks as memory */
        if (t->slots[v])
            changed |= flow_weaken(f, &t->guess.values[v].leaks, &f->now.values[v].leaks, changing,
                                   f->p->values.at[v].rank, f->p->values.at[v].dims, how);
    return changed;
}

/* When it lets a turn begin; no id: that is not known. */
static tp_expr walk_test(flow *f, const tp_statement *s)
{
    flow_walk(f, &s->test);
    f->syntax = s->syntax;
    sink(f, TP_SINK_BRANCH, s->value);
    tp_expr passes = f->now.values[s->value].meaning;
    return passes.id && f->tests ? flow_guard(f, passes, false) : (tp_expr){0};
}

/* ... of a turn; nothing is recorded, as it is executed on the way into the loop, and at the end of each turn. */
static tp_expr look_at_test(flow *f, const tp_statement *s)
{
    bool recording = f->recording;
    f->recording = false;
    tp_expr goes = walk_test(f, s);
    if (!goes.id && f->fits[s->value] && !f->a->nothing_wraps) {
        f->a->nothing_wraps = true;
        goes = walk_test(f, s);
        f->a->nothing_wraps = false;
    }
    f->recording = recording;
    return goes;
}

flow_turn flow_walk_turn(flow *f, const tp_statement *s, tp_expr variable)
{
    tp_expr outer = f->path, behind = f->behind;
    flow_turn turn = {.goes = {0}};
    if (s->kind == TP_LOOP) {
        walk_for(f, s, variable);
        turn.behind = f->behind;
        f->behind = behind;
        return turn;
    }
    turn.goes = look_at_test(f, s);
    if (turn.goes.id)
        f->path = flow_and(f, f->path, turn.goes);
    flow_walk(f, &s->body);
    turn.again = walk_test(f, s);
    turn.behind = f->behind;
    f->path = outer;
    f->behind = behind;
    return turn;
}

/* The counter's range. */
static void set_turns(flow *f, tp_expr counter, tp_expr count)
{
    tp_exprs *p = f->a->p;
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        if ((int64_t)f->out->vars.at[i].sym == tp_expr_get(p, counter)->value) {
            f->out->vars.at[i].lo = tp_const(p, 0);
            f->out->vars.at[i].hi =
                count.id && f->unrolled <= 1 ? tp_op2(p, TP_E_SUB, count, tp_const(p, 1)) : tp_const(p, INT32_MAX);
        }
}

/* The turns 0, …, count - 1 of a loop that is entered now; count: no id, unknown. In a loop that is unrolled around it
 * the range is another one each time, and what was recorded keeps the path. */
static void start_counter(flow *f, tp_expr counter, tp_expr count)
{
    uint32_t sym = (uint32_t)tp_expr_get(f->a->p, counter)->value;
    bool again = f->unrolled > 1;
    set_turns(f, counter, count);
    if (count.id && again)
        f->path = flow_and(f, f->path, flow_compare(f, TP_E_LT, counter, count));
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        f->now.refs[o] = flow_retire(f, &f->now.refs[o], sym, 1);
    for (uint32_t v = 0; v < flow_nvalues(f); v++)
        f->now.values[v].leaks = flow_retire(f, &f->now.values[v].leaks, sym, 1);
    flow_forget_zeros(f, sym);
    flow_forget_carried(f, counter);
}

static bool is_loop(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_LOOP || s->kind == TP_WHILE;
}

/* However often: what a turn inherits from the one before it is guessed. */
/* The loop as it is entered; of a `while` the test is walked on the way in. */
static turns enter_loop(flow *f, const tp_statement *s)
{
    tp_exprs *p = f->a->p;
    bool counted = s->kind == TP_LOOP;
    turns t = {.s = s, .counter = f->loop[counted ? s->var : s->value]};
    if (counted) {
        tp_expr a = t.from = flow_meaning(f, s->lo), b = t.to = flow_meaning(f, s->hi);
        if (a.id)
            t.variable = tp_op2(p, TP_E_ADD, a, tp_op2(p, TP_E_MUL, tp_const(p, s->by), t.counter));
        if (a.id && b.id)
            t.count = tp_op2(p, TP_E_CDIV, tp_op2(p, TP_E_SUB, s->by > 0 ? b : a, s->by > 0 ? a : b),
                             tp_const(p, s->by > 0 ? s->by : -s->by));
    }
    start_counter(f, t.counter, t.count);
    if (!counted) {
        flow_retire_last(f, s);
        t.enters = walk_test(f, s);
    }
    t.slots = TP_NEWN(f->a->arena, bool, flow_nvalues(f));
    t.refs = TP_NEWN(f->a->arena, bool, tp_noperands(f->k));
    t.ends = TP_NEWN(f->a->arena, bool, tp_noperands(f->k));
    collect_slots(f, &s->test, t.slots, t.refs);
    collect_slots(f, &s->body, t.slots, t.refs);
    t.entry = flow_copy_state(f, &f->now);
    t.guess = (flow_state){TP_NEWN(f->a->arena, flow_value, flow_nvalues(f)),
                           TP_NEWN(f->a->arena, tp_leaks, tp_noperands(f->k))};
    return t;
}

/* What holds at the end of each turn: a guess, weakened until a turn keeps it. False: none was found. */
static bool find_invariant(flow *f, turns *t, flow_turn *turn)
{
    tp_exprs *p = f->a->p;
    bool weak = false, *changing = flow_own_variables(f);
    t->carried = flow_carry(f, t->s, &t->entry, t->slots, t->counter, t->count, t->from, t->enters, &weak);
    if (t->s->kind != TP_LOOP && !weak) {
        loop_head(f, t);
        tp_expr goes = look_at_test(f, t->s);
        t->count = goes.id && f->unrolled <= 1 ? flow_turns_of(f, goes, t->counter) : (tp_expr){0};
        set_turns(f, t->counter, t->count);
    }
    tp_expr next = tp_op2(p, TP_E_ADD, t->counter, tp_const(p, 1)),
            another = t->count.id ? flow_compare(f, TP_E_LT, next, t->count) : flow_yes(f);
    for (int round = 0;; round++) {
        f->now = flow_copy_state(f, &t->entry);
        loop_head(f, t);
        if (round > FLOW_MAX_ROUNDS + 1)
            f->out->gave_up = TP_S("no invariant was found for a loop of the body");
        *turn = flow_walk_turn(f, t->s, t->variable);
        if (f->out->gave_up.n)
            return false;
        if (!weaken_guess(f, t, changing, another, flow_freedom(round)))
            return true;
    }
}

/* One turn once more, for the records; `outer`: the path to the loop. */
static void record_turn(flow *f, const turns *t, const flow_turn *turn, tp_expr outer)
{
    tp_expr one = tp_const(f->a->p, 1);
    if (t->count.id || t->enters.id)
        f->entered = flow_and(f, f->entered, t->count.id ? flow_compare(f, TP_E_GE, t->count, one) : t->enters);
    f->now = flow_copy_state(f, &t->entry);
    loop_head(f, t);
    flow_note_turns(f, (tp_flow_turns){t->s, t->counter, t->from, t->to, t->count, t->carried, false, false});
    flow_walk_turn(f, t->s, t->variable);
    for (uint32_t v = 0; v < flow_nvalues(f); v++)
        if (t->slots[v])
            flow_end_turn(f, t->s, v, t->carried[v]);
    flow_note_loop(f, TP_FLOW_END, t->counter, t->count);
    flow_note_turn(f, t->s, outer, t->count.id ? (tp_expr){0} : t->enters, *turn);
}

/* After the last turn, or never entered. */
static void leave_loop(flow *f, const turns *t)
{
    tp_exprs *p = f->a->p;
    bool known = t->count.id;
    int64_t at = tp_expr_get(p, t->counter)->value;
    tp_expr none = known ? flow_compare(f, TP_E_LE, t->count, tp_const(p, 0)) : flow_yes(f),
            some = known ? flow_guard(f, none, true) : flow_yes(f), *last = flow_identity(f);
    if (known)
        last[at] = tp_op2(p, TP_E_SUB, t->count, tp_const(p, 1));
    tp_expr *turned = flow_identity(f), zero = tp_const(p, 0);
    if (known)
        turned[at] =
            flow_holds(f, tp_op2(p, TP_E_GE, t->count, zero), 0, NULL) ? t->count : tp_op2(p, TP_E_MAX, t->count, zero);
    flow_state end = flow_copy_state(f, &t->entry);
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        if (t->refs[o]) {
            end.refs[o] = (tp_leaks){0};
            flow_join(f, &end.refs[o], &t->entry.refs[o], none, NULL, known);
            flow_join(f, &end.refs[o], t->ends[o] ? &f->now.refs[o] : &t->guess.refs[o], some, last, known);
        }
    for (uint32_t v = 0; v < flow_nvalues(f); v++)
        if (t->slots[v]) {
            end.values[v] = (flow_value){.meaning = {0}};
            if (known && t->carried[v].id)
                end.values[v].meaning =
                    flow_searched(f, tp_expr_normal(p, tp_expr_subst(p, t->carried[v], turned, tp_sym_count(p))));
            else if (!known && t->enters.id && f->unrolled <= 1)
                end.values[v].meaning =
                    flow_left_by_last(f, t->s, v, t->counter, t->enters, t->entry.values[v].meaning);
            flow_join(f, &end.values[v].leaks, &t->entry.values[v].leaks, none, NULL, known);
            flow_join(f, &end.values[v].leaks, &t->guess.values[v].leaks, some, last, known);
        }
    f->now = end;
}

static void walk_turns(flow *f, const tp_statement *s)
{
    if (tp_region_any(&s->test, is_loop, NULL)) { /* it is walked twice, and has one range for its turns */
        f->out->gave_up = TP_S("a loop in the condition of a `while`");
        return;
    }
    const flow_certainty certain = f->certain;
    const tp_expr outer = f->path, around = f->entered;
    turns t = enter_loop(f, s);
    flow_turn turn = {.goes = {0}};
    const bool recording = f->recording;
    f->recording = false;
    f->certain = t.count.id ? certain : FLOW_PERHAPS;
    if (!find_invariant(f, &t, &turn))
        return;
    f->recording = recording;
    f->certain = t.count.id ? certain : turn.goes.id && certain ? FLOW_IN_TURNS : FLOW_PERHAPS;
    if (recording)
        record_turn(f, &t, &turn, outer);
    f->certain = certain;
    f->path = outer;
    f->entered = around;
    leave_loop(f, &t);
    flow_retire_carried(f, t.counter);
    if (s->kind == TP_WHILE && !t.count.id && f->unrolled <= 1)
        f->behind = flow_and(f, f->behind, flow_last_known(f, s, t.counter, t.enters, turn));
}

static void walk_loop(flow *f, const tp_statement *s)
{
    tp_exprs *p = f->a->p;
    int64_t lo, trips;
    sink(f, TP_SINK_BOUND, s->lo);
    sink(f, TP_SINK_BOUND, s->hi);
    if (flow_is_unrolled(f, s, &lo, &trips)) {
        int64_t outer = f->unrolled;
        f->unrolled *= trips ? trips : 1;
        if (f->recording && !f->unroll)
            flow_list_turns(f, (tp_flow_turns){s, f->loop[s->var], flow_meaning(f, s->lo), flow_meaning(f, s->hi),
                                               tp_const(p, trips), TP_NEWN(f->a->arena, tp_expr, flow_nvalues(f)),
                                               false, false});
        for (int64_t t = 0; t < trips; t++)
            walk_for(f, s, tp_const(p, lo + t * s->by));
        f->unrolled = outer;
        return;
    }
    walk_turns(f, s);
}

/* ---- statements ---- */

void flow_walk(flow *f, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        tp_spend(f->a->arena, 100 + (int64_t)(f->effort - f->charged) / EFFORT_PER_UNIT);
        f->charged = f->effort;
        if (f->work++ > f->most_work || f->effort > (f->unroll ? FLOW_UNROLLED_EFFORT : FLOW_MAX_EFFORT)) {
            f->out->gave_up = TP_S("the body has too many loops, branches and slices to follow");
            return;
        }
        f->syntax = s->syntax;
        if (s->from) {
            note_moved(f, s->from);
            note_moved(f, s->access);
        }
        switch (s->kind) {
        case TP_COMPUTE:
            f->made[s->inst->out] = s->inst;
            flow_inst(f, s->inst);
            break;
        case TP_ASSIGN: f->now.values[s->var] = f->now.values[s->value]; break;
        case TP_PUT: walk_store(f, s); break;
        case TP_COPY_START: walk_start(f, s); break;
        case TP_COPY_WAIT: walk_wait(f, s); break;
        case TP_SIGNAL:
        case TP_AWAIT:
            map_access(f, s->semaphore, NULL);
            note_device(f, s);
            sink(f, TP_SINK_BOUND, s->value);
            flow_note_copy(f, s->kind == TP_SIGNAL ? TP_FLOW_SIGNAL : TP_FLOW_AWAIT, s);
            break;
        case TP_IF: walk_if(f, s); break;
        case TP_LOOP: walk_loop(f, s); break;
        case TP_WHILE: walk_turns(f, s); break;
        case TP_ASSERT:
            sink(f, TP_SINK_CHECK, s->value);
            if (!s->text.n)
                flow_use(f, (tp_use){.kind = TP_USE_CLAIMED, .value = flow_meaning(f, s->value)});
            break;
        case TP_ENTER:
            for (uint32_t o = s->scope.first; o < s->scope.first + s->scope.n; o++)
                f->now.refs[o] = flow_unwritten(f, o, flow_yes(f));
            break;
        case TP_LEAVE: flow_note_leave(f, s->scope); break;
        }
    }
}
