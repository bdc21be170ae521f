/* Which values keep to bounds, whatever undefined elements hold: a product of such a one with 0 is 0. */
#include <math.h>

#include "spec/program.h"

/* All float types of 16 bits and more hold it, and products of two such numbers are finite in float32. */
static const double MOST = 0x1p15;

typedef struct bounding {
    tp_exprs *e;
    const tp_program *p;
    double *most; /* by value, of floats and bools: its lanes are +0 or more, and no more than that; -1: not known */
} bounding;

static double larger(double x, double y)
{
    return x < 0 || y < 0 ? -1 : fmax(x, y);
}

/* Of what is made of these arguments, where all of them have one. */
static double made_of(const bounding *b, const tp_inst *i)
{
    double x = i->nargs ? b->most[i->args[0]] : -1, y = i->nargs > 1 ? b->most[i->args[1]] : -1;
    bool both = i->prim == TP_P_MAXIMUM || i->prim == TP_P_MINIMUM || i->prim == TP_P_PAD,
         moves = tp_prim_info(i->prim)->class == TP_CLASS_MOVE && i->prim != TP_P_TAKE &&
                 i->prim != TP_P_DYNAMIC_SLICE && i->prim != TP_P_DYNAMIC_UPDATE;
    if (i->prim == TP_P_LITERAL)
        return i->real >= 0 && !signbit(i->real) ? i->real : -1;
    if (i->prim == TP_P_CAST)
        return b->p->values.at[i->args[0]].dtype == TP_BOOL ? UINT8_MAX : x;
    if (i->prim == TP_P_WHERE)
        return larger(y, b->most[i->args[2]]);
    if (i->prim == TP_P_MUL || i->prim == TP_P_ADD)
        return larger(x, y) < 0 ? -1 : i->prim == TP_P_MUL ? x * y : x + y;
    for (uint32_t a = 1; a < i->nargs && i->prim == TP_P_CONCATENATE; a++)
        x = larger(x, b->most[i->args[a]]);
    return both ? larger(x, y) : moves ? x : -1;
}

static bool bound(const tp_statement *s, void *ctx)
{
    bounding *b = ctx;
    if (s->kind != TP_COMPUTE || s->inst->out < 0)
        return false;
    tp_dtype t = b->p->values.at[s->inst->out].dtype;
    bool small = !tp_is_weak(t) && tp_dtype_info(t)->bits < 16;
    double most = tp_is_float(t) && !small ? made_of(b, s->inst) : -1;
    b->most[s->inst->out] = most <= MOST ? most : -1;
    return false;
}

bool *tp_bounded_values(tp_arena *a, tp_exprs *e, const tp_program *p)
{
    bounding b = {e, p, TP_NEWN(a, double, p->values.len + 1)};
    bool *bounded = TP_NEWN(a, bool, p->values.len + 1);
    for (uint32_t v = 0; v < p->values.len; v++) {
        const tp_value *x = &p->values.at[v];
        int64_t number;
        bool written = x->dtype == TP_WEAK_INT && tp_expr_is_const(e, x->meaning, &number) && number >= 0;
        b.most[v] = written ? (double)number : -1;
    }
    tp_region_any(&p->statements, bound, &b);
    for (uint32_t v = 0; v < p->values.len; v++) {
        tp_dtype t = p->values.at[v].dtype;
        bounded[v] = b.most[v] >= 0 || (!tp_is_float(t) && t != TP_BOOL);
    }
    return bounded;
}
