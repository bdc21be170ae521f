/* What was found out: elements of values, steps. */
#include "base/assert.h"
#include "demand/internal.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

static memo *memo_at(const memos *m, size_t number)
{
    return &m->part[number / MEMO_PART][number % MEMO_PART];
}

static uint32_t *slot(const memos *m, uint32_t id, int64_t lane)
{
    size_t i = (size_t)mix((uint64_t)lane * 0xbf58476d1ce4e5b9u + id) & (m->cap - 1);
    for (; m->number[i]; i = (i + 1) & (m->cap - 1)) {
        const memo *x = memo_at(m, m->number[i] - 1);
        if (x->id == id && x->lane == lane)
            break;
    }
    return &m->number[i];
}

scalar *demand_remembered(tp_demand *d, uint32_t id, int64_t lane)
{
    uint32_t *number = d->memos.cap ? slot(&d->memos, id, lane) : NULL;
    return number && *number ? &memo_at(&d->memos, *number - 1)->value : NULL;
}

static void grow_table(tp_demand *d)
{
    memos *m = &d->memos;
    m->cap = m->cap ? 2 * m->cap : 1024;
    m->number = TP_NEWN(d->arena, uint32_t, m->cap);
    for (size_t i = 0; i < m->n; i++)
        *slot(m, memo_at(m, i)->id, memo_at(m, i)->lane) = (uint32_t)i + 1;
}

static void add_part(tp_demand *d)
{
    memos *m = &d->memos;
    size_t parts = m->n / MEMO_PART;
    if (parts == m->parts_cap) {
        memo **at = TP_NEWN(d->arena, memo *, parts ? 2 * parts : 8);
        if (parts)
            memcpy(at, m->part, parts * sizeof *at);
        m->part = at;
        m->parts_cap = parts ? 2 * parts : 8;
    }
    m->part[parts] = tp_alloc_unset(d->arena, MEMO_PART * sizeof **m->part);
}

void demand_remember(tp_demand *d, uint32_t id, int64_t lane, scalar s)
{
    memos *m = &d->memos;
    tp_assert(id && lane >= 0 && m->n < UINT32_MAX); /* 0 is nobody */
    if (2 * (m->n + 1) > m->cap)
        grow_table(d);
    uint32_t *number = slot(m, id, lane);
    if (!*number) {
        if (m->n % MEMO_PART == 0)
            add_part(d);
        *number = (uint32_t)++m->n;
    }
    *memo_at(m, *number - 1) = (memo){id, lane, s};
}

static moment **place_of(moment **at, size_t cap, int64_t number)
{
    size_t i = (size_t)mix((uint64_t)number + 1) & (cap - 1);
    while (at[i] && at[i]->number != number)
        i = (i + 1) & (cap - 1);
    return &at[i];
}

moment *demand_moment(tp_demand *d, int64_t number)
{
    uint32_t n = tp_noperands(d->k);
    tp_assert(number >= 0 && number < d->total);
    if (2 * (d->nmoments + 1) > d->moments_cap) {
        size_t cap = d->moments_cap ? 2 * d->moments_cap : 64;
        moment **at = TP_NEWN(d->arena, moment *, cap);
        for (size_t i = 0; i < d->moments_cap; i++)
            if (d->moments[i])
                *place_of(at, cap, d->moments[i]->number) = d->moments[i];
        d->moments = at;
        d->moments_cap = cap;
    }
    moment **place = place_of(d->moments, d->moments_cap, number);
    if (*place)
        return *place;
    moment *m = TP_NEW(d->arena, moment);
    m->number = number;
    for (uint32_t a = d->k->naxes; a-- > 0; number /= d->steps[a])
        m->at[a] = number % d->steps[a];
    m->window = tp_alloc_array(d->arena, n + 1, sizeof *m->window);
    m->placed = TP_NEWN(d->arena, bool, n + 1);
    m->last = TP_NEWN(d->arena, const event *, n + 1);
    m->id = d->ids;
    d->ids += n;
    d->nmoments++;
    *place = m;
    demand_charge(d, 1);
    return m;
}
