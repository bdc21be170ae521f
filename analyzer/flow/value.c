/* What each primitive does to leaks and meanings. A value's conditions and
 * meaning are over the lanes 0, 1, … of its own shape. */
#include "base/assert.h"
#include "analyzer/flow/internal.h"

enum { FEW_LEAKS = 4 };

static bool is_one(flow *f, tp_expr dim)
{
    int64_t v;
    return tp_expr_is_const(f->a->p, dim, &v) && v == 1;
}

static const tp_value *shape_of(const flow *f, tp_vid v)
{
    return &f->p->values.at[v];
}

/* ---- integers ---- */

bool flow_fits(flow *f, tp_expr value, int64_t lo, int64_t hi, uint32_t rank, const tp_expr *dims)
{
    tp_exprs *p = f->a->p;
    return flow_holds(
        f, tp_op2(p, TP_E_AND, tp_op2(p, TP_E_GE, value, tp_const(p, lo)), tp_op2(p, TP_E_LE, value, tp_const(p, hi))),
        rank, dims);
}

/* The value as the dtype holds it: itself when it provably fits, else unknown. */
static tp_expr wrap(flow *f, const tp_inst *i, tp_expr e)
{
    const tp_value *x = shape_of(f, i->out);
    if (!e.id || tp_is_float(x->dtype) || tp_exprs_overflowed(f->a->p))
        return (tp_expr){0};
    bool bits = i->prim == TP_P_AND || i->prim == TP_P_OR || i->prim == TP_P_XOR; /* of what fits: it fits */
    if (x->dtype == TP_BOOL || bits)
        return e;
    if (x->dtype == TP_I32 && f->feeds[i->out] && !tp_expr_is_const(f->a->p, e, NULL))
        flow_use(f, (tp_use){.kind = TP_USE_INT32, .value = e, .rank = x->rank, .dims = x->dims, .node = i->node});
    if (x->dtype == TP_I32 && f->feeds[i->out] && f->a->nothing_wraps)
        return e;
    return flow_fits(f, e, tp_dtype_min(x->dtype), tp_dtype_max(x->dtype), x->rank, x->dims) ? e : (tp_expr){0};
}

static tp_expr logical(tp_exprs *p, tp_prim prim, tp_expr a, tp_expr b)
{
    if (prim == TP_P_XOR)
        return tp_op2(p, TP_E_AND, tp_op2(p, TP_E_OR, a, b), tp_op1(p, TP_E_NOT, tp_op2(p, TP_E_AND, a, b)));
    return tp_op2(p, prim == TP_P_AND ? TP_E_AND : TP_E_OR, a, b);
}

/* The mask is 1, or of `and` some of the low bits: 2^n - 1. */
static bool is_low_mask(tp_exprs *p, tp_prim prim, tp_expr mask)
{
    int64_t m;
    return tp_expr_is_const(p, mask, &m) && m > 0 && (prim == TP_P_XOR ? m == 1 : (m & (m + 1)) == 0);
}

/* a & (2^n - 1) is a % 2^n; a ^ 1 is the other one of an even number and the next one. */
static tp_expr low_bits(tp_exprs *p, tp_prim prim, tp_expr a, tp_expr mask)
{
    tp_expr one = tp_const(p, 1), two = tp_const(p, 2);
    if (prim == TP_P_AND)
        return tp_op2(p, TP_E_MOD, a, tp_op2(p, TP_E_ADD, mask, one));
    return tp_op2(p, TP_E_ADD, a, tp_op2(p, TP_E_SUB, one, tp_op2(p, TP_E_MUL, two, tp_op2(p, TP_E_MOD, a, two))));
}

static tp_expr binary_meaning(flow *f, const tp_inst *i, tp_expr a, tp_expr b)
{
    tp_exprs *p = f->a->p;
    tp_dtype d = shape_of(f, i->args[0])->dtype;
    tp_expr_op op = tp_prim_expr(i->prim);
    bool bits = i->prim == TP_P_AND || i->prim == TP_P_OR || i->prim == TP_P_XOR;
    if (bits && d == TP_BOOL)
        return logical(p, i->prim, a, b);
    if (i->prim == TP_P_LAX_DIV || i->prim == TP_P_LAX_REM) { /* truncating: floor for non-negative operands */
        const tp_value *x = shape_of(f, i->args[0]), *y = shape_of(f, i->args[1]);
        bool same = flow_fits(f, a, 0, INT32_MAX, x->rank, x->dims) && flow_fits(f, b, 1, INT32_MAX, y->rank, y->dims);
        return same ? tp_op2(p, i->prim == TP_P_LAX_DIV ? TP_E_FLOORDIV : TP_E_MOD, a, b) : (tp_expr){0};
    }
    if (bits && i->prim != TP_P_OR && (is_low_mask(p, i->prim, a) || is_low_mask(p, i->prim, b)))
        return is_low_mask(p, i->prim, b) ? low_bits(p, i->prim, a, b) : low_bits(p, i->prim, b, a);
    if (op == TP_E_CONST || (d == TP_BOOL && op != TP_E_EQ && op != TP_E_NE))
        return (tp_expr){0};
    return tp_op2(p, op, a, b);
}

static tp_expr unary_meaning(flow *f, const tp_inst *i, tp_expr a)
{
    tp_exprs *p = f->a->p;
    tp_expr zero = tp_const(p, 0), negative = tp_op1(p, TP_E_NEG, a);
    if (i->prim == TP_P_NEG)
        return negative;
    if (i->prim == TP_P_ABS)
        return tp_ite(p, tp_op2(p, TP_E_LT, a, zero), negative, a);
    if (i->prim == TP_P_RELU)
        return tp_op2(p, TP_E_MAX, a, zero);
    if (i->prim == TP_P_SQUARE)
        return tp_op2(p, TP_E_MUL, a, a);
    if (i->prim != TP_P_INVERT)
        return (tp_expr){0};
    return shape_of(f, i->out)->dtype == TP_BOOL ? tp_op1(p, TP_E_NOT, a)
                                                 : tp_op2(p, TP_E_SUB, negative, tp_const(p, 1));
}

static tp_expr power(flow *f, tp_expr a, int64_t n)
{
    tp_expr r = tp_const(f->a->p, 1);
    for (int64_t k = 0; k < n; k++)
        r = tp_op2(f->a->p, TP_E_MUL, r, a);
    return r;
}

static tp_expr cast_meaning(flow *f, const tp_inst *i, tp_expr a)
{
    tp_dtype from = shape_of(f, i->args[0])->dtype, to = shape_of(f, i->out)->dtype;
    if (tp_is_float(from) || tp_is_float(to) || !a.id)
        return (tp_expr){0};
    if (to == TP_BOOL)
        return from == TP_BOOL ? a : tp_op2(f->a->p, TP_E_NE, a, tp_const(f->a->p, 0));
    if (from == TP_BOOL)
        return tp_ite(f->a->p, a, tp_const(f->a->p, 1), tp_const(f->a->p, 0));
    return a;
}

/* ---- lanes ---- */

/* The argument's meaning and leaks, its lanes replaced. */
static void adopt(flow *f, flow_value *out, const flow_value *from, const tp_expr *with)
{
    flow_join(f, &out->leaks, &from->leaks, tp_const(f->a->p, 1), with, true);
    if (from->meaning.id)
        out->meaning = with ? tp_expr_subst(f->a->p, from->meaning, with, tp_sym_count(f->a->p)) : from->meaning;
    if (from->zero.id)
        out->zero = flow_subst(f, from->zero, with, tp_sym_count(f->a->p));
}

static void set_lane(flow *f, tp_expr *with, uint32_t lane, tp_expr to)
{
    with[flow_lane_sym(f, lane)] = to;
}

static void broadcast(flow *f, const tp_inst *i, flow_value *out)
{
    const tp_value *x = shape_of(f, i->args[0]);
    tp_expr *with = flow_identity(f);
    for (uint32_t d = 0; d < x->rank; d++)
        if (is_one(f, x->dims[d]))
            set_lane(f, with, d, tp_const(f->a->p, 0));
    adopt(f, out, &f->now.values[i->args[0]], with);
}

static void transpose(flow *f, const tp_inst *i, flow_value *out)
{
    tp_expr *with = flow_identity(f);
    for (uint32_t d = 0; d < i->nints; d++)
        set_lane(f, with, (uint32_t)i->ints[d], f->out->lane[d]);
    adopt(f, out, &f->now.values[i->args[0]], with);
}

/* Dimensions of 1 come and go; otherwise by the row-major element number. */
static void reshape(flow *f, const tp_inst *i, flow_value *out)
{
    const tp_value *x = shape_of(f, i->args[0]), *y = shape_of(f, i->out);
    tp_exprs *p = f->a->p;
    tp_expr *with = flow_identity(f);
    uint32_t to = 0, from = 0;
    for (; from < x->rank; from++) {
        if (is_one(f, x->dims[from])) {
            set_lane(f, with, from, tp_const(p, 0));
            continue;
        }
        while (to < y->rank && is_one(f, y->dims[to]))
            to++;
        if (to == y->rank || !tp_same(tp_expr_normal(p, x->dims[from]), tp_expr_normal(p, y->dims[to])))
            break;
        set_lane(f, with, from, f->out->lane[to++]);
    }
    while (to < y->rank && is_one(f, y->dims[to]))
        to++;
    if (from < x->rank || to < y->rank) {
        tp_expr number = tp_const(p, 0), stride = tp_const(p, 1);
        for (uint32_t d = 0; d < y->rank; d++)
            number = tp_op2(p, TP_E_ADD, tp_op2(p, TP_E_MUL, number, y->dims[d]), f->out->lane[d]);
        for (uint32_t d = x->rank; d-- > 0;) {
            tp_expr at = tp_op2(p, TP_E_FLOORDIV, number, stride);
            set_lane(f, with, d, d ? tp_op2(p, TP_E_MOD, at, x->dims[d]) : at);
            stride = tp_op2(p, TP_E_MUL, stride, x->dims[d]);
        }
    }
    adopt(f, out, &f->now.values[i->args[0]], with);
}

/* slice, tile, repeat, flip, roll: each lane of the result is one of the argument. */
static void move_lanes(flow *f, const tp_inst *i, flow_value *out)
{
    tp_exprs *p = f->a->p;
    const tp_value *x = shape_of(f, i->args[0]);
    const flow_value *from = &f->now.values[i->args[0]];
    tp_expr *with = flow_identity(f);
    for (uint32_t d = 0; d < x->rank; d++) {
        tp_expr lane = f->out->lane[d], here = lane;
        bool axis = d == (uint32_t)i->integer;
        if (i->prim == TP_P_SLICE)
            here = tp_op2(p, TP_E_ADD, i->starts[d], tp_op2(p, TP_E_MUL, lane, tp_const(p, i->ints[d])));
        else if (i->prim == TP_P_TILE && !is_one(f, i->starts[d]))
            here = is_one(f, x->dims[d]) ? tp_const(p, 0) : tp_op2(p, TP_E_MOD, lane, x->dims[d]);
        else if (i->prim == TP_P_REPEAT) /* by 0: there is no lane */
            here = tp_op2(p, TP_E_FLOORDIV, lane, tp_op2(p, TP_E_MAX, i->starts[d], tp_const(p, 1)));
        else if (i->prim == TP_P_FLIP && axis)
            here = tp_op2(p, TP_E_SUB, tp_op2(p, TP_E_SUB, x->dims[d], tp_const(p, 1)), lane);
        else if (i->prim == TP_P_ROLL && axis) {
            tp_expr shift = f->now.values[i->args[1]].meaning;
            if (!shift.id) { /* any lane along the axis */
                flow_any_lane(f, &out->leaks, &from->leaks);
                flow_join(f, &out->leaks, &f->now.values[i->args[1]].leaks, tp_const(p, 1), NULL, true);
                return;
            }
            here = tp_op2(p, TP_E_MOD, tp_op2(p, TP_E_SUB, lane, shift), x->dims[d]);
        }
        set_lane(f, with, d, here);
    }
    adopt(f, out, from, with);
    if (i->nargs > 1)
        flow_join(f, &out->leaks, &f->now.values[i->args[1]].leaks, tp_const(p, 1), NULL, true);
}

/* take: along the axis, the lane that the index says; any lane where that is not known. */
static void take(flow *f, const tp_inst *i, flow_value *out)
{
    const tp_value *x = shape_of(f, i->args[0]), *y = shape_of(f, i->args[1]);
    const flow_value *from = &f->now.values[i->args[0]], *index = &f->now.values[i->args[1]];
    uint32_t axis = (uint32_t)i->integer, n = tp_sym_count(f->a->p);
    tp_expr *shifted = flow_identity(f), *with = flow_identity(f);
    flow_use(f, (tp_use){.kind = TP_USE_TAKE,
                         .value = index->meaning,
                         .rank = y->rank,
                         .dims = y->dims,
                         .node = i->node,
                         .extent = x->dims[axis]});
    for (uint32_t d = 0; d < y->rank; d++)
        set_lane(f, shifted, d, f->out->lane[d + axis]);
    for (uint32_t d = axis + 1; d < x->rank; d++)
        set_lane(f, with, d, f->out->lane[d + y->rank - 1]);
    flow_join(f, &out->leaks, &index->leaks, tp_const(f->a->p, 1), shifted, true);
    if (!index->meaning.id) {
        flow_any_lane(f, &out->leaks, &from->leaks);
        return;
    }
    set_lane(f, with, axis, tp_expr_subst(f->a->p, index->meaning, shifted, n));
    flow_join(f, &out->leaks, &from->leaks, tp_const(f->a->p, 1), with, true);
    if (from->meaning.id)
        out->meaning = tp_expr_subst(f->a->p, from->meaning, with, n);
}

/* Part `index` where the lane along the axis lies between `start` and `end`. */
static void part(flow *f, const tp_inst *i, uint32_t index, tp_expr *with, tp_expr inside, flow_value *out)
{
    const flow_value *from = &f->now.values[i->args[index]];
    uint32_t n = tp_sym_count(f->a->p);
    tp_expr meaning = from->meaning.id ? tp_expr_subst(f->a->p, from->meaning, with, n) : (tp_expr){0};
    flow_join(f, &out->leaks, &from->leaks, inside, with, true);
    if (out->meaning.id)
        out->meaning = meaning.id ? tp_ite(f->a->p, inside, meaning, out->meaning) : (tp_expr){0};
}

static void concatenate(flow *f, const tp_inst *i, flow_value *out)
{
    tp_exprs *p = f->a->p;
    uint32_t axis = (uint32_t)i->integer;
    tp_expr lane = f->out->lane[axis], start[2] = {tp_const(p, 0)};
    tp_leaks anywhere = {0};
    for (uint32_t k = 0; k < i->nargs; k++) {
        tp_expr extent = shape_of(f, i->args[k])->dims[axis], *with = flow_identity(f);
        start[1] = tp_op2(p, TP_E_ADD, start[0], extent);
        set_lane(f, with, axis, tp_op2(p, TP_E_SUB, lane, start[0]));
        tp_expr inside =
            flow_and(f, flow_compare(f, TP_E_GE, lane, start[0]), flow_compare(f, TP_E_LT, lane, start[1]));
        if (k == 0) /* what the later parts fall back to */
            out->meaning = f->now.values[i->args[0]].meaning;
        part(f, i, k, with, inside, out);
        flow_join(f, &anywhere, &f->now.values[i->args[k]].leaks, flow_yes(f), with, false);
        start[0] = start[1];
    }
    if (out->leaks.len > FEW_LEAKS && out->leaks.len > 2 * anywhere.len)
        out->leaks = anywhere; /* which part a lane came from is forgotten: many conditions become few */
}

static void pad(flow *f, const tp_inst *i, flow_value *out)
{
    tp_exprs *p = f->a->p;
    const tp_value *x = shape_of(f, i->args[0]);
    tp_expr inside = tp_const(p, 1), *with = flow_identity(f);
    for (uint32_t d = 0; d < x->rank; d++) {
        tp_expr at = tp_op2(p, TP_E_SUB, f->out->lane[d], i->starts[d]);
        set_lane(f, with, d, at);
        inside = flow_and(f, inside, flow_compare(f, TP_E_GE, at, tp_const(p, 0)));
        inside = flow_and(f, inside, flow_compare(f, TP_E_LT, at, x->dims[d]));
    }
    out->meaning = f->now.values[i->args[1]].meaning;
    flow_join(f, &out->leaks, &f->now.values[i->args[1]].leaks, flow_guard(f, inside, true), NULL, true);
    part(f, i, 0, with, inside, out);
}

/* An argument, its leaks free of what this statement's variables stood for when it was executed before. */
static flow_value argument(flow *f, const tp_inst *i, uint32_t arg, uint32_t nvars)
{
    flow_value v = f->now.values[i->args[arg]];
    if (nvars)
        v.leaks = flow_retire(f, &v.leaks, (uint32_t)tp_expr_get(f->a->p, f->reduced[i->out])->value, nvars);
    return v;
}

/* cumsum and friends: every lane up to this one, as a variable of its own. */
static void scan(flow *f, const tp_inst *i, flow_value *out)
{
    uint32_t axis = (uint32_t)i->ints[0];
    tp_expr *with = flow_identity(f), t = f->reduced[i->out], lane = f->out->lane[axis];
    tp_expr before = i->reverse ? flow_compare(f, TP_E_GE, t, lane) : flow_compare(f, TP_E_LE, t, lane);
    flow_value from = argument(f, i, 0, 1);
    set_lane(f, with, axis, t);
    flow_join(f, &out->leaks, &from.leaks, before, with, true);
    for (uint32_t k = 0; k < out->leaks.len; k++)
        if (out->leaks.at[k].through == TP_PRIMS)
            out->leaks.at[k].through = i->prim;
}

/* A lane of the result depends on every lane along the reduced dimensions:
 * "for some t" becomes a variable of its own, since conditions are refuted. */
static void mark_through(tp_leaks *leaks, uint32_t from, tp_prim prim)
{
    for (uint32_t i = from; i < leaks->len; i++)
        if (leaks->at[i].through == TP_PRIMS)
            leaks->at[i].through = prim;
}

static void reduce(flow *f, const tp_inst *i, flow_value *out)
{
    const tp_value *x = shape_of(f, i->args[0]);
    tp_expr *with = flow_identity(f);
    bool reduced[TP_MAX_RANK] = {false}, keepdims = shape_of(f, i->out)->rank == x->rank;
    uint32_t to = 0;
    flow_value from = argument(f, i, 0, i->nints);
    for (uint32_t k = 0; k < i->nints; k++) {
        reduced[i->ints[k]] = true;
        set_lane(f, with, (uint32_t)i->ints[k],
                 tp_sym(f->a->p, (uint32_t)tp_expr_get(f->a->p, f->reduced[i->out])->value + k));
    }
    for (uint32_t d = 0; d < x->rank; d++)
        if (!reduced[d])
            set_lane(f, with, d, f->out->lane[keepdims ? d : to++]);
    adopt(f, out, &from, with);
    out->meaning = (tp_expr){0};
    mark_through(&out->leaks, 0, i->prim);
}

static void dot(flow *f, const tp_inst *i, flow_value *out)
{
    uint32_t first = (uint32_t)tp_expr_get(f->a->p, f->reduced[i->out])->value, to = i->nbatch;
    tp_expr *with[2];
    for (uint32_t side = 0; side < 2; side++) {
        const tp_value *x = shape_of(f, i->args[side]);
        bool paired[TP_MAX_RANK] = {false};
        with[side] = flow_identity(f);
        for (uint32_t k = 0; k < i->ncontract + i->nbatch; k++) {
            uint32_t d = (uint32_t)i->ints[2 * k + side];
            paired[d] = true;
            set_lane(f, with[side], d, k < i->ncontract ? tp_sym(f->a->p, first + k) : f->out->lane[k - i->ncontract]);
        }
        for (uint32_t d = 0; d < x->rank; d++)
            if (!paired[d])
                set_lane(f, with[side], d, f->out->lane[to++]);
    }
    flow_value factor[2] = {argument(f, i, 0, i->ncontract), argument(f, i, 1, i->ncontract)};
    for (uint32_t side = 0; side < 2; side++)
        flow_join_factor(f, out, i, side, &factor[side].leaks, with[side], &factor[1 - side], with[1 - side]);
    mark_through(&out->leaks, 0, TP_P_DOT);
}

/* The leaks of a where c holds, of b elsewhere. */
static void select_leaks(flow *f, const flow_value *c, const tp_leaks *a, const tp_leaks *b, flow_value *out)
{
    bool known = c->meaning.id != 0;
    tp_expr yes = known ? flow_guard(f, c->meaning, false) : flow_yes(f),
            no = known ? flow_guard(f, c->meaning, true) : flow_yes(f);
    flow_join(f, &out->leaks, &c->leaks, flow_yes(f), NULL, true);
    flow_join_arm(f, &out->leaks, a, yes, b, known);
    flow_join_arm(f, &out->leaks, b, no, a, known);
}

static void select_arm(flow *f, const tp_inst *i, flow_value *out)
{
    const flow_value *c = &f->now.values[i->args[0]], *a = &f->now.values[i->args[1]], *b = &f->now.values[i->args[2]];
    select_leaks(f, c, &a->leaks, &b->leaks, out);
    if (c->meaning.id && a->meaning.id && b->meaning.id)
        out->meaning = tp_ite(f->a->p, c->meaning, a->meaning, b->meaning);
}

/* Undefined where the mask is false. */
static void masked_load(flow *f, const tp_inst *i, flow_value *out)
{
    tp_leak left_out = {.when = flow_yes(f),
                        .birth = TP_BIRTH_MASKED,
                        .operand = (uint32_t)i->integer,
                        .read = i->node,
                        .through = TP_PRIMS,
                        .exact = true};
    tp_leaks undefined = {.at = &left_out, .len = 1};
    select_leaks(f, &f->now.values[i->args[0]], &f->now.values[i->args[1]].leaks, &undefined, out);
}

/* Integers without a dtype are never computed. */
static tp_expr meaning_of(const flow *f, tp_vid v)
{
    const tp_value *x = shape_of(f, v);
    return x->dtype == TP_WEAK_INT ? x->meaning : f->now.values[v].meaning;
}

/* The leaks of `of`, which `other` leaves alone where it decides: false & x, and true | x, are defined. */
static void undecided_leaks(flow *f, const tp_inst *i, const flow_value *of, const flow_value *other, flow_value *out)
{
    bool known = other->meaning.id && !other->leaks.len;
    tp_expr open = known ? flow_guard(f, other->meaning, i->prim == TP_P_OR) : flow_yes(f);
    flow_join(f, &out->leaks, &of->leaks, open, NULL, known);
}

static void elementwise(flow *f, const tp_inst *i, flow_value *out)
{
    const flow_value *a = &f->now.values[i->args[0]], *b = i->nargs > 1 ? &f->now.values[i->args[1]] : NULL;
    const tp_value *x = shape_of(f, i->args[0]);
    if (b && x->dtype == TP_BOOL && (i->prim == TP_P_AND || i->prim == TP_P_OR)) {
        undecided_leaks(f, i, a, b, out);
        undecided_leaks(f, i, b, a, out);
    } else if (i->prim == TP_P_MUL) {
        flow_join_factor(f, out, i, 0, &a->leaks, NULL, b, NULL);
        flow_join_factor(f, out, i, 1, &b->leaks, NULL, a, NULL);
    } else {
        flow_join(f, &out->leaks, &a->leaks, tp_const(f->a->p, 1), NULL, true);
        if (b)
            flow_join(f, &out->leaks, &b->leaks, tp_const(f->a->p, 1), NULL, true);
    }
    out->meaning = (tp_expr){0};
    if (b && tp_prim_divides(i->prim) && !tp_is_float(x->dtype)) {
        const tp_value *y = shape_of(f, i->args[1]);
        flow_use(
            f,
            (tp_use){.kind = TP_USE_DIVISOR, .value = b->meaning, .rank = y->rank, .dims = y->dims, .node = i->node});
    }
    tp_expr left = meaning_of(f, i->args[0]), right = b ? meaning_of(f, i->args[1]) : left;
    if (tp_is_float(x->dtype) || !left.id || !right.id)
        return;
    out->meaning = wrap(f, i,
                        i->prim == TP_P_INTEGER_POW ? power(f, left, i->integer)
                        : b                         ? binary_meaning(f, i, left, right)
                                                    : unary_meaning(f, i, left));
}

static void convert(flow *f, const tp_inst *i, flow_value *out)
{
    tp_expr meaning = meaning_of(f, i->args[0]);
    adopt(f, out, &f->now.values[i->args[0]], NULL);
    out->meaning = i->prim == TP_P_CAST ? wrap(f, i, cast_meaning(f, i, meaning)) : (tp_expr){0};
}

static void move(flow *f, const tp_inst *i, flow_value *out)
{
    static void (*const MOVES[TP_PRIMS])(flow *, const tp_inst *, flow_value *) = {
        [TP_P_BROADCAST] = broadcast,
        [TP_P_TRANSPOSE] = transpose,
        [TP_P_RESHAPE] = reshape,
        [TP_P_SLICE] = move_lanes,
        [TP_P_TILE] = move_lanes,
        [TP_P_REPEAT] = move_lanes,
        [TP_P_FLIP] = move_lanes,
        [TP_P_ROLL] = move_lanes,
        [TP_P_TAKE] = take,
        [TP_P_PAD] = pad,
        [TP_P_CONCATENATE] = concatenate,
    };
    MOVES[i->prim](f, i, out);
}

static void read_memory(flow *f, const tp_inst *i, flow_value *out)
{
    if (i->prim == TP_P_LOAD)
        flow_load(f, i);
    else if (i->prim == TP_P_MASKED_LOAD)
        masked_load(f, i, out);
    else if (i->prim == TP_P_READ)
        flow_read(f, i, out);
    else
        *out = f->now.values[i->args[0]];
}

void flow_inst(flow *f, const tp_inst *i)
{
    flow_value *out = &f->now.values[i->out];
    const tp_value *x = shape_of(f, i->out);
    *out = (flow_value){.meaning = {0}};
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE: elementwise(f, i, out); break;
    case TP_CLASS_SELECT: select_arm(f, i, out); break;
    case TP_CLASS_CONVERT: convert(f, i, out); break;
    case TP_CLASS_FOLD: reduce(f, i, out); break;
    case TP_CLASS_RUNNING: scan(f, i, out); break;
    case TP_CLASS_CONTRACT: dot(f, i, out); break;
    case TP_CLASS_MOVE: move(f, i, out); break;
    case TP_CLASS_SOURCE:
        if (i->prim == TP_P_IOTA)
            out->meaning = wrap(f, i, f->out->lane[i->integer]);
        else if (i->prim != TP_P_LITERAL)
            out->meaning = x->meaning;
        else if (!tp_is_float(x->dtype))
            out->meaning = tp_const(f->a->p, (int64_t)i->real);
        break;
    case TP_CLASS_MEMORY: read_memory(f, i, out); break;
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: break; /* not instructions */
    }
    out->zero = flow_zero_of(f, i);
    tp_assert(!out->meaning.id || !tp_is_float(x->dtype)); /* integers and bools */
}
