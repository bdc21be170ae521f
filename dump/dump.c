#include "dump/dump.h"

/* build/gen/phases.inc has one X(name) per file of dump/phases. */
#define X(name) extern const tp_dump tp_dump_##name;
#include "phases.inc"
#undef X

static const tp_dump *const DUMPS[] = {
#define X(name) &tp_dump_##name,
#include "phases.inc"
#undef X
};

const tp_dump *const *tp_dumps(size_t *n)
{
    *n = sizeof DUMPS / sizeof *DUMPS;
    return DUMPS;
}

const tp_dump *tp_dump_find(tp_str name)
{
    for (size_t i = 0; i < sizeof DUMPS / sizeof *DUMPS; i++)
        if (tp_str_is(name, DUMPS[i]->name))
            return DUMPS[i];
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
