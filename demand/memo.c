/* What was found out: elements of values, steps. */
#include "base/assert.h"
#include "demand/internal.h"

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

static memo *slot(memo *at, size_t cap, uint32_t id, int64_t lane)
{
    size_t i = (size_t)mix((uint64_t)lane * 0xbf58476d1ce4e5b9u + id) & (cap - 1);
    while (at[i].id && (at[i].id != id || at[i].lane != lane))
        i = (i + 1) & (cap - 1);
    return &at[i];
}

scalar *demand_remembered(tp_demand *d, uint32_t id, int64_t lane)
{
    if (!d->memos_cap)
        return NULL;
    memo *m = slot(d->memos, d->memos_cap, id, lane);
    return m->id ? &m->value : NULL;
}

void demand_remember(tp_demand *d, uint32_t id, int64_t lane, scalar s)
{
    tp_assert(id && lane >= 0); /* 0 is "free" */
    if (2 * (d->nmemos + 1) > d->memos_cap) {
        size_t cap = d->memos_cap ? 2 * d->memos_cap : 1024;
        memo *at = TP_NEWN(d->arena, memo, cap);
        for (size_t i = 0; i < d->memos_cap; i++)
            if (d->memos[i].id)
                *slot(at, cap, d->memos[i].id, d->memos[i].lane) = d->memos[i];
        d->memos = at;
        d->memos_cap = cap;
    }
    memo *m = slot(d->memos, d->memos_cap, id, lane);
    d->nmemos += !m->id;
    *m = (memo){id, lane, s};
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
