/* Variables that statements assign to one after the other: who looks at one looks at the value that it was given, as
 * far as one assignment alone can have been the last. Then that value may be computed when somebody looks, and an
 * assignment at which nobody looks is none. The body of the kernel is not touched: the machine runs a copy. */
#include "kernels/machine/internal.h"

typedef struct renaming {
    tp_machine *m;
    tp_vid *is;      /* per variable: the value that it has here, -1: not known */
    uint32_t *looks; /* per variable: places that still look at it */
} renaming;

static void rename_value(renaming *r, tp_vid *v)
{
    if (*v < 0 || !r->m->k->body->values.at[*v].variable)
        return;
    if (r->is[*v] >= 0)
        *v = r->is[*v];
    else
        r->looks[*v]++;
}

static tp_access *rename_access(renaming *r, const tp_access *a)
{
    if (!a)
        return NULL;
    uint32_t rank = r->m->k->operands[a->operand].ref_rank;
    tp_access *to = TP_NEW(r->m->arena, tp_access);
    *to = *a;
    to->subs = TP_NEWN(r->m->arena, tp_subscript, rank);
    if (rank) /* of none there is nothing to copy from */
        memcpy(to->subs, a->subs, rank * sizeof *to->subs);
    for (uint32_t d = 0; d < rank; d++)
        if (to->subs[d].kind != TP_SUB_FULL)
            rename_value(r, &to->subs[d].start);
    if (to->guarded)
        rename_value(r, &to->mask);
    return to;
}

static tp_inst *rename_inst(renaming *r, const tp_inst *i)
{
    tp_inst *to = TP_NEW(r->m->arena, tp_inst);
    *to = *i;
    to->args = TP_NEWN(r->m->arena, tp_vid, i->nargs);
    memcpy(to->args, i->args, i->nargs * sizeof *to->args);
    for (uint32_t a = 0; a < i->nargs; a++)
        rename_value(r, &to->args[a]);
    to->access = rename_access(r, i->access);
    return to;
}

/* What is assigned to in a region may be anything afterwards. */
static void forget(renaming *r, const tp_region *region)
{
    for (uint32_t n = 0; n < region->len; n++) {
        const tp_statement *s = &region->at[n];
        if (s->kind == TP_ASSIGN)
            r->is[s->var] = -1;
        forget(r, &s->test);
        forget(r, &s->body);
        forget(r, &s->orelse);
    }
}

static tp_region rename_region(renaming *r, const tp_region *region);

static void rename_branches(renaming *r, tp_statement *s)
{
    uint32_t n = r->m->k->body->values.len;
    tp_vid *before = TP_NEWN(r->m->arena, tp_vid, n);
    memcpy(before, r->is, n * sizeof *before);
    tp_region body = rename_region(r, &s->body);
    memcpy(r->is, before, n * sizeof *before);
    tp_region orelse = rename_region(r, &s->orelse);
    forget(r, &s->body);
    forget(r, &s->orelse);
    s->body = body;
    s->orelse = orelse;
}

/* In any turn but the first, variables are what the turn before made of them. */
static void rename_turns(renaming *r, tp_statement *s)
{
    forget(r, &s->test);
    forget(r, &s->body);
    tp_region test = rename_region(r, &s->test), body;
    if (s->kind == TP_WHILE)
        rename_value(r, &s->value);
    body = rename_region(r, &s->body);
    forget(r, &s->test);
    forget(r, &s->body);
    s->test = test;
    s->body = body;
}

static void rename_statement(renaming *r, tp_statement *s)
{
    const tp_cells *values = r->m->values;
    if (s->kind == TP_COMPUTE)
        s->inst = rename_inst(r, s->inst);
    if (s->kind == TP_LOOP) {
        rename_value(r, &s->lo);
        rename_value(r, &s->hi);
    } else if (s->kind != TP_COMPUTE && s->kind != TP_WHILE) {
        rename_value(r, &s->value);
    }
    s->access = rename_access(r, s->access);
    s->from = rename_access(r, s->from);
    s->semaphore = rename_access(r, s->semaphore);
    for (uint32_t i = 0; i < TP_MAX_MESH; i++)
        rename_value(r, &s->device[i]);
    s->arrival = rename_access(r, s->arrival);
    if (s->kind == TP_IF)
        rename_branches(r, s);
    if (s->kind == TP_LOOP || s->kind == TP_WHILE)
        rename_turns(r, s);
    if (s->kind == TP_ASSIGN) {
        bool same = !r->m->k->body->values.at[s->value].variable && tp_same_shape(&values[s->var], &values[s->value]) &&
                    values[s->var].dtype == values[s->value].dtype;
        r->is[s->var] = same ? s->value : -1;
    }
}

static tp_region rename_region(renaming *r, const tp_region *region)
{
    tp_region to = {.at = TP_NEWN(r->m->arena, tp_statement, region->len), .len = region->len};
    for (uint32_t n = 0; n < to.len; n++) {
        to.at[n] = region->at[n];
        rename_statement(r, &to.at[n]);
    }
    return to;
}

/* Without assignments at which nobody looks. */
static void drop_unseen(const renaming *r, tp_region *region)
{
    uint32_t kept = 0;
    for (uint32_t n = 0; n < region->len; n++) {
        tp_statement *s = &region->at[n];
        drop_unseen(r, &s->test);
        drop_unseen(r, &s->body);
        drop_unseen(r, &s->orelse);
        if (s->kind != TP_ASSIGN || r->looks[s->var])
            region->at[kept++] = *s;
    }
    region->len = kept;
}

void tp_rename_prepare(tp_machine *m)
{
    const tp_program *p = m->k->body;
    bool any = false;
    m->body = &p->statements;
    for (uint32_t v = 0; v < p->values.len; v++)
        any |= p->values.at[v].variable;
    if (!any || !tp_may_defer(m) || m->request->observer)
        return;
    renaming r = {m, TP_NEWN(m->arena, tp_vid, p->values.len), TP_NEWN(m->arena, uint32_t, p->values.len)};
    for (uint32_t v = 0; v < p->values.len; v++)
        r.is[v] = -1;
    tp_region *body = TP_NEW(m->arena, tp_region);
    *body = rename_region(&r, &p->statements);
    drop_unseen(&r, body);
    m->body = body;
}
