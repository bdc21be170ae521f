/* Which conditions a body has, and the branches that lead to them. */
#include "kernels/machine/coverage.h"
#include "kernels/trial/conditions.h"

enum { MOST_CONDITIONS = 48, MOST_DETAILS = 48 };

typedef struct tp_guard guard;

/* Where the body looks at an operand. */
typedef struct access_at {
    uint32_t operand;
    const guard *guards;
} access_at;

typedef struct collector {
    tp_arena *arena;
    tp_conditions *out;
    const tp_program *p;
    TP_VEC(access_at) accesses;
} collector;

static const guard *new_guard(collector *c, guard g)
{
    guard *r = TP_NEW(c->arena, guard);
    *r = g;
    return r;
}

static void add_condition(collector *c, tp_condition x)
{
    for (uint32_t i = 0; i < c->out->list.len; i++) {
        const tp_condition *y = &c->out->list.at[i];
        if (y->value == x.value && tp_same(y->arm, x.arm) && y->guards == x.guards)
            return;
    }
    if (c->out->list.len < MOST_CONDITIONS + (x.detail ? MOST_DETAILS : 0))
        tp_push(c->arena, c->out->list, x);
}

static void add_value(collector *c, tp_vid v, const guard *guards)
{
    add_condition(c, (tp_condition){.value = v, .guards = guards, .lanes = c->p->values.at[v].rank ? v : -1});
}

static bool is_logical(const tp_inst *i)
{
    return i && (i->prim == TP_P_AND || i->prim == TP_P_OR);
}

/* Each side of a conjunction while the other one is true, of a disjunction while it is false: it alone decides. */
static void add_parts(collector *c, tp_vid v, const guard *guards)
{
    const tp_inst *i = c->out->made[v];
    if (i && (i->prim == TP_P_INVERT || i->prim == TP_P_BROADCAST))
        add_parts(c, i->args[0], guards);
    for (uint32_t a = 0; is_logical(i) && c->p->values.at[v].dtype == TP_BOOL && a < 2; a++) {
        tp_vid side = i->args[a];
        const guard *other = new_guard(c, (guard){i->args[!a], i->prim == TP_P_AND, -1, guards});
        if (!is_logical(c->out->made[side]))
            add_condition(c, (tp_condition){.value = side,
                                            .detail = true,
                                            .guards = other,
                                            .lanes = c->p->values.at[side].rank ? side : -1});
        add_parts(c, side, other);
    }
}

static void note_access(collector *c, const tp_access *a, const guard *guards)
{
    for (uint32_t i = 0; a && i < c->accesses.len; i++)
        if (c->accesses.at[i].operand == a->operand && c->accesses.at[i].guards == guards)
            return;
    if (a)
        tp_push(c->arena, c->accesses, ((access_at){a->operand, guards}));
}

static void add_arms(collector *c, tp_expr e, const guard *guards)
{
    const tp_exprs *pool = c->out->kernel->exprs;
    if (!e.id || tp_expr_size(pool, e) > TP_ARMS_SIZE)
        return;
    const tp_expr_node n = *tp_expr_get(pool, e);
    if (n.op == TP_E_MIN || n.op == TP_E_MAX)
        add_condition(c, (tp_condition){.value = -1, .arm = e, .detail = true, .guards = guards, .lanes = -1});
    add_arms(c, n.a, guards);
    add_arms(c, n.b, guards);
    add_arms(c, n.c, guards);
}

static void collect(collector *c, const tp_region *r, const guard *guards)
{
    for (uint32_t n = 0; n < r->len; n++) {
        const tp_statement *s = &r->at[n];
        const guard *inside = guards;
        if (s->kind == TP_COMPUTE) {
            c->out->made[s->inst->out] = s->inst;
            note_access(c, s->inst->access, guards);
            if (s->inst->prim == TP_P_WHERE || s->inst->prim == TP_P_MASKED_LOAD)
                add_value(c, s->inst->args[0], guards);
        } else if (s->kind == TP_PUT) {
            note_access(c, s->access, guards);
        } else if (s->kind == TP_IF) {
            add_value(c, s->value, guards);
            inside = new_guard(c, (guard){s->value, true, -1, guards});
        } else if (s->kind == TP_LOOP) {
            c->out->loops[s->var] = s;
            inside = new_guard(c, (guard){-1, true, s->var, guards});
        }
        collect(c, &s->test, guards);
        collect(c, &s->body, inside);
        if (s->orelse.len)
            collect(c, &s->orelse, new_guard(c, (guard){s->value, false, -1, guards}));
    }
}

tp_conditions tp_conditions_of(tp_arena *a, const tp_kernel *k)
{
    uint32_t n = k->body->values.len + 1;
    tp_conditions out = {
        .kernel = k, .made = TP_NEWN(a, const tp_inst *, n), .loops = TP_NEWN(a, const tp_statement *, n)};
    collector c = {.arena = a, .out = &out, .p = k->body};
    collect(&c, &k->body->statements, NULL);
    for (uint32_t i = 0, whole = out.list.len; i < whole; i++)
        add_parts(&c, out.list.at[i].value, out.list.at[i].guards);
    for (uint32_t i = 0; i < k->naxes; i++)
        add_arms(&c, k->axes[i].steps, NULL);
    for (uint32_t i = 0; i < c.accesses.len; i++) {
        const tp_operand *o = &k->operands[c.accesses.at[i].operand];
        for (uint32_t d = 0; d < o->rank; d++)
            add_arms(&c, o->dims[d].index, c.accesses.at[i].guards);
    }
    return out;
}
