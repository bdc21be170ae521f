/* How long values are looked at: their memory is used again afterwards. */
#include "reference/internal.h"

#define NEVER UINT32_MAX /* looked at to the end */

static void look(evaluator *e, tp_vid v, uint32_t now)
{
    if (v >= 0)
        e->looks[v]++;
    if (v >= 0 && e->last[v] != NEVER)
        e->last[v] = now;
}

/* What `r` and everything inside it look at; `now` is the step of the program that it belongs to. */
static void look_through(evaluator *e, const tp_region *r, const uint32_t *top)
{
    for (uint32_t s = 0; s < r->len; s++) {
        const tp_statement *statement = &r->at[s];
        uint32_t now = top ? *top : s;
        if (statement->kind == TP_COMPUTE) {
            look(e, statement->inst->out, now);
            e->looks[statement->inst->out]--; /* it makes it */
            e->made[statement->inst->out] = statement->inst->prim == TP_P_VARIABLE ? NULL : r;
            for (uint32_t a = 0; a < statement->inst->nargs; a++)
                look(e, statement->inst->args[a], now);
            if (statement->inst->prim == TP_P_VARIABLE) /* assigned to from anywhere */
                e->last[statement->inst->out] = NEVER;
        } else {
            tp_vid all[] = {statement->value, statement->var, statement->lo, statement->hi};
            for (uint32_t a = 0; a < 4; a++)
                if (a == 0 || statement->kind == TP_LOOP || (a == 1 && statement->kind == TP_ASSIGN))
                    look(e, all[a], now);
        }
        look_through(e, &statement->test, &now);
        look_through(e, &statement->body, &now);
        look_through(e, &statement->orelse, &now);
    }
}

static void sort_by_last_use(evaluator *e)
{
    uint32_t steps = e->p->statements.len, *first = TP_NEWN(e->arena, uint32_t, steps + 1);
    for (uint32_t v = 0; v < e->p->values.len; v++)
        if (e->last[v] < steps)
            first[e->last[v] + 1]++;
    for (uint32_t s = 0; s < steps; s++)
        first[s + 1] += first[s];
    e->ndying = first[steps];
    e->dying = TP_NEWN(e->arena, tp_vid, e->ndying);
    for (uint32_t v = 0; v < e->p->values.len; v++)
        if (e->last[v] < steps)
            e->dying[first[e->last[v]]++] = (tp_vid)v;
}

void tp_find_last_uses(evaluator *e)
{
    const tp_kernel *k = e->k;
    e->last = TP_NEWN(e->arena, uint32_t, e->p->values.len);
    e->looks = TP_NEWN(e->arena, uint32_t, e->p->values.len);
    for (uint32_t i = 0; i < k->ninputs + k->noutputs; i++)
        if (e->p->operand_value[i] >= 0)
            e->last[e->p->operand_value[i]] = NEVER;
    for (uint32_t t = 0; t < k->ntables; t++)
        e->last[e->p->table_value[t]] = NEVER;
    e->made = TP_NEWN(e->arena, const tp_region *, e->p->values.len);
    look_through(e, &e->p->statements, NULL);
    sort_by_last_use(e);
}

void tp_release_after(evaluator *e, uint32_t s)
{
    for (; e->ndead < e->ndying && e->last[e->dying[e->ndead]] <= s; e->ndead++) {
        array *a = &e->values[e->dying[e->ndead]];
        if (!a->at)
            continue;
        tp_give_room(e, a->at, a->n);
        for (uint32_t p = 0; p < TP_MAX_PLANES; p++) {
            tp_give_room(e, a->room[p], a->n);
            a->room[p] = NULL;
        }
        a->at = NULL;
        a->meaning = (tp_planes){.plane = {NULL}};
    }
}
