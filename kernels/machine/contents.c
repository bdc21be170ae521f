/* What an observer sees of numbers. */
#include "base/assert.h"
#include "kernels/machine/internal.h"

static tp_contents contents_of(const tp_cells *c)
{
    tp_assert(!c->viewed && !c->waits);
    return (tp_contents){c->dtype, c->rank, c->dims, c->data, c};
}

tp_contents tp_contents_of_value(const tp_event *e, tp_vid v)
{
    return contents_of(&e->machine->values[v]);
}

tp_contents tp_contents_of_operand(const tp_event *e, uint32_t operand)
{
    return contents_of(&e->machine->refs[operand].cells);
}

bool tp_contents_defined(const tp_contents *l, size_t element)
{
    tp_assert(element < l->cells->n);
    return !tp_origin_at(l->cells, element);
}
