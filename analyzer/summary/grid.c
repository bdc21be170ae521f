/* The grid: what a window or a scratch buffer holds after many steps.
 *
 * A buffer that is set in the first step of a run and combined with something
 * in every step is a fold over the axes of the run, by induction: the first
 * step (base) and any later one (step) are looked at once. */
#include "analyzer/summary/sum.h"

#include <math.h>

/* What is known of an operand's contents from step to step. */
typedef struct form {
    bool ready, busy;
    bool overwritten; /* nothing of the step before is left */
    uint32_t first;   /* the run: this axis and the later ones */
    tp_prim fold;     /* SUM, PROD, MAX, MIN */
    bool narrowed;    /* some step narrows it, so that it is the fold over the reals only */
    term weight;      /* a sum, times weight before / weight after in every step; none: 1. As the step leaves it */
    term part;        /* what a step adds, times the weight; `overwritten`: what it leaves */
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
 * it, when what it finds is the same all along the dimension. */
void find_uniform(evaluation *v)
{
    summary *s = v->s;
    const tp_kernel *k = s->k;
    tp_str reason = s->out->reason;
    tp_loc loc = s->out->loc;
    for (uint32_t o = k->ninputs + k->noutputs; o < tp_noperands(k); o++)
        for (uint32_t d = 0; d < k->operands[o].ref_rank; d++)
            v->uniform[o][d] = v->final[o] != NULL;
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
        v->elements = (tp_map){0}; /* they were made under other assumptions */
    }
    s->out->reason = reason; /* what could not be looked at here need not matter */
    s->out->loc = loc;
    s->node = NULL;
    s->syntax = NULL;
}

/* ---- recognising a fold ---- */

enum { MAX_PLACES = 6 };

/* What holds at some places of a term. */
typedef struct places {
    const premises *at[MAX_PLACES];
    uint32_t n;
} places;

typedef struct match {
    bool ok;
    term part, factor; /* contents before * factor + part; no factor: 1 */
    places met, still; /* where they are multiplied by the factor, and where they are not */
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

static term of_two(grid *g, tp_prim prim, term a, term b)
{
    return term_apply(g->v->s, prim, a, b, (term){0}, 0);
}

static term power_of(grid *g, tp_prim exponential, term t)
{
    return term_apply(g->v->s, exponential, t, (term){0}, (term){0}, 0);
}

static bool is_0(const summary *s, term t)
{
    const term_node *n = term_get(s, t);
    int64_t v;
    return n->kind == T_INTEGER && tp_expr_is_const(s->p, n->e, &v) && v == 0;
}

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
        return (match){.ok = true, .part = term_real(s, 0), .still = {{p}, 1}};
    if (n.kind == T_SELECT) {
        premises *yes = TP_NEW(s->arena, premises), *no = TP_NEW(s->arena, premises);
        *yes = premises_with(s, p, n.e);
        *no = premises_with(s, p, condition_normal(s, n.e, true));
        m = match_sum(g, n.arg[0], operand, yes);
        other = match_sum(g, n.arg[1], operand, no);
        if (!m.ok || !other.ok || (m.factor.id && other.factor.id && m.factor.id != other.factor.id) ||
            !places_join(&m.met, &other.met) || !places_join(&m.still, &other.still))
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
        if (m.factor.id && m.still.n) /* by one thing here, by another there */
            return (match){.ok = false};
        m.met = (places){{p}, 1};
        m.still.n = 0;
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

/* ---- putting folds in the place of contents ---- */

static form *form_of(grid *g, uint32_t operand);
static term placed(grid *g, term t);

/* The fold of what steps add, over the steps of the run from its first one:
 * `steps` of the last axis, or all steps of a longer run. */
static term folded(grid *g, const form *f, const tp_expr *lane, uint32_t rank, tp_expr steps, bool all)
{
    summary *s = g->v->s;
    uint32_t last = s->k->naxes - 1;
    tp_expr counter[TP_MAX_AXES], extent[TP_MAX_AXES];
    term part = f->part;
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
    tp_prim joins = f->fold == TP_P_MAX ? TP_P_MAXIMUM : f->fold == TP_P_MIN ? TP_P_MINIMUM : TP_P_ADD;
    return f->start.id ? term_apply(s, joins, substituted(g, f->start, &with), part, (term){0}, 0) : part;
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
        if (f->weight.id) { /* as the step leaves it, at these lanes */
            replacing with = no_symbols(g);
            for (uint32_t d = 0; d < n->rank; d++)
                replace_symbol(g, &with, f->lane[d], n->at[d]);
            if (n->kind == T_BEFORE)
                summary_stop(s, tp_printf(s->arena, "`%.*s` is read before it is scaled", TP_FMT(name)));
            t = of_two(g, TP_P_DIV, t, substituted(g, f->weight, &with));
        }
        if (f->narrowed) /* by a function of this buffer alone */
            t = term_apply(s, TP_P_CAST, t, (term){0}, (term){0}, -1 - (int64_t)n->operand);
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

/* ---- sums that every step scales ---- */

/* Elements of other buffers, as the step finds them. */
typedef struct befores {
    term at[8];
    uint32_t n;
    bool too_many;
} befores;

static term collect(summary *s, const term_node *n, void *ctx)
{
    befores *b = ctx;
    if (n->kind != T_BEFORE)
        return (term){0};
    term t = term_element(s, T_BEFORE, n->operand, n->rank, n->at);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->at[i].id == t.id)
            return t;
    if (b->n < sizeof b->at / sizeof *b->at)
        b->at[b->n++] = t;
    else
        b->too_many = true;
    return t;
}

/* t * by, where t divides by it if it can be seen. */
static term absorbed(grid *g, term t, term by)
{
    summary *s = g->v->s;
    const term_node n = *term_get(s, t);
    if (n.kind == T_APPLY && n.prim == TP_P_DIV && n.arg[1].id == by.id)
        return n.arg[0];
    if (n.kind == T_SELECT)
        return term_select(s, n.e, absorbed(g, n.arg[0], by), absorbed(g, n.arg[1], by));
    for (int i = 0; n.kind == T_APPLY && n.prim == TP_P_MUL && i < 2; i++) {
        term without = absorbed(g, n.arg[i], by);
        const term_node w = *term_get(s, without);
        if (!(w.kind == T_APPLY && w.prim == TP_P_MUL && (w.arg[0].id == by.id || w.arg[1].id == by.id)))
            return of_two(g, TP_P_MUL, without, n.arg[!i]);
    }
    if (n.kind == T_APPLY && (n.prim == TP_P_ADD || n.prim == TP_P_SUB))
        return of_two(g, n.prim, absorbed(g, n.arg[0], by), absorbed(g, n.arg[1], by));
    return is_0(s, t) ? t : of_two(g, TP_P_MUL, t, by);
}

/* Is what every step leaves in the buffer above 0, at all lanes? */
static bool is_positive(grid *g, uint32_t operand)
{
    summary *s = g->v->s;
    const tp_operand *o = &s->k->operands[operand];
    tp_expr lane[TP_MAX_RANK];
    for (uint32_t d = 0; d < o->ref_rank && !s->positive[operand]; d++)
        lane[d] = g->v->uniform[operand][d] ? tp_const(s->p, 0) : summary_index(s, "lane", o->ref_shape[d]);
    if (!s->positive[operand]) {
        s->strict = true;
        term any = term_element(s, T_AFTER, operand, o->ref_rank, lane);
        s->positive[operand] = sum_is_positive(s, sum_of_term(s, placed(g, any)));
        s->strict = false;
    }
    return s->positive[operand];
}

/* x == 0, for an x that is above 0: false. */
static term without_zero_test(grid *g, term t, term x)
{
    summary *s = g->v->s;
    return term_exchange(s, t, of_two(g, TP_P_EQ, x, term_real(s, 0)), term_integer(s, tp_const(s->p, 0)));
}

static bool is_impossible(summary *s, const premises *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (tp_same(condition_normal(s, p->at[i], true), p->at[k]))
                return true;
    return false;
}

/* What the step leaves there is `after`, at all of these places. */
static bool leaves(grid *g, const places *p, term before, term after)
{
    summary *s = g->v->s;
    const term_node b = *term_get(s, before);
    term spelled = element_after(g->v, b.operand, b.at);
    for (uint32_t i = 0; i < p->n; i++)
        if (!is_impossible(s, p->at[i]) &&
            term_decided(s, spelled, summary_decides, (void *)(uintptr_t)p->at[i]).id != after.id)
            return false;
    return true;
}

/* A weight w of other buffers, so that the factor is w before / w after: the
 * product of exp(m), or 2^m, of the running maxima and of the running sums in it. In
 * *m the part is multiplied with it; in *base tests of sums for 0 are gone. */
static bool find_weight(grid *g, form *f, match *m, term *base, tp_prim exponential)
{
    summary *s = g->v->s;
    befores found = {.n = 0};
    term before = term_real(s, 1), after = before, spellings[8], lefts[8];
    term_replace(s, m->factor, collect, &found);
    if (!found.n || found.too_many)
        return false;
    for (uint32_t i = 0; i < found.n; i++) {
        const term_node b = *term_get(s, found.at[i]);
        form *by = form_of(g, b.operand);
        if (by->overwritten || by->first != f->first || (by->fold != TP_P_MAX && by->fold != TP_P_SUM))
            return false;
        term left = term_element(s, T_AFTER, b.operand, b.rank, b.at), spelled = element_after(g->v, b.operand, b.at),
             in_step = term_decided(s, spelled, summary_decides, (void *)(uintptr_t)m->met.at[0]);
        /* the weight is what it was where the sum is, and else the same everywhere */
        if (!leaves(g, &m->still, found.at[i], found.at[i]) || !leaves(g, &m->met, found.at[i], in_step))
            return false;
        for (uint32_t k = 0; k < i; k++)
            in_step = term_exchange(s, in_step, spellings[k], lefts[k]);
        spellings[i] = in_step;
        lefts[i] = left;
        m->factor = term_exchange(s, m->factor, in_step, left); /* so that they are seen to be the same */
        m->part = term_exchange(s, m->part, in_step, left);
        if (by->fold == TP_P_MAX) {
            before = of_two(g, TP_P_MUL, before, power_of(g, exponential, found.at[i]));
            after = of_two(g, TP_P_MUL, after, power_of(g, exponential, left));
            m->part = is_0(s, m->part) ? m->part : of_two(g, TP_P_MUL, m->part, power_of(g, exponential, left));
            continue;
        }
        if (!is_positive(g, b.operand))
            return false;
        m->factor = without_zero_test(g, m->factor, left);
        m->part = absorbed(g, without_zero_test(g, m->part, left), left);
        *base = without_zero_test(g, *base, in_first_step(g, spelled, f->first));
        before = of_two(g, TP_P_MUL, before, found.at[i]);
        after = of_two(g, TP_P_MUL, after, left);
    }
    f->weight = placed(g, after);
    return sum_of_term(s, of_two(g, TP_P_MUL, m->factor, after)) == sum_of_term(s, before);
}

static bool find_any_weight(grid *g, form *f, match *m, term *base)
{
    match by_two = *m;
    term base_by_two = *base;
    if (find_weight(g, f, m, base, TP_P_EXP))
        return true;
    *m = by_two;
    *base = base_by_two;
    return find_weight(g, f, m, base, TP_P_EXP2);
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
        f->lane[d] = (tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1) || g->v->uniform[operand][d]
                         ? tp_const(s->p, 0)
                         : summary_index(s, "lane", o->ref_shape[d]);
    term update = term_decided(s, element_after(g->v, operand, f->lane), summary_decides, (void *)(uintptr_t)&nothing);
    if (!has_before(g, update, operand)) {
        f->overwritten = true;
        f->part = placed(g, update);
        return;
    }
    f->narrowed = term_applies(s, update, TP_P_CAST);
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
    double units[] = {!set.infinite && term_may_be_mask(&set) ? set.mask : -(double)INFINITY, (double)INFINITY};
    for (int i = 0; i < 2 && !m.ok; i++) {
        m = match_extreme(g, step, operand, EXTREMES[i].step, units[i]);
        f->fold = EXTREMES[i].fold;
    }
    if (!m.ok || has_before(g, m.part, operand) || (m.factor.id && !find_any_weight(g, f, &m, &base)))
        no_fold(g, operand);
    f->part = placed(g, m.part);
    term first = in_first_step(g, f->part, f->first);
    if (f->weight.id)
        first = of_two(g, TP_P_DIV, first, in_first_step(g, f->weight, f->first));
    base = in_first_step(g, placed(g, base), f->first);
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
        bool last = g->last; /* a law of every step, not of the last one */
        f->busy = true;
        g->last = false;
        recognise(g, operand);
        g->last = last;
        f->busy = false;
        f->ready = true;
    }
    return f;
}

/* ---- outputs ---- */

term output_element(evaluation *v, uint32_t operand, const tp_expr *at)
{
    summary *s = v->s;
    const tp_operand *o = &s->k->operands[operand];
    grid g = {.v = v, .forms = TP_NEWN(s->arena, form, tp_noperands(s->k))};
    static const premises nothing = {.n = 0};
    if (!v->final[operand])
        summary_stop(s, tp_printf(s->arena, "`%.*s` is never written", TP_FMT(o->name)));
    tp_expr own[TP_MAX_RANK];
    int64_t one;
    writer w = writer_of(s, o, at);
    writer_exists(s, o, &w);
    g.run = w.run;
    g.last = g.run < s->k->naxes;
    for (uint32_t d = 0; d < o->ref_rank; d++)
        own[d] = tp_expr_is_const(s->p, o->ref_shape[d], &one) && one == 1 ? tp_const(s->p, 0)
                                                                           : summary_index(s, "lane", o->ref_shape[d]);
    replacing last = no_symbols(&g);
    for (uint32_t a = g.run; a < s->k->naxes; a++)
        replace_symbol(&g, &last, axis_of(&g, a), w.step[a]);
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
        replace_symbol(&g, &here, axis_of(&g, a), w.step[a]);
    for (uint32_t d = 0; d < o->ref_rank; d++)
        replace_symbol(&g, &here, own[d], w.lane[d]);
    return substituted(&g, t, &here);
}
