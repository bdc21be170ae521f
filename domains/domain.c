#include "domains/domain.h"

#include "base/assert.h"
#include "domains/multiply.h"

static bool arguments_fit(const tp_inst *i, const tp_lanes *out, const tp_lanes *const *args)
{
    for (uint32_t a = 0; a < i->nargs; a++)
        if (args[a]->n != 1 && args[a]->n != out->n)
            return false;
    return true;
}

bool tp_domain_compute(tp_domain *d, const tp_inst *i, tp_lanes *out, const tp_lanes *const *args)
{
    tp_assert(arguments_fit(i, out, args));
    switch (tp_prim_info(i->prim)->class) {
    case TP_CLASS_ELEMENTWISE: return d->elementwise(d, i->prim, i->integer, out, args, i->nargs);
    case TP_CLASS_SELECT: return d->select(d, out, args[0], args[1], args[2]);
    case TP_CLASS_CONVERT: return i->prim == TP_P_CAST ? d->cast(d, out, args[0]) : d->bitcast(d, out, args[0]);
    case TP_CLASS_SOURCE: return d->literal(d, out, i->real);
    case TP_CLASS_FOLD:
    case TP_CLASS_RUNNING:
    case TP_CLASS_CONTRACT:
    case TP_CLASS_MOVE:
    case TP_CLASS_MEMORY:
    case TP_CLASS_CONTROL:
    case TP_CLASS_SUGAR: break; /* these know their shapes: reduce, scan and dot are asked elsewhere */
    }
    tp_assert(false);
    return false;
}

bool tp_dot_holds(tp_dot_shape s, const tp_lanes *out, const tp_lanes *a, const tp_lanes *b)
{
    return a->n == s.batch * s.m * s.k && b->n == s.batch * s.k * s.n && out->n == s.batch * s.m * s.n;
}

bool tp_groups_hold(const tp_groups *g, const tp_lanes *out, const tp_lanes *a)
{
    size_t base = 0, offset = 0;
    for (size_t o = 0; o < g->nout; o++)
        base = g->base[o] > base ? g->base[o] : base;
    for (size_t t = 0; t < g->nin; t++)
        offset = g->offset[t] > offset ? g->offset[t] : offset;
    bool scalar = a->n == 1; /* stands for any number of elements */
    return g->nout <= out->n && (scalar || g->nout == 0 || g->nin == 0 || base + offset < a->n);
}

uint32_t tp_moved_arguments(const tp_inst *i)
{
    if (i->prim == TP_P_DYNAMIC_UPDATE)
        return 2;
    return i->prim == TP_P_CONCATENATE || i->prim == TP_P_PAD || i->nargs == 0 ? i->nargs : 1;
}

TP_VECTORISED const double *tp_lanes_part(const tp_lanes *x, size_t from, size_t n, double *room)
{
    if (x->n == 1) {
        double one = tp_lane(x, 0);
        for (size_t i = 0; i < n; i++)
            room[i] = one;
    } else if (x->stored == TP_F64) {
        return (const double *)x->data + from;
    } else if (x->stored == TP_F32) {
        for (size_t i = 0; i < n; i++)
            room[i] = (double)((const float *)x->data)[from + i];
    } else if (x->stored == TP_BF16) {
        for (size_t i = 0; i < n; i++)
            room[i] = (double)tp_bf16_to_f32(((const uint16_t *)x->data)[from + i]);
    } else if (x->stored == TP_BOOL) {
        for (size_t i = 0; i < n; i++)
            room[i] = (double)((const uint8_t *)x->data)[from + i];
    } else {
        for (size_t i = 0; i < n; i++)
            room[i] = tp_get_f64(x->stored, x->data, from + i);
    }
    return room;
}
