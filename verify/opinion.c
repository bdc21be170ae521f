/* Kernel and reference at single elements: residues, and where they differ
 * values over the reals with their bounds. */
#include <math.h>

#include "base/budget.h"
#include "reference/reference.h"
#include "spec/facts.h"
#include "verify/opinion.h"
#include "verify/verify.h"

void tp_opinion_defaults(tp_opinion_options *o)
{
    *o = (tp_opinion_options){.least = 64, .per_element = 10000000, .budget = 10000000};
}

typedef struct asking {
    tp_arena *keep; /* of the results */
    const tp_spec *spec;
    const tp_opinion_options *o;
    tp_opinion *out;
    const tp_program **references; /* by kernel */
    int64_t rest, cap;             /* of the budget; what one side may take now */
    int64_t numbers;               /* what values over the reals may take, beyond the first ones of a place */
    int64_t *largest;              /* by size of the first kernel: largest value that was reached */
    tp_arena *work;                /* of the points at one vector of sizes: */
    const int64_t *env;            /* these; NULL: none */
    uint32_t draw;                 /* the one of DRAWS that inputs hold */
    const tp_domain *tables;       /* one of the fields, by whose tables the others work; in keep */
    tp_domain *fields[2];          /* of: */
    tp_demand *shared[2];          /* residues of the kernel, of the reference, and what was found out about them */
} asking;

typedef enum opinion {
    SAME,
    CLOSE, /* the residues are no functions there, or numbers tie, and the numbers are the same within small bounds */
    OTHER,
    UNSURE, /* residues differ that cannot, and the numbers do not confirm it */
    OPEN,   /* neither residues nor numbers decide it */
    NOT_REACHED,
    NO_NUMBER, /* the reference has none in any draw */
    NOTHING_TO_SAY
} opinion;

/* What inputs hold: the next one where the reference has no number in those before. */
static const struct {
    tp_demand_family family;
    uint64_t seed; /* beyond that of the options */
} DRAWS[] = {
    {TP_DEMAND_SMALL, 0}, {TP_DEMAND_POSITIVE, 0}, {TP_DEMAND_ABOVE, 0}, {TP_DEMAND_SIGNS, 0},
    {TP_DEMAND_SIGNS, 1}, {TP_DEMAND_SMALL, 1},    {TP_DEMAND_SMALL, 2}, {TP_DEMAND_INTEGERS, 0},
};
enum { NDRAWS = sizeof DRAWS / sizeof *DRAWS };

enum { KERNEL, REFERENCE }; /* the sides of a point */
enum { WORK_MIB = 1024 };

static const tp_program *reference_of(const asking *x, const tp_look *p)
{
    uint32_t i = 0;
    while (x->spec->kernels[i] != p->kernel)
        i++;
    return x->references[i];
}

static tp_demand *evaluator(const asking *x, const tp_look *p, int side, tp_domain *d, tp_demand_family family,
                            uint64_t seed)
{
    tp_demand_options o = {.kernel = p->kernel,
                           .program = side == REFERENCE ? reference_of(x, p) : p->kernel->body,
                           .reference = side == REFERENCE,
                           .env = p->env,
                           .domain = d,
                           .seed = x->o->seed + seed,
                           .family = family,
                           .budget = x->o->per_element};
    return tp_demand_new(x->work, &o);
}

/* Gates that fade over thousands of rows reach exponents far beyond TP_FIELD_FAR, at once in the reference and step
 * by step in the kernel: only what no sum of gates reaches is a mask. */
static tp_domain *residues(asking *x, tp_arena *a, uint64_t oracle, bool ordered)
{
    enum { FAR = 1 << 20 };
    tp_field_options o = {
        .seed = x->o->seed + 1, .oracle = x->o->seed + oracle, .ordered = ordered, .far = (double)FAR};
    if (!x->tables)
        x->tables = tp_field_new(x->keep, o);
    return tp_field_like(a, x->tables, o);
}

/* One side within what it may take now. The evaluator is kept for the next
 * point unless its value has a mark that the next one need not have. */
static tp_demand_value residue(asking *x, const tp_look *p, int side)
{
    if (!x->shared[side]) {
        x->fields[side] = residues(x, x->work, side == REFERENCE ? 1 : 2, false);
        x->shared[side] = evaluator(x, p, side, x->fields[side], DRAWS[x->draw].family, DRAWS[x->draw].seed);
    }
    tp_demand_allow(x->shared[side], x->cap < x->rest ? x->cap : x->rest);
    tp_demand_value v = tp_demand_element(x->shared[side], p->output, p->at);
    x->rest -= v.work;
    if (v.outcome != TP_DEMAND_VALUE || v.masked || v.undecided || v.tied)
        x->shared[side] = NULL;
    return v;
}

/* By an evaluator for it alone, whose memory is given back: its number in the rounding domain, or (oracle over 0) its
 * residue, whatever is left: differences are rare. */
static tp_demand_value value_once(asking *x, const tp_look *p, int side, uint64_t oracle, bool ordered,
                                  tp_demand_family family, uint64_t seed)
{
    asking here = *x;
    here.work = tp_arena_child_limited(x->work, (size_t)WORK_MIB << 20);
    tp_domain *d = oracle ? residues(x, here.work, oracle, ordered) : tp_rounding_new(here.work);
    tp_demand_value v = tp_demand_element(evaluator(&here, p, side, d, family, seed), p->output, p->at);
    v.tied |= oracle && tp_field_log_of(d)->tied;
    v.why = v.why.n ? tp_printf(x->work, "%.*s", TP_FMT(v.why)) : v.why;
    tp_arena_free(here.work);
    return v;
}

static tp_demand_value number(asking *x, const tp_look *p, int side, int round)
{
    tp_demand_family family = (tp_demand_family)(round % TP_DEMAND_FAMILIES);
    tp_demand_value v = value_once(x, p, side, 0, false, family, (uint64_t)round);
    x->numbers -= v.work;
    return v;
}

/* The same with other numbers, few of which are equal, and maxima by their order. */
static tp_demand_value residue_of_draw(asking *x, const tp_look *p, int side, uint64_t draw)
{
    tp_demand_value v = value_once(x, p, side, 1, true, TP_DEMAND_FINE, draw);
    x->rest -= v.work;
    return v;
}

static bool same_word(const tp_demand_value *a, const tp_demand_value *b)
{
    return (uint32_t)a->plane[0] == (uint32_t)b->plane[0];
}

/* Of a value of the rounding domain. */
static double real_of(const tp_demand_value *v, double *bound)
{
    double real;
    memcpy(&real, &v->plane[0], sizeof real);
    memcpy(bound, &v->plane[1], sizeof *bound);
    return real;
}

/* Values over the reals on some inputs: OTHER where they are farther from each
 * other than their bounds allow, CLOSE where they are not and the bounds are
 * small, else OPEN. */
static opinion compare_numbers(asking *x, const tp_look *p, tp_demand_value *kernel, tp_demand_value *reference)
{
    opinion answer = OPEN;
    for (int f = 0; f < 2 * TP_DEMAND_FAMILIES && (f == 0 || x->numbers > 0); f++) {
        double v, w, bv, bw;
        *reference = number(x, p, REFERENCE, f);
        *kernel = number(x, p, KERNEL, f);
        v = real_of(kernel, &bv);
        w = real_of(reference, &bw);
        if (reference->outcome != TP_DEMAND_VALUE || reference->undecided || !isfinite(w))
            continue;
        if (kernel->outcome == TP_DEMAND_UNDEFINED || kernel->outcome == TP_DEMAND_TRAP)
            return OTHER;
        if (kernel->outcome != TP_DEMAND_VALUE || kernel->undecided || (!isfinite(v) && bv > 0))
            continue;
        if (!isfinite(v)) /* no overflow: by a pole, or an infinity that was there */
            return OTHER;
        kernel->number = v;
        reference->number = w;
        if (fabs(v - w) > bv + bw)
            return OTHER;
        if (bv + bw <= 1e-6 * fmax(1, fabs(w)))
            answer = CLOSE;
    }
    return answer;
}

/* Constants or functions of which the residues are not what they stand for, or numbers that are not. */
static bool is_approximate(const asking *x, int side)
{
    const tp_field_log *log = tp_field_log_of(x->fields[side]);
    return log->approximate || log->tags || log->unsupported || log->overflow;
}

/* Where the place tells, also with the maximum in the last step: a carry that
 * is lost there is not seen where the maximum came before. Where that is too
 * dear, it stays with the first numbers. */
static opinion compare_ordered(asking *x, const tp_look *p, tp_demand_value *kernel, tp_demand_value *reference)
{
    const tp_demand_family FAMILIES[] = {DRAWS[x->draw].family, TP_DEMAND_ROWS, TP_DEMAND_COLUMNS};
    for (size_t f = 0; f < (p->telling ? sizeof FAMILIES / sizeof *FAMILIES : 1); f++) {
        tp_demand_value r = value_once(x, p, REFERENCE, 1, true, FAMILIES[f], DRAWS[x->draw].seed),
                        k = value_once(x, p, KERNEL, 1, true, FAMILIES[f], DRAWS[x->draw].seed);
        bool both = r.outcome == TP_DEMAND_VALUE && k.outcome == TP_DEMAND_VALUE;
        if (f > 0 && (!both || same_word(&k, &r) || r.tied || k.tied))
            continue;
        *reference = r;
        *kernel = k;
        if (!both || !same_word(&k, &r))
            return both ? OTHER : NOT_REACHED;
    }
    return SAME;
}

/* Maxima are answered at random, otherwise for the one side than for the
 * other; where the reference itself shows which answer it got, or the kernel
 * alone asked, they follow the order of the numbers. */
static opinion compare_residues(asking *x, const tp_look *p, tp_demand_value *kernel, tp_demand_value *reference)
{
    if (same_word(kernel, reference))
        return SAME;
    bool by_order = tp_field_log_of(x->fields[KERNEL])->oracle;
    if (tp_field_log_of(x->fields[REFERENCE])->oracle) {
        tp_demand_value again = value_once(x, p, REFERENCE, 3, false, DRAWS[x->draw].family, DRAWS[x->draw].seed);
        by_order = again.outcome != TP_DEMAND_VALUE || !same_word(&again, reference);
    }
    return by_order ? compare_ordered(x, p, kernel, reference) : OTHER;
}

/* Residues differ where numbers tie: are they the same where none do? OPEN:
 * some tie in nearly every draw. */
static opinion compare_without_ties(asking *x, const tp_look *p)
{
    enum { TRIES = 8, ENOUGH = 3 };
    int same = 0;
    for (uint64_t draw = 1; draw <= TRIES && same < ENOUGH && x->rest > 0; draw++) {
        tp_demand_value reference = residue_of_draw(x, p, REFERENCE, draw),
                        kernel = residue_of_draw(x, p, KERNEL, draw);
        if (reference.outcome != TP_DEMAND_VALUE || kernel.outcome != TP_DEMAND_VALUE || reference.tied || kernel.tied)
            continue;
        if (!same_word(&kernel, &reference))
            return OTHER;
        same++;
    }
    return same == ENOUGH ? SAME : OPEN;
}

static void take_draw(asking *x, uint32_t draw)
{
    if (x->draw != draw)
        x->shared[KERNEL] = x->shared[REFERENCE] = NULL;
    x->draw = draw;
}

/* What the reference says in the first draw in which that is a number. */
static tp_demand_value reference_of_draws(asking *x, const tp_look *p)
{
    tp_demand_value v = {0};
    for (uint32_t draw = 0; draw < NDRAWS; draw++) {
        take_draw(x, draw);
        v = residue(x, p, REFERENCE);
        if (v.outcome != TP_DEMAND_VALUE || !isnan(v.number))
            break;
    }
    return v;
}

/* Integers and bools that differ: OTHER where they do over the reals, too, as far as bounds tell; else rounding
 * decided, as in round(x / 0.05) of 0.375, or what is narrowed to few bits. */
static opinion compare_integers(asking *x, const tp_look *p)
{
    double real[2], bound[2];
    for (int side = 0; side < 2; side++) {
        tp_demand_value v = value_once(x, p, side, 0, false, DRAWS[x->draw].family, DRAWS[x->draw].seed);
        x->numbers -= v.work;
        if (v.outcome != TP_DEMAND_VALUE || v.undecided)
            return OPEN;
        real[side] = real_of(&v, &bound[side]);
    }
    return fabs(real[KERNEL] - real[REFERENCE]) > bound[KERNEL] + bound[REFERENCE] ? OTHER : OPEN;
}

static opinion compare(asking *x, const tp_look *p, tp_demand_value *kernel, tp_demand_value *reference)
{
    bool real = tp_is_float(p->kernel->operands[p->kernel->ninputs + p->output].dtype);
    *reference = reference_of_draws(x, p);
    if (reference->outcome != TP_DEMAND_VALUE)
        return NOT_REACHED;
    if (reference->masked && x->o->masks)
        return NOTHING_TO_SAY;
    if (isnan(reference->number))
        return NO_NUMBER;
    *kernel = residue(x, p, KERNEL);
    if (kernel->outcome == TP_DEMAND_TOO_FAR || kernel->outcome == TP_DEMAND_OPEN)
        return NOT_REACHED;
    if (kernel->outcome != TP_DEMAND_VALUE)
        return real && compare_numbers(x, p, kernel, reference) != OTHER ? UNSURE : OTHER;
    if (!real)
        return kernel->number == reference->number ? SAME : compare_integers(x, p);
    bool finite = isfinite(kernel->number) && isfinite(reference->number),
         known = kernel->plane[0] != TP_FIELD_UNKNOWN && reference->plane[0] != TP_FIELD_UNKNOWN;
    if (!finite && kernel->number == reference->number && (!known || same_word(kernel, reference)))
        return SAME;
    opinion by_residues = finite && known ? compare_residues(x, p, kernel, reference) : OPEN;
    if (by_residues != OTHER && by_residues != OPEN)
        return by_residues;
    bool tied = by_residues == OTHER && (kernel->tied || reference->tied);
    opinion by_numbers = compare_numbers(x, p, kernel, reference), without_ties = OTHER;
    if (tied && by_numbers != OTHER)
        without_ties = compare_without_ties(x, p);
    if (without_ties != OTHER)
        return without_ties == SAME ? SAME : by_numbers;
    bool exact = by_residues == OTHER && !is_approximate(x, KERNEL) && !is_approximate(x, REFERENCE);
    return exact && by_numbers == CLOSE ? UNSURE : by_numbers;
}

static tp_str keep(asking *x, tp_str s)
{
    return tp_printf(x->keep, "%.*s", TP_FMT(s));
}

static void note_reached(asking *x, const tp_look *p)
{
    for (uint32_t i = 0; i < p->kernel->nsizes; i++)
        if (p->kernel->sizes[i].kind == TP_SIZE_RANGE && p->env[p->kernel->sizes[i].sym] > x->largest[i])
            x->largest[i] = p->env[p->kernel->sizes[i].sym];
}

static void note_not_reached(asking *x, tp_str at, tp_str why)
{
    enum { NAMED = 3, LISTED = 64 };
    tp_opinion *o = x->out;
    tp_str text = tp_printf(x->keep, "%.*s: %.*s", TP_FMT(at), TP_FMT(why));
    if (o->places.len < LISTED)
        tp_push(x->keep, o->places, text);
    if (o->not_reached++ < NAMED)
        o->far = o->far.n ? tp_printf(x->keep, "%.*s; %.*s", TP_FMT(o->far), TP_FMT(text)) : text;
}

static tp_str value_text(asking *x, const tp_demand_value *v)
{
    return v->outcome == TP_DEMAND_VALUE       ? tp_printf(x->keep, "%.9g", v->number)
           : v->outcome == TP_DEMAND_UNDEFINED ? tp_printf(x->keep, "undefined (%.*s)", TP_FMT(v->why))
                                               : keep(x, v->why);
}

/* The element, of the array as callers have it. */
static tp_str element_of(asking *x, const tp_look *p)
{
    const tp_operand *o = &p->kernel->operands[p->kernel->ninputs + p->output];
    int64_t dims[TP_MAX_RANK] = {0};
    for (uint32_t d = 0; d < o->rank; d++) /* it lies inside: they have values */
        tp_expr_eval(p->kernel->exprs, o->shape[d], p->env, &dims[d]);
    return tp_element_at(x->keep, o, dims, p->at);
}

static void note_difference(asking *x, const tp_look *p, const tp_demand_value *kernel,
                            const tp_demand_value *reference)
{
    x->out->different = 1;
    x->out->kernel = p->kernel;
    x->out->env = tp_env_copy(x->keep, p->kernel, p->env);
    x->out->output = p->output;
    memcpy(x->out->at, p->at, sizeof p->at);
    x->out->element = element_of(x, p);
    x->out->got = value_text(x, kernel);
    x->out->want = value_text(x, reference);
}

typedef struct one_point {
    asking *x;
    const tp_look *p;
    bool far; /* not reached */
    tp_str why;
    int64_t work; /* equal: what both sides took; else 0 */
} one_point;

static void ask(void *arg)
{
    one_point *q = arg;
    asking *x = q->x;
    tp_demand_value kernel = {0}, reference = {0};
    opinion answer = compare(x, q->p, &kernel, &reference);
    switch (answer) {
    case SAME:
    case CLOSE:
        x->out->equal += answer == SAME;
        x->out->close += answer == CLOSE;
        q->work = kernel.work + reference.work + 1;
        note_reached(x, q->p);
        break;
    case OTHER: note_difference(x, q->p, &kernel, &reference); break;
    case UNSURE:
        x->out->unsure++;
        if (!x->out->element.n)
            x->out->element = element_of(x, q->p);
        break;
    case NOT_REACHED:
        q->far = true;
        q->why = keep(x, reference.outcome != TP_DEMAND_VALUE ? reference.why : kernel.why);
        break;
    case OPEN: note_not_reached(x, q->p->about, TP_S("neither residues nor numbers decide it")); break;
    case NO_NUMBER:
        note_not_reached(x, q->p->about, TP_S("the reference has no number there, in several draws"));
        break;
    case NOTHING_TO_SAY: break;
    }
}

/* ---- in which order ---- */

/* A list of points while they are asked. */
typedef struct points {
    const tp_look_list *list;
    bool *done;
    tp_str *why;     /* not done: why */
    int64_t *work;   /* equal: what it took; else 0 */
    uint32_t *draw;  /* and on which draw */
    uint32_t *walls; /* those that were too dear in this pass */
    uint32_t nwalls;
} points;

/* Are all sizes of p at least those of q? Then it will not be cheaper. */
static bool is_beyond(const tp_look *p, const tp_look *q)
{
    for (uint32_t i = 0; i < p->kernel->nsizes; i++) {
        const tp_size *s = &p->kernel->sizes[i];
        if (s->kind == TP_SIZE_RANGE && p->env[s->sym] < q->env[s->sym])
            return false;
    }
    return true;
}

static const tp_look *wall_before(const points *l, const tp_look *p)
{
    for (uint32_t w = 0; w < l->nwalls; w++)
        if (is_beyond(p, &l->list->list.at[l->walls[w]]))
            return &l->list->list.at[l->walls[w]];
    return NULL;
}

/* Evaluators are shared by the points of one vector of sizes that follow each other. */
static void ask_point(asking *x, points *l, uint32_t i)
{
    one_point q = {.x = x, .p = &l->list->list.at[i]};
    const tp_look *wall = wall_before(l, q.p);
    if (wall) {
        l->why[i] = tp_printf(x->keep, "it is larger than %.*s, where one element takes more than %lld operations",
                              TP_FMT(wall->about), (long long)x->cap);
        return;
    }
    if (x->env != q.p->env) {
        tp_arena_clear(x->work);
        x->shared[KERNEL] = x->shared[REFERENCE] = NULL;
        x->env = q.p->env;
    }
    if (tp_try(x->work, ask, &q) != TP_OK)
        q = (one_point){.x = x, .p = q.p, .far = true, .why = tp_budget_or(x->keep, TP_S("memory ran out"))};
    l->done[i] = !q.far;
    l->why[i] = q.why;
    l->work[i] = q.work;
    l->draw[i] = x->draw;
    if (!q.far)
        return;
    if (x->rest < x->cap)
        l->why[i] = TP_S("the budget is spent");
    x->env = NULL;
    l->walls[l->nwalls++] = i;
}

/* Where few elements were reached, the budget is given again, a few times. */
static bool goes_on(asking *x, uint32_t reached, int64_t budget, uint32_t *again)
{
    if (x->rest <= 0 && reached<x->o->least / x->spec->nkernels && * again> 0) {
        (*again)--;
        x->rest += budget;
    }
    return x->rest > 0;
}

/* Places that tell most, whatever one of them takes. */
static void ask_telling(asking *x, points *l, int64_t budget)
{
    x->rest = budget;
    x->cap = x->o->per_element;
    l->nwalls = 0;
    for (uint32_t i = 0; i < l->list->list.len && x->rest > 0 && !x->out->different; i++)
        if (!l->done[i] && l->list->list.at[i].telling)
            ask_point(x, l, i);
}

/* A place at which both sides agree, next to where they decide otherwise. */
static void ask_near_point(asking *x, const points *l, uint32_t i, int64_t *budget)
{
    tp_demand_value kernel = {0}, reference = {0};
    const tp_look *p = &l->list->list.at[i];
    tp_nearby near = {.look = p,
                      .reference = reference_of(x, p),
                      .family = DRAWS[l->draw[i]].family,
                      .seed = x->o->seed + DRAWS[l->draw[i]].seed,
                      .budget = budget};
    if (tp_differs_nearby(x->keep, &near, &kernel.number, &reference.number))
        note_difference(x, p, &kernel, &reference);
}

/* Those that tell first. No place takes more than a share, so what one side takes there may be but a small part. */
static void ask_nearby(asking *x, const points *l, int64_t budget)
{
    enum { PLACES = 16, RUNS = 32 };
    const tp_kernel *k = l->list->list.len ? l->list->list.at[0].kernel : NULL;
    if (!k || !(tp_may_turn(k, k->body) || tp_may_turn(k, reference_of(x, &l->list->list.at[0]))))
        return;
    for (int telling = 1; telling >= 0; telling--)
        for (uint32_t i = 0; i < l->list->list.len && budget > 0 && !x->out->different; i++) {
            const tp_look *p = &l->list->list.at[i];
            int64_t most = budget / PLACES, rest = most;
            if (p->telling != telling || !l->work[i] || l->work[i] > most / RUNS)
                continue;
            ask_near_point(x, l, i, &rest);
            budget -= most - rest;
        }
}

/* What costs little first: what one side may take grows from pass to pass, and
 * in a pass nothing is asked that is larger than what was too dear in it. */
static void ask_points(asking *x, const tp_look_list *list, int64_t budget)
{
    enum { AGAIN = 4, TELLING = 8, NUMBERS = 4 };
    uint32_t n = list->list.len, rest = n, again = AGAIN;
    points l = {.list = list,
                .done = TP_NEWN(x->keep, bool, n + 1),
                .why = TP_NEWN(x->keep, tp_str, n + 1),
                .work = TP_NEWN(x->keep, int64_t, n + 1),
                .draw = TP_NEWN(x->keep, uint32_t, n + 1),
                .walls = TP_NEWN(x->keep, uint32_t, n + 1)};
    x->rest = budget;
    x->numbers = NUMBERS * budget;
    x->env = NULL;
    for (x->cap = budget / (4 * (int64_t)n + 1); rest && x->cap / 4 < x->o->per_element; x->cap *= 4) {
        x->cap = x->cap < x->o->per_element ? x->cap : x->o->per_element;
        l.nwalls = 0;
        for (uint32_t i = 0; i < n && goes_on(x, n - rest, budget, &again) && !x->out->different; i++)
            if (!l.done[i]) {
                ask_point(x, &l, i);
                rest -= l.done[i];
            }
    }
    ask_telling(x, &l, TELLING * budget);
    ask_nearby(x, &l, budget);
    for (uint32_t i = 0; i < n && !x->out->different; i++)
        if (!l.done[i])
            note_not_reached(x, list->list.at[i].about, l.why[i].n ? l.why[i] : TP_S("the budget is spent"));
    for (uint32_t i = 0; i < list->unplaced.len; i++)
        note_not_reached(x, list->unplaced.at[i], TP_S("no suitable sizes or tables were found"));
}

/* ---- a smaller place ---- */

typedef struct trial {
    asking *x;
    tp_look place;
    bool differs;
} trial;

static void try_place(void *arg)
{
    trial *t = arg;
    tp_demand_value kernel = {0}, reference = {0};
    t->differs = compare(t->x, &t->place, &kernel, &reference) == OTHER;
    if (t->differs)
        note_difference(t->x, &t->place, &kernel, &reference);
}

/* The element at other sizes: where it lies outside, the last one at the same lane of its block. */
static bool move_inside(tp_look *p)
{
    const tp_operand *o = &p->kernel->operands[p->kernel->ninputs + p->output];
    for (uint32_t d = 0; d < o->rank; d++) {
        int64_t extent, block;
        if (tp_expr_eval(p->kernel->exprs, o->shape[d], p->env, &extent) != TP_EVAL_OK || extent < 1)
            return false;
        if (p->at[d] < extent)
            continue;
        bool blocked = tp_expr_eval(p->kernel->exprs, o->dims[d].block, p->env, &block) == TP_EVAL_OK && block > 1;
        int64_t back = blocked ? ((extent - 1 - p->at[d]) % block + block) % block : 0;
        p->at[d] = back < extent ? extent - 1 - back : extent - 1;
    }
    return tp_element_valid(p->kernel, o, p->env, p->at);
}

/* Do the two differ with this size at v, too? Then that is the place. */
static bool differs_at(asking *x, const tp_size *s, int64_t v)
{
    const tp_opinion *o = x->out;
    trial t = {.x = x, .place = {.kernel = o->kernel, .output = o->output}};
    tp_str why;
    t.place.env = tp_env_copy(x->keep, o->kernel, o->env);
    t.place.env[s->sym] = v;
    memcpy(t.place.at, o->at, sizeof o->at);
    if (!tp_in_domain(o->kernel, t.place.env, &why) || !move_inside(&t.place))
        return false;
    tp_arena_clear(x->work);
    x->shared[KERNEL] = x->shared[REFERENCE] = NULL;
    return tp_try(x->work, try_place, &t) == TP_OK && t.differs;
}

/* Contents of tables rest on this size. */
static bool tables_mention(const tp_kernel *k, const tp_size *s)
{
    bool any = false;
    for (uint32_t t = 0; t < k->ntables; t++) {
        for (uint32_t d = 0; d < k->tables[t].rank; d++)
            any |= tp_expr_mentions(k->exprs, k->tables[t].shape[d], s->sym);
        any |= k->tables[t].extent.id && tp_expr_mentions(k->exprs, k->tables[t].extent, s->sym);
        any |= k->tables[t].min.id && tp_expr_mentions(k->exprs, k->tables[t].min, s->sym);
        any |= k->tables[t].max.id && tp_expr_mentions(k->exprs, k->tables[t].max, s->sym);
    }
    for (uint32_t c = 0; c < k->ncontracts; c++)
        any |= tp_expr_mentions(k->exprs, k->contracts[c].fact, s->sym);
    return any;
}

/* Size after size as small as the difference allows: the least, else by
 * halving what lies between a size without one and a size with one. */
static void make_smaller(asking *x, int64_t budget)
{
    const tp_kernel *k = x->out->kernel;
    x->rest = budget;
    x->cap = x->o->per_element;
    for (uint32_t i = 0; i < k->nsizes; i++) {
        const tp_size *s = &k->sizes[i];
        if (s->kind != TP_SIZE_RANGE || tables_mention(k, s))
            continue;
        int64_t m = s->multiple_of, without = tp_size_least(s);
        if (x->out->env[s->sym] == without || differs_at(x, s, without))
            continue;
        while (x->rest > 0 && x->out->env[s->sym] - without > m) {
            int64_t v = without + (x->out->env[s->sym] - without) / m / 2 * m;
            if (!differs_at(x, s, v))
                without = v;
        }
    }
}

static void note_left_out(asking *x, const tp_look_list *list)
{
    x->out->left_out += list->left_out;
    x->out->numbers_left_out += list->numbers_left_out;
    if (list->left_out && !x->out->left_out_at.n)
        x->out->left_out_at = list->left_out_at;
}

static tp_str reached_text(asking *x)
{
    tp_buf b = {.arena = x->keep};
    const tp_kernel *k = x->spec->kernels[0];
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE && x->largest[i])
            tp_buf_printf(&b, "%s%.*s=%lld", b.n ? ", " : "", TP_FMT(k->sizes[i].name), (long long)x->largest[i]);
    return tp_buf_view(&b);
}

static void ask_all(void *arg)
{
    asking *x = arg;
    const tp_spec *s = x->spec;
    uint32_t n = s->nkernels, half = x->o->least / 2, share = half / n + (half % n > 0);
    x->largest = TP_NEWN(x->keep, int64_t, s->kernels[0]->nsizes + 1);
    for (uint32_t i = 0; i < n && !x->out->different; i++) { /* every dtype combination its share */
        tp_opinion_options own = *x->o;
        own.seed += i;
        tp_look_list list = tp_points(x->keep, s->kernels[i], &own, share, 6 * share);
        ask_points(x, &list, x->o->budget / n);
        note_left_out(x, &list);
    }
    if (x->out->different && x->o->smaller)
        make_smaller(x, x->o->budget);
    x->out->seed = x->o->seed;
    x->out->reached = reached_text(x);
}

/* Evaluations recurse: all of it on a stack of its own. */
typedef struct deep_call {
    asking *x;
    tp_status status;
} deep_call;

static void on_own_stack(void *arg)
{
    deep_call *c = arg;
    c->status = tp_try(c->x->keep, ask_all, c->x);
}

void tp_second_opinion(tp_arena *a, const tp_spec *s, const tp_opinion_options *o, tp_opinion *out)
{
    asking x = {.keep = a, .spec = s, .o = o, .out = out};
    deep_call c = {&x, TP_OK};
    tp_str why;
    *out = (tp_opinion){.asked = true, .seed = o->seed};
    x.references = TP_NEWN(a, const tp_program *, s->nkernels);
    for (uint32_t i = 0; i < s->nkernels; i++) {
        x.references[i] = tp_reference_program(a, s->kernels[i], &why);
        if (!x.references[i] || !s->kernels[i]->body)
            return;
    }
    x.work = tp_arena_child_limited(a, (size_t)WORK_MIB << 20);
    bool ran = tp_with_stack(on_own_stack, &c);
    tp_arena_free(x.work);
    if (!ran)
        out->far = TP_S("there is no room for its stack");
    if (c.status != TP_OK)
        tp_leave(a, c.status);
}

/* ---- without a proof ---- */

typedef struct search {
    tp_arena *a;
    const tp_spec *spec;
    tp_opinion_options o;
    tp_opinion found;
} search;

static void look(void *arg)
{
    search *x = arg;
    tp_second_opinion(x->a, x->spec, &x->o, &x->found);
}

static tp_str all_sizes(tp_arena *a, const tp_kernel *k, const int64_t *env)
{
    tp_buf b = {.arena = a};
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_RANGE)
            tp_buf_printf(&b, "%s%.*s = %lld", b.n ? ", " : "", TP_FMT(k->sizes[i].name),
                          (long long)env[k->sizes[i].sym]);
    return tp_buf_view(&b);
}

/* The case at its sizes, small enough to execute, becomes one of e where it
 * does not agree; else the element stands for itself. */
static void add_far_case(tp_arena *a, const tp_opinion *x, const tp_equiv_options *o, tp_equiv *e)
{
    enum { MOST_ELEMENTS = 1 << 22 };
    const tp_kernel *k = x->kernel;
    tp_case *c = TP_NEW(a, tp_case);
    *c = (tp_case){.kernel = k, .env = x->env, .seed = o->seed, .generated = true, .numbers = true, .algebra = true};
    c->loc = (tp_loc){k->doc->loc.start, k->doc->loc.start + 1, TP_S("")};
    for (int f = TP_INPUT_FIRST_PLACED; f < TP_INPUT_FAMILIES; f++)
        c->families |= TP_INPUT_BIT(f);
    tp_cases one = {.at = c, .len = 1};
    tp_equiv far = {0};
    tp_str at = all_sizes(a, k, x->env);
    bool large = tp_case_elements(c) > MOST_ELEMENTS;
    if (!large)
        tp_equiv_run(a, &one, o, &far);
    if (!far.different && !far.trapped && !far.unexplained) {
        e->far_kernel = k;
        e->far_output = x->output;
        e->far_reason = tp_printf(a, "at %.*s, %.*s is %.*s, the reference says %.*s (second opinion; %s)", TP_FMT(at),
                                  TP_FMT(x->element), TP_FMT(x->got), TP_FMT(x->want),
                                  large ? "too large to execute" : "executed on other inputs, both agree");
        return;
    }
    tp_push(a, e->cases, far.cases.at[0]);
    e->different += far.different;
    e->trapped += far.trapped;
    e->equal += far.equal;
    if (!e->unexplained)
        e->unexplained = far.unexplained;
}

void tp_search_far_case(tp_arena *a, const tp_spec_report *r, const tp_equiv_options *o, tp_equiv *e)
{
    enum { BUDGET = 4000000 };
    const tp_share share = {.part = 0.25, .what = "the search for far differences"};
    search x = {.a = a, .spec = r->spec};
    tp_str why;
    if (r->equality.proven || !e->equal || e->different || e->trapped || e->unexplained)
        return;
    tp_opinion_defaults(&x.o);
    x.o.seed = o->seed;
    x.o.budget = BUDGET;
    x.o.smaller = true;
    x.o.facts = TP_FACT_F2; /* beyond it, indices wrap that are proven not to */
    if (tp_within(a, &share, look, &x, &why) && x.found.different)
        add_far_case(a, &x.found, o, e);
}
