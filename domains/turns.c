/* Decisions that turn between two inputs. */
#include <math.h>

#include "domains/turns.h"

tp_decision_log tp_decision_log_new(tp_arena *a, size_t room)
{
    return (tp_decision_log){.result = TP_NEWN(a, double, room), .kind = TP_NEWN(a, uint32_t, room), .room = room};
}

tp_decision_log tp_decision_log_copy(tp_arena *a, const tp_decision_log *log)
{
    tp_decision_log copy = tp_decision_log_new(a, log->n + 1);
    memcpy(copy.result, log->result, log->n * sizeof *log->result);
    memcpy(copy.kind, log->kind, log->n * sizeof *log->kind);
    copy.n = log->n;
    return copy;
}

uint32_t tp_turns_between(const tp_decision_log *first, const tp_decision_log *last, tp_rng *rng,
                          tp_turn out[TP_MAX_TURNS])
{
    uint32_t kinds[TP_DECISION_KINDS], nkinds = 0, n = 0;
    uint64_t counts[TP_DECISION_KINDS] = {0};
    tp_turn turns[TP_DECISION_KINDS][TP_TURNS_OF_A_KIND];
    for (size_t i = 0; i < first->n && i < last->n; i++) {
        uint32_t k = 0;
        if (first->kind[i] != last->kind[i] || first->result[i] == last->result[i] || isnan(first->result[i]) ||
            isnan(last->result[i]))
            continue;
        while (k < nkinds && kinds[k] != first->kind[i])
            k++;
        if (k == TP_DECISION_KINDS)
            continue;
        kinds[k] = first->kind[i];
        nkinds += k == nkinds;
        uint64_t slot = counts[k] < TP_TURNS_OF_A_KIND ? counts[k] : tp_rng_below(rng, counts[k] + 1);
        counts[k]++;
        if (slot < TP_TURNS_OF_A_KIND)
            turns[k][slot] = (tp_turn){i, first->result[i]};
    }
    for (uint32_t i = 0; i < TP_TURNS_OF_A_KIND; i++)
        for (uint32_t k = 0; k < nkinds; k++)
            if (i < counts[k])
                out[n++] = turns[k][i];
    return n;
}

bool tp_find_turn(const tp_turn *t, double least, const tp_decision_log *log, tp_decide_at decide, void *ctx,
                  double *lo, double *hi)
{
    for (*lo = 0, *hi = 1; *hi - *lo > least;) {
        double mid = (*lo + *hi) / 2;
        if (!decide(ctx, mid))
            return false;
        *(log->n > t->number && log->result[t->number] == t->first ? lo : hi) = mid;
    }
    return true;
}
