/* What a body computes: each of its regions, how often it is executed, and what
 * one execution costs. */
#include "cost/internal.h"

typedef struct reader {
    tp_cost *c;
    const tp_program *p;
    const tp_inst **from; /* by value: the instruction that computes it */
    uint32_t *loop;       /* by value: 1 + symbol of the loop that it counts; 0: none */
} reader;

/* ---- integers of the body over sizes, axes and turns ---- */

static tp_expr meaning_of(reader *r, tp_vid v, tp_str *why);

static tp_expr no_meaning(reader *r, const char *what, tp_str *why)
{
    if (!why->n)
        *why = tp_printf(r->c->arena, "%s", what);
    return (tp_expr){0};
}

static tp_expr meaning_of_inst(reader *r, const tp_inst *i, tp_str *why)
{
    tp_expr arg[TP_TABLE_RANK] = {{0}};
    tp_expr_op op = tp_prim_expr(i->prim);
    tp_dtype d = r->p->values.at[i->out].dtype;
    if (i->prim == TP_P_LOAD || i->prim == TP_P_MASKED_LOAD)
        return no_meaning(r, "it depends on the data", why);
    bool moves =
        i->prim == TP_P_CAST && (d == TP_I32 || d == TP_BOOL) && !tp_is_float(r->p->values.at[i->args[0]].dtype);
    if ((i->prim != TP_P_READ && op == TP_E_CONST && !moves && i->prim != TP_P_WHERE && i->prim != TP_P_AND &&
         i->prim != TP_P_OR && i->prim != TP_P_INVERT) ||
        i->nargs > TP_TABLE_RANK)
        return no_meaning(r, "it is computed by what is not followed", why);
    for (uint32_t a = 0; a < i->nargs; a++)
        if (!(arg[a] = meaning_of(r, i->args[a], why)).id)
            return arg[a];
    tp_exprs *p = r->c->p;
    bool logical = d == TP_BOOL;
    if (i->prim == TP_P_READ)
        return tp_read(p, r->c->k->tables[i->integer].sym, i->nargs, arg);
    if (moves)
        return d == TP_BOOL && r->p->values.at[i->args[0]].dtype != TP_BOOL ? tp_op2(p, TP_E_NE, arg[0], tp_const(p, 0))
                                                                            : arg[0];
    if (i->prim == TP_P_WHERE)
        return tp_ite(p, arg[0], arg[1], arg[2]);
    if (i->prim == TP_P_INVERT)
        return logical ? tp_op1(p, TP_E_NOT, arg[0]) : no_meaning(r, "it is computed by what is not followed", why);
    if (logical && (i->prim == TP_P_AND || i->prim == TP_P_OR))
        return tp_op2(p, i->prim == TP_P_AND ? TP_E_AND : TP_E_OR, arg[0], arg[1]);
    if (op == TP_E_CONST)
        return no_meaning(r, "it is computed by what is not followed", why);
    return i->nargs == 1 ? tp_op1(p, op, arg[0]) : tp_op2(p, op, arg[0], arg[1]);
}

/* Of an integer scalar; id 0 with *why: nobody can tell before the kernel runs. */
static tp_expr meaning_of(reader *r, tp_vid v, tp_str *why)
{
    const tp_value *x = &r->p->values.at[v];
    if (x->meaning.id)
        return x->meaning;
    if (r->loop[v])
        return tp_sym(r->c->p, r->loop[v] - 1);
    if (x->rank || tp_is_float(x->dtype))
        return no_meaning(r, "it depends on the data", why);
    if (x->variable)
        return no_meaning(r, "it is a variable that statements change", why);
    if (!r->from[v])
        return no_meaning(r, "it is computed by what is not followed", why);
    return meaning_of_inst(r, r->from[v], why);
}

/* ---- operations ---- */

static tp_expr op(const reader *r, tp_expr_op o, tp_expr a, tp_expr b)
{
    return tp_cost_op(r->c, o, a, b);
}

static tp_expr elements(const reader *r, tp_vid v)
{
    const tp_value *x = &r->p->values.at[v];
    tp_expr n = tp_cost_num(r->c, 1);
    for (uint32_t d = 0; d < x->rank; d++)
        n = op(r, TP_E_MUL, n, x->dims[d]);
    return n;
}

static tp_peak peak_of(const tp_program *p, const tp_inst *i)
{
    tp_dtype wide = TP_NO_DTYPE;
    for (uint32_t a = 0; a < 2; a++) {
        tp_dtype d = p->values.at[i->args[a]].dtype;
        if (a == 0 || tp_dtype_info(d)->bits > tp_dtype_info(wide)->bits)
            wide = d;
    }
    int bits = tp_dtype_info(wide)->bits;
    if (tp_is_float(wide))
        return bits > 16 ? TP_PEAK_F32 : bits > 8 ? TP_PEAK_BF16 : TP_PEAK_FP8;
    return bits > 8 ? TP_PEAK_F32 : bits > 4 ? TP_PEAK_INT8 : TP_PEAK_INT4;
}

tp_dot tp_cost_dot(tp_cost *c, const tp_program *p, const tp_inst *i)
{
    tp_expr one = tp_cost_num(c, 1), free[] = {one, one};
    tp_dot x = {.peak = peak_of(p, i), .batch = one, .k = one};
    for (uint32_t a = 0; a < 2; a++) {
        const tp_value *v = &p->values.at[i->args[a]];
        for (uint32_t d = 0; d < v->rank; d++) {
            uint32_t pair = 0;
            while (pair < i->ncontract + i->nbatch && i->ints[2 * pair + a] != d)
                pair++;
            tp_expr *into = pair == i->ncontract + i->nbatch ? &free[a]
                            : a                              ? NULL
                            : pair < i->ncontract            ? &x.k
                                                             : &x.batch;
            if (into)
                *into = tp_cost_op(c, TP_E_MUL, *into, v->dims[d]);
        }
    }
    x.m = free[0];
    x.n = free[1];
    return x;
}

static void add(const reader *r, uint32_t context, int which, tp_expr n)
{
    tp_expr *to = &r->c->body.contexts.at[context].per[which];
    *to = to->id ? op(r, TP_E_ADD, *to, n) : n;
}

static void add_inst(reader *r, const tp_inst *i, uint32_t context)
{
    tp_body_cost *b = &r->c->body;
    if (i->out >= 0)
        r->from[i->out] = i;
    if (i->prim == TP_P_DOT) {
        tp_dot x = tp_cost_dot(r->c, r->p, i);
        x.context = context;
        tp_expr n = op(r, TP_E_MUL, op(r, TP_E_MUL, op(r, TP_E_MUL, tp_cost_num(r->c, 2), x.batch), x.m),
                       op(r, TP_E_MUL, x.k, x.n));
        tp_push(r->c->arena, b->dots, x);
        add(r, context, TP_OP_FLOPS, n);
        add(r, context, TP_OP_DOT, n);
        return;
    }
    if (tp_prim_transcendental(i->prim))
        add(r, context, TP_OP_TRANSCENDENTAL, elements(r, i->out));
    if (!i->nargs || !tp_is_float(r->p->values.at[i->args[0]].dtype))
        return;
    if (tp_prim_reduces(i->prim))
        add(r, context, TP_OP_FLOPS, elements(r, i->args[0]));
    else if (tp_prim_is_elementwise(i->prim))
        add(r, context, TP_OP_FLOPS, elements(r, i->out));
}

/* ---- regions ---- */

static void walk(reader *r, const tp_region *region, uint32_t context);

static tp_str text_of(const reader *r, const tp_statement *s, tp_str why)
{
    return tp_printf(r->c->arena, "line %u of the body: %.*s", s->syntax->number, TP_FMT(why));
}

static uint32_t new_context(reader *r, uint32_t parent, tp_str opaque)
{
    tp_context x = {.opaque = r->c->body.contexts.at[parent].opaque};
    const tp_sum *s = &r->c->body.contexts.at[parent].executions.sum;
    for (uint32_t v = 0; v < s->over.len; v++)
        tp_push(r->c->arena, x.executions.sum.over, s->over.at[v]);
    for (uint32_t f = 0; f < s->factors.len; f++)
        tp_push(r->c->arena, x.executions.sum.factors, s->factors.at[f]);
    if (!x.opaque.n)
        x.opaque = opaque;
    tp_push(r->c->arena, r->c->body.contexts, x);
    return r->c->body.contexts.len - 1;
}

static void walk_branch(reader *r, const tp_statement *s, uint32_t context)
{
    tp_str why = {NULL, 0};
    tp_expr cond = meaning_of(r, s->value, &why);
    for (int way = 1; way >= 0; way--) {
        const tp_region *region = way ? &s->body : &s->orelse;
        if (!region->len)
            continue;
        uint32_t x = new_context(r, context, cond.id ? (tp_str){NULL, 0} : text_of(r, s, why));
        if (cond.id)
            tp_push(r->c->arena, r->c->body.contexts.at[x].executions.sum.factors,
                    way ? cond : tp_op1(r->c->p, TP_E_NOT, cond));
        walk(r, region, x);
    }
}

static void walk_loop(reader *r, const tp_statement *s, uint32_t context)
{
    tp_str why = {NULL, 0};
    tp_expr lo = meaning_of(r, s->lo, &why), hi = lo.id ? meaning_of(r, s->hi, &why) : lo;
    uint32_t x = new_context(r, context, hi.id ? (tp_str){NULL, 0} : text_of(r, s, why));
    if (hi.id) {
        tp_expr turn = tp_sym_new(r->c->p, TP_S("turn"));
        uint32_t sym = (uint32_t)tp_expr_get(r->c->p, turn)->value;
        r->loop[s->var] = 1 + sym;
        tp_push(r->c->arena, r->c->body.contexts.at[x].executions.sum.over, (tp_range){sym, lo, hi, s->by, false});
    }
    walk(r, &s->body, x);
}

/* A copy between an array without windows and elsewhere; a load or a store of it is half of one. */
static tp_transfer transfer_of(reader *r, const tp_access *moved, bool in, uint32_t context)
{
    const tp_operand *from = &r->c->k->operands[moved->operand];
    tp_transfer t = {.context = context, .operand = moved->operand, .in = in};
    tp_sum *sums[] = {&t.executions.sum, &t.elements.sum};
    const tp_sum *parent = &r->c->body.contexts.at[context].executions.sum;
    for (int i = 0; i < 2; i++) {
        for (uint32_t v = 0; v < parent->over.len; v++)
            tp_push(r->c->arena, sums[i]->over, parent->over.at[v]);
        for (uint32_t f = 0; f < parent->factors.len; f++)
            tp_push(r->c->arena, sums[i]->factors, parent->factors.at[f]);
    }
    for (uint32_t d = 0; d < from->ref_rank; d++) {
        const tp_subscript *sub = &moved->subs[d];
        if (sub->kind != TP_SUB_INT)
            tp_push(r->c->arena, t.elements.sum.factors, sub->kind == TP_SUB_FULL ? from->ref_shape[d] : sub->size);
    }
    return t;
}

static void add_transfer(reader *r, const tp_access *moved, bool in, uint32_t context)
{
    if (tp_is_far(&r->c->k->operands[moved->operand]))
        tp_push(r->c->arena, r->c->body.transfers, transfer_of(r, moved, in, context));
}

static void walk(reader *r, const tp_region *region, uint32_t context)
{
    for (uint32_t n = 0; n < region->len; n++) {
        const tp_statement *s = &region->at[n];
        switch (s->kind) {
        case TP_COMPUTE:
            add_inst(r, s->inst, context);
            if (s->inst->access)
                add_transfer(r, s->inst->access, true, context);
            break;
        case TP_IF: walk_branch(r, s, context); break;
        case TP_LOOP: walk_loop(r, s, context); break;
        case TP_WHILE: {
            uint32_t x = new_context(r, context, text_of(r, s, TP_S("nobody knows how often it turns")));
            walk(r, &s->test, x);
            walk(r, &s->body, x);
            break;
        }
        case TP_COPY_START:
            if (s->arrival)
                tp_push(r->c->arena, r->c->body.links, transfer_of(r, s->access, false, context));
            add_transfer(r, s->access, false, context);
            break;
        case TP_PUT: add_transfer(r, s->access, false, context); break;
        case TP_ASSIGN:
        case TP_COPY_WAIT:
        case TP_SIGNAL:
        case TP_AWAIT:
        case TP_ENTER:
        case TP_LEAVE:
        case TP_ASSERT: break;
        }
    }
}

static void find_forms(tp_cost *c)
{
    for (uint32_t i = 0; i < c->body.contexts.len; i++) {
        tp_context *x = &c->body.contexts.at[i];
        x->executions.form = x->opaque.n ? (tp_form){.why = x->opaque} : tp_sum_form(c, &x->executions.sum);
    }
    for (uint32_t i = 0; i < c->body.transfers.len; i++) {
        tp_transfer *t = &c->body.transfers.at[i];
        tp_str opaque = c->body.contexts.at[t->context].opaque;
        t->executions.form = opaque.n ? (tp_form){.why = opaque} : tp_sum_form(c, &t->executions.sum);
        t->elements.form = opaque.n ? (tp_form){.why = opaque} : tp_sum_form(c, &t->elements.sum);
    }
    for (uint32_t i = 0; i < c->body.links.len; i++) {
        tp_transfer *t = &c->body.links.at[i];
        tp_str opaque = c->body.contexts.at[t->context].opaque;
        t->executions.form = opaque.n ? (tp_form){.why = opaque} : tp_sum_form(c, &t->executions.sum);
        t->elements.form = opaque.n ? (tp_form){.why = opaque} : tp_sum_form(c, &t->elements.sum);
    }
}

void tp_cost_body(tp_cost *c)
{
    const tp_program *p = c->k->body;
    if (!p)
        return;
    reader r = {c, p, TP_NEWN(c->arena, const tp_inst *, p->values.len), TP_NEWN(c->arena, uint32_t, p->values.len)};
    tp_context all = {.opaque = {NULL, 0}};
    for (uint32_t a = 0; a < c->k->naxes; a++)
        tp_push(c->arena, all.executions.sum.over,
                (tp_range){c->k->axes[a].sym, tp_cost_num(c, 0), c->k->axes[a].steps, 1, true});
    tp_push(c->arena, c->body.contexts, all);
    walk(&r, &p->statements, 0);
    find_forms(c);
}
