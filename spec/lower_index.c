/* Subscripts of values: parts that are read, and in references parts of variables that are written. */
#include "spec/lower.h"

typedef enum part_kind {
    PART_ALL,
    PART_INDEX,
    PART_SLICE,
    PART_FLIP,
    PART_ARRAY,
    PART_NEW,
    PART_RAGGED /* a slice whose size the sizes do not tell */
} part_kind;

/* One subscript. A new dimension stands for none of the value. */
typedef struct part {
    part_kind kind;
    const tp_node *node;
    tp_vid start;   /* INDEX, SLICE, RAGGED: a scalar; ARRAY: the indices */
    tp_vid stop;    /* RAGGED */
    tp_expr size;   /* of the result along it */
    int64_t stride; /* SLICE */
    uint32_t dim;   /* of the value */
    tp_expr from;   /* INDEX, SLICE: the start, where the sizes tell it; else no id */
    bool inside;    /* and literals say that it lies inside */
    bool backwards; /* SLICE: its last element comes first */
} part;

typedef struct place {
    part parts[2 * TP_MAX_RANK];
    uint32_t n;
    uint32_t arrays, indices; /* how many of the parts are those */
    bool whole;               /* nothing is cut off */
    bool fixed;               /* literals say that what is cut lies inside */
} place;

static bool is_absent(const tp_node *n)
{
    return n->kind == TP_N_ABSENT;
}

/* ---- how long a slice is ---- */

typedef struct span {
    tp_lower *l;
    tp_map atoms; /* by text: symbol + 1 */
    TP_VEC(uint32_t) symbols;
} span;

/* What is not known from the sizes: a symbol for each text. Expressions have no effects, so that within a statement
 * one text is one number. */
static tp_expr atom(span *s, const tp_node *n)
{
    tp_buf b = {.arena = s->l->c->arena};
    tp_print_node(&b, n);
    tp_str text = tp_buf_view(&b);
    uint32_t known = tp_map_get(&s->atoms, text);
    if (known)
        return tp_sym(s->l->k->exprs, known - 1);
    tp_expr e = tp_sym_new(s->l->k->exprs, text);
    uint32_t sym = (uint32_t)tp_expr_get(s->l->k->exprs, e)->value;
    tp_map_set(s->l->c->arena, &s->atoms, text, sym + 1);
    tp_push(s->l->c->arena, s->symbols, sym);
    return e;
}

static tp_expr_op static_op(tp_operator o)
{
    return o == TP_O_ADD        ? TP_E_ADD
           : o == TP_O_SUB      ? TP_E_SUB
           : o == TP_O_MUL      ? TP_E_MUL
           : o == TP_O_FLOORDIV ? TP_E_FLOORDIV
           : o == TP_O_MOD      ? TP_E_MOD
                                : TP_E_CONST;
}

static tp_expr_op static_call(tp_str name)
{
    return tp_str_is(name, "cdiv")       ? TP_E_CDIV
           : tp_str_is(name, "min")      ? TP_E_MIN
           : tp_str_is(name, "max")      ? TP_E_MAX
           : tp_str_is(name, "align_up") ? TP_E_ALIGN_UP
                                         : TP_E_CONST;
}

static tp_expr number_of(span *s, const tp_node *n)
{
    tp_exprs *p = s->l->k->exprs;
    tp_expr_op op = n->kind == TP_N_BINARY ? static_op(n->op)
                    : n->kind == TP_N_CALL ? static_call(n->text)
                                           : TP_E_CONST;
    if (n->kind == TP_N_INT)
        return tp_const(p, n->integer);
    if (n->kind == TP_N_UNARY && n->op == TP_O_NEG)
        return tp_op1(p, TP_E_NEG, number_of(s, n->kids[0]));
    if (op != TP_E_CONST && n->nkids == 2)
        return tp_op2(p, op, number_of(s, n->kids[0]), number_of(s, n->kids[1]));
    if (n->kind == TP_N_INDEX && n->kids[0]->kind == TP_N_ATTRIBUTE)
        return lower_static_int(s->l, n, "an extent");
    if (n->kind == TP_N_NAME) {
        tp_local *local = lower_find_local(s->l, n->text);
        const tp_size *size = local ? NULL : tp_size_find(s->l->k, n->text);
        const tp_value *x = local ? lower_value(s->l, local->value) : NULL;
        if (size)
            return size->expr;
        if (x && x->dtype == TP_WEAK_INT)
            return x->meaning;
    }
    return atom(s, n);
}

static bool is_negative(tp_lower *l, const tp_node *n, tp_expr e)
{
    int64_t v;
    return (n->kind == TP_N_UNARY && n->op == TP_O_NEG) || (tp_expr_is_const(l->k->exprs, e, &v) && v < 0);
}

/* Where a bound of a slice lies; what is written as negative counts from the end. */
static tp_expr bound(span *s, const tp_node *n, tp_expr extent)
{
    tp_expr e = number_of(s, n);
    return is_negative(s->l, n, e) ? tp_op2(s->l->k->exprs, TP_E_ADD, extent, e) : e;
}

/* How many elements lie between the bounds; no id where the sizes do not tell it. */
static tp_expr extent_of(tp_lower *l, const tp_node *n, tp_expr extent)
{
    tp_exprs *p = l->k->exprs;
    span s = {.l = l};
    tp_expr lo = is_absent(n->kids[0]) ? tp_const(p, 0) : bound(&s, n->kids[0], extent),
            hi = is_absent(n->kids[1]) ? extent : bound(&s, n->kids[1], extent),
            e = tp_expr_normal(p, tp_op2(p, TP_E_SUB, hi, lo));
    int64_t v;
    for (uint32_t i = 0; i < s.symbols.len; i++)
        if (tp_expr_mentions(p, e, s.symbols.at[i]))
            return (tp_expr){0};
    if (tp_exprs_overflowed(p))
        lower_fail(l, n, NULL, "this integer expression is too large");
    if (tp_expr_is_const(p, e, &v) && v < 0)
        lower_fail(l, n, NULL, "a slice of %lld elements", (long long)v);
    return e;
}

/* ---- one subscript ---- */

/* A scalar index; what is written as negative counts from the end. *meaning: where the sizes tell it, else no id. */
static tp_vid scalar_index(tp_lower *l, const tp_node *n, tp_vid v, tp_expr extent, tp_expr *meaning)
{
    const tp_value *x = lower_value(l, v);
    *meaning = (tp_expr){0};
    if (x->rank || (x->dtype != TP_WEAK_INT && !(tp_is_int(x->dtype) && (l->reference || x->dtype == TP_I32))))
        lower_fail(l, n, "an index is a size, a literal or an integer scalar", "%.*s cannot index a value",
                   TP_FMT(lower_type_text(l, v)));
    if (x->dtype == TP_WEAK_INT) {
        *meaning = is_negative(l, n, x->meaning) ? tp_op2(l->k->exprs, TP_E_ADD, extent, x->meaning) : x->meaning;
        return lower_weak_int(l, *meaning);
    }
    return x->dtype == TP_I32 ? v : lower_cast(l, v, TP_I32, n);
}

/* Do literals say that the elements from..from + size lie below the extent? */
static bool lies_inside(tp_lower *l, tp_expr from, tp_expr size, tp_expr extent)
{
    tp_exprs *p = l->k->exprs;
    int64_t lo, least;
    if (!from.id || !tp_expr_is_const(p, from, &lo) || lo < 0)
        return false;
    tp_expr left = tp_expr_normal(p, tp_op2(p, TP_E_SUB, extent, tp_op2(p, TP_E_ADD, from, size)));
    return tp_expr_is_const(p, left, &least) && least >= 0;
}

/* x[lo:hi:-step], from lo down to above hi: the same elements upwards, turned. */
static part backwards_part(tp_lower *l, const tp_node *n, tp_expr extent, int64_t step)
{
    tp_exprs *p = l->k->exprs;
    span s = {.l = l};
    tp_expr one = tp_const(p, 1),
            first = is_absent(n->kids[0]) ? tp_op2(p, TP_E_SUB, extent, one) : bound(&s, n->kids[0], extent),
            end = is_absent(n->kids[1]) ? tp_const(p, -1) : bound(&s, n->kids[1], extent),
            count = tp_expr_normal(p, tp_op2(p, TP_E_CDIV, tp_op2(p, TP_E_SUB, first, end), tp_const(p, step))),
            steps = tp_op2(p, TP_E_MUL, tp_const(p, step), tp_op2(p, TP_E_SUB, count, one));
    int64_t v;
    if (!l->reference || s.symbols.len)
        lower_fail(l, n, "turn a slice: flip(x[lo:hi], 0)",
                   "the bounds of a slice backwards are not known from the sizes");
    if (tp_exprs_overflowed(p))
        lower_fail(l, n, NULL, "this integer expression is too large");
    if (tp_expr_is_const(p, count, &v) && v < 0)
        lower_fail(l, n, NULL, "a slice of %lld elements", (long long)v);
    part x = {.kind = PART_SLICE, .node = n, .stride = step, .size = count, .backwards = true};
    x.from = tp_expr_normal(p, tp_op2(p, TP_E_SUB, first, steps));
    x.start = lower_weak_int(l, x.from);
    x.inside = lies_inside(l, x.from, tp_op2(p, TP_E_ADD, steps, one), extent);
    return x;
}

static part slice_part(tp_lower *l, const tp_node *n, tp_expr extent)
{
    tp_exprs *p = l->k->exprs;
    part x = {.kind = PART_SLICE, .node = n, .stride = 1, .from = tp_const(p, 0)};
    const tp_node *lo = n->kids[0], *step = n->kids[2];
    if (!is_absent(step))
        x.stride = lower_literal_int(l, step, "the step of a slice");
    if (x.stride == -1 && is_absent(lo) && is_absent(n->kids[1]))
        return (part){.kind = PART_FLIP, .node = n, .size = extent};
    if (!x.stride)
        lower_fail(l, step, NULL, "a slice with a step of 0");
    if (x.stride < 0)
        return backwards_part(l, n, extent, -x.stride);
    x.start = is_absent(lo) ? lower_weak_int(l, x.from) : scalar_index(l, lo, lower_expr(l, lo), extent, &x.from);
    x.size = extent_of(l, n, extent);
    if (!x.size.id && (!l->reference || x.stride > 1))
        lower_fail(l, n, "loop over its elements, or take a slice of a fixed size and use where",
                   "the size of this slice is not known from the sizes");
    if (!x.size.id) {
        tp_expr to;
        x.kind = PART_RAGGED;
        x.size = extent;
        x.stop = is_absent(n->kids[1]) ? lower_weak_int(l, extent)
                                       : scalar_index(l, n->kids[1], lower_expr(l, n->kids[1]), extent, &to);
        return x;
    }
    x.inside = lies_inside(l, x.from, x.size, extent);
    if (x.stride > 1)
        x.size = tp_op2(p, TP_E_CDIV, x.size, tp_const(p, x.stride));
    return x;
}

void lower_slice(tp_lower *l, const tp_node *n, tp_expr extent, tp_vid *start, tp_expr *size, int64_t *stride)
{
    part x = slice_part(l, n, extent);
    if (x.kind != PART_SLICE || x.backwards)
        lower_fail(l, n, "read it and use flip", "a ref is not read backwards");
    *start = x.start;
    *size = x.size;
    *stride = x.stride;
}

static part ds_part(tp_lower *l, const tp_node *n, tp_expr extent)
{
    static const char *const PARAMS[] = {"start", "size", "stride", NULL};
    const tp_node *args[3];
    part x = {.kind = PART_SLICE, .node = n, .stride = 1};
    lower_bind_args(l, n, 0, PARAMS, 2, args);
    x.start = scalar_index(l, args[0], lower_expr(l, args[0]), extent, &x.from);
    x.size = lower_static_int(l, args[1], "the size of a slice");
    if (args[2])
        x.stride = lower_literal_int(l, args[2], "the stride of a slice");
    if (x.stride < 1)
        lower_fail(l, args[2], NULL, "a stride is at least 1");
    x.inside = x.stride == 1 && lies_inside(l, x.from, x.size, extent);
    return x;
}

static bool is_none(const tp_node *n)
{
    return n->kind == TP_N_NAME && tp_str_is(n->text, "None");
}

static part read_part(tp_lower *l, const tp_node *n, tp_expr extent)
{
    tp_exprs *p = l->k->exprs;
    if (n->kind == TP_N_COLON)
        return (part){.kind = PART_ALL, .node = n, .size = extent};
    if (n->kind == TP_N_SLICE)
        return slice_part(l, n, extent);
    if (n->kind == TP_N_CALL && tp_str_is(n->text, "ds"))
        return ds_part(l, n, extent);
    tp_vid v = lower_expr(l, n);
    const tp_value *x = lower_value(l, v);
    if (x->rank && x->dtype == TP_BOOL)
        lower_fail(l, n, "use where", "a mask selects an unknown number of elements");
    if (x->rank && tp_is_int(x->dtype))
        return (part){.kind = PART_ARRAY, .node = n, .start = v};
    part index = {.kind = PART_INDEX, .node = n, .size = tp_const(p, 1), .stride = 1};
    index.start = scalar_index(l, n, v, extent, &index.from);
    index.inside = lies_inside(l, index.from, index.size, extent);
    return index;
}

/* ---- all of them ---- */

static void read_place(tp_lower *l, const tp_node *n, const tp_value *x, place *out)
{
    uint32_t given = n->nkids - 1, ellipsis = 0, taken = 0, dim = 0;
    tp_expr dims[TP_MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    uint32_t rank = x->rank;
    for (uint32_t i = 1; i <= given; i++) {
        ellipsis += n->kids[i]->kind == TP_N_ELLIPSIS;
        taken += n->kids[i]->kind != TP_N_ELLIPSIS && !is_none(n->kids[i]);
    }
    if (ellipsis > 1)
        lower_fail(l, n, NULL, "more than one `...` in a subscript");
    if (taken > rank || given > TP_MAX_RANK + 1)
        lower_fail(l, n, NULL, "%u subscript%s for a value of rank %u", taken, taken == 1 ? "" : "s", rank);
    *out = (place){.whole = true, .fixed = true};
    for (uint32_t i = 1; i <= given + !ellipsis; i++) {
        bool rest = i > given || n->kids[i]->kind == TP_N_ELLIPSIS;
        if (!rest && is_none(n->kids[i])) {
            out->parts[out->n++] = (part){.kind = PART_NEW, .node = n->kids[i], .size = tp_const(l->k->exprs, 1)};
            continue;
        }
        for (uint32_t fill = rest ? rank - taken : 1; fill-- > 0; dim++) {
            part *q = &out->parts[out->n++];
            *q = rest ? (part){.kind = PART_ALL, .node = n, .size = dims[dim]} : read_part(l, n->kids[i], dims[dim]);
            q->dim = dim;
            out->arrays += q->kind == PART_ARRAY;
            out->indices += q->kind == PART_INDEX;
            bool cut = q->kind == PART_INDEX || q->kind == PART_SLICE;
            out->whole &= !cut;
            out->fixed &= !cut || q->inside;
        }
    }
}

/* The parts that are slices and indices cut out, each dimension still there. */
static tp_vid cut(tp_lower *l, tp_vid v, const place *at, const tp_node *n)
{
    tp_exprs *p = l->k->exprs;
    uint32_t rank = lower_value(l, v)->rank;
    tp_expr dims[TP_MAX_RANK], *from = TP_NEWN(l->c->arena, tp_expr, rank);
    tp_vid args[1 + TP_MAX_RANK] = {v};
    int64_t stride[TP_MAX_RANK];
    if (at->whole)
        return v;
    memcpy(dims, lower_value(l, v)->dims, rank * sizeof *dims);
    for (uint32_t d = 0; d < rank; d++) {
        from[d] = tp_const(p, 0);
        args[1 + d] = -1;
        stride[d] = 1;
    }
    for (uint32_t i = 0; i < at->n; i++) {
        const part *q = &at->parts[i];
        if (q->kind != PART_INDEX && q->kind != PART_SLICE)
            continue;
        dims[q->dim] = q->size;
        from[q->dim] = q->from;
        args[1 + q->dim] = q->start;
        stride[q->dim] = q->stride;
    }
    for (uint32_t d = 0; d < rank && !at->fixed; d++)
        if (args[1 + d] < 0)
            args[1 + d] = lower_weak_int(l, tp_const(p, 0));
    tp_vid out = lower_new_value(l, lower_value(l, v)->dtype, rank, dims);
    tp_inst *inst = at->fixed ? lower_emit(l, TP_P_SLICE, out, 1, args, n)
                              : lower_emit(l, TP_P_DYNAMIC_SLICE, out, 1 + rank, args, n);
    inst->starts = from;
    inst->nints = rank;
    memcpy(inst->ints, stride, rank * sizeof *stride);
    lower_lengths(l, out, v, NULL);
    return out;
}

/* What the subscripts of a value of which not all is there may be: all along such a dimension, one element, or what is
 * checked against the length. */
static void check_lengths(tp_lower *l, tp_vid v, place *at)
{
    for (uint32_t i = 0; i < at->n; i++) {
        part *q = &at->parts[i];
        if (q->kind == PART_NEW || q->kind == PART_ALL || lower_length(l, v, q->dim) < 0)
            continue;
        if (q->kind == PART_SLICE || q->kind == PART_FLIP ||
            (q->kind == PART_INDEX && q->from.id && is_negative(l, q->node, q->from)))
            lower_fail(l, q->node, "name the bounds in one slice",
                       "a part of a slice whose size is not known from the sizes");
        if (q->kind == PART_INDEX) {
            q->start = lower_inside(l, lower_coerce(l, q->start, TP_I32, q->node), v, q->dim, q->node);
            q->from = (tp_expr){0};
            at->fixed = false;
        }
    }
}

static tp_vid flipped(tp_lower *l, tp_vid v, uint32_t axis, const tp_node *n)
{
    const tp_value *x = lower_value(l, v);
    tp_vid out = lower_new_value(l, x->dtype, x->rank, x->dims);
    lower_emit(l, TP_P_FLIP, out, 1, &v, n)->integer = axis;
    lower_lengths(l, out, v, NULL);
    return out;
}

static tp_vid part_at(tp_lower *l, tp_vid v, place *at, const tp_node *n)
{
    check_lengths(l, v, at);
    v = cut(l, v, at, n);
    tp_expr dims[3 * TP_MAX_RANK];
    int32_t from[3 * TP_MAX_RANK];
    uint32_t rank = 0;
    int32_t old = 0; /* dimension of v */
    bool same = !at->arrays;
    for (uint32_t i = 0; i < at->n; i++) {
        const part *q = &at->parts[i];
        if (q->kind == PART_FLIP || q->backwards) {
            v = flipped(l, v, q->dim, n);
        } else if (q->kind == PART_RAGGED) {
            v = lower_ragged_slice(l, v, q->dim, q->start, q->stop, q->node);
        } else if (q->kind == PART_ARRAY) {
            v = lower_take(l, v, q->start, q->dim, n);
            const tp_value *index = lower_value(l, q->start);
            for (uint32_t d = 0; d < index->rank; d++, old++) {
                from[rank] = old;
                dims[rank++] = index->dims[d];
            }
            continue;
        }
        same &= q->kind != PART_INDEX && q->kind != PART_NEW;
        if (q->kind != PART_INDEX) {
            from[rank] = q->kind == PART_NEW ? -1 : old;
            dims[rank++] = q->size;
        }
        old += q->kind != PART_NEW;
    }
    if (rank > TP_MAX_RANK)
        lower_fail(l, n, NULL, "the result has rank %u; at most %d", rank, TP_MAX_RANK);
    bool moved = !same && !(at->arrays && rank == lower_value(l, v)->rank);
    if (!moved)
        return v;
    tp_vid out = lower_reshape(l, v, rank, dims, n);
    lower_lengths(l, out, v, from);
    return out;
}

/* The index, which the reference looks outside with where it is outside of the extent. */
static tp_vid checked(tp_lower *l, tp_vid index, tp_expr extent, const tp_node *n)
{
    tp_vid all = lower_new_value(l, TP_I32, 1, &extent);
    lower_emit(l, TP_P_IOTA, all, 0, NULL, n)->integer = 0;
    return lower_take(l, all, lower_coerce(l, lower_promote(l, index, TP_I32, n), TP_I32, n), 0, n);
}

/* x[rows, columns]: arrays of adjacent dimensions, which are one for this. */
static tp_vid several_arrays(tp_lower *l, tp_vid v, const place *at, const tp_node *n)
{
    const tp_value x = *lower_value(l, v);
    tp_expr dims[TP_MAX_RANK];
    uint32_t first = x.rank, last = 0, rank = 0;
    tp_vid index = -1;
    for (uint32_t i = 0; i < at->n; i++) {
        const part *q = &at->parts[i];
        if (q->kind != PART_ARRAY && q->kind != PART_ALL)
            lower_fail(l, q->node, "index in two steps", "several arrays and another subscript index one value");
        if (q->kind != PART_ARRAY)
            continue;
        if (index >= 0 && q->dim != last + 1)
            lower_fail(l, n, "take along one dimension at a time",
                       "arrays of dimensions that lie apart index one value");
        tp_vid own = checked(l, q->start, x.dims[q->dim], q->node);
        if (index >= 0) {
            index = lower_binary(l, TP_P_MUL, index, lower_weak_int(l, x.dims[q->dim]), n);
            own = lower_binary(l, TP_P_ADD, index, own, n);
        }
        index = own;
        first = first < q->dim ? first : q->dim;
        last = q->dim;
    }
    if (lower_is_ragged(l, v))
        lower_fail(l, n, "take along one dimension at a time", "a slice whose size is not known from the sizes");
    for (uint32_t d = 0; d < x.rank; d++)
        if (d > first && d <= last)
            dims[rank - 1] = tp_op2(l->k->exprs, TP_E_MUL, dims[rank - 1], x.dims[d]);
        else
            dims[rank++] = x.dims[d];
    return lower_take(l, lower_reshape(l, v, rank, dims, n), index, first, n);
}

tp_vid lower_value_part(tp_lower *l, tp_vid v, const tp_node *n)
{
    place at;
    if (!lower_value(l, v)->rank || tp_is_weak(lower_value(l, v)->dtype))
        lower_fail(l, n, NULL, "a scalar has no elements to subscript");
    read_place(l, n, lower_value(l, v), &at);
    if (!l->reference && (!at.fixed || at.arrays))
        lower_fail(l, n, "subscript the ref, with ds(start, size); or use take",
                   "a value is cut between literal bounds only");
    if (at.arrays > 1 && l->reference)
        return several_arrays(l, v, &at, n);
    if (at.arrays > 1)
        lower_fail(l, n, "take along one dimension at a time", "several arrays index one value");
    if (at.arrays && at.indices)
        lower_fail(l, n, "index in two steps: x[i][index]", "an array and a scalar index one value");
    return part_at(l, v, &at, n);
}

static tp_vid with_at(tp_lower *l, tp_vid old, const place *at, const tp_node *n, tp_vid v, const tp_node *value)
{
    const tp_value x = *lower_value(l, old);
    tp_expr kept[2 * TP_MAX_RANK], full[TP_MAX_RANK];
    uint32_t rank = 0;
    tp_vid args[2 + TP_MAX_RANK] = {old};
    for (uint32_t d = 0; d < x.rank; d++)
        args[2 + d] = lower_weak_int(l, tp_const(l->k->exprs, 0));
    for (uint32_t i = 0; i < at->n; i++) {
        const part *q = &at->parts[i];
        full[q->dim] = q->size;
        if (q->kind == PART_INDEX || q->kind == PART_SLICE)
            args[2 + q->dim] = q->start;
        if (q->kind != PART_INDEX)
            kept[rank++] = q->size;
    }
    v = lower_broadcast(l, v, rank, kept, value);
    for (uint32_t i = 0, d = 0; i < at->n; i++) {
        if (at->parts[i].kind == PART_FLIP || at->parts[i].backwards)
            v = flipped(l, v, d, value);
        d += at->parts[i].kind != PART_INDEX;
    }
    args[1] = lower_reshape(l, v, x.rank, full, value);
    tp_vid out = lower_new_value(l, x.dtype, x.rank, x.dims);
    lower_emit(l, TP_P_DYNAMIC_UPDATE, out, 2 + x.rank, args, n);
    return out;
}

tp_vid lower_mask_of(tp_lower *l, tp_vid x, const tp_node *n)
{
    const tp_node *by = n->kids[1];
    if (!l->reference || n->nkids != 2 || by->kind == TP_N_COLON || by->kind == TP_N_SLICE ||
        by->kind == TP_N_ELLIPSIS || by->kind == TP_N_SEQUENCE || is_none(by) ||
        (by->kind == TP_N_CALL && tp_str_is(by->text, "ds")))
        return -1;
    tp_vid mask = lower_expr(l, by);
    tp_expr dims[TP_MAX_RANK];
    uint32_t rank = lower_value(l, mask)->rank, of = lower_value(l, x)->rank;
    if (lower_value(l, mask)->dtype != TP_BOOL || !rank)
        return -1;
    if (rank > of || lower_is_ragged(l, mask) || lower_is_ragged(l, x))
        lower_fail(l, by, "use where", "%.*s as a mask of %.*s", TP_FMT(lower_type_text(l, mask)),
                   TP_FMT(lower_type_text(l, x)));
    for (uint32_t d = 0; d < of; d++)
        dims[d] = d < rank ? lower_value(l, mask)->dims[d] : tp_const(l->k->exprs, 1);
    mask = lower_reshape(l, mask, of, dims, by);
    for (uint32_t d = 0; d < rank; d++)
        if (!lower_same_dim(l, dims[d], lower_value(l, x)->dims[d]))
            lower_fail(l, by, lower_suggest_equal(l, dims[d], lower_value(l, x)->dims[d]), "%.*s as a mask of %.*s",
                       TP_FMT(lower_type_text(l, mask)), TP_FMT(lower_type_text(l, x)));
    return mask;
}

tp_vid lower_masked_with(tp_lower *l, tp_vid old, tp_vid mask, tp_vid v, const tp_node *value)
{
    tp_dtype d = lower_value(l, old)->dtype;
    v = lower_coerce(l, lower_promote(l, v, d, value), d, value);
    return lower_where(l, mask, v, old, value);
}

/* All of a dimension of `old`, with v in every few places of it: x[start::stride] = v. */
static tp_vid every_few(tp_lower *l, tp_vid old, uint32_t along, const part *by, tp_vid v, const tp_node *value)
{
    const tp_value x = *lower_value(l, old);
    tp_expr dims[TP_MAX_RANK], flat[TP_MAX_RANK];
    tp_vid stride = lower_weak_int(l, tp_const(l->k->exprs, by->stride)),
           zero = lower_weak_int(l, tp_const(l->k->exprs, 0));
    tp_vid at = lower_new_value(l, TP_I32, 1, &x.dims[along]);
    lower_emit(l, TP_P_IOTA, at, 0, NULL, value)->integer = 0;
    at = lower_binary(l, TP_P_SUB, at, by->start, value);
    tp_vid number = lower_binary(l, TP_P_FLOORDIV, at, stride, value);
    tp_vid hit = lower_binary(l, TP_P_EQ, lower_binary(l, TP_P_MUL, number, stride, value), at, value);
    hit = lower_binary(l, TP_P_AND, hit, lower_binary(l, TP_P_GE, at, zero, value), value);
    hit = lower_binary(l, TP_P_AND, hit, lower_binary(l, TP_P_LT, number, lower_weak_int(l, by->size), value), value);
    for (uint32_t d = 0; d < x.rank; d++) {
        dims[d] = d == along ? by->size : x.dims[d];
        flat[d] = d == along ? x.dims[along] : tp_const(l->k->exprs, 1);
    }
    if (lower_value(l, v)->rank)
        v = lower_take(l, lower_broadcast(l, v, x.rank, dims, value), lower_where(l, hit, number, zero, value), along,
                       value);
    return lower_where(l, lower_reshape(l, hit, x.rank, flat, value), v, old, value);
}

tp_vid lower_value_with(tp_lower *l, tp_vid old, const tp_node *n, tp_vid v, const tp_node *value)
{
    place at;
    const tp_value x = *lower_value(l, old);
    part *ragged = NULL, *spread = NULL;
    uint32_t along = 0;
    if (!x.rank)
        lower_fail(l, n, NULL, "a scalar has no elements to assign");
    read_place(l, n, &x, &at);
    for (uint32_t i = 0, d = 0; i < at.n; i++) {
        part *q = &at.parts[i];
        bool apart = q->stride > 1;
        if (q->kind == PART_ARRAY || q->kind == PART_NEW || (apart && (spread || q->backwards)) ||
            (q->kind == PART_RAGGED && ragged))
            lower_fail(l, q->node, "assign one element or slice at a time, in a loop",
                       "this subscript cannot be assigned");
        if (q->kind == PART_RAGGED) {
            ragged = q;
            along = d;
        }
        if (apart) {
            spread = q;
            along = d;
        }
        d += q->kind != PART_INDEX;
    }
    if (ragged && spread)
        lower_fail(l, spread->node, "assign one element or slice at a time, in a loop",
                   "this subscript cannot be assigned");
    v = lower_coerce(l, lower_promote(l, v, x.dtype, value), x.dtype, value);
    if (ragged) { /* all of that dimension, with the slice in it */
        tp_vid lo = ragged->start, hi = ragged->stop;
        ragged->kind = PART_ALL;
        v = lower_ragged_store(l, part_at(l, old, &at, n), along, lo, hi, v, value);
    }
    if (spread) {
        part by = *spread;
        *spread = (part){.kind = PART_ALL, .node = by.node, .dim = by.dim, .size = x.dims[by.dim]};
        v = every_few(l, part_at(l, old, &at, n), along, &by, v, value);
    }
    return with_at(l, old, &at, n, v, value);
}
