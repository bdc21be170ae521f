/* dot: r[batch][m][n] = sum over k of a[batch][m][k] * b[batch][k][n], in double. */
#include "domains/multiply.h"
#include "reference/internal.h"

enum { ARRAYS = 1 + TP_MAX_PLANES }; /* the numbers, then the planes */

/* Does it lie like that, but for dimensions of one element? */
static bool lies_so(const array *a, const uint32_t *dims)
{
    uint32_t next = 0;
    for (uint32_t q = 0; q < a->rank; q++) {
        if (a->dims[dims[q]] != 1 && dims[q] < next)
            return false;
        next = a->dims[dims[q]] != 1 ? dims[q] : next;
    }
    return true;
}

/* An operand of dot with its dimensions in another order; its memory is noted in `rooms`. */
static tp_lanes pack(evaluator *e, const array *a, const uint32_t *dims, void **rooms)
{
    tp_lanes x = tp_lanes_of_array(a);
    if (lies_so(a, dims))
        return x;
    uint32_t arrays = x.plane[0] ? e->domain->nplanes + 1 : 1;
    for (uint32_t p = 0; p < arrays; p++) {
        rooms[p] = tp_take_room(e, a->n);
        tp_pack(a, p ? x.plane[p - 1] : x.data, dims, a->rank, rooms[p]);
        if (p)
            x.plane[p - 1] = rooms[p];
        else
            x.data = rooms[p];
    }
    return x;
}

/* r[i] = sum over t of a[i][t] b[t], in that order; several rows at once, whose sums do not wait for each other. */
static void times_vector(size_t m, size_t k, const double *a, const double *b, double *r)
{
    enum { ABREAST = 8 };
    for (size_t first = 0; first < m; first += ABREAST) {
        double sum[ABREAST] = {0};
        const double *row = a + first * k;
        if (first + ABREAST <= m) {
            for (size_t t = 0; t < k; t++)
                for (size_t i = 0; i < ABREAST; i++)
                    sum[i] += row[i * k + t] * b[t];
            memcpy(r + first, sum, sizeof sum);
            continue;
        }
        for (size_t i = 0; first + i < m; i++) {
            for (size_t t = 0; t < k; t++)
                sum[i] += row[i * k + t] * b[t];
            r[first + i] = sum[i];
        }
    }
}

void tp_reference_dot(evaluator *e, const tp_inst *i)
{
    const array *a = &e->values[i->args[0]], *b = &e->values[i->args[1]];
    array *out = &e->values[i->out];
    uint32_t batch[2][TP_MAX_RANK], inner[2][TP_MAX_RANK], rest[2][TP_MAX_RANK], nrest[2] = {0, 0};
    uint32_t order[2][TP_MAX_RANK];
    void *rooms[2][ARRAYS] = {{NULL}};
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
    for (uint32_t side = 0; side < 2; side++) { /* batch, rows, terms of a; batch, terms, columns of b */
        const uint32_t *second = side ? inner[1] : rest[0], *third = side ? rest[1] : inner[0];
        uint32_t n2 = side ? i->ncontract : nrest[0], n3 = side ? nrest[1] : i->ncontract;
        memcpy(order[side], batch[side], i->nbatch * sizeof **order);
        memcpy(order[side] + i->nbatch, second, n2 * sizeof **order);
        memcpy(order[side] + i->nbatch + n2, third, n3 * sizeof **order);
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
    tp_lanes x = pack(e, a, order[0], rooms[0]), y = pack(e, b, order[1], rooms[1]);
    bool by_domain = tp_means_numbers(e, a) && tp_means_numbers(e, b) && s.n > 1 && tp_is_float(out->dtype);
    for (size_t q = 0; q < s.batch && !by_domain; q++) {
        const double *p = (const double *)x.data + q * s.m * s.k, *v = (const double *)y.data + q * s.k * s.n;
        if (s.n == 1)
            times_vector(s.m, s.k, p, v, out->at + q * s.m);
        else
            tp_multiply_f64(s.m, s.n, s.k, p, v, out->at + q * s.m * s.n);
    }
    if (e->domain) {
        tp_lanes r = tp_lanes_of_result(e, out);
        if (by_domain)
            r.data = r.plane[0];
        tp_note_reference(out, &r, e->domain->dot(e->domain, s, &r, &x, &y));
        if (by_domain)
            memcpy(out->at, r.plane[0], out->n * sizeof *out->at);
        out->alike = by_domain;
    }
    for (uint32_t p = 0; p < ARRAYS; p++) {
        tp_give_room(e, rooms[0][p], a->n);
        tp_give_room(e, rooms[1][p], b->n);
    }
}
