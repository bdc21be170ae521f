#include "domains/degree.h"

#include <math.h>

static tp_degree degree_sum(tp_degree a, tp_degree b)
{
    return (tp_degree){fmax(a.numerator + b.denominator, b.numerator + a.denominator), a.denominator + b.denominator};
}

tp_degree tp_degree_product(tp_degree a, tp_degree b)
{
    return (tp_degree){a.numerator + b.numerator, a.denominator + b.denominator};
}

static tp_degree degree_of_function(tp_degree a)
{
    return (tp_degree){fmax(1, a.numerator + a.denominator), 0};
}

tp_degree tp_degree_of_elementwise(tp_prim p, int64_t integer, tp_degree x, tp_degree y)
{
    double n = fabs((double)integer);
    switch (p) {
    case TP_P_NEG:
    case TP_P_ABS:
    case TP_P_RELU: return x;
    case TP_P_SQUARE: return tp_degree_product(x, x);
    case TP_P_INTEGER_POW:
        return integer < 0 ? (tp_degree){n * x.denominator, n * x.numerator}
                           : (tp_degree){n * x.numerator, n * x.denominator};
    case TP_P_ADD:
    case TP_P_SUB:
    case TP_P_MOD:
    case TP_P_LAX_REM: return degree_sum(x, y);
    case TP_P_MUL: return tp_degree_product(x, y);
    case TP_P_LAX_DIV:
    case TP_P_DIV: return (tp_degree){x.numerator + y.denominator, x.denominator + y.numerator};
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM: return tp_degree_larger(tp_degree_larger(x, y), (tp_degree){1, 0});
    case TP_P_RSQRT:
    case TP_P_TANH:
    case TP_P_LOGISTIC:
    case TP_P_TAN: return (tp_degree){1, degree_of_function(x).numerator};
    case TP_P_SILU: return tp_degree_product(x, (tp_degree){1, degree_of_function(x).numerator});
    case TP_P_GELU: return tp_degree_product(x, (tp_degree){1, 3 * degree_of_function(x).numerator});
    case TP_P_POW: return (tp_degree){64 * degree_of_function(x).numerator, 64 * degree_of_function(x).numerator};
    case TP_P_EXP: /* functions that nothing is known of */
    case TP_P_EXP2:
    case TP_P_EXPM1:
    case TP_P_LOG:
    case TP_P_LOG1P:
    case TP_P_LOG2:
    case TP_P_SQRT:
    case TP_P_ERF:
    case TP_P_ERFC:
    case TP_P_SIN:
    case TP_P_COS:
    case TP_P_SIGN:
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND:
    case TP_P_IS_FINITE:
    case TP_P_INVERT:
    case TP_P_FLOORDIV:
    case TP_P_AND:
    case TP_P_OR:
    case TP_P_XOR:
    case TP_P_SHL:
    case TP_P_SHR:
    case TP_P_SHR_LOGICAL:
    case TP_P_EQ:
    case TP_P_NE:
    case TP_P_LT:
    case TP_P_LE:
    case TP_P_GT:
    case TP_P_GE:
#define IMMEDIATE(...)
#define STRUCT(id, ...) case TP_P_##id:
#include "spec/prims.def"
    case TP_PRIMS: break;
    }
    return degree_of_function(tp_degree_product(x, y));
}

tp_degree tp_degree_of_fold(tp_prim p, tp_degree x, double n)
{
    if (p == TP_P_SUM)
        return (tp_degree){x.numerator + (n > 1 ? n - 1 : 0) * x.denominator, n * x.denominator};
    if (p == TP_P_PROD)
        return (tp_degree){n * x.numerator, n * x.denominator};
    return tp_degree_larger(x, (tp_degree){1, 0});
}
