/* What values mean (domains/): planes move wherever elements move. */
#include "kernels/machine/internal.h"

tp_lanes tp_lanes_of(const tp_cells *c)
{
    tp_lanes x = {.dtype = c->dtype, .stored = c->dtype, .n = c->n, .data = c->data, .degree = c->meaning.degree};
    memcpy(x.plane, c->meaning.plane, sizeof x.plane);
    return x;
}

void tp_planes_room(tp_machine *m, tp_cells *c)
{
    for (uint32_t p = 0; p < m->domain->nplanes && !c->room[p]; p++)
        c->room[p] = tp_alloc_array(m->arena, c->n, 8);
}

void tp_planes_room_unset(tp_machine *m, tp_cells *c)
{
    for (uint32_t p = 0; p < m->domain->nplanes && !c->room[p]; p++)
        c->room[p] = tp_alloc_unset(m->arena, c->n * sizeof(tp_origin)); /* no more than a shadow: it was checked */
}

void tp_planes_materialise(tp_machine *m, tp_cells *c)
{
    if (c->meaning.plane[0])
        return;
    tp_lanes x = tp_lanes_of(c);
    tp_planes_room_unset(m, c);
    m->domain->exact(m->domain, &x, c->room);
    memcpy(c->meaning.plane, c->room, sizeof c->room);
    c->meaning.degree = (tp_degree){0, 0};
}

tp_lanes tp_planes_result(tp_machine *m, tp_cells *out)
{
    tp_planes_room_unset(m, out); /* a domain writes all of it, or it is not looked at */
    tp_lanes r = tp_lanes_of(out);
    memcpy(r.plane, out->room, sizeof r.plane);
    return r;
}

void tp_note_planes(tp_cells *c, const tp_lanes *out, bool any)
{
    c->meaning = (tp_planes){.degree = out->degree};
    if (any)
        memcpy(c->meaning.plane, c->room, sizeof c->room);
}

void tp_planes_zero(const tp_machine *m, const tp_lanes *x)
{
    for (uint32_t p = 0; p < m->domain->nplanes; p++)
        memset(x->plane[p], 0, x->n * sizeof(uint64_t));
}

bool tp_garbage_has_planes(const tp_machine *m, tp_dtype dtype)
{
    return !m->domain->reals && tp_is_float(dtype);
}

void tp_planes_copy(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    if (!m->domain)
        return;
    to->meaning = (tp_planes){.degree = from->meaning.degree};
    if (!from->meaning.plane[0])
        return;
    tp_planes_room_unset(m, to);
    for (uint32_t p = 0; p < m->domain->nplanes; p++)
        if (to->room[p] != from->meaning.plane[p]) /* a load that shows what it is stored to again */
            memcpy(to->room[p], from->meaning.plane[p], from->n * 8);
    memcpy(to->meaning.plane, to->room, sizeof to->room);
}

void tp_planes_store(tp_machine *m, tp_cells *to, tp_vid from_value)
{
    tp_cells *from = &m->values[from_value];
    if (!m->domain)
        return;
    if (!from->meaning.plane[0] || from->meaning.plane[0] != from->room[0] || !tp_used_once(m, from_value) ||
        m->assigned[from_value]) {
        tp_planes_copy(m, to, from);
        return;
    }
    for (uint32_t p = 0; p < m->domain->nplanes; p++) {
        void *room = to->room[p];
        to->room[p] = from->room[p];
        from->room[p] = room;
    }
    to->meaning = from->meaning;
    from->meaning = (tp_planes){.plane = {NULL}};
}

/* ---- moving ---- */

static tp_cells *moved_room(tp_machine *m, uint32_t n)
{
    if (m->moved_size < n) {
        m->moved = TP_NEWN(m->arena, tp_cells, n);
        m->moving = TP_NEWN(m->arena, tp_cells *, n);
        m->moved_size = n;
    }
    return m->moved;
}

/* Planes are arrays of 8-byte elements: the same move over them as float64. */
void tp_planes_move(tp_machine *m, tp_cells *const *cells, uint32_t n, tp_mover move, const void *ctx)
{
    tp_domain *domain = m->domain;
    tp_cells *saved = moved_room(m, n);
    for (uint32_t i = 0; i < n; i++)
        saved[i] = *cells[i];
    m->domain = NULL; /* planes have no planes */
    for (uint32_t p = 0; p < domain->nplanes; p++) {
        for (uint32_t i = 0; i < n; i++) {
            cells[i]->data = saved[i].meaning.plane[p];
            cells[i]->dtype = TP_F64;
            cells[i]->state = TP_CLEAN;
        }
        move(m, cells, ctx);
    }
    m->domain = domain;
    for (uint32_t i = 0; i < n; i++)
        *cells[i] = saved[i];
}

static void move_again(tp_machine *m, tp_cells *const *cells, const void *inst)
{
    (void)cells;
    tp_exec_move(m, inst);
}

static void planes_of_move(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    bool any = false;
    uint32_t n = tp_moved_arguments(i), k = 0;
    out->meaning = (tp_planes){.plane = {NULL}};
    for (uint32_t a = 0; a < n; a++)
        any |= m->values[i->args[a]].meaning.plane[0] != NULL;
    if (!any)
        return;
    moved_room(m, n + 1);
    tp_cells **cells = m->moving;
    for (uint32_t a = 0; a < n; a++) {
        tp_cells *from = &m->values[i->args[a]];
        bool twice = false;
        tp_planes_materialise(m, from);
        out->meaning.degree = tp_degree_larger(out->meaning.degree, from->meaning.degree);
        for (uint32_t b = 0; b < k; b++)
            twice |= cells[b] == from;
        if (!twice)
            cells[k++] = from;
    }
    tp_planes_room(m, out);
    memcpy(out->meaning.plane, out->room, sizeof out->room);
    cells[k++] = out;
    tp_planes_move(m, cells, k, move_again, i);
}

/* ---- computing ---- */

static void planes_of_elementwise(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    tp_lanes args[3];
    const tp_lanes *at[3];
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        args[a] = tp_lanes_of(&m->values[i->args[a]]);
        at[a] = &args[a];
    }
    tp_lanes r = tp_planes_result(m, out);
    tp_note_planes(out, &r, tp_domain_compute(m->domain, i, &r, at));
}

void tp_planes_inst(tp_machine *m, const tp_inst *i)
{
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE:
    case TP_CLASS_SELECT:
    case TP_CLASS_CONVERT: planes_of_elementwise(m, i); return;
    case TP_CLASS_SOURCE:
        if (i->prim == TP_P_LITERAL)
            planes_of_elementwise(m, i);
        else
            m->values[i->out].meaning.plane[0] = NULL;
        return;
    case TP_CLASS_MOVE:
        if (i->prim == TP_P_TAKE || i->prim == TP_P_ROLL)
            tp_decide(m, &m->values[i->args[1]]);
        if (i->prim != TP_P_RESHAPE)
            planes_of_move(m, i);
        return;
    case TP_CLASS_MEMORY:
        if (i->prim == TP_P_MASKED_LOAD)
            tp_decide(m, &m->values[i->args[0]]);
        if (i->prim != TP_P_READ)
            return;
        for (uint32_t a = 0; a < i->nargs; a++)
            tp_decide(m, &m->values[i->args[a]]);
        m->values[i->out].meaning.plane[0] = NULL;
        return;
    case TP_CLASS_FOLD:
    case TP_CLASS_RUNNING:
    case TP_CLASS_CONTRACT:
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: return; /* done where the data are */
    }
}

void tp_decide(tp_machine *m, const tp_cells *c)
{
    if (!m->domain || !c->meaning.plane[0] || m->stats.undecided)
        return;
    tp_lanes x = tp_lanes_of(c);
    if (!m->domain->certain(m->domain, &x))
        m->stats.undecided = m->at;
}

/* ---- arrays ---- */

static void array_room(tp_machine *m, tp_ref *r)
{
    tp_arena *a = m->request->results ? m->request->results : m->arena;
    for (uint32_t p = 0; p < m->domain->nplanes; p++)
        r->array_meaning->plane[p] = tp_alloc_array(a, r->array->n, 8);
}

void tp_planes_prepare(tp_machine *m, uint32_t operand)
{
    tp_ref *r = &m->refs[operand];
    if (!m->domain || !r->array)
        return;
    r->array_meaning = &m->request->meanings[operand];
    if (r->operand->role == TP_OUTPUT && !m->worker) /* the others write there, too */
        array_room(m, r);
}

void tp_planes_share(tp_machine *m, tp_ref *out, tp_ref *in)
{
    if (!m->domain)
        return;
    tp_lanes x = {
        .dtype = in->operand->dtype, .stored = in->operand->dtype, .n = in->array->n, .data = in->array->data};
    if (!in->array_meaning->plane[0])
        m->domain->exact(m->domain, &x, out->array_meaning->plane);
    for (uint32_t p = 0; in->array_meaning->plane[0] && p < m->domain->nplanes; p++)
        memcpy(out->array_meaning->plane[p], in->array_meaning->plane[p], in->array->n * 8);
    out->array_meaning->degree = in->array_meaning->degree;
    in->array_meaning = out->array_meaning;
}

typedef struct row_context {
    uint32_t nplanes;
    bool in;
} row_context;

static void copy_row(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx)
{
    const row_context *c = ctx;
    for (uint32_t p = 0; p < c->nplanes; p++) {
        char *a = (char *)r->array_meaning->plane[p] + array * 8, *w = (char *)r->cells.meaning.plane[p] + lane * 8;
        memcpy(c->in ? w : a, c->in ? a : w, n * 8);
    }
}

void tp_planes_transfer(tp_machine *m, tp_ref *r, bool in)
{
    tp_planes *array = r->array_meaning, *window = &r->cells.meaning;
    if (!m->domain)
        return;
    if (in && !array->plane[0]) {
        *window = (tp_planes){.plane = {NULL}};
        return;
    }
    if (in) {
        tp_planes_room(m, &r->cells);
        *window = (tp_planes){.degree = array->degree};
        memcpy(window->plane, r->cells.room, sizeof r->cells.room);
    } else {
        tp_planes_materialise(m, &r->cells);
        array->degree = tp_degree_larger(array->degree, window->degree);
    }
    tp_each_inner_row(r, copy_row, &(row_context){m->domain->nplanes, in});
}
