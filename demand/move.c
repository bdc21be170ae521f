/* Primitives that make, move and cut arrays: from which element a lane comes. */
#include "demand/internal.h"

static int64_t floor_mod(int64_t x, int64_t n)
{
    return (x % n + n) % n;
}

static scalar along(tp_demand *d, const event *e, const int64_t *at)
{
    const tp_inst *i = e->inst;
    int64_t v = at[i->integer];
    return demand_number(d->o.reference ? (double)v : demand_as_integer(demand_dtype(d, i->out), v));
}

bool demand_take_place(tp_demand *d, const event *e, int64_t lane, int64_t *place, scalar *index)
{
    const tp_inst *i = e->inst;
    const shape *from = &d->shapes[i->args[0]], *by = &d->shapes[i->args[1]];
    int64_t inner = 1, extent = from->dims[i->integer];
    for (uint32_t x = (uint32_t)i->integer + 1; x < from->rank; x++)
        inner *= from->dims[x];
    scalar k = *index = demand_lane(d, e->args[1], lane / inner % by->n);
    if (k.undefined)
        return false;
    if (!d->field && k.meant && k.plane[1]) /* a bound over 0 */
        d->undecided = true;
    if (k.v < 0 || k.v >= (double)extent)
        demand_give_up(d, TP_DEMAND_TRAP, "take of element %lld of %lld (TP102)", (long long)k.v, (long long)extent);
    *place = (lane / inner / by->n * extent + (int64_t)k.v) * inner + lane % inner;
    return true;
}

static scalar taken(tp_demand *d, const event *e, int64_t lane)
{
    scalar index;
    int64_t place;
    return demand_take_place(d, e, lane, &place, &index) ? demand_lane(d, e->args[0], place) : index;
}

static scalar joined(tp_demand *d, const event *e, int64_t *at)
{
    const tp_inst *i = e->inst;
    uint32_t part = 0;
    for (; at[i->integer] >= d->shapes[i->args[part]].dims[i->integer]; part++)
        at[i->integer] -= d->shapes[i->args[part]].dims[i->integer];
    return demand_lane(d, e->args[part], demand_ravel(&d->shapes[i->args[part]], at));
}

static scalar padded(tp_demand *d, const event *e, int64_t *at)
{
    const shape *from = &d->shapes[e->inst->args[0]];
    for (uint32_t x = 0; x < from->rank; x++) {
        at[x] -= demand_size(d, e->inst->starts[x]);
        if (at[x] < 0 || at[x] >= from->dims[x])
            return demand_lane(d, e->args[1], 0);
    }
    return demand_lane(d, e->args[0], demand_ravel(from, at));
}

scalar demand_moved(tp_demand *d, const event *e, int64_t lane)
{
    const tp_inst *i = e->inst;
    const shape *out = &d->shapes[i->out], *from = i->nargs ? &d->shapes[i->args[0]] : out;
    int64_t at[TP_MAX_RANK] = {0}, source[TP_MAX_RANK] = {0}, shift = 0;
    demand_unravel(out, lane, at);
    switch (i->prim) {
    case TP_P_IOTA: return along(d, e, at);
    case TP_P_TAKE: return taken(d, e, lane);
    case TP_P_CONCATENATE: return joined(d, e, at);
    case TP_P_PAD: return padded(d, e, at);
    case TP_P_ROLL: {
        scalar by = demand_lane(d, e->args[1], 0);
        if (by.undefined)
            return by;
        if (!d->field && by.meant && by.plane[1])
            d->undecided = true;
        shift = (int64_t)by.v;
        break;
    }
    default: break;
    }
    for (uint32_t x = 0; x < from->rank; x++)
        switch (i->prim) {
        case TP_P_TRANSPOSE: source[i->ints[x]] = at[x]; break;
        case TP_P_BROADCAST: source[x] = from->dims[x] == 1 ? 0 : at[x]; break;
        case TP_P_SLICE: source[x] = demand_size(d, i->starts[x]) + at[x] * i->ints[x]; break;
        case TP_P_TILE: source[x] = at[x] % from->dims[x]; break;
        case TP_P_REPEAT: source[x] = at[x] / i->ints[x]; break;
        case TP_P_FLIP: source[x] = x == (uint32_t)i->integer ? from->dims[x] - 1 - at[x] : at[x]; break;
        case TP_P_ROLL: source[x] = x == (uint32_t)i->integer ? floor_mod(at[x] - shift, from->dims[x]) : at[x]; break;
        default: demand_give_up(d, TP_DEMAND_OPEN, "`%s` is not modelled", tp_prim_info(i->prim)->name);
        }
    return demand_lane(d, e->args[0], demand_ravel(from, source));
}
