/* What buffers hold: windows, scratch, arrays; rules 3 to 8 of docs/SPEC.md
 * ("The machine"), read backwards. */
#include "demand/internal.h"

scalar demand_input(tp_demand *d, uint32_t input, int64_t index)
{
    input = tp_array_of(d->k, input);
    tp_dtype t = d->k->operands[input].dtype;
    scalar s = demand_number(tp_demand_on_way(&d->given[input], &d->o, input, (uint64_t)index));
    if (d->field && tp_is_float(t)) {
        s.plane[0] = tp_field_word(d->domain, input, (uint64_t)index);
        s.has_planes = true;
    }
    return s;
}

/* ---- arrays ---- */

static bool valid(tp_demand *d, const tp_operand *o, const int64_t *at)
{
    int64_t value;
    for (uint32_t i = 0; o->valid.id && i < o->rank; i++)
        d->env[o->element_syms[i]] = at[i];
    return !o->valid.id || (tp_expr_eval(d->k->exprs, o->valid, d->env, &value) == TP_EVAL_OK && value);
}

/* Array indices of a lane of the window at `start`; false: outside, or not valid. */
static bool place_of_lane(tp_demand *d, uint32_t operand, const int64_t *start, int64_t lane, int64_t *at)
{
    demand_unravel(&d->blocks[operand], lane, at);
    for (uint32_t i = 0; i < d->arrays[operand].rank; i++) {
        at[i] += start[i];
        if (at[i] < 0 || at[i] >= d->arrays[operand].dims[i])
            return false;
    }
    return valid(d, &d->k->operands[operand], at);
}

/* What operand `o` holds in `lane` at the end of step m, or before its store `after`. */
static scalar contents(tp_demand *d, moment *m, uint32_t o, const event *after, int64_t lane);

bool demand_written(tp_demand *d, uint32_t o, const int64_t *at, int64_t until, scalar *s, int64_t *step)
{
    int64_t n = demand_last_covering(d, o, at, until), inside[TP_MAX_RANK] = {0};
    if (step)
        *step = n;
    if (n < 0)
        return false;
    moment *m = demand_moment(d, n);
    const int64_t *start = demand_window(d, m, o);
    for (uint32_t i = 0; i < d->arrays[o].rank; i++)
        inside[i] = at[i] - start[i];
    demand_follow_step(d, m);
    *s = contents(d, m, o, m->last[o], demand_ravel(&d->blocks[o], inside));
    return true;
}

/* ---- rule 8: an input whose array an output shares ---- */

/* The step in which the window of input i that is there at m was copied in;
 * one that a parallel step finds resident counts as read by that step, too. */
static moment *copied_in(tp_demand *d, moment *m, uint32_t i)
{
    const tp_operand *o = &d->k->operands[i];
    bool moves = false;
    for (uint32_t a = 0; a < d->k->naxes; a++) {
        moves |= d->k->axes[a].parallel;
        for (uint32_t x = 0; x < o->rank; x++)
            moves |= tp_expr_mentions(d->k->exprs, o->dims[x].index, d->k->axes[a].sym);
    }
    if (!moves)
        return demand_moment(d, 0);
    while (m->number > 0) {
        moment *before = demand_moment(d, m->number - 1);
        demand_charge(d, 1);
        if (demand_parallel_changed(d, before, m) ||
            memcmp(demand_window(d, before, i), demand_window(d, m, i), o->rank * sizeof(int64_t)) != 0)
            break;
        m = before;
    }
    return m;
}

/* The last step before s of a run of output `o` that covers the element and has ended by then; -1: none. */
static int64_t ended_before(tp_demand *d, uint32_t o, const int64_t *at, moment *s)
{
    int64_t n = demand_last_covering(d, o, at, s->number - 1);
    if (n < 0 || n != s->number - 1)
        return n;
    moment *m = demand_moment(d, n);
    if (!demand_same_run(d, o, m, s))
        return n;
    while (m->number > 0 && demand_same_run(d, o, demand_moment(d, m->number - 1), m)) {
        demand_charge(d, 1);
        m = demand_moment(d, m->number - 1);
    }
    return demand_last_covering(d, o, at, m->number - 1);
}

_Noreturn static void written_meanwhile(tp_demand *d, uint32_t i)
{
    demand_give_up(d, TP_DEMAND_TRAP,
                   "`%.*s` is copied in while a step that differs in a parallel axis writes it (" TP_RULE_ALIAS_HAZARD
                   ")",
                   TP_FMT(d->k->operands[i].name));
}

/* Are the steps that share their parallel coordinates side by side? */
static bool parallel_axes_first(const tp_kernel *k)
{
    uint32_t a = 0;
    while (a < k->naxes && k->axes[a].parallel)
        a++;
    while (a < k->naxes && !k->axes[a].parallel)
        a++;
    return a == k->naxes;
}

/* A step behind s writes the element and differs from s in a parallel axis: nobody knows which of them comes first. */
static void refuse_later_writes(tp_demand *d, uint32_t o, const int64_t *at, moment *s)
{
    bool any = false, one = parallel_axes_first(d->k);
    for (uint32_t a = 0; a < d->k->naxes; a++)
        any |= d->k->axes[a].parallel && d->steps[a] > 1;
    for (int64_t n = any ? demand_last_covering(d, o, at, d->total - 1) : -1; n > s->number;
         n = one ? -1 : demand_last_covering(d, o, at, n - 1)) {
        demand_charge(d, 1);
        if (demand_parallel_changed(d, demand_moment(d, n), s))
            written_meanwhile(d, (uint32_t)d->k->operands[o].alias);
    }
}

static scalar shared_element(tp_demand *d, moment *m, uint32_t i, const int64_t *at)
{
    uint32_t o = (uint32_t)d->alias[i];
    moment *s = copied_in(d, m, i);
    refuse_later_writes(d, o, at, s);
    int64_t n = ended_before(d, o, at, s), lag = d->k->operands[i].buffers + d->k->operands[o].buffers - 2;
    if (n < 0)
        return demand_input(d, i, demand_ravel(&d->arrays[i], at));
    moment *b = demand_moment(d, n);
    if (demand_parallel_changed(d, b, s))
        written_meanwhile(d, i);
    if (demand_sequential_number(d, s) - demand_sequential_number(d, b) <= lag)
        demand_give_up(d, TP_DEMAND_TRAP,
                       "`%.*s` is copied in too soon after it was written (" TP_RULE_ALIAS_HAZARD ")",
                       TP_FMT(d->k->operands[i].name));
    scalar r = demand_undefined(UNDEFINED_OUTPUT);
    demand_written(d, o, at, n, &r, NULL);
    return r;
}

static scalar input_lane(tp_demand *d, moment *m, uint32_t i, int64_t lane)
{
    int64_t at[TP_MAX_RANK] = {0};
    if (!place_of_lane(d, i, demand_window(d, m, i), lane, at))
        return demand_undefined(UNDEFINED_OUTSIDE);
    return d->alias[i] >= 0 ? shared_element(d, m, i, at) : demand_input(d, i, demand_ravel(&d->arrays[i], at));
}

/* ---- buffers that outlive a step ---- */

/* Before the first step of a run: undefined, or as it was left. */
static scalar initial_value(tp_demand *d, moment *m, uint32_t o, int64_t lane)
{
    int64_t at[TP_MAX_RANK] = {0};
    scalar s = demand_undefined(UNDEFINED_OUTPUT);
    if (tp_begins_as_input(&d->k->operands[o]))
        return demand_input(d, (uint32_t)d->k->operands[o].alias, lane);
    if (d->k->operands[o].revisit_any && place_of_lane(d, o, demand_window(d, m, o), lane, at))
        demand_written(d, o, at, m->number - 1, &s, NULL);
    return s;
}

static bool is_covered(const tp_demand *d, const event *store, int64_t lane, int64_t *inside)
{
    int64_t at[TP_MAX_RANK] = {0}, n = 0;
    demand_unravel(&d->refs[store->operand], lane, at);
    for (uint32_t i = 0; i < store->at->rank; i++) {
        int64_t off = at[i] - store->at->start[i], q = off / store->at->stride[i];
        if (off % store->at->stride[i] != 0 || q < 0 || q >= store->at->size[i])
            return false;
        n = n * store->at->size[i] + q;
    }
    *inside = n;
    return true;
}

static bool read_store(tp_demand *d, const event *after, int64_t lane, scalar *s)
{
    int64_t inside;
    for (const event *e = after; e; e = e->previous) {
        demand_charge(d, 1);
        if (!e->at) {
            *s = demand_undefined(UNDEFINED_SCRATCH);
            return true;
        }
        if (!is_covered(d, e, lane, &inside))
            continue;
        if (d->shapes[e->args[0]->vid].n == 1)
            inside = 0;
        scalar *hit = demand_remembered(d, e->id, inside);
        *s = hit ? *hit : demand_lane(d, e->args[0], inside);
        if (!hit)
            demand_remember(d, e->id, inside, *s);
        return true;
    }
    return false;
}

/* True with what the buffer holds before step m, when that needs no look at the step before it. */
static bool begins(tp_demand *d, moment *m, uint32_t o, int64_t lane, scalar *s)
{
    tp_role role = d->k->operands[o].role;
    scalar *hit = demand_remembered(d, m->id + o, lane);
    if (hit) {
        *s = *hit;
        return true;
    }
    if (role == TP_INPUT) {
        *s = input_lane(d, m, o, lane);
        return true;
    }
    bool stays = tp_is_far(&d->k->operands[o]); /* its ref is the array */
    bool first = m->number == 0 || (!stays && demand_parallel_changed(d, m, demand_moment(d, m->number - 1))) ||
                 (!stays && role == TP_OUTPUT && !demand_same_run(d, o, m, demand_moment(d, m->number - 1)));
    if (first)
        *s = role == TP_SCRATCH ? demand_undefined(UNDEFINED_SCRATCH) : initial_value(d, m, o, lane);
    return first;
}

static scalar contents(tp_demand *d, moment *m, uint32_t o, const event *after, int64_t lane)
{
    scalar s;
    moment *from = m;
    if (read_store(d, after, lane, &s))
        return s;
    while (!begins(d, m, o, lane, &s)) {
        moment *before = demand_moment(d, m->number - 1);
        demand_charge(d, 1);
        demand_follow_step(d, before);
        if (read_store(d, before->last[o], lane, &s))
            break;
        m = before;
    }
    for (int64_t n = from->number; n >= m->number; n--) /* nothing was stored between */
        demand_remember(d, demand_moment(d, n)->id + o, lane, s);
    return s;
}

/* The lane of the ref that a lane of a load is; -1: it lies beyond, where the mask of a guarded load left it out. */
static int64_t lane_of_load(const tp_demand *d, const event *load, int64_t lane)
{
    int64_t at[TP_MAX_RANK] = {0};
    for (uint32_t i = load->at->rank; i-- > 0; lane /= load->at->size[i]) {
        at[i] = load->at->start[i] + lane % load->at->size[i] * load->at->stride[i];
        if (at[i] < 0 || at[i] >= d->refs[load->operand].dims[i])
            return -1;
    }
    return demand_ravel(&d->refs[load->operand], at);
}

/* Nobody writes the array of this operand. */
static bool is_given(const tp_demand *d, uint32_t operand)
{
    return operand < d->k->ninputs && d->alias[operand] < 0;
}

bool demand_input_place(tp_demand *d, const event *e, int64_t lane, uint32_t *input, int64_t *index)
{
    int64_t at[TP_MAX_RANK] = {0};
    *input = e->operand;
    *index = lane;
    if (e->kind == EVENT_INPUT)
        return true;
    if (e->kind != EVENT_INST || e->inst->prim != TP_P_LOAD || !is_given(d, e->operand) ||
        d->k->operands[e->operand].valid.id)
        return false;
    lane = lane_of_load(d, e, lane);
    if (lane < 0 || !place_of_lane(d, e->operand, demand_window(d, e->when, e->operand), lane, at))
        return false;
    *index = demand_ravel(&d->arrays[e->operand], at);
    return true;
}

scalar demand_load(tp_demand *d, const event *load, int64_t lane)
{
    moment *m = load->when;
    lane = lane_of_load(d, load, lane);
    if (lane < 0)
        demand_give_up(d, TP_DEMAND_TRAP, "an element beyond `%.*s` is looked at (" TP_RULE_SLICE_OUT_OF_BOUNDS ")",
                       TP_FMT(d->k->operands[load->operand].name));
    return is_given(d, load->operand) ? input_lane(d, m, load->operand, lane)
                                      : contents(d, m, load->operand, load->previous, lane);
}
