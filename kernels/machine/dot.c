/* dot: operands are packed to [batch][m][k] and [batch][k][n] in the type of
 * the accumulator, multiplied, and rounded once to the result's type. */
#include "base/lookup.h"
#include "base/strided.h"
#include "domains/multiply.h"
#include "kernels/machine/internal.h"

/* How to walk one operand: batch dimensions, then `first`, then `second`. */
typedef struct layout {
    uint32_t order[TP_MAX_RANK];
    size_t batch, first, second;
} layout;

static layout plan(const tp_inst *i, const tp_cells *c, int side)
{
    layout l = {.batch = 1, .first = 1, .second = 1};
    bool used[TP_MAX_RANK] = {false};
    uint32_t at = 0;
    for (uint32_t p = i->ncontract; p < i->ncontract + i->nbatch; p++) {
        uint32_t d = (uint32_t)i->ints[2 * p + (uint32_t)side];
        l.order[at++] = d;
        used[d] = true;
        l.batch *= (size_t)c->dims[d];
    }
    size_t contracted = 1, rest = 1;
    for (uint32_t p = 0; p < i->ncontract; p++) {
        used[i->ints[2 * p + (uint32_t)side]] = true;
        contracted *= (size_t)c->dims[i->ints[2 * p + (uint32_t)side]];
    }
    for (int pass = 0; pass < 2; pass++) { /* a: rest, contracted; b: the other way */
        if (pass == side)
            for (uint32_t d = 0; d < c->rank; d++) {
                if (!used[d]) {
                    l.order[at++] = d;
                    rest *= (size_t)c->dims[d];
                }
            }
        else
            for (uint32_t p = 0; p < i->ncontract; p++)
                l.order[at++] = (uint32_t)i->ints[2 * p + (uint32_t)side];
    }
    l.first = side == 0 ? rest : contracted;
    l.second = side == 0 ? contracted : rest;
    return l;
}

/* What products are summed in; PAIRS: 16-bit integers, two to a word; BYTES: 8-bit integers; BFLOATS and WIDENED: what
 * fits bfloat16, as such or as float32 (domains/multiply.h). */
typedef enum accumulator {
    ACC_F32,
    ACC_F64,
    ACC_INT,
    ACC_PAIRS,
    ACC_BYTES,
    ACC_BFLOATS,
    ACC_WIDENED,
    AS_IT_IS
} accumulator;

/* Bytes of an element as it is packed. */
static size_t width(accumulator acc)
{
    switch (acc) {
    case ACC_F32:
    case ACC_WIDENED:
    case ACC_INT: return sizeof(uint32_t);
    case ACC_PAIRS:
    case ACC_BFLOATS: return sizeof(int16_t);
    case ACC_BYTES: return 1;
    case ACC_F64:
    case AS_IT_IS: break;
    }
    return sizeof(double);
}

/* Elements in a term of the product. */
static size_t together(accumulator acc)
{
    return acc == ACC_PAIRS ? 2 : 1;
}

static bool is_byte(tp_dtype d)
{
    return d == TP_I8 || d == TP_U8;
}

static bool is_short(tp_dtype d)
{
    return !tp_is_float(d) && tp_dtype_min(d) >= INT16_MIN && tp_dtype_max(d) <= INT16_MAX;
}

/* Is each number of the type one of bfloat16, so that a product of two is exact in float32? */
static bool fits_bfloat(tp_dtype d)
{
    return tp_is_float(d) && tp_dtype_roundoff(d) >= tp_dtype_roundoff(TP_BF16);
}

/* The bfloat16 of each number of a type of 8 bits, to `table`; NULL: the accumulator wants none. */
static const uint16_t *bfloats_of(accumulator acc, tp_dtype d, uint16_t table[TP_CODES])
{
    uint8_t code[TP_CODES];
    float number[TP_CODES];
    if (acc != ACC_BFLOATS || tp_dtype_size(d) != sizeof *code)
        return NULL;
    for (size_t c = 0; c < TP_CODES; c++)
        code[c] = (uint8_t)c;
    tp_get_row_f32(d, code, 0, TP_CODES, number);
    tp_put_row_f32(TP_BF16, table, 0, TP_CODES, number);
    return table;
}

/* n elements as the accumulator wants them, side by side. */
static void convert(accumulator acc, const uint16_t *bfloats, void *to, tp_dtype dtype, const void *from, size_t n)
{
    enum { STRIP = 512 };
    int64_t strip[STRIP];
    float floats[STRIP];
    if (acc == ACC_F32 || acc == ACC_WIDENED)
        tp_get_row_f32(dtype, from, 0, n, to);
    else if (acc == ACC_F64)
        tp_get_row_f64(dtype, from, 0, n, to);
    else if (acc == AS_IT_IS)
        memcpy(to, from, n * sizeof(uint64_t));
    for (size_t at = 0, some; (acc == ACC_INT || acc == ACC_PAIRS) && at < n; at += some) {
        some = n - at < STRIP ? n - at : STRIP;
        tp_get_row_i64(dtype, from, at, some, strip);
        tp_put_row_i64(acc == ACC_INT ? TP_U32 : TP_I16, to, at, some, strip);
    }
    if (bfloats)
        tp_look_up(to, from, n, bfloats);
    for (size_t at = 0, some; acc == ACC_BFLOATS && !bfloats && at < n; at += some) {
        some = n - at < STRIP ? n - at : STRIP;
        tp_get_row_f32(dtype, from, at, some, floats);
        tp_put_row_f32(TP_BF16, to, at, some, floats);
    }
}

/* Is the operand packed as it lies? */
static bool in_order(const tp_cells *c, const layout *l)
{
    for (uint32_t d = 0; d < c->rank; d++)
        if (l->order[d] != d)
            return false;
    return true;
}

/* Is it of the accumulator's type already? */
static bool as_it_is(accumulator acc, tp_dtype d)
{
    return acc == AS_IT_IS || acc == ACC_BYTES || (acc == ACC_F32 && d == TP_F32) || (acc == ACC_F64 && d == TP_F64) ||
           (acc == ACC_INT && (d == TP_I32 || d == TP_U32)) || (acc == ACC_PAIRS && d == TP_I16) ||
           (acc == ACC_BFLOATS && d == TP_BF16);
}

/* Packed order from natural order, elements of `size` bytes. */
static void permute(void *to, const void *from, size_t size, const tp_cells *c, const layout *l)
{
    size_t own[TP_MAX_RANK];
    int64_t dims[TP_MAX_RANK];
    ptrdiff_t out[TP_MAX_RANK], in[TP_MAX_RANK], step = 1;
    tp_strides_of(c, own);
    for (uint32_t q = c->rank; q-- > 0;) {
        dims[q] = c->dims[l->order[q]];
        in[q] = (ptrdiff_t)own[l->order[q]];
        out[q] = step;
        step *= (ptrdiff_t)dims[q];
    }
    tp_move(size, c->rank, dims, to, out, from, in);
}

/* The operand in packed order, rows *pitch elements apart: where it lies, or in `to`; of `spare` as many bytes are used
 * on the way. */
static const void *pack(accumulator acc, void *to, void *spare, const tp_cells *c, const layout *l, size_t *pitch)
{
    bool ordered = in_order(c, l), same = as_it_is(acc, c->dtype);
    bool by_rows = c->viewed && c->rank == 2 && !c->flat_row;
    *pitch = ordered && same && by_rows ? (size_t)c->pitch : l->second;
    if (ordered && same && (by_rows || !c->viewed))
        return c->data;
    uint16_t table[TP_CODES];
    const uint16_t *bfloats = same ? NULL : bfloats_of(acc, c->dtype, table);
    if (same) {
        permute(to, c->data, width(acc), c, l);
    } else if (ordered && by_rows) {
        size_t row = (size_t)c->dims[1];
        ptrdiff_t step = c->pitch * (ptrdiff_t)tp_dtype_size(c->dtype);
        for (int64_t r = 0; r < c->dims[0]; r++)
            convert(acc, bfloats, (char *)to + (size_t)r * row * width(acc), c->dtype, (const char *)c->data + r * step,
                    row);
    } else if (c->viewed) {
        permute(spare, c->data, tp_dtype_size(c->dtype), c, l);
        convert(acc, bfloats, to, c->dtype, spare, c->n);
    } else {
        convert(acc, bfloats, ordered ? to : spare, c->dtype, c->data, c->n);
        if (!ordered)
            permute(to, spare, width(acc), c, l);
    }
    return to;
}

/* The operand as a matrix, of which columns may be what lies side by side: the product turns them on its way. */
static const void *lay(accumulator acc, void *to, void *spare, const tp_cells *c, const layout *l, tp_steps *steps)
{
    bool same = as_it_is(acc, c->dtype), turned = c->rank == 2 && l->batch == 1 && !in_order(c, l) &&
                                                  l->first == (size_t)c->dims[1] && l->second == (size_t)c->dims[0];
    if (turned && (c->viewed ? same && !c->flat_row : true)) {
        *steps = (tp_steps){1, c->viewed ? (size_t)c->pitch : (size_t)c->dims[1]};
        if (same)
            return c->data;
        uint16_t table[TP_CODES];
        convert(acc, bfloats_of(acc, c->dtype, table), to, c->dtype, c->data, c->n);
        return to;
    }
    steps->column = 1;
    return pack(acc, to, spare, c, l, &steps->row);
}

/* How an operand is packed to be used again. */
static tp_packing packing(accumulator acc, tp_dtype d, int side)
{
    if (acc == ACC_BFLOATS)
        return side ? TP_BFLOATS_OF_B : TP_BFLOATS_OF_A;
    if (side && acc == ACC_BYTES)
        return TP_BYTES_OF_B;
    return side && (acc == ACC_WIDENED || (acc == ACC_F32 && d == TP_F32)) ? TP_FLOATS_OF_B : TP_NOT_PACKED;
}

/* Where an operand is packed once, for a product with so many lines of the other one; NULL: nowhere. */
static tp_panels *kept(tp_machine *m, tp_packing how, const tp_cells *c, const layout *l, int side, size_t lines,
                       size_t others)
{
    bool ordered = in_order(c, l), is_matrix = l->batch == 1 && c->rank == 2 && l->first == (size_t)c->dims[!ordered] &&
                                               l->second == (size_t)c->dims[ordered];
    return is_matrix ? tp_panels_of(m, how, c, ordered == (side == 1), lines, side ? l->first : l->second, others)
                     : NULL;
}

static tp_origin first_of(const tp_origin *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i])
            return at[i];
    return 0;
}

/* First undefined origin of each row (or column) of an operand, packed by way of two rooms for its elements. */
static void undefined_lines(tp_origin *r, const tp_cells *c, const layout *l, tp_origin *packed, tp_origin *spare,
                            bool rows)
{
    memset(r, 0, l->batch * (rows ? l->first : l->second) * sizeof *r);
    if (c->state == TP_CLEAN)
        return;
    const tp_origin *at = c->shadow;
    if (c->state != TP_MIXED) {
        tp_origins(c, spare);
        at = spare;
    }
    if (!in_order(c, l)) {
        permute(packed, at, sizeof *at, c, l);
        at = packed;
    }
    for (size_t b = 0; b < l->batch; b++, r += rows ? l->first : l->second)
        for (size_t f = 0; f < l->first; f++, at += l->second)
            if (rows)
                r[f] = first_of(at, l->second);
            else
                for (size_t s = 0; s < l->second; s++)
                    r[s] = r[s] ? r[s] : at[s];
}

/* Of n lines those up to the last one that is defined. */
static size_t defined_lines(const tp_origin *line, size_t n)
{
    while (n && line[n - 1])
        n--;
    return n;
}

/* Lines of origins, and two rooms for the elements of either operand. */
static void dot_shadow(tp_machine *m, tp_cells *out, const tp_cells *a, const tp_cells *b, const layout *la,
                       const layout *lb, tp_origin *row, tp_origin *packed, tp_origin *spare)
{
    size_t mm = la->first, n = lb->second;
    tp_origin *shadow = tp_materialise(m, out), *column = row + la->batch * mm;
    undefined_lines(row, a, la, packed, spare, true);
    undefined_lines(column, b, lb, packed, spare, false);
    for (size_t q = 0; q < la->batch; q++, column += n)
        for (size_t r = 0; r < mm; r++, row++, shadow += n)
            for (size_t c = 0; c < n; c++)
                shadow[c] = *row ? *row : column[c];
}

/* ---- products with 0 of what is bounded ---- */

typedef struct factor {
    const tp_origin *at; /* in packed order */
    const uint8_t *zero;
    bool bounded; /* 0 times an undefined one is 0 */
} factor;

/* Which elements are undefined, and which are 0, in rooms for c->n origins and as many bytes. */
static factor factor_of(tp_machine *m, const tp_inst *i, uint32_t arg, const layout *l, tp_origin *at, tp_origin *spare,
                        uint8_t *zero)
{
    const tp_cells *c = &m->values[i->args[arg]];
    uint8_t *plain = (uint8_t *)spare;
    tp_origins(c, in_order(c, l) ? at : spare);
    if (!in_order(c, l))
        permute(at, spare, sizeof *at, c, l);
    for (size_t e = 0; e < c->n; e++)
        (in_order(c, l) ? zero : plain)[e] = tp_get_f64(c->dtype, c->data, e) == 0;
    if (!in_order(c, l))
        permute(zero, plain, sizeof *zero, c, l);
    return (factor){at, zero, tp_is_bounded(m, i, arg)};
}

/* Is the sum of k products of what lies 1 and `step` apart undefined? */
static bool any_undefined(const factor *x, size_t a, const factor *y, size_t b, size_t step, size_t k)
{
    for (size_t t = 0; t < k; t++, a++, b += step) {
        bool p = x->at[a] != 0, q = y->at[b] != 0;
        if ((p && (q || !(x->bounded && y->zero[b]))) || (q && !p && !(y->bounded && x->zero[a])))
            return true;
    }
    return false;
}

/* Of elements that are undefined by their row or column, which they name, those remain of which some term is. Two rooms
 * for origins of the one and the other operand, a third one for the larger of them, and bytes for both. */
static void settle_zeros(tp_machine *m, const tp_inst *i, const layout *la, const layout *lb, tp_origin *room)
{
    tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]], *out = &m->values[i->out];
    size_t mm = la->first, k = la->second, n = lb->second, most = a->n > b->n ? a->n : b->n;
    uint8_t *zero = (uint8_t *)(room + 3 * most);
    tp_spend(m->arena, (int64_t)(out->n * k / 8));
    tp_flatten(a);
    tp_flatten(b);
    factor x = factor_of(m, i, 0, la, room, room + 2 * most, zero),
           y = factor_of(m, i, 1, lb, room + most, room + 2 * most, zero + most);
    tp_origin *shadow = tp_materialise(m, out);
    for (size_t q = 0; q < la->batch; q++)
        for (size_t r = 0; r < mm; r++, shadow += n)
            for (size_t c = 0; c < n; c++)
                if (shadow[c] && !any_undefined(&x, (q * mm + r) * k, &y, q * k * n + c, n, k))
                    shadow[c] = 0;
    tp_note_defined(out);
}

/* One operand in packed order: its planes, or its data as double. */
static tp_lanes pack_operand(const tp_machine *m, tp_cells *c, const layout *l, double *room)
{
    tp_lanes x = tp_lanes_of(c);
    x.stored = TP_F64;
    x.data = room;
    if (!x.plane[0]) {
        size_t pitch;
        x.data = pack(ACC_F64, room, room + c->n, c, l, &pitch);
        return x;
    }
    for (uint32_t p = 0; p < m->domain->nplanes && !in_order(c, l); p++) {
        x.plane[p] = room + p * c->n;
        permute(x.plane[p], c->meaning.plane[p], sizeof *room, c, l);
    }
    return x;
}

/* The first columns of rows that are `pitch` elements apart, side by side; or the other way round. */
static void first_columns(size_t size, size_t rows, size_t columns, void *to, size_t to_pitch, const void *from,
                          size_t pitch)
{
    tp_move(size, 2, (int64_t[]){(int64_t)rows, (int64_t)columns}, to, (ptrdiff_t[]){(ptrdiff_t)to_pitch, 1}, from,
            (ptrdiff_t[]){(ptrdiff_t)pitch, 1});
}

/* What the product means in its first rows and columns. Nothing else of it is defined: what that means nobody asks. */
static void part_dot(tp_machine *m, tp_dot_shape s, size_t rows, size_t columns, tp_cells *out, tp_lanes *x,
                     tp_lanes *y, char *room)
{
    tp_lanes r = tp_planes_result(m, out), part = r;
    size_t size = tp_dtype_size(r.stored);
    uint32_t n = m->domain->nplanes;
    x->n = rows * s.k;
    y->n = s.k * columns;
    part.n = rows * columns;
    for (uint32_t p = 0; p < n; p++, room += (y->n + part.n) * sizeof(uint64_t)) {
        part.plane[p] = room + y->n * sizeof(uint64_t);
        if (y->plane[0])
            first_columns(sizeof(uint64_t), s.k, columns, room, columns, y->plane[p], s.n);
        y->plane[p] = y->plane[0] ? room : NULL;
    }
    if (!y->plane[0])
        first_columns(sizeof(double), s.k, columns, room, columns, y->data, s.n);
    y->data = room;
    room += y->n * sizeof(double);
    first_columns(size, rows, columns, room, columns, r.data, s.n);
    part.data = room;
    bool any = m->domain->dot(m->domain, (tp_dot_shape){1, rows, columns, s.k}, &part, x, y);
    if (any)
        tp_planes_zero(m, &r);
    for (uint32_t p = 0; any && p < n; p++)
        first_columns(sizeof(uint64_t), rows, columns, r.plane[p], s.n, part.plane[p], columns);
    tp_note_planes(out, &part, any);
}

/* Of its first rows and columns, or all. */
static void plane_dot(tp_machine *m, const tp_inst *i, const layout *la, const layout *lb, size_t rows, size_t columns)
{
    tp_cells *a = &m->values[i->args[0]], *b = &m->values[i->args[1]], *out = &m->values[i->out];
    size_t words = (a->n + b->n) * TP_MAX_PLANES, more = (TP_MAX_PLANES + 1) * (b->n + out->n);
    double *room = tp_workspace(m, i->out, (words + more) * sizeof *room);
    tp_lanes x = pack_operand(m, a, la, room), y = pack_operand(m, b, lb, room + TP_MAX_PLANES * a->n),
             r = tp_planes_result(m, out);
    tp_dot_shape s = {la->batch, la->first, lb->second, la->second};
    if (!rows || !columns) {
        bool blank = tp_garbage_has_planes(m, out->dtype);
        if (blank)
            tp_planes_zero(m, &r);
        tp_note_planes(out, &r, blank);
    } else if (rows < s.m || columns < s.n) {
        part_dot(m, s, rows, columns, out, &x, &y, (char *)(room + words));
    } else {
        tp_note_planes(out, &r, m->domain->dot(m->domain, s, &r, &x, &y));
    }
}

static void multiply(accumulator acc, tp_signs is_signed, tp_dot_shape s, const void *x, tp_steps sx, const void *y,
                     tp_steps sy, void *r, const void *base, void *onto, tp_ahead *ahead, void *room, tp_panels *rows,
                     tp_panels *panels)
{
    const tp_multiplier *by = tp_multiplier_here();
    switch (acc) {
    case ACC_F32: by->f32(s.m, s.n, s.k, x, sx, y, sy, r, base, onto, ahead, panels); break;
    case ACC_INT: by->u32(s.m, s.n, s.k, x, sx, y, sy, r, base, onto, ahead); break;
    case ACC_PAIRS: by->pairs(s.m, s.n, s.k, x, sx, y, sy, r, base, onto, ahead); break;
    case ACC_BYTES: by->bytes(s.m, s.n, s.k, x, sx, y, sy, is_signed, r, base, onto, ahead, room, panels); break;
    case ACC_BFLOATS: by->bfloats(s.m, s.n, s.k, x, sx, y, sy, r, base, onto, ahead, room, rows, panels); break;
    case ACC_WIDENED: by->widened(s.m, s.n, s.k, x, sx, y, sy, r, base, onto, ahead, panels); break;
    case ACC_F64:
    case AS_IT_IS: by->f64(s.m, s.n, s.k, x, sx, y, sy, r, base, onto, ahead); break;
    }
}

/* lines x k x n terms, two after each other in a word. */
static void pair_up(tp_pair *to, const int16_t *from, size_t lines, size_t k, size_t n)
{
    size_t pairs = (k + 1) / 2;
    for (size_t q = 0; q < lines; q++, to += pairs * n, from += k * n)
        for (size_t t = 0; t < pairs; t++)
            for (size_t j = 0; j < n; j++) {
                uint32_t low = (uint16_t)from[2 * t * n + j], high = 0;
                if (2 * t + 1 < k)
                    high = (uint16_t)from[(2 * t + 1) * n + j];
                to[t * n + j] = low | high << 16;
            }
}

/* ---- all of them ---- */

static accumulator accumulator_of(const tp_cells *a, const tp_cells *b, const tp_cells *out)
{
    const tp_multiplier *by = tp_multiplier_here();
    if (!tp_is_float(a->dtype) && is_byte(a->dtype) && is_byte(b->dtype) && by->bytes && by->bytes_run_here())
        return ACC_BYTES;
    if (!tp_is_float(a->dtype))
        return is_short(a->dtype) && is_short(b->dtype) ? ACC_PAIRS : ACC_INT;
    if (a->dtype == TP_F64 || out->dtype == TP_F64)
        return ACC_F64;
    if (fits_bfloat(a->dtype) && fits_bfloat(b->dtype))
        return by->bfloats ? ACC_BFLOATS : ACC_WIDENED;
    return ACC_F32;
}

/* What the sums are. */
static accumulator sums_of(accumulator acc)
{
    return acc == ACC_PAIRS || acc == ACC_BYTES ? ACC_INT : acc == ACC_BFLOATS || acc == ACC_WIDENED ? ACC_F32 : acc;
}

/* The sums, rounded once to the result's type. */
static void put_results(accumulator acc, tp_cells *out, const void *r)
{
    acc = sums_of(acc);
    if (acc == ACC_F32)
        tp_put_row_f32(out->dtype, out->data, 0, out->n, r);
    else if (acc == ACC_F64)
        tp_put_row_f64(out->dtype, out->data, 0, out->n, r);
    else /* int32 accumulation wraps */
        for (size_t e = 0; e < out->n; e++)
            tp_put_i64(out->dtype, out->data, e, (int32_t)((const uint32_t *)r)[e]);
}

/* Bytes of n elements, up to the next whole word. */
static size_t words(size_t n, size_t size)
{
    return (n * size + 7) / 8 * 8;
}

/* Bytes that the product itself uses. */
static size_t room_of(accumulator acc, size_t m, size_t n, size_t k)
{
    return acc == ACC_BYTES ? tp_bytes_room(m, n, k) : acc == ACC_BFLOATS ? tp_bfloats_room(m, n, k) : 0;
}

static void note_box(tp_machine *m, tp_cells *out, const tp_cells *a, const tp_cells *b)
{
    if (!out->box_room)
        out->box_room = TP_NEW(m->arena, tp_box_of_cells);
    for (uint32_t d = 0; d < 2; d++) {
        const tp_cells *c = d ? b : a;
        out->box_room->first[d] = c->state == TP_CLEAN ? 0 : c->defined->first[d];
        out->box_room->extent[d] = c->state == TP_CLEAN ? c->dims[d] : c->defined->extent[d];
    }
    out->state = TP_INSIDE;
    out->defined = out->box_room;
    out->origin = a->state == TP_CLEAN ? b->origin : a->origin; /* where all rows are inside it is that of none */
    out->beside = b->state == TP_CLEAN ? a->origin : b->origin;
    out->lines = (size_t)a->dims[1];
}

/* Of rows of its first operand, which may be all. */
static void add_dot(tp_machine *m, const tp_inst *i, const tp_cells *a, tp_cells *out, const void *base, void *onto)
{
    const tp_cells *b = &m->values[i->args[1]];
    layout la = plan(i, a, 0), lb = plan(i, b, 1);
    accumulator acc = accumulator_of(a, b, out);
    size_t size = width(acc), mm = la.first, k = la.second, n = lb.second, most = a->n > b->n ? a->n : b->n;
    size_t sum = acc == ACC_F64 ? sizeof(double) : sizeof(float), term = size * together(acc);
    tp_spend(m->arena, (int64_t)(m->values[i->out].n / (m->domain ? 8 : 64) * k));
    bool boxed = tp_product_has_box(m, i), dirty = !boxed && (a->state != TP_CLEAN || b->state != TP_CLEAN),
         zeros = dirty && tp_settles_zeros(m, i);
    size_t inside = boxed && a->state != TP_CLEAN ? (size_t)(a->defined->first[0] + a->defined->extent[0]) : mm,
           across = boxed && b->state != TP_CLEAN ? (size_t)(b->defined->first[1] + b->defined->extent[1]) : n,
           rows = tp_may_defer(m) ? inside : mm; /* else somebody looks at all numbers */
    size_t terms = (k + together(acc) - 1) / together(acc),
           places = dirty ? (zeros ? 4 : 2) * most * sizeof(tp_origin) : 0,
           lines = dirty ? la.batch * (mm + n) * sizeof(tp_origin) : 0;
    size_t of_a = words(la.batch * mm * terms, term), of_b = words(la.batch * terms * n, term),
           of_spare = 2 * words(most, size), of_room = words(room_of(acc, mm, n, k), 1);
    char *pa = tp_workspace(m, i->out, of_a + of_b + words(out->n, sum) + of_spare + of_room + places + lines);
    char *pb = pa + of_a, *pr = pb + of_b, *spare = pr + words(out->n, sum), *room = spare + of_spare,
         *end = room + of_room;
    const tp_signs is_signed = {a->dtype == TP_I8, b->dtype == TP_I8};
    const char *x, *y;
    tp_steps sx = {terms, 1}, sy = {n, 1};
    tp_ahead *ahead = m->ahead.now < m->ahead.n ? &m->ahead : NULL;
    tp_panels *packed_a = NULL, *packed_b = NULL;
    size_t pitch;
    if (acc == ACC_PAIRS) { /* neighbours have to be neighbours */
        tp_flatten(&m->values[i->args[0]]);
        tp_flatten(&m->values[i->args[1]]);
        char *second = spare + words(most, size);
        x = pa;
        y = pb;
        pair_up((tp_pair *)(void *)pa, pack(acc, spare, second, a, &la, &pitch), la.batch * mm, k, 1);
        pair_up((tp_pair *)(void *)pb, pack(acc, spare, second, b, &lb, &pitch), la.batch, k, n);
    } else { /* what is packed already nobody looks at, but at float32 */
        packed_a = kept(m, packing(acc, a->dtype, 0), a, &la, 0, rows, n);
        packed_b = kept(m, packing(acc, b->dtype, 1), b, &lb, 1, n, mm);
        x = packed_a && packed_a->filled ? pa : lay(acc, pa, spare, a, &la, &sx);
        y = packed_b && packed_b->filled && acc != ACC_F32 ? pb : lay(acc, pb, spare, b, &lb, &sy);
    }
    if (as_it_is(sums_of(acc), out->dtype))
        pr = out->own;
    size_t some = terms; /* ... that are multiplied: what is packed has all of them */
    if (tp_may_defer(m) && la.batch == 1 && together(acc) == 1 && !packed_a && !packed_b)
        some = tp_terms_that_count(size, rows, n, terms, x, sx, y, sy);
    memset(pr + rows * n * sum, 0, (mm - rows) * n * sum);
    for (size_t q = 0; q < la.batch; q++) {
        const char *qx = x + q * mm * terms * term, *qy = y + q * terms * n * term;
        size_t at = q * mm * n * sum;
        char *qr = pr + at, *to = onto ? (char *)onto + at : NULL;
        multiply(acc, is_signed, (tp_dot_shape){1, rows, n, some}, qx, sx, qy, sy, qr,
                 onto ? (const char *)base + at : NULL, to, ahead, room, packed_a, packed_b);
    }
    if (pr != (char *)out->own)
        put_results(acc, out, pr);
    out->state = TP_CLEAN;
    if (boxed)
        note_box(m, out, a, b);
    if (dirty) {
        tp_origin *origins = (tp_origin *)(void *)end;
        tp_origin *lines_of_a = origins + (zeros ? 4 : 2) * most;
        dot_shadow(m, out, a, b, &la, &lb, lines_of_a, origins, origins + most);
        if (zeros) {
            settle_zeros(m, i, &la, &lb, origins);
        } else if (la.batch == 1) {
            inside = defined_lines(lines_of_a, mm);
            across = defined_lines(lines_of_a + mm, n);
        }
    }
    if (m->domain && m->domain->tells)
        inside = mm, across = n;
    if (m->domain) /* last: it uses the workspace again */
        plane_dot(m, i, &la, &lb, inside, across);
}

void tp_add_dot(tp_machine *m, const tp_inst *i, const void *base, void *onto)
{
    add_dot(m, i, &m->values[i->args[0]], &m->values[i->out], base, onto);
}

void tp_dot_rows(tp_machine *m, const tp_inst *i, size_t first, size_t n)
{
    tp_cells a = m->values[i->args[0]], out = m->values[i->out];
    ptrdiff_t pitch = a.viewed ? a.pitch : (ptrdiff_t)a.dims[1];
    a.data = (char *)a.data + (ptrdiff_t)first * pitch * (ptrdiff_t)tp_dtype_size(a.dtype);
    out.data = out.own = (char *)out.own + first * (size_t)out.dims[1] * tp_dtype_size(out.dtype);
    a.dims[0] = out.dims[0] = (int64_t)n;
    a.n = n * (size_t)a.dims[1];
    out.n = n * (size_t)out.dims[1];
    add_dot(m, i, &a, &out, NULL, NULL);
}

void tp_exec_dot(tp_machine *m, const tp_inst *i)
{
    tp_add_dot(m, i, NULL, NULL);
}
