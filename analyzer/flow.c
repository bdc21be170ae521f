/* The walk over statements, memory and grid steps. */
#include "analyzer/flow_internal.h"

enum { MAX_ROUNDS = 8, MAX_WORK = 20000, MAX_UNROLL = 16, MAX_AXES = 16 };

static void walk_region(flow *f, const tp_region *r);

static tp_expr yes(flow *f)
{
    return tp_const(f->a->p, 1);
}

static bool is_false(flow *f, tp_expr e)
{
    int64_t v;
    return tp_expr_is_const(f->a->p, e, &v) && v == 0;
}

static bool is_true(flow *f, tp_expr e)
{
    int64_t v;
    return tp_expr_is_const(f->a->p, e, &v) && v != 0;
}

static flow_state copy_state(flow *f, const flow_state *s)
{
    uint32_t nvalues = f->p->values.len, nrefs = tp_noperands(f->k);
    flow_state c = {TP_NEWN(f->a->arena, flow_value, nvalues), TP_NEWN(f->a->arena, tp_leaks, nrefs)};
    memcpy(c.values, s->values, nvalues * sizeof *c.values);
    memcpy(c.refs, s->refs, nrefs * sizeof *c.refs);
    /* lists are shared; a list that changes is always a new one */
    return c;
}

/* ---- records ---- */

void flow_use(flow *f, tp_use use)
{
    if (!f->recording)
        return;
    use.path = f->path;
    use.exact = f->path_exact;
    use.syntax = f->syntax;
    tp_push(f->a->arena, f->out->uses, use);
}

static void sink(flow *f, tp_sink_kind kind, tp_vid v)
{
    const tp_value *x = &f->p->values.at[v];
    if (!f->recording || f->now.values[v].leaks.len == 0)
        return;
    tp_push(f->a->arena, f->out->sinks,
            ((tp_sink){.kind = kind,
                       .path = f->path,
                       .exact = f->path_exact,
                       .rank = x->rank,
                       .dims = x->dims,
                       .syntax = f->syntax,
                       .leaks = f->now.values[v].leaks}));
}

/* ---- memory ---- */

static tp_expr meaning_of(flow *f, tp_vid v)
{
    const tp_value *x = &f->p->values.at[v];
    return x->dtype == TP_WEAK_INT ? x->meaning : f->now.values[v].meaning;
}

/* Which lanes of the ref an access touches (`inside`), and for each lane of
 * the ref the lane of the value (`to_value`), and back (`to_ref`). False when
 * a start is not known. */
typedef struct mapping {
    tp_expr inside, *to_value, *to_ref;
    bool known, whole;
} mapping;

static mapping map_access(flow *f, const tp_access *access, const tp_node *node)
{
    const tp_operand *o = &f->k->operands[access->operand];
    tp_exprs *p = f->a->p;
    mapping m = {.inside = yes(f), .to_value = flow_identity(f), .to_ref = flow_identity(f), .known = true, .whole = true};
    uint32_t lane = 0;
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        const tp_subscript *s = &access->subs[d];
        tp_expr here = f->out->lane[d];
        if (s->kind == TP_SUB_FULL) {
            m.to_value[flow_lane_sym(f, lane)] = here;
            m.to_ref[flow_lane_sym(f, d)] = f->out->lane[lane++];
            continue;
        }
        tp_expr start = meaning_of(f, s->start), one = tp_const(p, 1);
        sink(f, TP_SINK_INDEX, s->start);
        flow_use(f, (tp_use){.kind = TP_USE_SLICE,
                             .value = start,
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
            m.inside = flow_and(f, m.inside, flow_compare(f, TP_E_EQ, tp_op2(p, TP_E_MOD, offset, stride), tp_const(p, 0)));
        m.to_value[flow_lane_sym(f, lane)] = tp_op2(p, TP_E_FLOORDIV, offset, stride);
        m.to_ref[flow_lane_sym(f, d)] =
            tp_op2(p, TP_E_ADD, start, tp_op2(p, TP_E_MUL, f->out->lane[lane++], stride));
    }
    return m;
}

static bool *lane_marks(flow *f)
{
    bool *marks = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t d = 0; d < TP_MAX_RANK; d++)
        marks[flow_lane_sym(f, d)] = true;
    return marks;
}

/* What holds for some lane: conditions on lanes are dropped. */
static void join_any_lane(flow *f, tp_leaks *into, const tp_leaks *from)
{
    bool *marks = lane_marks(f);
    uint32_t len = from->len;
    for (uint32_t i = 0; i < len; i++) {
        tp_leak l = from->at[i];
        l.when = flow_forget(f, l.when, marks);
        l.exact = false;
        flow_add(f, into, l);
    }
}

void flow_load(flow *f, const tp_inst *i)
{
    const tp_leaks *from = &f->now.refs[i->access->operand];
    flow_value *out = &f->now.values[i->out];
    mapping m = map_access(f, i->access, i->node);
    if (m.known)
        flow_join(f, &out->leaks, from, yes(f), m.whole ? NULL : m.to_ref, true);
    else
        join_any_lane(f, &out->leaks, from);
    for (uint32_t k = 0; k < out->leaks.len; k++)
        if (!out->leaks.at[k].read)
            out->leaks.at[k].read = i->node;
}

static void walk_store(flow *f, const tp_step *s)
{
    const tp_leaks *old = &f->now.refs[s->access->operand];
    tp_leaks next = {0}, value = {0};
    mapping m = map_access(f, s->access, s->syntax ? s->syntax->target : NULL);
    for (uint32_t i = 0; i < f->now.values[s->value].leaks.len; i++) {
        tp_leak l = f->now.values[s->value].leaks.at[i];
        l.stored = true;
        tp_push(f->a->arena, value, l);
    }
    if (m.whole) {
        next = value;
    } else if (m.known) {
        flow_join(f, &next, &value, m.inside, m.to_value, true);
        flow_join(f, &next, old, flow_guard(f, m.inside, true), NULL, true);
    } else { /* somewhere: every lane may be the new or the old one */
        join_any_lane(f, &next, &value);
        flow_join(f, &next, old, yes(f), NULL, false);
    }
    f->now.refs[s->access->operand] = next;
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
    flow_join(f, &merged, a, when_a, NULL, exact);
    flow_join(f, &merged, b, when_b, NULL, exact);
    *into = merged;
}

static void walk_if(flow *f, const tp_step *s)
{
    tp_expr condition = f->now.values[s->value].meaning, then = yes(f), other = then, outer = f->path;
    bool known = condition.id != 0, exact = f->path_exact;
    sink(f, TP_SINK_BRANCH, s->value);
    if (known) {
        then = flow_guard(f, condition, false);
        other = flow_guard(f, condition, true);
    }
    flow_state before = copy_state(f, &f->now);
    f->path_exact = exact && known;
    f->path = flow_and(f, outer, then);
    if (!is_false(f, f->path))
        walk_region(f, &s->body);
    flow_state after = f->now;
    f->now = before;
    f->path = flow_and(f, outer, other);
    if (!is_false(f, f->path))
        walk_region(f, &s->orelse);
    f->path = outer;
    f->path_exact = exact;
    if (is_false(f, then))
        return;
    if (is_false(f, other)) {
        f->now = after;
        return;
    }
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        merge_leaks(f, &f->now.refs[o], &after.refs[o], then, &f->now.refs[o], other, known);
    for (uint32_t v = 0; v < f->p->values.len; v++) {
        flow_value *b = &f->now.values[v], *a = &after.values[v];
        merge_leaks(f, &b->leaks, &a->leaks, then, &b->leaks, other, known);
        if (!tp_same(a->meaning, b->meaning))
            b->meaning = known && a->meaning.id && b->meaning.id
                             ? tp_ite(f->a->p, condition, a->meaning, b->meaning)
                             : (tp_expr){0};
    }
}

/* ---- what is carried from step to step ---- */

/* Is every lane that `leak` speaks of already covered by `known`, with the same source? */
static bool covered(flow *f, const tp_leaks *known, const tp_leak *leak, uint32_t rank, const tp_expr *dims)
{
    tp_expr premises[192], parts[64], theirs[64];
    uint32_t n = tp_conjuncts(f->a, leak->when, parts, 64);
    tp_claim c = {.goal = tp_const(f->a->p, 0), .over_steps = true, .premises = premises};
    c.npremises = tp_conjuncts(f->a, f->path, premises, 64);
    memcpy(premises + c.npremises, parts, n * sizeof *parts);
    c.npremises += n;
    for (uint32_t i = 0; i < known->len; i++) {
        const tp_leak *k = &known->at[i];
        if (k->birth != leak->birth || k->operand != leak->operand || k->dim != leak->dim || k->stored != leak->stored)
            continue;
        uint32_t m = tp_conjuncts(f->a, k->when, theirs, 64), found = 0;
        for (uint32_t a = 0; a < m; a++)
            for (uint32_t b = 0; b < n; b++)
                if (tp_same(theirs[a], parts[b])) {
                    found++;
                    break;
                }
        if (found == m)
            return true;
        if (c.npremises < 190)
            premises[c.npremises++] = flow_guard(f, k->when, true);
    }
    c.extra = tp_flow_vars(f->a, f->out, rank, dims, &c.nextra);
    return tp_claim_decide(f->a, &c).verdict == TP_PROVEN;
}

/* How much of a condition a guess keeps. */
typedef enum freedom {
    KEEP_LANES, /* conditions on lanes, even if they change from step to step */
    KEEP_FIXED, /* conditions on what does not change */
    KEEP_NOTHING,
} freedom;

static freedom freedom_of(int round)
{
    return round < 3 ? KEEP_LANES : round < 6 ? KEEP_FIXED : KEEP_NOTHING;
}

static tp_expr freed(flow *f, tp_expr when, const bool *changing, freedom how)
{
    tp_expr parts[64], result = yes(f);
    uint32_t n = tp_conjuncts(f->a, when, parts, 64);
    bool *lanes = lane_marks(f), *existential = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        existential[f->out->vars.at[i].sym] = !f->counters.at[i];
    for (uint32_t i = 0; i < n && how != KEEP_NOTHING; i++) {
        bool changes = flow_mentions(f, parts[i], changing);
        if (!flow_mentions(f, parts[i], existential) &&
            (!changes || (how == KEEP_LANES && flow_mentions(f, parts[i], lanes))))
            result = flow_and(f, result, parts[i]);
    }
    return result;
}

/* Add to the guess what it does not cover yet. True when something was added. */
static bool weaken(flow *f, tp_leaks *guess, const tp_leaks *found, const bool *changing, uint32_t rank,
                   const tp_expr *dims, freedom how)
{
    bool added = false;
    for (uint32_t i = 0; i < found->len; i++) {
        tp_leak l = found->at[i];
        if (covered(f, guess, &l, rank, dims))
            continue;
        l.when = freed(f, l.when, changing, how);
        l.exact = false;
        flow_add(f, guess, l);
        added = true;
    }
    return added;
}

static bool *own_variables(flow *f)
{
    bool *marks = TP_NEWN(f->a->arena, bool, tp_sym_count(f->a->p));
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        marks[f->out->vars.at[i].sym] = true;
    return marks;
}

/* ---- loops ---- */

static void collect_slots(const tp_region *r, bool *slots, bool *refs)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_step *s = &r->at[i];
        if (s->kind == TP_ASSIGN)
            slots[s->var] = true;
        if (s->kind == TP_PUT)
            refs[s->access->operand] = true;
        collect_slots(&s->body, slots, refs);
        collect_slots(&s->orelse, slots, refs);
    }
}

static void set_loop_variable(flow *f, const tp_step *s, tp_expr value)
{
    f->now.values[s->var] = (flow_value){.meaning = value};
}

static bool constant_trips(flow *f, const tp_step *s, int64_t *lo, int64_t *n)
{
    int64_t hi;
    tp_expr a = meaning_of(f, s->lo), b = meaning_of(f, s->hi);
    if (!a.id || !b.id || !tp_expr_is_const(f->a->p, a, lo) || !tp_expr_is_const(f->a->p, b, &hi))
        return false;
    int64_t span = s->by > 0 ? hi - *lo : *lo - hi, by = s->by > 0 ? s->by : -s->by;
    *n = span <= 0 ? 0 : (span + by - 1) / by;
    return *n <= MAX_UNROLL;
}

/* State at the head of iteration `counter`: the entry's in the first one, the guess later. */
static void loop_head(flow *f, const flow_state *entry, const flow_state *guess, const bool *slots, const bool *refs,
                      tp_expr counter)
{
    tp_exprs *p = f->a->p;
    tp_expr first = flow_compare(f, TP_E_EQ, counter, tp_const(p, 0)), later = flow_guard(f, first, true);
    tp_expr *back = flow_identity(f);
    back[tp_expr_get(p, counter)->value] = tp_op2(p, TP_E_SUB, counter, tp_const(p, 1));
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        if (refs[o]) {
            tp_leaks l = {0};
            flow_join(f, &l, &entry->refs[o], first, NULL, true);
            flow_join(f, &l, &guess->refs[o], later, back, true);
            f->now.refs[o] = l;
        }
    for (uint32_t v = 0; v < f->p->values.len; v++)
        if (slots[v]) {
            flow_value l = {.meaning = {0}};
            flow_join(f, &l.leaks, &entry->values[v].leaks, first, NULL, true);
            flow_join(f, &l.leaks, &guess->values[v].leaks, later, back, true);
            f->now.values[v] = l;
        }
}

static bool weaken_state(flow *f, flow_state *guess, const bool *slots, const bool *refs, const bool *changing,
                         freedom how)
{
    bool added = false;
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        if (refs[o])
            added |= weaken(f, &guess->refs[o], &f->now.refs[o], changing, f->k->operands[o].ref_rank,
                            f->k->operands[o].ref_shape, how);
    for (uint32_t v = 0; v < f->p->values.len; v++)
        if (slots[v])
            added |= weaken(f, &guess->values[v].leaks, &f->now.values[v].leaks, changing, f->p->values.at[v].rank,
                            f->p->values.at[v].dims, how);
    return added;
}

static void walk_loop(flow *f, const tp_step *s)
{
    tp_exprs *p = f->a->p;
    int64_t lo, trips;
    sink(f, TP_SINK_BOUND, s->lo);
    sink(f, TP_SINK_BOUND, s->hi);
    if (constant_trips(f, s, &lo, &trips)) {
        for (int64_t t = 0; t < trips; t++) {
            set_loop_variable(f, s, tp_const(p, lo + t * s->by));
            walk_region(f, &s->body);
        }
        return;
    }
    tp_expr a = meaning_of(f, s->lo), b = meaning_of(f, s->hi), counter = f->loop[s->var], one = tp_const(p, 1);
    tp_expr span = tp_op2(p, TP_E_SUB, s->by > 0 ? b : a, s->by > 0 ? a : b), count = {0};
    bool known = a.id && b.id, exact = f->path_exact;
    if (known)
        count = tp_op2(p, TP_E_CDIV, span, tp_const(p, s->by > 0 ? s->by : -s->by));
    for (uint32_t i = 0; i < f->out->vars.len; i++)
        if (tp_same(tp_sym(p, f->out->vars.at[i].sym), counter)) {
            f->out->vars.at[i].lo = tp_const(p, 0);
            f->out->vars.at[i].hi = known ? tp_op2(p, TP_E_SUB, count, one) : tp_const(p, INT32_MAX);
        }
    bool *slots = TP_NEWN(f->a->arena, bool, f->p->values.len), *refs = TP_NEWN(f->a->arena, bool, tp_noperands(f->k));
    bool *changing = own_variables(f), recording = f->recording;
    collect_slots(&s->body, slots, refs);
    tp_expr variable = a.id ? tp_op2(p, TP_E_ADD, a, tp_op2(p, TP_E_MUL, tp_const(p, s->by), counter)) : (tp_expr){0};
    flow_state entry = copy_state(f, &f->now);
    flow_state guess = {TP_NEWN(f->a->arena, flow_value, f->p->values.len), TP_NEWN(f->a->arena, tp_leaks, tp_noperands(f->k))};
    f->recording = false;
    f->path_exact = exact && known;
    for (int round = 0;; round++) {
        f->now = copy_state(f, &entry);
        loop_head(f, &entry, &guess, slots, refs, counter);
        set_loop_variable(f, s, variable);
        if (round > MAX_ROUNDS + 1 || f->work > MAX_WORK)
            break;
        walk_region(f, &s->body);
        if (!weaken_state(f, &guess, slots, refs, changing, freedom_of(round)))
            break;
    }
    f->recording = recording;
    if (recording) { /* once more, for the records */
        f->now = copy_state(f, &entry);
        loop_head(f, &entry, &guess, slots, refs, counter);
        set_loop_variable(f, s, variable);
        walk_region(f, &s->body);
    }
    f->path_exact = exact;
    /* after the last iteration, or never entered */
    tp_expr none = known ? flow_compare(f, TP_E_LE, count, tp_const(p, 0)) : yes(f),
            some = known ? flow_guard(f, none, true) : yes(f), *last = flow_identity(f);
    if (known)
        last[tp_expr_get(p, counter)->value] = tp_op2(p, TP_E_SUB, count, one);
    flow_state end = copy_state(f, &entry);
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        if (refs[o]) {
            end.refs[o] = (tp_leaks){0};
            flow_join(f, &end.refs[o], &entry.refs[o], none, NULL, known);
            flow_join(f, &end.refs[o], &guess.refs[o], some, last, known);
        }
    for (uint32_t v = 0; v < f->p->values.len; v++)
        if (slots[v]) {
            end.values[v] = (flow_value){.meaning = {0}};
            flow_join(f, &end.values[v].leaks, &entry.values[v].leaks, none, NULL, known);
            flow_join(f, &end.values[v].leaks, &guess.values[v].leaks, some, last, known);
        }
    f->now = end;
}

/* ---- statements ---- */

static void walk_region(flow *f, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_step *s = &r->at[i];
        if (f->work++ > MAX_WORK) {
            f->out->gave_up = TP_S("the body has too many nested loops and branches to follow");
            return;
        }
        f->syntax = s->syntax;
        switch (s->kind) {
        case TP_COMPUTE: flow_inst(f, s->inst); break;
        case TP_ASSIGN: f->now.values[s->var] = f->now.values[s->value]; break;
        case TP_PUT: walk_store(f, s); break;
        case TP_IF: walk_if(f, s); break;
        case TP_LOOP: walk_loop(f, s); break;
        case TP_ASSERT: sink(f, TP_SINK_CHECK, s->value); break;
        }
    }
}

/* ---- the grid ---- */

/* One way to come from the step before: axis `a` goes up by one, faster axes
 * start over; or, towards the next step, the same forwards. */
typedef struct neighbour {
    tp_expr when;     /* it is this axis */
    tp_expr same;     /* the window (and every parallel coordinate) stays */
    tp_expr *to;      /* axes of the neighbouring step */
} neighbour;

static tp_expr last_of(flow *f, uint32_t axis)
{
    return tp_op2(f->a->p, TP_E_SUB, f->k->axes[axis].steps, tp_const(f->a->p, 1));
}

/* Does operand o (an output: its window; scratch: its contents) live on from
 * this step to the neighbour over axis a? */
static neighbour over_axis(flow *f, const tp_operand *o, uint32_t a, bool forwards)
{
    tp_exprs *p = f->a->p;
    const tp_kernel *k = f->k;
    tp_expr one = tp_const(p, 1), zero = tp_const(p, 0), here = tp_sym(p, k->axes[a].sym);
    neighbour n = {.when = forwards ? flow_compare(f, TP_E_LT, here, last_of(f, a)) : flow_compare(f, TP_E_GE, here, one),
                   .same = k->axes[a].parallel ? zero : yes(f),
                   .to = flow_identity(f)};
    n.to[k->axes[a].sym] = tp_op2(p, forwards ? TP_E_ADD : TP_E_SUB, here, one);
    for (uint32_t b = a + 1; b < k->naxes; b++) { /* faster axes */
        tp_expr sym = tp_sym(p, k->axes[b].sym);
        n.when = flow_and(f, n.when, flow_compare(f, TP_E_EQ, sym, forwards ? last_of(f, b) : zero));
        n.to[k->axes[b].sym] = forwards ? zero : last_of(f, b);
        if (k->axes[b].parallel)
            n.same = flow_and(f, n.same, flow_compare(f, TP_E_EQ, k->axes[b].steps, one));
    }
    for (uint32_t d = 0; o->role == TP_OUTPUT && d < o->rank; d++)
        n.same = flow_and(f, n.same,
                          flow_compare(f, TP_E_EQ, o->dims[d].index,
                                       tp_expr_subst(p, o->dims[d].index, n.to, tp_sym_count(p))));
    return n;
}

/* Conditions, one per way, under which this step begins (ends) a life of o. */
static uint32_t edges(flow *f, const tp_operand *o, bool forwards, tp_expr *when)
{
    const tp_kernel *k = f->k;
    tp_exprs *p = f->a->p;
    neighbour by_axis[MAX_AXES];
    uint32_t n = 0, inner = k->naxes; /* axes from `inner` on certainly keep it */
    bool plain = true;
    for (uint32_t a = k->naxes; a-- > 0;) {
        by_axis[a] = over_axis(f, o, a, forwards);
        if (is_true(f, by_axis[a].same) && inner == a + 1)
            inner = a;
        else
            plain &= is_false(f, by_axis[a].same);
    }
    tp_expr corner = yes(f);
    for (uint32_t a = plain ? inner : 0; a < k->naxes; a++)
        corner = flow_and(f, corner,
                          flow_compare(f, TP_E_EQ, tp_sym(p, k->axes[a].sym), forwards ? last_of(f, a) : tp_const(p, 0)));
    when[n++] = corner;
    for (uint32_t a = 0; a < k->naxes && !plain; a++) {
        tp_expr e = flow_and(f, by_axis[a].when, flow_guard(f, by_axis[a].same, true));
        if (!is_false(f, e))
            when[n++] = e;
    }
    return n;
}

static tp_leaks unwritten(flow *f, uint32_t operand, tp_expr when)
{
    tp_leaks l = {0};
    flow_add(f, &l,
             (tp_leak){.when = when,
                       .birth = f->k->operands[operand].role == TP_SCRATCH ? TP_BIRTH_SCRATCH : TP_BIRTH_OUTPUT,
                       .operand = operand,
                       .through = TP_PRIMS,
                       .exact = true});
    return l;
}

/* Contents of scratch or an output window as a step finds them. */
static tp_leaks inherited(flow *f, uint32_t operand, const tp_leaks *guess)
{
    const tp_operand *o = &f->k->operands[operand];
    tp_expr when[MAX_AXES + 1];
    uint32_t n = edges(f, o, false, when);
    tp_leaks all = {0};
    for (uint32_t i = 0; i < n; i++) {
        tp_leaks born = unwritten(f, operand, when[i]);
        flow_join(f, &all, &born, yes(f), NULL, true);
    }
    for (uint32_t a = 0; a < f->k->naxes; a++) {
        neighbour before = over_axis(f, o, a, false);
        tp_expr lives = flow_and(f, before.when, before.same);
        if (!is_false(f, lives))
            flow_join(f, &all, guess, lives, before.to, true);
    }
    return all;
}

/* Lanes of a window that lie outside its array. */
static tp_leaks outside(flow *f, uint32_t operand)
{
    const tp_operand *o = &f->k->operands[operand];
    tp_exprs *p = f->a->p;
    tp_leaks all = {0};
    uint32_t lane = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        const tp_dim *dim = &o->dims[d];
        if (dim->kind == TP_DIM_SQUEEZED)
            continue;
        bool element = dim->kind == TP_DIM_ELEMENT;
        tp_expr start = element ? tp_op2(p, TP_E_SUB, dim->index, dim->pad_lo) : tp_op2(p, TP_E_MUL, dim->index, dim->block);
        tp_expr at = o->whole ? f->out->lane[lane] : tp_op2(p, TP_E_ADD, start, f->out->lane[lane]);
        tp_leak l = {.birth = TP_BIRTH_OUTSIDE, .operand = operand, .dim = d, .through = TP_PRIMS, .exact = true};
        if (!o->whole && !tp_whole_dimension(f->a, o, d)) {
            l.when = flow_compare(f, TP_E_GE, at, o->shape[d]);
            flow_add(f, &all, l);
        }
        if (element) {
            l.when = flow_compare(f, TP_E_LT, at, tp_const(p, 0));
            flow_add(f, &all, l);
        }
        lane++;
    }
    return all;
}

/* In range of its array, lane by lane. */
static tp_expr in_range(flow *f, const tp_operand *o)
{
    tp_exprs *p = f->a->p;
    tp_expr all = yes(f);
    uint32_t lane = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        const tp_dim *dim = &o->dims[d];
        if (dim->kind == TP_DIM_SQUEEZED)
            continue;
        bool element = dim->kind == TP_DIM_ELEMENT;
        tp_expr start = element ? tp_op2(p, TP_E_SUB, dim->index, dim->pad_lo) : tp_op2(p, TP_E_MUL, dim->index, dim->block);
        tp_expr at = o->whole ? f->out->lane[lane] : tp_op2(p, TP_E_ADD, start, f->out->lane[lane]);
        all = flow_and(f, all, flow_compare(f, TP_E_LT, at, o->shape[d]));
        if (element)
            all = flow_and(f, all, flow_compare(f, TP_E_GE, at, tp_const(p, 0)));
        lane++;
    }
    return all;
}

/* Axes that change while o lives. */
static bool *changing_axes(flow *f, const tp_operand *o)
{
    bool *marks = own_variables(f);
    for (uint32_t a = f->k->naxes; a-- > 0;)
        if (!is_false(f, over_axis(f, o, a, false).same))
            marks[f->k->axes[a].sym] = true;
    return marks;
}

static void start_step(flow *f, const tp_leaks *guess)
{
    f->now = (flow_state){TP_NEWN(f->a->arena, flow_value, f->p->values.len),
                          TP_NEWN(f->a->arena, tp_leaks, tp_noperands(f->k))};
    f->path = yes(f);
    f->path_exact = true;
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        f->now.refs[o] = f->k->operands[o].role == TP_INPUT ? outside(f, o) : inherited(f, o, &guess[o]);
}

static void copy_out(flow *f, uint32_t operand)
{
    const tp_operand *o = &f->k->operands[operand];
    tp_expr when[MAX_AXES + 1], range = in_range(f, o);
    uint32_t n = edges(f, o, true, when);
    for (uint32_t i = 0; i < n; i++)
        tp_push(f->a->arena, f->out->sinks,
                ((tp_sink){.kind = TP_SINK_OUTPUT,
                           .operand = operand,
                           .path = flow_and(f, when[i], range),
                           .exact = true,
                           .rank = o->ref_rank,
                           .dims = o->ref_shape,
                           .leaks = f->now.refs[operand]}));
}

static void walk_grid(flow *f)
{
    uint32_t n = tp_noperands(f->k), inputs = f->k->ninputs;
    tp_leaks *guess = TP_NEWN(f->a->arena, tp_leaks, n);
    bool **changing = TP_NEWN(f->a->arena, bool *, n);
    for (uint32_t o = inputs; o < n; o++)
        changing[o] = changing_axes(f, &f->k->operands[o]);
    for (int round = 0; round <= MAX_ROUNDS + 1; round++) {
        bool added = false;
        start_step(f, guess);
        walk_region(f, &f->p->steps);
        for (uint32_t o = inputs; o < n; o++)
            added |= weaken(f, &guess[o], &f->now.refs[o], changing[o], f->k->operands[o].ref_rank,
                            f->k->operands[o].ref_shape, freedom_of(round));
        if (!added || f->out->gave_up.n)
            break;
    }
    f->recording = true;
    f->work = 0;
    start_step(f, guess);
    walk_region(f, &f->p->steps);
    for (uint32_t o = inputs; o < inputs + f->k->noutputs; o++)
        copy_out(f, o);
}

/* ---- preparing ---- */

static tp_expr new_variable(flow *f, const char *name, tp_expr extent)
{
    tp_exprs *p = f->a->p;
    tp_expr e = tp_sym_new(p, tp_printf(f->a->arena, "%s%u", name, f->out->vars.len));
    tp_var v = {.sym = (uint32_t)tp_expr_get(p, e)->value, .lo = tp_const(p, 0), .multiple_of = 1, .step = true};
    v.hi = extent.id ? tp_op2(p, TP_E_SUB, extent, tp_const(p, 1)) : v.lo;
    tp_push(f->a->arena, f->out->vars, v);
    tp_push(f->a->arena, f->counters, !extent.id);
    return e;
}

/* Every symbol is made before the first proof. */
static void make_variables(flow *f, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_step *s = &r->at[i];
        if (s->kind == TP_LOOP)
            f->loop[s->var] = new_variable(f, "loop", (tp_expr){0});
        const tp_inst *inst = s->kind == TP_COMPUTE ? s->inst : NULL;
        uint32_t n = !inst ? 0 : inst->prim == TP_P_DOT ? inst->ncontract : 0;
        if (inst && inst->prim >= TP_P_SUM && inst->prim <= TP_P_ARGMIN)
            n = inst->nints;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t axis = (uint32_t)inst->ints[inst->prim == TP_P_DOT ? 2 * k : k];
            tp_expr v = new_variable(f, "t", f->p->values.at[inst->args[0]].dims[axis]);
            if (k == 0)
                f->reduced[inst->out] = v;
        }
        make_variables(f, &s->body);
        make_variables(f, &s->orelse);
    }
}

static bool compares(tp_prim p)
{
    return p >= TP_P_EQ && p <= TP_P_GE;
}

static void mark_index(flow *f, const tp_access *a)
{
    for (uint32_t d = 0; a && d < f->k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            f->feeds[a->subs[d].start] = true;
}

/* Backwards, until nothing changes: what masks, indices and bounds are made of. */
static bool mark_feeds(flow *f, const tp_region *r)
{
    bool changed = false;
    for (uint32_t i = r->len; i-- > 0;) {
        const tp_step *s = &r->at[i];
        const tp_inst *inst = s->kind == TP_COMPUTE ? s->inst : NULL;
        if (s->kind == TP_LOOP)
            f->feeds[s->lo] = f->feeds[s->hi] = true;
        mark_index(f, s->access);
        mark_index(f, inst ? inst->access : NULL);
        if (s->kind == TP_ASSIGN && f->feeds[s->var] && !f->feeds[s->value])
            changed = f->feeds[s->value] = true;
        for (uint32_t k = 0; inst && (f->feeds[inst->out] || compares(inst->prim)) && k < inst->nargs; k++)
            if (!f->feeds[inst->args[k]])
                changed = f->feeds[inst->args[k]] = true;
        changed |= mark_feeds(f, &s->body);
        changed |= mark_feeds(f, &s->orelse);
    }
    return changed;
}

const tp_flow *tp_flow_of(tp_analysis *a)
{
    if (!a->k->body || a->flow)
        return a->flow;
    flow f = {.a = a, .k = a->k, .p = a->k->body, .out = TP_NEW(a->arena, tp_flow)};
    uint32_t n = f.p->values.len;
    const tp_rule *rule = a->rule;
    a->flow = f.out;
    a->rule = NULL;
    f.reduced = TP_NEWN(a->arena, tp_expr, n);
    f.loop = TP_NEWN(a->arena, tp_expr, n);
    f.feeds = TP_NEWN(a->arena, bool, n);
    for (uint32_t d = 0; d < TP_MAX_RANK; d++)
        f.out->lane[d] = tp_sym_new(a->p, tp_printf(a->arena, "lane%u", d));
    make_variables(&f, &f.p->steps);
    while (mark_feeds(&f, &f.p->steps)) {
    }
    walk_grid(&f);
    a->rule = rule;
    return f.out;
}

const tp_var *tp_flow_vars(tp_analysis *a, const tp_flow *f, uint32_t rank, const tp_expr *dims, uint32_t *n)
{
    tp_var *all = TP_NEWN(a->arena, tp_var, rank + f->vars.len + 1);
    *n = 0;
    for (uint32_t d = 0; d < rank; d++)
        all[(*n)++] = (tp_var){.sym = (uint32_t)tp_expr_get(a->p, f->lane[d])->value,
                               .lo = tp_const(a->p, 0),
                               .hi = tp_op2(a->p, TP_E_SUB, dims[d], tp_const(a->p, 1)),
                               .multiple_of = 1,
                               .step = true};
    for (uint32_t i = 0; i < f->vars.len; i++)
        all[(*n)++] = f->vars.at[i];
    return all;
}

const char *tp_flow_basis(const tp_flow *f, bool windows)
{
    if (f->on_facts)
        return windows ? "F2, TP101" : "F2";
    return windows ? "TP101" : NULL;
}
