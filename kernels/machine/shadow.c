/* The lattice of defined and undefined elements. */
#include "base/assert.h"
#include "base/stream.h"
#include "base/strided.h"
#include "base/vectorised.h"
#include "kernels/machine/internal.h"

enum { LANE_BITS = 26, STEP_BITS = 26 };
#define LANE_MASK (((uint64_t)1 << LANE_BITS) - 1)
#define STEP_MASK (((uint64_t)1 << STEP_BITS) - 1)

tp_origin tp_origin_new(tp_origin_kind kind, uint32_t operand, size_t lane, int64_t step)
{
    tp_assert(kind >= TP_BORN_OUTSIDE && kind <= TP_BORN_MASKED && operand < 256 && step >= 0);
    uint64_t l = lane < LANE_MASK ? lane : LANE_MASK, s = (uint64_t)step < STEP_MASK ? (uint64_t)step : STEP_MASK;
    return (uint64_t)kind << 60 | (uint64_t)operand << 52 | l << STEP_BITS | s;
}

tp_origin_kind tp_origin_kind_of(tp_origin o)
{
    return (tp_origin_kind)(o >> 60 & 7);
}

static uint32_t origin_operand(tp_origin o)
{
    return (uint32_t)(o >> 52 & 0xff);
}

const char *tp_origin_rule(tp_origin o)
{
    switch (tp_origin_kind_of(o)) {
    case TP_BORN_OUTSIDE: return TP_RULE_PADDING_LEAK;
    case TP_BORN_CAST:
    case TP_BORN_NAN:
    case TP_BORN_MASKED: return TP_RULE_UNDEFINED_SOURCE;
    case TP_BORN_SCRATCH:
    case TP_BORN_OUTPUT: break;
    }
    return TP_RULE_UNINITIALIZED_USE;
}

/* "(3, 130)": position of a lane inside a block */
static tp_str lane_text(tp_machine *m, const tp_cells *c, size_t lane)
{
    tp_buf b = {.arena = m->arena};
    int64_t at[TP_MAX_RANK];
    for (uint32_t d = c->rank; d-- > 0;) {
        int64_t n = c->dims[d] > 0 ? c->dims[d] : 1;
        at[d] = (int64_t)lane % n;
        lane /= (size_t)n;
    }
    tp_buf_c(&b, "(");
    for (uint32_t d = 0; d < c->rank; d++)
        tp_buf_printf(&b, "%s%lld", d ? ", " : "", (long long)at[d]);
    tp_buf_c(&b, ")");
    return tp_buf_view(&b);
}

tp_str tp_origin_step_text(tp_machine *m, int64_t step)
{
    tp_buf b = {.arena = m->arena};
    int64_t at[TP_MAX_AXES];
    if (m->grid.total < 1 || m->grid.total > (int64_t)STEP_MASK || m->k->naxes == 0)
        return TP_S("");
    for (uint32_t a = m->k->naxes; a-- > 0; step /= m->grid.steps[a]) {
        at[a] = step % m->grid.steps[a];
        if (m->grid.order[a])
            at[a] = m->grid.order[a][at[a]];
    }
    for (uint32_t a = 0; a < m->k->naxes; a++)
        tp_buf_printf(&b, "%s%.*s = %lld", a ? ", " : " at step ", TP_FMT(m->k->axes[a].name), (long long)at[a]);
    return tp_buf_view(&b);
}

tp_str tp_origin_text(tp_machine *m, tp_origin o)
{
    uint32_t operand = origin_operand(o);
    size_t lane = (size_t)(o >> STEP_BITS & LANE_MASK);
    if (tp_origin_kind_of(o) == TP_BORN_CAST)
        return tp_printf(m->arena, "a float-to-int conversion out of range in line %zu of the kernel", lane);
    if (tp_origin_kind_of(o) == TP_BORN_NAN)
        return tp_printf(m->arena, "a conversion of nan to an integer in line %zu of the kernel", lane);
    const tp_ref *r = &m->refs[operand];
    if (tp_origin_kind_of(o) == TP_BORN_MASKED)
        return tp_printf(m->arena, "a masked-off lane of the load of `%.*s` in line %zu of the kernel",
                         TP_FMT(r->operand->name), lane);
    tp_str at = lane_text(m, &r->cells, lane), step = tp_origin_step_text(m, (int64_t)(o & STEP_MASK));
    if (tp_origin_kind_of(o) == TP_BORN_OUTSIDE)
        return tp_printf(m->arena,
                         "element %.*s of the window of `%.*s`, which lies outside the array (window copied in%.*s)",
                         TP_FMT(at), TP_FMT(r->operand->name), TP_FMT(step));
    if (tp_origin_kind_of(o) == TP_BORN_SCRATCH)
        return tp_printf(m->arena, "element %.*s of scratch `%.*s`, unwritten (scratch undefined%.*s)", TP_FMT(at),
                         TP_FMT(r->operand->name), TP_FMT(step));
    return tp_printf(m->arena, "element %.*s of the output window of `%.*s`, unwritten in its run (begun%.*s)",
                     TP_FMT(at), TP_FMT(r->operand->name), TP_FMT(step));
}

static void shape_cells(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims)
{
    c->dtype = dtype;
    c->rank = rank;
    c->n = 1;
    for (uint32_t d = 0; d < rank; d++) {
        c->dims[d] = dims[d];
        if (__builtin_mul_overflow(c->n, (size_t)dims[d], &c->n))
            tp_leave(a, TP_E_MEMORY);
    }
    if (c->n > SIZE_MAX / sizeof(tp_origin))
        tp_leave(a, TP_E_MEMORY);
    c->state = TP_CLEAN;
}

void tp_cells_init(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims)
{
    shape_cells(a, c, dtype, rank, dims);
    c->data = c->own = tp_alloc(a, c->n * tp_dtype_size(dtype));
}

void tp_cells_init_shape(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims)
{
    shape_cells(a, c, dtype, rank, dims);
}

void tp_cells_init_unset(tp_arena *a, tp_cells *c, tp_dtype dtype, uint32_t rank, const int64_t *dims)
{
    shape_cells(a, c, dtype, rank, dims);
    c->data = c->own = tp_alloc_unset(a, c->n * tp_dtype_size(dtype));
}

/* Does element i lie in the box? */
static bool in_box(const tp_cells *c, const tp_box_of_cells *box, size_t i)
{
    for (uint32_t d = c->rank; d-- > 0; i /= (size_t)c->dims[d]) {
        int64_t at = (int64_t)(i % (size_t)c->dims[d]) - box->first[d];
        if (at < 0 || at >= box->extent[d])
            return false;
    }
    return true;
}

static bool in_pieces(const tp_cells *c, size_t i)
{
    bool any = false;
    for (uint32_t p = 0; p < c->pieces->n; p++)
        any |= in_box(c, &c->pieces->at[p], i);
    return any;
}

bool tp_cells_hold(const tp_cells *c)
{
    size_t n = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        n *= (size_t)c->dims[d];
    return c->rank <= TP_MAX_RANK && n == c->n && (c->data || !c->n) && (c->state != TP_MIXED || c->shadow) &&
           (c->state != TP_ALL_UNDEFINED || c->origin) && (c->state != TP_INSIDE || (c->origin && c->defined)) &&
           (c->state != TP_PIECES || (c->origin && c->pieces && c->pieces->n > 1 && c->pieces->n <= TP_MOST_PIECES));
}

void tp_note_undefined(tp_cells *c, tp_origin first)
{
    c->state = TP_ALL_UNDEFINED;
    c->origin = first;
    c->meaning.plane[0] = NULL;
}

void tp_make_undefined(tp_cells *c, tp_origin first)
{
    tp_note_undefined(c, first);
    /* A loud pattern: whoever looks at it should not get away with it. */
    size_t n = c->viewed ? (size_t)c->dims[c->rank - 1] : c->n, size = tp_dtype_size(c->dtype); /* side by side */
    if (!n || !tp_is_float(c->dtype))
        return;
    size_t most = n < 64 ? n : 64;
    uint32_t word;
    tp_put_f64(c->dtype, c->data, 0, -7.77e33);
    memcpy(&word, c->data, size < sizeof word ? size : sizeof word);
    for (size_t i = 1; size == sizeof word && i < most; i++) /* at each step of most kernels */
        memcpy((char *)c->data + i * sizeof word, &word, sizeof word);
    for (size_t i = 1; size != sizeof word && i < most; i *= 2)
        memcpy((char *)c->data + i * size, c->data, (most - i < i ? most - i : i) * size);
}

/* Of lane i, where that of lane 0 is `first`. */
static tp_origin lane_origin(tp_origin first, size_t i)
{
    uint64_t lane = (first >> STEP_BITS & LANE_MASK) + i;
    return (first & ~(LANE_MASK << STEP_BITS)) | (lane < LANE_MASK ? lane : LANE_MASK) << STEP_BITS;
}

/* Of element i of TP_INSIDE, outside of the box. */
static tp_origin outside_origin(const tp_cells *c, size_t i)
{
    if (!c->lines)
        return lane_origin(c->origin, i);
    size_t n = (size_t)c->dims[1];
    int64_t row = (int64_t)(i / n) - c->defined->first[0];
    bool inside = row >= 0 && row < c->defined->extent[0];
    return inside ? lane_origin(c->beside, i % n) : lane_origin(c->origin, i / n * c->lines);
}

tp_origin tp_origin_at(const tp_cells *c, size_t i)
{
    if (c->state == TP_CLEAN)
        return 0;
    if (c->state == TP_MIXED)
        return c->shadow[i];
    if (c->state == TP_INSIDE)
        return in_box(c, c->defined, i) ? 0 : outside_origin(c, i);
    if (c->state == TP_PIECES && in_pieces(c, i))
        return 0;
    return lane_origin(c->origin, i);
}

/* Of n lanes, where that of the first is `first`. */
TP_VECTORISED static void number_lanes(tp_origin first, size_t n, tp_origin *restrict to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = lane_origin(first, i);
}

/* Of TP_INSIDE with `lines`: as outside_origin() has them. */
static void number_rows(const tp_cells *c, tp_origin *to)
{
    size_t n = (size_t)c->dims[1];
    for (size_t i = 0; i < c->n; i += n) {
        int64_t row = (int64_t)(i / n) - c->defined->first[0];
        tp_origin all = lane_origin(c->origin, i / n * c->lines);
        if (row >= 0 && row < c->defined->extent[0])
            number_lanes(c->beside, n, to + i);
        else
            for (size_t k = 0; k < n; k++)
                to[i + k] = all;
    }
}

static void define_box(const tp_cells *c, const tp_box_of_cells *box, tp_origin *shadow)
{
    uint32_t last = c->rank ? c->rank - 1 : 0;
    size_t n = c->rank ? (size_t)c->dims[last] : 1;
    for (size_t row = 0; c->rank && n && row < c->n / n; row++) {
        bool inside = box->extent[last] > 0;
        size_t rest = row;
        for (uint32_t d = last; d-- > 0; rest /= (size_t)c->dims[d]) {
            int64_t at = (int64_t)(rest % (size_t)c->dims[d]) - box->first[d];
            inside &= at >= 0 && at < box->extent[d];
        }
        if (inside)
            memset(shadow + row * n + box->first[last], 0, (size_t)box->extent[last] * sizeof *shadow);
    }
}

void tp_origins(const tp_cells *c, tp_origin *to)
{
    if (c->state == TP_CLEAN)
        memset(to, 0, c->n * sizeof *to);
    else if (c->state == TP_MIXED)
        memcpy(to, c->shadow, c->n * sizeof *to);
    else if (c->state != TP_INSIDE || !c->lines)
        number_lanes(c->origin, c->n, to);
    else
        number_rows(c, to);
    if (c->state == TP_INSIDE)
        define_box(c, c->defined, to);
    for (uint32_t p = 0; c->state == TP_PIECES && p < c->pieces->n; p++)
        define_box(c, &c->pieces->at[p], to);
}

tp_origin *tp_shadow_unset(tp_machine *m, tp_cells *c)
{
    if (!c->shadow)
        c->shadow = tp_alloc_unset(m->arena, c->n * sizeof *c->shadow);
    c->state = TP_MIXED;
    return c->shadow;
}

tp_origin *tp_materialise(tp_machine *m, tp_cells *c)
{
    tp_shadow_state was = c->state;
    tp_origin *shadow = tp_shadow_unset(m, c);
    c->state = was;
    if (was != TP_MIXED)
        tp_origins(c, shadow);
    c->state = TP_MIXED;
    return shadow;
}

tp_origin tp_any_undefined(const tp_cells *c)
{
    if (c->state == TP_CLEAN || c->state == TP_ALL_UNDEFINED)
        return c->state == TP_ALL_UNDEFINED && c->n ? c->origin : 0;
    for (size_t i = 0; i < c->n; i++)
        if (tp_origin_at(c, i))
            return tp_origin_at(c, i);
    return 0;
}

static bool all_zero(const tp_origin *at, size_t n)
{
    tp_origin any = 0;
    for (size_t i = 0; i < n; i++)
        any |= at[i];
    return any == 0;
}

bool tp_none_defined(const tp_cells *c, size_t from, size_t n)
{
    size_t first = 0, last = 0, step = 1;
    if (c->state != TP_INSIDE) {
        size_t at = from;
        while (c->state == TP_MIXED && at < from + n && c->shadow[at])
            at++;
        return c->state == TP_ALL_UNDEFINED || (c->state == TP_MIXED && at == from + n);
    }
    for (uint32_t d = c->rank; d-- > 0; step *= (size_t)c->dims[d]) {
        if (c->defined->extent[d] <= 0)
            return true;
        first += step * (size_t)c->defined->first[d];
        last += step * (size_t)(c->defined->first[d] + c->defined->extent[d] - 1);
    }
    return from > last || from + n <= first;
}

/* The first undefined element from `from` on, or `end`. */
static size_t undefined_from(const tp_cells *c, size_t from, size_t end)
{
    enum { SOME = 64 };
    while (from + SOME <= end && all_zero(c->shadow + from, SOME))
        from += SOME;
    while (from < end && !c->shadow[from])
        from++;
    return from;
}

void tp_note_defined(tp_cells *c)
{
    if (c->state != TP_MIXED)
        return;
    size_t first = c->hole < c->n ? c->hole : 0, at = undefined_from(c, first, c->n);
    if (at == c->n) {
        at = undefined_from(c, 0, first);
        if (at == first) {
            c->state = TP_CLEAN;
            return;
        }
    }
    c->hole = at;
}

/* Make `box` the union with first[], extent[], if that is one; false: it is not. */
static bool unite(tp_box_of_cells *box, uint32_t rank, const int64_t *first, const int64_t *extent)
{
    uint32_t differ = 0, along = 0;
    bool within = true, around = true;
    for (uint32_t d = 0; d < rank; d++) {
        int64_t end = first[d] + extent[d], box_end = box->first[d] + box->extent[d];
        within &= first[d] >= box->first[d] && end <= box_end;
        around &= first[d] <= box->first[d] && end >= box_end;
        if (first[d] != box->first[d] || end != box_end) {
            differ++;
            along = d;
        }
    }
    if (within)
        return true;
    int64_t end = first[along] + extent[along], box_end = box->first[along] + box->extent[along];
    if (around) {
        memcpy(box->first, first, rank * sizeof *first);
        memcpy(box->extent, extent, rank * sizeof *extent);
        return true;
    }
    if (differ != 1 || first[along] > box_end || end < box->first[along])
        return false;
    box->first[along] = first[along] < box->first[along] ? first[along] : box->first[along];
    box->extent[along] = (end > box_end ? end : box_end) - box->first[along];
    return true;
}

static bool is_all(const tp_cells *c, const tp_box_of_cells *box)
{
    bool all = true;
    for (uint32_t d = 0; d < c->rank; d++)
        all &= box->extent[d] == c->dims[d];
    return all;
}

/* All elements of one box, and no others, are defined. */
static bool note_box(tp_cells *c, tp_box_of_cells *box)
{
    c->state = is_all(c, box) ? TP_CLEAN : TP_INSIDE;
    c->defined = box;
    c->lines = 0;
    return true;
}

static size_t elements_of(const tp_cells *c, const tp_box_of_cells *box)
{
    size_t n = 1;
    for (uint32_t d = 0; d < c->rank; d++)
        n *= (size_t)box->extent[d];
    return n;
}

/* One box more, which becomes one with those with which it is one; false: that are too many, or perhaps all. */
static bool add_piece(const tp_cells *c, tp_pieces *p, tp_box_of_cells box)
{
    size_t all = 0;
    for (uint32_t i = 0; i < p->n;) {
        tp_box_of_cells both = p->at[i];
        if (!unite(&both, c->rank, box.first, box.extent)) {
            i++;
            continue;
        }
        box = both;
        p->at[i] = p->at[--p->n];
        i = 0;
    }
    for (uint32_t i = 0; i < p->n; i++)
        all += elements_of(c, &p->at[i]);
    if (p->n == TP_MOST_PIECES || (p->n && all + elements_of(c, &box) >= c->n))
        return false;
    p->at[p->n++] = box;
    return true;
}

static bool define_piece(tp_machine *m, tp_ref *r, const tp_box_of_cells *box)
{
    tp_cells *c = &r->cells;
    if (r->operand->role != TP_SCRATCH)
        return false;
    if (!c->pieces)
        c->pieces = TP_NEW(m->arena, tp_pieces);
    if (c->state == TP_INSIDE)
        *c->pieces = (tp_pieces){1, {r->inside}};
    tp_pieces before = *c->pieces;
    if (!add_piece(c, c->pieces, *box)) {
        *c->pieces = before;
        return false;
    }
    c->state = TP_PIECES;
    if (c->pieces->n > 1)
        return true;
    r->inside = c->pieces->at[0];
    return note_box(c, &r->inside);
}

bool tp_define_part(tp_machine *m, tp_ref *r, const tp_slice *s)
{
    tp_cells *c = &r->cells;
    tp_box_of_cells box;
    if (s->cut || !c->rank || !c->n || (c->state != TP_ALL_UNDEFINED && c->state != TP_INSIDE && c->state != TP_PIECES))
        return false;
    for (uint32_t d = 0; d < c->rank; d++)
        if (s->size[d] < 1 || (s->size[d] > 1 && s->stride[d] != 1))
            return false;
    memcpy(box.first, s->start, sizeof box.first);
    memcpy(box.extent, s->size, sizeof box.extent);
    if (c->state == TP_ALL_UNDEFINED) {
        r->inside = box;
        return note_box(c, &r->inside);
    }
    if (c->state == TP_INSIDE && c->defined != &r->inside)
        return false;
    if (c->state == TP_INSIDE && unite(&r->inside, c->rank, box.first, box.extent))
        return note_box(c, &r->inside);
    return define_piece(m, r, &box);
}

bool tp_mixed_box_defined(const tp_cells *c, const tp_slice *s)
{
    int64_t at[TP_MAX_RANK] = {0};
    uint32_t last = c->rank - 1;
    size_t own[TP_MAX_RANK], step = 1;
    if (c->state != TP_MIXED || !c->rank || (s->size[last] > 1 && s->stride[last] != 1))
        return false;
    for (uint32_t d = c->rank; d-- > 0; step *= (size_t)c->dims[d]) {
        own[d] = step;
        if (s->size[d] == 0)
            return true;
    }
    for (;;) {
        size_t e = 0;
        for (uint32_t d = 0; d < c->rank; d++)
            e += own[d] * (size_t)(s->start[d] + at[d] * s->stride[d]);
        if (!all_zero(c->shadow + e, (size_t)s->size[last]))
            return false;
        uint32_t d = last;
        while (d-- > 0) {
            if (++at[d] < s->size[d])
                break;
            at[d] = 0;
        }
        if (d == UINT32_MAX)
            return true;
    }
}

void tp_copy_cells(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    tp_copy_numbers(m, to, from);
    tp_planes_copy(m, to, from);
}

/* The box of `from` in cells of the same elements that drop or add dimensions of extent 1; the box has all of those. */
static void put_box(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    if (!to->box_room)
        to->box_room = TP_NEW(m->arena, tp_box_of_cells);
    to->defined = to->box_room;
    if (to->rank == from->rank) { /* which may be the same */
        *to->box_room = *from->defined;
        return;
    }
    for (uint32_t d = 0, f = 0; d < to->rank; d++) {
        to->box_room->first[d] = 0;
        to->box_room->extent[d] = 1;
        if (to->dims[d] == 1)
            continue;
        while (from->dims[f] == 1)
            f++;
        tp_assert(f < from->rank && from->dims[f] == to->dims[d]);
        to->box_room->first[d] = from->defined->first[f];
        to->box_room->extent[d] = from->defined->extent[f++];
    }
}

void tp_copy_box(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    tp_assert(from->state == TP_INSIDE && (to->rank == from->rank || !from->lines));
    to->state = TP_INSIDE;
    to->origin = from->origin;
    to->beside = from->beside;
    to->lines = from->lines;
    put_box(m, to, from);
}

bool tp_box_holds(const tp_cells *c, const tp_box_of_cells *box)
{
    for (uint32_t d = 0; d < c->rank; d++) {
        int64_t from = box->first[d] - c->defined->first[d];
        if (from < 0 || from + box->extent[d] > c->defined->extent[d])
            return false;
    }
    return true;
}

static void copy_state(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    if (from->state == TP_MIXED) {
        memcpy(tp_shadow_unset(m, to), from->shadow, from->n * sizeof *from->shadow);
    } else if (from->state == TP_PIECES || (from->state == TP_INSIDE && from->lines && to->rank != from->rank)) {
        tp_origins(from, tp_shadow_unset(m, to));
    } else if (from->state == TP_INSIDE) {
        tp_copy_box(m, to, from);
    } else {
        to->state = from->state;
        to->origin = from->origin;
    }
}

static void copy_rows(tp_cells *to, const tp_cells *from)
{
    int64_t row = to->dims[to->rank - 1], dims[2] = {row ? (int64_t)to->n / row : 0, row};
    ptrdiff_t there[2] = {to->viewed ? to->pitch : (ptrdiff_t)row, 1},
              here[2] = {from->viewed ? from->pitch : (ptrdiff_t)row, !(from->viewed && from->flat_row)};
    tp_move(tp_dtype_size(to->dtype), 2, dims, to->data, there, from->data, here);
}

void tp_stream_numbers(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    size_t size = tp_dtype_size(to->dtype), row = to->viewed ? (size_t)to->dims[to->rank - 1] : to->n;
    tp_assert(!from->viewed && to->n == from->n);
    for (size_t at = 0, r = 0; at < to->n; at += row, r++)
        tp_stream((char *)to->data + (ptrdiff_t)r * to->pitch * (ptrdiff_t)size, (const char *)from->data + at * size,
                  row * size);
    copy_state(m, to, from);
}

bool tp_stream_row(const tp_machine *m, const tp_slice *s, tp_cells *to, const tp_cells *from)
{
    enum { WORTH_IT = 1 << 10 }; /* bytes, of which few are in lines that are written in part */
    size_t own[TP_MAX_RANK], first = 0, size = tp_dtype_size(to->dtype);
    uint32_t last = s->rank - 1;
    if (!s->rank || s->cut || to->data == to->own || to->state == TP_MIXED || from->viewed ||
        from->n * size < (m->request->last_cache ? 1 : WORTH_IT) || (size_t)s->size[last] != from->n ||
        s->stride[last] != 1)
        return false;
    tp_strides_of(to, own);
    for (uint32_t d = 0; d < s->rank; d++)
        first += own[d] * (size_t)s->start[d];
    if (own[last] != 1)
        return false;
    tp_stream((char *)to->data + first * size, from->data, from->n * size);
    return true;
}

void tp_copy_numbers(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    if (to->viewed || from->viewed)
        copy_rows(to, from);
    else
        memcpy(to->data, from->data, from->n * tp_dtype_size(from->dtype));
    copy_state(m, to, from);
}

void tp_hand_over_numbers(tp_machine *m, tp_cells *to, tp_vid v)
{
    enum { WORTH_IT = 512 };
    tp_cells *from = &m->values[v];
    bool own = !to->viewed && !from->viewed && to->data == to->own && from->data == from->own;
    if (!own || (!m->group && !m->domain) || m->uses[v] != 1 || m->assigned[v] || m->fixed[v] != TP_VARIES ||
        to->dtype != from->dtype || to->n != from->n || to->n * tp_dtype_size(to->dtype) < WORTH_IT) {
        tp_copy_numbers(m, to, from);
        return;
    }
    from->own = to->own;
    to->own = to->data = from->data;
    from->data = from->own;
    copy_state(m, to, from);
}

void tp_show_numbers(tp_machine *m, tp_cells *to, const tp_cells *from)
{
    to->data = from->data;
    to->viewed = from->viewed;
    to->flat_row = from->flat_row;
    to->pitch = from->pitch;
    copy_state(m, to, from);
}

void tp_mark_stored(tp_machine *m, tp_cells *c)
{
    if (c->state == TP_INSIDE && (!tp_may_box(m) || c->defined != c->box_room)) /* the box of a window moves */
        tp_materialise(m, c);
    if (c->state == TP_ALL_UNDEFINED || c->state == TP_INSIDE || c->state == TP_PIECES)
        c->origin |= TP_ORIGIN_STORED;
    if (c->state == TP_INSIDE)
        c->beside |= TP_ORIGIN_STORED;
    for (size_t i = 0; c->state == TP_MIXED && i < c->n; i++)
        if (c->shadow[i])
            c->shadow[i] |= TP_ORIGIN_STORED;
}

_Noreturn void tp_trap_undefined(tp_machine *m, tp_origin o, tp_str subject, const char *sink)
{
    if (tp_origin_kind_of(o) != TP_BORN_CAST && tp_origin_kind_of(o) != TP_BORN_NAN)
        m->trap->origin = m->refs[origin_operand(o)].operand->name;
    tp_trap_raise(m, tp_origin_rule(o), subject, "%s is undefined: it depends on %.*s", sink,
                  TP_FMT(tp_origin_text(m, o)));
}
