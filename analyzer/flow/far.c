/* Arrays that stay where they are, written by steps that may run in any order. */
#include "analyzer/flow/flow.h"

/* Another step: what stands for its axes and for the turns of its loops, of which two steps have each their own. */
typedef struct other_step {
    const tp_expr *with;
    tp_var *vars;
    uint32_t nwith, nvars;
} other_step;

static other_step another_step(tp_analysis *a, const tp_flow *f)
{
    uint32_t naxes = 0;
    const tp_var *axes = tp_step_vars(a, 1, &naxes);
    tp_var *vars = TP_NEWN(a->arena, tp_var, naxes + f->vars.len);
    tp_expr *turns = TP_NEWN(a->arena, tp_expr, f->vars.len);
    for (uint32_t i = 0; i < f->vars.len; i++)
        turns[i] = tp_sym_new(a->p, tp_printf(a->arena, "other%u", i));
    uint32_t n = tp_sym_count(a->p);
    tp_expr *with = TP_NEWN(a->arena, tp_expr, n);
    for (uint32_t x = 0; x < naxes; x++) {
        vars[x] = axes[x];
        with[a->k->axes[x].sym] = tp_at_step(a, tp_sym(a->p, a->k->axes[x].sym), 1);
    }
    for (uint32_t i = 0; i < f->vars.len; i++)
        with[f->vars.at[i].sym] = turns[i];
    for (uint32_t i = 0; i < f->vars.len; i++) {
        tp_var *v = &vars[naxes + i];
        *v = f->vars.at[i];
        v->sym = (uint32_t)tp_expr_get(a->p, turns[i])->value;
        v->lo = tp_expr_subst(a->p, v->lo, with, n);
        v->hi = tp_expr_subst(a->p, v->hi, with, n);
    }
    return (other_step){with, vars, n, naxes + f->vars.len};
}

static tp_expr there(tp_analysis *a, const other_step *s, tp_expr e)
{
    return tp_expr_subst(a->p, e, s->with, s->nwith);
}

/* u of a step, v of another one that differs from it in a parallel axis: they lie apart. */
static tp_claim apart(tp_analysis *a, const tp_operand *o, const tp_flow_event *u, const tp_flow_event *v,
                      const other_step *other, tp_expr *premises)
{
    enum { PATH = 48 };
    tp_expr differ = num(a, 0);
    tp_place place = v->place;
    tp_claim c = {.over_steps = true, .premises = premises, .subject = o->name};
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr here = tp_sym(a->p, a->k->axes[x].sym);
        if (a->k->axes[x].parallel)
            differ = either(a, differ, mk(a, TP_E_NE, here, there(a, other, here)));
    }
    c.npremises = tp_conjuncts(a, u->path, premises, PATH);
    c.npremises += tp_conjuncts(a, there(a, other, v->path), premises + c.npremises, PATH);
    premises[c.npremises++] = differ;
    for (uint32_t d = 0; d < place.rank; d++) {
        place.start[d] = there(a, other, place.start[d]);
        place.size[d] = there(a, other, place.size[d]);
    }
    c.goal = tp_places_apart(a->p, &u->place, &place);
    c.extra = other->vars;
    c.nextra = other->nvars;
    c.walk = tp_flow_of(a)->vars.at;
    c.nwalk = tp_flow_of(a)->vars.len;
    return c;
}

void tp_check_far_writes(tp_analysis *a, const tp_operand *o)
{
    enum { ROOM = 128 };
    const tp_flow *f = tp_flow_of(a);
    tp_expr premises[ROOM];
    tp_decision all = {.verdict = TP_PROVEN, .grade = TP_GRADE_CERT};
    tp_str basis = {NULL, 0};
    uint32_t operand = (uint32_t)(o - a->k->operands);
    tp_claim claim = {
        .subject = o->name,
        .loc = o->loc,
        .proven = tp_message(a, "steps that differ in a parallel axis copy to and from different elements of `%.*s`",
                             TP_FMT(o->name)),
        .violated = tp_message(
            a, "two steps that differ in a parallel axis use the same elements of `%.*s`, and one of them writes them",
            TP_FMT(o->name)),
        .note = TP_S("JAX does not report this; both interpreters run the steps in order, so that the last "
                     "writer wins")};
    other_step other = {0};
    if (f && !f->gave_up.n)
        other = another_step(a, f);
    else
        all = (tp_decision){.verdict = TP_UNKNOWN, .reason = f ? f->gave_up : TP_S("there is no body")};
    for (uint32_t i = 0; all.verdict == TP_PROVEN && i < f->events.len; i++) {
        const tp_flow_event *u = &f->events.at[i];
        if (u->kind != TP_FLOW_WRITE || u->place.operand != operand)
            continue;
        for (uint32_t k = 0; all.verdict == TP_PROVEN && k < f->events.len; k++) {
            const tp_flow_event *v = &f->events.at[k];
            if ((v->kind != TP_FLOW_WRITE && v->kind != TP_FLOW_READ) || v->place.operand != operand)
                continue;
            if (!u->place.known || !v->place.known) {
                all = (tp_decision){.verdict = TP_UNKNOWN,
                                    .reason = TP_S("which elements a step copies depends on data")};
                break;
            }
            tp_claim c = apart(a, o, u, v, &other, premises);
            tp_decision d = tp_claim_decide(a, &c);
            basis = tp_basis_join(a->arena, basis, tp_claim_basis(a, &c));
            d.grade = d.grade > all.grade ? d.grade : all.grade;
            claim.loc = d.verdict == TP_PROVEN ? claim.loc : tp_body_loc(a, NULL, u->syntax);
            all = d;
        }
    }
    claim.over_steps = true;
    claim.approximate = "only a necessary condition for it is known, and the case that was tried does not trap";
    tp_finding *found = tp_claim_record(a, &claim, all, NULL);
    found->rests_on = basis;
    if (found->verdict == TP_VIOLATED)
        found->help = TP_S("declare the axis \"arbitrary\", or give each step elements of its own");
}
