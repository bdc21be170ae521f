/* Reductions, running reductions and dot: what adds up many elements. */
#include <math.h>

#include "demand/internal.h"
#include "domains/residue.h"

/* A row whose maximum is this or less consists of masks. */
static const double FINITE_MASK = -1e29;

static void put(const tp_demand *d, buffer *b, int64_t n, const scalar *s, tp_dtype t)
{
    b->v[n] = s->v;
    for (int p = 0; p < TP_MAX_PLANES && s->has_planes; p++)
        b->plane[p][n] = s->plane[p];
    if (!s->has_planes) {
        void *planes[TP_MAX_PLANES] = {&b->plane[0][n], &b->plane[1][n]};
        d->domain->exact(d->domain, &(tp_lanes){.dtype = t, .stored = TP_F64, .n = 1, .data = &b->v[n]}, planes);
    }
}

static tp_lanes lanes_of_buffer(buffer *b, tp_dtype t, int64_t n, bool has_planes)
{
    tp_lanes x = {.dtype = t, .stored = TP_F64, .n = (size_t)n, .data = b->v};
    for (int p = 0; p < TP_MAX_PLANES && has_planes; p++)
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

/* How far these are apart; 0: not evenly. */
static int64_t even_step(const int64_t *offset, int64_t n)
{
    int64_t step = n > 1 ? offset[1] : 0;
    for (int64_t i = 1; i < n; i++)
        if (offset[i] != i * step)
            return 0;
    return step;
}

/* All positions along the named dimensions, in order. */
static places places_along(tp_demand *d, const shape *s, const uint32_t *dims, uint32_t n, int64_t *count)
{
    int64_t stride[TP_MAX_RANK], total = 1;
    strides_of(s, stride);
    for (uint32_t i = 0; i < n; i++)
        total *= s->dims[dims[i]];
    demand_charge(d, total);
    int64_t *r = TP_NEWN(d->arena, int64_t, total + 1), there = 1;
    for (uint32_t x = total > 0 ? n : 0; x-- > 0; there *= s->dims[dims[x]]) /* copies of those along the later ones */
        for (int64_t i = there; i < there * s->dims[dims[x]]; i++)
            r[i] = r[i - there] + stride[dims[x]];
    *count = total;
    return (places){r, even_step(r, total)};
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

/* n more, one after the other; the frequent ways without a look at which it is. */
static double fold_all(const tp_demand *d, tp_prim p, tp_dtype t, double acc, int64_t n, const double *v)
{
    bool real = tp_is_float(t), narrow = real && t != TP_F64 && !d->o.reference;
    float sum = (float)acc;
    if (p == TP_P_SUM && real) {
        for (int64_t i = 0; i < n && narrow; i++)
            sum += (float)v[i];
        for (int64_t i = 0; i < n && !narrow; i++)
            acc += v[i];
        return narrow ? (double)sum : acc;
    }
    for (int64_t i = 0; i < n; i++)
        acc = fold_as(d, p, t, acc, v[i]);
    return acc;
}

/* A folded number as an element of a value of type t. */
static double to_element(const tp_demand *d, tp_dtype t, double v)
{
    return d->o.reference ? v : tp_is_float(t) ? demand_as_dtype(t, v) : demand_as_integer(t, (int64_t)v);
}

/* Sums of numbers that mean themselves are rounded: what they mean is another number. */
static bool rounds(const tp_demand *d, tp_dtype out)
{
    return !d->field && tp_is_float(out);
}

/* ---- lanes at even distances, all at once ---- */

/* Each lane has the value that demand_lane() says; one by one they would cost a
 * look at what was found out for every instruction on the way. */
enum { GIVEN = 4, COMPUTED = 2, COPIED = 8 }; /* lanes for the price of one operation */

static bool fill_given(tp_demand *d, vector *x)
{
    bool has_planes = d->field && tp_is_float(d->k->operands[x->id].dtype);
    demand_charge(d, x->lanes.n / GIVEN + 1);
    uint64_t first = (uint64_t)x->lanes.first, step = (uint64_t)x->lanes.step;
    size_t n = (size_t)x->lanes.n;
    tp_demand_inputs(&d->given[x->id], &d->o, x->id, first, step, n, x->room->v);
    memset(x->room->has_planes, has_planes, n * sizeof *x->room->has_planes);
    if (has_planes)
        tp_field_words(d->domain, x->id, first, step, n, x->room->plane[0]);
    return true;
}

/* One by one; `offset` (NULL: evenly) says where. */
static bool fill_each(tp_demand *d, const event *e, const int64_t *offset, vector *x, scalar *bad)
{
    for (int64_t i = 0; i < x->lanes.n; i++) {
        scalar s = demand_lane(d, e, x->lanes.first + (offset ? offset[i] : i * x->lanes.step));
        if (s.undefined) {
            *bad = s;
            return false;
        }
        demand_set_lane(x, i, &s);
    }
    return true;
}

static bool fill_same(tp_demand *d, const event *e, vector *x, scalar *bad)
{
    scalar s = demand_lane(d, e, x->lanes.first);
    demand_charge(d, x->lanes.n / COPIED + 1);
    for (int64_t i = 0; i < x->lanes.n && !s.undefined; i++)
        demand_set_lane(x, i, &s);
    *bad = s;
    return !s.undefined;
}

/* The lanes of an argument that go with these. */
static vector *hold_argument(tp_demand *d, const event *e, uint32_t n, run r, scalar *bad)
{
    if (d->shapes[e->inst->args[n]].n == 1)
        r.first = r.step = 0;
    return demand_hold(d, e->args[n], r, bad);
}

static bool fill_by_lanes(tp_demand *d, const event *e, vector *x, scalar *bad)
{
    vector *in[3] = {NULL};
    bool done = true;
    for (uint32_t n = 0; n < e->inst->nargs && n < 3 && done; n++)
        done = (in[n] = hold_argument(d, e, n, x->lanes, bad));
    if (done) {
        demand_charge(d, x->lanes.n / COMPUTED + 1);
        done = demand_compute_lanes(d, e->inst, (const vector *const *)in, x, bad);
    }
    for (uint32_t n = 0; n < 3; n++)
        demand_release(d, in[n]);
    return done;
}

/* How many lanes from `at` on decide alike. */
static int64_t alike(const vector *mask, int64_t at)
{
    int64_t n = 1;
    while (at + n < mask->lanes.n && (mask->room->v[at + n] != 0) == (mask->room->v[at] != 0))
        n++;
    return n;
}

static bool fill_arm(tp_demand *d, const event *e, uint32_t arm, vector *x, int64_t at, int64_t n, scalar *bad)
{
    vector *y = hold_argument(d, e, arm, (run){x->lanes.first + at * x->lanes.step, x->lanes.step, n}, bad);
    if (!y)
        return false;
    demand_charge(d, n / COPIED + 1);
    memcpy(x->room->v + at, y->room->v, (size_t)n * sizeof *y->room->v);
    memcpy(x->room->has_planes + at, y->room->has_planes, (size_t)n * sizeof *y->room->has_planes);
    for (int p = 0; p < TP_MAX_PLANES && y->some; p++)
        memcpy(x->room->plane[p] + at, y->room->plane[p], (size_t)n * sizeof *y->room->plane[p]);
    demand_release(d, y);
    return true;
}

/* Arm by arm where the mask changes seldom; only lanes that are chosen are looked at. */
static bool fill_selected(tp_demand *d, const event *e, vector *x, scalar *bad)
{
    enum { ARMS = 8 };
    int arms = 0;
    bool done = true;
    vector *mask = hold_argument(d, e, 0, x->lanes, bad);
    if (!mask)
        return false;
    tp_lanes decided = demand_vector_lanes(mask, TP_BOOL);
    for (int64_t at = 0; at < x->lanes.n && arms <= ARMS; at += alike(mask, at))
        arms++;
    if (arms > ARMS || (!d->field && mask->some && !d->domain->certain(d->domain, &decided))) {
        demand_release(d, mask);
        return fill_each(d, e, NULL, x, bad);
    }
    for (int64_t at = 0, n; at < x->lanes.n && done; at += n) {
        n = alike(mask, at);
        done = fill_arm(d, e, mask->room->v[at] != 0 ? 1 : 2, x, at, n, bad);
    }
    demand_release(d, mask);
    return done;
}

static bool fill_indices(tp_demand *d, const event *e, vector *x)
{
    demand_charge(d, x->lanes.n / COPIED + 1);
    for (int64_t i = 0; i < x->lanes.n; i++) {
        scalar s = demand_moved(d, e, x->lanes.first + i * x->lanes.step);
        demand_set_lane(x, i, &s);
    }
    return true;
}

static bool fill(tp_demand *d, const event *e, vector *x, scalar *bad)
{
    if (x->lanes.step == 0)
        return fill_same(d, e, x, bad);
    if (e->kind != EVENT_INST)
        return fill_each(d, e, NULL, x, bad);
    if (e->inst->prim == TP_P_WHERE)
        return fill_selected(d, e, x, bad);
    if (e->inst->prim == TP_P_IOTA)
        return fill_indices(d, e, x);
    if (demand_model(e->inst->prim) != MODEL_LANES)
        return fill_each(d, e, NULL, x, bad);
    return fill_by_lanes(d, e, x, bad) || (demand_may_ignore(d, e->inst) && fill_each(d, e, NULL, x, bad));
}

/* ---- the same lanes of another value ---- */

/* Do they lie along one dimension? Then the first index, and the step in that dimension. */
static bool lies_along(const shape *s, run r, int64_t *at, uint32_t *dim, int64_t *by)
{
    int64_t last[TP_MAX_RANK] = {0}, stride = 1;
    uint32_t n = 0;
    demand_unravel(s, r.first, at);
    demand_unravel(s, r.first + r.step * (r.n - 1), last);
    for (uint32_t x = 0; x < s->rank; x++)
        if (at[x] != last[x]) {
            *dim = x;
            n++;
        }
    for (uint32_t x = s->rank; n == 1 && x-- > *dim + 1;)
        stride *= s->dims[x];
    *by = r.step / stride;
    return n == 1 && r.step % stride == 0;
}

/* The same of a `take`, where the lanes lie along a dimension that the index has not. */
static bool taken_run(tp_demand *d, const event *e, run *r)
{
    int64_t at[TP_MAX_RANK] = {0}, by, first, second;
    uint32_t dim = 0, axis = (uint32_t)e->inst->integer;
    scalar index;
    if (!lies_along(&d->shapes[e->vid], *r, at, &dim, &by) ||
        (dim >= axis && dim < axis + d->shapes[e->inst->args[1]].rank) ||
        !demand_take_place(d, e, r->first, &first, &index) ||
        !demand_take_place(d, e, r->first + r->step, &second, &index))
        return false;
    r->first = first;
    r->step = second - first;
    return true;
}

/* Lanes of the argument of an instruction that moves elements, at even distances, too. */
static bool moved_run(tp_demand *d, const event *e, run *r)
{
    const tp_inst *i = e->inst;
    if (i->prim == TP_P_TAKE)
        return taken_run(d, e, r);
    const shape *out = &d->shapes[i->out], *from = &d->shapes[i->args[0]];
    int64_t at[TP_MAX_RANK] = {0}, source[TP_MAX_RANK] = {0}, next[TP_MAX_RANK] = {0}, by;
    uint32_t dim = 0;
    if (i->prim != TP_P_BROADCAST && i->prim != TP_P_TRANSPOSE && i->prim != TP_P_SLICE)
        return false;
    if (from->rank != out->rank || !lies_along(out, *r, at, &dim, &by))
        return false;
    for (uint32_t x = 0; x < from->rank; x++) {
        int64_t beside = at[x] + (x == dim ? by : 0);
        uint32_t to = i->prim == TP_P_TRANSPOSE ? (uint32_t)i->ints[x] : x;
        source[to] = i->prim == TP_P_TRANSPOSE ? at[x] : demand_source_index(d, i, x, at[x], from->dims[x], 0);
        next[to] = i->prim == TP_P_TRANSPOSE ? beside : demand_source_index(d, i, x, beside, from->dims[x], 0);
    }
    r->first = demand_ravel(from, source);
    r->step = demand_ravel(from, next) - r->first;
    return true;
}

/* Lanes that hold the same as these, the first that do. */
static run first_same(const tp_demand *d, const event *e, run r)
{
    int64_t at[TP_MAX_RANK] = {0}, by;
    uint32_t dim = 0;
    if (!d->same[e->vid] || r.step == 0 || !lies_along(&d->shapes[e->vid], r, at, &dim, &by))
        return r;
    return (run){demand_first_same(d, e->vid, r.first), d->same[e->vid] >> dim & 1 ? 0 : r.step, r.n};
}

/* Where these lanes lie in an input, if they lie there at even distances, as those of a load along one dimension do. */
static bool place_in_input(tp_demand *d, const event *e, run r, vector *x)
{
    int64_t at[TP_MAX_RANK] = {0}, by, first, second, last;
    uint32_t input, dim = 0;
    bool loads = e->kind == EVENT_INST && e->inst->prim == TP_P_LOAD;
    if (e->kind != EVENT_INPUT && (!loads || !lies_along(&d->shapes[e->vid], r, at, &dim, &by)))
        return false;
    if (!demand_input_place(d, e, r.first, &input, &first) ||
        !demand_input_place(d, e, r.first + r.step, &input, &second) ||
        !demand_input_place(d, e, r.first + r.step * (r.n - 1), &input, &last))
        return false;
    *x = (vector){.id = tp_array_of(d->k, input), .given = true, .lanes = {first, second - first, r.n}};
    return true;
}

vector *demand_hold(tp_demand *d, const event *e, run r, scalar *bad)
{
    demand_charge(d, 1);
    r.step = r.n > 1 ? r.step : 0;
    while (e->kind == EVENT_INST && r.step && (e->inst->prim == TP_P_RESHAPE || moved_run(d, e, &r)))
        e = e->args[0];
    if (e->kind == EVENT_INST && d->kept[e->vid])
        r = first_same(d, e, r);
    vector like;
    if (r.step == 0 || !place_in_input(d, e, r, &like))
        like = (vector){.id = e->id, .lanes = r};
    vector *x = demand_known_vector(d, &like);
    if (x) {
        x->pins++;
        return x;
    }
    x = demand_new_vector(d, &like);
    if (++d->depth > TP_DEMAND_DEPTH)
        demand_give_up(d, TP_DEMAND_TOO_FAR, "it depends on elements that lie too many steps back");
    bool done = x->given ? fill_given(d, x) : fill(d, e, x, bad);
    d->depth--;
    if (!done) {
        demand_drop_vector(d, x);
        return NULL;
    }
    demand_settle(d, x, demand_dtype(d, e->vid));
    demand_keep_vector(d, x);
    return x;
}

vector *demand_hold_at(tp_demand *d, const event *e, int64_t from, const places *p, int64_t n, scalar *bad)
{
    enum { WORTH = 4 };
    if (p->step && n >= WORTH && !d->o.one_by_one)
        return demand_hold(d, e, (run){from, p->step, n}, bad);
    vector *x = demand_new_vector(d, &(vector){.lanes = {from, 0, n}});
    if (!fill_each(d, e, p->offset, x, bad)) {
        demand_drop_vector(d, x);
        return NULL;
    }
    demand_settle(d, x, demand_dtype(d, e->vid));
    return x;
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
    p->a = places_along(d, &d->shapes[i->args[0]], dims, n, &p->n);
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

static scalar best_place(tp_demand *d, const tp_inst *i, const vector *x)
{
    const double *v = x->room->v;
    int64_t place = 0;
    if (x->lanes.n == 0)
        demand_give_up(d, TP_DEMAND_TRAP, "argmax or argmin over no elements (" TP_RULE_EXTENT ")");
    for (int64_t n = 1; n < x->lanes.n; n++)
        if (!isnan(v[place]) && (isnan(v[n]) || (i->prim == TP_P_ARGMAX ? v[n] > v[place] : v[n] < v[place])))
            place = n;
    if (!d->field)
        d->undecided = true;
    return demand_number((double)place);
}

static double neutral(const tp_demand *d, tp_prim p, tp_dtype t)
{
    bool endless = tp_is_float(t) || d->o.reference;
    if (p == TP_P_MAX)
        return endless ? -HUGE_VAL : (double)tp_dtype_min(t);
    if (p == TP_P_MIN)
        return endless ? HUGE_VAL : (double)tp_dtype_max(t);
    return p == TP_P_PROD || p == TP_P_ALL ? 1 : 0;
}

static scalar fold_vector(tp_demand *d, const tp_inst *i, const plan *p, const vector *x)
{
    tp_dtype t = demand_dtype(d, i->args[0]), out = demand_dtype(d, i->out);
    double acc = neutral(d, i->prim, t);
    acc = fold_all(d, i->prim, t, acc, p->n, x->room->v);
    d->masked |= i->prim == TP_P_MAX && tp_is_float(t) && acc <= FINITE_MASK;
    scalar s = demand_number(to_element(d, out, acc));
    size_t zero = 0;
    tp_lanes lanes = demand_vector_lanes(x, t), r = result_lanes(&s, out);
    s.has_planes = d->domain->reduce(d->domain, i->prim, &r, &lanes,
                                     &(tp_groups){.nout = 1, .nin = (size_t)p->n, .base = &zero, .offset = p->order});
    return s;
}

scalar demand_reduction(tp_demand *d, const event *e, int64_t lane)
{
    const tp_inst *i = e->inst;
    const plan *p = reduction_plan(d, i);
    scalar s = {0};
    vector *x = demand_hold_at(d, e->args[0], group_of(d, i, lane), &p->a, p->n, &s);
    if (!x)
        return s;
    demand_charge(d, p->n / 8);
    s = i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN ? best_place(d, i, x) : fold_vector(d, i, p, x);
    demand_release(d, x);
    return s;
}

/* ---- running reductions ---- */

static scalar one_more(tp_demand *d, const tp_inst *i, const scalar *so_far, const scalar *next)
{
    tp_prim p = tp_prim_of(i->prim);
    tp_dtype t = demand_dtype(d, i->args[0]), out = demand_dtype(d, i->out);
    if (so_far->undefined || next->undefined)
        return so_far->undefined ? *so_far : *next;
    scalar s = demand_number(to_element(d, out, fold_as(d, p, t, so_far->v, next->v)));
    if (!so_far->has_planes && !next->has_planes && !rounds(d, out))
        return s;
    buffer *in = demand_room(d, 2), *to = demand_room(d, 2);
    put(d, in, 0, so_far, t);
    put(d, in, 1, next, t);
    to->v[0] = so_far->v;
    to->v[1] = s.v;
    tp_lanes x = lanes_of_buffer(in, t, 2, true), r = lanes_of_buffer(to, out, 2, true);
    s.has_planes = d->domain->scan(d->domain, p, &r, &x, 0, 1, 2);
    for (int n = 0; n < TP_MAX_PLANES; n++)
        s.plane[n] = to->plane[n][1];
    demand_room_back(d, in);
    demand_room_back(d, to);
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
        s.v = to_element(d, demand_dtype(d, e->inst->out), s.v);
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
    p->a = places_along(d, &d->shapes[i->args[0]], dims[0], i->ncontract, &p->n);
    p->b = places_along(d, &d->shapes[i->args[1]], dims[1], i->ncontract, &p->n);
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

/* Residue of the sum of the products; planes of both are there. */
static uint64_t sum_of_products(const vector *x, const vector *y)
{
    uint64_t product[TP_STRIP], sum = 0;
    size_t n = (size_t)x->lanes.n;
    for (size_t at = 0, m; at < n && sum != TP_FIELD_UNKNOWN; at += m) {
        m = tp_strip_at(n, at);
        tp_residues_multiply(m, x->room->plane[0] + at, y->room->plane[0] + at, product);
        uint64_t part = tp_residues_sum(m, product);
        sum = part == TP_FIELD_UNKNOWN ? part : tp_residue_add(sum, part);
    }
    return sum;
}

/* As the machine adds up floats, in their type or in double, or a reference does. */
static double float_dot(const vector *x, const vector *y, bool narrow)
{
    const double *a = x->room->v, *b = y->room->v;
    float single = 0;
    double acc = 0;
    for (int64_t n = 0; n < x->lanes.n && narrow; n++)
        single = single + (float)a[n] * (float)b[n];
    for (int64_t n = 0; n < x->lanes.n && !narrow; n++)
        acc = acc + a[n] * b[n];
    return narrow ? (double)single : acc;
}

static double integer_dot(const vector *x, const vector *y)
{
    uint64_t whole = 0;
    for (int64_t n = 0; n < x->lanes.n; n++)
        whole += (uint64_t)(int64_t)x->room->v[n] * (uint64_t)(int64_t)y->room->v[n];
    return (double)(int32_t)whole;
}

static scalar dot_of(tp_demand *d, const tp_inst *i, vector *x, vector *y)
{
    tp_dtype t = demand_dtype(d, i->args[0]), u = demand_dtype(d, i->args[1]), out = demand_dtype(d, i->out);
    bool floats = tp_is_float(t), narrow = !d->o.reference && floats && t != TP_F64 && out != TP_F64;
    demand_charge(d, x->lanes.n / 8);
    scalar s = demand_number(!floats && !d->o.reference ? demand_as_integer(out, (int64_t)integer_dot(x, y))
                                                        : to_element(d, out, float_dot(x, y, narrow)));
    if ((!x->some && !y->some && !rounds(d, out)) || (d->field && !tp_is_float(out)))
        return s;
    demand_mean_all(d, x, t);
    demand_mean_all(d, y, u);
    if (d->field) {
        s.has_planes = true;
        s.plane[0] = sum_of_products(x, y);
        return s;
    }
    tp_lanes a = demand_vector_lanes(x, t), b = demand_vector_lanes(y, u), r = result_lanes(&s, out);
    for (int p = 0; p < TP_MAX_PLANES; p++) {
        a.plane[p] = x->room->plane[p];
        b.plane[p] = y->room->plane[p];
    }
    s.has_planes = d->domain->dot(d->domain, (tp_dot_shape){1, 1, 1, (size_t)x->lanes.n}, &r, &a, &b);
    return s;
}

/* One term after the other, where some of them may be 0 by one factor alone. */
static scalar dot_by_terms(tp_demand *d, const event *e, const plan *p, const int64_t *from)
{
    const places *at[2] = {&p->a, &p->b};
    vector *x[2];
    scalar bad = {0};
    for (int side = 0; side < 2; side++)
        x[side] = demand_new_vector(d, &(vector){.lanes = {from[side], 0, p->n}});
    demand_charge(d, p->n);
    for (int64_t n = 0; n < p->n && !bad.undefined; n++) {
        scalar s[2];
        for (int side = 0; side < 2; side++) {
            int64_t offset = at[side]->offset ? at[side]->offset[n] : n * at[side]->step;
            s[side] = demand_lane(d, e->args[side], from[side] + offset);
        }
        for (uint32_t side = 0; side < 2; side++) {
            if (s[side].undefined && demand_ignores(d, e->inst, side, &s[1 - side]))
                s[side] = demand_number(0);
            bad = bad.undefined ? bad : s[side];
            demand_set_lane(x[side], n, &s[side]);
        }
    }
    for (int side = 0; side < 2 && !bad.undefined; side++)
        demand_settle(d, x[side], demand_dtype(d, e->inst->args[side]));
    scalar sum = bad.undefined ? bad : dot_of(d, e->inst, x[0], x[1]);
    demand_release(d, x[0]);
    demand_release(d, x[1]);
    return sum;
}

scalar demand_dot(tp_demand *d, const event *e, int64_t lane)
{
    const plan *p = dot_plan(d, e->inst);
    int64_t from[2];
    scalar s = {0};
    rows_of(d, e->inst, lane, from);
    vector *x = demand_hold_at(d, e->args[0], from[0], &p->a, p->n, &s),
           *y = x ? demand_hold_at(d, e->args[1], from[1], &p->b, p->n, &s) : NULL;
    if (y)
        s = dot_of(d, e->inst, x, y);
    demand_release(d, x);
    demand_release(d, y);
    return s.undefined && demand_may_ignore(d, e->inst) ? dot_by_terms(d, e, p, from) : s;
}
