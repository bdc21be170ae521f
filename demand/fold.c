/* Reductions, running reductions and dot: what adds up many elements. */
#include <math.h>

#include "demand/internal.h"
#include "domains/residue.h"

/* A row whose maximum is this or less consists of masks. */
static const double FINITE_MASK = -1e29;

/* Elements side by side, as a domain wants them. */
struct buffer {
    buffer *next;
    double *v;
    uint64_t *plane[TP_MAX_PLANES];
    int log;
};

static buffer *take_buffer(tp_demand *d, int64_t n)
{
    int log = 4;
    while (log < 47 && (int64_t)1 << log < n)
        log++;
    buffer *b = d->rooms[log];
    if (b) {
        d->rooms[log] = b->next;
        return b;
    }
    b = TP_NEW(d->arena, buffer);
    b->log = log;
    b->v = TP_NEWN(d->arena, double, (size_t)1 << log);
    for (int p = 0; p < TP_MAX_PLANES; p++)
        b->plane[p] = TP_NEWN(d->arena, uint64_t, (size_t)1 << log);
    return b;
}

static void give_back(tp_demand *d, buffer *b)
{
    b->next = d->rooms[b->log];
    d->rooms[b->log] = b;
}

static void put(const tp_demand *d, buffer *b, int64_t n, const scalar *s, tp_dtype t)
{
    b->v[n] = s->v;
    for (int p = 0; p < TP_MAX_PLANES && s->meant; p++)
        b->plane[p][n] = s->plane[p];
    if (!s->meant) {
        void *planes[TP_MAX_PLANES] = {&b->plane[0][n], &b->plane[1][n]};
        d->domain->exact(d->domain, &(tp_lanes){.dtype = t, .stored = TP_F64, .n = 1, .data = &b->v[n]}, planes);
    }
}

static tp_lanes lanes_of_buffer(buffer *b, tp_dtype t, int64_t n, bool meant)
{
    tp_lanes x = {.dtype = t, .stored = TP_F64, .n = (size_t)n, .data = b->v};
    for (int p = 0; p < TP_MAX_PLANES && meant; p++)
        x.plane[p] = b->plane[p];
    return x;
}

static tp_lanes result_lanes(scalar *s, tp_dtype t)
{
    return (tp_lanes){.dtype = t, .stored = TP_F64, .n = 1, .data = &s->v, .plane = {&s->plane[0], &s->plane[1]}};
}

/* ---- which elements ---- */

static void strides_of(const shape *s, int64_t *stride)
{
    int64_t n = 1;
    for (uint32_t i = s->rank; i-- > 0; n *= s->dims[i])
        stride[i] = n;
}

/* Offsets of all positions along the named dimensions, in order. */
static int64_t *offsets(tp_demand *d, const shape *s, const uint32_t *dims, uint32_t n, int64_t *count)
{
    int64_t stride[TP_MAX_RANK], total = 1;
    strides_of(s, stride);
    for (uint32_t i = 0; i < n; i++)
        total *= s->dims[dims[i]];
    demand_charge(d, total);
    int64_t *r = TP_NEWN(d->arena, int64_t, total + 1);
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i;
        for (uint32_t x = n; x-- > 0; rest /= s->dims[dims[x]])
            r[i] += rest % s->dims[dims[x]] * stride[dims[x]];
    }
    *count = total;
    return r;
}

static double fold(tp_prim p, double acc, double v)
{
    if (p == TP_P_SUM)
        return acc + v;
    if (p == TP_P_PROD)
        return acc * v;
    if (p == TP_P_MAX)
        return acc > v || isnan(acc) ? acc : v;
    if (p == TP_P_MIN)
        return acc < v || isnan(acc) ? acc : v;
    if (p == TP_P_ANY)
        return acc != 0 || v != 0;
    return p == TP_P_ALL ? acc != 0 && v != 0 : (double)NAN;
}

/* One more in the type in which the machine adds up; a reference does it in double. */
static double fold_as(const tp_demand *d, tp_prim p, tp_dtype t, double acc, double v)
{
    bool arithmetic = p == TP_P_SUM || p == TP_P_PROD, round = arithmetic && !d->o.reference;
    if (round && tp_is_float(t) && t != TP_F64)
        return (double)(p == TP_P_SUM ? (float)acc + (float)v : (float)acc * (float)v);
    if (round && !tp_is_float(t))
        return (double)(int32_t)(p == TP_P_SUM ? (uint64_t)(int64_t)acc + (uint64_t)(int64_t)v
                                               : (uint64_t)(int64_t)acc * (uint64_t)(int64_t)v);
    return fold(p, acc, v);
}

/* A folded number as an element of a value of type t. */
static double settled(const tp_demand *d, tp_dtype t, double v)
{
    return d->o.reference ? v : tp_is_float(t) ? demand_as_dtype(t, v) : demand_as_integer(t, (int64_t)v);
}

/* ---- reductions ---- */

static plan *reduction_plan(tp_demand *d, const tp_inst *i)
{
    plan *p = d->plans[i->out];
    uint32_t dims[TP_MAX_RANK], n = 0;
    if (p)
        return p;
    p = TP_NEW(d->arena, plan);
    for (uint32_t x = 0; x < d->shapes[i->args[0]].rank; x++)
        for (uint32_t k = 0; k < i->nints; k++)
            if (i->ints[k] == (int64_t)x) {
                dims[n++] = x;
                break;
            }
    p->a = offsets(d, &d->shapes[i->args[0]], dims, n, &p->n);
    p->order = TP_NEWN(d->arena, size_t, p->n + 1);
    for (int64_t at = 0; at < p->n; at++)
        p->order[at] = (size_t)at;
    return d->plans[i->out] = p;
}

/* Lane of the argument at which the elements of an output lane begin. */
static int64_t group_of(const tp_demand *d, const tp_inst *i, int64_t lane)
{
    const shape *a = &d->shapes[i->args[0]], *out = &d->shapes[i->out];
    int64_t at[TP_MAX_RANK] = {0}, from[TP_MAX_RANK] = {0};
    uint32_t next = 0;
    demand_unravel(out, lane, at);
    for (uint32_t x = 0; x < a->rank; x++) {
        bool gone = false;
        for (uint32_t k = 0; k < i->nints; k++)
            gone |= i->ints[k] == (int64_t)x;
        if (!gone || out->rank == a->rank)
            from[x] = gone ? 0 : at[next];
        next += !gone || out->rank == a->rank;
    }
    return demand_ravel(a, from);
}

static scalar best_place(tp_demand *d, const event *e, int64_t base, const plan *p)
{
    const tp_inst *i = e->inst;
    double best = 0;
    int64_t place = 0;
    if (p->n == 0)
        demand_give_up(d, TP_DEMAND_TRAP, "argmax or argmin over no elements (" TP_RULE_EXTENT ")");
    for (int64_t n = 0; n < p->n; n++) {
        scalar s = demand_lane(d, e->args[0], base + p->a[n]);
        if (s.undefined)
            return s;
        if (n == 0 || (!isnan(best) && (isnan(s.v) || (i->prim == TP_P_ARGMAX ? s.v > best : s.v < best)))) {
            best = s.v;
            place = n;
        }
    }
    if (!d->field)
        d->undecided = true;
    return demand_number((double)place);
}

scalar demand_reduction(tp_demand *d, const event *e, int64_t lane)
{
    const tp_inst *i = e->inst;
    const plan *p = reduction_plan(d, i);
    tp_dtype t = demand_dtype(d, i->args[0]), out = demand_dtype(d, i->out);
    int64_t base = group_of(d, i, lane);
    bool meant = false;
    if (i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN)
        return best_place(d, e, base, p);
    double acc = i->prim == TP_P_PROD || i->prim == TP_P_ALL ? 1
                 : i->prim == TP_P_MAX ? (tp_is_float(t) || d->o.reference ? -HUGE_VAL : (double)tp_dtype_min(t))
                 : i->prim == TP_P_MIN ? (tp_is_float(t) || d->o.reference ? HUGE_VAL : (double)tp_dtype_max(t))
                                       : 0;
    buffer *b = take_buffer(d, p->n);
    for (int64_t n = 0; n < p->n; n++) {
        scalar s = demand_lane(d, e->args[0], base + p->a[n]);
        if (s.undefined) {
            give_back(d, b);
            return s;
        }
        acc = fold_as(d, i->prim, t, acc, s.v);
        put(d, b, n, &s, t);
        meant |= s.meant;
    }
    d->masked |= i->prim == TP_P_MAX && tp_is_float(t) && acc <= FINITE_MASK;
    scalar s = demand_number(settled(d, out, acc));
    if (meant) {
        size_t zero = 0;
        tp_lanes x = lanes_of_buffer(b, t, p->n, true), r = result_lanes(&s, out);
        s.meant = d->domain->reduce(d->domain, i->prim, &r, &x,
                                    &(tp_groups){.nout = 1, .nin = (size_t)p->n, .base = &zero, .offset = p->order});
    }
    give_back(d, b);
    return s;
}

/* ---- running reductions ---- */

static scalar one_more(tp_demand *d, const tp_inst *i, const scalar *so_far, const scalar *next)
{
    tp_prim p = tp_prim_of(i->prim);
    tp_dtype t = demand_dtype(d, i->args[0]), out = demand_dtype(d, i->out);
    if (so_far->undefined || next->undefined)
        return so_far->undefined ? *so_far : *next;
    scalar s = demand_number(settled(d, out, fold_as(d, p, t, so_far->v, next->v)));
    if (!so_far->meant && !next->meant)
        return s;
    buffer *in = take_buffer(d, 2), *to = take_buffer(d, 2);
    put(d, in, 0, so_far, t);
    put(d, in, 1, next, t);
    to->v[0] = so_far->v;
    to->v[1] = s.v;
    tp_lanes x = lanes_of_buffer(in, t, 2, true), r = lanes_of_buffer(to, out, 2, true);
    s.meant = d->domain->scan(d->domain, p, &r, &x, 0, 1, 2);
    for (int n = 0; n < TP_MAX_PLANES; n++)
        s.plane[n] = to->plane[n][1];
    give_back(d, in);
    give_back(d, to);
    return s;
}

/* The fold up to an element is that up to the one before it and itself: from
 * the last one that is known on. */
scalar demand_running(tp_demand *d, const event *e, int64_t lane)
{
    const shape *a = &d->shapes[e->inst->args[0]];
    int64_t at[TP_MAX_RANK] = {0}, axis = e->inst->ints[0], step = e->inst->reverse ? -1 : 1;
    demand_unravel(a, lane, at);
    int64_t end = at[axis], first = e->inst->reverse ? a->dims[axis] - 1 : 0;
    scalar *hit = NULL, s;
    while (!hit && at[axis] != first) {
        demand_charge(d, 1);
        at[axis] -= step;
        hit = demand_remembered(d, e->id, demand_ravel(a, at));
    }
    s = hit ? *hit : demand_lane(d, e->args[0], demand_ravel(a, at));
    if (!hit && !s.undefined)
        s.v = settled(d, demand_dtype(d, e->inst->out), s.v);
    while (at[axis] != end) {
        if (!hit)
            demand_remember(d, e->id, demand_ravel(a, at), s);
        hit = NULL;
        at[axis] += step;
        scalar next = demand_lane(d, e->args[0], demand_ravel(a, at));
        s = one_more(d, e->inst, &s, &next);
    }
    return s;
}

/* ---- dot ---- */

static plan *dot_plan(tp_demand *d, const tp_inst *i)
{
    plan *p = d->plans[i->out];
    uint32_t dims[2][TP_MAX_RANK];
    if (p)
        return p;
    p = TP_NEW(d->arena, plan);
    for (uint32_t n = 0; n < i->ncontract; n++)
        for (int side = 0; side < 2; side++)
            dims[side][n] = (uint32_t)i->ints[2 * n + (uint32_t)side];
    p->a = offsets(d, &d->shapes[i->args[0]], dims[0], i->ncontract, &p->n);
    p->b = offsets(d, &d->shapes[i->args[1]], dims[1], i->ncontract, &p->n);
    return d->plans[i->out] = p;
}

/* Where the rows begin: the result has the dimensions of the batch, then what
 * is left of a, then of b. */
static void rows_of(const tp_demand *d, const tp_inst *i, int64_t lane, int64_t *row)
{
    int64_t at[TP_MAX_RANK] = {0};
    uint32_t next = i->nbatch;
    demand_unravel(&d->shapes[i->out], lane, at);
    for (uint32_t side = 0; side < 2; side++) {
        const shape *s = &d->shapes[i->args[side]];
        int64_t from[TP_MAX_RANK] = {0};
        for (uint32_t x = 0; x < s->rank; x++) {
            bool contracted = false, batch = false;
            for (uint32_t n = 0; n < i->ncontract + i->nbatch; n++) {
                bool here = i->ints[2 * n + side] == (int64_t)x;
                contracted |= here && n < i->ncontract;
                if (here && n >= i->ncontract) {
                    batch = true;
                    from[x] = at[n - i->ncontract];
                }
            }
            if (!contracted && !batch)
                from[x] = at[next++];
        }
        row[side] = demand_ravel(s, from);
    }
}

static uint64_t residue_of(const scalar *s)
{
    return s->meant ? s->plane[0] : tp_residue_of(s->v);
}

/* Where n lanes of a value lie in an input, if they lie there at even distances. */
static bool is_given(tp_demand *d, const event *e, int64_t from, const int64_t *offset, vector *x)
{
    int64_t second, last;
    for (int64_t i = 1; i < x->n; i++)
        if (offset[i] != i * offset[1])
            return false;
    if (!demand_input_place(d, e, from, &x->id, &x->first) ||
        !demand_input_place(d, e, from + offset[1], &x->id, &second) ||
        !demand_input_place(d, e, from + offset[x->n - 1], &x->id, &last) ||
        last - x->first != (x->n - 1) * (second - x->first))
        return false;
    x->meant = true;
    x->offset = NULL;
    x->step = second - x->first;
    return true;
}

static vector *known_vector(tp_demand *d, const vector *like)
{
    for (size_t i = 0; i < sizeof d->vectors / sizeof *d->vectors; i++) {
        vector *x = &d->vectors[i];
        if (x->room && x->id == like->id && x->offset == like->offset && x->first == like->first &&
            x->step == like->step && x->n == like->n)
            return x;
    }
    return NULL;
}

/* The place of the one that was not asked for the longest; NULL: all are held. */
static vector *free_vector(tp_demand *d)
{
    vector *best = NULL;
    for (size_t i = 0; i < sizeof d->vectors / sizeof *d->vectors; i++) {
        vector *x = &d->vectors[i];
        if (!x->pins && (!best || x->used < best->used))
            best = x;
    }
    if (best && best->room)
        give_back(d, best->room);
    return best;
}

static void fill_given(tp_demand *d, vector *x)
{
    demand_charge(d, x->n);
    for (int64_t i = 0; i < x->n; i++) {
        uint64_t at = (uint64_t)(x->first + i * x->step);
        x->room->v[i] = tp_demand_input(&d->given[x->id], d->o.family, d->o.seed, x->id, at);
        x->room->plane[0][i] = tp_field_word(d->domain, x->id, at);
    }
}

/* False with the first lane that is undefined. */
static bool fill_computed(tp_demand *d, vector *x, const event *e, int64_t from, const int64_t *offset, scalar *bad)
{
    for (int64_t i = 0; i < x->n; i++) {
        scalar s = demand_lane(d, e, from + offset[i]);
        if (s.undefined) {
            *bad = s;
            return false;
        }
        x->meant |= s.meant;
        put(d, x->room, i, &s, demand_dtype(d, e->vid));
    }
    return true;
}

/* Lanes of a float under the field domain, held until let go. NULL: one is
 * undefined, then *bad is, or they have to be asked for one by one. */
static vector *hold_vector(tp_demand *d, const event *e, int64_t from, const int64_t *offset, int64_t n, scalar *bad)
{
    enum { WORTH = 4 };
    vector like = {.n = n, .pins = 1, .offset = offset};
    if (!d->field || n < WORTH || !tp_is_float(demand_dtype(d, e->vid)))
        return NULL;
    if (!is_given(d, e, from, offset, &like)) {
        like.id = e->id;
        like.first = from;
        like.step = 0;
    }
    vector *x = known_vector(d, &like);
    if (x) {
        x->pins++;
        x->used = ++d->clock;
        return x;
    }
    like.room = take_buffer(d, n);
    if (!like.offset)
        fill_given(d, &like);
    else if (!fill_computed(d, &like, e, from, offset, bad)) {
        give_back(d, like.room);
        return NULL;
    }
    x = free_vector(d);
    if (!x) {
        give_back(d, like.room);
        return NULL;
    }
    like.used = ++d->clock;
    *x = like;
    return x;
}

static void let_go(vector *x)
{
    if (x)
        x->pins--;
}

/* Lane n of an operand. */
static scalar of_vector(tp_demand *d, const event *e, int64_t from, const int64_t *offset, int64_t n, const vector *x)
{
    if (x)
        return (scalar){.v = x->room->v[n], .plane = {x->room->plane[0][n]}, .meant = x->meant};
    return demand_lane(d, e, from + offset[n]);
}

scalar demand_dot(tp_demand *d, const event *e, int64_t lane)
{
    const tp_inst *i = e->inst;
    const plan *p = dot_plan(d, i);
    tp_dtype t = demand_dtype(d, i->args[0]), u = demand_dtype(d, i->args[1]), out = demand_dtype(d, i->out);
    bool narrow = !d->o.reference && tp_is_float(t) && t != TP_F64 && out != TP_F64, ints = !tp_is_float(t),
         meant = false;
    double acc = 0;
    uint64_t whole = 0, sum = 0;
    int64_t from[2];
    rows_of(d, i, lane, from);
    buffer *x = d->field ? NULL : take_buffer(d, p->n), *y = d->field ? NULL : take_buffer(d, p->n);
    scalar bad = {0};
    vector *left = hold_vector(d, e->args[0], from[0], p->a, p->n, &bad),
           *right = bad.undefined ? NULL : hold_vector(d, e->args[1], from[1], p->b, p->n, &bad);
    demand_charge(d, left && right ? p->n / 8 : 0); /* the lanes of others are */
    for (int64_t n = 0; n < p->n && !bad.undefined; n++) {
        scalar a = of_vector(d, e->args[0], from[0], p->a, n, left),
               b = of_vector(d, e->args[1], from[1], p->b, n, right);
        bad = a.undefined ? a : b;
        meant |= a.meant || b.meant;
        acc = narrow ? (double)((float)acc + (float)a.v * (float)b.v) : acc + a.v * b.v;
        if (ints)
            whole += (uint64_t)(int64_t)a.v * (uint64_t)(int64_t)b.v;
        if (d->field && !ints) {
            uint64_t q = residue_of(&a), r = residue_of(&b);
            sum = sum == TP_FIELD_UNKNOWN || q == TP_FIELD_UNKNOWN || r == TP_FIELD_UNKNOWN
                      ? TP_FIELD_UNKNOWN
                      : tp_residue_add(sum, tp_residue_multiply(q, r));
        } else if (!d->field) {
            put(d, x, n, &a, t);
            put(d, y, n, &b, u);
        }
    }
    scalar s = demand_number(ints && !d->o.reference ? demand_as_integer(out, (int32_t)whole) : settled(d, out, acc));
    if (!bad.undefined && meant && d->field && tp_is_float(out)) {
        s.meant = true;
        s.plane[0] = sum;
    } else if (!bad.undefined && meant && !d->field) {
        tp_lanes ax = lanes_of_buffer(x, t, p->n, true), by = lanes_of_buffer(y, u, p->n, true),
                 r = result_lanes(&s, out);
        s.meant = d->domain->dot(d->domain, (tp_dot_shape){1, 1, 1, (size_t)p->n}, &r, &ax, &by);
    }
    let_go(left);
    let_go(right);
    if (x) {
        give_back(d, x);
        give_back(d, y);
    }
    return bad.undefined ? bad : s;
}
