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
#include "base/checked.h"

enum { MOST_LOOPS = 4, FEW_TURNS = 64, MOST_MODULUS = 8, NOWHERE = UINT16_MAX };

/* Where in its loop a statement stands. */
typedef enum phase { BEFORE, BEHIND } phase;

typedef struct loop_axis {
    const tp_flow_turns *turns;
    tp_expr steps;
    tp_expr runs; /* no id, or when the step is a turn: there may be none */
} loop_axis;

typedef struct turning {
    tp_arena *arena;
    tp_exprs *p;
    const tp_kernel *from;
    const tp_flow *flow;
    tp_analysis *a;
    bool at_start; /* where copies store: tp_stores_here() */
    bool failed;
    turned_loops *out;
    tp_program *program;
    TP_VEC(tp_value) values;
    TP_VEC(tp_operand) operands;
    loop_axis loops[MOST_LOOPS]; /* the outermost first */
    uint32_t n;
    bool *assigned;   /* per value: a variable that turns assign, */
    int32_t *scratch; /* ... and the operand that it becomes + 1 */
    uint32_t *home;   /* per value: 0, or where alone it is what memory then held, + 1; NOWHERE */
    uint32_t homes;   /* how often one was found */
    bool perhaps;     /* statements here may not run, or run again */
    bool chosen;      /* what is assigned here depends on such a value */
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

/* The operand that a variable becomes which turns assign and hand on. */
static uint32_t scratch_of(turning *x, tp_vid variable)
{
    if (!x->scratch[variable]) {
        const tp_value *v = &x->values.at[variable];
        tp_operand o = {.role = TP_SCRATCH,
                        .name = TP_S("variable"),
                        .dtype = v->dtype,
                        .memory = TP_MEM_VMEM,
                        .rank = v->rank,
                        .shape = v->dims,
                        .buffers = 1,
                        .alias = -1,
                        .ref_rank = v->rank,
                        .ref_shape = v->dims};
        tp_str name = tp_local_name(x->from->body, variable);
        if (name.n)
            o.name = name;
        tp_push(x->arena, x->operands, o);
        x->scratch[variable] = (int32_t)x->operands.len;
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
    compute(x, into, i, syntax, condition(x, place / 2, place % 2));
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
    bool local = false;
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
    bool reads = i->access && x->operands.at[i->access->operand].role != TP_INPUT;
    compute(x, into, i, syntax, reads ? condition(x, place / 2, place % 2) : (tp_expr){0});
}

static void turn_assignment(turning *x, const tp_statement *s, uint32_t place, tp_expr here, tp_region *into)
{
    tp_statement t = *s;
    bool local = x->home[s->value] || is_scratch(x, s->value);
    t.value = use(x, s->value, place, into, s->syntax);
    if (is_scratch(x, s->var)) {
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
    t.value = use(x, s->value, 2 * depth + when, into, s->syntax);
    t.body = t.orelse = (tp_region){0};
    x->failed |= by_memory && (axes_in(x, &s->body) || axes_in(x, &s->orelse));
    x->chosen |= by_memory;
    x->perhaps = true;
    turn_region(x, &s->body, depth, when, &t.body);
    turn_region(x, &s->orelse, depth, when, &t.orelse);
    x->chosen = around;
    x->perhaps = perhaps;
    tp_push(x->arena, *into, t);
}

/* A loop that is written out; a turn may use what a later statement of the turn before assigned. */
static void turn_short(turning *x, const tp_statement *s, uint32_t depth, phase when, tp_region *into)
{
    tp_statement t = *s;
    bool perhaps = x->perhaps;
    uint32_t homes;
    use(x, s->lo, 2 * depth + when, into, s->syntax);
    use(x, s->hi, 2 * depth + when, into, s->syntax);
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
    uint32_t place = 2 * depth + when;
    tp_expr here = condition(x, depth, when);
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
        change(x, into, t, here);
        break;
    case TP_IF: turn_choice(x, s, depth, when, into); break;
    case TP_LOOP:
        if (becomes_axis(x, s)) {
            turn_loop(x, s, depth, into);
        } else if (has_effect(x, &s->body)) {
            turn_short(x, s, depth, when, into);
        }
        break;
    case TP_ENTER: change(x, into, t, here); break;
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

/* The first remainder by a small number in e; 0: there is none. */
static int64_t some_modulus(const summary *s, tp_expr e)
{
    if (!e.id)
        return 0;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    int64_t m = 0;
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return 0;
    if (n.op == TP_E_MOD && tp_expr_is_const(s->p, n.b, &m) && m > 1 && m <= MOST_MODULUS)
        return m;
    const tp_expr part[] = {n.a, n.b, n.c};
    for (int i = 0; i < 3 && !(m = some_modulus(s, part[i]));)
        i++;
    return m;
}

/* As it is, or by the remainder of a counter: what a slot is. */
static bool is_as_expected(summary *s, const expected_value *e, tp_expr value)
{
    tp_exprs *p = s->p;
    tp_expr goal = tp_op2(p, TP_E_EQ, value, e->is);
    premises here = {.at = {e->where}, .n = e->where.id != 0};
    int64_t m = some_modulus(s, e->is);
    if (summary_proves(s, &here, goal))
        return true;
    for (uint32_t a = 0; m && a < s->k->naxes; a++) {
        if (!tp_expr_mentions(p, e->is, s->k->axes[a].sym))
            continue;
        tp_expr q = summary_index(s, "q", s->k->axes[a].steps);
        bool all = true;
        for (int64_t r = 0; r < m && all; r++) {
            tp_expr step = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, tp_const(p, m), q), tp_const(p, r));
            premises with = {.n = 0};
            if (here.n)
                with = premises_with(s, &with, at_step_of(s, e->where, a, step));
            all = summary_proves(s, &with, at_step_of(s, goal, a, step));
        }
        if (all)
            return true;
    }
    return false;
}

void expect_values(evaluation *v)
{
    summary *s = v->s;
    for (uint32_t i = 0; v->body && s->turned && i < s->turned->expected.len; i++) {
        const expected_value *e = &s->turned->expected.at[i];
        if (!is_as_expected(s, e, scalar_of(v, e->value)))
            evaluation_stop(v, "an integer that a loop hands on, and that is not followed");
    }
}

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
    turning x = {.arena = arena,
                 .p = k->exprs,
                 .from = k,
                 .at_start = at_start,
                 .out = TP_NEW(arena, turned_loops),
                 .program = TP_NEW(arena, tp_program)};
    *x.out = (turned_loops){.k = NULL};
    if (tp_region_any(&k->body->statements, has_while, NULL) || tp_is_connected(k))
        return NULL;
    x.a = tp_analysis_begin(arena, k, o);
    x.a->stores_at_start = at_start;
    x.flow = tp_flow_of(x.a);
    begin(&x);
    bool found = x.flow && !x.flow->gave_up.n && axes_in(&x, &k->body->statements) == 1 &&
                 find_axes(&x, &k->body->statements) && x.n;
    if (found) {
        x.home = TP_NEWN(arena, uint32_t, x.values.len + 1);
        *x.program = *k->body;
        x.program->statements = (tp_region){0};
        turn_region(&x, &k->body->statements, 0, BEFORE, &x.program->statements);
    }
    tp_analysis_end(x.a);
    if (!found || x.failed || x.operands.len > TP_MAX_OPERANDS)
        return NULL;
    x.program->values.at = x.values.at;
    x.program->values.len = x.values.len;
    x.program->values.cap = x.values.cap;
    tp_kernel *to = TP_NEW(arena, tp_kernel);
    *to = *k;
    to->axes = axes_of(&x);
    to->naxes += x.n;
    to->nscratch = x.operands.len - k->ninputs - k->noutputs;
    to->operands = x.operands.at;
    to->body = x.program;
    x.out->k = to;
    return x.out;
}
