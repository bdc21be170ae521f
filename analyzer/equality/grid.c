/* The grid: what a window or a scratch buffer holds after many steps.
 *
 * A buffer that is set in the first step of a run and combined with something
 * in every step is a fold over the axes of the run, by induction: the first
 * step (base) and any later one (step) are looked at once. */
#include "analyzer/equality/grid.h"

#include <math.h>

/* ---- deciding conditions ---- */

/* In a step of the run that is not its first one. */
static premises in_later_steps(grid *g, uint32_t first)
{
    summary *s = g->v->s;
    tp_expr later = tp_const(s->p, 0);
    for (uint32_t a = first; a < s->k->naxes; a++)
        later = tp_op2(s->p, TP_E_OR, tp_op2(s->p, TP_E_NE, axis_of(g, a), tp_const(s->p, 0)), later);
    return (premises){.at = {condition_normal(s, later, false)}, .n = 1};
}

/* In a step of the run that is not its last one. */
static premises before_last_step(grid *g, uint32_t first)
{
    summary *s = g->v->s;
    tp_expr goes_on = tp_const(s->p, 0);
    for (uint32_t a = first; a < s->k->naxes; a++) {
        tp_expr last = tp_op2(s->p, TP_E_SUB, s->k->axes[a].steps, tp_const(s->p, 1));
        goes_on = tp_op2(s->p, TP_E_OR, tp_op2(s->p, TP_E_NE, axis_of(g, a), last), goes_on);
    }
    return (premises){.at = {condition_normal(s, goes_on, false)}, .n = 1};
}

static tp_expr key_at(const grid *g, tp_expr step)
{
    return at_step_of(g->v->s, g->key, g->run, step);
}

key_steps steps_of_key(const grid *g, tp_expr last)
{
    summary *s = g->v->s;
    tp_exprs *p = s->p;
    tp_expr one = tp_const(p, 1), step = axis_of(g, g->run), before = tp_op2(p, TP_E_SUB, step, one),
            behind = tp_op2(p, TP_E_ADD, last, one), not_first = tp_op2(p, TP_E_GE, step, one),
            same = tp_op2(p, TP_E_EQ, key_at(g, before), g->key), goes_on = tp_op2(p, TP_E_AND, not_first, same);
    for (uint32_t a = g->run + 1; a < s->k->naxes; a++)
        goes_on = tp_op2(p, TP_E_OR, tp_op2(p, TP_E_NE, axis_of(g, a), tp_const(p, 0)), goes_on);
    tp_expr end = tp_op2(p, TP_E_OR, tp_op2(p, TP_E_EQ, behind, s->k->axes[g->run].steps),
                         tp_op2(p, TP_E_NE, key_at(g, behind), g->block));
    return (key_steps){.begins = {.at = {not_first, condition_normal(s, same, true)}, .n = 2},
                       .later = {.at = {condition_normal(s, goes_on, false)}, .n = 1},
                       .ends = {.at = {tp_op2(p, TP_E_EQ, key_at(g, last), g->block), end}, .n = 2}};
}

/* Where the run of a key begins, behind another one. */
static term in_first_step_of_key(grid *g, term t, const premises *begins)
{
    replacement zero = no_symbols(g);
    for (uint32_t a = g->run + 1; a < g->v->s->k->naxes; a++)
        replace_symbol(g, &zero, axis_of(g, a), tp_const(g->v->s->p, 0));
    return term_decide(g->v->s, grid_substitute(g, t, &zero), begins);
}

/* ---- uniform buffers ---- */

typedef struct lane_probe {
    evaluation *v;
    uint32_t operand;
    tp_expr lane[TP_MAX_RANK];
    term after;
} lane_probe;

static void probe_lane(void *arg)
{
    lane_probe *x = arg;
    x->after = element_after(x->v, x->operand, x->lane);
}

/* By induction over the steps: what a step leaves at a lane does not speak of
 * it, when what it finds is the same all along the dimension. Of a buffer that
 * several phases change, a step finds what another one left. */
void find_uniform(evaluation *v)
{
    summary *s = v->s;
    const tp_kernel *k = s->k;
    tp_str reason = s->out->reason;
    tp_loc loc = s->out->loc;
    for (uint32_t o = k->ninputs + k->noutputs; o < tp_noperands(k); o++)
        for (uint32_t d = 0; d < k->operands[o].ref_rank; d++)
            v->uniform[o][d] = v->final[o] != NULL && (!v->turned || v->turned->alone[o]);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t o = k->ninputs + k->noutputs; o < tp_noperands(k); o++) {
            lane_probe x = {.v = v, .operand = o};
            for (uint32_t d = 0; d < k->operands[o].ref_rank; d++)
                x.lane[d] = summary_index(s, "lane", k->operands[o].ref_shape[d]);
            bool known = v->final[o] && tp_try(s->arena, probe_lane, &x) == TP_OK;
            for (uint32_t d = 0; d < k->operands[o].ref_rank; d++) {
                uint32_t sym = (uint32_t)tp_expr_get(s->p, x.lane[d])->value;
                if (!v->uniform[o][d] || (known && !term_speaks_of(s, x.after, sym)))
                    continue;
                v->uniform[o][d] = false;
                again = true;
            }
        }
        look_from(v);
        v->elements = (tp_map){0}; /* they were made under other assumptions */
        forget_turns(v);
    }
    s->out->reason = reason; /* what could not be looked at here need not matter */
    s->out->loc = loc;
    s->node = NULL;
    s->syntax = NULL;
}

/* ---- recognising a fold ---- */

static bool places_join(places *to, const places *from)
{
    if (to->n + from->n > MAX_PLACES)
        return false;
    for (uint32_t i = 0; i < from->n; i++)
        to->at[to->n++] = from->at[i];
    return true;
}

/* t = (contents before) * factor + part. */
static match match_sum(grid *g, term t, uint32_t operand, const premises *p)
{
    summary *s = g->v->s;
    const term_node n = *term_get(s, t);
    match m = {.ok = false}, other;
    if (is_before(g, t, operand))
        return (match){.ok = true, .part = term_real(s, 0), .unscaled = {{p}, 1}};
    if (n.kind == T_SELECT) {
        premises *yes = TP_NEW(s->arena, premises), *no = TP_NEW(s->arena, premises);
        *yes = premises_with(s, p, n.e);
        *no = premises_with(s, p, condition_normal(s, n.e, true));
        m = match_sum(g, n.arg[0], operand, yes);
        other = match_sum(g, n.arg[1], operand, no);
        if (!m.ok || !other.ok || (m.factor.id && other.factor.id && m.factor.id != other.factor.id) ||
            !places_join(&m.scaled, &other.scaled) || !places_join(&m.unscaled, &other.unscaled))
            return (match){.ok = false};
        m.part = term_select(s, n.e, m.part, other.part);
        if (!m.factor.id)
            m.factor = other.factor;
        return m;
    }
    if (n.kind == T_APPLY && n.prim == TP_P_CAST)
        return match_sum(g, n.arg[0], operand, p);
    if (n.kind != T_APPLY)
        return m;
    bool in_a = n.arg[0].id && has_before(g, n.arg[0], operand), in_b = n.arg[1].id && has_before(g, n.arg[1], operand);
    if (in_a == in_b || (in_b && (n.prim == TP_P_SUB || n.prim == TP_P_DIV)))
        return m;
    if (n.prim != TP_P_ADD && n.prim != TP_P_SUB && n.prim != TP_P_MUL && n.prim != TP_P_DIV)
        return m;
    term rest = n.arg[!in_b];
    m = match_sum(g, n.arg[in_b], operand, p);
    if (!m.ok)
        return m;
    if (n.prim == TP_P_ADD || n.prim == TP_P_SUB) {
        m.part = in_a ? of_two(g, n.prim, m.part, rest) : of_two(g, TP_P_ADD, rest, m.part);
    } else {
        if (m.factor.id && m.unscaled.n) /* by one thing here, by another there */
            return (match){.ok = false};
        m.scaled = (places){{p}, 1};
        m.unscaled.n = 0;
        m.factor = of_two(g, n.prim, m.factor.id ? m.factor : term_real(s, 1), rest);
        m.part = is_0(s, m.part) ? m.part : of_two(g, n.prim, m.part, rest);
    }
    return m;
}

/* t = max(contents before, part); its part where it stays as it is: the unit,
 * which is no more than it can be. */
static match match_extreme(grid *g, term t, uint32_t operand, tp_prim prim, double unit)
{
    summary *s = g->v->s;
    const term_node n = *term_get(s, t);
    if (is_before(g, t, operand))
        return (match){.ok = true, .part = term_real(s, unit)};
    if (n.kind == T_SELECT) {
        match yes = match_extreme(g, n.arg[0], operand, prim, unit),
              no = match_extreme(g, n.arg[1], operand, prim, unit);
        if (yes.ok && no.ok)
            return (match){.ok = true, .part = term_select(s, n.e, yes.part, no.part)};
    }
    if (n.kind == T_APPLY && n.prim == TP_P_CAST)
        return match_extreme(g, n.arg[0], operand, prim, unit);
    if (n.kind == T_APPLY && n.prim == prim) {
        bool in_a = has_before(g, n.arg[0], operand), in_b = has_before(g, n.arg[1], operand);
        match inner = in_a != in_b ? match_extreme(g, n.arg[in_b], operand, prim, unit) : (match){.ok = false};
        if (inner.ok)
            return (match){.ok = true, .part = term_apply(s, prim, inner.part, n.arg[!in_b], (term){0}, 0)};
    }
    return (match){.ok = false};
}

typedef struct chosen_buffer {
    grid *g;
    uint32_t operand;
} chosen_buffer;

static bool is_kept(void *ctx, term t)
{
    const chosen_buffer *x = ctx;
    const term_node *n = term_get(x->g->v->s, t);
    return is_before(x->g, n->kind == T_APPLY && n->prim == TP_P_CAST ? n->arg[0] : t, x->operand);
}

/* The law of a choice in every step: what is y(e) after the step e of a run for
 * which a condition of indices holds, and else stays x, is x + sum of
 * [condition(e)] (y(e) - x), given that it holds in one step of a run at most.
 * x is what the first step leaves where the condition does not hold. */
static match match_chosen(grid *g, form *f, term step, uint32_t operand, term base)
{
    summary *s = g->v->s;
    uint32_t sym[TP_MAX_AXES], n = 0;
    tp_expr extent[TP_MAX_AXES];
    chosen_buffer buffer = {g, operand};
    kept_or_set c = match_choice(s, step, is_kept, T_BEFORE, operand, &buffer);
    if (!c.value.id || has_before(g, c.value, operand))
        return (match){.ok = false};
    tp_expr in_first = c.holds;
    for (uint32_t a = f->first; a < s->k->naxes; a++, n++) {
        sym[n] = s->k->axes[a].sym;
        extent[n] = s->k->axes[a].steps;
        in_first = at_step_of(s, in_first, a, tp_const(s->p, 0));
    }
    premises not_chosen = {.at = {condition_normal(s, in_first, true)}, .n = 1}, run = {.n = 0};
    f->start = term_decide(s, base, &not_chosen); /* of no axis of the run: they are 0 */
    if (f->keyed)
        run = premises_with(s, &run,
                            tp_op2(s->p, TP_E_EQ, g->key, summary_index(s, "key", tp_const(s->p, (int64_t)1 << 60))));
    if (!at_most_one_point(s, &run, c.holds, sym, extent, n))
        return (match){.ok = false};
    term more = of_two(g, TP_P_SUB, c.value, f->start);
    return (match){.ok = true, .part = term_select(s, c.holds, more, term_real(s, 0))};
}

/* What joins with anything and changes nothing. */
static term unit_of(grid *g, tp_prim fold)
{
    return term_real(g->v->s, fold == TP_P_MAX ? -(double)INFINITY : fold == TP_P_MIN ? (double)INFINITY : 0);
}

/* The fold of what steps add, over the steps of the run from its first one:
 * `steps` of the last axis, or all steps of a longer run. Of a key: over all
 * such steps that have it, since it ascends. */
static term fold(grid *g, const form *f, const tp_expr *lane, uint32_t rank, tp_expr steps, bool all)
{
    summary *s = g->v->s;
    uint32_t last = s->k->naxes - 1;
    tp_expr counter[TP_MAX_AXES], extent[TP_MAX_AXES];
    term part = f->part;
    for (uint32_t a = f->first; a <= last; a++) {
        extent[a] = all ? s->k->axes[a].steps : steps;
        counter[a] = summary_index(s, tp_cstr(s->arena, s->k->axes[a].name), extent[a]);
    }
    replacement with = no_symbols(g);
    for (uint32_t d = 0; d < rank; d++)
        replace_symbol(g, &with, f->lane[d], lane[d]);
    for (uint32_t a = f->first; a <= last; a++)
        replace_symbol(g, &with, axis_of(g, a), counter[a]);
    part = grid_substitute(g, part, &with);
    if (f->fold == TP_P_SCAN) /* of one axis */
        return term_scan_unfolded(s, (uint32_t)tp_expr_get(s->p, counter[last])->value, extent[last], part,
                                  grid_substitute(g, f->start, &with));
    if (f->value.id) /* of one axis */
        return term_first(s, f->fold, (uint32_t)tp_expr_get(s->p, counter[last])->value, extent[last],
                          grid_substitute(g, f->value, &with), part);
    if (f->keyed)
        part = term_select(s, tp_op2(s->p, TP_E_EQ, key_at(g, counter[g->run]), all ? g->block : g->key), part,
                           unit_of(g, f->fold));
    for (uint32_t a = last + 1; a-- > f->first;)
        part = term_fold(s, f->fold, (uint32_t)tp_expr_get(s->p, counter[a])->value, extent[a], part);
    tp_prim joins = f->fold == TP_P_MAX ? TP_P_MAXIMUM : f->fold == TP_P_MIN ? TP_P_MINIMUM : TP_P_ADD;
    return f->start.id ? term_apply(s, joins, grid_substitute(g, f->start, &with), part, (term){0}, 0) : part;
}

/* What a buffer holds as a step finds it: `held`, if it is not the first one of
 * the axes from `first`; else something of which nothing is known but the step.
 * No id: it is not followed. */
static term after_first_step(grid *g, uint32_t first, const term_node *n, term held)
{
    summary *s = g->v->s;
    uint32_t axes = s->k->naxes, rank = n->rank;
    premises later = in_later_steps(g, first);
    tp_expr at[TP_MAX_RANK];
    if (rank + axes > TP_MAX_RANK)
        return (term){0};
    memcpy(at, n->at, rank * sizeof *at);
    for (uint32_t a = 0; a < axes; a++)
        at[rank++] = axis_of(g, a);
    return term_select(s, later.at[0], held, term_element(s, T_BEFORE, n->operand, rank, at));
}

/* Of scratch that every step sets: what the step before left. */
static term left_before(grid *g, const form *f, const term_node *n)
{
    summary *s = g->v->s;
    uint32_t axes = s->k->naxes;
    if (axes == 0 || s->k->axes[axes - 1].parallel || n->operand < s->k->ninputs + s->k->noutputs)
        return (term){0};
    replacement with = no_symbols(g);
    for (uint32_t d = 0; d < n->rank; d++)
        replace_symbol(g, &with, f->lane[d], n->at[d]);
    tp_expr step = axis_of(g, axes - 1);
    replace_symbol(g, &with, step, tp_op2(s->p, TP_E_SUB, step, tp_const(s->p, 1)));
    return after_first_step(g, axes - 1, n, grid_substitute(g, f->part, &with));
}

/* May the first step of the axes from `first` find what the last one left? Else it finds nothing, and TP404 says that
 * it does not look. */
static bool runs_follow(const summary *s, uint32_t first)
{
    for (uint32_t a = 0; a < first; a++)
        if (!s->k->axes[a].parallel)
            return true;
    return false;
}

/* Is it a plain sum over several axes, looked at in the last step of its run? */
static bool is_sum_of_run(const grid *g, const form *f)
{
    return g->last && f->fold == TP_P_SUM && f->first == g->run && f->first + 1 != g->v->s->k->naxes && !f->keyed &&
           !g->key.id && !f->narrowed && !f->weight.id;
}

/* What this step adds at the lanes of n. */
static term part_here(grid *g, const form *f, const term_node *n)
{
    return form_at(g, f, n, f->part);
}

/* The fold as the step finds or leaves it. */
static term folded(grid *g, const form *f, const term_node *n)
{
    summary *s = g->v->s;
    tp_str name = s->k->operands[n->operand].name;
    uint32_t last = s->k->naxes - 1;
    bool all = g->last && n->kind == T_AFTER && (f->keyed ? f->first == g->run : f->first >= g->run) &&
               f->keyed == (g->key.id != 0) && (f->keyed || f->first != last);
    if (n->kind == T_AFTER && f->but_last)
        summary_stop(s, tp_printf(s->arena, "`%.*s` is changed once more in its last step", TP_FMT(name)));
    bool of_run = n->kind == T_BEFORE && is_sum_of_run(g, f);
    tp_expr now = axis_of(g, last), steps = {0};
    if (!all)
        steps = n->kind == T_BEFORE ? now : tp_op2(s->p, TP_E_ADD, now, tp_const(s->p, 1));
    if (!of_run && !all && f->first != last)
        summary_stop(
            s, tp_printf(s->arena, "`%.*s` is used before its accumulation over several axes ends", TP_FMT(name)));
    term t = fold(g, f, n->at, n->rank, steps, all || of_run);
    if (of_run)
        t = of_two(g, TP_P_SUB, t, part_here(g, f, n));
    if (!all && f->keyed && n->kind == T_BEFORE) /* at the first step it is that of another key */
        summary_stop(s, tp_printf(s->arena, "`%.*s` is read before a step on its block sets it", TP_FMT(name)));
    if (f->weight.id) { /* as the step leaves it, at these lanes */
        if (n->kind == T_BEFORE && !f->found.id)
            summary_stop(s, tp_printf(s->arena, "`%.*s` is read before it is scaled", TP_FMT(name)));
        t = of_two(g, TP_P_DIV, t, form_at(g, f, n, n->kind == T_BEFORE ? f->found : f->weight));
    }
    if (n->kind == T_BEFORE && (f->first == last || of_run) && !f->keyed && runs_follow(s, f->first))
        t = after_first_step(g, f->first, n, t);
    if (!t.id)
        summary_stop(s, tp_printf(s->arena, "`%.*s` is read as the run before left it", TP_FMT(name)));
    if (f->narrowed) /* by a function of this buffer alone */
        t = term_apply(s, TP_P_CAST, t, (term){0}, (term){0}, -1 - (int64_t)n->operand);
    return t;
}

/* What a step of the form's run finds or leaves. */
static term held_in_run(grid *g, const form *f, const term_node *n)
{
    summary *s = g->v->s;
    if (!f->overwritten)
        return folded(g, f, n);
    term t = n->kind == T_BEFORE ? left_before(g, f, n) : part_here(g, f, n);
    if (!t.id)
        summary_stop(s,
                     tp_printf(s->arena, "`%.*s` is read as the step before left it, and follows no known recurrence",
                               TP_FMT(s->k->operands[n->operand].name)));
    return t;
}

static term contents(summary *s, const term_node *n, void *ctx)
{
    grid *g = ctx;
    if ((n->kind != T_BEFORE && n->kind != T_AFTER) ||
        n->rank > s->k->operands[n->operand].ref_rank) /* by left_before() */
        return (term){0};
    term earlier = g->v->left_by_phase ? g->v->left_by_phase(g, n) : (term){0};
    if (earlier.id)
        return earlier;
    form *f = form_of(g, n->operand);
    uint32_t key[3 + TP_MAX_RANK] = {n->kind, n->operand, g->last}, len = 3;
    for (uint32_t d = 0; d < n->rank; d++)
        key[len++] = n->at[d].id;
    tp_buf b = {.arena = s->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, len * sizeof *key});
    tp_str text = tp_buf_view(&b);
    uint32_t id = tp_map_get(&g->folds, text);
    if (id)
        return (term){id};
    term t = held_in_run(g, f, n);
    if (f->filled && !f->left.id) {
        term_node own = *n;
        own.kind = T_AFTER;
        memcpy(own.at, f->lane, n->rank * sizeof *n->at);
        f->left = in_last_turn(g, f, held_in_run(g, f, &own));
    }
    if (f->filled)
        t = over_phases(g, f, n, t);
    tp_str why = term_overflows(s, t, s->k->operands[n->operand].dtype);
    if (why.n)
        summary_stop(s, tp_printf(s->arena, "%.*s in `%.*s`", TP_FMT(why), TP_FMT(s->k->operands[n->operand].name)));
    tp_map_set(s->arena, &g->folds, text, t.id);
    return t;
}

term with_folds(grid *g, term t)
{
    return term_replace(g->v->s, with_turns(g->v, t), contents, g);
}

static _Noreturn void no_fold(grid *g, uint32_t operand)
{
    summary *s = g->v->s;
    summary_stop(s, tp_printf(s->arena, "the update of `%.*s` from step to step is no sum, product, maximum or minimum",
                              TP_FMT(s->k->operands[operand].name)));
}

/* A step's update as (contents before) joined with a part: the part, and what it says of the weight; or it is none. */
static match match_update(grid *g, form *f, uint32_t operand, term update, const premises *later, term *base)
{
    static const struct {
        tp_prim step, fold;
    } EXTREMES[] = {{TP_P_MAXIMUM, TP_P_MAX}, {TP_P_MINIMUM, TP_P_MIN}};
    summary *s = g->v->s;
    term step = term_decide(s, update, later);
    match m = match_sum(g, step, operand, later);
    f->fold = TP_P_SUM;
    const term_node set = *term_get(s, *base);
    double units[] = {!set.infinite && term_may_be_mask(&set) ? set.mask : -(double)INFINITY,
                      !set.infinite && term_may_be_mask_above(&set) ? set.mask_above : (double)INFINITY};
    for (int i = 0; i < 2 && !m.ok; i++) {
        m = match_extreme(g, step, operand, EXTREMES[i].step, units[i]);
        f->fold = EXTREMES[i].fold;
    }
    if (!m.ok)
        m = match_first(g, f, step, operand, later, base);
    if (!m.ok) {
        m = match_chosen(g, f, step, operand, *base);
        f->fold = TP_P_SUM;
    }
    m.ok = m.ok && !has_before(g, m.part, operand) && (!m.factor.id || find_any_weight(g, f, &m, base));
    return m;
}

typedef struct update_match {
    grid *g;
    form *f;
    uint32_t operand;
    term update, *base;
    const premises *later;
    match found;
} update_match;

static void match_in_try(void *arg)
{
    update_match *x = arg;
    x->found = match_update(x->g, x->f, x->operand, x->update, x->later, x->base);
}

/* match_update(), where what stops a law stops that law only. */
static match try_update(grid *g, form *f, uint32_t operand, term update, const premises *later, term *base)
{
    summary *s = g->v->s;
    tp_str reason = s->out->reason;
    tp_loc loc = s->out->loc;
    update_match x = {.g = g, .f = f, .operand = operand, .update = update, .later = later, .base = base};
    uint32_t operands = tp_noperands(s->k), signs = s->signs.len, reducing = sum_pool(s)->reducing;
    bool *busy = TP_NEWN(s->arena, bool, operands), strict = s->strict, casts = s->narrow_casts;
    for (uint32_t o = 0; o < operands; o++)
        busy[o] = g->forms[o].busy;
    tp_status st = tp_try(s->arena, match_in_try, &x);
    if (st == TP_OK)
        return x.found;
    if (st != TP_E_INPUT)
        tp_leave(s->arena, st);
    look_from(g->v);
    for (uint32_t o = 0; o < operands; o++) /* what was begun there is begun again */
        if (g->forms[o].busy && !busy[o])
            g->forms[o] = (form){.busy = false};
    forget_turns(g->v);
    s->signs.len = signs;
    sum_pool(s)->reducing = reducing;
    s->strict = strict;
    s->narrow_casts = casts;
    s->out->reason = reason;
    s->out->loc = loc;
    return (match){.ok = false};
}

static _Noreturn void no_base(grid *g, uint32_t operand)
{
    summary *s = g->v->s;
    summary_stop(
        s, tp_printf(s->arena,
                     "the first step on a block does not set `%.*s` to what a later step makes of the neutral element",
                     TP_FMT(s->k->operands[operand].name)));
}

/* The law of runs of a key: a buffer that is set where the key differs from
 * that of the step before, and joined with a part in every other step, is the
 * fold of the parts of the steps that have the key, given that the key never
 * descends (key_is_sorted() in memory.c). false: it is not set there. */
static bool recognise_by_key(grid *g, uint32_t operand, term update)
{
    static const premises nothing = {.n = 0};
    summary *s = g->v->s;
    form *f = &g->forms[operand];
    if (!g->key.id)
        return false;
    key_steps at = steps_of_key(g, axis_of(g, g->run));
    term base = in_first_step(g, update, g->run), again = in_first_step_of_key(g, update, &at.begins);
    if (has_before(g, base, operand) || has_before(g, again, operand))
        return false;
    f->first = g->run;
    f->keyed = true;
    match m = match_update(g, f, operand, update, &at.later, &base);
    if (!m.ok || f->weight.id)
        no_fold(g, operand);
    f->part = with_folds(g, m.part);
    if (!terms_equal(s, &nothing, in_first_step(g, with_folds(g, base), g->run), in_first_step(g, f->part, g->run),
                     false) ||
        !terms_equal(s, &at.begins, in_first_step_of_key(g, with_folds(g, again), &at.begins),
                     in_first_step_of_key(g, f->part, &at.begins), false))
        no_base(g, operand);
    return true;
}

/* Base and step of the induction. */
static void recognise(grid *g, uint32_t operand)
{
    static const premises nothing = {.n = 0};
    summary *s = g->v->s;
    const tp_operand *o = &s->k->operands[operand];
    form *f = &g->forms[operand];
    int64_t one;
    if (tp_begins_as_input(o)) /* TP404 says nothing of what its first step finds */
        summary_stop(s, tp_printf(s->arena, "`%.*s` begins as its input, and a step reads it before it writes there",
                                  TP_FMT(o->name)));
    for (uint32_t d = 0; d < o->ref_rank; d++)
        f->lane[d] = (tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1) || g->v->uniform[operand][d]
                         ? tp_const(s->p, 0)
                         : summary_index(s, "lane", o->ref_shape[d]);
    term update = term_decide(s, element_after(g->v, operand, f->lane), &nothing);
    if (has_before(g, update, operand))
        update = find_filled(g, operand, decide_parts(s, update, &nothing, 0));
    if (!has_before(g, update, operand)) {
        f->overwritten = true;
        f->part = with_folds(g, update);
        return;
    }
    f->narrowed = term_applies(s, update, TP_P_CAST);
    if (!f->filled && recognise_by_key(g, operand, update))
        return;
    term base = {0};
    for (f->first = s->k->naxes; f->first-- > 0;) {
        base = first_found(g, operand, in_first_step(g, update, f->first));
        if (!has_before(g, base, operand))
            break;
    }
    if (f->first == UINT32_MAX || (f->filled && f->first + 1 != s->k->naxes))
        summary_stop(s, tp_printf(s->arena, "`%.*s` is not set in the first step on a block", TP_FMT(o->name)));
    premises later = in_later_steps(g, f->first), goes_on = before_last_step(g, f->first);
    if (f->filled) {
        later = fill_steps(g, f, &later);
        goes_on = fill_steps(g, f, &goes_on);
    }
    match m = try_update(g, f, operand, update, &later, &base);
    if (!m.ok) { /* the last step may do something else with it */
        term same = term_decide(s, update, &goes_on);
        f->but_last = same.id != update.id;
        f->weight = f->found = (term){0};
        if (!f->but_last && match_recurrence(g, f, operand, update, &later))
            return;
        f->narrowed = term_applies(s, same, TP_P_CAST);
        base = in_first_step(g, same, f->first);
        m = match_update(g, f, operand, same, &later, &base);
    }
    if (!m.ok)
        no_fold(g, operand);
    f->part = in_its_phase(g, f, with_folds(g, m.part));
    f->weight = in_its_phase(g, f, f->weight);
    term first = in_first_step(g, f->part, f->first);
    if (f->weight.id)
        first = of_two(g, TP_P_DIV, first, in_first_step(g, f->weight, f->first));
    base = in_first_step(g, in_its_phase(g, f, with_folds(g, base)), f->first);
    f->start = (term){0};
    if (terms_equal(s, &nothing, base, first, false))
        return;
    const term_node b = *term_get(s, base);
    tp_prim joins = f->fold == TP_P_MAX ? TP_P_MAXIMUM : TP_P_MINIMUM;
    for (int i = 0; i < 2 && f->fold != TP_P_SUM && b.kind == T_APPLY && b.prim == joins; i++) {
        f->start = b.arg[i];
        if (terms_equal(s, &nothing, base, of_two(g, joins, f->start, first), false))
            return;
    }
    if (f->fold != TP_P_SUM || f->weight.id)
        no_base(g, operand);
    f->start = term_apply(s, TP_P_SUB, base, first, (term){0}, 0);
}

/* Loops that follow each other change it: it is not followed from step to step of the grid. */
static void must_begin_here(grid *g, uint32_t operand, uint32_t first)
{
    const turned_loops *t = g->v->turned;
    summary *s = g->v->s;
    if (t && !t->alone[operand] && first < t->outer)
        summary_stop(s,
                     tp_printf(s->arena, "`%.*s` goes on from step to step, and loops that follow each other change it",
                               TP_FMT(s->k->operands[operand].name)));
}

form *form_of(grid *g, uint32_t operand)
{
    form *f = &g->forms[operand];
    if (f->busy)
        summary_stop(g->v->s, tp_printf(g->v->s->arena, "`%.*s` depends on itself through another buffer",
                                        TP_FMT(g->v->s->k->operands[operand].name)));
    if (!f->ready) {
        bool last = g->last; /* a law of every step, not of the last one */
        f->busy = true;
        g->last = false;
        recognise(g, operand);
        f->part = in_its_phase(g, f, f->part);
        f->found = in_its_phase(g, f, f->found);
        f->value = in_its_phase(g, f, f->value);
        f->start = in_its_phase(g, f, f->start);
        if (f->filled || !f->overwritten)
            must_begin_here(g, operand, f->filled ? g->v->s->k->naxes - 2 : f->first);
        g->last = last;
        f->busy = false;
        f->ready = true;
    }
    return f;
}
