/* The registry: build/gen/formats.inc has one X(name) per file of report/formats. */
#include "report/report.h"

#define X(name) extern const tp_format tp_format_##name;
#include "formats.inc"
#undef X

static const tp_format *const FORMATS[] = {
#define X(name) &tp_format_##name,
#include "formats.inc"
#undef X
};

const tp_format *const *tp_formats(size_t *n)
{
    *n = sizeof FORMATS / sizeof *FORMATS;
    return FORMATS;
}

const tp_format *tp_format_find(tp_str name)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (tp_str_is(name, FORMATS[i]->name))
            return FORMATS[i];
    return NULL;
}
