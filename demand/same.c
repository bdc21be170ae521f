/* Along which dimensions, and in which steps, a value is the same everywhere: what was found out
 * about one of its elements holds for all that lie there. It follows from the
 * instructions alone, whatever arrays hold. */
#include "demand/internal.h"

static uint32_t all_of(const shape *s)
{
    return (1u << s->rank) - 1;
}

/* Of an argument that goes lane by lane with a result of this shape. */
static uint32_t along(const tp_demand *d, tp_vid v, const shape *out)
{
    return d->shapes[v].n == 1 ? all_of(out) : d->shapes[v].rank == out->rank ? d->same[v] : 0;
}

static uint32_t of_moved(const tp_demand *d, const tp_inst *i)
{
    const shape *from = &d->shapes[i->args[0]];
    uint32_t mask = 0, in = d->same[i->args[0]];
    for (uint32_t x = 0; x < from->rank && x < d->shapes[i->out].rank; x++) {
        uint32_t source = i->prim == TP_P_TRANSPOSE ? (uint32_t)i->ints[x] : x;
        if (in >> source & 1 || (i->prim == TP_P_BROADCAST && from->dims[x] == 1))
            mask |= 1u << x;
    }
    return mask;
}

/* Is dimension x of this side one of the first `upto` pairs? *pair says which. */
static bool is_paired(const tp_inst *i, uint32_t side, uint32_t x, uint32_t *pair)
{
    for (*pair = 0; *pair < i->ncontract + i->nbatch; ++*pair)
        if (i->ints[2 * *pair + side] == (int64_t)x)
            return true;
    return false;
}

/* What is left of a, then of b, comes after the batch. */
static uint32_t of_dot(const tp_demand *d, const tp_inst *i)
{
    uint32_t mask = 0, next = i->nbatch, pair;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t x = 0; x < d->shapes[i->args[side]].rank; x++)
            if (!is_paired(i, side, x, &pair)) {
                mask |= (d->same[i->args[side]] >> x & 1) << next;
                next++;
            }
    return mask;
}

static uint32_t of_inst(const tp_demand *d, const tp_inst *i)
{
    const shape *out = &d->shapes[i->out];
    uint32_t mask = all_of(out);
    if (i->prim == TP_P_IOTA)
        return mask & ~(1u << i->integer);
    if (i->prim == TP_P_BROADCAST || i->prim == TP_P_TRANSPOSE || i->prim == TP_P_SLICE)
        return of_moved(d, i);
    if (i->prim == TP_P_DOT)
        return of_dot(d, i);
    if (i->prim != TP_P_WHERE && demand_model(i->prim) != MODEL_LANES)
        return 0;
    for (uint32_t a = 0; a < i->nargs; a++)
        mask &= along(d, i->args[a], out);
    return i->nargs ? mask : 0;
}

/* Made of indices and constants alone. */
static bool is_timeless(const tp_demand *d, const tp_inst *i)
{
    bool own = i->prim == TP_P_WHERE || i->prim == TP_P_DOT || i->prim == TP_P_RESHAPE || i->prim == TP_P_NUM_PROGRAMS;
    model m = demand_model(i->prim);
    if (m == MODEL_NONE || (m == MODEL_OWN && !own))
        return false;
    for (uint32_t a = 0; a < i->nargs; a++)
        if (!d->timeless[i->args[a]])
            return false;
    return true;
}

static void find_in(tp_demand *d, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (s->kind == TP_COMPUTE) {
            d->same[s->inst->out] = of_inst(d, s->inst);
            d->timeless[s->inst->out] = is_timeless(d, s->inst);
        }
        find_in(d, &s->test);
        find_in(d, &s->body);
        find_in(d, &s->orelse);
    }
}

void demand_find_same(tp_demand *d)
{
    for (uint32_t v = 0; v < d->p->values.len; v++) /* constants that no instruction makes */
        d->timeless[v] = d->p->values.at[v].dtype == TP_WEAK_INT && !d->p->values.at[v].variable;
    find_in(d, &d->p->statements);
}

int64_t demand_first_same(const tp_demand *d, tp_vid v, int64_t lane)
{
    const shape *s = &d->shapes[v];
    int64_t at[TP_MAX_RANK] = {0};
    if (!d->same[v])
        return lane;
    demand_unravel(s, lane, at);
    for (uint32_t x = 0; x < s->rank; x++)
        if (d->same[v] >> x & 1)
            at[x] = 0;
    return demand_ravel(s, at);
}
