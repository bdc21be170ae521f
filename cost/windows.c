/* How often windows move, and what moves with them. A closed form where each
 * index depends on one axis in a way that never goes back; else sums over the
 * jumps from one step to the next. */
#include "cost/internal.h"

static tp_expr op(const tp_cost *c, tp_expr_op o, tp_expr a, tp_expr b)
{
    return tp_cost_op(c, o, a, b);
}

static tp_expr num(const tp_cost *c, int64_t n)
{
    return tp_cost_num(c, n);
}

/* ---- elements ---- */

/* Elements of a window inside its array, in one dimension, at an index. */
static tp_expr inner(const tp_cost *c, const tp_operand *o, uint32_t d, tp_expr index)
{
    const tp_dim *dim = &o->dims[d];
    int64_t block;
    if (o->whole)
        return o->shape[d];
    if (dim->kind == TP_DIM_ELEMENT) {
        tp_expr start = op(c, TP_E_SUB, index, dim->pad_lo), end = op(c, TP_E_ADD, start, dim->block);
        return op(c, TP_E_SUB, op(c, TP_E_MIN, end, o->shape[d]), op(c, TP_E_MAX, start, num(c, 0)));
    }
    if (tp_expr_is_const(c->p, dim->block, &block) && block == 1)
        return num(c, 1);
    return op(c, TP_E_MIN, dim->block, op(c, TP_E_SUB, o->shape[d], op(c, TP_E_MUL, index, dim->block)));
}

/* ---- jumps ---- */

static tp_range axis_range(const tp_cost *c, uint32_t a, int64_t from)
{
    const tp_axis *x = &c->k->axes[a];
    return (tp_range){x->sym, num(c, from), x->steps, 1, from == 0};
}

tp_sum tp_jump_steps(tp_cost *c, uint32_t jump)
{
    tp_sum s = {0};
    for (uint32_t a = 0; jump && a < jump; a++)
        tp_push(c->arena, s.over, axis_range(c, a, a + 1 == jump));
    return s;
}

/* The index in the step after the jump, or before it. */
static tp_expr index_at(tp_cost *c, tp_expr index, uint32_t jump, bool before)
{
    tp_expr *with = TP_NEWN(c->arena, tp_expr, c->nsyms);
    for (uint32_t a = jump; a < c->k->naxes; a++)
        with[c->k->axes[a].sym] = before ? op(c, TP_E_SUB, c->k->axes[a].steps, num(c, 1)) : num(c, 0);
    if (before && jump)
        with[c->k->axes[jump - 1].sym] = op(c, TP_E_SUB, tp_sym(c->p, c->k->axes[jump - 1].sym), num(c, 1));
    return tp_expr_subst(c->p, index, with, c->nsyms);
}

/* 1: the indices are the same; 0: never; else what says so. */
static tp_expr same_index(tp_cost *c, tp_expr a, tp_expr b)
{
    int64_t d;
    if (tp_same(a, b))
        return num(c, 1);
    if (tp_expr_is_const(c->p, tp_expr_normal(c->p, op(c, TP_E_SUB, a, b)), &d))
        return num(c, d == 0);
    return op(c, TP_E_EQ, a, b);
}

static tp_move move_of(tp_cost *c, const tp_operand *o, uint32_t jump)
{
    tp_move m = {.subtract = jump > 0};
    bool all_same = jump > 0;
    m.all = tp_jump_steps(c, jump);
    m.same = tp_jump_steps(c, jump);
    m.all_elements = tp_jump_steps(c, jump);
    m.same_elements = tp_jump_steps(c, jump);
    for (uint32_t d = 0; d < o->rank; d++) {
        int64_t known;
        tp_expr now = index_at(c, o->dims[d].index, jump, false), e = inner(c, o, d, now);
        tp_push(c->arena, m.all_elements.factors, e);
        tp_expr same = jump ? same_index(c, now, index_at(c, o->dims[d].index, jump, true)) : num(c, 0);
        bool decided = tp_expr_is_const(c->p, same, &known);
        m.subtract &= !decided || known;
        all_same &= decided && known;
        if (!decided) {
            tp_push(c->arena, m.same.factors, same);
            tp_push(c->arena, m.same_elements.factors, same);
        }
    }
    for (uint32_t d = 0; d < o->rank; d++)
        tp_push(c->arena, m.same_elements.factors, m.all_elements.factors.at[d]);
    m.never = all_same;
    return m;
}

/* ---- closed forms ---- */

/* An axis under the index map of an operand. */
typedef struct track {
    bool mentioned;
    tp_expr varies;       /* does the index take two values? */
    tp_expr runs, steps;  /* the distinct values, which come in order; the steps */
    tp_expr run_elements; /* sum over runs, over steps, of the elements in the dimension; id 0: no form */
    tp_expr step_elements;
} track;

static tp_form because(tp_cost *c, const tp_operand *o, uint32_t d, const char *what)
{
    return (tp_form){
        .why = tp_printf(c->arena, "its index map %s: `%.*s`", what, TP_FMT(tp_expr_text(c->p, o->dims[d].index)))};
}

static bool is_one(const tp_cost *c, tp_expr e)
{
    int64_t n;
    return tp_expr_is_const(c->p, e, &n) && n == 1;
}

/* Elements of windows 0 … n - 1 side by side. */
static tp_expr first_windows(const tp_cost *c, const tp_operand *o, uint32_t d, tp_expr n)
{
    const tp_expr_node *all = tp_expr_get(c->p, n);
    if (is_one(c, o->dims[d].block))
        return n;
    if (all->op == TP_E_CDIV && tp_same(all->a, o->shape[d]) && tp_same(all->b, o->dims[d].block))
        return o->shape[d]; /* blocks have an element */
    return op(c, TP_E_MIN, op(c, TP_E_MUL, n, o->dims[d].block), o->shape[d]);
}

/* The index is coef * a + rest, coef a number that is not 0. */
static bool affine(tp_cost *c, tp_expr index, uint32_t sym, int64_t *coef, tp_expr *rest)
{
    tp_expr zero[1] = {num(c, 0)};
    tp_expr *with = TP_NEWN(c->arena, tp_expr, c->nsyms);
    with[sym] = zero[0];
    *rest = tp_expr_subst(c->p, index, with, c->nsyms);
    with[sym] = op(c, TP_E_ADD, tp_sym(c->p, sym), num(c, 1));
    tp_expr next = tp_expr_subst(c->p, index, with, c->nsyms);
    return tp_expr_is_const(c->p, tp_expr_normal(c->p, op(c, TP_E_SUB, next, index)), coef) && *coef != 0;
}

static void follow_affine(tp_cost *c, const tp_operand *o, uint32_t d, int64_t coef, tp_expr rest, track *t)
{
    int64_t from;
    bool blocked = o->dims[d].kind != TP_DIM_ELEMENT;
    t->runs = t->steps;
    t->varies = op(c, TP_E_GT, t->steps, num(c, 1));
    if (blocked && is_one(c, o->dims[d].block)) {
        t->run_elements = t->steps;
    } else if (blocked && coef == 1) {
        t->run_elements = first_windows(
            c, o, d, tp_expr_is_const(c->p, rest, &from) && from == 0 ? t->steps : op(c, TP_E_ADD, t->steps, rest));
        if (!tp_expr_is_const(c->p, rest, &from) || from != 0)
            t->run_elements = op(c, TP_E_SUB, t->run_elements, first_windows(c, o, d, rest));
    }
    t->step_elements = t->run_elements;
}

/* Steps a of an axis share window a // g. */
static void follow_quotient(tp_cost *c, const tp_operand *o, uint32_t d, tp_expr g, track *t)
{
    t->runs = op(c, TP_E_CDIV, t->steps, g);
    t->varies = op(c, TP_E_GT, t->steps, g);
    t->run_elements = first_windows(c, o, d, t->runs);
    if (is_one(c, o->dims[d].block)) {
        t->step_elements = t->steps;
        return;
    }
    tp_expr full = op(c, TP_E_FLOORDIV, t->steps, g), rest = op(c, TP_E_MOD, t->steps, g);
    t->step_elements =
        op(c, TP_E_ADD, op(c, TP_E_MUL, g, first_windows(c, o, d, full)), op(c, TP_E_MUL, rest, inner(c, o, d, full)));
}

/* Never negative, as the text says. */
static bool is_count(const tp_cost *c, tp_expr e)
{
    const tp_expr_node *n = tp_expr_get(c->p, e);
    switch (n->op) {
    case TP_E_CONST: return n->value >= 0;
    case TP_E_SYM:
        for (uint32_t i = 0; i < c->k->nsizes; i++)
            if (c->k->sizes[i].expr.id == e.id)
                return c->k->sizes[i].min >= 0;
        return false;
    case TP_E_ADD:
    case TP_E_MUL:
    case TP_E_FLOORDIV:
    case TP_E_CDIV:
    case TP_E_MIN: return is_count(c, n->a) && is_count(c, n->b);
    case TP_E_MAX: return is_count(c, n->a) || is_count(c, n->b);
    case TP_E_NEG:
    case TP_E_POW2:
    case TP_E_ITE:
    case TP_E_READ:
    case TP_E_TOO_LARGE:
    case TP_E_SUB:
    case TP_E_MOD:
    case TP_E_ALIGN_UP:
    case TP_E_NOT:
    case TP_E_AND:
    case TP_E_OR:
    case TP_E_IMPLIES:
    case TP_E_BITS:
    case TP_E_COMPARISONS: return false;
    }
    return false;
}

/* The only dimension of o whose index mentions axis a is d. */
static tp_form follow(tp_cost *c, const tp_operand *o, uint32_t d, uint32_t a, track *t)
{
    uint32_t sym = c->k->axes[a].sym;
    tp_expr index = o->dims[d].index, rest;
    const tp_expr_node *n = tp_expr_get(c->p, index);
    tp_expr left = n->a, right = n->b;
    bool quotient = n->op == TP_E_FLOORDIV && tp_same(left, tp_sym(c->p, sym)) && !tp_expr_mentions(c->p, right, sym) &&
                    o->dims[d].kind != TP_DIM_ELEMENT && is_count(c, right);
    int64_t coef;
    t->mentioned = true;
    if (tp_expr_reads(c->p, index))
        return because(c, o, d, "reads a table");
    if (quotient)
        follow_quotient(c, o, d, right, t);
    else if (affine(c, index, sym, &coef, &rest))
        follow_affine(c, o, d, coef, rest, t);
    else
        return because(c, o, d, "is neither linear nor the quotient of an axis");
    return (tp_form){.e = t->runs};
}

/* The axis that the index of a dimension depends on, or naxes: none; false: on several. */
static bool axis_of(const tp_cost *c, tp_expr index, uint32_t *axis)
{
    *axis = c->k->naxes;
    for (uint32_t a = 0; a < c->k->naxes; a++) {
        if (!tp_expr_mentions(c->p, index, c->k->axes[a].sym))
            continue;
        if (*axis != c->k->naxes)
            return false;
        *axis = a;
    }
    return true;
}

static tp_expr product(const tp_cost *c, tp_expr a, tp_expr b)
{
    return is_one(c, a) ? b : is_one(c, b) ? a : op(c, TP_E_MUL, a, b);
}

/* Slow axes count in full where a faster one moves the window, else once for each run. */
static tp_expr over_axes(const tp_cost *c, const track *tracks, tp_expr n, bool elements)
{
    tp_expr moves = {0}; /* does a faster axis? */
    tp_expr *of = TP_NEWN(c->arena, tp_expr, c->k->naxes);
    for (uint32_t a = c->k->naxes; a-- > 0;) {
        const track *t = &tracks[a];
        tp_expr run = elements ? t->run_elements : t->runs, step = elements ? t->step_elements : t->steps;
        int64_t known;
        of[a] = run;
        if (moves.id && !tp_same(run, step))
            of[a] = tp_expr_is_const(c->p, moves, &known) ? known ? step : run : tp_ite(c->p, moves, step, run);
        if (t->mentioned)
            moves = moves.id ? op(c, TP_E_OR, moves, t->varies) : t->varies;
    }
    for (uint32_t a = 0; a < c->k->naxes; a++)
        n = product(c, n, of[a]);
    return n;
}

static void forms_of(tp_cost *c, const tp_operand *o, tp_window_cost *w)
{
    track *tracks = TP_NEWN(c->arena, track, c->k->naxes);
    tp_expr one = num(c, 1), fixed = one;
    for (uint32_t a = 0; a < c->k->naxes; a++)
        tracks[a] = (track){
            .runs = one, .run_elements = one, .steps = c->k->axes[a].steps, .step_elements = c->k->axes[a].steps};
    for (uint32_t d = 0; d < o->rank; d++) {
        uint32_t a;
        if (!axis_of(c, o->dims[d].index, &a)) {
            w->times = w->elements = because(c, o, d, "depends on several axes");
            return;
        }
        if (a == c->k->naxes) {
            fixed = product(c, fixed, inner(c, o, d, o->dims[d].index));
            continue;
        }
        if (tracks[a].mentioned) {
            w->times = w->elements = because(c, o, d, "uses an axis of another dimension");
            return;
        }
        tracks[a].run_elements = tracks[a].step_elements = (tp_expr){0};
        tp_form f = follow(c, o, d, a, &tracks[a]);
        if (!f.e.id) {
            w->times = w->elements = f;
            return;
        }
        if (!tracks[a].run_elements.id)
            w->elements = because(c, o, d, "leaves gaps between blocks");
    }
    w->times.e = over_axes(c, tracks, one, false);
    if (!w->elements.why.n)
        w->elements.e = over_axes(c, tracks, fixed, true);
}

void tp_cost_windows(tp_cost *c)
{
    uint32_t n = c->k->ninputs + c->k->noutputs;
    c->windows = TP_NEWN(c->arena, tp_window_cost, n);
    c->arrays = TP_NEWN(c->arena, tp_expr, n);
    for (uint32_t i = 0; i < n; i++) {
        const tp_operand *o = &c->k->operands[i];
        tp_window_cost *w = &c->windows[i];
        c->arrays[i] = num(c, 1);
        for (uint32_t d = 0; d < o->rank; d++)
            c->arrays[i] = product(c, c->arrays[i], o->shape[d]);
        w->far = tp_is_far(o);
        w->moves = TP_NEWN(c->arena, tp_move, c->k->naxes + 1);
        if (w->far)
            continue;
        for (uint32_t j = 0; j <= c->k->naxes; j++)
            w->moves[j] = move_of(c, o, j);
        if (o->revisit_any)
            w->why = TP_S("how often its windows are restored is not counted");
        forms_of(c, o, w);
    }
}
