/* Chains of operations that work element by element, with the broadcasts that
 * feed them and the reductions along rows that end them. What a chain means is
 * computed strip by strip, so that what only the chain itself looks at never
 * leaves the first cache. The numbers are there before: instructions join a
 * chain when they have been executed. */
#include "kernels/machine/internal.h"

enum {
    MOST_LINKS = 32,
    SHORT = 8 /* rows of less than an 8th of a strip: some at a time */
};

typedef struct link {
    const tp_inst *inst;
    bool reduces, kept;          /* somebody outside of the chain looks at the result */
    bool any;                    /* kept: some strip so far has planes */
    void *buffer[TP_MAX_PLANES]; /* not kept: its planes of one strip */
    tp_lanes strip;              /* the result: the strip at hand */
    tp_degree degree;
    size_t stride[TP_MAX_RANK]; /* of a broadcast: elements of the argument */
} link;

struct tp_chain {
    link at[MOST_LINKS];
    uint32_t len;
    bool by_rows;
    uint32_t *number;                         /* per value: 1 + its place in the chain, or 0 */
    void *buffers[MOST_LINKS][TP_MAX_PLANES]; /* allocated on first use */
    size_t *count, *starts;                   /* 0, 1, 2, …; of the rows of a strip; on first use */
};

void tp_chain_prepare(tp_machine *m)
{
    if (!m->domain)
        return;
    m->chain = TP_NEW(m->arena, tp_chain);
    m->chain->number = TP_NEWN(m->arena, uint32_t, m->k->body->values.len);
    m->piece = m->request->strip && m->request->strip < TP_PIECE ? m->request->strip : TP_PIECE;
    tp_uses_count(m);
}

/* The cells over which a link runs. */
static const tp_cells *domain_of(const tp_machine *m, const tp_inst *i)
{
    return &m->values[tp_prim_reduces(i->prim) ? i->args[0] : i->out];
}

static link *link_of(const tp_machine *m, tp_vid v)
{
    uint32_t number = m->chain->number[v];
    return number ? &m->chain->at[number - 1] : NULL;
}

/* Does an access start at a value whose planes are still to be computed? */
static bool starts_pending(const tp_machine *m, const tp_access *a)
{
    for (uint32_t d = 0; a && d < m->k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL && link_of(m, a->subs[d].start))
            return true;
    return false;
}

void tp_chain_await(tp_machine *m, const tp_inst *i)
{
    if (!m->domain || !m->chain->len)
        return;
    bool pending = starts_pending(m, i->access);
    for (uint32_t a = 0; a < i->nargs; a++)
        pending |= link_of(m, i->args[a]) && (i->prim == TP_P_BROADCAST || !tp_chainable(m, i));
    if (pending)
        tp_chain_finish(m);
}

void tp_chain_add(tp_machine *m, const tp_inst *i)
{
    tp_chain *c = m->chain;
    tp_cells *from = &m->values[i->args[0]];
    size_t own[TP_MAX_RANK];
    if (i->prim == TP_P_BROADCAST && !from->meaning.plane[0]) {
        m->values[i->out].meaning = (tp_planes){.plane = {NULL}};
        return;
    }
    if (c->len && (c->len == MOST_LINKS || !tp_same_shape(domain_of(m, i), domain_of(m, c->at[0].inst))))
        tp_chain_finish(m);
    link *l = &c->at[c->len++];
    *l = (link){.inst = i, .reduces = tp_prim_reduces(i->prim)};
    c->number[i->out] = c->len;
    c->by_rows |= l->reduces || i->prim == TP_P_BROADCAST;
    if (i->prim != TP_P_BROADCAST)
        return;
    tp_strides_of(from, own);
    for (uint32_t d = 0; d < from->rank; d++)
        l->stride[d] = from->dims[d] == 1 ? 0 : own[d];
}

/* ---- running ---- */

static void take_buffer(tp_machine *m, link *l, uint32_t slot)
{
    void **buffer = m->chain->buffers[slot];
    for (uint32_t p = 0; p < m->domain->nplanes; p++) {
        if (!buffer[p]) /* of odd lengths: not all in the same lines of the cache */
            buffer[p] = tp_alloc_array(m->arena, TP_LONG_ROW * TP_PIECE + 8 * (2 * slot + p), 8);
        l->buffer[p] = buffer[p];
    }
}

/* Where the results go: those that are looked at later to their cells, the
 * others to buffers, each free again after its last use. */
static void place_results(tp_machine *m)
{
    tp_chain *c = m->chain;
    uint32_t inside[MOST_LINKS] = {0}, last[MOST_LINKS] = {0}, spare[MOST_LINKS], nspare = 0, taken[MOST_LINKS];
    for (uint32_t k = 0; k < c->len; k++)
        for (uint32_t a = 0; a < c->at[k].inst->nargs; a++) {
            uint32_t number = c->number[c->at[k].inst->args[a]];
            if (number) {
                inside[number - 1]++;
                last[number - 1] = k;
            }
        }
    for (uint32_t s = MOST_LINKS; s-- > 0;)
        spare[nspare++] = s;
    for (uint32_t k = 0; k < c->len; k++) {
        link *l = &c->at[k];
        l->kept = l->reduces || m->uses[l->inst->out] > inside[k];
        if (l->kept)
            tp_planes_room_unset(m, &m->values[l->inst->out]);
        else
            take_buffer(m, l, taken[k] = spare[--nspare]);
        for (uint32_t j = 0; j <= k; j++)
            if (!c->at[j].kept && (j == k ? !inside[j] : last[j] == k))
                spare[nspare++] = taken[j];
    }
}

/* n elements from `from`, with the planes that are given. */
static tp_lanes part_of(const tp_machine *m, const tp_cells *c, void *const *planes, size_t from, size_t n)
{
    tp_lanes x = tp_lanes_of(c);
    x.n = n;
    x.data = (const char *)x.data + from * tp_dtype_size(x.stored);
    for (uint32_t p = 0; planes[0] && p < m->domain->nplanes; p++)
        x.plane[p] = (uint64_t *)planes[p] + from;
    return x;
}

static tp_lanes argument(const tp_machine *m, tp_vid v, size_t from, size_t n)
{
    const link *l = link_of(m, v);
    const tp_cells *c = &m->values[v];
    return l ? l->strip : c->n == 1 ? tp_lanes_of(c) : part_of(m, c, c->meaning.plane, from, n);
}

/* Element of a broadcast's argument from which element `from` of its result comes. */
static size_t source_of(const link *l, const tp_cells *out, size_t from)
{
    size_t at = 0;
    for (uint32_t d = out->rank; d-- > 0; from /= (size_t)out->dims[d])
        at += from % (size_t)out->dims[d] * l->stride[d];
    return at;
}

/* One row or a piece of it is one element, or lies side by side; several rows are copied. */
static void broadcast_strip(tp_machine *m, link *l, size_t from, size_t n)
{
    const tp_cells *out = &m->values[l->inst->out], *arg = &m->values[l->inst->args[0]];
    uint32_t last = out->rank - 1;
    size_t row = (size_t)out->dims[last], step = l->stride[last];
    bool pointed = n <= row && !l->kept;
    for (uint32_t p = 0; p < m->domain->nplanes; p++) {
        uint64_t *plane = arg->meaning.plane[p];
        uint64_t *to = l->strip.plane[p];
        if (pointed)
            l->strip.plane[p] = plane + source_of(l, out, from);
        for (size_t i = 0; !pointed && i < n; i += row) {
            const uint64_t *source = plane + source_of(l, out, from + i);
            for (size_t k = 0; k < row && i + k < n; k++)
                to[i + k] = source[k * step];
        }
    }
    if (pointed && step == 0)
        l->strip.n = 1;
    l->strip.degree = arg->meaning.degree;
}

static bool compute_strip(tp_machine *m, link *l, size_t from, size_t n)
{
    tp_chain *c = m->chain;
    const tp_inst *i = l->inst;
    const tp_lanes *at[3];
    tp_lanes args[3];
    if (i->prim == TP_P_BROADCAST) {
        broadcast_strip(m, l, from, n);
        return true;
    }
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        args[a] = argument(m, i->args[a], from, n);
        at[a] = &args[a];
    }
    if (!l->reduces)
        return tp_domain_compute(m->domain, i, &l->strip, at);
    size_t row = n / l->strip.n;
    if (!c->count) {
        c->count = TP_NEWN(m->arena, size_t, TP_LONG_ROW * TP_PIECE);
        c->starts = TP_NEWN(m->arena, size_t, TP_PIECE);
        for (size_t k = 0; k < TP_LONG_ROW * TP_PIECE; k++)
            c->count[k] = k;
    }
    for (size_t r = 0; r < l->strip.n; r++)
        c->starts[r] = r * row;
    return m->domain->reduce(m->domain, i->prim, &l->strip, &args[0],
                             &(tp_groups){l->strip.n, row, c->starts, c->count});
}

/* What undefined elements mean nobody asks: a piece of nothing else, as beyond an array, is not computed. */
static bool is_idle(const tp_machine *m, const tp_cells *out, size_t from, size_t n)
{
    return !m->domain->tells && tp_none_defined(out, from, n);
}

/* Planes of elements that mean their data, once others have planes; 0 where nothing is computed. */
static void fill_exact(tp_machine *m, const link *l, size_t from, size_t n)
{
    const tp_cells *out = &m->values[l->inst->out];
    for (size_t end = from + n, some; from < end; from += some) {
        some = tp_strip_at(end, from);
        tp_lanes x = part_of(m, out, out->room, from, some);
        if (is_idle(m, out, from, some))
            tp_planes_zero(m, &x);
        else
            m->domain->exact(m->domain, &x, x.plane);
    }
}

static void run_link(tp_machine *m, link *l, size_t from, size_t n, size_t row)
{
    const tp_cells *out = &m->values[l->inst->out];
    if (l->reduces) {
        from /= row;
        n /= row;
    }
    l->strip = part_of(m, out, out->room, from, n);
    l->strip.degree = (tp_degree){0, 0};
    if (!l->kept)
        memcpy(l->strip.plane, l->buffer, sizeof l->buffer);
    bool any, blank = l->kept && tp_garbage_has_planes(m, out->dtype);
    if (is_idle(m, out, from, n)) {
        any = blank;
        if (blank)
            tp_planes_zero(m, &l->strip);
    } else {
        any = compute_strip(m, l, l->reduces ? from * row : from, l->reduces ? n * row : n);
    }
    if (any)
        l->degree = tp_degree_larger(l->degree, l->strip.degree);
    if (l->kept && any && !l->any)
        fill_exact(m, l, 0, from);
    if (l->kept && !any && l->any)
        fill_exact(m, l, from, n);
    l->any |= any;
    if (!any)
        l->strip.plane[0] = NULL;
}

/* A strip is some short rows, a row, or a piece of a long one. */
static size_t strip_length(const tp_machine *m, size_t row)
{
    if (!m->chain->by_rows || row > TP_LONG_ROW * m->piece)
        return m->piece;
    return SHORT * row < m->piece ? m->piece / row * row : row;
}

void tp_chain_finish(tp_machine *m)
{
    tp_chain *c = m->chain;
    if (!m->domain || !c->len)
        return;
    const tp_cells *shape = domain_of(m, c->at[0].inst);
    size_t row = shape->rank ? (size_t)shape->dims[shape->rank - 1] : 1, length = strip_length(m, row), n;
    place_results(m);
    for (size_t from = 0; from < shape->n; from += n) {
        n = shape->n - from < length ? shape->n - from : length;
        if (c->by_rows && row > length && n > row - from % row)
            n = row - from % row;
        for (uint32_t k = 0; k < c->len; k++)
            run_link(m, &c->at[k], from, n, row);
    }
    for (uint32_t k = 0; k < c->len; k++) {
        const link *l = &c->at[k];
        tp_note_planes(&m->values[l->inst->out], &(tp_lanes){.degree = l->degree}, l->kept && l->any);
        c->number[l->inst->out] = 0;
    }
    c->len = 0;
    c->by_rows = false;
}
