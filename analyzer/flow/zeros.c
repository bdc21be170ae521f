/* Where values are 0: there a product is defined whatever the other factor is, if that is bounded (spec/bounded.c).
 * Told of masks and of what `where` chooses by them. */
#include "analyzer/flow/internal.h"

static bool multiplies(const tp_inst *i)
{
    return i->prim == TP_P_MUL || i->prim == TP_P_DOT;
}

static bool mark(flow *f, tp_vid v)
{
    bool is_new = !f->settles[v];
    f->settles[v] = true;
    return is_new;
}

static bool mark_arguments(const tp_statement *s, void *ctx)
{
    flow *f = ctx;
    bool found = false;
    const tp_inst *i = tp_computed(s);
    if (s->kind == TP_ASSIGN && f->settles[s->var])
        found |= mark(f, s->value);
    for (uint32_t a = 0; i && a < 2 && multiplies(i); a++)
        if (f->bounded[i->args[1 - a]])
            found |= mark(f, i->args[a]);
    for (uint32_t a = 0; i && a < i->nargs && f->settles[i->out]; a++)
        found |= mark(f, i->args[a]);
    return found;
}

void flow_find_bounded(flow *f)
{
    f->bounded = tp_bounded_values(f->a->arena, f->a->p, f->p);
    f->settles = TP_NEWN(f->a->arena, bool, f->p->values.len + 1);
    tp_region_settle(&f->p->statements, mark_arguments, f);
}

/* Guards of which the first may be missing: nowhere. */
static tp_expr any_of(flow *f, tp_expr a, tp_expr b)
{
    return !a.id ? b : !b.id ? a : flow_or(f, a, b);
}

static tp_expr all_of(flow *f, tp_expr a, tp_expr b)
{
    return a.id && b.id ? flow_and(f, a, b) : (tp_expr){0};
}

/* Integers without a dtype are no instructions. */
static tp_expr zero_at(flow *f, tp_vid v)
{
    const tp_value *x = &f->p->values.at[v];
    int64_t number;
    bool written = x->dtype == TP_WEAK_INT && tp_expr_is_const(f->a->p, x->meaning, &number) && number == 0;
    return written ? flow_yes(f) : f->now.values[v].zero;
}

/* Where c is false, defined, the second arm is chosen. */
static tp_expr of_choice(flow *f, const flow_value *c, tp_expr a, tp_expr b)
{
    tp_expr zero = all_of(f, c->zero, b);
    if (c->leaks.len)
        return zero;
    if (c->meaning.id && a.id)
        zero = any_of(f, zero, flow_and(f, flow_guard(f, c->meaning, false), a));
    return any_of(f, zero, all_of(f, a, b));
}

/* The other factor is defined there, and a float that may be infinite is none. */
static tp_expr of_factor(flow *f, const tp_inst *i, uint32_t arg)
{
    return f->bounded[i->args[1 - arg]] ? zero_at(f, i->args[arg]) : (tp_expr){0};
}

static tp_expr of_inst(flow *f, const tp_inst *i)
{
    tp_expr a = i->nargs ? zero_at(f, i->args[0]) : (tp_expr){0}, b = i->nargs > 1 ? zero_at(f, i->args[1]) : a;
    bool logical = f->p->values.at[i->out].dtype == TP_BOOL;
    if (i->prim == TP_P_LITERAL)
        return i->real == 0 ? flow_yes(f) : (tp_expr){0};
    if (i->prim == TP_P_WHERE)
        return of_choice(f, &f->now.values[i->args[0]], b, zero_at(f, i->args[2]));
    if (i->prim == TP_P_MUL)
        return any_of(f, of_factor(f, i, 0), of_factor(f, i, 1));
    if (i->prim == TP_P_AND && logical)
        return any_of(f, a, b);
    if (i->prim == TP_P_OR && logical)
        return all_of(f, a, b);
    return i->prim == TP_P_CAST ? a : (tp_expr){0};
}

tp_expr flow_zero_of(flow *f, const tp_inst *i)
{
    enum { LARGE = 200 };
    const flow_value *out = &f->now.values[i->out];
    tp_exprs *p = f->a->p;
    if (i->out < 0 || !f->settles[i->out] || f->noting)
        return (tp_expr){0};
    bool moves = tp_prim_info(i->prim)->class == TP_CLASS_MOVE;
    tp_expr zero = !moves                                       ? of_inst(f, i)
                   : i->prim == TP_P_BROADCAST && !out->zero.id ? zero_at(f, i->args[0])
                                                                : out->zero;
    if (out->meaning.id && !out->leaks.len) {
        bool truth = f->p->values.at[i->out].dtype == TP_BOOL;
        tp_expr is = truth ? flow_guard(f, out->meaning, true) : flow_compare(f, TP_E_EQ, out->meaning, tp_const(p, 0));
        zero = any_of(f, zero, is);
    }
    bool none = zero.id && (flow_is_false(f, zero) || tp_expr_size(p, zero) > LARGE || flow_speaks_of_kept(f, zero));
    return none ? (tp_expr){0} : zero;
}

void flow_join_factor(flow *f, flow_value *out, const tp_inst *i, uint32_t arg, const tp_leaks *leaks,
                      const tp_expr *with, const flow_value *other, const tp_expr *with_other)
{
    tp_expr open = flow_yes(f);
    tp_leaks others = {0};
    if (!f->bounded[i->args[arg]]) {
        flow_join(f, &out->leaks, leaks, open, with, true);
        return;
    }
    if (other->zero.id)
        open = flow_guard(f, flow_subst(f, other->zero, with_other, tp_sym_count(f->a->p)), true);
    flow_join(f, &others, &other->leaks, flow_yes(f), with_other, true);
    for (uint32_t l = 0; l < leaks->len; l++) { /* the other factor may be 0 by its data, or is undefined, too */
        tp_leaks one = {.at = &leaks->at[l], .len = 1}, here = {0};
        flow_join(f, &here, &one, flow_yes(f), with, true);
        bool certain = here.len && flow_covers(f, &others, here.at[0].when);
        flow_join(f, &out->leaks, &one, open, with, certain);
    }
}

void flow_forget_zeros(flow *f, uint32_t sym)
{
    for (uint32_t v = 0; v < flow_nvalues(f); v++) {
        tp_expr *zero = &f->now.values[v].zero;
        if (zero->id && tp_expr_mentions(f->a->p, *zero, sym))
            *zero = (tp_expr){0};
    }
}
