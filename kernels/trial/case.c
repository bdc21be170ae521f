/* One case through its tiers, each in memory of its own. */
#include <math.h>

#include "base/clock.h"
#include "kernels/trial/trial.h"

static void numbers_of(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r)
{
    if (tp_trial_in_memory(a, c, o, r, tp_trial_numbers))
        return;
    r->outcome = TP_SKIPPED;
    r->trap.message = r->left_out;
}

/* Seconds since *start, which is now. Of the many cases of a box nobody asks: no clock is read. */
static double lap(const tp_case *c, double *start)
{
    double from = *start;
    *start = c->numbers ? tp_thread_seconds() : 0;
    return *start - from;
}

void tp_trial_case(tp_arena *a, const tp_case *c, const tp_equiv_options *o, tp_case_result *r)
{
    bool ran = c->numbers, comparable = tp_trial_comparable(c);
    double start = 0;
    lap(c, &start);
    if (ran)
        numbers_of(a, c, o, r);
    if (comparable && c->boundaries && r->outcome == TP_EQUAL)
        tp_hunt_boundaries(a, o, r);
    r->seconds.rounding = lap(c, &start);
    if (!comparable || r->outcome == TP_TRAPPED || r->outcome == TP_SKIPPED)
        return;
    if (c->algebra && !tp_trial_in_memory(a, c, o, r, tp_trial_algebra)) {
        r->algebra = (tp_algebra){.reason = r->left_out};
        r->out_of_memory++;
    }
    r->seconds.algebra = lap(c, &start);
    if (r->algebra.tier == TP_TIER_DIFFERENT && !ran)
        numbers_of(a, c, o, r);
    if (r->algebra.tier == TP_TIER_DIFFERENT && r->outcome == TP_EQUAL && !o->no_hunt) {
        tp_hunt(a, o, r);
    } else if (r->algebra.tier == TP_TIER_DIFFERENT && r->outcome != TP_DIFFERENT) {
        r->algebra.tier = TP_TIER_INCONCLUSIVE;
        r->algebra.reason = tp_printf(a, "the residues differ at %.*s, and the numbers do not confirm a difference",
                                      TP_FMT(r->algebra.worst));
    }
    r->seconds.rounding += lap(c, &start);
    if (c->bits && !tp_trial_in_memory(a, c, o, r, tp_trial_bits)) {
        r->bits = (tp_bits){.reason = r->left_out};
        r->out_of_memory++;
    }
    r->seconds.bits = lap(c, &start);
    if (r->bits.tier == TP_TIER_DIFFERENT)
        r->outcome = TP_DIFFERENT;
}

void tp_note_tier(tp_tier_counts *n, tp_tier t)
{
    n->equal += t == TP_TIER_EQUAL;
    n->different += t == TP_TIER_DIFFERENT;
    n->inconclusive += t == TP_TIER_INCONCLUSIVE;
    n->none += t == TP_TIER_NONE;
}

void tp_note_algebra(const tp_algebra *x, tp_equiv *out, tp_tier_counts *n, tp_str *reason)
{
    tp_note_tier(n, x->tier);
    out->ordered |= x->ordered;
    out->tags |= x->tags;
    if (x->tier == TP_TIER_EQUAL)
        out->chance = fmin(out->chance, x->chance);
    if (!reason->n)
        *reason = x->reason;
}

bool tp_tier_all_equal(const tp_tier_counts *n)
{
    return n->equal && n->different + n->inconclusive + n->none == 0;
}
