#include "analyzer/claim/claim.h"

static tp_claim revisit(tp_analysis *a, const tp_operand *o, tp_expr *premises, bool over_steps)
{
    tp_claim c = {.premises = premises,
                  .over_steps = over_steps,
                  .subject = o->name,
                  .loc = o->rank && !o->whole ? o->dims[0].index_loc : o->loc,
                  .proven = tp_message(a, "steps that write one block of `%.*s` are consecutive", TP_FMT(o->name)),
                  .violated = tp_message(a, "the grid returns to a block of `%.*s` after leaving it", TP_FMT(o->name)),
                  .note =
                      TP_S("JAX lowering and interpret=True accept it (the latter reads the block back); on a TPU the "
                           "window starts undefined")};
    c.npremises = tp_nonempty_grid(a, premises);
    uint32_t nmeeting = tp_meeting_windows(a, over_steps, premises + c.npremises);
    c.npremises += nmeeting;
    c.rests_on = nmeeting ? tp_apart(o) ? TP_RULE_BLOCK_OUT_OF_BOUNDS ", " TP_RULE_OVERLAPPING_OUTPUT
                                        : TP_RULE_BLOCK_OUT_OF_BOUNDS
                          : tp_apart(o);
    return c;
}

/* Axis `out` is not in the map and slower than `in`, which is: each block is
 * visited once per step of `out`, with others between. */
static void check_pair(tp_analysis *a, const tp_operand *o, uint32_t out, uint32_t in)
{
    tp_expr premises[TP_MAX_AXES + TP_GRANTED];
    const tp_axis *x = &a->k->axes[out], *y = &a->k->axes[in];
    tp_claim c = revisit(a, o, premises, false);
    c.goal = either(a, mk(a, TP_E_LE, x->steps, num(a, 1)), mk(a, TP_E_LE, y->steps, num(a, 1)));
    c.label = tp_message(a, "depends on %.*s, not on the slower axis %.*s", TP_FMT(y->name), TP_FMT(x->name));
    tp_finding *f = tp_claim_check(a, &c, NULL);
    if (f->verdict != TP_VIOLATED)
        return;
    f->help = tp_message(a, "make `%.*s` the faster axis: move it behind `%.*s` in the grid", TP_FMT(x->name),
                         TP_FMT(y->name));
    tp_propose_order(a, f, out, in);
    tp_propose_axis(a, f, o);
}

/* first < second in the order of the grid */
static tp_expr before(tp_analysis *a, int first, int second)
{
    tp_expr all = num(a, 0);
    for (uint32_t x = a->k->naxes; x-- > 0;) {
        tp_expr sym = tp_sym(a->p, a->k->axes[x].sym), p = tp_at_step(a, sym, first), q = tp_at_step(a, sym, second);
        tp_expr less = mk(a, TP_E_LT, p, q), same = mk(a, TP_E_EQ, p, q);
        int64_t v;
        all = tp_expr_is_const(a->p, all, &v) && !v ? less : either(a, less, both(a, same, all));
    }
    return all;
}

/* p before q before r; p and r share window and parallel coordinates, q does not. */
static void check_map(tp_analysis *a, const tp_operand *o)
{
    tp_expr premises[2 * TP_MAX_AXES + TP_GRANTED + TP_MAX_RANK + 2], same = num(a, 1);
    tp_claim c = revisit(a, o, premises, true);
    for (uint32_t d = 0; d < o->rank; d++) {
        premises[c.npremises++] = mk(a, TP_E_EQ, o->dims[d].index, tp_at_step(a, o->dims[d].index, 2));
        same = both(a, same, mk(a, TP_E_EQ, o->dims[d].index, tp_at_step(a, o->dims[d].index, 1)));
    }
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr sym = tp_sym(a->p, a->k->axes[x].sym);
        if (!a->k->axes[x].parallel)
            continue;
        premises[c.npremises++] = mk(a, TP_E_EQ, sym, tp_at_step(a, sym, 2));
        same = both(a, same, mk(a, TP_E_EQ, sym, tp_at_step(a, sym, 1)));
    }
    premises[c.npremises++] = before(a, 0, 1);
    premises[c.npremises++] = before(a, 1, 2);
    c.goal = same;
    c.extra = tp_step_vars(a, 2, &c.nextra);
    c.label = TP_S("not monotone in the order of the grid");
    tp_finding *f = tp_claim_check(a, &c, NULL);
    if (f->verdict == TP_VIOLATED)
        f->help = TP_S("order the grid so that all steps on one block are consecutive");
}

static void check(tp_analysis *a)
{
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = &a->k->operands[i];
        if (o->discard || o->revisit_any || o->alias >= 0) /* may return; an alias: TP405 */
            continue;
        bool mentioned[TP_MAX_AXES], pairs = false;
        bool tells = tp_map_tells_axes(a, o, mentioned);
        for (uint32_t out = 0; out < a->k->naxes && tells; out++)
            for (uint32_t in = out + 1; in < a->k->naxes && !mentioned[out] && !a->k->axes[out].parallel; in++)
                if (mentioned[in]) {
                    check_pair(a, o, out, in);
                    pairs = true;
                }
        if (!tells)
            check_map(a, o);
        else if (!pairs && a->k->naxes) {
            tp_claim c = revisit(a, o, (tp_expr[TP_MAX_AXES + TP_GRANTED]){{0}}, true);
            tp_proven_by_map(a, o, &c);
        }
    }
}

const tp_rule tp_rule_tp402_nonconsecutive_revisit = {
    .code = "TP402",
    .slug = "nonconsecutive-revisit",
    .title = "the steps that write one output block are consecutive",
    .severity = TP_ERROR,
    .traps = true,
    .for_equality = true,
    .why = "An output block is written back when the grid leaves it, and never read back: a step that returns to it "
           "finds garbage and overwrites the result.",
    .bad = "\"grid\": [k, i], output map [\"i\"], accumulating over k",
    .good = "\"grid\": [i, k], output map [\"i\"]",
    .jax =
        "Lowering and compiler accept it. interpret=True gives the expected answer, so tests pass; the TPU interpreter "
        "raises \"Revisited block\", for the executed grid only.",
    .trap_help = "put the axes that the output does not depend on last in the grid",
    .check = check,
};
