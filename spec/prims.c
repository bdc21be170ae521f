#include <ctype.h>

#include "base/assert.h"
#include "spec/program.h"

#define FLOATS TP_OC_FLOATS
#define INTS TP_OC_INTS
#define NUMBERS TP_OC_NUMBERS
#define LOGICAL TP_OC_LOGICAL
#define ANY TP_OC_ANY
#define SAME false
#define BOOL true
#define EXACT                                                                                                          \
    {                                                                                                                  \
        TP_ROUND_EXACT, 0                                                                                              \
    }
#define ROUNDED                                                                                                        \
    {                                                                                                                  \
        TP_ROUND_ONCE, 0                                                                                               \
    }
#define ULPS(n)                                                                                                        \
    {                                                                                                                  \
        TP_ROUND_ULPS, n                                                                                               \
    }
#define REALS                                                                                                          \
    {                                                                                                                  \
        TP_DOMAIN_REALS, 0                                                                                             \
    }
#define FROM(a)                                                                                                        \
    {                                                                                                                  \
        TP_DOMAIN_FROM, a                                                                                              \
    }
#define ABOVE(a)                                                                                                       \
    {                                                                                                                  \
        TP_DOMAIN_ABOVE, a                                                                                             \
    }
#define PARTIAL                                                                                                        \
    {                                                                                                                  \
        TP_DOMAIN_PARTIAL, 0                                                                                           \
    }

#define NONE CONST
#define SLOPE(c)                                                                                                       \
    {                                                                                                                  \
        TP_SLOPE_BOUNDED, c                                                                                            \
    }
#define CONTINUOUS                                                                                                     \
    {                                                                                                                  \
        TP_SLOPE_CONTINUOUS, 0                                                                                         \
    }
#define JUMPS                                                                                                          \
    {                                                                                                                  \
        TP_SLOPE_JUMPS, 0                                                                                              \
    }
#define DISCRETE                                                                                                       \
    {                                                                                                                  \
        TP_SLOPE_DISCRETE, 0                                                                                           \
    }

static const tp_prim_row ROWS[] = {
#define EXPR(op) EXPR_(op)
#define EXPR_(op) TP_E_##op
#define UNARY(id, name, operands, result, f, i, expr, rounding, slope, domain, jaxpr, pallas)                          \
    {name, TP_CLASS_ELEMENTWISE, 1, operands, result, EXPR(expr), TP_PRIMS, slope, domain, rounding, jaxpr, pallas},
#define BINARY(id, name, operands, result, f, i, expr, rounding, slope, domain, jaxpr, pallas)                         \
    {name, TP_CLASS_ELEMENTWISE, 2, operands, result, EXPR(expr), TP_PRIMS, slope, domain, rounding, jaxpr, pallas},
#define ROW(class, nargs, name, of, ...)                                                                               \
    {name, class, nargs, TP_OC_ANY, false, TP_E_CONST, of, CONTINUOUS, PARTIAL, __VA_ARGS__},
#define IMMEDIATE(id, name, ...) ROW(TP_CLASS_ELEMENTWISE, 1, name, TP_PRIMS, __VA_ARGS__)
#define SELECT(id, name, ...) ROW(TP_CLASS_SELECT, 0, name, TP_PRIMS, __VA_ARGS__)
#define CONVERT(id, name, ...) ROW(TP_CLASS_CONVERT, 0, name, TP_PRIMS, __VA_ARGS__)
#define FOLD(id, name, by, ...) ROW(TP_CLASS_FOLD, 0, name, TP_P_##by, __VA_ARGS__)
#define RUNNING(id, name, of, ...) ROW(TP_CLASS_RUNNING, 0, name, TP_P_##of, __VA_ARGS__)
#define CONTRACT(id, name, ...) ROW(TP_CLASS_CONTRACT, 0, name, TP_PRIMS, __VA_ARGS__)
#define MOVE(id, name, ...) ROW(TP_CLASS_MOVE, 0, name, TP_PRIMS, __VA_ARGS__)
#define SOURCE(id, name, ...) ROW(TP_CLASS_SOURCE, 0, name, TP_PRIMS, __VA_ARGS__)
#define MEMORY(id, name, ...) ROW(TP_CLASS_MEMORY, 0, name, TP_PRIMS, __VA_ARGS__)
#define CONTROL(id, name, ...) ROW(TP_CLASS_CONTROL, 0, name, TP_PRIMS, __VA_ARGS__)
#define SUGAR(id, name, ...) ROW(TP_CLASS_SUGAR, 0, name, TP_PRIMS, __VA_ARGS__)
#include "spec/prims.def"
};

const tp_prim_row *tp_prim_info(tp_prim p)
{
    tp_assert((size_t)p < sizeof ROWS / sizeof *ROWS);
    return &ROWS[p];
}

const tp_lowering *tp_prim_lowering(tp_prim p)
{
    static const tp_lowering TABLE[TP_PRIMS] = {
#define LOWERED(id, becomes, missing, ...) [TP_P_##id] = {becomes, missing, {__VA_ARGS__}},
#include "spec/mosaic.def"
    };
    return &TABLE[p];
}

bool tp_prim_compiles(tp_prim p, tp_dtype d, int generation)
{
    int since = tp_prim_lowering(p)->since[d];
#define LOST(id, dtype, until)                                                                                         \
    if (p == TP_P_##id && d == (dtype) && generation >= (until))                                                       \
        return false;
#include "spec/mosaic.def"
    return since && generation >= since;
}

bool tp_cast_compiles(tp_dtype from, tp_dtype to, int generation)
{
#define CASTS(a, b, since, until)                                                                                      \
    if (from == (a) && to == (b))                                                                                      \
        return generation >= (since) && (!(until) || generation < (until));
#include "spec/mosaic.def"
    return from == to;
}

bool tp_prim_compares(tp_prim p)
{
    return p == TP_P_EQ || p == TP_P_NE || p == TP_P_LT || p == TP_P_LE || p == TP_P_GT || p == TP_P_GE;
}

bool tp_prim_is_exponential(tp_prim p)
{
    return p == TP_P_EXP || p == TP_P_EXP2;
}

bool tp_prim_divides(tp_prim p)
{
    return p == TP_P_FLOORDIV || p == TP_P_MOD || p == TP_P_LAX_DIV || p == TP_P_LAX_REM;
}

bool tp_prim_reduces(tp_prim p)
{
    return ROWS[p].class == TP_CLASS_FOLD;
}

bool tp_prim_scans(tp_prim p)
{
    return ROWS[p].class == TP_CLASS_RUNNING;
}

bool tp_prim_is_elementwise(tp_prim p)
{
    return ROWS[p].class == TP_CLASS_ELEMENTWISE;
}

bool tp_prim_transcendental(tp_prim p)
{
    return tp_prim_is_elementwise(p) && (ROWS[p].rounding.kind == TP_ROUND_ULPS || p == TP_P_SQRT);
}

bool tp_prim_jumps(tp_prim p)
{
    return ROWS[p].slope.kind == TP_SLOPE_JUMPS;
}

tp_prim tp_prim_of(tp_prim p)
{
    return (tp_prim)ROWS[p].of;
}

tp_expr_op tp_prim_expr(tp_prim p)
{
    return ROWS[p].expr;
}

tp_prim tp_prim_find(tp_str name)
{
    static const tp_prim NOT_CALLED[] = {TP_P_CAST,    TP_P_LOAD,     TP_P_READ, TP_P_STORE, TP_P_PROGRAM_ID,
                                         TP_P_LITERAL, TP_P_VARIABLE, TP_P_COND, TP_P_SCAN};
    for (int p = 0; p < TP_PRIMS; p++) {
        if (!name.n || ROWS[p].name[0] != name.p[0])
            continue;
        bool callable = isalpha((unsigned char)ROWS[p].name[0]) != 0;
        for (size_t i = 0; i < sizeof NOT_CALLED / sizeof *NOT_CALLED; i++)
            callable &= p != (int)NOT_CALLED[i];
        if (callable && tp_str_is(name, ROWS[p].name))
            return (tp_prim)p;
    }
    return TP_PRIMS;
}
