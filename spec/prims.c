#include <ctype.h>

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

static const tp_prim_row ROWS[] = {
#define UNARY(id, name, operands, result, f, i, rounding, domain, jaxpr, pallas)                                       \
    {name, TP_UNARY, operands, result, rounding, domain, jaxpr, pallas},
#define BINARY(id, name, operands, result, f, i, rounding, domain, jaxpr, pallas)                                      \
    {name, TP_BINARY, operands, result, rounding, domain, jaxpr, pallas},
#define STRUCT(id, name, least, most, rounding, jaxpr, pallas)                                                         \
    {name, TP_STRUCT, TP_OC_ANY, false, rounding, PARTIAL, jaxpr, pallas},
#include "spec/prims.def"
};

const tp_prim_row *tp_prim_info(tp_prim p)
{
    return &ROWS[p];
}

bool tp_prim_compares(tp_prim p)
{
    return p == TP_P_EQ || p == TP_P_NE || p == TP_P_LT || p == TP_P_LE || p == TP_P_GT || p == TP_P_GE;
}

bool tp_prim_divides(tp_prim p)
{
    return p == TP_P_FLOORDIV || p == TP_P_MOD || p == TP_P_LAX_DIV || p == TP_P_LAX_REM;
}

bool tp_prim_reduces(tp_prim p)
{
    return p >= TP_P_SUM && p <= TP_P_ARGMIN;
}

bool tp_prim_scans(tp_prim p)
{
    return p >= TP_P_CUMSUM && p <= TP_P_CUMMIN;
}

tp_prim tp_prim_folded(tp_prim scan)
{
    return scan == TP_P_CUMSUM    ? TP_P_SUM
           : scan == TP_P_CUMPROD ? TP_P_PROD
           : scan == TP_P_CUMMAX  ? TP_P_MAX
                                  : TP_P_MIN;
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
