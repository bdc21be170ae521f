/* Operands that stay where they are as a whole ("any", "hbm"): copies of the body move parts of them. Who writes which
 * element is noted where steps may run in any order. */
#include "kernels/machine/internal.h"

#define NOBODY INT64_MIN
#define SEVERAL INT64_MAX

void tp_far_prepare(tp_machine *m, tp_ref *r)
{
    bool parallel = false;
    for (uint32_t a = 0; a < m->k->naxes; a++)
        parallel |= m->k->axes[a].parallel && !m->k->axes[a].device;
    if (!parallel || r->operand->role != TP_OUTPUT || !tp_is_far(r->operand))
        return;
    r->writer = TP_NEWN(m->arena, int64_t, r->cells.n);
    r->reader = TP_NEWN(m->arena, int64_t, r->cells.n);
    tp_far_begin(r);
}

void tp_far_begin(tp_ref *r)
{
    for (size_t i = 0; i < r->cells.n; i++)
        r->writer[i] = r->reader[i] = NOBODY;
}

/* Does the mask leave this element of the slice out? */
static bool is_left_out(const tp_cells *mask, const tp_slice *s, const int64_t *at)
{
    size_t lane = 0;
    for (uint32_t d = 0; d < s->rank; d++)
        lane = lane * (size_t)s->of[d] + (size_t)(s->skip[d] + at[d]);
    return !tp_origin_at(mask, lane) && !tp_get_i64(TP_BOOL, mask->data, lane);
}

void tp_far_touch(tp_machine *m, tp_ref *r, const tp_slice *s, const tp_cells *mask, bool writes)
{
    int64_t at[TP_MAX_RANK] = {0}, key;
    size_t n = 1;
    if (!r->writer)
        return;
    key = tp_parallel_number(m);
    for (uint32_t d = 0; d < s->rank; d++)
        n *= (size_t)s->size[d];
    tp_spend(m->arena, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        size_t lane = 0;
        for (uint32_t d = 0; d < s->rank; d++)
            lane = lane * (size_t)r->cells.dims[d] + (size_t)(s->start[d] + at[d] * s->stride[d]);
        bool touched = !mask || !is_left_out(mask, s, at);
        bool twice = writes && r->writer[lane] != NOBODY && r->writer[lane] != key;
        int64_t other = writes ? r->reader[lane] : r->writer[lane];
        if (touched && (twice || (other != NOBODY && other != key)))
            tp_trap_raise(m, TP_RULE_PARALLEL_RACE, r->operand->name,
                          twice ? "two steps that differ in a parallel axis write %.*s"
                                : "%.*s is read by a step that differs in a parallel axis from the one that writes it",
                          TP_FMT(tp_element_text(m, r, lane)));
        if (touched && writes)
            r->writer[lane] = key;
        else if (touched)
            r->reader[lane] = r->reader[lane] == NOBODY || r->reader[lane] == key ? key : SEVERAL;
        for (uint32_t d = s->rank; d-- > 0 && ++at[d] == s->size[d];)
            at[d] = 0;
    }
}
