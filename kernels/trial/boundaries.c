/* Inputs at which kernel or reference are about to decide otherwise. Two draws
 * decide something differently; between them, on the way from one to the other,
 * bisection finds where; and E1 runs there, and at distances from a few units
 * of the last place of the inputs to a quarter of the way, on both sides. So two
 * boundaries that are not the same are told apart, however close they are. */
#include <math.h>

#include "domains/turns.h"
#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"
#include "spec/range.h"

enum { ROOM = 1 << 16, LEAST_RUNS = 60, MOST_RUNS = 2048 };
static const double EFFORT = 1 << 22; /* elements moved by all runs together */

typedef struct search {
    tp_arena *work, *keep;
    const tp_equiv_options *o;
    tp_case *c;           /* with the inputs that are tried */
    tp_tensor *from, *to; /* inputs at both ends, */
    tp_tensor *now;       /* and those of the case */
    bool reference;       /* whose decisions: the kernel's, or the reference's */
    tp_decision_log log;  /* of the last run */
    double least;         /* part of the way that moves inputs by half a unit of the last place */
    uint32_t targets;     /* decisions that were gone to so far */
    int runs;             /* that are left */
    tp_case_result *r;
} search;

/* ---- is there anything to decide? ---- */

static bool is_decision(const tp_statement *s, void *program)
{
    const tp_program *p = *(const tp_program *const *)program;
    if (s->kind != TP_COMPUTE || s->inst->nargs == 0 || !tp_is_float(p->values.at[s->inst->args[0]].dtype))
        return false;
    return tp_decides(s->inst->prim) || (s->inst->prim == TP_P_CAST && !tp_is_float((tp_dtype)s->inst->integer));
}

static bool decides(const tp_program *p)
{
    return p && tp_region_any(&p->statements, is_decision, &p);
}

/* ---- inputs ---- */

static tp_tensor *inputs_of(search *s, tp_input_family family, uint64_t seed)
{
    tp_case c = *s->c;
    c.given = NULL;
    c.seed += seed;
    tp_trial t = {.work = s->keep, .keep = s->keep, .c = &c, .o = s->o};
    tp_sides e = {.n = 0};
    tp_str why;
    return tp_trial_arrays(&t, family, 0, &e, &why) ? e.arrays : NULL;
}

/* Inputs this part of the way, in their "values" also past its ends; what is no float stays where it began. */
static void place(search *s, double way)
{
    const tp_kernel *k = s->c->kernel;
    for (uint32_t i = 0; i < k->ninputs; i++) {
        tp_range r = tp_input_range(k, tp_array_of(k, i), s->c->env);
        const tp_tensor *from = &s->from[i], *to = &s->to[i], *at = &s->now[i];
        for (size_t e = 0; tp_is_float(at->dtype) && e < at->n; e++) {
            double a = tp_get_f64(at->dtype, from->data, e), b = tp_get_f64(at->dtype, to->data, e);
            tp_put_f64(at->dtype, at->data, e, fmax(r.lo, fmin(a + way * (b - a), r.hi)));
        }
    }
}

/* ---- decisions ---- */

static void decide(void *arg)
{
    search *s = arg;
    tp_trial t = {.work = s->work, .keep = s->work, .c = s->c, .o = s->o};
    tp_sides e = {.garbage = TP_GARBAGE_QUIET};
    tp_trap trap;
    tp_str why;
    s->log.n = 0;
    if (!tp_trial_arrays(&t, TP_INPUT_NORMAL, 0, &e, &why))
        return;
    tp_domain *d = tp_decisions_new(s->work, &s->log);
    if (s->reference)
        tp_trial_reference(&t, &e, d, NULL, &why);
    else
        tp_trial_kernel(&t, &e, d, &trap, NULL);
}

/* What is decided this part of the way, into the log; false: the run was left. */
static bool decide_at(void *ctx, double way)
{
    search *s = ctx;
    if (s->runs-- <= 0)
        return false;
    place(s, way);
    s->work = tp_arena_child_limited(s->keep, s->o->max_memory);
    tp_status st = tp_try(s->work, decide, s);
    tp_arena_free(s->work);
    return st == TP_OK;
}

/* ---- E1 ---- */

static bool is_narrowed(const tp_case_result *r)
{
    bool any = false;
    for (uint32_t i = 0; i < r->outputs.len; i++)
        any |= r->outputs.at[i].narrowed;
    return any;
}

/* Does E1 refute equality on the inputs there? Overflow does not. */
static bool refuted_at(search *s, double way)
{
    tp_case_result now = {
        .the_case = s->c, .algebra = s->r->algebra, .bits = s->r->bits, .out_of_memory = s->r->out_of_memory};
    if (s->runs-- <= 0)
        return false;
    place(s, way);
    if (!tp_trial_in_memory(s->keep, s->c, s->o, &now, tp_trial_numbers) ||
        !(tp_equiv_refutes(&now, false) || is_narrowed(&now)))
        return false;
    *s->r = now;
    return true;
}

static bool refuted_near(search *s, const tp_turn *t)
{
    double lo, hi;
    if (!tp_find_turn(t, s->least, &s->log, decide_at, s, &lo, &hi))
        return false;
    if (refuted_at(s, lo) || refuted_at(s, hi))
        return true;
    for (double far = s->least * 2; far < 0.5; far *= 4)
        if (refuted_at(s, lo - far) || refuted_at(s, hi + far))
            return true;
    return false;
}

/* Between a draw and another one. */
static bool refuted_between(search *s, tp_input_family family, uint64_t seed, tp_rng *rng)
{
    tp_turn targets[TP_MAX_TURNS];
    s->to = inputs_of(s, family, seed);
    if (!s->to || !decide_at(s, 0))
        return false;
    tp_decision_log first = tp_decision_log_copy(s->keep, &s->log);
    if (!decide_at(s, 1))
        return false;
    uint32_t n = tp_turns_between(&first, &s->log, rng, targets);
    s->targets += n;
    for (uint32_t i = 0; i < n; i++)
        if (refuted_near(s, &targets[i]))
            return true;
    return false;
}

/* ---- the search ---- */

/* Half a unit of the last place of the finest float among the inputs. */
static double finest(const tp_kernel *k)
{
    double u = 1;
    for (uint32_t i = 0; i < k->ninputs; i++)
        if (tp_is_float(k->operands[i].dtype))
            u = fmin(u, tp_dtype_roundoff(k->operands[i].dtype));
    return u;
}

/* By the decisions of one side; false: no inputs tell the two apart, or it decides nothing by the inputs. */
static bool search_by(search *s, bool reference)
{
    static const tp_input_family TO[] = {TP_INPUT_NORMAL, TP_INPUT_LARGE};
    double runs = EFFORT / 2 / fmax(tp_effort_of(s->c->kernel, s->c->env), 1);
    tp_rng rng = tp_rng_new(s->o->seed + s->c->seed, 0x6465636964);
    s->reference = reference;
    for (size_t i = 0; i < sizeof TO / sizeof *TO; i++) {
        s->runs = (int)fmin(MOST_RUNS, fmax(LEAST_RUNS, runs));
        if (refuted_between(s, TO[i], 1 + i, &rng))
            return true;
    }
    return false;
}

void tp_hunt_boundaries(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    const tp_case *c = r->the_case;
    const tp_kernel *k = c->kernel;
    tp_case *tried = TP_NEW(a, tp_case);
    *tried = *c;
    tried->families = 0;
    tried->coverage = NULL;
    tried->boundaries = false;
    tried->near = true;
    search s = {.keep = a, .o = o, .c = tried, .least = finest(k), .r = r};
    bool kernel = decides(k->body), reference = decides(c->against ? c->against->kernel->body : k->reference.program);
    if (c->given || s.least == 1 || !(kernel || reference))
        return;
    s.from = inputs_of(&s, TP_INPUT_NORMAL, 0);
    s.now = inputs_of(&s, TP_INPUT_NORMAL, 0);
    if (!s.from || !s.now)
        return;
    tried->given = s.now;
    s.log = tp_decision_log_new(a, ROOM);
    if (kernel)
        search_by(&s, false);
    if (reference && !s.targets)
        search_by(&s, true);
}
