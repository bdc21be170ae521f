/* Residues that differ where the numbers of a case agree (E3 against E1): are
 * there numbers that confirm it? Inputs of every family and some seeds are
 * tried, then changes of them that bring the element closer to its bound, then
 * those next to where a decision turns. What
 * nothing confirms is a difference all the same, unless it is gone where maxima
 * follow the data instead of the oracle, or where nothing ties. */
#include <math.h>

#include "base/rng.h"
#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"

enum { SEEDS = 3, LEAST_TRIES = 12, MOST_TRIES = 96 };
static const double EFFORT = 1 << 22; /* elements moved by the tries together, but for the least */

/* Run E1 on the case; true when it differs or traps, and *r is that result. */
static bool confirms(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r)
{
    tp_case_result now = {.the_case = c, .algebra = r->algebra, .bits = r->bits, .out_of_memory = r->out_of_memory};
    bool refutes = tp_trial_in_memory(a, c, o, &now, tp_trial_numbers) && now.outcome == TP_DIFFERENT;
    if (!refutes && now.outcome != TP_TRAPPED)
        return false;
    *r = now;
    return true;
}

/* Families of inputs with other numbers in them. */
static bool hunt_in_families(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    for (uint64_t s = 0; s < SEEDS; s++) {
        tp_case *c = TP_NEW(a, tp_case);
        *c = *r->the_case;
        c->seed += s;
        c->families = TP_INPUT_BIT(TP_INPUT_WIDE) | TP_INPUT_BIT(TP_INPUT_CANCEL);
        for (int f = TP_INPUT_FIRST_PLACED; f < TP_INPUT_FAMILIES; f++)
            c->families |= TP_INPUT_BIT(f);
        if (confirms(a, c, o, r))
            return true;
    }
    return false;
}

/* ---- climbing ---- */

typedef struct climb {
    tp_arena *work;
    const tp_case *c; /* with the inputs that are tried */
    const tp_equiv_options *o;
    uint32_t output;
    size_t element;
    double ratio; /* distance of the element in units of its bounds; negative: none */
} climb;

static void measure(void *arg)
{
    climb *x = arg;
    tp_trial t = {.work = x->work, .keep = x->work, .c = x->c, .o = x->o};
    const tp_kernel *k = x->c->kernel;
    tp_sides e = {.garbage = TP_GARBAGE_HUGE};
    tp_run_stats stats = {0};
    tp_trap trap;
    tp_str why;
    bool turns = false;
    x->ratio = -1;
    if (!tp_trial_arrays(&t, TP_INPUT_NORMAL, 0, &e, &why) ||
        tp_trial_kernel(&t, &e, tp_rounding_new(x->work), &trap, &stats) != TP_OK || stats.undecided ||
        !tp_trial_reference(&t, &e, tp_rounding_new(x->work), &turns, &why) || turns)
        return;
    const tp_planes *g = &e.got_meaning[k->ninputs + x->output], *w = &e.want_meaning[k->ninputs + x->output];
    double got = ((const double *)g->plane[0])[x->element], want = ((const double *)w->plane[0])[x->element],
           slack = ((const double *)g->plane[1])[x->element] + ((const double *)w->plane[1])[x->element];
    if (isfinite(got) && isfinite(want) && slack < HUGE_VAL)
        x->ratio = got == want ? 0 : fabs(got - want) / (slack + 0x1p-1000);
}

static double ratio_with(climb *x)
{
    x->work = tp_arena_new(x->o->max_memory);
    if (!x->work)
        return -1;
    tp_status st = tp_try(x->work, measure, x);
    tp_arena_free(x->work);
    return st == TP_OK ? x->ratio : -1;
}

/* Change a stretch of a float input: all of it, or some elements in a row. */
static void change(tp_rng *rng, tp_tensor *t)
{
    size_t length = tp_rng_below(rng, 2) ? t->n : 1 + (size_t)tp_rng_below(rng, t->n / 4 + 1),
           from = (size_t)tp_rng_below(rng, t->n - length + 1);
    uint64_t how = tp_rng_below(rng, 4);
    double size = ldexp(1, (int)tp_rng_below(rng, 12) - 2) * (tp_rng_below(rng, 2) ? 1 : -1);
    for (size_t i = from; i < from + length; i++) {
        double v = tp_get_f64(t->dtype, t->data, i);
        v = how == 0 ? v + size : how == 1 ? v * size : how == 2 ? size : -v;
        if (fabs(v) <= 0x1p14)
            tp_put_f64(t->dtype, t->data, i, v);
    }
}

static size_t bytes_of(const tp_tensor *t)
{
    return t->n * tp_dtype_size(t->dtype);
}

/* Copies of the inputs of a case in `a`; NULL: none is a float with elements. */
static tp_tensor *inputs_of(tp_arena *a, const tp_case *c, const tp_equiv_options *o)
{
    tp_trial t = {.work = a, .keep = a, .c = c, .o = o};
    const tp_kernel *k = c->kernel;
    tp_sides e = {.n = 0};
    tp_str why;
    bool any = false;
    if (!tp_trial_arrays(&t, TP_INPUT_NORMAL, 0, &e, &why))
        return NULL;
    for (uint32_t i = 0; i < k->ninputs; i++)
        any |= tp_is_float(e.arrays[i].dtype) && e.arrays[i].n;
    return any ? e.arrays : NULL;
}

static bool hunt_by_climbing(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    const tp_kernel *k = r->the_case->kernel;
    tp_case *c = TP_NEW(a, tp_case);
    *c = *r->the_case;
    tp_tensor *inputs = inputs_of(a, c, o);
    double cost = tp_effort_of(k, c->env);
    int tries = (int)fmin(MOST_TRIES, fmax(LEAST_TRIES, EFFORT / fmax(cost, 1)));
    tp_rng rng = tp_rng_new(o->seed + c->seed, 0x68756e74);
    if (!inputs)
        return false;
    c->given = inputs;
    c->families = 0;
    climb x = {.c = c, .o = o, .output = r->algebra.output, .element = r->algebra.element};
    double best = ratio_with(&x);
    while (tries-- > 0) {
        uint32_t i = (uint32_t)tp_rng_below(&rng, k->ninputs);
        if (!tp_is_float(inputs[i].dtype) || inputs[i].n == 0)
            continue;
        void *before = memcpy(tp_alloc_array(a, bytes_of(&inputs[i]), 1), inputs[i].data, bytes_of(&inputs[i]));
        change(&rng, &inputs[i]);
        tp_keep_values(k, c->env, i, &inputs[i]);
        double now = ratio_with(&x);
        if (now > 1 && confirms(a, c, o, r))
            return true;
        if (now < best)
            memcpy(inputs[i].data, before, bytes_of(&inputs[i]));
        best = fmax(best, now);
    }
    return false;
}

/* ---- what is left ---- */

/* Draws with generic numbers, in which ties are rare: the elements that rest on
 * none agree in all of them. */
static bool agrees_in_order(tp_arena *a, const tp_equiv_options *o, const tp_case_result *r, tp_order *order)
{
    enum { ORDERS = 4 };
    tp_case c = *r->the_case;
    bool agrees = true;
    for (int i = 0; i < ORDERS && agrees; i++, c.seed++)
        agrees = tp_trial_agrees_in_order(a, &c, o, TP_INPUT_NORMAL, order) &&
                 tp_trial_agrees_in_order(a, &c, o, TP_INPUT_LARGE, order);
    return agrees;
}

/* Is the difference one of ties alone: where nothing rests on them, the numbers that showed it agree? */
static bool only_ties_differ(tp_arena *a, const tp_equiv_options *o, const tp_case_result *r)
{
    tp_order order = {0};
    return tp_trial_agrees_in_order(a, r->the_case, o, TP_INPUT_SMALL, &order) && order.ties;
}

/* Was every element compared in some draw? Else *at is the first that was not. */
static bool all_seen(tp_arena *a, const tp_case_result *r, const tp_order *order, tp_str *at)
{
    const tp_kernel *k = r->the_case->kernel;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        tp_tensor t = {.rank = o->rank, .n = 1};
        if (!tp_trial_compares(k, i))
            continue;
        if (!order->seen[i] || !tp_operand_dims(k, o, r->the_case->env, t.dims, at))
            return false;
        for (uint32_t d = 0; d < o->rank; d++)
            t.n *= (size_t)t.dims[d];
        for (size_t j = 0; j < t.n; j++)
            if (!order->seen[i][j]) {
                *at = tp_element_name(a, o, &t, j);
                return false;
            }
    }
    return true;
}

/* What a difference that no numbers confirm means. */
static void judge_order(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    tp_algebra *x = &r->algebra;
    tp_order order = {0};
    tp_str at = r->algebra.worst;
    bool agrees = (x->oracle || only_ties_differ(a, o, r)) && agrees_in_order(a, o, r, &order);
    x->tied = agrees && !all_seen(a, r, &order, &at);
    x->unexplained = !agrees || x->tied;
    if (!agrees) {
        x->reason = tp_printf(a, "the residues differ at %.*s, and no numbers were found that confirm a difference%s",
                              TP_FMT(x->worst),
                              x->tags          ? "; some functions are uninterpreted"
                              : x->approximate ? "; some constants are approximated"
                                               : "");
    } else if (x->tied) {
        x->reason = tp_printf(a, "equal numbers decide %.*s by their order in every draw: not compared", TP_FMT(at));
    } else if (x->oracle) {
        x->reason =
            tp_printf(a, "the residues differ at %.*s, but agree where maxima follow the data", TP_FMT(x->worst));
    } else {
        x->tier = TP_TIER_EQUAL;
        x->ordered = true;
    }
}

void tp_hunt(tp_arena *a, const tp_equiv_options *o, tp_case_result *r)
{
    if (hunt_in_families(a, o, r) || hunt_by_climbing(a, o, r))
        return;
    tp_hunt_boundaries(a, o, r);
    if (r->outcome == TP_DIFFERENT)
        return;
    r->algebra.tier = TP_TIER_INCONCLUSIVE;
    judge_order(a, o, r);
}
