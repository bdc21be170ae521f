/* The grid: how windows and scratch live from step to step. */
#include "analyzer/flow/internal.h"

/* One way to come from the step before: axis `a` goes up by one, faster axes
 * start over; or, towards the next step, the same forwards. */
typedef struct neighbour {
    tp_expr when; /* it is this axis */
    tp_expr same; /* the window (and every parallel coordinate) stays */
    tp_expr *to;  /* axes of the neighbouring step */
} neighbour;

static tp_expr last_of(flow *f, uint32_t axis)
{
    return tp_op2(f->a->p, TP_E_SUB, f->k->axes[axis].steps, tp_const(f->a->p, 1));
}

static tp_expr in_last_of(flow *f, uint32_t axis)
{
    return flow_compare(f, TP_E_EQ, tp_sym(f->a->p, f->k->axes[axis].sym), last_of(f, axis));
}

/* Axes that count for what a step finds in o. Where o is stored to in the last step of the last axis only, every
 * step of that axis finds what the first one found: it counts no more. */
static uint32_t counting_axes(const flow *f, const tp_operand *o)
{
    return f->k->naxes - f->quiet[o - f->k->operands];
}

static bool may_be_quiet(const flow *f, const tp_operand *o)
{
    uint32_t last = f->k->naxes - 1;
    bool may = f->k->naxes && o->role != TP_INPUT && !o->revisit_any && !f->k->axes[last].parallel;
    for (uint32_t d = 0; may && o->role == TP_OUTPUT && d < o->rank; d++)
        may = !tp_expr_mentions(f->a->p, o->dims[d].index, f->k->axes[last].sym);
    return may;
}

/* On every path to this store the last axis is in its last step, or o is not quiet. */
void flow_note_store(flow *f, uint32_t operand, tp_expr inside)
{
    for (uint32_t a = 0; f->noting && a < f->k->naxes; a++)
        f->placed[operand * f->k->naxes + a] |= tp_expr_mentions(f->a->p, inside, f->k->axes[a].sym);
    if (!f->quiet[operand] ||
        flow_is_false(f, flow_and(f, f->path, flow_guard(f, in_last_of(f, f->k->naxes - 1), true))))
        return;
    f->quiet[operand] = false;
    if (!f->noting)
        f->out->gave_up = TP_S("no invariant was found for when a buffer is stored to");
}

/* Does operand o (an output: its window; scratch: its contents) live on from
 * this step to the neighbour over axis a? */
static neighbour over_axis(flow *f, const tp_operand *o, uint32_t a, bool forwards)
{
    tp_exprs *p = f->a->p;
    const tp_kernel *k = f->k;
    tp_expr one = tp_const(p, 1), zero = tp_const(p, 0), here = tp_sym(p, k->axes[a].sym);
    neighbour n = {.when =
                       forwards ? flow_compare(f, TP_E_LT, here, last_of(f, a)) : flow_compare(f, TP_E_GE, here, one),
                   .same = k->axes[a].parallel && !tp_is_far(o) ? zero : flow_yes(f),
                   .to = flow_identity(f)};
    n.to[k->axes[a].sym] = tp_op2(p, forwards ? TP_E_ADD : TP_E_SUB, here, one);
    for (uint32_t b = a + 1; b < k->naxes; b++) { /* faster axes */
        tp_expr sym = tp_sym(p, k->axes[b].sym);
        if (forwards || b < counting_axes(f, o))
            n.when = flow_and(f, n.when, flow_compare(f, TP_E_EQ, sym, forwards ? last_of(f, b) : zero));
        n.to[k->axes[b].sym] = forwards ? zero : last_of(f, b);
        if (k->axes[b].parallel && !tp_is_far(o))
            n.same = flow_and(f, n.same, flow_compare(f, TP_E_EQ, k->axes[b].steps, one));
    }
    for (uint32_t d = 0; o->role == TP_OUTPUT && d < o->rank; d++)
        n.same = flow_and(
            f, n.same,
            flow_compare(f, TP_E_EQ, o->dims[d].index, tp_expr_subst(p, o->dims[d].index, n.to, tp_sym_count(p))));
    return n;
}

/* Conditions, one per way, under which this step begins (ends) a life of o. */
static uint32_t edges(flow *f, const tp_operand *o, bool forwards, tp_expr *when)
{
    const tp_kernel *k = f->k;
    tp_exprs *p = f->a->p;
    neighbour by_axis[TP_MAX_AXES];
    uint32_t n = 0, axes = forwards ? k->naxes : counting_axes(f, o),
             inner = axes; /* axes from `inner` on certainly keep it */
    bool plain = true;
    for (uint32_t a = axes; a-- > 0;) {
        by_axis[a] = over_axis(f, o, a, forwards);
        if (flow_is_true(f, by_axis[a].same) && inner == a + 1)
            inner = a;
        else
            plain &= flow_is_false(f, by_axis[a].same);
    }
    tp_expr corner = flow_yes(f);
    for (uint32_t a = plain ? inner : 0; a < axes; a++)
        corner = flow_and(
            f, corner, flow_compare(f, TP_E_EQ, tp_sym(p, k->axes[a].sym), forwards ? last_of(f, a) : tp_const(p, 0)));
    when[n++] = corner;
    for (uint32_t a = 0; a < axes && !plain; a++) {
        tp_expr e = flow_and(f, by_axis[a].when, flow_guard(f, by_axis[a].same, true));
        if (!flow_is_false(f, e))
            when[n++] = e;
    }
    return n;
}

tp_leaks flow_unwritten(flow *f, uint32_t operand, tp_expr when)
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

void flow_unordered(flow *f, uint32_t operand, tp_leaks *into)
{
    bool any = false;
    for (uint32_t x = 0; x < f->k->naxes; x++)
        any |= f->k->axes[x].parallel;
    tp_leaks some = flow_unwritten(f, operand, flow_yes(f));
    if (any && f->k->operands[operand].role == TP_OUTPUT && !tp_begins_as_input(&f->k->operands[operand]))
        flow_join(f, into, &some, flow_yes(f), NULL, false);
}

/* Index of the array element under each lane of the window, per dimension. */
static void elements_at_lanes(flow *f, const tp_operand *o, tp_expr *at)
{
    uint32_t lane = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        at[d] = tp_window_start(f->a, o, d);
        if (o->dims[d].kind != TP_DIM_SQUEEZED)
            at[d] = tp_op2(f->a->p, TP_E_ADD, at[d], f->out->lane[lane++]);
    }
}

tp_expr flow_entries(flow *f, const tp_operand *o, const tp_expr *to_ref)
{
    tp_expr at[TP_MAX_RANK];
    if (!o->entries || tp_is_far(o))
        return (tp_expr){0};
    elements_at_lanes(f, o, at);
    for (uint32_t d = 0; d < o->rank && to_ref; d++)
        at[d] = tp_expr_subst(f->a->p, at[d], to_ref, tp_sym_count(f->a->p));
    return tp_read(f->a->p, o->entries->sym, o->rank, at);
}

/* o's "valid" for these elements. */
static tp_expr valid_at(flow *f, const tp_operand *o, const tp_expr *at)
{
    tp_expr *with = flow_identity(f);
    for (uint32_t d = 0; d < o->rank; d++)
        with[o->element_syms[d]] = at[d];
    return tp_expr_subst(f->a->p, o->valid, with, tp_sym_count(f->a->p));
}

/* Lanes of a window that lie outside its array, or hold data that is not valid. */
static tp_leaks outside(flow *f, uint32_t operand)
{
    const tp_operand *o = &f->k->operands[operand];
    tp_leaks all = {0};
    tp_expr at[TP_MAX_RANK];
    elements_at_lanes(f, o, at);
    for (uint32_t d = 0; d <= o->rank; d++) {
        tp_leak l = {.birth = TP_BIRTH_OUTSIDE, .operand = operand, .dim = d, .through = TP_PRIMS, .exact = true};
        if (d == o->rank && o->valid.id) {
            l.when = flow_guard(f, valid_at(f, o, at), true);
            flow_add(f, &all, l);
        }
        if (d == o->rank || o->dims[d].kind == TP_DIM_SQUEEZED || o->whole || tp_whole_dimension(f->a, o, d))
            continue;
        l.when = flow_compare(f, TP_E_GE, at[d], o->shape[d]);
        flow_add(f, &all, l);
        if (o->dims[d].kind == TP_DIM_ELEMENT) {
            l.when = flow_compare(f, TP_E_LT, at[d], tp_const(f->a->p, 0));
            flow_add(f, &all, l);
        }
    }
    return all;
}

/* A window that is restored when the grid returns to it is unwritten on its
 * first visit only, when every axis that it does not depend on is at 0. */
static void restore(flow *f, const tp_operand *o, tp_leaks *fresh)
{
    bool mentioned[TP_MAX_AXES], separates = tp_map_tells_axes(f->a, o, mentioned);
    for (uint32_t i = 0; i < fresh->len; i++) {
        tp_leak *l = &fresh->at[i];
        for (uint32_t a = 0; a < f->k->naxes; a++)
            if (!mentioned[a] && !f->k->axes[a].parallel)
                l->when = flow_and(f, l->when,
                                   flow_compare(f, TP_E_EQ, tp_sym(f->a->p, f->k->axes[a].sym), tp_const(f->a->p, 0)));
        l->exact &= separates;
    }
}

/* Contents of scratch or an output window as a step finds them. */
static tp_leaks from_before(flow *f, uint32_t operand, const tp_leaks *guess)
{
    const tp_operand *o = &f->k->operands[operand];
    tp_expr when[TP_MAX_AXES + 1];
    uint32_t n = edges(f, o, false, when);
    tp_leaks all = {0};
    for (uint32_t i = 0; i < n && !tp_begins_as_input(o); i++) {
        tp_leaks fresh = flow_unwritten(f, operand, when[i]), rim = {0};
        if (o->revisit_any)
            restore(f, o, &fresh);
        flow_join(f, &all, &fresh, flow_yes(f), NULL, true);
        if (o->revisit_any) {
            rim = outside(f, operand);
            flow_join(f, &all, &rim, when[i], NULL, true);
        }
    }
    for (uint32_t a = 0; a < counting_axes(f, o); a++) {
        neighbour before = over_axis(f, o, a, false);
        tp_expr lives = flow_and(f, before.when, before.same);
        if (!flow_is_false(f, lives))
            flow_join(f, &all, guess, lives, before.to, true);
    }
    return all;
}

/* In range of its array and valid, lane by lane. */
static tp_expr in_range(flow *f, const tp_operand *o)
{
    tp_expr all = flow_yes(f), at[TP_MAX_RANK];
    elements_at_lanes(f, o, at);
    for (uint32_t d = 0; d < o->rank; d++) {
        if (o->dims[d].kind == TP_DIM_SQUEEZED)
            continue;
        all = flow_and(f, all, flow_compare(f, TP_E_LT, at[d], o->shape[d]));
        if (o->dims[d].kind == TP_DIM_ELEMENT)
            all = flow_and(f, all, flow_compare(f, TP_E_GE, at[d], tp_const(f->a->p, 0)));
    }
    return o->valid.id ? flow_and(f, all, flow_guard(f, valid_at(f, o, at), false)) : all;
}

/* Axes that change while o lives. */
static bool *changing_axes(flow *f, const tp_operand *o)
{
    bool *marks = flow_own_variables(f);
    for (uint32_t a = f->k->naxes; a-- > 0;)
        if (!flow_is_false(f, over_axis(f, o, a, false).same))
            marks[f->k->axes[a].sym] = true;
    return marks;
}

/* Of an array that stays where it is, those on which it depends where a step stores to it, if any: over the others,
 * such as steps of a sum, it is whole again and again, and what the first of them leaves unwritten is not unwritten
 * later. */
static bool *placing_axes(flow *f, uint32_t operand, bool *changing)
{
    const bool *placed = &f->placed[operand * f->k->naxes];
    bool *marks = flow_own_variables(f), any = false;
    for (uint32_t a = 0; a < f->k->naxes; a++) {
        marks[f->k->axes[a].sym] = changing[f->k->axes[a].sym] && placed[a];
        any |= marks[f->k->axes[a].sym];
    }
    return any && tp_is_far(&f->k->operands[operand]) ? marks : changing;
}

static void start_step(flow *f, const tp_leaks *guess)
{
    f->now = (flow_state){TP_NEWN(f->a->arena, flow_value, flow_nvalues(f)),
                          TP_NEWN(f->a->arena, tp_leaks, tp_noperands(f->k))};
    f->path = f->entered = f->behind = flow_yes(f);
    f->certain = FLOW_ALWAYS;
    flow_begin_kept(f);
    for (uint32_t o = 0; o < tp_noperands(f->k); o++)
        if (!flow_is_received(f, o))
            f->now.refs[o] = f->k->operands[o].role == TP_INPUT ? outside(f, o) : from_before(f, o, &guess[o]);
}

static void copy_out(flow *f, uint32_t operand)
{
    const tp_operand *o = &f->k->operands[operand];
    tp_expr when[TP_MAX_AXES + 1], range = in_range(f, o);
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

/* There is a step behind this one, so far as that is known by the axes over which o lives. */
static tp_expr another_step(flow *f, const tp_operand *o)
{
    tp_expr any = tp_const(f->a->p, 0);
    for (uint32_t a = 0; a < f->k->naxes; a++)
        if (!flow_is_false(f, over_axis(f, o, a, true).same))
            any = flow_or(f, any, flow_compare(f, TP_E_LT, tp_sym(f->a->p, f->k->axes[a].sym), last_of(f, a)));
    return any;
}

/* What a step leaves in o for those that count for it. */
static tp_leaks leaks_after(flow *f, uint32_t operand)
{
    tp_leaks all = {0};
    if (!f->quiet[operand])
        return flow_within(f, &f->now.refs[operand], another_step(f, &f->k->operands[operand]));
    flow_join(f, &all, &f->now.refs[operand], in_last_of(f, f->k->naxes - 1), NULL, true);
    return all;
}

/* Which operands are quiet: conditions do not depend on what is undefined, so that one walk tells. */
static void find_quiet(flow *f, const tp_leaks *nothing)
{
    bool any = false;
    f->placed = TP_NEWN(f->a->arena, bool, tp_noperands(f->k) * f->k->naxes);
    for (uint32_t o = 0; o < tp_noperands(f->k); o++) {
        any |= f->quiet[o] = may_be_quiet(f, &f->k->operands[o]);
        any |= tp_is_far(&f->k->operands[o]);
    }
    if (!any)
        return;
    f->noting = true;
    start_step(f, nothing);
    flow_walk(f, &f->p->statements);
    f->noting = false;
}

/* Ranges of what SMEM keeps, as if all that is read of it were defined: walks with all that is undefined, which show
 * them, cost more. */
static void settle_kept(flow *f, const tp_leaks *nothing)
{
    uint32_t n = tp_noperands(f->k);
    bool *quiet = TP_NEWN(f->a->arena, bool, n), *placed = TP_NEWN(f->a->arena, bool, n * f->k->naxes);
    memcpy(quiet, f->quiet, n * sizeof *quiet);
    memcpy(placed, f->placed, n * f->k->naxes * sizeof *placed);
    f->noting = f->settling = true;
    do {
        start_step(f, nothing);
        flow_walk(f, &f->p->statements);
    } while (!f->out->gave_up.n && flow_widen_kept(f));
    f->noting = f->settling = false;
    f->quiet = quiet;
    f->placed = placed;
}

static void walk_grid(flow *f)
{
    uint32_t n = tp_noperands(f->k), inputs = f->k->ninputs;
    tp_leaks *guess = TP_NEWN(f->a->arena, tp_leaks, n);
    bool **changing = TP_NEWN(f->a->arena, bool *, n), **first = TP_NEWN(f->a->arena, bool *, n);
    find_quiet(f, guess);
    if (f->nkept)
        settle_kept(f, guess);
    for (uint32_t o = inputs; o < n; o++) {
        changing[o] = changing_axes(f, &f->k->operands[o]);
        first[o] = placing_axes(f, o, changing[o]);
    }
    bool changed = true;
    for (uint32_t round = 0; changed; round++) {
        changed = false;
        if (round > FLOW_MAX_ROUNDS + 1 + n) /* a source may reach one more buffer in each */
            f->out->gave_up = TP_S("no invariant was found for what a step inherits from the step before");
        do {
            start_step(f, guess);
            flow_walk(f, &f->p->statements);
            if (f->out->gave_up.n)
                return;
        } while (flow_widen_kept(f));
        for (uint32_t o = inputs; o < n; o++) {
            tp_leaks found = leaks_after(f, o);
            bool extra = round && first[o] != changing[o]; /* its first round was one more */
            changed |= flow_weaken(f, &guess[o], &found, round ? changing[o] : first[o], f->k->operands[o].ref_rank,
                                   f->k->operands[o].ref_shape, flow_freedom((int)(round - extra)));
        }
    }
    f->recording = true;
    f->work = 0;
    start_step(f, guess);
    flow_walk(f, &f->p->statements);
    f->out->behind = f->behind;
    flow_bound_kept(f);
    for (uint32_t o = inputs; o < inputs + f->k->noutputs; o++)
        if (!f->k->operands[o].discard)
            copy_out(f, o);
}

void flow_walk_body(void *arg)
{
    flow *f = arg;
    flow_prepare(f);
    walk_grid(f);
}
