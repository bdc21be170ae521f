/* Products whose sums go to where they stay, r[...] = x + dot(a, b); products of float32 with one row or of one
 * term: of what waits there, rows are multiplied as they are computed; and those of which a mask leaves out whole rows,
 * which then are not computed. Each element is the sum of the same terms in the same order as by tp_exec_dot(). */
#include <math.h>

#include "base/vectorised.h"
#include "kernels/machine/internal.h"

/* ---- which products go straight into a sum ---- */

/* Is a product of these summed in its own dtype? */
static bool sums_as_it_is(const tp_cells *a, const tp_cells *b, const tp_cells *out)
{
    if (!tp_is_float(a->dtype))
        return out->dtype == TP_I32;
    return out->dtype == TP_F32 && a->dtype != TP_F64 && b->dtype != TP_F64;
}

/* Three statements that follow each other, and nobody else looks at product and sum. */
static void find_sums(tp_machine *m, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        find_sums(m, &s->test);
        find_sums(m, &s->body);
        find_sums(m, &s->orelse);
        if (n + 2 >= r->len || s->kind != TP_COMPUTE || s->inst->prim != TP_P_DOT || s[1].kind != TP_COMPUTE)
            continue;
        const tp_inst *product = s->inst, *sum = s[1].inst;
        const tp_vid *args = product->args;
        m->added[product->out] = sum->prim == TP_P_ADD && sum->args[1] == product->out && s[2].kind == TP_PUT &&
                                 s[2].value == sum->out && m->uses[product->out] == 1 && m->uses[sum->out] == 1 &&
                                 m->fixed[product->out] == TP_VARIES &&
                                 sums_as_it_is(&m->values[args[0]], &m->values[args[1]], &m->values[product->out]);
    }
}

/* ---- ... and which wait for the mask of a `where` ---- */

/* Places of a region that look at v, 2 for each that is no side of a `where`: in all, and at most on one way through,
 * where a loop may come to its own twice. */
typedef struct looks {
    uint32_t all, most;
} looks;

static looks looks_at(const tp_region *r, tp_vid v)
{
    looks sum = {0, 0};
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        uint32_t here = s->kind != TP_COMPUTE && s->value == v ? 2 : 0;
        for (uint32_t a = 0; s->kind == TP_COMPUTE && a < s->inst->nargs; a++)
            here += s->inst->args[a] != v ? 0 : s->inst->prim == TP_P_WHERE && a ? 1 : 2;
        looks test = looks_at(&s->test, v), body = looks_at(&s->body, v), other = looks_at(&s->orelse, v);
        uint32_t either = test.most + (body.most > other.most ? body.most : other.most);
        sum.all += here + test.all + body.all + other.all;
        sum.most += here + (s->kind == TP_LOOP || s->kind == TP_WHILE ? 2 * either : either);
    }
    return sum;
}

static void find_chosen(tp_machine *m, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        find_chosen(m, &s->test);
        find_chosen(m, &s->body);
        find_chosen(m, &s->orelse);
        if (s->kind != TP_COMPUTE || s->inst->prim != TP_P_DOT || m->fixed[s->inst->out] != TP_VARIES)
            continue;
        looks here = looks_at(r, s->inst->out);
        m->chosen[s->inst->out] = here.most == 1 && here.all == looks_at(m->body, s->inst->out).all;
    }
}

void tp_sums_prepare(tp_machine *m)
{
    m->added = TP_NEWN(m->arena, bool, m->k->body->values.len);
    m->chosen = TP_NEWN(m->arena, bool, m->k->body->values.len);
    find_sums(m, m->body);
    find_chosen(m, m->body);
}

/* ---- of float32, where an operand need not be there as a whole ---- */

static bool are_f32(const tp_machine *m, const tp_inst *i)
{
    bool all = i->prim == TP_P_DOT && !i->nbatch && i->ncontract == 1 && m->values[i->out].dtype == TP_F32;
    for (uint32_t a = 0; all && a < 2; a++) {
        const tp_cells *c = &m->values[i->args[a]];
        all = c->dtype == TP_F32 && c->rank == 2 && c->state == TP_CLEAN && c->n;
    }
    return all;
}

/* Its numbers, side by side. */
static const float *line(tp_machine *m, tp_vid v)
{
    tp_settle(m, v);
    tp_flatten(&m->values[v]);
    return m->values[v].data;
}

/* Rows that are there, each number times `by`: what is 1 changes none. */
typedef struct scaled_rows {
    const float *at;
    float by;
} scaled_rows;

/* Does v wait for rows that are there, side by side, times one number? Then it need not be computed. */
static bool is_scaled(const tp_machine *m, tp_vid v, scaled_rows *out)
{
    const tp_inst *i = m->values[v].waits;
    for (uint32_t a = 0; i && i->prim == TP_P_MUL && a < 2; a++) {
        const tp_cells *c = &m->values[i->args[a]], *by = &m->values[i->args[1 - a]];
        bool there = !c->waits && !by->waits && c->state == TP_CLEAN && by->state == TP_CLEAN;
        if (there && !c->viewed && tp_same_shape(c, &m->values[v]) && tp_is_single(by)) {
            *out = (scaled_rows){c->data, *(const float *)by->data};
            return true;
        }
    }
    return false;
}

/* Nobody looks at v again, which waited. */
static void forget(tp_machine *m, tp_vid v)
{
    if (m->uses[v] == 1)
        tp_end_waiting(m, &m->values[v]);
}

/* r += x[0] p[0][] + x[1] p[1][] + …, term by term. */
TP_VECTORISED_FMA static void add_rows(size_t n, size_t rows, const float *restrict x, scaled_rows from,
                                       float *restrict r)
{
    const float *restrict p = from.at;
    const float by = from.by;
    size_t t = 0;
    for (; t + 4 <= rows; t += 4, p += 4 * n)
        for (size_t j = 0; j < n; j++) {
            float sum = fmaf(x[t], p[j] * by, r[j]);
            sum = fmaf(x[t + 1], p[n + j] * by, sum);
            sum = fmaf(x[t + 2], p[2 * n + j] * by, sum);
            r[j] = fmaf(x[t + 3], p[3 * n + j] * by, sum);
        }
    for (; t < rows; t++, p += n)
        for (size_t j = 0; j < n; j++)
            r[j] = fmaf(x[t], p[j] * by, r[j]);
}

typedef struct row_product {
    const float *x;
    float *r;
} row_product;

static void multiply_rows(void *ctx, size_t row, size_t at, const void *data, size_t n, size_t rows)
{
    const row_product *p = ctx;
    add_rows(n, rows, p->x + row, (scaled_rows){data, 1}, p->r + at);
}

bool tp_sum_of_rows(tp_machine *m, const tp_inst *i)
{
    if (i->prim != TP_P_DOT || !are_f32(m, i) || !m->values[i->args[1]].waits || i->ints[1] != 0)
        return false;
    const tp_cells *x = &m->values[i->args[0]], *w = &m->values[i->args[1]];
    tp_cells *out = &m->values[i->out];
    if ((int64_t)x->n != w->dims[0]) /* more rows than one */
        return false;
    row_product p = {line(m, i->args[0]), out->own};
    scaled_rows scaled;
    memset(p.r, 0, out->n * sizeof *p.r);
    if (is_scaled(m, i->args[1], &scaled)) {
        add_rows(out->n, x->n, p.x, scaled, p.r);
        forget(m, i->args[1]);
    } else if (!tp_fuse_reads(m, i->args[1], 1, multiply_rows, &p)) {
        return false;
    }
    tp_spend(m->arena, (int64_t)(out->n / 64 * x->n));
    out->data = out->own;
    out->viewed = false;
    out->state = TP_CLEAN;
    return true;
}

/* Rows of `to`: to[i][] = p[i][] + x[i] y[], where p may be `to`. */
TP_VECTORISED_FMA static void add_term(size_t n, size_t rows, const float *restrict x, const float *restrict y,
                                       scaled_rows from, float *restrict to, size_t pitch)
{
    const float *restrict p = from.at;
    const float by = from.by;
    bool there = p == to;
    for (size_t i = 0; i < rows; i++, to += pitch) {
        for (size_t j = 0; there && j < n; j++)
            to[j] = to[j] * by + fmaf(x[i], y[j], 0);
        for (size_t j = 0; !there && j < n; j++)
            to[j] = p[i * n + j] * by + fmaf(x[i], y[j], 0);
    }
}

typedef struct outer_product {
    const float *x, *y;
    float *to;
    size_t n; /* of a row */
} outer_product;

static void add_outer(void *ctx, size_t row, size_t at, const void *data, size_t n, size_t rows)
{
    const outer_product *o = ctx;
    add_term(n, rows, o->x + row, o->y + at, (scaled_rows){data, 1}, o->to + row * o->n + at, o->n);
}

/* to = base + a product of one term. `base` may wait, for what lies in `to`, too: each element is read before it is
 * written. */
static bool add_one_term(tp_machine *m, tp_vid base, const tp_inst *product, tp_cells *to)
{
    if (!are_f32(m, product) || m->values[product->args[0]].dims[product->ints[0]] != 1)
        return false;
    outer_product o = {line(m, product->args[0]), line(m, product->args[1]), to->data, m->values[product->args[1]].n};
    const tp_cells *old = &m->values[base];
    for (uint32_t a = 0; a < 2; a++)
        if (tp_overlap(&m->values[product->args[a]], to))
            return false;
    if (to->viewed || !tp_same_shape(old, to) || old->dtype != to->dtype || old->state != TP_CLEAN)
        return false;
    scaled_rows from = {old->data, 1};
    bool scaled = old->waits && is_scaled(m, base, &from);
    if (old->waits && !scaled)
        return !tp_fuse_disturbs(m, base, to) && tp_fuse_reads(m, base, 1, add_outer, &o);
    tp_cells lie = *to; /* as what is read does */
    lie.data = tp_writable(from.at);
    if ((!scaled && old->viewed) || (from.at != to->data && tp_overlap(&lie, to)))
        return false;
    add_term(o.n, old->n / o.n, o.x, o.y, from, o.to, o.n);
    if (scaled)
        forget(m, base);
    return true;
}

/* ---- r[...] = x + dot(a, b) ---- */

bool tp_sum_awaits(tp_machine *m, const tp_inst *i)
{
    if (i->prim != TP_P_DOT || !m->added ||
        !(m->added[i->out] || (m->chosen[i->out] && are_f32(m, i) && i->ints[0] == 1)))
        return false;
    tp_cells *out = &m->values[i->out];
    uint32_t n = tp_count_waiting(m, i);
    for (uint32_t a = 0; a < 2; a++)
        if (m->values[i->args[a]].state != TP_CLEAN || m->assigned[i->args[a]])
            return false;
    if (n > TP_MOST_WAITING)
        return false;
    out->state = TP_CLEAN;
    tp_begin_waiting(m, out, i, n);
    return true;
}

static void end_sum(tp_machine *m, tp_vid v, const tp_inst *product, tp_cells *to)
{
    tp_end_waiting(m, &m->values[v]);
    tp_end_waiting(m, &m->values[product->out]);
    to->state = TP_CLEAN;
}

bool tp_sum_stores(tp_machine *m, tp_vid v, tp_cells *to)
{
    const tp_inst *sum = m->values[v].waits,
                  *product = sum && sum->prim == TP_P_ADD ? m->values[sum->args[1]].waits : NULL;
    if (!product || !m->added || !m->added[product->out])
        return false;
    if (add_one_term(m, sum->args[0], product, to)) {
        tp_spend(m->arena, (int64_t)(to->n / 64));
        end_sum(m, v, product, to);
        return true;
    }
    tp_settle(m, sum->args[0]);
    const tp_cells *old = &m->values[sum->args[0]];
    bool there = !old->viewed && !to->viewed && tp_same_shape(old, to) && old->dtype == to->dtype &&
                 old->state == TP_CLEAN && (old->data == to->data || !tp_overlap(old, to));
    for (uint32_t a = 0; there && a < 2; a++) {
        tp_settle(m, product->args[a]);
        there &= !tp_overlap(&m->values[product->args[a]], to);
    }
    if (!there)
        return false;
    tp_add_dot(m, product, old->data, to->data);
    end_sum(m, v, product, to);
    return true;
}

/* ---- where(mask, dot(a, b), x) ---- */

enum { LEAST_WORK = 64 }; /* terms of an element: a mask that waits is looked at by itself then */

/* Does the mask choose an element of row r that is `wanted`? */
static bool any_chosen(const tp_cells *mask, size_t r, bool wanted)
{
    size_t n = mask->flat_row && mask->viewed ? 1 : (size_t)mask->dims[1];
    const uint8_t *at = (const uint8_t *)mask->data + (ptrdiff_t)r * (mask->viewed ? mask->pitch : mask->dims[1]);
    unsigned any = 0;
    for (size_t j = 0; j < n; j++)
        any |= (at[j] != 0) == wanted;
    return any;
}

bool tp_product_of_rows(tp_machine *m, const tp_inst *where, uint32_t side)
{
    tp_vid v = where->args[side];
    tp_cells *out = &m->values[v];
    const tp_inst *product = out->waits;
    if (where->prim != TP_P_WHERE || !side || !product || product->prim != TP_P_DOT || !m->chosen[v])
        return false;
    const tp_cells *mask = &m->values[where->args[0]], *a = &m->values[product->args[0]];
    if (a->dims[1] < LEAST_WORK || !tp_same_shape(mask, out) || m->assigned[where->args[0]])
        return false;
    tp_settle(m, where->args[0]);
    tp_settle(m, product->args[0]);
    tp_settle(m, product->args[1]);
    size_t rows = (size_t)out->dims[0], row = (size_t)out->dims[1] * sizeof(float), first = 0, end = rows;
    while (first < end && !any_chosen(mask, first, side == 1))
        first++;
    while (end > first && !any_chosen(mask, end - 1, side == 1))
        end--;
    tp_end_waiting(m, out);
    out->data = out->own;
    out->viewed = false;
    out->state = TP_CLEAN;
    memset(out->own, 0, first * row);
    memset((char *)out->own + end * row, 0, (rows - end) * row);
    tp_dot_rows(m, product, first, end - first);
    return true;
}
