#include "analyzer/alike.h"

#include "analyzer/analyze.h"
#include "analyzer/claim/claim.h"
#include "analyzer/flow/flow.h"
#include "base/map.h"

enum { MOST_HOLES = 8, MOST_WORK = 200000, MOST_COPIED = 200 };

/* A body, as far as it is walked. */
typedef struct side {
    const tp_program *p;
    const tp_inst **by; /* per value: its instruction; NULL: a variable, or not met yet */
    uint32_t *when;     /* per value: how many statements came before that instruction */
    tp_vid *partner;    /* per variable: that of the other side, + 1 */
    bool *counts;       /* per variable: the turns of a loop */
} side;

/* In which lanes a value is another one than its partner. */
typedef enum hole_kind {
    HOLE_EVERYWHERE,
    HOLE_UNLIKE,    /* in those in which it is not `by`, an integer of positions */
    HOLE_APART,     /* where one of the conditions `own` and `by` holds */
    HOLE_UNDER,     /* where the condition `by` holds */
    HOLE_NOT_UNDER, /* where it does not */
} hole_kind;

typedef struct hole {
    tp_vid value;
    hole_kind kind;
    tp_vid own, by;
    bool foreign; /* `by` is of the other body */
} hole;

typedef struct pairing {
    tp_arena *arena;
    const tp_kernel *k;
    tp_exprs *e;
    side mine, other;
    hole holes[MOST_HOLES];
    uint32_t nholes;
    tp_map known; /* pairs of values: 1 not the same, 2 the same */
    uint32_t now; /* statements walked */
    uint32_t work;
    bool waits;
} pairing;

/* ---- the same value ---- */

static const tp_value *value_of(const side *s, tp_vid v)
{
    return &s->p->values.at[v];
}

static bool same_number(const pairing *p, tp_expr x, tp_expr y)
{
    return x.id && y.id && tp_same(tp_expr_normal(p->e, x), tp_expr_normal(p->e, y));
}

static bool same_type(const pairing *p, tp_vid v, tp_vid w)
{
    const tp_value *x = value_of(&p->mine, v), *y = value_of(&p->other, w);
    bool same = x->dtype == y->dtype && x->rank == y->rank;
    for (uint32_t d = 0; same && d < x->rank; d++)
        same = same_number(p, x->dims[d], y->dims[d]);
    return same;
}

static bool is_assigned(const side *s, tp_vid v)
{
    return value_of(s, v)->variable && !s->counts[v];
}

/* Does it look at memory or at variables, which change? */
static bool looks_at_state(const side *s, const tp_inst *i)
{
    bool looks = i->access != NULL;
    for (uint32_t k = 0; k < i->nargs; k++)
        looks |= is_assigned(s, i->args[k]);
    return looks;
}

/* The same but for the arguments, and at the same time where time matters. */
static bool same_operation(const pairing *p, tp_vid v, tp_vid w)
{
    const tp_inst *x = p->mine.by[v], *y = p->other.by[w];
    if (x->prim != y->prim || x->nargs != y->nargs || x->nints != y->nints || x->integer != y->integer ||
        x->reverse != y->reverse || x->ncontract != y->ncontract || x->nbatch != y->nbatch ||
        memcmp(x->ints, y->ints, sizeof x->ints) != 0 || memcmp(&x->real, &y->real, sizeof x->real) != 0 ||
        (x->starts == NULL) != (y->starts == NULL) || (x->access == NULL) != (y->access == NULL))
        return false;
    for (uint32_t d = 0; x->starts && d < value_of(&p->mine, x->args[0])->rank; d++)
        if (!same_number(p, x->starts[d], y->starts[d]))
            return false;
    return p->mine.when[v] == p->other.when[w] || (!looks_at_state(&p->mine, x) && !looks_at_state(&p->other, y));
}

typedef bool same_value(pairing *p, tp_vid v, tp_vid w);

static bool same_access(pairing *p, const tp_access *x, const tp_access *y, same_value *same)
{
    if (!x || !y || x->operand != y->operand || x->guarded != y->guarded)
        return x == y;
    for (uint32_t d = 0; d < p->k->operands[x->operand].ref_rank; d++) {
        const tp_subscript *s = &x->subs[d], *t = &y->subs[d];
        if (s->kind != t->kind ||
            (s->kind == TP_SUB_SLICE && (s->stride != t->stride || !same_number(p, s->size, t->size))) ||
            (s->kind != TP_SUB_FULL && !same(p, s->start, t->start)))
            return false;
    }
    return !x->guarded || same(p, x->mask, y->mask);
}

static bool same_arguments(pairing *p, const tp_inst *x, const tp_inst *y, same_value *same)
{
    for (uint32_t k = 0; k < x->nargs; k++)
        if (!same(p, x->args[k], y->args[k]))
            return false;
    return same_access(p, x->access, y->access, same);
}

static bool is_same(pairing *p, tp_vid v, tp_vid w);

static bool find_same(pairing *p, tp_vid v, tp_vid w)
{
    const tp_inst *x = p->mine.by[v], *y = p->other.by[w];
    if (value_of(&p->mine, v)->dtype == TP_WEAK_INT || value_of(&p->other, w)->dtype == TP_WEAK_INT)
        return same_number(p, value_of(&p->mine, v)->meaning, value_of(&p->other, w)->meaning);
    if (!x || !y)
        return !x && !y && p->mine.partner[v] == w + 1;
    return same_type(p, v, w) && same_operation(p, v, w) && same_arguments(p, x, y, is_same);
}

/* In all lanes. */
static bool is_same(pairing *p, tp_vid v, tp_vid w)
{
    tp_vid *key = TP_NEWN(p->arena, tp_vid, 2);
    key[0] = v;
    key[1] = w;
    tp_str pair = {(const char *)key, 2 * sizeof *key};
    uint32_t known = tp_map_get(&p->known, pair);
    if (!known && ++p->work > MOST_WORK)
        return false;
    if (!known) {
        known = find_same(p, v, w) ? 2 : 1;
        tp_map_set(p->arena, &p->known, pair, known);
    }
    return known == 2;
}

/* ---- the same but for some lanes ---- */

/* Is it an integer or a bool of iota, program ids, counters of loops, sizes and tables alone? */
static bool is_of_positions(pairing *p, const side *s, tp_vid v)
{
    const tp_inst *i = s->by[v];
    const tp_value *x = value_of(s, v);
    if (x->dtype == TP_WEAK_INT)
        return true;
    if (tp_is_float(x->dtype) || is_assigned(s, v) || ++p->work > MOST_WORK)
        return false;
    tp_prim_class class = i ? tp_prim_info(i->prim)->class : TP_CLASS_SOURCE;
    bool moves = i && (i->prim == TP_P_BROADCAST || i->prim == TP_P_RESHAPE || i->prim == TP_P_TRANSPOSE),
         of = class == TP_CLASS_SOURCE || class == TP_CLASS_ELEMENTWISE || class == TP_CLASS_SELECT || moves ||
              (i && (i->prim == TP_P_CAST || i->prim == TP_P_READ));
    for (uint32_t k = 0; i && of && k < i->nargs; k++)
        of = is_of_positions(p, s, i->args[k]);
    return of;
}

static bool add_hole(pairing *p, hole h)
{
    for (uint32_t i = 0; i < p->nholes; i++)
        if (p->holes[i].value == h.value)
            return p->holes[i].kind == h.kind && p->holes[i].own == h.own && p->holes[i].by == h.by &&
                   p->holes[i].foreign == h.foreign;
    if (p->nholes == MOST_HOLES)
        return false;
    p->holes[p->nholes++] = h;
    return true;
}

static bool is_alike(pairing *p, tp_vid v, tp_vid w);

/* One of the two is where(c, x, y), and the other one of its arms. */
static bool is_an_arm(pairing *p, tp_vid v, tp_vid w)
{
    const tp_inst *x = p->mine.by[v], *y = p->other.by[w];
    bool foreign = y && y->prim == TP_P_WHERE;
    const tp_inst *i = foreign ? y : x;
    if (!i || i->prim != TP_P_WHERE || !is_of_positions(p, foreign ? &p->other : &p->mine, i->args[0]))
        return false;
    for (uint32_t arm = 1; arm <= 2; arm++)
        if (foreign ? is_same(p, v, i->args[arm]) : is_same(p, i->args[arm], w))
            return add_hole(p, (hole){.value = v,
                                      .kind = arm == 1 ? HOLE_NOT_UNDER : HOLE_UNDER,
                                      .by = i->args[0],
                                      .foreign = foreign});
    return false;
}

/* where(c, x, y) and where(d, x, y) */
static bool is_chosen_apart(pairing *p, tp_vid v, tp_vid w)
{
    const tp_inst *x = p->mine.by[v], *y = p->other.by[w];
    return x->prim == TP_P_WHERE && y->prim == TP_P_WHERE && is_same(p, x->args[1], y->args[1]) &&
           is_same(p, x->args[2], y->args[2]) && is_of_positions(p, &p->mine, x->args[0]) &&
           is_of_positions(p, &p->other, y->args[0]) &&
           add_hole(p, (hole){.value = v, .kind = HOLE_APART, .own = x->args[0], .by = y->args[0], .foreign = true});
}

/* The same in all lanes that have no hole. False: no hole would do. */
static bool is_alike(pairing *p, tp_vid v, tp_vid w)
{
    const tp_inst *x = p->mine.by[v], *y = p->other.by[w];
    if (is_same(p, v, w))
        return true;
    if (!x || !y || ++p->work > MOST_WORK || !same_type(p, v, w))
        return false;
    if (is_of_positions(p, &p->mine, v) && is_of_positions(p, &p->other, w))
        return add_hole(p, (hole){.value = v,
                                  .kind = value_of(&p->mine, v)->dtype == TP_BOOL ? HOLE_APART : HOLE_UNLIKE,
                                  .own = v,
                                  .by = w,
                                  .foreign = true});
    uint32_t before = p->nholes;
    if (same_operation(p, v, w) && same_arguments(p, x, y, is_alike))
        return true;
    p->nholes = before;
    return is_an_arm(p, v, w) || is_chosen_apart(p, v, w) ||
           add_hole(p, (hole){.value = v, .kind = HOLE_EVERYWHERE, .by = -1});
}

/* ---- statements ---- */

static bool pair_regions(pairing *p, const tp_region *x, const tp_region *y);

static bool pair_variables(pairing *p, tp_vid v, tp_vid w)
{
    if (!same_type(p, v, w) || (p->mine.partner[v] && p->mine.partner[v] != w + 1) ||
        (p->other.partner[w] && p->other.partner[w] != v + 1))
        return false;
    p->mine.partner[v] = w + 1;
    p->other.partner[w] = v + 1;
    return true;
}

/* Bits of the destination. */
static tp_expr bits_of(const pairing *p, const tp_access *a)
{
    const tp_operand *o = &p->k->operands[a->operand];
    tp_expr n = tp_const(p->e, tp_dtype_info(o->dtype)->bits);
    for (uint32_t d = 0; d < o->ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_INT)
            n = tp_op2(p->e, TP_E_MUL, n, a->subs[d].kind == TP_SUB_FULL ? o->ref_shape[d] : a->subs[d].size);
    return n;
}

static bool pair_waits(pairing *p, const tp_statement *x, const tp_statement *y)
{
    p->waits |= !same_access(p, x->access, y->access, is_same) || !same_access(p, x->from, y->from, is_same);
    return same_access(p, x->semaphore, y->semaphore, is_alike) &&
           same_number(p, bits_of(p, x->access), bits_of(p, y->access));
}

static bool pair_loops(pairing *p, const tp_statement *x, const tp_statement *y)
{
    p->mine.counts[x->var] = p->other.counts[y->var] = true;
    return x->by == y->by && is_alike(p, x->lo, y->lo) && is_alike(p, x->hi, y->hi) &&
           pair_variables(p, x->var, y->var) && pair_regions(p, &x->body, &y->body);
}

static bool same_device(pairing *p, const tp_vid *x, const tp_vid *y)
{
    bool same = true;
    for (uint32_t i = 0; i < TP_MAX_MESH && same; i++)
        same = x[i] < 0 || y[i] < 0 ? x[i] == y[i] : is_alike(p, x[i], y[i]);
    return same;
}

static bool pair_statements(pairing *p, const tp_statement *x, const tp_statement *y)
{
    p->now++;
    if (x->kind != y->kind)
        return false;
    switch (x->kind) {
    case TP_COMPUTE: break;
    case TP_ASSIGN: return is_alike(p, x->value, y->value) && pair_variables(p, x->var, y->var);
    case TP_PUT:
    case TP_COPY_START:
        return is_alike(p, x->value, y->value) && same_access(p, x->access, y->access, is_alike) &&
               same_access(p, x->from, y->from, is_alike) && same_access(p, x->semaphore, y->semaphore, is_alike) &&
               same_access(p, x->arrival, y->arrival, is_alike) && same_device(p, x->device, y->device);
    case TP_COPY_WAIT: return pair_waits(p, x, y);
    case TP_SIGNAL:
    case TP_AWAIT:
        return is_alike(p, x->value, y->value) && same_device(p, x->device, y->device) &&
               same_access(p, x->semaphore, y->semaphore, is_alike);
    case TP_ENTER:
    case TP_LEAVE: return x->scope.first == y->scope.first && x->scope.n == y->scope.n;
    case TP_ASSERT: return is_alike(p, x->value, y->value);
    case TP_IF:
        return is_alike(p, x->value, y->value) && pair_regions(p, &x->body, &y->body) &&
               pair_regions(p, &x->orelse, &y->orelse);
    case TP_LOOP: return pair_loops(p, x, y);
    case TP_WHILE:
        return pair_regions(p, &x->test, &y->test) && is_alike(p, x->value, y->value) &&
               pair_regions(p, &x->body, &y->body);
    }
    return false;
}

/* Up to the next statement that is no instruction; NULL: there is none. */
static const tp_statement *next_statement(pairing *p, side *s, const tp_region *r, uint32_t *at)
{
    for (; *at < r->len; (*at)++) {
        const tp_statement *statement = &r->at[*at];
        if (statement->kind != TP_COMPUTE)
            return &r->at[(*at)++];
        s->by[statement->inst->out] = statement->inst;
        s->when[statement->inst->out] = p->now;
    }
    return NULL;
}

static bool pair_regions(pairing *p, const tp_region *x, const tp_region *y)
{
    uint32_t i = 0, k = 0;
    p->now++;
    for (;;) {
        const tp_statement *mine = next_statement(p, &p->mine, x, &i), *other = next_statement(p, &p->other, y, &k);
        if (!mine || !other) {
            p->now++;
            return mine == other;
        }
        if (!pair_statements(p, mine, other))
            return false;
    }
}

/* ---- undefined values in the place of those that differ ---- */

typedef struct digger {
    pairing *p;
    tp_program *body;
    tp_operand *operands;
    tp_region *into;
    uint32_t copied;
} digger;

static tp_vid new_value(digger *g, const tp_value *like)
{
    tp_value v = *like;
    tp_push(g->p->arena, g->body->values, v);
    return (tp_vid)g->body->values.len - 1;
}

static tp_vid emit(digger *g, tp_inst i)
{
    tp_inst *own = TP_NEW(g->p->arena, tp_inst);
    *own = i;
    own->args = TP_NEWN(g->p->arena, tp_vid, i.nargs + 1);
    if (i.nargs)
        memcpy(own->args, i.args, i.nargs * sizeof *i.args);
    tp_push(g->p->arena, *g->into,
            ((tp_statement){
                .kind = TP_COMPUTE, .inst = own, .value = -1, .var = -1, .lo = -1, .hi = -1, .device = TP_NOWHERE}));
    return own->out;
}

/* A value of positions, computed here as the other body computes it. -1: that would be too much. */
static tp_vid copy_of(digger *g, tp_vid w)
{
    const side *other = &g->p->other;
    const tp_inst *i = other->by[w];
    if (++g->copied > MOST_COPIED)
        return -1;
    if (!i)
        return value_of(other, w)->dtype == TP_WEAK_INT ? new_value(g, value_of(other, w)) : other->partner[w] - 1;
    tp_inst own = *i;
    own.args = TP_NEWN(g->p->arena, tp_vid, i->nargs + 1);
    for (uint32_t k = 0; k < i->nargs; k++)
        if ((own.args[k] = copy_of(g, i->args[k])) < 0)
            return -1;
    own.out = new_value(g, value_of(other, w));
    return emit(g, own);
}

static tp_vid select_of(digger *g, tp_vid out, tp_vid c, tp_vid yes, tp_vid no)
{
    return emit(g, (tp_inst){.prim = TP_P_WHERE, .out = out, .args = (tp_vid[]){c, yes, no}, .nargs = 3});
}

/* What nothing has written, of the value's shape. */
static tp_vid undefined(digger *g, uint32_t number, tp_vid out)
{
    const tp_value *x = &g->body->values.at[out];
    uint32_t at = tp_noperands(g->p->k) + number;
    g->operands[at] = (tp_operand){.role = TP_SCRATCH,
                                   .name = TP_S("a value that differs"),
                                   .loc = g->p->k->doc->loc,
                                   .dtype = x->dtype,
                                   .memory = TP_MEM_VMEM,
                                   .rank = x->rank,
                                   .shape = x->dims,
                                   .whole = true,
                                   .alias = -1,
                                   .array = -1,
                                   .ref_rank = x->rank,
                                   .ref_shape = x->dims};
    tp_access *all = TP_NEW(g->p->arena, tp_access);
    *all = (tp_access){.operand = at, .subs = TP_NEWN(g->p->arena, tp_subscript, x->rank + 1)};
    for (uint32_t d = 0; d < x->rank; d++)
        all->subs[d] = (tp_subscript){.kind = TP_SUB_FULL, .size = x->dims[d]};
    return emit(g, (tp_inst){.prim = TP_P_LOAD, .out = out, .access = all});
}

/* Behind the instruction i, whose value becomes another one. */
static bool dig(digger *g, tp_inst *i, const hole *h, uint32_t number)
{
    tp_vid value = h->value;
    if (h->kind == HOLE_EVERYWHERE)
        return i->out = new_value(g, value_of(&g->p->mine, value)), undefined(g, number, value) >= 0;
    tp_vid was = i->out = new_value(g, value_of(&g->p->mine, value)),
           lost = undefined(g, number, new_value(g, &g->body->values.at[value])),
           by = h->foreign ? copy_of(g, h->by) : h->by;
    if (by < 0)
        return false;
    if (h->kind == HOLE_UNDER)
        return select_of(g, value, by, lost, was) >= 0;
    if (h->kind == HOLE_NOT_UNDER)
        return select_of(g, value, by, was, lost) >= 0;
    if (h->kind == HOLE_APART) { /* conditions that cancel by text */
        tp_vid yes = select_of(g, new_value(g, &g->body->values.at[value]), by, was, lost),
               no = select_of(g, new_value(g, &g->body->values.at[value]), by, lost, was);
        return select_of(g, value, h->own == value ? was : h->own, yes, no) >= 0;
    }
    tp_value truth = g->body->values.at[value];
    truth.dtype = TP_BOOL;
    tp_vid same =
        emit(g, (tp_inst){.prim = TP_P_EQ, .out = new_value(g, &truth), .args = (tp_vid[]){was, by}, .nargs = 2});
    return select_of(g, value, same, was, lost) >= 0;
}

static bool dig_region(digger *g, tp_region *r)
{
    tp_region all = {0};
    for (uint32_t n = 0; n < r->len; n++) {
        tp_statement s = r->at[n];
        if (!dig_region(g, &s.test) || !dig_region(g, &s.body) || !dig_region(g, &s.orelse))
            return false;
        tp_push(g->p->arena, all, s);
        g->into = &all;
        for (uint32_t h = 0; s.kind == TP_COMPUTE && h < g->p->nholes; h++)
            if (g->p->holes[h].value == s.inst->out) {
                if (!dig(g, s.inst, &g->p->holes[h], h))
                    return false;
                break;
            }
    }
    *r = all;
    return true;
}

/* Does nothing that differs count? */
static bool holes_never_count(pairing *p, tp_program *body, const tp_analysis_options *o)
{
    tp_kernel k = *p->k;
    uint32_t n = tp_noperands(&k);
    static const tp_findings NONE = {0};
    tp_analysis_result result = {0};
    digger g = {.p = p, .body = body, .operands = TP_NEWN(p->arena, tp_operand, n + p->nholes)};
    memcpy(g.operands, k.operands, n * sizeof *k.operands);
    if (!dig_region(&g, &body->statements))
        return false;
    k.operands = g.operands;
    k.nscratch += p->nholes;
    k.body = body;
    tp_analysis *a = tp_analysis_begin(p->arena, &k, o);
    a->out = &result;
    a->earlier = &NONE;
    a->rule = tp_rule_find(TP_S(TP_RULE_UNINITIALIZED_USE));
    bool never = tp_never_reaches(a, n);
    if (!never && tp_flow_unroll(a))
        never = tp_never_reaches(a, n);
    tp_analysis_end(a);
    return never;
}

/* ---- the whole ---- */

static side side_of(tp_arena *a, const tp_program *p)
{
    uint32_t n = p->values.len + 1;
    return (side){.p = p,
                  .by = TP_NEWN(a, const tp_inst *, n),
                  .when = TP_NEWN(a, uint32_t, n),
                  .partner = TP_NEWN(a, tp_vid, n),
                  .counts = TP_NEWN(a, bool, n)};
}

tp_alike tp_bodies_alike(tp_arena *a, const tp_kernel *k, tp_program *body, const tp_program *other,
                         const tp_analysis_options *o)
{
    pairing p = {.arena = a, .k = k, .e = k->exprs, .mine = side_of(a, body), .other = side_of(a, other)};
    bool paired = pair_regions(&p, &body->statements, &other->statements) && p.work <= MOST_WORK;
    tp_alike r = {.plain = paired && !p.nholes, .waits = p.waits};
    /* a wait stands for a store in the walk: of the other's places nothing is known there */
    r.shown = r.plain || (paired && !p.waits && holes_never_count(&p, body, o));
    if (tp_exprs_overflowed(k->exprs)) {
        tp_exprs_forget_overflow(k->exprs);
        r.shown = false;
    }
    return r;
}
