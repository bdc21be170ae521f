/* Evaluator of reference programs: every value is an array of doubles. */
#include <math.h>

#include "reference/reference.h"

/* The scalar meanings, at double. Integers stay mathematical: no wrap. */
#define TP_REAL(x, c) c
#define TP_WRAP(x, op, y) 0
#define TP_UNSIGNED(x) (int64_t)(x)
#define UNARY(id, name, operands, result, f, i, ...)                                                                   \
    static double do_##id(double x)                                                                                    \
    {                                                                                                                  \
        (void)x;                                                                                                       \
        return f;                                                                                                      \
    }
#define BINARY(id, name, operands, result, f, i, ...)                                                                  \
    static double do_##id(double x, double y)                                                                          \
    {                                                                                                                  \
        (void)x, (void)y;                                                                                              \
        return f;                                                                                                      \
    }
#define TP_PYMOD(r, y) ((r) != 0 && ((r) < 0) != ((y) < 0) ? (r) + (y) : (r))
#include "spec/prims.def"

typedef union meaning {
    double (*one)(double);
    double (*two)(double, double);
} meaning;

static const meaning MEANINGS[TP_PRIMS] = {
#define UNARY(id, ...) [TP_P_##id] = {.one = do_##id},
#define BINARY(id, ...) [TP_P_##id] = {.two = do_##id},
#include "spec/prims.def"
};

enum { MAX_TURNS = 100000000 };

typedef struct array {
    uint32_t rank;
    int64_t dims[TP_MAX_RANK];
    size_t n;
    double *at;
} array;

typedef struct evaluator {
    tp_arena *arena;
    const tp_kernel *k;
    const tp_program *p;
    const int64_t *env;
    array *values;
    int64_t turns; /* of while loops */
    tp_str why;
} evaluator;

_Noreturn static void give_up(evaluator *e, tp_str why)
{
    e->why = why;
    tp_leave(e->arena, TP_E_INPUT);
}

static void shape_value(evaluator *e, tp_vid v)
{
    const tp_value *x = &e->p->values.at[v];
    array *a = &e->values[v];
    a->rank = x->rank;
    a->n = 1;
    for (uint32_t d = 0; d < x->rank; d++) {
        if (tp_expr_eval(e->k->exprs, x->dims[d], e->env, &a->dims[d]) != TP_EVAL_OK || a->dims[d] < 0)
            give_up(e, TP_S("a shape in the reference is not defined at these sizes"));
        if (__builtin_mul_overflow(a->n, (size_t)a->dims[d], &a->n))
            tp_leave(e->arena, TP_E_MEMORY);
    }
    a->at = TP_NEWN(e->arena, double, a->n);
    int64_t m = 0;
    if (x->dtype == TP_WEAK_INT) {
        if (tp_expr_eval(e->k->exprs, x->meaning, e->env, &m) != TP_EVAL_OK)
            give_up(e, TP_S("an integer in the reference is not defined at these sizes"));
        a->at[0] = (double)m;
    }
}

static void unravel(const array *a, size_t i, int64_t *at)
{
    for (uint32_t d = a->rank; d-- > 0;) {
        at[d] = (int64_t)(i % (size_t)a->dims[d]);
        i /= (size_t)a->dims[d];
    }
}

static size_t ravel(const array *a, const int64_t *at)
{
    size_t i = 0;
    for (uint32_t d = 0; d < a->rank; d++)
        i = i * (size_t)a->dims[d] + (size_t)at[d];
    return i;
}

static double lane(const array *a, size_t i)
{
    return a->at[a->n == 1 ? 0 : i];
}

static int64_t logical(tp_prim p, int64_t x, int64_t y, tp_dtype d)
{
    int64_t mask = ((int64_t)1 << 8 * tp_dtype_size(d)) - 1;
    switch (p) {
    case TP_P_SHR_LOGICAL: return y >= 0 && y < 63 ? (x & mask) >> y : 0;
    case TP_P_AND: return x & y;
    case TP_P_OR: return x | y;
    case TP_P_XOR: return x ^ y;
    case TP_P_SHL: return y >= 0 && y < 63 ? (int64_t)((uint64_t)x << y) : 0;
    case TP_P_SHR: return x >> (y >= 0 && y < 63 ? y : 63);
    default: return d == TP_BOOL ? !x : ~x;
    }
}

static double integer_op(evaluator *e, tp_prim p, double x, double y)
{
    if (y == 0)
        give_up(e, TP_S("the reference divides an integer by zero"));
    switch (p) {
    case TP_P_FLOORDIV: return floor(x / y);
    case TP_P_MOD: return x - floor(x / y) * y;
    case TP_P_LAX_DIV: return trunc(x / y);
    default: return fmod(x, y);
    }
}

static void elementwise(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    const array *a = &e->values[i->args[0]], *b = i->nargs > 1 ? &e->values[i->args[1]] : a;
    tp_dtype d = e->p->values.at[i->args[0]].dtype;
    bool divides =
        i->prim == TP_P_FLOORDIV || i->prim == TP_P_MOD || i->prim == TP_P_LAX_DIV || i->prim == TP_P_LAX_REM;
    bool bits = i->prim == TP_P_AND || i->prim == TP_P_OR || i->prim == TP_P_XOR || i->prim == TP_P_SHL ||
                i->prim == TP_P_SHR || i->prim == TP_P_SHR_LOGICAL || i->prim == TP_P_INVERT;
    for (size_t n = 0; n < out->n; n++) {
        double x = lane(a, n), y = lane(b, n);
        if (i->prim == TP_P_INTEGER_POW)
            out->at[n] = pow(x, (double)i->integer);
        else if (bits)
            out->at[n] = (double)logical(i->prim, (int64_t)x, (int64_t)y, d);
        else if (divides && !tp_is_float(d))
            out->at[n] = integer_op(e, i->prim, x, y);
        else
            out->at[n] = i->nargs > 1 ? MEANINGS[i->prim].two(x, y) : MEANINGS[i->prim].one(x);
    }
}

static double fold(tp_prim p, double acc, double v)
{
    switch (p) {
    case TP_P_SUM: return acc + v;
    case TP_P_PROD: return acc * v;
    case TP_P_MAX: return acc > v || acc != acc ? acc : v;
    case TP_P_MIN: return acc < v || acc != acc ? acc : v;
    case TP_P_ANY: return acc != 0 || v != 0;
    default: return acc != 0 && v != 0;
    }
}

static void reduce(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]];
    array *out = &e->values[i->out];
    bool reduced[TP_MAX_RANK] = {false}, keep = out->rank == a->rank,
         arg = i->prim == TP_P_ARGMAX || i->prim == TP_P_ARGMIN;
    double *best = arg ? TP_NEWN(e->arena, double, out->n) : NULL;
    bool *seen = TP_NEWN(e->arena, bool, out->n);
    for (uint32_t r = 0; r < i->nints; r++)
        reduced[i->ints[r]] = true;
    for (size_t o = 0; o < out->n; o++)
        out->at[o] = i->prim == TP_P_PROD || i->prim == TP_P_ALL ? 1
                     : i->prim == TP_P_MAX                       ? -HUGE_VAL
                     : i->prim == TP_P_MIN                       ? HUGE_VAL
                                                                 : 0;
    for (size_t n = 0; n < a->n; n++) {
        int64_t at[TP_MAX_RANK], to[TP_MAX_RANK];
        uint32_t rank = 0;
        unravel(a, n, at);
        for (uint32_t d = 0; d < a->rank; d++)
            if (!reduced[d])
                to[rank++] = at[d];
            else if (keep)
                to[rank++] = 0;
        size_t o = ravel(out, to);
        double v = a->at[n];
        if (!arg) {
            out->at[o] = fold(i->prim, out->at[o], v);
        } else if (!seen[o] ||
                   (best[o] == best[o] && (v != v || (i->prim == TP_P_ARGMAX ? v > best[o] : v < best[o])))) {
            best[o] = v;
            out->at[o] = (double)at[i->ints[0]];
        }
        seen[o] = true;
    }
}

static void dot(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]], *b = &e->values[i->args[1]];
    array *out = &e->values[i->out];
    uint32_t nb = i->nbatch, nc = i->ncontract;
    bool used_a[TP_MAX_RANK] = {false}, used_b[TP_MAX_RANK] = {false};
    array inner = {.rank = nc, .n = 1};
    for (uint32_t p = 0; p < nc + nb; p++)
        used_a[i->ints[2 * p]] = used_b[i->ints[2 * p + 1]] = true;
    for (uint32_t p = 0; p < nc; p++) {
        inner.dims[p] = a->dims[i->ints[2 * p]];
        inner.n *= (size_t)inner.dims[p];
    }
    size_t *step_a = TP_NEWN(e->arena, size_t, inner.n), *step_b = TP_NEWN(e->arena, size_t, inner.n);
    int64_t at[TP_MAX_RANK], ia[TP_MAX_RANK] = {0}, ib[TP_MAX_RANK] = {0};
    for (size_t s = 0; s < inner.n; s++) {
        unravel(&inner, s, at);
        for (uint32_t p = 0; p < nc; p++) {
            ia[i->ints[2 * p]] = at[p];
            ib[i->ints[2 * p + 1]] = at[p];
        }
        step_a[s] = ravel(a, ia);
        step_b[s] = ravel(b, ib);
    }
    for (uint32_t p = 0; p < nc; p++)
        ia[i->ints[2 * p]] = ib[i->ints[2 * p + 1]] = 0;
    for (size_t o = 0; o < out->n; o++) {
        uint32_t next = nb;
        unravel(out, o, at);
        for (uint32_t p = 0; p < nb; p++)
            ia[i->ints[2 * (nc + p)]] = ib[i->ints[2 * (nc + p) + 1]] = at[p];
        for (uint32_t d = 0; d < a->rank; d++)
            if (!used_a[d])
                ia[d] = at[next++];
        for (uint32_t d = 0; d < b->rank; d++)
            if (!used_b[d])
                ib[d] = at[next++];
        const double *x = a->at + ravel(a, ia), *y = b->at + ravel(b, ib);
        double sum = 0;
        for (size_t s = 0; s < inner.n; s++)
            sum += x[step_a[s]] * y[step_b[s]];
        out->at[o] = sum;
    }
}

static tp_prim folds(tp_prim scan)
{
    return scan == TP_P_CUMSUM    ? TP_P_SUM
           : scan == TP_P_CUMPROD ? TP_P_PROD
           : scan == TP_P_CUMMAX  ? TP_P_MAX
                                  : TP_P_MIN;
}

/* Element by element: everything up to it, folded. */
static void running(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]];
    array *out = &e->values[i->out];
    int64_t at[TP_MAX_RANK], axis = i->ints[0];
    for (size_t n = 0; n < out->n; n++) {
        unravel(out, n, at);
        int64_t end = at[axis], step = i->reverse ? -1 : 1;
        at[axis] = i->reverse ? a->dims[axis] - 1 : 0;
        double acc = a->at[ravel(a, at)];
        while (at[axis] != end) {
            at[axis] += step;
            acc = fold(folds(i->prim), acc, a->at[ravel(a, at)]);
        }
        out->at[n] = acc;
    }
}

static int64_t constant(evaluator *e, tp_expr x)
{
    int64_t v = 0;
    if (tp_expr_eval(e->k->exprs, x, e->env, &v) != TP_EVAL_OK)
        give_up(e, TP_S("a bound in the reference is not defined at these sizes"));
    return v;
}

static int64_t floor_mod(int64_t x, int64_t n)
{
    return (x % n + n) % n;
}

/* concatenate and pad: which part holds this element? */
static double joined(evaluator *e, const tp_inst *i, int64_t *at)
{
    bool inside = true;
    if (i->prim == TP_P_PAD) {
        const array *x = &e->values[i->args[0]];
        for (uint32_t d = 0; d < x->rank; d++) {
            at[d] -= constant(e, i->starts[d]);
            inside &= at[d] >= 0 && at[d] < x->dims[d];
        }
        return inside ? x->at[ravel(x, at)] : e->values[i->args[1]].at[0];
    }
    uint32_t part = 0;
    for (; at[i->integer] >= e->values[i->args[part]].dims[i->integer]; part++)
        at[i->integer] -= e->values[i->args[part]].dims[i->integer];
    return e->values[i->args[part]].at[ravel(&e->values[i->args[part]], at)];
}

static void take(evaluator *e, const tp_inst *i)
{
    const array *x = &e->values[i->args[0]], *index = &e->values[i->args[1]];
    array *out = &e->values[i->out];
    int64_t at[TP_MAX_RANK], from[TP_MAX_RANK], axis = i->integer, shift = (int64_t)index->rank - 1;
    for (size_t n = 0; n < out->n; n++) {
        unravel(out, n, at);
        for (int64_t d = 0; d < (int64_t)x->rank; d++)
            from[d] = d < axis ? at[d] : at[d + (d > axis ? shift : 0)];
        from[axis] = (int64_t)index->at[ravel(index, at + axis)];
        if (from[axis] < 0 || from[axis] >= x->dims[axis])
            give_up(e, TP_S("the reference takes an element that does not exist"));
        out->at[n] = x->at[ravel(x, from)];
    }
}

static void shape_op(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    const array *a = i->nargs ? &e->values[i->args[0]] : out;
    for (size_t n = 0; n < out->n; n++) {
        int64_t at[TP_MAX_RANK], from[TP_MAX_RANK];
        unravel(out, n, at);
        memcpy(from, at, sizeof from);
        for (uint32_t d = 0; d < a->rank; d++)
            switch (i->prim) {
            case TP_P_TRANSPOSE: from[i->ints[d]] = at[d]; break;
            case TP_P_BROADCAST: from[d] = a->dims[d] == 1 ? 0 : at[d]; break;
            case TP_P_SLICE: from[d] = constant(e, i->starts[d]) + at[d] * i->ints[d]; break;
            case TP_P_TILE: from[d] = at[d] % a->dims[d]; break;
            case TP_P_REPEAT: from[d] = at[d] / i->ints[d]; break;
            case TP_P_FLIP: from[d] = d == i->integer ? a->dims[d] - 1 - at[d] : at[d]; break;
            case TP_P_ROLL:
                if (d == i->integer)
                    from[d] = floor_mod(at[d] - (int64_t)e->values[i->args[1]].at[0], a->dims[d]);
                break;
            default: break;
            }
        out->at[n] = i->prim == TP_P_IOTA                                 ? (double)at[i->integer]
                     : i->prim == TP_P_CONCATENATE || i->prim == TP_P_PAD ? joined(e, i, at)
                                                                          : a->at[ravel(a, from)];
    }
}

/* Rounding to the dtype that a cast names, kept as a double. */
static double rounded(tp_dtype d, double v)
{
    union {
        double f64;
        int64_t i64;
    } cell = {0};
    if (d == TP_BOOL)
        return v != 0;
    if (!tp_is_float(d))
        return trunc(v);
    tp_put_f64(d, &cell, 0, v);
    return tp_get_f64(d, &cell, 0);
}

static void read_entry(evaluator *e, const tp_inst *i)
{
    const array *t = &e->values[e->p->table_value[i->integer]];
    int64_t at[TP_MAX_RANK];
    for (uint32_t x = 0; x < i->nargs; x++) {
        at[x] = (int64_t)e->values[i->args[x]].at[0];
        if (at[x] < 0 || at[x] >= t->dims[x])
            give_up(e, TP_S("the reference reads outside a table"));
    }
    e->values[i->out].at[0] = t->at[ravel(t, at)];
}

static void run_inst(evaluator *e, const tp_inst *i)
{
    array *out = &e->values[i->out];
    switch (i->prim) {
    case TP_P_SUM:
    case TP_P_PROD:
    case TP_P_MAX:
    case TP_P_MIN:
    case TP_P_ANY:
    case TP_P_ALL:
    case TP_P_ARGMAX:
    case TP_P_ARGMIN: reduce(e, i); return;
    case TP_P_DOT: dot(e, i); return;
    case TP_P_READ: read_entry(e, i); return;
    case TP_P_TAKE: take(e, i); return;
    case TP_P_CUMSUM:
    case TP_P_CUMPROD:
    case TP_P_CUMMAX:
    case TP_P_CUMMIN: running(e, i); return;
    case TP_P_IOTA:
    case TP_P_BROADCAST:
    case TP_P_SLICE:
    case TP_P_PAD:
    case TP_P_TILE:
    case TP_P_REPEAT:
    case TP_P_ROLL:
    case TP_P_FLIP:
    case TP_P_CONCATENATE:
    case TP_P_TRANSPOSE: shape_op(e, i); return;
    case TP_P_RESHAPE:
    case TP_P_VARIABLE: memcpy(out->at, e->values[i->args[0]].at, out->n * sizeof(double)); return;
    case TP_P_LITERAL: out->at[0] = i->real; return;
    case TP_P_WHERE:
        for (size_t n = 0; n < out->n; n++)
            out->at[n] = lane(&e->values[i->args[0]], n) != 0 ? lane(&e->values[i->args[1]], n)
                                                              : lane(&e->values[i->args[2]], n);
        return;
    case TP_P_CAST: {
        tp_dtype from = e->p->values.at[i->args[0]].dtype;
        /* an implied conversion of a literal is exact; a written one rounds */
        for (size_t n = 0; n < out->n; n++)
            out->at[n] = tp_is_weak(from) ? e->values[i->args[0]].at[n]
                                          : rounded((tp_dtype)i->integer, e->values[i->args[0]].at[n]);
        return;
    }
    default: elementwise(e, i);
    }
}

static void run_region(evaluator *e, const tp_region *r)
{
    for (uint32_t s = 0; s < r->len; s++) {
        const tp_step *step = &r->at[s];
        switch (step->kind) {
        case TP_COMPUTE: run_inst(e, step->inst); break;
        case TP_ASSIGN:
            memcpy(e->values[step->var].at, e->values[step->value].at, e->values[step->value].n * sizeof(double));
            break;
        case TP_IF: run_region(e, e->values[step->value].at[0] != 0 ? &step->body : &step->orelse); break;
        case TP_LOOP: {
            double hi = e->values[step->hi].at[0];
            for (double t = e->values[step->lo].at[0]; step->by > 0 ? t < hi : t > hi; t += (double)step->by) {
                e->values[step->var].at[0] = t;
                run_region(e, &step->body);
            }
            break;
        }
        case TP_WHILE:
            for (run_region(e, &step->test); e->values[step->value].at[0] != 0; run_region(e, &step->test)) {
                if (++e->turns > MAX_TURNS)
                    give_up(e, TP_S("a while loop of the reference turns too often"));
                run_region(e, &step->body);
            }
            break;
        case TP_ASSERT:
            for (size_t n = 0; n < e->values[step->value].n; n++)
                if (e->values[step->value].at[n] == 0)
                    give_up(e, tp_printf(e->arena, "check failed in the reference: %.*s", TP_FMT(step->text)));
            break;
        case TP_PUT: break; /* references have no refs */
        }
    }
}

typedef struct call {
    evaluator e;
    const tp_tensor *arrays;
    tp_tensor *outputs;
} call;

static void run_program(void *arg)
{
    call *c = arg;
    evaluator *e = &c->e;
    const tp_kernel *k = e->k;
    e->values = TP_NEWN(e->arena, array, e->p->values.len);
    for (uint32_t v = 0; v < e->p->values.len; v++)
        shape_value(e, (tp_vid)v);
    for (uint32_t i = 0; i < k->ninputs; i++)
        for (size_t n = 0; n < c->arrays[i].n; n++)
            e->values[e->p->operand_value[i]].at[n] = tp_at(&c->arrays[i], n);
    for (uint32_t t = 0; t < k->ntables; t++) {
        array *v = &e->values[e->p->table_value[t]];
        const tp_table_data *d = tp_bound_table(e->env, k->tables[t].sym);
        for (size_t n = 0; d && n < v->n; n++)
            v->at[n] = (double)d->at[n];
    }
    run_region(e, &e->p->steps);
    for (uint32_t o = 0; o < k->noutputs; o++) {
        if (e->p->operand_value[k->ninputs + o] < 0)
            continue; /* discarded */
        const array *v = &e->values[e->p->operand_value[k->ninputs + o]];
        c->outputs[o] = tp_tensor_new(e->arena, TP_F64, v->rank, v->dims);
        if (v->n)
            memcpy(c->outputs[o].data, v->at, v->n * sizeof(double));
    }
}

static void run_builtin(void *arg)
{
    call *c = arg;
    evaluator *e = &c->e;
    const tp_builtin *b = tp_builtin_find(e->k->reference.name);
    const tp_json *args = tp_json_get(e->k->reference.builtin, "args");
    if (!b)
        give_up(e, tp_printf(e->arena, "there is no builtin reference \"%.*s\"", TP_FMT(e->k->reference.name)));
    if (e->k->noutputs != 1)
        give_up(e, TP_S("a builtin reference has one output"));
    const char *wrong = b->run(e->arena, e->k, args, c->arrays, &c->outputs[0]);
    if (wrong)
        give_up(e, tp_printf(e->arena, "builtin \"%s\": %s", b->name, wrong));
}

tp_status tp_reference_run(tp_arena *a, const tp_kernel *k, const int64_t *env, const tp_tensor *arrays,
                           tp_tensor *outputs, tp_str *why)
{
    call c = {.e = {.arena = a, .k = k, .p = k->reference.program, .env = env}, .arrays = arrays, .outputs = outputs};
    tp_status st = tp_try(a, k->reference.program ? run_program : run_builtin, &c);
    *why = c.e.why;
    return st;
}
