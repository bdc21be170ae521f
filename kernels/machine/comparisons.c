/* Comparisons that make a mask of positions which no `where`, branch or masked
 * load takes: `(iota(…) < n).astype(float32) * x`, `(i == 0) & …` as a number. */
#include "kernels/machine/internal.h"

typedef struct finder {
    const tp_kernel *k;
    bool *position; /* per value: an integer made of iota or of program ids */
    bool *shown;    /* used as something else than a decision */
    tp_found_comparison found;
    void *ctx;
} finder;

static bool has_position(const finder *f, const tp_inst *i)
{
    for (uint32_t a = 0; a < i->nargs; a++)
        if (f->position[i->args[a]] || tp_names_axes(f->k, i->args[a]))
            return true;
    return i->prim == TP_P_IOTA || i->prim == TP_P_PROGRAM_ID;
}

/* Forward: integers that come of positions. */
static void mark_positions(finder *f, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        const tp_inst *i = s->kind == TP_COMPUTE ? s->inst : NULL;
        if (i && i->out >= 0) {
            tp_dtype d = f->k->body->values.at[i->out].dtype;
            f->position[i->out] = !tp_is_float(d) && d != TP_BOOL && has_position(f, i);
        }
        mark_positions(f, &s->test);
        mark_positions(f, &s->body);
        mark_positions(f, &s->orelse);
    }
}

/* Is argument `a` decided by: the mask of a `where` or a load? */
static bool decides(const tp_inst *i, uint32_t a)
{
    return a == 0 && (i->prim == TP_P_WHERE || i->prim == TP_P_MASKED_LOAD);
}

/* Backward: what is looked at otherwise. What is made of bools is shown where its result is. */
static void mark_shown(finder *f, const tp_region *r)
{
    for (uint32_t n = r->len; n-- > 0;) {
        const tp_statement *s = &r->at[n];
        mark_shown(f, &s->orelse);
        mark_shown(f, &s->body);
        mark_shown(f, &s->test);
        if (s->kind == TP_ASSIGN || tp_writes(s) || s->kind == TP_SIGNAL || s->kind == TP_AWAIT)
            f->shown[s->value] = true;
        const tp_inst *i = s->kind == TP_COMPUTE ? s->inst : NULL;
        bool passes = i && i->out >= 0 && f->k->body->values.at[i->out].dtype == TP_BOOL && !tp_prim_reduces(i->prim) &&
                      !tp_prim_compares(i->prim);
        for (uint32_t a = 0; i && a < i->nargs; a++)
            f->shown[i->args[a]] |= !decides(i, a) && (!passes || f->shown[i->out]);
    }
}

static void report(finder *f, const tp_region *r)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        if (s->kind == TP_COMPUTE && tp_prim_compares(s->inst->prim) && f->shown[s->inst->out] &&
            has_position(f, s->inst))
            f->found(f->ctx, s);
        report(f, &s->test);
        report(f, &s->body);
        report(f, &s->orelse);
    }
}

void tp_each_comparison(tp_arena *a, const tp_kernel *k, tp_found_comparison found, void *ctx)
{
    uint32_t n = k->body->values.len + 1;
    finder f = {k, TP_NEWN(a, bool, n), TP_NEWN(a, bool, n), found, ctx};
    mark_positions(&f, &k->body->statements);
    mark_shown(&f, &k->body->statements);
    report(&f, &k->body->statements);
}
