/* VMEM while a step runs: which buffers are there from each `with` of the body on, and from the end of each. */
#include "analyzer/claim/claim.h"
#include "cost/internal.h"

typedef struct life {
    tp_analysis *a;
    tp_vmem_life *x;
    tp_expr *bytes;  /* by operand, of all its buffers; id 0: it is not in VMEM */
    uint32_t *alive; /* scratch of `with`, as it began */
    uint32_t nalive;
} life;

/* From here on. */
static void add_moment(life *l, uint32_t line, bool ends)
{
    tp_vmem_moment m = {.line = line, .ends = ends, .nalive = l->nalive, .bytes = l->x->lasting};
    m.alive = TP_NEWN(l->a->arena, uint32_t, l->nalive + 1);
    for (uint32_t i = 0; i < l->nalive; i++) {
        m.alive[i] = l->alive[i];
        m.bytes = mk(l->a, TP_E_ADD, m.bytes, l->bytes[l->alive[i]]);
    }
    tp_push(l->a->arena, l->x->moments, m);
}

static void follow(life *l, const tp_region *r)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        uint32_t before = l->nalive;
        for (uint32_t o = s->scope.first; s->kind == TP_ENTER && o < s->scope.first + s->scope.n; o++)
            if (l->bytes[o].id)
                l->alive[l->nalive++] = o;
        for (uint32_t o = s->scope.first; s->kind == TP_LEAVE && o < s->scope.first + s->scope.n; o++)
            l->nalive -= l->bytes[o].id != 0; /* those that began last end first */
        if (l->nalive != before)
            add_moment(l, s->syntax->number, s->kind == TP_LEAVE);
        follow(l, &s->test);
        follow(l, &s->body);
        follow(l, &s->orelse);
    }
}

tp_vmem_life tp_vmem_life_of(tp_arena *arena, const tp_kernel *k)
{
    tp_kernel there = *k; /* where no chip is named, tiles are those of most */
    tp_analysis a = {.arena = arena, .work = arena, .k = &there, .p = k->exprs};
    tp_vmem_life x = {.lasting = num(&a, 0)};
    life l = {&a, &x, TP_NEWN(arena, tp_expr, tp_noperands(k) + 1), TP_NEWN(arena, uint32_t, tp_noperands(k) + 1), 0};
    there.target.generation = tp_early_generation(&k->target) ? 3 : 4;
    tp_vmem_sum s = tp_vmem_add_up(&a);
    for (uint32_t i = 0; i < s.operands.len; i++) {
        const tp_operand *o = s.operands.at[i];
        tp_vmem_buffer b = {o, (uint32_t)tp_pipeline_buffers(k, o), s.bytes.at[i]};
        tp_expr all = b.buffers == 1 ? b.bytes : mk(&a, TP_E_MUL, num(&a, b.buffers), b.bytes);
        tp_push(arena, x.buffers, b);
        l.bytes[o - k->operands] = all;
        if (!o->scoped)
            x.lasting = mk(&a, TP_E_ADD, x.lasting, all);
    }
    add_moment(&l, 0, false);
    if (k->body)
        follow(&l, &k->body->statements);
    return x;
}
