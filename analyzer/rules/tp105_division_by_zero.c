#include "analyzer/flow/flow.h"

typedef struct place {
    tp_str subject;
    tp_loc loc;
    bool over_steps;
    tp_expr seen[16];
    uint32_t nseen;
} place;

static void check_division(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx)
{
    place *at = ctx;
    tp_expr_node n = *tp_expr_get(a->p, sub);
    int64_t v;
    bool constant = n.b.id && tp_expr_is_const(a->p, n.b, NULL);
    if (n.op != TP_E_FLOORDIV && n.op != TP_E_MOD && n.op != TP_E_CDIV && n.op != TP_E_ALIGN_UP)
        return;
    if (tp_expr_is_const(a->p, n.b, &v) && v != 0)
        return;
    for (uint32_t i = 0; i < at->nseen; i++)
        if (tp_same(at->seen[i], n.b))
            return;
    if (at->nseen < 16)
        at->seen[at->nseen++] = n.b;
    tp_claim c = {
        .goal = mk(a, TP_E_IMPLIES, path, mk(a, TP_E_NE, n.b, num(a, 0))),
        .over_steps = at->over_steps,
        .subject = at->subject,
        .loc = at->loc,
        .proven = tp_message(a, "the divisor %.*s is never zero", TP_FMT(tp_text(a, n.b))),
        .violated = constant ? tp_message(a, "`%.*s` divides by zero", TP_FMT(at->subject))
                             : tp_message(a, "`%.*s` divides by %.*s, which can be zero", TP_FMT(at->subject),
                                          TP_FMT(tp_text(a, n.b))),
        .label = TP_S("division by zero"),
    };
    if (tp_expr_is_const(a->p, path, &v) && v == 1) /* likely: the divisor is positive */
        if (tp_claim_decide(a, &(tp_claim){.goal = mk(a, TP_E_GE, n.b, num(a, 1)),
                                           .over_steps = at->over_steps,
                                           .subject = at->subject})
                .verdict == TP_PROVEN)
            c.goal = mk(a, TP_E_GE, n.b, num(a, 1));
    tp_finding *f = tp_claim_check(a, &c, NULL);
    if (f->verdict == TP_VIOLATED && !constant)
        tp_propose_where(a, f, tp_message(a, "%.*s >= 1", TP_FMT(tp_text(a, n.b))));
    f->help = tp_message(a, "add \"%.*s >= 1\" to \"where\", or a \"min\" of 1", TP_FMT(tp_text(a, n.b)));
}

static void visit(tp_analysis *a, tp_expr e, tp_str subject, tp_loc loc, bool over_steps)
{
    place at = {.subject = subject, .loc = loc, .over_steps = over_steps};
    tp_visit_subterms(a, e, num(a, 1), check_division, &at);
}

static void check_use(tp_analysis *a, const tp_flow *f, const tp_use *u)
{
    tp_claim c = tp_use_claim(a, f, u);
    c.proven = TP_S("the divisor in the body is never zero");
    c.violated = TP_S("the body can divide an integer by zero");
    c.label = TP_S("the divisor can be zero");
    if (!u->value.id) {
        tp_use_unknown(a, &c, "the divisor depends on data, or its int32 arithmetic may overflow");
        return;
    }
    c.goal = mk(a, TP_E_NE, u->value, num(a, 0));
    tp_claim_check(a, &c, NULL);
}

static void check(tp_analysis *a)
{
    const tp_kernel *k = a->k;
    const tp_flow *f = tp_flow_of(a);
    tp_flow_gave_up(a, f, true);
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        if (f->uses.at[i].kind == TP_USE_DIVISOR)
            check_use(a, f, &f->uses.at[i]);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_DERIVED)
            visit(a, k->sizes[i].expr, k->sizes[i].name, k->sizes[i].loc, false);
    for (uint32_t i = 0; i < k->naxes; i++)
        visit(a, k->axes[i].steps, k->axes[i].name, k->axes[i].steps_loc, false);
    for (uint32_t i = 0; i < tp_noperands(k); i++) {
        const tp_operand *o = &k->operands[i];
        for (uint32_t d = 0; d < o->rank; d++) {
            visit(a, o->shape[d], o->name, o->dims[d].shape_loc, false);
            if (o->role == TP_SCRATCH || o->whole)
                continue;
            visit(a, o->dims[d].block, o->name, o->dims[d].loc, false);
            visit(a, o->dims[d].index, o->name, o->dims[d].index_loc, true);
        }
    }
}

const tp_rule tp_rule_tp105_division_by_zero = {
    .code = "TP105",
    .slug = "division-by-zero",
    .title = "no integer division or remainder by zero in the domain",
    .severity = TP_ERROR,
    .for_equality = true,
    .per_dtype = true,
    .why = "Integer division by zero has no defined result on the device; the window lands anywhere.",
    .bad = "\"index_map\": [\"i // G\"]   with G from 0",
    .good = "\"sizes\": {\"G\": {\"min\": 1}}",
    .jax = "XLA's integer division by zero gives -1; nothing is reported.",
    .check = check,
};
