#include "cost/advice.h"
#include "cost/text.h"

enum { WORTH = 10 /* percent of the time */, LEAST = 64 << 10 /* bytes */ };

/* For all sizes, and all pairs of steps? */
static bool never_moves(tp_analysis *a, const tp_operand *o)
{
    tp_claim c = {.goal = num(a, 1), .over_steps = true};
    c.extra = tp_step_vars(a, 1, &c.nextra);
    for (uint32_t d = 0; d < o->rank && !o->whole; d++)
        c.goal = both(a, c.goal, mk(a, TP_E_EQ, o->dims[d].index, tp_at_step(a, o->dims[d].index, 1)));
    return tp_claim_follows(a, &c);
}

/* A window that never moves is copied once, and its other buffers hold nothing. */
static void check_needless(tp_analysis *a, const tp_operand *o)
{
    int buffers = tp_pipeline_buffers(a->k, o);
    int64_t one = tp_at_largest(a, tp_padded_bytes(a, o));
    if (buffers < 2 || one < LEAST || !never_moves(a, o))
        return;
    tp_advise(
        a, o->name, o->loc,
        tp_message(a, "the window of `%.*s` is the same in every step, and has %d buffers", TP_FMT(o->name), buffers),
        TP_S("add `\"buffers\": 1`"))
        ->note = tp_message(a,
                            "%.*s of VMEM hold nothing, at the largest sizes. The compiler keeps one buffer of its own "
                            "accord where each index is a literal",
                            TP_FMT(tp_bytes_text(a->arena, (buffers - 1) * one)));
}

/* What shares its array with another operand may need its one buffer (TP405). */
static bool is_shared(const tp_kernel *k, const tp_operand *o)
{
    bool shared = o->alias >= 0;
    for (uint32_t i = k->ninputs; i < k->ninputs + k->noutputs; i++)
        shared |= k->operands[i].alias >= 0 && &k->operands[k->operands[i].alias] == o;
    return shared;
}

/* With one buffer nothing is copied while the body computes. */
static void check_missing(tp_analysis *a, const tp_operand *o, const tp_operand_cost *moved, const tp_advice_cost *c)
{
    int64_t limit = a->k->vmem_limit ? a->k->vmem_limit : tp_target_vmem(&a->k->target), one;
    if (is_shared(a->k, o) || tp_pipeline_buffers(a->k, o) != 1 || !moved->bytes_in.known || !moved->bytes_out.known ||
        !c->numbers.vmem.known || tp_expr_eval(a->p, tp_padded_bytes(a, o), c->env, &one) != TP_EVAL_OK ||
        c->numbers.vmem.n > limit - one)
        return;
    bool again = moved->fetches.n > 1 || moved->writes.n > 1;
    double seconds = ((double)moved->bytes_in.n + (double)moved->bytes_out.n) / a->k->target.hbm_bandwidth;
    if (!again || seconds * 100 < WORTH * c->model.issued)
        return;
    tp_finding *f = tp_advise(
        a, o->name, o->loc,
        tp_message(a, "`%.*s` has one buffer: the kernel waits for each of its copies", TP_FMT(o->name)),
        tp_message(a, "give it two: %.*s more of VMEM, %.*s of %.*s are taken", TP_FMT(tp_bytes_text(a->arena, one)),
                   TP_FMT(tp_bytes_text(a->arena, c->numbers.vmem.n)), TP_FMT(tp_bytes_text(a->arena, limit))));
    f->claim = TP_S("copies go beside the computation"); /* once for all dtypes */
    f->note = tp_message(a, "a model%s%.*s: its copies take %.*s, and with two buffers the kernel %.*s in all",
                         c->sizes.n ? " at " : "", TP_FMT(c->sizes), TP_FMT(tp_seconds_text(a->arena, seconds)),
                         TP_FMT(tp_seconds_text(a->arena, c->model.issued)));
}

static void check(tp_analysis *a)
{
    uint32_t n = a->k->ninputs + a->k->noutputs;
    bool single = false;
    tp_advice_cost c;
    for (uint32_t i = 0; i < n; i++) {
        const tp_operand *o = &a->k->operands[i];
        if (o->memory != TP_MEM_VMEM)
            continue;
        single |= o->buffers == 1;
        check_needless(a, o);
    }
    if (!single || !tp_advice_cost_of(a, &c))
        return;
    for (uint32_t i = 0; i < n; i++)
        if (a->k->operands[i].memory == TP_MEM_VMEM)
            check_missing(a, &a->k->operands[i], &c.numbers.operands[i], &c);
}

const tp_rule tp_rule_tp607_buffering = {
    .code = "TP607",
    .slug = "buffering",
    .title = "windows with a buffer too few to copy beside the computation, or with buffers that hold nothing",
    .severity = TP_NOTE,
    .hardware = true,
    .per_dtype = true,
    .why = "The pipeline copies the next block into a second buffer while the body computes on the first. With one "
           "buffer it waits. A window that never moves needs no second one, and has it unless its map is literal.",
    .bad = "\"buffers\": 1   for blocks that change with each step",
    .good = "two buffers, which is the default; \"buffers\": 1 where the window stays",
    .jax = "Nothing is reported. `pl.Buffered(n)` is the number of buffers.",
    .check = check,
};
