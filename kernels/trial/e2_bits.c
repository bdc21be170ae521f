/* Tier E2: bits, on integers for which no operation rounds. */
#include <math.h>

#include "kernels/trial/trial.h"

/* exp and its kin: no integer makes their values exact. */
static bool is_never_exact(const tp_statement *s, void *ctx)
{
    (void)ctx;
    return s->kind == TP_COMPUTE && tp_prim_info(s->inst->prim)->rounding.kind == TP_ROUND_ULPS;
}

/* Compare the outputs; NONE when something rounded. False: smaller integers
 * would not help. */
static bool compare_bits(tp_trial *x, const tp_sides *e, tp_bits *b)
{
    const tp_kernel *k = x->c->kernel;
    uint64_t compared = 0;
    b->tier = TP_TIER_EQUAL;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        const tp_tensor *g = &e->arrays[k->ninputs + i];
        const tp_planes *mg = &e->got_meaning[k->ninputs + i], *mw = &e->want_meaning[k->ninputs + i];
        for (size_t j = 0; tp_trial_compares(k, i) && j < g->n; j++) {
            double got = tp_get_f64(g->dtype, g->data, j), want = ((const double *)mw->plane[0])[j];
            double real = ((const double *)mg->plane[0])[j];
            bool known = ((const double *)mg->plane[1])[j] == 0 && ((const double *)mw->plane[1])[j] == 0,
                 exact = known && (real == got || (isnan(real) && isnan(got)));
            if (!tp_is_compared(k, o, x->c->env, g, j) || isnan(want)) /* E1 tells whether a number there differs */
                continue;
            compared++;
            if (!exact) {
                b->tier = TP_TIER_NONE;
                b->reason =
                    tp_printf(x->keep, "%.*s is rounded on integer inputs", TP_FMT(tp_element_name(x->work, o, g, j)));
                return real == trunc(real) && (known || !tp_region_any(&k->body->statements, is_never_exact, NULL));
            }
            if (got != want) {
                b->tier = TP_TIER_DIFFERENT;
                b->worst = tp_element_name(x->keep, o, g, j);
                b->got = got;
                b->want = want;
                return true;
            }
        }
    }
    if (compared == 0)
        *b = (tp_bits){.tier = TP_TIER_NONE, .range = b->range, .reason = TP_S("no element is compared")};
    return true;
}

void tp_trial_bits(void *arg)
{
    tp_trial *x = arg;
    static const int64_t RANGES[] = {8, 2, 1};
    tp_bits *b = &x->r->bits;
    if (tp_approximates(x->c->kernel)) {
        b->reason = TP_S("a loop turns until numbers are close");
        return;
    }
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        tp_sides e = {.n = 0};
        tp_str why;
        tp_trap trap;
        tp_run_stats stats = {0};
        bool turns = false;
        *b = (tp_bits){.range = RANGES[i], .reason = TP_S("the kernel does not run on integer inputs")};
        if (!tp_trial_arrays(x, TP_INPUT_INTEGERS, RANGES[i], &e, &why) ||
            tp_trial_kernel(x, &e, tp_rounding_new(x->work), &trap, &stats) != TP_OK ||
            !tp_trial_reference(x, &e, tp_rounding_new(x->work), &turns, &why))
            return;
        if (stats.undecided || turns) {
            b->reason = TP_S("a decision depends on rounding");
            continue;
        }
        b->reason = TP_S("");
        if (!compare_bits(x, &e, b) || b->tier != TP_TIER_NONE)
            return;
    }
}

/* ---- evidence ---- */

static bool holds(const tp_equiv *e)
{
    return e->different + e->trapped == 0 && tp_tier_all_equal(&e->bits);
}

static tp_str missing(const tp_equiv *e, const tp_kernel *k)
{
    (void)k;
    return e->bits_reason;
}

const tp_tier_evidence tp_tier_e2 = {"bits=E2", NULL, holds, missing};
