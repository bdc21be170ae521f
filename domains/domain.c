#include "domains/domain.h"

bool tp_domain_compute(tp_domain *d, const tp_inst *i, tp_lanes *out, const tp_lanes *const *args)
{
    switch (i->prim) {
    case TP_P_WHERE: return d->select(d, out, args[0], args[1], args[2]);
    case TP_P_CAST: return d->cast(d, out, args[0]);
    case TP_P_BITCAST: return d->bitcast(d, out, args[0]);
    case TP_P_LITERAL: return d->literal(d, out, i->real);
    default: return d->elementwise(d, i->prim, i->integer, out, args, i->nargs);
    }
}

uint32_t tp_moved_arguments(const tp_inst *i)
{
    return i->prim == TP_P_CONCATENATE || i->prim == TP_P_PAD || i->nargs == 0 ? i->nargs : 1;
}
