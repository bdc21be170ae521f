/* Tier E1: the numbers that are computed, with their values over the reals and the bounds of these. */
#include <math.h>

#include "kernels/trial/trial.h"

static void keep_trap(tp_arena *a, tp_trap *t)
{
    tp_trap copy = *t;
    copy.message = tp_trial_keep(a, t->message);
    copy.statement = tp_trial_keep(a, t->statement);
    copy.coordinates.at = NULL;
    copy.coordinates.len = copy.coordinates.cap = 0;
    for (uint32_t i = 0; i < t->coordinates.len; i++)
        tp_push(a, copy.coordinates, t->coordinates.at[i]);
    *t = copy;
}

static void skip(tp_trial *x, tp_str why)
{
    x->r->outcome = TP_SKIPPED;
    x->r->trap.message = tp_trial_keep(x->keep, why);
}

static tp_str undecided_text(const tp_trial *x, const tp_statement *s)
{
    tp_buf b = {.arena = x->keep};
    tp_buf_c(&b, "rounding may change the decision in `");
    if (s->syntax)
        tp_print_stmt_head(&b, s->syntax);
    tp_buf_c(&b, "`");
    return tp_buf_view(&b);
}

/* Other families of inputs may be unkind to rounding; a certain difference
 * counts; overflow is advice where inputs are large, a difference where
 * they are not, and nothing at thresholds of any size. */
static void merge(tp_output_diff *into, const tp_output_diff *d, tp_input_family family)
{
    bool tame = tp_input_tame(family), real = d->differing > d->overflowed,
         known = into->tier == TP_TIER_DIFFERENT && (!real || into->differing > into->overflowed);
    bool agreed = into->tier == TP_TIER_EQUAL, overflows = into->overflows;
    tp_input_family on = into->overflows_on;
    if (d->overflows && family != TP_INPUT_THRESHOLDS && !overflows) {
        overflows = true;
        on = family;
    }
    if (d->tier == TP_TIER_DIFFERENT && (real || tame) && !known) {
        *into = *d;
        into->family = agreed ? family : TP_INPUT_NORMAL;
    } else if (d->tier == TP_TIER_EQUAL)
        into->ratio = fmax(into->ratio, d->ratio);
    bool one_sign = family == TP_INPUT_SIGNS || family == TP_INPUT_OPPOSITE;
    if (one_sign && d->tier == TP_TIER_EQUAL) /* where counts are largest */
        into->rounding = fmax(into->rounding, d->rounding_of_counts);
    into->overflows = overflows;
    into->overflows_on = on;
}

/* FNV-1a over the bytes of the compared elements. */
static void digest(tp_trial *x, const tp_operand *o, const tp_tensor *t)
{
    size_t size = tp_dtype_size(t->dtype);
    const uint8_t *bytes = t->data;
    for (size_t i = 0; i < t->n; i++)
        for (size_t b = 0, n = tp_is_compared(x->c->kernel, o, x->c->env, t, i) ? size : 0; b < n; b++)
            x->r->digest = (x->r->digest ^ bytes[i * size + b]) * 0x100000001b3u;
}

/* Beyond the tolerance: as much as the reference loses where it computes in float32 itself is no fault of a kernel. */
static void allow_for(const tp_trial *x, const tp_sides *e, uint32_t i, tp_result got, tp_result want,
                      const tp_tensor **single, tp_output_diff *d)
{
    const tp_kernel *k = x->c->kernel;
    bool asks = d->tier == TP_TIER_EQUAL && d->rounding > 1 && isfinite(d->rounding) && k->tolerance == 0 &&
                tp_tolerance(k) > 0x1p-24; /* not that of float64 */
    if (asks && !*single)
        *single = tp_trial_in_single(x, e);
    if (!asks || !*single || (*single)[i].n != want.data->n)
        return;
    const tp_tensor *typed = tp_trial_in_own_types(x, e);
    d->rounding = tp_rounding_beside(k, x->c->env, i, &(*single)[i], typed ? &typed[i] : NULL, got, want);
    d->rounding_of_counts = fmin(d->rounding_of_counts, d->rounding);
    if (!(d->rounding > 1))
        return;
    if (!tp_is_float(k->operands[k->ninputs + i].dtype)) {
        if (tp_rounding_decides(x->work, k))
            d->rounding = d->rounding_of_counts = 0;
        return;
    }
    d->allowed = tp_allowed_for(k, x->c->env, i, &(*single)[i], want);
    d->rounding /= d->allowed;
}

/* What leaves the range of the kernel's numbers: it becomes infinite or NaN, or exponentials vanish. */
typedef enum departure { INFINITE = 1, VANISHED = 2 } departure;

/* Some element does, where the reference does not, computed in float32, too (`single`, if there is that). */
static bool leaves_its_range(const tp_trial *x, uint32_t i, tp_result got, tp_result want, const tp_tensor *single,
                             unsigned how)
{
    const tp_kernel *k = x->c->kernel;
    const tp_operand *o = &k->operands[k->ninputs + i];
    double size = how & VANISHED ? tp_size_of(k, o, x->c->env, &want) : 0;
    for (size_t j = 0; j < got.data->n; j++) {
        double g = tp_get_f64(got.data->dtype, got.data->data, j), w = ((const double *)want.data->data)[j],
               s = single ? tp_get_f64(single->dtype, single->data, j) : w;
        bool gone = isfinite(g) ? how & VANISHED && g == 0 && w != 0 && s != 0 && fabs(w) >= size : how & INFINITE;
        if (gone && isfinite(w) && isfinite(s) && tp_is_compared(k, o, x->c->env, got.data, j))
            return true;
    }
    return false;
}

/* What a formula itself loses in float32 is no fault of a kernel that computes it. */
static void judge_range(const tp_trial *x, const tp_sides *e, uint32_t i, tp_result got, tp_result want,
                        tp_input_family family, const tp_tensor **single, tp_output_diff *d)
{
    unsigned how = d->overflows ? INFINITE : 0;
    if (tp_input_is_far(family) && leaves_its_range(x, i, got, want, NULL, VANISHED))
        how |= VANISHED;
    if (tp_input_tame(family) || !tp_is_float(got.data->dtype) || !how)
        return;
    if (!*single)
        *single = tp_trial_in_single(x, e);
    const tp_tensor *s = *single && (*single)[i].n == want.data->n ? &(*single)[i] : NULL;
    d->overflows = leaves_its_range(x, i, got, want, s, how);
}

static void compare_numbers(tp_trial *x, tp_sides *e, tp_str undecided, tp_input_family family)
{
    const tp_kernel *k = x->c->kernel;
    const tp_tensor *single = NULL; /* all outputs at once, where one asks */
    bool first = !x->r->outputs.len;
    for (uint32_t i = 0, at = 0; i < k->noutputs; i++) {
        tp_output_diff d;
        if (!tp_trial_compares(k, i))
            continue;
        tp_result got = {&e->arrays[k->ninputs + i], &e->got_meaning[k->ninputs + i]},
                  want = {&e->want[i], &e->want_meaning[k->ninputs + i]};
        tp_compare(x->keep, k, x->c->env, i, got, want, !first, &d);
        allow_for(x, e, i, got, want, &single, &d);
        if (!undecided.n)
            tp_trial_hold_narrowed(x, e, i, got, want, &single, &d);
        judge_range(x, e, i, got, want, family, &single, &d);
        if (undecided.n && d.tier == TP_TIER_DIFFERENT) { /* it may have gone another way over the reals */
            d.tier = TP_TIER_INCONCLUSIVE;
            d.reason = undecided;
        }
        if (first) {
            digest(x, &k->operands[k->ninputs + i], got.data);
            tp_push(x->keep, x->r->outputs, d);
        } else {
            merge(&x->r->outputs.at[at++], &d, family);
        }
    }
}

/* Does some output differ? */
static bool is_different(const tp_case_result *r)
{
    for (uint32_t i = 0; i < r->outputs.len; i++)
        if (r->outputs.at[i].tier == TP_TIER_DIFFERENT)
            return true;
    return false;
}

static bool run_in_memory(tp_trial *x, tp_input_family family, tp_garbage garbage)
{
    tp_sides e = {.garbage = garbage};
    tp_trial there = *x; /* where the reference is computed */
    tp_str why = {NULL, 0};
    tp_run_stats stats = {0};
    bool turns = false; /* of the reference, by rounding */
    bool compared = tp_trial_comparable(x->c);
    if (!tp_trial_arrays(x, family, 0, &e, &why)) {
        skip(x, why);
        return false;
    }
    tp_status st = tp_trial_kernel(x, &e, compared ? tp_rounding_new(x->work) : NULL, &x->r->trap, &stats);
    there.work = tp_arena_part(x->work);
    x->r->steps = stats.steps;
    keep_trap(x->keep, &x->r->trap);
    if (st == TP_E_LIMIT) {
        x->r->outcome = TP_SKIPPED;
    } else if (st == TP_E_TRAP) {
        x->r->outcome = TP_TRAPPED;
    } else if (st != TP_OK) {
        tp_leave(x->work, st);
    } else if (!compared) {
        skip(x, TP_S("the spec has no \"reference\" to compare with; the run itself did not trap"));
    } else if (!tp_trial_reference(&there, &e, tp_rounding_new(x->work), &turns, &why)) {
        skip(x, why);
    } else {
        compare_numbers(x, &e,
                        stats.undecided ? undecided_text(x, stats.undecided)
                        : turns         ? TP_S("rounding may change a decision of the reference")
                                        : TP_S(""),
                        family);
        tp_arena_free(there.work);
        if (family == TP_INPUT_NORMAL && !x->o->verified_alone &&
            (!x->c->near || is_different(x->r))) /* else nobody looks at the result */
            tp_trial_as_run(x, &e, family);
        return true;
    }
    return false;
}

/* Compare on one family of inputs; false when there is nothing to compare. Families follow each other in the same
 * memory: fresh pages cost more. */
static bool run_family(const tp_trial *x, tp_input_family family, tp_garbage garbage)
{
    tp_trial here = *x;
    here.work = tp_arena_child_limited(x->work, x->o->max_memory);
    bool compared = run_in_memory(&here, family, garbage);
    tp_arena_free(here.work);
    return compared;
}

/* Lacks the reference a number? */
static bool is_undefined(const tp_case_result *r)
{
    for (uint32_t i = 0; i < r->outputs.len; i++)
        if (r->outputs.at[i].undefined)
            return true;
    return false;
}

/* A reference with roots or logarithms says nothing of negative inputs, of which a kernel may make anything. Where it
 * has a number for each element on fractions, those are the first inputs. */
static void prefer_fractions(const tp_trial *x)
{
    tp_trial there = *x;
    tp_case_result r = {.the_case = x->c, .trap = {.step = -1}};
    there.r = &r;
    if (x->c->given || !is_undefined(x->r) || !run_family(&there, TP_INPUT_FRACTIONS, TP_GARBAGE_HUGE) ||
        is_undefined(&r))
        return;
    x->r->outputs = r.outputs;
    x->r->digest = r.digest;
    x->r->fractions = true;
    run_family(x, TP_INPUT_NORMAL, TP_GARBAGE_HUGE);
}

void tp_trial_numbers(void *arg)
{
    tp_trial *x = arg;
    x->r->outcome = TP_EQUAL;
    if (!run_family(x, TP_INPUT_NORMAL, TP_GARBAGE_HUGE))
        return;
    prefer_fractions(x);
    for (int f = 0; f < TP_INPUT_FAMILIES; f++) {
        if (!(x->c->families & TP_INPUT_BIT(f)) ||
            run_family(x, (tp_input_family)f, (tp_garbage)(f % (TP_GARBAGE_QUIET + 1))))
            continue;
        if (x->r->outcome == TP_TRAPPED || f < TP_INPUT_FIRST_PLACED)
            return;
        x->r->outcome = TP_EQUAL; /* nothing to compare on these; on others there is */
        x->r->trap = (tp_trap){.step = -1};
    }
    for (uint32_t i = 0; i < x->r->outputs.len; i++) {
        const tp_output_diff *d = &x->r->outputs.at[i];
        if (d->tier == TP_TIER_DIFFERENT) {
            x->r->outcome = TP_DIFFERENT;
        } else if (d->tier == TP_TIER_INCONCLUSIVE && x->r->outcome == TP_EQUAL) {
            x->r->outcome = TP_SKIPPED;
            x->r->trap.message = tp_printf(x->keep, "inconclusive: %.*s", TP_FMT(d->reason));
        }
    }
}

/* ---- evidence ---- */

static bool holds(const tp_equiv *e)
{
    return e->different + e->trapped == 0 && e->equal && e->skipped == 0;
}

static tp_str missing(const tp_equiv *e, const tp_kernel *k)
{
    (void)k;
    for (uint32_t i = 0; i < e->cases.len; i++)
        if (e->cases.at[i].outcome == TP_SKIPPED)
            return e->cases.at[i].trap.message;
    return TP_S("");
}

const tp_tier_evidence tp_tier_e1 = {"rounding=E1", NULL, holds, missing};
