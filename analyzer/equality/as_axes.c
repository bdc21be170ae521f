/* Loops as axes of the grid.
 *
 * A body that does A, then B in each of n turns, then C, is a body with one axis more, of max(n, 1) steps: A in its
 * first step, B in the steps below n, C in the last one. So what the laws of steps say holds of turns, too, and of
 * turns in turns. Only what changes memory is put under such a condition: what is computed is computed in every step,
 * and comes to the same, as long as it is used where memory is what it was, which is looked at. Variables that turns
 * hand on become scratch; integers among them (the slot of the next copy) are followed where flow/carried.c knows what
 * they are, which is proven here once more. */
#include "analyzer/equality/internal.h"
#include "analyzer/flow/flow.h"
#include "base/assert.h"
#include "base/checked.h"

enum { MOST_LOOPS = 4, MOST_PHASES = 4, PLACES = 16, FEW_TURNS = 64, NOWHERE = UINT16_MAX };

/* Where in its loop a statement stands. */
typedef enum phase { BEFORE, BEHIND } phase;

typedef struct loop_axis {
    const tp_flow_turns *turns;
    tp_expr steps;
    tp_expr runs; /* no id, or when the step is a turn: there may be none */
} loop_axis;

/* Statements with one loop among them, which may hold others. */
typedef struct phase_of_body {
    uint32_t begin, end;
    loop_axis loops[MOST_LOOPS];
    uint32_t n;
    turned_loops *out;
} phase_of_body;

typedef struct turning {
    tp_arena *arena;
    tp_exprs *p;
    const tp_kernel *from;
    const tp_flow *flow;
    tp_analysis *a;
    bool at_start; /* where copies store: tp_stores_here() */
    bool failed;
    turned_loops *out;
    TP_VEC(tp_value) values;
    TP_VEC(tp_operand) operands;
    loop_axis *loops; /* the outermost first */
    uint32_t n;
    phase_of_body phases[MOST_PHASES];
    uint32_t nphases, here, of;       /* statements of phase `here` are looked at, for the kernel of phase `of` */
    uint32_t *stored, *given;         /* per operand of the spec, per value: the phases that store to it, a bit each */
    uint32_t (*version)[MOST_PHASES]; /* ... and what stands for it in each of them */
    bool *assigned;                   /* per value: a variable that turns assign, */
    int32_t *scratch;                 /* ... and the operand that it becomes + 1 */
    uint32_t *home;                   /* per value: 0, or where alone it is what memory then held, + 1; NOWHERE */
    uint32_t homes;                   /* how often one was found */
    bool perhaps;                     /* statements here may not run, or run again */
    bool chosen;                      /* what is assigned here depends on such a value */
} turning;

/* ---- which loops ---- */

static bool stores(const turning *x, const tp_statement *s)
{
    return (tp_writes(s) || s->kind == TP_COPY_WAIT) && tp_stores_here(x->from->operands, s, x->at_start);
}

static bool has_effect(const turning *x, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++)
        if (stores(x, &r->at[i]) || r->at[i].kind == TP_ASSIGN || r->at[i].kind == TP_WHILE ||
            has_effect(x, &r->at[i].body) || has_effect(x, &r->at[i].orelse))
            return true;
    return false;
}

/* What SMEM keeps from step to step is no function of the step. */
static const tp_flow_turns *turns_of(const turning *x, const tp_statement *s)
{
    for (uint32_t i = 0; i < x->flow->turns.len; i++)
        if (x->flow->turns.at[i].loop == s)
            return x->flow->turns.at[i].kept ? NULL : &x->flow->turns.at[i];
    return NULL;
}

/* May it be written out? */
static bool is_short(const turning *x, const tp_statement *s)
{
    const tp_flow_turns *t = turns_of(x, s);
    int64_t lo, hi, n;
    return t && t->lo.id && t->hi.id && tp_expr_is_const(x->p, t->lo, &lo) && tp_expr_is_const(x->p, t->hi, &hi) &&
           tp_turns(lo, hi, s->by, &n) && n <= FEW_TURNS;
}

static bool becomes_axis(const turning *x, const tp_statement *s);

static uint32_t axes_in(const turning *x, const tp_region *r);

/* The loops of a statement that become axes, those in them not counted. */
static uint32_t axes_at(const turning *x, const tp_statement *s)
{
    return s->kind == TP_LOOP ? becomes_axis(x, s) : axes_in(x, &s->body) + axes_in(x, &s->orelse);
}

static uint32_t axes_in(const turning *x, const tp_region *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->len; i++)
        n += axes_at(x, &r->at[i]);
    return n;
}

static bool becomes_axis(const turning *x, const tp_statement *s)
{
    return has_effect(x, &s->body) && (!is_short(x, s) || axes_in(x, &s->body));
}

static bool has_while(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_WHILE;
}

static void note_assigned(const tp_region *r, bool *assigned)
{
    for (uint32_t i = 0; i < r->len; i++) {
        if (r->at[i].kind == TP_ASSIGN)
            assigned[r->at[i].var] = true;
        note_assigned(&r->at[i].body, assigned);
        note_assigned(&r->at[i].orelse, assigned);
    }
}

static bool holds_for_all_steps(const turning *x, tp_expr goal)
{
    tp_var outer[MOST_LOOPS];
    for (uint32_t i = 0; i < x->n; i++)
        outer[i] = (tp_var){.sym = (uint32_t)tp_expr_get(x->p, x->loops[i].turns->counter)->value,
                            .lo = tp_const(x->p, 0),
                            .hi = tp_op2(x->p, TP_E_SUB, x->loops[i].steps, tp_const(x->p, 1)),
                            .multiple_of = 1,
                            .step = true};
    tp_claim c = {.goal = goal, .over_steps = true, .extra = outer, .nextra = x->n, .subject = TP_S("equality")};
    return tp_claim_follows(x->a, &c);
}

/* The loops from the outermost one on, as axes. false: it is not one in the other. */
static bool find_axes(turning *x, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind != TP_LOOP) {
            if (!find_axes(x, &s->body) || !find_axes(x, &s->orelse))
                return false;
            continue;
        }
        if (!becomes_axis(x, s))
            continue;
        const tp_flow_turns *t = turns_of(x, s);
        if (!t || t->again || !t->count.id || !t->lo.id || x->n == MOST_LOOPS || x->from->naxes + x->n == TP_MAX_AXES ||
            axes_in(x, &s->body) > 1)
            return false;
        tp_expr one = tp_const(x->p, 1);
        bool some = holds_for_all_steps(x, tp_op2(x->p, TP_E_GE, t->count, one)), counts_turns = false;
        for (uint32_t k = 0; k < x->n; k++) /* how many turns a turn that is none has, nobody knows */
            counts_turns |=
                x->loops[k].runs.id != 0 &&
                tp_expr_mentions(x->p, t->count, (uint32_t)tp_expr_get(x->p, x->loops[k].turns->counter)->value);
        if (counts_turns)
            return false;
        if (!x->n)
            note_assigned(&s->body, x->assigned);
        x->loops[x->n++] = (loop_axis){t, some ? t->count : tp_op2(x->p, TP_E_MAX, t->count, one),
                                       some ? (tp_expr){0} : tp_op2(x->p, TP_E_LT, t->counter, t->count)};
        if (!find_axes(x, &s->body))
            return false;
    }
    return true;
}

/* ---- when ---- */

static tp_expr conjoin(turning *x, tp_expr a, tp_expr b)
{
    return !a.id ? b : !b.id ? a : tp_op2(x->p, TP_E_AND, a, b);
}

/* When the statements of a region run that stands in the first `depth` loops. */
static tp_expr condition(turning *x, uint32_t depth, phase when)
{
    tp_exprs *p = x->p;
    tp_expr c = {0};
    for (uint32_t i = 0; i < x->n; i++) {
        const loop_axis *l = &x->loops[i];
        tp_expr at = when == BEFORE ? tp_const(p, 0) : tp_op2(p, TP_E_SUB, l->steps, tp_const(p, 1));
        c = conjoin(x, c, i < depth ? l->runs : tp_op2(p, TP_E_EQ, l->turns->counter, at));
    }
    return c;
}

/* ---- values and statements of the new body ---- */

static tp_vid new_value(turning *x, tp_value v)
{
    tp_push(x->arena, x->values, v);
    return (tp_vid)(x->values.len - 1);
}

static tp_vid number(turning *x, tp_expr e)
{
    return new_value(x, (tp_value){.dtype = TP_WEAK_INT, .meaning = e});
}

static tp_access *whole(turning *x, uint32_t operand)
{
    const tp_operand *o = &x->operands.at[operand];
    tp_access *a = TP_NEW(x->arena, tp_access);
    *a = (tp_access){.operand = operand, .subs = TP_NEWN(x->arena, tp_subscript, o->ref_rank + 1)};
    for (uint32_t d = 0; d < o->ref_rank; d++)
        a->subs[d] = (tp_subscript){.kind = TP_SUB_FULL, .start = -1, .size = o->ref_shape[d], .stride = 1};
    return a;
}

static tp_inst *instruction(turning *x, tp_prim prim, tp_vid out, tp_vid arg)
{
    tp_inst *i = TP_NEW(x->arena, tp_inst);
    *i = (tp_inst){.prim = prim, .out = out, .args = TP_NEWN(x->arena, tp_vid, 1), .nargs = arg >= 0};
    i->args[0] = arg;
    return i;
}

static void change(turning *x, tp_region *into, tp_statement s, tp_expr when);

static void compute(turning *x, tp_region *into, tp_inst *i, const tp_syntax *syntax, tp_expr when)
{
    change(x, into, (tp_statement){.kind = TP_COMPUTE, .syntax = syntax, .inst = i, .value = -1, .device = TP_NOWHERE},
           when);
}

/* A buffer of the new body. */
static uint32_t buffer_of(turning *x, tp_str name, tp_dtype dtype, tp_memory memory, uint32_t rank, tp_expr *shape)
{
    tp_operand o = {.role = TP_SCRATCH, .name = name, .dtype = dtype, .memory = memory, .rank = rank, .shape = shape};
    o.buffers = 1;
    o.alias = o.array = -1;
    o.ref_rank = rank;
    o.ref_shape = shape;
    tp_push(x->arena, x->operands, o);
    return x->operands.len - 1;
}

/* The operand that a variable becomes which turns assign and hand on. */
static uint32_t scratch_of(turning *x, tp_vid variable)
{
    x->failed |= (x->given[variable] & (x->given[variable] - 1)) != 0;
    if (!x->scratch[variable]) {
        const tp_value *v = &x->values.at[variable];
        tp_str name = tp_local_name(x->from->body, variable);
        x->scratch[variable] =
            (int32_t)buffer_of(x, name.n ? name : TP_S("variable"), v->dtype, TP_MEM_VMEM, v->rank, v->dims) + 1;
    }
    return (uint32_t)x->scratch[variable] - 1;
}

static bool is_scratch(const turning *x, tp_vid v)
{
    const tp_value *y = &x->values.at[v];
    return y->variable && x->assigned[v] && (y->rank || !(tp_is_int(y->dtype) || y->dtype == TP_BOOL));
}

/* It is what memory holds there, and may still be what it was elsewhere. */
static void set_home(turning *x, tp_vid v, uint32_t place)
{
    uint32_t home = place + 1;
    if (x->perhaps && x->home[v] && x->home[v] != home)
        home = NOWHERE;
    x->homes += x->home[v] != home;
    x->home[v] = home;
}

/* Where in all of the body a statement stands. */
static uint32_t place_of(const turning *x, uint32_t depth, phase when)
{
    return x->here * PLACES + 2 * depth + when;
}

static tp_expr when_at(turning *x, uint32_t place)
{
    return condition(x, place % PLACES / 2, place % 2);
}

/* The access, to what stands for its operand in the phase. */
static tp_access *version_of(turning *x, const tp_access *a)
{
    if (!a)
        return NULL;
    tp_access *to = TP_NEW(x->arena, tp_access);
    *to = *a;
    to->operand = x->version[a->operand][x->of];
    return to;
}

/* The value, where a statement of this place uses it; variables that became scratch are loaded. */
static tp_vid use(turning *x, tp_vid v, uint32_t place, tp_region *into, const tp_syntax *syntax)
{
    if (v < 0)
        return v;
    x->failed |= x->home[v] && x->home[v] != place + 1;
    if (!is_scratch(x, v))
        return v;
    tp_value type = x->values.at[v];
    type.variable = false;
    tp_inst *i = instruction(x, TP_P_LOAD, new_value(x, type), -1);
    i->access = whole(x, scratch_of(x, v));
    compute(x, into, i, syntax, when_at(x, place));
    return i->out;
}

/* true: it depends on what memory holds. */
static bool use_access(turning *x, const tp_access *a, uint32_t place)
{
    uint32_t rank = a ? x->operands.at[a->operand].ref_rank : 0, home;
    bool local = a && x->operands.at[a->operand].role != TP_INPUT;
    for (uint32_t d = 0; d <= rank && a; d++) {
        tp_vid v = d == rank ? (a->guarded ? a->mask : -1) : a->subs[d].kind == TP_SUB_FULL ? -1 : a->subs[d].start;
        if (v < 0 || !(home = x->home[v]))
            continue;
        x->failed |= home != place + 1;
        local = true;
    }
    return local;
}

/* What changes memory, or reads what changes, under the condition of its place. */
static void change(turning *x, tp_region *into, tp_statement s, tp_expr when)
{
    if (!when.id) {
        tp_push(x->arena, *into, s);
        return;
    }
    tp_statement test = {.kind = TP_IF, .syntax = s.syntax, .value = number(x, when), .device = TP_NOWHERE};
    tp_push(x->arena, test.body, s);
    tp_push(x->arena, *into, test);
}

static void put(turning *x, tp_region *into, uint32_t operand, tp_vid value, const tp_syntax *syntax, tp_expr when)
{
    change(x, into,
           (tp_statement){
               .kind = TP_PUT, .syntax = syntax, .access = whole(x, operand), .value = value, .device = TP_NOWHERE},
           when);
}

/* ---- integers that turns hand on ---- */

static tp_expr at_turn(turning *x, tp_expr e, tp_expr counter, tp_expr turn)
{
    return tp_expr_normal(x->p, tp_expr_replace(x->p, e, (uint32_t)tp_expr_get(x->p, counter)->value, turn));
}

/* To be proven: the variable, as it is here, is that number. */
static void expect(turning *x, tp_region *into, tp_vid variable, tp_expr is, tp_expr where)
{
    tp_value type = x->values.at[variable];
    type.variable = false;
    tp_inst *i = instruction(x, TP_P_VARIABLE, new_value(x, type), variable);
    compute(x, into, i, NULL, (tp_expr){0});
    tp_push(x->arena, x->out->expected, ((expected_value){i->out, is, where}));
}

/* It is that number from here on; no id: nobody knows what it is. */
static void set_to(turning *x, tp_region *into, tp_vid variable, tp_expr e)
{
    tp_vid v = e.id ? number(x, e) : new_value(x, x->values.at[variable]);
    x->values.at[v].variable = false;
    tp_push(x->arena, *into, ((tp_statement){.kind = TP_ASSIGN, .var = variable, .value = v, .device = TP_NOWHERE}));
}

typedef enum moment { FIRST_TURN, A_TURN, TURN_ENDS, LOOP_ENDS } moment;

static void hand_on(turning *x, const tp_statement *loop, const loop_axis *l, moment when, tp_expr where,
                    tp_region *into)
{
    tp_exprs *p = x->p;
    bool *here = TP_NEWN(x->arena, bool, x->from->body->values.len + 1);
    tp_expr counter = l->turns->counter, next = tp_op2(p, TP_E_ADD, counter, tp_const(p, 1));
    tp_expr turns = l->runs.id ? tp_op2(p, TP_E_MAX, l->turns->count, tp_const(p, 0)) : l->turns->count;
    note_assigned(&loop->body, here);
    for (tp_vid v = 0; (uint32_t)v < x->from->body->values.len; v++) {
        if (!here[v] || is_scratch(x, v))
            continue;
        tp_expr form = l->turns->carried[v];
        if (when == A_TURN)
            set_to(x, into, v, form);
        else if (when == LOOP_ENDS)
            set_to(x, into, v, form.id ? at_turn(x, form, counter, turns) : form);
        else if (form.id)
            expect(x, into, v, at_turn(x, form, counter, when == FIRST_TURN ? tp_const(p, 0) : next), where);
    }
}

/* ---- the body ---- */

static void turn_region(turning *x, const tp_region *r, uint32_t depth, phase when, tp_region *into);

static void turn_loop(turning *x, const tp_statement *s, uint32_t depth, tp_region *into)
{
    const loop_axis *l = &x->loops[depth];
    tp_exprs *p = x->p;
    tp_expr around = condition(x, depth, BEFORE), inside = {0};
    for (uint32_t i = 0; i <= depth; i++)
        inside = conjoin(x, inside, x->loops[i].runs);
    for (int end = 0; end < 2; end++) {
        tp_vid bound = end ? s->hi : s->lo;
        tp_expr is = end ? l->turns->hi : l->turns->lo;
        if (x->values.at[bound].variable)
            expect(x, into, bound, is, around);
        else
            tp_push(x->arena, x->out->expected, ((expected_value){bound, is, around}));
    }
    hand_on(x, s, l, FIRST_TURN, around, into);
    hand_on(x, s, l, A_TURN, inside, into);
    x->values.at[s->var] = (tp_value){
        .dtype = TP_WEAK_INT,
        .meaning = tp_op2(p, TP_E_ADD, l->turns->lo, tp_op2(p, TP_E_MUL, l->turns->counter, tp_const(p, s->by)))};
    turn_region(x, &s->body, depth + 1, BEFORE, into);
    hand_on(x, s, l, TURN_ENDS, inside, into);
    hand_on(x, s, l, LOOP_ENDS, around, into);
}

static void turn_compute(turning *x, const tp_inst *given, uint32_t place, tp_region *into, const tp_syntax *syntax)
{
    tp_inst *i = TP_NEW(x->arena, tp_inst);
    *i = *given;
    i->args = TP_NEWN(x->arena, tp_vid, i->nargs + 1);
    bool local = false, past = x->here != x->of;
    if (given->prim == TP_P_VARIABLE && is_scratch(x, given->args[0])) {
        i->prim = TP_P_LOAD;
        i->nargs = 0;
        i->access = whole(x, scratch_of(x, given->args[0]));
    }
    for (uint32_t k = 0; k < i->nargs; k++) {
        i->args[k] = i->prim == TP_P_VARIABLE ? given->args[k] : use(x, given->args[k], place, into, syntax);
        if (i->prim == TP_P_VARIABLE)
            x->failed |= x->home[i->args[k]] && x->home[i->args[k]] != place + 1;
        local |= (uint32_t)i->args[k] < x->from->body->values.len && x->home[i->args[k]];
        local |= is_scratch(x, given->args[k]);
    }
    local |= use_access(x, i->access, place);
    if (local)
        set_home(x, i->out, place);
    if (local && past)
        return;
    bool reads = i->access && x->operands.at[i->access->operand].role != TP_INPUT;
    if (given->access)
        i->access = version_of(x, i->access);
    compute(x, into, i, syntax, reads ? when_at(x, place) : (tp_expr){0});
}

static void turn_assignment(turning *x, const tp_statement *s, uint32_t place, tp_expr here, tp_region *into)
{
    tp_statement t = *s;
    bool local = x->home[s->value] || is_scratch(x, s->value);
    t.value = use(x, s->value, place, into, s->syntax);
    if (is_scratch(x, s->var)) {
        if (x->here == x->of)
            put(x, into, scratch_of(x, s->var), t.value, s->syntax, here);
        return;
    }
    if (local || x->chosen)
        set_home(x, s->var, place);
    tp_push(x->arena, *into, t);
}

static void turn_choice(turning *x, const tp_statement *s, uint32_t depth, phase when, tp_region *into)
{
    tp_statement t = *s;
    bool around = x->chosen, perhaps = x->perhaps, by_memory = x->home[s->value] != 0;
    t.value = use(x, s->value, place_of(x, depth, when), into, s->syntax);
    t.body = t.orelse = (tp_region){0};
    x->failed |= by_memory && (axes_in(x, &s->body) || axes_in(x, &s->orelse));
    x->chosen |= by_memory;
    x->perhaps = true;
    turn_region(x, &s->body, depth, when, &t.body);
    turn_region(x, &s->orelse, depth, when, &t.orelse);
    x->chosen = around;
    x->perhaps = perhaps;
    if (!by_memory || x->here == x->of)
        tp_push(x->arena, *into, t);
}

/* A loop that is written out; a turn may use what a later statement of the turn before assigned. */
static void turn_short(turning *x, const tp_statement *s, uint32_t depth, phase when, tp_region *into)
{
    tp_statement t = *s;
    bool perhaps = x->perhaps;
    uint32_t homes;
    use(x, s->lo, place_of(x, depth, when), into, s->syntax);
    use(x, s->hi, place_of(x, depth, when), into, s->syntax);
    x->perhaps = true;
    do {
        homes = x->homes;
        t.body = (tp_region){0};
        turn_region(x, &s->body, depth, when, &t.body);
    } while (x->homes != homes);
    x->perhaps = perhaps;
    tp_push(x->arena, *into, t);
}

static void turn_statement(turning *x, const tp_statement *s, uint32_t depth, phase when, tp_region *into)
{
    uint32_t place = place_of(x, depth, when);
    tp_expr here = condition(x, depth, when);
    bool past = x->here != x->of;
    tp_statement t = *s;
    switch (s->kind) {
    case TP_COMPUTE: turn_compute(x, s->inst, place, into, s->syntax); break;
    case TP_ASSIGN: turn_assignment(x, s, place, here, into); break;
    case TP_PUT:
    case TP_COPY_START:
    case TP_COPY_WAIT:
        if (!stores(x, s))
            break;
        if (s->kind != TP_COPY_WAIT)
            t.value = use(x, s->value, place, into, s->syntax);
        use_access(x, s->access, place);
        use_access(x, s->from, place);
        if (past)
            break;
        t.access = version_of(x, s->access);
        t.from = version_of(x, s->from);
        if (s->inst) {
            tp_inst *i = TP_NEW(x->arena, tp_inst);
            *i = *s->inst;
            i->access = version_of(x, i->access);
            t.inst = i;
        }
        change(x, into, t, here);
        break;
    case TP_IF: turn_choice(x, s, depth, when, into); break;
    case TP_LOOP:
        if (becomes_axis(x, s) && past) {
            hand_on(x, s, &x->phases[x->here].loops[0], LOOP_ENDS, (tp_expr){0}, into);
        } else if (becomes_axis(x, s)) {
            turn_loop(x, s, depth, into);
        } else if (has_effect(x, &s->body)) {
            turn_short(x, s, depth, when, into);
        }
        break;
    case TP_ENTER:
        for (uint32_t o = s->scope.first; o < s->scope.first + s->scope.n && !past; o++) {
            t.scope = (tp_scope){x->version[o][x->of], 1};
            change(x, into, t, here);
        }
        break;
    case TP_WHILE: x->failed = true; break;
    case TP_LEAVE:
    case TP_SIGNAL:
    case TP_AWAIT:
    case TP_ASSERT: break;
    }
}

/* Statements before the loop that becomes an axis, in it, and behind it; where there is none, `when` is for all. */
static void turn_region(turning *x, const tp_region *r, uint32_t depth, phase when, tp_region *into)
{
    bool around = axes_in(x, r) > 0;
    phase now = around ? BEFORE : when;
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        turn_statement(x, s, depth, now, into);
        if (around && axes_at(x, s))
            now = BEHIND;
    }
}

/* ---- the kernel ---- */

static tp_axis *axes_of(const turning *x)
{
    tp_axis *axes = TP_NEWN(x->arena, tp_axis, x->from->naxes + x->n);
    for (uint32_t i = 0; i < x->from->naxes; i++)
        axes[i] = x->from->axes[i];
    for (uint32_t i = 0; i < x->n; i++) {
        tp_axis *to = &axes[x->from->naxes + i];
        *to = (tp_axis){.name = TP_S("turn"),
                        .steps = tp_expr_normal(x->p, x->loops[i].steps),
                        .sym = (uint32_t)tp_expr_get(x->p, x->loops[i].turns->counter)->value};
        tp_str name = tp_local_name(x->from->body, x->loops[i].turns->loop->var);
        if (name.n)
            to->name = name;
    }
    return axes;
}

/* ---- phases ---- */

/* Which operands a region stores to. */
static void note_stored(const turning *x, const tp_region *r, uint32_t in)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_ASSIGN)
            x->given[s->var] |= 1U << in;
        if (stores(x, s))
            x->stored[s->access->operand] |= 1U << in;
        for (uint32_t o = s->scope.first; s->kind == TP_ENTER && o < s->scope.first + s->scope.n; o++)
            x->stored[o] |= 1U << in;
        note_stored(x, &s->body, in);
        note_stored(x, &s->orelse, in);
    }
}

static tp_region statements_of(const turning *x, uint32_t n)
{
    const phase_of_body *f = &x->phases[n];
    return (tp_region){.at = x->from->body->statements.at + f->begin, .len = f->end - f->begin};
}

/* Each has one loop that becomes an axis, the statements before it and behind the loop before, and in the last one
 * those behind it. false: the body has no such loop, or more than one in a statement. */
static bool find_phases(turning *x)
{
    const tp_region *all = &x->from->body->statements;
    uint32_t begin = 0;
    for (uint32_t i = 0; i < all->len; i++) {
        uint32_t axes = axes_at(x, &all->at[i]);
        if (axes > 1 || (axes && x->nphases == MOST_PHASES))
            return false;
        if (!axes)
            continue;
        x->phases[x->nphases++] = (phase_of_body){.begin = begin, .end = i + 1, .out = TP_NEW(x->arena, turned_loops)};
        *x->phases[x->nphases - 1].out = (turned_loops){.k = NULL};
        begin = i + 1;
    }
    if (!x->nphases)
        return false;
    x->phases[x->nphases - 1].end = all->len;
    for (uint32_t n = 0; n < x->nphases; n++) {
        tp_region r = statements_of(x, n);
        x->loops = x->phases[n].loops;
        x->n = 0;
        if (!find_axes(x, &r) || !x->n)
            return false;
        x->phases[n].n = x->n;
    }
    return true;
}

/* What stands for each operand in each phase: the last phase that stores to it has the operand itself, the ones before
 * have buffers of their own; who does not store sees what the phase before left. false: copies write pieces of an array
 * in several phases. */
static bool find_versions(turning *x)
{
    uint32_t given = tp_noperands(x->from);
    x->stored = TP_NEWN(x->arena, uint32_t, given + 1);
    x->given = TP_NEWN(x->arena, uint32_t, x->from->body->values.len + 1);
    x->version = (uint32_t(*)[MOST_PHASES])tp_alloc_array(x->arena, given + 1, sizeof *x->version);
    for (uint32_t n = 0; n < x->nphases; n++) {
        tp_region r = statements_of(x, n);
        note_stored(x, &r, n);
    }
    for (uint32_t o = 0; o < given; o++) {
        uint32_t now = o;
        if ((x->stored[o] & (x->stored[o] - 1)) && tp_is_far(&x->from->operands[o]))
            return false;
        for (uint32_t n = 0; n < x->nphases; n++) {
            if (x->stored[o] >> n == 1) {
                now = o;
            } else if (x->stored[o] >> n & 1) {
                const tp_operand *of = &x->from->operands[o];
                /* begins with nothing, as a window does, aliased or not: who reads that is told by TP404 */
                tp_assert(!tp_begins_as_input(of));
                now = buffer_of(x, of->name, of->dtype, of->role == TP_SCRATCH ? of->memory : TP_MEM_VMEM, of->ref_rank,
                                of->ref_shape);
            }
            x->version[o][n] = now;
        }
    }
    return true;
}

static bool is_entered(const tp_statement *s, void *ctx)
{
    const uint32_t *o = ctx;
    return s->kind == TP_ENTER && *o >= s->scope.first && *o < s->scope.first + s->scope.n;
}

/* A phase begins with what the one before left in buffers that it changes. */
static void begin_as_left(turning *x, tp_region *into)
{
    tp_region r = statements_of(x, x->of);
    for (uint32_t o = 0; o < tp_noperands(x->from); o++) {
        uint32_t earlier = x->stored[o] & ((1U << x->of) - 1);
        if (!(x->stored[o] >> x->of & 1) || !earlier || tp_is_semaphore(&x->from->operands[o]) ||
            tp_region_any(&r, is_entered, &o))
            continue;
        const tp_operand *to = &x->operands.at[x->version[o][x->of]];
        tp_value type = {.dtype = to->dtype, .rank = to->ref_rank, .dims = to->ref_shape};
        tp_inst *i = instruction(x, TP_P_LOAD, new_value(x, type), -1);
        i->access = whole(x, x->version[o][x->of - 1]);
        compute(x, into, i, NULL, condition(x, 0, BEFORE));
        put(x, into, x->version[o][x->of], i->out, NULL, condition(x, 0, BEFORE));
    }
}

static void turn_phase(turning *x, uint32_t n)
{
    turned_loops *before = n ? x->phases[n - 1].out : NULL;
    tp_program *program = TP_NEW(x->arena, tp_program);
    *program = *x->from->body;
    program->statements = (tp_region){0};
    x->out = x->phases[n].out;
    x->of = n;
    x->loops = x->phases[n].loops;
    x->n = x->phases[n].n;
    for (x->here = 0; x->here <= n; x->here++) {
        tp_region r = statements_of(x, x->here);
        if (x->here == n && n)
            begin_as_left(x, &program->statements);
        turn_region(x, &r, 0, BEFORE, &program->statements);
    }
    tp_kernel *to = TP_NEW(x->arena, tp_kernel);
    *to = *x->from;
    to->axes = axes_of(x);
    to->naxes += x->n;
    to->body = program;
    *x->out = (turned_loops){.k = to,
                             .expected = {x->out->expected.at, x->out->expected.len, x->out->expected.cap},
                             .before = before,
                             .phase = n,
                             .outer = x->from->naxes};
}

/* Operands and values, which all phases share, when all are there. */
static void finish(turning *x)
{
    uint32_t n = x->operands.len, given = tp_noperands(x->from), *phase_of = TP_NEWN(x->arena, uint32_t, n + 1);
    bool *alone = TP_NEWN(x->arena, bool, n + 1);
    for (uint32_t o = 0; o < n; o++) {
        phase_of[o] = UINT32_MAX;
        alone[o] = true;
    }
    for (uint32_t o = 0; o < given; o++)
        for (uint32_t f = 0; f < x->nphases; f++)
            if (x->stored[o] >> f & 1) {
                phase_of[x->version[o][f]] = f;
                alone[x->version[o][f]] = !(x->stored[o] & (x->stored[o] - 1));
            }
    for (uint32_t v = 0; v < x->from->body->values.len; v++)
        for (uint32_t f = 0; f < x->nphases && x->scratch[v]; f++)
            if (x->given[v] >> f & 1)
                phase_of[x->scratch[v] - 1] = f;
    for (uint32_t f = 0; f < x->nphases; f++) {
        turned_loops *out = x->phases[f].out;
        tp_kernel *k = TP_NEW(x->arena, tp_kernel);
        tp_program *p = TP_NEW(x->arena, tp_program);
        *k = *out->k;
        *p = *k->body;
        p->values.at = x->values.at;
        p->values.len = x->values.len;
        p->values.cap = x->values.cap;
        k->body = p;
        k->operands = x->operands.at;
        k->nscratch = n - k->ninputs - k->noutputs;
        out->k = k;
        out->phase_of = phase_of;
        out->alone = alone;
    }
}

static void begin(turning *x)
{
    uint32_t n = x->from->body->values.len;
    x->assigned = TP_NEWN(x->arena, bool, n + 1);
    x->scratch = TP_NEWN(x->arena, int32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        tp_push(x->arena, x->values, x->from->body->values.at[i]);
    for (uint32_t i = 0; i < tp_noperands(x->from); i++)
        tp_push(x->arena, x->operands, x->from->operands[i]);
}

const turned_loops *loops_as_axes(tp_arena *arena, const tp_kernel *k, const tp_analysis_options *o, bool at_start)
{
    turning x = {.arena = arena, .p = k->exprs, .from = k, .at_start = at_start};
    if (tp_region_any(&k->body->statements, has_while, NULL) || tp_is_connected(k))
        return NULL;
    x.a = tp_analysis_begin(arena, k, o);
    x.a->stores_at_start = at_start;
    x.flow = tp_flow_of(x.a);
    begin(&x);
    bool found = x.flow && !x.flow->gave_up.n && find_phases(&x) && find_versions(&x);
    if (found) {
        x.home = TP_NEWN(arena, uint32_t, x.values.len + 1);
        for (uint32_t n = 0; n < x.nphases && !x.failed; n++)
            turn_phase(&x, n);
    }
    tp_analysis_end(x.a);
    if (!found || x.failed || x.operands.len > TP_MAX_OPERANDS)
        return NULL;
    finish(&x);
    return x.phases[x.nphases - 1].out;
}
