/* The windows of the next step, asked for while this one is computed: what a step waits for otherwise is memory. */
#include "base/checked.h"
#include "kernels/machine/internal.h"

enum {
    LEAST = 1 << 13,        /* bytes of a window: the processor sees by itself what comes of smaller ones, */
    LONG = 1 << 12,         /* ... and along rows of more */
    MOST = 1 << 19,         /* of all windows: half of a usual second cache */
    LARGE = 1 << 16,        /* bytes of a value that may be read as it comes, */
    MOST_AT_ONCE = 1 << 15, /* bytes that are asked for in one go: more would wait for each other */
    LEAD = 1 << 13          /* ... and from what is read to what is asked for */
};

/* Does a table say where it is next? No processor sees that. */
static bool jumps(const tp_machine *m, const tp_ref *r)
{
    bool any = false;
    for (uint32_t d = 0; d < r->operand->rank; d++)
        any |= tp_expr_reads(m->k->exprs, r->operand->dims[d].index);
    return any && r->in_place && !r->pitch && !tp_is_far(r->operand) &&
           r->cells.n * tp_dtype_size(r->cells.dtype) <= MOST_AT_ONCE;
}

/* Bits of inputs, which many share. */
typedef struct orders {
    tp_machine *m;
    uint64_t *of;    /* per value: those of which it has elements, each in its place */
    uint64_t turned; /* those that somebody looks at in another order than row after row */
} orders;

static uint64_t bit_of(uint32_t operand)
{
    return (uint64_t)1 << operand % 64;
}

static bool takes_part(const tp_machine *m, const tp_access *a)
{
    for (uint32_t d = 0; d < m->k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            return true;
    return false;
}

static bool note_order(const tp_statement *s, void *ctx)
{
    orders *o = ctx;
    uint64_t from = 0;
    if (s->kind == TP_ASSIGN)
        o->of[s->var] |= o->of[s->value];
    if (s->kind != TP_COMPUTE || s->inst->out < 0)
        return false;
    const tp_inst *i = s->inst;
    for (uint32_t a = 0; a < i->nargs; a++)
        from |= o->of[i->args[a]];
    if (i->access)
        from = bit_of(i->access->operand);
    tp_prim_class class = tp_prim_info(i->prim)->class;
    bool elements = i->access || class == TP_CLASS_ELEMENTWISE || class == TP_CLASS_SELECT ||
                    class == TP_CLASS_CONVERT || i->prim == TP_P_BROADCAST || i->prim == TP_P_SLICE;
    if (elements)
        o->of[i->out] = from;
    /* a part is short, and other work comes before the next one */
    if (i->access ? takes_part(o->m, i->access) : !elements && !tp_prim_reduces(i->prim))
        o->turned |= from;
    return false;
}

/* Who looks at rows one after the other has the rest of a row brought by the processor, which asks for more at a time:
 * asked for in one go, short rows wait for each other. */
static uint64_t not_by_rows(tp_machine *m)
{
    orders o = {m, TP_NEWN(m->arena, uint64_t, m->k->body->values.len), 0};
    tp_region_any(m->body, note_order, &o);
    return o.turned;
}

/* A window of rows that are short, each somewhere else. */
static bool is_scattered(const tp_ref *r, size_t bytes)
{
    const tp_cells *c = &r->cells;
    return r->in_place && r->pitch && !tp_is_far(r->operand) && bytes >= LEAST &&
           (size_t)c->dims[c->rank - 1] * tp_dtype_size(c->dtype) <= LONG;
}

void tp_ahead_prepare(tp_machine *m)
{
    uint64_t turned = not_by_rows(m);
    size_t all = 0;
    for (int by_rows = 0; by_rows < 2; by_rows++) { /* the last ones as far as there is room */
        for (uint32_t i = 0; i < m->k->ninputs; i++) {
            tp_ref *r = &m->refs[i];
            size_t bytes = r->cells.n * tp_dtype_size(r->cells.dtype);
            if (by_rows == !!(turned & bit_of(i)) || !is_scattered(r, bytes) || (by_rows && bytes > MOST - all))
                continue;
            r->awaited = true;
            r->by_rows = by_rows;
            all += bytes;
        }
        for (uint32_t i = 0; i < m->k->ninputs && all > MOST; i++)
            m->refs[i].awaited = false;
        all = all < MOST ? all : MOST;
    }
    for (uint32_t i = 0; i < m->k->ninputs; i++) {
        m->refs[i].jumps = jumps(m, &m->refs[i]);
        m->looks_ahead |= m->refs[i].jumps || m->refs[i].awaited;
    }
}

/* The axes at the step after this one; false: there is none. */
static bool next_axes(tp_machine *m, int64_t *now)
{
    const tp_grid *g = &m->grid;
    bool carry = true;
    for (uint32_t a = m->k->naxes; a-- > 0;) {
        int64_t *at = &m->env[m->k->axes[a].sym], n = g->at[a] + carry;
        now[a] = *at;
        carry = n == g->steps[a];
        *at = g->order[a] ? g->order[a][carry ? 0 : n] : carry ? 0 : n;
    }
    return !carry;
}

/* Where the window begins in dimension d; false: that has no value. */
static bool window_begins(const tp_machine *m, const tp_ref *r, uint32_t d, int64_t *start)
{
    const tp_dim *dim = &r->operand->dims[d];
    int64_t pad = 0;
    *start = r->window[d];
    if (r->resident && !(r->moves >> d & 1))
        return true;
    if (tp_expr_eval(m->k->exprs, dim->index, m->env, start) != TP_EVAL_OK)
        return false;
    if (dim->kind != TP_DIM_ELEMENT)
        return tp_mul(*start, r->unit[d], start);
    return tp_expr_eval(m->k->exprs, dim->pad_lo, m->env, &pad) == TP_EVAL_OK && tp_sub(*start, pad, start);
}

void tp_window_begin(const tp_machine *m, tp_ref *r)
{
    int64_t start;
    for (uint32_t d = 0; d < r->operand->rank; d++)
        if (window_begins(m, r, d, &start))
            r->window[d] = start;
}

const char *tp_window_at(const tp_machine *m, const tp_ref *r)
{
    size_t first = 0;
    for (uint32_t d = 0; d < r->operand->rank; d++) {
        int64_t start, end;
        if (!window_begins(m, r, d, &start) || start < 0 || !tp_add(start, r->block[d], &end) ||
            end > r->array->dims[d])
            return NULL;
        first = first * (size_t)r->array->dims[d] + (size_t)start;
    }
    return (const char *)r->array->data + first * tp_dtype_size(r->operand->dtype);
}

static void set_axes(tp_machine *m, const int64_t *to)
{
    for (uint32_t x = 0; x < m->k->naxes; x++)
        m->env[m->k->axes[x].sym] = to[x];
}

bool tp_window_stays(tp_machine *m, const tp_ref *r)
{
    int64_t now[TP_MAX_AXES];
    bool stays = next_axes(m, now) && !tp_is_far(r->operand) && tp_window_at(m, r) == r->cells.data;
    set_axes(m, now);
    return stays;
}

static void empty(tp_ahead *a)
{
    a->n = a->now = 0;
    a->row = a->byte = a->lines = 0;
}

/* Of steps that are taken as one, too? */
static bool is_awaited(const tp_ref *r)
{
    const tp_cells *c = &r->cells;
    size_t size = tp_dtype_size(c->dtype);
    return r->awaited && (size_t)c->dims[c->rank - 1] * size <= LONG && c->n * size <= MOST;
}

static void await(tp_ahead *a, const char *at, ptrdiff_t pitch, size_t rows, size_t bytes)
{
    size_t skew = (uintptr_t)at % TP_AHEAD_LINE;
    tp_ahead_part p = {at - skew, pitch, rows, bytes + skew};
    a->part[a->n++] = p;
    a->lines += p.rows * ((p.bytes + TP_AHEAD_LINE - 1) / TP_AHEAD_LINE);
}

static void await_window(tp_ahead *a, const tp_ref *r, const char *at)
{
    const tp_cells *c = &r->cells;
    size_t size = tp_dtype_size(c->dtype), row = (size_t)c->dims[c->rank - 1];
    await(a, at, r->pitch * (ptrdiff_t)size, c->n / row, row * size);
}

static void ask_now(const char *at, ptrdiff_t pitch, size_t rows, size_t bytes)
{
    tp_ahead a = {.n = 1};
    a.part[0] = (tp_ahead_part){at, pitch, rows, bytes};
    tp_ahead_ask(&a, SIZE_MAX);
}

void tp_look_ahead(tp_machine *m)
{
    tp_ahead *a = &m->ahead;
    int64_t now[TP_MAX_AXES];
    empty(a);
    m->ahead_of = 1;
    m->wanted = 0;
    if (!m->looks_ahead)
        return;
    bool any = next_axes(m, now);
    for (uint32_t k = 0; any && k < 2 * m->k->ninputs && a->n < TP_AHEAD_PARTS; k++) {
        tp_ref *r = &m->refs[k % m->k->ninputs];
        if (r->by_rows != (k >= m->k->ninputs))
            continue;
        bool jumps = r->jumps && !tp_is_gathered(m, r); /* of those the processor sees the most of each */
        const char *at = jumps || is_awaited(r) ? tp_window_at(m, r) : NULL;
        if (jumps && at)
            ask_now(at, 0, 1, r->cells.n * tp_dtype_size(r->cells.dtype));
        if (r->jumps)
            continue;
        r->comes = at != r->cells.data ? at : NULL;
        if (!r->comes)
            continue;
        await_window(a, r, at);
        m->ahead_of = r->cells.n > m->ahead_of ? r->cells.n : m->ahead_of;
        m->wanted = r->by_rows ? m->wanted : a->n;
    }
    set_axes(m, now);
}

void tp_ahead_beside(tp_machine *m, size_t n)
{
    tp_ahead *a = &m->ahead;
    if (a->now < a->n)
        tp_ahead_ask(a, a->lines * n / m->ahead_of + 1);
}

void tp_ahead_rest(tp_machine *m)
{
    tp_ahead due = m->ahead;
    due.n = m->wanted;
    tp_ahead_ask(&due, due.lines);
}

void tp_ahead_now(const tp_machine *m, const tp_ref *r)
{
    tp_ahead a = {.n = 0};
    if (!is_awaited(r) || r->by_rows || !m->looks_ahead || r->cells.data == r->cells.own || r->comes == r->cells.data)
        return;
    await_window(&a, r, r->cells.data);
    tp_ahead_ask(&a, a.lines);
}

void tp_ahead_copy(tp_machine *m, const tp_cells *c)
{
    size_t size = tp_dtype_size(c->dtype), row = (size_t)c->dims[c->rank - 1], bytes = c->n * size;
    tp_ahead *a = &m->ahead;
    if (c->flat_row || !row || bytes > MOST || tp_is_packed(m, c))
        return;
    tp_ahead_part p = {c->data, 0, 1, bytes};
    if (c->viewed)
        p = (tp_ahead_part){c->data, c->pitch * (ptrdiff_t)size, c->n / row, row * size};
    if (a->now == a->n)
        empty(a);
    if (a->n == TP_AHEAD_PARTS)
        return;
    await(a, p.at, p.pitch, p.rows, p.bytes);
    m->wanted = a->n;
    m->ahead_of = c->n > m->ahead_of ? c->n : m->ahead_of;
}

/* Is k, of memory that several look at, the one that comes to it first? */
static bool leads(const tp_cells *const *of, uint32_t n, uint32_t k)
{
    uintptr_t first, end, other, other_end;
    bool any = false;
    tp_bytes_of(of[k], &first, &end);
    for (uint32_t q = 0; q < n; q++) {
        tp_bytes_of(of[q], &other, &other_end);
        if (q == k || first >= other_end || other >= end)
            continue;
        any = true;
        if (other_end > end || (other_end == end && q < k))
            return false;
    }
    return any;
}

ptrdiff_t tp_ahead_of(const tp_cells *const *of, uint32_t n, uint32_t k)
{
    const tp_cells *c = of[k];
    ptrdiff_t size = (ptrdiff_t)tp_dtype_size(c->dtype), pitch = c->viewed ? c->pitch * size : 1;
    if (c->data == c->own || c->n * (size_t)size < LARGE || c->flat_row || pitch < 1 || !leads(of, n, k))
        return 0;
    return (ptrdiff_t)c->dims[c->rank - 1] * size >= LEAD ? LEAD : (LEAD + pitch - 1) / pitch * pitch;
}
