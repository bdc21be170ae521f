#include "analyzer/flow/flow.h"

static tp_claim race(tp_analysis *a, const tp_operand *o, tp_expr *premises, bool over_steps)
{
    tp_claim c = {.premises = premises,
                  .over_steps = over_steps,
                  .subject = o->name,
                  .loc = o->rank && !o->whole ? o->dims[0].index_loc : o->loc,
                  .proven = tp_message(a, "steps that differ in a parallel axis write different blocks of `%.*s`",
                                       TP_FMT(o->name)),
                  .note = TP_S("JAX does not report this; both interpreters run the steps in order, so that the last "
                               "writer wins")};
    c.npremises = tp_nonempty_grid(a, premises);
    uint32_t nmeeting = tp_meeting_windows(a, over_steps, premises + c.npremises);
    c.npremises += nmeeting;
    c.rests_on = nmeeting ? tp_apart(o) ? TP_RULE_BLOCK_OUT_OF_BOUNDS ", " TP_RULE_OVERLAPPING_OUTPUT
                                        : TP_RULE_BLOCK_OUT_OF_BOUNDS
                          : tp_apart(o);
    return c;
}

/* An axis that the map leaves out: its steps all have the same window. */
static void check_axis(tp_analysis *a, const tp_operand *o, uint32_t axis)
{
    tp_expr premises[TP_MAX_AXES + TP_GRANTED];
    const tp_axis *x = &a->k->axes[axis];
    tp_claim c = race(a, o, premises, false);
    c.goal = mk(a, TP_E_LE, x->steps, num(a, 1));
    c.violated = tp_message(a, "steps that differ in the parallel axis `%.*s` write the same block of `%.*s`",
                            TP_FMT(x->name), TP_FMT(o->name));
    c.label = tp_message(a, "does not depend on %.*s", TP_FMT(x->name));
    tp_finding *f = tp_claim_check(a, &c, NULL);
    if (f->verdict != TP_VIOLATED)
        return;
    if (o->whole && !a->k->target.checked) { /* a program on a GPU, which writes its part of an array */
        f->help = tp_message(a,
                             "an array that programs write parts of stays where it is: give `%.*s` `\"memory_space\": "
                             "\"any\"`",
                             TP_FMT(o->name));
        tp_propose_far(a, f, o);
        return;
    }
    f->help =
        tp_message(a, "declare `%.*s` `\"arbitrary\"`, or give each of its steps a block of its own", TP_FMT(x->name));
    tp_propose_axis(a, f, o);
    tp_propose_semantics(a, f, axis, "arbitrary");
}

static void check_map(tp_analysis *a, const tp_operand *o)
{
    tp_expr premises[TP_MAX_AXES + TP_GRANTED + TP_MAX_RANK], differ = num(a, 0);
    tp_claim c = race(a, o, premises, true);
    for (uint32_t d = 0; d < o->rank; d++)
        premises[c.npremises++] = mk(a, TP_E_EQ, o->dims[d].index, tp_at_step(a, o->dims[d].index, 1));
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr here = tp_sym(a->p, a->k->axes[x].sym);
        if (a->k->axes[x].parallel)
            differ = either(a, differ, mk(a, TP_E_NE, here, tp_at_step(a, here, 1)));
    }
    c.goal = tp_op1(a->p, TP_E_NOT, differ);
    c.extra = tp_step_vars(a, 1, &c.nextra);
    c.violated =
        tp_message(a, "two steps that differ in a parallel axis write the same block of `%.*s`", TP_FMT(o->name));
    c.label = TP_S("two steps share a block");
    const int64_t *env;
    tp_finding *f = tp_claim_check(a, &c, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    f->witness->detail = tp_message(a, "so does step %.*s", TP_FMT(tp_step_text(a, 1, env)));
    f->help = TP_S("declare the axis `\"arbitrary\"`, or give each step a block of its own");
    tp_propose_axis(a, f, o);
    for (uint32_t x = a->k->naxes; x-- > 0;)
        if (a->k->axes[x].parallel)
            tp_propose_semantics(a, f, x, "arbitrary");
}

/* Pallas splits the leading parallel axes over the cores; the compiler accepts
 * others and gains nothing from them. */
static void check_prefix(tp_analysis *a)
{
    for (uint32_t x = 1; x < a->k->naxes; x++) {
        const tp_axis *slow = &a->k->axes[x - 1], *fast = &a->k->axes[x];
        if (!fast->parallel || slow->parallel)
            continue;
        tp_advise(a, fast->name, fast->loc,
                  tp_message(a, "the parallel axis `%.*s` comes after the sequential axis `%.*s`", TP_FMT(fast->name),
                             TP_FMT(slow->name)),
                  tp_message(a,
                             "only leading parallel axes are split over cores: move `%.*s` in front, or declare it "
                             "`\"arbitrary\"`",
                             TP_FMT(fast->name)))
            ->severity = TP_WARNING;
    }
}

static bool any_parallel(const tp_kernel *k)
{
    bool any = false;
    for (uint32_t x = 0; x < k->naxes; x++)
        any |= k->axes[x].parallel;
    return any;
}

/* Are all steps of one device in order, and is the ref the part of the array that belongs to it? */
static bool belongs_to_device(const tp_kernel *k, const tp_operand *o)
{
    bool belongs = tp_has_devices(k) && tp_is_shard(o);
    for (uint32_t x = tp_mesh_rank(k); x < k->naxes; x++)
        belongs &= !k->axes[x].parallel;
    return belongs;
}

static void check_far(tp_analysis *a, const tp_operand *o)
{
    if (any_parallel(a->k) && belongs_to_device(a->k, o))
        tp_add_finding(a, TP_PROVEN, o->name, o->loc,
                       tp_message(a,
                                  "each device has a part of `%.*s` of its own; what others write there is ordered by "
                                  "waits (" TP_RULE_IN_FLIGHT ")",
                                  TP_FMT(o->name)))
            ->grade = TP_GRADE_EXACT;
    else if (any_parallel(a->k))
        tp_check_far_writes(a, o);
}

static void check(tp_analysis *a)
{
    check_prefix(a);
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        if (o->discard)
            continue;
        if (tp_is_far(o)) {
            check_far(a, o);
            continue;
        }
        bool mentioned[TP_MAX_AXES], parallel = false;
        bool tells = tp_map_tells_axes(a, o, mentioned);
        for (uint32_t x = 0; x < a->k->naxes; x++) {
            parallel |= a->k->axes[x].parallel && mentioned[x];
            if (a->k->axes[x].parallel && !mentioned[x])
                check_axis(a, o, x);
        }
        if (!tells && parallel)
            check_map(a, o);
        else if (parallel) {
            tp_claim c = race(a, o, (tp_expr[TP_MAX_AXES + TP_GRANTED]){{0}}, true);
            tp_proven_by_map(a, o, &c);
        }
    }
}

const tp_rule tp_rule_tp403_parallel_race = {
    .code = "TP403",
    .slug = "parallel-race",
    .title = "steps that differ in a parallel axis never write the same block",
    .severity = TP_ERROR,
    .traps = true,
    .for_equality = true,
    .why = "Steps of a parallel axis may run at the same time on several cores, in any order. Two that write one block "
           "race, and neither sees what the other accumulated.",
    .bad = "{\"axis\": \"k\", \"semantics\": \"parallel\"}   with an output map of [\"i\", \"j\"]",
    .good = "{\"axis\": \"k\", \"semantics\": \"arbitrary\"}",
    .jax = "Lowering, compiler and interpret=True accept it. The TPU interpreter finds it as a race with two or more "
           "cores.",
    .trap_help = "declare that axis `\"arbitrary\"`",
    .check = check,
};
