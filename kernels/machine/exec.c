/* Executing the statements of a body, one by one. */
#include "base/assert.h"
#include "base/checked.h"
#include "kernels/machine/internal.h"
#include "base/strided.h"

/* For a statement that takes all lanes as they lie. */
static void settle_flat(tp_machine *m, tp_vid v)
{
    tp_settle(m, v);
    if (v >= 0)
        tp_flatten(&m->values[v]);
}

/* ---- refs ---- */

int64_t tp_scalar_int(tp_machine *m, tp_vid v, tp_str subject, const char *sink)
{
    const tp_cells *c = &m->values[v];
    if (c->state == TP_CLEAN && c->dtype == TP_I32 && !m->domain)
        return *(const int32_t *)c->data;
    if (tp_any_undefined(c))
        tp_trap_undefined(m, tp_any_undefined(c), subject, sink);
    tp_decide(m, c);
    return tp_get_i64(c->dtype, c->data, 0);
}

/* Which lanes of dimension d of a guarded place lie in the ref. */
static void cut_slice(tp_slice *s, uint32_t d, int64_t extent)
{
    int64_t stride = s->stride[d], first = s->start[d] < 0 ? -(s->start[d] + 1) / stride + 1 : 0, behind = 0, span;
    if (s->start[d] < extent && tp_sub(extent - 1, s->start[d], &span) && span / stride < s->size[d])
        behind = span / stride + 1;
    else if (s->start[d] < extent)
        behind = s->size[d];
    s->cut = true;
    s->skip[d] = first;
    s->size[d] = behind > first ? behind - first : 0;
    s->start[d] = s->size[d] ? s->start[d] + first * stride : 0;
}

bool tp_slice_holds(const tp_slice *s, const int64_t *dims)
{
    for (uint32_t d = 0; d < s->rank; d++) {
        int64_t last;
        if (s->size[d] < 0 || s->skip[d] < 0 || s->size[d] > s->of[d] || (!s->cut && s->skip[d]))
            return false;
        if (s->size[d] &&
            (s->start[d] < 0 || !tp_last(s->start[d], s->size[d], s->stride[d], &last) || last >= dims[d]))
            return false;
    }
    return true;
}

/* Nothing is set of dimensions that the ref has not: this runs once or more in each step. */
static void resolve(tp_machine *m, const tp_access *a, tp_slice *s)
{
    const tp_ref *r = &m->refs[a->operand];
    s->rank = r->cells.rank;
    s->whole = true;
    s->cut = false;
    for (uint32_t d = 0; d < s->rank; d++) {
        const tp_subscript *sub = &a->subs[d];
        s->start[d] = s->skip[d] = 0;
        s->size[d] = s->of[d] = r->cells.dims[d];
        s->stride[d] = sub->stride;
        if (sub->kind == TP_SUB_FULL)
            continue;
        s->start[d] = tp_scalar_int(m, sub->start, r->operand->name, "an index");
        if (sub->kind == TP_SUB_INT)
            s->size[d] = 1;
        else if (tp_expr_eval(m->k->exprs, sub->size, m->env, &s->size[d]) != TP_EVAL_OK || s->size[d] < 0)
            tp_trap_raise(m, TP_RULE_SLICE_OUT_OF_BOUNDS, r->operand->name, "the size of this slice is not a count");
        s->of[d] = s->size[d];
        int64_t last;
        if (s->size[d] == 0) /* touches nothing */
            last = 0;
        else if (!tp_last(s->start[d], s->size[d], s->stride[d], &last))
            tp_trap_raise(m, TP_RULE_SLICE_OUT_OF_BOUNDS, r->operand->name,
                          "elements from %lld to one beyond 2^63 of dimension %u of `%.*s`, which has %lld",
                          (long long)s->start[d], d, TP_FMT(r->operand->name), (long long)r->cells.dims[d]);
        else if (a->guarded && (s->start[d] < 0 || last >= r->cells.dims[d]))
            cut_slice(s, d, r->cells.dims[d]);
        else if (s->start[d] < 0 || last >= r->cells.dims[d])
            tp_trap_raise(m, TP_RULE_SLICE_OUT_OF_BOUNDS, r->operand->name,
                          "elements %lld to %lld of dimension %u of `%.*s`, which has %lld", (long long)s->start[d],
                          (long long)last, d, TP_FMT(r->operand->name), (long long)r->cells.dims[d]);
        s->whole &= s->start[d] == 0 && s->size[d] == r->cells.dims[d] && s->of[d] == s->size[d] && s->stride[d] == 1;
    }
    tp_assert(tp_slice_holds(s, r->cells.dims));
}

/* Elements of the ref in the slice, their lanes, and elements of a value beside them: one for all where the value has
 * only one. */
typedef struct places {
    size_t first, first_lane, first_value;
    ptrdiff_t ref[TP_MAX_RANK], lane[TP_MAX_RANK], value[TP_MAX_RANK];
} places;

/* Elements from one of a value to the one that is `step` behind it. */
static ptrdiff_t value_stride(const tp_cells *value, ptrdiff_t step)
{
    if (value->n == 1)
        return 0;
    if (!value->viewed)
        return step;
    ptrdiff_t row = (ptrdiff_t)value->dims[value->rank - 1];
    return step < row ? !value->flat_row : step / row * value->pitch;
}

static places places_of(const tp_slice *s, const tp_cells *ref, const tp_cells *value)
{
    places p = {.first = 0};
    ptrdiff_t step = 1;
    size_t own[TP_MAX_RANK], lane = 1;
    tp_strides_of(ref, own);
    for (uint32_t d = s->rank; d-- > 0; lane *= (size_t)ref->dims[d]) {
        ptrdiff_t stride = s->size[d] > 1 ? (ptrdiff_t)s->stride[d] : 0; /* between no two it may be any number */
        p.ref[d] = (ptrdiff_t)own[d] * stride;
        p.lane[d] = (ptrdiff_t)lane * stride;
        p.first += own[d] * (size_t)s->start[d];
        p.first_lane += lane * (size_t)s->start[d];
        p.value[d] = value_stride(value, step);
        p.first_value += (size_t)p.value[d] * (size_t)s->skip[d];
        step *= s->of[d];
    }
    return p;
}

static void move_load(tp_machine *m, const tp_slice *s, tp_cells *ref, tp_cells *value)
{
    places p = places_of(s, ref, value);
    size_t size = tp_dtype_size(ref->dtype);
    tp_move(size, s->rank, s->size, (char *)value->data + p.first_value * size, p.value,
            (const char *)ref->data + p.first * size, p.ref);
    if (value->state == TP_MIXED)
        tp_move(sizeof *value->shadow, s->rank, s->size, value->shadow + p.first_value, p.value,
                tp_materialise(m, ref) + p.first_lane, p.lane);
}

static void move_store(tp_machine *m, const tp_slice *s, tp_cells *ref, tp_cells *value)
{
    static const tp_origin DEFINED = 0;
    static const ptrdiff_t NOWHERE[TP_MAX_RANK] = {0};
    places p = places_of(s, ref, value);
    size_t size = tp_dtype_size(ref->dtype);
    tp_move(size, s->rank, s->size, (char *)ref->data + p.first * size, p.ref,
            (const char *)value->data + p.first_value * size, p.value);
    if (ref->state != TP_MIXED)
        return;
    bool clean = value->state == TP_CLEAN;
    if (!clean) { /* nobody else tells whether the value was stored */
        tp_materialise(m, value);
        tp_mark_stored(m, value);
    }
    tp_move(sizeof *ref->shadow, s->rank, s->size, ref->shadow + p.first_lane, p.lane,
            clean ? &DEFINED : value->shadow + p.first_value, clean ? NOWHERE : p.value);
}

/* cells: ref, value */
static void load_slice(tp_machine *m, tp_cells *const *cells, const void *s)
{
    move_load(m, s, cells[0], cells[1]);
}

static void store_slice(tp_machine *m, tp_cells *const *cells, const void *s)
{
    move_store(m, s, cells[0], cells[1]);
}

static void planes_of_load(tp_machine *m, tp_slice *s, tp_cells *ref, tp_cells *out)
{
    out->meaning = (tp_planes){.degree = ref->meaning.degree};
    if (!ref->meaning.plane[0])
        return;
    tp_planes_room(m, out);
    memcpy(out->meaning.plane, out->room, sizeof out->room);
    tp_planes_move(m, (tp_cells *const[]){ref, out}, 2, load_slice, s);
}

static void planes_of_store(tp_machine *m, tp_slice *s, tp_cells *ref, tp_cells *value)
{
    if (!ref->meaning.plane[0] && !value->meaning.plane[0])
        return;
    if (s->whole && !value->meaning.plane[0]) { /* nothing of the old is left */
        ref->meaning.plane[0] = NULL;
        return;
    }
    tp_planes_materialise(m, ref);
    tp_planes_materialise(m, value);
    ref->meaning.degree = tp_degree_larger(ref->meaning.degree, value->meaning.degree);
    tp_planes_move(m, (tp_cells *const[]){ref, value}, 2, store_slice, s);
}

/* The body reads or writes this part of an array that has no window. */
static void count_far(tp_machine *m, uint32_t operand, const tp_slice *s, bool in)
{
    int64_t n = 1;
    if (!m->request->counts || !tp_is_far(&m->k->operands[operand]))
        return;
    for (uint32_t d = 0; d < s->rank; d++)
        n *= s->size[d];
    tp_count_moved(m, operand, n, 1, in);
}

/* The mask that says which lanes of a place are touched; NULL: all. */
static const tp_cells *guard(tp_machine *m, const tp_access *a)
{
    return a->guarded ? &m->values[a->mask] : NULL;
}

/* The body reads or writes this part of an operand: what was noted of it elsewhere may be against that. */
static void touch(tp_machine *m, const tp_access *a, const tp_slice *s, bool writes)
{
    tp_ref *r = &m->refs[a->operand];
    if (m->flights || m->devices)
        tp_flight_touch(m, a->operand, s, writes);
    if (r->writer)
        tp_far_touch(m, r, s, guard(m, a), writes);
    if (m->request->counts)
        count_far(m, a->operand, s, !writes);
}

/* The lanes of a guarded place that lie beyond the ref: masked off, or it is a violation. They are undefined. */
static void check_beyond(tp_machine *m, const tp_inst *i, const tp_slice *s, tp_cells *out)
{
    const tp_cells *mask = &m->values[i->access->mask];
    uint32_t line = m->at && m->at->syntax ? m->at->syntax->number : 0;
    int64_t at[TP_MAX_RANK] = {0};
    tp_materialise(m, out);
    memset(out->data, 0, out->n * tp_dtype_size(out->dtype));
    for (size_t e = 0; e < out->n; e++) {
        bool inside = true;
        size_t rest = e;
        for (uint32_t d = s->rank; d-- > 0; rest /= (size_t)s->of[d]) {
            at[d] = (int64_t)(rest % (size_t)s->of[d]);
            inside &= at[d] >= s->skip[d] && at[d] - s->skip[d] < s->size[d];
        }
        out->shadow[e] = inside ? 0 : tp_origin_new(TP_BORN_MASKED, i->access->operand, line, m->step);
        if (inside || (!tp_origin_at(mask, e) && !tp_get_i64(TP_BOOL, mask->data, e)))
            continue;
        const tp_ref *r = &m->refs[i->access->operand];
        for (uint32_t d = 0; d < s->rank; d++)
            if (at[d] < s->skip[d] || at[d] - s->skip[d] >= s->size[d])
                tp_trap_raise(m, TP_RULE_SLICE_OUT_OF_BOUNDS, r->operand->name,
                              "lane %lld of dimension %u of a place in `%.*s` lies beyond its %lld elements, and the "
                              "mask does not leave it out",
                              (long long)at[d], d, TP_FMT(r->operand->name), (long long)r->cells.dims[d]);
    }
}

/* Is it as it is for the whole step? */
static bool stays(const tp_machine *m, uint32_t operand)
{
    bool any = false; /* output in the same memory */
    for (uint32_t o = m->k->ninputs; o < m->k->ninputs + m->k->noutputs; o++)
        any |= m->k->operands[o].alias == (int)operand && tp_is_far(&m->k->operands[o]);
    return m->k->operands[operand].role == TP_INPUT && !any;
}

static bool same_rows(const tp_cells *a, const tp_cells *b)
{
    return a->rank && b->rank && a->dims[a->rank - 1] == b->dims[b->rank - 1];
}

/* ---- late copies: of an array that no step changes, made when somebody looks at other elements than those copied ----
 */

enum { MOST_LATE = 4 }; /* for one operand */

struct tp_late {
    tp_slice at;
    tp_cells from; /* what is shown there */
};

/* Is there surely no element in both? */
static bool lie_apart(const tp_slice *a, const tp_slice *b)
{
    bool apart = false;
    for (uint32_t d = 0; d < a->rank; d++)
        apart |= a->start[d] + (a->size[d] - 1) * a->stride[d] < b->start[d] ||
                 b->start[d] + (b->size[d] - 1) * b->stride[d] < a->start[d];
    return apart;
}

/* A part of r is about to be read, or written: make the copies that this concerns; those that the write
 * replaces need not be made. */
static void copy_now(tp_machine *m, tp_ref *r, const tp_slice *part, bool writes)
{
    uint32_t kept = 0;
    if (!r->nlate) /* at each step of most bodies */
        return;
    for (uint32_t n = 0; n < r->nlate; n++) {
        tp_late *late = &r->late[n];
        if (lie_apart(&late->at, part))
            r->late[kept++] = *late;
        else if (!writes || !(part->whole || tp_same_slice(&late->at, part)))
            move_store(m, &late->at, &r->cells, &late->from);
    }
    r->nlate = kept;
}

/* The part is defined, as its state says already. */
static bool copy_later(tp_machine *m, const tp_statement *statement, tp_ref *r, const tp_slice *s,
                       const tp_cells *value)
{
    uint32_t source = statement->kind == TP_COPY_START ? statement->from->operand : 0;
    if (statement->kind != TP_COPY_START || !m->shows || m->domain || r->operand->role != TP_SCRATCH || s->cut ||
        r->nlate == MOST_LATE || r->cells.state == TP_MIXED || value->state != TP_CLEAN || value->data == value->own ||
        !value->rank || value->dims[value->rank - 1] < tp_short_row(m) || !tp_is_far(&m->k->operands[source]) ||
        !stays(m, source))
        return false;
    if (!r->late)
        r->late = TP_NEWN(m->arena, tp_late, MOST_LATE);
    r->late[r->nlate++] = (tp_late){*s, *value};
    tp_ahead_copy(m, value);
    return true;
}

static bool show_late(tp_machine *m, tp_cells *out, tp_ref *r, const tp_slice *s)
{
    for (uint32_t n = 0; n < r->nlate; n++)
        if (tp_same_slice(&r->late[n].at, s) && same_rows(out, &r->late[n].from)) {
            tp_show_numbers(m, out, &r->late[n].from);
            return true;
        }
    copy_now(m, r, s, false);
    return false;
}

static void exec_load(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out], *ref = &m->refs[i->access->operand].cells;
    tp_slice s;
    resolve(m, i->access, &s);
    touch(m, i->access, &s, false);
    tp_gathered_fetch(m, &m->refs[i->access->operand]);
    if (s.whole && ((m->domain && m->shows && m->shows[i->out]) || stays(m, i->access->operand))) {
        tp_show_numbers(m, out, ref);
        out->meaning = ref->meaning;
        return;
    }
    if (show_late(m, out, &m->refs[i->access->operand], &s))
        return;
    bool defined = tp_defined_box(ref, s.start, s.size, s.stride) || tp_mixed_box_defined(ref, &s);
    if (ref->state == TP_INSIDE && s.whole && !tp_may_box(m))
        tp_materialise(m, ref);
    bool boxed = s.whole && ref->state == TP_INSIDE && !ref->viewed && (out->rank == ref->rank || !ref->lines);
    if ((defined || boxed) && tp_show_slice(m, i, ref, &s)) {
        if (!defined)
            tp_copy_box(m, out, ref);
        return;
    }
    if (s.whole) {
        tp_copy_cells(m, out, ref);
        return;
    }
    out->state = TP_CLEAN;
    if (!defined)
        tp_materialise(m, out);
    if (s.cut)
        check_beyond(m, i, &s, out);
    move_load(m, &s, ref, out);
    if (m->domain)
        planes_of_load(m, &s, ref, out);
    tp_note_defined(out);
}

/* Move what the value shows to memory of its own. */
static void own_numbers(tp_cells *c)
{
    tp_flatten(c);
    if (c->data != c->own)
        memcpy(c->own, c->data, c->n * tp_dtype_size(c->dtype));
    c->data = c->own;
}

/* What the ref means, and which elements of it are defined, once the value is there. */
static void note_store(tp_machine *m, tp_ref *r, tp_slice *s, tp_cells *value)
{
    tp_cells *ref = &r->cells;
    if (m->domain)
        planes_of_store(m, s, ref, value);
    if (s->whole && value->state == TP_CLEAN)
        ref->state = TP_CLEAN;
    bool noted = value->state == TP_CLEAN && tp_define_part(m, r, s);
    if (!noted && (ref->state != TP_CLEAN || value->state != TP_CLEAN))
        tp_materialise(m, ref);
}

static void exec_store(tp_machine *m, const tp_statement *statement)
{
    tp_ref *r = &m->refs[statement->access->operand];
    tp_cells *value = &m->values[statement->value], *ref = &r->cells;
    tp_spend(m->arena, 8 + (int64_t)(m->domain ? value->n / 8 : value->n / 32));
    tp_slice s;
    resolve(m, statement->access, &s);
    r->last_store = statement;
    if (tp_copies_within(statement)) {
        tp_slice source;
        resolve(m, statement->from, &source);
        tp_flight_sides(m, statement, &source, &s);
    }
    touch(m, statement->access, &s, true);
    copy_now(m, r, &s, true);
    if (s.whole && (tp_gathered_stores(m, statement->value, ref) || tp_sum_stores(m, statement->value, ref) ||
                    tp_fuse_stores(m, statement->value, ref, r->streams && ref->data != ref->own)))
        return;
    tp_settle(m, statement->value);
    if (value->state != TP_CLEAN || (value->viewed && !same_rows(value, ref)) ||
        (value->data != value->own && tp_overlap(value, ref)))
        own_numbers(value);
    if (s.whole && value->n == ref->n) {
        if (r->operand->role == TP_SCRATCH)
            tp_hand_over_numbers(m, ref, statement->value);
        else if (r->streams && ref->data != ref->own && !value->viewed && value->data == value->own)
            tp_stream_numbers(m, ref, value);
        else
            tp_copy_numbers(m, ref, value);
        tp_planes_store(m, ref, statement->value);
        tp_mark_stored(m, ref);
        return;
    }
    note_store(m, r, &s, value);
    if (copy_later(m, statement, r, &s, value))
        return;
    if (!r->streams || !tp_stream_row(m, &s, ref, value))
        move_store(m, &s, ref, value);
    tp_note_defined(ref);
}

/* ---- copies ---- */

/* The element of a semaphore. */
static size_t counter(tp_machine *m, const tp_access *a)
{
    tp_slice s;
    resolve(m, a, &s);
    size_t n = 0;
    for (uint32_t d = 0; d < s.rank; d++)
        n = n * (size_t)m->refs[a->operand].cells.dims[d] + (size_t)s.start[d];
    return n;
}

/* The destination is memory of another device. */
static void store_there(tp_machine *m, tp_machine *there, const tp_statement *statement, tp_slice *s)
{
    tp_ref *r = &there->refs[statement->access->operand];
    tp_cells *value = &m->values[statement->value];
    tp_spend(m->arena, 8 + (int64_t)(m->domain ? value->n / 8 : value->n / 32));
    r->last_store = statement;
    count_far(m, statement->access->operand, s, false);
    tp_settle(m, statement->value);
    own_numbers(value);
    note_store(m, r, s, value);
    move_store(m, s, &r->cells, value);
    tp_note_defined(&r->cells);
}

static tp_machine *device_of(tp_machine *m, const tp_statement *s)
{
    int64_t at[TP_MAX_MESH];
    uint32_t rank = s->device[0] < 0 ? 0 : tp_mesh_rank(m->k);
    for (uint32_t i = 0; i < rank; i++)
        at[i] = tp_scalar_int(m, s->device[i], (tp_str){NULL, 0}, "a device");
    return rank ? tp_exchange_other(m, at) : m;
}

static void exec_start(tp_machine *m, const tp_statement *s)
{
    tp_slice source, destination;
    tp_machine *there = device_of(m, s);
    if (there == m) {
        exec_store(m, s);
    } else {
        resolve(m, s->access, &destination);
        tp_exchange_reach(m, there, s, s->access->operand); /* else there is no memory yet */
        store_there(m, there, s, &destination);
    }
    resolve(m, s->from, &source);
    resolve(m, s->access, &destination);
    if (m->devices)
        tp_exchange_start(m, there, s, &source, &destination, counter(m, s->semaphore),
                          s->arrival ? counter(m, s->arrival) : 0);
    else
        tp_flight_start(m, s, &source, &destination, counter(m, s->semaphore));
}

/* Neither side is looked at: only extents count. */
static void exec_wait(tp_machine *m, const tp_statement *s)
{
    const tp_ref *r = &m->refs[s->access->operand];
    int64_t elements = 1;
    for (uint32_t d = 0; d < r->cells.rank; d++) {
        const tp_subscript *sub = &s->access->subs[d];
        int64_t n = sub->kind == TP_SUB_FULL ? r->cells.dims[d] : 1;
        if (sub->kind == TP_SUB_SLICE && (tp_expr_eval(m->k->exprs, sub->size, m->env, &n) != TP_EVAL_OK || n < 0))
            n = INT64_MAX; /* more than anybody brings */
        if (!tp_mul(elements, n, &elements))
            elements = INT64_MAX;
    }
    if (m->devices)
        tp_exchange_wait(m, s, elements, counter(m, s->semaphore));
    else
        tp_flight_wait(m, s, elements, counter(m, s->semaphore));
}

static void exec_count(tp_machine *m, const tp_statement *s)
{
    tp_str name = m->k->operands[s->semaphore->operand].name;
    int64_t n = tp_scalar_int(m, s->value, name, "the count of a semaphore");
    if (n < 0)
        tp_trap_raise(m, TP_RULE_DMA_SEMAPHORE, name, "%s `%.*s` by %lld",
                      s->kind == TP_SIGNAL ? "signals" : "waits for", TP_FMT(name), (long long)n);
    if (m->devices)
        tp_exchange_count(m, device_of(m, s), s, n, counter(m, s->semaphore));
    else
        tp_flight_count(m, s, n, counter(m, s->semaphore));
}

/* ---- statements ---- */

static void exec_data(tp_machine *m, const tp_inst *i)
{
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE: tp_exec_elementwise(m, i); return;
    case TP_CLASS_FOLD: tp_exec_reduce(m, i); return;
    case TP_CLASS_RUNNING: tp_exec_scan(m, i); return;
    case TP_CLASS_CONTRACT: tp_exec_dot(m, i); return;
    case TP_CLASS_MOVE: tp_exec_move(m, i); return;
    case TP_CLASS_MEMORY:
        if (i->prim == TP_P_LOAD) {
            exec_load(m, i);
            return;
        }
        break;
    case TP_CLASS_SELECT:
    case TP_CLASS_CONVERT:
    case TP_CLASS_SOURCE:
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: break;
    }
    tp_exec_structural(m, i);
}

/* Units: elements that are read and written, more of them under a domain. */
static void pay(tp_machine *m, const tp_inst *i)
{
    size_t n = m->values[i->out].n;
    for (uint32_t a = 0; a < i->nargs; a++)
        n += m->values[i->args[a]].n;
    tp_spend(m->arena, 8 + (int64_t)(m->domain ? n / 8 : n / 32));
}

/* Everything that the instruction looks at is there, in the form in which it looks. */
static void ready(tp_machine *m, const tp_inst *i)
{
    for (uint32_t a = 0; a < i->nargs; a++)
        tp_settle(m, i->args[a]);
    for (uint32_t a = 0; a < i->nargs; a++) {
        tp_cells *c = &m->values[i->args[a]];
        if (c->state == TP_INSIDE && i->prim != TP_P_SLICE && i->prim != TP_P_WHERE && !tp_keeps_box(m, i))
            tp_materialise(m, c);
        if (c->viewed && !tp_reads_views(m, i))
            tp_flatten(c);
    }
}

static void compute(tp_machine *m, const tp_inst *i)
{
    if (tp_reduce_fused(m, i) || tp_sum_of_rows(m, i))
        return;
    ready(m, i);
    m->values[i->out].data = m->values[i->out].own;
    m->values[i->out].viewed = false;
    if (!tp_view(m, i))
        exec_data(m, i);
}

int tp_same_as_argument(const tp_machine *m, const tp_inst *i)
{
    if (i->prim == TP_P_CAST && !m->domain && m->values[i->args[0]].dtype == m->values[i->out].dtype)
        return 0;
    int first = i->nargs ? tp_decide_mask(m, i->args[0]) : -1,
        second = i->nargs > 1 ? tp_decide_mask(m, i->args[1]) : -1;
    if (i->prim == TP_P_WHERE && first >= 0)
        return first ? 1 : 2;
    if (i->prim != TP_P_AND && i->prim != TP_P_OR)
        return -1;
    int neutral = i->prim == TP_P_AND;
    if (first >= 0) /* true & x, false | x: x; false & x, true | x: the mask */
        return first == neutral ? 1 : 0;
    return second < 0 ? -1 : second == neutral ? 0 : 1;
}

static bool shows_argument(tp_machine *m, const tp_inst *i)
{
    int which = tp_same_as_argument(m, i);
    if (which < 0)
        return false;
    tp_vid v = i->args[which];
    tp_cells *out = &m->values[i->out];
    const tp_cells *from = &m->values[v];
    if (from->n != out->n || m->assigned[v])
        return false;
    for (uint32_t a = 0; a < i->nargs; a++) /* what & and | do not need may yet be undefined */
        if (i->prim != TP_P_WHERE && m->values[i->args[a]].state != TP_CLEAN)
            return false;
    tp_settle(m, v);
    tp_show_numbers(m, out, from);
    return true;
}

void tp_settle(tp_machine *m, tp_vid v)
{
    const tp_inst *i = v < 0 ? NULL : m->values[v].waits;
    if (!i || tp_quick_settles(m, v) || tp_fuse_settles(m, v))
        return;
    tp_end_waiting(m, &m->values[v]);
    if (!shows_argument(m, i))
        compute(m, i);
    if (i->prim == TP_P_IOTA) /* once: it does not wait again */
        tp_fixed_note(m, i);
}

void tp_exec_inst(tp_machine *m, const tp_inst *i, const tp_quick *q)
{
    tp_quickly done = q ? tp_quick_exec(m, q) : TP_NOT_QUICK;
    if (done == TP_LOAD_NOW)
        exec_load(m, i);
    if (done == TP_COMPUTE_NOW)
        compute(m, i);
    if (done != TP_NOT_QUICK)
        return;
    pay(m, i);
    tp_exec_spend(m, tp_work_of(m, i));
    if (m->request->counts)
        tp_count_operation(m, i);
    if (tp_is_fixed(m, i))
        return;
    if (m->values[i->out].waits)
        tp_end_waiting(m, &m->values[i->out]);
    m->values[i->out].ranged = false;
    m->values[i->out].spared = 0;
    tp_chain_await(m, i);
    if (!tp_range_decides(m, i) && !tp_fuse_defers(m, i) && !tp_gathered_defers(m, i) && !tp_sum_awaits(m, i) &&
        !shows_argument(m, i))
        compute(m, i);
    tp_fixed_note(m, i);
    if (m->request->coverage && (i->prim == TP_P_WHERE || i->prim == TP_P_MASKED_LOAD)) {
        const tp_cells *mask = &m->values[i->args[0]];
        tp_cover_lanes(m->request->coverage, i, mask->data, mask->n);
    } else if (m->request->coverage && i->out >= 0 && m->k->body->values.at[i->out].dtype == TP_BOOL) {
        tp_cover_lanes(m->request->coverage, i, m->values[i->out].data, m->values[i->out].n);
    }
    if (tp_chainable(m, i))
        tp_chain_add(m, i);
    else if (m->domain)
        tp_planes_inst(m, i);
}

static void exec_enter(tp_machine *m, const tp_statement *s)
{
    for (uint32_t o = s->scope.first; o < s->scope.first + s->scope.n; o++) {
        tp_spend(m->arena, 8);
        m->refs[o].nlate = 0;
        if (m->devices)
            tp_exchange_touch(m, o, NULL, true);
        tp_make_undefined(&m->refs[o].cells, tp_origin_new(TP_BORN_SCRATCH, o, 0, m->step));
    }
}

static void exec_check(tp_machine *m, const tp_statement *s)
{
    const tp_cells *c = &m->values[s->value];
    if (tp_any_undefined(c))
        tp_trap_undefined(m, tp_any_undefined(c), (tp_str){NULL, 0}, "the condition of a check");
    tp_decide(m, c);
    for (size_t i = 0; i < c->n; i++)
        if (!((const uint8_t *)c->data)[i])
            tp_trap_raise(m, s->text.n ? TP_RULE_CHECK_FAILED : TP_RULE_FALSE_MULTIPLE, (tp_str){NULL, 0},
                          s->text.n ? "check failed: %.*s" : "no multiple of what multiple_of() claims%.*s",
                          TP_FMT(s->text));
}

void tp_exec_statement(tp_machine *m, const tp_statement *s)
{
    tp_chain_finish(m);
    bool reads = s->kind == TP_ASSIGN || s->kind == TP_ASSERT || s->kind == TP_SIGNAL || s->kind == TP_AWAIT;
    settle_flat(m, reads ? s->value : -1);
    switch (s->kind) {
    case TP_ASSIGN:
        tp_hand_over_numbers(m, &m->values[s->var], s->value);
        tp_planes_store(m, &m->values[s->var], s->value);
        break;
    case TP_PUT:
        exec_store(m, s);
        tp_assert(tp_cells_hold(&m->refs[s->access->operand].cells));
        break;
    case TP_COPY_START: exec_start(m, s); break;
    case TP_COPY_WAIT: exec_wait(m, s); break;
    case TP_SIGNAL:
    case TP_AWAIT: exec_count(m, s); break;
    case TP_ENTER: exec_enter(m, s); break;
    case TP_LEAVE: tp_flight_leave(m, s->scope); break;
    case TP_ASSERT: exec_check(m, s); break;
    case TP_COMPUTE:
    case TP_LOOP:
    case TP_WHILE:
    case TP_IF: break; /* course.c */
    }
}
