/* The walk over a program: who computes what, what memory holds after it, and loops. */
#include "analyzer/equality/internal.h"
#include "base/checked.h"

/* ---- loops of a known number of turns ---- */

enum { MAX_TURNS = 64, MAX_VALUES = 20000 };

static tp_vid new_value(evaluation *v, tp_value x)
{
    if (v->values.len >= MAX_VALUES)
        evaluation_stop(v, "a loop of too many turns");
    tp_push(v->s->arena, v->values, x);
    tp_push(v->s->arena, v->by, NULL);
    tp_push(v->s->arena, v->loaded, NULL);
    tp_push(v->s->arena, v->under, (tp_expr){0});
    return (tp_vid)(v->values.len - 1);
}

/* What a turn calls the values that it computes; others keep their number. */
typedef struct turn {
    evaluation *v;
    tp_vid *now; /* per value of the program: + 1; 0: as it is */
    uint32_t n;
} turn;

static tp_vid rename_value(const turn *t, tp_vid value)
{
    return value >= 0 && (uint32_t)value < t->n && t->now[value] ? t->now[value] - 1 : value;
}

static tp_access *rename_access(const turn *t, const tp_access *from)
{
    uint32_t rank = t->v->s->k->operands[from->operand].ref_rank;
    tp_access *to = TP_NEW(t->v->s->arena, tp_access);
    *to = *from;
    to->subs = TP_NEWN(t->v->s->arena, tp_subscript, rank);
    to->mask = from->guarded ? rename_value(t, from->mask) : 0;
    for (uint32_t d = 0; d < rank; d++) {
        to->subs[d] = from->subs[d];
        to->subs[d].start = rename_value(t, from->subs[d].start);
    }
    return to;
}

static tp_region of_turn(turn *t, const tp_region *r)
{
    tp_arena *a = t->v->s->arena;
    tp_region out = {0};
    for (uint32_t n = 0; n < r->len; n++) {
        tp_statement statement = r->at[n];
        if (statement.inst) {
            tp_inst *i = TP_NEW(a, tp_inst);
            *i = *statement.inst;
            i->args = TP_NEWN(a, tp_vid, i->nargs);
            for (uint32_t k = 0; k < i->nargs; k++)
                i->args[k] = rename_value(t, statement.inst->args[k]);
            i->access = i->access ? rename_access(t, i->access) : NULL;
            i->out = new_value(t->v, t->v->values.at[statement.inst->out]);
            t->now[statement.inst->out] = i->out + 1;
            statement.inst = i;
        }
        statement.value = rename_value(t, statement.value);
        statement.lo = rename_value(t, statement.lo);
        statement.hi = rename_value(t, statement.hi);
        for (uint32_t i = 0; i < TP_MAX_MESH; i++)
            statement.device[i] = rename_value(t, statement.device[i]);
        statement.access = statement.access ? rename_access(t, statement.access) : NULL;
        statement.test = of_turn(t, &statement.test);
        statement.body = of_turn(t, &statement.body);
        statement.orelse = of_turn(t, &statement.orelse);
        tp_push(a, out, statement);
    }
    return out;
}

/* The value as it is now: a variable's is that of the last assignment. */
static tp_vid as_it_is_now(evaluation *v, tp_vid value)
{
    if (value < 0 || (uint32_t)value >= v->p->values.len || !v->values.at[value].variable)
        return value;
    tp_inst *i = TP_NEW(v->s->arena, tp_inst);
    tp_vid *args = TP_NEWN(v->s->arena, tp_vid, 1);
    tp_vid now = new_value(v, v->values.at[value]);
    args[0] = value;
    *i = (tp_inst){.prim = TP_P_VARIABLE, .out = now, .args = args, .nargs = 1};
    v->by.at[now] = i;
    v->loaded.at[now] = v->slots[value];
    return now;
}

static void walk(evaluation *v, const tp_region *r, tp_expr path);

/* ---- loops of any number of turns ---- */

/* Does it only compute, assign and store? *stores: there is a store. */
static bool is_straight(const tp_region *r, bool *stores)
{
    for (uint32_t n = 0; n < r->len; n++) {
        if (r->at[n].kind != TP_COMPUTE && r->at[n].kind != TP_ASSIGN && r->at[n].kind != TP_PUT)
            return false;
        *stores |= r->at[n].kind == TP_PUT;
    }
    return true;
}

/* What is stored there is what the turns before made of it. */
static void begin_recurrence(evaluation *v, const stored **place, loop_variable loop, tp_expr counter)
{
    stored *began = TP_NEW(v->s->arena, stored);
    loop.before = *place;
    loop.turn = (uint32_t)tp_expr_get(v->s->p, counter)->value;
    tp_push(v->s->arena, v->loops, loop);
    *began = (stored){.path = tp_const(v->s->p, 1), .loop = v->loops.len, .turns = counter};
    *place = began;
}

/* The variables that it assigns and the buffers that it stores to are what the turns before made of them; variables
 * without a value, and those that are no floats, lose what they held. */
static void begin_turn(evaluation *v, const tp_region *r, tp_expr counter)
{
    uint32_t first = v->loops.len;
    for (uint32_t n = 0; n < r->len; n++) {
        if (r->at[n].kind == TP_ASSIGN) {
            const stored **slot = &v->slots[r->at[n].var];
            const tp_value *x = &v->values.at[r->at[n].var];
            if (!*slot || !tp_is_float(x->dtype))
                *slot = NULL;
            else if ((*slot)->loop <= first)
                begin_recurrence(v, slot, (loop_variable){.rank = x->rank}, counter);
        } else if (r->at[n].kind == TP_PUT) {
            uint32_t operand = r->at[n].access->operand;
            const stored **ref = &v->refs[operand];
            if (!*ref || (*ref)->loop <= first)
                begin_recurrence(
                    v, ref,
                    (loop_variable){.buffer = true, .operand = operand, .rank = v->s->k->operands[operand].ref_rank},
                    counter);
        }
    }
}

/* What all turns make of the variable or buffer that a turn leaves as `after`; NULL: it is not followed. */
static const stored *recur(evaluation *v, const stored *began, const stored *after, tp_expr turns)
{
    if (!began || !began->loop)
        return NULL;
    stored *all = TP_NEW(v->s->arena, stored);
    v->loops.at[began->loop - 1].after = after;
    *all = (stored){.path = tp_const(v->s->p, 1), .loop = began->loop, .turns = turns};
    return all;
}

/* Is it what a variable was when the turn began, in which it is now? */
static bool is_beginning(const evaluation *v, const stored *c)
{
    return c->loop && !v->loops.at[c->loop - 1].after;
}

/* Is it what the variable held when the turn began? */
static bool is_as_it_began(const evaluation *v, tp_vid value, tp_vid variable)
{
    const tp_inst *i = value >= 0 ? v->by.at[value] : NULL;
    const stored *began = i && i->prim == TP_P_VARIABLE ? v->loaded.at[value] : NULL;
    return i && i->prim == TP_P_VARIABLE && i->args[0] == variable && (!began || is_beginning(v, began));
}

/* What a turn assigns is another value where a condition holds, and else what
 * the variable held: variable_element() has the law. */
static const stored *chosen_in_turns(evaluation *v, const stored *c, const tp_inst *i, tp_vid variable,
                                     const stored *before, uint32_t counter, tp_expr turns)
{
    bool otherwise = is_as_it_began(v, i->args[1], variable);
    if (!otherwise && !is_as_it_began(v, i->args[2], variable))
        return NULL;
    stored *all = TP_NEW(v->s->arena, stored);
    *all = (stored){.path = c->path,
                    .value = i->args[otherwise ? 2 : 1],
                    .older = before,
                    .by = TP_P_WHERE,
                    .condition = i->args[0],
                    .otherwise = otherwise,
                    .turn = counter,
                    .turns = turns};
    return all;
}

/* What a turn assigns is what the variable held, with another part: the same law. */
static const stored *written_in_turns(evaluation *v, const stored *c, const tp_inst *i, tp_vid variable,
                                      const stored *before, uint32_t counter, tp_expr turns)
{
    if (!is_as_it_began(v, i->args[0], variable))
        return NULL;
    stored *all = TP_NEW(v->s->arena, stored);
    *all = (stored){.path = c->path,
                    .value = i->args[1],
                    .older = before,
                    .by = TP_P_WHERE,
                    .update = i,
                    .turn = counter,
                    .turns = turns};
    return all;
}

/* What a turn assigns is what the variable held, joined with a part that looks
 * at no variable of the turns before: after the loop it is the fold of the parts. */
static const stored *accumulate(evaluation *v, const stored *c, tp_vid variable, const stored *before, uint32_t counter,
                                tp_expr turns, bool some)
{
    bool once = c && !c->loop && (!c->older || is_beginning(v, c->older));
    const tp_inst *i = once && v->by.at[c->value] ? v->by.at[c->value] : NULL;
    if (i && i->prim == TP_P_WHERE && before && tp_is_float(v->values.at[c->value].dtype))
        return chosen_in_turns(v, c, i, variable, before, counter, turns);
    if (i && i->prim == TP_P_DYNAMIC_UPDATE && before && tp_is_float(v->values.at[c->value].dtype))
        return written_in_turns(v, c, i, variable, before, counter, turns);
    if (!i || i->nargs != 2 || !before || !tp_is_float(v->values.at[c->value].dtype) ||
        (i->prim != TP_P_ADD && i->prim != TP_P_MAXIMUM && i->prim != TP_P_MINIMUM))
        return NULL;
    uint32_t part = is_as_it_began(v, i->args[0], variable) ? 1 : 0;
    if (!is_as_it_began(v, i->args[1 - part], variable))
        return NULL;
    stored *all = TP_NEW(v->s->arena, stored);
    *all = (stored){.path = c->path,
                    .value = i->args[part],
                    .older = before,
                    .by = i->prim,
                    .turn = counter,
                    .turns = turns,
                    .some = some};
    return all;
}

static void fold_turns(evaluation *v, const tp_statement *statement, tp_expr path, tp_expr lo, tp_expr hi)
{
    static const premises nothing = {.n = 0};
    summary *s = v->s;
    tp_expr turns = tp_expr_normal(s->p, tp_op2(s->p, TP_E_SUB, hi, lo));
    uint32_t values = v->p->values.len;
    const stored **before = TP_NEWN(s->arena, const stored *, values + 1);
    if (values)
        memcpy(before, v->slots, values * sizeof *before);
    bool stores = false;
    int64_t fixed;
    if (statement->by != 1 || !is_straight(&statement->body, &stores))
        evaluation_stop(v, tp_expr_is_const(s->p, turns, &fixed) ? "a loop of too many turns"
                                                                 : "a loop whose turns depend on sizes");
    bool some = summary_proves(s, &nothing, tp_op2(s->p, TP_E_GE, turns, tp_const(s->p, 1)));
    if (!some && !summary_proves(s, &nothing, tp_op2(s->p, TP_E_GE, turns, tp_const(s->p, 0))))
        turns = tp_expr_normal(s->p, tp_op2(s->p, TP_E_MAX, turns, tp_const(s->p, 0)));
    tp_expr counter = summary_index(s, "n", turns);
    turn t = {.v = v, .n = v->values.len};
    t.now = TP_NEWN(s->arena, tp_vid, t.n);
    t.now[statement->var] =
        new_value(v, (tp_value){.dtype = TP_WEAK_INT, .meaning = tp_op2(s->p, TP_E_ADD, lo, counter)}) + 1;
    tp_region body = of_turn(&t, &statement->body);
    begin_turn(v, &body, counter);
    const stored **began = TP_NEWN(s->arena, const stored *, values + 1);
    if (values)
        memcpy(began, v->slots, values * sizeof *began);
    uint32_t operands = tp_noperands(s->k);
    const stored **buffer_began = TP_NEWN(s->arena, const stored *, operands + 1);
    if (operands)
        memcpy(buffer_began, v->refs, operands * sizeof *buffer_began);
    walk(v, &body, path);
    for (uint32_t n = 0; n < body.len; n++)
        if (body.at[n].kind == TP_ASSIGN) {
            tp_vid variable = body.at[n].var;
            const stored *now = v->slots[variable];
            if (now && now->turns.id)
                continue;
            v->slots[variable] = accumulate(v, now, variable, before[variable],
                                            (uint32_t)tp_expr_get(s->p, counter)->value, turns, some);
            const stored *all = recur(v, began[variable], now, turns);
            if (!v->slots[variable])
                v->slots[variable] = all;
        } else if (body.at[n].kind == TP_PUT) {
            const stored **ref = &v->refs[body.at[n].access->operand];
            if (!(*ref)->turns.id)
                *ref = recur(v, buffer_began[body.at[n].access->operand], *ref, turns);
        }
}

static void unroll(evaluation *v, const tp_statement *statement, tp_expr path)
{
    tp_exprs *p = v->s->p;
    int64_t lo, hi;
    tp_expr from = scalar_of(v, as_it_is_now(v, statement->lo)), to = scalar_of(v, as_it_is_now(v, statement->hi));
    int64_t turns;
    bool known = tp_expr_is_const(p, from, &lo) && tp_expr_is_const(p, to, &hi), stores = false,
         many = known && (!tp_turns(lo, hi, statement->by, &turns) || turns > MAX_TURNS),
         rolls = known && statement->by == 1 && is_straight(&statement->body, &stores) && (stores || !v->body);
    v->s->may_roll |= rolls;
    if (!known || many || (rolls && v->s->rolled)) {
        fold_turns(v, statement, path, from, to);
        return;
    }
    for (int64_t k = 0; k < turns; k++) {
        turn t = {.v = v, .n = v->values.len};
        t.now = TP_NEWN(v->s->arena, tp_vid, t.n);
        t.now[statement->var] =
            new_value(v, (tp_value){.dtype = TP_WEAK_INT, .meaning = tp_const(p, lo + k * statement->by)}) + 1;
        tp_region body = of_turn(&t, &statement->body);
        walk(v, &body, path);
    }
}

/* ---- the walk ---- */

static tp_access *access_as_it_is_now(evaluation *v, tp_access *given)
{
    uint32_t rank = given ? v->s->k->operands[given->operand].ref_rank : 0;
    bool any = false;
    for (uint32_t d = 0; d < rank; d++)
        any |= as_it_is_now(v, given->subs[d].start) != given->subs[d].start;
    if (!any)
        return given;
    tp_access *a = TP_NEW(v->s->arena, tp_access);
    *a = *given;
    a->subs = TP_NEWN(v->s->arena, tp_subscript, rank);
    for (uint32_t d = 0; d < rank; d++) {
        a->subs[d] = given->subs[d];
        a->subs[d].start = as_it_is_now(v, given->subs[d].start);
    }
    return a;
}

static const tp_inst *inst_as_it_is_now(evaluation *v, const tp_inst *given)
{
    tp_access *access = access_as_it_is_now(v, given->access);
    bool any = access != given->access;
    for (uint32_t k = 0; k < given->nargs; k++)
        any |= given->prim != TP_P_VARIABLE && as_it_is_now(v, given->args[k]) != given->args[k];
    if (!any)
        return given;
    tp_inst *i = TP_NEW(v->s->arena, tp_inst);
    *i = *given;
    i->access = access;
    i->args = TP_NEWN(v->s->arena, tp_vid, i->nargs);
    for (uint32_t k = 0; k < i->nargs; k++)
        i->args[k] = as_it_is_now(v, given->args[k]);
    return i;
}

static void put(evaluation *v, const tp_statement *statement, tp_expr path)
{
    stored *c = TP_NEW(v->s->arena, stored);
    *c = (stored){.path = path,
                  .where = access_as_it_is_now(v, statement->access),
                  .value = as_it_is_now(v, statement->value),
                  .older = v->refs[statement->access->operand]};
    v->refs[statement->access->operand] = c;
}

/* What its buffers hold is not looked at: equality rests on TP404. */
static void enter(evaluation *v, const tp_statement *statement, tp_expr path)
{
    for (uint32_t o = statement->scope.first; o < statement->scope.first + statement->scope.n; o++) {
        stored *c = TP_NEW(v->s->arena, stored);
        *c = (stored){.path = path, .nothing = true, .older = v->refs[o]};
        if (!tp_is_semaphore(&v->s->k->operands[o]))
            v->refs[o] = c;
    }
}

/* An arm that nothing reaches computes nothing: what it would do may have no meaning. */
static void walk_arm(evaluation *v, const tp_region *r, tp_expr path, tp_expr condition)
{
    static const premises nothing = {.n = 0};
    tp_exprs *p = v->s->p;
    tp_expr both = tp_op2(p, TP_E_AND, path, condition);
    int64_t always;
    bool nested = !tp_expr_is_const(p, path, &always);
    if (r->len && !(nested && summary_proves(v->s, &nothing, tp_op1(p, TP_E_NOT, both))))
        walk(v, r, both);
}

static void walk(evaluation *v, const tp_region *r, tp_expr path)
{
    summary *s = v->s;
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *statement = &r->at[n];
        s->syntax = v->body ? statement->syntax : NULL;
        switch (statement->kind) {
        case TP_COMPUTE: {
            const tp_inst *i = inst_as_it_is_now(v, statement->inst);
            v->by.at[i->out] = i;
            if (i->prim == TP_P_LOAD) {
                v->loaded.at[i->out] = v->refs[i->access->operand];
                v->under.at[i->out] = path;
            }
            if (i->prim == TP_P_VARIABLE)
                v->loaded.at[i->out] = v->slots[i->args[0]];
            break;
        }
        case TP_ASSIGN: {
            stored *c = TP_NEW(s->arena, stored);
            *c = (stored){.path = path, .value = as_it_is_now(v, statement->value), .older = v->slots[statement->var]};
            v->slots[statement->var] = c;
            break;
        }
        case TP_COPY_START: /* equality rests on TP502 and TP504 */
            if (tp_stores_here(s->k->operands, statement, s->a->stores_at_start))
                put(v, statement, path);
            break;
        case TP_COPY_WAIT:
            if (!tp_stores_here(s->k->operands, statement, s->a->stores_at_start))
                break;
            v->by.at[statement->value] = inst_as_it_is_now(v, statement->inst);
            v->loaded.at[statement->value] = v->refs[statement->from->operand];
            v->under.at[statement->value] = path;
            put(v, statement, path);
            break;
        case TP_PUT: put(v, statement, path); break;
        case TP_IF: {
            tp_expr condition = scalar_of(v, as_it_is_now(v, statement->value)),
                    yes = condition_normal(s, condition, false), no = condition_normal(s, condition, true);
            walk_arm(v, &statement->body, path, yes);
            walk_arm(v, &statement->orelse, path, no);
            break;
        }
        case TP_LOOP: unroll(v, statement, path); break;
        case TP_WHILE: evaluation_stop(v, "a while loop"); break;
        case TP_ENTER: enter(v, statement, path); break;
        case TP_LEAVE:
        case TP_SIGNAL:
        case TP_AWAIT:
        case TP_ASSERT: break;
        }
    }
}

/* Counters of folds may run to a turn of another phase, whose range a question needs. */
void note_others(summary *s, const turned_loops *here)
{
    s->others.len = 0;
    for (const turned_loops *t = s->last; t; t = t->before)
        for (uint32_t a = t->outer; a < t->k->naxes && t != here; a++)
            tp_push(s->arena, s->others, summary_turn(s, &t->k->axes[a]));
}

void look_from(evaluation *v)
{
    summary *s = v->s;
    if (s->last && s->turned != v->turned)
        note_others(s, v->turned);
    s->k = v->k;
    s->a = v->a;
    s->positive = v->positive;
    s->turned = v->turned;
    s->now = v;
}

evaluation *evaluate(summary *s, const tp_program *p, bool body)
{
    evaluation *v = TP_NEW(s->arena, evaluation);
    uint32_t values = p->values.len, operands = tp_noperands(s->k);
    *v = (evaluation){.s = s, .p = p, .body = body};
    for (uint32_t i = 0; i < values; i++)
        new_value(v, p->values.at[i]);
    v->slots = TP_NEWN(s->arena, const stored *, values);
    v->refs = TP_NEWN(s->arena, const stored *, operands);
    v->final = TP_NEWN(s->arena, const stored *, operands);
    v->uniform = TP_NEWN(s->arena, along_dims, operands);
    v->k = s->k;
    v->a = s->a;
    v->positive = s->positive;
    v->turned = s->turned;
    v->ends = TP_NEWN(s->arena, term, operands);
    v->end_lane = (tp_expr(*)[TP_MAX_RANK])tp_alloc_array(s->arena, operands + 1, sizeof *v->end_lane);
    if (body)
        s->now = v;
    walk(v, &p->statements, tp_const(s->p, 1));
    v->final = v->refs;
    expect_values(v);
    return v;
}
