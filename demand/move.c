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

/* How far a roll moves; false: that is undefined. */
static bool shift_of(tp_demand *d, const event *e, scalar *by)
{
    *by = demand_lane(d, e->args[1], 0);
    if (by->undefined)
        return false;
    if (!d->field && by->meant && by->plane[1])
        d->undecided = true;
    return true;
}

/* Index in a dimension of the argument of the element that lies at `at` in the result. */
static int64_t source_index(tp_demand *d, const tp_inst *i, uint32_t x, int64_t at, int64_t extent, int64_t shift)
{
    bool here = x == (uint32_t)i->integer;
    if (i->prim == TP_P_BROADCAST)
        return extent == 1 ? 0 : at;
    if (i->prim == TP_P_SLICE)
        return demand_size(d, i->starts[x]) + at * i->ints[x];
    if (i->prim == TP_P_TILE)
        return at % extent;
    if (i->prim == TP_P_REPEAT)
        return at / i->ints[x];
    if (i->prim == TP_P_FLIP)
        return here ? extent - 1 - at : at;
    if (i->prim == TP_P_ROLL)
        return here ? floor_mod(at - shift, extent) : at;
    demand_not_modelled(d, i->prim);
}

scalar demand_moved(tp_demand *d, const event *e, int64_t lane)
{
    const tp_inst *i = e->inst;
    const shape *out = &d->shapes[i->out], *from = i->nargs ? &d->shapes[i->args[0]] : out;
    int64_t at[TP_MAX_RANK] = {0}, source[TP_MAX_RANK] = {0};
    scalar shift = {0};
    demand_unravel(out, lane, at);
    if (i->prim == TP_P_IOTA)
        return along(d, e, at);
    if (i->prim == TP_P_TAKE)
        return taken(d, e, lane);
    if (i->prim == TP_P_CONCATENATE)
        return joined(d, e, at);
    if (i->prim == TP_P_PAD)
        return padded(d, e, at);
    if (i->prim == TP_P_ROLL && !shift_of(d, e, &shift))
        return shift;
    for (uint32_t x = 0; x < from->rank; x++)
        if (i->prim == TP_P_TRANSPOSE)
            source[i->ints[x]] = at[x];
        else
            source[x] = source_index(d, i, x, at[x], from->dims[x], (int64_t)shift.v);
    return demand_lane(d, e->args[0], demand_ravel(from, source));
}
