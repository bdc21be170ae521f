/* The statements of a body in one grid step: region by region, with its loops and branches. A region forgets
 * instructions of which nothing is left to do, as their number stays, and a loop has others but in its first turn: what
 * they count for is paid for by the next statement. */
#include "base/assert.h"
#include "base/checked.h"
#include "kernels/machine/internal.h"

/* In one line of the cache, as each statement before may have used all of it. */
typedef struct act {
    const tp_statement *statement;
    const tp_inst *inst;     /* NULL: the statement is no instruction */
    const tp_quick *quick;   /* ... what is known of it, */
    bool ends;               /* ... and that nothing may be left to do from some step on */
    tp_due before;           /* of instructions that were left out before it */
    tp_course *body, *other; /* of the statement; what else a branch has, or the test of a loop */
} act;

struct tp_course {
    act *at;
    uint32_t len;
    tp_due rest;      /* of those that were left out at the end */
    tp_course *later; /* NULL: the same again */
};

/* ---- what stays while a loop turns ---- */

typedef struct turning {
    tp_machine *m;
    uint32_t *within; /* per value: the innermost loop so far that computes or assigns it, of so many: */
    uint32_t loops;
} turning;

static bool note_within(const tp_statement *s, void *ctx)
{
    turning *t = ctx;
    if (tp_computed(s))
        t->within[s->inst->out] = t->loops;
    if (s->kind == TP_LOOP || s->kind == TP_ASSIGN)
        t->within[s->var] = t->loops;
    return false;
}

/* Has it the same result in each turn, as it looks at nothing that the loop computes? Others than these may wait for
 * who looks at them, who in another turn may be another one. */
static bool is_steady(const turning *t, const tp_inst *i)
{
    tp_prim_class class = tp_prim_info(i->prim)->class;
    bool steady =
        i->out >= 0 && !i->access && t->m->fixed[i->out] == TP_VARIES && !t->m->assigned[i->out] &&
        (class == TP_CLASS_ELEMENTWISE || class == TP_CLASS_CONVERT || i->prim == TP_P_WHERE ||
         i->prim == TP_P_BROADCAST || i->prim == TP_P_IOTA || i->prim == TP_P_READ || i->prim == TP_P_PROGRAM_ID);
    for (uint32_t a = 0; steady && a < i->nargs; a++)
        steady = t->within[i->args[a]] != t->loops || t->m->steady[i->args[a]];
    return steady;
}

static void find_steady(turning *t, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        bool turns = s->kind == TP_LOOP || s->kind == TP_WHILE;
        if (turns) {
            t->loops++;
            note_within(s, t);
            tp_region_any(&s->body, note_within, t);
            tp_region_any(&s->test, note_within, t);
        }
        for (uint32_t k = 0; turns && k < s->body.len; k++)
            if (s->body.at[k].kind == TP_COMPUTE && is_steady(t, s->body.at[k].inst))
                t->m->steady[s->body.at[k].inst->out] = true;
        find_steady(t, &s->test);
        find_steady(t, &s->body);
        find_steady(t, &s->orelse);
    }
}

void tp_steady_prepare(tp_machine *m)
{
    uint32_t n = m->k->body->values.len;
    turning t = {m, TP_NEWN(m->arena, uint32_t, n), 0};
    m->steady = TP_NEWN(m->arena, bool, n);
    if (tp_may_defer(m))
        find_steady(&t, m->body);
}

/* ---- regions ---- */

typedef bool (*leaves_out)(const tp_machine *m, const act *a);

/* What may stay as it is by now does. */
static bool is_idle(const tp_machine *m, const act *a)
{
    return a->ends && tp_quick_is_there(m, a->inst);
}

static bool stays(const tp_machine *m, const act *a)
{
    return a->quick && m->steady[a->inst->out];
}

/* The acts of `from` to those of `to`, which may be the same, without some. */
static void leave_out(const tp_machine *m, leaves_out which, const tp_course *from, tp_course *to)
{
    tp_due due = {0, 0};
    uint32_t kept = 0;
    for (uint32_t n = 0; n < from->len; n++) {
        const act *a = &from->at[n];
        due.work += a->before.work;
        due.cost += a->before.cost;
        if (which(m, a)) {
            due.work += m->due[a->inst->out].work;
            due.cost += m->due[a->inst->out].cost;
            continue;
        }
        to->at[kept] = *a;
        to->at[kept++].before = due;
        due = (tp_due){0, 0};
    }
    to->len = kept;
    to->rest.work = from->rest.work + due.work;
    to->rest.cost = from->rest.cost + due.cost;
}

static tp_course *later_turns(tp_machine *m, const tp_course *first)
{
    tp_course *c = TP_NEW(m->arena, tp_course);
    c->at = TP_NEWN(m->arena, act, first->len);
    leave_out(m, stays, first, c);
    return c->len < first->len ? c : NULL;
}

static tp_course *course_of(tp_machine *m, const tp_region *r)
{
    tp_course *c = TP_NEW(m->arena, tp_course);
    c->at = TP_NEWN(m->arena, act, r->len);
    c->len = r->len;
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        bool branches = s->kind == TP_IF, tests = s->kind == TP_WHILE;
        c->at[n].statement = s;
        c->at[n].inst = s->kind == TP_COMPUTE ? s->inst : NULL;
        c->at[n].quick = s->kind == TP_COMPUTE ? tp_quick_of(m, s->inst) : NULL;
        c->at[n].ends = s->kind == TP_COMPUTE && tp_quick_ends(m, s->inst);
        c->at[n].body = branches || tests || s->kind == TP_LOOP ? course_of(m, &s->body) : NULL;
        if (c->at[n].body && !branches)
            c->at[n].body->later = later_turns(m, c->at[n].body);
        c->at[n].other = branches ? course_of(m, &s->orelse) : tests ? course_of(m, &s->test) : NULL;
    }
    return c;
}

void tp_course_prepare(tp_machine *m)
{
    m->course = course_of(m, m->body);
}

/* Loops end: a body that turns this often without end is refused. */
static void too_many_turns(tp_machine *m)
{
    m->trap->message =
        tp_printf(m->arena, "the loops of the body turn more than %lld times", (long long)m->request->max_steps);
    m->trap->step = m->step;
    tp_leave(m->arena, TP_E_LIMIT);
}

static void count_turn(tp_machine *m)
{
    tp_spend(m->arena, 8);
    if (++m->turns > m->request->max_steps)
        too_many_turns(m);
}

static bool condition(tp_machine *m, tp_vid v, const char *sink)
{
    const tp_cells *c = &m->values[v];
    if (tp_any_undefined(c))
        tp_trap_undefined(m, tp_any_undefined(c), (tp_str){NULL, 0}, sink);
    tp_decide(m, c);
    return *(const uint8_t *)c->data;
}

/* This way went the statement. */
static void went(tp_machine *m, const tp_statement *s, int64_t way)
{
    if (m->request->coverage)
        tp_cover(m->request->coverage, s, (uint32_t)way);
}

/* Turn t of the body of a loop. */
static void exec_turn(tp_machine *m, tp_course *body, int64_t t)
{
    tp_exec_course(m, t && body->later ? body->later : body);
}

static void exec_while(tp_machine *m, const act *a)
{
    for (int64_t turns = 0;; turns++) {
        count_turn(m);
        tp_exec_course(m, a->other);
        m->at = a->statement;
        if (!condition(m, a->statement->value, "a loop condition")) {
            went(m, a->statement, turns < 2 ? turns : 2);
            return;
        }
        exec_turn(m, a->body, turns);
    }
}

static void exec_loop(tp_machine *m, const act *a)
{
    const tp_statement *s = a->statement;
    int64_t lo = tp_scalar_int(m, s->lo, (tp_str){NULL, 0}, "a loop bound"),
            hi = tp_scalar_int(m, s->hi, (tp_str){NULL, 0}, "a loop bound");
    int64_t turns;
    if (!tp_turns(lo, hi, s->by, &turns))
        too_many_turns(m);
    for (int64_t k = 0; k < turns; k++) {
        int64_t t = lo + k * s->by;
        count_turn(m);
        m->values[s->var].state = TP_CLEAN;
        m->values[s->var].meaning.plane[0] = NULL;
        *(int32_t *)m->values[s->var].data = (int32_t)t;
        exec_turn(m, a->body, k);
    }
    went(m, s, turns < 2 ? turns : 2);
}

static void exec_branch(tp_machine *m, const act *a)
{
    bool taken = condition(m, a->statement->value, "a branch condition");
    went(m, a->statement, taken);
    tp_exec_course(m, taken ? a->body : a->other);
}

static void exec_act(tp_machine *m, const act *a)
{
    if (a->inst) {
        tp_exec_inst(m, a->inst, a->quick);
        tp_assert(a->inst->out < 0 || tp_cells_hold(&m->values[a->inst->out]));
        return;
    }
    tp_exec_statement(m, a->statement);
    if (a->statement->kind == TP_LOOP)
        exec_loop(m, a);
    else if (a->statement->kind == TP_WHILE)
        exec_while(m, a);
    else if (a->statement->kind == TP_IF)
        exec_branch(m, a);
}

void tp_exec_course(tp_machine *m, tp_course *c)
{
    bool told = m->request->observer != NULL, any = false;
    for (const act *a = c->at; a < c->at + c->len; a++) {
        m->at = a->statement;
        tp_quick_pay(m, a->before);
        if (told)
            tp_tell(m, (tp_event){.kind = TP_EVENT_STATEMENT, .statement = a->statement});
        exec_act(m, a);
        any |= is_idle(m, a);
        if (told)
            tp_tell(m, (tp_event){.kind = TP_EVENT_STATEMENT_DONE, .statement = a->statement});
    }
    tp_quick_pay(m, c->rest);
    if (any && !told)
        leave_out(m, is_idle, c, c);
    tp_chain_finish(m);
}
