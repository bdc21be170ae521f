#include "analyzer/claim/windows.h"

#include "analyzer/claim/claim.h"

typedef struct translation {
    tp_analysis *a;
    const tp_kernel *from;
    bool failed;
    tp_str unknown; /* the name that means nothing here */
} translation;

/* A symbol of the other kernel. */
static uint32_t symbol(translation *t, uint32_t sym)
{
    const tp_kernel *k = t->a->k;
    tp_str name = tp_sym_name(t->from->exprs, sym);
    for (uint32_t i = 0; i < t->from->naxes && i < k->naxes; i++)
        if (t->from->axes[i].sym == sym)
            return k->axes[i].sym;
    const tp_size *s = tp_size_find(k, name);
    if (s && tp_is_open_size(s))
        return s->sym;
    int table = tp_table_find(k, name);
    if (table >= 0)
        return k->tables[table].sym;
    t->failed = true;
    t->unknown = name;
    return 0;
}

static tp_expr translate(translation *t, tp_expr e)
{
    if (!e.id || t->failed)
        return (tp_expr){0};
    const tp_expr_node n = *tp_expr_get(t->from->exprs, e);
    tp_exprs *p = t->a->p;
    switch (n.op) {
    case TP_E_CONST: return tp_const(p, n.value);
    case TP_E_SYM: {
        uint32_t sym = symbol(t, (uint32_t)n.value);
        return t->failed ? (tp_expr){0} : tp_sym(p, sym);
    }
    case TP_E_NEG:
    case TP_E_NOT:
    case TP_E_POW2: {
        tp_expr x = translate(t, n.a);
        return t->failed ? (tp_expr){0} : tp_op1(p, n.op, x);
    }
    case TP_E_ITE:
    case TP_E_READ: {
        tp_expr at[TP_TABLE_RANK] = {translate(t, n.a), translate(t, n.b), translate(t, n.c)};
        uint32_t sym = n.op == TP_E_READ ? symbol(t, (uint32_t)n.value) : 0;
        if (t->failed)
            return (tp_expr){0};
        return n.op == TP_E_ITE ? tp_ite(p, at[0], at[1], at[2])
                                : tp_read(p, sym,
                                          n.c.id   ? 3
                                          : n.b.id ? 2
                                          : n.a.id ? 1
                                                   : 0,
                                          at);
    }
    case TP_E_TOO_LARGE: return (tp_expr){TP_TOO_LARGE};
    case TP_E_ADD:
    case TP_E_SUB:
    case TP_E_MUL:
    case TP_E_AND:
    case TP_E_OR:
    case TP_E_IMPLIES:
    case TP_E_DIVISIONS:
    case TP_E_EXTREMES:
    case TP_E_COMPARISONS:
    case TP_E_BITS: {
        tp_expr x = translate(t, n.a), y = translate(t, n.b);
        return t->failed ? (tp_expr){0} : tp_op2(p, n.op, x, y);
    }
    }
    return (tp_expr){0};
}

static tp_expr agree(translation *t, tp_expr all, tp_expr ours, tp_expr theirs)
{
    tp_expr other = translate(t, theirs);
    return t->failed ? all : both(t->a, all, mk(t->a, TP_E_EQ, ours, other));
}

tp_same_result tp_same_windows(tp_arena *arena, const tp_analysis_options *o, const tp_kernel *k, const tp_operand *x,
                               const tp_kernel *other, const tp_operand *y)
{
    tp_same_result r = {.same = TP_DIFFERENT_WINDOWS};
    if (x->rank != y->rank || x->whole != y->whole || k->naxes != other->naxes)
        return r;
    for (uint32_t d = 0; d < x->rank && !x->whole; d++)
        if (x->dims[d].kind != y->dims[d].kind)
            return r;
    tp_analysis *a = tp_analysis_begin(arena, k, o);
    tp_analysis_result out = {0};
    a->out = &out;
    translation t = {.a = a, .from = other};
    tp_claim c = {.goal = num(a, 1), .over_steps = true};
    for (uint32_t i = 0; i < k->naxes; i++)
        c.goal = agree(&t, c.goal, k->axes[i].steps, other->axes[i].steps);
    for (uint32_t d = 0; d < x->rank; d++) {
        c.goal = agree(&t, c.goal, x->shape[d], y->shape[d]);
        if (x->whole)
            continue;
        c.goal = agree(&t, c.goal, x->dims[d].block, y->dims[d].block);
        c.goal = agree(&t, c.goal, x->dims[d].index, y->dims[d].index);
        if (x->dims[d].kind == TP_DIM_ELEMENT)
            c.goal = agree(&t, c.goal, x->dims[d].pad_lo, y->dims[d].pad_lo);
    }
    if (t.failed) {
        r = (tp_same_result){TP_NOT_TOLD, NULL,
                             tp_printf(arena, "`%.*s` means nothing in the old spec", TP_FMT(t.unknown))};
    } else {
        tp_decision d = tp_claim_decide(a, &c);
        r.same = d.verdict == TP_PROVEN ? TP_SAME : d.verdict == TP_VIOLATED ? TP_DIFFERENT_WINDOWS : TP_NOT_TOLD;
        r.reason = d.verdict == TP_UNKNOWN ? tp_printf(arena, "%.*s", TP_FMT(d.reason)) : (tp_str){NULL, 0};
        if (d.verdict == TP_VIOLATED && d.env)
            r.witness = tp_make_witness(a, &c, d.env);
    }
    tp_analysis_end(a);
    return r;
}
