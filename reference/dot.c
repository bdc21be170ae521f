/* dot: r[batch][m][n] = sum over k of a[batch][m][k] * b[batch][k][n], in double. */
#include "domains/multiply.h"
#include "reference/internal.h"

/* An operand of dot in packed order: [batch][outer][inner] by three lists of offsets. */
static tp_lanes packed(evaluator *e, const array *a, const uint32_t *batch, uint32_t nbatch, const uint32_t *outer,
                       uint32_t nouter, const uint32_t *inner, uint32_t ninner)
{
    size_t nb, no, ni, at = 0;
    size_t *b = tp_offsets(e, a, batch, nbatch, &nb), *o = tp_offsets(e, a, outer, nouter, &no),
           *n = tp_offsets(e, a, inner, ninner, &ni);
    tp_lanes x = tp_lanes_of_array(a);
    uint32_t arrays = x.plane[0] ? e->domain->nplanes + 1 : 1;
    for (uint32_t p = 0; p < arrays; p++) { /* the numbers, then the planes */
        const uint64_t *from = p ? x.plane[p - 1] : x.data;
        uint64_t *to = TP_NEWN(e->arena, uint64_t, a->n + 1);
        at = 0;
        for (size_t q = 0; q < nb; q++)
            for (size_t r = 0; r < no; r++)
                for (size_t c = 0; c < ni; c++)
                    to[at++] = from[b[q] + o[r] + n[c]];
        if (p)
            x.plane[p - 1] = to;
        else
            x.data = to;
    }
    return x;
}

void tp_reference_dot(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]], *b = &e->values[i->args[1]];
    array *out = &e->values[i->out];
    uint32_t batch[2][TP_MAX_RANK], inner[2][TP_MAX_RANK], rest[2][TP_MAX_RANK], nrest[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        const array *x = side ? b : a;
        bool used[TP_MAX_RANK] = {false};
        for (uint32_t p = 0; p < i->ncontract + i->nbatch; p++) {
            uint32_t d = (uint32_t)i->ints[2 * p + (uint32_t)side];
            used[d] = true;
            if (p < i->ncontract)
                inner[side][p] = d;
            else
                batch[side][p - i->ncontract] = d;
        }
        for (uint32_t d = 0; d < x->rank; d++)
            if (!used[d])
                rest[side][nrest[side]++] = d;
    }
    tp_dot_shape s = {1, 1, 1, 1};
    for (uint32_t d = 0; d < i->nbatch; d++)
        s.batch *= (size_t)a->dims[batch[0][d]];
    for (uint32_t d = 0; d < nrest[0]; d++)
        s.m *= (size_t)a->dims[rest[0][d]];
    for (uint32_t d = 0; d < nrest[1]; d++)
        s.n *= (size_t)b->dims[rest[1][d]];
    for (uint32_t d = 0; d < i->ncontract; d++)
        s.k *= (size_t)a->dims[inner[0][d]];
    tp_spend(e->arena, (int64_t)(s.batch * s.m * s.n / (e->domain ? 8 : 32) * s.k));
    tp_lanes x = packed(e, a, batch[0], i->nbatch, rest[0], nrest[0], inner[0], i->ncontract),
             y = packed(e, b, batch[1], i->nbatch, inner[1], i->ncontract, rest[1], nrest[1]);
    for (size_t q = 0; q < s.batch; q++)
        tp_multiply_f64(s.m, s.n, s.k, (const double *)x.data + q * s.m * s.k, (const double *)y.data + q * s.k * s.n,
                        out->at + q * s.m * s.n);
    if (!e->domain)
        return;
    tp_lanes r = tp_lanes_of_result(e, out);
    tp_reference_written(out, &r, e->domain->dot(e->domain, s, &r, &x, &y));
}
