/* Arrays that stay where they are, written by steps that may run in any order. */
#include "analyzer/flow/flow.h"

/* Does an expression of the event speak of loops of the walk, of which two steps have each their own? */
static bool speaks_of_loops(tp_analysis *a, const tp_flow *f, const tp_event *e)
{
    for (uint32_t i = 0; i < f->vars.len; i++) {
        uint32_t sym = f->vars.at[i].sym;
        bool any = tp_expr_mentions(a->p, e->path, sym);
        for (uint32_t d = 0; d < e->place.rank && e->place.known; d++)
            any |= tp_expr_mentions(a->p, e->place.start[d], sym) || tp_expr_mentions(a->p, e->place.size[d], sym);
        if (any)
            return true;
    }
    return false;
}

static tp_expr end_of(tp_analysis *a, const tp_place *at, uint32_t d)
{
    return mk(a, TP_E_ADD, at->start[d], mk(a, TP_E_MUL, num(a, at->stride[d]), at->size[d]));
}

/* u of a step, v of another one that differs from it in a parallel axis: they lie apart. */
static tp_claim apart(tp_analysis *a, const tp_operand *o, const tp_event *u, const tp_event *v, tp_expr *premises)
{
    enum { PATH = 48 };
    tp_expr differ = num(a, 0);
    tp_claim c = {.goal = num(a, 0), .over_steps = true, .premises = premises, .subject = o->name};
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr here = tp_sym(a->p, a->k->axes[x].sym);
        if (a->k->axes[x].parallel)
            differ = either(a, differ, mk(a, TP_E_NE, here, tp_at_step(a, here, 1)));
    }
    c.npremises = tp_conjuncts(a, u->path, premises, PATH);
    c.npremises += tp_conjuncts(a, tp_at_step(a, v->path, 1), premises + c.npremises, PATH);
    premises[c.npremises++] = differ;
    for (uint32_t d = 0; d < u->place.rank; d++)
        c.goal = either(a, c.goal,
                        either(a, mk(a, TP_E_LE, end_of(a, &u->place, d), tp_at_step(a, v->place.start[d], 1)),
                               mk(a, TP_E_LE, tp_at_step(a, end_of(a, &v->place, d), 1), u->place.start[d])));
    c.extra = tp_step_vars(a, 1, &c.nextra);
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
    tp_claim said = {
        .subject = o->name,
        .loc = o->loc,
        .proven = tp_message(a, "steps that differ in a parallel axis copy to and from different elements of `%.*s`",
                             TP_FMT(o->name)),
        .violated = tp_message(
            a, "two steps that differ in a parallel axis use the same elements of `%.*s`, and one of them writes them",
            TP_FMT(o->name)),
        .note = TP_S("JAX does not report this; both interpreters run the steps in order, so that the last "
                     "writer wins")};
    if (!f || f->gave_up.n)
        all = (tp_decision){.verdict = TP_UNKNOWN, .reason = f ? f->gave_up : TP_S("there is no body")};
    for (uint32_t i = 0; all.verdict == TP_PROVEN && i < f->events.len; i++) {
        const tp_event *u = &f->events.at[i];
        if (u->kind != TP_EVENT_WRITE || u->place.operand != operand)
            continue;
        for (uint32_t k = 0; all.verdict == TP_PROVEN && k < f->events.len; k++) {
            const tp_event *v = &f->events.at[k];
            if ((v->kind != TP_EVENT_WRITE && v->kind != TP_EVENT_READ) || v->place.operand != operand)
                continue;
            if (!u->place.known || !v->place.known || speaks_of_loops(a, f, u) || speaks_of_loops(a, f, v)) {
                all = (tp_decision){.verdict = TP_UNKNOWN,
                                    .reason = TP_S("which elements a step copies depends on data or on a loop")};
                break;
            }
            tp_claim c = apart(a, o, u, v, premises);
            tp_decision d = tp_claim_decide(a, &c);
            basis = tp_basis_join(a->arena, basis, tp_claim_basis(a, &c));
            d.grade = d.grade > all.grade ? d.grade : all.grade;
            said.loc = d.verdict == TP_PROVEN ? said.loc : tp_body_loc(a, NULL, u->syntax);
            all = d;
        }
    }
    said.over_steps = true;
    said.approximate = "only a necessary condition for it is known, and the case that was tried does not trap";
    tp_finding *found = tp_claim_record(a, &said, all, NULL);
    found->rests_on = basis;
    if (found->verdict == TP_VIOLATED)
        found->help = TP_S("declare the axis \"arbitrary\", or give each step elements of its own");
}
