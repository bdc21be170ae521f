/* What the formats share: order and groups. */
#include <math.h>
#include <stdlib.h>

#include "sweep/sweep.h"

typedef struct entry {
    const tp_sweep_cell *cell;
    uint32_t number;
} entry;

/* What is not known is worst. */
static double seconds_of(const tp_sweep_cell *c)
{
    return c->cost.known ? c->cost.seconds : HUGE_VAL;
}

static int64_t vmem_of(const tp_sweep_cell *c)
{
    return c->vmem < 0 ? INT64_MAX : c->vmem;
}

static int64_t bytes_of(const tp_sweep_cell *c)
{
    return c->cost.known ? c->cost.bytes : INT64_MAX;
}

static int by_cost(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (seconds_of(a->cell) != seconds_of(b->cell))
        return seconds_of(a->cell) < seconds_of(b->cell) ? -1 : 1;
    if (bytes_of(a->cell) != bytes_of(b->cell))
        return bytes_of(a->cell) < bytes_of(b->cell) ? -1 : 1;
    if (vmem_of(a->cell) != vmem_of(b->cell))
        return vmem_of(a->cell) < vmem_of(b->cell) ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Is a no worse than b in time, traffic and VMEM, and better in one of them? */
static bool dominates(const tp_sweep_cell *a, const tp_sweep_cell *b)
{
    return seconds_of(a) <= seconds_of(b) && bytes_of(a) <= bytes_of(b) && vmem_of(a) <= vmem_of(b) &&
           (seconds_of(a) < seconds_of(b) || bytes_of(a) < bytes_of(b) || vmem_of(a) < vmem_of(b));
}

/* Best first, so that only shapes before it can be better in one thing and no worse in the others; of those, the ones
 * on the list suffice. */
static void mark_pareto(tp_sweep *s)
{
    uint32_t n, kept = 0;
    const uint32_t *best = tp_sweep_best(s->arena, s, &n);
    uint32_t *list = TP_NEWN(s->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        bool dominated = !s->cells[best[i]].cost.known;
        for (uint32_t l = 0; l < kept && !dominated; l++)
            dominated = dominates(&s->cells[list[l]], &s->cells[best[i]]);
        s->cells[best[i]].pareto = !dominated;
        if (!dominated)
            list[kept++] = best[i];
    }
}

const uint32_t *tp_sweep_best(tp_arena *a, const tp_sweep *s, uint32_t *n)
{
    entry *list = TP_NEWN(a, entry, s->ncells);
    uint32_t *cells = TP_NEWN(a, uint32_t, s->ncells);
    *n = 0;
    for (uint32_t i = 0; i < s->ncells; i++)
        if (s->cells[i].said.verdict == TP_CELL_LEGAL)
            list[(*n)++] = (entry){&s->cells[i], i};
    qsort(list, *n, sizeof *list, by_cost);
    for (uint32_t i = 0; i < *n; i++)
        cells[i] = list[i].number;
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

void tp_sweep_rank(tp_sweep *s, const tp_sweep_options *o)
{
    mark_pareto(s);
    for (uint32_t i = 0; i < s->ncells; i++)
        if (s->cells[i].said.verdict != TP_CELL_LEGAL)
            group_of(s, i)->cells++;
    if (s->groups.len)
        qsort(s->groups.at, s->groups.len, sizeof *s->groups.at, by_rule);
    for (uint32_t i = 0; i < s->groups.len; i++) {
        tp_sweep_group *g = &s->groups.at[i];
        g->said = tp_sweep_lint(s, o, g->first);
        if (g->said.verdict != g->verdict) /* memory ran out for one of the two */
            g->said = s->cells[g->first].said;
    }
}
