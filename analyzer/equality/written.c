/* Arrays that steps write piece by piece, as where copies move blocks of rows to an output in HBM.
 *
 * Let c(p, e) say that step p writes element e, and y(p, e) what it writes. The law of the last writer: if a step w(e)
 * writes e, for every element e, and every step that writes e is w(e), comes before it, and is of the same parallel
 * coordinates, then the element is y(w(e), e) in the end. w is guessed from where stores go, and believed when both are
 * proven, from sizes and tables alone.
 *
 * The law of kept elements: where an output begins with what its input holds, h(e), and at most one step writes e, the
 * element is h(e) + sum over p of [c(p, e)] (y(p, e) - h(e)). */
#include "analyzer/equality/grid.h"

enum { MOST_STORES = 8, MOST_CASES = 64 };

typedef struct kept_lanes {
    summary *s;
    uint32_t operand;
    const tp_expr *lane;
} kept_lanes;

static bool is_kept(void *ctx, term t)
{
    const kept_lanes *x = ctx;
    const term_node *n = term_get(x->s, t);
    bool same = n->kind == T_BEFORE && n->operand == x->operand;
    for (uint32_t d = 0; d < n->rank && same; d++)
        same = tp_same(n->at[d], x->lane[d]);
    return same;
}

/* When a step writes lane `own` of an output, and what; no value: it never does, or what it writes speaks of what was
 * there. */
static kept_or_set written_in_step(evaluation *v, uint32_t operand, const tp_expr *own)
{
    summary *s = v->s;
    kept_lanes lanes = {s, operand, own};
    term after = with_turns(v, element_after(v, operand, own));
    kept_or_set c = match_choice(s, after, is_kept, T_BEFORE, operand, &lanes);
    if (c.value.id && term_mentions(s, c.value, T_BEFORE, operand))
        c.value = (term){0};
    return c;
}

/* ---- each case of a condition ---- */

typedef struct cases {
    summary *s;
    tp_expr goal;
    uint32_t left;
} cases;

/* The alternatives of a condition that are yet to be looked at. */
typedef struct alternatives {
    tp_expr at[32];
    uint32_t n;
    bool many;
} alternatives;

static void take_apart(summary *s, tp_expr condition, premises *p, alternatives *rest)
{
    const tp_expr_node c = *tp_expr_get(s->p, condition);
    if (c.op == TP_E_AND) {
        take_apart(s, c.a, p, rest);
        take_apart(s, c.b, p, rest);
    } else if (c.op != TP_E_OR) {
        *p = premises_with(s, p, condition);
    } else if (rest->n < sizeof rest->at / sizeof *rest->at) {
        rest->at[rest->n++] = condition;
    } else {
        rest->many = true;
    }
}

/* The goal follows where p and the condition hold, in each case of its alternatives. */
static bool in_each_case(cases *x, const premises *p, const alternatives *before, tp_expr condition)
{
    summary *s = x->s;
    premises here = *p;
    alternatives rest = *before;
    take_apart(s, condition, &here, &rest);
    if (rest.many || x->left == 0)
        return false;
    if (rest.n == 0 || summary_follows(s, &here, x->goal)) {
        x->left--;
        return summary_proves(s, &here, x->goal);
    }
    const tp_expr_node c = *tp_expr_get(s->p, rest.at[--rest.n]);
    return in_each_case(x, &here, &rest, c.a) && in_each_case(x, &here, &rest, c.b);
}

static bool follows_from(summary *s, tp_expr condition, tp_expr goal)
{
    static const premises nothing = {.n = 0};
    cases x = {s, goal, MOST_CASES};
    return in_each_case(&x, &nothing, &(alternatives){.n = 0}, condition);
}

static bool is_proven_of_sizes(void *ctx, tp_expr goal)
{
    return summary_proves_of_sizes(ctx, goal);
}

static bool holds_of_sizes(summary *s, tp_expr condition)
{
    return tp_shown_by_alternatives(s->a, condition, is_proven_of_sizes, s);
}

/* ---- which step writes last ---- */

/* The block is the number of a step, or the entry that a table has for it, which another table tells. */
static void tell_by_table(summary *s, tp_expr block, tp_expr x, const tp_table *by, tp_expr *step)
{
    const tp_expr_node n = *tp_expr_get(s->p, block);
    for (uint32_t a = 0; a < s->k->naxes && by && n.op == TP_E_READ && !n.b.id; a++)
        if (!step[a].id && tp_same(n.a, tp_sym(s->p, s->k->axes[a].sym)))
            step[a] = tp_read(s->p, by->sym, 1, &x);
}

/* A guess: the step whose store c goes to lane `own`; axes that the place does not tell are at their last step, or at
 * their first. False: it would be another one at each step of some axis. */
static bool guess_step(evaluation *v, uint32_t operand, const stored *c, const tp_expr *own, const tp_table *by,
                       bool at_last, tp_expr *step)
{
    summary *s = v->s;
    tp_exprs *p = s->p;
    for (uint32_t d = 0; d < s->k->operands[operand].ref_rank && c->where; d++) {
        const tp_subscript *sub = &c->where->subs[d];
        if (sub->kind == TP_SUB_FULL)
            continue;
        tp_expr size = sub->kind == TP_SUB_INT ? tp_const(p, 1) : sub->size,
                block = tp_expr_normal(p, tp_op2(p, TP_E_FLOORDIV, scalar_of(v, sub->start), size)),
                x = tp_expr_normal(p, tp_op2(p, TP_E_FLOORDIV, own[d], size));
        tp_split_digits(s->a, block, x, step);
        tp_split_multiple(s->a, block, x, step);
        tell_by_table(s, block, x, by, step);
    }
    for (uint32_t a = 0; a < s->k->naxes; a++) {
        if (!step[a].id)
            step[a] = at_last ? tp_op2(p, TP_E_SUB, s->k->axes[a].steps, tp_const(p, 1)) : tp_const(p, 0);
        for (uint32_t b = 0; b < a; b++) /* how many steps there are may depend on axes before */
            step[a] = at_step_of(s, step[a], b, step[b]);
        step[a] = tp_expr_normal(p, step[a]);
    }
    bool told = true;
    for (uint32_t a = 0; a < s->k->naxes; a++)
        for (uint32_t b = 0; b < s->k->naxes; b++)
            told &= !tp_expr_mentions(p, step[a], s->k->axes[b].sym);
    return told;
}

/* e, axis by axis, at the steps of `with`. */
static tp_expr at_steps(summary *s, tp_expr e, const tp_expr *with)
{
    uint32_t n = tp_sym_count(s->p);
    tp_expr *by = TP_NEWN(s->arena, tp_expr, n);
    for (uint32_t a = 0; a < s->k->naxes; a++)
        by[s->k->axes[a].sym] = with[a];
    return tp_expr_subst(s->p, e, by, n);
}

/* It is a step, for every element, and writes it. */
static bool writes(summary *s, tp_expr holds, const tp_expr *step)
{
    tp_exprs *p = s->p;
    for (uint32_t a = 0; a < s->k->naxes; a++) {
        tp_expr steps = at_steps(s, s->k->axes[a].steps, step),
                inside = tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, step[a], tp_const(p, 0)),
                                tp_op2(p, TP_E_LT, step[a], steps));
        if (tp_expr_reads(p, step[a]) && !holds_of_sizes(s, tp_readable(s->a, step[a]))) /* an entry that we read */
            return false;
        if (!holds_of_sizes(s, inside))
            return false;
    }
    return holds_of_sizes(s, at_steps(s, holds, step));
}

/* Every step that writes the element has the parallel coordinates of that one, and does not come after it. */
static bool none_writes_later(summary *s, tp_expr holds, const tp_expr *step)
{
    tp_exprs *p = s->p;
    bool same[TP_MAX_AXES] = {false};
    for (int sequential = 0; sequential < 2; sequential++)
        for (uint32_t a = 0; a < s->k->naxes; a++) {
            if (s->k->axes[a].parallel == (sequential != 0))
                continue;
            tp_expr other[TP_MAX_AXES];
            for (uint32_t b = 0; b < s->k->naxes; b++)
                other[b] = tp_sym(p, s->k->axes[b].sym);
            for (uint32_t b = 0; b < s->k->naxes; b++)
                other[b] = same[b] ? step[b]
                                   : summary_index(s, "p", tp_expr_normal(p, at_steps(s, s->k->axes[b].steps, other)));
            tp_expr writes_too = condition_normal(s, at_steps(s, holds, other), false);
            if (!follows_from(s, writes_too, tp_op2(p, TP_E_LE, other[a], step[a])) ||
                (!sequential && !follows_from(s, writes_too, tp_op2(p, TP_E_GE, other[a], step[a]))))
                return false;
            same[a] = true;
        }
    return true;
}

bool written_by_pieces(evaluation *v, uint32_t operand, const tp_expr *own, writer *w, kept_or_set *written)
{
    summary *s = v->s;
    if (s->k->naxes == 0 || !s->k->operands[operand].whole)
        return false;
    *written = written_in_step(v, operand, own);
    if (!written->value.id)
        return false;
    uint32_t tried = 0;
    for (const stored *c = v->final[operand]; c && tried < MOST_STORES; c = c->older, tried++)
        for (uint32_t t = 0; t <= s->k->ntables && c->where; t++)
            for (int at_last = 1; at_last >= 0; at_last--) {
                const tp_table *by = t ? &s->k->tables[t - 1] : NULL;
                tp_expr step[TP_MAX_AXES] = {{0}};
                if (by && by->rank != 1)
                    continue;
                if (!guess_step(v, operand, c, own, by, at_last, step) || !writes(s, written->holds, step) ||
                    !none_writes_later(s, written->holds, step))
                    continue;
                memcpy(w->step, step, sizeof step);
                for (w->run = s->k->naxes; w->run > 0; w->run--) {
                    tp_expr last = tp_op2(s->p, TP_E_SUB, s->k->axes[w->run - 1].steps, tp_const(s->p, 1));
                    if (!tp_same(tp_expr_normal(s->p, at_steps(s, last, step)), step[w->run - 1]))
                        break;
                }
                return true;
            }
    return false;
}

/* ---- what is left as it was ---- */

term written_or_as_input(grid *g, uint32_t operand, const tp_expr *at)
{
    static const premises nothing = {.n = 0};
    summary *s = g->v->s;
    const tp_operand *o = &s->k->operands[operand];
    uint32_t axes = s->k->naxes, sym[TP_MAX_AXES];
    tp_expr counter[TP_MAX_AXES], extent[TP_MAX_AXES];
    kept_or_set c = written_in_step(g->v, operand, at);
    if (!c.value.id)
        summary_stop(s, tp_printf(s->arena, "copies change `%.*s` in place, by what they find there", TP_FMT(o->name)));
    for (uint32_t a = 0; a < axes; a++) {
        sym[a] = s->k->axes[a].sym;
        extent[a] = s->k->axes[a].steps;
        for (uint32_t b = 0; b < a; b++)
            if (tp_expr_mentions(s->p, extent[a], sym[b]))
                summary_stop(s, TP_S("how many turns copy to an array in place depends on the step"));
        if (!summary_proves_of_sizes(s, tp_op2(s->p, TP_E_GE, extent[a], tp_const(s->p, 1))))
            summary_stop(s, tp_printf(s->arena, "axis `%.*s` may have no steps: `%.*s` then keeps its old contents",
                                      TP_FMT(s->k->axes[a].name), TP_FMT(o->name)));
    }
    if (axes && !at_most_one_point(s, &nothing, c.holds, sym, extent, axes))
        summary_stop(s,
                     tp_printf(s->arena, "several steps may write one element of `%.*s`, which copies change in place",
                               TP_FMT(o->name)));
    term old = term_element(s, T_READ, (uint32_t)o->alias, o->rank, at),
         each = of_two(g, TP_P_SUB, with_folds(g, c.value), old);
    for (uint32_t a = 0; a < axes; a++)
        counter[a] = summary_index(s, tp_cstr(s->arena, s->k->axes[a].name), extent[a]);
    replacement with = no_symbols(g);
    for (uint32_t a = 0; a < axes; a++)
        replace_symbol(g, &with, axis_of(g, a), counter[a]);
    each = grid_substitute(g, term_select(s, c.holds, each, term_real(s, 0)), &with);
    for (uint32_t a = axes; a-- > 0;)
        each = term_fold(s, TP_P_SUM, (uint32_t)tp_expr_get(s->p, counter[a])->value, extent[a], each);
    return of_two(g, TP_P_ADD, old, each);
}
