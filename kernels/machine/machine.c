/* The grid walk: windows in, body, windows out. */
#include "kernels/machine/machine.h"

#include <math.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/assert.h"
#include "base/stream.h"
#include "base/strided.h"
#include "kernels/machine/internal.h"
#include "spec/table.h"

_Noreturn static void refuse(tp_machine *m, tp_str why)
{
    m->trap->message = why;
    m->trap->step = -1;
    tp_leave(m->arena, TP_E_LIMIT);
}

static int64_t eval(tp_machine *m, tp_expr e, const char *rule, const char *what, tp_str subject)
{
    int64_t v = 0;
    tp_eval_error err = tp_expr_eval(m->k->exprs, e, m->env, &v);
    if (err != TP_EVAL_OK)
        tp_trap_raise(m,
                      err == TP_EVAL_DIV_ZERO ? TP_RULE_DIVISION_BY_ZERO
                      : err == TP_EVAL_TABLE  ? TP_RULE_PREFETCH_CONTRACT
                                              : rule,
                      subject, "%s of `%.*s` %s", what, TP_FMT(subject), tp_eval_error_text(err));
    return v;
}

/* ---- preparing ---- */

bool tp_kernel_executable(tp_arena *a, const tp_kernel *k, tp_str *why)
{
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        if (tp_dtype_info(o->dtype)->executable)
            continue;
        *why = tp_printf(a, "`%.*s` is %s, which this build checks but does not execute", TP_FMT(o->name),
                         tp_dtype_info(o->dtype)->name);
        return false;
    }
    return true;
}

static void check_executable(tp_machine *m)
{
    tp_str why;
    if (!tp_kernel_executable(m->arena, m->k, &why))
        refuse(m, why);
    for (uint32_t i = 0; i < m->k->ntables; i++)
        if (!tp_bound_table(m->env, m->k->tables[i].sym))
            refuse(m,
                   tp_printf(m->arena, "the contents of the table `%.*s` are not given", TP_FMT(m->k->tables[i].name)));
    tp_assert(tp_tables_are_prepared(m->arena, m->k, m->env));
    if (!m->k->body)
        refuse(m, TP_S("the spec has no \"kernel\" to execute"));
}

/* Dimensions in which the window depends on the step. */
static uint32_t moving_dims(const tp_machine *m, const tp_operand *o)
{
    uint32_t any = 0;
    for (uint32_t d = 0; d < o->rank; d++)
        for (uint32_t a = 0; a < m->k->naxes; a++)
            if (tp_expr_mentions(m->k->exprs, o->dims[d].index, m->k->axes[a].sym))
                any |= (uint32_t)1 << d;
    return any;
}

static void prepare_ref(tp_machine *m, uint32_t i)
{
    tp_ref *r = &m->refs[i];
    const tp_operand *o = &m->k->operands[i];
    int64_t dims[TP_MAX_RANK];
    r->operand = o;
    r->array = o->role == TP_SCRATCH ? NULL : &m->request->arrays[i];
    for (uint32_t d = 0; o->role != TP_SCRATCH && d < o->rank; d++) {
        r->unit[d] = r->block[d] = eval(m, o->dims[d].block, TP_RULE_EXTENT, "a block dimension", o->name);
        if (r->block[d] < 1 && !o->whole)
            tp_trap_raise(m, TP_RULE_EXTENT, o->name, "dimension %u of the block of `%.*s` is %lld",
                          tp_global_dim(o, d), TP_FMT(o->name), (long long)r->block[d]);
    }
    for (uint32_t d = 0; d < o->ref_rank; d++) {
        dims[d] = eval(m, o->ref_shape[d], TP_RULE_EXTENT, "a dimension", o->name);
        if (dims[d] < 0)
            tp_trap_raise(m, TP_RULE_EXTENT, o->name, "dimension %u of `%.*s` is %lld", d, TP_FMT(o->name),
                          (long long)dims[d]);
    }
    if (o->role == TP_SCRATCH)
        tp_cells_init(m->arena, &r->cells, o->dtype, o->ref_rank, dims);
    else /* where it lies is known with its window: most have no memory but that of their array */
        tp_cells_init_shape(m->arena, &r->cells, o->dtype, o->ref_rank, dims);
    r->moves = o->role == TP_SCRATCH ? 0 : moving_dims(m, o);
    tp_planes_prepare(m, i);
    tp_far_prepare(m, r);
    if (o->role == TP_OUTPUT && o->discard)
        return;
    if (o->role == TP_OUTPUT && tp_has_element_dims(o)) {
        r->owner = TP_NEWN(m->arena, uint32_t, r->array->n);
    } else if (o->role == TP_OUTPUT) {
        r->nblocks = 1;
        for (uint32_t d = 0; d < o->rank; d++) {
            int64_t extent = r->array->dims[d], b = r->block[d];
            r->blocks[d] = b ? extent / b + (extent % b != 0) : 0;
            r->nblocks *= (size_t)r->blocks[d];
        }
        r->visited = TP_NEWN(m->arena, uint32_t, r->nblocks);
        r->visit_key = TP_NEWN(m->arena, int64_t, r->nblocks);
    }
}

static void prepare_values(tp_machine *m)
{
    const tp_program *p = m->k->body;
    m->values = TP_NEWN(m->arena, tp_cells, p->values.len);
    m->workspace = TP_NEWN(m->arena, void *, p->values.len);
    m->workspace_size = TP_NEWN(m->arena, size_t, p->values.len);
    for (uint32_t v = 0; v < p->values.len; v++) {
        const tp_value *x = &p->values.at[v];
        int64_t dims[TP_MAX_RANK];
        for (uint32_t d = 0; d < x->rank; d++) {
            dims[d] = eval(m, x->dims[d], TP_RULE_EXTENT, "the shape of a value in the body", m->k->name);
            if (dims[d] < 0)
                tp_trap_raise(m, TP_RULE_EXTENT, (tp_str){NULL, 0}, "a value in the body has the dimension %lld",
                              (long long)dims[d]);
        }
        tp_cells_init_unset(m->arena, &m->values[v], x->dtype, x->rank, dims);
        if (x->dtype == TP_WEAK_INT)
            *(int64_t *)m->values[v].data =
                eval(m, x->meaning, TP_RULE_INDEX_OVERFLOW, "an integer in the body", m->k->name);
    }
}

/* Copy between a window and its array, in-range elements only. */
static void copy_row(tp_ref *r, size_t array, size_t lane, size_t n, void *in)
{
    size_t size = tp_dtype_size(r->operand->dtype);
    char *a = (char *)r->array->data + array * size, *w = (char *)r->cells.data + lane * size;
    memcpy(in ? w : a, in ? a : w, n * size);
}

static void transfer(tp_machine *m, tp_ref *r, bool in)
{
    bool seen = m->request->observer && !tp_is_far(r->operand);
    uint32_t operand = (uint32_t)(r - m->refs);
    if (seen)
        tp_tell(m, (tp_event){.kind = in ? TP_EVENT_FETCH : TP_EVENT_WRITE,
                              .operand = operand,
                              .bits = tp_inner_elements(m, r) * tp_dtype_info(r->operand->dtype)->bits});
    tp_count_transfer(m, r, in, tp_joined_steps(m, r));
    tp_spend(m->arena, 16 + (int64_t)(m->domain ? r->cells.n / 8 : r->cells.n / 32));
    if (r->cells.data == r->cells.own)
        tp_each_inner_row(r, copy_row, in ? r : NULL);
    tp_planes_transfer(m, r, in);
    if (seen)
        tp_tell(m, (tp_event){.kind = TP_EVENT_MOVED, .operand = operand});
}

static bool lane_inside(const tp_ref *r, size_t lane)
{
    for (uint32_t d = r->operand->rank; d-- > 0;) {
        int64_t at = r->window[d] + (int64_t)(lane % (size_t)r->block[d]);
        lane /= (size_t)r->block[d];
        if (at < 0 || at >= r->array->dims[d])
            return false;
    }
    return true;
}

/* Array indices of a lane of the window. */
static void lane_position(const tp_ref *r, size_t lane, int64_t *at)
{
    for (uint32_t d = r->operand->rank; d-- > 0; lane /= (size_t)r->block[d])
        at[d] = r->window[d] + (int64_t)(lane % (size_t)r->block[d]);
}

static bool lane_valid(const tp_machine *m, const tp_ref *r, size_t lane)
{
    int64_t at[TP_MAX_RANK];
    lane_position(r, lane, at);
    return tp_element_valid(m->k, r->operand, m->env, at);
}

/* Lanes inside the array are defined, where the operand's "valid" holds. */
static void define_row(tp_ref *r, size_t array, size_t lane, size_t n, void *machine)
{
    (void)array;
    for (size_t i = lane; i < lane + n; i++)
        if (!r->operand->valid.id || lane_valid(machine, r, i))
            r->cells.shadow[i] = 0;
}

/* The lanes of one row of a window that lie outside of its array. */
static void fill_row(tp_ref *r, size_t row, bool inside, const tp_cells *garbage)
{
    const tp_cells *c = &r->cells;
    uint32_t last = c->rank - 1;
    int64_t n = c->dims[last], from = inside ? r->inside.first[last] : n,
            to = inside ? from + r->inside.extent[last] : n;
    size_t size = tp_dtype_size(c->dtype);
    char *at = (char *)c->data + row * (size_t)n * size;
    tp_move(size, 1, (int64_t[]){from}, at, (ptrdiff_t[]){1}, garbage->data, (ptrdiff_t[]){0});
    tp_move(size, 1, (int64_t[]){n - to}, at + (size_t)to * size, (ptrdiff_t[]){1}, garbage->data, (ptrdiff_t[]){0});
}

/* An input window of which a box is defined. False: it has to be noted lane by lane. */
static bool fill_around_box(tp_machine *m, tp_ref *r, uint32_t index, tp_cells *garbage)
{
    tp_cells *c = &r->cells;
    if (!tp_may_box(m) || r->operand->role != TP_INPUT || r->operand->valid.id || !c->rank ||
        c->rank != r->operand->rank || !tp_inner_part(r, r->inside.first, r->inside.extent))
        return false;
    size_t rows = c->n / (size_t)c->dims[c->rank - 1];
    for (size_t row = 0; row < rows; row++) {
        bool inside = true;
        size_t rest = row;
        for (uint32_t d = c->rank - 1; d-- > 0; rest /= (size_t)c->dims[d]) {
            int64_t at = (int64_t)(rest % (size_t)c->dims[d]) - r->inside.first[d];
            inside &= at >= 0 && at < r->inside.extent[d];
        }
        fill_row(r, row, inside, garbage);
    }
    c->state = TP_INSIDE;
    c->origin = tp_origin_new(TP_BORN_OUTSIDE, index, 0, m->step);
    c->lines = 0;
    c->defined = &r->inside;
    return true;
}

static void fill_outside(tp_machine *m, tp_ref *r, uint32_t index)
{
    r->cells.state = TP_CLEAN;
    if (!tp_window_is_cut(r) && !r->operand->valid.id)
        return;
    static const double FLOATS[] = {-7.77e33, (double)NAN, 0.125};
    double garbage = tp_is_float(r->cells.dtype) ? FLOATS[m->request->garbage] : -77;
    uint64_t room;
    tp_cells one = {.dtype = r->cells.dtype, .n = 1, .data = &room};
    tp_put_f64(one.dtype, one.data, 0, garbage);
    if (fill_around_box(m, r, index, &one))
        return;
    r->cells.state = TP_ALL_UNDEFINED; /* the origins of all lanes, */
    r->cells.origin = tp_origin_new(TP_BORN_OUTSIDE, index, 0, m->step);
    const tp_origin *shadow = tp_materialise(m, &r->cells);
    tp_each_inner_row(r, define_row, m); /* ... but for those that are inside */
    size_t size = tp_dtype_size(one.dtype);
    char *data = r->cells.data;
    for (size_t i = 0; i < r->cells.n; i++)
        if (shadow[i])
            memcpy(data + i * size, one.data, size);
}

static size_t block_number(const tp_ref *r)
{
    size_t n = 0;
    for (uint32_t d = 0; d < r->operand->rank; d++)
        n = n * (size_t)r->blocks[d] + (size_t)(r->window[d] ? r->window[d] / r->unit[d] : 0); /* few are not 0 */
    return n;
}

static void begin_at(tp_grid *g, uint32_t naxes, int64_t step)
{
    for (uint32_t a = naxes; a-- > 0 && g->total; step /= g->steps[a])
        g->at[a] = step % g->steps[a];
}

/* Each axis at its place; has a parallel one moved? */
static bool set_axes(tp_machine *m)
{
    const tp_grid *g = &m->grid;
    bool moved = false;
    for (uint32_t a = 0; a < m->k->naxes; a++) {
        int64_t c = g->order[a] ? g->order[a][g->at[a]] : g->at[a], *now = &m->env[m->k->axes[a].sym];
        moved |= m->k->axes[a].parallel && *now != c;
        *now = c;
    }
    return moved;
}

/* What is wrong with a block that is copied out is told of the last step on it, not of the one that moves on. */
static void stand_at(tp_machine *m, int64_t step)
{
    m->step = step;
    begin_at(&m->grid, m->k->naxes, step);
    set_axes(m);
}

/* End of a run, whose last step was `last`: every in-range element must be defined; copy out. */
static void end_run(tp_machine *m, uint32_t index, int64_t last)
{
    tp_ref *r = &m->refs[index];
    if (!r->resident)
        return;
    r->resident = false;
    m->at = NULL;
    if (r->operand->discard)
        return;
    bool written = tp_is_written(r);
    for (size_t i = 0; !written && i < r->cells.n; i++) {
        tp_origin o = tp_origin_at(&r->cells, i);
        if (!o || !lane_inside(r, i) || !lane_valid(m, r, i))
            continue;
        tp_str e = tp_element_text(m, r, i);
        stand_at(m, last);
        if (!(o & TP_ORIGIN_STORED)) /* born here and still as it was */
            tp_trap_raise(m, TP_RULE_OUTPUT_COVERAGE, r->operand->name,
                          "%.*s is not written before its block is copied out", TP_FMT(e));
        m->at = r->last_store;
        tp_trap_undefined(m, o, r->operand->name, tp_printf(m->arena, "%.*s at copy-out", TP_FMT(e)).p);
    }
    transfer(m, r, false);
    tp_alias_write(m, r);
    m->stats.copies_out += tp_joined_steps(m, r);
}

/* May the grid come back to a window that it left? With an alias the rule
 * about hazards decides. */
static bool may_return(const tp_operand *o)
{
    return o->revisit_any || o->alias >= 0;
}

/* Element windows: every element has the run that it belongs to. */
typedef struct claim_context {
    tp_machine *m;
    uint32_t run;
    int64_t key;
} claim_context;

static void claim_row(tp_ref *r, size_t array, size_t lane, size_t n, void *ctx)
{
    const claim_context *c = ctx;
    for (size_t i = 0; i < n; i++) {
        uint32_t other = r->owner[array + i];
        if (other) {
            const int64_t *was = r->starts + (size_t)(other - 1) * (TP_MAX_RANK + 1);
            bool same = memcmp(was, r->window, r->operand->rank * sizeof *was) == 0, race = was[TP_MAX_RANK] != c->key;
            if (same && !race && may_return(r->operand)) {
                r->returned = true;
                continue;
            }
            tp_trap_raise(c->m,
                          race   ? TP_RULE_PARALLEL_RACE
                          : same ? TP_RULE_NONCONSECUTIVE_REVISIT
                                 : TP_RULE_OVERLAPPING_OUTPUT,
                          r->operand->name,
                          race   ? "two steps that differ in a parallel axis write %.*s"
                          : same ? "the grid returns to the window of %.*s after leaving it"
                                 : "two windows that overlap both write %.*s",
                          TP_FMT(tp_element_text(c->m, r, lane + i)));
        }
        r->owner[array + i] = c->run;
    }
}

static void claim_elements(tp_machine *m, tp_ref *r, int64_t key)
{
    if (r->nstarts == r->starts_room) { /* grows by doubling; old copies stay in the arena */
        r->starts_room = r->starts_room ? 2 * r->starts_room : 64;
        int64_t *more = TP_NEWN(m->arena, int64_t, (size_t)r->starts_room * (TP_MAX_RANK + 1));
        if (r->nstarts)
            memcpy(more, r->starts, (size_t)r->nstarts * (TP_MAX_RANK + 1) * sizeof *more);
        r->starts = more;
    }
    int64_t *now = r->starts + (size_t)r->nstarts++ * (TP_MAX_RANK + 1);
    memcpy(now, r->window, r->operand->rank * sizeof *now);
    now[TP_MAX_RANK] = key;
    tp_each_inner_row(r, claim_row, &(claim_context){m, r->nstarts, key});
}

/* The window is undefined, or as it was left where the output may be revisited or begins as its input. */
static void open_window(tp_machine *m, uint32_t index)
{
    tp_ref *r = &m->refs[index];
    if ((r->returned && r->operand->revisit_any) || tp_begins_as_input(r->operand)) {
        transfer(m, r, true);
        fill_outside(m, r, index);
    } else {
        tp_origin first = tp_origin_new(TP_BORN_OUTPUT, index, 0, m->step);
        if (r->unread && r->cells.data != r->cells.own)
            tp_note_undefined(&r->cells, first);
        else
            tp_make_undefined(&r->cells, first);
    }
}

static void claim_block(tp_machine *m, tp_ref *r)
{
    int64_t key = tp_parallel_number(m);
    size_t b = block_number(r);
    bool race = r->visit_key[b] != key;
    if (r->visited[b] && !race && may_return(r->operand))
        r->returned = true;
    else if (r->visited[b] || !tp_crew_claims(m, r, b))
        tp_trap_raise(m, race ? TP_RULE_PARALLEL_RACE : TP_RULE_NONCONSECUTIVE_REVISIT, r->operand->name,
                      race ? "two steps that differ in a parallel axis write the same block of `%.*s`"
                           : "the grid returns to a block of `%.*s` after leaving it",
                      TP_FMT(r->operand->name));
    r->visited[b] = ++m->runs;
    r->visit_key[b] = key;
}

/* Those of all steps that are taken as one, as if one came after the other. */
static void claim_blocks(tp_machine *m, tp_ref *r)
{
    int64_t steps = tp_joined_steps(m, r);
    for (int64_t q = 0; q < steps; q++) {
        if (q)
            tp_join_turn(m, r, 1);
        claim_block(m, r);
    }
    if (steps > 1)
        tp_join_turn(m, r, 1 - steps);
}

static void begin_run(tp_machine *m, uint32_t index)
{
    tp_ref *r = &m->refs[index];
    r->resident = true;
    r->returned = false;
    if (r->writer)
        tp_far_begin(r);
    if (r->owner)
        claim_elements(m, r, tp_parallel_number(m));
    else if (r->visited)
        claim_blocks(m, r);
    open_window(m, index);
}

/* Start of an Element dimension: inside the padding, and meeting the array. */
static int64_t element_start(tp_machine *m, const tp_ref *r, uint32_t d, int64_t index)
{
    const tp_operand *o = r->operand;
    int64_t lo = eval(m, o->dims[d].pad_lo, TP_RULE_EXTENT, "the padding", o->name),
            hi = eval(m, o->dims[d].pad_hi, TP_RULE_EXTENT, "the padding", o->name), start, end, limit;
    bool fits = tp_sub(index, lo, &start) && tp_add(start, r->block[d], &end) && tp_add(r->array->dims[d], hi, &limit);
    if (!fits)
        tp_trap_raise(m, TP_RULE_BLOCK_OUT_OF_BOUNDS, o->name,
                      "element index %lld in dimension %u of `%.*s`, with the padding, wants elements beyond 2^63",
                      (long long)index, tp_global_dim(o, d), TP_FMT(o->name));
    if (index < 0 || end > limit || start >= r->array->dims[d] || end <= 0)
        tp_trap_raise(m, TP_RULE_BLOCK_OUT_OF_BOUNDS, o->name,
                      "element index %lld in dimension %u of `%.*s` wants elements %lld to %lld; the array has %lld",
                      (long long)index, tp_global_dim(o, d), TP_FMT(o->name), (long long)start, (long long)(end - 1),
                      (long long)r->array->dims[d]);
    return start;
}

/* Start of the window of operand `o` at this step; traps when it misses the array. */
static bool move_window(tp_machine *m, uint32_t index, int64_t *start)
{
    tp_ref *r = &m->refs[index];
    const tp_operand *o = r->operand;
    bool changed = !r->resident;
    for (uint32_t d = 0; d < o->rank; d++) {
        if (r->resident && !(r->moves >> d & 1)) {
            start[d] = r->window[d];
            continue;
        }
        int64_t block = eval(m, o->dims[d].index, TP_RULE_INDEX_OVERFLOW, "the index map", o->name);
        if (o->dims[d].kind == TP_DIM_ELEMENT) {
            start[d] = element_start(m, r, d, block);
            changed |= start[d] != r->window[d];
            continue;
        }
        if (!tp_mul(block, r->unit[d], &start[d]))
            tp_trap_raise(m, TP_RULE_BLOCK_OUT_OF_BOUNDS, o->name,
                          "block index %lld in dimension %u of `%.*s` starts at an element beyond 2^63",
                          (long long)block, tp_global_dim(o, d), TP_FMT(o->name));
        if (start[d] < 0 || (start[d] >= r->array->dims[d] && !(o->whole && start[d] == 0)))
            tp_trap_raise(m, TP_RULE_BLOCK_OUT_OF_BOUNDS, o->name,
                          "block index %lld in dimension %u of `%.*s` starts at element %lld; the array has %lld",
                          (long long)block, tp_global_dim(o, d), TP_FMT(o->name), (long long)start[d],
                          (long long)r->array->dims[d]);
        changed |= start[d] != r->window[d];
    }
    return changed;
}

/* Of as many words as were just written one by one: more at a time would have to wait for them. */
static void set_window(tp_ref *r, const int64_t *start)
{
    for (uint32_t d = 0; d < r->operand->rank; d++)
        r->window[d] = start[d];
}

static void stays(tp_machine *m, uint32_t operand)
{
    if (!tp_is_far(&m->k->operands[operand]))
        tp_tell(m, (tp_event){.kind = TP_EVENT_STAY, .operand = operand});
}

/* The windows of steps that are taken as one, which lie anywhere. */
static void gather(tp_machine *m, tp_ref *r, bool changed)
{
    int64_t moved = changed + tp_join_gather(m, r);
    tp_count_transfer(m, r, true, moved);
    tp_spend(m->arena, 16 + (int64_t)(r->cells.n / 32));
    r->cells.state = TP_CLEAN;
    r->resident = true;
    m->stats.copies_in += moved;
}

static void move_windows(tp_machine *m, bool parallel_changed)
{
    int64_t start[TP_MAX_RANK];
    uint32_t n = m->k->ninputs + m->k->noutputs;
    tp_ahead_rest(m);
    if (parallel_changed)
        tp_refuse_flights(m, "before a parallel coordinate changes");
    for (uint32_t i = m->k->ninputs; i < n; i++) {
        bool changed = move_window(m, i, start) || (parallel_changed && !tp_is_far(&m->k->operands[i]));
        if (!changed) {
            stays(m, i);
            continue;
        }
        tp_flight_window(m, i);
        end_run(m, i, m->step - 1);
        set_window(&m->refs[i], start);
        tp_place_window(m, &m->refs[i]);
        begin_run(m, i);
    }
    for (uint32_t i = 0; i < m->k->ninputs; i++) {
        tp_ref *r = &m->refs[i];
        bool changed = move_window(m, i, start);
        if (tp_is_gathered(m, r)) {
            gather(m, r, changed);
            continue;
        }
        if (!changed) {
            stays(m, i);
            int64_t others = tp_joined_steps(m, r) - 1; /* of steps that are taken as one, it is that of the first */
            if (others)
                tp_count_transfer(m, r, true, others);
            m->stats.copies_in += others;
            if (parallel_changed) /* another core would copy it in now */
                tp_alias_read(m, r);
            continue;
        }
        tp_flight_window(m, i);
        set_window(r, start);
        tp_place_window(m, r);
        tp_ahead_now(m, r);
        transfer(m, r, true);
        fill_outside(m, r, i);
        tp_alias_read(m, r);
        r->resident = true;
        m->stats.copies_in += tp_joined_steps(m, r);
    }
    for (uint32_t i = n; parallel_changed && i < tp_noperands(m->k); i++) {
        m->refs[i].nlate = 0;
        tp_make_undefined(&m->refs[i].cells, tp_origin_new(TP_BORN_SCRATCH, i, 0, m->step));
    }
}

/* ---- the walk ---- */

bool tp_grid_holds(const tp_grid *g, uint32_t naxes)
{
    for (uint32_t a = 0; a < naxes; a++) {
        int64_t sum = 0, n = g->order[a] ? g->steps[a] : 0;
        for (int64_t i = 0; i < n; i++) {
            for (int64_t k = 0; k < i && n <= 64; k++)
                if (g->order[a][k] == g->order[a][i])
                    return false;
            if (g->order[a][i] < 0 || g->order[a][i] >= n)
                return false;
            sum += g->order[a][i] - i; /* of many: none of them may be missing without another twice */
        }
        if (sum)
            return false;
    }
    return true;
}

static void lay_out(tp_machine *m)
{
    tp_grid *g = &m->grid;
    g->total = 1;
    for (uint32_t a = 0; a < m->k->naxes; a++) {
        const tp_axis *axis = &m->k->axes[a];
        g->steps[a] = eval(m, axis->steps, TP_RULE_EXTENT, "the step count", axis->name);
        if (g->steps[a] < 0)
            tp_trap_raise(m, TP_RULE_EXTENT, axis->name, "axis `%.*s` has %lld steps", TP_FMT(axis->name),
                          (long long)g->steps[a]);
        if (!tp_mul(g->total, g->steps[a], &g->total) || g->total > m->request->max_steps)
            refuse(m, tp_printf(m->arena, "the grid has more than %lld steps", (long long)m->request->max_steps));
    }
    tp_rng rng = tp_rng_new(m->request->seed, 0x67726964);
    for (uint32_t a = 0; a < m->k->naxes; a++) {
        if (!m->k->axes[a].parallel || m->k->axes[a].device || m->request->in_order)
            continue;
        g->order[a] = TP_NEWN(m->arena, int64_t, g->steps[a]);
        for (int64_t i = 0; i < g->steps[a]; i++) { /* inside-out shuffle */
            int64_t j = (int64_t)tp_rng_below(&rng, (uint64_t)i + 1);
            g->order[a][i] = g->order[a][j];
            g->order[a][j] = i;
        }
    }
    tp_assert(tp_grid_holds(g, m->k->naxes));
}

void tp_walk_check(tp_machine *m)
{
    m->step = -1;
    m->at = NULL;
    for (uint32_t i = m->k->ninputs; i < m->k->ninputs + m->k->noutputs; i++) {
        tp_ref *r = &m->refs[i];
        tp_spend(m->arena, (int64_t)(r->array->n / 8));
        if (r->operand->discard || r->operand->alias >= 0)
            continue;
        for (size_t e = 0; r->owner && e < r->array->n; e++) {
            int64_t at[TP_MAX_RANK];
            size_t rest = e;
            for (uint32_t d = r->operand->rank; d-- > 0; rest /= (size_t)r->array->dims[d])
                at[d] = (int64_t)(rest % (size_t)r->array->dims[d]);
            if (!r->owner[e] && tp_element_valid(m->k, r->operand, m->env, at))
                tp_trap_raise(m, TP_RULE_OUTPUT_COVERAGE, r->operand->name, "no step writes element %zu of `%.*s`", e,
                              TP_FMT(r->operand->name));
        }
        for (size_t b = 0; b < r->nblocks; b++) {
            if (r->visited[b])
                continue;
            size_t rest = b;
            for (uint32_t d = r->operand->rank; d-- > 0;) {
                r->window[d] = (int64_t)(rest % (size_t)r->blocks[d]) * r->block[d];
                rest /= (size_t)r->blocks[d];
            }
            for (size_t lane = 0; lane < r->cells.n; lane++)
                if (lane_inside(r, lane) && lane_valid(m, r, lane))
                    tp_trap_raise(m, TP_RULE_OUTPUT_COVERAGE, r->operand->name, "no step writes %.*s",
                                  TP_FMT(tp_element_text(m, r, lane)));
        }
    }
}

/* Elements of all windows, as if each moved in each step. */
static int64_t work_of_step(const tp_machine *m)
{
    size_t n = 1;
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        n += tp_is_far(&m->k->operands[i]) ? 0 : m->refs[i].cells.n;
    return (int64_t)n;
}

void tp_walk_prepare(tp_machine *m)
{
    check_executable(m);
    for (uint32_t i = 0; i < tp_noperands(m->k); i++)
        prepare_ref(m, i);
    for (uint32_t i = m->k->ninputs; i < m->k->ninputs + m->k->noutputs; i++)
        if (m->k->operands[i].alias >= 0)
            tp_alias_prepare(m, i);
    for (uint32_t i = 0; i < m->k->ninputs + m->k->noutputs; i++)
        tp_find_place(m, &m->refs[i]);
    tp_flights_prepare(m);
    prepare_values(m);
    tp_rename_prepare(m);
    tp_ahead_prepare(m);
    tp_fixed_prepare(m);
    tp_steady_prepare(m);
    tp_chain_prepare(m);
    tp_fuse_prepare(m);
    tp_shown_prepare(m);
    lay_out(m);
    tp_streams_prepare(m);
    tp_join_prepare(m);
    tp_quick_prepare(m);
    tp_course_prepare(m);
}

static void advance(tp_machine *m)
{
    tp_grid *g = &m->grid;
    for (uint32_t a = m->k->naxes; a-- > 0;) {
        if (++g->at[a] < g->steps[a])
            break;
        g->at[a] = 0;
    }
}

void tp_walk_steps(tp_machine *m, int64_t from, int64_t to)
{
    tp_assert(from >= 0 && from <= to && to <= m->grid.total);
    begin_at(&m->grid, m->k->naxes, from);
    int64_t work = work_of_step(m);
    for (m->step = from; m->step < to; m->step++) {
        tp_spend(m->arena, 16 + 8 * tp_noperands(m->k));
        bool parallel_changed = set_axes(m) || m->step == from;
        for (uint32_t i = m->k->ninputs; m->joined && i < m->k->ninputs + m->k->noutputs; i++)
            end_run(m, i, m->step - 1);
        int64_t steps = tp_join(m, to - m->step);
        m->at = NULL;
        tp_exec_spend(m, steps * work);
        tp_tell(m, (tp_event){.kind = TP_EVENT_STEP});
        move_windows(m, parallel_changed);
        tp_join_pass(m, steps);
        tp_look_ahead(m);
        if (m->devices && m->step == from)
            tp_exchange_enter(m);
        tp_exec_course(m, m->course);
        for (uint32_t i = m->k->ninputs; i < m->k->ninputs + m->k->noutputs; i++)
            tp_alias_step(m, &m->refs[i]);
        tp_tell(m, (tp_event){.kind = TP_EVENT_STEP_DONE});
        m->step += steps - 1;
        m->stats.joined += steps - 1;
        advance(m);
    }
    m->step--;
    if (m->devices)
        tp_exchange_leave(m);
    tp_refuse_flights(m, "when the kernel ends");
    for (uint32_t i = m->k->ninputs; i < m->k->ninputs + m->k->noutputs; i++)
        end_run(m, i, m->step);
    tp_join_end(m);
    for (uint32_t i = 0; m->joined && i < m->k->ninputs; i++)
        tp_place_window(m, &m->refs[i]);
    tp_stream_end();
    m->stats.steps = m->grid.total;
}

tp_walk_time tp_walk_clock(const tp_run_request *r)
{
    if (!r->counts)
        return (tp_walk_time){0};
    return (tp_walk_time){tp_wall_seconds(), tp_process_seconds()};
}

void tp_walk_times(tp_run_stats *s, tp_walk_time began, tp_walk_time prepared, tp_walk_time now)
{
    s->prepare = prepared.wall - began.wall;
    s->steps_wall = now.wall - prepared.wall;
    s->steps_cpu = now.cpu - prepared.cpu;
}

static void walk(void *arg)
{
    tp_machine *m = arg;
    tp_walk_time began = tp_walk_clock(m->request);
    tp_walk_prepare(m);
    tp_walk_time prepared = tp_walk_clock(m->request);
    tp_walk_steps(m, 0, m->grid.total);
    tp_walk_check(m);
    tp_walk_times(&m->stats, began, prepared, tp_walk_clock(m->request));
    m->stats.threads = 1;
}

tp_machine tp_machine_new(tp_arena *a, const tp_run_request *r, tp_trap *trap)
{
    tp_machine m = {
        .arena = a, .request = r, .k = r->kernel, .trap = trap, .step = -1, .domain = r->domain, .together = 1};
    *trap = (tp_trap){.step = -1};
    m.env = tp_env_copy(a, r->kernel, r->env);
    for (uint32_t x = 0; x < r->kernel->naxes; x++)
        m.env[r->kernel->axes[x].sym] = -1; /* no step yet */
    m.refs = TP_NEWN(a, tp_ref, tp_noperands(r->kernel));
    m.stats.moved = TP_NEWN(a, tp_traffic, tp_noperands(r->kernel));
    return m;
}

bool tp_request_holds(const tp_run_request *r)
{
    const tp_kernel *k = r->kernel;
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        if (r->arrays[i].dtype != k->operands[i].dtype || r->arrays[i].rank != k->operands[i].rank ||
            !tp_tensor_holds(&r->arrays[i]))
            return false;
    return r->max_steps >= 0 && r->max_work >= 0;
}

tp_status tp_machine_run(tp_arena *a, const tp_run_request *r, tp_trap *trap, tp_run_stats *stats)
{
    tp_run_stats unseen;
    tp_assert(tp_request_holds(r));
    if (tp_is_connected(r->kernel))
        return tp_devices_run(a, r, trap, stats ? stats : &unseen);
    if (r->threads > 1 && tp_crew_run(a, r, stats ? stats : &unseen)) {
        *trap = (tp_trap){.step = -1};
        return TP_OK;
    }
    tp_machine m = tp_machine_new(a, r, trap);
    tp_status st = tp_try(a, walk, &m);
    if (stats)
        *stats = m.stats;
    return st;
}
