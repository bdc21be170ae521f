/* Steps side by side, taken as one: where the body computes each element from those beside it alone, windows that
 * follow each other along the innermost axis are one longer window; small ones that lie anywhere are gathered into one.
 * The elements are those of single steps, which are taken where a window does not lie inside its array. */
#include "base/checked.h"
#include "kernels/machine/internal.h"

enum {
    MOST_ELEMENTS = 1 << 20, /* of a value of all steps together, */
    FEW_ELEMENTS = 1 << 15, /* ... where some value is kept until it is looked at again, which then stays in the caches,
                             * or where rows become more, but no longer ones: only the cost of steps is saved, */
    GATHERED_ELEMENTS = 1 << 13 /* ... or where windows are gathered */
};

/* What moves along: in dimension `dim`, `step` elements from one step to the next; of one step it has `extent`. */
typedef struct track {
    int dim; /* -1: it is the same in all of these steps */
    int64_t step, extent;
    uint32_t flat;  /* dim -1: bits of dimensions along which all elements are equal */
    bool stretched; /* moves along only because others do */
    bool gathered;  /* a window that lies anywhere: those of the steps are copied side by side */
    const tp_inst *by;
} track;

struct tp_joined {
    uint32_t axis;
    int64_t end;          /* from this place on the axis on, some window does not lie inside */
    int64_t most;         /* steps taken as one */
    track *values, *refs; /* of refs: dimensions of the window as the body sees it, */
    int *dims;            /* ... and as its array has it, */
    int64_t *along;       /* ... where it moves so far */
};

/* ---- may they? ---- */

static bool mentions_other(const tp_machine *m, tp_expr e, uint32_t axis)
{
    bool any = false;
    for (uint32_t a = 0; a < m->k->naxes; a++)
        any |= a != axis && tp_expr_mentions(m->k->exprs, e, m->k->axes[a].sym);
    return any;
}

/* e at one more than a place of the axis, less e there; false: that may depend on the place. */
static bool slope_of(const tp_machine *m, tp_expr e, uint32_t axis, int64_t *slope)
{
    const tp_exprs *x = m->k->exprs;
    int64_t a, b, by;
    *slope = 0;
    if (!tp_expr_mentions(x, e, m->k->axes[axis].sym))
        return true;
    const tp_expr_node *n = tp_expr_get(x, e);
    if (n->op == TP_E_SYM) {
        *slope = 1;
        return true;
    }
    if (n->op != TP_E_ADD && n->op != TP_E_SUB && n->op != TP_E_MUL)
        return false;
    if (!slope_of(m, n->a, axis, &a) || !slope_of(m, n->b, axis, &b))
        return false;
    if (n->op == TP_E_MUL) {
        bool left = tp_expr_mentions(x, n->a, m->k->axes[axis].sym);
        return (a == 0 || b == 0) && tp_expr_eval(x, left ? n->b : n->a, m->env, &by) == TP_EVAL_OK &&
               tp_mul(left ? a : b, by, slope);
    }
    return n->op == TP_E_ADD ? tp_add(a, b, slope) : tp_sub(a, b, slope);
}

/* The dimension of the body's ref that is dimension d of the array. */
static int dim_of_ref(const tp_operand *o, uint32_t d)
{
    int at = 0;
    for (uint32_t x = 0; x < d; x++)
        at += o->dims[x].kind != TP_DIM_SQUEEZED;
    return at;
}

/* One element of dimension d after the other, and all of those behind it: dimension d + 1 of the ref, which d is not
 * one of, in one line. */
static bool is_line_of(const tp_ref *r, uint32_t d)
{
    const tp_operand *o = r->operand;
    bool line = d + 1 < o->rank && o->dims[d + 1].kind != TP_DIM_SQUEEZED;
    for (uint32_t x = 0; x < o->rank; x++)
        line &= x == d || r->block[x] == (x < d ? 1 : r->array->dims[x]);
    return line;
}

/* How the window of an input or output moves along the axis. */
static bool follow_window(tp_machine *m, tp_joined *j, uint32_t index)
{
    const tp_ref *r = &m->refs[index];
    const tp_operand *o = r->operand;
    uint32_t sym = m->k->axes[j->axis].sym;
    track *t = &j->refs[index];
    *t = (track){.dim = -1};
    for (uint32_t d = 0; d < o->rank; d++) {
        int64_t slope, start, pad = 0, room, step;
        if (!o->whole && !slope_of(m, o->dims[d].index, j->axis, &slope))
            return false;
        if (o->whole || !tp_expr_mentions(m->k->exprs, o->dims[d].index, sym))
            continue;
        bool element = o->dims[d].kind == TP_DIM_ELEMENT, squeezed = o->dims[d].kind == TP_DIM_SQUEEZED;
        if (t->dim >= 0 || (squeezed && !is_line_of(r, d)) || mentions_other(m, o->dims[d].index, j->axis) ||
            tp_expr_reads(m->k->exprs, o->dims[d].index))
            return false;
        m->env[sym] = 0;
        bool known = tp_expr_eval(m->k->exprs, o->dims[d].index, m->env, &start) == TP_EVAL_OK &&
                     (!element || tp_expr_eval(m->k->exprs, o->dims[d].pad_lo, m->env, &pad) == TP_EVAL_OK) &&
                     (element || (tp_mul(start, r->block[d], &start) && tp_mul(slope, r->block[d], &slope))) &&
                     tp_sub(start, pad, &start) && tp_sub(r->array->dims[d] - r->block[d], start, &room);
        int64_t line = squeezed ? r->block[d + 1] : 1; /* of which the ref has so many elements each */
        m->env[sym] = -1;
        if (!known || slope <= 0 || start < 0 || room < 0 || !tp_mul(slope, line, &step))
            return false;
        *t = (track){.dim = dim_of_ref(o, d), .step = step, .extent = r->block[d] * line};
        j->dims[index] = (int)d;
        j->along[index] = slope;
        j->end = room / slope + 1 < j->end ? room / slope + 1 : j->end;
    }
    return true;
}

/* Windows of an input, wherever they lie, are rows of the first dimension of the body's ref. */
static bool gather_windows(track *t, const tp_cells *c)
{
    if (c->rank)
        *t = (track){.dim = 0, .step = c->dims[0], .extent = c->dims[0], .gathered = true};
    return c->rank != 0;
}

static bool follow_windows(tp_machine *m, tp_joined *j)
{
    bool rows = true; /* outputs move along their first dimension */
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        j->refs[i].dim = -1;
    for (uint32_t i = m->k->ninputs + m->k->noutputs; i-- > 0;) {
        const tp_ref *r = &m->refs[i];
        const tp_operand *o = r->operand;
        track *t = &j->refs[i];
        bool output = i >= m->k->ninputs;
        if (tp_is_far(o) || r->shared || o->alias >= 0 || o->valid.id || o->discard ||
            (!follow_window(m, j, i) && (output || !rows || !gather_windows(t, &r->cells))))
            return false;
        if ((t->dim >= 0 && (!r->in_place || r->cells.n < 2)) ||
            (output && (t->dim < 0 || t->step != t->extent || r->owner || !r->visited)))
            return false;
        rows &= !output || t->dim == 0;
    }
    return true;
}

/* ---- the body ---- */

static void move_as(track *t, const track *like, int64_t extent)
{
    t->dim = like->dim;
    t->step = like->step;
    t->extent = extent;
}

static bool is_scalar(const tp_machine *m, tp_vid v)
{
    return m->values[v].n == 1;
}

/* Make a value that is the same in all steps as long as those beside it; false: it is not flat there. */
static bool stretch(const tp_machine *m, tp_joined *j, tp_vid v, const track *like)
{
    track *t = &j->values[v];
    if (is_scalar(m, v))
        return true;
    if (t->dim >= 0)
        return t->dim == like->dim && t->step == like->step && t->extent == like->extent;
    if (!(t->flat >> like->dim & 1) || !t->by || m->values[v].dims[like->dim] != like->extent)
        return false;
    move_as(t, like, like->extent);
    t->stretched = true;
    bool ok = true;
    for (uint32_t a = 0; a < t->by->nargs; a++) {
        tp_vid from = t->by->args[a];
        bool one = t->by->prim == TP_P_BROADCAST && m->values[from].dims[like->dim] == 1;
        ok &= one || stretch(m, j, from, like);
    }
    return ok;
}

/* What is computed element by element moves as its arguments do. */
static bool follow_elements(const tp_machine *m, tp_joined *j, const tp_inst *i, track *out)
{
    const track *like = NULL;
    for (uint32_t a = 0; a < i->nargs; a++) {
        const track *t = &j->values[i->args[a]];
        like = t->dim >= 0 ? t : like;
        out->flat &= is_scalar(m, i->args[a]) ? UINT32_MAX : t->flat;
    }
    for (uint32_t a = 0; like && a < i->nargs; a++)
        if (!stretch(m, j, i->args[a], like))
            return false;
    if (like && m->values[i->out].n > 1)
        move_as(out, like, like->extent);
    return true;
}

/* A whole window, or a part of it that is the same in each step. */
static bool follow_load(const tp_machine *m, const tp_joined *j, const tp_inst *i, track *out)
{
    const tp_access *a = i->access;
    const track *t = &j->refs[a->operand];
    uint32_t sym = m->k->axes[j->axis].sym;
    int dim = 0;
    if (m->k->operands[a->operand].role != TP_INPUT || a->guarded)
        return false;
    out->flat = 0;
    for (uint32_t d = 0; d < m->k->operands[a->operand].ref_rank; d++) {
        const tp_subscript *s = &a->subs[d];
        if (s->kind != TP_SUB_FULL && ((int)d == t->dim || j->values[s->start].dim >= 0 ||
                                       (s->size.id && tp_expr_mentions(m->k->exprs, s->size, sym))))
            return false;
        if ((int)d == t->dim) {
            move_as(out, t, t->extent);
            out->dim = dim;
        }
        dim += s->kind != TP_SUB_INT;
    }
    return true;
}

static bool follow_broadcast(const tp_machine *m, const tp_joined *j, const tp_inst *i, track *out)
{
    const track *from = &j->values[i->args[0]];
    const tp_cells *c = &m->values[i->args[0]];
    if (c->n != 1 && c->rank != m->values[i->out].rank)
        return false;
    for (uint32_t d = 0; c->n != 1 && d < c->rank; d++)
        if (c->dims[d] != 1 && !(from->flat >> d & 1))
            out->flat &= ~((uint32_t)1 << d);
    if (from->dim >= 0)
        move_as(out, from, m->values[i->out].dims[from->dim]);
    return from->dim < 0 || from->extent == out->extent;
}

static bool follow_slice(const tp_machine *m, const tp_joined *j, const tp_inst *i, track *out)
{
    const track *from = &j->values[i->args[0]];
    bool moves = false;
    for (uint32_t d = 0; d < m->values[i->out].rank; d++)
        moves |= tp_expr_mentions(m->k->exprs, i->starts[d], m->k->axes[j->axis].sym);
    out->flat = from->flat;
    if (from->dim >= 0)
        move_as(out, from, m->values[i->out].dims[from->dim]);
    return !moves && (from->dim < 0 || i->ints[from->dim] == 1);
}

static bool follow_inst(tp_machine *m, tp_joined *j, const tp_inst *i)
{
    track *out = &j->values[i->out];
    uint32_t sym = m->k->axes[j->axis].sym;
    bool still = true;
    *out = (track){.dim = -1, .by = i, .flat = UINT32_MAX};
    for (uint32_t d = 0; d < m->k->body->values.at[i->out].rank; d++)
        if (tp_expr_mentions(m->k->exprs, m->k->body->values.at[i->out].dims[d], sym))
            return false;
    for (uint32_t a = 0; a < i->nargs; a++)
        still &= j->values[i->args[a]].dim < 0;
    if (i->prim == TP_P_PROGRAM_ID)
        return (uint32_t)i->integer != j->axis;
    if (i->prim == TP_P_LOAD)
        return follow_load(m, j, i, out);
    if (i->prim == TP_P_MASKED_LOAD || i->prim == TP_P_READ || i->prim == TP_P_VARIABLE)
        return false;
    if (i->prim == TP_P_IOTA) {
        out->flat = ~((uint32_t)1 << i->integer);
        return true;
    }
    if (i->prim == TP_P_SLICE)
        return follow_slice(m, j, i, out);
    if (i->prim == TP_P_BROADCAST)
        return follow_broadcast(m, j, i, out);
    if (tp_is_pure(m, i))
        return follow_elements(m, j, i, out);
    out->flat = is_scalar(m, i->out) ? UINT32_MAX : 0;
    return still;
}

static bool follow_put(const tp_machine *m, tp_joined *j, const tp_statement *s)
{
    const tp_access *a = s->access;
    const track *t = &j->refs[a->operand];
    if (m->k->operands[a->operand].role != TP_OUTPUT || a->guarded || s->from)
        return false;
    for (uint32_t d = 0; d < m->k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            return false;
    return is_scalar(m, s->value) ||
           (m->values[s->value].rank == m->k->operands[a->operand].ref_rank && stretch(m, j, s->value, t));
}

/* Does every value move as those with which it is computed? What was stretched later may not. */
static bool agree(const tp_machine *m, const tp_joined *j, const tp_inst *i)
{
    const track *out = &j->values[i->out];
    for (uint32_t a = 0; a < i->nargs; a++) {
        tp_vid v = i->args[a];
        const track *t = &j->values[v];
        bool same = t->dim == out->dim && t->step == out->step && t->extent == out->extent, longer = t->dim >= 0;
        if (i->prim == TP_P_SLICE)
            same = t->dim == out->dim && t->step == out->step && !t->stretched;
        if (i->prim == TP_P_BROADCAST && !longer)
            same = out->dim < 0 || is_scalar(m, v) || m->values[v].dims[out->dim] == 1;
        else if (is_scalar(m, v))
            same = true;
        if (!same)
            return false;
    }
    return true;
}

/* One element is looked at as one for all, wherever it lies. */
static bool may_grow(const tp_machine *m, const tp_joined *j, tp_vid v)
{
    return j->values[v].dim < 0 || (!is_scalar(m, v) && j->values[v].extent > 0);
}

static bool follow_body(tp_machine *m, tp_joined *j)
{
    for (uint32_t v = 0; v < m->k->body->values.len; v++)
        j->values[v] = (track){.dim = -1, .flat = is_scalar(m, (tp_vid)v) ? UINT32_MAX : 0};
    for (uint32_t n = 0; n < m->body->len; n++) {
        const tp_statement *s = &m->body->at[n];
        bool ok = s->kind == TP_COMPUTE ? s->inst->out >= 0 && follow_inst(m, j, s->inst)
                                        : s->kind == TP_PUT && follow_put(m, j, s);
        if (!ok || (s->kind == TP_COMPUTE && !may_grow(m, j, s->inst->out)))
            return false;
    }
    for (uint32_t n = 0; n < m->body->len; n++)
        if (m->body->at[n].kind == TP_COMPUTE && !agree(m, j, m->body->at[n].inst))
            return false;
    return true;
}

/* ---- how many ---- */

static void decide(tp_machine *m, tp_joined *j)
{
    int64_t longest = 1;
    bool few = false, gathers = false;
    for (uint32_t i = 0; i < m->k->ninputs + m->k->noutputs; i++) {
        few |= j->refs[i].dim >= 0 && (uint32_t)j->refs[i].dim + 1 != m->refs[i].cells.rank;
        gathers |= j->refs[i].gathered;
    }
    for (uint32_t v = 0; v < m->k->body->values.len; v++) {
        const tp_cells *c = &m->values[v];
        if (j->values[v].dim < 0)
            continue;
        longest = (int64_t)c->n > longest ? (int64_t)c->n : longest;
        few |= m->uses[v] > 1 && tp_is_pure(m, j->values[v].by);
    }
    j->most = (gathers ? GATHERED_ELEMENTS : few ? FEW_ELEMENTS : MOST_ELEMENTS) / longest;
    j->most = j->most < j->end ? j->most : j->end;
}

/* Room for the values of so many steps. */
static bool make_room(tp_machine *m, const tp_joined *j)
{
    for (uint32_t v = 0; v < m->k->body->values.len; v++) {
        const track *t = &j->values[v];
        tp_cells *c = &m->values[v];
        size_t n;
        if (t->dim < 0 || !c->n)
            continue;
        n = c->n / (size_t)t->extent * (size_t)(t->extent + t->step * (j->most - 1));
        if (n > 2 * (size_t)MOST_ELEMENTS)
            return false;
        c->data = c->own = tp_alloc_unset(m->arena, n * tp_dtype_size(c->dtype));
    }
    for (uint32_t i = 0; i < m->k->ninputs; i++) {
        tp_ref *r = &m->refs[i];
        if (!j->refs[i].gathered)
            continue;
        r->cells.own = tp_alloc(m->arena, r->cells.n * (size_t)j->most * tp_dtype_size(r->cells.dtype));
        r->places = TP_NEWN(m->arena, const char *, j->most);
    }
    return true;
}

void tp_join_prepare(tp_machine *m)
{
    const tp_run_request *q = m->request;
    tp_joined j = {.axis = 0};
    bool any = false;
    for (uint32_t a = 0; a < m->k->naxes; a++)
        if (m->grid.steps[a] > 1) {
            j.axis = a;
            any = true;
        }
    if (!any || !m->group || !tp_may_defer(m) || q->observer || q->max_work || q->apart || m->grid.order[j.axis])
        return;
    j.end = m->grid.steps[j.axis];
    j.values = TP_NEWN(m->arena, track, m->k->body->values.len);
    j.refs = TP_NEWN(m->arena, track, tp_noperands(m->k));
    j.dims = TP_NEWN(m->arena, int, tp_noperands(m->k));
    j.along = TP_NEWN(m->arena, int64_t, tp_noperands(m->k));
    if (!follow_windows(m, &j) || !follow_body(m, &j))
        return;
    decide(m, &j);
    if (j.most < 2 || !make_room(m, &j))
        return;
    m->joined = TP_NEW(m->arena, tp_joined);
    *m->joined = j;
    m->of_step = TP_NEWN(m->arena, size_t, m->k->body->values.len);
    for (uint32_t v = 0; v < m->k->body->values.len; v++)
        m->of_step[v] = m->values[v].n;
    for (uint32_t i = 0; i < m->k->ninputs + m->k->noutputs; i++)
        m->refs[i].joins = j.refs[i].dim >= 0;
}

int64_t tp_join_most(const tp_machine *m, uint32_t *axis)
{
    *axis = m->joined ? m->joined->axis : 0;
    return m->joined ? m->joined->most : 1;
}

/* ---- while the grid runs ---- */

static void lengthen(tp_cells *c, const track *t, int64_t steps)
{
    c->n = c->n / (size_t)c->dims[t->dim];
    c->dims[t->dim] = t->extent + t->step * (steps - 1);
    c->n *= (size_t)c->dims[t->dim];
}

static void take_together(tp_machine *m, int64_t steps)
{
    tp_joined *j = m->joined;
    if (m->together == steps)
        return;
    m->together = steps;
    for (uint32_t i = 0; i < tp_noperands(m->k); i++) {
        tp_ref *r = &m->refs[i];
        if (j->refs[i].dim < 0)
            continue;
        lengthen(&r->cells, &j->refs[i], steps);
        if (j->refs[i].gathered)
            tp_place_window(m, r); /* of the last step, which may be that of the next one */
        else
            r->block[j->dims[i]] = r->unit[j->dims[i]] + j->along[i] * (steps - 1);
    }
    for (uint32_t v = 0; v < m->k->body->values.len; v++)
        if (j->values[v].dim >= 0) {
            lengthen(&m->values[v], &j->values[v], steps);
            if (m->fixed[v] == TP_IS_FIXED)
                m->fixed[v] = TP_TO_BE_FIXED;
        }
}

/* Windows where the last of the steps left them. */
static void to_the_last(tp_machine *m)
{
    const tp_joined *j = m->joined;
    for (uint32_t i = 0; m->together > 1 && i < m->k->ninputs + m->k->noutputs; i++)
        if (j->refs[i].dim >= 0 && !j->refs[i].gathered)
            m->refs[i].window[j->dims[i]] += j->along[i] * (m->together - 1);
}

/* Do the windows of all these steps, which are gathered, lie inside? Then it is known where. */
static bool find_places(tp_machine *m, const tp_ref *r, int64_t steps)
{
    int64_t *at = &m->env[m->k->axes[m->joined->axis].sym], now = *at;
    bool inside = true;
    for (int64_t q = 0; inside && q < steps; q++, ++*at)
        inside = (r->places[q] = tp_window_at(m, r)) != NULL;
    *at = now;
    return inside;
}

static bool lie_inside(tp_machine *m, int64_t steps)
{
    const tp_joined *j = m->joined;
    bool inside = true;
    for (uint32_t i = 0; inside && i < m->k->ninputs + m->k->noutputs; i++)
        if (j->refs[i].gathered)
            inside = find_places(m, &m->refs[i], steps);
        else if (j->refs[i].dim >= 0)
            inside = tp_window_at(m, &m->refs[i]) != NULL;
    return inside;
}

int64_t tp_join(tp_machine *m, int64_t left)
{
    tp_joined *j = m->joined;
    if (!j)
        return 1;
    int64_t at = m->grid.at[j->axis], steps = j->end - at;
    steps = steps < left ? steps : left;
    steps = steps < j->most ? steps : j->most;
    steps = steps > 1 ? steps : 1;
    to_the_last(m);
    take_together(m, steps);
    if (steps > 1 && !lie_inside(m, steps))
        take_together(m, steps = 1);
    return steps;
}

int64_t tp_join_gather(tp_machine *m, tp_ref *r)
{
    int64_t moves = 0, *at = &m->env[m->k->axes[m->joined->axis].sym];
    for (int64_t q = 1; q < m->together; q++)
        moves += r->places[q] != r->places[q - 1];
    *at += m->together - 1;
    tp_window_begin(m, r);
    *at -= m->together - 1;
    r->cells.data = r->cells.own;
    r->cells.viewed = false;
    r->fetched = false;
    return moves;
}

void tp_join_pass(tp_machine *m, int64_t steps)
{
    if (steps > 1)
        m->grid.at[m->joined->axis] += steps - 1;
}

void tp_join_turn(tp_machine *m, tp_ref *r, int64_t steps)
{
    uint32_t i = (uint32_t)(r - m->refs);
    r->window[m->joined->dims[i]] += m->joined->along[i] * steps;
    m->env[m->k->axes[m->joined->axis].sym] += steps;
    m->step += steps;
}

void tp_join_end(tp_machine *m)
{
    if (!m->joined)
        return;
    to_the_last(m);
    take_together(m, 1);
}
