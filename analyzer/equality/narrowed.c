/* What a cast to a narrower type changes. Over the reals casts are the
 * identity; but what is decided by a narrowed value (a comparison, floor, a
 * sign, …) is a function of that value. So terms keep the casts that may change
 * a number, and normal forms drop them everywhere but under decisions. */
#include "analyzer/equality/internal.h"

#include <math.h>
#include <stdlib.h>

static double rounded(tp_dtype d, double v)
{
    uint64_t place = 0;
    tp_put_f64(d, &place, 0, v);
    return tp_get_f64(d, &place, 0);
}

/* Integers up to 2^digits are exact. */
static int digits(tp_dtype d)
{
    return -ilogb(tp_dtype_roundoff(d));
}

/* Does type `to`, of floats, hold every number of type `from`? */
static bool holds(tp_dtype to, tp_dtype from)
{
    if (from == to || from == TP_BOOL)
        return true;
    if (to != TP_F32 && to != TP_F64 && to != TP_BF16 && to != TP_F16)
        return false;
    switch (from) {
    case TP_F32: return to == TP_F64;
    case TP_BF16:
    case TP_F16: return to == TP_F32 || to == TP_F64;
    case TP_I8:
    case TP_U8:
    case TP_I16:
    case TP_U16:
    case TP_I32:
    case TP_U32: return tp_dtype_info(from)->bits - (tp_dtype_info(from)->kind == TP_KIND_INT) <= digits(to);
    default: return false;
    }
}

static bool integer_fits(summary *s, tp_expr e, tp_dtype to)
{
    static const premises nothing = {.n = 0};
    int64_t v, most = (int64_t)1 << digits(to);
    if (tp_expr_is_const(s->p, e, &v))
        return rounded(to, (double)v) == (double)v && llabs(v) <= (int64_t)1 << 53;
    if (tp_expr_is_bool(s->p, e))
        return true;
    if (to == TP_F16)
        most = 2048;
    return summary_follows(s, &nothing,
                           tp_op2(s->p, TP_E_AND, tp_op2(s->p, TP_E_LE, e, tp_const(s->p, most)),
                                  tp_op2(s->p, TP_E_GE, e, tp_const(s->p, -most))));
}

static bool all_fit(summary *s, const term_node *n, int from, tp_dtype to)
{
    for (int i = from; i < 3 && n->arg[i].id; i++)
        if (!term_fits(s, n->arg[i], to))
            return false;
    return true;
}

bool term_fits(summary *s, term t, tp_dtype to)
{
    const term_node n = *term_get(s, t);
    switch (n.kind) {
    case T_INTEGER: return integer_fits(s, n.e, to);
    case T_REAL: return isnan(n.real) || rounded(to, n.real) == n.real;
    case T_READ:
    case T_BEFORE:
    case T_AFTER: return holds(to, s->k->operands[n.operand].dtype);
    case T_SELECT: return all_fit(s, &n, 0, to);
    case T_FOLD: return (n.prim == TP_P_MAX || n.prim == TP_P_MIN) && all_fit(s, &n, 0, to);
    case T_APPLY: break;
    }
    if (tp_prim_info(n.prim)->to_bool)
        return true;
    switch (n.prim) {
    case TP_P_CAST: {
        int64_t type;
        return tp_expr_is_const(s->p, n.e, &type) && type >= 0 && holds(to, (tp_dtype)type);
    }
    case TP_P_WHERE: return all_fit(s, &n, 1, to);
    case TP_P_NEG:
    case TP_P_ABS:
    case TP_P_MAXIMUM:
    case TP_P_MINIMUM:
    case TP_P_RELU:
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND:
    case TP_P_SIGN: return all_fit(s, &n, 0, to);
    default: return false;
    }
}

term term_narrowed(summary *s, term t, tp_dtype to)
{
    const term_node n = *term_get(s, t);
    int64_t v;
    bool constant = n.kind == T_INTEGER && tp_expr_is_const(s->p, n.e, &v);
    double number = constant ? (double)v : n.real;
    if ((n.kind == T_REAL || constant) && isinf(rounded(to, number)))
        return term_real(s, rounded(to, number));
    if (n.kind == T_REAL && term_may_be_mask(&n)) /* stands for minus infinity, in any spelling */
        return t;
    return term_apply(s, TP_P_CAST, t, (term){0}, (term){0}, to);
}

bool term_holds_constants(const summary *s, term t, tp_dtype d)
{
    const term_node *n = term_get(s, t);
    if (!tp_is_float(d) || tp_is_weak(d) || (n->kind == T_REAL && isinf(n->real)))
        return true;
    return !isinf(rounded(d, n->constants.lo)) && !isinf(rounded(d, n->constants.hi));
}

bool prim_decides(tp_prim prim)
{
    switch (prim) {
    case TP_P_SIGN:
    case TP_P_FLOOR:
    case TP_P_CEIL:
    case TP_P_ROUND:
    case TP_P_FLOORDIV:
    case TP_P_MOD:
    case TP_P_LAX_DIV:
    case TP_P_LAX_REM: return true;
    default: return tp_prim_info(prim)->to_bool;
    }
}
