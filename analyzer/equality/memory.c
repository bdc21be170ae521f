/* Arrays and steps: which step writes an element of an output, and whether an
 * input that shares its array with an output is read as it came (rule 8 of
 * docs/SPEC.md).
 *
 * That a step exists is proven from sizes and tables alone: the range of an
 * axis would take it for granted. */
#include "analyzer/equality/internal.h"

static tp_expr axis_sym(const summary *s, uint32_t a)
{
    return tp_sym(s->p, s->k->axes[a].sym);
}

tp_expr at_step_of(summary *s, tp_expr e, uint32_t axis, tp_expr step)
{
    return tp_expr_replace(s->p, e, s->k->axes[axis].sym, step);
}

/* The axis that alone moves the blocks of dimension d, by an entry of a table; naxes: it is not so. */
static uint32_t axis_of_key(const summary *s, const tp_operand *o, uint32_t d)
{
    uint32_t axis = s->k->naxes;
    if (o->whole || o->dims[d].kind == TP_DIM_ELEMENT || !tp_expr_reads(s->p, o->dims[d].index))
        return axis;
    for (uint32_t a = 0; a < s->k->naxes; a++)
        if (tp_expr_mentions(s->p, o->dims[d].index, s->k->axes[a].sym)) {
            if (axis < s->k->naxes)
                return s->k->naxes;
            axis = a;
        }
    return axis;
}

static tp_expr last_step(const summary *s, uint32_t a)
{
    return tp_op2(s->p, TP_E_SUB, s->k->axes[a].steps, tp_const(s->p, 1));
}

/* Where the window begins in the steps that come last on its block: those at the last step of the axes that w fixes. */
static tp_expr start_in_the_end(summary *s, const tp_operand *o, uint32_t d, const writer *w)
{
    tp_expr start = tp_window_start(s->a, o, d);
    for (uint32_t a = 0; a < s->k->naxes; a++)
        if (w->fixed[a])
            start = at_step_of(s, start, a, last_step(s, a));
    return start;
}

/* Does an axis that w fixes move dimension d, too, and faster than this one? */
static bool phase_is_faster(summary *s, const tp_operand *o, uint32_t d, uint32_t axis, const writer *w)
{
    for (uint32_t a = axis + 1; a < s->k->naxes; a++)
        if (w->fixed[a] && tp_expr_mentions(s->p, tp_window_start(s->a, o, d), s->k->axes[a].sym))
            return true;
    return false;
}

/* In `j * phase`, the last phase alone tells the blocks: an axis is at its last step where faster axes tell them then.
 * No later step is on that block. The first axis in which it differed would be no fixed one, which is at its last step;
 * so it would be one that tells a dimension, but those that are fixed there are slower, and at their last step, too. */
static void fix_phases(summary *s, const tp_operand *o, writer *w)
{
    for (uint32_t d = 0; d < o->rank; d++)
        for (uint32_t a = 0, naxes = s->k->naxes; a + 1 < naxes; a++) {
            tp_expr start = start_in_the_end(s, o, d, w);
            bool faster = false, parallel = false;
            for (uint32_t b = a; b < naxes; b++) {
                faster |= b > a && tp_expr_mentions(s->p, start, s->k->axes[b].sym);
                parallel |= s->k->axes[b].parallel;
            }
            if (faster && !parallel && tp_expr_mentions(s->p, start, s->k->axes[a].sym))
                w->fixed[a] = w->fixes = true;
        }
}

/* The axis that tells the blocks of dimension d, each of its steps one block; naxes: none does. */
static uint32_t axis_of_dim(summary *s, const tp_operand *o, uint32_t d, const writer *w)
{
    tp_exprs *p = s->p;
    tp_expr start = start_in_the_end(s, o, d, w);
    uint32_t axis = s->k->naxes;
    for (uint32_t a = 0; a < s->k->naxes; a++)
        if (tp_expr_mentions(p, start, s->k->axes[a].sym)) {
            tp_expr blocks = tp_op2(p, TP_E_MUL, o->dims[d].block, axis_sym(s, a));
            if (axis < s->k->naxes || w->step[a].id || phase_is_faster(s, o, d, a, w) ||
                !tp_same(tp_expr_normal(p, start), tp_expr_normal(p, blocks)))
                summary_stop(s, tp_printf(s->arena, "dimension %u of `%.*s` is not one block per step of an axis",
                                          tp_global_dim(o, d), TP_FMT(o->name)));
            axis = a;
        }
    return axis;
}

writer writer_of(summary *s, const tp_operand *o, const tp_expr *at)
{
    tp_exprs *p = s->p;
    writer w = {.inside = tp_const(p, 1)};
    uint32_t rank = 0, keyed = s->k->naxes;
    if (s->k->naxes > TP_MAX_AXES)
        summary_stop(s, TP_S("the grid has too many axes"));
    fix_phases(s, o, &w);
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_expr start = start_in_the_end(s, o, d, &w), extent = o->whole ? o->shape[d] : o->dims[d].block, from = at[d];
        uint32_t by_table = w.key.id ? s->k->naxes : axis_of_key(s, o, d),
                 axis = by_table < s->k->naxes ? s->k->naxes : axis_of_dim(s, o, d, &w);
        if (by_table < s->k->naxes) { /* of the steps with its key, which is not known to be in the array */
            keyed = by_table;
            w.key = o->dims[d].index;
            w.block = tp_op2(p, TP_E_FLOORDIV, at[d], extent);
            start = tp_op2(p, TP_E_MUL, extent, w.block);
            from = tp_const(p, 0);
        } else if (axis < s->k->naxes) { /* the step is the number of the block */
            w.step[axis] = tp_op2(p, TP_E_FLOORDIV, at[d], extent);
            start = tp_op2(p, TP_E_MUL, extent, w.step[axis]);
            from = w.step[axis];
            extent = s->k->axes[axis].steps;
        } else {
            from = tp_op2(p, TP_E_SUB, at[d], start);
        }
        if (!o->whole || axis < s->k->naxes)
            w.inside =
                tp_op2(p, TP_E_AND, w.inside,
                       tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, from, tp_const(p, 0)), tp_op2(p, TP_E_LT, from, extent)));
        if (o->whole || o->dims[d].kind != TP_DIM_SQUEEZED)
            w.lane[rank++] = tp_op2(p, TP_E_SUB, at[d], start);
    }
    for (uint32_t a = 0; a < s->k->naxes; a++)
        if (w.fixed[a])
            w.step[a] = last_step(s, a);
    for (w.run = s->k->naxes; w.run > 0 && !w.step[w.run - 1].id;)
        w.run--;
    if (w.key.id && (w.run != keyed || w.fixes))
        summary_stop(s, tp_printf(s->arena, "the blocks of `%.*s` are selected by a table and by a faster axis",
                                  TP_FMT(o->name)));
    for (uint32_t a = 0; a < s->k->naxes; a++) {
        if (a < w.run && !w.step[a].id)
            summary_stop(s, tp_printf(s->arena, "the grid returns to the blocks of `%.*s`", TP_FMT(o->name)));
        if (a >= w.run) /* the last step of the run counts */
            w.step[a] = last_step(s, a);
    }
    if (w.key.id) /* some step: the last with that key */
        w.step[keyed] = summary_index(s, "last", s->k->axes[keyed].steps);
    return w;
}

/* Some step has this key: the one that a table names, or that of the same number. */
static bool key_exists(summary *s, const writer *w)
{
    static const premises nothing = {.n = 0};
    tp_exprs *p = s->p;
    for (uint32_t t = 0; t <= s->k->ntables; t++) {
        const tp_table *table = t < s->k->ntables ? &s->k->tables[t] : NULL;
        tp_expr step = w->block, there = tp_op2(p, TP_E_GE, w->block, tp_const(p, 0));
        if (table && table->rank != 1)
            continue;
        if (table) {
            there = tp_op2(p, TP_E_AND, there,
                           tp_op2(p, TP_E_LT, w->block, table->extent.id ? table->extent : table->shape[0]));
            step = tp_read(p, table->sym, 1, &w->block);
        }
        there = tp_op2(p, TP_E_AND, there, tp_op2(p, TP_E_GE, step, tp_const(p, 0)));
        there = tp_op2(p, TP_E_AND, there, tp_op2(p, TP_E_LT, step, s->k->axes[w->run].steps));
        if (summary_follows(s, &nothing, there) &&
            summary_proves_of_sizes(s, there) && /* no search where it is no step */
            summary_proves_of_sizes(s, tp_op2(p, TP_E_EQ, at_step_of(s, w->key, w->run, step), w->block)))
            return true;
    }
    return false;
}

/* Has every step of the last axis a key of its own? */
static bool keys_differ(summary *s, const writer *w)
{
    static const premises nothing = {.n = 0};
    tp_expr any = summary_index(s, "key", tp_const(s->p, (int64_t)1 << 60));
    return w->run + 1 == s->k->naxes && at_most_one_point(s, &nothing, tp_op2(s->p, TP_E_EQ, w->key, any),
                                                          &s->k->axes[w->run].sym, &s->k->axes[w->run].steps, 1);
}

/* A step of each key is there, and no other key comes between two of one: keys ascend. */
static void key_is_sorted(summary *s, const tp_operand *o, const writer *w)
{
    tp_exprs *p = s->p;
    tp_expr one = tp_const(p, 1), step = summary_index(s, "s", tp_op2(p, TP_E_SUB, s->k->axes[w->run].steps, one)),
            next = at_step_of(s, w->key, w->run, tp_op2(p, TP_E_ADD, step, one));
    if (!summary_proves_of_sizes(s, tp_op2(p, TP_E_LE, at_step_of(s, w->key, w->run, step), next)))
        summary_stop(s, tp_printf(s->arena, "the table that selects the blocks of `%.*s` is not shown to be sorted",
                                  TP_FMT(o->name)));
    if (!key_exists(s, w))
        summary_stop(s, tp_printf(s->arena, "no table names a step for each block of `%.*s`", TP_FMT(o->name)));
}

void writer_exists(summary *s, const tp_operand *o, writer *w)
{
    for (uint32_t a = 0; a < s->k->naxes; a++)
        if ((a >= w->run || w->fixed[a]) &&
            !summary_proves_of_sizes(s, tp_op2(s->p, TP_E_GE, s->k->axes[a].steps, tp_const(s->p, 1))))
            summary_stop(s, tp_printf(s->arena, "axis `%.*s` may have no steps: `%.*s` then keeps its old contents",
                                      TP_FMT(s->k->axes[a].name), TP_FMT(o->name)));
    if (!summary_proves_of_sizes(s, w->inside))
        summary_stop(s, tp_printf(s->arena, "some element of `%.*s` may be written by no step", TP_FMT(o->name)));
    for (uint32_t a = w->run; a < s->k->naxes; a++)
        if (s->k->axes[a].parallel &&
            !summary_proves_of_sizes(s, tp_op2(s->p, TP_E_LE, s->k->axes[a].steps, tp_const(s->p, 1))))
            summary_stop(s, tp_printf(s->arena, "steps of the parallel axis `%.*s` share blocks of `%.*s`",
                                      TP_FMT(s->k->axes[a].name), TP_FMT(o->name)));
    w->keeps = w->key.id && o->alias >= 0 && !key_exists(s, w) && keys_differ(s, w);
    if (w->key.id && !w->keeps)
        key_is_sorted(s, o, w);
}

/* ---- elements that no step may write ---- */

typedef struct old_element {
    uint32_t operand;
    const tp_expr *at;
    const premises *written;
    term is;
} old_element;

/* The element itself, where the step that writes it reads it by another index. */
static term put_old(summary *s, const term_node *n, void *ctx)
{
    const old_element *x = ctx;
    bool same = n->kind == T_READ && n->operand == x->operand;
    for (uint32_t d = 0; d < n->rank && same; d++)
        same = summary_proves(s, x->written, tp_op2(s->p, TP_E_EQ, n->at[d], x->at[d]));
    return same ? x->is : (term){0};
}

static term less_old(summary *s, term t, term old)
{
    const term_node n = *term_get(s, t);
    return t.id == old.id       ? term_real(s, 0)
           : n.kind == T_SELECT ? term_select(s, n.e, less_old(s, n.arg[0], old), less_old(s, n.arg[1], old))
                                : term_apply(s, TP_P_SUB, t, old, (term){0}, 0);
}

/* The law: what is y(b) where step b has the key, for at most one b, and else x
 * is x + sum over b of [b has the key] (y(b) - x). */
term written_or_kept(summary *s, const tp_operand *o, const writer *w, const tp_expr *at, term written)
{
    tp_exprs *p = s->p;
    tp_expr steps = s->k->axes[w->run].steps, counter = summary_index(s, "b", steps);
    uint32_t n = tp_sym_count(p);
    tp_expr *with = TP_NEWN(s->arena, tp_expr, n);
    with[tp_expr_get(p, w->step[w->run])->value] = counter;
    premises here = {.at = {tp_op2(p, TP_E_EQ, at_step_of(s, w->key, w->run, counter), w->block)}, .n = 1};
    term old = term_element(s, T_READ, (uint32_t)o->alias, o->rank, at);
    old_element x = {(uint32_t)o->alias, at, &here, old};
    term each = less_old(s, term_replace(s, term_subst(s, written, with, n), put_old, &x), old),
         sum = term_fold(s, TP_P_SUM, (uint32_t)tp_expr_get(p, counter)->value, steps,
                         term_select(s, here.at[0], each, term_real(s, 0)));
    return term_apply(s, TP_P_ADD, old, sum, (term){0}, 0);
}

/* ---- old data ---- */

/* Axis a of the step at which the window of x was copied in: it stays for the
 * steps of the last axes, where the map does not speak of them. */
static tp_expr fetch(summary *s, const tp_operand *x, uint32_t a)
{
    for (uint32_t b = s->k->naxes; b-- > a;) {
        bool separates = s->k->axes[b].parallel;
        for (uint32_t d = 0; d < x->rank && !separates; d++)
            separates = tp_expr_mentions(s->p, tp_window_start(s->a, x, d), s->k->axes[b].sym);
        if (separates)
            return axis_sym(s, a);
    }
    return tp_const(s->p, 0);
}

/* Element `at`, of a window that this step sees, was copied in no later than
 * the run of o that writes it ends: not after it, and of the same parallel
 * coordinates. */
static tp_expr is_old(summary *s, const tp_operand *x, const tp_operand *o, const tp_expr *at)
{
    tp_exprs *p = s->p;
    writer w = writer_of(s, o, at);
    if (w.fixes)
        summary_stop(s, tp_printf(s->arena, "`%.*s` shares its array with `%.*s`, whose blocks come in phases",
                                  TP_FMT(x->name), TP_FMT(o->name)));
    if (w.key.id && keys_differ(s, &w)) { /* this step writes it, and no other one does */
        tp_expr here = tp_op2(p, TP_E_EQ, w.key, w.block);
        for (uint32_t a = 0; a < w.run; a++)
            here = tp_op2(p, TP_E_AND, here, tp_op2(p, TP_E_EQ, axis_sym(s, a), w.step[a]));
        return here;
    }
    if (w.key.id)
        summary_stop(s, tp_printf(s->arena, "`%.*s` shares its array with `%.*s`, whose blocks are selected by a table",
                                  TP_FMT(x->name), TP_FMT(o->name)));
    tp_expr in_time = tp_const(p, 1), together = tp_const(p, 1);
    for (uint32_t a = w.run; a-- > 0;) {
        tp_expr now = fetch(s, x, a), same = tp_op2(p, TP_E_EQ, now, w.step[a]);
        in_time = a + 1 == w.run
                      ? tp_op2(p, TP_E_LE, now, w.step[a])
                      : tp_op2(p, TP_E_OR, tp_op2(p, TP_E_LT, now, w.step[a]), tp_op2(p, TP_E_AND, same, in_time));
        if (s->k->axes[a].parallel)
            together = tp_op2(p, TP_E_AND, together, same);
    }
    return tp_op2(p, TP_E_AND, together, in_time);
}

/* The first minimum or maximum in e; none: no id. */
static tp_expr some_extreme(const summary *s, tp_expr e)
{
    tp_expr found = {0};
    if (!e.id)
        return found;
    const tp_expr_node n = *tp_expr_get(s->p, e);
    if (n.op == TP_E_CONST || n.op == TP_E_SYM)
        return found;
    if (n.op == TP_E_MIN || n.op == TP_E_MAX)
        return e;
    const tp_expr part[] = {n.a, n.b, n.c};
    for (int i = 0; i < 3 && !found.id; i++)
        found = some_extreme(s, part[i]);
    return found;
}

/* As it is, and by the cases of its minima and maxima: maps are clamped. */
static bool proven_by_cases(summary *s, const premises *p, tp_expr goal, int cases)
{
    tp_expr extreme = some_extreme(s, goal);
    if (summary_proves(s, p, goal))
        return true;
    if (!extreme.id || cases == 0)
        return false;
    const tp_expr_node n = *tp_expr_get(s->p, extreme);
    tp_expr less = condition_normal(s, tp_op2(s->p, TP_E_LE, n.a, n.b), false);
    premises yes = premises_with(s, p, less), no = premises_with(s, p, condition_normal(s, less, true));
    return proven_by_cases(s, &yes, index_under(s, &yes, goal), cases - 1) &&
           proven_by_cases(s, &no, index_under(s, &no, goal), cases - 1);
}

static bool proven_old(summary *s, const tp_operand *x, const tp_operand *o, const tp_expr *at)
{
    enum { CASES = 4 };
    premises inside = {.n = 0}; /* what lies outside of the array is undefined: TP501 */
    for (uint32_t d = 0; d < x->rank; d++) {
        inside.at[inside.n++] = tp_op2(s->p, TP_E_GE, at[d], tp_const(s->p, 0));
        inside.at[inside.n++] = tp_op2(s->p, TP_E_LT, at[d], x->shape[d]);
    }
    return proven_by_cases(s, &inside, is_old(s, x, o, at), CASES);
}

void must_be_old(summary *s, uint32_t operand, const tp_expr *at)
{
    const tp_kernel *k = s->k;
    const tp_operand *x = &k->operands[operand];
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++) {
        const tp_operand *o = &k->operands[i];
        if (o->alias == (int)operand && (tp_begins_as_input(o) || !proven_old(s, x, o, at)))
            summary_stop(s, tp_printf(s->arena, "`%.*s` may be read where `%.*s` has written over it", TP_FMT(x->name),
                                      TP_FMT(o->name)));
    }
}
