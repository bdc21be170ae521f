/* Steps of the grid and where windows stand in them. */
#include "base/checked.h"
#include "demand/internal.h"

bool demand_parallel_changed(const tp_demand *d, const moment *a, const moment *b)
{
    for (uint32_t x = 0; x < d->k->naxes; x++)
        if (d->k->axes[x].parallel && a->at[x] != b->at[x])
            return true;
    return false;
}

int64_t demand_sequential_number(const tp_demand *d, const moment *m)
{
    int64_t n = 0;
    for (uint32_t x = 0; x < d->k->naxes; x++)
        if (!d->k->axes[x].parallel)
            n = n * d->steps[x] + m->at[x];
    return n;
}

/* Start of dimension `dim` of a window, in elements; the coordinates of the step are in env. */
static int64_t start_of(tp_demand *d, uint32_t operand, uint32_t dim)
{
    const tp_operand *o = &d->k->operands[operand];
    const tp_dim *x = &o->dims[dim];
    int64_t index = demand_size(d, x->index), start, extent = d->arrays[operand].dims[dim],
            block = d->blocks[operand].dims[dim];
    demand_charge(d, 1);
    if (x->kind == TP_DIM_ELEMENT && tp_sub(index, demand_size(d, x->pad_lo), &start))
        return start;
    if (x->kind == TP_DIM_ELEMENT || !tp_mul(index, block, &start) || start < 0 ||
        (start >= extent && !(o->whole && start == 0)))
        demand_give_up(d, TP_DEMAND_TRAP,
                       "block %lld of dimension %u of `%.*s` lies outside (" TP_RULE_BLOCK_OUT_OF_BOUNDS ")",
                       (long long)index, tp_global_dim(o, dim), TP_FMT(o->name));
    return start;
}

const int64_t *demand_window(tp_demand *d, moment *m, uint32_t operand)
{
    if (m->placed[operand])
        return m->window[operand];
    for (uint32_t x = 0; x < d->k->naxes; x++)
        d->env[d->k->axes[x].sym] = m->at[x];
    for (uint32_t i = 0; i < d->arrays[operand].rank; i++) {
        int64_t start = start_of(d, operand, i);
        m->window[operand][i] = start;
        if (start >= d->arrays[operand].dims[i] + (d->k->operands[operand].whole ? 1 : 0) ||
            start + d->blocks[operand].dims[i] + (d->k->operands[operand].whole ? 1 : 0) <= 0)
            demand_give_up(d, TP_DEMAND_TRAP, "a window of `%.*s` misses its array (" TP_RULE_BLOCK_OUT_OF_BOUNDS ")",
                           TP_FMT(d->k->operands[operand].name));
    }
    m->placed[operand] = true;
    return m->window[operand];
}

/* Steps that follow each other with the same window, in one order. */
bool demand_same_run(tp_demand *d, uint32_t operand, moment *a, moment *b)
{
    const int64_t *x = demand_window(d, a, operand), *y = demand_window(d, b, operand);
    return memcmp(x, y, d->arrays[operand].rank * sizeof *x) == 0 &&
           (tp_is_far(&d->k->operands[operand]) || !demand_parallel_changed(d, a, b));
}

/* ---- which step covers an element? ---- */

typedef struct search {
    tp_demand *d;
    uint32_t operand;
    const int64_t *at;
    int64_t limit[TP_MAX_AXES];  /* coordinates of the last step that may be found */
    uint32_t needs[TP_MAX_RANK]; /* by dimension: 1 + the last axis that its index map speaks of; 0: none */
    bool mentioned[TP_MAX_AXES];
} search;

static bool covers(search *s, uint32_t axes)
{
    tp_demand *d = s->d;
    for (uint32_t i = 0; i < d->arrays[s->operand].rank; i++) {
        if (s->needs[i] != axes)
            continue;
        int64_t start = start_of(d, s->operand, i);
        if (s->at[i] < start || s->at[i] >= start + d->blocks[s->operand].dims[i])
            return false;
    }
    return true;
}

/* Is there a dimension whose block number is this axis? Then its coordinate is known. */
static bool known_coordinate(const search *s, uint32_t axis, int64_t *coordinate)
{
    const tp_operand *o = &s->d->k->operands[s->operand];
    for (uint32_t i = 0; i < o->rank; i++) {
        const tp_expr_node *n = tp_expr_get(s->d->k->exprs, o->dims[i].index);
        if (o->dims[i].kind == TP_DIM_ELEMENT || n->op != TP_E_SYM || (uint32_t)n->value != s->d->k->axes[axis].sym ||
            s->d->blocks[s->operand].dims[i] < 1)
            continue;
        *coordinate = s->at[i] / s->d->blocks[s->operand].dims[i];
        return true;
    }
    return false;
}

/* The largest coordinates from `axis` on, the ones before it being in env. */
static bool descend(search *s, uint32_t axis, bool tight, int64_t *found)
{
    tp_demand *d = s->d;
    if (axis == d->k->naxes)
        return true;
    int64_t high = tight ? s->limit[axis] : d->steps[axis] - 1, known = 0;
    bool one = known_coordinate(s, axis, &known);
    if (one && known > high)
        return false;
    for (int64_t c = one ? known : high, tries = 0; c >= 0; c--, tries++) {
        if ((one && c != known) || (!s->mentioned[axis] && tries > (tight ? 1 : 0)))
            return false;
        demand_charge(d, 1);
        d->env[d->k->axes[axis].sym] = found[axis] = c;
        if (covers(s, axis + 1) && descend(s, axis + 1, tight && c == s->limit[axis], found))
            return true;
    }
    return false;
}

int64_t demand_last_covering(tp_demand *d, uint32_t operand, const int64_t *at, int64_t until)
{
    const tp_operand *o = &d->k->operands[operand];
    search s = {.d = d, .operand = operand, .at = at};
    int64_t found[TP_MAX_AXES] = {0}, number = 0;
    if (until < 0 || d->total == 0)
        return -1;
    for (uint32_t x = d->k->naxes; x-- > 0; until /= d->steps[x])
        s.limit[x] = until % d->steps[x];
    for (uint32_t i = 0; i < o->rank; i++)
        for (uint32_t x = 0; x < d->k->naxes; x++)
            if (tp_expr_mentions(d->k->exprs, o->dims[i].index, d->k->axes[x].sym) ||
                (o->dims[i].kind == TP_DIM_ELEMENT &&
                 tp_expr_mentions(d->k->exprs, o->dims[i].pad_lo, d->k->axes[x].sym))) {
                s.needs[i] = x + 1;
                s.mentioned[x] = true;
            }
    if (!covers(&s, 0) || !descend(&s, 0, true, found))
        return -1;
    for (uint32_t x = 0; x < d->k->naxes; x++)
        number = number * d->steps[x] + found[x];
    return number;
}
