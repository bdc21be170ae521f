/* Windows: the part of an array that a step sees. */
#include "base/assert.h"
#include "base/checked.h"
#include "base/stream.h"
#include "kernels/machine/internal.h"

/* Are all parts of an array that is cut among devices equal? */
static bool divides(const tp_kernel *k, const tp_operand *o, const int64_t *env, const int64_t *dims, tp_str *why)
{
    int64_t parts[TP_MAX_RANK], extent;
    if (!o->global_shape)
        return true;
    tp_global_dims(o, dims, parts);
    for (uint32_t d = 0; d < o->global_rank; d++)
        if (tp_expr_eval(k->exprs, o->global_shape[d], env, &extent) != TP_EVAL_OK || extent != parts[d]) {
            *why = tp_printf(k->arena, "dimension %u of `%.*s` is not cut into equal parts", d, TP_FMT(o->name));
            return false;
        }
    return true;
}

bool tp_operand_dims(const tp_kernel *k, const tp_operand *o, const int64_t *env, int64_t *dims, tp_str *why)
{
    int64_t bytes = (int64_t)tp_dtype_size(o->dtype);
    for (uint32_t d = 0; d < o->rank; d++) {
        tp_eval_error e = tp_expr_eval(k->exprs, o->shape[d], env, &dims[d]);
        if (e != TP_EVAL_OK)
            *why = tp_printf(k->arena, "dimension %u of `%.*s` %s", d, TP_FMT(o->name), tp_eval_error_text(e));
        else if (dims[d] < 0)
            *why = tp_printf(k->arena, "dimension %u of `%.*s` is %lld", d, TP_FMT(o->name), (long long)dims[d]);
        else if (!tp_mul(bytes, dims[d] ? dims[d] : 1, &bytes) || bytes > ((int64_t)1 << 46))
            *why = tp_printf(k->arena, "`%.*s` is too large to run", TP_FMT(o->name));
        else
            continue;
        return false;
    }
    return divides(k, o, env, dims, why);
}

bool tp_element_valid(const tp_kernel *k, const tp_operand *o, int64_t *env, const int64_t *at)
{
    int64_t value;
    for (uint32_t d = 0; o->valid.id && d < o->rank; d++)
        env[o->element_syms[d]] = at[d];
    return !o->valid.id || (tp_expr_eval(k->exprs, o->valid, env, &value) == TP_EVAL_OK && value);
}

bool tp_inner_part(const tp_ref *r, int64_t *first, int64_t *extent)
{
    bool any = true;
    for (uint32_t d = 0; d < r->operand->rank; d++) {
        int64_t end = r->array->dims[d] - r->window[d];
        first[d] = r->window[d] < 0 ? -r->window[d] : 0;
        extent[d] = (end < r->block[d] ? end : r->block[d]) - first[d];
        any &= extent[d] > 0;
        tp_assert(first[d] >= 0 && extent[d] <= r->block[d] && r->window[d] + first[d] >= 0);
    }
    return any;
}

/* ---- windows ---- */

void tp_count_moved(tp_machine *m, uint32_t operand, int64_t elements, int64_t times, bool in)
{
    tp_traffic *moved = &m->stats.moved[operand];
    tp_assert(operand < tp_noperands(m->k) && elements >= 0);
    *(in ? &moved->fetches : &moved->writes) += times;
    *(in ? &moved->fetched : &moved->written) += elements * times;
}

int64_t tp_inner_elements(const tp_machine *m, const tp_ref *r)
{
    int64_t first[TP_MAX_RANK], extent[TP_MAX_RANK], n = 1;
    bool inside = tp_joined_steps(m, r) > 1; /* all of each of them */
    if (!inside && !tp_inner_part(r, first, extent))
        return 0;
    for (uint32_t d = 0; d < r->operand->rank; d++)
        n *= inside ? r->unit[d] : extent[d];
    return n;
}

void tp_count_transfer(tp_machine *m, const tp_ref *r, bool in, int64_t times)
{
    if (!m->request->counts || tp_is_far(r->operand))
        return;
    int64_t n = tp_inner_elements(m, r);
    *(in ? &m->stats.bytes_in : &m->stats.bytes_out) += times * n * (int64_t)tp_dtype_size(r->operand->dtype);
    tp_count_moved(m, (uint32_t)(r - m->refs), n, times, in);
    m->stats.in_place += r->cells.data != r->cells.own ? times : 0;
}

void tp_each_inner_row(tp_ref *r, tp_row_visitor visit, void *ctx)
{
    const tp_operand *o = r->operand;
    int64_t first[TP_MAX_RANK], extent[TP_MAX_RANK], at[TP_MAX_RANK] = {0};
    if (!tp_inner_part(r, first, extent))
        return;
    uint32_t last = o->rank ? o->rank - 1 : 0;
    for (;;) {
        size_t a = 0, w = 0;
        for (uint32_t d = 0; d < o->rank; d++) {
            a = a * (size_t)r->array->dims[d] + (size_t)(r->window[d] + first[d] + at[d]);
            w = w * (size_t)r->block[d] + (size_t)(first[d] + at[d]);
        }
        tp_assert(a + (o->rank ? (size_t)extent[last] : 1) <= r->array->n && w < r->cells.n);
        visit(r, a, w, o->rank ? (size_t)extent[last] : 1, ctx);
        uint32_t d = last;
        while (d-- > 0) {
            if (++at[d] < extent[d])
                break;
            at[d] = 0;
        }
        if (d == UINT32_MAX)
            return;
    }
}

tp_str tp_element_text(tp_machine *m, const tp_ref *r, size_t lane)
{
    int64_t at[TP_MAX_RANK];
    tp_buf b = {.arena = m->arena};
    for (uint32_t d = r->operand->rank; d-- > 0;) {
        at[d] = r->window[d] + (int64_t)(lane % (size_t)r->block[d]);
        lane /= (size_t)r->block[d];
    }
    tp_buf_printf(&b, "%.*s[", TP_FMT(r->operand->name));
    for (uint32_t d = 0; d < r->operand->rank; d++)
        tp_buf_printf(&b, "%s%lld", d ? ", " : "", (long long)at[d]);
    tp_buf_c(&b, "]");
    return tp_buf_view(&b);
}

int64_t tp_parallel_number(const tp_machine *m)
{
    int64_t n = 0; /* no larger than the grid */
    for (uint32_t a = 0; a < m->k->naxes; a++)
        if (m->k->axes[a].parallel)
            n = n * m->grid.steps[a] + m->env[m->k->axes[a].sym];
    return n;
}

/* ---- where windows lie ---- */

bool tp_window_is_cut(const tp_ref *r)
{
    for (uint32_t d = 0; d < r->operand->rank; d++)
        if (r->window[d] < 0 || r->window[d] + r->block[d] > r->array->dims[d])
            return true;
    return false;
}

/* A window that is a line of its array's memory, or rows at one distance, is not copied but looked at where it lies. */
void tp_find_place(const tp_machine *m, tp_ref *r)
{
    const tp_operand *o = r->operand;
    uint32_t d = 0, last = o->rank ? o->rank - 1 : 0;
    ptrdiff_t stride[TP_MAX_RANK], step = 1;
    bool line = true;
    while (d < o->rank && r->block[d] == 1)
        d++;
    for (d++; d < o->rank; d++)
        line &= r->block[d] == r->array->dims[d];
    r->in_place = !r->shared && !o->valid.id && !o->discard && r->array->n;
    if (!r->in_place || line)
        return;
    for (uint32_t x = o->rank; x-- > 0; step *= (ptrdiff_t)r->array->dims[x])
        stride[x] = step;
    r->in_place = o->role != TP_SCRATCH && tp_may_defer(m) && r->cells.rank &&
                  r->cells.dims[r->cells.rank - 1] == r->block[last] && r->block[last] >= tp_short_row(m) &&
                  tp_one_pitch(o->rank, r->block, stride, &r->pitch);
}

/* Another one is copied to memory of its own, zero at first, which is there from the first such window on. */
static void place_apart(tp_machine *m, tp_cells *c)
{
    if (!c->own)
        c->own = tp_alloc(m->arena, c->n * tp_dtype_size(c->dtype));
    c->data = c->own;
}

void tp_place_window(tp_machine *m, tp_ref *r)
{
    size_t first = 0;
    r->cells.viewed = false;
    if (!r->in_place || tp_window_is_cut(r)) {
        place_apart(m, &r->cells);
        return;
    }
    for (uint32_t d = 0; d < r->operand->rank; d++)
        first = first * (size_t)r->array->dims[d] + (size_t)r->window[d];
    r->cells.data = (char *)r->array->data + first * tp_dtype_size(r->operand->dtype);
    r->cells.viewed = r->pitch != 0;
    r->cells.pitch = r->pitch;
}

/* ---- outputs that go past the caches ---- */

static bool loads(const tp_statement *s, void *operand)
{
    const tp_inst *i = s->kind == TP_COMPUTE ? s->inst : NULL;
    return (i && i->access && i->access->operand == *(const uint32_t *)operand) ||
           (s->from && s->from->operand == *(const uint32_t *)operand);
}

/* Has its window another place at each step? */
static bool moves_each_step(const tp_machine *m, const tp_operand *o)
{
    for (uint32_t a = m->k->naxes; a-- > 0;) {
        bool any = false;
        for (uint32_t d = 0; d < o->rank; d++)
            any |= tp_expr_mentions(m->k->exprs, o->dims[d].index, m->k->axes[a].sym);
        if (any || m->grid.steps[a] > 1)
            return any;
    }
    return false;
}

void tp_streams_prepare(tp_machine *m)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < m->k->ninputs + m->k->noutputs; i++)
        bytes += m->refs[i].array->n * tp_dtype_size(m->refs[i].operand->dtype);
    bool many = bytes >= (m->request->last_cache ? m->request->last_cache : tp_last_cache());
    for (uint32_t i = m->k->ninputs; i < m->k->ninputs + m->k->noutputs; i++) {
        tp_ref *r = &m->refs[i];
        r->unread = r->in_place && !tp_is_far(r->operand) && !tp_region_any(m->body, loads, &i);
        r->streams = many && r->unread && moves_each_step(m, r->operand);
    }
}
