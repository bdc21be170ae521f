#include "dump/dump.h"

#include "phases.inc" /* REGISTRY, of dump/phases */

const tp_dump *const *tp_dumps(size_t *n)
{
    *n = REGISTRY_SIZE;
    return REGISTRY;
}

const tp_dump *tp_dump_find(tp_str name)
{
    for (size_t i = 0; i < REGISTRY_SIZE; i++)
        if (tp_str_is(name, REGISTRY[i]->name))
            return REGISTRY[i];
    return NULL;
}

tp_str tp_dump_text(tp_ctx *c, const tp_spec *s, const tp_dump *d)
{
    tp_buf b = {.arena = c->arena};
    for (uint32_t i = 0; i < s->nkernels; i++) {
        tp_str dtypes = tp_dtypes_text(s->kernels[i]);
        tp_buf_printf(&b, "%s of %.*s%s%.*s\n", d->name, TP_FMT(s->kernels[i]->name), dtypes.n ? ", " : "",
                      TP_FMT(dtypes));
        d->print(c, s->kernels[i], &b);
    }
    return tp_buf_view(&b);
}
