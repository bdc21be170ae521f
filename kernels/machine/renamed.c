/* Variables that statements assign to one after the other: who looks at one looks at the value that it was given, as
 * far as one assignment alone can have been the last. Then that value may be computed when somebody looks, and an
 * assignment at which nobody looks is none. And integers that are computed again: who looks at one looks at the first.
 * The body of the kernel is not touched: the machine runs a copy. */
#include "kernels/machine/internal.h"

enum { BUCKETS = 64 };

/* An integer that is there from its statement to the end of the region. */
typedef struct known {
    const tp_inst *inst;
    struct known *same_bucket;
} known;

typedef struct renaming {
    tp_machine *m;
    tp_vid *is; /* per variable: the value that it has here, -1: not known; of others: itself, or the first of those
                 * that are the same */
    uint32_t *looks; /* per variable: places that still look at it */
    bool *assigned;  /* per variable: by a statement, not by its loop alone */
    known *buckets[BUCKETS];
} renaming;

static void rename_value(renaming *r, tp_vid *v)
{
    if (*v < 0)
        return;
    if (r->is[*v] >= 0)
        *v = r->is[*v];
    else
        r->looks[*v]++;
}

/* ---- integers that are computed again ---- */

/* Is it a number of integers alone, the same wherever it is computed? What could trap has done so the first time. */
static bool may_repeat(const renaming *r, const tp_inst *i)
{
    tp_prim_class class = tp_prim_info(i->prim)->class;
    const tp_cells *out = i->out < 0 ? NULL : &r->m->values[i->out];
    bool may = out && out->rank == 0 && !tp_is_float(out->dtype) && !i->access && i->nargs <= 2 &&
               (class == TP_CLASS_ELEMENTWISE || class == TP_CLASS_CONVERT || i->prim == TP_P_READ ||
                i->prim == TP_P_PROGRAM_ID);
    for (uint32_t a = 0; may && a < i->nargs; a++)
        may = !tp_is_float(r->m->values[i->args[a]].dtype) && !r->assigned[i->args[a]];
    return may;
}

/* What tells an argument from others: of sizes and constants the number, else whose result it is. */
static int64_t number_of(const renaming *r, tp_vid v)
{
    const tp_cells *c = &r->m->values[v];
    return c->dtype == TP_WEAK_INT ? *(const int64_t *)c->data : v;
}

static bool same_inst(const renaming *r, const tp_inst *a, const tp_inst *b)
{
    const tp_cells *values = r->m->values;
    bool same = a->prim == b->prim && a->nargs == b->nargs && a->integer == b->integer && a->nints == b->nints &&
                values[a->out].dtype == values[b->out].dtype &&
                memcmp(a->ints, b->ints, a->nints * sizeof *a->ints) == 0;
    for (uint32_t x = 0; same && x < a->nargs; x++)
        same = values[a->args[x]].dtype == values[b->args[x]].dtype &&
               number_of(r, a->args[x]) == number_of(r, b->args[x]);
    return same;
}

/* Note what i computes; true: it is there already. */
static bool find_first(renaming *r, const tp_inst *i)
{
    if (!may_repeat(r, i))
        return false;
    uint32_t bucket = (uint32_t)i->prim;
    for (uint32_t a = 0; a < i->nargs; a++)
        bucket = bucket * 31 + (uint32_t)number_of(r, i->args[a]);
    known **in = &r->buckets[bucket % BUCKETS];
    for (const known *k = *in; k; k = k->same_bucket)
        if (same_inst(r, k->inst, i)) {
            r->is[i->out] = k->inst->out;
            r->m->repeats[i->out] = true;
            return true;
        }
    known *k = TP_NEW(r->m->arena, known);
    *k = (known){i, *in};
    *in = k;
    return false;
}

/* ---- all values ---- */

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
    if (s->kind == TP_COMPUTE) {
        s->inst = rename_inst(r, s->inst);
        find_first(r, s->inst);
    }
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
    known *before[BUCKETS];
    memcpy(before, r->buckets, sizeof before);
    for (uint32_t n = 0; n < to.len; n++) {
        to.at[n] = region->at[n];
        rename_statement(r, &to.at[n]);
    }
    memcpy(r->buckets, before, sizeof before);
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

/* Variables that some statement assigns to; is a number computed again? */
static bool look_through(renaming *r, const tp_region *region)
{
    bool any = false;
    known *before[BUCKETS];
    memcpy(before, r->buckets, sizeof before);
    for (uint32_t n = 0; n < region->len; n++) {
        const tp_statement *s = &region->at[n];
        if (s->kind == TP_ASSIGN)
            r->assigned[s->var] = true;
        if (s->kind == TP_COMPUTE)
            any |= find_first(r, s->inst);
        any |= look_through(r, &s->test);
        any |= look_through(r, &s->body);
        any |= look_through(r, &s->orelse);
    }
    memcpy(r->buckets, before, sizeof before);
    return any;
}

void tp_rename_prepare(tp_machine *m)
{
    const tp_program *p = m->k->body;
    uint32_t n = p->values.len;
    bool any = false;
    m->body = &p->statements;
    if (!tp_may_defer(m) || m->request->observer)
        return;
    renaming r = {m, TP_NEWN(m->arena, tp_vid, n), TP_NEWN(m->arena, uint32_t, n), TP_NEWN(m->arena, bool, n), {NULL}};
    m->repeats = TP_NEWN(m->arena, bool, n);
    for (uint32_t v = 0; v < n; v++)
        any |= p->values.at[v].variable;
    any |= look_through(&r, &p->statements);
    if (!any)
        return;
    memset(m->repeats, 0, n * sizeof *m->repeats);
    for (uint32_t v = 0; v < n; v++)
        r.is[v] = p->values.at[v].variable ? -1 : (tp_vid)v;
    tp_region *body = TP_NEW(m->arena, tp_region);
    *body = rename_region(&r, &p->statements);
    drop_unseen(&r, body);
    m->body = body;
}
