#include "spec/program.h"

bool tp_region_any(const tp_region *r, bool (*test)(const tp_statement *s, void *ctx), void *ctx)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (test(s, ctx) || tp_region_any(&s->test, test, ctx) || tp_region_any(&s->body, test, ctx) ||
            tp_region_any(&s->orelse, test, ctx))
            return true;
    }
    return false;
}

bool tp_program_has(const tp_program *p, tp_dtype dtype)
{
    for (uint32_t i = 0; i < p->values.len; i++)
        if (p->values.at[i].dtype == dtype)
            return true;
    return false;
}
