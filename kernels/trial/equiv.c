/* All cases, and what they amount to. */
#include "kernels/trial/equiv.h"

#include <math.h>

#include "kernels/trial/internal.h"
#include "kernels/trial/trial.h"

const char *tp_tier_name(tp_tier t)
{
    static const char *const NAMES[] = {"not applicable", "equal", "inconclusive", "different"};
    return NAMES[t];
}

/* Do its numbers count? Those of a case that is left out, since its bound decides nothing, do not. */
static bool is_compared(const tp_case_result *r)
{
    return r->outcome == TP_EQUAL || r->outcome == TP_DIFFERENT;
}

typedef struct running {
    tp_arena *a;
    const tp_equiv_options *o;
    tp_equiv *out;
} running;

static tp_result_use add_result(void *ctx, tp_case_result *r)
{
    running *x = ctx;
    tp_equiv *out = x->out;
    out->seconds.rounding += r->seconds.rounding;
    out->seconds.bits += r->seconds.bits;
    out->seconds.algebra += r->seconds.algebra;
    out->out_of_memory += r->out_of_memory;
    out->left_out = r->out_of_memory ? r->left_out : out->left_out;
    out->equal += r->outcome == TP_EQUAL;
    out->different += r->outcome == TP_DIFFERENT;
    out->fractions += r->fractions;
    out->trapped += r->outcome == TP_TRAPPED;
    out->skipped += r->outcome == TP_SKIPPED;
    bool compared = is_compared(r);
    if (compared && r->the_case->algebra)
        tp_note_algebra(&r->algebra, out, &out->algebra, &out->algebra_reason);
    if (compared && r->the_case->bits) {
        tp_note_tier(&out->bits, r->bits.tier);
        if (!out->bits_reason.n)
            out->bits_reason = r->bits.reason;
    }
    tp_push(x->a, out->cases, *r);
    return x->o->until_different && out->different ? TP_RESULT_STOP : TP_RESULT_KEEP;
}

void tp_equiv_run(tp_arena *a, const tp_cases *cases, const tp_equiv_options *o, tp_equiv *out)
{
    *out = (tp_equiv){.seed = o->seed, .chance = HUGE_VAL};
    running x = {a, o, out};
    tp_trial_cases(a, cases, o, add_result, &x);
    for (uint32_t i = 0; i < out->cases.len && !out->unexplained; i++)
        if (out->cases.at[i].algebra.unexplained)
            out->unexplained = &out->cases.at[i];
    for (uint32_t i = 0; i < out->cases.len; i++)
        for (uint32_t j = 0; is_compared(&out->cases.at[i]) && j < out->cases.at[i].outputs.len; j++) {
            const tp_output_diff *d = &out->cases.at[i].outputs.at[j];
            if (!out->worst || d->ratio > out->worst->ratio)
                out->worst = d;
            if (!out->unstable || d->rounding > out->unstable->rounding)
                out->unstable = d;
        }
}

void tp_equiv_coverage(tp_arena *a, const tp_cases *cases, tp_equiv *out)
{
    TP_VEC(tp_coverage *) all = {0};
    TP_VEC(const tp_kernel *) kernels = {0};
    tp_cases ran = {0};
    for (uint32_t i = 0; i < cases->len; i++) {
        const tp_case *x = &cases->at[i];
        bool known = !x->coverage;
        for (uint32_t n = 0; n < all.len; n++)
            known |= all.at[n] == x->coverage;
        if (!known) {
            tp_push(a, all, x->coverage);
            tp_push(a, kernels, x->kernel);
        }
        if (x->coverage)
            tp_cover_arms(a, x->coverage, x->kernel, x->env);
        if (i < out->cases.len && (out->cases.at[i].outcome != TP_SKIPPED || out->cases.at[i].steps > 0))
            tp_push(a, ran, *x);
    }
    tp_coverage_summarise(a, kernels.at, all.at, all.len, &out->coverage);
    out->coverage.pairs = tp_pairs_of(a, &ran, &out->coverage.pairs_text);
}

const tp_case_result *tp_equiv_overflow(const tp_equiv *e)
{
    for (uint32_t i = 0; i < e->cases.len; i++)
        for (uint32_t j = 0; j < e->cases.at[i].outputs.len; j++)
            if (e->cases.at[i].outputs.at[j].overflows)
                return &e->cases.at[i];
    return NULL;
}

uint64_t tp_equiv_compared(const tp_equiv *e, tp_str output)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < e->cases.len; i++)
        for (uint32_t j = 0; j < e->cases.at[i].outputs.len; j++)
            if (tp_str_eq(e->cases.at[i].outputs.at[j].name, output))
                n += e->cases.at[i].outputs.at[j].compared;
    return n;
}
