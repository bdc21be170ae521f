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

typedef struct settling {
    bool (*visit)(const tp_statement *s, void *ctx);
    void *ctx;
    bool changed;
} settling;

static bool visit_once(const tp_statement *s, void *ctx)
{
    settling *x = ctx;
    x->changed |= x->visit(s, x->ctx);
    return false;
}

void tp_region_settle(const tp_region *r, bool (*visit)(const tp_statement *s, void *ctx), void *ctx)
{
    settling x = {visit, ctx, true};
    while (x.changed) {
        x.changed = false;
        tp_region_any(r, visit_once, &x);
    }
}

bool tp_program_has(const tp_program *p, tp_dtype dtype)
{
    for (uint32_t i = 0; i < p->values.len; i++)
        if (p->values.at[i].dtype == dtype)
            return true;
    return false;
}
