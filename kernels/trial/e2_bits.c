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

/* ---- without the kernel ---- */

static bool starts_by(const bool *from, const tp_kernel *k, const tp_access *a)
{
    bool any = a && a->guarded && from[a->mask];
    for (uint32_t d = 0; a && d < k->operands[a->operand].ref_rank; d++)
        any |= a->subs[d].kind != TP_SUB_FULL && from[a->subs[d].start];
    return any;
}

typedef struct of_data {
    const tp_kernel *k;
    const bool *from; /* by value: it comes of inputs */
} of_data;

/* An index, a bound, a branch or a check. */
static bool decides_by_data(const tp_statement *s, void *ctx)
{
    const of_data *x = ctx;
    const tp_inst *i = s->inst;
    switch (s->kind) {
    case TP_COMPUTE:
        for (uint32_t a = 0; a < i->nargs; a++) {
            bool decides = i->prim == TP_P_TAKE || i->prim == TP_P_ROLL ? a == 1
                           : i->prim == TP_P_DYNAMIC_SLICE              ? a >= 1
                           : i->prim == TP_P_DYNAMIC_UPDATE             ? a >= 2
                           : i->prim == TP_P_MASKED_LOAD                ? a == 0
                                                                        : i->prim == TP_P_READ;
            if (decides && x->from[i->args[a]])
                return true;
        }
        return starts_by(x->from, x->k, i->access);
    case TP_PUT: return starts_by(x->from, x->k, s->access);
    case TP_ASSIGN:
    case TP_ENTER:
    case TP_LEAVE: return false;
    case TP_LOOP: return x->from[s->lo] || x->from[s->hi];
    case TP_IF:
    case TP_WHILE:
    case TP_ASSERT: return x->from[s->value];
    case TP_COPY_START:
    case TP_COPY_WAIT:
    case TP_SIGNAL:
    case TP_AWAIT: break;
    }
    return true;
}

/* May the reference alone say that something is rounded? Where the kernel goes one way whatever inputs hold, and where
 * no smaller integers would help. */
static bool reference_may_settle(const tp_trial *x)
{
    const tp_kernel *k = x->c->kernel;
    of_data data = {k, tp_comes_of(x->work, k, k->body, -1)};
    return !x->c->against && !tp_trial_writes_inputs(k) && tp_region_any(&k->body->statements, is_never_exact, NULL) &&
           !tp_region_any(&k->body->statements, decides_by_data, &data);
}

/* Is the first element that would be compared rounded by the reference? */
static bool reference_rounds(const tp_trial *x, const tp_sides *e, tp_bits *b)
{
    const tp_kernel *k = x->c->kernel;
    for (uint32_t i = 0; i < k->noutputs; i++) {
        const tp_operand *o = &k->operands[k->ninputs + i];
        const tp_tensor *g = &e->arrays[k->ninputs + i];
        const double *want = e->want[i].data, *off = e->want_meaning[k->ninputs + i].plane[1];
        for (size_t j = 0; tp_trial_compares(k, i) && j < g->n; j++) {
            if (!tp_is_compared(k, o, x->c->env, g, j) || isnan(want[j]))
                continue;
            if (off[j] != 0)
                b->reason =
                    tp_printf(x->keep, "%.*s is rounded on integer inputs", TP_FMT(tp_element_name(x->work, o, g, j)));
            return off[j] != 0;
        }
    }
    return false;
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
    bool first = reference_may_settle(x);
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        tp_sides e = {.n = 0};
        tp_str why;
        tp_trap trap;
        tp_run_stats stats = {0};
        bool turns = false;
        *b = (tp_bits){.range = RANGES[i], .reason = TP_S("the kernel does not run on integer inputs")};
        if (!tp_trial_arrays(x, TP_INPUT_INTEGERS, RANGES[i], &e, &why) ||
            (first && !tp_trial_reference(x, &e, tp_rounding_new(x->work), &turns, &why)) ||
            (first && !turns && reference_rounds(x, &e, b)) ||
            tp_trial_kernel(x, &e, tp_rounding_new(x->work), &trap, &stats) != TP_OK ||
            (!first && !tp_trial_reference(x, &e, tp_rounding_new(x->work), &turns, &why)))
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
