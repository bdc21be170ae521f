/* Inputs next to where kernel or reference decide otherwise, at a single element.
 *
 * A branch that tests 1000 * x + 3 where it should test x is wrong between
 * -0.003 and 0 alone: no draw lands there. So the element is looked at on ways
 * from its draw to other numbers (demand/): at their ends, and on both sides of
 * where a decision of either side turns. Values are those over the reals, with
 * their bounds; a difference beyond these is one, the rest says nothing. */
#include <math.h>

#include "demand/demand.h"
#include "domains/turns.h"
#include "verify/opinion.h"

enum {
    ROOM = 1 << 14, /* decisions that are looked at */
    FIXED = 256,    /* operations for the price of starting */
    MOST_TURNS = 4, /* of one side, on one way */
    KERNEL = 0,
    REFERENCE,
    SIDES
};
static const double LEAST = 0x1p-32; /* of a way */

typedef struct nearby {
    const tp_nearby *o;
    tp_arena *keep, *work; /* of the search; of one evaluation */
    tp_rng rng;
    tp_demand_end end;
    int side;
    tp_decision_log log, first[SIDES];
    tp_demand_value v[SIDES]; /* the last ones */
    bool differ;
} nearby;

/* ---- does anything turn? ---- */

typedef struct of_data {
    const tp_program *p;
    const bool *from; /* by value */
} of_data;

static bool turns(const tp_statement *s, void *ctx)
{
    const of_data *x = ctx;
    const tp_inst *i = s->inst;
    if (s->kind != TP_COMPUTE || !i->nargs)
        return false;
    bool a = x->from[i->args[0]], b = i->nargs > 1 && x->from[i->args[1]];
    if (i->prim == TP_P_MINIMUM || i->prim == TP_P_MAXIMUM)
        return a != b;
    return (a || b) && (tp_decides(i->prim) || (i->prim == TP_P_CAST && !tp_is_float(x->p->values.at[i->out].dtype)));
}

bool tp_may_turn(const tp_kernel *k, const tp_program *p)
{
    tp_arena *work = tp_arena_child(k->arena);
    of_data x = {p, tp_comes_of(work, k, p, -1)};
    bool any = tp_region_any(&p->statements, turns, &x);
    tp_arena_free(work);
    return any;
}

/* ---- one side somewhere on the way ---- */

static bool evaluate(nearby *n, int side, double way)
{
    const tp_look *p = n->o->look;
    if (*n->o->budget <= 0)
        return false;
    tp_arena_clear(n->work);
    n->log.n = 0;
    tp_demand_options o = {.kernel = p->kernel,
                           .program = side == REFERENCE ? n->o->reference : p->kernel->body,
                           .reference = side == REFERENCE,
                           .env = p->env,
                           .domain = tp_decisions_new(n->work, &n->log),
                           .seed = n->o->seed,
                           .family = n->o->family,
                           .end = n->end,
                           .way = way,
                           .budget = *n->o->budget};
    n->v[side] = tp_demand_element(tp_demand_new(n->work, &o), p->output, p->at);
    n->v[side].why = (tp_str){0}; /* its memory goes */
    *n->o->budget -= n->v[side].work + FIXED;
    return true;
}

static bool decide_at(void *ctx, double way)
{
    nearby *n = ctx;
    return evaluate(n, n->side, way);
}

/* A finite number that hangs on no decision too close to call; *number becomes that over the reals. */
static bool is_certain(tp_demand_value *x, double *bound)
{
    double v;
    memcpy(&v, &x->plane[0], sizeof v);
    memcpy(bound, &x->plane[1], sizeof *bound);
    if (x->outcome != TP_DEMAND_VALUE || x->undecided || !isfinite(v) || !isfinite(*bound))
        return false;
    x->number = v;
    return true;
}

/* Do the values of both sides differ by more than their bounds? */
static bool values_differ(nearby *n)
{
    double bk, br;
    return is_certain(&n->v[REFERENCE], &br) && !n->v[REFERENCE].masked && is_certain(&n->v[KERNEL], &bk) &&
           fabs(n->v[KERNEL].number - n->v[REFERENCE].number) > bk + br;
}

static bool differ_at(nearby *n, double way)
{
    return evaluate(n, REFERENCE, way) && evaluate(n, KERNEL, way) && values_differ(n);
}

/* ---- ways ---- */

static bool differ_at_turns(nearby *n, const tp_turn *turns, uint32_t nturns)
{
    double lo, hi;
    for (uint32_t i = 0; i < nturns && i < MOST_TURNS; i++)
        if (tp_find_turn(&turns[i], LEAST, &n->log, decide_at, n, &lo, &hi) && (differ_at(n, lo) || differ_at(n, hi)))
            return true;
    return false;
}

static bool differ_on_way(nearby *n)
{
    tp_turn turns[SIDES][TP_MAX_TURNS];
    uint32_t nturns[SIDES];
    for (int side = 0; side < SIDES; side++) {
        if (!evaluate(n, side, 1))
            return false;
        nturns[side] = tp_turns_between(&n->first[side], &n->log, &n->rng, turns[side]);
    }
    if (values_differ(n))
        return true;
    for (n->side = 0; n->side < SIDES; n->side++)
        if (differ_at_turns(n, turns[n->side], nturns[n->side]))
            return true;
    return false;
}

static void look(void *arg)
{
    nearby *n = arg;
    n->log = tp_decision_log_new(n->keep, ROOM);
    n->log.integers = true;
    for (int side = 0; side < SIDES; side++) {
        if (!evaluate(n, side, 0))
            return;
        n->first[side] = tp_decision_log_copy(n->keep, &n->log);
    }
    for (int end = 0; end < TP_DEMAND_ENDS && !n->differ; end++) {
        n->end = (tp_demand_end)end;
        n->differ = differ_on_way(n);
    }
}

bool tp_differs_nearby(tp_arena *a, const tp_nearby *o, double *kernel, double *reference)
{
    enum { WORK_MIB = 256 };
    nearby n = {.o = o, .keep = tp_arena_child(a), .rng = tp_rng_new(o->seed, 0x6e6561726279)};
    n.work = tp_arena_child_limited(n.keep, (size_t)WORK_MIB << 20);
    if (tp_try(n.work, look, &n) != TP_OK)
        n.differ = false;
    if (n.differ) {
        *kernel = n.v[KERNEL].number;
        *reference = n.v[REFERENCE].number;
    }
    tp_arena_free(n.keep);
    return n.differ;
}
