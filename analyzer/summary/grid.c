/* The grid: what a window or a scratch buffer holds after many steps.
 *
 * A buffer that is set in the first step of a run and combined with something
 * in every step is a fold over the axes of the run, by induction: the first
 * step (base) and any later one (step) are looked at once. */
#include "analyzer/summary/internal.h"

#include <math.h>

enum { MAX_AXES = 16 };

/* What is known of an operand's contents from step to step. */
typedef struct form {
    bool ready, busy;
    bool overwritten; /* nothing of the step before is left */
    uint32_t first;   /* the run: this axis and the later ones */
    tp_prim fold;     /* SUM, PROD, MAX, MIN */
    bool scaled;      /* a sum, times exp(its scale before - its scale after) in every step */
    term scale;       /* `scaled`: what the step leaves in the other buffer */
    term part;        /* what a step adds; `overwritten`: what it leaves */
    term start;       /* what the first step sets beside that; none: nothing */
    tp_expr lane[TP_MAX_RANK];
} form;

typedef struct grid {
    evaluation *v;
    form *forms;
    tp_map placed; /* elements before and after a step, as folds */
    bool last;     /* in the last step of the output's run, which begins at axis: */
    uint32_t run;
} grid;

static tp_expr axis_of(const grid *g, uint32_t a)
{
    return tp_sym(g->v->s->p, g->v->s->k->axes[a].sym);
}

/* What to put in the place of symbols; those made later stay. */
typedef struct replacing {
    tp_expr *with;
    uint32_t n;
} replacing;

static replacing no_symbols(const grid *g)
{
    uint32_t n = tp_sym_count(g->v->s->p);
    return (replacing){TP_NEWN(g->v->s->arena, tp_expr, n), n};
}

static void replace_symbol(const grid *g, const replacing *r, tp_expr symbol, tp_expr by)
{
    const tp_expr_node *n = tp_expr_get(g->v->s->p, symbol);
    if (n->op == TP_E_SYM) /* else the one lane there is */
        r->with[n->value] = by;
}

static term substituted(grid *g, term t, const replacing *r)
{
    return term_subst(g->v->s, t, r->with, r->n);
}

/* ---- deciding conditions ---- */

/* In the first step of the run that begins at this axis; in a later one. */
static term in_first_step(grid *g, term t, uint32_t first)
{
    static const premises nothing = {.n = 0};
    replacing zero = no_symbols(g);
    for (uint32_t a = first; a < g->v->s->k->naxes; a++)
        replace_symbol(g, &zero, axis_of(g, a), tp_const(g->v->s->p, 0));
    return term_decided(g->v->s, substituted(g, t, &zero), summary_decides, (void *)(uintptr_t)&nothing);
}

static premises in_later_steps(grid *g, uint32_t first)
{
    summary *s = g->v->s;
    tp_expr later = tp_const(s->p, 0);
    for (uint32_t a = first; a < s->k->naxes; a++)
        later = tp_op2(s->p, TP_E_OR, tp_op2(s->p, TP_E_NE, axis_of(g, a), tp_const(s->p, 0)), later);
    return (premises){.at = {condition_normal(s, later, false)}, .n = 1};
}

/* ---- recognising a fold ---- */

typedef struct match {
    bool ok;
    term part, scale; /* scale: with which it is scaled, as the step leaves it; none: not scaled */
    term spelled;     /* the scale, as the body computes it */
    uint32_t scaled_by;
} match;

static bool is_before(grid *g, term t, uint32_t operand)
{
    const term_node *n = term_get(g->v->s, t);
    bool same = n->kind == T_BEFORE && n->operand == operand;
    for (uint32_t d = 0; d < n->rank && same; d++)
        same = tp_same(n->at[d], g->forms[operand].lane[d]);
    return same;
}

static bool has_before(grid *g, term t, uint32_t operand)
{
    return term_mentions(g->v->s, t, T_BEFORE, operand);
}

/* exp(m before - m after), for another buffer m, under these premises. */
static bool is_decay(grid *g, term t, const premises *p, match *m)
{
    summary *s = g->v->s;
    const term_node e = *term_get(s, t);
    if (e.kind != T_APPLY || e.prim != TP_P_EXP)
        return false;
    const term_node d = *term_get(s, e.arg[0]);
    if (d.kind != T_APPLY || d.prim != TP_P_SUB)
        return false;
    const term_node before = *term_get(s, d.arg[0]);
    if (before.kind != T_BEFORE)
        return false;
    term after = term_element(s, T_AFTER, before.operand, before.rank, before.at);
    term spelled =
        term_decided(s, element_after(g->v, before.operand, before.at), summary_decides, (void *)(uintptr_t)p);
    if (d.arg[1].id != after.id && d.arg[1].id != spelled.id)
        return false;
    m->scale = after;
    m->spelled = spelled;
    m->scaled_by = before.operand;
    return true;
}

/* t = (contents before) + part, or (contents before) * decay + part. */
static match match_sum(grid *g, term t, uint32_t operand, const premises *p)
{
    summary *s = g->v->s;
    const term_node n = *term_get(s, t);
    match m = {.ok = false}, other;
    if (is_before(g, t, operand))
        return (match){.ok = true, .part = term_real(s, 0)};
    if (n.kind == T_SELECT) {
        premises yes = premises_with(s, p, n.e), no = premises_with(s, p, condition_normal(s, n.e, true));
        m = match_sum(g, n.arg[0], operand, &yes);
        other = match_sum(g, n.arg[1], operand, &no);
        bool still[2] = {is_before(g, n.arg[0], operand), is_before(g, n.arg[1], operand)};
        if (!m.ok || !other.ok || (m.scale.id != other.scale.id && !still[0] && !still[1]))
            return (match){.ok = false};
        m.part = term_select(s, n.e, m.part, other.part);
        if (!m.scale.id) {
            m.scale = other.scale;
            m.spelled = other.spelled;
            m.scaled_by = other.scaled_by;
        }
        return m;
    }
    if (n.kind != T_APPLY)
        return m;
    bool in_a = n.arg[0].id && has_before(g, n.arg[0], operand), in_b = n.arg[1].id && has_before(g, n.arg[1], operand);
    if ((n.prim == TP_P_ADD || n.prim == TP_P_SUB) && in_a != in_b) {
        if (in_b && n.prim == TP_P_SUB)
            return m;
        m = match_sum(g, n.arg[in_b], operand, p);
        if (m.ok && in_a)
            m.part = term_apply(s, n.prim, m.part, n.arg[1], (term){0}, 0);
        else if (m.ok)
            m.part = term_apply(s, TP_P_ADD, n.arg[0], m.part, (term){0}, 0);
        return m;
    }
    if (n.prim == TP_P_MUL && in_a != in_b && is_before(g, n.arg[in_b], operand) && is_decay(g, n.arg[!in_b], p, &m)) {
        m.ok = true;
        m.part = term_real(s, 0);
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
    if (n.kind == T_APPLY && n.prim == prim) {
        bool in_a = has_before(g, n.arg[0], operand), in_b = has_before(g, n.arg[1], operand);
        match inner = in_a != in_b ? match_extreme(g, n.arg[in_b], operand, prim, unit) : (match){.ok = false};
        if (inner.ok)
            return (match){.ok = true, .part = term_apply(s, prim, inner.part, n.arg[!in_b], (term){0}, 0)};
    }
    return (match){.ok = false};
}

/* ---- putting folds in the place of contents ---- */

static form *form_of(grid *g, uint32_t operand);
static term placed(grid *g, term t);

/* The fold of what steps add, over the steps of the run from its first one:
 * `steps` of the last axis, or all steps of a longer run. */
static term folded(grid *g, const form *f, const tp_expr *lane, uint32_t rank, tp_expr steps, bool all)
{
    summary *s = g->v->s;
    uint32_t last = s->k->naxes - 1;
    tp_expr counter[MAX_AXES], extent[MAX_AXES];
    term part = f->part;
    if (f->scaled)
        part = term_apply(s, TP_P_MUL, part, term_apply(s, TP_P_EXP, f->scale, (term){0}, (term){0}, 0), (term){0}, 0);
    for (uint32_t a = f->first; a <= last; a++) {
        extent[a] = all ? s->k->axes[a].steps : steps;
        counter[a] = summary_index(s, tp_cstr(s->arena, s->k->axes[a].name), extent[a]);
    }
    replacing with = no_symbols(g);
    for (uint32_t d = 0; d < rank; d++)
        replace_symbol(g, &with, f->lane[d], lane[d]);
    for (uint32_t a = f->first; a <= last; a++)
        replace_symbol(g, &with, axis_of(g, a), counter[a]);
    part = substituted(g, part, &with);
    for (uint32_t a = last + 1; a-- > f->first;)
        part = term_fold(s, f->fold, (uint32_t)tp_expr_get(s->p, counter[a])->value, extent[a], part);
    return f->start.id ? term_apply(s, TP_P_ADD, substituted(g, f->start, &with), part, (term){0}, 0) : part;
}

static term contents(summary *s, const term_node *n, void *ctx)
{
    grid *g = ctx;
    if (n->kind == T_READ)
        return (term){0};
    form *f = form_of(g, n->operand);
    uint32_t key[3 + TP_MAX_RANK] = {n->kind, n->operand, g->last}, len = 3, last = s->k->naxes - 1;
    for (uint32_t d = 0; d < n->rank; d++)
        key[len++] = n->at[d].id;
    tp_buf b = {.arena = s->arena};
    tp_buf_str(&b, (tp_str){(const char *)key, len * sizeof *key});
    tp_str text = tp_buf_view(&b);
    uint32_t known = tp_map_get(&g->placed, text);
    if (known)
        return (term){known};
    term t;
    tp_str name = s->k->operands[n->operand].name;
    if (f->overwritten) {
        if (n->kind == T_BEFORE)
            summary_stop(
                s, tp_printf(s->arena, "`%.*s` is read as the step before left it, and is no fold", TP_FMT(name)));
        replacing with = no_symbols(g);
        for (uint32_t d = 0; d < n->rank; d++)
            replace_symbol(g, &with, f->lane[d], n->at[d]);
        t = substituted(g, f->part, &with);
    } else {
        bool all = g->last && n->kind == T_AFTER && f->first == g->run && f->first != last;
        tp_expr steps = (tp_expr){0};
        if (!all && f->first != last)
            summary_stop(s, tp_printf(s->arena, "`%.*s` is used before its run over several axes ends", TP_FMT(name)));
        if (!all)
            steps =
                n->kind == T_BEFORE ? axis_of(g, last) : tp_op2(s->p, TP_E_ADD, axis_of(g, last), tp_const(s->p, 1));
        t = folded(g, f, n->at, n->rank, steps, all);
        if (f->scaled) { /* by what the step leaves, at these lanes */
            replacing with = no_symbols(g);
            for (uint32_t d = 0; d < n->rank; d++)
                replace_symbol(g, &with, f->lane[d], n->at[d]);
            if (n->kind == T_BEFORE)
                summary_stop(s, tp_printf(s->arena, "`%.*s` is read before it is scaled", TP_FMT(name)));
            term scale = substituted(g, f->scale, &with);
            term minus = term_apply(s, TP_P_NEG, scale, (term){0}, (term){0}, 0);
            t = term_apply(s, TP_P_MUL, term_apply(s, TP_P_EXP, minus, (term){0}, (term){0}, 0), t, (term){0}, 0);
        }
    }
    tp_map_set(s->arena, &g->placed, text, t.id);
    return t;
}

static term placed(grid *g, term t)
{
    return term_replace(g->v->s, t, contents, g);
}

static term placed_in(void *g, term t)
{
    return placed(g, t);
}

static _Noreturn void no_fold(grid *g, uint32_t operand)
{
    summary *s = g->v->s;
    summary_stop(s,
                 tp_printf(s->arena, "what happens to `%.*s` from step to step is no sum, product, maximum or minimum",
                           TP_FMT(s->k->operands[operand].name)));
}

/* Base and step of the induction. */
static void recognise(grid *g, uint32_t operand)
{
    static const struct {
        tp_prim step, fold;
    } EXTREMES[] = {{TP_P_MAXIMUM, TP_P_MAX}, {TP_P_MINIMUM, TP_P_MIN}};
    static const premises nothing = {.n = 0};
    summary *s = g->v->s;
    const tp_operand *o = &s->k->operands[operand];
    form *f = &g->forms[operand];
    int64_t one;
    for (uint32_t d = 0; d < o->ref_rank; d++)
        f->lane[d] = tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1
                         ? tp_const(s->p, 0)
                         : summary_index(s, "lane", o->ref_shape[d]);
    term update = term_decided(s, element_after(g->v, operand, f->lane), summary_decides, (void *)(uintptr_t)&nothing);
    if (!has_before(g, update, operand)) {
        f->overwritten = true;
        f->part = placed(g, update);
        return;
    }
    term base = {0};
    for (f->first = s->k->naxes; f->first-- > 0;) {
        base = in_first_step(g, update, f->first);
        if (!has_before(g, base, operand))
            break;
    }
    if (f->first == UINT32_MAX)
        summary_stop(s, tp_printf(s->arena, "`%.*s` is not set in the first step of a run", TP_FMT(o->name)));
    premises later = in_later_steps(g, f->first);
    term step = term_decided(s, update, summary_decides, &later);
    match m = match_sum(g, step, operand, &later);
    f->fold = TP_P_SUM;
    const term_node set = *term_get(s, base);
    double units[] = {!set.infinite && term_may_be_mask(&set) ? set.mask : -(double)INFINITY, INFINITY};
    for (int i = 0; i < 2 && !m.ok; i++) {
        m = match_extreme(g, step, operand, EXTREMES[i].step, units[i]);
        f->fold = EXTREMES[i].fold;
    }
    if (!m.ok || has_before(g, m.part, operand))
        no_fold(g, operand);
    f->scaled = m.scale.id != 0;
    if (f->scaled) /* so that the two are seen to be the same */
        m.part = term_exchange(s, m.part, m.spelled, m.scale);
    f->part = placed(g, m.part);
    if (f->scaled) {
        form *by = form_of(g, m.scaled_by);
        if (by->overwritten || by->fold != TP_P_MAX || by->first != f->first)
            no_fold(g, operand);
        f->scale = placed(g, m.scale);
    }
    term first = in_first_step(g, f->part, f->first);
    base = in_first_step(g, placed(g, base), f->first);
    if (terms_equal(s, &nothing, base, first, false))
        return;
    if (f->fold != TP_P_SUM || f->scaled)
        summary_stop(s,
                     tp_printf(s->arena,
                               "the first step of a run does not set `%.*s` to what a later one would make of nothing",
                               TP_FMT(o->name)));
    f->start = term_apply(s, TP_P_SUB, base, first, (term){0}, 0);
}

static form *form_of(grid *g, uint32_t operand)
{
    form *f = &g->forms[operand];
    if (f->busy)
        summary_stop(g->v->s, tp_printf(g->v->s->arena, "`%.*s` depends on itself through another buffer",
                                        TP_FMT(g->v->s->k->operands[operand].name)));
    if (!f->ready) {
        f->busy = true;
        recognise(g, operand);
        f->busy = false;
        f->ready = true;
    }
    return f;
}

/* ---- outputs ---- */

/* Which step writes element `at` (by axis; none: not told by the element), and at which lane. */
static void locate(grid *g, const tp_operand *o, const tp_expr *at, tp_expr *step_of, tp_expr *lane)
{
    summary *s = g->v->s;
    tp_exprs *p = s->p;
    uint32_t rank = 0;
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr start = tp_window_start(s->a, o, d), width = o->whole ? o->shape[d] : o->dims[d].block;
        uint32_t axis = UINT32_MAX, mentioned = 0;
        for (uint32_t a = 0; a < s->k->naxes; a++)
            if (tp_expr_mentions(p, start, s->k->axes[a].sym)) {
                axis = a;
                mentioned++;
            }
        tp_expr here = start;
        if (mentioned) {
            tp_expr by_width = tp_op2(p, TP_E_MUL, width, axis_of(g, axis));
            if (mentioned > 1 || step_of[axis].id || !tp_same(tp_expr_normal(p, start), tp_expr_normal(p, by_width)))
                summary_stop(s, tp_printf(s->arena, "dimension %u of `%.*s` is not one block per step of an axis", d,
                                          TP_FMT(o->name)));
            tp_expr step = tp_op2(p, TP_E_FLOORDIV, at[d], width);
            static const premises nothing = {.n = 0};
            tp_expr inside = tp_op2(p, TP_E_LT, step, s->k->axes[axis].steps);
            if (!summary_proves(s, &nothing, tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, step, tp_const(p, 0)), inside)))
                summary_stop(s,
                             tp_printf(s->arena, "some element of `%.*s` may be written by no step", TP_FMT(o->name)));
            step_of[axis] = step;
            here = tp_op2(p, TP_E_MUL, width, step);
        }
        if (o->whole || o->dims[d].kind != TP_DIM_SQUEEZED)
            lane[rank++] = tp_op2(p, TP_E_SUB, at[d], here);
    }
}

term output_element(evaluation *v, uint32_t operand, const tp_expr *at)
{
    summary *s = v->s;
    const tp_operand *o = &s->k->operands[operand];
    grid g = {.v = v, .forms = TP_NEWN(s->arena, form, tp_noperands(s->k))};
    static const premises nothing = {.n = 0};
    if (!v->final[operand])
        summary_stop(s, tp_printf(s->arena, "`%.*s` is never written", TP_FMT(o->name)));
    tp_expr lane[TP_MAX_RANK], own[TP_MAX_RANK], step_of[MAX_AXES] = {{0}};
    int64_t one;
    if (s->k->naxes > MAX_AXES)
        summary_stop(s, TP_S("the grid has too many axes"));
    locate(&g, o, at, step_of, lane);
    for (g.run = s->k->naxes; g.run > 0 && !step_of[g.run - 1].id;)
        g.run--;
    for (uint32_t a = 0; a < g.run; a++)
        if (!step_of[a].id)
            summary_stop(s, tp_printf(s->arena, "the grid returns to the blocks of `%.*s`", TP_FMT(o->name)));
    for (uint32_t a = g.run; a < s->k->naxes; a++) /* the last step of the run counts */
        step_of[a] = tp_op2(s->p, TP_E_SUB, s->k->axes[a].steps, tp_const(s->p, 1));
    g.last = g.run < s->k->naxes;
    for (uint32_t d = 0; d < o->ref_rank; d++)
        own[d] = tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1 ? tp_const(s->p, 0)
                                                                           : summary_index(s, "lane", o->ref_shape[d]);
    replacing last = no_symbols(&g);
    for (uint32_t a = g.run; a < s->k->naxes; a++)
        replace_symbol(&g, &last, axis_of(&g, a), step_of[a]);
    term t = term_decided(s, substituted(&g, element_after(v, operand, own), &last), summary_decides,
                          (void *)(uintptr_t)&nothing);
    if (has_before(&g, t, operand)) { /* it is its own accumulator */
        if (form_of(&g, operand)->first != g.run)
            summary_stop(
                s, tp_printf(s->arena, "`%.*s` is not set in the first step of the run of its block", TP_FMT(o->name)));
        t = term_element(s, T_AFTER, operand, o->ref_rank, own);
    }
    t = placed(&g, t);
    summary_fits(s, placed_in, &g);
    replacing here = no_symbols(&g);
    for (uint32_t a = 0; a < s->k->naxes; a++)
        replace_symbol(&g, &here, axis_of(&g, a), step_of[a]);
    for (uint32_t d = 0; d < o->ref_rank; d++)
        replace_symbol(&g, &here, own[d], lane[d]);
    return substituted(&g, t, &here);
}
