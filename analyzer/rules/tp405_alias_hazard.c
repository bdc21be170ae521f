#include "analyzer/claim/claim.h"

enum { MAX_PATHS = 256 };

/* What has been decided about one output so far. */
typedef struct hazard {
    tp_analysis *a;
    const tp_operand *in, *out;
    tp_claim claim;
    tp_grade grade;
    tp_str basis; /* what the proofs so far rest on */
    bool prefix;  /* no parallel axis is faster than a sequential one: steps with the same coordinates are neighbours */
    bool done;    /* a finding was recorded */
} hazard;

static tp_expr at(tp_analysis *a, tp_expr e, const tp_expr *step)
{
    return tp_expr_subst(a->p, e, step, tp_sym_count(a->p));
}

/* The windows meet in some element. Each meets the array (TP101), so that they
 * meet each other inside it. `in_step` and `out_step`: axes of the two steps. */
static uint32_t overlap(const hazard *h, const tp_expr *in_step, const tp_expr *out_step, tp_expr *premises)
{
    tp_analysis *a = h->a;
    uint32_t n = 0;
    for (uint32_t d = 0; d < h->in->rank; d++) {
        tp_expr x = at(a, tp_window_start(a, h->in, d), in_step), y = at(a, tp_window_start(a, h->out, d), out_step);
        bool blocks = h->in->dims[d].kind == h->out->dims[d].kind && h->in->dims[d].kind != TP_DIM_ELEMENT &&
                      !h->in->whole && !h->out->whole &&
                      tp_same(tp_expr_normal(a->p, h->in->dims[d].block), tp_expr_normal(a->p, h->out->dims[d].block));
        if (blocks) {
            premises[n++] =
                mk(a, TP_E_EQ, at(a, h->in->dims[d].index, in_step), at(a, h->out->dims[d].index, out_step));
            continue;
        }
        premises[n++] = mk(a, TP_E_LT, x, mk(a, TP_E_ADD, y, h->out->dims[d].block));
        premises[n++] = mk(a, TP_E_LT, y, mk(a, TP_E_ADD, x, h->in->dims[d].block));
    }
    return n;
}

/* Start the claim's premises: windows for which TP101 was violated meet their arrays. */
static void grant_windows(hazard *h, tp_expr *premises)
{
    h->claim.premises = premises;
    h->claim.npremises = tp_meeting_windows(h->a, true, premises);
    h->claim.rests_on = h->claim.npremises ? TP_RULE_BLOCK_OUT_OF_BOUNDS : NULL;
    h->claim.given = 0;
}

/* The output without its member "alias", and the comma before or behind it. */
static void propose_own_array(const hazard *h, tp_finding *f)
{
    const tp_json *outputs = tp_json_get(h->a->k->doc, "outputs");
    tp_str text = h->a->k->source->text;
    for (uint32_t i = 0; i < outputs->u.items.n; i++) {
        const tp_json *alias = tp_json_get(outputs->u.items.at[i], "alias");
        if (&h->a->k->operands[h->a->k->ninputs + i] != h->out || !alias)
            continue;
        uint32_t from = alias->key_loc.start, to = alias->loc.end;
        while (from > 0 && strchr(" \n\r\t", text.p[from - 1]))
            from--;
        if (text.p[from - 1] != ',')
            return;
        tp_propose(h->a, f, tp_message(h->a, "write `%.*s` to an array of its own", TP_FMT(h->out->name)),
                   &(tp_edit){from - 1, to, TP_S("")}, 1);
    }
}

/* Decide one case, of an input that is copied in at `reader`; the claim's
 * premises are set. */
static void decide(hazard *h, const tp_expr *reader)
{
    tp_claim *c = &h->claim;
    const int64_t *env;
    tp_decision d = tp_claim_decide(h->a, c);
    if (d.verdict == TP_PROVEN) {
        h->grade = d.grade > h->grade ? d.grade : h->grade;
        h->basis = tp_basis_join(h->a->arena, h->basis, tp_claim_basis(h->a, c));
        return;
    }
    h->done = true;
    tp_finding *f = tp_claim_record(h->a, c, d, &env);
    if (f->verdict != TP_VIOLATED)
        return;
    if (!f->witness->detail.n)
        f->witness->detail =
            tp_message(h->a, "what that step writes is read at step %.*s", TP_FMT(tp_axes_text(h->a, reader, env)));
    f->help = TP_S("give the input the output's index map, so that each block is read before it is written, or write "
                   "to an array of its own");
    tp_propose_axis(h->a, f, h->in);
    tp_propose_axis(h->a, f, h->out);
    propose_own_array(h, f);
}

/* The windows differ: some dimension's index does. */
static tp_expr moves(tp_analysis *a, const tp_operand *o, const tp_expr *from, const tp_expr *to)
{
    tp_expr any = num(a, 0);
    for (uint32_t d = 0; d < o->rank && !o->whole; d++) {
        tp_expr x = at(a, o->dims[d].index, from), y = at(a, o->dims[d].index, to);
        if (!tp_same(tp_expr_normal(a->p, x), tp_expr_normal(a->p, y)))
            any = either(a, any, mk(a, TP_E_NE, x, y));
    }
    return any;
}

/* Steps with the same parallel coordinates: axis `x` goes up by one, faster
 * ones start over. The axes of the next step, and when there is one. */
static tp_expr next_over(tp_analysis *a, uint32_t x, const tp_expr *now, tp_expr *next)
{
    const tp_kernel *k = a->k;
    tp_expr here = at(a, tp_sym(a->p, k->axes[x].sym), now);
    tp_expr when = mk(a, TP_E_LT, here, mk(a, TP_E_SUB, k->axes[x].steps, num(a, 1)));
    memcpy(next, now, tp_sym_count(a->p) * sizeof *next);
    next[k->axes[x].sym] = mk(a, TP_E_ADD, here, num(a, 1));
    for (uint32_t y = x + 1; y < k->naxes; y++) {
        if (k->axes[y].parallel)
            continue;
        when = both(
            a, when,
            mk(a, TP_E_EQ, at(a, tp_sym(a->p, k->axes[y].sym), now), mk(a, TP_E_SUB, k->axes[y].steps, num(a, 1))));
        next[k->axes[y].sym] = num(a, 0);
    }
    return when;
}

/* The run of `first`, the step of the claim, ends there; `now` is `distance`
 * steps later. Everything that follows within the lag: is the input copied in
 * there? */
static void follow(hazard *h, const tp_expr *first, const tp_expr *now, tp_expr path, int distance, int *paths)
{
    tp_analysis *a = h->a;
    int lag = h->in->buffers + h->out->buffers - 2;
    for (uint32_t x = a->k->naxes; x-- > 0 && distance < lag && !h->done;) {
        tp_expr *next = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p)), premises[TP_GRANTED + 2 + 2 * TP_MAX_RANK];
        if (a->k->axes[x].parallel)
            continue;
        tp_expr when = both(a, path, next_over(a, x, now, next));
        if (distance == 0 && h->prefix)
            when = both(a, when, moves(a, h->out, first, next));
        if (++*paths > MAX_PATHS) {
            h->done = true;
            tp_decision d = {.verdict = TP_UNKNOWN, .reason = TP_S("there are too many ways from step to step")};
            tp_claim_record(a, &h->claim, d, NULL);
            return;
        }
        grant_windows(h, premises);
        premises[h->claim.npremises++] = when;
        if (h->prefix) /* else others come between, and windows are left */
            premises[h->claim.npremises++] = moves(a, h->in, now, next); /* else nothing is copied in */
        h->claim.npremises += overlap(h, next, first, premises + h->claim.npremises);
        decide(h, next);
        if (!h->done)
            follow(h, first, next, when, distance + 1, paths);
    }
}

/* Two steps that differ in a parallel axis: one reads what the other writes. */
static void across_parallel(hazard *h)
{
    tp_analysis *a = h->a;
    tp_expr premises[TP_GRANTED + 2 + 2 * TP_MAX_RANK], differ = num(a, 0);
    tp_expr *here = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p)), /* axes as they are */
        *there = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p));
    bool parallel = false;
    tp_claim c = h->claim;
    h->claim.extra = tp_step_vars(a, 1, &h->claim.nextra);
    for (uint32_t x = 0; x < a->k->naxes; x++) {
        tp_expr sym = tp_sym(a->p, a->k->axes[x].sym);
        there[a->k->axes[x].sym] = tp_at_step(a, sym, 1);
        if (a->k->axes[x].parallel)
            differ = either(a, differ, mk(a, TP_E_NE, sym, tp_at_step(a, sym, 1)));
        parallel |= a->k->axes[x].parallel;
    }
    if (!parallel)
        return;
    grant_windows(h, premises);
    premises[h->claim.npremises++] = differ;
    h->claim.npremises += overlap(h, there, here, premises + h->claim.npremises);
    h->claim.violated = tp_message(
        a, "a step writes to `%.*s` what another step, which differs in a parallel axis, reads", TP_FMT(h->out->name));
    decide(h, there);
    h->claim = c;
}

static void check_output(tp_analysis *a, const tp_operand *o)
{
    hazard h = {.a = a, .in = &a->k->operands[o->alias], .out = o, .grade = TP_GRADE_CERT, .prefix = true};
    int paths = 0;
    tp_expr *now = TP_NEWN(a->arena, tp_expr, tp_sym_count(a->p)); /* axes as they are */
    h.claim = (tp_claim){
        .goal = num(a, 0),
        .over_steps = true,
        .subject = o->name,
        .loc = o->rank && !o->whole ? o->dims[0].index_loc : o->loc,
        .proven = tp_message(a, "no block of `%.*s` is read while `%.*s` may be writing it", TP_FMT(h.in->name),
                             TP_FMT(o->name)),
        .violated = tp_message(a, "a block of `%.*s` is read too soon after `%.*s` wrote it", TP_FMT(h.in->name),
                               TP_FMT(o->name)),
        .note =
            TP_S("JAX checks shape and dtype only; interpret=True reads the old data, the TPU interpreter the new")};
    for (uint32_t x = 1; x < a->k->naxes; x++)
        h.prefix &= !a->k->axes[x].parallel || a->k->axes[x - 1].parallel;
    if (!h.prefix)
        h.claim.approximate = "a parallel axis comes after a sequential one: the order of steps is not followed there";
    if (a->k->naxes)
        follow(&h, now, now, num(a, 1), 0, &paths);
    if (!h.done)
        across_parallel(&h);
    if (h.done)
        return;
    tp_finding *f = tp_add_finding(a, TP_PROVEN, o->name, h.claim.loc, h.claim.proven);
    f->grade = h.grade;
    f->rests_on = h.basis;
}

static void check(tp_analysis *a)
{
    for (uint32_t i = a->k->ninputs; i < a->k->ninputs + a->k->noutputs; i++)
        if (a->k->operands[i].alias >= 0 &&
            !tp_is_far(&a->k->operands[a->k->operands[i].alias])) /* else nothing is copied in: TP403 and TP504 */
            check_output(a, &a->k->operands[i]);
}

const tp_rule tp_rule_tp405_alias_hazard = {
    .code = "TP405",
    .slug = "alias-hazard",
    .title = "an input that shares its array with an output is not read while the output may be writing it",
    .severity = TP_ERROR,
    .traps = true,
    .for_equality = true,
    .why =
        "The pipeline fetches input blocks ahead and writes output blocks back late, a step for each buffer beyond the "
        "first. A block that is read within that distance after it was written, or by a step that may run at the same "
        "time, is old or new by luck.",
    .bad = "\"alias\": \"x\", input map [\"i\"], output map [\"i + 1\"]",
    .good = "\"alias\": \"x\", input and output map [\"i\"]",
    .jax = "Only shape and dtype are compared. interpret=True reads the old data, the TPU interpreter the new; the "
           "hardware does what the pipeline's timing gives.",
    .check = check,
};
