/* Finding the parts of a kernel by their names. */
#include "spec/kernel.h"

const tp_size *tp_size_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_str_eq(k->sizes[i].name, name))
            return &k->sizes[i];
    return NULL;
}

int tp_axis_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->naxes; i++)
        if (tp_str_eq(k->axes[i].name, name))
            return (int)i;
    return -1;
}

int tp_table_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->ntables; i++)
        if (tp_str_eq(k->tables[i].name, name))
            return (int)i;
    return -1;
}

int tp_operand_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        if (tp_str_eq(k->operands[i].name, name))
            return (int)i;
    return -1;
}

const tp_named_number *tp_named_number_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->nconstants; i++)
        if (tp_str_eq(k->constants[i].name, name))
            return &k->constants[i];
    return NULL;
}

static bool size_holds(const tp_size *s)
{
    for (uint32_t i = 1; i < s->nchoices; i++)
        if (s->choices[i - 1] >= s->choices[i])
            return false;
    return s->kind != TP_SIZE_RANGE || s->multiple_of >= 1; /* no size between min and max: TP006 says so */
}

static bool operand_holds(const tp_kernel *k, const tp_operand *o, tp_role role)
{
    uint32_t squeezed = 0;
    for (uint32_t d = 0; role != TP_SCRATCH && d < o->rank; d++)
        squeezed += o->dims[d].kind == TP_DIM_SQUEEZED;
    return o->role == role && o->rank <= TP_MAX_RANK && o->ref_rank + squeezed == o->rank && o->buffers >= 0 &&
           o->alias >= -1 && o->alias < (int)k->ninputs && (o->alias < 0 || role == TP_OUTPUT);
}

bool tp_kernel_holds(const tp_kernel *k)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (!size_holds(&k->sizes[i]))
            return false;
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        tp_role role = i < k->ninputs ? TP_INPUT : i < k->ninputs + k->noutputs ? TP_OUTPUT : TP_SCRATCH;
        if (!operand_holds(k, &k->operands[i], role))
            return false;
    }
    for (uint32_t i = 0; i < k->ntables; i++)
        if (k->tables[i].rank > TP_TABLE_RANK || (k->tables[i].sorted && k->tables[i].rank != 1))
            return false;
    for (uint32_t i = 0; i < k->ncontracts; i++)
        if (k->contracts[i].nbound > TP_TABLE_RANK)
            return false;
    return k->naxes <= TP_MAX_AXES && k->ntables <= TP_MAX_TABLES && k->ncontracts <= TP_MAX_CONTRACTS;
}
