/* Chains of elementwise operations on large arrays, a strip at a time: what nobody else looks at never leaves the
 * cache. Every element is what it would be, computed whole. Without a domain only. */
#include "base/assert.h"
#include "reference/internal.h"

enum {
    STRIP = 1024,      /* elements: a handful of strips fits the first cache */
    LEAST = 4 * STRIP, /* smaller arrays stay in the cache as they are */
    MOST = 64,         /* members of a chain */
    ARGS = 3
};

/* One instruction of a chain. */
typedef struct member {
    const tp_inst *i;
    bool view, as_it_lies; /* of an array that is there; read where it lies */
    const double *start;
    uint32_t rank; /* of the view; dimensions that lie in one line are one */
    size_t dims[TP_MAX_RANK];
    ptrdiff_t from[TP_MAX_RANK];
    double *to;              /* its strip, or the first one of its value */
    const double *at[ARGS];  /* operands */
    size_t own, steps[ARGS]; /* from one strip to the next: 0 or 1 times STRIP */
    uint32_t looks, last;    /* in the chain: how many members look at it, and the last that does */
} member;

typedef struct chain {
    evaluator *e;
    size_t n; /* elements of every member */
    uint32_t len;
    member at[MOST];
    TP_VEC(double *)
    strips, spare, numbers; /* all of them, and those that nobody looks at any more; rows of one number */
    uint32_t nnumbers;      /* so many rows are in use */
} chain;

static bool waits(const evaluator *e, const tp_inst *i)
{
    for (uint32_t a = 0; a < i->nargs; a++)
        if (e->values[i->args[a]].pending)
            return true;
    return false;
}

/* Computed element by element? */
static bool by_element(const chain *c, const tp_inst *i)
{
    tp_prim_class class = tp_prim_info(i->prim)->class;
    if (i->prim == TP_P_RESHAPE)
        return true;
    if (class != TP_CLASS_ELEMENTWISE && class != TP_CLASS_SELECT && class != TP_CLASS_CONVERT)
        return false;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (c->e->values[i->args[a]].n != c->n && (c->e->values[i->args[a]].n != 1 || class == TP_CLASS_CONVERT))
            return false;
    return i->nargs <= ARGS;
}

/* Rows of an array that is there; columns are moved in squares, as a whole. */
static bool is_view(const chain *c, const tp_inst *i)
{
    return (i->prim == TP_P_BROADCAST || i->prim == TP_P_SLICE || i->prim == TP_P_DYNAMIC_SLICE) && !waits(c->e, i);
}

static void plan_view(chain *c, member *m)
{
    evaluator *e = c->e;
    const array *out = &e->values[m->i->out], *a = &e->values[m->i->args[0]];
    size_t first = 0;
    ptrdiff_t from[TP_MAX_RANK];
    bool view = tp_reference_view(e, m->i, &first, from);
    for (uint32_t d = 0; d < out->rank; d++) {
        size_t n = (size_t)out->dims[d];
        if (n == 1)
            continue;
        if (m->rank && m->from[m->rank - 1] == from[d] * (ptrdiff_t)n)
            m->dims[m->rank - 1] *= n;
        else
            m->dims[m->rank++] = n;
        m->from[m->rank - 1] = from[d];
    }
    tp_assert(view && m->rank);
    m->start = a->at + first;
}

static bool add(chain *c, const tp_inst *i)
{
    bool view = is_view(c, i);
    if (c->len == MOST || c->e->values[i->out].n != c->n || (!view && !by_element(c, i)))
        return false;
    member *m = &c->at[c->len++];
    *m = (member){.i = i, .view = view};
    if (view)
        plan_view(c, m);
    for (uint32_t a = 0; a < i->nargs; a++) {
        uint32_t p = c->e->values[i->args[a]].pending;
        if (p) {
            c->at[p - 1].looks++;
            c->at[p - 1].last = c->len - 1;
        }
    }
    c->e->values[i->out].pending = c->len;
    tp_reference_pay(c->e, i);
    return true;
}

/* A small one that does not wait for the chain is computed at once. */
static bool pass_by(chain *c, const tp_inst *i)
{
    tp_prim_class class = tp_prim_info(i->prim)->class;
    size_t n = c->e->values[i->out].n;
    for (uint32_t a = 0; a < i->nargs; a++)
        n += c->e->values[i->args[a]].n;
    bool memory = class == TP_CLASS_MEMORY && i->prim != TP_P_READ;
    if (n > LEAST || waits(c->e, i) || memory || i->prim == TP_P_DYNAMIC_UPDATE)
        return false;
    tp_reference_compute(c->e, i);
    return true;
}

static double *take_strip(chain *c)
{
    if (c->spare.len)
        return c->spare.at[--c->spare.len];
    tp_push(c->e->arena, c->strips, tp_take_room(c->e, STRIP));
    return c->strips.at[c->strips.len - 1];
}

/* A strip of one number: loops over rows are fast. */
static const double *row_of(chain *c, double v)
{
    if (c->nnumbers == c->numbers.len)
        tp_push(c->e->arena, c->numbers, tp_take_room(c->e, STRIP));
    double *row = c->numbers.at[c->nnumbers++];
    for (size_t j = 0; j < STRIP; j++)
        row[j] = v;
    return row;
}

/* Where each member is put, and finds its operands. */
static void plan(chain *c)
{
    evaluator *e = c->e;
    for (uint32_t k = 0; k < c->len; k++) {
        member *m = &c->at[k];
        array *out = &e->values[m->i->out];
        bool inside = m->looks == e->looks[m->i->out] && m->looks;
        m->as_it_lies = inside && m->view && m->rank == 1 && m->from[0] == 1;
        if (m->as_it_lies) {
            m->to = tp_writable(m->start);
            m->own = STRIP;
        } else if (inside) {
            m->to = take_strip(c);
        } else {
            if (!out->at)
                out->at = tp_take_room(e, out->n);
            m->to = out->at;
            m->own = STRIP;
        }
        for (uint32_t a = 0; a < m->i->nargs && !m->view && a < ARGS; a++) {
            const array *x = &e->values[m->i->args[a]];
            const member *from = x->pending ? &c->at[x->pending - 1] : NULL;
            m->at[a] = x->n == 1 ? row_of(c, x->at[0]) : from ? from->to : x->at;
            m->steps[a] = x->n == 1 ? 0 : from ? from->own : STRIP;
        }
        for (uint32_t p = 0; p <= k; p++)
            if (c->at[p].last == k && c->at[p].looks && !c->at[p].own)
                tp_push(e->arena, c->spare, c->at[p].to);
    }
}

/* n elements of a view from number `at` on. */
static void read_view(const member *m, size_t at, size_t n, double *to)
{
    size_t k[TP_MAX_RANK], rest = at, last = m->rank - 1;
    ptrdiff_t place = 0;
    for (uint32_t d = m->rank; d-- > 0; rest /= m->dims[d]) {
        k[d] = rest % m->dims[d];
        place += (ptrdiff_t)k[d] * m->from[d];
    }
    for (;;) {
        size_t run = m->dims[last] - k[last] < n ? m->dims[last] - k[last] : n;
        const double *q = m->start + place;
        ptrdiff_t step = m->from[last];
        if (step == 1)
            memcpy(to, q, run * sizeof *to);
        else
            for (size_t j = 0; j < run; j++)
                to[j] = q[(ptrdiff_t)j * step];
        n -= run;
        to += run;
        if (!n)
            return;
        place -= (ptrdiff_t)k[last] * m->from[last];
        k[last] = 0;
        for (size_t d = last; d-- > 0;) {
            place += m->from[d];
            if (++k[d] < m->dims[d])
                break;
            place -= (ptrdiff_t)k[d] * m->from[d];
            k[d] = 0;
        }
    }
}

static void run_strips(const chain *c)
{
    static const size_t ROWS[ARGS] = {1, 1, 1};
    for (size_t from = 0, strip = 0; from < c->n; from += STRIP, strip++) {
        size_t n = c->n - from < STRIP ? c->n - from : STRIP;
        for (uint32_t k = 0; k < c->len; k++) {
            const member *m = &c->at[k];
            double *to = m->to + strip * m->own;
            const double *at[ARGS];
            for (uint32_t a = 0; a < ARGS; a++)
                at[a] = m->at[a] ? m->at[a] + strip * m->steps[a] : NULL;
            if (m->as_it_lies)
                continue;
            if (m->view)
                read_view(m, from, n, to);
            else if (m->i->prim == TP_P_RESHAPE)
                memcpy(to, at[0], n * sizeof *to);
            else
                tp_reference_row(c->e, m->i, n, at, ROWS, to);
        }
    }
}

uint32_t tp_reference_strips(evaluator *e, const tp_region *r, uint32_t s)
{
    if (e->domain || r->at[s].kind != TP_COMPUTE || e->values[r->at[s].inst->out].n < LEAST)
        return 0;
    chain *c = e->chain ? e->chain : (e->chain = TP_NEW(e->arena, chain));
    c->e = e;
    c->n = e->values[r->at[s].inst->out].n;
    c->len = 0;
    uint32_t t = s;
    while (t < r->len && r->at[t].kind == TP_COMPUTE &&
           (add(c, r->at[t].inst) || (c->len && pass_by(c, r->at[t].inst))))
        t++;
    if (!c->len)
        return 0;
    c->spare.len = c->nnumbers = 0;
    for (uint32_t k = 0; k < c->strips.len; k++)
        tp_push(e->arena, c->spare, c->strips.at[k]);
    plan(c);
    run_strips(c);
    for (uint32_t k = 0; k < c->len; k++)
        e->values[c->at[k].i->out].pending = 0;
    return t - s;
}
