#include "analyzer/flow/flow.h"

static tp_expr fits_int32(tp_analysis *a, tp_expr e)
{
    return both(a, mk(a, TP_E_LE, e, num(a, INT32_MAX)), mk(a, TP_E_GE, e, num(a, INT32_MIN)));
}

static void add_subterm(tp_analysis *a, tp_expr sub, tp_expr path, void *ctx)
{
    tp_expr *goal = ctx;
    if (!tp_expr_is_bool(a->p, sub))
        *goal = both(a, *goal, mk(a, TP_E_IMPLIES, path, fits_int32(a, sub)));
}

/* An int32 of the body that a mask, an index or a bound is made of. */
typedef struct computed {
    const tp_use *use;
    tp_claim claim;
    tp_decision decision;
} computed;
typedef TP_VEC(computed) computed_list;

/* Appends those of the walk to `into`. Is one violated? */
static bool decide_uses(tp_analysis *a, const tp_flow *f, computed_list *into)
{
    bool violated = false;
    for (uint32_t i = 0; f && i < f->uses.len; i++) {
        const tp_use *u = &f->uses.at[i];
        if (u->kind != TP_USE_INT32)
            continue;
        computed c = {.use = u, .claim = tp_use_claim(a, f, u)};
        c.claim.large = true;
        c.claim.goal = fits_int32(a, u->value);
        c.claim.proven = TP_S("this int32 of the body does not overflow");
        c.claim.violated = TP_S("an int32 in a mask, an index or a bound can overflow");
        c.claim.label = TP_S("int32 wraps here");
        c.decision = tp_claim_decide(a, &c.claim);
        violated |= c.decision.verdict == TP_VIOLATED;
        tp_push(a->arena, *into, c);
    }
    return violated;
}

/* The largest expression around c, in its statement, that is violated, too: it is the one in smaller cases. */
static const computed *around(const computed_list *exact, const computed *c)
{
    for (uint32_t i = 0; i < exact->len; i++) {
        const computed *x = &exact->at[i];
        bool holds = x->claim.loc.start <= c->claim.loc.start && x->claim.loc.end >= c->claim.loc.end;
        if (x->decision.verdict == TP_VIOLATED && x->use->syntax == c->use->syntax && holds)
            c = x;
    }
    return c;
}

static void record_use(tp_analysis *a, const computed *c)
{
    const int64_t *env;
    tp_finding *found = tp_claim_record(a, &c->claim, c->decision, &env);
    if (found->verdict != TP_VIOLATED)
        return;
    int64_t value = 0;
    tp_expr_eval(a->p, c->use->value, env, &value);
    found->witness->detail = tp_message(a, "the exact value is %lld", (long long)value);
    found->help =
        TP_S("bound the sizes with \"max\", or compare differences that stay small: `lane < K - start`; what shall "
             "wrap around, as a hash does, is computed in uint32");
}

/* What is computed of a value that wraps is not known. The precondition of a finding is one of all that would be known
 * if nothing wrapped. */
static void check_uses(tp_analysis *a, const tp_flow *f)
{
    computed_list known = {0}, exact = {0};
    TP_VEC(tp_claim) beside = {0};
    if (decide_uses(a, f, &known) && !a->o->verdicts_only)
        decide_uses(a, tp_flow_exact(a), &exact);
    for (uint32_t i = 0; i < exact.len; i++)
        if (exact.at[i].decision.verdict != TP_PROVEN)
            tp_push(a->arena, beside, exact.at[i].claim);
    for (uint32_t i = 0; i < known.len; i++) {
        computed c = known.at[i];
        if (c.decision.verdict == TP_VIOLATED)
            c = *around(&exact, &c);
        if (c.decision.verdict == TP_VIOLATED && tp_is_violated(a, a->rule->code, &c.claim.loc))
            continue;
        c.claim.beside = beside.at;
        c.claim.nbeside = beside.len;
        record_use(a, &c);
    }
}

static void check_maps(tp_analysis *a)
{
    tp_expr premises[TP_GRANTED];
    uint32_t nmeeting = tp_meeting_windows(a, true, premises);
    for (uint32_t i = 0; i < a->k->ninputs + a->k->noutputs; i++) {
        const tp_operand *o = tp_part_of_device(a->arena, &a->k->operands[i]);
        for (uint32_t d = 0; d < o->rank && !o->whole; d++) {
            const tp_dim *dim = &o->dims[d];
            tp_expr start = tp_window_start(a, o, d);
            tp_expr goal = num(a, 1);
            tp_visit_subterms(a, start, num(a, 1), add_subterm, &goal);
            if (tp_expr_is_const(a->p, goal, NULL))
                continue;
            tp_claim c = {
                .goal = goal,
                .over_steps = true,
                .premises = premises,
                .npremises = nmeeting,
                .rests_on = nmeeting ? TP_RULE_BLOCK_OUT_OF_BOUNDS : NULL,
                .large = true,
                .subject = o->name,
                .loc = dim->index_loc,
                .proven =
                    tp_message(a, "the index map and start of `%.*s` in dimension %u fit int32", TP_FMT(o->name), d),
                .violated = tp_message(a, "the index arithmetic of `%.*s` in dimension %u can overflow int32",
                                       TP_FMT(o->name), d),
                .label = TP_S("device index arithmetic is int32 and wraps"),
            };
            const int64_t *env;
            tp_finding *f = tp_claim_check(a, &c, &env);
            if (f->verdict != TP_VIOLATED)
                continue;
            int64_t value = 0;
            tp_expr_eval(a->p, start, env, &value);
            f->witness->detail = tp_message(
                a, "the window starts at %lld; a value in its computation leaves -2^31..2^31-1", (long long)value);
            f->help =
                TP_S("bound the sizes with \"max\", or reorder the index arithmetic so that every value stays small");
        }
    }
}

/* The coordinate of a step is an int32, in maps and in the body. Where it holds without an implicit fact, nobody
 * need hear of it. */
static void check_axes(tp_analysis *a)
{
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        const tp_axis *axis = &a->k->axes[x];
        tp_claim c = {
            .goal = mk(a, TP_E_LE, axis->steps, num(a, INT32_MAX)),
            .large = true,
            .subject = axis->name,
            .loc = axis->steps_loc,
            .proven = tp_message(a, "the steps of `%.*s` are counted in int32", TP_FMT(axis->name)),
            .violated = tp_message(a, "`%.*s` can have more steps than an int32 counts", TP_FMT(axis->name)),
            .label = TP_S("the coordinate of a step is int32 and wraps"),
        };
        int64_t steps;
        if (tp_expr_is_const(a->p, axis->steps, &steps) && steps <= INT32_MAX)
            continue;
        tp_decision d = tp_claim_decide(a, &c);
        if (d.verdict == TP_PROVEN && !c.given)
            continue;
        tp_finding *f = tp_claim_record(a, &c, d, NULL);
        if (f->verdict == TP_VIOLATED)
            f->help = TP_S("bound the sizes with \"max\", or make two axes of it");
    }
}

static void check(tp_analysis *a)
{
    const tp_flow *f = tp_flow_of(a);
    check_axes(a);
    check_maps(a);
    tp_flow_gave_up(a, f, false);
    check_uses(a, f);
}

const tp_rule tp_rule_tp104_index_overflow = {
    .code = "TP104",
    .slug = "index-overflow",
    .title = "no int32 overflow in index maps, window starts, and the body integers of masks and indices",
    .severity = TP_ERROR,
    .follows = true,
    .for_equality = true,
    .per_dtype = true,
    .why = "Device index arithmetic is int32: a product that passes 2^31 wraps and the window lands somewhere else.",
    .bad = "\"index_map\": [\"(i * N * N) // (N * N)\"]   with N up to 2^30",
    .good = "\"index_map\": [\"i\"]",
    .jax = "Nothing is reported at any stage.",
    .check = check,
};
