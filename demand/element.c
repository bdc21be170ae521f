/* Elements of values, on demand. */
#include <math.h>

#include "base/assert.h"
#include "base/checked.h"
#include "demand/internal.h"
#include "spec/table.h"

static const char *undefined_text(uint8_t kind)
{
    switch ((undefined_kind)kind) {
    case UNDEFINED_OUTSIDE: return "an element outside its array";
    case UNDEFINED_SCRATCH: return "scratch that nobody wrote";
    case UNDEFINED_OUTPUT: return "an element of an output that nobody wrote";
    case UNDEFINED_MASKED: return "a masked-off lane of a load";
    case UNDEFINED_CAST: return "a float that its integer type does not hold";
    case DEFINED: break;
    }
    return "nothing";
}

static bool certain(const tp_demand *d, scalar *s, tp_dtype t)
{
    tp_lanes x = {.dtype = t, .stored = TP_F64, .n = 1, .data = &s->v, .plane = {&s->plane[0], &s->plane[1]}};
    return !s->has_planes || d->domain->certain(d->domain, &x);
}

double demand_decide(tp_demand *d, const event *e, const char *what)
{
    scalar s = demand_lane(d, e, 0);
    if (s.undefined)
        demand_give_up(d, TP_DEMAND_UNDEFINED, "%s depends on %s", what, undefined_text(s.undefined));
    d->undecided |= !certain(d, &s, demand_dtype(d, e->vid));
    return s.v;
}

int64_t demand_decide_index(tp_demand *d, const event *e, const char *what)
{
    double v = demand_decide(d, e, what);
    if (!(fabs(v) <= 0x1p53))
        demand_give_up(d, TP_DEMAND_TOO_FAR, "%s lies beyond 2^53", what);
    return (int64_t)v;
}

/* ---- instructions ---- */

/* The element of argument n that goes with a lane; scalars have one. */
static scalar argument(tp_demand *d, const event *e, uint32_t n, int64_t lane)
{
    return demand_lane(d, e->args[n], d->shapes[e->inst->args[n]].n == 1 ? 0 : lane);
}

/* Only the arm that is taken. */
static scalar select(tp_demand *d, const event *e, int64_t lane)
{
    scalar in[3] = {argument(d, e, 0, lane)};
    if (in[0].undefined)
        return in[0];
    if (d->field || certain(d, &in[0], TP_BOOL))
        return argument(d, e, in[0].v != 0 ? 1 : 2, lane);
    in[1] = argument(d, e, 1, lane);
    in[2] = argument(d, e, 2, lane);
    if (in[1].undefined || in[2].undefined) /* the other arm may be that of the reals */
        d->undecided = true;
    if (in[1].undefined || in[2].undefined)
        return in[in[0].v != 0 ? 1 : 2];
    return demand_compute(d, e->inst, in);
}

static scalar masked_load(tp_demand *d, const event *e, int64_t lane)
{
    scalar mask = argument(d, e, 0, lane);
    if (mask.undefined)
        return mask;
    return mask.v != 0 ? argument(d, e, 1, lane) : demand_undefined(UNDEFINED_MASKED);
}

static scalar table_entry(tp_demand *d, const event *e)
{
    const tp_table *t = &d->k->tables[e->inst->integer];
    const tp_table_data *data = tp_bound_table(d->env, t->sym);
    int64_t at = 0;
    for (uint32_t x = 0; x < e->inst->nargs; x++) {
        double index = demand_decide(d, e->args[x], "an index");
        if (!data || index < 0 || index >= (double)(x ? data->dims[x] : data->readable))
            demand_give_up(d, TP_DEMAND_TRAP,
                           "the table `%.*s` is read outside its entries (" TP_RULE_PREFETCH_CONTRACT ")",
                           TP_FMT(t->name));
        at = at * data->dims[x] + (int64_t)index;
    }
    return demand_number((double)data->at[at]);
}

static scalar by_lanes(tp_demand *d, const event *e, int64_t lane)
{
    scalar in[3];
    for (uint32_t n = 0; n < e->inst->nargs && n < 3; n++)
        in[n] = argument(d, e, n, lane);
    return demand_compute(d, e->inst, in);
}

static scalar own_way(tp_demand *d, const event *e, int64_t lane)
{
    const tp_inst *i = e->inst;
    if (i->prim == TP_P_LOAD)
        return demand_load(d, e, lane);
    if (i->prim == TP_P_MASKED_LOAD)
        return masked_load(d, e, lane);
    if (i->prim == TP_P_WHERE)
        return select(d, e, lane);
    if (i->prim == TP_P_RESHAPE)
        return demand_lane(d, e->args[0], lane);
    if (i->prim == TP_P_DOT)
        return demand_dot(d, e, lane);
    if (i->prim == TP_P_READ)
        return table_entry(d, e);
    if (i->prim == TP_P_PROGRAM_ID)
        return demand_number((double)e->when->at[i->integer]);
    if (i->prim == TP_P_NUM_PROGRAMS)
        return demand_number((double)d->steps[i->integer]);
    demand_not_modelled(d, i->prim);
}

static scalar compute(tp_demand *d, const event *e, int64_t lane)
{
    switch (demand_model(e->inst->prim)) {
    case MODEL_LANES: return by_lanes(d, e, lane);
    case MODEL_MOVED: return demand_moved(d, e, lane);
    case MODEL_REDUCTION: return demand_reduction(d, e, lane);
    case MODEL_RUNNING: return demand_running(d, e, lane);
    case MODEL_OWN: return own_way(d, e, lane);
    case MODEL_NONE: break;
    }
    demand_not_modelled(d, e->inst->prim);
}

scalar demand_lane(tp_demand *d, const event *e, int64_t lane)
{
    scalar *hit = NULL, s = {0};
    demand_charge(d, 1);
    tp_assert(lane >= 0 && (e->kind != EVENT_INST || lane < d->shapes[e->vid].n));
    switch (e->kind) {
    case EVENT_NUMBER: return demand_number(e->number);
    case EVENT_INPUT: return demand_input(d, e->operand, lane);
    case EVENT_TABLE: {
        const tp_table_data *t = tp_bound_table(d->env, d->k->tables[e->operand].sym);
        return demand_number(t ? (double)t->at[lane] : 0);
    }
    case EVENT_STORE: demand_give_up(d, TP_DEMAND_OPEN, "a store has no value");
    case EVENT_INST: break;
    }
    if (d->kept[e->vid]) {
        lane = demand_first_same(d, e->vid, lane);
        hit = demand_remembered(d, e->id, lane);
    }
    if (hit)
        return *hit;
    if (++d->depth > TP_DEMAND_DEPTH)
        demand_give_up(d, TP_DEMAND_TOO_FAR, "it depends on elements that lie too many steps back");
    s = compute(d, e, lane);
    d->depth--;
    if (d->kept[e->vid])
        demand_remember(d, e->id, lane, s);
    return s;
}

/* ---- instructions that move elements ---- */

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
    if (!d->field && k.has_planes && k.plane[1]) /* a bound over 0 */
        d->undecided = true;
    if (k.v < 0 || k.v >= (double)extent)
        demand_give_up(d, TP_DEMAND_TRAP, "take of element %lld of %lld (" TP_RULE_SLICE_OUT_OF_BOUNDS ")",
                       (long long)k.v, (long long)extent);
    *place = (lane / inner / by->n * extent + (int64_t)k.v) * inner + lane % inner;
    return true;
}

static scalar take(tp_demand *d, const event *e, int64_t lane)
{
    scalar index;
    int64_t place;
    return demand_take_place(d, e, lane, &place, &index) ? demand_lane(d, e->args[0], place) : index;
}

static scalar part_element(tp_demand *d, const event *e, int64_t *at)
{
    const tp_inst *i = e->inst;
    uint32_t part = 0;
    for (; at[i->integer] >= d->shapes[i->args[part]].dims[i->integer]; part++)
        at[i->integer] -= d->shapes[i->args[part]].dims[i->integer];
    return demand_lane(d, e->args[part], demand_ravel(&d->shapes[i->args[part]], at));
}

static scalar pad(tp_demand *d, const event *e, int64_t *at)
{
    const shape *from = &d->shapes[e->inst->args[0]];
    for (uint32_t x = 0; x < from->rank; x++) {
        at[x] -= demand_size(d, e->inst->starts[x]);
        if (at[x] < 0 || at[x] >= from->dims[x])
            return demand_lane(d, e->args[1], 0);
    }
    return demand_lane(d, e->args[0], demand_ravel(from, at));
}

/* Where the part of argument 0 begins that has the shape `part`; the starts are arguments from `first` on. */
static void find_start(tp_demand *d, const event *e, uint32_t first, const shape *part, int64_t *start)
{
    const tp_inst *i = e->inst;
    const shape *whole = &d->shapes[i->args[0]];
    for (uint32_t x = 0; x < whole->rank; x++) {
        int64_t last, stride = first == 1 ? i->ints[x] : 1;
        start[x] = demand_decide_index(d, e->args[first + x], "an index");
        if (part->dims[x] > 0 &&
            (start[x] < 0 || !tp_last(start[x], part->dims[x], stride, &last) || last >= whole->dims[x]))
            demand_give_up(d, TP_DEMAND_TRAP, "%lld elements from %lld of a dimension of %lld",
                           (long long)part->dims[x], (long long)start[x], (long long)whole->dims[x]);
    }
}

static scalar slice_element(tp_demand *d, const event *e, int64_t *at)
{
    int64_t start[TP_MAX_RANK];
    find_start(d, e, 1, &d->shapes[e->inst->out], start);
    for (uint32_t x = 0; x < d->shapes[e->inst->out].rank; x++)
        at[x] = start[x] + at[x] * e->inst->ints[x];
    return demand_lane(d, e->args[0], demand_ravel(&d->shapes[e->inst->args[0]], at));
}

/* The newest part that covers the element; a loop over those before, of which there is one for each turn. */
static scalar update_element(tp_demand *d, const event *e, const int64_t *at)
{
    for (;; e = e->args[0]) {
        if (e->kind != EVENT_INST || e->inst->prim != TP_P_DYNAMIC_UPDATE)
            return demand_lane(d, e, demand_ravel(&d->shapes[e->vid], at));
        const shape *part = &d->shapes[e->inst->args[1]];
        int64_t start[TP_MAX_RANK], in[TP_MAX_RANK] = {0};
        bool inside = true;
        demand_charge(d, 1);
        find_start(d, e, 2, part, start);
        for (uint32_t x = 0; x < part->rank; x++) {
            in[x] = at[x] - start[x];
            inside &= in[x] >= 0 && in[x] < part->dims[x];
        }
        if (inside)
            return demand_lane(d, e->args[1], demand_ravel(part, in));
    }
}

/* How far a roll moves; false: that is undefined. */
static bool shift_of(tp_demand *d, const event *e, scalar *by)
{
    *by = demand_lane(d, e->args[1], 0);
    if (by->undefined)
        return false;
    if (!d->field && by->has_planes && by->plane[1])
        d->undecided = true;
    return true;
}

int64_t demand_source_index(tp_demand *d, const tp_inst *i, uint32_t x, int64_t at, int64_t extent, int64_t shift)
{
    bool here = x == (uint32_t)i->integer;
    if (i->prim == TP_P_BROADCAST)
        return extent == 1 ? 0 : at;
    if (i->prim == TP_P_SLICE)
        return demand_size(d, i->starts[x]) + at * i->ints[x];
    if (i->prim == TP_P_TILE)
        return at % extent;
    if (i->prim == TP_P_REPEAT)
        return at / (d->shapes[i->out].dims[x] / extent);
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
        return take(d, e, lane);
    if (i->prim == TP_P_DYNAMIC_SLICE)
        return slice_element(d, e, at);
    if (i->prim == TP_P_DYNAMIC_UPDATE)
        return update_element(d, e, at);
    if (i->prim == TP_P_CONCATENATE)
        return part_element(d, e, at);
    if (i->prim == TP_P_PAD)
        return pad(d, e, at);
    if (i->prim == TP_P_ROLL && !shift_of(d, e, &shift))
        return shift;
    for (uint32_t x = 0; x < from->rank; x++)
        if (i->prim == TP_P_TRANSPOSE)
            source[i->ints[x]] = at[x];
        else
            source[x] = demand_source_index(d, i, x, at[x], from->dims[x], (int64_t)shift.v);
    return demand_lane(d, e->args[0], demand_ravel(from, source));
}

/* ---- an evaluator ---- */

static void count(uint32_t *uses, const tp_region *r, bool *loops)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        *loops |= s->kind == TP_LOOP || s->kind == TP_WHILE;
        if (s->kind == TP_COMPUTE)
            for (uint32_t a = 0; a < s->inst->nargs; a++)
                uses[s->inst->args[a]] += s->inst->prim == TP_P_VARIABLE ? 2 : 1;
        else if (s->kind == TP_ASSIGN)
            uses[s->value] += 2;
        count(uses, &s->body, loops);
        count(uses, &s->orelse, loops);
        count(uses, &s->test, loops);
    }
}

/* What is dear, or looked at more than once, is remembered; stores are, anyway. */
static void choose_kept(tp_demand *d, const tp_region *r, const uint32_t *uses, bool loops)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        const tp_inst *i = s->inst;
        choose_kept(d, &s->body, uses, loops);
        choose_kept(d, &s->orelse, uses, loops);
        choose_kept(d, &s->test, uses, loops);
        if (s->kind != TP_COMPUTE)
            continue;
        bool cheap = i->nargs == 0 || i->prim == TP_P_RESHAPE,
             dear = tp_prim_reduces(i->prim) || tp_prim_scans(i->prim) || i->prim == TP_P_DOT;
        d->kept[i->out] = dear || (!cheap && (loops || uses[i->out] > 1 || d->same[i->out] || d->timeless[i->out]));
    }
}

static bool measure(tp_demand *d, shape *s, uint32_t rank, const tp_expr *dims)
{
    s->rank = rank;
    s->n = 1;
    for (uint32_t i = 0; i < rank; i++) {
        tp_eval_error err = tp_expr_eval(d->k->exprs, dims[i], d->env, &s->dims[i]);
        if (err == TP_EVAL_OVERFLOW)
            return false;
        if (err != TP_EVAL_OK)
            s->dims[i] = demand_size(d, dims[i]); /* which says so */
        if (s->dims[i] < 0 || !tp_mul(s->n, s->dims[i] ? s->dims[i] : 1, &s->n) || s->n > (int64_t)1 << 52)
            return false;
    }
    for (uint32_t i = 0; i < rank; i++)
        s->n = s->dims[i] ? s->n : 0;
    return true;
}

/* The largest extent of an array, as far as the dtype counts. */
static int64_t reach_of(const tp_demand *d, tp_dtype t)
{
    int bits = tp_dtype_info(t)->bits;
    int64_t most = 1, room = (int64_t)1 << (bits > 32 ? 31 : bits - 1);
    for (uint32_t i = 0; i < d->k->ninputs + d->k->noutputs; i++)
        for (uint32_t x = 0; x < d->arrays[i].rank; x++)
            most = d->arrays[i].dims[x] > most ? d->arrays[i].dims[x] : most;
    return most < room ? most : room;
}

static void measure_operands(tp_demand *d)
{
    for (uint32_t i = 0; i < tp_noperands(d->k); i++) {
        const tp_operand *o = &d->k->operands[i];
        bool fits = measure(d, &d->refs[i], o->ref_rank, o->ref_shape) && measure(d, &d->arrays[i], o->rank, o->shape);
        tp_expr block[TP_MAX_RANK];
        for (uint32_t x = 0; o->role != TP_SCRATCH && x < o->rank; x++)
            block[x] = o->dims[x].block;
        if (!fits || !measure(d, &d->blocks[i], o->role == TP_SCRATCH ? 0 : o->rank, block))
            demand_give_up(d, TP_DEMAND_TOO_FAR, "`%.*s` has too many elements", TP_FMT(o->name));
        shape whole;
        if (o->global_shape && (!measure(d, &whole, o->global_rank, o->global_shape) || whole.n != d->arrays[i].n))
            demand_give_up(d, TP_DEMAND_OPEN, "`%.*s` is not cut into equal parts", TP_FMT(o->name));
        d->alias[i] = -1;
    }
    for (uint32_t i = 0; i < d->k->ninputs; i++) {
        tp_dtype t = d->k->operands[i].dtype;
        int64_t longest = reach_of(d, t);
        d->given[i] =
            tp_demand_array_of(t, d->arrays[i].rank, d->arrays[i].dims, tp_names_positions(d->k, i) ? longest : 0);
        d->given[i].longest = longest;
        d->given[i].values = tp_input_range(d->k, i, d->o.env);
        if (d->given[i].values.lo > d->given[i].values.hi)
            demand_give_up(d, TP_DEMAND_OPEN, "there is no number that \"values\" of `%.*s` allows",
                           TP_FMT(d->k->operands[i].name));
    }
    for (uint32_t i = d->k->ninputs; i < d->k->ninputs + d->k->noutputs; i++)
        if (d->k->operands[i].alias >= 0)
            d->alias[d->k->operands[i].alias] = (int)i;
}

static void need_meanings(tp_demand *d)
{
    for (uint32_t i = 0; i < tp_noperands(d->k); i++) {
        const tp_operand *o = &d->k->operands[i];
        if (!tp_dtype_info(o->dtype)->executable)
            demand_give_up(d, TP_DEMAND_OPEN, "`%.*s` is %s, with which no engine computes", TP_FMT(o->name),
                           tp_dtype_info(o->dtype)->name);
    }
}

static void begin(tp_demand *d)
{
    uint32_t n = d->p->values.len, *uses = TP_NEWN(d->arena, uint32_t, n + 1);
    bool loops = false;
    if (!d->o.reference && (tp_is_connected(d->k) || tp_has_shards(d->k)))
        demand_give_up(d, TP_DEMAND_OPEN, "devices that write to each other's memory are not modelled");
    need_meanings(d);
    measure_operands(d);
    for (uint32_t v = 0; v < n; v++)
        if (!measure(d, &d->shapes[v], d->p->values.at[v].rank, d->p->values.at[v].dims))
            demand_give_up(d, TP_DEMAND_TOO_FAR, "a value has too many elements");
    count(uses, &d->p->statements, &loops);
    demand_find_same(d);
    choose_kept(d, &d->p->statements, uses, loops);
    d->total = 1;
    for (uint32_t x = 0; x < d->k->naxes && !d->o.reference; x++) {
        d->steps[x] = demand_size(d, d->k->axes[x].steps);
        if (d->steps[x] < 0 || !tp_mul(d->total, d->steps[x], &d->total))
            demand_give_up(d, TP_DEMAND_TOO_FAR, "the grid has too many steps");
    }
    d->begun = true;
}

tp_demand *tp_demand_new(tp_arena *a, const tp_demand_options *o)
{
    tp_demand *d = TP_NEW(a, tp_demand);
    uint32_t n = o->program->values.len + 1, operands = tp_noperands(o->kernel) + 1;
    *d = (tp_demand){.arena = a,
                     .o = *o,
                     .k = o->kernel,
                     .p = o->program,
                     .domain = o->domain,
                     .field = strcmp(o->domain->name, "field") == 0,
                     .ids = 1};
    d->env = tp_env_copy(a, d->k, o->env);
    tp_assert(tp_tables_are_prepared(a, d->k, d->env));
    d->shapes = TP_NEWN(a, shape, n);
    d->refs = TP_NEWN(a, shape, operands);
    d->arrays = TP_NEWN(a, shape, operands);
    d->blocks = TP_NEWN(a, shape, operands);
    d->alias = TP_NEWN(a, int, operands);
    d->given = TP_NEWN(a, tp_demand_array, operands);
    d->plans = TP_NEWN(a, plan *, n);
    d->kept = TP_NEWN(a, bool, n);
    d->same = TP_NEWN(a, uint32_t, n);
    d->timeless = TP_NEWN(a, bool, n);
    d->once = TP_NEWN(a, const event *, n);
    d->constants = TP_NEWN(a, const event *, n);
    d->bounded = tp_bounded_values(a, d->k->exprs, d->p);
    return d;
}

typedef struct request {
    tp_demand *d;
    uint32_t output;
    const int64_t *at;
    scalar s;
    int64_t step;
} request;

static void find_element(void *arg)
{
    request *r = arg;
    tp_demand *d = r->d;
    const tp_kernel *k = d->k;
    uint32_t o = k->ninputs + r->output;
    if (!d->begun)
        begin(d);
    if (d->o.reference) {
        demand_follow_reference(d);
        tp_vid v = d->p->operand_value[o];
        if (v < 0 || !d->values[v])
            demand_give_up(d, TP_DEMAND_OPEN, "the reference does not say `%.*s`", TP_FMT(k->operands[o].name));
        r->s = demand_lane(d, d->values[v], demand_ravel(&d->shapes[v], r->at));
        return;
    }
    if (demand_written(d, o, r->at, d->total - 1, &r->s, &r->step))
        return;
    if (k->operands[o].alias < 0)
        demand_give_up(d, TP_DEMAND_UNDEFINED, "no step writes it");
    r->s = demand_input(d, (uint32_t)k->operands[o].alias, demand_ravel(&d->arrays[o], r->at));
}

tp_demand_value tp_demand_element(tp_demand *d, uint32_t output, const int64_t *at)
{
    request r = {.d = d, .output = output, .at = at, .step = -1};
    d->work = d->depth = 0;
    demand_release_all(d);
    d->undecided = d->tied = d->masked = false;
    d->outcome = TP_DEMAND_TOO_FAR;
    d->why = TP_S("memory ran out");
    tp_status st = tp_try(d->arena, find_element, &r);
    tp_demand_value v = {.outcome = TP_DEMAND_VALUE,
                         .step = r.step,
                         .work = d->work,
                         .undecided = d->undecided,
                         .tied = d->tied,
                         .masked = d->masked};
    if (st != TP_OK) {
        v.outcome = d->outcome;
        v.why = d->why;
    } else if (r.s.undefined) {
        v.outcome = TP_DEMAND_UNDEFINED;
        v.why = tp_printf(d->arena, "it depends on %s", undefined_text(r.s.undefined));
    } else {
        v.number = r.s.v;
        if (!r.s.has_planes) {
            void *planes[TP_MAX_PLANES] = {&r.s.plane[0], &r.s.plane[1]};
            tp_lanes x = {
                .dtype = d->k->operands[d->k->ninputs + output].dtype, .stored = TP_F64, .n = 1, .data = &r.s.v};
            d->domain->exact(d->domain, &x, planes);
        }
        memcpy(v.plane, r.s.plane, sizeof v.plane);
    }
    return v;
}

void tp_demand_allow(tp_demand *d, int64_t budget)
{
    d->o.budget = budget;
}
