/* Finding the parts of a kernel by their names. */
#include "spec/kernel.h"

const tp_size *tp_size_find(const tp_kernel *k, tp_str name)
{
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (tp_str_eq(k->sizes[i].name, name))
            return &k->sizes[i];
    return NULL;
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
