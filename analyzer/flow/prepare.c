/* What the walk needs before it begins: a symbol for each loop and each reduction, and which values decide something.
 */
#include "analyzer/flow/internal.h"

/* Every symbol is made before the first proof. */
static void make_variables(flow *f, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        if (s->kind == TP_LOOP || s->kind == TP_WHILE)
            f->loop[s->kind == TP_LOOP ? s->var : s->value] = flow_new_variable(f, "loop", (tp_expr){0});
        if (s->kind == TP_WHILE)
            flow_make_last(f, s);
        if (f->keeps)
            flow_make_search(f, s);
        const tp_inst *inst = s->kind == TP_COMPUTE ? s->inst : NULL;
        uint32_t n = !inst ? 0 : inst->prim == TP_P_DOT ? inst->ncontract : 0;
        if (inst && (tp_prim_reduces(inst->prim) || tp_prim_scans(inst->prim)))
            n = inst->nints;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t axis = (uint32_t)inst->ints[inst->prim == TP_P_DOT ? 2 * k : k];
            tp_expr v = flow_new_variable(f, "t", f->p->values.at[inst->args[0]].dims[axis]);
            if (k == 0)
                f->reduced[inst->out] = v;
        }
        make_variables(f, &s->test);
        make_variables(f, &s->body);
        make_variables(f, &s->orelse);
    }
}

static uint32_t count_statements(const tp_region *r)
{
    uint32_t n = r->len;
    for (uint32_t i = 0; i < r->len; i++)
        n += count_statements(&r->at[i].test) + count_statements(&r->at[i].body) + count_statements(&r->at[i].orelse);
    return n;
}

static bool compares(tp_prim p)
{
    return p >= TP_P_EQ && p <= TP_P_GE;
}

static void mark_index(flow *f, const tp_access *a)
{
    for (uint32_t d = 0; a && d < f->k->operands[a->operand].ref_rank; d++)
        if (a->subs[d].kind != TP_SUB_FULL)
            f->feeds[a->subs[d].start] = true;
    if (a && a->guarded)
        f->feeds[a->mask] = true;
}

/* Backwards, until nothing changes: what masks, indices and bounds are made of. */
static bool mark_feeds(flow *f, const tp_region *r)
{
    bool changed = false;
    for (uint32_t i = r->len; i-- > 0;) {
        const tp_statement *s = &r->at[i];
        const tp_inst *inst = s->kind == TP_COMPUTE ? s->inst : NULL;
        if (s->kind == TP_LOOP)
            f->feeds[s->lo] = f->feeds[s->hi] = true;
        mark_index(f, s->access);
        mark_index(f, s->from);
        mark_index(f, s->semaphore);
        mark_index(f, inst ? inst->access : NULL);
        if (inst && inst->access && f->feeds[inst->out])
            f->kept_feeds[inst->access->operand] = true;
        if (s->kind == TP_PUT && flow_keeps(f, s) && f->kept_feeds[s->access->operand] && !f->feeds[s->value])
            changed = f->feeds[s->value] = true;
        for (uint32_t k = 0; inst && inst->prim == TP_P_READ && k < inst->nargs; k++)
            f->feeds[inst->args[k]] = true;
        if (inst && inst->prim == TP_P_TAKE)
            f->feeds[inst->args[1]] = true;
        if (s->kind == TP_ASSIGN && f->feeds[s->var] && !f->feeds[s->value])
            changed = f->feeds[s->value] = true;
        for (uint32_t k = 0; inst && (f->feeds[inst->out] || compares(inst->prim)) && k < inst->nargs; k++)
            if (!f->feeds[inst->args[k]])
                changed = f->feeds[inst->args[k]] = true;
        changed |= mark_feeds(f, &s->body);
        changed |= mark_feeds(f, &s->orelse);
        changed |= mark_feeds(f, &s->test);
    }
    return changed;
}

/* Where sizes and all tables are given, a run says more than conditions over many of their entries. */
static bool is_one_case(const flow *f)
{
    bool given = !f->a->nsizes && f->k->ntables;
    for (uint32_t i = 0; i < f->k->ntables && given; i++)
        given = f->k->tables[i].contents != NULL;
    return given;
}

void flow_prepare(flow *f)
{
    f->tests = !is_one_case(f);
    for (uint32_t d = 0; d < TP_MAX_RANK; d++)
        f->out->lane[d] = tp_sym_new(f->a->p, tp_printf(f->a->arena, "lane%u", d));
    flow_make_kept(f);
    f->kept_feeds = TP_NEWN(f->a->arena, bool, tp_noperands(f->k));
    while (mark_feeds(f, &f->p->statements)) {
    }
    flow_find_bounded(f);
    flow_make_carried(f, &f->p->statements); /* before the loops, whose ranges may speak of them */
    make_variables(f, &f->p->statements);
    for (uint32_t i = 0; i < f->out->kept.len; i++) {
        tp_kept *k = &f->out->kept.at[i];
        if (k->loop)
            k->turn = f->loop[k->loop->kind == TP_LOOP ? k->loop->var : k->loop->value];
        if (k->loop && k->loop->kind == TP_WHILE)
            flow_make_last_kept(f, k);
        if (!k->loop)
            tp_push(f->a->arena, f->variables, flow_kept_value(f, i));
    }
    f->most_work = FLOW_LEAST_WORK + (FLOW_WALKS + flow_kept_work(f)) * count_statements(&f->p->statements);
}
