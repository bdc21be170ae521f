/* Arrays of the evaluator: places in them, and giving up. */
#include "base/assert.h"
#include "base/strided.h"
#include "reference/internal.h"

_Noreturn void tp_give_up(evaluator *e, tp_str why)
{
    e->why = why;
    tp_leave(e->arena, TP_E_INPUT);
}

size_t tp_ravel(const array *a, const int64_t *at)
{
    size_t i = 0;
    for (uint32_t d = 0; d < a->rank; d++) {
        tp_assert(at[d] >= 0 && at[d] < a->dims[d]);
        i = i * (size_t)a->dims[d] + (size_t)at[d];
    }
    return i;
}

void tp_strides(const array *a, size_t *stride)
{
    size_t s = 1;
    for (uint32_t d = a->rank; d-- > 0; s *= (size_t)a->dims[d])
        stride[d] = s;
}

/* Offsets of all positions along the picked dimensions, in order. */
size_t *tp_offsets(evaluator *e, const array *a, const uint32_t *dims, uint32_t ndims, size_t *count)
{
    size_t stride[TP_MAX_RANK], n = 1;
    tp_strides(a, stride);
    for (uint32_t d = 0; d < ndims; d++)
        n *= (size_t)a->dims[dims[d]];
    size_t *r = tp_take_room(e, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        r[i] = 0;
        for (uint32_t d = ndims; d-- > 0; rest /= (size_t)a->dims[dims[d]])
            r[i] += rest % (size_t)a->dims[dims[d]] * stride[dims[d]];
    }
    *count = n;
    return r;
}

void *tp_take_room(evaluator *e, size_t n)
{
    for (uint32_t i = e->spare.len; i-- > 0;)
        if (e->spare.at[i].n == n) {
            void *at = e->spare.at[i].at;
            e->spare.at[i] = e->spare.at[--e->spare.len];
            return at;
        }
    if (n > SIZE_MAX / sizeof(uint64_t))
        tp_leave(e->arena, TP_E_MEMORY);
    return tp_alloc_unset(e->arena, n * sizeof(uint64_t));
}

void tp_give_room(evaluator *e, void *at, size_t n)
{
    if (at)
        tp_push(e->arena, e->spare, ((spare_room){at, n}));
}

void tp_pack(const array *a, const void *from, const uint32_t *dims, uint32_t ndims, void *to)
{
    size_t own[TP_MAX_RANK];
    int64_t extent[TP_MAX_RANK];
    ptrdiff_t out[TP_MAX_RANK], in[TP_MAX_RANK], step = 1;
    tp_strides(a, own);
    for (uint32_t q = ndims; q-- > 0;) {
        extent[q] = a->dims[dims[q]];
        in[q] = (ptrdiff_t)own[dims[q]];
        out[q] = step;
        step *= (ptrdiff_t)extent[q];
    }
    tp_move(sizeof(uint64_t), ndims, extent, to, out, from, in);
}
