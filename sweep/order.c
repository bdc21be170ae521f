/* What the formats share: order and groups. */
#include <stdlib.h>

#include "sweep/sweep.h"

typedef struct entry {
    int64_t vmem;
    uint32_t cell;
} entry;

static int by_cost(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->vmem != b->vmem)
        return a->vmem < b->vmem ? -1 : 1;
    return a->cell < b->cell ? -1 : a->cell > b->cell;
}

const uint32_t *tp_sweep_best(tp_arena *a, const tp_sweep *s, uint32_t *n)
{
    entry *list = TP_NEWN(a, entry, s->ncells);
    uint32_t *cells = TP_NEWN(a, uint32_t, s->ncells);
    *n = 0;
    for (uint32_t i = 0; i < s->ncells; i++)
        if (s->cells[i].said.verdict == TP_CELL_LEGAL)
            list[(*n)++] = (entry){s->cells[i].vmem < 0 ? INT64_MAX : s->cells[i].vmem, i};
    qsort(list, *n, sizeof *list, by_cost);
    for (uint32_t i = 0; i < *n; i++)
        cells[i] = list[i].cell;
    return cells;
}

uint32_t tp_sweep_count(const tp_sweep *s, tp_sweep_verdict v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->ncells; i++)
        n += s->cells[i].said.verdict == v;
    return n;
}

static tp_sweep_group *group_of(tp_sweep *s, uint32_t cell)
{
    const tp_sweep_opinion *o = &s->cells[cell].said;
    const char *rule = o->nrules ? o->rules[0] : "";
    for (uint32_t i = 0; i < s->groups.len; i++)
        if (s->groups.at[i].verdict == o->verdict && strcmp(s->groups.at[i].rule, rule) == 0)
            return &s->groups.at[i];
    tp_push(s->arena, s->groups, (tp_sweep_group){.rule = rule, .verdict = o->verdict, .first = cell});
    return &s->groups.at[s->groups.len - 1];
}

static int by_rule(const void *x, const void *y)
{
    const tp_sweep_group *a = x, *b = y;
    if (a->verdict != b->verdict)
        return a->verdict == TP_CELL_FORBIDDEN ? -1 : 1;
    return strcmp(a->rule, b->rule);
}

void tp_sweep_group_cells(tp_sweep *s, const tp_sweep_options *o)
{
    for (uint32_t i = 0; i < s->ncells; i++)
        if (s->cells[i].said.verdict != TP_CELL_LEGAL)
            group_of(s, i)->cells++;
    if (s->groups.len)
        qsort(s->groups.at, s->groups.len, sizeof *s->groups.at, by_rule);
    for (uint32_t i = 0; i < s->groups.len; i++)
        s->groups.at[i].said = tp_sweep_lint(s, o, s->groups.at[i].first);
}
