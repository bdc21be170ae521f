/* Evaluator of reference programs: every value is an array of doubles. */
#include <math.h>

#include "base/strided.h"
#include "base/vectorised.h"
#include "reference/internal.h"
#include "spec/elementary.h"
#include "spec/syntax.h"

enum { MAX_TURNS = 1 << 18, MAX_WORK = 200000000 }; /* of a while loop; work in the units of tp_reference_pay() */

static void shape_value(evaluator *e, tp_vid v)
{
    const tp_value *x = &e->p->values.at[v];
    array *a = &e->values[v];
    a->rank = x->rank;
    a->dtype = x->dtype;
    a->n = 1;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (tp_expr_eval(e->k->exprs, x->dims[d], e->env, &a->dims[d]) != TP_EVAL_OK)
            tp_give_up(e, TP_S("a shape in the reference is not defined at these sizes"));
        if (a->dims[d] < 0)
            tp_give_up(e, tp_printf(e->arena, "a value of the reference has the negative extent %.*s = %lld",
                                    TP_FMT(tp_expr_text(e->k->exprs, x->dims[d])), (long long)a->dims[d]));
        if (__builtin_mul_overflow(a->n, (size_t)a->dims[d], &a->n))
            tp_leave(e->arena, TP_E_MEMORY);
    }
    if (a->n <= 1 || e->last[v] == UINT32_MAX)
        a->at = TP_NEWN(e->arena, double, a->n);
    int64_t m = 0;
    if (x->dtype == TP_WEAK_INT) {
        if (tp_expr_eval(e->k->exprs, x->meaning, e->env, &m) != TP_EVAL_OK)
            tp_give_up(e, TP_S("an integer in the reference is not defined at these sizes"));
        a->at[0] = (double)m;
    }
}

/* An integer of the reference, where 64 bits are needed: a product of many may be beyond them. */
static int64_t whole(evaluator *e, double x)
{
    if (!(fabs(x) < 0x1p62))
        tp_give_up(e, tp_printf(e->arena, "an integer of the reference is %g, beyond 64 bits", x));
    return (int64_t)x;
}

static int64_t logical(tp_prim p, int64_t x, int64_t y, tp_dtype d)
{
    int64_t mask = ((int64_t)1 << tp_dtype_info(d)->bits) - 1;
    bool within = y >= 0 && y < 63;
    int64_t by = within ? y : 63;
    return p == TP_P_AND           ? (x & y)
           : p == TP_P_OR          ? (x | y)
           : p == TP_P_XOR         ? (x ^ y)
           : p == TP_P_SHR         ? x >> by
           : p == TP_P_SHR_LOGICAL ? (within ? (x & mask) >> by : 0)
           : p == TP_P_SHL         ? (within ? (int64_t)((uint64_t)x << by) : 0)
           : d == TP_BOOL          ? !x
                                   : ~x;
}

static double integer_op(evaluator *e, tp_prim p, double x, double y)
{
    if (y == 0)
        tp_give_up(e, TP_S("the reference divides an integer by zero"));
    return p == TP_P_FLOORDIV  ? floor(x / y)
           : p == TP_P_MOD     ? x - floor(x / y) * y
           : p == TP_P_LAX_DIV ? trunc(x / y)
                               : fmod(x, y);
}

/* Bools, which are 0 and 1; false: not of these primitives. */
TP_VECTORISED static bool bools(tp_prim p, size_t n, const double *a, size_t step_a, const double *b, size_t step_b,
                                double *restrict out)
{
#define ROW(prim, value)                                                                                               \
    if (p == (prim)) {                                                                                                 \
        for (size_t k = 0; k < n; k++) {                                                                               \
            double x = a[k * step_a], y = b[k * step_b];                                                               \
            (void)y;                                                                                                   \
            out[k] = (double)(value);                                                                                  \
        }                                                                                                              \
        return true;                                                                                                   \
    }
    ROW(TP_P_AND, (x != 0) & (y != 0))
    ROW(TP_P_OR, (x != 0) | (y != 0))
    ROW(TP_P_XOR, (x != 0) ^ (y != 0))
    ROW(TP_P_INVERT, x == 0)
#undef ROW
    return false;
}

/* n elements of one primitive; an operand with a step of 0 is a number. */
static void elementwise_row(evaluator *e, const tp_inst *i, size_t n, const double *a, size_t step_a, const double *b,
                            size_t step_b, double *out)
{
    tp_dtype d = e->p->values.at[i->args[0]].dtype;
    bool divides =
        i->prim == TP_P_FLOORDIV || i->prim == TP_P_MOD || i->prim == TP_P_LAX_DIV || i->prim == TP_P_LAX_REM;
    bool bits = i->prim == TP_P_AND || i->prim == TP_P_OR || i->prim == TP_P_XOR || i->prim == TP_P_SHL ||
                i->prim == TP_P_SHR || i->prim == TP_P_SHR_LOGICAL || i->prim == TP_P_INVERT;
    tp_prim p = i->prim == TP_P_INTEGER_POW && i->integer == 2 ? TP_P_SQUARE : i->prim;
    bool plain = p != TP_P_INTEGER_POW && !bits && (!divides || tp_is_float(d));
    /* Under a domain, numbers and what they mean are computed by one library. */
    tp_loop vectors = e->domain ? NULL : tp_elementary_here(p, TP_F64);
    if (vectors) {
        vectors(&TP_ONE_ROW, n, a, !step_a, i->nargs > 1 ? b : NULL, !step_b, out);
        return;
    }
    if (plain && tp_meaning_row_f64(p, n, a, step_a, b, step_b, out))
        return;
    if (d == TP_BOOL && bools(p, n, a, step_a, b, step_b, out))
        return;
    for (size_t k = 0; k < n; k++) {
        double x = a[k * step_a], y = b[k * step_b];
        if (p == TP_P_INTEGER_POW)
            out[k] = pow(x, (double)i->integer);
        else if (bits)
            out[k] = (double)logical(p, whole(e, x), i->nargs > 1 ? whole(e, y) : 0, d);
        else if (divides && !tp_is_float(d))
            out[k] = integer_op(e, p, x, y);
        else
            out[k] = tp_meaning_f64(p, x, y);
    }
}

static int64_t constant(evaluator *e, tp_expr x)
{
    int64_t v = 0;
    if (tp_expr_eval(e->k->exprs, x, e->env, &v) != TP_EVAL_OK)
        tp_give_up(e, TP_S("a bound in the reference is not defined at these sizes"));
    return v;
}

static int64_t floor_mod(int64_t x, int64_t n)
{
    return (x % n + n) % n;
}

static _Noreturn void take_outside(evaluator *e, const tp_inst *i, int64_t at, int64_t extent)
{
    tp_buf text = {.arena = e->arena};
    tp_print_node(&text, i->node);
    tp_give_up(e, tp_printf(e->arena, "the reference takes element %lld of a dimension which has %lld, in `%.*s`",
                            (long long)at, (long long)extent, TP_FMT(tp_buf_view(&text))));
}

/* Runs of what lies behind the axis, as they lie. */
static void take(evaluator *e, const tp_inst *i)
{
    const array *x = &e->values[i->args[0]], *index = &e->values[i->args[1]];
    array *out = &e->values[i->out];
    size_t outer = 1, run = 1, extent = (size_t)x->dims[i->integer];
    for (uint32_t d = 0; d < x->rank; d++)
        if (d < i->integer)
            outer *= (size_t)x->dims[d];
        else if (d > i->integer)
            run *= (size_t)x->dims[d];
    for (size_t o = 0; o < outer && run; o++)
        for (size_t n = 0; n < index->n; n++) {
            int64_t from = whole(e, index->at[n]);
            if (from < 0 || from >= (int64_t)extent)
                take_outside(e, i, from, (int64_t)extent);
            memcpy(&out->at[(o * index->n + n) * run], &x->at[(o * extent + (size_t)from) * run], run * sizeof *x->at);
        }
}

static _Noreturn void no_meaning(evaluator *e, tp_prim p)
{
    tp_give_up(e, tp_printf(e->arena, "`%s` has no meaning in a reference", tp_prim_info(p)->name));
}

/* Where a part of the first argument begins in dimension d; the starts are arguments from `first` on. */
static int64_t start_of(evaluator *e, const tp_inst *i, uint32_t first, uint32_t d, int64_t n, int64_t stride)
{
    double start = (double)whole(e, e->values[i->args[first + d]].at[0]);
    if (start < 0 || start + (double)(n - 1) * (double)stride >= (double)e->values[i->args[0]].dims[d])
        if (n > 0)
            tp_give_up(e, tp_printf(e->arena, "the reference %s elements %.0f to %.0f of dimension %u, which has %lld",
                                    first == 1 ? "reads" : "assigns", start, start + (double)((n - 1) * stride), d,
                                    (long long)e->values[i->args[0]].dims[d]));
    return n > 0 ? (int64_t)start : 0;
}

/* The part of `to` that the instruction writes gets `v`, both as the values are laid out. */
static void put_part(evaluator *e, const tp_inst *i, void *to, const void *v)
{
    const array *out = &e->values[i->args[0]], *part = &e->values[i->args[1]];
    size_t own[TP_MAX_RANK], mine[TP_MAX_RANK], first = 0;
    ptrdiff_t from[TP_MAX_RANK], step[TP_MAX_RANK];
    tp_strides(out, own);
    tp_strides(part, mine);
    for (uint32_t d = 0; d < out->rank; d++) {
        first += own[d] * (size_t)start_of(e, i, 2, d, part->dims[d], 1);
        from[d] = (ptrdiff_t)mine[d];
        step[d] = (ptrdiff_t)own[d];
    }
    tp_move(sizeof(double), out->rank, part->dims, (double *)to + first, step, v, from);
}

static void update(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    memcpy(out->at, e->values[i->args[0]].at, out->n * sizeof(double));
    put_part(e, i, out->at, e->values[i->args[1]].at);
}

bool tp_reference_view(evaluator *e, const tp_inst *i, size_t *start, ptrdiff_t *from)
{
    const array *out = &e->values[i->out], *a = &e->values[i->args[0]];
    size_t own[TP_MAX_RANK], first = 0;
    memset(from, 0, TP_MAX_RANK * sizeof *from);
    tp_strides(a, own);
    for (uint32_t d = 0; d < a->rank; d++)
        switch (i->prim) {
        case TP_P_TRANSPOSE: from[d] = (ptrdiff_t)own[i->ints[d]]; break;
        case TP_P_BROADCAST: from[d] = a->dims[d] == 1 ? 0 : (ptrdiff_t)own[d]; break;
        case TP_P_SLICE:
            from[d] = (ptrdiff_t)own[d] * i->ints[d];
            first += own[d] * (size_t)constant(e, i->starts[d]);
            break;
        case TP_P_DYNAMIC_SLICE:
            from[d] = (ptrdiff_t)own[d] * i->ints[d];
            first += own[d] * (size_t)start_of(e, i, 1, d, out->dims[d], i->ints[d]);
            break;
        case TP_P_RESHAPE:
        case TP_P_CONCATENATE:
        case TP_P_PAD:
        case TP_P_TILE:
        case TP_P_REPEAT:
        case TP_P_ROLL:
        case TP_P_FLIP:
        case TP_P_DYNAMIC_UPDATE:
        case TP_P_TAKE: return false;
#define UNARY(id, ...) case TP_P_##id:
#define BINARY UNARY
#define MOVE(...)
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
        case TP_PRIMS: no_meaning(e, i->prim);
        }
    *start = first;
    return true;
}

/* Moves along views; false: it is none. */
static bool linear(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    size_t mine[TP_MAX_RANK], first;
    ptrdiff_t from[TP_MAX_RANK], to[TP_MAX_RANK];
    if (!tp_reference_view(e, i, &first, from))
        return false;
    tp_strides(out, mine);
    for (uint32_t d = 0; d < out->rank; d++)
        to[d] = (ptrdiff_t)mine[d];
    tp_move(sizeof(double), out->rank, out->dims, out->at, to, e->values[i->args[0]].at + first, from);
    return true;
}

/* dims elements of a, from `begin` on, to the result from `at` on, every step[d]; backwards along dimension `back`. */
static void put_block(array *out, const int64_t *at, const int64_t *step, const int64_t *dims, const array *a,
                      const int64_t *begin, int64_t back)
{
    size_t own[TP_MAX_RANK], mine[TP_MAX_RANK], first = 0, source = 0;
    ptrdiff_t from[TP_MAX_RANK], to[TP_MAX_RANK];
    tp_strides(a, own);
    tp_strides(out, mine);
    for (uint32_t d = 0; d < out->rank; d++) {
        if (!dims[d])
            return;
        first += mine[d] * (size_t)at[d];
        source += own[d] * (size_t)begin[d];
        to[d] = (ptrdiff_t)mine[d] * step[d];
        from[d] = (int64_t)d == back ? -(ptrdiff_t)own[d] : (ptrdiff_t)own[d];
    }
    tp_move(sizeof(double), out->rank, dims, out->at + first, to, a->at + source, from);
}

/* tile, repeat: the whole of it, times[d] times along each dimension. */
static void put_copies(array *out, const array *a, bool repeat)
{
    int64_t times[TP_MAX_RANK], turn[TP_MAX_RANK] = {0}, at[TP_MAX_RANK], step[TP_MAX_RANK], zero[TP_MAX_RANK] = {0};
    if (!out->n)
        return;
    for (uint32_t d = 0; d < a->rank; d++) {
        times[d] = out->dims[d] / a->dims[d];
        step[d] = repeat ? times[d] : 1;
    }
    for (uint32_t d = 0; d < a->rank;) {
        for (uint32_t k = 0; k < a->rank; k++)
            at[k] = repeat ? turn[k] : turn[k] * a->dims[k];
        put_block(out, at, step, a->dims, a, zero, -1);
        for (d = 0; d < a->rank && ++turn[d] == times[d]; d++)
            turn[d] = 0;
    }
    if (!a->rank)
        out->at[0] = a->at[0];
}

static void shape_op(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    const array *a = &e->values[i->args[0]];
    int64_t at[TP_MAX_RANK] = {0}, one[TP_MAX_RANK], dims[TP_MAX_RANK], begin[TP_MAX_RANK] = {0}, axis = i->integer;
    if (linear(e, i) || !out->n)
        return;
    for (uint32_t d = 0; d < TP_MAX_RANK; d++)
        one[d] = 1;
    memcpy(dims, a->dims, sizeof dims);
    if (i->prim == TP_P_CONCATENATE) {
        for (uint32_t p = 0; p < i->nargs; p++) {
            const array *part = &e->values[i->args[p]];
            put_block(out, at, one, part->dims, part, begin, -1);
            at[axis] += part->dims[axis];
        }
    } else if (i->prim == TP_P_PAD) {
        for (size_t n = 0; n < out->n; n++)
            out->at[n] = e->values[i->args[1]].at[0];
        for (uint32_t d = 0; d < a->rank; d++)
            at[d] = constant(e, i->starts[d]);
        put_block(out, at, one, dims, a, begin, -1);
    } else if (i->prim == TP_P_TILE || i->prim == TP_P_REPEAT) {
        put_copies(out, a, i->prim == TP_P_REPEAT);
    } else if (i->prim == TP_P_FLIP) {
        begin[axis] = a->dims[axis] - 1;
        put_block(out, at, one, dims, a, begin, axis);
    } else if (i->prim == TP_P_ROLL) {
        int64_t n = a->dims[axis], by = floor_mod(whole(e, e->values[i->args[1]].at[0]), n);
        at[axis] = by;
        dims[axis] = n - by;
        put_block(out, at, one, dims, a, begin, -1);
        at[axis] = 0;
        begin[axis] = n - by;
        dims[axis] = by;
        put_block(out, at, one, dims, a, begin, -1);
    } else {
        no_meaning(e, i->prim);
    }
}

static void iota(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    size_t n = (size_t)out->dims[i->integer], behind = 1;
    for (uint32_t d = (uint32_t)i->integer + 1; d < out->rank; d++)
        behind *= (size_t)out->dims[d];
    for (size_t at = 0; at < out->n;)
        for (size_t k = 0; k < n; k++)
            for (size_t b = 0; b < behind; b++)
                out->at[at++] = (double)k;
}

static void read_entry(evaluator *e, const tp_inst *i)
{
    const array *t = &e->values[e->p->table_value[i->integer]];
    int64_t at[TP_MAX_RANK];
    for (uint32_t x = 0; x < i->nargs; x++) {
        at[x] = whole(e, e->values[i->args[x]].at[0]);
        if (at[x] < 0 || at[x] >= t->dims[x])
            tp_give_up(e, TP_S("the reference reads outside a table"));
    }
    e->values[i->out].at[0] = t->at[tp_ravel(t, at)];
}

TP_VECTORISED static void select_row(size_t n, const double *const *at, const size_t *step, double *restrict out)
{
    const double *c = at[0], *x = at[1], *y = at[2];
    size_t cs = step[0], xs = step[1], ys = step[2];
    for (size_t k = 0; k < n; k++) {
        double a = x[k * xs], b = y[k * ys];
        out[k] = c[k * cs] != 0 ? a : b;
    }
}

/* Integers of 32 bits do not wrap in a reference; what a written cast puts into others does, as in NumPy. */
static double integer_in(tp_dtype to, double x)
{
    if (to == TP_I32 || (x >= (double)tp_dtype_min(to) && x <= (double)tp_dtype_max(to)))
        return x;
    double all = ldexp(1, (int)tp_dtype_info(to)->bits), rest = x - floor(x / all) * all;
    return rest > (double)tp_dtype_max(to) ? rest - all : rest;
}

static double integer_of_float(evaluator *e, tp_dtype to, double x)
{
    double t = trunc(x);
    if (!(t >= (double)tp_dtype_min(to) && t <= (double)tp_dtype_max(to)))
        tp_give_up(e, tp_printf(e->arena, "the reference casts %g to %s, which does not hold it",
                                x == x ? x : (double)NAN, tp_dtype_info(to)->name));
    return t;
}

/* An implied conversion of a literal is exact; a written one rounds. */
static void convert_row(evaluator *e, const tp_inst *i, size_t n, const double *from, double *out)
{
    bool exact = tp_is_weak(e->p->values.at[i->args[0]].dtype);
    if (i->prim != TP_P_CAST)
        no_meaning(e, i->prim);
    enum { CHUNK = 256 };
    tp_dtype to = (tp_dtype)i->integer;
    double cells[CHUNK];
    if (exact || to == TP_F64) {
        memcpy(out, from, n * sizeof *out);
    } else if (tp_is_float(to)) {
        for (size_t k = 0; k < n; k += CHUNK) {
            size_t count = n - k < CHUNK ? n - k : CHUNK;
            tp_put_row_f64(to, cells, 0, count, from + k);
            tp_get_row_f64(to, cells, 0, count, out + k);
        }
    } else {
        for (size_t k = 0; k < n; k++)
            out[k] = to == TP_BOOL                                    ? from[k] != 0
                     : tp_is_float(e->p->values.at[i->args[0]].dtype) ? integer_of_float(e, to, from[k])
                                                                      : integer_in(to, from[k]);
    }
}

void tp_reference_row(evaluator *e, const tp_inst *i, size_t n, const double *const *at, const size_t *step,
                      double *out)
{
    tp_prim_class class = tp_prim_info(i->prim)->class;
    if (class == TP_CLASS_SELECT)
        select_row(n, at, step, out);
    else if (class == TP_CLASS_CONVERT)
        convert_row(e, i, n, at[0], out);
    else
        elementwise_row(e, i, n, at[0], step[0], i->nargs > 1 ? at[1] : at[0], step[i->nargs > 1], out);
}

/* All elements of what is computed element by element. */
static void elements(evaluator *e, const tp_inst *i)
{
    const double *at[3] = {NULL};
    size_t step[3] = {0};
    for (uint32_t a = 0; a < i->nargs && a < 3; a++) {
        at[a] = e->values[i->args[a]].at;
        step[a] = e->values[i->args[a]].n != 1;
    }
    tp_reference_row(e, i, e->values[i->out].n, at, step, e->values[i->out].at);
}

static void copy(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    memcpy(out->at, e->values[i->args[0]].at, out->n * sizeof(double));
}

static void move(evaluator *e, const tp_inst *i)
{
    if (i->prim == TP_P_TAKE)
        take(e, i);
    else if (i->prim == TP_P_RESHAPE)
        copy(e, i);
    else if (i->prim == TP_P_DYNAMIC_UPDATE)
        update(e, i);
    else
        shape_op(e, i);
}

static void source(evaluator *e, const tp_inst *i)
{
    if (i->prim == TP_P_IOTA)
        iota(e, i);
    else if (i->prim == TP_P_LITERAL)
        e->values[i->out].at[0] = i->real;
    else
        no_meaning(e, i->prim);
}

static void memory(evaluator *e, const tp_inst *i)
{
    if (i->prim == TP_P_READ)
        read_entry(e, i);
    else if (i->prim == TP_P_VARIABLE)
        copy(e, i);
    else
        no_meaning(e, i->prim);
}

void tp_reference_data(evaluator *e, const tp_inst *i)
{
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE:
    case TP_CLASS_SELECT:
    case TP_CLASS_CONVERT: elements(e, i); return;
    case TP_CLASS_FOLD: tp_reference_reduce(e, i); return;
    case TP_CLASS_RUNNING: tp_reference_scan(e, i); return;
    case TP_CLASS_CONTRACT: tp_reference_dot(e, i); return;
    case TP_CLASS_MOVE: move(e, i); return;
    case TP_CLASS_SOURCE: source(e, i); return;
    case TP_CLASS_MEMORY: memory(e, i); return;
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: no_meaning(e, i->prim);
    }
}

void tp_reference_pay(evaluator *e, const tp_inst *i)
{
    size_t made = e->values[i->out].n, n = made;
    bool part =
        i->prim == TP_P_SLICE || i->prim == TP_P_DYNAMIC_SLICE || i->prim == TP_P_TAKE; /* reads what it makes */
    for (uint32_t a = 0; a < i->nargs; a++)
        n += part && a == 0 ? made : e->values[i->args[a]].n;
    int64_t units = 8 + (int64_t)(e->domain ? n / 2 : n / 8);
    e->work += units;
    tp_spend(e->arena, units);
}

static void compute(evaluator *e, const tp_inst *i)
{
    if (tp_reference_by_domain(e, i))
        return;
    tp_reference_data(e, i);
    if (e->domain)
        tp_reference_planes(e, i);
}

/* What is made of numbers, and of arrays all elements of which are one, element by element: as a number is written
 * beside an array, which has its shape then. */
static bool is_same(const evaluator *e, const tp_inst *i)
{
    tp_prim_class class = tp_prim_info(i->prim)->class;
    bool same = (class == TP_CLASS_ELEMENTWISE || class == TP_CLASS_CONVERT || i->prim == TP_P_BROADCAST) &&
                e->values[i->out].n > 1;
    for (uint32_t a = 0; a < i->nargs; a++)
        same &= e->values[i->args[a]].n == 1 || e->values[i->args[a]].same;
    return same;
}

/* The first element, and the others like it. */
static void compute_once(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    size_t n = out->n, of[2] = {0};
    for (uint32_t a = 0; a < i->nargs && a < 2; a++)
        of[a] = e->values[i->args[a]].n;
    tp_reference_make_room(e, out);
    for (uint32_t a = 0; a < i->nargs && a < 2; a++)
        e->values[i->args[a]].n = 1;
    out->n = 1;
    compute(e, i);
    out->n = n;
    for (uint32_t a = 0; a < i->nargs && a < 2; a++)
        e->values[i->args[a]].n = of[a];
    for (size_t k = 1; k < n; k++)
        out->at[k] = out->at[0];
    for (uint32_t p = 0; p < e->domain->nplanes && out->meaning.plane[0]; p++)
        for (uint64_t *plane = out->meaning.plane[p], k = 1; k < n; k++)
            plane[k] = plane[0];
}

/* By float32, in which operations of narrower types are computed. */
static void round_to(tp_dtype d, size_t n, double *x)
{
    enum { STRIP = 256 };
    uint64_t strip[STRIP];
    for (size_t i = 0, some; i < n; i += some) {
        some = n - i < STRIP ? n - i : STRIP;
        for (tp_dtype to = TP_F32;; to = d) {
            tp_put_row_f64(to, strip, 0, some, x + i);
            tp_get_row_f64(to, strip, 0, some, x + i);
            if (to == d)
                break;
        }
    }
}

void tp_reference_compute(evaluator *e, const tp_inst *i)
{
    tp_reference_pay(e, i);
    if (!e->values[i->out].at)
        e->values[i->out].at = tp_take_room(e, e->values[i->out].n);
    e->values[i->out].same = e->domain && is_same(e, i);
    if (e->values[i->out].same && tp_prim_info(i->prim)->class == TP_CLASS_ELEMENTWISE && !tp_decides(i->prim))
        compute_once(e, i);
    else
        compute(e, i);
    if (e->r->single && tp_is_float(e->values[i->out].dtype))
        round_to(e->r->types ? e->r->types[i->out] : TP_F32, e->values[i->out].n, e->values[i->out].at);
}

/* v = v with another part, and nobody looks at the old one: the part is written where v lies. */
static bool run_in_place(evaluator *e, const tp_statement *update, const tp_statement *assign)
{
    const tp_inst *i = update->inst;
    if (update->kind != TP_COMPUTE || i->prim != TP_P_DYNAMIC_UPDATE || assign->kind != TP_ASSIGN ||
        assign->value != i->out || assign->var != i->args[0] || e->looks[i->out] != 1)
        return false;
    tp_spend(e->arena, 8 + (int64_t)e->values[i->args[1]].n / 8);
    put_part(e, i, e->values[assign->var].at, e->values[i->args[1]].at);
    if (e->domain)
        tp_reference_put_planes(e, i, put_part);
    e->values[assign->var].same = false;
    return true;
}

/* What was computed in the same region for this alone changes places with what the variable held. */
static void assign(evaluator *e, const tp_statement *s, const tp_region *r)
{
    array *var = &e->values[s->var], *value = &e->values[s->value];
    if (!e->domain && value->n > 1 && e->looks[s->value] == 1 && e->made[s->value] == r) {
        double *was = var->at;
        var->at = value->at;
        value->at = was;
        return;
    }
    if (!var->at)
        var->at = tp_take_room(e, var->n);
    memcpy(var->at, value->at, value->n * sizeof(double));
    var->same = value->same;
    tp_reference_copy(e, s->var, s->value);
}

static _Noreturn void give_up_turning(evaluator *e, const tp_statement *s)
{
    tp_buf text = {.arena = e->arena};
    tp_print_node(&text, s->syntax->value);
    tp_give_up(e, tp_printf(e->arena,
                            "`while %.*s` of the reference does not come to an end: it turned %d times, or for "
                            "too long",
                            TP_FMT(tp_buf_view(&text)), MAX_TURNS));
}

static void run_region(evaluator *e, const tp_region *r)
{
    for (uint32_t s = 0; s < r->len; s++) {
        const tp_statement *statement = &r->at[s];
        uint32_t done = e->r->single ? 0 : tp_reference_strips(e, r, s);
        if (done) {
            s += done - 1;
            if (r == &e->p->statements)
                tp_release_after(e, s);
            continue;
        }
        if (s + 1 < r->len && run_in_place(e, statement, statement + 1)) {
            s++;
            if (r == &e->p->statements)
                tp_release_after(e, s);
            continue;
        }
        switch (statement->kind) {
        case TP_COMPUTE: tp_reference_compute(e, statement->inst); break;
        case TP_ASSIGN: assign(e, statement, r); break;
        case TP_IF:
            tp_reference_decide(e, statement->value);
            run_region(e, e->values[statement->value].at[0] != 0 ? &statement->body : &statement->orelse);
            break;
        case TP_LOOP: {
            tp_reference_decide(e, statement->lo);
            tp_reference_decide(e, statement->hi);
            double hi = e->values[statement->hi].at[0];
            for (double t = e->values[statement->lo].at[0]; statement->by > 0 ? t < hi : t > hi;
                 t += (double)statement->by) {
                tp_spend(e->arena, 8);
                e->values[statement->var].at[0] = t;
                run_region(e, &statement->body);
            }
            break;
        }
        case TP_WHILE: {
            int64_t before = e->work, turns = 0;
            for (run_region(e, &statement->test); e->values[statement->value].at[0] != 0;
                 run_region(e, &statement->test)) {
                if (++turns > MAX_TURNS || e->work - before > (e->domain ? MAX_WORK / 8 : MAX_WORK))
                    give_up_turning(e, statement);
                tp_reference_decide(e, statement->value);
                run_region(e, &statement->body);
            }
            break;
        }
        case TP_ASSERT:
            for (size_t n = 0; n < e->values[statement->value].n; n++)
                if (e->values[statement->value].at[n] == 0)
                    tp_give_up(e, tp_printf(e->arena, "check failed in the reference: %.*s", TP_FMT(statement->text)));
            break;
        case TP_COPY_START:
        case TP_COPY_WAIT:
        case TP_SIGNAL:
        case TP_AWAIT:
        case TP_ENTER:
        case TP_LEAVE:
        case TP_PUT: break; /* references have no refs */
        }
        if (r == &e->p->statements)
            tp_release_after(e, s);
    }
}

static void run_program(void *arg)
{
    evaluator *e = arg;
    const tp_kernel *k = e->k;
    e->values = TP_NEWN(e->arena, array, e->p->values.len);
    tp_find_last_uses(e);
    for (uint32_t v = 0; v < e->p->values.len; v++)
        shape_value(e, (tp_vid)v);
    for (uint32_t i = 0; i < k->ninputs; i++) {
        array *x = &e->values[e->p->operand_value[i]];
        if (e->r->arrays[i].dtype == TP_F64 && x->n > 1) /* nobody writes to it */
            x->at = e->r->arrays[i].data;
        else
            tp_get_row_f64(e->r->arrays[i].dtype, e->r->arrays[i].data, 0, e->r->arrays[i].n, x->at);
        if (e->domain)
            x->meaning = e->r->meanings[i];
    }
    for (uint32_t t = 0; t < k->ntables; t++) {
        array *v = &e->values[e->p->table_value[t]];
        const tp_table_data *d = tp_bound_table(e->env, k->tables[t].sym);
        for (size_t n = 0; d && n < v->n; n++)
            v->at[n] = (double)d->at[n];
    }
    run_region(e, &e->p->statements);
    for (uint32_t o = 0; o < k->noutputs; o++) {
        if (e->p->operand_value[k->ninputs + o] < 0)
            continue; /* discarded */
        array *v = &e->values[e->p->operand_value[k->ninputs + o]];
        e->r->outputs[o] = (tp_tensor){.dtype = TP_F64, .rank = v->rank, .n = v->n, .data = v->at};
        memcpy(e->r->outputs[o].dims, v->dims, v->rank * sizeof *v->dims);
        if (e->domain)
            e->r->meanings[k->ninputs + o] = tp_reference_meaning(e, v);
    }
}

static void lower_and_run(void *arg)
{
    evaluator *e = arg;
    if (!e->p)
        e->p = tp_builtin_program(e);
    run_program(e);
}

tp_status tp_reference_run(tp_arena *a, tp_reference_request *r)
{
    evaluator e = {
        .arena = a, .r = r, .k = r->kernel, .p = r->kernel->reference.program, .env = r->env, .domain = r->domain};
    tp_status st = tp_try(a, lower_and_run, &e);
    r->why = e.why;
    r->undecided = e.undecided;
    return st;
}

static void find_program(void *arg)
{
    evaluator *e = arg;
    if (!e->p && e->k->reference.builtin)
        e->p = tp_builtin_program(e);
}

const tp_program *tp_reference_program(tp_arena *a, const tp_kernel *k, tp_str *why)
{
    evaluator e = {.arena = a, .k = k, .p = k->reference.program, .why = TP_S("there is no reference")};
    tp_status st = tp_try(a, find_program, &e);
    if (st == TP_E_MEMORY || st == TP_E_BUDGET)
        tp_leave(a, st);
    *why = e.why;
    return st == TP_OK ? e.p : NULL;
}
