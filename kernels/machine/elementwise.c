/* Elementwise primitives: loops generated from spec/prims.def. Operands have
 * the result's shape or are scalars. bfloat16 and float16 go through float32
 * in strips, narrow integers and bool through int64. */
#include <tgmath.h>

#include "base/vectorised.h"
#include "spec/elementary.h"
#include "kernels/machine/internal.h"

#define TP_WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))
#define TP_PYMOD(r, y) ((r) != 0 && ((r) < 0) != ((y) < 0) ? (r) + (y) : (r))

/* One loop per way in which operands can be scalars, so that each vectorises. */
#define LOOP2(name, T, W, R, EXPR)                                                                                     \
    WIDE static void name(const tp_rows *rows, size_t n, const void *a, bool scalar_a, const void *b, bool scalar_b,   \
                          void *r)                                                                                     \
    {                                                                                                                  \
        const char *left = a, *right = b;                                                                              \
        char *to = r;                                                                                                  \
        for (size_t q = 0; q < rows->n; q++, left += rows->a, right += rows->b, to += rows->r) {                       \
            const T *restrict p = (const T *)(const void *)left, *restrict s = (const T *)(const void *)right;         \
            R *restrict out = (R *)(void *)to;                                                                         \
            if (!scalar_a && !scalar_b) {                                                                              \
                for (size_t i = 0; i < n; i++) {                                                                       \
                    W x = p[i], y = s[i];                                                                              \
                    (void)x, (void)y;                                                                                  \
                    out[i] = (R)(EXPR);                                                                                \
                }                                                                                                      \
            } else if (scalar_b) {                                                                                     \
                W y = s[0];                                                                                            \
                (void)y;                                                                                               \
                for (size_t i = 0; i < n; i++) {                                                                       \
                    W x = p[scalar_a ? 0 : i];                                                                         \
                    (void)x;                                                                                           \
                    out[i] = (R)(EXPR);                                                                                \
                }                                                                                                      \
            } else {                                                                                                   \
                W x = p[0];                                                                                            \
                (void)x;                                                                                               \
                for (size_t i = 0; i < n; i++) {                                                                       \
                    W y = s[i];                                                                                        \
                    (void)y;                                                                                           \
                    out[i] = (R)(EXPR);                                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#define LOOP1(name, T, W, R, EXPR)                                                                                     \
    WIDE static void name(const tp_rows *rows, size_t n, const void *a, bool scalar_a, const void *b, bool scalar_b,   \
                          void *r)                                                                                     \
    {                                                                                                                  \
        const char *from = a;                                                                                          \
        char *to = r;                                                                                                  \
        (void)b, (void)scalar_b;                                                                                       \
        for (size_t q = 0; n && q < rows->n; q++, from += rows->a, to += rows->r) {                                    \
            const T *restrict p = (const T *)(const void *)from;                                                       \
            R *restrict out = (R *)(void *)to;                                                                         \
            if (scalar_a) {                                                                                            \
                W x = p[0];                                                                                            \
                (void)x;                                                                                               \
                R same = (R)(EXPR);                                                                                    \
                for (size_t i = 0; i < n; i++)                                                                         \
                    out[i] = same;                                                                                     \
            } else {                                                                                                   \
                for (size_t i = 0; i < n; i++) {                                                                       \
                    W x = p[i];                                                                                        \
                    (void)x;                                                                                           \
                    out[i] = (R)(EXPR);                                                                                \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define RESULT_SAME(T) T
#define RESULT_BOOL(T) uint8_t

#define WIDE TP_VECTORISED
#define TP_UNSIGNED(x) (x)
#define TP_REAL(x, c) c##f
#define UNARY(id, name, operands, result, f, i, ...) LOOP1(f32_##id, float, float, RESULT_##result(float), f)
#define BINARY(id, name, operands, result, f, i, ...) LOOP2(f32_##id, float, float, RESULT_##result(float), f)
#include "spec/prims.def"
#undef TP_REAL
#undef WIDE

#define WIDE
#define TP_REAL(x, c) c
#define UNARY(id, name, operands, result, f, i, ...) LOOP1(f64_##id, double, double, RESULT_##result(double), f)
#define BINARY(id, name, operands, result, f, i, ...) LOOP2(f64_##id, double, double, RESULT_##result(double), f)
#include "spec/prims.def"

#undef WIDE

#define WIDE TP_VECTORISED
#undef TP_UNSIGNED
#define TP_UNSIGNED(x) (uint64_t)(uint32_t)(x)
#define UNARY(id, name, operands, result, f, i, ...) LOOP1(i32_##id, int32_t, int64_t, RESULT_##result(int32_t), i)
#define BINARY(id, name, operands, result, f, i, ...) LOOP2(i32_##id, int32_t, int64_t, RESULT_##result(int32_t), i)
#include "spec/prims.def"

#undef TP_UNSIGNED
#define TP_UNSIGNED(x) (uint64_t)(x)
#define UNARY(id, name, operands, result, f, i, ...) LOOP1(u32_##id, uint32_t, int64_t, RESULT_##result(uint32_t), i)
#define BINARY(id, name, operands, result, f, i, ...) LOOP2(u32_##id, uint32_t, int64_t, RESULT_##result(uint32_t), i)
#include "spec/prims.def"

#undef WIDE

#define WIDE
#undef TP_UNSIGNED
#define TP_UNSIGNED(x) (uint64_t)(x) /* run_strips() has cut x to its width */
#define UNARY(id, name, operands, result, f, i, ...) LOOP1(i64_##id, int64_t, int64_t, RESULT_##result(int64_t), i)
#define BINARY(id, name, operands, result, f, i, ...) LOOP2(i64_##id, int64_t, int64_t, RESULT_##result(int64_t), i)
#include "spec/prims.def"

/* Bools: no result has another bit than the lowest. */
#undef TP_UNSIGNED
#define TP_UNSIGNED(x) (uint64_t)(x)
#define UNARY(...)
#define BINARY(id, name, operands, result, f, i, ...) BOOL_##operands(id, result, i)
#define BOOL_FLOATS(...)
#define BOOL_INTS(...)
#define BOOL_NUMBERS(...)
#define BOOL_LOGICAL(id, result, i) LOOP2(b_##id, uint8_t, int32_t, uint8_t, i)
#define BOOL_ANY(id, result, i) LOOP2(b_##id, uint8_t, int32_t, uint8_t, i)
#include "spec/prims.def"

static const struct {
    tp_loop f32, f64, i32, u32, i64;
} LOOPS[TP_PRIMS] = {
#define UNARY(id, ...) [TP_P_##id] = {f32_##id, f64_##id, i32_##id, u32_##id, i64_##id},
#define BINARY(id, ...) [TP_P_##id] = {f32_##id, f64_##id, i32_##id, u32_##id, i64_##id},
#include "spec/prims.def"
};

static const tp_loop BOOLS[TP_PRIMS] = {
#define UNARY(...)
#undef BOOL_LOGICAL
#undef BOOL_ANY
#define BOOL_LOGICAL(id, result, i) [TP_P_##id] = b_##id,
#define BOOL_ANY(id, result, i) [TP_P_##id] = b_##id,
#define BINARY(id, name, operands, result, f, i, ...) BOOL_##operands(id, result, i)
#include "spec/prims.def"
};

/* Shifts of 32 bits by one number for all elements of a row: in words, without a choice for each of them. */
#define SHIFT(id, set, T, EXPR)                                                                                        \
    TP_VECTORISED static void set##_##id##_by(size_t n, const T *restrict p, uint32_t y, T *restrict r)                \
    {                                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            T x = p[i];                                                                                                \
            r[i] = (T)(EXPR);                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void set##_##id##_rows(const tp_rows *rows, size_t n, const void *a, bool scalar_a, const void *b,          \
                                  bool scalar_b, void *r)                                                              \
    {                                                                                                                  \
        const char *left = a, *right = b;                                                                              \
        char *to = r;                                                                                                  \
        if (scalar_a || !scalar_b) {                                                                                   \
            set##_##id(rows, n, a, scalar_a, b, scalar_b, r);                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t q = 0; q < rows->n; q++, left += rows->a, right += rows->b, to += rows->r)                         \
            set##_##id##_by(n, (const T *)(const void *)left, *(const uint32_t *)(const void *)right,                  \
                            (T *)(void *)to);                                                                          \
    }
/* What is negative is more than 31 here: all bits leave, and of an arithmetic shift the sign stays. */
#define LEFT(x) (y > 31 ? 0 : (uint32_t)(x) << y)
#define RIGHT(x) (y > 31 ? 0 : (uint32_t)(x) >> y)
SHIFT(SHL, i32, int32_t, LEFT(x))
SHIFT(SHL, u32, uint32_t, LEFT(x))
SHIFT(SHR, i32, int32_t, x >> (y > 31 ? 31 : y))
SHIFT(SHR, u32, uint32_t, RIGHT(x))
SHIFT(SHR_LOGICAL, i32, int32_t, RIGHT(x))
SHIFT(SHR_LOGICAL, u32, uint32_t, RIGHT(x))

static const struct {
    tp_loop i32, u32;
} SHIFTS[TP_PRIMS] = {
    [TP_P_SHL] = {i32_SHL_rows, u32_SHL_rows},
    [TP_P_SHR] = {i32_SHR_rows, u32_SHR_rows},
    [TP_P_SHR_LOGICAL] = {i32_SHR_LOGICAL_rows, u32_SHR_LOGICAL_rows},
};

static void run_f32(tp_prim p, size_t n, const void *a, bool scalar_a, const void *b, bool scalar_b, void *r)
{
    tp_loop vectors = tp_elementary_here(p, TP_F32);
    (vectors ? vectors : LOOPS[p].f32)(&TP_ONE_ROW, n, a, scalar_a, b, scalar_b, r);
}

enum { STRIP = 512 };

static void widen(tp_dtype d, const void *data, size_t from, size_t n, float *f, int64_t *w)
{
    if (tp_is_float(d))
        tp_get_row_f32(d, data, from, n, f);
    else
        tp_get_row_i64(d, data, from, n, w);
}

/* Strips of `a` and `b` in the wide type, the wide loop, and back. */
static void run_strips(tp_prim p, tp_cells *out, const tp_cells *a, const tp_cells *b)
{
    float fa[STRIP], fb[STRIP], fr[STRIP];
    int64_t wa[STRIP], wb[STRIP], wr[STRIP];
    uint8_t bits[STRIP];
    bool to_bool = tp_prim_info(p)->to_bool, is_float = tp_is_float(a->dtype);
    bool sa = a->n == 1 && out->n != 1, sb = b && b->n == 1 && out->n != 1;
    for (size_t at = 0; at < out->n; at += STRIP) {
        size_t n = out->n - at < STRIP ? out->n - at : STRIP;
        widen(a->dtype, a->data, sa ? 0 : at, sa ? 1 : n, fa, wa);
        if (b)
            widen(b->dtype, b->data, sb ? 0 : at, sb ? 1 : n, fb, wb);
        for (size_t i = 0; b && !is_float && tp_prim_divides(p) && i < (sb ? 1 : n); i++)
            wb[i] += wb[i] == 0; /* the caller has trapped defined zeros */
        for (size_t i = 0; p == TP_P_SHR_LOGICAL && i < (sa ? 1 : n); i++)
            wa[i] &= ((int64_t)1 << tp_dtype_info(a->dtype)->bits) - 1;
        if (is_float)
            run_f32(p, n, fa, sa, b ? fb : NULL, sb, to_bool ? (void *)bits : fr);
        else
            LOOPS[p].i64(&TP_ONE_ROW, n, wa, sa, wb, sb, to_bool ? (void *)bits : wr);
        if (to_bool)
            memcpy((uint8_t *)out->data + at, bits, n);
        else if (tp_is_float(out->dtype))
            tp_put_row_f32(out->dtype, out->data, at, n, fr);
        else if (out->dtype == TP_BOOL) /* ~ & | ^ on bools keep to one bit */
            for (size_t i = 0; i < n; i++)
                ((uint8_t *)out->data)[at + i] = (uint8_t)(wr[i] & 1);
        else
            tp_put_row_i64(out->dtype, out->data, at, n, wr);
    }
}

static void trap_zero_divisor(tp_machine *m, const tp_cells *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (tp_get_i64(b->dtype, b->data, i) == 0 && !tp_origin_at(b, i))
            tp_trap_raise(m, TP_RULE_DIVISION_BY_ZERO, (tp_str){NULL, 0}, "integer division by zero");
}

/* false & x, and true | x, are what they are whatever x is. */
static void define_decided(tp_machine *m, const tp_inst *i, tp_cells *out)
{
    uint8_t decides = i->prim == TP_P_OR, *r = out->data;
    bool any = false;
    tp_flatten(&m->values[i->args[0]]);
    tp_flatten(&m->values[i->args[1]]);
    for (size_t e = 0; e < out->n; e++) {
        for (uint32_t a = 0; out->shadow[e] && a < 2; a++) {
            const tp_cells *side = &m->values[i->args[a]];
            size_t at = side->n == 1 ? 0 : e;
            if (((const uint8_t *)side->data)[at] != decides || tp_origin_at(side, at))
                continue;
            out->shadow[e] = 0;
            r[e] = decides;
        }
        any |= out->shadow[e] != 0;
    }
    if (!any)
        out->state = TP_CLEAN;
}

/* 0 times what is undefined is 0, where that is bounded. */
static void define_zeros(tp_machine *m, const tp_inst *i, tp_cells *out)
{
    bool any = false;
    for (uint32_t a = 0; a < 2; a++)
        tp_flatten(&m->values[i->args[a]]);
    for (size_t e = 0; e < out->n; e++) {
        for (uint32_t a = 0; out->shadow[e] && a < 2; a++) {
            const tp_cells *side = &m->values[i->args[a]];
            size_t at = side->n == 1 ? 0 : e;
            if (tp_is_bounded(m, i, 1 - a) && !tp_origin_at(side, at) && tp_get_f64(side->dtype, side->data, at) == 0)
                out->shadow[e] = 0;
        }
        any |= out->shadow[e] != 0;
    }
    if (!any)
        out->state = TP_CLEAN;
}

/* The first argument that is not clean, if it is one of which a box is defined that lies in those of all others: then
 * the result is undefined as that is. NULL: it is not. */
static const tp_cells *least_box(const tp_machine *m, const tp_cells *out, tp_cells *const *args, uint32_t n)
{
    const tp_cells *least = NULL;
    for (uint32_t a = 0; a < n; a++) {
        const tp_cells *x = args[a];
        if (x->state == TP_CLEAN)
            continue;
        if (!tp_may_box(m) || x->state != TP_INSIDE || !tp_same_shape(x, out) ||
            (least && !tp_box_holds(x, least->defined)))
            return NULL;
        least = least ? least : x;
    }
    return least;
}

static void run_shadow(tp_machine *m, tp_cells *out, tp_cells *const *args, uint32_t n)
{
    const tp_cells *least = least_box(m, out, args, n);
    if (least) {
        tp_copy_box(m, out, least);
        return;
    }
    out->state = TP_CLEAN;
    for (uint32_t a = 0; a < n; a++) {
        if (args[a]->state == TP_CLEAN)
            continue;
        if (args[a]->state == TP_INSIDE)
            tp_materialise(m, args[a]);
        const tp_origin *theirs = args[a]->state == TP_MIXED && args[a]->n == out->n ? args[a]->shadow : NULL;
        if (theirs && out->state == TP_CLEAN) {
            memcpy(tp_shadow_unset(m, out), theirs, out->n * sizeof *theirs);
            continue;
        }
        tp_origin *shadow = tp_materialise(m, out);
        for (size_t i = 0; theirs && i < out->n; i++)
            shadow[i] = shadow[i] ? shadow[i] : theirs[i];
        for (size_t i = 0; !theirs && i < out->n; i++)
            if (!shadow[i])
                shadow[i] = tp_origin_at(args[a], args[a]->n == 1 ? 0 : i);
    }
}

/* r[i] = x[i] to the power of e, by repeated products from 1. */
#define POWER(T)                                                                                                       \
    TP_VECTORISED static void power_##T(size_t n, const T *restrict x, int64_t e, T *restrict r)                       \
    {                                                                                                                  \
        uint64_t times = e < 0 ? -(uint64_t)e : (uint64_t)e;                                                           \
        for (size_t i = 0; i < n; i++)                                                                                 \
            r[i] = 1;                                                                                                  \
        for (uint64_t t = 0; t < times; t++)                                                                           \
            for (size_t i = 0; i < n; i++)                                                                             \
                r[i] *= x[i];                                                                                          \
        for (size_t i = 0; i < n && e < 0; i++)                                                                        \
            r[i] = 1 / r[i];                                                                                           \
    }
POWER(float)
POWER(double)

static void power_int(size_t n, const int64_t *x, int64_t e, int64_t *r)
{
    uint64_t times = e < 0 ? -(uint64_t)e : (uint64_t)e;
    for (size_t i = 0; i < n; i++)
        r[i] = 1;
    for (uint64_t t = 0; t < times; t++)
        for (size_t i = 0; i < n; i++)
            r[i] = TP_WRAP(r[i], *, x[i]);
}

static void run_power(tp_cells *out, const tp_cells *a, int64_t e)
{
    bool reals = tp_is_float(a->dtype), doubles = a->dtype == TP_F64 || a->dtype == TP_WEAK_FLOAT;
    float f[STRIP], fr[STRIP];
    double d[STRIP], dr[STRIP];
    int64_t w[STRIP], wr[STRIP];
    for (size_t at = 0, n; at < out->n; at += n) {
        n = out->n - at < STRIP ? out->n - at : STRIP;
        if (doubles) {
            tp_get_row_f64(a->dtype, a->data, at, n, d);
            power_double(n, d, e, dr);
            tp_put_row_f64(out->dtype, out->data, at, n, dr);
        } else if (reals) {
            tp_get_row_f32(a->dtype, a->data, at, n, f);
            power_float(n, f, e, fr);
            tp_put_row_f32(out->dtype, out->data, at, n, fr);
        } else {
            tp_get_row_i64(a->dtype, a->data, at, n, w);
            power_int(n, w, e, wr);
            tp_put_row_i64(out->dtype, out->data, at, n, wr);
        }
    }
}

tp_loop tp_elementwise_loop(tp_prim p, tp_dtype d)
{
    if (p == TP_P_INTEGER_POW)
        return NULL;
    if (d == TP_F32)
        return tp_elementary_here(p, TP_F32) ? tp_elementary_here(p, TP_F32) : LOOPS[p].f32;
    if (d == TP_F64 || d == TP_WEAK_FLOAT)
        return LOOPS[p].f64;
    if (d == TP_I32 && !tp_prim_divides(p))
        return SHIFTS[p].i32 ? SHIFTS[p].i32 : LOOPS[p].i32;
    if (d == TP_U32 && !tp_prim_divides(p))
        return SHIFTS[p].u32 ? SHIFTS[p].u32 : LOOPS[p].u32;
    return d == TP_BOOL ? BOOLS[p] : NULL;
}

tp_loop tp_division_loop(tp_prim p, tp_dtype d)
{
    return d == TP_I32 ? LOOPS[p].i32 : NULL;
}

void tp_elementwise_numbers(const tp_inst *i, tp_cells *out, const tp_cells *a, const tp_cells *b)
{
    bool sa = a->n == 1 && out->n != 1, sb = b && b->n == 1 && out->n != 1;
    tp_loop whole = tp_elementwise_loop(i->prim, a->dtype);
    if (i->prim == TP_P_INTEGER_POW)
        run_power(out, a, i->integer);
    else if (whole)
        whole(&TP_ONE_ROW, out->n, a->data, sa, b ? b->data : NULL, sb, out->data);
    else
        run_strips(i->prim, out, a, b);
}

/* An operand, row by row. */
typedef struct rows {
    const char *data;
    ptrdiff_t pitch; /* bytes */
    bool scalar;     /* a row is one element */
} rows;

static rows rows_of(const tp_cells *c, size_t row)
{
    ptrdiff_t size = (ptrdiff_t)tp_dtype_size(c->dtype);
    if (c->n == 1)
        return (rows){c->data, 0, true};
    return (rows){c->data, (c->viewed ? c->pitch : (ptrdiff_t)row) * size, c->viewed && c->flat_row};
}

static void run_rows(const tp_inst *i, tp_cells *out, const tp_cells *a, const tp_cells *b)
{
    size_t row = (size_t)out->dims[out->rank - 1], n = out->n / row, size = tp_dtype_size(out->dtype);
    tp_loop by = tp_elementwise_loop(i->prim, a->dtype);
    rows x = rows_of(a, row), y = b ? rows_of(b, row) : (rows){NULL, 0, false};
    if (by)
        by(&(tp_rows){n, x.pitch, y.pitch, (ptrdiff_t)(row * size)}, row, x.data, x.scalar, y.data, y.scalar,
           out->data);
    for (size_t r = 0; !by && r < n; r++) {
        tp_cells part = tp_row_of(out, r), left = tp_row_of(a, r), right = b ? tp_row_of(b, r) : left;
        run_strips(i->prim, &part, &left, b ? &right : NULL);
    }
}

void tp_exec_elementwise(tp_machine *m, const tp_inst *i)
{
    tp_cells *out = &m->values[i->out];
    tp_cells *a = &m->values[i->args[0]], *b = i->nargs > 1 ? &m->values[i->args[1]] : NULL;
    if (b && tp_prim_divides(i->prim) && !tp_is_float(b->dtype))
        trap_zero_divisor(m, b);
    if (a->viewed || (b && b->viewed))
        run_rows(i, out, a, b);
    else
        tp_elementwise_numbers(i, out, a, b);
    bool zeros = tp_settles_zeros(m, i);
    run_shadow(m, out, (tp_cells *[]){a, b}, b ? 2 : 1);
    if (zeros) {
        tp_materialise(m, out);
        define_zeros(m, i, out);
    }
    if (out->state == TP_MIXED && out->dtype == TP_BOOL && (i->prim == TP_P_AND || i->prim == TP_P_OR))
        define_decided(m, i, out);
}
