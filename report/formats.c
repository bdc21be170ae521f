#include "report/report.h"

#include "formats.inc" /* REGISTRY, of report/formats */

const tp_format *const *tp_formats(size_t *n)
{
    *n = REGISTRY_SIZE;
    return REGISTRY;
}

const tp_format *tp_format_find(tp_str name)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (tp_str_is(name, REGISTRY[i]->name))
            return REGISTRY[i];
    return NULL;
}
