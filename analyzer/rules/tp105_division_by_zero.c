#include "analyzer/flow/flow.h"

/* A divisor that was asked about, and where it is divided by. */
typedef struct question {
    tp_expr divisor, path;
} question;
typedef TP_VEC(question) questions;

typedef struct place {
    tp_str subject;
    tp_loc loc;
    bool over_steps;
    const tp_var *lanes; /* further variables, or NULL */
    uint32_t nlanes;
    questions *asked;
    uint32_t from; /* those of the same place */
} place;

static bool is_asked(place *at, tp_expr divisor, tp_expr path)
{
    for (uint32_t i = at->from; i < at->asked->len; i++)
        if (tp_same(at->asked->at[i].divisor, divisor) && tp_same(at->asked->at[i].path, path))
            return true;
    return false;
}

static void check_division(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx)
{
    place *at = ctx;
    tp_expr_node n = *tp_expr_get(a->p, sub);
    int64_t v;
    bool constant = n.b.id && tp_expr_is_const(a->p, n.b, NULL);
    if (n.op != TP_E_FLOORDIV && n.op != TP_E_MOD && n.op != TP_E_CDIV && n.op != TP_E_ALIGN_UP)
        return;
    if ((tp_expr_is_const(a->p, n.b, &v) && v != 0) || is_asked(at, n.b, path))
        return;
    tp_push(a->arena, *at->asked, ((question){n.b, path}));
    tp_claim c = {
        .goal = mk(a, TP_E_IMPLIES, path, mk(a, TP_E_NE, n.b, num(a, 0))),
        .over_steps = at->over_steps,
        .extra = at->lanes,
        .nextra = at->nlanes,
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
                                           .extra = at->lanes,
                                           .nextra = at->nlanes,
                                           .subject = at->subject})
                .verdict == TP_PROVEN)
            c.goal = mk(a, TP_E_GE, n.b, num(a, 1));
    tp_finding *f = tp_claim_check(a, &c, NULL);
    if (f->verdict == TP_VIOLATED && !constant)
        tp_propose_where(a, f, tp_message(a, "%.*s >= 1", TP_FMT(tp_text(a, n.b))));
    f->help = tp_message(a, "add `%.*s >= 1` to \"where\", or a \"min\" of 1", TP_FMT(tp_text(a, n.b)));
}

static void visit(tp_analysis *a, tp_expr e, place at)
{
    at.from = at.asked->len;
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

/* The shape of a value, and an integer of sizes alone: there before the first step, in branches that are not taken,
 * too. A divisor that was asked about elsewhere is not asked about again. */
static void check_value(tp_analysis *a, const tp_value *x, place *at)
{
    for (uint32_t d = 0; d < x->rank; d++)
        tp_visit_subterms(a, x->dims[d], num(a, 1), check_division, at);
    if (x->dtype == TP_WEAK_INT)
        tp_visit_subterms(a, x->meaning, num(a, 1), check_division, at);
}

/* With the place of the instruction that uses them. */
static void check_used(tp_analysis *a, const tp_region *r, place *at)
{
    for (uint32_t i = 0; i < r->len; i++) {
        const tp_statement *s = &r->at[i];
        const tp_inst *inst = s->kind == TP_COMPUTE ? s->inst : NULL;
        at->loc = tp_body_loc(a, inst ? inst->node : NULL, s->syntax);
        for (uint32_t n = 0; inst && n < inst->nargs; n++)
            check_value(a, &a->k->body->values.at[inst->args[n]], at);
        check_used(a, &s->test, at);
        check_used(a, &s->body, at);
        check_used(a, &s->orelse, at);
    }
}

static void check_body(tp_analysis *a, const tp_program *body, questions *asked)
{
    place at = {.subject = a->k->name, .asked = asked};
    check_used(a, &body->statements, &at);
    at.loc = a->k->doc->loc;
    for (uint32_t v = 0; v < body->values.len; v++)
        check_value(a, &body->values.at[v], &at);
}

static void check_table(tp_analysis *a, const tp_table *t, questions *asked)
{
    place at = {.subject = t->name, .loc = t->loc, .asked = asked};
    for (uint32_t d = 0; d < t->rank; d++)
        visit(a, t->shape[d], at);
    visit(a, t->extent, at);
    visit(a, t->min, at);
    visit(a, t->max, at);
}

static void check_operand(tp_analysis *a, const tp_operand *o, questions *asked)
{
    place at = {.subject = o->name, .asked = asked};
    tp_var elements[TP_MAX_RANK];
    for (uint32_t d = 0; d < o->rank; d++) {
        at.loc = o->dims[d].shape_loc;
        visit(a, o->shape[d], at);
        elements[d] = (tp_var){.sym = o->element_syms[d], .lo = num(a, 0), .multiple_of = 1, .step = true};
        elements[d].hi = mk(a, TP_E_SUB, o->shape[d], num(a, 1));
        if (o->role == TP_SCRATCH || o->whole)
            continue;
        at.loc = o->dims[d].loc;
        visit(a, o->dims[d].block, at);
        visit(a, o->dims[d].pad_lo, at);
        visit(a, o->dims[d].pad_hi, at);
        visit(a, o->dims[d].index,
              (place){.subject = o->name, .loc = o->dims[d].index_loc, .over_steps = true, .asked = asked});
    }
    if (o->valid.id)
        visit(a, o->valid,
              (place){.subject = o->name,
                      .loc = o->valid_loc,
                      .over_steps = true,
                      .lanes = elements,
                      .nlanes = o->rank,
                      .asked = asked});
}

static void check(tp_analysis *a)
{
    const tp_kernel *k = a->k;
    const tp_flow *f = tp_flow_of(a);
    questions asked = {0};
    tp_flow_gave_up(a, f, true);
    for (uint32_t i = 0; f && i < f->uses.len; i++)
        if (f->uses.at[i].kind == TP_USE_DIVISOR)
            check_use(a, f, &f->uses.at[i]);
    for (uint32_t i = 0; i < k->nsizes; i++)
        if (k->sizes[i].kind == TP_SIZE_DERIVED)
            visit(a, k->sizes[i].expr, (place){.subject = k->sizes[i].name, .loc = k->sizes[i].loc, .asked = &asked});
    for (uint32_t i = 0; i < k->naxes; i++)
        visit(a, k->axes[i].steps, (place){.subject = k->axes[i].name, .loc = k->axes[i].steps_loc, .asked = &asked});
    for (uint32_t i = 0; i < k->ntables; i++)
        check_table(a, &k->tables[i], &asked);
    for (uint32_t i = 0; i < tp_noperands(k); i++)
        check_operand(a, &k->operands[i], &asked);
    if (k->body)
        check_body(a, k->body, &asked);
}

const tp_rule tp_rule_tp105_division_by_zero = {
    .code = "TP105",
    .slug = "division-by-zero",
    .title = "no integer division or remainder by zero in the domain",
    .severity = TP_ERROR,
    .follows = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "Integer division by zero has no defined result on the device; the window lands anywhere.",
    .bad = "\"index_map\": [\"i // G\"]   with G from 0",
    .good = "\"sizes\": {\"G\": {\"min\": 1}}",
    .jax = "XLA's integer division by zero gives -1; nothing is reported.",
    .check = check,
};
